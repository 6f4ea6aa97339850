/*
 * partition_bound.h
 *	  Excludes partitions that have none of a join's keys; see partition_bound.c.
 */
#ifndef BLOOMFILTER_PARTITION_BOUND_H
#define BLOOMFILTER_PARTITION_BOUND_H

#include "scan/join/join_filter_probe.h"


extern bool partition_bound_excludes(Relation table, KeyProbe *probe, Snapshot snapshot,
									 ExprContext *econtext);

#endif							/* BLOOMFILTER_PARTITION_BOUND_H */
