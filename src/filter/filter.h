/*
 * filter.h
 *	  The operations on a filter: make, add, probe, unite, intersect, estimate.
 *
 * An image (image.h) is the whole state of a filter.  These functions allocate
 * nothing: if a result needs room, one function computes its size
 * (filter_plan_*), the caller provides the room, and another function fills
 * it.  They know hashes and parameters, and accept images that image_check()
 * accepts, or that they have made.  They fail only as their comments say.
 *
 * See bloom.c and cuckoo.c for how a filter grows.
 */
#ifndef FILTER_FILTER_H
#define FILTER_FILTER_H

#include "image.h"
#include "interrupt.h"
#include "plan.h"
#include "sizing.h"

/*
 * Plan a filter without elements for params->capacity (at least 1) at
 * params->error_rate (ERROR_RATE_MIN to ERROR_RATE_MAX).  If params->exact, set
 * bits_full of the layer to 0 while its elements are added.
 */
extern FilterStatus filter_plan(const FilterParams *params, FilterPlan *plan);

/*
 * Plan a classic filter of m bits, k for each element.  The capacity, error
 * rate and growth in its params are 0.
 */
extern FilterStatus filter_plan_classic(uint64_t m, unsigned k,
										FilterPlan *plan);

/* Plan a filter with layers as it was created: the first, without elements. */
extern FilterStatus filter_plan_again(const uint8_t *image, FilterPlan *plan);

/*
 * Place the layers of a plan, of which the caller has set all else: one after the
 * other.  FILTER_TOO_LARGE or FILTER_OK.
 */
extern FilterStatus filter_plan_layers(FilterPlan *plan);

/* Make a filter without elements, as planned. */
extern void filter_init(uint8_t *image, const FilterParams *params,
						const FilterPlan *plan);

/* Plan a counting filter without its counters: with the elements of now */
extern FilterStatus filter_plan_plain(const uint8_t *image, FilterPlan *plan);

/* Plan one more layer, for "waiting" elements at least. */
extern FilterStatus filter_plan_growth(const uint8_t *image, uint64_t waiting,
									   FilterPlan *plan);

/* Copy a filter into an image as either has planned it. */
extern void filter_copy(uint8_t *image, const uint8_t *from,
						const FilterPlan *plan);

/* Might the last layer be too small for "count" more elements? */
extern bool filter_may_fill(const uint8_t *image, uint64_t count);

/*
 * Could adding "count" elements fail after some of them, because the layers are
 * full?  A cuckoo filter may run out of slots for an element long before its
 * capacity.
 */
extern bool filter_may_need_room(const uint8_t *image, uint64_t count);

/* Does a filter of any layout contain this hash? */
extern bool filter_contains(const uint8_t *image, uint64_t hash);

/* The same for many hashes, with their places prefetched */
extern void filter_contains_batch(const uint8_t *image, const uint64_t *hashes,
								  size_t count, bool *found);

/*
 * The same for a filter with layers of which only the header and descriptors
 * are in memory
 */
extern bool filter_contains_sliced(const uint8_t *header, uint64_t hash,
								   FilterFetch fetch, void *from);

/* The maximum number of fetches for that; 0 if the layout does not support it */
extern unsigned filter_slices(const uint8_t *header);

/* Bytes of the header and the descriptors, of an image that is not explicit */
static inline uint64_t
filter_header_bytes(const uint8_t *image)
{
	return image_is_compact(image) ? IMAGE_COMPACT_BYTES :
		IMAGE_HEADER_BYTES + IMAGE_LAYER_BYTES * (uint64_t) image_layers(image);
}

/*
 * Add hashes, in their order, to a filter with layers.  Returns the number of
 * hashes processed: less than count if the next hash needs a place and there
 * is none.  In a Bloom filter, that means that the last layer is full, and no
 * layer contains the hash; in a cuckoo filter, that no layer has a place for
 * it, and its class is not saturated.
 */
extern size_t filter_add_batch(uint8_t *image, const uint64_t *hashes,
							   size_t count);

/*
 * The next functions are for cuckoo filters, of any layout, and, but for
 * filter_add_unique_batch() and filter_compact(), for counting Bloom filters,
 * where what is said of a class is true of each of an element's counters, which
 * count to COUNTING_MOST (counting.c).
 *
 * A cuckoo filter is a multiset: an element that was added twice is in it
 * until it has been removed twice.  Elements of one class (cuckoo.c) cannot be
 * told apart.  A layer has room for four entries of a class (three if its
 * windows overlap); if all are taken, the class is saturated.  Then it is not
 * known how often its elements were added, so they stay: adding or removing
 * one changes nothing.  A filter of many elements that are added several times
 * is full long before its capacity (cuckoo.c has figures).
 */

/*
 * Add hashes as filter_add_batch() does, but skip those that the filter seems
 * to contain.  If an element is skipped because of another's entry, removing
 * that one loses both.
 */
extern size_t filter_add_unique_batch(uint8_t *image, const uint64_t *hashes,
									  size_t count);

/*
 * The number of entries that the element may have: at least the number of its
 * additions that were not removed, unless its class is saturated.  At most 1
 * in an explicit filter, which is a set.
 */
extern unsigned filter_count(const uint8_t *image, uint64_t hash);

