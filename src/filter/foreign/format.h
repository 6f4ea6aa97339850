/*
 * format.h
 *	  What a format of other systems' filters is: its operations; and the table of
 *	  formats, the forms of elements, and the classes that stand for both, formats.c.
 *
 * Code outside of a format's own file calls through these instead of testing
 * for a format.  To add one, see docs/dev/internals.md.
 */
#ifndef FILTER_FOREIGN_FORMAT_H
#define FILTER_FOREIGN_FORMAT_H

#include "../ops.h"

/* Maximum number of bits that an element sets: what Guava writes in a byte */
#define FOREIGN_MAX_HASHES	255

/* All that a filter of another system needs to know of an element's bytes */
typedef struct ForeignHash
{
	uint64_t	a;
	uint64_t	b;				/* 0 where one word is enough */
} ForeignHash;

/* The hash functions (hash.c): XXH64 */
extern uint64_t foreign_xxh64(const uint8_t *bytes, size_t length,
							  uint64_t seed) __attribute__((nonnull));

/* MurmurHash3_x64_128 with seed 0: both halves */
extern ForeignHash foreign_murmur128(const uint8_t *bytes, size_t length);

/* MurmurHash64A */
extern uint64_t foreign_murmur64a(const uint8_t *bytes, size_t length,
								  uint64_t seed);

/* Spark's Murmur3_x86_32, where each byte after the last whole word is a signed word */
extern uint32_t foreign_murmur32_spark(const uint8_t *bytes, size_t length,
									   uint32_t seed);

/* What bytes an element has there */
typedef enum ForeignForm
{
	FORM_TEXT,					/* UTF-8 */
	FORM_TEXT_UTF16,			/* UTF-16, little-endian */
	FORM_INT4,
	FORM_INT8,
	FORM_BYTEA,
	FORM_FLOAT4,
	FORM_FLOAT8,
	FORM_UUID,
	FORM_DATE,
	FORM_TIMESTAMP,				/* without a time zone */
	FORM_TIMESTAMPTZ,			/* a point in time */
	FORM_NUMERIC
} ForeignForm;

#define FOREIGN_FORMS		((int) FORM_NUMERIC + 1)

/* A form as a bit of ForeignFormat.forms */
#define FORM(form)			(1u << FORM_##form)

/* What bytes an integer has */
typedef enum ForeignIntegers
{
	INTEGERS_BY_FORM,			/* 4 of an int4, 8 of an int8 */
	INTEGERS_LONG,				/* 8 of an int4, too */
	INTEGERS_DECIMAL			/* its digits */
} ForeignIntegers;

/* How bits lie in the other system's bytes */
typedef enum BitOrder
{
	BITS_AS_OURS,
	BITS_IN_BIG_WORDS,			/* of 64 bits, big-endian */
	BITS_FROM_HIGHEST			/* of each byte */
} BitOrder;

typedef struct ForeignFormat ForeignFormat;

/* What is known of a filter whose bytes are to be imported */
typedef struct ForeignSource
{
	const uint8_t *bytes;
	uint64_t	length;
	const ForeignFormat *format;	/* or the other version of it */
	bool		any_version;	/* the bytes tell which of the two */
	uint64_t	bits;			/* if the format needs the shape; else 0 */
	unsigned	hashes;			/* likewise */
} ForeignSource;

/* The image to make of it */
typedef struct ForeignImport
{
	const ForeignFormat *format;
	uint64_t	seed;
	FilterPlan	plan;
	uint64_t	data;			/* where the bits begin, in the source */
} ForeignImport;

/* Where the other system's bytes are written, or NULL to count them only */
typedef struct Writer
{
	uint8_t    *at;
	uint64_t	length;
} Writer;

/* Numbers of elements, and of the bits that they set */
typedef struct ForeignCount
{
	uint64_t	elements;
	uint64_t	bits;
} ForeignCount;

/*
 * From hashes to bits: the loops of places.h.  foreign.h says what they do; add_batch()
 * adds to the last layer while that has "room", and counts.  A hash here is its word a.
 */
typedef struct ForeignPlaces
{
	void		(*contains) (const uint8_t *image, const ForeignHash *hashes,
							 size_t count, bool *found, FilterFetch fetch,
							 void *from);
	size_t		(*add_batch) (const uint8_t *image, const ForeignHash *hashes,
							  size_t count, ForeignCount room,
							  ForeignCount *added);

	/* of filters that count, which nothing is added to; else NULL */
	unsigned	(*count) (const uint8_t *image, uint64_t hash);
	FilterRemoval (*remove) (uint8_t *image, uint64_t hash);
} ForeignPlaces;

/*
 * Flags and numbers are usually 0; functions may be NULL where a comment says so.  A
 * format defines a layer's "detail" (what else the bytes say) and "multiple".
 */
struct ForeignFormat
{
	const char *name;			/* as users write it; with ':', a version */
	char		code;			/* in an element class */

	/* From a value to its bytes */
	unsigned	forms;			/* a bit for each form that it defines */
	ForeignIntegers integers;
	bool		parquet_numerics;	/* by Parquet's rules; else by Spark's */
	bool		one_zero;		/* DuckDB and Spark write 0 for -0 */
	bool		no_empty_text;	/* it never adds an empty string */

