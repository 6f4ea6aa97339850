/*
 * array_condition.c
 *	  Conditions that compare an element of each row with all elements of an array.
 *
 * The server hashes the array of "x = ANY (array)" or "x <> ALL (array)" if it is a constant.
 * Any other it searches from end to end, for each row: a parameter in a generic plan, the
 * result of a subquery or a stable function, a list of parameters.  A Filter Scan hashes
 * these (probe_array.c).
 */
#include "filter_path.h"

#include "scan/join/join_filter_plan.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/array.h"
#include "utils/lsyscache.h"

/* Can the array have enough elements for a table to be made of them? */
static bool
may_be_long(Node *array)
{
	while (IsA(array, RelabelType))
		array = (Node *) ((RelabelType *) array)->arg;
	if (IsA(array, ArrayExpr) && !((ArrayExpr *) array)->multidims)
		return list_length(((ArrayExpr *) array)->elements) > ARRAY_SEARCHED_MAX;
	if (IsA(array, Const))
	{
		const Const *constant = (const Const *) array;
		ArrayType  *value;

		if (constant->constisnull)
			return false;
		value = DatumGetArrayTypeP(constant->constvalue);
		return ArrayGetNItems(ARR_NDIM(value), ARR_DIMS(value)) > ARRAY_SEARCHED_MAX;
	}
	return true;
}

/* May names that are equal have different hashes?  They are hashed by their bytes. */
static bool
hash_misses_names(Oid collation, Oid type, Oid array_type)
{
	return (!OidIsValid(collation) || !get_collation_isdeterministic(collation)) &&
		(probe_type_has(type, NAMEOID) || probe_type_has(array_type, NAMEOID));
}

/*
 * Describe how elements are hashed and compared; see KeyProbePlan.  Return false if they
 * cannot be, or only by functions that may raise errors, which the condition might not do.
 */
static bool
describe(const ScalarArrayOpExpr *clause, Oid equality, KeyProbePlan *keys)
{
	Oid			type = exprType(linitial(clause->args));
	Oid			array_type = get_base_element_type(exprType(lsecond(clause->args)));
	Oid			hash;
	Oid			array_hash;
	KeyInteger	array_integer;

	if (!op_hashjoinable(equality, type) ||
		!get_op_hash_functions(equality, &hash, &array_hash) ||
		hash_misses_names(clause->inputcollid, type, array_type))
		return false;
	keys->kind = integers_of(equality, &keys->integer, &array_integer) ?
		KEY_INTEGER : KEY_HASH;
	keys->functions = list_make3_oid(hash, array_hash, get_opcode(equality));
	keys->collations = list_make1_oid(clause->inputcollid);
	return keys->kind == KEY_INTEGER ||
		(!probe_hash_may_fail(hash, type, TRUST_C) &&
		 !probe_hash_may_fail(array_hash, array_type, TRUST_C) &&
		 !probe_hash_may_fail(get_opcode(equality), type, TRUST_C) &&
	/* without a collation, the operator raises an error */
		 (OidIsValid(clause->inputcollid) || !type_is_collatable(type)));
}

/* Make a ProbeCondition if a condition compares all rows with one array; NULL otherwise. */
ProbeCondition *
array_condition_make(RestrictInfo *rinfo)
{
	ScalarArrayOpExpr *clause = (ScalarArrayOpExpr *) rinfo->clause;
	ProbeCondition *condition;
	Node	   *array;
	Oid			equality;
	KeyProbePlan keys = {0};

	/* the server hashes some itself */
	if (!IsA(clause, ScalarArrayOpExpr) || OidIsValid(clause->hashfuncid))
		return NULL;
	array = lsecond(clause->args);
	if (!may_be_long(array) || contain_var_clause(array))
		return NULL;
	equality = clause->useOr ? clause->opno : get_negator(clause->opno);
	if (!OidIsValid(equality) || !op_strict(clause->opno) || !op_strict(equality) ||
		!describe(clause, equality, &keys) ||
		contain_subplans((Node *) clause) || contain_volatile_functions((Node *) clause))
		return NULL;
	condition = palloc0(sizeof(ProbeCondition));
	condition->rinfo = rinfo;
	condition->kind = PROBE_ARRAY;
	condition->filter = array;
	condition->element = linitial(clause->args);
	condition->keys = keys;
	return condition;
}
