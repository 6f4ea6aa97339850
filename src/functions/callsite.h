/*
 * callsite.h
 *	  The state of one call in a query, kept from row to row, and its arguments;
 *	  see callsite.c.
 */
#ifndef BLOOMFILTER_CALLSITE_H
#define BLOOMFILTER_CALLSITE_H

#include "foreign_element.h"
#include "value/stored.h"

#include "miscadmin.h"
#include "utils/array.h"

/* The type of a call's elements, and what deconstruct_array() needs of it */
typedef struct ElementType
{
	Oid			oid;
	int16		length;
	bool		byval;
	char		align;
} ElementType;

typedef struct CallSite
{
	StoredUser	user;			/* first, so that its address costs nothing */
	ElementHasher *hasher;
	ElementType type;
	ForeignElements *foreign;	/* NULL before a filter of another system */
} CallSite;

/* A value of the type hashed_element; its length is in the SQL script */
typedef struct HashedElement
{
	uint64		hash;
	ElementClass class;
	int64		seed;			/* that the hash was made with */
} HashedElement;

#define DatumGetHashedElement(datum) \
	((const HashedElement *) DatumGetPointer(datum))

/* Results of probing with an array of elements */
typedef struct ArrayAnswers
{
	int			length;
	bool	   *nulls;			/* the element is NULL, and the result too */
	bool	   *found;			/* valid if it is not */
} ArrayAnswers;

/* The elements of an array argument */
typedef struct ArrayElements
{
	int			length;			/* of the array */
	bool	   *nulls;			/* one for each of "length" */
	int			count;			/* of the elements that are not NULL */
	Datum	   *values;			/* these alone, in the array's order */
} ArrayElements;

extern Oid	call_site_element_type(FmgrInfo *flinfo, int element_arg,
								   bool is_array);
extern void element_type_init(ElementType *type, Oid oid);
extern CallSite *call_site_make(FmgrInfo *flinfo, int element_arg,
								bool is_array, Oid collation);

/*
 * The state of this call, from its first row on, in flinfo->fn_mcxt.  element_arg: the
 * argument that is the element or, if is_array, an array of them.  Errors: of
 * call_site_element_type() and element_hasher_create()
 */
static inline CallSite *
call_site(FunctionCallInfo fcinfo, int element_arg, bool is_array)
{
	if (likely(fcinfo->flinfo->fn_extra != NULL))
		return (CallSite *) fcinfo->flinfo->fn_extra;
	return call_site_make(fcinfo->flinfo, element_arg, is_array,
						  PG_GET_COLLATION());
}

extern void array_elements(ArrayType *array, const ElementType *type,
						   ArrayElements *elements);
extern void spread_answers(ArrayAnswers *answers, int probed);
extern Datum find_answer(FunctionCallInfo fcinfo, const ArrayAnswers *answers,
						 bool wanted);
extern Datum each_answer(ArrayType *elements, const ArrayAnswers *answers);

#endif							/* BLOOMFILTER_CALLSITE_H */
