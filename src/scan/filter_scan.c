/*
 * filter_scan.c
 *	  The executor's side of the Filter Scan: a sequential scan that probes filters with all
 *	  rows of a page at once, before it returns any of them.
 *
 * filter_path.c plans it as a CustomScan of a table, and join_filter_edit.c adds probes of
 * the keys of hash joins. probe_plans() returns the plans of the probes.  The table's other
 * conditions are in plan.qual, as for any scan.
 *
 * A filter is evaluated, and an element compared, only after a row has satisfied the
 * conditions that a sequential scan would check first.  Otherwise a probe might raise an
 * error that a sequential scan does not raise, or run a subquery for nothing.  Until the
 * first such row, rows are processed one by one.  No condition is checked twice for a row,
 * because it may call volatile functions.
 *
 * Rows probed and removed are counted in spare fields of the node's instrumentation, because
 * the server sums these over all processes.  If policies or security barriers hide rows, only
 * the number that a sequential scan shows is counted: the rows between two returned rows,
 * whichever probe or condition removes them.
 */
#include "filter_scan.h"

#include "scan/join/block_filter.h"
#include "scan/partition/partition_bound.h"

#include "access/parallel.h"
#include "access/tableam.h"
#include "miscadmin.h"
#include "storage/predicate.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"

/* Sort the probes of joins' keys again after this many pages. */
#define SORT_PAGES				64

/*
 * What the processes of a parallel scan share, besides the state of core's scan, which follows in
 * memory
 */
typedef struct SharedScan
{
	pg_atomic_uint64 blocks_skipped;

	/*
	 * For each of key_probes, a copy of its filter, which all scans below the
	 * Gather share; or InvalidDsaPointer.  Filters of joins above the Gather
	 * are copied, if they are complete when the workers start.  All other
	 * filters are built in each process's own part of the plan.
	 */
	dsa_pointer copies[FLEXIBLE_ARRAY_MEMBER];
} SharedScan;

typedef struct FilterScanState
{
	CustomScanState css;
	List	   *probes;			/* Probes, in the order of probing */
	List	   *key_probes;		/* KeyProbes among them, in the order of the
								 * plan */
	uint64		pages;			/* pages read */
	bool		begun;			/* a row was requested since the last rescan */
	bool		excluded;		/* by "once", or the partition bound excludes
								 * all join keys */
	uint64		scans_excluded; /* by the partition bound */
	Probe	   *once;			/* the probe of a constant, or NULL */
	BlockFilter *blocks;		/* the blocks to read; NULL: all */
	bool		in_range;		/* "scan" reads some of them */
	uint64		blocks_skipped; /* by earlier scans, and by other processes */
	TableScanDesc scan;			/* NULL: not begun */
	ParallelTableScanDesc parallel; /* state of a parallel scan, or NULL */
	SharedScan *shared;			/* what else its processes share */
	HeapTupleData tuple;		/* the row returned last */
	int			rows[HEAP_PAGE_ROWS_MAX];	/* rows of the page that passed */
	int			count;			/* length of "rows"; 0: outside of all pages */
	int			place;			/* index in "rows" of the row returned last */
	bool		rechecks;		/* a probe has "rechecks" */
	Probe	   *mark;			/* the probe that drops no rows, or NULL */
	bool		passes[HEAP_PAGE_ROWS_MAX]; /* do "rows" pass the mark? */

	/*
	 * The conditions that are not probes, in parts: part i is checked before
	 * probe i, the last part after all probes
	 */
	ExprState **parts;			/* NULL, or an element NULL: no conditions */
	int			part_count;
	/* how many parts each row of the page has satisfied so far */
	int			satisfied[HEAP_PAGE_ROWS_MAX];
	bool		some_satisfied; /* false: "satisfied" is 0 for all rows */

	/* about the page, for EXPLAIN */
	int			unsatisfied;	/* rows that did not reach a probe */
	bool		probed;			/* rows were looked up */

	/* used only if rows of the query are hidden from the user */
	bool		hides_rows;
	int			page_rows;		/* visible rows of the page, passed or not */
	int			page_place;		/* place of the row returned last; at first,
								 * the end of the page where the scan begins */
} FilterScanState;

