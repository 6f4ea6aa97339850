/*
 * aggregate.c
 *	  Aggregates that make a filter of elements, or combine filters.
 *
 * The state of bloom_agg() and cuckoo_agg() is an explicit filter: an array of hashes in
 * the order of the rows.  When the array is full, we remove duplicates, from a large one only
 * if a sample has some (set_repeats()), and enlarge it only if that does not help.  The final
 * function counts the distinct elements, and makes a filter of exactly the right size: the
 * same bytes for any order of rows and workers.
 *
 * The state has the type of the filter, so workers send it without serialization.  A small
 * state is flat and changed in place, a larger state is an expanded object (value/value.c).
 * The final functions leave it as it is, because window aggregates add to it later.
 *
 * A state of more than EXPLICIT_STATE_MAX elements becomes a growing filter, and states of
 * several workers are united.  From then on, the bytes may depend on the order of rows, and
 * cuckoo_agg() adds a repeated element each time, no longer only once.
 */
#include "callsite.h"
#include "filter/set.h"

/* Four times EXPLICIT_STATE_MAX, so that a few workers' filters unite in one layer */
#define AUTO_CAPACITY		(UINT64CONST(1) << 26)

/* Room for hashes in a new state: little, as GROUP BY may have millions of groups */
#define FIRST_HASHES		12

/* Warn if the estimated error rate is more than this many times the requested one. */
#define ERROR_RATE_TOLERANCE	1.02

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

/* Get the arguments, with defaults for a capacity or error rate that is missing or NULL. */
static inline FilterParams
get_params(FunctionCallInfo fcinfo, FilterKind kind, bool sized)
{
	FilterParams params = {
		.error_rate = ERROR_RATE_DEFAULT,
		.growth = GROWTH_DEFAULT,
		.kind = kind
	};

	if (sized && !PG_ARGISNULL(2))
	{
		check_capacity(PG_GETARG_INT64(2));
		params.capacity = PG_GETARG_INT64(2);
	}
	if (sized && !PG_ARGISNULL(3))
		params.error_rate = PG_GETARG_FLOAT8(3);
	return params;
}

/* Check the parameters, and make the state of a group. */
static void
begin_state(FilterWriter *writer, const FilterParams *params, MemoryContext mcxt)
{
	FilterPlan	plan;

	check_error_rate(params->error_rate);
	if (params->capacity != 0)
		/* fail at the first row, not after an hour in the final function */
		check_plan(filter_plan(params, &plan), &plan, NULL);
	writer_open_new_state(writer, params, image_explicit_bytes(FIRST_HASHES), mcxt);
}

/* Turn an explicit state into layers if "count" more hashes would make it too large. */
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

/* Was the state with this header made with other arguments than these? */
static inline bool
other_arguments(const uint8 *header, const FilterParams *params)
{
	uint64		capacity = params->capacity;

	/* bound_explicit() gives layers this capacity */
	if (unlikely(capacity == 0 && !image_is_set(header)))
		capacity = AUTO_CAPACITY;
	return image_capacity(header) != capacity ||
		image_error_rate(header) != params->error_rate ||
		image_seed(header) != params->seed;
}

/* Return the state unchanged, because there is nothing to add. */
static Datum
same_state(FunctionCallInfo fcinfo)
{
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PG_RETURN_DATUM(PG_GETARG_DATUM(0));
}

/*
 * Add a hash to the state where state_push() cannot: the state is missing or full, or has
 * layers.  Not inline, so that the common case uses few registers.
 */
static pg_noinline Datum
change_state(FunctionCallInfo fcinfo, FilterKind kind, bool sized, uint64 seed,
			 uint64 hash, ElementClass class)
{
	FilterParams params = get_params(fcinfo, kind, sized);
	FilterWriter writer;

	if (PG_ARGISNULL(0))
	{
		params.seed = seed;
		params.class = class;
		begin_state(&writer, &params, aggregate_context(fcinfo));
	}
	else
	{
		writer_open_state(&writer, PG_GETARG_DATUM(0), aggregate_context(fcinfo));
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

/* Add an element; "type" is InvalidOid for a hashed_element, whose type is not known. */
static ALWAYS_INLINE Datum
add_to_state(FunctionCallInfo fcinfo, const FilterParams *params, bool sized,
			 uint64 hash, ElementClass class, Oid type)
{
	if (!PG_ARGISNULL(0))
	{
		const uint8 *header = state_header(PG_GETARG_DATUM(0));

		if (other_arguments(header, params))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("capacity, error rate and seed of %s_agg must be the same for all rows of a group",
							kind_name(params->kind))));
		if (unlikely(image_class(header) != class))
			report_other_class(image_class(header), class, type);
		if (state_push(PG_GETARG_DATUM(0), hash))
			PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	}
	return change_state(fcinfo, params->kind, sized, params->seed, hash, class);
}

/* Transition function for elements of any type; "sized": with capacity and error rate */
static ALWAYS_INLINE Datum
add_element(FunctionCallInfo fcinfo, FilterKind kind, bool sized)
{
	FilterParams params = get_params(fcinfo, kind, sized);
	CallSite   *site;
	uint64		hash;

	/* check in the first call: the caller stays the same */
	if (unlikely(fcinfo->flinfo->fn_extra == NULL))
		(void) aggregate_context(fcinfo);
	if (PG_ARGISNULL(1))
		return same_state(fcinfo);
	site = call_site(fcinfo, 1, false);
	hash = element_hash(site->hasher, PG_GETARG_DATUM(1), params.seed);
	return add_to_state(fcinfo, &params, sized, hash, site->hasher->class,
						site->hasher->type);
}

SQL_FUNCTIONS(agg_trans, add_element, false)
SQL_FUNCTIONS(agg_trans_sized, add_element, true)

/*
 * Transition function for values of type hashed_element.  It uses no call site, because
 * Citus calls it without an expression, and with a new FmgrInfo for each row.
 */
static ALWAYS_INLINE Datum
add_hashed(FunctionCallInfo fcinfo, FilterKind kind, bool sized)
{
	FilterParams params = get_params(fcinfo, kind, sized);
	const HashedElement *element;

	(void) aggregate_context(fcinfo);
	if (PG_ARGISNULL(1))
		return same_state(fcinfo);
	element = DatumGetHashedElement(PG_GETARG_DATUM(1));
	params.seed = element->seed;
	return add_to_state(fcinfo, &params, sized, element->hash, element->class, InvalidOid);
}

SQL_FUNCTIONS(hashed_agg_trans, add_hashed, false)
SQL_FUNCTIONS(hashed_agg_trans_sized, add_hashed, true)

/* Combine function: unites two states, which were made with the same arguments. */
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

/* Final function: returns a filter with layers, or an empty filter without a state. */
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

/* Final function of aggregates whose transition function is a union or an intersection */
SQL_RESULT(bloomfilter_final, PointerGetDatum(value_copy_flat(PG_GETARG_DATUM(0))))
