/*
 * view.c
 *	  Views: a membership index as one snapshot sees it, asked page by page or in a
 *	  copy, and shared by all call sites of the session that ask it so.
 *
 * Asked for the first rows of a query, a page or two are read for each.  When that
 * has cost as much as reading the whole index would, the whole is read, and asked
 * as any filter in memory.  Call sites share it, for the scan of each partition
 * has a call site of its own.  The copy lacks what is inserted later, which its
 * snapshot cannot see; so it holds for this snapshot only.
 *
 * Which snapshot.  A view is known by the address of its snapshot, and keeps that
 * registered, on a resource owner of its own: so the address is not used again, and
 * snapmgr.c does not let anybody change the snapshot.  Held for longer than its
 * query it would be in the way of UpdateActiveSnapshotCommandId(), and of VACUUM:
 * call sites of PL/pgSQL's simple expressions live to the end of the transaction.
 * So a view is made only while the executor runs a query by its snapshot, and is
 * closed with the last such query, if not before, with its last call site.  Two
 * things tell that a query is gone: the release of its executor state's memory,
 * and an error that leaves ExecutorRun() or ExecutorFinish().  For ExecutorEnd() is not called for a query
 * that fails, and the memory of a cursor that fails lives to the end of the
 * transaction.
 *
 * A closed view answers nobody.  Where no query has the snapshot, as in a simple
 * expression of a volatile function, which has a new one each time, there is no view:
 * view_join() returns NULL, and the caller reads the pages.
 */
#include "membership.h"

#include "access/xact.h"
#include "executor/executor.h"
#include "pgstat.h"
#include "stored.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

/*
 * What copying a page costs, in pages that are only looked at: measured, one
 * microsecond against 0.3.
 */
#define COPY_COST			3.0

/* All of the session, the one copied last first, and the bytes of all copies */
static dlist_head views = DLIST_STATIC_INIT(views);
static Size copied_bytes = 0;

/* Of the snapshots that views keep registered; NULL before the first */
static ResourceOwner owner = NULL;

/* A query that the executor has begun and not ended; in its memory */
typedef struct OpenQuery
{
	EState	   *estate;
	Snapshot	snapshot;		/* NULL: it has failed */
	int			runs;			/* calls of ExecutorRun() under way */
	MemoryContextCallback end;
	dlist_node	node;			/* in open_queries */
} OpenQuery;

static dlist_head open_queries = DLIST_STATIC_INIT(open_queries);

static ExecutorStart_hook_type previous_executor_start = NULL;
static ExecutorRun_hook_type previous_executor_run = NULL;
static ExecutorFinish_hook_type previous_executor_finish = NULL;

/* ExecutorRun() has one parameter less from 18 on */
#if PG_VERSION_NUM >= 180000
#define RUN_PARAMETERS \
	QueryDesc *desc, ScanDirection direction, uint64 count
#define RUN_ARGUMENTS		desc, direction, count
#else
#define RUN_PARAMETERS \
	QueryDesc *desc, ScanDirection direction, uint64 count, bool execute_once
#define RUN_ARGUMENTS		desc, direction, count, execute_once
#endif

/* Has the executor a query by this snapshot, which runs if "running"? */
static bool
is_of_query(Snapshot snapshot, bool running)
{
	dlist_iter	iter;

	dlist_foreach(iter, &open_queries)
	{
		OpenQuery  *query = dlist_container(OpenQuery, node, iter.cur);

		if (query->snapshot == snapshot && (!running || query->runs > 0))
			return true;
	}
	return false;
}

static void
drop_copy(IndexView *view)
{
	MemoryContextReset(view->copy_mcxt);
	copied_bytes -= view->copy_bytes;
	view->copy = NULL;
	view->copy_bytes = 0;
	view->spent = 0;
}

