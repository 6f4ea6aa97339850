/*
 * parquet.c
 *	  The Bloom filters of Parquet's columns.
 *
 * Bytes: a header in Thrift's compact protocol, then blocks of 32 bytes; or blocks alone.  An
 * element sets one bit in each of the eight words of one block.
 *
 * Sources: the Parquet format, BloomFilter.md; the header is in parquet.thrift,
 * its encoding in Thrift's thrift-compact-protocol.md.
 */
#include "common.h"

#include <math.h>

#include "../block512.h"
#include "places.h"

#define PARQUET_FORMS \
	(FORM(TEXT) | FORM(INT4) | FORM(INT8) | FORM(BYTEA) | FORM(FLOAT4) | \
	 FORM(FLOAT8) | FORM(UUID) | FORM(DATE) | FORM(TIMESTAMP) | \
	 FORM(TIMESTAMPTZ) | FORM(NUMERIC))

/* A layer's detail: the filter's bytes are blocks without a header */
#define PARQUET_BARE		1

/* The error rate at which a filter of unknown capacity is full */
#define PARQUET_FULL_RATE	0.1

static ForeignHash
parquet_hash(uint64_t seed, const uint8_t *bytes, size_t length)
{
	ForeignHash hash = {.a = foreign_xxh64(bytes, length, 0)};

	return hash;
}

/* Return the first bit of an element's block. */
static ALWAYS_INLINE uint64_t
parquet(const ForeignHash *hash, uint64_t i, uint64_t bits)
{
	return PARQUET_BLOCK_BITS *
		(((hash->a >> 32) * (bits / PARQUET_BLOCK_BITS)) >> 32);
}

/* Probe a block as a whole. */
static ALWAYS_INLINE bool
block_contain(ForeignPlace place_of, const ProbeLayer *layer,
			  const ForeignHash *hash, uint64_t place)
{
	return block_kernel->parquet_contains(layer_slice(layer, place / 8, PARQUET_BLOCK_BYTES),
										  hash->a);
}

/* Set the element's bits, and return how many of them were clear before. */
static ALWAYS_INLINE unsigned
block_add(ForeignPlace place_of, const ProbeLayer *layer, const ForeignHash *hash)
{
	uint8_t    *at = layer->bits + place_of(hash, 0, layer->size) / 8;
	unsigned	added = 0;

	for (int j = 0; j < PARQUET_HASHES; j++)
	{
		uint32_t	word = get32(at);
		uint32_t	bit = parquet_bit(hash->a, j);

		added += (word & bit) == 0;
		put32(at, word | bit);
		at += sizeof(word);
	}
	return added;
}

FOREIGN_PLACES(static, parquet, 1, block_contain, block_add)

static double
parquet_size(double n, double error_rate, FilterLayer *layer)
{
	double		k = PARQUET_HASHES;
	double		least = floor(-k * n / log1p(-pow(error_rate, 1 / k)) / 8);
	double		bytes = 1;

	layer->hashes = PARQUET_HASHES;
	while (bytes < least)
		bytes *= 2;
	return 8 * bytes;
}

static double
parquet_capacity(const FilterLayer *layer)
{
	double		k = layer->hashes;

	return -(double) layer->size / k * log1p(-pow(PARQUET_FULL_RATE, 1 / k));
}

/*
 * Return the variance due to blocks that have more or fewer elements.  They are Poisson
 * distributed, but their sum is fixed: subtract the variance of a Poisson distributed sum.
 */
static double
parquet_more_variance(const FilterLayer *layer)
{
	double		blocks = (double) layer->size / PARQUET_BLOCK_BITS;
	double		each = (double) layer->capacity * PARQUET_BLOCK_BITS / layer->size;
	double		taken = (double) PARQUET_HASHES / PARQUET_BLOCK_BITS;
	double		spared = 1 - taken;
	double		clear = exp(-each * taken);
	double		variance = exp(-each * (1 - spared * spared)) -
		clear * clear * (1 + each * taken * taken);

	return variance <= 0 ? 0 :
		blocks * PARQUET_BLOCK_BITS * PARQUET_BLOCK_BITS * variance;
}

/* Return the mean error rate of a block; the number of its elements is Poisson distributed. */
static double
parquet_error_rate(const FilterLayer *layer, double elements)
{
	const double spared = 1 - (double) PARQUET_HASHES / PARQUET_BLOCK_BITS;
	double		mean = elements / ((double) layer->size / PARQUET_BLOCK_BITS);
	double		most = mean + 12 * sqrt(mean) + 12;
	double		log_chance = -mean;
	double		sum = 0;

	/* begin with 1, since a block without elements contains none */
	for (double n = 1; n <= most; n++)
	{
		log_chance += log(mean) - log(n);
		sum += exp(log_chance + PARQUET_HASHES * log1p(-pow(spared, n)));
	}
	return sum < 1 ? sum : 1;
}

static void
parquet_join(const FilterLayer *left, const FilterLayer *right, bool united,
			 FilterLayer *joined)
{
	joined->detail = left->detail & right->detail;
}

