/*
 * lookup.c
 *	  From many elements to answers: hash an array, look up a batch.
 */
#include "lookup.h"

/*
 * The hashes of an array's elements that are not NULL, by lookup_hash() or
 * lookup_hash_to_change()
 */
uint64 *
lookup_hash_array(Lookup *lookup, const ArrayElements *elements, bool change)
{
	uint64	   *hashes = palloc_extended(elements->count * sizeof(uint64),
										 MCXT_ALLOC_HUGE);

	for (int i = 0; i < elements->count; i++)
	{
		if (i % BATCH == 0)
			CHECK_FOR_INTERRUPTS();
		hashes[i] = change ?
			lookup_hash_to_change(lookup, elements->values[i]) :
			lookup_hash(lookup, elements->values[i]);
	}
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
