/*
 * join_filter_keys.h
 *	  A set of a join's keys, exact or with errors; see join_filter_keys.c.
 */
#ifndef BLOOMFILTER_JOIN_FILTER_KEYS_H
#define BLOOMFILTER_JOIN_FILTER_KEYS_H

#include "join_filter_ends.h"

/* What a key is */
typedef enum KeyKind
{
	KEY_INTEGER,				/* the value, see key_of_integer() */
	KEY_HASH,					/* hash of the values, 32 bits */
	KEY_NONE					/* keys are only sent to foreign servers */
} KeyKind;

typedef enum KeyForm
{
	KEYS_LIST,					/* the keys, of a part to be merged */
	KEYS_BITMAP,				/* a bit for each integer of a range: exact */
	KEYS_BLOOM					/* a Bloom filter */
} KeyForm;

/* A set of keys.  It has no pointers, so that processes can share it. */
typedef struct KeyFilter
{
	KeyKind		kind;
	KeyForm		form;
	uint64		count;			/* number of keys added, with duplicates */
	uint64		least;			/* least key; greater than "most": no keys */
	uint64		most;
	uint64		base;			/* bitmap: key of the first bit */
	uint64		bits;			/* bitmap: number of bits, a multiple of 64 */
	uint64		kept;			/* Bloom filter: number of keys kept after its
								 * image */
	bool		has_ends;		/* KEY_HASH: a KeyEnds follows the data */
	Size		bytes;			/* size of the struct, with its data */
	uint64		data[FLEXIBLE_ARRAY_MEMBER];	/* keys, bits, or an image and
												 * the "kept" keys */
} KeyFilter;

/* Collects keys, and makes a filter of them */
typedef struct KeyCollector
{
	KeyKind		kind;
	Size		limit;			/* limit of memory, in bytes */
	uint64		expected;		/* expected number of keys; used only if they
								 * need more memory than "limit" */
	MemoryContext mcxt;
	uint64		count;
	uint64	   *keys;			/* keys that are not in "filter" yet */
	uint32		held;			/* number of "keys" */
	uint32		room;
	uint32		room_max;
	KeyFilter  *filter;			/* NULL: all keys are in "keys" */
	KeyOrder   *order;			/* KEY_HASH: of the values in "ends"; NULL: do
								 * not keep values */
	KeyEnds    *ends;
} KeyCollector;

/* Some integers among the keys, from "least" to "most" */
typedef struct KeyRange
{
	uint64		least;
	uint64		most;
} KeyRange;

/* Keep up to this many integers with a Bloom filter: they take as much memory as the filter. */
#define KEYS_KEPT_MAX			512

/* The keys that are kept with a Bloom filter, at the end of its data */
static inline const uint64 *
kept_keys(const KeyFilter *filter)
{
	return (const uint64 *) ((const char *) filter + filter->bytes) - filter->kept;
}

/* Return what is known of the values of keys that are hashed, or NULL. */
static inline const KeyEnds *
key_filter_ends(const KeyFilter *filter)
{
	return filter->has_ends ?
		(const KeyEnds *) ((const char *) filter + filter->bytes - sizeof(KeyEnds)) : NULL;
}

/* Return an integer as a key; keys have the order of the integers. */
static inline uint64
key_of_integer(int64 value)
{
	return (uint64) value ^ (UINT64CONST(1) << 63);
}

/* Inverse of key_of_integer() */
static inline int64
integer_of_key(uint64 key)
{
	return (int64) (key ^ (UINT64CONST(1) << 63));
}

/* Hash a key: the finalizer of MurmurHash3 (Appleby) */
static inline uint64
mix_key(uint64 key)
{
	key ^= key >> 33;
	key *= UINT64CONST(0xff51afd7ed558ccd);
	key ^= key >> 33;
	key *= UINT64CONST(0xc4ceb9fe1a85ec53);
	key ^= key >> 33;
	return key;
}

extern void key_collector_init(KeyCollector *collector, KeyKind kind,
							   Size limit, uint64 expected,
							   MemoryContext mcxt);
extern void key_collector_keep_ends(KeyCollector *collector, KeyOrder *order);
extern void key_collector_reset(KeyCollector *collector);
extern void key_collector_make_room(KeyCollector *collector);
extern KeyFilter *key_collector_finish(KeyCollector *collector);
extern KeyFilter *key_collector_part(KeyCollector *collector);
extern void key_collector_merge(KeyCollector *collector,
								const KeyFilter *part);
extern bool key_filter_contains(const KeyFilter *filter, uint64 key);
extern void key_filter_contains_batch(const KeyFilter *filter,
									  uint64 *keys, int count, bool *found);
extern int	key_filter_ranges(const KeyFilter *filter, KeyRange *ranges, int most, uint64 gap);

static inline void
key_collector_add(KeyCollector *collector, uint64 key)
{
	if (unlikely(collector->held == collector->room))
		key_collector_make_room(collector);
	collector->keys[collector->held++] = key;
}

/* Add the value of a key that is also added, if values are kept. */
static inline void
key_collector_add_value(KeyCollector *collector, Datum value)
{
	if (collector->order)
		key_ends_add(collector->ends, collector->order, value);
}

#endif							/* BLOOMFILTER_JOIN_FILTER_KEYS_H */
