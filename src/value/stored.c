/*
 * stored.c
 *	  Reads filters that are stored in tables, in slices or in full, and caches them.
 *
 * A filter that comes from a table, even through a scalar subquery, is a TOAST pointer.  To
 * read all of a large filter for each row would cost far more than the filter saves.  So:
 *
 * - The first probes read slices: the header, which is cached, and the few blocks that hold
 *	 the element's bits.  Compressed values have no slices.
 *
 * - As soon as the next slice would raise the cost of all slices to that of the whole
 *	 filter, we read the whole filter and cache it.  This is the "ski rental" rule: however
 *	 many probes follow, the cost is at most twice that of the better choice.  The unit is a
 *	 chunk of the TOAST table (about 2 kB); a slice reads only one or two, but descends the
 *	 index.
 *
 * The session keeps filters, or their headers, from statement to statement, within
 * bloomfilter.cache_size (cache.c), and finds them by their TOAST pointer.  The pointer
 * identifies the bytes only while a snapshot protects them.  An epoch is a period in which
 * this certainly holds; one begins with each query, and whenever our xmin changes.  The
 * first use of a filter in an epoch checks its first chunk again (chunks.c).
 *
 * Each call site pins the filter that it probed last.  A pinned filter is never evicted,
 * and once it is read in full, its image stays in place.  If the check finds another value,
 * the filter is removed from the hash table, and freed when it is unpinned.
 *
 * An error while reading leaves a filter without an image: the next user reads it.
 */
#include "stored.h"

#include <sys/mman.h>
#include <unistd.h>

#include "access/detoast.h"
#include "filter/set.h"
#include "miscadmin.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

/*
 * The cost of a slice, in chunks of a value read in full.  Measured: 2 microseconds for a
 * slice; for a chunk, 0.35 in a value of 1.3 MB, and 0.7 to 0.9 in one of 13 MB.  A wrong
 * number costs at most a factor of two, and only where both costs are similar.
 */
#define SLICE_COST			4.0

/*
 * Sizes of images that populate() maps at once.  Smaller images come from malloc()'s heap,
 * most of which is mapped; larger ones use huge pages (allocate_image()).
 */
#define POPULATE_FROM_BYTES	((Size) 64 * 1024)
#define POPULATE_BELOW_BYTES ((Size) 4 * 1024 * 1024)

/* Memory of a cached filter besides its image */
#define STORED_OVERHEAD		1536

/* Initial size of the hash table, in filters; it grows as needed */
#define STORED_EXPECTED		16

typedef struct StoredEntry
{
	struct varatt_external pointer; /* the key */
	StoredFilter *stored;
} StoredEntry;

uint64		stored_epoch = 1;
TransactionId stored_xmin = InvalidTransactionId;

/* Holds all stored filters of the session; NULL before the first */
static MemoryContext stored_mcxt = NULL;
static HTAB *stored_filters;

/* Remove a filter from the hash table, so that it is not found again. */
static void
unlist(StoredFilter *stored)
{
	if (stored->listed)
		(void) hash_search(stored_filters, &stored->pointer, HASH_REMOVE, NULL);
	stored->listed = false;
}

/* Free a filter that nobody has pinned; its CacheItem's evict(). */
static void
free_stored(CacheItem *item)
{
	StoredFilter *stored = (StoredFilter *) item;

	Assert(item->pins == 0);
	unlist(stored);
	cache_remove(item);
	MemoryContextDelete(stored->mcxt);
	pfree(stored);
}

/* Unpin the filter of a user that probes another filter, or ends. */
static void
unpin(StoredFilter *stored)
{
	if (stored->listed || stored->item.pins > 1)
	{
		cache_unpin(&stored->item);
		return;
	}
	cache_remove(&stored->item);
	stored->item.pins = 0;
	free_stored(&stored->item);
}

/* Memory context callback: unpin the filter of a user that ends. */
static void
leave_cache(void *arg)
{
	StoredUser *user = (StoredUser *) arg;
	StoredFilter *last = user->last;

	user->last = NULL;
	if (last)
		unpin(last);
}

