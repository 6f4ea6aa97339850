/*
 * stored.c
 *	  Reading filters that are stored in tables: by slices, or whole, and cached.
 *
 * A filter that comes from a table, be it through a scalar subquery, is a TOAST
 * pointer.  To read all of a large filter for one look-up is slow, and to do so
 * for each row of a table much slower than what the filter saves.  So:
 *
 * - The first questions are answered from parts: the header, which is kept, and
 *	 the one block (or few) that the element's bits lie in.  A value that is
 *	 stored uncompressed can be read so, and takes the same time at any size.
 *
 * - Once the parts have cost as much as the whole would, the whole is read, and
 *	 kept.  This is the "ski rental" rule: whatever number of questions follows,
 *	 the cost is at most twice that of the better choice.  If it can be known
 *	 that there are many questions (an array of elements), or that the filter
 *	 is small, the whole is read at once.
 *
 * Costs are counted in chunks of the TOAST table (some 2 kB), of which a part
 * reads one or two, but each time has to descend the index.
 *
 * Several filters are kept, found by their TOAST pointers, for a join may come
 * to one after the other (shards, a filter for each customer).  The pointer
 * (value, relation and both sizes) names the bytes: a changed filter is stored as
 * a new value.  All call sites of a backend share them, for the scan of each
 * partition has a call site of its own.  If they take more than KEEP_BYTES,
 * those that were not asked for the longest time are dropped, but none that a
 * call site asked last.  All are dropped when no call site is left that asked a
 * stored filter: that is with the query, or with the transaction if PL/pgSQL
 * evaluates the call as a simple expression.
 */
#include "stored.h"

#include "access/detoast.h"
#include "access/heaptoast.h"
#include "miscadmin.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

/*
 * What reading one part costs, in chunks of a value that is read as a whole.
 * Measured: 5 to 8 microseconds against 0.15 to 0.2, 4.5 against 0.4, and 3.7
 * against 0.4 to 0.9 (page faults included), which is 40, 11 and 4 to 10.  A
 * wrong number costs a factor of two at most, and only about where both ways
 * cost the same.
 */
#define PART_COST			8.0

/*
 * Bytes of a large filter that are read at a time, so that it is not in memory
 * twice
 */
#define READ_BYTES			((Size) 8 * 1024 * 1024)

/* What a filter takes besides the bytes read, so that many do not add up */
#define KEEP_OVERHEAD		1024

/* Filters expected at one call site; the table grows beyond */
#define STORED_EXPECTED		16

/* The stored filters that are kept */
static struct
{
	MemoryContext mcxt;			/* NULL if there are none */
	HTAB	   *filters;
	dlist_head	uses;			/* the one found last first */
	Size		bytes;			/* of all */
	int			users;			/* that asked any */
}			kept;

static void
forget(StoredFilter *stored)
{
	kept.bytes -= stored->bytes + KEEP_OVERHEAD;
	dlist_delete(&stored->use);
	MemoryContextDelete(stored->mcxt);
	hash_search(kept.filters, &stored->pointer, HASH_REMOVE, NULL);
}

/* Drop what is too much, the filters asked longest ago first. */
static void
bound_kept(void)
{
	dlist_node *node = dlist_is_empty(&kept.uses) ? NULL :
		dlist_tail_node(&kept.uses);

	while (node && kept.bytes > KEEP_BYTES)
	{
		StoredFilter *stored = dlist_container(StoredFilter, use, node);

		node = dlist_has_prev(&kept.uses, node) ?
			dlist_prev_node(&kept.uses, node) : NULL;
		if (stored->users == 0)
			forget(stored);
	}
}

/* The callback of a call site that asked stored filters, and ends now */
static void
leave_kept(void *arg)
{
	StoredUser *user = (StoredUser *) arg;

	if (user->last)
		user->last->users--;
	if (--kept.users == 0)
	{
		MemoryContextDelete(kept.mcxt);
		memset(&kept, 0, sizeof(kept));
	}
}

