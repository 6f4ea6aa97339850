/*
 * membership.h
 *	  Declarations shared by the files of the index access method "membership".  Other folders
 *	  include lookup.h.
 */
#ifndef BLOOMFILTER_MEMBERSHIP_H
#define BLOOMFILTER_MEMBERSHIP_H

#include "lookup.h"
#include "value/cache.h"
#include "value/value.h"

#include "access/amapi.h"
#include "access/genam.h"
#include "access/transam.h"
#include "nodes/execnodes.h"
#include "nodes/pathnodes.h"
#include "storage/bufpage.h"
#include "utils/rel.h"

/* From PostgreSQL 19 on, a TupleDesc needs this call after its last column is set */
#if PG_VERSION_NUM < 190000
#define TupleDescFinalize(row)	((void) 0)
#endif

/* Default of the option capacity: the least number of elements to size an index for */
#define MEMBERSHIP_CAPACITY_DEFAULT		100000

/* The number of a relation's file: TRUNCATE, REINDEX and rewrites change it */
#if PG_VERSION_NUM >= 160000
#define file_number(relation)	((relation)->rd_locator.relNumber)
typedef RelFileNumber FileNumber;
#else
#define file_number(relation)	((relation)->rd_node.relNode)
typedef Oid FileNumber;
#endif

/* The error about an index whose pages are damaged */
#define report_corrupted(...) \
	ereport(ERROR, \
			(errcode(ERRCODE_INDEX_CORRUPTED), \
			 errmsg(__VA_ARGS__), \
			 errhint("Please REINDEX it.")))

#define STRATEGIES				STRATEGY_OVERLAPS

/* The options of an index, see membership_options() */
typedef struct MembershipOptions
{
	int32		vl_len_;		/* varlena header, not touched */
	int			capacity;
	double		error_rate;
	int			growth;
} MembershipOptions;

/* A layer in the metapage: like FilterLayer, with the position of its pages */
typedef struct MembershipLayer
{
	uint64		size;			/* blocks of 512 bits */
	uint64		capacity;
	double		error_rate;
	uint64		bits_full;		/* set bits of a full layer */
	uint64		bits_reported;	/* set bits that pages have reported */
	uint32		report_step;	/* pages report bits in multiples of this */
	BlockNumber first_page;
	uint8		layout;			/* FilterLayout, block512 or block512x2 */
	uint8		hashes;
} MembershipLayer;

/* Stands for a membership_structure() if not all elements have the same */
#define STRUCTURE_MIXED		PG_UINT64_MAX

/* The content of the metapage */
typedef struct MembershipMeta
{
	uint32		magic;
	uint16		version;
	uint16		blocks_per_page;
	uint64		capacity;		/* elements to size the first layer for */
	double		error_rate;
	uint16		growth;
	uint16		layers;

	/* from the last VACUUM that saw all rows; live_rows is -1 before it */
	double		live_rows;
	double		live_elements;	/* estimated elements in the filter */
	uint64		structure;		/* see membership_structure(); 0: not known,
								 * or STRUCTURE_MIXED */
	MembershipLayer layer[IMAGE_MAX_LAYERS];
} MembershipMeta;

/* The bytes of a metapage's content, with the layers in use */
static inline Size
meta_size(const MembershipMeta *meta)
{
	return offsetof(MembershipMeta, layer) + meta->layers * sizeof(MembershipLayer);
}

/* How the values of an index are hashed; see key.c */
typedef struct MembershipHasher
{
	ElementHasher *hasher;
	TupleDesc	row;			/* type of the key; NULL if it is one column */
	MemoryContext scratch;		/* for one element */
	Oid			array_of;		/* of the elements of arrays, or InvalidOid */
	MemoryContext array;		/* for one array */
	uint64	   *hashes;			/* hashes of the row hashed last */
	Size		room;			/* number of hashes allocated */
} MembershipHasher;

/* Phases of CREATE INDEX after PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE */
#define MEMBERSHIP_PHASE_SCAN			2
#define MEMBERSHIP_PHASE_SORT			3
#define MEMBERSHIP_PHASE_WRITE			4

/* cost.c */
extern void membership_costestimate(PlannerInfo *root, IndexPath *path,
									double loop_count, Cost *startup_cost,
									Cost *total_cost, Selectivity *selectivity,
									double *correlation, double *pages);

/* key.c */
extern ElementHasher *membership_key_hasher(Relation index, const List *types,
											TupleDesc *row, MemoryContext mcxt);
extern void membership_hasher_init(MembershipHasher *hasher, Relation index,
								   MemoryContext mcxt);
extern Size membership_hash(MembershipHasher *hasher, Datum *values, bool *nulls);
extern Size membership_hash_array(MembershipHasher *hasher, Datum array, bool *has_null);
extern Oid	membership_hashed_type(Relation index, int column);
extern void membership_warn_of_equality(Relation index);
extern Oid	membership_equality(Oid left, Oid right);
extern uint64 membership_structure(const MembershipHasher *hasher);
extern bool membership_has_structure(const MembershipMeta *meta, uint64 structure);
extern void membership_check_structure(const MembershipHasher *hasher, Relation index,
									   const MembershipMeta *meta);

/* meta.c */
extern void meta_init(MembershipMeta *meta, Relation index,
					  uint64 structure, uint64 elements);
extern void meta_report_too_large(Relation index, const MembershipMeta *meta,
								  uint64 elements) __attribute__((noreturn));
