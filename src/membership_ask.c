/*
 * membership_ask.c
 *	  Asking a membership index: membership_contains() and its kin,
 *	  membership_filter(), membership_info(), membership_check().
 *
 * Why a "no" is true.  Let a row be visible to the query's snapshot.  Its
 * transaction had committed before the snapshot was taken, and had put the
 * element into the index before it committed; or it is our own transaction, which
 * inserted the row in an earlier command, and what of that still waits is
 * written before anything is read (membership_insert.c).  Rows that were there when
 * the index was built are in it, unless the index is not valid yet, which is an
 * error, or not valid for old snapshots (indcheckxmin), for which the answer is
 * "yes".  So at the time of the snapshot, and ever after, the bits are set in pages of
 * layers that the metapage names.  The metapage is read after the snapshot
 * was taken, and so are the pages.  (Where a snapshot sees what our own transaction
 * inserts later, as a trigger's does, what it inserted is asked, too.)
 *
 * Asked for the first rows of a query, a page or two are read for each. When that has
 * cost as much as reading the whole index would, the whole is read, and asked
 * as any filter in memory.  All call sites of the session share it, for the scan of
 * each partition has a call site of its own.  This copy lacks what is inserted
 * later, which this snapshot cannot see; so it holds for this snapshot only.
 * PL/pgSQL keeps a call site over several statements, each of which has its own:
 * a view names the snapshot by its fields, not by its address.  Two with the same fields
 * see the same rows: xactCompletionCount tells that no transaction has ended between
 * them, or, where a snapshot has none (one that was handed to a parallel worker),
 * the running transactions are compared; curcid tells what our own
 * transaction, named by its local id, had done.
 *
 * The table is locked before the index, as everybody does, and both until
 * the end of the transaction: so no other session can truncate, rebuild or drop the
 * index meanwhile.  Our own might, and a subtransaction that is rolled back releases its
 * locks: so after an invalidation of any relation, and after a rollback, both are locked
 * again, and the copy is kept only if the index has still the file that was copied.
 *
 * The index tells what is in the table, so who asks needs the SELECT privilege
 * on all that the index is made of, and must not be subject to row-level security
 * there.
 */
#include "membership.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/parallel.h"
#include "access/relation.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "ask.h"
#include "callsite.h"
#include "catalog/index.h"
#include "catalog/partition.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/predicate.h"
#include "storage/proc.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"

SQL_FUNCTION(bloomfilter_membership_contains);
SQL_FUNCTION(bloomfilter_membership_contains_any);
SQL_FUNCTION(bloomfilter_membership_contains_all);
SQL_FUNCTION(bloomfilter_membership_contains_each);
SQL_FUNCTION(bloomfilter_membership_filter);
SQL_FUNCTION(bloomfilter_membership_info);
SQL_FUNCTION(bloomfilter_membership_check);

#if PG_VERSION_NUM >= 160000
#define file_number(relation)	((relation)->rd_locator.relNumber)
typedef RelFileNumber FileNumber;
#else
#define file_number(relation)	((relation)->rd_node.relNode)
typedef Oid FileNumber;
#endif

#if PG_VERSION_NUM >= 190000
#define begin_scan(heap, snapshot) \
	table_beginscan(heap, snapshot, 0, NULL, SO_NONE)
#else
#define begin_scan(heap, snapshot) \
	table_beginscan(heap, snapshot, 0, NULL)
#endif

#if PG_VERSION_NUM >= 170000
#define my_local_xid()			(MyProc->vxid.lxid)
#else
#define my_local_xid()			(MyProc->lxid)
#endif

/*
 * What copying a page costs, in pages that are only looked at: measured, one
 * microsecond against 0.3.
 */
#define COPY_COST			3.0

/* Partitions named in an error */
#define PARTITIONS_NAMED	5

/* Which rows are visible: all that tells one snapshot from another */
typedef struct SnapshotKey
{
	LocalTransactionId transaction;
	CommandId	command;
	TransactionId xmin;
	TransactionId xmax;
	uint32		running;
	int32		running_subs;
	uint64		completions;	/* 0: not known; then "xids" counts */
	TransactionId *xids;		/* running ones, and subtransactions */
} SnapshotKey;