static const ProbeMethods *const methods_of[] = {
	[PROBE_FILTER] = &probe_filter_methods,
	[PROBE_INDEX] = &probe_index_methods,
	[PROBE_ARRAY] = &probe_array_methods,
	[PROBE_JOIN] = &probe_join_methods,
	[PROBE_MARK] = &probe_join_methods,
	[PROBE_ONCE] = &probe_join_methods,
	[PROBE_KEYS] = &probe_keys_methods
};

/* Sort the probes of joins' keys, which are last in the list, by their share of passing rows. */
static void
sort_key_probes(FilterScanState *state)
{
	key_probes_sort(state->probes,
					list_length(state->probes) - list_length(state->key_probes));
}

/* Leave the current page: the first page comes next, or in a backward scan the last. */
static void
leave_pages(FilterScanState *state)
{
	state->count = state->page_rows = 0;
	state->place = state->page_place = -1;
}

/* Prepare the conditions from number "first" to "end" - 1 of plan.qual. */
static ExprState *
begin_part(CustomScanState *node, int first, int end)
{
	List	   *conditions = NIL;

	/* the executor has prepared the whole list */
	if (node->ss.ps.qual && end - first == list_length(node->ss.ps.plan->qual))
		return node->ss.ps.qual;
	for (int i = first; i < end; i++)
		conditions = lappend(conditions,
							 list_nth(node->ss.ps.plan->qual, i));
	return ExecInitQual(conditions, &node->ss.ps);
}

/*
 * Prepare the conditions that are not probes, in parts, see FilterScanState.  Take them away
 * from ExecScan(), which would check them too.
 */
static void
begin_parts(FilterScanState *state, List *plans)
{
	CustomScanState *node = &state->css;
	int			conditions = list_length(node->ss.ps.plan->qual);
	int			begun = 0;
	int			part = 0;
	ListCell   *cell;

	if (conditions == 0 && !state->rechecks)
		return;
	state->part_count = list_length(plans) + 1;
	state->parts = palloc0(state->part_count * sizeof(ExprState *));
	foreach(cell, plans)
	{
		int			end = Max(((ProbePlan *) lfirst(cell))->conditions, begun);

		state->parts[part++] = begin_part(node, begun, end);
		begun = end;
	}
	state->parts[part] = begin_part(node, begun, conditions);
	node->ss.ps.qual = NULL;
}

static void
filter_scan_begin(CustomScanState *node, EState *estate, int eflags)
{
	FilterScanState *state = (FilterScanState *) node;
	CustomScan *scan = (CustomScan *) node->ss.ps.plan;
	List	   *plans = probe_plans(scan);
	List	   *of_rows = NIL;	/* plans but that of "once" */
	ListCell   *cell;

#if PG_VERSION_NUM < 160000

	/* core has made a virtual slot, and expressions that read it */
	node->ss.ps.subPlan = NIL;
	node->ss.ps.qual = NULL;
	ExecInitScanTupleSlot(estate, &node->ss,
						  RelationGetDescr(node->ss.ss_currentRelation),
						  &TTSOpsBufferHeapTuple);
	ExecAssignScanProjectionInfo(&node->ss);
#endif
	leave_pages(state);

	/* also for plain EXPLAIN, to check that the user may call the functions */
	foreach(cell, plans)
	{
		const ProbePlan *plan = lfirst(cell);
		Probe	   *probe = methods_of[plan->kind]->begin(plan, &node->ss.ps);

		probe->methods = methods_of[plan->kind];
		state->hides_rows |= plan->hides_rows;
		if (plan->kind == PROBE_ONCE)
		{
			state->once = probe;
			continue;
		}
		of_rows = lappend(of_rows, lfirst(cell));
		state->probes = lappend(state->probes, probe);
		state->rechecks |= probe->rechecks;
		if (plan->kind == PROBE_MARK)
			state->mark = probe;
		if (plan->kind == PROBE_KEYS)
			state->key_probes = lappend(state->key_probes, probe);
	}
	sort_key_probes(state);
	begin_parts(state, of_rows);
}

