/*
 * join_filter_build.c
 *	  Join Filter Build: the node that collects the keys of a hash join's inner side.
 *
 * The node is the child of the Hash node, and returns all rows of its own child.  It reads
 * integer keys from the rows, and others, too, if far more rows are probed than collected and
 * these are then hashed faster (join_filter_reader.c).  The join hashes other keys anyway, right after it gets a row;
 * so record its hash instead of computing it twice: up to PostgreSQL 17, a function of ours
 * replaces the hash functions in the hash table; later, an expression of ours replaces that
 * of the Hash node.  When the child has no more rows, all have been hashed, and the filter is
 * made.  A server that hashes rows at another time would make us lose rows, so the filter is not
 * used unless the finished hash table has as many rows as we have hashes.  Foreign servers get a separate filter (sent_keys.c).
 *
 * Unmatched rows.  An anti or a left join returns outer rows without a partner, so these cannot be
 * dropped.  But once the filter is complete, the join's hash of an outer row that is not in
 * the filter is replaced by the hash of an empty bucket of the first batch: the row
 * is compared with no other and not written to a file.  The join still checks its own
 * condition.
 *
 * Linking.  When the whole plan has been started, join_filter_link.c connects the node to the
 * join above.  EvalPlanQual's nodes are not linked, and only return their rows.
 *
 * Parallel Hash.  Each process hashes a part of the rows, and puts their keys into shared
 * memory.  The join's barrier shows when all processes have done so; none reads the outer
 * side before.  Then the first process that probes merges the parts, while the others wait:
 * letting their rows pass would take longer.
 */
#include "join_filter_build.h"
#include "scan/plan_record.h"
#include "scan/probe_switch.h"
#include "scan/foreign/sent_keys.h"

#include "executor/hashjoin.h"
#include "miscadmin.h"
#include "storage/barrier.h"
#include "storage/spin.h"
#include "utils/ruleutils.h"
#include "utils/wait_event.h"

/* In this phase of a Parallel Hash and later ones, all inner rows have been hashed. */
#ifdef PHJ_BUILD_HASH_OUTER
#define PHASE_INNER_HASHED		PHJ_BUILD_HASH_OUTER
#else							/* PostgreSQL 15 */
#define PHASE_INNER_HASHED		PHJ_BUILD_HASHING_OUTER
#endif

/* Fields of Instrumentation that count the keys and bytes of all builds, and the unmatched rows */
#define keys_collected			ntuples2
#define bytes_of_filters		nfiltered2
#define rows_unmatched				nfiltered1

/* Keys that a process has collected, in dynamic shared memory */
typedef struct SharedPart
{
	dsa_pointer next;
	KeyFilter	keys;
} SharedPart;

/* Phases of SharedKeys.merging */
enum
{
	SHARED_COLLECTED,			/* no process has requested the filter yet */
	SHARED_MERGING,				/* a process merges the parts */
	SHARED_COMPLETE
};

/* Shared state of the processes, in the query's dynamic shared memory */
typedef struct SharedKeys
{
	Size		limit;			/* memory for each process's collector */
	slock_t		mutex;			/* protects "parts" */
	dsa_pointer parts;			/* list of SharedParts */
	uint64		rows;			/* sum of their rows_to_find() */
	Barrier		merging;
	/* set in phase SHARED_COMPLETE: */
	dsa_pointer filter;
	uint64		count;			/* keys in the filter, for EXPLAIN */
	Size		bytes;
} SharedKeys;

/*
 * Values of "unmatched_hash" that are none: many rows have the hash 0, and no hash table has
 * PG_UINT32_MAX buckets.
 */
#define UNMATCHED_NONE				0	/* no bucket is empty: find no row */
#define UNMATCHED_UNKNOWN			PG_UINT32_MAX

#if PG_VERSION_NUM < 180000
/* Hash of a row whose columns are being hashed */
typedef struct RecordedHash
{
	uint32		hash;			/* hash of the first "hashed" columns */
	int			hashed;
} RecordedHash;

