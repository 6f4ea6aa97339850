/*
 * planner.c
 *	  What the planner may know of bloom_contains(), its operators, and of the
 *	  functions that change a filter.
 *
 * Selectivity.  Where the filter is known at plan time (a constant, or a
 * parameter of a custom plan), it is asked about the column's most common
 * values and the bounds of its histogram, each of which stands for a known
 * share of the rows.  A histogram has some hundred bounds, too few for a filter
 * that lets one row in a thousand pass; a second estimate comes from numbers:
 * if all the filter's elements are in the column, they are the share elements /
 * n_distinct of its values, and of the others the filter's error rate passes
 * too.  Where the histogram does not contradict that, it is the finer one.
 *
 * A filter that is not known (from a subquery, a join) is taken to let
 * DEFAULT_SELECTIVITY of the rows pass: who uses one, wants to drop most rows.
 *
 * Folding.  A constant filter without elements contains nothing; asking it
 * about an element that cannot be NULL is false.
 *
 * Cost.  Told by the functions' COST in the SQL script: a probe is above a
 * plain comparison, and far below anything with a subplan.
 *
 * In place.  From PostgreSQL 18 on, PL/pgSQL asks whether "f := bloom_add(f, x)"
 * may change the variable's own value.  It may: see FilterWriter.
 */
#include "value.h"

#include <math.h>

#include "access/detoast.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_class.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "nodes/supportnodes.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/selfuncs.h"
#include "utils/typcache.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

SQL_FUNCTION(bloomfilter_contains_support);
SQL_FUNCTION(bloomfilter_contained_support);
SQL_FUNCTION(bloomfilter_membership_support);
SQL_FUNCTION(bloomfilter_change_support);
SQL_FUNCTION(bloomfilter_contains_sel);
SQL_FUNCTION(bloomfilter_contained_sel);
SQL_FUNCTION(bloomfilter_joinsel);

/* The functions behind the operators, in contains.c */
extern Datum bloomfilter_contains(PG_FUNCTION_ARGS);
extern Datum bloomfilter_contained(PG_FUNCTION_ARGS);

/* Share of the rows that an unknown filter is taken to let pass */
#define DEFAULT_SELECTIVITY		0.1

/*
 * A stored filter that is larger is not read whole to plan: what its header
 * says of elements and error rate is taken alone.  It would be read again for
 * each partition of a table, and this much takes half a millisecond.
 */
#define ASK_BYTES_MAX			((Size) 1024 * 1024)

/* A histogram of fewer bounds says nothing. */
#define HISTOGRAM_MIN_SIZE		10

/*
 * The histogram contradicts the other estimate if it is off by more than so
 * many standard deviations.  That estimate is rarely too low, so it takes more
 * to say so, and one bound more, for where hardly any is expected.
 */
#define HISTOGRAM_SIGMAS_BELOW	2.0
#define HISTOGRAM_SIGMAS_ABOVE	3.0

/*
 * A filter that is a constant, as far as it is wanted: its header and
 * descriptors if it is stored and larger than "whole_up_to" bytes, or else all,
 * as *whole tells.  NULL if it is no constant, or NULL.
 */
static const uint8 *
known_filter(Node *node, Size whole_up_to, bool *whole)
{
	Const	   *constant = (Const *) node;
	struct varlena *pointer;
	const uint8 *header;

	if (!IsA(node, Const) || constant->constisnull)
		return NULL;
	pointer = (struct varlena *) DatumGetPointer(constant->constvalue);
	*whole = !VARATT_IS_EXTERNAL_ONDISK(pointer) ||
		toast_raw_datum_size(constant->constvalue) <= whole_up_to;
	if (*whole)
		return value_image(constant->constvalue);
	header = (uint8 *) VARDATA(detoast_attr_slice(pointer, 0,
												  IMAGE_HEADER_BYTES));
	return (uint8 *) VARDATA(detoast_attr_slice(pointer, 0,
												filter_header_bytes(header)));
}

