/*
 * redisbloom.c
 *	  RedisBloom's Bloom filters and cuckoo filters; both may have layers.
 *
 * Bytes: chunks, the replies of BF.SCANDUMP or CF.SCANDUMP.  A chunk is an iterator (8 bytes), a
 * length (4 bytes), and data; little-endian.  The data of the first chunk is the header; its
 * length shows whether it is a Bloom filter or a cuckoo filter.
 *
 * A Bloom filter counts its elements, so a layer is full at its capacity.  A layer's bits_full
 * stores another number: the bits per element, as a double.
 *
 * In a cuckoo filter, an element is stored as its fingerprint, a byte from 1 to 255, in one of
 * two buckets of a layer.  A layer's bits are RedisBloom's bytes, "hashes" is the number of slots
 * of a bucket, and "multiple" the number of entries.  No elements are added: one more entry
 * might need moves of other entries, or another layer.
 *
 * The numbers of buckets are powers of two, and each is a multiple of those of earlier layers.
 * So elements that a later layer cannot distinguish are the same to all earlier layers, and
 * removing an entry of the last layer, as RedisBloom does, loses no other element.  We refuse
 * filters with other numbers of buckets.
 *
 * Sources: deps/bloom/bloom.c, src/sb.c, src/cuckoo.c and src/cf.c of RedisBloom; Fan,
 * Andersen, Kaminsky and Mitzenmacher, "Cuckoo Filter: Practically Better Than Bloom", 2014.
 */
#include "common.h"

#include <math.h>

#include "places.h"

/* In Redis, all elements are strings. */
#define REDISBLOOM_ELEMENTS \
	.forms = FORM(TEXT) | FORM(INT4) | FORM(INT8) | FORM(BYTEA), \
	.integers = INTEGERS_DECIMAL

/* ---- Chunks ---- */

#define CHUNK_HEADER		12
#define CHUNK_MAX			((uint64_t) 16 << 20)	/* RedisBloom's limit */

/* One reply of BF.SCANDUMP or CF.SCANDUMP */
typedef struct RedisBloomChunk
{
	uint64_t	iterator;
	uint64_t	length;
	uint64_t	data;			/* where it begins in the source */
} RedisBloomChunk;

/* Get the chunk that begins at *at, and advance *at to its end.  Return NULL or the fault. */
static const char *
next_chunk(const ForeignSource *source, uint64_t *at, RedisBloomChunk *chunk)
{
	if (source->length - *at < CHUNK_HEADER)
		return "chunk is cut short";
	chunk->iterator = get64(source->bytes + *at);
	chunk->length = get32(source->bytes + *at + 8);
	chunk->data = *at + CHUNK_HEADER;
	if (source->length - chunk->data < chunk->length)
		return "chunk is cut short";
	*at = chunk->data + chunk->length;
	return NULL;
}

/* Check that the chunks from "at" on have "bytes" bytes of data.  Return NULL or the fault. */
static const char *
redisbloom_check_bits(const ForeignSource *source, uint64_t at, uint64_t bytes)
{
	RedisBloomChunk chunk;
	uint64_t	read = 0;

	/* each iterator is 1 plus the number of bytes up to the chunk's end */
	while (at < source->length)
	{
		const char *fault = next_chunk(source, &at, &chunk);

		if (fault)
			return fault;
		read += chunk.length;
		if (chunk.length == 0 || chunk.iterator != 1 + read)
			return "iterator of a chunk is not where it ends";
	}
	if (read < bytes)
		return "chunks are missing";
	if (read > bytes)
		return "bytes after the last layer";
	return NULL;
}

/* Copy the bits of the chunks from import->data on, which redisbloom_check_bits() accepts. */
static void
redisbloom_import_bits(const ForeignSource *source,
					   const ForeignImport *import, uint8_t *image)
{
	uint64_t	at = import->data;
	uint64_t	done = 0;		/* of the layer */
	int			i = 0;
	RedisBloomChunk chunk;

	while (at < source->length && next_chunk(source, &at, &chunk) == NULL)
		while (chunk.length > 0)
		{
			uint64_t	bytes = import->plan.layer[i].size / 8;
			uint64_t	some = smaller(chunk.length, bytes - done);

			copy_bits(image_layer_bits(image, i) + done,
					  source->bytes + chunk.data, some, BITS_AS_OURS);
			chunk.data += some;
			chunk.length -= some;
			done += some;
			if (done == bytes)
			{
				i++;
				done = 0;
			}
		}
}

