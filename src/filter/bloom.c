/*
 * bloom.c
 *	  Bloom filters of blocks: the layouts block512 and block512x2.
 *
 * A filter begins with one layer.  When that is full, and the filter may grow,
 * we append a layer that is "growth" times larger and takes all new elements
 * (the scheme of Almeida, Baquero, Preguica and Hutchison, "Scalable Bloom
 * Filters", 2007, with the error rates of bloom_sizing.c).  A filter contains
 * an element if one of its layers does; we probe the last layer first, because
 * it is the largest.  An element that an earlier layer contains is not added
 * again.
 *
 * The number of set bits tells how full a layer is.  We update it whenever
 * bits are set.  It depends on the set of elements alone, whereas a count of
 * additions would depend on their order and repetitions.
 */
#include "bloom.h"

#include "bits.h"
#include "block512.h"
#include "sizing.h"

/*
 * Prefetch distance in hashes: enough to hide a cache miss of some 100 ns
 * behind probes of a few ns, and no more than the lines that a core can have
 * in flight.
 */
#define PREFETCH_AHEAD	16

/* The fields of a layer's descriptor that a probe needs */
typedef struct ProbeLayer
{
	const uint8_t *bits;
	uint64_t	size;
	unsigned	hashes;
	bool		second;			/* has an element a second block? */
} ProbeLayer;

static inline ProbeLayer
probe_layer(const uint8_t *image, int i)
{
	const uint8_t *at = image_layer_at(image, i);
	ProbeLayer	layer = {
		.bits = image + get64(at + LAYER_OFF_OFFSET),
		.size = get64(at + LAYER_OFF_SIZE),
		.hashes = at[LAYER_OFF_HASHES],
		.second = layer_blocks((FilterLayout) at[LAYER_OFF_LAYOUT]) > 1
	};

	return layer;
}

static inline bool
layer_contains(const ProbeLayer *layer, uint64_t hash)
{
	const uint8_t *block;

	block = layer->bits + BLOCK_BYTES * first_block(hash, layer->size);
	if (!block_kernel->contains(block, block_word(hash), layer->hashes))
		return false;
	if (!layer->second)
		return true;
	block = layer->bits + BLOCK_BYTES * second_block(hash, layer->size);
	return block_kernel->contains(block, second_word(hash), layer->hashes);
}

/* Set the element's bits, and return how many were not set before. */
static inline unsigned
layer_add(const ProbeLayer *layer, uint64_t hash)
{
	uint8_t    *bits = (uint8_t *) layer->bits;
	uint8_t    *block = bits + BLOCK_BYTES * first_block(hash, layer->size);
	unsigned	added = block_kernel->add(block, block_word(hash),
										  layer->hashes);

	if (layer->second)
	{
		block = bits + BLOCK_BYTES * second_block(hash, layer->size);
		added += block_kernel->add(block, second_word(hash), layer->hashes);
	}
	return added;
}

/*
 * Prefetch the places of a hash.  Always inline: gcc considers a function that
 * only prefetches to be without effect, and drops its calls.
 */
static ALWAYS_INLINE void
layer_prefetch(const ProbeLayer *layer, uint64_t hash)
{
	__builtin_prefetch(layer->bits +
					   BLOCK_BYTES * first_block(hash, layer->size));
	if (layer->second)
		__builtin_prefetch(layer->bits +
						   BLOCK_BYTES * second_block(hash, layer->size));
}

bool
bloom_contains(const uint8_t *image, uint64_t hash)
{
	for (int i = image_layers(image) - 1; i >= 0; i--)
	{
		ProbeLayer	layer = probe_layer(image, i);

		if (layer_contains(&layer, hash))
			return true;
	}
	return false;
}

unsigned
bloom_slices(const uint8_t *header)
{
	unsigned	slices = 0;

	for (int i = 0; i < image_layers(header); i++)
	{
		ProbeLayer	layer = probe_layer(header, i);

		slices += layer.second ? 2 : 1;
	}
	return slices;
}

bool
bloom_contains_sliced(const uint8_t *header, uint64_t hash,
					  FilterFetch fetch, void *from)
{
	for (int i = image_layers(header) - 1; i >= 0; i--)
	{
		ProbeLayer	layer = probe_layer(header, i);
		uint64_t	offset = layer.bits - header;
		uint64_t	place;

		place = offset + BLOCK_BYTES * first_block(hash, layer.size);
		if (!block_kernel->contains(fetch(from, place, BLOCK_BYTES),
									block_word(hash), layer.hashes))
			continue;
		if (!layer.second)
			return true;
		place = offset + BLOCK_BYTES * second_block(hash, layer.size);
		if (block_kernel->contains(fetch(from, place, BLOCK_BYTES),
								   second_word(hash), layer.hashes))
			return true;
	}
	return false;
}

