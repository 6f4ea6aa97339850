/*
 * class.c
 *	  Compute and name the class of an element; docs/dev/format.md has the tokens of a class.
 */
#include "class.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_type.h"
#include "canonical.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

/* The first byte of a class whose description is longer than eight bytes */
#define CLASS_HASHED		'#'

/* Append the tokens of a node's last value, with or without the names of types. */
static void
describe(ElementNode *node, bool names, StringInfo description)
{
	RecordLayout *layout = node->layout;

	check_stack_depth();

	if (node->token == TOKEN_RECORD && !node->seen)
	{
		appendStringInfoChar(description, TOKEN_RECORD_UNSEEN);
		return;
	}
	appendStringInfoChar(description, node->token);
	switch (node->token)
	{
		case TOKEN_ENUM:
		case TOKEN_OTHER:
			if (names)
				appendStringInfoString(description, node->name);
			break;
		case TOKEN_ARRAY:
		case TOKEN_RANGE:
			describe(node->part, names, description);
			break;
		case TOKEN_MULTIRANGE:
			/* the parts are ranges: omit the token of a range */
			describe(node->part->part, names, description);
			break;
		case TOKEN_RECORD:
			for (int i = 0; i < layout->desc->natts; i++)
				if (layout->columns[i] != NULL)
					describe(layout->columns[i], names, description);
			appendStringInfoChar(description, TOKEN_RECORD_END);
			break;
	}
}

/* Append a type's name, without its schema, in UTF-8 and quoted. */
static void
append_quoted(StringInfo description, const char *name)
{
	StringInfoData utf8;

	initStringInfo(&utf8);
	append_utf8(&utf8, name, strlen(name));
	appendStringInfoChar(description, TOKEN_QUOTE);
	for (int i = 0; i < utf8.len; i++)
	{
		if (utf8.data[i] == TOKEN_QUOTE)
			appendStringInfoChar(description, TOKEN_QUOTE);
		appendStringInfoChar(description, utf8.data[i]);
	}
	appendStringInfoChar(description, TOKEN_QUOTE);
	pfree(utf8.data);
}

/* Return the quoted name of a type, as it is in descriptions; palloc'd. */
char *
quoted_type_name(Oid type)
{
	HeapTuple	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	StringInfoData quoted;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for type %u", type);
	initStringInfo(&quoted);
	append_quoted(&quoted, NameStr(((Form_pg_type) GETSTRUCT(tuple))->typname));
	ReleaseSysCache(tuple);
	return quoted.data;
}

static ElementClass
pack_class(const char *description, size_t length)
{
	uint8		bytes[sizeof(ElementClass)] = {0};

	if (length > sizeof(bytes))
		return (canonical_hash(description, length, 0) << BITS_PER_BYTE) |
			CLASS_HASHED;
	memcpy(bytes, description, length);
	return get64(bytes);
}

/* Does the class have the hash of a description, instead of the description? */
bool
element_class_is_hashed(ElementClass class)
{
	return (uint8) class == CLASS_HASHED;
}

/* Is this the class of arrays whose elements are of class "part"? */
bool
element_class_is_array_of(ElementClass class, ElementClass part)
{
	return class == (part << BITS_PER_BYTE | TOKEN_ARRAY);
}

/* Compute the class of a node's last value. */
ElementClass
current_class(ElementNode *node)
{
	StringInfoData description;
	ElementClass class;

	initStringInfo(&description);
	describe(node, true, &description);
	class = pack_class(description.data, description.len);
	pfree(description.data);
	return class;
}

/*
 * Append the attribute number and type of each column of all records in an element.
 * Returns true if one of the records has a named type, which can be altered.
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
			/* include the number of dropped columns, to notice ADD and DROP */
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
 * Return a number that changes when the columns of a composite type in the element change,
 * which invalidates stored hashes; 0 without a composite type.  Of an anonymous record, it
 * covers the columns of the last value.
 */
