/*
 * first_rows.c
 *	  Does a query that wants only its first rows find them without a filter?
 *
 * A filter reads all of a table.  Where core reads few rows, in the order of an index, and looks
 * their partners up, it cannot pay.  To ask this takes less time than to find a filter and the
 * share of the rows that pass, which would be most of the time that planning takes.
 */
#include "filter_path.h"

#include "scan/settings.h"
#include "catalog/pg_am.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "utils/selfuncs.h"

/*
 * To find the first rows of an order, expect to look up this many times as many: some have a
 * partner.  In any order a bypass finds them at once, too, and faster if most have one.
 */
#define EARLY_ROWS			4.0
#define EARLY_ROWS_UNORDERED	100.0

/* A look-up in a btree, whose inner pages are cached, reads a leaf and a row. */
#define LOOKUP_PAGES		2.0

/*
 * Does it cost less than reading the pages of "rel" to look up some of its rows, those that come
 * first in the query's order, at a cost of "lookup" each?  "share" of them is in the result.
 * False if the query wants all rows.
 */
bool
first_rows_are_near(PlannerInfo *root, RelOptInfo *rel, double share, Cost lookup)
{
	double		wanted = root->limit_tuples / share *
		(root->query_pathkeys == NIL ? EARLY_ROWS_UNORDERED : EARLY_ROWS);
	ListCell   *cell;

	if (root->limit_tuples <= 0 || wanted >= rel->rows ||
		filter_scan_setting == FILTER_SCAN_FORCE)
		return false;
	foreach(cell, rel->pathlist)
	{
		Path	   *path = lfirst(cell);
		Cost		run = path->total_cost - path->startup_cost;

		if (path->param_info == NULL &&
			pathkeys_contained_in(root->query_pathkeys, path->pathkeys) &&
			path->startup_cost + run * wanted / path->rows + lookup * wanted <
			rel->pages * seq_page_cost)
			return true;
	}
	return false;
}

/* Is a table the inner side of an outer join or a semijoin, or a side of a full join? */
static bool
may_be_inner(PlannerInfo *root, RelOptInfo *rel)
{
	ListCell   *cell;

	foreach(cell, root->join_info_list)
	{
		SpecialJoinInfo *join = lfirst_node(SpecialJoinInfo, cell);

		if (join->jointype == JOIN_FULL || bms_overlap(join->syn_righthand, rel->relids))
			return true;
	}
	return false;
}

/* The number of distinct values of an expression of a table; 0 if it is not known */
static double
distinct_values(PlannerInfo *root, Node *expression, RelOptInfo *rel)
{
	VariableStatData variable;
	bool		is_default;
	double		distinct;

	examine_variable(root, expression, rel->relid, &variable);
	distinct = get_variable_numdistinct(&variable, &is_default);
	ReleaseVariableStats(variable);
	return is_default ? 0 : Min(distinct, rel->rows);
}

static bool
has_btree(RelOptInfo *rel, Node *key)
{
	ListCell   *cell;

	foreach(cell, rel->indexlist)
	{
		IndexOptInfo *index = lfirst_node(IndexOptInfo, cell);

		if (index->relam == BTREE_AM_OID && match_index_to_operand(key, 0, index))
			return true;
	}
	return false;
}

/*
 * "rel" is joined to "other", perhaps by this equality.  Does core find the first rows by looking up rows
 * of "rel" in a btree of "other"?
 */
bool
first_rows_by_lookups(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *other,
					  RestrictInfo *equality)
{
	List	   *args = ((OpExpr *) equality->clause)->args;
	bool		is_left = bms_equal(equality->left_relids, rel->relids);
	Node	   *own = is_left ? linitial(args) : lsecond(args);
	Node	   *key = is_left ? lsecond(args) : linitial(args);
	double		distinct;

	if (root->limit_tuples <= 0 || !first_rows_are_near(root, rel, 1, 0) ||
		!bms_equal(is_left ? equality->right_relids : equality->left_relids, other->relids) ||
		may_be_inner(root, rel) || !has_btree(other, key))
		return false;
	distinct = distinct_values(root, own, rel);
	return distinct > 0 &&
		first_rows_are_near(root, rel,
							Min(Max(distinct_values(root, key, other), 1) / distinct, 1),
							LOOKUP_PAGES * random_page_cost);
}
