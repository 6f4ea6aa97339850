/*
 * element.c
 *	  From a value of any type to the 64-bit hash that a filter knows it by.
 *
 * A filter outlives the server that built it: it is dumped, restored on
 * another major version, on a machine of the other byte order, or asked by a
 * client that is no PostgreSQL at all.  The server's own hash functions
 * promise none of that, so an element is first turned into *canonical bytes*,
 * and these go through XXH3_64bits_withSeed.  docs/format.md publishes both.
 *
 * Every element belongs to a *class* (see element.h).  Within a class, two
 * values that are equal under "=" have the same canonical bytes, whatever
 * their types: 1::int2 and 1::int8, 'a'::name and 'a '::bpchar(2).  Across
 * classes no comparison makes sense, and callers raise an error.  The class
 * is the structure of the element, described by a string of tokens:
 *
 *		a letter		one of the types in leaf_types[] below
 *		E"name"			an enum; the name is in UTF-8, each " in it doubled
 *		X"name"			any other type that can be hashed
 *		[e				array of e
 *		Re, Me			range, multirange of e
 *		(e...)			record of the columns e...; names don't matter
 *		r				record whose structure no value has shown
 *
 * A domain is its base type.  A description of up to eight bytes is the class;
 * a longer one is hashed.
 *
 * Interface: element_hasher_create() once for each call site, then
 * element_hash() for each value; element_class_name() to tell a user what a
 * class means.
 *
 * How it works: a tree of ElementNodes mirrors the type.  Each node appends
 * the canonical bytes of a value to a buffer; the parts of an array, range,
 * multirange or record are preceded by their length, so that no two values
 * share their bytes.  Common scalar types bypass tree and buffer through a
 * hash function of their own.
 *
 * An anonymous record tells its structure only by the descriptor that its own
 * header names.  Its node keeps the layout last seen, and the class is
 * computed again only when a layout has changed.  A named composite type is
 * handled alike, since ALTER TYPE may change it under a long-lived call site.
 *
 * Limits:
 *	- A type needs a default hash operator class, or there is an error: without
 *	  it the server has no notion of equality that a hash could follow.
 *	- Nondeterministic collations call different bytes equal; they are refused.
 *	- Types of token X are only as stable as their own extended hash function.
 *	- A renamed enum label, or a renamed type of token E or X, is another
 *	  element, or another class.
 *	- The canonical bytes of an element, but for text and bytea, are limited to
 *	  1 GB, the size of a StringInfo.
 *	- Range types with an operator class that is not their subtype's default are
 *	  refused.
 *	- In an array of anonymous records all elements have one structure.
 *
 * Sources: XXH3 is specified in doc/xxhash_spec.md of https://xxhash.com.
 * What "=" means for each type is in PostgreSQL's src/backend/utils/adt/.
 */
#include "postgres.h"

#include <math.h>
#include <sys/socket.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "access/htup_details.h"
#include "access/transam.h"
#include "access/tupdesc.h"
#include "catalog/pg_enum.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/cash.h"
#include "utils/date.h"
#include "utils/inet.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/multirangetypes.h"
#include "utils/numeric.h"
#include "utils/rangetypes.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"
#include "utils/uuid.h"
#include "utils/varbit.h"

#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

#include "element.h"
#include "filter/bytes.h"

/* Tokens of the types that have parts or names; the others are leaf_types[] */
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

/* The first byte of a class whose description did not fit */
#define CLASS_HASHED		'#'

/* Length of a NULL part; no other length is negative */
#define PART_NULL			(-1)

/* The one NaN that stands for all: quiet, positive, without payload */
#define CANONICAL_NAN		UINT64CONST(0x7ff8000000000000)

/* Family byte of a network address: the version of its protocol */
#define NETWORK_IPV4		4
#define NETWORK_IPV6		6

/* Flags of a range; our own, though PostgreSQL numbers its flags alike */
#define CANONICAL_EMPTY		0x01
#define CANONICAL_LOWER_INC	0x02
#define CANONICAL_UPPER_INC	0x04
#define CANONICAL_LOWER_INF	0x08
#define CANONICAL_UPPER_INF	0x10

/* Tags of a jsonb value, each followed by what the comment says */
#define JSON_NULL			'n'
#define JSON_TRUE			't'
#define JSON_FALSE			'f'
#define JSON_NUMBER			'd' /* length, normalised decimal */
#define JSON_STRING			's' /* length, UTF-8 */
#define JSON_ARRAY			'[' /* count, values */
#define JSON_OBJECT			'{' /* count, pairs of (length, key) and value */

/*
 * The buffer of canonical bytes is kept from one element to the next unless
 * it has grown past this: one huge element should not hold memory for the
 * rest of a query.
 */
#define BUFFER_KEEP			(1024 * 1024)

typedef struct ElementNode ElementNode;
typedef struct ElementState ElementState;
typedef struct RecordLayout RecordLayout;

typedef uint64 (*HashFunction) (ElementHasher *hasher, Datum value,
								uint64 seed);
typedef void (*AppendFunction) (ElementNode *node, StringInfo buf,
								Datum value);

/* How to turn the values of one type into canonical bytes */
struct ElementNode
{
	char		token;
	Oid			type;			/* a domain's base type */
	Oid			collation;
	AppendFunction append;
	HashFunction hash;			/* quick way for a whole element, or NULL */
	ElementState *state;		/* of the whole tree */
	MemoryContext mcxt;			/* where this node lives */

	/*
	 * For a RECORD and an array of them: each value has a structure of its
	 * own, and with NULL in its place, none.
	 */
	bool		anonymous;

	/* Enums and other types */
	char	   *name;			/* quoted type name, UTF-8 */
	FmgrInfo	hash_proc;		/* extended hash function, other types only */

	/*
	 * Arrays, ranges and multiranges (whose parts are ranges).  The parts of
	 * one array must agree on their structure: "part_description" is theirs
	 * as of "part_structure", see ElementState.
	 */
	ElementNode *part;
	ArrayMetaState array_meta;
	TypeCacheEntry *range_type;
	char	   *part_description;
	uint64		part_structure;

	/* Records */
	RecordLayout *layout;		/* the last one seen */
	bool		seen;			/* false: the last value was NULL or missing */

	/* See element_hasher_create_like() */
	bool		is_text;		/* or varchar, or char(n) */
	bool		blank_padded;	/* char(n) */
	AppendFunction append_text; /* of a literal */
	const ElementNode *like;	/* or NULL */
};

/* The columns of a record */
struct RecordLayout
{
	MemoryContext mcxt;			/* holds all of this layout */
	uint64		identifier;		/* see assign_record_type_identifier() */
	TupleDesc	desc;
	int			live;			/* number of columns that are not dropped */
	ElementNode **columns;		/* NULL for a dropped one */
	Datum	   *values;			/* work space for heap_deform_tuple() */
	bool	   *nulls;
};

/* What a hasher keeps */
struct ElementState
{
	ElementNode *root;
	bool		portable;		/* hashes mean the same everywhere */
	bool		local;			/* has a node that hashes in its own way there */
	StringInfoData buf;			/* data is NULL until it is needed */

	/*
	 * "structure" counts the changes in the tree.  The hasher's class is that
	 * of "class_structure"; if they differ, it is out of date.
	 */
	uint64		structure;
	uint64		class_structure;
};

