/*
 * index_join.c
 *	  Finds membership indexes that a scan can probe because its rows are joined.
 *
 *		SELECT v.* FROM visits v JOIN blacklist b ON v.url = b.url
 *
 * If blacklist.url has a membership index, a row of visits that is not in it joins
 * no row of blacklist, and the scan of visits need not return it.
 *
 * When that is right.  We may drop a row of "rel" if it cannot be part of the
 * result without a partner in the other table.  Core decides the same before it moves
 * a join's condition into the scan of "rel" as a parameterized path: it may do so for
 * the equivalences of inner and semi-joins, and for conditions of outer joins on the
 * nullable side.  So we take the clauses that core generates for such paths, and its
 * test (join_clause_is_movable_to).  The preserved side of an outer join, and the left
 * side of an anti join, are not among them.
 *
 * Which keys.  Each column of the index, plain or an expression, is equated with an
 * expression of the scanned table, or the other table's rows are restricted to a constant
 * there.  Core would check all these conditions in one parameterized path, so a partner
 * satisfies all of them.  The operators are strict, so a NULL in the key joins nothing; the
 * other table's row may be made NULL by an outer join below, and is then no partner, unless
 * an expression of the index is not strict: core tells us, or does not let it match.  Each
 * operator is an equality of its column's family, of the same collation.  An expression
 * that may fail is evaluated only for rows that satisfy the table's other conditions
 * (filter_scan.c), as core's joins do.
 *
 * Which indexes.  The index holds the column's values, and not the elements of arrays.  A
 * predicate must be implied by the query: then core reads the table by the index alone,
 * so the rows that are not in it are no part of the result (predOK).  Of a table with
 * partitions or inheritance children, each one that the query reads has such an index, of
 * the same columns, and the scan probes all of them: rows of partitions that are pruned at
 * run time only let more rows pass, and one that is attached later makes a new plan.  If
 * an index cannot be probed at run time, or not by this transaction, all rows pass
 * (index/contains.c).  Dropping an index invalidates the plans on its table.
 *
 * Side effects.  A filter must not change for which rows a volatile function is called, or
 * which are locked.  So a query that does either to other rows than those of its result has
 * no filters.
 *
 * Privileges.  The executor checks that the user, or the owner of the view that
 * names the other table, may read it.  But the user's own conditions run on the rows
 * that pass, and would reveal values that policies of the other table hide.  And
 * EXPLAIN shows how many rows of "rel" were probed before policies of "rel" hide
 * them.  So tables with policies have no filters, on either side.
 */
#include "filter_path.h"

#include "plan_tree.h"
#include "probe.h"

#include "index/membership.h"

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

/* Looking up a row in more indexes than this would cost more than joining it. */
#define INDEXES_MAX			16

/*
 * Do row-level security or the conditions of a security barrier hide rows?  A
 * partition has none of its own in the query: they are those of its parent.
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
 * The tables of which a scan of "other" returns rows: itself, or those of its partitions or
 * inheritance children that the query reads.  NIL if one of them is no plain table, or
 * if there are more than INDEXES_MAX.
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
	/* the planner has locked it */
	index = relation_open(info->indexoid, NoLock);
	of_arrays = membership_of_arrays(index);
	relation_close(index, NoLock);
	return !of_arrays;
}

/* The search for the clauses by which a scan can probe an index */
typedef struct Search
{
	PlannerInfo *root;
	RelOptInfo *rel;			/* to be scanned */
	RelOptInfo *other;			/* the table that it is joined to */
	RelOptInfo *leaf;			/* one of leaves_of(other) */
	IndexOptInfo *index;		/* of the leaf */
	int			column;			/* of the index */
	bool		plain;			/* compared with a column of the scan */
} Search;

/* What a column of the index is compared with */
typedef struct Match
{
	RestrictInfo *rinfo;
	Expr	   *element;		/* an expression of the scan, or a constant */
	Oid			operator;		/* with the column on its left */
} Match;

/* Is an expression of the other table the column of the index? */
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

/* Is there a part of an expression that a scan cannot evaluate for itself? */
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

/* Can the scan look up this expression? */
static bool
is_element(const Search *search, Expr *element)
{
	if (IsA(element, Const))
		return !((Const *) element)->constisnull;
	return bms_equal(pull_varnos(search->root, (Node *) element),
					 search->rel->relids) &&
		!needs_others((Node *) element, NULL) &&
		!contain_volatile_functions((Node *) element);
}

/*
 * May an outer join below the condition have made the other table's row NULL?  From 16
 * on it is then another variable.
 */
static bool
is_nullable(const Search *search, const RestrictInfo *rinfo)
{
#if PG_VERSION_NUM >= 160000
	return false;
#else
	return bms_overlap(rinfo->nullable_relids, search->other->relids);
#endif
}

