/*
 * partition_filter.h
 *	  The Partition Filter: declarations that its planner and its executor share.
 */
#ifndef BLOOMFILTER_PARTITION_FILTER_H
#define BLOOMFILTER_PARTITION_FILTER_H

#include "scan/node.h"

/* What a Partition Filter looks up in the indexes of partitions */
typedef struct PartitionLookup
{
	Expr	   *value;			/* value to which a column is compared */
	bool		is_array;		/* "value" is an array of such values */
	Oid			type;			/* type to hash the values as */
	List	   *indexes;		/* OIDs, by child of the Append; InvalidOid:
								 * the child is always read */
	List	   *tables;			/* range table indexes of the children's
								 * tables; 0: no index */
	bool		is_updatable;	/* WHERE CURRENT OF may name the rows */
} PartitionLookup;

/* partition_filter.c */
extern const NodeKind partition_filter_node;
extern void partition_filter_set_key(CustomScan *scan, const PartitionLookup *key);
extern void partition_filter_set_updatable(CustomScan *scan);

/* partition_plan.c */
extern void partition_filters_add(PlannedStmt *statement, int options, int first_sent);

#endif							/* BLOOMFILTER_PARTITION_FILTER_H */
