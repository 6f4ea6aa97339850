/*
 * known_filter.c
 *	  Find the filter of a condition at plan time: a constant, a parameter of a custom
 *	  plan, or the result of a simple subquery.
 *
 * In "WHERE bloom_contains((SELECT f FROM filters WHERE name = 'x'), url)" an InitPlan reads
 * the filter when the query runs.  The planner reads it, too, if this is cheap and reveals
 * nothing: the subquery selects a column of one small table, and the user may read all
 * columns that it uses; it compares columns and constants by leakproof operators; and one
 * row matches.  If that row changes before execution, only the estimate is wrong.
 */
#include "selectivity.h"

#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "storage/bufmgr.h"
#include "utils/acl.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"

/* Do not read larger tables: planning should take less time than the query. */
#define TABLE_PAGES_MAX		64

/* Return the PlannerInfo of the subquery whose result a parameter holds, or NULL. */
static PlannerInfo *
subquery_of(PlannerInfo *root, const Param *param)
{
	for (; root != NULL; root = root->parent_root)
	{
		ListCell   *cell;

		foreach(cell, root->init_plans)
		{
			SubPlan    *plan = lfirst_node(SubPlan, cell);

			if (plan->subLinkType == EXPR_SUBLINK && plan->parParam == NIL &&
				list_member_int(plan->setParam, param->paramid))
				return list_nth(root->glob->subroots, plan->plan_id - 1);
		}
	}
	return NULL;
}

/* May the user read these columns in all rows of a table? */
static bool
may_read(const RangeTblEntry *rte, Bitmapset *columns)
{
	Oid			user = GetUserId();
	int			column = -1;

	if (rte->securityQuals != NIL ||
		check_enable_rls(rte->relid, InvalidOid, true) == RLS_ENABLED)
		return false;
	if (pg_class_aclcheck(rte->relid, user, ACL_SELECT) == ACLCHECK_OK)
		return true;
	while ((column = bms_next_member(columns, column)) >= 0)
	{
		AttrNumber	attribute = column + FirstLowInvalidHeapAttributeNumber;

		if (attribute == InvalidAttrNumber ||
			pg_attribute_aclcheck(rte->relid, attribute, user,
								  ACL_SELECT) != ACLCHECK_OK)
			return false;
	}
	return true;
}

