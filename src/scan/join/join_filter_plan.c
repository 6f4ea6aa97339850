/*
 * join_filter_plan.c
 *	  Adds join filters to finished plans.
 *
 * While a hash join fills its hash table, a node below it collects the keys
 * (join_filter_build.c).  Outer rows that have none of these keys find no partner.  So we
 * trace the key down the outer side (join_filter_place.c), and drop such rows there: in the
 * scan of a table, before they are joined, sorted or aggregated.  The planner does not know
 * of these filters, so they do not change the order of joins.
 *
 * Which joins.  Those that are executed once, and drop outer rows without a partner.  Anti,
 * left and full joins return these rows; there the filter finds them, and the join need not
 * look them up. README.md says why that is correct, which filters the processes
 * of a query may share, and what EXPLAIN must not reveal about hidden rows.
 *
 * The other way.  If the outer side is expected to return far fewer rows than the inner, these
 * are stored first, and the inner side probes their keys (join_filter_store.c).  In joins that
 * never return an inner row alone, inner rows without a partner need not be hashed.  A Filter
 * Bypass stores the rows in any case.
 *
 * By index.  With join_filter = index, only those joins are filtered of which one side probes a
 * membership index for the same key: there few rows are expected on that side.
 *
 * Cost.  For a semijoin, or a join with a unique inner side, an expected share of 1 means
 * little: the planner assumes that all rows have partners in a larger side.  So we add a
 * filter with a guessed share, and the probe pauses if too many rows pass.
 */
#include "join_filter_plan.h"

#include "scan/filter_path.h"
#include "scan/settings.h"
#include "scan/bypass/bypass.h"
#include "scan/foreign/foreign_filter.h"
#include "index/lookup.h"
#include "scan/foreign/sent_keys.h"
#include "scan/probe.h"

#include "access/table.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"

/*
 * Measured costs, in ns (docs/dev/measurements.md): of probing a row, of looking a row up by
 * the join's own hash in the filter, and of collecting a key
 */
#define PROBE_INTEGER_NS		15.0
#define PROBE_HASH_NS			40.0
#define UNMATCHED_NS					15.0
#define COLLECT_INTEGER_NS		8.0
#define COLLECT_HASH_NS			20.0
/* for foreign servers: of probing a row there; of hashing, sending and reading a key */
#define PROBE_FOREIGN_NS		60.0
#define SEND_KEY_NS				200.0

/* Time per unit of the planner's costs: a sequential scan's row costs 0.0125 units, or 78 ns */
#define COST_UNIT_NS			6240.0

/* Measured cost of storing a row and reading it back */
#define STORE_NS				150.0

/* See hashes_faster(): 20 to 40 ns and 15 to 25 ns for 70 bytes, and less for fewer of both */
#define OWN_HASH_KEYS			4.0

/* Do not filter fewer rows: 20,000 take a millisecond. */
#define PROBED_ROWS_MIN			20000.0
#define FOREIGN_ROWS_MIN		1000.0	/* fetched in 1 to 3 ms */
/* Share of rows assumed to pass where the planner's estimate is only a guess */
#define SHARE_TRY				0.5
/* Use this guess if the inner side has at most this many times the rows of the outer side. */
#define TRY_ROWS_MAX			4.0

/* Do not give up before so many rows are stored. */
#define STORED_ROWS_MIN			1000

/* The planner never expects less: no row may come */
#define EMPTY_ROWS				1.0

/*
 * If the probe of an index is expected to let at most this share of a table's rows pass, do
 * not probe them once more with the same key: reading them costs as much as joining them, so
 * that would save a tenth at best.
 */
#define INDEX_SHARE_MAX			0.1

/* ---- What is expected ---- */

/* Trace a key down as far as possible.  Return the node, and set the key's columns there. */
static Plan *
lowest_with_key(const PlanEditor *editor, Plan *plan, const SideKey *key,
				AttrNumber *columns)
{
	AttrNumber	below[KEY_COLUMNS_MAX];
	Plan	  **child;

	memcpy(columns, key->columns, sizeof(below));
	while ((child = child_with_key(editor, plan, columns, key, below)) != NULL)
	{
		plan = *child;
		memcpy(columns, below, key->count * sizeof(AttrNumber));
	}
	return plan;
}

