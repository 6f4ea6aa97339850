/*
 * bits.h
 *	  Filters whose layers are arrays of bits; see bits.c.
 *
 * Operations for the table in layouts.h, which says what each of them does.
 */
#ifndef FILTER_BITS_H
#define FILTER_BITS_H

#include "plan.h"

extern FilterStatus bloom_plan_union(const uint8_t *a, const uint8_t *b,
									 FilterPlan *plan);
extern bool bloom_unite(uint8_t *image, const uint8_t *a, const uint8_t *b,
						const FilterPlan *plan);
extern void bloom_unite_in_place(uint8_t *a, const uint8_t *b,
								 const FilterPlan *plan);
extern void bloom_intersect_in_place(uint8_t *a, const uint8_t *b);
extern const char *bloom_check_bits(const uint8_t *image, int i,
									const FilterLayer *layer);

#endif							/* FILTER_BITS_H */
