/*
 * loop_path.c
 *	  Replaces nested loops that compare all rows of a Filter Scan, or of a join above one,
 *	  with all of the other side.
 *
 * A filter makes a nested loop look cheap: few rows are expected to pass, so core compares
 * each of them with all rows of the other side instead of hashing.  With LIMIT, the loop
 * looks cheaper still.  If more rows pass than expected, the loop takes hundreds of times as
 * long.  So after core has added its joins of two sides, each such loop is replaced by:
 *
 *		a hash join of the same sides;
 *		nested loops that look rows up in an index, which core may have dropped in favour of
 *		the replaced loop;
 *		and, if the loop returns sorted rows, or only the first rows are wanted, the loop
 *		itself, at its cost without filters.
 *
 * Core chooses the last one only if a query wants the first of very many rows.
 *
 * A nested loop that looks up each row that passes is as good as their number: of a table that
 * has grown, or with a condition on which the key depends, far more may pass.  A hash join of
 * the same sides takes little longer then.  So the loop has to cost less than that also if
 * WORSE_SHARE times as many rows pass.  And a hash join does not read its outer side if the
 * inner one turns out empty, while the loop reads all of the filtered table for nothing.
 */
#include "filter_path.h"

#include "scan/settings.h"
#include "scan/plan_tree.h"

#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"

/* A loop that would cost more than a hash join if more rows pass costs this much more */
#define WORSE_COST		1.02

/* Cost of probing a row of the inner side with the keys of stored rows: 40 ns (PROBE_HASH_NS) */
#define PROBE_STORED_COST	(2.5 * cpu_operator_cost)

/*
 * If the looked-up side is expected to return one row, which may mean none, hash it at a cost
 * of this share of the outer side's at most: if there is none, the outer side is not read.
 */
#define EMPTY_COST		0.3

/*
 * Does the inner path of a nested loop look up rows by the values of the outer one's rows?  Of
 * partitions, it may name the outer side's parent: from 17 on until the plan is made.
 */
static bool
looks_up(Path *inner, Path *outer)
{
	return bms_overlap(PATH_REQ_OUTER(inner), outer->parent->relids) ||
		bms_overlap(PATH_REQ_OUTER(inner), outer->parent->top_parent_relids);
}

/* Is a path a nested loop of these sides and this type? */
static bool
is_loop_of(Path *path, RelOptInfo *outer, RelOptInfo *inner, JoinType type)
{
	JoinPath   *loop = (JoinPath *) path;

	return IsA(path, NestPath) && loop->outerjoinpath->parent == outer &&
		loop->innerjoinpath->parent == inner && loop->jointype == type;
}

/* Does a nested loop compare each row that passes a join filter with all of its other side? */
static bool
compares_filtered(Path *path)
{
	Path	   *outer = ((NestPath *) path)->jpath.outerjoinpath;
	Path	   *inner = ((NestPath *) path)->jpath.innerjoinpath;

	return !looks_up(inner, outer) &&
		(filter_path_has_join(outer) || filter_path_has_join(inner));
}

/*
 * Make a nested loop of two paths that needs no parameters from other tables.  "extra" is
 * what core passes to a set_join_pathlist_hook for the two sides.
 */
Path *
loop_path_nested_loop(PlannerInfo *root, RelOptInfo *join, JoinType type,
					  Path *outer, Path *inner, List *pathkeys,
					  JoinPathExtraData *extra)
{
	JoinCostWorkspace workspace;

#if PG_VERSION_NUM >= 190000
	initial_cost_nestloop(root, &workspace, type, PGS_NESTLOOP_PLAIN, outer, inner,
						  extra);
#else
	initial_cost_nestloop(root, &workspace, type, outer, inner, extra);
#endif
	return (Path *) create_nestloop_path(root, join, type, &workspace, extra, outer,
										 inner, extra->restrictlist, pathkeys, NULL);
}

/*
 * Make a hash join of two paths; NULL if they have no clause that can be hashed.  "required"
 * are the tables whose rows parameterize the join; "extra" is as for loop_path_nested_loop().
 */
