/*
 * value.c
 *	  Filters as Datums: the forms of a value, and how to read and change it.
 *
 * A value is an image (filter/image.h) behind a length word.  It may have any form of a
 * varlena (toasted, or with a short header).  Or it is the state of an aggregate, with room
 * behind the image, and perhaps unsorted hashes.  Or it is an expanded object: the image in
 * memory of its own, aligned to a cache line, with room to grow.  All readers use
 * value_image(), and all changes a FilterWriter; both hide these forms.  A writer allocates
 * flat values in the current memory context, and expanded ones in the context that it was
 * given, as nodeAgg.c requires.
 */
#include "value.h"

#include <sys/mman.h>

#include "access/detoast.h"
#include "filter/set.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/* Number of hashes that an expanded object collects before it adds them together */
#define PENDING_HASHES			64

/*
 * Factors by which an explicit filter's room grows.  From UNIQUE_FROM_BYTES on, we first
 * sort the filter to remove duplicates; from SAMPLE_FROM_BYTES on, only if a sample has some:
 * otherwise all these sorts together could cost as much as the final one.  Small values grow by
 * less, because hash aggregation counts allocated memory even if it is unused.
 */
#define FLAT_ROOM_GROWTH		2
#define EXPANDED_ROOM_GROWTH	4
#define UNIQUE_FROM_BYTES		1024
#define SAMPLE_FROM_BYTES		65536

/*
 * Images of at least this size get huge pages.  Otherwise each probe of a filter of 100 MB
 * has a TLB miss besides a cache miss (45 ns for a probe in a batch instead of 24).
 */
#define HUGE_PAGES_FROM_BYTES	((uint64) 4 << 20)
#define HUGE_PAGE_BYTES			((uint64) 2 << 20)

struct ExpandedFilter
{
	ExpandedObjectHeader hdr;
	uint8	   *image;
	uint64		room;			/* bytes available for the image */
	void	   *memory;			/* free this with the image */
	int			pending_count;	/* hashes not yet added to the layers */
	uint64		pending[PENDING_HASHES];
};

static Size
expanded_flat_size(ExpandedObjectHeader *eohptr)
{
	return VARHDRSZ + image_bytes(value_image(EOHPGetRODatum(eohptr)));
}

static void
expanded_flatten(ExpandedObjectHeader *eohptr, void *result, Size allocated_size)
{
	ExpandedFilter *expanded = (ExpandedFilter *) eohptr;

	SET_VARSIZE(result, allocated_size);
	memcpy(VARDATA(result), expanded->image, allocated_size - VARHDRSZ);
}

static void grow_for_waiting(FilterWriter *writer, const uint64 *hashes,
							 uint64 count, uint64 more);

static const ExpandedObjectMethods expanded_methods = {
	expanded_flat_size,
	expanded_flatten
};

/* ---- New values ---- */

/* Make a filter without elements, for a plan such as filter_plan() makes. */
struct varlena *
value_make_planned(const FilterParams *params, const FilterPlan *plan)
{
	struct varlena *result = palloc0(VARHDRSZ + plan->bytes);

	SET_VARSIZE(result, VARHDRSZ + plan->bytes);
	filter_init((uint8 *) VARDATA(result), params, plan);
	return result;
}

/* Make a filter without elements, sized for params.  Errors: check_plan(). */
struct varlena *
value_make(const FilterParams *params)
{
	FilterPlan	plan;

	check_plan(filter_plan(params, &plan), &plan, NULL);
	return value_make_planned(params, &plan);
}

/* Make a filter that is only a header: empty, or explicit without hashes. */
struct varlena *
value_make_bare(FilterLayout layout, const FilterParams *params)
{
	struct varlena *result = palloc(VARHDRSZ + IMAGE_HEADER_BYTES);

	SET_VARSIZE(result, VARHDRSZ + IMAGE_HEADER_BYTES);
	image_put_header((uint8 *) VARDATA(result), layout, params);
	return result;
}

