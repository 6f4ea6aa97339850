/*
 * filter_path.c
 *	  Planner paths of Filter Scans, and their costs.
 *
 * A table gets Filter Scan paths if one of its conditions probes a filter (probe.c), or if it
 * is joined to a table whose membership index can be probed (index_join.c).
 *
 * Where not.  A probe runs before the other conditions of its table, except for the first row
 * (filter_scan.c).  So a condition cannot be a probe if another one has to run first.
 * Conditions of a security barrier (row-level security, a view) run before those of the user.
 * And if the element is an expression, another condition may protect it from errors: "x ~
 * '^[0-9]+$' AND bloom_contains(f, x::int)" works because the server checks cheap conditions
 * first.  Nor is an expression probed if the query may end before it has read all rows.  Only
 * heaps are scanned, on majors that heap_page.c supports, and without TABLESAMPLE or WHERE
 * CURRENT OF.
 */
#include "filter_path.h"

#include "scan/settings.h"
#include "index/lookup.h"

#include <math.h>

#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "utils/spccache.h"

/*
 * Cost of a row, and of each probe of it.  With default settings they sum to 0.0085, for 58
 * ns of CPU time; "url <> 'x'" in a sequential scan costs 0.0125, for 78 ns
 * (docs/dev/measurements.md).
 */
#define ROW_COST			(0.35 * cpu_tuple_cost)
#define PROBE_COST			(2.0 * cpu_operator_cost)

/* Cost of each further index in which a row is looked up: 8 ns, measured for four partitions */
#define MORE_PROBE_COST		(0.5 * cpu_operator_cost)

/*
 * Do not plan join filters for a smaller table, nor probes of arrays: planning takes longer
 * than they save.
 */
#define JOIN_ROWS_MIN		1000.0

/*
 * Probe an index for a join only if at most this share of rows is expected to pass.  If more
 * pass, the dropped rows save less than the probes cost.
 */
#define JOIN_SHARE_MAX		0.7

/*
 * A probe of an array may pause, to let earlier conditions come first, if at most this share
 * of rows is expected to satisfy these: else it is faster for a whole page.
 */
#define PAUSE_SHARE_MAX		0.5

/*
 * Cost that a join saves for each row that the scan drops: the row need not be hashed and
 * looked up.  If conditions leave few rows of the list, the filter still has all of them, and
 * the lookup is in the processor's caches: with ten rows and text keys, dropping a row saves
 * 57 ns, and a probe costs 45.  If what is saved exceeds the cost of
 * the probes, limit_cost() lowers the path's cost to at most PLAIN_COST_SHARE of the plain scan's:
 * hash joins see only a table's cheapest path.
 */
#define JOIN_ROW_COST		(2.0 * cpu_tuple_cost)
#define JOIN_ROW_COST_FEW	(0.75 * cpu_tuple_cost)
#define FEW_ROWS			100.0
#define MANY_ROWS			10000.0
#define PLAIN_COST_SHARE		0.99

/*
 * A probe whose share is known pauses only when more rows have passed than this multiple of
 * those expected: where the values of one page are alike, its first pages tell nothing.
 */
#define PAUSE_FACTOR		3.0

/*
 * Expect at least this many rows to pass: the share is estimated from a few hundred values,
 * too few to distinguish smaller numbers.
 */
#define JOIN_ROWS_LEAST		100.0

uint64		filter_scans_for_joins = 0;

/* Does the query allow a Filter Scan of this table? */
static bool
is_candidate(RelOptInfo *rel, RangeTblEntry *rte)
{
	ListCell   *cell;

	if ((rel->reloptkind != RELOPT_BASEREL &&
		 rel->reloptkind != RELOPT_OTHER_MEMBER_REL) ||
		rte->rtekind != RTE_RELATION || rte->inh || rte->tablesample ||
		(rte->relkind != RELKIND_RELATION && rte->relkind != RELKIND_MATVIEW) ||
		!bms_is_empty(rel->lateral_relids))
		return false;
	foreach(cell, rel->baserestrictinfo)
	{
		if (IsA(lfirst_node(RestrictInfo, cell)->clause, CurrentOfExpr))
			return false;
	}
	return true;
}

