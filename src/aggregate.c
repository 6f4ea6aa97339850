/*
 * aggregate.c
 *	  Aggregates: a filter of elements, and combinations of filters.
 *
 * bloom_agg() and cuckoo_agg() need no capacity.  Their state is an explicit
 * filter: the hashes of the elements in the order of the rows.  When its memory
 * is full, we remove duplicates, and enlarge it only if that does not help.  The
 * final function knows the number of distinct elements, and makes a filter of
 * exactly the right size.  So the result depends only on the set of elements:
 * it has the same bytes for any order of rows and any number of workers.
 *
 * The state is a value of the filter's own type, so it needs no serialization:
 * workers send ordinary values.  A small state is flat and changed in place: the
 * transition function returns the pointer that it was given, and nodeAgg.c
 * copies nothing.  Larger states are expanded objects (value.c).
 *
 * Sets of more than EXPLICIT_STATE_MAX elements continue in a growing filter
 * with layers, of the given capacity or of AUTO_CAPACITY.  Such filters of
 * several workers are united.  Then the bytes may depend on the order of rows,
 * and a cuckoo filter, which until then had each element once, counts repeated
 * elements of later rows and of several workers.
 *
 * The final functions do not change the state, because window aggregates continue
 * with it.
 *
 * bloom_agg_text() and the like have the same functions, declared for one type of
 * elements.  So they work where a transition function is called without an
 * expression, as Citus does on its workers.
 */
#include "callsite.h"
#include "combine.h"

#include "nodes/execnodes.h"

SQL_FUNCTIONS(agg_trans);
SQL_FUNCTIONS(agg_trans_capacity_int);
SQL_FUNCTIONS(agg_trans_capacity);
SQL_FUNCTIONS(agg_trans_rate);
SQL_FUNCTIONS(agg_trans_capacity_rate);
SQL_FUNCTIONS(agg_trans_capacity_rate_seed);
SQL_FUNCTION(bloomfilter_agg_combine);
SQL_FUNCTIONS(agg_final);
SQL_FUNCTION(bloomfilter_union_agg_trans);
SQL_FUNCTIONS(union_agg_final);
SQL_FUNCTION(bloomfilter_intersection_agg_trans);
SQL_FUNCTION(bloomfilter_intersection_agg_final);

/*
 * Capacity of a filter for a larger set if none was given.  Four times
 * EXPLICIT_STATE_MAX, so that the filters of a few workers can be united without
 * another layer.
 */
#define AUTO_CAPACITY		(UINT64CONST(1) << 26)

/*
 * Room in a new state, in hashes.  Small, because GROUP BY may need a state for
 * each of millions of groups.
 */
#define FIRST_HASHES		12

/*
 * Warn if the estimated error rate is more than this many times the requested one:
 * with this many elements, the estimate itself is more accurate.
 */
#define ERROR_RATE_TOLERANCE	1.02

/* The aggregate's arguments other than the element */
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

/*
 * The state of this call of a transition function.  Without an expression, the
 * caller may be one that keeps no FmgrInfo either.
 */
static inline CallSite *
transition_site(FunctionCallInfo fcinfo)
{
	if (likely(fcinfo->flinfo->fn_extra != NULL ||
			   fcinfo->flinfo->fn_expr != NULL))
		return call_site(fcinfo, 1, false);
	/* an AggState or WindowAggState, as aggregate_context() has checked */
	return call_site_of_query(fcinfo, 1,
							  ((PlanState *) fcinfo->context)->state->es_query_cxt);
}

/* Argument number "number": an error, with "name" in it, if it is NULL */
static Datum
required_argument(FunctionCallInfo fcinfo, int number, const char *name)
{
	if (PG_ARGISNULL(number))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s of a filter must not be null", name)));
	return PG_GETARG_DATUM(number);
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

	check_error_rate(arguments->error_rate, arguments->capacity != 0 ?
					 NULL : psprintf("To give a capacity, pass an integer, as in %s_agg(x, 1000) or %s_agg(x, n::bigint).",
									 kind_name(kind), kind_name(kind)));
	if (arguments->capacity != 0)
		/* fail now, not after an hour */
		check_plan(filter_plan(&params, &plan), &plan, NULL);
	writer_open_new_state(writer, &params, image_explicit_bytes(FIRST_HASHES),
						  mcxt);
}