/* Prepare a user of the cache, and the cache itself, for the user's first stored filter. */
static void
join_cache(StoredUser *user)
{
	if (stored_mcxt == NULL)
	{
		MemoryContext mcxt = AllocSetContextCreate(TopMemoryContext,
												   "stored filters",
												   ALLOCSET_SMALL_SIZES);
		HASHCTL		info = {
			.keysize = sizeof(struct varatt_external),
			.entrysize = sizeof(StoredEntry),
			.hcxt = mcxt
		};

		stored_filters = hash_create("stored filters", STORED_EXPECTED, &info,
									 HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
		stored_mcxt = mcxt;
	}
	user->leave.func = leave_cache;
	user->leave.arg = user;
	MemoryContextRegisterResetCallback(user->mcxt, &user->leave);
}

/* Add a filter to the hash table, without reading any of it. */
static StoredFilter *
make_stored(const struct varatt_external *pointer)
{
	StoredFilter *stored = MemoryContextAllocZero(stored_mcxt, sizeof(StoredFilter));
	StoredEntry *entry;
	bool		found;

	stored->pointer = *pointer;
	stored->item.evict = free_stored;
	stored->mcxt = AllocSetContextCreate(stored_mcxt, "stored filter",
										 ALLOCSET_SMALL_SIZES);
	entry = hash_search(stored_filters, pointer, HASH_ENTER, &found);
	Assert(!found);
	entry->stored = stored;
	stored->listed = true;
	return stored;
}

/* Find the filter of a TOAST pointer, or make a new one; pin it for the user. */
static StoredFilter *
find_stored(StoredUser *user, const struct varatt_external *pointer)
{
	StoredFilter *stored = NULL;
	StoredFilter *before = user->last;
	StoredEntry *entry;

	if (!stored_is_now(stored_epoch))
	{
		stored_new_epoch();
		stored_xmin = MyProc->xmin;
	}
	if (before && user->epoch == stored_epoch &&
		memcmp(&before->pointer, pointer, sizeof(*pointer)) == 0)
		return before;
	if (user->leave.func == NULL)
		join_cache(user);
	entry = hash_search(stored_filters, pointer, HASH_FIND, NULL);
	if (entry)
	{
		stored = entry->stored;
		Assert(stored->listed && stored->item.bytes > 0);
		if (stored->checked != stored_epoch &&
			!chunks_are_same(pointer, &stored->first, stored->image,
							 VARATT_EXTERNAL_IS_COMPRESSED(*pointer) ? 0 :
							 stored->bytes))
		{
			unlist(stored);
			if (stored->item.pins == 0)
				free_stored(&stored->item);
			stored = NULL;
		}
		else if (stored->checked != stored_epoch && !stored->whole &&
				 (Size) stored->pointer.va_rawsize > cache_bound())
			stored->spent = 0;	/* the whole filter would exceed the cache */
	}
	if (stored == NULL)
		stored = make_stored(pointer);
	stored->checked = stored_epoch;
	user->epoch = stored_epoch;
	if (stored != before)
	{
		if (stored->item.bytes == 0)
		{
			/* pin it before resizing, so that it is not evicted at once */
			stored->item.pins = 1;
			cache_resize(&stored->item, STORED_OVERHEAD);
		}
		else
			cache_pin(&stored->item);
		user->last = stored;
		if (before)
			unpin(before);
	}
	return stored;
}

/* ---- Reading ---- */

/*
 * Map the memory of an image at once.  A page fault for each 4 kB would take twice as long,
 * and longer than reading the image.  If the kernel refuses, these page faults happen.
 */
static void
populate(const uint8 *image, Size bytes)
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
 * Replace the filter's image by the first "bytes" bytes of the value, or by all of a
 * compressed value.  Reads them, or copies them from "known" unless that is NULL.
 */
static void
read_stored(StoredFilter *stored, struct varlena *pointer, Size bytes, const uint8 *known)
{
	uint8	   *image;
	void	   *memory;

	Assert(stored->item.pins > 0 && !stored->whole);
	stored->image = NULL;
	stored->bytes = 0;
	MemoryContextReset(stored->mcxt);

	/* count the memory first; after an error, the count is too high */
	cache_resize(&stored->item, STORED_OVERHEAD + bytes);
	if (VARATT_EXTERNAL_IS_COMPRESSED(stored->pointer))
	{
		/* core decompresses it into this context, where it stays */
		MemoryContext old = MemoryContextSwitchTo(stored->mcxt);

		image = (uint8 *) VARDATA(detoast_attr(pointer));
		MemoryContextSwitchTo(old);
	}
	else
	{
		image = allocate_image(stored->mcxt, bytes, false, &memory);
		if (known)
			memcpy(image, known, bytes);
		else
		{
			populate(image, bytes);
			chunks_read(&stored->pointer, 0, bytes, image);
		}
	}
	stored->image = image;
	stored->bytes = bytes;
	stored->whole = bytes == (Size) stored->pointer.va_rawsize - VARHDRSZ;
}

static void
read_whole(StoredFilter *stored, struct varlena *pointer)
{
	read_stored(stored, pointer, stored->pointer.va_rawsize - VARHDRSZ, NULL);
	Assert(stored->whole);
}

/*
 * Read the first chunk, and note its place.  Keep the header and the layers' descriptors,
 * or the whole value if it has no more than that.  Of a compressed value, keep nothing yet.
 */
static void
read_first(StoredFilter *stored, struct varlena *pointer)
{
	uint8		room[VARHDRSZ + TOAST_MAX_CHUNK_SIZE];
	uint8	   *chunk = room + VARHDRSZ;
	Size		bytes = chunks_find_first(&stored->pointer, &stored->first, chunk);
	Size		all = VARATT_EXTERNAL_GET_EXTSIZE(stored->pointer);
	Size		needed;

	stored->spent += SLICE_COST;
	if (VARATT_EXTERNAL_IS_COMPRESSED(stored->pointer))
		return;
	if (bytes == 0)
	{
		/* not in a heap; or the chunk is missing, and this raises the error */
		bytes = Min(all, TOAST_MAX_CHUNK_SIZE);
		chunks_read(&stored->pointer, 0, bytes, chunk);
	}
	/* if the chunk is damaged, reading the value raises the error */
	needed = bytes == all ? all :
		Min(all, bytes < IMAGE_HEADER_BYTES ? IMAGE_HEADER_BYTES :
			filter_header_bytes(chunk));
	read_stored(stored, pointer, needed, needed <= bytes ? chunk : NULL);
	if (needed > bytes)
		stored->spent += SLICE_COST;
}

/* Would "slices" more slices raise the cost of all slices to that of the whole filter? */
static inline bool
whole_pays(const StoredFilter *stored, double slices)
{
	double		chunks = (double) VARATT_EXTERNAL_GET_EXTSIZE(stored->pointer) /
		TOAST_MAX_CHUNK_SIZE;

	return VARATT_EXTERNAL_IS_COMPRESSED(stored->pointer) ||
		stored->spent + SLICE_COST * slices >= SLICE_COST + chunks;
}

/*
 * Open a filter that is not flat in memory.  Reads and caches as much as is worthwhile for
 * "probes" probes: nothing new, the header, or everything.
 */
void
reader_open_stored(StoredUser *user, Datum filter, uint64 probes, FilterReader *reader)
{
	struct varlena *pointer = (struct varlena *) DatumGetPointer(filter);
	struct varatt_external place;
	StoredFilter *stored;

	if (!VARATT_IS_EXTERNAL_ONDISK(pointer))
	{
		/* compressed in its row, indirect, expanded, or with a short header */
		reader->image = value_image(filter);
		return;
	}

	VARATT_EXTERNAL_GET_POINTER(place, pointer);
	stored = find_stored(user, &place);
	if (stored->image == NULL)
		read_first(stored, pointer);

	/* even without probes, the header takes a slice */
	if (!stored->whole &&
		(stored->image == NULL || filter_slices(stored->image) == 0 ||
		 whole_pays(stored, (double) Max(probes, 1))))
		read_whole(stored, pointer);
	if (!stored->whole)
		reader->slices_of = pointer;
	reader->image = stored->image;
	reader->stored = stored;
}

/* The argument of fetch_slice(): the filter to read from, and room for a slice */
typedef struct SliceReader
{
	StoredFilter *stored;
	uint8		room[VARHDRSZ + SLICE_MAX_BYTES];
} SliceReader;

/* A FilterFetch: read bytes of a stored value.  The result is valid until the next call. */
static const uint8_t *
fetch_slice(void *from, uint64_t offset, uint32_t bytes)
{
	SliceReader *slices = (SliceReader *) from;
	uint8	   *slice = slices->room + VARHDRSZ;

	Assert(bytes <= SLICE_MAX_BYTES);
	chunks_read(&slices->stored->pointer, offset, bytes, slice);
	slices->stored->spent += SLICE_COST;
	return slice;
}

/*
 * Set found[i] to whether the filter contains hashes[i].  The hashes are ForeignHashes if
 * the filter is of another system, otherwise uint64.
 */
void
reader_contains_batch(FilterReader *reader, const void *hashes, Size count, bool *found)
{
	const bool	is_foreign = image_is_foreign(reader->image);
	const ForeignHash *foreign = hashes;
	const uint64 *ours = hashes;
	Size		done = 0;
	SliceReader slices;

	for (; done < count && reader->slices_of != NULL; done++)
	{
		Assert(reader->stored->item.pins > 0);
		Assert(reader->image == reader->stored->image);
		if (whole_pays(reader->stored, 1))
		{
			read_whole(reader->stored, reader->slices_of);
			reader->image = reader->stored->image;
			reader->slices_of = NULL;
			break;
		}
		slices.stored = reader->stored;
		found[done] = is_foreign ?
			foreign_contains_sliced(reader->image, &foreign[done], fetch_slice,
									&slices) :
			filter_contains_sliced(reader->image, ours[done], fetch_slice, &slices);
	}
	while (done < count)
	{
		Size		batch = Min(count - done, BATCH);

		CHECK_FOR_INTERRUPTS();
		if (is_foreign)
			foreign_contains_batch(reader->image, foreign + done, batch, found + done);
		else
			filter_contains_batch(reader->image, ours + done, batch, found + done);
		done += batch;
	}
}

/* Like writer_open_copy(), but uses an image that the reader has read in full. */
void
reader_open_writer(const FilterReader *reader, Datum filter, FilterWriter *writer)
{
	if (reader->slices_of != NULL ||
		VARATT_IS_EXTERNAL_EXPANDED_RW(DatumGetPointer(filter)))
	{
		writer_open_copy(writer, filter);
		return;
	}
	writer_open_copied_image(writer, reader->image, CurrentMemoryContext);
	set_sort(writer->image);
}