/* Make the empty filter, neutral in unions: no elements, no parameters. */
struct varlena *
value_make_empty(FilterKind kind)
{
	FilterParams none = {.kind = kind};

	return value_make_bare(LAYOUT_EMPTY, &none);
}

/* ---- Storage ---- */

static ExpandedFilter *
expanded_get(Datum value)
{
	ExpandedFilter *expanded = (ExpandedFilter *) DatumGetEOHP(value);

	Assert(expanded->hdr.eoh_methods == &expanded_methods);
	return expanded;
}

/* Open an expanded object, and add its pending hashes to the layers. */
static void
open_expanded(FilterWriter *writer, ExpandedFilter *expanded)
{
	memset(writer, 0, sizeof(*writer));
	writer->expanded = expanded;
	writer->mcxt = MemoryContextGetParent(expanded->hdr.eoh_context);
	writer->image = expanded->image;
	writer->room = expanded->room;
	writer->memory = expanded->memory;
	while (expanded->pending_count > 0)
	{
		int			added;

		/* forget them before any error: added twice, they count twice */
		HOLD_INTERRUPTS();
		added = (int) filter_add_batch(writer->image, expanded->pending,
									   expanded->pending_count);
		expanded->pending_count -= added;
		memmove(expanded->pending, expanded->pending + added,
				expanded->pending_count * sizeof(uint64));
		RESUME_INTERRUPTS();
		if (expanded->pending_count > 0)
			grow_for_waiting(writer, expanded->pending, expanded->pending_count, 0);
	}
}

/* Store the writer's image in its expanded object, unless it is detached. */
static void
writer_sync(FilterWriter *writer)
{
	if (writer->expanded && !writer->detached)
	{
		writer->expanded->image = writer->image;
		writer->expanded->room = writer->room;
		writer->expanded->memory = writer->memory;
	}
}

/*
 * Allocate memory for an image, behind room for a length word that begins at a cache line
 * or, if the image is large, at a huge page.  To free it, pfree *memory.
 */
uint8 *
allocate_image(MemoryContext mcxt, uint64 bytes, bool zero,
			   void **memory)
{
	uint64		alignment = bytes < HUGE_PAGES_FROM_BYTES ?
		IMAGE_ALIGNMENT : HUGE_PAGE_BYTES;
	uint8	   *start;

	/* "bytes" may come from damaged data: the sum must not wrap around */
	if (bytes > MaxAllocHugeSize - VARHDRSZ - alignment)
		elog(ERROR, "invalid size of a filter: %llu bytes", (unsigned long long) bytes);
	*memory = MemoryContextAllocHuge(mcxt, VARHDRSZ + bytes + alignment);
	start = (uint8 *) TYPEALIGN(alignment, *memory);
#ifdef MADV_HUGEPAGE

	/* before the first access; if it fails, probes are only slower */
	if (alignment == HUGE_PAGE_BYTES)
		(void) madvise(start, VARHDRSZ + bytes, MADV_HUGEPAGE);
#endif
	if (zero)
		memset(start, 0, VARHDRSZ + bytes);
	return start + VARHDRSZ;
}

/*
 * Make *fresh a detached writer with new storage of "bytes" bytes; the writer keeps its own
 * until writer_take().  From EXPANDED_FROM_BYTES on, *fresh is an expanded object if the
 * writer has a memory context.
 */
void
writer_fresh(FilterWriter *writer, uint64 bytes, bool zero, FilterWriter *fresh)
{
	/* allocating and filling the memory may take long */
	CHECK_FOR_INTERRUPTS();
	if (writer->expanded == NULL && writer->mcxt != NULL && bytes >= EXPANDED_FROM_BYTES)
	{
		MemoryContext mcxt = AllocSetContextCreate(writer->mcxt, "expanded filter",
												   ALLOCSET_SMALL_SIZES);

		writer->expanded = MemoryContextAllocZero(mcxt, sizeof(ExpandedFilter));
		EOH_init_header(&writer->expanded->hdr, &expanded_methods, mcxt);

		/* until writer_take(), the object has the flat value's image */
		writer->memory = NULL;
		writer_sync(writer);
	}
	*fresh = *writer;
	fresh->detached = true;
	fresh->room = bytes;
	if (writer->expanded)
		fresh->image =
			allocate_image(writer->expanded->hdr.eoh_context, bytes,
						   zero, &fresh->memory);
	else
	{
		fresh->memory = NULL;	/* the receiver of a flat value frees it */
		/* zeros, because a user's aggregate may store the unused room */
		fresh->image = (uint8 *) VARDATA(palloc0(VARHDRSZ + bytes));
	}
}

