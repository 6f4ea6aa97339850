/*
 * block_filter.c
 *	  Which blocks of a table may have rows with a join's keys, by an index of the table.
 *
 *		SELECT ... FROM sales s JOIN days d ON s.day = d.day WHERE d.quarter = '2026Q1'
 *
 * A probe drops a row that has none of the keys, but its page has been read by then.  If the
 * table is stored in the order of the column, most pages have no such row.  After the join has
 * collected its keys, a BRIN index on the column tells which blocks may have values from the
 * least to the greatest of them.  A Filter Scan reads only these, and probes their rows as
 * before.  So does a btree index whose column the table follows (CORRELATION_MIN).
 *
 * A BRIN index is scanned as core's Bitmap Index Scan does, with the two ends as scan keys.  So
 * blocks that are not summarized are read.  The blocks are those that core's bitmap scan would
 * read for "column BETWEEN least AND greatest", and what makes that scan correct holds here, too:
 *
 * - All rows that the snapshot sees are in the index, unless it is not valid, or was built too
 *   recently for the snapshot.  That is checked at each scan, under a lock on the index which is
 *   kept until the transaction ends.  The lock is not waited for: if it is not to be had, all
 *   blocks are read.
 * - Under SERIALIZABLE the table is locked as by a sequential scan, and the index as by an index
 *   scan.  A row that another transaction is inserting, and that the index does not tell of
 *   yet, conflicts with the latter lock when the index gets it.
 *
 * Cost.  A BRIN index is read as a whole once per scan, which is little compared with the table:
 * one with smaller ranges than RANGE_PAGES_MIN is not used.  To read an entry of a btree takes
 * half as long as to scan a row.  So it is used only if the histogram of the column says that
 * few rows are between the ends, and given up if it has more entries there.
 *
 * Limits.  The key must be one column of an integer, date or timestamp type: filters contain
 * only hashes of other keys.  Scans whose blocks are dealt out to parallel processes read all
 * blocks.  So do those whose filter is not complete when they begin; so the hash table is built
 * before the outer side is read (Placement.blocked).  Where rows of the query are hidden, the
 * number of blocks might tell of these, so none are skipped.
 *
 * A fault of core's BRIN remains, also in its bitmap scans: a range that is summarized after the
 * snapshot was taken may lack values that the snapshot sees.  From 16 on these are values that a
 * row had before a HOT update; on a standby, also those of deleted rows.  Nothing tells when a
 * range was summarized.
 */
#include "block_filter.h"

#include <math.h>

#include "index/membership.h"

#include "access/brin.h"
#include "access/genam.h"
#include "access/relation.h"
#include "access/stratnum.h"
#include "access/transam.h"
#include "catalog/pg_am.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/tidbitmap.h"
#include "storage/lmgr.h"
#include "storage/predicate.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

/* Read a smaller table as a whole: this many pages take 1 ms. */
#define PAGES_MIN				128

/* To look at a range of a BRIN index takes as long as to read a third of a page. */
#define RANGE_PAGES_MIN			8

/* Use a btree if the table follows the order of its column so closely, in either direction, */
#define CORRELATION_MIN			0.9
/* and if at most this share of the rows is expected between the ends. */
#define ENTRIES_SHARE_MAX		0.08
/* Give up at so many entries, which cost 1 / 20 of the scan. */
#define ENTRIES_SHARE_LIMIT		0.1

/*
 * Read all blocks if the index leaves more than this share: only a sequential scan spares the
 * buffers of others, and keeps pace with other scans of the table.
 */
#define BLOCKS_SHARE_MAX		0.9

#if PG_VERSION_NUM < 180000
#define TBMPrivateIterator		TBMIterator
#define tbm_begin_private_iterate tbm_begin_iterate
#define tbm_end_private_iterate	tbm_end_iterate
#endif

