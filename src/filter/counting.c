/*
 * counting.c
 *	  Counting Bloom filters: the layouts counting and countingx2, blocks with a
 *	  counter for each bit, so that elements can be removed.
 *
 * Each bit of a Bloom filter is replaced by a counter (Fan, Cao, Almeida and Broder, "Summary
 * Cache", 2000, section V).  Counters are stored in planes.  The first plane of a layer is the
 * bits of block512 or block512x2: a bit is set if its counter is above zero.  A probe reads this
 * plane alone, so it has the speed and the error rate of those layouts.  Behind the first plane,
 * each block has the blocks of three higher planes: three bits of each counter, which store the
 * counter minus one.  So the maximum is COUNTING_MOST.  A counter that reaches it is saturated:
 * its true value is lost.  It is never decremented, so that no removal clears a bit that another
 * element needs.  The 64 counters of a lane change at once, by the logic of an adder.
 *
 * Additions and removals of an element change the first layer that contains it.  If earlier
 * layers contained it when it was added, that is the first one of them; else it is the layer
 * that was the last then, since only the last layer gets new bits.  README.md says
 * why any other layer would lose elements.  For the same reason, a union must have one layer.
 */
#include "ops.h"

#include "sizing.h"

/* The planes of a layer behind its bits, and the bytes of a block in all of them */
#define HIGHER_PLANES	(COUNTING_PLANES - 1)
#define HIGHER_BYTES	(HIGHER_PLANES * BLOCK_BYTES)

/* Blocks between two interrupt checks */
#define INTERRUPT_BLOCKS	(INTERRUPT_BYTES / (COUNTING_PLANES * BLOCK_BYTES))

/* The 64 counters of a lane: bit i of all these words is the counter of bit i */
typedef struct Counters
{
	uint64_t	above;			/* is the counter above zero? */
	uint64_t	higher[HIGHER_PLANES];	/* counter - 1, lowest bit first */
} Counters;

/* A block of a layer, and its blocks in the higher planes */
typedef struct CountingBlock
{
	uint8_t    *bits;
	uint8_t    *higher;
} CountingBlock;

static inline CountingBlock
counting_block(const ProbeLayer *layer, uint64_t block)
{
	return (CountingBlock)
	{
		.bits = layer->bits + BLOCK_BYTES * block,
			.higher = layer->bits + BLOCK_BYTES * layer->size +
				HIGHER_BYTES * block
		};
}

/* Return the element's first (choice 0) or second block; set *word, which selects its bits. */
static inline CountingBlock
element_block(const ProbeLayer *layer, uint64_t hash, unsigned choice,
			  uint64_t *word)
{
	*word = choice == 0 ? block_word(hash) : second_word(hash);
	return counting_block(layer, choice == 0 ?
						  first_block(hash, layer->size) :
						  second_block(hash, layer->size));
}

static inline Counters
get_counters(const CountingBlock *block, int lane)
{
	Counters	counters = {.above = get64(block->bits + 8 * lane)};

	for (int plane = 0; plane < HIGHER_PLANES; plane++)
		counters.higher[plane] =
			get64(block->higher + BLOCK_BYTES * plane + 8 * lane);
	return counters;
}

static inline void
put_counters(const CountingBlock *block, int lane, const Counters *counters)
{
	put64(block->bits + 8 * lane, counters->above);
	for (int plane = 0; plane < HIGHER_PLANES; plane++)
		put64(block->higher + BLOCK_BYTES * plane + 8 * lane,
			  counters->higher[plane]);
}

/* Which counters have reached COUNTING_MOST? */
static inline uint64_t
counters_full(const Counters *counters)
{
	uint64_t	full = counters->above;

	for (int plane = 0; plane < HIGHER_PLANES; plane++)
		full &= counters->higher[plane];
	return full;
}

/* Return the sums of the counters of "a" and "b", each at most COUNTING_MOST. */
static inline Counters
counters_sum(const Counters *a, const Counters *b)
{
	Counters	sum = {.above = a->above | b->above};

	/* (a - 1) + (b - 1) + 1 where both are above zero */
	uint64_t	carry = a->above & b->above;

	for (int plane = 0; plane < HIGHER_PLANES; plane++)
	{
		uint64_t	either = a->higher[plane] ^ b->higher[plane];
		uint64_t	both = a->higher[plane] & b->higher[plane];

		sum.higher[plane] = either ^ carry;
		carry = both | (either & carry);
	}
	for (int plane = 0; plane < HIGHER_PLANES; plane++)
		sum.higher[plane] |= carry;
	return sum;
}

