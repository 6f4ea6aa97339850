/*
 * estimate.c
 *	  What the planner needs to know about calls that probe a membership index: the share of
 *	  a column's rows that the index contains, and whether parallel workers can read the
 *	  index.
 *
 * We probe the pages of the index with the values in the column's statistics
 * (planner/selectivity.c), by default about two hundred.
 *
 * Privileges.  The plan and its cost reveal the answers.  So we probe only for a user who
 * could call membership_contains(), and only with statistics that this user may see.
 *
 * Keys of joins.  Statistics do not show which values of several columns occur in one row,
 * so for a large table we probe with a sample of its rows; of a single column with a smaller
 * one, because the statistics may be older than most of its rows.  Without a sample, and for an
 * expression without statistics, the share of keys that an index contains is unknown.  We
 * assume half, as core does for a semi-join without statistics, or less if the index has
 * fewer elements than the table has distinct keys.  We know their number for columns, also
 * through an implicit cast, such as that of bigint to numeric, which keeps values distinct.
 * If a scan finds more, it stops probing (scan/probe_switch.c).
 *
 * Parallel workers.  The pages of a temporary table's index are in the memory of one
 * process.  A function is parallel safe or not, whatever its arguments.  So if a call may
 * read the index of a temporary table, the whole statement is planned without workers.
 */
#include "membership.h"

#include <math.h>

#include "functions/entry_points.h"
#include "access/detoast.h"
#include "access/heapam.h"
#include "access/relation.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "common/pg_prng.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "parser/parse_coerce.h"
#include "parser/parsetree.h"
#include "planner/selectivity.h"
#include "storage/bufmgr.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/selfuncs.h"
#include "utils/snapmgr.h"
#include "utils/typcache.h"

/*
 * If an index has more partitions than this, we probe none and only count their elements:
 * each value would have to be looked up in each partition.
 */
#define PROBED_LEAVES_MAX		8

/*
 * If an index has more pages than this, we trust the number of elements in its metapage.
 * In smaller indexes we count the bits, because the metapage lacks the last few elements of
 * each page: if the index was made for many elements and has a thousand, it may count none
 * of them.
 */
#define MEASURED_PAGES_MAX		64

/* The share of a join's keys that we assume if nothing is known, as in core */
#define JOIN_SHARE_ASSUMED		0.5

/*
 * The size of a sample, in pages and in rows of each page, and of one that only checks
 * statistics, a row of each page; a table is sampled if the query reads at least a hundred times as many rows.  Rows with longer values than ANALYZE keeps
 * are skipped.
 */
#define SAMPLED_PAGES			64
#define SAMPLED_TO_CHECK		16
#define SAMPLED_ROWS_OF_PAGE	4
#define SAMPLED_TABLE_ROWS_MIN	(100 * SAMPLED_PAGES * SAMPLED_ROWS_OF_PAGE)
#define SAMPLED_VALUE_BYTES_MAX	1024

/*
 * A sample contradicts the statistics if the share of its rows that pass is this many standard
 * deviations and one page above theirs.
 */
#define CHECK_SIGMAS			3.0

/* An index of a table or of a partition */
typedef struct Leaf
{
	Relation	index;
	MembershipMeta meta;
} Leaf;

/* What we collect about an index and its partitions */
typedef struct IndexEstimate
{
	const ShareKey *key;
	TupleDesc	row;			/* of a key of several columns, or NULL */
	bool		allowed;		/* the user may query all leaves */
	ElementClass class;			/* of its elements */
	ElementHasher *hasher;		/* NULL: no index seen yet */
	Leaf		leaves[PROBED_LEAVES_MAX];
	int			count;			/* of leaves */
	KnownFilter filter;
	FmgrInfo	contains;
} IndexEstimate;

