/*
 * io.c
 *	  Input and output of filters; equality, order and hash of whole filters.
 *
 * The external form of a filter is its image (filter/image.h) followed by a checksum: the
 * image's 64-bit XXH3 hash, little-endian.  The binary format and bytea have these bytes,
 * and text has them in base64.  Each input function verifies the checksum, and validates
 * the image by image_check().  A stored value has no checksum: it would add an eighth to a
 * small filter, and data_checksums serve the purpose.
 */
#include "value/value.h"

#include "access/detoast.h"
#include "common/base64.h"
#include "common/hashfn.h"
#include "element/canonical.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"

/* A base64 group.  pg_b64_enc_len() and pg_b64_dec_len() overflow for large filters. */
#define BASE64_BYTES	3
#define BASE64_CHARS	4

/* Size of the checksum behind an image */
#define CHECKSUM_BYTES	((int) sizeof(uint64))

/* Groups to convert between two interrupt checks, which takes milliseconds */
#define BASE64_GROUPS	((size_t) 1 << 20)

/* Bytes to compare before a stored filter is read in full: one or two TOAST chunks */
#define COMPARE_FIRST_BYTES	2048

/* The error for input of an image that exceeds bloomfilter.max_filter_size */
#define TOO_LARGE(bytes) \
	(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), \
	 errmsg("filter is larger than bloomfilter.max_filter_size"), \
	 errdetail("It has %llu bytes, more than %d kB.", \
			   (unsigned long long) (bytes), max_filter_size), \
	 errhint("A superuser can raise bloomfilter.max_filter_size."))

static uint64
checksum(const uint8 *image, uint64 bytes)
{
	return canonical_hash(image, bytes, 0);
}

/* Check an external form of "bytes" bytes.  Returns NULL if it is valid, else the fault. */
static const char *
check_external(const uint8 *external, int bytes, FilterKind kind)
{
	int			image_length = bytes - CHECKSUM_BYTES;
	const char *fault = image_check_kind(external, Max(image_length, 0), kind);

	if (fault)
		return fault;
	/* check this first: in damaged bytes, any other fault is a consequence */
	if (get64(external + image_length) != checksum(external, image_length))
		return "checksum does not match, so bytes are damaged or missing";
	return image_check(external, image_length, kind);
}

/* Turn an external form, in place, into a value; raises an error if it is not valid. */
static struct varlena *
value_from_external(struct varlena *external, FilterKind kind)
{
	int			bytes = VARSIZE(external) - VARHDRSZ;
	const char *fault;

	/* check the size first, because this takes no time */
	if (exceeds_max_size(Max(bytes - CHECKSUM_BYTES, 0)))
		ereport(ERROR, TOO_LARGE(bytes - CHECKSUM_BYTES));
	CHECK_FOR_INTERRUPTS();
	fault = check_external((uint8 *) VARDATA(external), bytes, kind);
	if (fault)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("invalid %s filter: %s", kind_name(kind), fault)));
	SET_VARSIZE(external, VARHDRSZ + bytes - CHECKSUM_BYTES);
	return external;
}

/* Decode base64.  Returns the number of bytes, at most "room", or -1 if it is not valid. */
static int
decode(const char *base64, size_t length, uint8 *bytes, int room)
{
	int			decoded = 0;

	for (size_t done = 0; done < length;)
	{
		size_t		chars = Min(length - done, BASE64_CHARS * BASE64_GROUPS);
		int			some = pg_b64_decode(base64 + done, chars,
										 (void *) (bytes + decoded),
										 room - decoded);

		CHECK_FOR_INTERRUPTS();
		done += chars;
		/* only the last group may be padded */
		if (some < 0 || (done < length && (size_t) some < BASE64_BYTES * BASE64_GROUPS))
			return -1;
		decoded += some;
	}
	return decoded;
}

