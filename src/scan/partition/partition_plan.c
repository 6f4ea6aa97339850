/*
 * partition_plan.c
 *	  The planner's side of the Partition Filter, which asks the membership indexes of
 *	  partitions for a value before it reads these.
 *
 *		SELECT * FROM events WHERE trace_id = $1	-- partitioned by day
 *
 * Core reads an Append of one index scan for each partition.  We edit the finished plan:
 * core makes the paths of a partitioned table anew when it applies the final target, so a
 * path of ours would be lost.
 *
 * Which plans.  An Append, of one process, that has children which are index scans, or
 * bitmap scans, with the index condition "column = value" or "column = ANY (array)", where
 * the partition has a valid membership index of just that column, without a predicate.  The
 * value is the same for all children.  A child with another value, or without such an
 * index, is always read.
 *
 * Conditions.  Only those that core has made index conditions: these are checked before
 * all others, those of policies included, so neither the number of partitions that are
 * skipped nor an error in the value tells more than core's plan does.
 *
 * Cursors.  UPDATE ... WHERE CURRENT OF looks for the current row below an Append, but not
 * below another node.  So the plan of a declared cursor is left alone, unless it locks its
 * rows, which core notes elsewhere; and one that may be read backward.
 */
#include "partition_plan.h"

#include "index/membership.h"
#include "partition_filter.h"
#include "scan/plan_tree.h"

#include "access/relation.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "optimizer/clauses.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

/* What is known of the children so far */
typedef struct Children
{
	PlannedStmt *statement;
	PartitionLookup key;		/* value is NULL: no child can be asked yet */
	Oid			hashed_type;	/* by which the indexes hash */
	Oid			collation;		/* of the indexes */
} Children;

/* An equality among the index conditions of a scan */
typedef struct Equality
{
	AttrNumber	column;			/* of the table */
	Oid			operator;
	Oid			collation;
	Expr	   *value;
	bool		is_array;
} Equality;

/* The column of the table that a column of an index is; 0 for an expression */
static AttrNumber
column_of_index(Oid oid, AttrNumber attribute)
{
	/* the planner has locked it */
	Relation	index = relation_open(oid, AccessShareLock);
	AttrNumber	column = index->rd_index->indkey.values[attribute - 1];

	relation_close(index, NoLock);
	return column;
}

/* Is an index condition a comparison of one column?  If so, fills in *equality. */
static bool
get_comparison(Node *clause, Oid index, Equality *equality)
{
	List	   *args;
	Var		   *var;

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
	if (var == NULL || var->varno != INDEX_VAR)
		return false;
	equality->column = column_of_index(index, var->varattno);
	equality->value = lsecond(args);
	return equality->column != 0 && !contain_subplans((Node *) equality->value);
}

/* The index conditions that a scan checks for each row; sets *index to the scan's index. */
static List *
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

/*
 * Is this what the earlier children are asked for?  If none of them can be asked, it becomes
 * what all are asked for.
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

/* The index of a child's table that can be asked for the value; InvalidOid: none */
static Oid
index_of_child(Children *children, Plan *child)
{
	Oid			used;
	ListCell   *cell;

	/* the value may be that of its InitPlan, which starts with it */
	if (child->initPlan != NIL)
		return InvalidOid;
	foreach(cell, index_conditions(child, &used))
	{
		Index		table = ((Scan *) child)->scanrelid;
		Equality	equality;
		Oid			type;
		Oid			hashed_type;
		Oid			index;

		if (!get_comparison(lfirst(cell), used, &equality))
			continue;
		index = membership_index_for(rt_fetch(table, children->statement->rtable)->relid,
									 equality.column, equality.operator,
									 equality.collation, &type, &hashed_type);
		if (OidIsValid(index) && agrees(children, &equality, type, hashed_type))
			return index;
	}
	return InvalidOid;
}

/* Put a Partition Filter in the place of an Append, if it has something to ask. */
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
	/* scans with filters are asked about before any is executed (sent_keys.c) */
	if (key->value == NULL ||
		bms_next_member(append->plan.allParam, first_sent - 1) >= 0)
		return;
	scan = make_node_above(&append->plan, append->plan.plan_node_id,
						   &partition_filter_node);
	scan->custom_relids = bms_copy(append->apprelids);
	/* the Append is not executed */
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

	/* what is below a foreign scan rechecks single rows */
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
 * partition_filters_add
 *		Add Partition Filters to a finished plan
 *
 * "options" are those of the statement's cursor; the parameters from first_sent on are join
 * filters that are sent to foreign servers.  The nodes are allocated in the current memory
 * context.
 */
void
partition_filters_add(PlannedStmt *statement, int options, int first_sent)
{
	ListCell   *cell;

	if (!reads_partitions(statement) || (options & CURSOR_OPT_SCROLL) ||
		((options & CURSOR_OPT_FAST_PLAN) && !locks_rows(statement)))
		return;
	visit_appends(statement, first_sent, &statement->planTree);
	foreach(cell, statement->subplans)
		visit_appends(statement, first_sent, (Plan **) &lfirst(cell));
}
