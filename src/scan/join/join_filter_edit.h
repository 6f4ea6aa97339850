/*
 * join_filter_edit.h
 *	  Adding the nodes of join filters to a plan; see join_filter_edit.c.
 */
#ifndef BLOOMFILTER_JOIN_FILTER_EDIT_H
#define BLOOMFILTER_JOIN_FILTER_EDIT_H

#include "join_filter_place.h"

extern void add_build(PlanEditor *editor, HashJoin *join, const JoinKey *key,
					  bool comes_first, bool marks, List *sent);
extern List *add_probes(PlanEditor *editor, const Placement *placement);
extern void check_filters(const PlanEditor *editor);

#endif							/* BLOOMFILTER_JOIN_FILTER_EDIT_H */
