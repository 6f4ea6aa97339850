/*
 * guava.h
 *	  What Guava's filters share with those that were made after their model;
 *	  see guava.c.
 */
#ifndef FILTER_FOREIGN_GUAVA_H
#define FILTER_FOREIGN_GUAVA_H

#include "format.h"

#define GUAVA_FORMS \
	(FORM(TEXT) | FORM(TEXT_UTF16) | FORM(INT4) | FORM(INT8) | FORM(BYTEA) | \
	 FORM(FLOAT4) | FORM(FLOAT8))

/* MURMUR128_MITZ_64 and MURMUR128_MITZ_32 */
extern ForeignHash mitz64_hash(uint64_t seed, const uint8_t *bytes,
							   size_t length);
extern ForeignHash mitz32_hash(uint64_t seed, const uint8_t *bytes,
							   size_t length);
extern const ForeignPlaces mitz64_places;
extern const ForeignPlaces mitz32_places;

/* The filter is as large as Guava's, and is Java's words behind a header. */
#define GUAVA_WORDS \
	.unit = WORD_BITS, \
	.size = guava_size, \
	.order = BITS_IN_BIG_WORDS

extern double guava_size(double n, double error_rate, FilterLayer *layer);

#endif							/* FILTER_FOREIGN_GUAVA_H */
