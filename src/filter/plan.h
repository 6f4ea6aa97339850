/*
 * plan.h
 *	  Types that the layouts and filter.c share: plans, made before memory is
 *	  allocated, and results of operations.
 */
#ifndef FILTER_PLAN_H
#define FILTER_PLAN_H

#include "image.h"

/* Why a plan was not made */
typedef enum FilterStatus
{
	FILTER_OK,
	FILTER_TOO_LARGE,			/* would exceed IMAGE_MAX_BITS */
	FILTER_FIXED,				/* full, and growth is 0 */
	FILTER_TOO_MANY_LAYERS,		/* full, and has IMAGE_MAX_LAYERS */
	FILTER_NOT_ONE_LAYER		/* a union that would have several layers, and
								 * must have one */
} FilterStatus;

/* The layers of a result, and how many bytes, all zero, the caller provides */
typedef struct FilterPlan
{
	int			layers;
	FilterLayer layer[IMAGE_MAX_LAYERS];
	uint64_t	bytes;
	/* of a union: the layer of each side that goes into it, or -1 */
	int			from_a[IMAGE_MAX_LAYERS];
	int			from_b[IMAGE_MAX_LAYERS];
} FilterPlan;

/* Plan the layers of an image, which is a or b of a union. */
static inline void
plan_side(FilterPlan *plan, const uint8_t *image, bool is_a)
{
	plan->layers = image_get_layers(image, plan->layer);
	for (int i = 0; i < plan->layers; i++)
	{
		plan->from_a[i] = is_a ? i : -1;
		plan->from_b[i] = is_a ? -1 : i;
	}
}

/* Move entry "from" of the plan to "to". */
static inline void
plan_move(FilterPlan *plan, int to, int from)
{
	plan->layer[to] = plan->layer[from];
	plan->from_a[to] = plan->from_a[from];
	plan->from_b[to] = plan->from_b[from];
}

/* Returns bytes of an image that is not in memory, valid until the next call. */
typedef const uint8_t *(*FilterFetch) (void *from, uint64_t offset,
									   uint32_t bytes);

typedef enum FilterRemoval
{
	FILTER_REMOVED,
	FILTER_ABSENT,				/* was not in */
	FILTER_SATURATED			/* cannot be removed any more */
} FilterRemoval;

#endif							/* FILTER_PLAN_H */
