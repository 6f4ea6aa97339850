/*
 * element.h
 *	  From a value of any type to the 64-bit hash that filters store; see element.c.
 */
#ifndef BLOOMFILTER_ELEMENT_H
#define BLOOMFILTER_ELEMENT_H

#include "postgres.h"

#include "class.h"

#include "access/tupdesc.h"

typedef struct ElementHasher ElementHasher;

/* Where equal values must have equal hashes: everywhere, or in one database */
typedef enum ElementScope
{
	ELEMENT_PORTABLE,
	ELEMENT_LOCAL
} ElementScope;

/*
 * How to hash the elements of one call site.
 *
 * Read "class" after element_hash(), which may change it: an anonymous record shows its
 * structure only in each value, and a composite type may be altered while the hasher
 * lives.  Before the first anonymous record, or array of them, it is ELEMENT_CLASS_NONE.
 */
struct ElementHasher
{
	Oid			type;			/* the declared type, a domain's base */
	ElementClass class;			/* class of the last element hashed */
	uint64		(*hash) (ElementHasher *hasher, Datum value, uint64 seed);
	Oid			collation;
	MemoryContext mcxt;			/* holds the hasher and all its memory */
	void	   *state;			/* private to element.c */
};

extern ElementHasher *element_hasher_create(Oid type, Oid collation,
											ElementScope scope,
											const ElementHasher *like,
											MemoryContext mcxt);

/* Hash a record that is given by the values of its columns */
extern uint64 element_hash_columns(ElementHasher *hasher, TupleDesc type,
								   const Datum *values, const bool *nulls);
extern bool element_hasher_is_local(const ElementHasher *hasher);
extern uint64 element_structure(const ElementHasher *hasher);

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
