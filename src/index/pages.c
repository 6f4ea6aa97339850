/*
 * pages.c
 *	  The pages of a membership index: a growing Bloom filter that is changed
 *	  in place, under buffer locks, and logged.
 *
 * Page 0 is the metapage: what the index was made for, and its layers, as
 * bloom_sizing.c plans them for a growing bloom.  The blocks of 512 bits of each
 * layer lie side by side, blocks_per_page of them on a page, from the layer's
 * first page on.  So a probe reads the metapage and, of each layer, the one
 * page of the element's block, or two where the layout is block512x2.  Every
 * page counts its own set bits.
 *
 * Bits are only ever set.  Therefore
 *
 * - readers need no lock but a share lock on the page at hand: whoever finds
 *	 the metapage naming a layer finds all its pages, and an element whose
 *	 insertion ended before they began is found;
 *
 * - whoever adds may know a metapage that is not the latest: an element in a
 *	 layer that is full already is as well found as any other;
 *
 * - it does no harm to add an element of a transaction that aborts, or one twice.
 *
 * A page tells the metapage of its set bits each time that as many are new as the
 * layer's quantum, in the same WAL record; it keeps count of those not told yet.  Where
 * an element has two blocks, as many bits as are new in the first are reserved for
 * the second, so that there is room for it in any case; when it has been set, the
 * difference is told.  (A crash in between leaves the reservation: the layer is full
 * a little early.)  The sum tells when the layer is full: then whoever noticed creates the next, under the
 * lock for extending the relation, and names it in the metapage at last.  After
 * a crash in between its pages are there, and are taken for the next attempt.
 * Where no further layer can be had (32 are in use) the last is filled beyond
 * its capacity: insertions never fail for that, the error rate rises.
 *
 * Locks: one page, and while it is locked, the metapage.  Nobody who holds the
 * metapage's lock waits for another page.
 *
 * All changes go through generic WAL (access/generic_xlog.h).
 */
#include "membership.h"

#include "access/generic_xlog.h"
#include "access/xloginsert.h"
#include "commands/vacuum.h"
#include "filter/block512.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"

/* Checks for interrupts too, also where it is not called by VACUUM */
#if PG_VERSION_NUM >= 180000
#define delay_vacuum()			vacuum_delay_point(false)
#else
#define delay_vacuum()			vacuum_delay_point()
#endif

#define MEMBERSHIP_META_PAGE	0
#define MEMBERSHIP_MAGIC		0x6D627368	/* "mbsh" */
#define MEMBERSHIP_VERSION		1

/* What the end of each page says it is; no other access method has this */
#define MEMBERSHIP_PAGE_ID		0xFB0F

/* Room that CREATE INDEX leaves for the rows that come next */
#define BUILD_HEADROOM			1.05

/*
 * A page reports when it has this many set bits more: some fifty elements, so
 * that the metapage is no bottleneck, and less than a hundredth of the page.
 */
#define QUANTUM_MOST			512
/* but a small layer's is this part of its bits, or it would fill up unnoticed */
#define QUANTUM_PART			1024

/* This part of a layer's capacity is added at once though it might fill the layer. */
#define ADD_PART				64

/* 128 GB: beyond all that a relation with this growth is likely to need */
#define LAYER_MAX_BITS			(UINT64CONST(1) << 40)

/* The end of a page */
typedef struct MembershipOpaque
{
	uint32		bits_set;
	int16		unreported;		/* bits, less than the quantum; or too many */
	uint16		page_id;
} MembershipOpaque;

#define BLOCKS_PER_PAGE \
	((BLCKSZ - SizeOfPageHeaderData - MAXALIGN(sizeof(MembershipOpaque))) / \
	 BLOCK_BYTES)

/* Where an element's bits go in a layer */
typedef struct Place
{
	uint64		block;
	uint64		word;
} Place;

#define ST_SORT sort_hashes
#define ST_ELEMENT_TYPE uint64
#define ST_COMPARE(a, b) (*(a) < *(b) ? -1 : *(a) > *(b))
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

#define ST_SORT sort_places
#define ST_ELEMENT_TYPE Place
#define ST_COMPARE(a, b) ((a)->block < (b)->block ? -1 : (a)->block > (b)->block)
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* ----------------------------------------------------------------
 *		Pages
 * ----------------------------------------------------------------
 */

static inline MembershipOpaque *
page_opaque(Page page)
{
	return (MembershipOpaque *) PageGetSpecialPointer(page);
}

