/*
 * sent_filter.c
 *	  Probe a filter that another server has sent: _bloom_may_contain().
 *
 * A server that joins local rows with a foreign table sends a filter of the join's keys
 * with the statement of postgres_fdw (scan/foreign/foreign_filter.c).  The remote server,
 * which runs this file, drops rows whose column is not in the filter.  But if the foreign
 * table declares another type for the column, postgres_fdw converts each value by text, and
 * may change it: varchar(3) cuts off blanks.  Then only the changed value may be a key.
 *
 * So the call passes the declared type, and the encoding of the sender's database.  The
 * answer is "yes" unless a value certainly remains the same element when it is converted.
 * This is certain for integers of any width (a value out of range raises an error); for
 * text and varchar, if the declared type has no length; and for the other types in
 * sent_family(), if the declared type is the column's, with the same modifier or none.  For
 * strings, both databases must also have the same encoding, or the sender's must be UTF-8,
 * to which we convert a string before we hash it.
 *
 * The call also passes integers, dates and timestamps themselves: all keys if they are few,
 * else the least and the greatest.  Where "no" can be certain, the planner makes conditions
 * of these keys, for partition pruning, B-trees and BRIN.
 *
 * A NULL filter means "yes": there is none yet, or there are too many keys.  The sender
 * compares strings by bytes (foreign_filter.c checks that), so a column's collation matters
 * only if rows are grouped by the column here; see sent_simplify().
 */
#include "sent_filter.h"

#include "access/stratnum.h"
#include "access/transam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "parser/parsetree.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/lsyscache.h"

/*
 * Return one type for all types whose values convert to each other through text without a
 * change.  Returns InvalidOid if a value may change, as for money and types of extensions.
 */
Oid
sent_family(Oid type)
{
	switch (type)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
			return INT8OID;
		case TEXTOID:
		case VARCHAROID:
			return TEXTOID;
		case BPCHAROID:
		case BYTEAOID:
		case UUIDOID:
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case NUMERICOID:
		case FLOAT4OID:
		case FLOAT8OID:
			return type;
		default:
			return InvalidOid;
	}
}

/* Is a string the same element here as in a database of the encoding with this name? */
static bool
encoding_fits(const char *name)
{
	int			encoding = pg_char_to_encoding(name);

	return encoding == GetDatabaseEncoding() ||
		(encoding == PG_UTF8 && GetDatabaseEncoding() != PG_SQL_ASCII);
}

/* Get the value of a call's constant argument; false if it is NULL or not constant. */
static bool
get_constant(List *args, int number, Datum *value)
{
	const Const *constant = list_nth(args, number);

	if (!IsA(constant, Const) || constant->constisnull)
		return false;
	*value = constant->constvalue;
	return true;
}

/* Does a call's element, of this type, certainly stay the same in the declared type? */
static bool
element_fits(List *args, Oid type, int32 modifier)
{
	Oid			family = sent_family(type);
	Datum		declared;
	Datum		declared_modifier;
	Datum		encoding;

	if (!OidIsValid(family) ||
		!get_constant(args, MAY_CONTAIN_TYPE, &declared) ||
		!get_constant(args, MAY_CONTAIN_MODIFIER, &declared_modifier) ||
		!get_constant(args, MAY_CONTAIN_ENCODING, &encoding) ||
		sent_family(DatumGetObjectId(declared)) != family)
		return false;
	if (DatumGetInt32(declared_modifier) != -1 &&
		(DatumGetObjectId(declared) != type ||
		 DatumGetInt32(declared_modifier) != modifier))
		return false;
	return (family != TEXTOID && family != BPCHAROID) ||
		encoding_fits(NameStr(*DatumGetName(encoding)));
}

/*
 * Make the state of a call of _bloom_may_contain() in flinfo->fn_mcxt.  Returns NULL if the
 * answer is always "yes".  Raises no error.
 */