/* Subtract one from the counters that "one" selects; these are above zero. */
static inline Counters
counters_down(const Counters *counters, const Counters *one)
{
	Counters	less = *counters;
	uint64_t	borrow = one->above & ~counters_full(counters);

	for (int plane = 0; plane < HIGHER_PLANES; plane++)
	{
		less.higher[plane] ^= borrow;
		borrow &= less.higher[plane];
	}
	/* the counter was one where the borrow remains: now it is zero */
	less.above &= ~borrow;
	for (int plane = 0; plane < HIGHER_PLANES; plane++)
		less.higher[plane] &= ~borrow;
	return less;
}

/* Return, for each counter, the lesser of those of "a" and "b". */
static inline Counters
counters_least(const Counters *a, const Counters *b)
{
	Counters	least = {.above = a->above & b->above};
	uint64_t	a_less = 0;

	for (int plane = 0; plane < HIGHER_PLANES; plane++)
	{
		uint64_t	differ = a->higher[plane] ^ b->higher[plane];

		a_less = (differ & b->higher[plane]) | (~differ & a_less);
	}
	for (int plane = 0; plane < HIGHER_PLANES; plane++)
		least.higher[plane] = least.above &
			((a_less & a->higher[plane]) | (~a_less & b->higher[plane]));
	return least;
}

/* Return the first of the layers before "end" that contains the element, or "end". */
static inline int
find_layer(const uint8_t *image, uint64_t hash, int end)
{
	int			i = 0;

	for (; i < end; i++)
	{
		ProbeLayer	layer = probe_layer(image, i);

		if (blocks_contain(&layer, hash))
			break;
	}
	return i;
}

/*
 * Change the element's counters by "change", which gets the counters of a lane, and Counters
 * that are one for the element's bits and else zero.  Return how many counters were zero before
 * or are zero now, but not both.  Set *counted if any was not saturated before.
 */
static ALWAYS_INLINE unsigned
change_element(const ProbeLayer *layer, uint64_t hash, bool *counted,
			   Counters (*change) (const Counters *old, const Counters *one))
{
	unsigned	flipped = 0;

	*counted = false;
	for (unsigned choice = 0; choice <= layer->second; choice++)
	{
		uint8_t		mask[BLOCK_BYTES] = {0};
		uint64_t	word;
		CountingBlock block = element_block(layer, hash, choice, &word);

		(void) block_kernel->add(mask, word, layer->hashes);
		for (int lane = 0; lane < BLOCK_LANES; lane++)
		{
			Counters	one = {.above = get64(mask + 8 * lane)};
			Counters	old = get_counters(&block, lane);
			Counters	changed = change(&old, &one);

			*counted |= (one.above & ~counters_full(&old)) != 0;
			flipped += popcount64(old.above ^ changed.above);
			put_counters(&block, lane, &changed);
		}
	}
	return flipped;
}

/* Return the least of an element's counters in one of its blocks. */
static unsigned
block_count(const CountingBlock *block, uint64_t word, unsigned hashes)
{
	uint8_t		mask[BLOCK_BYTES] = {0};
	unsigned	least = 1;

	(void) block_kernel->add(mask, word, hashes);
	/* from the highest plane: keep the counters whose bit is clear, if any */
	for (int plane = HIGHER_PLANES - 1; plane >= 0; plane--)
	{
		const uint8_t *at = block->higher + BLOCK_BYTES * plane;
		uint64_t	clear = 0;

		for (int lane = 0; lane < BLOCK_LANES; lane++)
			clear |= get64(mask + 8 * lane) & ~get64(at + 8 * lane);
		if (clear == 0)
		{
			least += 1u << plane;
			continue;
		}
		for (int lane = 0; lane < BLOCK_LANES; lane++)
			put64(mask + 8 * lane,
				  get64(mask + 8 * lane) & ~get64(at + 8 * lane));
	}
	return least;
}

