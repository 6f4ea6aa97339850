/*
 * sent_keys.h
 *	  The keys of a join in a filter for foreign servers; see sent_keys.c.
 */
#ifndef BLOOMFILTER_SENT_KEYS_H
#define BLOOMFILTER_SENT_KEYS_H

#include "element/element.h"

#include "commands/explain.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_state.h"
#endif
#include "nodes/execnodes.h"

/* The plan of a filter that is sent: a list of these numbers */
typedef enum SentPlanField
{
	SENT_PARAMETER,				/* the parameter that has the filter; those
								 * behind it have the least key, the greatest,
								 * and an array of all if they are few */
	SENT_TYPE,					/* by which the keys are hashed */
	SENT_SCANS					/* from here on, SentScanFields of each scan */
} SentPlanField;

typedef enum SentScanField
{
	SENT_NODE,					/* its plan_node_id */
	SENT_KEY,					/* the column of its statement that has the
								 * key */
	SENT_DECLARED,				/* that column's type here */
	SENT_MODIFIER,				/* and its modifier */
	SENT_SCAN_FIELDS			/* the number of these fields */
} SentScanField;

/* Setting: are keys sent at all? */
extern bool foreign_filter;

/* So many keys at most travel as they are: for each, the other server may search an index. */
#define SENT_FEW_MAX			100

typedef struct SentKeys
{
	EState	   *estate;
	List	   *plan;			/* see SentPlanField */
	ElementHasher *hasher;
	MemoryContext mcxt;			/* of the hashes */
	PlanState  *outer;			/* the join's outer side, with these: */
	List	   *scans;			/* of ForeignScanState */
	List	   *able;			/* those whose servers can probe the filter:
								 * it is sent with these */
	List	   *unable;
	uint64	   *hashes;			/* of the keys */
	uint64		count;
	uint64		room;
	uint64		room_max;
	int64		least;			/* see sent_number() */
	int64		greatest;
	int64		few[SENT_FEW_MAX];	/* distinct ones */
	int			few_count;		/* SENT_FEW_MAX + 1: there are more */
	bool		too_many;		/* keys: nothing is sent */
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
