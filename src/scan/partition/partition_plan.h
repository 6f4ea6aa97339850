/*
 * partition_plan.h
 *	  Adds Partition Filters to a finished plan; see partition_plan.c.
 */
#ifndef BLOOMFILTER_PARTITION_PLAN_H
#define BLOOMFILTER_PARTITION_PLAN_H

#include "postgres.h"

#include "nodes/plannodes.h"

extern void partition_filters_add(PlannedStmt *statement, int options,
								  int first_sent);

#endif							/* BLOOMFILTER_PARTITION_PLAN_H */