CallSite *
sent_call_site(FmgrInfo *flinfo)
{
	const FuncExpr *call = (const FuncExpr *) flinfo->fn_expr;
	const Node *element;
	Oid			type;
	int32		modifier;
	CallSite   *site;

	if (call == NULL || !IsA(call, FuncExpr) ||
		list_length(call->args) != MAY_CONTAIN_ARGUMENTS)
		return NULL;
	element = list_nth(call->args, MAY_CONTAIN_ELEMENT);
	modifier = exprTypmod(element);
	type = getBaseTypeAndTypmod(exprType(element), &modifier);
	if (!element_fits(call->args, type, modifier))
		return NULL;
	site = MemoryContextAllocZero(flinfo->fn_mcxt, sizeof(CallSite));
	site->user.mcxt = flinfo->fn_mcxt;
	site->hasher = element_hasher_create(type, C_COLLATION_OID, ELEMENT_PORTABLE,
										 NULL, flinfo->fn_mcxt);
	return site;
}

/* Is a filter empty, or are its elements of the class that the call looks up? */
bool
sent_filter_fits(const CallSite *site, const uint8 *header)
{
	return !image_is_foreign(header) &&
		(image_class(header) == ELEMENT_CLASS_NONE ||
		 image_class(header) == site->hasher->class);
}

/* Map a value to an integer, in the order of the type; false if the type has no map. */
bool
sent_number(Oid type, Datum value, int64 *number)
{
	switch (type)
	{
		case INT2OID:
			*number = DatumGetInt16(value);
			return true;
		case INT4OID:
		case DATEOID:
			*number = DatumGetInt32(value);
			return true;
		case INT8OID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			*number = DatumGetInt64(value);
			return true;
		default:
			return false;
	}
}

/* Map a number back to the value; the inverse of sent_number(). */
static Datum
value_of_number(Oid type, Datum number)
{
	return type == DATEOID ? DateADTGetDatum((DateADT) DatumGetInt64(number)) : number;
}

/* Return the operator that compares a column with "type" in its default B-tree opfamily. */
static Oid
column_operator(const Expr *column, Oid type, StrategyNumber strategy)
{
	Oid			own = exprType((const Node *) column);
	TypeCacheEntry *cache = lookup_type_cache(own, TYPECACHE_BTREE_OPFAMILY);

	return get_opfamily_member(cache->btree_opf, own, type, strategy);
}

/* Make a condition that compares a column with the value that "number" stands for. */
static Expr *
make_bound(Expr *column, StrategyNumber strategy, Datum number)
{
	Oid			type = sent_family(exprType((Node *) column));
	Const	   *bound = makeConst(type, -1, InvalidOid, get_typlen(type),
								  value_of_number(type, number), false,
								  get_typbyval(type));
	Expr	   *condition = make_opclause(column_operator(column, type, strategy), BOOLOID,
										  false, column, (Expr *) bound,
										  InvalidOid, InvalidOid);

	set_opfuncid((OpExpr *) condition);
	return condition;
}

/* Make a condition that a column has one of the values of these numbers. */
static Expr *
make_any(Expr *column, ArrayType *numbers)
{
	Oid			type = sent_family(exprType((Node *) column));
	ScalarArrayOpExpr *condition = makeNode(ScalarArrayOpExpr);
	ArrayType  *values;
	Datum	   *each;
	int			count;

	deconstruct_array(numbers, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE,
					  &each, NULL, &count);
	for (int i = 0; i < count; i++)
		each[i] = value_of_number(type, each[i]);
	values = construct_array(each, count, type, get_typlen(type), get_typbyval(type),
							 type == DATEOID ? TYPALIGN_INT : TYPALIGN_DOUBLE);
	condition->opno = column_operator(column, type, BTEqualStrategyNumber);
	condition->opfuncid = get_opcode(condition->opno);
	condition->useOr = true;
	condition->args = list_make2(column,
								 makeConst(get_array_type(type), -1, InvalidOid, -1,
										   PointerGetDatum(values), false, false));
	condition->location = -1;
	return (Expr *) condition;
}

