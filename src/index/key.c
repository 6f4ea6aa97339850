/*
 * key.c
 *	  From the values of a row in an index to the hash of its element.
 *
 * An index of one column has its values as elements, one of several columns rows
 * of them.  Hashes follow "=" within the database (ELEMENT_LOCAL in element.c).
 */
#include "membership.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/memutils.h"

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

		/* a record's class is known once one has been seen */
		memset(nulls, true, sizeof(nulls));
		(void) membership_hash(hasher, index, values, nulls, &hash);
	}
}

/*
 * The hash of a row's element; false if it has none.  Leaks nothing.
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
 * Refuse an index that holds the hashes that its elements had before a composite
 * type was altered.
 */
void
membership_check_structure(const MembershipHasher *hasher, Relation index,
						   const MembershipMeta *meta)
{
	if (meta->structure != element_structure(hasher->hasher))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" does not know its elements any more",
						RelationGetRelationName(index)),
				 errdetail("Their composite type has been altered since the index was built."),
				 errhint("Please REINDEX it.")));
}
