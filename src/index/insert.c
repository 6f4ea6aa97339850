/*
 * insert.c
 *	  Inserts into a membership index.  Collects hashes in memory until somebody may read
 *	  the index.
 *
 * To set the bits of one element takes a page lock and a WAL record.  So the hashes that a
 * transaction inserts wait in memory, as many as add_prepare() allows, and are then written
 * together, many to each page.  A hash must be in the pages before anybody can see its row:
 *
 * - Other sessions see the row after the transaction has committed.  flush_before_commit()
 *	 writes all hashes before the transaction commits or is prepared.
 *
 * - This session sees the row in its next command, or, within the same command, in a
 *	 trigger or a volatile function that takes a new snapshot.  All code that reads an index
 *	 for a snapshot calls flush_pending() first.  The snapshot of a trigger can see rows
 *	 that the triggering command inserts later.  So callers that cache what they have read
 *	 recheck each negative answer with inserted_since(), unless the trigger's query has run
 *	 without a break since then (contains.c).
 *
 * - Workers of a parallel query cannot write the hashes.  But a query whose snapshot sees
 *	 the row was started after the insertion, and our ExecutorStart() hook writes the hashes
 *	 before it starts workers (events.c).
 *
 * Subtransactions.  The hashes are a log in the order of insertion, so those of the
 * innermost subtransaction are at its end.  When the subtransaction commits, they pass to
 * its parent; when it aborts, they are removed.  Neither can fail.
 *
 * Files.  TRUNCATE, REINDEX, CLUSTER and rewrites give the index another file, and a
 * rollback restores the old one.  So we store with each hash the number of the index's file
 * at the insertion.  If the index has another file when we write the hash, we write it to
 * that file (ALTER INDEX ... SET TABLESPACE copies the file as it is), and within a
 * subtransaction we also keep the hash, because a rollback may restore the old file.  ALTER
 * TABLE ... TYPE, if it need not rebuild an index, gives the index's file to a new index
 * and drops the old index: so all hashes are written before a relation is dropped.
 *
 * Layers.  The first insertion of a command makes sure that the file has a layer
 * (add_prepare()).  So if a file has none when a hash is written, it was built after the
 * insertion, without the row, and does not need the hash.
 *
 * Locks.  The executor releases its lock on the index at the end of the command.  At the
 * first insertion of a command we take another lock until the end of the (sub)transaction,
 * so that writing the hashes never waits for a relation lock.  The lock must not belong to
 * the portal's resource owner: a portal that fails in a later subtransaction loses its
 * locks.
 *
 * Under SERIALIZABLE, index_insert() checks for readers of the index before the bits are
 * set.  A reader that comes after this check, and before the bits are set, would neither
 * see the bits nor be noticed.  So we check again after setting them.
 */
#include "membership.h"

#include "access/relation.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/predicate.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

/*
 * Memory for a waiting hash: its entry in the log, counted twice because half of the log
 * may be unused; its entry in the list of flush_pending(); and four words for its bits in
 * "seen", for copies of the hash, and for add_hashes().  All waiting hashes fit into
 * maintenance_work_mem, unless that is too small for WAITING_LEAST.
 */
#define PENDING_BYTES \
	(2 * sizeof(PendingHash) + sizeof(HashInLog) + 4 * sizeof(uint64))

/* If more hashes than this wait, write them instead of searching them */
#define SEARCHED_MAX		16384

/* Initial room for hashes, which doubles when it is full */
#define PENDING_FIRST		64

/* Bits of "seen", a filter of the waiting hashes; a full log sets a sixteenth of them */
#define SEEN_BITS			(16 * pending.room)
#define WORD_BITS			((int) sizeof(uint64) * BITS_PER_BYTE)

/* A waiting hash */
typedef struct PendingHash
{
	uint64		hash;
	Oid			index;			/* InvalidOid: no need to write it again */
	FileNumber	inserted;		/* file of the index at the insertion */
	FileNumber	written;		/* file it was last written to, or 0 */
	SubTransactionId owner;		/* whose abort removes the hash */
} PendingHash;

typedef PendingHash *HashInLog;

static struct
{
	MemoryContext mcxt;			/* child of TopTransactionContext; NULL if no
								 * hashes wait */
	PendingHash *log;
	Size		count;
	Size		room;
	Size		flushed;		/* the first ones, already written; a rollback
								 * may need them again */
	uint64		flushed_at;		/* invalidation_count when they were written */
	uint64	   *seen;			/* SEEN_BITS; see is_pending() */
}			pending;

static bool committing = false; /* write each hash at once */

/* The state of insertions into an index, kept from row to row of a command */
typedef struct Inserter
{
	MembershipHasher hasher;
	SubTransactionId locked;	/* subtransaction that locked the index */
	uint64		written;		/* own_insertions.written when "room" was set */
	Size		room;			/* hashes that may wait */
} Inserter;

#define ST_SORT sort_by_index
#define ST_ELEMENT_TYPE HashInLog
#define ST_COMPARE(a, b) \
	((*(a))->index < (*(b))->index ? -1 : (*(a))->index > (*(b))->index)
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

