/*
 * filter.c
 *	  Operations on images of any layout; see filter.h.
 */
#include "filter.h"

#include <math.h>

#include "block512.h"
#include "foreign/foreign.h"
#include "set.h"

/* Probes between two interrupt checks */
#define INTERRUPT_PROBES	1024

/* Most filters have one layer, which begins with bits of block512: probe these without "ops". */
bool
filter_contains(const uint8_t *image, uint64_t hash)
{
	const uint8_t *at;

	if (image_layers(image) != 1 ||
		(image_layout(image) != LAYOUT_BLOCK512 &&
		 image_layout(image) != LAYOUT_COUNTING))
		return image_ops(image)->contains(image, hash);
	at = image_layer_at(image, 0);
	return block_kernel->contains(image + get64(at + LAYER_OFF_OFFSET) +
								  BLOCK_BYTES *
								  first_block(hash, get64(at + LAYER_OFF_SIZE)),
								  block_word(hash), at[LAYER_OFF_HASHES]);
}

void
filter_contains_batch(const uint8_t *image, const uint64_t *hashes,
					  size_t count, bool *found)
{
	const FilterOps *ops = image_ops(image);

	if (ops->contains_batch)
		ops->contains_batch(image, hashes, count, found);
	else
		for (size_t i = 0; i < count; i++)
			found[i] = ops->contains(image, hashes[i]);
}

FilterStatus
filter_plan_layers(FilterPlan *plan)
{
	uint64_t	header = layers_header_bytes(plan->layer, plan->layers);

	plan->bytes = header;
	for (int i = 0; i < plan->layers; i++)
	{
		FilterLayer *layer = &plan->layer[i];

		layer->offset = plan->bytes;
		/* the bits of a compact image are not padded */
		plan->bytes += header == IMAGE_COMPACT_BYTES ? layer_bits(layer) / 8 :
			layer_bytes(layer);
		if (plan->bytes - header > IMAGE_MAX_BITS / 8)
			return FILTER_TOO_LARGE;
	}
	return FILTER_OK;
}

/* Plan a layer that follows the layers in the plan. */
static FilterStatus
plan_layer(const FilterParams *params, uint64_t waiting, FilterPlan *plan)
{
	int			before = plan->layers++;
	FilterLayer *layer = &plan->layer[before];

	if (!filter_kinds[params->kind].ops->plan_layer(params, plan->layer, before,
													waiting, layer))
		return FILTER_TOO_LARGE;
	return filter_plan_layers(plan);
}

FilterStatus
filter_plan(const FilterParams *params, FilterPlan *plan)
{
	plan->layers = 0;
	return plan_layer(params, 0, plan);
}

FilterStatus
filter_plan_classic(uint64_t m, unsigned k, FilterPlan *plan)
{
	if (m > IMAGE_MAX_BITS)
		return FILTER_TOO_LARGE;
	plan->layer[0] = (FilterLayer)
		{
			.layout = LAYOUT_CLASSIC, .size = m, .hashes = k
		};
	plan->layers = 1;
	return filter_plan_layers(plan);
}

FilterStatus
filter_plan_again(const uint8_t *image, FilterPlan *plan)
{
	/* the filter was created with its first layer alone */
	plan->layer[0] = image_get_layer(image, 0);
	plan->layer[0].bits_set = 0;
	if (image_ops(image)->clear_layer)
		image_ops(image)->clear_layer(image, &plan->layer[0]);
	plan->layers = 1;
	return filter_plan_layers(plan);
}

FilterStatus
filter_plan_plain(const uint8_t *image, FilterPlan *plan)
{
	plan->layers = image_get_layers(image, plan->layer);
	for (int i = 0; i < plan->layers; i++)
		plan->layer[i].layout = layer_blocks(plan->layer[i].layout) > 1 ?
			LAYOUT_BLOCK512X2 : LAYOUT_BLOCK512;
	return filter_plan_layers(plan);
}

void
filter_init(uint8_t *image, const FilterParams *params, const FilterPlan *plan)
{
	image_put_layers(image, params, plan->layer, plan->layers, plan->bytes);
}

