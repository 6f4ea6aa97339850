/*
 * contains.c
 *	  Probing a membership index: membership_contains(regclass, element), its array
 *	  variants, and join filters.
 *
 * Why "false" is certain.  Consider a row that the query's snapshot sees.  If another
 * transaction inserted the row, it had written the element to the index before it
 * committed, and had committed before the snapshot was taken.  If our own transaction
 * inserted the row, an earlier command did, and we write all waiting hashes before we read
 * any page (insert.c).  Rows that existed when the index was built are in the index, with
 * two exceptions: an index that is not valid yet raises an error, and for an index that was
 * built too late for an old snapshot the answer is always true (open.c).  So the bits of
 * the element are set in layers that the metapage names, and we read the metapage and the
 * layers after the snapshot was taken.  (The snapshot of a trigger can see rows that our
 * own transaction inserts later.  So we also look for the element among the insertions made
 * since.)
 *
 * A call site caches:
 *
 * - The indexes to probe, open and locked (many if the index is partitioned), and the fact
 *	 that the user may query them.  It opens them again after an invalidation (changes.c),
 *	 for another user, and for another index.  It notices partitions that another session
 *	 attaches or detaches, and new inheritance children, when the server's own caches do.
 *
 * - For each index, the view of the active snapshot (view.c), until another snapshot is
 *	 active.
 */
#include "membership.h"

#include "access/relation.h"
#include "functions/callsite.h"
#include "pgstat.h"
#include "storage/lmgr.h"
#include "storage/predicate.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

/* One of the indexes that a call site probes */
typedef struct SiteIndex
{
	Oid			oid;
	bool		always;			/* index too new for the snapshot: always true */
	bool		children;		/* its table has children: false is an error */
	IndexView  *view;			/* of the site's snapshot, or NULL */
} SiteIndex;

/* The state of one call in a query, kept from row to row */
struct MembershipSite
{
	MemoryContext mcxt;
	MemoryContextCallback leave;	/* called when the site is freed */
	Oid			probed;			/* the index probed last, or InvalidOid */
	Oid			user;			/* the user who may query that index */
	uint64		invalidation_count; /* invalidation_count when it was opened */
	Snapshot	snapshot;		/* of all views; NULL: no views */
	MemoryContext opened;		/* holds the hashers; NULL at first */
	SiteIndex  *indexes;		/* one, or those of the partitions */
	int			count;			/* of indexes */
	int			room;			/* allocated in "indexes" */
	ElementClass class;			/* of the elements of all indexes */
	uint64		structure;		/* see element_structure(); 0: cannot change */
	uint64		stored;			/* membership_structure() of all indexes */
	ElementHasher *hasher;		/* of the elements to probe for */
	MembershipHasher of_index;	/* the hasher of the index, which "hasher"
								 * agrees with */
	TypeCacheEntry *type;		/* of the call's elements */
	bool		for_scan;		/* count probes in the statistics */
	bool		unavailable;	/* an index cannot be probed: always true */

	/* For a join, see membership_site_make(); otherwise NIL and NULL */
	List	   *joined;			/* OIDs of the indexes to probe */
	List	   *key_types;		/* OIDs of the types of the values of a key */
	TupleDesc	row;			/* of "key_types", in "opened"; NULL if there
								 * is only one */
};

static inline bool
for_join(const MembershipSite *site)
{
	return site->joined != NIL;
}

/*
 * How often to repeat hashing because the elements' type has changed meanwhile: enough for
 * ALTER TYPE in other sessions, but finite, because a hash function may itself alter the
 * type
 */
#define HASHINGS_MAX		10

/* ---- Call sites ---- */

/* Leave all views; also the callback when the site is freed */
static void
leave_views(void *arg)
{
	MembershipSite *site = (MembershipSite *) arg;

	site->snapshot = NULL;
	for (int i = 0; i < site->count; i++)
	{
		IndexView  *view = site->indexes[i].view;

		site->indexes[i].view = NULL;
		view_leave(view);
	}
}

