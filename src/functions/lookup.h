/*
 * lookup.h
 *	  From elements to answers: open a filter, hash elements for it, look them up.
 *
 * Whatever takes elements goes this way: lookup_open(), then lookup_hash() for each, then
 * lookup_find() or lookup_reopen().  Between the first and the last, nothing of the
 * reader is used: a user's hash function may itself probe the same filter.
 *
 * Elements for another system's filter are collected on the way (foreign_element.c); the
 * hashes that are returned for them mean nothing.
 */
#ifndef BLOOMFILTER_LOOKUP_H
#define BLOOMFILTER_LOOKUP_H

#include "callsite.h"

typedef struct Lookup
{
	CallSite   *site;
	FilterReader reader;
	uint64		probes;			/* see reader_open() */
	uint64		seed;
	ElementClass class;			/* of the filter, or of elements to add */
	ForeignElements *foreign;	/* of another system's filter, or NULL */
} Lookup;

/*
 * Open a filter for so many elements; of another system's, errors as of
 * foreign_elements()
 */
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

/* Hash an element to look it up.  Errors: those of element_hash() and check_class(). */
static inline uint64
lookup_hash(Lookup *lookup, Datum element)
{
	uint64		hash;

	if (unlikely(lookup->foreign != NULL))
	{
		foreign_elements_probe(lookup->foreign, element);
		return 0;
	}
	hash = element_hash(lookup->site->hasher, element, lookup->seed);
	check_class(lookup->class, lookup->site->hasher);
	return hash;
}

/* The same to change the filter: all elements must have one class, lookup->class then. */
static inline uint64
lookup_hash_to_change(Lookup *lookup, Datum element)
{
	uint64		hash;

	if (unlikely(lookup->foreign != NULL))
	{
		foreign_elements_add(lookup->foreign, element);
		return 0;
	}
	hash = lookup_hash(lookup, element);
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

#endif							/* BLOOMFILTER_LOOKUP_H */
