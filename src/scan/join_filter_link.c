/*
 * join_filter_link.c
 *	  Bringing together the nodes of a join filter when a plan is started.
 *
 * The node that builds a filter, the Hash node above it, and the nodes that probe lie
 * in different parts of the plan.  We find them by the number that the plan gives to each
 * filter, when a query starts (events.c), also in parallel workers.
 */
#include "join_filter_link.h"

#include "filter_scan.h"
#include "join_filter_build.h"
#include "join_filter_probe.h"

#include "access/parallel.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"

/* The parts of a plan that belong together */
typedef struct KeyLinks
{
	List	   *builds;			/* of Join Filter Build nodes */
	List	   *sources;		/* of KeySource, theirs */
	List	   *probes;			/* of KeyProbe */
} KeyLinks;

/* A planstate_tree_walker() */
static bool
find_links(PlanState *node, void *context)
{
	KeyLinks   *links = context;

	if (node == NULL)
		return false;
	if (IsA(node, HashJoinState) &&
		is_key_build(outerPlanState(innerPlanState(node))))
	{
		PlanState  *build = outerPlanState(innerPlanState(node));

		links->builds = lappend(links->builds, build);
		links->sources = lappend(links->sources,
								 key_build_link(build, (HashState *) innerPlanState(node)));
		/* a join that knows that there are outer rows does not look */
		if (key_build_comes_first(build))
			((HashJoinState *) node)->hj_OuterNotEmpty = true;
	}
	links->probes = list_concat(links->probes, key_probes_of(node));
	links->probes = list_concat(links->probes, filter_scan_key_probes(node));
	return planstate_tree_walker(node, find_links, context);
}

/*
 * join_filters_link
 *		Bring together the nodes of a plan that was started
 */
void
join_filters_link(PlanState *root)
{
	KeyLinks	links = {0};
	ListCell   *cell;

	(void) find_links(root, &links);
	foreach(cell, links.probes)
	{
		KeyProbe   *probe = lfirst(cell);
		ListCell   *build;
		ListCell   *source;

		forboth(build, links.builds, source, links.sources)
		{
			if (key_build_number(lfirst(build)) == probe->number)
				probe->source = lfirst(source);
		}
		/* the builder may be above the Gather that has started this worker */
		Assert(probe->source != NULL || IsParallelWorker());
	}
	list_free(links.builds);
	list_free(links.sources);
	list_free(links.probes);
}
