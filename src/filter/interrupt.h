/*
 * interrupt.h
 *	  Interrupt checks in long-running operations, so that the server can
 *	  cancel a query.
 *
 * A check need not return.  So whoever calls filter_check_interrupts() leaves a
 * valid image behind, with no element lost, or one that nobody else knows.
 */
#ifndef FILTER_INTERRUPT_H
#define FILTER_INTERRUPT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Bytes that a pass over bits, or over hashes in order, takes between two
 * checks: a millisecond even on a slow machine, and whole words and blocks
 */
#define INTERRUPT_BYTES		((uint64_t) 1 << 20)

/* Called at each check, unless it is NULL */
extern void (*filter_interrupt_check) (void);

static inline void
filter_check_interrupts(void)
{
	if (filter_interrupt_check != NULL)
		filter_interrupt_check();
}

#endif							/* FILTER_INTERRUPT_H */
