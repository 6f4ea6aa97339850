/*
 * pages.c
 *	  The pages of a membership index: a growing Bloom filter that is changed in place,
 *	  under buffer locks, and logged.
 *
 * Page 0 is the metapage.  It has the parameters of the index and the description of its
 * layers, which bloom_sizing.c plans as for a growing bloom.  The 512-bit blocks of a layer
 * follow each other from the layer's first page on.  So a probe reads the metapage and, for
 * each layer, the page with the element's block (two pages if the layout is block512x2).
 * Every page counts its own set bits.
 *
 * Bits are set and never cleared.  Therefore
 *
 * - readers lock only the page that they read, in share mode.  A layer that the metapage
 *	 names has all its pages, and a probe finds every element whose insertion has ended;
 *
 * - an inserter may use an outdated copy of the metapage: an element is found in a full
 *	 layer as well as in any other;
 *
 * - it does no harm to add an element twice, or to add one for a transaction that aborts.
 *
 * add.c describes how a page reports its set bits, and when a layer is added.
 *
 * Locks: a backend locks one page and, while it holds that lock, the metapage.  A backend
 * that has locked the metapage does not wait for another page.
 *
 * Changes are logged as generic WAL records (access/generic_xlog.h; page.c); new pages are
 * logged as a whole.
 */
#include "page.h"

#include "filter/set.h"
#include "miscadmin.h"
#include "storage/buf_internals.h"

/*
 * A batch prefetches this many blocks before it probes the first of them, so that the
 * processor fetches their cache lines together.  It pins at most this number of pages.
 */
#define PROBES_AHEAD			8

/* Does the layer contain the element with this hash? */
static bool
layer_contains(Relation index, const MembershipLayer *layer, uint64 hash)
{
	bool		found = true;

	for (unsigned i = 0; i < layer_blocks(layer->layout) && found; i++)
	{
		const Place place = place_of(layer, i > 0, hash);
		Buffer		buffer = page_read_again(index, block_page(layer, place.block),
											 block_offset(place.block));

		found = block_kernel->contains(page_block(BufferGetPage(buffer), place.block),
									   place.word, layer->hashes);
		UnlockReleaseBuffer(buffer);
	}
	return found;
}

/*
 * Does any layer in *meta contain the element of this hash?  Errors: those of page_read().
 */
bool
pages_contain(Relation index, const MembershipMeta *meta, uint64 hash)
{
	for (int i = meta->layers - 1; i >= 0; i--)
		if (layer_contains(index, &meta->layer[i], hash))
			return true;
	return false;
}

/*
 * Prefetch the cache lines that pages_contain() will read or write, of the buffers that
 * page_recent() knows and of their descriptors; not those of second blocks.
 */
void
pages_prefetch(Relation index, const MembershipMeta *meta, uint64 hash)
{
	for (int i = 0; i < meta->layers; i++)
	{
		const uint64 block = place_of(&meta->layer[i], false, hash).block;
		const Buffer buffer = page_recent(index, block_page(&meta->layer[i], block));

		/* if the buffer holds another page now, this does no harm */
		if (BufferIsValid(buffer))
			page_prefetch(BufferGetPage(buffer), block_offset(block));
		if (BufferIsValid(buffer) && !BufferIsLocal(buffer))
			__builtin_prefetch(GetBufferDescriptor(buffer - 1), 1);
	}
}

/*
 * Probe the first or second blocks of the elements: set found[i] to whether all bits of
 * element i are set there.  Locks a page once for consecutive elements on it; while it is
 * locked, pins no other page and cannot be cancelled.
 */
