/*
 * changes.c
 *	  Counts what may make untrue what a session keeps of its indexes.
 *
 * Who keeps something keeps the count with it, and looks again once it differs.
 * Counted are invalidations of any relation, role or membership of a role that
 * this session has noticed, ends of transactions, and subtransactions that
 * are rolled back, which releases locks.
 */
#include "membership.h"

#include "access/xact.h"
#include "utils/inval.h"
#include "utils/syscache.h"

uint64		disturbances = 0;

static void
at_invalidation(Datum arg, Oid relation)
{
	disturbances++;
}

/* Of a role, or of who is a member of it */
static void
at_role_change(Datum arg, int cache, uint32 hash)
{
	disturbances++;
}

static void
at_transaction_event(XactEvent event, void *arg)
{
	disturbances++;
}

static void
at_subtransaction_event(SubXactEvent event, SubTransactionId subtransaction,
						SubTransactionId parent, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		disturbances++;
}

/* When the library is loaded */
void
membership_changes_init(void)
{
	CacheRegisterRelcacheCallback(at_invalidation, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHOID, at_role_change, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHMEMROLEMEM, at_role_change, (Datum) 0);
	/* whose owner is a member of pg_database_owner */
	CacheRegisterSyscacheCallback(DATABASEOID, at_role_change, (Datum) 0);
	RegisterXactCallback(at_transaction_event, NULL);
	RegisterSubXactCallback(at_subtransaction_event, NULL);
}
