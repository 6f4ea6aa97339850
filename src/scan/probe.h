/*
 * probe.h
 *	  Probing a filter with the rows of a page: what the kinds of probes share.
 *
 * A Filter Scan (filter_scan.c) has a list of probes, and calls their methods.  Each
 * kind has a file of its own: probe_filter.c, probe_index.c and join_filter_probe.c.
 * probe.c has their plans, and finds the conditions that probe.
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
	PROBE_JOIN,					/* a membership index, for a join */
	PROBE_MARK,					/* the same, but no row is dropped: the last
								 * probe of a scan below a Filter Bypass */
	PROBE_KEYS					/* the keys of a hash join */
} ProbeKind;

/* What a plan says of a probe of the keys of a hash join, besides its columns */
typedef struct KeyProbePlan
{
	int			number;			/* of the join filter in the plan */
	KeyKind		kind;
	KeyInteger	integer;		/* of KEY_INTEGER: the column's */
	bool		forced;			/* it never pauses */
	double		share;			/* of the rows that are expected to pass */
	List	   *functions;		/* of KEY_HASH: the OIDs of hash functions */
	List	   *collations;		/* for these */
} KeyProbePlan;

/* What the plan of a Filter Scan or a Join Filter Probe says of a probe */
typedef struct ProbePlan
{
	ProbeKind	kind;
	Node	   *expression;		/* a condition; the element to be looked up
								 * for a join, or the List of a key's columns */
	int			conditions;		/* number of conditions to check before the
								 * probe: for order, or against errors */
	bool		hides_rows;		/* policies or security barriers hide rows of
								 * the query */
	/* of PROBE_JOIN and PROBE_MARK */
	List	   *indexes;		/* OIDs: one, or those of a table's partitions */
	List	   *types;			/* OIDs, by which to hash each column of a key */
	Oid			table;			/* that the indexes are of */
	bool		may_pause;		/* pauses if it drops too little */
	/* of PROBE_KEYS */
	KeyProbePlan keys;
} ProbePlan;

/* The rows of a page that are being probed */
typedef struct ProbedPage
{
	TableScanDesc scan;
	ExprContext *econtext;
	TupleTableSlot *slot;		/* to evaluate expressions */
	int		   *rows;
	int			count;			/* of the rows */
	uint64		hashes[HEAP_PAGE_ROWS_MAX];
	bool		found[HEAP_PAGE_ROWS_MAX];
} ProbedPage;

/* The fields of Instrumentation that count the rows probed, and those that did not pass */
#define rows_probed				ntuples2
#define rows_removed			nfiltered2

typedef struct Probe Probe;

/* What a kind of probes does */
typedef struct ProbeMethods
{
	/* Prepare to probe, in a node.  Allocates in the current memory context. */
	Probe	   *(*begin) (const ProbePlan *plan, PlanState *node);
	/* Another scan begins, perhaps with another filter.  NULL: with the same */
	void		(*rescan) (Probe *probe);

	/*
	 * Look up the rows of a page.  Keeps in page->rows those that have an
	 * element, and sets page->found for these.  Returns false if all rows
	 * pass without a look.  Called in the memory for one row, which it may
	 * reset.
	 */
	bool		(*look_up) (Probe *probe, ProbedPage *page);
	/* Does a newer version of a row pass, in ecxt_scantuple?  NULL: it does */
	bool		(*recheck) (Probe *probe, ExprContext *econtext);
	/* Size in memory of what is probed; NULL: another node shows it */
	Size		(*bytes) (const Probe *probe);
	/* The probe in EXPLAIN; "context" is the node's */
	char	   *(*text) (const ProbePlan *plan, List *context, bool verbose);
} ProbeMethods;

extern const ProbeMethods probe_filter_methods;
extern const ProbeMethods probe_index_methods;
extern const ProbeMethods probe_join_methods;
extern const ProbeMethods probe_keys_methods;

/* Each kind's state begins with this. */
struct Probe
{
	const ProbeMethods *methods;
	bool		settled;		/* probes of further rows raise no error */
	bool		guarded;		/* evaluating elements may raise one: check
								 * the conditions first */
	ProbeSwitch *pays;			/* for a join; NULL: it never pauses.  The
								 * caller of look_up counts the rows */
	/* what is looked up; not by PROBE_KEYS, nor for several columns */
	AttrNumber	attribute;		/* a column; 0: "element" */
	ExprState  *element;		/* the expression to evaluate */
};

/* A probe by the call of a function in a condition */
typedef struct ConditionProbe
{
	Probe		probe;
	ExprState  *filter;			/* filter or index */
	ExprState  *recheck;		/* for one row */
	FmgrInfo	function;		/* never called */
	int			element_arg;	/* of the function */
	Oid			collation;		/* of its call */
	MemoryContext mcxt;			/* where "value" is allocated */
	bool		ready;			/* the next two are those of this scan */
	bool		isnull;			/* the filter is NULL: no row passes */
	Datum		value;			/* of "filter" */
} ConditionProbe;

/* A condition of a query that probes */
typedef struct ProbeCondition
{
	RestrictInfo *rinfo;
	ProbeKind	kind;
	Node	   *filter;			/* filter or index, the same for all rows */
	Node	   *element;
} ProbeCondition;

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
extern void probe_begin_element(Probe *probe, Expr *element, PlanState *node);

/* The element of a row; in the page, or in the memory for one row */
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
