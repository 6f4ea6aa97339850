/*
 * view.c
 *	  Views: a membership index as one snapshot sees it.
 *
 * All call sites of the session that probe an index with the same snapshot share a view,
 * because the scan of each partition has its own call site.  A view probes the pages of the
 * index until that has cost as much as reading the whole index.  Then it copies the index,
 * and answers from memory.  The copy lacks later insertions, but the view's snapshot cannot
 * see those.  So the copy is valid for this snapshot, and for others that see the same
 * transactions.  When a view closes, its copy (or the cost of its probes, if there is no
 * copy yet) is kept for the next view of such a snapshot.  A snapshot does not see the
 * transactions that were running when it was taken, or that began later.  As long as the
 * running ones are the same, none has ended.  This session's own transaction is not among
 * them, so a copy is not kept after an insertion of this session.  A SERIALIZABLE
 * transaction takes over no copy: it must find what a transaction that still runs has
 * inserted before the SERIALIZABLE one took its predicate lock.
 *
 * Snapshots.  A view is identified by the address of its snapshot.  It keeps the snapshot
 * registered, with a resource owner of its own, so that the address is not reused and
 * snapmgr.c does not change the snapshot.  If we held the snapshot longer than its query
 * runs, it would block UpdateActiveSnapshotCommandId(), and hold back VACUUM: call sites of
 * simple expressions in PL/pgSQL live to the end of the transaction.  So we make a view
 * only while the executor runs a query with its snapshot.  The view is closed when the last
 * noted query with this snapshot ends, or earlier, with its last call site.  We note the
 * queries that are running when a call site joins a view, and those that may fire AFTER
 * triggers; to note every query would cost queries that probe no index.  Two events end a
 * query: the release of its executor state's memory, and an error that leaves ExecutorRun()
 * or ExecutorFinish().  We need both: a failed query gets no ExecutorEnd(), and the memory
 * of a failed cursor lives to the end of the transaction.
 *
 * If no query has the snapshot, there is no view, and the caller probes the pages.  An
 * example is a simple expression of a volatile function, which takes a new snapshot each
 * time.
 */
#include "membership.h"

#include "access/xact.h"
#include "pgstat.h"
#include "value/stored.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

/* Cost of copying a page, in units of probing one: measured, 1 and 0.3 microseconds */
#define COPY_COST			3.0

/* With more running transactions, the next snapshot hardly ever sees the same ones. */
#define RUNNING_MAX			32

/* All open views */
static dlist_head views = DLIST_STATIC_INIT(views);

/* The copies without a view, the most recently left first; memory of all copies and views */
static dlist_head unused_copies = DLIST_STATIC_INIT(unused_copies);
static MemoryContext copies = NULL;

/* Owns the registered snapshots of views; NULL before the first view */
static ResourceOwner owner = NULL;

/* The calls of ExecutorRun() in progress, the innermost first */
static RunningQuery *running_queries = NULL;

/* A noted query, until its end; allocated in the query's memory */
typedef struct OpenQuery
{
	EState	   *estate;
	Snapshot	snapshot;		/* NULL: the query has failed */
	MemoryContextCallback end;
	dlist_node	node;			/* in open_queries */
} OpenQuery;

static dlist_head open_queries = DLIST_STATIC_INIT(open_queries);

/* Does the executor run a query with this snapshot? */
static bool
is_running(Snapshot snapshot)
{
	for (RunningQuery *query = running_queries; query; query = query->outer)
		if (query->estate->es_snapshot == snapshot)
			return true;
	return false;
}

/* Is a query with this snapshot noted? */
static bool
is_open(Snapshot snapshot)
{
	dlist_iter	iter;

	dlist_foreach(iter, &open_queries)
	{
		if (dlist_container(OpenQuery, node, iter.cur)->snapshot == snapshot)
			return true;
	}
	return false;
}

/* Find the note of a query; NULL if there is none. */
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

/* ---- What snapshots see ---- */

