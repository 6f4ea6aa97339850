/*
 * unit.h
 *	  What the unit tests of src/filter/ share: results in TAP, random numbers,
 *	  and how far chance may carry a count.
 *
 * A test has a beginning with a name, expectations, and an end.  It passes if
 * it has expectations and all of them are met.
 */
#ifndef UNIT_H
#define UNIT_H

#include "../../bench/filters.h"

/*
 * How many standard deviations a measured figure may lie off: once in two
 * million, and never by chance in a run, whose random numbers are its own.
 */
#define SIGMAS			5.0

#define lengthof(array)	((int) (sizeof(array) / sizeof((array)[0])))

extern void begin_test(const char *name,...)
			__attribute__((format(printf, 1, 2)));
extern void end_test(void);
extern void skip_test(const char *name, const char *why);

/* Things expected since the test began */
extern uint64_t expectations;

/* Says what is wrong: a comment in the output, and a test that fails. */
extern void disappointed(const char *format,...)
			__attribute__((format(printf, 1, 2)));

#define expect(good, ...) \
	do { \
		expectations++; \
		if (!(good)) \
			disappointed(__VA_ARGS__); \
	} while (0)

/* Expect an image to pass the check of bytes from outside. */
extern void expect_sound(const char *what, const uint8_t *image);

/* 64 random bits; each test begins the same sequence. */
extern uint64_t random64(void);

/* A random number in [0, range) */
static inline uint64_t
random_below(uint64_t range)
{
	return mulhi64(random64(), range);
}

/* Put the elements of an array in random order. */
extern void shuffle(uint64_t *array, uint64_t count);

/* What the sanitizers look for is not a matter of numbers, and they are slow. */
#ifdef __SANITIZE_ADDRESS__
#define SANITIZED		true
#else
#define SANITIZED		false
#endif

/*
 * How often to try something with random numbers, where more of it repeats the
 * same proof: "count" times if the environment has UNIT_ALL, as script/test --all
 * sees to, else a fifth of it.
 */
extern uint64_t trials(uint64_t count);

/* As many hits as chance allows of "trials" with probability p, and as few */
extern double most_hits(double trials, double p);
extern double least_hits(double trials, double p);

/* One function a file */
extern void test_block512(void);
extern void test_hashset(void);
extern void test_sizing(void);
extern void test_layouts(void);
extern void test_classic(void);
extern void test_union(void);
extern void test_error_rate(void);
extern void test_image(void);
extern void test_cuckoo_places(void);
extern void test_cuckoo_change(void);
extern void test_cuckoo_union(void);
extern void test_cuckoo_random(void);
extern void test_cuckoo_check(void);
extern void test_golden(void);
extern void test_interrupt(void);
extern void test_exact(void);
extern void test_counting(void);
extern void test_foreign(void);

#endif							/* UNIT_H */
