/*
 * open.c
 *	  Opens membership indexes, and decides which users may query them with which snapshots.
 *
 * Locks.  Like core, we lock the table before the index, and keep both locked until the end
 * of the transaction, so that no other session can truncate, rebuild or drop the index
 * meanwhile.
 *
 * Privileges.  The index reveals what is in the table.  So the user needs the SELECT
 * privilege on all columns that the index uses, and must not be subject to row-level
 * security on the table.  For a partitioned index, the privileges and policies of the
 * partitioned table count, as in a query of that table.  Members of pg_stat_scan_tables,
 * such as pg_monitor, may have any index described, as in core's pgstattuple and
 * pgrowlocks.
 *
 * Rows that an index lacks.  An index has the rows of its own table only, not those of
 * inheritance children, of the shards of a distributed table, or of foreign partitions.  It
 * may also have been built without deleted rows that an older snapshot still sees:
 *
 * - On the primary, core sets indcheckxmin if HOT chains were broken.  CREATE INDEX and
 *	 REINDEX include rows that older snapshots see.  With CONCURRENTLY they wait for older
 *	 snapshots instead, but not for one that is imported meanwhile.  So an index is too new
 *	 for a snapshot if its row in pg_index was last written by a transaction that the
 *	 snapshot sees as running.
 *
 * - The primary does not know of the snapshots on a standby.  So there, an index is also
 *	 too new for a snapshot if its row in pg_class was last written by a transaction that
 *	 the snapshot sees as running.  REINDEX and TRUNCATE write the row in pg_class, because
 *	 the file changes; CREATE INDEX and REINDEX CONCURRENTLY write the row in pg_index once
 *	 the index is valid.  After promotion, this still holds for snapshots that were taken
 *	 during recovery.
 */
#include "membership.h"

#include "access/htup_details.h"
#include "access/parallel.h"
#include "access/relation.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/index.h"
#include "catalog/partition.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

/* In the name that REINDEX CONCURRENTLY gives the index that it has replaced */
#define REPLACED_SUFFIX		"_ccold"

#define HINT_NOT_MEMBERSHIP \
	errhint("Name an index that was created by CREATE INDEX ... USING membership.")

/* ---- What the catalogs say about an index ---- */

/* Is the relation an index, partitioned or not, of this access method? */
static bool
is_membership(Relation index)
{
	return (index->rd_rel->relkind == RELKIND_INDEX ||
			index->rd_rel->relkind == RELKIND_PARTITIONED_INDEX) &&
		index->rd_indam->aminsert == membership_insert;
}

/*
 * The expressions or the predicate of an index as stored in the column "attribute" of
 * pg_index, or NULL.  RelationGetIndexExpressions() would simplify them, and so call
 * functions.
 */
static Node *
stored_expression(Relation index, AttrNumber attribute)
{
	bool		isnull;
	Datum		stored = SysCacheGetAttr(INDEXRELID, index->rd_indextuple,
										 attribute, &isnull);
	char	   *string;
	Node	   *node;

	if (isnull)
		return NULL;
	string = TextDatumGetCString(stored);
	node = (Node *) stringToNode(string);
	pfree(string);
	return node;
}

/* Do two indexes of a table have the same elements? */
static bool
same_definition(Relation a, Relation b)
{
	Form_pg_index form_a = a->rd_index;
	Form_pg_index form_b = b->rd_index;
	int			keys = form_a->indnkeyatts;

	Assert(form_a->indrelid == form_b->indrelid);
	if (keys != form_b->indnkeyatts)
		return false;
	for (int i = 0; i < keys; i++)
		if (form_a->indkey.values[i] != form_b->indkey.values[i] ||
			get_index_column_opclass(RelationGetRelid(a), i + 1) !=
			get_index_column_opclass(RelationGetRelid(b), i + 1) ||
			a->rd_indcollation[i] != b->rd_indcollation[i])
			return false;
	return equal(stored_expression(a, Anum_pg_index_indexprs),
				 stored_expression(b, Anum_pg_index_indexprs)) &&
		equal(stored_expression(a, Anum_pg_index_indpred),
			  stored_expression(b, Anum_pg_index_indpred));
}

