/*
 * node.h
 *	  What our custom scan nodes have in common.
 */
#ifndef BLOOMFILTER_NODE_H
#define BLOOMFILTER_NODE_H

#include "postgres.h"

#include "commands/explain.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#endif
#include "executor/executor.h"
#include "executor/instrument.h"
#include "nodes/extensible.h"
#include "nodes/pg_list.h"

#if PG_VERSION_NUM < 190000
/* PostgreSQL 19 renames the type that holds a node's counters */
typedef Instrumentation NodeInstrumentation;
#endif

/* A kind of custom scan node that this extension defines */
typedef struct NodeKind
{
	CustomScanMethods plan;		/* the node's name, and node_create_state() */
	Size		state_bytes;	/* size of its state, which begins with a
								 * CustomScanState */
	const TupleTableSlotOps *slots; /* type of the scan tuple slot; NULL:
									 * virtual */
	CustomExecMethods exec;
} NodeKind;

/* CreateCustomScanState method of every kind */
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

/* Begin the child of a node that returns the child's slots, of whatever type. */
static inline void
node_begin_child(CustomScanState *node, EState *estate, int eflags)
{
	PlanState  *child = ExecInitNode(outerPlan(node->ss.ps.plan), estate, eflags);

	outerPlanState(node) = child;
	node->ss.ps.resultopsset = true;
	node->ss.ps.resultops = ExecGetResultSlotOps(child, &node->ss.ps.resultopsfixed);
}

/* EndCustomScan of such a node */
static inline void
node_end_child(CustomScanState *node)
{
	ExecEndNode(outerPlanState(node));
}

/* ReScanCustomScan of such a node */
static inline void
node_rescan_child(CustomScanState *node)
{
	/* if parameters have changed, the first ExecProcNode() rescans */
	if (outerPlanState(node)->chgParam == NULL)
		ExecReScan(outerPlanState(node));
}

/*
 * Return the fields of a plan's custom_private.  Raise an error if their number is not
 * "count": after a newer library has been installed, a session continues with the library
 * that it has loaded, but its parallel workers load the newer one and get the session's
 * plans.
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
