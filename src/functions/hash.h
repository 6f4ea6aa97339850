/*
 * hash.h
 *	  The type hashed_element; see hash.c.
 */
#ifndef BLOOMFILTER_HASH_H
#define BLOOMFILTER_HASH_H

#include "postgres.h"

#include "element/class.h"

/*
 * A value of the type hashed_element: all that a filter needs to know of an
 * element.  Its length is in the SQL script.
 */
typedef struct HashedElement
{
	uint64		hash;
	ElementClass class;
	int64		seed;			/* that the hash was made with */
} HashedElement;

#define DatumGetHashedElement(datum) \
	((const HashedElement *) DatumGetPointer(datum))

#endif							/* BLOOMFILTER_HASH_H */
