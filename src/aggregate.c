/*
 * aggregate.c
 *	  Aggregates: a filter of elements, and of filters.
 *
 * bloom_agg() and cuckoo_agg() need no size.  Their state is an explicit
 * filter, the hashes of the elements as they come; when the room is full,
 * repeated ones are dropped, and only if that does not help does the room grow.
 * At the end the number of distinct elements is known, and a filter of just the
 * right size is made.  So the result depends on the set of elements alone: the
 * same bytes in any order and with any number of workers.
 *
 * The state being a value of the type itself, it needs no serialisation: what a
 * worker sends is an ordinary value.  While small it is flat and changed where
 * it lies; the transition function returns the very pointer that it was given,
 * and nodeAgg.c copies nothing.  Larger ones are expanded objects (value.c).
 *
 * Sets of more than EXPLICIT_STATE_MAX elements are gathered in a filter with
 * layers instead: of the capacity that was given, or else of AUTO_CAPACITY, and
 * growing.  Several workers' such filters are united; then equal bytes are not
 * promised, and a cuckoo, which until then has each element once, has those that
 * still come, and those of several workers, as often as they come.
 *
 * The final functions leave the state as it is, for window aggregates go on
 * with it.
 */
#include "callsite.h"
#include "combine.h"

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
 * What a larger set is made for if no capacity was given.  So much larger that
 * the filters of some workers can be united without a further layer.
 */
#define AUTO_CAPACITY		(UINT64CONST(1) << 26)

/*
 * Room of a new state, in hashes.  Small, since with GROUP BY there may be very
 * many of them.
 */
#define FIRST_HASHES		12

/*
 * How much higher than asked for the estimated error rate may be before it is
 * worth a warning: more than an estimate for so many elements is off by.
 */
#define ERROR_RATE_TOLERANCE	1.02

/* What the aggregate was called with, besides the element */
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

/* Argument "number", which must not be NULL */
static Datum
required_argument(FunctionCallInfo fcinfo, int number, const char *name)
{
	if (PG_ARGISNULL(number))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s of a filter must not be null", name)));
	return PG_GETARG_DATUM(number);
}

/* The first element: check the arguments, and begin a state. */
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
		/* rather now than after an hour */
		check_status(filter_plan(&params, &plan), NULL);
	writer_open_new_state(writer, &params, image_explicit_bytes(FIRST_HASHES),
						  mcxt);
}

/*
 * Before "count" hashes are appended to the state: if there are too many, even
 * without repeated ones, go on in a filter with layers.
 */
static void
bound_explicit(FilterWriter *writer, uint64 count)
{
	if (image_layout(writer->image) != LAYOUT_EXPLICIT ||
		image_count(writer->image) + count <= 2 * EXPLICIT_STATE_MAX)
		return;
	writer_sort(writer);
	if (image_count(writer->image) > EXPLICIT_STATE_MAX ||
		image_count(writer->image) + count > 2 * EXPLICIT_STATE_MAX)
		writer_make_sized(writer, AUTO_CAPACITY);
}

/*
 * Was this state made with other arguments?  That of a state that goes on with
 * layers tells the capacity that it was given for want of one.
 */
static inline bool
other_arguments(const uint8 *header, const AggArguments *arguments)
{
	uint64		capacity = arguments->capacity;

	if (unlikely(capacity == 0 && image_layout(header) != LAYOUT_EXPLICIT))
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

	/* a call site that calls us once from an aggregate, does so always */
	if (unlikely(fcinfo->flinfo->fn_extra == NULL))
		(void) aggregate_context(fcinfo);
	if (PG_ARGISNULL(1))
	{
		if (PG_ARGISNULL(0))
			PG_RETURN_NULL();
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	}
	site = call_site(fcinfo, 1, false);
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
	if (image_layout(writer.image) == LAYOUT_EXPLICIT)
	{
		hash = le64(hash);
		writer_append(&writer, (uint8 *) &hash, 1);
	}
	else
		writer_add_hashes(&writer, site->hasher->class, &hash, 1, false);
	PG_RETURN_DATUM(writer_close_state(&writer));
}

/*
 * What follows the element, in the forms of the aggregate: nothing, a capacity,
 * an error rate, both, and a seed too
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

/* The transition function of one form, for each type */
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
 * The union of two states of one aggregate with the same arguments
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
	if (image_layout(other) == LAYOUT_EXPLICIT)
		bound_explicit(&writer, image_count(other));
	if (image_layout(writer.image) == LAYOUT_EXPLICIT &&
		image_layout(other) == LAYOUT_EXPLICIT)
		writer_gather(&writer, other);
	else
		writer_unite(&writer, other);
	PG_RETURN_DATUM(writer_close_state(&writer));
}

/*
 * The result of bloom_agg() or cuckoo_agg(): always a sized filter, or the
 * empty one.
 */
static Datum
agg_final(FunctionCallInfo fcinfo, FilterKind kind)
{
	const uint8 *image;

	(void) aggregate_context(fcinfo);
	if (PG_ARGISNULL(0))
		PG_RETURN_POINTER(value_make_empty(kind));

	image = value_image(PG_GETARG_DATUM(0));
	if (image_layout(image) != LAYOUT_EXPLICIT)
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
 * Union and intersection of filters.  Other than the state of bloom_agg(), this
 * one is a plain value, the union so far.
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

/* The union of no filters is the empty one. */
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
 * The intersection of no filters would be one that contains everything; there
 * is none, so it is NULL.
 */
Datum
bloomfilter_intersection_agg_final(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PG_RETURN_POINTER(value_copy_flat(PG_GETARG_DATUM(0)));
}
