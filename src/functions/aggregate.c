/*
 * aggregate.c
 *	  Aggregates: a filter of elements, and combinations of filters.
 *
 * The state of bloom_agg() and cuckoo_agg() is an explicit filter: the hashes in the order
 * of the rows.  When its memory is full, we remove duplicates, and enlarge it only if that
 * does not help.  The final function knows the number of distinct elements, and makes a
 * filter of exactly the right size: the same bytes for any order of rows and workers.
 *
 * The state is of the filter's own type, so workers send it without serialization.  A small
 * one is flat and changed in place; larger ones are expanded objects (value/value.c).  The
 * final functions do not change it, because window aggregates continue with it.
 *
 * Sets of more than EXPLICIT_STATE_MAX elements continue in a growing filter.  Those of
 * several workers are united.  Then the bytes may depend on the order of rows, and a cuckoo
 * filter, which until then had each element once, counts repeated ones.
 */
#include "callsite.h"
#include "filter/set.h"

/* Four times EXPLICIT_STATE_MAX, so that a few workers' filters unite in one layer */
#define AUTO_CAPACITY		(UINT64CONST(1) << 26)

/* Hashes that a new state has room for: few, as GROUP BY may have millions of groups */
#define FIRST_HASHES		12

/* Warn if the estimated error rate is more than this many times the requested one. */
#define ERROR_RATE_TOLERANCE	1.02

/* The aggregate's arguments other than the element, and the seed of its hash */
typedef struct AggArguments
{
	int64		capacity;		/* 0 if not given */
	double		error_rate;
	int64		seed;
} AggArguments;

static MemoryContext
aggregate_context(FunctionCallInfo fcinfo)
{
	MemoryContext mcxt;

	if (!AggCheckCallContext(fcinfo, &mcxt))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("function was called outside of an aggregate")));
	return mcxt;
}

/* For the first element of a group: check the arguments, and make a state. */
static void
begin_state(FilterWriter *writer, FilterKind kind,
			const AggArguments *arguments, MemoryContext mcxt)
{
	FilterParams params = {
		.capacity = arguments->capacity,
		.error_rate = arguments->error_rate,
		.growth = GROWTH_DEFAULT,
		.seed = arguments->seed,
		.kind = kind
	};
	FilterPlan	plan;

	check_error_rate(arguments->error_rate);
	if (arguments->capacity != 0)
		/* fail now, not after an hour */
		check_plan(filter_plan(&params, &plan), &plan, NULL);
	writer_open_new_state(writer, &params, image_explicit_bytes(FIRST_HASHES),
						  mcxt);
}

/* Give a state layers if "count" more distinct hashes would be too many for a set. */
static void
bound_explicit(FilterWriter *writer, uint64 count)
{
	if (!image_is_set(writer->image) ||
		image_count(writer->image) + count <= 2 * EXPLICIT_STATE_MAX)
		return;
	set_sort(writer->image);
	if (image_count(writer->image) > EXPLICIT_STATE_MAX ||
		image_count(writer->image) + count > 2 * EXPLICIT_STATE_MAX)
		writer_make_sized(writer, AUTO_CAPACITY);
}

/* Was this state made with other arguments?  One with layers may have AUTO_CAPACITY. */
static inline bool
other_arguments(const uint8 *header, const AggArguments *arguments)
{
	uint64		capacity = arguments->capacity;

	if (unlikely(capacity == 0 && !image_is_set(header)))
		capacity = AUTO_CAPACITY;
	return image_capacity(header) != capacity ||
		image_error_rate(header) != arguments->error_rate ||
		image_seed(header) != (uint64) arguments->seed;
}

/* The state as it was, because there is nothing to add */
static Datum
same_state(FunctionCallInfo fcinfo)
{
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PG_RETURN_DATUM(PG_GETARG_DATUM(0));
}

/*
 * Add a hash where appending is not enough: to a new group, without room, to layers.  Not
 * inline, so that the common step needs few registers.
 */
static pg_noinline Datum
change_state(FunctionCallInfo fcinfo, FilterKind kind,
			 const AggArguments *arguments, uint64 hash, ElementClass class)
{
	FilterWriter writer;

	if (PG_ARGISNULL(0))
	{
		begin_state(&writer, kind, arguments, aggregate_context(fcinfo));
		image_set_class(writer.image, class);
	}
	else
	{
		writer_open_state(&writer, PG_GETARG_DATUM(0),
						  aggregate_context(fcinfo));
		bound_explicit(&writer, 1);
	}
	if (image_is_set(writer.image))
	{
		hash = le64(hash);
		writer_append(&writer, (uint8 *) &hash, 1);
	}
	else
		writer_add_hashes(&writer, class, &hash, 1, false);
	PG_RETURN_DATUM(writer_close_state(&writer));
}

