/*
 * filter_path.c
 *	  The planner's side of the Filter Scan.
 *
 * For each table that has a condition which probes a filter (probe.c), the planner
 * gets a further path: a scan that probes with all rows of a page at once.
 *
 * Where not.  A probe runs before the other conditions of its table.  So it stands
 * aside if one of these has to run first: the conditions of a security barrier
 * (row-level security, a view) come before those of the user.  Only heaps are
 * scanned, on majors that heap_page.c knows; not for TABLESAMPLE, nor WHERE CURRENT OF.
 *
 * Cost.  Each row costs less than one that leaves a sequential scan, and only those
 * that pass cost as much.  The shares were fitted to CPU times (docs/internals.md).
 */
#include "filter_scan.h"
#include "probe.h"

#include <math.h>

#include "access/table.h"
#include "catalog/pg_class.h"
#include "nodes/makefuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "utils/guc.h"
#include "utils/spccache.h"

/* What a row of the scan costs that does not pass, in units of the settings */
#define ROW_COST			(0.35 * cpu_tuple_cost)
#define PROBE_COST			(2.0 * cpu_operator_cost)

static int	filter_scan_setting = FILTER_SCAN_ON;

static set_rel_pathlist_hook_type previous_set_rel_pathlist = NULL;

/* The conditions of a table that a Filter Scan can probe: RestrictInfos */
static List *
find_probes(RelOptInfo *rel)
{
	List	   *probes = NIL;
	ListCell   *cell;

	foreach(cell, rel->baserestrictinfo)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, cell);
		Node	   *filter;
		Node	   *element;

		if (IsA(rinfo->clause, CurrentOfExpr))
			return NIL;
		if (!rinfo->pseudoconstant &&
			restriction_is_securely_promotable(rinfo, rel) &&
			probe_matches((Node *) rinfo->clause, &filter, &element))
			probes = lappend(probes, rinfo);
	}
	return probes;
}

/* Can the table of a path be scanned by pages? */
static bool
is_scannable(RelOptInfo *rel, RangeTblEntry *rte)
{
	Relation	relation;
	bool		supported;

	if ((rel->reloptkind != RELOPT_BASEREL &&
		 rel->reloptkind != RELOPT_OTHER_MEMBER_REL) ||
		rte->rtekind != RTE_RELATION || rte->inh || rte->tablesample ||
		(rte->relkind != RELKIND_RELATION && rte->relkind != RELKIND_MATVIEW) ||
		!bms_is_empty(rel->lateral_relids))
		return false;
	/* the planner has locked it */
	relation = table_open(rte->relid, NoLock);
	supported = heap_page_supported(relation);
	table_close(relation, NoLock);
	return supported;
}

/* ----------------------------------------------------------------
 *		Plans
 * ----------------------------------------------------------------
 */

/* From a path to a plan; the path's custom_private are the RestrictInfos to probe */
static Plan *
plan_filter_scan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path,
				 List *targetlist, List *clauses, List *children)
{
	CustomScan *scan = makeNode(CustomScan);
	List	   *others = NIL;
	ListCell   *cell;

	foreach(cell, clauses)
		if (!list_member_ptr(path->custom_private, lfirst(cell)))
			others = lappend(others, lfirst(cell));
	scan->scan.plan.targetlist = targetlist;
	scan->scan.plan.qual = extract_actual_clauses(others, false);
	scan->scan.scanrelid = rel->relid;
	scan->flags = path->flags;
	scan->custom_exprs = extract_actual_clauses(path->custom_private, false);
	foreach(cell, scan->custom_exprs)
		scan->custom_private = lappend(scan->custom_private, NIL);
	scan->methods = &filter_scan_methods;
	return &scan->scan.plan;
}

static const CustomPathMethods path_methods = {
	.CustomName = "Filter Scan",
	.PlanCustomPath = plan_filter_scan
};

/* ----------------------------------------------------------------
 *		Paths
 * ----------------------------------------------------------------
 */

/* By how many processes the rows of a parallel scan are divided; as core has it */
static double
parallel_divisor(int workers)
{
	double		leader = 1.0 - 0.3 * workers;

	return workers + (parallel_leader_participation && leader > 0 ? leader : 0);
}

