/*
 * element.c
 *	  Convert a value of any type to the 64-bit hash that filters store.
 *
 * Filters move to other major versions, byte orders and clients, where PostgreSQL's hash
 * functions may differ.  So we convert an element to *canonical bytes*, and hash these by
 * XXH3_64bits_withSeed().  docs/dev/format.md specifies both, and the tokens of classes.
 *
 * Every element belongs to a *class* (class.h), which describes its structure.  Within a
 * class, values that are equal under "=" have the same canonical bytes, even if their types
 * differ: 1::int2 and 1::int8, 'a'::name and 'a '::bpchar(2).  Elements of different
 * classes cannot be compared.
 *
 * A tree of ElementNodes mirrors the type.  Each node appends the canonical bytes of a
 * value to a buffer; each part follows its length, so that no two values have the same
 * bytes.  Common scalar types have a function that hashes a value without the buffer.
 *
 * The structure of an anonymous record (of type "record") is known only from the header of
 * each value.  Its node caches the layout of the last value.  We compute the class again
 * only when a layout changes; ALTER TYPE may change the layout of a named type, too.
 *
 * Canonical bytes are limited to 1 GB, except those of text and bytea.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/multirangetypes.h"

#include "canonical.h"
#include "element.h"

/* Stands for the length of a part that is NULL */
#define PART_NULL			(-1)

/* Flags of a range in canonical bytes, which are independent of PostgreSQL's flags */
#define CANONICAL_EMPTY		0x01
#define CANONICAL_LOWER_INC	0x02
#define CANONICAL_UPPER_INC	0x04
#define CANONICAL_LOWER_INF	0x08
#define CANONICAL_UPPER_INF	0x10

/* Shrink the buffer of canonical bytes to this size before the next element. */
#define BUFFER_REUSE_MAX			(1024 * 1024)

static ElementNode *make_node(ElementHasher *hasher, Oid type, Oid collation,
							  const ElementNode *like);

/* Forget the structure of the last anonymous record, as this value has none. */
static void
reset_structure(ElementNode *node)
{
	while (node->token == TOKEN_ARRAY)
		node = node->part;
	if (node->seen)
	{
		node->seen = false;
		node->hasher->structure++;
	}
}

static inline void
append_part(ElementNode *node, StringInfo buf, Datum value)
{
	int			start = begin_part(buf);

	node->append(node, buf, value);
	end_part(buf, start);
}

/* Check that the last record of an array so far has the structure of those before it. */
static void
check_part_structure(ElementNode *node, bool first)
{
	ElementClass class;

	if (node->part_structure == node->hasher->structure && node->part_class != 0)
		return;
	class = current_class(node->part);
	Assert(first || node->part_class != 0);
	if (!first && class != node->part_class)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("records in an array differ in their structure"),
				 errdetail("All records of an array must have the same column types, and a NULL record has none."),
				 errhint("Cast each record to a composite type, for example ROW(1, 'a')::my_type.")));
	node->part_class = class;
	node->part_structure = node->hasher->structure;
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
		reset_structure(part);

	free_copy(array, value);
}

/* Append two bounds.  Those of discrete ranges are already stored in canonical form. */
static void
append_range_bounds(ElementNode *node, StringInfo buf,
					const RangeBound *lower, const RangeBound *upper)
{
	uint8		flags = 0;

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
	if (empty)
		append_uint8(buf, CANONICAL_EMPTY);
	else
		append_range_bounds(node, buf, &lower, &upper);
	free_copy(range, value);
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
		multirange_get_bounds(node->part->range_type, multirange, i, &lower, &upper);
		append_range_bounds(node->part, buf, &lower, &upper);
		end_part(buf, start);
	}
	free_copy(multirange, value);
}

/* Return the node of a column of "like", numbered from 0 without dropped columns. */
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
 * Set the layout of a record from its composite type.  The new layout replaces the old one
 * only when it is complete, so that an error leaves the old layout in place and no leak.
 */