/* Is an expression a column or a constant, perhaps relabeled as another type? */
static bool
is_plain(Node *node)
{
	while (IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	return IsA(node, Const) ||
		(IsA(node, Var) && ((Var *) node)->varlevelsup == 0);
}

/*
 * Get the conditions of a subquery, with parameters replaced by their values.  Returns
 * false if one of the conditions might raise an error or reveal data.
 */
static bool
simple_conditions(PlannerInfo *root, List **conditions)
{
	ListCell   *cell;

	*conditions = NIL;
	/* the planner has turned the WHERE clause into a list */
	foreach(cell, (List *) root->parse->jointree->quals)
	{
		OpExpr	   *clause = (OpExpr *) estimate_expression_value(root, lfirst(cell));

		if (!IsA(clause, OpExpr) || list_length(clause->args) != 2 ||
			!is_plain(linitial(clause->args)) || !is_plain(lsecond(clause->args)))
			return false;
		set_opfuncid(clause);
		if (!get_func_leakproof(clause->opfuncid))
			return false;
		*conditions = lappend(*conditions, clause);
	}
	return true;
}

/* Return the table of a query that does nothing but select from one table, or NULL. */
static RangeTblEntry *
only_table(Query *query)
{
	RangeTblEntry *rte;

	if (query->commandType != CMD_SELECT || query->hasAggs ||
		query->hasWindowFuncs || query->hasTargetSRFs || query->hasSubLinks ||
		query->hasForUpdate || query->cteList != NIL ||
		query->setOperations != NULL || query->groupClause != NIL ||
		query->groupingSets != NIL || query->havingQual != NULL ||
		query->limitOffset != NULL || query->limitCount != NULL ||
		list_length(query->rtable) != 1 ||
		list_length(query->jointree->fromlist) != 1 ||
		!IsA(linitial(query->jointree->fromlist), RangeTblRef))
		return NULL;
	rte = linitial_node(RangeTblEntry, query->rtable);
	/* not with "inh": children have rows, too */
	if (rte->rtekind != RTE_RELATION || rte->tablesample || rte->inh ||
		(rte->relkind != RELKIND_RELATION && rte->relkind != RELKIND_MATVIEW))
		return NULL;
	return rte;
}

/* Return the column of the only row that meets the conditions; NULL unless there is one. */
static Const *
read_only_row(Relation table, const Var *column, List *conditions)
{
	EState	   *estate = CreateExecutorState();
	ExprContext *econtext = GetPerTupleExprContext(estate);
	TupleTableSlot *slot = table_slot_create(table, NULL);
	ExprState  *qual = ExecPrepareQual(conditions, estate);
	TableScanDesc scan;
	Const	   *result = NULL;
	int			found = 0;

#if PG_VERSION_NUM >= 190000
	scan = table_beginscan(table, GetActiveSnapshot(), 0, NULL, 0);
#else
	scan = table_beginscan(table, GetActiveSnapshot(), 0, NULL);
#endif
	while (found < 2 && table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		bool		isnull;
		Datum		value;

		CHECK_FOR_INTERRUPTS();
		ResetExprContext(econtext);
		econtext->ecxt_scantuple = slot;
		if (!ExecQual(qual, econtext))
			continue;
		value = slot_getattr(slot, column->varattno, &isnull);
		if (++found == 1)
			result = makeConst(column->vartype, column->vartypmod,
							   column->varcollid, -1,
							   isnull ? (Datum) 0 : datumCopy(value, false, -1),
							   isnull, false);
	}
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	FreeExecutorState(estate);
	return found == 1 ? result : NULL;
}

/* Return the result of a subquery as a Const, or NULL if the planner cannot know it. */
static Const *
result_of(PlannerInfo *root)
{
	Query	   *query = root->parse;
	RangeTblEntry *rte = only_table(query);
	List	   *conditions;
	Bitmapset  *columns = NULL;
	TargetEntry *entry;
	Relation	table;
	Const	   *result = NULL;

	if (rte == NULL || query->targetList == NIL)
		return NULL;
	entry = linitial_node(TargetEntry, query->targetList);
	if (!IsA(entry->expr, Var) || entry->resjunk ||
		((Var *) entry->expr)->varlevelsup != 0 ||
		((Var *) entry->expr)->varattno <= 0 ||
		get_typlen(exprType((Node *) entry->expr)) != -1 ||
		!simple_conditions(root, &conditions))
		return NULL;
	pull_varattnos((Node *) entry->expr, 1, &columns);
	pull_varattnos((Node *) conditions, 1, &columns);
	if (!may_read(rte, columns))
		return NULL;

	/* the planner has locked the table */
	table = table_open(rte->relid, NoLock);
	if (table->rd_tableam == GetHeapamTableAmRoutine() &&
		RelationGetNumberOfBlocks(table) <= TABLE_PAGES_MAX)
		result = read_only_row(table, (Var *) entry->expr, conditions);
	table_close(table, NoLock);
	return result;
}

/*
 * Return the filter that an expression will yield, as a Const, which may be an SQL NULL; or
 * return NULL if the planner cannot know the filter.  Subqueries are read only if
 * read_subqueries is true.  A stored filter remains a TOAST pointer.
 */
Const *
known_filter(PlannerInfo *root, Node *expression, bool read_subqueries)
{
	Node	   *node = estimate_expression_value(root, expression);
	PlannerInfo *subquery;

	if (IsA(node, Const))
		return (Const *) node;
	if (!IsA(node, Param) || ((Param *) node)->paramkind != PARAM_EXEC ||
		!read_subqueries || !ActiveSnapshotSet() ||
	/* our scan would take a predicate lock on the whole table */
		IsolationIsSerializable())
		return NULL;
	subquery = subquery_of(root, (Param *) node);
	return subquery ? result_of(subquery) : NULL;
}
