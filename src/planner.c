/*
 * planner.c
 *	  Planner support for bloom_contains(), its operators, and the functions that
 *	  change a filter.
 *
 * Selectivity.  If the filter is known at plan time (a constant, or a parameter
 * of a custom plan), we probe it with the column's most common values and the
 * bounds of its histogram, each of which represents a known fraction of the
 * rows.  A histogram has about a hundred bounds, too few for a filter that one
 * row in a thousand passes.  So there is a second estimate: if all elements of
 * the filter are in the column, they are elements / n_distinct of its values,
 * and the filter's error rate applies to the others.  Unless the histogram
 * contradicts the second estimate, we use it, as the more precise one.
 *
 * If the filter is not known (from a subquery or a join), we assume
 * DEFAULT_SELECTIVITY: filters are used to discard most rows.
 *
 * Folding.  A constant filter without elements contains nothing: probing it with
 * an element that cannot be NULL is false.
 *
 * Cost.  Set by COST in the SQL script: a probe costs more than a simple
 * comparison, and far less than anything with a subplan.
 *
 * In place.  From PostgreSQL 18 on, PL/pgSQL checks whether "f := bloom_add(f, x)"
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

/* Assumed fraction of the rows that pass an unknown filter */
#define DEFAULT_SELECTIVITY		0.1

/*
 * Of a larger stored filter, planning reads only the header, for its number of
 * elements and error rate.  The filter would be read again for each partition of
 * a table, and reading this many bytes takes half a millisecond.
 */
#define PROBE_BYTES_MAX			((Size) 1024 * 1024)

/* Ignore histograms with fewer bounds. */
#define HISTOGRAM_MIN_SIZE		10

/*
 * The histogram contradicts the other estimate if it differs by more than this
 * many standard deviations.  That estimate is rarely too low, so the limit above
 * is higher, and one more bound must pass, in case hardly any is expected to.
 */
#define HISTOGRAM_SIGMAS_BELOW	2.0
#define HISTOGRAM_SIGMAS_ABOVE	3.0

/*
 * The image of a constant filter, or NULL if "node" is no constant or is NULL.
 * If the filter is stored and larger than "whole_up_to" bytes, reads only its
 * header and descriptors, and sets *whole to false.
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
 * Can values of this expression be hashed, for certain, without an error?  Such
 * an error must come from the executor, if at all, not from the planner.  For
 * types that consist of other types we cannot be sure.
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
 * Fraction of a column's values, not counting the most common ones, that pass a
 * filter.  "hist" is the fraction of the histogram's hist_size bounds that pass,
 * or negative if there is no histogram.
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
 * Can we use this kind of a column's statistics as elements?  Statistics can be
 * written by users, so their values may be of another type than the column, and
 * there may be values without a frequency.
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
 * Limit a fraction that was computed from statistics, which may hold any numbers.
 * CLAMP_PROBABILITY alone would let NaN through.
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
 * Selectivity, from 0 to 1, of a call of bloom_contains() as a restriction;
 * filter_first is false for functions whose first argument is the element.
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
	image = known_filter(filter, PROBE_BYTES_MAX, &whole);
	if (image == NULL)
		return DEFAULT_SELECTIVITY;
	if (image_class(image) == ELEMENT_CLASS_NONE)
		return 0;

	/* an element of another class is an error, but not here */
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

		/* with the header alone, it cannot be probed */
		if (whole)
		{
			FuncExpr   *call = makeFuncExpr(function, BOOLOID, args,
											InvalidOid, collation,
											COERCE_EXPLICIT_CALL);
			FmgrInfo	contains;
			Datum		flat = ((Const *) filter)->constvalue;

			/* flat in memory, so that not every call reads it again */
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
 * The same, but frees its memory: planning a query on a thousand partitions
 * estimates a thousand times.
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
 * Estimators of the operators @> and <@.  Users can name them as estimators of
 * their own operators, with any number of arguments of any types.  So first check
 * that the operator's function is the one that we expect.
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

/* Join estimator of both operators: the filter is not known */
Datum
bloomfilter_joinsel(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(DEFAULT_SELECTIVITY);
}

/* Does a valid constraint say that this attribute is not NULL? */
static bool
attribute_is_not_null(Oid relation_id, AttrNumber attribute)
{
	Relation	relation = relation_open(relation_id, NoLock);
	bool		not_null;

#if PG_VERSION_NUM >= 180000
	/* from 18 on, a constraint may not be validated yet */
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

/* Has the query an outer join, which may replace its columns by NULLs? */
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
	 * Only while the query itself is preprocessed.  Later, the planner also
	 * simplifies constraints of its tables, in which all Vars have varno 1.
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
	/* an inheritance child that is no partition may lack the constraint */
	return rte->rtekind == RTE_RELATION &&
		(!rte->inh || rte->relkind == RELKIND_PARTITIONED_TABLE) &&
		attribute_is_not_null(rte->relid, var->varattno);
}

/* Support function for functions that probe a filter */
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

/* For membership_contains(): the planner knows nothing about an index. */
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
 * Support function for functions that return their first argument, changed:
 * tells PL/pgSQL that this argument may be changed in place.
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
