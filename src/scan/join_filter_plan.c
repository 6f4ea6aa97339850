/*
 * join_filter_plan.c
 *	  Adding join filters to finished plans.
 *
 * While a hash join fills its hash table, a node below it collects the keys
 * (join_filter_build.c).  Rows of the outer side that have none of these keys find no
 * partner.  So we trace the key down the outer side as far as it goes
 * (join_filter_place.c), and drop such rows there: in the scan of a table, before they
 * are joined, sorted or aggregated.  The planner knows nothing of this; it chooses the
 * order of joins as ever.
 *
 * Which joins.  Those that return nothing for an outer row without a partner: inner,
 * semi and right joins, right semi and right anti joins.  Not those that may be
 * executed again with other parameters or rows: on the inner side of a nested loop, in
 * the recursive part of a query, in subplans with parameters, or that nothing
 * materializes.  There, a node below may keep rows that were filtered by keys which the
 * join has since replaced.
 *
 * Processes.  Each worker builds a hash table of its own, unless it is that of a Parallel
 * Hash, and these may differ: each takes a sample of its own.  So a worker may drop
 * rows by its own keys only where it would join them itself.  A Parallel Hash Join deals
 * out the rows of both its sides anew: the inner ones are in a table that all
 * processes look up, the outer ones in files, if there are several batches.  Below it
 * go only filters that all processes share: of a Parallel Hash, or of a join above the
 * Gather.
 *
 * Transfer.  Let a join have the same key as a join with a filter on its outer side.
 * Then rows of the upper join's inner side need that key too.  The upper join usually
 * reads an outer row before it builds its own hash table; by then the lower
 * filter is complete.  Rows that a Gather or a Parallel Hash Join has dealt out have the
 * keys of any process, so below it the filter must be that of all.
 *
 * Cost.  A probe must cost less than what the rows save that it drops, see worth_it().
 * And where the filter has to come before any outer row, the inner side is read even if
 * there are none.
 * The shares that pass are those of the planner's estimates.  For a semijoin, or a join
 * with a unique inner side, a share of 1 says little: the planner assumes that all rows
 * have partners in a side that is larger.  So we try, and the probe switches itself off
 * if that was right.
 *
 * Privileges.  What EXPLAIN ANALYZE tells of rows that were dropped must not be of rows that
 * the user may not see.  Policies are conditions of a table's scan.  So if a statement
 * has any, rows are looked up only where the conditions of their table have been
 * checked, and subplans, which policies may have, get no filters.  The finished plan does not
 * tell where a view begins, and a view may hide rows by any node.  So with one that is a
 * security barrier there are no filters at all.
 */
#include "join_filter_plan.h"

#include "filter_scan.h"
#include "join_filter_build.h"
#include "join_filter_probe.h"

#include "access/table.h"
#include "catalog/pg_proc.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/plannodes.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"

/* What a plan does besides returning rows */
typedef struct PlanEffects
{
	bool		any;			/* it calls volatile functions, or locks rows */
	Bitmapset  *init_params;	/* the parameters that InitPlans set */
} PlanEffects;

extern List *plan_children(Plan *plan);
extern bool is_custom(const Plan *plan, const CustomScanMethods *methods);
extern Var *var_of(Node *expression);
extern Var *var_of_column(const Plan *plan, AttrNumber column);
extern bool node_has_effects(const PlanEffects *effects, const Plan *plan);
extern bool plan_has_effects(const PlanEffects *effects, Plan *plan);

