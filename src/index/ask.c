/*
 * ask.c
 *	  Probes the indexes of single partitions, so that a scan reads only the partitions that
 *	  may contain a key.
 *
 * At plan time, membership_index_for() finds the index that can answer for a condition.  At
 * execution, membership_keys_make() and membership_keys_set() hash the values that a column
 * is compared with, once for all partitions.  membership_ask_open() opens the index of one
 * partition, and membership_ask() probes it with these hashes.
 *
 * Why "false" is certain.  The reasons are those of membership_contains() (contains.c),
 * with one difference: we probe when the partition's scan would begin, and cache no answer.
 * Other sessions wrote the elements of all rows that the snapshot sees before the snapshot
 * was taken; our own waiting hashes are written before we probe.  So the index has all rows
 * that the scan would find, even if the snapshot sees rows of a command that is still
 * inserting.  We keep the metapage for snapshots that see the same transactions, and read
 * it again after we have written hashes, because these may be in a new layer.
 *
 * Locks.  We skip an index whose lock is not free.  We keep the lock until the end of the
 * transaction, as core keeps those of the indexes that it scans.  Under SERIALIZABLE, a
 * probe takes a predicate lock on the whole index, as an index scan does, so a partition
 * that is skipped is protected by its index.
 */
#include "membership.h"

#include "access/relation.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/pg_class.h"
#include "functions/callsite.h"
#include "pgstat.h"
#include "storage/lmgr.h"
#include "storage/predicate.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

/* Values to look up, and their hashes */
struct MembershipKeys
{
	ElementHasher *hasher;		/* of the values */
	ElementClass class;			/* of the elements of the indexes */
	uint64		stored;			/* membership_structure() of the indexes */
	MemoryContext mcxt;			/* holds the hashes */
	Snapshot	snapshot;
	uint64		seen;			/* its snapshot_number() */
	uint64	   *hashes;			/* of the values */
	int			count;			/* of hashes */
	bool		comparable;		/* false: "no" would not be certain */
};

/*
 * What we know of an index, kept in rd_amcache for snapshots with the same snapshot_number():
 * its metapage, and whether it may be asked.  Layers that other sessions have added since
 * contain no rows that such a snapshot sees.
 */
typedef struct KeptMeta
{
	uint64		seen;			/* snapshot_number() */
	uint64		written;		/* own_insertions.written */
	Oid			table;			/* for which it may be asked, or InvalidOid */
	MembershipMeta meta;		/* only the first meta_size() bytes */
} KeptMeta;

/*
 * Can an open index, of any access method, prove that "column operator value" is false for
 * all rows?  "column" is a column of the table, "collation" the collation of the
 * comparison.  Returns the type by which to hash the value, or InvalidOid if the index
 * cannot; sets *hashed_type to the type by which the index hashes.
 */
static Oid
key_of_index(Relation index, AttrNumber column, Oid operator, Oid collation,
			 Oid *hashed_type)
{
	Oid			left;
	Oid			right;

	if (index->rd_rel->relkind != RELKIND_INDEX ||
		index->rd_indam->aminsert != membership_insert ||
		!index->rd_index->indisvalid ||
		IndexRelationGetNumberOfKeyAttributes(index) != 1 ||
		index->rd_index->indkey.values[0] != column ||
		RelationGetIndexPredicate(index) != NIL ||
		index->rd_indcollation[0] != collation ||
		get_op_opfamily_strategy(operator, index->rd_opfamily[0]) != STRATEGY_EQUAL ||
		membership_of_arrays(index))
		return InvalidOid;
	op_input_types(operator, &left, &right);
	*hashed_type = membership_hashed_type(index, 0);
	return membership_key_type(index, 0, right, get_opcode(operator));
}

/*
 * Find a membership index of a table for which key_of_index() is valid, or InvalidOid; sets
 * *type to the result of key_of_index(), and *hashed_type.  The planner has locked the
 * table.
 */
