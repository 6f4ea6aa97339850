/*
 * distributed.c
 *	  Tables that Citus distributes: their rows are in shards, on other servers.
 *
 * Citus need not be installed where the extension is built, so we look up its catalog by
 * name.
 */
#include "membership.h"

#include "access/table.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

/* The catalog that lists Citus's tables, and its column with their OIDs */
#define CITUS_CATALOG		"pg_dist_partition"
#define CITUS_TABLE_COLUMN	"logicalrelid"

/*
 * Does Citus distribute this table, so that its rows are elsewhere?  Once the catalog was
 * not found, looks for it again only after an invalidation.
 */
bool
table_is_distributed(Oid table)
{
	static uint64 absent_at = PG_UINT64_MAX;	/* as of the last search */
	const uint64 now = invalidation_count;
	Oid			catalog;
	AttrNumber	column;
	Relation	relation;
	SysScanDesc scan;
	ScanKeyData key;
	bool		found;

	if (likely(absent_at == now))
		return false;
	catalog = get_relname_relid(CITUS_CATALOG, PG_CATALOG_NAMESPACE);
	if (!OidIsValid(catalog))
	{
		absent_at = now;
		return false;
	}
	column = get_attnum(catalog, CITUS_TABLE_COLUMN);
	if (column == InvalidAttrNumber || get_atttype(catalog, column) != REGCLASSOID)
		return false;
	relation = table_open(catalog, AccessShareLock);
	ScanKeyInit(&key, column, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(table));
	/* no index: the catalog is small, and we do not rely on its indexes */
	scan = systable_beginscan(relation, InvalidOid, false, NULL, 1, &key);
	found = HeapTupleIsValid(systable_getnext(scan));
	systable_endscan(scan);
	table_close(relation, AccessShareLock);
	return found;
}
