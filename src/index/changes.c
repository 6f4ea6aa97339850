/*
 * changes.c
 *	  Counts the events that may invalidate what a session caches about indexes.
 *
 * A cache stores invalidation_count when it is filled, and is checked again once the count
 * has changed.  We count invalidation messages for any relation, role or role membership,
 * ends of transactions, and rollbacks of subtransactions, which release locks (events.c).
 */
#include "membership.h"

#include "utils/inval.h"
#include "utils/syscache.h"

uint64		invalidation_count = 0;

static void
at_invalidation(Datum arg, Oid relation)
{
	invalidation_count++;
}

/* A role, a role membership or the owner of the database has changed. */
static void
at_role_change(Datum arg, int cache, uint32 hash)
{
	invalidation_count++;
}

/* Called when the library is loaded. */
void
membership_changes_init(void)
{
	CacheRegisterRelcacheCallback(at_invalidation, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHOID, at_role_change, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHMEMROLEMEM, at_role_change, (Datum) 0);
	/* the owner of a database is a member of pg_database_owner */
	CacheRegisterSyscacheCallback(DATABASEOID, at_role_change, (Datum) 0);
}