static inline void
store_row(FilterScanState *state, int row)
{
	heap_page_row(state->scan, row, &state->tuple);
	heap_page_store(state->scan, &state->tuple,
					state->css.ss.ss_ScanTupleSlot);
}

/* Does the row in the slot pass a probe that has not looked up the rows of the page? */
static bool
passes_singly(FilterScanState *state, Probe *probe)
{
	ScanState  *ss = &state->css.ss;
	bool		passes;

	if (!probe->unchecked)
		return true;
	passes = probe->methods->recheck(probe, ss->ps.ps_ExprContext);
	if (ss->ps.instrument && !state->hides_rows)
	{
		ss->ps.instrument->rows_probed += !state->probed;
		ss->ps.instrument->rows_removed += !passes;
	}
	return passes;
}

/*
 * Does a row of the page, which is in the slot, satisfy the first "parts" parts of the
 * conditions?  Skip those that it has satisfied before.
 */
static ALWAYS_INLINE bool
satisfies(FilterScanState *state, int row, int parts)
{
	ScanState  *ss = &state->css.ss;
	ExprContext *econtext = ss->ps.ps_ExprContext;
	int			part = state->some_satisfied ? state->satisfied[row] : 0;

	econtext->ecxt_scantuple = ss->ss_ScanTupleSlot;
	for (; part < parts; part++)
	{
		if (unlikely(state->rechecks && part > 0) &&
			!passes_singly(state, list_nth(state->probes, part - 1)))
			return false;
		if (!ExecQual(state->parts[part], econtext))
		{
			if (!state->hides_rows)
				InstrCountFiltered1(ss, 1);
			return false;
		}
	}
	return true;
}

/*
 * Count the rows between the last place in the page and this one as removed by the table's
 * conditions.  A place is a row's number, or -1 or page_rows for an end of the page.
 */
static void
count_passed_over(FilterScanState *state, int place)
{
	if (state->page_rows > 0)
		InstrCountFiltered1(&state->css.ss, abs(place - state->page_place) - 1);
	state->page_place = place;
}

/* Count the rest of the page, and begin the next page, which has "rows" rows. */
static void
count_page(FilterScanState *state, int rows, bool forward)
{
	count_passed_over(state, forward ? state->page_rows : -1);
	state->page_rows = rows;
	state->page_place = forward ? -1 : rows;
}

/* Keep the rows that pass a probe, of "count" rows of the page, and return their number. */
static int
probe_rows(FilterScanState *state, Probe *probe, int *rows, int count)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	ProbedPage	page;
	MemoryContext old;
	bool		looked;
	int			passed = 0;

	Assert(count > 0 && count <= HEAP_PAGE_ROWS_MAX);
	page.scan = state->scan;
	page.econtext = econtext;
	page.slot = state->css.ss.ss_ScanTupleSlot;
	page.rows = rows;
	page.count = count;
	/* a method sets only what it looks up */
	memset(page.found, true, count * sizeof(bool));
	old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	looked = probe->methods->look_up(probe, &page);
	MemoryContextSwitchTo(old);
	for (int i = 0; i < page.count; i++)
	{
		if (page.found[i])
			rows[passed++] = rows[i];
	}
	if (looked && probe->pays)
		probe_switch_count(probe->pays, count, passed);
	state->probed |= looked;
	probe->unchecked |= !looked && probe->rechecks;
	ExecClearTuple(page.slot);
	ResetExprContext(econtext);
	return passed;
}

/* Does a row satisfy the conditions before a probe?  If so, do not check them again later. */
static bool
reaches(FilterScanState *state, int row, int part)
{
	ScanState  *ss = &state->css.ss;
	bool		reached;

	CHECK_FOR_INTERRUPTS();
	store_row(state, row);
	reached = satisfies(state, row, part + 1);
	ExecClearTuple(ss->ss_ScanTupleSlot);
	ResetExprContext(ss->ps.ps_ExprContext);
	state->unsatisfied += !reached;
	if (!reached)
		return false;
	if (!state->some_satisfied)
		memset(state->satisfied, 0, sizeof(state->satisfied));
	state->some_satisfied = true;
	state->satisfied[row] = part + 1;
	return true;
}