/* ---- Who may query which index ---- */

/* Does the user have SELECT on all columns that the index uses? */
static bool
holds_select(Relation heap, Relation index)
{
	Oid			user = GetUserId();
	Bitmapset  *columns = NULL;
	int			column = -1;

	if (pg_class_aclcheck(RelationGetRelid(heap), user, ACL_SELECT) == ACLCHECK_OK)
		return true;
	for (int i = 0; i < index->rd_index->indnatts; i++)
		if (index->rd_index->indkey.values[i] != 0)
			columns = bms_add_member(columns,
									 index->rd_index->indkey.values[i] -
									 FirstLowInvalidHeapAttributeNumber);
	pull_varattnos(stored_expression(index, Anum_pg_index_indexprs), 1, &columns);
	pull_varattnos(stored_expression(index, Anum_pg_index_indpred), 1, &columns);
	while ((column = bms_next_member(columns, column)) >= 0)
	{
		AttrNumber	attribute = column + FirstLowInvalidHeapAttributeNumber;

		/* attribute 0 is a reference to the whole row */
		if (attribute == InvalidAttrNumber ||
			pg_attribute_aclcheck(RelationGetRelid(heap), attribute, user,
								  ACL_SELECT) != ACLCHECK_OK)
			return false;
	}
	return true;
}

/* May the user query this index?  Then membership_open_all() does not refuse it. */
bool
membership_may_query(Relation heap, Relation index)
{
	return holds_select(heap, index) &&
		check_enable_rls(RelationGetRelid(heap), InvalidOid, true) != RLS_ENABLED;
}

/* Is the table a partition whose rows the user may see in the partitioned table? */
bool
membership_may_read_parent(Relation heap)
{
	List	   *ancestors;
	Oid			parent;

	if (!heap->rd_rel->relispartition)
		return false;
	ancestors = get_partition_ancestors(RelationGetRelid(heap));
	/* NIL if the partition is being detached */
	if (ancestors == NIL)
		return false;
	parent = llast_oid(ancestors);
	return pg_class_aclcheck(parent, GetUserId(), ACL_SELECT) == ACLCHECK_OK &&
		check_enable_rls(parent, InvalidOid, true) != RLS_ENABLED;
}

/* The operators that use the index, for hints */
static const char *
operators_of(Relation index)
{
	return membership_of_arrays(index) ? "\"@>\" or \"&&\"" : "\"=\"";
}

/* Raise an error unless membership_may_query(). */
static void
check_privileges(Relation heap, Relation index)
{
	if (!holds_select(heap, index))
		aclcheck_error(ACLCHECK_NO_PRIV,
					   get_relkind_objtype(heap->rd_rel->relkind),
					   RelationGetRelationName(heap));
	if (check_enable_rls(RelationGetRelid(heap), InvalidOid, true) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("cannot query index \"%s\" under the row-level security of table \"%s\"",
						RelationGetRelationName(index),
						RelationGetRelationName(heap)),
				 errdetail("The result would reveal rows that the policies hide."),
				 errhint("Query the table instead, and compare the column with %s.",
						 operators_of(index))));
}

/* Return false if "quiet", else raise the error; for is_usable() */
#define REFUSE_UNLESS_QUIET(...) \
	do { \
		if (quiet) \
			return false; \
		ereport(ERROR, (__VA_ARGS__)); \
	} while (0)

/*
 * Can this process read the index, and does the index have the rows of its table?  If not,
 * returns false if "quiet", and otherwise raises an error.
 */