extern void meta_write(Relation index, ForkNumber fork, const MembershipMeta *meta);
extern void meta_read(Relation index, MembershipMeta *meta);
extern void meta_note_vacuum(Relation index, double live_rows);
extern void meta_layer(const MembershipMeta *meta, int i, FilterLayer *layer);
extern bool meta_plan_layer(MembershipMeta *meta, uint64 capacity);
extern double meta_elements(const MembershipMeta *meta);
extern uint64 meta_pages(const MembershipMeta *meta);
extern void meta_measure(Relation index, MembershipMeta *meta);

/* pages.c */
extern bool pages_contain(Relation index, const MembershipMeta *meta,
						  uint64 hash);
extern void pages_prefetch(Relation index, const MembershipMeta *meta, uint64 hash);
extern void pages_contain_batch(Relation index, const MembershipMeta *meta,
								const uint64 *hashes, Size count, bool *found);
extern double pages_probe_cost(const MembershipMeta *meta, Size probes);
extern void layer_contains_sorted(Relation index, const MembershipLayer *layer,
								  const uint64 *hashes, Size count, bool *found);
extern void pages_create(Relation index, const MembershipMeta *meta, int number, bool log);
extern void layer_fill(Relation index, const MembershipLayer *layer,
					   const uint64 *hashes, Size count);
extern void pages_report(Relation index, MembershipMeta *meta);
extern uint64 pages_image_bytes(const MembershipMeta *meta);
extern void pages_read(Relation index, const MembershipMeta *meta,
					   ElementClass class, uint8 *image);
extern void pages_check(Relation index, const MembershipMeta *meta);

/* add.c */
extern Size add_prepare(Relation index, uint64 structure, Size in_memory);
extern void add_hashes(Relation index, uint64 *hashes, Size count, bool committing);

/* build.c */
extern IndexBuildResult *membership_build(Relation heap, Relation index,
										  IndexInfo *info);

/* insert.c */
extern bool membership_insert(Relation index, Datum *values, bool *nulls, ItemPointer tid,
							  Relation heap, IndexUniqueCheck unique, bool unchanged,
							  IndexInfo *info);
extern void flush_pending(void);
extern void flush_before_commit(void);
extern void forget_pending(void);
extern void pass_pending(SubTransactionId subtransaction, SubTransactionId parent);
extern void truncate_pending(SubTransactionId subtransaction);

/* Counts of this session's insertions into all indexes */
typedef struct OwnInsertions
{
	uint64		made;			/* insertions */
	uint64		written;		/* times that hashes were written to pages */
} OwnInsertions;

extern OwnInsertions own_insertions;
extern bool inserted_since(Relation index, const OwnInsertions *then, uint64 hash);

/* changes.c */

/* Number of events so far that may invalidate cached facts about indexes */
extern uint64 invalidation_count;
extern void membership_changes_init(void);

/* distributed.c */
extern bool table_is_distributed(Oid table);

/* open.c */

/* Called with a table and its index, open and locked */
typedef void (*MembershipVisitor) (Relation heap, Relation index, void *arg);

/* What indexes are opened for */
typedef enum MembershipPurpose
{
	OPEN_TO_PROBE,
	OPEN_TO_READ,
	OPEN_TO_CHECK,
	OPEN_TO_DESCRIBE
} MembershipPurpose;

extern void membership_open_all(Oid oid, MembershipPurpose purpose,
								MembershipVisitor visit, void *arg);
extern bool membership_open_quietly(Oid oid, MembershipVisitor visit, void *arg);
extern bool membership_may_ask(Relation heap, Relation index, Snapshot snapshot);
extern bool membership_may_query(Relation heap, Relation index);
extern bool membership_may_read_parent(Relation heap);
extern List *membership_leaves(Oid oid);
extern bool has_children(Relation heap);
extern void refuse_children(Oid index);
extern bool snapshot_too_old(Relation index, Snapshot snapshot);
extern void refuse_old_snapshot(Relation index, Snapshot snapshot);

/*
 * The copy of an index in memory, and the cost of the probes made without a copy.  It
 * belongs to a view until that view closes, and then to the next view whose snapshot sees
 * the same transactions; see view.c.
 */
typedef struct IndexCopy
{
	Oid			index;
	FileNumber	file;
	uint64		seen;			/* snapshot_number() of the view */
	OwnInsertions inserted;		/* when the view or the copy was made */
	uint8	   *image;			/* NULL: not read, or evicted */
	void	   *memory;			/* allocation that holds the image, or NULL */
	CacheItem	account;		/* the image's size; if unused, the copy's */
	double		spent;			/* cost of probes without a copy, in pages */
	bool		unused;			/* no view has the copy */
	dlist_node	node;			/* in unused_copies */
} IndexCopy;

/* An index as one snapshot sees it; see view.c */
typedef struct IndexView
{
	Snapshot	snapshot;		/* registered; NULL: the view is closed */
	IndexCopy  *copy;			/* NULL: the view is closed */
	bool		resumed;		/* a query was resumed with the snapshot */
	int			sites;			/* number of call sites that use the view */
	dlist_node	use;			/* in the list of views, unless closed */
} IndexView;

/* An ExecutorRun() in progress; lives on the stack of its caller */
typedef struct RunningQuery
{
	EState	   *estate;
	struct RunningQuery *outer;
} RunningQuery;

/* view.c */
extern uint64 snapshot_number(Snapshot snapshot);
extern IndexView *view_join(Relation index, Snapshot snapshot);
extern void view_leave(IndexView *view);
extern bool view_copy_pays(IndexView *view, Relation index, const MembershipMeta *meta,
						   ElementClass class, Size probes);
extern void views_begin_run(RunningQuery *query, EState *estate);
extern void views_end_run(const RunningQuery *query);
extern void views_note_query(EState *estate);
extern void views_fail_query(EState *estate);
extern void views_end_transaction(bool aborts);

#endif							/* BLOOMFILTER_MEMBERSHIP_H */