/*
 * May LIMIT, EXISTS or a cursor end the query before all rows are read?  Then an element of a
 * later row may raise an error that the query does not, because whole pages are probed.
 */
static bool
may_end_early(PlannerInfo *root)
{
	return root->tuple_fraction > 0;
}

/*
 * May probing a condition raise an error that the query does not?  Another condition may
 * protect the element; or the query may end before, except by an array (probe_array.c).
 */
static bool
is_protected(PlannerInfo *root, RelOptInfo *rel, const ProbeCondition *condition)
{
	return (list_length(rel->baserestrictinfo) > 1 ||
			(may_end_early(root) && condition->kind != PROBE_ARRAY)) &&
		probe_element_may_fail(condition->element);
}

/* Return the conditions of a table that a Filter Scan can probe: ProbeConditions */
static List *
find_conditions(PlannerInfo *root, RelOptInfo *rel)
{
	List	   *conditions = NIL;
	bool		arrays = rel->tuples >= JOIN_ROWS_MIN || filter_scan_setting == FILTER_SCAN_FORCE;
	ListCell   *cell;

	foreach(cell, rel->baserestrictinfo)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, cell);
		ProbeCondition *condition = NULL;

		if (rinfo->pseudoconstant || !restriction_is_securely_promotable(rinfo, rel))
			continue;
		if (!IsA(rinfo->clause, ScalarArrayOpExpr))
			condition = probe_condition_make(rinfo);
		else if (arrays)
			condition = array_condition_make(rinfo);
		if (condition && !is_protected(root, rel, condition))
			conditions = lappend(conditions, condition);
	}
	return conditions;
}

/* ---- Plans ---- */

/*
 * A path's custom_private: a list of ProbeConditions, a list of IndexJoins, the IndexJoin
 * whose probe only marks rows, and that of the table with itself; or NULL
 */
#define path_conditions(path)	((List *) linitial((path)->custom_private))
#define path_joins(path)		((List *) lsecond((path)->custom_private))
#define path_mark(path)			((IndexJoin *) lthird((path)->custom_private))
#define path_own(path)			((IndexJoin *) lfourth((path)->custom_private))

/* Return the path's ProbeCondition for a condition, or NULL if the path does not probe it. */
static const ProbeCondition *
probe_of(CustomPath *path, RestrictInfo *rinfo)
{
	ListCell   *cell;

	foreach(cell, path_conditions(path))
	{
		const ProbeCondition *condition = lfirst(cell);

		if (condition->rinfo == rinfo)
			return condition;
	}
	return NULL;
}

/*
 * Do policies or security barrier views hide rows from this query or an outer one?  If so,
 * EXPLAIN must not show counts that include hidden rows.
 */
bool
filter_path_hides_rows(PlannerInfo *root)
{
	for (; root != NULL; root = root->parent_root)
	{
		ListCell   *cell;

		foreach(cell, root->parse->rtable)
		{
			RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell);

			if (rte->security_barrier || rte->securityQuals != NIL)
				return true;
		}
	}
	return false;
}

/* The number by which to divide the rows of a scan, as in core's get_parallel_divisor() */
double
filter_path_divisor(int workers)
{
	double		leader = 1.0 - 0.3 * workers;

	if (workers == 0)
		return 1;
	return workers + (parallel_leader_participation && leader > 0 ? leader : 0);
}

/*
 * Add a probe of an index for a join, PROBE_JOIN or PROBE_MARK, to the plan of a scan.
 * "reached" rows are expected to be probed.
 */
