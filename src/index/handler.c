/*
 * handler.c
 *	  The index access method "membership": a Bloom filter of a column that the server keeps
 *	  up to date.
 *
 * For "column = value", the index gives one of two answers: there is no such row, or any
 * page of the table may have one.  So a bitmap scan returns either no page or all pages.
 * An index of the elements of arrays answers "array @> elements" and "array && elements" in
 * the same way.  key.c describes how the values of a row are hashed.
 *
 * VACUUM can remove nothing from the index.  It records the number of remaining rows, from
 * which membership_info() computes a lower bound of the number of dead elements.
 */
#include "membership.h"

#include "access/amvalidate.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/reloptions.h"
#include "access/relscan.h"
#include "catalog/pg_amop.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_type.h"
#include "commands/progress.h"
#include "commands/vacuum.h"
#include "common/shortest_dec.h"
#include "miscadmin.h"
#include "nodes/tidbitmap.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/regproc.h"
#include "utils/syscache.h"

/* Limit of the option capacity.  For a larger table, CREATE INDEX counts the elements. */
#define CAPACITY_MAX		INT_MAX

/* ---- Scans ---- */

static void
membership_rescan(IndexScanDesc scan, ScanKey keys, int number_of_keys,
				  ScanKey orderbys, int number_of_orderbys)
{
	if (keys && scan->numberOfKeys > 0)
		memmove(scan->keyData, keys, scan->numberOfKeys * sizeof(ScanKeyData));
}

static void
membership_endscan(IndexScanDesc scan)
{
}

/* Is it the operator that array_may_match() assumes for this strategy? */
static bool
is_array_operator(int strategy, RegProcedure function)
{
	return (strategy == STRATEGY_CONTAINS && function == F_ARRAYCONTAINS) ||
		(strategy == STRATEGY_OVERLAPS && function == F_ARRAYOVERLAP);
}

/*
 * May the index contain an array that matches "probe"?  For STRATEGY_CONTAINS it must
 * contain all elements of the probe, for STRATEGY_OVERLAPS any.  In core, a NULL element
 * never matches, and any array contains the empty one.
 */
static bool
array_may_match(Relation index, const MembershipMeta *meta,
				MembershipHasher *hasher, Datum probe, int strategy)
{
	bool		all = strategy == STRATEGY_CONTAINS;
	bool		has_null;
	Size		count = membership_hash_array(hasher, probe, &has_null);

	if (all && has_null)
		return false;
	for (Size i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (pages_contain(index, meta, hasher->hashes[i]) != all)
			return !all;
	}
	return all;
}

/*
 * The same as may_match(), for an index of the elements of arrays.  Also true, without a
 * probe, for other operators and for arrays of another type.
 */
static bool
arrays_may_match(Relation index, ScanKey keys, int number_of_keys)
{
	MembershipHasher hasher;
	MembershipMeta meta;
	bool		matches = true;

	membership_hasher_init(&hasher, index, CurrentMemoryContext);
	Assert(OidIsValid(hasher.array_of));
	meta_read(index, &meta);
	for (int i = 0; i < number_of_keys && matches; i++)
	{
		int			strategy = keys[i].sk_strategy;

		/* the operators are strict */
		if (keys[i].sk_flags & SK_ISNULL)
			matches = false;
		else if (strategy != STRATEGY_EQUAL &&
				 ARR_ELEMTYPE(DatumGetArrayTypeP(keys[i].sk_argument)) == hasher.array_of)
		{
			Assert(is_array_operator(strategy, keys[i].sk_func.fn_oid));
			matches = array_may_match(index, &meta, &hasher, keys[i].sk_argument, strategy);
		}
	}
	/* compare the structure after hashing, which rereads composite types */
	if (!membership_has_structure(&meta, membership_structure(&hasher)))
		matches = true;
	return matches;
}

/*
 * May there be a row that matches the keys?  False is certain.  The keys are joined by AND,
 * so if a column has two keys, one of them suffices.  True, without a probe, if the keys do
 * not cover all columns, if the values' class differs from the elements' (citext compared
 * as text may be equal), or if the type of the elements has been altered.
 */
