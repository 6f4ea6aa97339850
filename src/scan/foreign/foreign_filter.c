/*
 * foreign_filter.c
 *	  Plans join filters that are sent to foreign servers.
 *
 * The outer side of a hash join may be a foreign table of postgres_fdw.  Then all of its rows
 * are fetched, although few have a partner.  So send a filter of the join's keys as a
 * parameter of the statement, and let the foreign server drop the other rows:
 *
 *		SELECT * FROM (<the statement>) f(c1, c2)
 *		WHERE public._bloom_may_contain($1::public.bloom, c2, 'text', -1, 'UTF8')
 *
 * The statement is any that postgres_fdw has made: of a table, of joined tables, of groups,
 * or with row locks.  Dropping rows of its result is what a node above the scan would do.
 * When the plan has been started, sent_keys.c adds the filter.
 *
 * The content of fdw_private belongs to postgres_fdw.  We know its form in 15 to 19: the
 * statement, the numbers of the columns that it returns, the number of rows fetched at once,
 * and for joined tables a text for EXPLAIN.  We send no filter if the scan has another form
 * or another FDW, if a node above relies on the statement's ORDER BY (the outer SELECT need
 * not keep the order), or if the server's option "extensions" lacks this extension.
 *
 * Types.  Values are sent as text, and the foreign server's types may differ from those
 * declared here: functions/sent_filter.c says when its function returns "no".  A join must
 * compare by the type's default equality, as element hashes do, and strings by their bytes.
 */
#include "foreign_filter.h"

#include "foreign_statement.h"
#include "sent_keys.h"
#include "functions/sent_filter.h"
#include "index/lookup.h"

#include "access/htup_details.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

#define FDW_HANDLER				"postgres_fdw_handler"
#define FDW_LIBRARY				"$libdir/postgres_fdw"

/* ---- What can be sent ---- */

/* Is this function the handler of postgres_fdw? */
static bool
is_postgres_fdw(Oid handler)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(handler));
	bool		found = false;

	if (!HeapTupleIsValid(tuple))
		return false;
	if (((Form_pg_proc) GETSTRUCT(tuple))->prolang == ClanguageId)
	{
		bool		no_source;
		bool		no_library;
		Datum		source = SysCacheGetAttr(PROCOID, tuple,
											 Anum_pg_proc_prosrc, &no_source);
		Datum		library = SysCacheGetAttr(PROCOID, tuple,
											  Anum_pg_proc_probin, &no_library);

		found = !no_source && !no_library &&
			strcmp(TextDatumGetCString(source), FDW_HANDLER) == 0 &&
			strcmp(TextDatumGetCString(library), FDW_LIBRARY) == 0;
	}
	ReleaseSysCache(tuple);
	return found;
}

/* Is a foreign server a PostgreSQL server that has this extension, by its options? */
static bool
server_has_extension(Oid oid)
{
	ForeignServer *server = GetForeignServer(oid);
	ListCell   *option;
	ListCell   *cell;

	if (!is_postgres_fdw(GetForeignDataWrapper(server->fdwid)->fdwhandler))
		return false;
	foreach(option, server->options)
	{
		DefElem    *element = lfirst_node(DefElem, option);
		List	   *names;

		if (strcmp(element->defname, "extensions") != 0 ||
			!SplitIdentifierString(pstrdup(defGetString(element)), ',', &names))
			continue;
		foreach(cell, names)
		{
			if (strcmp(lfirst(cell), EXTENSION_NAME) == 0)
				return true;
		}
	}
	return false;
}

/* Is an item of a list a node of this type? */
static bool
is_item(const List *items, int number, NodeTag tag)
{
	const Node *item = list_nth(items, number);

	return item != NULL && nodeTag(item) == tag;
}

/* Does a scan read from a server that has the extension, and does its plan have a known form? */
static bool
is_known_scan(const ForeignScan *scan)
{
	bool		is_table = scan->scan.scanrelid > 0;
	const List *items = scan->fdw_private;

	/* these checks make sure that fdw_private is that of postgres_fdw */
	return scan->operation == CMD_SELECT &&
		OidIsValid(scan->fs_server) && server_has_extension(scan->fs_server) &&
		items != NIL && IsA(items, List) &&
		list_length(items) == (is_table ? PRIVATE_RELATIONS : PRIVATE_RELATIONS + 1) &&
		is_item(items, PRIVATE_STATEMENT, T_String) &&
		is_item(items, PRIVATE_COLUMNS, T_IntList) &&
		is_item(items, PRIVATE_FETCH_SIZE, T_Integer) &&
		(is_table || is_item(items, PRIVATE_RELATIONS, T_String)) &&
		is_table == (scan->fdw_scan_tlist == NIL);
}

/* Can a statement be wrapped in another?  "ordered": a node above relies on its order. */
static bool
can_be_wrapped(const char *statement, bool ordered)
{
	/* a literal with these words prevents wrapping too: that does no harm */
	return strncmp(statement, "SELECT ", strlen("SELECT ")) == 0 &&
		(!ordered || strstr(statement, " ORDER BY ") == NULL);
}

/*
 * Find a column of the scan's result in the statement's result; return its number there,
 * from 1, or 0.  Set *declared to an expression of the type that the column has here.
 */