static void
add_join_probe(PlannerInfo *root, CustomScan *scan, ProbeKind kind,
			   const IndexJoin *join, double reached, bool hides_rows)
{
	double		expected = Max(join->share, 0) * reached;
	ProbePlan	probe = {
		.kind = kind,
		.expression = join->key,
		.conditions = join->may_fail ? list_length(scan->scan.plan.qual) : 0,
		.hides_rows = hides_rows,
		.indexes = join->indexes,
		.types = join->types,
		.table = planner_rt_fetch(join->source, root)->relid,
		.pause_after = join->assumed ? 0 : (int) Min(1 + expected * PAUSE_FACTOR, INT_MAX)
	};

	if (filter_scan_setting == FILTER_SCAN_FORCE)
		probe.pause_after = NEVER_PAUSE;
	probe_plan_add(scan, &probe);
}

/* A PlanCustomPath */
static Plan *
plan_filter_scan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path,
				 List *targetlist, List *clauses, List *children)
{
	CustomScan *scan = makeNode(CustomScan);
	Plan	   *plan = &scan->scan.plan;
	bool		hides_rows = filter_path_hides_rows(root);
	bool		forced = filter_scan_setting == FILTER_SCAN_FORCE;
	List	   *earlier = NIL;	/* RestrictInfos of plan->qual */
	double		reached = rel->tuples / filter_path_divisor(path->path.parallel_workers);
	ListCell   *cell;

	scan->scan.scanrelid = rel->relid;
	scan->methods = &filter_scan_node.plan;
	/* core has sorted the clauses as for a sequential scan */
	foreach(cell, clauses)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, cell);
		const ProbeCondition *condition = probe_of(path, rinfo);

		if (condition)
		{
			ProbePlan	probe = {
				.kind = condition->kind,
				.expression = (Node *) rinfo->clause,
				.conditions = list_length(plan->qual),
				.hides_rows = hides_rows,
				.pause_after = condition->kind == PROBE_ARRAY && !forced && earlier != NIL &&
					clauselist_selectivity(root, earlier, rel->relid, JOIN_INNER,
										   NULL) <= PAUSE_SHARE_MAX ? 0 : NEVER_PAUSE,
					.keys = condition->keys
				};

			probe_plan_add(scan, &probe);
		}
		else if (!rinfo->pseudoconstant)
		{
			plan->qual = lappend(plan->qual, rinfo->clause);
			earlier = lappend(earlier, rinfo);
		}
	}
	plan->targetlist = targetlist;
	scan->flags = path->flags;
	foreach(cell, path_joins(path))
		add_join_probe(root, scan, PROBE_JOIN, lfirst(cell), reached, hides_rows);
	if (path_mark(path))
		add_join_probe(root, scan, PROBE_MARK, path_mark(path), reached, hides_rows);
	if (path_own(path))
		add_join_probe(root, scan, PROBE_ONCE, path_own(path), reached, hides_rows);
	filter_scans_for_joins += path_joins(path) != NIL || path_mark(path);
	return plan;
}

static const CustomPathMethods path_methods = {
	.CustomName = "Filter Scan",
	.PlanCustomPath = plan_filter_scan
};

/* ---- Paths ---- */

/* A table to which paths are added */
typedef struct PlannedTable
{
	PlannerInfo *root;
	RelOptInfo *rel;
	/* costs of its sequential scans; negative if it has none */
	Cost		plain_cost;
	Cost		plain_partial_cost; /* parallel sequential scan */
} PlannedTable;

/* Cost of evaluating an expression for "rows" rows; adds its startup cost to *startup */
static Cost
expression_cost(PlannerInfo *root, Node *expression, double rows, Cost *startup)
{
	QualCost	cost;

	cost_qual_eval_node(&cost, expression, root);
	*startup += cost.startup;
	return rows * cost.per_tuple;
}

/* An element that was probed, and the least share of rows that pass one of its probes */
typedef struct Passed
{
	Node	   *element;
	double		share;
} Passed;

/*
 * Return the share of rows that pass one more probe, among the rows that pass those in
 * *passed; add the probe to *passed.  Filters for the same element tend to contain the same
 * values, so only the least share of all probes of an element counts.
 */