/*
 * Does a column belong to a table with local rows only?  For a foreign table, postgres_fdw
 * would send our conditions to a third server, where the column may have yet another type.
 * (It does not send the call itself, as its argument "encoding" has a collation.)  For a
 * column of a view or a parent table, core simplifies the call again for each table.
 */
static bool
is_here(PlannerInfo *root, const Var *column)
{
	RangeTblEntry *rte;
	ListCell   *cell;

	/* in the condition of an EXISTS, "root" belongs to the query around it */
	if (root == NULL || root->parse->hasSubLinks || column->varlevelsup > 0)
		return false;
	rte = rt_fetch(column->varno, root->parse->rtable);
	if (rte->rtekind != RTE_RELATION)
		return false;
	foreach(cell, rte->inh ? find_all_inheritors(rte->relid, NoLock, NULL) :
			list_make1_oid(rte->relid))
	{
		if (get_rel_relkind(lfirst_oid(cell)) == RELKIND_FOREIGN_TABLE)
			return false;
	}
	return true;
}

/* Make conditions on a column from the keys that a call passes; NIL if it passes none. */
static List *
make_conditions(Expr *column, List *args)
{
	Datum		least;
	Datum		greatest;
	Datum		keys;

	if (get_constant(args, MAY_CONTAIN_KEYS, &keys) &&
		!array_contains_nulls(DatumGetArrayTypeP(keys)))
		return list_make1(make_any(column, DatumGetArrayTypeP(keys)));
	if (get_constant(args, MAY_CONTAIN_LEAST, &least) &&
		get_constant(args, MAY_CONTAIN_GREATEST, &greatest))
		return list_make2(make_bound(column, BTGreaterEqualStrategyNumber, least),
						  make_bound(column, BTLessEqualStrategyNumber, greatest));
	return NIL;
}

/* Return a call with constant arguments, ANDed with conditions on its column; or NULL. */
static Node *
add_conditions(PlannerInfo *root, FuncExpr *call)
{
	Var		   *column = list_nth(call->args, MAY_CONTAIN_ELEMENT);
	Expr	   *value = (Expr *) column;
	Oid			type;
	int32		modifier;
	List	   *conditions;
	Datum		filter;
	int64		number;
	FuncExpr   *rest;

	if (!IsA(column, Var))
		return NULL;
	modifier = column->vartypmod;
	type = getBaseTypeAndTypmod(column->vartype, &modifier);
	if (!sent_number(type, (Datum) 0, &number) ||
		!get_constant(call->args, MAY_CONTAIN_FILTER, &filter) ||
		!element_fits(call->args, type, modifier) || !is_here(root, column))
		return NULL;
	/* a domain has no operators of its own: compare the base type */
	if (type != column->vartype)
		value = (Expr *) makeRelabelType(value, type, -1, InvalidOid, COERCE_IMPLICIT_CAST);
	conditions = make_conditions(value, call->args);
	if (conditions == NIL)
		return NULL;
	/* remove the keys from the call, so that it is simplified only once */
	rest = copyObject(call);
	for (int i = MAY_CONTAIN_LEAST; i <= MAY_CONTAIN_KEYS; i++)
	{
		ListCell   *cell = list_nth_cell(rest->args, i);

		lfirst(cell) = makeNullConst(exprType(lfirst(cell)), -1, InvalidOid);
	}
	return (Node *) make_andclause(lappend(conditions, rest));
}

/*
 * Can values of this type and collation be equal but have different elements?  We assume it
 * of all types of extensions, such as citext, and of records.
 */
static bool
equality_ignores_bytes(Oid type, Oid collation)
{
	type = getBaseType(type);
	return type == RECORDOID || type == RECORDARRAYOID ||
		(type >= FirstNormalObjectId && !type_is_enum(type)) ||
		(OidIsValid(collation) && !get_collation_isdeterministic(collation));
}

