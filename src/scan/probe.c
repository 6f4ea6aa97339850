/*
 * probe.c
 *	  Probing a filter with the rows of a page, all at once.
 *
 * A condition that probes one filter with an element of each row: bloom_contains(),
 * cuckoo_contains(), and their operators.  The filter is evaluated once for a scan.
 * For a page we hash the elements of all its rows, and then probe: so the misses of
 * the cache overlap, and rows that do not pass cost no slot, no expression and no
 * trip through the executor.
 *
 * The answers are those of the functions themselves, as are the errors: both hash
 * an element as its call site says (callsite.c), and read the filter through the
 * same cache (stored.c).
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

/* Functions that probe a filter, in contains.c */
extern Datum bloomfilter_contains(PG_FUNCTION_ARGS);
extern Datum bloomfilter_contained(PG_FUNCTION_ARGS);

static const struct
{
	const char *name;			/* as CREATE FUNCTION gives it */
	PGFunction	function;
	int			filter;			/* the filter's argument; the element is the other */
}			probe_functions[] = {
	{"bloomfilter_contains", bloomfilter_contains, 0},
	{"bloomfilter_contained", bloomfilter_contained, 1},
};

/* The entry for a function, or -1.  Loads no library that is not loaded yet. */
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

/*
 * probe_begin
 *		Prepare to probe, in a node of a plan
 *
 * "clause" is a condition of which probe_matches() was true.  Allocates in the
 * current memory context.  Errors: those of call_site_element_type() and
 * element_hasher_create().
 */
Probe *
probe_begin(Expr *clause, PlanState *parent)
{
	Probe	   *probe = palloc0(sizeof(Probe));
	List	   *args;
	Oid			oid = call_of((Node *) clause, &args);
	int			filter_arg = probe_functions[find_probe_function(oid)].filter;
	Expr	   *element = list_nth(args, 1 - filter_arg);
	Var		   *column = (Var *) element;

	probe->clause = clause;
	while (IsA(column, RelabelType))
		column = (Var *) ((RelabelType *) column)->arg;
	if (IsA(column, Var) && column->varattno > 0)
		probe->attribute = column->varattno;
	else
		probe->element = ExecInitExpr(element, parent);
	probe->filter = ExecInitExpr(list_nth(args, filter_arg), parent);
	probe->recheck = ExecInitQual(list_make1(clause), parent);
	fmgr_info(oid, &probe->function);
	fmgr_info_set_expr((Node *) clause, &probe->function);
	probe->site = call_site_make(&probe->function, 1 - filter_arg, false,
								 exprInputCollation((Node *) clause));
	probe->mcxt = AllocSetContextCreate(CurrentMemoryContext, "probed filter",
										ALLOCSET_SMALL_SIZES);
	return probe;
}

/* Another scan begins: its filter may be another one. */
void
probe_rescan(Probe *probe)
{
	probe->ready = false;
	MemoryContextReset(probe->mcxt);
}

/* Evaluate the filter of this scan. */
static void
evaluate_filter(Probe *probe, ExprContext *econtext)
{
	MemoryContext old = MemoryContextSwitchTo(probe->mcxt);
	struct varlena *pointer;

	probe->value = ExecEvalExpr(probe->filter, econtext, &probe->isnull);
	if (!probe->isnull)
	{
		pointer = (struct varlena *) DatumGetPointer(probe->value);
		/* one that may be changed, or that each page would unpack again */
		if (!VARATT_IS_4B_U(pointer) && !VARATT_IS_EXTERNAL_ONDISK(pointer))
			probe->value = PointerGetDatum(value_copy_flat(probe->value));
		probe->bytes = toast_raw_datum_size(probe->value);
	}
	MemoryContextSwitchTo(old);
	probe->ready = true;
}

/* Hash the element of a row.  Returns false if it is NULL. */
static inline bool
hash_row(Probe *probe, TableScanDesc scan, ExprContext *econtext,
		 TupleTableSlot *slot, int row, uint64 seed, uint64 *hash)
{
	HeapTupleData tuple;
	Datum		element;
	bool		isnull;

	heap_page_row(scan, row, &tuple);
	if (likely(probe->attribute > 0))
		element = heap_getattr(&tuple, probe->attribute,
							   RelationGetDescr(scan->rs_rd), &isnull);
	else
	{
		heap_page_store(scan, &tuple, slot);
		econtext->ecxt_scantuple = slot;
		element = ExecEvalExpr(probe->element, econtext, &isnull);
	}
	if (!isnull)
		*hash = element_hash(probe->site->hasher, element, seed);
	return !isnull;
}

/*
 * probe_page
 *		Keep those rows of a page that pass
 *
 * rows[0..count-1], in the page that "scan" has read, are cut down to those that
 * pass, whose number is returned.  "slot" is of type TTSOpsBufferHeapTuple, and is
 * empty on return; the memory of "econtext" for one row is reset.
 * Errors: those of the function that the condition calls.
 */
int
probe_page(Probe *probe, TableScanDesc scan, ExprContext *econtext,
		   TupleTableSlot *slot, int *rows, int count)
{
	uint64		hashes[HEAP_PAGE_ROWS_MAX];
	bool		found[HEAP_PAGE_ROWS_MAX];
	FilterReader reader;
	MemoryContext old;
	int			hashed = 0;
	int			passed = 0;

	Assert(count > 0 && count <= HEAP_PAGE_ROWS_MAX);
	if (unlikely(!probe->ready))
		evaluate_filter(probe, econtext);
	if (probe->isnull)
		return 0;

	old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	reader_open(&probe->site->user, probe->value, count, &reader);
	for (int i = 0; i < count; i++)
	{
		if (!hash_row(probe, scan, econtext, slot, rows[i],
					  image_seed(reader.image), &hashes[hashed]))
			continue;
		check_class(image_class(reader.image), probe->site->hasher);
		rows[hashed++] = rows[i];
		MemoryContextReset(CurrentMemoryContext);
	}
	MemoryContextReset(CurrentMemoryContext);
	ExecClearTuple(slot);
	reader_reopen(&probe->site->user, count, &reader);
	if (likely(reader.slices_of == NULL))
		filter_contains_batch(reader.image, hashes, hashed, found);
	else
		for (int i = 0; i < hashed; i++)
			found[i] = reader_contains(&reader, hashes[i]);
	for (int i = 0; i < hashed; i++)
		if (found[i])
			rows[passed++] = rows[i];
	MemoryContextSwitchTo(old);
	return passed;
}
