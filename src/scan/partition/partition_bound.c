/*
 * partition_bound.c
 *	  Excludes partitions whose bound allows none of a join's keys.
 *
 *		SELECT ... FROM sales s JOIN days d ON s.day = d.day WHERE d.quarter = '2026Q1'
 *
 * Core selects the partitions of "sales" before it knows the days.  After the join has
 * collected the days, a partition whose bound allows none of them need not be read.
 *
 * The bound is the partition constraint, ancestors included, that core checks for each
 * inserted row.  If there are few keys, we evaluate it for each: this works for range, list
 * and hash partitions, but not for expressions as partition keys, which may raise errors.
 * Otherwise only the least and the greatest key are known, and core's predtest.c decides
 * whether the constraint refutes all values between them.
 *
 * Limits.  The key must be one column of an integer, date or timestamp type: filters contain
 * only hashes of other keys.  Parts of the constraint about other columns are not used.
 */
#include "partition_bound.h"

#include "index/lookup.h"

#include "access/stratnum.h"
#include "access/transam.h"
#include "catalog/partition.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "port/pg_bitutils.h"
#include "storage/bufmgr.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

/* Try at most this many keys: that takes 0.1 ms, much less than reading a partition. */
#define KEYS_TRIED_MAX			1000
StaticAssertDecl(KEYS_KEPT_MAX <= KEYS_TRIED_MAX, "all keys that are kept are tried");

/* Read a smaller partition unchecked: a check takes 50 us, reading this many pages 1 ms. */
#define PAGES_MIN				128

/* Range table index of a table in its partition constraint */
#define CONSTRAINT_VARNO		1

/* A check_function_callback: may a function have side effects, or require a privilege? */
static bool
is_users_function(Oid function, void *context)
{
	return function >= FirstUnpinnedObjectId;
}

/*
 * Does a part of a constraint call a user's function, or may it raise an error for a value
 * that the partition does not contain?  Comparing the plain column with constants raises
 * none, nor does satisfies_hash_partition().
 */
static bool
is_unsafe(Node *node, void *context)
{
	List	   *args = NIL;

	if (node == NULL)
		return false;
	if (check_functions_in_node(node, is_users_function, NULL))
		return true;
	if (IsA(node, OpExpr))
		args = ((OpExpr *) node)->args;
	else if (IsA(node, ScalarArrayOpExpr))
		args = ((ScalarArrayOpExpr *) node)->args;
	else if (IsA(node, FuncExpr))
	{
		if (((FuncExpr *) node)->funcid != F_SATISFIES_HASH_PARTITION)
			return true;
	}
	else if (!IsA(node, Var) && !IsA(node, Const) && !IsA(node, ArrayExpr) &&
			 !IsA(node, BoolExpr) && !IsA(node, NullTest) && !IsA(node, List))
		return true;
	if (args != NIL && !IsA(linitial(args), Var))
		return true;
	return expression_tree_walker(node, is_unsafe, context);
}

/* Does the snapshot see the pg_class row with a partition's bound? */
static bool
sees_bound(Oid partition, Snapshot snapshot)
{
	/* not if we wrote it: the snapshot may see rows that we deleted before */
	return !catalog_row_written_later(RELOID, partition, snapshot, true);
}

/*
 * Do all rows that the snapshot sees satisfy the table's partition constraint?  A row that
 * was deleted before its table became a partition need not, but an older snapshot still sees
 * it.  The constraint of a default partition follows from the bounds of all its siblings.
 */
static bool
rows_satisfy_constraint(Relation table, Snapshot snapshot)
{
	Oid			partition = RelationGetRelid(table);
	ListCell   *cell;

	if (snapshot == NULL || !IsMVCCSnapshot(snapshot))
		return false;
	foreach(cell, get_partition_ancestors(partition))
	{
		Oid			parent = lfirst_oid(cell);
		ListCell   *child;

		if (!sees_bound(partition, snapshot))
			return false;
		if (get_default_partition_oid(parent) == partition)
		{
			/* the constraint cached for its child may lack new siblings */
			if (partition != RelationGetRelid(table))
				return false;
			foreach(child, find_inheritance_children(parent, NoLock))
			{
				if (!sees_bound(lfirst_oid(child), snapshot))
					return false;
			}
		}
		partition = parent;
	}
	/* a partition that is being detached ends the list, but still has a bound */
	return !get_rel_relispartition(partition);
}

/* Return the parts of a table's partition constraint that refer to this column alone. */
static List *
constraint_of(Relation table, AttrNumber attribute)
{
	List	   *parts = NIL;
	ListCell   *cell;

	foreach(cell, RelationGetPartitionQual(table))
	{
		Bitmapset  *columns = NULL;
		int			column = -1;

		pull_varattnos(lfirst(cell), CONSTRAINT_VARNO, &columns);
		if (bms_get_singleton_member(columns, &column) &&
			column == attribute - FirstLowInvalidHeapAttributeNumber &&
			!is_unsafe(lfirst(cell), NULL))
			parts = lappend(parts, lfirst(cell));
	}
	return parts;
}

/* ---- Few keys ---- */

