/*
 * foreign.c
 *	  Filters of other systems: Guava, Parquet, Spark, DataSketches, RedisBloom,
 *	  and bit strings in Redis with Guava's hashing.
 *
 * Their bits lie in our order (bit i is bit i % 8 of byte i / 8), and are the
 * other system's otherwise: an element has the same bits here and there.  So a
 * filter is probed as it is, and can be given back to the byte; foreign_io.c
 * reads and writes the other systems' bytes.
 *
 * Limits: such a filter does not grow, and is not united with others than of
 * its format, form of element, hashes and size.  (One of Parquet's is folded to
 * a smaller size that divides its own.)  What elements it has, only its bits
 * tell, so numbers of them are estimates; RedisBloom counts.
 *
 * Sources: Guava, com.google.common.hash.BloomFilterStrategies; the Parquet
 * format, BloomFilter.md; Spark, org.apache.spark.util.sketch.BloomFilterImpl
 * and BloomFilterImplV2; DataSketches, org.apache.datasketches.filters.
 * bloomfilter.BloomFilter; RedisBloom, deps/bloom/bloom.c and src/sb.c.
 */
#include "foreign.h"

#include <math.h>

#include "bits.h"
#include "block512.h"
#include "interrupt.h"
#include "sizing.h"

/*
 * Elements whose first places are computed before any of them is read, so that
 * the misses of the cache overlap
 */
#define PLACES_AHEAD	32

/* ------------------------------------------------------------------------
 * From an element's bytes to places
 * ------------------------------------------------------------------------ */

/* The seeds of spark-sql's xxhash64() and of RedisBloom */
#define SPARK_SQL_SEED	42
#define REDISBLOOM_SEED	UINT64_C(0xc6a4a7935bd1e995)

/* The first hash of version 2 is multiplied by Java's Integer.MAX_VALUE. */
#define SPARK2_FACTOR	INT64_C(0x7fffffff)

/* Two hashes of 32 bits in Spark's manner, for either version */
static ForeignHash
spark_hash(bool second_version, uint64_t seed, const uint8_t *bytes,
		   size_t length)
{
	uint32_t	first = foreign_murmur32_spark(bytes, length, (uint32_t) seed);
	uint32_t	second = foreign_murmur32_spark(bytes, length, first);
	ForeignHash hash = {.a = first, .b = second};

	if (second_version)
	{
		hash.a = (uint64_t) ((int64_t) (int32_t) first * SPARK2_FACTOR);
		hash.b = (uint64_t) (int64_t) (int32_t) second;
	}
	return hash;
}

ForeignHash
foreign_hash(ForeignFormat format, uint64_t seed, const uint8_t *bytes,
			 size_t length)
{
	ForeignHash hash = {0, 0};
	uint8_t		column[sizeof(uint64_t)];

	switch (format)
	{
		case FOREIGN_GUAVA:
		case FOREIGN_REDIS_GUAVA64:
			return foreign_murmur128(bytes, length);
		case FOREIGN_GUAVA32:
		case FOREIGN_REDIS_GUAVA32:
			/* the two halves of the first word alone */
			hash = foreign_murmur128(bytes, length);
			hash.b = hash.a >> 32;
			hash.a = (uint32_t) hash.a;
			return hash;
		case FOREIGN_PARQUET:
			hash.a = foreign_xxh64(bytes, length, 0);
			return hash;
		case FOREIGN_SPARK:
		case FOREIGN_SPARK2:
			return spark_hash(format == FOREIGN_SPARK2, seed, bytes, length);
		case FOREIGN_SPARK_SQL:
		case FOREIGN_SPARK_SQL2:
			put64(column, foreign_xxh64(bytes, length, SPARK_SQL_SEED));
			return spark_hash(format == FOREIGN_SPARK_SQL2, seed, column,
							  sizeof(column));
		case FOREIGN_DATASKETCHES:
			hash.a = foreign_xxh64(bytes, length, seed);
			hash.b = foreign_xxh64(bytes, length, hash.a);
			return hash;
		case FOREIGN_REDISBLOOM:
			hash.a = foreign_murmur64a(bytes, length, REDISBLOOM_SEED);
			hash.b = foreign_murmur64a(bytes, length, hash.a);
			return hash;
	}
	return hash;
}

