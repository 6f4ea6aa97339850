/*
 * set.h
 *	  Explicit filters, which are sets of hashes; sorted arrays of hashes; see set.c.
 */
#ifndef FILTER_SET_H
#define FILTER_SET_H

#include "image.h"

/* Sort little-endian hashes in place, remove duplicates, and return how many are left. */
extern uint64_t hashset_sort_unique(uint8_t *bytes, uint64_t count);

/*
 * Write the union of two sorted arrays without duplicates to "to", which has room for both; return
 * its number of hashes.
 */
extern uint64_t hashset_merge(uint8_t *to, const uint8_t *a, uint64_t count_a,
							  const uint8_t *b, uint64_t count_b);

/* Do these "count" sorted hashes contain the hash? */
extern bool hashset_contains(const uint8_t *hashes, uint64_t count,
							 uint64_t hash);

/* These take images of explicit filters; callers provide the room behind them for additions. */

/* Sort the hashes of an image, if it is unsorted, and remove duplicates. */
extern void set_sort(uint8_t *image);

/*
 * Do an eighth or more of an image's hashes repeat others?  An estimate for more than 1024 hashes.
 * If they are not uniform, the answer is mostly yes; it may be a wrong no only for elements that
 * somebody chose by their hashes.
 */
extern bool set_repeats(const uint8_t *image);

/* Append little-endian hashes; the image is unsorted then. */
extern void set_append(uint8_t *image, const uint8_t *hashes, uint64_t count);

/* Write the union of two sorted sets to "to", with the header of "a". */
extern void set_merge(uint8_t *to, const uint8_t *a, const uint8_t *b);

/* Append one hash.  Inline, because it is the step of an aggregate. */
static inline void
set_push(uint8_t *image, uint64_t hash)
{
	uint64_t	bytes = image_bytes(image);

	put64(image + bytes, hash);
	image[IMAGE_OFF_FLAGS] |= IMAGE_FLAG_UNSORTED;
	put64(image + IMAGE_OFF_COUNT, get64(image + IMAGE_OFF_COUNT) + 1);
	put64(image + IMAGE_OFF_BYTES, bytes + sizeof(hash));
}

#endif							/* FILTER_SET_H */
