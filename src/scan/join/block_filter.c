/*
 * block_filter.c
 *	  Which blocks of a table may have rows with a join's keys, by an index of the table.
 *
 *		SELECT ... FROM sales s JOIN days d ON s.day = d.day WHERE d.quarter = '2026Q1'
 *
 * A probe drops a row that has none of the keys, but its page has been read by then.  If the
 * table is stored in the order of the column, most pages have no such row.  After the join has
 * collected its keys, an index on the column tells which blocks may have some of them
 * (block_index.c).  A Filter Scan reads only these, and probes their rows as before.
 *
 * The index is asked for the keys from the least to the greatest.  If these are far from each
 * other, it is asked for those at both ends, or in several places: integers are parted where the
 * distance from one to the next is widest, and of other types all of few keys are known
 * (join_filter_ends.c).
 *
 * Under SERIALIZABLE the table is locked as by a sequential scan, and the index as by an index
 * scan.  A row that another transaction is inserting, and that the index does not tell of yet,
 * conflicts with the latter lock when the index gets it.
 *
 * Parallel scans.  Core deals out the blocks of the table to the processes.  Each asks the index
 * for itself, and skips the blocks dealt to it that have none of the keys.  It does not matter
 * whether another process knows the same blocks.
 *
 * Limits.  Of a key of several columns, one is looked for.  Scans whose filter is not complete
 * when they begin read all blocks; so the hash table is built before the outer side is read
 * (Placement.blocked).  Where rows of the query are hidden, the number of blocks might tell of
 * these, so none are skipped.
 */
#include "block_filter.h"

#include "block_index.h"

#include "access/relation.h"
#include "access/tableam.h"
#include "miscadmin.h"
#include "nodes/tidbitmap.h"
#include "storage/predicate.h"
#include "utils/lsyscache.h"

/* Read a smaller table as a whole: this many pages take 1 ms. */
#define PAGES_MIN				128

/* Do not part integers if there is less than 1 / GAPS_MAX of their range between them. */
#define GAPS_MAX				64
/* Ask an index for so many keys at most, or places of keys. */
#define INTERVALS_MAX			64

/* In a parallel scan, read so many blocks at once: core deals them out in larger chunks. */
#define TAKEN_MAX				64

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
	TBMPrivateIterator *iterator;
	BlockNumber ahead;			/* the next block to read, if it is known; or
								 * InvalidBlockNumber */
	BlockNumber done;			/* all blocks before this one are read or
								 * skipped */
	BlockNumber blocks;			/* number of blocks of the table */
	uint64		skipped;
	/* only of a parallel scan: */
	Relation	table;
	ParallelBlockTableScanDesc shared;
	ParallelBlockTableScanWorkerData own;	/* this process's part of the scan */
	uint8	   *to_read;		/* a bit for each block */
};

/* ---- Keys ---- */

/* Keys by which to ask an index; their values may be in the filter */
typedef struct Intervals
{
	int			count;
	KeyInterval list[INTERVALS_MAX];
} Intervals;

/* Set *intervals to where the integers are.  Return false if there are too many for the index. */
static bool
find_integers(const KeyFilter *filter, KeyInteger type, const BlockIndex *index,
			  Intervals *intervals)
{
	int			most = Min(index->searches_max, INTERVALS_MAX);
	KeyRange	ranges[INTERVALS_MAX + 2];
	int			count;
	int64		least;
	int64		greatest;

	intervals->count = 0;
	if (!key_filter_range(filter, type, &least, &greatest))
		return true;
	count = index->only_equal ? key_filter_ranges(filter, ranges, most + 1, 0) :
		key_filter_ranges(filter, ranges, most, (filter->most - filter->least) / GAPS_MAX + 1);
	if (count > most)
		return false;
	for (int i = 0; i < count; i++)
	{
		int64		first = Max(integer_of_key(ranges[i].least), least);
		int64		last = Min(integer_of_key(ranges[i].most), greatest);

		if (first != last && index->only_equal)
			return false;
		if (first <= last)
			intervals->list[intervals->count++] = (KeyInterval)
		{
			datum_of_key(type, first), datum_of_key(type, last)
		};
	}
	return true;
}

/* The same for other keys */
static bool
find_values(const KeyEnds *ends, const BlockIndex *index, Intervals *intervals)
{
	bool		by_value = get_typbyval(index->type);
	bool		apart = !ends->only_ends && ends->listed <= Min(index->searches_max, INTERVALS_MAX);

	if (ends->unknown || (index->only_equal && !apart))
		return false;
	intervals->count = apart ? ends->listed : 1;
	for (int i = 0; i < intervals->count; i++)
	{
		const KeyEnd *last = apart ? &ends->values[i] : &ends->values[ends->listed - 1];

		intervals->list[i].least = key_end_value(&ends->values[i], by_value);
		intervals->list[i].most = key_end_value(last, by_value);
	}
	return true;
}