/* Of a number with a sign, itself or its complement, whichever is not negative */
static inline uint64_t
not_negative(int64_t number)
{
	return (uint64_t) (number < 0 ? ~number : number);
}

/*
 * The place of an element's bit i, from 0, among m.  Always inline, with a
 * constant mapping.
 */
static ALWAYS_INLINE uint64_t
foreign_place(ForeignMapping mapping, const ForeignHash *hash, uint64_t i,
			  uint64_t m)
{
	switch (mapping)
	{
		case MAPPING_MITZ64:
			return ((hash->a + i * hash->b) & INT64_MAX) % m;
		case MAPPING_MITZ32:
			/* below 2^31, so that a shorter division is enough */
			return (uint32_t) not_negative((int32_t) (uint32_t) (hash->a + (i + 1) * hash->b)) %
				(m <= UINT32_MAX ? (uint32_t) m : UINT32_MAX);
		case MAPPING_SPARK2:
			return not_negative((int64_t) (hash->a + (i + 1) * hash->b)) % m;
		case MAPPING_DATASKETCHES:
			return ((hash->a + (i + 1) * hash->b) >> 1) % m;
		case MAPPING_REDISBLOOM:
			return (hash->a + i * hash->b) % m;
		case MAPPING_BLOCKS:
			break;
	}
	return 0;
}

static inline uint64_t
parquet_block(uint64_t hash, uint64_t blocks)
{
	return ((hash >> 32) * blocks) >> 32;
}

/* ------------------------------------------------------------------------
 * Probing and adding
 * ------------------------------------------------------------------------ */

/* A layer as a probe reads it from its descriptor */
typedef struct ProbeLayer
{
	uint8_t    *bits;
	uint64_t	m;
	unsigned	k;
} ProbeLayer;

static inline ProbeLayer
probe_layer(const uint8_t *image, int i)
{
	const uint8_t *at = image_layer_at(image, i);
	ProbeLayer	layer = {
		.bits = (uint8_t *) image + get64(at + LAYER_OFF_OFFSET),
		.m = get64(at + LAYER_OFF_SIZE),
		.k = at[LAYER_OFF_HASHES]
	};

	/* if it was damaged on disk, the answer may be wrong, but no division */
	layer.m += layer.m == 0;
	return layer;
}

static inline bool
bit_is_set(const uint8_t *bits, uint64_t place)
{
	return ((bits[place / 8] >> (place % 8)) & 1) != 0;
}

/* The first bit's place, or the first byte's, for a prefetch */
static ALWAYS_INLINE uint64_t
first_place(ForeignMapping mapping, const ProbeLayer *layer,
			const ForeignHash *hash)
{
	if (mapping == MAPPING_BLOCKS)
		return PARQUET_BLOCK_BITS *
			parquet_block(hash->a, layer->m / PARQUET_BLOCK_BITS);
	return foreign_place(mapping, hash, 0, layer->m);
}

/* Does a layer contain the element, whose first place is "place"? */
static ALWAYS_INLINE bool
layer_contains_from(ForeignMapping mapping, const ProbeLayer *layer,
					const ForeignHash *hash, uint64_t place)
{
	if (mapping == MAPPING_BLOCKS)
		return block_kernel->parquet_contains(layer->bits + place / 8, hash->a);
	if (!bit_is_set(layer->bits, place))
		return false;
	for (unsigned i = 1; i < layer->k; i++)
		if (!bit_is_set(layer->bits,
						foreign_place(mapping, hash, i, layer->m)))
			return false;
	return true;
}

