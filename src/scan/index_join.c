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
 * Which indexes.  The index has one plain column and no predicate, and the same
 * collation as the condition, whose operator is an equality of its operator family.
 * It holds the column's values, and not the elements of arrays.  Its table is an
 * ordinary one, and the query does not read inheritance children of it.  If the
 * index cannot be probed at run time, or not by this transaction, all rows pass
 * (index/contains.c).  Dropping the index invalidates the plans on its table.
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
#include "index_join.h"

#include "index/membership.h"

#include "access/relation.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
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

/* The column that an expression is, apart from changes of its type's name */
static Var *
column_of(Expr *expression)
{
	while (IsA(expression, RelabelType))
		expression = ((RelabelType *) expression)->arg;
	return (Var *) expression;
}

static bool
is_column(Expr *expression, Index relid, AttrNumber attribute)
{
	Var		   *var = column_of(expression);

	return IsA(var, Var) && var->varno == (int) relid &&
		var->varattno == attribute && var->varlevelsup == 0;
}

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

/* Can a scan of another table be filtered by the rows of this one? */
static bool
is_source(PlannerInfo *root, RelOptInfo *other)
{
	RangeTblEntry *rte;

	if (other->reloptkind != RELOPT_BASEREL || other->indexlist == NIL)
		return false;
	rte = planner_rt_fetch(other->relid, root);
	return rte->rtekind == RTE_RELATION && !rte->inh &&
		!has_policies(root, other->relid) &&
		(rte->relkind == RELKIND_RELATION || rte->relkind == RELKIND_MATVIEW);
}

static bool
is_suitable(IndexOptInfo *info)
{
	Relation	index;
	bool		of_arrays;

	if (!membership_is_method_of(info) || info->nkeycolumns != 1 ||
		info->indexkeys[0] <= 0 || info->indpred != NIL || info->hypothetical)
		return false;
	/* the planner has locked it */
	index = relation_open(info->indexoid, NoLock);
	of_arrays = membership_of_arrays(index);
	relation_close(index, NoLock);
	return !of_arrays;
}

/* The search for a clause that lets one index serve */
typedef struct Search
{
	PlannerInfo *root;
	RelOptInfo *rel;			/* to be scanned */
	IndexOptInfo *index;		/* of the other table */
} Search;

/*
 * Is this an equality of an expression of the scan and the index's column?  If so,
 * sets *element, and *operator to the one with the column on its left.
 */
static bool
clause_matches(Search *search, RestrictInfo *rinfo, Expr **element,
			   Oid *operator)
{
	OpExpr	   *clause = (OpExpr *) rinfo->clause;
	IndexOptInfo *index = search->index;
	Expr	   *column;
	Oid			left;
	Oid			right;

	if (!IsA(clause, OpExpr) || list_length(clause->args) != 2 ||
		rinfo->pseudoconstant)
		return false;
	*element = linitial(clause->args);
	column = lsecond(clause->args);
	*operator = get_commutator(clause->opno);
	if (is_column(*element, index->rel->relid, index->indexkeys[0]))
	{
		*element = lsecond(clause->args);
		column = linitial(clause->args);
		*operator = clause->opno;
	}
	if (!OidIsValid(*operator))
		return false;
	op_input_types(*operator, &left, &right);
	return is_column(column, index->rel->relid, index->indexkeys[0]) &&
		IsA(column_of(*element), Var) &&
		bms_equal(pull_varnos(search->root, (Node *) *element),
				  search->rel->relids) &&
		column_of(*element)->varattno > 0 &&
		op_strict(*operator) &&
		get_op_opfamily_strategy(*operator, index->opfamily[0]) == STRATEGY_EQUAL &&
		membership_agrees(get_opcode(*operator), index->opcintype[0], right) &&
		(!OidIsValid(index->indexcollations[0]) ||
		 index->indexcollations[0] == clause->inputcollid) &&
		can_be_hashed((Node *) *element, index->indexcollations[0]);
}

/* An ec_matches_callback_type: does the class hold the index's column? */
static bool
class_has_column(PlannerInfo *root, RelOptInfo *rel, EquivalenceClass *ec,
				 EquivalenceMember *em, void *arg)
{
	const Search *search = (const Search *) arg;
	ListCell   *cell;

	if (!IsA(column_of(em->em_expr), Var))
		return false;
	foreach(cell, ec->ec_members)
	{
		EquivalenceMember *member = lfirst_node(EquivalenceMember, cell);

		if (!member->em_is_child &&
			bms_equal(member->em_relids, search->index->rel->relids) &&
			is_column(member->em_expr, search->index->rel->relid,
					  search->index->indexkeys[0]))
			return true;
	}
	return false;
}

