/*
 * planner_hooks.c
 *	  Hooks into the planner.
 */
#include "planner_hooks.h"

#include "server.h"
#include "scan/bypass/bypass.h"
#include "filter_path.h"
#include "heap_page.h"
#include "once.h"
#include "scan/join/join_filter_build.h"
#include "scan/join/join_filter_plan.h"
#include "scan/join/join_filter_store.h"
#include "scan/partition/partition_filter.h"
#include "settings.h"

#if PG_VERSION_NUM >= 190000
#include "commands/explain.h"
#include "commands/explain_format.h"
#include "nodes/makefuncs.h"
#endif
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/planmain.h"
#include "optimizer/planner.h"
#include "utils/plancache.h"

static set_rel_pathlist_hook_type previous_set_rel_pathlist = NULL;
static set_join_pathlist_hook_type previous_set_join_pathlist = NULL;
static planner_hook_type previous_planner = NULL;
#if PG_VERSION_NUM >= 190000
static explain_per_plan_hook_type previous_explain = NULL;
#endif

/* A set_rel_pathlist_hook */
static void
add_filter_scans(PlannerInfo *root, RelOptInfo *rel, Index rti,
				 RangeTblEntry *rte)
{
	if (previous_set_rel_pathlist)
		previous_set_rel_pathlist(root, rel, rti, rte);
	/* a table without conditions and joins has nothing to probe with */
	if (rel->baserestrictinfo != NIL || rel->joininfo != NIL || rel->has_eclass_joins)
		filter_path_add(root, rel, rte);
}

/* A set_join_pathlist_hook */
static void
change_join_paths(PlannerInfo *root, RelOptInfo *join, RelOptInfo *outer,
				  RelOptInfo *inner, JoinType type, JoinPathExtraData *extra)
{
	if (previous_set_join_pathlist)
		previous_set_join_pathlist(root, join, outer, inner, type, extra);
	if (!server_is_known())
		return;
	loop_path_replace(root, join, outer, inner, type, extra);
	if (filter_scan_setting != FILTER_SCAN_OFF &&
		join_filter_setting != JOIN_FILTER_OFF)
		bypass_add_paths(root, join, outer, inner, type, extra);
}

#if PG_VERSION_NUM >= 190000
#define PLANNER_PARAMETERS \
	Query *query, const char *text, int options, ParamListInfo params, ExplainState *es
#define PLANNER_ARGUMENTS		query, text, options, params, es
#else
#define PLANNER_PARAMETERS \
	Query *query, const char *text, int options, ParamListInfo params
#define PLANNER_ARGUMENTS		query, text, options, params
#endif

/*
 * Does row-level security or a security barrier view hide rows from a query?  If the query
 * updates a view, the planner replaces the view by its table, and only securityQuals remain.
 * Servers before 15.9, 16.5 and 17.1 set hasRowSecurity only for tables of the query itself,
 * not for those of its subqueries.
 */
static bool
has_policies_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
		return ((RangeTblEntry *) node)->securityQuals != NIL;
	if (IsA(node, Query))
		return ((Query *) node)->hasRowSecurity ||
			query_tree_walker((Query *) node, has_policies_walker, context,
							  QTW_EXAMINE_RTES_BEFORE);
	return expression_tree_walker(node, has_policies_walker, context);
}

/*
 * May a query have a join?  A query that reads one table and has no sublinks and no CTEs has
 * none: if a function contains a subquery, the planner inlines the function only in FROM.
 */
static bool
may_join(const Query *query)
{
	return query->hasSubLinks || query->cteList != NIL ||
		list_length(query->rtable) > 1 ||
		(query->rtable != NIL &&
		 linitial_node(RangeTblEntry, query->rtable)->rtekind != RTE_RELATION);
}

#if PG_VERSION_NUM >= 190000
/* Name in PlannedStmt.extension_state: Filter Scans were refused, see server.c */
#define REFUSED_NAME	"bloomfilter_refused"

