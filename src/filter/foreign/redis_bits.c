/*
 * redis_bits.c
 *	  Strings of bits in Redis, with Guava's hashing.
 *
 * Bytes: strings of bits, the first is the highest of byte 0; those of several
 * keys one after the other.
 *
 * A layer's "multiple" is the length of its string in bytes: SETBIT lengthens a
 * string up to the bit, and what is behind its end is zero.
 */
#include "common.h"

static uint64_t
string_bytes(const FilterLayer *layer)
{
	return (layer->size + 7) / 8;
}

/* The number of bytes up to the last one that is not zero */
static uint64_t
used_bytes(const FilterLayer *layer, const uint8_t *bits)
{
	uint64_t	bytes = string_bytes(layer);

	while (bytes > 0 && bits[bytes - 1] == 0)
		bytes--;
	return bytes;
}

static void
redis_note_added(FilterLayer *layer, const uint8_t *bits)
{
	uint64_t	used = used_bytes(layer, bits);

	if (layer->multiple < used)
		layer->multiple = used;
}

static void
redis_join(const FilterLayer *left, const FilterLayer *right, bool united,
		   FilterLayer *joined)
{
	joined->multiple = left->multiple > right->multiple ?
		left->multiple : right->multiple;
}

static const char *
redis_check_layer(const FilterLayer *first, const FilterLayer *layer)
{
	if (first->size != layer->size || first->hashes != layer->hashes)
		return "layers of different filters";
	if (layer->multiple > string_bytes(layer))
		return "length of a string out of range";
	return NULL;
}

static const char *
redis_check_bits(const FilterLayer *layer, const uint8_t *bits)
{
	return used_bytes(layer, bits) > layer->multiple ?
		"bits after the end of a string" : NULL;
}

/* One string, perhaps short, as Redis stores no last zeros; or several full ones */
static const char *
redis_parse(const ForeignSource *source, ForeignImport *import)
{
	FilterLayer *first = one_layer(import, source->bits, source->hashes);
	uint64_t	bytes = string_bytes(first);
	uint64_t	layers = 1;

	if (source->length > bytes)
	{
		if (source->length % bytes != 0)
			return "longer than its number of bits";
		layers = source->length / bytes;
		if (layers > IMAGE_MAX_LAYERS)
			return "number of strings out of range";
	}
	first->multiple = smaller(source->length, bytes);
	import->plan.layers = (int) layers;
	for (uint64_t i = 1; i < layers; i++)
		import->plan.layer[i] = *first;
	return NULL;
}

/* What both share */
#define REDIS_OPS \
	.forms = GUAVA_FORMS, \
	.size = guava_size, \
	.note_added = redis_note_added, \
	.join = redis_join, \
	.check_layer = redis_check_layer, \
	.check_bits = redis_check_bits, \
	.needs_shape = true, \
	.order = BITS_FROM_HIGHEST, \
	.parse = redis_parse

/* With the older hashing, strings have any length. */
const ForeignFormat redis_guava32_format = {
	.name = "redis-bits:guava32",
	.code = 'b',
	.hash = mitz32_hash,
	.places = &mitz32_places,
	.unit = 1,
	REDIS_OPS
};

const ForeignFormat redis_guava64_format = {
	.name = "redis-bits:guava64",
	.code = 'B',
	.hash = mitz64_hash,
	.places = &mitz64_places,
	.unit = WORD_BITS,
	REDIS_OPS
};
