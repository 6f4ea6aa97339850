/*
 * probe_array.c
 *	  Probes an array with the rows of a page: "x = ANY (array)", "x <> ALL (array)".
 *
 * Unlike other probes, this one is the whole condition: it finds an element in the array just
 * as the operator does, so that the condition need not be checked for rows that pass.
 *
 * The array is evaluated for the first row that is checked, where the server would do so.
 * Until its elements are hashed, rows are checked one by one, at the condition's place among
 * the others, and the array is searched from end to end, as the server does.  For some rows
 * that takes less than to hash a long array.  So the elements are hashed when the search has
 * compared several times as many elements as there are.  From then on, whole pages are
 * probed, unless few rows are dropped and other conditions come first: then rows are checked
 * at the condition's place again, by the table.  So are rows always if evaluating an element
 * may raise an error, since the query may end before a later row of the page.
 *
 * The table is exact, and as large as the one that the server makes of a constant array.
 */
#include "probe.h"

#include "access/detoast.h"
#include "access/tupmacs.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "port/pg_bitutils.h"
#include "utils/array.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"

/*
 * Hash the elements after the search has compared this many times as many: hashing one takes
 * as long as comparing four to sixteen.
 */
#define HASH_AFTER				16
/*
 * Search for a value that is so many times as long as there are elements, in bytes: comparing
 * begins with the lengths, and hashing may decompress the value.
 */
#define SEARCH_BYTES			16
/* Check for interrupts after hashing this many elements. */
#define INTERRUPT_ELEMENTS		1024

/* What the array says of all rows */
typedef enum ArrayOutcome
{
	OUTCOME_OF_ELEMENT,			/* it depends on the element */
	OUTCOME_PASS,				/* nothing is in it: all elements differ */
	OUTCOME_DROP				/* the condition is false or NULL */
} ArrayOutcome;

typedef struct ArraySlot
{
	Datum		value;			/* an element, or a key, see key_of_datum() */
	uint32		hash;
	bool		used;
} ArraySlot;

typedef struct ArrayProbe
{
	Probe		probe;
	PlanState  *node;
	ExprState  *array;			/* evaluates to the array */
	Bitmapset  *params;			/* parameters that the array depends on */
	bool		any;			/* "= ANY", not "<> ALL" */
	KeyInteger	integer;		/* type of an element; or KEY_NOT_INTEGER */
	KeyInteger	array_integer;	/* likewise, of the array's elements */
	bool		is_varlena;		/* elements have variable length */
	bool		one_by_one;		/* evaluating an element may raise an error */
	FmgrInfo	hash;			/* hashes an element, */
	FmgrInfo	array_hash;		/* and one of the array */
	FmgrInfo	equality;		/* compares them */
	FunctionCallInfo call;		/* its call */
	Oid			collation;
	ProbeSwitch pays;
	/* the array of this scan, in "mcxt" */
	MemoryContext mcxt;
	bool		ready;			/* it was evaluated */
	ArrayOutcome outcome;
	ArrayType  *value;
	int			count;			/* number of elements, with NULLs */
	int16		length;			/* of the type of elements */
	bool		by_value;
	char		align;
	uint64		searched;		/* elements compared by searching */
	ArraySlot  *slots;			/* NULL: not hashed */
	uint32		mask;			/* number of slots - 1 */
} ArrayProbe;

