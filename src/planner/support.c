/*
 * support.c
 *	  Planner support for bloom_contains(), its operators, and the functions that
 *	  change a filter.
 *
 * - Estimate the selectivity: by statistics (selectivity.c) if the planner can know the
 *	 filter (known_filter.c); else DEFAULT_SELECTIVITY, as filters discard most rows.
 * - Put conditions for indexes and partition pruning beside _bloom_may_contain().
 * - Replace a probe of an empty constant filter by false, if the element is never NULL.
 * - From PostgreSQL 19 on, drop the DISTINCT and ORDER BY of bloom_agg().
 * - From PostgreSQL 18 on, let PL/pgSQL's "f := bloom_add(f, x)" change the value of the
 *	 variable in place; see FilterWriter.
 */
#include "value/value.h"

#include "access/detoast.h"
#include "access/relation.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "functions/entry_points.h"
#include "functions/foreign_element.h"
#include "functions/sent_filter.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "selectivity.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

/*
 * The planner reads a stored filter up to PROBE_BYTES_MAX in full, in half a millisecond.
 * It probes a larger one only for tables of at least PROBE_ROWS_MIN rows, by some two
 * hundred slices, which takes 5 ms with 12 MB; for other tables it reads the header.
 */
#define PROBE_BYTES_MAX			((Size) 1024 * 1024)
#define PROBE_ROWS_MIN			100000.0

/*
 * Return the image of a constant filter, or NULL if there is none.  For a stored filter of
 * more than whole_up_to bytes, return value_header() and set *whole to false.
 */
static const uint8 *
image_of(Node *node, Size whole_up_to, bool *whole)
{
	Const	   *constant = (Const *) node;
	struct varlena *pointer;

	if (!IsA(node, Const) || constant->constisnull)
		return NULL;
	pointer = (struct varlena *) DatumGetPointer(constant->constvalue);
	*whole = !VARATT_IS_EXTERNAL_ONDISK(pointer) ||
		toast_raw_datum_size(constant->constvalue) <= whole_up_to;
	return *whole ? value_image(constant->constvalue) :
		value_header(constant->constvalue);
}

/* A ShareEstimator for filters that are values, unlike membership indexes */
static double
estimate_share(PlannerInfo *root, const ShareKey *key, int varRelid)
{
	Const	   *constant = known_filter(root, key->filter, key->has_statistics);
	const uint8 *image;
	bool		whole;
	ElementHasher *hasher;
	KnownFilter filter = {0};
	FmgrInfo	contains;

	if (constant == NULL)
		return SHARE_UNKNOWN;
	if (constant->constisnull)
		return 0;				/* the functions are strict */
	image = image_of((Node *) constant, PROBE_BYTES_MAX, &whole);
	if (image_class(image) == ELEMENT_CLASS_NONE)
		return 0;

	if (!key->has_statistics || !can_be_hashed(key->element, key->collation))
		return SHARE_UNKNOWN;
	hasher = element_hasher_create(exprType(key->element), key->collation,
								   ELEMENT_PORTABLE, NULL,
								   CurrentMemoryContext);
	/* an element of another class is an error only when the query runs */
	if (image_is_foreign(image) ? !foreign_elements_fit(image, hasher->type) :
		hasher->class != image_class(image))
		return SHARE_UNKNOWN;

	filter.elements = whole ? filter_cardinality(image) :
		filter_header_cardinality(image);
	filter.error_rate = filter_estimated_error_rate(image);
	/* do not read slices of a large filter for a small table */
	if (whole || key->rows >= PROBE_ROWS_MIN)
	{
		List	   *args = key->filter_first ?
			list_make2(constant, key->element) : list_make2(key->element, constant);

		filter.filter = constant->constvalue;
		filter.element_first = !key->filter_first;
		/* detoast the filter once, not in each call of the function */
		if (whole && !VARATT_IS_4B_U(DatumGetPointer(filter.filter)))
			filter.filter = PointerGetDatum(value_copy_flat(filter.filter));
		fmgr_info(key->function, &contains);
		fmgr_info_set_expr((Node *) makeFuncExpr(key->function, BOOLOID, args,
												 InvalidOid, key->collation,
												 COERCE_EXPLICIT_CALL),
						   &contains);
		filter.contains = &contains;
	}
	return column_share(root, key->element, varRelid, key->collation, &filter);
}