/* A join's key on one of its sides */
typedef struct SideKey
{
	KeyKind		kind;			/* the same on both sides */
	int			count;			/* of its columns, too */
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

extern bool integers_of(Oid operator, KeyInteger *left, KeyInteger *right);
extern bool key_of_join(HashJoin *join, JoinKey *key);

/* A statement whose plan gets join filters */
typedef struct PlanEditor
{
	PlannedStmt *statement;
	bool		force;			/* wherever it is possible */
	bool		scans;			/* may be Filter Scans */
	bool		hides_rows;		/* policies are among the conditions of tables */
	PlanEffects effects;
	int			next_node_id;
	int			filters;		/* numbers given so far */
	List	   *added;			/* of KeyFilterPlan */
} PlanEditor;

/* A node whose rows can be probed */
typedef struct Place
{
	Plan	  **slot;			/* what points to it */
	AttrNumber	columns[KEY_COLUMNS_MAX];	/* the key, of its result */
	bool		in_scan;		/* by a Filter Scan; else above the node */
} Place;

/* Where a filter is to be probed, and what that is worth */
typedef struct Placement
{
	const SideKey *key;
	int			number;			/* of the filter */
	double		share;			/* of the rows that is expected to pass */
	bool		tried;			/* that is not known */
	bool		shared;			/* by the processes of a Parallel Hash */
	/* found by find_places(): */
	bool		blocked;		/* one outer row needs many probed ones */
	List	   *places;
	double		probed;			/* rows there */
	double		saved;			/* nanoseconds */
} Placement;

extern double cost_of_row(const Plan *plan);
extern bool deals_out_rows(const Plan *plan);
extern bool columns_of_table(Plan *plan, const AttrNumber *columns, int count,
							 AttrNumber *attributes);
extern Plan **child_with_key(const PlanEditor *editor, Plan *plan,
							 const AttrNumber *columns, const SideKey *key,
							 AttrNumber *child_columns);
extern void find_places(const PlanEditor *editor, Plan **slot, Placement *placement);

extern void add_build(PlanEditor *editor, HashJoin *join, const JoinKey *key,
					  const Placement *placement);
extern void add_probes(PlanEditor *editor, const Placement *placement);
extern void check_filters(const PlanEditor *editor);

/* ----------------------------------------------------------------
 *		The nodes of a plan
 * ----------------------------------------------------------------
 */

/*
 * plan_children
 *		Where a node points to its children: a list of Plan **
 *
 * The custom_plans of a custom scan are not among them: it is not known what that does
 * with them.
 */
List *
plan_children(Plan *plan)
{
	List	   *plans = NIL;
	List	   *children = NIL;
	ListCell   *cell;

	switch (nodeTag(plan))
	{
		case T_Append:
			plans = ((Append *) plan)->appendplans;
			break;
		case T_MergeAppend:
			plans = ((MergeAppend *) plan)->mergeplans;
			break;
		case T_BitmapAnd:
			plans = ((BitmapAnd *) plan)->bitmapplans;
			break;
		case T_BitmapOr:
			plans = ((BitmapOr *) plan)->bitmapplans;
			break;
		case T_SubqueryScan:
			return list_make1(&((SubqueryScan *) plan)->subplan);
		default:
			break;
	}
	foreach(cell, plans)
		children = lappend(children, &lfirst(cell));
	if (outerPlan(plan))
		children = lappend(children, &outerPlan(plan));
	if (innerPlan(plan))
		children = lappend(children, &innerPlan(plan));
	return children;
}

bool
is_custom(const Plan *plan, const CustomScanMethods *methods)
{
	return IsA(plan, CustomScan) &&
		((const CustomScan *) plan)->methods == methods;
}

/* The Var that an expression is, apart from changes of its type's name; or NULL */
Var *
var_of(Node *expression)
{
	while (expression && IsA(expression, RelabelType))
		expression = (Node *) ((RelabelType *) expression)->arg;
	return expression && IsA(expression, Var) ? (Var *) expression : NULL;
}

/* The same for a column of a node's result */
Var *
var_of_column(const Plan *plan, AttrNumber column)
{
	return var_of((Node *) list_nth_node(TargetEntry, plan->targetlist, column - 1)->expr);
}

/* Is a subplan executed for an expression?  An InitPlan is when first needed. */
static bool
needs_subplan(Node *node, void *context)
{
	const PlanEffects *effects = context;

	if (node == NULL)
		return false;
	if (IsA(node, Param))
		return ((Param *) node)->paramkind == PARAM_EXEC &&
			bms_is_member(((Param *) node)->paramid, effects->init_params);
	return IsA(node, SubPlan) || IsA(node, AlternativeSubPlan) ||
		expression_tree_walker(node, needs_subplan, context);
}

/*
 * node_has_effects
 *		May a node's own expressions call volatile functions, if only in a subplan?
 *
 * Then no row may be dropped before: they would be called for fewer rows, and
 * nextval() would return other numbers.
 */
bool
node_has_effects(const PlanEffects *effects, const Plan *plan)
{
	List	   *expressions = list_make2(plan->targetlist, plan->qual);

	/* of joins and indexes: not volatile themselves, but a subplan may be */
	switch (nodeTag(plan))
	{
		case T_HashJoin:
			expressions = lappend(expressions, ((const HashJoin *) plan)->hashclauses);
			expressions = lappend(expressions, ((const Join *) plan)->joinqual);
			break;
		case T_MergeJoin:
			expressions = lappend(expressions, ((const MergeJoin *) plan)->mergeclauses);
			expressions = lappend(expressions, ((const Join *) plan)->joinqual);
			break;
		case T_NestLoop:
			expressions = lappend(expressions, ((const Join *) plan)->joinqual);
			break;
		case T_IndexScan:
			expressions = lappend(expressions, ((const IndexScan *) plan)->indexqual);
			expressions = lappend(expressions, ((const IndexScan *) plan)->indexorderby);
			break;
		case T_IndexOnlyScan:
			expressions = lappend(expressions, ((const IndexOnlyScan *) plan)->indexqual);
			expressions = lappend(expressions, ((const IndexOnlyScan *) plan)->indexorderby);
			break;
		case T_BitmapHeapScan:
			expressions = lappend(expressions,
								  ((const BitmapHeapScan *) plan)->bitmapqualorig);
			break;
		case T_CustomScan:
			expressions = lappend(expressions, ((const CustomScan *) plan)->custom_exprs);
			break;
		default:
			break;
	}
	return contain_volatile_functions((Node *) expressions) ||
		(effects->any && needs_subplan((Node *) expressions, (void *) effects));
}

/*
 * plan_has_effects
 *		May executing a plan call volatile functions?
 *
 * Then a plan beside it must not have fewer rows: a nested loop would execute this one
 * less often, and a join with an empty side would not read the other one.  Returns true
 * for nodes that it does not know.
 */
bool
plan_has_effects(const PlanEffects *effects, Plan *plan)
{
	ListCell   *cell;

	if (!effects->any)
		return false;
	check_stack_depth();
	switch (nodeTag(plan))
	{
		case T_SeqScan:
		case T_IndexScan:
		case T_IndexOnlyScan:
			break;
		case T_BitmapHeapScan:
			/* what is below computes the same conditions */
			return plan->initPlan != NIL || node_has_effects(effects, plan);
		case T_HashJoin:
		case T_MergeJoin:
		case T_NestLoop:
		case T_Hash:
		case T_Material:
		case T_Memoize:
		case T_Sort:
		case T_IncrementalSort:
		case T_Agg:
		case T_Group:
		case T_Unique:
		case T_Gather:
		case T_GatherMerge:
		case T_Append:
		case T_MergeAppend:
		case T_SubqueryScan:
			break;
		case T_CustomScan:
			if (!is_custom(plan, &filter_scan_methods) &&
				!is_custom(plan, &join_filter_build_methods) &&
				!is_custom(plan, &join_filter_probe_methods))
				return true;
			break;
		default:
			return true;
	}
	if (plan->initPlan != NIL || node_has_effects(effects, plan))
		return true;
	foreach(cell, plan_children(plan))
	{
		if (plan_has_effects(effects, *(Plan **) lfirst(cell)))
			return true;
	}
	return false;
}

/* ----------------------------------------------------------------
 *		Keys
 * ----------------------------------------------------------------
 */

/* If an operator compares integers by value, sets their types; else returns false. */
bool
integers_of(Oid operator, KeyInteger *left, KeyInteger *right)
{
	static const struct
	{
		Oid			function;
		KeyInteger	left;
		KeyInteger	right;
	}			known[] = {
		{F_INT2EQ, KEY_INT2, KEY_INT2},
		{F_INT24EQ, KEY_INT2, KEY_INT4},
		{F_INT28EQ, KEY_INT2, KEY_INT8},
		{F_INT42EQ, KEY_INT4, KEY_INT2},
		{F_INT4EQ, KEY_INT4, KEY_INT4},
		{F_INT48EQ, KEY_INT4, KEY_INT8},
		{F_INT82EQ, KEY_INT8, KEY_INT2},
		{F_INT84EQ, KEY_INT8, KEY_INT4},
		{F_INT8EQ, KEY_INT8, KEY_INT8},
		{F_OIDEQ, KEY_INT4, KEY_INT4},
		{F_DATE_EQ, KEY_INT4, KEY_INT4},
		{F_TIMESTAMP_EQ, KEY_INT8, KEY_INT8},
		{F_TIMESTAMPTZ_EQ, KEY_INT8, KEY_INT8},
	};
	Oid			function = get_opcode(operator);

	for (size_t i = 0; i < lengthof(known); i++)
	{
		if (known[i].function != function)
			continue;
		*left = known[i].left;
		*right = known[i].right;
		return true;
	}
	return false;
}

/* Sets *key to the key of a hash join; returns false if no filter can be made of it. */
bool
key_of_join(HashJoin *join, JoinKey *key)
{
	Hash	   *hash = (Hash *) innerPlan(join);
	SideKey    *outer = &key->outer;
	SideKey    *inner = &key->inner;

	memset(key, 0, sizeof(*key));
	outer->count = inner->count = list_length(join->hashkeys);
	if (outer->count > KEY_COLUMNS_MAX)
		return false;
	for (int i = 0; i < outer->count; i++)
	{
		Oid			operator = list_nth_oid(join->hashoperators, i);
		Var		   *outer_var = var_of(list_nth(join->hashkeys, i));
		Var		   *inner_var = var_of(list_nth(hash->hashkeys, i));

		if (!op_strict(operator) ||
			!get_op_hash_functions(operator, &outer->functions[i],
								   &inner->functions[i]))
			return false;
		if (outer_var && outer_var->varno == OUTER_VAR)
			outer->columns[i] = outer_var->varattno;
		else
			outer->expressions = join->hashkeys;
		if (inner_var && inner_var->varno == OUTER_VAR)
			inner->columns[i] = inner_var->varattno;
		outer->collations[i] = inner->collations[i] =
			list_nth_oid(join->hashcollations, i);
	}
	/* they are computed a second time, and must give the same result */
	if (contain_volatile_functions((Node *) outer->expressions) ||
		contain_subplans((Node *) outer->expressions))
		return false;
	outer->kind = outer->count == 1 && inner->columns[0] != 0 &&
		outer->expressions == NIL &&
		integers_of(linitial_oid(join->hashoperators), &outer->integer,
					&inner->integer) ? KEY_INTEGER : KEY_HASH;
	inner->kind = outer->kind;
	return true;
}

/* ----------------------------------------------------------------
 *		Where to probe
 * ----------------------------------------------------------------
 */

/* Measured costs of a child's row in the node above it, in ns (docs/performance.md) */
#define JOIN_INTEGER_NS			65.0
#define JOIN_OTHER_NS			150.0
#define SPILLING_JOIN_NS		350.0
#define AGGREGATE_NS			150.0
#define SORT_NS					400.0
#define OTHER_NS				10.0

/*
 * A filter runs before a table's own conditions if these keep at least this share of the
 * rows.  It needs no slot for a row, but all rows are hashed.
 */
#define SCAN_SHARE_MIN			0.2

/* Bytes of a hash table's tuple besides its data; see ExecChooseHashTableSize() */
#define HASH_TUPLE_OVERHEAD		32

/* Does a hash join with these estimates write to temporary files? */
static bool
spills(const Plan *hash)
{
	const Plan *inner = outerPlan(hash);

	return inner->plan_rows * (inner->plan_width + HASH_TUPLE_OVERHEAD) >
		(double) get_hash_memory_limit();
}

/* What a row from a child costs in a node, in nanoseconds */
double
cost_of_row(const Plan *plan)
{
	KeyInteger	left;
	KeyInteger	right;

	switch (nodeTag(plan))
	{
		case T_HashJoin:
			if (spills(innerPlan(plan)))
				return SPILLING_JOIN_NS;
			return integers_of(linitial_oid(((HashJoin *) plan)->hashoperators),
							   &left, &right) ? JOIN_INTEGER_NS : JOIN_OTHER_NS;
		case T_MergeJoin:
		case T_NestLoop:
			return JOIN_INTEGER_NS;
		case T_Agg:
			return AGGREGATE_NS;
		case T_Sort:
		case T_IncrementalSort:
			return SORT_NS;
		default:
			return OTHER_NS;
	}
}

/* May a node return rows that another process has read? */
bool
deals_out_rows(const Plan *plan)
{
	return IsA(plan, Gather) || IsA(plan, GatherMerge) ||
		(IsA(plan, HashJoin) && plan->parallel_aware);
}

/* Does a node read many rows of a child before it returns one? */
static bool
is_blocking(const Plan *plan, Plan *const *child)
{
	return IsA(plan, Sort) || IsA(plan, IncrementalSort) || IsA(plan, Agg) ||
		(IsA(plan, HashJoin) && child != &outerPlan(plan));
}

/*
 * Sets "attributes" to the columns of a scan's table that these columns of its result
 * are; returns false if one is something else.
 */
bool
columns_of_table(Plan *plan, const AttrNumber *columns, int count,
				 AttrNumber *attributes)
{
	for (int i = 0; i < count; i++)
	{
		Var		   *var = var_of_column(plan, columns[i]);

		if (var == NULL || var->varno != (int) ((Scan *) plan)->scanrelid ||
			var->varattno <= 0)
			return false;
		attributes[i] = var->varattno;
	}
	return true;
}

/*
 * Sets child_columns to the columns of a child that these columns of a node are, and
 * *varno to which child that is; returns false if they are not columns of one child.
 */
static bool
columns_of_child(Plan *plan, const AttrNumber *columns, int count,
				 int *varno, AttrNumber *child_columns)
{
	*varno = 0;
	for (int i = 0; i < count; i++)
	{
		Var		   *var = var_of_column(plan, columns[i]);

		if (var == NULL || (i > 0 && *varno != var->varno) || var->varattno <= 0)
			return false;
		*varno = var->varno;
		child_columns[i] = var->varattno;
	}
	return true;
}

/* Does an aggregate group by these columns of its child, by the join's equality? */
static bool
groups_by(const Agg *agg, const AttrNumber *columns, const SideKey *key)
{
	if (agg->aggstrategy == AGG_PLAIN || agg->groupingSets != NIL ||
		agg->chain != NIL)
		return false;
	for (int i = 0; i < key->count; i++)
	{
		bool		found = false;

		for (int j = 0; j < agg->numCols && !found; j++)
		{
			Oid			left;
			Oid			right;
			KeyInteger	integer;

			if (agg->grpColIdx[j] != columns[i])
				continue;
			found = key->kind == KEY_INTEGER ?
				integers_of(agg->grpOperators[j], &integer, &integer) :
				get_op_hash_functions(agg->grpOperators[j], &left, &right) &&
				left == key->functions[i] &&
				agg->grpCollations[j] == key->collations[i];
		}
		if (!found)
			return false;
	}
	return true;
}

/*
 * child_with_key
 *		The child below which rows may be dropped by a key, or NULL
 *
 * "columns" are those of the node that have the key; sets child_columns to the child's.
 * Returns where the node points to the child.
 */
Plan **
child_with_key(const PlanEditor *editor, Plan *plan, const AttrNumber *columns,
			   const SideKey *key, AttrNumber *child_columns)
{
	int			varno;
	JoinType	type;

	if (is_custom(plan, &join_filter_build_methods) ||
		is_custom(plan, &join_filter_probe_methods))
	{
		memcpy(child_columns, columns, key->count * sizeof(AttrNumber));
		return &outerPlan(plan);
	}
	if (!columns_of_child(plan, columns, key->count, &varno, child_columns) ||
		node_has_effects(&editor->effects, plan))
		return NULL;
	switch (nodeTag(plan))
	{
		case T_HashJoin:
		case T_MergeJoin:
		case T_NestLoop:
			type = ((Join *) plan)->jointype;
			if (plan_has_effects(&editor->effects, varno == OUTER_VAR ?
								 innerPlan(plan) : outerPlan(plan)))
				return NULL;
			if (varno == OUTER_VAR && (type == JOIN_INNER || type == JOIN_LEFT ||
									   type == JOIN_SEMI || type == JOIN_ANTI))
				return &outerPlan(plan);
			if (varno == INNER_VAR && IsA(plan, HashJoin) &&
				(type == JOIN_INNER || type == JOIN_RIGHT))
				return &outerPlan(innerPlan(plan));
			return NULL;
		case T_Gather:
		case T_GatherMerge:
		case T_Sort:
		case T_IncrementalSort:
		case T_Material:
		case T_Result:
			return varno == OUTER_VAR && outerPlan(plan) ? &outerPlan(plan) : NULL;
		case T_Agg:
			return varno == OUTER_VAR && groups_by((Agg *) plan, child_columns, key) ?
				&outerPlan(plan) : NULL;
		case T_SubqueryScan:
			return varno == (int) ((Scan *) plan)->scanrelid ?
				&((SubqueryScan *) plan)->subplan : NULL;
		default:
			return NULL;
	}
}

/* Rows that a sequential scan reads, as it was known at the last ANALYZE */
static double
rows_read(const Plan *plan, Relation relation)
{
	double		rows = Max(relation->rd_rel->reltuples, 0);

	if (plan->parallel_aware)
		rows /= 2;				/* more or less */
	return Max(rows, plan->plan_rows);
}

/* The share of the rows that passes the probes of joins' keys that a scan already has */
static double
share_of_probes(const CustomScan *scan)
{
	double		share = 1;
	ListCell   *cell;

	foreach(cell, filter_scan_probes(scan))
	{
		const ProbePlan *probe = lfirst(cell);

		if (probe->kind == PROBE_KEYS)
			share *= key_probe_read(probe->details).share;
	}
	return share;
}

static void
add_place(Placement *placement, Plan **slot, const AttrNumber *columns,
		  bool in_scan, double rows)
{
	Place	   *place = palloc0(sizeof(Place));

	place->slot = slot;
	/* a key that is an expression has none */
	if (placement->key->expressions == NIL)
		memcpy(place->columns, columns, placement->key->count * sizeof(AttrNumber));
	place->in_scan = in_scan;
	placement->places = lappend(placement->places, place);
	placement->probed += rows;
}

/*
 * Find a place in the scan of a table, if it can probe.  Below a Gather only parallel
 * scans can.
 */
static bool
find_scan(const PlanEditor *editor, Plan **slot, const AttrNumber *columns,
		  bool below_gather, Placement *placement)
{
	Plan	   *plan = *slot;
	AttrNumber	attributes[KEY_COLUMNS_MAX];
	Relation	relation;
	RangeTblEntry *rte;
	double		rows;
	bool		is_heap;

	if (!(IsA(plan, SeqScan) || is_custom(plan, &filter_scan_methods)) ||
		!editor->scans || node_has_effects(&editor->effects, plan) ||
		(below_gather && !plan->parallel_aware) ||
		(editor->hides_rows && plan->qual != NIL) ||
		!columns_of_table(plan, columns, placement->key->count, attributes))
		return false;
	rte = rt_fetch(((Scan *) plan)->scanrelid, editor->statement->rtable);
	/* the planner has locked it */
	relation = table_open(rte->relid, NoLock);
	is_heap = heap_page_supported(relation);
	rows = rows_read(plan, relation);
	table_close(relation, NoLock);
	if (!is_heap ||
		(plan->qual != NIL && plan->plan_rows < rows * SCAN_SHARE_MIN &&
		 !editor->force))
		return false;
	if (!IsA(plan, SeqScan))
		rows *= share_of_probes((CustomScan *) plan);
	add_place(placement, slot, columns, true, rows);
	return true;
}

/*
 * May workers hash keys?  The join itself may be above the Gather because they must not
 * compare them.
 */
static bool
may_hash_in_workers(const SideKey *key)
{
	for (int i = 0; key->kind == KEY_HASH && i < key->count; i++)
	{
		if (func_parallel(key->functions[i]) != PROPARALLEL_SAFE)
			return false;
	}
	return true;
}

static void find_below(const PlanEditor *editor, Plan **slot,
					   const AttrNumber *columns, bool below_gather,
					   Placement *placement);

/*
 * Find places below a Gather: scans that its workers share, to which the key can be
 * traced.  Such a scan gets a copy of the filter when they start; the other nodes below
 * have no memory for one.
 */
static bool
find_below_gather(const PlanEditor *editor, Plan *gather,
				  const AttrNumber *columns, Placement *placement)
{
	AttrNumber	child_columns[KEY_COLUMNS_MAX];
	Placement	before = *placement;
	int			count = list_length(placement->places);
	Plan	  **child;

	if (!may_hash_in_workers(placement->key))
		return false;
	child = child_with_key(editor, gather, columns, placement->key, child_columns);
	if (child == NULL)
		return false;
	placement->blocked = true;
	find_below(editor, child, child_columns, true, placement);
	if (list_length(placement->places) > count)
		return true;
	*placement = before;
	return false;
}

static void
find_below(const PlanEditor *editor, Plan **slot, const AttrNumber *columns,
		   bool below_gather, Placement *placement)
{
	Plan	   *plan = *slot;
	AttrNumber	child_columns[KEY_COLUMNS_MAX];
	Plan	  **child = NULL;
	ListCell   *cell;

	check_stack_depth();
	if (plan->async_capable)
		return;					/* its parent talks to it in another way */
	if (IsA(plan, Append) || IsA(plan, MergeAppend))
	{
		foreach(cell, plan_children(plan))
		{
			child = lfirst(cell);
			placement->saved += (1 - placement->share) * OTHER_NS * (*child)->plan_rows;
			find_below(editor, child, columns, below_gather, placement);
		}
		return;
	}
	if (IsA(plan, Gather) || IsA(plan, GatherMerge))
	{
		if (find_below_gather(editor, plan, columns, placement))
			return;
	}
	else if (placement->shared || below_gather || !deals_out_rows(plan))
		child = child_with_key(editor, plan, columns, placement->key, child_columns);
	if (child != NULL)
	{
		placement->saved += (1 - placement->share) * (*child)->plan_rows *
			cost_of_row(plan);
		placement->blocked |= is_blocking(plan, child);
		find_below(editor, child, child_columns, below_gather, placement);
	}
	else if (!find_scan(editor, slot, columns, below_gather, placement) &&
			 !below_gather)
		add_place(placement, slot, columns, false, plan->plan_rows);
}

/*
 * find_places
 *		Find where to probe, as far below *slot as possible
 *
 * Adds to placement->saved what the nodes between save by that.
 */
void
find_places(const PlanEditor *editor, Plan **slot, Placement *placement)
{
	if (placement->key->expressions == NIL)
		find_below(editor, slot, placement->key->columns, false, placement);
	else if (!(*slot)->async_capable)
		add_place(placement, slot, NULL, false, (*slot)->plan_rows);
}

/* ----------------------------------------------------------------
 *		Adding nodes
 * ----------------------------------------------------------------
 */

/* A Var for the column of a child that an entry of its targetlist is */
static Var *
var_for(Index varno, const TargetEntry *entry)
{
	Node	   *expression = (Node *) entry->expr;

	return makeVar(varno, entry->resno, exprType(expression),
				   exprTypmod(expression), exprCollation(expression), 0);
}

/* An expression_tree_mutator(): a child's column is one of the node above it. */
static Node *
make_own_column(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
	{
		Var		   *var = copyObject((Var *) node);

		Assert(var->varno == OUTER_VAR);
		var->varno = INDEX_VAR;
		return (Node *) var;
	}
	return expression_tree_mutator(node, make_own_column, context);
}

/* A node above "child" that passes on its rows, or some of them */
static CustomScan *
make_node_above(PlanEditor *editor, Plan *child,
				const CustomScanMethods *methods)
{
	CustomScan *node = makeNode(CustomScan);
	Plan	   *plan = &node->scan.plan;
	ListCell   *cell;

#if PG_VERSION_NUM >= 180000
	plan->disabled_nodes = child->disabled_nodes;
	if (child->disabled_nodes > 0)
	{
		Result	   *stand_in = makeNode(Result);

		/*
		 * never executed: EXPLAIN compares disabled_nodes with those of
		 * custom_plans, without the child
		 */
		stand_in->plan.disabled_nodes = child->disabled_nodes;
		node->custom_plans = list_make1(stand_in);
	}
#endif
	plan->startup_cost = child->startup_cost;
	plan->total_cost = child->total_cost;
	plan->plan_rows = child->plan_rows;
	plan->plan_width = child->plan_width;
	plan->parallel_safe = child->parallel_safe;
	plan->plan_node_id = editor->next_node_id++;
	plan->lefttree = child;
	plan->extParam = bms_copy(child->extParam);
	plan->allParam = bms_copy(child->allParam);
	foreach(cell, child->targetlist)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, cell);
		TargetEntry *own = flatCopyTargetEntry(entry);
		TargetEntry *below = flatCopyTargetEntry(entry);

		own->expr = (Expr *) var_for(INDEX_VAR, entry);
		below->expr = (Expr *) var_for(OUTER_VAR, entry);
		plan->targetlist = lappend(plan->targetlist, own);
		node->custom_scan_tlist = lappend(node->custom_scan_tlist, below);
	}
	node->methods = methods;
	return node;
}

