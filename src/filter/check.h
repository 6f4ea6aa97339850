/*
 * check.h
 *	  The gate for bytes from outside; see check.c.
 */
#ifndef FILTER_CHECK_H
#define FILTER_CHECK_H

#include "image.h"

/*
 * Check that this is a valid image of exactly "bytes" bytes, and of this kind.
 * Returns NULL, or the fault, as text that can follow "invalid filter: ".
 */
extern const char *image_check(const uint8_t *image, uint64_t bytes,
							   FilterKind kind);

/*
 * The first part of that: do the bytes begin like an image of this kind, in a
 * version of the format that we know?
 */
extern const char *image_check_kind(const uint8_t *image, uint64_t bytes,
									FilterKind kind);

/* Can elements of this class be in a filter of ours, not of another system? */
extern bool check_element_class(const uint8_t class[8]);

#endif							/* FILTER_CHECK_H */
