/*
 * hash.c
 *	  An element's hash in SQL: bloom_hash, and bloom_shard for sets that are
 *	  distributed among several filters.
 */
#include "value.h"

#include "callsite.h"

SQL_FUNCTION(bloomfilter_hash);
SQL_FUNCTION(bloomfilter_shard);

/*
 * The seed of the hash that chooses a shard.  It must differ from the filters'
 * seed, or each shard's filter would use only some of its blocks.  So it is
 * neither 0, the default, nor a number that users are likely to choose.
 */
#define SHARD_SEED		UINT64CONST(0x7368617264736565)

/* bloom_hash(element anycompatible, seed bigint) */
Datum
bloomfilter_hash(PG_FUNCTION_ARGS)
{
	CallSite   *site = call_site(fcinfo, 0, false);

	PG_RETURN_INT64(element_hash(site->hasher, PG_GETARG_DATUM(0),
								 PG_GETARG_INT64(1)));
}

/* bloom_shard(element anycompatible, shards integer): from 0 to shards - 1 */
Datum
bloomfilter_shard(PG_FUNCTION_ARGS)
{
	CallSite   *site = call_site(fcinfo, 0, false);
	int32		shards = PG_GETARG_INT32(1);

	if (shards < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of shards must be at least 1, not %d",
						shards)));
	PG_RETURN_INT32(mulhi64(element_hash(site->hasher, PG_GETARG_DATUM(0),
										 SHARD_SEED), shards));
}
