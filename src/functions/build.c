/*
 * build.c
 *	  Make and change filters: bloom_create(), bloom_size(), bloom_add(), bloom_union(),
 *	  and their variants.
 *
 * A function changes its argument in place only if this is a read/write expanded object,
 * because then the caller no longer uses the old value.  A function that adds elements
 * returns its argument if all are in the filter, so that an UPDATE need not write it again.
 */
#include "callsite.h"

#include <math.h>

#include "access/htup_details.h"
#include "common/shortest_dec.h"
#include "filter/classic.h"
#include "filter/foreign/foreign.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/tuplestore.h"

/*
 * Return the capacity that an argument asks for, a whole number.  Any float8 is taken: 1e6 is no
 * bigint, and the error rate may come first by mistake, as in BF.RESERVE.
 */
static int64
get_capacity(double capacity, double error_rate)
{
	/* this form of the condition refuses NaN */
	if (!(capacity >= 1))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("capacity of a filter must be at least 1, not %s",
						double_to_shortest_decimal(capacity)),
				 capacity > 0 && error_rate >= 1 ?
				 errhint("The capacity comes first, then the error rate.") : 0));
	/* no filter is so large: the plan fails */
	return capacity < (double) PG_INT64_MAX ? (int64) ceil(capacity) : PG_INT64_MAX;
}

/* Get the arguments capacity, error_rate and growth, and check their ranges. */
static FilterParams
get_request(FunctionCallInfo fcinfo, FilterKind kind)
{
	int32		growth = PG_GETARG_INT32(2);
	FilterParams params = {
		.capacity = get_capacity(PG_GETARG_FLOAT8(0), PG_GETARG_FLOAT8(1)),
		.error_rate = PG_GETARG_FLOAT8(1),
		.growth = growth,
		.kind = kind
	};

	check_error_rate(params.error_rate);
	if (growth < 0 || growth > IMAGE_MAX_GROWTH)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("growth of a filter must be between 0 and %d, not %d",
						IMAGE_MAX_GROWTH, growth),
				 errhint("Use 0 for a filter of fixed size, or %d, the default, for one that can grow.",
						 GROWTH_DEFAULT)));
	return params;
}

/*
 * Return the class of elements of a type, or ELEMENT_CLASS_NONE for InvalidOid.  Raises an
 * error if the type does not exist, is a pseudo-type, or cannot be hashed.
 */
static ElementClass
class_of_type(Oid type)
{
	char		kind;

	if (!OidIsValid(type))
		return ELEMENT_CLASS_NONE;
	kind = get_typtype(type);
	if (kind == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("type with OID %u does not exist", type)));
	if (kind == TYPTYPE_PSEUDO)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("elements of a filter cannot be declared as pseudo-type %s",
						format_type_be(type)),
				 errhint("Use the type of the column that they come from, for example element_type => 'text'.")));
	return element_hasher_create(type, get_typcollation(type), ELEMENT_PORTABLE, NULL,
								 CurrentMemoryContext)->class;
}

/* bloom_create(capacity, error_rate, growth, seed, counting, element_type) */
static Datum
create(FunctionCallInfo fcinfo, FilterKind kind)
{
	FilterParams params = get_request(fcinfo, kind);
	int			next = 3;

	params.seed = PG_GETARG_INT64(next++);
	if (kind == FILTER_BLOOM)
		params.counting = PG_GETARG_BOOL(next++);
	params.class = class_of_type(PG_GETARG_OID(next));
	PG_RETURN_POINTER(value_make(&params));
}

SQL_FUNCTIONS(create, create)