/* A hash function of the join that record_hash() replaces */
typedef struct RecordedFunction
{
	FmgrInfo	function;
	KeyBuildState *build;
	RecordedHash *row;			/* inner_hash or outer_hash of "build" */
	int			column;			/* number of the key's column, from 0 */
} RecordedFunction;
#endif

struct KeyBuildState
{
	CustomScanState css;
	KeyBuildPlan plan;
	int			columns;		/* number of the key's columns */
	KeyReader	reader;			/* used unless "records" */
	bool		records;		/* records the join's hashes */
	KeySource	source;
	KeyCollector collector;
	MemoryContext mcxt;
	bool		collecting;
	KeyFilter  *made;			/* the filter until key_source_open() checks
								 * it */
	uint64		rows;			/* what rows_to_find() was when it was made */
	ProbeSwitch unmatched_switch;	/* pauses the look-ups if few rows are
									 * unmatched */
	uint32		unmatched_hash; /* hash of unmatched rows, see
								 * find_unmatched_hash() */
	SentKeys   *sent;			/* keys for foreign servers, or NULL */
	SharedKeys *shared;			/* shared state of a Parallel Hash, or NULL */
	dsa_area   *area;			/* memory of "shared", its parts and filter */
	/* counts of "shared", kept for EXPLAIN */
	uint64		shared_count;
	Size		shared_bytes;
#if PG_VERSION_NUM < 180000
	RecordedFunction inner_functions[KEY_COLUMNS_MAX];
	RecordedFunction outer_functions[KEY_COLUMNS_MAX];
	RecordedHash inner_hash;
	RecordedHash outer_hash;
#else
	ExprState  *inner_expression;	/* the join's expressions for its hashes */
	ExprState  *outer_expression;
#endif
};

uint64		join_filters_begun = 0;

/* ---- The join's hashes ---- */

/*
 * Return the hash of unmatched rows: the number of an empty bucket, used as a hash.  A row with this hash
 * belongs to that bucket of the first batch.  No inner row has this hash, not even in later
 * batches or the skew table.
 */
static uint32
find_unmatched_hash(const KeyBuildState *build, const KeyFilter *filter)
{
	HashJoinTable table = build->source.hash->hashtable;

	Assert(table->parallel_state == NULL && table->curbatch == 0);
	for (uint32 bucket = 1; bucket < (uint32) table->nbuckets; bucket++)
	{
		if (table->buckets.unshared[bucket] == NULL &&
			!key_filter_contains(filter, bucket))
			return bucket;
	}
	return UNMATCHED_NONE;
}

/* Is it known that an outer row with this hash has no partner? */
static bool
is_unmatched(KeyBuildState *build, uint32 hash)
{
	const KeyFilter *filter = key_source_filter(&build->source);
	bool		found;

	if (filter == NULL || !probe_switch_is_on(&build->unmatched_switch, 1))
		return false;
	/* not earlier, because the hash table did not have all of its buckets */
	if (unlikely(build->unmatched_hash == UNMATCHED_UNKNOWN))
		build->unmatched_hash = find_unmatched_hash(build, filter);
	if (unlikely(build->unmatched_hash == UNMATCHED_NONE))
		return false;
	found = key_filter_contains(filter, hash);
	probe_switch_count(&build->unmatched_switch, 1, found);
	if (!found && build->css.ss.ps.instrument)
		build->css.ss.ps.instrument->rows_unmatched++;
	return !found;
}

#if PG_VERSION_NUM < 180000
/*
 * Replaces a hash function of the join: calls it, and records or replaces the row's hash after
 * its last column.  The join does not hash a column that is NULL.  So we may combine
 * hashes of two rows that have a NULL, which does no harm because such rows have no partner.
 */
