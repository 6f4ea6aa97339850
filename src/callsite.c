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
 * bloom_union_agg(), that would go unnoticed.
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
	refuse_filter(flinfo->fn_oid, type);
	return type;
}

/* The slow path of call_site(): make the state, and put it into fn_extra. */
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

/* The argument of hash_to_change() */
typedef struct ChangeHash
{
	ElementHasher *hasher;
	uint64		seed;
	ElementClass class;			/* of the filter and the elements before */
} ChangeHash;

static uint64
hash_to_change(void *arg, Datum element)
{
	ChangeHash *change = (ChangeHash *) arg;
	uint64		hash = element_hash(change->hasher, element, change->seed);

	check_class(change->class, change->hasher);
	change->class = change->hasher->class;
	return hash;
}

/*
 * call_site_hash_array
 *		Hash the elements of an array, in order to change a filter by them
 *
 * Returns the hashes of the elements that are not NULL, in the array's order, as
 * a palloc'd array of *count.  *class is set to the class of the changed filter:
 * that of the elements, or the filter's own if there are none.  Of "image", only
 * the header is read.
 *
 * Hashes all elements and checks their classes before the caller changes
 * anything: an error of element_hash() or check_class() leaves the filter as it
 * was.
 */
uint64 *
call_site_hash_array(CallSite *site, ArrayType *array, const uint8 *image,
					 ElementClass *class, uint64 *count)
{
	ChangeHash	change = {
		.hasher = site->hasher,
		.seed = image_seed(image),
		.class = image_class(image)
	};
	ArrayElements elements;
	uint64	   *hashes;

	array_elements(array, &site->type, &elements);
	hashes = palloc_extended(elements.count * sizeof(uint64),
							 MCXT_ALLOC_HUGE);
	array_elements_hash(&elements, hash_to_change, &change, hashes);
	*class = change.class;
	*count = elements.count;
	return hashes;
}