static ElementNode *make_node(ElementState *state, Oid type, Oid collation,
							  const ElementNode *like);

/* ----------------------------------------------------------------
 *		Bytes
 * ----------------------------------------------------------------
 */

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

/* ----------------------------------------------------------------
 *		Text
 * ----------------------------------------------------------------
 */

/*
 * Do strings of this database need a conversion to become UTF-8?  Those of
 * SQL_ASCII can't be converted, for nobody knows what they are.
 */
static inline bool
needs_conversion(void)
{
	int			encoding = GetDatabaseEncoding();

	return encoding != PG_UTF8 && encoding != PG_SQL_ASCII;
}

/* Append a string of the database's encoding in UTF-8. */
static void
append_utf8(StringInfo buf, const char *data, int length)
{
	char	   *converted;

	if (!needs_conversion())
	{
		append_bytes(buf, data, length);
		return;
	}

	converted = pg_server_to_any(data, length, PG_UTF8);
	if (converted == data)
		append_bytes(buf, data, length);
	else
	{
		append_bytes(buf, converted, strlen(converted));
		pfree(converted);
	}
}

/* Append a string, preceded by its length in UTF-8; return that. */
static int
append_counted_utf8(StringInfo buf, const char *data, int length)
{
	int			start = buf->len;
	int			counted;

	append_uint32(buf, 0);
	append_utf8(buf, data, length);
	counted = buf->len - start - sizeof(uint32);
	put32((uint8 *) (buf->data + start), counted);
	return counted;
}

/* A string that is an element, or a part of one: in UTF-8 unless it is local */
static void
append_string(ElementNode *node, StringInfo buf, const char *data, int length)
{
	if (node->state->portable)
		append_utf8(buf, data, length);
	else
		append_bytes(buf, data, length);
}

static void
append_text(ElementNode *node, StringInfo buf, Datum value)
{
	text	   *string = DatumGetTextPP(value);

	append_string(node, buf, VARDATA_ANY(string), VARSIZE_ANY_EXHDR(string));
	if ((Pointer) string != DatumGetPointer(value))
		pfree(string);
}

/* Trailing blanks mean nothing in bpchar, and a cast to text drops them. */
static void
append_bpchar(ElementNode *node, StringInfo buf, Datum value)
{
	BpChar	   *string = DatumGetBpCharPP(value);
	char	   *data = VARDATA_ANY(string);

	append_string(node, buf, data,
				  bpchartruelen(data, VARSIZE_ANY_EXHDR(string)));
	if ((Pointer) string != DatumGetPointer(value))
		pfree(string);
}

static void
append_name(ElementNode *node, StringInfo buf, Datum value)
{
	Name		name = DatumGetName(value);

	append_string(node, buf, NameStr(*name), strlen(NameStr(*name)));
}

static void
append_cstring(ElementNode *node, StringInfo buf, Datum value)
{
	char	   *string = DatumGetCString(value);

	append_string(node, buf, string, strlen(string));
}

/* A literal without type, in the place of text */
static void
append_literal(ElementNode *node, StringInfo buf, Datum value)
{
	text	   *string = cstring_to_text(DatumGetCString(value));

	node->append_text(node, buf, PointerGetDatum(string));
	pfree(string);
}

static void
append_bytea(ElementNode *node, StringInfo buf, Datum value)
{
	bytea	   *bytes = DatumGetByteaPP(value);

	append_bytes(buf, VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes));
	if ((Pointer) bytes != DatumGetPointer(value))
		pfree(bytes);
}

/* bytea, and text that needs no conversion: hashed where it lies. */
static uint64
hash_varlena(ElementHasher *hasher, Datum value, uint64 seed)
{
	struct varlena *bytes = PG_DETOAST_DATUM_PACKED(value);
	uint64		hash;

	hash = XXH3_64bits_withSeed(VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes),
								seed);
	if ((Pointer) bytes != DatumGetPointer(value))
		pfree(bytes);
	return hash;
}

/* ----------------------------------------------------------------
 *		Numbers
 * ----------------------------------------------------------------
 */

static inline uint64
hash_uint64(uint64 value, uint64 seed)
{
	uint8		bytes[sizeof(value)];

	put64(bytes, value);
	return XXH3_64bits_withSeed(bytes, sizeof(bytes), seed);
}

static inline uint64
hash_uint32(uint32 value, uint64 seed)
{
	uint8		bytes[sizeof(value)];

	put32(bytes, value);
	return XXH3_64bits_withSeed(bytes, sizeof(bytes), seed);
}

static void
append_int2(ElementNode *node, StringInfo buf, Datum value)
{
	append_uint64(buf, (int64) DatumGetInt16(value));
}

static uint64
hash_int2(ElementHasher *hasher, Datum value, uint64 seed)
{
	return hash_uint64((int64) DatumGetInt16(value), seed);
}

static void
append_int4(ElementNode *node, StringInfo buf, Datum value)
{
	append_uint64(buf, (int64) DatumGetInt32(value));
}

static uint64
hash_int4(ElementHasher *hasher, Datum value, uint64 seed)
{
	return hash_uint64((int64) DatumGetInt32(value), seed);
}

/* int8, and the types that are one inside: money, time and the timestamps. */
static void
append_int8(ElementNode *node, StringInfo buf, Datum value)
{
	append_uint64(buf, DatumGetInt64(value));
}

static uint64
hash_int8(ElementHasher *hasher, Datum value, uint64 seed)
{
	return hash_uint64(DatumGetInt64(value), seed);
}