static int
column_of_statement(Plan *plan, AttrNumber column, Expr **declared)
{
	ForeignScan *scan = (ForeignScan *) plan;
	Var		   *var = var_of_column(plan, column);
	ListCell   *cell;

	*declared = NULL;
	if (var == NULL || var->varattno <= 0)
		return 0;
	if (scan->scan.scanrelid > 0)
	{
		if (var->varno != (int) scan->scan.scanrelid)
			return 0;
		*declared = (Expr *) var;
	}
	else
	{
		if (var->varno != INDEX_VAR ||
			var->varattno > list_length(scan->fdw_scan_tlist))
			return 0;
		*declared = list_nth_node(TargetEntry, scan->fdw_scan_tlist,
								  var->varattno - 1)->expr;
	}
	foreach(cell, (List *) list_nth(scan->fdw_private, PRIVATE_COLUMNS))
	{
		if (lfirst_int(cell) == var->varattno)
			return foreach_current_index(cell) + 1;
	}
	return 0;
}

/*
 * Return the type by which to hash the keys of one side of a join for foreign servers.  Return
 * InvalidOid if the keys cannot be sent.
 */
Oid
foreign_key_type(const HashJoin *join, bool of_outer)
{
	Oid			operator = linitial_oid(join->hashoperators);
	Oid			collation = linitial_oid(join->hashcollations);
	Oid			left;
	Oid			right;

	if (list_length(join->hashkeys) != 1)
		return InvalidOid;
	op_input_types(operator, &left, &right);
	return OidIsValid(sent_family(left)) && sent_family(left) == sent_family(right) &&
		membership_agrees(get_opcode(operator), left, right) &&
		(!OidIsValid(collation) || get_collation_isdeterministic(collation)) ?
		(of_outer ? left : right) : InvalidOid;
}

/*
 * Can a filter of keys of a type be sent with this scan, for a column of its result?
 * "ordered": a node above relies on the order of the rows.
 */
bool
foreign_filter_fits(const PlanEffects *effects, Plan *plan, AttrNumber column,
					Oid key_type, bool ordered)
{
	ForeignScan *scan = (ForeignScan *) plan;
	Expr	   *declared;

	return IsA(plan, ForeignScan) && is_known_scan(scan) &&
		can_be_wrapped(foreign_statement(scan), ordered) &&
		column_of_statement(plan, column, &declared) > 0 &&
		sent_family(getBaseType(exprType((Node *) declared))) == sent_family(key_type) &&
		!node_has_effects(effects, plan) && OidIsValid(foreign_probe_function());
}

/* Return how many rows of a scan are fetched at once. */
int
foreign_fetch_size(const Plan *plan)
{
	return intVal(list_nth(((const ForeignScan *) plan)->fdw_private, PRIVATE_FETCH_SIZE));
}

/* ---- The plan ---- */

/* Let a change of this object invalidate the plan of the statement. */
static void
depend_on(PlannedStmt *statement, int cache, Oid oid)
{
	PlanInvalItem *item = makeNode(PlanInvalItem);

	item->cacheId = cache;
	item->hashValue = GetSysCacheHashValue1(cache, ObjectIdGetDatum(oid));
	statement->invalItems = lappend(statement->invalItems, item);
}

/* Let a node be rescanned if a parameter changes. */
static void
add_parameter(Plan *plan, int parameter)
{
	plan->extParam = bms_add_member(bms_copy(plan->extParam), parameter);
	plan->allParam = bms_add_member(bms_copy(plan->allParam), parameter);
}

/*
 * Plan to send a filter of keys of a type: add parameters for it to the statement.  Return
 * the plan of the filter for Join Filter Build, see SentPlanField.
 */
List *
foreign_filter_plan(PlannedStmt *statement, Oid type)
{
	Oid			function = foreign_probe_function();
	Oid			filter = foreign_filter_type(function);
	int			parameter = list_length(statement->paramExecTypes);

	statement->paramExecTypes = lappend_oid(statement->paramExecTypes, filter);

	/* the least key, the greatest, and an array of all keys if few */
	statement->paramExecTypes = lappend_oid(statement->paramExecTypes, INT8OID);
	statement->paramExecTypes = lappend_oid(statement->paramExecTypes, INT8OID);
	statement->paramExecTypes = lappend_oid(statement->paramExecTypes, INT8ARRAYOID);
	/* DROP EXTENSION and ALTER EXTENSION SET SCHEMA change these */
	depend_on(statement, PROCOID, function);
	depend_on(statement, TYPEOID, filter);
	return list_make2_int(parameter, (int) type);
}

/* Add a scan, whose result has the key in "column", to *sent, the plan of a filter. */
void
foreign_filter_add_scan(List **sent, Plan *plan, AttrNumber column)
{
	Expr	   *declared;
	int			key = column_of_statement(plan, column, &declared);
	int32		modifier = exprTypmod((Node *) declared);
	Oid			type = getBaseTypeAndTypmod(exprType((Node *) declared), &modifier);

	Assert(key > 0);
	*sent = list_concat(*sent, list_make4_int(plan->plan_node_id, key, (int) type,
											  modifier));
	add_parameter(plan, list_nth_int(*sent, SENT_PARAMETER));
}

/*
 * Let nodes above scans with the parameter be rescanned too if it changes; return false if no
 * scan has it.
 */
bool
foreign_filter_depend(Plan *plan, int parameter)
{
	bool		depends = bms_is_member(parameter, plan->allParam);
	ListCell   *cell;

	check_stack_depth();
	foreach(cell, plan_children(plan))
		depends |= foreign_filter_depend(*(Plan **) lfirst(cell), parameter);
	if (depends)
		add_parameter(plan, parameter);
	return depends;
}