/* ---- Blocks ---- */

/*
 * Return the blocks of a table that may have rows with the keys of a probe.  Return NULL if
 * that is not known: all may have some.
 */
static TIDBitmap *
blocks_of_probe(Relation table, KeyProbe *probe, bool parallel, Snapshot snapshot)
{
	const KeyFilter *filter = key_probe_filter(probe);
	const KeyProbePlan *plan = &probe->plan;
	AttrNumber	attribute = probe->reader.attributes[plan->block_column];
	TIDBitmap  *bitmap = NULL;
	BlockIndex	index;
	Intervals	intervals;

	if (!OidIsValid(plan->block_index) || filter == NULL ||
		(!plan->forced && RelationGetNumberOfBlocks(table) < PAGES_MIN))
		return NULL;
	/* ALTER TABLE may have changed the column */
	if (!block_index_open(&index, plan->block_index, table, attribute, plan->operators,
						  probe->reader.collations[plan->block_column], parallel))
		return NULL;
	if (filter->kind == KEY_INTEGER ?
		find_integers(filter, plan->integer, &index, &intervals) :
		filter->has_ends && find_values(key_filter_ends(filter), &index, &intervals))
		bitmap = block_index_search(&index, intervals.list, intervals.count, attribute, snapshot);
	relation_close(index.relation, NoLock);
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

/* Prepare to read the blocks that core deals out to this process and that are in the bitmap. */
static void
begin_shared(BlockFilter *filter, Relation table, ParallelTableScanDesc parallel)
{
	filter->table = table;
	filter->shared = (ParallelBlockTableScanDesc) parallel;
	filter->to_read = palloc0(filter->blocks / BITS_PER_BYTE + 1);
	filter->iterator = tbm_begin_private_iterate(filter->bitmap);
	while (fetch_block(filter), filter->ahead != InvalidBlockNumber)
	{
		if (filter->ahead < filter->blocks)
			filter->to_read[filter->ahead / BITS_PER_BYTE] |= 1 << (filter->ahead % BITS_PER_BYTE);
	}
#if PG_VERSION_NUM >= 190000
	table_block_parallelscan_startblock_init(table, &filter->own, filter->shared,
											 InvalidBlockNumber, InvalidBlockNumber);
#else
	table_block_parallelscan_startblock_init(table, &filter->own, filter->shared);
#endif
}

/*
 * As a node's scan begins, find the blocks that may have rows with the keys of all of these
 * KeyProbes.  "parallel" is the state that the processes of a parallel scan share, or NULL.
 * Return NULL if the blocks are not known, or hardly any can be skipped: the scan has to read all.
 */
BlockFilter *
block_filter_begin(ScanState *node, List *probes, ParallelTableScanDesc parallel)
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
		TIDBitmap  *bitmap = blocks_of_probe(table, lfirst(cell), parallel != NULL, snapshot);

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
	if (parallel)
		begin_shared(filter, table, parallel);
	else
	{
		filter->iterator = tbm_begin_private_iterate(filter->bitmap);
		fetch_block(filter);
	}
	MemoryContextSwitchTo(old);
	return filter;
}

/* Take blocks that core deals out to this process, until there is one to read. */
static void
take_block(BlockFilter *filter)
{
	for (;;)
	{
		BlockNumber block = table_block_parallelscan_nextpage(filter->table, &filter->own,
															  filter->shared);

		filter->ahead = block;
		/* a block beyond those that the index was asked for is read */
		if (block == InvalidBlockNumber || block >= filter->blocks ||
			(filter->to_read[block / BITS_PER_BYTE] >> (block % BITS_PER_BYTE)) & 1)
			return;
		filter->skipped++;
		CHECK_FOR_INTERRUPTS();
	}
}

/* The same as block_filter_next(), for a parallel scan */
static bool
next_shared(BlockFilter *filter, BlockNumber *first, BlockNumber *last)
{
	if (filter->ahead == InvalidBlockNumber)
		take_block(filter);
	if (filter->ahead == InvalidBlockNumber)
		return false;
	*first = *last = filter->ahead;
	while (take_block(filter), filter->ahead == *last + 1 && *last - *first + 1 < TAKEN_MAX)
		++* last;
	return true;
}

/* Set *first and *last to the next blocks to read; return false at the end. */
bool
block_filter_next(BlockFilter *filter, BlockNumber *first, BlockNumber *last)
{
	if (filter->shared)
		return next_shared(filter, first, last);
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
