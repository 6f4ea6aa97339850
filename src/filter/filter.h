/*
 * filter.h
 *	  The operations on a filter: make, add, probe, unite, intersect, estimate.
 *
 * An image (image.h) is the whole state of a filter.  These functions allocate nothing: if a
 * result needs room, one function computes its size (filter_plan_*), the caller provides the
 * room, and another function fills it.  They know hashes and parameters, and accept images
 * that image_check() accepts, or that they have made.  They fail only as their comments say.
 */
#ifndef FILTER_FILTER_H
#define FILTER_FILTER_H

#include "ops.h"
#include "sizing.h"

/*
 * Plan a filter without elements for params->capacity (at least 1) at params->error_rate
 * (in its limits).  If params->exact, set bits_full to 0 while its elements are added.
 */
extern FilterStatus filter_plan(const FilterParams *params, FilterPlan *plan);

/* Plan a classic filter of m bits, k for an element; it has no capacity or error rate. */
extern FilterStatus filter_plan_classic(uint64_t m, unsigned k,
										FilterPlan *plan);

/* Plan a filter like *image when it was created: its first layer alone, no elements. */
extern FilterStatus filter_plan_again(const uint8_t *image, FilterPlan *plan);

/* Set the offsets of a plan's layers, one after the other; all else of them is set. */
extern FilterStatus filter_plan_layers(FilterPlan *plan);

/* Make a filter without elements, as planned. */
extern void filter_init(uint8_t *image, const FilterParams *params,
						const FilterPlan *plan);

/* Plan a filter of the same elements without the counters of a counting filter. */
extern FilterStatus filter_plan_plain(const uint8_t *image, FilterPlan *plan);

/* Plan one more layer, for "waiting" elements at least. */
extern FilterStatus filter_plan_growth(const uint8_t *image, uint64_t waiting,
									   FilterPlan *plan);

/* Copy a filter into an image that one of these two has planned. */
extern void filter_copy(uint8_t *image, const uint8_t *from,
						const FilterPlan *plan);

/* Might the last layer be too small for "count" more elements? */
extern bool filter_may_fill(const uint8_t *image, uint64_t count);

/* Could adding "count" elements fail half-way?  A cuckoo filter may lack slots early. */
extern bool filter_may_need_room(const uint8_t *image, uint64_t count);

/* Does a filter of any layout contain this hash? */
extern bool filter_contains(const uint8_t *image, uint64_t hash);

/* The same for many hashes, with their places prefetched */
extern void filter_contains_batch(const uint8_t *image,
								  const uint64_t *hashes, size_t count,
								  bool *found);

/* The same for a filter with layers, with the header and descriptors alone */
static inline bool
filter_contains_sliced(const uint8_t *header, uint64_t hash,
					   FilterFetch fetch, void *from)
{
	return image_ops(header)->contains_sliced(header, hash, fetch, from);
}

/* The maximum number of fetches for that; 0 if the layout does not support it */
IMAGE_GETTER(unsigned, filter_slices,
			 image_ops(image)->slices ? image_ops(image)->slices(image) : 0)

/* Bytes of the header and the descriptors, of an image that is not explicit */
static inline uint64_t
filter_header_bytes(const uint8_t *image)
{
	return image_is_compact(image) ? IMAGE_COMPACT_BYTES :
		IMAGE_HEADER_BYTES + IMAGE_LAYER_BYTES * (uint64_t) image_layers(image);
}

/*
 * Add hashes, in their order, to a filter with layers.  Returns the number processed,
 * less than count if there is no place for the next: in a Bloom filter, the last layer
 * is full, and none contains it; in a cuckoo filter, no layer has a place, and its class
 * is not saturated.
 */
static inline size_t
filter_add_batch(uint8_t *image, const uint64_t *hashes, size_t count)
{
	const FilterOps *ops = image_ops(image);

	return ops->add_batch ? ops->add_batch(image, hashes, count, false) : 0;
}

/*
 * The next functions are for cuckoo filters of any layout, and all but
 * filter_add_unique_batch() and filter_compact() also for counting filters.  There, what
 * they say of a class is true of an element's counters, up to COUNTING_MOST (counting.c).
 *
 * An element that was added twice is in until it has been removed twice.  Elements of
 * one class cannot be told apart; if all slots of a class are taken, it is saturated,
 * and its elements stay: adding or removing one changes nothing (cuckoo.c).
 */

/*
 * Add hashes, but skip those that it seems to contain.  A skipped element shares the entry
 * of another one: removing either loses both.
 */
static inline size_t
filter_add_unique_batch(uint8_t *image, const uint64_t *hashes, size_t count)
{
	return image_ops(image)->add_batch(image, hashes, count, true);
}

/*
 * The number of entries that the element may have: unless it is saturated, at least that
 * of its additions that were not removed.  At most 1 in an explicit filter, a set.
 */
static inline unsigned
filter_count(const uint8_t *image, uint64_t hash)
{
	const FilterOps *ops = image_ops(image);

	return ops->count ? ops->count(image, hash) : filter_contains(image, hash);
}