static bool
may_match(Relation index, ScanKey keys, int number_of_keys)
{
	int			columns = IndexRelationGetNumberOfKeyAttributes(index);
	Datum		values[INDEX_MAX_KEYS];
	bool		nulls[INDEX_MAX_KEYS];
	Oid			types[INDEX_MAX_KEYS] = {0};
	List	   *key_types = NIL;
	MembershipMeta meta;
	MembershipHasher of_index;
	ElementHasher *hasher;
	TupleDesc	row;
	uint64		hash;

	Assert(columns > 0);
	if (membership_of_arrays(index))
		return arrays_may_match(index, keys, number_of_keys);
	for (int i = 0; i < number_of_keys; i++)
	{
		int			column = keys[i].sk_attno - 1;

		/* the operators are strict */
		if (keys[i].sk_flags & SK_ISNULL)
			return false;
		if (keys[i].sk_strategy != STRATEGY_EQUAL)
			continue;
		values[column] = keys[i].sk_argument;
		nulls[column] = false;
		types[column] = membership_key_type(index, column,
											keys[i].sk_subtype,
											keys[i].sk_func.fn_oid);
	}
	for (int i = 0; i < columns; i++)
	{
		if (!OidIsValid(types[i]))
			return true;
		key_types = lappend_oid(key_types, types[i]);
	}

	hasher = membership_key_hasher(index, key_types, &row, CurrentMemoryContext);
	hash = row ? element_hash_columns(hasher, row, values, nulls) :
		element_hash(hasher, values[0], 0);
	membership_hasher_init(&of_index, index, CurrentMemoryContext);
	meta_read(index, &meta);
	return hasher->class != of_index.hasher->class ||
		!membership_has_structure(&meta, membership_structure(&of_index)) ||
		pages_contain(index, &meta, hash);
}

/* amgetbitmap */
static int64
membership_getbitmap(IndexScanDesc scan, TIDBitmap *bitmap)
{
	Relation	index = scan->indexRelation;
	MemoryContext mine = AllocSetContextCreate(CurrentMemoryContext,
											   "membership scan",
											   ALLOCSET_SMALL_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(mine);
	BlockNumber pages = 0;

	pgstat_count_index_scan(index);
#if PG_VERSION_NUM >= 180000
	if (scan->instrument)
		scan->instrument->nsearches++;
#endif
	flush_pending();
	if (snapshot_too_old(index, scan->xs_snapshot) ||
		may_match(index, scan->keyData, scan->numberOfKeys))
	{
		/* the executor has locked the table before the index */
		Relation	heap = relation_open(index->rd_index->indrelid, NoLock);

		pages = RelationGetNumberOfBlocks(heap);
		relation_close(heap, NoLock);
	}
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(mine);
	for (BlockNumber page = 0; page < pages; page++)
	{
		CHECK_FOR_INTERRUPTS();
		tbm_add_page(bitmap, page);
	}
	return pages;
}

/* ---- VACUUM ---- */

/* ambulkdelete: an index has no rows that could be removed */
static IndexBulkDeleteResult *
membership_bulkdelete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
					  IndexBulkDeleteCallback callback, void *arg)
{
	return stats ? stats : palloc0(sizeof(IndexBulkDeleteResult));
}

/* amvacuumcleanup */
static IndexBulkDeleteResult *
membership_vacuumcleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats)
{
	if (info->analyze_only)
		return stats;
	if (stats == NULL)
		stats = palloc0(sizeof(IndexBulkDeleteResult));
	stats->num_pages = RelationGetNumberOfBlocks(info->index);
	/* the index does not count rows */
	stats->num_index_tuples = info->num_heap_tuples;
	stats->estimated_count = true;
	/* rows and elements are comparable only if each row has one element */
	if (!info->estimated_count && RelationGetIndexPredicate(info->index) == NIL &&
		!membership_of_arrays(info->index))
		meta_note_vacuum(info->index, info->num_heap_tuples);
	return stats;
}

/* ---- The access method ---- */

/* ambuildempty: the initial fork of an unlogged index */
static void
membership_buildempty(Relation index)
{
	MembershipHasher hasher;
	MembershipMeta meta;

	membership_hasher_init(&hasher, index, CurrentMemoryContext);
	meta_init(&meta, index, membership_structure(&hasher), 0);
	meta_write(index, INIT_FORKNUM, &meta);
}