/* A MembershipVisitor: adds an index to the estimate */
static void
add_leaf(Relation heap, Relation index, void *arg)
{
	IndexEstimate *estimate = (IndexEstimate *) arg;
	Leaf	   *leaf = &estimate->leaves[estimate->count];

	if (!membership_may_query(heap, index) && !membership_may_read_parent(heap))
	{
		estimate->allowed = false;
		return;
	}
	/* open it again: the visitor's caller closes it before we probe */
	leaf->index = relation_open(RelationGetRelid(index), NoLock);
	meta_read(index, &leaf->meta);
	if (meta_pages(&leaf->meta) <= MEASURED_PAGES_MAX)
		meta_measure(index, &leaf->meta);
	estimate->filter.elements += meta_elements(&leaf->meta);
	estimate->filter.error_rate += leaf->meta.error_rate;
	if (estimate->hasher == NULL)
	{
		MembershipHasher of_index;

		membership_hasher_init(&of_index, index, CurrentMemoryContext);
		estimate->hasher = estimate->key->for_join ?
			membership_key_hasher(index, estimate->key->types, &estimate->row,
								  CurrentMemoryContext) :
			element_hasher_create(estimate->key->element_type,
								  index->rd_indcollation[0], ELEMENT_LOCAL,
								  of_index.hasher, CurrentMemoryContext);
		estimate->class = of_index.hasher->class;
	}
	estimate->count++;
}

static bool
leaves_contain_hash(const IndexEstimate *estimate, uint64 hash)
{
	for (int i = 0; i < estimate->count; i++)
		if (pages_contain(estimate->leaves[i].index, &estimate->leaves[i].meta, hash))
			return true;
	return false;
}

/* Called by column_share(): does any leaf contain the value in argument 1? */
static Datum
leaves_contain(PG_FUNCTION_ARGS)
{
	const IndexEstimate *estimate = (const IndexEstimate *) fcinfo->flinfo->fn_extra;

	PG_RETURN_BOOL(leaves_contain_hash(estimate,
									   element_hash(estimate->hasher,
													PG_GETARG_DATUM(1), 0)));
}

/* The indexes that a call probes: those of a join, or that of a function's argument */
static List *
indexes_of(Node *filter)
{
	Oid			index;

	if (IsA(filter, OidList))
		return (List *) filter;
	index = DatumGetObjectId(((Const *) filter)->constvalue);
	return get_rel_relkind(index) == RELKIND_PARTITIONED_INDEX ?
		membership_leaves(index) : list_make1_oid(index);
}

/* Examine indexes; false if one of them cannot be used. */
static bool
examine_indexes(IndexEstimate *estimate, List *leaves)
{
	int			all = list_length(leaves);
	ListCell   *cell;

	estimate->allowed = true;
	foreach(cell, leaves)
	{
		if (estimate->count == PROBED_LEAVES_MAX)
			break;
		if (!membership_open_quietly(lfirst_oid(cell), add_leaf, estimate) ||
			!estimate->allowed)
			return false;
	}
	if (estimate->count == 0 ||
		(estimate->row == NULL && estimate->hasher->class != estimate->class))
		return false;
	estimate->filter.elements *= (double) all / estimate->count;
	estimate->filter.error_rate = Min(estimate->filter.error_rate * all / estimate->count, 1);
	if (all <= PROBED_LEAVES_MAX)
	{
		estimate->contains.fn_addr = leaves_contain;
		estimate->contains.fn_nargs = 2;
		estimate->contains.fn_strict = true;
		estimate->contains.fn_extra = estimate;
		estimate->contains.fn_mcxt = CurrentMemoryContext;
		estimate->filter.contains = &estimate->contains;
	}
	return true;
}

/*
 * The function that must be leakproof for the user to see the statistics.  Core trusts
 * leakproof operators; but we call the type's hash function, which may reveal the values if
 * a user has defined it.
 */
static Oid
function_to_trust(const ShareKey *key)
{
	Oid			hash = lookup_type_cache(getBaseType(key->element_type),
										 TYPECACHE_HASH_EXTENDED_PROC)->hash_extended_proc;

	return hash >= FirstNormalObjectId ? hash : key->function;
}

/* Return the column or the constant that a part of a key is; NULL if it is neither. */
static Node *
key_part(Node *expression)
{
	while (IsA(expression, RelabelType))
		expression = (Node *) ((RelabelType *) expression)->arg;
	if (IsA(expression, Const))
		return ((Const *) expression)->constisnull ? NULL : expression;
	return IsA(expression, Var) && ((Var *) expression)->varattno > 0 ? expression : NULL;
}

/*
 * The table that has all columns of a key; NULL if there is none, the query reads too few
 * of its rows for a sample, or the user may not see the statistics of these columns
 */
