/*
 * join_filter.c
 *	  Finds membership indexes that a scan can probe because its rows are joined.
 *
 *		SELECT v.* FROM visits v JOIN blacklist b ON v.url = b.url
 *
 * If blacklist.url has a membership index, a row of visits that is not in it joins
 * no row of blacklist, and the scan of visits need not return it.
 *
 * When that is right.  We may drop a row of "rel" if it cannot be part of the
 * result without a partner in the other table.  Core answers the same question
 * before it moves a join's condition into the scan of "rel" as a parameterized path:
 * it may do so for the equivalences of inner and semi-joins, and for conditions of
 * outer joins on the side that may be missing.  So we take the clauses that core
 * generates for such paths, and its test (join_clause_is_movable_to).  The preserved
 * side of an outer join, and the left side of an anti join, are not among them.
 *
 * Which indexes.  The index has one plain column and no predicate, and the same
 * collation as the condition, whose operator is an equality of its operator family.
 * It holds the column's values, and not the elements of arrays.  Its table is an
 * ordinary one, and the query does not read inheritance children of it.  If the
 * index cannot be probed at run time, or not by this transaction, all rows pass
 * (index/contains.c).  Dropping the index invalidates the plans on its table.
 *
 * Who may know.  The executor checks that the user, or the owner of the view that
 * names the other table, may read it.  But the user's own conditions run on the rows
 * that pass, and would reveal values that policies of the other table hide.  And
 * EXPLAIN shows how many rows of "rel" were probed before policies of "rel" hide
 * them.  So we leave tables with policies alone, on either side.
 */
#include "join_filter.h"

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
#include "parser/parsetree.h"
#include "selectivity.h"
#include "utils/lsyscache.h"
#include "utils/spccache.h"

/* Skip what is relabelled as a type with the same bytes. */
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

/* What the search for one index shares */
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
	return is_column(column, index->rel->relid, index->indexkeys[0]) &&
		IsA(column_of(*element), Var) &&
		bms_equal(pull_varnos(search->root, (Node *) *element),
				  search->rel->relids) &&
		column_of(*element)->varattno > 0 &&
		OidIsValid(*operator) && op_strict(*operator) &&
		get_op_opfamily_strategy(*operator, index->opfamily[0]) == STRATEGY_EQUAL &&
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

/* The clauses that may be moved into the scan if they match */
static List *
movable_clauses(Search *search)
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
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, cell);

		if (join_clause_is_movable_to(rinfo, rel))
			clauses = lappend(clauses, rinfo);
	}
	return clauses;
}

static JoinFilter *
make_filter(Search *search, Expr *element, Oid operator)
{
	JoinFilter *filter = palloc(sizeof(JoinFilter));
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
keep_better(List *filters, JoinFilter *filter)
{
	JoinFilter *last = filters == NIL ? NULL : llast(filters);

	if (last == NULL || last->source != filter->source ||
		last->source_column != filter->source_column ||
		!equal(last->element, filter->element))
		return lappend(filters, filter);
	if (filter->share < last->share)
		*last = *filter;
	return filters;
}

/*
 * join_filters_find
 *		The indexes of other tables that a scan of "rel" can probe
 *
 * A list of JoinFilter.  Where the query has no membership index, this
 * costs a look at each table's indexes.
 */
List *
join_filters_find(PlannerInfo *root, RelOptInfo *rel)
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
			ListCell   *clause;
			Expr	   *element;
			Oid			operator;

			if (!is_suitable(search.index))
				continue;
			foreach(clause, movable_clauses(&search))
			{
				if (!clause_matches(&search, lfirst_node(RestrictInfo, clause),
									&element, &operator))
					continue;
				filters = keep_better(filters,
									  make_filter(&search, element, operator));
				break;
			}
		}
	}
	return filters;
}
