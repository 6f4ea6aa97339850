/*
 * selectivity.h
 *	  How many rows of a column pass a filter; see selectivity.c and known_filter.c.
 */
#ifndef BLOOMFILTER_SELECTIVITY_H
#define BLOOMFILTER_SELECTIVITY_H

#include "postgres.h"

#include "fmgr.h"
#include "nodes/pathnodes.h"

/* Assumed fraction of the rows that pass an unknown filter */
#define DEFAULT_SELECTIVITY		0.1

/* What planning knows of a filter */
typedef struct KnownFilter
{
	double		elements;
	double		error_rate;

	/*
	 * Probes a filter with a value; the filter is the first argument unless
	 * element_first.  May be NULL.  Core checks whether its fn_oid may see
	 * the statistics.
	 */
	FmgrInfo   *contains;
	Datum		filter;
	bool		element_first;
} KnownFilter;

extern Const *known_filter(PlannerInfo *root, Node *expression,
						   bool read_subqueries);
extern double column_share(PlannerInfo *root, Node *element, int varRelid,
						   Oid collation, const KnownFilter *filter);
extern double share_of_values(const KnownFilter *filter, double n_distinct,
							  double sample, int sample_size);
extern bool can_be_hashed(Node *element, Oid collation);

/* A probe of a filter with a column, or any other expression, of one table */
typedef struct ShareKey
{
	Node	   *filter;			/* an expression */
	bool		filter_first;	/* the function takes it before the element */
	Oid			function;		/* that probes it */
	Node	   *element;		/* or a List of them, for several columns */
	Oid			collation;
	Oid			element_type;	/* by which an index hashes elements */
	List	   *types;			/* the same for each column; or NIL */
	bool		for_join;		/* see membership_site_make_join() */
	/* set by share_once(): */
	bool		has_statistics; /* the element has some */
	double		rows;			/* of its table */
} ShareKey;

/* Returns the share, or SHARE_UNKNOWN */
typedef double (*ShareEstimator) (PlannerInfo *root, const ShareKey *key,
								  int varRelid);

#define SHARE_UNKNOWN			(-1.0)

extern double share_once(PlannerInfo *root, const ShareKey *key, int varRelid,
						 ShareEstimator estimate);

#endif							/* BLOOMFILTER_SELECTIVITY_H */
