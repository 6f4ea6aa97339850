/*
 * known_filter.h
 *	  Filters that the planner can know; see known_filter.c.
 */
#ifndef BLOOMFILTER_KNOWN_FILTER_H
#define BLOOMFILTER_KNOWN_FILTER_H

#include "postgres.h"

#include "nodes/pathnodes.h"

extern Const *known_filter(PlannerInfo *root, Node *expression,
						   bool read_subqueries);

#endif							/* BLOOMFILTER_KNOWN_FILTER_H */
