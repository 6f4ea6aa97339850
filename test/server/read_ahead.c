/*
 * read_ahead.c
 *	  Makes the inner side of hash joins be read before it is hashed, for tests.
 *
 * A later PostgreSQL may hash several rows at a time.  In a session that loads this, a Hash node
 * gets no row of a Join Filter Build before that node has returned all of them, so that no row
 * is hashed when the node expects it.
 *
 * test/t/091_hash_timing.pl compiles this.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "fmgr.h"
#include "nodes/extensible.h"
#include "nodes/nodeFuncs.h"
#include "utils/tuplestore.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

#define NODE_NAME	"Join Filter Build"

/* Memory for the rows of a node, in kB */
#define ROWS_KB		4096

/* The rows of a Join Filter Build, from the first call on */
typedef struct Ahead
{
	PlanState  *node;
	Tuplestorestate *rows;
	TupleTableSlot *slot;		/* as the node returns them */
	TupleTableSlot *minimal;
}			Ahead;

static ExecutorStart_hook_type previous_start = NULL;
static List *nodes = NIL;

static Ahead *
ahead_of(PlanState *node)
{
	ListCell   *cell;

	foreach(cell, nodes)
	{
		Ahead	   *ahead = lfirst(cell);

		if (ahead->node == node)
			return ahead;
	}
	elog(ERROR, "unknown node");
}

static TupleTableSlot *
read_ahead(PlanState *node)
{
	Ahead	   *ahead = ahead_of(node);

	if (ahead->rows == NULL)
	{
		ahead->rows = tuplestore_begin_heap(false, false, ROWS_KB);
		for (;;)
		{
			TupleTableSlot *slot = node->ExecProcNodeReal(node);

			if (TupIsNull(slot))
				break;
			tuplestore_puttupleslot(ahead->rows, slot);
		}
	}
	if (!tuplestore_gettupleslot(ahead->rows, true, false, ahead->minimal))
		return NULL;
	ExecForceStoreMinimalTuple(ExecCopySlotMinimalTuple(ahead->minimal), ahead->slot, true);
	return ahead->slot;
}

static bool
change_nodes(PlanState *node, void *context)
{
	if (IsA(node, CustomScanState) &&
		strcmp(((CustomScanState *) node)->methods->CustomName, NODE_NAME) == 0)
	{
		Ahead	   *ahead = palloc0(sizeof(Ahead));
		TupleDesc	row = ExecGetResultType(node);

		ahead->node = node;
		ahead->slot = ExecInitExtraTupleSlot(node->state, row,
											 ExecGetResultSlotOps(node, NULL));
		ahead->minimal = ExecInitExtraTupleSlot(node->state, row, &TTSOpsMinimalTuple);
		node->ExecProcNode = read_ahead;
		nodes = lappend(nodes, ahead);
	}
	return planstate_tree_walker(node, change_nodes, context);
}

/* An ExecutorStart_hook */
static void
start_plan(QueryDesc *query, int flags)
{
	MemoryContext old;

	if (previous_start)
		previous_start(query, flags);
	else
		standard_ExecutorStart(query, flags);
	old = MemoryContextSwitchTo(query->estate->es_query_cxt);
	nodes = NIL;
	change_nodes(query->planstate, NULL);
	MemoryContextSwitchTo(old);
}

void
_PG_init(void)
{
	previous_start = ExecutorStart_hook;
	ExecutorStart_hook = start_plan;
}
