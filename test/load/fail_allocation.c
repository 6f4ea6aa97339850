/*
 * fail_allocation.c
 *	  Makes one allocation of memory fail: by malloc(), as the server is started with this
 *	  library in LD_PRELOAD, or in a memory context that keeps what is loaded.
 *
 * Programs beside the server have it, too, so it names no variable of the server's but weakly.
 */
#include "postgres.h"

#include <dlfcn.h>

#include "fmgr.h"
#include "nodes/memnodes.h"
#include "utils/memutils.h"
#if PG_VERSION_NUM >= 170000
#include "utils/memutils_internal.h"
#endif

PG_MODULE_MAGIC;

#pragma weak TopMemoryContext

extern PGDLLEXPORT Datum fail_after(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(fail_after);

/* Allocations that succeed before the one that fails; below 0: all succeed */
static int	left = -1;

static const MemoryContextMethods *methods;
static MemoryContextMethods failing;

static bool
fails(void)
{
	return left >= 0 && left-- == 0;
}

void *
malloc(size_t size)
{
	static void *(*next) (size_t);

	if (next == NULL)
		next = (void *(*) (size_t)) dlsym(RTLD_NEXT, "malloc");
	return fails() ? NULL : next(size);
}

#if PG_VERSION_NUM >= 170000
static void *
allocate(MemoryContext context, Size size, int flags)
{
	return fails() ? MemoryContextAllocationFailure(context, size, flags) :
		methods->alloc(context, size, flags);
}
#else
static void *
allocate(MemoryContext context, Size size)
{
	return fails() ? NULL : methods->alloc(context, size);
}
#endif

static void
watch(MemoryContext context)
{
	if (context->methods == &failing)
		return;
	methods = context->methods;
	failing = *methods;
	failing.alloc = allocate;
	context->methods = &failing;
}

/* Set after how many allocations one fails; return what was left. */
Datum
fail_after(PG_FUNCTION_ARGS)
{
	int			was = left;

	watch(TopMemoryContext);
	for (MemoryContext child = TopMemoryContext->firstchild; child; child = child->nextchild)
		if (strcmp(child->name, "GUCMemoryContext") == 0)
			watch(child);
	left = PG_GETARG_INT32(0);
	PG_RETURN_INT32(was);
}
