/*
 * bypass_path.c
 *	  The planner's side of the Filter Bypass.
 *
 *		SELECT * FROM visits v
 *		WHERE NOT EXISTS (SELECT FROM blacklist b WHERE b.url = v.url)
 *
 * An anti, left or full join returns a row without a partner.  If a membership index on
 * the other table's column says that a row has none, it need not be joined:
 *
 *		Filter Bypass
 *		  -> a join of the few rows that are left: Nested Loop or Hash Join
 *			   -> Bypass Feeder
 *					-> Filter Scan, which marks the rows that may have a partner
 *			   -> the other side
 *
 * Core makes and costs the join, of a copy of the table's RelOptInfo that has fewer rows.
 * The feeder is the join's outer side, or, where core swaps the sides (right joins), its
 * inner one, which is hashed.  Each process joins the rows that it has scanned, so these
 * nodes are never below a Parallel Hash, or beside one.
 *
 * Which joins.  The preserved side is a table that a Filter Scan can scan.  The other side
 * may itself be a join; one of its tables has an index as index_join.c describes it.  The
 * join needs no parameters from outside.  The query hides no rows from the user, and has no
 * side effects.  It has no condition without variables: core would check that in a node
 * between those above.  The join does not involve partitions of a table that is changed.
 */
#include "bypass.h"

#include "scan/settings.h"
#include "scan/filter_path.h"
#include "scan/plan_tree.h"

#include <math.h>

#include "access/htup_details.h"
#include "miscadmin.h"
#if PG_VERSION_NUM >= 190000
#include "optimizer/extendplan.h"
#endif
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"

/*
 * Cost of a row that is returned at once; what remains of that at least when the cost of
 * the saved lookup is subtracted; and the cost of a row that is stored for a hash join
 */
#define BYPASS_COST			cpu_tuple_cost
#define BYPASS_COST_MIN		(0.25 * cpu_tuple_cost)
#define STORE_COST			(2.0 * cpu_tuple_cost)

/*
 * Cost of looking up a row without a partner: core counts only the hash, but the processor
 * waits for each row of a large hash table.  A table of at most CACHED_ROWS is in its
 * caches.  Measured with 4 million rows of 70 bytes: lists of 1,000, 10,000 and 100,000
 * took 540, 600 and 1,250 ms, and a bypass 620 to 650 ms.
 */
#define LOOKUP_COST			(2.0 * cpu_tuple_cost)
#define CACHED_ROWS			10000.0
#define UNCACHED_ROWS		100000.0

/*
 * The share of rows to be joined that we expect above a hash join if statistics of the key's
 * expression are missing: a tenth, as of the rows that pass a condition.  Measured with a
 * million rows and a list of 200,000: 0.65 of the CPU time of the hash join without the
 * bypass if no row had a partner, 0.83 if a fifth had one, 1.04 if half, and 1.02 if all.  A
 * nested loop, which goes on to look up each row, took 1.4 of it if all rows had a partner.
 */
#define BYPASS_SHARE_ASSUMED	0.1

/* For tests: the cost of a forced bypass is this share of what it would be */
#define FORCED_COST			1e-6

/* A join whose paths are searched for, and the filter that may bypass it */
typedef struct Bypass
{
	PlannerInfo *root;
	RelOptInfo *join;
	RelOptInfo *rel;			/* the side that is filtered */
	RelOptInfo *others;			/* the other side */
	bool		feeds_inner;	/* "rel" is the join's inner side */
	JoinType	type;
	JoinPathExtraData *extra;	/* core's */
	IndexJoin  *filter;
	double		share;			/* of rows to be joined, above a hash join */
} Bypass;

/* PlanCustomPath of both nodes: all conditions are below them, in scan and join. */
static Plan *
plan_above(PlannerInfo *root, RelOptInfo *rel, CustomPath *path,
		   List *targetlist, List *clauses, List *children)
{
	CustomScan *scan = makeNode(CustomScan);
	Plan	   *child = linitial(children);
	bool		is_feeder = is_custom(child, &filter_scan_node);

	Assert(is_feeder || IsA(child, NestLoop) || IsA(child, HashJoin));
	scan->scan.plan.targetlist = targetlist;

	/*
	 * the feeder counts as a scan of its table: pg_plan_advice wants one
	 * below each join
	 */
	scan->scan.scanrelid = is_feeder ? rel->relid : 0;
	scan->flags = path->flags;
	scan->custom_plans = children;
	scan->custom_scan_tlist = copyObject(child->targetlist);
	scan->methods = is_feeder ? &bypass_feeder_node.plan : &bypass_node.plan;
	return &scan->scan.plan;
}

