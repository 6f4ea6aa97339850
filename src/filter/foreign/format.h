/*
 * format.h
 *	  ForeignFormat, the operations of a format of another system's filters; forms of
 *	  elements; element classes, which name a format and a form.
 *
 * Code outside of a format's own file calls these operations instead of testing for a
 * format.  docs/dev/internals.md says how to add one.
 */
#ifndef FILTER_FOREIGN_FORMAT_H
#define FILTER_FOREIGN_FORMAT_H

#include "../ops.h"

/* Maximum number of bits that an element sets: Guava stores this number in a byte. */
#define FOREIGN_MAX_HASHES	255

/* The hash of an element's bytes, from which all of its places follow */
typedef struct ForeignHash
{
	uint64_t	a;
	uint64_t	b;				/* 0 if the format needs only one word */
} ForeignHash;

/*
 * Hash functions (hash.c): XXH64; MurmurHash3_x64_128 with seed 0, whose halves are a and b;
 * MurmurHash64A; and Spark's Murmur3_x86_32, which takes each byte after the last whole word as
 * a signed word
 */
extern uint64_t foreign_xxh64(const uint8_t *bytes, size_t length,
							  uint64_t seed) __attribute__((nonnull));
extern ForeignHash foreign_murmur128(const uint8_t *bytes, size_t length);
extern uint64_t foreign_murmur64a(const uint8_t *bytes, size_t length,
								  uint64_t seed);
extern uint32_t foreign_murmur32_spark(const uint8_t *bytes, size_t length,
									   uint32_t seed);

/* The form of an element: which bytes of it the other system hashes */
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

/* Which bytes of an integer the other system hashes */
typedef enum ForeignIntegers
{
	INTEGERS_BY_FORM,			/* 4 bytes of an int4, 8 of an int8 */
	INTEGERS_LONG,				/* always 8 bytes */
	INTEGERS_DECIMAL			/* its decimal digits, as text */
} ForeignIntegers;

/* The order of bits in the other system's bytes */
typedef enum BitOrder
{
	BITS_AS_OURS,
	BITS_IN_BIG_WORDS,			/* in big-endian words of 64 bits */
	BITS_FROM_HIGHEST			/* from the highest bit of each byte */
} BitOrder;

typedef struct ForeignFormat ForeignFormat;

/* The bytes to import, and what the caller knows of them */
typedef struct ForeignSource
{
	const uint8_t *bytes;
	uint64_t	length;
	const ForeignFormat *format;
	bool		any_version;	/* or it is the format's other version */
	uint64_t	bits;			/* 0 unless format->needs_shape */
	unsigned	hashes;			/* 0 unless format->needs_shape */
} ForeignSource;

/* The image to make of a source */
typedef struct ForeignImport
{
	const ForeignFormat *format;
	uint64_t	seed;
	FilterPlan	plan;
	uint64_t	data;			/* where the bits begin in the source */
} ForeignImport;

/* Output of the other system's bytes */
typedef struct Writer
{
	uint8_t    *at;				/* NULL: only count them */
	uint64_t	length;			/* written so far */
} Writer;

/* A number of elements, and the number of bits that they set */
typedef struct ForeignCount
{
	uint64_t	elements;
	uint64_t	bits;
} ForeignCount;

/*
 * Probe, add and remove by hashes; most formats use the loops of places.h.  add_batch()
 * adds elements that no layer contains to the last layer while that has "room".  It
 * returns how many hashes it has processed, and sets *added.
 */
typedef struct ForeignPlaces
{
	void		(*contains) (const uint8_t *image, const ForeignHash *hashes,
							 size_t count, bool *found, FilterFetch fetch,
							 void *from);
	size_t		(*add_batch) (const uint8_t *image, const ForeignHash *hashes,
							  size_t count, ForeignCount room,
							  ForeignCount *added);

	/* filters that count take word "a" of a hash, and have no add_batch */
	unsigned	(*count) (const uint8_t *image, uint64_t hash);
	FilterRemoval (*remove) (uint8_t *image, uint64_t hash);
} ForeignPlaces;

/*
 * A format of another system.  It decides what a layer's field "multiple" means, and "detail",
 * which keeps what else the other system's bytes contain.  Functions may be NULL where their
 * comment says so.
 */
struct ForeignFormat
{
	const char *name;			/* as users write it; a version is after ':' */
	char		code;			/* in an element class */

	/* From a value to the bytes that are hashed */
	unsigned	forms;			/* a bit for each form that it supports */
	ForeignIntegers integers;
	bool		parquet_numerics;	/* by Parquet's rules; else by Spark's */
	bool		one_zero;		/* -0 is hashed as 0 (DuckDB, Spark) */
	bool		no_empty_text;	/* it never adds an empty string */

