/*
 * check.c
 *	  Tells a valid image from one that is not; see check.h.
 *
 * image_check() is the one gate for bytes from outside: whatever it lets
 * through, every other function of this directory takes without a further
 * check, reads no byte beyond the image, and answers.  It compares the number
 * of set bits that a layer claims with the bits themselves, so that a damaged
 * filter is refused and not believed, but for damage that sets as many bits as
 * it clears.
 */
#include "check.h"

#include "block512.h"
#include "classic.h"
#include "cuckoo.h"
#include "sizing.h"

static bool
all_zero(const uint8_t *bytes, size_t count)
{
	while (count-- > 0)
		if (*bytes++ != 0)
			return false;
	return true;
}

/* Is this an error rate that a filter can be asked for?  False for NaN. */
static bool
valid_error_rate(double rate)
{
	return rate >= ERROR_RATE_MIN && rate <= ERROR_RATE_MAX;
}

/*
 * A class is up to eight bytes, then zeros: printable characters, and between
 * double quotes, where types have their names, anything.  Or it is '#' and seven
 * bytes of any value.
 */
static bool
valid_class(const uint8_t class[8])
{
	bool		quoted = false;
	int			i = 0;

	if (class[0] == '#')
		return true;
	for (; i < 8 && class[i] != 0; i++)
	{
		if (class[i] == '"')
			quoted = !quoted;
		else if (!quoted && (class[i] <= ' ' || class[i] >= 0x7f))
			return false;
	}
	return all_zero(class + i, 8 - i);
}

/* Is the number a power of the base, which is not 0? */
static bool
is_power(uint64_t number, uint64_t base)
{
	while (base > 1 && number > 1 && number % base == 0)
		number /= base;
	return number == 1;
}

/*
 * The fields of a cuckoo filter's layer i, the ones before it being sound.  In
 * the order of the layers the windows and fingerprints get finer, never
 * coarser.
 */
static const char *
check_cuckoo_layer(const uint8_t *image, int i, const FilterLayer *layer)
{
	FilterLayer first;
	FilterLayer before;

	image_get_layer(image, 0, &first);
	image_get_layer(image, i > 0 ? i - 1 : 0, &before);
	if (layer->hashes < CUCKOO_MIN_FINGERPRINT ||
		layer->hashes > CUCKOO_MAX_FINGERPRINT ||
		layer->hashes < before.hashes)
		return "number of a fingerprint's bits out of range";
	if (layer->size < CUCKOO_MIN_WINDOWS || layer->size % 2 != 0 ||
		layer->size > IMAGE_MAX_BITS / cuckoo_width(layer->hashes))
		return "number of windows out of range";
	if (image_growth(image) == 0 ? layer->multiple != 1 :
		!is_power(layer->multiple, image_growth(image)))
		return "multiple of a layer is not a power of the growth";
	if (layer->multiple < before.multiple ||
		layer->size % layer->multiple != 0 ||
		layer->size / layer->multiple != first.size ||
		(i == 0 && layer->multiple != 1))
		return "multiple of a layer is wrong";
	if (layer->capacity == 0 || layer->capacity > cuckoo_slots(layer->size) ||
		layer->bits_full != layer->capacity ||
		layer->bits_set > layer->bits_full)
		return "number of entries out of range";
	/* false for NaN */
	if (!(layer->error_rate > 0 &&
		  layer->error_rate <= image_error_rate(image)))
		return "error rate of a layer out of range";
	return NULL;
}

/*
 * Check layer i of an image whose header and length are sound.  *offset is
 * where its bits must begin, and moved past them.
 */
