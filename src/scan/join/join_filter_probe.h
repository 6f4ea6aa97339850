/*
 * join_filter_probe.h
 *	  Looks rows up in the filter of a join's keys; see join_filter_probe.c.
 */
#ifndef BLOOMFILTER_JOIN_FILTER_PROBE_H
#define BLOOMFILTER_JOIN_FILTER_PROBE_H

#include "scan/probe.h"

/* A probe of a join's keys */
typedef struct KeyProbe
{
	Probe		probe;
	KeyProbePlan plan;
	KeySource  *source;			/* keys of the join; NULL: "copy" is probed */
	const KeyFilter *copy;		/* in a worker: copy of the leader's filter;
								 * both NULL: all rows pass */
	KeyReader	reader;			/* reads the key of a row */
	ProbeSwitch pays;
} KeyProbe;

extern const KeyFilter *key_probe_filter(KeyProbe *probe);
extern char *key_probe_text(const ProbePlan *plan, List *context);
extern void key_probes_sort(List *probes, int first);
extern void key_probes_explain(uint64 pauses, double probed, double removed,
							   double skipped, ExplainState *es);

/* The node */
extern const NodeKind join_filter_probe_node;
extern List *key_probes_of(PlanState *node);

#endif							/* BLOOMFILTER_JOIN_FILTER_PROBE_H */
