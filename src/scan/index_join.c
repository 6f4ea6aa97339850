/*
 * index_join.c
 *	  Finds membership indexes that a scan can probe because its rows are joined.
 *
 *		SELECT v.* FROM visits v JOIN blacklist b ON v.url = b.url
 *
 * If blacklist.url has a membership index, a row of visits whose url is not in the index
 * joins no row of blacklist, and the scan of visits need not return it.
 *
 * Correctness.  A row of "rel", the scanned table, may be dropped if it cannot be part of the
 * result without a partner in "other", the joined table.  Core checks the same before it
 * moves a join's condition into the scan of "rel" as a parameterized path: it moves
 * equivalences of inner and semijoins, and conditions of outer joins into the nullable side.
 * So we take the clauses that core generates for parameterized paths, and its test,
 * join_clause_is_movable_to().  These never drop rows of the preserved side of an outer join
 * or the left side of an anti join.
 *
 * Keys.  Each column of the index, plain or an expression, must be equated with an expression
 * of "rel", or be restricted to a constant by a condition of "other".  Core would check all
 * these conditions in one parameterized path, so a partner satisfies all of them.  The
 * operators are strict, so a NULL in the key joins nothing.  An outer join below may replace
 * a row of "other" by NULLs.  This is no partner either, unless an expression of the index is
 * not strict: clause_matches() detects that case before 16, and later core does not let the
 * expression match.  Each operator is an equality of its column's operator family, with the
 * column's collation.  An expression that may raise an error is evaluated only for rows that
 * satisfy the table's other conditions (filter_scan.c), as in core's joins.
 *
 * Indexes.  The index must contain the column's values, not the elements of arrays.  The
 * query must imply the index's predicate (predOK): then each row of "other" that the query
 * reads is in the index.  If "other" has partitions or inheritance children, each that the
 * query reads must have an index on the same columns, and the scan probes all of these.
 * Pruning partitions at run time only lets more rows pass, and attaching a partition
 * invalidates the plan.  If this transaction cannot probe an index at run time, all rows pass
 * (index/contains.c).  Dropping an index invalidates the plans of its table.
 *
 * Side effects.  A filter must not change for which rows a volatile function is called, or
 * which rows are locked.  So a query has no filters if it calls volatile functions for rows
 * that are not in its result, or locks such rows.
 *
 * Privileges.  The executor checks that the user, or the owner of the view that names
 * "other", may read it.  But the user's own conditions run on the rows that pass, and could
 * reveal values that policies of "other" hide.  And EXPLAIN shows how many rows of "rel" were
 * probed, before policies of "rel" hide some.  So tables with policies have no filters, on
 * either side.
 */
#include "filter_path.h"

#include "plan_tree.h"
#include "probe.h"

#include "index/lookup.h"

#include "access/relation.h"
#include "catalog/pg_class.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/appendinfo.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/plancat.h"
#include "parser/parsetree.h"
#include "planner/selectivity.h"
#include "utils/lsyscache.h"
#include "utils/spccache.h"

/* Looking up a row in more indexes than this would take longer than joining it. */
#define INDEXES_MAX			16

/*
 * Do row-level security or a security barrier view hide rows of a table?  For a partition,
 * the query has the conditions in the partition's parent.
 */
static bool
has_policies(PlannerInfo *root, Index relid)
{
	AppendRelInfo *parent;

	do
	{
		if (planner_rt_fetch(relid, root)->securityQuals != NIL)
			return true;
		parent = root->append_rel_array ? root->append_rel_array[relid] : NULL;
		relid = parent ? parent->parent_relid : 0;
	} while (parent);
	return false;
}

/*
 * Return the tables that a scan of "other" reads: "other" itself, or those of its partitions
 * or inheritance children that the query reads.  Return NIL if one of them is not a plain
 * table, or if there are more than INDEXES_MAX.
 */