/*
 * Probe the last layer for all, then the others for those that it does not
 * contain.
 */
static ALWAYS_INLINE void
contains_batch(ForeignMapping mapping, const uint8_t *image,
			   const ForeignHash *hashes, size_t count, bool *found)
{
	int			layers = image_layers(image);

	while (count > 0)
	{
		uint64_t	places[PLACES_AHEAD];
		size_t		batch = count < PLACES_AHEAD ? count : PLACES_AHEAD;
		ProbeLayer	layer = probe_layer(image, layers - 1);

		for (size_t i = 0; i < batch; i++)
		{
			places[i] = first_place(mapping, &layer, &hashes[i]);
			__builtin_prefetch(layer.bits + places[i] / 8);
		}
		for (size_t i = 0; i < batch; i++)
			found[i] = layer_contains_from(mapping, &layer, &hashes[i],
										   places[i]);
		for (int other = layers - 2; other >= 0; other--)
		{
			layer = probe_layer(image, other);
			for (size_t i = 0; i < batch; i++)
				if (!found[i])
					found[i] = layer_contains_from(mapping, &layer, &hashes[i],
												   first_place(mapping, &layer, &hashes[i]));
		}
		hashes += batch;
		found += batch;
		count -= batch;
	}
}

/* Set the element's bits, and return how many were clear before. */
static ALWAYS_INLINE unsigned
layer_add(ForeignMapping mapping, const ProbeLayer *layer,
		  const ForeignHash *hash)
{
	unsigned	added = 0;

	if (mapping == MAPPING_BLOCKS)
	{
		uint8_t    *block = layer->bits +
			first_place(mapping, layer, hash) / 8;

		for (int j = 0; j < PARQUET_HASHES; j++)
		{
			uint8_t    *at = block + sizeof(uint32_t) * j;
			uint32_t	word = get32(at);
			uint32_t	bit = parquet_bit(hash->a, j);

			added += (word & bit) == 0;
			put32(at, word | bit);
		}
		return added;
	}
	for (unsigned i = 0; i < layer->k; i++)
	{
		uint64_t	place = foreign_place(mapping, hash, i, layer->m);
		uint8_t		bit = 1 << (place % 8);

		added += (layer->bits[place / 8] & bit) == 0;
		layer->bits[place / 8] |= bit;
	}
	return added;
}

/* Call a function of a constant mapping. */
#define FOR_MAPPING(mapping, call) \
	do switch (mapping) \
	{ \
		case MAPPING_MITZ64: \
			call(MAPPING_MITZ64); \
			break; \
		case MAPPING_MITZ32: \
			call(MAPPING_MITZ32); \
			break; \
		case MAPPING_SPARK2: \
			call(MAPPING_SPARK2); \
			break; \
		case MAPPING_DATASKETCHES: \
			call(MAPPING_DATASKETCHES); \
			break; \
		case MAPPING_REDISBLOOM: \
			call(MAPPING_REDISBLOOM); \
			break; \
		case MAPPING_BLOCKS: \
			call(MAPPING_BLOCKS); \
			break; \
	} while (0)

void
foreign_contains_batch(const uint8_t *image, const ForeignHash *hashes,
					   size_t count, bool *found)
{
#define CALL(mapping)	contains_batch(mapping, image, hashes, count, found)
	FOR_MAPPING(foreign_mapping(image), CALL);
#undef CALL
}

bool
foreign_contains(const uint8_t *image, const ForeignHash *hash)
{
	bool		found = true;

	foreign_contains_batch(image, hash, 1, &found);
	return found;
}

