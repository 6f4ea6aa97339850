/*
 * plan.c
 *	  From planned layers to the header and descriptors of an image.
 */
#include "plan.h"

FilterStatus
plan_finish(FilterPlan *plan)
{
	uint64_t	header = IMAGE_HEADER_BYTES + IMAGE_LAYER_BYTES * plan->layers;

	plan->bytes = header;
	for (int i = 0; i < plan->layers; i++)
	{
		FilterLayer *layer = &plan->layer[i];

		layer->offset = plan->bytes;
		plan->bytes += layer_bytes(layer);
		if (plan->bytes - header > IMAGE_MAX_BITS / 8)
			return FILTER_TOO_LARGE;
	}
	return FILTER_OK;
}

void
plan_put(uint8_t *image, const FilterParams *params, const FilterPlan *plan)
{
	image_put_header(image, plan->layer[0].layout, params);
	image[IMAGE_OFF_LAYERS] = plan->layers;
	put64(image + IMAGE_OFF_BYTES, plan->bytes);
	for (int i = 0; i < plan->layers; i++)
		image_put_layer(image, i, &plan->layer[i]);
}