static void
probe_blocks(Relation index, const MembershipLayer *layer, bool second,
			 const uint64 *hashes, Size count, bool *found)
{
	Buffer		pinned[PROBES_AHEAD];	/* [i % PROBES_AHEAD] is for element
										 * i; invalid: not pinned, or pinned
										 * for an earlier element */
	BlockNumber last = InvalidBlockNumber;	/* the page prefetched last */
	Page		last_page = NULL;
	BlockNumber number = InvalidBlockNumber;	/* the page locked last */
	Buffer		locked = InvalidBuffer;
	Size		ahead = 0;

	for (Size i = 0; i < count; i++)
	{
		const Place here = place_of(layer, second, hashes[i]);

		if (BufferIsValid(locked) && block_page(layer, here.block) != number)
		{
			UnlockReleaseBuffer(locked);
			locked = InvalidBuffer;
			CHECK_FOR_INTERRUPTS();
		}
		for (; ahead < Min(count, i + PROBES_AHEAD); ahead++)
		{
			Buffer	   *pin = &pinned[ahead % PROBES_AHEAD];
			const uint64 block = place_of(layer, second, hashes[ahead]).block;

			*pin = InvalidBuffer;
			if (block_page(layer, block) != last)
			{
				/* if the buffer holds another page now, this does no harm */
				Buffer		buffer = page_recent(index, block_page(layer, block));

				if (!BufferIsValid(buffer))
				{
					/* do not read from disk while a page is locked */
					if (BufferIsValid(locked))
						break;
					buffer = *pin = page_pin(index, block_page(layer, block));
				}
				last = block_page(layer, block);
				last_page = BufferGetPage(buffer);
			}
			page_prefetch(last_page, block_offset(block));
		}
		Assert(ahead > i);
		if (!BufferIsValid(locked))
		{
			number = block_page(layer, here.block);
			locked = pinned[i % PROBES_AHEAD];
			if (!BufferIsValid(locked))
				locked = page_pin(index, number);
			page_lock(index, locked, BUFFER_LOCK_SHARE);
		}
		Assert(BufferGetBlockNumber(locked) == block_page(layer, here.block));
		found[i] = block_kernel->contains(page_block(BufferGetPage(locked), here.block),
										  here.word, layer->hashes);
	}
	if (BufferIsValid(locked))
		UnlockReleaseBuffer(locked);
}

/* Low bits of a hash that sort_wanted() replaces by the element's index while it sorts */
#define PLACE_BITS			((uint64) (BATCH - 1))

/*
 * Copy the hashes of the wanted elements (at most BATCH) to "sorted", in the order of their
 * first or second blocks, and set places[i] to the index of sorted[i] in "hashes".  Returns
 * their number.
 */
static Size
sort_wanted(const uint64 *hashes, Size count, const bool *wanted, bool second,
			uint64 *sorted, uint64 *places)
{
	Size		taken = 0;

	Assert(count <= BATCH);
	for (Size i = 0; i < count; i++)
		if (wanted[i])
			places[taken++] =
				le64(((second ? remix64(hashes[i]) : hashes[i]) & ~PLACE_BITS) | i);
	hashset_sort_unique((uint8 *) places, taken);
	for (Size i = 0; i < taken; i++)
	{
		places[i] = le64(places[i]) & PLACE_BITS;
		sorted[i] = hashes[places[i]];
	}
	return taken;
}

/*
 * Clear found[i], for up to BATCH elements, if it is set but the element's second block
 * lacks bits.  Probes in the order of these blocks, so that few pages are locked twice.
 */
static void
probe_second_blocks(Relation index, const MembershipLayer *layer,
					const uint64 *hashes, Size count, bool *found)
{
	uint64		places[BATCH];
	uint64		sorted[BATCH];
	bool		in_second[BATCH];

	count = sort_wanted(hashes, count, found, true, sorted, places);
	probe_blocks(index, layer, true, sorted, count, in_second);
	for (Size i = 0; i < count; i++)
		found[places[i]] = in_second[i];
}

/*
 * Probe one layer for elements with these sorted hashes, whose first blocks are in the same
 * order, so that each of their pages is locked once.  Errors: those of page_read().
 */
