/*
 * filters.h
 *	  Making and filling filters with src/filter/ alone: what the benchmarks
 *	  here and the tests in test/unit have in common.
 *
 * Elements are the numbers 0, 1, 2, ..., and their hashes those of SplitMix64;
 * absent ones are numbers from ABSENT on.  An image lies as it does in the
 * server, where four bytes of length precede it and begin a cache line.  Its
 * memory ends where it does, so that a sanitizer sees what goes beyond it.
 *
 * Errors end the program.
 */
#ifndef BENCH_FILTERS_H
#define BENCH_FILTERS_H

#include <stdio.h>
#include <stdlib.h>

#include "../src/filter/block512.h"
#include "../src/filter/filter.h"
#include "../src/filter/set.h"

/* What lies before an image in the server, and how the two are aligned */
#define LENGTH_BYTES	4
#define CACHE_LINE		64

/* The first number that is never added */
#define ABSENT			(UINT64_C(1) << 40)

/* Any class of elements will do here */
#define SOME_CLASS		'i'

/* Hashes handled at once */
#define BATCH			1024

static inline void
give_up(const char *why)
{
	fprintf(stderr, "%s\n", why);
	exit(1);
}

/* SplitMix64: a bijection, so that different numbers have different hashes */
static inline uint64_t
number_hash(uint64_t number)
{
	uint64_t	z = (number + 1) * UINT64_C(0x9E3779B97F4A7C15);

	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

static inline uint8_t *
allocate_image(uint64_t bytes)
{
	void	   *memory;

	if (posix_memalign(&memory, CACHE_LINE, LENGTH_BYTES + bytes) != 0)
		give_up("out of memory");
	memset(memory, 0, LENGTH_BYTES + bytes);
	return (uint8_t *) memory + LENGTH_BYTES;
}

static inline void
release_image(uint8_t *image)
{
	free(image - LENGTH_BYTES);
}

static inline uint8_t *
copy_image(const uint8_t *image)
{
	return memcpy(allocate_image(image_bytes(image)), image,
				  image_bytes(image));
}

static inline uint8_t *
make_planned(const FilterParams *params)
{
	FilterPlan	plan;
	uint8_t    *image;

	if (filter_plan(params, &plan) != FILTER_OK)
		give_up("cannot plan a filter");
	image = allocate_image(plan.bytes);
	filter_init(image, params, &plan);
	return image;
}

static inline uint8_t *
make_of_kind(FilterKind kind, uint64_t capacity, double error_rate, int growth)
{
	FilterParams params = {
		.capacity = capacity,
		.error_rate = error_rate,
		.growth = growth,
		.class = SOME_CLASS,
		.kind = kind
	};

	return make_planned(&params);
}

static inline uint8_t *
make_counting(uint64_t capacity, double error_rate, int growth)
{
	FilterParams params = {
		.capacity = capacity,
		.error_rate = error_rate,
		.growth = growth,
		.class = SOME_CLASS,
		.counting = true
	};

	return make_planned(&params);
}

/*
 * A filter sized for its elements, as an aggregate makes it: add them, then call
 * finish_exact()
 */
static inline uint8_t *
make_exact(uint64_t capacity, double error_rate, int growth)
{
	FilterParams params = {
		.capacity = capacity,
		.error_rate = error_rate,
		.growth = growth,
		.class = SOME_CLASS,
		.exact = true
	};
	FilterPlan	plan;
	uint8_t    *image;

	if (filter_plan(&params, &plan) != FILTER_OK)
		give_up("cannot plan a filter");
	image = allocate_image(plan.bytes);
	plan.layer[0].bits_full = 0;
	filter_init(image, &params, &plan);
	return image;
}

static inline void
finish_exact(uint8_t *image)
{
	FilterLayer layer = image_get_layer(image, 0);

	image_put_bits_full(image, 0, layer.bits_set);
}

static inline uint8_t *
make_filter(uint64_t capacity, double error_rate, int growth)
{
	return make_of_kind(FILTER_BLOOM, capacity, error_rate, growth);
}

static inline uint8_t *
make_cuckoo(uint64_t capacity, double error_rate, int growth)
{
	return make_of_kind(FILTER_CUCKOO, capacity, error_rate, growth);
}

static inline uint8_t *
make_classic(uint64_t m, unsigned k)
{
	FilterParams params = {.class = SOME_CLASS};
	FilterPlan	plan;
	uint8_t    *image;

	if (filter_plan_classic(m, k, &plan) != FILTER_OK)
		give_up("cannot plan a classic filter");
	image = allocate_image(plan.bytes);
	filter_init(image, &params, &plan);
	return image;
}

/* The explicit filter of these hashes, in any order and any number of times */
static inline uint8_t *
make_explicit(const uint64_t *hashes, uint64_t count)
{
	FilterParams params = {.class = SOME_CLASS};
	uint8_t    *image = allocate_image(image_explicit_bytes(count));
	uint8_t    *exact;

	image_put_header(image, LAYOUT_EXPLICIT, &params);
	for (uint64_t i = 0; i < count; i++)
		put64(image_hashes(image) + 8 * i, hashes[i]);
	count = hashset_sort_unique(image_hashes(image), count);
	put64(image + IMAGE_OFF_COUNT, count);
	put64(image + IMAGE_OFF_BYTES, image_explicit_bytes(count));
	exact = copy_image(image);
	release_image(image);
	return exact;
}

/* Put another layer behind the last; the image moves. */
static inline void
grow_filter(uint8_t **image)
{
	FilterPlan	plan;
	uint8_t    *larger;

	if (filter_plan_growth(*image, 0, &plan) != FILTER_OK)
		give_up("cannot grow a filter");
	larger = allocate_image(plan.bytes);
	filter_copy(larger, *image, &plan);
	release_image(*image);
	*image = larger;
}

/* Add hashes, growing as needed; the image may move. */
static inline void
add_hashes(uint8_t **image, const uint64_t *hashes, size_t count)
{
	size_t		done = 0;

	while ((done += filter_add_batch(*image, hashes + done,
									 count - done)) < count)
		grow_filter(image);
}

/* Add the numbers from "first" on, growing as needed; the image may move. */
static inline void
add_numbers(uint8_t **image, uint64_t first, uint64_t count)
{
	uint64_t	hashes[BATCH];

	while (count > 0)
	{
		size_t		n = count < BATCH ? count : BATCH;

		for (size_t i = 0; i < n; i++)
			hashes[i] = number_hash(first + i);
		add_hashes(image, hashes, n);
		first += n;
		count -= n;
	}
}

/* How many of the numbers from "first" on a filter takes for present */
static inline uint64_t
count_hits(const uint8_t *image, uint64_t first, uint64_t count)
{
	uint64_t	hashes[BATCH];
	bool		found[BATCH];
	uint64_t	hits = 0;

	while (count > 0)
	{
		size_t		n = count < BATCH ? count : BATCH;

		for (size_t i = 0; i < n; i++)
			hashes[i] = number_hash(first + i);
		filter_contains_batch(image, hashes, n, found);
		for (size_t i = 0; i < n; i++)
			hits += found[i];
		first += n;
		count -= n;
	}
	return hits;
}

#endif							/* BENCH_FILTERS_H */