static RelOptInfo *
sampled_table(PlannerInfo *root, List *key)
{
	RelOptInfo *table = NULL;
	RangeTblEntry *entry;
	ListCell   *cell;

	foreach(cell, key)
	{
		Node	   *part = key_part(lfirst(cell));
		VariableStatData vardata;
		bool		visible;

		if (part == NULL || !can_be_hashed(part, exprCollation(part)))
			return NULL;
		if (IsA(part, Const))
			continue;
		examine_variable(root, part, 0, &vardata);
		visible = HeapTupleIsValid(vardata.statsTuple) && vardata.acl_ok;
		ReleaseVariableStats(vardata);
		if (!visible || (table && table != vardata.rel))
			return NULL;
		table = vardata.rel;
	}
	if (table == NULL || table->rows < SAMPLED_TABLE_ROWS_MIN)
		return NULL;
	entry = planner_rt_fetch(table->relid, root);
	return entry->rtekind == RTE_RELATION && !entry->inh ? table : NULL;
}

/*
 * May the key of a row be in one of the indexes?  Sets *hashed to false, and returns false,
 * if a value is so long that hashing might take much time or memory.
 */
static bool
leaves_contain_key(const IndexEstimate *estimate, List *key, TupleTableSlot *row,
				   bool *hashed)
{
	static const bool nulls[INDEX_MAX_KEYS] = {false};
	Datum		values[INDEX_MAX_KEYS];
	uint64		hash;
	bool		isnull;
	ListCell   *cell;

	*hashed = true;
	foreach(cell, key)
	{
		Node	   *part = key_part(lfirst(cell));
		int			column = IsA(part, Var) ? ((Var *) part)->varattno : 0;
		Datum	   *value = &values[foreach_current_index(cell)];

		if (column == 0)
		{
			*value = ((Const *) part)->constvalue;
			continue;
		}
		*value = slot_getattr(row, column, &isnull);
		if (isnull)
			return false;
		if (TupleDescAttr(row->tts_tupleDescriptor, column - 1)->attlen == -1 &&
			toast_raw_datum_size(*value) > SAMPLED_VALUE_BYTES_MAX)
		{
			*hashed = false;
			return false;
		}
	}
	hash = estimate->row ?
		element_hash_columns(estimate->hasher, estimate->row, values, nulls) :
		element_hash(estimate->hasher, values[0], 0);
	/* the hasher of rows has a class only after it has hashed a row */
	return estimate->hasher->class != estimate->class ||
		leaves_contain_hash(estimate, hash);
}

/*
 * The fraction of a table's sampled rows whose key is in one of the indexes.  The sample has
 * "rows_most" rows of at most "most" pages, without those that are not "cached" if that is asked for.  Sets
 * *pages to the number of pages from which it has rows, perhaps 0.
 */