/* An index as a snapshot sees it: what the call sites share that ask it so */
typedef struct IndexView
{
	Oid			index;
	FileNumber	file;
	SnapshotKey snapshot;
	MemoryContext mcxt;			/* of all this but the copy */
	MemoryContext copy_mcxt;
	uint8	   *copy;			/* NULL: not read, or dropped */
	Size		copy_bytes;		/* 0 if there is none */
	double		spent;			/* pages looked at instead */
	OwnInsertions inserted;		/* when the view, or the copy, was new */
	int			sites;			/* call sites that asked it last */
	dlist_node	use;			/* in views */
} IndexView;

/* What one call in a query remembers from row to row */
typedef struct MembershipSite
{
	MemoryContext mcxt;
	MemoryContextCallback leave;	/* when the site goes */
	Oid			index;			/* asked last, or InvalidOid */
	Oid			user;			/* who may ask it */
	uint64		disturbances;	/* counted when the file was looked at */
	IndexView  *view;			/* NULL only if index is InvalidOid */
	bool		always;			/* the snapshot cannot use it: "yes" */
	ElementClass class;			/* of the index */
	bool		may_change;		/* by ALTER TYPE */
	ElementHasher *hasher;		/* of the elements asked about */
	Oid			collation;		/* that it was made with */
	Oid			element_type;
	int16		element_length;
	bool		element_byval;
	char		element_align;
} MembershipSite;

/* All of the session, the one copied last first, and the bytes of all copies */
static dlist_head views = DLIST_STATIC_INIT(views);
static Size copied_bytes = 0;

/*
 * Counts what may have changed an index, or lost its lock: invalidations of any
 * relation that this session has noticed, and subtransactions that were rolled back.
 */
static uint64 disturbances = 0;
static bool watching = false;

static void
at_invalidation(Datum arg, Oid relation)
{
	disturbances++;
}

static void
at_subtransaction_event(SubXactEvent event, SubTransactionId subtransaction,
						SubTransactionId parent, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		disturbances++;
}

/* ----------------------------------------------------------------
 *		Snapshots
 * ----------------------------------------------------------------
 */

static inline uint64
snapshot_completions(Snapshot snapshot)
{
	return snapshot->snapXactCompletionCount;
}

static bool
same_snapshot(const SnapshotKey *key, Snapshot snapshot)
{
	if (key->command != snapshot->curcid ||
		key->transaction != my_local_xid() ||
		key->xmin != snapshot->xmin || key->xmax != snapshot->xmax ||
		key->completions != snapshot_completions(snapshot) ||
		key->running != snapshot->xcnt ||
		key->running_subs != snapshot->subxcnt)
		return false;
	if (key->completions != 0)
		return true;
	/* there is no array where it would be empty */
	return (key->running == 0 ||
			memcmp(key->xids, snapshot->xip,
				   key->running * sizeof(TransactionId)) == 0) &&
		(key->running_subs == 0 ||
		 memcmp(key->xids + key->running, snapshot->subxip,
				key->running_subs * sizeof(TransactionId)) == 0);
}

static void
keep_snapshot(SnapshotKey *key, Snapshot snapshot, MemoryContext mcxt)
{
	if (snapshot_completions(snapshot) == 0)
	{
		key->xids = (TransactionId *)
			MemoryContextAlloc(mcxt, (snapshot->xcnt + snapshot->subxcnt + 1) *
							   sizeof(TransactionId));
		if (snapshot->xcnt > 0)
			memcpy(key->xids, snapshot->xip,
				   snapshot->xcnt * sizeof(TransactionId));
		if (snapshot->subxcnt > 0)
			memcpy(key->xids + snapshot->xcnt, snapshot->subxip,
				   snapshot->subxcnt * sizeof(TransactionId));
	}
	key->transaction = my_local_xid();
	key->command = snapshot->curcid;
	key->xmin = snapshot->xmin;
	key->xmax = snapshot->xmax;
	key->running = snapshot->xcnt;
	key->running_subs = snapshot->subxcnt;
	key->completions = snapshot_completions(snapshot);
}

/* ----------------------------------------------------------------
 *		Who may ask what
 * ----------------------------------------------------------------
 */

