/*
 * ops.h
 *	  FilterOps, the operations of a layout; plans of new filters; what operations share.
 *
 * Code outside of a layout's own files calls these operations instead of testing for a layout.
 * layouts.c has the table of all layouts.  docs/dev/internals.md says how to add one.
 */
#ifndef FILTER_OPS_H
#define FILTER_OPS_H

#include "block512.h"
#include "image.h"

/* Has a plan been made, or why not? */
typedef enum FilterStatus
{
	FILTER_OK,
	FILTER_TOO_LARGE,			/* it would exceed IMAGE_MAX_BITS */
	FILTER_FIXED,				/* it needs a layer, and growth is 0 */
	FILTER_TOO_MANY_LAYERS,		/* it would exceed IMAGE_MAX_LAYERS */
	FILTER_NOT_ONE_LAYER		/* the union needs several layers, but must
								 * have one */
} FilterStatus;

/* The layers of a new image, and its length: the caller allocates so many bytes, all zero */
typedef struct FilterPlan
{
	int			layers;
	FilterLayer layer[IMAGE_MAX_LAYERS];
	uint64_t	bytes;
	/* of a union: the layers of a and of b that a layer unites; -1 if none */
	int			from_a[IMAGE_MAX_LAYERS];
	int			from_b[IMAGE_MAX_LAYERS];
} FilterPlan;

/* Begin the plan of a union with all layers of one of its sides, a or b. */
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

/* Add layer j of b to the plan of a union; return false if that is one too many. */
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

/* Maximum length of a slice: a block, a window, or slots of a bucket */
#define SLICE_MAX_BYTES		64

/* Return a slice of an image that is not in memory; it is valid until the next call. */
typedef const uint8_t *(*FilterFetch) (void *from, uint64_t offset,
									   uint32_t bytes);

typedef enum FilterRemoval
{
	FILTER_REMOVED,
	FILTER_ABSENT,				/* the filter does not contain the element */
	FILTER_SATURATED			/* the element can never be removed */
} FilterRemoval;

/*
 * How many elements ahead a batch prefetches: enough to hide a cache miss of some 100 ns, with
 * no more cache lines in flight than a core supports
 */
#define PREFETCH_AHEAD	16

/*
 * The operations of a layout, or of a family of layouts, which one filter's layers may mix.
 * filter.h documents operations without a comment, as filter_NAME().  Explicit filters lack
 * operations on layers.
 */
typedef struct FilterOps
{
	/* The type of filters with layers of this family */
	FilterKind	kind;

	/* Does the filter count how often an element was added? */
	bool		multiset;

	/* Can the filter run out of room before it is at capacity? */
	bool		full_early;

	/* Do layers of this family use the field "detail"? */
	bool		detailed;

	/* NULL for layer_bytes: a layer takes only the bytes of its bits, aligned */
	uint64_t	(*layer_bits) (const FilterLayer *layer);
	uint64_t	(*layer_bytes) (const FilterLayer *layer);

	/*
	 * Probe.  NULL for contains_batch: call contains for each hash; NULL for
	 * count: it is 1 if the filter contains the hash, else 0.
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
	 * Estimate.  NULL for cardinality: header_cardinality is as good; NULL
	 * for header_cardinality: the sum of all layers' cardinalities; NULL for
	 * the next two: those of a Bloom filter's layer (sizing.h); NULL for
	 * layer_bits_set: the field bits_set.
	 */
	double		(*cardinality) (const uint8_t *image);
	double		(*header_cardinality) (const uint8_t *header);
	double		(*layer_cardinality) (const uint8_t *header,
									  const FilterLayer *layer);
	double		(*layer_error_rate) (const uint8_t *header,
									 const FilterLayer *layer);
	uint64_t	(*layer_bits_set) (const FilterLayer *layer);

	/* NULL: compare the last layer's estimated cardinality and capacity */
	bool		(*may_fill) (const uint8_t *image, uint64_t count);

	/*
	 * Change.  Only cuckoo filters support "unique" and have compact.  NULL
	 * for add_batch: foreign filters, which have foreign_add_batch().
	 */
	size_t		(*add_batch) (uint8_t *image, const uint64_t *hashes,
							  size_t count, bool unique);
	FilterRemoval (*remove) (uint8_t *image, uint64_t hash);
	uint64_t	(*compact) (uint8_t *image);

	/*
	 * Plan the layer that follows "count" others, and will get "waiting"
	 * elements at once.  Return false if it would be too large.  NULL:
	 * filters of this family do not grow.
	 */
	bool		(*plan_layer) (const FilterParams *params,
							   const FilterLayer *before, int count,
							   uint64_t waiting, FilterLayer *layer);

	/* Reset fields other than bits_set to those of a layer without elements */
	void		(*clear_layer) (const uint8_t *image, FilterLayer *layer);

	/*
	 * Can one filter have the layers of both?  NULL: if their first layers
	 * match
	 */
	bool		(*compatible) (const uint8_t *a, const uint8_t *b);

	/*
	 * plan_union() plans a union.  With "apart", it joins no layers of a and
	 * b, so that unite() cannot fail.  unite() fills an image that has the
	 * header and descriptors of the plan, and may return false.  With
	 * in_place, the image may be "a"; then there are no interrupt checks.
	 */
	FilterStatus (*plan_union) (const uint8_t *a, const uint8_t *b, bool apart,
								FilterPlan *plan);
	bool		(*unite) (uint8_t *image, const uint8_t *a, const uint8_t *b,
						  const FilterPlan *plan);
	bool		in_place;
	void		(*intersect_in_place) (uint8_t *a, const uint8_t *b);

	/*
	 * check.c calls these in this order.  They return NULL or the fault.
	 * check_image checks the header (and all of an explicit filter),
	 * check_layer the fields of layer i after valid layers, and check_bits
	 * the bits of layer i, which are within the image.
	 */
	const char *(*check_image) (const uint8_t *image);
	const char *(*check_layer) (const uint8_t *image, int i,
								const FilterLayer *layer);
	const char *(*check_bits) (const uint8_t *image, int i,
							   const FilterLayer *layer);
} FilterOps;

