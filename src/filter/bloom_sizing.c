/*
 * bloom_sizing.c
 *	  The arithmetic of blocked Bloom filters: how many blocks, how many bits
 *	  an element, when a layer is full, and what its set bits tell.
 *
 * The textbook's formula undersizes a blocked filter, whose blocks are not
 * equally full (Putze, Sanders and Singler 2007, section 3.1).  Here the error
 * rate is computed as it comes about: a block of a layer with n elements in N
 * blocks holds a binomial number of them, j, Poisson for many blocks; f(j) is
 * the error rate of such a block; the layer's is the mean of f.
 *
 * f(j) is exact for one lane and takes the lanes for independent.  A given set
 * of d bits of a lane is spared by one element with probability
 * ((64 - d) / 64)^q (1 - (r/8) (d/64)), so by j elements with that to the j-th.
 * A probe picks q (in r lanes q + 1) bits, which coincide at times; inclusion
 * and exclusion over the subsets that are spared gives the probability that
 * all are set.
 *
 * To find a size, the load (elements a block) is sought for each k, and the k
 * that bears the highest load is taken.  For few blocks, where rounding and the
 * binomial matter, the same is done for the number of blocks.  That is half a
 * millisecond's work, and its result is kept, since a GROUP BY makes many
 * filters of one error rate, and a growing one passes through several.  This
 * file's functions are therefore not for several threads at once.
 *
 * Two machines must come to the same size, or their filters could not be
 * united.  The load is rounded down to a multiple of 1/1024, so that a last
 * digit of exp() or log() that differs does not show.
 *
 * The first layer of a growing filter gets BLOOM_FIRST_SHARE of the error rate,
 * the i-th after it the share BLOOM_FURTHER_SHARE / i^2 (their sum over all i is
 * 1 - BLOOM_FIRST_SHARE), so that however many there are, the sum of their error
 * rates keeps the promise; and whoever never grows pays for a tenth, a quarter of a
 * bit an element.
 */
#include "sizing.h"

#include <math.h>

#include "block512.h"

/* From this rate down, two blocks cost fewer bits than one by far */
#define TWO_BLOCKS_BELOW	3e-4

#define BLOOM_FIRST_SHARE	0.9
/* sum over i >= 1 of 1/i^2 is pi^2/6 */
#define BLOOM_FURTHER_SHARE	\
	((1.0 - BLOOM_FIRST_SHARE) * 6.0 / (M_PI * M_PI))

/* Numbers of blocks up to this are treated as few: binomial, not Poisson */
#define FEW_BLOCKS			64

/* Loads are multiples of one by this */
#define LOAD_STEPS			1024.0

/*
 * How many standard deviations the set bits may lie off what n elements are
 * expected to set, before it is said that there are more: once in 10^9.
 */
#define FULL_SIGMAS			6.0

/*
 * Steps of the secant method, on logarithms, after which a load is within a few
 * of the steps that count; and the least power of the load that it believes.
 */
#define SECANT_STEPS		5
#define SECANT_LEAST_POWER	0.25

/* Picks of an element in one lane, at most */
#define MAX_PICKS			((BLOCK_MAX_HASHES + BLOCK_LANES - 1) / BLOCK_LANES)

/*
 * Probability that m random picks hit exactly d different bits of a lane:
 * Stirling numbers of the second kind, times the falling factorial of 64, over
 * 64^m.  Index [m][d].
 */
static const double picks_distinct[MAX_PICKS + 1][MAX_PICKS + 1] = {
	{1},
	{0, 1},
	{0, 1.0 / 64, 63.0 / 64},
	{0, 1.0 / (64 * 64), 3 * 63.0 / (64 * 64), 63.0 * 62 / (64 * 64)}
};

/*
 * Probability that "picks" random bits of a lane are all set, where spared[d]
 * is that of d given bits being all clear.
 */
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
 * Probability that one element, setting k bits, spares d given bits of a lane
 */
static double
element_spares(unsigned k, int d)
{
	unsigned	each = k / BLOCK_LANES;
	unsigned	more = k % BLOCK_LANES;

	return pow((LANE_BITS - d) / (double) LANE_BITS, each) *
		(1 - (double) more / BLOCK_LANES * d / LANE_BITS);
}

/*
 * Error rate of a probe of one block, that of j elements weighted with the
 * probability of j: binomial of "trials" and "p", or Poisson with mean "p" if
 * trials is infinite.
 */
