/*
 * block_index.h
 *	  Indexes that tell which blocks of a table may have some keys; see block_index.c.
 */
#ifndef BLOOMFILTER_BLOCK_INDEX_H
#define BLOOMFILTER_BLOCK_INDEX_H

#include "postgres.h"

#include "access/skey.h"
#include "nodes/tidbitmap.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

/* Keys, by the values of the column that may equal them */
typedef struct KeyInterval
{
	Datum		least;
	Datum		most;
} KeyInterval;

/* An index that is open, and the column to search */
typedef struct BlockIndex
{
	Relation	table;
	Relation	relation;
	int			column;			/* from 0 */
	Oid			type;			/* of the keys */
	Oid			functions[3];	/* of the operators >=, <= and = */
	StrategyNumber strategies[3];	/* of these in the index; 0: it does not
									 * know the operator */
	bool		only_equal;		/* can only be searched for one value */
	int			searches_max;	/* so many take little of the scan's time */
	bool		parallel;		/* other processes search it, too */
} BlockIndex;

extern Oid	block_index_for(Oid table, AttrNumber attribute, List *operators, Oid collation,
							double *pages);
extern bool block_index_open(BlockIndex *index, Oid oid, Relation table, AttrNumber attribute,
							 List *operators, Oid collation, bool parallel);
extern TIDBitmap *block_index_search(BlockIndex *index, const KeyInterval *intervals, int count,
									 AttrNumber attribute, Snapshot snapshot);

#endif							/* BLOOMFILTER_BLOCK_INDEX_H */