/*
 * Does this clause compare the index's column by "=" with an expression of the scan, or
 * with a constant?  If so, set *match.
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
	if (!OidIsValid(match->operator) || !is_element(search, match->element) ||
		(index->indexkeys[column] == 0 && is_nullable(search, rinfo)))
		return false;
	op_input_types(match->operator, &left, &right);
	return op_strict(match->operator) &&
		get_op_opfamily_strategy(match->operator, index->opfamily[column]) == STRATEGY_EQUAL &&
		membership_agrees(get_opcode(match->operator), index->opcintype[column], right) &&
		(!OidIsValid(index->indexcollations[column]) ||
		 index->indexcollations[column] == clause->inputcollid) &&
		can_be_hashed((Node *) match->element, index->indexcollations[column]);
}

/*
 * An ec_matches_callback_type: does the class hold the index's column, and is this a
 * member that we look for?
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

/* The clauses of an index's column that may be moved into the scan if they match */
static List *
movable_clauses(Search *search)
{
	RelOptInfo *rel = search->rel;
	List	   *clauses = NIL;
	ListCell   *cell;

	/* core takes the first match: so look for a plain column first */
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

/* Find a match of the index's column among some clauses. */
static Match *
find_match(const Search *search, List *clauses)
{
	ListCell   *cell;

	foreach(cell, clauses)
	{
		Match		match;

		if (clause_matches(search, lfirst_node(RestrictInfo, cell), &match))
			return memcpy(palloc(sizeof(Match)), &match, sizeof(Match));
	}
	return NULL;
}

/*
 * A match for each column of the index, or NIL.  "clauses" are those to choose from; NIL:
 * those that may be moved into the scan.
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

/* The equalities of some matches */
static List *
clauses_of(List *matches)
{
	List	   *clauses = NIL;
	ListCell   *cell;

	foreach(cell, matches)
		clauses = lappend(clauses, ((Match *) lfirst(cell))->rinfo);
	return clauses;
}

/* The types by which to hash the elements for an index */
static List *
key_types_of(IndexOptInfo *info, List *matches)
{
	/* the planner has locked it */
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

/* Add an index to those of a filter. */
static void
add_index(IndexJoin *filter, IndexOptInfo *info)
{
	double		page_cost;

	get_tablespace_page_costs(info->reltablespace, NULL, &page_cost);
	filter->indexes = lappend_oid(filter->indexes, info->indexoid);
	filter->read_cost += info->pages * page_cost;
	/* no other process can read it */
	if (get_rel_persistence(info->indexoid) == RELPERSISTENCE_TEMP)
		filter->parallel_safe = false;
}

/*
 * Add to a filter, which has an index of the first of these tables, one of each of the
 * others that holds the same key.  Returns false if one has none.
 */
static bool
add_leaves(const Search *first, IndexJoin *filter, List *leaves)
{
	ListCell   *cell;
	ListCell   *other;

	for_each_from(cell, leaves, 1)
	{
		Search		search = *first;
		int			before = list_length(filter->indexes);

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
		if (list_length(filter->indexes) == before)
			return false;
	}
	return true;
}

/* Make a filter of an index with these matches, which the first of "leaves" has; or NULL */
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
	filter->share = membership_join_share(search->root, filter->indexes,
										  get_opcode(((Match *) linitial(matches))->operator),
										  filter->key, filter->types,
										  search->index->indexcollations[0],
										  &filter->assumed);
	return filter;
}

/* Is a filter expected to let fewer rows pass than another? */
static bool
is_better(const IndexJoin *filter, const IndexJoin *other)
{
	if (filter->share < 0 || other->share < 0)
		return filter->share > other->share;
	return filter->share < other->share;
}

/*
 * Add a filter to the list.  Of those with the same equality keep only the best: the shares
 * that pass them are not independent.
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
 * The indexes of "other" that can tell that a row of "rel" has no partner there: a list of
 * IndexJoin, one for each key.  "clauses" are those that a pair of joined rows has to
 * satisfy; NIL: those that core could move into a scan of "rel".
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
		Search		search = {
			.root = root,
			.rel = rel,
			.other = other,
			.leaf = linitial(leaves),
			.index = lfirst_node(IndexOptInfo, cell)
		};
		List	   *matches;
		IndexJoin  *filter;

		if (!is_suitable(search.index))
			continue;
		matches = match_index(&search, clauses);
		if (matches == NIL)
			continue;
		filter = make_filter(&search, leaves, matches);
		if (filter != NULL)
			filters = keep_better(filters, filter);
	}
	return filters;
}

/* Does a query in an expression lock rows? */
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

/* May the query have side effects on other rows than those of its result? */
static bool
has_side_effects(PlannerInfo *root)
{
	Query		query = *root->parse;
	ListCell   *cell;

	query.targetList = query.returningList = query.rowMarks = NIL;
	if (contain_volatile_functions((Node *) &query) ||
		query_locks_rows((Node *) &query, NULL))
		return true;
	/* the expressions of the query have parameters instead */
	foreach(cell, root->glob->subroots)
	{
		Node	   *subquery = (Node *) lfirst_node(PlannerInfo, cell)->parse;

		if (contain_volatile_functions(subquery) ||
			query_locks_rows(subquery, NULL))
			return true;
	}
	return false;
}

/*
 * index_joins_find
 *		The indexes of other tables that a scan of "rel" can probe
 *
 * A list of IndexJoin.  Where the query has no membership index, this
 * costs a look at each table's indexes.
 */
List *
index_joins_find(PlannerInfo *root, RelOptInfo *rel)
{
	List	   *filters = NIL;

	if (has_policies(root, rel->relid))
		return NIL;
	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		RelOptInfo *other = root->simple_rel_array[i];

		if (other != NULL && other != rel)
			filters = list_concat(filters,
								  joins_between(root, rel, other, NIL));
	}
	return filters == NIL || has_side_effects(root) ? NIL : filters;
}