/*
 * Prepare a state for "count" more hashes: if there would be too many, even
 * without duplicates, turn it into a filter with layers.
 */
static void
bound_explicit(FilterWriter *writer, uint64 count)
{
	if (!image_is_set(writer->image) ||
		image_count(writer->image) + count <= 2 * EXPLICIT_STATE_MAX)
		return;
	writer_sort(writer);
	if (image_count(writer->image) > EXPLICIT_STATE_MAX ||
		image_count(writer->image) + count > 2 * EXPLICIT_STATE_MAX)
		writer_make_sized(writer, AUTO_CAPACITY);
}

/*
 * Was this state made with other arguments?  If no capacity was given, the header
 * of a state with layers has AUTO_CAPACITY.
 */
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

static Datum
agg_trans(FunctionCallInfo fcinfo, FilterKind kind,
		  const AggArguments *arguments)
{
	CallSite   *site;
	FilterWriter writer;
	uint64		hash;

	/* once is enough: a call site does not change its caller */
	if (unlikely(fcinfo->flinfo->fn_extra == NULL))
		(void) aggregate_context(fcinfo);
	if (PG_ARGISNULL(1))
	{
		if (PG_ARGISNULL(0))
			PG_RETURN_NULL();
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	}
	site = transition_site(fcinfo);
	hash = element_hash(site->hasher, PG_GETARG_DATUM(1), arguments->seed);
	if (PG_ARGISNULL(0))
	{
		begin_state(&writer, kind, arguments, aggregate_context(fcinfo));
		writer_set_class(&writer, site->hasher->class);
	}
	else
	{
		const uint8 *header = state_header(PG_GETARG_DATUM(0));

		if (other_arguments(header, arguments))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("capacity, error rate and seed of %s_agg must be the same for all rows of a group",
							kind_name(kind))));
		check_class(image_class(header), site->hasher);
		if (state_push(PG_GETARG_DATUM(0), hash))
			PG_RETURN_DATUM(PG_GETARG_DATUM(0));
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
		writer_add_hashes(&writer, site->hasher->class, &hash, 1, false);
	PG_RETURN_DATUM(writer_close_state(&writer));
}

/*
 * The arguments after the element, for each form of the aggregate: none, a
 * capacity, an error rate, both, or both and a seed
 */
static inline AggArguments
no_arguments(FunctionCallInfo fcinfo)
{
	AggArguments arguments = {.error_rate = ERROR_RATE_DEFAULT};

	return arguments;
}

static inline AggArguments
with_capacity(int64 capacity)
{
	AggArguments arguments = {
		.capacity = capacity,
		.error_rate = ERROR_RATE_DEFAULT
	};

	check_capacity(capacity);
	return arguments;
}

static inline AggArguments
capacity_int_arguments(FunctionCallInfo fcinfo)
{
	return with_capacity(DatumGetInt32(required_argument(fcinfo, 2,
														 "capacity")));
}

static inline AggArguments
capacity_arguments(FunctionCallInfo fcinfo)
{
	return with_capacity(DatumGetInt64(required_argument(fcinfo, 2,
														 "capacity")));
}

static inline AggArguments
rate_arguments(FunctionCallInfo fcinfo)
{
	Datum		rate = required_argument(fcinfo, 2, "error rate");
	AggArguments arguments = {.error_rate = DatumGetFloat8(rate)};

	return arguments;
}

static inline AggArguments
capacity_rate_arguments(FunctionCallInfo fcinfo)
{
	AggArguments arguments = capacity_arguments(fcinfo);

	arguments.error_rate =
		DatumGetFloat8(required_argument(fcinfo, 3, "error rate"));
	return arguments;
}

static inline AggArguments
capacity_rate_seed_arguments(FunctionCallInfo fcinfo)
{
	AggArguments arguments = capacity_rate_arguments(fcinfo);

	arguments.seed = DatumGetInt64(required_argument(fcinfo, 4, "seed"));
	return arguments;
}