Path *
loop_path_hash_join(PlannerInfo *root, RelOptInfo *join, JoinType type,
					Path *outer, Path *inner, Relids required,
					JoinPathExtraData *extra)
{
	List	   *clauses = NIL;
	ListCell   *cell;
	JoinCostWorkspace workspace;

	foreach(cell, extra->restrictlist)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, cell);
		Relids		left = rinfo->left_relids;
		Relids		right = rinfo->right_relids;

		if (IS_OUTER_JOIN(type) &&
			RINFO_IS_PUSHED_DOWN(rinfo, join->relids))
			continue;
		if (rinfo->can_join && OidIsValid(rinfo->hashjoinoperator) &&
			((bms_is_subset(left, outer->parent->relids) &&
			  bms_is_subset(right, inner->parent->relids)) ||
			 (bms_is_subset(right, outer->parent->relids) &&
			  bms_is_subset(left, inner->parent->relids))))
			clauses = lappend(clauses, rinfo);
	}
	Assert(!looks_up(inner, outer) && !looks_up(outer, inner));
	if (clauses == NIL || !enable_hashjoin)
		return NULL;
	initial_cost_hashjoin(root, &workspace, type, clauses, outer, inner, extra,
						  false);
	return (Path *) create_hashjoin_path(root, join, type, &workspace, extra,
										 outer, inner, false,
										 extra->restrictlist, required,
										 clauses);
}

/*
 * Make a hash join of two paths whose outer side, which is filtered by an index, is stored first,
 * so that its keys filter the inner one (join_filter_store.c); NULL if that is not expected, or
 * there is no hash join.  The plan is core's hash join: only its cost is that with the filter,
 * which is added when the plan is finished.
 */
Path *
loop_path_stored_join(PlannerInfo *root, RelOptInfo *join, JoinType type,
					  Path *outer, Path *inner, JoinPathExtraData *extra)
{
	double		rows = inner->rows;
	double		passed = type == JOIN_INNER ? Max(join->rows, outer->rows) : outer->rows;
	Cost		before = rows * PROBE_STORED_COST + outer->total_cost - outer->startup_cost;
	Path	   *path;

	if (join_filter_setting == JOIN_FILTER_OFF || !join_drops_inner(type) ||
		outer->rows > rows * STORED_SHARE_MAX ||
		PATH_REQ_OUTER(outer) != NULL || PATH_REQ_OUTER(inner) != NULL)
		return NULL;
	inner->rows = Min(clamp_row_est(passed), rows);
	path = loop_path_hash_join(root, join, type, outer, inner, NULL, extra);
	inner->rows = rows;
	if (path == NULL)
		return NULL;
	path->total_cost += rows * PROBE_STORED_COST;
	path->startup_cost = Min(path->startup_cost + before, path->total_cost);
	return path;
}

/*
 * Return nested loops that look up inner rows in an index, where the given loop compares all
 * of them.
 */
static List *
lookups_instead(PlannerInfo *root, RelOptInfo *join, JoinPath *loop,
				bool partial, JoinPathExtraData *extra)
{
	Path	   *outer = loop->outerjoinpath;
	List	   *loops = NIL;
	ListCell   *cell;

	/* not for partitions: PATH_REQ_OUTER has their parent */
	if (outer->parent->top_parent_relids != NULL ||
		PATH_REQ_OUTER(&loop->path) != NULL)
		return NIL;
	foreach(cell, loop->innerjoinpath->parent->cheapest_parameterized_paths)
	{
		Path	   *inner = lfirst(cell);

		if (PATH_REQ_OUTER(inner) != NULL && (!partial || inner->parallel_safe) &&
			bms_is_subset(PATH_REQ_OUTER(inner), outer->parent->relids))
			loops = lappend(loops,
							loop_path_nested_loop(root, join, loop->jointype, outer, inner,
												  loop->path.pathkeys, extra));
	}
	return loops;
}

/* Set the cost of a nested loop with sorted rows to its cost without filters. */
static JoinPath *
priced_unfiltered(JoinPath *loop)
{
	Path	   *path = &loop->path;

	path->total_cost = path->startup_cost +
		(path->total_cost - path->startup_cost) *
		filter_path_unfiltered(path);
	return loop;
}

/*
 * Remove nested loops for which compares_filtered() is true from a list of paths, and return
 * the joins that replace them.  Keep joins of other sides and types: "extra" does not contain
 * their conditions.
 */
