/*
 * view.c
 *	  Views: a membership index as one snapshot sees it.
 *
 * All call sites of the session that probe an index with the same snapshot
 * share a view, because the scan of each partition has a call site of its own.  A
 * view probes the pages of the index until that has cost as much as reading the
 * whole index; then it reads all of it, and answers from memory.  The copy lacks
 * what is inserted later.  Its snapshot cannot see that, so the copy is valid for
 * this snapshot only.
 *
 * Which snapshot.  The address of its snapshot identifies a view.  The view
 * keeps the snapshot registered, with its own resource owner, so that the
 * address is not used again, and snapmgr.c lets nobody change the snapshot.
 * If we held it longer than its query, it would be in the way of
 * UpdateActiveSnapshotCommandId(), and of VACUUM: call sites of simple
 * expressions in PL/pgSQL live to the end of the transaction.  So a view is
 * made only while the executor runs a query with its snapshot, and is closed
 * with the last such query, or earlier, with its last call site.  Two events
 * show that a query is gone: the release of the memory of its executor state,
 * and an error that leaves ExecutorRun() or ExecutorFinish().  We need both,
 * because ExecutorEnd() is not called for a query that fails, and the memory
 * of a cursor that fails lives to the end of the transaction.
 *
 * A closed view answers no probes.  Where no query has the snapshot, as in a
 * simple expression of a volatile function, which has a new one each time, there
 * is no view: view_join() returns NULL, and the caller reads the pages.
 */
#include "membership.h"

#include "nodes/execnodes.h"
#include "pgstat.h"
#include "value/stored.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

/* Cost of copying a page, where probing one costs 1: measured, 1 and 0.3 microseconds */
#define COPY_COST			3.0

/* All open views */
static dlist_head views = DLIST_STATIC_INIT(views);

/* Owns the registered snapshots of views; NULL before the first view */
static ResourceOwner owner = NULL;

/* A query between ExecutorStart() and its end; allocated in its own memory */
typedef struct OpenQuery
{
	EState	   *estate;
	Snapshot	snapshot;		/* NULL: the query has failed */
	int			runs;			/* calls of ExecutorRun() in progress */
	MemoryContextCallback end;
	dlist_node	node;			/* in open_queries */
} OpenQuery;

static dlist_head open_queries = DLIST_STATIC_INIT(open_queries);

/* Does the executor have a query with this snapshot or, if "running", in ExecutorRun()? */
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

/* Evict the copy; the pages are probed again. */
static void
drop_copy(IndexView *view)
{
	cache_remove(&view->kept);
	MemoryContextReset(view->copy_mcxt);
	view->copy = NULL;
	view->spent = 0;
}

/* CacheItem's evict().  Nobody is reading the copy: a reader calls no code that evicts. */
static void
evict_copy(CacheItem *item)
{
	drop_copy((IndexView *) ((char *) item - offsetof(IndexView, kept)));
}

/* Close a view: it answers no more probes. */
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

/* Stop using a view, or NULL; frees it if it has no other call site.  No errors. */
void
view_leave(IndexView *view)
{
	if (view == NULL || --view->sites > 0)
		return;
	close_view(view);
	MemoryContextDelete(view->mcxt);
}

/*
 * Find or make the view of an index, which is locked, for one more call site: that of its
 * present file.  NULL if the executor runs no query with the snapshot; otherwise the caller
 * calls view_leave() in the end.
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
	/* CurrentMemoryContext, so that an error before it is listed frees it */
	mcxt = AllocSetContextCreate(CurrentMemoryContext, "membership view",
								 ALLOCSET_SMALL_SIZES);
	view = (IndexView *) MemoryContextAllocZero(mcxt, sizeof(IndexView));
	view->index = RelationGetRelid(index);
	view->file = file_number(index);
	view->mcxt = mcxt;
	view->copy_mcxt = AllocSetContextCreate(mcxt, "membership copy",
											ALLOCSET_SMALL_SIZES);
	view->inserted = own_insertions;
	view->kept.evict = evict_copy;
	view->sites = 1;
	view->snapshot = RegisterSnapshotOnOwner(snapshot, owner);
	/* not a copy: then the address would differ from the active snapshot's */
	Assert(view->snapshot == snapshot);
	MemoryContextSetParent(mcxt, TopMemoryContext);
	dlist_push_head(&views, &view->use);
	pgstat_count_index_scan(index);
	return view;
}