static const CustomPathMethods path_methods = {
	.CustomName = "Filter Bypass",
	.PlanCustomPath = plan_above
};

/* A path of "rel" for a node of ours above "child" */
static CustomPath *
path_above(Path *child, RelOptInfo *rel)
{
	CustomPath *path = makeNode(CustomPath);

	path->path = *child;
	path->path.type = T_CustomPath;
	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;
	path->path.parallel_aware = false;
	path->path.pathkeys = NIL;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_paths = list_make1(child);
	path->methods = &path_methods;
	return path;
}

/*
 * The filtered side, as the join sees it: a path that returns the rows which may have a
 * partner, "share" of all, as if the table had no others.  NULL if it cannot be scanned in
 * this way.
 */
static Path *
make_feeder(const Bypass *bypass, int workers, double share)
{
	CustomPath *scan = filter_path_mark(bypass->root, bypass->rel,
										bypass->filter, workers);
	RelOptInfo *few;
	CustomPath *feeder;

	if (scan == NULL)
		return NULL;
	few = palloc(sizeof(RelOptInfo));
	*few = *bypass->rel;
	few->rows = clamp_row_est(few->rows * share);
	few->baserestrictinfo = NIL;
	few->pathlist = few->partial_pathlist = NIL;
	feeder = path_above(&scan->path, few);
	feeder->path.rows = clamp_row_est(scan->path.rows * share);
	return &feeder->path;
}

/* Cost of looking up a row without a partner in a hash table, beyond what core counts */
static Cost
lookup_cost(double rows)
{
	double		share;

	if (rows <= CACHED_ROWS)
		return 0;
	share = log(rows / CACHED_ROWS) / log(UNCACHED_ROWS / CACHED_ROWS);
	return Min(share, 1) * LOOKUP_COST;
}

/*
 * Cost of storing the rows to be joined.  If memory does not suffice, this includes the
 * cost that core has for the file of a batch, unless the share of these rows is only
 * assumed.  Measured with 2 million rows of two columns, and 4 MB of work_mem: a bypass was
 * as fast as a hash join if half of the rows, 70 % or all had a partner.
 */
static Cost
store_cost(const Path *feeder, bool assumed)
{
	double		bytes = feeder->rows * (MAXALIGN(feeder->pathtarget->width) +
										MAXALIGN(SizeofHeapTupleHeader));
	Cost		cost = feeder->rows * STORE_COST;

	if (!assumed && bytes > work_mem * 1024.0)
		cost += 2 * seq_page_cost * ceil(bytes / BLCKSZ);
	return cost;
}

/* The Filter Bypass above a join; NULL if there is no join */
static CustomPath *
make_bypass(const Bypass *bypass, Path *join, Path *feeder)
{
	Path	   *scan = linitial(castNode(CustomPath, feeder)->custom_paths);
	double		bypassed = scan->rows - feeder->rows;
	CustomPath *path;

	if (join == NULL)
		return NULL;
	path = path_above(join, bypass->join);
	/* core has set this to all rows of the join */
	join->rows = clamp_row_est(join->rows - bypassed);
	path->path.total_cost += bypassed * (BYPASS_COST - lookup_cost(bypass->others->rows));
	if (IsA(join, HashPath))
		path->path.total_cost += store_cost(feeder, bypass->filter->assumed);
	/* else core would find other joins cheaper above the bypass than below */
	path->path.total_cost = Max(path->path.total_cost,
								scan->total_cost + bypassed * BYPASS_COST_MIN);
	/* rows that are not joined come at once */
	path->path.startup_cost = Min(join->startup_cost, scan->startup_cost);
	if (filter_scan_setting == FILTER_SCAN_FORCE)
	{
		/* cheaper than any other path; of several, the cheapest wins */
		path->path.startup_cost *= FORCED_COST;
		path->path.total_cost *= FORCED_COST;
	}
	return path;
}

/* The cheaper of two paths, either of which may be NULL */
static Path *
cheaper(Path *one, Path *other)
{
	if (one == NULL || other == NULL)
		return one ? one : other;
	return compare_path_costs(one, other, TOTAL_COST) <= 0 ? one : other;
}

/*
 * The share of rows to be joined that we expect above a nested loop.  If the table has
 * conditions, these may pick just the rows that have partners.
 */
static double
looked_up_share(const Bypass *bypass)
{
	double		share = bypass->filter->share;

	return bypass->filter->assumed || bypass->rel->baserestrictinfo == NIL ? share :
		Min(share * WORSE_SHARE, 1);
}

