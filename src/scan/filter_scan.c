/*
 * filter_scan.c
 *	  The executor's side of the Filter Scan: a sequential scan that probes filters
 *	  with the rows of a page, all at once, before any of them leaves the scan.
 *
 * The plan (filter_path.c makes it) is a CustomScan of a table.  For each probe there
 * is an expression in custom_exprs, and a list in custom_private: a condition that
 * probes, and NIL; or an element to be looked up for a join, and what probe_begin()
 * has to know of the index; or a list of columns to be looked up in the keys of a hash
 * join, and what key_probe_begin() has to know (key_plan.c adds those).  The table's
 * other conditions are in "qual" as in any scan.
 *
 * A row that a filter removes needs no slot and no call of the executor.  The rows
 * that pass are stored in a slot one by one; ExecScan() checks the other conditions
 * and projects.
 *
 * EvalPlanQual replaces the row of a scan by a newer one, which is probed again: that
 * is the recheck.
 *
 * Parallel.  The processes share the table's pages as in a parallel sequential scan.
 *
 * We count the rows that are probed and removed in the node's instrumentation, which
 * has fields for counts of a node's own.  The server adds up those of all processes,
 * also if one worker makes the whole scan.
 */
#include "filter_scan.h"
#include "probe.h"

#include "access/tableam.h"
#include "catalog/pg_type.h"
#include "commands/explain.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#endif
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"

/* The fields of Instrumentation for rows that were probed, and that did not pass */
#define rows_probed				ntuples2
#define rows_removed			nfiltered2

/* The probes of joins' keys are sorted anew each time this many pages are read. */
#define SORT_PAGES				64

typedef struct FilterScanState
{
	CustomScanState css;
	List	   *probes;			/* of Probe, in order of application */
	List	   *key_probes;		/* of KeyProbe: those among them */
	int			key_place;		/* of the first of them in "probes" */
	uint64		pages;			/* since these were sorted */
	TableScanDesc scan;			/* NULL: not begun */
	ParallelTableScanDesc parallel; /* of a parallel scan, or NULL */
	HeapTupleData tuple;		/* of the row returned last */
	int			rows[HEAP_PAGE_ROWS_MAX];	/* of the page, that have passed */
	int			count;			/* of "rows" */
	int			next;			/* the one to be returned next */
} FilterScanState;

/* Sort the probes of joins' keys, which come last: the most selective goes first. */
static void
sort_key_probes(FilterScanState *state)
{
	int			place = state->key_place;
	ListCell   *cell;

	key_probes_sort(state->key_probes);
	foreach(cell, state->key_probes)
	{
		Probe	   *probe = list_nth(state->probes, place++);

		Assert(probe->kind == PROBE_KEYS);
		probe->keys = lfirst(cell);
	}
}

