/*
 * sizing.h
 *	  How large a layer must be, and what its bits tell; see sizing.c.
 */
#ifndef FILTER_SIZING_H
#define FILTER_SIZING_H

#include "image.h"

/*
 * Error rates that a filter can be asked for.  The lower end is the lowest
 * that bench/ measures; the upper where a filter hardly drops rows.
 */
#define ERROR_RATE_MIN		1e-7
#define ERROR_RATE_MAX		0.5
#define ERROR_RATE_DEFAULT	0.01

/*
 * The layer for "capacity" elements (at least 1) of a filter of the given
 * overall error rate: the first (index 0), or the index-th further one.  Fills
 * in layout, hashes, size, capacity, error rate and bits_full.  False if it
 * would pass IMAGE_MAX_BITS.
 */
extern bool layer_plan(uint64_t capacity, double error_rate, bool grows,
					   int index, FilterLayer *layer);

/*
 * What to expect of a layer that holds n elements: how many of its bits are
 * set, and which share of absent elements it takes for present.
 */
extern double layer_expected_bits(const FilterLayer *layer, double n);
extern double layer_expected_error_rate(const FilterLayer *layer, double n);

/*
 * How many elements a layer holds, as its number of set bits tells, and its
 * error rate now
 */
extern double layer_cardinality(const FilterLayer *layer);
extern double layer_error_rate(const FilterLayer *layer);

#endif							/* FILTER_SIZING_H */