/* The bits of a float, the same for all floats that are equal. */
static inline uint64
float_bits(float8 value)
{
	uint64		bits;

	if (isnan(value))
		return CANONICAL_NAN;
	if (value == 0)
		return 0;				/* the bits of 0, not of -0 */
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static void
append_float4(ElementNode *node, StringInfo buf, Datum value)
{
	append_uint64(buf, float_bits(DatumGetFloat4(value)));
}

static void
append_float8(ElementNode *node, StringInfo buf, Datum value)
{
	append_uint64(buf, float_bits(DatumGetFloat8(value)));
}

static uint64
hash_float8(ElementHasher *hasher, Datum value, uint64 seed)
{
	return hash_uint64(float_bits(DatumGetFloat8(value)), seed);
}

static void
append_numeric(ElementNode *node, StringInfo buf, Datum value)
{
	Numeric		number = DatumGetNumeric(value);
	char	   *digits = numeric_normalize(number);

	append_bytes(buf, digits, strlen(digits));
	pfree(digits);
	if ((Pointer) number != DatumGetPointer(value))
		pfree(number);
}

static void
append_oid(ElementNode *node, StringInfo buf, Datum value)
{
	append_uint32(buf, DatumGetObjectId(value));
}

static void
append_bool(ElementNode *node, StringInfo buf, Datum value)
{
	append_uint8(buf, DatumGetBool(value) ? 1 : 0);
}

static void
append_char(ElementNode *node, StringInfo buf, Datum value)
{
	append_uint8(buf, (uint8) DatumGetChar(value));
}

/* ----------------------------------------------------------------
 *		Dates and times
 * ----------------------------------------------------------------
 */

static void
append_date(ElementNode *node, StringInfo buf, Datum value)
{
	append_uint32(buf, DatumGetDateADT(value));
}

static uint64
hash_date(ElementHasher *hasher, Datum value, uint64 seed)
{
	return hash_uint32(DatumGetDateADT(value), seed);
}

static void
append_timetz(ElementNode *node, StringInfo buf, Datum value)
{
	TimeTzADT  *time = DatumGetTimeTzADTP(value);

	append_uint64(buf, time->time);
	append_uint32(buf, time->zone);
}

/*
 * Intervals compare by one number of microseconds, with months of 30 days and
 * days of 24 hours.  It needs some 74 bits: here 128, in two halves, since
 * not every compiler has such an integer.  The days take less than 37 bits,
 * as do the microseconds of a day, so that neither product below overflows.
 */
static void
append_interval(ElementNode *node, StringInfo buf, Datum value)
{
	Interval   *interval = DatumGetIntervalP(value);
	int64		days = interval->month * (int64) DAYS_PER_MONTH + interval->day;
	int64		upper = (days >> 16) * USECS_PER_DAY;
	uint64		addends[2];
	uint64		low = (uint64) upper << 16;
	int64		high = upper >> 48;

	addends[0] = (uint64) (days & 0xffff) * USECS_PER_DAY;
	addends[1] = (uint64) interval->time;
	if (interval->time < 0)
		high--;					/* extend its sign */
	for (size_t i = 0; i < lengthof(addends); i++)
	{
		low += addends[i];
		if (low < addends[i])
			high++;
	}

	append_uint64(buf, low);
	append_uint64(buf, high);
}

/* ----------------------------------------------------------------
 *		Other scalar types
 * ----------------------------------------------------------------
 */

static void
append_uuid(ElementNode *node, StringInfo buf, Datum value)
{
	append_bytes(buf, DatumGetUUIDP(value)->data, UUID_LEN);
}

static uint64
hash_uuid(ElementHasher *hasher, Datum value, uint64 seed)
{
	return XXH3_64bits_withSeed(DatumGetUUIDP(value)->data, UUID_LEN, seed);
}

static void
append_macaddr(ElementNode *node, StringInfo buf, Datum value)
{
	append_bytes(buf, DatumGetMacaddrP(value), sizeof(macaddr));
}

static void
append_macaddr8(ElementNode *node, StringInfo buf, Datum value)
{
	append_bytes(buf, DatumGetMacaddr8P(value), sizeof(macaddr8));
}

static void
append_bits(ElementNode *node, StringInfo buf, Datum value)
{
	VarBit	   *bits = DatumGetVarBitP(value);

	append_uint32(buf, VARBITLEN(bits));
	append_bytes(buf, VARBITS(bits), VARBITBYTES(bits));
	if ((Pointer) bits != DatumGetPointer(value))
		pfree(bits);
}

/* The host part of the address counts, as it does under "=". */
static void
append_network(ElementNode *node, StringInfo buf, Datum value)
{
	inet	   *address = DatumGetInetPP(value);
	bool		ipv4 = ip_family(address) == PGSQL_AF_INET;

	append_uint8(buf, ipv4 ? NETWORK_IPV4 : NETWORK_IPV6);
	append_uint8(buf, ip_bits(address));
	append_bytes(buf, ip_addr(address), ip_addrsize(address));
	if ((Pointer) address != DatumGetPointer(value))
		pfree(address);
}

/*
 * The label is looked up for each value: the catalog cache makes it cheap, and
 * a label may be renamed while the hasher lives.
 */
static void
append_enum(ElementNode *node, StringInfo buf, Datum value)
{
	HeapTuple	tuple;
	NameData   *label;

	tuple = SearchSysCache1(ENUMOID, value);
	if (!HeapTupleIsValid(tuple))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("invalid internal value for enum: %u",
						DatumGetObjectId(value))));
	label = &((Form_pg_enum) GETSTRUCT(tuple))->enumlabel;
	append_utf8(buf, NameStr(*label), strlen(NameStr(*label)));
	ReleaseSysCache(tuple);
}

/* A type that we know nothing about but its hash function. */
static void
append_other(ElementNode *node, StringInfo buf, Datum value)
{
	Datum		hash;

	hash = FunctionCall2Coll(&node->hash_proc, node->collation, value,
							 Int64GetDatum(0));
	append_uint64(buf, DatumGetUInt64(hash));
}

/*
 * A name, or bpchar, by the hash of text: that of name knows no collation, that of
 * bpchar (in 15) counts trailing blanks where the collation is nondeterministic.
 */
static void
append_as_text(ElementNode *node, StringInfo buf, const char *data, int length)
{
	text	   *string = cstring_to_text_with_len(data, length);

	append_other(node, buf, PointerGetDatum(string));
	pfree(string);
}

static void
append_name_as_text(ElementNode *node, StringInfo buf, Datum value)
{
	Name		name = DatumGetName(value);

	append_as_text(node, buf, NameStr(*name), strlen(NameStr(*name)));
}

static void
append_bpchar_as_text(ElementNode *node, StringInfo buf, Datum value)
{
	BpChar	   *string = DatumGetBpCharPP(value);
	char	   *data = VARDATA_ANY(string);

	append_as_text(node, buf, data,
				   bpchartruelen(data, VARSIZE_ANY_EXHDR(string)));
	if ((Pointer) string != DatumGetPointer(value))
		pfree(string);
}

/* ----------------------------------------------------------------
 *		jsonb
 * ----------------------------------------------------------------
 */

/* Where the bytes of a key and its value are */
typedef struct JsonPair
{
	const char *key;
	int			key_length;
	int			offset;			/* of the whole pair, from the first one */
	int			length;			/* of the whole pair */
} JsonPair;

static void append_json_container(StringInfo buf, JsonbContainer *container);

static void
append_json_value(StringInfo buf, const JsonbValue *value)
{
	char	   *digits;

	CHECK_FOR_INTERRUPTS();
	switch (value->type)
	{
		case jbvNull:
			append_uint8(buf, JSON_NULL);
			break;
		case jbvBool:
			append_uint8(buf, value->val.boolean ? JSON_TRUE : JSON_FALSE);
			break;
		case jbvNumeric:
			append_uint8(buf, JSON_NUMBER);
			digits = numeric_normalize(value->val.numeric);
			append_uint32(buf, strlen(digits));
			append_bytes(buf, digits, strlen(digits));
			pfree(digits);
			break;
		case jbvString:
			append_uint8(buf, JSON_STRING);
			append_counted_utf8(buf, value->val.string.val,
								value->val.string.len);
			break;
		case jbvBinary:
			append_json_container(buf, value->val.binary.data);
			break;
		default:
			elog(ERROR, "unexpected type of jsonb value: %d",
				 (int) value->type);
	}
}

/* Shorter keys first, as in a jsonb object itself. */
static int
compare_json_pairs(const void *a, const void *b)
{
	const JsonPair *x = a;
	const JsonPair *y = b;

	CHECK_FOR_INTERRUPTS();
	if (x->key_length != y->key_length)
		return x->key_length < y->key_length ? -1 : 1;
	return memcmp(x->key, y->key, x->key_length);
}

