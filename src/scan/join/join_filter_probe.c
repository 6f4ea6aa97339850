/*
 * join_filter_probe.c
 *	  Looks rows up in the filter of a join's keys; and Join Filter Probe, the node that
 *	  does so where the rows do not come from a Filter Scan.
 *
 * Of several probes in one node, the one that lets the fewest rows pass comes first.
 */
#include "join_filter_probe.h"

#include "miscadmin.h"
#include "utils/ruleutils.h"

/* Prepare a probe: plan->expression lists columns or expressions of the node's rows. */
static KeyProbe *
begin_probe(const ProbePlan *plan, PlanState *node)
{
	const KeyProbePlan *keys = &plan->keys;
	KeyProbe   *probe = palloc0(sizeof(KeyProbe));

	probe->probe.settled = true;
	probe->probe.pays = &probe->pays;
	probe->plan = *keys;
	probe_switch_init(&probe->pays, keys->share, keys->forced);
	key_reader_init(&probe->reader, keys->kind, keys->integer, (List *) plan->expression,
					keys->functions, keys->collations, keys->own_hash, node);
	return probe;
}

/* The method "begin" */
static Probe *
begin_keys(const ProbePlan *plan, PlanState *node)
{
	return &begin_probe(plan, node)->probe;
}

/* Return the filter of all keys, or NULL if they are not known, or not yet. */
const KeyFilter *
key_probe_filter(KeyProbe *probe)
{
	return probe->source ? key_source_filter(probe->source) : probe->copy;
}

/* Return the filter for the next "rows" rows, or NULL if they pass without being probed. */
static const KeyFilter *
open_filter(KeyProbe *probe, int rows)
{
	const KeyFilter *filter = key_probe_filter(probe);

	return filter && probe_switch_is_on(&probe->pays, rows) ? filter : NULL;
}

/*
 * May the filter contain a key?  Only integers have a range: a key outside of it has no
 * partner.
 */
static inline bool
in_range(const KeyFilter *filter, uint64 key)
{
	return filter->kind == KEY_HASH || (key >= filter->least && key <= filter->most);
}

/* The method "look_up" */
static bool
look_up_in_keys(Probe *base, ProbedPage *page)
{
	KeyProbe   *probe = (KeyProbe *) base;
	const KeyFilter *filter = open_filter(probe, page->count);
	TupleDesc	columns = RelationGetDescr(page->scan->rs_rd);
	Datum		values[KEY_COLUMNS_MAX];
	bool		nulls[KEY_COLUMNS_MAX];
	int			hashed = 0;

	if (filter == NULL)
		return false;
	Assert(filter->kind == probe->plan.kind);
	for (int i = 0; i < page->count; i++)
	{
		HeapTupleData tuple;

		heap_page_row(page->scan, page->rows[i], &tuple);
		for (int j = 0; j < probe->reader.columns; j++)
			values[j] = heap_getattr(&tuple, probe->reader.attributes[j], columns,
									 &nulls[j]);
		if (key_reader_make(&probe->reader, values, nulls, &page->hashes[hashed]) &&
			in_range(filter, page->hashes[hashed]))
			page->rows[hashed++] = page->rows[i];
		if (probe->plan.kind == KEY_HASH)
			MemoryContextReset(CurrentMemoryContext);
	}
	page->count = hashed;
	key_filter_contains_batch(filter, page->hashes, hashed, page->found);
	return true;
}

/* Return EXPLAIN's text of the columns or expressions that are a key. */
char *
key_probe_text(const ProbePlan *plan, List *context)
{
	return deparse_expression(plan->expression, context, true, false);
}

/* The method "text" */
static char *
text_of_keys(const ProbePlan *plan, List *context, bool verbose)
{
	return psprintf("%s in join filter %d",
					deparse_expression(plan->expression, context, verbose, false),
					plan->keys.number);
}

const ProbeMethods probe_keys_methods = {
	.begin = begin_keys,
	.look_up = look_up_in_keys,
	.text = text_of_keys
};

