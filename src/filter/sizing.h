/*
 * sizing.h
 *	  Compute the size of a layer, and estimates from its bits (bloom_sizing.c and others).
 */
#ifndef FILTER_SIZING_H
#define FILTER_SIZING_H

#include "image.h"

/* Limits of a filter's error rate: the lowest is the lowest that bench/ measures. */
#define ERROR_RATE_MIN		1e-7
#define ERROR_RATE_MAX		0.5
#define ERROR_RATE_DEFAULT	0.01

/* Return a layer's bits, and a cuckoo layer's bytes, by its fields layout, hashes and size. */
extern uint64_t bloom_layer_bits(const FilterLayer *layer);
extern uint64_t cuckoo_layer_bits(const FilterLayer *layer);
extern uint64_t cuckoo_layer_bytes(const FilterLayer *layer);

/*
 * The use of a Bloom filter's layer, which decides when it is full: before its expected error
 * rate exceeds FIXED_TOLERANCE times the requested one (fixed), or its share of it (growing), but
 * never before its capacity.  An exact layer has no margin for chance: bits_full may be reached
 * before the last element is added.
 */
typedef enum LayerUse
{
	LAYER_FIXED,				/* the only layer of a fixed filter */
	LAYER_GROWING,				/* a layer of a growing filter */
	LAYER_EXACT					/* "capacity" elements are added at once, and
								 * no others */
} LayerUse;

/* How far a full fixed filter's error rate may exceed the requested one */
#define FIXED_TOLERANCE		1.05

/*
 * Relative difference up to which figures count as equal: math libraries may differ in the last
 * digit, but all machines must compute the same size.
 */
#define SAME_FIGURE			1e-9

/* The set bits exceed their expectation by so many standard deviations once in 10^9 times. */
#define FULL_SIGMAS			6.0

/*
 * Plan a Bloom filter's layer for "capacity" elements (at least 1) at the layer's error rate.
 * Return false if it would exceed max_bits.  blocks_plan() never plans a small layer.
 */
extern bool layer_plan(uint64_t capacity, double error_rate, LayerUse use,
					   uint64_t max_bits, FilterLayer *layer);
extern bool blocks_plan(uint64_t capacity, double error_rate, LayerUse use,
						uint64_t max_bits, FilterLayer *layer);

/*
 * Maximum capacity of a small layer, which takes less space than blocks.  For more elements
 * it would save under 5 % at an error rate of 1 %, and probing one cache line is faster.
 */
#define SMALL_CAPACITY_MAX		1500

/* Maximum number of bits of an element in a small layer, and of the layer's bytes */
#define SMALL_MAX_HASHES		24
#define SMALL_MAX_BYTES			8191

/* Do as layer_plan() and layer_expected_error_rate(), for small layers. */
extern bool small_plan(uint64_t capacity, double error_rate, LayerUse use,
					   FilterLayer *layer);
extern double small_expected_error_rate(const FilterLayer *layer, double n);

/*
 * For a growing filter, return the capacity of the layer that follows "index" others, whose
 * capacities add up to "whole"; the error rate of its first layer; and the error rate of the
 * layer that follows "index" others, the first of which has the error rate "first".
 */
extern uint64_t next_layer_capacity(uint64_t whole, int growth, int index);
extern double first_layer_error_rate(uint64_t capacity, double error_rate,
									 bool exact);
extern double next_layer_error_rate(double error_rate, double first,
									int index);

/*
 * Bits of a fingerprint: with fewer than the minimum, too many elements are of one class
 * (cuckoo_sizing.c); the last layer at the lowest error rate needs the maximum.
 */
#define CUCKOO_MIN_FINGERPRINT	6
#define CUCKOO_MAX_FINGERPRINT	40

/* An element has one window in each half. */
#define CUCKOO_MIN_WINDOWS		2

/* Return the slots of a layer: each window has two, and shares one with the next window. */
static inline uint64_t
cuckoo_slots(uint64_t windows)
{
	return windows + 1;
}

/* Return the bits of a slot: a fingerprint, and its offset in its window, 0 or 1. */
static inline unsigned
cuckoo_width(unsigned fingerprint)
{
	return fingerprint + 1;
}

/* plan_layer() of ops.h; ignores "waiting", since the first layer decides all later sizes */
extern bool cuckoo_plan_layer(const FilterParams *params,
							  const FilterLayer *before, int count,
							  uint64_t waiting, FilterLayer *layer);

/* Return the number of entries at which a layer of this number of windows is full. */
extern uint64_t cuckoo_capacity(uint64_t windows);

/*
 * Estimate the number of elements that have set "bits_set" of "bits" bits, if each leaves the
 * share exp(log_spared) of the clear bits clear.
 */
extern double elements_from_bits(double bits, double bits_set,
								 double log_spared);

/* The rest is for layers of Bloom filters. */

/* Return the chance that an element's k bits of a block leave d given bits of a lane clear. */
extern double block_spares(unsigned k, int d);

/* Return the number of bits that n elements set: its mean, deviation, and 1 - 10^-9 quantile. */
extern double layer_expected_bits(const FilterLayer *layer, double n);
extern double set_bits_sigma(const FilterLayer *layer, double n);
extern double most_bits(const FilterLayer *layer, double n);

/* Return the largest bits_full at which no addition makes more than "bits" bits set. */
extern double bits_full_within(const FilterLayer *layer, double bits);

extern double layer_expected_error_rate(const FilterLayer *layer, double n);

/*
 * Estimate from the set bits the elements of a layer; the elements of all layers of a filter,
 * where added[i] is the share of layer i's elements that no earlier layer contains (NULL: all
 * are 1); and the error rate of a layer.
 */
extern double layer_cardinality(const FilterLayer *layer);
extern double layers_cardinality(const FilterLayer *layers,
								 const double *added, int count);
extern double layer_error_rate(const FilterLayer *layer);

#endif							/* FILTER_SIZING_H */
