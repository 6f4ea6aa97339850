/*
 * bloom.c
 *	  Bloom filters: the layouts block512, block512x2 and small, which the
 *	  layers of one filter may mix; and the layout classic.
 *
 * When the last layer is full, and the filter may grow, we append a layer, which gets all new
 * elements (Almeida, Baquero, Preguica and Hutchison, "Scalable Bloom Filters", 2007; we use
 * the error rates of bloom_sizing.c).  Its capacity is growth/4 times that of all earlier
 * layers, or the number of elements that wait to be added, if that is larger.  By default, each
 * layer makes the filter one and a half times as large.  From the 20th layer on, growth doubles,
 * so that the smallest filter reaches the maximum size within IMAGE_MAX_LAYERS.
 *
 * We probe the last layer first, as it is usually the largest.  An element that an earlier layer
 * contains is not added again.  Layers of up to SMALL_CAPACITY_MAX elements are small: an
 * element's bits may be anywhere, as in classic.h.  A classic filter has one layer, whose size
 * the user chooses in bits: it has no capacity, is never full, and does not grow.
 *
 * The number of set bits is kept up to date, and shows how full a layer is.  It depends on the
 * set of elements alone; a count of additions would also depend on their order.
 */
#include "ops.h"

#include "classic.h"
#include "sizing.h"

/*
 * Bytes of a layer from which its overlap with others is estimated, to half a percent; and
 * the clear bits that a union needs for an estimate to a percent
 */
#define OVERLAP_BYTES	65536
#define OVERLAP_CLEAR_MIN	256

/* Most hashes of one block to add at once; at an error rate of 1 %, few full blocks have more */
#define RUN_MAX		64

/* Bits to test before a branch: in a full layer, an absent element passes 4 once in 16 times */
#define FLAT_TESTED	4

/*
 * Test FLAT_TESTED bits before each branch.  A test costs less than a mispredicted branch; if
 * the layer is not in the cache, misses overlap.  With "fetch", test one bit: fetching the next
 * costs more than a branch.
 */
static ALWAYS_INLINE bool
flat_contains(const ProbeLayer *layer, uint64_t hash)
{
	uint64_t	step = classic_step(hash);

	for (unsigned left = layer->hashes; left > 0;)
	{
		unsigned	now = layer->fetch ? 1 : smaller(left, FLAT_TESTED);
		unsigned	set = 1;

		left -= now;
		for (; now > 0; now--)
		{
			uint64_t	place = mulhi64(hash, layer->size);

			set &= *layer_slice(layer, place / 8, 1) >> (place % 8);
			classic_next(&hash, &step);
		}
		if ((set & 1) == 0)
			return false;
	}
	return true;
}

static ALWAYS_INLINE bool
layer_contains(const ProbeLayer *layer, uint64_t hash)
{
	return layer->flat ? flat_contains(layer, hash) : blocks_contain(layer, hash);
}

/* Set the element's bits, and return how many of them were clear before. */
static inline unsigned
layer_add(const ProbeLayer *layer, uint64_t hash)
{
	uint8_t    *block;
	unsigned	added;

	if (layer->flat)
		return classic_bits_add(layer->bits, layer->size, layer->hashes, hash);
	block = layer->bits + BLOCK_BYTES * first_block(hash, layer->size);
	added = block_kernel->add(block, block_word(hash), layer->hashes);
	if (layer->second)
	{
		block = layer->bits + BLOCK_BYTES * second_block(hash, layer->size);
		added += block_kernel->add(block, second_word(hash), layer->hashes);
	}
	return added;
}

/*
 * Set the bits of the first hashes, up to RUN_MAX, that have one block.  Set *added to the number
 * of bits that were clear before, and return the number of hashes.
 */
static inline size_t
layer_add_run(const ProbeLayer *layer, const uint64_t *hashes, size_t count, unsigned *added)
{
	uint64_t	words[RUN_MAX];
	uint64_t	block = first_block(hashes[0], layer->size);
	size_t		run = 0;

	do
		words[run] = block_word(hashes[run]);
	while (++run < RUN_MAX && run < count && first_block(hashes[run], layer->size) == block);
	*added = block_kernel->add_run(layer->bits + BLOCK_BYTES * block, words, run, layer->hashes);
	return run;
}

