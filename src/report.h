/*
 * report.h
 *	  Checks, each an error that names the value and what is allowed; see
 *	  report.c.
 */
#ifndef BLOOMFILTER_REPORT_H
#define BLOOMFILTER_REPORT_H

#include "postgres.h"

#include "element.h"
#include "filter/filter.h"

/* How growing filters grow unless told otherwise */
#define GROWTH_DEFAULT			2

/* The name of a type, and what its functions' names begin with */
static inline const char *
kind_name(FilterKind kind)
{
	return kind == FILTER_CUCKOO ? "cuckoo" : "bloom";
}

extern void check_capacity(int64 capacity);
extern void check_error_rate(double error_rate, const char *hint);
extern void report_class(ElementClass class,
						 const ElementHasher *hasher) __attribute__((noreturn));
extern void check_alike(const uint8 *a, const uint8 *b);
extern void check_status(FilterStatus status, const uint8 *image);

/*
 * May the element that was hashed last be added to a filter with elements of
 * this class, or none, or looked up there?  An error if it is of another one.
 */
static inline void
check_class(ElementClass class, const ElementHasher *hasher)
{
	if (unlikely(class != hasher->class) && class != ELEMENT_CLASS_NONE)
		report_class(class, hasher);
}

#endif							/* BLOOMFILTER_REPORT_H */