uint64
element_structure(const ElementHasher *hasher)
{
	StringInfoData columns;
	uint64		structure = 0;

	initStringInfo(&columns);
	if (append_columns(hasher->root, &columns))
		structure = Max(canonical_hash(columns.data, columns.len, 0), 1);
	pfree(columns.data);
	return structure;
}

/*
 * Return a number for the class without the names of types, which ALTER TYPE may change;
 * not 0.  Values of types that share an operator class have the same hashes if this number
 * is the same.
 */
uint64
element_tokens(const ElementHasher *hasher)
{
	StringInfoData tokens;
	uint64		number;

	initStringInfo(&tokens);
	describe(hasher->root, false, &tokens);
	number = Max(canonical_hash(tokens.data, tokens.len, 0), 1);
	pfree(tokens.data);
	return number;
}

/* ---- The name of a class ---- */

/*
 * Append the name of a type that is quoted at *at, and advance *at over it.  Bytes that are
 * not printable ASCII are appended as \x and two digits, because the name is in UTF-8.
 * Returns false if the quotes are not valid.
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
 * Append a readable name of the description at *at or, with "is_cast", an expression that
 * casts values to its type, and advance *at.  Returns false if the description is not valid
 * or, with "is_cast", if a part has no type to cast to.
 */
static bool
read_description(const char **at, bool is_cast, StringInfo text)
{
	char		token = *(*at)++;
	const LeafType *leaf = leaf_type_of_token(token);
	bool		bracket;

	if (is_cast && !leaf && token != TOKEN_ARRAY && token != TOKEN_RECORD)
		return false;
	switch (token)
	{
		case TOKEN_ARRAY:
			if (is_cast && leaf_type_of_token(**at) == NULL)
				return false;
			/* "range of integer[]" would be a range of arrays */
			bracket = (**at == TOKEN_RANGE || **at == TOKEN_MULTIRANGE);
			if (bracket)
				appendStringInfoChar(text, '(');
			if (!read_description(at, is_cast, text))
				return false;
			appendStringInfoString(text, bracket ? ")[]" : "[]");
			return true;
		case TOKEN_RANGE:
			appendStringInfoString(text, "range of ");
			return read_description(at, is_cast, text);
		case TOKEN_MULTIRANGE:
			appendStringInfoString(text, "multirange of ");
			return read_description(at, is_cast, text);
		case TOKEN_RECORD:
			appendStringInfoString(text, is_cast ? "ROW(" : "(");
			for (int i = 0; **at != TOKEN_RECORD_END; i++)
			{
				if (i > 0)
					appendStringInfoString(text, ", ");
				if (!read_description(at, is_cast, text))
					return false;
			}
			(*at)++;
			appendStringInfoChar(text, ')');
			return true;
		case TOKEN_RECORD_UNSEEN:
			appendStringInfoString(text, "record");
			return true;
		case TOKEN_ENUM:
			appendStringInfoString(text, "enum ");
			return name_type(at, text);
		case TOKEN_OTHER:
			appendStringInfoString(text, "type ");
			return name_type(at, text);
	}
	if (leaf == NULL)
		return false;
	if (is_cast)
		/* integers are one class: cast to the type with the most values */
		appendStringInfo(text, "value::%s",
						 format_type_be(leaf->type == INT4OID ? INT8OID : leaf->type));
	else
		appendStringInfoString(text, leaf->name);
	return true;
}

/* Return the name of a form of another system's elements; palloc'd. */
char *
foreign_form_name(const ForeignType *type)
{
	if (type->form == FORM_NUMERIC)
		return psprintf("numeric(%d,%d)", type->precision, type->scale);
	return pstrdup(foreign_forms[type->form].name);
}

