/*
 * partition_filter.c
 *	  The executor's side of the Partition Filter, which does the work of an Append, but
 *	  reads only partitions that may contain the value that is looked for.
 *
 * partition_plan.c replaces an Append whose children look up a value in an index.  The Append
 * remains in the plan below this node, as the list of the children and for core's run-time
 * pruning, but is not executed.  Before a partition is started or restarted, the value is
 * looked up in its membership index (index/ask.c).  A partition whose index says "no" has no
 * row that the scan would return.
 *
 * A child is initialized when it is first needed, because initialization is most of the cost
 * of a lookup in many partitions.  Until then its table is kept open, so that no command
 * called by the query itself can alter the table.  A late child is initialized with the user
 * and the resource owner of the query's start.  But its indexes are not open, so that they
 * can be dropped, or rebuilt in a subtransaction, while a cursor is open (check_index()).
 * All children are initialized at the start if EXPLAIN, or auto_explain with log_analyze, may
 * show them: those that are never started, too, as core does, and in a parallel query all
 * processes must have the same nodes.  So they are if EvalPlanQual is active, which replaces
 * the rows that a scan finds by rows for which no index was asked, so that all children are
 * also executed.
 *
 * WHERE CURRENT OF a portal finds the row of a scan below an Append, but not below a custom
 * scan.  For a query with FOR UPDATE it looks in the query's row marks instead.  So if the
 * query may be a portal's that WHERE CURRENT OF can name, this node fills such marks with
 * the current row of each partition; they lock nothing.
 *
 * The plan is never read backward: see partition_plan.c about cursors.
 */
#include "partition_filter.h"

#include "index/lookup.h"
#include "scan/filter_scan.h"
#include "scan/node.h"
#include "scan/plan_tree.h"

#include "access/xact.h"
#include "catalog/partition.h"
#include "executor/execPartition.h"
#include "miscadmin.h"
#include "tcop/pquery.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/resowner.h"
#include "utils/ruleutils.h"

/* Fields of Instrumentation that count partitions asked about, and partitions skipped */
#define partitions_asked		ntuples2
#define partitions_skipped		nfiltered2

/*
 * After YES_IN_A_ROW partitions that may contain the value, ask the index of only one
 * partition in ASKED_THEN, until one does not: asking costs up to a fourth of the scan's
 * lookup.  ASKED_THEN is a prime, so that rescans do not always ask the same partitions.
 */
#define YES_IN_A_ROW			8
#define ASKED_THEN				17

/* A child of the Append that remains after core's pruning at the start */
typedef struct Partition
{
	Plan	   *plan;
	PlanState  *state;			/* NULL: not initialized yet */
	uint64		scan;			/* the node's "scan" when this last started */
	Oid			index;			/* index to ask; InvalidOid: always read */
	Index		table;			/* range table index of its table, or 0 */
	Relation	asked;			/* the open index, or NULL */
	ExecRowMark *mark;			/* for WHERE CURRENT OF, or NULL */
} Partition;

typedef struct PartitionFilterState
{
	CustomScanState css;
	int			count;
	Partition  *partitions;
	PartitionPruneState *pruning;	/* core's run-time pruning, or NULL */
	bool		pruned;			/* "valid" is up to date */
	Bitmapset  *valid;			/* partitions that core would read */
	int			current;		/* partition that was considered last, or -1 */
	PlanState  *running;		/* its state, if it returns rows, or NULL */
	ExecRowMark *mark;			/* its mark, if it is running, or NULL */
	uint64		scan;			/* number of rescans */
	Bitmapset  *changed;		/* parameters that any rescan has changed */

	/* used to initialize children late */
	int			eflags;
	SubTransactionId start;		/* subtransaction that has started the query */
	Oid			user;
	int			security;
	ResourceOwner owner;

	bool		asks;			/* false: all partitions are read */
	PartitionLookup key;
	ExprState  *value;
	MembershipKeys *keys;		/* hashes of the value; NULL: no index yet */
	bool		keys_set;		/* "keys" are up to date */
	int			yes;			/* consecutive "yes", up to YES_IN_A_ROW */
	int			unasked;		/* partitions not asked since the last one */
} PartitionFilterState;

/* Write the key into the plan of a Partition Filter. */
void
partition_filter_set_key(CustomScan *scan, const PartitionLookup *key)
{
	scan->custom_exprs = list_make1(key->value);
	scan->custom_private = list_make5(list_make1_oid(key->type),
									  makeBoolean(key->is_array),
									  key->indexes, key->tables,
									  makeBoolean(key->is_updatable));
}