/* Collect the keys of a hash join. */
void
add_build(PlanEditor *editor, HashJoin *join, const JoinKey *key,
		  const Placement *placement)
{
	Plan	   *hash = innerPlan(join);
	Plan	   *child = outerPlan(hash);
	CustomScan *build = make_node_above(editor, child, &join_filter_build_methods);
	KeyBuildPlan plan = {
		.number = placement->number,
		.kind = key->inner.kind,
		.attribute = key->inner.columns[0],
		.integer = key->inner.integer,
		.expected = (int) Min(child->plan_rows, INT_MAX),
		.comes_first = placement->blocked
	};

	build->custom_private = key_build_write(&plan);
	build->custom_exprs = (List *)
		make_own_column((Node *) ((Hash *) hash)->hashkeys, NULL);
	build->scan.plan.parallel_aware = hash->parallel_aware;
	outerPlan(hash) = &build->scan.plan;
}

/* Turn a sequential scan into a Filter Scan. */
static CustomScan *
make_filter_scan(Plan *plan)
{
	CustomScan *scan = filter_scan_make(((Scan *) plan)->scanrelid, false);

	scan->scan.plan = *plan;
	scan->scan.plan.type = T_CustomScan;
	scan->custom_relids = bms_make_singleton(scan->scan.scanrelid);
	return scan;
}

