/*
 * union.c
 *	  Unions and intersections of other systems' filters; see foreign.c.
 *
 * Both filters have the same layers.  Of Parquet's, one may be a multiple of the
 * other in size: it is folded, block by block.
 *
 * Source: the Parquet format, BloomFilter.md, for the choice of a block.
 */
#include "foreign.h"

#include "../block512.h"
#include "common.h"

/*
 * Filters of one format, form and seed must have the same layers, or one's number of blocks
 * must divide the other's.  Block b of n is block b / r of n / r: both are upper bits of one
 * product.
 */
bool
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
 * Does the joined layer get its fields from "left"?  It gets those of the smaller one or,
 * if both are of one size, a choice that does not depend on which filter comes first.
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

/* The layer that has the bits of both, or, if !united, those that both have */
static FilterLayer
join_layers(const ForeignFormat *format, const FilterLayer *left,
			const FilterLayer *right, bool united)
{
	FilterLayer joined = left_is_first(left, right) ? *left : *right;

	joined.bits_set = 0;
	if (format->join)
		format->join(left, right, united, &joined);
	/* they may have been made for different numbers of elements */
	if (!format->counted &&
		(left->capacity != right->capacity || left->size != right->size ||
		 left->error_rate != right->error_rate))
	{
		joined.error_rate = 0;
		foreign_set_capacity(format, &joined);
	}
	return joined;
}

/* Full filters are united, too, as the other system does. */
FilterStatus
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

/* The union of the "times" parts, of "bytes" bytes each, that begin at "from" */
static void
get_folded(uint8_t *folded, uint64_t bytes, const uint8_t *from, uint64_t times)
{
	memcpy(folded, from, bytes);
	for (uint64_t i = 1; i < times; i++)
		for (uint64_t at = 0; at < bytes; at++)
			folded[at] |= from[i * bytes + at];
}

/*
 * Unite the bits of layer i of both images or, if !united, intersect them; return how many
 * are set.  An intersection may go into a's own bits, so it has no interrupt checks.
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

		/* of other formats, any number of bytes, and no folding */
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

bool
foreign_unite(uint8_t *image, const uint8_t *a, const uint8_t *b,
			  const FilterPlan *plan)
{
	for (int i = 0; i < plan->layers; i++)
		image_put_bits_set(image, i,
						   join_bits(image_layer_bits(image, i),
									 &plan->layer[i], a, b, i, true));
	return true;
}

/* a gets the lesser size.  No interrupt check, as fields and bits disagree. */
void
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
