/*
 * canonical.h
 *	  The canonical bytes of the types that have no parts; see canonical.c.
 */
#ifndef BLOOMFILTER_ELEMENT_CANONICAL_H
#define BLOOMFILTER_ELEMENT_CANONICAL_H

#include "postgres.h"

#include "filter/bytes.h"
#include "mb/pg_wchar.h"
#include "node.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

typedef struct LeafType
{
	Oid			type;
	char		token;
	const char *name;			/* of the class, for a user to read */
	AppendFunction append;
	HashFunction hash;
} LeafType;

extern const LeafType *leaf_type(Oid type);
extern const LeafType *leaf_type_of_token(char token);

extern uint64 canonical_hash(const void *bytes, size_t length, uint64 seed);

extern void append_utf8(StringInfo buf, const char *data, int length);

/* AppendFunctions for nodes that are not hashed as leaf_type() says */
extern void append_literal(ElementNode *node, StringInfo buf, Datum value);
extern void append_oid(ElementNode *node, StringInfo buf, Datum value);
extern void append_enum(ElementNode *node, StringInfo buf, Datum value);
extern void append_other(ElementNode *node, StringInfo buf, Datum value);

/* Not those of SQL_ASCII: their encoding is not known. */
static inline bool
needs_conversion(void)
{
	int			encoding = GetDatabaseEncoding();

	return encoding != PG_UTF8 && encoding != PG_SQL_ASCII;
}

/* Free what detoasting a value has copied. */
static inline void
free_copy(void *detoasted, Datum value)
{
	if ((Pointer) detoasted != DatumGetPointer(value))
		pfree(detoasted);
}

/* appendBinaryStringInfoNT(), but inline: most elements fit without growth */
static inline void
append_bytes(StringInfo buf, const void *data, int length)
{
	if (unlikely(length >= buf->maxlen - buf->len))
		enlargeStringInfo(buf, length);
	memcpy(buf->data + buf->len, data, length);
	buf->len += length;
}

static inline void
append_uint8(StringInfo buf, uint8 value)
{
	append_bytes(buf, &value, sizeof(value));
}

static inline void
append_uint32(StringInfo buf, uint32 value)
{
	uint8		bytes[sizeof(value)];

	put32(bytes, value);
	append_bytes(buf, bytes, sizeof(bytes));
}

static inline void
append_uint64(StringInfo buf, uint64 value)
{
	uint8		bytes[sizeof(value)];

	put64(bytes, value);
	append_bytes(buf, bytes, sizeof(bytes));
}

#endif							/* BLOOMFILTER_ELEMENT_CANONICAL_H */
