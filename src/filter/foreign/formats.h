/*
 * formats.h
 *	  The table of formats, the forms of their elements, and both as an element
 *	  class; see formats.c.
 */
#ifndef FILTER_FOREIGN_FORMATS_H
#define FILTER_FOREIGN_FORMATS_H

#include "format.h"

/* Maximum precision of a numeric: what fits in 16 bytes, as everywhere else */
#define FOREIGN_MAX_PRECISION	38

/*
 * Format and form of a filter.  Its element class holds them: '@', the codes of
 * both and, of a numeric, two digits of the precision and two of the scale.
 */
typedef struct ForeignType
{
	const ForeignFormat *format;
	ForeignForm form;
	int			precision;		/* of a numeric, from 1; else 0 */
	int			scale;			/* from 0 to the precision */
} ForeignType;

#define FOREIGN_CLASS		'@'

typedef struct ForeignFormEntry
{
	const char *name;
	char		code;
} ForeignFormEntry;

/* By ForeignForm */
extern const ForeignFormEntry foreign_forms[FOREIGN_FORMS];

extern const ForeignFormat *const foreign_formats[];
extern const int foreign_format_count;

extern uint64_t foreign_class(const ForeignType *type);

/* False if that is not the class of a foreign filter */
extern bool foreign_type(uint64_t class, ForeignType *type);

/* Of an image; bytes that were damaged on disk give some format, too */
extern const ForeignFormat *foreign_image_format(const uint8_t *image);

#endif							/* FILTER_FOREIGN_FORMATS_H */
