/*
 * foreign_element.c
 *	  Convert values to the bytes that another system hashes for them.
 *
 * The form of a filter's elements (filter/foreign/format.h) determines these bytes: as int4
 * and as int8, the same number may have different bytes.  We accept values of all types
 * that can be equal to an element of the form.
 *
 * To add a value, we compute the one hash that the other system would.  To look up a value,
 * we compute several hashes if values with different bytes are equal in PostgreSQL: 0 and
 * -0; NaNs; a char(n) without trailing blanks and with all of them (but not with some:
 * each hash would add to the false positives, and no system is known to write such
 * strings).  A value that no element of the form can equal has no hash: it is absent.
 *
 * DataSketches never adds an empty string, so we answer "perhaps" when one is looked up.
 */
#include "foreign_element.h"

#include "catalog/pg_type.h"
#include "common/int.h"
#include "element/canonical.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"
#include "value/report.h"

#include <math.h>

/* Initial room of the arrays; larger room than ROOM_KEPT is not kept for the next call */
#define FIRST_ROOM			64
#define ROOM_KEPT			16384

/* Java writes this NaN; arithmetic on x86 makes the same one with the sign bit set. */
#define FLOAT4_NAN			UINT64CONST(0x7fc00000)
#define FLOAT4_SIGN			UINT64CONST(0x80000000)
#define FLOAT8_NAN			UINT64CONST(0x7ff8000000000000)
#define FLOAT8_SIGN			UINT64CONST(0x8000000000000000)

/* Bytes of the largest number of form numeric: 38 digits fit into 127 bits */
#define NUMERIC_BYTES		16

/* Largest precisions of the decimals that Parquet and Spark write as int4 or int8 */
#define PRECISION_INT4		9
#define PRECISION_INT8		18

/* The elements of a call, collected as hashes */
struct ForeignElements
{
	ElementClass class;			/* of the filter */
	ForeignType type;			/* "class", unpacked */
	uint64		seed;
	Oid			value_type;
	uint64		elements;		/* number of elements so far */
	uint64		count;			/* number of hashes so far */
	uint64		room;			/* entries that each array has room for */
	bool		single;			/* each element has exactly one hash */
	bool		plain;			/* values are varlenas, hashed without change */
	ForeignHash *hashes;
	uint64	   *owners;			/* for each hash, the number of its element */
	bool	   *perhaps;		/* for each element: always answer "yes" */
};

/* The types of values that may equal elements of a form, and a type to cast to in hints */
static const struct
{
	Oid			types[4];
	const char *cast;
}			of_forms[FOREIGN_FORMS] = {
	[FORM_TEXT] = {{TEXTOID, VARCHAROID, BPCHAROID, NAMEOID}, "text"},
	[FORM_TEXT_UTF16] = {{TEXTOID, VARCHAROID, BPCHAROID, NAMEOID}, "text"},
	[FORM_INT4] = {{INT2OID, INT4OID, INT8OID}, "integer"},
	[FORM_INT8] = {{INT2OID, INT4OID, INT8OID}, "bigint"},
	[FORM_BYTEA] = {{BYTEAOID}, "bytea"},
	[FORM_FLOAT4] = {{FLOAT4OID, FLOAT8OID}, "real"},
	[FORM_FLOAT8] = {{FLOAT4OID, FLOAT8OID}, "float8"},
	[FORM_UUID] = {{UUIDOID}, "uuid"},
	[FORM_DATE] = {{DATEOID}, "date"},
	[FORM_TIMESTAMP] = {{TIMESTAMPOID}, "timestamp"},
	[FORM_TIMESTAMPTZ] = {{TIMESTAMPTZOID}, "timestamptz"},
	[FORM_NUMERIC] = {{NUMERICOID}, "numeric"}
};

static bool
type_fits(Oid type, ForeignForm form)
{
	for (size_t i = 0; i < lengthof(of_forms[form].types); i++)
		if (of_forms[form].types[i] == type)
			return true;
	return false;
}

