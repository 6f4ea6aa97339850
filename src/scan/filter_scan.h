/*
 * filter_scan.h
 *	  The Filter Scan: declarations that its planner and its executor share.
 */
#ifndef BLOOMFILTER_FILTER_SCAN_H
#define BLOOMFILTER_FILTER_SCAN_H

#include "probe.h"

extern const NodeKind filter_scan_node;
extern List *filter_scan_key_probes(PlanState *node);
extern bool filter_scan_row_passes(PlanState *node);

#endif							/* BLOOMFILTER_FILTER_SCAN_H */
