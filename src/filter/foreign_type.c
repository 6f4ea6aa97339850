/*
 * foreign_type.c
 *	  The formats of other systems' filters, the forms of their elements, and
 *	  both as an element class.
 *
 * A new format is an entry of foreign_formats here; its hashes and places are in
 * foreign.c, its bytes in foreign_io.c.  Codes are in stored filters: they stay.
 *
 * Sources: see foreign.c.
 */
#include "foreign_type.h"

#include "bits.h"
#include "image.h"

/* A form as a bit of ForeignFormatEntry.forms */
#define FORM(form)		(1u << FORM_##form)

#define GUAVA_FORMS \
	(FORM(TEXT) | FORM(TEXT_UTF16) | FORM(INT4) | FORM(INT8) | FORM(BYTEA) | FORM(FLOAT8))
#define SPARK_FORMS	(FORM(TEXT) | FORM(INT4) | FORM(INT8) | FORM(BYTEA))
#define SPARK_SQL_FORMS \
	(SPARK_FORMS | FORM(FLOAT8) | FORM(DATE) | FORM(TIMESTAMP) | \
	 FORM(TIMESTAMPTZ) | FORM(NUMERIC))

const ForeignFormatEntry foreign_formats[] = {
	[FOREIGN_GUAVA] = {"guava", 'G', MAPPING_MITZ64, GUAVA_FORMS},
	[FOREIGN_GUAVA32] = {"guava:mitz32", 'g', MAPPING_MITZ32, GUAVA_FORMS},
	[FOREIGN_PARQUET] = {
		"parquet", 'P', MAPPING_BLOCKS,
		FORM(TEXT) | FORM(INT4) | FORM(INT8) | FORM(BYTEA) | FORM(FLOAT8) |
		FORM(UUID) | FORM(DATE) | FORM(TIMESTAMP) | FORM(TIMESTAMPTZ) |
		FORM(NUMERIC)
	},
	[FOREIGN_SPARK] = {"spark", 's', MAPPING_MITZ32, SPARK_FORMS},
	[FOREIGN_SPARK2] = {"spark:v2", 'S', MAPPING_SPARK2, SPARK_FORMS},
	[FOREIGN_SPARK_SQL] = {"spark-sql", 'q', MAPPING_MITZ32, SPARK_SQL_FORMS},
	[FOREIGN_SPARK_SQL2] = {"spark-sql:v2", 'Q', MAPPING_SPARK2, SPARK_SQL_FORMS},
	[FOREIGN_DATASKETCHES] = {
		"datasketches", 'D', MAPPING_DATASKETCHES, SPARK_FORMS | FORM(FLOAT8)
	},
	[FOREIGN_REDISBLOOM] = {
		"redisbloom", 'R', MAPPING_REDISBLOOM, SPARK_FORMS
	},
	[FOREIGN_REDIS_GUAVA32] = {
		"redis-bits:guava32", 'b', MAPPING_MITZ32, GUAVA_FORMS
	},
	[FOREIGN_REDIS_GUAVA64] = {
		"redis-bits:guava64", 'B', MAPPING_MITZ64, GUAVA_FORMS
	}
};

const int	foreign_format_count = sizeof(foreign_formats) / sizeof(foreign_formats[0]);

const ForeignFormEntry foreign_forms[FOREIGN_FORMS] = {
	[FORM_TEXT] = {"text", 't'},
	[FORM_TEXT_UTF16] = {"text-utf16", 'w'},
	[FORM_INT4] = {"int4", 'i'},
	[FORM_INT8] = {"int8", 'l'},
	[FORM_BYTEA] = {"bytea", 'b'},
	[FORM_FLOAT8] = {"float8", 'f'},
	[FORM_UUID] = {"uuid", 'u'},
	[FORM_DATE] = {"date", 'd'},
	[FORM_TIMESTAMP] = {"timestamp", 's'},
	[FORM_TIMESTAMPTZ] = {"timestamptz", 'z'},
	[FORM_NUMERIC] = {"numeric", 'n'}
};

/* ------------------------------------------------------------------------
 * Formats and forms as an element class
 * ------------------------------------------------------------------------ */

/* Places in a class */
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

/* A number of two digits, or -1 */
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

	class[CLASS_FORMAT] = foreign_formats[type->format].code;
	class[CLASS_FORM] = foreign_forms[type->form].code;
	if (type->form == FORM_NUMERIC)
	{
		put_digits(class + CLASS_PRECISION, type->precision);
		put_digits(class + CLASS_SCALE, type->scale);
	}
	return get64(class);
}

/* The places of a class behind the form: of a numeric alone, not zero */
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

bool
foreign_type(uint64_t class, ForeignType *type)
{
	uint8_t		bytes[CLASS_BYTES];
	int			format = 0;
	int			form = 0;

	put64(bytes, class);
	while (format < foreign_format_count &&
		   (uint8_t) foreign_formats[format].code != bytes[CLASS_FORMAT])
		format++;
	while (form < FOREIGN_FORMS &&
		   (uint8_t) foreign_forms[form].code != bytes[CLASS_FORM])
		form++;
	if (bytes[0] != FOREIGN_CLASS || format == foreign_format_count ||
		form == FOREIGN_FORMS ||
		(foreign_formats[format].forms & 1u << form) == 0)
		return false;
	type->format = (ForeignFormat) format;
	type->form = (ForeignForm) form;
	return get_precision(bytes, type);
}

ForeignFormat
foreign_image_format(const uint8_t *image)
{
	ForeignType type;

	return foreign_type(image_class(image), &type) ? type.format : FOREIGN_GUAVA;
}

ForeignMapping
foreign_mapping(const uint8_t *image)
{
	return foreign_formats[foreign_image_format(image)].mapping;
}
