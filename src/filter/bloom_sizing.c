/*
 * bloom_sizing.c
 *	  The size of blocked Bloom filters: the number of blocks, the bits of an
 *	  element, when a layer is full, and its error rate.
 *
 * The textbook's formula undersizes a blocked filter, because its blocks are not equally full
 * (Putze, Sanders and Singler 2007, section 3.1).  If n elements are in N blocks, a block has j
 * of them; j is binomial, and Poisson for many blocks.  The error rate of a block with j
 * elements is f(j), and that of the layer is the mean of f.
 *
 * f(j) is exact for one lane, and assumes that lanes are independent.  With k = 8 q + r
 * (block512.c), one element leaves d given bits of a lane clear with the probability
 * ((64 - d) / 64)^q (1 - (r/8) (d/64)), and j elements with its j-th power.  A probe picks q
 * bits of a lane (q + 1 in r lanes), some of which may coincide.  The probability that all of
 * these are set follows by inclusion and exclusion over the subsets that are clear.
 *
 * To find a size, we search the highest load (elements per block) for each k, and use the best
 * k.  Up to FEW_BLOCKS blocks, we do so for each number of blocks.  This takes half a
 * millisecond, so results are cached: the functions of this file are not thread-safe.
 *
 * All machines must compute the same size, or their filters could not be united.  So the load
 * is rounded down to a multiple of 1/1024: a difference in the last digit of exp() or log()
 * then does not matter.  README.md has the measurements behind the shares of layers.
 */
#include "sizing.h"

#include <math.h>

#include "block512.h"

/* Below this error rate, two blocks take 7 % fewer bits; few probes read the second one. */
#define TWO_BLOCKS_BELOW	6e-4

/*
 * If an element has this many bits in a block, its error rate exceeds the computed one by up to
 * 0.7 % (measured), because windows fill, and probe, neighbouring lanes together.
 */
#define RUN_HASHES_MIN		2
#define RUN_HASHES_MAX		4
#define RUN_ERROR			1.008

/*
 * The least error rate of a layer: the last of IMAGE_MAX_LAYERS at ERROR_RATE_MIN has 2e-12.  The
 * searches of this file end for any rate from here to ERROR_RATE_MAX, and not for others, such as
 * those of bytes that nobody has checked.
 */
#define LAYER_ERROR_RATE_MIN	1e-13

/* Of the error rate that earlier layers leave, each layer leaves this part to later ones */
#define NEXT_SHARE_KEPT		0.823

/* Each next layer has growth / GROWTH_PARTS of the capacity of all before it. */
#define GROWTH_PARTS		4

/* Layers that follow at least this many others have twice that capacity. */
#define FASTER_FROM			19

/* Minimum capacity of later layers: smaller layers would be shorter than their descriptors. */
#define NEXT_CAPACITY_MIN	64

/* Up to this number of blocks, the elements of a block are binomial; beyond, Poisson */
#define FEW_BLOCKS			64

/* Stands for any larger number of blocks */
#define MANY_BLOCKS			0

/* Loads are multiples of 1 / LOAD_STEPS */
#define LOAD_STEPS			1024.0

/*
 * The secant method on logarithms: the number of iterations, after which the load is close
 * enough for a search step by step; and the minimum slope
 */
#define SECANT_STEPS		5
#define SECANT_LEAST_POWER	0.25

/* Maximum number of bits that an element picks in one lane */
#define MAX_PICKS			((BLOCK_MAX_HASHES + BLOCK_LANES - 1) / BLOCK_LANES)

/*
 * [m][d]: the probability that m random picks hit d different bits of a lane, which is a Stirling
 * number of the second kind times the falling factorial of 64, divided by 64^m
 */
static const double picks_distinct[MAX_PICKS + 1][MAX_PICKS + 1] = {
	{1},
	{0, 1},
	{0, 1.0 / 64, 63.0 / 64},
	{0, 1.0 / (64 * 64), 3 * 63.0 / (64 * 64), 63.0 * 62 / (64 * 64)}
};

/* Return the chance that "picks" bits of a lane are set; spared[d]: that d given bits are not. */
static double
picks_all_set(int picks, const double spared[MAX_PICKS + 1])
{
	double		sum = 0;
	double		binomial = 1;	/* (-1)^m (picks over m) */

	for (int m = 0; m <= picks; m++)
	{
		for (int d = 0; d <= m; d++)
			sum += binomial * picks_distinct[m][d] * spared[d];
		binomial *= -(double) (picks - m) / (m + 1);
	}
	return sum > 0 ? sum : 0;
}

/*
 * Return the error rate of a probe of one block: the mean over its number of elements, which is
 * binomial with "trials" and "p", or Poisson with mean "p" if trials is infinite.
 */
