/*
 * combine.h
 *	  Adding elements to filters of any form; union and intersection; see combine.c.
 */
#ifndef BLOOMFILTER_COMBINE_H
#define BLOOMFILTER_COMBINE_H

#include "filter/foreign/foreign.h"
#include "value.h"

/* With more hashes than this after bloom_add(), an explicit filter gets layers. */
#define EXPLICIT_ADD_MAX		1024

extern void writer_add_hashes(FilterWriter *writer, ElementClass class,
							  const uint64 *hashes, uint64 count,
							  bool unique);
extern void writer_add_sorted(FilterWriter *writer, const uint8 *other);
extern void writer_make_sized(FilterWriter *writer, uint64 capacity);
extern void writer_add_foreign(FilterWriter *writer,
							   const ForeignHash *hashes, uint64 count);
extern void writer_unite(FilterWriter *writer, const uint8 *other);
extern void writer_intersect(FilterWriter *writer, const uint8 *other);
extern struct varlena *value_make_from_set(const uint8 *set, uint64 capacity);

#endif							/* BLOOMFILTER_COMBINE_H */
