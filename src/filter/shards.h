/*
 * shards.h
 *	  How a set is split over many small filters; see shards.c.
 */
#ifndef FILTER_SHARDS_H
#define FILTER_SHARDS_H

#include "plan.h"

/*
 * The number of filters for "params", which are those of the whole set, and the
 * parameters of each of them.  Returns 0 if there would be more than MAX_SHARDS.
 */
extern uint64_t filter_plan_shards(const FilterParams *params,
								   FilterParams *each);

/* Shards have numbers from 0, which are a PostgreSQL integer */
#define MAX_SHARDS		INT32_MAX

#endif							/* FILTER_SHARDS_H */
