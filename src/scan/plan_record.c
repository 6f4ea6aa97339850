/*
 * plan_record.c
 *	  Writes a struct as a list of a plan, and reads it.
 *
 * custom_private of a CustomScan is a list, and core copies it and sends it to workers.  A table
 * of the struct's members says what is written, and the same table what is read: so no two
 * members can be exchanged.
 *
 * The list has two lists: the numbers, and the lists among the members.
 */
#include "plan_record.h"

#include "node.h"

/* A share is written as an integer; this is the share 1. */
#define SHARE_ONE				1000

static int
read_number(const char *member, size_t size)
{
	switch (size)
	{
		case sizeof(bool):
			return *(const bool *) member;
		case sizeof(int16):
			return *(const int16 *) member;
		default:
			Assert(size == sizeof(int));
			return *(const int *) member;
	}
}

static void
set_number(char *member, size_t size, int value)
{
	switch (size)
	{
		case sizeof(bool):
			*(bool *) member = value != 0;
			break;
		case sizeof(int16):
			*(int16 *) member = (int16) value;
			break;
		default:
			Assert(size == sizeof(int));
			*(int *) member = value;
	}
}

/* Return a list with the values of these members of a struct.  Lists are not copied. */
List *
plan_record_write(const void *record, const PlanField *fields, int count)
{
	List	   *numbers = NIL;
	List	   *lists = NIL;

	for (int i = 0; i < count; i++)
	{
		const char *member = (const char *) record + fields[i].offset;

		switch (fields[i].type)
		{
			case PLAN_NUMBER:
				numbers = lappend_int(numbers, read_number(member, fields[i].size));
				break;
			case PLAN_SHARE:
				numbers = lappend_int(numbers, (int) (*(const double *) member * SHARE_ONE));
				break;
			case PLAN_LIST:
				lists = lappend(lists, *(List *const *) member);
				break;
		}
	}
	return list_make2(numbers, lists);
}

/*
 * Set these members of a struct to what plan_record_write() has written.  Raises an error if the
 * list is not one of these members.
 */
void
plan_record_read(List *list, void *record, const PlanField *fields, int count)
{
	List	   *numbers = linitial(plan_fields(list, 2));
	List	   *lists = lsecond(list);
	int			number = 0;
	int			place = 0;
	int			list_count = 0;

	for (int i = 0; i < count; i++)
		list_count += fields[i].type == PLAN_LIST;
	plan_fields(numbers, count - list_count);
	plan_fields(lists, list_count);
	for (int i = 0; i < count; i++)
	{
		char	   *member = (char *) record + fields[i].offset;

		switch (fields[i].type)
		{
			case PLAN_NUMBER:
				set_number(member, fields[i].size, list_nth_int(numbers, number++));
				break;
			case PLAN_SHARE:
				*(double *) member = (double) list_nth_int(numbers, number++) / SHARE_ONE;
				break;
			case PLAN_LIST:
				*(List **) member = list_nth(lists, place++);
				break;
		}
	}
}