static Datum
record_hash(PG_FUNCTION_ARGS)
{
	FmgrInfo   *own = fcinfo->flinfo;
	RecordedFunction *recorded = (RecordedFunction *) own->fn_extra;
	KeyBuildState *build = recorded->build;
	RecordedHash *row = recorded->row;
	uint32		before;
	uint32		hash;

	fcinfo->flinfo = &recorded->function;
	hash = DatumGetUInt32(FunctionCallInvoke(fcinfo));
	fcinfo->flinfo = own;
	if (recorded->column == 0)
		row->hash = row->hashed = 0;
	if (recorded->column != row->hashed)
		return UInt32GetDatum(hash);
	before = row->hash;
	row->hash = key_combine(before, hash);
	if (++row->hashed < build->columns)
		return UInt32GetDatum(hash);
	/* a superfluous key does no harm */
	if (row == &build->inner_hash)
		key_collector_add(&build->collector, row->hash);
	/* the join combines the result with "before", and gets this hash */
	else if (is_unmatched(build, row->hash))
		hash = key_combine(before, build->unmatched_hash);
	return UInt32GetDatum(hash);
}

/* Let record_hash() replace a hash function of the join. */
static void
replace_function(KeyBuildState *build, RecordedHash *row, int column,
				 RecordedFunction *recorded, FmgrInfo *function)
{
	recorded->function = *function;
	recorded->build = build;
	recorded->row = row;
	recorded->column = column;
	function->fn_addr = record_hash;
	function->fn_extra = recorded;
}

/* Let record_hash() replace the hash functions of a hash table that is about to be filled. */
static void
record_hashes(KeyBuildState *build, HashJoinTable table)
{
	for (int i = 0; i < build->columns; i++)
	{
		replace_function(build, &build->inner_hash, i, &build->inner_functions[i],
						 &table->inner_hashfunctions[i]);
		if (build->plan.finds_unmatched)
			replace_function(build, &build->outer_hash, i, &build->outer_functions[i],
							 &table->outer_hashfunctions[i]);
	}
}
#else
/* An ExprStateEvalFunc: return and record the join's hash of an inner row */
static Datum
record_hash(ExprState *expression, ExprContext *econtext, bool *isnull)
{
	KeyBuildState *build = expression->evalfunc_private;
	Datum		hash = ExecEvalExpr(build->inner_expression, econtext, isnull);

	if (!*isnull && build->collecting)
		key_collector_add(&build->collector, DatumGetUInt32(hash));
	return hash;
}

/* An ExprStateEvalFunc: return the join's hash of an outer row, or that of unmatched ones */
static Datum
hash_outer_row(ExprState *expression, ExprContext *econtext, bool *isnull)
{
	KeyBuildState *build = expression->evalfunc_private;
	Datum		hash = ExecEvalExpr(build->outer_expression, econtext, isnull);

	return !*isnull && is_unmatched(build, DatumGetUInt32(hash)) ?
		UInt32GetDatum(build->unmatched_hash) : hash;
}

/* Let a function of ours replace an expression of the join. */
static void
replace_expression(KeyBuildState *build, ExprState **recorded,
				   ExprState **expression, ExprStateEvalFunc ours)
{
	*recorded = *expression;
	*expression = makeNode(ExprState);
	(*expression)->evalfunc = ours;
	(*expression)->evalfunc_private = build;
}
#endif

/* ---- Building ---- */

static void
forget_filter(KeyBuildState *build)
{
	key_collector_reset(&build->collector);
	if (build->sent)
		sent_keys_forget(build->sent);
	build->collecting = false;
	/* a shared filter is in the query's shared memory */
	if (build->source.filter && !build->source.is_shared)
		pfree(unconstify(KeyFilter *, build->source.filter));
	build->source.filter = NULL;
	if (build->made)
		pfree(build->made);
	build->made = NULL;
	build->source.table = NULL;
	build->unmatched_hash = UNMATCHED_UNKNOWN;
}

static void
begin_collecting(KeyBuildState *build)
{
	HashState  *hash = build->source.hash;

	/* core does not ask for more rows after the last one */
	Assert(hash->hashtable != NULL && build->source.table != hash->hashtable);
	forget_filter(build);
	build->source.table = hash->hashtable;
	build->source.is_shared = build->shared != NULL &&
		hash->parallel_state != NULL;
#if PG_VERSION_NUM < 180000
	if (build->records)
		record_hashes(build, hash->hashtable);
#endif
	build->collecting = true;
}

