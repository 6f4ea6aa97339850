/*
 * page.c
 *	  One page of a membership index: make, lock, check and change it; see pages.c.
 *
 * An insertion changes a few bytes of a page.  GenericXLogFinish() would find these bytes
 * by comparing the page with a copy, which took most of an insertion's time.  Because we
 * know which bytes change, we write the same WAL record without the comparison.
 * generic_redo() replays it, even in a server without this library.  generic_xlog.c
 * describes the record's format, which has been the same from 9.6 to 19;
 * test/t/040_membership.pl replays and compares pages.  On a later major, which may have
 * another, we leave it to GenericXLogFinish() (test/t/075_newer_server.pl).
 */
#include "page.h"

#include "server.h"
#include "value/chunks.h"

#include "access/generic_xlog.h"
#include "access/rmgr.h"
#include "access/xloginsert.h"
#include "miscadmin.h"
#include "pgstat.h"

/* Marks the end of each page; no other access method uses this number */
#define MEMBERSHIP_PAGE_ID		0xFB0F

/*
 * A session remembers the buffers of this many pages (512 MB).  A page's slot follows from
 * its number, so neighbours have different slots.  Files with close numbers, such as those
 * of 1,000 partitions, start at slots far apart: their numbers are multiplied by the golden
 * ratio in 32 bits; with fewer bits, some started at close slots.
 */
#define RECENT_BITS				16
#define RECENT_PAGES			(1 << RECENT_BITS)
#define FILE_STEP				UINT32_C(0x9E3779B9)

/*
 * Once in this many lookups, ignore the remembered buffer and call ReadBuffer(): until 18,
 * ReadRecentBuffer() does not count as a use of the buffer, which would soon be evicted.  A
 * prime, because lookups alternate between few pages.
 */
#define RECENT_IN_A_ROW			31

/* Hints: a buffer may hold another page by now, which ReadRecentBuffer() checks. */
static Buffer recent_buffers[RECENT_PAGES];

/*
 * Was a page initialized by page_make()?  What is in its first half shows it for that half,
 * what is in its second half for that one.
 */
static inline bool
first_half_is_valid(Buffer buffer)
{
	Page		page = BufferGetPage(buffer);

	return !PageIsNew(page) &&
		PageGetSpecialSize(page) == MAXALIGN(sizeof(MembershipOpaque));
}

static inline bool
second_half_is_valid(Buffer buffer)
{
	return page_opaque(BufferGetPage(buffer))->page_id == MEMBERSHIP_PAGE_ID;
}

/* Was the page of a pinned buffer initialized by page_make()? */
bool
page_is_valid(Buffer buffer)
{
	return first_half_is_valid(buffer) && second_half_is_valid(buffer);
}

static void
report_corrupted_page(Relation index, Buffer buffer)
{
	report_corrupted("index \"%s\" contains corrupted page at block %u",
					 RelationGetRelationName(index), BufferGetBlockNumber(buffer));
}

/*
 * Lock a pinned page of the index, in the mode BUFFER_LOCK_SHARE or BUFFER_LOCK_EXCLUSIVE.
 * ERRCODE_INDEX_CORRUPTED unless page_is_valid().
 */
void
page_lock(Relation index, Buffer buffer, int lock)
{
	LockBuffer(buffer, lock);
	if (!page_is_valid(buffer))
		report_corrupted_page(index, buffer);
}

/*
 * Read and lock a page of the index; the caller releases the buffer.  Errors: those of
 * page_lock(), and of ReadBuffer(), which refuses a page past the end.
 */
Buffer
page_read(Relation index, BlockNumber number, int lock)
{
	Buffer		buffer = ReadBuffer(index, number);

	page_lock(index, buffer, lock);
	return buffer;
}

/* The slot of a page in recent_buffers, which another page may have taken */
static inline Buffer *
recent_place(Relation index, BlockNumber number)
{
	uint32		first = (FILE_STEP * file_number(index)) >> (32 - RECENT_BITS);

	return &recent_buffers[(first + number) % RECENT_PAGES];
}

