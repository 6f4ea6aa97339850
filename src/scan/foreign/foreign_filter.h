/*
 * foreign_filter.h
 *	  Sends join filters to foreign servers; see foreign_filter.c.
 */
#ifndef BLOOMFILTER_FOREIGN_FILTER_H
#define BLOOMFILTER_FOREIGN_FILTER_H

#include "scan/plan_tree.h"

#include "nodes/plannodes.h"

extern Oid	foreign_key_type(const HashJoin *join, bool of_outer);
extern bool foreign_filter_fits(const PlanEffects *effects, Plan *plan,
								AttrNumber column, Oid key_type, bool ordered);
extern int	foreign_fetch_size(const Plan *plan);
extern List *foreign_filter_plan(PlannedStmt *statement, Oid type);
extern void foreign_filter_add_scan(List **sent, Plan *plan, AttrNumber column);
extern bool foreign_filter_depend(Plan *plan, int parameter);

#endif							/* BLOOMFILTER_FOREIGN_FILTER_H */
