/*
 * interrupt.h
 *	  Interrupt checks in long-running operations, so that the server can
 *	  cancel a query.
 *
 * A check need not return.  So at each call of filter_check_interrupts() the
 * image must be valid, with no element lost, or not yet visible to anyone
 * else.
 */
#ifndef FILTER_INTERRUPT_H
#define FILTER_INTERRUPT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Bytes that a pass processes between two checks: a millisecond even on a slow machine,
 * and a whole number of words and blocks
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
