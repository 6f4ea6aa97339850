/*
 * test_classic.c
 *	  The classic layout is the textbook's filter: its places against a model,
 *	  its error rates against the formula.
 */
#include "unit.h"

#include <math.h>

#include "../../src/filter/classic.h"

/* Place number i of an element, as docs/dev/format.md has it */
static uint64_t
model_place(uint64_t hash, uint64_t m, unsigned i)
{
	uint64_t	word = hash * UINT64_C(0x9E3779B97F4A7C15);
	uint64_t	step = ((word ^ (word >> 32)) *
						UINT64_C(0xBF58476D1CE4E5B9)) | 1;

	for (; i > 0; i--)
	{
		hash += step;
		step *= UINT64_C(0x9E3779B97F4A7C15);
	}
	return (uint64_t) (((unsigned __int128) hash * m) >> 64);
}

static void
test_places(void)
{
	static const uint64_t sizes[] = {1, 2, 7, 8, 9, 64, 77, 512, 1000, 4096};

	begin_test("classic sets and probes the model's bits");
	for (int i = 0; i < lengthof(sizes); i++)
	{
		uint64_t	m = sizes[i];

		for (int round = 0; round < 2000; round++)
		{
			uint8_t		bits[4096 / 8 + 1];
			uint8_t		model[4096 / 8 + 1];
			uint64_t	hash = random64();
			unsigned	k = 1 + random_below(CLASSIC_MAX_HASHES);
			unsigned	new_bits = 0;
			unsigned	added;

			for (int j = 0; j < lengthof(bits); j++)
				/* NOLINTNEXTLINE(misc-redundant-expression): as it says */
				bits[j] = random64() | random64();
			memcpy(model, bits, sizeof(bits));
			for (unsigned j = 0; j < k; j++)
			{
				uint64_t	place = model_place(hash, m, j);

				new_bits += ((model[place / 8] >> (place % 8)) & 1) == 0;
				model[place / 8] |= 1 << (place % 8);
			}
			added = classic_bits_add(bits, m, k, hash);
			expect(added == new_bits, "m %llu k %u: added %u, not %u",
				   (unsigned long long) m, k, added, new_bits);
			expect(memcmp(bits, model, sizeof(bits)) == 0,
				   "m %llu k %u: other bits", (unsigned long long) m, k);
			expect(classic_bits_add(bits, m, k, hash) == 0,
				   "m %llu k %u: not in once added", (unsigned long long) m,
				   k);
		}
	}
	end_test();
}

/* What the books give for n elements in m bits, k for each */
static double
textbook_rate(double n, double m, double k)
{
	return pow(1 - exp(-k * n / m), k);
}

/*
 * Measure filters of n elements in m bits.  To keep
 * their own variance out of the answer, compare the number of set bits with the
 * expected one, and the hits with those that these bits give for k independent
 * places.
 */
static void
try_rate(uint64_t n, uint64_t m, unsigned k, int filters, uint64_t probes)
{
	double		clear = exp(-(double) k * n / m);

	/* standard deviation of the bits that n k balls leave clear */
	double		sigma = sqrt(m * clear * (1 - clear * (1 + (double) k * n / m)));
	double		expected = 0;
	double		set = 0;
	uint64_t	hits = 0;

	if (SANITIZED)
		probes /= 10;
	for (int i = 0; i < filters; i++)
	{
		uint8_t    *image = make_classic(m, k);
		uint64_t	bits;
		uint64_t	bits_set;

		add_numbers(&image, i * n, n);
		filter_bits(image, &bits, &bits_set);
		set += bits_set;
		expected += probes * pow((double) bits_set / m, k);
		hits += count_hits(image, ABSENT + i * probes, probes);
		release_image(image);
	}
	/* a bit and a half a filter: the books' e is a limit */
	expect(fabs(set - filters * m * (1 - clear)) <=
		   SIGMAS * sigma * sqrt(filters) + 1.5 * filters,
		   "n %llu m %llu k %u: %.1f bits set, not %.1f",
		   (unsigned long long) n, (unsigned long long) m, k, set / filters,
		   m * (1 - clear));
	expect(hits <= most_hits((double) probes * filters,
							 expected / probes / filters) &&
		   hits >= least_hits((double) probes * filters,
							  expected / probes / filters),
		   "n %llu m %llu k %u: %llu hits, not %.1f (the books': %.1f)",
		   (unsigned long long) n, (unsigned long long) m, k,
		   (unsigned long long) hits, expected,
		   (double) probes * filters * textbook_rate(n, m, k));
}

static void
test_textbook(void)
{
	begin_test("classic: the books' error rates, m/n 2 to 32 and k 1 to 8");
	for (int ratio = 2; ratio <= 32; ratio++)
	{
		for (unsigned k = 1; k <= 8; k++)
		{
			/* a thousand hits or as many as a second allows for them all */
			double		rate = textbook_rate(1, ratio, k);
			uint64_t	probes = (uint64_t) fmin(1000 / rate, 400000);

			try_rate(10000, (uint64_t) 10000 * ratio, k, 1, probes);
		}
	}
	end_test();

	begin_test("classic: (m/n, k) = (20, 10) and (16, 8), and few bits");
	expect(fabs(textbook_rate(1, 20, 10) / 8.89e-5 - 1) < 0.001, "(20, 10)");
	expect(fabs(textbook_rate(1, 16, 8) / 5.7e-4 - 1) < 0.01, "(16, 8)");
	try_rate(1000, 20000, 10, 100, trials(1000000));
	try_rate(1000, 16000, 8, 100, 100000);
	try_rate(1000, 32000, 8, 50, trials(1000000));
	/* the hashes for 1e-6: a poor rule for places shows here */
	try_rate(1000, 28800, 20, 50, trials(400000));
	try_rate(100, 1000, 7, 1000, 1000);
	/* 500 elements at 0.003 */
	expect(fabs(textbook_rate(500, 6045, 8) / 0.003 - 1) < 0.01, "0.003");
	try_rate(500, 6045, 8, 200, 50000);
	end_test();
}

void
test_classic(void)
{
	test_places();
	test_textbook();
}