/* Resize the arrays to "room" entries. */
static void
set_room(ForeignElements *elements, uint64 room)
{
	/* if repalloc fails, "room" must not exceed the size of any array */
	elements->room = Min(elements->room, room);
	elements->hashes = repalloc_huge(elements->hashes, room * sizeof(ForeignHash));
	elements->owners = repalloc_huge(elements->owners, room * sizeof(uint64));
	elements->perhaps = repalloc_huge(elements->perhaps, room * sizeof(bool));
	elements->room = room;
}

/* The hint for values of a type that does not fit the form whose elements "cast" makes */
static const char *
form_hint(Oid type, const char *cast)
{
	const char *hint = NULL;

	if (OidIsValid(get_element_type(type)))
		return HINT_OF_ARRAY;
	if (strcmp(cast, "text") == 0)
		/* cast to text, a bytea would become its bytes in hexadecimal */
		hint = type == BYTEAOID ?
			"Convert the element, for example convert_from(value, 'UTF8')." : case_hint(type);
	return hint ? hint : psprintf("Cast the element, for example value::%s.", cast);
}

/*
 * Begin to collect values of a type, which is no domain, for the filter with this header.
 * Returns *kept or, if it is NULL, sets it to a new struct in "mcxt".  Raises
 * ERRCODE_DATATYPE_MISMATCH if values of the type cannot be elements of the filter.
 */
ForeignElements *
foreign_elements(ForeignElements **kept, const uint8 *image, Oid type, MemoryContext mcxt)
{
	ForeignElements *elements = *kept;

	if (elements == NULL)
	{
		elements = MemoryContextAllocZero(mcxt, sizeof(ForeignElements));
		elements->room = FIRST_ROOM;
		elements->hashes = MemoryContextAlloc(mcxt, FIRST_ROOM * sizeof(ForeignHash));
		elements->owners = MemoryContextAlloc(mcxt, FIRST_ROOM * sizeof(uint64));
		elements->perhaps = MemoryContextAlloc(mcxt, FIRST_ROOM * sizeof(bool));
		*kept = elements;
	}
	if (elements->class != image_class(image) || elements->value_type != type)
	{
		elements->class = ELEMENT_CLASS_NONE;
		if (!foreign_type(image_class(image), &elements->type))
			elog(ERROR, "invalid element class of a foreign filter");
		if (!type_fits(type, elements->type.form))
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("filter of format %s holds elements of form %s, not values of type %s",
							elements->type.format->name,
							foreign_form_name(&elements->type),
							format_type_be(type)),
					 errhint("%s", form_hint(type,
											 of_forms[elements->type.form].cast))));
		elements->class = image_class(image);
		elements->value_type = type;
		elements->plain = elements->type.form == FORM_BYTEA ||
			(elements->type.form == FORM_TEXT &&
			 !elements->type.format->no_empty_text &&
			 (type == TEXTOID || type == VARCHAROID) &&
			 !needs_conversion());
	}
	/* after a huge array, do not keep its memory until the end of the query */
	if (elements->room > ROOM_KEPT)
		set_room(elements, FIRST_ROOM);
	elements->seed = image_seed(image);
	elements->elements = 0;
	elements->count = 0;
	elements->single = true;
	return elements;
}

/* Add the hash of these bytes to the hashes of the current element. */
static void
push(ForeignElements *elements, const void *bytes, Size length)
{
	if (elements->count == elements->room)
		set_room(elements, 2 * elements->room);
	elements->owners[elements->count] = elements->elements;
	elements->hashes[elements->count++] =
		elements->type.format->hash(elements->seed, bytes, length);
}

/* ---- Push the hashes of a value, or none if no element of the form can equal it ---- */

/* Push a string as UTF-16, little-endian, or nothing if it is not valid UTF-8. */
static void
push_utf16(ForeignElements *elements, const char *utf8, int length)
{
	const unsigned char *from = (const unsigned char *) utf8;
	const unsigned char *end = from + length;
	uint8	   *bytes;
	uint8	   *to;

	if (!pg_verify_mbstr(PG_UTF8, utf8, length, true))
		return;
	/* UTF-16 takes at most twice the bytes of UTF-8 */
	to = bytes = palloc_extended((Size) 2 * length, MCXT_ALLOC_HUGE);
	for (; from < end; from += pg_utf_mblen(from))
	{
		uint32		point = utf8_to_unicode(from);

		if (point > 0xffff)
		{
			put16(to, 0xd800 + ((point - 0x10000) >> 10));
			to += 2;
			point = 0xdc00 + (point & 0x3ff);
		}
		put16(to, point);
		to += 2;
	}
	push(elements, bytes, to - bytes);
	pfree(bytes);
}

