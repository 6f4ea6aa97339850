/*
 * timing.h
 *	  The clock, and the median of what it said: what the timed benchmarks here
 *	  have in common.
 */
#ifndef BENCH_TIMING_H
#define BENCH_TIMING_H

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

/* Here the compiler may not know what the variable holds. */
#define OPAQUE(variable)	__asm__ volatile("" : "+r"(variable))

static inline double
nanoseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e9 + now.tv_nsec;
}

static inline int
compare_doubles(const void *a, const void *b)
{
	double		left = *(const double *) a;
	double		right = *(const double *) b;

	return (left > right) - (left < right);
}

/* Sorts the values, whose number is odd, and returns the one in the middle. */
static inline double
median(double *values, int count)
{
	qsort(values, count, sizeof(double), compare_doubles);
	return values[count / 2];
}

#endif							/* BENCH_TIMING_H */
