/*
 * sent_filter.h
 *	  Probe a filter that another server has sent; see sent_filter.c.
 */
#ifndef BLOOMFILTER_SENT_FILTER_H
#define BLOOMFILTER_SENT_FILTER_H

#include "callsite.h"

#include "nodes/pathnodes.h"

/* The function called in statements of postgres_fdw, and the order of its arguments */
#define MAY_CONTAIN_NAME	"_bloom_may_contain"

enum
{
	MAY_CONTAIN_FILTER,
	MAY_CONTAIN_ELEMENT,
	MAY_CONTAIN_TYPE,
	MAY_CONTAIN_MODIFIER,
	MAY_CONTAIN_ENCODING,
	MAY_CONTAIN_LEAST,
	MAY_CONTAIN_GREATEST,
	MAY_CONTAIN_KEYS,
	MAY_CONTAIN_ARGUMENTS
};

extern PGDLLEXPORT Datum bloomfilter_may_contain(PG_FUNCTION_ARGS);

extern Oid	sent_family(Oid type);
extern CallSite *sent_call_site(FmgrInfo *flinfo);
extern bool sent_number(Oid type, Datum value, int64 *number);
extern Node *sent_simplify(PlannerInfo *root, FuncExpr *call);
extern bool sent_filter_fits(const CallSite *site, const uint8 *header);

#endif							/* BLOOMFILTER_SENT_FILTER_H */
