/*
 * loop_path.h
 *	  Nested loops over Filter Scans; see loop_path.c.
 */
#ifndef BLOOMFILTER_LOOP_PATH_H
#define BLOOMFILTER_LOOP_PATH_H

#include "postgres.h"

#include "nodes/pathnodes.h"

extern void loop_path_replace(PlannerInfo *root, RelOptInfo *join,
							  RelOptInfo *outer, RelOptInfo *inner, JoinType type,
							  JoinPathExtraData *extra);
extern Path *loop_path_nested_loop(PlannerInfo *root, RelOptInfo *join,
								   JoinType type, Path *outer, Path *inner,
								   List *pathkeys, JoinPathExtraData *extra);
extern Path *loop_path_hash_join(PlannerInfo *root, RelOptInfo *join,
								 JoinType type, Path *outer, Path *inner,
								 Relids required, JoinPathExtraData *extra);

#endif							/* BLOOMFILTER_LOOP_PATH_H */