static unsigned
counting_count(const uint8_t *image, uint64_t hash)
{
	int			layers = image_layers(image);
	int			i = find_layer(image, hash, layers);
	unsigned	least = COUNTING_MOST;
	ProbeLayer	layer;

	if (i == layers)
		return 0;
	layer = probe_layer(image, i);
	for (unsigned choice = 0; choice <= layer.second; choice++)
	{
		uint64_t	word;
		CountingBlock block = element_block(&layer, hash, choice, &word);
		unsigned	count = block_count(&block, word, layer.hashes);

		if (count < least)
			least = count;
	}
	return least;
}

/* Prefetch what an addition changes.  Always inline: see layer_prefetch() in bloom.c. */
static ALWAYS_INLINE void
layer_prefetch(const ProbeLayer *layer, uint64_t hash)
{
	for (unsigned choice = 0; choice <= layer->second; choice++)
	{
		uint64_t	word;
		CountingBlock block = element_block(layer, hash, choice, &word);

		__builtin_prefetch(block.bits, 1);
		for (int plane = 0; plane < HIGHER_PLANES; plane++)
			__builtin_prefetch(block.higher + BLOCK_BYTES * plane, 1);
	}
}

static size_t
counting_add_batch(uint8_t *image, const uint64_t *hashes, size_t count,
				   bool unique)
{
	int			last = image_layers(image) - 1;
	uint8_t    *descriptor = image_layer_at(image, last);
	uint64_t	bits_set = get64(descriptor + LAYER_OFF_BITS_SET);
	uint64_t	bits_full = get64(descriptor + LAYER_OFF_BITS_FULL);
	ProbeLayer	layer = probe_layer(image, last);
	bool		counted;
	size_t		i;

	for (i = 0; i < count && i < PREFETCH_AHEAD; i++)
		layer_prefetch(&layer, hashes[i]);
	for (i = 0; i < count; i++)
	{
		int			home = find_layer(image, hashes[i], last);

		if (i + PREFETCH_AHEAD < count)
			layer_prefetch(&layer, hashes[i + PREFETCH_AHEAD]);
		if (home < last)
		{
			ProbeLayer	earlier = probe_layer(image, home);

			(void) change_element(&earlier, hashes[i], &counted, counters_sum);
			continue;
		}
		if (bits_full != 0 && bits_set >= bits_full &&
			!blocks_contain(&layer, hashes[i]))
			break;
		bits_set += change_element(&layer, hashes[i], &counted, counters_sum);
	}
	put64(descriptor + LAYER_OFF_BITS_SET, bits_set);
	return i;
}

static FilterRemoval
counting_remove(uint8_t *image, uint64_t hash)
{
	int			layers = image_layers(image);
	int			i = find_layer(image, hash, layers);
	uint8_t    *bits_set;
	ProbeLayer	layer;
	bool		counted;

	if (i == layers)
		return FILTER_ABSENT;
	bits_set = image_layer_at(image, i) + LAYER_OFF_BITS_SET;
	layer = probe_layer(image, i);
	put64(bits_set, get64(bits_set) -
		  change_element(&layer, hash, &counted, counters_down));
	return counted ? FILTER_REMOVED : FILTER_SATURATED;
}

/* ---- Two filters ---- */

/* Change a layer's counters.  No interrupt checks if in_place: bits_set is wrong meanwhile. */
static inline void
change_layer(const ProbeLayer *layer, const ProbeLayer *other, bool in_place,
			 Counters (*change) (const Counters *a, const Counters *b))
{
	for (uint64_t i = 0; i < layer->size; i++)
	{
		CountingBlock block = counting_block(layer, i);
		CountingBlock from = counting_block(other, i);

		if (!in_place && i % INTERRUPT_BLOCKS == 0)
			filter_check_interrupts();
		for (int lane = 0; lane < BLOCK_LANES; lane++)
		{
			Counters	a = get_counters(&block, lane);
			Counters	b = get_counters(&from, lane);
			Counters	changed = change(&a, &b);

			put_counters(&block, lane, &changed);
		}
	}
}

