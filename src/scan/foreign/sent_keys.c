/*
 * sent_keys.c
 *	  Collects the keys of a hash join in a filter for foreign servers, during execution.
 *
 * When a plan has been started, the servers of its foreign scans are asked whether they can
 * probe a filter.  The scans of those that can are restarted with a statement that has the
 * filter as a parameter (foreign_filter.c). postgres_fdw evaluates the parameter when the
 * scan returns its first row.  Until all keys are known, the parameter is NULL, and all rows
 * are fetched.  Join Filter Build (join_filter_build.c) adds the keys.
 *
 * The hashes are those of elements, which are the same on every server.  They may take as
 * much memory as a hash table; if there are more keys, nothing is sent.
 *
 * If the join drops its hash table to build another one, the parameter becomes NULL, and the
 * join's outer side is marked as changed (chgParam).  So the nodes there keep no rows that
 * the old filter let pass; foreign_filter_depend() has made them depend on the parameter.
 */
#include "sent_keys.h"

#include "scan/settings.h"
#include "foreign_statement.h"
#include "filter/image.h"
#include "functions/sent_filter.h"
#include "value/report.h"
#include "value/value.h"

#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "foreign/fdwapi.h"
#include "foreign/foreign.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"

/* Error rate of the filter: each error fetches a row, and a lower rate sends more bytes */
#define SENT_ERROR_RATE			0.001
/* A filter with this rate has at most SENT_BYTES_MIN bytes, plus this many for each key. */
#define SENT_KEY_BYTES_MAX		3
#define SENT_BYTES_MIN			1024

/* Initial room for hashes */
#define FIRST_HASHES			1024

/* Return the maximum size of the filter. */
static uint64
largest_filter(const SentKeys *sent)
{
	return SENT_BYTES_MIN + sent->room_max * SENT_KEY_BYTES_MAX;
}

/* Return the filter's parameter, which the other three follow, see SENT_PARAMETER. */
static ParamExecData *
parameter_of(const SentKeys *sent)
{
	return &sent->estate->es_param_exec_vals[list_nth_int(sent->plan, SENT_PARAMETER)];
}

/* Set the parameter of few keys, or those of the least and the greatest. */
static void
set_numbers(SentKeys *sent)
{
	ParamExecData *bounds = parameter_of(sent) + 1;
	ParamExecData *keys = bounds + 2;
	Datum		few[SENT_FEW_MAX];

	keys->isnull = sent->few_count == 0 || sent->few_count > SENT_FEW_MAX;
	if (!keys->isnull)
	{
		MemoryContext old = MemoryContextSwitchTo(sent->mcxt);

		for (int i = 0; i < sent->few_count; i++)
			few[i] = Int64GetDatum(sent->few[i]);
		keys->value = PointerGetDatum(construct_array(few, sent->few_count, INT8OID,
													  sizeof(int64), FLOAT8PASSBYVAL,
													  TYPALIGN_DOUBLE));
		MemoryContextSwitchTo(old);
	}
	bounds[0].isnull = bounds[1].isnull = !keys->isnull || sent->few_count == 0;
	bounds[0].value = Int64GetDatum(sent->least);
	bounds[1].value = Int64GetDatum(sent->greatest);
}

static void
forget_numbers(SentKeys *sent)
{
	sent->least = PG_INT64_MAX;
	sent->greatest = PG_INT64_MIN;
	sent->few_count = 0;
	set_numbers(sent);
}

static void
add_number(SentKeys *sent, int64 number)
{
	sent->least = Min(sent->least, number);
	sent->greatest = Max(sent->greatest, number);
	if (sent->few_count > SENT_FEW_MAX)
		return;
	for (int i = 0; i < sent->few_count; i++)
		if (sent->few[i] == number)
			return;
	if (sent->few_count < SENT_FEW_MAX)
		sent->few[sent->few_count] = number;
	sent->few_count++;
}

SentKeys *
sent_keys_begin(EState *estate, List *plan)
{
	SentKeys   *sent = palloc0(sizeof(SentKeys));

	sent->estate = estate;
	sent->plan = plan;
	sent->mcxt = AllocSetContextCreate(CurrentMemoryContext, "keys for foreign servers",
									   ALLOCSET_SMALL_SIZES);
	/* the join compares bytes, whatever the collation */
	sent->hasher = element_hasher_create((Oid) list_nth_int(plan, SENT_TYPE),
										 C_COLLATION_OID, ELEMENT_PORTABLE,
										 NULL, CurrentMemoryContext);
	sent->room_max = Min(get_hash_memory_limit() / sizeof(uint64),
						 ((uint64) max_filter_size * 1024 - SENT_BYTES_MIN) / SENT_KEY_BYTES_MAX);
	parameter_of(sent)->isnull = true;
	forget_numbers(sent);
	return sent;
}

