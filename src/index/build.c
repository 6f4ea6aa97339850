/*
 * build.c
 *	  CREATE INDEX ... USING membership.
 *
 * We hash the table's elements, and sort the hashes within maintenance_work_mem: those
 * that do not fit go to sorted temporary files, which are merged.  That counts the
 * distinct elements, for which we size the first layer.  Then we set their bits, in the
 * order of the pages.  All pages are logged at the end.
 *
 * tuplesort.c would do, but a membership index then takes 2.8 times as long to make: it
 * compares and moves tuples, where a radix sort of 8-byte hashes suffices.
 */
#include "membership.h"

#include "access/tableam.h"
#include "access/xloginsert.h"
#include "commands/progress.h"
#include "filter/bytes.h"
#include "filter/set.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/buffile.h"
#include "storage/bufmgr.h"
#include "utils/backend_progress.h"

/* Hashes for which there is memory at first, and for each file in a merge */
#define ROOM_FIRST			4096
#define ROOM_OF_RUN			128

/* Files of one level that are merged while the table is read, so that few are open */
#define MERGE_ORDER			16

/* Sorted, distinct hashes in a temporary file */
typedef struct SortedRun
{
	BufFile    *file;
	int			level;			/* merges that it has been through */
	uint64		count;			/* of those not read yet */
	uint64		last;			/* the one read last */
} SortedRun;

typedef struct BuildState
{
	MemoryContext mcxt;
	MembershipHasher hasher;
	double		rows;			/* number of those with elements */
	uint64	   *hashes;			/* little-endian, see filter/set.h */
	Size		count;
	Size		room;
	Size		room_max;		/* within maintenance_work_mem */
	SortedRun  *runs;			/* by falling level */
	int			run_count;
	Size		next;			/* of "hashes", for next_to_write() */
	int64		written;		/* elements, for the progress report */
} BuildState;

/* Begin a file. */
static SortedRun *
add_run(BuildState *state)
{
	MemoryContext caller = MemoryContextSwitchTo(state->mcxt);
	SortedRun  *run;

	state->runs = repalloc_huge(state->runs, (state->run_count + 1) * sizeof(SortedRun));
	run = &state->runs[state->run_count++];
	run->file = BufFileCreateTemp(false);
	run->level = 0;
	run->count = 0;
	MemoryContextSwitchTo(caller);
	return run;
}

static void
write_hashes(SortedRun *run, uint64 *hashes, Size count)
{
	BufFileWrite(run->file, hashes, count * sizeof(uint64));
	run->count += count;
}

