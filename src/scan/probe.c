/*
 * probe.c
 *	  Conditions that probe a filter with an element of each row.
 *
 * They are calls of bloom_contains(), cuckoo_contains() and membership_contains(), and
 * the operators of these.  The filter is evaluated once for a scan, when a row is there
 * to be probed.  For a page we hash the elements of all its rows, and then probe: so the
 * misses of the cache overlap, and rows that do not pass cost no slot, no expression
 * and no trip through the executor.
 *
 * The answers are those of the functions themselves, as are the errors: both hash
 * an element as its call site says (callsite.c), and read the filter through the
 * same cache (stored.c), or probe the index as its functions do (index/contains.c).
 * The functions are strict, so nothing is opened for a page whose elements are all
 * NULL.  A probe is "settled" when it has compared an element: then others raise no
 * error, so they may be probed before other conditions.
 */
#include "probe.h"

#include "functions/callsite.h"
#include "functions/lookup.h"
#include "index/membership.h"
#include "value/value.h"

#include "access/detoast.h"
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

/* Functions that probe a filter, in contains.c and index/contains.c */
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
	if (entry == NULL)
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
 * Evaluate the filter of this scan.  Returns true if it was not before, so that its value
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

/* A method: the filter is to be evaluated again. */
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
 * Replace the constant filters of an expression by their sizes: their base64 tells
 * nothing, and is longer than the rest of the plan by far.
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

/* ----------------------------------------------------------------
 *		Filters that are values
 * ----------------------------------------------------------------
 */

typedef struct FilterProbe
{
	ConditionProbe condition;
	Size		bytes;			/* the filter's size */
	CallSite   *site;			/* how elements are hashed; NULL: before the
								 * first */
	Lookup		lookup;			/* for the page that is being probed */
} FilterProbe;

static Probe *
begin_filter(const ProbePlan *plan, PlanState *node)
{
	FilterProbe *probe = palloc0(sizeof(FilterProbe));

	probe_condition_begin(&probe->condition, plan, node);
	return &probe->condition.probe;
}

/* Read the value that the filter's expression has returned. */
static void
take_value(FilterProbe *probe)
{
	ConditionProbe *condition = &probe->condition;
	struct varlena *pointer = (struct varlena *) DatumGetPointer(condition->value);

	/* one that may be changed, or that each page would unpack again */
	if (!VARATT_IS_4B_U(pointer) && !VARATT_IS_EXTERNAL_ONDISK(pointer))
	{
		MemoryContext old = MemoryContextSwitchTo(condition->mcxt);

		condition->value = PointerGetDatum(value_copy_flat(condition->value));
		MemoryContextSwitchTo(old);
	}
	probe->bytes = toast_raw_datum_size(condition->value);
}

static void
open_filter(Probe *base, ProbedPage *page)
{
	FilterProbe *probe = (FilterProbe *) base;
	ConditionProbe *condition = &probe->condition;

	/*
	 * only here, so that an element's type is refused where the function
	 * would
	 */
	if (unlikely(probe->site == NULL))
		probe->site = call_site_make(&condition->function, condition->element_arg,
									 false, condition->collation);
	lookup_open(&probe->lookup, probe->site, condition->value, page->count);
}

static inline uint64
hash_for_filter(Probe *probe, Datum element, int row)
{
	return lookup_hash(&((FilterProbe *) probe)->lookup, element);
}

static bool
look_up_in_filter(Probe *base, ProbedPage *page)
{
	FilterProbe *probe = (FilterProbe *) base;

	if (probe_condition_evaluate(&probe->condition, page->econtext) &&
		!probe->condition.isnull)
		take_value(probe);
	if (probe->condition.isnull)
		page->count = 0;
	else
		probe_hash_rows(base, page, open_filter, hash_for_filter);
	if (page->count > 0)
	{
		lookup_find(&probe->lookup, page->hashes, page->count, page->found);
		base->settled = true;
	}
	return true;
}

static Size
filter_probe_bytes(const Probe *probe)
{
	return ((const FilterProbe *) probe)->bytes;
}

