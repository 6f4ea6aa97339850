/*
 * join_filter_keys.h
 *	  The set of a join's keys, exact or with errors; see join_filter_keys.c.
 */
#ifndef BLOOMFILTER_JOIN_FILTER_KEYS_H
#define BLOOMFILTER_JOIN_FILTER_KEYS_H

#include "postgres.h"

/* What a key is */
typedef enum KeyKind
{
	KEY_INTEGER,				/* the value itself, see key_of_integer() */
	KEY_HASH,					/* a hash of the values, of 32 bits */
	KEY_NONE					/* no key is collected */
} KeyKind;

typedef enum KeyForm
{
	KEYS_LIST,					/* the keys themselves, in a part to merge */
	KEYS_BITMAP,				/* a bit for each integer of a range: exact */
	KEYS_BLOOM					/* a Bloom filter */
} KeyForm;

/* A set of keys.  Flat, without pointers: processes may share it. */
typedef struct KeyFilter
{
	KeyKind		kind;
	KeyForm		form;
	uint64		count;			/* keys that were added, counting duplicates */
	uint64		least;			/* of all keys; greater than "most": no keys */
	uint64		most;
	uint64		base;			/* the first bit's key, of a bitmap */
	uint64		bits;			/* of a bitmap; a multiple of 64 */
	uint64		kept;			/* keys that follow the image of a Bloom
								 * filter */
	Size		bytes;			/* of the struct, with its data */
	uint64		data[FLEXIBLE_ARRAY_MEMBER];	/* keys, bits, or an image,
												 * and the "kept" keys */
} KeyFilter;

/* Collects keys, and makes a filter of them */
typedef struct KeyCollector
{
	KeyKind		kind;
	Size		limit;			/* of memory, in bytes */
	uint64		expected;		/* number of keys; used only if they need more
								 * memory than "limit" */
	MemoryContext mcxt;
	uint64		count;
	uint64	   *keys;			/* that are not in "filter" yet */
	uint32		held;			/* their number */
	uint32		room;
	uint32		room_max;
	KeyFilter  *filter;			/* NULL: all are in "keys" */
} KeyCollector;

/* Keep at most this many integers beside a Bloom filter: they take as much memory as it. */
#define KEYS_KEPT_MAX			512

/* The keys that are kept beside a Bloom filter */
static inline const uint64 *
kept_keys(const KeyFilter *filter)
{
	return (const uint64 *) ((const char *) filter + filter->bytes) - filter->kept;
}

/* Integers, in their order */
static inline uint64
key_of_integer(int64 value)
{
	return (uint64) value ^ (UINT64CONST(1) << 63);
}

extern void key_collector_init(KeyCollector *collector, KeyKind kind,
							   Size limit, uint64 expected,
							   MemoryContext mcxt);
extern void key_collector_reset(KeyCollector *collector);
extern void key_collector_make_room(KeyCollector *collector);
extern KeyFilter *key_collector_finish(KeyCollector *collector);
extern KeyFilter *key_collector_part(KeyCollector *collector);
extern void key_collector_merge(KeyCollector *collector,
								const KeyFilter *part);
extern bool key_filter_contains(const KeyFilter *filter, uint64 key);
extern void key_filter_contains_batch(const KeyFilter *filter,
									  uint64 *keys, int count, bool *found);

static inline void
key_collector_add(KeyCollector *collector, uint64 key)
{
	if (unlikely(collector->held == collector->room))
		key_collector_make_room(collector);
	collector->keys[collector->held++] = key;
}

#endif							/* BLOOMFILTER_JOIN_FILTER_KEYS_H */
