/*
 * join_filter_place.h
 *	  Where a join filter can be probed; see join_filter_place.c.
 */
#ifndef BLOOMFILTER_JOIN_FILTER_PLACE_H
#define BLOOMFILTER_JOIN_FILTER_PLACE_H

#include "join_filter_key.h"
#include "scan/plan_tree.h"

#include "nodes/plannodes.h"

/* A statement whose plan gets join filters */
typedef struct PlanEditor
{
	PlannedStmt *statement;
	bool		hides_rows;		/* policies are among the conditions of tables */
	PlanEffects effects;
	Bitmapset  *exists;			/* subplans of which one row is read */
	double		fraction;		/* of a node's rows that is expected to be
								 * read */
	int			next_node_id;
	int			filters;		/* numbers given so far */
	List	   *added;			/* of KeyFilterPlan */
} PlanEditor;

/* A node whose rows can be probed */
typedef struct Place
{
	Plan	  **slot;			/* what points to it */
	AttrNumber	columns[KEY_COLUMNS_MAX];	/* the key, of its result */
	bool		in_scan;		/* a Filter Scan probes */
	bool		is_foreign;		/* a foreign server probes; if neither, a node
								 * above */
} Place;

/* Where a filter is to be probed, and what that is worth */
typedef struct Placement
{
	const SideKey *key;
	int			number;			/* of the filter */
	double		share;			/* of the rows that are expected to pass */
	bool		tried;			/* the share is a guess */
	bool		shared;			/* by the processes of a Parallel Hash */
	Oid			foreign_type;	/* of the keys, to send them to foreign
								 * servers; InvalidOid: they are not sent */
	double		fraction;		/* of the outer rows that is expected to be
								 * read */
	/* found by find_places(): */
	bool		blocked;		/* rows are probed before the join gets one */
	List	   *places;
	double		probed;			/* rows in all places that are read */
	bool		ordered;		/* a node above relies on the rows' order */
	bool		only_foreign;	/* all places are statements of foreign scans */
	double		foreign;		/* rows of these */
	bool		foreign_unknown;	/* there may be many more: never analyzed */
	double		saved;			/* nanoseconds that the dropped rows save */
} Placement;

extern double cost_of_row(const Plan *plan);
extern bool deals_out_rows(const Plan *plan);
extern bool is_blocking(const Plan *plan, Plan *const *child);
extern bool columns_of_table(Plan *plan, const AttrNumber *columns, int count,
							 AttrNumber *attributes);
extern Plan **child_with_key(const PlanEditor *editor, Plan *plan,
							 const AttrNumber *columns, const SideKey *key,
							 AttrNumber *child_columns);
extern List *key_probe_plans(const Plan *plan);
extern void find_places(const PlanEditor *editor, Plan **slot, Placement *placement);

#endif							/* BLOOMFILTER_JOIN_FILTER_PLACE_H */
