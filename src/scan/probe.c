/*
 * probe.c
 *	  The plans of probes, and conditions that probe a filter with an element of each row.
 *
 * They call bloom_contains(), cuckoo_contains() or membership_contains(), directly or by
 * their operators, or the function that other servers call.  The filter is evaluated once
 * for a scan, when there is a row to be probed.  For a page we hash the elements of all its
 * rows, and then probe: so the misses of the cache overlap.
 *
 * The answers are those of the functions themselves, as are the errors: both hash
 * an element as its call site says (functions/callsite.c), and read the filter through the
 * same cache (value/stored.c), or probe the index as its functions do (index/contains.c).
 * The functions are strict, so nothing is opened for a page whose elements are all
 * NULL.  A probe is "settled" when it has compared an element: then others raise no
 * error, so they may be probed before other conditions.
 */
#include "probe.h"

#include "node.h"

#include "functions/sent_filter.h"
#include "value/value.h"

#include "access/transam.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"

/* Plans have shares as integers; this is a share of 1. */
#define SHARE_ONE				1000

/* Add a probe to the plan of a node, behind those that it has. */
void
probe_plan_add(CustomScan *scan, const ProbePlan *plan)
{
	const KeyProbePlan *keys = &plan->keys;
	List	   *numbers = list_concat(list_make5_int(plan->kind, plan->conditions, plan->hides_rows,
													 plan->table, plan->may_pause),
									  list_make5_int(keys->number, keys->kind, keys->integer,
													 keys->forced, keys->share * SHARE_ONE));

	scan->custom_exprs = lappend(scan->custom_exprs, plan->expression);
	scan->custom_private = lappend(scan->custom_private,
								   list_make5(numbers, plan->indexes, plan->types,
											  keys->functions, keys->collations));
}

/* The probes of a plan: ProbePlans */
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
		List	   *lists = plan_fields(lfirst(fields), 5);
		List	   *numbers = plan_fields(linitial(lists), 10);

		*plan = (ProbePlan)
		{
			.kind = list_nth_int(numbers, 0),
				.expression = lfirst(expression),
				.conditions = list_nth_int(numbers, 1),
				.hides_rows = list_nth_int(numbers, 2) != 0,
				.table = list_nth_int(numbers, 3),
				.may_pause = list_nth_int(numbers, 4) != 0,
				.indexes = lsecond(lists),
				.types = lthird(lists),
				.keys.number = list_nth_int(numbers, 5),
				.keys.kind = list_nth_int(numbers, 6),
				.keys.integer = list_nth_int(numbers, 7),
				.keys.forced = list_nth_int(numbers, 8) != 0,
				.keys.share = (double) list_nth_int(numbers, 9) / SHARE_ONE,
				.keys.functions = lfourth(lists),
				.keys.collations = list_nth(lists, 4)
		};
		plans = lappend(plans, plan);
	}
	return plans;
}

/* Functions that probe a filter, in functions/contains.c and index/contains.c */
extern Datum bloomfilter_contains(PG_FUNCTION_ARGS);
extern Datum bloomfilter_contained(PG_FUNCTION_ARGS);
extern Datum bloomfilter_membership_contains(PG_FUNCTION_ARGS);

typedef struct ProbeFunction
{
	const char *name;			/* as CREATE FUNCTION gives it */
	PGFunction	address;
	int			filter_arg;		/* the element is the other argument */
	ProbeKind	kind;
} ProbeFunction;

static const ProbeFunction probe_functions[] = {
	{"bloomfilter_contains", bloomfilter_contains, 0, PROBE_FILTER},
	{"bloomfilter_contained", bloomfilter_contained, 1, PROBE_FILTER},
	{"bloomfilter_may_contain", bloomfilter_may_contain, MAY_CONTAIN_FILTER, PROBE_FILTER},
	{"bloomfilter_membership_contains", bloomfilter_membership_contains, 0, PROBE_INDEX},
};

/* The entry of a function that was looked up, or NULL */
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

/* Is the C name of a function one of ours? */
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

/* The function of a call or an operator, and its arguments */
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

/*
 * probe_condition_make
 *		A condition that probes a filter which does not depend on the row; or NULL
 */
ProbeCondition *
probe_condition_make(RestrictInfo *rinfo)
{
	List	   *args;
	Oid			oid = call_of(rinfo->clause, &args);
	FmgrInfo	function;
	const ProbeFunction *entry;
	ProbeCondition *condition;

	/* loads the function's library only if the name is one of ours */
	if (oid < FirstNormalObjectId || !has_our_name(oid))
		return NULL;
	fmgr_info(oid, &function);
	entry = entry_of(&function);
	if (entry == NULL ||		/* of another library, perhaps */
		contain_var_clause(list_nth(args, entry->filter_arg)) ||
		contain_subplans((Node *) rinfo->clause) ||
		contain_volatile_functions((Node *) rinfo->clause))
		return NULL;
	condition = palloc(sizeof(ProbeCondition));
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
 * probe_may_fail
 *		May evaluating an element, or a list of them, raise an error for some row?
 *
 * A leakproof expression does not.  But core also calls an expression leakproof if its
 * other functions get no columns but, say, parameters: these may fail, unless CASE prevents
 * it.
 */
bool
probe_may_fail(Node *element)
{
	return contain_leaked_vars(element) || calls_leaky(element, NULL);
}

/* Prepare to evaluate the element: a column, or any expression. */
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

/* Prepare a probe by a condition. */
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
 * Evaluate the filter of this scan, once.  Returns true if it had not been evaluated: then
 * its value is new.
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

/* The method "rescan": the filter is to be evaluated again. */
void
probe_condition_rescan(Probe *probe)
{
	ConditionProbe *condition = (ConditionProbe *) probe;

	condition->ready = probe->settled = false;
	MemoryContextReset(condition->mcxt);
}

/* A method */
bool
probe_condition_recheck(Probe *probe, ExprContext *econtext)
{
	return ExecQual(((ConditionProbe *) probe)->recheck, econtext);
}

/* The output function of both types, in io.c */
extern Datum bloomfilter_out(PG_FUNCTION_ARGS);

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
 * Replace the constant filters of an expression by their sizes: their base64 would be by
 * far the longest part of the plan.
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

	/* a literal of type unknown is shown without its type */
	return (Node *) makeConst(UNKNOWNOID, -1, InvalidOid, -2,
							  CStringGetDatum(text), false, false);
}

/* A method */
char *
probe_condition_text(const ProbePlan *plan, List *context, bool verbose)
{
	return deparse_expression(shorten_filters(plan->expression, NULL), context,
							  verbose, false);
}
