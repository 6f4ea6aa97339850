/*
 * bits.c
 *	  Filters whose layers are arrays of bits, whichever of them an element sets:
 *	  union, intersection, and the check of the bits.
 */
#include "ops.h"

#include "sizing.h"

/* Bytes that two layers of one shape have in common: a compact image has no padding. */
static uint64_t
common_bytes(const uint8_t *a, int i, const uint8_t *b, int j)
{
	return smaller(image_layer_bytes(a, i), image_layer_bytes(b, j));
}

uint64_t
bits_count_united(const uint8_t *a, const uint8_t *b, uint64_t bytes)
{
	uint64_t	words = bytes - bytes % sizeof(uint64_t);
	uint64_t	count = 0;

	for (uint64_t at = 0; at < words;)
	{
		uint64_t	stop = words - at > INTERRUPT_BYTES ? at + INTERRUPT_BYTES : words;

		filter_check_interrupts();
		for (; at < stop; at += sizeof(uint64_t))
			count += popcount64(get64(a + at) | get64(b + at));
	}
	for (uint64_t at = words; at < bytes; at++)
		count += popcount64(a[at] | b[at]);
	return count;
}

/* The number of bits that are set in either of two layers of one shape */
static uint64_t
count_united(const uint8_t *a, int i, const uint8_t *b, int j)
{
	return bits_count_united(image_layer_bits(a, i), image_layer_bits(b, j),
							 common_bytes(a, i, b, j));
}

/* The byte at "offset" of the bits of the planned layer i */
static inline uint8_t
united_byte(const FilterPlan *plan, int i, const uint8_t *a, const uint8_t *b,
			uint64_t offset)
{
	uint8_t		byte = 0;

	if (plan->from_a[i] >= 0)
		byte |= image_layer_bits(a, plan->from_a[i])[offset];
	if (plan->from_b[i] >= 0)
		byte |= image_layer_bits(b, plan->from_b[i])[offset];
	return byte;
}

/* The number of bytes that all sources of the planned layer i have */
static uint64_t
united_bytes(const FilterPlan *plan, int i, const uint8_t *a,
			 const uint8_t *b)
{
	uint64_t	bytes = UINT64_MAX;

	if (plan->from_a[i] >= 0)
		bytes = image_layer_bytes(a, plan->from_a[i]);
	if (plan->from_b[i] >= 0)
		bytes = smaller(bytes, image_layer_bytes(b, plan->from_b[i]));
	return bytes;
}

/* As a filter grows, then by their bits: it does not matter which filter comes first. */
static int
compare_layers(const FilterPlan *plan, int i, int j, const uint8_t *a,
			   const uint8_t *b)
{
	const FilterLayer *left = &plan->layer[i];
	const FilterLayer *right = &plan->layer[j];
	uint64_t	bytes = smaller(united_bytes(plan, i, a, b),
								united_bytes(plan, j, a, b));

	if (left->error_rate != right->error_rate)
		return left->error_rate > right->error_rate ? -1 : 1;
	if (left->capacity != right->capacity)
		return left->capacity < right->capacity ? -1 : 1;
	if (!layer_same_shape(left, right))
		return 0;				/* never in filters that we made */
	for (uint64_t at = 0; at < bytes; at++)
	{
		int			difference = (int) united_byte(plan, i, a, b, at) -
			(int) united_byte(plan, j, a, b, at);

		if (difference != 0)
			return difference;
		if (at % INTERRUPT_BYTES == 0)
			filter_check_interrupts();
	}
	return 0;
}

/* Sort the planned layers: those of b alone are at the end so far. */
static void
sort_layers(FilterPlan *plan, const uint8_t *a, const uint8_t *b)
{
	for (int i = 1; i < plan->layers; i++)
		for (int j = i; j > 0 && compare_layers(plan, j, j - 1, a, b) < 0; j--)
			plan_exchange(plan, j);
}

/* Unite layers of one shape, unless that would be more than full; others stay apart. */
FilterStatus
bits_plan_union(const uint8_t *a, const uint8_t *b, bool apart,
				FilterPlan *plan)
{
	bool		joined[IMAGE_MAX_LAYERS] = {false};

	plan_side(plan, a, true);
	for (int i = 0; i < image_layers(a); i++)
	{
		FilterLayer *layer = &plan->layer[i];

		for (int j = 0; j < image_layers(b); j++)
		{
			FilterLayer other = image_get_layer(b, j);
			uint64_t	set;

			if (joined[j] || !layer_same_shape(layer, &other))
				continue;
			set = count_united(a, i, b, j);
			/* as full as the last addition may have left it, but no fuller */
			if (layer->bits_full != 0 &&
				set >= layer->bits_full + layer_picks(layer) &&
				set > layer->bits_set && set > other.bits_set)
				continue;
			layer->bits_set = set;
			plan->from_b[i] = j;
			joined[j] = true;
			break;
		}
	}
	for (int j = 0; j < image_layers(b); j++)
	{
		FilterLayer layer = image_get_layer(b, j);

		if (!joined[j] && !plan_beside(plan, &layer, j))
			return FILTER_TOO_MANY_LAYERS;
	}
	if (plan->layers > 1 && image_growth(a) == 0)
		return FILTER_FIXED;
	sort_layers(plan, a, b);
	return FILTER_OK;
}

/* Without interrupt checks, for some tenths of a second: bits_set is wrong meanwhile. */
static void
unite_bits(uint8_t *into, int i, const uint8_t *from, int j)
{
	uint8_t    *bits = image_layer_bits(into, i);
	const uint8_t *other = image_layer_bits(from, j);
	uint64_t	bytes = common_bytes(into, i, from, j);

	for (uint64_t at = 0; at < bytes; at++)
		bits[at] |= other[at];
}

bool
bits_unite(uint8_t *image, const uint8_t *a, const uint8_t *b,
		   const FilterPlan *plan)
{
	for (int i = 0; i < plan->layers; i++)
	{
		if (image != a)
			filter_check_interrupts();
		if (image != a && plan->from_a[i] >= 0)
			unite_bits(image, i, a, plan->from_a[i]);
		if (plan->from_b[i] >= 0)
			unite_bits(image, i, b, plan->from_b[i]);
	}
	return true;
}

void
bits_intersect_in_place(uint8_t *a, const uint8_t *b)
{
	FilterLayer layer = image_get_layer(a, 0);
	FilterLayer other = image_get_layer(b, 0);
	uint8_t    *bits = image_layer_bits(a, 0);
	const uint8_t *others = image_layer_bits(b, 0);
	uint64_t	bytes = common_bytes(a, 0, b, 0);
	uint64_t	set;

	/* counted before: no interrupt check is allowed while bits change */
	set = layer.bits_set + other.bits_set - count_united(a, 0, b, 0);
	for (uint64_t at = 0; at < bytes; at++)
		bits[at] &= others[at];
	image_put_bits_set(a, 0, set);
}

double
bits_cardinality(const uint8_t *header)
{
	FilterLayer layers[IMAGE_MAX_LAYERS];
	int			count = image_get_layers(header, layers);

	return layers_cardinality(layers, NULL, count);
}

const char *
bits_check(const uint8_t *image, int i, const FilterLayer *layer)
{
	uint64_t	bits = bloom_layer_bits(layer);

	if (layer->bits_full > bits)
		return "bound of set bits out of range";
	if (layer->bits_set != count_bits(image_layer_bits(image, i),
									  (bits + 7) / 8))
		return "number of set bits is wrong";
	return NULL;
}