/* An explain_per_plan_hook */
static void
explain_refused(PlannedStmt *statement, IntoClause *into, ExplainState *es,
				const char *text, ParamListInfo params, QueryEnvironment *env)
{
	ListCell   *cell;

	if (previous_explain)
		previous_explain(statement, into, es, text, params, env);
	foreach(cell, statement->extension_state)
	{
		if (strcmp(lfirst_node(DefElem, cell)->defname, REFUSED_NAME) == 0)
			ExplainPropertyText("Filter Scan", server_refusal(), es);
	}
}
#endif

/* A planner_hook */
static PlannedStmt *
plan_statement(PLANNER_PARAMETERS)
{
	uint64		index_probes = filter_scans_for_joins;

	/* walking a query takes longer than the rest of this function */
	bool		adds = (join_filter_setting >= JOIN_FILTER_ON ||
						(join_filter_setting == JOIN_FILTER_INDEX && foreign_filter_setting)) &&
	may_join(query) && server_is_known();

#if PG_VERSION_NUM >= 190000
	int			refused = heap_page_refused;
#endif

	/* call these first, because the planner changes the query */
	bool		is_volatile = adds && contain_volatile_functions((Node *) query);
	bool		has_policies = adds && has_policies_walker((Node *) query, NULL);
	PlannedStmt *statement = previous_planner ?
		previous_planner(PLANNER_ARGUMENTS) : standard_planner(PLANNER_ARGUMENTS);
	int			parameters = list_length(statement->paramExecTypes);

	/*
	 * by default only a plan that probes an index for a join is looked at, so
	 * that others take no time; it hides no rows, and may be volatile
	 */
	if (!adds && join_filter_setting == JOIN_FILTER_INDEX &&
		filter_scans_for_joins != index_probes)
		adds = is_volatile = true;
	if (adds)
		join_filters_add(statement, is_volatile, has_policies,
						 (options & CURSOR_OPT_FAST_PLAN) ? cursor_tuple_fraction : 1);
	/* last, because join filters do not look below a Partition Filter */
	if (partition_filter_setting && server_is_known())
		partition_filters_add(statement, options, parameters);
#if PG_VERSION_NUM >= 190000
	if (heap_page_refused != refused)
	{
		statement->extension_state =
			lappend(statement->extension_state,
					makeDefElem(pstrdup(REFUSED_NAME), NULL, -1));

		/*
		 * planning may run queries: their refusals must not count for the
		 * outer query
		 */
		heap_page_refused = refused;
	}
#endif
	return statement;
}

static void
install_hooks(void)
{
	previous_planner = planner_hook;
	planner_hook = plan_statement;
	previous_set_rel_pathlist = set_rel_pathlist_hook;
	set_rel_pathlist_hook = add_filter_scans;
	previous_set_join_pathlist = set_join_pathlist_hook;
	set_join_pathlist_hook = change_join_paths;
#if PG_VERSION_NUM >= 190000
	previous_explain = explain_per_plan_hook;
	explain_per_plan_hook = explain_refused;
#endif
}

/* Define the settings, and install the nodes and the hooks, when the library is loaded. */
void
planner_hooks_init(void)
{
	static const NodeKind *const nodes[] = {
		&filter_scan_node, &bypass_node, &bypass_feeder_node,
		&join_filter_build_node, &join_filter_probe_node, &join_filter_store_node,
		&partition_filter_node
	};
	static size_t registered = 0;

	settings_init();
	for (; registered < lengthof(nodes); registered++)
		RegisterCustomScanMethods(&nodes[registered]->plan);
	ONCE(install_hooks());

	/*
	 * Plans of this session that are kept, were made without these hooks; so
	 * is the one being made, if planning has loaded the library.  An
	 * invalidation message could say the same at this moment.
	 */
	ResetPlanCache();
}