	/* From these bytes to the places of bits */
	ForeignHash (*hash) (uint64_t seed, const uint8_t *bytes, size_t length);
	const ForeignPlaces *places;

	int			seed_bits;		/* width of the seed: 0, 32 or 64 bits */
	uint64_t	seed;			/* of the filters that we make */

	/* Layers */
	bool		counted;		/* full at its capacity: "multiple" is the
								 * number of elements, and "bits_full" free */
	bool		blocks;			/* an element has one of Parquet's blocks */
	bool		cuckoo;			/* it has a slot of two buckets of "hashes" */
	unsigned	unit;			/* the number of bits is a multiple of this */
	unsigned	hashes;			/* of a layer, if always the same number */
	uint64_t	most_detail;	/* the largest "detail", unless it is counted */
	uint64_t	clear_unsets;	/* bits of "detail" that clearing unsets */
	uint64_t	add_unsets;		/* those that an addition unsets */

	/*
	 * The bits that the other system chooses for n elements, not yet rounded
	 * to the unit; sets hashes, and fields of this format alone.  NULL: such
	 * filters are only imported.
	 */
	double		(*size) (double n, double error_rate, FilterLayer *layer);

	/* The most elements of such a layer.  NULL: hashes are rounded. */
	double		(*capacity) (const FilterLayer *layer);

	/*
	 * The variance of the set bits beyond that of independent places (NULL:
	 * none); the number of elements (NULL: estimated from the set bits); the
	 * error rate with so many elements (NULL: that of independent places)
	 */
	double		(*more_variance) (const FilterLayer *layer);
	double		(*layer_elements) (const FilterLayer *layer);
	double		(*error_rate) (const FilterLayer *layer, double elements);

	/* Keep the format's own fields true after an addition.  May be NULL. */
	void		(*note_added) (FilterLayer *layer, const uint8_t *bits);

	/*
	 * Set the format's own fields of "joined", the union of two layers or, if
	 * !united, their intersection.  They begin as a copy of one layer's; NULL
	 * if that is right.
	 */
	void		(*join) (const FilterLayer *left, const FilterLayer *right,
						 bool united, FilterLayer *joined);

	/*
	 * Check the format's own fields of a layer, and its bits.  "before" is
	 * the layer before it; of the first layer, itself.  May be NULL.
	 */
	const char *(*check_layer) (const FilterLayer *before,
								const FilterLayer *layer);
	const char *(*check_bits) (const FilterLayer *layer, const uint8_t *bits);

	/*
	 * With needs_shape, the bytes are bits alone: for each layer a string of
	 * "multiple" bytes, the last one perhaps shorter.
	 */
	bool		needs_shape;
	BitOrder	order;

	/* import_bits copies bits that are not contiguous; else it is NULL. */
	const char *(*parse) (const ForeignSource *source, ForeignImport *import);
	void		(*import_bits) (const ForeignSource *source,
								const ForeignImport *import, uint8_t *image);

	/*
	 * Write what precedes the bits; or write everything, and return false.
	 * May be NULL.
	 */
	bool		(*write) (Writer *writer, const ForeignFormat *format,
						  const uint8_t *image, const FilterLayer *layer);
};

/* All formats, each in the file of its family */
extern const ForeignFormat guava_format;
extern const ForeignFormat guava32_format;
extern const ForeignFormat parquet_format;
extern const ForeignFormat spark_format;
extern const ForeignFormat spark2_format;
extern const ForeignFormat spark_sql_format;
extern const ForeignFormat spark_sql2_format;
extern const ForeignFormat datasketches_format;
extern const ForeignFormat redisbloom_format;
extern const ForeignFormat redisbloom_cuckoo_format;

/* Only to make filters: its bytes and its code are redisbloom_format's */
extern const ForeignFormat redisbloom_nonscaling_format;
extern const ForeignFormat redis_guava32_format;
extern const ForeignFormat redis_guava64_format;

/* Maximum precision of a numeric: what fits in 16 bytes, as everywhere else */
#define FOREIGN_MAX_PRECISION	38

/*
 * A format and a form.  As an element class: '@' and their codes; for a numeric also its
 * precision and scale, in 2 digits each
 */
typedef struct ForeignType
{
	const ForeignFormat *format;
	ForeignForm form;
	int			precision;		/* of a numeric, from 1; else 0 */
	int			scale;			/* from 0 to the precision */
} ForeignType;

#define FOREIGN_CLASS		'@'

typedef struct ForeignFormEntry
{
	const char *name;
	char		code;
} ForeignFormEntry;

/* By ForeignForm */
extern const ForeignFormEntry foreign_forms[FOREIGN_FORMS];

extern const ForeignFormat *const foreign_formats[];
extern const int foreign_format_count;

extern uint64_t foreign_class(const ForeignType *type);

/* Set *type; false if that is not the class of a foreign filter */
extern bool foreign_type(uint64_t class, ForeignType *type);

/* The format of an image; bytes that were damaged on disk have some format, too */
extern const ForeignFormat *foreign_image_format(const uint8_t *image);

#endif							/* FILTER_FOREIGN_FORMAT_H */
