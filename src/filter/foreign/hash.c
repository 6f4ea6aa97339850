/*
 * hash.c
 *	  The hash functions of other systems' filters.
 *
 * Our own filters use XXH3 (element/element.c).  These functions are for filters that another
 * system has made, or will read.  Their results are the same on every machine.
 *
 * Sources: XXH64 is libxxhash's.  MurmurHash3 and MurmurHash64A are by Austin
 * Appleby, in the public domain: https://github.com/aappleby/smhasher.  Spark's
 * variant is the class Murmur3_x86_32 of Spark's common/sketch.
 */
#include "format.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Bytes of a block of MurmurHash3_x64_128, and of one of its two words */
#define MURMUR128_BLOCK		16
#define MURMUR128_WORD		8

static inline uint64_t
rotate64(uint64_t word, int by)
{
	return (word << by) | (word >> (64 - by));
}

static inline uint32_t
rotate32(uint32_t word, int by)
{
	return (word << by) | (word >> (32 - by));
}

/* Return up to eight bytes as the lowest ones of a little-endian word. */
static inline uint64_t
get_tail(const uint8_t *bytes, size_t count)
{
	uint64_t	word = 0;

	memcpy(&word, bytes, count);
	return le64(word);
}

uint64_t
foreign_xxh64(const uint8_t *bytes, size_t length, uint64_t seed)
{
	return XXH64(bytes, length, seed);
}

/* The two multipliers of MurmurHash3_x64_128 */
#define MURMUR128_C1	UINT64_C(0x87c37b91114253d5)
#define MURMUR128_C2	UINT64_C(0x4cf5ad432745937f)

static inline uint64_t
murmur128_mix1(uint64_t word)
{
	return rotate64(word * MURMUR128_C1, 31) * MURMUR128_C2;
}

static inline uint64_t
murmur128_mix2(uint64_t word)
{
	return rotate64(word * MURMUR128_C2, 33) * MURMUR128_C1;
}

static inline uint64_t
murmur128_finish(uint64_t word)
{
	word = (word ^ (word >> 33)) * UINT64_C(0xff51afd7ed558ccd);
	word = (word ^ (word >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
	return word ^ (word >> 33);
}

ForeignHash
foreign_murmur128(const uint8_t *bytes, size_t length)
{
	ForeignHash hash = {0, 0};
	size_t		left = length;

	for (; left >= MURMUR128_BLOCK; left -= MURMUR128_BLOCK)
	{
		hash.a ^= murmur128_mix1(get64(bytes));
		hash.a = (rotate64(hash.a, 27) + hash.b) * 5 + 0x52dce729;
		hash.b ^= murmur128_mix2(get64(bytes + MURMUR128_WORD));
		hash.b = (rotate64(hash.b, 31) + hash.a) * 5 + 0x38495ab5;
		bytes += MURMUR128_BLOCK;
	}
	if (left > MURMUR128_WORD)
	{
		hash.b ^= murmur128_mix2(get_tail(bytes + MURMUR128_WORD,
										  left - MURMUR128_WORD));
		left = MURMUR128_WORD;
	}
	if (left > 0)
		hash.a ^= murmur128_mix1(get_tail(bytes, left));
	hash.a ^= length;
	hash.b ^= length;
	hash.a += hash.b;
	hash.b += hash.a;
	hash.a = murmur128_finish(hash.a);
	hash.b = murmur128_finish(hash.b);
	hash.a += hash.b;
	hash.b += hash.a;
	return hash;
}

uint64_t
foreign_murmur64a(const uint8_t *bytes, size_t length, uint64_t seed)
{
	const uint64_t multiplier = UINT64_C(0xc6a4a7935bd1e995);
	uint64_t	hash = seed ^ (length * multiplier);
	size_t		left = length;

	for (; left >= sizeof(uint64_t); left -= sizeof(uint64_t))
	{
		uint64_t	word = get64(bytes) * multiplier;

		word = (word ^ (word >> 47)) * multiplier;
		hash = (hash ^ word) * multiplier;
		bytes += sizeof(uint64_t);
	}
	if (left > 0)
		hash = (hash ^ get_tail(bytes, left)) * multiplier;
	hash = (hash ^ (hash >> 47)) * multiplier;
	return hash ^ (hash >> 47);
}

static inline uint32_t
murmur32_step(uint32_t hash, uint32_t word)
{
	hash ^= rotate32(word * 0xcc9e2d51, 15) * 0x1b873593;
	return rotate32(hash, 13) * 5 + 0xe6546b64;
}

uint32_t
foreign_murmur32_spark(const uint8_t *bytes, size_t length, uint32_t seed)
{
	uint32_t	hash = seed;
	size_t		left = length;

	for (; left >= sizeof(uint32_t); left -= sizeof(uint32_t))
	{
		hash = murmur32_step(hash, get32(bytes));
		bytes += sizeof(uint32_t);
	}
	for (; left > 0; left--)
	{
		int8_t		byte = (int8_t) bytes[0];

		hash = murmur32_step(hash, (uint32_t) byte);
		bytes++;
	}
	hash ^= (uint32_t) length;
	hash = (hash ^ (hash >> 16)) * 0x85ebca6b;
	hash = (hash ^ (hash >> 13)) * 0xc2b2ae35;
	return hash ^ (hash >> 16);
}