static inline MembershipMeta *
page_meta(Page page)
{
	return (MembershipMeta *) PageGetContents(page);
}

static inline uint8 *
page_block(Page page, uint64 block)
{
	return (uint8 *) PageGetContents(page) +
		BLOCK_BYTES * (block % BLOCKS_PER_PAGE);
}

static inline BlockNumber
block_page(const MembershipLayer *layer, uint64 block)
{
	return layer->first_page + block / BLOCKS_PER_PAGE;
}

static inline BlockNumber
layer_pages(const MembershipLayer *layer)
{
	return (layer->size + BLOCKS_PER_PAGE - 1) / BLOCKS_PER_PAGE;
}

/* The page behind the last one in use */
static BlockNumber
end_of_layers(const MembershipMeta *meta)
{
	const MembershipLayer *last;

	if (meta->layers == 0)
		return MEMBERSHIP_META_PAGE + 1;
	last = &meta->layer[meta->layers - 1];
	return last->first_page + layer_pages(last);
}

/* An empty page; "used" bytes of it are not hole to WAL and checksums. */
static void
page_init(Page page, Size used)
{
	PageInit(page, BLCKSZ, sizeof(MembershipOpaque));
	page_opaque(page)->page_id = MEMBERSHIP_PAGE_ID;
	((PageHeader) page)->pd_lower = MAXALIGN(SizeOfPageHeaderData) + used;
}

static void
page_check(Relation index, Buffer buffer)
{
	Page		page = BufferGetPage(buffer);

	if (PageIsNew(page) ||
		PageGetSpecialSize(page) != MAXALIGN(sizeof(MembershipOpaque)) ||
		page_opaque(page)->page_id != MEMBERSHIP_PAGE_ID)
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("index \"%s\" contains corrupted page at block %u",
						RelationGetRelationName(index),
						BufferGetBlockNumber(buffer)),
				 errhint("Please REINDEX it.")));
}

/* A page of the index, locked; an error if it is not what it should be */
static Buffer
page_read(Relation index, BlockNumber number, int lock)
{
	Buffer		buffer = ReadBuffer(index, number);

	LockBuffer(buffer, lock);
	page_check(index, buffer);
	return buffer;
}

/* The page of "number", as it will be: it may lie behind the relation's end. */
static Buffer
page_new(Relation index, ForkNumber fork, BlockNumber number)
{
	bool		exists = number < RelationGetNumberOfBlocksInFork(index, fork);
	Buffer		buffer = ReadBufferExtended(index, fork,
											exists ? number : P_NEW,
											RBM_ZERO_AND_LOCK, NULL);

	if (BufferGetBlockNumber(buffer) != number)
		elog(ERROR, "unexpected end of index \"%s\": block %u instead of %u",
			 RelationGetRelationName(index), BufferGetBlockNumber(buffer),
			 number);
	return buffer;
}

/* ----------------------------------------------------------------
 *		The metapage
 * ----------------------------------------------------------------
 */

/* Layer i as bloom_sizing.c knows it; its bits_set are estimated */
void
meta_layer(const MembershipMeta *meta, int i, FilterLayer *layer)
{
	const MembershipLayer *from = &meta->layer[i];

	memset(layer, 0, sizeof(*layer));
	layer->layout = (FilterLayout) from->layout;
	layer->hashes = from->hashes;
	layer->size = from->size;
	layer->capacity = from->capacity;
	layer->error_rate = from->error_rate;
	layer->bits_full = from->bits_full;
	/* a page has half a quantum that it has not reported, on the average */
	layer->bits_set = from->bits_reported;
	if (from->bits_reported > 0)
		layer->bits_set += (uint64) layer_pages(from) * from->quantum / 2;
	layer->bits_set = Min(layer->bits_set, layer_bits(layer));
}

/*
 * One more layer, for "capacity" elements, behind the others: in *meta only.
 * False if there can be none.
 */
bool
meta_plan_layer(MembershipMeta *meta, uint64 capacity)
{
	MembershipLayer *to = &meta->layer[meta->layers];
	FilterLayer layer;

	if (meta->layers == IMAGE_MAX_LAYERS ||
		!layer_plan(capacity, meta->error_rate, true, meta->layers,
					LAYER_MAX_BITS, &layer))
		return false;
	/* to the last byte, for it goes to the page as it is */
	memset(to, 0, sizeof(*to));
	to->first_page = end_of_layers(meta);
	to->size = layer.size;
	to->capacity = layer.capacity;
	to->error_rate = layer.error_rate;
	to->bits_full = layer.bits_full;
	to->bits_reported = 0;
	to->quantum = Max(1, Min(QUANTUM_MOST, layer_bits(&layer) / QUANTUM_PART));
	to->layout = layer.layout;
	to->hashes = layer.hashes;
	if (layer_pages(to) > MaxBlockNumber - to->first_page)
		return false;
	meta->layers++;
	return true;
}

