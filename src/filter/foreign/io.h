/*
 * io.h
 *	  The bytes of other systems' filters: read them, write them, and make the
 *	  filter that the other system would make; see io.c.
 */
#ifndef FILTER_FOREIGN_IO_H
#define FILTER_FOREIGN_IO_H

#include "../filter.h"
#include "foreign.h"

/*
 * Read the fields of a source and plan the image.  Returns NULL, or the fault,
 * as image_check() does, naming the field.  Reads no byte beyond the source.
 */
extern const char *foreign_parse(const ForeignSource *source,
								 ForeignImport *import);

/*
 * Make the image of a source that was parsed: plan.bytes bytes, all zero before.
 * "params" has its class and seed.  What the fields' ranges are, image_check()
 * decides, to which the result must be given.
 */
extern void foreign_import(const ForeignSource *source,
						   const ForeignImport *import,
						   const FilterParams *params, uint8_t *image);

/* The length of the other system's bytes of an image; and write them. */
extern uint64_t foreign_export_bytes(const uint8_t *image);
extern void foreign_export(const uint8_t *image, uint8_t *to);

/*
 * Plan the filter without elements that the other system makes for a capacity
 * (at least 1) and error rate (ERROR_RATE_MIN to ERROR_RATE_MAX).  Sets the seed
 * in params to the other system's default.
 */
extern FilterStatus foreign_plan(const ForeignFormat *format,
								 FilterParams *params, FilterPlan *plan);

#endif							/* FILTER_FOREIGN_IO_H */
