/*
 * element.h
 *	  From a value of any type to the 64-bit hash that filters store.
 *
 * See element.c for the rules, and docs/dev/format.md for the bytes.
 */
#ifndef BLOOMFILTER_ELEMENT_H
#define BLOOMFILTER_ELEMENT_H

#include "postgres.h"

#include "class.h"

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
 * Read "class" after element_hash(), because it can change: an anonymous record
 * shows its structure only in each value, and a composite type may be altered
 * while the hasher lives.  Before the first anonymous record, or array of them,
 * it is ELEMENT_CLASS_NONE; for other types it is set from the beginning.
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
											MemoryContext mcxt);

/* The same for values to be compared with those of "like" */
extern ElementHasher *element_hasher_create_like(Oid type, Oid collation,
												 ElementScope scope,
												 const ElementHasher *like,
												 MemoryContext mcxt);

/* Does any of its types have a local hash that differs from the portable one? */
extern bool element_hasher_is_local(const ElementHasher *hasher);

/* Changes when ALTER TYPE changes the elements' hashes; 0 if it cannot */
extern uint64 element_structure(const ElementHasher *hasher);

/*
 * element_hash
 *		Hash one element
 *
 * "value" is not NULL, of the hasher's type, and may be toasted.  Sets
 * hasher->class.  Errors: see element_hasher_create(); also those of the
 * type's own hash function.
 */
static inline uint64
element_hash(ElementHasher *hasher, Datum value, uint64 seed)
{
	return hasher->hash(hasher, value, seed);
}

#endif							/* BLOOMFILTER_ELEMENT_H */
