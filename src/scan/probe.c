/*
 * probe.c
 *	  Plans of probes, and conditions that probe a filter with an element of each row.
 *
 * Such a condition calls bloom_contains(), cuckoo_contains() or membership_contains(),
 * directly or by an operator, or the function that other servers call.  The filter is
 * evaluated once per scan, when there is a row to probe.  The elements of all rows of a page
 * are hashed first, and then probed together, so that the cache misses overlap.
 *
 * Results and errors are those of the functions.  Like these, a probe hashes an element as
 * the call site determines (functions/callsite.c), and reads the filter through the same
 * cache (value/stored.c), or probes the index by the same code (index/contains.c).  The
 * functions are strict, so nothing is opened for a page of NULL elements only.  A probe is
 * "settled" once it has compared an element: further rows raise no error, so they may be
 * probed before other conditions are checked.
 */
#include "probe.h"

#include "node.h"
#include "plan_record.h"

#include "functions/entry_points.h"
#include "functions/sent_filter.h"
#include "planner/selectivity.h"
#include "value/value.h"

#include "access/transam.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

/* What a plan has of a probe besides its expression */
static const PlanField probe_fields[] = {
	PLAN_NUMBER_FIELD(ProbePlan, kind),
	PLAN_NUMBER_FIELD(ProbePlan, conditions),
	PLAN_NUMBER_FIELD(ProbePlan, hides_rows),
	PLAN_FIELD(PLAN_LIST, ProbePlan, indexes),
	PLAN_FIELD(PLAN_LIST, ProbePlan, types),
	PLAN_NUMBER_FIELD(ProbePlan, table),
	PLAN_NUMBER_FIELD(ProbePlan, pause_after),
	PLAN_NUMBER_FIELD(ProbePlan, keys.number),
	PLAN_NUMBER_FIELD(ProbePlan, keys.kind),
	PLAN_NUMBER_FIELD(ProbePlan, keys.integer),
	PLAN_NUMBER_FIELD(ProbePlan, keys.forced),
	PLAN_NUMBER_FIELD(ProbePlan, keys.own_hash),
	PLAN_FIELD(PLAN_SHARE, ProbePlan, keys.share),
	PLAN_NUMBER_FIELD(ProbePlan, keys.block_index),
	PLAN_NUMBER_FIELD(ProbePlan, keys.block_column),
	PLAN_NUMBER_FIELD(ProbePlan, keys.rows_max),
	PLAN_FIELD(PLAN_LIST, ProbePlan, keys.operators),
	PLAN_FIELD(PLAN_LIST, ProbePlan, keys.order),
	PLAN_FIELD(PLAN_LIST, ProbePlan, keys.sent),
	PLAN_FIELD(PLAN_LIST, ProbePlan, keys.functions),
	PLAN_FIELD(PLAN_LIST, ProbePlan, keys.collations)
};

void
probe_plan_add(CustomScan *scan, const ProbePlan *plan)
{
	scan->custom_exprs = lappend(scan->custom_exprs, plan->expression);
	scan->custom_private = lappend(scan->custom_private,
								   plan_record_write(plan, probe_fields, lengthof(probe_fields)));
}

/* Return the probes of a plan: ProbePlans */
List *
probe_plans(const CustomScan *scan)
{
	List	   *plans = NIL;
	ListCell   *expression;
	ListCell   *fields;

	forboth(expression, scan->custom_exprs,
			fields, plan_fields(scan->custom_private, list_length(scan->custom_exprs)))
	{
		ProbePlan  *plan = palloc(sizeof(ProbePlan));

		plan->expression = lfirst(expression);
		plan_record_read(lfirst(fields), plan, probe_fields, lengthof(probe_fields));
		plans = lappend(plans, plan);
	}
	return plans;
}

typedef struct ProbeFunction
{
	const char *name;			/* its name in C, as in CREATE FUNCTION */
	PGFunction	address;
	int			filter_arg;		/* 0 or 1; the element is the other one */
	ProbeKind	kind;
} ProbeFunction;

static const ProbeFunction probe_functions[] = {
	{"bloomfilter_contains", bloomfilter_contains, 0, PROBE_FILTER},
	{"bloomfilter_contained", bloomfilter_contained, 1, PROBE_FILTER},
	{"bloomfilter_may_contain", bloomfilter_may_contain, MAY_CONTAIN_FILTER, PROBE_FILTER},
	{"bloomfilter_membership_contains", bloomfilter_membership_contains, 0, PROBE_INDEX},
};

/* Return the entry of a function that was looked up, or NULL. */
static const ProbeFunction *
entry_of(const FmgrInfo *function)
{
	for (size_t i = 0; i < lengthof(probe_functions); i++)
	{
		if (function->fn_addr == probe_functions[i].address)
			return &probe_functions[i];
	}
	return NULL;
}