FilterStatus
filter_plan_growth(const uint8_t *image, uint64_t waiting, FilterPlan *plan)
{
	FilterParams params = image_get_params(image);

	if (params.growth == 0)
		return FILTER_FIXED;
	plan->layers = image_get_layers(image, plan->layer);
	if (plan->layers == IMAGE_MAX_LAYERS)
		return FILTER_TOO_MANY_LAYERS;
	return plan_layer(&params, waiting, plan);
}

void
filter_copy(uint8_t *image, const uint8_t *from, const FilterPlan *plan)
{
	FilterParams params = image_get_params(from);

	filter_init(image, &params, plan);
	for (int i = 0; i < image_layers(from); i++)
	{
		const FilterLayer *layer = &plan->layer[i];

		filter_check_interrupts();
		/* compact images lack padding; a plan may lack counters */
		memcpy(image + layer->offset, image_layer_bits(from, i),
			   smaller(image_layer_bytes(from, i), layer_bytes(layer)));
	}
}

static double
elements_of(const uint8_t *header, const FilterLayer *layer)
{
	const FilterOps *ops = image_ops(header);

	return ops->layer_cardinality ? ops->layer_cardinality(header, layer) :
		layer_cardinality(layer);
}

bool
filter_may_fill(const uint8_t *image, uint64_t count)
{
	const FilterOps *ops = image_ops(image);
	FilterLayer last;

	if (ops->may_fill)
		return ops->may_fill(image, count);
	last = image_get_layer(image, image_layers(image) - 1);
	return last.capacity != 0 && elements_of(image, &last) + count > last.capacity;
}

bool
filter_may_need_room(const uint8_t *image, uint64_t count)
{
	FilterPlan	plan;

	if (count <= 1)
		return false;
	if (image_ops(image)->full_early &&
		filter_plan_growth(image, count, &plan) != FILTER_OK)
		return true;
	return filter_may_fill(image, count);
}

FilterDifference
filter_difference(const uint8_t *a, const uint8_t *b)
{
	const FilterOps *ops = image_ops(a);
	FilterLayer first_a;
	FilterLayer first_b;

	if (image_kind(a) != image_kind(b))
		return DIFFERENT_KIND;
	if (image_is_empty(a) || image_is_empty(b))
		return FILTERS_COMPATIBLE;
	if (image_is_foreign(a) != image_is_foreign(b))
		return DIFFERENT_SYSTEM;
	if (image_seed(a) != image_seed(b))
		return DIFFERENT_SEED;
	if (image_class(a) != image_class(b) &&
		image_class(a) != 0 && image_class(b) != 0)
		return DIFFERENT_CLASS;
	/* capacities and error rates of foreign filters may differ */
	if (image_is_foreign(a) && !foreign_takes_elements(a))
		return NOT_COMBINED;
	if (image_is_foreign(a))
		return ops->compatible(a, b) ? FILTERS_COMPATIBLE : DIFFERENT_SIZE;
	if (image_is_set(a) || image_is_set(b))
		return FILTERS_COMPATIBLE;
	/* only one of them is classic */
	if ((image_capacity(a) == 0) != (image_capacity(b) == 0))
		return DIFFERENT_LAYOUT;
	if (image_is_counting(a) != image_is_counting(b))
		return DIFFERENT_COUNTING;
	if (image_capacity(a) != image_capacity(b))
		return DIFFERENT_CAPACITY;
	if (image_error_rate(a) != image_error_rate(b))
		return DIFFERENT_ERROR_RATE;
	if (image_growth(a) != image_growth(b))
		return DIFFERENT_GROWTH;
	/* compare the layer that was made for the requested parameters */
	first_a = image_get_shape(a, 0);
	first_b = image_get_shape(b, 0);
	if (!layer_same_shape(&first_a, &first_b) ||
		(ops->compatible && !ops->compatible(a, b)))
		return DIFFERENT_SIZE;
	return FILTERS_COMPATIBLE;
}

FilterStatus
filter_plan_union(const uint8_t *a, const uint8_t *b, bool apart,
				  FilterPlan *plan)
{
	FilterStatus status = image_ops(a)->plan_union(a, b, apart, plan);

	return status == FILTER_OK ? filter_plan_layers(plan) : status;
}