/*
 * The cheapest Filter Bypass above a nested loop that looks up this share of the rows, or NULL.
 * The conditions are those of nodeNestloop.c, which never returns an inner row alone.
 */
static Path *
loop_bypass(const Bypass *bypass, int workers, double share)
{
	Path	   *feeder = make_feeder(bypass, workers, share);
	Path	   *loop = NULL;
	ListCell   *cell;

	if (bypass->feeds_inner || bypass->type == JOIN_FULL)
		return NULL;
	foreach(cell, bypass->others->cheapest_parameterized_paths)
	{
		Path	   *other = lfirst(cell);

		/* the join needs nothing from outside */
		if ((workers == 0 || other->parallel_safe) &&
			bms_is_subset(PATH_REQ_OUTER(other), bypass->rel->relids))
			loop = cheaper(loop, loop_path_nested_loop(bypass->root, bypass->join,
													   bypass->type, feeder, other,
													   NIL, bypass->extra));
	}
	return (Path *) make_bypass(bypass, loop, feeder);
}

/*
 * The cheapest Filter Bypass above a hash join, or NULL.  Set *stored if the stored rows are
 * expected to filter the other side.
 */
static Path *
hash_bypass(const Bypass *bypass, int workers, bool *stored)
{
	Path	   *feeder = make_feeder(bypass, workers, bypass->share);
	Path	   *other = bypass->others->cheapest_total_path;
	Path	   *hash = NULL;

	*stored = false;
	if (other == NULL || PATH_REQ_OUTER(other) != NULL || (workers > 0 && !other->parallel_safe))
		return NULL;
	if (!bypass->feeds_inner)
		hash = loop_path_stored_join(bypass->root, bypass->join, bypass->type, feeder, other,
									 bypass->extra);
	*stored = hash != NULL;
	if (hash == NULL)
		hash = loop_path_hash_join(bypass->root, bypass->join, bypass->type,
								   bypass->feeds_inner ? other : feeder,
								   bypass->feeds_inner ? feeder : other,
								   NULL, bypass->extra);
	return (Path *) make_bypass(bypass, hash, feeder);
}

/* The cheapest Filter Bypass for this number of parallel workers, or NULL */
static Path *
find_bypass(const Bypass *bypass, int workers)
{
	const List *paths = workers > 0 ? bypass->join->partial_pathlist : bypass->join->pathlist;
	double		share = looked_up_share(bypass);
	bool		stored;
	Path	   *hash;
	Path	   *loop;

	if (filter_path_mark(bypass->root, bypass->rel, bypass->filter, workers) == NULL)
		return NULL;
	hash = hash_bypass(bypass, workers, &stored);
	loop = loop_bypass(bypass, workers, share);

	/*
	 * a loop must be far cheaper than a hash join that cannot lose much, if
	 * that is cheaper than core's joins, the cheapest of which is the first
	 */
	if (loop != NULL && stored && (paths == NIL || cheaper(linitial(paths), hash) == hash) &&
		cheaper(loop_bypass(bypass, workers, Min(share * FAR_CHEAPER, 1)), hash) == hash)
		return hash;
	return cheaper(loop, hash);
}

static bool
has_pseudoconstant(List *clauses)
{
	ListCell   *cell;

	foreach(cell, clauses)
	{
		if (lfirst_node(RestrictInfo, cell)->pseudoconstant)
			return true;
	}
	return false;
}

/* Can each of the first rows that the query wants be looked up on the other side? */
static bool
ends_early(const Bypass *bypass)
{
	Cost		lookup = -1;
	ListCell   *cell;

	if (bypass->root->limit_tuples <= 0)
		return false;
	foreach(cell, bypass->others->cheapest_parameterized_paths)
	{
		Path	   *path = lfirst(cell);

		if (PATH_REQ_OUTER(path) != NULL &&
			bms_is_subset(PATH_REQ_OUTER(path), bypass->rel->relids) &&
			(lookup < 0 || path->total_cost < lookup))
			lookup = path->total_cost;
	}
	return lookup >= 0 && first_rows_are_near(bypass->root, bypass->rel, 1, lookup);
}

/*
 * An anti join returns all rows without a partner.  Core may expect one row, where the index
 * tells that most have none.
 */
