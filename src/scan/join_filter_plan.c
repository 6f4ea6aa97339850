/*
 * join_filter_plan.c
 *	  Adding join filters to finished plans.
 *
 * While a hash join fills its hash table, a node below it collects the keys
 * (join_filter_build.c).  Rows of the outer side that have none of these keys find no partner.
 * So we trace the key down the outer side as far as it goes, and drop such rows
 * there: in the scan of a table, before they are joined, sorted or aggregated.
 * The planner knows nothing of this; it chooses the order of joins as ever.
 *
 * A key that is an expression is not traced: it might fail for rows that the join does
 * not see.
 *
 * Which joins.  Those that return nothing for an outer row without a partner: inner,
 * semi and right joins, right semi and right anti joins.  Not those that may be
 * executed again with other parameters or rows: on the inner side of a nested loop, in
 * the recursive part of a query, in subplans with parameters, or that nothing
 * materializes.  There, a node below may keep rows that were filtered by keys which the
 * join has since replaced.
 *
 * How far down.  A row may be dropped below a node if all that the node then lacks are
 * result rows with the same key.  So below joins, on the side that has the key, unless it
 * is the nullable one; below Sort, Material, Append, and subqueries; below an
 * aggregate that groups by the key, by the same equality; and below a Gather in the
 * scans that its workers share, which get a copy of the filter.  Not below Limit, window
 * functions or set operations, nor a node that computes volatile functions, or whose
 * other side does.  To lock a row is an effect as that of a volatile function.
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

#include "heap_page.h"
#include "join_filter_build.h"
#include "join_filter_probe.h"

#include <math.h>

#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_proc.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"

/*
 * Measured costs in nanoseconds (docs/dev/measurements.md): of probing a row, of collecting
 * a key, and of a child's row in the node above it.
 */
#define PROBE_INTEGER_NS		15.0
#define PROBE_HASH_NS			40.0
#define COLLECT_INTEGER_NS		8.0
#define COLLECT_HASH_NS			20.0
#define JOIN_INTEGER_NS			65.0
#define JOIN_OTHER_NS			150.0
#define SPILLING_JOIN_NS		350.0
#define AGGREGATE_NS			150.0
#define SORT_NS					400.0
#define OTHER_NS				10.0

/* A unit of the planner's costs: a row of a sequential scan costs 0.0125, and 78 ns */
#define COST_UNIT_NS			6240.0

/* Fewer rows are not worth a filter: 20,000 take a millisecond. */
#define PROBED_ROWS_MIN			20000.0
/* Assumed of a join of which estimates say little: neither few rows nor most */
#define SHARE_TRY				0.5
/* Such a join is tried if its inner side has at most this many times the outer's rows. */
#define TRY_ROWS_MAX			4.0

/*
 * A filter runs before a table's own conditions if these keep at least this share of the
 * rows.  It needs no slot for a row, but all rows are hashed.
 */
#define SCAN_SHARE_MIN			0.2

/* Bytes of a hash table's tuple besides its data; see ExecChooseHashTableSize() */
#define HASH_TUPLE_OVERHEAD		32

typedef struct PlanEditor
{
	PlannedStmt *statement;
	bool		force;			/* wherever it is possible */
	bool		scans;			/* may be Filter Scans */
	bool		hides_rows;		/* policies are among the conditions of tables */
	bool		is_volatile;	/* volatile functions are called somewhere, or
								 * rows locked */
	Bitmapset  *init_params;	/* the parameters that InitPlans set */
	int			next_node_id;
	int			filters;		/* numbers given so far */
	List	   *added;			/* of KeyFilterPlan */
} PlanEditor;

/* A join's key, as a hash join compares it */
typedef struct JoinKey
{
	KeyKind		kind;
	int			columns;
	AttrNumber	outer[KEY_COLUMNS_MAX]; /* columns of the outer child */
	List	   *expressions;	/* of these, if one is not a column; else NIL */
	AttrNumber	inner[KEY_COLUMNS_MAX]; /* of the inner one; 0: no column */
	KeyInteger	outer_integer;	/* of KEY_INTEGER */
	KeyInteger	inner_integer;
	Oid			outer_function[KEY_COLUMNS_MAX];	/* hash functions */
	Oid			inner_function[KEY_COLUMNS_MAX];
	Oid			collation[KEY_COLUMNS_MAX];
} JoinKey;

/* A filter to be probed somewhere */
typedef struct Placement
{
	int			number;			/* of the filter */
	KeyKind		kind;
	int			columns;
	KeyInteger	integer;
	List	   *expressions;	/* the key, if it is not columns */
	const Oid  *functions;
	const Oid  *collations;
	double		share;			/* of the rows that is expected to pass */
	bool		tried;			/* that is not known */
	bool		shared;			/* by the processes of a Parallel Hash */
	bool		blocked;		/* one outer row needs many probed ones */
	bool		below_gather;	/* where only some scans may have it */
	bool		edit;			/* else only these are computed: */
	int			probes;			/* places where it is probed */
	double		probed;			/* rows there */
	double		saved;			/* nanoseconds */
} Placement;

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
 *		Keys
 * ----------------------------------------------------------------
 */

