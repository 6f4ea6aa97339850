/*
 * build.c
 *	  CREATE INDEX ... USING membership.
 *
 * We hash the table's elements, and sort the hashes within maintenance_work_mem.  Hashes
 * that do not fit go to sorted temporary files, which are merged later.  Sorting yields the
 * number of distinct elements, for which we size the first layer.  Then we set the bits of
 * the elements, in the order of the pages.  All pages are logged at the end.
 *
 * Parallel builds.  The hashes are divided into as many ranges as there are processes, and
 * each process owns one range.  Each process scans a part of the table, and writes each
 * hash to a file for the owner of its range.  Then each process sorts and counts its own
 * range, like a serial build, but within its share of maintenance_work_mem.  Pages are in
 * the order of hashes, so after the leader has created the pages, each process sets the
 * bits of its own range.  The pages are the same as in a serial build.  Nothing is sorted
 * twice; only creating and logging the pages is left to the leader alone.
 *
 * We do not use tuplesort.c, because a build then takes 2.8 times as long: it compares and
 * moves tuples, where a radix sort of 8-byte hashes suffices.
 */
#include "membership.h"

#include "access/parallel.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "access/xloginsert.h"
#include "catalog/index.h"
#include "commands/progress.h"
#include "executor/instrument.h"
#include "filter/set.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "pgstat.h"
#include "port/atomics.h"
#include "storage/barrier.h"
#include "storage/buffile.h"
#include "storage/bufmgr.h"
#include "storage/sharedfileset.h"
#include "storage/spin.h"
#include "tcop/tcopprot.h"
#include "utils/backend_progress.h"
#include "utils/backend_status.h"
#include "utils/snapmgr.h"
#include "utils/wait_event.h"

/* Number of hashes to allocate memory for: at first, and for each file in a merge */
#define ROOM_FIRST			4096
#define ROOM_OF_RUN			128

/* Files of one level to merge at once while the table is read, so that few are open */
#define MERGE_ORDER			16

/* Keys of a parallel build's shared memory */
#define KEY_BUILD			1
#define KEY_SCAN			2
#define KEY_QUERY			3
#define KEYS				KEY_QUERY

/* Buffer and WAL usage of a worker */
typedef struct WorkerUsage
{
	BufferUsage buffers;
	WalUsage	wal;
} WorkerUsage;

/* KEY_BUILD: the state shared by the processes of a parallel build */
typedef struct SharedBuild
{
	Oid			heap;
	Oid			index;
	bool		concurrent;		/* CREATE INDEX CONCURRENTLY */
	uint64		query_id;
	uint64		structure;		/* see membership_structure() */
	int			ranges;			/* number of processes planned */
	Size		room_max;		/* number of hashes that each keeps in memory */
	Barrier		barrier;		/* all processes are attached from the start */
	SharedFileSet files;		/* see portion_name() */
	pg_atomic_uint64 elements;	/* counted so far */
	pg_atomic_uint64 written;	/* elements written, for the progress report */
	slock_t		mutex;			/* protects the following counts of the scan */
	double		tuples;
	double		rows;
	bool		broken_hot_chain;
	WorkerUsage usage[FLEXIBLE_ARRAY_MEMBER];
} SharedBuild;

/* Sorted, distinct hashes in a temporary file */
typedef struct SortedRun
{
	BufFile    *file;
	int			level;			/* number of merges that produced it */
	uint64		count;			/* hashes not read yet */
	uint64		last;			/* the hash read last */
} SortedRun;

typedef struct BuildState
{
	MemoryContext mcxt;
	SharedBuild *shared;		/* NULL: it is a serial build */
	ParallelContext *context;	/* in the leader; NULL in workers */
	Snapshot	snapshot;		/* of the scan; in the leader */
	BufFile   **portions;		/* in a parallel scan, a file for each range */
	MembershipHasher hasher;
	uint64		structure;		/* membership_structure() when the build began */
	double		rows;			/* number of rows that have elements */
	uint64	   *hashes;			/* little-endian, see filter/set.h */
	Size		count;
	Size		room;
	Size		room_max;		/* within maintenance_work_mem */
	SortedRun  *runs;			/* by falling level */
	int			run_count;
	Size		next;			/* position in "hashes", for next_to_write() */
	int64		written;		/* elements, for the progress report */
} BuildState;

