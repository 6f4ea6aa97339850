/*
 * slots.h
 *	  The size of a cuckoo layer's slots, and the limits of its fields, which
 *	  cuckoo.h and the sizing share.
 */
#ifndef FILTER_SLOTS_H
#define FILTER_SLOTS_H

#include <stdint.h>

/*
 * Limits of the number of bits of a fingerprint.  With fewer, too many elements
 * are of one class; see cuckoo_sizing.c.  The 31st layer after the first of a
 * filter of the lowest error rate needs the maximum.
 */
#define CUCKOO_MIN_FINGERPRINT	6
#define CUCKOO_MAX_FINGERPRINT	40

/* One in each half: an element's two windows always differ. */
#define CUCKOO_MIN_WINDOWS		2

/* Slots of a number of windows, which overlap by one */
static inline uint64_t
cuckoo_slots(uint64_t windows)
{
	return windows + 1;
}

/* A slot is one bit wider than a fingerprint: the offset in the window */
static inline unsigned
cuckoo_width(unsigned fingerprint)
{
	return fingerprint + 1;
}

#endif							/* FILTER_SLOTS_H */