/*
 * Is it certain that to hash elements of this expression raises no error?  That
 * is for the executor to say, if it comes to it.  Of types with parts of other
 * types it is not certain.
 */
static bool
can_be_hashed(Node *element, Oid collation)
{
	Oid			type = getBaseType(exprType(element));
	Oid			of_array;

	while (OidIsValid(of_array = get_element_type(type)))
		type = getBaseType(of_array);
	if (type_is_rowtype(type) || type_is_range(type) ||
		type_is_multirange(type))
		return false;
	if (!OidIsValid(lookup_type_cache(type, TYPECACHE_HASH_EXTENDED_PROC)->hash_extended_proc))
		return false;
	if (OidIsValid(collation))
		return get_collation_isdeterministic(collation);
	return !type_is_collatable(type);
}

/*
 * Share of a column's values, most common ones left out, that a filter lets
 * pass.  hist is that of the histogram's bounds, of which there are hist_size,
 * or negative if there is none.
 */
static double
share_of_values(const uint8 *image, double n_distinct, double hist,
				int hist_size)
{
	double		error_rate = filter_estimated_error_rate(image);
	double		share = Min(filter_cardinality(image) / n_distinct, 1.0);
	double		sigma;

	share += (1 - share) * error_rate;
	if (hist < 0)
		return share;
	sigma = sqrt(share * (1 - share) / hist_size);
	if (hist >= share - HISTOGRAM_SIGMAS_BELOW * sigma &&
		hist <= share + HISTOGRAM_SIGMAS_ABOVE * sigma + 1.0 / hist_size)
		return share;
	return Max(hist, error_rate);
}

/*
 * May the values of this kind in a column's statistics be taken for elements?
 * Whoever may write statistics need not have made them of the column's type, or
 * with a frequency for each value.
 */
static bool
statistics_fit(VariableStatData *vardata, int kind)
{
	bool		common = kind == STATISTIC_KIND_MCV;
	AttStatsSlot slot;
	bool		fit;

	if (!get_attstatsslot(&slot, vardata->statsTuple, kind, InvalidOid,
						  ATTSTATSSLOT_VALUES |
						  (common ? ATTSTATSSLOT_NUMBERS : 0)))
		return false;
	fit = IsBinaryCoercible(slot.valuetype, getBaseType(vardata->vartype)) &&
		(!common || slot.nnumbers == slot.nvalues);
	free_attstatsslot(&slot);
	return fit;
}

/*
 * A share that was computed of numbers in statistics, which may be any: NaN would
 * pass CLAMP_PROBABILITY.
 */
static double
probability(double share)
{
	if (isnan(share))
		return DEFAULT_SELECTIVITY;
	CLAMP_PROBABILITY(share);
	return share;
}

/*
 * Selectivity of a call of bloom_contains(), or one with the filter behind the
 * element, as a restriction.
 */