/* bloom_size(capacity, error_rate, growth, counting): describes what create() would make */
static Datum
size(FunctionCallInfo fcinfo, FilterKind kind)
{
	FilterParams params = get_request(fcinfo, kind);
	FilterPlan	plan;
	Datum		values[3];
	bool		nulls[lengthof(values)] = {false};
	TupleDesc	tupdesc;

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	if (kind == FILTER_BLOOM)
		params.counting = PG_GETARG_BOOL(3);
	check_status(filter_plan(&params, &plan), NULL);
	values[0] = Int64GetDatum(plan.bytes);
	/* number of hashes; for cuckoo: bits in a fingerprint */
	values[1] = Int32GetDatum(layer_picks(&plan.layer[0]));
	values[2] = CStringGetTextDatum(filter_layout_name(plan.layer[0].layout));
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(tupdesc),
													  values, nulls)));
}

SQL_FUNCTIONS(size, size)

/* bloom_shards(capacity, error_rate, growth, seed, element_type): a row for each shard */
static Datum
shards(FunctionCallInfo fcinfo, FilterKind kind)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	FilterParams params = get_request(fcinfo, kind);
	FilterParams each;
	uint64		count;
	Datum		values[2];
	bool		nulls[lengthof(values)] = {false};

	params.seed = PG_GETARG_INT64(3);
	params.class = class_of_type(PG_GETARG_OID(4));
	InitMaterializedSRF(fcinfo, 0);
	count = filter_plan_shards(&params, &each);
	if (count == 0)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("set would have more than %d shards", MAX_SHARDS),
				 errhint("Use a smaller capacity or a higher error rate.")));
	values[1] = PointerGetDatum(value_make(&each));
	for (uint64 shard = 0; shard < count; shard++)
	{
		CHECK_FOR_INTERRUPTS();
		values[0] = Int32GetDatum(shard);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	PG_RETURN_NULL();
}

SQL_FUNCTIONS(shards, shards)

/* bloom_create_bits(bits bigint, hashes int, seed bigint, element_type regtype) */
SQL_FUNCTION(bloomfilter_create_bits)
{
	int64		bits = PG_GETARG_INT64(0);
	int32		hashes = PG_GETARG_INT32(1);
	FilterParams params = {.seed = PG_GETARG_INT64(2)};
	FilterPlan	plan;

	check_number("number of bits", bits, CLASSIC_MIN_BITS, IMAGE_MAX_BITS);
	check_number("number of hashes", hashes, 1, CLASSIC_MAX_HASHES);
	params.class = class_of_type(PG_GETARG_OID(3));
	check_plan(filter_plan_classic(bits, hashes, &plan), &plan, NULL);
	PG_RETURN_POINTER(value_make_planned(&params, &plan));
}

/*
 * Does a filter contain all of these hashes?  The first batches are small, because most
 * filters lack one of the first hashes, and a stored filter may be read by slices.
 */
static bool
contains_all(FilterReader *reader, const uint64 *hashes, uint64 count)
{
	bool		found[BATCH];

	for (uint64 batch = 1; count > 0; batch = Min(2 * batch, BATCH))
	{
		batch = Min(batch, count);
		reader_contains_batch(reader, hashes, batch, found);
		if (memchr(found, false, batch))
			return false;
		hashes += batch;
		count -= batch;
	}
	return true;
}

/* Add the elements in lookup->foreign to a filter of another system. */
static Datum
add_foreign(Datum filter, Lookup *lookup)
{
	uint64		count;
	const ForeignHash *hashes = foreign_elements_hashes(lookup->foreign, &count);
	bool	   *found;
	FilterWriter writer;

	lookup_reopen(lookup);
	if (count == 0)
		return filter;
	if (!foreign_takes_elements(lookup->reader.image))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("elements cannot be added to a cuckoo filter of RedisBloom"),
				 errhint("Add them to a filter of bloom_create() or cuckoo_create(), and look up in both.")));
	found = palloc_extended(count, MCXT_ALLOC_HUGE);
	reader_contains_batch(&lookup->reader, hashes, count, found);
	if (memchr(found, false, count) == NULL)
		return filter;

	reader_open_writer(&lookup->reader, filter, &writer);
	writer_add_foreign(&writer, hashes, count);
	return writer_close(&writer);
}