static List *
take_comparing(PlannerInfo *root, RelOptInfo *join, bool partial,
			   RelOptInfo *outer, RelOptInfo *inner, JoinType type,
			   JoinPathExtraData *extra)
{
	bool		is_unique = type == JOIN_UNIQUE_OUTER || type == JOIN_UNIQUE_INNER;
	List	  **paths = partial ? &join->partial_pathlist : &join->pathlist;
	List	   *instead = NIL;
	ListCell   *cell;

	foreach(cell, *paths)
	{
		JoinPath   *loop = lfirst(cell);
		Path	   *inner_path;
		Path	   *hash;

		if (!is_loop_of(&loop->path, outer, inner, is_unique ? JOIN_INNER : type) ||
			!compares_filtered(&loop->path))
			continue;
		inner_path = loop->innerjoinpath;
		if (IsA(inner_path, MaterialPath))
			inner_path = ((MaterialPath *) inner_path)->subpath;
		hash = loop_path_hash_join(root, join, loop->jointype, loop->outerjoinpath, inner_path,
								   PATH_REQ_OUTER(&loop->path), extra);
		if (hash == NULL)
			continue;
		*paths = foreach_delete_current(*paths, cell);
		instead = lappend(instead, hash);
		if (!is_unique)
			instead = list_concat(instead,
								  lookups_instead(root, join, loop, partial, extra));
		if (loop->path.pathkeys != NIL || root->tuple_fraction > 0)
			instead = lappend(instead, priced_unfiltered(loop));
	}
	return instead;
}

/*
 * If the outer side of a nested loop returned "factor" times as many rows at the same cost, would
 * the loop cost more than a hash join with this inner side, and with stored rows if "stored"?
 */
static bool
costs_more(PlannerInfo *root, RelOptInfo *join, JoinPath *loop, Path *inner, double factor,
		   bool stored, JoinPathExtraData *extra)
{
	Path	   *outer = loop->outerjoinpath;
	double		rows = outer->rows;
	Path	   *hash;
	Path	   *worse;

	outer->rows *= factor;
	worse = loop_path_nested_loop(root, join, loop->jointype, outer, loop->innerjoinpath, NIL,
								  extra);
	hash = stored ? loop_path_stored_join(root, join, loop->jointype, outer, inner, extra) :
		loop_path_hash_join(root, join, loop->jointype, outer, inner, NULL, extra);
	outer->rows = rows;
	return hash != NULL && worse->total_cost > hash->total_cost;
}

/*
 * Return the hash join that is the better one of two sides if more rows pass the join filters
 * below the loop's outer side, or if the other side is empty; NULL if there is none.
 */
static Path *
better_if_worse(PlannerInfo *root, RelOptInfo *join, JoinPath *loop, bool partial,
				JoinPathExtraData *extra)
{
	Path	   *outer = loop->outerjoinpath;
	Path	   *inner = loop->innerjoinpath;
	Path	   *other = inner->parent->cheapest_total_path;
	double		factor;
	Path	   *hash;
	Path	   *stored;

	if (PATH_REQ_OUTER(&loop->path) != NULL ||
		!looks_up(inner, outer) || !filter_path_has_join(outer) ||
		other == NULL || PATH_REQ_OUTER(other) != NULL || (partial && !other->parallel_safe))
		return NULL;
	factor = Min(WORSE_SHARE, filter_path_unfiltered(outer));
	hash = loop_path_hash_join(root, join, loop->jointype, outer, other, NULL, extra);
	if (hash != NULL && other->rows <= 1 &&
		(loop->jointype == JOIN_INNER || loop->jointype == JOIN_SEMI) &&
		hash->total_cost <= loop->path.total_cost + outer->total_cost * EMPTY_COST)
		return hash;
	if (hash == NULL)
		return NULL;
	stored = filter_path_is_filtered(outer) ?
		loop_path_stored_join(root, join, loop->jointype, outer, other, extra) : NULL;
	if (stored != NULL &&
		costs_more(root, join, loop, other, Min(FAR_CHEAPER, factor), true, extra))
		return stored;
	return costs_more(root, join, loop, other, factor, false, extra) ? hash : NULL;
}

/*
 * Remove nested loops for which there is a better_if_worse() path from a list of paths.  Return
 * these paths, and the loops with costs above theirs, for queries that want the first rows.
 */
static List *
take_looking_up(PlannerInfo *root, RelOptInfo *join, bool partial, RelOptInfo *outer,
				RelOptInfo *inner, JoinType type, JoinPathExtraData *extra)
{
	List	  **paths = partial ? &join->partial_pathlist : &join->pathlist;
	List	   *instead = NIL;
	ListCell   *cell;

	foreach(cell, *paths)
	{
		JoinPath   *loop = lfirst(cell);
		Path	   *hash;

		if (!is_loop_of(&loop->path, outer, inner, type))
			continue;
		hash = better_if_worse(root, join, loop, partial, extra);
		if (hash == NULL)
			continue;
		*paths = foreach_delete_current(*paths, cell);
		loop->path.total_cost = Max(loop->path.total_cost, hash->total_cost * WORSE_COST);
		instead = lappend(lappend(instead, hash), loop);
	}
	return instead;
}

