/*
 * join_filter_place.c
 *	  Traces a join's key down a plan, to find where a join filter can be probed.
 *
 * A row may be dropped below a node if the node then lacks only result rows with the same
 * key.  So we look below joins, on the side that has the key, unless it is the nullable one;
 * below Sort, Material, Append, and subqueries; below an aggregate that groups by the key,
 * with the same equality; and below a Gather, in parallel-aware scans, which get a copy of
 * the filter.  We do not look below Limit, window functions or set operations, nor below a
 * node that calls volatile functions or locks rows, or whose other side does.
 *
 * A key is not traced, but probed directly below the join, if evaluating or hashing it might
 * fail for rows that do not reach the join: an expression, or a column whose hash function is
 * a user's and not leakproof.  Core evaluates and hashes it for the same rows.
 */
#include "join_filter_plan.h"

#include "block_index.h"
#include "join_filter_store.h"
#include "scan/foreign/foreign_filter.h"
#include "scan/settings.h"

#include "access/table.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/typcache.h"

/* Measured costs of a child's row in the node above, in ns (docs/performance.md) */
#define JOIN_INTEGER_NS			65.0
#define JOIN_OTHER_NS			150.0
#define SPILLING_JOIN_NS		350.0
#define AGGREGATE_NS			150.0
#define SORT_NS					400.0
#define OTHER_NS				10.0
/*
 * Cost of a row that a foreign server sends, to both servers together: 700 ns for one column,
 * 2,900 for ten, and what a network adds (docs/dev/measurements.md)
 */
#define FETCHED_ROW_NS			2500.0
/*
 * Cost of a further row that a foreign server reads and probes only to fill a fetch. 63 ns
 * were measured; but as FETCHED_ROW_NS is too high for few columns, this must be too high as
 * well.
 */
#define READ_AHEAD_NS			150.0

/*
 * Probe before a table's own conditions only if these keep at least this share of the rows.
 * Such a probe needs no slot for a row, but hashes all rows of the table.
 */
#define SCAN_SHARE_MIN			0.2

/* Size of a hash table's tuple besides its data; see ExecChooseHashTableSize() */
#define HASH_TUPLE_OVERHEAD		32

/* Is a hash join's inner side expected to need more than hash memory? */
bool
join_spills(const HashJoin *join)
{
	const Plan *inner = outerPlan(innerPlan(join));

	return inner->plan_rows * (inner->plan_width + HASH_TUPLE_OVERHEAD) >
		(double) get_hash_memory_limit();
}

