/*
 * filter.h
 *	  The operations on a filter: make, add, probe, unite, intersect, estimate.
 *
 * An image (image.h) is all the state there is.  These functions allocate
 * nothing: where a result needs room, one function says how much
 * (filter_plan_*), the caller provides it, and another fills it.  They
 * know hashes and parameters, and take an image that image_check() lets
 * through, or that they made; they cannot fail but as their comments say.
 *
 * See bloom.c and cuckoo.c for how a filter grows.
 */
#ifndef FILTER_FILTER_H
#define FILTER_FILTER_H

#include "check.h"
#include "image.h"
#include "interrupt.h"
#include "plan.h"
#include "sizing.h"

/*
 * A filter without elements for params->capacity (at least 1) at
 * params->error_rate (ERROR_RATE_MIN to ERROR_RATE_MAX).
 */
extern FilterStatus filter_plan(const FilterParams *params, FilterPlan *plan);

/*
 * A classic filter of m bits, k for an element; capacity, error rate and growth
 * in params are 0.
 */
extern FilterStatus filter_plan_classic(uint64_t m, unsigned k,
										FilterPlan *plan);

/* A filter with layers as it was created: the first of them, without elements */
extern FilterStatus filter_plan_again(const uint8_t *image, FilterPlan *plan);

extern void filter_init(uint8_t *image, const FilterParams *params,
						const FilterPlan *plan);

/* One more layer. */
extern FilterStatus filter_plan_growth(const uint8_t *image, FilterPlan *plan);
extern void filter_grow(uint8_t *image, const uint8_t *from,
						const FilterPlan *plan);

/* May the last layer prove too small for "count" more elements? */
extern bool filter_may_fill(const uint8_t *image, uint64_t count);

/*
 * Could adding "count" elements fail after some of them, because the layers are
 * full?  A cuckoo filter may run out of slots for an element long before its
 * capacity.
 */
extern bool filter_may_need_room(const uint8_t *image, uint64_t count);

/* Is this hash in?  For any layout. */
extern bool filter_contains(const uint8_t *image, uint64_t hash);

/* The same of many hashes, with their places fetched ahead. */
extern void filter_contains_batch(const uint8_t *image, const uint64_t *hashes,
								  size_t count, bool *found);

/*
 * Is this hash in, where only the header and descriptors of a filter with
 * layers are at hand?
 */
extern bool filter_contains_sliced(const uint8_t *header, uint64_t hash,
								   FilterFetch fetch, void *from);

/* How many fetches that takes at most; 0 if it cannot be done */
extern unsigned filter_slices(const uint8_t *header);

/* Bytes of the header and the descriptors, of an image that is not explicit */
static inline uint64_t
filter_header_bytes(const uint8_t *image)
{
	return IMAGE_HEADER_BYTES + IMAGE_LAYER_BYTES * image_layers(image);
}

/*
 * Add hashes, in their order, to a filter with layers.  Returns how many were
 * added: less than count if the last layer is full, and the next hash not in
 * already; of a cuckoo filter, if there is no place for it in any layer, and it
 * is not saturated.
 */
extern size_t filter_add_batch(uint8_t *image, const uint64_t *hashes,
							   size_t count);

/*
 * The rest of this page up to unions is for cuckoo filters, of any layout.
 *
 * They hold a multiset: an element that was added twice is in until it has been
 * removed twice.  Elements of one class (cuckoo.c) cannot be told apart.  Of a
 * class there is room for four entries in a layer (three, where its windows
 * overlap); when all are taken the class is saturated.  How often its elements
 * were added is then not known any more, so they stay: adding one, and removing
 * one, changes nothing.  A filter of many elements that are added several times
 * is full long before its capacity (cuckoo.c has figures).
 */

/*
 * Add hashes, but those that seem to be in.  As filter_add_batch() else.  An
 * element that is skipped because of another's entry is lost with that one.
 */
extern size_t filter_add_unique_batch(uint8_t *image, const uint64_t *hashes,
									  size_t count);