/* Begin the header's chunk, of "length" bytes; both headers begin with the number of elements. */
static void
write_header(Writer *writer, const uint8_t *image, uint64_t length)
{
	uint64_t	elements = 0;

	for (int i = 0; i < image_layers(image); i++)
		elements += image_get_shape(image, i).multiple;
	write_number(writer, 1, 8);
	write_number(writer, length, 4);
	write_number(writer, elements, 8);
}

/* Write a chunk for each layer, or for each CHUNK_MAX bytes of it. */
static void
redisbloom_write_bits(Writer *writer, const uint8_t *image)
{
	uint64_t	written = 0;

	for (int i = 0; i < image_layers(image); i++)
	{
		const uint8_t *bits = image_layer_bits(image, i);
		FilterLayer layer = image_get_shape(image, i);

		for (uint64_t left = layer.size / 8; left > 0;)
		{
			uint64_t	some = smaller(left, CHUNK_MAX);

			written += some;
			write_number(writer, 1 + written, 8);
			write_number(writer, some, 4);
			write_bytes(writer, bits, some, BITS_AS_OURS);
			bits += some;
			left -= some;
		}
	}
}

/* ---- Cuckoo filters ---- */

#define CUCKOO_HEADER		38

/* Offsets in the header */
#define CUCKOO_OFF_ITEMS	0
#define CUCKOO_OFF_BUCKETS	8
#define CUCKOO_OFF_DELETES	16
#define CUCKOO_OFF_LAYERS	24
#define CUCKOO_OFF_SLOTS	32
#define CUCKOO_OFF_TRIES	34
#define CUCKOO_OFF_GROWTH	36

/* Number of fingerprints; hash ^ fingerprint * ALTERNATE chooses an element's second bucket */
#define FINGERPRINTS		255
#define ALTERNATE			UINT64_C(0x5bd1e995)

/* A layer's detail: two fields of the header, the maximum of moves and the growth */
#define CUCKOO_DETAIL_TRIES(detail)	((uint16_t) (detail))
#define CUCKOO_DETAIL_GROWTH(detail)	((uint16_t) ((detail) >> 16))
#define CUCKOO_DETAIL(tries, growth)	((uint64_t) (tries) | (uint64_t) (growth) << 16)
#define CUCKOO_DETAIL_MOST				UINT32_MAX

/* An element's buckets in a layer, as offsets in its bytes */
typedef struct Places
{
	uint64_t	bucket[2];
	int			buckets;		/* 1 if both are the same one */
	unsigned	slots;			/* of a bucket */
	uint8_t		fingerprint;
} Places;

static ForeignHash
cuckoo_hash(uint64_t seed, const uint8_t *bytes, size_t length)
{
	ForeignHash hash = {.a = foreign_murmur64a(bytes, length, 0)};

	return hash;
}

static Places
places_of(const uint8_t *header, int i, uint64_t hash)
{
	const uint8_t *at = image_layer_at(header, i);
	Places		places = {
		.slots = at[LAYER_OFF_HASHES],
		.fingerprint = (uint8_t) (1 + hash % FINGERPRINTS)
	};
	uint64_t	other = hash ^ places.fingerprint * ALTERNATE;
	uint64_t	buckets = 0;

	/* after damage on disk answers may be wrong, but never divide by 0 */
	if (places.slots > 0)
		buckets = get64(at + LAYER_OFF_SIZE) / 8 / places.slots;
	if (buckets > 0)
	{
		places.bucket[0] = hash % buckets * places.slots;
		places.bucket[1] = other % buckets * places.slots;
		places.buckets = places.bucket[0] == places.bucket[1] ? 1 : 2;
	}
	return places;
}

