/*
 * partition_plan.c
 *	  Adds Partition Filters to finished plans.  They look a value up in the membership
 *	  indexes of partitions before they read the partitions.
 *
 *		SELECT * FROM events WHERE trace_id = $1	-- partitioned by day
 *
 * Core plans an Append of one index scan for each partition.  We edit the finished plan: core
 * makes the paths of a partitioned table anew when it applies the final target, and would
 * drop a path of ours.
 *
 * Which plans.  An Append that is not parallel, with children that are index or bitmap scans,
 * or Filter Scans that ask the index themselves, with the condition "column = value" or "column = ANY (array)", whose tables have a
 * valid membership index on just that column, without a predicate.  The value must be the
 * same for all these children.  A child with another value, or without an index, is always
 * read.
 *
 * Conditions.  Only index conditions, which core checks before all others, even those of
 * policies.  So neither the number of skipped partitions nor an error in the value reveals
 * more than core's plan does.
 *
 * Cursors.  The plan of a declared cursor is not changed, unless it locks its rows: core lets
 * it read backward if the plan can, which one with a custom scan cannot.  Nor is that of a
 * SCROLL cursor.  Portals of the extended protocol read only forward, as do the cursors that
 * procedural languages open by SPI_cursor_open().  But UPDATE ... WHERE CURRENT OF may name
 * them.  It looks for the scans of an Append that is the whole query, so a Partition Filter
 * there shows its rows in another way (partition_filter.c).
 */
#include "partition_filter.h"

#include "index/lookup.h"
#include "scan/filter_scan.h"
#include "scan/plan_tree.h"

#include "access/relation.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "optimizer/clauses.h"
#include "parser/parsetree.h"
#include "utils/rel.h"

/* State of the search for children with an index that can be asked */
typedef struct Children
{
	PlannedStmt *statement;
	PartitionLookup key;		/* key.value is NULL: no such child yet */
	Oid			hashed_type;	/* type that the indexes contain hashes of */
	Oid			collation;		/* collation of the indexes */
} Children;

/* An equality among the index conditions of a scan */
typedef struct Equality
{
	AttrNumber	column;			/* column of the table */
	Oid			operator;
	Oid			collation;
	Expr	   *value;
	bool		is_array;
} Equality;

/*
 * Does a condition of a scan compare one column with a value or an array?  If so, set *equality.
 * "index" is that of an index condition, or InvalidOid.
 */
static bool
get_comparison(Node *clause, const Scan *scan, Oid index, Equality *equality)
{
	List	   *args;
	Var		   *var;
	Relation	relation;

	if (IsA(clause, OpExpr))
	{
		OpExpr	   *expression = (OpExpr *) clause;

		args = expression->args;
		equality->operator = expression->opno;
		equality->collation = expression->inputcollid;
		equality->is_array = false;
	}
	else if (IsA(clause, ScalarArrayOpExpr) &&
			 ((ScalarArrayOpExpr *) clause)->useOr)
	{
		ScalarArrayOpExpr *expression = (ScalarArrayOpExpr *) clause;

		args = expression->args;
		equality->operator = expression->opno;
		equality->collation = expression->inputcollid;
		equality->is_array = true;
	}
	else
		return false;
	if (list_length(args) != 2)
		return false;
	var = var_of(linitial(args));
	if (var == NULL ||
		var->varno != (OidIsValid(index) ? INDEX_VAR : (int) scan->scanrelid))
		return false;
	equality->value = lsecond(args);
	equality->column = var->varattno;
	if (!OidIsValid(index))
		return var->varattno > 0;
	/* the planner has locked the index; an expression has the column 0 */
	relation = relation_open(index, AccessShareLock);
	equality->column = relation->rd_index->indkey.values[var->varattno - 1];
	relation_close(relation, NoLock);
	return equality->column != 0 && !contain_subplans((Node *) equality->value);
}

/*
 * Does a child look for the same value, in the same way, as earlier children?  The first
 * child with an index determines the value for all.
 */
static bool
agrees(Children *children, const Equality *equality, Oid type, Oid hashed_type)
{
	PartitionLookup *key = &children->key;

	if (key->value != NULL)
		return key->is_array == equality->is_array && key->type == type &&
			children->hashed_type == hashed_type &&
			children->collation == equality->collation &&
			equal(key->value, equality->value);
	key->value = equality->value;
	key->is_array = equality->is_array;
	key->type = type;
	children->hashed_type = hashed_type;
	children->collation = equality->collation;
	return true;
}

