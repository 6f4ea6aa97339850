/*
 * callsite.c
 *	  What one call in a query remembers from row to row: how its elements are
 *	  hashed, and the stored filter that it asked last.
 */
#include "callsite.h"

#include "access/transam.h"
#include "catalog/dependency.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

/*
 * A filter as an element is a slip, such as bloom_agg() for bloom_union_agg(),
 * that would go unnoticed.
 */
static void
refuse_filter(Oid function, Oid element_type)
{
	if (element_type >= FirstNormalObjectId &&
		getExtensionOfObject(TypeRelationId, element_type) ==
		getExtensionOfObject(ProcedureRelationId, function))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("a filter cannot be an element of a filter"),
				 errhint("Filters are combined by the functions whose names end in _union or _union_agg.")));
}

/*
 * The type of the elements of a call: that of this argument, or, if is_array, of
 * its elements.
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
					 errmsg("argument is not an array but of type %s",
							format_type_be(type))));
		type = element_type;
	}
	refuse_filter(flinfo->fn_oid, type);
	return type;
}

CallSite *
call_site_make(FmgrInfo *flinfo, int element_arg, bool is_array,
			   Oid collation)
{
	Oid			type = call_site_element_type(flinfo, element_arg, is_array);
	MemoryContext mcxt = flinfo->fn_mcxt;
	CallSite   *site;

	site = MemoryContextAllocZero(mcxt, sizeof(CallSite));
	site->user.mcxt = mcxt;
	site->hasher = element_hasher_create(type, collation,
										 ELEMENT_PORTABLE, mcxt);
	site->element_type = type;
	get_typlenbyvalalign(type, &site->element_length, &site->element_byval,
						 &site->element_align);
	flinfo->fn_extra = site;
	return site;
}

/*
 * Hash the elements of an array that are not NULL, in its order, in order to
 * change a filter by them.  All are hashed, and their class checked, before
 * anything is changed.  *class is theirs, or the filter's if there are none.
 */
uint64 *
call_site_hash_array(CallSite *site, ArrayType *array, const uint8 *image,
					 ElementClass *class, uint64 *count)
{
	uint64	   *hashes;
	Datum	   *elements;
	bool	   *nulls;
	int			length;

	deconstruct_array(array, site->element_type, site->element_length,
					  site->element_byval, site->element_align,
					  &elements, &nulls, &length);
	hashes = palloc_extended(length * sizeof(uint64), MCXT_ALLOC_HUGE);
	*class = image_class(image);
	*count = 0;
	for (int i = 0; i < length; i++)
	{
		if (i % BATCH == 0)
			CHECK_FOR_INTERRUPTS();
		if (nulls[i])
			continue;
		hashes[(*count)++] = element_hash(site->hasher, elements[i],
										  image_seed(image));
		check_class(*class, site->hasher);
		*class = site->hasher->class;
	}
	return hashes;
}
