/*
 * open.c
 *	  Opening membership indexes to be asked by function: which, by whom, and for
 *	  which snapshots they can answer.
 *
 * Interface.  membership_open_all() takes the OID of an index, or of a
 * partitioned one, and calls back for each index that has to be asked, open and
 * locked.  snapshot_too_old() tells whether an index lacks rows that a
 * snapshot sees.
 *
 * Locks.  The table is locked before the index, as everybody does, and both until
 * the end of the transaction: so no other session can truncate, rebuild or drop
 * the index meanwhile.
 *
 * Privileges.  The index tells what is in the table, so who asks needs the SELECT
 * privilege on all columns that the index is made of, and must not be subject to
 * row-level security there.  For a partitioned index these are the privileges and
 * policies of the partitioned table, as when that is queried.  Expressions of the
 * index are only looked at as they are stored: to simplify them would run functions.
 *
 * What an index cannot know.  It has the rows of its own table: not those of
 * inheritance children, of a distributed table's shards, or of foreign
 * partitions.  And it may have been built when rows were gone that an older
 * snapshot still sees:
 *
 * - On the primary, core marks it by indcheckxmin where HOT chains were broken.
 *	 Other rows that a snapshot of this server can see were put in.
 *
 * - On a standby the primary did not know of the snapshot.  There an index is too
 *	 new for it if its row in pg_class or pg_index was last written by a transaction
 *	 that the snapshot sees running.  REINDEX and TRUNCATE write the former
 *	 (another file), CREATE INDEX and REINDEX CONCURRENTLY the latter once the
 *	 index is valid.  A snapshot taken during recovery stays such a one after a
 *	 promotion.
 */
#include "membership.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/parallel.h"
#include "access/relation.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "access/transam.h"
#include "access/xlog.h"
#include "catalog/index.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

/* What Citus lists its tables in, and the column with their OIDs */
#define CITUS_CATALOG		"pg_dist_partition"
#define CITUS_TABLE_COLUMN	"logicalrelid"

#define HINT_NOT_MEMBERSHIP \
	errhint("Name an index that was created by CREATE INDEX ... USING membership.")

/* ----------------------------------------------------------------
 *		What the catalogs say of an index
 * ----------------------------------------------------------------
 */

/*
 * The expressions of an index, or its predicate, as they are stored, or NULL: not
 * simplified as RelationGetIndexExpressions() does, which may call functions.
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

/* Do both indexes of a table have the same elements? */
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
			a->rd_opfamily[i] != b->rd_opfamily[i] ||
			a->rd_opcintype[i] != b->rd_opcintype[i] ||
			a->rd_indcollation[i] != b->rd_indcollation[i])
			return false;
	return equal(stored_expression(a, Anum_pg_index_indexprs),
				 stored_expression(b, Anum_pg_index_indexprs)) &&
		equal(stored_expression(a, Anum_pg_index_indpred),
			  stored_expression(b, Anum_pg_index_indpred));
}

/* Is this a table that Citus distributes, whose rows are elsewhere? */
static bool
is_distributed(Oid table)
{
	Oid			catalog = get_relname_relid(CITUS_CATALOG, PG_CATALOG_NAMESPACE);
	AttrNumber	column;
	Relation	relation;
	SysScanDesc scan;
	ScanKeyData key;
	bool		found;

	if (likely(!OidIsValid(catalog)))
		return false;
	column = get_attnum(catalog, CITUS_TABLE_COLUMN);
	if (column == InvalidAttrNumber ||
		get_atttype(catalog, column) != REGCLASSOID)
		return false;
	relation = table_open(catalog, AccessShareLock);
	ScanKeyInit(&key, column, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(table));
	/* it has a row for each table, and its indexes are not ours to know */
	scan = systable_beginscan(relation, InvalidOid, false, NULL, 1, &key);
	found = HeapTupleIsValid(systable_getnext(scan));
	systable_endscan(scan);
	table_close(relation, AccessShareLock);
	return found;
}

