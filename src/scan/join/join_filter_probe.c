/*
 * join_filter_probe.c
 *	  Looking up rows in the filter of a join's keys, and Join Filter Probe, the node
 *	  that does this where the rows do not come from a Filter Scan.
 *
 * Until all keys are known every row passes.  A probe that drops too few rows pauses
 * (probe_switch.c).  Of several probes in one place, the one that lets the fewest rows
 * pass comes first.
 *
 * The plan (join_filter_plan.c): for each probe, custom_exprs has the list of the key's
 * columns, and custom_private its KeyProbePlan, as key_probe_write() makes a list of it;
 * key_probe_add() and key_probe_fields() write and read both.
 */
#include "join_filter_probe.h"

#include "scan/plan_fields.h"

#include "commands/explain.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#endif
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/primnodes.h"
#include "utils/ruleutils.h"

/* Plans have shares as integers; this is a share of 1. */
#define SHARE_ONE				1000

/* A probe in a plan's custom_private */
List *
key_probe_write(const KeyProbePlan *plan)
{
	return list_make3(list_make5_int(plan->number, plan->kind, plan->integer,
									 plan->forced, (int) (plan->share * SHARE_ONE)),
					  plan->functions, plan->collations);
}

KeyProbePlan
key_probe_read(List *fields)
{
	List	   *numbers = plan_fields(linitial(plan_fields(fields, 3)), 5);

	return (KeyProbePlan)
	{
		.number = list_nth_int(numbers, 0),
			.kind = list_nth_int(numbers, 1),
			.integer = list_nth_int(numbers, 2),
			.forced = list_nth_int(numbers, 3) != 0,
			.share = (double) list_nth_int(numbers, 4) / SHARE_ONE,
			.functions = lsecond(fields),
			.collations = lthird(fields)
	};
}

/* Add a probe to the plan of a Join Filter Probe. */
void
key_probe_add(CustomScan *scan, List *keys, List *fields)
{
	scan->custom_exprs = lappend(scan->custom_exprs, keys);
	scan->custom_private = lappend(scan->custom_private, fields);
}

/* What its plan says of its probes, beside the keys in custom_exprs */
List *
key_probe_fields(const CustomScan *scan)
{
	return plan_fields(scan->custom_private, list_length(scan->custom_exprs));
}

/*
 * key_probe_begin
 *		Prepare a probe, from what the plan says of it
 *
 * "keys" is a list of columns of the rows of a node, or of expressions of its scan
 * tuple.  Allocates in the current memory context.
 */
KeyProbe *
key_probe_begin(List *keys, List *fields, PlanState *node)
{
	KeyProbe   *probe = palloc0(sizeof(KeyProbe));

	Assert(list_length(keys) <= KEY_COLUMNS_MAX);
	probe->plan = key_probe_read(fields);
	probe->columns = list_length(keys);
	probe_switch_init(&probe->pays, probe->plan.share, probe->plan.forced);
	for (int i = 0; i < probe->columns; i++)
	{
		if (IsA(list_nth(keys, i), Var))
			probe->attributes[i] = list_nth_node(Var, keys, i)->varattno;
		else
			probe->expressions[i] = ExecInitExpr(list_nth(keys, i), node);
		if (probe->plan.kind == KEY_INTEGER)
			continue;
		fmgr_info(list_nth_oid(probe->plan.functions, i), &probe->functions[i]);
		probe->collations[i] = list_nth_oid(probe->plan.collations, i);
	}
	return probe;
}

/* The filter of all keys, or NULL if they are not known (yet) */
const KeyFilter *
key_probe_filter(KeyProbe *probe)
{
	return probe->source ? key_source_filter(probe->source) : probe->copy;
}

/*
 * key_probe_open
 *		The filter for the next "rows" rows, or NULL if they pass without a probe
 */
const KeyFilter *
key_probe_open(KeyProbe *probe, int rows)
{
	const KeyFilter *filter = key_probe_filter(probe);

	return filter && probe_switch_is_on(&probe->pays, rows) ? filter : NULL;
}

/*
 * key_probe_key
 *		The key of a row, by the values of its columns
 *
 * Returns false if one is NULL: such a row has no partner.  Reads no values beyond
 * the first NULL.  May allocate memory in the current context.
 */
