/*
 * small_sizing.c
 *	  The size of small layers, where n elements pick k of m bits each; m is a multiple of 8.
 *
 * A probe of an absent element reads k bits, so the error rate of a layer with s set bits is
 * (s / m)^k.  occupancy.c gives the mean and the deviation of s.  We compute the mean of
 * (s / m)^k by the first two terms of its expansion.  The textbook's formula, which is the first
 * term alone, is 6 % too low for ten elements at 1 % (Bose et al., "On the false-positive rate
 * of Bloom filters", 2008).
 *
 * The search tries each k, and finds the fewest bytes by bisection.  That takes some
 * microseconds, so results are cached: the functions of this file are not thread-safe.
 */
#include "sizing.h"

#include <math.h>

/* Number of tables of sizes that are cached, one for each error rate and use; each takes 6 kB */
#define TABLES_CACHED	8

/* Sizes for one error rate and use, by capacity, as far as they have been computed */
typedef struct SmallSizes
{
	double		error_rate;		/* 0: nothing yet */
	LayerUse	use;
	struct
	{
		uint16_t	bytes;		/* 0: not yet known */
		uint8_t		hashes;
	}			of[SMALL_CAPACITY_MAX + 1];
} SmallSizes;

static SmallSizes tables[TABLES_CACHED];

static SmallSizes *
sizes_for(double error_rate, LayerUse use)
{
	static unsigned turn;
	SmallSizes *sizes;

	for (int i = 0; i < TABLES_CACHED; i++)
		if (tables[i].error_rate == error_rate && tables[i].use == use)
			return &tables[i];
	sizes = &tables[turn++ % TABLES_CACHED];
	memset(sizes, 0, sizeof(*sizes));
	sizes->error_rate = error_rate;
	sizes->use = use;
	return sizes;
}

double
small_expected_error_rate(const FilterLayer *layer, double n)
{
	double		k = layer->hashes;
	double		mean = layer_expected_bits(layer, n);
	double		deviation;

	if (mean <= 0)
		return 0;
	deviation = set_bits_sigma(layer, n) / mean;
	return pow(mean / layer->size, k) *
		(1 + k * (k - 1) / 2 * deviation * deviation);
}

/* Is a layer with these fields large enough for n elements?  If so, set its bits_full. */
static bool
fits(FilterLayer *layer, double n, LayerUse use)
{
	double		tolerance = use == LAYER_FIXED ? FIXED_TOLERANCE : 1;
	double		full;

	if (small_expected_error_rate(layer, n) >
		layer->error_rate * (1 + SAME_FIGURE))
		return false;
	if (use == LAYER_EXACT)
		full = ceil(layer_expected_bits(layer, n) * (1 - SAME_FIGURE));
	else
	{
		/* as many set bits as the error rate allows */
		full = bits_full_within(layer, layer->size *
								pow(tolerance * layer->error_rate,
									1.0 / layer->hashes));
		/* not full before the last of n elements, except once in 10^9 times */
		if (full <= most_bits(layer, n - 1))
			return false;
	}
	layer->bits_full = (uint64_t) fmax(1, fmin(full, (double) layer->size));
	return true;
}

/* Find the fewest bytes that are enough, and the fewest hashes for that length. */
static bool
find_size(FilterLayer *layer, double n, LayerUse use)
{
	uint64_t	best = SMALL_MAX_BYTES + 1;
	unsigned	best_hashes = 0;

	for (layer->hashes = 1; layer->hashes <= SMALL_MAX_HASHES; layer->hashes++)
	{
		uint64_t	low = 1;
		uint64_t	high = best;

		/* "high" is large enough for these hashes, or no better than "best" */
		while (low < high)
		{
			uint64_t	middle = (low + high) / 2;

			layer->size = 8 * middle;
			if (fits(layer, n, use))
				high = middle;
			else
				low = middle + 1;
		}
		if (high < best)
		{
			best = high;
			best_hashes = layer->hashes;
		}
	}
	layer->size = 8 * best;
	layer->hashes = best_hashes;
	return best <= SMALL_MAX_BYTES;
}

bool
small_plan(uint64_t capacity, double error_rate, LayerUse use,
		   FilterLayer *layer)
{
	SmallSizes *sizes = sizes_for(error_rate, use);
	double		n = fmax((double) capacity, 1);

	*layer = (FilterLayer)
	{
		.layout = LAYOUT_SMALL, .capacity = capacity, .error_rate = error_rate
	};
	if (sizes->of[capacity].bytes == 0)
	{
		if (!find_size(layer, n, use))
			return false;
		sizes->of[capacity].bytes = (uint16_t) (layer->size / 8);
		sizes->of[capacity].hashes = (uint8_t) layer->hashes;
	}
	layer->size = 8 * (uint64_t) sizes->of[capacity].bytes;
	layer->hashes = sizes->of[capacity].hashes;
	return fits(layer, n, use);
}
