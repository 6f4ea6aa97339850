/*
 * contains.c
 *	  Probing a membership index: membership_contains(regclass, element) and
 *	  the like.
 *
 * Why a "no" is true.  Let a row be visible to the query's snapshot.  If
 * another transaction inserted it, that had written the element to the index
 * before it committed, and had committed before the snapshot was taken.  If our
 * own transaction inserted it, that was in an earlier command, and hashes that
 * still wait are written before we read anything (insert.c).  Rows that
 * existed when the index was built are in it, with two exceptions: an index
 * that is not valid yet is an error; if it was built too late for an old
 * snapshot, the answer is "yes" (open.c).  So the bits are set in pages of layers
 * that the metapage names, and we read both after the snapshot was taken.  (A
 * trigger's snapshot can see rows that our own transaction inserts later.  So we
 * also check what it has inserted.)
 *
 * A call site caches what it has opened:
 *
 * - The indexes to probe, locked (many if the index is partitioned), and the
 *	 fact that the user may query them.  It opens them again after an
 *	 invalidation (changes.c), for another user, and for another index.  It
 *	 notices partitions that another session attaches or detaches, and new
 *	 inheritance children, when the server's own caches do.
 *
 * - For each index, the view of the snapshot (view.c), until another snapshot
 *	 is active.
 */
#include "membership.h"

#include "access/relation.h"
#include "functions/callsite.h"
#include "miscadmin.h"
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
	bool		always;			/* the snapshot cannot use it: always "yes" */
	bool		children;		/* its table has children: never "no" */
	IndexView  *view;			/* for the site's snapshot, or NULL */
} SiteIndex;

/* The state of one call in a query, kept from row to row */
struct MembershipSite
{
	MemoryContext mcxt;
	MemoryContextCallback leave;	/* called when the site is freed */
	Oid			probed;			/* the index probed last, or InvalidOid */
	Oid			user;			/* who may query it */
	uint64		invalidation_count; /* when it was opened */
	Snapshot	snapshot;		/* of all views; NULL: there are none */
	MemoryContext opened;		/* of the hashers; NULL before the first */
	SiteIndex  *indexes;		/* one, or those of the partitions, in mcxt */
	int			count;			/* of indexes */
	int			room;			/* allocated in "indexes" */
	ElementClass class;			/* of the elements of all indexes */
	uint64		structure;		/* see element_structure(); 0: cannot change */
	ElementHasher *hasher;		/* of the elements to probe for */
	MembershipHasher of_index;	/* the hasher of the index, which "hasher"
								 * agrees with */
	TypeCacheEntry *type;		/* of the call's elements */
	bool		for_scan;		/* it counts what it probes */
	bool		unavailable;	/* it cannot be probed: always "yes" */

