/*
 * test_error_rate.c
 *	  The requested error rate, as far as seconds allow to measure it, and the
 *	  estimates that a filter gives of itself; bench/error_rate measures the
 *	  rest.
 */
#include "unit.h"

#include <math.h>

/* At 100,000 elements: measured over requested */
#define RATIO_LOW		0.95
#define RATIO_HIGH		1.05

/*
 * Measure "filters" filters of n elements; the mean error rate, and into
 * *sigma how far it may be off by chance: what the filters differ by.
 */
static double
measure(uint64_t n, double error_rate, int growth, int filters,
		uint64_t probes, double *sigma)
{
	double		sum = 0;
	double		squares = 0;
	double		mean;

	for (int i = 0; i < filters; i++)
	{
		uint8_t    *image = make_filter(n, error_rate, growth);
		double		rate;

		add_numbers(&image, i * n, n);
		expect(count_hits(image, i * n, n) == n, "%llu at %g: lost one",
			   (unsigned long long) n, error_rate);
		rate = (double) count_hits(image, ABSENT + i * probes, probes) / probes;
		sum += rate;
		squares += rate * rate;
		release_image(image);
	}
	mean = sum / filters;
	*sigma = sqrt(fmax(0, squares / filters - mean * mean) / filters) +
		1.0 / ((double) probes * filters);
	return mean;
}

static void
test_small(void)
{
	static const uint64_t sizes[] = {1, 2, 3, 10, 30, 100, 1000};
	static const double rates[] = {0.1, 0.03, 0.01, 0.001, 1e-4};

	begin_test("few elements: the error rate is not exceeded");
	for (int i = 0; i < lengthof(rates); i++)
	{
		for (int growth = 0; growth <= 2; growth += 2)
		{
			for (int j = 0; j < lengthof(sizes); j++)
			{
				double		sigma;

				/* 200 hits expected at 1e-4, thousands above */
				uint64_t	probes = rates[i] < 0.01 ? 20000 : 2000;
				double		rate = measure(sizes[j], rates[i], growth, 100,
										   SANITIZED ? trials(probes) : probes,
										   &sigma);

				expect(rate <= rates[i] * (growth == 0 ? RATIO_HIGH : 1) +
					   SIGMAS * sigma, "%llu at %g, growth %d: %g",
					   (unsigned long long) sizes[j], rates[i], growth, rate);
				/* of a thousand, not too good to be small either */
				expect(sizes[j] < 1000 || growth > 0 ||
					   rate >= 0.75 * rates[i] - SIGMAS * sigma,
					   "%llu at %g: only %g", (unsigned long long) sizes[j],
					   rates[i], rate);
			}
		}
	}
	end_test();
}

static void
test_many(void)
{
	static const double rates[] = {0.1, 0.03, 0.01, 0.001};
	const uint64_t n = 100000;

	for (int growth = 0; growth <= 2; growth += 2)
	{
		begin_test("100,000 elements: the error rate of a %s filter",
				   growth ? "growing" : "fixed");
		for (int i = 0; i < lengthof(rates); i++)
		{
			/* 4,000 hits expected */
			uint64_t	probes = 4000 / rates[i];
			double		sigma;
			double		rate = measure(n, rates[i], growth, 1, probes, &sigma);

			sigma = sqrt(rates[i] / probes);
			expect(rate <= rates[i] * (growth ? 1 : RATIO_HIGH) +
				   SIGMAS * sigma, "%g: %g", rates[i], rate);
			expect(growth || rate >= rates[i] * RATIO_LOW - SIGMAS * sigma,
				   "%g: only %g", rates[i], rate);
		}
		end_test();
	}
}

/* The lowest rates: one hit in a million, and in ten million */
static void
test_rare(void)
{
	static const double rates[] = {1e-6, 1e-7};
	const uint64_t n = 10000;

	/* all trials: 3 hits expected at the lower rate */
	const uint64_t probes = trials(SANITIZED ? 3000000 : 30000000);

	for (int growth = 0; growth <= 2; growth += 2)
	{
		for (int kind = FILTER_BLOOM; kind <= FILTER_CUCKOO; kind++)
		{
			begin_test("a hit in a million: the error rate of a %s %s filter",
					   growth ? "growing" : "fixed",
					   kind == FILTER_BLOOM ? "bloom" : "cuckoo");
			for (int i = 0; i < lengthof(rates); i++)
			{
				uint8_t    *image = make_of_kind(kind, n, rates[i], growth);
				uint64_t	hits;

				add_numbers(&image, 0, n);
				expect(count_hits(image, 0, n) == n, "%g: lost one", rates[i]);
				hits = count_hits(image, ABSENT, probes);
				expect(hits <= most_hits(probes, rates[i]), "%g: %llu hits",
					   rates[i], (unsigned long long) hits);
				release_image(image);
			}
			end_test();
		}
	}
}

