/*
 * distributed.h
 *	  Tables whose rows are in shards; see distributed.c.
 */
#ifndef BLOOMFILTER_DISTRIBUTED_H
#define BLOOMFILTER_DISTRIBUTED_H

#include "postgres.h"

extern bool table_is_distributed(Oid table);

#endif							/* BLOOMFILTER_DISTRIBUTED_H */
