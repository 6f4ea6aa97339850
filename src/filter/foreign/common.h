/*
 * common.h
 *	  What the formats of other systems have in common; see common.c.
 */
#ifndef FILTER_FOREIGN_COMMON_H
#define FILTER_FOREIGN_COMMON_H

#include "format.h"

/* Fields of a ForeignFormat whose bytes are words behind a header of integers */
#define WORD_BYTES			8
#define WORD_BITS			64

/* The textbook's number of bits for n elements, and of hashes */
extern double best_bits(double n, double error_rate);
extern double best_hashes(double bits, double n);

/* Log of the expected share of clear bits that each element leaves clear */
extern double foreign_log_spared(const FilterLayer *layer);

/*
 * Set bits_full for the layer's capacity; or set the capacity, too, to the largest for
 * which the other system would have chosen this size and number of hashes.
 */
extern void foreign_set_full(const ForeignFormat *format, FilterLayer *layer);
extern void foreign_set_capacity(const ForeignFormat *format,
								 FilterLayer *layer);

/* Copy bits from one order to the other; each order is its own opposite. */
extern void copy_bits(uint8_t *to, const uint8_t *from, uint64_t bytes,
					  BitOrder order);

/* The layer of a filter that has one, of "bits" bits */
extern FilterLayer *one_layer(ForeignImport *import, uint64_t bits,
							  unsigned hashes);

/* Plan "words" words, "stored" of them behind a header of this length, and nothing else. */
extern const char *parse_words(const ForeignSource *source,
							   ForeignImport *import, uint64_t header,
							   uint64_t words, uint64_t stored,
							   uint64_t hashes);

/* Write bytes, a little-endian number of this many bytes, or a big-endian one */
extern void write_bytes(Writer *writer, const uint8_t *bytes, uint64_t count,
						BitOrder order);
extern void write_number(Writer *writer, uint64_t value, int bytes);
extern void write32_big(Writer *writer, uint64_t value);

/* What Guava's filters share with those made after their model; see guava.c */
extern const ForeignPlaces mitz32_places;

/* The filter is as large as Guava's, and is Java's words behind a header. */
#define GUAVA_WORDS \
	.unit = WORD_BITS, \
	.size = guava_size, \
	.order = BITS_IN_BIG_WORDS

extern double guava_size(double n, double error_rate, FilterLayer *layer);

#endif							/* FILTER_FOREIGN_COMMON_H */
