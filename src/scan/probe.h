/*
 * probe.h
 *	  Probing a filter with the rows of a page: declarations for all kinds of probes.
 *
 * A Filter Scan (filter_scan.c) has a list of probes, and calls their methods.
 */
#ifndef BLOOMFILTER_PROBE_H
#define BLOOMFILTER_PROBE_H

#include "heap_page.h"
#include "probe_switch.h"
#include "scan/join/join_filter_build.h"

#include "executor/executor.h"
#include "filter/bytes.h"
#include "nodes/pathnodes.h"
#include "utils/memutils.h"

/* What is probed */
typedef enum ProbeKind
{
	PROBE_FILTER,				/* a bloom or a cuckoo, by a condition */
	PROBE_INDEX,				/* a membership index, by a condition */
	PROBE_ARRAY,				/* an array, by a condition */
	PROBE_JOIN,					/* a membership index, for a join */
	PROBE_MARK,					/* as PROBE_JOIN, but drops no row: the last
								 * probe of a scan below a Filter Bypass */
	PROBE_ONCE,					/* as PROBE_JOIN, but of a constant, as a scan
								 * of the index's own table begins */
	PROBE_KEYS,					/* the keys of a hash join */
	COLLECT_KEYS				/* no probe: the keys of stored rows */
} ProbeKind;

/*
 * Plan of a probe of a hash join's keys, or of a node that stores rows and collects their keys;
 * besides the key's columns
 */
typedef struct KeyProbePlan
{
	int			number;			/* number of the join filter in the plan */
	KeyKind		kind;
	KeyInteger	integer;		/* KEY_INTEGER: the column's type */
	bool		forced;			/* never pauses */
	bool		own_hash;		/* only we hash the keys: hash texts faster */
	double		share;			/* share of rows expected to pass */
	Oid			block_index;	/* tells which blocks to read, see
								 * block_filter.c; or InvalidOid */
	int			block_column;	/* number of the key's column that it is asked
								 * for */
	int			rows_max;		/* COLLECT_KEYS: give up if there are more */
	List	   *operators;		/* PROBE_KEYS: OIDs, by which to search
								 * block_index, see key_end_operators() */
	List	   *order;			/* COLLECT_KEYS: see key_order_plan() */
	List	   *sent;			/* COLLECT_KEYS: for foreign servers, see
								 * SentPlanField; or NIL */
	List	   *functions;		/* KEY_HASH: OIDs of hash functions, by
								 * column; PROBE_ARRAY: those of the element
								 * and of the array's, and the function that
								 * compares */
	List	   *collations;		/* KEY_HASH: OIDs, by column; PROBE_ARRAY: one */
} KeyProbePlan;

#define NEVER_PAUSE		(-1)

/* Plan of a probe of a Filter Scan or a Join Filter Probe */
typedef struct ProbePlan
{
	ProbeKind	kind;
	Node	   *expression;		/* condition; for a join, the element to look
								 * up, or a List of the key's columns */
	int			conditions;		/* number of conditions to check before the
								 * probe, to keep the order or avoid errors */
	bool		hides_rows;		/* policies or security barriers hide rows of
								 * the query */
	/* only for PROBE_JOIN, PROBE_MARK and PROBE_ONCE */
	List	   *indexes;		/* OIDs: one, or those of a table's partitions */
	List	   *types;			/* OIDs: the type to hash each column as */
	Oid			table;			/* table of the indexes */
	int			pause_after;	/* not for conditions with filters: if few
								 * rows are dropped, pause after so many have
								 * passed; 0: the share of those that pass is
								 * a guess; NEVER_PAUSE */
	/* only for PROBE_KEYS, COLLECT_KEYS and PROBE_ARRAY */
	KeyProbePlan keys;
} ProbePlan;

/* Rows of a page that are being probed */
typedef struct ProbedPage
{
	TableScanDesc scan;
	ExprContext *econtext;
	TupleTableSlot *slot;		/* to evaluate expressions */
	int		   *rows;
	int			count;			/* length of "rows" */
	uint64		hashes[HEAP_PAGE_ROWS_MAX];
	bool		found[HEAP_PAGE_ROWS_MAX];
} ProbedPage;

/* Fields of Instrumentation that count the rows probed, and the rows that did not pass */
#define rows_probed				ntuples2
#define rows_removed			nfiltered2

typedef struct Probe Probe;

