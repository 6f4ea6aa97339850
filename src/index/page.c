/*
 * page.c
 *	  One page of a membership index: make, lock and check it.
 *
 * pages.c describes what the pages contain.
 */
#include "page.h"

/* Marks the end of each page; no other access method uses this number */
#define MEMBERSHIP_PAGE_ID		0xFB0F

/*
 * Make an empty page.  Its first "used" bytes after the header count as
 * content, so that WAL does not leave them out as the page's hole.
 */
void
page_init(Page page, Size used)
{
	PageInit(page, BLCKSZ, sizeof(MembershipOpaque));
	page_opaque(page)->page_id = MEMBERSHIP_PAGE_ID;
	((PageHeader) page)->pd_lower = MAXALIGN(SizeOfPageHeaderData) + used;
}

/* Is it a page that page_init() has made? */
bool
page_is_valid(Page page)
{
	return !PageIsNew(page) &&
		PageGetSpecialSize(page) == MAXALIGN(sizeof(MembershipOpaque)) &&
		page_opaque(page)->page_id == MEMBERSHIP_PAGE_ID;
}

/*
 * page_read
 *		Read and lock a page of the index
 *
 * "lock" is BUFFER_LOCK_SHARE or BUFFER_LOCK_EXCLUSIVE.  The caller releases
 * the buffer.  Errors: ERRCODE_INDEX_CORRUPTED if it is no page of such an
 * index; those of ReadBuffer(), also for a page past the end.
 */
Buffer
page_read(Relation index, BlockNumber number, int lock)
{
	Buffer		buffer = ReadBuffer(index, number);

	LockBuffer(buffer, lock);
	if (!page_is_valid(BufferGetPage(buffer)))
		report_corrupted("index \"%s\" contains corrupted page at block %u",
						 RelationGetRelationName(index), number);
	return buffer;
}

/*
 * page_new
 *		Lock a page in order to initialize it
 *
 * The page exists, or is the first one past the end of the fork, which is then
 * extended.  It is all zero, and locked exclusively; the caller releases the
 * buffer.
 */
Buffer
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