static void
push_string(ForeignElements *elements, const char *utf8, int length)
{
	if (length == 0 && elements->type.format->no_empty_text)
		elements->perhaps[elements->elements] = true;
	else if (elements->type.form == FORM_TEXT_UTF16)
		push_utf16(elements, utf8, length);
	else
		push(elements, utf8, length);
}

static void
push_text(ForeignElements *elements, Datum value, bool all)
{
	struct varlena *detoasted = NULL;
	const char *string;
	const char *utf8;
	int			length;
	int			shortest;

	if (elements->value_type == NAMEOID)
	{
		string = NameStr(*DatumGetName(value));
		length = strlen(string);
	}
	else
	{
		detoasted = PG_DETOAST_DATUM_PACKED(value);
		string = VARDATA_ANY(detoasted);
		length = VARSIZE_ANY_EXHDR(detoasted);
	}
	utf8 = string;
	if (needs_conversion())
	{
		utf8 = pg_server_to_any(string, length, PG_UTF8);
		if (utf8 != string)
			length = strlen(utf8);
	}
	shortest = length;
	if (elements->value_type == BPCHAROID)
		shortest = bpchartruelen(unconstify(char *, utf8), length);
	push_string(elements, utf8, shortest);
	if (all && shortest < length)
		push_string(elements, utf8, length);
	if (utf8 != string)
		pfree(unconstify(char *, utf8));
	if (detoasted)
		free_copy(detoasted, value);
}

static void
push_varlena(ForeignElements *elements, Datum value)
{
	struct varlena *bytes = PG_DETOAST_DATUM_PACKED(value);

	push(elements, VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes));
	free_copy(bytes, value);
}

/* Push the lowest "length" bytes of a number, little-endian. */
static void
push_number(ForeignElements *elements, uint64 number, Size length)
{
	uint8		bytes[sizeof(number)];

	put64(bytes, number);
	push(elements, bytes, length);
}

/* Push an integer with the bytes that the other system hashes for it in this form. */
static void
push_integer(ForeignElements *elements, int64 number)
{
	bool		is_int4 = elements->type.form == FORM_INT4;
	char		decimal[MAXINT8LEN + 1];

	if (is_int4 && number != (int32) number)
		return;
	if (elements->type.format->integers == INTEGERS_DECIMAL)
		push(elements, decimal, pg_lltoa(number, decimal));
	else
		push_number(elements, (uint64) number,
					is_int4 && elements->type.format->integers == INTEGERS_BY_FORM ?
					sizeof(int32) : sizeof(int64));
}

static void
push_float(ForeignElements *elements, float8 number, bool all)
{
	bool		is_float4 = elements->type.form == FORM_FLOAT4;
	Size		length = is_float4 ? sizeof(float4) : sizeof(float8);
	uint64		sign = is_float4 ? FLOAT4_SIGN : FLOAT8_SIGN;
	float4		narrow = (float4) number;
	uint32		narrow_bits;
	uint64		bits;

	memcpy(&narrow_bits, &narrow, sizeof(narrow_bits));
	if (isnan(number))
		bits = is_float4 ? FLOAT4_NAN : FLOAT8_NAN;
	else if (is_float4 && narrow != number)
		return;
	else
		bits = is_float4 ? narrow_bits : bits_of_double(number);
	if (number == 0 && elements->type.format->one_zero)
		bits = 0;
	push_number(elements, bits, length);
	if (all && (isnan(number) || number == 0))
		push_number(elements, bits ^ sign, length);
}

/* Push a date as the number of days since 1970, with DuckDB's numbers for infinities. */
static void
push_date(ForeignElements *elements, DateADT date)
{
	int32		days = date;

	if (DATE_IS_NOBEGIN(date))
		days = -PG_INT32_MAX;
	else if (!DATE_IS_NOEND(date))
		days += POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE;
	push_number(elements, (uint32) days, sizeof(days));
}

