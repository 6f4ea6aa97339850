/*
 * inspect.c
 *	  Functions on a whole membership index: membership_filter(), membership_info(),
 *	  membership_check().
 *
 * For a partitioned index, membership_info() returns a row for each partition, and
 * membership_check() the number of rows of all partitions.
 */
#include "membership.h"

#include <math.h>

#include "access/tableam.h"
#include "catalog/index.h"
#include "executor/executor.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"

#if PG_VERSION_NUM >= 190000
#define begin_scan(heap, snapshot) \
	table_beginscan(heap, snapshot, 0, NULL, SO_NONE)
#else
#define begin_scan(heap, snapshot) \
	table_beginscan(heap, snapshot, 0, NULL)
#endif

/* The search path for an index's expressions, as in RestrictSearchPath() */
#define SAFE_SEARCH_PATH	"pg_catalog, pg_temp"

/* A MembershipVisitor: copies an index to a new value, *(struct varlena **) arg */
static void
read_filter(Relation heap, Relation index, void *arg)
{
	MembershipHasher hasher;
	MembershipMeta meta;
	struct varlena *value;
	uint64		bytes;

	membership_hasher_init(&hasher, index, CurrentMemoryContext);
	if (element_hasher_is_local(hasher.hasher))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot convert index \"%s\" to a filter",
						RelationGetRelationName(index)),
				 errdetail("Elements of class %s are hashed in a way that is valid only in this database.",
						   element_class_name(hasher.hasher->class)),
				 errhint("Build the filter with bloom_agg().")));
	if (has_children(heap))
		refuse_children(RelationGetRelid(index));
	refuse_old_snapshot(index, GetActiveSnapshot());
	flush_pending();
	PredicateLockRelation(index, GetActiveSnapshot());
	pgstat_count_index_scan(index);
	meta_read(index, &meta);
	membership_check_structure(&hasher, index, &meta);
	bytes = pages_image_bytes(&meta);
	if (bytes > IMAGE_MAX_BITS / 8)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("index \"%s\" is too large for a filter: " UINT64_FORMAT " bytes",
						RelationGetRelationName(index), bytes),
				 errdetail("A filter has at most %u bytes.",
						   (unsigned) (IMAGE_MAX_BITS / 8))));
	check_size(bytes);
	if (meta.layers == 0)
		value = value_make_empty(FILTER_BLOOM);
	else
	{
		value = palloc(VARHDRSZ + bytes);
		SET_VARSIZE(value, VARHDRSZ + bytes);
		pages_read(index, &meta, hasher.hasher->class, (uint8 *) VARDATA(value));
	}
	*(struct varlena **) arg = value;
}

/* membership_filter(index regclass): returns the index's content as a bloom */
SQL_FUNCTION(bloomfilter_membership_filter)
{
	Oid			oid = PG_GETARG_OID(0);
	struct varlena *value = NULL;

	if (get_rel_relkind(oid) == RELKIND_PARTITIONED_INDEX)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("cannot convert partitioned index \"%s\" to a filter",
						get_rel_name(oid)),
				 errhint("Combine the filters of its partitions' indexes with bloom_union_agg().")));
	membership_open_all(oid, OPEN_TO_READ, read_filter, &value);
	PG_RETURN_POINTER(value);
}