/* Operations on layers that are arrays of bits, which several layouts share (bits.c) */
extern FilterStatus bits_plan_union(const uint8_t *a, const uint8_t *b,
									bool apart, FilterPlan *plan);
extern bool bits_unite(uint8_t *image, const uint8_t *a, const uint8_t *b,
					   const FilterPlan *plan);
extern void bits_intersect_in_place(uint8_t *a, const uint8_t *b);
extern double bits_cardinality(const uint8_t *header);
extern const char *bits_check(const uint8_t *image, int i,
							  const FilterLayer *layer);

/* Is a union of two layers, with "set" set bits, fuller than additions can make a layer? */
extern bool bits_too_full(const FilterLayer *layer, const FilterLayer *other,
						  uint64_t set);

/* Return the number of bits that are set in a or in b (or in both), each of "bytes" bytes. */
extern uint64_t bits_count_united(const uint8_t *a, const uint8_t *b,
								  uint64_t bytes);

/* What a probe needs of a Bloom filter's layer */
typedef struct ProbeLayer
{
	uint8_t    *bits;			/* with "fetch", not to be dereferenced */
	uint64_t	size;
	unsigned	hashes;
	bool		flat;			/* an element's bits are not in blocks */
	bool		second;			/* an element has a second block */
	const uint8_t *image;
	FilterFetch fetch;			/* NULL: the whole image is in memory */
	void	   *from;			/* argument of fetch */
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

/* Return "bytes" bytes of a layer, from its byte "at" on. */
static ALWAYS_INLINE const uint8_t *
layer_slice(const ProbeLayer *layer, uint64_t at, uint32_t bytes)
{
	const uint8_t *slice = layer->bits + at;

	return layer->fetch ?
		layer->fetch(layer->from, slice - layer->image, bytes) : slice;
}

/* Does this block contain the element with this word? */
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

/* Operations that bloom_ops and counting_ops share (bloom.c) */
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

/* The operations of each family, defined in its file */
extern const FilterOps set_ops;
extern const FilterOps bloom_ops;
extern const FilterOps counting_ops;
extern const FilterOps cuckoo_ops;
extern const FilterOps foreign_ops;

typedef struct LayoutEntry
{
	const char *name;			/* as bloom_info() shows it */
	const FilterOps *ops;		/* of images and layers of this layout */
} LayoutEntry;

/* By FilterLayout */
extern const LayoutEntry layouts[];
extern const int layout_count;

typedef struct KindEntry
{
	const char *name;			/* of the SQL type */
	const FilterOps *ops;		/* of filters that are made for a capacity */

	/* faults: an image is of this kind but should not be, and the reverse */
	const char *is_this;
	const char *is_not_this;
} KindEntry;

/* By FilterKind */
extern const KindEntry filter_kinds[FILTER_KINDS];

/*
 * Return the operations of an image.  Bytes that were damaged on disk are not validated: with an
 * unknown layout, answers may be wrong, but nothing outside of the table is read.
 */
static inline const FilterOps *
image_ops(const uint8_t *image)
{
	FilterLayout layout = image_layout(image);

	return layouts[(int) layout < layout_count ? layout : LAYOUT_BLOCK512].ops;
}

#endif							/* FILTER_OPS_H */