/*
 * Make a call site for a scan, in "mcxt", which may be reset at any time.  The site counts
 * the elements that are looked up in an index as its idx_tup_read in pg_stat_user_indexes,
 * and those that the index contains as idx_tup_fetch.
 *
 * For a join, "joined" are the indexes that together contain all rows to be joined: those
 * of one table, or of its partitions.  "types" are the types by which to hash the values of
 * a key, one for each column, the first of them element_type.  Both lists must outlive the
 * site.  To open such a site, with the first index, raises no error: if one of the indexes
 * cannot be probed, every answer is true.  The site ignores inheritance children.
 */
MembershipSite *
membership_site_make(MemoryContext mcxt, Oid element_type, List *joined, List *types)
{
	MembershipSite *site = (MembershipSite *)
		MemoryContextAllocZero(mcxt, sizeof(MembershipSite));

	site->mcxt = mcxt;
	/* not in "opened", which is freed before leave_views() is called */
	site->indexes = MemoryContextAlloc(mcxt, sizeof(SiteIndex));
	site->room = 1;
	site->type = lookup_type_cache(element_type, 0);
	site->for_scan = true;
	site->joined = joined;
	site->key_types = types;
	site->leave.func = leave_views;
	site->leave.arg = site;
	MemoryContextRegisterResetCallback(mcxt, &site->leave);
	return site;
}

/* Not inline, so that the calls that find a site need fewer registers */
static pg_noinline void
make_site(FmgrInfo *flinfo, bool is_array)
{
	MembershipSite *site = membership_site_make(flinfo->fn_mcxt,
												call_site_element_type(flinfo, 1, is_array),
												NIL, NIL);

	site->for_scan = false;
	flinfo->fn_extra = site;
}

/* A MembershipVisitor: adds an index to the site. */
static void
add_index(Relation heap, Relation index, void *arg)
{
	MembershipSite *site = (MembershipSite *) arg;
	SiteIndex  *added;

	if (site->count == site->room)
	{
		site->indexes = repalloc_huge(site->indexes, 2 * site->room * sizeof(SiteIndex));
		site->room *= 2;
	}
	added = &site->indexes[site->count];
	added->oid = RelationGetRelid(index);
	added->always = false;
	added->children = !for_join(site) && has_children(heap);
	added->view = NULL;

	/* the other partitions' columns have the same types and collations */
	if (site->count == 0)
	{
		membership_hasher_init(&site->of_index, index, site->opened);
		site->class = site->of_index.hasher->class;
		site->structure = element_structure(site->of_index.hasher);
		site->stored = membership_structure(&site->of_index);
		if (for_join(site))
			site->hasher = membership_key_hasher(index, site->key_types,
												 &site->row, site->opened);
		else
			site->hasher = element_hasher_create(site->type->type_id,
												 index->rd_indcollation[0],
												 ELEMENT_LOCAL,
												 site->of_index.hasher,
												 site->opened);
	}
	if (site->structure != 0)
	{
		MembershipMeta meta;

		/* the planner joins by no index whose type may be altered */
		if (for_join(site))
		{
			site->unavailable = true;
			return;
		}
		meta_read(index, &meta);
		membership_check_structure(&site->of_index, index, &meta);
	}
	site->count++;
}

/*
 * Open the indexes of the site anew: for another index or user, or after an invalidation.
 * Changes that happen meanwhile are noticed by the next call.
 */
static void
open_indexes(MembershipSite *site, Oid oid)
{
	uint64		before = invalidation_count;
	ListCell   *cell;

	leave_views(site);
	site->probed = InvalidOid;
	site->count = 0;
	site->hasher = NULL;
	if (site->opened)
		MemoryContextReset(site->opened);
	else
		site->opened = AllocSetContextCreate(site->mcxt, "membership call site",
											 ALLOCSET_SMALL_SIZES);
	site->unavailable = false;
	site->row = NULL;
	if (!for_join(site))
		membership_open_all(oid, OPEN_TO_PROBE, add_index, site);
	foreach(cell, site->joined)
	{
		if (!membership_open_quietly(lfirst_oid(cell), add_index, site))
			site->unavailable = true;
	}
	site->user = GetUserId();
	site->invalidation_count = before;
	site->probed = oid;
}

