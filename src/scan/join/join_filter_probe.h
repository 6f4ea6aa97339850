/*
 * join_filter_probe.h
 *	  Looking up rows in the filter of a join's keys; see join_filter_probe.c.
 */
#ifndef BLOOMFILTER_JOIN_FILTER_PROBE_H
#define BLOOMFILTER_JOIN_FILTER_PROBE_H

#include "join_filter_build.h"
#include "scan/probe_switch.h"

#include "commands/explain.h"
#include "fmgr.h"

/* What the plan says of a probe, besides the key's columns */
typedef struct KeyProbePlan
{
	int			number;			/* of the join filter in the plan */
	KeyKind		kind;
	KeyInteger	integer;		/* of KEY_INTEGER: the column's */
	bool		forced;			/* it never pauses */
	double		share;			/* of the rows that are expected to pass */
	List	   *functions;		/* of KEY_HASH: the OIDs of hash functions */
	List	   *collations;		/* for these */
} KeyProbePlan;

/* A join's keys, and the columns of a row that are looked up in them */
typedef struct KeyProbe
{
	KeyProbePlan plan;
	KeySource  *source;			/* NULL: not linked, all rows pass, unless: */
	const KeyFilter *copy;		/* in a worker: the copy of the leader's
								 * filter */
	int			columns;
	AttrNumber	attributes[KEY_COLUMNS_MAX];
	ExprState  *expressions[KEY_COLUMNS_MAX];	/* NULL: the attribute */
	FmgrInfo	functions[KEY_COLUMNS_MAX]; /* of KEY_HASH */
	Oid			collations[KEY_COLUMNS_MAX];
	ProbeSwitch pays;
} KeyProbe;

extern List *key_probe_write(const KeyProbePlan *plan);
extern KeyProbePlan key_probe_read(List *fields);
extern void key_probe_add(CustomScan *scan, List *keys, List *fields);
extern List *key_probe_fields(const CustomScan *scan);
extern KeyProbe *key_probe_begin(List *keys, List *fields, PlanState *node);
extern const KeyFilter *key_probe_filter(KeyProbe *probe);
extern const KeyFilter *key_probe_open(KeyProbe *probe, int rows);
extern bool key_probe_key(KeyProbe *probe, const Datum *values,
						  const bool *nulls, uint64 *key);
extern void key_probes_sort(List *probes);
extern char *key_probe_text(List *keys, List *fields, List *context,
							bool prefix);
extern uint64 key_probes_pauses(List *probes);
extern void key_probes_explain(uint64 pauses, double probed, double removed,
							   double skipped, ExplainState *es);

/* The node */
extern const CustomScanMethods join_filter_probe_methods;
extern List *key_probes_of(PlanState *node);

#endif							/* BLOOMFILTER_JOIN_FILTER_PROBE_H */
