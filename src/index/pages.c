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
 * layer's report_step, in the same WAL record; it keeps count of those not told yet.  Where
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
#include "page.h"

#include "access/generic_xlog.h"
#include "miscadmin.h"

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

bool
pages_second_contains(Relation index, const MembershipLayer *layer, uint64 hash)
{
	return layer_blocks(layer->layout) == 1 ||
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
			pages_second_contains(index, layer, hash))
			return true;
	}
	return false;
}

/* ----------------------------------------------------------------
 *		Building
 * ----------------------------------------------------------------
 */

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
	Page		page;

	if (page_turn(writer->index, block_page(writer->layer, block),
				  BUFFER_LOCK_EXCLUSIVE, &writer->buffer))
		MarkBufferDirty(writer->buffer);
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
		if (layer_blocks(layer->layout) > 1)
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

		opaque->unreported = opaque->bits_set % layer->report_step;
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
