/*
 * canonical.c
 *	  The canonical bytes of scalars and jsonb, by the rules of element.c.
 */
#include "postgres.h"

#include <math.h>
#include <sys/socket.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "access/htup_details.h"
#include "catalog/pg_enum.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/inet.h"
#include "utils/jsonb.h"
#include "utils/numeric.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"
#include "utils/varbit.h"

#include "canonical.h"

/* The NaN that stands for all NaNs: quiet, positive, without payload */
#define CANONICAL_NAN		UINT64CONST(0x7ff8000000000000)

/* The family byte of a network address: the version of the Internet Protocol */
#define NETWORK_IPV4		4
#define NETWORK_IPV6		6

/* Tags of a jsonb value; the comment says which bytes follow */
#define JSON_NULL			'n'
#define JSON_TRUE			't'
#define JSON_FALSE			'f'
#define JSON_NUMBER			'd' /* length, decimal of numeric_normalize() */
#define JSON_STRING			's' /* length, UTF-8 */
#define JSON_ARRAY			'[' /* count, values */
#define JSON_OBJECT			'{' /* count, pairs of (length, key) and value */

/* XXH3 of an element's canonical bytes, or of a description */
uint64
canonical_hash(const void *bytes, size_t length, uint64 seed)
{
	return XXH3_64bits_withSeed(bytes, length, seed);
}

/* Convert a string from the database's encoding to UTF-8, and append it. */
void
append_utf8(StringInfo buf, const char *data, int length)
{
	char	   *converted;

	if (!needs_conversion())
	{
		append_bytes(buf, data, length);
		return;
	}
	converted = pg_server_to_any(data, length, PG_UTF8);
	append_bytes(buf, converted, converted == data ? length : (int) strlen(converted));
	if (converted != data)
		pfree(converted);
}

/* Convert a string to UTF-8, and append its length and the string. */
static void
append_counted_utf8(StringInfo buf, const char *data, int length)
{
	int			start = begin_part(buf);

	append_utf8(buf, data, length);
	end_part(buf, start);
}

/*
 * Append a string: in UTF-8 if the hasher is portable; for TOKEN_OTHER, its hash as a text;
 * otherwise unchanged.  The hash functions of other types do not suit a nondeterministic
 * collation: name's ignores it, and in 15 bpchar's does not ignore trailing blanks.
 */
static inline void
append_string(ElementNode *node, StringInfo buf, const char *data, int length)
{
	if (node->portable)
		append_utf8(buf, data, length);
	else if (node->token == TOKEN_OTHER)
	{
		text	   *string = cstring_to_text_with_len(data, length);

		append_other(node, buf, PointerGetDatum(string));
		pfree(string);
	}
	else
		append_bytes(buf, data, length);
}

static void
append_text(ElementNode *node, StringInfo buf, Datum value)
{
	text	   *string = DatumGetTextPP(value);

	append_string(node, buf, VARDATA_ANY(string), VARSIZE_ANY_EXHDR(string));
	free_copy(string, value);
}

/* Append a bpchar without trailing blanks, which "=" ignores and a cast to text removes. */
static void
append_bpchar(ElementNode *node, StringInfo buf, Datum value)
{
	BpChar	   *string = DatumGetBpCharPP(value);
	char	   *data = VARDATA_ANY(string);

	append_string(node, buf, data, bpchartruelen(data, VARSIZE_ANY_EXHDR(string)));
	free_copy(string, value);
}

/* Append an untyped literal, which is compared with text or char(n). */
void
append_literal(ElementNode *node, StringInfo buf, Datum value)
{
	text	   *string = cstring_to_text(DatumGetCString(value));

	(node->blank_padded ? append_bpchar : append_text) (node, buf, PointerGetDatum(string));
	pfree(string);
}

static void
append_bytea(ElementNode *node, StringInfo buf, Datum value)
{
	bytea	   *bytes = DatumGetByteaPP(value);

	append_bytes(buf, VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes));
	free_copy(bytes, value);
}