/*
 * Trace a key down to the scan of a table.  Return the table, or InvalidOid, and set the
 * key's columns there.
 */
static Oid
table_with_key(const PlanEditor *editor, Plan *plan, const SideKey *key,
			   AttrNumber *attributes)
{
	plan = lowest_with_key(editor, plan, key, attributes);
	if (!(IsA(plan, SeqScan) || IsA(plan, IndexScan) || IsA(plan, IndexOnlyScan) ||
		  IsA(plan, BitmapHeapScan) || is_custom(plan, &filter_scan_node)) ||
		!columns_of_table(plan, attributes, key->count, attributes))
		return InvalidOid;
	return table_of(editor, plan);
}

/*
 * Do the keys of one column on a join's inner side come from tables with a membership index
 * on that column?  The keys are the left argument of "operator".
 */
static bool
keys_have_index(const PlanEditor *editor, Plan *plan, const SideKey *key,
				Oid operator)
{
	SideKey		below = *key;
	Plan	   *lowest = lowest_with_key(editor, plan, key, below.columns);
	AttrNumber	attributes[KEY_COLUMNS_MAX];
	Oid			table;
	Oid			type;
	Oid			hashed_type;
	ListCell   *cell;

	check_stack_depth();
	if (IsA(lowest, Append) || IsA(lowest, MergeAppend))
	{
		foreach(cell, plan_children(lowest))
		{
			if (!keys_have_index(editor, *(Plan **) lfirst(cell), &below, operator))
				return false;
		}
		return true;
	}
	table = table_with_key(editor, lowest, &below, attributes);
	return OidIsValid(table) &&
		OidIsValid(membership_index_for(table, attributes[0], operator,
										key->collations[0], &type, &hashed_type));
}

/* Does a foreign key consist of just these columns of two tables? */
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

/* Does a foreign key guarantee that every outer row has a partner? */
static bool
has_foreign_key(const PlanEditor *editor, HashJoin *join, const JoinKey *key)
{
	Plan	   *inner = outerPlan(innerPlan(join));
	int			count = key->inner.count;
	AttrNumber	outer_columns[KEY_COLUMNS_MAX];
	AttrNumber	inner_columns[KEY_COLUMNS_MAX];
	Oid			referencing;
	Relation	relation;
	bool		found = false;
	ListCell   *cell;

	for (int i = 0; i < count; i++)
	{
		if (key->inner.columns[i] == 0 || key->outer.columns[i] == 0)
			return false;
	}
	/* the inner side must have all rows of the referenced table */
	if (!IsA(inner, SeqScan) || inner->qual != NIL ||
		!columns_of_table(inner, key->inner.columns, count, inner_columns))
		return false;
	referencing = table_with_key(editor, outerPlan(join), &key->outer, outer_columns);
	if (!OidIsValid(referencing))
		return false;
	relation = table_open(referencing, NoLock);
	foreach(cell, RelationGetFKeyList(relation))
		found |= is_foreign_key(lfirst(cell), table_of(editor, inner), count,
								outer_columns, inner_columns);
	table_close(relation, NoLock);
	return found;
}

/* Copy an expression of a join, with the expressions of its outer child in place of columns. */
static Node *
replace_by_child(Node *node, void *child)
{
	if (node != NULL && IsA(node, Var) && ((Var *) node)->varno == OUTER_VAR &&
		((Var *) node)->varattno > 0)
		return (Node *) copyObject(list_nth_node(TargetEntry, ((Plan *) child)->targetlist,
												 ((Var *) node)->varattno - 1)->expr);
	return expression_tree_mutator(node, replace_by_child, child);
}

/*
 * Does the scan on the outer side probe an index of the inner table with the join's key, so
 * that nearly only rows with a partner pass?  The index has the keys of all inner rows.
 */