static double
contains_selectivity(PlannerInfo *root, Oid function, List *args,
					 Oid collation, int varRelid, bool filter_first)
{
	Node	   *filter = filter_first ? linitial(args) : lsecond(args);
	Node	   *element = filter_first ? lsecond(args) : linitial(args);
	const uint8 *image;
	bool		whole;
	VariableStatData vardata;
	double		selectivity = DEFAULT_SELECTIVITY;

	filter = estimate_expression_value(root, filter);
	if (IsA(filter, Const) && ((Const *) filter)->constisnull)
		return 0;				/* the functions are strict */
	image = known_filter(filter, ASK_BYTES_MAX, &whole);
	if (image == NULL)
		return DEFAULT_SELECTIVITY;
	if (image_class(image) == ELEMENT_CLASS_NONE)
		return 0;

	/* if the element is not of the filter's class, that is an error later */
	if (!can_be_hashed(element, collation) ||
		element_hasher_create(exprType(element), collation,
							  ELEMENT_PORTABLE, CurrentMemoryContext)->class != image_class(image))
		return DEFAULT_SELECTIVITY;

	examine_variable(root, element, varRelid, &vardata);
	if (HeapTupleIsValid(vardata.statsTuple))
	{
		Form_pg_statistic stats =
			(Form_pg_statistic) GETSTRUCT(vardata.statsTuple);
		double		common = 0;
		double		common_sum = 0;
		double		hist = -1;
		int			hist_size = 0;
		bool		is_default;

		/* a filter of which only the header is at hand cannot be asked */
		if (whole)
		{
			FuncExpr   *call = makeFuncExpr(function, BOOLOID, args,
											InvalidOid, collation,
											COERCE_EXPLICIT_CALL);
			FmgrInfo	contains;
			Datum		flat = ((Const *) filter)->constvalue;

			/* in memory, so that no call reads it again */
			if (!VARATT_IS_4B_U(DatumGetPointer(flat)))
				flat = PointerGetDatum(value_copy_flat(flat));
			fmgr_info(function, &contains);
			fmgr_info_set_expr((Node *) call, &contains);
			if (statistics_fit(&vardata, STATISTIC_KIND_MCV))
				common = mcv_selectivity(&vardata, &contains, collation,
										 flat, !filter_first, &common_sum);
			if (statistics_fit(&vardata, STATISTIC_KIND_HISTOGRAM))
				hist = histogram_selectivity(&vardata, &contains, collation,
											 flat, !filter_first,
											 HISTOGRAM_MIN_SIZE, 0,
											 &hist_size);
		}
		selectivity = common +
			probability(1 - common_sum - stats->stanullfrac) *
			share_of_values(image,
							get_variable_numdistinct(&vardata, &is_default),
							hist, hist_size);
	}
	ReleaseVariableStats(vardata);
	return probability(selectivity);
}

/*
 * The same in memory that is given back: planning a table of a thousand
 * partitions estimates a thousand times.
 */
static double
contains_selectivity_freed(PlannerInfo *root, Oid function, List *args,
						   Oid collation, int varRelid, bool filter_first)
{
	MemoryContext mcxt = AllocSetContextCreate(CurrentMemoryContext,
											   "bloom selectivity",
											   ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(mcxt);
	double		selectivity = contains_selectivity(root, function, args,
												   collation, varRelid,
												   filter_first);

	MemoryContextSwitchTo(old);
	MemoryContextDelete(mcxt);
	return selectivity;
}

/*
 * Estimators of the operators @> and <@.  Anyone may name them for an operator
 * of their own, with arguments of any types and any number: only where the
 * function behind it is the one that we know, is it certain what these are.
 */
static Datum
operator_selectivity(FunctionCallInfo fcinfo, PGFunction known,
					 bool filter_first)
{
	PlannerInfo *root = (PlannerInfo *) PG_GETARG_POINTER(0);
	Oid			function = get_opcode(PG_GETARG_OID(1));
	List	   *args = (List *) PG_GETARG_POINTER(2);
	int			varRelid = PG_GETARG_INT32(3);
	FmgrInfo	flinfo;

	fmgr_info(function, &flinfo);
	if (flinfo.fn_addr != known)
		PG_RETURN_FLOAT8(DEFAULT_SELECTIVITY);
	PG_RETURN_FLOAT8(contains_selectivity_freed(root, function, args,
												PG_GET_COLLATION(), varRelid,
												filter_first));
}

Datum
bloomfilter_contains_sel(PG_FUNCTION_ARGS)
{
	return operator_selectivity(fcinfo, bloomfilter_contains, true);
}

Datum
bloomfilter_contained_sel(PG_FUNCTION_ARGS)
{
	return operator_selectivity(fcinfo, bloomfilter_contained, false);
}

/* Estimator of both operators between two tables: the filter is not known */
Datum
bloomfilter_joinsel(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(DEFAULT_SELECTIVITY);
}

/*
 * Is the attribute of this relation known to hold no NULL?
 */
static bool
attribute_is_not_null(Oid relation_id, AttrNumber attribute)
{
	Relation	relation = relation_open(relation_id, NoLock);
	bool		not_null;

#if PG_VERSION_NUM >= 180000
	/* there, a constraint may be marked and not yet validated */
	not_null = TupleDescCompactAttr(RelationGetDescr(relation),
									attribute - 1)->attnullability ==
		ATTNULLABLE_VALID;
#else
	not_null = TupleDescAttr(RelationGetDescr(relation),
							 attribute - 1)->attnotnull;
#endif
	relation_close(relation, NoLock);
	return not_null;
}

/* May an outer join of the query put NULLs in the place of its columns? */
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

/* Is it certain that this expression is never NULL? */
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
	 * Only while the query itself is prepared: later constraints of its
	 * tables are simplified, whose variables all say that they are of the
	 * first.
	 */
	if (!IsA(node, Var) || root == NULL || root->simple_rel_array != NULL ||
		var->varlevelsup != 0 ||
		var->varattno <= 0 || root->parse->groupingSets != NIL ||
		has_outer_join(root->parse))
		return false;
#if PG_VERSION_NUM >= 180000
	/* RETURNING old.x is NULL where there was no old row */
	if (var->varreturningtype != VAR_RETURNING_DEFAULT)
		return false;
#endif
	rte = rt_fetch(var->varno, root->parse->rtable);
	/* a child that is no partition may have dropped the constraint */
	return rte->rtekind == RTE_RELATION &&
		(!rte->inh || rte->relkind == RELKIND_PARTITIONED_TABLE) &&
		attribute_is_not_null(rte->relid, var->varattno);
}

