/*
 * layouts.c
 *	  What an operation on a filter costs, without a server: every layout, every
 *	  implementation of a block that this processor has, one element at a time
 *	  and in batches, from 10^5 to 10^8 elements, beside Debian's libbloom, and
 *	  beside what the memory itself takes.
 *
 * Elements are numbers of eight bytes; hashing one (XXH3 here, MurmurHash2 in
 * libbloom) is part of every operation.  A filter is filled to FILLED of its
 * capacity, and then probed for numbers in order, whose places in it are
 * random.  Adding begins with a fresh copy each time.  All jobs of one number
 * of elements run in turn, ROUNDS times; a line has the median of them, with
 * the least and the most.  All filters, libbloom's too, lie in huge pages where
 * the kernel has some, as large ones do in the server.
 *
 *	  bench/layouts [--quick]			CSV on standard output, progress on the other
 *
 * The floor is memory of as many bytes as the first filter has (block512 at
 * 1 %), of which each operation reads one cache line in a random place:
 *
 *	  single		as fast as the processor can overlap the reads
 *	  waiting		each place known only when the line before has come
 *	  batch			fetched ahead, as a batch of elements is
 *
 * "waiting" of a filter is the same: each element depends on the answer before.
 */
#include <bloom.h>
#include <sys/mman.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "filters.h"
#include "timing.h"

#define ROUNDS			7

/* Operations in a round, at most; there are fewer when adding to a small one */
#define OPERATIONS		(1 << 20)
#define OPERATIONS_QUICK (1 << 14)

/* Of a filter's capacity; adding takes at most ADDED more */
#define FILLED			0.94
#define ADDED			0.05

/*
 * The batch, as a caller of filter_contains_batch() has it; the floor fetches
 * as many lines ahead as src/filter/bloom.c does
 */
#define FETCHED_AHEAD	64

/* The largest explicit filter: that many hashes are as many bits as fit */
#define EXPLICIT_MAX	(IMAGE_MAX_BITS / 64)

#define HUGE_PAGE_BYTES	((size_t) 2 << 20)

typedef enum Make
{
	FLOOR,
	BLOOM,
	CLASSIC,
	CUCKOO,
	EXPLICIT,
	LIBBLOOM
} Make;

typedef enum Operation
{
	PROBE_ABSENT,
	PROBE_PRESENT,
	ADD
} Operation;

typedef enum Mode
{
	SINGLE,
	BATCHES,
	WAITING
} Mode;

static const char *const operation_names[] = {"absent", "present", "add"};
static const char *const mode_names[] = {"single", "batch", "waiting"};

/* What is measured, and the filter of it for the present number of elements */
typedef struct Subject
{
	const char *layout;
	Make		make;
	double		error_rate;
	double		classic_bits;	/* an element: the textbook's for the rate */
	unsigned	classic_hashes;

	size_t		bytes;
	uint8_t    *image;
	uint8_t    *scratch;		/* what is added to */
	struct bloom libbloom;
	uint64_t	elements;		/* in it: the numbers from 0 on */
	uint64_t	probed;			/* absent ones, so far, */
	uint64_t	hits;			/* and those taken for present */
} Subject;

static Subject subjects[] = {
	{.layout = "floor", .make = FLOOR},
	{.layout = "block512", .make = BLOOM, .error_rate = 0.01},
	{.layout = "block512x2", .make = BLOOM, .error_rate = 1e-4},
	{.layout = "classic", .make = CLASSIC, .error_rate = 0.01,
	.classic_bits = 9.585, .classic_hashes = 7},
	{.layout = "classic", .make = CLASSIC, .error_rate = 1e-4,
	.classic_bits = 19.17, .classic_hashes = 13},
	{.layout = "cuckoo", .make = CUCKOO, .error_rate = 0.01},
	{.layout = "cuckoo", .make = CUCKOO, .error_rate = 1e-4},
	{.layout = "explicit", .make = EXPLICIT},
	{.layout = "libbloom", .make = LIBBLOOM, .error_rate = 0.01},
	{.layout = "libbloom", .make = LIBBLOOM, .error_rate = 1e-4}
};

