/*
 * guava.c
 *	  Guava's BloomFilter, with either strategy.
 *
 * Bytes: byte strategy, byte hashes, int32 words, words; big-endian.
 *
 * Source: com.google.common.hash.BloomFilterStrategies.
 */
#include "common.h"

#include <math.h>

#include "places.h"

#define GUAVA_HEADER		6
#define GUAVA_MITZ32		0	/* the strategies' numbers */
#define GUAVA_MITZ64		1

ForeignHash
mitz64_hash(uint64_t seed, const uint8_t *bytes, size_t length)
{
	return foreign_murmur128(bytes, length);
}

/* The two halves of the first word alone */
ForeignHash
mitz32_hash(uint64_t seed, const uint8_t *bytes, size_t length)
{
	uint64_t	word = foreign_murmur128(bytes, length).a;
	ForeignHash hash = {.a = (uint32_t) word, .b = word >> 32};

	return hash;
}

static ALWAYS_INLINE uint64_t
mitz64(const ForeignHash *hash, uint64_t i, uint64_t m)
{
	return ((hash->a + i * hash->b) & INT64_MAX) % m;
}

static ALWAYS_INLINE uint64_t
mitz32(const ForeignHash *hash, uint64_t i, uint64_t m)
{
	uint32_t	sum = (uint32_t) (hash->a + (i + 1) * hash->b);

	/* the complement of a negative one; below 2^31, for a shorter division */
	return (sum ^ -(sum >> 31)) % (uint32_t) smaller(m, UINT32_MAX);
}

FOREIGN_LOOPS(mitz64)
FOREIGN_LOOPS(mitz32)

const ForeignPlaces mitz64_places = FOREIGN_PLACES(mitz64);
const ForeignPlaces mitz32_places = FOREIGN_PLACES(mitz32);

double
guava_size(double n, double error_rate, FilterLayer *layer)
{
	double		bits = floor(best_bits(n, error_rate));

	/* as Java's Math.round() */
	layer->hashes = (unsigned) floor(best_hashes(bits, n) + 0.5);
	return bits;
}

static const char *
guava_parse(const ForeignSource *source, ForeignImport *import)
{
	const uint8_t *bytes = source->bytes;
	uint64_t	words;

	if (source->length < GUAVA_HEADER)
		return "shorter than a header";
	if (bytes[0] != GUAVA_MITZ32 && bytes[0] != GUAVA_MITZ64)
		return "unknown strategy";
	import->format = bytes[0] == GUAVA_MITZ32 ? &guava32_format : &guava_format;
	words = get32_big(bytes + 2);
	return parse_words(source, import, GUAVA_HEADER, words, words, bytes[1]);
}

static bool
guava_write(Writer *writer, const ForeignFormat *format, const uint8_t *image,
			const FilterLayer *layer)
{
	write_number(writer, format == &guava32_format ? GUAVA_MITZ32 : GUAVA_MITZ64, 1);
	write_number(writer, layer->hashes, 1);
	write32_big(writer, layer->size / WORD_BITS);
	return true;
}

/* What both versions share */
#define GUAVA_OPS \
	GUAVA_WORDS, \
	.forms = GUAVA_FORMS, \
	.parse = guava_parse, \
	.write = guava_write

const ForeignFormat guava_format = {
	.name = "guava",
	.code = 'G',
	.hash = mitz64_hash,
	.places = &mitz64_places,
	GUAVA_OPS
};

const ForeignFormat guava32_format = {
	.name = "guava:mitz32",
	.code = 'g',
	.hash = mitz32_hash,
	.places = &mitz32_places,
	GUAVA_OPS
};
