/*
 * bloomfilter.c
 *	  What the library does when the server loads it.
 */
#include "events.h"

#include "filter/block512.h"
#include "index/membership.h"
#include "miscadmin.h"
#include "once.h"
#include "scan/planner_hooks.h"
#include "server.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

/*
 * Environment variable of the server that names the kernel of filter/block512.c
 * to use.  For tests: all kernels give the same results.
 */
#define KERNEL_VARIABLE		"BLOOMFILTER_KERNEL"

/* Choose the kernel, with an error if the variable names one that this processor lacks. */
static void
choose_kernel(void)
{
	const char *name = getenv(KERNEL_VARIABLE);
	StringInfoData names;

	if (block_kernel_choose(name))
		return;
	initStringInfo(&names);
	for (int i = 0; i < block_kernel_count; i++)
		if (block_kernels[i].supported())
			appendStringInfo(&names, names.len > 0 ? ", %s" : "%s", block_kernels[i].name);
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("kernel \"%s\" of the extension bloomfilter is not supported by this CPU",
					name),
			 errhint("Start the server without the environment variable %s, or with one of: %s.",
					 KERNEL_VARIABLE, names.data)));
}

static void
check_for_interrupts(void)
{
	CHECK_FOR_INTERRUPTS();
}

/* Called again after an error: see once.h. */
void
_PG_init(void)
{
	filter_interrupt_check = check_for_interrupts;
	choose_kernel();
	server_init();
	cache_init();
	ONCE(membership_changes_init());
	events_init();
	/* before planner_hooks_init(), which reserves the prefix */
	DEFINE_ONCE(DefineCustomIntVariable, "bloomfilter.max_filter_size",
				"Sets the maximum size of filters.",
				"Applies when a filter is created, grown, combined, or input.",
				&max_filter_size, MAX_FILTER_SIZE_MAX,
				MAX_FILTER_SIZE_MIN, MAX_FILTER_SIZE_MAX,
				PGC_SUSET, GUC_UNIT_KB, NULL, NULL, NULL);
	planner_hooks_init();
}
