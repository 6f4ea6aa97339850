/*
 * join_filter_store.c
 *	  Join Filter Store: the node that stores the outer rows of a hash join, and collects
 *	  their keys, before the inner side is read.
 *
 *		Hash Join
 *		  -> Join Filter Store
 *			   -> a few rows
 *		  -> Hash
 *			   -> Filter Scan of a large table, which probes the keys of these rows
 *
 * An inner row without one of these keys finds no partner, so it need not be hashed.  Core
 * reads an outer row before it builds the hash table, to see whether there is one.  When it
 * asks for that row, the node reads all rows of its child, stores them, and makes a filter of
 * their keys.  If there are more than rows_max of them, it gives up: no filter is made, and
 * after the stored rows it returns the child's others as they come.
 *
 * The filter is valid as long as the rows are stored.  The join may keep its hash table, which
 * lacks the dropped rows, when it is executed again.  So a rescan returns the stored rows
 * again, and does not ask the child.  No parameter of the child can have changed: such joins
 * are executed once (join_filter_plan.c).
 *
 * The Bypass Feeder (bypass.c) collects the keys of the rows that it stores by the same
 * functions.  EvalPlanQual's nodes are not linked, and only return their child's rows.
 */
#include "join_filter_store.h"

#include "miscadmin.h"
#include "utils/ruleutils.h"
#include "utils/tuplestore.h"

/* Fields of Instrumentation that count the keys and bytes of the filter, and the rows stored */
#define keys_collected			ntuples2
#define bytes_of_filters		nfiltered2
#define rows_stored				nfiltered1

/* ---- Keys ---- */

/* Return the column of a node's result that is this column of its custom_scan_tlist. */
static AttrNumber
result_column(const Plan *plan, AttrNumber attribute)
{
	ListCell   *cell;

	foreach(cell, plan->targetlist)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, cell);
		const Var  *var = (const Var *) entry->expr;

		if (IsA(var, Var) && var->varno == INDEX_VAR && var->varattno == attribute)
			return entry->resno;
	}
	elog(ERROR, "column %d of a join's key is not in the result", attribute);
}

/* Prepare to collect keys, if the node's plan wants that; else return NULL. */
StoredKeys *
stored_keys_begin(PlanState *node)
{
	List	   *plans = probe_plans((CustomScan *) node->plan);
	const ProbePlan *plan;
	StoredKeys *keys;
	MemoryContext mcxt;

	if (plans == NIL)
		return NULL;
	plan = linitial(plans);
	Assert(list_length(plans) == 1 && plan->kind == COLLECT_KEYS);
	keys = palloc0(sizeof(StoredKeys));
	key_reader_init(&keys->reader, plan->keys.kind, plan->keys.integer,
					(List *) plan->expression, plan->keys.functions,
					plan->keys.collations, plan->keys.own_hash, node);
	for (int i = 0; i < keys->reader.columns; i++)
	{
		AttrNumber *attribute = &keys->reader.attributes[i];

		if (keys->reader.expressions[i] == NULL)
			*attribute = result_column(node->plan, *attribute);
	}
	keys->block_column = plan->keys.block_column;
	keys->rows_max = plan->keys.rows_max;
	keys->econtext = CreateExprContext(node->state);
	keys->source.number = plan->keys.number;
	mcxt = AllocSetContextCreate(CurrentMemoryContext, "keys of stored rows",
								 ALLOCSET_SMALL_SIZES);
	key_collector_init(&keys->collector, plan->keys.kind, get_hash_memory_limit(),
					   plan->keys.rows_max, mcxt);
	key_collector_keep_ends(&keys->collector,
							key_order_begin(plan->keys.order, keys->reader.collations[plan->keys.block_column]));
	if (plan->keys.sent != NIL)
		keys->sent = sent_keys_begin(node->state, plan->keys.sent);
	join_filters_begun++;
	return keys;
}

/*
 * Note that the plan is executed, and not EvalPlanQual's.  "other" is the other side of the join;
 * "answers" are those of foreign servers in this execution.
 */
