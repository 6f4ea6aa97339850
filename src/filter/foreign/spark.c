/*
 * spark.c
 *	  Spark's BloomFilter, both versions; and spark-sql, whose elements are xxhash64(column).
 *
 * Bytes: version, hashes, seed (version 2 only), number of words (4 bytes each), words;
 * big-endian.  Version 1 has the places of guava:mitz32; both versions have Guava's sizes.
 *
 * Sources: org.apache.spark.util.sketch.BloomFilterImpl and BloomFilterImplV2.
 */
#include "common.h"
#include "places.h"

#define SPARK_HEADER		12
#define SPARK2_HEADER		16

#define SPARK_FORMS	(FORM(TEXT) | FORM(INT4) | FORM(INT8) | FORM(BYTEA))
#define SPARK_SQL_FORMS \
	(SPARK_FORMS | FORM(FLOAT4) | FORM(FLOAT8) | FORM(DATE) | \
	 FORM(TIMESTAMP) | FORM(TIMESTAMPTZ) | FORM(NUMERIC))

/* The seed of xxhash64() */
#define SPARK_SQL_SEED	42

/* Version 2 multiplies the first hash by Java's Integer.MAX_VALUE. */
#define SPARK2_FACTOR	INT64_C(0x7fffffff)

static ForeignHash
spark_hash(uint64_t seed, const uint8_t *bytes, size_t length)
{
	uint32_t	first = foreign_murmur32_spark(bytes, length, (uint32_t) seed);
	uint32_t	second = foreign_murmur32_spark(bytes, length, first);
	ForeignHash hash = {.a = first, .b = second};

	return hash;
}

static ForeignHash
spark_sql_hash(uint64_t seed, const uint8_t *bytes, size_t length)
{
	uint8_t		column[sizeof(uint64_t)];

	put64(column, foreign_xxh64(bytes, length, SPARK_SQL_SEED));
	return spark_hash(seed, column, sizeof(column));
}

/* Return the hash of version 2, given that of version 1. */
static ForeignHash
second_version(ForeignHash hash)
{
	hash.a = (uint64_t) ((int64_t) (int32_t) hash.a * SPARK2_FACTOR);
	hash.b = (uint64_t) (int64_t) (int32_t) hash.b;
	return hash;
}

static ForeignHash
spark2_hash(uint64_t seed, const uint8_t *bytes, size_t length)
{
	return second_version(spark_hash(seed, bytes, length));
}

static ForeignHash
spark_sql2_hash(uint64_t seed, const uint8_t *bytes, size_t length)
{
	return second_version(spark_sql_hash(seed, bytes, length));
}

static ALWAYS_INLINE uint64_t
spark2(const ForeignHash *hash, uint64_t i, uint64_t m)
{
	uint64_t	sum = hash->a + (i + 1) * hash->b;

	/* a negative sum is complemented */
	return (sum ^ -(sum >> 63)) % m;
}

FOREIGN_PLACES(static, spark2, 1, bits_contain, bits_add)

static const char *
spark_parse(const ForeignSource *source, ForeignImport *import)
{
	const uint8_t *bytes = source->bytes;
	bool		sql = source->format == &spark_sql_format ||
		source->format == &spark_sql2_format;
	uint64_t	header = SPARK_HEADER;
	uint64_t	words;

	if (source->length < SPARK_HEADER)
		return "shorter than a header";
	switch (get32_big(bytes))
	{
		case 1:
			import->format = sql ? &spark_sql_format : &spark_format;
			break;
		case 2:
			import->format = sql ? &spark_sql2_format : &spark2_format;
			header = SPARK2_HEADER;
			if (source->length < SPARK2_HEADER)
				return "shorter than a header";
			import->seed = (uint64_t) (int64_t) (int32_t) get32_big(bytes + 8);
			break;
		default:
			return "unknown version";
	}
	words = get32_big(bytes + header - 4);
	return parse_words(source, import, header, words, words,
					   get32_big(bytes + 4));
}

static bool
spark_write(Writer *writer, const ForeignFormat *format, const uint8_t *image,
			const FilterLayer *layer)
{
	/* only version 2 has a seed */
	bool		second = format->seed_bits != 0;

	write32_big(writer, second ? 2 : 1);
	write32_big(writer, layer->hashes);
	if (second)
		write32_big(writer, image_seed(image));
	write32_big(writer, layer->size / WORD_BITS);
	return true;
}

/* Fields that both versions of spark have in common, and both versions of spark-sql */
#define SPARK_OPS \
	GUAVA_WORDS, \
	.forms = SPARK_FORMS, \
	.integers = INTEGERS_LONG, \
	.parse = spark_parse, \
	.write = spark_write

#define SPARK_SQL_OPS \
	GUAVA_WORDS, \
	.forms = SPARK_SQL_FORMS, \
	.one_zero = true, \
	.parse = spark_parse, \
	.write = spark_write

const ForeignFormat spark_format = {
	SPARK_OPS,
	.name = "spark",
	.code = 's',
	.hash = spark_hash,
	.places = &mitz32_places
};

const ForeignFormat spark2_format = {
	SPARK_OPS,
	.name = "spark:v2",
	.code = 'S',
	.hash = spark2_hash,
	.places = &spark2_places,
	.seed_bits = 32
};

const ForeignFormat spark_sql_format = {
	SPARK_SQL_OPS,
	.name = "spark-sql",
	.code = 'q',
	.hash = spark_sql_hash,
	.places = &mitz32_places
};

const ForeignFormat spark_sql2_format = {
	SPARK_SQL_OPS,
	.name = "spark-sql:v2",
	.code = 'Q',
	.hash = spark_sql2_hash,
	.places = &spark2_places,
	.seed_bits = 32
};