static Probe *
begin_array(const ProbePlan *plan, PlanState *node)
{
	ScalarArrayOpExpr *clause = castNode(ScalarArrayOpExpr, plan->expression);
	ArrayProbe *probe = palloc0(sizeof(ArrayProbe));
	Expr	   *array = lsecond(clause->args);

	probe_begin_element(&probe->probe, linitial(clause->args), node);
	/* no row is looked up before the array was evaluated */
	probe->probe.settled = probe->probe.rechecks = true;

	if (plan->pause_after != NEVER_PAUSE)
		probe->probe.pays = &probe->pays;
	probe_switch_init(&probe->pays, 0, false);
	probe->node = node;
	probe->array = ExecInitExpr(array, node);
	probe->params = pull_paramids(array);
	/* never evaluated, but checks that the user may call the operator */
	ExecInitQual(list_make1(clause), node);
	probe->any = clause->useOr;
	if (plan->keys.kind == KEY_INTEGER)
		probe->integer = plan->keys.integer;
	/* the query may end before a later row of the page */
	probe->one_by_one = probe->probe.element && probe_may_fail(linitial(clause->args));
	probe->is_varlena = get_typlen(exprType(linitial(clause->args))) == -1;
	fmgr_info(linitial_oid(plan->keys.functions), &probe->hash);
	fmgr_info(lsecond_oid(plan->keys.functions), &probe->array_hash);
	fmgr_info(lthird_oid(plan->keys.functions), &probe->equality);
	fmgr_info_set_expr((Node *) clause, &probe->equality);
	probe->collation = linitial_oid(plan->keys.collations);
	probe->call = palloc(SizeForFunctionCallInfo(2));
	InitFunctionCallInfoData(*probe->call, &probe->equality, 2, probe->collation,
							 NULL, NULL);
	probe->call->args[0].isnull = probe->call->args[1].isnull = false;
	probe->mcxt = AllocSetContextCreate(CurrentMemoryContext, "probed array",
										ALLOCSET_SMALL_SIZES);
	return &probe->probe;
}

/* The method "rescan": let the array be evaluated again if it may have changed. */
static void
rescan_array(Probe *base)
{
	ArrayProbe *probe = (ArrayProbe *) base;

	/* EvalPlanQual does not tell of parameters that have changed */
	if (probe->node->state->es_epq_active == NULL &&
		!bms_overlap(probe->node->chgParam, probe->params))
		return;
	probe->ready = false;
	probe->slots = NULL;
	MemoryContextReset(probe->mcxt);
}

/* Evaluate the array, once per scan. */
static void
evaluate_array(ArrayProbe *probe, ExprContext *econtext)
{
	MemoryContext old = MemoryContextSwitchTo(probe->mcxt);
	bool		isnull;
	Datum		value = ExecEvalExpr(probe->array, econtext, &isnull);

	probe->outcome = OUTCOME_DROP;
	if (!isnull)
	{
		probe->value = DatumGetArrayTypeP(value);
		probe->count = ArrayGetNItems(ARR_NDIM(probe->value), ARR_DIMS(probe->value));
		get_typlenbyvalalign(ARR_ELEMTYPE(probe->value), &probe->length,
							 &probe->by_value, &probe->align);
		probe->array_integer = probe->length == sizeof(int16) ? KEY_INT2 :
			probe->length == sizeof(int32) ? KEY_INT4 : KEY_INT8;
		if (probe->count > 0 &&
			(probe->any || !array_contains_nulls(probe->value)))
			probe->outcome = OUTCOME_OF_ELEMENT;
		else if (probe->count == 0 && !probe->any)
			probe->outcome = OUTCOME_PASS;
	}
	MemoryContextSwitchTo(old);
	probe->searched = 0;
	probe->ready = true;
}

/* ---- The elements of the array ---- */

/* Where the elements of an array are read */
typedef struct ArrayCursor
{
	char	   *data;			/* the next element that is not NULL */
	const uint8 *nulls;			/* NULL: the array has no NULLs */
	int			next;			/* number of the next element */
} ArrayCursor;

static inline void
open_cursor(const ArrayProbe *probe, ArrayCursor *cursor)
{
	cursor->data = ARR_DATA_PTR(probe->value);
	cursor->nulls = ARR_NULLBITMAP(probe->value);
	cursor->next = 0;
}

/* Set *value to the next element that is not NULL; return false at the end. */
static inline bool
next_element(const ArrayProbe *probe, ArrayCursor *cursor, Datum *value)
{
	while (cursor->next < probe->count)
	{
		int			place = cursor->next++;

		if (cursor->nulls &&
			!(cursor->nulls[place / BITS_PER_BYTE] & (1 << place % BITS_PER_BYTE)))
			continue;
		*value = fetch_att(cursor->data, probe->by_value, probe->length);
		cursor->data = att_addlength_pointer(cursor->data, probe->length, cursor->data);
		cursor->data = (char *) att_align_nominal(cursor->data, probe->align);
		return true;
	}
	return false;
}

