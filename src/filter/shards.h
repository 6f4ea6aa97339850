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

/*
 * The largest number of shards: enough for 10^10 elements at one percent, or 10^9
 * at the lowest error rate.  Whoever asks for them gets all their filters at once, of
 * up to SHARD_BYTES (shards.c): 18 GB.
 */
#define MAX_SHARDS		(1 << 24)

#endif							/* FILTER_SHARDS_H */
