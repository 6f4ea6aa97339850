/*
 * plan.h
 *	  Types of the layouts and of filter.c: what is planned before memory is
 *	  allocated, and what operations return.
 */
#ifndef FILTER_PLAN_H
#define FILTER_PLAN_H

#include "image.h"

/* Why a plan was not made */
typedef enum FilterStatus
{
	FILTER_OK,
	FILTER_TOO_LARGE,			/* would pass IMAGE_MAX_BITS */
	FILTER_FIXED,				/* full, and growth is 0 */
	FILTER_TOO_MANY_LAYERS		/* full, and has IMAGE_MAX_LAYERS */
} FilterStatus;

/*
 * What takes shape between plan and fill: the layers of the result, and its
 * length in bytes, that the caller provides, all zero.
 */
typedef struct FilterPlan
{
	int			layers;
	FilterLayer layer[IMAGE_MAX_LAYERS];
	uint64_t	bytes;
	/* of a union: the layer of either side that it is made of, or -1 */
	int			from_a[IMAGE_MAX_LAYERS];
	int			from_b[IMAGE_MAX_LAYERS];
} FilterPlan;

/*
 * Brings "bytes" bytes from an offset in an image that is not at hand, valid
 * until the next call.
 */
typedef const uint8_t *(*FilterFetch) (void *from, uint64_t offset,
									   uint32_t bytes);

typedef enum FilterRemoval
{
	FILTER_REMOVED,
	FILTER_ABSENT,				/* was not in */
	FILTER_SATURATED			/* is in for good */
} FilterRemoval;

#endif							/* FILTER_PLAN_H */
