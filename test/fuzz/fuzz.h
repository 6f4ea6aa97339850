/*
 * fuzz.h
 *	  What the fuzz targets share.
 *
 * A target is a program that libFuzzer feeds with bytes (make fuzz).  The
 * sanitizers detect reads beyond an image and undefined behaviour; subject.c
 * checks what else must hold of an image that was let through.
 *
 * Elements are ELEMENTS hashes that all inputs have in common, by number.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include "../../bench/filters.h"

/* Few, so that the bytes of an input often name the same one again */
#define ELEMENTS		64

/* Results that would be larger are planned, but not made. */
#define RESULT_MAX		((uint64_t) 64 * 1024)

extern void broken(const char *format,...)
			__attribute__((noreturn, format(printf, 1, 2)));

/* What else than so must not be; libFuzzer keeps the input then. */
#define must(good, ...) \
	do { \
		if (!(good)) \
			broken(__VA_ARGS__); \
	} while (0)

extern uint64_t element(unsigned number);

/*
 * Each input begins with this; the target's name, and the least share of inputs
 * that must get past the validator, or nothing has been tested.
 */
extern void begin_input(const char *name, double share_let_through);

/* What the target did, reported in TAP when it ends */
extern uint64_t let_through;
extern uint64_t operations;

/*
 * An image and what is known of its elements.  The image was let through and
 * may hold anything before; times[] is how often an element was added since then
 * and not removed, as far as the filter may still tell.
 */
typedef struct Subject
{
	uint8_t    *image;			/* NULL if there is none */
	unsigned	times[ELEMENTS];
} Subject;

/* Take the bytes if they are an image of either kind. */
extern bool subject_open(Subject *subject, const uint8_t *bytes, size_t size);
extern void subject_close(Subject *subject);

/* Call all reading functions, in every way, and compare the answers. */
extern void subject_probe(const Subject *subject);

/* Do with two subjects what pairs of bytes say: an operation, and an element. */
extern void subjects_operate(Subject subjects[2], const uint8_t *program,
							 size_t size);

/* Operations that a program may name, each by its number modulo this */
extern const int operation_count;

/*
 * Change an image in place so that it is likely, but not certain, to be let
 * through; returns its new size.  "random" is any number.
 */
extern size_t mutate_image(uint8_t *image, size_t size, size_t max_size,
						   uint64_t random);

/*
 * Make an image compatible with another one, with other bits; returns its size.
 */
extern size_t make_compatible(uint8_t *image, size_t max_size,
							  const uint8_t *other, size_t other_size,
							  uint64_t random);

/* libFuzzer's */
extern size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
extern size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
									  size_t max_size, unsigned seed);

#endif							/* FUZZ_H */
