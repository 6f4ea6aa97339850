/*
 * counting.h
 *	  The operations on a counting Bloom filter; see counting.c.
 *
 * They are entries of the table in layouts.h, which says what each of them
 * does.  What is not here, bloom.c does: to probe needs no counter.
 */
#ifndef FILTER_COUNTING_H
#define FILTER_COUNTING_H

#include "plan.h"

extern uint64_t counting_layer_bits(const FilterLayer *layer);
extern uint64_t counting_layer_bytes(const FilterLayer *layer);
extern unsigned counting_count(const uint8_t *image, uint64_t hash);
extern size_t counting_add_batch(uint8_t *image, const uint64_t *hashes,
								 size_t count);
extern FilterRemoval counting_remove(uint8_t *image, uint64_t hash);
extern FilterStatus counting_plan_union(const uint8_t *a, const uint8_t *b,
										FilterPlan *plan);
extern bool counting_unite(uint8_t *image, const uint8_t *a, const uint8_t *b,
						   const FilterPlan *plan);
extern void counting_unite_in_place(uint8_t *a, const uint8_t *b,
									const FilterPlan *plan);
extern void counting_intersect_in_place(uint8_t *a, const uint8_t *b);
extern const char *counting_check_layer(const uint8_t *image, int i,
										const FilterLayer *layer);
extern const char *counting_check_bits(const uint8_t *image, int i,
									   const FilterLayer *layer);

#endif							/* FILTER_COUNTING_H */