static bool
is_usable(Relation heap, Relation index, bool quiet)
{
	if (RELATION_IS_OTHER_TEMP(index))
		REFUSE_UNLESS_QUIET(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
							errmsg("cannot access temporary indexes of other sessions"));
	if (IsParallelWorker() && RelationUsesLocalBuffers(index))
		REFUSE_UNLESS_QUIET(errcode(ERRCODE_INVALID_TRANSACTION_STATE),
							errmsg("parallel worker cannot query temporary index \"%s\"",
								   RelationGetRelationName(index)),
							errhint("Set max_parallel_workers_per_gather to 0."));
	if (RecoveryInProgress() && !RelationIsPermanent(index))
		REFUSE_UNLESS_QUIET(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
							errmsg("cannot access temporary or unlogged relations during recovery"));
	/* the same check as in core's index_open() and systable_beginscan() */
	if (ReindexIsProcessingIndex(RelationGetRelid(index)))
		REFUSE_UNLESS_QUIET(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
							errmsg("cannot access index \"%s\" while it is being reindexed",
								   RelationGetRelationName(index)));
	if (table_is_distributed(RelationGetRelid(heap)))
		REFUSE_UNLESS_QUIET(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
							errmsg("cannot query index \"%s\" of distributed table \"%s\"",
								   RelationGetRelationName(index),
								   RelationGetRelationName(heap)),
							errdetail("The rows are in the shards, and each shard has its own index."),
							errhint("Compare the column with %s: each shard then uses its own index.",
									operators_of(index)));
	return true;
}

/* ---- Opening ---- */

/*
 * Lock a relation until the end of the transaction, and open it; NULL if it does not exist,
 * or if "wait" is false and the lock is not free.
 */
static Relation
lock_and_open(Oid oid, bool wait)
{
	if (wait)
		return try_relation_open(oid, AccessShareLock);
	if (!ConditionalLockRelationOid(oid, AccessShareLock))
		return NULL;
	return try_relation_open(oid, NoLock);
}

/*
 * Open an index, partitioned or not, of any access method, and its table, *heap, which is
 * locked first.  NULL if lock_and_open() returns NULL for one of them.
 */
static Relation
try_open_with_table(Oid oid, bool wait, Relation *heap)
{
	Oid			heap_oid = IndexGetRelation(oid, true);
	Relation	index;

	if (!OidIsValid(heap_oid))
		return NULL;
	*heap = lock_and_open(heap_oid, wait);
	if (*heap == NULL)
		return NULL;
	index = lock_and_open(oid, wait);
	if (index == NULL)
		relation_close(*heap, NoLock);
	return index;
}

/*
 * The same for a membership index.  Raises an error if "oid" is another relation, or if it
 * does not exist and "missing_ok" is false.
 */
static Relation
open_with_table(Oid oid, bool missing_ok, Relation *heap)
{
	Relation	index = try_open_with_table(oid, true, heap);
	char		kind = index == NULL ? get_rel_relkind(oid) : '\0';

	if (kind != '\0' && kind != RELKIND_INDEX && kind != RELKIND_PARTITIONED_INDEX)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not an index", get_rel_name(oid)),
				 HINT_NOT_MEMBERSHIP));
	if (index == NULL && missing_ok)
		return NULL;
	if (index == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("index with OID %u does not exist", oid),
				 errhint("REINDEX CONCURRENTLY changes the index's OID. To look the name up at each execution, write 'schema.name'::text::regclass.")));
	if (!is_membership(index))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("index \"%s\" is not a membership index",
						RelationGetRelationName(index)),
				 HINT_NOT_MEMBERSHIP));
	return index;
}

/*
 * Was the index valid when the active snapshot was taken, and does it still get insertions,
 * which DROP INDEX CONCURRENTLY ends?  If so, it has all rows that the snapshot sees.
 */
static bool
was_valid(Relation index)
{
	Relation	catalog;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		valid;

	if (!index->rd_index->indisready)
		return false;
	catalog = table_open(IndexRelationId, AccessShareLock);
	ScanKeyInit(&key, Anum_pg_index_indexrelid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(RelationGetRelid(index)));
	scan = systable_beginscan(catalog, IndexRelidIndexId, true,
							  GetActiveSnapshot(), 1, &key);
	tuple = systable_getnext(scan);
	valid = HeapTupleIsValid(tuple) && ((Form_pg_index) GETSTRUCT(tuple))->indisvalid;
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return valid;
}

