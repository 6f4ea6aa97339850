/*
 * distributed.c
 *	  Tables that Citus distributes: their rows are in shards, on other servers.
 *
 * bloom_agg_shards() makes a filter of a column of such a table.  Each shard
 * aggregates its own rows by bloom_agg(), which accepts elements of any type, and
 * here the filters are united.  Of any other table it is bloom_agg() itself.
 *
 * The caller's expression is never pasted into a query.  It is parsed as what it
 * has to be, an expression of the table's columns, and what is sent is that tree in
 * the server's own words: with literals that mean the same under any setting, and
 * with names qualified.  Only names of pg_catalog are not, as ruleutils.c never does
 * that where pg_catalog comes first: a shard's search_path must not name another
 * schema before it.  Everything runs with the rights of the caller; Citus connects
 * to the shards as that user.
 *
 * Citus need not be installed where the extension is built: we know a catalog and a
 * function of it by their names.
 */
#include "distributed.h"

#include "access/genam.h"
#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "combine.h"
#include "executor/spi.h"
#include "mb/pg_wchar.h"
#include "parser/parse_collate.h"
#include "parser/parse_expr.h"
#include "parser/parse_relation.h"
#include "parser/parser.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"

SQL_FUNCTION(bloomfilter_agg_shards);

/* The catalog that lists Citus's tables, and its column with their OIDs */
#define CITUS_CATALOG		"pg_dist_partition"
#define CITUS_TABLE_COLUMN	"logicalrelid"

/*
 * Its function that sends a command to each shard of a table; format() puts the
 * shard's name in.  In each row a shard's number, whether the command succeeded, and
 * its result or its error's message.
 */
#define CITUS_RUN_COMMAND \
	"SELECT shardid, success, result FROM pg_catalog.run_command_on_shards($1, $2)"
#define SHARD_NAME			"%s"

/* Columns of CITUS_RUN_COMMAND */
enum
{
	RUN_SHARD = 1,
	RUN_SUCCESS,
	RUN_RESULT
};

/* What application_name begins with where Citus queries a shard */
#define CITUS_SHARD_QUERY	"citus_internal "

/* An expression is parsed between these; it may end with a comment. */
#define EXPRESSION_BEGIN	"SELECT (\n"
#define EXPRESSION_END		"\n)"

/*
 * table_is_distributed
 *		Is it a table that Citus distributes, so that its rows are elsewhere?
 */
bool
table_is_distributed(Oid table)
{
	Oid			catalog = get_relname_relid(CITUS_CATALOG, PG_CATALOG_NAMESPACE);
	AttrNumber	column;
	Relation	relation;
	SysScanDesc scan;
	ScanKeyData key;
	bool		found;

	if (likely(!OidIsValid(catalog)))
		return false;
	column = get_attnum(catalog, CITUS_TABLE_COLUMN);
	if (column == InvalidAttrNumber ||
		get_atttype(catalog, column) != REGCLASSOID)
		return false;
	relation = table_open(catalog, AccessShareLock);
	ScanKeyInit(&key, column, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(table));
	/* no index: the catalog is small, and we do not rely on its indexes */
	scan = systable_beginscan(relation, InvalidOid, false, NULL, 1, &key);
	found = HeapTupleIsValid(systable_getnext(scan));
	systable_endscan(scan);
	table_close(relation, AccessShareLock);
	return found;
}

/* ----------------------------------------------------------------
 *		The expression
 * ----------------------------------------------------------------
 */

/* An ErrorContextCallback: errors point into the expression. */
static void
point_into_expression(void *arg)
{
	const char *expression = (const char *) arg;
	int			position = geterrposition();

	if (position <= 0)
		return;
	position -= (int) strlen(EXPRESSION_BEGIN);
	errposition(0);
	internalerrposition(Min(position, pg_mbstrlen(expression) + 1));
	internalerrquery(expression);
}

/* The one expression that "sql" selects, or NULL if it does anything else */
static Node *
selected_expression(const char *sql)
{
	List	   *statements = raw_parser(sql, RAW_PARSE_DEFAULT);
	SelectStmt *select;
	ResTarget  *target;

	if (list_length(statements) != 1)
		return NULL;
	select = (SelectStmt *) linitial_node(RawStmt, statements)->stmt;
	if (!IsA(select, SelectStmt) || list_length(select->targetList) != 1)
		return NULL;
	target = linitial_node(ResTarget, select->targetList);
	select->targetList = NIL;
	/* no FROM, WHERE, UNION ... */
	if (!equal(select, makeNode(SelectStmt)) || target->name != NULL)
		return NULL;
	return target->val;
}

/*
 * The settings that matter for what ruleutils.c writes, until AtEOXact_GUC().  For
 * this session, names are qualified as its own search_path needs it; for others, all
 * but those of pg_catalog are.
 */
