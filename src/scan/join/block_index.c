/*
 * block_index.c
 *	  Indexes that tell which blocks of a table may have some keys: BRIN indexes, and btrees whose
 *	  column the table follows.
 *
 * They are searched as core's Bitmap Index Scan does: for values from one to another, with the
 * operators >= and <= of the keys' order, or for single values, with =.  An index is used only if
 * it knows the operators, so its own order may be another one: descending, or that of another
 * class.  Its collation must be that of the keys.
 *
 * The blocks are those that core's bitmap scan would read for such conditions, and what makes
 * that scan correct holds here, too:
 *
 * - All rows that the snapshot sees are in the index, unless it is not valid, or was built too
 *   recently for the snapshot.  That is checked at each scan, under a lock on the index which is
 *   kept until the transaction ends.  The lock is not waited for: if it is not to be had, all
 *   blocks are read.
 * - Ranges of a BRIN index that are not summarized are read.
 *
 * Core's bitmap scan of a BRIN index loses rows if a range is summarized after the snapshot was
 * taken, see add_unsettled().  A sequential scan, in whose place we are, does not.
 *
 * Cost.  A BRIN index is read as a whole for each search.  So as many keys are looked for as take
 * 1 / 20 of the table's scan (searches_max).  To read an entry of a btree takes half as long as
 * to scan a row.  So it is used only if the histogram of the column says that few rows have the
 * keys, and given up if it has more entries for them.
 */
#include "block_index.h"

#include "index/lookup.h"

#include <math.h>

#include "access/brin.h"
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/transam.h"
#include "access/visibilitymap.h"
#include "access/xlog.h"
#include "catalog/pg_am.h"
#include "catalog/pg_statistic.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"
#include "utils/relcache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

/* Places in a list of operators, see key_end_operators() */
enum
{
	GREATER_EQUAL,
	LESS_EQUAL,
	EQUAL
};

/* To look at a smaller range of a BRIN index, and mark its blocks, would take 1 / 20 of its scan. */
#define RANGE_PAGES_MIN			8
/*
 * Pages of a range for each search of a BRIN index: a look at a range takes up to 0.5 us, or 1.2
 * if it has a Bloom filter, and a page 8.
 */
#define PAGES_FOR_SEARCH		2
#define PAGES_FOR_EQUAL			4
/* Several processes ask the index, each for itself, to scan the table together. */
#define PROCESSES_EXPECTED		4
/* To find the first entry of a btree takes less than to read a page. */
#define BTREE_SEARCHES_MAX		64

/* Use a btree if the table follows the order of its column so closely, in either direction, */
#define CORRELATION_MIN			0.9
/* and if at most this share of the rows is expected to be read. */
#define ENTRIES_SHARE_MAX		0.08
/* Give up at so many entries, which cost 1 / 20 of the scan. */
#define ENTRIES_SHARE_LIMIT		0.1
/* These are lower if each process reads the entries. */
#define ENTRIES_SHARE_PARALLEL	0.5

/*
 * Give up if this many times the table's blocks have been found, because each search finds most:
 * to mark a block takes 1 / 100 of reading it.
 */
#define FOUND_TIMES_MAX			2.0

/* ---- Which indexes ---- */

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

/*
 * Add the blocks that a BRIN index may be silent about: those with rows that not all snapshots
 * see alike.  A range that was summarized after ours was taken lacks some values that it sees:
 * from 16 on, those that a row had before an update of the same HOT chain; on a standby, whose
 * snapshots the primary does not know, those of deleted rows, too.  Nothing tells when a range
 * was summarized.  But as long as a row is there that only some snapshots see, its block is not
 * marked as all-visible; if the primary removes it, that cancels our query on a standby.  And no
 * row is if the snapshot sees all transactions that there have been.  Call this after the index
 * was searched: a row is changed before a summary lacks its value.
 */
