/*
 * probe_index.c
 *	  Probes a membership index with the rows of a page: by a condition, or for a join.
 *
 * For a join (index_join.c), a probe raises no error; if the index cannot be probed, all rows
 * pass.
 */
#include "probe.h"

#include "functions/callsite.h"
#include "index/lookup.h"

#include "utils/builtins.h"
#include "utils/lsyscache.h"

/* One of several columns of a key */
typedef struct KeyColumn
{
	AttrNumber	attribute;		/* a column of the scan; 0: "expression" */
	ExprState  *expression;
} KeyColumn;

typedef struct IndexProbe
{
	ConditionProbe condition;	/* a join uses only its "value" */
	MembershipSite *site;		/* hashes and probes; NULL: not made yet */
	/* only for a join with a key of several columns: */
	KeyColumn  *columns;		/* NULL: the key is one element */
	int			column_count;
	bool		has_expressions;	/* a column is an expression of the row */
	int			walked;			/* columns for walk_row() to read; or 0 */
	Datum	   *row;			/* values of these columns */
	/* about the page that is being probed */
	bool		comparable[HEAP_PAGE_ROWS_MAX];
	bool		all_comparable;
} IndexProbe;

static Probe *
begin_index(const ProbePlan *plan, PlanState *node)
{
	IndexProbe *probe = palloc0(sizeof(IndexProbe));

	probe_condition_begin(&probe->condition, plan, node);
	return &probe->condition.probe;
}

static void
begin_columns(IndexProbe *probe, List *key, PlanState *node)
{
	TupleDesc	desc = RelationGetDescr(((ScanState *) node)->ss_currentRelation);
	int			last = 0;
	ListCell   *cell;

	probe->column_count = list_length(key);
	probe->columns = palloc0(probe->column_count * sizeof(KeyColumn));
	foreach(cell, key)
	{
		KeyColumn  *column = &probe->columns[foreach_current_index(cell)];
		Probe		element = {0};

		probe_begin_element(&element, lfirst(cell), node);
		column->attribute = element.attribute;
		column->expression = element.element;
		probe->has_expressions |= column->expression && !IsA(lfirst(cell), Const);
		last = Max(last, column->attribute);
	}

	/* heap_getattr() is fast unless a column before it has variable length */
	for (int i = 0; i < last - 1; i++)
		if (TupleDescAttr(desc, i)->attlen < 0)
			probe->walked = last;
	probe->row = palloc(probe->walked * sizeof(Datum));
}

/*
 * Set probe->row in one pass over a row: heap_getattr() would start again for each column.
 * Return false if the row has a NULL, or lacks the last columns.
 */
static inline bool
walk_row(IndexProbe *probe, HeapTuple tuple, TupleDesc columns)
{
	char	   *data = (char *) tuple->t_data + tuple->t_data->t_hoff;
	uint32		place = 0;

	if (HeapTupleHasNulls(tuple) ||
		HeapTupleHeaderGetNatts(tuple->t_data) < probe->walked)
		return false;
	for (int i = 0; i < probe->walked; i++)
	{
		Form_pg_attribute column = TupleDescAttr(columns, i);

		place = att_align_pointer(place, column->attalign, column->attlen,
								  data + place);
		probe->row[i] = fetchatt(column, data + place);
		place = att_addlength_pointer(place, column->attlen, data + place);
	}
	return true;
}

static Probe *
begin_join(const ProbePlan *plan, PlanState *node)
{
	IndexProbe *probe = palloc0(sizeof(IndexProbe));
	Probe	   *base = &probe->condition.probe;

	if (IsA(plan->expression, List))
		begin_columns(probe, (List *) plan->expression, node);
	else
		probe_begin_element(base, (Expr *) plan->expression, node);
	base->settled = true;
	base->guarded = plan->conditions > 0;
	probe->condition.ready = true;
	probe->condition.value = ObjectIdGetDatum(linitial_oid(plan->indexes));
	probe->site = membership_site_make(CurrentMemoryContext, linitial_oid(plan->types),
									   plan->indexes, plan->types);
	if (plan->pause_after != NEVER_PAUSE)
	{
		base->pays = palloc(sizeof(ProbeSwitch));
		probe_switch_init(base->pays, 0, false);
		base->pays->pause_after = plan->pause_after;
	}
	return base;
}

static void
open_index(IndexProbe *probe)
{
	FmgrInfo   *function = &probe->condition.function;

	/* only for an element: the function, too, refuses a type only then */
	if (unlikely(probe->site == NULL))
		probe->site =
			membership_site_make(function->fn_mcxt,
								 call_site_element_type(function,
														probe->condition.element_arg,
														false),
								 NIL, NIL);
	membership_site_open(probe->site, DatumGetObjectId(probe->condition.value));
}

/* Evaluate a row's key; return false if the key or one of its columns is NULL. */
static inline bool
evaluate_key(IndexProbe *probe, ProbedPage *page, int row, HeapTuple tuple,
			 Datum *values)
{
	TupleDesc	columns = RelationGetDescr(page->scan->rs_rd);
	bool		isnull = false;
	bool		walked;

	if (probe->columns == NULL)
	{
		values[0] = probe_element(&probe->condition.probe, page, row, tuple, &isnull);
		return !isnull;
	}
	heap_page_row(page->scan, row, tuple);
	walked = probe->walked > 0 && walk_row(probe, tuple, columns);
	if (probe->has_expressions)
	{
		heap_page_store(page->scan, tuple, page->slot);
		page->econtext->ecxt_scantuple = page->slot;
	}
	for (int i = 0; i < probe->column_count; i++)
	{
		const KeyColumn *column = &probe->columns[i];

		if (column->expression)
			values[i] = ExecEvalExpr(column->expression, page->econtext, &isnull);
		else if (walked)
			values[i] = probe->row[column->attribute - 1];
		else
			values[i] = heap_getattr(tuple, column->attribute, columns, &isnull);
		/* stop at a NULL, as the join does: the next expression might fail */
		if (isnull)
			return false;
	}
	return true;
}

