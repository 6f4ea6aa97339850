/*
 * key.c
 *	  Hashes the values of an index row.
 *
 * If the index has one column, the element of a row is the column's value; otherwise it is
 * a record of the values of all columns.  A row whose only key is NULL has no element.
 * Hashes agree with "=" within the database (ELEMENT_LOCAL in element/element.c).
 *
 * With the operator class array_elements_ops, an index has one column, of arrays.  Each
 * element of an array that is not NULL is an element of the index.  This operator class has
 * the storage type anyelement, so core gives the index's column the type of the arrays'
 * elements.
 */
#include "membership.h"

#include "access/htup_details.h"
#include "access/stratnum.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "functions/callsite.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

/*
 * Does a column's operator class index the elements of arrays instead of the column's
 * values?  Error if another class has a storage type: we could not hash its values.
 */
static bool
takes_arrays_apart(Relation index, int column)
{
	Oid			opclass = get_index_column_opclass(RelationGetRelid(index), column + 1);
	HeapTuple	tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(opclass));
	Form_pg_opclass form;
	bool		is_stored;
	bool		is_array;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator class %u", opclass);
	form = (Form_pg_opclass) GETSTRUCT(tuple);
	is_stored = OidIsValid(form->opckeytype);
	is_array = form->opcintype == ANYARRAYOID && form->opckeytype == ANYELEMENTOID;
	if (is_stored && !is_array)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("operator class \"%s\" of access method %s stores type %s",
						NameStr(form->opcname), "membership",
						format_type_be(form->opckeytype)),
				 errdetail("Only a class for anyarray may have a storage type, which must be anyelement.")));
	ReleaseSysCache(tuple);
	return is_array;
}

/* Does the index hold the elements of arrays, and not the arrays? */
bool
membership_of_arrays(Relation index)
{
	return IndexRelationGetNumberOfKeyAttributes(index) == 1 &&
		takes_arrays_apart(index, 0);
}

/*
 * The type by which to hash the values of a column: the column's own type, unless the
 * operator class belongs to another type with another equality.  For example, char(n) in an
 * index with an operator class of text is hashed as text.
 */
Oid
membership_hashed_type(Relation index, int column)
{
	Oid			type = TupleDescAttr(RelationGetDescr(index), column)->atttypid;
	Oid			of_class = index->rd_opcintype[column];
	Oid			equality;

	if (of_class == type || IsPolymorphicType(of_class))
		return type;
	equality = lookup_type_cache(getBaseType(type), TYPECACHE_EQ_OPR)->eq_opr;
	return !OidIsValid(equality) ||
		membership_agrees(get_opcode(equality), of_class, of_class) ? type : of_class;
}

/*
 * When an index is created, warn of each column whose type has its own equality but no
 * default operator class, so that core chose the class of another type.  Values that are
 * equal only by the type's own equality may not be found.
 */
void
membership_warn_of_equality(Relation index)
{
	/* indisready: CREATE INDEX CONCURRENTLY builds in a later transaction */
	if (index->rd_createSubid == InvalidSubTransactionId && index->rd_index->indisready)
		return;
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
	{
		Form_pg_attribute column = TupleDescAttr(RelationGetDescr(index), i);
		Oid			type = getBaseType(column->atttypid);
		Oid			hashed = membership_hashed_type(index, i);

		if (hashed != column->atttypid &&
			get_index_column_opclass(RelationGetRelid(index), i + 1) ==
			GetDefaultOpClass(type, index->rd_rel->relam))
			ereport(WARNING,
					(errmsg("index \"%s\" compares column \"%s\" of type %s as type %s",
							RelationGetRelationName(index), NameStr(column->attname),
							format_type_be(type), format_type_be(hashed)),
					 errdetail("Values that are equal only as type %s are not found.",
							   format_type_be(type)),
					 errhint("Create the index again after CREATE OPERATOR CLASS ... DEFAULT FOR TYPE %s USING membership AS OPERATOR 1 =.",
							 format_type_be(type))));
	}
}

/*
 * Make a hasher of keys with one value for each column of an index; "types" are the OIDs of
 * the types by which to hash these values.  Sets *row to the description of a key, or to
 * NULL if the index has one column.  Both are allocated in "mcxt".  Errors: those of
 * element_hasher_create().
 */