/* Always inline: gcc removes calls of a function that only prefetches. */
static ALWAYS_INLINE void
layer_prefetch(const ProbeLayer *layer, uint64_t hash)
{
	uint64_t	step = classic_step(hash);

	if (!layer->flat)
	{
		__builtin_prefetch(layer->bits + BLOCK_BYTES * first_block(hash, layer->size));
		if (layer->second)
			__builtin_prefetch(layer->bits + BLOCK_BYTES * second_block(hash, layer->size));
		return;
	}
	/* a small layer is soon in the cache as a whole */
	if (layer->size <= 8 * SMALL_MAX_BYTES)
		return;
	for (unsigned k = layer->hashes; k > 0; k--)
	{
		__builtin_prefetch(layer->bits + mulhi64(hash, layer->size) / 8);
		classic_next(&hash, &step);
	}
}

/* Always inline: with code for slices in it, a probe of memory would cost a third more. */
ALWAYS_INLINE bool
bloom_contains_sliced(const uint8_t *header, uint64_t hash, FilterFetch fetch,
					  void *from)
{
	for (int i = image_layers(header) - 1; i >= 0; i--)
	{
		ProbeLayer	layer = probe_layer(header, i);

		layer.fetch = fetch;
		layer.from = from;
		if (layer_contains(&layer, hash))
			return true;
	}
	return false;
}

static NEVER_INLINE bool
memory_layers_contain(const uint8_t *image, uint64_t hash)
{
	return bloom_contains_sliced(image, hash, NULL, NULL);
}

/* Probe compact images without the code for blocks, which needs more registers. */
bool
bloom_contains(const uint8_t *image, uint64_t hash)
{
	ProbeLayer	small;

	if (!image_is_compact(image))
		return memory_layers_contain(image, hash);
	small = probe_layer(image, 0);
	return flat_contains(&small, hash);
}

unsigned
bloom_slices(const uint8_t *header)
{
	unsigned	slices = 0;

	for (int i = 0; i < image_layers(header); i++)
	{
		ProbeLayer	layer = probe_layer(header, i);

		slices += layer.flat ? layer.hashes : layer.second ? 2 : 1;
	}
	return slices;
}

/*
 * Probe a layer for the hashes or, with "again", for those that are not found so far.  This
 * is always inlined: otherwise it would read the layer's fields again for each hash, since
 * the compiler cannot know that "found" does not alias them.
 */
static ALWAYS_INLINE void
probe_batch(const ProbeLayer *layer, const uint64_t *hashes, size_t count, bool again,
			bool *found)
{
	for (size_t i = 0; i < count && i < PREFETCH_AHEAD; i++)
		if (!again || !found[i])
			layer_prefetch(layer, hashes[i]);
	for (size_t i = 0; i < count; i++)
	{
		if (i + PREFETCH_AHEAD < count && !(again && found[i + PREFETCH_AHEAD]))
			layer_prefetch(layer, hashes[i + PREFETCH_AHEAD]);
		if (!again || !found[i])
			found[i] = layer_contains(layer, hashes[i]);
	}
}

void
bloom_contains_batch(const uint8_t *image, const uint64_t *hashes,
					 size_t count, bool *found)
{
	int			last = image_layers(image) - 1;
	ProbeLayer	newest = probe_layer(image, last);

	probe_batch(&newest, hashes, count, false, found);
	for (int i = last - 1; i >= 0; i--)
	{
		ProbeLayer	layer = probe_layer(image, i);

		probe_batch(&layer, hashes, count, true, found);
	}
}

static size_t
bloom_add_batch(uint8_t *image, const uint64_t *hashes, size_t count,
				bool unique)
{
	int			last = image_layers(image) - 1;
	FilterLayer fields = image_get_shape(image, last);
	ProbeLayer	layer = probe_layer(image, last);

	/* are they sorted, so close together that some share a block? */
	bool		runs = last == 0 && !layer.flat && !layer.second && count > 0 &&
		first_block(hashes[count - 1], layer.size) - first_block(hashes[0], layer.size) < count;
	size_t		i;
	size_t		run;

	if (image_is_compact(image) && fields.bits_full != 0)
		fields.bits_set = count_bits(layer.bits, layer.size / 8);
	for (i = 0; i < count && i < PREFETCH_AHEAD; i++)
		layer_prefetch(&layer, hashes[i]);
	for (i = 0; i < count; i += run)
	{
		run = 1;
		if (i + PREFETCH_AHEAD < count)
			layer_prefetch(&layer, hashes[i + PREFETCH_AHEAD]);
		/* no element need be tested unless the layer may get full on the way */
		if (runs && (fields.bits_full == 0 ||
					 fields.bits_set + RUN_MAX * layer.hashes <= fields.bits_full))
		{
			unsigned	added;

			run = layer_add_run(&layer, hashes + i, count - i, &added);
			fields.bits_set += added;
			continue;
		}
		if (last > 0 && bloom_contains(image, hashes[i]))
			continue;
		if (fields.bits_full != 0 && fields.bits_set >= fields.bits_full)
		{
			if (layer_contains(&layer, hashes[i]))
				continue;
			break;
		}
		fields.bits_set += layer_add(&layer, hashes[i]);
	}
	image_put_bits_set(image, last, fields.bits_set);
	return i;
}