	/* For a join, see membership_site_make_join(); otherwise NIL and NULL */
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
 * How often to hash elements whose type changes meanwhile: enough for ALTER TYPE in other
 * sessions, but a hash function that alters it must not keep us here forever
 */
#define HASHINGS_MAX		10

/* ---- Call sites ---- */

/* Also the callback when the site is freed */
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

static MembershipSite *
allocate_site(MemoryContext mcxt, Oid element_type)
{
	MembershipSite *site = (MembershipSite *)
		MemoryContextAllocZero(mcxt, sizeof(MembershipSite));

	site->mcxt = mcxt;
	site->type = lookup_type_cache(element_type, 0);
	site->leave.func = leave_views;
	site->leave.arg = site;
	MemoryContextRegisterResetCallback(mcxt, &site->leave);
	return site;
}

/*
 * The state of one place in a query that probes an index, for a scan; in "mcxt", which may
 * be reset at any time.  The index counts the elements that are looked up, as idx_tup_read
 * in pg_stat_user_indexes, and those that it contains, as idx_tup_fetch.
 */
MembershipSite *
membership_site_make(MemoryContext mcxt, Oid element_type)
{
	MembershipSite *site = allocate_site(mcxt, element_type);

	site->for_scan = true;
	return site;
}

/*
 * The same for a join, and the indexes that together have all rows to be joined: of a
 * table, or of its partitions.  "types" are those by which to hash the values of a key, one
 * for each column of an index.  Both lists must outlive the site.
 *
 * To open it, name the first index.  That raises no error: if one index cannot be probed,
 * every answer is "yes".  Rows of inheritance children do not matter.
 */
MembershipSite *
membership_site_make_join(MemoryContext mcxt, List *indexes, List *types)
{
	MembershipSite *site = membership_site_make(mcxt, linitial_oid(types));

	site->joined = indexes;
	site->key_types = types;
	return site;
}

/* Not inline, so that later calls need fewer registers */
static pg_noinline void
make_site(FmgrInfo *flinfo, bool is_array)
{
	flinfo->fn_extra = allocate_site(flinfo->fn_mcxt,
									 call_site_element_type(flinfo, 1, is_array));
}

/* A MembershipVisitor: adds an index to the site. */
static void
add_index(Relation heap, Relation index, void *arg)
{
	MembershipSite *site = (MembershipSite *) arg;
	SiteIndex  *added;

	if (site->count == site->room)
	{
		int			room = Max(1, 2 * site->room);

		/* not in "opened", which is freed before leave_views() is called */
		site->indexes = site->indexes == NULL ?
			MemoryContextAlloc(site->mcxt, room * sizeof(SiteIndex)) :
			repalloc_huge(site->indexes, room * sizeof(SiteIndex));
		site->room = room;
	}
	added = &site->indexes[site->count];
	added->oid = RelationGetRelid(index);
	added->always = false;
	added->children = !for_join(site) && has_children(heap);
	added->view = NULL;

	/* the others have columns of the same types and collations */
	if (site->count == 0)
	{
		membership_hasher_init(&site->of_index, index, site->opened);
		site->class = site->of_index.hasher->class;
		site->structure = element_structure(site->of_index.hasher);
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

		/* for a join, the planner takes no index on a type that may change */
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
 * Open an index that was not the last one probed, was probed by another user, or may have
 * changed.  The next call notices changes that happen while we open it.
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

/* Probe with another snapshot from now on, by views if possible. */
static void
turn_to_snapshot(MembershipSite *site, Snapshot snapshot)
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
	/* without views, the next snapshot may have the same address */
	site->snapshot = has_views && site->count > 0 ? snapshot : NULL;
}

/* Is what the site has cached of this index still valid? */
static inline bool
is_open(const MembershipSite *site, Oid oid)
{
	return site->probed == oid && site->invalidation_count == invalidation_count &&
		site->user == GetUserId();
}

/* Does the site have open views of its snapshot?  All are closed together: test one. */
static inline bool
has_open_views(const MembershipSite *site)
{
	return site->snapshot != NULL &&
		site->indexes[0].view->snapshot == site->snapshot;
}

/*
 * Open the index for the active snapshot, unless it is already.  Errors: those of
 * membership_open_all(), unless the site is for a join; ERRCODE_ACTIVE_SQL_TRANSACTION
 * without a snapshot.
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
	if (likely(is_open(site, oid) && site->snapshot == snapshot &&
			   has_open_views(site)))
		return;
	/* a new snapshot may see the rows of a new partition */
	AcceptInvalidationMessages();
	if (!is_open(site, oid))
		open_indexes(site, oid);
	turn_to_snapshot(site, snapshot);
}

/* The state of a call of an SQL function, from its first row on */
static inline MembershipSite *
call_site_of(FunctionCallInfo fcinfo, bool is_array)
{
	if (unlikely(fcinfo->flinfo->fn_extra == NULL))
		make_site(fcinfo->flinfo, is_array);
	return (MembershipSite *) fcinfo->flinfo->fn_extra;
}

/* ---- Hashes ---- */

static uint64
hash_element(MembershipSite *site, Datum element)
{
	uint64		hash;

	/* a partitioned index without partitions has no class, and no elements */
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
				 errhint("%s", class_hint(site->class, site->hasher->class,
										  site->of_index.row ?
										  "Cast the element to the types of the index's columns, for example ROW(value::my_type, value::text)." :
										  "Cast the element to the type of the index's column, for example value::my_type."))));
	return hash;
}

/* Is everything still open after hashing? */
static inline bool
is_undisturbed(const MembershipSite *site)
{
	return site->invalidation_count == invalidation_count &&
		(site->snapshot == NULL || has_open_views(site));
}

/*
 * Open the index again after hashing.  Are the hashes still right?  Not if the type has
 * changed (no change leads back to an old structure), nor if there was nothing to hash for.
 */
static bool
reopen_hashed(MembershipSite *site)
{
	bool		hashed = site->count > 0 && !site->unavailable;
	ElementClass class = site->class;
	uint64		structure = site->structure;

	membership_site_open(site, site->probed);
	if (site->count == 0 || site->unavailable)
		return true;
	return hashed && site->class == class && site->structure == structure;
}

/*
 * Make sure that the site is open after hashing for the "attempt"th time, from 0.  False if
 * the caller has to hash again: what hashes depend on has changed, or there was nothing to
 * hash for.  After too many attempts ERRCODE_OBJECT_IN_USE, but not for a join.
 */