/* Probe in the scan of a table. */
static void
probe_in_scan(const Place *place, const SideKey *key, List *details)
{
	Plan	   *plan = *place->slot;
	List	   *columns = NIL;
	ProbePlan	probe = {.kind = PROBE_KEYS, .details = details};

	for (int i = 0; i < key->count; i++)
		columns = lappend(columns, copyObject(var_of_column(plan, place->columns[i])));
	probe.expression = (Node *) columns;
	if (IsA(plan, SeqScan))
		*place->slot = (Plan *) make_filter_scan(plan);
	filter_scan_add_probe((CustomScan *) *place->slot, &probe);
}

/* Probe above a node. */
static void
probe_above(PlanEditor *editor, const Place *place, const SideKey *key,
			List *details)
{
	Plan	   *plan = *place->slot;
	List	   *keys = NIL;
	CustomScan *probe;

	if (!is_custom(plan, &join_filter_probe_methods))
		*place->slot = (Plan *) make_node_above(editor, plan, &join_filter_probe_methods);
	probe = (CustomScan *) *place->slot;
	if (key->expressions != NIL)
		keys = (List *) make_own_column((Node *) key->expressions, NULL);
	else
	{
		for (int i = 0; i < key->count; i++)
			keys = lappend(keys, var_for(INDEX_VAR,
										 list_nth(plan->targetlist, place->columns[i] - 1)));
	}
	probe->custom_exprs = lappend(probe->custom_exprs, keys);
	probe->custom_private = lappend(probe->custom_private, details);
}