static bool
layer_contains_sliced(ForeignMapping mapping, const uint8_t *header,
					  const ProbeLayer *layer, const ForeignHash *hash,
					  FilterFetch fetch, void *from)
{
	uint64_t	offset = layer->bits - header;

	if (mapping == MAPPING_BLOCKS)
	{
		const uint8_t *block;

		offset += first_place(mapping, layer, hash) / 8;
		block = fetch(from, offset, PARQUET_BLOCK_BYTES);
		return block_kernel->parquet_contains(block, hash->a);
	}
	for (unsigned i = 0; i < layer->k; i++)
	{
		uint64_t	place = foreign_place(mapping, hash, i, layer->m);

		if (!bit_is_set(fetch(from, offset + place / 8, 1), place % 8))
			return false;
	}
	return true;
}

bool
foreign_contains_sliced(const uint8_t *header, const ForeignHash *hash,
						FilterFetch fetch, void *from)
{
	ForeignMapping mapping = foreign_mapping(header);

	for (int i = image_layers(header) - 1; i >= 0; i--)
	{
		ProbeLayer	layer = probe_layer(header, i);

		if (layer_contains_sliced(mapping, header, &layer, hash, fetch, from))
			return true;
	}
	return false;
}

/* A block is one slice; each of other bits may be in another one. */
unsigned
foreign_slices(const uint8_t *header)
{
	bool		blocks = foreign_mapping(header) == MAPPING_BLOCKS;
	unsigned	slices = 0;

	for (int i = 0; i < image_layers(header); i++)
		slices += blocks ? 1 : probe_layer(header, i).k;
	return slices;
}

/* The number of bytes up to the last one that is not zero */
static uint64_t
used_bytes(const uint8_t *bits, uint64_t bytes)
{
	while (bytes > 0 && bits[bytes - 1] == 0)
		bytes--;
	return bytes;
}

/*
 * Keep the fields of a layer true to what was added to it: "elements" of them,
 * which have set "bits" bits.
 */
static void
note_added(const uint8_t *image, int i, ForeignFormat format,
		   uint64_t elements, uint64_t bits)
{
	FilterLayer layer;
	uint64_t	used;

	image_get_layer(image, i, &layer);
	layer.bits_set += bits;
	switch (format)
	{
		case FOREIGN_REDISBLOOM:
			layer.multiple += elements;
			break;
		case FOREIGN_DATASKETCHES:
			/* its update() forgets the number, too */
			layer.detail &= ~(uint64_t) DATASKETCHES_COUNTED;
			break;
		case FOREIGN_REDIS_GUAVA32:
		case FOREIGN_REDIS_GUAVA64:
			/* SETBIT lengthens a string up to the bit */
			used = used_bytes(image_layer_bits(image, i), (layer.size + 7) / 8);
			if (layer.multiple < used)
				layer.multiple = used;
			break;
		default:
			break;
	}
	image_put_layer((uint8_t *) image, i, &layer);
}

size_t
foreign_add_batch(uint8_t *image, const ForeignHash *hashes, size_t count)
{
	ForeignFormat format = foreign_image_format(image);
	ForeignMapping mapping = foreign_formats[format].mapping;
	int			last = image_layers(image) - 1;
	ProbeLayer	probe = probe_layer(image, last);
	FilterLayer layer;
	uint64_t	elements = 0;
	uint64_t	bits = 0;
	size_t		i;

	image_get_layer(image, last, &layer);
	for (i = 0; i < count; i++)
	{
		bool		full = format == FOREIGN_REDISBLOOM ?
			layer.multiple + elements >= layer.capacity :
			layer.bits_full != 0 && layer.bits_set + bits >= layer.bits_full;
		bool		found = false;

#define CALL(mapping)	contains_batch(mapping, image, &hashes[i], 1, &found)
		FOR_MAPPING(mapping, CALL);
#undef CALL
		if (found)
			continue;
		if (full)
			break;
#define CALL(mapping)	bits += layer_add(mapping, &probe, &hashes[i])
		FOR_MAPPING(mapping, CALL);
#undef CALL
		elements++;
	}
	if (elements > 0)
		note_added(image, last, format, elements, bits);
	return i;
}

/*
 * A hash of ours tells nothing about an element: "perhaps" is the answer that is
 * never wrong.  Callers know better than to ask.
 */