/* The blocks to read, in a memory context of their own */
struct BlockFilter
{
	MemoryContext mcxt;
	TIDBitmap  *bitmap;
	TBMPrivateIterator *iterator;	/* NULL: at the end */
	BlockNumber ahead;			/* block fetched from the iterator, or
								 * InvalidBlockNumber */
	BlockNumber done;			/* all blocks before this one are read or
								 * skipped */
	BlockNumber blocks;			/* number of blocks of the table */
	uint64		skipped;
};

/* ---- Indexes ---- */

/* Is the type of an index's column the one that these keys are values of? */
static bool
has_order_of_keys(Oid type, KeyInteger integer)
{
	switch (type)
	{
		case INT2OID:
			return integer == KEY_INT2;
		case INT4OID:
		case DATEOID:
			return integer == KEY_INT4;
		case INT8OID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return integer == KEY_INT8;
		default:
			/* oid is unsigned, so its order differs from that of the keys */
			return false;
	}
}

/*
 * Return the number of the index's column that is this column of the table, is of the keys' type,
 * and can be searched without others; or -1.
 */
static int
column_of(Relation index, AttrNumber attribute, KeyInteger integer)
{
	int			columns = index->rd_rel->relam == BTREE_AM_OID ? 1 :
		IndexRelationGetNumberOfKeyAttributes(index);

	for (int i = 0; i < columns; i++)
	{
		if (index->rd_index->indkey.values[i] == attribute &&
			has_order_of_keys(index->rd_opcintype[i], integer))
			return i;
	}
	return -1;
}

/*
 * Prepare to search an index's column for values on one side of a key, by an operator of the
 * type's own order.  Return false if the index does not know the operator.
 */
static bool
make_scan_key(Relation index, int column, StrategyNumber order, Datum value, ScanKey key)
{
	Oid			type = index->rd_opcintype[column];
	Oid			family = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	Oid			operator = get_opfamily_member(family, type, type, order);
	int			strategy = OidIsValid(operator) ?
		get_op_opfamily_strategy(operator, index->rd_opfamily[column]) : 0;

	if (strategy == 0)
		return false;
	ScanKeyEntryInitialize(key, 0, column + 1, strategy, type,
						   index->rd_indcollation[column], get_opcode(operator), value);
	return true;
}

/*
 * Was an index built, or built anew, by a transaction that the snapshot sees as running, or by our
 * own?  Then it may lack rows that the snapshot sees, where core checks nothing: the primary knows
 * of no snapshot on a standby, and from 16 on REINDEX leaves values out of a BRIN index that a row
 * had before an update of the same HOT chain.
 */
static bool
was_built_later(Relation index, Snapshot snapshot)
{
	Oid			oid = RelationGetRelid(index);

	return catalog_row_written_later(INDEXRELID, oid, snapshot, true) ||
		catalog_row_written_later(RELOID, oid, snapshot, true);
}

/* Does an index tell of all rows of its table that the snapshots of this transaction see? */
static bool
has_all_rows(Relation index)
{
	Form_pg_index form = index->rd_index;

	return form->indisvalid && form->indislive &&
		heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL) &&
		!(form->indcheckxmin &&
		  !TransactionIdPrecedes(HeapTupleHeaderGetXmin(index->rd_indextuple->t_data),
								 TransactionXmin));
}

/*
 * Open an index of a table, and lock it until the transaction ends.  Return NULL if it is not
 * there, not usable, or cannot be locked at once.
 */
static Relation
open_index(Oid oid, Oid table)
{
	Relation	index;

	if (!ConditionalLockRelationOid(oid, AccessShareLock))
		return NULL;
	index = try_relation_open(oid, NoLock);
	if (index == NULL)
	{
		UnlockRelationOid(oid, AccessShareLock);
		return NULL;
	}
	if (index->rd_rel->relkind == RELKIND_INDEX &&
		(index->rd_rel->relam == BRIN_AM_OID || index->rd_rel->relam == BTREE_AM_OID) &&
		index->rd_index->indrelid == table && has_all_rows(index))
		return index;
	relation_close(index, NoLock);
	return NULL;
}

