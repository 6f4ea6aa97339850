/*
 * foreign.c
 *	  Filters of other systems: the operations of the layout.
 *
 * An element has the same bits here as in the other system; only their order is ours (bit i is
 * bit i % 8 of byte i / 8).  So an export gives exactly the bytes that were imported.  Each
 * format's own operations are in its ForeignFormat.
 *
 * Limits: foreign filters do not grow.  They are united only with filters of the same format,
 * form of elements, hashes and size.  (A filter of Parquet's can be folded, block by block, to a
 * size that divides its own; see BloomFilter.md of the Parquet format.)  The number of elements
 * is estimated from the bits, but RedisBloom's filters count it.  RedisBloom's cuckoo filters
 * take no elements.
 */
#include "foreign.h"

#include "../ops.h"
#include "../sizing.h"
#include "common.h"

void
foreign_contains_batch(const uint8_t *image, const ForeignHash *hashes,
					   size_t count, bool *found)
{
	foreign_image_format(image)->places->contains(image, hashes, count, found,
												  NULL, NULL);
}

bool
foreign_contains_sliced(const uint8_t *header, const ForeignHash *hash,
						FilterFetch fetch, void *from)
{
	bool		found;

	foreign_image_format(header)->places->contains(header, hash, 1, &found,
												   fetch, from);
	return found;
}

/* Return the slices of a probe: one for a block, a few for two buckets, else one for each bit. */
static unsigned
foreign_slices(const uint8_t *header)
{
	const ForeignFormat *format = foreign_image_format(header);
	unsigned	slices = 0;

	for (int i = 0; i < image_layers(header); i++)
	{
		unsigned	hashes = image_layer_at(header, i)[LAYER_OFF_HASHES];

		slices += format->blocks ? 1 :
			format->cuckoo ? 2 * ((hashes + SLICE_MAX_BYTES - 1) / SLICE_MAX_BYTES) : hashes;
	}
	return slices;
}

/* Return how many elements, and how many set bits, a layer has room for. */
static ForeignCount
room_of(const ForeignFormat *format, const FilterLayer *layer)
{
	ForeignCount room = {UINT64_MAX, UINT64_MAX};

	if (format->counted)
		room.elements = layer->capacity - smaller(layer->multiple, layer->capacity);
	else if (layer->bits_full != 0)
		room.bits = layer->bits_full - smaller(layer->bits_set, layer->bits_full);
	return room;
}

size_t
foreign_add_batch(uint8_t *image, const ForeignHash *hashes, size_t count)
{
	const ForeignFormat *format = foreign_image_format(image);
	int			last = image_layers(image) - 1;
	ForeignCount added;
	FilterLayer layer = image_get_layer(image, last);
	size_t		done = format->places->add_batch(image, hashes, count,
												 room_of(format, &layer), &added);

	if (added.elements > 0)
	{
		layer.bits_set += added.bits;
		if (format->counted)
			layer.multiple += added.elements;
		layer.detail &= ~format->add_unsets;
		if (format->note_added)
			format->note_added(&layer, image_layer_bits(image, last));
		image_put_layer(image, last, &layer);
	}
	return done;
}

/* No caller probes a foreign filter for a hash of ours; if one did, "true" means "perhaps". */
static bool
contains_ours(const uint8_t *image, uint64_t hash)
{
	return true;
}

static bool
contains_ours_sliced(const uint8_t *header, uint64_t hash,
					 FilterFetch fetch, void *from)
{
	return true;
}

static unsigned
foreign_count(const uint8_t *image, uint64_t hash)
{
	return foreign_image_format(image)->places->count(image, hash);
}

static FilterRemoval
foreign_remove(uint8_t *image, uint64_t hash)
{
	return foreign_image_format(image)->places->remove(image, hash);
}

bool
foreign_takes_elements(const uint8_t *image)
{
	return foreign_image_format(image)->places->add_batch != NULL;
}

bool
foreign_counts(const uint8_t *image)
{
	return image_is_foreign(image) && foreign_image_format(image)->places->count != NULL;
}

double
foreign_layer_cardinality(const FilterLayer *layer)
{
	return elements_from_bits((double) layer->size, (double) layer->bits_set,
							  foreign_log_spared(layer));
}

/* Each element is in one layer only, so the filter's cardinality is the sum of its layers'. */
static double
layer_elements(const uint8_t *header, const FilterLayer *layer)
{
	const ForeignFormat *format = foreign_image_format(header);

	return format->layer_elements ? format->layer_elements(layer) :
		foreign_layer_cardinality(layer);
}

static double
foreign_layer_error_rate(const uint8_t *header, const FilterLayer *layer)
{
	const ForeignFormat *format = foreign_image_format(header);

	if (layer->bits_set == 0)
		return 0;
	return format->error_rate ?
		format->error_rate(layer, layer_elements(header, layer)) :
		layer_error_rate(layer);
}

static bool
foreign_may_fill(const uint8_t *image, uint64_t count)
{
	FilterLayer last = image_get_layer(image, image_layers(image) - 1);
	ForeignCount room = room_of(foreign_image_format(image), &last);

	return count > room.elements || count * last.hashes > room.bits;
}