/* A planstate_tree_walker(): find the foreign scans with the parameter. */
static bool
find_scans(PlanState *node, void *context)
{
	SentKeys   *sent = context;

	if (node == NULL || !bms_is_member(list_nth_int(sent->plan, SENT_PARAMETER),
									   node->plan->allParam))
		return false;
	if (IsA(node, ForeignScanState))
	{
		sent->scans = lappend(sent->scans, node);
		return false;
	}
	return planstate_tree_walker(node, find_scans, context);
}

/* Restart a foreign scan with another plan.  It must not have returned a row yet. */
static void
begin_again(ForeignScanState *scan, ForeignScan *plan)
{
	scan->fdwroutine->EndForeignScan(scan);
	scan->fdw_state = NULL;
	scan->ss.ps.plan = (Plan *) plan;
	scan->fdwroutine->BeginForeignScan(scan, scan->ss.ps.state->es_top_eflags);
}

/* Answer of a server to a user in this execution */
typedef struct ServerAnswer
{
	Oid			server;
	Oid			user;
	bool		able;			/* the server can probe filters */
} ServerAnswer;

/* Return the user who reads in a scan; InvalidOid: the current user. */
static Oid
user_of_scan(const ForeignScanState *scan)
{
	const ForeignScan *plan = (const ForeignScan *) scan->ss.ps.plan;

#if PG_VERSION_NUM >= 160000
	return plan->checkAsUser;
#else
	int			relid = plan->scan.scanrelid > 0 ? (int) plan->scan.scanrelid :
		bms_next_member(plan->fs_relids, -1);

	return exec_rt_fetch(relid, scan->ss.ps.state)->checkAsUser;
#endif
}

/* Can a scan's server probe filters?  If not known yet, execute the plan "ask" to find out. */
static bool
is_able(ForeignScanState *scan, ForeignScan *plan, ForeignScan *ask, List **answers)
{
	Oid			user = user_of_scan(scan);
	ServerAnswer *answer;
	ListCell   *cell;
	bool		async = scan->ss.ps.async_capable;
	TupleTableSlot *slot;

	foreach(cell, *answers)
	{
		answer = lfirst(cell);
		if (answer->server == plan->fs_server && answer->user == user)
			return answer->able;
	}
	/* wait for the answer */
	scan->ss.ps.async_capable = false;
	begin_again(scan, ask);
	slot = scan->fdwroutine->IterateForeignScan(scan);
	answer = palloc(sizeof(ServerAnswer));
	*answer = (ServerAnswer)
	{
		plan->fs_server, user, !TupIsNull(slot)
	};
	*answers = lappend(*answers, answer);
	ExecClearTuple(slot);
	scan->ss.ps.async_capable = async;
	begin_again(scan, plan);
	return answer->able;
}

/*
 * Find the scans on a join's outer side with the parameter; let a scan send the filter if its
 * server can probe it.  The plan has just been started, so the current user and
 * subtransaction are those with which postgres_fdw has connected.
 */
void
sent_keys_link(SentKeys *sent, PlanState *outer, List **answers)
{
	ListCell   *cell;

	Assert(CurrentMemoryContext == sent->estate->es_query_cxt);
	sent->outer = outer;
	(void) find_scans(outer, sent);
	foreach(cell, foreign_filter_setting ? sent->scans : NIL)
	{
		ForeignScanState *scan = lfirst(cell);
		ForeignScan *plan = (ForeignScan *) scan->ss.ps.plan;
		ForeignScan *ask = foreign_statement_ask(plan, largest_filter(sent));
		int			field = SENT_SCANS;

		if (ask && ((sent->estate->es_top_eflags & EXEC_FLAG_EXPLAIN_ONLY) ||
					is_able(scan, plan, ask, answers)))
		{
			while (list_nth_int(sent->plan, field + SENT_NODE) != plan->scan.plan.plan_node_id)
				field += SENT_SCAN_FIELDS;
			plan = foreign_statement_send(plan, list_nth_int(sent->plan, SENT_PARAMETER),
										  list_nth_int(sent->plan, field + SENT_KEY),
										  (Oid) list_nth_int(sent->plan, field + SENT_DECLARED),
										  list_nth_int(sent->plan, field + SENT_MODIFIER));
			begin_again(scan, plan);
			sent->able = lappend(sent->able, scan);
		}
		else
			sent->unable = lappend(sent->unable, scan);
	}
}

/* Forget all keys, which will be collected anew. */
void
sent_keys_forget(SentKeys *sent)
{
	ParamExecData *parameter = parameter_of(sent);

	if (!parameter->isnull)
	{
		MemoryContext old = MemoryContextSwitchTo(sent->estate->es_query_cxt);

		sent->outer->chgParam = bms_add_member(sent->outer->chgParam,
											   list_nth_int(sent->plan, SENT_PARAMETER));
		MemoryContextSwitchTo(old);
		pfree(DatumGetPointer(parameter->value));
	}
	parameter->isnull = true;
	parameter->value = (Datum) 0;
	forget_numbers(sent);
	MemoryContextReset(sent->mcxt);
	sent->hashes = NULL;
	sent->count = sent->room = 0;
	sent->too_many = sent->able == NIL;
}

