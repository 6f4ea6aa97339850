/*
 * redisbloom.c
 *	  RedisBloom's Bloom filters, which may have layers.
 *
 * It counts elements, so a layer is full at its capacity.  Its bits_full holds another
 * number instead: the bits per element, as a double.
 *
 * Sources: deps/bloom/bloom.c and src/sb.c of RedisBloom.
 */
#include "redisbloom.h"

#include <math.h>

#include "places.h"

#define BLOOM_HEADER		20
#define BLOOM_LINK			53

/* Offsets in RedisBloom's header, and in each of its links */
#define BLOOM_OFF_SIZE		0
#define BLOOM_OFF_LINKS		8
#define BLOOM_OFF_OPTIONS	12
#define BLOOM_OFF_GROWTH	16
#define LINK_OFF_BYTES		0
#define LINK_OFF_BITS		8
#define LINK_OFF_SIZE		16
#define LINK_OFF_ERROR		24
#define LINK_OFF_BPE		32
#define LINK_OFF_HASHES		40
#define LINK_OFF_ENTRIES	44
#define LINK_OFF_N2			52

/* A layer's detail: the binary logarithm of its size or 0, and the header's rest */
#define DETAIL_LOG_BITS(detail)	((unsigned) ((detail) & 0xff))
#define DETAIL_OPTIONS(detail)	((unsigned) ((detail) >> 8 & 0xff))
#define DETAIL_GROWTH(detail)	((uint32_t) ((detail) >> 16))
#define DETAIL(log_bits, options, growth) \
	((uint64_t) (log_bits) | (uint64_t) (options) << 8 | (uint64_t) (growth) << 16)

/* Options */
#define OPTION_NOROUND		1	/* sizes need not be powers of two */
#define OPTION_ENTS_IS_BITS	2
#define OPTION_FORCE64		4	/* hashes of 64 bits, always */
#define OPTION_NO_SCALING	8

/* Its own figures for ln 2 and the square of that, and how it halves rates */
#define BLOOM_LN2			0.693147180559945
#define BLOOM_LN2_SQUARED	0.480453013918201
#define BLOOM_TIGHTENING	0.5
#define BLOOM_EXPANSION		2

#define BLOOM_SEED			UINT64_C(0xc6a4a7935bd1e995)

static ForeignHash
redisbloom_hash(uint64_t seed, const uint8_t *bytes, size_t length)
{
	ForeignHash hash;

	hash.a = foreign_murmur64a(bytes, length, BLOOM_SEED);
	hash.b = foreign_murmur64a(bytes, length, hash.a);
	return hash;
}

static ALWAYS_INLINE uint64_t
redisbloom(const ForeignHash *hash, uint64_t i, uint64_t m)
{
	return (hash->a + i * hash->b) % m;
}

FOREIGN_LOOPS(redisbloom)

static const ForeignPlaces redisbloom_places = FOREIGN_PLACES(redisbloom);

static double
bloom_hashes(double bits_per_element)
{
	return ceil(BLOOM_LN2 * bits_per_element);
}

/* Size a layer with this error rate, in a filter with these options. */
static double
size_layer(double n, double error_rate, unsigned options, FilterLayer *layer)
{
	double		bits_per_element = -(log(error_rate) / BLOOM_LN2_SQUARED);

	layer->error_rate = error_rate;
	layer->bits_full = bits_of_double(bits_per_element);
	layer->detail = DETAIL(0, OPTION_NOROUND | OPTION_FORCE64 | options, BLOOM_EXPANSION);
	layer->hashes = (unsigned) bloom_hashes(bits_per_element);
	return floor(n * bits_per_element);
}

static double
redisbloom_size(double n, double error_rate, FilterLayer *layer)
{
	return size_layer(n, error_rate * BLOOM_TIGHTENING, 0, layer);
}

/* No layers follow, so this one has the whole error rate. */
static double
nonscaling_size(double n, double error_rate, FilterLayer *layer)
{
	return size_layer(n, error_rate, OPTION_NO_SCALING, layer);
}

static void
redisbloom_join(const FilterLayer *left, const FilterLayer *right, bool united,
				FilterLayer *joined)
{
	/* neither number is above 2^63 */
	uint64_t	elements = united ? left->multiple + right->multiple :
		smaller(left->multiple, right->multiple);

	joined->multiple = smaller(joined->capacity, elements);
}

static const char *
redisbloom_check_layer(const FilterLayer *before, const FilterLayer *layer)
{
	unsigned	options = DETAIL_OPTIONS(layer->detail);
	unsigned	log_bits = DETAIL_LOG_BITS(layer->detail);
	double		bits_per_element = double_of_bits(layer->bits_full);

	/* all but the size */
	if (before->detail >> 8 != layer->detail >> 8)
		return "layers of different filters";
	if ((options & ~(OPTION_NOROUND | OPTION_ENTS_IS_BITS |
					 OPTION_FORCE64 | OPTION_NO_SCALING)) != 0)
		return "unknown options";
	if ((options & OPTION_FORCE64) == 0)
		return "options without hashes of 64 bits";
	if (log_bits != 0 &&
		(log_bits > 63 || layer->size != UINT64_C(1) << log_bits))
		return "number of bits (n2) out of range";
	if (layer->multiple > layer->capacity)
		return "number of elements exceeds the capacity";
	if (!(bits_per_element > 0 && bits_per_element <= IMAGE_MAX_BITS))
		return "bits per element out of range";
	if (bloom_hashes(bits_per_element) != layer->hashes)
		return "number of hashes is not that of its bits per element";
	if (!(layer->error_rate > 0 && layer->error_rate < 1))
		return "error rate of a layer out of range";
	return NULL;
}