static List *
leaves_of(PlannerInfo *root, RelOptInfo *other)
{
	RangeTblEntry *rte = planner_rt_fetch(other->relid, root);
	List	   *leaves = NIL;
	ListCell   *cell;

	if (rte->rtekind != RTE_RELATION)
		return NIL;
	if (!rte->inh)
		return rte->relkind == RELKIND_RELATION || rte->relkind == RELKIND_MATVIEW ?
			list_make1(other) : NIL;
	foreach(cell, root->append_rel_list)
	{
		AppendRelInfo *child = lfirst_node(AppendRelInfo, cell);
		RelOptInfo *rel = root->simple_rel_array[child->child_relid];
		List	   *added;

		if (child->parent_relid != other->relid || rel == NULL || IS_DUMMY_REL(rel))
			continue;
		added = leaves_of(root, rel);
		leaves = list_concat(leaves, added);
		if (added == NIL || list_length(leaves) > INDEXES_MAX)
			return NIL;
	}
	return leaves;
}

static bool
is_suitable(IndexOptInfo *info)
{
	Relation	index;
	bool		of_arrays;

	if (!membership_is_method_of(info) || info->hypothetical ||
		(info->indpred != NIL && !info->predOK))
		return false;
	/* the planner has locked the index */
	index = relation_open(info->indexoid, NoLock);
	of_arrays = membership_of_arrays(index);
	relation_close(index, NoLock);
	return !of_arrays;
}

/* State of the search for the clauses that equate the columns of an index */
typedef struct Search
{
	PlannerInfo *root;
	RelOptInfo *rel;			/* table to be scanned */
	RelOptInfo *other;			/* the table to which "rel" is joined */
	RelOptInfo *leaf;			/* one of leaves_of(other) */
	IndexOptInfo *index;		/* index of "leaf" */
	int			column;			/* column of "index", from 0 */
	bool		plain;			/* find only plain columns of "rel" */
} Search;

/* A clause that equates a column of the index */
typedef struct Match
{
	RestrictInfo *rinfo;
	Expr	   *element;		/* expression of "rel", or a constant */
	Oid			operator;		/* equality, with the column on its left */
} Match;

/* Is an operand, an expression of "other", the column of the index? */
static bool
is_key(const Search *search, Expr *operand)
{
	AttrNumber	attribute = search->index->indexkeys[search->column];
	Node	   *key = (Node *) operand;
	Var		   *var = var_of(key);

	if (attribute != 0 ?
		var == NULL || var->varno != (int) search->other->relid :
		!bms_equal(pull_varnos(search->root, key), search->other->relids))
		return false;
	if (search->leaf != search->other)
#if PG_VERSION_NUM >= 160000
		key = adjust_appendrel_attrs_multilevel(search->root, key, search->leaf,
												search->other);
#else
		key = adjust_appendrel_attrs_multilevel(search->root, key,
												search->leaf->relids,
												search->other->relids);
#endif
	if (attribute == 0)
		return match_index_to_operand(key, search->column, search->index);
	var = var_of(key);
	return var && var->varno == (int) search->leaf->relid &&
		var->varattno == attribute && var->varlevelsup == 0;
}

/* Does an expression need more than columns of the scanned row and external parameters? */
static bool
needs_others(Node *node, void *context)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Var:
			return ((Var *) node)->varattno <= 0 || ((Var *) node)->varlevelsup > 0;
		case T_Param:
			return ((Param *) node)->paramkind != PARAM_EXTERN;
		case T_PlaceHolderVar:
		case T_SubLink:
		case T_SubPlan:
		case T_AlternativeSubPlan:
			return true;
		default:
			return expression_tree_walker(node, needs_others, context);
	}
}

/* Can the scan of "rel" evaluate this expression to look it up? */
static bool
is_element(const Search *search, Expr *element)
{
	while (IsA(element, RelabelType))
		element = ((RelabelType *) element)->arg;
	if (IsA(element, Const))
		return !((Const *) element)->constisnull;
	if (search->rel == search->other)
		return IsA(element, Param);
	return bms_equal(pull_varnos(search->root, (Node *) element),
					 search->rel->relids) &&
		!needs_others((Node *) element, NULL) &&
		!contain_volatile_functions((Node *) element);
}