bool
key_probe_key(KeyProbe *probe, const Datum *values, const bool *nulls,
			  uint64 *key)
{
	uint32		hash = 0;

	for (int i = 0; i < probe->columns; i++)
	{
		if (nulls[i])
			return false;
		if (probe->plan.kind == KEY_INTEGER)
		{
			*key = key_of_datum(probe->plan.integer, values[i]);
			return true;
		}
		hash = key_combine(hash,
						   DatumGetUInt32(FunctionCall1Coll(&probe->functions[i],
															probe->collations[i],
															values[i])));
	}
	*key = hash;
	return true;
}

/* Sort probes of one place: those that let the fewest rows pass come first. */
void
key_probes_sort(List *probes)
{
	for (int i = 1; i < list_length(probes); i++)
	{
		KeyProbe   *probe = list_nth(probes, i);
		int			place = i;

		for (; place > 0 &&
			 ((KeyProbe *) list_nth(probes, place - 1))->pays.share > probe->pays.share; place--)
			lfirst(list_nth_cell(probes, place)) = list_nth(probes, place - 1);
		lfirst(list_nth_cell(probes, place)) = probe;
	}
}

/*
 * key_probe_text
 *		What EXPLAIN says of a probe, from what the plan says
 *
 * "context" is that of the plan's node; "prefix" puts the tables' names before the
 * columns.
 */
char *
key_probe_text(List *keys, List *fields, List *context, bool prefix)
{
	return psprintf("%s in join filter %d",
					deparse_expression((Node *) keys, context, prefix, false),
					key_probe_read(fields).number);
}

/* How often these probes paused in this process */
uint64
key_probes_pauses(List *probes)
{
	uint64		pauses = 0;
	ListCell   *cell;

	foreach(cell, probes)
		pauses += ((KeyProbe *) lfirst(cell))->pays.pauses;
	return pauses;
}

/*
 * key_probes_explain
 *		Print what EXPLAIN ANALYZE says of the rows of a node with probes
 *
 * "removed" is negative if they remove none; "skipped" rows came before the filter was
 * complete, or during a pause.
 */
void
key_probes_explain(uint64 pauses, double probed, double removed,
				   double skipped, ExplainState *es)
{
	ExplainPropertyInteger("Rows Probed", NULL, (int64) probed, es);
	if (removed >= 0)
		ExplainPropertyInteger("Rows Removed by Probe", NULL, (int64) removed, es);
	if (skipped > 0)
		ExplainPropertyInteger("Rows Not Probed", NULL, (int64) skipped, es);
	if (pauses > 0)
		ExplainPropertyInteger("Probe Pauses", NULL, (int64) pauses, es);
}

/* ----------------------------------------------------------------
 *		Join Filter Probe
 * ----------------------------------------------------------------
 */

/* The probes are sorted anew after this many rows. */
#define SORT_ROWS				2048

/* The fields of Instrumentation that count the rows probed, not probed, and not passed */
#define rows_probed				ntuples2
#define rows_skipped			nfiltered1
#define rows_removed			nfiltered2

typedef struct KeyProbeState
{
	CustomScanState css;
	List	   *probes;			/* of KeyProbe, in the order of probing */
	uint64		rows;			/* rows since they were sorted */
} KeyProbeState;