static double
mean_error_rate(unsigned k, double trials, double p)
{
	bool		poisson = isinf(trials);
	double		mean = poisson ? p : trials * p;
	double		sigma = sqrt(poisson ? mean : mean * (1 - p));
	double		mode = floor(mean);

	/* beyond 12 sigma, and some more for small means, weights are negligible */
	double		low = fmax(0, floor(mode - 12 * sigma - 20));
	double		high = ceil(mode + 12 * sigma + 40);
	double		spares[MAX_PICKS + 1];
	double		spared[MAX_PICKS + 1];
	double		weight;
	double		sum = 0;

	/* the weight of the lowest j; the loop computes each next one from it */
	if (poisson)
		weight = exp(low * log(mean) - mean - lgamma(low + 1));
	else if (p < 1)
	{
		high = fmin(high, trials);
		weight = exp(lgamma(trials + 1) - lgamma(low + 1) -
					 lgamma(trials - low + 1) +
					 low * log(p) + (trials - low) * log1p(-p));
	}
	else
	{
		low = high = trials;
		weight = 1;
	}

	for (int d = 0; d <= MAX_PICKS; d++)
	{
		spares[d] = block_spares(k, d);
		spared[d] = pow(spares[d], low);
	}

	for (double j = low; j <= high; j++)
	{
		double		rate = 1;
		double		few = picks_all_set(k / BLOCK_LANES, spared);

		for (unsigned lane = k % BLOCK_LANES; lane < BLOCK_LANES; lane++)
			rate *= few;
		if (k % BLOCK_LANES != 0)
		{
			double		more = picks_all_set(k / BLOCK_LANES + 1, spared);

			for (unsigned lane = 0; lane < k % BLOCK_LANES; lane++)
				rate *= more;
		}
		sum += weight * rate;

		weight *= poisson ? mean / (j + 1) :
			(trials - j) / (j + 1) * (p / (1 - p));
		for (int d = 1; d <= MAX_PICKS; d++)
			spared[d] *= spares[d];
	}
	return sum;
}

/* Return the error rate of n elements in "blocks" blocks; if blocks is 0, of n in each block. */
static double
blocked_error_rate(FilterLayout layout, unsigned k, double blocks, double n)
{
	int			choices = layer_blocks(layout);
	double		rate;

	if (n <= 0)
		return 0;
	if (blocks == 0)
		rate = mean_error_rate(k, INFINITY, choices * n);
	else if (blocks > FEW_BLOCKS)
		rate = mean_error_rate(k, INFINITY, choices * n / blocks);
	else
		rate = mean_error_rate(k, n, choices / blocks);
	/* an element's two blocks always differ, so they are almost independent */
	return choices == 2 ? rate * rate : rate;
}

/*
 * Return the most elements, a multiple of "step", with which k bits of an element keep the error
 * rate: in "blocks" blocks or, if blocks is 0, in each block.  Begin the search at "guess".
 */
static double
most_elements(FilterLayout layout, unsigned k, double blocks, double step,
			  double guess, double error_rate)
{
	/* the error rate is about proportional to this power of the load */
	double		power = k * layer_blocks(layout);
	double		last_rate = 0;
	double		last_guess = 0;
	double		steps;

	for (int i = 0; i < SECANT_STEPS; i++)
	{
		double		rate = blocked_error_rate(layout, k, blocks, guess);

		if (i > 0 && guess != last_guess)
			power = fmax(log(rate / last_rate) / log(guess / last_guess),
						 SECANT_LEAST_POWER);
		last_rate = rate;
		last_guess = guess;
		guess *= pow(error_rate / rate, 1 / power);
		guess = fmin(fmax(guess, step), BLOCK_BITS * fmax(blocks, 1));
	}

	/* search step by step, so that the result does not depend on pow() */
	steps = floor(guess / step);
	while (steps > 0 &&
		   blocked_error_rate(layout, k, blocks, steps * step) > error_rate)
		steps--;
	while (blocked_error_rate(layout, k, blocks, (steps + 1) * step) <=
		   error_rate)
		steps++;
	return steps * step;
}

/*
 * Do the same for the best k, to which *hashes is set.  Up to the best k, more bits allow more
 * elements, and beyond it fewer: search from *hashes up, then down.
 */
static double
most_elements_best(FilterLayout layout, unsigned *hashes, double blocks,
				   double step, double guess, double error_rate)
{
	unsigned	first = *hashes;
	double		most = most_elements(layout, first, blocks, step, guess,
									 error_rate);

	for (int up = 1; up >= -1; up -= 2)
	{
		for (unsigned k = first + up; k >= 1 && k <= BLOCK_MAX_HASHES; k += up)
		{
			double		elements = most_elements(layout, k, blocks, step, most,
												 error_rate);

			if (elements <= most)
				break;
			most = elements;
			*hashes = k;
		}
		if (*hashes != first)
			break;
	}
	return most;
}