#define SUBJECTS		((int) (sizeof(subjects) / sizeof(subjects[0])))

typedef struct Job
{
	Subject    *subject;
	const BlockKernel *kernel;	/* NULL where there are no blocks */
	Operation	operation;
	Mode		mode;
	double		ns[ROUNDS];
} Job;

#define JOBS_MAX		200

/* What the compiler must not drop */
static volatile uint64_t sink;

static inline uint64_t
element_hash(uint64_t number)
{
	return XXH3_64bits_withSeed(&number, sizeof(number), 0);
}

/* --------------------------------------------------------------------- */

static void *
huge_memory(size_t bytes)
{
	void	   *memory;

	bytes = (bytes + HUGE_PAGE_BYTES - 1) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
	if (posix_memalign(&memory, HUGE_PAGE_BYTES, bytes) != 0)
		give_up("out of memory");
	madvise(memory, bytes, MADV_HUGEPAGE);
	memset(memory, 0, bytes);
	return memory;
}

/* The same bytes in huge pages, four bytes of length before them */
static uint8_t *
huge_image(const uint8_t *from, size_t bytes)
{
	uint8_t    *memory = huge_memory(LENGTH_BYTES + bytes);

	return memcpy(memory + LENGTH_BYTES, from, bytes);
}

static uint8_t *
make_image(const Subject *subject, uint64_t n)
{
	switch (subject->make)
	{
		case BLOOM:
			return make_filter(n, subject->error_rate, 0);
		case CUCKOO:
			return make_cuckoo(n, subject->error_rate, 0);
		case CLASSIC:
			return make_classic(n * subject->classic_bits,
								subject->classic_hashes);
		default:
			give_up("not made so");
			return NULL;
	}
}

static void
add_elements(uint8_t *image, uint64_t first, uint64_t count, size_t batch)
{
	uint64_t	hashes[BATCH];

	while (count > 0)
	{
		size_t		n = count < batch ? count : batch;

		for (size_t i = 0; i < n; i++)
			hashes[i] = element_hash(first + i);
		if (filter_add_batch(image, hashes, n) < n)
			give_up("a filter is full before its capacity");
		first += n;
		count -= n;
	}
}

static void
prepare(Subject *subject, uint64_t n)
{
	uint8_t    *image;
	uint64_t   *hashes;

	subject->elements = n * FILLED;
	switch (subject->make)
	{
		case FLOOR:
			image = make_filter(n, 0.01, 0);
			subject->bytes = image_bytes(image);
			release_image(image);
			subject->image = (uint8_t *) huge_memory(LENGTH_BYTES + subject->bytes) +
				LENGTH_BYTES;
			return;
		case LIBBLOOM:
			if (bloom_init(&subject->libbloom, n, subject->error_rate) != 0)
				give_up("libbloom makes no such filter");
			subject->bytes = subject->libbloom.bytes;
			free(subject->libbloom.bf);
			subject->libbloom.bf = huge_memory(subject->bytes);
			for (uint64_t i = 0; i < subject->elements; i++)
				bloom_add(&subject->libbloom, &i, sizeof(i));
			subject->image = subject->libbloom.bf;
			subject->scratch = huge_memory(subject->bytes);
			return;
		case EXPLICIT:
			hashes = malloc(n * sizeof(uint64_t));
			if (hashes == NULL)
				give_up("out of memory");
			subject->elements = n;
			for (uint64_t i = 0; i < n; i++)
				hashes[i] = element_hash(i);
			image = make_explicit(hashes, n);
			free(hashes);
			break;
		default:
			image = make_image(subject, n);
	}
	subject->bytes = image_bytes(image);
	subject->image = huge_image(image, subject->bytes);
	release_image(image);
	if (subject->make != EXPLICIT)
	{
		add_elements(subject->image, 0, subject->elements, BATCH);
		subject->scratch = huge_image(subject->image, subject->bytes);
	}
}

static void
discard(Subject *subject)
{
	size_t		before = subject->make == LIBBLOOM ? 0 : LENGTH_BYTES;

	if (subject->image != NULL)
		free(subject->image - before);
	if (subject->scratch != NULL)
		free(subject->scratch - before);
	subject->image = subject->scratch = NULL;
}