/* Hash bytea, or text that needs no conversion, in place. */
static uint64
hash_varlena(struct ElementHasher *hasher, Datum value, uint64 seed)
{
	struct varlena *bytes = PG_DETOAST_DATUM_PACKED(value);
	uint64		hash = XXH3_64bits_withSeed(VARDATA_ANY(bytes),
											VARSIZE_ANY_EXHDR(bytes), seed);

	free_copy(bytes, value);
	return hash;
}

/* Return the bits of a float, the same for all NaNs, and the same for 0 and -0. */
static inline uint64
float_bits(float8 value)
{
	if (isnan(value))
		return CANONICAL_NAN;
	return value == 0 ? 0 : bits_of_double(value);
}

/* Define append_TYPE() for a type whose canonical bytes are appended by one call. */
#define APPEND(type, call) \
static void \
append_##type(ElementNode *node, StringInfo buf, Datum value) \
{ \
	call; \
}

/* Define append_TYPE() and hash_TYPE() for a type that becomes a number of "bits" bits. */
#define NUMBER(type, bits, number) \
APPEND(type, append_uint##bits(buf, number)) \
static uint64 \
hash_##type(struct ElementHasher *hasher, Datum value, uint64 seed) \
{ \
	uint8		bytes[(bits) / BITS_PER_BYTE]; \
\
	put##bits(bytes, number); \
	return XXH3_64bits_withSeed(bytes, sizeof(bytes), seed); \
}

NUMBER(int2, 64, (int64) DatumGetInt16(value))
NUMBER(int4, 64, (int64) DatumGetInt32(value))
/* also for other types that are an int64: money, time, timestamps, pg_lsn, ... */
NUMBER(int8, 64, DatumGetInt64(value))
NUMBER(float4, 64, float_bits(DatumGetFloat4(value)))
NUMBER(float8, 64, float_bits(DatumGetFloat8(value)))
NUMBER(date, 32, DatumGetDateADT(value))

static void
append_numeric(ElementNode *node, StringInfo buf, Datum value)
{
	Numeric		number = DatumGetNumeric(value);
	char	   *digits = numeric_normalize(number);

	append_bytes(buf, digits, strlen(digits));
	pfree(digits);
	free_copy(number, value);
}

void
append_oid(ElementNode *node, StringInfo buf, Datum value)
{
	append_uint32(buf, DatumGetObjectId(value));
}

/* For the types unknown and name, which both end with a zero byte */
APPEND(cstring, append_string(node, buf, DatumGetCString(value), strlen(DatumGetCString(value))))
APPEND(bool, append_uint8(buf, DatumGetBool(value) ? 1 : 0))
APPEND(char, append_uint8(buf, (uint8) DatumGetChar(value)))

static void
append_timetz(ElementNode *node, StringInfo buf, Datum value)
{
	TimeTzADT  *time = DatumGetTimeTzADTP(value);

	append_uint64(buf, time->time);
	append_uint32(buf, time->zone);
}

/*
 * Append an interval as the number of microseconds by which "=" compares intervals, with
 * months of 30 days and days of 24 hours.  It needs about 74 bits: we use 128.
 */
static void
append_interval(ElementNode *node, StringInfo buf, Datum value)
{
	Interval   *interval = DatumGetIntervalP(value);
	int64		days = interval->month * (int64) DAYS_PER_MONTH + interval->day;
	__int128	span = (__int128) days * USECS_PER_DAY + interval->time;

	append_uint64(buf, (uint64) span);
	append_uint64(buf, (uint64) (span >> 64));
}

APPEND(uuid, append_bytes(buf, DatumGetUUIDP(value)->data, UUID_LEN))
APPEND(macaddr, append_bytes(buf, DatumGetMacaddrP(value), sizeof(macaddr)))
APPEND(macaddr8, append_bytes(buf, DatumGetMacaddr8P(value), sizeof(macaddr8)))

static uint64
hash_uuid(struct ElementHasher *hasher, Datum value, uint64 seed)
{
	return XXH3_64bits_withSeed(DatumGetUUIDP(value)->data, UUID_LEN, seed);
}

static void
append_bits(ElementNode *node, StringInfo buf, Datum value)
{
	VarBit	   *bits = DatumGetVarBitP(value);

	append_uint32(buf, VARBITLEN(bits));
	append_bytes(buf, VARBITS(bits), VARBITBYTES(bits));
	free_copy(bits, value);
}

/* Append an inet or cidr with the host part of the address, which "=" compares, too. */
static void
append_network(ElementNode *node, StringInfo buf, Datum value)
{
	inet	   *address = DatumGetInetPP(value);
	bool		ipv4 = ip_family(address) == PGSQL_AF_INET;

	append_uint8(buf, ipv4 ? NETWORK_IPV4 : NETWORK_IPV6);
	append_uint8(buf, ip_bits(address));
	append_bytes(buf, ip_addr(address), ip_addrsize(address));
	free_copy(address, value);
}

/* Append both halves of ai_privs, which has 32 bits in 15 and 64 bits from 16 on. */
static void
append_aclitem(ElementNode *node, StringInfo buf, Datum value)
{
	AclItem    *item = DatumGetAclItemP(value);

	append_uint32(buf, item->ai_grantee);
	append_uint32(buf, item->ai_grantor);
	append_uint32(buf, ACLITEM_GET_PRIVS(*item));
	append_uint32(buf, ACLITEM_GET_GOPTIONS(*item));
}

/* Append the label.  Look it up each time: it may be renamed while the hasher lives. */
void
append_enum(ElementNode *node, StringInfo buf, Datum value)
{
	HeapTuple	tuple = SearchSysCache1(ENUMOID, value);
	NameData   *label;

	if (!HeapTupleIsValid(tuple))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("invalid internal value for enum: %u",
						DatumGetObjectId(value))));
	label = &((Form_pg_enum) GETSTRUCT(tuple))->enumlabel;
	append_utf8(buf, NameStr(*label), strlen(NameStr(*label)));
	ReleaseSysCache(tuple);
}