static void
set_layout(ElementNode *node, Oid type, int32 typmod)
{
	MemoryContext mcxt = AllocSetContextCreate(CurrentMemoryContext,
											   "bloomfilter record layout",
											   ALLOCSET_SMALL_SIZES);
	MemoryContext oldcontext = MemoryContextSwitchTo(mcxt);
	RecordLayout *layout = palloc0(sizeof(RecordLayout));
	TupleDesc	desc;

	/* read this first, so that the next value notices a later change */
	layout->identifier = assign_record_type_identifier(type, typmod);
	desc = lookup_rowtype_tupdesc(type, typmod);
	/* constraints include the values of columns missing in old tuples */
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
		layout->columns[i] = make_node(node->hasher, column->atttypid,
									   column->attcollation,
									   like_column(node->like, layout->live));
		layout->live++;
	}

	MemoryContextSwitchTo(oldcontext);
	MemoryContextSetParent(mcxt, GetMemoryChunkContext(node));
	if (node->layout != NULL)
		MemoryContextDelete(GetMemoryChunkContext(node->layout));
	node->layout = layout;
	node->seen = false;
}

/*
 * Return the layout of a record: the last record's layout, if it is still the same.  The
 * meaning of a typmod of RECORD never changes; for other types, ask the type cache.
 */
static inline RecordLayout *
layout_for(ElementNode *node, Oid type, int32 typmod)
{
	const RecordLayout *last = node->layout;

	if (last == NULL ||
		!((type == RECORDOID && last->desc->tdtypeid == RECORDOID &&
		   last->desc->tdtypmod == typmod) ||
		  last->identifier == assign_record_type_identifier(type, typmod)))
		set_layout(node, type, typmod);
	if (!node->seen)
	{
		node->seen = true;
		node->hasher->structure++;
	}
	return node->layout;
}

static inline void
append_columns(const RecordLayout *layout, StringInfo buf,
			   const Datum *values, const bool *nulls)
{
	append_uint32(buf, layout->live);
	for (int i = 0; i < layout->desc->natts; i++)
	{
		ElementNode *column = layout->columns[i];

		if (column == NULL)
			continue;
		if (!nulls[i])
		{
			append_part(column, buf, values[i]);
			continue;
		}
		append_uint32(buf, PART_NULL);
		if (column->anonymous)
			reset_structure(column);
	}
}

static void
append_record(ElementNode *node, StringInfo buf, Datum value)
{
	HeapTupleHeader header = DatumGetHeapTupleHeader(value);
	HeapTupleData tuple;
	RecordLayout *layout;

	check_stack_depth();

	layout = layout_for(node, HeapTupleHeaderGetTypeId(header),
						HeapTupleHeaderGetTypMod(header));
	tuple.t_len = HeapTupleHeaderGetDatumLength(header);
	ItemPointerSetInvalid(&tuple.t_self);
	tuple.t_tableOid = InvalidOid;
	tuple.t_data = header;
	heap_deform_tuple(&tuple, layout->desc, layout->values, layout->nulls);
	append_columns(layout, buf, layout->values, layout->nulls);

	free_copy(header, value);
}

/* ---- Making a hasher ---- */

/* Raise an error unless, by the collation, only strings with the same bytes are equal. */
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

/* Make a node in the current memory context, not yet initialized for its type. */
static ElementNode *
new_node(ElementHasher *hasher, Oid type, Oid collation)
{
	ElementNode *node = palloc0(sizeof(ElementNode));

	node->type = type;
	node->collation = collation;
	node->hasher = hasher;
	node->portable = hasher->portable;
	return node;
}

/* Initialize a node to hash values by the type's extended hash function. */
static void
init_other(ElementNode *node)
{
	TypeCacheEntry *entry =
		lookup_type_cache(node->type, TYPECACHE_HASH_EXTENDED_PROC_FINFO);

	if (!OidIsValid(entry->hash_extended_proc))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("could not identify a hash function for type %s",
						format_type_be(node->type)),
				 errdetail("Elements of a filter are found by their hash, and type %s has no default hash operator class with an extended hash function.",
						   format_type_be(node->type)),
				 errhint("Cast the element to a type that has one, for example value::text.")));
	if (OidIsValid(get_typcollation(node->type)) && node->portable)
		check_collation(node->collation);

	node->token = TOKEN_OTHER;
	node->append = append_other;
	node->name = quoted_type_name(node->type);
	fmgr_info_copy(&node->hash_proc, &entry->hash_extended_proc_finfo,
				   CurrentMemoryContext);
}

