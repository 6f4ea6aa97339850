/*
 * chunks.h
 *	  The chunks of a value in a TOAST table; see chunks.c.
 */
#ifndef BLOOMFILTER_CHUNKS_H
#define BLOOMFILTER_CHUNKS_H

#include "postgres.h"

#include "access/heaptoast.h"
#include "storage/buf.h"
#include "storage/itemptr.h"

/* A relation's file, as an argument of ReadRecentBuffer() */
#if PG_VERSION_NUM >= 160000
#define file_locator(relation)	((relation)->rd_locator)
#else
#define file_locator(relation)	((relation)->rd_node)
#endif

/* Where the first chunk of a value is, and who wrote it */
typedef struct FirstChunk
{
	ItemPointerData tid;		/* invalid: not known */
	TransactionId xmin;			/* raw: freezing keeps it */
	CommandId	cid;			/* raw: of insertion, or of a deletion */
	Buffer		buffer;			/* probably still holds the page */
} FirstChunk;

extern void chunks_read(const struct varatt_external *place, Size offset,
						Size bytes, uint8 *to);
extern Size chunks_find_first(const struct varatt_external *place,
							  FirstChunk *first, uint8 *data);
extern bool chunks_are_same(const struct varatt_external *place,
							FirstChunk *first, const uint8 *data, Size bytes);

#endif							/* BLOOMFILTER_CHUNKS_H */
