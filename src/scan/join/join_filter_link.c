/*
 * join_filter_link.c
 *	  Connects the nodes of a join filter when a plan is started.
 *
 * The node that builds a filter, the Hash node above it or the node that stores rows, and the
 * nodes that probe are in different parts of the plan.  They are found by the number that the plan gives to each
 * filter, when a query starts (events.c) and in each parallel worker.
 */
#include "join_filter_store.h"
#include "scan/bypass/bypass.h"
#include "scan/filter_scan.h"

#include "access/parallel.h"
#include "nodes/nodeFuncs.h"

/* What was found in a plan so far */
typedef struct KeyLinks
{
	List	   *sources;		/* KeySources */
	List	   *probes;			/* KeyProbes */
	List	   *answers;		/* ServerAnswers, see sent_keys.c */
} KeyLinks;

/* Link a side of a hash join, if it collects the keys of rows that it stores. */
static void
link_stored(PlanState *side, PlanState *other, KeyLinks *links)
{
	StoredKeys *keys = stored_keys_of(side);

	if (keys == NULL)
		keys = bypass_stored_keys(side);
	if (keys == NULL)
		return;
	stored_keys_link(keys, other, &links->answers);
	links->sources = lappend(links->sources, &keys->source);
}

/* A planstate_tree_walker() */
static bool
find_links(PlanState *node, void *context)
{
	KeyLinks   *links = context;
	KeySource  *source = NULL;

	if (node == NULL)
		return false;
	if (IsA(node, HashJoinState))
	{
		source = key_build_link((HashJoinState *) node, &links->answers);
		link_stored(outerPlanState(node), innerPlanState(node), links);
		link_stored(outerPlanState(innerPlanState(node)), outerPlanState(node), links);
	}
	if (source)
		links->sources = lappend(links->sources, source);
	links->probes = list_concat(links->probes, key_probes_of(node));
	links->probes = list_concat(links->probes, filter_scan_key_probes(node));
	return planstate_tree_walker(node, find_links, context);
}

/* Connect the nodes of a plan that was started.  What they get lives as long as the plan. */
void
join_filters_link(PlanState *root)
{
	MemoryContext old = MemoryContextSwitchTo(root->state->es_query_cxt);
	KeyLinks	links = {0};
	ListCell   *cell;

	(void) find_links(root, &links);
	foreach(cell, links.probes)
	{
		KeyProbe   *probe = lfirst(cell);
		ListCell   *other;

		foreach(other, links.sources)
		{
			KeySource  *source = lfirst(other);

			if (source->number == probe->plan.number)
				probe->source = source;
		}
		/* the builder may be above the Gather that has started this worker */
		Assert(probe->source != NULL || IsParallelWorker());
	}
	MemoryContextSwitchTo(old);
}
