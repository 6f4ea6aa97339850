/*
 * key_link.h
 *	  Bringing together the nodes of a join filter; see key_link.c.
 */
#ifndef BLOOMFILTER_KEY_LINK_H
#define BLOOMFILTER_KEY_LINK_H

#include "postgres.h"

#include "nodes/execnodes.h"

extern void key_link_plan(PlanState *root);

#endif							/* BLOOMFILTER_KEY_LINK_H */
