/*
 * report.h
 *	  Checks of arguments and of filters; see report.c.
 */
#ifndef BLOOMFILTER_REPORT_H
#define BLOOMFILTER_REPORT_H

#include "postgres.h"

#include "element/element.h"
#include "filter/filter.h"

/* Default growth of filters */
#define GROWTH_DEFAULT			2

/* Limits of bloomfilter.max_filter_size, in kB.  The maximum is that of the format. */
#define MAX_FILTER_SIZE_MIN		1
#define MAX_FILTER_SIZE_MAX		((int) (IMAGE_MAX_BITS / 8 / 1024))

#define HINT_ERROR_RATE \
	errhint("An error rate of one percent is 0.01.")

/* The text of a hint for whoever passes an array instead of an element */
#define HINT_OF_ARRAY \
	"For the elements of an array, use a function whose name ends in _any, _all or _each (to add, _all)."

extern int	max_filter_size;

extern void check_capacity(int64 capacity);
extern void check_error_rate(double error_rate);
extern void check_number(const char *name, int64 number, int64 least, int64 most);
extern const char *case_hint(Oid type);
extern const char *class_hint(ElementClass held, ElementClass element, Oid type,
							  const char *otherwise);
extern const char *layout_of(const uint8 *image);
extern void report_other_class(ElementClass class, ElementClass element,
							   Oid type) __attribute__((noreturn));
extern void check_compatible(const uint8 *a, const uint8 *b);
extern void check_status(FilterStatus status, const uint8 *image);
extern bool exceeds_max_size(uint64 bytes);
extern void check_size(uint64 bytes);
extern void check_plan(FilterStatus status, const FilterPlan *plan, const uint8 *image);
extern void check_union_plan(FilterStatus status, const FilterPlan *plan,
							 const uint8 *a, const uint8 *b);

/*
 * Raise ERRCODE_DATATYPE_MISMATCH unless the element that was hashed last is of the
 * filter's class "class", or the filter has no class yet.
 */
static inline void
check_class(ElementClass class, const ElementHasher *hasher)
{
	if (unlikely(class != hasher->class) && class != ELEMENT_CLASS_NONE)
		report_other_class(class, hasher->class, hasher->type);
}

#endif							/* BLOOMFILTER_REPORT_H */
