/*
 * sizing.h
 *	  The size of a layer, and estimates from its bits; see bloom_sizing.c, cuckoo_sizing.c.
 */
#ifndef FILTER_SIZING_H
#define FILTER_SIZING_H

#include "image.h"

/* Limits: the lowest error rate that bench/ measures, and one that hardly discards rows */
#define ERROR_RATE_MIN		1e-7
#define ERROR_RATE_MAX		0.5
#define ERROR_RATE_DEFAULT	0.01

/* A layer's bits, and a cuckoo layer's bytes; they read only its layout, hashes and size */
extern uint64_t bloom_layer_bits(const FilterLayer *layer);
extern uint64_t cuckoo_layer_bits(const FilterLayer *layer);
extern uint64_t cuckoo_layer_bytes(const FilterLayer *layer);

/* What a layer of a Bloom filter is for: when is it full? */
typedef enum LayerUse
{
	/*
	 * The only layer of a fixed filter: full before its expected error rate
	 * exceeds FIXED_TOLERANCE times the requested one, but never before its
	 * capacity
	 */
	LAYER_FIXED,

	/*
	 * A layer of a growing filter: full before its expected error rate
	 * exceeds its share, but never before its capacity
	 */
	LAYER_GROWING,

	/*
	 * A layer that gets exactly as many elements as its capacity, all at
	 * once, and is full then.  Its bits leave no margin for chance, so
	 * bits_full may be reached before the last of them.
	 */
	LAYER_EXACT
} LayerUse;

/* How far a full fixed filter's error rate may exceed the requested one */
#define FIXED_TOLERANCE		1.05

/*
 * Figures this close count as equal: math libraries may differ in the last digit, and
 * all machines must compute the same size.
 */
#define SAME_FIGURE			1e-9

/* Set bits exceed the expectation by this many deviations once in 10^9. */
#define FULL_SIGMAS			6.0

/*
 * Plan a Bloom filter's layer for "capacity" elements (at least 1) at its own error rate.
 * Returns false beyond max_bits.  blocks_plan() makes blocks however few the elements are.
 */
extern bool layer_plan(uint64_t capacity, double error_rate, LayerUse use,
					   uint64_t max_bits, FilterLayer *layer);
extern bool blocks_plan(uint64_t capacity, double error_rate, LayerUse use,
						uint64_t max_bits, FilterLayer *layer);

/*
 * A layer of at most this many elements is small: it has fewer bits than blocks would.
 * Beyond, that saves less than 5 % at 1 %, and a block, one cache line, is probed faster.
 */
#define SMALL_CAPACITY_MAX		1500

/* At most this many bits of an element, and bytes of a small layer */
#define SMALL_MAX_HASHES		24
#define SMALL_MAX_BYTES			8191

/* layer_plan() and layer_expected_error_rate() of small layers */
extern bool small_plan(uint64_t capacity, double error_rate, LayerUse use,
					   FilterLayer *layer);
extern double small_expected_error_rate(const FilterLayer *layer, double n);

/*
 * For a growing filter: the capacity of the layer that follows "index" others, whose
 * capacities add up to "whole"; the error rate of the first layer; and that of the layer
 * that follows "index" others
 */
extern uint64_t next_layer_capacity(uint64_t whole, int growth, int index);
extern double first_layer_error_rate(uint64_t capacity, double error_rate,
									 bool exact);
extern double next_layer_error_rate(double error_rate, double first,
									int index);

/*
 * The fewest and the most bits of a fingerprint.  With fewer, too many elements are of one
 * class (cuckoo_sizing.c).  The last layer at the lowest error rate needs the most.
 */
#define CUCKOO_MIN_FINGERPRINT	6
#define CUCKOO_MAX_FINGERPRINT	40

/* One in each half: an element's two windows always differ. */
#define CUCKOO_MIN_WINDOWS		2

/* Slots of a number of windows, which overlap by one */
static inline uint64_t
cuckoo_slots(uint64_t windows)
{
	return windows + 1;
}

/* A slot is one bit wider than a fingerprint: the offset in the window */
static inline unsigned
cuckoo_width(unsigned fingerprint)
{
	return fingerprint + 1;
}

/* plan_layer() of ops.h; ignores "waiting": windows are a multiple of the first layer's */
extern bool cuckoo_plan_layer(const FilterParams *params,
							  const FilterLayer *before, int count,
							  uint64_t waiting, FilterLayer *layer);

/* The number of entries at which a layer of this number of windows is full */
extern uint64_t cuckoo_capacity(uint64_t windows);

/* The number of elements that have set "bits_set" bits, if each spares exp(log_spared) */
extern double elements_from_bits(double bits, double bits_set,
								 double log_spared);

/* The rest is for layers of Bloom filters. */

/* The chance that an element's k bits of a block spare d given bits of a lane */
extern double block_spares(unsigned k, int d);

/* The number of bits that n elements set: mean, deviation, and 1 - 10^-9 quantile */
extern double layer_expected_bits(const FilterLayer *layer, double n);
extern double set_bits_sigma(const FilterLayer *layer, double n);
extern double most_bits(const FilterLayer *layer, double n);

/* The bits_full below which one more element leaves at most "bits" set bits */
extern double bits_full_within(const FilterLayer *layer, double bits);

/* The expected error rate of a layer with n elements */
extern double layer_expected_error_rate(const FilterLayer *layer, double n);

/*
 * Estimates from set bits: the elements of a layer; the elements of all layers of a filter
 * ("added": the share of each layer's elements that no earlier layer has; NULL: all 1); and
 * the error rate of a layer
 */
extern double layer_cardinality(const FilterLayer *layer);
extern double layers_cardinality(const FilterLayer *layers,
								 const double *added, int count);
extern double layer_error_rate(const FilterLayer *layer);

#endif							/* FILTER_SIZING_H */
