/*
 * callsite.c
 *	  The state of one call in a query, kept from row to row; arrays, as arguments and of
 *	  results; from many elements to answers.
 */
#include "callsite.h"

#include "access/transam.h"
#include "catalog/dependency.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

/*
 * A filter as an element is almost certainly a mistake that would go unnoticed, such as
 * bloom_agg() for bloom_union_agg().  So is a hashed element, which would be hashed
 * again; its type is the only one of these with a fixed length.
 */
static void
refuse_own_type(Oid function, Oid element_type)
{
	Oid			extension;
	Oid			type;

	if (element_type < FirstNormalObjectId)
		return;
	/* before 17, the array types of an extension are not its own */
	type = get_base_element_type(element_type);
	if (!OidIsValid(type))
		type = element_type;
	extension = getExtensionOfObject(TypeRelationId, type);
	if (!OidIsValid(extension) ||
		extension != getExtensionOfObject(ProcedureRelationId, function))
		return;
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

/* A call's declared element type.  Errors: no type information; no array; filters. */
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

/* The slow path of call_site(): make the state, and put it into fn_extra. */
CallSite *
call_site_make(FmgrInfo *flinfo, int element_arg, bool is_array,
			   Oid collation)
{
	Oid			type = call_site_element_type(flinfo, element_arg, is_array);
	CallSite   *site = MemoryContextAllocZero(flinfo->fn_mcxt,
											  sizeof(CallSite));

	site->user.mcxt = flinfo->fn_mcxt;
	site->hasher = element_hasher_create(type, collation,
										 ELEMENT_PORTABLE, NULL,
										 flinfo->fn_mcxt);
	if (is_array)
		site->type = lookup_type_cache(type, 0);
	flinfo->fn_extra = site;
	return site;
}

/* Collect an array's elements that are not NULL; those by reference point into "array". */
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

/* Argument 1 of a function that changes a filter, not NULL: an element, or an array of them */
ArrayElements
argument_elements(FunctionCallInfo fcinfo, const CallSite *site)
{
	ArrayElements one = {.count = 1, .values = &fcinfo->args[1].value};

	return site->type ? array_elements(PG_GETARG_ARRAYTYPE_P(1), site->type) : one;
}

/* Spread the first "probed" results over elements that are not NULL; others get false. */
void
spread_answers(ArrayAnswers *answers, int probed)
{
	for (int i = answers->length - 1; probed < answers->length && i >= 0; i--)
		answers->found[i] = answers->nulls[i] ? false :
			answers->found[--probed];
}

/*
 * ..._any ("wanted" is true) or ..._all (false), as ANY and ALL in SQL: "wanted" if an
 * element has that result; else NULL if an element is NULL; else not "wanted"
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

/* All results, in an array with the dimensions and bounds of the one probed */
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

/* The hashes of an array's elements that are not NULL, by lookup_hash(); palloc'd */
uint64 *
lookup_hash_array(Lookup *lookup, const ArrayElements *elements, bool change)
{
	uint64	   *hashes = palloc_extended(elements->count * sizeof(uint64),
										 MCXT_ALLOC_HUGE);

	for (int i = 0; i < elements->count; i++)
	{
		if (i % BATCH == 0)
			CHECK_FOR_INTERRUPTS();
		hashes[i] = lookup_hash(lookup, elements->values[i], change);
	}
	return hashes;
}

/* Look up the elements that were hashed: found[i] is the result for hashes[i]. */
void
lookup_find(Lookup *lookup, const uint64 *hashes, Size count, bool *found)
{
	lookup_reopen(lookup);
	if (lookup->foreign)
		foreign_elements_find(lookup->foreign, &lookup->reader, found);
	else
		reader_contains_batch(&lookup->reader, hashes, count, found);
}
