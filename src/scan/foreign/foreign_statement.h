/*
 * foreign_statement.h
 *	  Adds filters to the statement of a foreign scan; see foreign_statement.c.
 */
#ifndef BLOOMFILTER_FOREIGN_STATEMENT_H
#define BLOOMFILTER_FOREIGN_STATEMENT_H

#include "postgres.h"

#include "nodes/plannodes.h"

/* Items of postgres_fdw's fdw_private, its FdwScanPrivateIndex */
enum
{
	PRIVATE_STATEMENT,
	PRIVATE_COLUMNS,
	PRIVATE_FETCH_SIZE,
	PRIVATE_RELATIONS			/* only for joined or grouped tables */
};

#define EXTENSION_NAME			"bloomfilter"

extern Oid	foreign_probe_function(void);
extern Oid	foreign_filter_type(Oid function);
extern char *foreign_statement(const ForeignScan *scan);
extern ForeignScan *foreign_statement_send(const ForeignScan *scan, int parameter,
										   int key, Oid type, int32 modifier);
extern ForeignScan *foreign_statement_ask(const ForeignScan *scan, uint64 bytes);

#endif							/* BLOOMFILTER_FOREIGN_STATEMENT_H */