/*
 * Open a valid index with the same elements as an index that is not valid; NULL if there is
 * none.  After REINDEX CONCURRENTLY has given the name of an index to a new one, a caller
 * that knows the OID of the old index still finds the old one.
 */
static Relation
open_successor(Relation heap, Relation index)
{
	List	   *oids = RelationGetIndexList(heap);
	ListCell   *cell;

	foreach(cell, oids)
	{
		Relation	other;

		if (lfirst_oid(cell) == RelationGetRelid(index))
			continue;
		other = try_relation_open(lfirst_oid(cell), AccessShareLock);
		if (other == NULL)
			continue;
		if (is_membership(other) && other->rd_index->indisvalid &&
			same_definition(index, other))
			return other;
		relation_close(other, AccessShareLock);
	}
	return NULL;
}

/*
 * Does a REINDEX CONCURRENTLY that goes on wait for the last users of this index, which it has
 * replaced?  It holds a lock; one that failed does not.
 */
static bool
is_being_replaced(Relation index)
{
	LOCKTAG		tag;
	int			conflicts;

	if (strstr(RelationGetRelationName(index), REPLACED_SUFFIX) == NULL)
		return false;
	SET_LOCKTAG_RELATION(tag, MyDatabaseId, RelationGetRelid(index));
	pfree(GetLockConflicts(&tag, ShareUpdateExclusiveLock, &conflicts));
	return conflicts > 0;
}

/* Say that another index is read, once in a session for each index. */
static void
note_successor(Relation index, Relation successor)
{
	static List *noted = NIL;
	MemoryContext old;

	if (IsParallelWorker() || list_member_oid(noted, RelationGetRelid(index)))
		return;
	ereport(NOTICE,
			(errmsg("index \"%s\" is not valid, so index \"%s\" of the same definition is read",
					RelationGetRelationName(index), RelationGetRelationName(successor)),
			 errhint("REINDEX it or drop it.")));
	old = MemoryContextSwitchTo(TopMemoryContext);
	noted = lappend_oid(noted, RelationGetRelid(index));
	MemoryContextSwitchTo(old);
}

/*
 * The OIDs of a partitioned table and of all its descendants, locked, as from
 * find_all_inheritors().  With "leaving", includes partitions that DETACH CONCURRENTLY has
 * marked.
 */
static List *
partition_tree(Oid root, bool leaving)
{
	List	   *tree = list_make1_oid(root);
	ListCell   *cell;

	/* the list grows while it is read */
	foreach(cell, tree)
		tree = list_concat(tree,
						   find_inheritance_children_extended(lfirst_oid(cell),
															  !leaving,
															  AccessShareLock,
															  NULL, NULL));
	return tree;
}

/* An index of a partition, and its table */
typedef struct IndexOfTable
{
	Oid			table;			/* first, for oid_cmp() */
	Oid			index;
} IndexOfTable;

/*
 * The OIDs of the partitions' indexes that belong to a partitioned index.  Locks the
 * tables.  Unless OPEN_TO_DESCRIBE, raises an error if a partition has no such index.
 */