static void
init_array(ElementNode *node, Oid element_type)
{
	node->token = TOKEN_ARRAY;
	node->append = append_array;
	node->part = make_node(node->hasher, element_type, node->collation,
						   node->like ? node->like->part : NULL);
	node->anonymous = node->part->anonymous;
	node->array_meta.element_type = element_type;
	get_typlenbyvalalign(element_type,
						 &node->array_meta.typlen,
						 &node->array_meta.typbyval,
						 &node->array_meta.typalign);
}

static void
init_range(ElementNode *node, TypeCacheEntry *range)
{
	TypeCacheEntry *subtype = lookup_type_cache(range->rngelemtype->type_id,
												TYPECACHE_CMP_PROC);

	/* equal bounds have equal canonical bytes only by this operator class */
	if (range->rng_cmp_proc_finfo.fn_oid != subtype->cmp_proc)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("range type %s has an operator class that is not its subtype's default",
						format_type_be(range->type_id)),
				 errdetail("Bounds that are equal by this operator class may have different hashes.")));
	node->token = TOKEN_RANGE;
	node->append = append_range;
	node->range_type = range;
	node->part = make_node(node->hasher, subtype->type_id, range->rng_collation, NULL);
}

/*
 * Initialize a node whose type is not in leaf_types[], by the kind of the type.  If a user
 * defined "=" for the type, canonical bytes may disagree with it: use the hash function.
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
			if (!node->portable)
			{
				/* append the OID, because labels may be renamed */
				node->append = append_oid;
				node->hasher->local = true;
			}
			break;
		case TYPTYPE_RANGE:
			init_range(node, lookup_type_cache(node->type, TYPECACHE_RANGE_INFO));
			break;
		case TYPTYPE_MULTIRANGE:
			entry = lookup_type_cache(node->type, TYPECACHE_MULTIRANGE_INFO);
			node->token = TOKEN_MULTIRANGE;
			node->append = append_multirange;

			/* "=" compares bounds, even if the range type has its own "=" */
			node->part = new_node(node->hasher, entry->rngtype->type_id, InvalidOid);
			init_range(node->part, entry->rngtype);
			break;
		case TYPTYPE_COMPOSITE:
			node->token = TOKEN_RECORD;
			node->append = append_record;
			(void) layout_for(node, node->type, -1);
			break;
		default:
			element_type = get_element_type(node->type);
			if (OidIsValid(element_type))
				init_array(node, element_type);
			else
				init_other(node);
	}
}

/*
 * Adapt a node to ELEMENT_LOCAL: text is not converted to UTF-8, and where canonical bytes
 * may disagree with the equality of this database, use the type's hash function.
 */
static void
adapt_leaf_locally(ElementNode *node)
{
	AppendFunction append = node->append;

	/* an untyped literal has no collation */
	if (node->token == TOKEN_TEXT && node->type != UNKNOWNOID &&
		OidIsValid(node->collation) &&
		!get_collation_isdeterministic(node->collation))
	{
		/* hash all string types as text, so that they have one class */
		node->type = TEXTOID;
		node->hash = NULL;
		init_other(node);
		/* this function converts the value to text, and hashes that */
		node->append = append;
	}
	else if (node->type == JSONBOID && needs_conversion())
		init_other(node);
	else if (node->token != TOKEN_TEXT || !needs_conversion())
		return;
	node->hasher->local = true;
}

/* Make the tree of a type; "like" is the node of the type that values are compared with. */
static ElementNode *
make_node(ElementHasher *hasher, Oid type, Oid collation, const ElementNode *like)
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
	node = new_node(hasher, base, collation);
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
	if (!node->portable)
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
		node->append = append_literal;
		node->hash = NULL;
	}
	return node;
}

