/*
 * contains.c
 *	  Asking a filter: bloom_contains and its kin.
 *
 * "No" is final; "yes" is true but for the filter's error rate.  A filter that
 * has no elements yet answers "no" to an element of any class; one that has
 * them raises an error for an element of another class, since it cannot know.
 */
#include "contains.h"

#include "callsite.h"
#include "miscadmin.h"
#include "catalog/pg_type.h"
#include "utils/array.h"

SQL_FUNCTION(bloomfilter_contains);
SQL_FUNCTION(bloomfilter_contained);
SQL_FUNCTION(bloomfilter_contains_any);
SQL_FUNCTION(bloomfilter_contains_all);
SQL_FUNCTION(bloomfilter_contains_each);

static inline bool
contains(CallSite *site, Datum filter, Datum element)
{
	FilterReader reader;
	uint64		hash;

	reader_open(&reader, &site->user, filter, 1);
	hash = element_hash(site->hasher, element, image_seed(reader.image));
	reader_reopen(&reader, &site->user, 1);
	check_class(image_class(reader.image), site->hasher);
	return reader_contains(&reader, hash);
}

/* bloom_contains(filter bloom, element anycompatible) */
Datum
bloomfilter_contains(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(contains(call_site(fcinfo, 1, false), PG_GETARG_DATUM(0),
							PG_GETARG_DATUM(1)));
}

/* The same for the operator <@, with the element first */
Datum
bloomfilter_contained(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(contains(call_site(fcinfo, 0, false), PG_GETARG_DATUM(1),
							PG_GETARG_DATUM(0)));
}

/*
 * The first "asked" answers are those for the elements that are not NULL: spread
 * them over the array.
 */
void
spread_answers(ArrayAnswers *answers, int asked)
{
	for (int i = answers->length - 1; asked < answers->length && i >= 0; i--)
		answers->found[i] = answers->nulls[i] ? false :
			answers->found[--asked];
}

/*
 * Whether "wanted" is among the answers; NULL if it is not, but might be, for
 * an element that is NULL: so do ANY and ALL in SQL.
 */
Datum
find_answer(FunctionCallInfo fcinfo, const ArrayAnswers *answers, bool wanted)
{
	bool		any_null = false;

	for (int i = 0; i < answers->length; i++)
	{
		if (answers->nulls[i])
			any_null = true;
		else if (answers->found[i] == wanted)
			PG_RETURN_BOOL(wanted);
	}
	if (any_null)
		PG_RETURN_NULL();
	PG_RETURN_BOOL(!wanted);
}

/* All answers, as an array of the dimensions of that of the elements */
Datum
each_answer(ArrayType *elements, const ArrayAnswers *answers)
{
	Datum	   *each = palloc(answers->length * sizeof(Datum));

	for (int i = 0; i < answers->length; i++)
		each[i] = BoolGetDatum(answers->found[i]);
	PG_RETURN_ARRAYTYPE_P(construct_md_array(each, answers->nulls,
											 ARR_NDIM(elements),
											 ARR_DIMS(elements),
											 ARR_LBOUND(elements), BOOLOID,
											 sizeof(bool), true,
											 TYPALIGN_CHAR));
}

/* The answers for the elements of an array, in its order */
static void
ask_array(FunctionCallInfo fcinfo, ArrayAnswers *answers)
{
	CallSite   *site = call_site(fcinfo, 1, true);
	FilterReader reader;
	Datum	   *elements;
	uint64	   *hashes;
	bool	   *found;
	uint64		seed;
	ElementClass class;
	int			not_null = 0;
	int			asked = 0;

	deconstruct_array(PG_GETARG_ARRAYTYPE_P(1), site->element_type,
					  site->element_length, site->element_byval,
					  site->element_align, &elements, &answers->nulls,
					  &answers->length);
	for (int i = 0; i < answers->length; i++)
		not_null += !answers->nulls[i];
	reader_open(&reader, &site->user, PG_GETARG_DATUM(0), not_null);
	seed = image_seed(reader.image);
	class = image_class(reader.image);
	hashes = palloc_extended(not_null * sizeof(uint64), MCXT_ALLOC_HUGE);
	found = palloc(answers->length * sizeof(bool));
	for (int i = 0; i < answers->length; i++)
	{
		if (i % BATCH == 0)
			CHECK_FOR_INTERRUPTS();
		if (answers->nulls[i])
			continue;
		hashes[asked++] = element_hash(site->hasher, elements[i], seed);
		check_class(class, site->hasher);
	}
	reader_reopen(&reader, &site->user, not_null);
	for (int done = 0; done < asked; done += BATCH)
	{
		int			count = Min(asked - done, BATCH);

		CHECK_FOR_INTERRUPTS();
		if (reader.slices_of == NULL)
			filter_contains_batch(reader.image, hashes + done, count,
								  found + done);
		else
			for (int i = done; i < done + count; i++)
				found[i] = reader_contains(&reader, hashes[i]);
	}
	answers->found = found;
	spread_answers(answers, asked);
}

/* bloom_contains_any(filter bloom, elements anycompatiblearray) */
Datum
bloomfilter_contains_any(PG_FUNCTION_ARGS)
{
	ArrayAnswers answers;

	ask_array(fcinfo, &answers);
	return find_answer(fcinfo, &answers, true);
}

/* bloom_contains_all(filter bloom, elements anycompatiblearray) */
Datum
bloomfilter_contains_all(PG_FUNCTION_ARGS)
{
	ArrayAnswers answers;

	ask_array(fcinfo, &answers);
	return find_answer(fcinfo, &answers, false);
}

/*
 * bloom_contains_each(filter bloom, elements anycompatiblearray): an array of
 * the same dimensions
 */
Datum
bloomfilter_contains_each(PG_FUNCTION_ARGS)
{
	ArrayAnswers answers;

	ask_array(fcinfo, &answers);
	return each_answer(PG_GETARG_ARRAYTYPE_P(1), &answers);
}
