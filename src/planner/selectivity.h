/*
 * selectivity.h
 *	  Estimate the share of rows that pass a filter; see selectivity.c, known_filter.c.
 */
#ifndef BLOOMFILTER_SELECTIVITY_H
#define BLOOMFILTER_SELECTIVITY_H

#include "postgres.h"

#include "fmgr.h"
#include "nodes/pathnodes.h"

/* Assumed fraction of the rows that pass an unknown filter */
#define DEFAULT_SELECTIVITY		0.1

/* What the planner knows of a filter */
typedef struct KnownFilter
{
	double		elements;
	double		error_rate;

	/*
	 * Function that probes the filter, or NULL to estimate without probing.
	 * Core checks by fn_oid whether this function may see statistics.
	 */
	FmgrInfo   *contains;
	Datum		filter;
	bool		element_first;	/* "contains" takes it before the filter */
} KnownFilter;

extern Const *known_filter(PlannerInfo *root, Node *expression, bool read_subqueries);
extern double column_share(PlannerInfo *root, Node *element, int varRelid,
						   Oid collation, const KnownFilter *filter);
extern double share_of_values(const KnownFilter *filter, double n_distinct,
							  double sample, int sample_size);
extern bool is_native(Oid function);
extern bool can_be_hashed(Node *element, Oid collation);

/* A probe of a filter with a column, or any other expression, of one table */
typedef struct ShareKey
{
	Node	   *filter;			/* an expression */
	bool		filter_first;	/* "function" takes it before the element */
	Oid			function;		/* probes the filter */
	Node	   *element;		/* an expression, or a List of several columns */
	Oid			collation;
	Oid			element_type;	/* by which an index hashes "element" */
	List	   *types;			/* element_type of each in a List, else NIL */
	bool		for_join;		/* see membership_site_make() */
	/* set by share_once(): */
	bool		has_statistics; /* there are statistics of the element */
	double		rows;			/* of the element's table; 0 if unknown */
} ShareKey;

/* Returns the share of rows that pass, or SHARE_UNKNOWN */
typedef double (*ShareEstimator) (PlannerInfo *root, const ShareKey *key, int varRelid);

#define SHARE_UNKNOWN			(-1.0)

extern bool has_statistics(PlannerInfo *root, Node *element, int varRelid);
extern double share_once(PlannerInfo *root, const ShareKey *key, int varRelid,
						 ShareEstimator estimate);

#endif							/* BLOOMFILTER_SELECTIVITY_H */
