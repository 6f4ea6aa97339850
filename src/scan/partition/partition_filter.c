/*
 * partition_filter.c
 *	  The executor's side of the Partition Filter, which does the work of an Append, but
 *	  starts only those partitions that may have the value that is looked for.
 *
 * partition_plan.c puts it in the place of an Append whose children look up a value in an
 * index.  The Append remains in the plan, below this node, as the list of the children
 * and for core's run-time pruning, but is not executed.  Just before a partition would be
 * started or started again, its membership index is asked for the value (index/ask.c).  A
 * partition whose index says "no" has no row that the scan would return.
 *
 * A child is initialized when it is first needed: that is most of the cost of a lookup in
 * many partitions.  Until then, its table is kept open, so that a command which the query
 * itself calls cannot alter it; and it is initialized with the user, and for the resource
 * owner, that it would have had at the beginning.  All children are initialized at once if
 *
 * - EXPLAIN shows them without executing them;
 *
 * - EvalPlanQual puts rows in the place of those that a scan finds, which no index was
 *	 asked for: then all are executed, too;
 *
 * - the processes of a parallel query tell each other what each of the nodes has done:
 *	 they must have the same.
 *
 * The plan is not read backward: see partition_plan.c about cursors.
 *
 * We count the partitions in the instrumentation, in fields for counts of a node's own.
 */
#include "partition_filter.h"

#include "index/membership.h"
#include "scan/node.h"
#include "scan/plan_tree.h"

#include "access/parallel.h"
#include "access/relation.h"
#include "catalog/partition.h"
#include "executor/execPartition.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/resowner.h"
#include "utils/ruleutils.h"

/* The fields of Instrumentation that count partitions whose index was asked, and those skipped */
#define partitions_asked		ntuples2
#define partitions_skipped		nfiltered2

/*
 * After YES_IN_A_ROW partitions that may have the value, only one in ASKED_THEN is asked,
 * until one does not have it: asking costs up to a fourth of looking the value up.  A
 * prime, so that rescans do not always ask the same ones.
 */
#define YES_IN_A_ROW			8
#define ASKED_THEN				17

/* A child of the Append that core's pruning at the start has left */
typedef struct Partition
{
	Plan	   *plan;
	PlanState  *state;			/* NULL: not initialized yet */
	uint64		scan;			/* "scan" of the node at its last start */
	Oid			index;			/* to be asked; InvalidOid: always read */
	Index		table;			/* of the index; 0: none */
	Relation	asked;			/* the index, once it is open; or NULL */
} Partition;

typedef struct PartitionFilterState
{
	CustomScanState css;
	int			count;
	Partition  *partitions;
	PartitionPruneState *pruning;	/* core's, or NULL */
	bool		pruned;			/* "valid" holds for the present parameters */
	Bitmapset  *valid;			/* the partitions that core would read */
	int			current;		/* the last that was looked at, or -1 */
	PlanState  *running;		/* its scan, or NULL */
	uint64		scan;			/* number of this scan: grows with rescans */
	Bitmapset  *changed;		/* parameters changed by any rescan so far */

	/* What it takes to initialize children late */
	int			eflags;
	Oid			user;
	int			security;
	ResourceOwner owner;

	bool		asks;			/* false: all partitions are read */
	PartitionLookup key;
	ExprState  *value;
	MembershipKeys *keys;		/* NULL before the first index is asked */
	bool		keys_set;		/* "keys" are of the present value */
	int			yes;			/* times in a row that an index said so */
	int			unasked;		/* partitions since then */
} PartitionFilterState;

/* Give a Partition Filter what it asks. */
void
partition_filter_set_key(CustomScan *scan, const PartitionLookup *key)
{
	scan->custom_exprs = list_make1(key->value);
	scan->custom_private = list_make4(list_make1_oid(key->type),
									  makeBoolean(key->is_array),
									  key->indexes, key->tables);
}

static PartitionLookup
get_key(const CustomScan *scan)
{
	List	   *fields = plan_fields(scan->custom_private, 4);
	PartitionLookup key = {
		.value = linitial(scan->custom_exprs),
		.type = linitial_oid(linitial(fields)),
		.is_array = boolVal(lsecond(fields)),
		.indexes = lthird(fields),
		.tables = lfourth(fields)
	};

	return key;
}

