/*
 * redisbloom_cuckoo.c
 *	  RedisBloom's cuckoo filters, which may have layers: lookups, counts and removals.
 *
 * An element is a byte from 1 to 255, its fingerprint, in one of two buckets of a layer.
 * Here, a layer has the other system's bytes as its bits: "hashes" is the number of slots
 * of a bucket, "multiple" that of the entries.  Elements are not added: for one more
 * entry, others may have to move, or a layer may have to be made.
 *
 * Numbers of buckets are powers of two, and those of later layers multiples of those of
 * earlier ones, so that elements that a later layer cannot tell apart are one to all
 * earlier layers, too.  So removing the last layer's entry, as RedisBloom does, loses no
 * other element.  Other numbers of buckets are refused.
 *
 * Sources: src/cuckoo.c and src/cf.c of RedisBloom; Fan, Andersen, Kaminsky and
 * Mitzenmacher, "Cuckoo Filter: Practically Better Than Bloom", 2014.
 */
#include "redisbloom.h"

#include <math.h>

#include "../filter.h"

/* Offsets in the header */
#define CUCKOO_OFF_ITEMS	0
#define CUCKOO_OFF_BUCKETS	8
#define CUCKOO_OFF_DELETES	16
#define CUCKOO_OFF_LAYERS	24
#define CUCKOO_OFF_SLOTS	32
#define CUCKOO_OFF_TRIES	34
#define CUCKOO_OFF_GROWTH	36

/* Fingerprints, and what leads from one of an element's buckets to the other */
#define FINGERPRINTS		255
#define ALTERNATE			UINT64_C(0x5bd1e995)

/* A layer's detail: the header's limit of moves, and growth */
#define DETAIL_TRIES(detail)	((uint16_t) (detail))
#define DETAIL_GROWTH(detail)	((uint16_t) ((detail) >> 16))
#define DETAIL(tries, growth)	((uint64_t) (tries) | (uint64_t) (growth) << 16)
#define DETAIL_MOST				UINT32_MAX

/* An element's places in a layer: numbers of bytes, from the layer's first */
typedef struct Places
{
	uint64_t	bucket[2];
	int			buckets;		/* 1 if both are the same */
	unsigned	slots;			/* in each */
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

	/* damage on disk may make answers wrong, but must not divide by 0 */
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

/*
 * The entries that match in layer i, up to "most"; *slot is the first.  Only if some
 * match is *slot set.
 */
static unsigned
layer_matches(const uint8_t *image, int i, uint64_t hash, unsigned most,
			  uint8_t **slot)
{
	Places		places = places_of(image, i, hash);
	unsigned	matches = 0;

	for (int b = 0; b < places.buckets; b++)
	{
		uint8_t    *bucket = image_layer_bits(image, i) + places.bucket[b];

		for (unsigned s = 0; s < places.slots && matches < most; s++)
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
		matches += layer_matches(image, i, hash, 2 * FOREIGN_MAX_HASHES, &slot);
	return matches;
}

/* The first layer's bits_full has the number of removals. */
static FilterRemoval
cuckoo_remove(uint8_t *image, uint64_t hash)
{
	for (int i = image_layers(image) - 1; i >= 0; i--)
	{
		FilterLayer layer = image_get_layer(image, i);
		FilterLayer first;
		uint8_t    *slot;

		if (layer_matches(image, i, hash, 1, &slot) == 0)
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

/* Each entry in the two buckets has another fingerprint. */
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
		layer->detail > DETAIL_MOST)
		return "layers of different filters";
	if (buckets == 0 || (buckets & (buckets - 1)) != 0 ||
		layer->size != buckets * layer->hashes * 8)
		return "number of buckets is not a power of two";
	if (before != layer &&
		layer->size != before->size * DETAIL_GROWTH(layer->detail))
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
cuckoo_parse(const ForeignSource *source, ForeignImport *import)
{
	RedisBloomChunk chunk;
	const uint8_t *header;
	uint64_t	layers;
	uint64_t	buckets;
	unsigned	slots;
	unsigned	growth;
	uint64_t	bytes = 0;
	const char *fault = redisbloom_first_chunk(source, &import->data, &chunk);

	if (fault)
		return fault;
	if (chunk.length != CUCKOO_HEADER)
		return "length of the header is not that of a cuckoo filter";
	import->format = &redisbloom_cuckoo_format;
	header = source->bytes + chunk.data;
	layers = get64(header + CUCKOO_OFF_LAYERS);
	buckets = get64(header + CUCKOO_OFF_BUCKETS);
	slots = get16(header + CUCKOO_OFF_SLOTS);
	growth = get16(header + CUCKOO_OFF_GROWTH);
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
					.detail = DETAIL(get16(header + CUCKOO_OFF_TRIES), growth)
			};
		bytes += buckets * slots;
		buckets *= growth;
	}
	fault = redisbloom_check_bits(source, import->data, bytes);

	/*
	 * the entries are counted when the bits are there: until then, all are
	 * the first's
	 */
	import->plan.layer[0].multiple = get64(header + CUCKOO_OFF_ITEMS);
	return fault;
}

static void
cuckoo_import_bits(const ForeignSource *source, const ForeignImport *import,
				   uint8_t *image)
{
	uint64_t	elements = import->plan.layer[0].multiple;

	redisbloom_import_bits(source, import, image);

	/*
	 * what the header has too many or too few stays with the first, to be
	 * refused
	 */
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
	uint64_t	elements = 0;

	for (int i = 0; i < image_layers(image); i++)
		elements += image_get_shape(image, i).multiple;
	write_number(writer, 1, 8);
	write_number(writer, CUCKOO_HEADER, 4);
	write_number(writer, elements, 8);
	write_number(writer, first->capacity / first->hashes, 8);
	write_number(writer, first->bits_full, 8);
	write_number(writer, image_layers(image), 8);
	write_number(writer, first->hashes, 2);
	write_number(writer, DETAIL_TRIES(first->detail), 2);
	write_number(writer, DETAIL_GROWTH(first->detail), 2);
	redisbloom_write_bits(writer, image);
	return false;
}

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
	.parse = cuckoo_parse,
	.import_bits = cuckoo_import_bits,
	.write = cuckoo_write
};
