/*
 * planned_query.c
 *	  What is known of the query being planned, until its planning ends.
 */
#include "filter_path.h"

/* What is known of the query being planned */
static PlannedQuery planned;

/* A MemoryContextCallbackFunction */
static void
forget_planned(void *mcxt)
{
	if (planned.mcxt == (MemoryContext) mcxt)
		memset(&planned, 0, sizeof(planned));
}

/* Return what is known of the query being planned; nothing at first. */
PlannedQuery *
planned_query(PlannerInfo *root)
{
	MemoryContextCallback *callback;

	if (planned.mcxt == root->planner_cxt)
		return &planned;
	callback = MemoryContextAlloc(root->planner_cxt, sizeof(MemoryContextCallback));
	callback->func = forget_planned;
	callback->arg = root->planner_cxt;
	MemoryContextRegisterResetCallback(root->planner_cxt, callback);
	memset(&planned, 0, sizeof(planned));
	planned.mcxt = root->planner_cxt;
	return &planned;
}