/* Sort the KeyProbes of a list, from number "first" on, by their share of passing rows. */
void
key_probes_sort(List *probes, int first)
{
	for (int i = first + 1; i < list_length(probes); i++)
	{
		KeyProbe   *probe = list_nth(probes, i);
		int			place = i;

		for (; place > first &&
			 ((KeyProbe *) list_nth(probes, place - 1))->pays.share > probe->pays.share; place--)
			lfirst(list_nth_cell(probes, place)) = list_nth(probes, place - 1);
		lfirst(list_nth_cell(probes, place)) = probe;
	}
}

/*
 * Print EXPLAIN ANALYZE's numbers of rows for a node with probes.  "removed" is negative if
 * the probes remove none.  "skipped" rows came before the filter was complete, or during a
 * pause.
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

/* ---- Join Filter Probe ---- */

/* Sort the probes again after this many rows. */
#define SORT_ROWS				2048

/* Field of Instrumentation that counts the rows not probed */
#define rows_skipped			nfiltered1

typedef struct KeyProbeState
{
	CustomScanState css;
	List	   *probes;			/* KeyProbes, in the order of probing */
	uint64		rows;			/* rows read */
} KeyProbeState;

static void
key_probe_begin_scan(CustomScanState *node, EState *estate, int eflags)
{
	KeyProbeState *state = (KeyProbeState *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;
	ListCell   *cell;

	node_begin_child(node, estate, eflags);
	/* expressions in the key read the child's slots too */
	node->ss.ps.scanopsset = true;
	node->ss.ps.scanops = node->ss.ps.resultops;
	node->ss.ps.scanopsfixed = node->ss.ps.resultopsfixed;
	foreach(cell, probe_plans(plan))
		state->probes = lappend(state->probes, begin_probe(lfirst(cell), &node->ss.ps));
	key_probes_sort(state->probes, 0);
}

/*
 * Does a row pass a probe?  The row is in the slot, which is the econtext's scan tuple.  Set
 * *seen if the row was looked up.
 */
static bool
row_passes(KeyProbe *probe, TupleTableSlot *slot, ExprContext *econtext,
		   bool *seen)
{
	const KeyFilter *filter = open_filter(probe, 1);
	uint64		key;
	bool		passes;

	if (filter == NULL)
		return true;
	Assert(filter->kind == probe->plan.kind);
	passes = key_reader_read(&probe->reader, slot, econtext, &key) && in_range(filter, key) &&
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
			key_probes_sort(state->probes, 0);
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
key_probe_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;
	NodeInstrumentation *instrument = node->ss.ps.instrument;
	List	   *context = set_deparse_context_plan(es->deparse_cxt,
												   &plan->scan.plan, ancestors);
	List	   *texts = NIL;
	uint64		pauses = 0;
	ListCell   *cell;

	foreach(cell, probe_plans(plan))
		texts = lappend(texts, text_of_keys(lfirst(cell), context, true));
	ExplainPropertyList("Probe", texts, es);
	foreach(cell, ((KeyProbeState *) node)->probes)
		pauses += ((KeyProbe *) lfirst(cell))->pays.pauses;
	if (es->analyze && instrument)
		key_probes_explain(pauses, instrument->rows_probed, instrument->rows_removed,
						   instrument->rows_skipped, es);
}

const NodeKind join_filter_probe_node = {
	.plan = {"Join Filter Probe", node_create_state},
	.state_bytes = sizeof(KeyProbeState),
	.exec.CustomName = "Join Filter Probe",
	.exec.BeginCustomScan = key_probe_begin_scan,
	.exec.ExecCustomScan = key_probe_exec,
	.exec.EndCustomScan = node_end_child,
	.exec.ReScanCustomScan = node_rescan_child,
	.exec.ExplainCustomScan = key_probe_explain
};

/* Return the KeyProbes of a node, if it is a Join Filter Probe; else NIL. */
List *
key_probes_of(PlanState *node)
{
	if (!IsA(node, CustomScanState) ||
		((CustomScanState *) node)->methods != &join_filter_probe_node.exec)
		return NIL;
	return ((KeyProbeState *) node)->probes;
}