/* ----------------------------------------------------------------
 *		Who may ask what
 * ----------------------------------------------------------------
 */

/* Does the user hold SELECT on all columns that the index is made of? */
static void
check_privileges(Relation heap, Relation index)
{
	Oid			user = GetUserId();
	Bitmapset  *columns = NULL;
	int			column = -1;

	if (pg_class_aclcheck(RelationGetRelid(heap), user,
						  ACL_SELECT) != ACLCHECK_OK)
	{
		for (int i = 0; i < index->rd_index->indnatts; i++)
			if (index->rd_index->indkey.values[i] != 0)
				columns = bms_add_member(columns,
										 index->rd_index->indkey.values[i] -
										 FirstLowInvalidHeapAttributeNumber);
		pull_varattnos(stored_expression(index, Anum_pg_index_indexprs), 1,
					   &columns);
		pull_varattnos(stored_expression(index, Anum_pg_index_indpred), 1,
					   &columns);
		while ((column = bms_next_member(columns, column)) >= 0)
		{
			AttrNumber	attribute = column + FirstLowInvalidHeapAttributeNumber;

			/* of a whole row */
			if (attribute == InvalidAttrNumber ||
				pg_attribute_aclcheck(RelationGetRelid(heap), attribute, user,
									  ACL_SELECT) != ACLCHECK_OK)
				aclcheck_error(ACLCHECK_NO_PRIV,
							   get_relkind_objtype(heap->rd_rel->relkind),
							   RelationGetRelationName(heap));
		}
	}
	if (check_enable_rls(RelationGetRelid(heap), InvalidOid, true) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("cannot query index \"%s\" under the row-level security of table \"%s\"",
						RelationGetRelationName(index),
						RelationGetRelationName(heap)),
				 errdetail("It would tell about rows that the policies hide.")));
}

/* An index that cannot be used in this process, or at all */
static void
check_usable(Relation heap, Relation index)
{
	if (RELATION_IS_OTHER_TEMP(index))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary indexes of other sessions")));
	if (IsParallelWorker() && RelationUsesLocalBuffers(index))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_STATE),
				 errmsg("parallel worker cannot query temporary index \"%s\"",
						RelationGetRelationName(index)),
				 errhint("Set max_parallel_workers_per_gather to 0.")));
	if (RecoveryInProgress() && !RelationIsPermanent(index))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary or unlogged relations during recovery")));
	/* as index_open() and systable_beginscan() of core have it */
	if (ReindexIsProcessingIndex(RelationGetRelid(index)))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot access index \"%s\" while it is being reindexed",
						RelationGetRelationName(index))));
	if (is_distributed(RelationGetRelid(heap)))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot query index \"%s\" of distributed table \"%s\"",
						RelationGetRelationName(index),
						RelationGetRelationName(heap)),
				 errdetail("The rows are in the shards, each of which has an index of its own."),
				 errhint("Compare the column with \"=\": each shard then uses its own index.")));
}

static void
refuse_invalid(Relation index)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("index \"%s\" is not valid",
					RelationGetRelationName(index)),
			 errhint("It is being created or dropped, or that has failed; then REINDEX it or drop it.")));
}

/* ----------------------------------------------------------------
 *		Opening
 * ----------------------------------------------------------------
 */

/*
 * Lock a table and its index, in this order, until the end of the transaction,
 * and open both: index OID "oid", of any access method, partitioned or not.
 */
