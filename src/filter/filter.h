/*
 * filter.h
 *	  The operations on a filter: make, add, probe, unite, intersect, estimate.
 *
 * An image (image.h) is the whole state of a filter.  These functions do not allocate memory: a
 * function filter_plan_*() computes the size of the result, the caller allocates it, and another
 * function fills it.  Elements are hashes.  Images must come from these functions, or have
 * passed image_check().  Functions fail only as their comments say.
 */
#ifndef FILTER_FILTER_H
#define FILTER_FILTER_H

#include "ops.h"
#include "sizing.h"

/*
 * Plan a filter for params->capacity (at least 1) and params->error_rate (ERROR_RATE_MIN to
 * ERROR_RATE_MAX).  If params->exact, callers set bits_full to 0 while they add the elements.
 */
extern FilterStatus filter_plan(const FilterParams *params, FilterPlan *plan);

/* Plan a classic filter of m bits, where an element sets k; it has no capacity or error rate. */
extern FilterStatus filter_plan_classic(uint64_t m, unsigned k,
										FilterPlan *plan);

/* Plan the filter as it was created: the first layer of *image alone, without elements. */
extern FilterStatus filter_plan_again(const uint8_t *image, FilterPlan *plan);

/* Set the offsets of a plan's layers, whose other fields are set, and its length. */
extern FilterStatus filter_plan_layers(FilterPlan *plan);

/* Write the header and descriptors of a filter without elements, as planned. */
extern void filter_init(uint8_t *image, const FilterParams *params,
						const FilterPlan *plan);

/* Plan a copy of a counting filter without its counters. */
extern FilterStatus filter_plan_plain(const uint8_t *image, FilterPlan *plan);

/* Plan a copy of a filter with one more layer, for at least "waiting" elements. */
extern FilterStatus filter_plan_growth(const uint8_t *image, uint64_t waiting,
									   FilterPlan *plan);

/* Make the copy of a filter that filter_plan_plain() or filter_plan_growth() has planned. */
extern void filter_copy(uint8_t *image, const uint8_t *from,
						const FilterPlan *plan);

/* May the last layer get full before "count" elements are added? */
extern bool filter_may_fill(const uint8_t *image, uint64_t count);

/* May adding "count" elements stop half-way?  Cuckoo filters may lack a slot at any load. */
extern bool filter_may_need_room(const uint8_t *image, uint64_t count);

extern bool filter_contains(const uint8_t *image, uint64_t hash);

/* Probe many hashes, with prefetches; found[i] is set to the answer for hashes[i]. */
extern void filter_contains_batch(const uint8_t *image,
								  const uint64_t *hashes, size_t count,
								  bool *found);

/* Probe a filter with layers, given its header and descriptors: read the rest by "fetch". */
static inline bool
filter_contains_sliced(const uint8_t *header, uint64_t hash,
					   FilterFetch fetch, void *from)
{
	return image_ops(header)->contains_sliced(header, hash, fetch, from);
}

/* Return how many slices filter_contains_sliced() fetches at most; 0: it is not supported. */
IMAGE_GETTER(unsigned, filter_slices,
			 image_ops(image)->slices ? image_ops(image)->slices(image) : 0)

/* Return the bytes of the header and the descriptors of an image that is not explicit. */
static inline uint64_t
filter_header_bytes(const uint8_t *image)
{
	return image_is_compact(image) ? IMAGE_COMPACT_BYTES :
		IMAGE_HEADER_BYTES + IMAGE_LAYER_BYTES * (uint64_t) image_layers(image);
}

/*
 * Add hashes, in their order, to a filter with layers.  Return the number of hashes that were
 * processed.  It is less than "count" if the next one has no place: in a Bloom filter, no layer
 * contains it, and the last one is full; in a cuckoo filter, no layer has a free slot for it,
 * and its class is not saturated.
 */
static inline size_t
filter_add_batch(uint8_t *image, const uint64_t *hashes, size_t count)
{
	const FilterOps *ops = image_ops(image);

	return ops->add_batch ? ops->add_batch(image, hashes, count, false) : 0;
}

/*
 * The functions down to filter_compact() are for cuckoo filters, also explicit ones.  An
 * element that was added twice stays until it is removed twice.  A filter cannot
 * distinguish elements of one class.  If entries take all slots of a class, it is
 * saturated: its elements stay, and adding or removing one changes nothing (cuckoo.c).
 *
 * filter_count() and filter_remove() take counting filters, too.  An element whose counters
 * have all reached COUNTING_MOST is then like one of a saturated class (counting.c).
 */

/*
 * Add hashes, but skip those that the filter seems to contain.  A skipped element may share the
 * entry of another one; then removing one of them removes both.
 */
static inline size_t
filter_add_unique_batch(uint8_t *image, const uint64_t *hashes, size_t count)
{
	return image_ops(image)->add_batch(image, hashes, count, true);
}

/*
 * Return how often the element may be in the filter: unless its class is saturated, at least as
 * often as it was added and not removed.  In an explicit filter, at most 1.
 */
static inline unsigned
filter_count(const uint8_t *image, uint64_t hash)
{
	const FilterOps *ops = image_ops(image);

	return ops->count ? ops->count(image, hash) : filter_contains(image, hash);
}

/*
 * Remove an element once.  It must have been added: else another one may be removed.  An
 * explicit filter must be sorted, and gets shorter.
 */
