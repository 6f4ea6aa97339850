/*
 * ops.h
 *	  What a layout is: its operations; the only table of layouts, layouts.c; plans,
 *	  made before memory is allocated, and results of operations.
 *
 * Code outside of a layout's own files calls through these instead of testing
 * for a layout.  To add one, see docs/dev/internals.md.
 */
#ifndef FILTER_OPS_H
#define FILTER_OPS_H

#include "block512.h"
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

/* The layers of a result, and its size in bytes, which the caller allocates as zeros */
typedef struct FilterPlan
{
	int			layers;
	FilterLayer layer[IMAGE_MAX_LAYERS];
	uint64_t	bytes;
	/* of a union: the layer of each side that goes into it, or -1 */
	int			from_a[IMAGE_MAX_LAYERS];
	int			from_b[IMAGE_MAX_LAYERS];
} FilterPlan;

/* Begin the plan of a union with the layers of one side, a or b. */
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

/* Add layer j of b to the plan of a union; false if there are too many. */
static inline bool
plan_beside(FilterPlan *plan, const FilterLayer *layer, int j)
{
	if (plan->layers == IMAGE_MAX_LAYERS)
		return false;
	plan->layer[plan->layers] = *layer;
	plan->from_a[plan->layers] = -1;
	plan->from_b[plan->layers++] = j;
	return true;
}

/* Exchange layer i of the plan and the one before it. */
static inline void
plan_exchange(FilterPlan *plan, int i)
{
	FilterLayer layer = plan->layer[i];
	int			from_a = plan->from_a[i];
	int			from_b = plan->from_b[i];

	plan->layer[i] = plan->layer[i - 1];
	plan->from_a[i] = plan->from_a[i - 1];
	plan->from_b[i] = plan->from_b[i - 1];
	plan->layer[i - 1] = layer;
	plan->from_a[i - 1] = from_a;
	plan->from_b[i - 1] = from_b;
}

/* The largest slice that a layout reads: a block, a window, or slots of a bucket */
#define SLICE_MAX_BYTES		64

/* Returns a slice of an image that is not in memory, valid until the next call. */
typedef const uint8_t *(*FilterFetch) (void *from, uint64_t offset,
									   uint32_t bytes);

typedef enum FilterRemoval
{
	FILTER_REMOVED,
	FILTER_ABSENT,				/* was not in */
	FILTER_SATURATED			/* cannot be removed any more */
} FilterRemoval;

/*
 * Hashes that a batch prefetches ahead: enough to hide a cache miss of some 100 ns, and
 * no more lines than a core can have in flight
 */
#define PREFETCH_AHEAD	16

/*
 * The operations of a layout, or of a family of layouts that may be mixed in one filter.
 * One without a comment does what filter.h says of the function of its name.  Operations
 * on layers are NULL for sets.
 */