/* Replace the writer's storage by that of writer_fresh(), and free the old one. */
void
writer_take(FilterWriter *writer, const FilterWriter *fresh)
{
	void	   *old = writer->memory;

	writer->expanded = fresh->expanded;
	writer->image = fresh->image;
	writer->room = fresh->room;
	writer->memory = fresh->memory;
	writer_sync(writer);
	if (old)
		pfree(old);
}

/* Copy an image to new storage of "bytes" bytes for the writer. */
static void
copy_to_fresh(FilterWriter *writer, const uint8 *image, uint64 bytes)
{
	FilterWriter fresh;

	writer_fresh(writer, bytes, false, &fresh);
	memcpy(fresh.image, image, image_bytes(image));
	writer_take(writer, &fresh);
}

/* Replace the writer's image by a copy of another. */
void
writer_replace(FilterWriter *writer, const uint8 *image)
{
	if (image_bytes(image) <= writer->room)
		memcpy(writer->image, image, image_bytes(image));
	else
		copy_to_fresh(writer, image, image_bytes(image));
}

/* ---- Opening and closing ---- */

/*
 * Open a value, and sort its hashes.  Opens a read/write expanded object in place, and any
 * other value as a copy.
 */
void
writer_open_copy(FilterWriter *writer, Datum value)
{
	if (VARATT_IS_EXTERNAL_EXPANDED_RW(DatumGetPointer(value)))
	{
		open_expanded(writer, expanded_get(value));
		set_sort(writer->image);
	}
	else
		writer_open_copied_image(writer, value_image(value), CurrentMemoryContext);
}

/* Open a copy of an image: an expanded object if it is large, and mcxt is not NULL. */
void
writer_open_copied_image(FilterWriter *writer, const uint8 *image, MemoryContext mcxt)
{
	memset(writer, 0, sizeof(*writer));
	writer->mcxt = mcxt;
	copy_to_fresh(writer, image, image_bytes(image));
}

/*
 * Was this transition value returned by another function than ours?  A user's aggregate may
 * have one, such as an inverse transition function.
 */
static inline bool
is_state_of_others(const struct varlena *flat)
{
	return unlikely(VARATT_IS_EXTENDED(flat));
}

/* Open a transition value in place, unsorted; mcxt is the aggregate's memory context. */
void
writer_open_state(FilterWriter *writer, Datum value, MemoryContext mcxt)
{
	struct varlena *flat = (struct varlena *) DatumGetPointer(value);

	if (VARATT_IS_EXTERNAL_EXPANDED_RW(flat))
	{
		open_expanded(writer, expanded_get(value));
		return;
	}
	if (is_state_of_others(flat))
	{
		writer_open_copied_image(writer, value_image(value), mcxt);
		return;
	}
	memset(writer, 0, sizeof(*writer));
	writer->mcxt = mcxt;
	writer->image = (uint8 *) VARDATA(flat);
	writer->room = VARSIZE(flat) - VARHDRSZ;
}

/* Open a new transition value: an explicit filter with "room" bytes. */
void
writer_open_new_state(FilterWriter *writer, const FilterParams *params,
					  uint64 room, MemoryContext mcxt)
{
	FilterWriter none = {.mcxt = mcxt};

	writer_fresh(&none, room, false, writer);
	writer->detached = false;
	image_put_header(writer->image, LAYOUT_EXPLICIT, params);
	writer_sync(writer);
}

/* Close a writer.  Returns the value: flat without extra room, or expanded. */
Datum
writer_close(FilterWriter *writer)
{
	if (writer->expanded == NULL)
		writer->room = image_bytes(writer->image);
	return writer_close_state(writer);
}