/* Sort the pairs that take the end of the buffer, from "start" on. */
static void
sort_json_pairs(StringInfo buf, int start, JsonPair *pairs, int count)
{
	int			length = buf->len - start;
	char	   *copy = palloc(length);

	memcpy(copy, buf->data + start, length);
	for (int i = 0; i < count; i++)
		pairs[i].key = copy + pairs[i].offset + sizeof(uint32);
	qsort(pairs, count, sizeof(JsonPair), compare_json_pairs);

	buf->len = start;
	for (int i = 0; i < count; i++)
		append_bytes(buf, copy + pairs[i].offset, pairs[i].length);
	pfree(copy);
}

/*
 * A jsonb object keeps its keys sorted by the bytes of the database's
 * encoding.  Once these are converted to UTF-8, the order may be another, and
 * the pairs are sorted again.
 */
static void
append_json_object(StringInfo buf, JsonbIterator *iterator, int count)
{
	JsonbValue	value;
	JsonPair   *pairs = NULL;
	int			start;

	append_uint8(buf, JSON_OBJECT);
	append_uint32(buf, count);
	start = buf->len;
	if (count > 0 && needs_conversion())
		pairs = palloc(count * sizeof(JsonPair));

	for (int i = 0; i < count; i++)
	{
		int			offset = buf->len - start;
		int			key_length;

		(void) JsonbIteratorNext(&iterator, &value, true);
		key_length = append_counted_utf8(buf, value.val.string.val,
										 value.val.string.len);
		(void) JsonbIteratorNext(&iterator, &value, true);
		append_json_value(buf, &value);

		if (pairs != NULL)
		{
			pairs[i].key_length = key_length;
			pairs[i].offset = offset;
			pairs[i].length = buf->len - start - offset;
		}
	}

	if (pairs != NULL)
	{
		sort_json_pairs(buf, start, pairs, count);
		pfree(pairs);
	}
}

static void
append_json_container(StringInfo buf, JsonbContainer *container)
{
	JsonbIterator *iterator;
	JsonbValue	value;

	check_stack_depth();

	/* A lone scalar is stored as an array of one, but is not equal to it */
	if (JsonContainerIsScalar(container))
	{
		(void) JsonbExtractScalar(container, &value);
		append_json_value(buf, &value);
		return;
	}

	iterator = JsonbIteratorInit(container);
	if (JsonbIteratorNext(&iterator, &value, true) == WJB_BEGIN_OBJECT)
		append_json_object(buf, iterator, value.val.object.nPairs);
	else
	{
		int			count = value.val.array.nElems;

		append_uint8(buf, JSON_ARRAY);
		append_uint32(buf, count);
		for (int i = 0; i < count; i++)
		{
			(void) JsonbIteratorNext(&iterator, &value, true);
			append_json_value(buf, &value);
		}
	}
	pfree(iterator);
}

static void
append_jsonb(ElementNode *node, StringInfo buf, Datum value)
{
	Jsonb	   *jsonb = DatumGetJsonbP(value);

	append_json_container(buf, &jsonb->root);
	if ((Pointer) jsonb != DatumGetPointer(value))
		pfree(jsonb);
}

/* ----------------------------------------------------------------
 *		The types that have no parts
 * ----------------------------------------------------------------
 */

typedef struct LeafType
{
	Oid			type;
	char		token;
	const char *name;			/* of the class, for a user to read */
	AppendFunction append;
	HashFunction hash;
} LeafType;

static const LeafType leaf_types[] = {
	{INT4OID, 'i', "integer", append_int4, hash_int4},
	{INT8OID, 'i', "integer", append_int8, hash_int8},
	{INT2OID, 'i', "integer", append_int2, hash_int2},
	{TEXTOID, TOKEN_TEXT, "text", append_text, hash_varlena},
	{VARCHAROID, TOKEN_TEXT, "text", append_text, hash_varlena},
	{BPCHAROID, TOKEN_TEXT, "text", append_bpchar, NULL},
	{NAMEOID, TOKEN_TEXT, "text", append_name, NULL},
	/* A literal in ROW('a', 1), which nothing has given a type */
	{UNKNOWNOID, TOKEN_TEXT, "text", append_cstring, NULL},
	{FLOAT8OID, 'f', "float", append_float8, hash_float8},
	{FLOAT4OID, 'f', "float", append_float4, NULL},
	{NUMERICOID, 'n', "numeric", append_numeric, NULL},
	{BYTEAOID, 'y', "bytea", append_bytea, hash_varlena},
	{UUIDOID, 'u', "uuid", append_uuid, hash_uuid},
	{BOOLOID, 'b', "boolean", append_bool, NULL},
	{CHAROID, 'c', "\"char\"", append_char, NULL},
	{OIDOID, 'o', "oid", append_oid, NULL},
	{CASHOID, 'm', "money", append_int8, hash_int8},
	{MACADDROID, 'a', "macaddr", append_macaddr, NULL},
	{MACADDR8OID, 'A', "macaddr8", append_macaddr8, NULL},
	{DATEOID, 'd', "date", append_date, hash_date},
	{TIMEOID, 'h', "time", append_int8, hash_int8},
	{TIMETZOID, 'H', "time with time zone", append_timetz, NULL},
	{TIMESTAMPOID, 's', "timestamp", append_int8, hash_int8},
	{TIMESTAMPTZOID, 'S', "timestamp with time zone", append_int8, hash_int8},
	{INTERVALOID, 'v', "interval", append_interval, NULL},
	{BITOID, 'B', "bit string", append_bits, NULL},
	{VARBITOID, 'B', "bit string", append_bits, NULL},
	{INETOID, 'w', "network address", append_network, NULL},
	{CIDROID, 'w', "network address", append_network, NULL},
	{JSONBOID, 'j', "jsonb", append_jsonb, NULL},
};

/* How to hash a type that has no parts, or NULL if it is not one of these */
static const LeafType *
leaf_type(Oid type)
{
	for (size_t i = 0; i < lengthof(leaf_types); i++)
		if (leaf_types[i].type == type)
			return &leaf_types[i];
	return NULL;
}

/* The name of the class that a token stands for, or NULL if it is no leaf's */
static const char *
leaf_class_name(char token)
{
	for (size_t i = 0; i < lengthof(leaf_types); i++)
		if (leaf_types[i].token == token)
			return leaf_types[i].name;
	return NULL;
}

/* ----------------------------------------------------------------
 *		The class
 * ----------------------------------------------------------------
 */

/*
 * Append the description of what the node has seen last.  False if that is
 * not known in full: a record of no known structure is in it.
 */
static bool
describe(ElementNode *node, StringInfo description)
{
	RecordLayout *layout = node->layout;
	bool		complete = true;

	check_stack_depth();

	switch (node->token)
	{
		case TOKEN_ENUM:
		case TOKEN_OTHER:
			appendStringInfoChar(description, node->token);
			appendStringInfoString(description, node->name);
			break;
		case TOKEN_ARRAY:
		case TOKEN_RANGE:
			appendStringInfoChar(description, node->token);
			complete = describe(node->part, description);
			break;
		case TOKEN_MULTIRANGE:
			/* its parts are ranges, which goes without saying */
			appendStringInfoChar(description, node->token);
			complete = describe(node->part->part, description);
			break;
		case TOKEN_RECORD:
			if (!node->seen)
			{
				appendStringInfoChar(description, TOKEN_RECORD_UNSEEN);
				return false;
			}
			appendStringInfoChar(description, TOKEN_RECORD);
			for (int i = 0; i < layout->desc->natts; i++)
			{
				if (layout->columns[i] != NULL &&
					!describe(layout->columns[i], description))
					complete = false;
			}
			appendStringInfoChar(description, TOKEN_RECORD_END);
			break;
		default:
			appendStringInfoChar(description, node->token);
	}
	return complete;
}

