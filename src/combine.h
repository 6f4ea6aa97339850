/*
 * combine.h
 *	  Add elements to a filter of any form, and unite and intersect filters; see
 *	  combine.c.
 */
#ifndef BLOOMFILTER_COMBINE_H
#define BLOOMFILTER_COMBINE_H

#include "value.h"

/*
 * Hashes that an explicit filter takes by bloom_add() before it is turned
 * into a sized one.
 */
#define EXPLICIT_ADD_MAX		1024

extern void writer_add_hashes(FilterWriter *writer, ElementClass class,
							  const uint64 *hashes, uint64 count,
							  bool unique);
extern void writer_gather(FilterWriter *writer, const uint8 *other);
extern void writer_make_sized(FilterWriter *writer, uint64 capacity);
extern void writer_unite(FilterWriter *writer, const uint8 *other);
extern void writer_intersect(FilterWriter *writer, const uint8 *other);
extern struct varlena *value_make_from_set(const uint8 *set, uint64 capacity);

#endif							/* BLOOMFILTER_COMBINE_H */