static int
set_portable_output(bool for_shards)
{
	static const char *const settings[][2] = {
		{"search_path", "pg_catalog"},
		{"datestyle", "ISO"},
		{"intervalstyle", "postgres"},
		{"extra_float_digits", "3"},
		/* what portable_literals() expects */
		{"standard_conforming_strings", "on"}
	};
	int			level = NewGUCNestLevel();

	for (size_t i = for_shards ? 0 : 1; i < lengthof(settings); i++)
		(void) set_config_option(settings[i][0], settings[i][1],
								 PGC_USERSET, PGC_S_SESSION,
								 GUC_ACTION_SAVE, true, 0, false);
	return level;
}

/* The length of the literal or identifier that begins here, with its quotes */
static size_t
quoted_length(const char *sql)
{
	const char	quote[] = {*sql, '\0'};
	size_t		length = 1;

	for (;;)
	{
		length += strcspn(sql + length, quote);
		if (sql[length] == '\0')
			return length;
		length++;
		if (sql[length] != *quote)
			return length;
		length++;				/* it was doubled */
	}
}

/*
 * The same SQL, written by ruleutils.c, with literals that mean the same whether or
 * not standard_conforming_strings is on where it is parsed: one with a backslash is
 * E'...'.
 */
static char *
portable_literals(const char *sql)
{
	StringInfoData result;

	initStringInfo(&result);
	while (*sql != '\0')
	{
		size_t		length = *sql == '\'' || *sql == '"' ? quoted_length(sql) : 1;
		bool		escape = *sql == '\'' && memchr(sql, '\\', length) != NULL;

		if (escape)
			appendStringInfoChar(&result, ESCAPE_STRING_SYNTAX);
		for (; length > 0; length--)
		{
			if (escape && *sql == '\\')
				appendStringInfoChar(&result, '\\');
			appendStringInfoChar(&result, *sql++);
		}
	}
	return result.data;
}

/*
 * What the expression is in any session, or in this one, of the columns of "table"
 * under its own name.  Errors: those of the parser; ERRCODE_SYNTAX_ERROR if it is more than an
 * expression; ERRCODE_FEATURE_NOT_SUPPORTED if it has a value not for each row alone.
 */
static char *
portable_expression(const char *expression, Relation table,
					bool for_shards)
{
	char	   *sql = psprintf("%s%s%s", EXPRESSION_BEGIN, expression,
							   EXPRESSION_END);
	ParseState *pstate = make_parsestate(NULL);
	ErrorContextCallback callback = {
		.previous = error_context_stack,
		.callback = point_into_expression,
		.arg = unconstify(char *, expression)
	};
	ParseNamespaceItem *item;
	Node	   *node;
	char	   *result;
	int			level;

	error_context_stack = &callback;
	node = selected_expression(sql);
	if (node == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("\"%s\" is not a single expression", expression),
				 errhint("Give an expression of the table's columns, as in bloom_agg_shards('visits', 'lower(url)', 1000000).")));
	pstate->p_sourcetext = sql;
	item = addRangeTableEntryForRelation(pstate, table, AccessShareLock,
										 NULL, true, true);
	addNSItemToQuery(pstate, item, true, true, true);
	node = transformExpr(pstate, node, EXPR_KIND_SELECT_TARGET);
	if (pstate->p_hasSubLinks || pstate->p_hasAggs ||
		pstate->p_hasWindowFuncs || pstate->p_hasTargetSRFs)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("the elements of a filter of shards must be an expression of one row"),
				 errdetail("Subqueries, aggregates, window functions and functions that return sets are not supported.")));
	assign_expr_collations(pstate, node);
	error_context_stack = callback.previous;

	level = set_portable_output(for_shards);
	result = deparse_expression(node,
								deparse_context_for(RelationGetRelationName(table),
													RelationGetRelid(table)),
								false, false);
	AtEOXact_GUC(true, level);
	free_parsestate(pstate);
	return portable_literals(result);
}

/* ----------------------------------------------------------------
 *		Aggregating
 * ----------------------------------------------------------------
 */

/* Append "string" for format(), which gives a meaning to each percent sign. */
static void
append_for_format(StringInfo buf, const char *string)
{
	for (; *string != '\0'; string++)
	{
		if (*string == '%')
			appendStringInfoChar(buf, '%');
		appendStringInfoChar(buf, *string);
	}
}

/*
 * The union of the filters that the shards of a table make by "command", a state
 * in "mcxt"; 0 if it has no shard
 */