static CustomPath *
make_path(PlannerInfo *root, RelOptInfo *rel, List *probes, int workers)
{
	CustomPath *path = makeNode(CustomPath);
	double		divisor = workers > 0 ? parallel_divisor(workers) : 1;
	List	   *others = list_difference_ptr(rel->baserestrictinfo, probes);
	double		survivors;
	double		page_cost;
	QualCost	qual_cost;
	QualCost	probe_cost;
	Cost		startup;
	Cost		rows_cost;
	ListCell   *cell;

	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;
	path->path.pathtarget = rel->reltarget;
	path->path.parallel_aware = workers > 0;
	path->path.parallel_safe = rel->consider_parallel;
	path->path.parallel_workers = workers;
	path->path.rows = clamp_row_est(rel->rows / divisor);
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_private = probes;
	path->methods = &path_methods;

	get_tablespace_page_costs(rel->reltablespace, NULL, &page_cost);
	cost_qual_eval(&qual_cost, others, root);
	startup = qual_cost.startup + rel->reltarget->cost.startup;
	rows_cost = rel->tuples * ROW_COST;
	survivors = rel->tuples;
	foreach(cell, probes)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, cell);
		Node	   *filter;
		Node	   *element;

		(void) probe_matches((Node *) rinfo->clause, &filter, &element);
		cost_qual_eval_node(&probe_cost, filter, root);
		startup += probe_cost.startup + probe_cost.per_tuple;
		cost_qual_eval_node(&probe_cost, element, root);
		startup += probe_cost.startup;
		rows_cost += survivors * (PROBE_COST + probe_cost.per_tuple);
		survivors *= clause_selectivity(root, (Node *) rinfo, rel->relid,
										JOIN_INNER, NULL);
	}
	rows_cost += survivors * (cpu_tuple_cost + qual_cost.per_tuple);
	rows_cost += rel->rows * rel->reltarget->cost.per_tuple;
	path->path.startup_cost = startup;
	path->path.total_cost = startup + rel->pages * page_cost + rows_cost / divisor;

	/* it is a sequential scan: who turns these off, turns it off */
	if (filter_scan_setting == FILTER_SCAN_FORCE)
		path->path.startup_cost = path->path.total_cost = 0;
#if PG_VERSION_NUM >= 190000
	else if (!(rel->pgs_mask & PGS_SEQSCAN))
		path->path.disabled_nodes = 1;
#elif PG_VERSION_NUM >= 180000
	else if (!enable_seqscan)
		path->path.disabled_nodes = 1;
#else
	else if (!enable_seqscan)
	{
		path->path.startup_cost += disable_cost;
		path->path.total_cost += disable_cost;
	}
#endif
	return path;
}

/* A set_rel_pathlist_hook */
static void
add_filter_scans(PlannerInfo *root, RelOptInfo *rel, Index rti,
				 RangeTblEntry *rte)
{
	List	   *probes;

	if (previous_set_rel_pathlist)
		previous_set_rel_pathlist(root, rel, rti, rte);
	if (filter_scan_setting == FILTER_SCAN_OFF || IS_DUMMY_REL(rel))
		return;
	probes = find_probes(rel);
	if (probes == NIL || !is_scannable(rel, rte))
		return;
	add_path(rel, &make_path(root, rel, probes, 0)->path);
	if (rel->consider_parallel)
	{
		int			workers = compute_parallel_worker(rel, rel->pages, -1,
													  max_parallel_workers_per_gather);

		if (workers > 0)
			add_partial_path(rel, &make_path(root, rel, probes, workers)->path);
	}
}

/* When the library is loaded */
void
filter_scan_init(void)
{
	static const struct config_enum_entry settings[] = {
		{"off", FILTER_SCAN_OFF, false},
		{"on", FILTER_SCAN_ON, false},
		{"force", FILTER_SCAN_FORCE, true},
		{NULL, 0, false}
	};

	DefineCustomEnumVariable("bloomfilter.filter_scan",
							 "Enables the planner's use of Filter Scans.",
							 NULL, &filter_scan_setting, FILTER_SCAN_ON,
							 settings, PGC_USERSET, GUC_EXPLAIN,
							 NULL, NULL, NULL);
	MarkGUCPrefixReserved("bloomfilter");
	RegisterCustomScanMethods(&filter_scan_methods);
	previous_set_rel_pathlist = set_rel_pathlist_hook;
	set_rel_pathlist_hook = add_filter_scans;
}
