/*
 * bypass.h
 *	  The Filter Bypass: what its planner and its executor share.
 */
#ifndef BLOOMFILTER_BYPASS_H
#define BLOOMFILTER_BYPASS_H

#include "scan/plan_fields.h"

#include "nodes/extensible.h"

/* The custom_private of a Filter Bypass: is the feeder the join's inner side? */
#define bypass_fields(feeds_inner)	list_make1(makeBoolean(feeds_inner))
#define bypass_feeds_inner(scan)	(boolVal(linitial(plan_fields((scan)->custom_private, 1))))

/*
 * A bypass is planned only if at most this share of the rows is expected to be joined;
 * if more are, those of a hash join are no longer stored.
 */
#define BYPASS_SHARE_MAX		0.6

/* bypass.c */
extern const CustomScanMethods bypass_methods;
extern const CustomScanMethods bypass_feeder_methods;

#endif							/* BLOOMFILTER_BYPASS_H */
