/*
 * naive_cuckoo.h
 *	  What the tests of cuckoo filters share: a reader of the bytes that shares
 *	  no code with the filter, and expectations made with it.
 */
#ifndef NAIVE_CUCKOO_H
#define NAIVE_CUCKOO_H

#include "unit.h"

#include "../../src/filter/cuckoo.h"

/* Where a hash's entry may be in a layer */
typedef struct NaivePlace
{
	uint64_t	window[2];
	uint64_t	fingerprint;
} NaivePlace;

extern NaivePlace naive_place(uint64_t n0, uint64_t multiple, unsigned f0,
							  unsigned f, uint64_t hash);
extern NaivePlace naive_place_in(const uint8_t *image, int i, uint64_t hash);
extern bool same_class(const NaivePlace *a, const NaivePlace *b);

/* What is in a slot, read bit by bit */
extern uint64_t naive_slot(const uint8_t *image, const FilterLayer *layer,
						   uint64_t slot);

/* Entries of the class of a hash in layer i; *full: all its slots hold it */
extern unsigned naive_count_in(const uint8_t *image, int i, uint64_t hash,
							   bool *full);
extern unsigned naive_count(const uint8_t *image, uint64_t hash,
							bool *saturated);

extern uint64_t entries_in(const uint8_t *image);

/* All lookups, compared with the naive reader */
extern void expect_answers(const char *what, const uint8_t *image,
						   uint64_t first, uint64_t count);

/* Add a hash; the image may grow. */
extern void add_one(uint8_t **image, uint64_t hash);

extern bool same_image(const uint8_t *a, const uint8_t *b);

/* Unions for whose entries the plan had room, but there was no place */
extern int	failed_unions;

extern uint8_t *unite(const uint8_t *a, const uint8_t *b, FilterStatus *status);

#endif							/* NAIVE_CUCKOO_H */