OwnInsertions own_insertions;

static void
write_hashes(Relation index, uint64 *hashes, Size count)
{
	add_hashes(index, hashes, count, committing);
	own_insertions.written++;
	CheckForSerializableConflictIn(index, NULL, InvalidBlockNumber);
}

/* Discard the waiting hashes. */
static void
discard_pending(void)
{
	/* at the end of most transactions there is nothing */
	if (pending.mcxt == NULL)
		return;
	MemoryContextDelete(pending.mcxt);
	memset(&pending, 0, sizeof(pending));
}

/*
 * Write the hashes, all of one index, that the index's present file lacks.  Clears the
 * field "index" of those that no rollback may need again.
 */
static void
flush_index(const HashInLog *hashes, Size count)
{
	/* the index is locked since the first insertion, unless it was dropped */
	Relation	relation = try_relation_open(hashes[0]->index, NoLock);
	bool		exists = relation != NULL &&
		relation->rd_rel->relkind == RELKIND_INDEX &&
		relation->rd_indam->aminsert == membership_insert;
	FileNumber	file = exists ? file_number(relation) : 0;
	bool		rebuilding = ReindexIsProcessingIndex(hashes[0]->index);
	bool		may_roll_back = GetCurrentTransactionNestLevel() > 1;

	/* the new file is not ready while this session rebuilds the index */
	if (exists && !rebuilding)
	{
		uint64	   *to_write = MemoryContextAllocHuge(CurrentMemoryContext,
													  count * sizeof(uint64));
		Size		writes = 0;

		Assert(CheckRelationLockedByMe(relation, RowExclusiveLock, true));
		for (Size i = 0; i < count; i++)
			if (hashes[i]->written != file)
				to_write[writes++] = hashes[i]->hash;
		if (writes > 0)
			write_hashes(relation, to_write, writes);
		pfree(to_write);
	}
	for (Size i = 0; i < count && !rebuilding; i++)
	{
		if (exists)
			hashes[i]->written = file;
		if (!may_roll_back || (exists && file == hashes[i]->inserted))
			hashes[i]->index = InvalidOid;
	}
	if (relation)
		relation_close(relation, NoLock);
}

/* Remove from the log the hashes whose "index" flush_index() has cleared. */
static void
drop_written(void)
{
	Size		kept = 0;

	for (Size i = 0; i < pending.count; i++)
		if (OidIsValid(pending.log[i].index))
			pending.log[kept++] = pending.log[i];
	pending.count = kept;
	pending.flushed = kept;
	pending.flushed_at = invalidation_count;
	if (kept == 0)
		discard_pending();
}

/*
 * Write the waiting hashes to their pages.  After an error, some still wait although they
 * are written: writing them again does no harm.  Errors: those of add_hashes(); a cancel; a
 * serialization failure.
 */
void
flush_pending(void)
{
	MemoryContext mcxt;
	MemoryContext caller;
	HashInLog  *sorted;
	Size		here;

	/* nothing waits, or all hashes are in the present files */
	if (pending.count == pending.flushed &&
		(pending.count == 0 || pending.flushed_at == invalidation_count))
		return;
	mcxt = AllocSetContextCreate(CurrentMemoryContext, "membership flush",
								 ALLOCSET_DEFAULT_SIZES);
	caller = MemoryContextSwitchTo(mcxt);
	sorted = MemoryContextAllocHuge(mcxt, pending.count * sizeof(HashInLog));
	for (Size i = 0; i < pending.count; i++)
		sorted[i] = &pending.log[i];
	sort_by_index(sorted, pending.count);
	for (Size i = 0; i < pending.count; i += here)
	{
		for (here = 1; i + here < pending.count &&
			 sorted[i + here]->index == sorted[i]->index; here++)
			;
		/* skip hashes that are done, but were left in the log by an error */
		if (OidIsValid(sorted[i]->index))
			flush_index(sorted + i, here);
	}
	drop_written();
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(mcxt);
}

/* Set the hash's bit in "seen", which is_pending() tests first. */
static inline void
mark_pending(uint64 hash)
{
	pending.seen[hash % SEEN_BITS / WORD_BITS] |= UINT64CONST(1) << hash % WORD_BITS;
}