/* Grown a thousandfold: at most 1.02 of the requested rate */
static void
test_grown(void)
{
	static const double rates[] = {0.1, 0.01, 0.001};

	begin_test("grown a thousandfold, the error rate is still kept");
	for (int i = 0; i < lengthof(rates); i++)
	{
		uint8_t    *image = make_filter(100, rates[i], 2);
		uint64_t	probes = 4000 / rates[i];
		uint64_t	hits;

		add_numbers(&image, 0, 100000);
		expect(image_layers(image) >= 9, "%d layers", image_layers(image));
		expect(count_hits(image, 0, 100000) == 100000, "lost one");
		hits = count_hits(image, ABSENT, probes);
		expect(hits <= most_hits(probes, 1.02 * rates[i]), "%g: %g", rates[i],
			   (double) hits / probes);
		release_image(image);
	}
	end_test();
}

/*
 * Cardinality and error rate, estimated from a filter's bits, against the exact
 * ones.
 */
static void
try_estimates(const char *what, uint8_t **image, uint64_t n, double sigma)
{
	double		cardinality;
	double		rate;
	uint64_t	probes;
	uint64_t	hits;

	add_numbers(image, 0, n);
	cardinality = filter_cardinality(*image);
	expect(fabs(cardinality - n) <= SIGMAS * sigma * n + 1,
		   "%s: %llu elements, said to be %.1f", what, (unsigned long long) n,
		   cardinality);
	rate = filter_estimated_error_rate(*image);
	probes = fmin(4000 / fmax(rate, 1e-9), 400000);
	hits = count_hits(*image, ABSENT, probes);
	expect(hits <= most_hits(probes, fmin(rate * 1.05, 1)) &&
		   hits >= least_hits(probes, rate * 0.95),
		   "%s: %llu elements, %g hits of a million, said to be %g", what,
		   (unsigned long long) n, 1e6 * hits / probes, 1e6 * rate);
}

static void
test_estimates(void)
{
	static const double rates[] = {ERROR_RATE_MAX, 0.1, 0.01, 0.001, 1e-5};
	static const double fills[] = {0.01, 0.1, 0.5, 1};
	const uint64_t n = 20000;

	begin_test("a filter knows its cardinality and error rate");
	for (int j = 0; j < lengthof(fills); j++)
	{
		uint64_t	count = n * fills[j];
		uint8_t    *image;

		/*
		 * Relative spread: less than one over the square root of the count,
		 * as most bits are set once
		 */
		for (int i = 0; i < lengthof(rates); i++)
		{
			image = make_filter(n, rates[i], 0);
			try_estimates("fixed", &image, count, 1 / sqrt(count));
			release_image(image);
			image = make_filter(n / 100, rates[i], 2);
			try_estimates("grown", &image, count, 1 / sqrt(count));
			release_image(image);
		}
		image = make_classic(10 * n, 7);
		try_estimates("classic", &image, count, 1 / sqrt(count));
		release_image(image);
	}
	end_test();

	begin_test("estimates of any number of set bits are numbers");
	for (int i = 0; i < lengthof(rates) + 1; i++)
	{
		uint8_t    *image = i < lengthof(rates) ?
			make_filter(1600, rates[i], 0) : make_classic(1001, 7);
		uint8_t    *descriptor = image_layer_at(image, 0);
		double		before = 0;
		uint64_t	bits;
		uint64_t	bits_set;

		filter_bits(image, &bits, &bits_set);
		expect(bits_set == 0, "bits set in a new filter");
		for (uint64_t set = 0; set <= bits; set++)
		{
			double		cardinality;
			double		rate;

			put64(descriptor + LAYER_OFF_BITS_SET, set);
			cardinality = filter_cardinality(image);
			rate = filter_estimated_error_rate(image);
			expect(isfinite(cardinality) && cardinality >= before,
				   "%llu of %llu bits: %g elements", (unsigned long long) set,
				   (unsigned long long) bits, cardinality);
			expect(rate >= 0 && rate <= 1, "%llu of %llu bits: rate %g",
				   (unsigned long long) set, (unsigned long long) bits, rate);
			before = cardinality;
		}
		release_image(image);
	}
	end_test();
}

void
test_error_rate(void)
{
	test_small();
	test_many();
	test_rare();
	test_grown();
	test_estimates();
}