/* If an operator compares integers by value, sets their types; else returns false */
static bool
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

/* The Var that an expression is, apart from changes of its type's name; or NULL */
static Var *
var_of(Node *expression)
{
	while (expression && IsA(expression, RelabelType))
		expression = (Node *) ((RelabelType *) expression)->arg;
	return expression && IsA(expression, Var) ? (Var *) expression : NULL;
}

/* Sets *key to the key of a hash join; false if no filter can be made of it */
static bool
key_of_join(HashJoin *join, JoinKey *key)
{
	Hash	   *hash = (Hash *) innerPlan(join);

	memset(key, 0, sizeof(*key));
	key->columns = list_length(join->hashkeys);
	if (key->columns > KEY_COLUMNS_MAX)
		return false;
	for (int i = 0; i < key->columns; i++)
	{
		Oid			operator = list_nth_oid(join->hashoperators, i);
		Var		   *outer = var_of(list_nth(join->hashkeys, i));
		Var		   *inner = var_of(list_nth(hash->hashkeys, i));

		if (!op_strict(operator) ||
			!get_op_hash_functions(operator, &key->outer_function[i],
								   &key->inner_function[i]))
			return false;
		if (outer && outer->varno == OUTER_VAR)
			key->outer[i] = outer->varattno;
		else
			key->expressions = join->hashkeys;
		key->inner[i] = inner && inner->varno == OUTER_VAR ? inner->varattno : 0;
		key->collation[i] = list_nth_oid(join->hashcollations, i);
	}
	/* they are computed a second time, and must give the same result */
	if (contain_volatile_functions((Node *) key->expressions) ||
		contain_subplans((Node *) key->expressions))
		return false;
	key->kind = key->columns == 1 && key->inner[0] != 0 &&
		key->expressions == NIL &&
		integers_of(linitial_oid(join->hashoperators), &key->outer_integer,
					&key->inner_integer) ? KEY_INTEGER : KEY_HASH;
	return true;
}

/* ----------------------------------------------------------------
 *		New nodes
 * ----------------------------------------------------------------
 */

/* A list of Vars for columns of a node's child */
static List *
make_keys(Plan *child, const AttrNumber *columns, int count)
{
	List	   *keys = NIL;

	for (int i = 0; i < count; i++)
	{
		TargetEntry *entry = list_nth(child->targetlist, columns[i] - 1);
		Node	   *expression = (Node *) entry->expr;

		keys = lappend(keys, makeVar(INDEX_VAR, columns[i],
									 exprType(expression),
									 exprTypmod(expression),
									 exprCollation(expression), 0));
	}
	return keys;
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
		Node	   *expression = (Node *) entry->expr;
		TargetEntry *own = flatCopyTargetEntry(entry);
		TargetEntry *childs = flatCopyTargetEntry(entry);

		own->expr = (Expr *) makeVar(INDEX_VAR, entry->resno,
									 exprType(expression),
									 exprTypmod(expression),
									 exprCollation(expression), 0);
		childs->expr = (Expr *) makeVar(OUTER_VAR, entry->resno,
										exprType(expression),
										exprTypmod(expression),
										exprCollation(expression), 0);
		plan->targetlist = lappend(plan->targetlist, own);
		node->custom_scan_tlist = lappend(node->custom_scan_tlist, childs);
	}
	node->methods = methods;
	return node;
}

/* Collect the keys of a hash join. */
static void
add_build(PlanEditor *editor, HashJoin *join, const JoinKey *key,
		  const Placement *placement)
{
	Plan	   *hash = innerPlan(join);
	Plan	   *child = outerPlan(hash);
	CustomScan *build = make_node_above(editor, child, &join_filter_build_methods);
	List	   *keys = ((Hash *) hash)->hashkeys;
	KeyBuildPlan plan = {
		.number = placement->number,
		.kind = key->kind,
		.attribute = key->inner[0],
		.integer = key->inner_integer,
		.expected = (int) Min(child->plan_rows, INT_MAX),
		.comes_first = placement->blocked
	};

	build->custom_private = key_build_write(&plan);
	build->custom_exprs = (List *) make_own_column((Node *) keys, NULL);
	build->scan.plan.parallel_aware = hash->parallel_aware;
	outerPlan(hash) = &build->scan.plan;
}

/* The share that passes in the estimates of what comes later */
static double
share_for_others(const Placement *placement)
{
	return placement->tried ? 1 : placement->share;
}

