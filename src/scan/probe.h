/*
 * probe.h
 *	  Probing a filter with the rows of a page; see probe.c.
 */
#ifndef BLOOMFILTER_PROBE_H
#define BLOOMFILTER_PROBE_H

#include "functions/lookup.h"
#include "heap_page.h"
#include "index/membership.h"
#include "join_filter_probe.h"

#include "nodes/execnodes.h"
#include "nodes/pathnodes.h"

/* What is probed */
typedef enum ProbeKind
{
	PROBE_FILTER,				/* a bloom or a cuckoo, by a condition */
	PROBE_INDEX,				/* a membership index, by a condition */
	PROBE_JOIN,					/* a membership index, for a join */
	PROBE_KEYS					/* the keys of a hash join */
} ProbeKind;

/* A filter or an index, and the column of a scan that is looked up in it */
typedef struct Probe
{
	ProbeKind	kind;
	AttrNumber	attribute;		/* the column that is the element, or 0: */
	ExprState  *element;		/* the expression that is */
	ExprState  *filter;			/* filter or index; not of PROBE_JOIN */
	ExprState  *recheck;		/* for one row; not of PROBE_JOIN */
	MemoryContext mcxt;			/* of "value" */
	bool		ready;			/* "value" is this scan's */
	bool		settled;		/* probes of further rows raise no error */
	bool		isnull;			/* NULL: no row passes */
	Datum		value;			/* flat filter, or pointer to one; index's OID */
	Size		bytes;			/* the filter's size */
	FmgrInfo	function;		/* not of PROBE_JOIN; never called */
	int			element_arg;	/* of the function */
	Oid			collation;		/* of its call */
	/* how elements are hashed; NULL before the first */
	CallSite   *site;			/* of PROBE_FILTER */
	MembershipSite *index_site; /* of the kinds with an index */
	KeyProbe   *keys;			/* of PROBE_KEYS, which has only this */
} Probe;

extern bool probe_matches(Node *clause, Node **filter, Node **element);
extern Probe *probe_begin(Node *expression, List *fields, PlanState *parent);
extern void probe_rescan(Probe *probe);
extern int	probe_page(Probe *probe, TableScanDesc scan, ExprContext *econtext,
					   TupleTableSlot *slot, int *rows, int count,
					   bool *probed);
extern bool probe_recheck(Probe *probe, ExprContext *econtext);
extern Size probe_bytes(const Probe *probe);

#endif							/* BLOOMFILTER_PROBE_H */
