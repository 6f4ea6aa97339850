/*
 * callsite.h
 *	  The state of one call in a query, kept from row to row; see callsite.c.
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
	StoredUser	user;			/* first, as its address is used most often */
	ElementHasher *hasher;
	TypeCacheEntry *type;		/* of an array's elements; NULL for no array */
	ForeignElements *foreign;	/* kept by foreign_elements() */
} CallSite;

/* A value of the type hashed_element, whose length the SQL script declares */
typedef struct HashedElement
{
	uint64		hash;
	ElementClass class;
	int64		seed;			/* of the hash */
} HashedElement;

#define DatumGetHashedElement(datum) \
	((const HashedElement *) DatumGetPointer(datum))

/* The results of looking up the elements of an array */
typedef struct ArrayAnswers
{
	ArrayType  *array;
	int			length;
	bool	   *nulls;			/* the element, so also its result, is NULL */
	bool	   *found;			/* the result, if it is not NULL */
} ArrayAnswers;

/* The elements in an argument, which is an array or one element */
typedef struct ArrayElements
{
	int			length;			/* number of elements in the array */
	bool	   *nulls;			/* is the element NULL?  "length" entries */
	int			count;			/* number of elements that are not NULL */
	Datum	   *values;			/* only those, in the array's order */
} ArrayElements;

extern Oid	call_site_element_type(FmgrInfo *flinfo, int element_arg, bool is_array);
extern CallSite *call_site_make(FmgrInfo *flinfo, int element_arg,
								bool is_array, Oid collation);

extern void call_site_note_array(FunctionCallInfo fcinfo, int element_arg);

/*
 * Return the state of a call, which the first row makes in flinfo->fn_mcxt.  Argument
 * element_arg is the element or, if is_array, an array of elements.  Raises the errors of
 * call_site_element_type() and element_hasher_create().
 */
static inline CallSite *
call_site(FunctionCallInfo fcinfo, int element_arg, bool is_array)
{
	if (likely(fcinfo->flinfo->fn_extra != NULL))
		return (CallSite *) fcinfo->flinfo->fn_extra;
	if (!is_array)
		call_site_note_array(fcinfo, element_arg);
	return call_site_make(fcinfo->flinfo, element_arg, is_array, PG_GET_COLLATION());
}

extern ArrayElements array_elements(ArrayType *array, const TypeCacheEntry *type);
extern ArrayElements argument_elements(FunctionCallInfo fcinfo, const CallSite *site);
extern void spread_answers(ArrayAnswers *answers, int probed);
extern Datum find_answer(FunctionCallInfo fcinfo, const ArrayAnswers *answers, bool wanted);
extern Datum each_answer(const ArrayAnswers *answers);

/*
 * Look up, add or remove the elements of a call: first lookup_open(), then lookup_hash()
 * for each element, then lookup_find() or lookup_reopen().  Do not use the reader between
 * these: a user's hash function may probe the same filter, and so move its image.
 *
 * For a filter of another system, lookup_hash() collects the elements in "foreign", and its
 * return value means nothing.
 */
typedef struct Lookup
{
	CallSite   *site;
	FilterReader reader;
	uint64		probes;			/* expected; see reader_open() */
	uint64		seed;
	ElementClass class;			/* of the filter or the elements to add */
	ForeignElements *foreign;	/* NULL for a filter of ours */
} Lookup;

/* Open a filter for about "probes" probes.  Raises the errors of foreign_elements(). */
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
 * Hash an element to look it up or, with "change", to add or remove it.  Elements to add or
 * remove must all have one class.  Raises the errors of element_hash() and check_class().
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

/* After hashing all elements, make the reader valid again. */
static inline void
lookup_reopen(Lookup *lookup)
{
	reader_reopen(&lookup->site->user, lookup->probes, &lookup->reader);
}

extern void lookup_find(Lookup *lookup, const uint64 *hashes, Size count, bool *found);

#endif							/* BLOOMFILTER_CALLSITE_H */