/* What the plan says of a probe */
static List *
probe_fields(const PlanEditor *editor, const Placement *placement)
{
	KeyProbePlan probe = {
		.number = placement->number,
		.kind = placement->kind,
		.integer = placement->integer,
		.forced = editor->force,
		.share = share_for_others(placement)
	};

	for (int i = 0; placement->kind == KEY_HASH && i < placement->columns; i++)
	{
		probe.functions = lappend_oid(probe.functions, placement->functions[i]);
		probe.collations = lappend_oid(probe.collations, placement->collations[i]);
	}
	return key_probe_write(&probe);
}

static bool
is_custom(const Plan *plan, const CustomScanMethods *methods)
{
	return IsA(plan, CustomScan) &&
		((const CustomScan *) plan)->methods == methods;
}

/* ----------------------------------------------------------------
 *		Where to probe
 * ----------------------------------------------------------------
 */

/* Is a subplan executed for an expression?  An InitPlan is when first needed. */
static bool
needs_subplan(Node *node, void *context)
{
	const PlanEditor *editor = context;

	if (node == NULL)
		return false;
	if (IsA(node, Param))
		return ((Param *) node)->paramkind == PARAM_EXEC &&
			bms_is_member(((Param *) node)->paramid, editor->init_params);
	return IsA(node, SubPlan) || IsA(node, AlternativeSubPlan) ||
		expression_tree_walker(node, needs_subplan, context);
}

/* Might expressions call volatile functions, or a subplan in them? */
static bool
calls_volatile(const PlanEditor *editor, List *expressions)
{
	return contain_volatile_functions((Node *) expressions) ||
		(editor->is_volatile &&
		 needs_subplan((Node *) expressions, (void *) editor));
}

/*
 * Does a node compute volatile functions?  Then no row may be dropped before: they would
 * be called for fewer rows, and nextval() would return other numbers.
 */
static bool
is_volatile(const PlanEditor *editor, const Plan *plan)
{
	List	   *conditions[2] = {NIL, NIL};

	/* of joins and indexes: not volatile themselves, but a subplan may be */
	switch (nodeTag(plan))
	{
		case T_HashJoin:
			conditions[0] = ((const HashJoin *) plan)->hashclauses;
			conditions[1] = ((const Join *) plan)->joinqual;
			break;
		case T_MergeJoin:
			conditions[0] = ((const MergeJoin *) plan)->mergeclauses;
			conditions[1] = ((const Join *) plan)->joinqual;
			break;
		case T_NestLoop:
			conditions[0] = ((const Join *) plan)->joinqual;
			break;
		case T_IndexScan:
			conditions[0] = ((const IndexScan *) plan)->indexqual;
			conditions[1] = ((const IndexScan *) plan)->indexorderby;
			break;
		case T_IndexOnlyScan:
			conditions[0] = ((const IndexOnlyScan *) plan)->indexqual;
			conditions[1] = ((const IndexOnlyScan *) plan)->indexorderby;
			break;
		case T_BitmapHeapScan:
			conditions[0] = ((const BitmapHeapScan *) plan)->bitmapqualorig;
			break;
		case T_CustomScan:
			conditions[0] = ((const CustomScan *) plan)->custom_exprs;
			break;
		default:
			break;
	}
	return calls_volatile(editor, plan->targetlist) ||
		calls_volatile(editor, plan->qual) ||
		calls_volatile(editor, conditions[0]) ||
		calls_volatile(editor, conditions[1]);
}

/*
 * May executing a plan call volatile functions?  Then a plan beside it must not have fewer
 * rows: a nested loop would execute this one less often, and a join with an empty side
 * would not read the other one.  Says yes of nodes that it does not know.
 */
static bool
calls_volatile_below(const PlanEditor *editor, const Plan *plan)
{
	List	   *children = NIL;
	ListCell   *cell;

	if (!editor->is_volatile || plan == NULL)
		return false;
	check_stack_depth();
	if (is_volatile(editor, plan) || plan->initPlan != NIL)
		return true;
	switch (nodeTag(plan))
	{
		case T_SeqScan:
		case T_IndexScan:
		case T_IndexOnlyScan:
		case T_BitmapHeapScan:
			return false;
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
			break;
		case T_Append:
			children = ((const Append *) plan)->appendplans;
			break;
		case T_MergeAppend:
			children = ((const MergeAppend *) plan)->mergeplans;
			break;
		case T_SubqueryScan:
			return calls_volatile_below(editor, ((const SubqueryScan *) plan)->subplan);
		case T_CustomScan:
			if (!is_custom(plan, &filter_scan_methods) &&
				!is_custom(plan, &join_filter_build_methods) &&
				!is_custom(plan, &join_filter_probe_methods))
				return true;
			break;
		default:
			return true;
	}
	foreach(cell, children)
	{
		if (calls_volatile_below(editor, lfirst(cell)))
			return true;
	}
	return calls_volatile_below(editor, outerPlan(plan)) ||
		calls_volatile_below(editor, innerPlan(plan));
}

/*
 * Sets "attributes" to the columns of a scan's table that these columns of its result
 * are; false if one is something else
 */