/* Keep the rows of state->rows that reach a probe, and return their number. */
static int
keep_reaching(FilterScanState *state, int part, int count)
{
	int			kept = 0;

	for (int i = 0; i < count; i++)
	{
		if (reaches(state, state->rows[i], part))
			state->rows[kept++] = state->rows[i];
	}
	return kept;
}

/*
 * Call probe_rows() with state->rows for a probe that is not settled.  Until it is, check the
 * conditions before the probe first, row by row.
 */
static int
probe_reached(FilterScanState *state, int part, int count)
{
	Probe	   *probe = list_nth(state->probes, part);
	int		   *rows = state->rows;
	int			passed = 0;
	int			next = 0;

	for (; next < count && !probe->settled; next++)
	{
		if (!reaches(state, rows[next], part))
			continue;
		rows[passed] = rows[next];
		passed += probe_rows(state, probe, &rows[passed], 1);
	}
	if (next == count)
		return passed;
	memmove(&rows[passed], &rows[next], (count - next) * sizeof(int));
	return passed + probe_rows(state, probe, &rows[passed], count - next);
}

/* Look up the first "count" rows of state->rows for the mark, and note which of them pass. */
static void
mark_rows(FilterScanState *state, int count)
{
	int			rows[HEAP_PAGE_ROWS_MAX];
	int			passed;
	int			next = 0;

	memcpy(rows, state->rows, count * sizeof(int));
	passed = probe_rows(state, state->mark, rows, count);
	for (int i = 0; i < count; i++)
	{
		state->passes[i] = next < passed && rows[next] == state->rows[i];
		next += state->passes[i];
	}
	Assert(next == passed);
}

/*
 * Has the table no row that the scan could return: is the constant not in its index, or does
 * its partition bound exclude all keys of a join?  Called as a scan begins.
 */
static bool
is_excluded(FilterScanState *state)
{
	ScanState  *ss = &state->css.ss;
	Snapshot	snapshot = ss->ps.state->es_snapshot;
	bool		excluded = state->once &&
		!probe_index_once(state->once, ss->ps.ps_ExprContext);
	ListCell   *cell;

	foreach(cell, excluded ? NIL : state->key_probes)
	{
		if (partition_bound_excludes(ss->ss_currentRelation, lfirst(cell), snapshot,
									 ss->ps.ps_ExprContext))
		{
			excluded = true;
			state->scans_excluded++;
			break;
		}
	}
	/* lock as the scan would do, against phantoms */
	if (excluded)
		PredicateLockRelation(ss->ss_currentRelation, snapshot);
	return excluded;
}

/* End the scan, and forget which blocks to read. */
static void
leave_scan(FilterScanState *state)
{
	if (state->blocks)
	{
		state->blocks_skipped += block_filter_skipped(state->blocks);
		block_filter_end(state->blocks);
	}
	state->blocks = NULL;
	state->in_range = false;
	if (state->scan)
		table_endscan(state->scan);
	state->scan = NULL;
}

/* Decide what to read, before the first page of a scan. */
static void
begin_pages(FilterScanState *state, ScanDirection direction)
{
	ScanState  *ss = &state->css.ss;

	if (!state->begun)
	{
		state->begun = true;
		state->excluded = is_excluded(state);
		/* how many rows are read may tell of hidden ones */
		if (!state->excluded && state->key_probes != NIL && !state->hides_rows &&
			ScanDirectionIsForward(direction))
			state->blocks = block_filter_begin(ss, state->key_probes, state->parallel);
	}
	if (state->scan == NULL && !state->excluded)
		state->scan = state->blocks ? heap_page_begin_ranges(ss) :
			heap_page_begin(ss, state->parallel);
}

/* Go to the next page to read.  Return its number of visible rows, 0 at the end. */
static int
next_page(FilterScanState *state, ScanDirection direction)
{
	BlockNumber first;
	BlockNumber last;

	if (state->blocks == NULL)
		return heap_page_next(state->scan, direction);
	/* a plan that is read backward has no hash join above its scan */
	Assert(ScanDirectionIsForward(direction));
	for (;;)
	{
		int			count = state->in_range ? heap_page_next(state->scan, direction) : 0;

		state->in_range = count > 0;
		if (count > 0 || !block_filter_next(state->blocks, &first, &last))
			return count;
		heap_page_set_range(state->scan, first, last);
		state->in_range = true;
		CHECK_FOR_INTERRUPTS();
	}
}