/*
 * The metapage of an index without elements, for so many of this structure: with a
 * first layer, or, if "elements" is 0, without any.
 */
void
meta_init(MembershipMeta *meta, Relation index, uint64 structure,
		  uint64 elements)
{
	MembershipOptions *options = (MembershipOptions *) index->rd_options;

	memset(meta, 0, sizeof(*meta));
	meta->structure = structure;
	meta->magic = MEMBERSHIP_MAGIC;
	meta->version = MEMBERSHIP_VERSION;
	meta->blocks_per_page = BLOCKS_PER_PAGE;
	meta->error_rate = options ? options->error_rate : ERROR_RATE_DEFAULT;
	meta->growth = options ? options->growth : GROWTH_DEFAULT;
	meta->live_rows = -1;
	meta->capacity = Max(options ? options->capacity :
						 MEMBERSHIP_CAPACITY_DEFAULT,
						 elements * BUILD_HEADROOM);
	if (elements > 0 && !meta_plan_layer(meta, meta->capacity))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("index \"%s\" is too large for " UINT64_FORMAT " elements at error rate %g",
						RelationGetRelationName(index), elements,
						meta->error_rate)));
}

static void
page_put_meta(Page page, const MembershipMeta *meta)
{
	StaticAssertStmt(sizeof(MembershipMeta) <= BLCKSZ -
					 MAXALIGN(SizeOfPageHeaderData) -
					 MAXALIGN(sizeof(MembershipOpaque)),
					 "the metapage must have room for all layers");
	page_init(page, sizeof(MembershipMeta));
	memcpy(page_meta(page), meta, sizeof(MembershipMeta));
}

/* The metapage of an empty index, logged, into a fork that has no page yet */
void
meta_put_empty(Relation index, ForkNumber fork)
{
	MembershipHasher hasher;
	MembershipMeta meta;
	Buffer		buffer;

	membership_hasher_init(&hasher, index, CurrentMemoryContext);
	meta_init(&meta, index, element_structure(hasher.hasher), 0);
	buffer = page_new(index, fork, MEMBERSHIP_META_PAGE);
	START_CRIT_SECTION();
	page_put_meta(BufferGetPage(buffer), &meta);
	MarkBufferDirty(buffer);
	if (fork == INIT_FORKNUM || RelationNeedsWAL(index))
		log_newpage_buffer(buffer, true);
	END_CRIT_SECTION();
	UnlockReleaseBuffer(buffer);
}

/* Replace the metapage of an index that is being built; not logged. */
void
meta_write(Relation index, const MembershipMeta *meta)
{
	Buffer		buffer = page_new(index, MAIN_FORKNUM, MEMBERSHIP_META_PAGE);

	page_put_meta(BufferGetPage(buffer), meta);
	MarkBufferDirty(buffer);
	UnlockReleaseBuffer(buffer);
}

/* Can it be worked with?  No damage may lead astray, be it never so unlikely. */
static bool
meta_is_sound(const MembershipMeta *meta)
{
	if (meta->magic != MEMBERSHIP_MAGIC ||
		meta->version != MEMBERSHIP_VERSION ||
		meta->blocks_per_page != BLOCKS_PER_PAGE ||
		meta->layers > IMAGE_MAX_LAYERS ||
		!(meta->error_rate >= ERROR_RATE_MIN &&
		  meta->error_rate <= ERROR_RATE_MAX) ||
		meta->growth < 1 || meta->growth > IMAGE_MAX_GROWTH ||
		meta->capacity < 1 || meta->capacity > LAYER_MAX_BITS)
		return false;
	for (int i = 0; i < meta->layers; i++)
	{
		const MembershipLayer *layer = &meta->layer[i];

		if ((layer->layout != LAYOUT_BLOCK512 &&
			 layer->layout != LAYOUT_BLOCK512X2) ||
			layer->hashes < 1 || layer->hashes > BLOCK_MAX_HASHES ||
		/* two blocks of an element are never the same one */
			layer->size < layer_blocks(layer->layout) ||
			layer->size > LAYER_MAX_BITS / BLOCK_BITS ||
			layer->first_page != (i == 0 ? MEMBERSHIP_META_PAGE + 1 :
								  layer[-1].first_page + layer_pages(&layer[-1])) ||
			layer->quantum < 1 || layer->quantum > QUANTUM_MOST ||
			layer->bits_full < 1 ||
			layer->bits_full > layer->size * BLOCK_BITS ||
			layer->capacity < 1 ||
			layer->capacity > layer->size * BLOCK_BITS ||
			!(layer->error_rate > 0 &&
			  layer->error_rate <= meta->error_rate))
			return false;
	}
	return true;
}

