/*
 * stored.c
 *	  Reading filters that are stored in tables: by slices or in full, and cached.
 *
 * A filter that comes from a table, even through a scalar subquery, is a TOAST
 * pointer.  Reading all of a large filter for one probe is slow; doing so for
 * each row of a table costs far more than the filter saves.  So:
 *
 * - The first probes read slices: the header, which is cached, and the one block
 *	 (or few) that holds the element's bits.  This works for values stored
 *	 uncompressed, and takes the same time for a filter of any size.
 *
 * - As soon as the next slice would bring the cost to that of the whole filter,
 *	 we read the whole and cache it.  This is the "ski rental" rule: however many
 *	 probes follow, the cost is at most twice that of the better choice, and the
 *	 probe that reads the whole costs about as much as those before it together.
 *	 If we know that many probes follow (an array of elements), or that the filter
 *	 is small, we read the whole at once.
 *
 * The unit of cost is a chunk of the TOAST table (about 2 kB).  A slice needs
 * only one or two chunks, but each slice has to descend the index.
 *
 * The cache holds several filters, because a join may alternate between them
 * (shards, or one filter for each customer).  Its key is the TOAST pointer
 * (value, relation and both sizes), which identifies the bytes: a changed filter
 * is stored as a new value.  All call sites of a backend share the cache,
 * because the scan of each partition has a call site of its own.  When it
 * exceeds CACHE_BYTES, we evict the least recently probed filters, except those
 * that some call site probed last.  The cache goes away with the last call site
 * that used it: at the end of the query, or of the transaction if PL/pgSQL
 * evaluates the call as a simple expression.
 */
#include "stored.h"

#include <sys/mman.h>
#include <unistd.h>

#include "access/detoast.h"
#include "access/heaptoast.h"
#include "access/table.h"
#include "access/tableam.h"
#include "miscadmin.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/rel.h"

/*
 * Cost of reading one slice, in chunks of a value that is read in full.
 * Measured: 1.9 to 2.1 microseconds a slice against 0.35 a chunk of a filter of
 * 1.3 MB and 0.7 to 0.9 of one of 13 MB, which no cache of the processor holds.
 * A wrong value costs at most a factor of two, and only near the point where both
 * ways cost the same.
 */
#define SLICE_COST			4.0

/*
 * A large filter is read so many bytes at a time, with a check for interrupts in
 * between: full chunks, so that none is read twice
 */
#define READ_BYTES			((Size) 4096 * TOAST_MAX_CHUNK_SIZE)

/* The largest slice that a layout reads: a block, or a window */
#define SLICE_MAX_BYTES		64

/*
 * Sizes of images whose memory we ask for at once.  Smaller ones come from the
 * heap of malloc(), which has often been touched; larger ones use huge pages
 * (allocate_image()).
 */
#define POPULATE_FROM_BYTES	((Size) 64 * 1024)
#define POPULATE_BELOW_BYTES ((Size) 4 * 1024 * 1024)

/* Bytes that a cached filter takes besides its image: limits their number, too */
#define CACHE_OVERHEAD		1024

/* Initial size of the hash table, in filters; it grows as needed */
#define STORED_EXPECTED		16

/* The cache */
static struct
{
	MemoryContext mcxt;			/* NULL while there is no cache */
	HTAB	   *filters;
	dlist_head	uses;			/* most recently used first */
	Size		bytes;			/* of all filters */
	int			users;			/* StoredUsers that have joined */
}			cache;

static void
evict(StoredFilter *stored)
{
	cache.bytes -= stored->bytes + CACHE_OVERHEAD;
	dlist_delete(&stored->use);
	MemoryContextDelete(stored->mcxt);
	hash_search(cache.filters, &stored->pointer, HASH_REMOVE, NULL);
}

/* Evict the least recently used filters while the cache is too large. */
static void
limit_cache(void)
{
	dlist_node *node = dlist_is_empty(&cache.uses) ? NULL :
		dlist_tail_node(&cache.uses);

	while (node && cache.bytes > CACHE_BYTES)
	{
		StoredFilter *stored = dlist_container(StoredFilter, use, node);

		node = dlist_has_prev(&cache.uses, node) ?
			dlist_prev_node(&cache.uses, node) : NULL;
		if (stored->users == 0)
			evict(stored);
	}
}

/* Memory context callback: a user of the cache ends */
static void
leave_cache(void *arg)
{
	StoredUser *user = (StoredUser *) arg;

	if (user->last)
		user->last->users--;
	if (--cache.users == 0)
	{
		MemoryContextDelete(cache.mcxt);
		memset(&cache, 0, sizeof(cache));
	}
}