static const char *
check_layer(const uint8_t *image, int i, uint64_t bytes, uint64_t *offset)
{
	const uint8_t *at = image_layer_at(image, i);
	const char *fault = NULL;
	FilterLayer layer;
	uint64_t	bits;

	image_get_layer(image, i, &layer);
	if ((layer.layout == LAYOUT_CUCKOO) !=
		(image_layout(image) == LAYOUT_CUCKOO))
		return "layer of another kind of filter";
	switch (layer.layout)
	{
		case LAYOUT_BLOCK512:
		case LAYOUT_BLOCK512X2:
			if (layer.hashes < 1 || layer.hashes > BLOCK_MAX_HASHES)
				return "number of hashes out of range";
			/* two blocks of an element are never the same one */
			if (layer.size < (layer.layout == LAYOUT_BLOCK512X2 ? 2 : 1) ||
				layer.size > IMAGE_MAX_BITS / BLOCK_BITS)
				return "number of blocks out of range";
			if (layer.capacity == 0)
				return "layer without capacity";
			/* a share of the filter's; false for NaN */
			if (!(layer.error_rate > 0 &&
				  layer.error_rate <= image_error_rate(image)))
				return "error rate of a layer out of range";
			break;
		case LAYOUT_CLASSIC:
			if (layer.hashes < 1 || layer.hashes > CLASSIC_MAX_HASHES)
				return "number of hashes out of range";
			if (layer.size < CLASSIC_MIN_BITS || layer.size > IMAGE_MAX_BITS)
				return "number of bits out of range";
			if (layer.capacity != 0 || layer.bits_full != 0 ||
				get64(at + LAYER_OFF_ERROR_RATE) != 0)
				return "classic layer with a capacity or error rate";
			if (image_layers(image) != 1 || image_growth(image) != 0)
				return "classic filter with several layers";
			break;
		case LAYOUT_CUCKOO:
			fault = check_cuckoo_layer(image, i, &layer);
			if (fault)
				return fault;
			break;
		default:
			return "unknown layout of a layer";
	}
	if (!all_zero(at + LAYER_OFF_RESERVED1, 6))
		return "reserved bytes of a layer are not zero";
	if (layer.multiple != 0 && layer.layout != LAYOUT_CUCKOO)
		return "multiple of a layer that has none";
	if (i == 0 && layer.layout != image_layout(image))
		return "layout of the first layer is not the filter's";

	/* sizes are bounded above, so nothing here overflows */
	bits = layer_bits(&layer);
	if (layer.offset != *offset)
		return "offset of a layer is wrong";
	if (layer_bytes(&layer) > bytes - *offset)
		return "layer exceeds the value's length";
	if (layer.layout == LAYOUT_CUCKOO)
		fault = cuckoo_check_slots(image, i);
	else if (layer.bits_full > bits)
		fault = "bound of set bits out of range";
	else if (layer.bits_set != count_bits(image + *offset,
										  layer_bytes(&layer)))
		fault = "number of set bits is wrong";
	if (fault)
		return fault;
	*offset += layer_bytes(&layer);
	if (layer.layout == LAYOUT_CLASSIC || layer.layout == LAYOUT_CUCKOO)
	{
		/* the bytes behind the last bit, and the rest of its own */
		const uint8_t *end = image + layer.offset + bits / 8;

		if (bits % 8 != 0 && (*end++ >> (bits % 8)) != 0)
			return "bits behind the last one are not zero";
		if (!all_zero(end, image + *offset - end))
			return "bits behind the last one are not zero";
	}
	return NULL;
}

