/*
 * hash.c
 *	  SQL functions of an element's hash: bloom_hash(), bloom_shard(), bloom_element().
 *
 * The type hashed_element holds the hash of an element of any type, so that an aggregate of
 * hashed elements needs no polymorphic argument.  docs/dev/format.md has its formats.
 */
#include "callsite.h"
#include "filter/bytes.h"
#include "filter/filter.h"
#include "libpq/pqformat.h"
#include "utils/builtins.h"

/* Bytes of the binary format, whose numbers have the offsets of HashedElement's fields */
#define ELEMENT_BYTES		24

/* Hexadecimal digits of a byte */
#define HEX_DIGITS			2

/* No filter should have this seed: with it, a shard's elements would use few blocks. */
#define SHARD_SEED		UINT64CONST(0x7368617264736565)

/* bloom_hash(element anycompatible, seed bigint) */
SQL_FUNCTION(bloomfilter_hash)
{
	CallSite   *site = call_site(fcinfo, 0, false);

	PG_RETURN_INT64(element_hash(site->hasher, PG_GETARG_DATUM(0), PG_GETARG_INT64(1)));
}

/* bloom_shard(element anycompatible, shards integer): from 0 to shards - 1 */
SQL_FUNCTION(bloomfilter_shard)
{
	CallSite   *site = call_site(fcinfo, 0, false);
	int32		shards = PG_GETARG_INT32(1);

	if (shards < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of shards must be at least 1, not %d", shards)));
	PG_RETURN_INT32(mulhi64(element_hash(site->hasher, PG_GETARG_DATUM(0),
										 SHARD_SEED), shards));
}

/* bloom_element(element, seed): not strict, so that a NULL seed is an error */
SQL_FUNCTION(bloomfilter_element)
{
	CallSite   *site;
	HashedElement *element;

	StaticAssertStmt(sizeof(HashedElement) == ELEMENT_BYTES,
					 "the SQL script has the length of the external form");
	if (PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("seed of a hashed element must not be null")));
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	site = call_site(fcinfo, 0, false);
	element = palloc(sizeof(HashedElement));
	element->seed = PG_GETARG_INT64(1);
	element->hash = element_hash(site->hasher, PG_GETARG_DATUM(0), element->seed);
	element->class = site->hasher->class;
	PG_RETURN_POINTER(element);
}

/* Make a hashed element from its binary format; NULL if its class is not valid. */
static HashedElement *
element_from_external(const uint8 *external)
{
	HashedElement *element;

	if (!check_element_class(external + offsetof(HashedElement, class)))
		return NULL;
	element = palloc(sizeof(HashedElement));
	element->hash = get64(external + offsetof(HashedElement, hash));
	element->class = get64(external + offsetof(HashedElement, class));
	element->seed = (int64) get64(external + offsetof(HashedElement, seed));
	return element;
}

static void
element_to_external(const HashedElement *element, uint8 *external)
{
	put64(external + offsetof(HashedElement, hash), element->hash);
	put64(external + offsetof(HashedElement, class), element->class);
	put64(external + offsetof(HashedElement, seed), (uint64) element->seed);
}

SQL_FUNCTION(bloomfilter_element_in)
{
	const char *text = PG_GETARG_CSTRING(0);
	HashedElement *element = NULL;
	uint8		external[ELEMENT_BYTES];

	if (strlen(text) == HEX_DIGITS * ELEMENT_BYTES &&
		strspn(text, "0123456789abcdefABCDEF") == HEX_DIGITS * ELEMENT_BYTES)
	{
		(void) hex_decode(text, HEX_DIGITS * ELEMENT_BYTES, (char *) external);
		element = element_from_external(external);
	}
	/* do not show the input: it may be a confidential element */
	if (element == NULL)
		INPUT_ERROR(fcinfo,
					(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
					 errmsg("invalid input syntax for type %s", "hashed_element"),
					 errhint("Use bloom_element() to make a hashed element.")));
	PG_RETURN_POINTER(element);
}

SQL_FUNCTION(bloomfilter_element_out)
{
	uint8		external[ELEMENT_BYTES];
	char	   *text = palloc0(HEX_DIGITS * ELEMENT_BYTES + 1);

	element_to_external(DatumGetHashedElement(PG_GETARG_DATUM(0)), external);
	(void) hex_encode((const char *) external, ELEMENT_BYTES, text);
	PG_RETURN_CSTRING(text);
}

SQL_FUNCTION(bloomfilter_element_recv)
{
	StringInfo	message = (StringInfo) PG_GETARG_POINTER(0);
	const char *external = pq_getmsgbytes(message, ELEMENT_BYTES);
	HashedElement *element = element_from_external((const uint8 *) external);

	if (element == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("invalid class of a hashed element")));
	PG_RETURN_POINTER(element);
}

SQL_FUNCTION(bloomfilter_element_send)
{
	bytea	   *external = palloc(VARHDRSZ + ELEMENT_BYTES);

	SET_VARSIZE(external, VARHDRSZ + ELEMENT_BYTES);
	element_to_external(DatumGetHashedElement(PG_GETARG_DATUM(0)),
						(uint8 *) VARDATA(external));
	PG_RETURN_BYTEA_P(external);
}
