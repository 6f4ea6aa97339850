/*
 * shards.c
 *	  Split a set over many small filters, each in a row of its own.
 *
 * Adding an element to a stored filter writes the whole filter: a small one is
 * written in microseconds.  bloom_shard() chooses an element's filter by its
 * hash, so the number of elements of a filter is binomial, and its standard
 * deviation is nearly the square root of its mean.  Each filter gets a capacity
 * somewhat above the mean.
 */
#include "filter.h"

#include <math.h>

/*
 * Maximum length of a filter in a row.  A page has room for several filters and their new
 * versions, so that updates can be HOT.  Smaller filters would need more bits per element.
 */
#define SHARD_BYTES		1100

/*
 * Standard deviations by which the capacity of each filter exceeds the mean.  A fixed filter must
 * not be full before the set is complete: one in 10^8 gets more elements than its capacity.  Of
 * growing filters, one in fifty adds a layer.
 */
#define FIXED_SIGMAS	6
#define GROWING_SIGMAS	2

/*
 * Set *each to the params of each of "shards" filters for a set of params->capacity elements, the
 * same on all machines.  Does such a filter have at most SHARD_BYTES?
 */
static bool
plan_each(const FilterParams *params, uint64_t shards, FilterParams *each)
{
	uint64_t	n = params->capacity;
	FilterPlan	plan;

	*each = *params;
	if (shards > 1)
	{
		uint64_t	mean = n / shards + (n % shards != 0);

		each->capacity = mean + (params->growth > 0 ? GROWING_SIGMAS : FIXED_SIGMAS) *
			(uint64_t) ceil(sqrt((double) mean));
	}
	return filter_plan(each, &plan) == FILTER_OK && plan.bytes <= SHARD_BYTES;
}

uint64_t
filter_plan_shards(const FilterParams *params, FilterParams *each)
{
	uint64_t	least = 1;
	uint64_t	most = smaller(params->capacity, MAX_SHARDS);

	if (plan_each(params, least, each))
		return least;

	/* bisect: more than one filter for each element is never needed */
	if (!plan_each(params, most, each))
		return 0;
	while (least < most)
	{
		uint64_t	shards = least + (most - least) / 2;

		if (plan_each(params, shards, each))
			most = shards;
		else
			least = shards + 1;
	}
	(void) plan_each(params, least, each);
	return least;
}