static bytea *
membership_options(Datum options, bool validate)
{
	/*
	 * Not add_int_reloption(), which the library would call when it is
	 * loaded: after it ran out of memory, the next call of it crashes.
	 */
	local_relopts relopts;
	MembershipOptions *result;

	init_local_reloptions(&relopts, sizeof(MembershipOptions));
	add_local_int_reloption(&relopts, "capacity",
							"Minimum number of elements to size the index for",
							MEMBERSHIP_CAPACITY_DEFAULT, 1, CAPACITY_MAX,
							offsetof(MembershipOptions, capacity));
	add_local_real_reloption(&relopts, "error_rate",
							 "False-positive rate: share of absent elements that seem present",
							 ERROR_RATE_DEFAULT, -get_float8_infinity(),
							 get_float8_infinity(),
							 offsetof(MembershipOptions, error_rate));
	add_local_int_reloption(&relopts, "growth",
							"Quarters of the capacity of all layers that each next one has",
							GROWTH_DEFAULT, 1, IMAGE_MAX_GROWTH,
							offsetof(MembershipOptions, growth));
	result = build_local_reloptions(&relopts, options, validate);

	/* core would print the lowest rate as 0.000000, and accept NaN */
	if (validate &&
		!(result->error_rate >= ERROR_RATE_MIN &&
		  result->error_rate <= ERROR_RATE_MAX))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("value %s out of bounds for option \"%s\"",
						double_to_shortest_decimal(result->error_rate),
						"error_rate"),
				 errdetail("Valid values are between %g and %g.",
						   ERROR_RATE_MIN, ERROR_RATE_MAX),
				 HINT_ERROR_RATE));
	return (bytea *) result;
}

static char *
membership_buildphasename(int64 phase)
{
	static char *const names[] = {
		[PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE] = "initializing",
		[MEMBERSHIP_PHASE_SCAN] = "scanning table",
		[MEMBERSHIP_PHASE_SORT] = "sorting elements",
		[MEMBERSHIP_PHASE_WRITE] = "writing filter"
	};

	return phase >= 0 && phase <= MEMBERSHIP_PHASE_WRITE ? names[phase] : NULL;
}

/*
 * May an operator become the equality of elements of these types?  A restore creates
 * operator classes in the order of their names.  So the default class of the left type may
 * not exist yet, and another type's class may be found instead, or the class may not have
 * its operators of two types yet.  In these cases we believe the operator's declaration as
 * mergejoinable or hashjoinable.
 */
static bool
may_be_equality(Oid operator, Oid left, Oid right)
{
	Oid			equality = membership_equality(left, right);
	Oid			of = InvalidOid;
	Oid			other;

	if (membership_agrees(get_opcode(operator), left, right))
		return true;
	if (OidIsValid(equality))
		op_input_types(equality, &of, &other);
	return of != left &&
		(op_mergejoinable(operator, left) || op_hashjoinable(operator, left));
}

/* Report a fault of an operator class; returns false, for amvalidate(). */
static bool
report_invalid_class(Form_pg_opclass class, const char *complaint)
{
	ereport(INFO,
			(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
			 errmsg("operator class \"%s\" of access method %s %s",
					NameStr(class->opcname), "membership", complaint)));
	return false;
}

/*
 * amadjustmembers: refuse operators whose meaning we do not know.  Scans would never use
 * them (membership_key_type()).
 */
static void
membership_adjustmembers(Oid family, Oid opclass, List *operators, List *functions)
{
	ListCell   *cell;

	foreach(cell, operators)
	{
		OpFamilyMember *member = (OpFamilyMember *) lfirst(cell);
		bool		equality = member->number == STRATEGY_EQUAL;

		if (equality ?
			may_be_equality(member->object, member->lefttype, member->righttype) :
			is_array_operator(member->number, get_opcode(member->object)))
			continue;
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("operator %s cannot be number %d of access method %s",
						format_operator(member->object), member->number, "membership"),
				 equality ?
				 errdetail("It is not the equality of a default operator class of type %s.",
						   format_type_be(member->lefttype)) :
				 errdetail("Number %d is %s of arrays.", member->number,
						   member->number == STRATEGY_CONTAINS ? "@>" : "&&"),
				 equality ? 0 :
				 errhint("Use number %d for an equality.", STRATEGY_EQUAL)));
	}
}