static void
check_meta(Relation index, const MembershipMeta *meta)
{
	if (!meta_is_sound(meta))
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("index \"%s\" has no valid metapage",
						RelationGetRelationName(index)),
				 errhint("Please REINDEX it.")));
}

/* The metapage as it is now */
void
meta_read(Relation index, MembershipMeta *meta)
{
	Buffer		buffer = page_read(index, MEMBERSHIP_META_PAGE,
								   BUFFER_LOCK_SHARE);
	const MembershipMeta *from = page_meta(BufferGetPage(buffer));

	check_meta(index, from);
	memcpy(meta, from, offsetof(MembershipMeta, layer) +
		   sizeof(MembershipLayer) * from->layers);
	UnlockReleaseBuffer(buffer);
}

/*
 * Have the layers of *meta, a copy, know exactly how many bits are set, which takes
 * reading all pages.  VACUUM does so at its own pace.
 */
void
pages_measure(Relation index, MembershipMeta *meta)
{
	for (int i = 0; i < meta->layers; i++)
	{
		MembershipLayer *layer = &meta->layer[i];

		layer->quantum = 0;
		layer->bits_reported = 0;
		for (BlockNumber j = 0; j < layer_pages(layer); j++)
		{
			Buffer		buffer;

			delay_vacuum();
			buffer = page_read(index, layer->first_page + j, BUFFER_LOCK_SHARE);
			layer->bits_reported += page_opaque(BufferGetPage(buffer))->bits_set;
			UnlockReleaseBuffer(buffer);
		}
	}
}

/* How many elements the layers seem to hold */
double
meta_elements(const MembershipMeta *meta)
{
	FilterLayer layers[IMAGE_MAX_LAYERS];

	for (int i = 0; i < meta->layers; i++)
		meta_layer(meta, i, &layers[i]);
	return layers_cardinality(layers, meta->layers);
}

/* How many pages a copy of all layers takes to read */
uint64
meta_pages(const MembershipMeta *meta)
{
	return end_of_layers(meta) - 1;
}

/* Keep what a VACUUM that has seen all rows found, if it is news. */
void
meta_note_vacuum(Relation index, double live_rows)
{
	MembershipMeta now;
	double		elements;
	Buffer		buffer;
	GenericXLogState *state;
	MembershipMeta *meta;

	meta_read(index, &now);
	pages_measure(index, &now);
	elements = meta_elements(&now);
	if (now.live_rows == live_rows && now.live_elements == elements)
		return;
	buffer = page_read(index, MEMBERSHIP_META_PAGE, BUFFER_LOCK_EXCLUSIVE);
	state = GenericXLogStart(index);
	meta = page_meta(GenericXLogRegisterBuffer(state, buffer, 0));
	meta->live_rows = live_rows;
	meta->live_elements = elements;
	GenericXLogFinish(state);
	UnlockReleaseBuffer(buffer);
}

/* ----------------------------------------------------------------
 *		Asking
 * ----------------------------------------------------------------
 */

/* Are an element's bits set in this block of the layer? */
static bool
block_contains(Relation index, const MembershipLayer *layer, uint64 block,
			   uint64 word)
{
	Buffer		buffer = page_read(index, block_page(layer, block),
								   BUFFER_LOCK_SHARE);
	bool		found = block_kernel->contains(page_block(BufferGetPage(buffer),
														  block),
											   word, layer->hashes);

	UnlockReleaseBuffer(buffer);
	return found;
}

static inline bool
second_contains(Relation index, const MembershipLayer *layer, uint64 hash)
{
	return layer->layout != LAYOUT_BLOCK512X2 ||
		block_contains(index, layer, second_block(hash, layer->size),
					   second_word(hash));
}