/*
 * Remove an element once, which must have been added.  Removing one that was
 * not, but seems to be in, removes another element.  Also works on a sorted
 * explicit filter, which gets shorter.
 */
extern FilterRemoval filter_remove(uint8_t *image, uint64_t hash);

/*
 * Move entries from the finest layers to coarser ones that have room, and drop
 * layers that get empty except the first, all in place.  Returns the image's
 * new length.
 */
extern uint64_t filter_compact(uint8_t *image);

/* What two compatible filters must have in common, in the order of the checks */
typedef enum FilterDifference
{
	FILTERS_COMPATIBLE,
	DIFFERENT_KIND,				/* a Bloom and a cuckoo filter */
	DIFFERENT_LAYOUT,
	DIFFERENT_SEED,
	DIFFERENT_CLASS,
	DIFFERENT_SYSTEM,			/* one of them is another system's */
	DIFFERENT_COUNTING,			/* one of them has counters */
	DIFFERENT_CAPACITY,
	DIFFERENT_ERROR_RATE,
	DIFFERENT_GROWTH,
	DIFFERENT_SIZE				/* bits or hashes of the first layer */
} FilterDifference;

/*
 * The first difference that makes two filters incompatible: they cannot be
 * united or intersected.  If one of them is explicit, only seed and class
 * count.  An unknown class is compatible with any.  Reads no more than their
 * headers and descriptors.
 */
extern FilterDifference filter_difference(const uint8_t *a, const uint8_t *b);

/*
 * Union of two compatible filters into a third image.  The union of cuckoo
 * filters is the sum of both multisets, and filter_unite() may find no place
 * for an entry: it then returns false, and the image is unusable.  It always
 * succeeds with a plan that puts all layers of b beside those of a ("apart"); that
 * takes more room, and may be impossible.
 */
extern FilterStatus filter_plan_union(const uint8_t *a, const uint8_t *b,
									  bool apart, FilterPlan *plan);
extern bool filter_unite(uint8_t *image, const uint8_t *a, const uint8_t *b,
						 const FilterPlan *plan);

/*
 * Does the plan keep the layers of a, so that the union can be made in place?
 * Always false for cuckoo filters, because their union might fail half-way.
 */
extern bool filter_unites_in_place(const uint8_t *a, const FilterPlan *plan);
extern void filter_unite_in_place(uint8_t *a, const uint8_t *b,
								  const FilterPlan *plan);

/* Intersect a with b; they are compatible, and have one layer each. */
extern void filter_intersect_in_place(uint8_t *a, const uint8_t *b);

/*
 * Remove the hashes from a sorted explicit filter, or an empty one, that
 * another filter of any layout does not contain.
 */
extern void filter_intersect_set(uint8_t *set, const uint8_t *other);

/*
 * Estimates from the set bits: the number of distinct elements (of a cuckoo
 * filter, its entries), and the error rate.  After an intersection, the number
 * is an upper bound.  With the header and descriptors alone, elements count twice
 * that layers of a union have in common; a compact image is needed in full.
 */
extern double filter_cardinality(const uint8_t *image);
extern double filter_header_cardinality(const uint8_t *header);
extern double filter_estimated_error_rate(const uint8_t *image);

/*
 * The number of bits of all layers or hashes, and of those that are set
 * (hashes: 0; cuckoo filters: the bits of slots in use)
 */
extern void filter_bits(const uint8_t *image, uint64_t *bits,
						uint64_t *bits_set);

/*
 * The number of bits of a layer, and of bytes that it takes.  They depend on
 * its layout, hashes and size only.
 */
extern uint64_t layer_bits(const FilterLayer *layer);
extern uint64_t layer_bytes(const FilterLayer *layer);

/*
 * Does the filter count how often an element was added?  True also for an empty or
 * explicit cuckoo filter, though that has each element once.
 */
extern bool filter_is_multiset(const uint8_t *image);

/* The name of a filter type, with which its functions' names begin */
extern const char *kind_name(FilterKind kind);

/* As bloom_info() shows it */
extern const char *filter_layout_name(FilterLayout layout);

/*
 * Check that this is a valid image of exactly "bytes" bytes, and of this kind.
 * Returns NULL, or the fault, as text that can follow "invalid filter: ".
 */
extern const char *image_check(const uint8_t *image, uint64_t bytes,
							   FilterKind kind);

/*
 * The first part of that: do the bytes begin like an image of this kind, in a
 * version of the format that we know?
 */
extern const char *image_check_kind(const uint8_t *image, uint64_t bytes,
									FilterKind kind);

/* Can elements of this class be in a filter of ours, not of another system? */
extern bool check_element_class(const uint8_t class[8]);

/*
 * The most shards: enough for 10^10 elements at one percent, or 10^9 at the lowest
 * error rate.  Whoever asks for them gets all their filters at once, of up to
 * SHARD_BYTES (shards.c): 18 GB.
 */
#define MAX_SHARDS		(1 << 24)

/*
 * The number of filters for "params", which are those of the whole set, and the
 * parameters of each of them.  Returns 0 if there would be more than MAX_SHARDS.
 */
extern uint64_t filter_plan_shards(const FilterParams *params,
								   FilterParams *each);

#endif							/* FILTER_FILTER_H */