static Datum
unite_shards(Oid table, const char *command, Oid filter_type,
			 MemoryContext mcxt)
{
	Oid			types[] = {REGCLASSOID, TEXTOID};
	Datum		values[] = {
		ObjectIdGetDatum(table),
		CStringGetTextDatum(command)
	};
	MemoryContext shard_mcxt = AllocSetContextCreate(CurrentMemoryContext,
													 "bloomfilter filter of a shard",
													 ALLOCSET_DEFAULT_SIZES);
	MemoryContext spi_mcxt = CurrentMemoryContext;
	Datum		state = (Datum) 0;
	Portal		portal;
	Oid			input;
	Oid			param;

	/* each row of each shard would query all shards, by as many connections */
	if (strncmp(application_name, CITUS_SHARD_QUERY,
				strlen(CITUS_SHARD_QUERY)) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("bloom_agg_shards cannot be called by the query of a shard"),
				 errhint("Write it as a subquery, which is executed once: (SELECT bloom_agg_shards(...)).")));

	getTypeInputInfo(filter_type, &input, &param);
	portal = SPI_cursor_open_with_args(NULL, CITUS_RUN_COMMAND,
									   lengthof(types), types, values,
									   NULL, false, 0);
	/* one at a time, because each is as large as the result */
	for (;;)
	{
		HeapTuple	row;
		TupleDesc	desc;
		FilterWriter writer;
		Datum		filter;
		bool		isnull;
		char	   *result;

		SPI_cursor_fetch(portal, true, 1);
		if (SPI_processed == 0)
			break;
		row = SPI_tuptable->vals[0];
		desc = SPI_tuptable->tupdesc;

		MemoryContextSwitchTo(shard_mcxt);
		result = SPI_getvalue(row, desc, RUN_RESULT);
		if (!DatumGetBool(SPI_getbinval(row, desc, RUN_SUCCESS, &isnull)) ||
			isnull || result == NULL)
		{
			/* as the shard has it, but for the end of the line */
			if (result != NULL)
				result[strcspn(result, "\n")] = '\0';
			ereport(ERROR,
					(errcode(ERRCODE_EXTERNAL_ROUTINE_EXCEPTION),
					 errmsg("could not make the filter of shard %s of table \"%s\": %s",
							SPI_getvalue(row, desc, RUN_SHARD),
							get_rel_name(table),
							result != NULL ? result : "no result")));
		}
		filter = OidInputFunctionCall(input, result, param, -1);
		/* a small state is where we are */
		MemoryContextSwitchTo(mcxt);
		if (state == (Datum) 0)
			writer_open_copied_state(&writer, filter, mcxt);
		else
		{
			writer_open_state(&writer, state, mcxt);
			writer_unite(&writer, value_image(filter));
		}
		state = writer_close_state(&writer);
		MemoryContextSwitchTo(spi_mcxt);
		SPI_freetuptable(SPI_tuptable);
		MemoryContextReset(shard_mcxt);
	}
	SPI_cursor_close(portal);
	MemoryContextDelete(shard_mcxt);
	return state;
}

/*
 * bloom_agg_shards(table_name regclass, expression text, capacity bigint,
 * error_rate float8)
 */
Datum
bloomfilter_agg_shards(PG_FUNCTION_ARGS)
{
	Oid			table = PG_GETARG_OID(0);
	char	   *expression = text_to_cstring(PG_GETARG_TEXT_PP(1));
	Oid			function = fcinfo->flinfo->fn_oid;
	FilterParams params = {
		.capacity = PG_GETARG_INT64(2),
		.error_rate = PG_GETARG_FLOAT8(3),
		.growth = GROWTH_DEFAULT,
		.kind = FILTER_BLOOM
	};
	MemoryContext caller = CurrentMemoryContext;
	FilterPlan	plan;
	Relation	relation;
	StringInfoData query;
	const char *alias;
	Datum		result;
	bool		distributed;
	bool		isnull;

	check_capacity(params.capacity);
	check_error_rate(params.error_rate, NULL);
	check_plan(filter_plan(&params, &plan), &plan, NULL);

	relation = table_open(table, AccessShareLock);
	distributed = table_is_distributed(table);
	alias = quote_identifier(RelationGetRelationName(relation));
	initStringInfo(&query);
	appendStringInfo(&query, "SELECT %s.bloom_agg(%s, " INT64_FORMAT "::pg_catalog.int8, '%.17g'::pg_catalog.float8) FROM ",
					 quote_identifier(get_namespace_name(get_func_namespace(function))),
					 portable_expression(expression, relation, distributed),
					 params.capacity, params.error_rate);

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "could not connect to SPI");
	if (distributed)
	{
		StringInfoData command;

		initStringInfo(&command);
		append_for_format(&command, query.data);
		appendStringInfoString(&command, SHARD_NAME " AS ");
		append_for_format(&command, alias);
		result = unite_shards(table, command.data,
							  get_func_rettype(function), caller);
	}
	else
	{
		appendStringInfo(&query, "%s AS %s",
						 quote_qualified_identifier(get_namespace_name(RelationGetNamespace(relation)),
													RelationGetRelationName(relation)),
						 alias);
		if (SPI_execute(query.data, false, 0) != SPI_OK_SELECT ||
			SPI_processed != 1)
			elog(ERROR, "could not aggregate table %u", table);
		result = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc,
							   1, &isnull);
	}
	MemoryContextSwitchTo(caller);
	result = PointerGetDatum(result == (Datum) 0 ?
							 value_make_empty(FILTER_BLOOM) :
							 value_copy_flat(result));
	SPI_finish();
	table_close(relation, AccessShareLock);
	PG_RETURN_DATUM(result);
}
