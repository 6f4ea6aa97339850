/*
 * partition_filter.h
 *	  The Partition Filter: what its planner and its executor share.
 */
#ifndef BLOOMFILTER_PARTITION_FILTER_H
#define BLOOMFILTER_PARTITION_FILTER_H

#include "scan/node.h"

/* What a Partition Filter asks the indexes of partitions */
typedef struct PartitionLookup
{
	Expr	   *value;			/* that a column is compared with */
	bool		is_array;		/* "value" is an array of such values */
	Oid			type;			/* hash the values as this type */
	List	   *indexes;		/* OIDs, by child of the Append; InvalidOid:
								 * that child is always read */
	List	   *tables;			/* range table indexes of the children's
								 * tables; 0 where there is no index */
} PartitionLookup;

/* partition_filter.c */
extern const NodeKind partition_filter_node;
extern void partition_filter_set_key(CustomScan *scan, const PartitionLookup *key);

#endif							/* BLOOMFILTER_PARTITION_FILTER_H */
