/*
 * selectivity.c
 *	  Estimate the share of a column's rows that pass a filter.
 *
 * We probe the filter with the column's most common values and with the bounds of its
 * histogram: each stands for a known fraction of the rows.  But a histogram has about a
 * hundred bounds, too few for a filter that one row in a thousand passes.  A second, more
 * precise estimate assumes that all elements of the filter are values of the column:
 * then elements / n_distinct of the values pass, and the filter's error rate applies to the
 * others.  We use this estimate unless the histogram contradicts it.
 *
 * Core hides the statistics from users who may not read the column, unless the function is
 * leakproof (statistic_proc_security_check()).
 *
 * The planner estimates a condition for each partition of a table.  Probing for each would
 * dominate planning time, so we estimate once for all partitions: by the statistics of the
 * partitioned table or, since autovacuum does not collect these, by those of the first
 * partition that has statistics.
 */
#include "selectivity.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_statistic.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/selfuncs.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

/* Ignore histograms with fewer bounds. */
#define HISTOGRAM_MIN_SIZE		10

/*
 * The histogram contradicts the estimate by elements / n_distinct if the share of bounds
 * that pass is this many standard deviations below it, or this many and one bound above it:
 * the estimate is rarely too low.
 */
#define HISTOGRAM_SIGMAS_BELOW	2.0
#define HISTOGRAM_SIGMAS_ABOVE	3.0

/* Is a function written in C?  Functions in other languages may be slow or raise errors. */
bool
is_native(Oid function)
{
	HeapTuple	tuple;
	Oid			language;

	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	if (!HeapTupleIsValid(tuple))
		return false;
	language = ((Form_pg_proc) GETSTRUCT(tuple))->prolang;
	ReleaseSysCache(tuple);
	return language == ClanguageId || language == INTERNALlanguageId;
}

/*
 * Can all values of an expression be hashed without an error, as planning must raise none?
 * Returns false for records, ranges, multiranges, nondeterministic collations, and types
 * whose hash function is not written in C.
 */
bool
can_be_hashed(Node *element, Oid collation)
{
	Oid			type = getBaseType(exprType(element));
	Oid			of_array;
	Oid			hash;

	while (OidIsValid(of_array = get_element_type(type)))
		type = getBaseType(of_array);
	if (type_is_rowtype(type) || type_is_range(type) || type_is_multirange(type))
		return false;
	hash = lookup_type_cache(type, TYPECACHE_HASH_EXTENDED_PROC)->hash_extended_proc;
	if (!OidIsValid(hash) || !is_native(hash))
		return false;
	if (OidIsValid(collation))
		return get_collation_isdeterministic(collation);
	return !type_is_collatable(type);
}

/*
 * Estimate the share of n_distinct values that pass a filter.  "sample" is the share of
 * sample_size values, such as a histogram's bounds, that pass; negative without a sample.
 */
double
share_of_values(const KnownFilter *filter, double n_distinct, double sample,
				int sample_size)
{
	double		share = Min(filter->elements / n_distinct, 1.0);
	double		sigma;

	share += (1 - share) * filter->error_rate;
	if (sample < 0)
		return share;
	sigma = sqrt(share * (1 - share) / sample_size);
	if (sample >= share - HISTOGRAM_SIGMAS_BELOW * sigma &&
		sample <= share + HISTOGRAM_SIGMAS_ABOVE * sigma + 1.0 / sample_size)
		return share;
	return Max(sample, filter->error_rate);
}

/*
 * Can the values in this kind of a column's statistics be probed as elements?  Users can
 * restore any statistics: values may have another type than the column, or no frequency.
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

/* Clamp a fraction computed from statistics, in which users may restore any number. */
static double
probability(double share)
{
	if (isnan(share))
		return DEFAULT_SELECTIVITY;
	CLAMP_PROBABILITY(share);
	return share;
}

/* Estimate the share of a column's rows, including NULLs, that pass; or SHARE_UNKNOWN. */
double
column_share(PlannerInfo *root, Node *element, int varRelid, Oid collation,
			 const KnownFilter *filter)
{
	VariableStatData vardata;
	double		share = SHARE_UNKNOWN;

	examine_variable(root, element, varRelid, &vardata);
	if (HeapTupleIsValid(vardata.statsTuple))
	{
		double		null_share =
			((Form_pg_statistic) GETSTRUCT(vardata.statsTuple))->stanullfrac;
		double		common = 0;
		double		common_sum = 0;
		double		hist = -1;
		int			hist_size = 0;
		bool		is_default;

		if (filter->contains)
		{
			if (statistics_fit(&vardata, STATISTIC_KIND_MCV))
				common = mcv_selectivity(&vardata, filter->contains, collation,
										 filter->filter, filter->element_first,
										 &common_sum);
			if (statistics_fit(&vardata, STATISTIC_KIND_HISTOGRAM))
				hist = histogram_selectivity(&vardata, filter->contains,
											 collation, filter->filter,
											 filter->element_first,
											 HISTOGRAM_MIN_SIZE, 0,
											 &hist_size);
		}
		share = probability(common +
							probability(1 - common_sum - null_share) *
							share_of_values(filter,
											get_variable_numdistinct(&vardata,
																	 &is_default),
											hist, hist_size));
	}
	ReleaseVariableStats(vardata);
	return share;
}

/* ---- One estimate for all partitions ---- */

