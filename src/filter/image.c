/*
 * image.c
 *	  Read and write the fields of an image; see image.h.
 */
#include "image.h"

void		(*filter_interrupt_check) (void);

/* Return the layer of a compact image: a compact header has no fields that can be derived. */
static FilterLayer
get_compact_shape(const uint8_t *header)
{
	double		share = 1;

	if (image_growth(header) > 0)
		share = (header[IMAGE_OFF_FLAGS] & IMAGE_FLAG_EXACT) != 0 ?
			SMALL_EXACT_SHARE : BLOOM_FIRST_SHARE;
	return (FilterLayer)
	{
		.layout = LAYOUT_SMALL,
			.hashes = header[COMPACT_OFF_HASHES],
			.size = 8 * (uint64_t) get16(header + COMPACT_OFF_BYTES),
			.capacity = get16(header + COMPACT_OFF_CAPACITY),
			.error_rate = image_error_rate(header) * share,
			.bits_full = get16(header + COMPACT_OFF_BITS_FULL),
			.offset = IMAGE_COMPACT_BYTES
	};
}

FilterLayer
image_get_shape(const uint8_t *header, int i)
{
	const uint8_t *at = image_layer_at(header, i);

	if (image_is_compact(header))
		return get_compact_shape(header);
	return (FilterLayer)
	{
		.layout = (FilterLayout) at[LAYER_OFF_LAYOUT],
			.hashes = at[LAYER_OFF_HASHES],
			.size = get64(at + LAYER_OFF_SIZE),
			.capacity = get64(at + LAYER_OFF_CAPACITY),
			.error_rate = get_double(at + LAYER_OFF_ERROR_RATE),
			.bits_set = get64(at + LAYER_OFF_BITS_SET),
			.bits_full = get64(at + LAYER_OFF_BITS_FULL),
			.offset = get64(at + LAYER_OFF_OFFSET),
			.multiple = get64(at + LAYER_OFF_MULTIPLE),
		/* its six bytes are the upper ones of the word at 0 */
			.detail = get64(at) >> (8 * LAYER_OFF_DETAIL)
	};
}

FilterLayer
image_get_layer(const uint8_t *image, int i)
{
	FilterLayer layer = image_get_shape(image, i);

	if (image_is_compact(image))
		layer.bits_set = count_bits(image + IMAGE_COMPACT_BYTES,
									layer.size / 8);
	return layer;
}

int
image_get_layers(const uint8_t *image, FilterLayer layers[IMAGE_MAX_LAYERS])
{
	int			count = image_layers(image);

	for (int i = 0; i < count; i++)
		layers[i] = image_get_layer(image, i);
	return count;
}

/* Write the whole descriptor, including bytes that are always zero. */
void
image_put_layer(uint8_t *image, int i, const FilterLayer *layer)
{
	uint8_t    *at = image_layer_at(image, i);

	memset(at, 0, IMAGE_LAYER_BYTES);
	put64(at, layer->detail << (8 * LAYER_OFF_DETAIL));
	at[LAYER_OFF_LAYOUT] = layer->layout;
	at[LAYER_OFF_HASHES] = layer->hashes;
	put64(at + LAYER_OFF_SIZE, layer->size);
	put64(at + LAYER_OFF_CAPACITY, layer->capacity);
	put_double(at + LAYER_OFF_ERROR_RATE, layer->error_rate);
	put64(at + LAYER_OFF_BITS_SET, layer->bits_set);
	put64(at + LAYER_OFF_BITS_FULL, layer->bits_full);
	put64(at + LAYER_OFF_OFFSET, layer->offset);
	put64(at + LAYER_OFF_MULTIPLE, layer->multiple);
}

FilterParams
image_get_params(const uint8_t *image)
{
	return (FilterParams)
	{
		.capacity = image_capacity(image),
			.error_rate = image_error_rate(image),
			.growth = image_growth(image),
			.seed = image_seed(image),
			.class = image_class(image),
			.kind = image_kind(image),
			.counting = image_is_counting(image)
	};
}