/* A MembershipVisitor: adds a row to the ReturnSetInfo "arg" */
static void
put_info(Relation heap, Relation index, void *arg)
{
	ReturnSetInfo *rows = (ReturnSetInfo *) arg;
	MembershipMeta meta;
	double		absent = 1;		/* probability of no false positive */

	flush_pending();
	meta_read(index, &meta);
	meta_measure(index, &meta);
	for (int i = 0; i < meta.layers; i++)
	{
		FilterLayer layer;

		meta_layer(&meta, i, &layer);
		absent *= 1 - layer_error_rate(&layer);
	}
	{
		/* in the order of the OUT parameters */
		Datum		values[] = {
			ObjectIdGetDatum(RelationGetRelid(index)),
			Int32GetDatum(meta.layers),
			Int64GetDatum((int64) rint(meta_elements(&meta))),
			Int64GetDatum(meta.capacity),
			Float8GetDatum(meta.error_rate),
			Float8GetDatum(1 - absent),
			Int64GetDatum((int64) BLCKSZ * RelationGetNumberOfBlocks(index)),
			/* NULL until VACUUM has counted the rows */
			Int64GetDatum((int64) rint(fmax(meta.live_elements - meta.live_rows, 0)))
		};
		bool		nulls[] = {[lengthof(values) - 1] = meta.live_rows < 0};

		tuplestore_putvalues(rows->setResult, rows->setDesc, values, nulls);
	}
}

/* membership_info(index regclass): a row for each readable index of a table or partition */
SQL_FUNCTION(bloomfilter_membership_info)
{
	InitMaterializedSRF(fcinfo, 0);
	membership_open_all(PG_GETARG_OID(0), OPEN_TO_DESCRIBE, put_info, fcinfo->resultinfo);
	return (Datum) 0;
}

/* Check the pages, and that the index has all visible rows; returns their number. */
static int64
check_rows(Relation heap, Relation index)
{
	IndexInfo  *info = BuildIndexInfo(index);
	EState	   *estate = CreateExecutorState();
	ExprContext *econtext = GetPerTupleExprContext(estate);
	TupleTableSlot *slot = table_slot_create(heap, NULL);
	ExprState  *predicate = ExecPrepareQual(info->ii_Predicate, estate);
	MembershipHasher hasher;
	MembershipMeta meta;
	TableScanDesc scan;
	int64		rows = 0;

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
		Size		count;

		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(econtext->ecxt_per_tuple_memory);
		if (predicate && !ExecQual(predicate, econtext))
			continue;
		FormIndexDatum(info, slot, estate, values, nulls);
		rows++;
		count = membership_hash(&hasher, values, nulls);
		for (Size i = 0; i < count; i++)
		{
			CHECK_FOR_INTERRUPTS();
			if (!pages_contain(index, &meta, hasher.hashes[i]))
				report_corrupted("row (%u,%u) of table \"%s\" is missing in index \"%s\"",
								 ItemPointerGetBlockNumber(&slot->tts_tid),
								 ItemPointerGetOffsetNumber(&slot->tts_tid),
								 RelationGetRelationName(heap),
								 RelationGetRelationName(index));
		}
	}
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	FreeExecutorState(estate);
	return rows;
}

/*
 * A MembershipVisitor: checks the index, and adds the number of its rows to *arg, an int64
 *
 * Evaluates the expressions of the index as the owner of the table, with a fixed search
 * path.  So the expressions cannot act in the name of the user who checks the index, and
 * this user cannot make them act in the name of the owner.
 */
static void
check_index(Relation heap, Relation index, void *arg)
{
	Oid			user;
	int			security;
	int			nest_level;

	refuse_old_snapshot(index, GetActiveSnapshot());
	flush_pending();
	GetUserIdAndSecContext(&user, &security);
	SetUserIdAndSecContext(heap->rd_rel->relowner,
						   security | SECURITY_RESTRICTED_OPERATION);
	nest_level = NewGUCNestLevel();
	(void) set_config_option("search_path", SAFE_SEARCH_PATH, PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	*(int64 *) arg += check_rows(heap, index);
	AtEOXact_GUC(false, nest_level);
	SetUserIdAndSecContext(user, security);
}

/*
 * membership_check(index regclass): checks that every page is valid, and that every visible
 * row is in the index.  Returns the number of rows.
 */
SQL_FUNCTION(bloomfilter_membership_check)
{
	int64		rows = 0;

	membership_open_all(PG_GETARG_OID(0), OPEN_TO_CHECK, check_index, &rows);
	PG_RETURN_INT64(rows);
}