static double
share_of_rest(List **passed, Node *element, double share)
{
	Passed	   *added;
	ListCell   *cell;

	foreach(cell, *passed)
	{
		Passed	   *before = lfirst(cell);
		double		rest = 1;

		if (!equal(before->element, element))
			continue;
		if (share < before->share)
		{
			rest = share / before->share;
			before->share = share;
		}
		return rest;
	}
	added = palloc(sizeof(Passed));
	added->element = element;
	added->share = share;
	*passed = lappend(*passed, added);
	return share;
}

/* Return the cost of looking up the keys of "rows" rows for a join. */
static Cost
lookup_cost(const IndexJoin *join, double rows)
{
	return rows * (PROBE_COST + (list_length(join->indexes) - 1) * MORE_PROBE_COST);
}

static void
cost_path(PlannerInfo *root, CustomPath *path)
{
	RelOptInfo *rel = path->path.parent;
	List	   *others = NIL;
	double		divisor = filter_path_divisor(path->path.parallel_workers);
	double		survivors = rel->tuples;
	double		rows = rel->rows;
	double		page_cost;
	QualCost	qual_cost;
	Cost		startup = rel->reltarget->cost.startup;
	Cost		rows_cost = rel->tuples * ROW_COST;
	Cost		run;
	List	   *passed = NIL;
	ListCell   *cell;

	foreach(cell, path_conditions(path))
	{
		const ProbeCondition *condition = lfirst(cell);
		Cost		filter_cost;

		if (condition->kind == PROBE_ARRAY)
			continue;
		filter_cost = expression_cost(root, condition->filter, 1, &startup);
		startup += filter_cost;
		rows_cost += survivors * PROBE_COST +
			expression_cost(root, condition->element, survivors, &startup);
		survivors *= share_of_rest(&passed, condition->element,
								   clause_selectivity(root, (Node *) condition->rinfo,
													  rel->relid,
													  JOIN_INNER, NULL));
	}
	foreach(cell, path_joins(path))
	{
		const IndexJoin *join = lfirst(cell);
		double		share = share_of_rest(&passed, join->key, join->share);

		/* a probe that may fail runs after the table's other conditions */
		double		probed = join->may_fail ? rows : survivors;

		rows_cost += lookup_cost(join, probed) +
			expression_cost(root, join->key, probed, &startup);
		/* each process reads the indexes, before it returns many rows */
		startup += join->read_cost;
		if (!join->may_fail)
			survivors *= share;
		rows *= share;
	}
	if (path_mark(path))
	{
		rows_cost += lookup_cost(path_mark(path), survivors) +
			expression_cost(root, path_mark(path)->key, survivors, &startup);
		startup += path_mark(path)->read_cost;
	}
	foreach(cell, rel->baserestrictinfo)
	{
		const ProbeCondition *condition = probe_of(path, lfirst(cell));

		/*
		 * arrays cost what they cost a plain scan, so that core's plan
		 * remains
		 */
		if (condition == NULL || condition->kind == PROBE_ARRAY)
			others = lappend(others, lfirst(cell));
	}
	cost_qual_eval(&qual_cost, others, root);
	startup += qual_cost.startup;
	if (path_joins(path) != NIL)
		rows = Max(rows, Min(rel->rows, JOIN_ROWS_LEAST));
	rows_cost += survivors * (cpu_tuple_cost + qual_cost.per_tuple) +
		rows * rel->reltarget->cost.per_tuple;
	get_tablespace_page_costs(rel->reltablespace, NULL, &page_cost);
	run = rel->pages * page_cost + rows_cost / divisor;
	path->path.rows = clamp_row_est(rows / divisor);
	path->path.startup_cost = startup;
	path->path.total_cost = startup + run;

	/*
	 * Of two orders of joins that cost the same, core prefers the one that
	 * starts sooner.  It reads the largest table last: not at all, if the
	 * other side turns out empty.
	 */
	if (path_joins(path) != NIL)
		path->path.startup_cost += run / Min(path->path.rows, JOIN_ROWS_LEAST);
}