static void
size_anti_join(const Bypass *bypass)
{
	RelOptInfo *join = bypass->join;
	bool		is_anti = bypass->type == JOIN_ANTI;
	ListCell   *cell;

#if PG_VERSION_NUM >= 160000
	is_anti |= bypass->type == JOIN_RIGHT_ANTI;
#endif
	if (!is_anti || bypass->filter->assumed)
		return;
	join->rows = Max(join->rows,
					 clamp_row_est(bypass->rel->rows * (1 - bypass->filter->share)));
	/* add_path() compares these */
	foreach(cell, join->pathlist)
	{
		Path	   *path = lfirst(cell);

		if (path->param_info == NULL)
			path->rows = Max(path->rows, join->rows);
	}
}

/* Add the paths that filter one side, in one process and in several. */
static void
add_paths(Bypass *bypass)
{
	IndexJoin  *filter;
	Path	   *path;
	int			workers;

	if (bypass->rel->reloptkind != RELOPT_BASEREL ||
		has_pseudoconstant(bypass->rel->baserestrictinfo) ||
		!filter_path_may_mark(bypass->root, bypass->rel) || ends_early(bypass))
		return;
	filter = index_join_find_preserved(bypass->root, bypass->rel,
									   bypass->others, bypass->join,
									   bypass->extra->restrictlist);
	if (filter == NULL)
		return;
	if (filter->share < 0)
	{
		if (filter_scan_setting != FILTER_SCAN_FORCE)
			return;
		filter->share = 1;
	}
	if (filter->share > BYPASS_SHARE_MAX && filter_scan_setting != FILTER_SCAN_FORCE)
		return;
	bypass->filter = filter;

	/*
	 * the share of several columns may come from a sample, others from
	 * numbers
	 */
	bypass->share = filter->assumed && !IsA(filter->key, List) ?
		Min(BYPASS_SHARE_ASSUMED, filter->share) : filter->share;
	size_anti_join(bypass);
	path = find_bypass(bypass, 0);
	if (path != NULL)
		add_path(bypass->join, path);
	/* a right or a full join would need a hash table that is shared */
	if (!bypass->join->consider_parallel || !filter->parallel_safe ||
		bypass->feeds_inner || bypass->type == JOIN_FULL)
		return;
	workers = compute_parallel_worker(bypass->rel, bypass->rel->pages, -1,
									  max_parallel_workers_per_gather);
	if (workers == 0)
		return;
	path = find_bypass(bypass, workers);
	if (path != NULL)
		add_partial_path(bypass->join, path);
}

/*
 * Does the join return columns that identify the rows of a changed table?  Core finds these
 * columns through joins and Appends, but not through other nodes.
 */
static bool
returns_row_identities(RelOptInfo *join)
{
	ListCell   *cell;

	foreach(cell, join->reltarget->exprs)
	{
		Var		   *var = lfirst(cell);

		if (IsA(var, Var) && var->varno == ROWID_VAR)
			return true;
	}
	return false;
}

/*
 * May another join be above a Filter Bypass?  Not if pg_plan_advice (19 and later) describes or
 * changes the plan: it raises an error where a side of a join is a custom scan of several tables.
 */
static bool
may_be_joined(PlannerInfo *root)
{
#if PG_VERSION_NUM >= 190000
	return GetPlannerGlobalExtensionState(root->glob,
										  GetPlannerExtensionId("pg_plan_advice")) == NULL;
#else
	return true;
#endif
}

/*
 * Add paths of a join that has just got core's paths for these two sides.  The arguments are
 * those of a set_join_pathlist_hook.
 */
void
bypass_add_paths(PlannerInfo *root, RelOptInfo *join, RelOptInfo *outer,
				 RelOptInfo *inner, JoinType type, JoinPathExtraData *extra)
{
	bool		outer_preserved = type == JOIN_LEFT || type == JOIN_ANTI ||
		type == JOIN_FULL;
	bool		inner_preserved = type == JOIN_RIGHT || type == JOIN_FULL;
	Bypass		bypass = {
		.root = root,
		.join = join,
		.rel = outer,
		.others = inner,
		.type = type,
		.extra = extra
	};

#if PG_VERSION_NUM >= 160000
	inner_preserved |= type == JOIN_RIGHT_ANTI;
#endif
	if (!(outer_preserved || inner_preserved) ||
		!bms_is_empty(join->lateral_relids) ||
		returns_row_identities(join) ||
		has_pseudoconstant(extra->restrictlist) ||
		filter_path_hides_rows(root) ||
		!(bms_is_subset(root->all_baserels, join->relids) || may_be_joined(root)))
		return;
	if (outer_preserved)
		add_paths(&bypass);
	if (inner_preserved)
	{
		bypass.rel = inner;
		bypass.others = outer;
		bypass.feeds_inner = true;
		add_paths(&bypass);
	}
}