/* Pack a description into a class. */
static ElementClass
pack_class(const char *description, size_t length)
{
	ElementClass class = 0;

	if (length > sizeof(ElementClass))
		return (XXH3_64bits(description, length) << BITS_PER_BYTE) |
			CLASS_HASHED;

	for (size_t i = 0; i < length; i++)
		class |= (ElementClass) (uint8) description[i] << (BITS_PER_BYTE * i);
	return class;
}

/*
 * The class of what the tree has seen last.  "complete" tells whether all of
 * its structure is known.
 */
static ElementClass
current_class(ElementState *state, bool *complete)
{
	StringInfoData description;
	ElementClass class;

	initStringInfo(&description);
	*complete = describe(state->root, &description);
	class = pack_class(description.data, description.len);
	pfree(description.data);
	return class;
}

/* ----------------------------------------------------------------
 *		Types with parts
 * ----------------------------------------------------------------
 */

/*
 * Forget the structure of an anonymous record that is NULL or missing: the
 * class tells about this element, not about an earlier one.
 */
static void
forget_structure(ElementNode *node)
{
	while (node->token == TOKEN_ARRAY)
		node = node->part;
	if (node->seen)
	{
		node->seen = false;
		node->state->structure++;
	}
}

/* Leave room for the length of a part. */
static inline int
begin_part(StringInfo buf)
{
	int			start = buf->len;

	append_uint32(buf, 0);
	return start;
}

static inline void
end_part(StringInfo buf, int start)
{
	put32((uint8 *) (buf->data + start), buf->len - start - sizeof(uint32));
}

static void
append_part(ElementNode *node, StringInfo buf, Datum value)
{
	int			start = begin_part(buf);

	node->append(node, buf, value);
	end_part(buf, start);
}

static void
append_null(ElementNode *node, StringInfo buf)
{
	append_uint32(buf, PART_NULL);
	if (node->anonymous)
		forget_structure(node);
}

/*
 * An element of an array of anonymous records has been appended: unless it is
 * the first, it must have the structure of those before it.
 */
static void
check_part_structure(ElementNode *node, bool first)
{
	StringInfoData description;
	MemoryContext oldcontext;
	char	   *part_description;

	if (node->part_structure == node->state->structure &&
		node->part_description != NULL)
		return;

	initStringInfo(&description);
	(void) describe(node->part, &description);
	Assert(first || node->part_description != NULL);
	if (!first && strcmp(description.data, node->part_description) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("records in an array differ in their structure"),
				 errdetail("All records in an array that is an element of a filter must have the same column types, and NULL in place of a record has none."),
				 errhint("Cast the records to a composite type.")));

	oldcontext = MemoryContextSwitchTo(node->mcxt);
	part_description = pstrdup(description.data);
	MemoryContextSwitchTo(oldcontext);
	if (node->part_description != NULL)
		pfree(node->part_description);
	node->part_description = part_description;
	node->part_structure = node->state->structure;
	pfree(description.data);
}

static void
append_array(ElementNode *node, StringInfo buf, Datum value)
{
	ArrayType  *array = DatumGetArrayTypeP(value);
	ElementNode *part = node->part;
	ArrayIterator iterator;
	Datum		item;
	bool		isnull;
	bool		first = true;

	check_stack_depth();

	if (ARR_ELEMTYPE(array) != node->array_meta.element_type)
		elog(ERROR, "array has elements of type %u, expected %u",
			 ARR_ELEMTYPE(array), node->array_meta.element_type);

	append_uint32(buf, ARR_NDIM(array));
	for (int i = 0; i < ARR_NDIM(array); i++)
	{
		append_uint32(buf, ARR_DIMS(array)[i]);
		append_uint32(buf, ARR_LBOUND(array)[i]);
	}

	iterator = array_create_iterator(array, 0, &node->array_meta);
	while (array_iterate(iterator, &item, &isnull))
	{
		CHECK_FOR_INTERRUPTS();
		if (isnull)
		{
			append_uint32(buf, PART_NULL);
			continue;
		}
		append_part(part, buf, item);
		if (part->anonymous)
		{
			check_part_structure(node, first);
			first = false;
		}
	}
	array_free_iterator(iterator);

	if (part->anonymous && first)
		forget_structure(part);

	if ((Pointer) array != DatumGetPointer(value))
		pfree(array);
}

/*
 * Discrete ranges need no care here: they are stored in their canonical form.
 */
static void
append_range_bounds(ElementNode *node, StringInfo buf,
					const RangeBound *lower, const RangeBound *upper,
					bool empty)
{
	uint8		flags = 0;

	if (empty)
	{
		append_uint8(buf, CANONICAL_EMPTY);
		return;
	}

	if (lower->infinite)
		flags |= CANONICAL_LOWER_INF;
	else if (lower->inclusive)
		flags |= CANONICAL_LOWER_INC;
	if (upper->infinite)
		flags |= CANONICAL_UPPER_INF;
	else if (upper->inclusive)
		flags |= CANONICAL_UPPER_INC;

	append_uint8(buf, flags);
	if (!lower->infinite)
		append_part(node->part, buf, lower->val);
	if (!upper->infinite)
		append_part(node->part, buf, upper->val);
}

static void
append_range(ElementNode *node, StringInfo buf, Datum value)
{
	RangeType  *range = DatumGetRangeTypeP(value);
	RangeBound	lower;
	RangeBound	upper;
	bool		empty;

	check_stack_depth();

	range_deserialize(node->range_type, range, &lower, &upper, &empty);
	append_range_bounds(node, buf, &lower, &upper, empty);
	if ((Pointer) range != DatumGetPointer(value))
		pfree(range);
}

static void
append_multirange(ElementNode *node, StringInfo buf, Datum value)
{
	MultirangeType *multirange = DatumGetMultirangeTypeP(value);

	check_stack_depth();

	append_uint32(buf, multirange->rangeCount);
	for (uint32 i = 0; i < multirange->rangeCount; i++)
	{
		RangeBound	lower;
		RangeBound	upper;
		int			start = begin_part(buf);

		CHECK_FOR_INTERRUPTS();
		multirange_get_bounds(node->part->range_type, multirange, i,
							  &lower, &upper);
		append_range_bounds(node->part, buf, &lower, &upper, false);
		end_part(buf, start);
	}
	if ((Pointer) multirange != DatumGetPointer(value))
		pfree(multirange);
}

/* What the parts of a node are like, or NULL */
static const ElementNode *
like_part(const ElementNode *like)
{
	return like ? like->part : NULL;
}

/* The same of a record's column, counted without dropped ones */
static const ElementNode *
like_column(const ElementNode *like, int column)
{
	if (like == NULL || like->layout == NULL)
		return NULL;
	for (int i = 0; i < like->layout->desc->natts; i++)
		if (like->layout->columns[i] != NULL && column-- == 0)
			return like->layout->columns[i];
	return NULL;
}

/*
 * Learn the columns of a composite type.  The new layout replaces the old one
 * only once it is whole, so that an error leaves neither a half nor a leak.
 */