/* Disable a Filter Scan where sequential scans are disabled. */
static void
disable_path(CustomPath *path)
{
#if PG_VERSION_NUM >= 190000
	uint64		needed = PGS_SEQSCAN;

	if (path->path.parallel_workers == 0)
		needed |= PGS_CONSIDER_NONPARTIAL;
	if ((path->path.parent->pgs_mask & needed) != needed)
		path->path.disabled_nodes = 1;
#elif PG_VERSION_NUM >= 180000
	if (!enable_seqscan)
		path->path.disabled_nodes = 1;
#else
	if (!enable_seqscan)
	{
		path->path.startup_cost += disable_cost;
		path->path.total_cost += disable_cost;
	}
#endif
}

/*
 * Make a path that probes "conditions", then "joins", and last "mark", which may be NULL.
 * "workers" is the number of parallel workers, or 0.
 */
static CustomPath *
make_path(const PlannedTable *table, List *conditions, List *joins,
		  IndexJoin *mark, int workers)
{
	RelOptInfo *rel = table->rel;
	CustomPath *path = makeNode(CustomPath);
	ListCell   *cell;

	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;
	path->path.pathtarget = rel->reltarget;
	path->path.parallel_aware = workers > 0;
	path->path.parallel_safe = rel->consider_parallel;
	path->path.parallel_workers = workers;
	/* the executor never scans backward in parallel */
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION |
		CUSTOMPATH_SUPPORT_BACKWARD_SCAN;
	path->custom_private = list_make4(conditions, joins, mark, NULL);
	path->methods = &path_methods;
	foreach(cell, joins)
		path->path.parallel_safe &= ((IndexJoin *) lfirst(cell))->parallel_safe;
	if (mark)
		path->path.parallel_safe &= mark->parallel_safe;
	cost_path(table->root, path);
	if (filter_scan_setting == FILTER_SCAN_FORCE)
		path->path.startup_cost = path->path.total_cost = 0;
	else
		disable_path(path);
	return path;
}

/* Return the plain sequential scan among some paths of a table, or NULL. */
static Path *
find_plain_scan(List *paths)
{
	ListCell   *cell;

	foreach(cell, paths)
	{
		Path	   *path = lfirst(cell);

		if (path->pathtype == T_SeqScan && path->param_info == NULL)
			return path;
	}
	return NULL;
}

/* Lower a path's cost to just below the plain scan's. */
static void
lower_cost(CustomPath *path, Cost plain_cost)
{
	path->path.total_cost = Min(path->path.total_cost, plain_cost * PLAIN_COST_SHARE);
	path->path.startup_cost = Min(path->path.startup_cost,
								  path->path.total_cost);
}

/* The cost that joins save for each dropped row; see JOIN_ROW_COST. */
static Cost
dropped_row_cost(PlannerInfo *root, List *joins)
{
	double		most = FEW_ROWS;
	ListCell   *cell;

	foreach(cell, joins)
	{
		RelOptInfo *list = find_base_rel(root, ((IndexJoin *) lfirst(cell))->source);

		most = Max(most, list->baserestrictinfo == NIL ? MANY_ROWS : list->rows);
	}
	return JOIN_ROW_COST_FEW + (JOIN_ROW_COST - JOIN_ROW_COST_FEW) *
		Min(log(most / FEW_ROWS) / log(MANY_ROWS / FEW_ROWS), 1);
}

/*
 * Lower a path's cost to just below the plain scan's, if its join filters pay; see
 * JOIN_ROW_COST.  Parallel workers divide the rows among them, but each reads the indexes.
 */
static void
limit_cost(const PlannedTable *table, CustomPath *path)
{
	RelOptInfo *rel = table->rel;
	List	   *joins = path_joins(path);
	int			workers = path->path.parallel_workers;
	double		divisor = filter_path_divisor(workers);
	Cost		plain_cost = workers > 0 ? table->plain_partial_cost : table->plain_cost;
	Cost		saved = (rel->rows - path->path.rows * divisor) *
		dropped_row_cost(table->root, joins);
	Cost		spent = 0;
	Cost		startup = 0;
	ListCell   *cell;

	foreach(cell, joins)
	{
		const IndexJoin *join = lfirst(cell);

		spent += join->read_cost * divisor +
			lookup_cost(join, join->may_fail ? rel->rows : rel->tuples);
		/* the join evaluates the key again for each row that passes */
		spent += expression_cost(table->root, join->key,
								 path->path.rows * divisor, &startup);
	}
	if (joins == NIL || saved < spent || plain_cost < 0)
		return;
	lower_cost(path, plain_cost);
}