void
bloom_contains_batch(const uint8_t *image, const uint64_t *hashes,
					 size_t count, bool *found)
{
	int			layers = image_layers(image);
	ProbeLayer	last = probe_layer(image, layers - 1);

	for (size_t i = 0; i < count && i < PREFETCH_AHEAD; i++)
		layer_prefetch(&last, hashes[i]);
	for (size_t i = 0; i < count; i++)
	{
		if (i + PREFETCH_AHEAD < count)
			layer_prefetch(&last, hashes[i + PREFETCH_AHEAD]);
		found[i] = layers == 1 ? layer_contains(&last, hashes[i]) :
			bloom_contains(image, hashes[i]);
	}
}

size_t
bloom_add_batch(uint8_t *image, const uint64_t *hashes, size_t count)
{
	int			last = image_layers(image) - 1;
	uint8_t    *descriptor = image_layer_at(image, last);
	uint64_t	bits_set = get64(descriptor + LAYER_OFF_BITS_SET);
	uint64_t	bits_full = get64(descriptor + LAYER_OFF_BITS_FULL);
	ProbeLayer	layer = probe_layer(image, last);
	size_t		i;

	for (i = 0; i < count && i < PREFETCH_AHEAD; i++)
		layer_prefetch(&layer, hashes[i]);
	for (i = 0; i < count; i++)
	{
		if (i + PREFETCH_AHEAD < count)
			layer_prefetch(&layer, hashes[i + PREFETCH_AHEAD]);
		if (last > 0 && bloom_contains(image, hashes[i]))
			continue;
		if (bits_full != 0 && bits_set >= bits_full)
		{
			if (layer_contains(&layer, hashes[i]))
				continue;
			break;
		}
		bits_set += layer_add(&layer, hashes[i]);
	}
	put64(descriptor + LAYER_OFF_BITS_SET, bits_set);
	return i;
}

bool
bloom_plan_layer(const FilterParams *params, const FilterLayer *before,
				 int count, FilterLayer *layer)
{
	uint64_t	capacity = params->capacity;

	if (count > 0)
	{
		capacity = before[count - 1].capacity;
		if (capacity > IMAGE_MAX_BITS)
			return false;
		capacity *= params->growth;
	}
	return layer_plan(capacity, params->error_rate, params->growth > 0, count,
					  IMAGE_MAX_BITS, layer);
}

double
bloom_cardinality(const uint8_t *image)
{
	FilterLayer layers[IMAGE_MAX_LAYERS];
	int			count = image_layers(image);

	for (int i = 0; i < count; i++)
		image_get_layer(image, i, &layers[i]);
	return layers_cardinality(layers, count);
}

double
bloom_error_rate(const uint8_t *image)
{
	double		right = 1;

	for (int i = 0; i < image_layers(image); i++)
	{
		FilterLayer layer;

		image_get_layer(image, i, &layer);
		right *= 1 - layer_error_rate(&layer);
	}
	return 1 - right;
}

/* ------------------------------------------------------------------------
 * Bytes from outside
 * ------------------------------------------------------------------------ */

const char *
bloom_check_image(const uint8_t *image)
{
	if (image_capacity(image) == 0 || image_error_rate(image) == 0)
		return "filter without capacity or error rate";
	return NULL;
}

const char *
bloom_check_layer(const uint8_t *image, int i, const FilterLayer *layer)
{
	(void) i;
	if (layer->hashes < 1 || layer->hashes > BLOCK_MAX_HASHES)
		return "number of hashes out of range";
	/* the two blocks of an element always differ */
	if (layer->size < layer_blocks(layer->layout) ||
		layer->size > IMAGE_MAX_BITS / BLOCK_BITS)
		return "number of blocks out of range";
	if (layer->capacity == 0)
		return "layer without capacity";
	/* a share of the filter's; false for NaN */
	if (!(layer->error_rate > 0 &&
		  layer->error_rate <= image_error_rate(image)))
		return "error rate of a layer out of range";
	if (layer->multiple != 0)
		return "multiple in a layer of a Bloom filter";
	return NULL;
}

const char *
bloom_check_bits(const uint8_t *image, int i, const FilterLayer *layer)
{
	return bits_check(image, i, layer, bloom_layer_bits(layer));
}
