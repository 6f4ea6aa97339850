/*
 * shards.c
 *	  How a set is split over many small filters, each in a row of its own.
 *
 * Adding one element to a stored filter writes the whole filter; a small one in
 * a row of its own is written in microseconds.  An element's hash chooses the
 * filter, as bloom_shard() does, so the number of elements of a filter is
 * binomial: its standard deviation is nearly the square root of its mean.
 * Each gets a capacity for somewhat more than the mean.
 */
#include "filter.h"

#include <math.h>

/*
 * The largest filter of a row: a page has room for several and their new versions,
 * without which an update changes indexes.  Smaller ones would need more bits.
 */
#define SHARD_BYTES		1100

/*
 * Standard deviations by which each capacity exceeds the mean.  A fixed filter should
 * not be full before the set is: its capacity is exceeded once in 10^8.  Of growing
 * filters, one in fifty adds a layer.
 */
#define FIXED_SIGMAS	6
#define GROWING_SIGMAS	2

/* The capacity of each of "shards" filters of n elements, by integers: the same anywhere */
static uint64_t
shard_capacity(uint64_t n, uint64_t shards, int growth)
{
	uint64_t	mean;
	uint64_t	sigma;

	/* one shard has them all */
	if (shards <= 1)
		return n;
	mean = n / shards + (n % shards != 0);
	sigma = (uint64_t) ceil(sqrt((double) mean));
	return mean + (growth > 0 ? GROWING_SIGMAS : FIXED_SIGMAS) * sigma;
}

/* Is a filter for this capacity small enough? */
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

	/* one for each element is enough; then bisect */
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