static inline bool
are_equal(ArrayProbe *probe, Datum element, Datum value)
{
	FunctionCallInfo call = probe->call;

	call->args[0].value = element;
	call->args[1].value = value;
	call->isnull = false;
	return DatumGetBool(FunctionCallInvoke(call)) && !call->isnull;
}

/* Search the array from end to end for an element or, if it is an integer, for its key. */
static bool
search(ArrayProbe *probe, Datum element)
{
	ArrayCursor cursor;
	Datum		value;
	bool		found = false;

	open_cursor(probe, &cursor);
	if (probe->integer)
	{
		while (!found && next_element(probe, &cursor, &value))
			found = key_of_datum(probe->array_integer, value) == element;
	}
	else
	{
		while (!found && next_element(probe, &cursor, &value))
			found = are_equal(probe, element, value);
	}
	probe->searched += cursor.next;
	return found;
}

/* ---- The table of elements ---- */

static inline uint32
hash_integer(uint64 key)
{
	return (uint32) mix_key(key);
}

/* Hash an element by its type's function, some of which leave bits alike. */
static inline uint32
hash_value(ArrayProbe *probe, FmgrInfo *function, Datum value)
{
	return murmurhash32(DatumGetUInt32(FunctionCall1Coll(function, probe->collation, value)));
}

/* Put an element of the array into the table, unless it has the same bytes already. */
static void
insert_value(ArrayProbe *probe, uint32 hash, Datum value)
{
	uint32		place = hash & probe->mask;

	while (probe->slots[place].used)
	{
		if (probe->slots[place].hash == hash &&
			datumIsEqual(probe->slots[place].value, value,
						 probe->integer || probe->by_value, probe->length))
			return;
		place = (place + 1) & probe->mask;
	}
	probe->slots[place].value = value;
	probe->slots[place].hash = hash;
	probe->slots[place].used = true;
}

