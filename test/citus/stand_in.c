/*
 * stand_in.c
 *	  Calls aggregates of others as Citus does, for tests without Citus.
 *
 * Where Citus pushes an aggregate down, each worker runs an aggregate of its own with
 * the other's OID as first argument, and the coordinator combines what comes.  What
 * matters to the other's functions:
 *
 * - They are looked up for each row (fmgr_info), so that fn_extra is always empty, and
 *	 there is no expression (fn_expr).
 * - fcinfo->context is the calling aggregate's node, and the collation its own.  That
 *	 is none if several arguments come in a record.
 * - The state is kept as nodeAgg.c keeps one, and travels as text, by the output and
 *	 the input function of its declared type.
 *
 * test/t/085_citus_aggregates.pl compiles this, and declares:
 *
 *	 partial_agg(oid, anyelement) and combine_agg(oid, text, anyelement)
 *
 * where the last argument of the second is a NULL of the type of the result.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/expandeddatum.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(partial_step);
PG_FUNCTION_INFO_V1(partial_text);
PG_FUNCTION_INFO_V1(combine_step);
PG_FUNCTION_INFO_V1(combine_final);

/* Of the aggregates under test, the state and three arguments */
#define ARGUMENTS_MAX		4

typedef struct PartialState
{
	Form_pg_aggregate aggregate;	/* a copy */
	int16		length;			/* of the state's type */
	bool		byval;
	Datum		value;
	bool		isnull;
} PartialState;

/* What is passed from row to row, made at the first */
static PartialState *
get_state(FunctionCallInfo fcinfo, MemoryContext *mcxt)
{
	MemoryContext oldcontext;
	HeapTuple	tuple;
	PartialState *state;

	if (!AggCheckCallContext(fcinfo, mcxt))
		elog(ERROR, "not called by an aggregate");
	if (!PG_ARGISNULL(0))
		return (PartialState *) PG_GETARG_POINTER(0);
	tuple = SearchSysCache1(AGGFNOID, PG_GETARG_DATUM(1));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "no aggregate has OID %u", PG_GETARG_OID(1));
	oldcontext = MemoryContextSwitchTo(*mcxt);
	state = palloc0(sizeof(PartialState));
	state->aggregate = palloc(sizeof(FormData_pg_aggregate));
	memcpy(state->aggregate, GETSTRUCT(tuple), sizeof(FormData_pg_aggregate));
	state->isnull = true;
	get_typlenbyval(state->aggregate->aggtranstype, &state->length, &state->byval);
	MemoryContextSwitchTo(oldcontext);
	ReleaseSysCache(tuple);
	return state;
}

/*
 * Call a function of the aggregate: with the state as its first argument, and a
 * FmgrInfo of its own.
 */
static Datum
call(FunctionCallInfo fcinfo, Oid function, PartialState *state, int count,
	 const Datum *values, const bool *nulls, bool *isnull)
{
	LOCAL_FCINFO(inner, ARGUMENTS_MAX);
	FmgrInfo	info;
	Datum		result;

	if (count >= ARGUMENTS_MAX)
		elog(ERROR, "too many arguments");
	fmgr_info(function, &info);
	if (info.fn_strict)
		elog(ERROR, "strict functions are not called here");
	InitFunctionCallInfoData(*inner, &info, count + 1, PG_GET_COLLATION(),
							 fcinfo->context, fcinfo->resultinfo);
	inner->args[0].value = state->value;
	inner->args[0].isnull = state->isnull;
	for (int i = 0; i < count; i++)
	{
		inner->args[i + 1].value = values[i];
		inner->args[i + 1].isnull = nulls[i];
	}
	result = FunctionCallInvoke(inner);
	*isnull = inner->isnull;
	return result;
}

