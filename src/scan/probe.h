/*
 * probe.h
 *	  Probing a filter with the rows of a page; see probe.c.
 */
#ifndef BLOOMFILTER_PROBE_H
#define BLOOMFILTER_PROBE_H

#include "callsite.h"
#include "heap_page.h"

#include "nodes/execnodes.h"
#include "nodes/pathnodes.h"

/* A filter of one scan, and what its elements are */
typedef struct Probe
{
	Expr	   *clause;			/* the condition */
	AttrNumber	attribute;		/* the column that is the element, or 0: */
	ExprState  *element;		/* the expression that is */
	ExprState  *filter;			/* an expression without columns of the scan */
	ExprState  *recheck;		/* the condition, for one row */
	FmgrInfo	function;		/* of the condition, never called */
	CallSite   *site;			/* how elements are hashed */
	MemoryContext mcxt;			/* of "value" */
	bool		ready;			/* "value" is this scan's */
	bool		isnull;			/* NULL: no row passes */
	Datum		value;			/* the filter: flat, or a pointer to where it is stored */
	Size		bytes;			/* its size */
} Probe;

extern bool probe_matches(Node *clause, Node **filter, Node **element);
extern Probe *probe_begin(Expr *clause, PlanState *parent);
extern void probe_rescan(Probe *probe);
extern int	probe_page(Probe *probe, TableScanDesc scan, ExprContext *econtext,
					   TupleTableSlot *slot, int *rows, int count);

#endif							/* BLOOMFILTER_PROBE_H */
