/*
 * element.h
 *	  Hash a value of any type, as filters store it; see element.c.
 */
#ifndef BLOOMFILTER_ELEMENT_H
#define BLOOMFILTER_ELEMENT_H

#include "postgres.h"

#include "class.h"

#include "access/tupdesc.h"

/* Where equal values must have equal hashes: on all servers, or in this database only */
typedef enum ElementScope
{
	ELEMENT_PORTABLE,
	ELEMENT_LOCAL
} ElementScope;

extern ElementHasher *element_hasher_create(Oid type, Oid collation,
											ElementScope scope,
											const ElementHasher *like,
											MemoryContext mcxt);

extern uint64 element_hash_columns(ElementHasher *hasher, TupleDesc type,
								   const Datum *values, const bool *nulls);

/* May hashes differ from portable ones?  The first anonymous record may make it true. */
static inline bool
element_hasher_is_local(const ElementHasher *hasher)
{
	return hasher->local;
}

/*
 * Hash an element, which is not NULL but may be toasted, and set hasher->class.  Raises the
 * errors of element_hasher_create() and of the type's hash function.
 */
static inline uint64
element_hash(ElementHasher *hasher, Datum value, uint64 seed)
{
	return hasher->hash(hasher, value, seed);
}

#endif							/* BLOOMFILTER_ELEMENT_H */