/* The same for a transition value, which keeps its room. */
Datum
writer_close_state(FilterWriter *writer)
{
	struct varlena *flat;

	if (writer->expanded)
		return EOHPGetRWDatum(&writer->expanded->hdr);
	flat = (struct varlena *) (writer->image - VARHDRSZ);
	SET_VARSIZE(flat, VARHDRSZ + writer->room);
	return PointerGetDatum(flat);
}

/* ---- Reading ---- */

/*
 * The image of a value of any form, sorted and read-only: it points into the value, or to a
 * copy in the current memory context.
 */
const uint8 *
value_image(Datum value)
{
	struct varlena *pointer = (struct varlena *) DatumGetPointer(value);
	FilterWriter writer;
	uint8	   *image;

	if (VARATT_IS_EXTERNAL_EXPANDED(pointer))
	{
		/* sorting changes the object's form, not its content */
		open_expanded(&writer, expanded_get(value));
		set_sort(writer.image);
		return writer.image;
	}
	image = (uint8 *) VARDATA(PG_DETOAST_DATUM(value));
	if (image_is_unsorted(image))
	{
		writer_open_copied_image(&writer, image, NULL);
		set_sort(writer.image);
		image = writer.image;
	}
	return image;
}

/* The same, but reads only the header and the layers' descriptors of a stored value. */
const uint8 *
value_header(Datum value)
{
	struct varlena *pointer = (struct varlena *) DatumGetPointer(value);
	const uint8 *header;

	if (VARATT_IS_EXTERNAL_EXPANDED(pointer))
		return expanded_get(value)->image;
	if (!VARATT_IS_EXTERNAL_ONDISK(pointer))
		return (uint8 *) VARDATA(PG_DETOAST_DATUM(value));
	header = (uint8 *) VARDATA(detoast_attr_slice(pointer, 0, IMAGE_HEADER_BYTES));
	return (uint8 *) VARDATA(detoast_attr_slice(pointer, 0, filter_header_bytes(header)));
}

/* A flat copy of a value, without extra room: the form that is stored */
struct varlena *
value_copy_flat(Datum value)
{
	const uint8 *image = value_image(value);
	struct varlena *flat = palloc(VARHDRSZ + image_bytes(image));

	CHECK_FOR_INTERRUPTS();
	SET_VARSIZE(flat, VARHDRSZ + image_bytes(image));
	memcpy(VARDATA(flat), image, image_bytes(image));
	return flat;
}

/* ---- Changing ---- */

/*
 * Append little-endian hashes, unsorted, to an explicit filter.  If there is no room,
 * removes duplicates, and enlarges the filter if it is still more than half full.
 */
void
writer_append(FilterWriter *writer, const uint8 *hashes, uint64 count)
{
	uint64		bytes = image_explicit_bytes(image_count(writer->image) + count);

	if (bytes > writer->room)
	{
		if (writer->room >= UNIQUE_FROM_BYTES &&
			(writer->room < SAMPLE_FROM_BYTES || set_repeats(writer->image)))
		{
			set_sort(writer->image);
			bytes = image_explicit_bytes(image_count(writer->image) + count);
		}
		if (bytes > writer->room / 2)
			copy_to_fresh(writer, writer->image, bytes *
						  (bytes < EXPANDED_FROM_BYTES ? FLAT_ROOM_GROWTH :
						   EXPANDED_ROOM_GROWTH));
	}
	set_append(writer->image, hashes, count);
}

/* Merge two sorted explicit filters; checks the size of the result unless it is a state. */
void
merge_set(FilterWriter *writer, const uint8 *other, bool is_state)
{
	uint64		count = image_count(writer->image) + image_count(other);
	FilterWriter fresh;

	writer_fresh(writer, image_explicit_bytes(count), false, &fresh);
	set_merge(fresh.image, writer->image, other);
	if (!is_state)
		check_size(image_bytes(fresh.image));
	writer_take(writer, &fresh);
}