static bool
index_is_probed(const PlanEditor *editor, const HashJoin *join, const JoinKey *key)
{
	const Plan *inner = outerPlan(innerPlan(join));
	Plan	   *outer = outerPlan(join);
	Node	   *element;
	ListCell   *cell;

	if (key->outer.count != 1 || !IsA(inner, SeqScan) || inner->qual != NIL ||
		!is_custom(outer, &filter_scan_node))
		return false;
	element = replace_by_child(linitial(join->hashkeys), outer);
	foreach(cell, probe_plans((CustomScan *) outer))
	{
		const ProbePlan *probe = lfirst(cell);

		if (probe->kind == PROBE_JOIN && probe->table == table_of(editor, inner) &&
			(probe->pause_after == 0 || outer->plan_rows <=
			 rows_of_table(table_of(editor, outer)) * INDEX_SHARE_MAX) &&
			equal(probe->expression, element))
			return true;
	}
	return false;
}

/* Return the share of outer rows expected to have a partner; set *tried if it is a guess. */
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
 * Does core's hash join look for an outer row before it builds its hash table, and skip the
 * build if there is none?  See HJ_BUILD_HASHTABLE in core.
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
 * Return the expected cost, in nanoseconds, of building a join's hash table without first
 * looking for an outer row.
 *
 * The build is wasted if there is no outer row.  If n rows are expected, the probability of
 * no row is exp(-n).  But the estimate may be wrong: if n itself is distributed
 * exponentially, with the estimate as its mean, the probability is 1 / (1 + estimate).
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
 * Do the dropped rows save more than the costs: of collecting this many keys, of probing, and
 * "other" nanoseconds?
 */
static bool
worth_it(const Placement *placement, double keys, double other)
{
	bool		integer = placement->key->kind == KEY_INTEGER;
	double		costs = other;

	if (placement->foreign_unknown)
		return true;
	if (!placement->only_foreign)
		costs += placement->probed * (integer ? PROBE_INTEGER_NS : PROBE_HASH_NS) +
			keys * (integer ? COLLECT_INTEGER_NS : COLLECT_HASH_NS);
	if (placement->foreign > 0)
		costs += placement->foreign * PROBE_FOREIGN_NS + keys * SEND_KEY_NS;
	return (placement->probed >= PROBED_ROWS_MIN ||
			placement->foreign >= FOREIGN_ROWS_MIN) &&
		placement->share <= PROBE_SHARE_MAX && placement->saved > costs;
}

/* ---- Filters of joins ---- */

/* After find_places(), plan to compare "keys" keys if values are to be kept. */
static void
order_keys(Placement *placement, double keys)
{
	int			column = placement->block_column;
	ListCell   *cell;

	if (placement->pages == 0 || placement->key->kind == KEY_INTEGER)
		return;
	placement->order = key_order_plan(placement->key->families[column],
									  placement->collected->types[column],
									  placement->key->collations[column], keys,
									  placement->pages, join_filter_setting == JOIN_FILTER_FORCE);
	foreach(cell, placement->order == NIL ? placement->places : NIL)
		((Place *) lfirst(cell))->block_index = InvalidOid;
}

/* Find the places on the outer side of a hash join; return whether a filter pays there. */
static bool
find_worthy_places(const PlanEditor *editor, HashJoin *join, Placement *placement)
{
	add_saved(editor, placement, outerPlan(join)->plan_rows * placement->fraction,
			  cost_of_row(&join->join.plan));
	find_places(editor, &outerPlan(join), placement);
	return placement->places != NIL &&
		(join_filter_setting == JOIN_FILTER_FORCE ||
		 worth_it(placement, outerPlan(innerPlan(join))->plan_rows,
				  placement->blocked ? cost_of_not_looking(join) : 0));
}

/*
 * Does the scan of a table, from which one side of a join has its key, probe a membership index
 * for a join?  Not if rows of the query are hidden from the user.
 */
static bool
probes_index(const PlanEditor *editor, Plan *side, const SideKey *key)
{
	SideKey		below = *key;
	Plan	   *lowest = key->expressions ? side :
		lowest_with_key(editor, side, key, below.columns);
	ListCell   *cell;

	check_stack_depth();
	if (IsA(lowest, Append) || IsA(lowest, MergeAppend))
	{
		foreach(cell, plan_children(lowest))
		{
			if (probes_index(editor, *(Plan **) lfirst(cell), &below))
				return true;
		}
	}
	if (!is_custom(lowest, &filter_scan_node))
		return false;
	foreach(cell, probe_plans((CustomScan *) lowest))
	{
		const ProbePlan *probe = lfirst(cell);

		if (probe->kind == PROBE_JOIN && !probe->hides_rows)
			return true;
	}
	return false;
}

