/*
 * plan_tree.c
 *	  Nodes of a finished plan: finds children, columns, index conditions and side effects.
 */
#include "plan_tree.h"

#include "filter_scan.h"
#include "scan/join/join_filter_build.h"
#include "scan/join/join_filter_store.h"

#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"

/*
 * Return pointers to the fields that point to a node's children: a list of Plan **.  Leaves
 * out the custom_plans of a custom scan, because we do not know how another extension's
 * custom scan uses them.
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
is_custom(const Plan *plan, const NodeKind *kind)
{
	return IsA(plan, CustomScan) &&
		((const CustomScan *) plan)->methods == &kind->plan;
}

/* Return the Var below any RelabelTypes, or NULL if the expression is something else. */
Var *
var_of(Node *expression)
{
	while (expression && IsA(expression, RelabelType))
		expression = (Node *) ((RelabelType *) expression)->arg;
	return expression && IsA(expression, Var) ? (Var *) expression : NULL;
}

/* Call var_of() for a column of a node's result. */
Var *
var_of_column(const Plan *plan, AttrNumber column)
{
	return var_of((Node *) list_nth_node(TargetEntry, plan->targetlist, column - 1)->expr);
}

/* Return the index conditions of a scan, and set *index to the index. */
List *
index_conditions(Plan *scan, Oid *index)
{
	/* the processes of a parallel scan divide its rows */
	if (scan->parallel_aware)
		return NIL;
	switch (nodeTag(scan))
	{
		case T_IndexScan:
			*index = ((IndexScan *) scan)->indexid;
			return ((IndexScan *) scan)->indexqual;
		case T_IndexOnlyScan:
			*index = ((IndexOnlyScan *) scan)->indexid;
			return ((IndexOnlyScan *) scan)->indexqual;
		case T_BitmapHeapScan:
			if (!IsA(outerPlan(scan), BitmapIndexScan))
				return NIL;
			*index = ((BitmapIndexScan *) outerPlan(scan))->indexid;
			return ((BitmapIndexScan *) outerPlan(scan))->indexqual;
		default:
			return NIL;
	}
}

/* Make a node above "child" that returns all or some of the child's rows, unchanged. */
CustomScan *
make_node_above(Plan *child, int plan_node_id, const NodeKind *kind)
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
		 * EXPLAIN compares disabled_nodes with the sum over custom_plans, and
		 * ignores lefttree.  So add a plan that has the child's number, and
		 * is never executed.
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
	plan->plan_node_id = plan_node_id;
	plan->lefttree = child;
	plan->extParam = bms_copy(child->extParam);
	plan->allParam = bms_copy(child->allParam);
	foreach(cell, child->targetlist)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, cell);
		TargetEntry *own = flatCopyTargetEntry(entry);
		TargetEntry *below = flatCopyTargetEntry(entry);

		own->expr = (Expr *) makeVarFromTargetEntry(INDEX_VAR, entry);
		below->expr = (Expr *) makeVarFromTargetEntry(OUTER_VAR, entry);
		plan->targetlist = lappend(plan->targetlist, own);
		node->custom_scan_tlist = lappend(node->custom_scan_tlist, below);
	}
	node->methods = &kind->plan;
	return node;
}

/* Does an expression execute a subplan?  Reading an InitPlan's parameter may execute it. */
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
 * May a node's own expressions call volatile functions, directly or in a subplan?  If so, we
 * must not drop rows below the node: the function would be called for fewer rows, and
 * nextval(), for example, would return other numbers.
 */
bool
node_has_effects(const PlanEffects *effects, const Plan *plan)
{
	List	   *expressions = list_make2(plan->targetlist, plan->qual);
	List	   *others = NIL;

	/* conditions of joins and indexes: only their subplans may be volatile */
	switch (nodeTag(plan))
	{
		case T_HashJoin:
			others = list_make2(((const HashJoin *) plan)->hashclauses,
								((const Join *) plan)->joinqual);
			break;
		case T_MergeJoin:
			others = list_make2(((const MergeJoin *) plan)->mergeclauses,
								((const Join *) plan)->joinqual);
			break;
		case T_NestLoop:
			others = ((const Join *) plan)->joinqual;
			break;
		case T_IndexScan:
			others = list_make2(((const IndexScan *) plan)->indexqual,
								((const IndexScan *) plan)->indexorderby);
			break;
		case T_IndexOnlyScan:
			others = list_make2(((const IndexOnlyScan *) plan)->indexqual,
								((const IndexOnlyScan *) plan)->indexorderby);
			break;
		case T_BitmapHeapScan:
			others = ((const BitmapHeapScan *) plan)->bitmapqualorig;
			break;
		case T_CustomScan:
			others = ((const CustomScan *) plan)->custom_exprs;
			break;
		default:
			break;
	}
	expressions = lappend(expressions, others);
	return contain_volatile_functions((Node *) expressions) ||
		(effects->any && needs_subplan((Node *) expressions, (void *) effects));
}

/*
 * May executing a plan call volatile functions?  If so, we must not drop rows of its sibling:
 * a nested loop would execute this plan less often, and a join with an empty side would not
 * read the other side.  Returns true for a node of unknown type.
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
			/* the plan below evaluates the same conditions */
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
			if (!is_custom(plan, &filter_scan_node) &&
				!is_custom(plan, &join_filter_build_node) &&
				!is_custom(plan, &join_filter_store_node) &&
				!is_custom(plan, &join_filter_probe_node))
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

/* Does a statement lock the rows that it reads (FOR UPDATE or the like)? */
bool
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

/* May the inner rows of a hash join of this type be dropped if they have no partner? */
bool
join_drops_inner(JoinType type)
{
	switch (type)
	{
		case JOIN_INNER:
		case JOIN_SEMI:
		case JOIN_LEFT:
		case JOIN_ANTI:
#if PG_VERSION_NUM >= 180000
		case JOIN_RIGHT_SEMI:
#endif
			return true;
		default:
			return false;
	}
}

/* The same of the outer rows */
bool
join_drops_outer(JoinType type)
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