void
layer_contains_sorted(Relation index, const MembershipLayer *layer,
					  const uint64 *hashes, Size count, bool *found)
{
	probe_blocks(index, layer, false, hashes, count, found);
	if (layer_blocks(layer->layout) > 1)
		for (Size done = 0; done < count; done += BATCH)
			probe_second_blocks(index, layer, hashes + done,
								Min(count - done, BATCH), found + done);
}

/*
 * Set found[i] to whether any layer in *meta contains hashes[i], for up to BATCH hashes.
 * Errors: those of page_read().
 */
void
pages_contain_batch(Relation index, const MembershipMeta *meta,
					const uint64 *hashes, Size count, bool *found)
{
	uint64		places[BATCH];
	uint64		left[BATCH];	/* hashes[places[i]] */
	bool		in_layer[BATCH];

	if (count == 1)
	{
		*found = pages_contain(index, meta, *hashes);
		return;
	}
	memset(found, true, count * sizeof(bool));
	count = sort_wanted(hashes, count, found, false, left, places);
	for (int i = meta->layers - 1; i >= 0; i--)
	{
		Size		lacking = 0;

		layer_contains_sorted(index, &meta->layer[i], left, count, in_layer);
		for (Size j = 0; j < count; j++)
			if (!in_layer[j])
			{
				left[lacking] = left[j];
				places[lacking++] = places[j];
			}
		count = lacking;
	}
	for (Size i = 0; i < count; i++)
		found[places[i]] = false;
}

/*
 * The number of pages, including the metapage, that these probes read at most if
 * pages_contain_batch() is called for each BATCH of them.  Ignores second blocks: an absent
 * element rarely needs one, and a present element needs that of one layer.
 */
double
pages_probe_cost(const MembershipMeta *meta, Size probes)
{
	const Size	batches = probes / BATCH;
	const BlockNumber rest = probes % BATCH;
	double		pages = 1;

	for (int i = 0; i < meta->layers; i++)
	{
		const BlockNumber all = layer_pages(&meta->layer[i]);

		pages += (double) batches * Min(all, BATCH) + Min(all, rest);
	}
	return pages;
}

/*
 * Is this an initialized, empty page?  Then an earlier attempt to create its layer,
 * cancelled or ended by a crash, has made and logged it.
 */
static bool
page_is_made(Relation index, BlockNumber number)
{
	Buffer		buffer = ReadBuffer(index, number);
	bool		made;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	made = page_is_valid(buffer) &&
		page_opaque(BufferGetPage(buffer))->bits_set == 0;
	UnlockReleaseBuffer(buffer);
	return made;
}

/*
 * Create the empty pages of layer "number", counted from 0, as described in *meta; the
 * metapage in the index does not name the layer yet.  Keeps pages that exist, so that
 * repeated attempts, each within a timeout, come to an end.  Logs the pages if "log"; the
 * build of an index logs all its pages at the end.
 */
void
pages_create(Relation index, const MembershipMeta *meta, int number, bool log)
{
	const MembershipLayer *layer = &meta->layer[number];
	BlockNumber end = layer->first_page + layer_pages(layer);
	BlockNumber existing = RelationGetNumberOfBlocks(index);

	for (BlockNumber i = layer->first_page; i < end; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (i >= existing || !page_is_made(index, i))
			page_make(index, MAIN_FORKNUM, i, NULL, BLOCK_BYTES * BLOCKS_PER_PAGE,
					  log && RelationNeedsWAL(index));
	}
}

/*
 * Add hashes to a layer of an index that only the processes that build it can use; sorted
 * hashes are faster.  Does not log.  Cannot be cancelled.
 */