static double
sample_share(PlannerInfo *root, const RelOptInfo *info, List *key,
			 const IndexEstimate *estimate, int most, int rows_most, bool cached, int *pages)
{
	Relation	table = relation_open(planner_rt_fetch(info->relid, root)->relid, NoLock);
	TupleTableSlot *slot = table_slot_create(table, NULL);
	BlockNumber blocks = RelationGetNumberOfBlocks(table);
	double		rows_of_page = Min(info->tuples / Max(blocks, 1), MaxHeapTuplesPerPage);
	MemoryContext of_row = AllocSetContextCreate(CurrentMemoryContext, "sampled row",
												 ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(of_row);
	pg_prng_state random;
	int			rows = 0;
	int			found = 0;

	*pages = 0;
	/* other access methods may number rows differently */
	if (table->rd_tableam != GetHeapamTableAmRoutine())
		blocks = 0;
	/* a fixed seed: the same rows each time, and so the same plan */
	pg_prng_seed(&random, 0);
	for (int page = 0; page < most && blocks > 0; page++)
	{
		BlockNumber block = blocks * ((page + pg_prng_double(&random)) / most);
		int			before = rows;

		if (cached &&
			!BufferIsValid(PrefetchBuffer(table, MAIN_FORKNUM, block).recent_buffer))
			continue;
		for (int row = 0; row < rows_most; row++)
		{
			ItemPointerData place;
			bool		hashed;

			ItemPointerSet(&place, block,
						   FirstOffsetNumber + (int) (rows_of_page * pg_prng_double(&random)));
			/* with an MVCC snapshot, this would take predicate locks */
			if (table_tuple_fetch_row_version(table, &place, SnapshotSelf, slot))
			{
				found += leaves_contain_key(estimate, key, slot, &hashed);
				rows += hashed;
			}
			MemoryContextReset(of_row);
		}
		*pages += rows > before;
	}
	MemoryContextSwitchTo(old);
	ExecDropSingleTupleTableSlot(slot);
	relation_close(table, NoLock);
	return (double) found / Max(rows, 1);
}

/* The share of keys made of these columns: by numbers, at most JOIN_SHARE_ASSUMED */
static double
share_of_numbers(PlannerInfo *root, const ShareKey *key, List *columns,
				 const IndexEstimate *estimate)
{
	double		n_distinct = estimate_num_groups(root, columns, Max(key->rows, 1),
												 NULL, NULL);

	return Min(estimate->filter.elements / n_distinct + estimate->filter.error_rate,
			   JOIN_SHARE_ASSUMED);
}

/* The share of keys of several columns: from a sample, or at most JOIN_SHARE_ASSUMED */
static double
share_of_rows(PlannerInfo *root, const ShareKey *key, const IndexEstimate *estimate)
{
	List	   *columns = (List *) key->element;
	RelOptInfo *table = NULL;
	int			pages = 0;
	double		sample = 0;

	if (estimate->filter.contains)
		table = sampled_table(root, columns);
	if (table)
		sample = sample_share(root, table, columns, estimate, SAMPLED_PAGES,
							  SAMPLED_ROWS_OF_PAGE, false,
							  &pages);
	/* rows of one page may be similar, so count pages */
	if (pages > 0)
		return share_of_values(&estimate->filter,
							   estimate_num_groups(root, columns, Max(key->rows, 1), NULL, NULL),
							   sample, pages);
	return share_of_numbers(root, key, columns, estimate);
}

/*
 * The share of a column's rows by its statistics, unless some rows tell that far more of them
 * pass: a table that grows has values which the statistics have not seen.
 */
static double
checked_share(PlannerInfo *root, Node *column, double share, const IndexEstimate *estimate)
{
	List	   *key = list_make1(column);
	RelOptInfo *table = NULL;
	int			pages = 0;
	double		sample = 0;

	if (share >= 0 && share < JOIN_SHARE_ASSUMED && estimate->filter.contains)
		table = sampled_table(root, key);
	if (table)
		sample = sample_share(root, table, key, estimate, SAMPLED_TO_CHECK, 1, true, &pages);
	return pages > 0 &&
		sample > share + CHECK_SIGMAS * sqrt(share * (1 - share) / pages) + 1.0 / pages ?
		sample : share;
}

/*
 * Return the column of which an expression is an implicit cast, written or not; NULL if it is
 * something else.
 */
static Node *
cast_column(Node *expression)
{
	FuncExpr   *cast = (FuncExpr *) expression;
	Node	   *column;
	Oid			function;

	if (!IsA(expression, FuncExpr) || cast->args == NIL)
		return NULL;
	column = linitial(cast->args);
	if (find_coercion_pathway(cast->funcresulttype, getBaseType(exprType(column)),
							  COERCION_IMPLICIT, &function) != COERCION_PATH_FUNC ||
		function != cast->funcid)
		return NULL;
	column = key_part(column);
	return column && IsA(column, Var) ? column : NULL;
}

/* A ShareEstimator */
static double
estimate_share(PlannerInfo *root, const ShareKey *key, int varRelid)
{
	Const	   *index = (Const *) key->filter;
	IndexEstimate estimate = {.key = key};
	bool		is_row = IsA(key->element, List);
	Node	   *column = key->for_join && !key->has_statistics ?
		cast_column(key->element) : NULL;
	double		share = SHARE_UNKNOWN;

	/* an index that is named at run time may not exist */
	if (!key->for_join && !IsA(index, Const))
		return SHARE_UNKNOWN;
	if (!key->for_join && index->constisnull)
		return 0;				/* the functions are strict */
	if ((key->has_statistics || (column && has_statistics(root, column, varRelid))) &&
		ActiveSnapshotSet() &&
		(is_row || can_be_hashed(key->element, key->collation)) &&
		examine_indexes(&estimate, indexes_of(key->filter)))
	{
		if (is_row)
			share = share_of_rows(root, key, &estimate);
		else if (column)
			share = share_of_numbers(root, key, list_make1(column), &estimate);
		else
		{
			estimate.contains.fn_oid = function_to_trust(key);
			share = column_share(root, key->element, varRelid, key->collation,
								 &estimate.filter);
			if (key->for_join)
				share = checked_share(root, key->element, share, &estimate);
		}
	}
	for (int i = 0; i < estimate.count; i++)
		relation_close(estimate.leaves[i].index, NoLock);
	return share;
}

/*
 * The fraction of a join's keys, 0 to 1, that the indexes of a table or of its partitions
 * contain.  "key" is an expression, or a List of one expression for each column of an
 * index; "types" are the types by which these are hashed.  "function" is the function of
 * the first column's operator, which core's estimators call with statistics.  Sets *assumed
 * to whether the result is a guess or comes from a sample.  The result is SHARE_UNKNOWN
 * only for a single column.
 */
double
membership_join_share(PlannerInfo *root, List *indexes, Oid function, Node *key,
					  List *types, Oid collation, bool *assumed)
{
	ShareKey	share_key = {
		.filter = (Node *) indexes,
		.filter_first = true,
		.function = function,
		.element = key,
		.element_type = linitial_oid(types),
		.types = types,
		.for_join = true,
		.collation = collation
	};
	double		share = share_once(root, &share_key, 0, estimate_share);

	*assumed = IsA(key, List) ||
		(cast_column(key) != NULL && !has_statistics(root, key, 0));
	while (IsA(key, RelabelType))
		key = (Node *) ((RelabelType *) key)->arg;
	if (share < 0 && !IsA(key, Var))
	{
		*assumed = true;
		share = JOIN_SHARE_ASSUMED;
	}
	return share;
}

/* Is it membership_contains() itself, and not one of its array variants? */
static bool
is_membership_contains(Oid function)
{
	FmgrInfo	flinfo;

	fmgr_info(function, &flinfo);
	return flinfo.fn_addr == bloomfilter_membership_contains;
}

/*
 * May the argument be the index of a temporary table?  If it is not a constant, then it may
 * if the session has temporary tables.
 */
static bool
may_be_temporary(Node *index)
{
	Const	   *constant = (Const *) index;
	Oid			oid;

	if (!IsA(index, Const))
		return OidIsValid(LookupExplicitNamespace("pg_temp", true));
	oid = constant->constisnull ? InvalidOid :
		DatumGetObjectId(constant->constvalue);
	/* a dropped index is an error when the function is called */
	return get_rel_relkind(oid) != '\0' &&
		get_rel_persistence(oid) == RELPERSISTENCE_TEMP;
}

static void
estimate_selectivity(SupportRequestSelectivity *req)
{
	req->selectivity = DEFAULT_SELECTIVITY;
	/* only for a single element, not for an array */
	if (!req->is_join && list_length(req->args) == 2 &&
		is_membership_contains(req->funcid))
	{
		ShareKey	key = {
			.filter = linitial(req->args),
			.filter_first = true,
			.function = req->funcid,
			.element = lsecond(req->args),
			.element_type = getBaseType(exprType(lsecond(req->args))),
			.collation = req->inputcollid
		};
		double		share = share_once(req->root, &key, req->varRelid, estimate_share);

		if (share >= 0)
			req->selectivity = share;
	}
}

/* Planner support of membership_contains(), its array variants, and membership_filter() */
SQL_FUNCTION(bloomfilter_membership_support)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);

	if (IsA(request, SupportRequestSelectivity))
	{
		estimate_selectivity((SupportRequestSelectivity *) request);
		PG_RETURN_POINTER(request);
	}
	if (IsA(request, SupportRequestSimplify))
	{
		SupportRequestSimplify *req = (SupportRequestSimplify *) request;

		/* the planner simplifies expressions before it reads parallelModeOK */
		if (req->root && may_be_temporary(linitial(req->fcall->args)))
			req->root->glob->parallelModeOK = false;
	}
	PG_RETURN_POINTER(NULL);
}
