/*
 * probe_filter.c
 *	  Probes a filter that is a value, with the rows of a page.
 */
#include "probe.h"

#include "functions/sent_filter.h"

#include "access/detoast.h"

typedef struct FilterProbe
{
	ConditionProbe condition;
	Size		bytes;			/* the filter's size */
	bool		sent;			/* sent by a server: errors let rows pass */
	CallSite   *site;			/* hashes elements; NULL: not made yet */
	Lookup		lookup;			/* lookup of the page that is being probed */
} FilterProbe;

static Probe *
begin_filter(const ProbePlan *plan, PlanState *node)
{
	FilterProbe *probe = palloc0(sizeof(FilterProbe));

	probe_condition_begin(&probe->condition, plan, node);
	probe->sent = probe->condition.function.fn_addr == bloomfilter_may_contain;
	if (probe->sent)
		probe->site = sent_call_site(&probe->condition.function);
	return &probe->condition.probe;
}

/* Note the value that the filter's expression has returned. */
static void
take_value(FilterProbe *probe)
{
	ConditionProbe *condition = &probe->condition;
	struct varlena *pointer = (struct varlena *) DatumGetPointer(condition->value);

	/* copy a value that may change, or that each page would decompress again */
	if (!VARATT_IS_4B_U(pointer) && !VARATT_IS_EXTERNAL_ONDISK(pointer))
	{
		MemoryContext old = MemoryContextSwitchTo(condition->mcxt);

		condition->value = PointerGetDatum(value_copy_flat(condition->value));
		MemoryContextSwitchTo(old);
	}
	probe->bytes = toast_raw_datum_size(condition->value);
}

/* Hash the elements of the rows, and drop rows whose element is NULL. */
static void
hash_rows(FilterProbe *probe, ProbedPage *page)
{
	ConditionProbe *condition = &probe->condition;
	HeapTupleData tuple;
	int			hashed = 0;

	for (int i = 0; i < page->count; i++)
	{
		bool		isnull;
		Datum		element = probe_element(&condition->probe, page, page->rows[i],
											&tuple, &isnull);

		if (isnull)
			continue;

		/* only for an element: the function, too, refuses a type only then */
		if (unlikely(probe->site == NULL))
			probe->site = call_site_make(&condition->function, condition->element_arg,
										 false, condition->collation);
		if (hashed == 0)
			lookup_open(&probe->lookup, probe->site, condition->value, page->count);
		page->hashes[hashed] = lookup_hash(&probe->lookup, element, false);
		page->rows[hashed++] = page->rows[i];
		MemoryContextReset(CurrentMemoryContext);
	}
	page->count = hashed;
}

/* Do all rows pass a filter that another server has sent? */
static bool
all_pass(const FilterProbe *probe)
{
	return probe->condition.isnull || probe->site == NULL ||
		!sent_filter_fits(probe->site, value_header(probe->condition.value));
}

static bool
look_up_in_filter(Probe *base, ProbedPage *page)
{
	FilterProbe *probe = (FilterProbe *) base;

	if (probe_condition_evaluate(&probe->condition, page->econtext) &&
		!probe->condition.isnull)
		take_value(probe);
	if (probe->sent && all_pass(probe))
		return false;
	if (probe->condition.isnull)
		page->count = 0;
	else
		hash_rows(probe, page);
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