	/* From these bytes to the places of bits */
	ForeignHash (*hash) (uint64_t seed, const uint8_t *bytes, size_t length);
	const ForeignPlaces *places;

	int			seed_bits;		/* width of the seed: 0, 32 or 64 bits */
	uint64_t	seed;			/* of the filters that we make */

	/* Layers */
	bool		counted;		/* "multiple" is the number of elements, and
								 * capacity its maximum; the format may store
								 * another number in "bits_full" */
	bool		blocks;			/* an element's bits are in one Parquet block */
	bool		cuckoo;			/* an element has a slot in one of two buckets
								 * of "hashes" slots */
	unsigned	unit;			/* the number of bits is a multiple of this */
	unsigned	hashes;			/* of every layer; 0 if they may differ */
	uint64_t	most_detail;	/* maximum of "detail" unless "counted" */
	uint64_t	clear_unsets;	/* bits of "detail" that clearing unsets */
	uint64_t	add_unsets;		/* bits of "detail" that an addition unsets */

	/*
	 * Return the number of bits that the other system chooses for n elements,
	 * before it is rounded up to the unit.  Set layer->hashes, and fields
	 * that only this format uses.  NULL: we only import such filters.
	 */
	double		(*size) (double n, double error_rate, FilterLayer *layer);

	/*
	 * Return the most elements for which "size" chooses this layer.  NULL:
	 * "size" rounds hashes to the nearest integer.
	 */
	double		(*capacity) (const FilterLayer *layer);

	/*
	 * Return the variance of the set bits beyond that of independent places
	 * (NULL: none); the number of elements (NULL: estimate it from the set
	 * bits); the error rate with so many elements (NULL: that of independent
	 * places).
	 */
	double		(*more_variance) (const FilterLayer *layer);
	double		(*layer_elements) (const FilterLayer *layer);
	double		(*error_rate) (const FilterLayer *layer, double elements);

	/* Update the format's own fields after an addition.  May be NULL. */
	void		(*note_added) (FilterLayer *layer, const uint8_t *bits);

	/*
	 * Set the format's own fields of "joined", the union of two layers or, if
	 * !united, their intersection.  NULL: keep the fields of "joined", which
	 * is a copy of one of the two.
	 */
	void		(*join) (const FilterLayer *left, const FilterLayer *right,
						 bool united, FilterLayer *joined);

	/*
	 * Check the format's own fields of a layer; check its bits.  Return NULL
	 * or the fault.  "before" is the previous layer or, for the first layer,
	 * that layer itself.  Both functions may be NULL.
	 */
	const char *(*check_layer) (const FilterLayer *before,
								const FilterLayer *layer);
	const char *(*check_bits) (const FilterLayer *layer, const uint8_t *bits);

	/*
	 * With needs_shape, the bytes are a string of bits for each layer, whose
	 * length is "multiple"; zeros at its end may be omitted.
	 */
	bool		needs_shape;
	BitOrder	order;

	/* Set *import; return NULL or the fault. */
	const char *(*parse) (const ForeignSource *source, ForeignImport *import);

	/* Copy the bits into the image.  NULL: the source has them contiguous. */
	void		(*import_bits) (const ForeignSource *source,
								const ForeignImport *import, uint8_t *image);

	/* Write the header (return true) or all (false).  NULL: no header */
	bool		(*write) (Writer *writer, const ForeignFormat *format,
						  const uint8_t *image, const FilterLayer *layer);
};

/* All formats, each defined in the file of its system */
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

/* The first only makes filters, which then have redisbloom_format's bytes and code */
extern const ForeignFormat redisbloom_nonscaling_format;
extern const ForeignFormat redis_guava32_format;
extern const ForeignFormat redis_guava64_format;

/* Maximum precision of a numeric: these systems store it in up to 16 bytes */
#define FOREIGN_MAX_PRECISION	38

/*
 * A format and a form.  The element class is '@', the code of the format, and that of the form;
 * for a numeric also its precision and scale, in 2 digits each.
 */
typedef struct ForeignType
{
	const ForeignFormat *format;
	ForeignForm form;
	int			precision;		/* of a numeric, from 1; else 0 */
	int			scale;			/* of a numeric, 0 to precision; else 0 */
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

/* Set *type to a class's format and form; return false if it is no class of foreign filters. */
extern bool foreign_type(uint64_t class, ForeignType *type);

/* Return the format of an image; if bytes were damaged on disk, return any format. */
extern const ForeignFormat *foreign_image_format(const uint8_t *image);

#endif							/* FILTER_FOREIGN_FORMAT_H */
