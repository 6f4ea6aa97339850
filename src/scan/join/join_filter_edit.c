/*
 * join_filter_edit.c
 *	  Adds the nodes of join filters to a plan.
 *
 * A Join Filter Build goes below the Hash node of a join, a Join Filter Store above its outer
 * side.  Probes go where
 * join_filter_place.c has found places: into a Filter Scan, which may replace a sequential
 * scan, or into a Join Filter Probe above another node.
 */
#include "join_filter_plan.h"

#include "scan/settings.h"
#include "join_filter_store.h"
#include "scan/bypass/bypass.h"
#include "scan/foreign/foreign_filter.h"

#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteManip.h"

/* Return a copy of expressions over a child's columns, for custom_exprs of the node above it. */
static List *
own_columns(List *expressions)
{
	List	   *own = copyObject(expressions);

	ChangeVarNodes((Node *) own, OUTER_VAR, INDEX_VAR, 0);
	return own;
}

static List *
oids_of(const Oid *oids, int count)
{
	List	   *list = NIL;

	for (int i = 0; i < count; i++)
		list = lappend_oid(list, oids[i]);
	return list;
}

/*
 * Add a Join Filter Build to a hash join.  Its keys are probed where "placement" says, or find the
 * join's outer rows without a partner if that is NULL; or are sent to foreign servers: "sent" is what add_probes()
 * has returned.
 */
void
add_build(PlanEditor *editor, HashJoin *join, const JoinKey *key, const Placement *placement,
		  List *sent)
{
	Plan	   *hash = innerPlan(join);
	Plan	   *child = outerPlan(hash);
	CustomScan *build = make_node_above(child, editor->next_node_id++,
										&join_filter_build_node);
	int			column = placement ? placement->block_column : 0;
	KeyBuildPlan plan = {
		.number = ++editor->filters,
		.kind = key->inner.kind,
		.attribute = key->inner.columns[column],
		.integer = key->inner.integer,
		.expected = (int) Min(child->plan_rows, INT_MAX),
		.comes_first = placement && placement->blocked,
		.finds_unmatched = placement == NULL,
		.forced = join_filter_setting == JOIN_FILTER_FORCE,
		.collation = key->inner.collations[column],
		.order = placement ? placement->order : NIL,
		.sent = sent
	};

	/* the node hashes the keys, and does not record the join's hashes */
	if (placement && placement->own_hash)
	{
		plan.functions = oids_of(key->inner.functions, key->inner.count);
		plan.collations = oids_of(key->inner.collations, key->inner.count);
	}
	build->custom_private = key_build_write(&plan);
	build->custom_exprs = own_columns(((Hash *) hash)->hashkeys);
	build->scan.plan.parallel_aware = hash->parallel_aware;
	outerPlan(hash) = &build->scan.plan;
}

/* Return the plan of a probe, or of what collects keys, without the key's columns. */
static ProbePlan
plan_of_key(ProbeKind kind, int number, const SideKey *key)
{
	ProbePlan	plan = {
		.kind = kind,
		.keys.number = number,
		.keys.kind = key->kind,
		.keys.integer = key->integer
	};

	if (key->kind == KEY_HASH)
	{
		plan.keys.functions = oids_of(key->functions, key->count);
		plan.keys.collations = oids_of(key->collations, key->count);
	}
	return plan;
}

/*
 * Let a node that stores rows collect the keys of a filter; "expressions" are the key, over the
 * node's custom_scan_tlist; "sent" is what add_probes() has returned.
 */
void
add_collector(CustomScan *node, const SideKey *key, const Placement *placement,
			  List *expressions, int rows_max, List *sent)
{
	ProbePlan	plan = plan_of_key(COLLECT_KEYS, placement->number, key);

	plan.expression = (Node *) expressions;
	plan.keys.own_hash = key->same_functions;
	plan.keys.rows_max = rows_max;
	plan.keys.block_column = placement->block_column;
	plan.keys.order = placement->order;
	plan.keys.sent = sent;
	probe_plan_add(node, &plan);
}

/*
 * Add a Join Filter Store to a hash join, which gives up at rows_max rows.  Let the join look
 * for an outer row, which fills the store, before it builds its hash table.
 */
void
add_store(PlanEditor *editor, HashJoin *join, const SideKey *key, const Placement *placement,
		  int rows_max, List *sent)
{
	CustomScan *store = make_node_above(outerPlan(join), editor->next_node_id++,
										&join_filter_store_node);

	Assert(placement->number == editor->filters + 1);
	editor->filters++;
	add_collector(store, key, placement, own_columns(join->hashkeys), rows_max, sent);
	store->scan.plan.startup_cost = 0;
	outerPlan(join) = &store->scan.plan;
}

/* Make a table's scan a Filter Scan that can probe.  Return the key, as columns of the table. */
static List *
probe_in_scan(const Place *place, const SideKey *key)
{
	Plan	   *plan = *place->slot;
	List	   *keys = NIL;

	for (int i = 0; i < key->count; i++)
		keys = lappend(keys, copyObject(var_of_column(plan, place->columns[i])));
	if (IsA(plan, SeqScan))
	{
		CustomScan *scan = makeNode(CustomScan);

		scan->scan = *(Scan *) plan;
		scan->scan.plan.type = T_CustomScan;
		scan->custom_relids = bms_make_singleton(scan->scan.scanrelid);
		scan->methods = &filter_scan_node.plan;
		*place->slot = &scan->scan.plan;
	}
	return keys;
}