static void
refuse_partitioned(Oid oid)
{
	List	   *partitions = find_inheritance_children(oid, NoLock);
	StringInfoData names;
	int			named = 0;
	ListCell   *cell;

	initStringInfo(&names);
	foreach(cell, partitions)
	{
		if (named++ == PARTITIONS_NAMED)
		{
			appendStringInfoString(&names, ", ...");
			break;
		}
		appendStringInfo(&names, "%s\"%s\"", named > 1 ? ", " : "",
						 get_rel_name(lfirst_oid(cell)));
	}
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("index \"%s\" is partitioned", get_rel_name(oid)),
			 partitions == NIL ? errdetail("It has no partitions.") :
			 errdetail("Its partitions are %s.", names.data),
			 errhint("Ask the index of each partition, and join the answers by OR.")));
}

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
		pull_varattnos((Node *) RelationGetIndexExpressions(index), 1, &columns);
		pull_varattnos((Node *) RelationGetIndexPredicate(index), 1, &columns);
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
				 errmsg("index \"%s\" cannot be asked under the row-level security of table \"%s\"",
						RelationGetRelationName(index),
						RelationGetRelationName(heap)),
				 errdetail("It would tell about rows that the policies hide.")));
}

/*
 * Lock a table and its index, in this order, until the end of the transaction,
 * and open both; check that the index is one of ours, may be read by the user and
 * in this process, and is sound.
 */
static Relation
open_index(Oid oid, Relation *heap)
{
	char		kind = get_rel_relkind(oid);
	Oid			heap_oid;
	Relation	index = NULL;

	if (kind == RELKIND_PARTITIONED_INDEX)
		refuse_partitioned(oid);
	heap_oid = kind == RELKIND_INDEX ? IndexGetRelation(oid, true) : InvalidOid;
	if (OidIsValid(heap_oid))
	{
		*heap = try_relation_open(heap_oid, AccessShareLock);
		if (*heap)
			index = try_relation_open(oid, AccessShareLock);
		if (*heap && index == NULL)
			relation_close(*heap, NoLock);
	}
	if (index == NULL)
	{
		if (kind != '\0' && kind != RELKIND_INDEX)
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("\"%s\" is not an index", get_rel_name(oid)),
					 errhint("Name an index that was created by CREATE INDEX ... USING membership.")));
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("index with OID %u does not exist", oid),
				 errhint("REINDEX CONCURRENTLY gives an index another OID; where one is to be named for long, write 'name'::text::regclass.")));
	}
	if (!is_membership(index))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("index \"%s\" is not a membership index",
						RelationGetRelationName(index)),
				 errhint("Name an index that was created by CREATE INDEX ... USING membership.")));
	check_privileges(*heap, index);
	if (RELATION_IS_OTHER_TEMP(index))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary indexes of other sessions")));
	if (IsParallelWorker() && RelationUsesLocalBuffers(index))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_STATE),
				 errmsg("index \"%s\" is temporary and cannot be asked by a parallel worker",
						RelationGetRelationName(index)),
				 errhint("Set max_parallel_workers_per_gather to 0.")));
	if (RecoveryInProgress() && !RelationIsPermanent(index))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary or unlogged relations during recovery")));
	if (!index->rd_index->indisvalid)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" is not valid",
						RelationGetRelationName(index)),
				 errhint("Its creation has not ended, or has failed; then REINDEX it or drop it.")));
	return index;
}

/* May rows that the snapshot sees be missing, since their HOT chains were broken? */
static bool
snapshot_too_old(Relation index)
{
	return index->rd_index->indcheckxmin &&
		!TransactionIdPrecedes(HeapTupleHeaderGetXmin(index->rd_indextuple->t_data),
							   TransactionXmin);
}

static void
refuse_old_snapshot(Relation index)
{
	if (snapshot_too_old(index))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" cannot be read by this transaction yet",
						RelationGetRelationName(index)),
				 errdetail("It was built while rows that this transaction may see were being changed."),
				 errhint("Try again in a new transaction.")));
}

/* ----------------------------------------------------------------
 *		Views and call sites
 * ----------------------------------------------------------------
 */

static void
drop_copy(IndexView *view)
{
	MemoryContextReset(view->copy_mcxt);
	copied_bytes -= view->copy_bytes;
	view->copy = NULL;
	view->copy_bytes = 0;
	view->spent = 0;
}

/* A call site turns to another view, or ends. */
static void
leave_view(IndexView *view)
{
	if (view == NULL || --view->sites > 0)
		return;
	drop_copy(view);
	dlist_delete(&view->use);
	MemoryContextDelete(view->mcxt);
}

static void
leave_last_view(void *site)
{
	leave_view(((MembershipSite *) site)->view);
}