/* Return the cost of a child's row in a node, in nanoseconds. */
double
cost_of_row(const Plan *plan)
{
	KeyInteger	left;
	KeyInteger	right;

	switch (nodeTag(plan))
	{
		case T_HashJoin:
			if (join_spills((const HashJoin *) plan))
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
 * Add what a node saves if the filter drops some of its "rows".  If filters are only sent to
 * foreign servers, count only the fetched rows; see find_foreign().
 */
void
add_saved(const PlanEditor *editor, Placement *placement, double rows, double row_ns)
{
	if (!editor->only_sends)
		placement->saved += (1 - placement->share) * rows * row_ns;
}

/* May a node return rows that other processes have read? */
bool
deals_out_rows(const Plan *plan)
{
	return IsA(plan, Gather) || IsA(plan, GatherMerge) ||
		(IsA(plan, HashJoin) && plan->parallel_aware);
}

/* Does a node read many rows of a child before it returns one? */
bool
is_blocking(const Plan *plan, Plan *const *child)
{
	return IsA(plan, Sort) || IsA(plan, IncrementalSort) || IsA(plan, Agg) ||
		IsA(plan, WindowAgg) || IsA(plan, SetOp) ||
		(IsA(plan, HashJoin) && child != &outerPlan(plan)) ||
		is_custom(plan, &join_filter_store_node);
}

/*
 * Trace columns of a node to columns of one child: set child_columns to these, and *varno to
 * the child's; return false if the columns do not all come from one child.
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

/*
 * Set "attributes" to the columns of a scan's table that are these columns of the scan's
 * result; return false if one is something else.
 */
bool
columns_of_table(Plan *plan, const AttrNumber *columns, int count,
				 AttrNumber *attributes)
{
	for (int i = 0; i < count; i++)
	{
		const Var  *var = var_of_column(plan, columns[i]);

		if (var != NULL && IsA(plan, IndexOnlyScan) && var->varno == INDEX_VAR)
			var = var_of((Node *) list_nth_node(TargetEntry,
												((IndexOnlyScan *) plan)->indextlist,
												var->varattno - 1)->expr);
		if (var == NULL || var->varno != (int) ((Scan *) plan)->scanrelid ||
			var->varattno <= 0)
			return false;
		attributes[i] = var->varattno;
	}
	return true;
}

/* Does an aggregate group by these columns of its child, with the join's equality? */
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
 * Return the link to the child below which rows may be dropped by a key, or NULL.  The link
 * is the node's pointer to the child.  "columns" are the key's columns in the result of the
 * node; set child_columns to those in the child's.
 */
Plan **
child_with_key(const PlanEditor *editor, Plan *plan, const AttrNumber *columns,
			   const SideKey *key, AttrNumber *child_columns)
{
	int			varno;
	JoinType	type;

	if (is_custom(plan, &join_filter_build_node) ||
		is_custom(plan, &join_filter_store_node) ||
		is_custom(plan, &join_filter_probe_node))
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

			/*
			 * a merge join stops at the end of its other side, while a probe
			 * reads on until a row passes
			 */
			if (IsA(plan, MergeJoin) && !IsA(outerPlan(plan), Sort) &&
				join_filter_setting != JOIN_FILTER_FORCE)
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

/* Return the KeyProbePlans of a node's plan. */
List *
key_probe_plans(const Plan *plan)
{
	List	   *plans = NIL;
	ListCell   *cell;

	if (!is_custom(plan, &filter_scan_node) &&
		!is_custom(plan, &join_filter_probe_node))
		return NIL;
	foreach(cell, probe_plans((const CustomScan *) plan))
	{
		ProbePlan  *probe = lfirst(cell);

		if (probe->kind == PROBE_KEYS)
			plans = lappend(plans, &probe->keys);
	}
	return plans;
}

static Place *
add_place(Placement *placement, Plan **slot, const AttrNumber *columns)
{
	Place	   *place = palloc0(sizeof(Place));

	place->slot = slot;
	/* expressions have no columns */
	if (placement->key->expressions == NIL)
		memcpy(place->columns, columns, placement->key->count * sizeof(AttrNumber));
	placement->places = lappend(placement->places, place);
	return place;
}

/* Return the table that a scan reads. */
Oid
table_of(const PlanEditor *editor, const Plan *scan)
{
	return rt_fetch(((const Scan *) scan)->scanrelid, editor->statement->rtable)->relid;
}

/* Return the number of rows of a table; negative if it was never analyzed. */
double
rows_of_table(Oid table)
{
	/* the planner has locked the table */
	Relation	relation = table_open(table, NoLock);
	double		rows = relation->rd_rel->reltuples;

	table_close(relation, NoLock);
	return rows;
}

/* Find a place in a foreign scan, if it can send the filter. */
static bool
find_foreign(const PlanEditor *editor, Plan **slot, const AttrNumber *columns,
			 Placement *placement)
{
	Plan	   *plan = *slot;
	double		rows = plan->plan_rows * placement->fraction;
	double		read;

	if (!OidIsValid(placement->foreign_type) ||
		!foreign_filter_fits(&editor->effects, plan, columns[0],
							 placement->foreign_type, placement->ordered))
		return false;
	add_place(placement, slot, columns)->is_foreign = true;
	placement->foreign += rows;
	/* a table that was never analyzed may have many more rows */
	placement->foreign_unknown |= placement->fraction == 1 &&
		((Scan *) plan)->scanrelid > 0 && rows_of_table(table_of(editor, plan)) < 0;
	placement->saved += (1 - placement->share) * rows * FETCHED_ROW_NS;
	/* the server reads until one fetch is full of rows that pass */
	read = Min(foreign_fetch_size(plan) / placement->share, plan->plan_rows);
	placement->saved -= Max(read - rows, 0) * READ_AHEAD_NS;

	/* the parameter is sent before the first row is fetched */
	placement->blocked = true;
	return true;
}

/* Return the operators by which an index can be searched for a column of the key, or NIL. */
static List *
operators_of(const Placement *placement, int column)
{
	const SideKey *key = placement->key;
	Oid			type = key->types[column];

	/* the filter has the ends of integers, but as if these were signed */
	if (key->kind == KEY_INTEGER)
		return type == OIDOID ? NIL :
			key_end_operators(lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY)->btree_opf,
							  type, type);
	return OidIsValid(key->families[column]) && placement->collected &&
		placement->collected->columns[column] != 0 ?
		key_end_operators(key->families[column], type, placement->collected->types[column]) : NIL;
}

/*
 * Find an index that tells which blocks of a table to scan.  The values of only one column are
 * kept, so it is the same in all tables.
 */
static void
find_block_index(Place *place, Oid table, const AttrNumber *attributes, Placement *placement)
{
	for (int i = 0; i < placement->key->count && !OidIsValid(place->block_index); i++)
	{
		List	   *operators = operators_of(placement, i);

		if (operators == NIL || (placement->operators != NIL && placement->block_column != i))
			continue;
		place->block_index = block_index_for(table, attributes[i], operators,
											 placement->key->collations[i], &placement->pages);
		if (!OidIsValid(place->block_index))
			continue;
		placement->block_column = i;
		placement->operators = operators;
		/* blocks are skipped only if the keys are known when the scan begins */
		placement->blocked = true;
	}
}

/*
 * Find a place in the scan of a table, if it can probe.  Below a Gather, only parallel-aware
 * scans can.
 */
static bool
find_scan(const PlanEditor *editor, Plan **slot, const AttrNumber *columns,
		  bool below_gather, Placement *placement)
{
	Plan	   *plan = *slot;
	AttrNumber	attributes[KEY_COLUMNS_MAX];
	double		rows;
	Place	   *place;
	ListCell   *cell;

	if (!(IsA(plan, SeqScan) || is_custom(plan, &filter_scan_node)) ||
		filter_scan_setting == FILTER_SCAN_OFF || node_has_effects(&editor->effects, plan) ||
		(below_gather && !plan->parallel_aware) ||
		(editor->hides_rows && plan->qual != NIL) ||
		!columns_of_table(plan, columns, placement->key->count, attributes) ||
		!heap_page_supported(table_of(editor, plan)))
		return false;
	rows = Max(rows_of_table(table_of(editor, plan)), 0);
	if (plan->parallel_aware)
		rows /= 2;				/* assume two processes */
	rows = Max(rows, plan->plan_rows);
	if (plan->qual != NIL && plan->plan_rows < rows * SCAN_SHARE_MIN &&
		join_filter_setting != JOIN_FILTER_FORCE)
		return false;
	foreach(cell, key_probe_plans(plan))
		rows *= ((KeyProbePlan *) lfirst(cell))->share;
	place = add_place(placement, slot, columns);
	place->in_scan = true;
	placement->probed += rows * placement->fraction;
	if (!editor->hides_rows)
		find_block_index(place, table_of(editor, plan), attributes, placement);
	return true;
}

/*
 * May workers hash keys?  The join itself may be above the Gather because workers must not
 * compare the keys.
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

/* Does a node rely on its children's order, or pass it on to a node above that does? */
static bool
relies_on_order(const Plan *plan, bool above)
{
	switch (nodeTag(plan))
	{
		case T_HashJoin:
		case T_Sort:
			return false;
		case T_MergeJoin:
		case T_MergeAppend:
		case T_GatherMerge:
		case T_IncrementalSort:
			return true;
		case T_Agg:
			return ((const Agg *) plan)->aggstrategy == AGG_SORTED;
		default:
			return above;
	}
}

/* Find where to probe, as far below *slot as possible.  Below a Gather only scans can probe. */
static void
find_below(const PlanEditor *editor, Plan **slot, const AttrNumber *columns,
		   bool below_gather, Placement *placement)
{
	Plan	   *plan = *slot;
	AttrNumber	child_columns[KEY_COLUMNS_MAX];
	Plan	  **child = NULL;
	bool		above = placement->ordered;
	double		fraction = placement->fraction;
	ListCell   *cell;

	check_stack_depth();
	if (find_foreign(editor, slot, columns, placement))
		return;
	placement->ordered = relies_on_order(plan, above);
	if (plan->async_capable)
		return;					/* its parent does not call ExecProcNode() */
	if (IsA(plan, Append) || IsA(plan, MergeAppend))
	{
		foreach(cell, plan_children(plan))
		{
			child = lfirst(cell);
			add_saved(editor, placement, (*child)->plan_rows * fraction, OTHER_NS);
			find_below(editor, child, columns, below_gather, placement);
			placement->ordered = relies_on_order(plan, above);
			placement->fraction = fraction;
		}
		return;
	}
	if (IsA(plan, Gather) || IsA(plan, GatherMerge))
	{
		Placement	before = *placement;
		int			count = list_length(placement->places);

		/*
		 * below, a scan gets a copy of the filter when the workers start;
		 * other nodes have no memory for a copy
		 */
		if (may_hash_in_workers(placement->key))
			child = child_with_key(editor, plan, columns, placement->key, child_columns);
		if (child != NULL)
		{
			placement->blocked = true;
			find_below(editor, child, child_columns, true, placement);
			if (list_length(placement->places) > count)
				return;
			*placement = before;
			child = NULL;
		}
	}
	else if (placement->shared || below_gather || !deals_out_rows(plan))
		child = child_with_key(editor, plan, columns, placement->key, child_columns);
	if (child != NULL)
	{
		if (is_blocking(plan, child))
		{
			placement->blocked = true;
			placement->fraction = 1;
		}
		add_saved(editor, placement, (*child)->plan_rows * placement->fraction,
				  cost_of_row(plan));
		find_below(editor, child, child_columns, below_gather, placement);
	}
	else if (!editor->only_sends &&
			 !find_scan(editor, slot, columns, below_gather, placement) &&
			 !below_gather)
	{
		add_place(placement, slot, columns);
		placement->probed += plan->plan_rows * fraction;
	}
}

/*
 * Find where to probe, as far below *slot as possible.  Add to placement->saved what the
 * nodes on the way save.
 */
void
find_places(const PlanEditor *editor, Plan **slot, Placement *placement)
{
	ListCell   *cell;

	if (placement->key->expressions == NIL && !placement->key->may_fail)
		find_below(editor, slot, placement->key->columns, false, placement);
	else if (!(*slot)->async_capable && !editor->only_sends)
	{
		add_place(placement, slot, placement->key->columns);
		placement->probed += (*slot)->plan_rows;
	}
	placement->only_foreign = true;
	foreach(cell, placement->places)
		placement->only_foreign &= ((Place *) lfirst(cell))->is_foreign;
}