static void
key_probe_begin_scan(CustomScanState *node, EState *estate, int eflags)
{
	KeyProbeState *state = (KeyProbeState *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;
	PlanState  *child = ExecInitNode(outerPlan(plan), estate, eflags);
	ListCell   *keys;
	ListCell   *fields;

	outerPlanState(node) = child;
	/* we return the child's slots, of whatever type */
	node->ss.ps.resultopsset = true;
	node->ss.ps.resultops = ExecGetResultSlotOps(child,
												 &node->ss.ps.resultopsfixed);
	/* keys that are expressions read such slots, too */
	node->ss.ps.scanopsset = true;
	node->ss.ps.scanops = node->ss.ps.resultops;
	node->ss.ps.scanopsfixed = node->ss.ps.resultopsfixed;
	forboth(keys, plan->custom_exprs, fields, key_probe_fields(plan))
	{
		state->probes = lappend(state->probes,
								key_probe_begin(lfirst(keys), lfirst(fields),
												&node->ss.ps));
	}
	key_probes_sort(state->probes);
}

/*
 * Does a row pass one of the probes?  It is in the slot, which is the econtext's scan
 * tuple.  Sets *seen if it was looked up.
 */
static bool
row_passes(KeyProbe *probe, TupleTableSlot *slot, ExprContext *econtext,
		   bool *seen)
{
	const KeyFilter *filter = key_probe_open(probe, 1);
	Datum		values[KEY_COLUMNS_MAX];
	bool		nulls[KEY_COLUMNS_MAX];
	uint64		key;
	bool		passes;

	if (filter == NULL)
		return true;
	for (int i = 0; i < probe->columns; i++)
	{
		values[i] = probe->expressions[i] ?
			ExecEvalExpr(probe->expressions[i], econtext, &nulls[i]) :
			slot_getattr(slot, probe->attributes[i], &nulls[i]);
		/* the join stops here, too: the next expression might fail */
		if (nulls[i])
			break;
	}
	passes = key_probe_key(probe, values, nulls, &key) &&
		key_filter_contains(filter, key);
	probe_switch_count(&probe->pays, 1, passes);
	*seen = true;
	return passes;
}

static TupleTableSlot *
key_probe_exec(CustomScanState *node)
{
	KeyProbeState *state = (KeyProbeState *) node;
	ExprContext *econtext = node->ss.ps.ps_ExprContext;
	NodeInstrumentation *instrument = node->ss.ps.instrument;

	for (;;)
	{
		TupleTableSlot *slot = ExecProcNode(outerPlanState(node));
		MemoryContext old;
		bool		passes = true;
		bool		seen = false;
		ListCell   *cell;

		if (TupIsNull(slot))
			return slot;
		ResetExprContext(econtext);
		econtext->ecxt_scantuple = slot;
		old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
		foreach(cell, state->probes)
		{
			passes = row_passes(lfirst(cell), slot, econtext, &seen);
			if (!passes)
				break;
		}
		MemoryContextSwitchTo(old);
		if (++state->rows % SORT_ROWS == 0)
			key_probes_sort(state->probes);
		if (instrument)
		{
			instrument->rows_probed += seen;
			instrument->rows_skipped += !seen;
			instrument->rows_removed += !passes;
		}
		if (passes)
			return slot;
		CHECK_FOR_INTERRUPTS();
	}
}

static void
key_probe_end(CustomScanState *node)
{
	ExecEndNode(outerPlanState(node));
}

static void
key_probe_rescan(CustomScanState *node)
{
	if (outerPlanState(node)->chgParam == NULL)
		ExecReScan(outerPlanState(node));
}

static void
key_probe_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;
	NodeInstrumentation *instrument = node->ss.ps.instrument;
	List	   *context = set_deparse_context_plan(es->deparse_cxt,
												   &plan->scan.plan, ancestors);
	List	   *probes = NIL;
	ListCell   *keys;
	ListCell   *fields;

	forboth(keys, plan->custom_exprs, fields, key_probe_fields(plan))
	{
		probes = lappend(probes, key_probe_text(lfirst(keys), lfirst(fields),
												context, true));
	}
	ExplainPropertyList("Probe", probes, es);
	if (es->analyze && instrument)
		key_probes_explain(key_probes_pauses(((KeyProbeState *) node)->probes),
						   instrument->rows_probed, instrument->rows_removed,
						   instrument->rows_skipped, es);
}

static const CustomExecMethods exec_methods = {
	.CustomName = "Join Filter Probe",
	.BeginCustomScan = key_probe_begin_scan,
	.ExecCustomScan = key_probe_exec,
	.EndCustomScan = key_probe_end,
	.ReScanCustomScan = key_probe_rescan,
	.ExplainCustomScan = key_probe_explain
};

static Node *
key_probe_create_state(CustomScan *plan)
{
	KeyProbeState *state = (KeyProbeState *)
		newNode(sizeof(KeyProbeState), T_CustomScanState);

	state->css.methods = &exec_methods;
	return (Node *) state;
}

const CustomScanMethods join_filter_probe_methods = {
	.CustomName = "Join Filter Probe",
	.CreateCustomScanState = key_probe_create_state
};

/* The KeyProbes of a node, if it is a Join Filter Probe; else NIL */
List *
key_probes_of(PlanState *node)
{
	if (!IsA(node, CustomScanState) ||
		((CustomScanState *) node)->methods != &exec_methods)
		return NIL;
	return ((KeyProbeState *) node)->probes;
}