/* Return the statistics of a column of a table, or NULL.  ReleaseSysCache() releases them. */
static HeapTuple
statistics_of(Oid table, AttrNumber attribute)
{
	HeapTuple	tuple = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(table),
										Int16GetDatum(attribute), BoolGetDatum(false));

	return HeapTupleIsValid(tuple) ? tuple : NULL;
}

/* Do the rows of a table follow each other in the order of a column, or nearly so? */
static bool
follows_order(Oid table, AttrNumber attribute)
{
	HeapTuple	statistics = statistics_of(table, attribute);
	AttStatsSlot slot;
	bool		follows = false;

	if (statistics == NULL)
		return false;
	if (get_attstatsslot(&slot, statistics, STATISTIC_KIND_CORRELATION, InvalidOid,
						 ATTSTATSSLOT_NUMBERS))
	{
		follows = slot.nnumbers == 1 && fabsf(slot.numbers[0]) >= CORRELATION_MIN;
		free_attstatsslot(&slot);
	}
	ReleaseSysCache(statistics);
	return follows;
}

/*
 * Return the share of a table's rows with values of a column from "least" to "most", by its
 * statistics; 1 if they do not tell.
 */
static double
share_of_rows(Oid table, AttrNumber attribute, KeyInteger type, int64 least, int64 most)
{
	HeapTuple	statistics = statistics_of(table, attribute);
	AttStatsSlot slot;
	double		common = 0;		/* share of the most common values, */
	double		between = 0;	/* and of those between the ends */
	double		share = 1;

	if (statistics == NULL)
		return 1;
	if (get_attstatsslot(&slot, statistics, STATISTIC_KIND_MCV, InvalidOid,
						 ATTSTATSSLOT_VALUES | ATTSTATSSLOT_NUMBERS))
	{
		for (int i = 0; i < slot.nvalues; i++)
		{
			int64		value = integer_of_key(key_of_datum(type, slot.values[i]));

			common += slot.numbers[i];
			if (value >= least && value <= most)
				between += slot.numbers[i];
		}
		free_attstatsslot(&slot);
	}
	if (get_attstatsslot(&slot, statistics, STATISTIC_KIND_HISTOGRAM, InvalidOid,
						 ATTSTATSSLOT_VALUES))
	{
		int			bounds = 1; /* a part of a bin counts as a whole one */

		for (int i = 0; i < slot.nvalues; i++)
		{
			int64		value = integer_of_key(key_of_datum(type, slot.values[i]));

			bounds += value >= least && value <= most;
		}
		share = between + Max(1 - common, 0) * bounds / slot.nvalues;
		free_attstatsslot(&slot);
	}
	ReleaseSysCache(statistics);
	return share;
}

/* Can an index be searched for blocks at little cost? */
static bool
is_cheap(Relation index, AttrNumber attribute)
{
	if (index->rd_rel->relam == BRIN_AM_OID)
		return BrinGetPagesPerRange(index) >= RANGE_PAGES_MIN;
	return follows_order(index->rd_index->indrelid, attribute);
}

/*
 * Return a table's index that tells which blocks may have some keys in a column, or InvalidOid.
 * The planner has locked the table.  A BRIN index is preferred.
 */
Oid
block_index_for(Oid table, AttrNumber attribute, KeyInteger type)
{
	Relation	relation = table_open(table, NoLock);
	List	   *indexes = RelationGetIndexList(relation);
	Oid			found = InvalidOid;
	bool		is_brin = false;
	ListCell   *cell;

	foreach(cell, indexes)
	{
		Relation	index = open_index(lfirst_oid(cell), table);
		ScanKeyData key;
		int			column;

		if (index == NULL)
			continue;
		column = column_of(index, attribute, type);
		if (column >= 0 && is_cheap(index, attribute) &&
			make_scan_key(index, column, BTGreaterEqualStrategyNumber, (Datum) 0, &key) &&
			make_scan_key(index, column, BTLessEqualStrategyNumber, (Datum) 0, &key))
		{
			found = lfirst_oid(cell);
			is_brin = index->rd_rel->relam == BRIN_AM_OID;
		}
		relation_close(index, NoLock);
		if (is_brin)
			break;
	}
	list_free(indexes);
	table_close(relation, NoLock);
	return found;
}