static void
foreign_clear_layer(const uint8_t *image, FilterLayer *layer)
{
	layer->bits_set = 0;
	layer->multiple = 0;
	if (foreign_image_format(image)->cuckoo)
		layer->bits_full = 0;	/* number of removals */
	layer->detail &= ~foreign_image_format(image)->clear_unsets;
}

/* ---- Two filters ---- */

/*
 * The two filters, of one format, form and seed, must have layers of the same sizes and hashes.
 * Sizes of Parquet's filters may differ if one divides the other: a hash that chooses block b of
 * n chooses block b / r of n / r, as the block is mulhi(hash, number of blocks).
 */
static bool
foreign_compatible(const uint8_t *a, const uint8_t *b)
{
	bool		blocks = foreign_image_format(a)->blocks;

	if (image_layers(a) != image_layers(b))
		return false;
	for (int i = 0; i < image_layers(a); i++)
	{
		FilterLayer left = image_get_shape(a, i);
		FilterLayer right = image_get_shape(b, i);

		if (left.hashes != right.hashes)
			return false;
		if (left.size != right.size &&
			!(blocks && (left.size % right.size == 0 ||
						 right.size % left.size == 0)))
			return false;
	}
	return true;
}

/*
 * Does the joined layer get its fields from "left"?  It gets those of the smaller layer.  For
 * layers of one size, the choice does not depend on which filter is the left one.
 */
static bool
left_is_first(const FilterLayer *left, const FilterLayer *right)
{
	if (left->size != right->size)
		return left->size < right->size;
	if (left->capacity != right->capacity)
		return left->capacity < right->capacity;
	if (left->error_rate != right->error_rate)
		return left->error_rate < right->error_rate;
	if (left->bits_full != right->bits_full)
		return left->bits_full < right->bits_full;
	return left->detail <= right->detail;
}

/* Return the fields of the union of two layers or, if !united, of their intersection. */
static FilterLayer
join_layers(const ForeignFormat *format, const FilterLayer *left,
			const FilterLayer *right, bool united)
{
	FilterLayer joined = left_is_first(left, right) ? *left : *right;

	joined.bits_set = 0;
	if (format->join)
		format->join(left, right, united, &joined);
	/* if the two were made for different parameters, derive the capacity */
	if (!format->counted &&
		(left->capacity != right->capacity || left->size != right->size ||
		 left->error_rate != right->error_rate))
	{
		joined.error_rate = 0;
		foreign_set_capacity(format, &joined);
	}
	return joined;
}

/* The union may be more than full, as in the other systems. */
static FilterStatus
foreign_plan_union(const uint8_t *a, const uint8_t *b, bool apart,
				   FilterPlan *plan)
{
	const ForeignFormat *format = foreign_image_format(a);

	plan->layers = image_layers(a);
	for (int i = 0; i < plan->layers; i++)
	{
		FilterLayer left = image_get_layer(a, i);
		FilterLayer right = image_get_layer(b, i);

		plan->layer[i] = join_layers(format, &left, &right, true);
		plan->from_a[i] = i;
		plan->from_b[i] = i;
	}
	return FILTER_OK;
}

/* Set "folded" to the union of "times" consecutive parts of "bytes" bytes, from "from" on. */
static void
get_folded(uint8_t *folded, uint64_t bytes, const uint8_t *from, uint64_t times)
{
	memcpy(folded, from, bytes);
	for (uint64_t i = 1; i < times; i++)
		for (uint64_t at = 0; at < bytes; at++)
			folded[at] |= from[i * bytes + at];
}

/*
 * Write the union of layer i's bits of both images or, if !united, their intersection to "into";
 * return how many are set.  An intersection overwrites a's bits: it has no interrupt checks.
 */
static uint64_t
join_bits(uint8_t *into, const FilterLayer *joined, const uint8_t *a,
		  const uint8_t *b, int i, bool united)
{
	const uint8_t *left_bits = image_layer_bits(a, i);
	const uint8_t *right_bits = image_layer_bits(b, i);
	uint64_t	bytes = (joined->size + 7) / 8;
	uint64_t	set = 0;
	uint64_t	left_times = image_get_shape(a, i).size / joined->size;
	uint64_t	right_times = image_get_shape(b, i).size / joined->size;

	for (uint64_t at = 0; at < bytes; at += PARQUET_BLOCK_BYTES)
	{
		uint8_t		left[PARQUET_BLOCK_BYTES] = {0};
		uint8_t		right[PARQUET_BLOCK_BYTES] = {0};

		/* other formats have any number of bytes, and no folding */
		uint64_t	some = bytes - at < sizeof(left) ? bytes - at : sizeof(left);

		if (united && at % INTERRUPT_BYTES == 0)
			filter_check_interrupts();
		get_folded(left, some, left_bits + at * left_times, left_times);
		get_folded(right, some, right_bits + at * right_times, right_times);
		for (size_t j = 0; j < sizeof(left); j += sizeof(uint64_t))
		{
			uint64_t	word = get64(left + j);
			uint64_t	other = get64(right + j);

			word = united ? word | other : word & other;
			set += popcount64(word);
			put64(left + j, word);
		}
		memcpy(into + at, left, some);
	}
	return set;
}

