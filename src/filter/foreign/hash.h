/*
 * hash.h
 *	  The hash functions of other systems' filters; see hash.c.
 */
#ifndef FILTER_FOREIGN_HASH_H
#define FILTER_FOREIGN_HASH_H

#include "../bytes.h"

/* All that a filter of another system needs to know of an element's bytes */
typedef struct ForeignHash
{
	uint64_t	a;
	uint64_t	b;				/* 0 where one word is enough */
} ForeignHash;

/* XXH64 */
extern uint64_t foreign_xxh64(const uint8_t *bytes, size_t length,
							  uint64_t seed) __attribute__((nonnull));

/* MurmurHash3_x64_128 with seed 0: both halves */
extern ForeignHash foreign_murmur128(const uint8_t *bytes, size_t length);

/* MurmurHash64A */
extern uint64_t foreign_murmur64a(const uint8_t *bytes, size_t length,
								  uint64_t seed);

/* As Spark has it: each byte after the last whole word is a signed word of its own */
extern uint32_t foreign_murmur32_spark(const uint8_t *bytes, size_t length,
									   uint32_t seed);

#endif							/* FILTER_FOREIGN_HASH_H */
