/*
 * growth.c
 *	  A filter that was made for few elements and takes many: what it costs to
 *	  have guessed wrong.
 *
 * Filters made for MADE_FOR elements take the numbers from 0 on, one at a time.
 * Twice in each doubling they are probed for absent elements: how many are
 * taken for present, and what a probe takes, alone and in batches.  An add is
 * timed over all since the number before, the copying of the filter whenever it
 * grows included.  Beside them are filters "sized" for each doubling from the
 * beginning.
 *
 * A line has medians of ROUNDS filters, which have other elements each, with
 * the least and the most of the times.  Its error rate is their mean.
 *
 *	  bench/growth [--quick]			CSV on standard output, progress on the other
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <stddef.h>

#include "filters.h"
#include "timing.h"

#define ROUNDS			5
#define MADE_FOR		1000
#define ERROR_RATE		0.01
#define UNTIL			10000000
#define UNTIL_QUICK		100000

/* Probes for absent elements; at 1 % their hits spread by 1 %, all together */
#define PROBES			200000
#define PROBES_QUICK	20000

/* Numbers of elements at which a filter is measured, and kinds of filters */
#define STEPS_MAX		40
#define KINDS			4

/* One filter at one number of elements; 0 layers if it was not measured there */
typedef struct Sample
{
	int			layers;
	uint64_t	bytes;
	double		estimated;		/* error rate */
	double		hits;
	double		add;			/* ns */
	double		single;
	double		batch;
} Sample;

static const struct
{
	const char *name;
	FilterKind	kind;
	bool		sized;
}			kinds[KINDS] = {
	{"bloom", FILTER_BLOOM, false},
	{"bloom", FILTER_BLOOM, true},
	{"cuckoo", FILTER_CUCKOO, false},
	{"cuckoo", FILTER_CUCKOO, true}
};

static Sample samples[KINDS][STEPS_MAX][ROUNDS];
static uint64_t probes = PROBES;

static inline uint64_t
element_hash(uint64_t number)
{
	return XXH3_64bits_withSeed(&number, sizeof(number), 0);
}

/* Add the numbers from "first" on, one at a time; the image may move. */
static double
time_adds(uint8_t **image, uint64_t first, uint64_t count)
{
	double		begin = nanoseconds();

	for (uint64_t i = first; i < first + count; i++)
	{
		uint64_t	hash = element_hash(i);

		while (filter_add_batch(*image, &hash, 1) == 0)
			grow_filter(image);
	}
	return (nanoseconds() - begin) / count;
}

static void
probe(const uint8_t *image, uint64_t first, Sample *sample)
{
	uint64_t	hashes[BATCH];
	bool		found[BATCH];
	uint64_t	single = 0;
	uint64_t	batch = 0;
	double		begin = nanoseconds();

	for (uint64_t i = 0; i < probes; i++)
		single += filter_contains(image, element_hash(first + i));
	sample->single = (nanoseconds() - begin) / probes;

	begin = nanoseconds();
	for (uint64_t i = 0; i < probes; i += BATCH)
	{
		size_t		n = probes - i < BATCH ? probes - i : BATCH;

		for (size_t j = 0; j < n; j++)
			hashes[j] = element_hash(first + i + j);
		filter_contains_batch(image, hashes, n, found);
		for (size_t j = 0; j < n; j++)
			batch += found[j];
	}
	sample->batch = (nanoseconds() - begin) / probes;
	if (single != batch)
		give_up("a batch has other answers than its elements");
	sample->hits = single;
}

static void
measure(int kind, int round, const uint64_t *steps, int count)
{
	uint8_t    *image = NULL;
	uint64_t	base = (uint64_t) round << 32;
	uint64_t	elements = 0;

	for (int i = 0; i < count; i++)
	{
		Sample	   *sample = &samples[kind][i][round];

		if (kinds[kind].sized && i % 2 == 1 && i < count - 1)
			continue;
		if (image == NULL || kinds[kind].sized)
		{
			if (image != NULL)
				release_image(image);
			image = make_of_kind(kinds[kind].kind,
								 kinds[kind].sized ? steps[i] : MADE_FOR,
								 ERROR_RATE, 2);
			elements = 0;
		}
		sample->add = time_adds(&image, base + elements, steps[i] - elements);
		elements = steps[i];
		probe(image, ABSENT + base, sample);
		sample->layers = image_layers(image);
		sample->bytes = image_bytes(image);
		sample->estimated = filter_estimated_error_rate(image);
	}
	release_image(image);
}

/* Median, least and most of a field, as three columns */
static void
print_times(const Sample *sample, size_t offset)
{
	double		values[ROUNDS];

	for (int i = 0; i < ROUNDS; i++)
		memcpy(&values[i], (const char *) (sample + i) + offset, sizeof(double));
	printf(",%.2f", median(values, ROUNDS));
	printf(",%.2f,%.2f", values[0], values[ROUNDS - 1]);
}

static void
print_line(int kind, uint64_t elements, const Sample *sample)
{
	double		hits = 0;
	double		estimated = 0;

	for (int i = 0; i < ROUNDS; i++)
	{
		hits += sample[i].hits;
		estimated += sample[i].estimated;
	}
	printf("%s,%s,%llu,%d,%llu,%.3f,%g,%.3e,%.3e", kinds[kind].name,
		   kinds[kind].sized ? "sized" : "grown",
		   (unsigned long long) elements, sample->layers,
		   (unsigned long long) sample->bytes, 8.0 * sample->bytes / elements,
		   ERROR_RATE, hits / ROUNDS / probes, estimated / ROUNDS);
	print_times(sample, offsetof(Sample, add));
	print_times(sample, offsetof(Sample, single));
	print_times(sample, offsetof(Sample, batch));
	printf(",%d\n", ROUNDS);
}

int
main(int argc, char **argv)
{
	bool		quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
	uint64_t	until = quick ? UNTIL_QUICK : UNTIL;
	uint64_t	steps[STEPS_MAX];
	int			count = 0;

	if (quick)
		probes = PROBES_QUICK;
	block_kernel_choose(NULL);
	for (uint64_t n = MADE_FOR; n < until; n *= 2)
	{
		steps[count++] = n;
		if (n * 7 / 5 < until)
			steps[count++] = n * 7 / 5;
	}
	steps[count++] = until;

	for (int round = 0; round < ROUNDS; round++)
		for (int kind = 0; kind < KINDS; kind++)
		{
			fputc('.', stderr);
			measure(kind, round, steps, count);
		}
	printf("filter,made,elements,layers,bytes,bits_per_element,error_rate,"
		   "measured_error_rate,estimated_error_rate,"
		   "add_ns,add_least_ns,add_most_ns,probe_ns,probe_least_ns,probe_most_ns,"
		   "batch_ns,batch_least_ns,batch_most_ns,rounds\n");
	for (int kind = 0; kind < KINDS; kind++)
		for (int i = 0; i < count; i++)
			if (samples[kind][i][0].layers > 0)
				print_line(kind, steps[i], samples[kind][i]);
	return 0;
}
