/*
 * error_rate.c
 *	  Requested against measured error rate, and bits an element.
 *
 * Builds filters with src/filter/ alone, fills them to their capacity, and asks
 * them about absent elements, enough for HITS false positives to be expected.
 * Prints one line a filter: what was asked, what was measured, their ratio, and
 * the bits an element.  Elements are the numbers 0, 1, 2, ... and their hashes
 * those of SplitMix64; absent ones come from another range of the numbers.
 *
 *	  bench/error_rate [--quick]
 *
 * --quick expects 1,000 false positives and leaves out 1e-6 and below.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../src/filter/block512.h"
#include "../src/filter/filter.h"

/* False positives to expect: their relative spread is 1/sqrt of it, 1 % */
#define HITS			10000
#define HITS_QUICK		1000
#define BATCH			1024
/* The first number that is never added */
#define ABSENT			(UINT64_C(1) << 40)

/* SplitMix64: a bijection, so that different numbers have different hashes */
static uint64_t
number_hash(uint64_t number)
{
	uint64_t	z = (number + 1) * UINT64_C(0x9E3779B97F4A7C15);

	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

static uint8_t *
allocate(uint64_t bytes)
{
	/* as a varlena would lie: the image begins four bytes behind a line */
	uint8_t    *memory = aligned_alloc(64, (bytes + 4 + 63) / 64 * 64);

	if (memory == NULL)
	{
		fprintf(stderr, "out of memory\n");
		exit(1);
	}
	memset(memory, 0, (bytes + 4 + 63) / 64 * 64);
	return memory + 4;
}

static void
release(uint8_t *image)
{
	free(image - 4);
}

static uint8_t *
make_filter(uint64_t capacity, double error_rate, int growth)
{
	FilterParams params = {capacity, error_rate, growth, 0, 'i'};
	FilterPlan	plan;
	uint8_t    *image;

	if (filter_plan(&params, &plan) != FILTER_OK)
	{
		fprintf(stderr, "cannot plan\n");
		exit(1);
	}
	image = allocate(plan.bytes);
	filter_init(image, &params, &plan);
	return image;
}

/* Add the numbers from first on, growing as needed; the image may move. */
static void
add_numbers(uint8_t **image, uint64_t first, uint64_t count)
{
	uint64_t	hashes[BATCH];

	while (count > 0)
	{
		size_t		n = count < BATCH ? count : BATCH;
		size_t		done = 0;

		for (size_t i = 0; i < n; i++)
			hashes[i] = number_hash(first + i);
		while ((done += filter_add_batch(*image, hashes + done, n - done)) < n)
		{
			FilterPlan	plan;
			uint8_t    *larger;

			if (filter_plan_growth(*image, &plan) != FILTER_OK)
			{
				fprintf(stderr, "cannot grow\n");
				exit(1);
			}
			larger = allocate(plan.bytes);
			filter_grow(larger, *image, &plan);
			release(*image);
			*image = larger;
		}
		first += n;
		count -= n;
	}
}

static uint64_t
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

/*
 * Measure "filters" filters of this kind, filled with n elements each, and
 * print a line.
 */
static void
measure(const char *kind, uint64_t capacity, uint64_t n, double error_rate,
		int growth, int filters, double hits)
{
	uint64_t	probes = (uint64_t) (hits / error_rate / filters) + 1;
	uint64_t	positive = 0;
	uint64_t	missing = 0;
	double		bits = 0;
	double		estimate = 0;
	double		cardinality = 0;
	double		rate;
	int			layers = 0;
	const char *layout = "";

	for (int i = 0; i < filters; i++)
	{
		uint8_t    *image = make_filter(capacity, error_rate, growth);
		uint64_t	filter_bits_all;
		uint64_t	set;

		add_numbers(&image, i * n, n);
		if (n <= 10000000)
			missing += n - count_hits(image, i * n, n);
		positive += count_hits(image, ABSENT + i * probes, probes);
		filter_bits(image, &filter_bits_all, &set);
		bits += filter_bits_all;
		estimate += filter_estimated_error_rate(image);
		cardinality += filter_cardinality(image);
		layers = image_layers(image);
		layout = image_layout(image) == LAYOUT_BLOCK512 ? "block512" :
			"block512x2";
		release(image);
	}
	rate = (double) positive / ((double) probes * filters);
	printf("%-8s %-10s %9llu %9llu %7.0e %10.4e %7.4f %7.4f %8.3f %7.4f %3d %llu\n",
		   kind, layout, (unsigned long long) capacity, (unsigned long long) n,
		   error_rate, rate, rate / error_rate,
		   estimate / filters / error_rate, bits / filters / n,
		   cardinality / filters / n, layers, (unsigned long long) missing);
	fflush(stdout);
}

int
main(int argc, char **argv)
{
	static const double rates[] = {0.1, 0.03, 0.01, 0.001, 1e-4, 1e-5, 1e-6};
	static const uint64_t small[] = {1, 10, 30, 100};
	bool		quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
	int			rate_count = quick ? 5 : 7;
	double		hits = quick ? HITS_QUICK : HITS;

	block_kernel_choose();
	printf("# kernel %s; measured/requested in column \"ratio\"\n",
		   block_kernel->name);
	printf("%-8s %-10s %9s %9s %7s %10s %7s %7s %8s %7s %3s %s\n", "#kind",
		   "layout", "capacity", "elements", "asked", "measured", "ratio",
		   "est.", "bits/el.", "card.", "lay", "false negatives");
	for (int i = 0; i < rate_count; i++)
	{
		double		rate = rates[i];

		measure("fixed", 100000, 100000, rate, 0, 1, hits);
		measure("fixed", 3000000, 3000000, rate, 0, 1, hits);
		measure("fixed", 1000000, 1000000, rate, 0, 1, 10);
		measure("fixed", 1000, 1000, rate, 0, 1000, hits);
		for (int j = 0; j < 4; j++)
			measure("fixed", small[j], small[j], rate, 0, 1000, hits);
		measure("growing", 1000000, 1000000, rate, 2, 1, hits);
		measure("growing", 1000, 1000, rate, 2, 1000, hits);
		measure("grown", 1000, 1000000, rate, 2, 1, hits);
	}
	return 0;
}
