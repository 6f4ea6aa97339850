/*
 * stored.h
 *	  Reading filters that are stored in tables; see stored.c.
 */
#ifndef BLOOMFILTER_STORED_H
#define BLOOMFILTER_STORED_H

#include "cache.h"
#include "chunks.h"
#include "value.h"

#include "storage/proc.h"

/* A stored filter in the cache */
typedef struct StoredFilter
{
	CacheItem	item;			/* pinned by users that probed it last */
	struct varatt_external pointer; /* hash key; where it is stored */
	FirstChunk	first;			/* to check that it is still the same value */
	MemoryContext mcxt;			/* of the image */
	uint8	   *image;			/* header and descriptors, or all, or NULL */
	Size		bytes;			/* of the image */
	bool		whole;			/* image has everything */
	bool		listed;			/* in the hash table */
	double		spent;			/* cost of slices read, in chunks (stored.c) */
	uint64		checked;		/* stored_epoch at the last check */
} StoredFilter;

/* A user of the cache: a call site, until its memory context is reset */
typedef struct StoredUser
{
	MemoryContext mcxt;
	StoredFilter *last;			/* the one probed last, pinned, or NULL */
	uint64		epoch;			/* stored_epoch when it was probed */
	MemoryContextCallback leave;	/* registered if it has a function */
} StoredUser;

/* Number of the epoch, in which a TOAST pointer identifies one value (stored.c) */
extern uint64 stored_epoch;
extern TransactionId stored_xmin;	/* MyProc->xmin in this epoch */

/* A filter to probe; if slices_of is set, "image" has only header and descriptors. */
typedef struct FilterReader
{
	const uint8 *image;
	struct varlena *slices_of;	/* where the rest is stored, or NULL */
	StoredFilter *stored;		/* set if slices_of is */
} FilterReader;

/*
 * Begin an epoch: from now on, a TOAST pointer may identify another value.  When a query
 * starts, a transaction ends or a subtransaction aborts, the snapshot that protected a
 * value may be gone, and the value's OID reused.
 */
static inline void
stored_new_epoch(void)
{
	stored_epoch++;
}

/*
 * Is this the current epoch, and is it still valid?
 *
 * A utility command within a transaction, and the application of a change of logical
 * replication, have snapshots of their own, but start no query.  While our xmin is the
 * same, nothing that we could see has been removed, because the xid of a transaction that
 * deleted it is not before xmin.  If we had no snapshot in between, the new one has the
 * same xmin only because the transaction with that xid has been running all the time.
 */
static inline bool
stored_is_now(uint64 epoch)
{
	return epoch == stored_epoch && stored_xmin == MyProc->xmin;
}

extern void reader_open_stored(StoredUser *user, Datum filter, uint64 probes,
							   FilterReader *reader);
extern void reader_open_writer(const FilterReader *reader, Datum filter,
							   FilterWriter *writer);
extern void reader_contains_batch(FilterReader *reader, const void *hashes,
								  Size count, bool *found);

/*
 * Open a filter to probe it for "probes" elements; the more they are, the sooner a stored
 * filter is read in full.  A filter that is flat in memory costs nothing.  The reader is
 * valid until "filter" is freed, or the user opens another filter.
 */
static inline void
reader_open(StoredUser *user, Datum filter, uint64 probes, FilterReader *reader)
{
	struct varlena *pointer = (struct varlena *) DatumGetPointer(filter);

	reader->slices_of = NULL;
	if (VARATT_IS_4B_U(pointer))
		reader->image = (const uint8 *) VARDATA(pointer);
	else if (likely(VARATT_IS_EXTERNAL_ONDISK(pointer) && user->last &&
					stored_is_now(user->epoch) && user->last->whole &&
					memcmp(&user->last->pointer, VARDATA_EXTERNAL(pointer),
						   sizeof(struct varatt_external)) == 0))
		reader->image = user->last->image;
	else
		reader_open_stored(user, filter, probes, reader);
}

/*
 * Open a filter again after hashing: a type's hash function may have probed the same
 * filter, and so have read it in full to another place.  The last filter of a user is never
 * evicted, and once read in full it stays in place.
 */
static inline void
reader_reopen(StoredUser *user, uint64 probes, FilterReader *reader)
{
	if (unlikely(reader->slices_of != NULL) &&
		(reader->stored->whole || reader->stored->image != reader->image))
		reader_open(user, PointerGetDatum(reader->slices_of), probes, reader);
}

/* Probe the filter for a hash: "false" is certain. */
static inline bool
reader_contains(FilterReader *reader, uint64 hash)
{
	uint64		sliced;
	bool		found;

	if (likely(reader->slices_of == NULL))
		return filter_contains(reader->image, hash);
	sliced = hash;
	reader_contains_batch(reader, &sliced, 1, &found);
	return found;
}

#endif							/* BLOOMFILTER_STORED_H */