/* ---- Blocks ---- */

/*
 * Return the blocks that a btree tells of, for values from one key to another.  Return NULL if
 * it has more entries than "limit".
 */
static TIDBitmap *
search_btree(Relation table, Relation index, ScanKeyData keys[2], Snapshot snapshot,
			 double limit)
{
	TIDBitmap  *bitmap = tbm_create(work_mem * (Size) 1024, NULL);
	BlockNumber added = InvalidBlockNumber;
	double		entries = 0;
	ItemPointer place;
#if PG_VERSION_NUM >= 190000
	IndexScanDesc scan = index_beginscan(table, index, snapshot, NULL, 2, 0, 0);
#elif PG_VERSION_NUM >= 180000
	IndexScanDesc scan = index_beginscan(table, index, snapshot, NULL, 2, 0);
#else
	IndexScanDesc scan = index_beginscan(table, index, snapshot, 2, 0);
#endif

	index_rescan(scan, keys, 2, NULL, 0);
	while (entries <= limit && (place = index_getnext_tid(scan, ForwardScanDirection)) != NULL)
	{
		if (ItemPointerGetBlockNumber(place) != added)
		{
			added = ItemPointerGetBlockNumber(place);
			tbm_add_page(bitmap, added);
			CHECK_FOR_INTERRUPTS();
		}
		entries++;
	}
	index_endscan(scan);
	if (entries <= limit)
		return bitmap;
	tbm_free(bitmap);
	return NULL;
}

/* Return the blocks that a BRIN index tells of, for values from one key to another. */
static TIDBitmap *
search_brin(Relation index, ScanKeyData keys[2], Snapshot snapshot)
{
	TIDBitmap  *bitmap = tbm_create(work_mem * (Size) 1024, NULL);
#if PG_VERSION_NUM >= 180000
	IndexScanDesc scan = index_beginscan_bitmap(index, snapshot, NULL, 2);
#else
	IndexScanDesc scan = index_beginscan_bitmap(index, snapshot, 2);
#endif

	index_rescan(scan, keys, 2, NULL, 0);
	index_getbitmap(scan, bitmap);
	index_endscan(scan);
	return bitmap;
}

/*
 * Return the blocks of a table that may have rows with the keys of a probe.  Return NULL if
 * that is not known: all may have some.
 */
static TIDBitmap *
blocks_of_probe(Relation table, KeyProbe *probe, Snapshot snapshot)
{
	const KeyFilter *filter = key_probe_filter(probe);
	KeyInteger	type = probe->plan.integer;
	Oid			oid = RelationGetRelid(table);
	double		rows = table->rd_rel->reltuples;
	TIDBitmap  *bitmap = NULL;
	ScanKeyData keys[2];
	int64		least;
	int64		most;
	Relation	index;
	int			column;

	if (!OidIsValid(probe->plan.block_index) || filter == NULL ||
		(!probe->plan.forced && RelationGetNumberOfBlocks(table) < PAGES_MIN))
		return NULL;
	Assert(filter->kind == KEY_INTEGER);
	if (!key_filter_range(filter, type, &least, &most))
		return tbm_create(work_mem * (Size) 1024, NULL);
	index = open_index(probe->plan.block_index, oid);
	if (index == NULL)
		return NULL;
	/* ALTER TABLE may have changed the column */
	column = column_of(index, probe->reader.attributes[0], type);
	if (column >= 0 && !was_built_later(index, snapshot) &&
		make_scan_key(index, column, BTGreaterEqualStrategyNumber, datum_of_key(type, least),
					  &keys[0]) &&
		make_scan_key(index, column, BTLessEqualStrategyNumber, datum_of_key(type, most),
					  &keys[1]))
	{
		if (index->rd_rel->relam == BRIN_AM_OID)
			bitmap = search_brin(index, keys, snapshot);
		else if (share_of_rows(oid, probe->reader.attributes[0], type, least, most) <=
				 ENTRIES_SHARE_MAX)
			bitmap = search_btree(table, index, keys, snapshot, rows * ENTRIES_SHARE_LIMIT);
	}
	relation_close(index, NoLock);
	return bitmap;
}

