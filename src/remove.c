/*
 * remove.c
 *	  Removing elements from a cuckoo filter: cuckoo_count, cuckoo_remove,
 *	  cuckoo_replace, cuckoo_compact and the like.
 *
 * A cuckoo filter is a multiset of fingerprints (filter/cuckoo.c).  Removing an
 * element that was never added, but is a false positive, removes another element
 * instead: callers must remove only what they have added.  Absent elements and
 * saturated classes are left unchanged.
 */
#include "callsite.h"
#include "combine.h"
#include "miscadmin.h"

SQL_FUNCTION(bloomfilter_count);
SQL_FUNCTION(bloomfilter_remove);
SQL_FUNCTION(bloomfilter_remove_all);
SQL_FUNCTION(bloomfilter_replace);
SQL_FUNCTION(bloomfilter_compact);

/* cuckoo_count(filter cuckoo, element anycompatible): a result of 0 is certain */
Datum
bloomfilter_count(PG_FUNCTION_ARGS)
{
	CallSite   *site = call_site(fcinfo, 1, false);
	FilterReader reader;
	uint64		hash;

	/* the maximum, so that a stored filter is read in full, and cached */
	reader_open(&site->user, PG_GETARG_DATUM(0), PG_UINT32_MAX, &reader);
	hash = element_hash(site->hasher, PG_GETARG_DATUM(1),
						image_seed(reader.image));
	reader_reopen(&site->user, PG_UINT32_MAX, &reader);
	check_class(image_class(reader.image), site->hasher);
	PG_RETURN_INT32(filter_count(reader.image, hash));
}

/* cuckoo_remove(filter cuckoo, element anycompatible) */
Datum
bloomfilter_remove(PG_FUNCTION_ARGS)
{
	CallSite   *site = call_site(fcinfo, 1, false);
	FilterWriter writer;
	uint64		hash;

	writer_open_copy(&writer, PG_GETARG_DATUM(0));
	hash = element_hash(site->hasher, PG_GETARG_DATUM(1),
						image_seed(writer.image));
	check_class(image_class(writer.image), site->hasher);
	(void) filter_remove(writer.image, hash);
	PG_RETURN_DATUM(writer_close(&writer));
}

/*
 * cuckoo_remove_all(filter cuckoo, elements anycompatiblearray): removes an
 * element once for each time that it is in the array
 */
Datum
bloomfilter_remove_all(PG_FUNCTION_ARGS)
{
	CallSite   *site = call_site(fcinfo, 1, true);
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(1);
	FilterWriter writer;
	ElementClass class;
	uint64	   *hashes;
	uint64		count;

	writer_open_copy(&writer, PG_GETARG_DATUM(0));
	hashes = call_site_hash_array(site, array, writer.image, &class, &count);
	for (uint64 i = 0; i < count; i++)
	{
		/* each moves half of a large explicit filter */
		CHECK_FOR_INTERRUPTS();
		(void) filter_remove(writer.image, hashes[i]);
	}
	PG_RETURN_DATUM(writer_close(&writer));
}

/*
 * cuckoo_replace(filter cuckoo, old anycompatible, new anycompatible)
 */
Datum
bloomfilter_replace(PG_FUNCTION_ARGS)
{
	CallSite   *site = call_site(fcinfo, 1, false);
	FilterWriter writer;
	ElementClass class;
	uint64		old;
	uint64		new;

	writer_open_copy(&writer, PG_GETARG_DATUM(0));
	old = element_hash(site->hasher, PG_GETARG_DATUM(1),
					   image_seed(writer.image));
	class = site->hasher->class;
	check_class(image_class(writer.image), site->hasher);
	new = element_hash(site->hasher, PG_GETARG_DATUM(2),
					   image_seed(writer.image));
	check_class(class, site->hasher);

	if (filter_remove(writer.image, old) != FILTER_REMOVED ||
		!image_has_layers(writer.image))
		writer_add_hashes(&writer, class, &new, 1, false);
	else if (filter_add_batch(writer.image, &new, 1) == 0)
	{
		/* put "old" back, which fits: adding "new" may raise an error */
		(void) filter_add_batch(writer.image, &old, 1);
		writer_add_hashes(&writer, class, &new, 1, false);
		(void) filter_remove(writer.image, old);
	}
	PG_RETURN_DATUM(writer_close(&writer));
}

/* cuckoo_compact(cuckoo) */
Datum
bloomfilter_compact(PG_FUNCTION_ARGS)
{
	FilterWriter writer;

	writer_open_copy(&writer, PG_GETARG_DATUM(0));
	(void) filter_compact(writer.image);
	PG_RETURN_DATUM(writer_close(&writer));
}
