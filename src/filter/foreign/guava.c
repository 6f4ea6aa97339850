/*
 * guava.c
 *	  Guava's BloomFilter, with both strategies; strings of bits in Redis with Guava's hashes.
 *
 * Bytes: strategy (1 byte), hashes (1 byte), number of words (4 bytes), words; big-endian.
 *
 * Source: com.google.common.hash.BloomFilterStrategies.
 */
#include "common.h"

#include <math.h>

#include "places.h"

#define GUAVA_FORMS \
	(FORM(TEXT) | FORM(TEXT_UTF16) | FORM(INT4) | FORM(INT8) | FORM(BYTEA) | \
	 FORM(FLOAT4) | FORM(FLOAT8))

#define GUAVA_HEADER		6
#define GUAVA_MITZ32		0	/* the strategies' numbers */
#define GUAVA_MITZ64		1

static ForeignHash
mitz64_hash(uint64_t seed, const uint8_t *bytes, size_t length)
{
	return foreign_murmur128(bytes, length);
}

/* "a" and "b" are the two halves of the first word. */
static ForeignHash
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

	/* a negative sum is complemented; the division is one of 32 bits */
	return (sum ^ -(sum >> 31)) % (uint32_t) smaller(m, UINT32_MAX);
}

FOREIGN_PLACES(static, mitz64, image_layers(image), bits_contain, bits_add)
FOREIGN_PLACES(, mitz32, image_layers(image), bits_contain, bits_add)

double
guava_size(double n, double error_rate, FilterLayer *layer)
{
	double		bits = floor(best_bits(n, error_rate));

	/* round as Java's Math.round() does */
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

/* Fields that both versions have in common */
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

/* ---- Strings of bits in Redis ---- */

/*
 * Bytes: a string of bits for each Redis key, one after the other.  Bit 0 is the highest bit of
 * byte 0.  A layer's "multiple" is the length of its string, which SETBIT extends to the byte of
 * the bit that it sets: bits behind the end are clear.
 */

static uint64_t
string_bytes(const FilterLayer *layer)
{
	return (layer->size + 7) / 8;
}

/* Return the number of bytes up to the last one that is not zero. */
static uint64_t
used_bytes(const FilterLayer *layer, const uint8_t *bits)
{
	uint64_t	bytes = string_bytes(layer);

	while (bytes > 0 && bits[bytes - 1] == 0)
		bytes--;
	return bytes;
}

static void
redis_note_added(FilterLayer *layer, const uint8_t *bits)
{
	uint64_t	used = used_bytes(layer, bits);

	if (layer->multiple < used)
		layer->multiple = used;
}

static void
redis_join(const FilterLayer *left, const FilterLayer *right, bool united,
		   FilterLayer *joined)
{
	joined->multiple = left->multiple > right->multiple ?
		left->multiple : right->multiple;
}

static const char *
redis_check_layer(const FilterLayer *before, const FilterLayer *layer)
{
	if (before->size != layer->size || before->hashes != layer->hashes)
		return "layers of different filters";
	if (layer->multiple > string_bytes(layer))
		return "length of a string out of range";
	return NULL;
}

static const char *
redis_check_bits(const FilterLayer *layer, const uint8_t *bits)
{
	return used_bytes(layer, bits) > layer->multiple ?
		"bits after the end of a string" : NULL;
}

/* Parse one string, from which Redis may have omitted zeros at the end, or several full ones. */
static const char *
redis_parse(const ForeignSource *source, ForeignImport *import)
{
	FilterLayer *first = one_layer(import, source->bits, source->hashes);
	uint64_t	bytes = string_bytes(first);
	uint64_t	layers = 1;

	if (source->length > bytes)
	{
		if (source->length % bytes != 0)
			return "longer than its number of bits";
		layers = source->length / bytes;
		if (layers > IMAGE_MAX_LAYERS)
			return "number of strings out of range";
	}
	first->multiple = smaller(source->length, bytes);
	import->plan.layers = (int) layers;
	for (uint64_t i = 1; i < layers; i++)
		import->plan.layer[i] = *first;
	return NULL;
}

/* Fields that both formats have in common */
#define REDIS_OPS \
	.forms = GUAVA_FORMS, \
	.size = guava_size, \
	.note_added = redis_note_added, \
	.join = redis_join, \
	.check_layer = redis_check_layer, \
	.check_bits = redis_check_bits, \
	.needs_shape = true, \
	.order = BITS_FROM_HIGHEST, \
	.parse = redis_parse

/* With Guava's older strategy, the number of bits can be any number. */
const ForeignFormat redis_guava32_format = {
	.name = "redis-bits:guava32",
	.code = 'b',
	.hash = mitz32_hash,
	.places = &mitz32_places,
	.unit = 1,
	REDIS_OPS
};

const ForeignFormat redis_guava64_format = {
	.name = "redis-bits:guava64",
	.code = 'B',
	.hash = mitz64_hash,
	.places = &mitz64_places,
	.unit = WORD_BITS,
	REDIS_OPS
};
