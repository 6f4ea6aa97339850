/*
 * membership_insert.c
 *	  Keeping a membership index: insertions, gathered until somebody may look.
 *
 * To set an element's bits takes a WAL record, and comparing a page of 8 kB
 * (generic_xlog.c).  So the hashes of a transaction's insertions wait, up to
 * PENDING_MAX of them, and then go to their pages together, many to a page.
 *
 * They are in the pages before anybody can see their rows:
 *
 * - other sessions see them when the transaction has committed, or is prepared
 *	 and has committed later: all are written before that (XACT_EVENT_PRE_COMMIT,
 *	 XACT_EVENT_PRE_PREPARE).  What is inserted after that moment, by another
 *	 library's callback, is not gathered;
 *
 * - this session sees them at its next command, or within the same one from a
 *	 trigger or a volatile function, by a new snapshot: whatever reads an index calls
 *	 flush_pending() before it reads for a snapshot.  The snapshot of a trigger may see
 *	 rows that the command which fired it inserts later, and is the same for the
 *	 next row; so who keeps what he read asks inserted_since() where that says no;
 *
 * - workers of a parallel query cannot do so: they are begun by a query for which
 *	 ExecutorStart() was called in this session after the insertion (an
 *	 earlier query's snapshot does not see the row), and a hook there writes
 *	 what waits.
 *
 * Before any relation is dropped, too: ALTER TABLE ... TYPE that has no need to
 * rebuild an index gives its file to a new one, and drops it.
 *
 * What waits belongs to the current subtransaction or ones that it has
 * absorbed, for all is written when another begins.  So the locks that the
 * insertions took are still held when it is written, and what an aborted
 * subtransaction leaves is thrown away, while a TRUNCATE that it rolls back
 * brings an index back that has all that was inserted before.
 *
 * Under SERIALIZABLE, index_insert() has looked for readers of the index before
 * the bits are set.  One that comes in between would neither see the bits nor
 * be seen, so it is looked for again when they have been set.
 */
#include "membership.h"

#include "access/parallel.h"
#include "access/relation.h"
#include "access/xact.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "storage/predicate.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

/*
 * Hashes that wait, of all indexes together: 128 kB.  With this many, 80 go to
 * a page of an index of a million elements, 8 of one of ten million.
 */
#define PENDING_MAX			16384

/* Room for the first hashes of an index; it doubles */
#define PENDING_FIRST		16

/* Indexes expected at once; the table grows beyond */
#define PENDING_INDEXES		16

/*
 * Bits of what tells quickly that a hash does not wait: of PENDING_MAX hashes one
 * in sixteen seems to.
 */
#define SEEN_BITS			(16 * PENDING_MAX)
#define WORD_BITS			((int) sizeof(uint64) * BITS_PER_BYTE)

/* Hashes that wait for an index */
typedef struct Pending
{
	Oid			index;			/* hash key */
	uint32		count;
	uint32		room;
	uint64	   *hashes;
} Pending;

static struct
{
	HTAB	   *indexes;		/* of Pending; NULL if there are none */
	MemoryContext mcxt;			/* below TopTransactionContext */
	uint32		count;			/* hashes, of all indexes */
	uint64	   *seen;			/* SEEN_BITS, if anybody has asked what waits */
	bool		direct;			/* the transaction is about to commit */
}			pending;

OwnInsertions own_insertions;

static ExecutorStart_hook_type previous_executor_start = NULL;
static object_access_hook_type previous_object_access = NULL;

static void
add_hashes(Relation index, uint64 *hashes, Size count)
{
	pages_add(index, hashes, count);
	own_insertions.written++;
	CheckForSerializableConflictIn(index, NULL, InvalidBlockNumber);
}

/* Throw away what waits. */
static void
forget_pending(void)
{
	if (pending.mcxt)
		MemoryContextDelete(pending.mcxt);
	pending.mcxt = NULL;
	pending.indexes = NULL;
	pending.seen = NULL;
	pending.count = 0;
}

/*
 * Write what waits.  An error leaves the rest waiting; it ends the transaction, or
 * the subtransaction that it belongs to.
 */
void
flush_pending(void)
{
	HASH_SEQ_STATUS scan;
	Pending    *of_index;

	if (pending.count == 0)
		return;
	hash_seq_init(&scan, pending.indexes);
	while ((of_index = (Pending *) hash_seq_search(&scan)) != NULL)
	{
		/* the lock is held, unless the index has been dropped since */
		Relation	index = of_index->count > 0 ?
			try_relation_open(of_index->index, RowExclusiveLock) : NULL;

		if (index == NULL)
			continue;
		if (is_membership(index))
			add_hashes(index, of_index->hashes, of_index->count);
		relation_close(index, NoLock);
		pending.count -= of_index->count;
		of_index->count = 0;
	}
	forget_pending();
}

static inline void
see(uint64 hash)
{
	pending.seen[hash % SEEN_BITS / WORD_BITS] |=
		UINT64CONST(1) << hash % WORD_BITS;
}