/* Is the C name of a function one of those in probe_functions? */
static bool
has_our_name(Oid oid)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(oid));
	bool		found = false;

	if (!HeapTupleIsValid(tuple))
		return false;
	if (((Form_pg_proc) GETSTRUCT(tuple))->prolang == ClanguageId)
	{
		bool		isnull;
		Datum		source = SysCacheGetAttr(PROCOID, tuple,
											 Anum_pg_proc_prosrc, &isnull);
		char	   *name = isnull ? NULL : TextDatumGetCString(source);

		for (size_t i = 0; name && i < lengthof(probe_functions); i++)
			found |= strcmp(name, probe_functions[i].name) == 0;
	}
	ReleaseSysCache(tuple);
	return found;
}

/* Return the function of a call or an operator, and set *args to its arguments. */
static Oid
call_of(Expr *clause, List **args)
{
	*args = NIL;
	if (IsA(clause, FuncExpr))
	{
		*args = ((FuncExpr *) clause)->args;
		return ((FuncExpr *) clause)->funcid;
	}
	if (IsA(clause, OpExpr))
	{
		*args = ((OpExpr *) clause)->args;
		set_opfuncid((OpExpr *) clause);
		return ((OpExpr *) clause)->opfuncid;
	}
	return InvalidOid;
}

/* Make a ProbeCondition if a condition probes one filter with all rows; NULL otherwise. */
ProbeCondition *
probe_condition_make(RestrictInfo *rinfo)
{
	List	   *args;
	Oid			oid = call_of(rinfo->clause, &args);
	FmgrInfo	function;
	const ProbeFunction *entry;
	ProbeCondition *condition;

	/* fmgr_info() loads the function's library: call it only for our names */
	if (oid < FirstNormalObjectId || !has_our_name(oid))
		return NULL;
	fmgr_info(oid, &function);
	entry = entry_of(&function);
	if (entry == NULL ||		/* perhaps it is another library's */
		contain_var_clause(list_nth(args, entry->filter_arg)) ||
		contain_subplans((Node *) rinfo->clause) ||
		contain_volatile_functions((Node *) rinfo->clause))
		return NULL;
	condition = palloc0(sizeof(ProbeCondition));
	condition->rinfo = rinfo;
	condition->kind = entry->kind;
	condition->filter = list_nth(args, entry->filter_arg);
	condition->element = list_nth(args, 1 - entry->filter_arg);
	return condition;
}

/* A check_function_callback */
static bool
is_leaky(Oid function, void *context)
{
	return !get_func_leakproof(function);
}

static bool
calls_leaky(Node *node, void *context)
{
	return node != NULL &&
		(check_functions_in_node(node, is_leaky, context) ||
		 expression_tree_walker(node, calls_leaky, context));
}

/*
 * May evaluating an element, or a list of elements, raise an error for some row?  A leakproof
 * expression raises none.  But contain_leaked_vars() is also false if functions that are not
 * leakproof get no columns but, for example, parameters.  These may fail, unless CASE
 * prevents it, so check for them too.
 */
bool
probe_may_fail(Node *element)
{
	return contain_leaked_vars(element) || calls_leaky(element, NULL);
}

/* Return the types of a type's parts, if the server hashes it by hashing these. */
static List *
parts_of_type(Oid type)
{
	Oid			part;
	TupleDesc	row;
	List	   *parts = NIL;

	type = getBaseType(type);
	if (OidIsValid(part = get_element_type(type)) ||
		OidIsValid(part = get_range_subtype(type)) ||
			OidIsValid(part = get_multirange_range(type)))
			return list_make1_oid(part);
	if (get_typtype(type) != TYPTYPE_COMPOSITE)
		return NIL;
	row = lookup_rowtype_tupdesc(type, -1);
	for (int i = 0; i < row->natts; i++)
	{
		if (!TupleDescAttr(row, i)->attisdropped)
			parts = lappend_oid(parts, TupleDescAttr(row, i)->atttypid);
	}
	ReleaseTupleDesc(row);
	return parts;
}

/* Is a type, or one of its parts, this type? */
bool
probe_type_has(Oid type, Oid part)
{
	ListCell   *cell;

	check_stack_depth();
	if (getBaseType(type) == part)
		return true;
	foreach(cell, parts_of_type(type))
	{
		if (probe_type_has(lfirst_oid(cell), part))
			return true;
	}
	return false;
}

/*
 * May a hash function raise an error for some value?  We know that the server's own do not.
 * "trusted" says of what others we expect it, too.
 */
static bool
function_may_fail(Oid function, HashTrust trusted)
{
	return function >= FirstUnpinnedObjectId && !get_func_leakproof(function) &&
		!(trusted == TRUST_C && is_native(function));
}

/*
 * May hashing a value of a type by a function raise an error?  The function of an array, a
 * range or a row calls those of its parts; the columns of a record may have any type.
 */
