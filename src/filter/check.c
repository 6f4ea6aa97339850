/*
 * check.c
 *	  Validate images: image_check() of filter.h.
 *
 * image_check() validates all bytes that come from outside.  The other functions
 * of this directory rely on that: given an image that it accepts, they read no
 * byte beyond it, and they return.  It compares each layer's number of set bits with
 * the bits themselves, but cannot detect all damage.  The checksum that clients get
 * behind the image does that.
 */
#include "filter.h"

#include "foreign/foreign.h"

/*
 * An element class is up to eight printable characters, padded with zeros; double quotes enclose
 * type names, which may have any bytes.  Or it is '#' and any seven bytes, a hash.
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

bool
check_element_class(const uint8_t class[8])
{
	return valid_class(class) && class[0] != 0 && class[0] != FOREIGN_CLASS;
}

/* Check layer i.  Its bits must begin at *offset; advance *offset to their end. */
static const char *
check_layer(const uint8_t *image, int i, uint64_t bytes, uint64_t *offset)
{
	const FilterOps *ops = image_ops(image);
	const uint8_t *end;
	const char *fault;
	FilterLayer layer = image_get_layer(image, i);
	uint64_t	bits;
	uint64_t	its_bytes;

	if ((int) layer.layout >= layout_count ||
		layouts[layer.layout].ops != ops)
		return "layer of another kind of filter";
	fault = ops->check_layer(image, i, &layer);
	if (fault)
		return fault;
	/* only filters made for a capacity; the comparisons are false for NaN */
	if (ops->plan_layer && image_capacity(image) != 0 && !(layer.error_rate > 0 &&
														   layer.error_rate <= image_error_rate(image)))
		return "error rate of a layer out of range";
	if (layer.detail != 0 && !ops->detailed)
		return "reserved bytes of a layer are not zero";

	/* ops->check_layer() has limited the sizes, so nothing here overflows */
	bits = layer_bits(&layer);
	its_bytes = image_is_compact(image) ? bits / 8 : layer_bytes(&layer);
	if (layer.offset != *offset)
		return "offset of a layer is wrong";
	if (its_bytes > bytes - *offset)
		return "layer exceeds the value's length";
	fault = ops->check_bits(image, i, &layer);
	if (fault)
		return fault;
	if (layer.bits_set > 0 && image_class(image) == 0)
		return "elements without a class";
	*offset += its_bytes;

	/* check the other bits of the last bit's byte, and all bytes after it */
	end = image + layer.offset + bits / 8;
	if ((bits % 8 != 0 && (*end++ >> (bits % 8)) != 0) ||
		!all_zero(end, image + *offset - end))
		return "bits after the last one are not zero";
	return NULL;
}

/* Check the layers of an image whose header is valid. */
static const char *
check_layers(const uint8_t *image, uint64_t bytes)
{
	FilterLayer layer[IMAGE_MAX_LAYERS];
	FilterLayout layout;
	uint64_t	header = filter_header_bytes(image);
	uint64_t	offset = header;
	const char *fault;

	if (bytes < header)
		return "shorter than its header";
	if (bytes > IMAGE_HEADER_BYTES + IMAGE_LAYER_BYTES * IMAGE_MAX_LAYERS +
		IMAGE_MAX_BITS / 8)
		return "larger than a filter can be";
	for (int i = 0; i < image_layers(image); i++)
	{
		fault = check_layer(image, i, bytes, &offset);
		if (fault)
			return fault;
	}
	layout = layers_layout(layer, image_get_layers(image, layer));
	if (layout == LAYOUT_SMALL && !image_is_compact(image))
		return "small filter that is not compact";
	if (layout != image_layout(image))
		return "layout of the first layer is not the filter's";
	if (offset != bytes)
		return "bytes after the last layer";
	if (offset - header > IMAGE_MAX_BITS / 8)
		return "larger than a filter can be";
	return NULL;
}

const char *
image_check_kind(const uint8_t *image, uint64_t bytes, FilterKind kind)
{
	const char *magic = kind_magic(kind);

	if (bytes < IMAGE_LEAST_BYTES)
		return "shorter than a header";
	if (memcmp(image, magic, IMAGE_MAGIC_BYTES - 1) != 0)
	{
		for (int other = 0; other < FILTER_KINDS; other++)
			if (memcmp(image, kind_magic((FilterKind) other),
					   IMAGE_MAGIC_BYTES - 1) == 0)
				return filter_kinds[other].is_this;
		return filter_kinds[kind].is_not_this;
	}
	if (image[IMAGE_MAGIC_BYTES - 1] != (uint8_t) magic[IMAGE_MAGIC_BYTES - 1])
		return "unknown version of the format";
	return NULL;
}

const char *
image_check(const uint8_t *image, uint64_t bytes, FilterKind kind)
{
	const FilterOps *ops;
	const char *fault = image_check_kind(image, bytes, kind);
	bool		compact;
	bool		has_layers;

	if (fault)
		return fault;
	compact = image_is_compact(image);
	if (!compact && bytes < IMAGE_HEADER_BYTES)
		return "shorter than a header";
	if (image_bytes(image) != bytes)
		return "length differs from the one in the header";
	if (image_growth(image) > IMAGE_MAX_GROWTH)
		return "growth out of range";
	/* zero if none was requested; the comparisons are false for NaN */
	if (get64(image + IMAGE_OFF_ERROR_RATE) != 0 &&
		!(image_error_rate(image) >= ERROR_RATE_MIN &&
		  image_error_rate(image) <= ERROR_RATE_MAX))
		return "error rate out of range";
	if (image_capacity(image) > INT64_MAX)
		return "capacity out of range";
	if (!valid_class(image + IMAGE_OFF_CLASS) ||
		(image[IMAGE_OFF_CLASS] == FOREIGN_CLASS) != image_is_foreign(image))
		return "invalid element class";
	if (image[IMAGE_OFF_FLAGS] !=
		(compact && image_growth(image) > 0 ? image[IMAGE_OFF_FLAGS] & IMAGE_FLAG_EXACT : 0))
		return "unknown flags";
	if (!compact && !all_zero(image + IMAGE_OFF_RESERVED, 4))
		return "reserved bytes are not zero";
	if (!compact && !image_is_set(image) && get64(image + IMAGE_OFF_COUNT) != 0)
		return "number of hashes in a filter without hashes";

	if ((int) image_layout(image) >= layout_count)
		return "unknown layout";
	ops = image_ops(image);
	has_layers = ops->check_layer != NULL;
	if (has_layers && ops->kind != kind)
		return "unknown layout";
	if (has_layers && (image_layers(image) < 1 ||
					   image_layers(image) > (compact ? 1 : IMAGE_MAX_LAYERS)))
		return "number of layers out of range";
	fault = ops->check_image(image);
	if (fault || !has_layers)
		return fault;
	return check_layers(image, bytes);
}