/* Called before a user's first probe of a stored filter */
static void
join_cache(StoredUser *user)
{
	if (cache.mcxt == NULL)
	{
		HASHCTL		info = {
			.keysize = sizeof(struct varatt_external),
			.entrysize = sizeof(StoredFilter)
		};

		cache.mcxt = AllocSetContextCreate(TopMemoryContext,
										   "stored filters",
										   ALLOCSET_SMALL_SIZES);
		info.hcxt = cache.mcxt;
		cache.filters = hash_create("stored filters", STORED_EXPECTED, &info,
									HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
		dlist_init(&cache.uses);
	}
	user->leave.func = leave_cache;
	user->leave.arg = user;
	MemoryContextRegisterResetCallback(user->mcxt, &user->leave);
	user->joined = true;
	cache.users++;
}

/*
 * Read part of a value that is stored uncompressed: "bytes" bytes from "offset"
 * on, straight to where they belong.  Core writes a slice behind the length word
 * of the varlena that it is given, and leaves that word alone.
 */
static void
read_slice(const struct varatt_external *place, Size offset, Size bytes,
		   uint8 *to)
{
	Relation	toast = table_open(place->va_toastrelid, AccessShareLock);
	Size		done = 0;

	Assert(!VARATT_EXTERNAL_IS_COMPRESSED(*place));
	Assert(offset + bytes <= VARATT_EXTERNAL_GET_EXTSIZE(*place));
	while (done < bytes)
	{
		Size		length = Min(bytes - done, READ_BYTES);

		CHECK_FOR_INTERRUPTS();
		table_relation_fetch_toast_slice(toast, place->va_valueid,
										 VARATT_EXTERNAL_GET_EXTSIZE(*place),
										 offset + done, length,
										 (struct varlena *)
										 (to + done - VARHDRSZ));
		done += length;
	}
	table_close(toast, AccessShareLock);
}

/*
 * Get the memory of an image that is about to be written to in full.  A page
 * fault for each 4 kB would take longer than reading what goes there; the kernel
 * needs half as long for all pages at once.  If it refuses, they come one by one.
 */
static void
populate(uint8 *image, Size bytes)
{
#ifdef MADV_POPULATE_WRITE
	if (bytes >= POPULATE_FROM_BYTES && bytes < POPULATE_BELOW_BYTES)
	{
		Size		page = sysconf(_SC_PAGESIZE);
		uintptr_t	start = TYPEALIGN(page, (uintptr_t) image);
		uintptr_t	end = TYPEALIGN_DOWN(page, (uintptr_t) image + bytes);

		(void) madvise((void *) start, end - start, MADV_POPULATE_WRITE);
	}
#endif
}

/*
 * Read the first "bytes" bytes of a stored filter into the cache, replacing what
 * was read before; evict other filters if the cache gets too large.
 */
static void
read_stored(StoredFilter *stored, struct varlena *pointer, Size bytes)
{
	uint8	   *image;
	void	   *memory;

	cache.bytes += bytes - stored->bytes;
	stored->bytes = bytes;
	limit_cache();

	stored->image = NULL;
	MemoryContextReset(stored->mcxt);
	if (VARATT_EXTERNAL_IS_COMPRESSED(stored->pointer))
	{
		/* where core decompresses it to, so that there is no second copy */
		MemoryContext old = MemoryContextSwitchTo(stored->mcxt);

		image = (uint8 *) VARDATA(detoast_attr(pointer));
		MemoryContextSwitchTo(old);
	}
	else
	{
		image = allocate_image(stored->mcxt, bytes, false, &memory);
		populate(image, bytes);
		read_slice(&stored->pointer, 0, bytes, image);
	}
	stored->image = image;
}

/* Look up the cache entry for a TOAST pointer, or make a new one. */
static StoredFilter *
find_stored(StoredUser *user, const struct varatt_external *pointer)
{
	StoredFilter *stored;
	bool		known;

	if (user->last &&
		memcmp(&user->last->pointer, pointer, sizeof(*pointer)) == 0)
		return user->last;
	if (!user->joined)
		join_cache(user);
	stored = hash_search(cache.filters, pointer, HASH_FIND, NULL);
	if (stored)
		dlist_move_head(&cache.uses, &stored->use);
	else
	{
		MemoryContext mcxt = AllocSetContextCreate(cache.mcxt,
												   "stored filter",
												   ALLOCSET_SMALL_SIZES);

		stored = hash_search(cache.filters, pointer, HASH_ENTER, &known);
		stored->mcxt = mcxt;
		stored->image = NULL;
		stored->whole = false;
		stored->bytes = 0;
		stored->spent = 0;
		stored->users = 0;
		cache.bytes += CACHE_OVERHEAD;
		dlist_push_head(&cache.uses, &stored->use);
	}
	stored->users++;
	if (user->last)
		user->last->users--;
	user->last = stored;
	return stored;
}

/* Read the header and the layers' descriptors. */
static void
read_header(StoredFilter *stored, struct varlena *pointer)
{
	/* most filters have one layer; for more, read again */
	read_stored(stored, pointer, IMAGE_HEADER_BYTES + IMAGE_LAYER_BYTES);
	stored->spent += SLICE_COST;
	if (filter_header_bytes(stored->image) > stored->bytes)
	{
		read_stored(stored, pointer, filter_header_bytes(stored->image));
		stored->spent += SLICE_COST;
	}
}

/* Read all of a filter. */
static void
read_whole(StoredFilter *stored, struct varlena *pointer)
{
	Assert(!stored->whole);
	read_stored(stored, pointer, stored->pointer.va_rawsize - VARHDRSZ);
	stored->whole = true;
}

/*
 * Would "slices" more slices cost at least as much, with those read before, as
 * all of the filter?  A compressed value has no slices.
 */
static inline bool
whole_pays(const StoredFilter *stored, double slices)
{
	return VARATT_EXTERNAL_IS_COMPRESSED(stored->pointer) ||
		stored->spent + SLICE_COST * slices >=
		SLICE_COST +
		(double) stored->pointer.va_rawsize / TOAST_MAX_CHUNK_SIZE;
}

/*
 * reader_open_stored
 *		The slow path of reader_open(): the filter is not flat in memory
 *
 * Reads and caches what the expected number of probes is certain to pay for:
 * nothing new, the header, or the whole filter.
 */
void
reader_open_stored(StoredUser *user, Datum filter, uint64 probes,
				   FilterReader *reader)
{
	struct varlena *pointer = (struct varlena *) DatumGetPointer(filter);
	struct varatt_external place;
	StoredFilter *stored;

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
		/* an array of NULLs needs the header, too */
		probes = Max(probes, 1);
		/* at least one slice for each probe, and the header */
		if (whole_pays(stored, (double) probes + (stored->image == NULL ? 1 : 0)))
			read_whole(stored, pointer);
		else if (stored->image == NULL)
		{
			read_header(stored, pointer);
			if (filter_slices(stored->image) == 0)
				read_whole(stored, pointer);
		}
		if (!stored->whole)
			reader->slices_of = pointer;
	}
	reader->image = stored->image;
	reader->stored = stored;
}