/*
 * Read pages until one has rows that pass all probes, and go to the first of these rows; in
 * a backward scan, to the last.  Return false at the end of the scan.
 */
static bool
read_page(FilterScanState *state, ScanDirection direction)
{
	ScanState  *ss = &state->css.ss;

	begin_pages(state, direction);
	if (state->excluded)
		return false;
	for (;;)
	{
		int			count = next_page(state, direction);
		int			passed = count;
		ListCell   *cell;

		CHECK_FOR_INTERRUPTS();
		if (state->hides_rows)
			count_page(state, count, ScanDirectionIsForward(direction));
		if (count == 0)
		{
			leave_pages(state);
			return false;
		}
		state->some_satisfied = state->probed = false;
		state->unsatisfied = 0;
		for (int i = 0; i < count; i++)
			state->rows[i] = i;
		foreach(cell, state->probes)
		{
			Probe	   *probe = lfirst(cell);

			probe->unchecked = false;
			if (unlikely(state->parts && probe->guarded))
				passed = keep_reaching(state, foreach_current_index(cell), passed);
			if (passed == 0)
				break;
			if (probe == state->mark)
				mark_rows(state, passed);
			else if (unlikely(!probe->settled && state->parts))
				passed = probe_reached(state, foreach_current_index(cell), passed);
			else
				passed = probe_rows(state, probe, state->rows, passed);
		}
		if (++state->pages % SORT_PAGES == 0)
			sort_key_probes(state);
		if (ss->ps.instrument && !state->hides_rows)
		{
			int			reached = count - state->unsatisfied;

			ss->ps.instrument->rows_probed += state->probed ? reached : 0;
			ss->ps.instrument->rows_removed += reached - passed;
		}
		if (passed > 0)
		{
			state->count = passed;
			state->place = ScanDirectionIsForward(direction) ? 0 : passed - 1;
			return true;
		}
	}
}

/* An ExecScanAccessMtd: return the next row that satisfies all conditions */
static TupleTableSlot *
next_row(ScanState *node)
{
	FilterScanState *state = (FilterScanState *) node;
	ScanDirection direction = node->ps.state->es_direction;

	for (;;)
	{
		state->place += ScanDirectionIsForward(direction) ? 1 : -1;
		if ((state->place < 0 || state->place >= state->count) &&
			!read_page(state, direction))
			return ExecClearTuple(node->ss_ScanTupleSlot);
		store_row(state, state->rows[state->place]);
		if (state->parts == NULL ||
			satisfies(state, state->rows[state->place], state->part_count))
			break;
		ResetExprContext(node->ps.ps_ExprContext);
		CHECK_FOR_INTERRUPTS();
	}
	if (unlikely(state->hides_rows))
		count_passed_over(state, state->rows[state->place]);
	return node->ss_ScanTupleSlot;
}

/* An ExecScanRecheckMtd: does the row in the slot satisfy all conditions? */
static bool
recheck_row(ScanState *node, TupleTableSlot *slot)
{
	FilterScanState *state = (FilterScanState *) node;
	ExprContext *econtext = node->ps.ps_ExprContext;
	int			part = 0;
	ListCell   *cell;

	econtext->ecxt_scantuple = slot;
	foreach(cell, state->probes)
	{
		Probe	   *probe = lfirst(cell);

		if ((state->parts && !ExecQual(state->parts[part], econtext)) ||
			(probe->methods->recheck && !probe->methods->recheck(probe, econtext)))
			return false;
		part++;
	}
	return state->parts == NULL || ExecQual(state->parts[part], econtext);
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

	leave_pages(state);
	state->begun = state->excluded = false;
	/* the slot pins its page itself */
	if (state->blocks)
		leave_scan(state);
	else if (state->scan)
		table_rescan(state->scan, NULL);
	foreach(cell, state->probes)
	{
		Probe	   *probe = lfirst(cell);

		if (probe->methods->rescan)
			probe->methods->rescan(probe);
	}
	ExecScanReScan(&node->ss);
}

