/*
 * element.h
 *	  From a value of any type to the 64-bit hash that filters store; see element.c.
 */
#ifndef BLOOMFILTER_ELEMENT_H
#define BLOOMFILTER_ELEMENT_H

#include "postgres.h"

#include "class.h"

#include "access/tupdesc.h"

/* Where equal values must have equal hashes: everywhere, or in one database */
typedef enum ElementScope
{
	ELEMENT_PORTABLE,
	ELEMENT_LOCAL
} ElementScope;

extern ElementHasher *element_hasher_create(Oid type, Oid collation,
											ElementScope scope,
											const ElementHasher *like,
											MemoryContext mcxt);

/* Hash a record that is given by the values of its columns */
extern uint64 element_hash_columns(ElementHasher *hasher, TupleDesc type,
								   const Datum *values, const bool *nulls);

/* Do hashes differ from portable ones?  The first anonymous record may make it true. */
static inline bool
element_hasher_is_local(const ElementHasher *hasher)
{
	return hasher->local;
}

/*
 * Hash an element, not NULL but perhaps toasted, and set hasher->class.  Errors: as of
 * element_hasher_create() and the type's hash function.
 */
static inline uint64
element_hash(ElementHasher *hasher, Datum value, uint64 seed)
{
	return hasher->hash(hasher, value, seed);
}

#endif							/* BLOOMFILTER_ELEMENT_H */