/* Append a new, empty run. */
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

/* Read up to "limit" hashes from a file; state->hashes has room for them. */
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

/* Sort the hashes in memory, and remove duplicates. */
static void
sort_hashes(BuildState *state)
{
	state->count = hashset_sort_unique((uint8_t *) state->hashes, state->count);
}

/*
 * Merge the runs from number "first" on into one.  In each round, memory holds the next
 * hashes of each run.  We write the hashes up to the smallest of the runs' last ones,
 * because all hashes still in the files are greater.
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

/* Move the sorted hashes from memory to a new run. */
static void
write_run(BuildState *state)
{
	write_hashes(add_run(state), state->hashes, state->count);
	state->count = 0;
}

/* Make room for another hash: get more memory, or move the hashes to a file. */
static void
make_room(BuildState *state)
{
	if (state->room < state->room_max)
	{
		set_room(state, Min(2 * state->room, state->room_max));
		return;
	}
	sort_hashes(state);
	/* removing duplicates may have made enough room */
	if (state->count <= state->room / 2)
		return;
	write_run(state);
	while (state->run_count >= MERGE_ORDER &&
		   state->runs[state->run_count - MERGE_ORDER].level ==
		   state->runs[state->run_count - 1].level)
		merge_runs(state, state->run_count - MERGE_ORDER);
}

/*
 * Write a hash to the file for its range.  state->hashes serves as a cache of hashes written
 * lately, so that few distinct hashes take as little disk space as in a serial build.
 */
static void
deal(BuildState *state, uint64 hash)
{
	uint64	   *recent = &state->hashes[hash % ROOM_FIRST];
	uint64		stored = le64(hash);

	/* 0 is an unused place in the cache */
	if (stored == *recent && stored != 0)
		return;
	*recent = stored;
	BufFileWrite(state->portions[mulhi64(hash, state->shared->ranges)],
				 &stored, sizeof(stored));
}

/* Callback for each row of the table, in a memory context that is reset after the call */
static void
build_row(Relation index, ItemPointer tid, Datum *values, bool *nulls,
		  bool alive, void *arg)
{
	BuildState *state = (BuildState *) arg;
	Size		count = membership_hash(&state->hasher, values, nulls);

	for (Size i = 0; i < count; i++)
	{
		if (state->portions)
		{
			deal(state, state->hasher.hashes[i]);
			continue;
		}
		if (state->count == state->room)
			make_room(state);
		state->hashes[state->count++] = le64(state->hasher.hashes[i]);
	}
	if (count > 0)
		state->rows++;
}

/* Sort all hashes, for next_to_write(), and return their number. */
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

/* Get up to BATCH sorted hashes to write; reports progress. */
static Size
next_to_write(BuildState *state, uint64 *hashes)
{
	Size		count;

	if (state->next == state->count && state->run_count > 0)
	{
		state->next = state->count = 0;
		read_hashes(state, &state->runs[0], state->room);
	}
	count = Min(BATCH, state->count - state->next);
	for (Size i = 0; i < count; i++)
		hashes[i] = le64(state->hashes[state->next++]);
	state->written += count;
	if (state->shared)
		state->written = pg_atomic_add_fetch_u64(&state->shared->written, count);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, state->written);
	return count;
}

/* Prepare a build that keeps up to "room_max" hashes in memory. */
static void
begin_build(BuildState *state, Relation index, Size room_max)
{
	memset(state, 0, sizeof(*state));
	state->mcxt = CurrentMemoryContext;
	membership_hasher_init(&state->hasher, index, CurrentMemoryContext);
	state->structure = membership_structure(&state->hasher);
	state->runs = palloc(sizeof(SortedRun));
	state->room = ROOM_FIRST;
	state->hashes = palloc0(ROOM_FIRST * sizeof(uint64));
	state->room_max = room_max;
}