/* Prepare to probe above a node.  Return the key, as expressions of the node above. */
static List *
probe_above(PlanEditor *editor, const Place *place, const SideKey *key)
{
	Plan	   *plan = *place->slot;
	List	   *keys = NIL;

	if (!is_custom(plan, &join_filter_probe_node))
		*place->slot = (Plan *) make_node_above(plan, editor->next_node_id++,
												&join_filter_probe_node);
	if (key->expressions != NIL)
		return own_columns(key->expressions);
	for (int i = 0; i < key->count; i++)
		keys = lappend(keys, makeVarFromTargetEntry(INDEX_VAR,
													list_nth(plan->targetlist,
															 place->columns[i] - 1)));
	return keys;
}

/*
 * Add probes of a filter in the places that were found.  Return the plan of the filter for
 * foreign servers, see SentPlanField; NIL if no place is foreign.
 */
List *
add_probes(PlanEditor *editor, const Placement *placement)
{
	const SideKey *key = placement->key;
	List	   *sent = NIL;
	ListCell   *cell;
	ProbePlan	plan = plan_of_key(PROBE_KEYS, placement->number, key);

	plan.keys.forced = join_filter_setting == JOIN_FILTER_FORCE;
	plan.keys.own_hash = placement->own_hash;
	/* a guessed share must not lower the row estimates of nodes */
	plan.keys.share = placement->tried ? 1 : placement->share;
	foreach(cell, placement->places)
	{
		const Place *place = lfirst(cell);

		if (place->is_foreign)
		{
			if (sent == NIL)
				sent = foreign_filter_plan(editor->statement, placement->foreign_type);
			foreign_filter_add_scan(&sent, *place->slot, place->columns[0]);
		}
		else
		{
			plan.keys.block_index = place->block_index;
			plan.keys.block_column = placement->block_column;
			plan.keys.operators = OidIsValid(place->block_index) ? placement->operators : NIL;
			plan.expression = (Node *) (place->in_scan ? probe_in_scan(place, key) :
										probe_above(editor, place, key));
			probe_plan_add((CustomScan *) *place->slot, &plan);
		}
		(*place->slot)->plan_rows = clamp_row_est((*place->slot)->plan_rows *
												  plan.keys.share);
	}
	return sent;
}

#ifdef USE_ASSERT_CHECKING
/* What an edited plan does with a filter.  Processes exchange rows at the rows' origin. */
typedef struct FilterSeen
{
	bool		built;
	bool		finds_unmatched;	/* finds unmatched rows of its join */
	bool		sent;			/* sent to foreign servers */
	bool		shared;			/* built by all processes of a Parallel Hash */
	const Plan *origin;			/* origin of the rows that the builder reads */
	List	   *probed;			/* origins of the rows that are probed */
} FilterSeen;

/*
 * Note the filters that a plan builds and probes, by number.  "origin" is that of the plan's
 * rows.
 */
static void
see_filters(Plan *plan, const Plan *origin, FilterSeen *seen)
{
	ListCell   *cell;

	check_stack_depth();
	if (is_custom(plan, &join_filter_build_node))
	{
		KeyBuildPlan build = key_build_read(((CustomScan *) plan)->custom_private);
		FilterSeen *filter = seen + build.number;

		Assert(!filter->built);
		filter->built = true;
		filter->finds_unmatched = build.finds_unmatched;
		filter->sent = build.sent != NIL;
		filter->shared = plan->parallel_aware;
		filter->origin = origin;
	}
	if (is_custom(plan, &join_filter_store_node) ||
		(is_custom(plan, &bypass_feeder_node) && ((CustomScan *) plan)->custom_exprs != NIL))
	{
		const ProbePlan *collector = linitial(probe_plans((CustomScan *) plan));
		FilterSeen *filter = seen + collector->keys.number;

		Assert(!filter->built && collector->kind == COLLECT_KEYS);
		filter->built = true;
		filter->sent = collector->keys.sent != NIL;
		filter->origin = origin;
	}
	if (is_custom(plan, &bypass_node) || is_custom(plan, &bypass_feeder_node))
		see_filters(linitial(((CustomScan *) plan)->custom_plans), origin, seen);
	foreach(cell, key_probe_plans(plan))
	{
		FilterSeen *filter = seen + ((KeyProbePlan *) lfirst(cell))->number;

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
 * Assert that each filter is built once; that it is probed or sent, or else finds unmatched rows; and
 * that the process that built it probes it, unless all processes have built it.
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

		Assert(filter->built && !(filter->sent && filter->shared) &&
			   filter->finds_unmatched == (filter->probed == NIL && !filter->sent));
		foreach(cell, filter->probed)
			Assert(filter->shared || filter->origin == NULL ||
				   filter->origin == lfirst(cell));
	}
	pfree(seen);
#endif
}