/* Is the element of this hash in any layer that *meta names? */
bool
pages_contain(Relation index, const MembershipMeta *meta, uint64 hash)
{
	for (int i = meta->layers - 1; i >= 0; i--)
	{
		const MembershipLayer *layer = &meta->layer[i];

		if (block_contains(index, layer, first_block(hash, layer->size),
						   block_word(hash)) &&
			second_contains(index, layer, hash))
			return true;
	}
	return false;
}

/*
 * Drop those of the hashes, sorted, that the layer contains; returns how many
 * are left.  Each page is locked once, as sorted hashes have sorted first
 * blocks.
 */
static Size
drop_contained(Relation index, const MembershipLayer *layer, uint64 *hashes,
			   Size count)
{
	Buffer		buffer = InvalidBuffer;
	Size		left = 0;
	Size		maybe = 0;
	bool	   *first = palloc(count * sizeof(bool));

	for (Size i = 0; i < count; i++)
	{
		uint64		block = first_block(hashes[i], layer->size);

		if (!BufferIsValid(buffer) ||
			BufferGetBlockNumber(buffer) != block_page(layer, block))
		{
			if (BufferIsValid(buffer))
				UnlockReleaseBuffer(buffer);
			buffer = page_read(index, block_page(layer, block),
							   BUFFER_LOCK_SHARE);
		}
		first[i] = block_kernel->contains(page_block(BufferGetPage(buffer), block),
										  block_word(hashes[i]), layer->hashes);
		maybe += first[i];
	}
	if (BufferIsValid(buffer))
		UnlockReleaseBuffer(buffer);
	if (maybe > 0)
	{
		for (Size i = 0; i < count; i++)
			if (!first[i] || !second_contains(index, layer, hashes[i]))
				hashes[left++] = hashes[i];
		count = left;
	}
	pfree(first);
	return count;
}

/* ----------------------------------------------------------------
 *		Adding
 * ----------------------------------------------------------------
 */

/* Is it time for another layer than this one? */
static bool
layer_is_full(const MembershipMeta *meta, int number)
{
	FilterLayer now;

	meta_layer(meta, number, &now);
	return meta->layers > number + 1 || now.bits_set >= now.bits_full;
}

/* So many elements may be what fills a layer; with more of them it would be too full. */
static Size
last_piece(uint64 capacity)
{
	return Max(1, capacity / ADD_PART);
}

/* Adding hashes to a layer */
typedef struct Adding
{
	Relation	index;
	int			number;			/* of the layer */
	const MembershipLayer *layer;
	bool		anyway;			/* though it is full */
	bool		full;			/* it was, or is now */
	/* where an element has two blocks */
	bool		second;			/* is added; its bits are reserved */
	uint64		reserved;		/* for the second, bits */
} Adding;

/*
 * Set the bits of places that lie on one page, for which so many are reserved.
 * Unless it is to be done anyway: false, and nothing is set, if the layer is found to
 * be full, or would be too full.
 */
static bool
add_on_page(Adding *adding, const Place *places, Size count, uint32 reserved)
{
	Relation	index = adding->index;
	const MembershipLayer *layer = adding->layer;
	bool		reserve = !adding->second && layer_blocks(layer->layout) > 1;
	Buffer		buffer = page_read(index, block_page(layer, places->block),
								   BUFFER_LOCK_EXCLUSIVE);
	Buffer		meta_buffer = InvalidBuffer;
	GenericXLogState *state = GenericXLogStart(index);
	Page		page = GenericXLogRegisterBuffer(state, buffer, 0);
	MembershipOpaque *opaque = page_opaque(page);
	uint32		before = opaque->bits_set;
	const int32 quantum = layer->quantum;
	uint32		new_bits;
	int32		unreported;
	int32		reports;		/* quanta */
	bool		add;

	for (Size i = 0; i < count; i++)
		opaque->bits_set += block_kernel->add(page_block(page, places[i].block),
											  places[i].word, layer->hashes);
	new_bits = opaque->bits_set - before;
	unreported = opaque->unreported + (int32) new_bits - (int32) reserved;
	if (reserve)
		unreported += new_bits;
	reports = unreported / quantum;
	opaque->unreported = unreported % quantum;
	/* or else another session was faster */
	add = new_bits > 0 || reserved > 0;
	if (reports != 0)
	{
		MembershipMeta *meta;
		uint64	   *bits;
		bool		was_full;
		bool		is_full;

		meta_buffer = page_read(index, MEMBERSHIP_META_PAGE,
								BUFFER_LOCK_EXCLUSIVE);
		meta = page_meta(GenericXLogRegisterBuffer(state, meta_buffer, 0));
		was_full = layer_is_full(meta, adding->number);
		bits = &meta->layer[adding->number].bits_reported;
		/* others' reservations may not have been told yet */
		*bits = Max((int64) *bits + (int64) reports * quantum, 0);
		is_full = layer_is_full(meta, adding->number);
		add = adding->anyway || adding->second || !is_full ||
			(!was_full && count <= last_piece(layer->capacity));
		if (add ? is_full : was_full)
			adding->full = true;
	}
	if (add)
	{
		GenericXLogFinish(state);
		if (reserve)
			adding->reserved += new_bits;
	}
	else
		GenericXLogAbort(state);
	if (BufferIsValid(meta_buffer))
		UnlockReleaseBuffer(meta_buffer);
	UnlockReleaseBuffer(buffer);
	return add || reports == 0;
}

