/*
 * formats.c
 *	  The table of formats, the table of forms, and element classes of foreign filters.
 *
 * Codes of formats and forms never change, because stored filters contain them.
 */
#include "format.h"

/* All formats, in the order in which error messages list them */
const ForeignFormat *const foreign_formats[] = {
	&guava_format,
	&guava32_format,
	&parquet_format,
	&spark_format,
	&spark2_format,
	&spark_sql_format,
	&spark_sql2_format,
	&datasketches_format,
	&redisbloom_format,
	&redis_guava32_format,
	&redis_guava64_format,
	&redisbloom_cuckoo_format
};

const int	foreign_format_count = sizeof(foreign_formats) / sizeof(foreign_formats[0]);

const ForeignFormEntry foreign_forms[FOREIGN_FORMS] = {
	[FORM_TEXT] = {"text", 't'},
	[FORM_TEXT_UTF16] = {"text-utf16", 'w'},
	[FORM_INT4] = {"int4", 'i'},
	[FORM_INT8] = {"int8", 'l'},
	[FORM_BYTEA] = {"bytea", 'b'},
	[FORM_FLOAT4] = {"float4", 'r'},
	[FORM_FLOAT8] = {"float8", 'f'},
	[FORM_UUID] = {"uuid", 'u'},
	[FORM_DATE] = {"date", 'd'},
	[FORM_TIMESTAMP] = {"timestamp", 's'},
	[FORM_TIMESTAMPTZ] = {"timestamptz", 'z'},
	[FORM_NUMERIC] = {"numeric", 'n'}
};

/* Offsets in a class, and its length */
#define CLASS_FORMAT	1
#define CLASS_FORM		2
#define CLASS_PRECISION	3
#define CLASS_SCALE		5
#define CLASS_BYTES		8

static void
put_digits(uint8_t *to, int number)
{
	to[0] = (uint8_t) ('0' + number / 10);
	to[1] = (uint8_t) ('0' + number % 10);
}

/* Return the number that two digits make; -1 if they are not digits. */
static int
get_digits(const uint8_t *from)
{
	if (from[0] < '0' || from[0] > '9' || from[1] < '0' || from[1] > '9')
		return -1;
	return 10 * (from[0] - '0') + from[1] - '0';
}

uint64_t
foreign_class(const ForeignType *type)
{
	uint8_t		class[CLASS_BYTES] = {FOREIGN_CLASS};

	class[CLASS_FORMAT] = type->format->code;
	class[CLASS_FORM] = foreign_forms[type->form].code;
	if (type->form == FORM_NUMERIC)
	{
		put_digits(class + CLASS_PRECISION, type->precision);
		put_digits(class + CLASS_SCALE, type->scale);
	}
	return get64(class);
}

/* Get precision and scale of a class; the class of another form must end with zeros. */
static bool
get_precision(const uint8_t *class, ForeignType *type)
{
	type->precision = 0;
	type->scale = 0;
	if (type->form != FORM_NUMERIC)
		return all_zero(class + CLASS_PRECISION, CLASS_BYTES - CLASS_PRECISION);
	type->precision = get_digits(class + CLASS_PRECISION);
	type->scale = get_digits(class + CLASS_SCALE);
	return type->precision >= 1 && type->precision <= FOREIGN_MAX_PRECISION &&
		type->scale >= 0 && type->scale <= type->precision &&
		class[CLASS_BYTES - 1] == 0;
}

static const ForeignFormat *
find_format(uint8_t code)
{
	for (int i = 0; i < foreign_format_count; i++)
		if ((uint8_t) foreign_formats[i]->code == code)
			return foreign_formats[i];
	return NULL;
}

bool
foreign_type(uint64_t class, ForeignType *type)
{
	uint8_t		bytes[CLASS_BYTES];
	int			form = 0;

	put64(bytes, class);
	type->format = find_format(bytes[CLASS_FORMAT]);
	while (form < FOREIGN_FORMS &&
		   (uint8_t) foreign_forms[form].code != bytes[CLASS_FORM])
		form++;
	type->form = (ForeignForm) form;
	return bytes[0] == FOREIGN_CLASS && type->format != NULL &&
		form < FOREIGN_FORMS && (type->format->forms & 1u << form) != 0 &&
		get_precision(bytes, type);
}

const ForeignFormat *
foreign_image_format(const uint8_t *image)
{
	const ForeignFormat *format =
		find_format(image[IMAGE_OFF_CLASS + CLASS_FORMAT]);

	return format ? format : &guava_format;
}
