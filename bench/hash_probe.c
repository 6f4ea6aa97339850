/*
 * hash_probe.c
 *	  What it costs to hash a URL of 70 bytes and look it up in a filter.
 *
 * Times XXH3 alone, then XXH3 and filter_contains(), for every layout and
 * every implementation of a block that this processor has, with filters of
 * three sizes: one that stays in the second-level cache, one of 16 MB, one of
 * 128 MB.  Figures are nanoseconds an element, the median of ROUNDS:
 *
 *	  absent, present	one after the other, as fast as the processor can
 *						overlap them
 *	  waiting			absent ones, each begun when the answer about the one
 *						before is known: a probe's latency, hash included,
 *						unless a branch on the way foretells the answer
 *	  batch				absent ones, hashed and probed BATCH at once, so that
 *						their places are fetched ahead
 *	  add				hashed and added BATCH at once
 *
 *	  bench/hash_probe [--quick]
 *
 * --quick times the smallest filters only.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "filters.h"
#include "timing.h"

/* A repetition looks each URL up once; they fit the second-level cache. */
#define URL_BYTES		70
#define URLS			4096
#define ROUNDS			11

/* URLs in a filter that are looked up as present; the others are absent. */
static char urls[2][URLS][URL_BYTES];

/* What the compiler must not drop */
static volatile uint64_t sink;

/* A filter to be timed: its size in bytes, and the hashes of a classic one */
typedef struct Kind
{
	const char *name;
	double		error_rate;		/* 0: classic */
	double		bits;			/* an element */
	unsigned	hashes;
} Kind;

static const Kind kinds[] = {
	{"block512 10 %", 0.1, 4.84, 0},
	{"block512 1 %", 0.01, 9.95, 0},
	{"block512 0.1 %", 0.001, 15.61, 0},
	{"block512x2 1e-4", 1e-4, 19.9, 0},
	{"block512x2 1e-6", 1e-6, 31.2, 0},
	{"classic 1 %", 0, 9.59, 7}
};

static const struct
{
	const char *name;
	uint64_t	bytes;
}			sizes[] = {
	{"256 kB", UINT64_C(256) << 10},
	{"16 MB", UINT64_C(16) << 20},
	{"128 MB", UINT64_C(128) << 20}
};

typedef enum Job
{
	HASH,
	PROBE_ABSENT,
	PROBE_PRESENT,
	PROBE_WAITING,
	PROBE_BATCH,
	ADD_BATCH,
	JOBS
} Job;

static inline uint64_t
url_hash(const char *url)
{
	return XXH3_64bits_withSeed(url, URL_BYTES, 0);
}

static void
make_urls(void)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-._/";
	static const char scheme[] = "https://";

	for (int i = 0; i < 2 * URLS; i++)
	{
		char	   *url = urls[i / URLS][i % URLS];

		for (int j = 0; j < URL_BYTES; j++)
			url[j] = letters[number_hash((uint64_t) i * URL_BYTES + j) %
							 (sizeof(letters) - 1)];
		memcpy(url, scheme, sizeof(scheme) - 1);
	}
}

/* All URLs once */
static void
run(Job job, uint8_t *image)
{
	char		(*set)[URL_BYTES] = urls[job == PROBE_PRESENT ? 1 : 0];
	uint64_t	hashes[BATCH];
	bool		found[BATCH];
	uint64_t	sum = 0;

	switch (job)
	{
		case HASH:
			for (int i = 0; i < URLS; i++)
				sum += url_hash(set[i]);
			break;
		case PROBE_ABSENT:
		case PROBE_PRESENT:
			for (int i = 0; i < URLS; i++)
				sum += filter_contains(image, url_hash(set[i]));
			break;
		case PROBE_WAITING:
			for (int i = 0; i < URLS; i++)
			{
				/* the next URL's address depends on the answer */
				sum = filter_contains(image, url_hash(set[i] + (sum >> 1)));
				OPAQUE(sum);
			}
			break;
		case PROBE_BATCH:
		case ADD_BATCH:
			for (int i = 0; i < URLS; i += BATCH)
			{
				for (int j = 0; j < BATCH; j++)
					hashes[j] = url_hash(set[i + j]);
				if (job == ADD_BATCH)
				{
					sum += filter_add_batch(image, hashes, BATCH);
					continue;
				}
				filter_contains_batch(image, hashes, BATCH, found);
				sum += found[0];
			}
			break;
		case JOBS:
			break;
	}
	sink = sum;
}

/* Nanoseconds an element, the median of ROUNDS */
static double
time_job(Job job, uint8_t *image, uint64_t evict)
{
	double		rounds[ROUNDS];

	for (int i = -1; i < ROUNDS; i++)
	{
		double		begin;

		/* what was probed a round ago must not be in a cache any more */
		if (evict > 0)
			sink = count_bits(image, image_bytes(image));
		if (evict > 0)
			for (int j = 0; j < URLS; j++)
				sink = url_hash(urls[job == PROBE_PRESENT ? 1 : 0][j]);
		begin = nanoseconds();
		run(job, image);
		if (i >= 0)				/* the first one warms up */
			rounds[i] = (nanoseconds() - begin) / URLS;
	}
	return median(rounds, ROUNDS);
}

/* A filter filled to nine tenths, the present URLs among its elements */
static uint8_t *
make_full(const Kind *kind, uint64_t bytes)
{
	uint64_t	capacity = bytes * 8 / kind->bits;
	uint8_t    *image = kind->error_rate > 0 ?
		make_filter(capacity, kind->error_rate, 0) :
		make_classic(8 * bytes, kind->hashes);
	uint64_t	hashes[URLS];

	for (int i = 0; i < URLS; i++)
		hashes[i] = url_hash(urls[1][i]);
	add_hashes(&image, hashes, URLS);
	add_numbers(&image, 0, capacity * 9 / 10 - URLS);
	return image;
}

int
main(int argc, char **argv)
{
	bool		quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
	int			size_count = quick ? 1 : sizeof(sizes) / sizeof(sizes[0]);

	make_urls();
	printf("# ns an element; URLs of %d bytes; median of %d\n", URL_BYTES,
		   ROUNDS);
	printf("XXH3 alone: %.1f\n\n", time_job(HASH, NULL, 0));
	printf("%-16s %-7s %-9s %8s %8s %8s %8s %8s\n", "#layout", "size",
		   "kernel", "absent", "present", "waiting", "batch", "add");
	for (int k = 0; k < (int) (sizeof(kinds) / sizeof(kinds[0])); k++)
	{
		for (int s = 0; s < size_count; s++)
		{
			uint8_t    *image;
			uint64_t	evict = s == 0 ? 0 : sizes[s].bytes;

			block_kernel_choose(NULL);
			image = make_full(&kinds[k], sizes[s].bytes);
			for (int i = 0; i < block_kernel_count; i++)
			{
				if (!block_kernels[i].supported())
					continue;
				/* a classic filter has no blocks: once is enough */
				if (kinds[k].error_rate == 0 && i < block_kernel_count - 1)
					continue;
				block_kernel = &block_kernels[i];
				printf("%-16s %-7s %-9s", kinds[k].name, sizes[s].name,
					   kinds[k].error_rate == 0 ? "-" : block_kernel->name);
				for (int job = PROBE_ABSENT; job < JOBS; job++)
					printf(" %8.1f", time_job(job, image, evict));
				printf("\n");
				fflush(stdout);
			}
			release_image(image);
		}
	}
	return 0;
}
