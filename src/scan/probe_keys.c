/*
 * probe_keys.c
 *	  Probing the keys of a hash join with the rows of a page.
 */
#include "probe.h"

#include "utils/memutils.h"

static Probe *
begin_keys(const ProbePlan *plan, PlanState *node)
{
	KeysProbe  *probe = palloc0(sizeof(KeysProbe));

	probe->probe.settled = true;
	probe->keys = key_probe_begin((List *) plan->expression, plan->keys, node);
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
		if (keys->plan.kind == KEY_HASH)
			MemoryContextReset(CurrentMemoryContext);
	}
	page->count = hashed;
	key_filter_contains_batch(filter, page->hashes, hashed, page->found);
	for (int i = 0; i < hashed; i++)
		found += page->found[i];
	probe_switch_count(&keys->pays, probed, found);
	return true;
}

static char *
text_of_keys(const ProbePlan *plan, List *context, bool verbose)
{
	return key_probe_text((List *) plan->expression, plan->keys, context,
						  verbose);
}

const ProbeMethods probe_keys_methods = {
	.begin = begin_keys,
	.look_up = look_up_in_keys,
	.text = text_of_keys
};
