/*
 * add.c
 *	  Adding hashes to a membership index.
 *
 * See pages.c for why this needs few locks, and how a layer is created.
 */
#include "page.h"

#include "access/generic_xlog.h"
#include "miscadmin.h"
#include "storage/lmgr.h"

/* This part of a layer's capacity is added at once though it might fill the layer. */
#define ADD_FRACTION				64

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

		(void) page_turn(index, block_page(layer, block), BUFFER_LOCK_SHARE,
						 &buffer);
		first[i] = block_kernel->contains(page_block(BufferGetPage(buffer), block),
										  block_word(hashes[i]), layer->hashes);
		maybe += first[i];
	}
	if (BufferIsValid(buffer))
		UnlockReleaseBuffer(buffer);
	if (maybe > 0)
	{
		for (Size i = 0; i < count; i++)
			if (!first[i] || !pages_second_contains(index, layer, hashes[i]))
				hashes[left++] = hashes[i];
		count = left;
	}
	pfree(first);
	return count;
}

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
last_batch_max(uint64 capacity)
{
	return Max(1, capacity / ADD_FRACTION);
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
	const int32 report_step = layer->report_step;
	uint32		new_bits;
	int32		unreported;
	int32		reports;		/* steps */
	bool		add;

	for (Size i = 0; i < count; i++)
		opaque->bits_set += block_kernel->add(page_block(page, places[i].block),
											  places[i].word, layer->hashes);
	new_bits = opaque->bits_set - before;
	unreported = opaque->unreported + (int32) new_bits - (int32) reserved;
	if (reserve)
		unreported += new_bits;
	reports = unreported / report_step;
	opaque->unreported = unreported % report_step;
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
		*bits = Max((int64) *bits + (int64) reports * report_step, 0);
		is_full = layer_is_full(meta, adding->number);
		add = adding->anyway || adding->second || !is_full ||
			(!was_full && count <= last_batch_max(layer->capacity));
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
	bool		in_batches = false; /* another session fills it, too */

	meta_read(index, &meta);
	if (meta.layers == 0)
		grow(index, 0, &meta);
	if (meta.layers == 0)
		meta_report_too_large(index, &meta, meta.capacity);
	while (count > 0)
	{
		/*
		 * in the order they came: the lowest of all would crowd its first
		 * blocks
		 */
		Size		now = last_batch_max(meta.layer[meta.layers - 1].capacity);
		Size		left;
		Adding		adding = {
			.index = index,
			.number = meta.layers - 1,
			.layer = &meta.layer[meta.layers - 1],
			.anyway = anyway
		};

		CHECK_FOR_INTERRUPTS();
		if (!in_batches)
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
		in_batches = left > 0;
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
