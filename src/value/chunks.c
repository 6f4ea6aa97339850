/*
 * chunks.c
 *	  The chunks of a value in a TOAST table: read them into place, and find out whether
 *	  they are still those that were read before.
 *
 * A TOAST pointer holds the OID of a TOAST table, the OID of a value in it, and two
 * sizes.  While a snapshot sees a row with this pointer, the value never changes.  Later
 * its chunks may be removed, and much later, when the counter of OIDs has wrapped
 * around, another value may get its OID.  But GetNewOidWithIndex() gives no OID to a
 * value while the TOAST table's index leads to a chunk with it, even a dead one.  So if
 * the index leads to a first chunk that is still where it was, written by the same
 * command of the same transaction, and begins with the same bytes, it is the same value.
 *
 * Mostly the buffer that had the chunk's page shows this without the index.  We use the
 * index only if that buffer has another page by now, the chunk's writer has aborted, or
 * its removal is committed: such a chunk can stay in its page without an index entry, and
 * its OID may be another value's.
 *
 * What may happen to the chunk:
 *
 * - UPDATE and DELETE mark it, which changes the raw cid: the value is read again once.
 *	 VACUUM removes it: then its line pointer is not normal, or is another chunk's.
 * - A transaction or subtransaction aborts: the same.
 * - REINDEX, or a scan that has found it dead, removes its index entry.
 * - VACUUM freezes it: the raw xmin stays.
 * - VACUUM FULL, CLUSTER and ALTER TABLE write it to another file, where it has another
 *	 xmin: the value is read again.  ALTER TABLE SET TABLESPACE copies its page: it is
 *	 found through the index.
 * - TRUNCATE and DROP remove the file, whose number is in a buffer's tag.  TRUNCATE of a
 *	 file that the same transaction has made empties it, and the next value may come to
 *	 the same place with the same xmin; the cid differs.
 *
 * All this holds for heaps.  Values in other tables are always taken for changed.
 */
#include "chunks.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/toast_internals.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/pg_am.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"

/* Columns of a TOAST table */
#define CHUNK_ID			1
#define CHUNK_SEQ			2
#define CHUNK_DATA			3

/* Read between two checks for interrupts: full chunks, so that none is read twice */
#define READ_BYTES			((Size) 4096 * TOAST_MAX_CHUNK_SIZE)

/* Other table access methods store chunks in a way that only they know. */
static inline bool
is_heap(Relation toast)
{
	return toast->rd_rel->relam == HEAP_TABLE_AM_OID;
}

/*
 * Read bytes of an uncompressed value straight to where they belong.  Core writes a
 * slice behind a length word, so there is room for one before "to".  A heap leaves that
 * word alone.  Another access method may rely on the length that core puts there, so we
 * ask it for all bytes at once.
 */
void
chunks_read(const struct varatt_external *place, Size offset, Size bytes,
			uint8 *to)
{
	Relation	toast = table_open(place->va_toastrelid, AccessShareLock);
	Size		done = 0;

	Assert(!VARATT_EXTERNAL_IS_COMPRESSED(*place));
	Assert(offset + bytes <= VARATT_EXTERNAL_GET_EXTSIZE(*place));
	SET_VARSIZE(to - VARHDRSZ, VARHDRSZ + bytes);
	while (done < bytes)
	{
		Size		length = is_heap(toast) ? Min(bytes - done, READ_BYTES) : bytes;

		/* a filter that was not used for long comes from disk */
		CHECK_FOR_INTERRUPTS();
		table_relation_fetch_toast_slice(toast, place->va_valueid,
										 VARATT_EXTERNAL_GET_EXTSIZE(*place),
										 offset + done, length,
										 (struct varlena *)
										 (to + done - VARHDRSZ));
		done += length;
	}
	table_close(toast, AccessShareLock);
}

static struct varlena *
chunk_data(Relation toast, HeapTuple tuple)
{
	bool		isnull;

	return (struct varlena *)
		DatumGetPointer(fastgetattr(tuple, CHUNK_DATA, toast->rd_att, &isnull));
}

/* Is this tuple the first chunk that was noted?  The arguments are chunks_are_same()'s. */
static bool
is_same_chunk(Relation toast, HeapTuple tuple,
			  const struct varatt_external *place, const FirstChunk *first,
			  const uint8 *data, Size bytes)
{
	TupleDesc	columns = toast->rd_att;
	struct varlena *content;
	bool		isnull;

	if (HeapTupleHeaderGetRawXmin(tuple->t_data) != first->xmin ||
		HeapTupleHeaderGetRawCommandId(tuple->t_data) != first->cid ||
		DatumGetObjectId(fastgetattr(tuple, CHUNK_ID, columns, &isnull)) !=
		place->va_valueid ||
		DatumGetInt32(fastgetattr(tuple, CHUNK_SEQ, columns, &isnull)) != 0)
		return false;
	content = chunk_data(toast, tuple);
	return bytes == 0 || memcmp(VARDATA_ANY(content), data,
								Min(bytes, VARSIZE_ANY_EXHDR(content))) == 0;
}