/* Does this hash wait for the index? */
static bool
is_pending(Oid index, uint64 hash)
{
	Pending    *of_index;
	HASH_SEQ_STATUS scan;

	if (pending.count == 0)
		return false;
	if (pending.seen == NULL)
	{
		pending.seen = (uint64 *) MemoryContextAllocZero(pending.mcxt,
														 SEEN_BITS / BITS_PER_BYTE);
		hash_seq_init(&scan, pending.indexes);
		while ((of_index = (Pending *) hash_seq_search(&scan)) != NULL)
			for (uint32 i = 0; i < of_index->count; i++)
				see(of_index->hashes[i]);
	}
	if ((pending.seen[hash % SEEN_BITS / WORD_BITS] >> hash % WORD_BITS & 1) == 0)
		return false;
	of_index = (Pending *) hash_search(pending.indexes, &index, HASH_FIND, NULL);
	for (uint32 i = 0; of_index && i < of_index->count; i++)
		if (of_index->hashes[i] == hash)
			return true;
	return false;
}

/*
 * Has this session inserted the element into the index since then?  What it has
 * not may be found, too.
 */
bool
inserted_since(Relation index, const OwnInsertions *then, uint64 hash)
{
	MembershipMeta meta;

	if (is_pending(RelationGetRelid(index), hash))
		return true;
	if (then->written == own_insertions.written)
		return false;
	meta_read(index, &meta);
	return pages_contain(index, &meta, hash);
}

static void
add_pending(Relation index, uint64 hash)
{
	Pending    *of_index;
	Oid			oid = RelationGetRelid(index);
	bool		known;

	if (pending.mcxt == NULL)
	{
		HASHCTL		info = {
			.keysize = sizeof(Oid),
			.entrysize = sizeof(Pending)
		};

		pending.mcxt = AllocSetContextCreate(TopTransactionContext,
											 "membership insertions",
											 ALLOCSET_DEFAULT_SIZES);
		info.hcxt = pending.mcxt;
		pending.indexes = hash_create("membership insertions",
									  PENDING_INDEXES, &info,
									  HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	of_index = (Pending *) hash_search(pending.indexes, &oid, HASH_ENTER,
									   &known);
	if (!known)
	{
		of_index->count = 0;
		of_index->room = PENDING_FIRST;
		of_index->hashes = (uint64 *)
			MemoryContextAlloc(pending.mcxt, PENDING_FIRST * sizeof(uint64));
	}
	if (of_index->count == of_index->room)
	{
		of_index->hashes = (uint64 *)
			repalloc(of_index->hashes, 2 * of_index->room * sizeof(uint64));
		of_index->room *= 2;
	}
	of_index->hashes[of_index->count++] = hash;
	if (pending.seen)
		see(hash);
	if (++pending.count >= PENDING_MAX)
		flush_pending();
}

/* aminsert */
bool
membership_insert(Relation index, Datum *values, bool *nulls,
				  ItemPointer tid, Relation heap, IndexUniqueCheck unique,
				  bool unchanged, IndexInfo *info)
{
	MembershipHasher *hasher = (MembershipHasher *) info->ii_AmCache;
	uint64		hash;

	if (hasher == NULL)
	{
		hasher = (MembershipHasher *)
			MemoryContextAlloc(info->ii_Context, sizeof(MembershipHasher));
		membership_hasher_init(hasher, index, info->ii_Context);
		info->ii_AmCache = hasher;
	}
	if (!membership_hash(hasher, index, values, nulls, &hash))
		return false;
	own_insertions.made++;
	if (!pending.direct)
	{
		add_pending(index, hash);
		return false;
	}
	add_hashes(index, &hash, 1);
	return false;
}

static void
at_transaction_event(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PRE_PREPARE:
			flush_pending();
			pending.direct = true;
			break;
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_PREPARE:
		case XACT_EVENT_ABORT:
			forget_pending();
			pending.direct = false;
			break;
		case XACT_EVENT_PARALLEL_PRE_COMMIT:
		case XACT_EVENT_PARALLEL_COMMIT:
		case XACT_EVENT_PARALLEL_ABORT:
			break;				/* workers insert nothing */
	}
}

static void
at_subtransaction_event(SubXactEvent event, SubTransactionId subtransaction,
						SubTransactionId parent, void *arg)
{
	if (event == SUBXACT_EVENT_START_SUB)
	{
		/*
		 * An error here would end the session where the one who begins it is
		 * himself in a subtransaction, and catches it.  So a cancel has to
		 * wait.
		 */
		HOLD_INTERRUPTS();
		flush_pending();
		RESUME_INTERRUPTS();
	}
	else if (event == SUBXACT_EVENT_ABORT_SUB)
		forget_pending();
}

static void
start_executor(QueryDesc *query, int eflags)
{
	if (pending.count > 0 && query->plannedstmt->parallelModeNeeded)
		flush_pending();
	if (previous_executor_start)
		previous_executor_start(query, eflags);
	else
		standard_ExecutorStart(query, eflags);
}

static void
access_object(ObjectAccessType access, Oid class, Oid object, int column,
			  void *arg)
{
	if (access == OAT_DROP && class == RelationRelationId)
		flush_pending();
	if (previous_object_access)
		previous_object_access(access, class, object, column, arg);
}

/* When the library is loaded */
void
membership_insert_init(void)
{
	RegisterXactCallback(at_transaction_event, NULL);
	RegisterSubXactCallback(at_subtransaction_event, NULL);
	previous_executor_start = ExecutorStart_hook;
	ExecutorStart_hook = start_executor;
	previous_object_access = object_access_hook;
	object_access_hook = access_object;
}
