/*
 * join_filter_key.h
 *	  The key of a hash join, as it compares it; see join_filter_key.c.
 */
#ifndef BLOOMFILTER_JOIN_FILTER_KEY_H
#define BLOOMFILTER_JOIN_FILTER_KEY_H

#include "join_filter_build.h"

#include "nodes/plannodes.h"

/* A join's key on one of its sides */
typedef struct SideKey
{
	KeyKind		kind;			/* the same on both sides */
	int			count;			/* of its columns, too */
	AttrNumber	columns[KEY_COLUMNS_MAX];	/* of the child; 0: no column */
	List	   *expressions;	/* of the outer side, if one is not a column */
	KeyInteger	integer;		/* of KEY_INTEGER */
	Oid			functions[KEY_COLUMNS_MAX]; /* hash functions */
	Oid			collations[KEY_COLUMNS_MAX];
} SideKey;

typedef struct JoinKey
{
	SideKey		outer;
	SideKey		inner;
} JoinKey;

extern bool integers_of(Oid operator, KeyInteger *left, KeyInteger *right);
extern bool key_of_join(HashJoin *join, JoinKey *key);

#endif							/* BLOOMFILTER_JOIN_FILTER_KEY_H */
