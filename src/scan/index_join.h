/*
 * index_join.h
 *	  Membership indexes that serve joins; see index_join.c.
 */
#ifndef BLOOMFILTER_INDEX_JOIN_H
#define BLOOMFILTER_INDEX_JOIN_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/* A column of a table, to be looked up in an index of another table of its joins */
typedef struct IndexJoin
{
	Expr	   *element;		/* the column */
	Index		source;			/* the other table */
	AttrNumber	source_column;
	Oid			index;
	Oid			element_type;	/* by which to hash it */
	double		share;			/* of the rows that pass, or SHARE_UNKNOWN */
	double		read_cost;		/* of reading all of the index */
	bool		temporary;		/* no other process can read it */
} IndexJoin;

extern List *index_joins_find(PlannerInfo *root, RelOptInfo *rel);
extern IndexJoin *index_join_find_preserved(PlannerInfo *root, RelOptInfo *rel,
											RelOptInfo *others,
											RelOptInfo *join, List *clauses);
extern void index_join_size(PlannerInfo *root, RelOptInfo *rel,
							const IndexJoin *filter);

#endif							/* BLOOMFILTER_INDEX_JOIN_H */