/* The length of subxip, which a snapshot with too many subtransactions lacks */
static inline uint32
subtransactions(const SnapshotData *snapshot)
{
	return snapshot->subxip ? snapshot->subxcnt : 0;
}

static inline bool
are_equal(const TransactionId *a, const TransactionId *b, uint32 count)
{
	return count == 0 || memcmp(a, b, count * sizeof(TransactionId)) == 0;
}

/* Do two snapshots see the same transactions of other sessions? */
static bool
see_the_same(const SnapshotData *a, const SnapshotData *b)
{
	return a->xmin == b->xmin && a->xmax == b->xmax && a->xcnt == b->xcnt &&
		subtransactions(a) == subtransactions(b) &&
		a->suboverflowed == b->suboverflowed &&
		a->takenDuringRecovery == b->takenDuringRecovery &&
		are_equal(a->xip, b->xip, a->xcnt) &&
		are_equal(a->subxip, b->subxip, subtransactions(a));
}

/* The number that snapshot_number() may return again, or 0 */
static uint64 repeatable_number = 0;

/*
 * A number for the set of other sessions' transactions that a snapshot sees.  Snapshots
 * with the same number see the same transactions; snapshots that see the same may have
 * different numbers.  In a SERIALIZABLE transaction, each call returns a new number,
 * because the transaction takes over no copy.
 */
uint64
snapshot_number(Snapshot snapshot)
{
	static SnapshotData last;	/* the snapshot of repeatable_number */
	static TransactionId running[RUNNING_MAX];	/* its xip and subxip */
	static FullTransactionId next;	/* next XID at that time */
	static uint64 number = 0;
	const uint32 subs = subtransactions(snapshot);
	const FullTransactionId now = ReadNextFullTransactionId();

	if (repeatable_number > 0 && !IsolationIsSerializable() &&
		see_the_same(&last, snapshot) &&
		U64FromFullTransactionId(now) - U64FromFullTransactionId(next) < MaxTransactionId / 2)
		return repeatable_number;
	number++;
	if (snapshot->xcnt + subs <= RUNNING_MAX && !IsolationIsSerializable())
	{
		last = *snapshot;
		last.xip = running;
		last.subxip = running + snapshot->xcnt;
		last.subxcnt = subs;
		for (uint32 i = 0; i < snapshot->xcnt; i++)
			last.xip[i] = snapshot->xip[i];
		for (uint32 i = 0; i < subs; i++)
			last.subxip[i] = snapshot->subxip[i];
		next = now;
		repeatable_number = number;
	}
	return number;
}

/* ---- Copies ---- */

/* Free the image; later probes read the pages again. */
static void
free_image(IndexCopy *copy)
{
	cache_remove(&copy->account);
	if (copy->memory)
		pfree(copy->memory);
	copy->memory = NULL;
	copy->image = NULL;
	copy->spent = 0;
}

static void
free_copy(IndexCopy *copy)
{
	Assert(copy->unused);
	free_image(copy);
	dlist_delete(&copy->node);
	pfree(copy);
}

/* CacheItem's evict().  The copy is not being read: a reader calls nothing that evicts. */
static void
evict_copy(CacheItem *item)
{
	IndexCopy  *copy = (IndexCopy *) ((char *) item - offsetof(IndexCopy, account));

	if (copy->unused)
		free_copy(copy);
	else
		free_image(copy);
}

/* Has this session inserted nothing since *then? */
static inline bool
is_last_insertion(const OwnInsertions *then)
{
	return memcmp(then, &own_insertions, sizeof(OwnInsertions)) == 0;
}