/*
 * How many entries the element may have: at least as many as the times it was
 * added and not removed, unless it is saturated.  Of an explicit filter, which
 * is a set, 1 at most.
 */
extern unsigned filter_count(const uint8_t *image, uint64_t hash);

/*
 * Remove an element that was added, once.  To remove one that was not, but seems
 * to be in, removes another one.  From a sorted explicit filter too, which gets
 * shorter.
 */
extern FilterRemoval filter_remove(uint8_t *image, uint64_t hash);

/*
 * Move entries out of the finest layers as far as there is room in coarser ones,
 * and drop layers that this empties, all in place.  The first stays.
 * Returns the image's new length.
 */
extern uint64_t filter_compact(uint8_t *image);

/* What two filters with layers must have in common, in order of the check */
typedef enum FilterDifference
{
	FILTERS_COMPATIBLE,
	DIFFERENT_KIND,				/* one is a bloom, one a cuckoo filter */
	DIFFERENT_LAYOUT,
	DIFFERENT_SEED,
	DIFFERENT_CLASS,
	DIFFERENT_CAPACITY,
	DIFFERENT_ERROR_RATE,
	DIFFERENT_GROWTH,
	DIFFERENT_SIZE				/* bits or hashes of the first layer */
} FilterDifference;

/*
 * The first thing in which two filters differ so that they are not united or
 * intersected.  Of an explicit and another filter, of which one is turned into
 * the other, only seed and class count.  An unknown class differs from none.
 */
extern FilterDifference filter_difference(const uint8_t *a, const uint8_t *b);

/*
 * Union of two compatible filters.  The image may be neither of the two.
 * That of cuckoo filters is the sum of both multisets, and filter_unite() may
 * find no place for an entry: it then returns false, and the image is to be
 * thrown away.  A plan with all layers of b beside a's, that needs more room or
 * cannot be made, does not fail.
 */
extern FilterStatus filter_plan_union(const uint8_t *a, const uint8_t *b,
									  FilterPlan *plan);
extern FilterStatus filter_plan_union_apart(const uint8_t *a, const uint8_t *b,
											FilterPlan *plan);
extern bool filter_unite(uint8_t *image, const uint8_t *a, const uint8_t *b,
						 const FilterPlan *plan);

/*
 * Does the plan keep the layers of a, so that the union may be made in place?
 * Never that of cuckoo filters, which might fail half-way.
 */
extern bool filter_unites_in_place(const uint8_t *a, const FilterPlan *plan);
extern void filter_unite_in_place(uint8_t *a, const uint8_t *b,
								  const FilterPlan *plan);

/* Intersection into a, of compatible filters of one layer each */
extern void filter_intersect_in_place(uint8_t *a, const uint8_t *b);

/*
 * Keep of the hashes of a set, explicit and sorted or empty, those that any
 * other filter contains.
 */
extern void filter_intersect_set(uint8_t *set, const uint8_t *other);

/*
 * Estimates from the set bits: elements that were added, distinct ones (of a
 * cuckoo filter, its entries), and the share of absent elements taken for
 * present.
 */
extern double filter_cardinality(const uint8_t *image);
extern double filter_estimated_error_rate(const uint8_t *image);

/*
 * Bits of all layers or hashes, and how many are set (0 for hashes; those of
 * the slots in use for cuckoo filters)
 */
extern void filter_bits(const uint8_t *image, uint64_t *bits,
						uint64_t *bits_set);

/*
 * The number of bits, and of bytes kept, of a layer, of which layout, hashes and
 * size count
 */
extern uint64_t layer_bits(const FilterLayer *layer);
extern uint64_t layer_bytes(const FilterLayer *layer);

/*
 * Is an element in as often as it was added?  By the filter's type: true for an
 * empty or explicit cuckoo filter, too, though a set has each element once.
 */
extern bool filter_is_multiset(const uint8_t *image);

/* The name of a filter type, with which its functions' names begin */
extern const char *kind_name(FilterKind kind);

/* As bloom_info() shows it */
extern const char *filter_layout_name(FilterLayout layout);

#endif							/* FILTER_FILTER_H */