/* Let WHERE CURRENT OF find the rows of a Partition Filter. */
void
partition_filter_set_updatable(CustomScan *scan)
{
	boolVal(llast(scan->custom_private)) = true;
}

static Append *
append_of(const CustomScanState *node)
{
	return castNode(Append, outerPlan(node->ss.ps.plan));
}

/* ---- Start and end ---- */

/*
 * May ROLLBACK TO SAVEPOINT remove an index's file, but leave the query, a cursor, open?  So
 * it does if the file was made in a subtransaction that began after the query, or if an
 * inner rollback has let the relation cache forget where.
 */
static bool
file_may_vanish(const PartitionFilterState *state, Relation index)
{
#if PG_VERSION_NUM >= 160000
	SubTransactionId first = index->rd_firstRelfilelocatorSubid;
	SubTransactionId last = index->rd_newRelfilelocatorSubid;
#else
	SubTransactionId first = index->rd_firstRelfilenodeSubid;
	SubTransactionId last = index->rd_newRelfilenodeSubid;
#endif

	return first != InvalidSubTransactionId &&
		(last == InvalidSubTransactionId || Max(first, last) > state->start) &&
		GetCurrentSubTransactionId() > state->start;
}

/* Initialize a child, as the start of the query would have done. */
static void
init_partition(PartitionFilterState *state, Partition *partition)
{
	EState	   *estate = state->css.ss.ps.state;
	ResourceOwner owner = CurrentResourceOwner;
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
	Oid			user;
	int			security;

	/* on error, the end of the transaction resets both */
	GetUserIdAndSecContext(&user, &security);
	SetUserIdAndSecContext(state->user, state->security);
	CurrentResourceOwner = state->owner;
	partition->state = ExecInitNode(partition->plan, estate, state->eflags);
	state->css.custom_ps = lappend(state->css.custom_ps, partition->state);
	CurrentResourceOwner = owner;
	SetUserIdAndSecContext(user, security);
	MemoryContextSwitchTo(old);
}

/*
 * Correct core's list of partitions of a table that is not pruned itself, but has a
 * descendant that is.  Core lists the partitions as the planner has numbered them, but maps
 * them to children by their present numbers: if a partition was detached concurrently, core
 * reads beyond the end of the map; if one was attached, core misses the last partition.  So
 * list all present numbers; the map has -1 for those without a child.
 */
static void
renumber_partitions(PartitionPruneState *pruning)
{
	for (int i = 0; i < pruning->num_partprunedata; i++)
	{
		PartitionPruningData *hierarchy = pruning->partprunedata[i];

		for (int j = 0; j < hierarchy->num_partrelprunedata; j++)
		{
			PartitionedRelPruningData *table = &hierarchy->partrelprunedata[j];

			table->present_parts = bms_add_range(NULL, 0, table->nparts - 1);
		}
	}
}

/* Initialize core's pruning; return the numbers of the children that remain. */
static Bitmapset *
init_pruning(PartitionFilterState *state, Append *append)
{
	int			children = list_length(append->appendplans);
	Bitmapset  *left;

#if PG_VERSION_NUM >= 180000
	if (append->part_prune_index >= 0)
		state->pruning =
			ExecInitPartitionExecPruning(&state->css.ss.ps, children,
										 append->part_prune_index,
										 append->apprelids, &left);
#else
	if (append->part_prune_info != NULL)
		state->pruning = ExecInitPartitionPruning(&state->css.ss.ps, children,
												  append->part_prune_info, &left);
#endif
	else
		left = bms_add_range(NULL, 0, children - 1);
	if (state->pruning && state->pruning->do_exec_prune)
		renumber_partitions(state->pruning);
	return left;
}

/* ---- Rows for WHERE CURRENT OF ---- */

/* Return the range table index of the table whose rows a child returns; 0: of none */
static Index
scanned_table(Plan *plan)
{
	while (IsA(plan, SubqueryScan) ||
		   ((IsA(plan, Result) || IsA(plan, Limit)) && outerPlan(plan)))
		plan = IsA(plan, SubqueryScan) ? ((SubqueryScan *) plan)->subplan : outerPlan(plan);
	return IsA(plan, SeqScan) || IsA(plan, IndexScan) || IsA(plan, IndexOnlyScan) ||
		IsA(plan, BitmapHeapScan) || is_custom(plan, &filter_scan_node) ?
		((Scan *) plan)->scanrelid : 0;
}

