/*
 * probe.c
 *	  Probing a filter with the rows of a page, all at once.
 *
 * A condition that probes one filter with an element of each row: bloom_contains(),
 * cuckoo_contains(), their operators, and membership_contains(); or a membership
 * index that serves a join (index_join.c); or the keys of a hash join
 * (join_filter_probe.c).  The filter is evaluated once for a scan, when a row is there to be
 * probed.
 * For a page we hash the elements of all its rows, and then probe: so the misses of
 * the cache overlap, and rows that do not pass cost no slot, no expression and no
 * trip through the executor.
 *
 * The answers are those of the functions themselves, as are the errors: both hash
 * an element as its call site says (functions/callsite.c), and read the filter through the
 * same cache (value/stored.c), or probe the index as its functions do (index/contains.c).
 * The functions are strict, so nothing is opened for a page whose elements are all
 * NULL.  A probe is "settled" when it has compared an element: then others raise no
 * error, so they may be probed before other conditions.  Only an index whose table has
 * inheritance children may refuse any element, and never settles.
 */
#include "probe.h"

#include "access/detoast.h"
#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

/* Functions that probe a filter, in functions/contains.c and index/contains.c */
extern Datum bloomfilter_contains(PG_FUNCTION_ARGS);
extern Datum bloomfilter_contained(PG_FUNCTION_ARGS);
extern Datum bloomfilter_membership_contains(PG_FUNCTION_ARGS);

static const struct
{
	const char *name;			/* as CREATE FUNCTION gives it */
	PGFunction	function;
	int			filter;			/* its argument; the element is the other */
	ProbeKind	kind;
}			probe_functions[] = {
	{"bloomfilter_contains", bloomfilter_contains, 0, PROBE_FILTER},
	{"bloomfilter_contained", bloomfilter_contained, 1, PROBE_FILTER},
	{"bloomfilter_membership_contains", bloomfilter_membership_contains, 0, PROBE_INDEX},
};

/*
 * The entry for a function, or -1.  Loads the function's library only if its C name is
 * one of ours.
 */
static int
find_probe_function(Oid oid)
{
	HeapTuple	tuple;
	int			found = -1;

	if (oid < FirstNormalObjectId)
		return -1;
	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(oid));
	if (!HeapTupleIsValid(tuple))
		return -1;
	if (((Form_pg_proc) GETSTRUCT(tuple))->prolang == ClanguageId)
	{
		bool		isnull;
		Datum		name = SysCacheGetAttr(PROCOID, tuple,
										   Anum_pg_proc_prosrc, &isnull);

		for (size_t i = 0; !isnull && found < 0 &&
			 i < lengthof(probe_functions); i++)
			if (strcmp(TextDatumGetCString(name), probe_functions[i].name) == 0)
				found = i;
	}
	ReleaseSysCache(tuple);
	if (found >= 0)
	{
		/* of another library, perhaps */
		FmgrInfo	flinfo;

		fmgr_info(oid, &flinfo);
		if (flinfo.fn_addr != probe_functions[found].function)
			found = -1;
	}
	return found;
}

/* The function of a call or an operator, and its two arguments */
static Oid
call_of(Node *clause, List **args)
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
	*args = NIL;
	return InvalidOid;
}

/*
 * probe_matches
 *		Does a condition probe a filter that does not depend on the row?
 *
 * If so sets *filter and *element to its arguments.
 */
bool
probe_matches(Node *clause, Node **filter, Node **element)
{
	List	   *args;
	int			function = find_probe_function(call_of(clause, &args));

	if (function < 0)
		return false;
	*filter = list_nth(args, probe_functions[function].filter);
	*element = list_nth(args, 1 - probe_functions[function].filter);
	return !contain_var_clause(*filter) &&
		!contain_subplans(clause) && !contain_volatile_functions(clause);
}

/* Prepare to evaluate the element: a column, or any expression. */
static void
begin_element(Probe *probe, Expr *element, PlanState *parent)
{
	Var		   *column = (Var *) element;

	while (IsA(column, RelabelType))
		column = (Var *) ((RelabelType *) column)->arg;
	if (IsA(column, Var) && column->varattno > 0)
		probe->attribute = column->varattno;
	else
		probe->element = ExecInitExpr(element, parent);
}

