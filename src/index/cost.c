/*
 * cost.c
 *	  What a scan of a membership index costs, for the planner.
 *
 * A scan reads either no page of the table or all of them (handler.c).  So its cost is the
 * cost of reading the table times the probability that the index may contain the value
 * ("yes").
 */
#include "membership.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_statistic.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/spccache.h"

/*
 * Probability that the index contains a value that is not among the column's most common
 * ones.  The index could give the answer, but a plan must not reveal it: policies or a view
 * may hide the row from the user who sees the plan.
 */
#define PRESENT_UNKNOWN		0.5

/*
 * The least probability of "yes" for values of an outer query that has conditions on their
 * table.  The share of all its rows may tell nothing of those that it picks: of the new
 * visitors, all may be in a list that has one in two hundred of all.
 */
#define PRESENT_LEAST		0.1

/* Do the conditions on a table match a unique index, so that at most one row passes? */
#if PG_VERSION_NUM >= 190000
#define has_single_row(root, table) \
	relation_has_unique_index_for(root, table, NIL, NULL)
#else
#define has_single_row(root, table) \
	relation_has_unique_index_for(root, table, NIL, NIL, NIL)
#endif

/* Cost of a scan that cannot use the index: more than the cost of any other path */
#define COST_UNUSABLE		1.0e15

/* Cost of hashing an element and probing a block, in operators: about 20 ns */
#define PROBE_OPERATORS		4.0

/*
 * The extra cost of a row on a page that is lossy in a bitmap, compared with a sequential
 * scan: its visibility is looked up separately.  About 45 ns.  Ignored if the probability
 * of "yes" is PRESENT_UNKNOWN, which is only a guess.
 */
#define LOSSY_ROW_COST		(1.0 * cpu_tuple_cost)

/*
 * The lowest frequency in a column's statistics of this kind: of its most common values or
 * elements.  Infinite without such statistics.
 */
static double
lowest_frequency(HeapTuple statistics, int kind)
{
	bool		of_elements = kind == STATISTIC_KIND_MCELEM;
	double		lowest = INFINITY;
	AttStatsSlot slot;
	int			at;

	if (!get_attstatsslot(&slot, statistics, kind, InvalidOid,
						  ATTSTATSSLOT_NUMBERS |
						  (of_elements ? ATTSTATSSLOT_VALUES : 0)))
		return lowest;

	/* of elements, the lowest is behind all the others; of values, the last */
	at = of_elements ? slot.nvalues : slot.nnumbers - 1;
	if (at >= 0 && at < slot.nnumbers)
		lowest = slot.numbers[at];
	free_attstatsslot(&slot);
	return lowest;
}

/*
 * A bound for the selectivity of an array operator.  Above it, the array contains one of
 * the most common elements or, for STRATEGY_CONTAINS, only such elements.  For each other
 * element, core assumes at most half of the lowest frequency, and adds these up.
 */
static double
least_common_array(PlannerInfo *root, Node *array, int strategy, HeapTuple statistics)
{
	Form_pg_statistic form = (Form_pg_statistic) GETSTRUCT(statistics);
	Const	   *known = (Const *) estimate_expression_value(root, array);
	int			count = 1;

	if (!IsA(known, Const) || known->constisnull)
		return INFINITY;
	if (strategy != STRATEGY_CONTAINS)
	{
		ArrayType  *value = DatumGetArrayTypeP(known->constvalue);

		count = ArrayGetNItems(ARR_NDIM(value), ARR_DIMS(value));
	}
	return (count + 0.5) / 2 * lowest_frequency(statistics, STATISTIC_KIND_MCELEM) *
		(1 - form->stanullfrac);
}

/* A parameter that an expression takes from a row of an outer query */
typedef struct OuterParameter
{
	PlannerInfo *root;
	PlannerInfo *outer;			/* the query whose row it is; NULL: none found */
	Node	   *item;			/* its expression in that query */
} OuterParameter;

/* An expression_tree_walker: finds the first OuterParameter. */
static bool
find_outer_parameter(Node *node, void *context)
{
	OuterParameter *found = (OuterParameter *) context;

	if (node == NULL)
		return false;
	if (!IsA(node, Param))
		return expression_tree_walker(node, find_outer_parameter, context);
	if (((Param *) node)->paramkind != PARAM_EXEC)
		return false;
	for (found->outer = found->root->parent_root; found->outer != NULL;
		 found->outer = found->outer->parent_root)
	{
		ListCell   *cell;

		foreach(cell, found->outer->plan_params)
		{
			PlannerParamItem *param = lfirst_node(PlannerParamItem, cell);

			found->item = param->item;
			if (param->paramId == ((Param *) node)->paramid)
				return true;
		}
	}
	return false;
}