static void
filter_scan_begin(CustomScanState *node, EState *estate, int eflags)
{
	FilterScanState *state = (FilterScanState *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;
	ListCell   *cell;
	ListCell   *join;

#if PG_VERSION_NUM < 160000
	/* the server has made a virtual slot, and expressions that read such */
	node->ss.ps.subPlan = NIL;
	ExecInitScanTupleSlot(estate, &node->ss,
						  RelationGetDescr(node->ss.ss_currentRelation),
						  &TTSOpsBufferHeapTuple);
	ExecAssignScanProjectionInfo(&node->ss);
	node->ss.ps.qual = ExecInitQual(plan->scan.plan.qual, &node->ss.ps);
#endif
	/* for EXPLAIN too: this checks that the user may call the functions */
	forboth(cell, plan->custom_exprs, join, plan->custom_private)
	{
		Probe	   *probe = probe_begin(lfirst(cell), lfirst(join),
										&node->ss.ps);

		state->probes = lappend(state->probes, probe);
		if (probe->kind == PROBE_KEYS)
			state->key_probes = lappend(state->key_probes, probe->keys);
	}
	state->key_place = list_length(state->probes) -
		list_length(state->key_probes);
	sort_key_probes(state);
}

/* Read pages until a row has passed.  Returns false at the end of the scan. */
static bool
read_page(FilterScanState *state)
{
	ScanState  *ss = &state->css.ss;

	if (state->scan == NULL)
		state->scan = heap_page_begin(ss, state->parallel);
	for (;;)
	{
		int			count = heap_page_next(state->scan);
		int			passed = count;
		bool		probed = false;
		ListCell   *cell;

		CHECK_FOR_INTERRUPTS();
		if (count == 0)
			return false;
		for (int i = 0; i < count; i++)
			state->rows[i] = i;
		foreach(cell, state->probes)
		{
			passed = probe_page(lfirst(cell), state->scan,
								ss->ps.ps_ExprContext, ss->ss_ScanTupleSlot,
								state->rows, passed, &probed);
			if (passed == 0)
				break;
		}
		if (++state->pages % SORT_PAGES == 0)
			sort_key_probes(state);
		if (ss->ps.instrument)
		{
			ss->ps.instrument->rows_probed += probed ? count : 0;
			ss->ps.instrument->rows_removed += count - passed;
		}
		if (passed > 0)
		{
			state->count = passed;
			state->next = 0;
			return true;
		}
	}
}

/* An ExecScanAccessMtd */
static TupleTableSlot *
next_row(ScanState *node)
{
	FilterScanState *state = (FilterScanState *) node;
	TupleTableSlot *slot = node->ss_ScanTupleSlot;

	if (state->next >= state->count && !read_page(state))
	{
		state->count = state->next = 0;
		return ExecClearTuple(slot);
	}
	heap_page_row(state->scan, state->rows[state->next++], &state->tuple);
	heap_page_store(state->scan, &state->tuple, slot);
	return slot;
}

/* An ExecScanRecheckMtd: does the row in the slot pass all filters? */
static bool
recheck_row(ScanState *node, TupleTableSlot *slot)
{
	FilterScanState *state = (FilterScanState *) node;
	ExprContext *econtext = node->ps.ps_ExprContext;
	ListCell   *cell;

	econtext->ecxt_scantuple = slot;
	foreach(cell, state->probes)
	{
		if (!probe_recheck(lfirst(cell), econtext))
			return false;
	}
	return true;
}

static TupleTableSlot *
filter_scan_exec(CustomScanState *node)
{
	return ExecScan(&node->ss, next_row, recheck_row);
}

static void
filter_scan_end(CustomScanState *node)
{
	FilterScanState *state = (FilterScanState *) node;

	if (state->scan)
		table_endscan(state->scan);
}

static void
filter_scan_rescan(CustomScanState *node)
{
	FilterScanState *state = (FilterScanState *) node;
	ListCell   *cell;

	state->count = state->next = 0;
	/* the slot has a pin of its own on the page */
	if (state->scan)
		table_rescan(state->scan, NULL);
	foreach(cell, state->probes)
		probe_rescan(lfirst(cell));
	ExecScanReScan(&node->ss);
}

/* ----------------------------------------------------------------
 *		Parallel scans
 * ----------------------------------------------------------------
 */

/*
 * The processes share a parallel scan, and copies of the joins' filters that are
 * complete when the workers start: these are of joins above the Gather.  Other
 * filters each process finds in its own part of the plan.
 */
typedef struct SharedCopy
{
	int			number;			/* of the filter */
	dsa_pointer filter;			/* one copy for all scans below the Gather */
} SharedCopy;

/* In front of the parallel scan */
typedef struct SharedScan
{
	int			copies;
	SharedCopy	copy[FLEXIBLE_ARRAY_MEMBER];	/* room for all probes */
} SharedScan;

#define shared_scan_bytes(probes) \
	MAXALIGN(offsetof(SharedScan, copy) + list_length(probes) * sizeof(SharedCopy))
#define shared_scan(shared, probes) \
	((ParallelTableScanDesc) ((char *) (shared) + shared_scan_bytes(probes)))

static Size
filter_scan_estimate_dsm(CustomScanState *node, ParallelContext *context)
{
	FilterScanState *state = (FilterScanState *) node;
	ListCell   *cell;

	/* it may lie in the memory of an earlier Gather */
	foreach(cell, state->key_probes)
	{
		KeyProbe   *probe = lfirst(cell);

		if (probe->source)
			probe->source->copy = InvalidDsaPointer;
	}
	return add_size(shared_scan_bytes(state->key_probes),
					table_parallelscan_estimate(node->ss.ss_currentRelation,
												node->ss.ps.state->es_snapshot));
}

/*
 * A copy of a filter for the workers, or InvalidDsaPointer if it is not complete, or there
 * is no memory for it.  The first of the scans that probe it makes the copy.
 */
static dsa_pointer
copy_filter(KeySource *source, dsa_area *area)
{
	const KeyFilter *filter = key_source_filter(source);

	if (filter == NULL || area == NULL)
		return InvalidDsaPointer;
	if (!DsaPointerIsValid(source->copy))
	{
		source->copy = dsa_allocate_extended(area, filter->bytes,
											 DSA_ALLOC_HUGE | DSA_ALLOC_NO_OOM);
		if (DsaPointerIsValid(source->copy))
			memcpy(dsa_get_address(area, source->copy), filter, filter->bytes);
	}
	return source->copy;
}

static void
filter_scan_initialize_dsm(CustomScanState *node, ParallelContext *context,
						   void *memory)
{
	FilterScanState *state = (FilterScanState *) node;
	SharedScan *shared = memory;
	ListCell   *cell;

	Assert(state->scan == NULL);
	state->parallel = shared_scan(shared, state->key_probes);
	table_parallelscan_initialize(node->ss.ss_currentRelation, state->parallel,
								  node->ss.ps.state->es_snapshot);
	shared->copies = 0;
	foreach(cell, state->key_probes)
	{
		KeyProbe   *probe = lfirst(cell);
		dsa_pointer filter = copy_filter(probe->source,
										 node->ss.ps.state->es_query_dsa);

		if (DsaPointerIsValid(filter))
		{
			SharedCopy *copy = &shared->copy[shared->copies++];

			copy->number = probe->number;
			copy->filter = filter;
		}
	}
}

static void
filter_scan_reinitialize_dsm(CustomScanState *node, ParallelContext *context,
							 void *memory)
{
	/* their joins may have been executed again, too */
	((SharedScan *) memory)->copies = 0;
	table_parallelscan_reinitialize(node->ss.ss_currentRelation,
									((FilterScanState *) node)->parallel);
}

static void
filter_scan_initialize_worker(CustomScanState *node, shm_toc *toc,
							  void *memory)
{
	FilterScanState *state = (FilterScanState *) node;
	SharedScan *shared = memory;

	state->parallel = shared_scan(shared, state->key_probes);
	for (int i = 0; i < shared->copies; i++)
	{
		ListCell   *cell;

		foreach(cell, state->key_probes)
		{
			KeyProbe   *probe = lfirst(cell);

			if (probe->number == shared->copy[i].number)
				probe->copy = dsa_get_address(node->ss.ps.state->es_query_dsa,
											  shared->copy[i].filter);
		}
	}
}

/*
 * The shared memory is about to go.  If the scan begins anew, it is below a Gather
 * that makes other memory.
 */
static void
filter_scan_shutdown(CustomScanState *node)
{
	FilterScanState *state = (FilterScanState *) node;

	if (state->parallel == NULL)
		return;
	state->parallel = NULL;
	state->count = state->next = 0;
	if (state->scan)
		table_endscan(state->scan);
	state->scan = NULL;
}

/* ----------------------------------------------------------------
 *		EXPLAIN
 * ----------------------------------------------------------------
 */

/* Its name, or what else there is to say of an index that was dropped meanwhile */
static const char *
index_name(Oid index, bool with_schema)
{
	const char *name = get_rel_name(index);

	if (name == NULL)
		return psprintf("%u", index);
	return quote_qualified_identifier(with_schema ?
									  get_namespace_name(get_rel_namespace(index)) :
									  NULL, name);
}

/* The output function of both types, in io.c */
extern Datum bloomfilter_out(PG_FUNCTION_ARGS);

static bool
is_filter_type(Oid type)
{
	Oid			output;
	bool		is_varlena;
	FmgrInfo	function;

	getTypeOutputInfo(type, &output, &is_varlena);
	fmgr_info(output, &function);
	return function.fn_addr == bloomfilter_out;
}

/*
 * Replace the constant filters of an expression by their sizes: their base64 tells
 * nothing, and is longer than the rest of the plan by far.
 */
static Node *
shorten_filters(Node *node, void *unused)
{
	Const	   *constant = (Const *) node;
	const uint8 *header;
	char	   *text;

	if (node == NULL)
		return NULL;
	if (!IsA(node, Const))
		return expression_tree_mutator(node, shorten_filters, unused);
	if (constant->constisnull || !is_filter_type(constant->consttype))
		return node;
	header = value_header(constant->constvalue);
	text = psprintf("%s of %llu bytes", kind_name(image_kind(header)),
					(unsigned long long) image_bytes(header));

	/* a literal of type unknown is shown without its type */
	return (Node *) makeConst(UNKNOWNOID, -1, InvalidOid, -2,
							  CStringGetDatum(text), false, false);
}

static void
filter_scan_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	FilterScanState *state = (FilterScanState *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;
	NodeInstrumentation *instrument = node->ss.ps.instrument;
	List	   *context = set_deparse_context_plan(es->deparse_cxt,
												   &plan->scan.plan, ancestors);
	List	   *conditions = NIL;
	uint64		bytes = 0;
	ListCell   *cell;
	ListCell   *join;

	forboth(cell, plan->custom_exprs, join, plan->custom_private)
	{
		char	   *text = IsA(lfirst(cell), List) ?
			key_probe_text(lfirst(cell), lfirst(join), context, es->verbose) :
			deparse_expression(shorten_filters(lfirst(cell), NULL), context,
							   es->verbose, false);

		if (lfirst(join) != NIL && IsA(lfirst(join), OidList))
			text = psprintf("%s in index %s", text,
							index_name(linitial_oid(lfirst(join)),
									   es->verbose));

		conditions = lappend(conditions, text);
	}
	ExplainPropertyList("Probe", conditions, es);
	if (!es->analyze || !instrument)
		return;
	foreach(cell, state->probes)
		bytes += probe_bytes(lfirst(cell));
	if (bytes > 0)
		ExplainPropertyInteger("Filter Size", "kB", (bytes + 1023) / 1024, es);
	key_probes_explain(state->key_probes,
					   instrument->rows_probed, instrument->rows_removed,
					   state->key_probes == NIL ? 0 :
					   instrument->ntuples + instrument->nfiltered1 +
					   instrument->rows_removed - instrument->rows_probed, es);
}

static const CustomExecMethods exec_methods = {
	.CustomName = "Filter Scan",
	.BeginCustomScan = filter_scan_begin,
	.ExecCustomScan = filter_scan_exec,
	.EndCustomScan = filter_scan_end,
	.ReScanCustomScan = filter_scan_rescan,
	.EstimateDSMCustomScan = filter_scan_estimate_dsm,
	.InitializeDSMCustomScan = filter_scan_initialize_dsm,
	.ReInitializeDSMCustomScan = filter_scan_reinitialize_dsm,
	.InitializeWorkerCustomScan = filter_scan_initialize_worker,
	.ShutdownCustomScan = filter_scan_shutdown,
	.ExplainCustomScan = filter_scan_explain
};

static Node *
filter_scan_create_state(CustomScan *plan)
{
	FilterScanState *state = (FilterScanState *)
		newNode(sizeof(FilterScanState), T_CustomScanState);

	state->css.methods = &exec_methods;
#if PG_VERSION_NUM >= 160000
	state->css.slotOps = &TTSOpsBufferHeapTuple;
#endif
	return (Node *) state;
}

const CustomScanMethods filter_scan_methods = {
	.CustomName = "Filter Scan",
	.CreateCustomScanState = filter_scan_create_state
};

/* The KeyProbes of a node, if it is a Filter Scan; else NIL */
List *
filter_scan_key_probes(PlanState *node)
{
	if (!IsA(node, CustomScanState) ||
		((CustomScanState *) node)->methods != &exec_methods)
		return NIL;
	return ((FilterScanState *) node)->key_probes;
}