static List *
partition_indexes(Relation heap, Relation index, MembershipPurpose purpose)
{
	bool		missing_ok = purpose == OPEN_TO_DESCRIBE;
	List	   *tables = partition_tree(RelationGetRelid(heap), purpose == OPEN_TO_PROBE);
	List	   *indexes = find_all_inheritors(RelationGetRelid(index), NoLock, NULL);
	int			count = list_length(indexes);
	IndexOfTable *of_tables = palloc(count * sizeof(IndexOfTable));
	List	   *result = NIL;
	ListCell   *cell;

	foreach(cell, indexes)
	{
		IndexOfTable *at = &of_tables[foreach_current_index(cell)];

		at->index = lfirst_oid(cell);
		at->table = IndexGetRelation(at->index, true);
	}
	qsort(of_tables, count, sizeof(IndexOfTable), oid_cmp);
	foreach(cell, tables)
	{
		Oid			table = lfirst_oid(cell);
		char		kind = get_rel_relkind(table);
		IndexOfTable *found;

		CHECK_FOR_INTERRUPTS();
		if (kind == RELKIND_PARTITIONED_TABLE ||
			(kind == RELKIND_FOREIGN_TABLE && missing_ok))
			continue;
		if (kind == RELKIND_FOREIGN_TABLE)
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("cannot query partitioned index \"%s\": partition \"%s\" is a foreign table",
							RelationGetRelationName(index),
							get_rel_name(table)),
					 errhint("Query the indexes of the other partitions, and the foreign table by itself.")));
		found = bsearch(&table, of_tables, count, sizeof(IndexOfTable), oid_cmp);
		if (found)
			result = lappend_oid(result, found->index);
		/* no error if the partition has been detached meanwhile */
		else if (!missing_ok && get_rel_relispartition(table))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("cannot query partitioned index \"%s\": partition \"%s\" has no index attached to it",
							RelationGetRelationName(index),
							get_rel_name(table)),
					 errhint("Create an index on the partition, and attach it with ALTER INDEX ... ATTACH PARTITION.")));
	}
	pfree(of_tables);
	return result;
}

/*
 * Is the index valid, or was it valid for the active snapshot?  If REINDEX CONCURRENTLY has
 * replaced it, sets *index to the new one, open and locked; or to any other of the same
 * definition, but not OPEN_TO_CHECK, and with a notice unless OPEN_TO_DESCRIBE.
 */
static bool
replace_invalid(Relation heap, Relation *index, MembershipPurpose purpose)
{
	bool		replaced;
	Relation	successor;

	if ((*index)->rd_index->indisvalid || was_valid(*index))
		return true;
	replaced = is_being_replaced(*index);
	if (purpose == OPEN_TO_CHECK && !replaced)
		return false;
	successor = open_successor(heap, *index);
	if (successor == NULL)
		return false;
	if (purpose != OPEN_TO_DESCRIBE && !replaced)
		note_successor(*index, successor);
	relation_close(*index, NoLock);
	*index = successor;
	return true;
}

static void
close_with_table(Relation heap, Relation index)
{
	relation_close(index, NoLock);
	relation_close(heap, NoLock);
}

/*
 * Call visit(heap, index, arg) for an index or, if it is partitioned, for the indexes of
 * all partitions.  OPEN_TO_PROBE includes partitions that DETACH CONCURRENTLY has marked: a
 * plan made earlier still reads them, and DETACH waits for its end.
 *
 * Each index and its table stay locked (AccessShareLock) until the end of the transaction;
 * both relations are closed after the call.  visit() gets only membership indexes that the
 * user may query and this process can read.  Each is valid, or was valid for the active
 * snapshot; instead of another, visit() gets one of the same definition, see replace_invalid().
 *
 * Errors: ERRCODE_UNDEFINED_OBJECT; ERRCODE_WRONG_OBJECT_TYPE, also for a foreign
 * partition; ERRCODE_INSUFFICIENT_PRIVILEGE; ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE if
 * the index is not valid, is being reindexed, or lacks the index of a partition;
 * ERRCODE_INVALID_TRANSACTION_STATE for a temporary index in a parallel worker;
 * ERRCODE_FEATURE_NOT_SUPPORTED.
 *
 * OPEN_TO_DESCRIBE also serves users who may monitor but not query, so that a query of the
 * catalogs can describe all indexes.  It skips indexes that no longer exist, are not valid,
 * or cannot be read here, and partitions without an index.  It raises only
 * ERRCODE_WRONG_OBJECT_TYPE and ERRCODE_INSUFFICIENT_PRIVILEGE.
 */