/* Can the keys of one side be collected before the other side is read, with no other errors? */
static bool
may_collect(const SideKey *key)
{
	return !key->may_fail && !probe_may_fail((Node *) key->expressions);
}

/*
 * Find where to probe the keys of "stored" rows in the other side of a join, which returns
 * "rows" rows; "other" are further costs, in nanoseconds.  Return whether that pays.
 */
static bool
find_stored_places(const PlanEditor *editor, HashJoin *join, Plan **side, double stored,
				   double other, Placement *placement)
{
	double		rows = (*side)->plan_rows;
	double		matched = join->join.jointype == JOIN_INNER ?
		Max(join->join.plan.plan_rows, stored) : stored;

	if (stored > rows * STORED_SHARE_MAX)
		return false;
	placement->number = editor->filters + 1;
	placement->own_hash = placement->key->same_functions;
	placement->share = Min(matched / Max(rows, 1), 1);
	placement->fraction = 1;
	add_saved(editor, placement, rows, cost_of_row(&join->join.plan));
	find_places(editor, side, placement);
	order_keys(placement, stored);
	return placement->places != NIL &&
		(join_filter_setting == JOIN_FILTER_FORCE || worth_it(placement, stored, other));
}

/*
 * Store the outer rows of a hash join, and probe their keys on its inner side, if that is
 * possible and pays.
 */
static bool
store_outer_rows(PlanEditor *editor, HashJoin *join, const JoinKey *key)
{
	Plan	   *outer = outerPlan(join);
	Plan	   *hash = innerPlan(join);
	Plan	  **inner = &outerPlan(hash);
	double		rows = (*inner)->plan_rows;
	Placement	placement = {.key = &key->inner, .collected = &key->outer};
	List	   *sent;

	/* if not all rows are wanted, the first ones come after all are stored */
	double		other = outer->plan_rows * STORE_NS +
		(1 - editor->fraction) * outer->total_cost * COST_UNIT_NS;

	/* each process of a Parallel Hash has a part of the rows */
	if (!join_drops_inner(join->join.jointype) || hash->parallel_aware ||
		!may_collect(&key->outer) ||
		contain_volatile_functions((Node *) key->inner.expressions) ||
		contain_subplans((Node *) key->inner.expressions) ||
		plan_has_effects(&editor->effects, outer) ||
		plan_has_effects(&editor->effects, *inner))
		return false;
	if (foreign_filter_setting && !editor->hides_rows && key->outer.columns[0] != 0)
		placement.foreign_type = foreign_key_type(join, true);
	if (!find_stored_places(editor, join, inner, outer->plan_rows, other, &placement))
		return false;
	sent = add_probes(editor, &placement);
	if (sent != NIL)
		(void) foreign_filter_depend(hash, list_nth_int(sent, SENT_PARAMETER));
	/* the hash table is sized by this, and grows if the node gives up */
	outerPlan(hash)->plan_rows = clamp_row_est(rows * placement.share);
	add_store(editor, join, &key->outer, &placement,
			  (int) Min(Max(rows * STORED_SHARE_MAX, STORED_ROWS_MIN), INT_MAX), sent);
	return true;
}

/* Return the Bypass Feeder of a join below a Filter Bypass, or NULL. */
static Plan *
feeder_of(const HashJoin *join)
{
	if (is_custom(outerPlan(join), &bypass_feeder_node))
		return outerPlan(join);
	return is_custom(outerPlan(innerPlan(join)), &bypass_feeder_node) ?
		outerPlan(innerPlan(join)) : NULL;
}

/*
 * Probe the keys of the rows that a Bypass Feeder stores on the other side of its join, if that
 * is possible and pays.
 */
