/*
 * callsite.c
 *	  The state of one call in a query, kept from row to row; arrays of elements and of
 *	  results; hashing and looking up the elements of a call.
 */
#include "callsite.h"

#include "access/transam.h"
#include "catalog/dependency.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

/*
 * Raise an error if elements are filters, or of type hashed_element.  This is almost
 * certainly a mistake, such as bloom_agg() instead of bloom_union_agg(), or hashing twice,
 * and the wrong result would go unnoticed.
 */
static void
refuse_own_type(Oid function, Oid element_type)
{
	Oid			extension;
	Oid			type;

	if (element_type < FirstNormalObjectId)
		return;
	/* before 17, the array types of an extension's types do not belong to it */
	type = get_base_element_type(element_type);
	if (!OidIsValid(type))
		type = element_type;
	extension = getExtensionOfObject(TypeRelationId, type);
	if (!OidIsValid(extension) ||
		extension != getExtensionOfObject(ProcedureRelationId, function))
		return;
	/* of our types, only hashed_element has a fixed length */
	if (get_typlen(type) > 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("a hashed element cannot be an element of a filter here"),
				 errdetail("Only bloom_agg() and cuckoo_agg() accept what bloom_element() returns."),
				 errhint("Pass the element itself.")));
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("a filter cannot be an element of a filter"),
			 errhint("To combine filters, use a function whose name ends in _union or _union_agg.")));
}

/* Return the declared element type of a call; an error if it is unknown or refused. */
Oid
call_site_element_type(FmgrInfo *flinfo, int element_arg, bool is_array)
{
	Oid			type = get_fn_expr_argtype(flinfo, element_arg);

	if (!OidIsValid(type))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("could not determine the data type of the element"),
				 errdetail("The function was called without type information.")));
	if (is_array)
	{
		Oid			element_type = get_base_element_type(type);

		if (!OidIsValid(element_type))
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("argument must be an array, but is of type %s",
							format_type_be(type))));
		type = element_type;
	}
	refuse_own_type(flinfo->fn_oid, type);
	return type;
}

/* The slow path of call_site(): make the state in the first call, and set fn_extra. */
CallSite *
call_site_make(FmgrInfo *flinfo, int element_arg, bool is_array, Oid collation)
{
	Oid			type = call_site_element_type(flinfo, element_arg, is_array);
	CallSite   *site = MemoryContextAllocZero(flinfo->fn_mcxt, sizeof(CallSite));

	site->user.mcxt = flinfo->fn_mcxt;
	site->hasher = element_hasher_create(type, collation,
										 ELEMENT_PORTABLE, NULL,
										 flinfo->fn_mcxt);
	if (is_array)
		site->type = lookup_type_cache(type, 0);
	flinfo->fn_extra = site;
	return site;
}

/* Collect the elements of an array, except NULLs, as Datums that may point into it. */
ArrayElements
array_elements(ArrayType *array, const TypeCacheEntry *type)
{
	ArrayElements elements;

	deconstruct_array(array, type->type_id, type->typlen, type->typbyval,
					  type->typalign, &elements.values, &elements.nulls,
					  &elements.length);
	elements.count = 0;
	for (int i = 0; i < elements.length; i++)
		if (!elements.nulls[i])
			elements.values[elements.count++] = elements.values[i];
	return elements;
}

/* Collect the elements to add or remove: argument 1, an element or an array, not NULL. */
ArrayElements
argument_elements(FunctionCallInfo fcinfo, const CallSite *site)
{
	ArrayElements one = {.count = 1, .values = &fcinfo->args[1].value};

	return site->type ? array_elements(PG_GETARG_ARRAYTYPE_P(1), site->type) : one;
}

/* Move the first "probed" results to the elements that are not NULL; others get false. */
void
spread_answers(ArrayAnswers *answers, int probed)
{
	for (int i = answers->length - 1; probed < answers->length && i >= 0; i--)
		answers->found[i] = answers->nulls[i] ? false :
			answers->found[--probed];
}

/*
 * Return the result of ..._any ("wanted" is true) or ..._all (false), like SQL's ANY and
 * ALL: "wanted" if an element has this result; else NULL if one is NULL; else the opposite.
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

/* Return all results, in an array with the dimensions and bounds of answers->array. */
Datum
each_answer(const ArrayAnswers *answers)
{
	Datum	   *each = palloc(answers->length * sizeof(Datum));

	for (int i = 0; i < answers->length; i++)
		each[i] = BoolGetDatum(answers->found[i]);
	PG_RETURN_ARRAYTYPE_P(construct_md_array(each, answers->nulls,
											 ARR_NDIM(answers->array),
											 ARR_DIMS(answers->array),
											 ARR_LBOUND(answers->array), BOOLOID,
											 sizeof(bool), true,
											 TYPALIGN_CHAR));
}

/* Hash elements by lookup_hash(), and return the hashes in a palloc'd array. */
uint64 *
lookup_hash_array(Lookup *lookup, const ArrayElements *elements, bool change)
{
	uint64	   *hashes = palloc_extended(elements->count * sizeof(uint64), MCXT_ALLOC_HUGE);

	for (int i = 0; i < elements->count; i++)
	{
		if (i % BATCH == 0)
			CHECK_FOR_INTERRUPTS();
		hashes[i] = lookup_hash(lookup, elements->values[i], change);
	}
	return hashes;
}

/* Look up the elements hashed by lookup_hash(); found[i] is the result of the i-th. */
void
lookup_find(Lookup *lookup, const uint64 *hashes, Size count, bool *found)
{
	lookup_reopen(lookup);
	if (lookup->foreign)
		foreign_elements_find(lookup->foreign, &lookup->reader, found);
	else
		reader_contains_batch(&lookup->reader, hashes, count, found);
}