static bool
columns_of_table(Plan *plan, const AttrNumber *columns, int count,
				 AttrNumber *attributes)
{
	for (int i = 0; i < count; i++)
	{
		TargetEntry *entry = list_nth(plan->targetlist, columns[i] - 1);
		Var		   *var = var_of((Node *) entry->expr);

		if (var == NULL || var->varno != (int) ((Scan *) plan)->scanrelid ||
			var->varattno <= 0)
			return false;
		attributes[i] = var->varattno;
	}
	return true;
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

/* Probe in the scan of a table, if it can be done there. */
static bool
place_in_scan(PlanEditor *editor, Plan **slot, const AttrNumber *columns,
			  Placement *placement)
{
	Plan	   *plan = *slot;
	AttrNumber	attributes[KEY_COLUMNS_MAX];
	List	   *keys = NIL;
	ProbePlan	probe = {.kind = PROBE_KEYS};
	CustomScan *scan;
	Relation	relation;
	RangeTblEntry *rte;
	double		rows;
	bool		is_heap;

	if (!(IsA(plan, SeqScan) || is_custom(plan, &filter_scan_methods)) ||
		!editor->scans || is_volatile(editor, plan) ||
		(placement->below_gather && !plan->parallel_aware) ||
		(editor->hides_rows && plan->qual != NIL) ||
		!columns_of_table(plan, columns, placement->columns, attributes))
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
	placement->probes++;
	placement->probed += rows;
	if (!placement->edit)
		return true;
	if (IsA(plan, SeqScan))
		*slot = (Plan *) make_filter_scan(plan);
	scan = (CustomScan *) *slot;
	for (int i = 0; i < placement->columns; i++)
	{
		TargetEntry *entry = list_nth(plan->targetlist, columns[i] - 1);

		keys = lappend(keys, copyObject(var_of((Node *) entry->expr)));
	}
	probe.expression = (Node *) keys;
	probe.details = probe_fields(editor, placement);
	filter_scan_add_probe(scan, &probe);
	scan->scan.plan.plan_rows = clamp_row_est(scan->scan.plan.plan_rows *
											  share_for_others(placement));
	return true;
}

/* Probe above a node. */
static void
place_above(PlanEditor *editor, Plan **slot, const AttrNumber *columns,
			Placement *placement)
{
	CustomScan *probe;

	if (placement->below_gather)
		return;
	placement->probes++;
	placement->probed += (*slot)->plan_rows;
	if (!placement->edit)
		return;
	if (!is_custom(*slot, &join_filter_probe_methods))
		*slot = (Plan *) make_node_above(editor, *slot, &join_filter_probe_methods);
	probe = (CustomScan *) *slot;
	probe->custom_exprs = lappend(probe->custom_exprs,
								  placement->expressions ?
								  (List *) make_own_column((Node *) placement->expressions,
														   NULL) :
								  make_keys(outerPlan(probe), columns,
											placement->columns));
	probe->custom_private = lappend(probe->custom_private,
									probe_fields(editor, placement));
	probe->scan.plan.plan_rows = clamp_row_est(probe->scan.plan.plan_rows *
											   share_for_others(placement));
}

/*
 * Sets "childs" to the columns of a child that these columns of a node are, and *varno
 * to which child that is; false if they are not columns of one child
 */
static bool
columns_of_child(Plan *plan, const AttrNumber *columns, int count,
				 int *varno, AttrNumber *childs)
{
	*varno = 0;
	for (int i = 0; i < count; i++)
	{
		TargetEntry *entry = list_nth(plan->targetlist, columns[i] - 1);
		Var		   *var = var_of((Node *) entry->expr);

		if (var == NULL || (i > 0 && *varno != var->varno) || var->varattno <= 0)
			return false;
		*varno = var->varno;
		childs[i] = var->varattno;
	}
	return true;
}

/* Does an aggregate group by these columns of its child, by the join's equality? */
static bool
groups_by(const Agg *agg, const AttrNumber *childs, const Placement *placement)
{
	if (agg->aggstrategy == AGG_PLAIN || agg->groupingSets != NIL ||
		agg->chain != NIL)
		return false;
	for (int i = 0; i < placement->columns; i++)
	{
		bool		found = false;

		for (int j = 0; j < agg->numCols && !found; j++)
		{
			Oid			left;
			Oid			right;
			KeyInteger	integer;

			if (agg->grpColIdx[j] != childs[i])
				continue;
			found = placement->kind == KEY_INTEGER ?
				integers_of(agg->grpOperators[j], &integer, &integer) :
				get_op_hash_functions(agg->grpOperators[j], &left, &right) &&
				left == placement->functions[i] &&
				agg->grpCollations[j] == placement->collations[i];
		}
		if (!found)
			return false;
	}
	return true;
}

/* Does a hash join with these estimates write to temporary files? */
static bool
spills(const Plan *hash)
{
	const Plan *inner = outerPlan(hash);

	return inner->plan_rows * (inner->plan_width + HASH_TUPLE_OVERHEAD) >
		(double) get_hash_memory_limit();
}

/* What a row from a child costs in a node, in nanoseconds */
static double
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

/*
 * child_with_columns
 *		The child below which rows may be dropped by these columns of a node, or NULL
 *
 * Returns where the node points to the child, and sets "childs" to its columns.
 */
static Plan **
child_with_columns(const PlanEditor *editor, Plan *plan, const AttrNumber *columns,
				   const Placement *placement, AttrNumber *childs)
{
	int			varno;
	JoinType	type;

	if (is_custom(plan, &join_filter_build_methods) || is_custom(plan, &join_filter_probe_methods))
	{
		memcpy(childs, columns, placement->columns * sizeof(AttrNumber));
		return &outerPlan(plan);
	}
	if (!columns_of_child(plan, columns, placement->columns, &varno, childs) ||
		is_volatile(editor, plan))
		return NULL;
	switch (nodeTag(plan))
	{
		case T_HashJoin:
		case T_MergeJoin:
		case T_NestLoop:
			type = ((Join *) plan)->jointype;
			if (calls_volatile_below(editor, varno == OUTER_VAR ? innerPlan(plan) :
									 outerPlan(plan)))
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
			return varno == OUTER_VAR && groups_by((Agg *) plan, childs, placement) ?
				&outerPlan(plan) : NULL;
		case T_SubqueryScan:
			return varno == (int) ((Scan *) plan)->scanrelid ?
				&((SubqueryScan *) plan)->subplan : NULL;
		default:
			return NULL;
	}
}

/* May a node return rows that another process has read? */
static bool
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

static void place(PlanEditor *editor, Plan **slot, const AttrNumber *columns,
				  Placement *placement);

/*
 * May workers hash keys?  The join itself may be above the Gather because they must not
 * compare them.
 */
static bool
may_hash_in_workers(const Placement *placement)
{
	for (int i = 0; placement->kind == KEY_HASH && i < placement->columns; i++)
	{
		if (func_parallel(placement->functions[i]) != PROPARALLEL_SAFE)
			return false;
	}
	return true;
}

/*
 * Probe below a Gather, if the key can be traced to a scan that its workers share: such
 * a scan gets a copy of the filter when they start.  The other nodes below have no
 * memory for one.
 */
static bool
place_below_gather(PlanEditor *editor, Plan *gather, const AttrNumber *columns,
				   Placement *placement)
{
	AttrNumber	childs[KEY_COLUMNS_MAX];
	Plan	  **child = child_with_columns(editor, gather, columns, placement,
										   childs);
	Placement	trial = *placement;

	if (child == NULL || !may_hash_in_workers(placement))
		return false;
	trial.edit = false;
	trial.below_gather = true;
	trial.probes = 0;
	place(editor, child, childs, &trial);
	if (trial.probes == 0)
		return false;
	placement->blocked = true;
	placement->below_gather = true;
	place(editor, child, childs, placement);
	placement->below_gather = false;
	return true;
}

/*
 * place
 *		Probe as far below *slot as possible, by these columns of it
 *
 * Adds to placement->probed and placement->saved.  Changes the plan only if
 * placement->edit is set.
 */
static void
place(PlanEditor *editor, Plan **slot, const AttrNumber *columns,
	  Placement *placement)
{
	Plan	   *plan = *slot;
	AttrNumber	childs[KEY_COLUMNS_MAX];
	List	   *children = NIL;
	ListCell   *cell;
	Plan	  **child;

	check_stack_depth();
	if (plan->async_capable)
		return;					/* its parent talks to it in another way */
	if (placement->expressions != NIL)
	{
		place_above(editor, slot, columns, placement);
		return;
	}
	if (IsA(plan, Gather) || IsA(plan, GatherMerge))
	{
		if (!place_below_gather(editor, plan, columns, placement))
			place_above(editor, slot, columns, placement);
		return;
	}
	if (IsA(plan, Append))
		children = ((Append *) plan)->appendplans;
	else if (IsA(plan, MergeAppend))
		children = ((MergeAppend *) plan)->mergeplans;
	foreach(cell, children)
	{
		placement->saved += (1 - placement->share) * OTHER_NS *
			((Plan *) lfirst(cell))->plan_rows;
		place(editor, (Plan **) &lfirst(cell), columns, placement);
	}
	if (children != NIL)
		return;
	child = child_with_columns(editor, plan, columns, placement, childs);
	if (deals_out_rows(plan) && !placement->shared && !placement->below_gather)
		child = NULL;
	if (child != NULL)
	{
		placement->saved += (1 - placement->share) * (*child)->plan_rows *
			cost_of_row(plan);
		placement->blocked |= is_blocking(plan, child);
		place(editor, child, childs, placement);
	}
	else if (!place_in_scan(editor, slot, columns, placement))
		place_above(editor, slot, columns, placement);
}

/* ----------------------------------------------------------------
 *		Which joins
 * ----------------------------------------------------------------
 */

/* The table that a node scans as a whole, or 0 */
static Oid
whole_table(const PlanEditor *editor, const Plan *plan)
{
	if (!IsA(plan, SeqScan) || plan->qual != NIL)
		return InvalidOid;
	return rt_fetch(((const Scan *) plan)->scanrelid,
					editor->statement->rtable)->relid;
}

/*
 * Follow columns down to the scan of a table.  Returns the table and sets its
 * columns, or InvalidOid.
 */
static Oid
table_with_columns(PlanEditor *editor, Plan *plan, const AttrNumber *columns,
				   const Placement *placement, AttrNumber *attributes)
{
	AttrNumber	here[KEY_COLUMNS_MAX];
	RangeTblEntry *rte;
	Plan	  **child;

	memcpy(here, columns, placement->columns * sizeof(AttrNumber));
	while ((child = child_with_columns(editor, plan, here, placement,
									   attributes)) != NULL)
	{
		plan = *child;
		memcpy(here, attributes, placement->columns * sizeof(AttrNumber));
	}
	if (!(IsA(plan, SeqScan) || IsA(plan, IndexScan) || IsA(plan, BitmapHeapScan) ||
		  is_custom(plan, &filter_scan_methods)) ||
		!columns_of_table(plan, here, placement->columns, attributes))
		return InvalidOid;
	rte = rt_fetch(((Scan *) plan)->scanrelid, editor->statement->rtable);
	return rte->rtekind == RTE_RELATION ? rte->relid : InvalidOid;
}

/* Does a foreign key say that every row has a partner? */
static bool
has_foreign_key(PlanEditor *editor, HashJoin *join, const JoinKey *key,
				const Placement *placement)
{
	Plan	   *inner = outerPlan(innerPlan(join));
	Oid			referenced = whole_table(editor, inner);
	AttrNumber	outer_columns[KEY_COLUMNS_MAX];
	AttrNumber	inner_columns[KEY_COLUMNS_MAX];
	Oid			referencing;
	Relation	relation;
	bool		found = false;
	ListCell   *cell;

	for (int i = 0; i < key->columns; i++)
	{
		if (key->inner[i] == 0 || key->outer[i] == 0)
			return false;
	}
	if (!OidIsValid(referenced) ||
		!columns_of_table(inner, key->inner, key->columns, inner_columns))
		return false;
	referencing = table_with_columns(editor, outerPlan(join), key->outer,
									 placement, outer_columns);
	if (!OidIsValid(referencing))
		return false;
	relation = table_open(referencing, NoLock);
	foreach(cell, RelationGetFKeyList(relation))
	{
		ForeignKeyCacheInfo *foreign = lfirst(cell);
		int			matched = 0;

		if (foreign->confrelid != referenced || foreign->nkeys != key->columns)
			continue;
		for (int i = 0; i < foreign->nkeys; i++)
		{
			for (int j = 0; j < key->columns; j++)
			{
				if (foreign->conkey[i] == outer_columns[j] &&
					foreign->confkey[i] == inner_columns[j])
					matched++;
			}
		}
		found |= matched == key->columns;
	}
	table_close(relation, NoLock);
	return found;
}

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
	bool		integer = placement->kind == KEY_INTEGER;

	return placement->probed >= PROBED_ROWS_MIN &&
		placement->share <= KEY_PROBE_SHARE_MAX &&
		placement->saved >
		placement->probed * (integer ? PROBE_INTEGER_NS : PROBE_HASH_NS) +
		keys * (integer ? COLLECT_INTEGER_NS : COLLECT_HASH_NS) + other;
}

