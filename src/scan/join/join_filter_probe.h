/*
 * join_filter_probe.h
 *	  Looking up rows in the filter of a join's keys; see join_filter_probe.c.
 */
#ifndef BLOOMFILTER_JOIN_FILTER_PROBE_H
#define BLOOMFILTER_JOIN_FILTER_PROBE_H

#include "scan/probe.h"

/* A join's keys, and the columns of a row that are looked up in them */
typedef struct KeyProbe
{
	Probe		probe;
	KeyProbePlan plan;
	KeySource  *source;			/* the join's; NULL: "copy" is probed */
	const KeyFilter *copy;		/* in a worker: a copy of the leader's filter;
								 * NULL, too: all rows pass */
	int			columns;
	AttrNumber	attributes[KEY_COLUMNS_MAX];
	ExprState  *expressions[KEY_COLUMNS_MAX];	/* NULL: the attribute */
	FmgrInfo	functions[KEY_COLUMNS_MAX]; /* of KEY_HASH */
	Oid			collations[KEY_COLUMNS_MAX];
	ProbeSwitch pays;
} KeyProbe;

extern const KeyFilter *key_probe_filter(KeyProbe *probe);
extern void key_probes_sort(List *probes, int first);
extern void key_probes_explain(uint64 pauses, double probed, double removed,
							   double skipped, ExplainState *es);

/* The node */
extern const NodeKind join_filter_probe_node;
extern List *key_probes_of(PlanState *node);

#endif							/* BLOOMFILTER_JOIN_FILTER_PROBE_H */
