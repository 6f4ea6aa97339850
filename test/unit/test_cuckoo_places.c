/*
 * test_cuckoo_places.c
 *	  Where entries of cuckoo filters lie, adding and probing, and the
 *	  sizes that are planned for them.
 */
#include "naive_cuckoo.h"

#include <math.h>

/* ------------------------------------------------------------------------
 * Places
 * ------------------------------------------------------------------------ */

static void
test_places(void)
{
	begin_test("a cuckoo's classes are nested, and are what they should be");
	for (int i = 0; i < 200000; i++)
	{
		uint64_t	n0 = 2 + 2 * random_below(UINT64_C(1) << random_below(20));
		uint64_t	coarse = 1 + random_below(40);
		uint64_t	times = 1 + random_below(16);
		unsigned	f0 = CUCKOO_MIN_FINGERPRINT + random_below(10);
		unsigned	f1 = f0 + random_below(10);
		unsigned	f2 = f1 + random_below(CUCKOO_MAX_FINGERPRINT - f1 + 1);
		uint64_t	hash = random64();
		NaivePlace	naive = naive_place(n0, coarse * times, f0, f2, hash);
		NaivePlace	coarser = naive_place(n0, coarse, f0, f1, hash);
		CuckooLayer layer = {
			.half = n0 / 2 * coarse * times,
			.multiple = coarse * times,
			.first_half = n0 / 2,
			.width = f2 + 1,
			.first_bits = f0,
			.extra = f2 - f0
		};
		CuckooKey	key = cuckoo_key(hash, f0);
		CuckooPlace place = cuckoo_place(&layer, &key);

		expect(place.window[0] == naive.window[0] &&
			   place.window[1] == naive.window[1] &&
			   place.fingerprint == naive.fingerprint, "another place");
		expect(naive.window[0] / times == coarser.window[0] &&
			   naive.window[1] / times == coarser.window[1] &&
			   naive.fingerprint >> (f2 - f1) == coarser.fingerprint,
			   "not nested");
		expect((place.window[0] < layer.half) !=
			   (place.window[1] < layer.half) &&
			   place.window[1] < 2 * layer.half, "not one in each half");
		expect(cuckoo_other_window(&layer, place.window[1], key.first) ==
			   place.window[0], "no way back");
		expect(place.fingerprint >> (f2 - f0) != 0 &&
			   place.fingerprint >> f2 == 0, "fingerprint out of range");
	}
	end_test();
}

/* ------------------------------------------------------------------------
 * Adding and probing
 * ------------------------------------------------------------------------ */

/* From 5 bits to those that take two words to read, in one layer and several */
static void
test_answers(void)
{
	static const struct
	{
		uint64_t	capacity;
		double		error_rate;
		int			growth;
		uint64_t	elements;
	}			kinds[] = {
		{1, 0.5, 0, 1}, {1, 1e-7, 0, 1}, {50, 0.5, 2, 2000}, {30, 0.03, 1, 900},
		{500, 0.01, 0, 500}, {100, 0.01, 2, 1500}, {20, 0.001, 16, 1500},
		{500, 1e-5, 0, 500}, {1, 1e-7, 2, 1500}, {300, 1e-7, 2, 1500},
		{10, 1e-7, 1, 240}, {1, 0.1, 3, 700}
	};

	begin_test("a cuckoo filter finds what was added, and its bytes say so");
	for (int i = 0; i < lengthof(kinds); i++)
	{
		uint8_t    *image = make_cuckoo(kinds[i].capacity, kinds[i].error_rate,
										kinds[i].growth);
		char		what[64];

		snprintf(what, sizeof(what), "%llu at %g, growth %d",
				 (unsigned long long) kinds[i].capacity, kinds[i].error_rate,
				 kinds[i].growth);
		expect_sound(what, image);
		expect_answers(what, image, 0, 50);
		add_numbers(&image, 0, kinds[i].elements);
		expect_sound(what, image);
		expect(count_hits(image, 0, kinds[i].elements) == kinds[i].elements,
			   "%s: lost one", what);
		expect_answers(what, image, 0, kinds[i].elements);
		expect_answers(what, image, ABSENT, 2000);
		release_image(image);
	}
	end_test();
}