/*
 * Does a clause equate the index's column with an expression of the scan or a constant?  If
 * so, set *match.
 */
static bool
clause_matches(const Search *search, RestrictInfo *rinfo, Match *match)
{
	OpExpr	   *clause = (OpExpr *) rinfo->clause;
	IndexOptInfo *index = search->index;
	int			column = search->column;
	Oid			left;
	Oid			right;

	if (!IsA(clause, OpExpr) || list_length(clause->args) != 2 ||
		rinfo->pseudoconstant)
		return false;
	match->rinfo = rinfo;
	if (is_key(search, linitial(clause->args)))
	{
		match->element = lsecond(clause->args);
		match->operator = clause->opno;
	}
	else if (is_key(search, lsecond(clause->args)))
	{
		match->element = linitial(clause->args);
		match->operator = get_commutator(clause->opno);
	}
	else
		return false;
	if (!OidIsValid(match->operator) || !is_element(search, match->element))
		return false;
#if PG_VERSION_NUM < 160000
	/* later, core has other Vars for a row that may be replaced by NULLs */
	if (index->indexkeys[column] == 0 &&
		bms_overlap(rinfo->nullable_relids, search->other->relids))
		return false;
#endif
	op_input_types(match->operator, &left, &right);
	return op_strict(match->operator) &&
		get_op_opfamily_strategy(match->operator, index->opfamily[column]) == STRATEGY_EQUAL &&
		membership_agrees(get_opcode(match->operator), index->opcintype[column], right) &&
		(!OidIsValid(index->indexcollations[column]) ||
		 index->indexcollations[column] == clause->inputcollid) &&
		can_be_hashed((Node *) match->element, index->indexcollations[column]);
}

/*
 * An ec_matches_callback_type: does the equivalence class contain the index's column, and is
 * "em" of the kind that search->plain asks for?
 */
static bool
class_has_column(PlannerInfo *root, RelOptInfo *rel, EquivalenceClass *ec,
				 EquivalenceMember *em, void *arg)
{
	const Search *search = (const Search *) arg;
	ListCell   *cell;

	if (search->plain != (var_of((Node *) em->em_expr) != NULL))
		return false;
	foreach(cell, ec->ec_members)
	{
		EquivalenceMember *member = lfirst_node(EquivalenceMember, cell);

		if (!member->em_is_child &&
			bms_equal(member->em_relids, search->other->relids) &&
			is_key(search, member->em_expr))
			return true;
	}
	return false;
}

/* Return the clauses that may be moved into the scan, if they equate the index's column. */
static List *
movable_clauses(Search *search)
{
	RelOptInfo *rel = search->rel;
	List	   *clauses = NIL;
	ListCell   *cell;

	/* core takes the first match of a class: so try plain columns first */
	for (int plain = 1; rel->has_eclass_joins && clauses == NIL && plain >= 0; plain--)
	{
		search->plain = plain;
		clauses = generate_implied_equalities_for_column(search->root, rel,
														 class_has_column,
														 search,
														 rel->lateral_referencers);
	}
	foreach(cell, rel->joininfo)
	{
		if (join_clause_is_movable_to(lfirst(cell), rel))
			clauses = lappend(clauses, lfirst(cell));
	}
	return clauses;
}

/* Return a match of the index's column among some clauses, or NULL. */
static Match *
find_match(const Search *search, List *clauses)
{
	Match	   *match = palloc(sizeof(Match));
	ListCell   *cell;

	foreach(cell, clauses)
	{
		if (clause_matches(search, lfirst_node(RestrictInfo, cell), match))
			return match;
	}
	return NULL;
}

/*
 * Return a Match for each column of the index, or NIL if a column has none.  "clauses" are
 * those to choose from; NIL: those that may be moved into the scan.
 */
