/*
 * join_filter_probe.h
 *	  Looks rows up in the filter of a join's keys; see join_filter_probe.c.
 */
#ifndef BLOOMFILTER_JOIN_FILTER_PROBE_H
#define BLOOMFILTER_JOIN_FILTER_PROBE_H

#include "scan/probe.h"

/*
 * A probe of a join's keys, with the columns or expressions of a row that are its key.  A node
 * that collects keys reads them by one, too.
 */
typedef struct KeyProbe
{
	Probe		probe;
	KeyProbePlan plan;
	KeySource  *source;			/* keys of the join; NULL: "copy" is probed */
	const KeyFilter *copy;		/* in a worker: copy of the leader's filter;
								 * both NULL: all rows pass */
	int			columns;
	AttrNumber	attributes[KEY_COLUMNS_MAX];
	ExprState  *expressions[KEY_COLUMNS_MAX];	/* NULL: the attribute */
	FmgrInfo	functions[KEY_COLUMNS_MAX]; /* KEY_HASH only */
	Oid			collations[KEY_COLUMNS_MAX];
	ProbeSwitch pays;
} KeyProbe;

extern KeyProbe *key_probe_begin(const ProbePlan *plan, PlanState *node);
extern bool key_probe_key(KeyProbe *probe, TupleTableSlot *slot,
						  ExprContext *econtext, uint64 *key);
extern const KeyFilter *key_probe_filter(KeyProbe *probe);
extern char *key_probe_text(const ProbePlan *plan, List *context);
extern void key_probes_sort(List *probes, int first);
extern void key_probes_explain(uint64 pauses, double probed, double removed,
							   double skipped, ExplainState *es);

/* The node */
extern const NodeKind join_filter_probe_node;
extern List *key_probes_of(PlanState *node);

#endif							/* BLOOMFILTER_JOIN_FILTER_PROBE_H */
