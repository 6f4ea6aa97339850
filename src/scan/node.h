/*
 * node.h
 *	  The fields of our nodes' plans, which are lists of values.
 *
 * A session keeps the library that it has loaded when a newer one is installed.  Its
 * parallel workers load that one, and get the session's plans.
 */
#ifndef BLOOMFILTER_NODE_H
#define BLOOMFILTER_NODE_H

#include "postgres.h"

#include "nodes/pg_list.h"

/* Return the list.  Raises an error if it does not have this many fields. */
static inline List *
plan_fields(List *fields, int count)
{
	if (unlikely(list_length(fields) != count))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("plan was made by another version of bloomfilter"),
				 errhint("Connect to the server again.")));
	return fields;
}

#endif							/* BLOOMFILTER_NODE_H */
