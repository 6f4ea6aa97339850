/*
 * node.h
 *	  What our nodes have in common.
 */
#ifndef BLOOMFILTER_NODE_H
#define BLOOMFILTER_NODE_H

#include "postgres.h"

#include "commands/explain.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#endif
#include "executor/instrument.h"
#include "nodes/extensible.h"
#include "nodes/pg_list.h"

#if PG_VERSION_NUM < 190000
/* the counts of a node, under the name that the type has from 19 on */
typedef Instrumentation NodeInstrumentation;
#endif

/* A kind of our nodes */
typedef struct NodeKind
{
	CustomScanMethods plan;		/* its name, and node_create_state() */
	Size		state_bytes;	/* of a state, which begins with that of a
								 * custom scan */
	const TupleTableSlotOps *slots; /* of the rows that it scans; NULL:
									 * virtual */
	CustomExecMethods exec;
} NodeKind;

/* The method of their plans */
static inline Node *
node_create_state(CustomScan *plan)
{
	const NodeKind *kind = (const NodeKind *) plan->methods;
	CustomScanState *state = (CustomScanState *)
		newNode(kind->state_bytes, T_CustomScanState);

	state->methods = &kind->exec;
#if PG_VERSION_NUM >= 160000
	state->slotOps = kind->slots;
#endif
	return (Node *) state;
}

/*
 * Return the fields of a plan.  Raises an error if there are not this many: when a newer
 * library is installed, a session keeps the one that it has loaded, but its parallel
 * workers load the newer one, and get the session's plans.
 */
static inline List *
plan_fields(List *fields, int count)
{
	if (unlikely(list_length(fields) != count))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("plan was made by another version of bloomfilter"),
				 errhint("Connect to the server again.")));
	return fields;
}

#endif							/* BLOOMFILTER_NODE_H */
