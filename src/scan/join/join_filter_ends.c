/*
 * join_filter_ends.c
 *	  The values of a join's keys that are not integers: all of few, or the least and the
 *	  greatest, in the order by which an index can be searched for them.
 *
 * A join filter has only hashes of such keys.  So where block_filter.c has an index to ask, the
 * values are compared while the keys are collected: as many as the size of the tables allows
 * (KEYS_PER_PAGE).  With more keys, their ends are not known.
 *
 * The order is that of a btree operator family in which the join's operator is equality, with
 * the join's collation.  So a row with the key of another one also has the same place among
 * all values.  A comparison must not fail, so it must be the server's own, of plain types.
 */
#include "join_filter_ends.h"

#include "access/htup_details.h"
#include "access/nbtree.h"
#include "access/stratnum.h"
#include "access/transam.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_database.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

/*
 * Compare so many keys for each page of the table, which takes 1 / 20 of the scan: a page takes
 * 8 us, a key two comparisons, each of 20 ns, or of 200 by the rules of a language.
 */
#define KEYS_PER_PAGE			10
#define KEYS_PER_PAGE_LANGUAGE	1

/* ---- The plan ---- */

/* Can a function not raise an error for any value? */
static bool
is_safe(Oid function)
{
	return OidIsValid(function) &&
		(function < FirstUnpinnedObjectId || get_func_leakproof(function));
}

/*
 * Return the btree operator family with the usual order of a type, if an operator is equality
 * in it; else InvalidOid.
 */
Oid
key_family(Oid operator, Oid type)
{
	Oid			family = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY)->btree_opf;

	/* arrays, rows and ranges are compared by the functions of their parts */
	return OidIsValid(family) && get_typtype(type) == TYPTYPE_BASE &&
		get_op_opfamily_strategy(operator, family) == BTEqualStrategyNumber ? family : InvalidOid;
}

/*
 * Return the operators >=, <= and = of a family, by which a column of a type is compared with
 * collected keys; NIL if it has not all three.
 */
List *
key_end_operators(Oid family, Oid type, Oid collected)
{
	static const StrategyNumber strategies[] = {
		BTGreaterEqualStrategyNumber, BTLessEqualStrategyNumber, BTEqualStrategyNumber
	};
	List	   *operators = NIL;

	for (size_t i = 0; i < lengthof(strategies); i++)
	{
		Oid			operator = get_opfamily_member(family, type, collected, strategies[i]);

		if (!OidIsValid(operator) || !is_safe(get_opcode(operator)))
			return NIL;
		operators = lappend_oid(operators, operator);
	}
	return operators;
}

/* Are texts compared by their bytes in this database, if no collation is named? */
static bool
database_compares_bytes(void)
{
	HeapTuple	tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(MyDatabaseId));
	char		provider;
	bool		isnull;
	Datum		name;
	bool		is_c;

	if (!HeapTupleIsValid(tuple))
		return false;
	provider = ((Form_pg_database) GETSTRUCT(tuple))->datlocprovider;
	name = SysCacheGetAttr(DATABASEOID, tuple, Anum_pg_database_datcollate, &isnull);
	is_c = !isnull && (strcmp(TextDatumGetCString(name), "C") == 0 ||
					   strcmp(TextDatumGetCString(name), "POSIX") == 0);
	ReleaseSysCache(tuple);
	return provider == COLLPROVIDER_LIBC && is_c;
}

/*
 * Does a comparison go by the rules of a language?  (pg_locale.h knows, but needs the headers of
 * ICU, which not every installation has.)
 */
static bool
follows_language(Oid collation)
{
	if (collation == DEFAULT_COLLATION_OID)
		return !database_compares_bytes();
	return OidIsValid(collation) && collation != C_COLLATION_OID;
}

/*
 * Return the plan of comparing keys of a type, of which this many are expected, to spare some of
 * this many pages.  Return NIL if that is not possible, or takes too long.  With "forced", it may
 * take as long as it takes.
 */
