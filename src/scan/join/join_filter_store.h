/*
 * join_filter_store.h
 *	  Keys of rows that are stored before the other side of their join is read; see
 *	  join_filter_store.c.
 */
#ifndef BLOOMFILTER_JOIN_FILTER_STORE_H
#define BLOOMFILTER_JOIN_FILTER_STORE_H

#include "join_filter_probe.h"
#include "scan/foreign/sent_keys.h"

/* Collects the keys of the rows that a node stores */
typedef struct StoredKeys
{
	KeyReader	reader;			/* reads the key of a row */
	int			block_column;	/* number of the column whose values are kept */
	int			rows_max;		/* give up if there are more rows */
	ExprContext *econtext;		/* for that */
	KeySource	source;			/* its filter: NULL until all rows are stored */
	KeyCollector collector;
	SentKeys   *sent;			/* keys for foreign servers, or NULL */
	bool		linked;			/* not in EvalPlanQual's plan: collect nothing */
} StoredKeys;

extern StoredKeys *stored_keys_begin(PlanState *node);
extern void stored_keys_link(StoredKeys *keys, PlanState *other, List **answers);
extern void stored_keys_add(StoredKeys *keys, TupleTableSlot *slot);
extern void stored_keys_finish(StoredKeys *keys, NodeInstrumentation *instrument);
extern void stored_keys_forget(StoredKeys *keys);
extern void stored_keys_explain(const StoredKeys *keys, PlanState *node, List *ancestors,
								ExplainState *es);

/* The node */
extern const NodeKind join_filter_store_node;
extern StoredKeys *stored_keys_of(PlanState *node);

#endif							/* BLOOMFILTER_JOIN_FILTER_STORE_H */