/*
 * After the child's last row, return how many rows this process will find in the finished hash
 * table, if all of them have been hashed by now.
 */
static uint64
rows_to_find(const KeyBuildState *build, uint64 hashes)
{
#if PG_VERSION_NUM < 180000
	HashJoinTable table = build->source.hash->hashtable;

	/*
	 * a right or full join also stores rows with NULL keys, of which no hash
	 * is recorded
	 */
	if (table->keepNulls)
		return table->parallel_state ? table->partialTuples : table->totalTuples;
#endif
	return hashes;
}

/* Does the finished hash table have just the rows of which we have the hashes? */
static bool
has_all_hashes(const KeyBuildState *build, uint64 rows, double stored)
{
	if (!build->records || rows == stored)
		return true;
	ereport(LOG,
			(errmsg("join filter %d is not used: its hash table has %.0f rows, but " UINT64_FORMAT " were expected",
					build->plan.number, stored, rows),
			 errdetail("The server does not hash each row before it reads the next one."),
			 errhint("Set bloomfilter.join_filter to \"index\", and report this to the maintainers of bloomfilter.")));
	return false;
}

/* Put the keys of this process into shared memory. */
static void
share_part(KeyBuildState *build)
{
	dsa_area   *area = build->area;
	KeyFilter  *keys = key_collector_part(&build->collector);
	dsa_pointer pointer = dsa_allocate_extended(area,
												offsetof(SharedPart, keys) + keys->bytes,
												DSA_ALLOC_HUGE);
	SharedPart *part = dsa_get_address(area, pointer);
	uint64		rows;

	memcpy(&part->keys, keys, keys->bytes);
	pfree(keys);
	rows = rows_to_find(build, part->keys.count);
	SpinLockAcquire(&build->shared->mutex);
	build->shared->rows += rows;
	part->next = build->shared->parts;
	build->shared->parts = pointer;
	SpinLockRelease(&build->shared->mutex);
}

static void
end_collecting(KeyBuildState *build)
{
	NodeInstrumentation *instrument = build->css.ss.ps.instrument;
	KeyFilter  *filter;

	Assert(build->source.table == build->source.hash->hashtable);
	build->collecting = false;
	if (build->sent)
		sent_keys_finish(build->sent);
	if (build->source.is_shared)
	{
		share_part(build);
		return;
	}
	build->made = filter = key_collector_finish(&build->collector);
	build->rows = rows_to_find(build, filter->count);
	if (instrument)
	{
		instrument->keys_collected += filter->count;
		instrument->bytes_of_filters += filter->bytes;
	}
}

/* Merge the keys of all processes, after all have finished. */
static void
merge_parts(KeyBuildState *build)
{
	SharedKeys *shared = build->shared;
	dsa_area   *area = build->area;
	KeyFilter  *filter;
	dsa_pointer pointer;
	dsa_pointer next;

	Assert(!build->collecting);
	for (pointer = shared->parts; DsaPointerIsValid(pointer); pointer = next)
	{
		SharedPart *part = dsa_get_address(area, pointer);

		next = part->next;
		key_collector_merge(&build->collector, &part->keys);
		dsa_free(area, pointer);
	}
	shared->parts = InvalidDsaPointer;
	if (!has_all_hashes(build, shared->rows,
						build->source.hash->parallel_state->total_tuples))
		return;
	filter = key_collector_finish(&build->collector);
	pointer = dsa_allocate_extended(area, filter->bytes, DSA_ALLOC_HUGE);
	memcpy(dsa_get_address(area, pointer), filter, filter->bytes);
	shared->filter = pointer;
	shared->count = filter->count;
	shared->bytes = filter->bytes;
	pfree(filter);
}

