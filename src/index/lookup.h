/*
 * lookup.h
 *	  How other folders look elements up in membership indexes, and what they may ask about an
 *	  index.  An answer "no" is final; "yes" means maybe.
 */
#ifndef BLOOMFILTER_LOOKUP_H
#define BLOOMFILTER_LOOKUP_H

#include "postgres.h"

#include "nodes/pathnodes.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

/*
 * The meaning of an operator, by its strategy number.  STRATEGY_CONTAINS and
 * STRATEGY_OVERLAPS belong to operator classes that index the elements of arrays
 * (membership_of_arrays()).
 */
typedef enum MembershipStrategy
{
	STRATEGY_EQUAL = 1,
	STRATEGY_CONTAINS,			/* array @> array */
	STRATEGY_OVERLAPS			/* array && array */
} MembershipStrategy;

/* cost.c */
extern bool membership_is_method_of(const IndexOptInfo *info);

/* key.c */
extern bool membership_of_arrays(Relation index);
extern bool membership_agrees(Oid function, Oid left, Oid right);
extern Oid	membership_key_type(Relation index, int column, Oid subtype, Oid function);

/* open.c */
extern bool catalog_row_written_later(int cache, Oid oid, Snapshot snapshot, bool own);

/* contains.c */

/* One place in a query that probes an index, which may be partitioned */
typedef struct MembershipSite MembershipSite;

extern MembershipSite *membership_site_make(MemoryContext mcxt, Oid element_type,
											List *joined, List *types);
extern void membership_site_open(MembershipSite *site, Oid oid);
extern uint64 membership_site_hash(MembershipSite *site, Datum element, bool *comparable);
extern uint64 membership_site_hash_key(MembershipSite *site,
									   const Datum *values, bool *comparable);
extern bool membership_site_settled(MembershipSite *site, int attempt);
extern void membership_site_probe(const MembershipSite *site, const uint64 *hashes,
								  Size count, bool *found);
extern bool membership_site_may_refuse(const MembershipSite *site);
extern Size membership_site_bytes(const MembershipSite *site);

/* ask.c */

/* Values to look up in the indexes of several tables */
typedef struct MembershipKeys MembershipKeys;

extern Oid	membership_index_for(Oid table, AttrNumber column, Oid operator,
								 Oid collation, Oid *type, Oid *hashed_type);
extern MembershipKeys *membership_keys_make(MemoryContext mcxt, Relation index,
											Oid type, Snapshot snapshot);
extern void membership_keys_set(MembershipKeys *keys, Datum value, bool isnull,
								bool is_array);
extern Relation membership_ask_open(const MembershipKeys *keys, Relation heap, Oid oid,
									Snapshot snapshot);
extern void membership_ask_soon(const MembershipKeys *keys, Relation index);
extern bool membership_ask(const MembershipKeys *keys, Relation index);

/* estimate.c */
extern double membership_join_share(PlannerInfo *root, List *indexes, Oid function,
									Node *key, List *types, Oid collation, bool *assumed);

#endif							/* BLOOMFILTER_LOOKUP_H */
