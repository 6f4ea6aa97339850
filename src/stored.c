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
 * - Once the slices have cost as much as the whole filter would, we read the
 *	 whole and cache it.  This is the "ski rental" rule: however many probes
 *	 follow, the cost is at most twice that of the better choice.  If we know
 *	 that many probes follow (an array of elements), or that the filter is
 *	 small, we read the whole at once.
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

#include "access/detoast.h"
#include "access/heaptoast.h"
#include "miscadmin.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

/*
 * Cost of reading one slice, in chunks of a value that is read in full.
 * Measured: 5 to 8 microseconds a slice against 0.15 to 0.2 a chunk, 4.5 against
 * 0.4, and 3.7 against 0.4 to 0.9 (page faults included): ratios of 40, 11 and 4
 * to 10.  A wrong value costs at most a factor of two, and only near the point
 * where both ways cost the same.
 */
#define SLICE_COST			8.0

/*
 * A large filter is read this many bytes at a time, so that memory never holds
 * it twice.
 */
#define READ_BYTES			((Size) 8 * 1024 * 1024)

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
 * Read the first "bytes" bytes of a stored filter into the cache, replacing what
 * was read before; evict other filters if the cache gets too large.
 */
static void
read_stored(StoredFilter *stored, struct varlena *pointer, Size bytes)
{
	uint8	   *image;
	void	   *memory;
	Size		done = 0;

	cache.bytes += bytes - stored->bytes;
	stored->bytes = bytes;
	limit_cache();

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

/*
 * reader_open_stored
 *		The slow path of reader_open(): the filter is not flat in memory
 *
 * Reads and caches what the expected number of probes pays for: nothing new, the
 * header, or the whole filter.
 */
void
reader_open_stored(StoredUser *user, Datum filter, uint64 probes,
				   FilterReader *reader)
{
	struct varlena *pointer = (struct varlena *) DatumGetPointer(filter);
	struct varatt_external place;
	StoredFilter *stored;
	double		chunks;
	double		slices;

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
		/* an array of NULLs needs the header, too */
		probes = Max(probes, 1);
		/* at least: one slice for each probe, and the header */
		slices = probes + (stored->image == NULL ? 1 : 0);
		if (VARATT_EXTERNAL_IS_COMPRESSED(place) ||
			stored->spent + SLICE_COST * slices >= chunks)
			slices = 0;
		else
		{
			if (stored->image == NULL)
				read_header(stored, pointer);
			slices = (double) probes * filter_slices(stored->image);
		}
		if (slices == 0 || stored->spent + SLICE_COST * slices >= chunks)
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

/* State of fetch_slice(): what to read from, and the slice read last */
typedef struct SliceReader
{
	FilterReader *reader;
	struct varlena *slice;
} SliceReader;

/* A FilterFetch: read bytes of the stored value that the reader has open. */
static const uint8_t *
fetch_slice(void *from, uint64_t offset, uint32_t bytes)
{
	SliceReader *slices = (SliceReader *) from;

	/* a filter that was not used for long comes from disk */
	CHECK_FOR_INTERRUPTS();
	if (slices->slice)
		pfree(slices->slice);
	slices->slice = detoast_attr_slice(slices->reader->slices_of, offset,
									   bytes);
	slices->reader->stored->spent += SLICE_COST;
	return (const uint8_t *) VARDATA(slices->slice);
}

/* reader_contains() for a filter that is read by slices */
bool
reader_contains_sliced(FilterReader *reader, uint64 hash)
{
	SliceReader slices = {reader, NULL};
	bool		found = filter_contains_sliced(reader->image, hash,
											   fetch_slice, &slices);

	if (slices.slice)
		pfree(slices.slice);
	return found;
}
