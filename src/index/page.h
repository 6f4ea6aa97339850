/*
 * page.h
 *	  One page of a membership index; see page.c.
 */
#ifndef BLOOMFILTER_PAGE_H
#define BLOOMFILTER_PAGE_H

#include "membership.h"

#include "filter/block512.h"
#include "storage/bufmgr.h"

#define MEMBERSHIP_META_PAGE	0

/* The special space at the end of a page */
typedef struct MembershipOpaque
{
	uint32		bits_set;		/* number of set bits on the page */
	int16		unreported;		/* bits to report; < 0: too many reported */
	uint16		page_id;
} MembershipOpaque;

/* Blocks of 512 bits on a page */
#define BLOCKS_PER_PAGE \
	((BLCKSZ - SizeOfPageHeaderData - MAXALIGN(sizeof(MembershipOpaque))) / \
	 BLOCK_BYTES)

static inline MembershipOpaque *
page_opaque(Page page)
{
	return (MembershipOpaque *) ((char *) page + BLCKSZ - MAXALIGN(sizeof(MembershipOpaque)));
}

static inline MembershipMeta *
page_meta(Page page)
{
	return (MembershipMeta *) PageGetContents(page);
}

/*
 * A probe checks only the half of a page that it reads: a page is usually two of the
 * processor's, each with an address to look up, which is a twentieth of the time of a
 * lookup in the indexes of 1,000 partitions.
 */
#define HALF_PAGE	(BLCKSZ / 2)

/* Are any of the BLOCK_BYTES bytes at "offset" in this half of the page? */
static inline bool
in_first_half(Size offset)
{
	return offset < HALF_PAGE;
}

static inline bool
in_second_half(Size offset)
{
	return offset + BLOCK_BYTES > HALF_PAGE;
}

/*
 * Prefetch the cache lines that page_read_again() and a probe of the block at "offset" read:
 * two of the block, because blocks follow the page's header, which is shorter than a line.
 */
static inline void
page_prefetch(Page page, Size offset)
{
	const char *bytes = (const char *) page;

	if (in_first_half(offset))
		__builtin_prefetch(bytes);
	__builtin_prefetch(bytes + offset);
	__builtin_prefetch(bytes + offset + BLOCK_BYTES - 1);
	if (in_second_half(offset))
		__builtin_prefetch(bytes + BLCKSZ - 1);
}

/* The offset of a block in its page */
static inline Size
block_offset(uint64 block)
{
	return MAXALIGN(SizeOfPageHeaderData) + BLOCK_BYTES * (block % BLOCKS_PER_PAGE);
}

static inline uint8 *
page_block(Page page, uint64 block)
{
	return (uint8 *) page + block_offset(block);
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

/* One of an element's blocks in a layer, and the word that selects the bits in it */
typedef struct Place
{
	uint64		block;
	uint64		word;
} Place;

static inline Place
place_of(const MembershipLayer *layer, bool second, uint64 hash)
{
	Place		place;

	place.block = second ? second_block(hash, layer->size) :
		first_block(hash, layer->size);
	place.word = second ? second_word(hash) : block_word(hash);
	Assert(place.block < layer->size);
	return place;
}

/* The number of the page after the last layer's */
static inline BlockNumber
end_of_layers(const MembershipMeta *meta)
{
	const MembershipLayer *last;

	if (meta->layers == 0)
		return MEMBERSHIP_META_PAGE + 1;
	last = &meta->layer[meta->layers - 1];
	return last->first_page + layer_pages(last);
}

/*
 * The changes of one page, in the form of a generic WAL record: fragments in ascending
 * order.  Each fragment has a header (offset and length, each an OffsetNumber) and the new
 * bytes.  Fragments no further apart than the size of a header are joined.
 */
#define FRAGMENT_HEADER_BYTES	(2 * sizeof(OffsetNumber))

typedef struct PageChange
{
	Buffer		buffer;			/* locked exclusively */
	Size		last;			/* position of the last fragment's header */
	OffsetNumber header[2];		/* content of that header */
	Size		count;			/* bytes used in "fragments" */
	/* enough: joined fragments take at most a page and one header */
	char		fragments[BLCKSZ + FRAGMENT_HEADER_BYTES];
} PageChange;

extern void page_change_begin(PageChange *change, Buffer buffer);
extern void page_change_bytes(PageChange *change, const void *at,
							  const void *bytes, Size count);
extern void page_changes_apply(Relation index, const PageChange *changes,
							   int count);
extern bool page_is_valid(Buffer buffer);
extern void page_lock(Relation index, Buffer buffer, int lock);
extern Buffer page_read(Relation index, BlockNumber number, int lock);
extern Buffer page_recent(Relation index, BlockNumber number);
extern Buffer page_pin(Relation index, BlockNumber number);
extern Buffer page_read_again(Relation index, BlockNumber number, Size offset);
extern void page_make(Relation index, ForkNumber fork, BlockNumber number,
					  const void *content, Size used, bool log);

#endif							/* BLOOMFILTER_PAGE_H */
