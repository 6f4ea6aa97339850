/*
 * report.c
 *	  Checks arguments and filters.  Each error names the wrong value and the allowed ones.
 */
#include "report.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "common/shortest_dec.h"
#include "filter/foreign/foreign.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

int			max_filter_size = MAX_FILTER_SIZE_MAX;

/* Raise ERRCODE_INVALID_PARAMETER_VALUE unless a parameter of a filter is in its range. */
void
check_number(const char *name, int64 number, int64 least, int64 most)
{
	if (number < least || number > most)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s of a filter must be between %lld and %lld, not %lld",
						name, (long long) least, (long long) most,
						(long long) number)));
}

void
check_capacity(int64 capacity)
{
	if (capacity < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("capacity of a filter must be at least 1, not %lld",
						(long long) capacity)));
}

void
check_error_rate(double error_rate)
{
	/* this form of the condition refuses NaN */
	if (!(error_rate >= ERROR_RATE_MIN && error_rate <= ERROR_RATE_MAX))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("error rate of a filter must be between %g and %g, not %s",
						ERROR_RATE_MIN, ERROR_RATE_MAX,
						double_to_shortest_decimal(error_rate)),
				 HINT_ERROR_RATE));
}

/*
 * The hint for a value, or an array of values, where texts are held, if a cast to text would
 * compare it otherwise than its own type does; else NULL.  "type" may be InvalidOid.
 */
const char *
case_hint(Oid type)
{
	Oid			element = get_base_element_type(type);
	HeapTuple	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(OidIsValid(element) ? element : type));
	bool		is_citext;

	if (!HeapTupleIsValid(tuple))
		return NULL;
	/* of whatever schema */
	is_citext = strcmp(NameStr(((Form_pg_type) GETSTRUCT(tuple))->typname), "citext") == 0;
	ReleaseSysCache(tuple);
	return is_citext ?
		"Texts are compared with regard to case, unlike citext. To ignore it, add or index lower(value), and look up lower(value)." :
		NULL;
}

/*
 * The hint for an element of this type whose class differs from "held", the filter's class.
 * Returns "otherwise" if no named cast leads to that class.  "type" is InvalidOid if only a
 * hash is known.
 */
const char *
class_hint(ElementClass held, ElementClass element, Oid type, const char *otherwise)
{
	const char *cast = element_class_cast(held);
	const char *hint = strcmp(element_class_name(held), "text") == 0 ? case_hint(type) : NULL;

	if (element_class_is_array_of(element, held))
		return HINT_OF_ARRAY;
	if (element_class_is_array_of(held, element))
		return "Its elements are whole arrays. For those of arrays, build it by a function whose name ends in _all.";
	/* cast to text, a bytea would become its bytes in hexadecimal */
	if (strcmp(element_class_name(element), "bytea") == 0)
		return "Convert the element to the type of the column that the filter was built from.";
	if (hint != NULL)
		return hint;
	if (cast == NULL)
		return otherwise;
	/* the element may have been one of an array: name both casts */
	if (strncmp(cast, "ROW", 3) != 0 && !strchr(cast, '['))
		return psprintf("Cast the element, for example %s, or the array, %s[].",
						cast, cast);
	return psprintf("Cast the element, for example %s.", cast);
}

/*
 * Raise the error about an element's class; "type" is InvalidOid if only a hash is known.
 */
void
report_other_class(ElementClass class, ElementClass element, Oid type)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("filter holds elements of class %s, not %s",
					element_class_name(class),
					element_class_name(element)),
			 OidIsValid(type) ?
			 errdetail("The element is of type %s.", format_type_be(type)) : 0,
			 errhint("%s%s", class_hint(class, element, type,
										psprintf("%sCast the element to the type of the column that the filter was built from, for example value::my_type.",
												 element_class_is_hashed(class) ?
												 "The class is stored as a hash. " : "")),
					 strcmp(element_class_name(class), "text") == 0 &&
					 !element_class_is_array_of(element, class) ?
					 " If the filter should not hold texts, build it anew: its first element lacked a cast." : "")));
}

/* Return the name of a filter's layout, for a filter of another system that of its format. */
const char *
layout_of(const uint8 *image)
{
	ForeignType foreign;

	return image_is_foreign(image) && foreign_type(image_class(image), &foreign) ?
		foreign.format->name : filter_layout_name(image_layout(image));
}

static void
report_full_foreign(const uint8 *image)
{
	FilterLayer last = image_get_layer(image, image_layers(image) - 1);

	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("filter of another system is full, and cannot grow"),
			 errdetail("Its last layer holds about %.0f elements, and has room for %llu.",
					   foreign_layer_cardinality(&last),
					   (unsigned long long) last.capacity),
			 errhint("Create a larger filter with bloom_create_foreign(), or in the system that it came from.")));
}

/* Raise an error unless "status" is FILTER_OK; only FILTER_FIXED needs the "image". */
void
check_status(FilterStatus status, const uint8 *image)
{
	switch (status)
	{
		case FILTER_OK:
			return;
		case FILTER_FIXED:
			if (image_is_foreign(image))
				report_full_foreign(image);
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("filter of fixed size is full"),
					 errdetail("It holds about %.0f elements, and was made for %llu.",
							   filter_cardinality(image),
							   (unsigned long long) image_capacity(image)),
					 errhint("Create it with a larger capacity, or with growth => %d so that it can grow.",
							 GROWTH_DEFAULT)));
			break;
		case FILTER_TOO_MANY_LAYERS:
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("filter would have more than %d layers",
							IMAGE_MAX_LAYERS),
					 errhint("Rebuild it with a capacity of at least the number of its elements.")));
			break;
		case FILTER_NOT_ONE_LAYER:
			elog(ERROR, "layers of a counting filter cannot be united");
			break;
		case FILTER_TOO_LARGE:
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("filter would have more than %llu bits",
							(unsigned long long) IMAGE_MAX_BITS),
					 errhint("Use a smaller capacity or a higher error rate, or distribute the elements among several filters.")));
			break;
	}
}