static Relation
open_with_table(Oid oid, Relation *heap)
{
	char		kind = get_rel_relkind(oid);
	bool		is_index = kind == RELKIND_INDEX || kind == RELKIND_PARTITIONED_INDEX;
	Oid			heap_oid = is_index ? IndexGetRelation(oid, true) : InvalidOid;
	Relation	index = NULL;

	if (OidIsValid(heap_oid))
	{
		*heap = try_relation_open(heap_oid, AccessShareLock);
		if (*heap)
			index = try_relation_open(oid, AccessShareLock);
		if (*heap && index == NULL)
			relation_close(*heap, NoLock);
	}
	if (index == NULL && kind != '\0' && !is_index)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not an index", get_rel_name(oid)),
				 HINT_NOT_MEMBERSHIP));
	if (index == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("index with OID %u does not exist", oid),
				 errhint("REINDEX CONCURRENTLY changes the index's OID. To look the name up at each execution, write 'name'::text::regclass.")));
	if (!is_membership(index))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("index \"%s\" is not a membership index",
						RelationGetRelationName(index)),
				 HINT_NOT_MEMBERSHIP));
	return index;
}

/*
 * Was an index valid when the active snapshot was taken, and do insertions still go
 * to it?  Then it has all rows that this snapshot sees, though DROP INDEX
 * CONCURRENTLY is about to drop it.  Once that has marked it as dead, our own
 * insertions and those of SERIALIZABLE writers pass it by.
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
	valid = HeapTupleIsValid(tuple) &&
		((Form_pg_index) GETSTRUCT(tuple))->indisvalid;
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return valid;
}

/*
 * In place of an index that is not valid: a valid one with the same elements.
 * REINDEX CONCURRENTLY leaves an index in this state to those who know it by its
 * OID, when another one has taken its name.  NULL if there is none.
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
 * A partitioned table, or index, and all below it, as find_all_inheritors() finds
 * them.  But if "leaving", with partitions that DETACH CONCURRENTLY has marked.
 */
static List *
partition_tree(Oid root, bool leaving, LOCKMODE lock)
{
	List	   *tree = list_make1_oid(root);
	ListCell   *cell;

	/* the list grows while it is read */
	foreach(cell, tree)
		tree = list_concat(tree,
						   find_inheritance_children_extended(lfirst_oid(cell),
															  !leaving, lock,
															  NULL, NULL));
	return tree;
}

/* A part of a partitioned index */
typedef struct IndexOfTable
{
	Oid			table;			/* first, for oid_cmp() */
	Oid			index;
} IndexOfTable;

/*
 * The index of each partition of a partitioned table that is part of a
 * partitioned index, the tables locked.  An error if there is a partition without.
 */
static List *
partition_indexes(Relation heap, Relation index, bool leaving)
{
	List	   *tables = partition_tree(RelationGetRelid(heap), leaving,
										AccessShareLock);
	List	   *indexes = partition_tree(RelationGetRelid(index), true, NoLock);
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
		if (kind == RELKIND_PARTITIONED_TABLE)
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
		else if (get_rel_relispartition(table)) /* not detached meanwhile */
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("cannot query partitioned index \"%s\": partition \"%s\" has no index that is part of it",
							RelationGetRelationName(index),
							get_rel_name(table)),
					 errhint("Create the index there, and attach it by ALTER INDEX ... ATTACH PARTITION.")));
	}
	pfree(of_tables);
	return result;
}

/*
 * membership_open_all
 *		Call back for each index that has to be asked about an index
 *
 * That is the index itself, or if it is partitioned, those of all partitions.  If
 * "leaving" also of those that DETACH CONCURRENTLY has marked: a plan that was made
 * before still reads them, and DETACH waits for its end before it goes on.
 * Each is locked (AccessShareLock) until the end of the transaction, as is its
 * table, and is a membership index that the user may query, and that this
 * process can read.  It is valid, or was for the active snapshot; in place of one that
 * REINDEX CONCURRENTLY has replaced there is the new one.  Both relations are closed after the call.
 *
 * Errors: ERRCODE_UNDEFINED_OBJECT; ERRCODE_WRONG_OBJECT_TYPE, of a foreign partition,
 * too; ERRCODE_INSUFFICIENT_PRIVILEGE; ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE
 * if it is not valid; ERRCODE_FEATURE_NOT_SUPPORTED.
 */
