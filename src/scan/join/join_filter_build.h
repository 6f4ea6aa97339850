/*
 * join_filter_build.h
 *	  Join Filter Build, which collects the keys of a hash join; see join_filter_build.c.
 */
#ifndef BLOOMFILTER_JOIN_FILTER_BUILD_H
#define BLOOMFILTER_JOIN_FILTER_BUILD_H

#include "join_filter_reader.h"
#include "scan/node.h"

#include "nodes/execnodes.h"
#include "utils/dsa.h"

/* Plan of the node, besides the key's columns */
typedef struct KeyBuildPlan
{
	int			number;			/* number of the join filter, from 1 */
	KeyKind		kind;
	AttrNumber	attribute;		/* KEY_INTEGER, sent, or with "order": the
								 * child's column */
	KeyInteger	integer;		/* KEY_INTEGER: type of the column */
	int			expected;		/* expected number of keys */
	bool		comes_first;	/* complete before an outer row is read */
	bool		finds_unmatched;	/* finds outer rows without a partner;
									 * only with KEY_HASH */
	bool		forced;			/* never pauses that */
	List	   *functions;		/* KEY_HASH: OIDs of hash functions by which
								 * to hash the keys here; NIL: record the
								 * join's hashes */
	List	   *collations;
	List	   *order;			/* KEY_HASH: see key_order_plan() */
	Oid			collation;		/* of the attribute, for "order" */
	List	   *sent;			/* for foreign servers: SentPlanFields, or NIL */
} KeyBuildPlan;

typedef struct KeyBuildState KeyBuildState;

/* The keys of a join, for its probes */
typedef struct KeySource
{
	int			number;			/* number of the join filter */
	const KeyFilter *filter;	/* filter of all keys, or NULL */
	HashState  *hash;			/* the join's Hash node; NULL: the keys are
								 * those of stored rows (join_filter_store.c) */
	void	   *table;			/* the hash table that has these keys */
	bool		is_shared;		/* shared by the processes of a Parallel Hash */
	dsa_pointer copy;			/* for a Gather's workers, see filter_scan.c */
	KeyBuildState *build;
} KeySource;

extern const NodeKind join_filter_build_node;

/* How many of these nodes this process has begun; starting a plan without them adds none */
extern uint64 join_filters_begun;

extern List *key_build_write(const KeyBuildPlan *plan);
extern KeyBuildPlan key_build_read(List *private);
extern KeySource *key_build_link(HashJoinState *join, List **answers);
extern const KeyFilter *key_source_open(KeySource *source);

/* join_filter_link.c */
extern void join_filters_link(PlanState *root);

/*
 * Return the filter of all keys; NULL if they are not known, or not yet: any row may have a
 * partner.  A join that drops its hash table sets the pointer in its Hash node to NULL before
 * it reads another outer row.  It fills the new table, with other keys, before it reads the
 * next outer row; and the first inner row makes forget_filter() free the old filter.  A
 * shared filter is freed before a rescan starts the processes again.  The keys of stored rows
 * remain valid as long as these rows are stored.
 */
static inline const KeyFilter *
key_source_filter(KeySource *source)
{
	if (source == NULL)
		return NULL;
	if (source->hash == NULL)
		return source->filter;
	if (!source->is_shared && source->hash->hashtable != source->table)
		return NULL;
	return source->filter ? source->filter : key_source_open(source);
}

#endif							/* BLOOMFILTER_JOIN_FILTER_BUILD_H */