/* Switch to another snapshot, and join its views if the executor runs a query with it. */
static void
switch_snapshot(MembershipSite *site, Snapshot snapshot)
{
	bool		has_views = true;

	leave_views(site);
	flush_pending();
	for (int i = 0; i < site->count; i++)
	{
		SiteIndex  *at = &site->indexes[i];
		Relation	index = relation_open(at->oid, NoLock);

		Assert(CheckRelationLockedByMe(index, AccessShareLock, true));
		PredicateLockRelation(index, snapshot);
		at->always = snapshot_too_old(index, snapshot);
		at->view = view_join(index, snapshot);
		if (at->view == NULL)
		{
			has_views = false;
			pgstat_count_index_scan(index);
		}
		relation_close(index, NoLock);
	}

	/* unless views hold the snapshot, another may get its address */
	site->snapshot = has_views && site->count > 0 ? snapshot : NULL;
}

/* Are the site's indexes open for this index, and still valid? */
static inline bool
is_open(const MembershipSite *site, Oid oid)
{
	return site->probed == oid && site->invalidation_count == invalidation_count &&
		site->user == GetUserId();
}

/* Does the site have open views?  All of them are closed together, so test one. */
static inline bool
has_open_views(const MembershipSite *site)
{
	return site->snapshot != NULL && site->indexes[0].view->snapshot == site->snapshot;
}

/*
 * Open the index for the active snapshot, unless the site is open for both.  Errors: those
 * of membership_open_all(), unless the site is for a join; ERRCODE_ACTIVE_SQL_TRANSACTION
 * without an active snapshot.
 */
void
membership_site_open(MembershipSite *site, Oid oid)
{
	Snapshot	snapshot;

	if (unlikely(!ActiveSnapshotSet()))
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("cannot query an index without a snapshot")));
	snapshot = GetActiveSnapshot();
	if (likely(is_open(site, oid) && site->snapshot == snapshot && has_open_views(site)))
		return;
	/* a new snapshot may see the rows of a new partition */
	AcceptInvalidationMessages();
	if (!is_open(site, oid))
		open_indexes(site, oid);
	switch_snapshot(site, snapshot);
}

/* The call site of an SQL function, made at its first call */
static inline MembershipSite *
call_site_of(FunctionCallInfo fcinfo, bool is_array)
{
	if (unlikely(fcinfo->flinfo->fn_extra == NULL))
	{
		if (!is_array)
			call_site_note_array(fcinfo, 1);
		make_site(fcinfo->flinfo, is_array);
	}
	return (MembershipSite *) fcinfo->flinfo->fn_extra;
}

/* ---- Hashes ---- */

/* The hint for an element whose class is not that of the index */
static const char *
other_class_hint(const MembershipSite *site)
{
	const ElementHasher *hasher = site->hasher;

	if (element_class_is_array_of(site->class, hasher->class))
		return "Its elements are whole arrays. For those of arrays, create an index with the operator class array_elements_ops.";
	return class_hint(site->class, hasher->class, hasher->type,
					  site->of_index.row ?
					  "Cast the element to the types of the index's columns, for example ROW(value::my_type, value::text)." :
					  "Cast the element to the type of the index's column, for example value::my_type.");
}