/* Does a path probe nothing but arrays? */
static bool
probes_only_arrays(CustomPath *path)
{
	ListCell   *cell;

	foreach(cell, path_conditions(path))
	{
		if (((const ProbeCondition *) lfirst(cell))->kind != PROBE_ARRAY)
			return false;
	}
	return path_joins(path) == NIL && path_mark(path) == NULL;
}

/*
 * Can a path be added?  If it probes only arrays, it takes the place of a plain scan, which
 * has to be the cheapest path: then it costs just less.  Where core would use an index, its
 * plan remains.
 */
static bool
is_wanted(CustomPath *path, List *paths, Cost plain_cost)
{
	ListCell   *cell;

	if (!probes_only_arrays(path) || filter_scan_setting == FILTER_SCAN_FORCE)
		return true;
	foreach(cell, paths)
	{
		const Path *other = lfirst(cell);

		if (other->param_info == NULL && other->total_cost < plain_cost)
			return false;
	}
	if (plain_cost >= 0)
		lower_cost(path, plain_cost);
	return plain_cost >= 0;
}

/* Add a path with these probes, and a parallel one if possible. */
static void
add_paths(const PlannedTable *table, List *conditions, List *joins)
{
	RelOptInfo *rel = table->rel;
	CustomPath *path = make_path(table, conditions, joins, NULL, 0);
	bool		parallel_safe = path->path.parallel_safe;
	int			workers;

	limit_cost(table, path);
	/* add_path() may free the path */
	if (is_wanted(path, rel->pathlist, table->plain_cost))
		add_path(rel, &path->path);
	if (!parallel_safe)
		return;
	workers = compute_parallel_worker(rel, rel->pages, -1,
									  max_parallel_workers_per_gather);
	if (workers > 0)
	{
		path = make_path(table, conditions, joins, NULL, workers);
		limit_cost(table, path);
		if (is_wanted(path, rel->partial_pathlist, table->plain_partial_cost))
			add_partial_path(rel, &path->path);
	}
}

/* Does one of the conditions probe the same index with the same element as a join? */
static bool
is_probed(const IndexJoin *join, List *conditions)
{
	ListCell   *cell;

	foreach(cell, conditions)
	{
		const ProbeCondition *condition = lfirst(cell);
		const Const *index = (const Const *) condition->filter;

		if (condition->kind == PROBE_INDEX && IsA(index, Const) &&
			!index->constisnull && index->consttype == REGCLASSOID &&
			list_length(join->indexes) == 1 &&
			DatumGetObjectId(index->constvalue) == linitial_oid(join->indexes) &&
			equal(condition->element, join->key))
			return true;
	}
	return false;
}

/*
 * Can a join filter save more than it costs?  Not if the table's conditions leave few rows to
 * join, or if some path costs less than reading all pages.
 */
static bool
may_pay(RelOptInfo *rel)
{
	double		page_cost;
	ListCell   *cell;

	if (rel->tuples < JOIN_ROWS_MIN ||
		rel->rows * JOIN_ROW_COST < rel->tuples * PROBE_COST)
		return false;
	get_tablespace_page_costs(rel->reltablespace, NULL, &page_cost);
	foreach(cell, rel->pathlist)
	{
		Path	   *path = lfirst(cell);

		if (path->param_info == NULL &&
			path->total_cost < rel->pages * page_cost)
			return false;
	}
	return true;
}

/*
 * Can a scan that marks rows be made of this table, and may it pay?  To ask this takes less
 * time than to find the filter and its share.
 */
bool
filter_path_may_mark(PlannerInfo *root, RelOptInfo *rel)
{
	return is_candidate(rel, planner_rt_fetch(rel->relid, root)) &&
		(filter_scan_setting == FILTER_SCAN_FORCE || may_pay(rel));
}

