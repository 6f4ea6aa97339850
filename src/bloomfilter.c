/*
 * bloomfilter.c
 *	  The library: what happens when the server loads it.
 */
#include "value.h"

#include "filter/block512.h"
#include "membership.h"
#include "miscadmin.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

static void
look_for_interrupts(void)
{
	CHECK_FOR_INTERRUPTS();
}

void
_PG_init(void)
{
	filter_pause = look_for_interrupts;
	block_kernel_choose();
	membership_init();
}