/*
 * Copy the whole index.  To make room, evicts what was used longest ago; other views then
 * probe pages again until that has cost as much as another copy.
 */
static void
copy_index(IndexView *view, Relation index, const MembershipMeta *meta,
		   ElementClass class)
{
	Size		bytes = pages_image_bytes(meta);
	void	   *memory;
	uint8	   *copy;

	cache_make_room(bytes);
	/* memory that an error has left behind */
	MemoryContextReset(view->copy_mcxt);
	copy = allocate_image(view->copy_mcxt, bytes, false, &memory);
	pages_read(index, meta, class, copy);
	view->copy = copy;
	cache_resize(&view->kept, bytes);
	Assert(view->copy == copy);
	view->inserted.written = own_insertions.written;
}

/*
 * Make a copy of the index, in view->copy, if "probes" more probes and those of pages so
 * far would cost as much; the view is open and has none.  Otherwise adds their cost to
 * view->spent, returns false, and the caller probes the pages.  "class" is that of the
 * index's elements.  Errors: those of pages_read().
 */
bool
view_copy_pays(IndexView *view, Relation index, const MembershipMeta *meta,
			   ElementClass class, Size probes)
{
	double		cost = pages_probe_cost(meta, probes);

	Assert(view->snapshot != NULL && is_of_query(view->snapshot, false));
	Assert(view->file == file_number(index));
	if (cache_can_hold(pages_image_bytes(meta)) &&
		view->spent + cost >= COPY_COST * meta_pages(meta))
	{
		copy_index(view, index, meta, class);
		return true;
	}
	view->spent += cost;
	return false;
}

/* Close the views of a snapshot, or all views if it is NULL. */
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

/* Callback when the memory of an executor state is released */
static void
end_query(void *arg)
{
	OpenQuery  *query = (OpenQuery *) arg;

	dlist_delete(&query->node);
	leave_query(query);
}

/* Note a query that has started, until the memory of its executor state is released. */
void
views_enter_query(EState *estate)
{
	OpenQuery  *query = (OpenQuery *)
		MemoryContextAllocZero(estate->es_query_cxt, sizeof(OpenQuery));

	query->estate = estate;
	query->snapshot = estate->es_snapshot;
	query->end.func = end_query;
	query->end.arg = query;
	dlist_push_head(&open_queries, &query->node);
	MemoryContextRegisterResetCallback(estate->es_query_cxt, &query->end);
}

/* Returns NULL if the query was started before the library was loaded. */
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

/*
 * ExecutorRun() begins, or ends.  If it goes on with a snapshot that was used before, the
 * command that called it may have inserted rows meanwhile that the snapshot sees: see
 * insert.c.
 */
void
views_run_query(EState *estate, bool begins)
{
	OpenQuery  *query = find_query(estate);
	dlist_iter	iter;

	if (query == NULL)
		return;
	if (begins && !dlist_is_empty(&views) &&
		!is_of_query(query->snapshot, true))
	{
		dlist_foreach(iter, &views)
		{
			IndexView  *view = dlist_container(IndexView, use, iter.cur);

			view->resumed |= view->snapshot == query->snapshot;
		}
	}
	query->runs += begins ? 1 : -1;
}

/* An error leaves the executor: nobody goes on with the query. */
void
views_fail_query(EState *estate)
{
	OpenQuery  *query = find_query(estate);

	if (query)
		leave_query(query);
}

/*
 * Close what views are left: no query outlives its transaction.  If it aborts, snapmgr.c
 * drops its list of registered snapshots before the memory of queries is released, so this
 * comes before.
 */
void
views_end_transaction(bool aborts)
{
	if (aborts)
		close_views(NULL);
	Assert(dlist_is_empty(&views));
}