ElementHasher *
membership_key_hasher(Relation index, const List *types, TupleDesc *row,
					  MemoryContext mcxt)
{
	int			columns = list_length(types);
	MemoryContext caller = MemoryContextSwitchTo(mcxt);

	Assert(columns == IndexRelationGetNumberOfKeyAttributes(index));
	*row = NULL;
	if (columns > 1)
	{
		*row = CreateTemplateTupleDesc(columns);
		for (int i = 0; i < columns; i++)
		{
			TupleDescInitEntry(*row, i + 1, NULL, list_nth_oid(types, i), -1, 0);
			TupleDescInitEntryCollation(*row, i + 1, index->rd_indcollation[i]);
		}
		TupleDescFinalize(*row);
		BlessTupleDesc(*row);
	}
	MemoryContextSwitchTo(caller);
	return element_hasher_create(*row ? RECORDOID : linitial_oid(types),
								 index->rd_indcollation[0], ELEMENT_LOCAL, NULL,
								 mcxt);
}

/*
 * Initialize *hasher for the rows of an index.  Allocates in "mcxt", and in children of it.
 * Errors: those of element_hasher_create() and, for a key of several columns, of
 * element_hash(); ERRCODE_INVALID_OBJECT_DEFINITION and ERRCODE_FEATURE_NOT_SUPPORTED if we
 * cannot hash the values of an operator class.
 */
void
membership_hasher_init(MembershipHasher *hasher, Relation index, MemoryContext mcxt)
{
	List	   *types = NIL;
	Datum		values[INDEX_MAX_KEYS] = {0};
	bool		nulls[INDEX_MAX_KEYS];

	memset(hasher, 0, sizeof(*hasher));
	hasher->scratch = AllocSetContextCreate(mcxt, "membership element",
											ALLOCSET_SMALL_SIZES);
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
		types = lappend_oid(types, membership_hashed_type(index, i));
	hasher->hasher = membership_key_hasher(index, types, &hasher->row, mcxt);
	hasher->room = 1;
	hasher->hashes = MemoryContextAlloc(hasher->hasher->mcxt, sizeof(uint64));
	if (membership_of_arrays(index))
	{
		hasher->array_of = linitial_oid(types);
		hasher->array = AllocSetContextCreate(mcxt, "membership array",
											  ALLOCSET_SMALL_SIZES);
	}
	list_free(types);
	if (hasher->row == NULL)
		return;
	for (int i = 0; i < hasher->row->natts; i++)
		if (takes_arrays_apart(index, i))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("index \"%s\" cannot hold the elements of arrays together with other columns",
							RelationGetRelationName(index)),
					 errhint("Create an index of its own for the array.")));

	/* hashing the first record, here of NULLs, sets the class of records */
	memset(nulls, true, sizeof(nulls));
	(void) membership_hash(hasher, values, nulls);
}

/*
 * Hash the elements of an array, for an index of the elements of arrays.  Like
 * membership_hash(), but returns the number of elements that are not NULL; sets *has_null
 * to whether there are others.
 */
Size
membership_hash_array(MembershipHasher *hasher, Datum array, bool *has_null)
{
	MemoryContext caller = MemoryContextSwitchTo(hasher->array);
	ArrayType  *value = DatumGetArrayTypeP(array);
	ArrayElements elements;

	/* do not hash elements of another type as if they were of this one */
	if (ARR_ELEMTYPE(value) != hasher->array_of)
		elog(ERROR, "array has elements of type %u, expected %u",
			 ARR_ELEMTYPE(value), hasher->array_of);
	elements = array_elements(value, lookup_type_cache(hasher->array_of, 0));
	*has_null = elements.count < elements.length;
	if ((Size) elements.count > hasher->room)
	{
		hasher->hashes = repalloc_huge(hasher->hashes, elements.count * sizeof(uint64));
		hasher->room = elements.count;
	}
	MemoryContextSwitchTo(hasher->scratch);
	for (int i = 0; i < elements.count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		hasher->hashes[i] = element_hash(hasher->hasher, elements.values[i], 0);
		MemoryContextReset(hasher->scratch);
	}
	MemoryContextSwitchTo(caller);
	MemoryContextReset(hasher->array);
	return elements.count;
}

/*
 * Hash the elements of an index row into hasher->hashes, where they stay until the next
 * call.  Returns their number: 1 unless the index holds the elements of arrays, and 0 if
 * its only key is NULL.  Allocates nothing in the current memory context.  Errors: those of
 * element_hash().
 */