static void
feed_keys(PlanEditor *editor, HashJoin *join, Plan *feeder, const JoinKey *key)
{
	bool		feeds_outer = feeder == outerPlan(join);
	JoinType	type = join->join.jointype;
	const SideKey *own = feeds_outer ? &key->outer : &key->inner;
	Plan	  **other = feeds_outer ? &outerPlan(innerPlan(join)) : &outerPlan(join);
	Placement	placement = {
		.key = feeds_outer ? &key->inner : &key->outer,
		.collected = own
	};
	List	   *columns = NIL;

	/* a full join returns the rows of both sides */
	if (own->expressions != NIL || placement.key->expressions != NIL || !may_collect(own) ||
		!(feeds_outer ? join_drops_inner(type) : join_drops_outer(type)) ||
		plan_has_effects(&editor->effects, *other))
		return;
	for (int i = 0; i < own->count; i++)
	{
		TargetEntry *entry = list_nth_node(TargetEntry, feeder->targetlist,
										   own->columns[i] - 1);

		if (!IsA(entry->expr, Var))
			return;
		columns = lappend(columns, copyObject(entry->expr));
	}
	if (!find_stored_places(editor, join, other, feeder->plan_rows, 0, &placement))
		return;
	(void) add_probes(editor, &placement);
	editor->filters++;
	add_collector((CustomScan *) feeder, own, &placement, columns,
				  (int) Min(feeder->plan_rows, INT_MAX), NIL);
}


/*
 * Is it faster to hash the keys once more, but by XXH3, than to probe with the join's own hash?
 * To hash a key takes at most OWN_HASH_KEYS times what each probed row saves.
 */
static bool
hashes_faster(const JoinKey *key, double keys, double probed)
{
	bool		bytes = key->inner.kind == KEY_HASH && key->inner.same_functions &&
		key->inner.expressions == NIL;

	for (int i = 0; i < key->inner.count; i++)
		bytes &= key_hashes_bytes(key->inner.functions[i], key->inner.collations[i]);
	return bytes && keys * OWN_HASH_KEYS < probed;
}

/* Filter the outer side of a hash join, if that is possible and pays. */
static void
filter_outer_side(PlanEditor *editor, HashJoin *join, JoinKey *key)
{
	Plan	   *plan = &join->join.plan;
	Placement	placement = {
		.key = &key->outer,
		.collected = &key->inner,
		.number = editor->filters + 1
	};
	Placement	start;
	bool		has_effects;
	List	   *sent;

	if (!join_drops_outer(join->join.jointype))
		return;
	placement.share = share_with_partner(join, &placement.tried);
	placement.shared = innerPlan(plan)->parallel_aware;
	has_effects = plan_has_effects(&editor->effects, outerPlan(plan)) ||
		plan_has_effects(&editor->effects, innerPlan(plan));
	if (foreign_filter_setting && !editor->hides_rows && !placement.shared && !has_effects &&
		key->inner.columns[0] != 0)
		placement.foreign_type = foreign_key_type(join, false);
	if (editor->only_sends &&
		(!OidIsValid(placement.foreign_type) ||
		 !keys_have_index(editor, outerPlan(innerPlan(plan)), &key->inner,
						  get_commutator(linitial_oid(join->hashoperators)))))
		return;

	/* with a LIMIT, reading the few rows may take less time without a filter */
	placement.fraction = editor->fraction;
	start = placement;
	if (!find_worthy_places(editor, join, &placement))
	{
		if (placement.foreign == 0)
			return;

		/* try without sending; the same fraction of the rows is read */
		placement = start;
		placement.foreign_type = InvalidOid;
		if (!find_worthy_places(editor, join, &placement))
			return;
	}
	if (join_filter_setting != JOIN_FILTER_FORCE &&
		(has_foreign_key(editor, join, key) || index_is_probed(editor, join, key)))
		return;
	placement.own_hash = hashes_faster(key, outerPlan(innerPlan(plan))->plan_rows,
									   placement.probed);
	order_keys(&placement, outerPlan(innerPlan(plan))->plan_rows);
	sent = add_probes(editor, &placement);
	if (sent != NIL)
		(void) foreign_filter_depend(outerPlan(plan), list_nth_int(sent, SENT_PARAMETER));
	/* if one side is empty, volatile functions of the other may not be called */
	placement.blocked &= !has_effects;
	if (placement.only_foreign)
		key->inner.kind = KEY_NONE;
	add_build(editor, join, key, &placement, sent);
}