/* The next state, which becomes the aggregate's as nodeAgg.c does it */
static void
advance(FunctionCallInfo fcinfo, Oid function, PartialState *state, int count,
		const Datum *values, const bool *nulls, MemoryContext mcxt)
{
	bool		isnull;
	Datum		value = call(fcinfo, function, state, count, values, nulls,
							 &isnull);

	if (state->byval)
		elog(ERROR, "states by value are not supported here");
	if (DatumGetPointer(value) != DatumGetPointer(state->value))
	{
		MemoryContext oldcontext = MemoryContextSwitchTo(mcxt);

		if (!isnull &&
			!(DatumIsReadWriteExpandedObject(value, false, state->length) &&
			  MemoryContextGetParent(DatumGetEOHP(value)->eoh_context) == mcxt))
			value = datumCopy(value, state->byval, state->length);
		MemoryContextSwitchTo(oldcontext);
		if (state->isnull)
			;
		else if (DatumIsReadWriteExpandedObject(state->value, false, state->length))
			DeleteExpandedObject(state->value);
		else
			pfree(DatumGetPointer(state->value));
	}
	state->value = value;
	state->isnull = isnull;
}

/* partial_step(internal, aggregate oid, argument anyelement, or a record of several) */
Datum
partial_step(PG_FUNCTION_ARGS)
{
	MemoryContext mcxt;
	PartialState *state = get_state(fcinfo, &mcxt);
	Datum		values[MaxTupleAttributeNumber] = {PG_GETARG_DATUM(2)};
	bool		nulls[MaxTupleAttributeNumber] = {PG_ARGISNULL(2)};
	int			count = 1;

	if (get_fn_expr_argtype(fcinfo->flinfo, 2) == RECORDOID)
	{
		HeapTupleHeader header = PG_GETARG_HEAPTUPLEHEADER(2);
		TupleDesc	desc = lookup_rowtype_tupdesc(HeapTupleHeaderGetTypeId(header),
												  HeapTupleHeaderGetTypMod(header));
		HeapTupleData tuple = {
			.t_len = HeapTupleHeaderGetDatumLength(header),
			.t_data = header
		};

		count = desc->natts;
		heap_deform_tuple(&tuple, desc, values, nulls);
		ReleaseTupleDesc(desc);
	}
	advance(fcinfo, state->aggregate->aggtransfn, state, count, values, nulls, mcxt);
	PG_RETURN_POINTER(state);
}

/* partial_text(internal): the state, as its type writes it */
Datum
partial_text(PG_FUNCTION_ARGS)
{
	PartialState *state = PG_ARGISNULL(0) ? NULL : (PartialState *) PG_GETARG_POINTER(0);
	Oid			output;
	bool		is_varlena;

	if (state == NULL || state->isnull)
		PG_RETURN_NULL();
	getTypeOutputInfo(state->aggregate->aggtranstype, &output, &is_varlena);
	PG_RETURN_TEXT_P(cstring_to_text(OidOutputFunctionCall(output, state->value)));
}

/* combine_step(internal, aggregate oid, state text, anyelement) */
Datum
combine_step(PG_FUNCTION_ARGS)
{
	MemoryContext mcxt;
	PartialState *state = get_state(fcinfo, &mcxt);
	bool		isnull = PG_ARGISNULL(2);
	Datum		value = (Datum) 0;
	Oid			input;
	Oid			param;

	if (!isnull)
	{
		getTypeInputInfo(state->aggregate->aggtranstype, &input, &param);
		value = OidInputFunctionCall(input,
									 text_to_cstring(PG_GETARG_TEXT_PP(2)),
									 param, -1);
	}
	advance(fcinfo, state->aggregate->aggcombinefn, state, 1, &value, &isnull,
			mcxt);
	PG_RETURN_POINTER(state);
}

/* combine_final(internal, oid, text, anyelement) */
Datum
combine_final(PG_FUNCTION_ARGS)
{
	PartialState *state = PG_ARGISNULL(0) ? NULL : (PartialState *) PG_GETARG_POINTER(0);

	if (state == NULL)
		PG_RETURN_NULL();
	PG_RETURN_DATUM(call(fcinfo, state->aggregate->aggfinalfn, state, 0, NULL, NULL,
						 &fcinfo->isnull));
}
