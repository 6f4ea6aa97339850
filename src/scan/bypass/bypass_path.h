/*
 * bypass_path.h
 *	  The planner's paths with a Filter Bypass; see bypass_path.c.
 */
#ifndef BLOOMFILTER_BYPASS_PATH_H
#define BLOOMFILTER_BYPASS_PATH_H

#include "postgres.h"

#include "nodes/pathnodes.h"

extern void bypass_add_paths(PlannerInfo *root, RelOptInfo *join,
							 RelOptInfo *outer, RelOptInfo *inner,
							 JoinType type, JoinPathExtraData *extra,
							 bool force);

#endif							/* BLOOMFILTER_BYPASS_PATH_H */
