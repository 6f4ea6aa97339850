/*
 * plan_record.h
 *	  Structs as lists of a plan, which can be copied and sent to workers; see plan_record.c.
 */
#ifndef BLOOMFILTER_PLAN_RECORD_H
#define BLOOMFILTER_PLAN_RECORD_H

#include "postgres.h"

#include "nodes/pg_list.h"

typedef enum PlanFieldType
{
	PLAN_NUMBER,				/* bool, AttrNumber, int, Oid, or an enum */
	PLAN_SHARE,					/* a double from 0 to 1, kept to a thousandth */
	PLAN_LIST					/* List * */
} PlanFieldType;

/* A member of a struct */
typedef struct PlanField
{
	PlanFieldType type;
	size_t		offset;
	size_t		size;			/* PLAN_NUMBER: bytes */
} PlanField;

#define PLAN_NUMBER_FIELD(record, member) \
	{PLAN_NUMBER, offsetof(record, member), sizeof(((record *) 0)->member)}
#define PLAN_FIELD(type, record, member) \
	{type, offsetof(record, member), 0}

extern List *plan_record_write(const void *record, const PlanField *fields, int count);
extern void plan_record_read(List *list, void *record, const PlanField *fields, int count);

#endif							/* BLOOMFILTER_PLAN_RECORD_H */
