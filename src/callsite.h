/*
 * callsite.h
 *	  What one call in a query remembers from row to row; see callsite.c.
 */
#ifndef BLOOMFILTER_CALLSITE_H
#define BLOOMFILTER_CALLSITE_H

#include "stored.h"
#include "utils/array.h"

typedef struct CallSite
{
	ElementHasher *hasher;
	Oid			element_type;	/* of arrays: of their elements */
	int16		element_length; /* likewise */
	bool		element_byval;
	char		element_align;
	StoredUser	user;
} CallSite;

extern Oid	call_site_element_type(FmgrInfo *flinfo, int element_arg,
								   bool is_array);
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

extern uint64 *call_site_hash_array(CallSite *site, ArrayType *array,
									const uint8 *image, ElementClass *class,
									uint64 *count);

#endif							/* BLOOMFILTER_CALLSITE_H */