/* Sizes for one error rate, as far as they have been computed */
typedef struct Sizes
{
	double		error_rate;		/* 0: nothing yet */
	FilterLayout layout;
	struct
	{
		double		elements;	/* capacity of all these blocks */
		double		tolerated;	/* at FIXED_TOLERANCE times the error rate */
		unsigned	hashes;		/* the best k */
	}			of[FEW_BLOCKS + 1]; /* by number of blocks; [MANY_BLOCKS]: of
									 * each block; elements 0: not yet known */
} Sizes;

/*
 * A hash table of sizes by error rate, with room for the layers of several growing filters.  An
 * entry is at the place of its error rate's hash, or in one of the next SIZES_TRIED - 1.
 */
#define SIZES_CACHED	64
#define SIZES_TRIED		4

static Sizes sizes_cache[SIZES_CACHED];

static Sizes *
sizes_for(double error_rate)
{
	uint64_t	word = block_word(bits_of_double(error_rate));
	uint64_t	place = mulhi64(remix64(word), SIZES_CACHED);
	Sizes	   *sizes;
	static unsigned turn;

	for (int i = 0; i < SIZES_TRIED; i++)
	{
		sizes = &sizes_cache[(place + i) % SIZES_CACHED];
		if (sizes->error_rate == error_rate)
			return sizes;
	}

	/* evict entries in turn, so that two rates do not always evict each other */
	sizes = &sizes_cache[(place + turn++ % SIZES_TRIED) % SIZES_CACHED];
	memset(sizes, 0, sizeof(*sizes));
	sizes->layout = error_rate < TWO_BLOCKS_BELOW ?
		LAYOUT_BLOCK512X2 : LAYOUT_BLOCK512;
	/* begin the search with the best k, and the load, of a classic filter */
	sizes->of[MANY_BLOCKS].hashes = (unsigned)
		fmin(fmax(round(-log2(error_rate) / layer_blocks(sizes->layout)), 1),
			 BLOCK_MAX_HASHES);
	sizes->of[MANY_BLOCKS].elements =
		most_elements_best(sizes->layout, &sizes->of[MANY_BLOCKS].hashes,
						   MANY_BLOCKS, 1 / LOAD_STEPS,
						   BLOCK_BITS * M_LN2 * M_LN2 / -log(error_rate), error_rate);
	sizes->error_rate = error_rate;
	return sizes;
}

/* Return the capacity of this number of blocks, which is at most FEW_BLOCKS. */
static double
few_capacity(Sizes *sizes, int blocks)
{
	if (sizes->of[blocks].elements == 0)
	{
		sizes->of[blocks].hashes = sizes->of[MANY_BLOCKS].hashes;
		sizes->of[blocks].elements =
			most_elements_best(sizes->layout, &sizes->of[blocks].hashes, blocks, 1,
							   blocks * sizes->of[MANY_BLOCKS].elements,
							   sizes->error_rate);
	}
	return sizes->of[blocks].elements;
}

/* Set layout, size and hashes for n elements; return the most elements that the size allows. */
static double
fit_blocks(double n, double error_rate, FilterLayer *layer)
{
	Sizes	   *sizes = sizes_for(error_rate);
	int			least = layer_blocks(sizes->layout);
	double		load = sizes->of[MANY_BLOCKS].elements;
	double		blocks = fmax(ceil(n / load), least);

	layer->layout = sizes->layout;
	if (blocks <= FEW_BLOCKS)
	{
		int			few = (int) blocks;

		/* few blocks are filled more evenly, so the load can be higher */
		while (few <= FEW_BLOCKS && few_capacity(sizes, few) < n)
			few++;
		while (few > least && few_capacity(sizes, few - 1) >= n)
			few--;
		if (few <= FEW_BLOCKS)
		{
			layer->size = few;
			layer->hashes = sizes->of[few].hashes;
			return few_capacity(sizes, few);
		}
		blocks = few;
	}
	layer->size = (uint64_t) blocks;
	layer->hashes = sizes->of[MANY_BLOCKS].hashes;
	return floor(blocks * load);
}

/* Return the most elements of fit_blocks()'s layer at FIXED_TOLERANCE times its error rate. */
static double
tolerated_elements(const FilterLayer *layer)
{
	Sizes	   *sizes = sizes_for(layer->error_rate);
	double		rate = FIXED_TOLERANCE * layer->error_rate;
	uint64_t	blocks = layer->size <= FEW_BLOCKS ? layer->size : MANY_BLOCKS;
	double	   *tolerated = &sizes->of[blocks].tolerated;

	if (layer->hashes >= RUN_HASHES_MIN && layer->hashes <= RUN_HASHES_MAX)
		rate /= RUN_ERROR;
	if (*tolerated == 0)
		*tolerated = most_elements(sizes->layout, layer->hashes, (double) blocks,
								   blocks == MANY_BLOCKS ? 1 / LOAD_STEPS : 1,
								   sizes->of[blocks].elements, rate);
	return blocks == MANY_BLOCKS ? floor(layer->size * *tolerated) : *tolerated;
}

