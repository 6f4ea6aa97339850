/*
 * foreign.h
 *	  The operations on filters of other systems; see foreign.c and io.c.
 *
 * Elements are not hashed as in our filters: an element is a ForeignHash of the bytes that the
 * other system hashes.  So the functions here that take elements replace those of filter.h.
 */
#ifndef FILTER_FOREIGN_H
#define FILTER_FOREIGN_H

#include "format.h"

/* Do as filter_contains_batch(), filter_contains_sliced() and filter_add_batch(). */
extern void foreign_contains_batch(const uint8_t *image,
								   const ForeignHash *hashes, size_t count,
								   bool *found);
extern bool foreign_contains_sliced(const uint8_t *header,
									const ForeignHash *hash,
									FilterFetch fetch, void *from);
extern size_t foreign_add_batch(uint8_t *image, const ForeignHash *hashes,
								size_t count);

/* Can elements be added to this foreign filter?  If not, it cannot be united either. */
extern bool foreign_takes_elements(const uint8_t *image);

/* Is it foreign, and do filter_count() and filter_remove() take "a" of a ForeignHash? */
extern bool foreign_counts(const uint8_t *image);

/* Estimate the elements of a layer from its bits, even if the format counts them. */
extern double foreign_layer_cardinality(const FilterLayer *layer);

/* Functions of io.c: the bytes of other systems' filters */

/* Read the fields of a source, and plan the image.  Return NULL or the fault. */
extern const char *foreign_parse(const ForeignSource *source,
								 ForeignImport *import);

/*
 * Make the image, which is plan.bytes zeros, with the class and seed of "params".  The caller
 * must then call image_check(): foreign_parse() does not check the ranges of all fields.
 */
extern void foreign_import(const ForeignSource *source,
						   const ForeignImport *import,
						   const FilterParams *params, uint8_t *image);

/* Return the length of an image in the other system's bytes; write these bytes. */
extern uint64_t foreign_export_bytes(const uint8_t *image);
extern void foreign_export(const uint8_t *image, uint8_t *to);

/*
 * Plan the filter that the other system would make for params->capacity (at least 1) and
 * params->error_rate (ERROR_RATE_MIN to ERROR_RATE_MAX).  Set params->seed.
 */
extern FilterStatus foreign_plan(const ForeignFormat *format,
								 FilterParams *params, FilterPlan *plan);

#endif							/* FILTER_FOREIGN_H */