/*
 * The buffer that may still hold this page, or InvalidBuffer.  It may hold another page, also
 * of another index.
 */
Buffer
page_recent(Relation index, BlockNumber number)
{
	Buffer		buffer = *recent_place(index, number);

	/*
	 * A file of a temporary table may have the number of another file.  For
	 * another session's temporary table, ReadBuffer() raises the error.
	 */
	if (BufferIsLocal(buffer) == RelationUsesLocalBuffers(index) &&
		!RELATION_IS_OTHER_TEMP(index))
		return buffer;
	return InvalidBuffer;
}

/*
 * Pin a page that is read often.  First tries the buffer that last held it, which takes a
 * quarter of the time of a lookup in the buffer table.  Errors: those of ReadBuffer().
 */
Buffer
page_pin(Relation index, BlockNumber number)
{
	static unsigned uses = 0;
	Buffer		buffer = page_recent(index, number);

	if (++uses % RECENT_IN_A_ROW != 0 && BufferIsValid(buffer) &&
		ReadRecentBuffer(file_locator(index), MAIN_FORKNUM, number, buffer))
	{
		pgstat_count_buffer_read(index);
		pgstat_count_buffer_hit(index);
	}
	else
	{
		buffer = ReadBuffer(index, number);
		*recent_place(index, number) = buffer;
	}
	Assert(BufferGetBlockNumber(buffer) == number);
	return buffer;
}

/*
 * Pin a page by page_pin(), and lock it in share mode, to read BLOCK_BYTES bytes at "offset".
 * Meanwhile prefetch these (page_prefetch()).  Errors: those of page_pin();
 * ERRCODE_INDEX_CORRUPTED if a half that has some of these bytes is not valid.
 */
Buffer
page_read_again(Relation index, BlockNumber number, Size offset)
{
	Buffer		buffer = page_recent(index, number);

	if (BufferIsValid(buffer))
		page_prefetch(BufferGetPage(buffer), offset);
	buffer = page_pin(index, number);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	if ((in_first_half(offset) && !first_half_is_valid(buffer)) ||
		(in_second_half(offset) && !second_half_is_valid(buffer)))
		report_corrupted_page(index, buffer);
	return buffer;
}

/*
 * Initialize a page with "content", or with zeros if that is NULL.  The page exists, or is
 * the first one past the end of the fork, which is then extended.  pd_lower is set behind
 * the first "used" bytes of content, so that WAL does not omit these as the page's hole.
 */
void
page_make(Relation index, ForkNumber fork, BlockNumber number, const void *content,
		  Size used, bool log)
{
	bool		exists = number < RelationGetNumberOfBlocksInFork(index, fork);
	Buffer		buffer = ReadBufferExtended(index, fork,
											exists ? number : P_NEW,
											RBM_ZERO_AND_LOCK, NULL);
	Page		page = BufferGetPage(buffer);

	if (BufferGetBlockNumber(buffer) != number)
		elog(ERROR, "unexpected end of index \"%s\": block %u instead of %u",
			 RelationGetRelationName(index), BufferGetBlockNumber(buffer),
			 number);
	START_CRIT_SECTION();
	PageInit(page, BLCKSZ, sizeof(MembershipOpaque));
	page_opaque(page)->page_id = MEMBERSHIP_PAGE_ID;
	((PageHeader) page)->pd_lower = MAXALIGN(SizeOfPageHeaderData) + used;
	if (content)
		memcpy(PageGetContents(page), content, used);
	MarkBufferDirty(buffer);
	if (log)
		log_newpage_buffer(buffer, true);
	END_CRIT_SECTION();
	UnlockReleaseBuffer(buffer);
}

/* Begin to edit the page of a buffer that is locked exclusively. */
void
page_change_begin(PageChange *change, Buffer buffer)
{
	change->buffer = buffer;
	change->count = 0;
	memset(change->header, 0, sizeof(change->header));
}