/* Methods of a kind of probe */
typedef struct ProbeMethods
{
	/* Prepare a probe of a node.  Allocates in the current memory context. */
	Probe	   *(*begin) (const ProbePlan *plan, PlanState *node);

	/* Begin another scan, perhaps of another filter.  NULL: of the same */
	void		(*rescan) (Probe *probe);

	/*
	 * Look up the rows of a page.  Keep in page->rows the rows whose element
	 * is not NULL, and set page->found for these.  Return false if all rows
	 * pass without being looked up.  Called in the per-tuple memory context,
	 * which it may reset.
	 */
	bool		(*look_up) (Probe *probe, ProbedPage *page);

	/*
	 * Does a row's newer version, in ecxt_scantuple, pass?  NULL: always.
	 * With "rechecks" also asked of rows that passed without being looked up.
	 */
	bool		(*recheck) (Probe *probe, ExprContext *econtext);
	/* Return the filter's size in memory.  NULL: another node shows it */
	Size		(*bytes) (const Probe *probe);
	/* Return EXPLAIN's text; "context" is the node's deparse context */
	char	   *(*text) (const ProbePlan *plan, List *context, bool verbose);
} ProbeMethods;

extern const ProbeMethods probe_filter_methods;
extern const ProbeMethods probe_index_methods;
extern const ProbeMethods probe_array_methods;
extern const ProbeMethods probe_join_methods;
extern const ProbeMethods probe_keys_methods;

/* State of a probe, with which the state of each kind begins */
struct Probe
{
	const ProbeMethods *methods;
	bool		settled;		/* probing further rows raises no error */
	bool		guarded;		/* evaluating an element may raise an error,
								 * so check the conditions first */
	bool		rechecks;		/* rows that pass without being looked up have
								 * to be rechecked, */
	bool		unchecked;		/* and so have those of this page */
	ProbeSwitch *pays;			/* NULL: never pauses.  The caller of look_up
								 * counts the rows */
	/* the element; not used by PROBE_KEYS, nor for a key of several columns */
	AttrNumber	attribute;		/* a column; 0: see "element" */
	ExprState  *element;		/* expression of the element */
};

/* A probe by a condition that calls a function */
typedef struct ConditionProbe
{
	Probe		probe;
	ExprState  *filter;			/* evaluates to the filter, or the index's OID */
	ExprState  *recheck;		/* the whole condition, for a single row */
	FmgrInfo	function;		/* the condition's function; never called */
	int			element_arg;	/* number of its argument with the element */
	Oid			collation;		/* collation of its call */
	MemoryContext mcxt;			/* context of "value" */
	bool		ready;			/* "isnull" and "value" are set for this scan */
	bool		isnull;			/* "filter" is NULL, so no row passes */
	Datum		value;			/* value of "filter" */
} ConditionProbe;

/* A condition of a query that can be a probe */
typedef struct ProbeCondition
{
	RestrictInfo *rinfo;
	ProbeKind	kind;
	Node	   *filter;			/* filter, index or array; the same for all
								 * rows */
	Node	   *element;
	KeyProbePlan keys;			/* PROBE_ARRAY */
} ProbeCondition;

/* Search an array of so few elements from end to end, as the server does with a constant. */
#define ARRAY_SEARCHED_MAX		8

/* Which hash functions of users we expect to raise no error */
typedef enum HashTrust
{
	TRUST_LEAKPROOF,			/* those that are leakproof */
	TRUST_C						/* also those that are written in C */
} HashTrust;

extern void probe_plan_add(CustomScan *scan, const ProbePlan *plan);
extern List *probe_plans(const CustomScan *scan);
extern ProbeCondition *probe_condition_make(RestrictInfo *rinfo);
extern void probe_condition_begin(ConditionProbe *condition,
								  const ProbePlan *plan, PlanState *node);
extern bool probe_condition_evaluate(ConditionProbe *condition,
									 ExprContext *econtext);
extern void probe_condition_rescan(Probe *probe);
extern bool probe_condition_recheck(Probe *probe, ExprContext *econtext);
extern char *probe_condition_text(const ProbePlan *plan, List *context,
								  bool verbose);
extern bool probe_may_fail(Node *element);
extern bool probe_index_once(Probe *base, ExprContext *econtext);
extern bool probe_type_has(Oid type, Oid part);
extern bool probe_hash_may_fail(Oid function, Oid type, HashTrust trusted);
extern bool probe_element_may_fail(Node *element);
extern void probe_begin_element(Probe *probe, Expr *element, PlanState *node);

/* Return the element of a row.  It points into the page, or into per-tuple memory. */
static inline Datum
probe_element(Probe *probe, ProbedPage *page, int row, HeapTuple tuple,
			  bool *isnull)
{
	heap_page_row(page->scan, row, tuple);
	if (likely(probe->attribute > 0))
		return heap_getattr(tuple, probe->attribute,
							RelationGetDescr(page->scan->rs_rd), isnull);
	heap_page_store(page->scan, tuple, page->slot);
	page->econtext->ecxt_scantuple = page->slot;
	return ExecEvalExpr(probe->element, page->econtext, isnull);
}

#endif							/* BLOOMFILTER_PROBE_H */
