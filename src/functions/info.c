/*
 * info.c
 *	  Facts about a filter: bloom_info, cuckoo_info, cardinality and error rate.
 */
#include "value/value.h"

#include <math.h>

#include "access/htup_details.h"
#include "funcapi.h"
#include "utils/builtins.h"

/* Upper limit for a number of elements: fits a bigint, and is exact as a double */
#define MOST_ELEMENTS		((double) (INT64CONST(1) << 62))

/* Columns of both types' functions, in the order of their OUT parameters */
enum
{
	INFO_LAYOUT,
	INFO_ELEMENT_CLASS,
	INFO_CAPACITY,
	INFO_ERROR_RATE,
	INFO_GROWTH,
	INFO_SEED,
	INFO_LAYERS,
	INFO_HASHES,				/* cuckoo: bits in a fingerprint */
	INFO_BITS,
	INFO_BITS_SET,				/* cuckoo: load factor */
	INFO_BYTES,
	INFO_ELEMENTS,
	INFO_ESTIMATED_ERROR_RATE,
	INFO_BITS_PER_ELEMENT,
	INFO_COLUMNS
};

/* Estimated number of elements, limited: with all bits set, it may exceed a bigint */
static int64
estimated_elements(const uint8 *image)
{
	return (int64) fmin(rint(filter_cardinality(image)), MOST_ELEMENTS);
}

/* bloom_info(bloom), and cuckoo_info: one row; columns that do not apply are NULL */
SQL_FUNCTION(bloomfilter_info)
{
	const uint8 *image = value_image(PG_GETARG_DATUM(0));
	uint64		bits;
	uint64		bits_set;
	int64		elements = estimated_elements(image);
	Datum		values[INFO_COLUMNS];
	bool		nulls[INFO_COLUMNS] = {false};
	TupleDesc	tupdesc;
	ForeignType foreign;

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	filter_bits(image, &bits, &bits_set);

	values[INFO_LAYOUT] =
		CStringGetTextDatum(filter_layout_name(image_layout(image)));
	if (image_is_foreign(image) && foreign_type(image_class(image), &foreign))
	{
		values[INFO_LAYOUT] = CStringGetTextDatum(foreign.format->name);
		values[INFO_ELEMENT_CLASS] =
			CStringGetTextDatum(foreign_form_name(&foreign));
	}
	else if (image_class(image) != ELEMENT_CLASS_NONE)
		values[INFO_ELEMENT_CLASS] =
			CStringGetTextDatum(element_class_name(image_class(image)));
	else
		nulls[INFO_ELEMENT_CLASS] = true;
	values[INFO_CAPACITY] = Int64GetDatum(image_capacity(image));
	nulls[INFO_CAPACITY] = image_capacity(image) == 0;
	values[INFO_ERROR_RATE] = Float8GetDatum(image_error_rate(image));
	nulls[INFO_ERROR_RATE] = image_error_rate(image) == 0;
	values[INFO_GROWTH] = Int32GetDatum(image_growth(image));
	values[INFO_SEED] = Int64GetDatum(image_seed(image));
	values[INFO_LAYERS] = Int32GetDatum(image_layers(image));
	if (image_has_layers(image))
	{
		FilterLayer first;

		image_get_layer(image, 0, &first);
		values[INFO_HASHES] = Int32GetDatum(layer_picks(&first));
	}
	else
		nulls[INFO_HASHES] = true;
	values[INFO_BITS] = Int64GetDatum(bits);
	values[INFO_BITS_SET] = image_kind(image) == FILTER_CUCKOO ?
		Float8GetDatum(bits > 0 ? (double) bits_set / bits : 0) :
		Int64GetDatum(bits_set);
	nulls[INFO_BITS_SET] = !image_has_layers(image);
	values[INFO_BYTES] = Int64GetDatum(image_bytes(image));
	values[INFO_ELEMENTS] = Int64GetDatum(elements);
	values[INFO_ESTIMATED_ERROR_RATE] =
		Float8GetDatum(filter_estimated_error_rate(image));
	values[INFO_BITS_PER_ELEMENT] =
		Float8GetDatum(elements > 0 ? (double) bits / elements : 0);
	nulls[INFO_BITS_PER_ELEMENT] = elements == 0;

	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(tupdesc),
													  values, nulls)));
}

/* bloom_cardinality(bloom), and cuckoo_cardinality: additions less removals */
SQL_RESULT(bloomfilter_cardinality,
		   Int64GetDatum(estimated_elements(value_image(PG_GETARG_DATUM(0)))))

/* bloom_error_rate(bloom): estimated false-positive rate, from 0 to 1 */
SQL_RESULT(bloomfilter_error_rate,
		   Float8GetDatum(filter_estimated_error_rate(value_image(PG_GETARG_DATUM(0)))))