/* Prepare a condition of which probe_matches() was true. */
static void
begin_condition(Probe *probe, Expr *clause, PlanState *parent)
{
	List	   *args;
	Oid			oid = call_of((Node *) clause, &args);
	int			function = find_probe_function(oid);
	int			filter_arg;
	Expr	   *element;

	if (function < 0)
		elog(ERROR, "condition probes no filter");
	filter_arg = probe_functions[function].filter;
	element = list_nth(args, 1 - filter_arg);
	probe->kind = probe_functions[function].kind;
	begin_element(probe, element, parent);
	probe->filter = ExecInitExpr(list_nth(args, filter_arg), parent);
	probe->recheck = ExecInitQual(list_make1(clause), parent);
	probe->mcxt = AllocSetContextCreate(CurrentMemoryContext, "probed filter",
										ALLOCSET_SMALL_SIZES);
	fmgr_info(oid, &probe->function);
	fmgr_info_set_expr((Node *) clause, &probe->function);
	probe->element_arg = 1 - filter_arg;
	probe->collation = exprInputCollation((Node *) clause);
}

/*
 * probe_begin
 *		Prepare to probe, in a node of a plan
 *
 * "fields" is that of custom_private (filter_scan.c): "expression" is a condition of which
 * probe_matches() was true, and they are a list of integers; or it is an element to be
 * looked up for a join, and they are the index's OID and the OID of the type by which to
 * hash the element; or it is the list of the columns of a hash join's key, and they are
 * what key_probe_begin() has to know.  Allocates in the current memory context.
 */
Probe *
probe_begin(Node *expression, List *fields, PlanState *parent)
{
	Probe	   *probe = palloc0(sizeof(Probe));

	if (IsA(fields, IntList))
	{
		begin_condition(probe, (Expr *) expression, parent);
		return probe;
	}
	probe->settled = true;
	if (IsA(expression, List))
	{
		probe->kind = PROBE_KEYS;
		probe->keys = key_probe_begin((List *) expression, fields, parent);
		return probe;
	}
	probe->kind = PROBE_JOIN;
	probe->value = ObjectIdGetDatum(linitial_oid(fields));
	probe->ready = true;
	begin_element(probe, (Expr *) expression, parent);
	probe->index_site = membership_site_make(CurrentMemoryContext,
											 lsecond_oid(fields), true);
	return probe;
}

/* Another scan begins: its filter may be another one. */
void
probe_rescan(Probe *probe)
{
	if (probe->kind == PROBE_JOIN || probe->kind == PROBE_KEYS)
		return;
	probe->ready = probe->settled = false;
	MemoryContextReset(probe->mcxt);
}

/* Evaluate the filter of this scan. */
static void
evaluate_filter(Probe *probe, ExprContext *econtext)
{
	MemoryContext old = MemoryContextSwitchTo(probe->mcxt);
	struct varlena *pointer;

	probe->value = ExecEvalExpr(probe->filter, econtext, &probe->isnull);
	if (!probe->isnull && probe->kind == PROBE_FILTER)
	{
		pointer = (struct varlena *) DatumGetPointer(probe->value);
		/* one that may be changed, or that each page would unpack again */
		if (!VARATT_IS_4B_U(pointer) && !VARATT_IS_EXTERNAL_ONDISK(pointer))
			probe->value = PointerGetDatum(value_copy_flat(probe->value));
		probe->bytes = toast_raw_datum_size(probe->value);
	}
	MemoryContextSwitchTo(old);
	probe->ready = true;
	probe->settled = probe->isnull;
}

/*
 * Decide how to hash elements, at the first that is not NULL: so errors about its
 * type are raised where the function would be called.
 */