void
membership_open_all(Oid oid, MembershipPurpose purpose, MembershipVisitor visit, void *arg)
{
	bool		to_describe = purpose == OPEN_TO_DESCRIBE;
	Relation	heap;
	Relation	index = open_with_table(oid, to_describe, &heap);
	List	   *oids = list_make1_oid(oid);
	ListCell   *cell;

	if (index == NULL)
		return;
	if (!to_describe || !has_privs_of_role(GetUserId(), ROLE_PG_STAT_SCAN_TABLES))
		check_privileges(heap, index);
	if (!to_describe)
		(void) is_usable(heap, index, false);
	if (index->rd_rel->relkind == RELKIND_PARTITIONED_INDEX)
		oids = partition_indexes(heap, index, purpose);
	close_with_table(heap, index);
	foreach(cell, oids)
	{
		bool		valid;

		index = open_with_table(lfirst_oid(cell), to_describe, &heap);
		if (index == NULL)
			continue;
		valid = is_usable(heap, index, to_describe) &&
			replace_invalid(heap, &index, purpose);
		if (!valid && !to_describe)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("index \"%s\" is not valid", RelationGetRelationName(index)),
					 errdetail("A command that creates, rebuilds or drops it is in progress or has failed."),
					 errhint("After a failure, REINDEX it or drop it.")));
		Assert(CheckRelationLockedByMe(heap, AccessShareLock, true));
		Assert(CheckRelationLockedByMe(index, AccessShareLock, true));
		if (valid)
			visit(heap, index, arg);
		close_with_table(heap, index);
	}
	list_free(oids);
}

/*
 * Call visit(heap, index, arg) for an index if it can be probed.  Returns false if it
 * cannot, or is partitioned.  Locks as membership_open_all() does, but waits for no lock
 * and raises none of its errors.  Does not check privileges: see membership_may_query().
 */
bool
membership_open_quietly(Oid oid, MembershipVisitor visit, void *arg)
{
	Relation	heap;
	Relation	index = try_open_with_table(oid, false, &heap);
	bool		usable;

	if (index == NULL)
		return false;
	usable = index->rd_rel->relkind == RELKIND_INDEX && is_membership(index) &&
		is_usable(heap, index, true) &&
		(index->rd_index->indisvalid || was_valid(index));
	if (usable)
		visit(heap, index, arg);
	close_with_table(heap, index);
	return usable;
}

/*
 * May an open, locked index of any kind be probed for rows of this table that the snapshot
 * sees?  False if it is not valid, cannot be read now, or may lack some of these rows.
 */
bool
membership_may_ask(Relation heap, Relation index, Snapshot snapshot)
{
	/* the OID may have been reused for another index */
	return index->rd_rel->relkind == RELKIND_INDEX && is_membership(index) &&
		index->rd_index->indrelid == RelationGetRelid(heap) &&
		index->rd_index->indisvalid && is_usable(heap, index, true) &&
		!snapshot_too_old(index, snapshot);
}

/*
 * The indexes of a partitioned index's partitions, not locked.  NIL if the user may not
 * query the partitioned index, or if it or its table cannot be locked without waiting.
 */
List *
membership_leaves(Oid oid)
{
	List	   *leaves = NIL;
	Relation	heap;
	Relation	index = try_open_with_table(oid, false, &heap);
	bool		allowed;
	ListCell   *cell;

	if (index == NULL)
		return NIL;
	allowed = is_membership(index) && membership_may_query(heap, index);
	close_with_table(heap, index);
	if (!allowed)
		return NIL;
	foreach(cell, find_all_inheritors(oid, NoLock, NULL))
	{
		if (get_rel_relkind(lfirst_oid(cell)) == RELKIND_INDEX)
			leaves = lappend_oid(leaves, lfirst_oid(cell));
	}
	return leaves;
}

/* ---- Which rows an index has ---- */

/* Does the table have inheritance children, whose rows its index lacks? */
bool
has_children(Relation heap)
{
	/* relhassubclass may still be set after the last child was dropped */
	return heap->rd_rel->relhassubclass &&
		heap->rd_rel->relkind == RELKIND_RELATION &&
		find_inheritance_children(RelationGetRelid(heap), NoLock) != NIL;
}