bool
bloom_plan_layer(const FilterParams *params, const FilterLayer *before,
				 int count, uint64_t waiting, FilterLayer *layer)
{
	double		error_rate = params->error_rate;
	uint64_t	capacity = params->capacity;
	LayerUse	use = params->growth > 0 ? LAYER_GROWING : LAYER_FIXED;

	if (count == 0)
	{
		if (params->growth > 0)
			error_rate = first_layer_error_rate(capacity, error_rate,
												params->exact);
		if (params->exact)
			use = LAYER_EXACT;
	}
	else
	{
		capacity = 0;
		for (int i = 0; i < count; i++)
		{
			/* too large for any layer; and the sum must not overflow */
			if (before[i].capacity > IMAGE_MAX_BITS)
				return false;
			capacity += before[i].capacity;
		}
		capacity = next_layer_capacity(capacity, params->growth, count);
		if (capacity < waiting)
			capacity = waiting;
		error_rate = next_layer_error_rate(error_rate, before[0].error_rate,
										   count);
	}
	if (!params->counting)
		return layer_plan(capacity, error_rate, use, IMAGE_MAX_BITS, layer);

	/* counting layers have blocks only; bits and counters share the maximum */
	if (!blocks_plan(capacity, error_rate, use,
					 IMAGE_MAX_BITS / COUNTING_PLANES, layer))
		return false;
	layer->layout = layer_blocks(layer->layout) > 1 ?
		LAYOUT_COUNTINGX2 : LAYOUT_COUNTING;
	return true;
}

/* Estimate the elements of "sample", a layer of which only these bits are looked at. */
static double
sample_cardinality(FilterLayer *sample, const uint8_t *bits, uint64_t bytes)
{
	sample->bits_set = count_bits(bits, bytes);
	return layer_cardinality(sample);
}

/*
 * Set added[i] to the share of layer i's elements that no earlier layer of its shape contains.
 * We estimate it by what the layer adds to the union of these layers, in the first
 * OVERLAP_BYTES: a random sample, since elements choose blocks at random.  If the union has too
 * few clear bits, the result is an upper bound: the share that the most similar layer lacks.
 */
static void
find_added(const uint8_t *image, const FilterLayer *layers, int count,
		   double *added)
{
	uint8_t		united[OVERLAP_BYTES] = {0};
	double		in_united = 0;
	int			first = 0;		/* layers from here to i have one shape */

	for (int i = 0; i < count; i++)
	{
		const uint8_t *bits = image_layer_bits(image, i);
		uint64_t	bytes = bloom_layer_bits(&layers[i]) / 8;
		FilterLayer sample = layers[i];
		uint64_t	clear;
		double		own;

		added[i] = 1;
		if (layout_has_blocks(sample.layout) && bytes > OVERLAP_BYTES)
		{
			bytes = OVERLAP_BYTES;
			sample.size = bytes / BLOCK_BYTES;
		}
		if (i == 0 || !layer_same_shape(&layers[i], &layers[i - 1]))
		{
			first = i;
			/* skip layers whose shape no other layer has, as most do */
			if (i + 1 < count && layer_same_shape(&layers[i], &layers[i + 1]))
			{
				memcpy(united, bits, bytes);
				in_united = sample_cardinality(&sample, bits, bytes);
			}
			continue;
		}
		filter_check_interrupts();
		own = sample_cardinality(&sample, bits, bytes);
		clear = 8 * bytes - count_bits(united, bytes);
		if (own > 0 && clear >= OVERLAP_CLEAR_MIN)
		{
			double		before = in_united;

			for (uint64_t at = 0; at < bytes; at++)
				united[at] |= bits[at];
			in_united = sample_cardinality(&sample, united, bytes);
			added[i] = (in_united - before) / own;
		}
		for (int j = first; own > 0 && clear < OVERLAP_CLEAR_MIN && j < i; j++)
		{
			const uint8_t *other = image_layer_bits(image, j);
			double		in_other = sample_cardinality(&sample, other, bytes);
			double		outside;

			sample.bits_set = bits_count_united(bits, other, bytes);
			outside = (layer_cardinality(&sample) - in_other) / own;
			if (outside < added[i])
				added[i] = outside;
		}
		/* an estimate may be outside of 0 to 1 */
		added[i] = added[i] < 0 ? 0 : added[i] > 1 ? 1 : added[i];
	}
}