/* What the planner asks of a function that asks a filter */
static Node *
support_contains(Node *request, bool filter_first)
{
	if (IsA(request, SupportRequestSelectivity))
	{
		SupportRequestSelectivity *req = (SupportRequestSelectivity *) request;

		req->selectivity = req->is_join ? DEFAULT_SELECTIVITY :
			contains_selectivity_freed(req->root, req->funcid, req->args,
									   req->inputcollid, req->varRelid,
									   filter_first);
		return request;
	}
	if (IsA(request, SupportRequestSimplify))
	{
		SupportRequestSimplify *req = (SupportRequestSimplify *) request;
		List	   *args = req->fcall->args;
		Node	   *filter = filter_first ? linitial(args) : lsecond(args);
		Node	   *element = filter_first ? lsecond(args) : linitial(args);
		bool		whole;
		const uint8 *image = known_filter(filter, 0, &whole);

		if (image && image_class(image) == ELEMENT_CLASS_NONE &&
			is_never_null(req->root, element))
			return makeBoolConst(false, false);
	}
	return NULL;
}

Datum
bloomfilter_contains_support(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(support_contains((Node *) PG_GETARG_POINTER(0), true));
}

Datum
bloomfilter_contained_support(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(support_contains((Node *) PG_GETARG_POINTER(0), false));
}

/* Of an index nothing is known while planning. */
Datum
bloomfilter_membership_support(PG_FUNCTION_ARGS)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);

	if (!IsA(request, SupportRequestSelectivity))
		PG_RETURN_POINTER(NULL);
	((SupportRequestSelectivity *) request)->selectivity = DEFAULT_SELECTIVITY;
	PG_RETURN_POINTER(request);
}

/*
 * What PL/pgSQL asks of a function that returns its first argument changed:
 * the argument that may be passed to be changed in place.
 */
Datum
bloomfilter_change_support(PG_FUNCTION_ARGS)
{
	Node	   *result = NULL;
#if PG_VERSION_NUM >= 180000
	Node	   *request = (Node *) PG_GETARG_POINTER(0);

	if (IsA(request, SupportRequestModifyInPlace))
	{
		SupportRequestModifyInPlace *req =
			(SupportRequestModifyInPlace *) request;
		Param	   *filter = (Param *) linitial(req->args);

		if (filter && IsA(filter, Param) &&
			filter->paramkind == PARAM_EXTERN &&
			filter->paramid == req->paramid)
			result = (Node *) filter;
	}
#endif
	PG_RETURN_POINTER(result);
}