/*
 * The header: parquet_first begins field 1, an i32, the number of bytes; parquet_rest follows
 * the number.  It is fields 2 to 4: unions whose first member, an empty struct, is set, which
 * means BLOCK, XXHASH and UNCOMPRESSED.
 */
static const uint8_t parquet_first = 0x15;
static const uint8_t parquet_rest[] = {
	0x1c, 0x1c, 0x00, 0x00, 0x1c, 0x1c, 0x00, 0x00, 0x1c, 0x1c, 0x00, 0x00, 0x00
};

#define PARQUET_REST		(sizeof(parquet_rest))

/* Maximum number of bytes that encode a 32-bit number, 7 bits in each */
#define VARINT_MAX			5
/* If this many bytes are as in parquet_rest, that is no coincidence. */
#define PARQUET_LIKELY		8

/* Read a varint; return the number of bytes read, or 0 if it is too long or cut short. */
static unsigned
get_varint(const uint8_t *bytes, uint64_t length, uint64_t *value)
{
	*value = 0;
	for (unsigned i = 0; i < VARINT_MAX && i < length; i++)
	{
		*value |= (uint64_t) (bytes[i] & 0x7f) << (7 * i);
		if ((bytes[i] & 0x80) == 0)
			return i + 1;
	}
	return 0;
}

/*
 * Do the bytes begin with a header, perhaps a damaged one?  It has 15 to 19 bytes, so the
 * length with whole blocks is no multiple of 32.  A multiple may be the length of blocks
 * alone: then require all of parquet_rest, which no block contains by chance.
 */
static bool
has_parquet_header(const uint8_t *bytes, uint64_t length)
{
	unsigned	enough = length % PARQUET_BLOCK_BYTES == 0 ? PARQUET_REST :
		PARQUET_LIKELY;

	for (uint64_t at = 2; at <= 1 + VARINT_MAX; at++)
	{
		unsigned	alike = 0;

		for (uint64_t i = 0; i < PARQUET_REST && at + i < length; i++)
			alike += bytes[at + i] == parquet_rest[i];
		if (alike >= enough)
			return true;
	}
	return false;
}

static const char *
parquet_parse(const ForeignSource *source, ForeignImport *import)
{
	uint64_t	left = source->length;
	FilterLayer *layer;
	bool		bare = !has_parquet_header(source->bytes, source->length);

	if (left == 0)
		return "shorter than a block";
	if (!bare)
	{
		uint64_t	number;
		unsigned	digits;

		if (source->bytes[0] != parquet_first)
			return "unknown field in the header";
		digits = get_varint(source->bytes + 1, left - 1, &number);
		if (digits == 0)
			return "number of bytes (numBytes) out of range";
		import->data = 1 + digits + PARQUET_REST;
		if (left < import->data)
			return "shorter than a header";
		if (memcmp(source->bytes + 1 + digits, parquet_rest, PARQUET_REST) != 0)
			return "unknown algorithm, hash or compression in the header";
		left -= import->data;
		/* ZigZag: the lowest bit is the sign; the last digit is not zero */
		if (number % 2 != 0 || number / 2 > IMAGE_MAX_BITS / 8 ||
			number / 2 % PARQUET_BLOCK_BYTES != 0 || number == 0 ||
			source->bytes[digits] == 0)
			return "number of bytes (numBytes) out of range";
		if (left < number / 2)
			return "shorter than its number of bytes (numBytes)";
		if (left > number / 2)
			return "bytes after the last block";
	}
	else if (left % PARQUET_BLOCK_BYTES != 0)
		return "neither a header nor whole blocks of 32 bytes";
	if (left > IMAGE_MAX_BITS / 8)
		return "number of bytes out of range";
	layer = one_layer(import, 8 * left, PARQUET_HASHES);
	layer->detail = bare ? PARQUET_BARE : 0;
	return NULL;
}

static bool
parquet_write(Writer *writer, const ForeignFormat *format,
			  const uint8_t *image, const FilterLayer *layer)
{
	/* ZigZag encodes a positive number as twice that number */
	uint64_t	number = 2 * (layer->size / 8);

	if (layer->detail == PARQUET_BARE)
		return true;
	write_number(writer, parquet_first, 1);
	for (; number > 0x7f; number >>= 7)
		write_number(writer, 0x80 | (number & 0x7f), 1);
	write_number(writer, number, 1);
	write_bytes(writer, parquet_rest, PARQUET_REST, BITS_AS_OURS);
	return true;
}

const ForeignFormat parquet_format = {
	.name = "parquet",
	.code = 'P',
	.forms = PARQUET_FORMS,
	.parquet_numerics = true,
	.one_zero = true,
	.hash = parquet_hash,
	.places = &parquet_places,
	.blocks = true,
	.unit = PARQUET_BLOCK_BITS,
	.most_detail = PARQUET_BARE,
	.hashes = PARQUET_HASHES,
	.size = parquet_size,
	.capacity = parquet_capacity,
	.more_variance = parquet_more_variance,
	.error_rate = parquet_error_rate,
	.join = parquet_join,
	.parse = parquet_parse,
	.write = parquet_write
};
