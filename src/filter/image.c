/*
 * image.c
 *	  Writes and reads the fields of an image; see image.h.
 */
#include "image.h"

#include "interrupt.h"

void
image_get_layer(const uint8_t *image, int i, FilterLayer *layer)
{
	const uint8_t *at = image_layer_at(image, i);

	layer->layout = (FilterLayout) at[LAYER_OFF_LAYOUT];
	layer->hashes = at[LAYER_OFF_HASHES];
	layer->size = get64(at + LAYER_OFF_SIZE);
	layer->capacity = get64(at + LAYER_OFF_CAPACITY);
	layer->error_rate = get_double(at + LAYER_OFF_ERROR_RATE);
	layer->bits_set = get64(at + LAYER_OFF_BITS_SET);
	layer->bits_full = get64(at + LAYER_OFF_BITS_FULL);
	layer->offset = get64(at + LAYER_OFF_OFFSET);
	layer->multiple = get64(at + LAYER_OFF_MULTIPLE);
}

/* Write the whole descriptor, including reserved bytes. */
void
image_put_layer(uint8_t *image, int i, const FilterLayer *layer)
{
	uint8_t    *at = image_layer_at(image, i);

	memset(at, 0, IMAGE_LAYER_BYTES);
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

void
image_get_params(const uint8_t *image, FilterParams *params)
{
	params->capacity = image_capacity(image);
	params->error_rate = image_error_rate(image);
	params->growth = image_growth(image);
	params->seed = image_seed(image);
	params->class = image_class(image);
	params->kind = image_kind(image);
}

/*
 * Write the whole header of an image without layers or hashes, of
 * IMAGE_HEADER_BYTES.  Callers that add some set their number and the length.
 */
void
image_put_header(uint8_t *image, FilterLayout layout,
				 const FilterParams *params)
{
	memset(image, 0, IMAGE_HEADER_BYTES);
	memcpy(image, kind_magic(params->kind), IMAGE_MAGIC_BYTES);
	image[IMAGE_OFF_LAYOUT] = layout;
	image[IMAGE_OFF_GROWTH] = params->growth;
	put64(image + IMAGE_OFF_CLASS, params->class);
	put64(image + IMAGE_OFF_SEED, params->seed);
	put64(image + IMAGE_OFF_CAPACITY, params->capacity);
	put_double(image + IMAGE_OFF_ERROR_RATE, params->error_rate);
	put64(image + IMAGE_OFF_BYTES, IMAGE_HEADER_BYTES);
}

bool
layer_same_shape(const FilterLayer *a, const FilterLayer *b)
{
	return a->layout == b->layout && a->size == b->size &&
		a->hashes == b->hashes && a->capacity == b->capacity &&
		a->error_rate == b->error_rate && a->bits_full == b->bits_full &&
		a->multiple == b->multiple;
}

/* count_bits() without interrupt checks */
static uint64_t
count_some(const uint8_t *bits, uint64_t bytes)
{
	uint64_t	count = 0;

	for (; bytes >= sizeof(uint64_t); bytes -= sizeof(uint64_t))
	{
		count += popcount64(get64(bits));
		bits += sizeof(uint64_t);
	}
	while (bytes-- > 0)
		count += popcount64(*bits++);
	return count;
}

uint64_t
count_bits(const uint8_t *bits, uint64_t bytes)
{
	uint64_t	count = 0;

	for (; bytes > INTERRUPT_BYTES; bytes -= INTERRUPT_BYTES)
	{
		count += count_some(bits, INTERRUPT_BYTES);
		bits += INTERRUPT_BYTES;
		filter_check_interrupts();
	}
	return count + count_some(bits, bytes);
}