/* Add bytes of the page to the change.  They lie behind all bytes added before. */
static void
add_run(PageChange *change, OffsetNumber offset, const char *bytes, OffsetNumber count)
{
	char	   *fragments = change->fragments;
	OffsetNumber *header = change->header;
	Size		gap = offset - (header[0] + header[1]);

	Assert(change->count == 0 || offset >= header[0] + header[1]);
	if (change->count == 0 || gap > FRAGMENT_HEADER_BYTES)
	{
		change->last = change->count;
		change->count += FRAGMENT_HEADER_BYTES;
		header[0] = offset;
		header[1] = 0;
	}
	else
	{
		memcpy(fragments + change->count,
			   (char *) BufferGetPage(change->buffer) + offset - gap, gap);
		change->count += gap;
		header[1] += gap;
	}
	Assert(change->count + count <= sizeof(change->fragments));
	memcpy(fragments + change->count, bytes, count);
	change->count += count;
	header[1] += count;
	memcpy(fragments + change->last, header, FRAGMENT_HEADER_BYTES);
}

/*
 * Add to the change that "count" bytes of the page at "at" become "bytes".  They lie behind
 * all bytes added before.  The page is not changed yet.
 */
void
page_change_bytes(PageChange *change, const void *at, const void *bytes, Size count)
{
	const char *old = (const char *) at;
	const char *new = (const char *) bytes;
	Size		offset = old - (const char *) BufferGetPage(change->buffer);

	Assert(offset + count <= BLCKSZ);
	for (Size i = 0; i < count; i++)
	{
		Size		first = i;

		while (i < count && old[i] != new[i])
			i++;
		if (i > first)
			add_run(change, offset + first, new + first, i - first);
	}
}

/* Copy the new bytes of a change to its page, or to a copy of that page. */
static void
apply_fragments(const PageChange *change, Page page)
{
	OffsetNumber header[2];

	for (Size at = 0; at < change->count; at += header[1])
	{
		memcpy(header, change->fragments + at, FRAGMENT_HEADER_BYTES);
		at += FRAGMENT_HEADER_BYTES;
		Assert(header[0] + header[1] <= BLCKSZ);
		memcpy((char *) page + header[0], change->fragments + at, header[1]);
	}
}

/* Apply and log the changes by the server's own functions, which compare whole pages. */
static void
apply_generic(Relation index, const PageChange *changes, int count)
{
	GenericXLogState *state = GenericXLogStart(index);

	for (int i = 0; i < count; i++)
		apply_fragments(&changes[i],
						GenericXLogRegisterBuffer(state, changes[i].buffer, 0));
	GenericXLogFinish(state);
}

/*
 * Apply the changes, and log them in one record.  Buffers stay locked.  On a server that is not
 * known (server.c), memory may run out before anything is changed; else there are no errors.
 */
void
page_changes_apply(Relation index, const PageChange *changes, int count)
{
	bool		log = RelationNeedsWAL(index);

	if (!server_is_known())
	{
		apply_generic(index, changes, count);
		return;
	}
	if (log)
		XLogBeginInsert();
	START_CRIT_SECTION();
	for (int i = 0; i < count; i++)
	{
		const PageChange *change = &changes[i];

		apply_fragments(change, BufferGetPage(change->buffer));
		MarkBufferDirty(change->buffer);
		if (log)
		{
			XLogRegisterBuffer(i, change->buffer, REGBUF_STANDARD);
			XLogRegisterBufData(i, unconstify(PageChange *, change)->fragments,
								change->count);
		}
	}
	if (log)
	{
		XLogRecPtr	end = XLogInsert(RM_GENERIC_ID, 0);

		for (int i = 0; i < count; i++)
			PageSetLSN(BufferGetPage(changes[i].buffer), end);
	}
	END_CRIT_SECTION();
}