static double
mean_error_rate(unsigned k, double trials, double p)
{
	bool		poisson = isinf(trials);
	double		mean = poisson ? p : trials * p;
	double		sigma = sqrt(poisson ? mean : mean * (1 - p));
	double		mode = floor(mean);

	/* beyond 12 sigma (and some, where the mean is small) nothing counts */
	double		low = fmax(0, floor(mode - 12 * sigma - 20));
	double		high = ceil(mode + 12 * sigma + 40);
	double		spares[MAX_PICKS + 1];
	double		spared[MAX_PICKS + 1];
	double		weight;
	double		sum = 0;

	if (!poisson)
	{
		if (p >= 1)
			low = high = trials;
		high = fmin(high, trials);
	}

	/* weight of the lowest j, then from each to the next */
	if (p >= 1 && !poisson)
		weight = 1;
	else if (poisson)
		weight = exp(low * log(mean) - mean - lgamma(low + 1));
	else
		weight = exp(lgamma(trials + 1) - lgamma(low + 1) -
					 lgamma(trials - low + 1) +
					 low * log(p) + (trials - low) * log1p(-p));

	for (int d = 0; d <= MAX_PICKS; d++)
	{
		spares[d] = element_spares(k, d);
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

/* Error rate of n elements in "blocks" blocks; 0 blocks: a load of n each. */
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
	/* the blocks of one element are different ones, so almost independent */
	return choices == 2 ? rate * rate : rate;
}

/*
 * The largest multiple of "step" elements (a block; of all blocks, if there are
 * "blocks" of them) at which k bits an element meet the error rate.  "guess" is
 * where to begin.
 */
static double
most_elements(FilterLayout layout, unsigned k, double blocks, double step,
			  double guess, double error_rate)
{
	/* the error rate rises with some power of the load, near to the k-th */
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

	/* what is left is a few steps; pow() has no part in the result */
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
 * The same for the best k, which is left in *hashes, where the search begins.
 * The number of elements rises with k up to the best, and falls behind it.
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

/* What is known of an error rate */
typedef struct Sizes
{
	double		error_rate;		/* 0: nothing yet */
	FilterLayout layout;
	unsigned	hashes;			/* the best for many blocks */
	double		load;			/* elements a block then */
	struct
	{
		uint64_t	capacity;	/* elements of this many blocks; 0: not known */
		unsigned	hashes;		/* bits of each */
	}			few[FEW_BLOCKS + 1];
} Sizes;

/*
 * Error rates that were requested, each at a place that its error rate names, or one
 * of the next: room for the layers of several growing filters.
 */
#define SIZES_KEPT		64
#define SIZES_TRIED		4

static Sizes sizes_kept[SIZES_KEPT];

static Sizes *
sizes_for(double error_rate)
{
	uint64_t	bits;
	uint64_t	place;
	Sizes	   *sizes;
	static unsigned turn;

	memcpy(&bits, &error_rate, sizeof(bits));
	place = mulhi64(remix64(block_word(bits)), SIZES_KEPT);
	for (int i = 0; i < SIZES_TRIED; i++)
	{
		sizes = &sizes_kept[(place + i) % SIZES_KEPT];
		if (sizes->error_rate == error_rate)
			return sizes;
	}

	/* in turn, so that two of one place do not drive each other out */
	sizes = &sizes_kept[(place + turn++ % SIZES_TRIED) % SIZES_KEPT];
	memset(sizes, 0, sizeof(*sizes));
	sizes->layout = error_rate < TWO_BLOCKS_BELOW ?
		LAYOUT_BLOCK512X2 : LAYOUT_BLOCK512;
	/* the classic filter's best k */
	sizes->hashes = (unsigned)
		fmin(fmax(round(-log2(error_rate) / layer_blocks(sizes->layout)), 1),
			 BLOCK_MAX_HASHES);
	/* and its load */
	sizes->load = most_elements_best(sizes->layout, &sizes->hashes, 0,
									 1 / LOAD_STEPS,
									 BLOCK_BITS * M_LN2 * M_LN2 /
									 -log(error_rate), error_rate);
	sizes->error_rate = error_rate;
	return sizes;
}

/* Elements that this number of blocks, one of the few, holds at most */
static uint64_t
few_capacity(Sizes *sizes, int blocks)
{
	if (sizes->few[blocks].capacity == 0)
	{
		sizes->few[blocks].hashes = sizes->hashes;
		sizes->few[blocks].capacity = (uint64_t)
			most_elements_best(sizes->layout, &sizes->few[blocks].hashes,
							   blocks, 1, blocks * sizes->load,
							   sizes->error_rate);
	}
	return sizes->few[blocks].capacity;
}

/*
 * The least number of blocks for n elements, and the bits an element, into the
 * layer.  Returns how many elements they hold at most within the error rate.
 */
static double
fit_blocks(double n, double error_rate, FilterLayer *layer)
{
	Sizes	   *sizes = sizes_for(error_rate);
	int			least = layer_blocks(sizes->layout);
	double		blocks = fmax(ceil(n / sizes->load), least);

	layer->layout = sizes->layout;
	if (blocks <= FEW_BLOCKS)
	{
		int			few = (int) blocks;

		/* few blocks are more even than many, and so hold a little more */
		while (few <= FEW_BLOCKS && few_capacity(sizes, few) < n)
			few++;
		while (few > least && few_capacity(sizes, few - 1) >= n)
			few--;
		if (few <= FEW_BLOCKS)
		{
			layer->size = few;
			layer->hashes = sizes->few[few].hashes;
			return few_capacity(sizes, few);
		}
		blocks = few;
	}
	layer->size = (uint64_t) blocks;
	layer->hashes = sizes->hashes;
	return floor(blocks * sizes->load);
}

uint64_t
bloom_layer_bits(const FilterLayer *layer)
{
	return layer->size * BLOCK_BITS;
}

/*
 * What share of a block's bits one of its elements sets, of those still clear
 */
static double
block_share(const FilterLayer *layer)
{
	return 1 - element_spares(layer->hashes, 1);
}

/* log of the expected share of clear bits that each element leaves clear */
static double
log_spared(const FilterLayer *layer)
{
	double		share = layer_blocks(layer->layout) * block_share(layer) /
		layer->size;

	return log1p(-share);
}

double
layer_expected_bits(const FilterLayer *layer, double n)
{
	double		bits = (double) bloom_layer_bits(layer);

	return -bits * expm1(n * log_spared(layer));
}

/* Standard deviation of the number of set bits, n elements given */
static double
set_bits_sigma(const FilterLayer *layer, double n)
{
	double		bits = (double) bloom_layer_bits(layer);
	double		log_clear = n * log_spared(layer);
	double		clear = exp(log_clear);

	/* of the occupancy of "bits" urns by n k balls */
	return sqrt(bits * clear * (1 - clear + clear * log_clear));
}

bool
layer_plan(uint64_t capacity, double error_rate, bool grows, int index,
		   uint64_t max_bits, FilterLayer *layer)
{
	double		share = 1;
	double		most;
	double		full;

	if (grows)
		share = index == 0 ? BLOOM_FIRST_SHARE :
			BLOOM_FURTHER_SHARE / ((double) index * index);

	layer->capacity = capacity;
	layer->error_rate = error_rate * share;
	/* no layer has more elements than bits */
	if (capacity > max_bits)
		return false;

	most = fit_blocks(fmax(capacity, 1), layer->error_rate, layer);
	if (layer->size > max_bits / BLOCK_BITS)
		return false;
	if (grows)
	{
		/*
		 * It is to be full at its capacity at the earliest, so it must keep
		 * its error rate a little longer.
		 */
		double		sigma = set_bits_sigma(layer, capacity);
		double		slope = layer_expected_bits(layer, capacity + 1) -
			layer_expected_bits(layer, capacity);

		most = fit_blocks(capacity + FULL_SIGMAS * sigma / slope,
						  layer->error_rate, layer);
		full = layer_expected_bits(layer, most);
	}
	else
		full = layer_expected_bits(layer, most) +
			FULL_SIGMAS * set_bits_sigma(layer, most);

	if (layer->size > max_bits / BLOCK_BITS)
		return false;
	layer->bits_full = (uint64_t)
		fmin(ceil(full), (double) bloom_layer_bits(layer));
	layer->bits_set = 0;
	layer->offset = 0;
	layer->multiple = 0;
	return true;
}

double
layer_expected_error_rate(const FilterLayer *layer, double n)
{
	return blocked_error_rate(layer->layout, layer->hashes,
							  (double) layer->size, n);
}

double
elements_from_bits(double bits, double bits_set, double log_spared)
{
	double		clear = bits - bits_set;

	/* with no bit left clear it may be any number; half a bit gives a lowest */
	if (clear < 0.5)
		clear = 0.5;
	return log(clear / bits) / log_spared;
}

double
layer_cardinality(const FilterLayer *layer)
{
	return elements_from_bits((double) bloom_layer_bits(layer),
							  (double) layer->bits_set, log_spared(layer));
}

double
layers_cardinality(const FilterLayer *layers, int count)
{
	double		sum = 0;
	double		not_before = 1;

	/*
	 * What an earlier layer seems to have did not reach a later one, so the
	 * elements of that stand for a few more.
	 */
	for (int i = 0; i < count; i++)
	{
		sum += layer_cardinality(&layers[i]) / not_before;
		not_before *= fmax(1 - layer_error_rate(&layers[i]),
						   1 - ERROR_RATE_MAX);
	}
	return sum;
}

double
layer_error_rate(const FilterLayer *layer)
{
	return layer_expected_error_rate(layer, layer_cardinality(layer));
}
