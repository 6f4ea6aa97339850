/*
 * view.c
 *	  Views: a membership index as one snapshot sees it.
 *
 * All call sites of the session that probe an index with the same snapshot share a view,
 * because the scan of each partition has a call site of its own.  A view probes the pages
 * of the index until that has cost as much as reading the whole index; then it reads all of
 * it, and answers from memory.  The copy lacks what is inserted later.  Its snapshot cannot
 * see that, so the copy is valid for this snapshot, and for others that see the same
 * transactions: when a view closes, its copy, or what was spent, remains for the next view
 * of such a snapshot.  The transactions that it does not see are those that ran at the time,
 * and later ones.  As long as these are the same, none has ended.  This session's own
 * transaction is not among them, so nothing remains if we have inserted since.  A
 * SERIALIZABLE transaction has to find what another, which still runs, has inserted before
 * it took its predicate lock, and so takes no such copy.
 *
 * Which snapshot.  The address of its snapshot identifies a view.  The view keeps it
 * registered, with its own resource owner, so that the address is not used again, and
 * snapmgr.c lets nobody change the snapshot.  If we held it longer than its query, it would
 * be in the way of UpdateActiveSnapshotCommandId(), and of VACUUM: call sites of simple
 * expressions in PL/pgSQL live to the end of the transaction.  So a view is made only while
 * the executor runs a query with its snapshot, and is closed with the last noted query that
 * has it, or earlier, with its last call site.  We note those that run when a call site
 * joins the view, and those that may fire AFTER triggers: to note each query would cost
 * those that probe no index.  Two events show that a query is gone: the release of the
 * memory of its executor state, and an error that leaves ExecutorRun() or ExecutorFinish().
 * We need both, because ExecutorEnd() is not called for a query that fails, and the memory
 * of a cursor that fails lives to the end of the transaction.
 *
 * Where no query has the snapshot, as in a simple expression of a volatile function, which
 * has a new one each time, there is no view, and the caller reads the pages.
 */
#include "membership.h"

#include "access/xact.h"
#include "nodes/execnodes.h"
#include "pgstat.h"
#include "value/stored.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

/* Cost of copying a page, in units of probing one: measured, 1 and 0.3 microseconds */
#define COPY_COST			3.0

/* With more running transactions in a snapshot, the next one hardly ever sees the same. */
#define RUNNING_MAX			32

/* All open views */
static dlist_head views = DLIST_STATIC_INIT(views);

/* The copies without a view, the one left last first; and the memory of all copies */
static dlist_head unused_copies = DLIST_STATIC_INIT(unused_copies);
static MemoryContext copies = NULL;

/* Owns the registered snapshots of views; NULL before the first view */
static ResourceOwner owner = NULL;

/* The calls of ExecutorRun() in progress, the innermost first */
static RunningQuery *running_queries = NULL;

/* A noted query, until its end; allocated in its own memory */
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

/* A noted query, or NULL */
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

/* How many of a snapshot's subtransactions count?  If there are too many, it has none. */
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

/*
 * A number for what a snapshot sees of other sessions' transactions.  A later snapshot with
 * the same number sees the same; one that sees the same may have another number.  Not so of
 * SERIALIZABLE transactions, which have to find what they do not see.
 */
uint64
snapshot_number(Snapshot snapshot)
{
	static SnapshotData last;	/* its content; not a snapshot to be used */
	static TransactionId running[RUNNING_MAX];	/* its xip, and then subxip */
	static FullTransactionId next;	/* then; without the epoch, the XIDs may
									 * be of another time */
	static uint64 number = 0;
	const uint32 subs = subtransactions(snapshot);
	const FullTransactionId now = ReadNextFullTransactionId();

	if (number > 0 && !IsolationIsSerializable() && see_the_same(&last, snapshot) &&
		U64FromFullTransactionId(now) - U64FromFullTransactionId(next) < MaxTransactionId / 2)
		return number;
	last = *snapshot;
	if (snapshot->xcnt + subs > RUNNING_MAX || IsolationIsSerializable())
		last.xmax = InvalidTransactionId;	/* as no snapshot has it */
	else
	{
		last.xip = running;
		last.subxip = running + snapshot->xcnt;
		last.subxcnt = subs;
		for (uint32 i = 0; i < snapshot->xcnt; i++)
			last.xip[i] = snapshot->xip[i];
		for (uint32 i = 0; i < subs; i++)
			last.subxip[i] = snapshot->subxip[i];
	}
	next = now;
	return ++number;
}

/* ---- Copies ---- */

/* Free the image; the pages are probed again. */
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

/* CacheItem's evict().  Nobody is reading the copy: a reader calls no code that evicts. */
static void
evict_copy(CacheItem *item)
{
	IndexCopy  *copy = (IndexCopy *) ((char *) item - offsetof(IndexCopy, account));

	if (copy->unused)
		free_copy(copy);
	else
		free_image(copy);
}

