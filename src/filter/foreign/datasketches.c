/*
 * datasketches.c
 *	  The BloomFilter of Apache DataSketches.
 *
 * Bytes: a preamble of 32 bytes, then words; a filter without elements has only 24 bytes of
 * preamble; little-endian.
 *
 * Source: org.apache.datasketches.filters.bloomfilter.BloomFilter.
 */
#include "common.h"

#include <math.h>

#include "places.h"

#define SKETCH_EMPTY_BYTES	24
#define SKETCH_HEADER		32
#define SKETCH_EMPTY_LONGS	3	/* the preamble's length in words */
#define SKETCH_LONGS		4
#define SKETCH_VERSION		1
#define SKETCH_FAMILY		21
#define SKETCH_FLAG_EMPTY	4
#define SKETCH_SEED			9001	/* of filters that we make */

/* Bits of a layer's detail */
#define SKETCH_COUNTED		1	/* the preamble has the number of set bits */
#define SKETCH_WRITES_WORDS	2	/* write words even if no bit is set */

static ForeignHash
datasketches_hash(uint64_t seed, const uint8_t *bytes, size_t length)
{
	ForeignHash hash;

	hash.a = foreign_xxh64(bytes, length, seed);
	hash.b = foreign_xxh64(bytes, length, hash.a);
	return hash;
}

static ALWAYS_INLINE uint64_t
datasketches(const ForeignHash *hash, uint64_t i, uint64_t m)
{
	return ((hash->a + (i + 1) * hash->b) >> 1) % m;
}

FOREIGN_PLACES(static, datasketches, 1, bits_contain, bits_add)

static double
datasketches_size(double n, double error_rate, FilterLayer *layer)
{
	double		bits = ceil(best_bits(n, error_rate));

	layer->hashes = (unsigned) ceil(best_hashes(bits, n));
	return bits;
}

/* DataSketches rounds the number of hashes up. */
static double
datasketches_capacity(const FilterLayer *layer)
{
	double		least = layer->hashes > 1 ? layer->hashes - 1 : 0.5;

	return (double) layer->size * M_LN2 / least;
}

static void
datasketches_join(const FilterLayer *left, const FilterLayer *right,
				  bool united, FilterLayer *joined)
{
	joined->detail = SKETCH_COUNTED;
}

static const char *
datasketches_parse(const ForeignSource *source, ForeignImport *import)
{
	const uint8_t *bytes = source->bytes;
	uint64_t	header = SKETCH_HEADER;
	uint64_t	words;
	uint64_t	counted;
	const char *fault;
	bool		empty;

	if (source->length < SKETCH_EMPTY_BYTES)
		return "shorter than a header";
	if (bytes[1] != SKETCH_VERSION)
		return "unknown version";
	if (bytes[2] != SKETCH_FAMILY)
		return "family of another sketch";
	if ((bytes[3] & ~SKETCH_FLAG_EMPTY) != 0)
		return "unknown flags";
	empty = bytes[3] == SKETCH_FLAG_EMPTY;
	if (empty)
		header = SKETCH_EMPTY_BYTES;
	if (bytes[0] != (empty ? SKETCH_EMPTY_LONGS : SKETCH_LONGS))
		return "length of the preamble out of range";
	if (!all_zero(bytes + 6, 2) || !all_zero(bytes + 20, 4))
		return "reserved bytes are not zero";
	if (source->length < header)
		return "shorter than a header";
	import->seed = get64(bytes + 8);
	words = get32(bytes + 16);
	fault = parse_words(source, import, header, words, empty ? 0 : words,
						get16(bytes + 4));
	if (fault || empty)
		return fault;
	import->plan.layer[0].detail = SKETCH_WRITES_WORDS;
	counted = get64(bytes + 24);
	/* -1 stands for an unknown number: DataSketches then counts the bits */
	if (counted != UINT64_MAX)
	{
		import->plan.layer[0].detail |= SKETCH_COUNTED;
		if (counted != count_bits(bytes + SKETCH_HEADER, words * WORD_BYTES))
			return "number of set bits is wrong";
	}
	return NULL;
}

static bool
datasketches_write(Writer *writer, const ForeignFormat *format,
				   const uint8_t *image, const FilterLayer *layer)
{
	bool		empty = layer->bits_set == 0 &&
		(layer->detail & SKETCH_WRITES_WORDS) == 0;

	write_number(writer, empty ? SKETCH_EMPTY_LONGS : SKETCH_LONGS, 1);
	write_number(writer, SKETCH_VERSION, 1);
	write_number(writer, SKETCH_FAMILY, 1);
	write_number(writer, empty ? SKETCH_FLAG_EMPTY : 0, 1);
	write_number(writer, layer->hashes, 4);
	write_number(writer, image_seed(image), 8);
	write_number(writer, layer->size / WORD_BITS, 8);
	if (!empty)
		write_number(writer, (layer->detail & SKETCH_COUNTED) != 0 ?
					 layer->bits_set : UINT64_MAX, 8);
	return !empty;
}

const ForeignFormat datasketches_format = {
	.name = "datasketches",
	.code = 'D',
	.forms = FORM(TEXT) | FORM(INT4) | FORM(INT8) | FORM(BYTEA) | FORM(FLOAT8),
	.integers = INTEGERS_LONG,
	.no_empty_text = true,
	.hash = datasketches_hash,
	.places = &datasketches_places,
	.seed_bits = 64,
	.seed = SKETCH_SEED,
	.unit = WORD_BITS,
	.most_detail = SKETCH_COUNTED | SKETCH_WRITES_WORDS,
	.clear_unsets = SKETCH_COUNTED | SKETCH_WRITES_WORDS,
	.add_unsets = SKETCH_COUNTED,	/* as DataSketches' update() does */
	.size = datasketches_size,
	.capacity = datasketches_capacity,
	.join = datasketches_join,
	.parse = datasketches_parse,
	.write = datasketches_write
};
