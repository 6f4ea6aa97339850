/*
 * index_join.h
 *	  Membership indexes that serve joins; see index_join.c.
 */
#ifndef BLOOMFILTER_INDEX_JOIN_H
#define BLOOMFILTER_INDEX_JOIN_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/* A key of a table's rows that can be looked up in the indexes of a table it is joined to */
typedef struct IndexJoin
{
	Node	   *key;			/* an expression, or a List: one for each
								 * column of the index */
	Index		source;			/* the other table */
	List	   *clauses;		/* the equalities, by column: RestrictInfos */
	List	   *indexes;		/* OIDs: one, or those of its partitions */
	List	   *types;			/* OIDs, by column: by which to hash the key */
	double		share;			/* of the rows that pass, or SHARE_UNKNOWN */
	bool		assumed;		/* the share is a guess, or that of a sample */
	double		read_cost;		/* cost of reading all of the indexes */
	bool		may_fail;		/* evaluating the key may raise an error */
	bool		parallel_safe;	/* workers can evaluate the key, and read them */
} IndexJoin;

extern List *index_joins_find(PlannerInfo *root, RelOptInfo *rel);
extern IndexJoin *index_join_find_preserved(PlannerInfo *root, RelOptInfo *rel,
											RelOptInfo *others,
											RelOptInfo *join, List *clauses);
extern void index_join_size(PlannerInfo *root, RelOptInfo *rel,
							const IndexJoin *filter);

#endif							/* BLOOMFILTER_INDEX_JOIN_H */