/* The view of an index, as its file is now, by this snapshot, for one more site */
static IndexView *
join_view(Relation index, Snapshot snapshot)
{
	IndexView  *view;
	MemoryContext mcxt;
	dlist_iter	iter;

	dlist_foreach(iter, &views)
	{
		view = dlist_container(IndexView, use, iter.cur);
		if (view->index == RelationGetRelid(index) &&
			view->file == file_number(index) &&
			same_snapshot(&view->snapshot, snapshot))
		{
			view->sites++;
			return view;
		}
	}

	/* An error before it is among the others would leave it for ever */
	mcxt = AllocSetContextCreate(CurrentMemoryContext, "membership view",
								 ALLOCSET_SMALL_SIZES);
	view = (IndexView *) MemoryContextAllocZero(mcxt, sizeof(IndexView));
	view->index = RelationGetRelid(index);
	view->file = file_number(index);
	keep_snapshot(&view->snapshot, snapshot, mcxt);
	view->mcxt = mcxt;
	view->copy_mcxt = AllocSetContextCreate(mcxt, "membership copy",
											ALLOCSET_SMALL_SIZES);
	view->inserted = own_insertions;
	view->sites = 1;
	MemoryContextSetParent(mcxt, TopMemoryContext);
	dlist_push_head(&views, &view->use);
	return view;
}

/*
 * Read the whole index.  Copies of other views, the oldest first, make room for
 * it: they are asked page by page again until that has cost too much once more.
 */
static void
copy_index(IndexView *view, Relation index, const MembershipMeta *meta,
		   ElementClass class)
{
	Size		bytes = pages_image_bytes(meta);
	void	   *memory;
	uint8	   *copy;
	dlist_node *node = dlist_tail_node(&views);

	while (copied_bytes + bytes > KEEP_BYTES)
	{
		IndexView  *old = dlist_container(IndexView, use, node);

		if (old->copy != NULL)
			drop_copy(old);
		if (!dlist_has_prev(&views, node))
			break;
		node = dlist_prev_node(&views, node);
	}
	/* what an error has left */
	MemoryContextReset(view->copy_mcxt);
	copy = allocate_image(view->copy_mcxt, bytes, false, &memory);
	pages_read(index, meta, class, copy);
	view->copy = copy;
	view->copy_bytes = bytes;
	copied_bytes += bytes;
	view->inserted.written = own_insertions.written;
	dlist_move_head(&views, &view->use);
}

static MembershipSite *
make_site(FunctionCallInfo fcinfo, bool is_array)
{
	MemoryContext mcxt = fcinfo->flinfo->fn_mcxt;
	MembershipSite *site = (MembershipSite *)
		MemoryContextAllocZero(mcxt, sizeof(MembershipSite));

	site->mcxt = mcxt;
	site->element_type = call_site_element_type(fcinfo->flinfo, 1, is_array);
	get_typlenbyvalalign(site->element_type, &site->element_length,
						 &site->element_byval, &site->element_align);
	site->leave.func = leave_last_view;
	site->leave.arg = site;
	MemoryContextRegisterResetCallback(mcxt, &site->leave);
	if (!watching)
	{
		CacheRegisterRelcacheCallback(at_invalidation, (Datum) 0);
		RegisterSubXactCallback(at_subtransaction_event, NULL);
		watching = true;
	}
	fcinfo->flinfo->fn_extra = site;
	return site;
}

/* Open an index that is not the one asked last, or by another snapshot or user. */
static void
prepare_site(MembershipSite *site, Oid oid, Snapshot snapshot)
{
	Relation	heap;
	Relation	index = open_index(oid, &heap);
	IndexView  *view;

	if (site->index != oid || site->may_change)
	{
		MembershipHasher of_index;
		Oid			collation = index->rd_indcollation[0];

		site->index = InvalidOid;
		membership_hasher_init(&of_index, index, CurrentMemoryContext);
		site->class = of_index.hasher->class;
		site->may_change = element_structure(of_index.hasher) != 0;
		if (site->may_change)
		{
			MembershipMeta meta;

			meta_read(index, &meta);
			membership_check_structure(&of_index, index, &meta);
		}
		if (site->hasher && site->collation != collation)
		{
			MemoryContextDelete(site->hasher->mcxt);
			site->hasher = NULL;
		}
		if (site->hasher == NULL)
			site->hasher = element_hasher_create(site->element_type, collation,
												 ELEMENT_LOCAL, site->mcxt);
		site->collation = collation;
	}
	flush_pending();
	PredicateLockRelation(index, snapshot);
	view = join_view(index, snapshot);
	leave_view(site->view);
	site->view = view;
	site->always = snapshot_too_old(index);
	site->user = GetUserId();
	site->disturbances = disturbances;
	site->index = oid;
	relation_close(index, NoLock);
	relation_close(heap, NoLock);
}

