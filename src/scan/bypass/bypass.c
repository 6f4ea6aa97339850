/*
 * bypass.c
 *	  The executor's side of the Filter Bypass, which returns the rows that certainly
 *	  have no partner, and has only the others joined.
 *
 * Two nodes, and a join between them (bypass_path.c makes them).  The Filter Bypass reads
 * the Filter Scan below the feeder.  If an index says that a row has no partner, or its
 * key is NULL, the Bypass returns it with NULLs for the other side's columns, by the join's
 * own conditions and projection, in the join's own state.
 *
 * A row that may have a partner goes to the feeder.  A nested loop gets each of them at
 * once, and is called until it needs the next: it then returns NULL, as at its end, and
 * goes on when it is called again.  A hash join ends when its outer side does, and reads its
 * inner side only once.  So the feeder stores the rows for it.  The join runs when all
 * other rows have been returned.  It does not run at all if no row is stored, unless it is
 * a full join, which also returns rows of the other side.
 *
 * If most of STORED_ROWS may have a partner, the feeder reads all further rows for the hash
 * join: to join a row is always right.  But if it is the hashed side, it goes on storing: rows
 * without a partner would fill the hash table, and no number of batches separates NULL keys.
 *
 * The other side of a hash join is read when all rows are stored.  So the feeder may collect
 * their keys (join_filter_store.c), which that side probes.
 *
 * EvalPlanQual has all rows joined, since those that it puts in the place of others are
 * not probed.
 */
#include "bypass.h"

#include "scan/filter_scan.h"
#include "scan/node.h"

#include "miscadmin.h"
#include "utils/tuplestore.h"

/* The fields of Instrumentation that count the rows returned at once, and those joined */
#define rows_bypassed				ntuples2
#define rows_joined				nfiltered2

/* Decide whether to store any more after this many rows. */
#define STORED_ROWS				65536

typedef struct FeederState
{
	CustomScanState css;
	TupleTableSlot *next;		/* the row to return next, or NULL */
	Tuplestorestate *store;		/* for hash joins; else NULL */
	TupleTableSlot *stored;		/* a row of the store */
	bool		has_stored;		/* the store has more rows */
	bool		reads;			/* after the store's rows, read the scan */
	StoredKeys *keys;			/* of the stored rows, or NULL */
	NodeInstrumentation *counts;	/* of rows read from the scan */
} FeederState;

typedef enum BypassPhase
{
	BYPASS_READING,				/* reads rows of the scan */
	BYPASS_JOINING,				/* joins the rows that the feeder has */
	BYPASS_DONE
} BypassPhase;

typedef struct BypassState
{
	CustomScanState css;
	JoinState  *join;
	FeederState *feeder;
	bool		feeds_inner;	/* the feeder is the join's inner side */
	uint64		bypassed;		/* rows returned at once */
	uint64		fed;			/* rows given to the feeder */
	BypassPhase phase;
	TupleTableSlot *null_slot;	/* a row of the other side */
	TupleTableSlot *inner_slot; /* a row of the feeder as inner side */
} BypassState;

static PlanState *
child_of(CustomScanState *node)
{
	return linitial(node->custom_ps);
}

static void
begin_child(CustomScanState *node, EState *estate, int eflags)
{
	Plan	   *plan = linitial(((CustomScan *) node->ss.ps.plan)->custom_plans);

	node->custom_ps = list_make1(ExecInitNode(plan, estate, eflags));
}

/* The node's result row for a row of its child */
static inline TupleTableSlot *
project(CustomScanState *node, TupleTableSlot *slot)
{
	ExprContext *econtext = node->ss.ps.ps_ExprContext;

	if (node->ss.ps.ps_ProjInfo == NULL)
		return slot;
	ResetExprContext(econtext);
	econtext->ecxt_scantuple = slot;
	return ExecProject(node->ss.ps.ps_ProjInfo);
}

/* Rescan the child at once: the Bypass itself reads what is below it. */
static void
rescan_child(CustomScanState *node)
{
	PlanState  *child = child_of(node);

	if (node->ss.ps.chgParam != NULL)
		UpdateChangedParamSet(child, node->ss.ps.chgParam);
	ExecReScan(child);
}

/* ---- Bypass Feeder ---- */

static void
feeder_begin(CustomScanState *node, EState *estate, int eflags)
{
	FeederState *state = (FeederState *) node;

	begin_child(node, estate, eflags);
	/* we return the child's slots, or stored rows */
	node->ss.ps.scanopsset = true;
	node->ss.ps.scanops = ExecGetResultSlotOps(child_of(node),
											   &node->ss.ps.scanopsfixed);
	ExecAssignScanProjectionInfoWithVarno(&node->ss, INDEX_VAR);
	node->ss.ps.resultopsset = true;
	node->ss.ps.resultopsfixed = false;
	node->ss.ps.resultops = &TTSOpsVirtual;
	state->stored = ExecInitExtraTupleSlot(estate,
										   ExecGetResultType(&node->ss.ps),
										   &TTSOpsMinimalTuple);
	state->keys = stored_keys_begin(&node->ss.ps);
}