static void
make_site(Probe *probe)
{
	if (probe->kind == PROBE_FILTER)
		probe->site = call_site_make(&probe->function, probe->element_arg,
									 false, probe->collation);
	else
		probe->index_site =
			membership_site_make(probe->function.fn_mcxt,
								 call_site_element_type(&probe->function,
														probe->element_arg,
														false),
								 false);
}

/* The element of a row; in the page, or in the memory of "econtext" for one row */
static inline Datum
element_of(Probe *probe, TableScanDesc scan, ExprContext *econtext,
		   TupleTableSlot *slot, HeapTuple tuple, int row, bool *isnull)
{
	heap_page_row(scan, row, tuple);
	if (likely(probe->attribute > 0))
		return heap_getattr(tuple, probe->attribute,
							RelationGetDescr(scan->rs_rd), isnull);
	heap_page_store(scan, tuple, slot);
	econtext->ecxt_scantuple = slot;
	return ExecEvalExpr(probe->element, econtext, isnull);
}

/* What probe_page() and the functions below share */
typedef struct PageProbe
{
	Probe	   *probe;
	TableScanDesc scan;
	ExprContext *econtext;
	TupleTableSlot *slot;
	int		   *rows;
	int			count;			/* of the rows */
	uint64		hashes[HEAP_PAGE_ROWS_MAX];
	bool		found[HEAP_PAGE_ROWS_MAX];
	bool		comparable[HEAP_PAGE_ROWS_MAX]; /* of an index */
	bool		all_comparable;
	Lookup		lookup;			/* of a filter that is a value */
} PageProbe;

/*
 * Hash the elements of the rows, and drop the rows that have none.  "open" is called
 * before the first.  Inline, so that the calls through pointers cost nothing.
 */
static pg_attribute_always_inline void
hash_rows(PageProbe *page, void (*open) (PageProbe *page),
		  uint64 (*hash) (PageProbe *page, Datum element, int row))
{
	HeapTupleData tuple;
	int			hashed = 0;

	for (int i = 0; i < page->count; i++)
	{
		bool		isnull;
		Datum		element = element_of(page->probe, page->scan,
										 page->econtext, page->slot, &tuple,
										 page->rows[i], &isnull);

		if (isnull)
			continue;
		if (hashed == 0)
			open(page);
		page->hashes[hashed] = hash(page, element, hashed);
		page->rows[hashed++] = page->rows[i];
		MemoryContextReset(CurrentMemoryContext);
	}
	page->count = hashed;
}

static void
open_filter(PageProbe *page)
{
	Probe	   *probe = page->probe;

	if (unlikely(probe->site == NULL))
		make_site(probe);
	lookup_open(&page->lookup, probe->site, probe->value, page->count);
}

static inline uint64
hash_for_filter(PageProbe *page, Datum element, int row)
{
	return lookup_hash(&page->lookup, element);
}

/* Probe a filter that is a value. */
static void
probe_filter(PageProbe *page)
{
	hash_rows(page, open_filter, hash_for_filter);
	if (page->count > 0)
		lookup_find(&page->lookup, page->hashes, page->count, page->found);
}

static void
open_index(PageProbe *page)
{
	Probe	   *probe = page->probe;

	if (unlikely(probe->index_site == NULL))
		make_site(probe);
	membership_site_open(probe->index_site, DatumGetObjectId(probe->value));
}

static inline uint64
hash_for_index(PageProbe *page, Datum element, int row)
{
	uint64		hash = membership_site_hash(page->probe->index_site, element,
											&page->comparable[row]);

	page->all_comparable &= page->comparable[row];
	return hash;
}

/*
 * Probe an index row by row, each as soon as it is hashed, as the function does.  What
 * evaluating an element changes then matters to no hash: a function that catches an
 * error releases locks with every row.
 */
static void
probe_index_singly(PageProbe *page)
{
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
		Datum		element = element_of(page->probe, page->scan,
										 page->econtext, page->slot, &tuple,
										 row, &isnull);

		if (isnull)
			continue;
		open_index(page);
		do
			hash = membership_site_hash(page->probe->index_site, element,
										&comparable);
		while (!membership_site_settled(page->probe->index_site, attempt++));
		membership_site_probe(page->probe->index_site, &hash, 1, &found);
		if (found || !comparable)
			page->rows[passed++] = row;
		MemoryContextReset(CurrentMemoryContext);
	}
	page->count = passed;
}