/* Push a timestamp as microseconds since 1970, with DuckDB's numbers for infinities. */
static void
push_timestamp(ForeignElements *elements, Timestamp timestamp)
{
	int64		since = (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY;
	int64		number = timestamp;

	if (TIMESTAMP_IS_NOBEGIN(timestamp))
		number = -PG_INT64_MAX;
	else if (!TIMESTAMP_IS_NOEND(timestamp) &&
			 pg_add_s64_overflow(timestamp, since, &number))
		return;
	push_number(elements, (uint64) number, sizeof(number));
}

/* Multiply a decimal by 10^scale; false if it is not finite, or has too many digits. */
static bool
unscaled(const char *decimal, const ForeignType *type, unsigned __int128 * number)
{
	bool		negative = *decimal == '-';
	const char *wholes = decimal + negative;
	int			whole_count = strspn(wholes, "0123456789");
	const char *fraction = wholes + whole_count;
	int			fraction_count;
	int			digits = 0;

	if (*fraction == '.')
		fraction++;
	else if (*fraction != '\0')
		return false;			/* NaN or an infinity */
	/* numeric_normalize() has removed trailing zeros */
	fraction_count = strlen(fraction);
	if (whole_count == 0 || fraction_count > type->scale)
		return false;
	*number = 0;
	for (int i = 0; i < whole_count + type->scale; i++)
	{
		int			digit = 0;

		if (i < whole_count)
			digit = wholes[i] - '0';
		else if (i - whole_count < fraction_count)
			digit = fraction[i - whole_count] - '0';
		*number = 10 * *number + digit;
		if ((digits > 0 || *number > 0) && ++digits > type->precision)
			return false;
	}
	if (negative)
		*number = -*number;
	return true;
}

/* Number of bytes that Arrow writes into Parquet for a decimal of this precision */
static int
decimal_bytes(int precision)
{
	double		bits = precision * log2(10) + 1;

	return Min((int) ceil(bits / BITS_PER_BYTE), NUMERIC_BYTES);
}

/*
 * Push a decimal.  In Spark's own filters, it is an int8 up to a precision of 18; beyond
 * that, it takes as few bytes as the number needs.  In Parquet, it depends on the writer:
 * up to a precision of 18, DuckDB and Spark write an integer, and Arrow as many bytes as
 * the precision needs; beyond that, DuckDB writes 16 bytes, and Spark and Arrow as many as
 * the precision needs.  We add an element as Spark does, and look up all variants.
 */
static void
push_numeric(ForeignElements *elements, Datum value, bool all)
{
	Numeric		number = DatumGetNumeric(value);
	char	   *decimal = numeric_normalize(number);
	unsigned	__int128 integer;
	uint8		bytes[NUMERIC_BYTES];	/* of "integer", big-endian */
	int			precision = elements->type.precision;
	bool		fits = unscaled(decimal, &elements->type, &integer);
	bool		parquet = elements->type.format->parquet_numerics;
	int			first = parquet ? NUMERIC_BYTES - decimal_bytes(precision) : 0;

	pfree(decimal);
	free_copy(number, value);
	if (!fits)
		return;
	for (int i = 0; i < NUMERIC_BYTES; i++)
		bytes[i] = (uint8) (integer >> (NUMERIC_BYTES - 1 - i) * BITS_PER_BYTE);
	if (precision <= PRECISION_INT8)
	{
		push_number(elements, (uint64) integer,
					parquet && precision <= PRECISION_INT4 ?
					sizeof(int32) : sizeof(int64));
		if (parquet && all)
			push(elements, bytes + first, NUMERIC_BYTES - first);
		return;
	}
	/* drop leading bytes that only repeat the sign */
	while (!parquet && first < NUMERIC_BYTES - 1 &&
		   ((bytes[first] == 0 && bytes[first + 1] < 0x80) ||
			(bytes[first] == 0xff && bytes[first + 1] >= 0x80)))
		first++;
	push(elements, bytes + first, NUMERIC_BYTES - first);
	if (parquet && all && first > 0)
		push(elements, bytes, NUMERIC_BYTES);
}

/* Push a value: with "all", each hash that an equal element may have; else the one to add */
static void
push_value(ForeignElements *elements, Datum value, bool all)
{
	switch (elements->value_type)
	{
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
		case NAMEOID:
			push_text(elements, value, all);
			break;
		case INT2OID:
			push_integer(elements, DatumGetInt16(value));
			break;
		case INT4OID:
			push_integer(elements, DatumGetInt32(value));
			break;
		case INT8OID:
			push_integer(elements, DatumGetInt64(value));
			break;
		case BYTEAOID:
			push_varlena(elements, value);
			break;
		case FLOAT4OID:
			push_float(elements, DatumGetFloat4(value), all);
			break;
		case FLOAT8OID:
			push_float(elements, DatumGetFloat8(value), all);
			break;
		case UUIDOID:
			push(elements, DatumGetUUIDP(value)->data, UUID_LEN);
			break;
		case DATEOID:
			push_date(elements, DatumGetDateADT(value));
			break;
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			push_timestamp(elements, DatumGetTimestamp(value));
			break;
		case NUMERICOID:
			push_numeric(elements, value, all);
			break;
		default:
			elog(ERROR, "unexpected type of an element: %u", elements->value_type);
	}
}

/* Can values of this type, which is no domain, be elements of the filter? */
bool
foreign_elements_fit(const uint8 *image, Oid type)
{
	ForeignType of_filter;

	return foreign_type(image_class(image), &of_filter) &&
		type_fits(type, of_filter.form);
}

/* Not inline, so that the fast path of foreign_elements_push() needs fewer registers */
static pg_noinline void
push_element(ForeignElements *elements, Datum value, bool change)
{
	uint64		before = elements->count;
	bool		perhaps;

	if (elements->elements == elements->room)
		set_room(elements, 2 * elements->room);
	elements->perhaps[elements->elements] = false;
	push_value(elements, value, !change);
	perhaps = elements->perhaps[elements->elements++];
	elements->single &= elements->count == before + 1 && !perhaps;
	/* do not show the value: it may be confidential */
	if (change && elements->count == before && !perhaps)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("value is out of range for elements of form %s",
						foreign_form_name(&elements->type))));
}