/* The layer that a link of RedisBloom's header describes */
static const char *
parse_link(const uint8_t *link, uint64_t options, uint32_t growth,
		   FilterLayer *layer)
{
	uint32_t	hashes = get32(link + LINK_OFF_HASHES);

	if (hashes < 1 || hashes > FOREIGN_MAX_HASHES)
		return "number of hashes out of range";
	*layer = (FilterLayer)
	{
		.layout = LAYOUT_FOREIGN,
			.hashes = hashes,
			.size = get64(link + LINK_OFF_BITS),
			.capacity = get64(link + LINK_OFF_ENTRIES),
			.error_rate = get_double(link + LINK_OFF_ERROR),
			.bits_full = get64(link + LINK_OFF_BPE),
			.multiple = get64(link + LINK_OFF_SIZE),
			.detail = DETAIL(link[LINK_OFF_N2], options, growth)
	};
	if (layer->size < WORD_BITS || layer->size > IMAGE_MAX_BITS)
		return "number of bits out of range";
	if (get64(link + LINK_OFF_BYTES) != layer->size / 8)
		return "number of bytes is not that of its bits";
	return NULL;
}

static const char *
redisbloom_parse(const ForeignSource *source, ForeignImport *import)
{
	const uint8_t *header;
	RedisBloomChunk chunk;
	uint64_t	at = 0;
	uint64_t	links;
	uint64_t	elements = 0;
	uint64_t	bytes = 0;
	const char *fault = redisbloom_first_chunk(source, &at, &chunk);

	if (fault)
		return fault;
	/* no Bloom filter has a header of this length */
	if (chunk.length == CUCKOO_HEADER)
		return redisbloom_cuckoo_format.parse(source, import);
	import->data = at;
	header = source->bytes + chunk.data;
	import->format = &redisbloom_format;
	if (chunk.length < BLOOM_HEADER)
		return "header is cut short";
	links = get32(header + BLOOM_OFF_LINKS);
	if (links < 1 || links > IMAGE_MAX_LAYERS)
		return "number of layers (nfilters) out of range";
	if (chunk.length != BLOOM_HEADER + links * BLOOM_LINK)
		return "length of the header is not that of its layers";
	if (get32(header + BLOOM_OFF_OPTIONS) > UINT8_MAX)
		return "unknown options";
	import->plan.layers = (int) links;
	for (int i = 0; i < import->plan.layers; i++)
	{
		FilterLayer *layer = &import->plan.layer[i];

		fault = parse_link(header + BLOOM_HEADER + i * BLOOM_LINK,
						   get32(header + BLOOM_OFF_OPTIONS),
						   get32(header + BLOOM_OFF_GROWTH), layer);
		if (fault)
			return fault;
		elements += layer->multiple;
		bytes += layer->size / 8;
	}
	if (elements != get64(header + BLOOM_OFF_SIZE))
		return "number of elements is not the sum of its layers";
	return redisbloom_check_bits(source, at, bytes);
}

/* The chunk of the header, and those of the bits */
static bool
redisbloom_write(Writer *writer, const ForeignFormat *format,
				 const uint8_t *image, const FilterLayer *first)
{
	uint64_t	elements = 0;
	int			layers = image_layers(image);

	for (int i = 0; i < layers; i++)
		elements += image_get_shape(image, i).multiple;
	write_number(writer, 1, 8);
	write_number(writer, BLOOM_HEADER + layers * BLOOM_LINK, 4);
	write_number(writer, elements, 8);
	write_number(writer, layers, 4);
	write_number(writer, DETAIL_OPTIONS(first->detail), 4);
	write_number(writer, DETAIL_GROWTH(first->detail), 4);
	for (int i = 0; i < layers; i++)
	{
		FilterLayer layer = image_get_shape(image, i);

		write_number(writer, layer.size / 8, 8);
		write_number(writer, layer.size, 8);
		write_number(writer, layer.multiple, 8);
		write_number(writer, bits_of_double(layer.error_rate), 8);
		write_number(writer, layer.bits_full, 8);
		write_number(writer, layer.hashes, 4);
		write_number(writer, layer.capacity, 8);
		write_number(writer, DETAIL_LOG_BITS(layer.detail), 1);
	}
	redisbloom_write_bits(writer, image);
	return false;
}

/* What both formats share; a filter's bytes show which one it is */
#define REDISBLOOM_FORMAT(format_name, format_size) \
{ \
	.name = (format_name), \
	.code = 'R', \
	REDISBLOOM_ELEMENTS, \
	.hash = redisbloom_hash, \
	.places = &redisbloom_places, \
	.counted = true, \
	.unit = WORD_BITS, \
	.size = (format_size), \
	.join = redisbloom_join, \
	.check_layer = redisbloom_check_layer, \
	.parse = redisbloom_parse, \
	.import_bits = redisbloom_import_bits, \
	.write = redisbloom_write \
}

const ForeignFormat redisbloom_format =
	REDISBLOOM_FORMAT("redisbloom", redisbloom_size);

const ForeignFormat redisbloom_nonscaling_format =
	REDISBLOOM_FORMAT("redisbloom:nonscaling", nonscaling_size);
