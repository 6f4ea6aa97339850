/*
 * events.c
 *	  The server's events that other files act on, and the order in which they do.
 *
 * The server calls us when a query starts, runs and finishes, when a transaction or
 * subtransaction ends, and when an object is dropped.  The order matters:
 *
 * - Before a query starts workers, and before a transaction commits, we write the waiting
 *	 insertions, because workers and other sessions cannot.
 * - When a transaction aborts, we close the views first.  Views hold registered snapshots,
 *	 and the server has dropped its list of these.
 * - Caches that rely on a transaction's locks and snapshots become invalid last, because
 *	 all other actions may still fill them.
 *
 * The hooks of the planner are in scan/planner_hooks.c.  Each file that caches catalog
 * entries registers for their invalidation itself.
 */
#include "events.h"

#include "index/membership.h"
#include "once.h"
#include "scan/join/join_filter_build.h"
#include "value/stored.h"

#include "access/xact.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_class.h"
#include "executor/executor.h"

static ExecutorStart_hook_type previous_executor_start = NULL;
static ExecutorRun_hook_type previous_executor_run = NULL;
static ExecutorFinish_hook_type previous_executor_finish = NULL;
static object_access_hook_type previous_object_access = NULL;

/* ExecutorRun() has one parameter less from 18 on */
#if PG_VERSION_NUM >= 180000
#define RUN_PARAMETERS \
	QueryDesc *query, ScanDirection direction, uint64 count
#define RUN_ARGUMENTS		query, direction, count
#else
#define RUN_PARAMETERS \
	QueryDesc *query, ScanDirection direction, uint64 count, bool execute_once
#define RUN_ARGUMENTS		query, direction, count, execute_once
#endif

static void
start_executor(QueryDesc *query, int eflags)
{
	uint64		builds = join_filters_begun;

	stored_new_epoch();
	if (query->plannedstmt->parallelModeNeeded)
		flush_pending();
	if (previous_executor_start)
		previous_executor_start(query, eflags);
	else
		standard_ExecutorStart(query, eflags);
	if (join_filters_begun != builds && query->planstate)
		join_filters_link(query->planstate);
}

static void
run_executor(RUN_PARAMETERS)
{
	RunningQuery running;

	views_begin_run(&running, query->estate);
	PG_TRY();
	{
		if (previous_executor_run)
			previous_executor_run(RUN_ARGUMENTS);
		else
			standard_ExecutorRun(RUN_ARGUMENTS);
	}
	PG_CATCH();
	{
		views_end_run(&running);
		views_fail_query(query->estate);
		PG_RE_THROW();
	}
	PG_END_TRY();
	views_end_run(&running);
}

static void
call_finish(QueryDesc *query)
{
	if (previous_executor_finish)
		previous_executor_finish(query);
	else
		standard_ExecutorFinish(query);
}

/* AFTER triggers, which ExecutorFinish() fires, may probe with the query's snapshot. */
static void
finish_executor(QueryDesc *query)
{
	if (query->estate->es_top_eflags & EXEC_FLAG_SKIP_TRIGGERS)
	{
		call_finish(query);
		return;
	}
	views_note_query(query->estate);
	PG_TRY();
	{
		call_finish(query);
	}
	PG_CATCH();
	{
		views_fail_query(query->estate);
		PG_RE_THROW();
	}
	PG_END_TRY();
}

/* Invalidate the caches that rely on locks and snapshots, which are gone. */
static void
forget_caches(void)
{
	invalidation_count++;
	stored_new_epoch();
}

/* An XactCallback.  Parallel workers insert nothing, so they have nothing to flush. */
static void
at_transaction_event(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PRE_PREPARE:
			flush_before_commit();
			break;
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_PREPARE:
		case XACT_EVENT_PARALLEL_COMMIT:
			views_end_transaction(false);
			forget_pending();
			break;
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PARALLEL_ABORT:
			views_end_transaction(true);
			forget_pending();
			break;
		case XACT_EVENT_PARALLEL_PRE_COMMIT:
			break;
	}
	forget_caches();
}

/* A SubXactCallback */
static void
at_subtransaction_event(SubXactEvent event, SubTransactionId subtransaction,
						SubTransactionId parent, void *arg)
{
	switch (event)
	{
		case SUBXACT_EVENT_COMMIT_SUB:
			pass_pending(subtransaction, parent);
			break;
		case SUBXACT_EVENT_ABORT_SUB:
			truncate_pending(subtransaction);
			/* TOAST values that the subtransaction stored may be removed now */
			forget_caches();
			break;
		case SUBXACT_EVENT_START_SUB:
		case SUBXACT_EVENT_PRE_COMMIT_SUB:
			break;
	}
}

static void
access_object(ObjectAccessType access, Oid class, Oid object, int column, void *arg)
{
	if (access == OAT_DROP && class == RelationRelationId)
		flush_pending();
	if (previous_object_access)
		previous_object_access(access, class, object, column, arg);
}

static void
install_hooks(void)
{
	previous_executor_start = ExecutorStart_hook;
	ExecutorStart_hook = start_executor;
	previous_executor_run = ExecutorRun_hook;
	ExecutorRun_hook = run_executor;
	previous_executor_finish = ExecutorFinish_hook;
	ExecutorFinish_hook = finish_executor;
	previous_object_access = object_access_hook;
	object_access_hook = access_object;
}

/* Install the hooks and callbacks when the library is loaded. */
void
events_init(void)
{
	ONCE(RegisterXactCallback(at_transaction_event, NULL));
	ONCE(RegisterSubXactCallback(at_subtransaction_event, NULL));
	ONCE(install_hooks());
}
