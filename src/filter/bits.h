/*
 * bits.h
 *	  Filters whose layers are arrays of bits; see bits.c.
 */
#ifndef FILTER_BITS_H
#define FILTER_BITS_H

#include "plan.h"

/* Operations of ops.h, and their entries in a layout's table */
extern FilterStatus bits_plan_union(const uint8_t *a, const uint8_t *b,
									bool apart, FilterPlan *plan);
extern bool bits_unite(uint8_t *image, const uint8_t *a, const uint8_t *b,
					   const FilterPlan *plan);
extern void bits_intersect_in_place(uint8_t *a, const uint8_t *b);
extern double bits_cardinality(const uint8_t *header);
extern const char *bits_check(const uint8_t *image, int i,
							  const FilterLayer *layer);

#define BITS_OPS \
	.plan_union = bits_plan_union, \
	.unite = bits_unite, \
	.in_place = true, \
	.intersect_in_place = bits_intersect_in_place, \
	.check_bits = bits_check

/* The number of bits that are set in "bytes" bytes of either */
extern uint64_t bits_count_united(const uint8_t *a, const uint8_t *b,
								  uint64_t bytes);

#endif							/* FILTER_BITS_H */