/* Hash the rows of the table, or those that "scan" returns; returns their number. */
static double
scan_table(BuildState *state, Relation heap, Relation index, IndexInfo *info,
		   TableScanDesc scan)
{
	double		tuples = table_index_build_scan(heap, index, info, true, true,
												build_row, state, scan);

	if (state->structure != membership_structure(&state->hasher))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("the composite type of the elements of index \"%s\" was altered while it was built",
						RelationGetRelationName(index)),
				 errhint("Try again.")));
	return tuples;
}

/* Set the bits of the hashes that finish_sort() has sorted. */
static void
end_build(BuildState *state, Relation index, const MembershipMeta *meta)
{
	uint64		hashes[BATCH];
	Size		count;

	while ((count = next_to_write(state, hashes)) > 0)
	{
		CHECK_FOR_INTERRUPTS();
		layer_fill(index, &meta->layer[0], hashes, count);
	}
	if (state->run_count > 0)
		BufFileClose(state->runs[0].file);
	pfree(state->hashes);
}

/* ---- Parallel builds ---- */

/* The leader is number 0. */
#define this_process		(ParallelWorkerNumber + 1)

/* Wait until all processes have called this. */
static void
wait_for_all(SharedBuild *shared)
{
	BarrierArriveAndWait(&shared->barrier, WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN);
}

/* The name of the file for the hashes of one range that a process has found */
static const char *
portion_name(int process, int range)
{
	static char name[MAXPGPATH];

	snprintf(name, sizeof(name), "%d.%d", process, range);
	return name;
}

/* Scan a part of the table, and write its hashes to the files of their ranges. */
static void
scan_part(BuildState *state, Relation heap, Relation index, IndexInfo *info,
		  ParallelTableScanDesc scan)
{
	SharedBuild *shared = state->shared;
	double		tuples;

	state->portions = palloc(shared->ranges * sizeof(BufFile *));
	for (int i = 0; i < shared->ranges; i++)
		state->portions[i] = BufFileCreateFileSet(&shared->files.fs,
												  portion_name(this_process, i));
	tuples = scan_table(state, heap, index, info,
#if PG_VERSION_NUM >= 190000
						table_beginscan_parallel(heap, scan, 0)
#else
						table_beginscan_parallel(heap, scan)
#endif
		);
	for (int i = 0; i < shared->ranges; i++)
	{
		BufFileExportFileSet(state->portions[i]);
		BufFileClose(state->portions[i]);
	}

	SpinLockAcquire(&shared->mutex);
	shared->tuples += tuples;
	shared->rows += state->rows;
	shared->broken_hot_chain |= info->ii_BrokenHotChain;
	SpinLockRelease(&shared->mutex);
}

/* Read a process's hashes of one range, and keep them as build_row() does. */
static void
take_portion(BuildState *state, int process, int range)
{
	FileSet    *files = &state->shared->files.fs;
	const char *name = portion_name(process, range);
	BufFile    *file = BufFileOpenFileSet(files, name, O_RDONLY, false);
	SortedRun	portion = {.file = file, .count = BufFileSize(file) / sizeof(uint64)};

	while (portion.count > 0)
	{
		CHECK_FOR_INTERRUPTS();
		if (state->count == state->room)
			make_room(state);
		read_hashes(state, &portion, state->room - state->count);
	}
	BufFileClose(file);
	BufFileDeleteFileSet(files, name, false);
}

/* What each process does until the pages can be created */
static void
sort_in_parallel(BuildState *state, Relation heap, Relation index, IndexInfo *info,
				 shm_toc *toc)
{
	SharedBuild *shared = state->shared;
	int			processes;

	scan_part(state, heap, index, info, shm_toc_lookup(toc, KEY_SCAN, false));

	/* raise an error if a worker failed to start, instead of waiting for it */
	if (state->context)
		WaitForParallelWorkersToAttach(state->context);
	wait_for_all(shared);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, MEMBERSHIP_PHASE_SORT);
	processes = BarrierParticipants(&shared->barrier);
	for (int range = 0; range < shared->ranges; range++)

		/* the leader also takes the ranges of workers that did not start */
		if (range == this_process || (range >= processes && this_process == 0))
			for (int i = 0; i < processes; i++)
				take_portion(state, i, range);
	pg_atomic_fetch_add_u64(&shared->elements, finish_sort(state));
	wait_for_all(shared);
}

