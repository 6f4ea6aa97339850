/*
 * foreign.c
 *	  Filters of other systems: bloom_import(), bloom_export(), bloom_create_foreign().
 *
 * filter/foreign/io.c reads and writes the other systems' bytes, filter/foreign/foreign.c
 * implements operations on their filters, and foreign_element.c converts elements.
 */
#include "value/value.h"

#include "filter/foreign/foreign.h"
#include "utils/builtins.h"

/* Separates the name of a format from its version */
#define VERSION_MARK	':'

/* How bytes begin that Redis wrote: DUMP's of a module's key, and a file of the database */
#define DUMP_BEGIN			"\x07\x81"
#define RDB_BEGIN			"REDIS"
#define BEGIN_LENGTH(begin) (sizeof(begin) - 1)

#define HINT_SCANDUMP \
	errhint("Load the key into a Redis with RedisBloom, and save the chunks of BF.SCANDUMP or CF.SCANDUMP.")

/*
 * Is "format" the name of a format in the table, with or without its version?  The version
 * is required if needs_shape: the bytes of such a filter do not show it.
 */
static bool
names_format(const char *format, const ForeignFormat *entry)
{
	size_t		length = strlen(format);

	return strncmp(format, entry->name, length) == 0 &&
		(entry->name[length] == '\0' ||
		 (entry->name[length] == VERSION_MARK && !entry->needs_shape));
}

/* Return the format of exactly this name; raises an error if there is none. */
static const ForeignFormat *
find_format(const char *format)
{
	StringInfoData names;

	initStringInfo(&names);
	for (int i = 0; i < foreign_format_count; i++)
	{
		if (strcmp(format, foreign_formats[i]->name) == 0)
			return foreign_formats[i];
		appendStringInfo(&names, "%s%s", i > 0 ? ", " : "", foreign_formats[i]->name);
	}
	/* its commands are those of RedisBloom, but not its hashes */
	if (pg_strcasecmp(format, "valkey") == 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot read or write filters of Valkey"),
				 errdetail("Its Bloom filters have other bytes and hashes than RedisBloom's, and no BF.SCANDUMP."),
				 errhint("Build the filter from its elements.")));
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown format of filters: \"%s\"", format),
			 errhint("Formats are %s.", names.data)));
}

/* Parse "numeric(p,s)" or "numeric(p)" into precision and scale; false if not valid. */
static bool
parse_numeric(const char *element, ForeignType *type)
{
	char	   *written;

	/* sscanf() also accepts blanks and signs: print its result to compare */
	if (sscanf(element, "numeric(%2d,%2d)", &type->precision, &type->scale) == 2)
		written = psprintf("numeric(%d,%d)", type->precision, type->scale);
	else if (sscanf(element, "numeric(%2d)", &type->precision) == 1)
	{
		type->scale = 0;
		written = psprintf("numeric(%d)", type->precision);
	}
	else
		return false;
	return strcmp(element, written) == 0 && type->precision >= 1 &&
		type->precision <= FOREIGN_MAX_PRECISION &&
		type->scale >= 0 && type->scale <= type->precision;
}

/* Return a format's form of elements by its name; raises an error if there is none. */
static ForeignType
find_form(const ForeignFormat *format, const char *element)
{
	ForeignType type = {.format = format};
	StringInfoData names;

	initStringInfo(&names);
	for (int form = 0; form < FOREIGN_FORMS; form++)
	{
		if ((format->forms & 1u << form) == 0)
			continue;
		type.form = (ForeignForm) form;
		if (form == FORM_NUMERIC ? parse_numeric(element, &type) :
			strcmp(element, foreign_forms[form].name) == 0)
			return type;
		appendStringInfo(&names, "%s%s%s", names.len > 0 ? ", " : "",
						 foreign_forms[form].name,
						 form == FORM_NUMERIC ? "(precision,scale), precision up to 38" : "");
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("filters of format %s have no elements of form \"%s\"",
					format->name, element),
			 errhint("Forms of this format are %s.", names.data)));
}

/* Set source->bits and source->hashes from the arguments, if the format needs them. */
static void
get_shape(FunctionCallInfo fcinfo, ForeignSource *source)
{
	const char *name = source->format->name;

	if (!source->format->needs_shape)
	{
		if (!PG_ARGISNULL(3) || !PG_ARGISNULL(4))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("format %s records the number of bits and hashes",
							name),
					 errhint("Omit the arguments bits and hashes.")));
		return;
	}
	if (PG_ARGISNULL(3) || PG_ARGISNULL(4))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("format %s does not record the number of bits and hashes",
						name),
				 errhint("Pass those that the filter was written with, as arguments bits and hashes.")));
	source->bits = PG_GETARG_INT64(3);
	source->hashes = PG_GETARG_INT32(4);
	check_number("number of bits", PG_GETARG_INT64(3), 1, IMAGE_MAX_BITS);
	check_number("number of hashes", PG_GETARG_INT32(4), 1, FOREIGN_MAX_HASHES);
}

