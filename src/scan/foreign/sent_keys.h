/*
 * sent_keys.h
 *	  Collects the keys of a join in a filter for foreign servers; see sent_keys.c.
 */
#ifndef BLOOMFILTER_SENT_KEYS_H
#define BLOOMFILTER_SENT_KEYS_H

#include "element/element.h"
#include "scan/node.h"

#include "nodes/execnodes.h"

/* Plan of a filter for foreign servers: a list of these numbers */
typedef enum SentPlanField
{
	SENT_PARAMETER,				/* parameter with the filter; the next ones
								 * have the least key, the greatest, and an
								 * array of all keys if they are few */
	SENT_TYPE,					/* type to hash the keys as */
	SENT_SCANS					/* SentScanFields of each scan follow */
} SentPlanField;

typedef enum SentScanField
{
	SENT_NODE,					/* its plan_node_id */
	SENT_KEY,					/* column of its statement with the key */
	SENT_DECLARED,				/* the column's type in this database */
	SENT_MODIFIER,				/* the column's type modifier */
	SENT_SCAN_FIELDS			/* the number of these fields */
} SentScanField;

/* Send up to this many numbers as an array, with which the server may search an index. */
#define SENT_FEW_MAX			100

typedef struct SentKeys
{
	EState	   *estate;
	List	   *plan;			/* see SentPlanField */
	ElementHasher *hasher;
	MemoryContext mcxt;			/* context of "hashes" */
	PlanState  *outer;			/* the join's outer side */
	List	   *scans;			/* its ForeignScanStates with the parameter */
	List	   *able;			/* scans that send the filter */
	List	   *unable;			/* scans whose servers cannot probe it */
	uint64	   *hashes;			/* hashes of the keys */
	uint64		count;
	uint64		room;
	uint64		room_max;
	int64		least;			/* least key as a number, see sent_number() */
	int64		greatest;
	int64		few[SENT_FEW_MAX];	/* distinct keys */
	int			few_count;		/* SENT_FEW_MAX + 1: too many for "few" */
	bool		too_many;		/* nothing is sent */
	/* for EXPLAIN */
	uint64		elements;
	Size		bytes;
} SentKeys;

extern SentKeys *sent_keys_begin(EState *estate, List *plan);
extern void sent_keys_link(SentKeys *sent, PlanState *outer, List **answers);
extern void sent_keys_forget(SentKeys *sent);
extern void sent_keys_add(SentKeys *sent, Datum key);
extern void sent_keys_finish(SentKeys *sent);
extern void sent_keys_explain_servers(const SentKeys *sent, ExplainState *es);
extern void sent_keys_explain(const SentKeys *sent, ExplainState *es);

#endif							/* BLOOMFILTER_SENT_KEYS_H */
