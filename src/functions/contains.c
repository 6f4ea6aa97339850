/*
 * contains.c
 *	  Probe a filter: bloom_contains() and its variants.
 *
 * The result false is certain.  For an absent element the result is true with a probability
 * that is the filter's error rate.  It is an error if the class of the element differs from
 * that of the filter, because hashes of different classes cannot be compared.
 */
#include "callsite.h"

static bool
contains_foreign(CallSite *site, FilterReader *reader, Datum element)
{
	ForeignElements *elements = foreign_elements(&site->foreign, reader->image,
												 site->hasher->type,
												 site->user.mcxt);
	bool		found;

	foreign_elements_push(elements, element, false);
	foreign_elements_find(elements, reader, &found);
	return found;
}

/* Look up one element.  Without a struct Lookup, this takes 190 instructions, not 200. */
static inline bool
contains(CallSite *site, Datum filter, Datum element)
{
	FilterReader reader;
	uint64		hash;

	reader_open(&site->user, filter, 1, &reader);
	if (unlikely(image_is_foreign(reader.image)))
		return contains_foreign(site, &reader, element);
	hash = element_hash(site->hasher, element, image_seed(reader.image));
	reader_reopen(&site->user, 1, &reader);
	check_class(image_class(reader.image), site->hasher);
	return reader_contains(&reader, hash);
}

/* bloom_contains(filter bloom, element anycompatible) */
SQL_RESULT(bloomfilter_contains,
		   BoolGetDatum(contains(call_site(fcinfo, 1, false),
								 PG_GETARG_DATUM(0), PG_GETARG_DATUM(1))))

/* The function of the operator <@, whose left operand is the element */
SQL_RESULT(bloomfilter_contained,
		   BoolGetDatum(contains(call_site(fcinfo, 0, false),
								 PG_GETARG_DATUM(1), PG_GETARG_DATUM(0))))

/* Probe the filter in argument 0 with the elements of the array in argument 1. */
static ArrayAnswers *
probe_array(FunctionCallInfo fcinfo)
{
	CallSite   *site = call_site(fcinfo, 1, true);
	Lookup		lookup;
	ArrayElements elements;
	ArrayAnswers *answers = palloc(sizeof(ArrayAnswers));
	uint64	   *hashes;

	answers->array = PG_GETARG_ARRAYTYPE_P(1);
	elements = array_elements(answers->array, site->type);
	lookup_open(&lookup, site, PG_GETARG_DATUM(0), elements.count);
	answers->length = elements.length;
	answers->nulls = elements.nulls;
	answers->found = palloc(elements.length * sizeof(bool));
	hashes = lookup_hash_array(&lookup, &elements, false);
	lookup_find(&lookup, hashes, elements.count, answers->found);
	spread_answers(answers, elements.count);
	return answers;
}

/* bloom_contains_any(filter bloom, elements anycompatiblearray) */
SQL_RESULT(bloomfilter_contains_any, find_answer(fcinfo, probe_array(fcinfo), true))

/* bloom_contains_all(filter bloom, elements anycompatiblearray) */
SQL_RESULT(bloomfilter_contains_all, find_answer(fcinfo, probe_array(fcinfo), false))

/* bloom_contains_each(filter bloom, elements anycompatiblearray): an array of results */
SQL_RESULT(bloomfilter_contains_each, each_answer(probe_array(fcinfo)))