/*
 * Core looks for an outer row before it builds the hash table if the outer side is expected to
 * start before the inner one ends.  A scan that probes an index reads on until a row passes, at
 * worst to its end: so let core read the side first that costs less as a whole, and the inner one
 * if that may turn out empty.
 */
static void
expect_late_row(const PlanEditor *editor, HashJoin *join, const JoinKey *key)
{
	Plan	   *outer = outerPlan(join);
	const Plan *hash = innerPlan(join);

	if (!looks_for_outer_row(join) || !probes_index(editor, outer, &key->outer))
		return;
	if (hash->plan_rows <= EMPTY_ROWS && outer->plan_rows > EMPTY_ROWS)
		outer->total_cost = Max(outer->total_cost, hash->total_cost);
	outer->startup_cost = outer->total_cost;
}

/* Filter a side of a hash join, if that is possible and pays. */
static void
filter_join(PlanEditor *editor, HashJoin *join)
{
	Plan	   *feeder = feeder_of(join);
	JoinKey		key;

	if (!key_of_join(join, &key))
		return;
	editor->only_sends = false;
	if (feeder)
	{
		feed_keys(editor, join, feeder, &key);
		return;
	}
	/* the other side lacks the rows that the index has dropped from one side */
	if ((!editor->by_index || probes_index(editor, outerPlan(join), &key.outer)) &&
		store_outer_rows(editor, join, &key))
		return;
	expect_late_row(editor, join, &key);
	editor->only_sends = editor->by_index &&
		!probes_index(editor, outerPlan(innerPlan(join)), &key.inner);
	filter_outer_side(editor, join, &key);
}

/*
 * Let a hash join find the outer rows that have no partner by its filter, where that is
 * possible and may pay.  There is no estimate of their number: the planner expects one row of
 * an anti join, and a left join returns all rows.  So assume SHARE_TRY.
 */
static void
find_unmatched_rows(PlanEditor *editor, HashJoin *join)
{
	const Plan *hash = innerPlan(join);
	JoinType	type = join->join.jointype;
	double		rows = outerPlan(join)->plan_rows;
	double		keys = outerPlan(hash)->plan_rows;
	JoinKey		key;

	/*
	 * a Parallel Hash writes all outer rows to files in any case; few rows
	 * are not worth it
	 */
	if (feeder_of(join) || is_custom(outerPlan(join), &join_filter_store_node) ||
		(type != JOIN_ANTI && type != JOIN_LEFT && type != JOIN_FULL) ||
		hash->parallel_aware || !key_of_join(join, &key))
		return;
	if (join_filter_setting != JOIN_FILTER_FORCE &&
		(rows < PROBED_ROWS_MIN || keys > rows * TRY_ROWS_MAX ||
		 (1 - SHARE_TRY) * rows * cost_of_row(&join->join.plan) <=
		 rows * UNMATCHED_NS + keys * COLLECT_HASH_NS ||
		 has_foreign_key(editor, join, &key)))
		return;
	/* another hash replaces the join's own, whatever the key is */
	key.inner.kind = KEY_HASH;
	add_build(editor, join, &key, NULL, NIL);
}

/* ---- Statements ---- */

/* Return the fraction of its child's rows that a Limit reads, as core has priced it. */
static double
fraction_of_limit(const Plan *limit)
{
	const Plan *child = outerPlan(limit);
	double		all = child->total_cost - child->startup_cost;

	return all > 0 ?
		Max(Min((limit->total_cost - child->startup_cost) / all, 1), 0) : 1;
}

/* Call "visit" for each hash join that is executed once, those below first. */
static void
visit_joins(PlanEditor *editor, Plan *plan,
			void (*visit) (PlanEditor *editor, HashJoin *join))
{
	double		fraction = editor->fraction;
	ListCell   *cell;

	/* a foreign scan's child plan only rechecks single rows */
	if (IsA(plan, ForeignScan))
		return;
	check_stack_depth();
	foreach(cell, plan_children(plan))
	{
		Plan	  **child = lfirst(cell);

		/* the inner side is executed again, with other parameters or rows */
		if ((IsA(plan, NestLoop) || IsA(plan, RecursiveUnion)) &&
			child == &innerPlan(plan))
			continue;
		editor->fraction = is_blocking(plan, child) ? 1 :
			IsA(plan, Limit) ? fraction * fraction_of_limit(plan) : fraction;
		visit_joins(editor, *child, visit);
	}
	editor->fraction = fraction;
	/* what else a Bypass has joined gets no filters */
	if (is_custom(plan, &bypass_node))
		plan = linitial(((CustomScan *) plan)->custom_plans);
	if (IsA(plan, HashJoin))
		visit(editor, (HashJoin *) plan);
}