bool
membership_site_settled(MembershipSite *site, int attempt)
{
	if (likely(is_undisturbed(site)) || reopen_hashed(site))
		return true;
	if (attempt < HASHINGS_MAX)
		return false;
	if (!for_join(site))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("index \"%s\" changes while elements are hashed for it",
						get_rel_name(site->probed))));
	site->unavailable = true;
	return true;
}

/*
 * Hash elements, and make sure that the index is open afterwards: hashing reads types and
 * calls their functions, which may change the index, or release its lock.
 */
static void
hash_and_open(MembershipSite *site, const ArrayElements *elements,
			  uint64 *hashes)
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
	Relation	index = NULL;	/* to probe its pages */
	MembershipMeta meta;

	if (view == NULL || view->copy->image == NULL)
	{
		index = relation_open(at->oid, NoLock);
		meta_read(index, &meta);
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
 * May rows that this session has inserted since the view was made be visible?  For a join,
 * not before its query has been left and resumed: the snapshot sees rows of older commands,
 * and one of these that is still inserting has called the query.
 */
static inline bool
own_insertions_matter(const MembershipSite *site, const IndexView *view)
{
	return view && view->inserted.made != own_insertions.made &&
		(!for_join(site) || view->resumed);
}

/* Where the view says no, also check what this session has inserted: see insert.c. */
static void
probe_own_insertions(const SiteIndex *at, const uint64 *hashes, Size count,
					 bool *found)
{
	Relation	index = relation_open(at->oid, NoLock);

	for (Size i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!found[i])
			found[i] = inserted_since(index, &at->view->inserted, hashes[i]);
	}
	relation_close(index, NoLock);
}

/* Count what was looked up in an index, and what it contains. */
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
	if (unlikely(own_insertions_matter(site, at->view)))
		probe_own_insertions(at, hashes, count, found);
	if (unlikely(at->children) && memchr(found, false, count) != NULL)
		refuse_children(at->oid);
	if (site->for_scan)
		count_probes(at, count, found);
}

/*
 * Probe all indexes of the site: found[i] tells whether any contains hashes[i].  Each one
 * is probed only with the hashes that those before it lack.
 */
static void
probe_indexes(const MembershipSite *site, const uint64 *hashes, Size count,
			  bool *found)
{
	int			probed = 0;
	uint64	   *left;
	Size	   *places;
	bool	   *answers;

	/* with all hashes, until an index contains some */
	if (unlikely(site->count == 0))
		memset(found, false, count * sizeof(bool));
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
 * Open the site, hash the elements of many rows, and probe if it is still open; if not, do
 * that again, for each element by itself.
 */

/*
 * Hash the values of a key for a join, none of them NULL.  Sets *comparable: does the hash
 * tell whether the key is in the index?  Not if the key is of another class: "=" may still
 * call it equal to a key in the index.  Errors: those of element_hash().
 */
uint64
membership_site_hash_key(MembershipSite *site, const Datum *values,
						 bool *comparable)
{
	static const bool nulls[INDEX_MAX_KEYS] = {false};
	uint64		hash;

	/* it may be available when we probe */
	*comparable = false;
	if (site->unavailable)
		return 0;
	hash = site->row ? element_hash_columns(site->hasher, site->row, values, nulls) :
		element_hash(site->hasher, values[0], 0);
	*comparable = site->hasher->class == site->class;
	return hash;
}

/*
 * The same for one value.  If the site is not for a join, *comparable is true, and another
 * class is ERRCODE_DATATYPE_MISMATCH.
 */
uint64
membership_site_hash(MembershipSite *site, Datum element, bool *comparable)
{
	if (for_join(site))
		return membership_site_hash_key(site, &element, comparable);
	*comparable = true;
	return hash_element(site, element);
}

/*
 * found[i] tells whether the index, which is open, may contain hashes[i].  Errors: those of
 * reading its pages; ERRCODE_WRONG_OBJECT_TYPE for a "no" about a table with children.
 */
void
membership_site_probe(const MembershipSite *site, const uint64 *hashes,
					  Size count, bool *found)
{
	if (site->unavailable)
		memset(found, true, count * sizeof(bool));
	else
		probe_indexes(site, hashes, count, found);
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

/* The size of the copies in memory that the site probes, in bytes */
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

/* Is one copy, and nothing else, to be probed? */
static inline bool
is_simple(const MembershipSite *site)
{
	const SiteIndex *at = site->indexes;

	return site->count == 1 && at->view && at->view->copy->image && !at->always &&
		!at->children && at->view->inserted.made == own_insertions.made;
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
	probe_indexes(site, &hash, 1, &found);
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
	probe_indexes(site, hashes, elements.count, answers->found);
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
