/*
 * error_rate.c
 *	  Requested against measured error rate, and bits an element.
 *
 * Builds filters with src/filter/ alone, fills them to their capacity, and
 * probes them for absent elements, enough for HITS false positives to be
 * expected.  Prints one line a filter: the requested and the measured rate,
 * their ratio, and the bits an element.
 *
 *	  bench/error_rate [--quick] [--classic] [--csv]
 *
 * --quick expects 1,000 false positives and leaves out 1e-5 and below.
 * --classic measures classic filters instead, m/n from 2 to 32 and k from 1 to
 * 8, then (20, 10) and 500 elements in 6,045 bits: measured over the textbook's
 * (1 - e^(-kn/m))^k, and by how many standard deviations the two differ.
 * --csv is what script/bench runs: 1,000 false positives, all rates, the columns
 * of a CSV file, and progress on standard error.
 */
#include <math.h>

#include "filters.h"

/* False positives to expect: their relative spread is 1/sqrt of it, 1 % */
#define HITS			10000
#define HITS_QUICK		1000

/* For --csv, the most probes for absent elements: seconds' worth */
#define PROBES_MAX		UINT64_C(200000000)

static bool csv = false;
static bool quick = false;

static void
progress(void)
{
	if (csv)
		fputc('.', stderr);
}

/*
 * Measure "filters" filters of this kind, filled with n elements each, and
 * print a line.
 */
static void
measure(FilterKind type, const char *kind, uint64_t capacity, uint64_t n,
		double error_rate, int growth, int filters, double hits)
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

	if (csv && probes * filters > PROBES_MAX)
		probes = PROBES_MAX / filters;
	for (int i = 0; i < filters; i++)
	{
		uint8_t    *image = make_of_kind(type, capacity, error_rate, growth);
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
		layout = filter_layout_name(image_layout(image));
		release_image(image);
	}
	rate = (double) positive / ((double) probes * filters);
	printf(csv ? "%s,%s,%llu,%llu,%g,%.4e,%.4f,%.4f,%.3f,%.4f,%d,%llu" :
		   "%-8s %-10s %9llu %9llu %7.0e %10.4e %7.4f %7.4f %8.3f %7.4f %3d %llu",
		   kind, layout, (unsigned long long) capacity, (unsigned long long) n,
		   error_rate, rate, rate / error_rate,
		   estimate / filters / error_rate, bits / filters / n,
		   cardinality / filters / n, layers, (unsigned long long) missing);
	if (csv)
		printf(",%llu,%.4f", (unsigned long long) probes * filters,
			   positive > 0 ? 1 / sqrt(positive) : 0);
	printf("\n");
	fflush(stdout);
	progress();
}

/* The same of classic filters: a cell of the table */
static void
measure_classic(uint64_t n, uint64_t m, unsigned k, int filters, double hits)
{
	double		load = (double) k * n / m;
	double		clear = exp(-load);
	double		expected = pow(1 - clear, k);
	uint64_t	probes = (uint64_t) (hits / expected / filters) + 1;
	double		all = (double) probes * filters;
	uint64_t	positive = 0;

	/* relative spread: of the hits, and k times that of a filter's bits */
	double		bits_spread = k / (1 - clear) *
		sqrt(clear * (1 - clear * (1 + load)) / m / filters);
	double		spread = sqrt(1 / (all * expected) + bits_spread * bits_spread);
	double		ratio;

	for (int i = 0; i < filters; i++)
	{
		uint8_t    *image = make_classic(m, k);

		add_numbers(&image, i * n, n);
		positive += count_hits(image, ABSENT + i * probes, probes);
		release_image(image);
	}
	ratio = positive / all / expected;
	printf(csv ? "%llu,%llu,%.2f,%u,%.4e,%.4e,%.4f,%.1f\n" :
		   "%9llu %9llu %6.2f %2u %10.4e %10.4e %7.4f %6.1f\n",
		   (unsigned long long) n, (unsigned long long) m, (double) m / n, k,
		   expected, positive / all, ratio, (ratio - 1) / spread);
	fflush(stdout);
	progress();
}

static void
measure_classic_table(double hits)
{
	const uint64_t n = 100000;

	if (csv)
		printf("elements,bits,bits_per_element,hashes,textbook_error_rate,"
			   "measured_error_rate,measured_over_textbook,sigmas\n");
	else
		printf("%9s %9s %6s %2s %10s %10s %7s %6s\n", "#elements", "bits",
			   "m/n", "k", "textbook", "measured", "ratio", "sigmas");
	for (int ratio = 2; ratio <= 32; ratio++)
		for (unsigned k = 1; k <= 8; k++)
			measure_classic(n, n * ratio, k, 1, hits);
	measure_classic(n, n * 20, 10, 1, hits);
	measure_classic(1000, 20000, 10, 100, hits);
	measure_classic(1000, 16000, 8, 100, hits);
	measure_classic(500, 6045, 8, 200, hits);
}

/*
 * A grown filter has nine tenths of its error rate in its first layer, of so
 * few blocks that chance decides; so the mean of some is taken.
 */
#define GROWN_FILTERS	30

static void
measure_rate(double rate, double hits)
{
	static const uint64_t small[] = {1, 10, 30, 100};

	for (FilterKind type = FILTER_BLOOM; type <= FILTER_CUCKOO; type++)
	{
		measure(type, "fixed", 100000, 100000, rate, 0, 1, hits);
		measure(type, "fixed", 3000000, 3000000, rate, 0, 1, hits);
		if (!csv)
			measure(type, "fixed", 1000000, 1000000, rate, 0, 1, 10);
		measure(type, "fixed", 1000, 1000, rate, 0, 1000, hits);
		for (int j = 0; j < 4; j++)
			measure(type, "fixed", small[j], small[j], rate, 0, 1000, hits);
		measure(type, "growing", 1000000, 1000000, rate, 2, 1, hits);
		measure(type, "growing", 1000, 1000, rate, 2, 1000, hits);
		if (!csv || !quick)
			measure(type, "grown", 1000, 1000000, rate, 2, GROWN_FILTERS, hits);
	}
}

int
main(int argc, char **argv)
{
	static const double rates[] = {0.1, 0.03, 0.01, 0.001, 1e-4, 1e-5, 1e-6};
	bool		classic = false;
	double		hits;

	for (int i = 1; i < argc; i++)
	{
		quick |= strcmp(argv[i], "--quick") == 0;
		classic |= strcmp(argv[i], "--classic") == 0;
		csv |= strcmp(argv[i], "--csv") == 0;
	}
	hits = quick || csv ? HITS_QUICK : HITS;

	block_kernel_choose(NULL);
	if (classic)
	{
		measure_classic_table(quick && csv ? 0.1 * HITS_QUICK : hits);
		return 0;
	}
	if (csv)
		printf("kind,layout,capacity,elements,error_rate,measured_error_rate,"
			   "measured_over_requested,estimated_over_requested,"
			   "bits_per_element,cardinality_over_elements,layers,"
			   "false_negatives,probes,relative_spread\n");
	else
	{
		printf("# kernel %s; measured/requested in column \"ratio\"\n",
			   block_kernel->name);
		printf("%-8s %-10s %9s %9s %7s %10s %7s %7s %8s %7s %3s %s\n", "#kind",
			   "layout", "capacity", "elements", "request", "measured", "ratio",
			   "est.", "bits/el.", "card.", "lay", "false negatives");
	}
	for (int i = 0; i < (quick ? csv ? 3 : 5 : 7); i++)
		measure_rate(rates[i], hits);
	return 0;
}