bool
filter_unite(uint8_t *image, const uint8_t *a, const uint8_t *b,
			 const FilterPlan *plan)
{
	FilterParams params = image_get_params(a);

	if (params.class == 0)
		params.class = image_class(b);
	/* if foreign filters differ in capacity or rate, their union has neither */
	if (image_capacity(b) != params.capacity ||
		image_error_rate(b) != params.error_rate || plan->layer[0].error_rate == 0)
	{
		params.capacity = 0;
		params.error_rate = 0;
	}
	filter_init(image, &params, plan);
	return image_ops(image)->unite(image, a, b, plan);
}

bool
filter_unites_in_place(const uint8_t *a, const FilterPlan *plan)
{
	if (!image_ops(a)->in_place || plan->layers != image_layers(a))
		return false;
	for (int i = 0; i < plan->layers; i++)
		if (plan->from_a[i] != i)
			return false;
	return true;
}

void
filter_unite_in_place(uint8_t *a, const uint8_t *b, const FilterPlan *plan)
{
	if (image_class(a) == 0)
		image_set_class(a, image_class(b));
	(void) image_ops(a)->unite(a, a, b, plan);
	for (int i = 0; i < plan->layers; i++)
		image_put_bits_set(a, i, plan->layer[i].bits_set);
}

void
filter_intersect_in_place(uint8_t *a, const uint8_t *b)
{
	image_ops(a)->intersect_in_place(a, b);
	if (image_class(a) == 0)
		image_set_class(a, image_class(b));
}

void
filter_intersect_set(uint8_t *set, const uint8_t *other)
{
	uint8_t    *hashes = image_hashes(set);
	uint64_t	count = image_count(set);
	uint64_t	kept = 0;

	/* keep the set valid if the query is cancelled: hashes may repeat */
	set[IMAGE_OFF_FLAGS] |= IMAGE_FLAG_UNSORTED;
	for (uint64_t i = 0; i < count; i++)
	{
		uint64_t	hash = get64(hashes + 8 * i);

		if (i % INTERRUPT_PROBES == 0)
			filter_check_interrupts();
		if (filter_contains(other, hash))
			put64(hashes + 8 * kept++, hash);
	}
	set[IMAGE_OFF_FLAGS] &= ~IMAGE_FLAG_UNSORTED;
	image_set_count(set, kept);
}

double
filter_cardinality(const uint8_t *image)
{
	const FilterOps *ops = image_ops(image);

	return ops->cardinality ? ops->cardinality(image) :
		filter_header_cardinality(image);
}

double
filter_header_cardinality(const uint8_t *header)
{
	const FilterOps *ops = image_ops(header);
	double		sum = image_count(header);

	if (ops->header_cardinality)
		return ops->header_cardinality(header);
	for (int i = 0; i < image_layers(header); i++)
	{
		FilterLayer layer = image_get_layer(header, i);

		sum += elements_of(header, &layer);
	}
	return sum;
}

/* Return the chance that any layer errs, by logarithms, which keep low rates exact. */
double
filter_estimated_error_rate(const uint8_t *image)
{
	const FilterOps *ops = image_ops(image);
	double		log_right = 0;

	for (int i = 0; i < image_layers(image); i++)
	{
		FilterLayer layer = image_get_layer(image, i);

		log_right += log1p(-(ops->layer_error_rate ?
							 ops->layer_error_rate(image, &layer) :
							 layer_error_rate(&layer)));
	}
	return 0 - expm1(log_right);	/* "0 -" avoids a result of -0 */
}

void
filter_bits(const uint8_t *image, uint64_t *bits, uint64_t *bits_set)
{
	const FilterOps *ops = image_ops(image);

	*bits = 64 * image_count(image);
	*bits_set = 0;
	for (int i = 0; i < image_layers(image); i++)
	{
		FilterLayer layer = image_get_layer(image, i);

		*bits += layer_bits(&layer);
		*bits_set += ops->layer_bits_set ? ops->layer_bits_set(&layer) :
			layer.bits_set;
	}
}
