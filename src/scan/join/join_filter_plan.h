/*
 * join_filter_plan.h
 *	  Adds join filters to finished plans; see join_filter_plan.c.
 */
#ifndef BLOOMFILTER_JOIN_FILTER_PLAN_H
#define BLOOMFILTER_JOIN_FILTER_PLAN_H

#include "join_filter_build.h"
#include "scan/filter_scan.h"
#include "scan/plan_tree.h"

#include "nodes/plannodes.h"

/* The key on one side of a join */
typedef struct SideKey
{
	KeyKind		kind;			/* the same on both sides */
	int			count;			/* number of columns; the same on both sides */
	AttrNumber	columns[KEY_COLUMNS_MAX];	/* of the child; 0: expression */
	List	   *expressions;	/* all keys of the side, if one is no column */
	KeyInteger	integer;		/* KEY_INTEGER: the type */
	Oid			functions[KEY_COLUMNS_MAX]; /* hash functions */
	Oid			collations[KEY_COLUMNS_MAX];
	bool		same_functions; /* both sides have the same hash functions */
	bool		may_fail;		/* a hash function may raise an error */
	Oid			types[KEY_COLUMNS_MAX]; /* as the join compares them */
	Oid			families[KEY_COLUMNS_MAX];	/* their orders, see key_family() */
} SideKey;

typedef struct JoinKey
{
	SideKey		outer;
	SideKey		inner;
} JoinKey;

/* State of adding join filters to a statement */
typedef struct PlanEditor
{
	PlannedStmt *statement;
	bool		by_index;		/* filter only joins that probe an index */
	bool		only_sends;		/* only send filters of the join at hand, of
								 * the keys of tables with membership indexes;
								 * no probes here */
	bool		hides_rows;		/* conditions of tables may be policies */
	PlanEffects effects;
	Bitmapset  *exists;			/* plan_ids of subplans that return one row */
	double		fraction;		/* fraction of a node's rows that is expected
								 * to be read */
	int			next_node_id;
	int			filters;		/* number of filters so far */
} PlanEditor;

/* A node whose rows can be probed */
typedef struct Place
{
	Plan	  **slot;			/* pointer to the node */
	AttrNumber	columns[KEY_COLUMNS_MAX];	/* the key, in the node's result */
	bool		in_scan;		/* the node is a scan, which probes itself */
	Oid			block_index;	/* index that tells which blocks to scan, or
								 * InvalidOid */
	bool		is_foreign;		/* a foreign server probes; if neither, a Join
								 * Filter Probe above the node does */
} Place;

/* Where to probe a filter, and how much that saves */
typedef struct Placement
{
	const SideKey *key;
	int			number;			/* number of the filter */
	double		share;			/* share of the rows expected to pass */
	bool		tried;			/* "share" is a guess */
	bool		shared;			/* a Parallel Hash's processes share it */
	bool		own_hash;		/* the keys are hashed by us only */
	const SideKey *collected;	/* the key that is collected; NULL: its values
								 * are not at hand */
	Oid			foreign_type;	/* type by which to hash keys for foreign
								 * servers; InvalidOid: do not send them */
	double		fraction;		/* fraction of the outer rows that is expected
								 * to be read */
	/* set by find_places(): */
	bool		blocked;		/* rows are probed before the join reads any,
								 * or should be */
	List	   *places;
	double		probed;			/* expected rows in all places that are read */
	bool		ordered;		/* a node above relies on the rows' order */
	bool		only_foreign;	/* all places are foreign scans */
	double		foreign;		/* expected rows of foreign scans */
	bool		foreign_unknown;	/* may be many more: not analyzed */
	double		saved;			/* nanoseconds that the dropped rows save */
	int			block_column;	/* number of the key's column whose values are
								 * searched for in indexes of blocks */
	List	   *operators;		/* by which to search, see
								 * key_end_operators(); NIL: in no index yet */
	double		pages;			/* of tables with such an index */
	List	   *order;			/* how to compare keys that are collected, see
								 * key_order_plan() */
} Placement;

/* join_filter_key.c */
extern bool integers_of(Oid operator, KeyInteger *left, KeyInteger *right);
extern bool key_of_join(HashJoin *join, JoinKey *key);

/* join_filter_place.c */
extern bool join_spills(const HashJoin *join);
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
extern Oid	table_of(const PlanEditor *editor, const Plan *scan);
extern double rows_of_table(Oid table);
extern void find_places(const PlanEditor *editor, Plan **slot, Placement *placement);

/* join_filter_edit.c */
extern void add_build(PlanEditor *editor, HashJoin *join, const JoinKey *key,
					  const Placement *placement, List *sent);
extern void add_collector(CustomScan *node, const SideKey *key, const Placement *placement,
						  List *expressions, int rows_max, List *sent);
extern void add_store(PlanEditor *editor, HashJoin *join, const SideKey *key,
					  const Placement *placement, int rows_max, List *sent);
extern List *add_probes(PlanEditor *editor, const Placement *placement);
extern void check_filters(const PlanEditor *editor);

/* join_filter_plan.c */
extern void join_filters_add(PlannedStmt *statement, bool is_volatile,
							 bool has_policies, double fraction);

#endif							/* BLOOMFILTER_JOIN_FILTER_PLAN_H */