/* Filter the outer side of a hash join, if it can be done, and pays. */
static void
filter_join(PlanEditor *editor, HashJoin *join)
{
	Plan	   *plan = &join->join.plan;
	JoinKey		key;
	Placement	placement = {0};
	KeyFilterPlan *added;

	if (!drops_outer(join->join.jointype) || !key_of_join(join, &key))
		return;
	placement.number = editor->filters + 1;
	placement.kind = key.kind;
	placement.columns = key.columns;
	placement.integer = key.outer_integer;
	placement.expressions = key.expressions;
	placement.functions = key.outer_function;
	placement.collations = key.collation;
	placement.share = share_with_partner(join, &placement.tried);
	placement.shared = innerPlan(plan)->parallel_aware;
	if (!editor->force)
	{
		placement.saved = (1 - placement.share) * outerPlan(plan)->plan_rows *
			cost_of_row(plan);
		place(editor, &outerPlan(plan), key.outer, &placement);
		if (!worth_it(&placement, outerPlan(innerPlan(plan))->plan_rows,
					  placement.blocked ? cost_of_not_looking(join) : 0) ||
			has_foreign_key(editor, join, &key, &placement))
			return;
	}
	placement.edit = true;
	placement.probes = 0;
	place(editor, &outerPlan(plan), key.outer, &placement);
	if (placement.probes == 0)
		return;
	/* if one side is empty, volatile functions of the other may not be called */
	placement.blocked &= !calls_volatile_below(editor, outerPlan(plan)) &&
		!calls_volatile_below(editor, innerPlan(plan));
	add_build(editor, join, &key, &placement);
	editor->filters++;
	added = palloc(sizeof(KeyFilterPlan));
	added->join = join;
	added->key = key;
	added->number = placement.number;
	added->share = placement.share;
	added->tried = placement.tried;
	added->comes_first = placement.blocked;
	editor->added = lappend(editor->added, added);
}

