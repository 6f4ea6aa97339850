/*
 * foreign_element.h
 *	  Convert values to the bytes that another system hashes; see foreign_element.c.
 */
#ifndef BLOOMFILTER_FOREIGN_ELEMENT_H
#define BLOOMFILTER_FOREIGN_ELEMENT_H

#include "value/stored.h"

typedef struct ForeignElements ForeignElements;

extern ForeignElements *foreign_elements(ForeignElements **kept, const uint8 *image,
										 Oid type, MemoryContext mcxt);
extern bool foreign_elements_fit(const uint8 *image, Oid type);
extern void foreign_elements_push(ForeignElements *elements, Datum value, bool change);
extern void foreign_elements_find(ForeignElements *elements,
								  FilterReader *reader, bool *found);
extern unsigned foreign_elements_count(const ForeignElements *elements, const uint8 *image);
extern bool foreign_elements_remove(const ForeignElements *elements, uint8 *image);
extern const ForeignHash *foreign_elements_hashes(const ForeignElements *elements,
												  uint64 *count);

#endif							/* BLOOMFILTER_FOREIGN_ELEMENT_H */
