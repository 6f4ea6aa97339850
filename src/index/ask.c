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
 * inserting.  The metapage is kept for snapshots that see the same, and read again after we
 * have written hashes: these may be in a new layer.
 *
 * Locks.  An index that we would have to wait for is not asked.  The lock is kept until the
 * end of the transaction, as core keeps those of the indexes that it scans.  SERIALIZABLE:
 * asking locks the whole index against insertions, as a scan of it does, so a partition
 * that is not read is locked by its index.
 */
#include "membership.h"

#include "access/relation.h"
#include "catalog/pg_class.h"
#include "functions/callsite.h"
#include "miscadmin.h"
#include "pgstat.h"
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
	Snapshot	snapshot;
	uint64		seen;			/* its snapshot_number() */
	uint64	   *hashes;			/* of the values */
	int			count;			/* of hashes */
	bool		comparable;		/* else the hashes say nothing */
};

/*
 * What the relation cache keeps of an index, as rd_amcache: its metapage.  Other sessions'
 * newer layers have no rows that a snapshot of the same number sees.
 */
typedef struct KeptMeta
{
	uint64		seen;			/* snapshot_number() */
	uint64		written;		/* of own_insertions */
	MembershipMeta meta;		/* no more than meta_size() of it */
} KeptMeta;

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
 * cannot be read, now or by this process, or may lack some of these rows.  Close it with
 * NoLock.
 */
Relation
membership_ask_open(Relation heap, Oid oid, Snapshot snapshot)
{
	Relation	index;

	if (!IsMVCCSnapshot(snapshot))
		return NULL;
	index = membership_open_below(heap, oid);
	if (index == NULL)
		return NULL;
	if (snapshot_too_old(index, snapshot))
	{
		relation_close(index, NoLock);
		return NULL;
	}
	return index;
}

/*
 * Prepare to look up values of a type in an open index, and in others that hash alike: with
 * the same collation, and the two types that membership_index_for() has set for each; for
 * rows that this snapshot sees.
 * Errors: those of membership_hasher_init().
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
 * Copy the metapage of an index to *meta, with all layers that have rows which the keys'
 * snapshot sees.
 */
static void
get_layers(const MembershipKeys *keys, Relation index, MembershipMeta *meta)
{
	KeptMeta   *kept = index->rd_amcache;

	if (kept != NULL && kept->seen == keys->seen &&
		kept->written == own_insertions.written)
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
	memcpy(&kept->meta, meta, meta_size(meta));
	index->rd_amcache = kept;
}

/*
 * Have the processor fetch what membership_ask() will read of an index, if that is in
 * memory: for the first of the keys.
 */
void
membership_ask_soon(const MembershipKeys *keys, Relation index)
{
	const KeptMeta *kept = index->rd_amcache;

	if (kept != NULL && keys->count > 0)
		pages_prefetch(index, &kept->meta, keys->hashes[0]);
}

/*
 * May the table of an index have rows with one of the keys, which their snapshot sees?
 * False is certain.  Errors: those of flush_pending() and of reading its pages.
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
	for (int i = 0; i < keys->count && !found; i++)
	{
		CHECK_FOR_INTERRUPTS();
		found = pages_contain(index, &meta, keys->hashes[i]);
	}
	if (found)
		pgstat_count_heap_fetch(index);
	return found;
}