/* Have it answer nobody any more. */
static void
close_view(IndexView *view)
{
	Snapshot	snapshot = view->snapshot;

	if (snapshot == NULL)
		return;
	drop_copy(view);
	dlist_delete(&view->use);
	view->snapshot = NULL;
	UnregisterSnapshotFromOwner(snapshot, owner);
}

/* A call site turns to another view, or ends. */
void
view_leave(IndexView *view)
{
	if (view == NULL || --view->sites > 0)
		return;
	close_view(view);
	MemoryContextDelete(view->mcxt);
}

/*
 * view_join
 *		The view of an index, as its file is now, by this snapshot, for one more site
 *
 * NULL if the executor runs no query by the snapshot.  The caller has locked the
 * index.
 */
IndexView *
view_join(Relation index, Snapshot snapshot)
{
	IndexView  *view;
	MemoryContext mcxt;
	dlist_iter	iter;

	if (!is_of_query(snapshot, true))
		return NULL;
	dlist_foreach(iter, &views)
	{
		view = dlist_container(IndexView, use, iter.cur);
		Assert(view->snapshot != NULL && view->snapshot->regd_count > 0);
		if (view->index == RelationGetRelid(index) &&
			view->file == file_number(index) &&
			view->snapshot == snapshot)
		{
			view->sites++;
			return view;
		}
	}

	if (owner == NULL)
		owner = ResourceOwnerCreate(NULL, "membership views");
	/* An error before it is among the others would leave it for ever */
	mcxt = AllocSetContextCreate(CurrentMemoryContext, "membership view",
								 ALLOCSET_SMALL_SIZES);
	view = (IndexView *) MemoryContextAllocZero(mcxt, sizeof(IndexView));
	view->index = RelationGetRelid(index);
	view->file = file_number(index);
	view->mcxt = mcxt;
	view->copy_mcxt = AllocSetContextCreate(mcxt, "membership copy",
											ALLOCSET_SMALL_SIZES);
	view->inserted = own_insertions;
	view->sites = 1;
	view->snapshot = RegisterSnapshotOnOwner(snapshot, owner);
	/* a copy of it would not be the active one */
	Assert(view->snapshot == snapshot);
	MemoryContextSetParent(mcxt, TopMemoryContext);
	dlist_push_head(&views, &view->use);
	pgstat_count_index_scan(index);
	return view;
}

/*
 * Read the whole index.  Copies of other views, the oldest first, make room for
 * it: they are asked page by page again until that has cost too much once more.
 */
static void
copy_index(IndexView *view, Relation index, const MembershipMeta *meta,
		   ElementClass class)
{
	Size		bytes = pages_image_bytes(meta);
	void	   *memory;
	uint8	   *copy;
	dlist_node *node = dlist_tail_node(&views);

	while (copied_bytes + bytes > CACHE_BYTES)
	{
		IndexView  *old = dlist_container(IndexView, use, node);

		if (old->copy != NULL)
			drop_copy(old);
		if (!dlist_has_prev(&views, node))
			break;
		node = dlist_prev_node(&views, node);
	}
	/* what an error has left */
	MemoryContextReset(view->copy_mcxt);
	copy = allocate_image(view->copy_mcxt, bytes, false, &memory);
	pages_read(index, meta, class, copy);
	view->copy = copy;
	view->copy_bytes = bytes;
	copied_bytes += bytes;
	view->inserted.written = own_insertions.written;
	dlist_move_head(&views, &view->use);
}

/*
 * view_copy_pays
 *		Will these probes be asked in a copy?
 *
 * If they bring what was spent to the cost of one, it is made now.  Else they
 * count as spent, and the caller asks the pages.  Of a view without a copy.
 */
bool
view_copy_pays(IndexView *view, Relation index, const MembershipMeta *meta,
			   ElementClass class, Size probes)
{
	Assert(view->snapshot != NULL && is_of_query(view->snapshot, false));
	Assert(view->file == file_number(index));
	if (pages_image_bytes(meta) <= CACHE_BYTES &&
		view->spent + probes * (1.0 + meta->layers) >=
		COPY_COST * meta_pages(meta))
	{
		copy_index(view, index, meta, class);
		return true;
	}
	view->spent += probes * (1.0 + meta->layers);
	return false;
}