/* Add an element; "type" is InvalidOid if it was hashed before. */
static ALWAYS_INLINE Datum
add_to_state(FunctionCallInfo fcinfo, FilterKind kind,
			 const AggArguments *arguments, uint64 hash, ElementClass class,
			 Oid type)
{
	if (!PG_ARGISNULL(0))
	{
		const uint8 *header = state_header(PG_GETARG_DATUM(0));

		if (other_arguments(header, arguments))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("capacity, error rate and seed of %s_agg must be the same for all rows of a group",
							kind_name(kind))));
		if (unlikely(image_class(header) != class))
			report_other_class(image_class(header), class, type);
		if (state_push(PG_GETARG_DATUM(0), hash))
			PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	}
	return change_state(fcinfo, kind, arguments, hash, class);
}

/* The arguments; a capacity or an error rate that is missing or NULL has its default */
static inline AggArguments
get_arguments(FunctionCallInfo fcinfo, bool sized)
{
	AggArguments arguments = {.error_rate = ERROR_RATE_DEFAULT};

	if (sized && !PG_ARGISNULL(2))
	{
		arguments.capacity = PG_GETARG_INT64(2);
		check_capacity(arguments.capacity);
	}
	if (sized && !PG_ARGISNULL(3))
		arguments.error_rate = PG_GETARG_FLOAT8(3);
	return arguments;
}

/* Transition function for elements of any type */
static ALWAYS_INLINE Datum
add_element(FunctionCallInfo fcinfo, FilterKind kind, bool sized)
{
	AggArguments arguments = get_arguments(fcinfo, sized);
	CallSite   *site;
	uint64		hash;

	/* check once: a call site always has the same caller */
	if (unlikely(fcinfo->flinfo->fn_extra == NULL))
		(void) aggregate_context(fcinfo);
	if (PG_ARGISNULL(1))
		return same_state(fcinfo);
	site = call_site(fcinfo, 1, false);
	hash = element_hash(site->hasher, PG_GETARG_DATUM(1), arguments.seed);
	return add_to_state(fcinfo, kind, &arguments, hash, site->hasher->class,
						site->hasher->type);
}

SQL_FUNCTIONS(agg_trans, add_element, false)
SQL_FUNCTIONS(agg_trans_sized, add_element, true)

/*
 * The same for values of hashed_element.  They need no call site, so callers need neither
 * an expression nor an FmgrInfo that lasts.  Citus has neither.
 */
static ALWAYS_INLINE Datum
add_hashed(FunctionCallInfo fcinfo, FilterKind kind, bool sized)
{
	AggArguments arguments = get_arguments(fcinfo, sized);
	const HashedElement *element;

	(void) aggregate_context(fcinfo);
	if (PG_ARGISNULL(1))
		return same_state(fcinfo);
	element = DatumGetHashedElement(PG_GETARG_DATUM(1));
	arguments.seed = element->seed;
	return add_to_state(fcinfo, kind, &arguments, element->hash,
						element->class, InvalidOid);
}

SQL_FUNCTIONS(hashed_agg_trans, add_hashed, false)
SQL_FUNCTIONS(hashed_agg_trans_sized, add_hashed, true)

/* Combine function: the union of two states.  Their arguments are the same. */
SQL_FUNCTION(bloomfilter_agg_combine)
{
	MemoryContext mcxt = aggregate_context(fcinfo);
	FilterWriter writer;
	const uint8 *other;

	if (PG_ARGISNULL(1))
		return same_state(fcinfo);
	if (PG_ARGISNULL(0))
	{
		writer_open_copied_image(&writer, value_image(PG_GETARG_DATUM(1)), mcxt);
		PG_RETURN_DATUM(writer_close_state(&writer));
	}
	other = value_image(PG_GETARG_DATUM(1));
	writer_open_state(&writer, PG_GETARG_DATUM(0), mcxt);
	if (image_is_set(other))
		bound_explicit(&writer, image_count(other));
	if (image_is_set(writer.image) && image_is_set(other))
		writer_add_sorted(&writer, other);
	else
		writer_unite(&writer, other);
	PG_RETURN_DATUM(writer_close_state(&writer));
}

/* Final function: returns a filter with layers or, without elements, the empty filter. */
static Datum
agg_final(FunctionCallInfo fcinfo, FilterKind kind)
{
	const uint8 *image;

	(void) aggregate_context(fcinfo);
	if (PG_ARGISNULL(0))
		PG_RETURN_POINTER(value_make_empty(kind));

	image = value_image(PG_GETARG_DATUM(0));
	if (!image_is_set(image))
	{
		if (filter_estimated_error_rate(image) >
			ERROR_RATE_TOLERANCE * image_error_rate(image))
			ereport(WARNING,
					(errmsg("filter has an estimated error rate of %g, more than the requested %g",
							filter_estimated_error_rate(image),
							image_error_rate(image)),
					 errdetail("The partial filters hold too many elements to be merged into one layer."),
					 errhint("Give %s_agg a capacity of at least %.0f.",
							 kind_name(kind), filter_cardinality(image))));
		PG_RETURN_POINTER(value_copy_flat(PG_GETARG_DATUM(0)));
	}
	PG_RETURN_POINTER(value_make_from_set(image, image_count(image)));
}

SQL_FUNCTIONS(agg_final, agg_final)

/* Final function of aggregates whose steps are bloom_union() and bloom_intersection() */
SQL_RESULT(bloomfilter_final,
		   PointerGetDatum(value_copy_flat(PG_GETARG_DATUM(0))))