static void
rewind_run(SortedRun *run)
{
	if (BufFileSeek(run->file, 0, 0, SEEK_SET) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not rewind a temporary file")));
}

/* Move up to "limit" hashes from a file to memory, where there is room for them. */
static void
read_hashes(BuildState *state, SortedRun *run, Size limit)
{
	Size		count = Min(run->count, limit);
	Size		bytes = count * sizeof(uint64);

	if (count == 0)
		return;
	Assert(state->count + count <= state->room);
	if (BufFileRead(run->file, state->hashes + state->count, bytes) != bytes)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read %zu bytes from a temporary file", bytes)));
	state->count += count;
	run->count -= count;
	run->last = le64(state->hashes[state->count - 1]);
}

static void
set_room(BuildState *state, Size room)
{
	state->hashes = repalloc_huge(state->hashes, room * sizeof(uint64));
	state->room = room;
}

/* Sort what is in memory, and drop duplicates. */
static void
sort_hashes(BuildState *state)
{
	state->count = hashset_sort_unique((uint8_t *) state->hashes, state->count);
}

/*
 * Merge the files from number "first" on to one.  In each round, memory has the next
 * hashes of each file, and we write those up to the smallest of the last ones: all that
 * follow are greater.
 */
static void
merge_runs(BuildState *state, int first)
{
	int			sources = state->run_count - first;
	Size		share = Max(state->room / sources, ROOM_OF_RUN);
	SortedRun  *to = add_run(state);
	SortedRun  *from = &state->runs[first];

	Assert(state->count == 0);
	if (share * sources > state->room)
		set_room(state, share * sources);
	for (int i = 0; i < sources; i++)
	{
		rewind_run(&from[i]);
		read_hashes(state, &from[i], share);
	}
	while (state->count > 0)
	{
		uint64		bound = PG_UINT64_MAX;
		Size		ready = 0;

		CHECK_FOR_INTERRUPTS();
		sort_hashes(state);
		for (int i = 0; i < sources; i++)
			if (from[i].count > 0)
				bound = Min(bound, from[i].last);
		for (Size end = state->count; ready < end;)
		{
			Size		middle = (ready + end) / 2;

			if (le64(state->hashes[middle]) <= bound)
				ready = middle + 1;
			else
				end = middle;
		}
		write_hashes(to, state->hashes, ready);
		state->count -= ready;
		memmove(state->hashes, state->hashes + ready, state->count * sizeof(uint64));
		for (int i = 0; i < sources; i++)
			if (from[i].last <= bound)
				read_hashes(state, &from[i], share);
	}
	for (int i = 0; i < sources; i++)
	{
		Assert(from[i].count == 0);
		BufFileClose(from[i].file);
	}
	to->level = from[0].level + 1;
	from[0] = *to;
	state->run_count = first + 1;
}

/* Move the hashes in memory, sorted, to a file. */
static void
write_run(BuildState *state)
{
	write_hashes(add_run(state), state->hashes, state->count);
	state->count = 0;
}

/* Make room for another hash, in memory or by way of a file. */
static void
make_room(BuildState *state)
{
	if (state->room < state->room_max)
	{
		set_room(state, Min(2 * state->room, state->room_max));
		return;
	}
	sort_hashes(state);
	/* many were equal? */
	if (state->count <= state->room / 2)
		return;
	write_run(state);
	while (state->run_count >= MERGE_ORDER &&
		   state->runs[state->run_count - MERGE_ORDER].level ==
		   state->runs[state->run_count - 1].level)
		merge_runs(state, state->run_count - MERGE_ORDER);
}

/* Called for each row of the table, in a memory context that is then reset. */
static void
build_row(Relation index, ItemPointer tid, Datum *values, bool *nulls,
		  bool alive, void *arg)
{
	BuildState *state = (BuildState *) arg;
	Size		count = membership_hash(&state->hasher, values, nulls);

	for (Size i = 0; i < count; i++)
	{
		if (state->count == state->room)
			make_room(state);
		state->hashes[state->count++] = le64(state->hasher.hashes[i]);
	}
	if (count > 0)
		state->rows++;
}

/* Sort and count all hashes; next_to_write() returns them. */
static uint64
finish_sort(BuildState *state)
{
	sort_hashes(state);
	if (state->run_count == 0)
		return state->count;
	write_run(state);
	merge_runs(state, 0);
	rewind_run(&state->runs[0]);
	return state->runs[0].count;
}

/* Get up to "limit" sorted hashes for pages_fill(); reports progress. */
static Size
next_to_write(void *from, uint64 *hashes, Size limit)
{
	BuildState *state = (BuildState *) from;
	Size		count;

	if (state->next == state->count && state->run_count > 0)
	{
		state->next = state->count = 0;
		read_hashes(state, &state->runs[0], state->room);
	}
	count = Min(limit, state->count - state->next);
	for (Size i = 0; i < count; i++)
		hashes[i] = le64(state->hashes[state->next++]);
	state->written += count;
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, state->written);
	return count;
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
	BuildState	state = {.mcxt = CurrentMemoryContext};
	MembershipMeta meta;
	uint64		structure;
	uint64		elements;

	if (RelationGetNumberOfBlocks(index) != 0)
		elog(ERROR, "index \"%s\" already contains data",
			 RelationGetRelationName(index));

	membership_warn_of_equality(index);
	membership_hasher_init(&state.hasher, index, CurrentMemoryContext);
	structure = element_structure(state.hasher.hasher);
	state.runs = palloc(sizeof(SortedRun));
	state.room = ROOM_FIRST;
	state.hashes = palloc(ROOM_FIRST * sizeof(uint64));
	state.room_max = (Size) maintenance_work_mem * 1024 / sizeof(uint64);

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
	elements = finish_sort(&state);

	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE,
								 MEMBERSHIP_PHASE_WRITE);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_TOTAL, elements);
	meta_init(&meta, index, structure, elements);
	meta_write(index, &meta);
	if (elements > 0)
	{
		pages_create(index, &meta, 0, false);
		pages_fill(index, &meta, next_to_write, &state);
		meta_write(index, &meta);
	}
	if (state.run_count > 0)
		BufFileClose(state.runs[0].file);
	pfree(state.hashes);

	if (RelationNeedsWAL(index))
		log_newpage_range(index, MAIN_FORKNUM, 0,
						  RelationGetNumberOfBlocks(index), true);
	return result;
}
