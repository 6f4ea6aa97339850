/*
 * classic.h
 *	  The textbook's Bloom filter, where an element sets k of m bits; see bloom.c.
 *
 * Bloom, "Space/Time Trade-offs in Hash Coding with Allowable Errors", 1970.  The k places come
 * from two words a and b, as in double hashing (Kirsch and Mitzenmacher, "Less Hashing, Same
 * Performance", 2006).  Double hashing takes a + i b for place i.  If b is near a simple
 * fraction of 2^64, its places coincide: with 1,000 elements and 20 bits per element, that
 * raises the error rate by a tenth at k = 10, and sixfold at k = 20.  So we multiply b at each
 * step.  This layout is for users who need an exact (m, k); a probe may cost k cache misses.
 */
#ifndef FILTER_CLASSIC_H
#define FILTER_CLASSIC_H

#include "block512.h"

/* Maximum k: with 64-bit hashes, no error rate is below 2^-64, for which k is 64. */
#define CLASSIC_MAX_HASHES	64

/* Minimum m: with one bit, a filter of one element would contain all others. */
#define CLASSIC_MIN_BITS	2

/* Return b, the first step from one place to the next; it is odd, as are all later ones. */
static inline uint64_t
classic_step(uint64_t hash)
{
	return remix64(block_word(hash)) | 1;
}

static inline void
classic_next(uint64_t *hash, uint64_t *step)
{
	*hash += *step;
	*step *= BLOCK_MULTIPLIER;
}

/* Set an element's k of m bits, and return how many of them were clear before. */
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
