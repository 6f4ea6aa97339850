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
#include "mb/pg_wchar.h"
#include "nodes/primnodes.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

/* Of an element in a message, print this many bytes at most. */
#define ELEMENT_SHOWN		60

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

/* Is the argument a literal or a parameter of type text, as one without a type becomes? */
static bool
may_be_untyped(Node *call, int argument)
{
	List	   *arguments = NIL;
	Node	   *node;

	if (call && IsA(call, FuncExpr))
		arguments = ((FuncExpr *) call)->args;
	else if (call && IsA(call, OpExpr))
		arguments = ((OpExpr *) call)->args;
	if (argument >= list_length(arguments))
		return false;
	node = list_nth(arguments, argument);
	if (IsA(node, Param))
		return ((Param *) node)->paramkind == PARAM_EXTERN &&
			((Param *) node)->paramtype == TEXTOID;
	return IsA(node, Const) && ((Const *) node)->consttype == TEXTOID;
}

/*
 * Could a text be an array of texts?  Not if it is JSON, or one word in braces, which is more
 * often a UUID or a placeholder.
 */
static bool
looks_like_array(const char *text, int length)
{
	const int	end = length - 1;
	bool		quoted = false;
	int			items = 0;
	int			at = 0;

	if (length < 3 || text[0] != '{' || text[end] != '}')
		return false;
	while (at < end)
	{
		/* behind the brace or a comma */
		at++;
		while (text[at] == ' ')
			at++;
		if (text[at] == '"')
		{
			for (at++; at < end && text[at] != '"'; at++)
				if (text[at] == '\\')
					at++;
			if (at >= end)
				return false;
			at++;
			quoted = true;
		}
		else
		{
			if (at == end || text[at] == ',')
				return false;
			for (; at < end && text[at] != ','; at++)
				if (strchr("{}\"\\", text[at]))
					return false;
		}
		items++;
		if (at < end && text[at] != ',')
			return false;
	}
	return quoted || items > 1;
}

/*
 * In the first call of a function for one element: warn if the element is a text, perhaps for
 * want of a type, but looks like an array.  The answer would be "no", and nobody would wonder.
 */
void
call_site_note_array(FunctionCallInfo fcinfo, int element_arg)
{
	text	   *element;
	const char *bytes;
	int			length;

	if (PG_ARGISNULL(element_arg) ||
		!may_be_untyped(fcinfo->flinfo->fn_expr, element_arg))
		return;
	element = PG_GETARG_TEXT_PP(element_arg);
	bytes = VARDATA_ANY(element);
	length = VARSIZE_ANY_EXHDR(element);
	if (!looks_like_array(bytes, length))
		return;
	ereport(WARNING,
			(errmsg("element \"%.*s\" is one text, but looks like an array",
					pg_mbcliplen(bytes, length, ELEMENT_SHOWN), bytes),
			 errhint("For the elements of an array, use a function of arrays, such as one whose name ends in _any or _all. If it is one text, cast it to varchar.")));
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