Size
membership_hash(MembershipHasher *hasher, Datum *values, bool *nulls)
{
	MemoryContext caller;
	bool		has_null;

	if (hasher->row == NULL && nulls[0])
		return 0;
	if (OidIsValid(hasher->array_of))
		return membership_hash_array(hasher, values[0], &has_null);
	caller = MemoryContextSwitchTo(hasher->scratch);
	hasher->hashes[0] = hasher->row ?
		element_hash_columns(hasher->hasher, hasher->row, values, nulls) :
		element_hash(hasher->hasher, values[0], 0);
	MemoryContextSwitchTo(caller);
	MemoryContextReset(hasher->scratch);
	return 1;
}

/*
 * A number that changes when the same elements get other hashes: when ALTER TYPE changes a
 * composite type, or when ALTER TABLE changes the type of a column and, because the
 * operator class stays the same, keeps the index's file.  For example, oid and regclass
 * share one, but not their hashes.
 */
uint64
membership_structure(const MembershipHasher *hasher)
{
	uint64		structure = element_structure(hasher->hasher);

	return structure != 0 ? structure : element_tokens(hasher->hasher);
}

/*
 * Are all elements of an index, if there are any, hashed with this membership_structure()?
 * Older versions stored 0 unless an element contained a composite type.
 */
bool
membership_has_structure(const MembershipMeta *meta, uint64 structure)
{
	return meta->layers == 0 || meta->structure == 0 || meta->structure == structure;
}

/*
 * Raise ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE if the type of an index's elements has
 * changed since the index was built, and so their hashes.
 */
void
membership_check_structure(const MembershipHasher *hasher, Relation index,
						   const MembershipMeta *meta)
{
	if (!membership_has_structure(meta, membership_structure(hasher)))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" must be rebuilt",
						RelationGetRelationName(index)),
				 errdetail("The type of its elements was altered after the index was built."),
				 errhint("Please REINDEX it.")));
}

/*
 * The equality operator of two types that the hashes of their elements agree with: "=" in
 * the left type's default operator family for btree or, failing that, for hash.  InvalidOid
 * if there is none.
 */
Oid
membership_equality(Oid left, Oid right)
{
	TypeCacheEntry *entry = lookup_type_cache(left, TYPECACHE_BTREE_OPFAMILY |
											  TYPECACHE_HASH_OPFAMILY);
	const struct
	{
		Oid			family;
		Oid			type;		/* of the class: for varchar, it is text */
		int16		strategy;
	}			classes[] = {
		{entry->btree_opf, entry->btree_opintype, BTEqualStrategyNumber},
		{entry->hash_opf, entry->hash_opintype, HTEqualStrategyNumber}
	};

	for (size_t i = 0; i < lengthof(classes); i++)
	{
		Oid			operator = InvalidOid;

		if (OidIsValid(classes[i].family))
			operator = get_opfamily_member(classes[i].family, classes[i].type,
										   right == left ? classes[i].type : right,
										   classes[i].strategy);
		if (OidIsValid(operator))
			return operator;
	}
	return InvalidOid;
}

/* Is this function the equality of two types that hashes agree with? */
bool
membership_agrees(Oid function, Oid left, Oid right)
{
	return function == get_opcode(membership_equality(left, right));
}

/*
 * The type by which to hash a value that a column is compared with.  "function" is the
 * function of the operator, "subtype" the type of its right argument.  The result is the
 * column's own type if the operator is that type's default equality, even one borrowed from
 * another type (regclass uses the operator of oid); otherwise "subtype".  InvalidOid if
 * hashes do not agree with the operator: then amvalidate() refuses the operator class, too.
 */
Oid
membership_key_type(Relation index, int column, Oid subtype, Oid function)
{
	Oid			type = membership_hashed_type(index, column);
	TypeCacheEntry *entry;

	if (!OidIsValid(subtype) || IsPolymorphicType(subtype))
		return type;
	if (subtype == index->rd_opcintype[column])
	{
		entry = lookup_type_cache(getBaseType(type), TYPECACHE_EQ_OPR);
		if (get_opcode(entry->eq_opr) == function)
			return type;
	}
	return membership_agrees(function, index->rd_opcintype[column], subtype) ?
		subtype : InvalidOid;
}