/* Make room for another hash; return false if there are too many to send. */
static bool
make_room(SentKeys *sent)
{
	if (sent->room >= sent->room_max ||
		exceeds_max_size(SENT_BYTES_MIN + sent->count * SENT_KEY_BYTES_MAX))
	{
		sent->too_many = true;
		MemoryContextReset(sent->mcxt);
		return false;
	}
	if (sent->room == 0)
	{
		sent->room = Min(FIRST_HASHES, sent->room_max);
		sent->hashes = MemoryContextAlloc(sent->mcxt, sent->room * sizeof(uint64));
	}
	else
	{
		sent->room = Min(2 * sent->room, sent->room_max);
		sent->hashes = repalloc_huge(sent->hashes, sent->room * sizeof(uint64));
	}
	return true;
}

/* Add a key, which is not NULL.  May allocate in the current memory context. */
void
sent_keys_add(SentKeys *sent, Datum key)
{
	int64		number;

	if (sent->too_many || (sent->count == sent->room && !make_room(sent)))
		return;
	sent->hashes[sent->count++] = le64(element_hash(sent->hasher, key, 0));
	if (sent_number((Oid) list_nth_int(sent->plan, SENT_TYPE), key, &number))
		add_number(sent, number);
}

/* Set the parameters after all keys have been collected, unless these are too many. */
void
sent_keys_finish(SentKeys *sent)
{
	ParamExecData *parameter = parameter_of(sent);
	MemoryContext old;
	struct varlena *value;

	if (sent->too_many)
		return;
	Assert(parameter->isnull && parameter->execPlan == NULL);
	old = MemoryContextSwitchTo(sent->estate->es_query_cxt);
	if (sent->count == 0)
		value = value_make_empty(FILTER_BLOOM);
	else
	{
		FilterParams params = {
			.error_rate = SENT_ERROR_RATE,
			.growth = GROWTH_DEFAULT,
			.kind = FILTER_BLOOM
		};
		FilterWriter writer;
		const uint8 *image;

		writer_open_new_state(&writer, &params, image_explicit_bytes(sent->count),
							  sent->mcxt);
		image_set_class(writer.image, sent->hasher->class);
		writer_append(&writer, (const uint8 *) sent->hashes, sent->count);
		image = value_image(writer_close_state(&writer));
		sent->elements += image_count(image);
		value = value_make_from_set(image, image_count(image));
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(sent->mcxt);
	sent->hashes = NULL;
	sent->count = sent->room = 0;
	/* the servers were asked whether they take this many bytes */
	Assert(VARSIZE(value) <= largest_filter(sent));
	/* each scan sends the filter in base64, with a checksum */
	sent->bytes += (VARSIZE_ANY_EXHDR(value) + sizeof(uint64) + 2) / 3 * 4 *
		list_length(sent->able);
	parameter->value = PointerGetDatum(value);
	parameter->isnull = false;
	set_numbers(sent);
}

/* Print the names of the servers of some scans, if there are any. */
static void
explain_servers(const char *label, List *scans, ExplainState *es)
{
	StringInfoData names;
	List	   *servers = NIL;
	ListCell   *cell;

	initStringInfo(&names);
	foreach(cell, scans)
	{
		const PlanState *scan = lfirst(cell);

		servers = list_append_unique_oid(servers,
										 ((ForeignScan *) scan->plan)->fs_server);
	}
	foreach(cell, servers)
		appendStringInfo(&names, "%s%s", names.len > 0 ? ", " : "",
						 GetForeignServer(lfirst_oid(cell))->servername);
	if (names.len > 0)
		ExplainPropertyText(label, names.data, es);
}

/* Print to which servers the filter is sent, and which servers cannot probe it. */
void
sent_keys_explain_servers(const SentKeys *sent, ExplainState *es)
{
	explain_servers("Sent To", sent->able, es);
	explain_servers("Not Probed On", sent->unable, es);
}

/* Print EXPLAIN ANALYZE's numbers: sums, if the join was executed several times. */
void
sent_keys_explain(const SentKeys *sent, ExplainState *es)
{
	double		fetched = 0;
	ListCell   *cell;

	foreach(cell, sent->scans)
	{
		const NodeInstrumentation *instrument = ((PlanState *) lfirst(cell))->instrument;

		if (instrument)
			fetched += instrument->ntuples + instrument->tuplecount + instrument->nfiltered1;
	}
	ExplainPropertyInteger("Elements Sent", NULL, (int64) sent->elements, es);
	ExplainPropertyInteger("Bytes Sent", NULL, (int64) sent->bytes, es);
	ExplainPropertyInteger("Rows Fetched", NULL, (int64) fetched, es);
}
