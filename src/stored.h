/*
 * stored.h
 *	  Reading filters that are stored in tables; see stored.c.
 */
#ifndef BLOOMFILTER_STORED_H
#define BLOOMFILTER_STORED_H

#include "value.h"
#include "lib/ilist.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/*
 * Stored filters kept, in bytes, but for those that a call site asked last; and
 * as much again of membership indexes
 */
#define KEEP_BYTES			((Size) 128 * 1024 * 1024)

/* A stored filter that was asked about, read whole or not yet */
typedef struct StoredFilter
{
	struct varatt_external pointer; /* hash key; where it is stored */
	MemoryContext mcxt;			/* of what was read */
	uint8	   *image;			/* the header and descriptors, or all */
	bool		whole;
	Size		bytes;			/* of what was read */
	double		spent;			/* on reading parts, in chunks (callsite.c) */
	int			users;			/* that asked it last */
	dlist_node	use;			/* in the order of their use */
} StoredFilter;

/* Who asks stored filters: a call site, until its memory goes */
typedef struct StoredUser
{
	MemoryContext mcxt;
	StoredFilter *last;			/* the one asked last, or NULL */
	MemoryContextCallback leave;	/* when the memory goes, if joined */
	bool		joined;
} StoredUser;

/*
 * A filter opened to be asked: its image, or, if slices_of is set, only its
 * header and descriptors.
 */
typedef struct FilterReader
{
	const uint8 *image;
	struct varlena *slices_of;	/* where the rest is stored, or NULL */
	StoredFilter *stored;		/* set if slices_of is */
} FilterReader;

extern void reader_open_stored(StoredUser *user, Datum filter, uint64 probes,
							   FilterReader *reader);
extern bool reader_contains_sliced(FilterReader *reader, uint64 hash);

/*
 * Open a filter in order to ask about so many elements.  One that is flat in
 * memory is read where it is, at no cost.
 */
static inline void
reader_open(StoredUser *user, Datum filter, uint64 probes,
			FilterReader *reader)
{
	struct varlena *pointer = (struct varlena *) DatumGetPointer(filter);

	reader->slices_of = NULL;
	if (VARATT_IS_4B_U(pointer))
		reader->image = (const uint8 *) VARDATA(pointer);
	else if (likely(VARATT_IS_EXTERNAL_ONDISK(pointer) && user->last &&
					user->last->whole &&
					memcmp(&user->last->pointer, VARDATA_EXTERNAL(pointer),
						   sizeof(struct varatt_external)) == 0))
		reader->image = user->last->image;
	else
		reader_open_stored(user, filter, probes, reader);
}

/*
 * Open it again where elements have been hashed since: the hash function of
 * their type may have asked the same stored filter, which then was read whole
 * and lies elsewhere.  What a call site asked last is never dropped, and once
 * read whole it stays where it is.
 */
static inline void
reader_reopen(StoredUser *user, uint64 probes, FilterReader *reader)
{
	if (unlikely(reader->slices_of != NULL) &&
		reader->stored->image != reader->image)
		reader_open(user, PointerGetDatum(reader->slices_of), probes, reader);
}

/* Is the element of this hash in the filter? */
static inline bool
reader_contains(FilterReader *reader, uint64 hash)
{
	if (likely(reader->slices_of == NULL))
		return filter_contains(reader->image, hash);
	return reader_contains_sliced(reader, hash);
}

#endif							/* BLOOMFILTER_STORED_H */