/* For key_source_filter(): return the filter of a Parallel Hash, if it is complete. */
static const KeyFilter *
open_shared(KeyBuildState *build)
{
	KeySource  *source = &build->source;
	SharedKeys *shared = build->shared;
	int			phase;

	if (shared == NULL || source->hash->parallel_state == NULL ||
		BarrierPhase(&source->hash->parallel_state->build_barrier) < PHASE_INNER_HASHED)
		return NULL;
	phase = BarrierAttach(&shared->merging);
	if (phase == SHARED_COLLECTED &&
		BarrierArriveAndWait(&shared->merging, PG_WAIT_EXTENSION))
		merge_parts(build);
	if (phase != SHARED_COMPLETE)
		BarrierArriveAndWait(&shared->merging, PG_WAIT_EXTENSION);
	Assert(BarrierPhase(&shared->merging) == SHARED_COMPLETE);
	BarrierDetach(&shared->merging);
	if (DsaPointerIsValid(shared->filter))
		source->filter = dsa_get_address(build->area, shared->filter);
	return source->filter;
}

/*
 * For key_source_filter(): return the filter that it uses from now on, or NULL.  The hash table is
 * finished: a filter of one process is made while core fetches its last row.
 */
const KeyFilter *
key_source_open(KeySource *source)
{
	KeyBuildState *build = source->build;

	if (source->is_shared)
		return open_shared(build);
	if (build->made && has_all_hashes(build, build->rows,
									  source->hash->hashtable->totalTuples))
		source->filter = build->made;
	else if (build->made)
		pfree(build->made);
	build->made = NULL;
	return source->filter;
}

/* ---- The node ---- */

