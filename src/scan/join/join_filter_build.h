/*
 * join_filter_build.h
 *	  The node that collects the keys of a hash join's inner side; see join_filter_build.c.
 */
#ifndef BLOOMFILTER_JOIN_FILTER_BUILD_H
#define BLOOMFILTER_JOIN_FILTER_BUILD_H

#include "join_filter_keys.h"
#include "scan/node.h"

#include "nodes/execnodes.h"
#include "utils/dsa.h"

/* Columns of a join's key at most; joins with more are not filtered. */
#define KEY_COLUMNS_MAX		8

/*
 * How to read an integer key, whose equality is that of the values.  Keys of different
 * widths may be compared.
 */
typedef enum KeyInteger
{
	KEY_NOT_INTEGER,
	KEY_INT2,
	KEY_INT4,					/* also a date */
	KEY_INT8					/* also a timestamp */
} KeyInteger;

/* What the plan of the node says of it, besides the key's columns */
typedef struct KeyBuildPlan
{
	int			number;			/* of the join filter in the plan, from 1 */
	KeyKind		kind;
	AttrNumber	attribute;		/* of KEY_INTEGER: the child's column */
	KeyInteger	integer;		/* and its type */
	int			expected;		/* number of keys */
	bool		comes_first;	/* it is complete before an outer row is read */
	bool		marks;			/* it marks outer rows; only with KEY_HASH */
	bool		forced;			/* it goes on even if few rows are marked */
	List	   *sent;			/* to foreign servers: SentPlanField; or NIL */
} KeyBuildPlan;

typedef struct KeyBuildState KeyBuildState;

/* The keys of a join, as its probes see them */
typedef struct KeySource
{
	int			number;			/* of the join filter in the plan */
	const KeyFilter *filter;	/* of all keys, or NULL */
	HashState  *hash;			/* the join's Hash node; NULL: not linked */
	void	   *table;			/* the hash table that has these keys */
	bool		is_shared;		/* by the processes of a Parallel Hash */
	dsa_pointer copy;			/* for the workers of a Gather that begins */
	KeyBuildState *build;
} KeySource;

extern const NodeKind join_filter_build_node;

/* How many of these nodes this process has begun: if it grows, the plan has some */
extern uint64 join_filters_begun;

extern List *key_build_write(const KeyBuildPlan *plan);
extern KeyBuildPlan key_build_read(List *private);
extern KeySource *key_build_link(HashJoinState *join, List **answers);
extern const KeyFilter *key_source_open(KeySource *source);

/* join_filter_link.c */
extern void join_filters_link(PlanState *root);

/*
 * key_source_filter
 *		The filter of all keys, or NULL if they are not known (yet): then any row may
 *		have a partner
 *
 * A join that drops its hash table sets the pointer in its Hash node to NULL before it
 * reads another outer row.  It fills the new table, with other keys, before it reads the
 * next outer row; and the first inner row makes us forget the old filter.  A shared filter
 * is freed before a rescan starts the processes again.
 */
static inline const KeyFilter *
key_source_filter(KeySource *source)
{
	if (source == NULL)
		return NULL;
	/* a process that came too late to collect keys has no table */
	if (source->is_shared)
		return source->filter ? source->filter : key_source_open(source);
	return source->hash->hashtable == source->table ? source->filter : NULL;
}

/* The value of a key of one of the integer types, in its order */
static inline uint64
key_of_datum(KeyInteger type, Datum value)
{
	switch (type)
	{
		case KEY_INT2:
			return key_of_integer(DatumGetInt16(value));
		case KEY_INT4:
			return key_of_integer(DatumGetInt32(value));
		default:
			return key_of_integer(DatumGetInt64(value));
	}
}

/* Append the hash of a key's next column to that of the columns before it. */
static inline uint32
key_combine(uint32 hash, uint32 next)
{
	/* as ExecHashGetHashValue() does */
	return ((hash << 1) | (hash >> 31)) ^ next;
}

#endif							/* BLOOMFILTER_JOIN_FILTER_BUILD_H */