/* Return the place of the current row of a child that has a scanned_table(). */
static ItemPointerData
current_row(PlanState *state)
{
	while (IsA(state, SubqueryScanState) || IsA(state, ResultState) || IsA(state, LimitState))
		state = IsA(state, SubqueryScanState) ? ((SubqueryScanState *) state)->subplan :
			outerPlanState(state);
	return IsA(state, IndexOnlyScanState) ?
		((IndexOnlyScanState *) state)->ioss_ScanDesc->xs_heaptid :
		((ScanState *) state)->ss_ScanTupleSlot->tts_tid;
}

/*
 * Make the row marks, if this is the query of a portal that has a name.  A query with FOR
 * UPDATE has marks already.
 */
static void
make_marks(PartitionFilterState *state)
{
	EState	   *estate = state->css.ss.ps.state;
	ExecRowMark *marks;

	if (!state->key.is_updatable || (state->eflags & EXEC_FLAG_EXPLAIN_ONLY) ||
		estate->es_epq_active != NULL || estate->es_rowmarks != NULL ||
		ActivePortal == NULL || ActivePortal->name[0] == '\0')
		return;
	marks = palloc0(state->count * sizeof(ExecRowMark));
	estate->es_rowmarks = palloc0(estate->es_range_table_size * sizeof(ExecRowMark *));
	for (int i = 0; i < state->count; i++)
	{
		Partition  *partition = &state->partitions[i];
		Index		table = scanned_table(partition->plan);

		if (table == 0)
			continue;
		partition->mark = &marks[i];
		partition->mark->relid = exec_rt_fetch(table, estate)->relid;
		partition->mark->rti = partition->mark->prti = table;
		/* other kinds are ignored */
		partition->mark->markType = ROW_MARK_KEYSHARE;
		estate->es_rowmarks[table - 1] = partition->mark;
	}
}

/* Leave the partition that is running, if any. */
static void
leave_partition(PartitionFilterState *state)
{
	if (state->mark)
		ItemPointerSetInvalid(&state->mark->curCtid);
	state->mark = NULL;
	state->running = NULL;
}

/* Open a table until the end of the execution, if it is not open yet. */
static Relation
open_table(EState *estate, Index table)
{
#if PG_VERSION_NUM >= 180000
	return ExecGetRangeTableRelation(estate, table, false);
#else
	return ExecGetRangeTableRelation(estate, table);
#endif
}