/* Probe a filter in the places that were found. */
void
add_probes(PlanEditor *editor, const Placement *placement)
{
	const SideKey *key = placement->key;
	ListCell   *cell;
	KeyProbePlan plan = {
		.number = placement->number,
		.kind = key->kind,
		.integer = key->integer,
		.forced = editor->force,
		/* others do not rely on a share that is not known */
		.share = placement->tried ? 1 : placement->share
	};

	for (int i = 0; key->kind == KEY_HASH && i < key->count; i++)
	{
		plan.functions = lappend_oid(plan.functions, key->functions[i]);
		plan.collations = lappend_oid(plan.collations, key->collations[i]);
	}
	foreach(cell, placement->places)
	{
		const Place *place = lfirst(cell);

		if (place->in_scan)
			probe_in_scan(place, key, key_probe_write(&plan));
		else
			probe_above(editor, place, key, key_probe_write(&plan));
		(*place->slot)->plan_rows = clamp_row_est((*place->slot)->plan_rows *
												  plan.share);
	}
}

#ifdef USE_ASSERT_CHECKING
/* What an edited plan has of a filter; rows are dealt out between two origins */
typedef struct FilterSeen
{
	bool		built;
	bool		shared;			/* by the processes of a Parallel Hash */
	const Plan *origin;			/* of the rows that the builder reads */
	List	   *probed;			/* origins of the rows that are probed */
} FilterSeen;

