/*
 * bloomfilter.c
 *	  The library: what happens when the server loads it.
 */
#include "value.h"

#include "filter/block512.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

void
_PG_init(void)
{
	block_kernel_choose();
}
