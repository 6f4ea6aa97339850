/*
 * bits.h
 *	  Filters whose layers are arrays of bits; see bits.c.
 */
#ifndef FILTER_BITS_H
#define FILTER_BITS_H

#include "plan.h"

/* Operations for the table in layouts.h, which says what each of them does */
extern FilterStatus bits_plan_union(const uint8_t *a, const uint8_t *b,
									FilterPlan *plan);
extern bool bits_unite(uint8_t *image, const uint8_t *a, const uint8_t *b,
					   const FilterPlan *plan);
extern void bits_unite_in_place(uint8_t *a, const uint8_t *b,
								const FilterPlan *plan);
extern void bits_intersect_in_place(uint8_t *a, const uint8_t *b);

/* The number of bits that are set in "bytes" bytes of either */
extern uint64_t bits_count_united(const uint8_t *a, const uint8_t *b,
								  uint64_t bytes);

/* Checks layer i, of "bits" bits, for an operation check_bits. */
extern const char *bits_check(const uint8_t *image, int i,
							  const FilterLayer *layer, uint64_t bits);

#endif							/* FILTER_BITS_H */
