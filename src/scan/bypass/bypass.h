/*
 * bypass.h
 *	  The Filter Bypass; see bypass.c and bypass_path.c.
 */
#ifndef BLOOMFILTER_BYPASS_H
#define BLOOMFILTER_BYPASS_H

#include "scan/join/join_filter_store.h"

#include "nodes/pathnodes.h"

/*
 * A bypass is planned only if at most this share of the rows is expected to be joined.  If
 * execution shows that more are, it stores no further rows for a hash join.
 */
#define BYPASS_SHARE_MAX		0.6

/* bypass.c */
extern const NodeKind bypass_node;
extern const NodeKind bypass_feeder_node;
extern StoredKeys *bypass_stored_keys(PlanState *node);

/* bypass_path.c */
extern void bypass_add_paths(PlannerInfo *root, RelOptInfo *join,
							 RelOptInfo *outer, RelOptInfo *inner,
							 JoinType type, JoinPathExtraData *extra);

#endif							/* BLOOMFILTER_BYPASS_H */