/* ---- Parallel scans ---- */

/* Return the size of the SharedScan of a node. */
static Size
shared_bytes(const FilterScanState *state)
{
	return MAXALIGN(offsetof(SharedScan, copies) +
					list_length(state->key_probes) * sizeof(dsa_pointer));
}

/* Note where the shared memory of a node is. */
static void
attach(FilterScanState *state, void *memory)
{
	state->shared = memory;
	state->parallel = (ParallelTableScanDesc) ((char *) memory + shared_bytes(state));
}

static Size
filter_scan_estimate_dsm(CustomScanState *node, ParallelContext *context)
{
	FilterScanState *state = (FilterScanState *) node;
	ListCell   *cell;

	/* forget copies in the freed memory of an earlier Gather */
	foreach(cell, state->key_probes)
	{
		KeyProbe   *probe = lfirst(cell);

		if (probe->source)
			probe->source->copy = InvalidDsaPointer;
	}
	return add_size(shared_bytes(state),
					table_parallelscan_estimate(node->ss.ss_currentRelation,
												node->ss.ps.state->es_snapshot));
}

/*
 * Return a copy of a filter for the workers; make it for the first scan that probes the
 * filter.  Return InvalidDsaPointer if the filter is not complete, or memory does not suffice.
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
	ListCell   *cell;

	Assert(state->scan == NULL);
	attach(state, memory);
	pg_atomic_init_u64(&state->shared->blocks_skipped, 0);
	table_parallelscan_initialize(node->ss.ss_currentRelation, state->parallel,
								  node->ss.ps.state->es_snapshot);
	foreach(cell, state->key_probes)
		state->shared->copies[foreach_current_index(cell)] =
			copy_filter(((KeyProbe *) lfirst(cell))->source,
						node->ss.ps.state->es_query_dsa);
}

static void
filter_scan_reinitialize_dsm(CustomScanState *node, ParallelContext *context,
							 void *memory)
{
	FilterScanState *state = (FilterScanState *) node;

	/* forget the copies: the joins may have been executed again */
	for (int i = 0; i < list_length(state->key_probes); i++)
		state->shared->copies[i] = InvalidDsaPointer;
	table_parallelscan_reinitialize(node->ss.ss_currentRelation, state->parallel);
}

static void
filter_scan_initialize_worker(CustomScanState *node, shm_toc *toc,
							  void *memory)
{
	FilterScanState *state = (FilterScanState *) node;
	ListCell   *cell;

	attach(state, memory);
	foreach(cell, state->key_probes)
	{
		dsa_pointer copy = state->shared->copies[foreach_current_index(cell)];

		if (DsaPointerIsValid(copy))
			((KeyProbe *) lfirst(cell))->copy =
				dsa_get_address(node->ss.ps.state->es_query_dsa, copy);
	}
}

/*
 * ShutdownCustomScan: leave the shared memory, which is about to be freed.  If the scan is
 * executed again, a Gather above allocates other memory.
 */
static void
filter_scan_shutdown(CustomScanState *node)
{
	FilterScanState *state = (FilterScanState *) node;

	if (state->parallel == NULL)
		return;
	leave_pages(state);
	leave_scan(state);
	/* workers have done so when their last row has been read */
	if (IsParallelWorker())
		pg_atomic_fetch_add_u64(&state->shared->blocks_skipped, state->blocks_skipped);
	else
		state->blocks_skipped += pg_atomic_exchange_u64(&state->shared->blocks_skipped, 0);
	state->parallel = NULL;
	state->shared = NULL;
}

/* ---- EXPLAIN ---- */

/* Return the name of an index as EXPLAIN prints it.  The plan may be older than a DROP INDEX. */
static char *
name_of_index(Oid index)
{
	char	   *name = get_rel_name(index);

	return name ? (char *) quote_identifier(name) : "(dropped)";
}