/* The filter of a join, or NULL */
static KeyFilterPlan *
filter_of(const PlanEditor *editor, const Plan *join)
{
	ListCell   *cell;

	foreach(cell, editor->added)
	{
		KeyFilterPlan *filter = lfirst(cell);

		if ((Plan *) filter->join == join)
			return filter;
	}
	return NULL;
}

/* May the inner rows of this join be dropped if they have no partner? */
static bool
drops_inner(JoinType type)
{
	return type == JOIN_INNER || type == JOIN_SEMI || type == JOIN_LEFT ||
		type == JOIN_ANTI;
}

/*
 * "key" is that of a join above a filter's join, and was traced to "column" of "child",
 * a child of the latter.  Are all values of that column that come out of the filter's
 * join among the filter's keys, by the equality of "key"?
 */
static bool
has_keys(const KeyFilterPlan *filter, Plan **child, AttrNumber column,
		 const JoinKey *key)
{
	const JoinKey *own = &filter->key;
	bool		outer = child == &outerPlan(filter->join);
	JoinType	type = filter->join->join.jointype;

	return own->columns == 1 && own->kind == key->kind &&
		own->collation[0] == key->collation[0] &&
		(outer ?
		 (type == JOIN_INNER || type == JOIN_SEMI) && own->outer[0] == column &&
		 own->outer_function[0] == key->outer_function[0] :
		 own->inner[0] == column &&
		 own->inner_function[0] == key->outer_function[0]);
}

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