/* The call site, with this index open for the snapshot of the query */
static MembershipSite *
open_site(FunctionCallInfo fcinfo, Oid oid, bool is_array)
{
	MembershipSite *site = (MembershipSite *) fcinfo->flinfo->fn_extra;
	Snapshot	snapshot;

	if (unlikely(!ActiveSnapshotSet()))
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("cannot ask an index without a snapshot")));
	snapshot = GetActiveSnapshot();
	if (unlikely(site == NULL))
		site = make_site(fcinfo, is_array);
	if (unlikely(site->index != oid ||
				 site->disturbances != disturbances ||
				 site->user != GetUserId() ||
				 !same_snapshot(&site->view->snapshot, snapshot)))
		prepare_site(site, oid, snapshot);
	return site;
}

static uint64
hash_element(MembershipSite *site, Datum element)
{
	uint64		hash = element_hash(site->hasher, element, 0);

	/* to read the element may have brought news of its type */
	if (unlikely(site->may_change && site->disturbances != disturbances))
	{
		prepare_site(site, site->index, GetActiveSnapshot());
		hash = element_hash(site->hasher, element, 0);
	}
	if (unlikely(site->hasher->class != site->class))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("index \"%s\" holds elements of class %s, not %s",
						get_rel_name(site->index),
						element_class_name(site->class),
						element_class_name(site->hasher->class)),
				 errdetail("The element is of type %s.",
						   format_type_be(site->hasher->type)),
				 errhint("Cast the element to the type of the index's column, or, where it has several, to a ROW of their types.")));
	return hash;
}

/*
 * Ask about hashes: in the copy, or page by page, or in the copy that is
 * made because these questions bring what was spent to its cost.
 */
static void
ask_hashes(MembershipSite *site, const uint64 *hashes, Size count, bool *found)
{
	IndexView  *view = site->view;
	Relation	index;
	MembershipMeta meta;

	if (site->always)
	{
		memset(found, true, count * sizeof(bool));
		return;
	}
	if (view->copy == NULL)
	{
		index = relation_open(site->index, NoLock);
		meta_read(index, &meta);
		if (pages_image_bytes(&meta) <= KEEP_BYTES &&
			view->spent + count * (1.0 + meta.layers) >=
			COPY_COST * meta_pages(&meta))
			copy_index(view, index, &meta, site->class);
		else
		{
			view->spent += count * (1.0 + meta.layers);
			for (Size i = 0; i < count; i++)
			{
				if (i % BATCH == 0)
					CHECK_FOR_INTERRUPTS();
				found[i] = pages_contain(index, &meta, hashes[i]);
			}
		}
		relation_close(index, NoLock);
		if (view->copy == NULL)
			return;
	}
	for (Size done = 0; done < count; done += BATCH)
	{
		if (done > 0)
			CHECK_FOR_INTERRUPTS();
		filter_contains_batch(view->copy, hashes + done,
							  Min(count - done, BATCH), found + done);
	}
}

/*
 * Where the index as it was read says no, what this session has inserted since
 * counts: see membership_insert.c.
 */
static inline bool
is_later(MembershipSite *site)
{
	return unlikely(site->view->inserted.made != own_insertions.made) &&
		!site->always;
}

static void
ask_later(MembershipSite *site, const uint64 *hashes, Size count, bool *found)
{
	Relation	index = relation_open(site->index, NoLock);

	for (Size i = 0; i < count; i++)
		if (!found[i])
			found[i] = inserted_since(index, &site->view->inserted, hashes[i]);
	relation_close(index, NoLock);
}

/* membership_contains(index regclass, element anycompatible) */
Datum
bloomfilter_membership_contains(PG_FUNCTION_ARGS)
{
	MembershipSite *site = open_site(fcinfo, PG_GETARG_OID(0), false);
	uint64		hash = hash_element(site, PG_GETARG_DATUM(1));
	bool		found;

	if (likely(site->view->copy != NULL && !site->always))
		found = filter_contains(site->view->copy, hash);
	else
		ask_hashes(site, &hash, 1, &found);
	if (is_later(site))
		ask_later(site, &hash, 1, &found);
	PG_RETURN_BOOL(found);
}

