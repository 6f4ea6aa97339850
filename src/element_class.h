/*
 * element_class.h
 *	  The class of an element; see element_class.c.
 */
#ifndef BLOOMFILTER_ELEMENT_CLASS_H
#define BLOOMFILTER_ELEMENT_CLASS_H

#include "postgres.h"

#include "lib/stringinfo.h"

struct ElementNode;
struct ElementState;

/*
 * The class of an element: eight bytes that say what its canonical bytes mean,
 * the same on every server (no OID in it).  Up to eight ASCII tokens, padded
 * with zeros ("i" integer, "t" text, "[i" array of integers, "(it)" a record
 * of both); a longer description is '#' and 56 bits of its hash.  Held as a
 * little-endian number, so that it is compared at once: byte 0 is the lowest.
 * 0 means that no element has been seen.
 */
typedef uint64 ElementClass;

#define ELEMENT_CLASS_NONE	UINT64CONST(0)

extern char *element_class_name(ElementClass class);
extern char *element_class_cast(ElementClass class);

/* For element.c */
extern bool describe(struct ElementNode *node, StringInfo description);
extern ElementClass current_class(struct ElementState *state, bool *complete);
extern uint64 current_structure(struct ElementState *state);

#endif							/* BLOOMFILTER_ELEMENT_CLASS_H */