/*
 * Collect one more value, not NULL, to look it up or, with "change", to add it.  With
 * "change", raises ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE if no element can equal the value.
 */
void
foreign_elements_push(ForeignElements *elements, Datum value, bool change)
{
	if (!elements->plain)
	{
		push_element(elements, value, change);
		return;
	}
	/* a shortcut for the most frequent types: one hash for each element */
	push_varlena(elements, value);
	elements->elements++;
}

/* Look up the collected values in their filter; found[i] is the result of the i-th. */
void
foreign_elements_find(ForeignElements *elements, FilterReader *reader, bool *found)
{
	bool	   *of_hashes;

	if (elements->single)
	{
		reader_contains_batch(reader, elements->hashes, elements->count, found);
		return;
	}
	of_hashes = palloc_extended(elements->count, MCXT_ALLOC_HUGE);
	reader_contains_batch(reader, elements->hashes, elements->count, of_hashes);
	memcpy(found, elements->perhaps, elements->elements * sizeof(bool));
	for (uint64 i = 0; i < elements->count; i++)
		found[elements->owners[i]] |= of_hashes[i];
	pfree(of_hashes);
}

/* Return how often a counting filter contains the only value that was collected. */
unsigned
foreign_elements_count(const ForeignElements *elements, const uint8 *image)
{
	unsigned	sum = 0;

	for (uint64 i = 0; i < elements->count; i++)
		sum += filter_count(image, elements->hashes[i].a);
	return sum;
}

/*
 * Remove each collected value once from a counting filter; values were collected to look
 * them up.  Returns false if that changes nothing.
 */
bool
foreign_elements_remove(const ForeignElements *elements, uint8 *image)
{
	uint64		removed = 0;	/* the element removed last, counted from 1 */

	for (uint64 i = 0; i < elements->count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (elements->owners[i] + 1 != removed &&
			filter_remove(image, elements->hashes[i].a) == FILTER_REMOVED)
			removed = elements->owners[i] + 1;
	}
	return removed != 0;
}

/* Return the hashes of the collected values, in their order, to add them. */
const ForeignHash *
foreign_elements_hashes(const ForeignElements *elements, uint64 *count)
{
	*count = elements->count;
	return elements->hashes;
}