/*
 * The same for any places, sorted; stops once the layer is full.  Returns how many
 * were added, or were there.  What is reserved goes in equal parts to all.
 */
static Size
add_places(Adding *adding, const Place *places, Size count)
{
	const MembershipLayer *layer = adding->layer;
	Size		done = 0;

	while (done < count &&
		   (adding->anyway || adding->second || !adding->full))
	{
		BlockNumber page = block_page(layer, places[done].block);
		Size		here = 1;
		uint32		reserved = 0;

		while (done + here < count &&
			   block_page(layer, places[done + here].block) == page)
			here++;
		if (adding->second)
		{
			reserved = adding->reserved * here / (count - done);
			adding->reserved -= reserved;
		}
		if (!add_on_page(adding, places + done, here, reserved))
			break;
		done += here;
	}
	return done;
}

/*
 * Add hashes, sorted, to the last layer; returns how many.  Once it is full the
 * others are left for the next one.
 */
static Size
add_to_layer(Adding *adding, const uint64 *hashes, Size count)
{
	const MembershipLayer *layer = adding->layer;
	Place	   *places = palloc(count * sizeof(Place));

	for (Size i = 0; i < count; i++)
	{
		places[i].block = first_block(hashes[i], layer->size);
		places[i].word = block_word(hashes[i]);
	}
	count = add_places(adding, places, count);
	if (layer_blocks(layer->layout) > 1)
	{
		for (Size i = 0; i < count; i++)
		{
			places[i].block = second_block(hashes[i], layer->size);
			places[i].word = second_word(hashes[i]);
		}
		sort_places(places, count);
		adding->second = true;
		(void) add_places(adding, places, count);
	}
	pfree(places);
	return count;
}

/*
 * The pages of a layer that the metapage on disk does not name yet.  Logged, or,
 * while the index is being built, to be logged with all of it.
 */
void
pages_create(Relation index, const MembershipMeta *meta, int number, bool log)
{
	const MembershipLayer *layer = &meta->layer[number];
	BlockNumber end = layer->first_page + layer_pages(layer);
	const Size	used = BLOCK_BYTES * BLOCKS_PER_PAGE;

	for (BlockNumber i = layer->first_page; i < end; i++)
	{
		Buffer		buffer;

		CHECK_FOR_INTERRUPTS();
		buffer = page_new(index, MAIN_FORKNUM, i);
		if (log)
		{
			GenericXLogState *state = GenericXLogStart(index);

			page_init(GenericXLogRegisterBuffer(state, buffer,
												GENERIC_XLOG_FULL_IMAGE), used);
			GenericXLogFinish(state);
		}
		else
		{
			page_init(BufferGetPage(buffer), used);
			MarkBufferDirty(buffer);
		}
		UnlockReleaseBuffer(buffer);
	}
}

/*
 * Create the layer behind the "layers" that the caller knew of, unless another
 * session has done so.  Leaves the metapage as it is then in *meta.
 */
static void
grow(Relation index, int layers, MembershipMeta *meta)
{
	bool		lock = !RELATION_IS_LOCAL(index);

	if (lock)
		LockRelationForExtension(index, ExclusiveLock);
	meta_read(index, meta);
	/* or a damaged layer would have another, still larger one */
	if (end_of_layers(meta) > RelationGetNumberOfBlocks(index))
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("index \"%s\" has %u blocks, fewer than its layers take",
						RelationGetRelationName(index),
						RelationGetNumberOfBlocks(index)),
				 errhint("Please REINDEX it.")));
	if (meta->layers == layers &&
		meta_plan_layer(meta, layers == 0 ? meta->capacity :
						meta->layer[layers - 1].capacity * meta->growth))
	{
		Buffer		buffer;
		GenericXLogState *state;
		MembershipMeta *on_page;

		pages_create(index, meta, layers, true);
		buffer = page_read(index, MEMBERSHIP_META_PAGE, BUFFER_LOCK_EXCLUSIVE);
		state = GenericXLogStart(index);
		on_page = page_meta(GenericXLogRegisterBuffer(state, buffer, 0));
		/* its other fields may have changed meanwhile */
		on_page->layer[layers] = meta->layer[layers];
		on_page->layers = layers + 1;
		GenericXLogFinish(state);
		UnlockReleaseBuffer(buffer);
	}
	if (lock)
		UnlockRelationForExtension(index, ExclusiveLock);
}

