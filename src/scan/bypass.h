/*
 * bypass.h
 *	  The Filter Bypass: what its planner and its executor share.
 */
#ifndef BLOOMFILTER_BYPASS_H
#define BLOOMFILTER_BYPASS_H

#include "plan_fields.h"

#include "nodes/extensible.h"

/* The custom_private of a Filter Bypass: is the feeder the join's inner side? */
#define bypass_fields(feeds_inner)	list_make1(makeBoolean(feeds_inner))
#define bypass_feeds_inner(scan)	(boolVal(linitial(plan_fields((scan)->custom_private, 1))))

/* bypass.c */
extern const CustomScanMethods bypass_methods;
extern const CustomScanMethods bypass_feeder_methods;

#endif							/* BLOOMFILTER_BYPASS_H */