typedef struct KnownShare
{
	PlannerInfo *root;
	List	   *probe;			/* see probe_of() */
	double		share;
} KnownShare;

/* The estimates made so far for the query being planned, in planner_cxt */
static struct
{
	PlannerGlobal *glob;		/* of the query; NULL without estimates */
	List	   *shares;
}			known;

static void
forget_known(void *glob)
{
	if (known.glob == glob)
		memset(&known, 0, sizeof(known));
}

/* Build a list that identifies a probe: equal() compares it with those of other probes. */
static List *
probe_of(const ShareKey *key)
{
	return list_make4(key->filter, key->element, key->types,
					  list_make3_oid(key->function, key->collation, key->element_type));
}

static void
add_known(PlannerInfo *root, const ShareKey *key, double share)
{
	MemoryContext old = MemoryContextSwitchTo(root->planner_cxt);
	KnownShare *added = palloc(sizeof(KnownShare));

	if (known.glob != root->glob)
	{
		MemoryContextCallback *callback = palloc(sizeof(MemoryContextCallback));

		callback->func = forget_known;
		callback->arg = root->glob;
		MemoryContextRegisterResetCallback(root->planner_cxt, callback);
		known.glob = root->glob;
		known.shares = NIL;
	}
	added->root = root;
	added->probe = copyObject(probe_of(key));
	added->share = share;
	known.shares = lappend(known.shares, added);
	MemoryContextSwitchTo(old);
}

/* Return the share that was estimated for this probe before, or SHARE_UNKNOWN. */
static double
find_known(PlannerInfo *root, const ShareKey *key)
{
	List	   *probe = probe_of(key);
	ListCell   *cell;

	if (known.glob != root->glob)
		return SHARE_UNKNOWN;
	foreach(cell, known.shares)
	{
		const KnownShare *share = lfirst(cell);

		if (share->root == root && equal(share->probe, probe))
			return share->share;
	}
	return SHARE_UNKNOWN;
}

/* Replace a partition's columns in an expression, in place, by the topmost table's. */
static bool
replace_by_parent(Node *node, void *arg)
{
	PlannerInfo *root = (PlannerInfo *) arg;
	Var		   *var = (Var *) node;

	if (node == NULL)
		return false;
	if (!IsA(node, Var))
		return expression_tree_walker(node, replace_by_parent, arg);
	while (var->varlevelsup == 0 && var->varattno > 0 &&
		   var->varno < root->simple_rel_array_size)
	{
		AppendRelInfo *info = root->append_rel_array[var->varno];

		/* the topmost table, UNION ALL, or a column that the parent lacks */
		if (info == NULL || !OidIsValid(info->parent_reloid) ||
			var->varattno > info->num_child_cols ||
			info->parent_colnos[var->varattno - 1] == 0)
			break;
		var->varattno = info->parent_colnos[var->varattno - 1];
		var->varno = info->parent_relid;
	}
	return false;
}

/* Copy a partition's element, with the topmost table's columns; NULL if it has none. */
static Node *
parent_element(PlannerInfo *root, Node *element)
{
	Node	   *parent;

	if (root->append_rel_array == NULL)
		return NULL;
	parent = copyObject(element);
	replace_by_parent(parent, root);
	return equal(parent, element) ? NULL : parent;
}

/* Return the number of rows of the only table in an expression; 0 if it is unknown. */
static double
rows_of(PlannerInfo *root, Node *element)
{
	Relids		tables = pull_varnos(root, element);
	int			table;

	if (!bms_get_singleton_member(tables, &table) ||
		table >= root->simple_rel_array_size ||
		root->simple_rel_array[table] == NULL)
		return 0;
	return Max(root->simple_rel_array[table]->tuples, 0);
}

/* Does an element have statistics?  Yes for a List of columns: its estimate needs none. */
bool
has_statistics(PlannerInfo *root, Node *element, int varRelid)
{
	VariableStatData vardata;
	bool		found;

	if (IsA(element, List))
		return true;
	examine_variable(root, element, varRelid, &vardata);
	found = HeapTupleIsValid(vardata.statsTuple);
	ReleaseVariableStats(vardata);
	return found;
}

/*
 * Call "estimate" once for all partitions of a table, in a temporary memory context.
 * Returns the share of rows that pass, or SHARE_UNKNOWN.
 */
double
share_once(PlannerInfo *root, const ShareKey *key, int varRelid, ShareEstimator estimate)
{
	MemoryContext mine = AllocSetContextCreate(CurrentMemoryContext,
											   "filter selectivity",
											   ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(mine);
	ShareKey	of_table = *key;
	ShareKey	of_parent;
	double		share;

	of_table.rows = rows_of(root, key->element);
	of_table.has_statistics = has_statistics(root, key->element, varRelid);
	of_parent = of_table;
	of_parent.element = parent_element(root, key->element);
	if (of_parent.element == NULL)
		share = estimate(root, &of_table, varRelid);
	else if ((share = find_known(root, &of_parent)) < 0)
	{
		of_parent.has_statistics = has_statistics(root, of_parent.element, 0);
		share = of_parent.has_statistics || !of_table.has_statistics ?
			estimate(root, &of_parent, 0) :
			estimate(root, &of_table, varRelid);
		/* do not keep SHARE_UNKNOWN: the next partition may have statistics */
		if (share >= 0)
			add_known(root, &of_parent, share);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(mine);
	return share;
}