/*
 * Filter the inner side of a hash join by filters of joins on its outer side that have
 * the same key.
 */
static void
transfer_filters(PlanEditor *editor, HashJoin *join)
{
	Plan	   *plan = outerPlan(join);
	Plan	  **inner = &outerPlan(innerPlan(join));
	JoinKey		key;
	Placement	trace = {0};
	AttrNumber	here[1];
	AttrNumber	childs[1];
	Plan	  **child;
	bool		dealt_out = deals_out_rows((Plan *) join);

	if (!drops_inner(join->join.jointype) ||
		!(reads_outer_first(editor, join) || editor->force) ||
		calls_volatile_below(editor, plan) ||
		!key_of_join(join, &key) || key.columns != 1 || key.inner[0] == 0 ||
		key.outer[0] == 0)
		return;
	/* the builder stays next to the Hash node */
	if (is_custom(*inner, &join_filter_build_methods))
		inner = &outerPlan(*inner);
	trace.kind = key.kind;
	trace.columns = 1;
	trace.functions = key.outer_function;
	trace.collations = key.collation;
	here[0] = key.outer[0];
	while ((child = child_with_columns(editor, plan, here, &trace, childs)) != NULL)
	{
		KeyFilterPlan *filter = filter_of(editor, plan);

		dealt_out |= deals_out_rows(plan);
		if (filter && dealt_out && !innerPlan(plan)->parallel_aware)
			filter = NULL;
		if (filter && has_keys(filter, child, childs[0], &key))
		{
			Placement	placement = {
				.number = filter->number,
				.kind = key.kind,
				.columns = 1,
				.integer = key.inner_integer,
				.functions = key.inner_function,
				.collations = key.collation,
				.share = filter->share,
				.tried = filter->tried,
				.shared = innerPlan(plan)->parallel_aware
			};

			placement.saved = (1 - filter->share) * (*inner)->plan_rows *
				cost_of_row((Plan *) join);
			place(editor, inner, key.inner, &placement);
			/* its keys are collected anyway */
			if (editor->force || worth_it(&placement, 0, 0))
			{
				placement.edit = true;
				place(editor, inner, key.inner, &placement);
			}
		}
		plan = *child;
		here[0] = childs[0];
	}
}

/* ----------------------------------------------------------------
 *		Walking a plan
 * ----------------------------------------------------------------
 */

/* The children of a node besides outerPlan() and innerPlan() */
static List *
other_children(Plan *plan)
{
	switch (nodeTag(plan))
	{
		case T_Append:
			return ((Append *) plan)->appendplans;
		case T_MergeAppend:
			return ((MergeAppend *) plan)->mergeplans;
		case T_BitmapAnd:
			return ((BitmapAnd *) plan)->bitmapplans;
		case T_BitmapOr:
			return ((BitmapOr *) plan)->bitmapplans;
		case T_CustomScan:
			return ((CustomScan *) plan)->custom_plans;
		case T_SubqueryScan:
			return list_make1(((SubqueryScan *) plan)->subplan);
		default:
			return NIL;
	}
}

