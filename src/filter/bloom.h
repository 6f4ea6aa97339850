/*
 * bloom.h
 *	  The operations on a Bloom filter made for a capacity; see bloom.c.
 *
 * They are entries of the table in layouts.h, which says what each of them
 * does.
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
extern size_t bloom_add_batch(uint8_t *image, const uint64_t *hashes,
							  size_t count);
extern bool bloom_plan_layer(const FilterParams *params,
							 const FilterLayer *before, int count,
							 uint64_t waiting, FilterLayer *layer);
extern double bloom_cardinality(const uint8_t *image);
extern double bloom_header_cardinality(const uint8_t *header);
extern double bloom_error_rate(const uint8_t *image);
extern const char *bloom_check_image(const uint8_t *image);
extern const char *bloom_check_layer(const uint8_t *image, int i,
									 const FilterLayer *layer);
extern const char *bloom_check_bits(const uint8_t *image, int i,
									const FilterLayer *layer);


/* Those of compact images that differ */
extern bool compact_contains(const uint8_t *image, uint64_t hash);
extern void compact_contains_batch(const uint8_t *image,
								   const uint64_t *hashes, size_t count,
								   bool *found);
extern unsigned compact_slices(const uint8_t *header);
extern bool compact_contains_sliced(const uint8_t *header, uint64_t hash,
									FilterFetch fetch, void *from);
extern size_t compact_add_batch(uint8_t *image, const uint64_t *hashes,
								size_t count);

#endif							/* FILTER_BLOOM_H */