bool
blocks_plan(uint64_t capacity, double error_rate, LayerUse use,
			uint64_t max_bits, FilterLayer *layer)
{
	double		n = fmax((double) capacity, 1);
	double		full;

	memset(layer, 0, sizeof(*layer));
	layer->capacity = capacity;
	layer->error_rate = error_rate;
	/* no layer has more elements than bits; the comparisons are false for NaN */
	if (capacity > max_bits ||
		!(error_rate >= LAYER_ERROR_RATE_MIN && error_rate <= ERROR_RATE_MAX))
		return false;
	for (;;)
	{
		double		most = fit_blocks(n, error_rate, layer);
		double		before;

		if (layer->size > max_bits / BLOCK_BITS)
			return false;
		if (use == LAYER_EXACT)
		{
			full = ceil(layer_expected_bits(layer, (double) capacity) *
						(1 - SAME_FIGURE));
			break;
		}
		if (use == LAYER_FIXED)
			most = tolerated_elements(layer);
		full = bits_full_within(layer, layer_expected_bits(layer, most));
		/* not full before the last element, except once in 10^9 times */
		before = most_bits(layer, (double) capacity - 1);
		if (full > before)
			break;
		/* the curve gets flatter: with the slope here, no step is too long */
		n += fmax(1, floor((before - full) /
						   (layer_expected_bits(layer, n + 1) -
							layer_expected_bits(layer, n))));
	}
	layer->bits_full = (uint64_t)
		fmax(1, fmin(full, (double) bloom_layer_bits(layer)));
	return true;
}

bool
layer_plan(uint64_t capacity, double error_rate, LayerUse use,
		   uint64_t max_bits, FilterLayer *layer)
{
	if (capacity <= SMALL_CAPACITY_MAX &&
		small_plan(capacity, error_rate, use, layer))
		return true;
	return blocks_plan(capacity, error_rate, use, max_bits, layer);
}

double
first_layer_error_rate(uint64_t capacity, double error_rate, bool exact)
{
	return error_rate * (exact && capacity <= SMALL_CAPACITY_MAX ?
						 SMALL_EXACT_SHARE : BLOOM_FIRST_SHARE);
}

double
next_layer_error_rate(double error_rate, double first, int index)
{
	/* "first" may be any number, as it may come from bytes of a user */
	double		rest = error_rate - fmin(first, error_rate * SMALL_EXACT_SHARE);

	for (int i = 1; i < index; i++)
		rest *= NEXT_SHARE_KEPT;
	return rest * (1 - NEXT_SHARE_KEPT);
}

uint64_t
next_layer_capacity(uint64_t whole, int growth, int index)
{
	uint64_t	capacity = whole * growth / GROWTH_PARTS;

	if (index >= FASTER_FROM)
		capacity *= 2;
	return capacity < NEXT_CAPACITY_MIN ? NEXT_CAPACITY_MIN : capacity;
}

double
layer_expected_error_rate(const FilterLayer *layer, double n)
{
	if (layer->layout == LAYOUT_SMALL)
		return small_expected_error_rate(layer, n);
	return blocked_error_rate(layer->layout, layer->hashes,
							  (double) layer->size, n);
}

double
layers_cardinality(const FilterLayer *layers, const double *added, int count)
{
	double		sum = 0;
	double		not_before = 1;

	/*
	 * An element that earlier layers seem to contain is not added to a later
	 * one, which so stands for more elements than it has.  Layers of one
	 * shape come from different filters: none was earlier than another.
	 */
	for (int i = 0; i < count; i++)
	{
		double		elements = layer_cardinality(&layers[i]);

		if (added && i > 0 && layer_same_shape(&layers[i], &layers[i - 1]))
		{
			sum += elements * added[i];
			continue;
		}
		sum += elements / not_before;
		not_before *= fmax(1 - layer_error_rate(&layers[i]),
						   1 - ERROR_RATE_MAX);
	}
	return sum;
}

double
layer_error_rate(const FilterLayer *layer)
{
	/* a probe reads bits anywhere, so the rate depends on their share alone */
	if (layout_is_flat(layer->layout))
		return pow((double) layer->bits_set / layer->size, layer->hashes);
	return layer_expected_error_rate(layer, layer_cardinality(layer));
}