/* Call "visit" for each hash join that is executed once, those below first. */
static void
visit_joins(PlanEditor *editor, Plan *plan,
			void (*visit) (PlanEditor *editor, HashJoin *join))
{
	ListCell   *cell;

	/* what is below a foreign scan rechecks single rows */
	if (plan == NULL || IsA(plan, ForeignScan))
		return;
	check_stack_depth();
	/* nor is it known what other custom scans do with theirs */
	if (!IsA(plan, CustomScan))
	{
		foreach(cell, other_children(plan))
			visit_joins(editor, lfirst(cell), visit);
	}
	visit_joins(editor, outerPlan(plan), visit);
	/* these sides are read again, with other parameters or other rows */
	if (!IsA(plan, NestLoop) && !IsA(plan, RecursiveUnion))
		visit_joins(editor, innerPlan(plan), visit);
	if (IsA(plan, HashJoin))
		visit(editor, (HashJoin *) plan);
}

/* Set what the editor has to know of a plan before. */
static void
look_at_plan(PlanEditor *editor, Plan *plan)
{
	ListCell   *cell;
	ListCell   *param;

	if (plan == NULL)
		return;
	check_stack_depth();
	editor->next_node_id = Max(editor->next_node_id, plan->plan_node_id + 1);
	foreach(cell, plan->initPlan)
	{
		foreach(param, lfirst_node(SubPlan, cell)->setParam)
			editor->init_params = bms_add_member(editor->init_params,
												 lfirst_int(param));
	}
	look_at_plan(editor, outerPlan(plan));
	look_at_plan(editor, innerPlan(plan));
	foreach(cell, other_children(plan))
		look_at_plan(editor, lfirst(cell));
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

static void
see_probe(List *fields, const Plan *origin, FilterSeen *seen)
{
	FilterSeen *filter = seen + key_probe_read(fields).number;

	filter->probed = lappend(filter->probed, (void *) origin);
}

/*
 * Note the filters that a plan builds and probes, by their numbers.  "origin" is the
 * child of the next node above that deals out rows, or NULL.
 */
static void
see_filters(Plan *plan, const Plan *origin, FilterSeen *seen)
{
	bool		deals_out;
	ListCell   *cell;

	if (plan == NULL)
		return;
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
	else if (is_custom(plan, &join_filter_probe_methods))
	{
		foreach(cell, ((CustomScan *) plan)->custom_private)
			see_probe(lfirst(cell), origin, seen);
	}
	else if (is_custom(plan, &filter_scan_methods))
	{
		foreach(cell, filter_scan_probes((CustomScan *) plan))
		{
			const ProbePlan *probe = lfirst(cell);

			if (probe->kind == PROBE_KEYS)
				see_probe(probe->details, origin, seen);
		}
	}
	deals_out = deals_out_rows(plan);
	see_filters(outerPlan(plan), deals_out ? outerPlan(plan) : origin, seen);
	see_filters(innerPlan(plan), deals_out ? innerPlan(plan) : origin, seen);
	foreach(cell, other_children(plan))
		see_filters(lfirst(cell), origin, seen);
}

/*
 * Assert that each filter is built once and probed somewhere, and that the rows probed
 * are the process's own, unless the filter is that of all processes.
 */
static void
check_filters(const PlanEditor *editor)
{
	FilterSeen *seen = palloc0((editor->filters + 1) * sizeof(FilterSeen));
	ListCell   *cell;

	see_filters(editor->statement->planTree, NULL, seen);
	foreach(cell, editor->statement->subplans)
		see_filters(lfirst(cell), NULL, seen);
	for (int number = 1; number <= editor->filters; number++)
	{
		const FilterSeen *filter = &seen[number];

		Assert(filter->built && filter->probed != NIL);
		foreach(cell, filter->probed)
			Assert(filter->shared || filter->origin == NULL ||
				   filter->origin == lfirst(cell));
	}
	pfree(seen);
}
#endif

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
		.is_volatile = is_volatile
	};
	ListCell   *cell;

	if (statement->planTree == NULL || server_filters() ||
		has_barriers(statement))
		return;
	editor.is_volatile |= locks_rows(statement);
	/* functions that were inlined may have policies, too */
	editor.hides_rows = has_policies || statement->dependsOnRole;
	look_at_plan(&editor, statement->planTree);
	foreach(cell, statement->subplans)
		look_at_plan(&editor, lfirst(cell));
	edit_plan(&editor, statement->planTree);
	foreach(cell, statement->subplans)
	{
		Plan	   *subplan = lfirst(cell);
		int			plan_id = foreach_current_index(cell) + 1;

		if (subplan && !editor.hides_rows &&
			is_executed_once(statement, subplan, plan_id))
			edit_plan(&editor, subplan);
	}
#ifdef USE_ASSERT_CHECKING
	check_filters(&editor);
#endif
}
