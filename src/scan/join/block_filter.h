/*
 * block_filter.h
 *	  Which blocks of a table may have rows with a join's keys; see block_filter.c.
 */
#ifndef BLOOMFILTER_BLOCK_FILTER_H
#define BLOOMFILTER_BLOCK_FILTER_H

#include "join_filter_probe.h"

#include "storage/block.h"

typedef struct BlockFilter BlockFilter;

extern BlockFilter *block_filter_begin(ScanState *node, List *probes,
									   ParallelTableScanDesc parallel);
extern bool block_filter_next(BlockFilter *filter, BlockNumber *first, BlockNumber *last);
extern uint64 block_filter_skipped(const BlockFilter *filter);
extern void block_filter_end(BlockFilter *filter);

#endif							/* BLOOMFILTER_BLOCK_FILTER_H */