static List *
match_index(Search *search, List *clauses)
{
	List	   *matches = NIL;
	bool		is_joined = false;

	for (int i = 0; i < search->index->nkeycolumns; i++)
	{
		Match	   *match;

		search->column = i;
		match = find_match(search, clauses ? clauses : movable_clauses(search));
		is_joined |= match != NULL;
		if (match == NULL)
			match = find_match(search, search->other->baserestrictinfo);
		if (match == NULL)
			return NIL;
		matches = lappend(matches, match);
	}
	return is_joined ? matches : NIL;
}

/* Return the RestrictInfos of some matches. */
static List *
clauses_of(List *matches)
{
	List	   *clauses = NIL;
	ListCell   *cell;

	foreach(cell, matches)
		clauses = lappend(clauses, ((Match *) lfirst(cell))->rinfo);
	return clauses;
}

/* Return the types by which to hash the matched expressions, to find them in an index. */
static List *
key_types_of(IndexOptInfo *info, List *matches)
{
	/* the planner has locked the index */
	Relation	index = relation_open(info->indexoid, NoLock);
	List	   *types = NIL;
	ListCell   *cell;

	foreach(cell, matches)
	{
		const Match *match = lfirst(cell);
		Oid			left;
		Oid			right;

		op_input_types(match->operator, &left, &right);
		types = lappend_oid(types,
							membership_key_type(index, foreach_current_index(cell), right,
												get_opcode(match->operator)));
		Assert(OidIsValid(llast_oid(types)));
	}
	relation_close(index, NoLock);
	return types;
}

static void
add_index(IndexJoin *filter, IndexOptInfo *info)
{
	double		page_cost;

	get_tablespace_page_costs(info->reltablespace, NULL, &page_cost);
	filter->indexes = lappend_oid(filter->indexes, info->indexoid);
	filter->read_cost += info->pages * page_cost;
	/* other processes cannot read a temporary index */
	if (get_rel_persistence(info->indexoid) == RELPERSISTENCE_TEMP)
		filter->parallel_safe = false;
}

/*
 * A filter has an index of the first leaf: add an index of each other leaf with the same
 * key.  Return false if a leaf has none.
 */
static bool
add_leaves(const Search *first, IndexJoin *filter, List *leaves)
{
	ListCell   *cell;
	ListCell   *other;

	for_each_from(cell, leaves, 1)
	{
		Search		search = *first;

		search.leaf = lfirst(cell);
		foreach(other, search.leaf->indexlist)
		{
			List	   *matches;

			search.index = lfirst_node(IndexOptInfo, other);
			if (search.index->nkeycolumns != first->index->nkeycolumns ||
				!is_suitable(search.index))
				continue;
			matches = match_index(&search, filter->clauses);
			if (equal(clauses_of(matches), filter->clauses) &&
				equal(key_types_of(search.index, matches), filter->types))
			{
				add_index(filter, search.index);
				break;
			}
		}
		if (other == NULL)
			return false;
	}
	return true;
}

/* Make a filter of an index of the first leaf, and one of each other leaf; or return NULL. */
static IndexJoin *
make_filter(Search *search, List *leaves, List *matches)
{
	IndexJoin  *filter = palloc0(sizeof(IndexJoin));
	List	   *elements = NIL;
	ListCell   *cell;

	filter->source = search->other->relid;
	filter->clauses = clauses_of(matches);
	filter->types = key_types_of(search->index, matches);
	filter->parallel_safe = true;
	add_index(filter, search->index);
	if (!add_leaves(search, filter, leaves))
		return NULL;
	foreach(cell, matches)
		elements = lappend(elements, copyObject(((Match *) lfirst(cell))->element));
	filter->key = list_length(elements) == 1 ? linitial(elements) : (Node *) elements;
	filter->may_fail = probe_may_fail(filter->key);
	filter->parallel_safe &= is_parallel_safe(search->root, filter->key);
	if (search->rel == search->other)
		return filter;
	filter->share = membership_join_share(search->root, filter->indexes,
										  get_opcode(((Match *) linitial(matches))->operator),
										  filter->key, filter->types,
										  search->index->indexcollations[0],
										  &filter->assumed);
	return filter;
}