bool
foreign_contains_ours(const uint8_t *image, uint64_t hash)
{
	(void) image;
	(void) hash;
	return true;
}

void
foreign_contains_ours_batch(const uint8_t *image, const uint64_t *hashes,
							size_t count, bool *found)
{
	(void) image;
	(void) hashes;
	memset(found, true, count * sizeof(bool));
}

bool
foreign_contains_ours_sliced(const uint8_t *header, uint64_t hash,
							 FilterFetch fetch, void *from)
{
	(void) header;
	(void) hash;
	(void) fetch;
	(void) from;
	return true;
}

/* ------------------------------------------------------------------------
 * Sizes and estimates
 * ------------------------------------------------------------------------ */

/* Log of the expected share of clear bits that each element leaves clear */
static double
log_spared(const FilterLayer *layer)
{
	return layer->hashes * log1p(-1.0 / ((double) layer->size + 1));
}

/*
 * The variance of the number of set bits that is due to blocks having more or
 * fewer elements, for "each" of them on average; Poisson's, less what all blocks
 * together cannot vary.
 */
static double
blocks_variance(double blocks, double each)
{
	double		word_bits = (double) PARQUET_BLOCK_BITS / PARQUET_HASHES;
	double		taken = 1 / word_bits;
	double		spared = 1 - taken;
	double		clear = exp(-each * taken);
	double		variance = exp(-each * (1 - spared * spared)) -
		clear * clear * (1 + each * taken * taken);

	return variance <= 0 ? 0 :
		blocks * PARQUET_BLOCK_BITS * PARQUET_BLOCK_BITS * variance;
}

void
foreign_set_full(ForeignMapping mapping, FilterLayer *layer)
{
	double		m = (double) layer->size;
	double		n = (double) layer->capacity;
	double		log_clear = n * log_spared(layer);
	double		clear = exp(log_clear);
	double		variance = m * clear * (1 - (1 - log_clear) * clear);
	double		full;

	if (mapping == MAPPING_BLOCKS)
		variance += blocks_variance(m / PARQUET_BLOCK_BITS,
									n * PARQUET_BLOCK_BITS / m);
	full = ceil(m * (1 - clear) + FULL_SIGMAS * sqrt(variance > 0 ? variance : 0));
	/* more than all of them, in different places, cannot be needed */
	if (full > n * layer->hashes)
		full = n * layer->hashes;
	layer->bits_full = full >= m ? layer->size : (uint64_t) full;
}

/* The error rate at which a Parquet filter of unknown capacity counts as full */
#define PARQUET_FULL_RATE	0.1

void
foreign_set_capacity(ForeignMapping mapping, FilterLayer *layer)
{
	double		m = (double) layer->size;
	double		k = layer->hashes;
	double		n;

	if (mapping == MAPPING_BLOCKS)
		n = -m / k * log1p(-pow(PARQUET_FULL_RATE, 1 / k));
	else
	{
		/* k is m / n ln 2, rounded up by DataSketches, to nearest by others */
		double		least = mapping == MAPPING_DATASKETCHES && k > 1 ? k - 1 :
			k - 0.5;

		n = m * M_LN2 / least;
	}
	layer->capacity = n < 1 ? 1 : (uint64_t) n;
	foreign_set_full(mapping, layer);
}

uint64_t
foreign_layer_bits(const FilterLayer *layer)
{
	return layer->size;
}

double
foreign_layer_cardinality(const FilterLayer *layer)
{
	return elements_from_bits((double) layer->size, (double) layer->bits_set,
							  log_spared(layer));
}

/* RedisBloom adds an element to one layer. */
double
foreign_cardinality(const uint8_t *image)
{
	double		sum = 0;

	for (int i = 0; i < image_layers(image); i++)
	{
		FilterLayer layer;

		image_get_layer(image, i, &layer);
		sum += foreign_layer_cardinality(&layer);
	}
	return sum;
}

