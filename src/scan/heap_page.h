/*
 * heap_page.h
 *	  The visible rows of a heap's pages, a page at a time; see heap_page.c.
 */
#ifndef BLOOMFILTER_HEAP_PAGE_H
#define BLOOMFILTER_HEAP_PAGE_H

#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/relscan.h"
#include "executor/tuptable.h"
#include "nodes/execnodes.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

/* Maximum number of rows of a page */
#define HEAP_PAGE_ROWS_MAX		MaxHeapTuplesPerPage

/*
 * How far ahead rows are prefetched on a page of many: rows come from its end, so each prefetches
 * as many bytes as it has, this far before it.
 */
#define AHEAD_BYTES				1024
#define CACHE_LINE				64
/* Length of a row whose page has at most SPARSE_ROWS, see heap_page.c */
#define SPARSE_LENGTH			(4 * CACHE_LINE)

/* How often heap_page_supported() has returned false for a heap, because of server_is_known() */
extern int	heap_page_refused;

extern bool heap_page_supported(Oid table);
extern TableScanDesc heap_page_begin(ScanState *node,
									 ParallelTableScanDesc parallel);
extern TableScanDesc heap_page_begin_ranges(ScanState *node);
extern void heap_page_set_range(TableScanDesc scan, BlockNumber first, BlockNumber last);
extern int	heap_page_next(TableScanDesc scan, ScanDirection direction);
extern void heap_page_store(TableScanDesc scan, HeapTuple tuple,
							TupleTableSlot *slot);

/*
 * Make "tuple" point to row number "row" of the page, from 0.  Rows are read from the first to
 * the last.
 */
static inline void
heap_page_row(TableScanDesc scan, int row, HeapTuple tuple)
{
	HeapScanDesc heap = (HeapScanDesc) scan;
	Page		page = BufferGetPage(heap->rs_cbuf);
	OffsetNumber offset = heap->rs_vistuples[row];
	ItemId		item = PageGetItemId(page, offset);

	Assert(row >= 0 && row < (int) heap->rs_ntuples);
	Assert(ItemIdIsNormal(item));
	tuple->t_data = (HeapTupleHeader) PageGetItem(page, item);
	tuple->t_len = ItemIdGetLength(item);
	if (likely(tuple->t_len < SPARSE_LENGTH))
	{
		const char *ahead = (const char *) tuple->t_data - AHEAD_BYTES;

		__builtin_prefetch(ahead);
		__builtin_prefetch(ahead + CACHE_LINE);
		if (tuple->t_len > 2 * CACHE_LINE)
		{
			__builtin_prefetch(ahead + 2 * CACHE_LINE);
			__builtin_prefetch(ahead + 3 * CACHE_LINE);
		}
	}
	tuple->t_tableOid = RelationGetRelid(scan->rs_rd);
	ItemPointerSet(&tuple->t_self, heap->rs_cblock, offset);
}

#endif							/* BLOOMFILTER_HEAP_PAGE_H */
