/*
 * callsite.c
 *	  What one call in a query remembers from row to row: how its elements are
 *	  hashed, and the stored filter that it asked last.
 *
 * A filter that comes from a table, be it from a scalar subquery, is a TOAST
 * pointer, the same one for each row of the table that is searched.  To read a
 * megabyte for each row would cost a hundred times what the probe does; so the
 * filter is read at the first call, and kept for those that bring the same
 * pointer.  The pointer (value, relation and both sizes) names the bytes: a
 * changed filter is stored as a new value.
 *
 * All lives in the memory context of the call's FmgrInfo, that is as long as
 * the query runs.
 */
#include "callsite.h"

#include "access/detoast.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

CallSite *
call_site_make(FmgrInfo *flinfo, int element_arg, bool is_array,
			   Oid collation)
{
	Oid			type = get_fn_expr_argtype(flinfo, element_arg);
	MemoryContext mcxt = flinfo->fn_mcxt;
	CallSite   *site;

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

	site = MemoryContextAllocZero(mcxt, sizeof(CallSite));
	site->mcxt = mcxt;
	site->hasher = element_hasher_create(type, collation, mcxt);
	site->element_type = type;
	get_typlenbyvalalign(type, &site->element_length, &site->element_byval,
						 &site->element_align);
	flinfo->fn_extra = site;
	return site;
}

/*
 * The image of a filter that is not plainly in memory.
 */
const uint8 *
call_site_read_stored(CallSite *site, Datum filter)
{
	struct varlena *pointer = (struct varlena *) DatumGetPointer(filter);
	struct varatt_external stored;
	struct varlena *whole;
	MemoryContext mcxt;
	Size		bytes;
	char	   *memory;

	if (!VARATT_IS_EXTERNAL_ONDISK(pointer))
		return bloom_image(filter);

	VARATT_EXTERNAL_GET_POINTER(stored, pointer);
	if (site->kept.mcxt != NULL &&
		memcmp(&stored, &site->kept.pointer, sizeof(stored)) == 0)
		return site->kept.image;

	if (site->kept.mcxt != NULL)
	{
		MemoryContextDelete(site->kept.mcxt);
		site->kept.mcxt = NULL;
	}
	whole = detoast_attr(pointer);
	bytes = VARSIZE(whole);
	mcxt = AllocSetContextCreate(site->mcxt, "stored bloom filter",
								 ALLOCSET_SMALL_SIZES);
	memory = MemoryContextAlloc(mcxt, bytes + IMAGE_ALIGNMENT);
	memory = (char *) TYPEALIGN(IMAGE_ALIGNMENT, memory);
	memcpy(memory, whole, bytes);
	pfree(whole);

	site->kept.image = (uint8 *) VARDATA(memory);
	site->kept.pointer = stored;
	site->kept.mcxt = mcxt;
	return site->kept.image;
}
