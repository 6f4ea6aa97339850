/*
 * shards.c
 *	  How a set is split over many small filters, each in a row of its own.
 *
 * To add one element to a stored filter writes the whole filter; a small one in
 * a row of its own is written in microseconds.  An element's hash chooses the
 * filter, as bloom_shard() does, so the number of elements of a filter is
 * binomial: nearly its mean, with the square root of it as standard deviation.
 * Each gets a capacity for somewhat more than the mean.
 */
#include "shards.h"

#include <math.h>

#include "filter.h"

/*
 * The largest filter of a row.  A row of up to some 2,000 bytes is not toasted,
 * even with another layer; and of rows of half of that a page has room for new
 * versions, without which an update has to change indexes.
 */
#define SHARD_BYTES		1100

/*
 * By how many standard deviations the capacity of each exceeds the mean. A fixed
 * filter must not be full before the whole set is: by chance, once in 10^9.  One
 * that grows may be; one in fifty needs another layer then.
 */
#define FIXED_SIGMAS	FULL_SIGMAS
#define GROWING_SIGMAS	2.0

/* The capacity of each of "shards" filters, if there are n elements in all */
static uint64_t
shard_capacity(double n, double shards, int growth)
{
	double		mean = n / shards;

	/* one shard has them all */
	if (shards <= 1)
		return (uint64_t) n;
	return (uint64_t) ceil(mean + (growth > 0 ? GROWING_SIGMAS : FIXED_SIGMAS) *
						   sqrt(mean));
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
	double		n = (double) params->capacity;
	uint64_t	least = 1;
	uint64_t	most;

	*each = *params;
	if (fits_row(params, params->capacity))
		return 1;

	/* one for each element is enough; then bisect */
	most = params->capacity < MAX_SHARDS ? params->capacity : MAX_SHARDS;
	if (!fits_row(params, shard_capacity(n, (double) most, params->growth)))
		return 0;
	while (least < most)
	{
		uint64_t	shards = least + (most - least) / 2;

		if (fits_row(params, shard_capacity(n, (double) shards, params->growth)))
			most = shards;
		else
			least = shards + 1;
	}
	each->capacity = shard_capacity(n, (double) least, params->growth);
	return least;
}