static Append *
append_of(const CustomScanState *node)
{
	return castNode(Append, outerPlan(node->ss.ps.plan));
}

/* ----------------------------------------------------------------
 *		Start and end
 * ----------------------------------------------------------------
 */

/* Initialize a child. */
static void
init_partition(PartitionFilterState *state, Partition *partition)
{
	EState	   *estate = state->css.ss.ps.state;
	ResourceOwner owner = CurrentResourceOwner;
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
	Oid			user;
	int			security;

	/* an error resets both with the transaction */
	GetUserIdAndSecContext(&user, &security);
	SetUserIdAndSecContext(state->user, state->security);
	CurrentResourceOwner = state->owner;
	partition->state = ExecInitNode(partition->plan, estate, state->eflags);
	state->css.custom_ps = lappend(state->css.custom_ps, partition->state);
	CurrentResourceOwner = owner;
	SetUserIdAndSecContext(user, security);
	MemoryContextSwitchTo(old);
}

/*
 * Correct core's list of partitions for a table that is not pruned itself, but has one
 * below that is.  Core numbers the partitions as the planner did, but maps them to children
 * by their present numbers: if one has been detached concurrently since, it reads beyond
 * the map; if one has been attached, it misses the last.  We list all present numbers: the
 * map tells which have a child.
 */
static void
renumber_partitions(PartitionPruneState *pruning)
{
	for (int i = 0; i < pruning->num_partprunedata; i++)
	{
		PartitionPruningData *hierarchy = pruning->partprunedata[i];

		for (int j = 0; j < hierarchy->num_partrelprunedata; j++)
		{
			PartitionedRelPruningData *table = &hierarchy->partrelprunedata[j];

			table->present_parts = bms_add_range(NULL, 0, table->nparts - 1);
		}
	}
}

/* Core's pruning at the start: the numbers of the children that are left */
static Bitmapset *
init_pruning(PartitionFilterState *state, Append *append)
{
	int			children = list_length(append->appendplans);
	Bitmapset  *left;

#if PG_VERSION_NUM >= 180000
	if (append->part_prune_index >= 0)
		state->pruning =
			ExecInitPartitionExecPruning(&state->css.ss.ps, children,
										 append->part_prune_index,
										 append->apprelids, &left);
#else
	if (append->part_prune_info != NULL)
		state->pruning = ExecInitPartitionPruning(&state->css.ss.ps, children,
												  append->part_prune_info, &left);
#endif
	else
		left = bms_add_range(NULL, 0, children - 1);
	if (state->pruning && state->pruning->do_exec_prune)
		renumber_partitions(state->pruning);
	return left;
}

/* Must all children be initialized at once? */
static bool
starts_all(const EState *estate, int eflags)
{
	return (eflags & EXEC_FLAG_EXPLAIN_ONLY) || estate->es_epq_active != NULL ||
		(estate->es_instrument &&
		 (IsParallelWorker() || estate->es_plannedstmt->parallelModeNeeded));
}

/* Open a table until the end of the execution, if it is not open yet. */
static Relation
open_table(EState *estate, Index table)
{
#if PG_VERSION_NUM >= 180000
	return ExecGetRangeTableRelation(estate, table, false);
#else
	return ExecGetRangeTableRelation(estate, table);
#endif
}

static void
partition_filter_begin(CustomScanState *node, EState *estate, int eflags)
{
	PartitionFilterState *state = (PartitionFilterState *) node;
	Append	   *append = append_of(node);
	bool		at_once = starts_all(estate, eflags);
	Bitmapset  *left = init_pruning(state, append);
	int			child = -1;

	/* we return the slots of the children, as an Append does */
	node->ss.ps.resultopsset = true;
	node->ss.ps.resultopsfixed = false;
	Assert(node->ss.ps.ps_ProjInfo == NULL);
	state->eflags = eflags;
	GetUserIdAndSecContext(&state->user, &state->security);
	state->owner = CurrentResourceOwner;
	state->asks = estate->es_epq_active == NULL;
	state->key = get_key((CustomScan *) node->ss.ps.plan);
	state->value = ExecInitExpr(state->key.value, &node->ss.ps);
	state->current = -1;
	state->partitions = palloc0(bms_num_members(left) * sizeof(Partition));
	while ((child = bms_next_member(left, child)) >= 0)
	{
		Partition  *partition = &state->partitions[state->count++];

		partition->plan = list_nth(append->appendplans, child);
		partition->index = list_nth_oid(state->key.indexes, child);
		partition->table = list_nth_int(state->key.tables, child);
		if (at_once || !OidIsValid(partition->index))
			init_partition(state, partition);
		else
			(void) open_table(estate, partition->table);
	}
	if (state->count > 0 && (state->pruning == NULL || !state->pruning->do_exec_prune))
	{
		state->valid = bms_add_range(NULL, 0, state->count - 1);
		state->pruned = true;
	}
}

