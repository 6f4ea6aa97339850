/*
 * other_shape.c
 *	  Gives the plans of foreign scans another shape than postgres_fdw's, for tests.
 *
 * What fdw_private has belongs to the foreign-data wrapper, whose next version may have more, or
 * other things.  A session that preloads this before the extension sets other_shape.change to
 * one of the changes below; then the plans of its foreign scans, on the way to the extension,
 * are changed so.  Those with more items postgres_fdw can execute; all of them EXPLAIN can print.
 *
 * test/t/087_foreign_filter.pl compiles this.
 */
#include "postgres.h"

#include "fmgr.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"
#include "optimizer/planner.h"
#include "utils/guc.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

#define NO_CHANGE		"none"
#define MORE_ITEMS		"more items"
#define FEWER_ITEMS		"fewer items"
#define NO_ITEMS		"no items"
#define NO_STATEMENT	"no statement"
#define COLUMN_OIDS		"columns by OID"
#define FETCH_AS_TEXT	"fetch size as text"

/* How many items postgres_fdw's next version adds */
#define ITEMS_ADDED		2
/* Where these are in fdw_private: of postgres_fdw 15 to 19 */
#define STATEMENT		0
#define COLUMNS			1
#define FETCH_SIZE		2

static char *change = NULL;
static planner_hook_type previous_planner = NULL;

static bool
is_changed(const char *what)
{
	return strcmp(change, what) == 0;
}

static void
change_item(ForeignScan *scan, int number, void *item)
{
	lfirst(list_nth_cell(scan->fdw_private, number)) = item;
}

/* The numbers of a list of integers as OIDs */
static List *
as_oids(const List *numbers)
{
	List	   *oids = NIL;
	ListCell   *cell;

	foreach(cell, numbers)
		oids = lappend_oid(oids, (Oid) lfirst_int(cell));
	return oids;
}

static void
change_scan(ForeignScan *scan)
{
	if (is_changed(MORE_ITEMS))
	{
		for (int i = 0; i < ITEMS_ADDED; i++)
			scan->fdw_private = lappend(scan->fdw_private, makeString(""));
	}
	else if (is_changed(FEWER_ITEMS))
		scan->fdw_private = list_truncate(scan->fdw_private, list_length(scan->fdw_private) - 1);
	else if (is_changed(NO_ITEMS))
		scan->fdw_private = NIL;
	else if (is_changed(NO_STATEMENT))
		change_item(scan, STATEMENT, NULL);
	else if (is_changed(COLUMN_OIDS))
		change_item(scan, COLUMNS, as_oids(list_nth(scan->fdw_private, COLUMNS)));
	else if (is_changed(FETCH_AS_TEXT))
		change_item(scan, FETCH_SIZE, makeString("100"));
}

/* Change the foreign scans below joins. */
static void
change_plan(Plan *plan)
{
	if (plan == NULL)
		return;
	if (IsA(plan, ForeignScan))
		change_scan((ForeignScan *) plan);
	change_plan(plan->lefttree);
	change_plan(plan->righttree);
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

/* A planner_hook */
static PlannedStmt *
plan_statement(PLANNER_PARAMETERS)
{
	PlannedStmt *statement = previous_planner ?
		previous_planner(PLANNER_ARGUMENTS) : standard_planner(PLANNER_ARGUMENTS);

	change_plan(statement->planTree);
	return statement;
}

void
_PG_init(void)
{
	DefineCustomStringVariable("other_shape.change", "What is changed.", NULL, &change,
							   NO_CHANGE, PGC_USERSET, 0, NULL, NULL, NULL);
	previous_planner = planner_hook;
	planner_hook = plan_statement;
}
