/*
 * join_size.c
 *	  Adjusts core's estimate of a join's size to the rows that pass a filter.
 *
 * Core caches the selectivity of a join's clause; index_join_size() lowers it.  Before 16 it may
 * be cached twice, for the clause and with its sides swapped.
 */
#include "filter_path.h"

#include "catalog/pg_statistic.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/plancat.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

/* A clause whose selectivity we lowered */
typedef struct SizedClause
{
	EquivalenceClass *ec;		/* class from which core derived the clause */
	Selectivity *selectivity;
	Selectivity *swapped;		/* see swapped_for_size(); or NULL */
	double		factor;
} SizedClause;

/* The size of the join of a partitioned table and another is set. */
typedef struct ParentJoin
{
	Index		parent;
	Index		other;
	Oid			index;			/* the first of the filter's */
} ParentJoin;

/*
 * Return where core caches the clause's selectivity for the size of the join of "rel" and
 * "other", and set *type to the type of that join.  Return NULL if they are outer-joined:
 * each row of the preserved side is in the result anyway, and if "rel" is nullable, a smaller
 * join size would make nodes above look too expensive, because core does not reduce its
 * estimate of how many rows a lookup finds.
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
 * Call selectivity_for_size() for the equality with its sides swapped; NULL if core has no
 * such clause.  Before 16 it has one, and the order of FROM decides which of the two it uses.
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

/* Estimate a clause's selectivity for a join of just these two tables, as core does. */
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

/*
 * May the selectivity of a clause be multiplied by "factor"?  If so, note it.  Lower only one
 * clause of an equivalence class, that with the least factor.
 */
static bool
note_sized(PlannerInfo *root, EquivalenceClass *ec, Selectivity *selectivity,
		   Selectivity *swapped, double factor)
{
	PlannedQuery *planned = planned_query(root);
	MemoryContext old;
	SizedClause *added;
	ListCell   *cell;

	if (ec == NULL)
		return true;
	foreach(cell, planned->clauses)
	{
		SizedClause *clause = lfirst(cell);

		if (clause->ec != ec)
			continue;
		if (clause->factor <= factor)
			return false;
		/* -1 makes core estimate the selectivity anew */
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
	planned->clauses = lappend(planned->clauses, added);
	MemoryContextSwitchTo(old);
	return true;
}

/* The share of a table's rows that have one of the most common values of an expression */
static double
common_share(PlannerInfo *root, Node *expression, RelOptInfo *rel)
{
	VariableStatData variable;
	AttStatsSlot slot;
	double		share = 0;

	examine_variable(root, expression, rel->relid, &variable);
	if (HeapTupleIsValid(variable.statsTuple) &&
		get_attstatsslot(&slot, variable.statsTuple, STATISTIC_KIND_MCV, InvalidOid,
						 ATTSTATSSLOT_NUMBERS))
	{
		for (int i = 0; i < slot.nnumbers; i++)
			share += slot.numbers[i];
		free_attstatsslot(&slot);
	}
	ReleaseVariableStats(variable);
	return share;
}

/* Is the size of the join set, by the filter of another partition? */
static bool
parent_is_sized(PlannerInfo *root, const RelOptInfo *parent, const IndexJoin *filter)
{
	ListCell   *cell;

	foreach(cell, planned_query(root)->parents)
	{
		const ParentJoin *join = lfirst(cell);

		if (join->parent == parent->relid && join->other == filter->source &&
			join->index == linitial_oid(filter->indexes))
			return true;
	}
	return false;
}

static void
note_parent(PlannerInfo *root, const RelOptInfo *parent, const IndexJoin *filter)
{
	PlannedQuery *planned = planned_query(root);
	MemoryContext old = MemoryContextSwitchTo(root->planner_cxt);
	ParentJoin *join = palloc(sizeof(ParentJoin));

	join->parent = parent->relid;
	join->other = filter->source;
	join->index = linitial_oid(filter->indexes);
	planned->parents = lappend(planned->parents, join);
	MemoryContextSwitchTo(old);
}

/*
 * Adjust core's estimate of a join's size to the rows that pass the filter.  Otherwise a scan
 * with few rows would be part of a join that is expected to return many.  Its first rows would
 * seem to come soon, and LIMIT would select a very slow plan.  So multiply the selectivity
 * that core caches in the join's clause by the share of rows that pass the filter, divided by
 * the share of rows that core expects to have a partner among all rows of "other" with the
 * constants of the filter's key.  But the few rows that pass may be those with which most rows
 * of "other" join: so all with its most common values are still expected to.
 */
void
index_join_size(PlannerInfo *root, RelOptInfo *rel,
				const IndexJoin *filter)
{
	RelOptInfo *other = find_base_rel(root, filter->source);
	RelOptInfo *upper = rel;
	int			top;
	double		other_rows = other->rows;
	Selectivity partner = 1;
	double		factor;
	RestrictInfo *first = NULL;
	OpExpr	   *clause;
	JoinType	type;
	Selectivity *selectivity;
	Selectivity *swapped;
	ListCell   *cell;

	/* core estimates the join of the partitioned table, not of a partition */
	if (rel->top_parent_relids != NULL &&
		bms_get_singleton_member(rel->top_parent_relids, &top))
		upper = find_base_rel(root, top);
	if (upper != rel && parent_is_sized(root, upper, filter))
		return;
	/* the index contains all rows */
	other->rows = other->tuples;
	foreach(cell, index_join_clauses(root, upper, other, filter))
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, cell);

		/*
		 * a constant restricts "other"; the index has its rows with other
		 * values, too
		 */
		if (!bms_overlap(rinfo->clause_relids, upper->relids))
		{
			partner *= clause_selectivity(root, (Node *) rinfo, other->relid, JOIN_INNER, NULL);
			continue;
		}
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
	if (upper != rel && selectivity != NULL && *selectivity >= 0)
		note_parent(root, upper, filter);
	/* set already: for another partition, or by the filter of "other" */
	if (selectivity == NULL || *selectivity >= 0)
		return;
	swapped = swapped_for_size(root, first, upper, other);
	factor = filter->share / partner;
	if (type == JOIN_INNER && factor < 1)
	{
		bool		is_left = bms_is_subset(first->left_relids, other->relids);
		double		common = common_share(root, is_left ? linitial(clause->args) :
										  lsecond(clause->args), other);

		factor = common + (1 - common) * factor;
	}
	if (factor >= 1 ||
		!note_sized(root, first->parent_ec, selectivity, swapped, factor))
		return;
	*selectivity = core_selectivity(root, clause, type, upper, other) * factor;
	if (swapped != NULL)
		*swapped = *selectivity;
}