static void
partition_filter_end(CustomScanState *node)
{
	PartitionFilterState *state = (PartitionFilterState *) node;

	for (int i = 0; i < state->count; i++)
	{
		Partition  *partition = &state->partitions[i];

		if (partition->state)
			ExecEndNode(partition->state);
		if (partition->asked)
			relation_close(partition->asked, NoLock);
	}
}

/* ----------------------------------------------------------------
 *		Execution
 * ----------------------------------------------------------------
 */

/* Open the index of a partition, if it can be asked. */
static void
open_index(PartitionFilterState *state, Partition *partition)
{
	EState	   *estate = state->css.ss.ps.state;
	ResourceOwner owner = CurrentResourceOwner;

	CurrentResourceOwner = state->owner;
	partition->asked = membership_ask_open(open_table(estate, partition->table),
										   partition->index, estate->es_snapshot);
	if (partition->asked && state->keys == NULL)
		state->keys = membership_keys_make(estate->es_query_cxt, partition->asked,
										   state->key.type, estate->es_snapshot);
	CurrentResourceOwner = owner;
}

/* Hash the present value. */
static void
set_keys(PartitionFilterState *state)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	Datum		value;
	bool		isnull;

	ResetExprContext(econtext);
	value = ExecEvalExprSwitchContext(state->value, econtext, &isnull);
	membership_keys_set(state->keys, value, isnull, state->key.is_array);
	state->keys_set = true;
}

/* Open the index to be asked next, and have the processor fetch what it will read there. */
static void
look_ahead(PartitionFilterState *state)
{
	int			next = bms_next_member(state->valid, state->current);
	Partition  *partition = &state->partitions[Max(next, 0)];

	if (next < 0 || !OidIsValid(partition->index))
		return;
	if (partition->asked == NULL)
		open_index(state, partition);
	if (partition->asked != NULL)
		membership_ask_soon(state->keys, partition->asked);
}

/* May a partition have rows that its scan returns? */
static bool
may_have_rows(PartitionFilterState *state, Partition *partition)
{
	NodeInstrumentation *instrument = state->css.ss.ps.instrument;
	bool		may;

	if (!state->asks || !OidIsValid(partition->index) ||
		(state->yes == YES_IN_A_ROW && ++state->unasked < ASKED_THEN))
		return true;
	if (partition->asked == NULL)
		open_index(state, partition);
	if (partition->asked == NULL)
		return true;
	if (!state->keys_set)
		set_keys(state);
	if (state->yes < YES_IN_A_ROW)
		look_ahead(state);
	may = membership_ask(state->keys, partition->asked);
	state->yes = may ? Min(state->yes + 1, YES_IN_A_ROW) : 0;
	state->unasked = 0;
	if (instrument)
	{
		instrument->partitions_asked++;
		instrument->partitions_skipped += !may;
	}
	return may;
}

/* Start a partition, or start it again. */
static void
start_partition(PartitionFilterState *state, Partition *partition)
{
	if (partition->state == NULL)
		init_partition(state, partition);
	/* a new partition, too: SubPlans that it shares may have run */
	if (partition->scan != state->scan)
	{
		/* the partition may know of some of them already: no harm */
		if (state->changed != NULL)
			UpdateChangedParamSet(partition->state, state->changed);
		/* with changed parameters, the first ExecProcNode() does this */
		if (partition->state->chgParam == NULL)
			ExecReScan(partition->state);
		partition->scan = state->scan;
	}
	state->running = partition->state;
}