/* Return the number of entries in layer i that match, and set *slot to the first one. */
static unsigned
layer_matches(const uint8_t *image, int i, uint64_t hash, uint8_t **slot)
{
	Places		places = places_of(image, i, hash);
	unsigned	matches = 0;

	for (int b = 0; b < places.buckets; b++)
	{
		uint8_t    *bucket = image_layer_bits(image, i) + places.bucket[b];

		for (unsigned s = 0; s < places.slots; s++)
			if (bucket[s] == places.fingerprint && matches++ == 0)
				*slot = &bucket[s];
	}
	return matches;
}

static bool
layers_contain(const uint8_t *image, uint64_t hash, FilterFetch fetch,
			   void *from)
{
	for (int i = image_layers(image) - 1; i >= 0; i--)
	{
		Places		places = places_of(image, i, hash);
		ProbeLayer	layer = probe_layer(image, i);

		layer.fetch = fetch;
		layer.from = from;
		for (int b = 0; b < places.buckets; b++)
			for (unsigned s = 0; s < places.slots; s += SLICE_MAX_BYTES)
			{
				uint32_t	some = smaller(places.slots - s, SLICE_MAX_BYTES);

				if (memchr(layer_slice(&layer, places.bucket[b] + s, some),
						   places.fingerprint, some))
					return true;
			}
	}
	return false;
}

static void
cuckoo_contains(const uint8_t *image, const ForeignHash *hashes, size_t count,
				bool *found, FilterFetch fetch, void *from)
{
	for (size_t i = 0; i < count; i++)
		found[i] = layers_contain(image, hashes[i].a, fetch, from);
}

static unsigned
cuckoo_count(const uint8_t *image, uint64_t hash)
{
	unsigned	matches = 0;
	uint8_t    *slot;

	for (int i = 0; i < image_layers(image); i++)
		matches += layer_matches(image, i, hash, &slot);
	return matches;
}

/* Remove an element once; bits_full of the first layer is the number of removals. */
static FilterRemoval
cuckoo_remove(uint8_t *image, uint64_t hash)
{
	for (int i = image_layers(image) - 1; i >= 0; i--)
	{
		FilterLayer layer = image_get_layer(image, i);
		FilterLayer first;
		uint8_t    *slot;

		if (layer_matches(image, i, hash, &slot) == 0)
			continue;
		layer.bits_set -= popcount64(*slot);
		layer.multiple--;
		image_put_layer(image, i, &layer);
		*slot = 0;
		first = image_get_layer(image, 0);
		first.bits_full++;
		image_put_layer(image, 0, &first);
		return FILTER_REMOVED;
	}
	return FILTER_ABSENT;
}

static const ForeignPlaces cuckoo_places = {
	.contains = cuckoo_contains,
	.count = cuckoo_count,
	.remove = cuckoo_remove
};

static double
cuckoo_layer_elements(const FilterLayer *layer)
{
	return (double) layer->multiple;
}

/* Return the chance that an absent element's two buckets have an entry with its fingerprint. */
static double
cuckoo_error_rate(const FilterLayer *layer, double elements)
{
	double		entries = 2 * layer->hashes * elements / (layer->size / 8.0);

	return -expm1(entries * log1p(-1.0 / FINGERPRINTS));
}

static uint64_t
layer_entries(const uint8_t *bytes, uint64_t count)
{
	uint64_t	entries = 0;

	for (uint64_t i = 0; i < count; i++)
	{
		if (i % INTERRUPT_BYTES == 0)
			filter_check_interrupts();
		entries += bytes[i] != 0;
	}
	return entries;
}