/* Does one of these conditions, without those that have subqueries, restrict the table? */
static bool
quals_restrict(PlannerInfo *root, Node *quals, int table)
{
	ListCell   *cell;

	if (quals != NULL && IsA(quals, List))
	{
		foreach(cell, (List *) quals)
		{
			if (quals_restrict(root, lfirst(cell), table))
				return true;
		}
		return false;
	}
	if (quals != NULL && is_andclause(quals))
		return quals_restrict(root, (Node *) ((BoolExpr *) quals)->args, table);
	return quals != NULL && !contain_subplans(quals) &&
		bms_is_member(table, pull_varnos(root, quals));
}

/* Has a part of a query's FROM and WHERE a condition on a table? */
static bool
is_restricted(PlannerInfo *root, Node *node, int table)
{
	ListCell   *cell;

	if (node == NULL || IsA(node, RangeTblRef))
		return false;
	if (IsA(node, JoinExpr))
	{
		JoinExpr   *join = (JoinExpr *) node;

		return quals_restrict(root, join->quals, table) ||
			is_restricted(root, join->larg, table) || is_restricted(root, join->rarg, table);
	}
	foreach(cell, castNode(FromExpr, node)->fromlist)
	{
		if (is_restricted(root, lfirst(cell), table))
			return true;
	}
	return quals_restrict(root, castNode(FromExpr, node)->quals, table);
}

/*
 * The probability of "yes" for a value from a row of an outer query: the share of the outer
 * column's values that the index contains, or PRESENT_LEAST. 1 if that share is not known,
 * because each execution may read the whole table.
 */
static double
present_of_outer(const OuterParameter *param, const OpExpr *clause, IndexOptInfo *info)
{
	Var		   *var = (Var *) param->item;
	Node	   *value = lsecond(clause->args);
	RangeTblEntry *table;
	PlannerInfo *outer;
	Relation	index;
	Oid			left;
	Oid			right;
	Oid			type = InvalidOid;
	bool		assumed;
	double		share;

	while (IsA(value, RelabelType))
		value = (Node *) ((RelabelType *) value)->arg;
	if (!IsA(value, Param) || !IsA(var, Var) || var->varattno <= 0 ||
		info->nkeycolumns != 1)
		return 1;
	table = rt_fetch(var->varno, param->outer->parse->rtable);
	/* policies may hide rows that are in its statistics */
	if (table->rtekind != RTE_RELATION || table->securityQuals != NIL)
		return 1;
	/* the planner has locked the index */
	index = relation_open(info->indexoid, NoLock);
	op_input_types(clause->opno, &left, &right);
	if (!membership_of_arrays(index))
		type = membership_key_type(index, 0, right, get_opcode(clause->opno));
	relation_close(index, NoLock);
	if (!OidIsValid(type))
		return 1;
	/* a subquery may be planned before the tables of the query around it */
	outer = makeNode(PlannerInfo);
	outer->parse = param->outer->parse;
	outer->glob = param->outer->glob;
	outer->planner_cxt = CurrentMemoryContext;
	setup_simple_rel_arrays(outer);
	(void) build_simple_rel(outer, var->varno, NULL);
	share = membership_join_share(outer, list_make1_oid(info->indexoid),
								  get_opcode(clause->opno), (Node *) var,
								  list_make1_oid(type),
								  info->indexcollations[0], &assumed);
	if (share < 0)
		return 1;
	return is_restricted(param->outer, (Node *) outer->parse->jointree, var->varno) ?
		Max(share, PRESENT_LEAST) : share;
}

/*
 * The probability of "yes" for a value that is looked up once: 1 for one of the column's
 * most common values or elements, otherwise PRESENT_UNKNOWN.  We recognize a most common
 * value by its selectivity: for any other value, core's estimate is at most the lowest
 * frequency in the list.
 */
static double
present_once(PlannerInfo *root, IndexOptInfo *info, OpExpr *clause, Selectivity selectivity)
{
	double		least_common = INFINITY;
	int			strategy;
	VariableStatData vardata;

	examine_variable(root, linitial(clause->args), info->rel->relid, &vardata);
	strategy = get_op_opfamily_strategy(clause->opno, info->opfamily[0]);
	if (HeapTupleIsValid(vardata.statsTuple))
		least_common = strategy == STRATEGY_EQUAL ?
			lowest_frequency(vardata.statsTuple, STATISTIC_KIND_MCV) :
			least_common_array(root, lsecond(clause->args), strategy, vardata.statsTuple);
	ReleaseVariableStats(vardata);
	return selectivity > least_common ? 1 : PRESENT_UNKNOWN;
}

/*
 * Do the clauses compare the index with many rows of other tables?  A table does not count
 * if the query's conditions let at most one of its rows pass.
 */
