/*
 * set.h
 *	  Sets of 64-bit hashes as sorted arrays; see set.c.
 */
#ifndef FILTER_SET_H
#define FILTER_SET_H

#include "bytes.h"

/*
 * Sort "count" little-endian hashes and drop repeated ones, in place.
 * Returns how many are left.
 */
extern uint64_t hashset_sort_unique(uint8_t *bytes, uint64_t count);

/*
 * The union of two sets of sorted and distinct hashes, written to a third
 * place with room for both.  Returns how many they are.
 */
extern uint64_t hashset_merge(uint8_t *to, const uint8_t *a, uint64_t count_a,
							  const uint8_t *b, uint64_t count_b);

/* Is the hash among "count" sorted ones? */
extern bool hashset_contains(const uint8_t *hashes, uint64_t count,
							 uint64_t hash);

#endif							/* FILTER_SET_H */