void
membership_open_all(Oid oid, bool leaving, MembershipVisitor visit, void *arg)
{
	Relation	heap;
	Relation	index = open_with_table(oid, &heap);
	List	   *oids = list_make1_oid(oid);
	ListCell   *cell;

	check_privileges(heap, index);
	check_usable(heap, index);
	if (index->rd_rel->relkind == RELKIND_PARTITIONED_INDEX)
		oids = partition_indexes(heap, index, leaving);
	relation_close(index, NoLock);
	relation_close(heap, NoLock);
	foreach(cell, oids)
	{
		index = open_with_table(lfirst_oid(cell), &heap);
		check_usable(heap, index);
		if (!index->rd_index->indisvalid && !was_valid(index))
		{
			Relation	successor = open_successor(heap, index);

			if (successor == NULL)
				refuse_invalid(index);
			relation_close(index, NoLock);
			index = successor;
		}
		Assert(CheckRelationLockedByMe(heap, AccessShareLock, true));
		Assert(CheckRelationLockedByMe(index, AccessShareLock, true));
		visit(heap, index, arg);
		relation_close(index, NoLock);
		relation_close(heap, NoLock);
	}
	list_free(oids);
}

/* ----------------------------------------------------------------
 *		Which rows an index can tell of
 * ----------------------------------------------------------------
 */

/*
 * Does the table have inheritance children, whose rows a query of it finds and its
 * index does not?
 */
bool
has_children(Relation heap)
{
	/* the flag may have stayed set */
	return heap->rd_rel->relhassubclass &&
		heap->rd_rel->relkind == RELKIND_RELATION &&
		find_inheritance_children(RelationGetRelid(heap), NoLock) != NIL;
}

/* "No" is not an answer about a table with inheritance children. */
void
refuse_children(Oid index)
{
	Oid			heap = IndexGetRelation(index, false);

	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("index \"%s\" does not cover the inheritance children of table \"%s\"",
					get_rel_name(index), get_rel_name(heap)),
			 errhint("Compare the column with \"=\", which uses the index of each table, or make the children partitions of a partitioned table.")));
}

/* Was this row of a catalog written by a transaction that the snapshot sees running? */
static bool
written_later(HeapTuple tuple, Snapshot snapshot)
{
	TransactionId writer = HeapTupleHeaderGetRawXmin(tuple->t_data);

	/* VACUUM FULL of the catalog freezes the row, and leaves who wrote it */
	if (HeapTupleHeaderXminFrozen(tuple->t_data) &&
		(TransactionIdPrecedes(writer, snapshot->xmin) ||
		 TransactionIdFollowsOrEquals(writer, ReadNextTransactionId())))
		return false;
	return TransactionIdIsNormal(writer) && XidInMVCCSnapshot(writer, snapshot);
}

/*
 * The same of the row of an index in a catalog: not from the relation cache, which
 * forgets who wrote it
 */
static bool
catalog_changed_later(int cache, Relation index, Snapshot snapshot)
{
	HeapTuple	tuple = SearchSysCache1(cache,
										ObjectIdGetDatum(RelationGetRelid(index)));
	bool		later;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u",
			 RelationGetRelid(index));
	later = written_later(tuple, snapshot);
	ReleaseSysCache(tuple);
	return later;
}

/* May rows that the snapshot sees be missing, since the index was built? */
bool
snapshot_too_old(Relation index, Snapshot snapshot)
{
	Assert(IsMVCCSnapshot(snapshot));
	/* as core does: broken HOT chains */
	if (index->rd_index->indcheckxmin &&
		!TransactionIdPrecedes(HeapTupleHeaderGetXmin(index->rd_indextuple->t_data),
							   TransactionXmin))
		return true;
	return snapshot->takenDuringRecovery &&
		(catalog_changed_later(RELOID, index, snapshot) ||
		 catalog_changed_later(INDEXRELID, index, snapshot));
}

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
