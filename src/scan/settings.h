/*
 * settings.h
 *	  The settings that say which plans the planner may change.
 */
#ifndef BLOOMFILTER_SETTINGS_H
#define BLOOMFILTER_SETTINGS_H

#include "postgres.h"

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

/* The enums, as int */
extern int	filter_scan_setting;
extern int	join_filter_setting;

/* May a plan leave out partitions by their membership indexes? */
extern bool partition_filter_setting;

/* Are the keys of hash joins sent to foreign servers? */
extern bool foreign_filter_setting;

extern void settings_init(void);

#endif							/* BLOOMFILTER_SETTINGS_H */
