/*
 * add.c
 *	  Adds hashes to a membership index; pages.c describes why this needs few locks.
 *
 * A page reports its newly set bits to the metapage in steps of report_step bits, in the
 * WAL record that sets them, and keeps the remainder in "unreported".  If elements have two
 * blocks, each bit that is newly set in the first block reserves a bit of the layer for the
 * second, so that the second block can always be written.  When it is written, its page
 * reports the new bits minus the reserved ones.  (After a crash in between, the reservation
 * stays, and the layer is full a little early.)
 *
 * A layer is full when the metapage counts bits_full bits for it.  The session that notices
 * this creates the next layer: it takes the relation extension lock, creates the pages, and
 * adds the layer to the metapage last.  After a crash or a cancel, the next attempt uses
 * the pages that exist.  Once 32 layers are in use, the last one is filled beyond its
 * capacity: insertions do not fail, but the error rate rises.
 */
#include "page.h"

#include "access/generic_xlog.h"
#include "miscadmin.h"
#include "storage/lmgr.h"

/*
 * A batch that may overfill a layer has at most as many hashes as the layer's capacity
 * divided by this.
 */
#define ADD_FRACTION				64

/*
 * At COMMIT, we do not create the next layer, which may take seconds that no timeout ends,
 * but overfill the last one, by up to bits_full divided by this.  At an error rate of 1 %,
 * the overfilled layer gives 3 % more false positives.
 */
#define COMMIT_FRACTION				256

/*
 * COMMIT may create a layer of up to this many pages (8 MB), which takes about 20 ms.
 * Otherwise only few hashes could wait while layers are small, and each page would be
 * written for one of them.
 */
#define COMMIT_PAGES_MAX			1024

/* This many sessions can commit at once before one must create a large layer */
#define COMMIT_SESSIONS				8

/* This many hashes may always wait, even if memory is short or layers are small */
#define WAITING_LEAST				16384

#define ST_SORT sort_hashes
#define ST_ELEMENT_TYPE uint64
#define ST_COMPARE(a, b) (*(a) < *(b) ? -1 : *(a) > *(b))
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

#define ST_SORT sort_places
#define ST_ELEMENT_TYPE Place
#define ST_COMPARE(a, b) ((a)->block < (b)->block ? -1 : (a)->block > (b)->block)
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

/* Remove from sorted hashes those that the layer contains; returns how many are left. */
static Size
drop_contained(Relation index, const MembershipLayer *layer, uint64 *hashes, Size count)
{
	Size		left = 0;
	bool	   *found = palloc(count * sizeof(bool));

	layer_contains_sorted(index, layer, hashes, count, found);
	for (Size i = 0; i < count; i++)
		if (!found[i])
			hashes[left++] = hashes[i];
	pfree(found);
	return left;
}

/*
 * The number of bits of a layer that may be set: bits_full and, unless "fraction" is 0,
 * another bits_full / fraction
 */
static uint64
bits_max(const FilterLayer *layer, unsigned fraction)
{
	return layer->bits_full + (fraction > 0 ? layer->bits_full / fraction : 0);
}

/* Does the layer have bits_max() bits set, or is there a later layer? */
static bool
layer_is_full(const MembershipMeta *meta, int number, unsigned fraction)
{
	FilterLayer now;

	meta_layer(meta, number, &now);
	return meta->layers > number + 1 || now.bits_set >= bits_max(&now, fraction);
}

/* The largest batch of elements that may fill a layer, see ADD_FRACTION */
static Size
last_batch_max(uint64 capacity)
{
	return Max(1, capacity / ADD_FRACTION);
}

/* The state of adding hashes to a layer, which the functions below share */
typedef struct Adding
{
	Relation	index;
	int			number;			/* of the layer, from 0 */
	const MembershipLayer *layer;
	unsigned	fraction;		/* argument of bits_max() */
	bool		force;			/* add even if the layer is full */
	bool		full;			/* out: the layer was full, or is now */
	/* used if the layout has two blocks for each element */
	bool		second;			/* add to the second block */
	uint64		reserved;		/* bits reserved for the second blocks */
} Adding;

/*
 * Add to "change" the bits of these places, which are all on its page, sorted by block.
 * Returns how many of the bits are clear now.
 */
