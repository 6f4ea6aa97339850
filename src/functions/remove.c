/*
 * remove.c
 *	  Remove and count elements: of cuckoo filters (cuckoo_remove(), cuckoo_count()); of
 *	  counting Bloom filters and of RedisBloom's cuckoo filters (bloom_remove() etc.)
 *
 * Users must remove only elements that they have added: removing a false positive removes
 * another element.  Removing an element changes nothing if the filter surely lacks it, or
 * its class (filter/cuckoo.c) or its counters (filter/counting.c) are saturated.
 */
#include "callsite.h"

#include "filter/foreign/foreign.h"
#include "miscadmin.h"

/* Raise an error unless the filter counts how often an element was added. */
static void
check_removable(const uint8 *image)
{
	if (image_kind(image) == FILTER_BLOOM && !image_is_counting(image) &&
		!foreign_counts(image))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("filter does not count its elements"),
				 errdetail("Its layout is %s.", layout_of(image)),
				 errhint("Create a filter with bloom_create(..., counting => true), or a cuckoo filter.")));
}

/* cuckoo_count(filter cuckoo, element anycompatible), and bloom_count */
SQL_FUNCTION(bloomfilter_count)
{
	Lookup		lookup;
	uint64		hash;

	/* claim many probes, so that a stored filter is read in full, and cached */
	lookup_open(&lookup, call_site(fcinfo, 1, false), PG_GETARG_DATUM(0), PG_UINT32_MAX);
	check_removable(lookup.reader.image);
	hash = lookup_hash(&lookup, PG_GETARG_DATUM(1), false);
	lookup_reopen(&lookup);
	PG_RETURN_INT32(lookup.foreign ?
					foreign_elements_count(lookup.foreign, lookup.reader.image) :
					filter_count(lookup.reader.image, hash));
}

/*
 * Remove argument 1 or, if is_array, the elements of that array, each as often as the array
 * contains it.  Returns argument 0 if nothing changes.
 */
static Datum
remove_elements(FunctionCallInfo fcinfo, bool is_array)
{
	Datum		filter = PG_GETARG_DATUM(0);
	CallSite   *site;
	ArrayElements elements;
	Lookup		lookup;
	uint64	   *hashes;
	bool	   *found;
	FilterWriter writer;
	bool		removed = false;
	Datum		result;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	if (PG_ARGISNULL(1))
		return filter;
	site = call_site(fcinfo, 1, is_array);
	elements = argument_elements(fcinfo, site);
	lookup_open(&lookup, site, filter, elements.count);
	check_removable(lookup.reader.image);
	/* foreign elements are hashed as if to look them up, not to change them */
	hashes = lookup_hash_array(&lookup, &elements, lookup.foreign == NULL);
	found = palloc_extended(elements.count, MCXT_ALLOC_HUGE);
	lookup_find(&lookup, hashes, elements.count, found);
	if (memchr(found, true, elements.count) == NULL)
		return filter;

	reader_open_writer(&lookup.reader, filter, &writer);
	if (lookup.foreign)
		removed = foreign_elements_remove(lookup.foreign, writer.image);
	for (int i = 0; i < elements.count && !lookup.foreign; i++)
	{
		/* removal from a large explicit filter moves half of it */
		CHECK_FOR_INTERRUPTS();
		if (found[i] && filter_remove(writer.image, hashes[i]) == FILTER_REMOVED)
			removed = true;
	}
	result = writer_close(&writer);
	/* if all are saturated, discard the copy: an UPDATE need not write it */
	return removed ? result : filter;
}

/* cuckoo_remove(filter cuckoo, element anycompatible), and bloom_remove */
SQL_RESULT(bloomfilter_remove, remove_elements(fcinfo, false))

/* cuckoo_remove_all(filter cuckoo, elements anycompatiblearray), and bloom_remove_all */
SQL_RESULT(bloomfilter_remove_all, remove_elements(fcinfo, true))

/*
 * cuckoo_replace(filter cuckoo, old anycompatible, new anycompatible): only adds "new" if
 * "old" is NULL; only removes "old" if "new" is NULL
 */
SQL_FUNCTION(bloomfilter_replace)
{
	FilterWriter writer;
	Lookup		lookup = {0};
	uint64		old = 0;
	uint64		new;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(2))
		return bloomfilter_remove(fcinfo);
	lookup.site = call_site(fcinfo, 1, false);
	writer_open_copy(&writer, PG_GETARG_DATUM(0));
	lookup.seed = image_seed(writer.image);
	lookup.class = image_class(writer.image);
	if (!PG_ARGISNULL(1))
		old = lookup_hash(&lookup, PG_GETARG_DATUM(1), true);
	new = lookup_hash(&lookup, PG_GETARG_DATUM(2), true);

	/* to give an explicit filter layers may raise an error: keep it as it is */
	if (!image_has_layers(writer.image))
		writer_open_copied_image(&writer, writer.image, CurrentMemoryContext);
	if (PG_ARGISNULL(1) ||
		filter_remove(writer.image, old) != FILTER_REMOVED ||
		!image_has_layers(writer.image))
		writer_add_hashes(&writer, lookup.class, &new, 1, false);
	else if (filter_add_batch(writer.image, &new, 1) == 0)
	{
		/* no room: put "old" back, as adding "new" may raise an error */
		(void) filter_add_batch(writer.image, &old, 1);
		writer_add_hashes(&writer, lookup.class, &new, 1, false);
		(void) filter_remove(writer.image, old);
	}
	PG_RETURN_DATUM(writer_close(&writer));
}

/* cuckoo_compact(cuckoo) */
SQL_FUNCTION(bloomfilter_compact)
{
	FilterWriter writer;

	writer_open_copy(&writer, PG_GETARG_DATUM(0));
	(void) filter_compact(writer.image);
	PG_RETURN_DATUM(writer_close(&writer));
}

/* bloom_plain(bloom): drops the counters of a counting filter; returns others unchanged */
SQL_FUNCTION(bloomfilter_plain)
{
	const uint8 *image = value_image(PG_GETARG_DATUM(0));
	FilterPlan	plan;
	struct varlena *result;

	if (!image_is_counting(image))
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	check_status(filter_plan_plain(image, &plan), image);
	result = palloc0(VARHDRSZ + plan.bytes);
	SET_VARSIZE(result, VARHDRSZ + plan.bytes);
	filter_copy((uint8 *) VARDATA(result), image, &plan);
	PG_RETURN_POINTER(result);
}