static inline FilterRemoval
filter_remove(uint8_t *image, uint64_t hash)
{
	return image_ops(image)->remove(image, hash);
}

/* Move entries to coarser layers with room, drop empty ones, and return the new length. */
static inline uint64_t
filter_compact(uint8_t *image)
{
	const FilterOps *ops = image_ops(image);

	return ops->compact ? ops->compact(image) : image_bytes(image);
}

/* Why two filters are not compatible, in the order of the checks */
typedef enum FilterDifference
{
	FILTERS_COMPATIBLE,
	DIFFERENT_KIND,				/* a Bloom and a cuckoo filter */
	DIFFERENT_LAYOUT,
	DIFFERENT_SEED,
	DIFFERENT_CLASS,
	DIFFERENT_SYSTEM,			/* only one of them is another system's */
	NOT_COMBINED,				/* foreign filters that take no elements */
	DIFFERENT_COUNTING,			/* only one of them has counters */
	DIFFERENT_CAPACITY,
	DIFFERENT_ERROR_RATE,
	DIFFERENT_GROWTH,
	DIFFERENT_SIZE				/* bits or hashes of the first layer */
} FilterDifference;

/*
 * Return the first difference that keeps two filters from being united or intersected.  This
 * reads their headers and descriptors alone.  Of an explicit filter, only seed and class matter.
 * A filter without a class is compatible with any class.
 */
extern FilterDifference filter_difference(const uint8_t *a, const uint8_t *b);

/*
 * Plan the union of two compatible filters, and make it in a third image.  For cuckoo filters,
 * the union is a sum.  If an entry finds no place, filter_unite() returns false, and the image
 * is unusable.  With a plan "apart", which has all layers of both, it never fails; but the plan
 * takes more bytes, and may be impossible.
 */
extern FilterStatus filter_plan_union(const uint8_t *a, const uint8_t *b,
									  bool apart, FilterPlan *plan);
extern bool filter_unite(uint8_t *image, const uint8_t *a, const uint8_t *b,
						 const FilterPlan *plan);

/* Can filter_unite_in_place() execute this plan?  Yes if the union has a's layers. */
extern bool filter_unites_in_place(const uint8_t *a, const FilterPlan *plan);
extern void filter_unite_in_place(uint8_t *a, const uint8_t *b,
								  const FilterPlan *plan);

/* Replace "a" by its intersection with b; they are compatible, and have one layer each. */
extern void filter_intersect_in_place(uint8_t *a, const uint8_t *b);

/* Remove the hashes that "other" does not contain from a sorted explicit filter. */
extern void filter_intersect_set(uint8_t *set, const uint8_t *other);

/*
 * Estimate from the set bits the number of distinct elements (of a cuckoo filter, of entries;
 * after an intersection, an upper bound), and the error rate.  filter_header_cardinality() reads
 * the header and descriptors alone, except for a compact image.  It counts an element of several
 * layers of a union several times.
 */
extern double filter_cardinality(const uint8_t *image);
extern double filter_header_cardinality(const uint8_t *header);
extern double filter_estimated_error_rate(const uint8_t *image);

/*
 * Get the number of bits of all layers, or of all hashes, and how many are set: 0 for hashes,
 * and for a cuckoo filter all bits of the slots that are in use.
 */
extern void filter_bits(const uint8_t *image, uint64_t *bits,
						uint64_t *bits_set);

/* Return a layer's bits, and the bytes it takes, by its fields layout, hashes and size. */
static inline uint64_t
layer_bits(const FilterLayer *layer)
{
	return layouts[layer->layout].ops->layer_bits(layer);
}

static inline uint64_t
layer_bytes(const FilterLayer *layer)
{
	const FilterOps *ops = layouts[layer->layout].ops;

	return ops->layer_bytes ? ops->layer_bytes(layer) :
		image_aligned((ops->layer_bits(layer) + 7) / 8);
}

/* Do filters of its kind, or its layout, count how often an element was added? */
IMAGE_GETTER(bool, filter_is_multiset,
			 filter_kinds[image_kind(image)].ops->multiset ||
			 image_ops(image)->multiset)

/* Return the name of a filter type; the names of its SQL functions begin with it. */
static inline const char *
kind_name(FilterKind kind)
{
	return filter_kinds[kind].name;
}

static inline const char *
filter_layout_name(FilterLayout layout)
{
	return layouts[layout].name;
}

/* Is it a valid image?  Return NULL or the fault, a text that can follow "invalid filter: ". */
extern const char *image_check(const uint8_t *image, uint64_t bytes,
							   FilterKind kind);

/* Check only its kind, and the version of its format.  Return NULL or the fault. */
extern const char *image_check_kind(const uint8_t *image, uint64_t bytes,
									FilterKind kind);

/* Is it a valid element class of a filter that is not foreign? */
extern bool check_element_class(const uint8_t class[8]);

/*
 * Maximum number of shards: enough for 10^10 elements at 1 %, or 10^9 at the lowest error rate.
 * All of them, of up to SHARD_BYTES (shards.c), take 18 GB.
 */
#define MAX_SHARDS		(1 << 24)

/* Set *each to the params of a set's filters; return their number, 0 if over MAX_SHARDS. */
extern uint64_t filter_plan_shards(const FilterParams *params,
								   FilterParams *each);

#endif							/* FILTER_FILTER_H */
