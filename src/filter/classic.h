/*
 * classic.h
 *	  The textbook's Bloom filter: m bits, k of them for an element; see
 *	  classic.c.
 *
 * Bloom, "Space/Time Trade-offs in Hash Coding with Allowable Errors", 1970.
 * The k places come from two words, much as in double hashing (Kirsch and
 * Mitzenmacher, "Less Hashing, Same Performance", 2006).  There, place i is
 * that of the word a + i b; but if b is near a simple fraction of 2^64, places
 * coincide.  With 20 bits for each of 1,000 elements, that raises the error
 * rate by a tenth at k = 10, and sixfold at k = 20.  So we multiply b at each
 * step.  This layout is for users who need an exact (m, k); a probe may cost k
 * cache misses.
 */
#ifndef FILTER_CLASSIC_H
#define FILTER_CLASSIC_H

#include "block512.h"
#include "plan.h"

/*
 * Maximum number of bits that an element sets.  With the best m, that is the
 * negative binary logarithm of the error rate, and 64-bit hashes do not allow a
 * rate below 2^-64.
 */
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

/* Are all k bits of the element set among m bits? */
static inline bool
classic_bits_contain(const uint8_t *bits, uint64_t m, unsigned k, uint64_t hash)
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

/* Set them, and return the number that were clear before. */
static inline unsigned
classic_bits_add(uint8_t *bits, uint64_t m, unsigned k, uint64_t hash)
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

/*
 * The layer of a filter of m bits, k for an element.  False if that would be
 * too large.
 */
extern bool classic_plan_layer(uint64_t m, unsigned k, FilterLayer *layer);

/* The operations of layouts.h */
extern uint64_t classic_layer_bits(const FilterLayer *layer);
extern bool classic_contains(const uint8_t *image, uint64_t hash);
extern void classic_contains_batch(const uint8_t *image,
								   const uint64_t *hashes, size_t count,
								   bool *found);
extern unsigned classic_slices(const uint8_t *header);
extern bool classic_contains_sliced(const uint8_t *header, uint64_t hash,
									FilterFetch fetch, void *from);
extern size_t classic_add_batch(uint8_t *image, const uint64_t *hashes,
								size_t count);
extern double classic_cardinality(const uint8_t *image);
extern double classic_error_rate(const uint8_t *image);
extern double classic_layer_cardinality(const FilterLayer *layer);
extern const char *classic_check_image(const uint8_t *image);
extern const char *classic_check_layer(const uint8_t *image, int i,
									   const FilterLayer *layer);
extern const char *classic_check_bits(const uint8_t *image, int i,
									  const FilterLayer *layer);

#endif							/* FILTER_CLASSIC_H */
