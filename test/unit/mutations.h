/*
 * mutations.h
 *	  What the tests of the validator share: damage images at random, and use
 *	  what it accepts all the same.
 */
#ifndef MUTATIONS_H
#define MUTATIONS_H

#include "unit.h"

typedef struct Mutations
{
	const char *name;			/* of the test */
	FilterKind	kind;
	uint64_t	count;			/* of mutations */
	uint8_t   **samples;		/* to be damaged */
	int			sample_count;
	bool		other_lengths;	/* truncate and extend some of them */

	/* Damage an image in one place; its sample is whole. */
	void		(*damage) (uint8_t *image, uint64_t bytes,
						   const uint8_t *sample);

	/*
	 * Correct the sums that almost any damage spoils, so that the validator
	 * comes to the rest of its checks.
	 */
	void		(*repair) (uint8_t *image, uint64_t bytes);

	/* Call everything with an image that was accepted, and its sample. */
	void		(*exercise) (const uint8_t *image, const uint8_t *sample);
} Mutations;

extern void test_mutations_of(const Mutations *mutations);

/*
 * Set hashes to those of numbers, and to the least and the largest hash, look
 * them up one by one and at once, and call the estimates.
 */
extern void exercise_lookups(const uint8_t *image, uint64_t *hashes,
							 size_t count);

/* Add hashes, as many as the image has room for, and expect to find these. */
extern void exercise_additions(uint8_t *image, const uint64_t *hashes,
							   size_t count);

#endif							/* MUTATIONS_H */