/* Close the views of a snapshot, or all if it is NULL. */
static void
close_views(Snapshot snapshot)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &views)
	{
		IndexView  *view = dlist_container(IndexView, use, iter.cur);

		if (snapshot == NULL || view->snapshot == snapshot)
			close_view(view);
	}
}

/* A query has ended, or failed. */
static void
leave_query(OpenQuery *query)
{
	Snapshot	snapshot = query->snapshot;

	query->snapshot = NULL;
	if (snapshot != NULL && !is_of_query(snapshot, false))
		close_views(snapshot);
}

/* The callback of the memory of an executor's state */
static void
end_query(void *arg)
{
	OpenQuery  *query = (OpenQuery *) arg;

	dlist_delete(&query->node);
	leave_query(query);
}

static void
start_executor(QueryDesc *desc, int eflags)
{
	OpenQuery  *query;

	if (previous_executor_start)
		previous_executor_start(desc, eflags);
	else
		standard_ExecutorStart(desc, eflags);
	query = (OpenQuery *)
		MemoryContextAllocZero(desc->estate->es_query_cxt, sizeof(OpenQuery));
	query->estate = desc->estate;
	query->snapshot = desc->estate->es_snapshot;
	query->end.func = end_query;
	query->end.arg = query;
	dlist_push_head(&open_queries, &query->node);
	MemoryContextRegisterResetCallback(desc->estate->es_query_cxt, &query->end);
}

/* NULL if it was started before the library was loaded */
static OpenQuery *
find_query(EState *estate)
{
	dlist_iter	iter;

	dlist_foreach(iter, &open_queries)
	{
		OpenQuery  *query = dlist_container(OpenQuery, node, iter.cur);

		if (query->estate == estate)
			return query;
	}
	return NULL;
}

static void
run_executor(RUN_PARAMETERS)
{
	OpenQuery  *volatile query = find_query(desc->estate);

	if (query)
		query->runs++;
	PG_TRY();
	{
		if (previous_executor_run)
			previous_executor_run(RUN_ARGUMENTS);
		else
			standard_ExecutorRun(RUN_ARGUMENTS);
	}
	PG_CATCH();
	{
		if (query)
		{
			query->runs--;
			leave_query(query);
		}
		PG_RE_THROW();
	}
	PG_END_TRY();
	if (query)
		query->runs--;
}

/* AFTER triggers are fired here. */
static void
finish_executor(QueryDesc *desc)
{
	OpenQuery  *volatile query = find_query(desc->estate);

	PG_TRY();
	{
		if (previous_executor_finish)
			previous_executor_finish(desc);
		else
			standard_ExecutorFinish(desc);
	}
	PG_CATCH();
	{
		if (query)
			leave_query(query);
		PG_RE_THROW();
	}
	PG_END_TRY();
}

/*
 * No query outlives its transaction.  When one is aborted, snapmgr.c forgets all
 * that is registered before all memory is released.
 */
static void
at_transaction_event(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PARALLEL_ABORT:
			close_views(NULL);
			break;
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_PREPARE:
		case XACT_EVENT_PARALLEL_COMMIT:
			Assert(dlist_is_empty(&views));
			break;
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PRE_PREPARE:
		case XACT_EVENT_PARALLEL_PRE_COMMIT:
			break;
	}
}

/* When the library is loaded */
void
membership_view_init(void)
{
	RegisterXactCallback(at_transaction_event, NULL);
	previous_executor_start = ExecutorStart_hook;
	ExecutorStart_hook = start_executor;
	previous_executor_run = ExecutorRun_hook;
	ExecutorRun_hook = run_executor;
	previous_executor_finish = ExecutorFinish_hook;
	ExecutorFinish_hook = finish_executor;
}