/*
 * Of blocks: their elements are Poisson's, with the mean that the set bits tell.
 * (Those of one block are as many in each of its words.)
 */
static double
blocks_error_rate(const FilterLayer *layer)
{
	const double spared = 1 - (double) PARQUET_HASHES / PARQUET_BLOCK_BITS;
	double		mean = foreign_layer_cardinality(layer) /
		((double) layer->size / PARQUET_BLOCK_BITS);
	double		most = mean + 12 * sqrt(mean) + 12;
	double		log_chance = -mean;
	double		sum = 0;

	/* a block without elements contains none */
	for (double n = 1; n <= most; n++)
	{
		log_chance += log(mean) - log(n);
		sum += exp(log_chance + PARQUET_HASHES * log1p(-pow(spared, n)));
	}
	return sum < 1 ? sum : 1;
}

/* Reads the header alone. */
double
foreign_error_rate(const uint8_t *image)
{
	bool		blocks = foreign_mapping(image) == MAPPING_BLOCKS;
	double		log_right = 0;

	for (int i = 0; i < image_layers(image); i++)
	{
		FilterLayer layer;
		double		rate;

		image_get_layer(image, i, &layer);
		if (layer.bits_set == 0)
			continue;
		rate = blocks ? blocks_error_rate(&layer) :
			pow((double) layer.bits_set / layer.size, layer.hashes);
		if (rate >= 1)
			return 1;
		log_right += log1p(-rate);
	}
	return -expm1(log_right);
}

/* Might the last layer be full before it has "count" more elements? */
bool
foreign_may_fill(const uint8_t *image, uint64_t count)
{
	FilterLayer last;

	image_get_layer(image, image_layers(image) - 1, &last);
	if (foreign_image_format(image) == FOREIGN_REDISBLOOM)
		return last.multiple + count > last.capacity;
	return last.bits_set + count * last.hashes > last.bits_full;
}

/* The layer of the image as it was created */
void
foreign_clear_layer(const uint8_t *image, FilterLayer *layer)
{
	layer->bits_set = 0;
	layer->multiple = 0;
	if (foreign_image_format(image) == FOREIGN_DATASKETCHES)
		layer->detail = 0;
}

/* ------------------------------------------------------------------------
 * Bytes from outside
 * ------------------------------------------------------------------------ */

const char *
foreign_check_image(const uint8_t *image)
{
	ForeignType type;

	if (!foreign_type(image_class(image), &type))
		return "unknown format or form of element";
	if ((image_capacity(image) == 0) != (image_error_rate(image) == 0))
		return "filter with only one of capacity and error rate";
	if (image_growth(image) != 0)
		return "growth of another system's filter";
	if (image_layers(image) != 1 && type.format != FOREIGN_REDISBLOOM &&
		type.format != FOREIGN_REDIS_GUAVA32 &&
		type.format != FOREIGN_REDIS_GUAVA64)
		return "number of layers out of range";
	/* seeds of 32 bits; others have none */
	if (foreign_formats[type.format].mapping == MAPPING_SPARK2 ?
		image_seed(image) != (uint64_t) (int64_t) (int32_t) image_seed(image) :
		type.format != FOREIGN_DATASKETCHES && image_seed(image) != 0)
		return "seed out of range";
	return NULL;
}

/* RedisBloom's own figure for ln 2 */
#define REDISBLOOM_LN2	0.693147180559945

double
redisbloom_hashes(double bits_per_element)
{
	return ceil(REDISBLOOM_LN2 * bits_per_element);
}