/* Probe an index, for all rows at once unless it changes meanwhile. */
static void
probe_index(PageProbe *page)
{
	page->all_comparable = true;
	hash_rows(page, open_index, hash_for_index);
	if (page->count == 0)
		return;
	if (unlikely(!membership_site_settled(page->probe->index_site, 0)))
	{
		probe_index_singly(page);
		return;
	}
	membership_site_probe(page->probe->index_site, page->hashes, page->count,
						  page->found);
	for (int i = 0; !page->all_comparable && i < page->count; i++)
		page->found[i] |= !page->comparable[i];
}

/* Probe the keys of a hash join. */
static void
probe_keys(PageProbe *page, const KeyFilter *filter)
{
	KeyProbe   *keys = page->probe->keys;
	TupleDesc	columns = RelationGetDescr(page->scan->rs_rd);
	Datum		values[KEY_COLUMNS_MAX];
	bool		nulls[KEY_COLUMNS_MAX];
	int			probed = page->count;
	int			found = 0;
	int			hashed = 0;

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
}

/*
 * probe_page
 *		Keep those rows of a page that pass
 *
 * rows[0..count-1], in the page that "scan" has read, are cut down to those that
 * pass, whose number is returned.  Sets *probed unless they pass unseen, because a
 * join's keys are not known or its probe is switched off.  "slot" is of type
 * TTSOpsBufferHeapTuple, and is empty on return; the memory of "econtext" for one row
 * is reset.  Errors: those of the function that the condition calls.
 */
int
probe_page(Probe *probe, TableScanDesc scan, ExprContext *econtext,
		   TupleTableSlot *slot, int *rows, int count, bool *probed)
{
	PageProbe	page;
	MemoryContext old;
	const KeyFilter *keys = NULL;
	int			passed = 0;

	Assert(count > 0 && count <= HEAP_PAGE_ROWS_MAX);
	if (probe->kind == PROBE_KEYS)
	{
		keys = key_probe_open(probe->keys, count);
		if (keys == NULL)
			return count;
	}
	else if (unlikely(!probe->ready))
		evaluate_filter(probe, econtext);
	*probed = true;
	if (probe->isnull)
		return 0;

	page.probe = probe;
	page.scan = scan;
	page.econtext = econtext;
	page.slot = slot;
	page.rows = rows;
	page.count = count;
	/* until a probe says no */
	memset(page.found, true, count * sizeof(bool));
	old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	if (keys)
		probe_keys(&page, keys);
	else if (probe->kind == PROBE_FILTER)
		probe_filter(&page);
	else
		probe_index(&page);
	for (int i = 0; i < page.count; i++)
	{
		if (page.found[i])
			rows[passed++] = rows[i];
	}
	/* the filter was opened, and its class compared */
	if (unlikely(!probe->settled))
		probe->settled = page.count > 0 &&
			!(probe->kind == PROBE_INDEX &&
			  membership_site_may_refuse(probe->index_site));
	MemoryContextSwitchTo(old);
	ExecClearTuple(slot);
	ResetExprContext(econtext);
	return passed;
}

/*
 * probe_recheck
 *		Does a row pass that has replaced another one of the scan?
 *
 * The row is in econtext->ecxt_scantuple.  A join checks its own condition, so a
 * probe for a join lets it pass.
 */
bool
probe_recheck(Probe *probe, ExprContext *econtext)
{
	return probe->kind == PROBE_JOIN || probe->kind == PROBE_KEYS ||
		ExecQual(probe->recheck, econtext);
}

/* The size of what was probed, as far as it is in memory, in bytes */
Size
probe_bytes(const Probe *probe)
{
	if (probe->kind == PROBE_FILTER)
		return probe->bytes;
	/* the node that builds it tells of a join's keys */
	return probe->index_site ? membership_site_bytes(probe->index_site) : 0;
}