/* The type's input function, which reads base64 of the external form */
static Datum
filter_in(FunctionCallInfo fcinfo, FilterKind kind)
{
	char	   *text = PG_GETARG_CSTRING(0);
	size_t		length = strlen(text);
	int			room = length / BASE64_CHARS * BASE64_BYTES + BASE64_BYTES;
	struct varlena *result = palloc(VARHDRSZ + room);
	int			bytes;
	const char *fault;

	bytes = decode(text, length, (uint8 *) VARDATA(result), room);
	if (bytes >= 0 && exceeds_max_size(Max(bytes - CHECKSUM_BYTES, 0)))
		INPUT_ERROR(fcinfo, TOO_LARGE(bytes - CHECKSUM_BYTES));

	/* input too short for a filter may be the name of an index: see the hint */
	fault = bytes < 0 ? "not base64" :
		check_external((uint8 *) VARDATA(result), bytes, kind);
	if (fault)
		INPUT_ERROR(fcinfo,
					(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
					 errmsg("invalid input syntax for type %s: %s",
							kind_name(kind), fault),
					 bytes < IMAGE_LEAST_BYTES + CHECKSUM_BYTES ?
					 errhint("Use %s_agg() or %s_create() to make a filter, and membership_contains() to look elements up in an index.",
							 kind_name(kind), kind_name(kind)) :
					 errhint("Use %s_agg() or %s_create() to make a filter.",
							 kind_name(kind), kind_name(kind))));
	SET_VARSIZE(result, VARHDRSZ + bytes - CHECKSUM_BYTES);
	PG_RETURN_POINTER(result);
}

SQL_FUNCTIONS(in, filter_in)

/* Append bytes in base64.  All calls but the last must pass whole groups of bytes. */
static void
encode(const uint8 *bytes, int count, char *base64, int room, int *length)
{
	for (int done = 0; done < count;)
	{
		int			some = Min(count - done, BASE64_BYTES * BASE64_GROUPS);
		int			chars = pg_b64_encode((const void *) (bytes + done), some,
										  base64 + *length, room - *length);

		CHECK_FOR_INTERRUPTS();
		if (chars < 0)
			elog(ERROR, "could not encode a filter");
		done += some;
		*length += chars;
	}
}

SQL_FUNCTION(bloomfilter_out)
{
	const uint8 *image = value_image(PG_GETARG_DATUM(0));
	int			bytes = image_bytes(image);
	int			room = ((bytes + CHECKSUM_BYTES) / BASE64_BYTES + 1) * BASE64_CHARS;
	char	   *base64 = palloc(room + 1);
	int			rest = bytes % BASE64_BYTES;
	uint8		end[BASE64_BYTES + CHECKSUM_BYTES];
	int			length = 0;

	/* the image may end within a group, which the checksum continues */
	encode(image, bytes - rest, base64, room, &length);
	memcpy(end, image + bytes - rest, rest);
	put64(end + rest, checksum(image, bytes));
	encode(end, rest + CHECKSUM_BYTES, base64, room, &length);
	base64[length] = '\0';
	PG_RETURN_CSTRING(base64);
}

static Datum
filter_recv(FunctionCallInfo fcinfo, FilterKind kind)
{
	StringInfo	message = (StringInfo) PG_GETARG_POINTER(0);
	int			bytes = message->len - message->cursor;
	struct varlena *result = palloc(VARHDRSZ + bytes);

	SET_VARSIZE(result, VARHDRSZ + bytes);
	pq_copymsgbytes(message, VARDATA(result), bytes);
	PG_RETURN_POINTER(value_from_external(result, kind));
}

SQL_FUNCTIONS(recv, filter_recv)

/* The type's binary output function, and the cast to bytea */
SQL_FUNCTION(bloomfilter_send)
{
	const uint8 *image = value_image(PG_GETARG_DATUM(0));
	uint64		bytes = image_bytes(image);
	bytea	   *external = palloc(VARHDRSZ + bytes + CHECKSUM_BYTES);

	SET_VARSIZE(external, VARHDRSZ + bytes + CHECKSUM_BYTES);
	/* each pass over the largest filter takes some tenths of a second */
	CHECK_FOR_INTERRUPTS();
	memcpy(VARDATA(external), image, bytes);
	CHECK_FOR_INTERRUPTS();
	put64((uint8 *) VARDATA(external) + bytes, checksum(image, bytes));
	PG_RETURN_BYTEA_P(external);
}

SQL_RESULT(bloomfilter_bloom_from_bytea,
		   PointerGetDatum(value_from_external(PG_GETARG_BYTEA_P_COPY(0), FILTER_BLOOM)))
