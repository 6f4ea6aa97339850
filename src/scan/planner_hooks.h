/*
 * planner_hooks.h
 *	  Hooks into the planner, and settings; see planner_hooks.c.
 */
#ifndef BLOOMFILTER_PLANNER_HOOKS_H
#define BLOOMFILTER_PLANNER_HOOKS_H

extern void planner_hooks_init(void);

#endif							/* BLOOMFILTER_PLANNER_HOOKS_H */
