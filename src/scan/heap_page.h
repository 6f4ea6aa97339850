/*
 * heap_page.h
 *	  The visible rows of a heap's pages, a page at a time; see heap_page.c.
 */
#ifndef BLOOMFILTER_HEAP_PAGE_H
#define BLOOMFILTER_HEAP_PAGE_H

#include "postgres.h"

#include "access/htup_details.h"
#include "access/relscan.h"
#include "executor/tuptable.h"
#include "nodes/execnodes.h"
#include "utils/rel.h"

/*
 * PostgreSQL majors whose heap scans these functions know.  On others they are not called:
 * heap_page_supported() is false, and no Filter Scan is planned.  The log says so once, and
 * so does EXPLAIN of each query that would have one.
 */
#define HEAP_PAGE_FIRST_MAJOR	15
#define HEAP_PAGE_LAST_MAJOR	19

/* Rows of a page at most */
#define HEAP_PAGE_ROWS_MAX		MaxHeapTuplesPerPage

/* How often heap_page_supported() has been false for a heap, because of the major */
extern int	heap_page_refused;

extern void heap_page_init(void);
extern char *heap_page_refusal(void);
extern bool heap_page_supported(Oid table);
extern TableScanDesc heap_page_begin(ScanState *node,
									 ParallelTableScanDesc parallel);
extern int	heap_page_next(TableScanDesc scan, ScanDirection direction);
extern void heap_page_row(TableScanDesc scan, int row, HeapTuple tuple);
extern void heap_page_store(TableScanDesc scan, HeapTuple tuple,
							TupleTableSlot *slot);

#endif							/* BLOOMFILTER_HEAP_PAGE_H */
