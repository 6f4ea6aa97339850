/*
 * info.c
 *	  Describe a filter: bloom_info(), cuckoo_info(), bloom_cardinality() and others.
 */
#include "value/value.h"

#include <math.h>

#include "access/htup_details.h"
#include "funcapi.h"
#include "utils/builtins.h"

/* Upper limit of the estimated elements: a power of two that fits into a bigint */
#define MOST_ELEMENTS		((double) (INT64CONST(1) << 62))

/* Number of columns of bloom_info() and cuckoo_info() */
#define INFO_COLUMNS	14

/* The result row, to be filled in the order of the OUT parameters */
typedef struct InfoRow
{
	int			columns;
	Datum		values[INFO_COLUMNS];
	bool		nulls[INFO_COLUMNS];
} InfoRow;

static void
put_column(InfoRow *row, bool known, Datum value)
{
	Assert(row->columns < INFO_COLUMNS);
	row->values[row->columns] = value;
	row->nulls[row->columns++] = !known;
}

/* Estimate the number of elements.  Fits into a bigint even if all bits are set. */
static int64
estimated_elements(const uint8 *image)
{
	return (int64) fmin(rint(filter_cardinality(image)), MOST_ELEMENTS);
}

/* bloom_info(bloom), and cuckoo_info: columns that do not apply are NULL */
SQL_FUNCTION(bloomfilter_info)
{
	const uint8 *image = value_image(PG_GETARG_DATUM(0));
	uint64		capacity = image_capacity(image);
	double		error_rate = image_error_rate(image);
	bool		has_layers = image_has_layers(image);
	const char *layout = layout_of(image);
	const char *class = NULL;
	uint64		bits;
	uint64		bits_set;
	int64		elements = estimated_elements(image);
	InfoRow		row = {0};
	TupleDesc	tupdesc;
	ForeignType foreign;
	FilterLayer first = {0};

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	filter_bits(image, &bits, &bits_set);
	if (image_is_foreign(image) && foreign_type(image_class(image), &foreign))
		class = foreign_form_name(&foreign);
	else if (image_class(image) != ELEMENT_CLASS_NONE)
		class = element_class_name(image_class(image));
	if (has_layers)
		first = image_get_layer(image, 0);

	put_column(&row, true, CStringGetTextDatum(layout));
	put_column(&row, class != NULL, class ? CStringGetTextDatum(class) : (Datum) 0);
	put_column(&row, capacity != 0, Int64GetDatum(capacity));
	put_column(&row, error_rate != 0, Float8GetDatum(error_rate));
	put_column(&row, true, Int32GetDatum(image_growth(image)));
	put_column(&row, true, Int64GetDatum(image_seed(image)));
	put_column(&row, true, Int32GetDatum(image_layers(image)));
	/* number of hashes; for cuckoo: bits in a fingerprint */
	put_column(&row, has_layers, Int32GetDatum(layer_picks(&first)));
	put_column(&row, true, Int64GetDatum(bits));
	/* bits set; for cuckoo: load factor */
	put_column(&row, has_layers, image_kind(image) == FILTER_CUCKOO ?
			   Float8GetDatum(bits > 0 ? (double) bits_set / bits : 0) :
			   Int64GetDatum(bits_set));
	put_column(&row, true, Int64GetDatum(image_bytes(image)));
	put_column(&row, true, Int64GetDatum(elements));
	put_column(&row, true, Float8GetDatum(filter_estimated_error_rate(image)));
	put_column(&row, elements != 0,
			   Float8GetDatum(elements > 0 ? (double) bits / elements : 0));
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(tupdesc),
													  row.values, row.nulls)));
}

/* bloom_cardinality(bloom): an estimate; cuckoo_cardinality: additions less removals */
SQL_RESULT(bloomfilter_cardinality,
		   Int64GetDatum(estimated_elements(value_image(PG_GETARG_DATUM(0)))))

/* bloom_error_rate(bloom): estimated false-positive rate, from 0 to 1 */
SQL_RESULT(bloomfilter_error_rate,
		   Float8GetDatum(filter_estimated_error_rate(value_image(PG_GETARG_DATUM(0)))))