Oid
membership_index_for(Oid table, AttrNumber column, Oid operator, Oid collation,
					 Oid *type, Oid *hashed_type)
{
	Relation	relation = relation_open(table, NoLock);
	List	   *oids = RelationGetIndexList(relation);
	Oid			found = InvalidOid;
	ListCell   *cell;

	relation_close(relation, NoLock);
	foreach(cell, oids)
	{
		Relation	index = relation_open(lfirst_oid(cell), AccessShareLock);

		*type = key_of_index(index, column, operator, collation, hashed_type);
		relation_close(index, NoLock);
		if (OidIsValid(*type))
		{
			found = lfirst_oid(cell);
			break;
		}
	}
	list_free(oids);
	return found;
}

/*
 * Prepare to look up values of "type" for rows that this snapshot sees: in "index", and in
 * other indexes with the same collation for which membership_index_for() sets the same two
 * types.  Errors: those of membership_hasher_init().
 */
MembershipKeys *
membership_keys_make(MemoryContext mcxt, Relation index, Oid type, Snapshot snapshot)
{
	MembershipKeys *keys = MemoryContextAllocZero(mcxt, sizeof(MembershipKeys));
	MembershipHasher of_index;

	keys->hasher = element_hasher_create(type, index->rd_indcollation[0],
										 ELEMENT_LOCAL, NULL, mcxt);
	keys->snapshot = snapshot;
	keys->seen = snapshot_number(snapshot);
	keys->mcxt = AllocSetContextCreate(mcxt, "membership keys", ALLOCSET_SMALL_SIZES);
	membership_hasher_init(&of_index, index, keys->mcxt);
	/* ALTER TYPE may change the class: then do not rely on hashes */
	keys->stored = membership_structure(&of_index);
	keys->class = element_structure(of_index.hasher) == 0 ?
		of_index.hasher->class : ELEMENT_CLASS_NONE;
	return keys;
}

/*
 * Set the value to look up or, if is_array, the array whose elements to look up.  A NULL
 * equals nothing.  Errors: those of element_hash().
 */
void
membership_keys_set(MembershipKeys *keys, Datum value, bool isnull, bool is_array)
{
	ArrayElements elements = {.count = isnull ? 0 : 1, .values = &value};
	MemoryContext caller;

	MemoryContextReset(keys->mcxt);
	caller = MemoryContextSwitchTo(keys->mcxt);
	if (is_array && !isnull)
	{
		ArrayType  *array = DatumGetArrayTypeP(value);

		elements = array_elements(array, lookup_type_cache(ARR_ELEMTYPE(array), 0));
	}
	keys->count = elements.count;
	keys->hashes = palloc_extended(keys->count * sizeof(uint64), MCXT_ALLOC_HUGE);
	keys->comparable = keys->class != ELEMENT_CLASS_NONE;
	for (int i = 0; i < keys->count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		keys->hashes[i] = element_hash(keys->hasher, elements.values[i], 0);
		keys->comparable &= keys->hasher->class == keys->class;
	}
	MemoryContextSwitchTo(caller);
}

/*
 * Copy the metapage of an index to *meta, with all layers that may contain rows which the
 * keys' snapshot sees.
 */
static void
get_layers(const MembershipKeys *keys, Relation index, MembershipMeta *meta)
{
	KeptMeta   *kept = index->rd_amcache;

	if (kept != NULL && kept->seen == keys->seen && kept->written == own_insertions.written)
	{
		memcpy(meta, &kept->meta, meta_size(&kept->meta));
		return;
	}
	meta_read(index, meta);
	index->rd_amcache = NULL;
	if (kept != NULL)
		pfree(kept);
	kept = MemoryContextAlloc(index->rd_indexcxt,
							  offsetof(KeptMeta, meta) + meta_size(meta));
	kept->seen = keys->seen;
	kept->written = own_insertions.written;
	kept->table = InvalidOid;
	memcpy(&kept->meta, meta, meta_size(meta));
	index->rd_amcache = kept;
}

