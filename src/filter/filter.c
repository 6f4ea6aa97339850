/*
 * filter.c
 *	  The operations on a filter's image; see filter.h.
 *
 * A filter with layers (block512, block512x2, classic) begins with one layer.
 * When that is full and may grow, another is put behind it, "growth" times
 * larger, and from then on takes what is added (the scheme of Almeida, Baquero,
 * Preguica and Hutchison, "Scalable Bloom Filters", 2007, with the error rates
 * of sizing.c).  An element is in if any layer has it; the last, which is the
 * largest, is asked first.  An element that an earlier layer has already is not
 * added again.
 *
 * So does a cuckoo filter, whose layers cuckoo.c knows; here is where its image
 * goes another way.
 *
 * How full a layer is, is known from how many of its bits are set: that number
 * is kept as bits are set, and depends on the set of elements alone, while a
 * count of additions would depend on their order and repetitions.
 */
#include "filter.h"

#include <math.h>

#include "block512.h"
#include "classic.h"
#include "cuckoo.h"
#include "set.h"

/*
 * So many hashes ahead of the one at work, its place is fetched: enough to
 * cover a miss of some 100 ns with probes of a few, and no more than the lines
 * that a core can have under way.
 */
#define PREFETCH_AHEAD	16

/* What a probe needs of a layer's descriptor, read where it lies */
typedef struct ProbeLayer
{
	const uint8_t *bits;
	uint64_t	size;
	FilterLayout layout;
	unsigned	hashes;
} ProbeLayer;

static inline ProbeLayer
probe_layer(const uint8_t *image, int i)
{
	const uint8_t *at = image_layer_at(image, i);
	ProbeLayer	layer = {
		.bits = image + get64(at + LAYER_OFF_OFFSET),
		.size = get64(at + LAYER_OFF_SIZE),
		.layout = (FilterLayout) at[LAYER_OFF_LAYOUT],
		.hashes = at[LAYER_OFF_HASHES]
	};

	return layer;
}

static inline bool
layer_contains(const ProbeLayer *layer, uint64_t hash)
{
	const uint8_t *block;

	if (__builtin_expect(layer->layout == LAYOUT_CLASSIC, 0))
		return classic_contains(layer->bits, layer->size, layer->hashes, hash);

	block = layer->bits + BLOCK_BYTES * first_block(hash, layer->size);
	if (!block_kernel->contains(block, block_word(hash), layer->hashes))
		return false;
	if (layer->layout == LAYOUT_BLOCK512)
		return true;
	block = layer->bits + BLOCK_BYTES * second_block(hash, layer->size);
	return block_kernel->contains(block, second_word(hash), layer->hashes);
}

/* Set the element's bits, and return how many were not set before. */
static inline unsigned
layer_add(const ProbeLayer *layer, uint64_t hash)
{
	uint8_t    *bits = (uint8_t *) layer->bits;
	uint8_t    *block;
	unsigned	added;

	if (layer->layout == LAYOUT_CLASSIC)
		return classic_add(bits, layer->size, layer->hashes, hash);

	block = bits + BLOCK_BYTES * first_block(hash, layer->size);
	added = block_kernel->add(block, block_word(hash), layer->hashes);
	if (layer->layout == LAYOUT_BLOCK512X2)
	{
		block = bits + BLOCK_BYTES * second_block(hash, layer->size);
		added += block_kernel->add(block, second_word(hash), layer->hashes);
	}
	return added;
}

/*
 * Have the places of a hash brought into the cache.  Always inline: gcc takes
 * a function that only prefetches for one without effects, and drops its calls.
 */
static ALWAYS_INLINE void
layer_prefetch(const ProbeLayer *layer, uint64_t hash)
{
	if (layer->layout == LAYOUT_CLASSIC)
	{
		uint64_t	step = classic_step(hash);

		for (unsigned k = layer->hashes; k > 0; k--)
		{
			__builtin_prefetch(layer->bits + mulhi64(hash, layer->size) / 8);
			classic_next(&hash, &step);
		}
		return;
	}
	__builtin_prefetch(layer->bits +
					   BLOCK_BYTES * first_block(hash, layer->size));
	if (layer->layout == LAYOUT_BLOCK512X2)
		__builtin_prefetch(layer->bits +
						   BLOCK_BYTES * second_block(hash, layer->size));
}