static void
filter_scan_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	FilterScanState *state = (FilterScanState *) node;
	CustomScan *scan = (CustomScan *) node->ss.ps.plan;
	NodeInstrumentation *instrument = node->ss.ps.instrument;
	List	   *context = set_deparse_context_plan(es->deparse_cxt,
												   &scan->scan.plan, ancestors);
	List	   *texts = NIL;
	uint64		bytes = 0;
	uint64		pauses = 0;
	List	   *indexes = NIL;
	ListCell   *cell;

	foreach(cell, probe_plans(scan))
	{
		const ProbePlan *plan = lfirst(cell);
		char	   *text = methods_of[plan->kind]->text(plan, context,
														es->verbose);

		if (plan->kind == PROBE_MARK)
			ExplainPropertyText("Mark", text, es);
		else if (plan->kind == PROBE_ONCE)
			ExplainPropertyText("Probe Once", text, es);
		else
			texts = lappend(texts, text);
		if (OidIsValid(plan->keys.block_index))
			indexes = lappend(indexes, name_of_index(plan->keys.block_index));
	}
	if (texts != NIL)
		ExplainPropertyList("Probe", texts, es);
	if (indexes != NIL)
		ExplainPropertyList("Block Index", indexes, es);
	if (!es->analyze || !instrument || state->probes == NIL)
		return;
	if (state->hides_rows)
	{
		/* EXPLAIN itself shows the number if there are other conditions */
		if (scan->scan.plan.qual == NIL)
			ExplainPropertyInteger("Rows Removed by Probe", NULL,
								   (int64) instrument->nfiltered1, es);
		return;
	}
	foreach(cell, state->probes)
	{
		const Probe *probe = lfirst(cell);

		if (probe->methods->bytes)
			bytes += probe->methods->bytes(probe);
		if (probe->pays)
			pauses += probe->pays->pauses;
	}
	if (bytes > 0)
		ExplainPropertyInteger("Filter Size", "kB", (bytes + 1023) / 1024, es);
	if (indexes != NIL)
		ExplainPropertyUInteger("Blocks Skipped", NULL,
								state->blocks_skipped +
								(state->blocks ? block_filter_skipped(state->blocks) : 0), es);
	/* leaves out scans of parallel workers */
	if (state->scans_excluded > 0)
		ExplainPropertyUInteger("Scans Skipped by Partition Bound", NULL,
								state->scans_excluded, es);
	key_probes_explain(pauses, instrument->rows_probed,
					   texts == NIL ? -1 : instrument->rows_removed,
					   state->key_probes == NIL && pauses == 0 ? 0 :
					   instrument->ntuples + instrument->nfiltered1 +
					   instrument->rows_removed - instrument->rows_probed, es);
}

const NodeKind filter_scan_node = {
	.plan = {"Filter Scan", node_create_state},
	.state_bytes = sizeof(FilterScanState),
	.slots = &TTSOpsBufferHeapTuple,
	.exec.CustomName = "Filter Scan",
	.exec.BeginCustomScan = filter_scan_begin,
	.exec.ExecCustomScan = filter_scan_exec,
	.exec.EndCustomScan = filter_scan_end,
	.exec.ReScanCustomScan = filter_scan_rescan,
	.exec.EstimateDSMCustomScan = filter_scan_estimate_dsm,
	.exec.InitializeDSMCustomScan = filter_scan_initialize_dsm,
	.exec.ReInitializeDSMCustomScan = filter_scan_reinitialize_dsm,
	.exec.InitializeWorkerCustomScan = filter_scan_initialize_worker,
	.exec.ShutdownCustomScan = filter_scan_shutdown,
	.exec.ExplainCustomScan = filter_scan_explain
};

/* Return the KeyProbes of a node, if it is a Filter Scan; else NIL. */
List *
filter_scan_key_probes(PlanState *node)
{
	if (!IsA(node, CustomScanState) ||
		((CustomScanState *) node)->methods != &filter_scan_node.exec)
		return NIL;
	return ((FilterScanState *) node)->key_probes;
}

/*
 * Did the row that a scan with a PROBE_MARK returned last pass the mark?  A row that
 * EvalPlanQual has substituted is not probed, and counts as passed.
 */
bool
filter_scan_row_passes(PlanState *node)
{
	FilterScanState *state = (FilterScanState *) node;

	Assert(IsA(node, CustomScanState) && state->css.methods == &filter_scan_node.exec);
	Assert(state->mark != NULL);
	return node->state->es_epq_active != NULL || state->passes[state->place];
}
