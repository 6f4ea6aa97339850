/*
 * page.c
 *	  The pages of a membership index, one at a time: make, lock and check them.
 *
 * See pages.c for what is on them.
 */
#include "page.h"

/* What the end of each page says it is; no other access method has this */
#define MEMBERSHIP_PAGE_ID		0xFB0F

/* An empty page; "used" bytes of it are not hole to WAL and checksums. */
void
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
Buffer
page_read(Relation index, BlockNumber number, int lock)
{
	Buffer		buffer = ReadBuffer(index, number);

	LockBuffer(buffer, lock);
	page_check(index, buffer);
	return buffer;
}

/* The page of "number", as it will be: it may lie behind the relation's end. */
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
