/*
 * filter_path.h
 *	  Planner paths of Filter Scans.
 */
#ifndef BLOOMFILTER_FILTER_PATH_H
#define BLOOMFILTER_FILTER_PATH_H

#include "filter_scan.h"

#include "nodes/pathnodes.h"

/* A join key of a scanned table, and the indexes of the joined table that have the key */
typedef struct IndexJoin
{
	Node	   *key;			/* expression of the scanned table, or a List
								 * of one for each column of the index */
	Index		source;			/* the joined table, which has the indexes */
	List	   *clauses;		/* equalities, by index column: RestrictInfos */
	List	   *indexes;		/* OIDs: one, or one for each partition */
	List	   *types;			/* OIDs: the type to hash each column as */
	double		share;			/* of the rows that pass, or SHARE_UNKNOWN */
	bool		assumed;		/* share is a guess, or from a sample */
	double		read_cost;		/* cost of reading all of the indexes */
	bool		may_fail;		/* evaluating the key may raise an error */
	bool		parallel_safe;	/* workers can evaluate the key, and read the
								 * indexes */
} IndexJoin;

/* index_join.c */
extern List *index_joins_find(PlannerInfo *root, RelOptInfo *rel);
extern IndexJoin *index_join_find_preserved(PlannerInfo *root, RelOptInfo *rel,
											RelOptInfo *others,
											RelOptInfo *join, List *clauses);
extern IndexJoin *index_join_find_own(PlannerInfo *root, RelOptInfo *rel,
									  IndexOptInfo *index);
extern List *index_join_clauses(PlannerInfo *root, RelOptInfo *upper,
								RelOptInfo *other, const IndexJoin *filter);

/* What is known of the query being planned, allocated in its planner_cxt, "mcxt" */
typedef struct PlannedQuery
{
	MemoryContext mcxt;
	/* of index_join.c */
	const PlannerInfo *root;	/* its side effects were looked for in this
								 * part */
	int			subroots;		/* and in so many subqueries, */
	bool		side_effects;	/* with this result */
	/* of join_size.c */
	List	   *clauses;		/* those whose selectivity we lowered */
	List	   *parents;		/* joins of partitioned tables that have their
								 * size */
} PlannedQuery;

/* planned_query.c */
extern PlannedQuery *planned_query(PlannerInfo *root);

/* join_size.c */
extern void index_join_size(PlannerInfo *root, RelOptInfo *rel,
							const IndexJoin *filter);

/* first_rows.c */
extern bool first_rows_are_near(PlannerInfo *root, RelOptInfo *rel, double share,
								Cost lookup);
extern bool first_rows_by_lookups(PlannerInfo *root, RelOptInfo *rel,
								  RelOptInfo *other, RestrictInfo *equality);

/* array_condition.c */
extern ProbeCondition *array_condition_make(RestrictInfo *rinfo);

/* filter_path.c */
/* How many Filter Scans that probe an index for a join have been planned in this session */
extern uint64 filter_scans_for_joins;

extern void filter_path_add(PlannerInfo *root, RelOptInfo *rel,
							RangeTblEntry *rte);
extern bool filter_path_hides_rows(PlannerInfo *root);
extern bool filter_path_may_mark(PlannerInfo *root, RelOptInfo *rel);
extern CustomPath *filter_path_mark(PlannerInfo *root, RelOptInfo *rel,
									IndexJoin *mark, int workers);
extern bool filter_path_is_filtered(Path *path);
extern double filter_path_divisor(int workers);

/* filtered_path.c */
extern bool filter_path_has_join(Path *path);
extern double filter_path_unfiltered(Path *path);

/* loop_path.c */
/* By what factor more rows than expected may pass a join filter without making a plan slow */
#define WORSE_SHARE		5.0

/*
 * A loop of look-ups is far cheaper than a hash join with stored rows, and so preferred, if it is
 * still cheaper when this many times as many rows pass.
 */
#define FAR_CHEAPER		2.0

/*
 * Store the outer rows of a hash join if they are expected to be at most this share of the inner
 * rows, and give up if more come: by then they have cost a tenth of what hashing the inner side
 * takes.
 */
#define STORED_SHARE_MAX	0.25

extern void loop_path_replace(PlannerInfo *root, RelOptInfo *join,
							  RelOptInfo *outer, RelOptInfo *inner, JoinType type,
							  JoinPathExtraData *extra);
extern Path *loop_path_nested_loop(PlannerInfo *root, RelOptInfo *join,
								   JoinType type, Path *outer, Path *inner,
								   List *pathkeys, JoinPathExtraData *extra);
extern Path *loop_path_hash_join(PlannerInfo *root, RelOptInfo *join,
								 JoinType type, Path *outer, Path *inner,
								 Relids required, JoinPathExtraData *extra);
extern Path *loop_path_stored_join(PlannerInfo *root, RelOptInfo *join,
								   JoinType type, Path *outer, Path *inner,
								   JoinPathExtraData *extra);

#endif							/* BLOOMFILTER_FILTER_PATH_H */