static void
set_layout(ElementNode *node, Oid type, int32 typmod)
{
	MemoryContext mcxt;
	MemoryContext oldcontext;
	RecordLayout *layout;
	TupleDesc	desc;

	mcxt = AllocSetContextCreate(CurrentMemoryContext,
								 "bloomfilter record layout",
								 ALLOCSET_SMALL_SIZES);
	oldcontext = MemoryContextSwitchTo(mcxt);

	layout = palloc0(sizeof(RecordLayout));
	layout->mcxt = mcxt;

	/*
	 * The identifier is taken first: should the type change before the next
	 * line, then the next value finds the layout out of date.
	 */
	layout->identifier = assign_record_type_identifier(type, typmod);
	desc = lookup_rowtype_tupdesc(type, typmod);
	/* with the constraints come the values of columns missing in a tuple */
	layout->desc = CreateTupleDescCopyConstr(desc);
	ReleaseTupleDesc(desc);
	desc = layout->desc;

	layout->values = palloc(desc->natts * sizeof(Datum));
	layout->nulls = palloc(desc->natts * sizeof(bool));
	layout->columns = palloc0(desc->natts * sizeof(ElementNode *));
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(desc, i);

		if (column->attisdropped)
			continue;
		layout->columns[i] = make_node(node->state, column->atttypid,
									   column->attcollation,
									   like_column(node->like, layout->live));
		layout->live++;
	}

	MemoryContextSwitchTo(oldcontext);
	MemoryContextSetParent(mcxt, node->mcxt);
	if (node->layout != NULL)
		MemoryContextDelete(node->layout->mcxt);
	node->layout = layout;
	node->seen = true;
	node->state->structure++;
}

static void
append_record(ElementNode *node, StringInfo buf, Datum value)
{
	HeapTupleHeader header = DatumGetHeapTupleHeader(value);
	Oid			type = HeapTupleHeaderGetTypeId(header);
	int32		typmod = HeapTupleHeaderGetTypMod(header);
	HeapTupleData tuple;
	RecordLayout *layout;

	check_stack_depth();

	if (node->layout == NULL ||
		node->layout->identifier != assign_record_type_identifier(type,
																  typmod))
		set_layout(node, type, typmod);
	else if (!node->seen)
	{
		node->seen = true;
		node->state->structure++;
	}
	layout = node->layout;

	tuple.t_len = HeapTupleHeaderGetDatumLength(header);
	ItemPointerSetInvalid(&tuple.t_self);
	tuple.t_tableOid = InvalidOid;
	tuple.t_data = header;
	heap_deform_tuple(&tuple, layout->desc, layout->values, layout->nulls);

	append_uint32(buf, layout->live);
	for (int i = 0; i < layout->desc->natts; i++)
	{
		if (layout->columns[i] == NULL)
			continue;
		if (layout->nulls[i])
			append_null(layout->columns[i], buf);
		else
			append_part(layout->columns[i], buf, layout->values[i]);
	}

	if ((Pointer) header != DatumGetPointer(value))
		pfree(header);
}

/* ----------------------------------------------------------------
 *		Making a hasher
 * ----------------------------------------------------------------
 */

/*
 * Only a deterministic collation calls strings equal exactly when their bytes
 * are.
 */
static void
check_collation(Oid collation)
{
	if (!OidIsValid(collation))
		ereport(ERROR,
				(errcode(ERRCODE_INDETERMINATE_COLLATION),
				 errmsg("could not determine which collation to use for the elements of a filter"),
				 errhint("Use the COLLATE clause to set the collation explicitly.")));

	if (!get_collation_isdeterministic(collation))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("nondeterministic collation \"%s\" is not supported for the elements of a filter",
						get_collation_name(collation)),
				 errhint("Use COLLATE \"C\" to compare the elements by their bytes.")));
}

/* The name of a type without its schema, in UTF-8, quoted. */
static char *
quoted_type_name(Oid type)
{
	StringInfoData name;
	StringInfoData quoted;
	HeapTuple	tuple;
	NameData   *typname;

	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for type %u", type);
	typname = &((Form_pg_type) GETSTRUCT(tuple))->typname;
	initStringInfo(&name);
	append_utf8(&name, NameStr(*typname), strlen(NameStr(*typname)));
	ReleaseSysCache(tuple);

	initStringInfo(&quoted);
	appendStringInfoChar(&quoted, TOKEN_QUOTE);
	for (int i = 0; i < name.len; i++)
	{
		if (name.data[i] == TOKEN_QUOTE)
			appendStringInfoChar(&quoted, TOKEN_QUOTE);
		appendStringInfoChar(&quoted, name.data[i]);
	}
	appendStringInfoChar(&quoted, TOKEN_QUOTE);
	pfree(name.data);
	return quoted.data;
}

/* A node in the current memory context, of no kind yet */
static ElementNode *
new_node(ElementState *state, Oid type, Oid collation)
{
	ElementNode *node = palloc0(sizeof(ElementNode));

	node->type = type;
	node->collation = collation;
	node->state = state;
	node->mcxt = CurrentMemoryContext;
	return node;
}

static void
init_other(ElementNode *node)
{
	TypeCacheEntry *entry;

	entry = lookup_type_cache(node->type, TYPECACHE_HASH_EXTENDED_PROC_FINFO);
	if (!OidIsValid(entry->hash_extended_proc))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("could not identify a hash function for type %s",
						format_type_be(node->type)),
				 errdetail("Elements of a filter are found by their hash, and type %s has no default hash operator class with an extended hash function.",
						   format_type_be(node->type)),
				 errhint("Cast the element to a type that has one.")));
	if (OidIsValid(get_typcollation(node->type)) &&
		node->state->portable)
		check_collation(node->collation);

	node->token = TOKEN_OTHER;
	node->append = append_other;
	node->name = quoted_type_name(node->type);
	fmgr_info_copy(&node->hash_proc, &entry->hash_extended_proc_finfo,
				   CurrentMemoryContext);
}

/* The type's own hash, where ours would not agree with its equality here */
static void
init_other_locally(ElementNode *node)
{
	init_other(node);
	node->state->local = true;
}

static void
init_array(ElementNode *node, Oid element_type)
{
	node->token = TOKEN_ARRAY;
	node->append = append_array;
	node->part = make_node(node->state, element_type, node->collation,
						   like_part(node->like));
	node->anonymous = node->part->anonymous;
	node->array_meta.element_type = element_type;
	get_typlenbyvalalign(element_type,
						 &node->array_meta.typlen,
						 &node->array_meta.typbyval,
						 &node->array_meta.typalign);
}

/*
 * Bounds are hashed as their type is compared by default.  A range type may
 * compare them by an operator class of its own, which may call more of them
 * equal; then the hash could not follow.
 */
static void
check_range_order(TypeCacheEntry *range)
{
	TypeCacheEntry *subtype = lookup_type_cache(range->rngelemtype->type_id,
												TYPECACHE_CMP_PROC);

	if (range->rng_cmp_proc_finfo.fn_oid != subtype->cmp_proc)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("range type %s has an operator class of its own",
						format_type_be(range->type_id)),
				 errdetail("Bounds that it takes for equal may have different hashes.")));
}

static void
init_range(ElementNode *node, TypeCacheEntry *range)
{
	check_range_order(range);
	node->token = TOKEN_RANGE;
	node->append = append_range;
	node->range_type = range;
	node->part = make_node(node->state, range->rngelemtype->type_id,
						   range->rng_collation, NULL);
}

