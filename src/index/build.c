/*
 * build.c
 *	  CREATE INDEX ... USING membership.
 *
 * We hash the table's elements, and sort the hashes with tuplesort.c within
 * maintenance_work_mem.  A first pass over the result counts the distinct
 * ones, for which we size the first layer.  A second pass sets their bits, in
 * the order of the pages.  All pages are logged at the end.
 */
#include "membership.h"

#include "access/tableam.h"
#include "access/xloginsert.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "utils/backend_progress.h"
#include "utils/tuplesort.h"

/*
 * Hashes are sorted as signed numbers, so we flip the sign bit: the order is
 * then that of unsigned numbers, and of the blocks.
 */
#define SIGN_BIT		(UINT64CONST(1) << 63)

typedef struct BuildState
{
	MembershipHasher hasher;
	Tuplesortstate *sort;
	double		rows;			/* number of those with elements */
	/* state of distinct_next() */
	bool		begun;
	uint64		last;
	int64		written;		/* elements, for the progress report */
} BuildState;

/* Called for each row of the table, in a memory context that is then reset. */
static void
build_row(Relation index, ItemPointer tid, Datum *values, bool *nulls,
		  bool alive, void *arg)
{
	BuildState *state = (BuildState *) arg;
	Size		count = membership_hash(&state->hasher, values, nulls);

	for (Size i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		tuplesort_putdatum(state->sort,
						   Int64GetDatum((int64) (state->hasher.hashes[i] ^ SIGN_BIT)),
						   false);
	}
	if (count > 0)
		state->rows++;
}

/* Get the next sorted hash that differs from the last; false at the end. */
static bool
distinct_next(void *from, uint64 *hash)
{
	BuildState *state = (BuildState *) from;
	Datum		value;
	bool		null;

	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
#if PG_VERSION_NUM >= 160000
		if (!tuplesort_getdatum(state->sort, true, false, &value, &null, NULL))
			return false;
#else
		if (!tuplesort_getdatum(state->sort, true, &value, &null, NULL))
			return false;
#endif
		*hash = (uint64) DatumGetInt64(value) ^ SIGN_BIT;
		if (state->begun && *hash == state->last)
			continue;
		state->begun = true;
		state->last = *hash;
		return true;
	}
}

/* The same for pages_fill(); reports progress. */
static bool
next_to_write(void *from, uint64 *hash)
{
	BuildState *state = (BuildState *) from;

	if (!distinct_next(state, hash))
		return false;
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE,
								 ++state->written);
	return true;
}

/*
 * membership_build
 *		ambuild: build an index
 *
 * Errors: those of membership_hash() and meta_init(); ERRCODE_OBJECT_IN_USE if
 * the composite type of the elements is altered meanwhile.
 */
IndexBuildResult *
membership_build(Relation heap, Relation index, IndexInfo *info)
{
	IndexBuildResult *result = palloc(sizeof(IndexBuildResult));
	BuildState	state = {.rows = 0};
	MembershipMeta meta;
	uint64		structure;
	uint64		elements = 0;
	uint64		hash;

	if (RelationGetNumberOfBlocks(index) != 0)
		elog(ERROR, "index \"%s\" already contains data",
			 RelationGetRelationName(index));

	membership_hasher_init(&state.hasher, index, CurrentMemoryContext);
	structure = element_structure(state.hasher.hasher);
	state.sort = tuplesort_begin_datum(INT8OID, Int8LessOperator, InvalidOid,
									   false, maintenance_work_mem, NULL,
									   TUPLESORT_RANDOMACCESS);

	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE,
								 MEMBERSHIP_PHASE_SCAN);
	result->heap_tuples = table_index_build_scan(heap, index, info, true, true,
												 build_row, &state, NULL);
	result->index_tuples = state.rows;
	if (structure != element_structure(state.hasher.hasher))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("the composite type of the elements of index \"%s\" was altered while it was built",
						RelationGetRelationName(index)),
				 errhint("Try again.")));

	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE,
								 MEMBERSHIP_PHASE_SORT);
	tuplesort_performsort(state.sort);
	while (distinct_next(&state, &hash))
		elements++;

	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE,
								 MEMBERSHIP_PHASE_WRITE);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_TOTAL, elements);
	meta_init(&meta, index, structure, elements);
	meta_write(index, &meta);
	if (elements > 0)
	{
		pages_create(index, &meta, 0, false);
		tuplesort_rescan(state.sort);
		state.begun = false;
		pages_fill(index, &meta, next_to_write, &state);
		meta_write(index, &meta);
	}
	tuplesort_end(state.sort);

	if (RelationNeedsWAL(index))
		log_newpage_range(index, MAIN_FORKNUM, 0,
						  RelationGetNumberOfBlocks(index), true);
	return result;
}