SQL_RESULT(bloomfilter_cuckoo_from_bytea,
		   PointerGetDatum(value_from_external(PG_GETARG_BYTEA_P_COPY(0), FILTER_CUCKOO)))

/* Free value_image()'s copy, if any, as sorts do not reset the context between calls. */
static void
release_image(Datum value, const uint8 *image)
{
	struct varlena *pointer = (struct varlena *) DatumGetPointer(value);
	struct varlena *flat = (struct varlena *) (image - VARHDRSZ);

	if (!VARATT_IS_EXTERNAL_EXPANDED(pointer) && flat != pointer)
		pfree(flat);
}

/* Compare the first bytes of two values.  Returns 0 if they do not decide the order. */
static int
compare_first_bytes(Datum a, Datum b)
{
	struct varlena *first = detoast_attr_slice((struct varlena *) DatumGetPointer(a),
											   0, COMPARE_FIRST_BYTES);
	struct varlena *second = detoast_attr_slice((struct varlena *) DatumGetPointer(b),
												0, COMPARE_FIRST_BYTES);
	const uint8 *x = (const uint8 *) VARDATA(first);
	const uint8 *y = (const uint8 *) VARDATA(second);
	uint64		bytes = Min(image_bytes(x), image_bytes(y));
	int			result = 0;

	/* hashes that are not sorted cannot be compared by their first bytes */
	if (!image_is_unsorted(x) && !image_is_unsorted(y))
		result = memcmp(x, y, Min(bytes, COMPARE_FIRST_BYTES));
	pfree(first);
	pfree(second);
	return result;
}

static bool
is_stored(Datum value)
{
	return VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(value));
}

/* Compare two filters by their bytes, then by their length; see memcmp() for the result. */
static int
compare(FunctionCallInfo fcinfo)
{
	Datum		values[] = {PG_GETARG_DATUM(0), PG_GETARG_DATUM(1)};
	const uint8 *a;
	const uint8 *b;
	uint64		a_bytes;
	uint64		b_bytes;
	int			result = 0;

	if ((is_stored(values[0]) || is_stored(values[1])) &&
		!VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(values[0])) &&
		!VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(values[1])))
		result = compare_first_bytes(values[0], values[1]);
	if (result != 0)
		return result;

	a = value_image(values[0]);
	b = value_image(values[1]);
	a_bytes = image_bytes(a);
	b_bytes = image_bytes(b);
	result = memcmp(a, b, Min(a_bytes, b_bytes));
	if (result == 0 && a_bytes != b_bytes)
		result = a_bytes < b_bytes ? -1 : 1;
	release_image(values[0], a);
	release_image(values[1], b);
	return result;
}

/* The operators, and the function of the btree operator class */
SQL_RESULT(bloomfilter_eq, BoolGetDatum(compare(fcinfo) == 0))
SQL_RESULT(bloomfilter_ne, BoolGetDatum(compare(fcinfo) != 0))
SQL_RESULT(bloomfilter_lt, BoolGetDatum(compare(fcinfo) < 0))
SQL_RESULT(bloomfilter_le, BoolGetDatum(compare(fcinfo) <= 0))
SQL_RESULT(bloomfilter_ge, BoolGetDatum(compare(fcinfo) >= 0))
SQL_RESULT(bloomfilter_gt, BoolGetDatum(compare(fcinfo) > 0))
SQL_RESULT(bloomfilter_cmp, Int32GetDatum(compare(fcinfo)))

/* Hash a filter's bytes for the hash operator class, whose equality compares the bytes. */
static uint64
hash_value(Datum value, uint64 seed)
{
	const uint8 *image = value_image(value);
	Datum		hash = hash_any_extended(image, image_bytes(image), seed);

	release_image(value, image);
	return DatumGetUInt64(hash);
}

/* A 32-bit hash must be the lower half of the 64-bit hash with seed 0 */
SQL_RESULT(bloomfilter_hash_value,
		   UInt32GetDatum((uint32) hash_value(PG_GETARG_DATUM(0), 0)))

SQL_RESULT(bloomfilter_hash_value_extended,
		   UInt64GetDatum(hash_value(PG_GETARG_DATUM(0), PG_GETARG_INT64(1))))
