/*
 * key_plan.h
 *	  Adding join filters to finished plans; see key_plan.c.
 */
#ifndef BLOOMFILTER_KEY_PLAN_H
#define BLOOMFILTER_KEY_PLAN_H

#include "filter_scan.h"

#include "nodes/plannodes.h"

extern void key_plan_add_filters(PlannedStmt *statement,
								 JoinFilterSetting setting, bool scans,
								 bool is_volatile, bool has_policies);

#endif							/* BLOOMFILTER_KEY_PLAN_H */
