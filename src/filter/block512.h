/*
 * block512.h
 *	  Probe or set bits in one block of 512 bits, or in a block of Parquet's; see block512.c.
 */
#ifndef FILTER_BLOCK512_H
#define FILTER_BLOCK512_H

#include "bytes.h"

#define BLOCK_BITS		512
#define BLOCK_BYTES		(BLOCK_BITS / 8)
#define BLOCK_LANES		8
#define LANE_BITS		64

/* Three bits in each lane; to use a second block (block512x2) is better than a fourth. */
#define BLOCK_MAX_HASHES	24

/* Parquet's block: in each of 8 words, the upper 5 bits of hash * salt select one bit. */
#define PARQUET_BLOCK_BITS	256
#define PARQUET_BLOCK_BYTES	(PARQUET_BLOCK_BITS / 8)
#define PARQUET_HASHES		8
#define PARQUET_SHIFT		27

extern const uint32_t parquet_salt[PARQUET_HASHES];

/* Return word j of an element's mask: its one bit in that word of a Parquet block. */
static inline uint32_t
parquet_bit(uint64_t hash, int j)
{
	return UINT32_C(1) << (((uint32_t) hash * parquet_salt[j]) >> PARQUET_SHIFT);
}

/* "word" is block_word() or second_word() of the hash; an element has k bits, up to 24. */
typedef struct BlockKernel
{
	const char *name;
	/* Are all of the element's bits set? */
	bool		(*contains) (const uint8_t *block, uint64_t word, unsigned k);
	/* Set the element's bits; return how many of them were clear before. */
	unsigned	(*add) (uint8_t *block, uint64_t word, unsigned k);
	/* Do so for several elements: none waits for the one before. */
	unsigned	(*add_run) (uint8_t *block, const uint64_t *words, size_t count, unsigned k);
	/* Does a block of Parquet's contain the element with this hash? */
	bool		(*parquet_contains) (const uint8_t *block, uint64_t hash);
	/* Can this processor run the kernel?  Is it also the fastest one there? */
	bool		(*supported) (void);
	bool		(*preferred) (void);
} BlockKernel;

/* All kernels in order of preference; the portable one is the last. */
extern const BlockKernel block_kernels[];
extern const int block_kernel_count;

/*
 * The kernel in use: the portable one until block_kernel_choose() is called.  Hidden, so that a
 * probe need not look up its address.
 */
extern const BlockKernel *block_kernel __attribute__((visibility("hidden")));

extern bool block_kernel_choose(const char *name);

/* Odd constants: 2^64 divided by the golden ratio; a multiplier of SplitMix64's finalizer */
#define BLOCK_MULTIPLIER	UINT64_C(0x9E3779B97F4A7C15)
#define REMIX_MULTIPLIER	UINT64_C(0xBF58476D1CE4E5B9)

/* Return another word, which looks independent of the one given. */
static inline uint64_t
remix64(uint64_t word)
{
	return (word ^ (word >> 32)) * REMIX_MULTIPLIER;
}

/* Return the word that selects an element's bits in its first block: the whole hash, mixed. */
static inline uint64_t
block_word(uint64_t hash)
{
	return hash * BLOCK_MULTIPLIER;
}

/* Return the number of an element's first block; each is equally likely. */
static inline uint64_t
first_block(uint64_t hash, uint64_t blocks)
{
	return mulhi64(hash, blocks);
}

/* Return the number of its second block (block512x2), which is never the first one. */
static inline uint64_t
second_block(uint64_t hash, uint64_t blocks)
{
	uint64_t	other = mulhi64(remix64(hash), blocks - 1);

	return other + (other >= first_block(hash, blocks));
}

/* Return the word that selects an element's bits in its second block. */
static inline uint64_t
second_word(uint64_t hash)
{
	return block_word(remix64(hash));
}

#endif							/* FILTER_BLOCK512_H */