/* Is a filter expected to let fewer rows pass than another?  A known share is better. */
static bool
is_better(const IndexJoin *filter, const IndexJoin *other)
{
	if (filter->share < 0 || other->share < 0)
		return filter->share > other->share;
	return filter->share < other->share;
}

/*
 * Add a filter to the list.  Of several with a common equality keep only the best, because
 * their shares are not independent.
 */
static List *
keep_better(List *filters, IndexJoin *filter)
{
	List	   *others = NIL;
	ListCell   *cell;

	foreach(cell, filters)
	{
		IndexJoin  *before = lfirst(cell);

		if (list_intersection(before->clauses, filter->clauses) == NIL)
			others = lappend(others, before);
		else if (!is_better(filter, before))
			return filters;
	}
	return lappend(others, filter);
}

/*
 * Return an IndexJoin that looks rows of "rel" up in an index of the first of other's leaves, and
 * in one of each other leaf; or NULL.  "clauses" are the conditions that joined rows satisfy; NIL:
 * those that core could move into a scan of "rel".
 */
static IndexJoin *
join_by_index(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *other, List *leaves,
			  IndexOptInfo *index, List *clauses)
{
	Search		search = {
		.root = root,
		.rel = rel,
		.other = other,
		.leaf = linitial(leaves),
		.index = index
	};
	List	   *matches = is_suitable(index) ? match_index(&search, clauses) : NIL;

	if (matches == NIL ||
		(clauses == NIL &&
		 first_rows_by_lookups(root, rel, other, ((Match *) linitial(matches))->rinfo)))
		return NULL;
	return make_filter(&search, leaves, matches);
}

/*
 * Return the indexes of "other" in which to look rows of "rel" up: a list of IndexJoin, one
 * for each key.
 */
static List *
joins_between(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *other,
			  List *clauses)
{
	List	   *filters = NIL;
	List	   *leaves;
	ListCell   *cell;

	if (other->reloptkind != RELOPT_BASEREL || has_policies(root, other->relid))
		return NIL;
	leaves = leaves_of(root, other);
	if (leaves == NIL)
		return NIL;
	foreach(cell, ((RelOptInfo *) linitial(leaves))->indexlist)
	{
		IndexJoin  *filter = join_by_index(root, rel, other, leaves, lfirst(cell), clauses);

		if (filter != NULL)
			filters = keep_better(filters, filter);
	}
	return filters;
}

/* Does a query, or one in an expression, lock rows? */
static bool
query_locks_rows(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return ((Query *) node)->rowMarks != NIL ||
			query_tree_walker((Query *) node, query_locks_rows, context, 0);
	return expression_tree_walker(node, query_locks_rows, context);
}

/* May the query have side effects for rows that are not in its result? */
static bool
find_side_effects(PlannerInfo *root)
{
	Query		query = *root->parse;
	ListCell   *cell;

	query.targetList = query.returningList = query.rowMarks = NIL;
	if (contain_volatile_functions((Node *) &query) ||
		query_locks_rows((Node *) &query, NULL))
		return true;

	/* the query's expressions have parameters instead of its subplans */
	foreach(cell, root->glob->subroots)
	{
		Node	   *subquery = (Node *) lfirst_node(PlannerInfo, cell)->parse;

		if (contain_volatile_functions(subquery) ||
			query_locks_rows(subquery, NULL))
			return true;
	}
	return false;
}

/* Call find_side_effects(), but for all partitions of a table once. */
static bool
has_side_effects(PlannerInfo *root)
{
	PlannedQuery *query = planned_query(root);
	int			subroots = list_length(root->glob->subroots);

	if (query->root != root || query->subroots != subroots)
	{
		query->side_effects = find_side_effects(root);
		query->root = root;
		query->subroots = subroots;
	}
	return query->side_effects;
}