/* classic_contains() with each byte fetched from behind "offset" */
static bool
classic_contains_in_parts(uint64_t offset, uint64_t m, unsigned k,
						  uint64_t hash, FilterFetch fetch, void *from)
{
	uint64_t	step = classic_step(hash);

	for (; k > 0; k--)
	{
		uint64_t	place = mulhi64(hash, m);

		if (((*fetch(from, offset + place / 8, 1) >> (place % 8)) & 1) == 0)
			return false;
		classic_next(&hash, &step);
	}
	return true;
}

/* filter_contains() of any filter */
static bool
any_contains(const uint8_t *image, uint64_t hash)
{
	if (image_layout(image) == LAYOUT_CUCKOO)
		return cuckoo_contains(image, hash);
	for (int i = image_layers(image) - 1; i >= 0; i--)
	{
		ProbeLayer	layer = probe_layer(image, i);

		if (layer_contains(&layer, hash))
			return true;
	}
	return set_contains(image, hash);
}

/* The most frequent filter, one layer of block512, without a detour */
bool
filter_contains(const uint8_t *image, uint64_t hash)
{
	const uint8_t *at = image_layer_at(image, 0);

	if (image_layers(image) != 1 || at[LAYER_OFF_LAYOUT] != LAYOUT_BLOCK512)
		return any_contains(image, hash);
	return block_kernel->contains(image + get64(at + LAYER_OFF_OFFSET) +
								  BLOCK_BYTES *
								  first_block(hash, get64(at + LAYER_OFF_SIZE)),
								  block_word(hash), at[LAYER_OFF_HASHES]);
}

unsigned
filter_parts(const uint8_t *header)
{
	unsigned	parts = 0;

	for (int i = 0; i < image_layers(header); i++)
	{
		ProbeLayer	layer = probe_layer(header, i);

		parts += layer.layout == LAYOUT_CLASSIC ? layer.hashes :
			layer.layout == LAYOUT_BLOCK512 ? 1 : 2;
	}
	return parts;
}

bool
filter_contains_in_parts(const uint8_t *header, uint64_t hash,
						 FilterFetch fetch, void *from)
{
	if (image_layout(header) == LAYOUT_CUCKOO)
		return cuckoo_contains_in_parts(header, hash, fetch, from);
	for (int i = image_layers(header) - 1; i >= 0; i--)
	{
		ProbeLayer	layer = probe_layer(header, i);
		uint64_t	offset = layer.bits - header;
		uint64_t	place;

		if (layer.layout == LAYOUT_CLASSIC)
		{
			if (classic_contains_in_parts(offset, layer.size, layer.hashes,
										  hash, fetch, from))
				return true;
			continue;
		}
		place = offset + BLOCK_BYTES * first_block(hash, layer.size);
		if (!block_kernel->contains(fetch(from, place, BLOCK_BYTES),
									block_word(hash), layer.hashes))
			continue;
		if (layer.layout == LAYOUT_BLOCK512)
			return true;
		place = offset + BLOCK_BYTES * second_block(hash, layer.size);
		if (block_kernel->contains(fetch(from, place, BLOCK_BYTES),
								   second_word(hash), layer.hashes))
			return true;
	}
	return false;
}

void
filter_contains_batch(const uint8_t *image, const uint64_t *hashes,
					  size_t count, bool *found)
{
	int			layers = image_layers(image);
	ProbeLayer	last;

	if (image_layout(image) == LAYOUT_CUCKOO)
	{
		cuckoo_contains_batch(image, hashes, count, found);
		return;
	}
	if (layers > 0)
	{
		last = probe_layer(image, layers - 1);
		for (size_t i = 0; i < count && i < PREFETCH_AHEAD; i++)
			layer_prefetch(&last, hashes[i]);
	}
	for (size_t i = 0; i < count; i++)
	{
		if (layers > 0 && i + PREFETCH_AHEAD < count)
			layer_prefetch(&last, hashes[i + PREFETCH_AHEAD]);
		found[i] = filter_contains(image, hashes[i]);
	}
}