/* --------------------------------------------------------------------- */

/* Read one line for each of "count" numbers. */
static uint64_t
read_lines(const Subject *subject, uint64_t first, uint64_t count, Mode mode)
{
	const uint8_t *lines = subject->image - LENGTH_BYTES;
	uint64_t	size = subject->bytes / CACHE_LINE;
	uint64_t	sum = 0;

#define LINE(number) (lines + CACHE_LINE * mulhi64(element_hash(number), size))
	switch (mode)
	{
		case SINGLE:
			for (uint64_t i = 0; i < count; i++)
				sum += *LINE(first + i);
			break;
		case WAITING:
			for (uint64_t i = 0; i < count; i++)
			{
				/* the memory is all zero, but the compiler cannot know */
				sum = *LINE(first + i + sum);
				OPAQUE(sum);
			}
			break;
		case BATCHES:
			for (uint64_t i = 0; i < count; i += FETCHED_AHEAD)
			{
				const uint8_t *line[FETCHED_AHEAD];

				for (int j = 0; j < FETCHED_AHEAD; j++)
				{
					line[j] = LINE(first + i + j);
					__builtin_prefetch(line[j]);
				}
				for (int j = 0; j < FETCHED_AHEAD; j++)
					sum += *line[j];
			}
	}
#undef LINE
	return sum;
}

static uint64_t
probe(const uint8_t *image, uint64_t first, uint64_t count, Mode mode)
{
	uint64_t	hashes[BATCH];
	bool		found[BATCH];
	uint64_t	hits = 0;

	switch (mode)
	{
		case SINGLE:
			for (uint64_t i = 0; i < count; i++)
				hits += filter_contains(image, element_hash(first + i));
			break;
		case WAITING:
			for (uint64_t i = 0, hit = 0; i < count; i++)
			{
				/* twice the same where the one before was a hit */
				hit = filter_contains(image, element_hash(first + i - hit));
				OPAQUE(hit);
				hits += hit;
			}
			break;
		case BATCHES:
			for (uint64_t i = 0; i < count; i += BATCH)
			{
				for (int j = 0; j < BATCH; j++)
					hashes[j] = element_hash(first + i + j);
				filter_contains_batch(image, hashes, BATCH, found);
				for (int j = 0; j < BATCH; j++)
					hits += found[j];
			}
	}
	return hits;
}

static uint64_t
probe_libbloom(struct bloom *bloom, uint64_t first, uint64_t count)
{
	uint64_t	hits = 0;

	for (uint64_t i = first; i < first + count; i++)
		hits += bloom_check(bloom, &i, sizeof(i));
	return hits;
}

/* The first of the numbers that are looked up in this round, or added */
static uint64_t
first_number(const Job *job, int round, uint64_t count)
{
	const Subject *subject = job->subject;

	if (job->operation == ADD)
		return subject->elements;
	if (job->operation == PROBE_ABSENT)
		return ABSENT + round * count;
	return round * count % (subject->elements - count + 1);
}

/* Nanoseconds an operation */
static double
run(const Job *job, int round, uint64_t count)
{
	Subject    *subject = job->subject;
	struct bloom *bloom = &subject->libbloom;
	uint64_t	first;
	uint64_t	sum = 0;
	double		begin;

	if (job->operation == ADD)
	{
		uint64_t	room = subject->elements * ADDED;

		count = (count < room ? count : room) / BATCH * BATCH;
		memcpy(subject->scratch, subject->image, subject->bytes);
	}
	else if (job->operation == PROBE_PRESENT && count > subject->elements)
		count = subject->elements / BATCH * BATCH;
	first = first_number(job, round, count);
	if (job->kernel != NULL)
		block_kernel = job->kernel;

	begin = nanoseconds();
	if (subject->make == FLOOR)
		sum = read_lines(subject, first, count, job->mode);
	else if (subject->make == LIBBLOOM && job->operation == ADD)
	{
		bloom->bf = subject->scratch;
		for (uint64_t i = first; i < first + count; i++)
			sum += bloom_add(bloom, &i, sizeof(i));
		bloom->bf = subject->image;
	}
	else if (subject->make == LIBBLOOM)
		sum = probe_libbloom(bloom, first, count);
	else if (job->operation == ADD)
		add_elements(subject->scratch, first, count,
					 job->mode == SINGLE ? 1 : BATCH);
	else
		sum = probe(subject->image, first, count, job->mode);
	begin = nanoseconds() - begin;
	sink = sum;

	if (job->operation == PROBE_PRESENT && subject->make != FLOOR &&
		job->mode != WAITING && sum != count)
		give_up("a false negative");
	if (job->operation == PROBE_ABSENT && job->mode == SINGLE)
	{
		subject->probed += count;
		subject->hits += sum;
	}
	return begin / count;
}