static void
partition_filter_begin(CustomScanState *node, EState *estate, int eflags)
{
	PartitionFilterState *state = (PartitionFilterState *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;
	List	   *fields = plan_fields(plan->custom_private, 5);
	Append	   *append = append_of(node);
	Bitmapset  *left = init_pruning(state, append);
	int			child = -1;

	/* must all children be initialized now? */
	bool		at_once = (eflags & EXEC_FLAG_EXPLAIN_ONLY) || estate->es_instrument != 0 ||
		estate->es_epq_active != NULL;

	/* return the slots of the children, as an Append does */
	node->ss.ps.resultopsset = true;
	node->ss.ps.resultopsfixed = false;
	Assert(node->ss.ps.ps_ProjInfo == NULL);
	state->eflags = eflags;
	GetUserIdAndSecContext(&state->user, &state->security);
	state->owner = CurrentResourceOwner;
	state->start = GetCurrentSubTransactionId();
	state->asks = estate->es_epq_active == NULL;
	state->key.value = linitial(plan->custom_exprs);
	state->key.type = linitial_oid(linitial(fields));
	state->key.is_array = boolVal(lsecond(fields));
	state->key.indexes = lthird(fields);
	state->key.tables = lfourth(fields);
	state->key.is_updatable = boolVal(llast(fields));
	state->value = ExecInitExpr(state->key.value, &node->ss.ps);
	state->current = -1;
	state->partitions = palloc0(bms_num_members(left) * sizeof(Partition));
	while ((child = bms_next_member(left, child)) >= 0)
	{
		Partition  *partition = &state->partitions[state->count++];

		partition->plan = list_nth(append->appendplans, child);
		partition->index = list_nth_oid(state->key.indexes, child);
		partition->table = list_nth_int(state->key.tables, child);
		if (at_once || !OidIsValid(partition->index))
			init_partition(state, partition);
		else
			(void) open_table(estate, partition->table);
	}
	make_marks(state);
	if (state->count > 0 && (state->pruning == NULL || !state->pruning->do_exec_prune))
	{
		state->valid = bms_add_range(NULL, 0, state->count - 1);
		state->pruned = true;
	}
}

static void
partition_filter_end(CustomScanState *node)
{
	PartitionFilterState *state = (PartitionFilterState *) node;

	for (int i = 0; i < state->count; i++)
	{
		Partition  *partition = &state->partitions[i];

		if (partition->state)
			ExecEndNode(partition->state);
		if (partition->asked)
			RelationClose(partition->asked);
	}
}

/* ---- Execution ---- */

/* Open the index of a partition; partition->asked remains NULL if the index cannot be asked. */
static void
open_index(PartitionFilterState *state, Partition *partition)
{
	EState	   *estate = state->css.ss.ps.state;
	ResourceOwner owner = CurrentResourceOwner;

	CurrentResourceOwner = state->owner;
	partition->asked = membership_ask_open(state->keys,
										   open_table(estate, partition->table),
										   partition->index, estate->es_snapshot);
	if (partition->asked && file_may_vanish(state, partition->asked))
	{
		RelationClose(partition->asked);
		partition->asked = NULL;
	}
	if (partition->asked && state->keys == NULL)
		state->keys = membership_keys_make(estate->es_query_cxt, partition->asked,
										   state->key.type, estate->es_snapshot);
	CurrentResourceOwner = owner;
}

/* Open the index to be asked next, and have the processor fetch what it will read there. */
static void
look_ahead(PartitionFilterState *state)
{
	int			next = bms_next_member(state->valid, state->current);
	Partition  *partition = &state->partitions[Max(next, 0)];

	if (next < 0 || !OidIsValid(partition->index))
		return;
	if (partition->asked == NULL)
		open_index(state, partition);
	if (partition->asked != NULL)
		membership_ask_soon(state->keys, partition->asked);
}

/* May a partition have rows that its scan would return? */
static bool
may_have_rows(PartitionFilterState *state, Partition *partition)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	NodeInstrumentation *instrument = state->css.ss.ps.instrument;
	bool		may;

	if (!state->asks || !OidIsValid(partition->index) ||
		(state->yes == YES_IN_A_ROW && ++state->unasked < ASKED_THEN))
		return true;
	if (partition->asked == NULL)
		open_index(state, partition);
	if (partition->asked == NULL)
		return true;
	if (!state->keys_set)
	{
		bool		isnull;
		Datum		value;

		ResetExprContext(econtext);
		value = ExecEvalExprSwitchContext(state->value, econtext, &isnull);
		membership_keys_set(state->keys, value, isnull, state->key.is_array);
		state->keys_set = true;
	}
	if (state->yes < YES_IN_A_ROW)
		look_ahead(state);
	may = membership_ask(state->keys, partition->asked);
	state->yes = may ? Min(state->yes + 1, YES_IN_A_ROW) : 0;
	state->unasked = 0;
	if (instrument)
	{
		instrument->partitions_asked++;
		instrument->partitions_skipped += !may;
	}
	return may;
}

/*
 * Raise ERRCODE_OBJECT_IN_USE if this transaction has dropped the index that a child scans,
 * or if file_may_vanish() of it: after the rollback, the child would go on in another file.
 */
static void
check_index(const PartitionFilterState *state, const Partition *partition)
{
	Relation	table;
	Oid			oid = InvalidOid;
	Relation	index;

	/* a Filter Scan asks an index only if it can */
	(void) index_conditions(partition->plan, &oid);
	if (!OidIsValid(oid))
		return;
	table = open_table(state->css.ss.ps.state, partition->table);
	index = RelationIdGetRelation(oid);
	if (index == NULL || file_may_vanish(state, index))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("cannot read partition \"%s\", because its index was dropped or rebuilt while a cursor was open",
						RelationGetRelationName(table)),
				 errhint("Close the cursor first, or open it with bloomfilter.partition_filter = off.")));
	RelationClose(index);
}

/* Start a partition, or restart it. */
static void
start_partition(PartitionFilterState *state, Partition *partition)
{
	if (partition->state == NULL)
	{
		check_index(state, partition);
		init_partition(state, partition);
	}

	/* rescan even a new partition: SubPlans that it shares may have run */
	if (partition->scan != state->scan)
	{
		/* repeating a change that the partition knows of does no harm */
		if (state->changed != NULL)
			UpdateChangedParamSet(partition->state, state->changed);
		/* if parameters have changed, the first ExecProcNode() rescans */
		if (partition->state->chgParam == NULL)
			ExecReScan(partition->state);
		partition->scan = state->scan;
	}
	state->running = partition->state;
	state->mark = partition->mark;
}