static inline uint64
hash_key(IndexProbe *probe, const Datum *values, bool *comparable)
{
	return probe->columns ?
		membership_site_hash_key(probe->site, values, comparable) :
		membership_site_hash(probe->site, values[0], comparable);
}

/* Hash the keys of the rows, and drop rows whose key is NULL. */
static void
hash_rows(IndexProbe *probe, ProbedPage *page)
{
	HeapTupleData tuple;
	Datum		values[INDEX_MAX_KEYS] = {0};
	int			hashed = 0;

	probe->all_comparable = true;
	for (int i = 0; i < page->count; i++)
	{
		if (!evaluate_key(probe, page, page->rows[i], &tuple, values))
			continue;
		if (hashed == 0)
			open_index(probe);
		page->hashes[hashed] = hash_key(probe, values, &probe->comparable[hashed]);
		probe->all_comparable &= probe->comparable[hashed];
		page->rows[hashed++] = page->rows[i];
		MemoryContextReset(CurrentMemoryContext);
	}
	page->count = hashed;
}

/*
 * Look up the rows one by one, each right after hashing it, as the function does.  Then no
 * hash is kept while another element is evaluated, whatever that changes: a function that
 * catches an error, for example, releases locks with every row.
 */
static void
look_up_singly(IndexProbe *probe, ProbedPage *page)
{
	HeapTupleData tuple;
	Datum		values[INDEX_MAX_KEYS] = {0};
	int			passed = 0;

	for (int i = 0; i < page->count; i++)
	{
		int			row = page->rows[i];
		int			attempt = 0;
		bool		found;
		bool		comparable;
		uint64		hash;

		if (!evaluate_key(probe, page, row, &tuple, values))
			continue;
		open_index(probe);
		do
			hash = hash_key(probe, values, &comparable);
		while (!membership_site_settled(probe->site, attempt++));
		membership_site_probe(probe->site, &hash, 1, &found);
		if (found || !comparable)
			page->rows[passed++] = row;
		MemoryContextReset(CurrentMemoryContext);
	}
	page->count = passed;
}

/* Look up all hashes at once; singly if the index has changed since they were computed. */
static void
look_up_hashes(IndexProbe *probe, ProbedPage *page)
{
	if (unlikely(!membership_site_settled(probe->site, 0)))
	{
		look_up_singly(probe, page);
		return;
	}
	membership_site_probe(probe->site, page->hashes, page->count, page->found);
	for (int i = 0; !probe->all_comparable && i < page->count; i++)
		page->found[i] |= !probe->comparable[i];
}

/* The method "look_up" */
static bool
look_up_in_index(Probe *base, ProbedPage *page)
{
	IndexProbe *probe = (IndexProbe *) base;

	if (base->pays && !probe_switch_is_on(base->pays, page->count))
		return false;
	probe_condition_evaluate(&probe->condition, page->econtext);
	if (probe->condition.isnull)
	{
		page->count = 0;
		return true;
	}
	hash_rows(probe, page);
	if (page->count > 0)
		look_up_hashes(probe, page);

	/* the index of a table with inheritance children may refuse any element */
	if (unlikely(!base->settled))
		base->settled = page->count > 0 &&
			!membership_site_may_refuse(probe->site);
	return true;
}

/*
 * May the index contain the key of a PROBE_ONCE?  False is certain.  As for a join, this raises
 * no error, and is true if the index cannot be probed.
 */
bool
probe_index_once(Probe *base, ExprContext *econtext)
{
	IndexProbe *probe = (IndexProbe *) base;
	MemoryContext old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	Datum		values[INDEX_MAX_KEYS] = {0};
	int			columns = probe->columns ? probe->column_count : 1;
	bool		isnull = false;
	bool		found = false;
	bool		comparable = true;
	int			attempt = 0;
	uint64		hash;

	for (int i = 0; i < columns && !isnull; i++)
		values[i] = ExecEvalExpr(probe->columns ? probe->columns[i].expression : base->element,
								 econtext, &isnull);
	/* an equality with NULL is not true */
	if (!isnull)
	{
		open_index(probe);
		do
			hash = hash_key(probe, values, &comparable);
		while (!membership_site_settled(probe->site, attempt++));
		membership_site_probe(probe->site, &hash, 1, &found);
	}
	MemoryContextSwitchTo(old);
	ResetExprContext(econtext);
	return found || !comparable;
}

static Size
index_probe_bytes(const Probe *base)
{
	const IndexProbe *probe = (const IndexProbe *) base;

	return probe->site ? membership_site_bytes(probe->site) : 0;
}

/* Return the name of an index or a table, which may have been dropped meanwhile. */
static const char *
name_of(Oid relation, bool with_schema)
{
	const char *name = get_rel_name(relation);

	if (name == NULL)
		return psprintf("%u", relation);
	return quote_qualified_identifier(with_schema ?
									  get_namespace_name(get_rel_namespace(relation)) :
									  NULL, name);
}

static char *
text_of_join(const ProbePlan *plan, List *context, bool verbose)
{
	char	   *key = probe_condition_text(plan, context, verbose);

	if (list_length(plan->types) > 1)
		key = psprintf("(%s)", key);
	if (list_length(plan->indexes) > 1)
		return psprintf("%s in %d indexes of %s", key, list_length(plan->indexes),
						name_of(plan->table, verbose));
	return psprintf("%s in index %s", key,
					name_of(linitial_oid(plan->indexes), verbose));
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