/* The numbers of the filters that a node probes */
static List *
probed_by(const Plan *plan)
{
	const CustomScan *scan = (const CustomScan *) plan;
	List	   *numbers = NIL;
	ListCell   *cell;

	if (is_custom(plan, &join_filter_probe_methods))
	{
		foreach(cell, scan->custom_private)
			numbers = lappend_int(numbers, key_probe_read(lfirst(cell)).number);
	}
	else if (is_custom(plan, &filter_scan_methods))
	{
		foreach(cell, filter_scan_probes(scan))
		{
			const ProbePlan *probe = lfirst(cell);

			if (probe->kind == PROBE_KEYS)
				numbers = lappend_int(numbers, key_probe_read(probe->details).number);
		}
	}
	return numbers;
}

/*
 * Note the filters that a plan builds and probes, by their numbers.  "origin" is the
 * child of the next node above that deals out rows, or NULL.
 */
static void
see_filters(Plan *plan, const Plan *origin, FilterSeen *seen)
{
	ListCell   *cell;

	check_stack_depth();
	if (is_custom(plan, &join_filter_build_methods))
	{
		FilterSeen *filter = seen +
			key_build_read(((CustomScan *) plan)->custom_private).number;

		Assert(!filter->built);
		filter->built = true;
		filter->shared = plan->parallel_aware;
		filter->origin = origin;
	}
	foreach(cell, probed_by(plan))
	{
		FilterSeen *filter = seen + lfirst_int(cell);

		filter->probed = lappend(filter->probed, (void *) origin);
	}
	foreach(cell, plan_children(plan))
	{
		Plan	   *child = *(Plan **) lfirst(cell);

		see_filters(child, deals_out_rows(plan) ? child : origin, seen);
	}
}
#endif

/*
 * check_filters
 *		Assert that each filter is built once and probed somewhere, and that the rows
 *		probed are the process's own, unless the filter is that of all processes
 */
void
check_filters(const PlanEditor *editor)
{
#ifdef USE_ASSERT_CHECKING
	FilterSeen *seen = palloc0((editor->filters + 1) * sizeof(FilterSeen));
	ListCell   *cell;

	see_filters(editor->statement->planTree, NULL, seen);
	foreach(cell, editor->statement->subplans)
	{
		if (lfirst(cell))
			see_filters(lfirst(cell), NULL, seen);
	}
	for (int number = 1; number <= editor->filters; number++)
	{
		const FilterSeen *filter = &seen[number];

		Assert(filter->built && filter->probed != NIL);
		foreach(cell, filter->probed)
			Assert(filter->shared || filter->origin == NULL ||
				   filter->origin == lfirst(cell));
	}
	pfree(seen);
#endif
}

/* Measured costs of probing a row and of collecting a key, in ns (docs/performance.md) */
#define PROBE_INTEGER_NS		15.0
#define PROBE_HASH_NS			40.0
#define COLLECT_INTEGER_NS		8.0
#define COLLECT_HASH_NS			20.0

/* A unit of the planner's costs: a row of a sequential scan costs 0.0125, and 78 ns */
#define COST_UNIT_NS			6240.0

/* Fewer rows are not worth a filter: 20,000 take a millisecond. */
#define PROBED_ROWS_MIN			20000.0
/* Assumed of a join of which estimates say little: neither few rows nor most */
#define SHARE_TRY				0.5
/* Such a join is tried if its inner side has at most this many times the outer's rows. */
#define TRY_ROWS_MAX			4.0

/* A join with a filter */
typedef struct KeyFilterPlan
{
	HashJoin   *join;
	JoinKey		key;
	int			number;
	double		share;
	bool		tried;
	bool		comes_first;	/* no outer row is read before it is complete */
} KeyFilterPlan;

/* ----------------------------------------------------------------
 *		What is expected
 * ----------------------------------------------------------------
 */

/* The table that a scan reads, or InvalidOid */
static Oid
table_of(const PlanEditor *editor, const Plan *plan)
{
	RangeTblEntry *rte = rt_fetch(((const Scan *) plan)->scanrelid,
								  editor->statement->rtable);

	return rte->rtekind == RTE_RELATION ? rte->relid : InvalidOid;
}

/*
 * Follow a key down to the scan of a table.  Returns the table and sets its columns, or
 * returns InvalidOid.
 */
static Oid
table_with_key(const PlanEditor *editor, Plan *plan, const SideKey *key,
			   AttrNumber *attributes)
{
	AttrNumber	here[KEY_COLUMNS_MAX];
	Plan	  **child;

	memcpy(here, key->columns, sizeof(here));
	while ((child = child_with_key(editor, plan, here, key, attributes)) != NULL)
	{
		plan = *child;
		memcpy(here, attributes, key->count * sizeof(AttrNumber));
	}
	if (!(IsA(plan, SeqScan) || IsA(plan, IndexScan) || IsA(plan, BitmapHeapScan) ||
		  is_custom(plan, &filter_scan_methods)) ||
		!columns_of_table(plan, here, key->count, attributes))
		return InvalidOid;
	return table_of(editor, plan);
}

/* Has a foreign key just these columns of two tables? */
static bool
is_foreign_key(const ForeignKeyCacheInfo *foreign, Oid referenced, int count,
			   const AttrNumber *outer_columns, const AttrNumber *inner_columns)
{
	int			matched = 0;

	if (foreign->confrelid != referenced || foreign->nkeys != count)
		return false;
	for (int i = 0; i < count; i++)
	{
		for (int j = 0; j < count; j++)
		{
			if (foreign->conkey[i] == outer_columns[j] &&
				foreign->confkey[i] == inner_columns[j])
				matched++;
		}
	}
	return matched == count;
}

/* Does a foreign key say that every row has a partner? */
static bool
has_foreign_key(const PlanEditor *editor, HashJoin *join, const JoinKey *key)
{
	Plan	   *inner = outerPlan(innerPlan(join));
	int			count = key->inner.count;
	AttrNumber	outer_columns[KEY_COLUMNS_MAX];
	AttrNumber	inner_columns[KEY_COLUMNS_MAX];
	Oid			referenced;
	Oid			referencing;
	Relation	relation;
	bool		found = false;
	ListCell   *cell;

	for (int i = 0; i < count; i++)
	{
		if (key->inner.columns[i] == 0 || key->outer.columns[i] == 0)
			return false;
	}
	/* all of its rows are there */
	if (!IsA(inner, SeqScan) || inner->qual != NIL ||
		!columns_of_table(inner, key->inner.columns, count, inner_columns))
		return false;
	referenced = table_of(editor, inner);
	referencing = table_with_key(editor, outerPlan(join), &key->outer, outer_columns);
	if (!OidIsValid(referenced) || !OidIsValid(referencing))
		return false;
	relation = table_open(referencing, NoLock);
	foreach(cell, RelationGetFKeyList(relation))
		found |= is_foreign_key(lfirst(cell), referenced, count, outer_columns,
								inner_columns);
	table_close(relation, NoLock);
	return found;
}