/* Count elements once if several layers of one shape contain them. */
static double
bloom_cardinality(const uint8_t *image)
{
	FilterLayer layers[IMAGE_MAX_LAYERS];
	double		added[IMAGE_MAX_LAYERS];
	int			count = image_get_layers(image, layers);

	find_added(image, layers, count, added);
	return layers_cardinality(layers, added, count);
}

/* ---- Bytes from outside ---- */

const char *
bloom_check_image(const uint8_t *image)
{
	if (image_layout(image) == LAYOUT_CLASSIC)
		return image_capacity(image) != 0 || image_error_rate(image) != 0 ?
			"classic filter with a capacity or error rate" : NULL;
	if (image_capacity(image) == 0 || image_error_rate(image) == 0)
		return "filter without capacity or error rate";
	return NULL;
}

/* IMAGE_MAX_BITS limits the bits of all counters. */
#define COUNTING_MAX_BLOCKS	(IMAGE_MAX_BITS / (COUNTING_PLANES * BLOCK_BITS))

/* Limits of an element's bits, and of a layer's size, by layout */
static const struct
{
	unsigned	hashes_max;
	uint64_t	size_min;
	uint64_t	size_max;
}			bounds[] = {
	[LAYOUT_BLOCK512] = {BLOCK_MAX_HASHES, 1, IMAGE_MAX_BITS / BLOCK_BITS},
	/* the two blocks of an element always differ */
	[LAYOUT_BLOCK512X2] = {BLOCK_MAX_HASHES, 2, IMAGE_MAX_BITS / BLOCK_BITS},
	[LAYOUT_CLASSIC] = {CLASSIC_MAX_HASHES, CLASSIC_MIN_BITS, IMAGE_MAX_BITS},
	[LAYOUT_SMALL] = {SMALL_MAX_HASHES, 8, 8 * SMALL_MAX_BYTES},
	[LAYOUT_COUNTING] = {BLOCK_MAX_HASHES, 1, COUNTING_MAX_BLOCKS},
	[LAYOUT_COUNTINGX2] = {BLOCK_MAX_HASHES, 2, COUNTING_MAX_BLOCKS}
};

const char *
bloom_check_layer(const uint8_t *image, int i, const FilterLayer *layer)
{
	FilterLayout layout = layer->layout;

	if ((layout == LAYOUT_CLASSIC) != (image_layout(image) == LAYOUT_CLASSIC))
		return "layer of another kind of filter";
	if (layer->hashes < 1 || layer->hashes > bounds[layout].hashes_max)
		return "number of hashes out of range";
	if (layer->size < bounds[layout].size_min ||
		layer->size > bounds[layout].size_max ||
		(layout == LAYOUT_SMALL && layer->size % 8 != 0))
		return layout_is_flat(layout) ? "number of bits out of range" :
			"number of blocks out of range";
	if (layer->multiple != 0)
		return "multiple in a layer of a Bloom filter";
	if (layout == LAYOUT_CLASSIC)
	{
		if (layer->capacity != 0 || layer->bits_full != 0 ||
			get64(image_layer_at(image, i) + LAYER_OFF_ERROR_RATE) != 0)
			return "classic layer with a capacity or error rate";
		if (image_layers(image) != 1 || image_growth(image) != 0)
			return "classic filter with several layers";
		return NULL;
	}
	if (layout == LAYOUT_SMALL && layer->capacity > SMALL_CAPACITY_MAX)
		return "capacity of a layer out of range";
	return layer->capacity == 0 ? "layer without capacity" : NULL;
}

const FilterOps bloom_ops = {
	.kind = FILTER_BLOOM,
	.layer_bits = bloom_layer_bits,
	.contains = bloom_contains,
	.contains_batch = bloom_contains_batch,
	.slices = bloom_slices,
	.contains_sliced = bloom_contains_sliced,
	.cardinality = bloom_cardinality,
	.header_cardinality = bits_cardinality,
	.add_batch = bloom_add_batch,
	.plan_layer = bloom_plan_layer,
	.plan_union = bits_plan_union,
	.unite = bits_unite,
	.in_place = true,
	.intersect_in_place = bits_intersect_in_place,
	.check_image = bloom_check_image,
	.check_layer = bloom_check_layer,
	.check_bits = bits_check
};
