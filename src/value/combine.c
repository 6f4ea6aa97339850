/*
 * combine.c
 *	  Adds elements to filters of any form, and unites and intersects filters.
 *
 * An explicit filter that gets too many hashes is converted to layers.  Steps that may fail
 * come before a filter is changed in place, or work on a copy.
 */
#include "value.h"

#include "filter/set.h"
#include "miscadmin.h"

/* Merge sets up to this ratio of sizes: sorting one hash takes as long as copying 8. */
#define MERGE_RATIO				8

/* How far ahead add_set() fetches hashes: the processor's own prefetching ends at each page */
#define PREFETCH_BYTES			2048

/*
 * Add the sorted explicit filter "other" to an explicit state.  If it is much smaller,
 * appends its hashes unsorted: merging a thousand such sets would copy the large set a
 * thousand times.
 */
void
writer_add_sorted(FilterWriter *writer, const uint8 *other)
{
	check_compatible(writer->image, other);
	if (!image_is_unsorted(writer->image) &&
		image_count(other) >= image_count(writer->image) / MERGE_RATIO)
		merge_set(writer, other, true);
	else
		writer_append(writer, image_hashes(other), image_count(other));
}

/*
 * Add sorted hashes to a filter with layers, in order, which is that of the blocks.  If a
 * layer may get full on the way, takes evenly spread hashes instead, so that its last
 * blocks do not stay empty.
 */
static void
add_set(FilterWriter *writer, const uint8 *hashes, uint64 count)
{
	uint64		batch[BATCH];
	uint64		stride = 1;
	uint64		at = 0;

	if (filter_may_fill(writer->image, count))
		stride = even_stride(count);

	for (uint64 done = 0; done < count;)
	{
		int			batched = 0;

		while (batched < BATCH && done < count)
		{
			/* other strides would fetch what is not read next */
			if (stride == 1)
				__builtin_prefetch(hashes + 8 * at + PREFETCH_BYTES);
			batch[batched++] = get64(hashes + 8 * at);
			at += stride;
			if (at >= count)
				at -= count;
			done++;
		}
		add_to_layers(writer, batch, batched, count - done, false);
	}
}

/*
 * Plan the layers of an explicit or empty filter, for the capacity and error rate in its
 * header or, where these are missing, for "capacity" and the defaults.  If "capacity" is
 * the number of its hashes, the first layer is just large enough for these.
 */
static void
plan_sized(const uint8 *image, uint64 capacity, FilterParams *params, FilterPlan *plan)
{
	*params = image_get_params(image);
	if (params->capacity == 0)
	{
		params->capacity = Max(capacity, 1);
		params->exact = capacity == image_count(image) && !filter_is_multiset(image);
	}
	if (params->error_rate == 0)
	{
		params->error_rate = ERROR_RATE_DEFAULT;
		params->growth = GROWTH_DEFAULT;
	}
	check_plan(filter_plan(params, plan), plan, image);
}

/*
 * Convert an explicit or empty filter to layers, see plan_sized().  Errors: check_plan().
 */
void
writer_make_sized(FilterWriter *writer, uint64 capacity)
{
	FilterParams params;
	FilterPlan	plan;
	FilterWriter fresh;

	set_sort(writer->image);
	plan_sized(writer->image, capacity, &params, &plan);

	/* keep the hashes in the writer until all are added */
	writer_fresh(writer, plan.bytes, true, &fresh);
	filter_init(fresh.image, &params, &plan);
	if (params.exact)
		image_put_bits_full(fresh.image, 0, 0);
	add_set(&fresh, image_hashes(writer->image), image_count(writer->image));
	if (params.exact)
		image_put_bits_full(fresh.image, 0, plan.layer[0].bits_full);
	writer_take(writer, &fresh);
}