/* Return the name of a type, or of its array type, that has this hashed class, or NULL. */
static char *
name_by_types(ElementClass class)
{
	Relation	types = table_open(TypeRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(types, InvalidOid, false, NULL, 0, NULL);
	StringInfoData of_array;	/* TOKEN_ARRAY, and the type's description */
	StringInfoData name;
	HeapTuple	tuple;
	const char *found = NULL;

	initStringInfo(&of_array);
	initStringInfo(&name);
	while (found == NULL && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_type type = (Form_pg_type) GETSTRUCT(tuple);

		CHECK_FOR_INTERRUPTS();
		/* a domain has the class of its base type */
		if (type->typtype == TYPTYPE_PSEUDO || type->typtype == TYPTYPE_DOMAIN)
			continue;
		resetStringInfo(&of_array);
		appendStringInfoChar(&of_array, TOKEN_ARRAY);
		appendStringInfoChar(&of_array, type->typtype == TYPTYPE_ENUM ?
							 TOKEN_ENUM : TOKEN_OTHER);
		append_quoted(&of_array, NameStr(type->typname));
		if (pack_class(of_array.data + 1, of_array.len - 1) == class)
			found = of_array.data + 1;
		else if (pack_class(of_array.data, of_array.len) == class)
			found = of_array.data;
	}
	if (found)
		(void) read_description(&found, false, &name);
	systable_endscan(scan);
	table_close(types, AccessShareLock);
	return name.len > 0 ? name.data : NULL;
}

/* The hashed class that was named last, with its name; NULL if no type has the class */
static struct
{
	ElementClass class;			/* ELEMENT_CLASS_NONE if nothing is cached */
	char	   *name;
}			last_named;

static void
forget_last_named(Datum arg, int cache, uint32 hash)
{
	last_named.class = ELEMENT_CLASS_NONE;
}

/* Return name_by_types(), which is slow, or its cached last result.  Do not free it. */
static const char *
hashed_class_name(ElementClass class)
{
	static bool registered = false;
	char	   *name;

	if (last_named.class == class)
		return last_named.name;
	if (!registered)
		CacheRegisterSyscacheCallback(TYPEOID, forget_last_named, (Datum) 0);
	registered = true;
	name = name_by_types(class);
	if (name)
		name = MemoryContextStrdup(TopMemoryContext, name);
	if (last_named.name)
		pfree(last_named.name);
	last_named.name = name;
	last_named.class = class;
	return name;
}

/*
 * Return the name of a class, palloc'd: "integer", "text[]", "(integer, text)", "range of
 * date", "enum mood"; "guava text" in a filter of another system.  For a hashed class,
 * return the name of a type that has this class, or "structure #" and 14 hexadecimal
 * digits.  Accepts any number, as stored filters may be forged.
 */
char *
element_class_name(ElementClass class)
{
	char		description[sizeof(ElementClass) + 1] = {0};
	const char *at = description;
	StringInfoData name;
	ForeignType foreign;

	if (class == ELEMENT_CLASS_NONE)
		return pstrdup("none");

	if (foreign_type(class, &foreign))
		return psprintf("%s %s", foreign.format->name, foreign_form_name(&foreign));

	if (element_class_is_hashed(class))
	{
		const char *of_type = hashed_class_name(class);

		return of_type ? pstrdup(of_type) :
			psprintf("structure #%014llx", (unsigned long long) (class >> BITS_PER_BYTE));
	}

	put64((uint8 *) description, class);
	initStringInfo(&name);
	if (read_description(&at, false, &name) &&
		pack_class(description, at - description) == class)
		return name.data;

	pfree(name.data);
	return psprintf("unknown structure %016llx", (unsigned long long) class);
}

/*
 * Return a cast to elements of this class, for hints, palloc'd: "value::text[]",
 * "ROW(value::bigint, value::text)".  Returns NULL if the class is hashed or not valid, or
 * contains ranges, enums, or types of token X.  We show "value", not "$1", which some
 * drivers would take for a parameter without a value.
 */
char *
element_class_cast(ElementClass class)
{
	char		description[sizeof(ElementClass) + 1] = {0};
	const char *at = description;
	StringInfoData cast;

	put64((uint8 *) description, class);
	initStringInfo(&cast);
	if (class != ELEMENT_CLASS_NONE && read_description(&at, true, &cast) && *at == '\0')
		return cast.data;
	pfree(cast.data);
	return NULL;
}
