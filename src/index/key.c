/*
 * key.c
 *	  Hashes the values of an index row.
 *
 * The element of a row is the column's value if the index has one column, and
 * otherwise a record of all columns' values.  Hashes agree with "=" within the
 * database (ELEMENT_LOCAL in element.c).
 */
#include "membership.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

/*
 * membership_hasher_init
 *		Prepare to hash the values of an index
 *
 * Fills in *hasher.  All that it points to is in "mcxt", or in contexts below.
 * Errors: those of element_hasher_create() and, for a key of several columns,
 * of element_hash().
 */
void
membership_hasher_init(MembershipHasher *hasher, Relation index,
					   MemoryContext mcxt)
{
	TupleDesc	desc = RelationGetDescr(index);

	hasher->scratch = AllocSetContextCreate(mcxt, "membership element",
											ALLOCSET_SMALL_SIZES);
	hasher->row = NULL;
	if (IndexRelationGetNumberOfKeyAttributes(index) == 1)
		hasher->hasher = element_hasher_create(TupleDescAttr(desc, 0)->atttypid,
											   index->rd_indcollation[0],
											   ELEMENT_LOCAL, mcxt);
	else
	{
		MemoryContext caller = MemoryContextSwitchTo(mcxt);
		Datum		values[INDEX_MAX_KEYS] = {0};
		bool		nulls[INDEX_MAX_KEYS];
		uint64		hash;

		hasher->row = CreateTupleDescCopy(desc);
		hasher->row->tdtypeid = RECORDOID;
		hasher->row->tdtypmod = -1;
		BlessTupleDesc(hasher->row);
		hasher->hasher = element_hasher_create(RECORDOID, InvalidOid,
											   ELEMENT_LOCAL, mcxt);
		MemoryContextSwitchTo(caller);

		/* the class of records is determined when the first one is hashed */
		memset(nulls, true, sizeof(nulls));
		(void) membership_hash(hasher, index, values, nulls, &hash);
	}
}

/*
 * membership_hash
 *		Hash the element of an index row
 *
 * Returns false, and sets no *hash, if the row has no element: its only key is
 * NULL.  Allocates nothing in the current memory context.  Errors: those of
 * element_hash().
 */
bool
membership_hash(MembershipHasher *hasher, Relation index, Datum *values,
				bool *nulls, uint64 *hash)
{
	MemoryContext caller;
	Datum		element = values[0];

	if (hasher->row == NULL && nulls[0])
		return false;
	caller = MemoryContextSwitchTo(hasher->scratch);
	if (hasher->row)
		element = HeapTupleGetDatum(heap_form_tuple(hasher->row, values, nulls));
	*hash = element_hash(hasher->hasher, element, 0);
	MemoryContextSwitchTo(caller);
	MemoryContextReset(hasher->scratch);
	return true;
}

/*
 * membership_check_structure
 *		Refuse an index whose hashes are outdated
 *
 * ALTER TYPE changes the hashes of elements that contain the composite type.
 * Error: ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE.
 */
void
membership_check_structure(const MembershipHasher *hasher, Relation index,
						   const MembershipMeta *meta)
{
	if (meta->structure != element_structure(hasher->hasher))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" must be rebuilt",
						RelationGetRelationName(index)),
				 errdetail("The composite type of its elements was altered after the index was built."),
				 errhint("Please REINDEX it.")));
}

/*
 * membership_key_type
 *		The type by which to hash a value that a column is compared with
 *
 * "function" is that of the operator, "subtype" the type of its right argument.
 * The column's own type if the operator is that type's default equality, even one
 * borrowed from another type (regclass uses oid's); otherwise "subtype".
 */
Oid
membership_key_type(Relation index, int column, Oid subtype, Oid function)
{
	Oid			type = TupleDescAttr(RelationGetDescr(index), column)->atttypid;
	TypeCacheEntry *entry;

	if (!OidIsValid(subtype) || IsPolymorphicType(subtype))
		return type;
	if (subtype == index->rd_opcintype[column])
	{
		entry = lookup_type_cache(getBaseType(type), TYPECACHE_EQ_OPR);
		if (get_opcode(entry->eq_opr) == function)
			return type;
	}
	return subtype;
}