/* Find or make a copy for a new view; use_copy() then removes it from the unused ones. */
static IndexCopy *
find_copy(Relation index, uint64 seen)
{
	IndexCopy  *copy;
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &unused_copies)
	{
		copy = dlist_container(IndexCopy, node, iter.cur);
		if (copy->index != RelationGetRelid(index))
			continue;
		if (copy->file == file_number(index) &&
			is_last_insertion(&copy->inserted) && copy->seen == seen)
			return copy;
		free_copy(copy);
	}

	if (copies == NULL)
		copies = AllocSetContextCreate(TopMemoryContext, "membership copy",
									   ALLOCSET_SMALL_SIZES);
	copy = MemoryContextAllocZero(copies, sizeof(IndexCopy));
	copy->index = RelationGetRelid(index);
	copy->file = file_number(index);
	copy->seen = seen;
	copy->inserted = own_insertions;
	copy->account.evict = evict_copy;
	copy->unused = true;
	dlist_push_head(&unused_copies, &copy->node);
	return copy;
}

/* Give an unused copy to a view. */
static void
use_copy(IndexView *view, IndexCopy *copy)
{
	Assert(copy->unused);
	dlist_delete(&copy->node);
	copy->unused = false;
	view->copy = copy;
	cache_remove(&copy->account);
	if (copy->image)
		cache_resize(&copy->account, image_bytes(copy->image));
}

/*
 * Keep the copy of a closing view if another view may use it.  Raises no error and takes no
 * lock: after an error in a query, locks of the server may still be held.
 */
static void
leave_copy(IndexView *view)
{
	IndexCopy  *copy = view->copy;

	view->copy = NULL;
	copy->unused = true;
	dlist_push_head(&unused_copies, &copy->node);

	/*
	 * there is nothing to keep, or no other view can use it, or an error has
	 * left memory without an image
	 */
	if ((copy->image == NULL && (copy->spent == 0 || copy->memory != NULL)) ||
		copy->seen != repeatable_number || !is_last_insertion(&copy->inserted))
	{
		free_copy(copy);
		return;
	}
	cache_resize(&copy->account, sizeof(IndexCopy) +
				 (copy->image ? image_bytes(copy->image) : 0));
}

/* ---- Views ---- */

/* Close a view, which then answers no more probes. */
static void
close_view(IndexView *view)
{
	Snapshot	snapshot = view->snapshot;

	if (snapshot == NULL)
		return;
	leave_copy(view);
	dlist_delete(&view->use);
	view->snapshot = NULL;
	UnregisterSnapshotFromOwner(snapshot, owner);
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
	if (snapshot != NULL && !is_open(snapshot))
		close_views(snapshot);
}

/* Memory context callback: the memory of an executor state is released */
static void
end_query(void *arg)
{
	OpenQuery  *query = (OpenQuery *) arg;

	dlist_delete(&query->node);
	leave_query(query);
}

/* Note a query whose snapshot may have views, until its memory is released. */
void
views_note_query(EState *estate)
{
	OpenQuery  *query;

	if (find_query(estate))
		return;
	query = MemoryContextAllocZero(estate->es_query_cxt, sizeof(OpenQuery));
	query->estate = estate;
	query->snapshot = estate->es_snapshot;
	query->end.func = end_query;
	query->end.arg = query;
	dlist_push_head(&open_queries, &query->node);
	MemoryContextRegisterResetCallback(estate->es_query_cxt, &query->end);
}

/* Stop using a view, which may be NULL.  Frees it after its last call site.  No errors. */
void
view_leave(IndexView *view)
{
	if (view == NULL || --view->sites > 0)
		return;
	close_view(view);
	pfree(view);
}

/*
 * Find or make a view of the present file of an index, which the caller has locked, for one
 * more call site.  NULL if the executor runs no query with the snapshot; otherwise the
 * caller must call view_leave().
 */
