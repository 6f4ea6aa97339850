/*
 * filter_path.h
 *	  The planner's paths with Filter Scans; see filter_path.c.
 */
#ifndef BLOOMFILTER_FILTER_PATH_H
#define BLOOMFILTER_FILTER_PATH_H

#include "filter_scan.h"

#include "nodes/pathnodes.h"

extern void filter_path_add(PlannerInfo *root, RelOptInfo *rel,
							RangeTblEntry *rte, FilterScanSetting scans,
							JoinFilterSetting join_filters);
extern void filter_path_replace_loops(PlannerInfo *root, RelOptInfo *join,
									  RelOptInfo *outer, RelOptInfo *inner,
									  JoinPathExtraData *extra);

#endif							/* BLOOMFILTER_FILTER_PATH_H */
