/*
 * io.c
 *	  Input and output of filters; equality and hash of whole filters.
 *
 * Binary format and bytea are the bytes of the value's image (filter/image.h),
 * text is their base64.  Every input function validates with image_check().  Two
 * values are equal if their bytes are equal.
 */
#include "value.h"

#include "common/base64.h"
#include "common/hashfn.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"
#if PG_VERSION_NUM >= 160000
#include "nodes/miscnodes.h"
#include "varatt.h"
#define FILTER_ERETURN(fcinfo, ...) ereturn((fcinfo)->context, (Datum) 0, __VA_ARGS__)
#else
#define FILTER_ERETURN(fcinfo, ...) ereport(ERROR, __VA_ARGS__)
#endif

SQL_FUNCTIONS(in);
SQL_FUNCTION(bloomfilter_out);
SQL_FUNCTIONS(recv);
SQL_FUNCTION(bloomfilter_send);
SQL_FUNCTIONS(from_bytea);
SQL_FUNCTION(bloomfilter_to_bytea);
SQL_FUNCTION(bloomfilter_eq);
SQL_FUNCTION(bloomfilter_ne);
SQL_FUNCTION(bloomfilter_hash_value);
SQL_FUNCTION(bloomfilter_hash_value_extended);

/*
 * Base64 makes four characters of three bytes.  pg_b64_enc_len() and
 * pg_b64_dec_len() would overflow with the largest filters.
 */
#define BASE64_BYTES	3
#define BASE64_CHARS	4

/* Groups to convert between two interrupt checks: takes milliseconds */
#define BASE64_GROUPS	((size_t) 1 << 20)

/* Raise an error unless the bytes are a valid image of this kind. */
static void
check_image(const void *image, uint64 bytes, FilterKind kind)
{
	const char *fault = image_check(image, bytes, kind);

	if (fault)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("invalid %s filter: %s", kind_name(kind), fault)));
}

/*
 * Decode base64 into memory with room for "room" bytes.  Returns the number of
 * bytes decoded, or -1 if this is not base64.
 */
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
		if (some < 0 ||
			(done < length && (size_t) some < BASE64_BYTES * BASE64_GROUPS))
			return -1;
		decoded += some;
	}
	return decoded;
}

/* The type's input function: base64 of the image */
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
	fault = bytes < 0 ? "not base64" :
		image_check((uint8 *) VARDATA(result), bytes, kind);
	if (fault)
		FILTER_ERETURN(fcinfo,
					   (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
						errmsg("invalid input syntax for type %s: %s",
							   kind_name(kind), fault),
						errhint("Use %s_agg() or %s_create() to make a filter.",
								kind_name(kind), kind_name(kind))));
	SET_VARSIZE(result, VARHDRSZ + bytes);
	PG_RETURN_POINTER(result);
}

Datum
bloomfilter_bloom_in(PG_FUNCTION_ARGS)
{
	return filter_in(fcinfo, FILTER_BLOOM);
}

Datum
bloomfilter_cuckoo_in(PG_FUNCTION_ARGS)
{
	return filter_in(fcinfo, FILTER_CUCKOO);
}

Datum
bloomfilter_out(PG_FUNCTION_ARGS)
{
	const uint8 *image = value_image(PG_GETARG_DATUM(0));
	int			bytes = image_bytes(image);
	int			room = (bytes / BASE64_BYTES + 1) * BASE64_CHARS;
	char	   *base64 = palloc(room + 1);
	int			length = 0;

	for (int done = 0; done < bytes;)
	{
		int			some = Min(bytes - done, BASE64_BYTES * BASE64_GROUPS);
		int			chars = pg_b64_encode((const void *) (image + done), some,
										  base64 + length, room - length);

		CHECK_FOR_INTERRUPTS();
		if (chars < 0)
			elog(ERROR, "could not encode a filter");
		done += some;
		length += chars;
	}
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
	check_image(VARDATA(result), bytes, kind);
	PG_RETURN_POINTER(result);
}

Datum
bloomfilter_bloom_recv(PG_FUNCTION_ARGS)
{
	return filter_recv(fcinfo, FILTER_BLOOM);
}

Datum
bloomfilter_cuckoo_recv(PG_FUNCTION_ARGS)
{
	return filter_recv(fcinfo, FILTER_CUCKOO);
}

Datum
bloomfilter_send(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(value_copy_flat(PG_GETARG_DATUM(0)));
}

Datum
bloomfilter_to_bytea(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(value_copy_flat(PG_GETARG_DATUM(0)));
}

static Datum
filter_from_bytea(FunctionCallInfo fcinfo, FilterKind kind)
{
	struct varlena *bytes = PG_GETARG_BYTEA_P_COPY(0);

	check_image(VARDATA(bytes), VARSIZE(bytes) - VARHDRSZ, kind);
	PG_RETURN_POINTER(bytes);
}

Datum
bloomfilter_bloom_from_bytea(PG_FUNCTION_ARGS)
{
	return filter_from_bytea(fcinfo, FILTER_BLOOM);
}

Datum
bloomfilter_cuckoo_from_bytea(PG_FUNCTION_ARGS)
{
	return filter_from_bytea(fcinfo, FILTER_CUCKOO);
}

static bool
same_bytes(FunctionCallInfo fcinfo)
{
	const uint8 *a = value_image(PG_GETARG_DATUM(0));
	const uint8 *b = value_image(PG_GETARG_DATUM(1));

	return image_bytes(a) == image_bytes(b) &&
		memcmp(a, b, image_bytes(a)) == 0;
}

Datum
bloomfilter_eq(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(same_bytes(fcinfo));
}

Datum
bloomfilter_ne(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(!same_bytes(fcinfo));
}

/* For the hash operator class: hashes the bytes, which equality compares */
Datum
bloomfilter_hash_value(PG_FUNCTION_ARGS)
{
	const uint8 *image = value_image(PG_GETARG_DATUM(0));

	return hash_any(image, image_bytes(image));
}

Datum
bloomfilter_hash_value_extended(PG_FUNCTION_ARGS)
{
	const uint8 *image = value_image(PG_GETARG_DATUM(0));

	return hash_any_extended(image, image_bytes(image), PG_GETARG_INT64(1));
}