typedef struct FilterOps
{
	/* The type of filters with layers of this family.  Sets are of any. */
	FilterKind	kind;

	/* Does it count how often an element was added? */
	bool		multiset;

	/* Can the filter run out of room before it is at capacity? */
	bool		full_early;

	/* Do layers of this family use the field "detail"? */
	bool		detailed;

	/* layer_bytes is NULL if a layer takes no bytes but those of its bits. */
	uint64_t	(*layer_bits) (const FilterLayer *layer);
	uint64_t	(*layer_bytes) (const FilterLayer *layer);

	/*
	 * Reading.  contains_batch is NULL if it can do no better than contains,
	 * and count if it is at most 1.
	 */
	bool		(*contains) (const uint8_t *image, uint64_t hash);
	void		(*contains_batch) (const uint8_t *image,
								   const uint64_t *hashes, size_t count,
								   bool *found);
	unsigned	(*slices) (const uint8_t *header);
	bool		(*contains_sliced) (const uint8_t *header, uint64_t hash,
									FilterFetch fetch, void *from);
	unsigned	(*count) (const uint8_t *image, uint64_t hash);

	/*
	 * Each may be NULL: cardinality if it needs no more than the header,
	 * header_cardinality if it is the sum of the layers', the next two if
	 * they are those of a Bloom filter's layer (sizing.h), and layer_bits_set
	 * if it is the layer's own number.
	 */
	double		(*cardinality) (const uint8_t *image);
	double		(*header_cardinality) (const uint8_t *header);
	double		(*layer_cardinality) (const uint8_t *header,
									  const FilterLayer *layer);
	double		(*layer_error_rate) (const uint8_t *header,
									 const FilterLayer *layer);
	uint64_t	(*layer_bits_set) (const FilterLayer *layer);

	/* NULL: the estimated number of the last layer's elements tells */
	bool		(*may_fill) (const uint8_t *image, uint64_t count);

	/*
	 * Change the filter.  Only for cuckoo filters is "unique" ever set, and
	 * compact not NULL.  add_batch is NULL if our hashes mean nothing here.
	 */
	size_t		(*add_batch) (uint8_t *image, const uint64_t *hashes,
							  size_t count, bool unique);
	FilterRemoval (*remove) (uint8_t *image, uint64_t hash);
	uint64_t	(*compact) (uint8_t *image);

	/*
	 * The layer after "count" others; false if it would be too large.
	 * "waiting" elements are added at once.  NULL if filters are not made for
	 * a capacity.
	 */
	bool		(*plan_layer) (const FilterParams *params,
							   const FilterLayer *before, int count,
							   uint64_t waiting, FilterLayer *layer);

	/* Empty a layer of the image; NULL if only bits_set tells of elements */
	void		(*clear_layer) (const uint8_t *image, FilterLayer *layer);

	/* Can one filter have the layers of both?  NULL: if the first ones match */
	bool		(*compatible) (const uint8_t *a, const uint8_t *b);

	/*
	 * Plan the layers of a union; "apart" keeps those of a and b apart, and
	 * is only asked for where unite may fail.  unite fills an image that has
	 * the header and descriptors of the plan.  With in_place, that may be a
	 * itself; then there are no interrupt checks.
	 */
	FilterStatus (*plan_union) (const uint8_t *a, const uint8_t *b, bool apart,
								FilterPlan *plan);
	bool		(*unite) (uint8_t *image, const uint8_t *a, const uint8_t *b,
						  const FilterPlan *plan);
	bool		in_place;
	void		(*intersect_in_place) (uint8_t *a, const uint8_t *b);

	/*
	 * For check.c, in this order; each returns NULL or the fault.  The first
	 * checks the header (of a set, everything), the second the fields of
	 * layer i after valid ones, the third its bits, within the image.
	 */
	const char *(*check_image) (const uint8_t *image);
	const char *(*check_layer) (const uint8_t *image, int i,
								const FilterLayer *layer);
	const char *(*check_bits) (const uint8_t *image, int i,
							   const FilterLayer *layer);
} FilterOps;

/* Operations that layouts share: of layers that are arrays of bits (bits.c) */
extern FilterStatus bits_plan_union(const uint8_t *a, const uint8_t *b,
									bool apart, FilterPlan *plan);
extern bool bits_unite(uint8_t *image, const uint8_t *a, const uint8_t *b,
					   const FilterPlan *plan);
extern void bits_intersect_in_place(uint8_t *a, const uint8_t *b);
extern double bits_cardinality(const uint8_t *header);
extern const char *bits_check(const uint8_t *image, int i,
							  const FilterLayer *layer);

/* Would a union of two layers, with "set" bits set, be fuller than additions leave one? */
extern bool bits_too_full(const FilterLayer *layer, const FilterLayer *other,
						  uint64_t set);

/* The number of bits that are set in a or in b, each of "bytes" bytes */
extern uint64_t bits_count_united(const uint8_t *a, const uint8_t *b,
								  uint64_t bytes);

/* A layer of a Bloom filter, as a probe reads it from its descriptor */
typedef struct ProbeLayer
{
	uint8_t    *bits;			/* where they are or, with "fetch", would be */
	uint64_t	size;
	unsigned	hashes;
	bool		flat;			/* bits anywhere, not in blocks */
	bool		second;			/* an element has a second block */
	const uint8_t *image;
	FilterFetch fetch;			/* reads bits; NULL: all are in memory */
	void	   *from;			/* its argument */
} ProbeLayer;