/* Raise an error if the bytes, which are no chunks of RedisBloom, are of another form of Redis's. */
static void
refuse_dump(const ForeignSource *source)
{
	if (strncmp(source->format->name, "redisbloom", strlen("redisbloom")) != 0)
		return;
	if (source->length >= BEGIN_LENGTH(DUMP_BEGIN) &&
		memcmp(source->bytes, DUMP_BEGIN, BEGIN_LENGTH(DUMP_BEGIN)) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("the bytes are a reply of Redis's DUMP, not chunks of BF.SCANDUMP"),
				 HINT_SCANDUMP));
	if (source->length >= BEGIN_LENGTH(RDB_BEGIN) &&
		memcmp(source->bytes, RDB_BEGIN, BEGIN_LENGTH(RDB_BEGIN)) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("the bytes are an RDB file of Redis, not chunks of BF.SCANDUMP"),
				 HINT_SCANDUMP));
}

/* bloom_import(bytes bytea, format text, element text, bits bigint, hashes int) */
SQL_FUNCTION(bloomfilter_import)
{
	bytea	   *bytes;
	const char *format;
	const char *fault;
	ForeignSource source = {0};
	ForeignImport import;
	ForeignType type;
	FilterParams params = {.kind = FILTER_BLOOM};
	struct varlena *result;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2))
		PG_RETURN_NULL();
	format = text_to_cstring(PG_GETARG_TEXT_PP(1));
	source.format = find_format(format);
	/* a name without a version stands for all versions */
	source.any_version = strchr(format, VERSION_MARK) == NULL;
	type = find_form(source.format, text_to_cstring(PG_GETARG_TEXT_PP(2)));
	get_shape(fcinfo, &source);
	bytes = PG_GETARG_BYTEA_PP(0);
	source.bytes = (const uint8 *) VARDATA_ANY(bytes);
	source.length = VARSIZE_ANY_EXHDR(bytes);
	fault = foreign_parse(&source, &import);
	if (fault == NULL)
	{
		check_size(import.plan.bytes);
		type.format = import.format;
		params.class = foreign_class(&type);
		params.seed = import.seed;
		result = palloc_extended(VARHDRSZ + import.plan.bytes,
								 MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
		SET_VARSIZE(result, VARHDRSZ + import.plan.bytes);
		foreign_import(&source, &import, &params, (uint8 *) VARDATA(result));
		fault = image_check((uint8 *) VARDATA(result), import.plan.bytes, FILTER_BLOOM);
	}
	if (fault)
	{
		refuse_dump(&source);
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("invalid filter of format %s: %s", format, fault)));
	}
	/* the number of bits may be wrong, though it fits: show what we assume */
	if (import.format->needs_shape && import.plan.layers > 1)
		ereport(NOTICE,
				(errmsg("interpreting %llu bytes as %d strings of %llu bits",
						(unsigned long long) source.length, import.plan.layers,
						(unsigned long long) source.bits)));
	PG_RETURN_POINTER(result);
}

/* bloom_export(filter bloom, format text): returns the other system's bytes */
SQL_FUNCTION(bloomfilter_export)
{
	const uint8 *image = value_image(PG_GETARG_DATUM(0));
	const char *format = text_to_cstring(PG_GETARG_TEXT_PP(1));
	ForeignType type;
	uint64		bytes;
	bytea	   *result;

	(void) find_format(format);
	if (!image_is_foreign(image) || !foreign_type(image_class(image), &type))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("filter was not created by bloom_import() or bloom_create_foreign()"),
				 errdetail("Its layout is %s.", layout_of(image)),
				 errhint("Create a filter with bloom_create_foreign(), and add the elements to it.")));
	if (!names_format(format, type.format))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("filter is of format %s, not %s",
						type.format->name, format),
				 errhint("Export it as %s, or add the elements to a filter of bloom_create_foreign().",
						 type.format->name)));
	bytes = foreign_export_bytes(image);
	result = palloc_extended(VARHDRSZ + bytes, MCXT_ALLOC_HUGE);
	SET_VARSIZE(result, VARHDRSZ + bytes);
	foreign_export(image, (uint8 *) VARDATA(result));
	PG_RETURN_BYTEA_P(result);
}

/* bloom_create_foreign(format, element, capacity, error_rate) */
SQL_FUNCTION(bloomfilter_create_foreign)
{
	const char *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	const ForeignFormat *format = strcmp(name, redisbloom_nonscaling_format.name) == 0 ?
		&redisbloom_nonscaling_format : find_format(name);
	ForeignType type = find_form(format, text_to_cstring(PG_GETARG_TEXT_PP(1)));
	FilterParams params = {
		.capacity = PG_GETARG_INT64(2),
		.error_rate = PG_GETARG_FLOAT8(3),
		.kind = FILTER_BLOOM,
		.class = foreign_class(&type)
	};
	FilterPlan	plan;

	if (!format->size)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("filters of format %s can only be imported", format->name),
				 errhint("Create a filter with cuckoo_create(), or with another format.")));
	check_capacity(PG_GETARG_INT64(2));
	check_error_rate(params.error_rate);
	check_plan(foreign_plan(format, &params, &plan), &plan, NULL);
	PG_RETURN_POINTER(value_make_planned(&params, &plan));
}
