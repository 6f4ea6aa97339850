/*
 * callsite.h
 *	  What one call in a query remembers from row to row; see callsite.c.
 */
#ifndef BLOOMFILTER_CALLSITE_H
#define BLOOMFILTER_CALLSITE_H

#include "bloom.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* A stored filter that was read whole */
typedef struct KeptFilter
{
	MemoryContext mcxt;			/* of the image; NULL while there is none */
	struct varatt_external pointer; /* where it is stored */
	uint8	   *image;
} KeptFilter;

typedef struct CallSite
{
	ElementHasher *hasher;
	Oid			element_type;	/* of arrays: of their elements */
	int16		element_length; /* likewise */
	bool		element_byval;
	char		element_align;
	MemoryContext mcxt;
	KeptFilter	kept;
} CallSite;

extern CallSite *call_site_make(FmgrInfo *flinfo, int element_arg,
								bool is_array, Oid collation);

/*
 * The memory of this call.  element_arg is the argument that holds the element
 * (or, if is_array, an array of them), whose type decides how it is hashed.
 */
static inline CallSite *
call_site(FunctionCallInfo fcinfo, int element_arg, bool is_array)
{
	if (likely(fcinfo->flinfo->fn_extra != NULL))
		return (CallSite *) fcinfo->flinfo->fn_extra;
	return call_site_make(fcinfo->flinfo, element_arg, is_array,
						  PG_GET_COLLATION());
}

extern const uint8 *call_site_read_stored(CallSite *site, Datum filter);

/*
 * The image of a filter, to be read only.  A flat or expanded value is read
 * where it is; a stored one is read once and kept.
 */
static inline const uint8 *
call_site_read(CallSite *site, Datum filter)
{
	struct varlena *pointer = (struct varlena *) DatumGetPointer(filter);

	if (likely(VARATT_IS_4B_U(pointer)))
		return (const uint8 *) VARDATA(pointer);
	return call_site_read_stored(site, filter);
}

#endif							/* BLOOMFILTER_CALLSITE_H */
