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

/* Operations of ops.h: of foreign.c, and of union.c */
extern double foreign_layer_cardinality(const FilterLayer *layer);
extern bool foreign_compatible(const uint8_t *a, const uint8_t *b);
extern FilterStatus foreign_plan_union(const uint8_t *a, const uint8_t *b,
									   FilterPlan *plan);
extern bool foreign_unite(uint8_t *image, const uint8_t *a, const uint8_t *b,
						  const FilterPlan *plan);
extern void foreign_intersect_in_place(uint8_t *a, const uint8_t *b);

#endif							/* FILTER_FOREIGN_H */