/* Raise ERRCODE_WRONG_OBJECT_TYPE: a table has children, so "false" is not certain. */
void
refuse_children(Oid index)
{
	Oid			heap = IndexGetRelation(index, false);
	Relation	relation = relation_open(index, NoLock);

	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("index \"%s\" does not cover the inheritance children of table \"%s\"",
					RelationGetRelationName(relation), get_rel_name(heap)),
			 errhint("Compare the column with %s, which uses the index of each table, or make the children partitions of a partitioned table.",
					 operators_of(relation))));
}

/*
 * If our own transaction has written the catalog row of an index, does the index have all
 * rows that we see?
 *
 * Yes if our transaction has also made the index's file.  But ALTER TABLE may have given
 * the file of an old index to a new one, which then lacks the same rows as the old one, and
 * we cannot know when the file was built.  This matters only to a snapshot that lasts for
 * the whole transaction.  A parallel worker does not know who has made the file.
 */
static bool
own_has_all(Relation index)
{
#if PG_VERSION_NUM >= 160000
	SubTransactionId filed = index->rd_firstRelfilelocatorSubid;
#else
	SubTransactionId filed = index->rd_firstRelfilenodeSubid;
#endif

	return !IsolationUsesXactSnapshot() ||
		index->rd_createSubid != InvalidSubTransactionId ||
		filed != InvalidSubTransactionId;
}

/*
 * Was a relation's row in a catalog written by a transaction that the snapshot sees as
 * running?  Returns "own" if our own transaction wrote it.  Reads the row from the syscache
 * "cache", because the relation cache may have lost its xmin.
 */
bool
catalog_row_written_later(int cache, Oid oid, Snapshot snapshot, bool own)
{
	HeapTuple	tuple = SearchSysCache1(cache, ObjectIdGetDatum(oid));
	TransactionId writer;
	bool		is_frozen;

	/* the relation was dropped meanwhile */
	if (!HeapTupleIsValid(tuple))
		return true;
	writer = HeapTupleHeaderGetRawXmin(tuple->t_data);
	is_frozen = HeapTupleHeaderXminFrozen(tuple->t_data);
	ReleaseSysCache(tuple);
	if (TransactionIdIsCurrentTransactionId(writer))
		return own;

	/* VACUUM FULL of the catalog freezes the row, but keeps its xmin */
	if (is_frozen &&
		(TransactionIdPrecedes(writer, snapshot->xmin) ||
		 TransactionIdFollowsOrEquals(writer, ReadNextTransactionId())))
		return false;
	return TransactionIdIsNormal(writer) && XidInMVCCSnapshot(writer, snapshot);
}

/* May the index lack rows that the snapshot sees, because it was built too late? */
bool
snapshot_too_old(Relation index, Snapshot snapshot)
{
	Oid			oid = RelationGetRelid(index);
	TransactionId writer = HeapTupleHeaderGetRawXmin(index->rd_indextuple->t_data);

	Assert(IsMVCCSnapshot(snapshot));
	/* the index may have broken HOT chains; core makes the same test */
	if (index->rd_index->indcheckxmin &&
		!TransactionIdPrecedes(HeapTupleHeaderGetXmin(index->rd_indextuple->t_data),
							   TransactionXmin))
		return true;
	/* usually the copy of the row in the relation cache suffices */
	if (TransactionIdIsNormal(writer) && !snapshot->takenDuringRecovery &&
		TransactionIdPrecedes(writer, snapshot->xmin))
	{
		Assert(!TransactionIdIsCurrentTransactionId(writer));
		return false;
	}
	return catalog_row_written_later(INDEXRELID, oid, snapshot, !own_has_all(index)) ||
		(snapshot->takenDuringRecovery &&
		 catalog_row_written_later(RELOID, oid, snapshot, !own_has_all(index)));
}

/* Raise ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE if snapshot_too_old(). */
void
refuse_old_snapshot(Relation index, Snapshot snapshot)
{
	if (snapshot_too_old(index, snapshot))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" cannot be read by this transaction yet",
						RelationGetRelationName(index)),
				 errdetail("It was built while rows that this transaction may see were being changed."),
				 errhint("Try again in a new transaction.")));
}