/* The answers for the elements of an array */
static void
ask_elements(FunctionCallInfo fcinfo, ArrayAnswers *answers)
{
	MembershipSite *site = open_site(fcinfo, PG_GETARG_OID(0), true);
	Datum	   *elements;
	uint64	   *hashes;
	Size		asked = 0;

	deconstruct_array(PG_GETARG_ARRAYTYPE_P(1), site->element_type,
					  site->element_length, site->element_byval,
					  site->element_align, &elements, &answers->nulls,
					  &answers->length);
	hashes = palloc_extended((answers->length + 1) * sizeof(uint64),
							 MCXT_ALLOC_HUGE);
	answers->found = palloc(answers->length + 1);
	for (int i = 0; i < answers->length; i++)
	{
		if (i % BATCH == 0)
			CHECK_FOR_INTERRUPTS();
		if (!answers->nulls[i])
			hashes[asked++] = hash_element(site, elements[i]);
	}
	ask_hashes(site, hashes, asked, answers->found);
	if (is_later(site))
		ask_later(site, hashes, asked, answers->found);
	spread_answers(answers, asked);
}

/* membership_contains_any(index regclass, elements anycompatiblearray) */
Datum
bloomfilter_membership_contains_any(PG_FUNCTION_ARGS)
{
	ArrayAnswers answers;

	ask_elements(fcinfo, &answers);
	return find_answer(fcinfo, &answers, true);
}

/* membership_contains_all(index regclass, elements anycompatiblearray) */
Datum
bloomfilter_membership_contains_all(PG_FUNCTION_ARGS)
{
	ArrayAnswers answers;

	ask_elements(fcinfo, &answers);
	return find_answer(fcinfo, &answers, false);
}

/* membership_contains_each(index regclass, elements anycompatiblearray) */
Datum
bloomfilter_membership_contains_each(PG_FUNCTION_ARGS)
{
	ArrayAnswers answers;

	ask_elements(fcinfo, &answers);
	return each_answer(PG_GETARG_ARRAYTYPE_P(1), &answers);
}

/* ----------------------------------------------------------------
 *		The whole index
 * ----------------------------------------------------------------
 */

/* membership_filter(index regclass): its content as a value */
Datum
bloomfilter_membership_filter(PG_FUNCTION_ARGS)
{
	Relation	heap;
	Relation	index = open_index(PG_GETARG_OID(0), &heap);
	MembershipHasher hasher;
	MembershipMeta meta;
	struct varlena *value;
	uint64		bytes;

	membership_hasher_init(&hasher, index, CurrentMemoryContext);
	if (element_hasher_is_local(hasher.hasher))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("index \"%s\" hashes elements of class %s in a way of its own",
						RelationGetRelationName(index),
						element_class_name(hasher.hasher->class)),
				 errdetail("It follows equality within this database, which a filter that may leave it cannot."),
				 errhint("Use bloom_agg.")));
	refuse_old_snapshot(index);
	flush_pending();
	PredicateLockRelation(index, GetActiveSnapshot());
	meta_read(index, &meta);
	membership_check_structure(&hasher, index, &meta);
	bytes = pages_image_bytes(&meta);
	if (bytes > IMAGE_MAX_BITS / 8)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("index \"%s\" holds " UINT64_FORMAT " bytes, more than a filter may have",
						RelationGetRelationName(index), bytes),
				 errdetail("The most is %u bytes.",
						   (unsigned) (IMAGE_MAX_BITS / 8))));
	if (meta.layers == 0)
		value = value_make_empty(FILTER_BLOOM);
	else
	{
		value = palloc(VARHDRSZ + bytes);
		SET_VARSIZE(value, VARHDRSZ + bytes);
		pages_read(index, &meta, hasher.hasher->class, (uint8 *) VARDATA(value));
	}
	relation_close(index, NoLock);
	relation_close(heap, NoLock);
	PG_RETURN_POINTER(value);
}

/* Columns of membership_info(), in the order of its OUT parameters */
enum
{
	INFO_LAYERS,
	INFO_ELEMENTS,
	INFO_CAPACITY,
	INFO_ERROR_RATE,
	INFO_ESTIMATED_ERROR_RATE,
	INFO_BYTES,
	INFO_DEAD_ELEMENTS,
	INFO_COLUMNS
};