/* Convert the explicit filter "set" to a new, flat filter with layers. */
struct varlena *
value_make_from_set(const uint8 *set, uint64 capacity)
{
	FilterWriter writer = {.image = (uint8 *) set};

	writer_make_sized(&writer, capacity);
	return (struct varlena *) DatumGetPointer(writer_close(&writer));
}

/*
 * Set *adding to a writer for the filter itself or, if an error could leave the filter with
 * only some of "count" elements, for a copy. finish_adding() replaces the filter by the
 * copy.
 */
static void
begin_adding(FilterWriter *writer, uint64 count, FilterWriter *adding)
{
	if (writer->expanded && filter_may_need_room(writer->image, count))
		writer_open_copied_image(adding, writer->image, NULL);
	else
		*adding = *writer;
}

static void
finish_adding(FilterWriter *writer, const FilterWriter *adding)
{
	/* only expanded objects are copied, and the copy is flat */
	if (writer->expanded && adding->expanded == NULL)
		writer_replace(writer, adding->image);
	else
		*writer = *adding;
}

/*
 * Add hashes of elements of "class" to any filter.  An explicit Bloom filter with more than
 * EXPLICIT_ADD_MAX hashes is converted to layers, for twice as many; an explicit cuckoo
 * filter always is, because a set is no multiset.  With "unique", a cuckoo filter skips
 * elements that it seems to contain.
 */
void
writer_add_hashes(FilterWriter *writer, ElementClass class,
				  const uint64 *hashes, uint64 count, bool unique)
{
	FilterWriter adding;

	if (count == 0)
		return;
	if (!image_has_layers(writer->image))
	{
		uint64		total = image_count(writer->image) + count;

		if (!filter_is_multiset(writer->image))
		{
			if (total > EXPLICIT_ADD_MAX)
			{
				FilterParams params;
				FilterPlan	plan;

				/* plan before adding any hash: there may be an error */
				plan_sized(writer->image, 2 * total, &params, &plan);
			}
			image_set_class(writer->image, class);
			for (uint64 i = 0; i < count; i++)
			{
				uint64		hash = le64(hashes[i]);

				if (i % BATCH == 0)
					CHECK_FOR_INTERRUPTS();
				writer_append(writer, (uint8 *) &hash, 1);
			}
			set_sort(writer->image);
			total = image_count(writer->image);
			if (total > EXPLICIT_ADD_MAX)
				writer_make_sized(writer, 2 * total);
			return;
		}
		writer_make_sized(writer, Max(2 * total, EXPLICIT_ADD_MAX));
	}
	begin_adding(writer, count, &adding);
	image_set_class(adding.image, class);
	add_to_layers(&adding, hashes, count, 0, unique);
	finish_adding(writer, &adding);
}

/* The same for a filter of another system.  Errors: check_status(), if it is full. */
void
writer_add_foreign(FilterWriter *writer, const ForeignHash *hashes, uint64 count)
{
	FilterWriter adding;

	begin_adding(writer, count, &adding);
	while (count > 0)
	{
		uint64		batch = Min(count, BATCH);

		CHECK_FOR_INTERRUPTS();
		if (foreign_add_batch(adding.image, hashes, batch) < batch)
			check_status(FILTER_FIXED, adding.image);
		hashes += batch;
		count -= batch;
	}
	finish_adding(writer, &adding);
}

/* Unite as planned.  Returns false, without a change, if the elements do not fit. */
static bool
unite_as_planned(FilterWriter *writer, const uint8 *other, const FilterPlan *plan)
{
	FilterWriter fresh;

	writer_fresh(writer, plan->bytes, true, &fresh);
	if (filter_unite(fresh.image, writer->image, other, plan))
	{
		writer_take(writer, &fresh);
		return true;
	}
	pfree(fresh.memory ? fresh.memory : fresh.image - VARHDRSZ);
	return false;
}

