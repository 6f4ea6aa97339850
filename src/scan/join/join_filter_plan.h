/*
 * join_filter_plan.h
 *	  Adding join filters to finished plans; see join_filter_plan.c.
 */
#ifndef BLOOMFILTER_JOIN_FILTER_PLAN_H
#define BLOOMFILTER_JOIN_FILTER_PLAN_H

#include "scan/filter_scan.h"

#include "nodes/plannodes.h"

extern void join_filters_add(PlannedStmt *statement, bool is_volatile,
							 bool has_policies, double fraction);

#endif							/* BLOOMFILTER_JOIN_FILTER_PLAN_H */