static void
key_build_begin(CustomScanState *node, EState *estate, int eflags)
{
	KeyBuildState *build = (KeyBuildState *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;

	node_begin_child(node, estate, eflags);
	/* expressions in the key read the child's slots, too */
	node->ss.ps.scanopsset = true;
	node->ss.ps.scanops = node->ss.ps.resultops;
	node->ss.ps.scanopsfixed = node->ss.ps.resultopsfixed;
	build->plan = key_build_read(plan->custom_private);
	build->columns = list_length(plan->custom_exprs);
	build->records = build->plan.kind == KEY_HASH && build->plan.functions == NIL;
	if (build->plan.kind != KEY_NONE && !build->records)
		key_reader_init(&build->reader, build->plan.kind, build->plan.integer,
						plan->custom_exprs, build->plan.functions, build->plan.collations,
						true, &node->ss.ps);
	build->source.number = build->plan.number;
	build->source.build = build;
	probe_switch_init(&build->unmatched_switch, 0, build->plan.forced);
	build->mcxt = AllocSetContextCreate(CurrentMemoryContext, "keys of a join",
										ALLOCSET_SMALL_SIZES);
	key_collector_init(&build->collector, build->plan.kind, get_hash_memory_limit(),
					   build->plan.expected, build->mcxt);
	key_collector_keep_ends(&build->collector,
							key_order_begin(build->plan.order, build->plan.collation));
	if (build->plan.sent != NIL)
		build->sent = sent_keys_begin(estate, build->plan.sent);
	join_filters_begun++;
}

/*
 * Collect the key of a row, unless the join's hash is recorded; its value, if values are kept; and
 * for foreign servers.
 */
static void
collect_key(KeyBuildState *build, TupleTableSlot *slot)
{
	ExprContext *econtext = build->css.ss.ps.ps_ExprContext;
	MemoryContext old;
	uint64		key;

	ResetExprContext(econtext);
	econtext->ecxt_scantuple = slot;
	old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	if (build->plan.kind != KEY_NONE && !build->records &&
		key_reader_read(&build->reader, slot, econtext, &key))
		key_collector_add(&build->collector, key);
	if (build->sent || build->collector.order)
	{
		bool		isnull;
		Datum		value = slot_getattr(slot, build->plan.attribute, &isnull);

		if (!isnull)
			key_collector_add_value(&build->collector, value);
		if (!isnull && build->sent)
			sent_keys_add(build->sent, value);
	}
	MemoryContextSwitchTo(old);
}

static TupleTableSlot *
key_build_exec(CustomScanState *node)
{
	KeyBuildState *build = (KeyBuildState *) node;
	TupleTableSlot *slot = ExecProcNode(outerPlanState(node));

	if (build->source.hash == NULL)
		return slot;
	if (unlikely(!build->collecting))
		begin_collecting(build);
	if (TupIsNull(slot))
		end_collecting(build);
	else if (!build->records || build->sent || build->collector.order)
		collect_key(build, slot);
	return slot;
}

static void
key_build_rescan(CustomScanState *node)
{
	forget_filter((KeyBuildState *) node);
	node_rescan_child(node);
}

static Size
key_build_estimate_dsm(CustomScanState *node, ParallelContext *context)
{
	return sizeof(SharedKeys);
}

static void
attach(KeyBuildState *build, SharedKeys *shared)
{
	build->shared = shared;
	/* note this Gather's area: later the executor may be in another Gather */
	build->area = build->css.ss.ps.state->es_query_dsa;
	build->source.is_shared = true;
}

static void
key_build_initialize_dsm(CustomScanState *node, ParallelContext *context,
						 void *memory)
{
	KeyBuildState *build = (KeyBuildState *) node;
	SharedKeys *shared = memory;

	memset(shared, 0, sizeof(SharedKeys));
	shared->limit = build->collector.limit;
	SpinLockInit(&shared->mutex);
	BarrierInit(&shared->merging, 0);
	attach(build, shared);
}

static void
key_build_reinitialize_dsm(CustomScanState *node, ParallelContext *context,
						   void *memory)
{
	KeyBuildState *build = (KeyBuildState *) node;
	SharedKeys *shared = memory;
	dsa_area   *area = build->area;
	dsa_pointer next;

	forget_filter(build);
	build->source.is_shared = true;
	for (dsa_pointer part = shared->parts; DsaPointerIsValid(part); part = next)
	{
		next = ((SharedPart *) dsa_get_address(area, part))->next;
		dsa_free(area, part);
	}
	if (DsaPointerIsValid(shared->filter))
		dsa_free(area, shared->filter);
	BarrierInit(&shared->merging, 0);
	shared->rows = 0;
	shared->parts = shared->filter = InvalidDsaPointer;
}

static void
key_build_initialize_worker(CustomScanState *node, shm_toc *toc, void *memory)
{
	KeyBuildState *build = (KeyBuildState *) node;

	attach(build, memory);
	/* not the present limit: it may have changed since a cursor was opened */
	build->collector.limit = build->shared->limit;
	key_collector_reset(&build->collector);
}

/* ShutdownCustomScan: leave the shared memory, which is about to be freed with the filter. */
static void
key_build_shutdown(CustomScanState *node)
{
	KeyBuildState *build = (KeyBuildState *) node;

	if (build->shared == NULL)
		return;
	if (build->source.is_shared)
	{
		build->shared_count = build->shared->count;
		build->shared_bytes = build->shared->bytes;
		build->source.filter = NULL;
	}
	build->shared = NULL;
}

static void
key_build_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	KeyBuildState *build = (KeyBuildState *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;
	List	   *context = set_deparse_context_plan(es->deparse_cxt,
												   &plan->scan.plan, ancestors);
	NodeInstrumentation *instrument = node->ss.ps.instrument;
	double		times = 1;
	double		count = build->shared_count;
	double		bytes = build->shared_bytes;

	ExplainPropertyInteger("Join Filter", NULL, build->plan.number, es);
	ExplainPropertyText("Key", deparse_expression((Node *) plan->custom_exprs,
												  context, true, false), es);
	if (build->sent)
		sent_keys_explain_servers(build->sent, es);
	if (!es->analyze || !instrument)
		return;
	if (count == 0 && instrument->nloops > 0)
	{
		times = instrument->nloops;
		count = instrument->keys_collected;
		bytes = instrument->bytes_of_filters;
	}
	if (build->plan.kind != KEY_NONE)
	{
		ExplainPropertyFloat("Elements", NULL, count / times, 0, es);
		ExplainPropertyInteger("Filter Size", "kB",
							   (int64) (bytes / times + 1023) / 1024, es);
	}
	if (build->plan.finds_unmatched)
		ExplainPropertyInteger("Outer Rows Unmatched", NULL,
							   (int64) instrument->rows_unmatched, es);
	if (build->sent)
		sent_keys_explain(build->sent, es);
}

const NodeKind join_filter_build_node = {
	.plan = {"Join Filter Build", node_create_state},
	.state_bytes = sizeof(KeyBuildState),
	.exec.CustomName = "Join Filter Build",
	.exec.BeginCustomScan = key_build_begin,
	.exec.ExecCustomScan = key_build_exec,
	.exec.EndCustomScan = node_end_child,
	.exec.ReScanCustomScan = key_build_rescan,
	.exec.EstimateDSMCustomScan = key_build_estimate_dsm,
	.exec.InitializeDSMCustomScan = key_build_initialize_dsm,
	.exec.ReInitializeDSMCustomScan = key_build_reinitialize_dsm,
	.exec.InitializeWorkerCustomScan = key_build_initialize_worker,
	.exec.ShutdownCustomScan = key_build_shutdown,
	.exec.ExplainCustomScan = key_build_explain
};

/* ---- The plan ---- */

static const PlanField build_fields[] = {
	PLAN_NUMBER_FIELD(KeyBuildPlan, number),
	PLAN_NUMBER_FIELD(KeyBuildPlan, kind),
	PLAN_NUMBER_FIELD(KeyBuildPlan, attribute),
	PLAN_NUMBER_FIELD(KeyBuildPlan, integer),
	PLAN_NUMBER_FIELD(KeyBuildPlan, expected),
	PLAN_NUMBER_FIELD(KeyBuildPlan, comes_first),
	PLAN_NUMBER_FIELD(KeyBuildPlan, finds_unmatched),
	PLAN_NUMBER_FIELD(KeyBuildPlan, forced),
	PLAN_FIELD(PLAN_LIST, KeyBuildPlan, functions),
	PLAN_FIELD(PLAN_LIST, KeyBuildPlan, collations),
	PLAN_FIELD(PLAN_LIST, KeyBuildPlan, order),
	PLAN_NUMBER_FIELD(KeyBuildPlan, collation),
	PLAN_FIELD(PLAN_LIST, KeyBuildPlan, sent)
};

/* Return the custom_private of a plan. */
List *
key_build_write(const KeyBuildPlan *plan)
{
	return plan_record_write(plan, build_fields, lengthof(build_fields));
}

KeyBuildPlan
key_build_read(List *private)
{
	KeyBuildPlan plan;

	plan_record_read(private, &plan, build_fields, lengthof(build_fields));
	return plan;
}

/*
 * Connect the Join Filter Build of a join with the join, before the plan is executed.
 * "answers" are those of foreign servers in this execution.  Return the source of the join's
 * keys, or NULL if the join has no such node.
 */
KeySource *
key_build_link(HashJoinState *join, List **answers)
{
	HashState  *hash = (HashState *) innerPlanState(join);
	KeyBuildState *build = (KeyBuildState *) outerPlanState(hash);

	if (!IsA(build, CustomScanState) || build->css.methods != &join_filter_build_node.exec)
		return NULL;
	if (build->source.hash == NULL)
	{
		build->source.hash = hash;
#if PG_VERSION_NUM >= 180000
		if (build->records)
			replace_expression(build, &build->inner_expression,
							   &hash->hash_expr, record_hash);
		if (build->plan.finds_unmatched)
			replace_expression(build, &build->outer_expression,
							   &join->hj_OuterHash, hash_outer_row);
#endif
	}
	if (build->sent)
		sent_keys_link(build->sent, outerPlanState(join), answers);

	/* keep the join from looking for an outer row before it builds */
	if (build->plan.comes_first)
		join->hj_OuterNotEmpty = true;
	return &build->source;
}
