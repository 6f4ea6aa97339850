/*
 * interrupt.c
 *	  The function that the server sets for interrupt checks; see interrupt.h.
 */
#include "interrupt.h"

void		(*filter_interrupt_check) (void) = NULL;