static void
test_builds(void)
{
	static const uint64_t sizes[] = {1, 3, 10, 30, 100, 300, 1000};
	static const double rates[] = {0.5, 0.03, 0.001};
	int			builds = SANITIZED ? trials(10000) : 10000;

	for (int i = 0; i < lengthof(sizes); i++)
	{
		uint64_t	first = random64() >> 20;
		uint64_t	n = sizes[i];

		begin_test("%d fixed filters of %llu elements: each can be filled",
				   builds, (unsigned long long) n);
		for (int build = 0; build < builds; build++)
		{
			double		rate = rates[build % lengthof(rates)];
			uint8_t    *image = make_cuckoo(n, rate, 0);
			uint64_t	hashes[1000];
			size_t		added;

			for (uint64_t j = 0; j < n; j++)
				hashes[j] = number_hash(first++);
			added = filter_add_batch(image, hashes, n);
			expect(added == n, "%g: only %llu", rate,
				   (unsigned long long) added);
			expect(count_hits(image, first - n, n) == n, "%g: lost one", rate);
			release_image(image);
		}
		end_test();
	}
}

static void
test_error_rates(void)
{
	static const double rates[] = {0.1, 0.03, 0.01, 0.001, 1e-4};
	static const uint64_t sizes[] = {30, 1000, 100000};

	begin_test("a full cuckoo filter's error rate is the one computed");
	for (int i = 0; i < lengthof(rates); i++)
	{
		for (int j = 0; j < lengthof(sizes); j++)
		{
			/* 1,000 hits expected, over several filters where they are small */
			uint64_t	probes = (SANITIZED ? trials(2000) : 2000) / rates[i];
			int			filters = sizes[j] < 10000 ? 40 : 1;
			double		expected = 0;
			uint64_t	hits = 0;

			for (int filter = 0; filter < filters; filter++)
			{
				uint8_t    *image = make_cuckoo(sizes[j], rates[i], 0);
				FilterLayer layer = image_get_layer(image, 0);

				expect(layer.error_rate <= rates[i], "%g: layer at %g",
					   rates[i], layer.error_rate);
				add_numbers(&image, filter * layer.capacity, layer.capacity);
				expected += filter_estimated_error_rate(image) / filters;
				expect(fabs(filter_estimated_error_rate(image) /
							layer.error_rate - 1) < 0.01 ||
					   layer.bits_set < layer.capacity,
					   "%g: %g when full, planned %g", rates[i],
					   filter_estimated_error_rate(image), layer.error_rate);
				hits += count_hits(image, ABSENT + filter * probes,
								   probes / filters);
				release_image(image);
			}
			probes = probes / filters * filters;
			expect(hits <= most_hits(probes, expected) &&
				   hits >= least_hits(probes, expected * 0.97),
				   "%llu at %g: %g, not %g", (unsigned long long) sizes[j],
				   rates[i], (double) hits / probes, expected);
		}
	}
	end_test();

	begin_test("a grown cuckoo filter keeps the error rate");
	for (int i = 1; i < 4; i++)
	{
		for (int growth = 1; growth <= 4; growth *= 2)
		{
			uint64_t	n = growth == 1 ? 2500 : 100000;
			uint64_t	probes = (SANITIZED ? trials(1000) : 1000) / rates[i];
			uint8_t    *image = make_cuckoo(100, rates[i], growth);
			uint64_t	hits;

			add_numbers(&image, 0, n);
			expect(image_layers(image) >= 5, "%d layers", image_layers(image));
			expect(count_hits(image, 0, n) == n, "lost one");
			hits = count_hits(image, ABSENT, probes);
			expect(hits <= most_hits(probes, rates[i]), "%g: %g", rates[i],
				   (double) hits / probes);
			expect(filter_estimated_error_rate(image) <= rates[i],
				   "%g: estimated %g", rates[i],
				   filter_estimated_error_rate(image));
			release_image(image);
		}
	}
	end_test();
}

