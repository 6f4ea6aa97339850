/*
 * entry_points.h
 *	  SQL functions that other files recognize by their address.
 */
#ifndef BLOOMFILTER_ENTRY_POINTS_H
#define BLOOMFILTER_ENTRY_POINTS_H

#include "postgres.h"

#include "fmgr.h"

/* contains.c */
extern Datum bloomfilter_contains(PG_FUNCTION_ARGS);
extern Datum bloomfilter_contained(PG_FUNCTION_ARGS);

/* io.c: the output function of both filter types */
extern Datum bloomfilter_out(PG_FUNCTION_ARGS);

/* index/contains.c */
extern Datum bloomfilter_membership_contains(PG_FUNCTION_ARGS);

#endif							/* BLOOMFILTER_ENTRY_POINTS_H */
