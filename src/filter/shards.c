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

/* Return the capacity of each of "shards" filters for n elements, the same on all machines. */
static uint64_t
shard_capacity(uint64_t n, uint64_t shards, int growth)
{
	uint64_t	mean;
	uint64_t	sigma;

	/* one filter has all elements */
	if (shards <= 1)
		return n;
	mean = n / shards + (n % shards != 0);
	sigma = (uint64_t) ceil(sqrt((double) mean));
	return mean + (growth > 0 ? GROWING_SIGMAS : FIXED_SIGMAS) * sigma;
}

/* Does a filter for this capacity have at most SHARD_BYTES? */
static bool
fits_row(const FilterParams *params, uint64_t capacity)
{
	FilterParams each = *params;
	FilterPlan	plan;

	each.capacity = capacity;
	return filter_plan(&each, &plan) == FILTER_OK && plan.bytes <= SHARD_BYTES;
}

uint64_t
filter_plan_shards(const FilterParams *params, FilterParams *each)
{
	uint64_t	n = params->capacity;
	uint64_t	least = 1;
	uint64_t	most;

	*each = *params;
	if (fits_row(params, n))
		return 1;

	/* bisect: more than one filter for each element is never needed */
	most = n < MAX_SHARDS ? n : MAX_SHARDS;
	if (!fits_row(params, shard_capacity(n, most, params->growth)))
		return 0;
	while (least < most)
	{
		uint64_t	shards = least + (most - least) / 2;

		if (fits_row(params, shard_capacity(n, shards, params->growth)))
			most = shards;
		else
			least = shards + 1;
	}
	each->capacity = shard_capacity(n, least, params->growth);
	return least;
}
