/*
 * probe_index.c
 *	  Probing a membership index with the rows of a page: by a condition, or for a join.
 *
 * For a join (index_join.c), a probe raises no error, and lets all rows pass if the index
 * cannot be probed.
 */
#include "probe.h"

#include "functions/callsite.h"
#include "index/membership.h"

#include "utils/builtins.h"
#include "utils/lsyscache.h"

typedef struct IndexProbe
{
	ConditionProbe condition;	/* for a join, of the rest only "value" */
	MembershipSite *site;		/* to hash elements; NULL: none yet */
	/* of the page that is being probed */
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

static Probe *
begin_join(const ProbePlan *plan, PlanState *node)
{
	IndexProbe *probe = palloc0(sizeof(IndexProbe));
	Probe	   *base = &probe->condition.probe;

	probe_begin_element(base, (Expr *) plan->expression, node);
	base->settled = true;
	probe->condition.ready = true;
	probe->condition.value = ObjectIdGetDatum(plan->index);
	probe->site = membership_site_make(CurrentMemoryContext,
									   plan->element_type, true);
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
	const char *name = get_rel_name(plan->index);

	/* it may have been dropped meanwhile */
	if (name == NULL)
		name = psprintf("%u", plan->index);
	else
		name = quote_qualified_identifier(verbose ?
										  get_namespace_name(get_rel_namespace(plan->index)) :
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
