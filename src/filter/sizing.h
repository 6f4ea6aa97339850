/*
 * sizing.h
 *	  The size of a layer, and estimates from its bits; see bloom_sizing.c and
 *	  cuckoo_sizing.c.
 */
#ifndef FILTER_SIZING_H
#define FILTER_SIZING_H

#include "image.h"

/*
 * Limits of the requested error rate.  The lower is the lowest that bench/
 * measures; at the upper, a filter hardly discards rows.
 */
#define ERROR_RATE_MIN		1e-7
#define ERROR_RATE_MAX		0.5
#define ERROR_RATE_DEFAULT	0.01

/*
 * The number of bits of a layer of blocks or of a cuckoo filter, and the number
 * of bytes that it takes.  They depend on layout, hashes and size only.
 */
extern uint64_t bloom_layer_bits(const FilterLayer *layer);
extern uint64_t cuckoo_layer_bits(const FilterLayer *layer);
extern uint64_t cuckoo_layer_bytes(const FilterLayer *layer);

/*
 * Plan a layer for "capacity" elements (at least 1) of a filter of the given
 * overall error rate: the first (index 0), or the index-th after it.  Sets
 * layout, hashes, size, capacity, error rate and bits_full.  Returns false if
 * the layer would have more than max_bits.
 */
extern bool layer_plan(uint64_t capacity, double error_rate, bool grows,
					   int index, uint64_t max_bits, FilterLayer *layer);

/*
 * The same for a cuckoo filter, its first layer, or the next of one that has
 * "layers" of them; see cuckoo_sizing.c.
 */
extern bool cuckoo_plan_first(uint64_t capacity, double error_rate, bool grows,
							  FilterLayer *layer);
extern bool cuckoo_plan_next(const FilterLayer *first,
							 const FilterLayer *last, int layers,
							 double error_rate, int growth,
							 FilterLayer *layer);

/* The number of entries at which a layer of this number of windows is full */
extern uint64_t cuckoo_capacity(uint64_t windows);

/*
 * Estimated number of elements that have set this number of a layer's bits, if
 * each leaves exp(log_spared) of the clear bits clear
 */
extern double elements_from_bits(double bits, double bits_set,
								 double log_spared);

/* The rest is for layers of blocks. */

/*
 * The expected number of set bits of a layer with n elements, and its error
 * rate
 */
extern double layer_expected_bits(const FilterLayer *layer, double n);
extern double layer_expected_error_rate(const FilterLayer *layer, double n);

/*
 * Estimates from the number of set bits: the elements of a layer, those of all
 * layers of a filter in the order in which it grew, and a layer's current error
 * rate
 */
extern double layer_cardinality(const FilterLayer *layer);
extern double layers_cardinality(const FilterLayer *layers, int count);
extern double layer_error_rate(const FilterLayer *layer);

#endif							/* FILTER_SIZING_H */