static inline ProbeLayer
probe_layer(const uint8_t *image, int i)
{
	const uint8_t *at = image_layer_at(image, i);
	FilterLayout layout;

	if (image_is_compact(image))
		return (ProbeLayer)
	{
		.bits = (uint8_t *) image + IMAGE_COMPACT_BYTES,
			.size = 8 * (uint64_t) get16(image + COMPACT_OFF_BYTES),
			.hashes = image[COMPACT_OFF_HASHES],
			.flat = true,
			.image = image
	};
	layout = (FilterLayout) at[LAYER_OFF_LAYOUT];
	return (ProbeLayer)
	{
		.bits = (uint8_t *) image + get64(at + LAYER_OFF_OFFSET),
			.size = get64(at + LAYER_OFF_SIZE),
			.hashes = at[LAYER_OFF_HASHES],
			.flat = layout == LAYOUT_SMALL || layout == LAYOUT_CLASSIC,
			.second = layer_blocks(layout) > 1,
			.image = image
	};
}

/* Some bytes of a layer, "at" bytes from its first: a slice */
static ALWAYS_INLINE const uint8_t *
layer_slice(const ProbeLayer *layer, uint64_t at, uint32_t bytes)
{
	const uint8_t *slice = layer->bits + at;

	return layer->fetch ?
		layer->fetch(layer->from, slice - layer->image, bytes) : slice;
}

/* Does an element's block, its first or second, contain it? */
static ALWAYS_INLINE bool
block_contains(const ProbeLayer *layer, uint64_t block, uint64_t word)
{
	return block_kernel->contains(layer_slice(layer, BLOCK_BYTES * block, BLOCK_BYTES),
								  word, layer->hashes);
}

static ALWAYS_INLINE bool
blocks_contain(const ProbeLayer *layer, uint64_t hash)
{
	return block_contains(layer, first_block(hash, layer->size), block_word(hash)) &&
		(!layer->second ||
		 block_contains(layer, second_block(hash, layer->size), second_word(hash)));
}

/* Of Bloom filters made for a capacity, also of counting ones (bloom.c) */
extern bool bloom_contains(const uint8_t *image, uint64_t hash);
extern bool bloom_contains_sliced(const uint8_t *header, uint64_t hash,
								  FilterFetch fetch, void *from);
extern void bloom_contains_batch(const uint8_t *image, const uint64_t *hashes,
								 size_t count, bool *found);
extern unsigned bloom_slices(const uint8_t *header);
extern bool bloom_plan_layer(const FilterParams *params,
							 const FilterLayer *before, int count,
							 uint64_t waiting, FilterLayer *layer);
extern const char *bloom_check_image(const uint8_t *image);
extern const char *bloom_check_layer(const uint8_t *image, int i,
									 const FilterLayer *layer);

/* All tables of operations, each in the file of its family */
extern const FilterOps set_ops;
extern const FilterOps bloom_ops;
extern const FilterOps counting_ops;
extern const FilterOps cuckoo_ops;
extern const FilterOps foreign_ops;

typedef struct LayoutEntry
{
	const char *name;			/* as bloom_info() shows it */
	const FilterOps *ops;		/* of images and layers of it */
} LayoutEntry;

/* By FilterLayout */
extern const LayoutEntry layouts[];
extern const int layout_count;

typedef struct KindEntry
{
	const char *name;			/* of the type */
	const FilterOps *ops;		/* of filters that are made for a capacity */

	/* what check.c says if an image is of this kind, or is not, by mistake */
	const char *is_this;
	const char *is_not_this;
} KindEntry;

/* By FilterKind */
extern const KindEntry filter_kinds[FILTER_KINDS];

/*
 * Bytes that were damaged on disk have passed no validator: an unknown layout must not
 * lead outside of the table, but the answers may be wrong.
 */
static inline const FilterOps *
image_ops(const uint8_t *image)
{
	FilterLayout layout = image_layout(image);

	return layouts[(int) layout < layout_count ? layout : LAYOUT_BLOCK512].ops;
}

#endif							/* FILTER_OPS_H */