/* Start the next partition that has to be read; return false if there is none. */
static bool
next_partition(PartitionFilterState *state)
{
	int			next;

	Assert(ScanDirectionIsForward(state->css.ss.ps.state->es_direction));
	if (state->count == 0)
		return false;
	if (!state->pruned)
	{
		bms_free(state->valid);
#if PG_VERSION_NUM >= 180000
		state->valid = ExecFindMatchingSubPlans(state->pruning, false, NULL);
#else
		state->valid = ExecFindMatchingSubPlans(state->pruning, false);
#endif
		state->pruned = true;
	}
	while ((next = bms_next_member(state->valid, state->current)) >= 0)
	{
		Partition  *partition = &state->partitions[next];

		Assert(next < state->count);
		CHECK_FOR_INTERRUPTS();
		state->current = next;
		if (may_have_rows(state, partition))
		{
			start_partition(state, partition);
			return true;
		}
	}
	return false;
}

static TupleTableSlot *
partition_filter_exec(CustomScanState *node)
{
	PartitionFilterState *state = (PartitionFilterState *) node;

	do
	{
		CHECK_FOR_INTERRUPTS();
		if (state->running)
		{
			TupleTableSlot *slot = ExecProcNode(state->running);

			if (!TupIsNull(slot))
			{
				if (state->mark)
					state->mark->curCtid = current_row(state->running);
				return slot;
			}
			leave_partition(state);
		}
	}
	while (next_partition(state));
	return NULL;
}

static void
partition_filter_rescan(CustomScanState *node)
{
	PartitionFilterState *state = (PartitionFilterState *) node;
	Bitmapset  *changed = node->ss.ps.chgParam;

	if (changed != NULL)
	{
		state->changed = bms_add_members(state->changed, changed);
		if (state->pruning && bms_overlap(changed, state->pruning->execparamids))
			state->pruned = false;
		state->keys_set = false;
	}
	state->scan++;
	state->current = -1;
	leave_partition(state);
}

/* ---- EXPLAIN ---- */

/* Return the names of the indexes that are asked, of each partition tree only the root's. */
static List *
index_names(const PartitionLookup *key)
{
	List	   *seen = NIL;
	List	   *names = NIL;
	ListCell   *cell;

	foreach(cell, key->indexes)
	{
		Oid			index = lfirst_oid(cell);
		List	   *ancestors;

		if (!OidIsValid(index))
			continue;
		/* NIL if another session has detached the partition meanwhile */
		ancestors = get_partition_ancestors(index);
		if (ancestors != NIL)
			index = llast_oid(ancestors);
		seen = list_append_unique_oid(seen, index);
	}
	foreach(cell, seen)
	{
		char	   *name = get_rel_name(lfirst_oid(cell));

		/* NULL if the whole index was dropped meanwhile */
		if (name)
			names = lappend(names, (char *) quote_identifier(name));
	}
	return names;
}

static void
partition_filter_explain(CustomScanState *node, List *ancestors,
						 ExplainState *es)
{
	PartitionFilterState *state = (PartitionFilterState *) node;
	NodeInstrumentation *instrument = node->ss.ps.instrument;
	Plan	   *plan = node->ss.ps.plan;
	int			removed = list_length(append_of(node)->appendplans) - state->count;
	List	   *context = set_deparse_context_plan(es->deparse_cxt, plan, ancestors);
	bool		prefix = list_length(es->rtable) > 1 || es->verbose;

	ExplainPropertyText("Value",
						deparse_expression((Node *) state->key.value, context,
										   prefix, false), es);
	ExplainPropertyList("Indexes", index_names(&state->key), es);
	/* as for an Append */
	if (removed > 0)
		ExplainPropertyInteger("Subplans Removed", NULL, removed, es);
	if (!es->analyze || !instrument)
		return;
	ExplainPropertyInteger("Partitions Probed", NULL,
						   (int64) instrument->partitions_asked, es);
	ExplainPropertyInteger("Partitions Skipped", NULL,
						   (int64) instrument->partitions_skipped, es);
}

const NodeKind partition_filter_node = {
	.plan = {"Partition Filter", node_create_state},
	.state_bytes = sizeof(PartitionFilterState),
	.exec.CustomName = "Partition Filter",
	.exec.BeginCustomScan = partition_filter_begin,
	.exec.ExecCustomScan = partition_filter_exec,
	.exec.EndCustomScan = partition_filter_end,
	.exec.ReScanCustomScan = partition_filter_rescan,
	.exec.ExplainCustomScan = partition_filter_explain
};
