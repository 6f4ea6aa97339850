/*
 * foreign_union.c
 *	  Unions and intersections of other systems' filters; see foreign.c.
 *
 * Both filters have the same layers.  Of Parquet's, one may be a multiple of the
 * other in size: it is folded, block by block, which loses nothing that the
 * smaller one knows.
 *
 * Source: the Parquet format, BloomFilter.md, for the choice of a block.
 */
#include "foreign.h"

#include "bits.h"
#include "interrupt.h"

/*
 * Of one format, form and seed, which the caller has compared: the same layers;
 * or blocks of which one number divides the other.  Block b of n is block
 * b / r of n / r, because both are the upper bits of the same product.
 */
bool
foreign_compatible(const uint8_t *a, const uint8_t *b)
{
	bool		blocks = foreign_mapping(a) == MAPPING_BLOCKS;

	if (image_layers(a) != image_layers(b))
		return false;
	for (int i = 0; i < image_layers(a); i++)
	{
		FilterLayer left;
		FilterLayer right;

		image_get_shape(a, i, &left);
		image_get_shape(b, i, &right);
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
 * Does the joined layer get its fields from the left one?  That has the smaller
 * size, or else differs in a figure, so that it does not matter which of two
 * filters comes first.
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

static inline uint64_t
smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* What a layer is that has the bits of both, or those that both have */
static void
join_layers(ForeignFormat format, const FilterLayer *left,
			const FilterLayer *right, bool united, FilterLayer *joined)
{
	uint64_t	longer = left->multiple > right->multiple ?
		left->multiple : right->multiple;

	*joined = left_is_first(left, right) ? *left : *right;
	joined->bits_set = 0;
	if (format == FOREIGN_REDISBLOOM)
	{
		/* neither number is above 2^63 */
		joined->multiple = smaller(joined->capacity, united ?
								   left->multiple + right->multiple :
								   smaller(left->multiple, right->multiple));
		return;
	}
	/* of strings, the length; others have 0 */
	joined->multiple = longer;
	if (format == FOREIGN_PARQUET)
		joined->detail = left->detail & right->detail;
	else if (format == FOREIGN_DATASKETCHES)
		joined->detail = DATASKETCHES_COUNTED;
	/* they may have been made for different numbers of elements */
	if (left->capacity != right->capacity || left->size != right->size ||
		left->error_rate != right->error_rate)
	{
		joined->error_rate = 0;
		foreign_set_capacity(foreign_formats[format].mapping, joined);
	}
}

/* Also of a full one: the other system's union does not refuse either. */
FilterStatus
foreign_plan_union(const uint8_t *a, const uint8_t *b, FilterPlan *plan)
{
	ForeignFormat format = foreign_image_format(a);

	plan->layers = image_layers(a);
	for (int i = 0; i < plan->layers; i++)
	{
		FilterLayer left;
		FilterLayer right;

		image_get_layer(a, i, &left);
		image_get_layer(b, i, &right);
		join_layers(format, &left, &right, true, &plan->layer[i]);
		plan->from_a[i] = i;
		plan->from_b[i] = i;
	}
	return FILTER_OK;
}

/*
 * Set, in a layer of "bytes" bytes, the bits of another one that is as large or
 * a multiple of it: of "times" neighbouring blocks in one.
 */
static void
fold_bits(uint8_t *into, uint64_t bytes, const uint8_t *from, uint64_t times)
{
	if (times == 1)
	{
		for (uint64_t at = 0; at < bytes; at++)
			into[at] |= from[at];
		return;
	}
	for (uint64_t block = 0; block < bytes / PARQUET_BLOCK_BYTES; block++)
	{
		for (uint64_t i = 0; i < times; i++)
		{
			for (int at = 0; at < PARQUET_BLOCK_BYTES; at++)
				into[at] |= from[at];
			from += PARQUET_BLOCK_BYTES;
		}
		into += PARQUET_BLOCK_BYTES;
	}
}

bool
foreign_unite(uint8_t *image, const uint8_t *a, const uint8_t *b,
			  const FilterPlan *plan)
{
	const uint8_t *sources[] = {a, b};

	for (int i = 0; i < plan->layers; i++)
	{
		uint64_t	bytes = (plan->layer[i].size + 7) / 8;

		for (int source = 0; source < 2; source++)
		{
			FilterLayer layer;

			filter_check_interrupts();
			image_get_shape(sources[source], i, &layer);
			fold_bits(image_layer_bits(image, i), bytes,
					  image_layer_bits(sources[source], i),
					  layer.size / plan->layer[i].size);
		}
		image_put_bits_set(image, i, count_bits(image_layer_bits(image, i), bytes));
	}
	return true;
}

/*
 * If a is the larger, it gets the size of b.  No interrupt check meanwhile, as the
 * fields do not agree with the bits.
 */
void
foreign_intersect_in_place(uint8_t *a, const uint8_t *b)
{
	FilterParams params;
	FilterLayer left;
	FilterLayer right;
	FilterLayer joined;
	uint8_t    *bits = image_layer_bits(a, 0);
	const uint8_t *other = image_layer_bits(b, 0);
	uint64_t	bytes;
	uint64_t	times;

	image_get_params(a, &params);
	image_get_layer(a, 0, &left);
	image_get_layer(b, 0, &right);
	join_layers(foreign_image_format(a), &left, &right, false, &joined);
	if (joined.error_rate == 0 || image_capacity(b) != params.capacity ||
		image_error_rate(b) != params.error_rate)
	{
		params.capacity = 0;
		params.error_rate = 0;
	}
	bytes = (joined.size + 7) / 8;
	times = left.size / joined.size;
	if (times > 1)
	{
		/* fold a onto its own beginning: a block is read before it is written */
		for (uint64_t block = 0; block < bytes / PARQUET_BLOCK_BYTES; block++)
		{
			uint8_t		folded[PARQUET_BLOCK_BYTES] = {0};

			fold_bits(folded, sizeof(folded),
					  bits + block * times * PARQUET_BLOCK_BYTES, times);
			memcpy(bits + block * PARQUET_BLOCK_BYTES, folded, sizeof(folded));
		}
	}
	times = right.size / joined.size;
	for (uint64_t at = 0; at < bytes; at += PARQUET_BLOCK_BYTES)
	{
		/* of other formats, any number of bytes, and no folding */
		uint8_t		folded[PARQUET_BLOCK_BYTES] = {0};
		uint64_t	some = bytes - at < sizeof(folded) ? bytes - at : sizeof(folded);

		fold_bits(folded, some, other + at * times, times);
		for (uint64_t i = 0; i < some; i++)
			bits[at + i] &= folded[i];
	}
	joined.bits_set = 0;
	for (uint64_t at = 0; at < bytes; at++)
		joined.bits_set += popcount64(bits[at]);
	joined.offset = left.offset;
	memset(bits + bytes, 0, image_aligned(bytes) - bytes);
	image_put_layers(a, &params, &joined, 1,
					 joined.offset + image_aligned(bytes));
}
