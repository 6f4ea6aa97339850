/*
 * element.h
 *	  From a value of any type to the 64-bit hash that a filter knows it by.
 *
 * See element.c for the rules, and docs/format.md for the bytes.
 */
#ifndef BLOOMFILTER_ELEMENT_H
#define BLOOMFILTER_ELEMENT_H

#include "postgres.h"

#include "element_class.h"

typedef struct ElementHasher ElementHasher;

/* Where hashes are to mean the same: everywhere, or within one database */
typedef enum ElementScope
{
	ELEMENT_PORTABLE,
	ELEMENT_LOCAL
} ElementScope;

/*
 * How to hash the elements of one call site.  "class" is known once the hasher
 * is made, but for anonymous records and arrays of them, whose structure is
 * known from each value only: there it is ELEMENT_CLASS_NONE until
 * element_hash() sets it.  Any other record type may be altered while the
 * hasher lives, and then changes its class too: read it after element_hash().
 */
struct ElementHasher
{
	Oid			type;			/* the declared type, a domain's base */
	ElementClass class;			/* class of the last element hashed */
	uint64		(*hash) (ElementHasher *hasher, Datum value, uint64 seed);
	Oid			collation;
	MemoryContext mcxt;			/* the hasher's own: holds all that it keeps */
	void	   *state;			/* element.c's own: how to hash parts */
};

extern ElementHasher *element_hasher_create(Oid type, Oid collation,
											ElementScope scope,
											MemoryContext mcxt);

/* The same for values to be compared with those of "like" */
extern ElementHasher *element_hasher_create_like(Oid type, Oid collation,
												 ElementScope scope,
												 const ElementHasher *like,
												 MemoryContext mcxt);

/* Has it met a type whose local hash is not the portable one? */
extern bool element_hasher_is_local(const ElementHasher *hasher);

/* What ALTER TYPE may change of the elements' hashes; 0: nothing */
extern uint64 element_structure(const ElementHasher *hasher);

/*
 * Hash one element, not NULL, any form of varlena.  Sets hasher->class where
 * the class depends on the value.
 */
static inline uint64
element_hash(ElementHasher *hasher, Datum value, uint64 seed)
{
	return hasher->hash(hasher, value, seed);
}

#endif							/* BLOOMFILTER_ELEMENT_H */
