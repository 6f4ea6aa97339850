/*
 * filter_scan.h
 *	  The Filter Scan: declarations that its planner and its executor share.
 */
#ifndef BLOOMFILTER_FILTER_SCAN_H
#define BLOOMFILTER_FILTER_SCAN_H

#include "probe.h"

/* Values of bloomfilter.filter_scan: when does the planner use Filter Scans? */
typedef enum FilterScanSetting
{
	FILTER_SCAN_OFF,
	FILTER_SCAN_ON,				/* where they are cheaper */
	FILTER_SCAN_FORCE			/* wherever possible; for tests */
} FilterScanSetting;

/* Values of bloomfilter.join_filter: which joins filter the tables that they join? */
typedef enum JoinFilterSetting
{
	JOIN_FILTER_OFF,
	JOIN_FILTER_INDEX,			/* joins of tables with a membership index */
	JOIN_FILTER_ON,				/* also hash joins, if expected to pay */
	JOIN_FILTER_FORCE			/* wherever possible; for tests */
} JoinFilterSetting;

/* The settings, as int */
extern int	filter_scan_setting;
extern int	join_filter_setting;

extern const NodeKind filter_scan_node;
extern List *filter_scan_key_probes(PlanState *node);
extern bool filter_scan_row_passes(PlanState *node);

#endif							/* BLOOMFILTER_FILTER_SCAN_H */