/* Does a function take the filter before the element, whose type is polymorphic? */
static bool
has_filter_first(Oid function)
{
	Oid		   *types;
	int			count;

	(void) get_func_signature(function, &types, &count);
	return count > 0 && !IsPolymorphicType(types[0]);
}

/* Estimate the selectivity of a restriction that calls a function that probes a filter. */
static double
contains_selectivity(PlannerInfo *root, Oid function, List *args,
					 Oid collation, int varRelid)
{
	bool		filter_first = has_filter_first(function);
	ShareKey	key = {
		.filter = list_nth(args, filter_first ? 0 : 1),
		.filter_first = filter_first,
		.function = function,
		.element = list_nth(args, filter_first ? 1 : 0),
		.collation = collation
	};
	double		share = share_once(root, &key, varRelid, estimate_share);

	return share >= 0 ? share : DEFAULT_SELECTIVITY;
}

/*
 * Restriction estimator of @> and <@.  Users can declare it for any operator, so check
 * which function the operator calls.
 */
SQL_FUNCTION(bloomfilter_contains_sel)
{
	PlannerInfo *root = (PlannerInfo *) PG_GETARG_POINTER(0);
	Oid			function = get_opcode(PG_GETARG_OID(1));
	List	   *args = (List *) PG_GETARG_POINTER(2);
	int			varRelid = PG_GETARG_INT32(3);
	FmgrInfo	flinfo;

	fmgr_info(function, &flinfo);
	if (flinfo.fn_addr != bloomfilter_contains && flinfo.fn_addr != bloomfilter_contained)
		PG_RETURN_FLOAT8(DEFAULT_SELECTIVITY);
	PG_RETURN_FLOAT8(contains_selectivity(root, function, args,
										  PG_GET_COLLATION(), varRelid));
}

/* Does the column have a validated NOT NULL constraint? */
static bool
attribute_is_not_null(Oid relation_id, AttrNumber attribute)
{
	Relation	relation = relation_open(relation_id, NoLock);
	bool		not_null;

#if PG_VERSION_NUM >= 180000
	/* from 18 on, the constraint may be NOT VALID */
	not_null = TupleDescCompactAttr(RelationGetDescr(relation), attribute - 1)
		->attnullability == ATTNULLABLE_VALID;
#else
	not_null = TupleDescAttr(RelationGetDescr(relation), attribute - 1)->attnotnull;
#endif
	relation_close(relation, NoLock);
	return not_null;
}

/* Does the query have an outer join, which may set columns to NULL? */
static bool
has_outer_join(Query *parse)
{
	ListCell   *cell;

	foreach(cell, parse->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell);

		if (rte->rtekind == RTE_JOIN && IS_OUTER_JOIN(rte->jointype))
			return true;
	}
	return false;
}

static bool
is_never_null(PlannerInfo *root, Node *node)
{
	Var		   *var = (Var *) node;
	RangeTblEntry *rte;

	if (IsA(node, Const))
		return !((Const *) node)->constisnull;
	if (IsA(node, RelabelType))
		return is_never_null(root, (Node *) ((RelabelType *) node)->arg);

	/*
	 * Trust varno only if it surely is an index into root->parse->rtable.  In
	 * constraints, which core simplifies once simple_rel_array is set, it is
	 * always 1.  In an EXISTS, "root" belongs to the query around it.
	 */
	if (!IsA(node, Var) || root == NULL || root->simple_rel_array != NULL ||
		root->parse->hasSubLinks || var->varlevelsup != 0 ||
		var->varattno <= 0 || root->parse->groupingSets != NIL ||
		has_outer_join(root->parse))
		return false;
#if PG_VERSION_NUM >= 180000
	/* RETURNING old.x is NULL for a row that was inserted */
	if (var->varreturningtype != VAR_RETURNING_DEFAULT)
		return false;
#endif
	rte = rt_fetch(var->varno, root->parse->rtable);
	/* an inheritance child that is no partition may lack the constraint */
	return rte->rtekind == RTE_RELATION &&
		(!rte->inh || rte->relkind == RELKIND_PARTITIONED_TABLE) &&
		attribute_is_not_null(rte->relid, var->varattno);
}