/* The header of a transition value: its parameters and class */
const uint8 *
state_header(Datum state)
{
	if (VARATT_IS_EXTERNAL_EXPANDED_RW(DatumGetPointer(state)))
		return expanded_get(state)->image;
	if (is_state_of_others((struct varlena *) DatumGetPointer(state)))
		return value_image(state);
	return (const uint8 *) VARDATA(DatumGetPointer(state));
}

/* Add a hash to a transition value, for almost every row.  False if there is no room. */
bool
state_push(Datum state, uint64 hash)
{
	struct varlena *flat = (struct varlena *) DatumGetPointer(state);
	uint8	   *image;
	uint64		room;
	uint64		bytes;

	if (VARATT_IS_EXTERNAL_EXPANDED_RW(flat))
	{
		ExpandedFilter *expanded = expanded_get(state);

		image = expanded->image;
		room = expanded->room;
		if (!image_is_set(image))
		{
			/* add those that wait first: if that fails, none is lost */
			if (expanded->pending_count == PENDING_HASHES)
			{
				FilterWriter writer;

				open_expanded(&writer, expanded);
			}
			expanded->pending[expanded->pending_count++] = hash;
			return true;
		}
	}
	else if (is_state_of_others(flat))
		return false;
	else
	{
		image = (uint8 *) VARDATA(flat);
		room = VARSIZE(flat) - VARHDRSZ;
	}
	bytes = image_bytes(image);
	if (!image_is_set(image) || bytes + sizeof(hash) > room ||
		bytes >= image_explicit_bytes(2 * EXPLICIT_STATE_MAX))
		return false;
	set_push(image, hash);
	return true;
}

/* The number of distinct hashes that a Bloom filter with layers does not contain */
static uint64
count_absent(const uint8 *image, const uint64 *hashes, uint64 count)
{
	uint64	   *absent = MemoryContextAllocHuge(CurrentMemoryContext,
												count * sizeof(uint64));
	uint64		absent_count = 0;

	for (uint64 done = 0; done < count; done += BATCH)
	{
		bool		found[BATCH];
		uint64		batch = Min(count - done, BATCH);

		filter_contains_batch(image, hashes + done, batch, found);
		for (uint64 i = 0; i < batch; i++)
			if (!found[i])
				absent[absent_count++] = le64(hashes[done + i]);
		CHECK_FOR_INTERRUPTS();
	}
	absent_count = hashset_sort_unique((uint8 *) absent, absent_count);
	pfree(absent);
	return absent_count;
}

/* Add a layer, for "waiting" elements at least.  Errors: check_plan(). */
static void
writer_grow(FilterWriter *writer, uint64 waiting)
{
	FilterPlan	plan;
	FilterWriter fresh;

	check_plan(filter_plan_growth(writer->image, waiting, &plan), &plan, writer->image);
	writer_fresh(writer, plan.bytes, true, &fresh);
	filter_copy(fresh.image, writer->image, &plan);
	writer_take(writer, &fresh);
}

/* Add a layer to a full filter, for hashes that did not fit, and "more" elements. */
static void
grow_for_waiting(FilterWriter *writer, const uint64 *hashes, uint64 count, uint64 more)
{
	/* a cuckoo filter's next layer has a size of its own */
	writer_grow(writer, image_kind(writer->image) == FILTER_CUCKOO ? 0 :
				count_absent(writer->image, hashes, count) + more);
}

/*
 * Add hashes to a filter with layers; adds layers as needed, each with room for "more"
 * elements besides these.  With "unique", a cuckoo filter skips elements that it seems to
 * contain.
 */
void
add_to_layers(FilterWriter *writer, const uint64 *hashes, uint64 count,
			  uint64 more, bool unique)
{
	while (count > 0)
	{
		uint64		batch = Min(count, BATCH);
		uint64		added = unique ?
			filter_add_unique_batch(writer->image, hashes, batch) :
			filter_add_batch(writer->image, hashes, batch);

		hashes += added;
		count -= added;

		if (added < batch)
			grow_for_waiting(writer, hashes, count, more);
		CHECK_FOR_INTERRUPTS();
	}
}