/* Write the fields that every header has. */
static void
put_common(uint8_t *image, FilterLayout layout, const FilterParams *params)
{
	memcpy(image, kind_magic(params->kind), IMAGE_MAGIC_BYTES);
	image[IMAGE_OFF_LAYOUT] = layout;
	image[IMAGE_OFF_FLAGS] = 0;
	image[IMAGE_OFF_GROWTH] = params->growth;
	image[IMAGE_OFF_LAYERS] = 0;
	put64(image + IMAGE_OFF_CLASS, params->class);
	put64(image + IMAGE_OFF_SEED, params->seed);
	put_double(image + IMAGE_OFF_ERROR_RATE, params->error_rate);
}

/* Write a header without layers or hashes: set_append() and the like update the length. */
void
image_put_header(uint8_t *image, FilterLayout layout,
				 const FilterParams *params)
{
	memset(image, 0, IMAGE_HEADER_BYTES);
	put_common(image, layout, params);
	put64(image + IMAGE_OFF_CAPACITY, params->capacity);
	put64(image + IMAGE_OFF_BYTES, IMAGE_HEADER_BYTES);
}

FilterLayout
layers_layout(const FilterLayer *layer, int layers)
{
	for (int i = 0; i < layers; i++)
		if (layer[i].layout != LAYOUT_SMALL)
			return layer[i].layout;
	/* several small layers: the image is not compact, so it cannot be "small" */
	return layers == 1 ? LAYOUT_SMALL : LAYOUT_BLOCK512;
}

uint64_t
layers_header_bytes(const FilterLayer *layer, int layers)
{
	return layers_layout(layer, layers) == LAYOUT_SMALL ? IMAGE_COMPACT_BYTES :
		IMAGE_HEADER_BYTES + IMAGE_LAYER_BYTES * (uint64_t) layers;
}

void
image_put_layers(uint8_t *image, const FilterParams *params,
				 const FilterLayer *layer, int layers, uint64_t bytes)
{
	FilterLayout layout = layers_layout(layer, layers);

	if (layout == LAYOUT_SMALL)
	{
		put_common(image, LAYOUT_SMALL, params);
		if (params->growth > 0 &&
			layer->error_rate == params->error_rate * SMALL_EXACT_SHARE)
			image[IMAGE_OFF_FLAGS] = IMAGE_FLAG_EXACT;
		image[IMAGE_OFF_LAYERS] = 1;

		/*
		 * equals params->capacity, unless the layers come from bytes of a
		 * user
		 */
		put16(image + COMPACT_OFF_CAPACITY, layer->capacity);
		put16(image + COMPACT_OFF_BYTES, layer->size / 8);
		put16(image + COMPACT_OFF_BITS_FULL, layer->bits_full);
		image[COMPACT_OFF_HASHES] = layer->hashes;
		return;
	}
	image_put_header(image, layout, params);
	image_set_layers(image, layers, bytes);
	for (int i = 0; i < layers; i++)
		image_put_layer(image, i, &layer[i]);
}

bool
layer_same_shape(const FilterLayer *a, const FilterLayer *b)
{
	return a->layout == b->layout && a->size == b->size &&
		a->hashes == b->hashes && a->capacity == b->capacity &&
		a->error_rate == b->error_rate && a->bits_full == b->bits_full &&
		a->multiple == b->multiple;
}

uint64_t
count_bits(const uint8_t *bits, uint64_t bytes)
{
	uint64_t	words = bytes - bytes % sizeof(uint64_t);
	uint64_t	count = 0;

	for (uint64_t at = 0; at < words;)
	{
		uint64_t	stop = at + smaller(words - at, INTERRUPT_BYTES);

		if (at > 0)
			filter_check_interrupts();
		for (; at < stop; at += sizeof(uint64_t))
			count += popcount64(get64(bits + at));
	}
	for (uint64_t at = words; at < bytes; at++)
		count += popcount64(bits[at]);
	return count;
}