static const char *
cuckoo_check_layer(const FilterLayer *before, const FilterLayer *layer)
{
	uint64_t	buckets = layer->size / 8 / layer->hashes;

	if (before->detail != layer->detail || before->hashes != layer->hashes ||
		layer->detail > CUCKOO_DETAIL_MOST)
		return "layers of different filters";
	if (buckets == 0 || (buckets & (buckets - 1)) != 0 ||
		layer->size != buckets * layer->hashes * 8)
		return "number of buckets is not a power of two";
	if (before != layer &&
		layer->size != before->size * CUCKOO_DETAIL_GROWTH(layer->detail))
		return "size of a layer is not that of its growth";
	if (layer->capacity != buckets * layer->hashes)
		return "capacity is not the number of slots";
	if (layer->error_rate != 0)
		return "error rate of a layer out of range";
	if (before != layer && layer->bits_full != 0)
		return "number of removals in a later layer";
	return NULL;
}

static const char *
cuckoo_check_bits(const FilterLayer *layer, const uint8_t *bits)
{
	if (layer_entries(bits, layer->size / 8) != layer->multiple)
		return "number of elements is not that of the used slots";
	return NULL;
}

static const char *
parse_cuckoo(const ForeignSource *source, const uint8_t *header,
			 ForeignImport *import)
{
	uint64_t	layers = get64(header + CUCKOO_OFF_LAYERS);
	uint64_t	buckets = get64(header + CUCKOO_OFF_BUCKETS);
	unsigned	slots = get16(header + CUCKOO_OFF_SLOTS);
	unsigned	growth = get16(header + CUCKOO_OFF_GROWTH);
	uint64_t	bytes = 0;
	const char *fault;

	import->format = &redisbloom_cuckoo_format;
	if (layers < 1 || layers > IMAGE_MAX_LAYERS)
		return "number of layers (numFilters) out of range";
	if (slots < 1 || slots > FOREIGN_MAX_HASHES)
		return "slots of a bucket (bucketSize) out of range";
	import->plan.layers = (int) layers;
	for (int i = 0; i < import->plan.layers; i++)
	{
		if (buckets < 1 || buckets > IMAGE_MAX_BITS / 8 / slots)
			return "number of buckets out of range";
		import->plan.layer[i] = (FilterLayer)
			{
				.layout = LAYOUT_FOREIGN,
					.hashes = slots,
					.size = buckets * slots * 8,
					.capacity = buckets * slots,
					.bits_full = i == 0 ? get64(header + CUCKOO_OFF_DELETES) : 0,
					.detail = CUCKOO_DETAIL(get16(header + CUCKOO_OFF_TRIES), growth)
			};
		bytes += buckets * slots;
		buckets *= growth;
	}
	fault = redisbloom_check_bits(source, import->data, bytes);

	/* the sum of all layers; cuckoo_import_bits() divides it */
	import->plan.layer[0].multiple = get64(header + CUCKOO_OFF_ITEMS);
	return fault;
}

static void
cuckoo_import_bits(const ForeignSource *source, const ForeignImport *import,
				   uint8_t *image)
{
	uint64_t	elements = import->plan.layer[0].multiple;

	redisbloom_import_bits(source, import, image);

	/* the first layer gets the rest; cuckoo_check_bits() detects a wrong sum */
	for (int i = import->plan.layers - 1; i >= 0; i--)
	{
		FilterLayer layer = image_get_layer(image, i);

		layer.multiple = i == 0 ? elements :
			layer_entries(image_layer_bits(image, i), layer.size / 8);
		elements -= layer.multiple;
		image_put_layer(image, i, &layer);
	}
}

static bool
cuckoo_write(Writer *writer, const ForeignFormat *format, const uint8_t *image,
			 const FilterLayer *first)
{
	write_header(writer, image, CUCKOO_HEADER);
	write_number(writer, first->capacity / first->hashes, 8);
	write_number(writer, first->bits_full, 8);
	write_number(writer, image_layers(image), 8);
	write_number(writer, first->hashes, 2);
	write_number(writer, CUCKOO_DETAIL_TRIES(first->detail), 2);
	write_number(writer, CUCKOO_DETAIL_GROWTH(first->detail), 2);
	redisbloom_write_bits(writer, image);
	return false;
}

/* ---- Bloom filters ---- */

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