/*
 * Find the indexes of other tables that a scan of "rel" can probe.  Returns a list of
 * IndexJoin.  If no table of the query has a membership index, this only looks at the list of
 * each table's indexes.
 */
List *
index_joins_find(PlannerInfo *root, RelOptInfo *rel)
{
	List	   *filters = NIL;

	if (has_policies(root, rel->relid))
		return NIL;
	for (int i = -1; (i = bms_next_member(root->all_baserels, i)) >= 0;)
	{
		/* a partition is not joined with its own parents */
		if (i != (int) rel->relid && !bms_is_member(i, rel->top_parent_relids))
			filters = list_concat(filters,
								  joins_between(root, rel, root->simple_rel_array[i], NIL));
	}
	return filters == NIL || has_side_effects(root) ? NIL : filters;
}

/*
 * Do a table's own conditions equate the columns of one of its indexes with constants or
 * parameters of the query?  Return this as an IndexJoin of the table with itself, or NULL.
 */
IndexJoin *
index_join_find_own(PlannerInfo *root, RelOptInfo *rel, IndexOptInfo *index)
{
	List	   *leaves = has_policies(root, rel->relid) ? NIL : leaves_of(root, rel);

	return leaves == NIL ? NULL :
		join_by_index(root, rel, rel, leaves, index, rel->baserestrictinfo);
}

/*
 * Find the index of "others" that recognizes rows of "rel" without a partner best.  "rel" is
 * the side of an outer or anti join whose rows without a partner are returned; "clauses" are
 * the conditions of "join", which joins both sides.  Returns NULL if there is no index.
 * Unlike index_joins_find(), this uses only the join's own equalities.
 */
IndexJoin *
index_join_find_preserved(PlannerInfo *root, RelOptInfo *rel,
						  RelOptInfo *others, RelOptInfo *join, List *clauses)
{
	List	   *own = NIL;
	List	   *filters = NIL;
	IndexJoin  *best = NULL;
	bool		has_guard = false;
	int			relid = -1;
	ListCell   *cell;

	if (rel->reloptkind != RELOPT_BASEREL || has_policies(root, rel->relid))
		return NULL;
	foreach(cell, clauses)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, cell);

		if (RINFO_IS_PUSHED_DOWN(rinfo, join->relids))
			continue;
		own = lappend(own, rinfo);
		/* a condition on "rel" alone may protect the key from errors */
		has_guard |= bms_is_subset(rinfo->clause_relids, rel->relids);
	}
	if (own == NIL)
		return NULL;
	while ((relid = bms_next_member(others->relids, relid)) >= 0)
	{
		/* NULL if relid is that of an outer join */
		RelOptInfo *other = root->simple_rel_array[relid];

		if (other != NULL)
			filters = list_concat(filters,
								  joins_between(root, rel, other, own));
	}
	foreach(cell, filters)
	{
		IndexJoin  *filter = lfirst(cell);

		if (filter->may_fail && has_guard)
			continue;
		if (best == NULL || is_better(filter, best))
			best = filter;
	}
	return best == NULL || has_side_effects(root) ? NULL : best;
}

/*
 * Return a filter's equalities as clauses of "upper", the filtered table or the partitioned
 * table that it belongs to; NIL if core derives other clauses for "upper".
 */
List *
index_join_clauses(PlannerInfo *root, RelOptInfo *upper, RelOptInfo *other,
				   const IndexJoin *filter)
{
	Search		search = {.root = root, .rel = upper, .other = other};
	ListCell   *cell;
	ListCell   *index;

	foreach(cell, leaves_of(root, other))
	{
		search.leaf = lfirst(cell);
		foreach(index, search.leaf->indexlist)
		{
			search.index = lfirst_node(IndexOptInfo, index);
			if (search.index->indexoid == linitial_oid(filter->indexes))
				return clauses_of(match_index(&search, NIL));
		}
	}
	return NIL;
}
