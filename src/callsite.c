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
	Oid			extension;

	if (element_type < FirstNormalObjectId)
		return;
	extension = getExtensionOfObject(TypeRelationId, element_type);
	if (OidIsValid(extension) &&
		extension == getExtensionOfObject(ProcedureRelationId, function))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("a filter cannot be an element of a filter"),
				 errhint("To combine filters, use a function whose name ends in _union or _union_agg.")));
}

/* Errors: ERRCODE_INVALID_PARAMETER_VALUE if the type is not known */
static void
check_known(Oid type)
{
	if (!OidIsValid(type))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("could not determine the data type of the element"),
				 errdetail("The function was called without type information.")));
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

	check_known(type);
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

/*
 * The type of an argument as the function itself declares it, which is all that
 * there is to know of a call without an expression.  Errors: as above, also if the
 * function is polymorphic.
 */
static Oid
declared_element_type(Oid function, int element_arg)
{
	Oid			type = InvalidOid;
	Oid		   *types;
	int			count;

	if (OidIsValid(function))
	{
		(void) get_func_signature(function, &types, &count);
		if (element_arg < count && !IsPolymorphicType(types[element_arg]))
			type = types[element_arg];
	}
	check_known(type);
	refuse_filter(function, type);
	return type;
}

/* Make the state of a call in "mcxt". */
static CallSite *
make_site(Oid type, Oid collation, MemoryContext mcxt)
{
	CallSite   *site = MemoryContextAllocZero(mcxt, sizeof(CallSite));

	site->user.mcxt = mcxt;
	site->hasher = element_hasher_create(type, collation,
										 ELEMENT_PORTABLE, mcxt);
	element_type_init(&site->type, type);
	return site;
}

/* The slow path of call_site(): make the state, and put it into fn_extra. */
CallSite *
call_site_make(FmgrInfo *flinfo, int element_arg, bool is_array,
			   Oid collation)
{
	Oid			type = call_site_element_type(flinfo, element_arg, is_array);
	CallSite   *site = make_site(type, collation, flinfo->fn_mcxt);

	flinfo->fn_extra = site;
	return site;
}

/*
 * The call sites of queries whose calls have no FmgrInfo that lasts: one for each
 * function and collation.  The one used last is the first.
 */
typedef struct QuerySite
{
	struct QuerySite *next;
	MemoryContext query;		/* es_query_cxt, which holds all of it */
	Oid			function;
	int			element_arg;
	Oid			collation;
	CallSite   *site;
	MemoryContextCallback leave;
} QuerySite;

static QuerySite *query_sites = NULL;

/* A MemoryContextCallbackFunction: the query ends. */
static void
forget_query_site(void *arg)
{
	QuerySite **link = &query_sites;

	while (*link != arg)
		link = &(*link)->next;
	*link = (*link)->next;
}

static QuerySite *
make_query_site(FmgrInfo *flinfo, int element_arg, Oid collation,
				MemoryContext query)
{
	Oid			type = declared_element_type(flinfo->fn_oid, element_arg);
	QuerySite  *query_site = MemoryContextAllocZero(query, sizeof(QuerySite));

	query_site->query = query;
	query_site->function = flinfo->fn_oid;
	query_site->element_arg = element_arg;
	query_site->collation = collation;
	/* without an expression, no collation is no conflict of collations */
	query_site->site = make_site(type, OidIsValid(collation) ? collation :
								 get_typcollation(type), query);
	query_site->leave.func = forget_query_site;
	query_site->leave.arg = query_site;
	MemoryContextRegisterResetCallback(query, &query_site->leave);
	query_site->next = query_sites;
	query_sites = query_site;
	return query_site;
}

/*
 * call_site_of_query
 *		The state of this call, if it has no expression, and perhaps no FmgrInfo
 *		that lasts
 *
 * The type of the elements is the one that the function declares.  Citus resolves
 * a transition function for each row, so that fn_extra is always empty, and to make
 * a hasher takes longer than to use it.  "query" is the executor's es_query_cxt,
 * with which the state goes.
 */
CallSite *
call_site_of_query(FunctionCallInfo fcinfo, int element_arg,
				   MemoryContext query)
{
	Oid			function = fcinfo->flinfo->fn_oid;
	Oid			collation = PG_GET_COLLATION();
	QuerySite  *query_site;

	for (QuerySite **link = &query_sites; (query_site = *link) != NULL;
		 link = &query_site->next)
	{
		if (query_site->query != query || query_site->function != function ||
			query_site->element_arg != element_arg ||
			query_site->collation != collation)
			continue;
		*link = query_site->next;
		query_site->next = query_sites;
		query_sites = query_site;
		return query_site->site;
	}
	return make_query_site(fcinfo->flinfo, element_arg, collation,
						   query)->site;
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