/* The fields of a layer of RedisBloom that others do not have */
static const char *
check_redisbloom(const FilterLayer *layer)
{
	unsigned	options = REDISBLOOM_OPTIONS(layer->detail);
	unsigned	log_bits = REDISBLOOM_LOG_BITS(layer->detail);
	uint8_t		bytes[sizeof(uint64_t)];
	double		bits_per_element;

	if ((options & ~(REDISBLOOM_NOROUND | REDISBLOOM_ENTS_IS_BITS |
					 REDISBLOOM_FORCE64 | REDISBLOOM_NO_SCALING)) != 0)
		return "unknown options";
	if ((options & REDISBLOOM_FORCE64) == 0)
		return "options without hashes of 64 bits";
	if (log_bits != 0 &&
		(log_bits > 63 || layer->size != UINT64_C(1) << log_bits))
		return "number of bits (n2) out of range";
	if (layer->size % 64 != 0)
		return "number of bits out of range";
	if (layer->multiple > layer->capacity)
		return "number of elements exceeds the capacity";
	put64(bytes, layer->bits_full);
	bits_per_element = get_double(bytes);
	if (!(bits_per_element > 0 && bits_per_element <= IMAGE_MAX_BITS))
		return "bits per element out of range";
	if (redisbloom_hashes(bits_per_element) != layer->hashes)
		return "number of hashes is not that of its bits per element";
	if (!(layer->error_rate > 0 && layer->error_rate < 1))
		return "error rate of a layer out of range";
	return NULL;
}

const char *
foreign_check_layer(const uint8_t *image, int i, const FilterLayer *layer)
{
	ForeignFormat format = foreign_image_format(image);
	FilterLayer first;
	uint64_t	unit = 64;

	if (layer->hashes < 1)
		return "number of hashes out of range";
	if (layer->size < 1 || layer->size > IMAGE_MAX_BITS)
		return "number of bits out of range";
	/* it was made for what the filter was requested for, or for nothing */
	if (layer->capacity < 1 || layer->capacity > INT64_MAX ||
		(image_capacity(image) != 0 && layer->capacity != image_capacity(image)))
		return "capacity of a layer out of range";
	if (i > 0)
	{
		image_get_layer(image, 0, &first);
		if (format == FOREIGN_REDISBLOOM ?
			first.detail >> 8 != layer->detail >> 8 :
			first.size != layer->size || first.hashes != layer->hashes)
			return "layers of different filters";
	}
	if (format == FOREIGN_REDISBLOOM)
		return check_redisbloom(layer);

	if (get64(image_layer_at(image, i) + LAYER_OFF_ERROR_RATE) !=
		get64(image + IMAGE_OFF_ERROR_RATE))
		return "error rate of a layer out of range";
	if (layer->detail > (format == FOREIGN_PARQUET ? PARQUET_BARE :
						 format == FOREIGN_DATASKETCHES ?
						 DATASKETCHES_COUNTED | DATASKETCHES_LONG : 0))
		return "reserved bytes of a layer are not zero";
	if (format == FOREIGN_REDIS_GUAVA32 || format == FOREIGN_REDIS_GUAVA64)
	{
		if (layer->multiple > (layer->size + 7) / 8)
			return "length of a string out of range";
		return NULL;
	}
	if (layer->multiple != 0)
		return "multiple in a layer of a Bloom filter";
	if (format == FOREIGN_PARQUET)
	{
		unit = PARQUET_BLOCK_BITS;
		if (layer->hashes != PARQUET_HASHES)
			return "number of hashes out of range";
	}
	if (layer->size % unit != 0)
		return "number of bits out of range";
	return NULL;
}

const char *
foreign_check_bits(const uint8_t *image, int i, const FilterLayer *layer)
{
	ForeignFormat format = foreign_image_format(image);
	FilterLayer counted = *layer;

	if (format == FOREIGN_REDISBLOOM)
		counted.bits_full = 0;	/* is another number there */
	else if (format == FOREIGN_REDIS_GUAVA32 || format == FOREIGN_REDIS_GUAVA64)
	{
		if (used_bytes(image_layer_bits(image, i), (layer->size + 7) / 8) >
			layer->multiple)
			return "bits after the end of a string";
	}
	return bits_check(image, i, &counted, layer->size);
}