/* So many elements cannot fill the last layer. */
static Size
room_for(const MembershipMeta *meta)
{
	FilterLayer last;

	meta_layer(meta, meta->layers - 1, &last);
	if (last.bits_set >= last.bits_full)
		return 0;
	return (last.bits_full - last.bits_set) /
		(last.hashes * layer_blocks(last.layout));
}

/*
 * pages_add
 *		Add hashes to the index
 *
 * Their order is lost.  What is in already costs a look, no write and no WAL.
 */
void
pages_add(Relation index, uint64 *hashes, Size count)
{
	MembershipMeta meta;
	bool		anyway = false; /* there can be no further layer */
	bool		piecemeal = false;	/* another session fills it, too */

	meta_read(index, &meta);
	if (meta.layers == 0)
		grow(index, 0, &meta);
	if (meta.layers == 0)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("index \"%s\" is too large for " UINT64_FORMAT " elements at error rate %g",
						RelationGetRelationName(index), meta.capacity,
						meta.error_rate)));
	while (count > 0)
	{
		/*
		 * in the order they came: the lowest of all would crowd its first
		 * blocks
		 */
		Size		now = last_piece(meta.layer[meta.layers - 1].capacity);
		Size		left;
		Adding		adding = {
			.index = index,
			.number = meta.layers - 1,
			.layer = &meta.layer[meta.layers - 1],
			.anyway = anyway
		};

		CHECK_FOR_INTERRUPTS();
		if (!piecemeal)
			now = Max(now, room_for(&meta));
		now = Min(now, count);
		left = now;
		sort_hashes(hashes, now);
		for (int i = 0; i < meta.layers && left > 0; i++)
			left = drop_contained(index, &meta.layer[i], hashes, left);
		if (left > 0)
		{
			Size		added = add_to_layer(&adding, hashes, left);

			/* the others go with those that come next */
			left -= added;
			memmove(hashes + now - left, hashes + added, left * sizeof(uint64));
		}
		piecemeal = left > 0;
		if (adding.full)
		{
			int			layers = meta.layers;

			grow(index, layers, &meta);
			anyway = meta.layers == layers;
		}
		else
			meta_read(index, &meta);
		hashes += now - left;
		count -= now - left;
	}
}

/* ----------------------------------------------------------------
 *		Building
 * ----------------------------------------------------------------
 */

/* A page that bits are put on, kept locked until it is another's turn */
typedef struct PageWriter
{
	Relation	index;
	const MembershipLayer *layer;
	Buffer		buffer;
} PageWriter;

static void
write_bits(PageWriter *writer, uint64 block, uint64 word)
{
	BlockNumber number = block_page(writer->layer, block);
	Page		page;

	if (!BufferIsValid(writer->buffer) ||
		BufferGetBlockNumber(writer->buffer) != number)
	{
		if (BufferIsValid(writer->buffer))
			UnlockReleaseBuffer(writer->buffer);
		writer->buffer = page_read(writer->index, number,
								   BUFFER_LOCK_EXCLUSIVE);
		MarkBufferDirty(writer->buffer);
	}
	page = BufferGetPage(writer->buffer);
	page_opaque(page)->bits_set +=
		block_kernel->add(page_block(page, block), word, writer->layer->hashes);
}

/*
 * Fill the first layer, whose pages are empty, with hashes, best sorted, that
 * next() gives, and have the sums in *meta.  Not logged; nobody else may use
 * the index.
 */