const char *
image_check(const uint8_t *image, uint64_t bytes, FilterKind kind)
{
	const char *magic = kind_magic(kind);
	FilterLayout layout;
	int			layers;

	if (bytes < IMAGE_HEADER_BYTES)
		return "shorter than a header";
	if (memcmp(image, magic, IMAGE_MAGIC_BYTES - 1) != 0)
	{
		if (memcmp(image, kind_magic(FILTER_BLOOM),
				   IMAGE_MAGIC_BYTES - 1) == 0)
			return "is a bloom filter";
		if (memcmp(image, kind_magic(FILTER_CUCKOO),
				   IMAGE_MAGIC_BYTES - 1) == 0)
			return "is a cuckoo filter";
		return kind == FILTER_CUCKOO ?
			"does not begin with the bytes \"cko\"" :
			"does not begin with the bytes \"blm\"";
	}
	if (image[IMAGE_MAGIC_BYTES - 1] != (uint8_t) magic[IMAGE_MAGIC_BYTES - 1])
		return "unknown version of the format";
	if (image_bytes(image) != bytes)
		return "length differs from the one in the header";
	if (image[IMAGE_OFF_FLAGS] != 0)
		return "unknown flags";
	if (!all_zero(image + IMAGE_OFF_RESERVED, 4))
		return "reserved bytes are not zero";
	if (image_growth(image) > IMAGE_MAX_GROWTH)
		return "growth out of range";
	/* exactly zero if none was asked for */
	if (!valid_error_rate(image_error_rate(image)) &&
		get64(image + IMAGE_OFF_ERROR_RATE) != 0)
		return "error rate out of range";
	if (image_capacity(image) > INT64_MAX)
		return "capacity out of range";
	if (!valid_class(image + IMAGE_OFF_CLASS))
		return "element class is not one";

	layout = image_layout(image);
	layers = image_layers(image);
	if (layout != LAYOUT_EXPLICIT && image_count(image) != 0)
		return "number of hashes in a filter that has none";

	if (layout == LAYOUT_EMPTY)
	{
		if (bytes != IMAGE_HEADER_BYTES || layers != 0 ||
			!all_zero(image + IMAGE_OFF_GROWTH,
					  IMAGE_OFF_BYTES - IMAGE_OFF_GROWTH))
			return "empty filter with content";
		return NULL;
	}

	if (layout == LAYOUT_EXPLICIT)
	{
		uint64_t	count = image_count(image);

		if (layers != 0)
			return "explicit filter with layers";
		if (count > IMAGE_MAX_BITS / 64 || image_explicit_bytes(count) != bytes)
			return "number of hashes does not fit the length";
		if (count > 0 && image_class(image) == 0)
			return "hashes of no element class";
		for (uint64_t i = 1; i < count; i++)
		{
			const uint8_t *hash = image_hashes(image) + 8 * i;

			if (get64(hash - 8) >= get64(hash))
				return "hashes are not in order";
		}
		return NULL;
	}

	if (kind == FILTER_CUCKOO ? layout != LAYOUT_CUCKOO :
		layout != LAYOUT_BLOCK512 && layout != LAYOUT_BLOCK512X2 &&
		layout != LAYOUT_CLASSIC)
		return "unknown layout";
	if (layers < 1 || layers > IMAGE_MAX_LAYERS)
		return "number of layers out of range";
	if (layout != LAYOUT_CLASSIC &&
		(image_capacity(image) == 0 || image_error_rate(image) == 0))
		return "filter without capacity or error rate";
	if (layout == LAYOUT_CLASSIC &&
		(image_capacity(image) != 0 || image_error_rate(image) != 0))
		return "classic filter with a capacity or error rate";
	if (layout == LAYOUT_CUCKOO && layers > 1 && image_growth(image) == 0)
		return "fixed filter with several layers";
	if (bytes < (uint64_t) IMAGE_HEADER_BYTES + IMAGE_LAYER_BYTES * layers)
		return "shorter than its header";
	if (bytes > IMAGE_HEADER_BYTES + IMAGE_LAYER_BYTES * IMAGE_MAX_LAYERS +
		IMAGE_MAX_BITS / 8)
		return "larger than a filter can be";
	{
		uint64_t	offset = IMAGE_HEADER_BYTES + IMAGE_LAYER_BYTES * layers;
		uint64_t	set = 0;

		for (int i = 0; i < layers; i++)
		{
			const char *fault = check_layer(image, i, bytes, &offset);

			if (fault)
				return fault;
			set += get64(image_layer_at(image, i) + LAYER_OFF_BITS_SET);
		}
		if (offset != bytes)
			return "bytes behind the last layer";
		if (offset - IMAGE_HEADER_BYTES - IMAGE_LAYER_BYTES * layers >
			IMAGE_MAX_BITS / 8)
			return "larger than a filter can be";
		if (set > 0 && image_class(image) == 0)
			return "elements of no class";
	}
	return NULL;
}