static bool
foreign_unite(uint8_t *image, const uint8_t *a, const uint8_t *b,
			  const FilterPlan *plan)
{
	for (int i = 0; i < plan->layers; i++)
		image_put_bits_set(image, i,
						   join_bits(image_layer_bits(image, i),
									 &plan->layer[i], a, b, i, true));
	return true;
}

/* "a" gets the smaller size.  No interrupt checks: fields and bits disagree meanwhile. */
static void
foreign_intersect_in_place(uint8_t *a, const uint8_t *b)
{
	FilterParams params = image_get_params(a);
	FilterLayer left = image_get_layer(a, 0);
	FilterLayer right = image_get_layer(b, 0);
	FilterLayer joined = join_layers(foreign_image_format(a), &left, &right,
									 false);
	uint8_t    *bits = image_layer_bits(a, 0);
	uint64_t	bytes = (joined.size + 7) / 8;

	if (joined.error_rate == 0 || image_capacity(b) != params.capacity ||
		image_error_rate(b) != params.error_rate)
	{
		params.capacity = 0;
		params.error_rate = 0;
	}
	joined.bits_set = join_bits(bits, &joined, a, b, 0, false);
	joined.offset = left.offset;
	memset(bits + bytes, 0, image_aligned(bytes) - bytes);
	image_put_layers(a, &params, &joined, 1,
					 joined.offset + image_aligned(bytes));
}

/* ---- Bytes from outside ---- */

static const char *
foreign_check_image(const uint8_t *image)
{
	ForeignType type;
	uint64_t	seed = image_seed(image);

	if (!foreign_type(image_class(image), &type))
		return "unknown format or form of element";
	if ((image_capacity(image) == 0) != (image_error_rate(image) == 0))
		return "filter with only one of capacity and error rate";
	if (image_growth(image) != 0)
		return "growth of another system's filter";
	if (image_layers(image) != 1 && !type.format->counted &&
		!type.format->needs_shape)
		return "number of layers out of range";
	if (type.format->seed_bits == 0 ? seed != 0 :
		type.format->seed_bits == 32 &&
		seed != (uint64_t) (int64_t) (int32_t) seed)
		return "seed out of range";
	return NULL;
}

static const char *
foreign_check_layer(const uint8_t *image, int i, const FilterLayer *layer)
{
	const ForeignFormat *format = foreign_image_format(image);
	FilterLayer before;

	if (layer->hashes < 1 ||
		(format->hashes != 0 && layer->hashes != format->hashes))
		return "number of hashes out of range";
	if (layer->size < 1 || layer->size > IMAGE_MAX_BITS)
		return "number of bits out of range";
	/* if the filter has a capacity, it is that of the layer */
	if (layer->capacity < 1 || layer->capacity > INT64_MAX ||
		(image_capacity(image) != 0 && layer->capacity != image_capacity(image)))
		return "capacity of a layer out of range";
	if (!format->counted &&
		get64(image_layer_at(image, i) + LAYER_OFF_ERROR_RATE) !=
		get64(image + IMAGE_OFF_ERROR_RATE))
		return "error rate of a layer out of range";
	if (!format->counted && layer->detail > format->most_detail)
		return "reserved bytes of a layer are not zero";
	if (!format->counted && !format->needs_shape && layer->multiple != 0)
		return "multiple in a layer of a Bloom filter";
	if (!format->needs_shape && layer->size % format->unit != 0)
		return "number of bits out of range";
	if (!format->check_layer)
		return NULL;
	if (i == 0)
		return format->check_layer(layer, layer);
	before = image_get_layer(image, i - 1);
	return format->check_layer(&before, layer);
}

static const char *
foreign_check_bits(const uint8_t *image, int i, const FilterLayer *layer)
{
	const ForeignFormat *format = foreign_image_format(image);
	FilterLayer counted = *layer;
	const char *fault = format->check_bits ?
		format->check_bits(layer, image_layer_bits(image, i)) : NULL;

	if (format->counted)
		counted.bits_full = 0;	/* the format may store another number there */
	return fault ? fault : bits_check(image, i, &counted);
}

const FilterOps foreign_ops = {
	.kind = FILTER_BLOOM,
	.detailed = true,
	.layer_bits = bloom_layer_bits,
	.contains = contains_ours,
	.slices = foreign_slices,
	.contains_sliced = contains_ours_sliced,
	.count = foreign_count,
	.layer_cardinality = layer_elements,
	.layer_error_rate = foreign_layer_error_rate,
	.may_fill = foreign_may_fill,
	.remove = foreign_remove,
	.clear_layer = foreign_clear_layer,
	.compatible = foreign_compatible,
	.plan_union = foreign_plan_union,
	.unite = foreign_unite,
	.intersect_in_place = foreign_intersect_in_place,
	.check_image = foreign_check_image,
	.check_layer = foreign_check_layer,
	.check_bits = foreign_check_bits
};