/* Must the index lead to this chunk?  Not if its writer may have aborted, or it is dead. */
static bool
is_indexed(HeapTupleHeader header)
{
	TransactionId xmin = HeapTupleHeaderGetRawXmin(header);

	/* reading TOAST tables sets no hint bits */
	if (!HeapTupleHeaderXminCommitted(header) &&
		(HeapTupleHeaderXminInvalid(header) ||
		 !(TransactionIdIsCurrentTransactionId(xmin) ||
		   TransactionIdDidCommit(xmin))))
		return false;
	if (header->t_infomask & HEAP_XMAX_INVALID)
		return true;
	return !(header->t_infomask & (HEAP_XMAX_COMMITTED | HEAP_XMAX_IS_MULTI)) &&
		!TransactionIdDidCommit(HeapTupleHeaderGetRawXmax(header));
}

/*
 * Set *same to whether the chunk in the buffer is the same.  Returns false if the buffer
 * cannot decide that: it has another page, or the index may not lead to the chunk.
 */
static bool
look_at_buffer(Relation toast, const struct varatt_external *place,
			   const FirstChunk *first, const uint8 *data, Size bytes,
			   bool *same)
{
	Page		page;
	OffsetNumber offset = ItemPointerGetOffsetNumber(&first->tid);
	bool		tells = true;

	*same = false;
	if (!BufferIsValid(first->buffer) ||
		!ReadRecentBuffer(file_locator(toast), MAIN_FORKNUM,
						  ItemPointerGetBlockNumber(&first->tid),
						  first->buffer))
		return false;
	LockBuffer(first->buffer, BUFFER_LOCK_SHARE);
	page = BufferGetPage(first->buffer);
	if (offset <= PageGetMaxOffsetNumber(page))
	{
		ItemId		item = PageGetItemId(page, offset);

		if (ItemIdIsNormal(item))
		{
			HeapTupleData tuple = {
				.t_len = ItemIdGetLength(item),
				.t_self = first->tid,
				.t_tableOid = RelationGetRelid(toast),
				.t_data = (HeapTupleHeader) PageGetItem(page, item)
			};

			*same = is_same_chunk(toast, &tuple, place, first, data, bytes);
			tells = !*same || is_indexed(tuple.t_data);
		}
	}
	UnlockReleaseBuffer(first->buffer);
	return tells;
}

/*
 * Note where a value's first chunk is, and read it: returns its bytes, or 0 if it is in
 * no heap, missing, or too long.  Then reading the value will raise the error.
 */
Size
chunks_find_first(const struct varatt_external *place, FirstChunk *first,
				  uint8 *data)
{
	Relation	toast = table_open(place->va_toastrelid, AccessShareLock);
	Relation   *indexes;
	int			index_count;
	int			valid;
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;
	struct varlena *content;
	Size		bytes = 0;
#if PG_VERSION_NUM >= 180000
	Snapshot	snapshot = get_toast_snapshot();
#else
	SnapshotData toast_snapshot;
	Snapshot	snapshot = &toast_snapshot;

	init_toast_snapshot(snapshot);
#endif

	ItemPointerSetInvalid(&first->tid);
	if (!is_heap(toast))
	{
		table_close(toast, AccessShareLock);
		return 0;
	}
	/* as heap_fetch_toast_slice() does */
	valid = toast_open_indexes(toast, AccessShareLock, &indexes, &index_count);
	ScanKeyInit(&keys[0], CHUNK_ID, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(place->va_valueid));
	ScanKeyInit(&keys[1], CHUNK_SEQ, BTEqualStrategyNumber, F_INT4EQ,
				Int32GetDatum(0));
	scan = systable_beginscan_ordered(toast, indexes[valid], snapshot, 2, keys);
	tuple = systable_getnext_ordered(scan, ForwardScanDirection);
	content = tuple ? chunk_data(toast, tuple) : NULL;
	if (content && VARSIZE_ANY_EXHDR(content) <= TOAST_MAX_CHUNK_SIZE)
	{
		bytes = VARSIZE_ANY_EXHDR(content);
		memcpy(data, VARDATA_ANY(content), bytes);
		first->tid = tuple->t_self;
		first->xmin = HeapTupleHeaderGetRawXmin(tuple->t_data);
		first->cid = HeapTupleHeaderGetRawCommandId(tuple->t_data);
		first->buffer = TTS_IS_BUFFERTUPLE(scan->slot) ?
			((BufferHeapTupleTableSlot *) scan->slot)->buffer : InvalidBuffer;
	}
	systable_endscan_ordered(scan);
	toast_close_indexes(indexes, index_count, AccessShareLock);
	table_close(toast, AccessShareLock);
	return bytes;
}

/*
 * Is it still the value whose first chunk was noted?  It begins with "data", uncompressed.
 */
bool
chunks_are_same(const struct varatt_external *place, FirstChunk *first,
				const uint8 *data, Size bytes)
{
	Relation	toast;
	FirstChunk	now;
	uint8		chunk[TOAST_MAX_CHUNK_SIZE];
	Size		length;
	bool		same;
	bool		decided;

	if (!ItemPointerIsValid(&first->tid))
		return false;
	toast = table_open(place->va_toastrelid, AccessShareLock);
	decided = is_heap(toast) &&
		look_at_buffer(toast, place, first, data, bytes, &same);
	table_close(toast, AccessShareLock);
	if (decided)
		return same;
	length = chunks_find_first(place, &now, chunk);
	if (length == 0)
		return false;
	first->buffer = now.buffer;
	return ItemPointerEquals(&now.tid, &first->tid) &&
		now.xmin == first->xmin && now.cid == first->cid &&
		(bytes == 0 || memcmp(chunk, data, Min(bytes, length)) == 0);
}