bool
probe_hash_may_fail(Oid function, Oid type, HashTrust trusted)
{
	ListCell   *cell;

	check_stack_depth();
	if (function_may_fail(function, trusted) || type == RECORDOID || type == RECORDARRAYOID)
		return true;
	foreach(cell, parts_of_type(type))
	{
		Oid			part = lfirst_oid(cell);
		TypeCacheEntry *entry = lookup_type_cache(part, TYPECACHE_HASH_PROC |
												  TYPECACHE_HASH_EXTENDED_PROC);

		if (probe_hash_may_fail(entry->hash_proc, part, trusted) ||
			function_may_fail(entry->hash_extended_proc, trusted))
			return true;
	}
	return false;
}

/*
 * May evaluating the element of a condition, or hashing it, raise an error for some row?
 * Trust functions in C, as planning does (can_be_hashed()).
 */
bool
probe_element_may_fail(Node *element)
{
	Oid			type = exprType(element);
	ListCell   *cell;

	if (IsA(element, RowExpr))
	{
		foreach(cell, ((RowExpr *) element)->args)
		{
			if (probe_element_may_fail(lfirst(cell)))
				return true;
		}
		return false;
	}
	return probe_may_fail(element) ||
		probe_hash_may_fail(lookup_type_cache(getBaseType(type), TYPECACHE_HASH_EXTENDED_PROC)->hash_extended_proc,
							type, TRUST_C);
}

/* Prepare to evaluate an element: a column, or any expression. */
void
probe_begin_element(Probe *probe, Expr *element, PlanState *node)
{
	Var		   *column = (Var *) element;

	while (IsA(column, RelabelType))
		column = (Var *) ((RelabelType *) column)->arg;
	if (IsA(column, Var) && column->varattno > 0)
		probe->attribute = column->varattno;
	else
		probe->element = ExecInitExpr(element, node);
}

void
probe_condition_begin(ConditionProbe *condition, const ProbePlan *plan,
					  PlanState *node)
{
	Expr	   *clause = (Expr *) plan->expression;
	List	   *args;
	Oid			oid = call_of(clause, &args);
	const ProbeFunction *entry;

	fmgr_info(oid, &condition->function);
	fmgr_info_set_expr((Node *) clause, &condition->function);
	entry = entry_of(&condition->function);
	if (entry == NULL || args == NIL)
		elog(ERROR, "condition probes no filter");
	Assert(entry->kind == plan->kind);
	probe_begin_element(&condition->probe, list_nth(args, 1 - entry->filter_arg),
						node);
	condition->filter = ExecInitExpr(list_nth(args, entry->filter_arg), node);
	condition->recheck = ExecInitQual(list_make1(clause), node);
	condition->mcxt = AllocSetContextCreate(CurrentMemoryContext, "probed filter",
											ALLOCSET_SMALL_SIZES);
	condition->element_arg = 1 - entry->filter_arg;
	condition->collation = exprInputCollation((Node *) clause);
}

/*
 * Evaluate the filter, once per scan.  Return true if it was evaluated now, so that its value
 * is new.
 */
bool
probe_condition_evaluate(ConditionProbe *condition, ExprContext *econtext)
{
	MemoryContext old;

	if (likely(condition->ready))
		return false;
	old = MemoryContextSwitchTo(condition->mcxt);
	condition->value = ExecEvalExpr(condition->filter, econtext,
									&condition->isnull);
	MemoryContextSwitchTo(old);
	condition->ready = true;
	condition->probe.settled = condition->isnull;
	return true;
}

/* The method "rescan": let the filter be evaluated again. */
void
probe_condition_rescan(Probe *probe)
{
	ConditionProbe *condition = (ConditionProbe *) probe;

	condition->ready = probe->settled = false;
	MemoryContextReset(condition->mcxt);
}

/* The method "recheck" */
bool
probe_condition_recheck(Probe *probe, ExprContext *econtext)
{
	return ExecQual(((ConditionProbe *) probe)->recheck, econtext);
}

static bool
is_filter_type(Oid type)
{
	Oid			output;
	bool		is_varlena;
	FmgrInfo	function;

	getTypeOutputInfo(type, &output, &is_varlena);
	fmgr_info(output, &function);
	return function.fn_addr == bloomfilter_out;
}

/*
 * Replace constant filters in an expression by their sizes: their base64 would be by far the
 * longest part of the plan.
 */
static Node *
shorten_filters(Node *node, void *unused)
{
	Const	   *constant = (Const *) node;
	const uint8 *header;
	char	   *text;

	if (node == NULL)
		return NULL;
	if (!IsA(node, Const))
		return expression_tree_mutator(node, shorten_filters, unused);
	if (constant->constisnull || !is_filter_type(constant->consttype))
		return node;
	header = value_header(constant->constvalue);
	text = psprintf("%s of %llu bytes", kind_name(image_kind(header)),
					(unsigned long long) image_bytes(header));

	/* EXPLAIN prints a literal of type unknown without its type */
	return (Node *) makeConst(UNKNOWNOID, -1, InvalidOid, -2,
							  CStringGetDatum(text), false, false);
}

/* The method "text" */
char *
probe_condition_text(const ProbePlan *plan, List *context, bool verbose)
{
	return deparse_expression(shorten_filters(plan->expression, NULL), context,
							  verbose, false);
}