/* Is the hash waiting to be written to the index? */
static bool
is_pending(Oid index, uint64 hash)
{
	if (pending.count == 0)
		return false;
	if (pending.seen == NULL)
	{
		pending.seen = (uint64 *)
			MemoryContextAllocExtended(pending.mcxt, SEEN_BITS / BITS_PER_BYTE,
									   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
		for (Size i = 0; i < pending.count; i++)
			mark_pending(pending.log[i].hash);
	}
	if ((pending.seen[hash % SEEN_BITS / WORD_BITS] >> hash % WORD_BITS & 1) == 0)
		return false;
	for (Size i = 0; i < pending.count; i++)
		if (pending.log[i].hash == hash && pending.log[i].index == index)
			return true;
	return false;
}

/*
 * Has this session inserted the element into the index since *then, a copy of
 * own_insertions?  True is not certain: another session may have inserted the element, or
 * it may be a false positive.  Errors: those of flush_pending(), meta_read() and
 * pages_contain().
 */
bool
inserted_since(Relation index, const OwnInsertions *then, uint64 hash)
{
	MembershipMeta meta;

	if (pending.count - pending.flushed > SEARCHED_MAX)
		flush_pending();
	if (is_pending(RelationGetRelid(index), hash))
		return true;
	if (then->written == own_insertions.written)
		return false;
	meta_read(index, &meta);
	return pages_contain(index, &meta, hash);
}

/* Append a hash to the log; write all hashes if as many as "room" wait. */
static void
add_pending(Relation index, uint64 hash, Size room)
{
	Assert(CheckRelationLockedByMe(index, RowExclusiveLock, true));
	if (pending.mcxt == NULL)
	{
		MemoryContext mcxt = AllocSetContextCreate(TopTransactionContext,
												   "membership insertions",
												   ALLOCSET_DEFAULT_SIZES);

		/* an error here leaves an empty context and no state */
		pending.log = MemoryContextAlloc(mcxt, PENDING_FIRST * sizeof(PendingHash));
		pending.room = PENDING_FIRST;
		pending.mcxt = mcxt;
	}
	if (pending.count == pending.room)
	{
		if (pending.seen)
			pfree(pending.seen);
		pending.seen = NULL;
		pending.log = repalloc_huge(pending.log, 2 * pending.room * sizeof(PendingHash));
		pending.room *= 2;
	}
	pending.log[pending.count++] = (PendingHash)
		{
			.hash = hash,
				.index = RelationGetRelid(index),
				.inserted = file_number(index),
				.owner = GetCurrentSubTransactionId()
		};
	if (pending.seen)
		mark_pending(hash);
	if (pending.count - pending.flushed >= room)
		flush_pending();
}

/*
 * Make sure that the index has a layer with room, and set the number of hashes that may
 * wait.  Does so again after hashes were written to any index, because they may have taken
 * room from the layer.
 */
static void
prepare(Inserter *inserter, Relation index)
{
	if (inserter->room > 0 && inserter->written == own_insertions.written)
		return;
	inserter->room = add_prepare(index, membership_structure(&inserter->hasher),
								 (Size) maintenance_work_mem * 1024 / PENDING_BYTES);
	inserter->written = own_insertions.written;
}

/*
 * aminsert: queue the hashes of a row's elements or, during commit, write them.  Returns
 * false, because the index is not unique.  Errors: those of membership_hash() and
 * flush_pending().
 */
bool
membership_insert(Relation index, Datum *values, bool *nulls, ItemPointer tid,
				  Relation heap, IndexUniqueCheck unique, bool unchanged, IndexInfo *info)
{
	Inserter   *inserter = (Inserter *) info->ii_AmCache;
	Size		count;

	if (inserter == NULL)
	{
		inserter = (Inserter *)
			MemoryContextAllocZero(info->ii_Context, sizeof(Inserter));
		membership_hasher_init(&inserter->hasher, index, info->ii_Context);
		info->ii_AmCache = inserter;
	}
	count = membership_hash(&inserter->hasher, values, nulls);
	if (count == 0)
		return false;
	if (inserter->locked != GetCurrentSubTransactionId())
	{
		ResourceOwner caller = CurrentResourceOwner;

		CurrentResourceOwner = CurTransactionResourceOwner;
		LockRelationOid(RelationGetRelid(index), RowExclusiveLock);
		CurrentResourceOwner = caller;
		inserter->locked = GetCurrentSubTransactionId();
		inserter->room = 0;
	}
	own_insertions.made++;
	prepare(inserter, index);
	if (committing)
		write_hashes(index, inserter->hasher.hashes, count);
	else
		for (Size i = 0; i < count; i++)
		{
			add_pending(index, inserter->hasher.hashes[i], inserter->room);
			prepare(inserter, index);
		}
	return false;
}

/*
 * Write the waiting hashes, and from now on write each hash at once: other libraries'
 * callbacks may still insert before the commit.  Errors: those of flush_pending().
 */
void
flush_before_commit(void)
{
	committing = true;
	if (pending.count > 0)
		flush_pending();
}

/* Forget all hashes at the end of the transaction: they are written, or it has aborted. */
void
forget_pending(void)
{
	discard_pending();
	committing = false;
}

/* A subtransaction commits: its hashes pass to its parent. */
void
pass_pending(SubTransactionId subtransaction, SubTransactionId parent)
{
	for (Size i = pending.count; i > 0 && pending.log[i - 1].owner == subtransaction; i--)
		pending.log[i - 1].owner = parent;
}

/* A subtransaction aborts: remove its hashes. */
void
truncate_pending(SubTransactionId subtransaction)
{
	while (pending.count > 0 && pending.log[pending.count - 1].owner == subtransaction)
		pending.count--;
	pending.flushed = Min(pending.flushed, pending.count);
}
