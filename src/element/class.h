/*
 * class.h
 *	  The class of an element; see class.c.
 */
#ifndef BLOOMFILTER_ELEMENT_CLASS_H
#define BLOOMFILTER_ELEMENT_CLASS_H

#include "postgres.h"

#include "filter/foreign/format.h"
#include "lib/stringinfo.h"

struct ElementNode;
struct ElementState;

/*
 * What canonical bytes mean, the same on every server.  Up to eight ASCII tokens, padded
 * with zeros ("i" integer, "[i" array of integers, "(it)" a record); or '#' and 56 bits
 * of the hash of a longer description.  Kept as a number, to be compared at once; byte 0
 * is the lowest.  0: no element yet.
 */
typedef uint64 ElementClass;

#define ELEMENT_CLASS_NONE	UINT64CONST(0)

extern char *element_class_name(ElementClass class);
extern char *foreign_form_name(const ForeignType *type);
extern char *element_class_cast(ElementClass class);
extern bool element_class_is_hashed(ElementClass class);
extern bool element_class_is_array_of(ElementClass class, ElementClass part);

/* For element.c */
extern char *quoted_type_name(Oid type);
extern ElementClass current_class(struct ElementNode *node, bool *complete);
extern uint64 current_structure(struct ElementState *state);

#endif							/* BLOOMFILTER_ELEMENT_CLASS_H */
