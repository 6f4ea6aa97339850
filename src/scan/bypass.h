/*
 * bypass.h
 *	  The Filter Bypass: what its planner and its executor share.
 */
#ifndef BLOOMFILTER_BYPASS_H
#define BLOOMFILTER_BYPASS_H

#include "postgres.h"

#include "nodes/extensible.h"

/* The custom_private of a Filter Bypass: is the feeder the join's inner side? */
#define bypass_feeds_inner(scan)	(boolVal(linitial((scan)->custom_private)))

/* bypass.c */
extern const CustomScanMethods bypass_methods;
extern const CustomScanMethods bypass_feeder_methods;

#endif							/* BLOOMFILTER_BYPASS_H */