static bool
has_no_bits(const uint8_t *image)
{
	for (int i = 0; i < image_layers(image); i++)
		if (get64(image_layer_at(image, i) + LAYER_OFF_BITS_SET) != 0)
			return false;
	return true;
}

/* Plan one layer with the sums of both filters' counters. */
static FilterStatus
counting_plan_union(const uint8_t *a, const uint8_t *b, bool apart,
					FilterPlan *plan)
{
	FilterLayer *layer = &plan->layer[0];
	FilterLayer other;
	uint64_t	set;

	if (has_no_bits(a) || has_no_bits(b))
	{
		plan_side(plan, has_no_bits(b) ? a : b, has_no_bits(b));
		return FILTER_OK;
	}
	if (image_layers(a) > 1 || image_layers(b) > 1)
		return FILTER_NOT_ONE_LAYER;
	*layer = image_get_layer(a, 0);
	other = image_get_layer(b, 0);
	set = bits_count_united(image_layer_bits(a, 0), image_layer_bits(b, 0),
							BLOCK_BYTES * layer->size);
	if (bits_too_full(layer, &other, set))
		return image_growth(a) == 0 ? FILTER_FIXED : FILTER_NOT_ONE_LAYER;
	layer->bits_set = set;
	plan->layers = 1;
	plan->from_a[0] = plan->from_b[0] = 0;
	return FILTER_OK;
}

static bool
counting_unite(uint8_t *image, const uint8_t *a, const uint8_t *b,
			   const FilterPlan *plan)
{
	for (int i = 0; i < plan->layers; i++)
	{
		ProbeLayer	layer = probe_layer(image, i);
		ProbeLayer	other;

		if (image != a && plan->from_a[i] >= 0)
		{
			other = probe_layer(a, plan->from_a[i]);
			change_layer(&layer, &other, false, counters_sum);
		}
		if (plan->from_b[i] >= 0)
		{
			other = probe_layer(b, plan->from_b[i]);
			change_layer(&layer, &other, image == a, counters_sum);
		}
	}
	return true;
}

static void
counting_intersect_in_place(uint8_t *a, const uint8_t *b)
{
	ProbeLayer	layer = probe_layer(a, 0);
	ProbeLayer	other = probe_layer(b, 0);
	uint64_t	set = image_get_shape(a, 0).bits_set + image_get_shape(b, 0).bits_set -
		bits_count_united(layer.bits, other.bits, BLOCK_BYTES * layer.size);

	change_layer(&layer, &other, true, counters_least);
	image_put_bits_set(a, 0, set);
}

/* ---- Sizes, and bytes from outside ---- */

static uint64_t
counting_layer_bits(const FilterLayer *layer)
{
	return COUNTING_PLANES * bloom_layer_bits(layer);
}

static const char *
counting_check_bits(const uint8_t *image, int i, const FilterLayer *layer)
{
	ProbeLayer	counting = probe_layer(image, i);

	for (uint64_t at = 0; at < counting.size; at++)
	{
		CountingBlock block = counting_block(&counting, at);

		if (at % INTERRUPT_BLOCKS == 0)
			filter_check_interrupts();
		for (int lane = 0; lane < BLOCK_LANES; lane++)
		{
			Counters	counters = get_counters(&block, lane);

			for (int plane = 0; plane < HIGHER_PLANES; plane++)
				if ((counters.higher[plane] & ~counters.above) != 0)
					return "counter of a bit that is not set";
		}
	}
	return bits_check(image, i, layer);
}

const FilterOps counting_ops = {
	.kind = FILTER_BLOOM,
	.multiset = true,
	.layer_bits = counting_layer_bits,
	.contains = bloom_contains,
	.contains_batch = bloom_contains_batch,
	.slices = bloom_slices,
	.contains_sliced = bloom_contains_sliced,
	.count = counting_count,
	.header_cardinality = bits_cardinality,
	.add_batch = counting_add_batch,
	.remove = counting_remove,
	.plan_layer = bloom_plan_layer,
	.plan_union = counting_plan_union,
	.unite = counting_unite,
	.in_place = true,
	.intersect_in_place = counting_intersect_in_place,
	.check_image = bloom_check_image,
	.check_layer = bloom_check_layer,
	.check_bits = counting_check_bits
};
