/*
 * pause.h
 *	  What takes long looks up now and then: the server wants to know whether
 *	  the query was cancelled meanwhile.
 *
 * A pause need not return.  So whoever calls filter_may_pause() leaves a sound
 * image behind, with no element lost, or one that nobody else knows.
 */
#ifndef FILTER_PAUSE_H
#define FILTER_PAUSE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Bytes that a pass over bits, or over hashes in order, takes between two
 * pauses: a millisecond even on a slow machine, and whole words and blocks
 */
#define PAUSE_BYTES		((uint64_t) 1 << 20)

/* Called at each pause, unless it is NULL */
extern void (*filter_pause) (void);

static inline void
filter_may_pause(void)
{
	if (filter_pause != NULL)
		filter_pause();
}

#endif							/* FILTER_PAUSE_H */
