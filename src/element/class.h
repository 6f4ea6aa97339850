/*
 * class.h
 *	  The class of an element; see class.c.
 */
#ifndef BLOOMFILTER_ELEMENT_CLASS_H
#define BLOOMFILTER_ELEMENT_CLASS_H

#include "postgres.h"

#include "filter/foreign/format.h"
#include "lib/stringinfo.h"

typedef struct ElementHasher ElementHasher;
struct ElementNode;

/*
 * The class of an element: how to read its canonical bytes, on any server.  Up to eight
 * ASCII tokens, padded with zeros ("i" integer, "[i" array of integers, "(it)" a record);
 * or '#' and 56 bits of the hash of a longer description.  Byte 0 is the lowest.
 */
typedef uint64 ElementClass;

#define ELEMENT_CLASS_NONE	UINT64CONST(0)

/*
 * How to hash the elements of one call site.
 *
 * Read "class" after element_hash(), which may change it: each anonymous record may have
 * another structure, and ALTER TYPE may change a composite type while the hasher lives.  If
 * the type contains anonymous records, "class" is ELEMENT_CLASS_NONE until the first call.
 */
struct ElementHasher
{
	Oid			type;			/* the declared type or, of a domain, its base */
	ElementClass class;			/* class of the last element hashed */
	uint64		(*hash) (ElementHasher *hasher, Datum value, uint64 seed);
	MemoryContext mcxt;			/* holds the hasher and all its memory */

	/* Private to element.c and class.c */
	struct ElementNode *root;
	bool		portable;		/* hashes mean the same everywhere */
	bool		local;			/* some hashes differ from portable ones */
	StringInfoData buf;			/* canonical bytes */
	uint64		structure;		/* counts changes of the tree */
	uint64		class_structure;	/* "structure" when the class was computed */
};

extern char *element_class_name(ElementClass class);
extern char *foreign_form_name(const ForeignType *type);
extern char *element_class_cast(ElementClass class);
extern bool element_class_is_hashed(ElementClass class);
extern bool element_class_is_array_of(ElementClass class, ElementClass part);

extern uint64 element_structure(const ElementHasher *hasher);
extern uint64 element_tokens(const ElementHasher *hasher);

/* For element.c */
extern char *quoted_type_name(Oid type);
extern ElementClass current_class(struct ElementNode *node);

#endif							/* BLOOMFILTER_ELEMENT_CLASS_H */
