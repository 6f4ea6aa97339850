/*
 * heap_page.c
 *	  The visible rows of a heap's pages, a page at a time.
 *
 * We rely on the following, in heapgettup_pagemode() of each major version.  After
 * heap_getnext() has returned a row, rs_inited is set, rs_cindex is the row's position in
 * rs_vistuples, and rs_ntuples is the number of visible rows; the next call continues after
 * rs_cindex, or before it.  After the last row, rs_inited is not set.
 */
#include "heap_page.h"

#include "server.h"

#include "access/table.h"
#include "access/tableam.h"
#include "executor/executor.h"
#include "pgstat.h"

/*
 * The processor reads too few rows of a page ahead by itself.  But more than it fetches at once
 * would delay the first ones.  So prefetch the first, at the page's end, and the others as
 * these are read (heap_page_row()).  If a page has at most this many rows, prefetch the
 * beginning of each, where the element may be.
 */
#define SPARSE_ROWS				32
#define SPARSE_BYTES			192

int			heap_page_refused = 0;

/* Can heap_page_begin() scan this table?  The planner has locked it. */
bool
heap_page_supported(Oid table)
{
	Relation	relation = table_open(table, NoLock);
	bool		is_heap = relation->rd_tableam == GetHeapamTableAmRoutine();

	table_close(relation, NoLock);
	heap_page_refused += is_heap && !server_is_known();
	return is_heap && server_is_known();
}

#if PG_VERSION_NUM >= 190000
static uint32
scan_flags(ScanState *node)
{
	uint32		flags = 0;

	if (ScanRelIsReadOnly(node))
		flags |= SO_HINT_REL_READ_ONLY;
	if (node->ps.instrument)
		flags |= SO_SCAN_INSTRUMENT;
	return flags;
}
#endif

/* Page mode needs an MVCC snapshot; else a scan finds one row at a time. */
static void
check_page_mode(TableScanDesc scan)
{
	if (!(scan->rs_flags & SO_ALLOW_PAGEMODE))
		elog(ERROR, "heap scan of \"%s\" does not read whole pages",
			 RelationGetRelationName(scan->rs_rd));
}

/*
 * Begin a scan of a node's relation, with the query's snapshot.  "parallel" is the state that
 * the processes of a parallel scan share, or NULL. table_rescan() starts the scan again,
 * table_endscan() ends it.
 */
TableScanDesc
heap_page_begin(ScanState *node, ParallelTableScanDesc parallel)
{
	Relation	relation = node->ss_currentRelation;
	Snapshot	snapshot = node->ps.state->es_snapshot;
	TableScanDesc scan;

#if PG_VERSION_NUM >= 190000
	uint32		flags = scan_flags(node);

	scan = parallel ? table_beginscan_parallel(relation, parallel, flags) :
		table_beginscan(relation, snapshot, 0, NULL, flags);
#else
	scan = parallel ? table_beginscan_parallel(relation, parallel) :
		table_beginscan(relation, snapshot, 0, NULL);
#endif

	check_page_mode(scan);
	return scan;
}

/*
 * Begin a scan of ranges of pages, with the query's snapshot, and without a predicate lock.  Call
 * heap_page_set_range() before each range.  It is core's TID range scan, which reads the pages
 * of a range as a sequential scan does.
 */
TableScanDesc
heap_page_begin_ranges(ScanState *node)
{
	Relation	relation = node->ss_currentRelation;
	ItemPointerData none = {{0, 0}, FirstOffsetNumber};
	TableScanDesc scan;

#if PG_VERSION_NUM >= 190000
	scan = table_beginscan_tidrange(relation, node->ps.state->es_snapshot, &none, &none,
									scan_flags(node));
#else
	scan = table_beginscan_tidrange(relation, node->ps.state->es_snapshot, &none, &none);
#endif
	check_page_mode(scan);
	/* a sequential scan is counted when it begins */
	pgstat_count_heap_scan(relation);
	return scan;
}

/* Let heap_page_next() read pages from "first" to "last". */
void
heap_page_set_range(TableScanDesc scan, BlockNumber first, BlockNumber last)
{
	ItemPointerData from;
	ItemPointerData to;

	ItemPointerSet(&from, first, FirstOffsetNumber);
	ItemPointerSet(&to, last, MaxOffsetNumber);
	table_rescan_tidrange(scan, &from, &to);
}

/* Count rows read in the statistics of a table. */
static inline void
count_rows(Relation table, int rows)
{
#if PG_VERSION_NUM >= 200000
	if (pgstat_should_count_relation(table))
		table->pgstat_info->tab.counts.tuples_returned += rows;
#else
	/* despite its name, this counts rows of any relation */
	pgstat_count_index_tuples(table, rows);
#endif
}

/*
 * Go to the next page that has visible rows; in a backward scan, to the one before.  Return
 * the number of visible rows, up to HEAP_PAGE_ROWS_MAX.  Return 0 at the end of the scan; the
 * next call starts again.  The page remains pinned until the next call.
 */
int
heap_page_next(TableScanDesc scan, ScanDirection direction)
{
	HeapScanDesc heap = (HeapScanDesc) scan;
	bool		forward = ScanDirectionIsForward(direction);
	Page		page;

	/* heap_getnext() leaves a page after its last row */
	if (heap->rs_inited)
		heap->rs_cindex = forward ? heap->rs_ntuples - 1 : 0;
	if (heap_getnext(scan, direction) == NULL)
		return 0;
	Assert(heap->rs_cindex == (forward ? 0 : heap->rs_ntuples - 1));
	Assert(heap->rs_ntuples > 0 && heap->rs_ntuples <= HEAP_PAGE_ROWS_MAX);
	/* heap_getnext() has counted one row */
	count_rows(scan->rs_rd, heap->rs_ntuples - 1);
	page = BufferGetPage(heap->rs_cbuf);
	if (heap->rs_ntuples > SPARSE_ROWS)
	{
		for (int at = BLCKSZ - CACHE_LINE; at >= BLCKSZ - AHEAD_BYTES; at -= CACHE_LINE)
			__builtin_prefetch(page + at);
		return heap->rs_ntuples;
	}
	for (int i = 0; i < (int) heap->rs_ntuples; i++)
	{
		ItemId		item = PageGetItemId(page, heap->rs_vistuples[i]);

		for (int at = 0; at < SPARSE_BYTES; at += CACHE_LINE)
			__builtin_prefetch(page + ItemIdGetOffset(item) + at);
	}
	return heap->rs_ntuples;
}

/*
 * Store a row in a slot of type TTSOpsBufferHeapTuple, which pins the page.  "tuple" must
 * live as long as the slot is used.
 */
void
heap_page_store(TableScanDesc scan, HeapTuple tuple, TupleTableSlot *slot)
{
	ExecStoreBufferHeapTuple(tuple, slot, ((HeapScanDesc) scan)->rs_cbuf);
}