/* Replace the column by a CaseTestExpr, which reads the ExprContext's caseValue_datum. */
static Node *
column_to_value(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
	{
		CaseTestExpr *value = makeNode(CaseTestExpr);

		value->typeId = ((Var *) node)->vartype;
		value->typeMod = ((Var *) node)->vartypmod;
		value->collation = ((Var *) node)->varcollid;
		return (Node *) value;
	}
	return expression_tree_mutator(node, column_to_value, context);
}

/* Is one of the parts of the constraint false for a key? */
static bool
refutes_key(List *parts, ExprContext *econtext, Datum key)
{
	ListCell   *cell;

	econtext->caseValue_datum = key;
	econtext->caseValue_isNull = false;
	foreach(cell, parts)
	{
		bool		isnull;
		Datum		holds = ExecEvalExpr((ExprState *) lfirst(cell), econtext, &isnull);

		if (!isnull && !DatumGetBool(holds))
			return true;
	}
	return false;
}

/* Are there few keys from "least" to "most", and is the constraint false for each of them? */
static bool
refutes_keys(List *constraint, KeyInteger type, const KeyFilter *filter,
			 int64 least, int64 most, ExprContext *econtext)
{
	List	   *parts = NIL;
	int			tried = 0;
	ListCell   *cell;

	if (filter->form == KEYS_BLOOM && filter->kept == 0)
		return false;
	foreach(cell, constraint)
		parts = lappend(parts, ExecInitExpr((Expr *) column_to_value(lfirst(cell), NULL), NULL));
	for (uint64 i = 0; i < filter->kept; i++)
	{
		int64		key = integer_of_key(kept_keys(filter)[i]);

		if (key >= least && key <= most &&
			!refutes_key(parts, econtext, datum_of_key(type, key)))
			return false;
	}
	for (uint64 i = 0; i < filter->bits / 64; i++)
	{
		for (uint64 word = filter->data[i]; word != 0; word &= word - 1)
		{
			int64		key = integer_of_key(filter->base + i * 64 +
											 pg_rightmost_one_pos64(word));

			if (key >= least && key <= most &&
				(tried++ == KEYS_TRIED_MAX ||
				 !refutes_key(parts, econtext, datum_of_key(type, key))))
				return false;
		}
	}
	return true;
}

/* ---- The least and the greatest key ---- */

/* Make a condition that compares a column with a value by a strategy's operator; or NULL. */
static Expr *
comparison(Form_pg_attribute column, Oid family, StrategyNumber strategy, Datum value)
{
	Oid			type = column->atttypid;
	Oid			operator = get_opfamily_member(family, type, type, strategy);
	OpExpr	   *condition;

	if (!OidIsValid(operator))
		return NULL;
	condition = (OpExpr *)
		make_opclause(operator, BOOLOID, false,
					  (Expr *) makeVar(CONSTRAINT_VARNO, column->attnum, type, column->atttypmod,
									   column->attcollation, 0),
					  (Expr *) makeConst(type, -1, InvalidOid, column->attlen, value, false,
										 column->attbyval),
					  InvalidOid, column->attcollation);
	set_opfuncid(condition);
	return (Expr *) condition;
}

/* Is the constraint false for all values from "least" to "most"? */
static bool
refutes_range(List *constraint, Form_pg_attribute column, KeyInteger type,
			  int64 least, int64 most)
{
	Oid			family = lookup_type_cache(column->atttypid, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	Expr	   *from = comparison(column, family, BTGreaterEqualStrategyNumber,
								  datum_of_key(type, least));
	Expr	   *to = comparison(column, family, BTLessEqualStrategyNumber,
								datum_of_key(type, most));

	return from != NULL && to != NULL &&
		predicate_refuted_by(constraint, list_make2(from, to), false);
}

/*
 * Is a table a partition whose bound excludes all keys of a join?  If so, no row of the table
 * that the snapshot sees has a partner.  Return false if the keys are not yet known, or if
 * the check would take too long for what it may save.  Allocate in the per-tuple memory of
 * "econtext", and reset it.
 */
bool
partition_bound_excludes(Relation table, KeyProbe *probe, Snapshot snapshot,
						 ExprContext *econtext)
{
	const KeyFilter *filter = key_probe_filter(probe);
	KeyInteger	type = probe->plan.integer;
	Form_pg_attribute column;
	bool		excludes = false;
	bool		has_keys;
	MemoryContext old;
	List	   *constraint;
	int64		least;
	int64		most;

	if (!table->rd_rel->relispartition || filter == NULL ||
		filter->kind != KEY_INTEGER || filter->least > filter->most ||
		(!probe->plan.forced && RelationGetNumberOfBlocks(table) < PAGES_MIN))
		return false;
	Assert(probe->reader.columns == 1 && probe->reader.attributes[0] > 0);
	column = TupleDescAttr(RelationGetDescr(table), probe->reader.attributes[0] - 1);
	/* oid is unsigned, so its order differs from that of the keys */
	if (column->atttypid == OIDOID)
		return false;
	has_keys = key_filter_range(filter, type, &least, &most);
	old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	constraint = constraint_of(table, probe->reader.attributes[0]);
	if (constraint != NIL && rows_satisfy_constraint(table, snapshot))
		excludes = !has_keys ||
			refutes_keys(constraint, type, filter, least, most, econtext) ||
			refutes_range(constraint, column, type, least, most);
	MemoryContextSwitchTo(old);
	ResetExprContext(econtext);
	return excludes;
}