/* Before a call site asks its first stored filter */
static void
join_kept(StoredUser *user)
{
	if (kept.mcxt == NULL)
	{
		HASHCTL		info = {
			.keysize = sizeof(struct varatt_external),
			.entrysize = sizeof(StoredFilter)
		};

		kept.mcxt = AllocSetContextCreate(TopMemoryContext,
										  "stored filters",
										  ALLOCSET_SMALL_SIZES);
		info.hcxt = kept.mcxt;
		kept.filters = hash_create("stored filters", STORED_EXPECTED, &info,
								   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
		dlist_init(&kept.uses);
	}
	user->leave.func = leave_kept;
	user->leave.arg = user;
	MemoryContextRegisterResetCallback(user->mcxt, &user->leave);
	user->joined = true;
	kept.users++;
}

/*
 * Read the first "bytes" bytes of a stored filter into memory that is kept, in
 * place of what was read before; drop other filters if that is too much.
 */
static void
read_stored(StoredFilter *stored, struct varlena *pointer, Size bytes)
{
	uint8	   *image;
	void	   *memory;
	Size		done = 0;

	kept.bytes += bytes - stored->bytes;
	stored->bytes = bytes;
	bound_kept();

	stored->image = NULL;
	MemoryContextReset(stored->mcxt);
	image = allocate_image(stored->mcxt, bytes, false, &memory);

	if (VARATT_EXTERNAL_IS_COMPRESSED(stored->pointer))
	{
		struct varlena *whole = detoast_attr(pointer);

		memcpy(image, VARDATA(whole), bytes);
		pfree(whole);
		done = bytes;
	}
	while (done < bytes)
	{
		Size		length = Min(bytes - done, READ_BYTES);
		struct varlena *piece = detoast_attr_slice(pointer, done, length);

		memcpy(image + done, VARDATA(piece), length);
		pfree(piece);
		done += length;
	}
	stored->image = image;
}

/* The filter stored at this place: as it is known, or not read yet */
static StoredFilter *
find_stored(StoredUser *user, const struct varatt_external *pointer)
{
	StoredFilter *stored;
	bool		known;

	if (user->last &&
		memcmp(&user->last->pointer, pointer, sizeof(*pointer)) == 0)
		return user->last;
	if (!user->joined)
		join_kept(user);
	stored = hash_search(kept.filters, pointer, HASH_FIND, NULL);
	if (stored)
		dlist_move_head(&kept.uses, &stored->use);
	else
	{
		MemoryContext mcxt = AllocSetContextCreate(kept.mcxt,
												   "stored filter",
												   ALLOCSET_SMALL_SIZES);

		stored = hash_search(kept.filters, pointer, HASH_ENTER, &known);
		stored->mcxt = mcxt;
		stored->image = NULL;
		stored->whole = false;
		stored->bytes = 0;
		stored->spent = 0;
		stored->users = 0;
		kept.bytes += KEEP_OVERHEAD;
		dlist_push_head(&kept.uses, &stored->use);
	}
	stored->users++;
	if (user->last)
		user->last->users--;
	user->last = stored;
	return stored;
}

/* Read the header and the descriptors. */
static void
read_header(StoredFilter *stored, struct varlena *pointer)
{
	/* one layer is the rule; a further reading brings the others */
	read_stored(stored, pointer, IMAGE_HEADER_BYTES + IMAGE_LAYER_BYTES);
	stored->spent += PART_COST;
	if (filter_header_bytes(stored->image) > stored->bytes)
	{
		read_stored(stored, pointer, filter_header_bytes(stored->image));
		stored->spent += PART_COST;
	}
}

/*
 * Open a filter that is not plainly in memory, for so many probes.
 */
void
reader_open_stored(StoredUser *user, Datum filter, uint64 probes,
				   FilterReader *reader)
{
	struct varlena *pointer = (struct varlena *) DatumGetPointer(filter);
	struct varatt_external place;
	StoredFilter *stored;
	double		chunks;
	double		parts;

	if (!VARATT_IS_EXTERNAL_ONDISK(pointer))
	{
		/* compressed in its row, indirect, expanded, with a short header */
		reader->image = value_image(filter);
		return;
	}

	VARATT_EXTERNAL_GET_POINTER(place, pointer);
	stored = find_stored(user, &place);
	if (!stored->whole)
	{
		chunks = (double) place.va_rawsize / TOAST_MAX_CHUNK_SIZE;
		/* the header is needed even to answer nothing */
		probes = Max(probes, 1);
		/* no fewer parts than one a question, and the header before */
		parts = probes + (stored->image == NULL ? 1 : 0);
		if (VARATT_EXTERNAL_IS_COMPRESSED(place) ||
			stored->spent + PART_COST * parts >= chunks)
			parts = 0;
		else
		{
			if (stored->image == NULL)
				read_header(stored, pointer);
			parts = (double) probes * filter_parts(stored->image);
		}
		if (parts == 0 || stored->spent + PART_COST * parts >= chunks)
		{
			read_stored(stored, pointer, place.va_rawsize - VARHDRSZ);
			stored->whole = true;
		}
		else
			reader->slices_of = pointer;
	}
	reader->image = stored->image;
	reader->stored = stored;
}

/* What fetch_slice() needs to know, and what it fetched last */
typedef struct SliceReader
{
	FilterReader *reader;
	struct varlena *slice;
} SliceReader;

/* A FilterFetch */
static const uint8_t *
fetch_slice(void *from, uint64_t offset, uint32_t bytes)
{
	SliceReader *slices = (SliceReader *) from;

	/* a filter that nobody asked for long comes from the disk */
	CHECK_FOR_INTERRUPTS();
	if (slices->slice)
		pfree(slices->slice);
	slices->slice = detoast_attr_slice(slices->reader->slices_of, offset,
									   bytes);
	slices->reader->stored->spent += PART_COST;
	return (const uint8_t *) VARDATA(slices->slice);
}

/* reader_contains() of a filter that is read by slices */
bool
reader_contains_sliced(FilterReader *reader, uint64 hash)
{
	SliceReader slices = {reader, NULL};
	bool		found = filter_contains_in_parts(reader->image, hash,
												 fetch_slice, &slices);

	if (slices.slice)
		pfree(slices.slice);
	return found;
}
