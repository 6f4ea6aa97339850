/*
 * occupancy.c
 *	  How many bits n elements set in a Bloom filter's layer; how many elements have set s bits.
 *
 * The bits of a layer are urns, and the bits that elements pick are balls.  We use the mean and
 * the deviation of the number of occupied urns (Johnson and Kotz, "Urn Models and Their
 * Application", 1977), though an element's bits are in one block or two: that hardly matters.
 */
#include "sizing.h"

#include <math.h>

#include "block512.h"

double
block_spares(unsigned k, int d)
{
	unsigned	each = k / BLOCK_LANES;
	unsigned	more = k % BLOCK_LANES;

	return pow((LANE_BITS - d) / (double) LANE_BITS, each) *
		(1 - (double) more / BLOCK_LANES * d / LANE_BITS);
}

uint64_t
bloom_layer_bits(const FilterLayer *layer)
{
	return layout_is_flat(layer->layout) ? layer->size :
		layer->size * BLOCK_BITS;
}

/* Return the logarithm of the expected share of clear bits that an element leaves clear. */
static double
log_spared(const FilterLayer *layer)
{
	if (layout_is_flat(layer->layout))
		return layer->hashes * log1p(-1.0 / layer->size);
	return log1p(-(layer_blocks(layer->layout) *
				   (1 - block_spares(layer->hashes, 1)) / layer->size));
}

double
layer_expected_bits(const FilterLayer *layer, double n)
{
	double		bits = (double) bloom_layer_bits(layer);

	return -bits * expm1(n * log_spared(layer));
}

double
set_bits_sigma(const FilterLayer *layer, double n)
{
	double		bits = (double) bloom_layer_bits(layer);
	double		log_clear = n * log_spared(layer);
	double		clear = exp(log_clear);

	/* the deviation of the number of occupied urns, with n k balls */
	return sqrt(fmax(0, bits * clear * (1 - clear + clear * log_clear)));
}

double
most_bits(const FilterLayer *layer, double n)
{
	return fmin(n * layer_picks(layer),
				layer_expected_bits(layer, n) +
				FULL_SIGMAS * set_bits_sigma(layer, n));
}

double
bits_full_within(const FilterLayer *layer, double bits)
{
	return floor(bits * (1 + SAME_FIGURE)) - (layer_picks(layer) - 1.0);
}

double
elements_from_bits(double bits, double bits_set, double log_spared)
{
	double		clear = bits - bits_set;

	/* if no bit is clear, assume half a clear bit, which gives a lower bound */
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
