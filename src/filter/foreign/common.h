/*
 * common.h
 *	  Functions that formats of other systems share; see common.c.
 */
#ifndef FILTER_FOREIGN_COMMON_H
#define FILTER_FOREIGN_COMMON_H

#include "format.h"

/* Words of 64 bits, in which several formats store their bits */
#define WORD_BYTES			8
#define WORD_BITS			64

/* Return the textbook's number of bits for n elements; of hashes for n elements in "bits". */
extern double best_bits(double n, double error_rate);
extern double best_hashes(double bits, double n);

/* Return the logarithm of the expected share of clear bits that an element leaves clear. */
extern double foreign_log_spared(const FilterLayer *layer);

/*
 * foreign_set_full() sets bits_full by the layer's capacity.  foreign_set_capacity() first sets
 * the capacity to the most elements for which the other system would choose the layer.
 */
extern void foreign_set_full(const ForeignFormat *format, FilterLayer *layer);
extern void foreign_set_capacity(const ForeignFormat *format,
								 FilterLayer *layer);

/* Copy bits from our order to this one, or from this one to ours. */
extern void copy_bits(uint8_t *to, const uint8_t *from, uint64_t bytes,
					  BitOrder order);

/* Plan one layer of "bits" bits, and return it. */
extern FilterLayer *one_layer(ForeignImport *import, uint64_t bits,
							  unsigned hashes);

/*
 * Plan one layer of "words" words.  The source must be a header of "header" bytes, then "stored"
 * words.  Return NULL or the fault.
 */
extern const char *parse_words(const ForeignSource *source,
							   ForeignImport *import, uint64_t header,
							   uint64_t words, uint64_t stored,
							   uint64_t hashes);

/* Write bytes in this order; a little-endian number of "bytes" bytes; a big-endian one of 4. */
extern void write_bytes(Writer *writer, const uint8_t *bytes, uint64_t count,
						BitOrder order);
extern void write_number(Writer *writer, uint64_t value, int bytes);
extern void write32_big(Writer *writer, uint64_t value);

/* What Spark's filters have in common with Guava's; see guava.c */
extern const ForeignPlaces mitz32_places;

/* Fields of formats with Guava's size, whose bits are Java's words */
#define GUAVA_WORDS \
	.unit = WORD_BITS, \
	.size = guava_size, \
	.order = BITS_IN_BIG_WORDS

extern double guava_size(double n, double error_rate, FilterLayer *layer);

#endif							/* FILTER_FOREIGN_COMMON_H */