static uint64
hash_element(MembershipSite *site, Datum element)
{
	uint64		hash;

	/* without partitions there is no hasher, and the index has no elements */
	if (unlikely(site->count == 0))
		return 0;
	hash = element_hash(site->hasher, element, 0);
	if (unlikely(site->hasher->class != site->class))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("index \"%s\" holds elements of class %s, not %s",
						get_rel_name(site->probed),
						element_class_name(site->class),
						element_class_name(site->hasher->class)),
				 errdetail("The element is of type %s.",
						   format_type_be(site->hasher->type)),
				 errhint("%s", other_class_hint(site))));
	return hash;
}

/* Is the site still open after hashing? */
static inline bool
is_undisturbed(const MembershipSite *site)
{
	return site->invalidation_count == invalidation_count &&
		(site->snapshot == NULL || has_open_views(site));
}

/*
 * Make sure that the site is open after hashing for the "attempt"th time, counted from 0.
 * Returns false if the caller must hash again, because the type has changed (no change
 * leads back to an old structure) or no index was open.  After HASHINGS_MAX attempts,
 * raises ERRCODE_OBJECT_IN_USE or, for a join, makes all answers true.
 */
bool
membership_site_settled(MembershipSite *site, int attempt)
{
	const bool	hashed = site->count > 0 && !site->unavailable;
	const ElementClass class = site->class;
	const uint64 structure = site->structure;

	if (likely(is_undisturbed(site)))
		return true;
	membership_site_open(site, site->probed);
	if (site->count == 0 || site->unavailable ||
		(hashed && site->class == class && site->structure == structure))
		return true;
	if (attempt < HASHINGS_MAX)
		return false;
	if (!for_join(site))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("could not get a stable definition of index \"%s\"",
						get_rel_name(site->probed))));
	site->unavailable = true;
	return true;
}

/*
 * Hash elements, and make sure that the index is open afterwards: hash functions, and
 * reading catalogs for them, may change the index or release its lock.
 */
static void
hash_and_open(MembershipSite *site, const ArrayElements *elements, uint64 *hashes)
{
	int			attempt = 0;

	do
		for (int i = 0; i < elements->count; i++)
		{
			if (i % BATCH == 0)
				CHECK_FOR_INTERRUPTS();
			hashes[i] = hash_element(site, elements->values[i]);
		}
	while (!membership_site_settled(site, attempt++));
}

/* ---- Probing ---- */

/* Probe the pages of an index, or its copy in memory. */
static void
probe_pages_or_copy(const MembershipSite *site, SiteIndex *at,
					const uint64 *hashes, Size count, bool *found)
{
	IndexView  *view = at->view;
	Relation	index = NULL;	/* NULL: probe the copy */
	MembershipMeta meta;

	if (view == NULL || view->copy->image == NULL)
	{
		index = relation_open(at->oid, NoLock);
		meta_read(index, &meta);
		if (unlikely(!membership_has_structure(&meta, site->stored)))
		{
			/* a copy in memory needs no check: it has the index's OID */
			if (!for_join(site))
				membership_check_structure(&site->of_index, index, &meta);
			memset(found, true, count * sizeof(bool));
			relation_close(index, NoLock);
			return;
		}
		if (view && view_copy_pays(view, index, &meta, site->class, count))
		{
			relation_close(index, NoLock);
			index = NULL;
		}
	}
	for (Size done = 0; done < count; done += BATCH)
	{
		Size		some = Min(count - done, BATCH);

		if (done > 0)
			CHECK_FOR_INTERRUPTS();
		if (index)
			pages_contain_batch(index, &meta, hashes + done, some, found + done);
		else
			filter_contains_batch(view->copy->image, hashes + done, some, found + done);
	}
	if (index)
		relation_close(index, NoLock);
}

/*
 * Might the snapshot see rows that this session has inserted since the view was made?  For
 * a join, only if a query was resumed with the snapshot: the snapshot may see rows of the
 * command that calls the query, and this command inserts none while the query runs.
 */
static inline bool
needs_own_insertions(const MembershipSite *site, const IndexView *view)
{
	return view && view->copy->inserted.made != own_insertions.made &&
		(!for_join(site) || view->resumed);
}