/*
 * Describe the fault of an operator in an operator family, or return NULL.  An equality
 * must be the default one of its types, because this is the one that hashes agree with.
 * The other operators must be those of core for arrays.
 */
static const char *
operator_complaint(Form_pg_amop operator)
{
	if (operator->amoppurpose != AMOP_SEARCH ||
		!check_amop_signature(operator->amopopr, BOOLOID,
							  operator->amoplefttype,
							  operator->amoprighttype))
		return "invalid operator";
	if (operator->amopstrategy == STRATEGY_EQUAL)
		return membership_agrees(get_opcode(operator->amopopr),
								 operator->amoplefttype,
								 operator->amoprighttype) ? NULL :
			"an operator that is not the default equality of its type:";
	return is_array_operator(operator->amopstrategy, get_opcode(operator->amopopr)) ?
		NULL : "invalid operator";
}

/*
 * amvalidate: an operator class must have an equality of its own type or, with the storage
 * type anyelement, the operator @> of arrays.
 */
static bool
membership_validate(Oid opclass)
{
	HeapTuple	tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(opclass));
	Form_pg_opclass class;
	CatCList   *operators;
	int			needed;
	bool		has_needed = false;
	bool		valid = true;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator class %u", opclass);
	class = (Form_pg_opclass) GETSTRUCT(tuple);
	if (OidIsValid(class->opckeytype) &&
		!(class->opcintype == ANYARRAYOID && class->opckeytype == ANYELEMENTOID))
		valid = report_invalid_class(class, psprintf("has invalid storage type %s",
													 format_type_be(class->opckeytype)));
	needed = OidIsValid(class->opckeytype) ? STRATEGY_CONTAINS : STRATEGY_EQUAL;
	operators = SearchSysCacheList1(AMOPSTRATEGY, ObjectIdGetDatum(class->opcfamily));
	for (int i = 0; i < operators->n_members; i++)
	{
		Form_pg_amop operator = (Form_pg_amop)
			GETSTRUCT(&operators->members[i]->tuple);
		const char *complaint = operator_complaint(operator);

		if (complaint != NULL)
			valid = report_invalid_class(class, psprintf("contains %s %s", complaint,
														 format_operator(operator->amopopr)));
		if (operator->amopstrategy == needed &&
			operator->amoplefttype == class->opcintype &&
			operator->amoprighttype == class->opcintype)
			has_needed = true;
	}
	ReleaseCatCacheList(operators);
	if (!has_needed)
		valid = report_invalid_class(class, "is missing operator(s)");
	ReleaseSysCache(tuple);
	return valid;
}

static const IndexAmRoutine routine = {
	.type = T_IndexAmRoutine,
	.amstrategies = STRATEGIES,
	.amcanmulticol = true,
#if PG_VERSION_NUM >= 170000
	.amcanbuildparallel = true,
#endif
	.amstorage = true,			/* see key.c */
	.amusemaintenanceworkmem = false,	/* VACUUM needs none */
	.amparallelvacuumoptions = VACUUM_OPTION_NO_PARALLEL,
	.amkeytype = InvalidOid,

	.ambuild = membership_build,
	.ambuildempty = membership_buildempty,
	.aminsert = membership_insert,
	.ambulkdelete = membership_bulkdelete,
	.amvacuumcleanup = membership_vacuumcleanup,
	.amcostestimate = membership_costestimate,
	.amoptions = membership_options,
	.ambuildphasename = membership_buildphasename,
	.amvalidate = membership_validate,
	.amadjustmembers = membership_adjustmembers,
	.ambeginscan = RelationGetIndexScan,
	.amrescan = membership_rescan,
	.amgetbitmap = membership_getbitmap,
	.amendscan = membership_endscan
};

SQL_FUNCTION(bloomfilter_membership_handler)
{
#if PG_VERSION_NUM >= 190000
	PG_RETURN_POINTER(&routine);
#else
	/* the caller frees it */
	IndexAmRoutine *copy = palloc(sizeof(IndexAmRoutine));

	*copy = routine;
	PG_RETURN_POINTER(copy);
#endif
}
