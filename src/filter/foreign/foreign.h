/*
 * foreign.h
 *	  Filters of other systems: the operations on them; see foreign.c and
 *	  union.c.
 *
 * Elements are not our hashes, but a ForeignHash of bytes that the other system
 * defines.  So these filters have functions of their own for what takes an
 * element.
 */
#ifndef FILTER_FOREIGN_H
#define FILTER_FOREIGN_H

#include "formats.h"

/* As the functions of filter.h whose names begin with filter_ */
extern void foreign_contains_batch(const uint8_t *image,
								   const ForeignHash *hashes, size_t count,
								   bool *found);
extern bool foreign_contains_sliced(const uint8_t *header,
									const ForeignHash *hash,
									FilterFetch fetch, void *from);
extern size_t foreign_add_batch(uint8_t *image, const ForeignHash *hashes,
								size_t count);

/*
 * Set the layer's bits_full for its capacity, or both for a layer of which only
 * size and hashes are known: then the capacity is the largest for which the
 * other system would have chosen that number of hashes.
 */
extern void foreign_set_full(const ForeignFormat *format, FilterLayer *layer);
extern void foreign_set_capacity(const ForeignFormat *format,
								 FilterLayer *layer);

/* Other operations, for the table in layouts.h */
extern uint64_t foreign_layer_bits(const FilterLayer *layer);
extern bool foreign_contains_ours(const uint8_t *image, uint64_t hash);
extern void foreign_contains_ours_batch(const uint8_t *image,
										const uint64_t *hashes, size_t count,
										bool *found);
extern bool foreign_contains_ours_sliced(const uint8_t *header, uint64_t hash,
										 FilterFetch fetch, void *from);
extern unsigned foreign_slices(const uint8_t *header);
extern double foreign_cardinality(const uint8_t *image);
extern double foreign_error_rate(const uint8_t *image);
extern double foreign_layer_cardinality(const FilterLayer *layer);
extern bool foreign_may_fill(const uint8_t *image, uint64_t count);
extern void foreign_clear_layer(const uint8_t *image, FilterLayer *layer);
extern bool foreign_compatible(const uint8_t *a, const uint8_t *b);
extern FilterStatus foreign_plan_union(const uint8_t *a, const uint8_t *b,
									   FilterPlan *plan);
extern bool foreign_unite(uint8_t *image, const uint8_t *a, const uint8_t *b,
						  const FilterPlan *plan);
extern void foreign_intersect_in_place(uint8_t *a, const uint8_t *b);
extern const char *foreign_check_image(const uint8_t *image);
extern const char *foreign_check_layer(const uint8_t *image, int i,
									   const FilterLayer *layer);
extern const char *foreign_check_bits(const uint8_t *image, int i,
									  const FilterLayer *layer);

#endif							/* FILTER_FOREIGN_H */