/* The next row of the scan, as the join would get it; *to_join: it has to be joined */
static TupleTableSlot *
feeder_read(FeederState *state, bool *to_join)
{
	PlanState  *scan = child_of(&state->css);
	TupleTableSlot *slot;

	if (state->css.ss.ps.chgParam != NULL)
		ExecReScan(&state->css.ss.ps);
	slot = ExecProcNode(scan);
	if (TupIsNull(slot))
		return NULL;
	*to_join = filter_scan_row_passes(scan);
	return project(&state->css, slot);
}

static TupleTableSlot *
feeder_exec(CustomScanState *node)
{
	FeederState *state = (FeederState *) node;
	TupleTableSlot *slot = state->next;
	bool		to_join;

	if (state->store == NULL)
	{
		state->next = NULL;
		return slot;
	}
	/* a store on disk is slow to report its end a second time */
	state->has_stored = state->has_stored &&
		tuplestore_gettupleslot(state->store, true, false, state->stored);
	if (state->has_stored)
		return state->stored;
	if (!state->reads)
		return NULL;
	slot = feeder_read(state, &to_join);
	state->reads = slot != NULL;
	if (state->reads && state->counts)
		state->counts->rows_joined++;
	return slot;
}

static void
feeder_end(CustomScanState *node)
{
	FeederState *state = (FeederState *) node;

	if (state->store)
		tuplestore_end(state->store);
	ExecEndNode(child_of(node));
}

static void
feeder_rescan(CustomScanState *node)
{
	FeederState *state = (FeederState *) node;

	state->next = NULL;
	state->has_stored = state->reads = false;
	if (state->store)
		tuplestore_clear(state->store);
	if (state->keys)
		stored_keys_forget(state->keys);
	rescan_child(node);
}

static void
feeder_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	const StoredKeys *keys = ((FeederState *) node)->keys;

	if (keys)
		stored_keys_explain(keys, &node->ss.ps, ancestors, es);
}

const NodeKind bypass_feeder_node = {
	.plan = {"Bypass Feeder", node_create_state},
	.state_bytes = sizeof(FeederState),
	.exec.CustomName = "Bypass Feeder",
	.exec.BeginCustomScan = feeder_begin,
	.exec.ExecCustomScan = feeder_exec,
	.exec.EndCustomScan = feeder_end,
	.exec.ReScanCustomScan = feeder_rescan,
	.exec.ExplainCustomScan = feeder_explain
};

/* Return the keys that a node collects, if it is a Bypass Feeder that does; else NULL. */
StoredKeys *
bypass_stored_keys(PlanState *node)
{
	if (!IsA(node, CustomScanState) ||
		((CustomScanState *) node)->methods != &bypass_feeder_node.exec)
		return NULL;
	return ((FeederState *) node)->keys;
}

/* ---- Filter Bypass ---- */

/* The feeder on a side of the join, or NULL */
static FeederState *
feeder_on(PlanState *side)
{
	if (IsA(side, HashState))
		side = outerPlanState(side);
	return IsA(side, CustomScanState) &&
		((CustomScanState *) side)->methods == &bypass_feeder_node.exec ?
		(FeederState *) side : NULL;
}

static void
bypass_begin(CustomScanState *node, EState *estate, int eflags)
{
	BypassState *state = (BypassState *) node;
	PlanState  *other;
	FeederState *feeder;

	begin_child(node, estate, eflags);
	state->join = (JoinState *) child_of(node);
	other = innerPlanState(state->join);
	feeder = feeder_on(outerPlanState(state->join));
	if (feeder == NULL)
	{
		state->feeds_inner = true;
		other = outerPlanState(state->join);
		feeder = feeder_on(innerPlanState(state->join));
	}
	if (feeder == NULL)
		elog(ERROR, "no Bypass Feeder is below the join of a Filter Bypass");
	state->feeder = feeder;
	if (IsA(state->join, HashJoinState))
		feeder->store = tuplestore_begin_heap(false, false, work_mem);
	state->null_slot = ExecInitNullTupleSlot(estate, ExecGetResultType(other),
											 &TTSOpsVirtual);
	/* a hash join's expressions read a Hash node's rows, or virtual ones */
	if (state->feeds_inner)
		state->inner_slot = ExecInitExtraTupleSlot(estate,
												   ExecGetResultType(&feeder->css.ss.ps),
												   &TTSOpsVirtual);
}

