/*
 * once.h
 *	  Parts of loading the library that a repetition must leave out.
 *
 * If _PG_init() raises an error, as when memory runs out, the library stays in memory, and the
 * next statement that needs it calls _PG_init() again.
 */
#ifndef BLOOMFILTER_ONCE_H
#define BLOOMFILTER_ONCE_H

#include "postgres.h"

#include "utils/guc.h"

/* Do something that either raises an error or has been done; never do it again then. */
#define ONCE(statement) \
	do { \
		static bool done = false; \
		\
		if (!done) \
			statement; \
		done = true; \
	} while (0)

/* Define a setting.  An error may come after it was defined, from the value that it then gets. */
#define DEFINE_ONCE(define, name, ...) \
	do { \
		static bool begun = false; \
		\
		if (!begun || !setting_exists(name)) \
		{ \
			begun = !setting_exists(name); \
			define(name, __VA_ARGS__); \
		} \
	} while (0)

/* Is there a setting of this name?  All of ours have flags. */
static inline bool
setting_exists(const char *name)
{
	int			flags = GetConfigOptionFlags(name, true);

	return flags != 0 && (flags & GUC_CUSTOM_PLACEHOLDER) == 0;
}

#endif							/* BLOOMFILTER_ONCE_H */