size_t
filter_add_batch(uint8_t *image, const uint64_t *hashes, size_t count)
{
	int			last = image_layers(image) - 1;
	uint8_t    *descriptor = image_layer_at(image, last);
	uint64_t	bits_set = get64(descriptor + LAYER_OFF_BITS_SET);
	uint64_t	bits_full = get64(descriptor + LAYER_OFF_BITS_FULL);
	ProbeLayer	layer = probe_layer(image, last);
	size_t		i;

	if (image_layout(image) == LAYOUT_CUCKOO)
		return cuckoo_add_batch(image, hashes, count, false);
	for (i = 0; i < count && i < PREFETCH_AHEAD; i++)
		layer_prefetch(&layer, hashes[i]);
	for (i = 0; i < count; i++)
	{
		if (i + PREFETCH_AHEAD < count)
			layer_prefetch(&layer, hashes[i + PREFETCH_AHEAD]);
		if (last > 0 && filter_contains(image, hashes[i]))
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

size_t
filter_add_unique_batch(uint8_t *image, const uint64_t *hashes, size_t count)
{
	return cuckoo_add_batch(image, hashes, count, true);
}

unsigned
filter_count(const uint8_t *image, uint64_t hash)
{
	if (image_layout(image) == LAYOUT_CUCKOO)
		return cuckoo_count(image, hash);
	return any_contains(image, hash);
}

FilterRemoval
filter_remove(uint8_t *image, uint64_t hash)
{
	if (image_layout(image) == LAYOUT_CUCKOO)
		return cuckoo_remove(image, hash);
	return set_remove(image, hash);
}

uint64_t
filter_compact(uint8_t *image)
{
	if (image_layout(image) == LAYOUT_CUCKOO)
		return cuckoo_compact(image);
	return image_bytes(image);
}

FilterStatus
filter_plan(const FilterParams *params, FilterPlan *plan)
{
	bool		grows = params->growth > 0;
	FilterLayer *layer = &plan->layer[0];

	plan->layers = 1;
	if (!(params->kind == FILTER_CUCKOO ?
		  cuckoo_plan_first(params->capacity, params->error_rate, grows, layer) :
		  layer_plan(params->capacity, params->error_rate, grows, 0,
					 IMAGE_MAX_BITS, layer)))
		return FILTER_TOO_LARGE;
	return plan_finish(plan);
}

FilterStatus
filter_plan_classic(uint64_t m, unsigned k, FilterPlan *plan)
{
	FilterLayer *layer = &plan->layer[0];

	if (m > IMAGE_MAX_BITS)
		return FILTER_TOO_LARGE;
	memset(layer, 0, sizeof(*layer));
	layer->layout = LAYOUT_CLASSIC;
	layer->size = m;
	layer->hashes = k;
	plan->layers = 1;
	return plan_finish(plan);
}

void
filter_init(uint8_t *image, const FilterParams *params, const FilterPlan *plan)
{
	plan_put(image, params, plan);
}

FilterStatus
filter_plan_growth(const uint8_t *image, FilterPlan *plan)
{
	int			layers = image_layers(image);
	int			growth = image_growth(image);
	FilterLayer *last = &plan->layer[layers - 1];

	if (growth == 0)
		return FILTER_FIXED;
	if (layers == IMAGE_MAX_LAYERS)
		return FILTER_TOO_MANY_LAYERS;
	for (int i = 0; i < layers; i++)
		image_get_layer(image, i, &plan->layer[i]);
	plan->layers = layers + 1;
	if (image_layout(image) == LAYOUT_CUCKOO)
	{
		if (!cuckoo_plan_further(&plan->layer[0], last, layers,
								 image_error_rate(image), growth,
								 &plan->layer[layers]))
			return FILTER_TOO_LARGE;
		return plan_finish(plan);
	}
	if (last->capacity > IMAGE_MAX_BITS ||
		!layer_plan(last->capacity * growth, image_error_rate(image), true,
					layers, IMAGE_MAX_BITS, &plan->layer[layers]))
		return FILTER_TOO_LARGE;
	return plan_finish(plan);
}

void
filter_grow(uint8_t *image, const uint8_t *from, const FilterPlan *plan)
{
	FilterParams params;

	image_get_params(from, &params);
	plan_put(image, &params, plan);
	for (int i = 0; i < image_layers(from); i++)
	{
		const FilterLayer *layer = &plan->layer[i];
		ProbeLayer	old = probe_layer(from, i);

		filter_check_interrupts();
		memcpy(image + layer->offset, old.bits,
			   layer_bytes(layer));
	}
}

FilterDifference
filter_difference(const uint8_t *a, const uint8_t *b)
{
	FilterLayer first_a;
	FilterLayer first_b;

	if (image_kind(a) != image_kind(b))
		return DIFFERENT_KIND;
	if (image_layout(a) == LAYOUT_EMPTY || image_layout(b) == LAYOUT_EMPTY)
		return FILTERS_ALIKE;
	if (image_seed(a) != image_seed(b))
		return DIFFERENT_SEED;
	if (image_class(a) != image_class(b) &&
		image_class(a) != 0 && image_class(b) != 0)
		return DIFFERENT_CLASS;
	if (image_layout(a) == LAYOUT_EXPLICIT ||
		image_layout(b) == LAYOUT_EXPLICIT)
		return FILTERS_ALIKE;
	if ((image_layout(a) == LAYOUT_CLASSIC) !=
		(image_layout(b) == LAYOUT_CLASSIC))
		return DIFFERENT_LAYOUT;
	if (image_capacity(a) != image_capacity(b))
		return DIFFERENT_CAPACITY;
	if (image_error_rate(a) != image_error_rate(b))
		return DIFFERENT_ERROR_RATE;
	if (image_growth(a) != image_growth(b))
		return DIFFERENT_GROWTH;
	/* the first layer is the smallest, and made for what was asked */
	image_get_layer(a, 0, &first_a);
	image_get_layer(b, 0, &first_b);
	if (!layer_same_shape(&first_a, &first_b) ||
		(image_layout(a) == LAYOUT_CUCKOO && !cuckoo_layers_alike(a, b)))
		return DIFFERENT_SIZE;
	return FILTERS_ALIKE;
}

/* How many bits are set in either of two layers of one shape */
static uint64_t
count_united(const uint8_t *a, const uint8_t *b, uint64_t bytes)
{
	uint64_t	count = 0;

	for (uint64_t at = 0; at < bytes;)
	{
		uint64_t	stop = bytes - at > INTERRUPT_BYTES ? at + INTERRUPT_BYTES : bytes;

		filter_check_interrupts();
		for (; at < stop; at += sizeof(uint64_t))
			count += popcount64(get64(a + at) | get64(b + at));
	}
	return count;
}

/* The byte at "offset" of the bits of the planned layer i */
static inline uint8_t
united_byte(const FilterPlan *plan, int i, const uint8_t *a, const uint8_t *b,
			uint64_t offset)
{
	uint8_t		byte = 0;

	if (plan->from_a[i] >= 0)
		byte |= probe_layer(a, plan->from_a[i]).bits[offset];
	if (plan->from_b[i] >= 0)
		byte |= probe_layer(b, plan->from_b[i]).bits[offset];
	return byte;
}

/*
 * Order of two layers side by side: that in which a filter grows, and by their
 * bits where they are of one shape, so that it does not tell which of the two
 * filters a layer came from.
 */
static int
compare_layers(const FilterPlan *plan, int i, int j, const uint8_t *a,
			   const uint8_t *b)
{
	const FilterLayer *left = &plan->layer[i];
	const FilterLayer *right = &plan->layer[j];
	uint64_t	bytes = layer_bytes(left);

	if (left->capacity != right->capacity)
		return left->capacity < right->capacity ? -1 : 1;
	if (left->error_rate != right->error_rate)
		return left->error_rate > right->error_rate ? -1 : 1;
	if (!layer_same_shape(left, right))
		return 0;				/* not of filters that we made */
	for (uint64_t at = 0; at < bytes;)
	{
		uint64_t	stop = bytes - at > INTERRUPT_BYTES ? at + INTERRUPT_BYTES : bytes;

		filter_check_interrupts();
		for (; at < stop; at++)
		{
			int			difference = (int) united_byte(plan, i, a, b, at) -
				(int) united_byte(plan, j, a, b, at);

			if (difference != 0)
				return difference;
		}
	}
	return 0;
}

/* Put layers that came from b alone where the order wants them. */
static void
sort_layers(FilterPlan *plan, const uint8_t *a, const uint8_t *b)
{
	for (int i = 1; i < plan->layers; i++)
	{
		for (int j = i; j > 0 && compare_layers(plan, j, j - 1, a, b) < 0; j--)
		{
			FilterLayer layer = plan->layer[j];
			int			from_a = plan->from_a[j];
			int			from_b = plan->from_b[j];

			plan->layer[j] = plan->layer[j - 1];
			plan->from_a[j] = plan->from_a[j - 1];
			plan->from_b[j] = plan->from_b[j - 1];
			plan->layer[j - 1] = layer;
			plan->from_a[j - 1] = from_a;
			plan->from_b[j - 1] = from_b;
		}
	}
}

/*
 * Layers of one shape are joined, bit by bit, where the result is not over
 * full; the others are kept side by side.
 */
FilterStatus
filter_plan_union(const uint8_t *a, const uint8_t *b, FilterPlan *plan)
{
	bool		joined[IMAGE_MAX_LAYERS] = {false};
	FilterStatus status;

	if (image_layout(a) == LAYOUT_CUCKOO)
	{
		status = cuckoo_plan_layers(a, b, false, plan);
		return status == FILTER_OK ? plan_finish(plan) : status;
	}
	plan->layers = 0;
	for (int i = 0; i < image_layers(a); i++)
	{
		FilterLayer *layer = &plan->layer[plan->layers];

		image_get_layer(a, i, layer);
		plan->from_a[plan->layers] = i;
		plan->from_b[plan->layers] = -1;
		for (int j = 0; j < image_layers(b); j++)
		{
			FilterLayer other;
			uint64_t	set;

			image_get_layer(b, j, &other);
			if (joined[j] || !layer_same_shape(layer, &other))
				continue;
			set = count_united(a + layer->offset, b + other.offset,
							   layer_bytes(layer));
			if (layer->bits_full != 0 && set > layer->bits_full &&
				set > layer->bits_set && set > other.bits_set)
				continue;
			layer->bits_set = set;
			plan->from_b[plan->layers] = j;
			joined[j] = true;
			break;
		}
		plan->layers++;
	}
	for (int j = 0; j < image_layers(b); j++)
	{
		if (joined[j])
			continue;
		if (plan->layers == IMAGE_MAX_LAYERS)
			return FILTER_TOO_MANY_LAYERS;
		image_get_layer(b, j, &plan->layer[plan->layers]);
		plan->from_a[plan->layers] = -1;
		plan->from_b[plan->layers] = j;
		plan->layers++;
	}
	if (plan->layers > 1 && image_growth(a) == 0)
		return FILTER_FIXED;
	sort_layers(plan, a, b);
	return plan_finish(plan);
}

FilterStatus
filter_plan_union_apart(const uint8_t *a, const uint8_t *b, FilterPlan *plan)
{
	FilterStatus status = cuckoo_plan_layers(a, b, true, plan);

	return status == FILTER_OK ? plan_finish(plan) : status;
}

/*
 * Set in "into" what is set in "from".  Without an interrupt check, because the
 * number of set bits is wrong meanwhile; the largest filter takes some tenths of
 * a second.
 */
static void
unite_bits(uint8_t *into, const uint8_t *from, uint64_t bytes)
{
	for (uint64_t i = 0; i < bytes; i++)
		into[i] |= from[i];
}

bool
filter_unite(uint8_t *image, const uint8_t *a, const uint8_t *b,
			 const FilterPlan *plan)
{
	FilterParams params;

	image_get_params(a, &params);
	if (params.class == 0)
		params.class = image_class(b);
	plan_put(image, &params, plan);
	if (image_layout(image) == LAYOUT_CUCKOO)
		return cuckoo_unite(image, a, b, plan);
	for (int i = 0; i < plan->layers; i++)
	{
		const FilterLayer *layer = &plan->layer[i];
		uint64_t	bytes = layer_bytes(layer);

		filter_check_interrupts();
		if (plan->from_a[i] >= 0)
			unite_bits(image + layer->offset,
					   probe_layer(a, plan->from_a[i]).bits, bytes);
		filter_check_interrupts();
		if (plan->from_b[i] >= 0)
			unite_bits(image + layer->offset,
					   probe_layer(b, plan->from_b[i]).bits, bytes);
	}
	return true;
}

bool
filter_unites_within(const uint8_t *a, const FilterPlan *plan)
{
	if (image_layout(a) == LAYOUT_CUCKOO || plan->layers != image_layers(a))
		return false;
	for (int i = 0; i < plan->layers; i++)
		if (plan->from_a[i] != i)
			return false;
	return true;
}

void
filter_unite_within(uint8_t *a, const uint8_t *b, const FilterPlan *plan)
{
	if (image_class(a) == 0)
		image_set_class(a, image_class(b));
	for (int i = 0; i < plan->layers; i++)
	{
		const FilterLayer *layer = &plan->layer[i];

		if (plan->from_b[i] < 0)
			continue;
		unite_bits(a + layer->offset, probe_layer(b, plan->from_b[i]).bits,
				   layer_bytes(layer));
		put64(image_layer_at(a, i) + LAYER_OFF_BITS_SET, layer->bits_set);
	}
}

void
filter_intersect_within(uint8_t *a, const uint8_t *b)
{
	FilterLayer layer;
	FilterLayer other;
	uint64_t	bytes;
	uint64_t	set;

	image_get_layer(a, 0, &layer);
	image_get_layer(b, 0, &other);
	bytes = layer_bytes(&layer);
	/* counted before: no interrupt check is allowed while bits change */
	set = layer.bits_set + other.bits_set -
		count_united(a + layer.offset, b + other.offset, bytes);

	if (image_class(a) == 0)
		image_set_class(a, image_class(b));
	for (uint64_t i = 0; i < bytes; i++)
		a[layer.offset + i] &= b[other.offset + i];
	put64(image_layer_at(a, 0) + LAYER_OFF_BITS_SET, set);
}

void
filter_intersect_set(uint8_t *set, const uint8_t *other)
{
	set_retain(set, filter_contains, other);
}

double
filter_cardinality(const uint8_t *image)
{
	FilterLayer layers[IMAGE_MAX_LAYERS];
	int			count = image_layers(image);

	for (int i = 0; i < count; i++)
		image_get_layer(image, i, &layers[i]);
	/* the hashes of an explicit filter, or the layers of another */
	return image_count(image) + layers_cardinality(layers, count);
}

double
filter_estimated_error_rate(const uint8_t *image)
{
	double		right = 1;

	if (image_layout(image) == LAYOUT_CUCKOO)
		return cuckoo_error_rate(image);
	for (int i = 0; i < image_layers(image); i++)
	{
		FilterLayer layer;

		image_get_layer(image, i, &layer);
		right *= 1 - layer_error_rate(&layer);
	}
	return 1 - right;
}

void
filter_bits(const uint8_t *image, uint64_t *bits, uint64_t *bits_set)
{
	*bits = 64 * image_count(image);
	*bits_set = 0;
	for (int i = 0; i < image_layers(image); i++)
	{
		FilterLayer layer;

		image_get_layer(image, i, &layer);
		*bits += layer_bits(&layer);
		*bits_set += layer.layout == LAYOUT_CUCKOO ?
			layer.bits_set * cuckoo_width(layer.hashes) : layer.bits_set;
	}
}