/*
 * Make a path that marks rows that pass the probe "mark" and drops none; or NULL.  The table is
 * one that filter_path_may_mark() allows.  "workers" is the number of parallel workers, or 0.
 */
CustomPath *
filter_path_mark(PlannerInfo *root, RelOptInfo *rel, IndexJoin *mark,
				 int workers)
{
	PlannedTable table = {.root = root, .rel = rel};

	if (!heap_page_supported(planner_rt_fetch(rel->relid, root)->relid) ||
		(mark->may_fail && may_end_early(root)))
		return NULL;
	return make_path(&table, find_conditions(root, rel), NIL, mark, workers);
}

/*
 * Would a nested loop that looks up this table's rows in an index, once for each row of
 * another table, be cheaper than a scan without a filter?  If so, do not offer a filtered scan
 * that looks slightly cheaper: pages are cached, so the loop is better than its cost.
 */
static bool
is_looked_up(const PlannedTable *table)
{
	RelOptInfo *rel = table->rel;
	Cost		scan = table->plain_cost + rel->rows * cpu_operator_cost;
	ListCell   *cell;

	foreach(cell, rel->pathlist)
	{
		Path	   *path = lfirst(cell);
		int			other;
		QualCost	key;

		if (path->param_info == NULL ||
			!bms_get_singleton_member(PATH_REQ_OUTER(path), &other))
			continue;
		/* a hash join evaluates and hashes the key of each row */
		cost_qual_eval(&key, path->param_info->ppi_clauses, table->root);
		if (find_base_rel(table->root, other)->rows * path->total_cost <
			scan + rel->rows * key.per_tuple)
			return true;
	}
	return false;
}

/* Return the join filters that are expected to pay, besides "conditions": IndexJoins */
static List *
find_joins(const PlannedTable *table, List *conditions)
{
	List	   *joins = NIL;
	List	   *guarded = NIL;
	ListCell   *cell;

	/* a query of one table has no joins */
	if (bms_equal(table->rel->relids, table->root->all_baserels))
		return NIL;
	if (filter_scan_setting != FILTER_SCAN_FORCE &&
		(!may_pay(table->rel) || is_looked_up(table)))
		return NIL;
	foreach(cell, index_joins_find(table->root, table->rel))
	{
		IndexJoin  *filter = lfirst(cell);

		/* SHARE_UNKNOWN is negative */
		if (filter->share < 0)
			filter->share = 1;
		if ((filter->share > JOIN_SHARE_MAX && filter_scan_setting != FILTER_SCAN_FORCE) ||
			is_probed(filter, conditions))
			continue;
		if (filter->may_fail && may_end_early(table->root))
			continue;
		if (filter->may_fail)
			guarded = lappend(guarded, filter);
		else
			joins = lappend(joins, filter);
	}
	return list_concat(joins, guarded);
}

/* Adjust join sizes to the filters; of several for one key, to the most selective one. */
static void
size_joins(const PlannedTable *table, List *joins)
{
	ListCell   *cell;
	ListCell   *other;

	foreach(cell, joins)
	{
		const IndexJoin *filter = lfirst(cell);
		const IndexJoin *least = filter;

		foreach(other, joins)
		{
			const IndexJoin *candidate = lfirst(other);

			if (equal(candidate->key, filter->key) &&
				candidate->share < least->share)
				least = candidate;
		}
		if (filter == least)
			index_join_size(table->root, table->rel, filter);
	}
}

/*
 * Does a path look up each row of another table in a membership index of this table, at a
 * cost of at least one scan of this table per lookup?  If a partition has such a path, core
 * also considers a sequential scan of the partition for each outer row.
 */
static bool
is_vain_lookup(const PlannedTable *table, Path *path)
{
	Path	   *bitmap;

	if (!IsA(path, BitmapHeapPath) || path->param_info == NULL)
		return false;
	bitmap = ((BitmapHeapPath *) path)->bitmapqual;
	return IsA(bitmap, IndexPath) &&
		membership_is_method_of(((IndexPath *) bitmap)->indexinfo) &&
		path->total_cost >= table->plain_cost;
}

