/*
 * small_sizing.h
 *	  How large a layer of few elements is; see small_sizing.c.
 */
#ifndef FILTER_SMALL_SIZING_H
#define FILTER_SMALL_SIZING_H

#include "sizing.h"

/*
 * Up to this number of elements, a layer has the layout small.  Such a layer
 * takes fewer bits than one of blocks; from about here on, the difference is
 * less than 5 % at an error rate of 1 %, and the probe of a block, which reads
 * one cache line, is faster.
 */
#define SMALL_CAPACITY_MAX		1500

/* Bounds of the bits that an element has, and of the bytes of a layer */
#define SMALL_MAX_HASHES		24
#define SMALL_MAX_BYTES			8191

/* As layer_plan() */
extern bool small_plan(uint64_t capacity, double error_rate, LayerUse use,
					   FilterLayer *layer);

extern double small_expected_error_rate(const FilterLayer *layer, double n);

#endif							/* FILTER_SMALL_SIZING_H */