/* Hash the bytes in the buffer, and set hasher->class. */
static inline uint64
end_element(ElementHasher *hasher, uint64 seed)
{
	StringInfo	buf = &hasher->buf;
	uint64		hash;

	if (hasher->class_structure != hasher->structure)
	{
		hasher->class = current_class(hasher->root);
		hasher->class_structure = hasher->structure;
	}

	hash = canonical_hash(buf->data, buf->len, seed);
	if (buf->maxlen > BUFFER_REUSE_MAX)
	{
		buf->data = repalloc(buf->data, BUFFER_REUSE_MAX);
		buf->maxlen = BUFFER_REUSE_MAX;
	}
	return hash;
}

/* A HashFunction for any type: puts canonical bytes into the buffer, and hashes them. */
static uint64
hash_by_buffer(ElementHasher *hasher, Datum value, uint64 seed)
{
	hasher->buf.len = 0;
	hasher->root->append(hasher->root, &hasher->buf, value);
	return end_element(hasher, seed);
}

/*
 * Hash an anonymous record, given by the values of its columns, which may be toasted, with
 * seed 0.  The hasher is for type RECORD; "type" is a result of BlessTupleDesc().
 */
uint64
element_hash_columns(ElementHasher *hasher, TupleDesc type,
					 const Datum *values, const bool *nulls)
{
	ElementNode *root = hasher->root;

	Assert(root->anonymous && root->token == TOKEN_RECORD);
	hasher->buf.len = 0;
	append_columns(layout_for(root, type->tdtypeid, type->tdtypmod), &hasher->buf,
				   values, nulls);
	return end_element(hasher, 0);
}

/*
 * Make a hasher for elements of a declared type.  Strings in the elements are compared by
 * "collation", but in records and ranges by the collations that their type declares.
 *
 * The hasher has a memory context below "mcxt": delete hasher->mcxt to free it.  "like" is
 * NULL, or the hasher of the values that the elements will be compared with, which must
 * outlive the new hasher.  With "like", text is hashed by the collation of "like", and
 * without trailing blanks if the elements of "like" are char(n), so that an untyped literal
 * means the same as in "column = 'ab   '".
 *
 * Hashes of ELEMENT_LOCAL always agree with "=" within the database: an enum is hashed by
 * its OID, text is not converted, and a nondeterministic collation selects the type's hash
 * function.  All other values have the hashes of ELEMENT_PORTABLE; see
 * element_hasher_is_local().
 *
 * Raises an error if the type or a part of it cannot be hashed, if a collation is missing
 * or nondeterministic, or if a range type lacks its subtype's default operator class.
 * For anonymous records, element_hash() raises these errors, and one more if the records in
 * an array differ in their structure.
 */
ElementHasher *
element_hasher_create(Oid type, Oid collation, ElementScope scope,
					  const ElementHasher *like, MemoryContext mcxt)
{
	MemoryContext own;
	MemoryContext oldcontext;
	ElementHasher *hasher;

	Assert(OidIsValid(type));
	/* below the current context until it is complete, so an error frees it */
	own = AllocSetContextCreate(CurrentMemoryContext,
								"bloomfilter element hasher",
								ALLOCSET_SMALL_SIZES);
	oldcontext = MemoryContextSwitchTo(own);

	hasher = palloc0(sizeof(ElementHasher));
	hasher->mcxt = own;
	hasher->portable = scope == ELEMENT_PORTABLE;
	initStringInfo(&hasher->buf);
	hasher->root = make_node(hasher, type, collation, like ? like->root : NULL);
	hasher->type = hasher->root->type;
	hasher->hash = hasher->root->hash ? hasher->root->hash : hash_by_buffer;
	hasher->class_structure = hasher->structure;
	if (hasher->root->anonymous)
		hasher->structure++;	/* the first value sets the class */
	else
		hasher->class = current_class(hasher->root);

	MemoryContextSwitchTo(oldcontext);
	MemoryContextSetParent(own, mcxt);
	return hasher;
}