/* Are these the arguments of _bloom_may_contain()?  No other function takes as many. */
static inline bool
is_sent(const List *args)
{
	return list_length(args) == MAY_CONTAIN_ARGUMENTS;
}

/* Return a simpler expression than the call, such as false, or NULL if there is none. */
static Node *
simplify(SupportRequestSimplify *req)
{
	FuncExpr   *call = req->fcall;
	bool		filter_first;
	bool		whole;
	const uint8 *image;

	/* a function that changes a filter returns a filter */
	if (call->funcresulttype != BOOLOID)
		return NULL;
	if (is_sent(call->args))
		return sent_simplify(req->root, call);
	filter_first = has_filter_first(call->funcid);
	image = image_of(list_nth(call->args, filter_first ? 0 : 1), 0, &whole);
	if (image && image_class(image) == ELEMENT_CLASS_NONE &&
		is_never_null(req->root, list_nth(call->args, filter_first ? 1 : 0)))
		return makeBoolConst(false, false);
	return NULL;
}

#if PG_VERSION_NUM >= 180000
/* Return the first argument if it is the variable to which PL/pgSQL assigns the result. */
static Node *
changed_in_place(SupportRequestModifyInPlace *req)
{
	Param	   *filter = (Param *) linitial(req->args);

	if (filter && IsA(filter, Param) && filter->paramkind == PARAM_EXTERN &&
		filter->paramid == req->paramid)
		return (Node *) filter;
	return NULL;
}
#endif

#if PG_VERSION_NUM >= 190000
/* Copy an aggregate call without DISTINCT and ORDER BY; NULL if they cannot be dropped. */
static Node *
without_order(Aggref *aggref)
{
	Aggref	   *simple;
	List	   *args = NIL;
	ListCell   *cell;

	if (aggref->aggdistinct == NIL && aggref->aggorder == NIL)
		return NULL;
	foreach(cell, aggref->args)
	{
		TargetEntry *target = lfirst_node(TargetEntry, cell);

		if (!target->resjunk)
			args = lappend(args, target);
		else if (contain_volatile_functions((Node *) target))
			return NULL;
	}
	simple = makeNode(Aggref);
	memcpy(simple, aggref, sizeof(Aggref));
	simple->args = args;
	simple->aggdistinct = NIL;
	simple->aggorder = NIL;
	return (Node *) simple;
}
#endif

/* Planner support of functions that probe or change a filter, and of bloom_agg() in 19 */
SQL_FUNCTION(bloomfilter_support)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);

	if (IsA(request, SupportRequestSelectivity) &&
		!is_sent(((SupportRequestSelectivity *) request)->args))
	{
		SupportRequestSelectivity *req = (SupportRequestSelectivity *) request;

		req->selectivity = req->is_join ? DEFAULT_SELECTIVITY :
			contains_selectivity(req->root, req->funcid, req->args,
								 req->inputcollid, req->varRelid);
	}
	else if (IsA(request, SupportRequestSimplify))
		request = simplify((SupportRequestSimplify *) request);
#if PG_VERSION_NUM >= 180000
	else if (IsA(request, SupportRequestModifyInPlace))
		request = changed_in_place((SupportRequestModifyInPlace *) request);
#endif
#if PG_VERSION_NUM >= 190000
	else if (IsA(request, SupportRequestSimplifyAggref))
		request = without_order(((SupportRequestSimplifyAggref *) request)->aggref);
#endif
	else
		request = NULL;
	PG_RETURN_POINTER(request);
}
