/*
 * callsite.h
 *	  The state of one call in a query, from row to row, and its arguments; see callsite.c.
 */
#ifndef BLOOMFILTER_CALLSITE_H
#define BLOOMFILTER_CALLSITE_H

#include "foreign_element.h"
#include "value/stored.h"

#include "miscadmin.h"
#include "utils/array.h"
#include "utils/typcache.h"

typedef struct CallSite
{
	StoredUser	user;			/* first, so that its address costs nothing */
	ElementHasher *hasher;
	TypeCacheEntry *type;		/* of an array's elements */
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
	ArrayType  *array;
	int			length;
	bool	   *nulls;			/* the element is NULL, and the result too */
	bool	   *found;			/* valid if it is not */
} ArrayAnswers;

/* The elements of an argument: those of an array, or the argument itself */
typedef struct ArrayElements
{
	int			length;			/* of the array */
	bool	   *nulls;			/* one for each of "length", in an array */
	int			count;			/* of the elements that are not NULL */
	Datum	   *values;			/* these alone, in the array's order */
} ArrayElements;

extern Oid	call_site_element_type(FmgrInfo *flinfo, int element_arg,
								   bool is_array);
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

/*
 * Return from a function that adds or removes its argument 1, if nothing is to be done: a
 * NULL leaves the filter as it is, as in aggregates.  Without a filter, NULL.
 */
#define RETURN_IF_NULL() \
	do { \
		if (PG_ARGISNULL(0)) \
			PG_RETURN_NULL(); \
		if (PG_ARGISNULL(1)) \
			PG_RETURN_DATUM(PG_GETARG_DATUM(0)); \
	} while (0)

extern ArrayElements array_elements(ArrayType *array, const TypeCacheEntry *type);
extern ArrayElements argument_elements(FunctionCallInfo fcinfo, const CallSite *site);
extern void spread_answers(ArrayAnswers *answers, int probed);
extern Datum find_answer(FunctionCallInfo fcinfo, const ArrayAnswers *answers,
						 bool wanted);
extern Datum each_answer(const ArrayAnswers *answers);

/*
 * From elements to answers.
 *
 * Whatever takes elements goes this way: lookup_open(), then lookup_hash() for each, then
 * lookup_find() or lookup_reopen().  Between the first and the last, nobody uses the
 * reader: a user's hash function may itself probe the same filter.
 *
 * Elements for another system's filter are collected on the way (foreign_element.c); the
 * hashes that are returned for them mean nothing.
 */
typedef struct Lookup
{
	CallSite   *site;
	FilterReader reader;
	uint64		probes;			/* see reader_open() */
	uint64		seed;
	ElementClass class;			/* of the filter, or of elements to add */
	ForeignElements *foreign;	/* of another system's filter, or NULL */
} Lookup;

/* Open a filter to look up or change so many elements.  Errors: of foreign_elements() */
static inline void
lookup_open(Lookup *lookup, CallSite *site, Datum filter, uint64 probes)
{
	lookup->site = site;
	lookup->probes = probes;
	reader_open(&site->user, filter, probes, &lookup->reader);
	lookup->seed = image_seed(lookup->reader.image);
	lookup->class = image_class(lookup->reader.image);
	lookup->foreign = NULL;
	if (unlikely(image_is_foreign(lookup->reader.image)))
		lookup->foreign = foreign_elements(&site->foreign, lookup->reader.image,
										   site->hasher->type, site->user.mcxt);
}

/*
 * Hash an element to look it up or, with "change", to add or remove it: then all must have
 * one class, lookup->class.  Errors: those of element_hash() and check_class().
 */
static ALWAYS_INLINE uint64
lookup_hash(Lookup *lookup, Datum element, bool change)
{
	uint64		hash;

	if (unlikely(lookup->foreign != NULL))
	{
		foreign_elements_push(lookup->foreign, element, change);
		return 0;
	}
	hash = element_hash(lookup->site->hasher, element, lookup->seed);
	check_class(lookup->class, lookup->site->hasher);
	if (change)
		lookup->class = lookup->site->hasher->class;
	return hash;
}

extern uint64 *lookup_hash_array(Lookup *lookup,
								 const ArrayElements *elements, bool change);

/* The elements are hashed: make sure that the reader is valid. */
static inline void
lookup_reopen(Lookup *lookup)
{
	reader_reopen(&lookup->site->user, lookup->probes, &lookup->reader);
}

extern void lookup_find(Lookup *lookup, const uint64 *hashes, Size count,
						bool *found);

#endif							/* BLOOMFILTER_CALLSITE_H */
