/*
 * classic.h
 *	  The textbook's Bloom filter: m bits, k of them for an element.
 *
 * Bloom, "Space/Time Trade-offs in Hash Coding with Allowable Errors", 1970.
 * The k places come from two words, much as in double hashing (Kirsch and
 * Mitzenmacher, "Less Hashing, Same Performance", 2006).  There, place i is that
 * of word a + i b; but a b near to a simple fraction of 2^64 then makes places
 * coincide, which at 20 bits for each of 1,000 elements and k = 10 raises the
 * error rate by a tenth, and sixfold at k = 20.  So b is multiplied at each
 * step.  For users who need an exact (m, k); a probe may cost k cache misses.
 */
#ifndef FILTER_CLASSIC_H
#define FILTER_CLASSIC_H

#include "block512.h"

/*
 * Bits an element sets, at most: with the best m it is the error rate's
 * negative binary logarithm, and 2^-64 is below what 64-bit hashes can keep.
 */
#define CLASSIC_MAX_HASHES	64

/* With one bit, a second element could not be told from the first. */
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

/* Are all k bits of the element set among m bits? */
static inline bool
classic_contains(const uint8_t *bits, uint64_t m, unsigned k, uint64_t hash)
{
	uint64_t	step = classic_step(hash);

	for (; k > 0; k--)
	{
		uint64_t	place = mulhi64(hash, m);

		if (((bits[place / 8] >> (place % 8)) & 1) == 0)
			return false;
		classic_next(&hash, &step);
	}
	return true;
}

/* Set them, and return how many were not set before. */
static inline unsigned
classic_add(uint8_t *bits, uint64_t m, unsigned k, uint64_t hash)
{
	uint64_t	step = classic_step(hash);
	unsigned	added = 0;

	for (; k > 0; k--)
	{
		uint64_t	place = mulhi64(hash, m);
		uint8_t		bit = 1 << (place % 8);

		added += (bits[place / 8] & bit) == 0;
		bits[place / 8] |= bit;
		classic_next(&hash, &step);
	}
	return added;
}

#endif							/* FILTER_CLASSIC_H */
