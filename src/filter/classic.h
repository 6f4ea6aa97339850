/*
 * classic.h
 *	  The textbook's Bloom filter: m bits, k of them for an element.
 *
 * Bloom, "Space/Time Trade-offs in Hash Coding with Allowable Errors", 1970.
 * The k places come from two words by double hashing (Kirsch and Mitzenmacher,
 * "Less Hashing, Same Performance", 2006): place i is that of word a + i b.  For
 * who asks for an exact (m, k); each probe may cost k cache misses.
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

/* The step between the words of an element; odd, so that it is never zero */
static inline uint64_t
classic_step(uint64_t hash)
{
	return remix64(block_word(hash)) | 1;
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
		hash += step;
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
		hash += step;
	}
	return added;
}

#endif							/* FILTER_CLASSIC_H */