/* Look for elements that the view lacks in this session's insertions (insert.c). */
static void
probe_own_insertions(const SiteIndex *at, const uint64 *hashes, Size count, bool *found)
{
	Relation	index = relation_open(at->oid, NoLock);

	for (Size i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!found[i])
			found[i] = inserted_since(index, &at->view->copy->inserted, hashes[i]);
	}
	relation_close(index, NoLock);
}

/* Count in the statistics the elements looked up in an index, and those found. */
static void
count_probes(const SiteIndex *at, Size count, const bool *found)
{
	Relation	index = relation_open(at->oid, NoLock);

	pgstat_count_index_tuples(index, count);
	for (Size i = 0; i < count; i++)
		if (found[i])
			pgstat_count_heap_fetch(index);
	relation_close(index, NoLock);
}

/* Probe one index with "count" hashes. */
static void
probe_index(const MembershipSite *site, SiteIndex *at, const uint64 *hashes,
			Size count, bool *found)
{
	if (at->always)
	{
		memset(found, true, count * sizeof(bool));
		return;
	}
	probe_pages_or_copy(site, at, hashes, count, found);
	if (unlikely(needs_own_insertions(site, at->view)))
		probe_own_insertions(at, hashes, count, found);
	if (unlikely(at->children) && memchr(found, false, count) != NULL)
		refuse_children(at->oid);
	if (site->for_scan)
		count_probes(at, count, found);
}

/*
 * Set found[i] to whether an index of the open site may contain hashes[i].  Each index is
 * probed only with the hashes that the indexes before it lack.  Errors: those of reading
 * pages and, unless for a join, of membership_check_structure(); ERRCODE_WRONG_OBJECT_TYPE
 * if an index lacks an element, and its table has inheritance children.
 */
void
membership_site_probe(const MembershipSite *site, const uint64 *hashes,
					  Size count, bool *found)
{
	int			probed = 0;
	uint64	   *left;
	Size	   *places;
	bool	   *answers;

	if (unlikely(site->unavailable || site->count == 0))
	{
		memset(found, site->unavailable, count * sizeof(bool));
		return;
	}
	/* do not copy hashes until an index contains some of them */
	while (probed < site->count)
	{
		probe_index(site, &site->indexes[probed++], hashes, count, found);
		if (probed < site->count && memchr(found, true, count) != NULL)
			break;
	}
	if (probed == site->count)
		return;
	left = palloc_extended(count * sizeof(uint64), MCXT_ALLOC_HUGE);
	places = palloc_extended(count * sizeof(Size), MCXT_ALLOC_HUGE);
	answers = palloc_extended(count, MCXT_ALLOC_HUGE);
	for (int i = probed; i < site->count; i++)
	{
		Size		lacking = 0;

		for (Size j = 0; j < count; j++)
		{
			if (found[j])
				continue;
			left[lacking] = hashes[j];
			places[lacking++] = j;
		}
		if (lacking == 0)
			break;
		probe_index(site, &site->indexes[i], left, lacking, answers);
		for (Size j = 0; j < lacking; j++)
			found[places[j]] = answers[j];
	}
	pfree(left);
	pfree(places);
	pfree(answers);
}

/*
 * ---- For scans ----
 *
 * A scan opens the site, hashes the elements of many rows, and probes with all hashes if
 * the site is still open; otherwise it repeats this for each element alone.
 */

/*
 * Hash the values of a key for a join; none is NULL.  Sets *comparable to whether the hash
 * shows if the key is in the index.  It does not if the key's class differs from that of
 * the index's elements: "=" may still find the key equal to one of them.  Errors: those of
 * element_hash().
 */
uint64
membership_site_hash_key(MembershipSite *site, const Datum *values, bool *comparable)
{
	static const bool nulls[INDEX_MAX_KEYS] = {false};
	uint64		hash;

	/* the site may be available when it is probed */
	*comparable = false;
	if (site->unavailable)
		return 0;
	hash = site->row ? element_hash_columns(site->hasher, site->row, values, nulls) :
		element_hash(site->hasher, values[0], 0);
	*comparable = site->hasher->class == site->class;
	return hash;
}

