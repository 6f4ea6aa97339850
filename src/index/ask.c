/*
 * ask.c
 *	  Asks the indexes of single tables whether these may have a key: for a scan that reads
 *	  only such partitions.
 *
 * While a plan is made, membership_index_for() tells which index answers for a condition.
 * When it is executed, membership_keys_make() and membership_keys_set() hash the values
 * that a column is compared with, once for all partitions, and membership_ask() looks them
 * up in one partition's index.
 *
 * Why a "no" is true.  As for membership_contains() (contains.c), with one difference: we
 * look at the time when the partition's scan would begin, and keep no answer.  Other
 * sessions wrote the elements of all rows that the snapshot sees before it was taken; our
 * own hashes that still wait are written before we look.  So the index has all rows that
 * the scan would find, even with a snapshot that sees rows of a command which is still
 * inserting.  The metapage is read once for a snapshot, and again after we have written
 * hashes: these may be in a new layer.
 *
 * Locks.  Locking and releasing an index would be a fourth of asking it.  As its table is
 * locked, nobody can drop it, but REINDEX and ALTER INDEX can give it another file.  We do
 * without its lock if
 *
 * - we have locked it since the relation cache has its entry, which is then of one moment:
 *	 one that is made without the lock may mix what was before a change with what came after;
 *
 * - invalidations have been read since the snapshot was taken.  Whoever wrote rows that it
 *	 sees had the index locked meanwhile, so an earlier change of its file is known to us;
 *
 * - its pages are still in the buffers that had them the last time.  Each names its file,
 *	 which has all rows that the snapshot sees, even if it has been replaced since.
 *
 * Otherwise we lock it until the end of the transaction, as core does with the indexes that
 * it scans.  If we would have to wait for that, or it has another file now, it is not asked.
 *
 * SERIALIZABLE: asking locks the whole index against insertions, as a scan of it does, so a
 * partition that is not read is locked by its index.
 */
#include "membership.h"

#include "access/relation.h"
#include "catalog/pg_class.h"
#include "functions/callsite.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/lmgr.h"
#include "storage/predicate.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

/* The values that a column is compared with */
struct MembershipKeys
{
	ElementHasher *hasher;		/* of the values */
	ElementClass class;			/* of the elements of the indexes */
	MemoryContext mcxt;			/* of what membership_keys_set() makes */
	uint64	   *hashes;			/* of the values */
	int			count;			/* of hashes */
	bool		comparable;		/* else the hashes say nothing */
};

/*
 * Can an index, of any method and open, tell that "column operator value" is false for all
 * rows?  The column is the table's; "collation" is that of the comparison.  Returns the
 * type by which to hash the value, or InvalidOid; sets *hashed_type to that by which the
 * index hashes.
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
 * The membership index of a table that answers for "column operator value", or InvalidOid;
 * sets *type to that by which to hash the value, and *hashed_type.  The planner has locked
 * the table.
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
 * Open an index of an open table, to be asked for rows that this snapshot sees.  NULL if it
 * cannot be read, now or by this process, or may lack some of these rows.  Its state is in
 * "mcxt".
 */
AskedIndex *
membership_ask_open(MemoryContext mcxt, Relation heap, Oid oid, Snapshot snapshot)
{
	Relation	index;
	AskedIndex *asked;

	if (!IsMVCCSnapshot(snapshot))
		return NULL;
	index = membership_open_below(heap, oid);
	if (index == NULL)
		return NULL;
	/* what was checked may have been changed meanwhile */
	if (snapshot_too_old(index, snapshot) || !membership_was_locked(index))
	{
		relation_close(index, NoLock);
		return NULL;
	}
	PredicateLockRelation(index, snapshot);
	asked = MemoryContextAllocZero(mcxt, sizeof(AskedIndex));
	asked->index = index;
	asked->file = file_number(index);
	return asked;
}

/* End what membership_ask_open() began; keeps locks. */
void
membership_ask_close(AskedIndex *asked)
{
	relation_close(asked->index, NoLock);
}

/*
 * Prepare to look up values of a type in an open index, and in others that hash alike: with
 * the same collation, and the two types that membership_index_for() has set for each.
 * Errors: those of membership_hasher_init().
 */
MembershipKeys *
membership_keys_make(MemoryContext mcxt, Relation index, Oid type)
{
	MembershipKeys *keys = MemoryContextAllocZero(mcxt, sizeof(MembershipKeys));
	MembershipHasher of_index;

	keys->hasher = element_hasher_create(type, index->rd_indcollation[0],
										 ELEMENT_LOCAL, NULL, mcxt);
	keys->mcxt = AllocSetContextCreate(mcxt, "membership keys",
									   ALLOCSET_SMALL_SIZES);
	membership_hasher_init(&of_index, index, keys->mcxt);
	/* a class that ALTER TYPE may change is not compared */
	keys->class = element_structure(of_index.hasher) == 0 ?
		of_index.hasher->class : ELEMENT_CLASS_NONE;
	return keys;
}

/*
 * Look up this value from now on, or the elements of an array; a NULL is equal to nothing.
 * Errors: those of element_hash().
 */
void
membership_keys_set(MembershipKeys *keys, Datum value, bool isnull,
					bool is_array)
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
 * Read the metapage, unless it cannot have changed for this snapshot: a newer layer has no row
 * that it sees, unless that is our own.  NULL if *unread becomes true, as by
 * pages_contain_recent().
 */
static const MembershipMeta *
current_meta(AskedIndex *asked, bool *unread)
{
	MembershipMeta meta;
	Size		size;

	if (asked->meta != NULL && asked->written == own_insertions.written)
		return asked->meta;
	if (unread == NULL)
		meta_read(asked->index, &meta);
	else if (!meta_read_recent(asked->index, &meta))
	{
		*unread = true;
		return NULL;
	}
	size = offsetof(MembershipMeta, layer) + meta.layers * sizeof(MembershipLayer);
	if (asked->meta)
		pfree(asked->meta);
	asked->meta = MemoryContextAlloc(GetMemoryChunkContext(asked), size);
	memcpy(asked->meta, &meta, size);
	asked->written = own_insertions.written;
	return asked->meta;
}

/* Does an index contain one of the keys?  "unread" as for pages_contain_recent() */
static bool
has_key(const MembershipKeys *keys, AskedIndex *asked, bool *unread)
{
	const MembershipMeta *meta = current_meta(asked, unread);
	bool		found = false;

	for (int i = 0; i < keys->count && !found && meta != NULL; i++)
	{
		CHECK_FOR_INTERRUPTS();
		found = pages_contain_recent(asked->index, meta, keys->hashes[i], unread);
	}
	return found;
}

/*
 * May the table of an index have rows with one of the keys?  False is certain.  Errors:
 * those of flush_pending() and of reading its pages.
 */
bool
membership_ask(const MembershipKeys *keys, AskedIndex *asked)
{
	Relation	index = asked->index;
	bool		unread = false;
	bool		found = false;

	if (!keys->comparable)
		return true;
	flush_pending();
	pgstat_count_index_scan(index);
	pgstat_count_index_tuples(index, keys->count);
	if (keys->count == 0)
		return false;
	if (membership_was_locked(index))
		found = has_key(keys, asked, &unread);
	/* an entry that has changed meanwhile has lost the note */
	if (unread || !membership_was_locked(index))
		found = !ConditionalLockRelation(index, AccessShareLock) ||
			file_number(index) != asked->file || has_key(keys, asked, NULL);
	if (found)
		pgstat_count_heap_fetch(index);
	return found;
}