/*
 * Remove an element once.  It must have been added: if it only seems to be in, another
 * is removed.  A sorted explicit filter gets shorter.
 */
static inline FilterRemoval
filter_remove(uint8_t *image, uint64_t hash)
{
	return image_ops(image)->remove(image, hash);
}

/*
 * Move entries from the finest layers to coarser ones with room, and drop layers that
 * get empty except the first.  Returns the image's new length.
 */
static inline uint64_t
filter_compact(uint8_t *image)
{
	const FilterOps *ops = image_ops(image);

	return ops->compact ? ops->compact(image) : image_bytes(image);
}

/* What two compatible filters must have in common, in the order of the checks */
typedef enum FilterDifference
{
	FILTERS_COMPATIBLE,
	DIFFERENT_KIND,				/* a Bloom and a cuckoo filter */
	DIFFERENT_LAYOUT,
	DIFFERENT_SEED,
	DIFFERENT_CLASS,
	DIFFERENT_SYSTEM,			/* one of them is another system's */
	NOT_COMBINED,				/* nothing is added to them, however alike */
	DIFFERENT_COUNTING,			/* one of them has counters */
	DIFFERENT_CAPACITY,
	DIFFERENT_ERROR_RATE,
	DIFFERENT_GROWTH,
	DIFFERENT_SIZE				/* bits or hashes of the first layer */
} FilterDifference;

/*
 * The first difference that keeps two filters from being united or intersected, by headers
 * and descriptors alone.  Of an explicit filter only seed and class matter; if it has no
 * elements, its class fits any.
 */
extern FilterDifference filter_difference(const uint8_t *a, const uint8_t *b);

/*
 * Union of two compatible filters into a third image.  For cuckoo filters it is a sum.
 * If an entry finds no place, filter_unite() returns false, and the image is unusable.  A
 * plan "apart" avoids that: it has all layers of both, but takes more room, and may be
 * impossible.
 */
extern FilterStatus filter_plan_union(const uint8_t *a, const uint8_t *b,
									  bool apart, FilterPlan *plan);
extern bool filter_unite(uint8_t *image, const uint8_t *a, const uint8_t *b,
						 const FilterPlan *plan);

/* Does the plan keep the layers of a?  False where a union might fail half-way. */
extern bool filter_unites_in_place(const uint8_t *a, const FilterPlan *plan);
extern void filter_unite_in_place(uint8_t *a, const uint8_t *b,
								  const FilterPlan *plan);

/* Intersect a with b; they are compatible, and have one layer each. */
extern void filter_intersect_in_place(uint8_t *a, const uint8_t *b);

/* Remove what another filter lacks from a sorted explicit filter, or an empty one. */
extern void filter_intersect_set(uint8_t *set, const uint8_t *other);

/*
 * Estimates from the set bits: distinct elements (of a cuckoo filter, entries; after an
 * intersection, an upper bound), and the error rate.  Given the header and descriptors
 * alone, elements in several layers of a union count several times; a compact image is
 * needed in full.
 */
extern double filter_cardinality(const uint8_t *image);
extern double filter_header_cardinality(const uint8_t *header);
extern double filter_estimated_error_rate(const uint8_t *image);

/*
 * The bits of all layers, or of hashes.  *bits_set: of hashes 0, of a cuckoo filter the
 * bits of used slots
 */
extern void filter_bits(const uint8_t *image, uint64_t *bits,
						uint64_t *bits_set);

/* A layer's bits, and the bytes that it takes, by layout, hashes and size alone */
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

/* Does it count how often an element was added?  A cuckoo filter does, even as a set. */
IMAGE_GETTER(bool, filter_is_multiset,
			 filter_kinds[image_kind(image)].ops->multiset ||
			 image_ops(image)->multiset)

/* The name of a filter type, with which its functions' names begin */
static inline const char *
kind_name(FilterKind kind)
{
	return filter_kinds[kind].name;
}

/* As bloom_info() shows it */
static inline const char *
filter_layout_name(FilterLayout layout)
{
	return layouts[layout].name;
}

/*
 * Check that this is a valid image of this length and kind.  Returns NULL or the fault,
 * as text that can follow "invalid filter: ".
 */
extern const char *image_check(const uint8_t *image, uint64_t bytes,
							   FilterKind kind);

/* The first part of that: does it begin like one of this kind, in a known version? */
extern const char *image_check_kind(const uint8_t *image, uint64_t bytes,
									FilterKind kind);

/* Can elements of this class be in a filter of ours, not of another system? */
extern bool check_element_class(const uint8_t class[8]);

/*
 * Enough for 10^10 elements at one percent, or 10^9 at the lowest error rate.  A caller
 * gets all filters at once, each of up to SHARD_BYTES (shards.c): 18 GB.
 */
#define MAX_SHARDS		(1 << 24)

/* The filters for a set with these params: their number, 0 if over MAX_SHARDS; params */
extern uint64_t filter_plan_shards(const FilterParams *params,
								   FilterParams *each);

#endif							/* FILTER_FILTER_H */
