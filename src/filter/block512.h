/*
 * block512.h
 *	  The operations on one block of 512 bits, and on one of Parquet's; see block512.c.
 */
#ifndef FILTER_BLOCK512_H
#define FILTER_BLOCK512_H

#include "bytes.h"

#define BLOCK_BITS		512
#define BLOCK_BYTES		(BLOCK_BITS / 8)
#define BLOCK_LANES		8
#define LANE_BITS		64

/* Three in each lane; instead of more bits, a second block (block512x2) then pays more. */
#define BLOCK_MAX_HASHES	24

/* In each of eight words, the upper bits of a product of the hash select one bit. */
#define PARQUET_BLOCK_BITS	256
#define PARQUET_BLOCK_BYTES	(PARQUET_BLOCK_BITS / 8)
#define PARQUET_HASHES		8
#define PARQUET_SHIFT		27

extern const uint32_t parquet_salt[PARQUET_HASHES];

/* The one bit of an element in word j of its block */
static inline uint32_t
parquet_bit(uint64_t hash, int j)
{
	return UINT32_C(1) << (((uint32_t) hash * parquet_salt[j]) >> PARQUET_SHIFT);
}

/* "word" is the element's for this block, k its number of bits, 1 to BLOCK_MAX_HASHES. */
typedef struct BlockKernel
{
	const char *name;
	/* are all of the element's bits set? */
	bool		(*contains) (const uint8_t *block, uint64_t word, unsigned k);
	/* sets them, and returns the number that were clear before */
	unsigned	(*add) (uint8_t *block, uint64_t word, unsigned k);
	/* does a block of Parquet's contain the element with this hash? */
	bool		(*parquet_contains) (const uint8_t *block, uint64_t hash);
	/* can this processor run it, and is it faster there? */
	bool		(*supported) (void);
	bool		(*preferred) (void);
} BlockKernel;

/* All of them, in the order of preference, the portable one last. */
extern const BlockKernel block_kernels[];
extern const int block_kernel_count;

/* The one in use: the portable one until block_kernel_choose() is called. */
extern const BlockKernel *block_kernel;

extern bool block_kernel_choose(const char *name);

/* Odd constants: 2^64 over the golden ratio; a finalizer of SplitMix64 */
#define BLOCK_MULTIPLIER	UINT64_C(0x9E3779B97F4A7C15)
#define REMIX_MULTIPLIER	UINT64_C(0xBF58476D1CE4E5B9)

/* Another word that looks independent of the one given. */
static inline uint64_t
remix64(uint64_t word)
{
	return (word ^ (word >> 32)) * REMIX_MULTIPLIER;
}

/* The word that places bits in a block.  The hash's upper bits chose the block: mix all. */
static inline uint64_t
block_word(uint64_t hash)
{
	return hash * BLOCK_MULTIPLIER;
}

/* Which of "blocks" is an element's first, or second?  All are equally likely. */
static inline uint64_t
first_block(uint64_t hash, uint64_t blocks)
{
	return mulhi64(hash, blocks);
}

static inline uint64_t
second_block(uint64_t hash, uint64_t blocks)
{
	uint64_t	other = mulhi64(remix64(hash), blocks - 1);

	return other + (other >= first_block(hash, blocks));
}

/* The word that places bits in the second block */
static inline uint64_t
second_word(uint64_t hash)
{
	return block_word(remix64(hash));
}

#endif							/* FILTER_BLOCK512_H */