/*
 * The clause that lets the scan be filtered by the index, or NULL.  Sets *element and
 * *operator as clause_matches().
 */
static RestrictInfo *
find_clause(Search *search, Expr **element, Oid *operator)
{
	RelOptInfo *rel = search->rel;
	List	   *clauses = NIL;
	ListCell   *cell;

	if (rel->has_eclass_joins)
		clauses = generate_implied_equalities_for_column(search->root, rel,
														 class_has_column,
														 search,
														 rel->lateral_referencers);
	foreach(cell, rel->joininfo)
	{
		if (join_clause_is_movable_to(lfirst(cell), rel))
			clauses = lappend(clauses, lfirst(cell));
	}
	foreach(cell, clauses)
	{
		if (clause_matches(search, lfirst(cell), element, operator))
			return lfirst(cell);
	}
	return NULL;
}

static IndexJoin *
make_filter(Search *search, Expr *element, Oid operator)
{
	IndexJoin  *filter = palloc(sizeof(IndexJoin));
	IndexOptInfo *info = search->index;
	Const	   *oid = makeConst(OIDOID, -1, InvalidOid, sizeof(Oid),
								ObjectIdGetDatum(info->indexoid), false, true);
	Oid			left;
	Oid			right;
	Relation	index;
	double		page_cost;

	op_input_types(operator, &left, &right);
	/* the planner has locked it */
	index = relation_open(info->indexoid, NoLock);
	filter->source = info->rel->relid;
	filter->source_column = info->indexkeys[0];
	filter->element = copyObject(element);
	filter->index = info->indexoid;
	filter->element_type = membership_key_type(index, 0, right,
											   get_opcode(operator));
	Assert(OidIsValid(filter->element_type));
	filter->temporary = RelationUsesLocalBuffers(index);
	relation_close(index, NoLock);
	get_tablespace_page_costs(info->reltablespace, NULL, &page_cost);
	filter->read_cost = info->pages * page_cost;
	filter->share = membership_share(search->root, (Node *) oid,
									 get_opcode(operator), (Node *) element,
									 filter->element_type,
									 info->indexcollations[0], true, 0);
	return filter;
}

/* Add a filter to the list; of two for the same columns, only the better. */
static List *
keep_better(List *filters, IndexJoin *filter)
{
	IndexJoin  *last = filters == NIL ? NULL : llast(filters);

	if (last == NULL || last->source != filter->source ||
		last->source_column != filter->source_column ||
		!equal(last->element, filter->element))
		return lappend(filters, filter);
	if (filter->share < last->share)
		*last = *filter;
	return filters;
}

/* Does a query in an expression lock rows? */
static bool
locks_rows(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return ((Query *) node)->rowMarks != NIL ||
			query_tree_walker((Query *) node, locks_rows, context, 0);
	return expression_tree_walker(node, locks_rows, context);
}

/* May the query have side effects on other rows than those of its result? */
static bool
has_side_effects(PlannerInfo *root)
{
	Query		query = *root->parse;
	ListCell   *cell;

	query.targetList = query.returningList = query.rowMarks = NIL;
	if (contain_volatile_functions((Node *) &query) ||
		locks_rows((Node *) &query, NULL))
		return true;
	/* the expressions of the query have parameters instead */
	foreach(cell, root->glob->subroots)
	{
		Node	   *subquery = (Node *) lfirst_node(PlannerInfo, cell)->parse;

		if (contain_volatile_functions(subquery) ||
			locks_rows(subquery, NULL))
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
		ListCell   *cell;

		if (other == NULL || other == rel || !is_source(root, other))
			continue;
		foreach(cell, other->indexlist)
		{
			Search		search = {root, rel, lfirst_node(IndexOptInfo, cell)};
			Expr	   *element;
			Oid			operator;

			if (is_suitable(search.index) &&
				find_clause(&search, &element, &operator) != NULL)
				filters = keep_better(filters,
									  make_filter(&search, element, operator));
		}
	}
	return filters == NIL || has_side_effects(root) ? NIL : filters;
}

/*
 * index_join_find_preserved
 *		An index that knows rows of "rel" which have no partner in "others"
 *
 * "rel" is the side of an outer or an anti join whose rows without a partner are
 * returned; "clauses" are the conditions of "join", the whole.  NULL: no index.
 * Other than index_joins_find() it takes only the join's own equalities: a row of
 * "others" has the indexed column's value or, below another outer join, NULL, and so
 * satisfies none of them if the value is not in the index.
 */