/* Append the result of the type's extended hash function. */
void
append_other(ElementNode *node, StringInfo buf, Datum value)
{
	Datum		hash = FunctionCall2Coll(&node->hash_proc, node->collation,
										 value, Int64GetDatum(0));

	append_uint64(buf, DatumGetUInt64(hash));
}

/* ---- jsonb ---- */

/* The bytes of an object's pair in the buffer: length of the key, key, value */
typedef struct JsonPair
{
	int			offset;			/* from the start of the first pair */
	int			length;
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
			append_counted_utf8(buf, value->val.string.val, value->val.string.len);
			break;
		case jbvBinary:
			append_json_container(buf, value->val.binary.data);
			break;
		default:
			elog(ERROR, "unexpected type of jsonb value: %d", (int) value->type);
	}
}

/* qsort_arg() comparator: shorter keys first, as in jsonb; "pairs" are the pairs' bytes. */
static int
compare_json_pairs(const void *a, const void *b, void *pairs)
{
	const uint8 *x = (const uint8 *) pairs + ((const JsonPair *) a)->offset;
	const uint8 *y = (const uint8 *) pairs + ((const JsonPair *) b)->offset;
	uint32		length = get32(x);

	CHECK_FOR_INTERRUPTS();
	if (length != get32(y))
		return length < get32(y) ? -1 : 1;
	return memcmp(x + sizeof(length), y + sizeof(length), length);
}