/* The join's result for a feeder's row without a partner; NULL if a condition fails */
static TupleTableSlot *
return_unmatched(BypassState *state, TupleTableSlot *slot)
{
	PlanState  *join = &state->join->ps;
	ExprContext *econtext = join->ps_ExprContext;

	ResetExprContext(econtext);
	if (state->feeds_inner)
	{
		TupleTableSlot *copy = ExecClearTuple(state->inner_slot);

		slot_getallattrs(slot);
		memcpy(copy->tts_values, slot->tts_values,
			   copy->tts_tupleDescriptor->natts * sizeof(Datum));
		memcpy(copy->tts_isnull, slot->tts_isnull,
			   copy->tts_tupleDescriptor->natts * sizeof(bool));
		econtext->ecxt_innertuple = ExecStoreVirtualTuple(copy);
		econtext->ecxt_outertuple = state->null_slot;
	}
	else
	{
		econtext->ecxt_outertuple = slot;
		econtext->ecxt_innertuple = state->null_slot;
	}
	if (!ExecQual(join->qual, econtext))
	{
		InstrCountFiltered2(join, 1);
		return NULL;
	}
	return ExecProject(join->ps_ProjInfo);
}

/* Give the feeder a row to be joined. */
static void
feed(BypassState *state, TupleTableSlot *slot)
{
	StoredKeys *keys = state->feeder->keys;

	if (state->feeder->store == NULL)
	{
		state->feeder->next = slot;
		state->phase = BYPASS_JOINING;
		return;
	}
	tuplestore_puttupleslot(state->feeder->store, slot);
	state->feeder->has_stored = true;
	if (keys && keys->linked)
		stored_keys_add(keys, slot);
	if (++state->fed >= STORED_ROWS && !state->feeds_inner &&
		state->fed > BYPASS_SHARE_MAX * (state->fed + state->bypassed))
	{
		state->feeder->reads = true;
		state->feeder->counts = state->css.ss.ps.instrument;
		state->phase = BYPASS_JOINING;
	}
}

/* The next row of the join, or NULL */
static TupleTableSlot *
next_row(BypassState *state)
{
	NodeInstrumentation *instrument = state->css.ss.ps.instrument;

	while (state->phase != BYPASS_DONE)
	{
		TupleTableSlot *slot;
		bool		to_join;

		CHECK_FOR_INTERRUPTS();
		if (state->phase == BYPASS_JOINING)
		{
			slot = ExecProcNode(&state->join->ps);
			if (!TupIsNull(slot))
				return slot;
			state->phase = state->feeder->store ? BYPASS_DONE : BYPASS_READING;
			continue;
		}
		slot = feeder_read(state->feeder, &to_join);
		if (slot == NULL)
		{
			if (state->feeder->keys && state->feeder->keys->linked)
				stored_keys_finish(state->feeder->keys,
								   state->feeder->css.ss.ps.instrument);
			/* a full join returns the other side's rows, too */
			state->phase = state->fed > 0 || state->join->jointype == JOIN_FULL ?
				BYPASS_JOINING : BYPASS_DONE;
			continue;
		}
		if (instrument)
		{
			instrument->rows_bypassed += !to_join;
			instrument->rows_joined += to_join;
		}
		if (to_join)
			feed(state, slot);
		else
		{
			state->bypassed++;
			slot = return_unmatched(state, slot);
			if (slot != NULL)
				return slot;
		}
	}
	return NULL;
}

static TupleTableSlot *
bypass_exec(CustomScanState *node)
{
	TupleTableSlot *slot = next_row((BypassState *) node);

	return slot == NULL ? NULL : project(node, slot);
}

static void
bypass_end(CustomScanState *node)
{
	ExecEndNode(child_of(node));
}

static void
bypass_rescan(CustomScanState *node)
{
	BypassState *state = (BypassState *) node;
	PlanState  *side = state->feeds_inner ? innerPlanState(state->join) :
		outerPlanState(state->join);

	state->phase = BYPASS_READING;
	state->bypassed = state->fed = 0;

	/*
	 * Mark any parameter as changed, to have the hash table built anew: the
	 * index may tell more by now, and rows in the old table could also be
	 * returned at once; or the old table lacks rows, as other rows were fed.
	 */
	if (state->feeds_inner || state->feeder->keys)
		innerPlanState(state->join)->chgParam =
			bms_add_member(innerPlanState(state->join)->chgParam, 0);
	rescan_child(node);
	/* core would rescan nodes with changed parameters only when they are read */
	if (side->chgParam != NULL)
		ExecReScan(side);
	if (state->feeder->css.ss.ps.chgParam != NULL)
		ExecReScan(&state->feeder->css.ss.ps);
}

static void
bypass_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	NodeInstrumentation *instrument = node->ss.ps.instrument;

	if (!es->analyze || !instrument)
		return;
	ExplainPropertyInteger("Rows Bypassed", NULL,
						   (int64) instrument->rows_bypassed, es);
	ExplainPropertyInteger("Rows Joined", NULL,
						   (int64) instrument->rows_joined, es);
}

const NodeKind bypass_node = {
	.plan = {"Filter Bypass", node_create_state},
	.state_bytes = sizeof(BypassState),
	.exec.CustomName = "Filter Bypass",
	.exec.BeginCustomScan = bypass_begin,
	.exec.ExecCustomScan = bypass_exec,
	.exec.EndCustomScan = bypass_end,
	.exec.ReScanCustomScan = bypass_rescan,
	.exec.ExplainCustomScan = bypass_explain
};
