/*
 * unit_test.c
 *	  Runs the unit tests of src/filter/ and reports in TAP.
 *
 *	  test/unit/unit_test [seed]
 *
 * Another seed gives other random numbers; a run can be repeated with it.  With
 * UNIT_ALL=1 in the environment, there are more of them; see trials().
 */
#include "unit.h"

#include <math.h>
#include <stdarg.h>

/* Failures reported of one test */
#define TOLD			5

/* A quick run makes one in QUICK_SHARE trials. */
#define QUICK_SHARE		5

uint64_t	expectations;

static uint64_t disappointments;
static int	tests;
static int	failures;
static char test_name[128];

/* The kernel under test, for the names of tests */
static const char *kernel_name;
static bool all_trials;
static uint64_t seed;
static uint64_t random_state;

void
begin_test(const char *name,...)
{
	va_list		args;
	int			length = 0;

	if (kernel_name)
		length = snprintf(test_name, sizeof(test_name), "%s: ", kernel_name);
	va_start(args, name);
	vsnprintf(test_name + length, sizeof(test_name) - length, name, args);
	va_end(args);
	expectations = 0;
	disappointments = 0;
	random_state = seed;
}

void
end_test(void)
{
	bool		good = expectations > 0 && disappointments == 0;

	tests++;
	failures += !good;
	printf("%s %d - %s\n", good ? "ok" : "not ok", tests, test_name);
	if (disappointments > 0)
		printf("# %llu of %llu expectations failed\n",
			   (unsigned long long) disappointments,
			   (unsigned long long) expectations);
	fflush(stdout);
}

void
skip_test(const char *name, const char *why)
{
	printf("ok %d - %s # SKIP %s\n", ++tests, name, why);
}

void
disappointed(const char *format,...)
{
	va_list		args;

	if (++disappointments > TOLD)
		return;
	printf("# %s: ", test_name);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
}

void
expect_sound(const char *what, const uint8_t *image)
{
	const char *fault = image_check(image, image_bytes(image),
									image_kind(image));

	expect(fault == NULL, "%s: unsound: %s", what, fault);
}

uint64_t
random64(void)
{
	return number_hash(random_state++);
}

uint64_t
trials(uint64_t count)
{
	return all_trials ? count : count / QUICK_SHARE;
}

void
shuffle(uint64_t *array, uint64_t count)
{
	for (; count > 1; count--)
	{
		uint64_t	other = random_below(count);
		uint64_t	element = array[other];

		array[other] = array[count - 1];
		array[count - 1] = element;
	}
}

/* The few added stand for the skewness of small counts. */
double
most_hits(double trials, double p)
{
	if (p >= 1)
		return trials;
	return trials * p + SIGMAS * sqrt(trials * p * (1 - p)) + SIGMAS;
}

double
least_hits(double trials, double p)
{
	return trials * p - SIGMAS * sqrt(trials * p * (1 - p));
}

/* Whole filters, with each kernel that this processor has */
static void
test_kernels(void)
{
	const BlockKernel *chosen = block_kernel;

	for (int i = 0; i < block_kernel_count; i++)
	{
		if (!block_kernels[i].supported())
			continue;
		block_kernel = &block_kernels[i];
		kernel_name = block_kernel->name;
		test_layouts();
		test_union();
		test_golden();
	}
	block_kernel = chosen;
	kernel_name = NULL;
}

int
main(int argc, char **argv)
{
	uint64_t	number = argc > 1 ? strtoull(argv[1], NULL, 0) : 0;

	all_trials = getenv("UNIT_ALL") != NULL;
	printf("# seed %llu, %s\n", (unsigned long long) number,
		   all_trials ? "all random trials" :
		   "a fifth of the random trials (all: UNIT_ALL=1)");
	/* far from the numbers whose hashes are the elements of tests */
	seed = (UINT64_C(1) << 60) + (number << 32);
	block_kernel_choose(NULL);
	test_block512();
	test_hashset();
	test_sizing();
	test_kernels();
	test_classic();
	test_error_rate();
	test_image();
	test_cuckoo_places();
	test_cuckoo_change();
	test_cuckoo_union();
	test_cuckoo_random();
	test_cuckoo_check();
	test_interrupt();
	test_exact();
	test_counting();
	test_foreign();
	printf("1..%d\n", tests);
	return failures == 0 ? 0 : 1;
}