/* membership_info(index regclass) */
Datum
bloomfilter_membership_info(PG_FUNCTION_ARGS)
{
	Relation	heap;
	Relation	index = open_index(PG_GETARG_OID(0), &heap);
	MembershipMeta meta;
	TupleDesc	desc;
	Datum		values[INFO_COLUMNS];
	bool		nulls[INFO_COLUMNS] = {false};
	double		absent = 1;		/* that no layer errs */

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	flush_pending();
	meta_read(index, &meta);
	pages_measure(index, &meta);
	for (int i = 0; i < meta.layers; i++)
	{
		FilterLayer layer;

		meta_layer(&meta, i, &layer);
		absent *= 1 - layer_error_rate(&layer);
	}
	values[INFO_LAYERS] = Int32GetDatum(meta.layers);
	values[INFO_ELEMENTS] = Int64GetDatum((int64) rint(meta_elements(&meta)));
	values[INFO_CAPACITY] = Int64GetDatum(meta.capacity);
	values[INFO_ERROR_RATE] = Float8GetDatum(meta.error_rate);
	values[INFO_ESTIMATED_ERROR_RATE] = Float8GetDatum(1 - absent);
	values[INFO_BYTES] = Int64GetDatum((int64) BLCKSZ *
									   RelationGetNumberOfBlocks(index));
	if (meta.live_rows < 0)
		nulls[INFO_DEAD_ELEMENTS] = true;
	else
		values[INFO_DEAD_ELEMENTS] =
			Int64GetDatum((int64) rint(fmax(meta.live_elements - meta.live_rows, 0)));
	relation_close(index, NoLock);
	relation_close(heap, NoLock);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc),
													  values, nulls)));
}

/*
 * membership_check(index regclass): look whether every row that is visible is
 * in the index, and every page as it should be.  Returns the number of rows.
 *
 * The expressions of the index are evaluated as its owner does, so that they
 * cannot do anything in the name of who checks it.
 */
Datum
bloomfilter_membership_check(PG_FUNCTION_ARGS)
{
	Relation	heap;
	Relation	index = open_index(PG_GETARG_OID(0), &heap);
	IndexInfo  *info;
	EState	   *estate = CreateExecutorState();
	ExprContext *econtext = GetPerTupleExprContext(estate);
	TupleTableSlot *slot = table_slot_create(heap, NULL);
	ExprState  *predicate;
	MembershipHasher hasher;
	MembershipMeta meta;
	TableScanDesc scan;
	Oid			user;
	int			security;
	int			nest_level;
	int64		rows = 0;

	refuse_old_snapshot(index);
	GetUserIdAndSecContext(&user, &security);
	SetUserIdAndSecContext(heap->rd_rel->relowner,
						   security | SECURITY_RESTRICTED_OPERATION);
	nest_level = NewGUCNestLevel();
#if PG_VERSION_NUM >= 170000
	RestrictSearchPath();
#endif
	info = BuildIndexInfo(index);
	predicate = ExecPrepareQual(info->ii_Predicate, estate);
	flush_pending();
	membership_hasher_init(&hasher, index, CurrentMemoryContext);
	meta_read(index, &meta);
	membership_check_structure(&hasher, index, &meta);
	pages_check(index, &meta);
	econtext->ecxt_scantuple = slot;
	scan = begin_scan(heap, GetActiveSnapshot());
	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		Datum		values[INDEX_MAX_KEYS];
		bool		nulls[INDEX_MAX_KEYS];
		uint64		hash;

		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(econtext->ecxt_per_tuple_memory);
		if (predicate && !ExecQual(predicate, econtext))
			continue;
		FormIndexDatum(info, slot, estate, values, nulls);
		rows++;
		if (membership_hash(&hasher, index, values, nulls, &hash) &&
			!pages_contain(index, &meta, hash))
			ereport(ERROR,
					(errcode(ERRCODE_INDEX_CORRUPTED),
					 errmsg("row (%u,%u) of table \"%s\" is missing in index \"%s\"",
							ItemPointerGetBlockNumber(&slot->tts_tid),
							ItemPointerGetOffsetNumber(&slot->tts_tid),
							RelationGetRelationName(heap),
							RelationGetRelationName(index)),
					 errhint("Please REINDEX it.")));
	}
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	FreeExecutorState(estate);
	AtEOXact_GUC(false, nest_level);
	SetUserIdAndSecContext(user, security);
	relation_close(index, NoLock);
	relation_close(heap, NoLock);
	PG_RETURN_INT64(rows);
}
