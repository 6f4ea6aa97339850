/*
 * join_filter_plan.h
 *	  Adding join filters to finished plans; see join_filter_plan.c.
 */
#ifndef BLOOMFILTER_JOIN_FILTER_PLAN_H
#define BLOOMFILTER_JOIN_FILTER_PLAN_H

#include "join_filter_build.h"
#include "scan/filter_scan.h"
#include "scan/plan_tree.h"

#include "nodes/plannodes.h"

/* A join's key on one of its sides */
typedef struct SideKey
{
	KeyKind		kind;			/* the same on both sides */
	int			count;			/* of columns; the same on both sides */
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

/* A statement whose plan gets join filters */
typedef struct PlanEditor
{
	PlannedStmt *statement;
	bool		only_sends;		/* to foreign servers, the keys of tables with
								 * membership indexes; probes nothing here */
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

/* join_filter_key.c */
extern bool integers_of(Oid operator, KeyInteger *left, KeyInteger *right);
extern bool key_of_join(HashJoin *join, JoinKey *key);

/* join_filter_place.c */
extern double cost_of_row(const Plan *plan);
extern void add_saved(const PlanEditor *editor, Placement *placement, double rows,
					  double row_ns);
extern bool deals_out_rows(const Plan *plan);
extern bool is_blocking(const Plan *plan, Plan *const *child);
extern bool columns_of_table(Plan *plan, const AttrNumber *columns, int count,
							 AttrNumber *attributes);
extern Plan **child_with_key(const PlanEditor *editor, Plan *plan,
							 const AttrNumber *columns, const SideKey *key,
							 AttrNumber *child_columns);
extern List *key_probe_plans(const Plan *plan);
extern void find_places(const PlanEditor *editor, Plan **slot, Placement *placement);

/* join_filter_edit.c */
extern void add_build(PlanEditor *editor, HashJoin *join, const JoinKey *key,
					  bool comes_first, bool marks, List *sent);
extern List *add_probes(PlanEditor *editor, const Placement *placement);
extern void check_filters(const PlanEditor *editor);

/* join_filter_plan.c */
extern void join_filters_add(PlannedStmt *statement, bool is_volatile,
							 bool has_policies, double fraction);

#endif							/* BLOOMFILTER_JOIN_FILTER_PLAN_H */