/* The transition functions of one form, for both types */
#define TRANSITION(name, form) \
Datum \
bloomfilter_bloom_##name(PG_FUNCTION_ARGS) \
{ \
	AggArguments arguments = form##_arguments(fcinfo); \
	return agg_trans(fcinfo, FILTER_BLOOM, &arguments); \
} \
Datum \
bloomfilter_cuckoo_##name(PG_FUNCTION_ARGS) \
{ \
	AggArguments arguments = form##_arguments(fcinfo); \
	return agg_trans(fcinfo, FILTER_CUCKOO, &arguments); \
}

TRANSITION(agg_trans, no)
TRANSITION(agg_trans_capacity_int, capacity_int)
TRANSITION(agg_trans_capacity, capacity)
TRANSITION(agg_trans_rate, rate)
TRANSITION(agg_trans_capacity_rate, capacity_rate)
TRANSITION(agg_trans_capacity_rate_seed, capacity_rate_seed)

/*
 * Combine function: the union of two states.  Their arguments are the same.
 */
Datum
bloomfilter_agg_combine(PG_FUNCTION_ARGS)
{
	MemoryContext mcxt = aggregate_context(fcinfo);
	FilterWriter writer;
	const uint8 *other;

	if (PG_ARGISNULL(1))
	{
		if (PG_ARGISNULL(0))
			PG_RETURN_NULL();
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	}
	if (PG_ARGISNULL(0))
	{
		writer_open_copied_state(&writer, PG_GETARG_DATUM(1), mcxt);
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

/*
 * Final function of bloom_agg() and cuckoo_agg(): returns a filter with layers,
 * or the empty one if there was no element.
 */
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

Datum
bloomfilter_bloom_agg_final(PG_FUNCTION_ARGS)
{
	return agg_final(fcinfo, FILTER_BLOOM);
}

Datum
bloomfilter_cuckoo_agg_final(PG_FUNCTION_ARGS)
{
	return agg_final(fcinfo, FILTER_CUCKOO);
}

/*
 * Transition function for unions and intersections of filters.  Unlike the state
 * of bloom_agg(), this state is an ordinary value: the result so far.
 */
static Datum
combine_filters(FunctionCallInfo fcinfo,
				void (*combine) (FilterWriter *writer, const uint8 *other))
{
	MemoryContext mcxt = aggregate_context(fcinfo);
	FilterWriter writer;

	if (PG_ARGISNULL(1))
	{
		if (PG_ARGISNULL(0))
			PG_RETURN_NULL();
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	}
	if (PG_ARGISNULL(0))
		writer_open_copied_state(&writer, PG_GETARG_DATUM(1), mcxt);
	else
	{
		const uint8 *other = value_image(PG_GETARG_DATUM(1));

		writer_open_state(&writer, PG_GETARG_DATUM(0), mcxt);
		combine(&writer, other);
	}
	PG_RETURN_DATUM(writer_close_state(&writer));
}

Datum
bloomfilter_union_agg_trans(PG_FUNCTION_ARGS)
{
	return combine_filters(fcinfo, writer_unite);
}

Datum
bloomfilter_intersection_agg_trans(PG_FUNCTION_ARGS)
{
	return combine_filters(fcinfo, writer_intersect);
}

/* The union of no filters is the empty filter. */
static Datum
union_agg_final(FunctionCallInfo fcinfo, FilterKind kind)
{
	if (PG_ARGISNULL(0))
		PG_RETURN_POINTER(value_make_empty(kind));
	PG_RETURN_POINTER(value_copy_flat(PG_GETARG_DATUM(0)));
}

Datum
bloomfilter_bloom_union_agg_final(PG_FUNCTION_ARGS)
{
	return union_agg_final(fcinfo, FILTER_BLOOM);
}

Datum
bloomfilter_cuckoo_union_agg_final(PG_FUNCTION_ARGS)
{
	return union_agg_final(fcinfo, FILTER_CUCKOO);
}

/*
 * The intersection of no filters would contain everything: there is no such
 * filter, so it is NULL.
 */
Datum
bloomfilter_intersection_agg_final(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PG_RETURN_POINTER(value_copy_flat(PG_GETARG_DATUM(0)));
}