/* A FilterFetch's argument: where to read from, and room for a slice */
typedef struct SliceReader
{
	StoredFilter *stored;
	uint8		room[VARHDRSZ + SLICE_MAX_BYTES];
} SliceReader;

/* A FilterFetch: read bytes of a stored value; valid until the next call. */
static const uint8_t *
fetch_slice(void *from, uint64_t offset, uint32_t bytes)
{
	SliceReader *slices = (SliceReader *) from;
	uint8	   *slice = slices->room + VARHDRSZ;

	Assert(bytes <= SLICE_MAX_BYTES);
	read_slice(&slices->stored->pointer, offset, bytes, slice);
	slices->stored->spent += SLICE_COST;
	return slice;
}

/*
 * reader_contains_sliced
 *		reader_contains() for a filter that is read by slices
 *
 * Reads the whole filter instead if that pays now; the reader is then like any
 * other.
 */
bool
reader_contains_sliced(FilterReader *reader, uint64 hash)
{
	SliceReader slices;

	Assert(reader->image == reader->stored->image);
	if (whole_pays(reader->stored, 1))
	{
		read_whole(reader->stored, reader->slices_of);
		reader->image = reader->stored->image;
		reader->slices_of = NULL;
		return filter_contains(reader->image, hash);
	}
	slices.stored = reader->stored;
	return filter_contains_sliced(reader->image, hash, fetch_slice, &slices);
}

/*
 * reader_contains_batch
 *		Probe the filter for many hashes: found[i] is the result for hashes[i]
 */
void
reader_contains_batch(FilterReader *reader, const uint64 *hashes, Size count,
					  bool *found)
{
	Size		done = 0;

	while (done < count && reader->slices_of != NULL)
	{
		found[done] = reader_contains_sliced(reader, hashes[done]);
		done++;
	}
	while (done < count)
	{
		Size		batch = Min(count - done, BATCH);

		CHECK_FOR_INTERRUPTS();
		filter_contains_batch(reader->image, hashes + done, batch,
							  found + done);
		done += batch;
	}
}