static void
unite_layers(FilterWriter *writer, const uint8 *other)
{
	FilterPlan	plan;

	/* a filter without elements changes nothing, except for the class */
	if (filter_is_multiset(other) && other != writer->image &&
		filter_cardinality(writer->image) == 0)
	{
		ElementClass class = image_class(writer->image);

		writer_replace(writer, other);
		if (image_class(writer->image) == ELEMENT_CLASS_NONE)
			image_set_class(writer->image, class);
		return;
	}
	check_union_plan(filter_plan_union(writer->image, other, false, &plan),
					 &plan, writer->image, other);
	if (filter_unites_in_place(writer->image, &plan))
		filter_unite_in_place(writer->image, other, &plan);
	else if (!unite_as_planned(writer, other, &plan))
	{
		/* two cuckoo filters do not always fit: plan larger layers */
		check_union_plan(filter_plan_union(writer->image, other, true, &plan),
						 &plan, writer->image, other);
		if (!unite_as_planned(writer, other, &plan))
			elog(ERROR, "could not unite two cuckoo filters");
	}
}

/* Add all elements of another filter, which may be the writer's own image. */
void
writer_unite(FilterWriter *writer, const uint8 *other)
{
	FilterWriter adding;

	check_compatible(writer->image, other);
	if (image_is_empty(other) || (other == writer->image && !filter_is_multiset(other)))
		return;
	if (image_is_empty(writer->image))
	{
		writer_replace(writer, other);
		return;
	}
	/* the union of two cuckoo filters is a multiset: their sum */
	if (filter_is_multiset(other) && image_is_set(other) &&
		image_is_set(writer->image))
	{
		if (other == writer->image)
		{
			writer_open_copied_image(&adding, other, NULL);
			other = adding.image;
		}
		writer_make_sized(writer, image_count(writer->image) + image_count(other));
	}
	if (image_is_set(other))
	{
		if (image_is_set(writer->image))
		{
			if (image_count(writer->image) + image_count(other) > IMAGE_MAX_BITS / 64)
				check_status(FILTER_TOO_LARGE, writer->image);
			set_sort(writer->image);
			merge_set(writer, other, false);
			adding = *writer;
		}
		else
		{
			begin_adding(writer, image_count(other), &adding);
			add_set(&adding, image_hashes(other), image_count(other));
		}
		if (image_class(adding.image) == ELEMENT_CLASS_NONE)
			image_set_class(adding.image, image_class(other));
		finish_adding(writer, &adding);
	}
	else if (image_is_set(writer->image))
	{
		writer_open_copied_image(&adding, other, NULL);
		set_sort(writer->image);
		add_set(&adding, image_hashes(writer->image), image_count(writer->image));
		if (image_class(other) == ELEMENT_CLASS_NONE)
			image_set_class(adding.image, image_class(writer->image));
		writer_replace(writer, adding.image);
	}
	else
		unite_layers(writer, other);
}

/*
 * Remove what another filter does not contain.  Filters with layers must have one layer
 * each.
 */
void
writer_intersect(FilterWriter *writer, const uint8 *other)
{
	FilterWriter fresh;

	check_compatible(writer->image, other);
	set_sort(writer->image);
	if (image_is_empty(writer->image) ||
		(image_is_set(writer->image) && other == writer->image))
		return;
	if (image_is_set(writer->image) && !image_is_empty(other))
		filter_intersect_set(writer->image, other);
	else if (!image_has_layers(other))
	{
		/* keep those hashes of "other" that this filter contains */
		writer_fresh(writer, image_bytes(other), false, &fresh);
		memcpy(fresh.image, other, image_bytes(other));
		filter_intersect_set(fresh.image, writer->image);
		writer_take(writer, &fresh);
	}
	else
	{
		if (image_layers(writer->image) > 1 || image_layers(other) > 1)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot intersect filters with several layers"),
					 errdetail("The filters have %d and %d layers.",
							   image_layers(writer->image),
							   image_layers(other)),
					 errhint("Build both with a capacity that holds all their elements in one layer.")));
		filter_intersect_in_place(writer->image, other);
	}
}