/* Has this session inserted nothing since? */
static inline bool
is_last_insertion(const OwnInsertions *then)
{
	return memcmp(then, &own_insertions, sizeof(OwnInsertions)) == 0;
}

/* Find, or make, an unused copy for a new view, and leave it so. */
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
	copy->account.evict = evict_copy;
	copy->unused = true;
	dlist_push_head(&unused_copies, &copy->node);
	return copy;
}

/* Give an unused copy to a view. */
static void
use_copy(IndexView *view, IndexCopy *copy)
{
	dlist_delete(&copy->node);
	copy->unused = false;
	view->copy = copy;
	cache_remove(&copy->account);
	if (copy->image)
		cache_resize(&copy->account, image_bytes(copy->image));
}

/*
 * Keep the copy of a view that closes, if another one may use it.  No errors, and no locks: an
 * error that leaves a query may have left the server's held.
 */
static void
leave_copy(IndexView *view)
{
	IndexCopy  *copy = view->copy;

	view->copy = NULL;
	copy->unused = true;
	copy->inserted = view->inserted;
	copy->seen = view->seen;
	dlist_push_head(&unused_copies, &copy->node);
	/* there is nothing to keep, or an error has left memory without an image */
	if ((copy->image == NULL && (copy->spent == 0 || copy->memory != NULL)) ||
		!is_last_insertion(&copy->inserted))
	{
		free_copy(copy);
		return;
	}
	cache_resize(&copy->account, sizeof(IndexCopy) +
				 (copy->image ? image_bytes(copy->image) : 0));
}

/* ---- Views ---- */

/* Close a view: it answers no more probes. */
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

/* Callback when the memory of an executor state is released */
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

/* Stop using a view, which may be NULL.  Frees it if it has no other call site.  No errors. */
void
view_leave(IndexView *view)
{
	if (view == NULL || --view->sites > 0)
		return;
	close_view(view);
	MemoryContextDelete(view->mcxt);
}

/*
 * Find or make the view of an index, which the caller has locked, for one more call site; it
 * is of the file that the index has now.  NULL if the executor runs no query with the
 * snapshot; otherwise the caller calls view_leave() in the end.
 */
IndexView *
view_join(Relation index, Snapshot snapshot)
{
	IndexView  *view;
	IndexCopy  *copy;
	uint64		seen;
	MemoryContext mcxt;
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
	seen = snapshot_number(snapshot);
	copy = find_copy(index, seen);
	/* CurrentMemoryContext, so that an error before it is listed frees it */
	mcxt = AllocSetContextCreate(CurrentMemoryContext, "membership view",
								 ALLOCSET_SMALL_SIZES);
	view = (IndexView *) MemoryContextAllocZero(mcxt, sizeof(IndexView));
	view->index = RelationGetRelid(index);
	view->file = file_number(index);
	view->mcxt = mcxt;
	view->inserted = own_insertions;
	view->seen = seen;
	view->sites = 1;
	view->snapshot = RegisterSnapshotOnOwner(snapshot, owner);
	/* not a copy: then the address would differ from the active snapshot's */
	Assert(view->snapshot == snapshot);
	MemoryContextSetParent(mcxt, TopMemoryContext);
	use_copy(view, copy);
	dlist_push_head(&views, &view->use);
	pgstat_count_index_scan(index);
	return view;
}

/*
 * Copy the whole index to view->copy if that pays before "probes" more probes: if those of
 * pages so far and these cost as much.  If not, adds their cost to its "spent" and returns
 * false, and the caller probes the pages.  The view is open and has no image; "class" is that
 * of the index's elements.  Errors: those of pages_read().
 *
 * To make room, evicts what was used longest ago; other views then probe pages again until
 * that has cost as much as another copy.
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
	Assert(view->file == file_number(index));
	if (!cache_can_hold(bytes) || spent < COPY_COST * meta_pages(meta))
	{
		copy->spent = spent;
		return false;
	}
	cache_make_room(bytes);
	/* memory that an error has left behind */
	free_image(copy);
	image = allocate_image(copies, bytes, false, &copy->memory);
	pages_read(index, meta, class, image);
	copy->image = image;
	cache_resize(&copy->account, bytes);
	Assert(copy->image == image);
	view->inserted.written = own_insertions.written;
	return true;
}

/* ExecutorRun() begins; "query" is the caller's, until views_end_run(). */
void
views_begin_run(RunningQuery *query, EState *estate)
{
	bool		resumes = !dlist_is_empty(&views) && !is_running(estate->es_snapshot);
	dlist_iter	iter;

	/*
	 * The query goes on, with a snapshot that it or other queries have used
	 * before.  Meanwhile the command that called it may have inserted rows
	 * that the snapshot sees: see insert.c.
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

/* An error leaves the executor: nobody goes on with the query. */
void
views_fail_query(EState *estate)
{
	OpenQuery  *query = find_query(estate);

	if (query)
		leave_query(query);
}

/*
 * Close what views are left.  No query outlives its transaction.  If that aborts, snapmgr.c
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