/* What we have kept of an index for the keys' snapshot, or NULL */
static KeptMeta *
get_kept(const MembershipKeys *keys, Relation index)
{
	KeptMeta   *kept = index->rd_amcache;

	return kept != NULL && kept->seen == keys->seen ? kept : NULL;
}

/*
 * The result of membership_may_ask(), from what we have kept if we can: that function reads
 * memory that a lookup does not need otherwise.  For a snapshot with the same number, a result
 * of true can change only by an invalidation of the index, at which core frees rd_amcache, or
 * by what we test again here.
 */
static bool
may_ask_again(const MembershipKeys *keys, Relation heap, Relation index, Snapshot snapshot)
{
	const Oid	table = RelationGetRelid(heap);
	KeptMeta   *kept = keys != NULL ? get_kept(keys, index) : NULL;

	if (kept != NULL && kept->table == table)
	{
		Assert(index->rd_index->indrelid == table);
		Assert(index->rd_index->indisvalid && !index->rd_index->indcheckxmin);
		return !ReindexIsProcessingIndex(RelationGetRelid(index)) &&
			!table_is_distributed(table);
	}
	if (!membership_may_ask(heap, index, snapshot))
		return false;
	/* read it anew: an invalidation may have been processed */
	kept = keys != NULL ? get_kept(keys, index) : NULL;
	/* indcheckxmin is also about older snapshots that the transaction has */
	if (kept != NULL && !index->rd_index->indcheckxmin)
		kept->table = table;
	return true;
}

/*
 * Open an index of an open table, to probe it for rows that this snapshot sees, and lock it
 * until the end of the transaction.  NULL if the lock is not free, or if the index may not be
 * asked.  "keys" are for the same snapshot, or NULL.  The caller closes the index by
 * RelationClose().
 */
Relation
membership_ask_open(const MembershipKeys *keys, Relation heap, Oid oid, Snapshot snapshot)
{
	Relation	index;

	Assert(keys == NULL || keys->snapshot == snapshot);
	if (!IsMVCCSnapshot(snapshot) || !ConditionalLockRelationOid(oid, AccessShareLock))
		return NULL;
	/* faster than try_relation_open(), which searches the syscache first */
	index = RelationIdGetRelation(oid);
	if (index == NULL)
		return NULL;
	/* what else try_relation_open() does; this, only if it makes a difference */
	if (index->pgstat_enabled != pgstat_track_counts)
		pgstat_init_relation(index);
	Assert(!RelationUsesLocalBuffers(heap) ||
		   (MyXactFlags & XACT_FLAGS_ACCESSEDTEMPNAMESPACE));
	if (may_ask_again(keys, heap, index, snapshot))
		return index;
	RelationClose(index);
	return NULL;
}

/*
 * Prefetch the cache lines that membership_ask() will read for the first key, of buffers
 * that page_recent() knows.
 */
void
membership_ask_soon(const MembershipKeys *keys, Relation index)
{
	const KeptMeta *kept = index->rd_amcache;

	if (kept != NULL && keys->count > 0)
		pages_prefetch(index, &kept->meta, keys->hashes[0]);
}

/*
 * May the table of an index have a row that the keys' snapshot sees, and that has one of
 * the keys?  False is certain.  Errors: those of flush_pending() and of reading the index's
 * pages.
 */
bool
membership_ask(const MembershipKeys *keys, Relation index)
{
	MembershipMeta meta;
	bool		found = false;

	if (!keys->comparable)
		return true;
	flush_pending();
	PredicateLockRelation(index, keys->snapshot);
	pgstat_count_index_scan(index);
	pgstat_count_index_tuples(index, keys->count);
	if (keys->count == 0)
		return false;
	get_layers(keys, index, &meta);
	found = !membership_has_structure(&meta, keys->stored);
	for (int i = 0; i < keys->count && !found; i++)
	{
		CHECK_FOR_INTERRUPTS();
		found = pages_contain(index, &meta, keys->hashes[i]);
	}
	if (found)
		pgstat_count_heap_fetch(index);
	return found;
}
