/*
 * join_filter.h
 *	  Membership indexes that serve joins; see join_filter.c.
 */
#ifndef BLOOMFILTER_JOIN_FILTER_H
#define BLOOMFILTER_JOIN_FILTER_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/* A column of a table, to be looked up in an index of another table of its joins */
typedef struct JoinFilter
{
	Expr	   *element;		/* the column */
	Index		source;			/* the other table */
	AttrNumber	source_column;
	Oid			index;
	Oid			element_type;	/* by which to hash it */
	double		share;			/* of the rows that pass, or SHARE_UNKNOWN */
	double		read_cost;		/* of reading all of the index */
	bool		temporary;		/* no other process can read it */
} JoinFilter;

extern List *join_filters_find(PlannerInfo *root, RelOptInfo *rel);
extern void join_filter_size_join(PlannerInfo *root, RelOptInfo *rel,
								  const JoinFilter *filter);

#endif							/* BLOOMFILTER_JOIN_FILTER_H */