/*
 * Multiranges are compared by the bounds of their ranges, even where the range
 * type has an equality of its own: their part is a range, not whatever
 * make_node() takes that type for.
 */
static void
init_multirange(ElementNode *node, TypeCacheEntry *range)
{
	node->token = TOKEN_MULTIRANGE;
	node->append = append_multirange;
	node->part = new_node(node->state, range->type_id, InvalidOid);
	init_range(node->part, range);
}

/*
 * A type that is not built in may be of a known kind.  If it has an equality
 * of its own, however, then our canonical bytes need not follow that; its
 * hash function does.
 */
static void
init_by_kind(ElementNode *node)
{
	TypeCacheEntry *entry = lookup_type_cache(node->type, TYPECACHE_EQ_OPR);
	Oid			element_type;

	if (entry->eq_opr >= FirstNormalObjectId)
	{
		init_other(node);
		return;
	}

	switch (entry->typtype)
	{
		case TYPTYPE_ENUM:
			node->token = TOKEN_ENUM;
			node->append = append_enum;
			node->name = quoted_type_name(node->type);
			if (!node->state->portable)
			{
				/* a label may be renamed */
				node->append = append_oid;
				node->state->local = true;
			}
			break;
		case TYPTYPE_RANGE:
			entry = lookup_type_cache(node->type, TYPECACHE_RANGE_INFO);
			init_range(node, entry);
			break;
		case TYPTYPE_MULTIRANGE:
			entry = lookup_type_cache(node->type, TYPECACHE_MULTIRANGE_INFO);
			init_multirange(node, entry->rngtype);
			break;
		case TYPTYPE_COMPOSITE:
			node->token = TOKEN_RECORD;
			node->append = append_record;
			set_layout(node, node->type, -1);
			break;
		default:
			element_type = get_element_type(node->type);
			if (OidIsValid(element_type))
				init_array(node, element_type);
			else
				init_other(node);
	}
}

/* Text that stays in its database needs no conversion, but may be equal to other. */
static void
adapt_leaf_locally(ElementNode *node)
{
	/* a literal without type has no collation */
	if (node->token == TOKEN_TEXT && node->type != UNKNOWNOID &&
		OidIsValid(node->collation) &&
		!get_collation_isdeterministic(node->collation))
	{
		Oid			type = node->type;

		/* the same equality, and one class */
		node->type = TEXTOID;
		node->hash = NULL;
		init_other_locally(node);
		if (type == NAMEOID)
			node->append = append_name_as_text;
		else if (type == BPCHAROID)
			node->append = append_bpchar_as_text;
	}
	else if (node->type == JSONBOID && needs_conversion())
		init_other_locally(node);
	else if (node->token == TOKEN_TEXT && needs_conversion())
		node->state->local = true;
}

/*
 * Make the node for a type, with all below it, in the current memory context.
 * "like" is the node of what its values are compared with, or NULL.
 */
static ElementNode *
make_node(ElementState *state, Oid type, Oid collation,
		  const ElementNode *like)
{
	const LeafType *leaf;
	ElementNode *node;
	Oid			base = getBaseType(type);
	bool		literal = false;

	check_stack_depth();

	if (like && like->is_text)
	{
		literal = base == UNKNOWNOID;
		if (literal || base == TEXTOID || base == VARCHAROID)
			base = like->blank_padded ? BPCHAROID : TEXTOID;
		if (OidIsValid(get_typcollation(base)))
			collation = like->collation;
	}
	node = new_node(state, base, collation);
	node->blank_padded = base == BPCHAROID;
	node->is_text = node->blank_padded || base == TEXTOID || base == VARCHAROID;
	node->like = like;

	if (node->type == RECORDOID)
	{
		node->token = TOKEN_RECORD;
		node->append = append_record;
		node->anonymous = true;
		return node;
	}

	leaf = leaf_type(node->type);
	if (leaf == NULL)
	{
		init_by_kind(node);
		return node;
	}
	node->token = leaf->token;
	node->append = leaf->append;
	node->hash = leaf->hash;
	if (!state->portable)
		adapt_leaf_locally(node);
	else if (leaf->token == TOKEN_TEXT)
	{
		/* an untyped literal has a collation only if it was given one */
		if (node->type != UNKNOWNOID || OidIsValid(collation))
			check_collation(collation);
		if (needs_conversion())
			node->hash = NULL;
	}
	if (literal)
	{
		node->append_text = node->append;
		node->append = append_literal;
		node->hash = NULL;
	}
	return node;
}

/* Hash any element by way of its canonical bytes in the buffer. */
static uint64
hash_by_buffer(ElementHasher *hasher, Datum value, uint64 seed)
{
	ElementState *state = hasher->state;
	StringInfo	buf = &state->buf;
	uint64		hash;

	if (buf->data == NULL)
	{
		MemoryContext oldcontext = MemoryContextSwitchTo(hasher->mcxt);

		initStringInfo(buf);
		MemoryContextSwitchTo(oldcontext);
	}
	resetStringInfo(buf);
	state->root->append(state->root, buf, value);

	if (state->class_structure != state->structure)
	{
		bool		complete;

		hasher->class = current_class(state, &complete);
		state->class_structure = state->structure;
	}

	hash = XXH3_64bits_withSeed(buf->data, buf->len, seed);
	if (buf->maxlen > BUFFER_KEEP)
	{
		pfree(buf->data);
		buf->data = NULL;
	}
	return hash;
}

/*
 * element_hasher_create
 *		Prepare to hash elements of a type
 *
 * "type" is the declared type, as from get_fn_expr_argtype(), and "collation"
 * the call's (fcinfo->fncollation); that of a record's columns or a range's
 * bounds comes from their own type.
 *
 * The hasher and all that it keeps live in a memory context of its own below
 * "mcxt": hasher->mcxt, which may be deleted to be rid of it.
 *
 * Hashes of scope ELEMENT_LOCAL are for what never leaves its database, and
 * follow "=" there in any case: an enum's value is its OID, text is not
 * converted, and what has a nondeterministic collation takes its type's hash
 * function.  Where that makes no difference they are those of ELEMENT_PORTABLE
 * (element_hasher_is_local()).
 *
 * Errors: ERRCODE_INVALID_PARAMETER_VALUE if the type is not known;
 * ERRCODE_UNDEFINED_FUNCTION if it, or a part of it, cannot be hashed;
 * ERRCODE_INDETERMINATE_COLLATION and ERRCODE_FEATURE_NOT_SUPPORTED if a
 * collation is missing or nondeterministic.  For anonymous records the same
 * errors come from element_hash(), and there also ERRCODE_DATATYPE_MISMATCH if
 * the records of an array differ in their structure.
 */
ElementHasher *
element_hasher_create(Oid type, Oid collation, ElementScope scope,
					  MemoryContext mcxt)
{
	return element_hasher_create_like(type, collation, scope, NULL, mcxt);
}

/*
 * element_hasher_create_like
 *		The same for values that are compared with those of another hasher
 *
 * Text, also in arrays and records, is hashed as the elements of "like" are: by their
 * collation, and without trailing blanks where they are of type char(n).  So does
 * an untyped literal, which means the same as in "column = 'ab   '".  "like" must
 * live as long as the new hasher; it may be NULL.
 */
