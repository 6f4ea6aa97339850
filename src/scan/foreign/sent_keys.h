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

/* No parameter of the plan is the filter: it is not sent. */
#define SENT_NOWHERE		(-1)

/* Setting: are keys sent at all? */
extern bool foreign_filter;

typedef struct SentKeys
{
	EState	   *estate;
	int			parameter;		/* that statements of foreign scans have */
	ElementHasher *hasher;
	MemoryContext mcxt;			/* of the hashes */
	PlanState  *outer;			/* the join's outer side, with these: */
	List	   *scans;			/* of ForeignScanState */
	bool		asked;			/* whether their servers can probe the filter */
	List	   *able;			/* those of the scans whose servers can: it is
								 * sent with these */
	List	   *unable;
	uint64	   *hashes;			/* of the keys */
	uint64		count;
	uint64		room;
	uint64		room_max;
	bool		too_many;		/* keys: nothing is sent */
	/* for EXPLAIN */
	uint64		elements;
	Size		bytes;
} SentKeys;

extern SentKeys *sent_keys_begin(EState *estate, int parameter, Oid type);
extern void sent_keys_link(SentKeys *sent, PlanState *outer, List **answers);
extern void sent_keys_forget(SentKeys *sent);
extern void sent_keys_add(SentKeys *sent, Datum key);
extern void sent_keys_finish(SentKeys *sent);
extern void sent_keys_explain_servers(const SentKeys *sent, ExplainState *es);
extern void sent_keys_explain(const SentKeys *sent, ExplainState *es);

#endif							/* BLOOMFILTER_SENT_KEYS_H */