/*
 * Add argument 1 or, if is_array, the elements of that array.  Unless "unique" is true, a
 * cuckoo filter also adds elements that it contains.
 */
static Datum
add(FunctionCallInfo fcinfo, bool is_array, bool unique)
{
	Datum		filter = PG_GETARG_DATUM(0);
	Lookup		lookup;
	CallSite   *site;
	ArrayElements elements;
	uint64	   *hashes;
	FilterWriter writer;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	if (PG_ARGISNULL(1))
		return filter;
	site = call_site(fcinfo, 1, is_array);
	elements = argument_elements(fcinfo, site);
	lookup_open(&lookup, site, filter, 1);
	hashes = lookup_hash_array(&lookup, &elements, true);
	if (lookup.foreign)
		return add_foreign(filter, &lookup);
	lookup_reopen(&lookup);
	if (elements.count == 0 ||
		((unique || !filter_is_multiset(lookup.reader.image)) &&
		 contains_all(&lookup.reader, hashes, elements.count)))
		return filter;

	reader_open_writer(&lookup.reader, filter, &writer);
	writer_add_hashes(&writer, lookup.class, hashes, elements.count, unique);
	return writer_close(&writer);
}

/* bloom_add(filter bloom, element anycompatible), and cuckoo_add */
SQL_RESULT(bloomfilter_add, add(fcinfo, false, false))

/* cuckoo_add_unique(filter cuckoo, element anycompatible) */
SQL_RESULT(bloomfilter_add_unique, add(fcinfo, false, true))

/* bloom_add_all(filter bloom, elements anycompatiblearray), and cuckoo_add_all */
SQL_RESULT(bloomfilter_add_all, add(fcinfo, true, false))

/* cuckoo_add_all_unique(filter cuckoo, elements anycompatiblearray) */
SQL_RESULT(bloomfilter_add_all_unique, add(fcinfo, true, true))

/* Call "change" to unite or intersect argument 0 with argument 1. */
static Datum
combine(FunctionCallInfo fcinfo, void (*change) (FilterWriter *writer, const uint8 *other))
{
	const uint8 *other = value_image(PG_GETARG_DATUM(1));
	MemoryContext mcxt;
	FilterWriter writer;

	if (AggCheckCallContext(fcinfo, &mcxt))
	{
		writer_open_state(&writer, PG_GETARG_DATUM(0), mcxt);
		change(&writer, other);
		PG_RETURN_DATUM(writer_close_state(&writer));
	}
	writer_open_copy(&writer, PG_GETARG_DATUM(0));
	change(&writer, other);
	PG_RETURN_DATUM(writer_close(&writer));
}

/* bloom_union(bloom, bloom), and cuckoo_union */
SQL_RESULT(bloomfilter_union, combine(fcinfo, writer_unite))

/* bloom_intersection(bloom, bloom) */
SQL_RESULT(bloomfilter_intersection, combine(fcinfo, writer_intersect))

/* bloom_clear(bloom), and cuckoo_clear: removes all elements, but keeps their class */
SQL_FUNCTION(bloomfilter_clear)
{
	const uint8 *image = value_image(PG_GETARG_DATUM(0));
	FilterParams params = image_get_params(image);
	FilterPlan	plan;

	if (!image_has_layers(image))
		PG_RETURN_POINTER(value_make_bare(image_layout(image), &params));
	/* no check_size(): the result is no larger than the argument */
	check_status(filter_plan_again(image, &plan), image);
	PG_RETURN_POINTER(value_make_planned(&params, &plan));
}

/* bloom_compatible(bloom, bloom), and cuckoo_compatible: can they be combined? */
SQL_RESULT(bloomfilter_compatible,
		   BoolGetDatum(filter_difference(value_header(PG_GETARG_DATUM(0)),
										  value_header(PG_GETARG_DATUM(1))) ==
						FILTERS_COMPATIBLE))
