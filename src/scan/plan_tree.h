/*
 * plan_tree.h
 *	  Nodes of a finished plan: children, columns, side effects; see plan_tree.c.
 */
#ifndef BLOOMFILTER_PLAN_TREE_H
#define BLOOMFILTER_PLAN_TREE_H

#include "node.h"

#include "nodes/plannodes.h"

/* Side effects of a plan */
typedef struct PlanEffects
{
	bool		any;			/* calls of volatile functions, or row locks */
	Bitmapset  *init_params;	/* parameters set by InitPlans */
} PlanEffects;

extern List *plan_children(Plan *plan);
extern bool is_custom(const Plan *plan, const NodeKind *kind);
extern Var *var_of(Node *expression);
extern Var *var_of_column(const Plan *plan, AttrNumber column);
extern List *index_conditions(Plan *scan, Oid *index);
extern CustomScan *make_node_above(Plan *child, int plan_node_id,
								   const NodeKind *kind);
extern bool node_has_effects(const PlanEffects *effects, const Plan *plan);
extern bool locks_rows(const PlannedStmt *statement);
extern bool plan_has_effects(const PlanEffects *effects, Plan *plan);
extern bool join_drops_inner(JoinType type);
extern bool join_drops_outer(JoinType type);

#endif							/* BLOOMFILTER_PLAN_TREE_H */