/* Go to the next partition that has to be read; false: there is none. */
static bool
next_partition(PartitionFilterState *state)
{
	int			next;

	Assert(ScanDirectionIsForward(state->css.ss.ps.state->es_direction));
	if (state->count == 0)
		return false;
	if (!state->pruned)
	{
		bms_free(state->valid);
#if PG_VERSION_NUM >= 180000
		state->valid = ExecFindMatchingSubPlans(state->pruning, false, NULL);
#else
		state->valid = ExecFindMatchingSubPlans(state->pruning, false);
#endif
		state->pruned = true;
	}
	while ((next = bms_next_member(state->valid, state->current)) >= 0)
	{
		Partition  *partition = &state->partitions[next];

		Assert(next < state->count);
		CHECK_FOR_INTERRUPTS();
		state->current = next;
		if (may_have_rows(state, partition))
		{
			start_partition(state, partition);
			return true;
		}
	}
	return false;
}

static TupleTableSlot *
partition_filter_exec(CustomScanState *node)
{
	PartitionFilterState *state = (PartitionFilterState *) node;

	do
	{
		CHECK_FOR_INTERRUPTS();
		if (state->running)
		{
			TupleTableSlot *slot = ExecProcNode(state->running);

			if (!TupIsNull(slot))
				return slot;
			state->running = NULL;
		}
	}
	while (next_partition(state));
	return NULL;
}

static void
partition_filter_rescan(CustomScanState *node)
{
	PartitionFilterState *state = (PartitionFilterState *) node;
	Bitmapset  *changed = node->ss.ps.chgParam;

	if (changed != NULL)
	{
		state->changed = bms_add_members(state->changed, changed);
		if (state->pruning && bms_overlap(changed, state->pruning->execparamids))
			state->pruned = false;
		state->keys_set = false;
	}
	state->scan++;
	state->current = -1;
	state->running = NULL;
}

/* ----------------------------------------------------------------
 *		EXPLAIN
 * ----------------------------------------------------------------
 */

/* The names of the indexes that are asked, each by that of its uppermost partitioned one */
static List *
index_names(const PartitionLookup *key)
{
	List	   *seen = NIL;
	List	   *names = NIL;
	ListCell   *cell;

	foreach(cell, key->indexes)
	{
		Oid			index = lfirst_oid(cell);
		List	   *ancestors;

		if (!OidIsValid(index))
			continue;
		/* none any more if another session has detached the partition */
		ancestors = get_partition_ancestors(index);
		if (ancestors != NIL)
			index = llast_oid(ancestors);
		seen = list_append_unique_oid(seen, index);
	}
	foreach(cell, seen)
	{
		char	   *name = get_rel_name(lfirst_oid(cell));

		/* NULL: dropped meanwhile, with the index that it was a part of */
		if (name)
			names = lappend(names, (char *) quote_identifier(name));
	}
	return names;
}

static void
partition_filter_explain(CustomScanState *node, List *ancestors,
						 ExplainState *es)
{
	PartitionFilterState *state = (PartitionFilterState *) node;
	NodeInstrumentation *instrument = node->ss.ps.instrument;
	Plan	   *plan = node->ss.ps.plan;
	int			removed = list_length(append_of(node)->appendplans) - state->count;
	List	   *context = set_deparse_context_plan(es->deparse_cxt, plan, ancestors);
	bool		prefix = list_length(es->rtable) > 1 || es->verbose;

	ExplainPropertyText("Value",
						deparse_expression((Node *) state->key.value, context,
										   prefix, false), es);
	ExplainPropertyList("Indexes", index_names(&state->key), es);
	/* as for an Append */
	if (removed > 0)
		ExplainPropertyInteger("Subplans Removed", NULL, removed, es);
	if (!es->analyze || !instrument)
		return;
	ExplainPropertyInteger("Partitions Asked", NULL,
						   (int64) instrument->partitions_asked, es);
	ExplainPropertyInteger("Partitions Skipped", NULL,
						   (int64) instrument->partitions_skipped, es);
}

const NodeKind partition_filter_node = {
	.plan = {"Partition Filter", node_create_state},
	.state_bytes = sizeof(PartitionFilterState),
	.exec.CustomName = "Partition Filter",
	.exec.BeginCustomScan = partition_filter_begin,
	.exec.ExecCustomScan = partition_filter_exec,
	.exec.EndCustomScan = partition_filter_end,
	.exec.ReScanCustomScan = partition_filter_rescan,
	.exec.ExplainCustomScan = partition_filter_explain
};
