/*
 * foreign_statement.c
 *	  Wraps the statement of a foreign scan with a filter, and makes the statement that asks
 *	  whether the foreign server can probe filters.
 *
 * The server option "extensions" says that a foreign server has the extension, but nobody
 * checks it: the extension may be missing, be in another schema, or have a version without
 * the function.  A statement that calls the function would then fail.  So sent_keys.c asks
 * the server when the query is executed; if the answer is "no", the scan sends no filter.
 *
 * The question is a foreign scan without columns.  It reads only catalogs and resolves no
 * names, because a missing name would be an error.
 */
#include "foreign_statement.h"

#include "functions/sent_filter.h"

#include "access/htup_details.h"
#include "catalog/dependency.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

/* Return the function that the foreign server calls, as declared here; or InvalidOid. */
Oid
foreign_probe_function(void)
{
	Oid			extension = get_extension_oid(EXTENSION_NAME, true);
	CatCList   *functions = SearchSysCacheList1(PROCNAMEARGSNSP,
												CStringGetDatum(MAY_CONTAIN_NAME));
	Oid			found = InvalidOid;

	for (int i = 0; OidIsValid(extension) && i < functions->n_members; i++)
	{
		Form_pg_proc function = (Form_pg_proc) GETSTRUCT(&functions->members[i]->tuple);

		if (function->pronargs == MAY_CONTAIN_ARGUMENTS &&
			getExtensionOfObject(ProcedureRelationId, function->oid) == extension)
			found = function->oid;
	}
	ReleaseSysCacheList(functions);
	return found;
}

/* Return the type of the filter that the function takes. */
Oid
foreign_filter_type(Oid function)
{
	Oid		   *types;
	int			count;

	(void) get_func_signature(function, &types, &count);
	return types[MAY_CONTAIN_FILTER];
}

char *
foreign_statement(const ForeignScan *scan)
{
	return strVal(list_nth(scan->fdw_private, PRIVATE_STATEMENT));
}

/* Return a copy of a scan's plan with another statement, columns and parameters. */
static ForeignScan *
with_statement(const ForeignScan *scan, char *statement, List *columns, List *exprs)
{
	ForeignScan *copy = makeNode(ForeignScan);

	memcpy(copy, scan, sizeof(ForeignScan));
	copy->fdw_exprs = exprs;
	copy->fdw_private = list_copy(scan->fdw_private);
	lfirst(list_nth_cell(copy->fdw_private, PRIVATE_STATEMENT)) = makeString(statement);
	lfirst(list_nth_cell(copy->fdw_private, PRIVATE_COLUMNS)) = columns;
	return copy;
}

/* A parameter of the plan */
static Param *
make_parameter(int number, Oid type)
{
	Param	   *param = makeNode(Param);

	param->paramkind = PARAM_EXEC;
	param->paramid = number;
	param->paramtype = type;
	param->paramtypmod = -1;
	param->location = -1;
	return param;
}

/*
 * Make the plan of a scan that sends the filter in "parameter", and the numbers after it.
 * The scan's statement is wrapped in another, with a condition on its column number "key",
 * which has this type and modifier here.
 */
ForeignScan *
foreign_statement_send(const ForeignScan *scan, int parameter, int key, Oid type,
					   int32 modifier)
{
	Oid			function = foreign_probe_function();
	Oid			filter = foreign_filter_type(function);
	List	   *columns = list_nth(scan->fdw_private, PRIVATE_COLUMNS);
	List	   *exprs = list_copy(scan->fdw_exprs);
	StringInfoData statement;
	int64		number;

	initStringInfo(&statement);
	appendStringInfo(&statement, "SELECT * FROM (%s) f(c1", foreign_statement(scan));
	for (int i = 2; i <= list_length(columns); i++)
		appendStringInfo(&statement, ", c%d", i);
	/* postgres_fdw numbers parameters in the order of fdw_exprs */
	exprs = lappend(exprs, make_parameter(parameter, filter));
	appendStringInfo(&statement, ") WHERE %s.%s($%d::%s, c%d, '%s', %d, '%s'",
					 quote_identifier(get_namespace_name(get_func_namespace(function))),
					 MAY_CONTAIN_NAME, list_length(exprs),
					 format_type_be_qualified(filter), key, format_type_be(type),
					 modifier, GetDatabaseEncodingName());
	for (int i = MAY_CONTAIN_LEAST; i <= MAY_CONTAIN_KEYS && sent_number(type, (Datum) 0, &number); i++)
	{
		bool		is_array = i == MAY_CONTAIN_KEYS;

		exprs = lappend(exprs, make_parameter(++parameter, is_array ? INT8ARRAYOID : INT8OID));
		appendStringInfo(&statement, ", $%d::pg_catalog.int8%s", list_length(exprs),
						 is_array ? "[]" : "");
	}
	appendStringInfoChar(&statement, ')');
	return with_statement(scan, statement.data, columns, exprs);
}

/*
 * Plan a scan that returns a row if its server can probe a filter of this many bytes.  The
 * function must exist there, and the user must be allowed to call it.  Return NULL if the
 * extension was dropped here.  max_filter_size is unknown there, and ignored, until the
 * library is loaded; if its value is not as PostgreSQL prints it, no row is returned.
 */
ForeignScan *
foreign_statement_ask(const ForeignScan *scan, uint64 bytes)
{
	Oid			function = foreign_probe_function();
	char	   *schema;
	char	   *filter;

	if (!OidIsValid(function))
		return NULL;
	schema = get_namespace_name(get_func_namespace(function));

	/*
	 * postgres_fdw sets search_path to pg_catalog, so format_type() there
	 * qualifies the name too
	 */
	filter = format_type_be_qualified(foreign_filter_type(function));
	return with_statement(scan,
						  psprintf("SELECT NULL FROM pg_catalog.current_setting('" EXTENSION_NAME ".max_filter_size', true) s,"
								   " pg_catalog.pg_proc p"
								   " JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace"
									   " WHERE p.proname = '%s' AND n.nspname = %s AND p.pronargs = %d"
									   " AND pg_catalog.format_type(p.proargtypes[%d], NULL) = %s"
									   " AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')"
									   " AND pg_catalog.has_function_privilege(p.oid, 'EXECUTE')"
									   " AND CASE WHEN s IS NULL THEN true WHEN s ~ '^[0-9]+(kB|MB|GB)$'"
									   " THEN pg_catalog.pg_size_bytes(s) >= " UINT64_FORMAT " ELSE false END",
									   MAY_CONTAIN_NAME, quote_literal_cstr(schema),
									   MAY_CONTAIN_ARGUMENTS, MAY_CONTAIN_FILTER,
									   quote_literal_cstr(filter), bytes),
							  NIL, NIL);
}
