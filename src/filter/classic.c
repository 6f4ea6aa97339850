/*
 * classic.c
 *	  The layout classic: one layer of any number of bits.
 *
 * Such a filter is made for bits, not for a capacity and error rate: it is
 * never full, and does not grow.
 */
#include "classic.h"

#include <math.h>

#include "bits.h"
#include "sizing.h"

/* Prefetch distance in hashes, as in bloom.c */
#define PREFETCH_AHEAD	16

/* The one layer, as a probe reads it from its descriptor */
typedef struct ClassicLayer
{
	uint8_t    *bits;
	uint64_t	m;
	unsigned	k;
} ClassicLayer;

static inline ClassicLayer
classic_layer(const uint8_t *image)
{
	const uint8_t *at = image_layer_at(image, 0);
	ClassicLayer layer = {
		.bits = (uint8_t *) image + get64(at + LAYER_OFF_OFFSET),
		.m = get64(at + LAYER_OFF_SIZE),
		.k = at[LAYER_OFF_HASHES]
	};

	return layer;
}

/* Always inline, as layer_prefetch() in bloom.c */
static ALWAYS_INLINE void
layer_prefetch(const ClassicLayer *layer, uint64_t hash)
{
	uint64_t	step = classic_step(hash);

	for (unsigned k = layer->k; k > 0; k--)
	{
		__builtin_prefetch(layer->bits + mulhi64(hash, layer->m) / 8);
		classic_next(&hash, &step);
	}
}

bool
classic_plan_layer(uint64_t m, unsigned k, FilterLayer *layer)
{
	if (m > IMAGE_MAX_BITS)
		return false;
	memset(layer, 0, sizeof(*layer));
	layer->layout = LAYOUT_CLASSIC;
	layer->size = m;
	layer->hashes = k;
	return true;
}

uint64_t
classic_layer_bits(const FilterLayer *layer)
{
	return layer->size;
}

bool
classic_contains(const uint8_t *image, uint64_t hash)
{
	ClassicLayer layer = classic_layer(image);

	return classic_bits_contain(layer.bits, layer.m, layer.k, hash);
}

void
classic_contains_batch(const uint8_t *image, const uint64_t *hashes,
					   size_t count, bool *found)
{
	ClassicLayer layer = classic_layer(image);

	for (size_t i = 0; i < count && i < PREFETCH_AHEAD; i++)
		layer_prefetch(&layer, hashes[i]);
	for (size_t i = 0; i < count; i++)
	{
		if (i + PREFETCH_AHEAD < count)
			layer_prefetch(&layer, hashes[i + PREFETCH_AHEAD]);
		found[i] = classic_bits_contain(layer.bits, layer.m, layer.k,
										hashes[i]);
	}
}

/* Each bit may be in another slice. */
unsigned
classic_slices(const uint8_t *header)
{
	return classic_layer(header).k;
}

/* classic_bits_contain() with each byte fetched */
bool
classic_contains_sliced(const uint8_t *header, uint64_t hash,
						FilterFetch fetch, void *from)
{
	ClassicLayer layer = classic_layer(header);
	uint64_t	offset = layer.bits - header;
	uint64_t	step = classic_step(hash);

	for (unsigned k = layer.k; k > 0; k--)
	{
		uint64_t	place = mulhi64(hash, layer.m);

		if (((*fetch(from, offset + place / 8, 1) >> (place % 8)) & 1) == 0)
			return false;
		classic_next(&hash, &step);
	}
	return true;
}

size_t
classic_add_batch(uint8_t *image, const uint64_t *hashes, size_t count)
{
	ClassicLayer layer = classic_layer(image);
	uint8_t    *bits_set = image_layer_at(image, 0) + LAYER_OFF_BITS_SET;
	uint64_t	added = 0;

	for (size_t i = 0; i < count && i < PREFETCH_AHEAD; i++)
		layer_prefetch(&layer, hashes[i]);
	for (size_t i = 0; i < count; i++)
	{
		if (i + PREFETCH_AHEAD < count)
			layer_prefetch(&layer, hashes[i + PREFETCH_AHEAD]);
		added += classic_bits_add(layer.bits, layer.m, layer.k, hashes[i]);
	}
	put64(bits_set, get64(bits_set) + added);
	return count;
}

double
classic_layer_cardinality(const FilterLayer *layer)
{
	/* log of the expected share of clear bits that each element leaves clear */
	double		log_spared = layer->hashes * log1p(-1.0 / layer->size);

	return elements_from_bits((double) layer->size, (double) layer->bits_set,
							  log_spared);
}

double
classic_cardinality(const uint8_t *image)
{
	FilterLayer layer;

	image_get_layer(image, 0, &layer);
	return classic_layer_cardinality(&layer);
}

/* A probe may read any k bits, so the share of set bits is all that counts. */
double
classic_error_rate(const uint8_t *image)
{
	FilterLayer layer;

	image_get_layer(image, 0, &layer);
	return pow((double) layer.bits_set / layer.size, layer.hashes);
}

const char *
classic_check_image(const uint8_t *image)
{
	if (image_capacity(image) != 0 || image_error_rate(image) != 0)
		return "classic filter with a capacity or error rate";
	return NULL;
}

const char *
classic_check_layer(const uint8_t *image, int i, const FilterLayer *layer)
{
	if (layer->hashes < 1 || layer->hashes > CLASSIC_MAX_HASHES)
		return "number of hashes out of range";
	if (layer->size < CLASSIC_MIN_BITS || layer->size > IMAGE_MAX_BITS)
		return "number of bits out of range";
	if (layer->capacity != 0 || layer->bits_full != 0 ||
		get64(image_layer_at(image, i) + LAYER_OFF_ERROR_RATE) != 0)
		return "classic layer with a capacity or error rate";
	if (image_layers(image) != 1 || image_growth(image) != 0)
		return "classic filter with several layers";
	if (layer->multiple != 0)
		return "multiple in a layer of a Bloom filter";
	return NULL;
}

const char *
classic_check_bits(const uint8_t *image, int i, const FilterLayer *layer)
{
	return bits_check(image, i, layer, classic_layer_bits(layer));
}
