/*
 * foreign.h
 *	  The operations on filters of other systems; see foreign.c and io.c.
 *
 * An element is not one of our hashes, but a ForeignHash of bytes that the other system
 * defines.  So all functions that take elements are separate for these filters.
 */
#ifndef FILTER_FOREIGN_H
#define FILTER_FOREIGN_H

#include "format.h"

/* As the functions of filter.h whose names begin with filter_ */
extern void foreign_contains_batch(const uint8_t *image,
								   const ForeignHash *hashes, size_t count,
								   bool *found);
extern bool foreign_contains_sliced(const uint8_t *header,
									const ForeignHash *hash,
									FilterFetch fetch, void *from);
extern size_t foreign_add_batch(uint8_t *image, const ForeignHash *hashes,
								size_t count);

/* Can elements be added, and it be united with others? */
extern bool foreign_takes_elements(const uint8_t *image);

/* Is it foreign, and do filter_count() and filter_remove() take word a of its hashes? */
extern bool foreign_counts(const uint8_t *image);

/* The elements of a layer by its bits: what RedisBloom's, which count, do not need */
extern double foreign_layer_cardinality(const FilterLayer *layer);

/* The bytes of other systems' filters: io.c */

/* Read a source's fields and plan the image, reading no byte beyond.  NULL or the fault. */
extern const char *foreign_parse(const ForeignSource *source,
								 ForeignImport *import);

/*
 * Make the image, of plan.bytes zeros, with the class and seed of "params"; it must be
 * given to image_check(), which decides the fields' ranges.
 */
extern void foreign_import(const ForeignSource *source,
						   const ForeignImport *import,
						   const FilterParams *params, uint8_t *image);

/* The length of the other system's bytes of an image; and write them. */
extern uint64_t foreign_export_bytes(const uint8_t *image);
extern void foreign_export(const uint8_t *image, uint8_t *to);

/*
 * Plan the filter that the other system makes for a capacity (at least 1) and error rate
 * (in its limits), with its seed in params.
 */
extern FilterStatus foreign_plan(const ForeignFormat *format,
								 FilterParams *params, FilterPlan *plan);

#endif							/* FILTER_FOREIGN_H */