/* All jobs of a subject, for every kernel that it knows */
static int
add_jobs(Job *jobs, Subject *subject)
{
	int			count = 0;

	for (int i = 0; i < block_kernel_count; i++)
	{
		const BlockKernel *kernel = &block_kernels[i];

		if (subject->make != BLOOM && i > 0)
			break;
		if (subject->make == BLOOM && !kernel->supported())
			continue;
		for (Operation operation = PROBE_ABSENT; operation <= ADD; operation++)
			for (Mode mode = SINGLE; mode <= WAITING; mode++)
			{
				if (subject->make == FLOOR && operation != PROBE_ABSENT)
					continue;
				if (subject->make == EXPLICIT && operation == ADD)
					continue;
				if (subject->make == LIBBLOOM && mode != SINGLE)
					continue;
				if (mode == WAITING && operation != PROBE_ABSENT)
					continue;
				jobs[count].subject = subject;
				jobs[count].kernel = subject->make == BLOOM ? kernel : NULL;
				jobs[count].operation = operation;
				jobs[count++].mode = mode;
			}
	}
	return count;
}

static void
print_job(Job *job, uint64_t n)
{
	const Subject *subject = job->subject;
	double		middle = median(job->ns, ROUNDS);

	printf("%llu,%s,%g,%s,%s,%s,%.2f,%.2f,%.2f,%d,%zu,%.3f",
		   (unsigned long long) n, subject->layout, subject->error_rate,
		   job->kernel == NULL ? "-" : job->kernel->name,
		   operation_names[job->operation], mode_names[job->mode],
		   middle, job->ns[0], job->ns[ROUNDS - 1], ROUNDS,
		   subject->bytes, 8.0 * subject->bytes / n);
	if (subject->make == FLOOR)
		printf(",\n");
	else
		printf(",%.3e\n", (double) subject->hits / subject->probed);
}

static void
measure(uint64_t n, uint64_t operations)
{
	static Job	jobs[JOBS_MAX];
	int			count = 0;

	for (int i = 0; i < SUBJECTS; i++)
	{
		if (subjects[i].make == EXPLICIT && n > EXPLICIT_MAX)
			continue;
		fputc('.', stderr);
		subjects[i].probed = subjects[i].hits = 0;
		prepare(&subjects[i], n);
		count += add_jobs(jobs + count, &subjects[i]);
	}
	for (int round = 0; round < ROUNDS; round++)
	{
		fputc('.', stderr);
		for (int i = 0; i < count; i++)
			jobs[i].ns[round] = run(&jobs[i], round, operations);
	}
	for (int i = 0; i < count; i++)
		print_job(&jobs[i], n);
	fflush(stdout);
	for (int i = 0; i < SUBJECTS; i++)
		discard(&subjects[i]);
}

int
main(int argc, char **argv)
{
	bool		quick = argc > 1 && strcmp(argv[1], "--quick") == 0;

	block_kernel_choose(NULL);
	printf("elements,layout,error_rate,kernel,operation,mode,ns,least_ns,most_ns,"
		   "rounds,bytes,bits_per_element,measured_error_rate\n");
	for (uint64_t n = 100000; n <= (quick ? 1000000 : 100000000); n *= 10)
		measure(n, quick ? OPERATIONS_QUICK : OPERATIONS);
	return 0;
}
