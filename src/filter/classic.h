/*
 * classic.h
 *	  The textbook's Bloom filter: m bits, k of them for an element; see bloom.c.
 *
 * Bloom, "Space/Time Trade-offs in Hash Coding with Allowable Errors", 1970.  The k places
 * come from two words, much as in double hashing (Kirsch and Mitzenmacher, "Less Hashing, Same
 * Performance", 2006).  There, place i is that of the word a + i b; but if b is near a simple
 * fraction of 2^64, places coincide: with 20 bits for each of 1,000 elements, that raises the
 * error rate by a tenth at k = 10, and sixfold at k = 20.  So we multiply b at each step.  This
 * layout is for users who need an exact (m, k); a probe may cost k cache misses.
 */
#ifndef FILTER_CLASSIC_H
#define FILTER_CLASSIC_H

#include "block512.h"

/* With 64-bit hashes, no error rate is below 2^-64, which takes so many bits. */
#define CLASSIC_MAX_HASHES	64

/* A single bit could not tell a second element from the first. */
#define CLASSIC_MIN_BITS	2

/* The first step between the words of an element; odd, and stays so */
static inline uint64_t
classic_step(uint64_t hash)
{
	return remix64(block_word(hash)) | 1;
}

/* From one word to the next */
static inline void
classic_next(uint64_t *hash, uint64_t *step)
{
	*hash += *step;
	*step *= BLOCK_MULTIPLIER;
}

/* Set the k bits of an element among m, and return how many were clear before. */
static inline unsigned
classic_bits_add(uint8_t *bits, uint64_t m, unsigned k, uint64_t hash)
{
	uint64_t	step = classic_step(hash);
	unsigned	added = 0;

	for (; k > 0; k--)
	{
		added += set_bit(bits, mulhi64(hash, m));
		classic_next(&hash, &step);
	}
	return added;
}

#endif							/* FILTER_CLASSIC_H */
