/*
 * join_filter_link.h
 *	  Bringing together the nodes of a join filter; see join_filter_link.c.
 */
#ifndef BLOOMFILTER_JOIN_FILTER_LINK_H
#define BLOOMFILTER_JOIN_FILTER_LINK_H

#include "postgres.h"

#include "nodes/execnodes.h"

extern void join_filters_link(PlanState *root);

#endif							/* BLOOMFILTER_JOIN_FILTER_LINK_H */