/* Return the conditions of a Filter Scan that compare with the value of its PROBE_ONCE. */
static List *
once_conditions(Plan *child)
{
	List	   *conditions = NIL;
	Node	   *value = NULL;
	ListCell   *cell;

	if (!is_custom(child, &filter_scan_node))
		return NIL;
	foreach(cell, probe_plans((CustomScan *) child))
	{
		const ProbePlan *probe = lfirst(cell);

		if (probe->kind == PROBE_ONCE)
			value = probe->expression;
	}
	foreach(cell, value ? child->qual : NIL)
	{
		OpExpr	   *clause = lfirst(cell);

		if (IsA(clause, OpExpr) && list_length(clause->args) == 2 &&
			equal(lsecond(clause->args), value))
			conditions = lappend(conditions, clause);
	}
	return conditions;
}

/* Return the index of a child's table in which the value can be looked up, or InvalidOid. */
static Oid
index_of_child(Children *children, Plan *child)
{
	Oid			used = InvalidOid;
	List	   *conditions;
	ListCell   *cell;

	/* the value may depend on an InitPlan, which starts with the child */
	if (child->initPlan != NIL)
		return InvalidOid;
	conditions = once_conditions(child);
	if (conditions == NIL)
		conditions = index_conditions(child, &used);
	foreach(cell, conditions)
	{
		Index		table = ((Scan *) child)->scanrelid;
		Equality	equality;
		Oid			type;
		Oid			hashed_type;
		Oid			index;

		if (!get_comparison(lfirst(cell), (Scan *) child, used, &equality))
			continue;
		index = membership_index_for(rt_fetch(table, children->statement->rtable)->relid,
									 equality.column, equality.operator,
									 equality.collation, &type, &hashed_type);
		if (OidIsValid(index) && agrees(children, &equality, type, hashed_type))
			return index;
	}
	return InvalidOid;
}

/* Replace an Append by a Partition Filter, if a child has an index that can be asked. */
static void
filter_partitions(PlannedStmt *statement, int first_sent, Plan **slot)
{
	Append	   *append = (Append *) *slot;
	Children	children = {.statement = statement};
	PartitionLookup *key = &children.key;
	CustomScan *scan;
	ListCell   *cell;

	if (append->plan.parallel_aware || append->nasyncplans > 0)
		return;
	foreach(cell, append->appendplans)
	{
		Plan	   *child = lfirst(cell);
		Oid			index = index_of_child(&children, child);

		key->indexes = lappend_oid(key->indexes, index);
		key->tables = lappend_int(key->tables,
								  OidIsValid(index) ? ((Scan *) child)->scanrelid : 0);
	}

	/* sent_keys.c has to find scans with join filters at the start */
	if (key->value == NULL ||
		bms_next_member(append->plan.allParam, first_sent - 1) >= 0)
		return;
	scan = make_node_above(&append->plan, append->plan.plan_node_id,
						   &partition_filter_node);
	scan->custom_relids = bms_copy(append->apprelids);
	/* the InitPlans move up, because the Append is not executed */
	scan->scan.plan.initPlan = append->plan.initPlan;
	append->plan.initPlan = NIL;
	key->value = copyObject(key->value);
	partition_filter_set_key(scan, key);
	*slot = &scan->scan.plan;
}

static void
visit_appends(PlannedStmt *statement, int first_sent, Plan **slot)
{
	ListCell   *cell;

	/* a foreign scan's child plan only rechecks single rows */
	if (*slot == NULL || IsA(*slot, ForeignScan))
		return;
	check_stack_depth();
	foreach(cell, plan_children(*slot))
		visit_appends(statement, first_sent, lfirst(cell));
	if (IsA(*slot, Append))
		filter_partitions(statement, first_sent, slot);
}

static bool
reads_partitions(const PlannedStmt *statement)
{
	ListCell   *cell;

	foreach(cell, statement->rtable)
	{
		if (lfirst_node(RangeTblEntry, cell)->relkind == RELKIND_PARTITIONED_TABLE)
			return true;
	}
	return false;
}

/*
 * Add Partition Filters to a finished plan.  "options" are those of the statement's cursor.
 * Parameters from number first_sent on are join filters for foreign servers.  Allocates the
 * nodes in the current memory context.
 */
void
partition_filters_add(PlannedStmt *statement, int options, int first_sent)
{
	Plan	   *top;
	ListCell   *cell;

	if (!reads_partitions(statement) || (options & CURSOR_OPT_SCROLL) ||
		((options & CURSOR_OPT_FAST_PLAN) && !locks_rows(statement)))
		return;
	visit_appends(statement, first_sent, &statement->planTree);
	foreach(cell, statement->subplans)
		visit_appends(statement, first_sent, (Plan **) &lfirst(cell));
	/* below the nodes that core's search for a scan passes */
	top = statement->planTree;
	while (top && (IsA(top, Result) || IsA(top, Limit) || IsA(top, SubqueryScan)))
		top = IsA(top, SubqueryScan) ? ((SubqueryScan *) top)->subplan : outerPlan(top);
	if (statement->commandType == CMD_SELECT && top && is_custom(top, &partition_filter_node))
		partition_filter_set_updatable((CustomScan *) top);
}