/* Is a filter of this size larger than bloomfilter.max_filter_size? */
bool
exceeds_max_size(uint64 bytes)
{
	return max_filter_size < MAX_FILTER_SIZE_MAX && bytes > (uint64) max_filter_size * 1024;
}

/*
 * Raise ERRCODE_PROGRAM_LIMIT_EXCEEDED if a filter would be larger than
 * bloomfilter.max_filter_size when it is created, grown or combined.  Existing filters can
 * be used, whatever their size.
 */
void
check_size(uint64 bytes)
{
	if (exceeds_max_size(bytes))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("filter would be larger than bloomfilter.max_filter_size"),
				 errdetail("It would have %llu bytes, more than %d kB.",
						   (unsigned long long) bytes, max_filter_size),
				 errhint("Use a smaller capacity or a higher error rate, or distribute the elements among several filters. A superuser can raise bloomfilter.max_filter_size.")));
}

/* Raise ERRCODE_PROGRAM_LIMIT_EXCEEDED unless a plan was made, and its size is allowed. */
void
check_plan(FilterStatus status, const FilterPlan *plan, const uint8 *image)
{
	check_status(status, image);
	check_size(plan->bytes);
}

/* The same for the union of two filters with layers.  Neither filter need be full. */
void
check_union_plan(FilterStatus status, const FilterPlan *plan, const uint8 *a,
				 const uint8 *b)
{
	if (status == FILTER_FIXED)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("union does not fit into a filter of fixed size"),
				 errdetail("The two filters hold about %.0f and %.0f elements, and were made for %llu.",
						   filter_cardinality(a), filter_cardinality(b),
						   (unsigned long long) image_capacity(a)),
				 image_is_counting(a) ?
				 errhint("Create both with a larger capacity.") :
				 errhint("Create both with a larger capacity, or with growth => %d so that they can grow.",
						 GROWTH_DEFAULT)));
	if (status == FILTER_NOT_ONE_LAYER)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("union of counting filters does not fit into one layer"),
				 errdetail("The two filters hold about %.0f and %.0f elements in %d layers, and were made for %llu.",
						   filter_cardinality(a), filter_cardinality(b),
						   image_layers(a) + image_layers(b),
						   (unsigned long long) image_capacity(a)),
				 errhint("Create both with a larger capacity, or unite the results of bloom_plain().")));
	check_plan(status, plan, a);
}

/* Raise ERRCODE_INVALID_PARAMETER_VALUE unless two filters can be united or intersected. */
void
check_compatible(const uint8 *a, const uint8 *b)
{
	const char *detail = NULL;
	const char *hint = NULL;

	switch (filter_difference(a, b))
	{
		case FILTERS_COMPATIBLE:
			return;
		case DIFFERENT_KIND:
			elog(ERROR, "filters of different types");
			break;
		case DIFFERENT_SEED:
			detail = psprintf("Their seeds are %lld and %lld.",
							  (long long) image_seed(a),
							  (long long) image_seed(b));
			hint = "Build both with the same seed.";
			break;
		case DIFFERENT_CLASS:
			detail = psprintf("Their elements are of class %s and %s.",
							  element_class_name(image_class(a)),
							  element_class_name(image_class(b)));
			hint = "Build both from elements of the same class.";
			break;
		case DIFFERENT_SYSTEM:
			detail = "Only one of them is a filter of another system.";
			hint = "Build both by bloom_create_foreign() or bloom_import(), with the same format, or neither.";
			break;
		case NOT_COMBINED:
			detail = "They are cuckoo filters of RedisBloom, which take no elements.";
			hint = "Look elements up in both.";
			break;
		case DIFFERENT_COUNTING:
			detail = "Only one of them is a counting filter.";
			hint = "Create both with counting => true, or neither.";
			break;
		case DIFFERENT_LAYOUT:
			detail = "Only one of them has the layout classic.";
			hint = "Build both with bloom_create_bits(), or neither.";
			break;
		case DIFFERENT_CAPACITY:
			detail = psprintf("Their capacities are %llu and %llu.",
							  (unsigned long long) image_capacity(a),
							  (unsigned long long) image_capacity(b));
			break;
		case DIFFERENT_ERROR_RATE:
			detail = psprintf("Their error rates are %s and %s.",
							  double_to_shortest_decimal(image_error_rate(a)),
							  double_to_shortest_decimal(image_error_rate(b)));
			break;
		case DIFFERENT_GROWTH:
			detail = psprintf("Their growth is %d and %d.",
							  image_growth(a), image_growth(b));
			hint = "Build both with the same growth.";
			break;
		case DIFFERENT_SIZE:
			detail = "Their numbers of bits or of hashes differ.";
			hint = "Build both with the same arguments.";
			break;
	}
	if (hint == NULL)
		hint = psprintf("Build both with the same capacity and error rate, as in %s_agg(x, 1000000, 0.01).",
						kind_name(image_kind(a)));
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("cannot combine incompatible filters"),
			 errdetail_internal("%s", detail),
			 errhint("%s", hint)));
}