void
stored_keys_link(StoredKeys *keys, PlanState *other, List **answers)
{
	keys->linked = true;
	if (keys->sent)
		sent_keys_link(keys->sent, other, answers);
}

/* Collect the key of a row of the node's result, which is in the slot. */
void
stored_keys_add(StoredKeys *keys, TupleTableSlot *slot)
{
	MemoryContext old;
	uint64		key;

	ResetExprContext(keys->econtext);
	keys->econtext->ecxt_scantuple = slot;
	old = MemoryContextSwitchTo(keys->econtext->ecxt_per_tuple_memory);
	if (key_reader_read(&keys->reader, slot, keys->econtext, &key))
		key_collector_add(&keys->collector, key);
	if (keys->sent || keys->collector.order)
	{
		bool		isnull;
		Datum		value = slot_getattr(slot, keys->reader.attributes[keys->block_column],
										 &isnull);

		if (!isnull)
			key_collector_add_value(&keys->collector, value);
		if (!isnull && keys->sent)
			sent_keys_add(keys->sent, value);
	}
	MemoryContextSwitchTo(old);
}

/* Make the filter: all rows are stored. */
void
stored_keys_finish(StoredKeys *keys, NodeInstrumentation *instrument)
{
	KeyFilter  *filter;

	Assert(keys->linked && keys->source.filter == NULL);
	keys->source.filter = filter = key_collector_finish(&keys->collector);
	if (keys->sent)
		sent_keys_finish(keys->sent);
	if (instrument)
	{
		instrument->keys_collected += filter->count;
		instrument->bytes_of_filters += filter->bytes;
	}
}

void
stored_keys_forget(StoredKeys *keys)
{
	key_collector_reset(&keys->collector);
	if (keys->sent)
		sent_keys_forget(keys->sent);
	if (keys->source.filter)
		pfree(unconstify(KeyFilter *, keys->source.filter));
	keys->source.filter = NULL;
}

/* Print what EXPLAIN says of a node that collects keys. */
void
stored_keys_explain(const StoredKeys *keys, PlanState *node, List *ancestors,
					ExplainState *es)
{
	CustomScan *scan = (CustomScan *) node->plan;
	const ProbePlan *plan = linitial(probe_plans(scan));
	List	   *context = set_deparse_context_plan(es->deparse_cxt, &scan->scan.plan,
												   ancestors);
	NodeInstrumentation *instrument = node->instrument;

	ExplainPropertyInteger("Join Filter", NULL, plan->keys.number, es);
	ExplainPropertyText("Key", key_probe_text(plan, context), es);
	if (keys->sent)
		sent_keys_explain_servers(keys->sent, es);
	/* no filter: the node gave up, or was not executed */
	if (!es->analyze || !instrument || instrument->bytes_of_filters == 0)
		return;
	ExplainPropertyInteger("Elements", NULL, (int64) instrument->keys_collected, es);
	ExplainPropertyInteger("Filter Size", "kB",
						   (int64) (instrument->bytes_of_filters + 1023) / 1024, es);
	if (keys->sent)
		sent_keys_explain(keys->sent, es);
}

/* ---- The node ---- */

typedef struct StoreState
{
	CustomScanState css;
	StoredKeys *keys;
	Tuplestorestate *rows;		/* NULL: the child was not asked yet */
	TupleTableSlot *stored;		/* a row of "rows" */
	bool		has_stored;		/* "rows" may have more rows */
	bool		gave_up;		/* the child may have more rows */
} StoreState;

static void
store_begin(CustomScanState *node, EState *estate, int eflags)
{
	StoreState *state = (StoreState *) node;

	node_begin_child(node, estate, eflags);

	/*
	 * we return stored rows, or the child's slots; so do the expressions of
	 * the key
	 */
	node->ss.ps.resultops = &TTSOpsVirtual;
	node->ss.ps.resultopsfixed = false;
	node->ss.ps.scanopsset = true;
	node->ss.ps.scanopsfixed = false;
	node->ss.ps.scanops = &TTSOpsVirtual;
	state->stored = ExecInitExtraTupleSlot(estate, ExecGetResultType(&node->ss.ps),
										   &TTSOpsMinimalTuple);
	state->keys = stored_keys_begin(&node->ss.ps);
}

