/*
 * interrupt.c
 *	  What the server wants called at interrupt checks; see interrupt.h.
 */
#include "interrupt.h"

void		(*filter_interrupt_check) (void) = NULL;