extern PGDLLEXPORT void bloomfilter_build_worker(dsm_segment *segment, shm_toc *toc);

/* The entry point of a worker */
void
bloomfilter_build_worker(dsm_segment *segment, shm_toc *toc)
{
	SharedBuild *shared = shm_toc_lookup(toc, KEY_BUILD, false);
	WorkerUsage *usage = &shared->usage[ParallelWorkerNumber];

	/* the lock modes of the leader */
	LOCKMODE	heap_lock = shared->concurrent ? ShareUpdateExclusiveLock : ShareLock;
	LOCKMODE	index_lock = shared->concurrent ? RowExclusiveLock : AccessExclusiveLock;
	Relation	heap;
	Relation	index;
	IndexInfo  *info;
	BuildState	state;
	MembershipMeta meta;

	debug_query_string = shm_toc_lookup(toc, KEY_QUERY, true);
	pgstat_report_activity(STATE_RUNNING, debug_query_string);
	pgstat_report_query_id(shared->query_id, false);
	SharedFileSetAttach(&shared->files, segment);
	heap = table_open(shared->heap, heap_lock);
	index = index_open(shared->index, index_lock);
	info = BuildIndexInfo(index);
	info->ii_Concurrent = shared->concurrent;

	InstrStartParallelQuery();
	begin_build(&state, index, shared->room_max);
	state.shared = shared;
	state.structure = shared->structure;
	sort_in_parallel(&state, heap, index, info, toc);
	/* wait until the leader has created the pages */
	wait_for_all(shared);
	meta_read(index, &meta);
	end_build(&state, index, &meta);
	InstrEndParallelQuery(&usage->buffers, &usage->wal);
	index_close(index, index_lock);
	table_close(heap, heap_lock);
}

/* End a parallel build, even one that got no worker. */
static void
end_parallel(BuildState *state)
{
	ParallelContext *context = state->context;
	SharedBuild *shared = shm_toc_lookup(context->toc, KEY_BUILD, false);

	WaitForParallelWorkersToFinish(context);
	for (int i = 0; i < context->nworkers_launched; i++)
		InstrAccumParallelQuery(&shared->usage[i].buffers, &shared->usage[i].wal);
	if (IsMVCCSnapshot(state->snapshot))
		UnregisterSnapshot(state->snapshot);
	DestroyParallelContext(context);
	ExitParallelMode();
}

/* Launch workers; state->shared remains NULL if none could be launched. */
static void
begin_parallel(BuildState *state, Relation heap, Relation index, bool concurrent,
			   int workers)
{
	/* the snapshot that table_index_build_scan() takes in a serial build */
	Snapshot	snapshot = concurrent ? RegisterSnapshot(GetTransactionSnapshot()) :
		SnapshotAny;
	const Size	scan_bytes = table_parallelscan_estimate(heap, snapshot);
	const Size	shared_bytes = offsetof(SharedBuild, usage) + workers * sizeof(WorkerUsage);
	const Size	query_bytes = debug_query_string ? strlen(debug_query_string) + 1 : 0;
	ParallelContext *context;
	ParallelTableScanDesc scan;
	SharedBuild *shared;

	/* the index's expressions may query other indexes in the workers */
	flush_pending();
	EnterParallelMode();
	context = CreateParallelContext("$libdir/bloomfilter", "bloomfilter_build_worker",
									workers);
	shm_toc_estimate_chunk(&context->estimator, shared_bytes);
	shm_toc_estimate_chunk(&context->estimator, scan_bytes);
	shm_toc_estimate_chunk(&context->estimator, query_bytes);
	shm_toc_estimate_keys(&context->estimator, KEYS);
	InitializeParallelDSM(context);

	shared = shm_toc_allocate(context->toc, shared_bytes);
	memset(shared, 0, shared_bytes);
	shared->heap = RelationGetRelid(heap);
	shared->index = RelationGetRelid(index);
	shared->concurrent = concurrent;
	shared->query_id = pgstat_get_my_query_id();
	shared->structure = state->structure;
	shared->ranges = workers + 1;
	shared->room_max = state->room_max / shared->ranges;
	BarrierInit(&shared->barrier, 0);
	for (int i = 0; i < shared->ranges; i++)
		BarrierAttach(&shared->barrier);
	SharedFileSetInit(&shared->files, context->seg);
	pg_atomic_init_u64(&shared->elements, 0);
	pg_atomic_init_u64(&shared->written, 0);
	SpinLockInit(&shared->mutex);
	shm_toc_insert(context->toc, KEY_BUILD, shared);
	scan = shm_toc_allocate(context->toc, scan_bytes);
	table_parallelscan_initialize(heap, scan, snapshot);
	shm_toc_insert(context->toc, KEY_SCAN, scan);
	if (debug_query_string)
		shm_toc_insert(context->toc, KEY_QUERY,
					   memcpy(shm_toc_allocate(context->toc, query_bytes),
							  debug_query_string, query_bytes));

	LaunchParallelWorkers(context);
	state->context = context;
	state->snapshot = snapshot;
	if (context->nworkers_launched == 0)
	{
		end_parallel(state);
		return;
	}
	for (int i = context->nworkers_launched; i < workers; i++)
		BarrierDetach(&shared->barrier);
	state->room_max = shared->room_max;
	state->shared = shared;
}