/* Fetch the next block to read. */
static void
fetch_block(BlockFilter *filter)
{
#if PG_VERSION_NUM >= 180000
	TBMIterateResult result;

	filter->ahead = tbm_private_iterate(filter->iterator, &result) ? result.blockno :
		InvalidBlockNumber;
#else
	const TBMIterateResult *result = tbm_iterate(filter->iterator);

	filter->ahead = result ? result->blockno : InvalidBlockNumber;
#endif
}

/* Count the blocks to read. */
static double
count_blocks(BlockFilter *filter)
{
	double		count = 0;

	filter->iterator = tbm_begin_private_iterate(filter->bitmap);
	while (fetch_block(filter), filter->ahead != InvalidBlockNumber)
		count++;
	tbm_end_private_iterate(filter->iterator);
	return count;
}

/*
 * As a node's scan begins, find the blocks that may have rows with the keys of all of these
 * KeyProbes.  Return NULL if that is not known, or hardly any can be skipped: the scan has to read
 * all blocks.
 */
BlockFilter *
block_filter_begin(ScanState *node, List *probes)
{
	Relation	table = node->ss_currentRelation;
	Snapshot	snapshot = node->ps.state->es_snapshot;
	MemoryContext mcxt = AllocSetContextCreate(node->ps.state->es_query_cxt,
											   "blocks with a join's keys",
											   ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(mcxt);
	BlockFilter *filter = palloc0(sizeof(BlockFilter));
	ListCell   *cell;

	filter->mcxt = mcxt;
	/* as a sequential scan does, before an index is read */
	PredicateLockRelation(table, snapshot);
	foreach(cell, probes)
	{
		TIDBitmap  *bitmap = blocks_of_probe(table, lfirst(cell), snapshot);

		if (filter->bitmap && bitmap)
			tbm_intersect(filter->bitmap, bitmap);
		else if (bitmap)
			filter->bitmap = bitmap;
	}
	filter->blocks = RelationGetNumberOfBlocks(table);
	if (filter->bitmap == NULL || count_blocks(filter) > filter->blocks * BLOCKS_SHARE_MAX)
	{
		MemoryContextSwitchTo(old);
		MemoryContextDelete(mcxt);
		return NULL;
	}
	filter->iterator = tbm_begin_private_iterate(filter->bitmap);
	fetch_block(filter);
	MemoryContextSwitchTo(old);
	return filter;
}

/* Set *first and *last to the next blocks to read; return false at the end. */
bool
block_filter_next(BlockFilter *filter, BlockNumber *first, BlockNumber *last)
{
	if (filter->ahead == InvalidBlockNumber)
	{
		filter->skipped += filter->blocks - Min(filter->done, filter->blocks);
		filter->done = filter->blocks;
		return false;
	}
	*first = *last = filter->ahead;
	while (fetch_block(filter), filter->ahead == *last + 1)
		++* last;
	filter->skipped += *first - filter->done;
	filter->done = *last + 1;
	return true;
}

/* Return how many blocks were skipped so far. */
uint64
block_filter_skipped(const BlockFilter *filter)
{
	return filter->skipped;
}

void
block_filter_end(BlockFilter *filter)
{
	tbm_end_private_iterate(filter->iterator);
	tbm_free(filter->bitmap);
	MemoryContextDelete(filter->mcxt);
}