/* Make the table. */
static void
hash_array(ArrayProbe *probe)
{
	MemoryContext hash_mcxt = AllocSetContextCreate(probe->mcxt, "hash functions",
													ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(hash_mcxt);
	uint64		size = pg_nextpower2_64((uint64) probe->count * 4 / 3 + 1);
	ArraySlot  *slots = MemoryContextAllocExtended(probe->mcxt, size * sizeof(ArraySlot),
												   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	ArrayCursor cursor;
	Datum		value;

	probe->slots = slots;
	probe->mask = size - 1;
	open_cursor(probe, &cursor);
	while (next_element(probe, &cursor, &value))
	{
		uint32		hash;

		if (probe->integer)
		{
			value = key_of_datum(probe->array_integer, value);
			hash = hash_integer(value);
		}
		else
			hash = hash_value(probe, &probe->array_hash, value);
		insert_value(probe, hash, value);
		if (cursor.next % INTERRUPT_ELEMENTS == 0)
		{
			MemoryContextReset(hash_mcxt);
			CHECK_FOR_INTERRUPTS();
		}
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(hash_mcxt);
}

/* May whole pages be probed?  If the search has taken long enough, make the table. */
static bool
is_open(ArrayProbe *probe)
{
	if (probe->slots == NULL)
	{
		/* few integers are found in a table sooner than by searching */
		if (probe->count <= ARRAY_SEARCHED_MAX && !probe->integer)
			return true;
		if (probe->searched / HASH_AFTER < (uint64) probe->count)
			return false;
		hash_array(probe);
	}
	return true;
}

static inline bool
has_key(const ArrayProbe *probe, uint64 key, uint32 hash)
{
	uint32		place = hash & probe->mask;

	for (; probe->slots[place].used; place = (place + 1) & probe->mask)
	{
		if (probe->slots[place].value == key)
			return true;
	}
	return false;
}

static bool
has_value(ArrayProbe *probe, Datum element)
{
	uint32		hash = hash_value(probe, &probe->hash, element);
	uint32		place = hash & probe->mask;

	for (; probe->slots[place].used; place = (place + 1) & probe->mask)
	{
		if (probe->slots[place].hash == hash &&
			are_equal(probe, element, probe->slots[place].value))
			return true;
	}
	return false;
}

/* Is an element in the array?  May allocate in the current memory context. */
static bool
contains(ArrayProbe *probe, Datum element)
{
	if (probe->integer)
		return probe->slots ? has_key(probe, element, hash_integer(element)) :
			search(probe, element);
	if (probe->slots == NULL ||
		(probe->is_varlena &&
		 toast_raw_datum_size(element) / SEARCH_BYTES > (Size) probe->count))
		return search(probe, element);
	return has_value(probe, element);
}

/* ---- Methods ---- */

/* The method "recheck": does the row in ecxt_scantuple satisfy the condition? */
static bool
recheck_array(Probe *base, ExprContext *econtext)
{
	ArrayProbe *probe = (ArrayProbe *) base;
	MemoryContext old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	bool		isnull;
	Datum		element = base->attribute > 0 ?
		slot_getattr(econtext->ecxt_scantuple, base->attribute, &isnull) :
		ExecEvalExpr(base->element, econtext, &isnull);
	bool		passes;

	if (unlikely(!probe->ready))
		evaluate_array(probe, econtext);
	if (probe->outcome != OUTCOME_OF_ELEMENT)
		passes = probe->outcome == OUTCOME_PASS;
	else if (isnull)
		passes = false;
	else
	{
		if (probe->integer)
			element = key_of_datum(probe->integer, element);
		is_open(probe);
		passes = contains(probe, element) == probe->any;
	}
	MemoryContextSwitchTo(old);
	return passes;
}

/* Look up integers.  The table may be large, so first fetch the places of all. */
static void
look_up_integers(ArrayProbe *probe, ProbedPage *page)
{
	uint32		hashes[HEAP_PAGE_ROWS_MAX];
	int			hashed = 0;

	for (int i = 0; i < page->count; i++)
	{
		HeapTupleData tuple;
		bool		isnull;
		Datum		element = probe_element(&probe->probe, page, page->rows[i],
											&tuple, &isnull);

		if (isnull)
			continue;
		page->hashes[hashed] = key_of_datum(probe->integer, element);
		hashes[hashed] = hash_integer(page->hashes[hashed]);
		__builtin_prefetch(&probe->slots[hashes[hashed] & probe->mask]);
		page->rows[hashed++] = page->rows[i];
	}
	page->count = hashed;
	for (int i = 0; i < hashed; i++)
		page->found[i] = has_key(probe, page->hashes[i], hashes[i]) == probe->any;
}

/* Look up elements of another type, one by one. */
static void
look_up_values(ArrayProbe *probe, ProbedPage *page)
{
	int			kept = 0;

	for (int i = 0; i < page->count; i++)
	{
		HeapTupleData tuple;
		bool		isnull;
		Datum		element = probe_element(&probe->probe, page, page->rows[i],
											&tuple, &isnull);

		if (!isnull && contains(probe, element) == probe->any)
			page->rows[kept++] = page->rows[i];
		MemoryContextReset(CurrentMemoryContext);
	}
	page->count = kept;
}

/* The method "look_up" */
static bool
look_up_in_array(Probe *base, ProbedPage *page)
{
	ArrayProbe *probe = (ArrayProbe *) base;

	if (!probe->ready || probe->one_by_one)
		return false;
	if (probe->outcome != OUTCOME_OF_ELEMENT)
	{
		if (probe->outcome == OUTCOME_DROP)
			page->count = 0;
		return true;
	}
	if (!is_open(probe) ||
		(base->pays && !probe_switch_is_on(base->pays, page->count)))
		return false;
	if (probe->integer)
		look_up_integers(probe, page);
	else
		look_up_values(probe, page);
	return true;
}

static Size
array_probe_bytes(const Probe *base)
{
	const ArrayProbe *probe = (const ArrayProbe *) base;

	return probe->slots ? ((Size) probe->mask + 1) * sizeof(ArraySlot) : 0;
}

const ProbeMethods probe_array_methods = {
	.begin = begin_array,
	.rescan = rescan_array,
	.look_up = look_up_in_array,
	.recheck = recheck_array,
	.bytes = array_probe_bytes,
	.text = probe_condition_text
};