/*
 * The same for a key of one value.  If the site is not for a join, always sets *comparable,
 * and raises ERRCODE_DATATYPE_MISMATCH for another class.
 */
uint64
membership_site_hash(MembershipSite *site, Datum element, bool *comparable)
{
	if (for_join(site))
		return membership_site_hash_key(site, &element, comparable);
	*comparable = true;
	return hash_element(site, element);
}

/* May membership_site_probe() raise an error for one element and not for another? */
bool
membership_site_may_refuse(const MembershipSite *site)
{
	for (int i = 0; i < site->count; i++)
		if (site->indexes[i].children)
			return true;
	return false;
}

/* The total size of the copies that the site probes, in bytes */
Size
membership_site_bytes(const MembershipSite *site)
{
	Size		bytes = 0;

	for (int i = 0; i < site->count; i++)
	{
		const IndexView *view = site->indexes[i].view;

		if (view && view->copy && view->copy->image)
			bytes += image_bytes(view->copy->image);
	}
	return bytes;
}

/* ---- The SQL functions ---- */

/* Is a single copy in memory all that must be probed? */
static inline bool
is_simple(const MembershipSite *site)
{
	const SiteIndex *at = site->indexes;

	return site->count == 1 && at->view && at->view->copy->image && !at->always &&
		!at->children && at->view->copy->inserted.made == own_insertions.made;
}

/* membership_contains(index regclass, element anycompatible) */
SQL_FUNCTION(bloomfilter_membership_contains)
{
	MembershipSite *site = call_site_of(fcinfo, false);
	Datum		element = PG_GETARG_DATUM(1);
	uint64		hash;
	bool		found;

	membership_site_open(site, PG_GETARG_OID(0));
	hash = hash_element(site, element);
	if (unlikely(!is_undisturbed(site)))
	{
		const ArrayElements one = {.count = 1, .values = &element};

		hash_and_open(site, &one, &hash);
	}
	if (likely(is_simple(site)))
		PG_RETURN_BOOL(filter_contains(site->indexes[0].view->copy->image, hash));
	membership_site_probe(site, &hash, 1, &found);
	PG_RETURN_BOOL(found);
}

/* Probe the index in argument 0 with the elements of argument 1. */
static ArrayAnswers *
probe_array(FunctionCallInfo fcinfo)
{
	MembershipSite *site = call_site_of(fcinfo, true);
	ArrayElements elements;
	ArrayAnswers *answers = palloc(sizeof(ArrayAnswers));
	uint64	   *hashes;

	membership_site_open(site, PG_GETARG_OID(0));
	answers->array = PG_GETARG_ARRAYTYPE_P(1);
	elements = array_elements(answers->array, site->type);
	hashes = palloc_extended(elements.count * sizeof(uint64), MCXT_ALLOC_HUGE);
	hash_and_open(site, &elements, hashes);

	answers->length = elements.length;
	answers->nulls = elements.nulls;
	answers->found = palloc(elements.length * sizeof(bool));
	membership_site_probe(site, hashes, elements.count, answers->found);
	spread_answers(answers, elements.count);
	return answers;
}

/* membership_contains_any(index regclass, elements anycompatiblearray) */
SQL_RESULT(bloomfilter_membership_contains_any,
		   find_answer(fcinfo, probe_array(fcinfo), true))

/* membership_contains_all(index regclass, elements anycompatiblearray) */
SQL_RESULT(bloomfilter_membership_contains_all,
		   find_answer(fcinfo, probe_array(fcinfo), false))

/* membership_contains_each(index, elements): an array of the same dimensions */
SQL_RESULT(bloomfilter_membership_contains_each, each_answer(probe_array(fcinfo)))