/* Sort the pairs in the buffer, which begin at "start". */
static void
sort_json_pairs(StringInfo buf, int start, JsonPair *pairs, int count)
{
	int			length = buf->len - start;
	char	   *copy = palloc(length);

	memcpy(copy, buf->data + start, length);
	qsort_arg(pairs, count, sizeof(JsonPair), compare_json_pairs, copy);
	buf->len = start;
	for (int i = 0; i < count; i++)
		append_bytes(buf, copy + pairs[i].offset, pairs[i].length);
	pfree(copy);
}

/* Append an object.  Its keys may need to be sorted again after conversion to UTF-8. */
static void
append_json_object(StringInfo buf, JsonbIterator *iterator, int count)
{
	JsonbValue	value;
	JsonPair   *pairs = palloc(count * sizeof(JsonPair));
	int			start;

	append_uint8(buf, JSON_OBJECT);
	append_uint32(buf, count);
	start = buf->len;
	for (int i = 0; i < count; i++)
	{
		pairs[i].offset = buf->len - start;
		(void) JsonbIteratorNext(&iterator, &value, true);
		append_counted_utf8(buf, value.val.string.val, value.val.string.len);
		(void) JsonbIteratorNext(&iterator, &value, true);
		append_json_value(buf, &value);
		pairs[i].length = buf->len - start - pairs[i].offset;
	}
	if (needs_conversion())
		sort_json_pairs(buf, start, pairs, count);
	pfree(pairs);
}

static void
append_json_container(StringInfo buf, JsonbContainer *container)
{
	JsonbIterator *iterator;
	JsonbValue	value;

	check_stack_depth();

	/* jsonb stores a scalar as an array of one, but "=" tells them apart */
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
	free_copy(jsonb, value);
}

/* ---- The types that have no parts ---- */

/* The types without parts.  Hints use the first type of a class in casts. */
static const LeafType leaf_types[] = {
	{INT4OID, 'i', "integer", append_int4, hash_int4},
	{INT8OID, 'i', "integer", append_int8, hash_int8},
	{INT2OID, 'i', "integer", append_int2, hash_int2},
	{TEXTOID, TOKEN_TEXT, "text", append_text, hash_varlena},
	{VARCHAROID, TOKEN_TEXT, "text", append_text, hash_varlena},
	{BPCHAROID, TOKEN_TEXT, "text", append_bpchar, NULL},
	{NAMEOID, TOKEN_TEXT, "text", append_cstring, NULL},
	/* an untyped literal, as in ROW('a', 1) */
	{UNKNOWNOID, TOKEN_TEXT, "text", append_cstring, NULL},
	{FLOAT8OID, 'f', "float", append_float8, hash_float8},
	{FLOAT4OID, 'f', "float", append_float4, hash_float4},
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
	{VARBITOID, 'B', "bit string", append_bits, NULL},
	{BITOID, 'B', "bit string", append_bits, NULL},
	{INETOID, 'w', "network address", append_network, NULL},
	{CIDROID, 'w', "network address", append_network, NULL},
	{JSONBOID, 'j', "jsonb", append_jsonb, NULL},
	/* not TOKEN_OTHER, as their hash functions map many values to one hash */
	{PG_LSNOID, 'l', "pg_lsn", append_int8, hash_int8},
	{XID8OID, 'x', "xid8", append_int8, hash_int8},
	{ACLITEMOID, 'g', "aclitem", append_aclitem, NULL},
#ifdef OID8OID
	/* from PostgreSQL 19 on */
	{OID8OID, 'O', "oid8", append_int8, hash_int8},
#endif
};

/* Return the entry of a type in leaf_types[], or NULL if there is none. */
const LeafType *
leaf_type(Oid type)
{
	for (size_t i = 0; i < lengthof(leaf_types); i++)
		if (leaf_types[i].type == type)
			return &leaf_types[i];
	return NULL;
}

/* Return the first entry with this token in leaf_types[], or NULL if there is none. */
const LeafType *
leaf_type_of_token(char token)
{
	for (size_t i = 0; i < lengthof(leaf_types); i++)
		if (leaf_types[i].token == token)
			return &leaf_types[i];
	return NULL;
}