/* How many workers core would use */
static int
plan_workers(Relation heap, Relation index, const IndexInfo *info)
{
#if PG_VERSION_NUM >= 170000
	return info->ii_ParallelWorkers;
#else
	/*
	 * When core empties a table, by TRUNCATE or ON COMMIT DELETE ROWS, it
	 * does not call plan_create_index_workers(), which may run users' code,
	 * as planning does.  So do not call it for an empty table.
	 */
	return RelationGetNumberOfBlocks(heap) == 0 ? 0 :
		plan_create_index_workers(RelationGetRelid(heap), RelationGetRelid(index));
#endif
}

/*
 * membership_build
 *	  ambuild: build an index
 *
 * Errors: those of membership_hash() and meta_init(); ERRCODE_OBJECT_IN_USE if the
 * composite type of the elements is altered during the build.
 */
IndexBuildResult *
membership_build(Relation heap, Relation index, IndexInfo *info)
{
	IndexBuildResult *result = palloc(sizeof(IndexBuildResult));
	BuildState	state;
	MembershipMeta meta;
	uint64		elements;
	int			workers = plan_workers(heap, index, info);

	if (RelationGetNumberOfBlocks(index) != 0)
		elog(ERROR, "index \"%s\" already contains data", RelationGetRelationName(index));

	membership_warn_of_equality(index);
	begin_build(&state, index, (Size) maintenance_work_mem * 1024 / sizeof(uint64));
	if (workers > 0)
		begin_parallel(&state, heap, index, info->ii_Concurrent, workers);

	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, MEMBERSHIP_PHASE_SCAN);
	if (state.shared)
	{
		sort_in_parallel(&state, heap, index, info, state.context->toc);
		result->heap_tuples = state.shared->tuples;
		result->index_tuples = state.shared->rows;
		info->ii_BrokenHotChain = state.shared->broken_hot_chain;
		elements = pg_atomic_read_u64(&state.shared->elements);
	}
	else
	{
		result->heap_tuples = scan_table(&state, heap, index, info, NULL);
		result->index_tuples = state.rows;
		pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, MEMBERSHIP_PHASE_SORT);
		elements = finish_sort(&state);
	}

	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, MEMBERSHIP_PHASE_WRITE);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_TOTAL, elements);
	meta_init(&meta, index, state.structure, elements);
	meta_write(index, MAIN_FORKNUM, &meta);
	if (elements > 0)
		pages_create(index, &meta, 0, false);
	if (state.shared)
		wait_for_all(state.shared);
	end_build(&state, index, &meta);
	if (state.shared)
		end_parallel(&state);
	if (elements > 0)
	{
		pages_report(index, &meta);
		meta_write(index, MAIN_FORKNUM, &meta);
	}

	if (RelationNeedsWAL(index))
		log_newpage_range(index, MAIN_FORKNUM, 0, RelationGetNumberOfBlocks(index), true);
	return result;
}