static void
test_sizes(void)
{
	static const struct
	{
		double		error_rate;
		double		bits;		/* an element, header included */
		unsigned	fingerprint;
	}			requests[] = {
		{0.03, 7.7, 6}, {0.01, 9.8, 8}, {0.001, 13.0, 11}, {1e-4, 17.4, 15},
		{1e-6, 23.9, 21}
	};

	begin_test("a cuckoo filter is as small as it should be");
	for (int i = 0; i < lengthof(requests); i++)
	{
		for (uint64_t n = 100000; n <= 10000000; n *= 10)
		{
			FilterParams params = {
				.capacity = n, .error_rate = requests[i].error_rate,
				.kind = FILTER_CUCKOO
			};
			FilterPlan	plan;

			expect(filter_plan(&params, &plan) == FILTER_OK, "no plan");
			expect(plan.bytes * 8.0 / n <= requests[i].bits &&
				   plan.layer[0].hashes == requests[i].fingerprint,
				   "%g: %g bits, fingerprint of %u", requests[i].error_rate,
				   plan.bytes * 8.0 / n, plan.layer[0].hashes);
		}
	}
	end_test();

	begin_test("the capacity of a cuckoo filter is what was requested, and no jump");
	for (uint64_t windows = 2; windows < 20000; windows += 2)
		expect(cuckoo_capacity(windows) <= cuckoo_capacity(windows + 2) &&
			   cuckoo_capacity(windows + 2) <= cuckoo_capacity(windows) + 3 &&
			   cuckoo_capacity(windows) >= 1 &&
			   cuckoo_capacity(windows) <= cuckoo_slots(windows),
			   "%llu windows", (unsigned long long) windows);
	for (uint64_t n = 1; n < UINT64_C(1) << 31; n = n * 5 / 4 + 1)
	{
		for (double rate = ERROR_RATE_MAX; rate >= ERROR_RATE_MIN; rate /= 3)
		{
			for (int growth = 0; growth <= IMAGE_MAX_GROWTH; growth += 8)
			{
				FilterParams params = {
					.capacity = n, .error_rate = rate, .growth = growth,
					.kind = FILTER_CUCKOO
				};
				FilterPlan	plan;
				FilterLayer *layer = &plan.layer[0];

				if (filter_plan(&params, &plan) != FILTER_OK)
				{
					expect(n > IMAGE_MAX_BITS / 50, "%llu at %g: too large",
						   (unsigned long long) n, rate);
					continue;
				}
				/* what its last bytes hold, and some for small steps */
				expect(layer->capacity >= n &&
					   layer->capacity < n + n / 100 + 8 +
					   8 * IMAGE_ALIGNMENT * 3 / 2 / (layer->hashes + 1),
					   "%llu at %g: capacity %llu", (unsigned long long) n,
					   rate, (unsigned long long) layer->capacity);
				expect(layer->error_rate <= rate * (growth > 0 ? 0.95 : 1),
					   "%llu at %g: %g", (unsigned long long) n, rate,
					   layer->error_rate);
				/* one bit less would not do */
				expect(layer->hashes == CUCKOO_MIN_FINGERPRINT ||
					   layer->size < 1024 || layer->error_rate >
					   rate * (growth > 0 ? 0.95 : 1) * 0.48,
					   "%llu at %g: only %g", (unsigned long long) n, rate,
					   layer->error_rate);
			}
		}
	}
	end_test();

	begin_test("the error rates of all layers of a cuckoo filter add up");
	for (double rate = ERROR_RATE_MAX; rate >= ERROR_RATE_MIN; rate *= 0.83)
	{
		for (int growth = 1; growth <= 3; growth++)
		{
			uint8_t    *image = make_cuckoo(1, rate, growth);
			double		sum = 0;
			FilterLayer layer;
			FilterStatus status;
			FilterPlan	plan;

			/* in the image, only the descriptors matter here */
			while ((status = filter_plan_growth(image, 0, &plan)) == FILTER_OK &&
				   plan.bytes < 4 << 20)
				grow_filter(&image);
			if (status != FILTER_OK)
				expect(growth == 1 && status == FILTER_TOO_MANY_LAYERS,
					   "growth ended with %d", status);
			for (int i = 0; i < image_layers(image); i++)
			{
				layer = image_get_layer(image, i);
				sum += layer.error_rate;
			}
			expect(sum <= rate, "%g, growth %d: %g in %d layers", rate, growth,
				   sum, image_layers(image));
			expect_sound("grown empty", image);
			release_image(image);
		}
	}
	end_test();
}

void
test_cuckoo_places(void)
{
	test_places();
	test_answers();
	test_builds();
	test_error_rates();
	test_sizes();
}