IndexView *
view_join(Relation index, Snapshot snapshot)
{
	IndexView  *view;
	IndexCopy  *copy;
	dlist_iter	iter;

	if (!is_running(snapshot))
		return NULL;
	for (RunningQuery *query = running_queries; query; query = query->outer)
		if (query->estate->es_snapshot == snapshot)
			views_note_query(query->estate);
	dlist_foreach(iter, &views)
	{
		view = dlist_container(IndexView, use, iter.cur);
		Assert(view->snapshot != NULL && view->snapshot->regd_count > 0);
		if (view->copy->index == RelationGetRelid(index) &&
			view->copy->file == file_number(index) &&
			view->snapshot == snapshot)
		{
			view->sites++;
			return view;
		}
	}

	if (owner == NULL)
		owner = ResourceOwnerCreate(NULL, "membership views");
	copy = find_copy(index, snapshot_number(snapshot));
	/* if memory runs out for the registration, these few bytes stay behind */
	view = (IndexView *) MemoryContextAllocZero(copies, sizeof(IndexView));
	view->sites = 1;
	view->snapshot = RegisterSnapshotOnOwner(snapshot, owner);

	/* a copy would have another address than the active snapshot */
	Assert(view->snapshot == snapshot);
	use_copy(view, copy);
	dlist_push_head(&views, &view->use);
	pgstat_count_index_scan(index);
	return view;
}

/*
 * Copy the whole index to view->copy if that pays: if the cost of the probes of its pages
 * so far, and of "probes" more, reaches that of the copy.  Otherwise adds the cost of these
 * probes to copy->spent and returns false, and the caller probes the pages.  The view is
 * open and has no image; "class" is the class of the index's elements.  Errors: those of
 * pages_read().
 *
 * To make room, evicts the least recently used items; views whose image was evicted probe
 * pages again until that has cost as much as another copy.
 */
bool
view_copy_pays(IndexView *view, Relation index, const MembershipMeta *meta,
			   ElementClass class, Size probes)
{
	IndexCopy  *copy = view->copy;
	double		spent = copy->spent + pages_probe_cost(meta, probes);
	Size		bytes = pages_image_bytes(meta);
	uint8	   *image;

	Assert(view->snapshot != NULL && is_open(view->snapshot));
	Assert(copy->file == file_number(index));
	if (!cache_can_hold(bytes) || spent < COPY_COST * meta_pages(meta))
	{
		copy->spent = spent;
		return false;
	}
	/* an earlier error may have left memory behind */
	free_image(copy);
	/* count the memory first, to evict other items, but not this one */
	cache_resize(&copy->account, bytes);
	Assert(copy->account.bytes == bytes);
	image = allocate_image(copies, bytes, false, &copy->memory);
	pages_read(index, meta, class, image);
	copy->image = image;
	copy->inserted.written = own_insertions.written;
	return true;
}

/* ExecutorRun() begins; the caller keeps *query until views_end_run(). */
void
views_begin_run(RunningQuery *query, EState *estate)
{
	bool		resumes = !dlist_is_empty(&views) && !is_running(estate->es_snapshot);
	dlist_iter	iter;

	/*
	 * The query resumes with a snapshot that it or another query has used
	 * before.  Meanwhile the calling command may have inserted rows that the
	 * snapshot sees (insert.c).
	 */
	dlist_foreach(iter, &views)
	{
		IndexView  *view = dlist_container(IndexView, use, iter.cur);

		view->resumed |= resumes && view->snapshot == estate->es_snapshot;
	}
	query->estate = estate;
	query->outer = running_queries;
	running_queries = query;
}

/* ExecutorRun() ends, or fails. */
void
views_end_run(const RunningQuery *query)
{
	Assert(running_queries == query);
	running_queries = query->outer;
}

/* An error leaves the executor: the query will not be resumed. */
void
views_fail_query(EState *estate)
{
	OpenQuery  *query = find_query(estate);

	if (query)
		leave_query(query);
}

/*
 * Close the remaining views at the end of the transaction, which no query outlives.  After
 * an abort, snapmgr.c drops its list of registered snapshots before the memory of queries
 * is released, so the caller calls this first.
 */
void
views_end_transaction(bool aborts)
{
	if (aborts)
		close_views(NULL);
	Assert(dlist_is_empty(&views));
}
