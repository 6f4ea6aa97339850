/*
 * canonical.h
 *	  The tree of ElementNodes, and canonical bytes; see element.c and canonical.c.
 */
#ifndef BLOOMFILTER_ELEMENT_CANONICAL_H
#define BLOOMFILTER_ELEMENT_CANONICAL_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "filter/bytes.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "utils/array.h"
#include "utils/typcache.h"

struct ElementHasher;

/* Tokens; those of the types without parts are in leaf_types[] */
#define TOKEN_ARRAY			'['
#define TOKEN_RANGE			'R'
#define TOKEN_MULTIRANGE	'M'
#define TOKEN_RECORD		'('
#define TOKEN_RECORD_END	')'
#define TOKEN_RECORD_UNSEEN	'r'
#define TOKEN_ENUM			'E'
#define TOKEN_OTHER			'X'
#define TOKEN_TEXT			't'
#define TOKEN_QUOTE			'"'

typedef struct ElementNode ElementNode;
typedef struct RecordLayout RecordLayout;

typedef uint64 (*HashFunction) (struct ElementHasher *hasher, Datum value, uint64 seed);
typedef void (*AppendFunction) (ElementNode *node, StringInfo buf, Datum value);

/* How to turn the values of one type into canonical bytes */
struct ElementNode
{
	char		token;
	Oid			type;			/* a domain's base type */
	Oid			collation;
	AppendFunction append;
	HashFunction hash;			/* fast path for a whole element, or NULL */
	struct ElementHasher *hasher;	/* of the whole tree; see class.h */
	bool		portable;		/* hasher->portable */

	/* The type is RECORD, or an array of it: each value has its own structure */
	bool		anonymous;

	/* Enums and other types */
	char	   *name;			/* quoted type name, UTF-8 */
	FmgrInfo	hash_proc;		/* extended hash function, only of TOKEN_OTHER */

	/* Arrays, ranges, multiranges */
	ElementNode *part;			/* of a multirange: its range type */
	ArrayMetaState array_meta;
	TypeCacheEntry *range_type;
	uint64		part_class;		/* of an array's records; 0: none yet */
	uint64		part_structure; /* hasher->structure when it was computed */

	/* Records */
	RecordLayout *layout;		/* of the last value that was not NULL */
	bool		seen;			/* false if the last value was NULL or missing */

	/* For element_hasher_create() with "like" */
	bool		is_text;		/* text, varchar or char(n) */
	bool		blank_padded;	/* char(n) */
	const ElementNode *like;	/* the corresponding node of "like", or NULL */
};

/* The columns of a record, in a memory context of their own */
struct RecordLayout
{
	uint64		identifier;		/* see assign_record_type_identifier() */
	TupleDesc	desc;
	int			live;			/* number of columns that are not dropped */
	ElementNode **columns;		/* NULL for a dropped column */
	Datum	   *values;			/* work space for heap_deform_tuple() */
	bool	   *nulls;
};

typedef struct LeafType
{
	Oid			type;
	char		token;
	const char *name;			/* name of the class in messages */
	AppendFunction append;
	HashFunction hash;
} LeafType;

extern const LeafType *leaf_type(Oid type);
extern const LeafType *leaf_type_of_token(char token);

extern uint64 canonical_hash(const void *bytes, size_t length, uint64 seed);

extern void append_utf8(StringInfo buf, const char *data, int length);

/* AppendFunctions that are not in leaf_types[] */
extern void append_literal(ElementNode *node, StringInfo buf, Datum value);
extern void append_oid(ElementNode *node, StringInfo buf, Datum value);
extern void append_enum(ElementNode *node, StringInfo buf, Datum value);
extern void append_other(ElementNode *node, StringInfo buf, Datum value);

/* Must text be converted to UTF-8?  With SQL_ASCII, its encoding is not known. */
static inline bool
needs_conversion(void)
{
	int			encoding = GetDatabaseEncoding();

	return encoding != PG_UTF8 && encoding != PG_SQL_ASCII;
}

/* Free the copy, if any, that detoasting made of a value. */
static inline void
free_copy(void *detoasted, Datum value)
{
	if ((Pointer) detoasted != DatumGetPointer(value))
		pfree(detoasted);
}

/* Enlarge a buffer by "length" bytes, and return their address.  Inline, as most fit. */
static inline uint8 *
append_room(StringInfo buf, int length)
{
	if (unlikely(length >= buf->maxlen - buf->len))
		enlargeStringInfo(buf, length);
	buf->len += length;
	return (uint8 *) buf->data + buf->len - length;
}

static inline void
append_bytes(StringInfo buf, const void *data, int length)
{
	memcpy(append_room(buf, length), data, length);
}

static inline void
append_uint8(StringInfo buf, uint8 value)
{
	*append_room(buf, sizeof(value)) = value;
}

static inline void
append_uint32(StringInfo buf, uint32 value)
{
	put32(append_room(buf, sizeof(value)), value);
}

static inline void
append_uint64(StringInfo buf, uint64 value)
{
	put64(append_room(buf, sizeof(value)), value);
}

/* Begin a part, with room for its length.  Returns the offset of its length. */
static inline int
begin_part(StringInfo buf)
{
	append_uint32(buf, 0);
	return buf->len - sizeof(uint32);
}

/* Write the length of the part that begins at offset "start". */
static inline void
end_part(StringInfo buf, int start)
{
	put32((uint8 *) (buf->data + start), buf->len - start - sizeof(uint32));
}

#endif							/* BLOOMFILTER_ELEMENT_CANONICAL_H */
