/*
 * slots.h
 *	  The size of a cuckoo layer's slots, and the limits of its fields: what
 *	  the sizing needs to know of cuckoo.h.
 */
#ifndef FILTER_SLOTS_H
#define FILTER_SLOTS_H

#include <stdint.h>

/*
 * Bits of a fingerprint.  With fewer, too many elements are of one class; see
 * cuckoo_sizing.c.  The most are what the 31st layer after the first needs in a
 * filter of the lowest error rate.
 */
#define CUCKOO_MIN_FINGERPRINT	6
#define CUCKOO_MAX_FINGERPRINT	40

/* One in either half: an element's two windows are always different ones. */
#define CUCKOO_MIN_WINDOWS		2

/* Slots of a number of windows, which overlap by one */
static inline uint64_t
cuckoo_slots(uint64_t windows)
{
	return windows + 1;
}

/* A slot has one bit more than a fingerprint: which of two windows it is in */
static inline unsigned
cuckoo_width(unsigned fingerprint)
{
	return fingerprint + 1;
}

#endif							/* FILTER_SLOTS_H */