/* Does the query group or sort its rows by a column whose equality ignores bytes? */
static bool
has_coarse_columns(const Query *query)
{
	ListCell   *cell;

	foreach(cell, query->targetList)
	{
		const TargetEntry *column = lfirst_node(TargetEntry, cell);

		if (column->ressortgroupref != 0 &&
			equality_ignores_bytes(exprType((Node *) column->expr),
								   exprCollation((Node *) column->expr)))
			return true;
	}
	return false;
}

/* Does a set operation compare rows by a column whose equality ignores bytes?  UNION ALL compares none. */
static bool
has_coarse_sets(const Node *node)
{
	const SetOperationStmt *sets = (const SetOperationStmt *) node;
	ListCell   *type;
	ListCell   *collation;

	if (node == NULL || !IsA(node, SetOperationStmt))
		return false;
	if (sets->op != SETOP_UNION || !sets->all)
	{
		forboth(type, sets->colTypes, collation, sets->colCollations)
		{
			if (equality_ignores_bytes(lfirst_oid(type), lfirst_oid(collation)))
				return true;
		}
	}
	check_stack_depth();
	return has_coarse_sets(sets->larg) || has_coarse_sets(sets->rarg);
}

/*
 * May this query, or a query around it, merge or group rows that have different elements?
 * The planner may move a call below the grouping.  The call need not show the type by which
 * the rows are grouped, because the planner drops casts that do nothing, and their collations.
 */
static bool
merges_elements(const PlannerInfo *root)
{
	for (; root != NULL; root = root->parent_root)
	{
		const Query *query = root->parse;
		bool		merges = query->groupClause != NIL || query->distinctClause != NIL ||
			query->windowClause != NIL;

		if ((merges && has_coarse_columns(query)) || has_coarse_sets(query->setOperations))
			return true;
	}
	return false;
}

/*
 * Return a simpler expression for a call, or NULL if there is none.
 *
 * The element may be an expression of a view, which may fail for rows that the view's own
 * conditions or joins would have dropped.  As the planner may evaluate the call before
 * these, return true, unless the expression only calls leakproof functions, which never
 * fail, or is an aggregate, which is computed before the call in any case.
 *
 * With a nondeterministic collation, or citext, strings in one group may have different
 * bytes, and the call would drop some of them: then return true as well.
 */
Node *
sent_simplify(PlannerInfo *root, FuncExpr *call)
{
	Node	   *element = list_nth(call->args, MAY_CONTAIN_ELEMENT);

	if ((!IsA(element, Aggref) && contain_leaked_vars(element)) || merges_elements(root))
		return makeBoolConst(true, false);
	return add_conditions(root, call);
}

/*
 * _bloom_may_contain(filter bloom, element anyelement, type regtype, modifier integer,
 * encoding name, least_key bigint, greatest_key bigint, keys bigint[])
 *
 * Returns true if the filter is NULL, and false if the element is: NULL joins nothing.  The
 * last three arguments are for the planner.
 */
SQL_FUNCTION(bloomfilter_may_contain)
{
	CallSite  **kept = (CallSite **) fcinfo->flinfo->fn_extra;
	CallSite   *site;
	FilterReader reader;
	uint64		hash;

	if (PG_ARGISNULL(MAY_CONTAIN_FILTER))
		PG_RETURN_BOOL(true);
	if (unlikely(kept == NULL))
	{
		kept = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt, sizeof(CallSite *));
		*kept = sent_call_site(fcinfo->flinfo);
		fcinfo->flinfo->fn_extra = kept;
	}
	site = *kept;
	if (site == NULL)
		PG_RETURN_BOOL(true);
	reader_open(&site->user, PG_GETARG_DATUM(MAY_CONTAIN_FILTER), 1, &reader);
	if (!sent_filter_fits(site, reader.image))
		PG_RETURN_BOOL(true);
	if (PG_ARGISNULL(MAY_CONTAIN_ELEMENT))
		PG_RETURN_BOOL(false);
	hash = element_hash(site->hasher, PG_GETARG_DATUM(MAY_CONTAIN_ELEMENT),
						image_seed(reader.image));
	reader_reopen(&site->user, 1, &reader);
	PG_RETURN_BOOL(reader_contains(&reader, hash));
}