/* Store the child's rows and make a filter of their keys, or give up. */
static void
store_rows(StoreState *state)
{
	PlanState  *node = &state->css.ss.ps;
	int			rows_max = state->keys->rows_max;
	int			count = 0;

	state->rows = tuplestore_begin_heap(false, false, work_mem);
	while (count <= rows_max)
	{
		TupleTableSlot *slot = ExecProcNode(outerPlanState(node));

		if (TupIsNull(slot))
			break;
		tuplestore_puttupleslot(state->rows, slot);
		stored_keys_add(state->keys, slot);
		count++;
		CHECK_FOR_INTERRUPTS();
	}
	state->has_stored = count > 0;
	state->gave_up = count > rows_max;
	if (state->gave_up)
		stored_keys_forget(state->keys);
	else
		stored_keys_finish(state->keys, node->instrument);
	if (node->instrument)
		node->instrument->rows_stored += count;
}

static TupleTableSlot *
store_exec(CustomScanState *node)
{
	StoreState *state = (StoreState *) node;

	if (!state->keys->linked)
		return ExecProcNode(outerPlanState(node));
	if (state->rows == NULL)
	{
		/* the store and the filter live as long as the query */
		MemoryContext old = MemoryContextSwitchTo(node->ss.ps.state->es_query_cxt);

		store_rows(state);
		MemoryContextSwitchTo(old);
	}
	/* a store on disk is slow to report its end a second time */
	state->has_stored = state->has_stored &&
		tuplestore_gettupleslot(state->rows, true, false, state->stored);
	if (state->has_stored)
		return state->stored;
	return state->gave_up ? ExecProcNode(outerPlanState(node)) : NULL;
}

static void
store_end(CustomScanState *node)
{
	StoreState *state = (StoreState *) node;

	if (state->rows)
		tuplestore_end(state->rows);
	node_end_child(node);
}

static void
store_rescan(CustomScanState *node)
{
	StoreState *state = (StoreState *) node;

	ExecClearTuple(state->stored);
	if (state->rows && !state->gave_up)
	{
		if (outerPlanState(node)->chgParam != NULL)
			elog(ERROR, "parameters of the stored rows of join filter %d have changed",
				 state->keys->source.number);
		tuplestore_rescan(state->rows);
		state->has_stored = true;
		return;
	}
	if (state->rows)
		tuplestore_end(state->rows);
	state->rows = NULL;
	state->has_stored = state->gave_up = false;
	node_rescan_child(node);
}

static void
store_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	NodeInstrumentation *instrument = node->ss.ps.instrument;

	stored_keys_explain(((StoreState *) node)->keys, &node->ss.ps, ancestors, es);
	if (es->analyze && instrument)
		ExplainPropertyInteger("Rows Stored", NULL, (int64) instrument->rows_stored, es);
}

const NodeKind join_filter_store_node = {
	.plan = {"Join Filter Store", node_create_state},
	.state_bytes = sizeof(StoreState),
	.exec.CustomName = "Join Filter Store",
	.exec.BeginCustomScan = store_begin,
	.exec.ExecCustomScan = store_exec,
	.exec.EndCustomScan = store_end,
	.exec.ReScanCustomScan = store_rescan,
	.exec.ExplainCustomScan = store_explain
};

/* Return the keys that a node collects, if it is a Join Filter Store; else NULL. */
StoredKeys *
stored_keys_of(PlanState *node)
{
	if (!IsA(node, CustomScanState) ||
		((CustomScanState *) node)->methods != &join_filter_store_node.exec)
		return NULL;
	return ((StoreState *) node)->keys;
}
