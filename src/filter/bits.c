/*
 * bits.c
 *	  Unite, intersect and check layers that are arrays of bits.  Nothing here
 *	  depends on which bits an element sets.
 */
#include "ops.h"

#include "sizing.h"

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

/* Return the bytes of a layer's bits without padding, which compact images lack. */
static uint64_t
bits_bytes(const FilterLayer *layer)
{
	return (bloom_layer_bits(layer) + 7) / 8;
}

/* Return the byte at "offset" of the bits that the planned layer i will have. */
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

/* Order planned layers as a filter grows, then by bits, so that a and b may change places. */
static int
compare_layers(const FilterPlan *plan, int i, int j, const uint8_t *a,
			   const uint8_t *b)
{
	const FilterLayer *left = &plan->layer[i];
	const FilterLayer *right = &plan->layer[j];
	uint64_t	bytes = bits_bytes(left);

	if (left->error_rate != right->error_rate)
		return left->error_rate > right->error_rate ? -1 : 1;
	if (left->capacity != right->capacity)
		return left->capacity < right->capacity ? -1 : 1;
	if (!layer_same_shape(left, right))
		return 0;				/* impossible in filters that we made */
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

bool
bits_too_full(const FilterLayer *layer, const FilterLayer *other, uint64_t set)
{
	return layer->bits_full != 0 &&
		set >= layer->bits_full + layer_picks(layer) &&
		set > layer->bits_set && set > other->bits_set;
}

/* Unite layers of one shape unless bits_too_full(); keep all others apart. */
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
			set = bits_count_united(image_layer_bits(a, i), image_layer_bits(b, j),
									bits_bytes(layer));
			if (bits_too_full(layer, &other, set))
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
	/* sort the layers by insertion */
	for (int i = 1; i < plan->layers; i++)
		for (int j = i; j > 0 && compare_layers(plan, j, j - 1, a, b) < 0; j--)
			plan_exchange(plan, j);
	return FILTER_OK;
}

/* Set the bits of "other" in layer i.  No interrupt checks: bits_set is wrong meanwhile. */
static void
unite_bits(uint8_t *image, int i, const FilterLayer *layer, const uint8_t *other)
{
	uint8_t    *bits = image_layer_bits(image, i);
	uint64_t	bytes = bits_bytes(layer);

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
			unite_bits(image, i, &plan->layer[i], image_layer_bits(a, plan->from_a[i]));
		if (plan->from_b[i] >= 0)
			unite_bits(image, i, &plan->layer[i], image_layer_bits(b, plan->from_b[i]));
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
	uint64_t	bytes = bits_bytes(&layer);

	/* count first, because counting checks for interrupts */
	uint64_t	set = layer.bits_set + other.bits_set -
		bits_count_united(bits, others, bytes);

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