/* The sequential scan of a table whose cheapest path is filtered; NULL: no such path */
static Path *
plain_scan(RelOptInfo *rel)
{
	ListCell   *cell;

	if (rel->cheapest_total_path == NULL || !filter_path_is_filtered(rel->cheapest_total_path))
		return NULL;
	foreach(cell, rel->pathlist)
	{
		Path	   *path = lfirst(cell);

		if (path->pathtype == T_SeqScan && path->param_info == NULL)
			return path;
	}
	return NULL;
}

/*
 * If the first rows are wanted, add the nested loops that compare rows of the outer side with
 * those of a plain scan: these begin at once, but core looks only at the cheapest path of the
 * inner side, which reads the whole table first.
 */
static void
add_plain_loops(PlannerInfo *root, RelOptInfo *join, RelOptInfo *outer,
				RelOptInfo *inner, JoinType type, JoinPathExtraData *extra)
{
	Path	   *plain = root->limit_tuples > 0 ? plain_scan(inner) : NULL;
	List	   *loops = NIL;
	ListCell   *cell;

	if (plain == NULL || !bms_is_empty(join->lateral_relids) ||
		(type != JOIN_INNER && type != JOIN_LEFT && type != JOIN_SEMI && type != JOIN_ANTI))
		return;
#if PG_VERSION_NUM >= 190000
	plain = (Path *) create_material_path(inner, plain, true);
#else
	plain = (Path *) create_material_path(inner, plain);
#endif
	foreach(cell, outer->pathlist)
	{
		Path	   *path = lfirst(cell);

		if (PATH_REQ_OUTER(path) == NULL)
			loops = lappend(loops,
							loop_path_nested_loop(root, join, type, path, plain,
												  build_join_pathkeys(root, join, type,
																	  path->pathkeys),
												  extra));
	}
	foreach(cell, loops)
		add_path(join, lfirst(cell));
}

/*
 * Add the hash joins of which the rows that pass a filter are stored, and filter the other side:
 * core's paths do not know of that.
 */
static void
add_stored_joins(PlannerInfo *root, RelOptInfo *join, RelOptInfo *outer,
				 RelOptInfo *inner, JoinType type, JoinPathExtraData *extra)
{
	Path	   *rows = outer->cheapest_total_path;
	Path	   *other = inner->cheapest_total_path;
	Path	   *path;

	if (other == NULL || !bms_is_empty(join->lateral_relids))
		return;
	path = rows != NULL && filter_path_is_filtered(rows) ?
		loop_path_stored_join(root, join, type, rows, other, extra) : NULL;
	if (path != NULL)
		add_path(join, path);
	rows = join->consider_parallel && outer->partial_pathlist != NIL && other->parallel_safe ?
		linitial(outer->partial_pathlist) : NULL;
	path = rows != NULL && filter_path_is_filtered(rows) ?
		loop_path_stored_join(root, join, type, rows, other, extra) : NULL;
	if (path != NULL)
		add_partial_path(join, path);
}

/*
 * Replace nested loops of two sides that core has added, if they have join filters.  The
 * arguments are those of a set_join_pathlist_hook.
 */
void
loop_path_replace(PlannerInfo *root, RelOptInfo *join, RelOptInfo *outer,
				  RelOptInfo *inner, JoinType type, JoinPathExtraData *extra)
{
	ListCell   *cell;

	foreach(cell, take_comparing(root, join, false, outer, inner, type, extra))
		add_path(join, lfirst(cell));
	foreach(cell, take_comparing(root, join, true, outer, inner, type, extra))
		add_partial_path(join, lfirst(cell));
	foreach(cell, take_looking_up(root, join, false, outer, inner, type, extra))
		add_path(join, lfirst(cell));
	foreach(cell, take_looking_up(root, join, true, outer, inner, type, extra))
		add_partial_path(join, lfirst(cell));
	add_plain_loops(root, join, outer, inner, type, extra);
	add_stored_joins(root, join, outer, inner, type, extra);
}
