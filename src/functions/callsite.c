/*
 * callsite.c
 *	  The state of one call in a query, kept from row to row: how its elements are
 *	  hashed, and the stored filter that it probed last.
 */
#include "callsite.h"

#include "access/transam.h"
#include "catalog/dependency.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

/*
 * A filter as an element is almost certainly a mistake, such as bloom_agg() for
 * bloom_union_agg(), that would go unnoticed.  So is a hashed element, which would
 * be hashed again: the only one of these types with a fixed length.
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

/*
 * call_site_element_type
 *		The type of a call's elements
 *
 * That is the declared type of argument number element_arg or, if is_array, of
 * that array's elements.
 *
 * Errors: ERRCODE_INVALID_PARAMETER_VALUE if the call has no type information;
 * ERRCODE_DATATYPE_MISMATCH if the argument is no array, or the elements are
 * filters.
 */
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
										 ELEMENT_PORTABLE, flinfo->fn_mcxt);
	element_type_init(&site->type, type);
	flinfo->fn_extra = site;
	return site;
}

/* Look up what array_elements() needs to know of a type. */
void
element_type_init(ElementType *type, Oid oid)
{
	type->oid = oid;
	get_typlenbyvalalign(oid, &type->length, &type->byval, &type->align);
}

/*
 * array_elements
 *		Take an array apart
 *
 * The elements that are not NULL are brought together; "nulls" tells where in
 * the array the others are.  All is in the current memory context, and
 * by-reference elements point into "array".
 */
void
array_elements(ArrayType *array, const ElementType *type,
			   ArrayElements *elements)
{
	deconstruct_array(array, type->oid, type->length, type->byval,
					  type->align, &elements->values, &elements->nulls,
					  &elements->length);
	elements->count = elements->length;
	if (!ARR_HASNULL(array))
		return;
	elements->count = 0;
	for (int i = 0; i < elements->length; i++)
		if (!elements->nulls[i])
			elements->values[elements->count++] = elements->values[i];
}