const ProbeMethods probe_filter_methods = {
	.begin = begin_filter,
	.rescan = probe_condition_rescan,
	.look_up = look_up_in_filter,
	.recheck = probe_condition_recheck,
	.bytes = filter_probe_bytes,
	.text = probe_condition_text
};

/* ----------------------------------------------------------------
 *		Membership indexes
 * ----------------------------------------------------------------
 */

typedef struct IndexProbe
{
	ConditionProbe condition;	/* for a join, of the rest only "value" */
	MembershipSite *site;		/* how elements are hashed; NULL: before the
								 * first */
	/* of the page that is being probed */
	bool		comparable[HEAP_PAGE_ROWS_MAX];
	bool		all_comparable;
} IndexProbe;

/* What the plan says of a probe for a join */
#define details_index(details)			linitial_oid(details)
#define details_element_type(details)	lsecond_oid(details)

/* The details of a probe for a join */
List *
probe_join_details(Oid index, Oid element_type)
{
	return list_make2_oid(index, element_type);
}

static Probe *
begin_index(const ProbePlan *plan, PlanState *node)
{
	IndexProbe *probe = palloc0(sizeof(IndexProbe));

	probe_condition_begin(&probe->condition, plan, node);
	return &probe->condition.probe;
}

static Probe *
begin_join(const ProbePlan *plan, PlanState *node)
{
	IndexProbe *probe = palloc0(sizeof(IndexProbe));
	Probe	   *base = &probe->condition.probe;

	probe_begin_element(base, (Expr *) plan->expression, node);
	base->settled = true;
	probe->condition.ready = true;
	probe->condition.value = ObjectIdGetDatum(details_index(plan->details));
	probe->site = membership_site_make(CurrentMemoryContext,
									   details_element_type(plan->details), true);
	return base;
}

static void
open_index(Probe *base, ProbedPage *page)
{
	IndexProbe *probe = (IndexProbe *) base;
	FmgrInfo   *function = &probe->condition.function;

	/*
	 * only here, so that an element's type is refused where the function
	 * would
	 */
	if (unlikely(probe->site == NULL))
		probe->site =
			membership_site_make(function->fn_mcxt,
								 call_site_element_type(function,
														probe->condition.element_arg,
														false),
								 false);
	membership_site_open(probe->site, DatumGetObjectId(probe->condition.value));
}

static inline uint64
hash_for_index(Probe *base, Datum element, int row)
{
	IndexProbe *probe = (IndexProbe *) base;
	uint64		hash = membership_site_hash(probe->site, element,
											&probe->comparable[row]);

	probe->all_comparable &= probe->comparable[row];
	return hash;
}

/*
 * Look up the rows one by one, each as soon as it is hashed, as the function does.  What
 * evaluating an element changes then matters to no hash: a function that catches an
 * error releases locks with every row.
 */
static void
look_up_singly(IndexProbe *probe, ProbedPage *page)
{
	Probe	   *base = &probe->condition.probe;
	HeapTupleData tuple;
	int			passed = 0;

	for (int i = 0; i < page->count; i++)
	{
		int			row = page->rows[i];
		int			attempt = 0;
		bool		isnull;
		bool		found;
		bool		comparable;
		uint64		hash;
		Datum		element = probe_element(base, page, row, &tuple, &isnull);

		if (isnull)
			continue;
		open_index(base, page);
		do
			hash = membership_site_hash(probe->site, element, &comparable);
		while (!membership_site_settled(probe->site, attempt++));
		membership_site_probe(probe->site, &hash, 1, &found);
		if (found || !comparable)
			page->rows[passed++] = row;
		MemoryContextReset(CurrentMemoryContext);
	}
	page->count = passed;
}