List *
key_order_plan(Oid family, Oid type, Oid collation, double keys, double pages, bool forced)
{
	Oid			compare = get_opfamily_proc(family, type, type, BTORDER_PROC);
	double		most = forced ? INT_MAX : Min(INT_MAX, pages *
											  (follows_language(collation) ? KEYS_PER_PAGE_LANGUAGE :
											   KEYS_PER_PAGE));

	return is_safe(compare) && keys <= most ? list_make3_int(compare, type, (int) most) : NIL;
}

/* ---- Values ---- */

/* Prepare to compare keys by a plan; return NULL if it is NIL. */
KeyOrder *
key_order_begin(List *plan, Oid collation)
{
	KeyOrder   *order;

	if (plan == NIL)
		return NULL;
	Assert(list_length(plan) == 3);
	order = palloc0(sizeof(KeyOrder));
	fmgr_info(linitial_int(plan), &order->compare);
	order->collation = collation;
	get_typlenbyval(lsecond_int(plan), &order->length, &order->by_value);
	order->keys_max = lthird_int(plan);
	return order;
}

static int
compare(KeyOrder *order, Datum value, const KeyEnd *end)
{
	return DatumGetInt32(FunctionCall2Coll(&order->compare, order->collation, value,
										   key_end_value(end, order->by_value)));
}

/* Keep a value; if it is too long, the ends are not known. */
static void
keep(KeyEnds *ends, const KeyOrder *order, KeyEnd *end, Datum value)
{
	Size		size = datumGetSize(value, order->by_value, order->length);

	if (order->by_value)
		end->value = value;
	else if (size <= sizeof(end->bytes))
		memcpy(end->bytes, DatumGetPointer(value), size);
	else
		ends->unknown = true;
}

/* Add a value to all values, if there is room for it. */
static bool
list_value(KeyEnds *ends, KeyOrder *order, Datum value)
{
	int			first = 0;
	int			end = ends->listed;

	while (first < end)
	{
		int			middle = (first + end) / 2;
		int			result = compare(order, value, &ends->values[middle]);

		if (result == 0)
			return true;
		if (result < 0)
			end = middle;
		else
			first = middle + 1;
	}
	if (ends->listed == KEYS_LISTED_MAX)
		return false;
	memmove(&ends->values[first + 1], &ends->values[first],
			(ends->listed - first) * sizeof(KeyEnd));
	ends->listed++;
	keep(ends, order, &ends->values[first], value);
	return true;
}

/* Add a value to the ends. */
static void
extend(KeyEnds *ends, KeyOrder *order, Datum value)
{
	if (compare(order, value, &ends->values[1]) > 0)
		keep(ends, order, &ends->values[1], value);
	else if (compare(order, value, &ends->values[0]) < 0)
		keep(ends, order, &ends->values[0], value);
}

/* Forget all values but the least and the greatest. */
static void
drop_list(KeyEnds *ends)
{
	ends->only_ends = true;
	ends->values[1] = ends->values[ends->listed - 1];
	ends->listed = 2;
}

/* Add a key.  May allocate in the current memory context. */
void
key_ends_add(KeyEnds *ends, KeyOrder *order, Datum value)
{
	ends->unknown |= ends->count >= order->keys_max;
	ends->count++;
	if (ends->unknown)
		return;
	if (order->length == -1)
		value = PointerGetDatum(PG_DETOAST_DATUM_PACKED(value));
	if (!ends->only_ends)
	{
		if (list_value(ends, order, value))
			return;
		drop_list(ends);
	}
	extend(ends, order, value);
}

/* Add the keys of another process. */
void
key_ends_merge(KeyEnds *ends, KeyOrder *order, const KeyEnds *others)
{
	uint64		count = ends->count + others->count;
	bool		unknown = ends->unknown || others->unknown;

	if (ends->listed == 0)
		*ends = *others;
	else
	{
		if (others->only_ends && !ends->only_ends)
			drop_list(ends);
		for (int i = 0; i < others->listed && !unknown; i++)
			key_ends_add(ends, order, key_end_value(&others->values[i], order->by_value));
	}
	ends->count = count;
	ends->unknown |= unknown;
}