/*
 * The share of the outer rows that is expected to have a partner; sets *tried if it is
 * not known
 */
static double
share_with_partner(const HashJoin *join, bool *tried)
{
	const Plan *plan = &join->join.plan;
	double		outer = Max(outerPlan(plan)->plan_rows, 1);
	double		inner = outerPlan(innerPlan(plan))->plan_rows;
	double		share = Min(plan->plan_rows / outer, 1);

	*tried = share > SHARE_TRY && inner <= outer * TRY_ROWS_MAX &&
		(join->join.jointype == JOIN_SEMI || join->join.inner_unique);
	return *tried ? SHARE_TRY : share;
}

/*
 * Does the server's join look for an outer row before it builds its hash table, and build
 * none if there is no row?  See HJ_BUILD_HASHTABLE in core.
 */
static bool
looks_for_outer_row(const HashJoin *join)
{
	const Plan *plan = &join->join.plan;

	switch (join->join.jointype)
	{
		case JOIN_LEFT:
		case JOIN_ANTI:
			return !innerPlan(plan)->parallel_aware;
		case JOIN_INNER:
		case JOIN_SEMI:
#if PG_VERSION_NUM >= 180000
		case JOIN_RIGHT_SEMI:
#endif
			return !innerPlan(plan)->parallel_aware &&
				outerPlan(plan)->startup_cost < innerPlan(plan)->total_cost;
		default:
			return false;
	}
}

/*
 * What it is expected to cost, in nanoseconds, that a join builds its hash table without
 * looking for an outer row before.
 *
 * There is no row with a probability of exp(-n), if n are expected.  The estimate may be
 * wrong: if n is itself distributed exponentially, with the estimate as its mean, that
 * is 1 / (1 + estimate).
 */
static double
cost_of_not_looking(const HashJoin *join)
{
	const Plan *plan = &join->join.plan;

	if (!looks_for_outer_row(join))
		return 0;
	return innerPlan(plan)->total_cost * COST_UNIT_NS /
		(1 + outerPlan(plan)->plan_rows);
}

/*
 * Do the rows that are dropped save more than the filter costs, which collects this
 * many keys, besides "other" nanoseconds?
 */
static bool
worth_it(const Placement *placement, double keys, double other)
{
	bool		integer = placement->key->kind == KEY_INTEGER;

	return placement->probed >= PROBED_ROWS_MIN &&
		placement->share <= KEY_PROBE_SHARE_MAX &&
		placement->saved >
		placement->probed * (integer ? PROBE_INTEGER_NS : PROBE_HASH_NS) +
		keys * (integer ? COLLECT_INTEGER_NS : COLLECT_HASH_NS) + other;
}

/* ----------------------------------------------------------------
 *		Filters of joins
 * ----------------------------------------------------------------
 */

/* May the outer rows of this join be dropped if they have no partner? */
static bool
drops_outer(JoinType type)
{
	switch (type)
	{
		case JOIN_INNER:
		case JOIN_SEMI:
		case JOIN_RIGHT:
#if PG_VERSION_NUM >= 160000
		case JOIN_RIGHT_ANTI:
#endif
#if PG_VERSION_NUM >= 180000
		case JOIN_RIGHT_SEMI:
#endif
			return true;
		default:
			return false;
	}
}

/* Filter the outer side of a hash join, if it can be done, and pays. */
static void
filter_join(PlanEditor *editor, HashJoin *join)
{
	Plan	   *plan = &join->join.plan;
	KeyFilterPlan *filter = palloc0(sizeof(KeyFilterPlan));
	JoinKey    *key = &filter->key;
	Placement	placement = {0};

	if (!drops_outer(join->join.jointype) || !key_of_join(join, key))
		return;
	placement.key = &key->outer;
	placement.number = editor->filters + 1;
	placement.share = share_with_partner(join, &placement.tried);
	placement.shared = innerPlan(plan)->parallel_aware;
	placement.saved = (1 - placement.share) * outerPlan(plan)->plan_rows *
		cost_of_row(plan);
	find_places(editor, &outerPlan(plan), &placement);
	if (placement.places == NIL)
		return;
	if (!editor->force &&
		(!worth_it(&placement, outerPlan(innerPlan(plan))->plan_rows,
				   placement.blocked ? cost_of_not_looking(join) : 0) ||
		 has_foreign_key(editor, join, key)))
		return;
	add_probes(editor, &placement);
	/* if one side is empty, volatile functions of the other may not be called */
	placement.blocked &= !plan_has_effects(&editor->effects, outerPlan(plan)) &&
		!plan_has_effects(&editor->effects, innerPlan(plan));
	add_build(editor, join, key, &placement);
	editor->filters++;
	filter->join = join;
	filter->number = placement.number;
	filter->share = placement.share;
	filter->tried = placement.tried;
	filter->comes_first = placement.blocked;
	editor->added = lappend(editor->added, filter);
}

/* The filter of a join, or NULL */
static const KeyFilterPlan *
filter_of(const PlanEditor *editor, const Plan *join)
{
	ListCell   *cell;

	foreach(cell, editor->added)
	{
		const KeyFilterPlan *filter = lfirst(cell);

		if ((Plan *) filter->join == join)
			return filter;
	}
	return NULL;
}

/* ----------------------------------------------------------------
 *		Transfer
 * ----------------------------------------------------------------
 */

/*
 * Does the join read an outer row before it builds its hash table?  Then the hash tables
 * on its outer side are built before.
 */
static bool
reads_outer_first(const PlanEditor *editor, const HashJoin *join)
{
	const KeyFilterPlan *own = filter_of(editor, &join->join.plan);

	return looks_for_outer_row(join) && !(own && own->comes_first);
}

/* Can the inner side of a join use filters of its outer side?  If so, sets *key. */
static bool
can_receive(const PlanEditor *editor, HashJoin *join, JoinKey *key)
{
	JoinType	type = join->join.jointype;

	/* inner rows without a partner may be dropped */
	if (type != JOIN_INNER && type != JOIN_SEMI && type != JOIN_LEFT &&
		type != JOIN_ANTI)
		return false;
	return (reads_outer_first(editor, join) || editor->force) &&
		!plan_has_effects(&editor->effects, outerPlan(join)) &&
		key_of_join(join, key) && key->inner.count == 1 &&
		key->inner.columns[0] != 0 && key->outer.columns[0] != 0;
}

/*
 * "key" is that of a join above a filter's join, and was traced to "column" of "child",
 * a child of the latter.  Are all values of that column that come out of the filter's
 * join among the filter's keys, by the equality of "key"?
 */
static bool
has_keys(const KeyFilterPlan *filter, Plan **child, AttrNumber column,
		 const SideKey *key)
{
	bool		outer = child == &outerPlan(filter->join);
	const SideKey *own = outer ? &filter->key.outer : &filter->key.inner;
	JoinType	type = filter->join->join.jointype;

	return own->count == 1 && own->kind == key->kind &&
		own->collations[0] == key->collations[0] &&
		own->columns[0] == column && own->functions[0] == key->functions[0] &&
		(!outer || type == JOIN_INNER || type == JOIN_SEMI);
}