void
pages_fill(Relation index, MembershipMeta *meta,
		   bool (*next) (void *from, uint64 *hash), void *from)
{
	MembershipLayer *layer = &meta->layer[0];
	PageWriter	first = {index, layer, InvalidBuffer};
	uint64		hash;

	while (next(from, &hash))
	{
		write_bits(&first, first_block(hash, layer->size), block_word(hash));

		/*
		 * on a page of its own, which may be the same: one is locked at a
		 * time
		 */
		if (layer->layout == LAYOUT_BLOCK512X2)
			write_bits(&first, second_block(hash, layer->size),
					   second_word(hash));
	}
	if (BufferIsValid(first.buffer))
		UnlockReleaseBuffer(first.buffer);

	layer->bits_reported = 0;
	for (BlockNumber i = 0; i < layer_pages(layer); i++)
	{
		Buffer		buffer = page_read(index, layer->first_page + i,
									   BUFFER_LOCK_EXCLUSIVE);
		MembershipOpaque *opaque = page_opaque(BufferGetPage(buffer));

		opaque->unreported = opaque->bits_set % layer->quantum;
		layer->bits_reported += opaque->bits_set - opaque->unreported;
		MarkBufferDirty(buffer);
		UnlockReleaseBuffer(buffer);
	}
}

/* ----------------------------------------------------------------
 *		Reading all of it
 * ----------------------------------------------------------------
 */

/* Bytes of the image that pages_read() makes */
uint64
pages_image_bytes(const MembershipMeta *meta)
{
	uint64		bytes = IMAGE_HEADER_BYTES + IMAGE_LAYER_BYTES * meta->layers;

	for (int i = 0; i < meta->layers; i++)
		bytes += meta->layer[i].size * BLOCK_BYTES;
	return bytes;
}

/*
 * The layers that *meta names as the image of a bloom, into memory of
 * pages_image_bytes().  Bits that are set meanwhile may be in it or not.
 */
void
pages_read(Relation index, const MembershipMeta *meta, ElementClass class,
		   uint8 *image)
{
	FilterParams params = {
		.capacity = meta->capacity,
		.error_rate = meta->error_rate,
		.growth = meta->growth,
		.class = class,
		.kind = FILTER_BLOOM
	};
	uint64		offset = IMAGE_HEADER_BYTES + IMAGE_LAYER_BYTES * meta->layers;

	image_put_header(image, (FilterLayout) (meta->layers > 0 ?
											meta->layer[0].layout : LAYOUT_EMPTY),
					 &params);
	image[IMAGE_OFF_LAYERS] = meta->layers;
	put64(image + IMAGE_OFF_BYTES, pages_image_bytes(meta));
	for (int i = 0; i < meta->layers; i++)
	{
		const MembershipLayer *from = &meta->layer[i];
		FilterLayer layer;

		meta_layer(meta, i, &layer);
		layer.bits_set = 0;
		layer.offset = offset;
		for (uint64 block = 0; block < from->size; block += BLOCKS_PER_PAGE)
		{
			uint64		blocks = Min(BLOCKS_PER_PAGE, from->size - block);
			Buffer		buffer;
			Page		page;

			CHECK_FOR_INTERRUPTS();
			buffer = page_read(index, block_page(from, block),
							   BUFFER_LOCK_SHARE);
			page = BufferGetPage(buffer);
			memcpy(image + offset, page_block(page, block), blocks * BLOCK_BYTES);
			layer.bits_set += page_opaque(page)->bits_set;
			UnlockReleaseBuffer(buffer);
			offset += blocks * BLOCK_BYTES;
		}
		image_put_layer(image, i, &layer);
	}
}

/* Is every page what it says it is, and does it have the bits it counts? */
void
pages_check(Relation index, const MembershipMeta *meta)
{
	for (int i = 0; i < meta->layers; i++)
	{
		const MembershipLayer *layer = &meta->layer[i];

		for (BlockNumber j = 0; j < layer_pages(layer); j++)
		{
			Buffer		buffer;
			Page		page;
			uint64		bits;

			CHECK_FOR_INTERRUPTS();
			buffer = page_read(index, layer->first_page + j, BUFFER_LOCK_SHARE);
			page = BufferGetPage(buffer);
			bits = count_bits((uint8 *) PageGetContents(page),
							  BLOCK_BYTES * BLOCKS_PER_PAGE);
			if (bits != page_opaque(page)->bits_set)
				ereport(ERROR,
						(errcode(ERRCODE_INDEX_CORRUPTED),
						 errmsg("index \"%s\" has " UINT64_FORMAT " bits set in block %u where it counts %u",
								RelationGetRelationName(index), bits,
								BufferGetBlockNumber(buffer),
								page_opaque(page)->bits_set),
						 errhint("Please REINDEX it.")));
			UnlockReleaseBuffer(buffer);
		}
	}
}