/* Note what we must know of a plan before we edit it. */
static void
collect_plan_info(PlanEditor *editor, Plan *plan)
{
	ListCell   *cell;
	ListCell   *param;

	check_stack_depth();
	editor->next_node_id = Max(editor->next_node_id, plan->plan_node_id + 1);
	foreach(cell, plan->initPlan)
	{
		SubPlan    *subplan = lfirst_node(SubPlan, cell);

		foreach(param, subplan->setParam)
			editor->effects.init_params = bms_add_member(editor->effects.init_params,
														 lfirst_int(param));
		if (subplan->subLinkType == EXISTS_SUBLINK)
			editor->exists = bms_add_member(editor->exists, subplan->plan_id);
	}
	foreach(cell, plan_children(plan))
		collect_plan_info(editor, *(Plan **) lfirst(cell));
	if (IsA(plan, CustomScan))
	{
		foreach(cell, ((CustomScan *) plan)->custom_plans)
			collect_plan_info(editor, lfirst(cell));
	}
}

/* Does the statement read views that are security barriers? */
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

/* Add filters to a plan; "fraction" of its rows is expected to be read. */
static void
edit_plan(PlanEditor *editor, Plan *plan, double fraction)
{
	editor->fraction = fraction;
	visit_joins(editor, plan, filter_join);
	if (!editor->by_index)
		visit_joins(editor, plan, find_unmatched_rows);
}

/*
 * Is a subplan executed once?  Not if it has parameters, nor if it is rescanned without
 * having kept its rows: volatile functions, or workers below a LIMIT, may return other rows.
 */
static bool
is_executed_once(const PlannedStmt *statement, const Plan *subplan, int plan_id)
{
	return bms_is_empty(subplan->extParam) &&
		(!bms_is_member(plan_id, statement->rewindPlanIDs) ||
		 ExecMaterializesOutput(nodeTag(subplan)));
}

/*
 * Add join filters to a finished plan.  The setting must not be JOIN_FILTER_OFF. is_volatile:
 * the query calls volatile functions. has_policies: policies apply to its tables, which a
 * finished plan does not show. fraction: the fraction of the rows that will be read.
 * Allocates the nodes in the current memory context.
 */
void
join_filters_add(PlannedStmt *statement, bool is_volatile, bool has_policies,
				 double fraction)
{
	PlanEditor	editor = {
		.statement = statement,
		.by_index = join_filter_setting == JOIN_FILTER_INDEX,
		/* tables of functions that were inlined may have policies, too */
		.hides_rows = has_policies || statement->dependsOnRole,
		.effects.any = is_volatile || locks_rows(statement)
	};
	ListCell   *cell;

	/* a server may have join filters of its own */
	const char *servers = GetConfigOption("enable_hashjoin_bloom", true, false);

	if (statement->planTree == NULL || (servers && strcmp(servers, "on") == 0) ||
		has_barriers(statement))
		return;
	collect_plan_info(&editor, statement->planTree);
	foreach(cell, statement->subplans)
	{
		if (lfirst(cell))
			collect_plan_info(&editor, lfirst(cell));
	}
	edit_plan(&editor, statement->planTree, fraction);
	foreach(cell, statement->subplans)
	{
		Plan	   *subplan = lfirst(cell);
		int			plan_id = foreach_current_index(cell) + 1;

		if (subplan && !editor.hides_rows &&
			is_executed_once(statement, subplan, plan_id))
			edit_plan(&editor, subplan, bms_is_member(plan_id, editor.exists) ?
					  1 / Max(subplan->plan_rows, 1) : 1);
	}
	check_filters(&editor);
}
