/*
 * lookup.c
 *	  From many elements to answers: hash an array, look up a batch.
 */
#include "lookup.h"

static uint64
hash_to_probe(void *lookup, Datum element)
{
	return lookup_hash((Lookup *) lookup, element);
}

static uint64
hash_to_change(void *lookup, Datum element)
{
	return lookup_hash_to_change((Lookup *) lookup, element);
}

/*
 * lookup_hash_array
 *		Hash the elements of an array that are not NULL, in its order
 *
 * Returns elements->count hashes, palloc'd: of lookup_hash() or, with "change", of
 * lookup_hash_to_change().
 */
uint64 *
lookup_hash_array(Lookup *lookup, const ArrayElements *elements, bool change)
{
	uint64	   *hashes = palloc_extended(elements->count * sizeof(uint64),
										 MCXT_ALLOC_HUGE);

	if (change)
		array_elements_hash(elements, hash_to_change, lookup, hashes);
	else
		array_elements_hash(elements, hash_to_probe, lookup, hashes);
	return hashes;
}

/* Look up the elements that were hashed: found[i] is the result for hashes[i]. */
void
lookup_find(Lookup *lookup, const uint64 *hashes, Size count, bool *found)
{
	lookup_reopen(lookup);
	if (lookup->foreign)
		foreign_elements_find(lookup->foreign, &lookup->reader, found);
	else
		reader_contains_batch(&lookup->reader, hashes, count, found);
}
