/*
 * join_filter_reader.h
 *	  Reads the key of a row; see join_filter_reader.c.
 */
#ifndef BLOOMFILTER_JOIN_FILTER_READER_H
#define BLOOMFILTER_JOIN_FILTER_READER_H

#include "join_filter_keys.h"

#include "nodes/execnodes.h"
#include "nodes/pg_list.h"

/* Maximum number of columns of a key; joins with more are not filtered. */
#define KEY_COLUMNS_MAX		8

/*
 * How to read a key that is an integer, and is compared by value.  The two sides of a join
 * may have different widths.
 */
typedef enum KeyInteger
{
	KEY_NOT_INTEGER,
	KEY_INT2,
	KEY_INT4,					/* or a date */
	KEY_INT8					/* or a timestamp */
} KeyInteger;

/* Columns or expressions of a row that are the key of a join */
typedef struct KeyReader
{
	KeyKind		kind;
	KeyInteger	integer;		/* KEY_INTEGER: the column's type */
	int			columns;
	AttrNumber	attributes[KEY_COLUMNS_MAX];
	ExprState  *expressions[KEY_COLUMNS_MAX];	/* NULL: the attribute */
	FmgrInfo	functions[KEY_COLUMNS_MAX]; /* KEY_HASH only */
	bool		by_bytes[KEY_COLUMNS_MAX];	/* hash the bytes instead */
	Oid			collations[KEY_COLUMNS_MAX];
} KeyReader;

extern bool key_hashes_bytes(Oid function, Oid collation);
extern void key_reader_init(KeyReader *reader, KeyKind kind, KeyInteger integer, List *keys,
							List *functions, List *collations, bool own_hash,
							PlanState *node);
extern bool key_reader_make(KeyReader *reader, const Datum *values, const bool *nulls,
							uint64 *key);
extern bool key_reader_read(KeyReader *reader, TupleTableSlot *slot,
							ExprContext *econtext, uint64 *key);

/* Return an integer of one of these types as a key, which has the order of the values. */
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

/* Return a key as a Datum of one of these types.  The key fits the type. */
static inline Datum
datum_of_key(KeyInteger type, int64 value)
{
	switch (type)
	{
		case KEY_INT2:
			return Int16GetDatum((int16) value);
		case KEY_INT4:
			return Int32GetDatum((int32) value);
		default:
			return Int64GetDatum(value);
	}
}

/*
 * Set *least and *most to the least and the greatest integer of one of these types that may be
 * among the keys; return false if there is none.
 */
static inline bool
key_filter_range(const KeyFilter *filter, KeyInteger type, int64 *least, int64 *most)
{
	*least = Max(integer_of_key(filter->least), type == KEY_INT2 ? PG_INT16_MIN :
				 type == KEY_INT4 ? PG_INT32_MIN : PG_INT64_MIN);
	*most = Min(integer_of_key(filter->most), type == KEY_INT2 ? PG_INT16_MAX :
				type == KEY_INT4 ? PG_INT32_MAX : PG_INT64_MAX);
	return filter->least <= filter->most && *least <= *most;
}

/* Combine the hash of a key's first columns with that of the next column. */
static inline uint32
key_combine(uint32 hash, uint32 next)
{
	/* as core's ExecHashGetHashValue() does */
	return ((hash << 1) | (hash >> 31)) ^ next;
}

#endif							/* BLOOMFILTER_JOIN_FILTER_READER_H */
