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
 *		a letter		one of the leaf_types[] in element_canonical.c
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

#include "access/htup_details.h"
#include "access/transam.h"
#include "access/tupdesc.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/multirangetypes.h"
#include "utils/rangetypes.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "element.h"
#include "element_canonical.h"

/* Length of a NULL part; no other length is negative */
#define PART_NULL			(-1)

/* Flags of a range; our own, though PostgreSQL numbers its flags alike */
#define CANONICAL_EMPTY		0x01
#define CANONICAL_LOWER_INC	0x02
#define CANONICAL_UPPER_INC	0x04
#define CANONICAL_LOWER_INF	0x08
#define CANONICAL_UPPER_INF	0x10

/*
 * The buffer of canonical bytes is kept from one element to the next unless
 * it has grown past this: one huge element should not hold memory for the
 * rest of a query.
 */
#define BUFFER_KEEP			(1024 * 1024)

static ElementNode *make_node(ElementState *state, Oid type, Oid collation,
							  const ElementNode *like);

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
				 errdetail("All records of an array must have the same column types, and a NULL record has none."),
				 errhint("Cast each record to a composite type, for example ROW(1, 'a')::my_type.")));

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
				 errhint("Cast the element to a type that has one, for example $1::text.")));
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
				 errmsg("range type %s has an operator class that is not its subtype's default",
						format_type_be(range->type_id)),
				 errdetail("Bounds that are equal by this operator class may have different hashes.")));
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

	hash = canonical_hash(buf->data, buf->len, seed);
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
	return current_structure(hasher->state);
}