IndexJoin *
index_join_find_preserved(PlannerInfo *root, RelOptInfo *rel,
						  RelOptInfo *others, RelOptInfo *join, List *clauses)
{
	List	   *filters = NIL;
	IndexJoin  *best = NULL;
	int			relid = -1;
	ListCell   *cell;

	if (rel->reloptkind != RELOPT_BASEREL || has_policies(root, rel->relid))
		return NULL;
	while ((relid = bms_next_member(others->relids, relid)) >= 0)
	{
		/* the number of an outer join has no table */
		RelOptInfo *other = root->simple_rel_array[relid];

		if (other == NULL || !is_source(root, other))
			continue;
		foreach(cell, other->indexlist)
		{
			Search		search = {root, rel, lfirst_node(IndexOptInfo, cell)};
			ListCell   *clause;
			Expr	   *element;
			Oid			operator;

			if (!is_suitable(search.index))
				continue;
			foreach(clause, clauses)
			{
				RestrictInfo *rinfo = lfirst_node(RestrictInfo, clause);

				if (!RINFO_IS_PUSHED_DOWN(rinfo, join->relids) &&
					clause_matches(&search, rinfo, &element, &operator))
					filters = lappend(filters,
									  make_filter(&search, element, operator));
			}
		}
	}
	foreach(cell, filters)
	{
		IndexJoin  *filter = lfirst(cell);

		if (best == NULL || filter->share < best->share)
			best = filter;
	}
	return best == NULL || has_side_effects(root) ? NULL : best;
}

/* ----------------------------------------------------------------
 *		The size of the join
 * ----------------------------------------------------------------
 */

/* The table that the query names, of which this one may be a partition */
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
 * Where core keeps the selectivity that a clause has for the size of the join of "rel"
 * and "other", once it is estimated; sets *type to that of the join.  NULL if that size
 * does not depend on the number of rows of "rel" that have a partner.
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
		if ((is_left && *type == JOIN_SEMI) || (is_right && *type == JOIN_LEFT))
			return &rinfo->outer_selec;
		if (is_left || is_right)
			return NULL;
	}
	*type = JOIN_INNER;
	return &rinfo->norm_selec;
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
	double		factor;
} SizedClause;

/* Those of the query being planned, in the memory of its planner */
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
 * May the selectivity of a clause be lowered?  Of the clauses of an equivalence class,
 * only that with the least factor: core multiplies them, but those who have a partner in
 * one list have more often one in another.
 */
static bool
note_sized(PlannerInfo *root, EquivalenceClass *ec, Selectivity *selectivity,
		   double factor)
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
		/* core estimates it as any other */
		*clause->selectivity = -1;
		clause->selectivity = selectivity;
		clause->factor = factor;
		return true;
	}
	old = MemoryContextSwitchTo(root->planner_cxt);
	added = palloc(sizeof(SizedClause));
	added->ec = ec;
	added->selectivity = selectivity;
	added->factor = factor;
	sized.clauses = lappend(sized.clauses, added);
	MemoryContextSwitchTo(old);
	return true;
}

/*
 * index_join_size
 *		Let core expect no more of the scan's rows to have a partner than pass the filter
 *
 * Otherwise a scan that returns few rows would be part of a join that is expected to
 * return many: the first of these seem to come soon, and LIMIT chooses the worst of
 * plans.  So we lower the selectivity that core caches in the join's clause, by the
 * share that passes to the share for which core expects a partner in the whole of the
 * other table.
 */
void
index_join_size(PlannerInfo *root, RelOptInfo *rel,
				const IndexJoin *filter)
{
	RelOptInfo *other = find_base_rel(root, filter->source);
	Search		search = {root, uppermost(root, rel), NULL};
	double		other_rows = other->rows;
	RestrictInfo *rinfo;
	OpExpr	   *clause;
	Expr	   *element;
	Oid			operator;
	JoinType	type;
	Selectivity *selectivity;
	Selectivity partner;
	ListCell   *cell;

	foreach(cell, other->indexlist)
	{
		if (lfirst_node(IndexOptInfo, cell)->indexoid == filter->index)
			search.index = lfirst_node(IndexOptInfo, cell);
	}
	rinfo = find_clause(&search, &element, &operator);
	if (rinfo == NULL)
		return;
	selectivity = selectivity_for_size(root, rinfo, search.rel, other, &type);
	/* it was lowered for another partition, or for the other table */
	if (selectivity == NULL || *selectivity >= 0)
		return;
	clause = (OpExpr *) rinfo->clause;
	/* the index has all rows */
	other->rows = other->tuples;
	partner = core_selectivity(root, clause, JOIN_SEMI, search.rel, other);
	other->rows = other_rows;
	if (filter->share < partner &&
		note_sized(root, rinfo->parent_ec, selectivity,
				   filter->share / partner))
		*selectivity = core_selectivity(root, clause, type, search.rel, other) *
			filter->share / partner;
}