/* A layer's detail: its field n2, and the header's options and growth */
#define DETAIL_LOG_BITS(detail)	((unsigned) ((detail) & 0xff))
#define DETAIL_OPTIONS(detail)	((unsigned) ((detail) >> 8 & 0xff))
#define DETAIL_GROWTH(detail)	((uint32_t) ((detail) >> 16))
#define DETAIL(log_bits, options, growth) \
	((uint64_t) (log_bits) | (uint64_t) (options) << 8 | (uint64_t) (growth) << 16)

/* Options */
#define OPTION_NOROUND		1	/* sizes need not be powers of two */
#define OPTION_ENTS_IS_BITS	2
#define OPTION_FORCE64		4	/* hashes always have 64 bits */
#define OPTION_NO_SCALING	8

/* RedisBloom's constants: ln 2, its square, the error rate's factor and growth of a new layer */
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

FOREIGN_PLACES(static, redisbloom, image_layers(image), bits_contain, bits_add)

static double
bloom_hashes(double bits_per_element)
{
	return ceil(BLOOM_LN2 * bits_per_element);
}

/* Set the fields of a layer with this error rate and these options; return its bits. */
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

/* No layer follows, so this layer has the whole error rate. */
static double
nonscaling_size(double n, double error_rate, FilterLayer *layer)
{
	return size_layer(n, error_rate, OPTION_NO_SCALING, layer);
}

static void
redisbloom_join(const FilterLayer *left, const FilterLayer *right, bool united,
				FilterLayer *joined)
{
	/* both numbers are below 2^63, so their sum does not overflow */
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

	/* options and growth are those of the filter */
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

/* Set *layer as a link of RedisBloom's header describes it.  Return NULL or the fault. */
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
parse_bloom(const ForeignSource *source, const uint8_t *header,
			uint64_t length, ForeignImport *import)
{
	uint64_t	links;
	uint64_t	elements = 0;
	uint64_t	bytes = 0;
	const char *fault;

	import->format = &redisbloom_format;
	if (length < BLOOM_HEADER)
		return "header is cut short";
	links = get32(header + BLOOM_OFF_LINKS);
	if (links < 1 || links > IMAGE_MAX_LAYERS)
		return "number of layers (nfilters) out of range";
	if (length != BLOOM_HEADER + links * BLOOM_LINK)
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
	return redisbloom_check_bits(source, import->data, bytes);
}

/* Write the chunk of the header, and the chunks of the bits. */
static bool
redisbloom_write(Writer *writer, const ForeignFormat *format,
				 const uint8_t *image, const FilterLayer *first)
{
	int			layers = image_layers(image);

	write_header(writer, image, BLOOM_HEADER + layers * BLOOM_LINK);
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

/* Parse a Bloom or a cuckoo filter: no Bloom filter's header has CUCKOO_HEADER bytes. */
static const char *
redisbloom_parse(const ForeignSource *source, ForeignImport *import)
{
	RedisBloomChunk chunk;
	const char *fault = next_chunk(source, &import->data, &chunk);
	const uint8_t *header;

	if (fault)
		return fault;
	header = source->bytes + chunk.data;
	if (chunk.iterator != 1)
		return "iterator of the first chunk is not 1";
	if (chunk.length == CUCKOO_HEADER)
		return parse_cuckoo(source, header, import);
	if (source->format == &redisbloom_cuckoo_format)
		return "length of the header is not that of a cuckoo filter";
	return parse_bloom(source, header, chunk.length, import);
}

/* Both formats of Bloom filters; they differ only in the filters that we make */
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

const ForeignFormat redisbloom_cuckoo_format = {
	.name = "redisbloom:cuckoo",
	.code = 'C',
	REDISBLOOM_ELEMENTS,
	.hash = cuckoo_hash,
	.places = &cuckoo_places,
	.counted = true,
	.cuckoo = true,
	.unit = 8,
	.layer_elements = cuckoo_layer_elements,
	.error_rate = cuckoo_error_rate,
	.check_layer = cuckoo_check_layer,
	.check_bits = cuckoo_check_bits,
	.parse = redisbloom_parse,
	.import_bits = cuckoo_import_bits,
	.write = cuckoo_write
};