ElementHasher *
element_hasher_create_like(Oid type, Oid collation, ElementScope scope,
						   const ElementHasher *like, MemoryContext mcxt)
{
	MemoryContext own;
	MemoryContext oldcontext;
	ElementHasher *hasher;
	ElementState *state;
	bool		complete;

	if (!OidIsValid(type))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("could not determine element type"),
				 errdetail("The function was called without information about the types of its arguments.")));

	/* Below the caller's own context at first: an error leaves nothing */
	own = AllocSetContextCreate(CurrentMemoryContext,
								"bloomfilter element hasher",
								ALLOCSET_SMALL_SIZES);
	oldcontext = MemoryContextSwitchTo(own);

	hasher = palloc0(sizeof(ElementHasher));
	state = palloc0(sizeof(ElementState));
	state->portable = scope == ELEMENT_PORTABLE;
	state->root = make_node(state, type, collation,
							like ? ((ElementState *) like->state)->root : NULL);
	hasher->type = state->root->type;
	hasher->collation = collation;
	hasher->mcxt = own;
	hasher->state = state;
	hasher->hash = state->root->hash;
	if (hasher->hash == NULL)
		hasher->hash = hash_by_buffer;

	hasher->class = current_class(state, &complete);
	state->class_structure = state->structure;
	if (!complete)
	{
		/* The first value will tell */
		hasher->class = ELEMENT_CLASS_NONE;
		state->structure++;
	}

	MemoryContextSwitchTo(oldcontext);
	MemoryContextSetParent(own, mcxt);
	return hasher;
}

bool
element_hasher_is_local(const ElementHasher *hasher)
{
	return ((ElementState *) hasher->state)->local;
}

/*
 * Append the columns of the records in an element: numbers, for a column that
 * takes the place of a dropped one holds other values, and types.  Is any record of
 * a named type, which may be altered?
 */
static bool
append_columns(ElementNode *node, StringInfo columns)
{
	RecordLayout *layout = node->layout;
	bool		named;

	check_stack_depth();

	switch (node->token)
	{
		case TOKEN_ARRAY:
		case TOKEN_RANGE:
		case TOKEN_MULTIRANGE:
			return append_columns(node->part, columns);
		case TOKEN_RECORD:
			if (layout == NULL)
				return false;
			named = !node->anonymous;
			/* dropped ones, too: what was there between two looks is told */
			append_uint32(columns, layout->desc->natts);
			append_uint32(columns, layout->live);
			for (int i = 0; i < layout->desc->natts; i++)
			{
				if (layout->columns[i] == NULL)
					continue;
				append_uint32(columns, i);
				append_uint32(columns, layout->columns[i]->type);
				if (append_columns(layout->columns[i], columns))
					named = true;
			}
			return named;
	}
	return false;
}

/*
 * element_structure
 *		What ALTER TYPE and ALTER TABLE may change of the elements' hashes
 *
 * A column that is added to a composite type, or dropped, changes which of its
 * values are equal, and their hashes.  Who keeps hashes of elements whose type
 * has composite types in it keeps this number, too, and looks whether it has changed.
 * 0 if there are none, else another number.  It is by OID: a type's name may change.
 * Of an anonymous record, that of the last element hashed.
 */
uint64
element_structure(const ElementHasher *hasher)
{
	StringInfoData columns;
	uint64		structure = 0;

	initStringInfo(&columns);
	if (append_columns(((ElementState *) hasher->state)->root, &columns))
		structure = Max(XXH3_64bits(columns.data, columns.len), 1);
	pfree(columns.data);
	return structure;
}

/* ----------------------------------------------------------------
 *		The name of a class
 * ----------------------------------------------------------------
 */

/*
 * Unquote a type's name, and advance over it.  It comes from another
 * database, perhaps of another encoding, or from a forger: what is not
 * printable ASCII is shown as \x and two digits.
 */
static bool
name_type(const char **at, StringInfo name)
{
	const char *c = *at;

	if (*c++ != TOKEN_QUOTE)
		return false;
	for (; *c != '\0'; c++)
	{
		if (*c == TOKEN_QUOTE)
		{
			if (c[1] != TOKEN_QUOTE)
			{
				*at = c + 1;
				return true;
			}
			c++;
		}
		if (*c >= ' ' && *c <= '~')
			appendStringInfoChar(name, *c);
		else
			appendStringInfo(name, "\\x%02x", (uint8) *c);
	}
	return false;
}

/*
 * Append the name of the description at *at, and advance over it.  False if it
 * is not a description.
 */
static bool
name_description(const char **at, StringInfo name)
{
	char		token = **at;
	const char *leaf;
	bool		bracket;

	if (token == '\0')
		return false;
	(*at)++;

	switch (token)
	{
		case TOKEN_ARRAY:
			/* "range of integer[]" would be a range of arrays */
			bracket = (**at == TOKEN_RANGE || **at == TOKEN_MULTIRANGE);
			if (bracket)
				appendStringInfoChar(name, '(');
			if (!name_description(at, name))
				return false;
			appendStringInfoString(name, bracket ? ")[]" : "[]");
			return true;
		case TOKEN_RANGE:
			appendStringInfoString(name, "range of ");
			return name_description(at, name);
		case TOKEN_MULTIRANGE:
			appendStringInfoString(name, "multirange of ");
			return name_description(at, name);
		case TOKEN_RECORD:
			appendStringInfoChar(name, '(');
			for (int i = 0; **at != TOKEN_RECORD_END; i++)
			{
				if (i > 0)
					appendStringInfoString(name, ", ");
				if (!name_description(at, name))
					return false;
			}
			(*at)++;
			appendStringInfoChar(name, ')');
			return true;
		case TOKEN_RECORD_UNSEEN:
			appendStringInfoString(name, "record");
			return true;
		case TOKEN_ENUM:
			appendStringInfoString(name, "enum ");
			return name_type(at, name);
		case TOKEN_OTHER:
			appendStringInfoString(name, "type ");
			return name_type(at, name);
	}

	leaf = leaf_class_name(token);
	if (leaf == NULL)
		return false;
	appendStringInfoString(name, leaf);
	return true;
}

/*
 * element_class_name
 *		What a class is called, for messages and bloom_info()
 *
 * "integer", "text[]", "(integer, text)", "range of date", "enum mood"; of a
 * description that is only known by its hash, "structure #" and 14 hex digits.
 * Any number may be passed, for a stored filter may be forged.  The result is
 * palloc'd; no errors.
 */
char *
element_class_name(ElementClass class)
{
	char		description[sizeof(ElementClass) + 1] = {0};
	const char *at = description;
	int			length = 0;
	StringInfoData name;

	if (class == ELEMENT_CLASS_NONE)
		return pstrdup("none");

	if ((class & 0xff) == CLASS_HASHED)
		return psprintf("structure #%014llx",
						(unsigned long long) (class >> BITS_PER_BYTE));

	for (size_t i = 0; i < sizeof(ElementClass); i++)
	{
		description[i] = (char) (class >> (BITS_PER_BYTE * i));
		if (description[i] != '\0')
			length = i + 1;
	}

	initStringInfo(&name);
	if (name_description(&at, &name) && at == description + length)
		return name.data;

	pfree(name.data);
	return psprintf("unknown structure %016llx", (unsigned long long) class);
}