/* Probe a filter on the inner side of a join above, if that pays. */
static void
receive_filter(PlanEditor *editor, HashJoin *join, const JoinKey *key,
			   const KeyFilterPlan *filter)
{
	Plan	  **inner = &outerPlan(innerPlan(join));
	Placement	placement = {
		.key = &key->inner,
		.number = filter->number,
		.share = filter->share,
		.tried = filter->tried,
		.shared = innerPlan(filter->join)->parallel_aware
	};

	/* the builder stays next to the Hash node */
	if (is_custom(*inner, &join_filter_build_methods))
		inner = &outerPlan(*inner);
	placement.saved = (1 - filter->share) * (*inner)->plan_rows *
		cost_of_row((Plan *) join);
	find_places(editor, inner, &placement);
	/* its keys are collected anyway */
	if (editor->force || worth_it(&placement, 0, 0))
		add_probes(editor, &placement);
}

/*
 * Filter the inner side of a hash join by filters of joins on its outer side that have
 * the same key.
 */
static void
transfer_filters(PlanEditor *editor, HashJoin *join)
{
	Plan	   *plan = outerPlan(join);
	bool		dealt_out = deals_out_rows((Plan *) join);
	JoinKey		key;
	AttrNumber	here;
	AttrNumber	below;
	Plan	  **child;

	if (!can_receive(editor, join, &key))
		return;
	here = key.outer.columns[0];
	while ((child = child_with_key(editor, plan, &here, &key.outer, &below)) != NULL)
	{
		const KeyFilterPlan *filter = filter_of(editor, plan);

		dealt_out |= deals_out_rows(plan);
		if (filter && (!dealt_out || innerPlan(plan)->parallel_aware) &&
			has_keys(filter, child, below, &key.outer))
			receive_filter(editor, join, &key, filter);
		plan = *child;
		here = below;
	}
}

/* ----------------------------------------------------------------
 *		Statements
 * ----------------------------------------------------------------
 */

/* Call "visit" for each hash join that is executed once, those below first. */
static void
visit_joins(PlanEditor *editor, Plan *plan,
			void (*visit) (PlanEditor *editor, HashJoin *join))
{
	ListCell   *cell;

	/* what is below a foreign scan rechecks single rows */
	if (IsA(plan, ForeignScan))
		return;
	check_stack_depth();
	foreach(cell, plan_children(plan))
	{
		Plan	  **child = lfirst(cell);

		/* this side is read again, with other parameters or other rows */
		if ((IsA(plan, NestLoop) || IsA(plan, RecursiveUnion)) &&
			child == &innerPlan(plan))
			continue;
		visit_joins(editor, *child, visit);
	}
	if (IsA(plan, HashJoin))
		visit(editor, (HashJoin *) plan);
}

/* Set what the editor has to know of a plan before. */
static void
look_at_plan(PlanEditor *editor, Plan *plan)
{
	ListCell   *cell;
	ListCell   *param;

	check_stack_depth();
	editor->next_node_id = Max(editor->next_node_id, plan->plan_node_id + 1);
	foreach(cell, plan->initPlan)
	{
		foreach(param, lfirst_node(SubPlan, cell)->setParam)
			editor->effects.init_params = bms_add_member(editor->effects.init_params,
														 lfirst_int(param));
	}
	foreach(cell, plan_children(plan))
		look_at_plan(editor, *(Plan **) lfirst(cell));
	if (IsA(plan, CustomScan))
	{
		foreach(cell, ((CustomScan *) plan)->custom_plans)
			look_at_plan(editor, lfirst(cell));
	}
}

/* Does the statement lock rows that it reads? */
static bool
locks_rows(const PlannedStmt *statement)
{
	ListCell   *cell;

	foreach(cell, statement->rowMarks)
	{
		if (RowMarkRequiresRowShareLock(lfirst_node(PlanRowMark, cell)->markType))
			return true;
	}
	return false;
}

/* Does the plan read views that are security barriers? */
static bool
has_barriers(const PlannedStmt *statement)
{
	ListCell   *cell;

	foreach(cell, statement->rtable)
	{
		if (lfirst_node(RangeTblEntry, cell)->security_barrier)
			return true;
	}
	return false;
}

static void
edit_plan(PlanEditor *editor, Plan *plan)
{
	visit_joins(editor, plan, filter_join);
	if (editor->added != NIL)
		visit_joins(editor, plan, transfer_filters);
}

/* Does the server have join filters of its own, and are they on? */
static bool
server_filters(void)
{
	const char *setting = GetConfigOption("enable_hashjoin_bloom", true, false);

	return setting && strcmp(setting, "on") == 0;
}

/*
 * Is a subplan executed once?  Not if it has parameters, nor if its rows are read again
 * and not kept: volatile functions, or workers below a LIMIT, may give it others.
 */
static bool
is_executed_once(const PlannedStmt *statement, const Plan *subplan, int plan_id)
{
	return bms_is_empty(subplan->extParam) &&
		(!bms_is_member(plan_id, statement->rewindPlanIDs) ||
		 ExecMaterializesOutput(nodeTag(subplan)));
}

/*
 * join_filters_add
 *		Add join filters to a finished plan
 *
 * "setting" is JOIN_FILTER_ON or JOIN_FILTER_FORCE; "scans" tells whether scans may
 * become Filter Scans; "is_volatile" whether the query calls volatile functions;
 * "has_policies" whether policies apply to its tables, of which a finished plan says
 * nothing.  The nodes are allocated in the current memory context.
 */
void
join_filters_add(PlannedStmt *statement, JoinFilterSetting setting,
				 bool scans, bool is_volatile, bool has_policies)
{
	PlanEditor	editor = {
		.statement = statement,
		.force = setting == JOIN_FILTER_FORCE,
		.scans = scans,
		/* functions that were inlined may have policies, too */
		.hides_rows = has_policies || statement->dependsOnRole,
		.effects.any = is_volatile || locks_rows(statement)
	};
	ListCell   *cell;

	if (statement->planTree == NULL || server_filters() ||
		has_barriers(statement))
		return;
	look_at_plan(&editor, statement->planTree);
	foreach(cell, statement->subplans)
	{
		if (lfirst(cell))
			look_at_plan(&editor, lfirst(cell));
	}
	edit_plan(&editor, statement->planTree);
	foreach(cell, statement->subplans)
	{
		Plan	   *subplan = lfirst(cell);
		int			plan_id = foreach_current_index(cell) + 1;

		if (subplan && !editor.hides_rows &&
			is_executed_once(statement, subplan, plan_id))
			edit_plan(&editor, subplan);
	}
	check_filters(&editor);
}