/* The cheapest path that asks a membership index of the table before it reads the table */
static IndexPath *
find_own_path(const RelOptInfo *rel)
{
	IndexPath  *cheapest = NULL;
	ListCell   *cell;

	foreach(cell, rel->pathlist)
	{
		Path	   *path = lfirst(cell);
		IndexPath  *scan;

		if (!IsA(path, BitmapHeapPath) || path->param_info != NULL)
			continue;
		scan = (IndexPath *) ((BitmapHeapPath *) path)->bitmapqual;
		if (IsA(scan, IndexPath) && membership_is_method_of(scan->indexinfo) &&
			(cheapest == NULL || scan->indextotalcost < cheapest->indextotalcost))
			cheapest = scan;
	}
	return cheapest;
}

/*
 * "column = constant", where core would read all pages by a bitmap if the index says "yes": ask
 * the index as a sequential scan begins, which reads them faster.
 */
static void
add_own_path(const PlannedTable *table)
{
	IndexPath  *scan = table->rel->tuples < JOIN_ROWS_MIN ||
		filter_scan_setting == FILTER_SCAN_FORCE ? NULL : find_own_path(table->rel);
	IndexJoin  *own = scan ?
		index_join_find_own(table->root, table->rel, scan->indexinfo) : NULL;
	CustomPath *path;

	if (own == NULL)
		return;
	path = make_path(table, NIL, NIL, NULL, 0);
	lfourth(path->custom_private) = own;
	path->path.parallel_safe &= own->parallel_safe;

	/*
	 * The index's cost is that of a scan of all pages times the chance of a
	 * "yes".  As of the bitmap, no part of it is saved by stopping early: the
	 * values that are looked up again and again may all be there.
	 */
	path->path.startup_cost += scan->indextotalcost;
	path->path.total_cost = path->path.startup_cost;
	add_path(table->rel, &path->path);
}

/* Add Filter Scan paths to a table, after all other paths were added. */
void
filter_path_add(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte)
{
	PlannedTable table = {
		.root = root,
		.rel = rel,
		.plain_cost = -1,
		.plain_partial_cost = -1
	};
	Path	   *scan;
	List	   *conditions;
	List	   *joins = NIL;
	ListCell   *cell;

	if (IS_DUMMY_REL(rel))
		return;
	/* note the costs of sequential scans before add_path() drops their paths */
	if ((scan = find_plain_scan(rel->pathlist)) != NULL)
	{
		table.plain_cost = scan->total_cost;
		foreach(cell, enable_seqscan ? rel->pathlist : NIL)
		{
			if (is_vain_lookup(&table, lfirst(cell)))
				rel->pathlist = foreach_delete_current(rel->pathlist, cell);
		}
	}
	if ((scan = find_plain_scan(rel->partial_pathlist)) != NULL)
		table.plain_partial_cost = scan->total_cost;
	if (filter_scan_setting == FILTER_SCAN_OFF || !is_candidate(rel, rte))
		return;
	conditions = find_conditions(root, rel);
	if (join_filter_setting != JOIN_FILTER_OFF)
		joins = find_joins(&table, conditions);
	if (conditions == NIL && joins == NIL)
	{
		if (rel->baserestrictinfo != NIL && heap_page_supported(rte->relid))
			add_own_path(&table);
		return;
	}
	if (!heap_page_supported(rte->relid))
		return;
	/* all forced paths cost 0, so add only one */
	if (conditions != NIL && (joins == NIL || filter_scan_setting != FILTER_SCAN_FORCE))
		add_paths(&table, conditions, NIL);
	if (joins != NIL)
	{
		size_joins(&table, joins);
		add_paths(&table, conditions, joins);
	}
}

/* Is a path a Filter Scan with join filters? */
bool
filter_path_is_filtered(Path *path)
{
	return IsA(path, CustomPath) && ((CustomPath *) path)->methods == &path_methods &&
		path_joins((CustomPath *) path) != NIL;
}