void
layer_fill(Relation index, const MembershipLayer *layer, const uint64 *hashes, Size count)
{
	/* lock one page at a time: both blocks may be on the same page */
	Buffer		buffer = InvalidBuffer;

	for (Size i = 0; i < count; i++)
		for (unsigned j = 0; j < layer_blocks(layer->layout); j++)
		{
			const Place place = place_of(layer, j > 0, hashes[i]);
			const BlockNumber number = block_page(layer, place.block);
			Page		page;

			if (!BufferIsValid(buffer) || BufferGetBlockNumber(buffer) != number)
			{
				if (BufferIsValid(buffer))
					UnlockReleaseBuffer(buffer);
				buffer = page_read(index, number, BUFFER_LOCK_EXCLUSIVE);
				MarkBufferDirty(buffer);
			}
			page = BufferGetPage(buffer);
			page_opaque(page)->bits_set +=
				block_kernel->add(page_block(page, place.block), place.word,
								  layer->hashes);
		}
	if (BufferIsValid(buffer))
		UnlockReleaseBuffer(buffer);
}

/* Report the bits of the first layer in *meta, after a build.  Does not log. */
void
pages_report(Relation index, MembershipMeta *meta)
{
	MembershipLayer *layer = &meta->layer[0];

	layer->bits_reported = 0;
	for (BlockNumber i = 0; i < layer_pages(layer); i++)
	{
		Buffer		buffer;
		MembershipOpaque *opaque;

		CHECK_FOR_INTERRUPTS();
		buffer = page_read(index, layer->first_page + i, BUFFER_LOCK_EXCLUSIVE);
		opaque = page_opaque(BufferGetPage(buffer));
		opaque->unreported = opaque->bits_set % layer->report_step;
		layer->bits_reported += opaque->bits_set - opaque->unreported;
		MarkBufferDirty(buffer);
		UnlockReleaseBuffer(buffer);
	}
}

/* The number of bytes of the image that pages_read() writes */
uint64
pages_image_bytes(const MembershipMeta *meta)
{
	uint64		bytes = IMAGE_HEADER_BYTES + IMAGE_LAYER_BYTES * meta->layers;

	for (int i = 0; i < meta->layers; i++)
		bytes += meta->layer[i].size * BLOCK_BYTES;
	return bytes;
}

/*
 * Copy the layers in *meta to "image", a bloom with elements of "class" for which
 * pages_image_bytes() are allocated.  Bits that are set meanwhile may be missing.  Errors:
 * those of page_read().
 */
void
pages_read(Relation index, const MembershipMeta *meta, ElementClass class, uint8 *image)
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
	image_set_layers(image, meta->layers, pages_image_bytes(meta));
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
			buffer = page_read(index, block_page(from, block), BUFFER_LOCK_SHARE);
			page = BufferGetPage(buffer);
			memcpy(image + offset, page_block(page, block), blocks * BLOCK_BYTES);
			layer.bits_set += page_opaque(page)->bits_set;
			UnlockReleaseBuffer(buffer);
			offset += blocks * BLOCK_BYTES;
		}
		image_put_layer(image, i, &layer);
	}
}

/*
 * Raise ERRCODE_INDEX_CORRUPTED unless every page is valid, and its count of set bits is
 * right.
 */
void
pages_check(Relation index, const MembershipMeta *meta)
{
	for (BlockNumber i = MEMBERSHIP_META_PAGE + 1; i < end_of_layers(meta); i++)
	{
		Buffer		buffer;
		Page		page;
		uint64		bits;

		CHECK_FOR_INTERRUPTS();
		buffer = page_read(index, i, BUFFER_LOCK_SHARE);
		page = BufferGetPage(buffer);
		bits = count_bits((uint8 *) PageGetContents(page), BLOCK_BYTES * BLOCKS_PER_PAGE);
		if (bits != page_opaque(page)->bits_set)
			report_corrupted("index \"%s\" has " UINT64_FORMAT " bits set in block %u, which counts %u",
							 RelationGetRelationName(index), bits, i,
							 page_opaque(page)->bits_set);
		UnlockReleaseBuffer(buffer);
	}
}