static uint32
change_blocks(PageChange *change, const Place *places, Size count, unsigned hashes)
{
	Page		page = BufferGetPage(change->buffer);
	uint32		new_bits = 0;

	for (Size i = 0; i < count;)
	{
		const uint64 block = places[i].block;
		const uint8 *old = page_block(page, block);
		uint8		new[BLOCK_BYTES];
		uint32		here = 0;

		memcpy(new, old, BLOCK_BYTES);
		for (; i < count && places[i].block == block; i++)
			here += block_kernel->add(new, places[i].word, hashes);
		if (here > 0)
			page_change_bytes(change, old, new, BLOCK_BYTES);
		new_bits += here;
	}
	return new_bits;
}

/*
 * Set the bits of places that are all on one page; "reserved" bits are reserved for them.
 * Returns false, and sets nothing, if the layer turns out to be full, or would be
 * overfilled.  With adding->force, always sets them.
 */
static bool
add_on_page(Adding *adding, const Place *places, Size count, uint32 reserved)
{
	Relation	index = adding->index;
	const MembershipLayer *layer = adding->layer;
	bool		reserve = !adding->second && layer_blocks(layer->layout) > 1;
	PageChange	changes[2];		/* of the page, and of the metapage */
	Buffer		buffer = page_read(index, block_page(layer, places->block),
								   BUFFER_LOCK_EXCLUSIVE);
	Buffer		meta_buffer = InvalidBuffer;
	const MembershipOpaque *old;
	MembershipOpaque opaque;
	const int32 report_step = layer->report_step;
	uint32		new_bits;
	int32		unreported;
	int32		reports;		/* steps */
	bool		add;

	page_change_begin(&changes[0], buffer);
	new_bits = change_blocks(&changes[0], places, count, layer->hashes);
	old = page_opaque(BufferGetPage(buffer));
	opaque = *old;
	opaque.bits_set += new_bits;
	Assert(opaque.bits_set <= BLOCKS_PER_PAGE * BLOCK_BITS);
	unreported = opaque.unreported + (int32) new_bits - (int32) reserved;
	if (reserve)
		unreported += new_bits;
	reports = unreported / report_step;
	opaque.unreported = unreported % report_step;
	page_change_bytes(&changes[0], old, &opaque, sizeof(opaque));
	/* nothing to do if another session has just set the bits */
	add = new_bits > 0 || reserved > 0;
	if (reports != 0)
	{
		MembershipMeta *old_meta;
		MembershipMeta meta;
		uint64	   *bits = &meta.layer[adding->number].bits_reported;
		bool		was_full;
		bool		is_full;

		meta_buffer = page_read(index, MEMBERSHIP_META_PAGE, BUFFER_LOCK_EXCLUSIVE);
		old_meta = page_meta(BufferGetPage(meta_buffer));
		was_full = layer_is_full(old_meta, adding->number, adding->fraction);
		meta = *old_meta;
		/* the pages that reserved bits may not have reported them yet */
		*bits = Max((int64) *bits + (int64) reports * report_step, 0);
		is_full = layer_is_full(&meta, adding->number, adding->fraction);
		page_change_begin(&changes[1], meta_buffer);
		page_change_bytes(&changes[1],
						  &old_meta->layer[adding->number].bits_reported, bits,
						  sizeof(*bits));
		add = adding->force || !is_full ||
			(!was_full && count <= last_batch_max(layer->capacity));
		if (add ? is_full : was_full)
			adding->full = true;
	}
	if (add)
	{
		page_changes_apply(index, changes, BufferIsValid(meta_buffer) ? 2 : 1);
		if (reserve)
			adding->reserved += new_bits;
	}
	if (BufferIsValid(meta_buffer))
		UnlockReleaseBuffer(meta_buffer);
	UnlockReleaseBuffer(buffer);
	return add || reports == 0;
}

/*
 * Set the bits of places, sorted by block, until the layer is full.  Each place gets an
 * equal share of adding->reserved.  Returns the number of places added.
 */