static void
add_unsettled(Relation table, Snapshot snapshot, TIDBitmap *bitmap)
{
	BlockNumber blocks = RelationGetNumberOfBlocks(table);
	Buffer		map = InvalidBuffer;

#if PG_VERSION_NUM < 160000
	if (!RecoveryInProgress())
		return;
#endif
	if (snapshot->xmin == snapshot->xmax && snapshot->xmax == ReadNextTransactionId())
		return;
	for (BlockNumber block = 0; block < blocks; block++)
	{
		if (!VM_ALL_VISIBLE(table, block, &map))
			tbm_add_page(bitmap, block);
	}
	if (BufferIsValid(map))
		ReleaseBuffer(map);
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

/*
 * Return the number of the index's column that is this column of the table, has a type and a
 * collation, and can be searched without others; or -1.
 */
static int
column_of(Relation index, AttrNumber attribute, Oid type, Oid collation)
{
	int			columns = index->rd_rel->relam == BTREE_AM_OID ? 1 :
		IndexRelationGetNumberOfKeyAttributes(index);

	for (int i = 0; i < columns; i++)
	{
		if (index->rd_index->indkey.values[i] == attribute && index->rd_opcintype[i] == type &&
			index->rd_indcollation[i] == collation)
			return i;
	}
	return -1;
}

/* Return how often an index may be searched for the keys of one scan; 0: it costs too much. */
static int
searches_of(const BlockIndex *index)
{
	int			pages;

	if (index->relation->rd_rel->relam == BTREE_AM_OID)
		return BTREE_SEARCHES_MAX;
	pages = BrinGetPagesPerRange(index->relation);
	if (pages < RANGE_PAGES_MIN)
		return 0;
	pages /= index->only_equal ? PAGES_FOR_EQUAL : PAGES_FOR_SEARCH;
	return Max(index->parallel ? pages / PROCESSES_EXPECTED : pages, 1);
}

/*
 * Open an index of a table, to search a column of the table by these operators.  It must be closed
 * by relation_close(), without unlocking it.  Return false if that is not possible.
 */
bool
block_index_open(BlockIndex *index, Oid oid, Relation table, AttrNumber attribute,
				 List *operators, Oid collation, bool parallel)
{
	Oid			type;

	index->table = table;
	index->parallel = parallel;
	index->relation = open_index(oid, RelationGetRelid(table));
	if (index->relation == NULL)
		return false;
	op_input_types(linitial_oid(operators), &type, &index->type);
	index->column = column_of(index->relation, attribute, type, collation);
	for (int i = 0; index->column >= 0 && i < list_length(operators); i++)
	{
		Oid			operator = list_nth_oid(operators, i);

		index->functions[i] = get_opcode(operator);
		index->strategies[i] =
			get_op_opfamily_strategy(operator, index->relation->rd_opfamily[index->column]);
	}
	if (index->column >= 0)
	{
		index->only_equal = index->strategies[GREATER_EQUAL] == 0 ||
			index->strategies[LESS_EQUAL] == 0;
		index->searches_max = searches_of(index);
		if (index->searches_max > 0 && (!index->only_equal || index->strategies[EQUAL] != 0))
			return true;
	}
	relation_close(index->relation, NoLock);
	return false;
}

/* Return the statistics of a column of a table, or NULL.  ReleaseSysCache() releases them. */
static HeapTuple
statistics_of(Relation table, AttrNumber attribute)
{
	HeapTuple	tuple = SearchSysCache3(STATRELATTINH,
										ObjectIdGetDatum(RelationGetRelid(table)),
										Int16GetDatum(attribute), BoolGetDatum(false));

	return HeapTupleIsValid(tuple) ? tuple : NULL;
}

/* Do the rows of a table follow each other in the order of a column, or nearly so? */
static bool
follows_order(Relation table, AttrNumber attribute)
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
 * Return a table's index that tells which blocks may have some keys in a column, or InvalidOid.
 * "operators" compare the column with the keys, see key_end_operators().  The planner has locked
 * the table.  A BRIN index is preferred, and among these one that can be searched for the keys from
 * one to another.  Add the table's pages to *pages.
 */
Oid
block_index_for(Oid table, AttrNumber attribute, List *operators, Oid collation,
				double *pages)
{
	Relation	relation = table_open(table, NoLock);
	List	   *indexes = RelationGetIndexList(relation);
	Oid			found = InvalidOid;
	int			best = 0;
	ListCell   *cell;

	foreach(cell, indexes)
	{
		BlockIndex	index;
		int			rank;

		if (!block_index_open(&index, lfirst_oid(cell), relation, attribute, operators,
							  collation, false))
			continue;
		if (index.relation->rd_rel->relam == BRIN_AM_OID)
			rank = index.only_equal ? 1 : 3;
		else
			rank = follows_order(relation, attribute) ? (index.only_equal ? 1 : 2) : 0;
		if (rank > best)
		{
			found = lfirst_oid(cell);
			best = rank;
		}
		relation_close(index.relation, NoLock);
	}
	if (OidIsValid(found))
		*pages += RelationGetNumberOfBlocks(relation);
	list_free(indexes);
	table_close(relation, NoLock);
	return found;
}

/* ---- Searching ---- */

/* Prepare to search the index's column by one of its operators. */
static void
make_scan_key(const BlockIndex *index, int operator, Datum value, ScanKey key)
{
	ScanKeyEntryInitialize(key, 0, index->column + 1, index->strategies[operator], index->type,
						   index->relation->rd_indcollation[index->column],
						   index->functions[operator], value);
}

/* How many scan keys does a search need? */
static int
scan_keys_of(const BlockIndex *index)
{
	return index->only_equal ? 1 : 2;
}

/* Begin a search for keys. */
static void
search_for(const BlockIndex *index, IndexScanDesc scan, const KeyInterval *interval)
{
	ScanKeyData keys[2];

	if (index->only_equal)
		make_scan_key(index, EQUAL, interval->least, &keys[0]);
	else
	{
		make_scan_key(index, GREATER_EQUAL, interval->least, &keys[0]);
		make_scan_key(index, LESS_EQUAL, interval->most, &keys[1]);
	}
	index_rescan(scan, keys, scan_keys_of(index), NULL, 0);
}

/* Add the blocks that a BRIN index tells of.  Return false if it found too many. */
static bool
search_brin(const BlockIndex *index, const KeyInterval *intervals, int count, Snapshot snapshot,
			TIDBitmap *bitmap)
{
	int			keys = scan_keys_of(index);
	double		found = 0;
	double		most = RelationGetNumberOfBlocks(index->table) * FOUND_TIMES_MAX;
#if PG_VERSION_NUM >= 180000
	IndexScanDesc scan = index_beginscan_bitmap(index->relation, snapshot, NULL, keys);
#else
	IndexScanDesc scan = index_beginscan_bitmap(index->relation, snapshot, keys);
#endif

	for (int i = 0; i < count && found <= most; i++)
	{
		CHECK_FOR_INTERRUPTS();
		search_for(index, scan, &intervals[i]);
		/* the index counts ten rows for each block */
		found += (double) index_getbitmap(scan, bitmap) / 10;
	}
	index_endscan(scan);
	return found <= most;
}

/* Compares values of the index's column with keys */
typedef struct KeyComparison
{
	FmgrInfo	functions[2];	/* >= and <= */
	Oid			collation;
} KeyComparison;

/* Is the result of an operator true? */
static bool
holds(KeyComparison *comparison, int operator, Datum value, Datum key)
{
	return DatumGetBool(FunctionCall2Coll(&comparison->functions[operator],
										  comparison->collation, value, key));
}

/* Does a value equal one of the keys in intervals, which follow each other? */
static bool
is_among(KeyComparison *comparison, Datum value, const KeyInterval *intervals, int count)
{
	int			first = 0;
	int			end = count;

	/* find the first interval that ends at the value, or after it */
	while (first < end)
	{
		int			middle = (first + end) / 2;

		if (holds(comparison, LESS_EQUAL, value, intervals[middle].most))
			end = middle;
		else
			first = middle + 1;
	}
	return first < count && holds(comparison, GREATER_EQUAL, value, intervals[first].least);
}

/*
 * Return the share of a table's rows that are expected to have keys in a column, by its
 * statistics; 1 if they do not tell.
 */
static double
share_of_rows(const BlockIndex *index, AttrNumber attribute, const KeyInterval *intervals,
			  int count)
{
	HeapTuple	statistics = statistics_of(index->table, attribute);
	AttStatsSlot slot;
	double		common = 0;		/* share of the most common values, */
	double		among = 0;		/* and of those among the keys */
	double		share = 1;
	KeyComparison comparison = {
		.collation = index->relation->rd_indcollation[index->column]
	};

	if (statistics == NULL)
		return 1;
	fmgr_info(index->functions[GREATER_EQUAL], &comparison.functions[GREATER_EQUAL]);
	fmgr_info(index->functions[LESS_EQUAL], &comparison.functions[LESS_EQUAL]);
	if (get_attstatsslot(&slot, statistics, STATISTIC_KIND_MCV, InvalidOid,
						 ATTSTATSSLOT_VALUES | ATTSTATSSLOT_NUMBERS))
	{
		for (int i = 0; i < slot.nvalues; i++)
		{
			common += slot.numbers[i];
			if (is_among(&comparison, slot.values[i], intervals, count))
				among += slot.numbers[i];
		}
		free_attstatsslot(&slot);
	}
	if (get_attstatsslot(&slot, statistics, STATISTIC_KIND_HISTOGRAM, InvalidOid,
						 ATTSTATSSLOT_VALUES))
	{
		int			bounds = 1; /* a part of a bin counts as a whole one */

		for (int i = 0; i < slot.nvalues; i++)
			bounds += is_among(&comparison, slot.values[i], intervals, count);
		share = among + Max(1 - common, 0) * bounds / slot.nvalues;
		free_attstatsslot(&slot);
	}
	ReleaseSysCache(statistics);
	return share;
}

/* Add the blocks that a btree tells of.  Return false if it has more entries than "limit". */
static bool
search_btree(const BlockIndex *index, const KeyInterval *intervals, int count, double limit,
			 Snapshot snapshot, TIDBitmap *bitmap)
{
	int			keys = scan_keys_of(index);
	double		entries = 0;
#if PG_VERSION_NUM >= 190000
	IndexScanDesc scan = index_beginscan(index->table, index->relation, snapshot, NULL, keys, 0, 0);
#elif PG_VERSION_NUM >= 180000
	IndexScanDesc scan = index_beginscan(index->table, index->relation, snapshot, NULL, keys, 0);
#else
	IndexScanDesc scan = index_beginscan(index->table, index->relation, snapshot, keys, 0);
#endif

	for (int i = 0; i < count && entries <= limit; i++)
	{
		BlockNumber added = InvalidBlockNumber;
		ItemPointer place;

		search_for(index, scan, &intervals[i]);
		while (entries <= limit &&
			   (place = index_getnext_tid(scan, ForwardScanDirection)) != NULL)
		{
			if (ItemPointerGetBlockNumber(place) != added)
			{
				added = ItemPointerGetBlockNumber(place);
				tbm_add_page(bitmap, added);
				CHECK_FOR_INTERRUPTS();
			}
			entries++;
		}
	}
	index_endscan(scan);
	return entries <= limit;
}

/*
 * Return the blocks that may have rows with keys in one of these intervals.  Return NULL if the
 * index does not tell, or it would take too long.
 */
TIDBitmap *
block_index_search(BlockIndex *index, const KeyInterval *intervals, int count,
				   AttrNumber attribute, Snapshot snapshot)
{
	bool		is_brin = index->relation->rd_rel->relam == BRIN_AM_OID;
	TIDBitmap  *bitmap;
	double		part = index->parallel ? ENTRIES_SHARE_PARALLEL : 1;
	double		limit = index->table->rd_rel->reltuples * ENTRIES_SHARE_LIMIT * part;

	if (was_built_later(index->relation, snapshot))
		return NULL;
	bitmap = tbm_create(work_mem * (Size) 1024, NULL);
	if (is_brin ?
		search_brin(index, intervals, count, snapshot, bitmap) :
		share_of_rows(index, attribute, intervals, count) <= ENTRIES_SHARE_MAX * part &&
		search_btree(index, intervals, count, limit, snapshot, bitmap))
	{
		if (is_brin)
			add_unsettled(index->table, snapshot, bitmap);
		return bitmap;
	}
	tbm_free(bitmap);
	return NULL;
}
