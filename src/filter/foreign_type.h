/*
 * foreign_type.h
 *	  The formats of other systems' filters, the forms of their elements, and
 *	  both as an element class; see foreign_type.c.
 */
#ifndef FILTER_FOREIGN_TYPE_H
#define FILTER_FOREIGN_TYPE_H

#include <stdbool.h>
#include <stdint.h>

/* A format, as far as it decides which bits an element has */
typedef enum ForeignFormat
{
	FOREIGN_GUAVA,				/* MURMUR128_MITZ_64 */
	FOREIGN_GUAVA32,			/* MURMUR128_MITZ_32 */
	FOREIGN_PARQUET,
	FOREIGN_SPARK,				/* version 1 */
	FOREIGN_SPARK2,
	FOREIGN_SPARK_SQL,			/* version 1, of xxhash64(column) */
	FOREIGN_SPARK_SQL2,
	FOREIGN_DATASKETCHES,
	FOREIGN_REDISBLOOM,
	FOREIGN_REDIS_GUAVA32,
	FOREIGN_REDIS_GUAVA64
} ForeignFormat;

/* What bytes an element has there */
typedef enum ForeignForm
{
	FORM_TEXT,					/* UTF-8 */
	FORM_TEXT_UTF16,			/* UTF-16, little-endian */
	FORM_INT4,
	FORM_INT8,
	FORM_BYTEA,
	FORM_FLOAT8,
	FORM_UUID,
	FORM_DATE,
	FORM_TIMESTAMP,				/* without a time zone */
	FORM_TIMESTAMPTZ,			/* a point in time */
	FORM_NUMERIC
} ForeignForm;

#define FOREIGN_FORMS		((int) FORM_NUMERIC + 1)

/* Maximum precision of a numeric: what fits in 16 bytes, as everywhere else */
#define FOREIGN_MAX_PRECISION	38

/*
 * Format and form of a filter.  Its element class holds them: '@', the codes of
 * both and, of a numeric, two digits of the precision and two of the scale.
 */
typedef struct ForeignType
{
	ForeignFormat format;
	ForeignForm form;
	int			precision;		/* of a numeric, from 1; else 0 */
	int			scale;			/* from 0 to the precision */
} ForeignType;

#define FOREIGN_CLASS		'@'

/* How an element's ForeignHash becomes the numbers of bits */
typedef enum ForeignMapping
{
	MAPPING_MITZ64,				/* Guava: sums of 64 bits */
	MAPPING_MITZ32,				/* Guava, Spark: sums of 32 bits */
	MAPPING_SPARK2,
	MAPPING_DATASKETCHES,
	MAPPING_REDISBLOOM,
	MAPPING_BLOCKS				/* Parquet: one block of 256 bits */
} ForeignMapping;

typedef struct ForeignFormatEntry
{
	const char *name;			/* as users write it */
	char		code;			/* in a class */
	ForeignMapping mapping;
	unsigned	forms;			/* a bit for each form that it defines */
} ForeignFormatEntry;

typedef struct ForeignFormEntry
{
	const char *name;
	char		code;
} ForeignFormEntry;

/* By ForeignFormat and ForeignForm */
extern const ForeignFormatEntry foreign_formats[];
extern const int foreign_format_count;
extern const ForeignFormEntry foreign_forms[FOREIGN_FORMS];

extern uint64_t foreign_class(const ForeignType *type);

/* False if that is not the class of a foreign filter */
extern bool foreign_type(uint64_t class, ForeignType *type);

/* Of an image; bytes that were damaged on disk give some format, too */
extern ForeignFormat foreign_image_format(const uint8_t *image);
extern ForeignMapping foreign_mapping(const uint8_t *image);

#endif							/* FILTER_FOREIGN_TYPE_H */