static bool
has_many_outer_rows(PlannerInfo *root, IndexOptInfo *info, List *clauses)
{
	ListCell   *cell;

	foreach(cell, clauses)
	{
		Relids		relids = lfirst_node(RestrictInfo, cell)->clause_relids;
		int			relid = -1;

		while ((relid = bms_next_member(relids, relid)) >= 0)
		{
			RelOptInfo *other = root->simple_rel_array[relid];

			if (other != info->rel && !(other && has_single_row(root, other)))
				return true;
		}
	}
	return false;
}

/* Do the clauses compare a column for equality, so that a join can be a hash join? */
static bool
is_hashable(const IndexOptInfo *info, List *clauses)
{
	const OpExpr *clause = (const OpExpr *) linitial_node(RestrictInfo, clauses)->clause;

	return IsA(clause, OpExpr) &&
		get_op_opfamily_strategy(clause->opno, info->opfamily[0]) == STRATEGY_EQUAL;
}

/* How many values a clause looks up */
static double
values_of(PlannerInfo *root, Expr *clause)
{
	if (!IsA(clause, ScalarArrayOpExpr))
		return 1;
#if PG_VERSION_NUM >= 170000
	return estimate_array_length(root, lsecond(((ScalarArrayOpExpr *) clause)->args));
#else
	return estimate_array_length(lsecond(((ScalarArrayOpExpr *) clause)->args));
#endif
}

/*
 * The probability that one execution of a scan gets "yes".
 *
 * On the inner side of a nested loop, we take "yes" for certain, unless there is at most
 * one outer row.  Each "yes" reads the whole table, which another kind of join reads only
 * once.  The estimated number of outer rows must not change this: there may be more, or
 * they may be just the rows that pass a join filter or that a LIMIT needs.
 */
static double
present_probability(PlannerInfo *root, IndexOptInfo *info, List *clauses,
					Selectivity selectivity)
{
	Expr	   *clause = linitial_node(RestrictInfo, clauses)->clause;
	OuterParameter param = {.root = root};
	bool		is_simple = list_length(clauses) == 1 && IsA(clause, OpExpr) &&
		list_length(((OpExpr *) clause)->args) == 2;

	if (has_many_outer_rows(root, info, clauses))
		return 1;
	if (find_outer_parameter((Node *) extract_actual_clauses(clauses, false), &param))
		return is_simple ? present_of_outer(&param, (OpExpr *) clause, info) : 1;
	if (is_simple)
		return present_once(root, info, (OpExpr *) clause, selectivity);
	return 1 - pow(1 - PRESENT_UNKNOWN, values_of(root, clause));
}

/* amcostestimate */
void
membership_costestimate(PlannerInfo *root, IndexPath *path, double loop_count,
						Cost *startup_cost, Cost *total_cost, Selectivity *selectivity,
						double *correlation, double *pages)
{
	IndexOptInfo *info = path->indexinfo;
	RelOptInfo *table = info->rel;
	List	   *clauses = get_quals_from_indexclauses(path->indexclauses);
	Bitmapset  *columns = NULL;
	QualCost	check;
	double		random_page;
	double		sequential_page;
	double		present;
	ListCell   *cell;

	foreach(cell, path->indexclauses)
		columns = bms_add_member(columns, lfirst_node(IndexClause, cell)->indexcol);

	*selectivity = clauselist_selectivity(root,
										  add_predicate_to_index_quals(info, clauses),
										  table->relid, JOIN_INNER, NULL);
	*correlation = 0;
	/* the metapage and, usually, one more */
	*pages = 2;

	/*
	 * A nested loop must not read the table for each row even if conditions
	 * on all rows seem to cost more: a subplan that is hashed costs far less
	 * than the planner thinks here.
	 */
	if (bms_num_members(columns) < info->nkeycolumns ||
		(loop_count > 1 && is_hashable(info, clauses) &&
		 has_many_outer_rows(root, info, clauses)))
	{
		*startup_cost = *total_cost = COST_UNUSABLE;
		return;
	}

	/* "no" costs the probe alone; "yes" reads the table and checks each row */
	get_tablespace_page_costs(table->reltablespace, NULL, &sequential_page);
	get_tablespace_page_costs(info->reltablespace, &random_page, NULL);
	cost_qual_eval(&check, clauses, root);
	present = present_probability(root, info, clauses, *selectivity);
	*total_cost = *pages * random_page +
		PROBE_OPERATORS * cpu_operator_cost +
		present * (table->pages * sequential_page +
				   table->tuples * (cpu_tuple_cost + check.per_tuple));
	if (present != PRESENT_UNKNOWN)
		*total_cost += present * table->tuples * LOSSY_ROW_COST;
	*startup_cost = *total_cost;
}

/* Is this an index of this access method, as the planner knows it? */
bool
membership_is_method_of(const IndexOptInfo *info)
{
	return info->amcostestimate == membership_costestimate;
}
