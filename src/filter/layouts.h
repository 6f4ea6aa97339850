/*
 * layouts.h
 *	  The only table of layouts, and that of the types.
 */
#ifndef FILTER_LAYOUTS_H
#define FILTER_LAYOUTS_H

#include "ops.h"

typedef struct LayoutEntry
{
	const char *name;			/* as bloom_info() shows it */
	const FilterOps *ops;		/* of images whose header has this layout */
	const FilterOps *layer_ops; /* of images that have descriptors of it */
} LayoutEntry;

/* By FilterLayout */
extern const LayoutEntry layouts[];
extern const int layout_count;

typedef struct KindEntry
{
	const char *name;			/* of the type */
	const FilterOps *ops;		/* of filters that are made for a capacity */

	/* faults for check.c: an image is of this kind, or is not */
	const char *is_this;
	const char *is_not_this;
} KindEntry;

/* By FilterKind */
extern const KindEntry kinds[FILTER_KINDS];

/*
 * The operations of an image.  Bytes that were damaged on disk have passed no
 * validator: they may lead to wrong answers, but an unknown layout must not
 * lead outside of the table.
 */
static inline const FilterOps *
image_ops(const uint8_t *image)
{
	FilterLayout layout = image_layout(image);

	return layouts[(int) layout < layout_count ? layout : LAYOUT_BLOCK512].ops;
}

#endif							/* FILTER_LAYOUTS_H */