/*
 * index_join_find_preserved
 *		The best index that can tell that a row of "rel" has no partner in "others"
 *
 * "rel" is the side of an outer or an anti join whose rows without a partner are returned;
 * "clauses" are the conditions of "join", the join of both.  Returns NULL if there is no
 * index.  Unlike index_joins_find() it uses only the join's own equalities: a row of
 * "others" has the indexed columns' values or, below another outer join, NULL, and so does
 * not satisfy all of them if the key is not in the index.
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
		/* it may protect the key from an error */
		has_guard |= bms_is_subset(rinfo->clause_relids, rel->relids);
	}
	if (own == NIL)
		return NULL;
	while ((relid = bms_next_member(others->relids, relid)) >= 0)
	{
		/* NULL if this is the number of an outer join */
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

/* ---- The size of the join ---- */

/* The table that the query names: this one, or the one of which it is a partition */
static RelOptInfo *
uppermost(PlannerInfo *root, RelOptInfo *rel)
{
	int			relid;

	if (rel->top_parent_relids == NULL ||
		!bms_get_singleton_member(rel->top_parent_relids, &relid))
		return rel;
	return find_base_rel(root, relid);
}

/*
 * Return where core caches the selectivity of a clause with which it estimates the size of
 * the join of "rel" and "other"; sets *type to that of the join.  Returns NULL if the size
 * depends on other rows than those of "rel" that have a partner: an outer join has at least
 * one row for each of its preserved side, and core does not lower how many lookups in the
 * nullable side find, so with a lower size what is above these looked too expensive.
 */
static Selectivity *
selectivity_for_size(PlannerInfo *root, RestrictInfo *rinfo, RelOptInfo *rel,
					 RelOptInfo *other, JoinType *type)
{
	ListCell   *cell;

	foreach(cell, root->join_info_list)
	{
		SpecialJoinInfo *join = lfirst_node(SpecialJoinInfo, cell);
		bool		is_left = bms_is_subset(rel->relids, join->syn_lefthand) &&
			bms_is_subset(other->relids, join->syn_righthand);
		bool		is_right = bms_is_subset(rel->relids, join->syn_righthand) &&
			bms_is_subset(other->relids, join->syn_lefthand);

		*type = join->jointype;
		if (is_left && *type == JOIN_SEMI)
			return &rinfo->outer_selec;
		if (is_left || is_right)
			return NULL;
	}
	*type = JOIN_INNER;
	return &rinfo->norm_selec;
}

/*
 * The same of this equality with its sides swapped, or NULL if core has no such clause.
 * Before 16 that is a clause of its own, and the order of FROM decides which one core uses.
 */
static Selectivity *
swapped_for_size(PlannerInfo *root, RestrictInfo *rinfo, RelOptInfo *rel,
				 RelOptInfo *other)
{
	List	   *clauses;
	JoinType	type;

	if (rinfo->parent_ec == NULL)
		return NULL;
	clauses = generate_join_implied_equalities_for_ecs(root,
													   list_make1(rinfo->parent_ec),
													   bms_union(rel->relids, other->relids),
													   other->relids, rel);
	return clauses == NIL ? NULL :
		selectivity_for_size(root, linitial(clauses), rel, other, &type);
}

/* A clause's selectivity for a join of just these two tables, as core estimates it */
static Selectivity
core_selectivity(PlannerInfo *root, OpExpr *clause, JoinType type,
				 RelOptInfo *rel, RelOptInfo *other)
{
	SpecialJoinInfo join = {
		.type = T_SpecialJoinInfo,
		.min_lefthand = rel->relids,
		.min_righthand = other->relids,
		.syn_lefthand = rel->relids,
		.syn_righthand = other->relids,
		.jointype = type
	};

	return join_selectivity(root, clause->opno, clause->args,
							clause->inputcollid, type, &join);
}

/* A clause whose selectivity we lowered */
typedef struct SizedClause
{
	EquivalenceClass *ec;		/* of which it was derived */
	Selectivity *selectivity;
	Selectivity *swapped;		/* see swapped_for_size() */
	double		factor;
} SizedClause;

/* The SizedClauses of the query being planned, in the memory of its planner */
static struct
{
	MemoryContext mcxt;
	List	   *clauses;
}			sized;

/* A MemoryContextCallbackFunction */
static void
forget_sized(void *mcxt)
{
	if (sized.mcxt == (MemoryContext) mcxt)
		memset(&sized, 0, sizeof(sized));
}

/*
 * May the selectivity of a clause be lowered?  If several clauses come from one equivalence
 * class, only that with the least factor: core multiplies the selectivities, but a row that
 * has a partner in one list more often has one in another.
 */
static bool
note_sized(PlannerInfo *root, EquivalenceClass *ec, Selectivity *selectivity,
		   Selectivity *swapped, double factor)
{
	MemoryContext old;
	SizedClause *added;
	ListCell   *cell;

	if (ec == NULL)
		return true;
	if (sized.mcxt != root->planner_cxt)
	{
		MemoryContextCallback *callback =
			MemoryContextAlloc(root->planner_cxt, sizeof(MemoryContextCallback));

		callback->func = forget_sized;
		callback->arg = root->planner_cxt;
		MemoryContextRegisterResetCallback(root->planner_cxt, callback);
		sized.mcxt = root->planner_cxt;
		sized.clauses = NIL;
	}
	foreach(cell, sized.clauses)
	{
		SizedClause *clause = lfirst(cell);

		if (clause->ec != ec)
			continue;
		if (clause->factor <= factor)
			return false;
		/* core then estimates it anew */
		*clause->selectivity = -1;
		clause->selectivity = selectivity;
		if (clause->swapped != NULL)
			*clause->swapped = -1;
		clause->swapped = swapped;
		clause->factor = factor;
		return true;
	}
	old = MemoryContextSwitchTo(root->planner_cxt);
	added = palloc(sizeof(SizedClause));
	added->ec = ec;
	added->selectivity = selectivity;
	added->swapped = swapped;
	added->factor = factor;
	sized.clauses = lappend(sized.clauses, added);
	MemoryContextSwitchTo(old);
	return true;
}

/*
 * The equalities of a filter as clauses of "upper", of which the filtered table may be a
 * partition; NIL if core derives others for "upper"
 */
static List *
clauses_for(PlannerInfo *root, RelOptInfo *upper, RelOptInfo *other,
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

/*
 * index_join_size
 *		Let core expect a partner for no more rows of the scan than pass the filter
 *
 * Otherwise a scan that returns few rows would be part of a join that is expected to return
 * many: the first of these seem to come soon, and LIMIT chooses the worst of plans.  So we
 * multiply the selectivity that core caches in the join's clause by the share that passes
 * the filter, divided by the share that core expects to have a partner in the whole of the
 * other table.
 */
void
index_join_size(PlannerInfo *root, RelOptInfo *rel,
				const IndexJoin *filter)
{
	RelOptInfo *other = find_base_rel(root, filter->source);
	RelOptInfo *upper = uppermost(root, rel);
	double		other_rows = other->rows;
	Selectivity partner = 1;
	RestrictInfo *first = NULL;
	OpExpr	   *clause;
	JoinType	type;
	Selectivity *selectivity;
	Selectivity *swapped;
	ListCell   *cell;

	/* the index has all rows */
	other->rows = other->tuples;
	foreach(cell, clauses_for(root, upper, other, filter))
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, cell);

		/* the other clauses restrict the other table */
		if (!bms_overlap(rinfo->clause_relids, upper->relids))
			continue;
		if (first == NULL)
			first = rinfo;
		partner *= core_selectivity(root, (OpExpr *) rinfo->clause, JOIN_SEMI,
									upper, other);
	}
	other->rows = other_rows;
	if (first == NULL)
		return;
	clause = (OpExpr *) first->clause;
	selectivity = selectivity_for_size(root, first, upper, other, &type);
	/* already set: lowered for another partition, or for the other table */
	if (selectivity == NULL || *selectivity >= 0)
		return;
	swapped = swapped_for_size(root, first, upper, other);
	if (filter->share >= partner ||
		!note_sized(root, first->parent_ec, selectivity, swapped,
					filter->share / partner))
		return;
	*selectivity = core_selectivity(root, clause, type, upper, other) *
		filter->share / partner;
	if (swapped != NULL)
		*swapped = *selectivity;
}
