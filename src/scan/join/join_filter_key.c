/*
 * join_filter_key.c
 *	  Describes the key of a hash join: its columns, and how they are compared or hashed.
 */
#include "join_filter_plan.h"

#include "scan/probe.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

/* If an operator compares integers by value, set their types and return true. */
bool
integers_of(Oid operator, KeyInteger *left, KeyInteger *right)
{
	static const struct
	{
		Oid			function;
		KeyInteger	left;
		KeyInteger	right;
	}			known[] = {
		{F_INT2EQ, KEY_INT2, KEY_INT2},
		{F_INT24EQ, KEY_INT2, KEY_INT4},
		{F_INT28EQ, KEY_INT2, KEY_INT8},
		{F_INT42EQ, KEY_INT4, KEY_INT2},
		{F_INT4EQ, KEY_INT4, KEY_INT4},
		{F_INT48EQ, KEY_INT4, KEY_INT8},
		{F_INT82EQ, KEY_INT8, KEY_INT2},
		{F_INT84EQ, KEY_INT8, KEY_INT4},
		{F_INT8EQ, KEY_INT8, KEY_INT8},
		{F_OIDEQ, KEY_INT4, KEY_INT4},
		{F_DATE_EQ, KEY_INT4, KEY_INT4},
		{F_TIMESTAMP_EQ, KEY_INT8, KEY_INT8},
		{F_TIMESTAMPTZ_EQ, KEY_INT8, KEY_INT8},
	};
	Oid			function = get_opcode(operator);

	for (size_t i = 0; i < lengthof(known); i++)
	{
		if (known[i].function != function)
			continue;
		*left = known[i].left;
		*right = known[i].right;
		return true;
	}
	return false;
}

/* Set *key to the key of a hash join; return false if no filter can be made of it. */
bool
key_of_join(HashJoin *join, JoinKey *key)
{
	Hash	   *hash = (Hash *) innerPlan(join);
	SideKey    *outer = &key->outer;
	SideKey    *inner = &key->inner;

	memset(key, 0, sizeof(*key));
	outer->count = inner->count = list_length(join->hashkeys);
	if (outer->count > KEY_COLUMNS_MAX)
		return false;
	for (int i = 0; i < outer->count; i++)
	{
		Oid			operator = list_nth_oid(join->hashoperators, i);
		Var		   *outer_var = var_of(list_nth(join->hashkeys, i));
		Var		   *inner_var = var_of(list_nth(hash->hashkeys, i));

		if (!op_strict(operator) ||
			!get_op_hash_functions(operator, &outer->functions[i],
								   &inner->functions[i]))
			return false;
		if (outer_var && outer_var->varno == OUTER_VAR)
			outer->columns[i] = outer_var->varattno;
		else
			outer->expressions = join->hashkeys;
		if (inner_var && inner_var->varno == OUTER_VAR)
			inner->columns[i] = inner_var->varattno;
		else
			inner->expressions = hash->hashkeys;
		outer->collations[i] = inner->collations[i] =
			list_nth_oid(join->hashcollations, i);
		op_input_types(operator, &outer->types[i], &inner->types[i]);
		outer->families[i] = inner->families[i] = key_family(operator, inner->types[i]);
	}
	/* a probe evaluates them again, which must give the same result */
	if (contain_volatile_functions((Node *) outer->expressions) ||
		contain_subplans((Node *) outer->expressions))
		return false;
	outer->kind = outer->count == 1 && inner->columns[0] != 0 &&
		outer->expressions == NIL &&
		integers_of(linitial_oid(join->hashoperators), &outer->integer,
					&inner->integer) ? KEY_INTEGER : KEY_HASH;
	inner->kind = outer->kind;
	outer->same_functions = inner->same_functions =
		memcmp(outer->functions, inner->functions, sizeof(outer->functions)) == 0;
	for (int i = 0; outer->kind == KEY_HASH && i < outer->count; i++)
	{
		outer->may_fail |= probe_hash_may_fail(outer->functions[i],
											   exprType(list_nth(join->hashkeys, i)),
											   TRUST_LEAKPROOF);
		inner->may_fail |= probe_hash_may_fail(inner->functions[i],
											   exprType(list_nth(hash->hashkeys, i)),
											   TRUST_LEAKPROOF);
	}
	return true;
}
