/*
 * chunks.c
 *	  The chunks of a value in a TOAST table: reads them into place, and detects whether the
 *	  value is still the one that was read before.
 *
 * A TOAST pointer holds the OID of a TOAST table, the OID of a value in it, and two sizes.
 * While a snapshot sees a row with this pointer, the value never changes.  Later its chunks
 * may be removed, and much later, when the OID counter has wrapped around, another value
 * may get its OID.  But GetNewOidWithIndex() does not give a value an OID while the TOAST
 * table's index has an entry for a chunk with this OID, even a dead chunk.  So it is the
 * same value if the index leads to a first chunk at the same place, written by the same
 * command of the same transaction, that begins with the same bytes.
 *
 * Usually the buffer that held the chunk's page shows this without the index.  We search
 * the index only if the buffer holds another page by now, the chunk's writer has aborted,
 * or the chunk's removal is committed: then the chunk can stay in its page without an index
 * entry, and its OID may belong to another value.
 *
 * What may happen to the chunk:
 *
 * - UPDATE and DELETE mark it, which changes the raw cid: the value is read again once.
 *	 VACUUM removes it: then its line pointer is not normal, or leads to another chunk.
 * - The transaction or subtransaction that wrote it aborts: VACUUM removes it, as above.
 * - REINDEX, or a scan that has found it dead, removes its index entry.
 * - VACUUM freezes it: the raw xmin stays.
 * - VACUUM FULL, CLUSTER and ALTER TABLE write it to another file with another xmin: the
 *	 value is read again.  ALTER TABLE SET TABLESPACE copies its page: it is found through
 *	 the index.
 * - TRUNCATE and DROP remove the file, whose number is part of a buffer's tag.  TRUNCATE of
 *	 a file that the same transaction has created empties it, and the next value may get the
 *	 same place and xmin, but another cid.
 *
 * All this holds for heaps.  Values in tables of other access methods are always read
 * again.
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

/* Bytes to read between checks for interrupts: whole chunks, so that none is read twice */
#define READ_BYTES			((Size) 4096 * TOAST_MAX_CHUNK_SIZE)

/* Is it a heap?  We do not know how tables of other access methods store chunks. */
static inline bool
is_heap(Relation toast)
{
	return toast->rd_rel->relam == HEAP_TABLE_AM_OID;
}

/*
 * Read bytes of an uncompressed value directly to "to".  Core writes a length word before
 * the bytes of a slice, so the caller has room for one before "to".  A heap leaves that
 * word alone.  Another access method may rely on the length that core puts there, so we
 * read all bytes from it at once.
 */
void
chunks_read(const struct varatt_external *place, Size offset, Size bytes, uint8 *to)
{
	Relation	toast = table_open(place->va_toastrelid, AccessShareLock);
	Size		done = 0;

	Assert(!VARATT_EXTERNAL_IS_COMPRESSED(*place));
	Assert(offset + bytes <= VARATT_EXTERNAL_GET_EXTSIZE(*place));
	SET_VARSIZE(to - VARHDRSZ, VARHDRSZ + bytes);
	while (done < bytes)
	{
		Size		length = is_heap(toast) ? Min(bytes - done, READ_BYTES) : bytes;

		/* reading from disk may take long */
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

/* Is this tuple the chunk *first?  The arguments are those of chunks_are_same(). */
static bool
is_same_chunk(Relation toast, HeapTuple tuple, const struct varatt_external *place,
			  const FirstChunk *first, const uint8 *data, Size bytes)
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

/*
 * Does this chunk certainly have an index entry?  Not if its writer may have aborted, or if
 * the chunk is dead.
 */
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
 * Set *same to whether the first chunk is still in the buffer.  Returns false if the buffer
 * cannot decide that: it holds another page, or the chunk may have no index entry.
 */
static bool
look_at_buffer(Relation toast, const struct varatt_external *place, const FirstChunk *first,
			   const uint8 *data, Size bytes, bool *same)
{
	Page		page;
	ItemId		item;
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
	item = PageGetItemId(page, offset);
	if (offset <= PageGetMaxOffsetNumber(page) && ItemIdIsNormal(item))
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
	UnlockReleaseBuffer(first->buffer);
	return tells;
}

/*
 * Set *first to the place of a value's first chunk, and copy the chunk to "data".  Returns
 * its length; or 0 if the table is no heap, or if the chunk is missing or too long, so that
 * reading the value will raise an error.
 */
Size
chunks_find_first(const struct varatt_external *place, FirstChunk *first, uint8 *data)
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
	/* open and search the index like heap_fetch_toast_slice() */
	valid = toast_open_indexes(toast, AccessShareLock, &indexes, &index_count);
	ScanKeyInit(&keys[0], CHUNK_ID, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(place->va_valueid));
	ScanKeyInit(&keys[1], CHUNK_SEQ, BTEqualStrategyNumber, F_INT4EQ, Int32GetDatum(0));
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
 * Is it still the value with the first chunk *first?  The value begins with these "bytes"
 * bytes of "data", uncompressed.  Updates first->buffer.
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
	decided = is_heap(toast) && look_at_buffer(toast, place, first, data, bytes, &same);
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
