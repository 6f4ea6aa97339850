/*
 * bloom.h
 *	  The operations on a Bloom filter made for a capacity; see bloom.c.
 *
 * They are entries of ops.h, which says what each of them does.  Those of
 * counting filters are the same.
 */
#ifndef FILTER_BLOOM_H
#define FILTER_BLOOM_H

#include "plan.h"

extern bool bloom_contains(const uint8_t *image, uint64_t hash);
extern void bloom_contains_batch(const uint8_t *image, const uint64_t *hashes,
								 size_t count, bool *found);
extern unsigned bloom_slices(const uint8_t *header);
extern bool bloom_contains_sliced(const uint8_t *header, uint64_t hash,
								  FilterFetch fetch, void *from);
extern bool bloom_plan_layer(const FilterParams *params,
							 const FilterLayer *before, int count,
							 uint64_t waiting, FilterLayer *layer);
extern double bloom_error_rate(const uint8_t *image);
extern const char *bloom_check_image(const uint8_t *image);
extern const char *bloom_check_layer(const uint8_t *image, int i,
									 const FilterLayer *layer);

#endif							/* FILTER_BLOOM_H */