/* Look up all rows at once, unless the index changes meanwhile. */
static bool
look_up_in_index(Probe *base, ProbedPage *page)
{
	IndexProbe *probe = (IndexProbe *) base;

	probe_condition_evaluate(&probe->condition, page->econtext);
	if (probe->condition.isnull)
	{
		page->count = 0;
		return true;
	}
	probe->all_comparable = true;
	probe_hash_rows(base, page, open_index, hash_for_index);
	if (page->count == 0)
		return true;
	if (unlikely(!membership_site_settled(probe->site, 0)))
		look_up_singly(probe, page);
	else
	{
		membership_site_probe(probe->site, page->hashes, page->count,
							  page->found);
		for (int i = 0; !probe->all_comparable && i < page->count; i++)
			page->found[i] |= !probe->comparable[i];
	}
	/* an index whose table has inheritance children may refuse any element */
	if (unlikely(!base->settled))
		base->settled = page->count > 0 &&
			!membership_site_may_refuse(probe->site);
	return true;
}

static Size
index_probe_bytes(const Probe *base)
{
	const IndexProbe *probe = (const IndexProbe *) base;

	return probe->site ? membership_site_bytes(probe->site) : 0;
}

static char *
text_of_join(const ProbePlan *plan, List *context, bool verbose)
{
	Oid			index = details_index(plan->details);
	const char *name = get_rel_name(index);

	/* it may have been dropped meanwhile */
	if (name == NULL)
		name = psprintf("%u", index);
	else
		name = quote_qualified_identifier(verbose ?
										  get_namespace_name(get_rel_namespace(index)) :
										  NULL, name);
	return psprintf("%s in index %s",
					probe_condition_text(plan, context, verbose), name);
}

const ProbeMethods probe_index_methods = {
	.begin = begin_index,
	.rescan = probe_condition_rescan,
	.look_up = look_up_in_index,
	.recheck = probe_condition_recheck,
	.bytes = index_probe_bytes,
	.text = probe_condition_text
};

const ProbeMethods probe_join_methods = {
	.begin = begin_join,
	.look_up = look_up_in_index,
	.bytes = index_probe_bytes,
	.text = text_of_join
};

/* ----------------------------------------------------------------
 *		Keys of hash joins
 * ----------------------------------------------------------------
 */

static Probe *
begin_keys(const ProbePlan *plan, PlanState *node)
{
	KeysProbe  *probe = palloc0(sizeof(KeysProbe));

	probe->probe.settled = true;
	probe->keys = key_probe_begin((List *) plan->expression, plan->details, node);
	return &probe->probe;
}

static bool
look_up_in_keys(Probe *probe, ProbedPage *page)
{
	KeyProbe   *keys = ((KeysProbe *) probe)->keys;
	const KeyFilter *filter = key_probe_open(keys, page->count);
	TupleDesc	columns = RelationGetDescr(page->scan->rs_rd);
	Datum		values[KEY_COLUMNS_MAX];
	bool		nulls[KEY_COLUMNS_MAX];
	int			probed = page->count;
	int			found = 0;
	int			hashed = 0;

	if (filter == NULL)
		return false;
	for (int i = 0; i < probed; i++)
	{
		HeapTupleData tuple;

		heap_page_row(page->scan, page->rows[i], &tuple);
		for (int j = 0; j < keys->columns; j++)
			values[j] = heap_getattr(&tuple, keys->attributes[j], columns,
									 &nulls[j]);
		if (key_probe_key(keys, values, nulls, &page->hashes[hashed]))
			page->rows[hashed++] = page->rows[i];
		if (keys->kind == KEY_HASH)
			MemoryContextReset(CurrentMemoryContext);
	}
	page->count = hashed;
	key_filter_contains_batch(filter, page->hashes, hashed, page->found);
	for (int i = 0; i < hashed; i++)
		found += page->found[i];
	key_probe_count(keys, probed, found);
	return true;
}

static char *
text_of_keys(const ProbePlan *plan, List *context, bool verbose)
{
	return key_probe_text((List *) plan->expression, plan->details, context,
						  verbose);
}

const ProbeMethods probe_keys_methods = {
	.begin = begin_keys,
	.look_up = look_up_in_keys,
	.text = text_of_keys
};
