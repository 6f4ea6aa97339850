/*
 * join_filter_ends.h
 *	  The least and the greatest key of a join, or all of few; see join_filter_ends.c.
 */
#ifndef BLOOMFILTER_JOIN_FILTER_ENDS_H
#define BLOOMFILTER_JOIN_FILTER_ENDS_H

#include "postgres.h"

#include "fmgr.h"
#include "nodes/pg_list.h"

/* Keep the values of so many different keys */
#define KEYS_LISTED_MAX			16
/* Longest value to keep, in bytes: most URLs are shorter */
#define KEY_END_BYTES			256

/* A value, without a pointer to it */
typedef union KeyEnd
{
	Datum		value;			/* of a type that is passed by value */
	char		bytes[KEY_END_BYTES];
} KeyEnd;

/* The values of a join's keys, in their order.  No pointers, so that processes can share it */
typedef struct KeyEnds
{
	uint64		count;			/* number of keys added, with duplicates */
	bool		unknown;		/* too many keys, or too long */
	bool		only_ends;		/* "values" are the least and the greatest */
	int			listed;			/* length of "values" */
	KeyEnd		values[KEYS_LISTED_MAX];
} KeyEnds;

/* How keys are ordered */
typedef struct KeyOrder
{
	FmgrInfo	compare;
	Oid			collation;
	int16		length;			/* pg_type.typlen */
	bool		by_value;
	uint64		keys_max;		/* compare no more */
} KeyOrder;

extern Oid	key_family(Oid operator, Oid type);
extern List *key_end_operators(Oid family, Oid type, Oid collected);
extern List *key_order_plan(Oid family, Oid type, Oid collation, double keys, double pages,
							bool forced);
extern KeyOrder *key_order_begin(List *plan, Oid collation);
extern void key_ends_add(KeyEnds *ends, KeyOrder *order, Datum value);
extern void key_ends_merge(KeyEnds *ends, KeyOrder *order, const KeyEnds *others);

/* Return a value that was kept; it lives as long as "end". */
static inline Datum
key_end_value(const KeyEnd *end, bool by_value)
{
	return by_value ? end->value : PointerGetDatum(end->bytes);
}

#endif							/* BLOOMFILTER_JOIN_FILTER_ENDS_H */