static Size
add_places(Adding *adding, const Place *places, Size count)
{
	const MembershipLayer *layer = adding->layer;
	Size		done = 0;

	while (done < count && (adding->force || !adding->full))
	{
		BlockNumber page = block_page(layer, places[done].block);
		Size		here = 1;
		uint32		reserved = 0;

		CHECK_FOR_INTERRUPTS();
		while (done + here < count && block_page(layer, places[done + here].block) == page)
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

/* Add sorted hashes to the last layer until it is full, and return how many were added. */
static Size
add_to_layer(Adding *adding, const uint64 *hashes, Size count)
{
	const MembershipLayer *layer = adding->layer;
	Place	   *places = palloc(count * sizeof(Place));

	for (Size i = 0; i < count; i++)
		places[i] = place_of(layer, false, hashes[i]);
	count = add_places(adding, places, count);
	if (layer_blocks(layer->layout) > 1)
	{
		for (Size i = 0; i < count; i++)
			places[i] = place_of(layer, true, hashes[i]);
		sort_places(places, count);
		adding->second = adding->force = true;
		(void) add_places(adding, places, count);
	}
	pfree(places);
	return count;
}

/* The sum of the layers' capacities */
static uint64
whole_capacity(const MembershipMeta *meta)
{
	uint64		whole = 0;

	for (int i = 0; i < meta->layers; i++)
		whole += meta->layer[i].capacity;
	return whole;
}

/* The capacity of the next layer, by the same rule as for a growing bloom */
static uint64
next_capacity(const MembershipMeta *meta)
{
	return meta->layers == 0 ? meta->capacity :
		next_layer_capacity(whole_capacity(meta), meta->growth, meta->layers);
}

/*
 * Create layer number "layers", counted from 0, unless another session has created it or no
 * more layers are possible.  The first layer will have elements of this
 * membership_structure().  Reads *meta anew.
 */
static void
grow(Relation index, int layers, uint64 structure, MembershipMeta *meta)
{
	LockRelationForExtension(index, ExclusiveLock);
	meta_read(index, meta);
	/* do not put another, larger layer behind a damaged one */
	if (end_of_layers(meta) > RelationGetNumberOfBlocks(index))
		report_corrupted("index \"%s\" has %u blocks, fewer than its layers need",
						 RelationGetRelationName(index),
						 RelationGetNumberOfBlocks(index));
	if (meta->layers == layers && meta_plan_layer(meta, next_capacity(meta)))
	{
		Buffer		buffer;
		GenericXLogState *state;
		MembershipMeta *on_page;

		pages_create(index, meta, layers, true);
		buffer = page_read(index, MEMBERSHIP_META_PAGE, BUFFER_LOCK_EXCLUSIVE);
		state = GenericXLogStart(index);
		on_page = page_meta(GenericXLogRegisterBuffer(state, buffer, 0));
		/* other sessions may have changed the other fields */
		on_page->layer[layers] = meta->layer[layers];
		on_page->layers = layers + 1;
		if (layers == 0)
			on_page->structure = meta->structure = structure;
		GenericXLogFinish(state);
		UnlockReleaseBuffer(buffer);
	}
	UnlockRelationForExtension(index, ExclusiveLock);
}

/*
 * Note that the index gets elements that are hashed in another way than those it has.
 * Otherwise, if ALTER TABLE restored the old type, these elements would not be found.  The
 * note remains if the insertion is rolled back.
 */
static void
record_mixed_hashes(Relation index)
{
	Buffer		buffer = page_read(index, MEMBERSHIP_META_PAGE, BUFFER_LOCK_EXCLUSIVE);
	GenericXLogState *state = GenericXLogStart(index);

	page_meta(GenericXLogRegisterBuffer(state, buffer, 0))->structure = STRUCTURE_MIXED;
	GenericXLogFinish(state);
	UnlockReleaseBuffer(buffer);
}

/* The number of elements that certainly fit into the last layer up to bits_max() */
static Size
room_for(const MembershipMeta *meta, unsigned fraction)
{
	FilterLayer last;
	uint64		most;

	meta_layer(meta, meta->layers - 1, &last);
	most = bits_max(&last, fraction);
	return last.bits_set >= most ? 0 :
		(most - last.bits_set) / layer_picks(&last);
}

/*
 * Make sure that the index has a layer that is not full, and knows whether all its elements
 * have this membership_structure().  The statement that inserts calls this, because it can
 * be cancelled and COMMIT cannot.
 *
 * Returns how many hashes, of all indexes together, may wait before they are written: at
 * most "in_memory", or WAITING_LEAST if that is more.  While another layer is possible,
 * limits the number further, so that each of COMMIT_SESSIONS sessions can add that many to
 * the last layer and the small layers that COMMIT may create behind it.  Errors: those of
 * meta_read(); ERRCODE_PROGRAM_LIMIT_EXCEEDED if the first layer would be too large;
 * ERRCODE_INDEX_CORRUPTED; a cancel.
 */
Size
add_prepare(Relation index, uint64 structure, Size in_memory)
{
	MembershipMeta meta;
	const MembershipLayer *last;
	Size		most = Max(WAITING_LEAST, in_memory);
	double		room;
	double		growths;		/* COMMIT's largest layer / the next layer */
	const uint64 blocks_max = COMMIT_PAGES_MAX * BLOCKS_PER_PAGE;

	meta_read(index, &meta);
	if (meta.layers == 0 || (meta.layers < IMAGE_MAX_LAYERS && room_for(&meta, 0) == 0))
		grow(index, meta.layers, structure, &meta);
	if (meta.layers == 0)
		meta_report_too_large(index, &meta, meta.capacity);
	if (!membership_has_structure(&meta, structure) && meta.structure != STRUCTURE_MIXED)
		record_mixed_hashes(index);
	room = room_for(&meta, COMMIT_FRACTION);
	if (room == 0 || meta.layers == IMAGE_MAX_LAYERS)
		return most;

	/* roughly: the next layer has up to twice as many bits per element */
	last = &meta.layer[meta.layers - 1];
	growths = (double) blocks_max / (2 * last->size) *
		last->capacity / next_capacity(&meta);
	if (growths >= 1)
	{
		room += (growths - 1) * whole_capacity(&meta);
		room = Max(room, WAITING_LEAST * COMMIT_SESSIONS);
	}
	return Max(1, Min(most, room / COMMIT_SESSIONS));
}

/*
 * Add hashes to the index; reorders the array.  A hash that is already present costs a page
 * read, but no write and no WAL.  Does nothing if the index has no layers: it was emptied
 * after add_prepare(), and needs none of the hashes (insert.c).  Errors: those of
 * page_read() and meta_read(); ERRCODE_INDEX_CORRUPTED; a cancel.  After an error, some of
 * the hashes may have been added.
 *
 * With "committing", creates no layer if the hashes fit into the last one, even if they
 * fill it: the next insertion creates a layer.  Creates one nevertheless if other
 * committing sessions have filled the last layer meanwhile.
 */
void
add_hashes(Relation index, uint64 *hashes, Size count, bool committing)
{
	MembershipMeta meta;
	unsigned	fraction = 0;
	bool		force = false;	/* no other layer is possible */
	bool		in_batches = false; /* other sessions fill the layer, too */

	meta_read(index, &meta);
	if (meta.layers == 0)
		return;
	if (committing && count <= room_for(&meta, COMMIT_FRACTION))
		fraction = COMMIT_FRACTION;
	while (count > 0)
	{
		/*
		 * Sort each batch alone: the lowest of all hashes would crowd the
		 * first blocks of the layer.
		 */
		Size		now = last_batch_max(meta.layer[meta.layers - 1].capacity);
		Size		left;
		Adding		adding = {
			.index = index,
			.number = meta.layers - 1,
			.layer = &meta.layer[meta.layers - 1],
			.fraction = fraction,
			.force = force
		};

		CHECK_FOR_INTERRUPTS();
		if (!in_batches)
			now = Max(now, room_for(&meta, fraction));
		now = Min(now, count);
		left = now;
		sort_hashes(hashes, now);
		for (int i = 0; i < meta.layers && left > 0; i++)
			left = drop_contained(index, &meta.layer[i], hashes, left);
		if (left > 0)
		{
			Size		added = add_to_layer(&adding, hashes, left);

			/* add the rest with the next batch */
			left -= added;
			memmove(hashes + now - left, hashes + added, left * sizeof(uint64));
		}
		in_batches = left > 0;
		hashes += now - left;
		count -= now - left;
		if (adding.full && (count > 0 || !committing))
		{
			int			layers = meta.layers;

			grow(index, layers, meta.structure, &meta);
			force = meta.layers == layers;
		}
		else
			meta_read(index, &meta);
	}
}
