/*
 * filter_path.h
 *	  The planner's paths with Filter Scans; see filter_path.c.
 */
#ifndef BLOOMFILTER_FILTER_PATH_H
#define BLOOMFILTER_FILTER_PATH_H

#include "filter_scan.h"
#include "index_join.h"

#include "nodes/pathnodes.h"

extern void filter_path_add(PlannerInfo *root, RelOptInfo *rel,
							RangeTblEntry *rte);
extern bool filter_path_hides_rows(PlannerInfo *root);
extern CustomPath *filter_path_mark(PlannerInfo *root, RelOptInfo *rel,
									IndexJoin *mark, int workers);
extern bool filter_path_has_join(Path *path);

#endif							/* BLOOMFILTER_FILTER_PATH_H */
