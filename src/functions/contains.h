/*
 * contains.h
 *	  Results of probing with an array of elements; see contains.c.
 */
#ifndef BLOOMFILTER_CONTAINS_H
#define BLOOMFILTER_CONTAINS_H

#include "value/value.h"

#include "utils/array.h"

typedef struct ArrayAnswers
{
	int			length;
	bool	   *nulls;			/* the element is NULL, and the result too */
	bool	   *found;			/* valid if it is not */
} ArrayAnswers;

extern void spread_answers(ArrayAnswers *answers, int probed);
extern Datum find_answer(FunctionCallInfo fcinfo, const ArrayAnswers *answers,
						 bool wanted);
extern Datum each_answer(ArrayType *elements, const ArrayAnswers *answers);

#endif							/* BLOOMFILTER_CONTAINS_H */
