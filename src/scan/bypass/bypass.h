/*
 * bypass.h
 *	  The Filter Bypass; see bypass.c and bypass_path.c.
 */
#ifndef BLOOMFILTER_BYPASS_H
#define BLOOMFILTER_BYPASS_H

#include "postgres.h"

#include "nodes/extensible.h"
#include "nodes/pathnodes.h"

/*
 * A bypass is planned only if at most this share of the rows is expected to be joined;
 * if more are, those of a hash join are no longer stored.
 */
#define BYPASS_SHARE_MAX		0.6

/* bypass.c */
extern const CustomScanMethods bypass_methods;
extern const CustomScanMethods bypass_feeder_methods;

/* bypass_path.c */
extern void bypass_add_paths(PlannerInfo *root, RelOptInfo *join,
							 RelOptInfo *outer, RelOptInfo *inner,
							 JoinType type, JoinPathExtraData *extra);

#endif							/* BLOOMFILTER_BYPASS_H */
