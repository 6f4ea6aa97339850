/*
 * test_cuckoo.c
 *	  Cuckoo filters: nothing lost whatever leaves, against a multiset in memory
 *	  and a reader of the bytes that shares no code with the filter.
 */
#include "unit.h"

#include <math.h>
#include <setjmp.h>

#include "../../src/filter/cuckoo.h"

/* ------------------------------------------------------------------------
 * The naive reader: bit by bit, with division and remainder, as docs say it
 * ------------------------------------------------------------------------ */

/* Where a hash's entry may be in a layer */
typedef struct NaivePlace
{
	uint64_t	window[2];
	uint64_t	fingerprint;
} NaivePlace;

static NaivePlace
naive_place(uint64_t n0, uint64_t multiple, unsigned f0, unsigned f,
			uint64_t hash)
{
	uint64_t	word = hash * UINT64_C(0x9E3779B97F4A7C15);
	uint64_t	more = (word ^ (word >> 32)) * UINT64_C(0xBF58476D1CE4E5B9);
	uint64_t	first = 1 + (uint64_t)
		(((unsigned __int128) word * ((UINT64_C(1) << f0) - 1)) >> 64);
	uint64_t	spread = first * UINT64_C(0x9E3779B97F4A7C15);
	uint64_t	half = n0 * multiple / 2;
	uint64_t	window = (uint64_t) (((unsigned __int128) hash * (n0 * multiple)) >> 64);
	uint64_t	h;
	NaivePlace	place;

	spread = (spread ^ (spread >> 32)) * UINT64_C(0xBF58476D1CE4E5B9);
	spread = (first << (64 - f0)) + spread / (UINT64_C(1) << f0);
	h = (uint64_t) (((unsigned __int128) spread * (n0 / 2)) >> 64);
	h = multiple * (h + 1) - 1;
	place.window[0] = window;
	place.window[1] = window < half ?
		half + (h + half - window) % half :
		(h + half - (window - half)) % half;
	place.fingerprint = first;
	for (unsigned bit = 0; bit < f - f0; bit++)
		place.fingerprint = 2 * place.fingerprint + ((more >> (63 - bit)) & 1);
	return place;
}

static NaivePlace
naive_place_in(const uint8_t *image, int i, uint64_t hash)
{
	FilterLayer first;
	FilterLayer layer;

	image_get_layer(image, 0, &first);
	image_get_layer(image, i, &layer);
	return naive_place(first.size, layer.multiple, first.hashes, layer.hashes,
					   hash);
}

static bool
same_class(const NaivePlace *a, const NaivePlace *b)
{
	return a->fingerprint == b->fingerprint &&
		((a->window[0] == b->window[0] && a->window[1] == b->window[1]) ||
		 (a->window[0] == b->window[1] && a->window[1] == b->window[0]));
}

/* What is in a slot, read bit by bit */
static uint64_t
naive_slot(const uint8_t *image, const FilterLayer *layer, uint64_t slot)
{
	uint64_t	value = 0;

	for (unsigned bit = 0; bit <= layer->hashes; bit++)
	{
		uint64_t	at = slot * (layer->hashes + 1) + bit;

		value |= (uint64_t)
			((image[layer->offset + at / 8] >> (at % 8)) & 1) << bit;
	}
	return value;
}

/* Entries of the class of a hash in layer i; *full: all its slots hold it */
static unsigned
naive_count_in(const uint8_t *image, int i, uint64_t hash, bool *full)
{
	NaivePlace	place = naive_place_in(image, i, hash);
	uint64_t	low = fmin(place.window[0], place.window[1]);
	uint64_t	high = fmax(place.window[0], place.window[1]);
	FilterLayer layer;
	unsigned	count = 0;

	image_get_layer(image, i, &layer);
	for (int w = 0; w < 2; w++)
		for (int offset = 0; offset < 2; offset++)
			count += naive_slot(image, &layer, place.window[w] + offset) ==
				2 * place.fingerprint + offset;
	*full = count == (high == low + 1 ? 3 : 4);
	return count;
}

static unsigned
naive_count(const uint8_t *image, uint64_t hash, bool *saturated)
{
	unsigned	count = 0;

	*saturated = false;
	for (int i = 0; i < image_layers(image); i++)
	{
		bool		full;

		count += naive_count_in(image, i, hash, &full);
		*saturated |= full;
	}
	return count;
}

static uint64_t
entries_in(const uint8_t *image)
{
	return (uint64_t) filter_cardinality(image);
}

static void
expect_sound(const char *what, const uint8_t *image)
{
	const char *fault = image_check(image, image_bytes(image), FILTER_CUCKOO);

	expect(fault == NULL, "%s: unsound: %s", what, fault);
}

/* What a fetch function needs to check what is asked of it */
typedef struct Fetched
{
	const uint8_t *image;
	uint64_t	least;			/* first offset that is not the header's */
	unsigned	fetches;
	uint8_t    *part;			/* as long as what was fetched, to the byte */
} Fetched;

static const uint8_t *
fetch_part(void *from, uint64_t offset, uint32_t bytes)
{
	Fetched    *fetched = from;

	expect(offset >= fetched->least && bytes <= CUCKOO_WINDOW_BYTES &&
		   offset + bytes <= image_bytes(fetched->image),
		   "%u bytes fetched at %llu", bytes, (unsigned long long) offset);
	fetched->fetches++;
	free(fetched->part);
	fetched->part = malloc(bytes);
	memcpy(fetched->part, fetched->image + offset, bytes);
	return fetched->part;
}

/* Everything that asks, against the naive reader */
static void
expect_answers(const char *what, const uint8_t *image, uint64_t first,
			   uint64_t count)
{
	uint64_t   *hashes = calloc(count, sizeof(uint64_t));
	bool	   *found = calloc(count, sizeof(bool));
	uint64_t	header_bytes = filter_header_bytes(image);
	uint8_t    *header = malloc(header_bytes);

	/* the header alone, so that a look beyond it is seen */
	memcpy(header, image, header_bytes);
	for (uint64_t i = 0; i < count; i++)
		hashes[i] = number_hash(first + i);
	filter_contains_batch(image, hashes, count, found);
	for (uint64_t i = 0; i < count; i++)
	{
		bool		saturated;
		unsigned	truth = naive_count(image, hashes[i], &saturated);
		Fetched		fetched = {image, header_bytes, 0, NULL};

		expect(filter_count(image, hashes[i]) == truth, "%s: %u counted, not %u",
			   what, filter_count(image, hashes[i]), truth);
		expect(filter_contains(image, hashes[i]) == (truth > 0) &&
			   found[i] == (truth > 0), "%s: wrong answer about %llu", what,
			   (unsigned long long) (first + i));
		expect(filter_contains_sliced(header, hashes[i], fetch_part,
									  &fetched) == (truth > 0),
			   "%s: wrong answer in parts", what);
		expect(fetched.fetches >= 1 && fetched.fetches <= filter_slices(header),
			   "%s: %u fetches", what, fetched.fetches);
		free(fetched.part);
	}
	free(header);
	free(hashes);
	free(found);
}

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
			NULL, n0 / 2 * coarse * times, coarse * times, n0 / 2, f2 + 1, f0,
			f2 - f0
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
 * Adding and asking
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

#define BUILDS			10000

static void
test_builds(void)
{
	static const uint64_t sizes[] = {1, 3, 10, 30, 100, 300, 1000};
	static const double rates[] = {0.5, 0.03, 0.001};

	for (int i = 0; i < lengthof(sizes); i++)
	{
		uint64_t	first = random64() >> 20;
		uint64_t	n = sizes[i];

		begin_test("%d fixed filters of %llu elements: each can be filled",
				   BUILDS, (unsigned long long) n);
		for (int build = 0; build < BUILDS; build++)
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
			uint64_t	probes = 2000 / rates[i];
			int			filters = sizes[j] < 10000 ? 40 : 1;
			double		expected = 0;
			uint64_t	hits = 0;

			for (int filter = 0; filter < filters; filter++)
			{
				uint8_t    *image = make_cuckoo(sizes[j], rates[i], 0);
				FilterLayer layer;

				image_get_layer(image, 0, &layer);
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
			uint64_t	probes = 1000 / rates[i];
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
	}			asked[] = {
		{0.03, 7.7, 6}, {0.01, 9.8, 8}, {0.001, 13.0, 11}, {1e-4, 17.4, 15},
		{1e-6, 23.9, 21}
	};

	begin_test("a cuckoo filter is as small as it should be");
	for (int i = 0; i < lengthof(asked); i++)
	{
		for (uint64_t n = 100000; n <= 10000000; n *= 10)
		{
			FilterParams params = {
				.capacity = n, .error_rate = asked[i].error_rate,
				.kind = FILTER_CUCKOO
			};
			FilterPlan	plan;

			expect(filter_plan(&params, &plan) == FILTER_OK, "no plan");
			expect(plan.bytes * 8.0 / n <= asked[i].bits &&
				   plan.layer[0].hashes == asked[i].fingerprint,
				   "%g: %g bits, fingerprint of %u", asked[i].error_rate,
				   plan.bytes * 8.0 / n, plan.layer[0].hashes);
		}
	}
	end_test();

	begin_test("the capacity of a cuckoo filter is what was asked, and no jump");
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
			while ((status = filter_plan_growth(image, &plan)) == FILTER_OK &&
				   plan.bytes < 4 << 20)
				grow_filter(&image);
			if (status != FILTER_OK)
				expect(growth == 1 && status == FILTER_TOO_MANY_LAYERS,
					   "growth ended with %d", status);
			for (int i = 0; i < image_layers(image); i++)
			{
				image_get_layer(image, i, &layer);
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

/* Add a hash; the image may grow. */
static void
add_one(uint8_t **image, uint64_t hash)
{
	add_hashes(image, &hash, 1);
}

/* ------------------------------------------------------------------------
 * Saturation
 * ------------------------------------------------------------------------ */

static void
test_saturation(void)
{
	begin_test("an element that is added again and again is in for good");
	for (int growth = 0; growth <= 2; growth++)
	{
		for (uint64_t element = 0; element < 200; element++)
		{
			uint8_t    *image = make_cuckoo(4, 0.03, growth);
			uint64_t	hash = number_hash(element);
			unsigned	most = 0;
			bool		full;
			uint64_t	others = growth == 0 ? 4 : 40;

			for (int i = 1; i <= 100; i++)
			{
				add_one(&image, hash);
				if (filter_count(image, hash) > most)
					most = filter_count(image, hash);
				expect(filter_count(image, hash) == fmin(i, most),
					   "%d times counted %u", i, filter_count(image, hash));
			}
			expect(naive_count_in(image, 0, hash, &full) == most && full &&
				   (most == 4 || most == 3) && entries_in(image) == most &&
				   image_layers(image) == 1, "%u entries of %llu", most,
				   (unsigned long long) entries_in(image));
			expect(filter_remove(image, hash) == FILTER_SATURATED &&
				   filter_count(image, hash) == most, "removed");
			/* nor is it moved away by others, or by growth */
			add_numbers(&image, 1000 * (element + 1), others);
			add_one(&image, hash);
			expect(filter_count(image, hash) >= most &&
				   filter_remove(image, hash) == FILTER_SATURATED,
				   "no more for good");
			for (uint64_t i = 0; i < others; i++)
				expect(filter_remove(image, number_hash(1000 * (element + 1) +
														i)) != FILTER_ABSENT,
					   "another one is lost");
			expect(filter_contains(image, hash), "lost");
			filter_compact(image);
			expect(filter_remove(image, hash) == FILTER_SATURATED,
				   "no more for good once compacted");
			expect_sound("saturated", image);
			release_image(image);
		}
	}
	end_test();

	begin_test("where windows overlap, three entries saturate");
	{
		uint8_t    *image = make_cuckoo(1, 0.5, 0);
		FilterLayer layer;
		int			tried = 0;

		image_get_layer(image, 0, &layer);
		for (uint64_t element = 0; tried < 20; element++)
		{
			uint64_t	hash = number_hash(element);
			NaivePlace	place = naive_place_in(image, 0, hash);
			uint8_t    *copy;

			if (place.window[0] + place.window[1] != layer.size - 1 ||
				(place.window[0] != layer.size / 2 &&
				 place.window[1] != layer.size / 2))
				continue;
			copy = copy_image(image);
			for (int i = 0; i < 6; i++)
				add_one(&copy, hash);
			expect(filter_count(copy, hash) == 3 &&
				   filter_remove(copy, hash) == FILTER_SATURATED,
				   "%u entries", filter_count(copy, hash));
			expect_sound("overlapping", copy);
			release_image(copy);
			tried++;
		}
		release_image(image);
	}
	end_test();
}

/* ------------------------------------------------------------------------
 * The trap: one class, two layers
 * ------------------------------------------------------------------------ */

/*
 * x is in the first layer, y in a second, both of one class even there.  Remove
 * either: the other stays.
 */
static void
test_trap(void)
{
	int			tried = 0;

	begin_test("who is of one class in a finer layer is not taken for another");
	for (uint64_t x = 0; tried < 60; x++)
	{
		uint8_t    *image = make_cuckoo(2, 0.5, 2);
		uint64_t	hash = number_hash(x);
		uint64_t	other = 0;
		NaivePlace	place;
		bool		found = false;

		add_one(&image, hash);
		grow_filter(&image);
		place = naive_place_in(image, 1, hash);
		for (uint64_t y = 1; y < 20000 && !found; y++)
		{
			NaivePlace	place_y;

			other = number_hash(ABSENT + y);
			place_y = naive_place_in(image, 1, other);
			found = same_class(&place, &place_y);
		}
		if (found)
		{
			uint64_t	pair[2] = {hash, other};

			for (int first = 0; first < 2; first++)
			{
				uint8_t    *copy = copy_image(image);
				bool		full;

				add_one(&copy, other);
				expect(naive_count_in(copy, 0, hash, &full) == 1 &&
					   naive_count_in(copy, 1, hash, &full) == 1,
					   "not one in each layer");
				expect(filter_count(copy, hash) == 2, "not two");
				expect(filter_remove(copy, pair[first]) == FILTER_REMOVED,
					   "not removed");
				expect(filter_contains(copy, pair[1 - first]),
					   "the other one is lost");
				expect(filter_remove(copy, pair[1 - first]) == FILTER_REMOVED,
					   "the other one was lost");
				expect(filter_remove(copy, pair[0]) == FILTER_ABSENT &&
					   entries_in(copy) == 0, "not empty");
				release_image(copy);
			}
			tried++;
		}
		release_image(image);
	}
	end_test();

	/* of one class in the first layer, not in the second */
	begin_test("who is of one class in a coarse layer only, does not lose");
	tried = 0;
	for (uint64_t x = 0; tried < 60; x++)
	{
		uint8_t    *image = make_cuckoo(2, 0.5, 2);
		uint64_t	hash = number_hash(x);
		NaivePlace	place[2];

		place[0] = naive_place_in(image, 0, hash);
		add_one(&image, hash);
		grow_filter(&image);
		place[1] = naive_place_in(image, 1, hash);
		for (uint64_t y = 1; y < 5000; y++)
		{
			uint64_t	other = number_hash(ABSENT + y);
			NaivePlace	place_y = naive_place_in(image, 0, other);
			uint8_t    *copy;

			if (!same_class(&place[0], &place_y))
				continue;
			place_y = naive_place_in(image, 1, other);
			if (same_class(&place[1], &place_y))
				continue;
			/* y in the fine layer, where it matches; x matches the coarse */
			copy = copy_image(image);
			add_one(&copy, other);
			expect(filter_remove(copy, other) == FILTER_REMOVED &&
				   filter_contains(copy, hash), "x is lost");
			add_one(&copy, other);
			expect(filter_remove(copy, hash) == FILTER_REMOVED &&
				   filter_contains(copy, other), "y is lost");
			release_image(copy);
			tried++;
			break;
		}
		release_image(image);
	}
	end_test();
}

/* ------------------------------------------------------------------------
 * Union
 * ------------------------------------------------------------------------ */

static bool
same_image(const uint8_t *a, const uint8_t *b)
{
	return image_bytes(a) == image_bytes(b) &&
		memcmp(a, b, image_bytes(a)) == 0;
}

/* Unions for whose entries the plan had room, but there was no place */
static int	failed_unions;

/* The union as a caller makes it; NULL if refused, with the reason */
static uint8_t *
unite(const uint8_t *a, const uint8_t *b, FilterStatus *status)
{
	uint8_t    *copy_a = copy_image(a);
	uint8_t    *copy_b = copy_image(b);
	uint8_t    *image = NULL;
	FilterPlan	plan;

	*status = filter_plan_union(a, b, &plan);
	if (*status == FILTER_OK)
	{
		expect(!filter_unites_in_place(a, &plan), "would be made within");
		image = allocate_image(plan.bytes);
		if (!filter_unite(image, a, b, &plan))
		{
			failed_unions++;
			release_image(image);
			image = NULL;
			*status = filter_plan_union_apart(a, b, &plan);
			if (*status == FILTER_OK)
			{
				image = allocate_image(plan.bytes);
				expect(filter_unite(image, a, b, &plan), "failed apart");
			}
		}
	}
	expect(same_image(a, copy_a) && same_image(b, copy_b),
		   "an operand was changed");
	release_image(copy_a);
	release_image(copy_b);
	if (image != NULL)
		expect_sound("union", image);
	return image;
}

static void
test_unions(void)
{
	FilterStatus status;
	uint8_t    *a;
	uint8_t    *b;
	uint8_t    *united;

	begin_test("the union of cuckoo filters is the sum of both");
	failed_unions = 0;
	for (int growth = 0; growth <= 3; growth++)
	{
		static const uint64_t sizes[] = {0, 1, 30, 100, 300, 1000};

		for (int i = 0; i < lengthof(sizes); i++)
		{
			for (int j = 0; j < lengthof(sizes); j++)
			{
				uint64_t	na = growth == 0 ? fmin(sizes[i], 100) : sizes[i];
				uint64_t	nb = growth == 0 ? fmin(sizes[j], 100) : sizes[j];

				a = make_cuckoo(100, 0.03, growth);
				b = make_cuckoo(100, 0.03, growth);
				/* half of b is in a too */
				add_numbers(&a, 0, na);
				add_numbers(&b, na / 2, nb);
				expect(filter_difference(a, b) == FILTERS_COMPATIBLE, "unlike");
				united = unite(a, b, &status);
				if (united == NULL)
				{
					FilterLayer layer;

					image_get_layer(a, 0, &layer);
					expect(growth == 0 ? status == FILTER_FIXED &&
						   na + nb > layer.capacity :
						   status == FILTER_TOO_MANY_LAYERS && growth == 1,
						   "refused with %d", status);
				}
				else
				{
					expect(entries_in(united) <= entries_in(a) + entries_in(b),
						   "more entries than in both");
					expect(count_hits(united, 0, na) == na &&
						   count_hits(united, na / 2, nb) == nb, "lost one");
					expect_answers("union", united, 0, 100);
					/* take b out again: a stays, and the other way round */
					for (uint64_t k = 0; k < nb; k++)
						expect(filter_remove(united, number_hash(na / 2 + k)) !=
							   FILTER_ABSENT, "was not in");
					expect(count_hits(united, 0, na) == na,
						   "removed b's, and a's are gone");
					release_image(united);
				}
				release_image(a);
				release_image(b);
			}
		}
	}
	expect(failed_unions == 0, "%d failed", failed_unions);
	end_test();

	begin_test("two of one class, one in each filter, are two in the union");
	a = make_cuckoo(2, 0.5, 2);
	for (uint64_t x = 0; x < 50; x++)
	{
		NaivePlace	place = naive_place_in(a, 0, number_hash(x));

		for (uint64_t y = ABSENT;; y++)
		{
			NaivePlace	place_y = naive_place_in(a, 0, number_hash(y));
			uint8_t    *one;
			uint8_t    *two;

			if (!same_class(&place, &place_y))
				continue;
			one = copy_image(a);
			two = copy_image(a);
			add_one(&one, number_hash(x));
			add_one(&two, number_hash(y));
			united = unite(one, two, &status);
			expect(filter_count(united, number_hash(x)) == 2, "not two");
			expect(filter_remove(united, number_hash(x)) == FILTER_REMOVED &&
				   filter_contains(united, number_hash(y)) &&
				   filter_remove(united, number_hash(y)) == FILTER_REMOVED &&
				   entries_in(united) == 0, "not the sum");
			release_image(united);
			release_image(one);
			release_image(two);
			break;
		}
	}
	release_image(a);
	end_test();

	begin_test("what is saturated is so in the union");
	for (uint64_t element = 0; element < 300; element++)
	{
		uint64_t	hash = number_hash(element);

		a = make_cuckoo(30, 0.03, 2);
		b = make_cuckoo(30, 0.03, 2);
		/* in b's first or its second layer, a full or not */
		add_numbers(&a, ABSENT, element % 3 * 40);
		if (element % 2 == 0)
			grow_filter(&b);
		for (int i = 0; i < 6; i++)
			add_one(&b, hash);
		add_numbers(&b, 2 * ABSENT, 30);
		expect(filter_remove(b, hash) == FILTER_SATURATED, "not saturated");
		united = unite(a, b, &status);
		expect(united != NULL &&
			   filter_remove(united, hash) == FILTER_SATURATED,
			   "not saturated any more");
		release_image(united);
		united = unite(b, a, &status);
		expect(united != NULL &&
			   filter_remove(united, hash) == FILTER_SATURATED,
			   "not saturated any more, from the other side");
		release_image(united);
		release_image(a);
		release_image(b);
	}
	end_test();

	begin_test("unions of many filters fill their layers");
	failed_unions = 0;
	united = make_cuckoo(1000, 0.01, 2);
	for (int i = 0; i < 20; i++)
	{
		uint8_t    *next;

		b = make_cuckoo(1000, 0.01, 2);
		add_numbers(&b, i * 600, 600);
		next = unite(united, b, &status);
		release_image(b);
		release_image(united);
		united = next;
	}
	expect(count_hits(united, 0, 12000) == 12000, "lost one");
	/* 600 in 1,000 each: 20 would have 20 layers if none was filled up */
	expect(image_layers(united) == 12, "%d layers", image_layers(united));
	expect(failed_unions == 0, "%d failed", failed_unions);
	release_image(united);
	end_test();

	begin_test("a plan to unite cuckoo filters apart keeps all layers");
	a = make_cuckoo(100, 0.01, 2);
	b = make_cuckoo(100, 0.01, 2);
	add_numbers(&a, 0, 200);
	add_numbers(&b, 200, 100);
	{
		FilterPlan	plan;

		status = filter_plan_union_apart(a, b, &plan);
		expect(status == FILTER_OK && plan.layers == image_layers(a) +
			   image_layers(b), "%d layers", plan.layers);
		united = allocate_image(plan.bytes);
		expect(filter_unite(united, a, b, &plan), "failed");
		expect_sound("apart", united);
		expect(count_hits(united, 0, 300) == 300 && entries_in(united) == 300,
			   "lost one");
		/* and is one again when a's elements have left */
		for (uint64_t i = 0; i < 200; i++)
			expect(filter_remove(united, number_hash(i)) == FILTER_REMOVED,
				   "lost one");
		filter_compact(united);
		expect(image_layers(united) == 1 && entries_in(united) == 100 &&
			   count_hits(united, 200, 100) == 100, "%d layers",
			   image_layers(united));
		release_image(united);
	}
	release_image(a);
	a = make_cuckoo(100, 0.01, 0);
	release_image(b);
	b = copy_image(a);
	{
		FilterPlan	plan;

		/* what is without entries needs no layer */
		expect(filter_plan_union_apart(a, b, &plan) == FILTER_OK &&
			   plan.layers == 1, "a layer for nothing");
		add_numbers(&b, 0, 1);
		expect(filter_plan_union_apart(a, b, &plan) == FILTER_FIXED,
			   "fixed filters side by side");
	}
	release_image(a);
	release_image(b);
	a = make_cuckoo(1, 0.5, 1);
	for (uint64_t n = 0; image_layers(a) <= IMAGE_MAX_LAYERS / 2; n++)
		add_numbers(&a, n, 1);
	b = copy_image(a);
	{
		FilterPlan	plan;

		expect(filter_plan_union_apart(a, b, &plan) == FILTER_TOO_MANY_LAYERS,
			   "%d layers and as many", image_layers(a));
	}
	release_image(a);
	release_image(b);
	end_test();

	begin_test("a cuckoo filter united with itself, the same object, has all twice");
	a = make_cuckoo(1000, 0.01, 2);
	add_numbers(&a, 0, 300);
	{
		FilterPlan	plan;

		status = filter_plan_union(a, a, &plan);
		expect(status == FILTER_OK, "no plan");
		united = allocate_image(plan.bytes);
		expect(filter_unite(united, a, a, &plan), "failed");
		expect_sound("with itself", united);
		for (uint64_t i = 0; i < 300; i++)
			expect(filter_count(united, number_hash(i)) >= 2, "lost one");
		release_image(united);
	}
	release_image(a);
	end_test();
}

static void
test_differences(void)
{
	FilterParams none = {0};
	uint8_t    *a = make_cuckoo(100, 0.01, 2);
	uint8_t    *b;
	uint8_t    *empty = allocate_image(IMAGE_HEADER_BYTES);

	begin_test("cuckoo filters that are unlike, and other kinds");
	b = make_filter(100, 0.01, 2);
	expect(filter_difference(a, b) == DIFFERENT_KIND &&
		   filter_difference(b, a) == DIFFERENT_KIND, "kind");
	release_image(b);
	image_put_header(empty, LAYOUT_EMPTY, &none);
	expect(filter_difference(a, empty) == DIFFERENT_KIND, "kind, empty");
	expect(image_check(empty, IMAGE_HEADER_BYTES, FILTER_CUCKOO) != NULL,
		   "an empty bloom filter let through");
	none.kind = FILTER_CUCKOO;
	image_put_header(empty, LAYOUT_EMPTY, &none);
	expect(filter_difference(a, empty) == FILTERS_COMPATIBLE, "empty");
	expect_sound("empty", empty);
	expect(image_check(empty, IMAGE_HEADER_BYTES, FILTER_BLOOM) != NULL,
		   "an empty cuckoo filter let through");
	expect(filter_remove(empty, 1) == FILTER_ABSENT &&
		   filter_count(empty, 1) == 0, "empty has something");
	b = make_cuckoo(1000, 0.01, 2);
	expect(filter_difference(a, b) == DIFFERENT_CAPACITY, "capacity");
	release_image(b);
	b = make_cuckoo(100, 0.02, 2);
	expect(filter_difference(a, b) == DIFFERENT_ERROR_RATE, "error rate");
	release_image(b);
	b = make_cuckoo(100, 0.01, 0);
	expect(filter_difference(a, b) == DIFFERENT_GROWTH, "growth");
	release_image(b);
	/* longer fingerprints in a layer of fewer windows */
	grow_filter(&a);
	grow_filter(&a);
	b = make_cuckoo(100, 0.01, 2);
	grow_filter(&b);
	expect(filter_difference(a, b) == FILTERS_COMPATIBLE, "grown");
	image_layer_at(b, 1)[LAYER_OFF_HASHES] =
		image_layer_at(a, 2)[LAYER_OFF_HASHES] + 1;
	expect(filter_difference(a, b) == DIFFERENT_SIZE &&
		   filter_difference(b, a) == DIFFERENT_SIZE, "not nested");
	release_image(a);
	release_image(b);
	release_image(empty);
	end_test();

	begin_test("a hash leaves an explicit cuckoo filter");
	{
		uint64_t	hashes[50];

		for (int i = 0; i < lengthof(hashes); i++)
			hashes[i] = number_hash(i);
		a = make_explicit(hashes, lengthof(hashes));
		memcpy(a, IMAGE_MAGIC_CUCKOO, IMAGE_MAGIC_BYTES);
		shuffle(hashes, lengthof(hashes));
		for (int i = 0; i < lengthof(hashes); i++)
		{
			expect(filter_count(a, hashes[i]) == 1 &&
				   filter_remove(a, hashes[i]) == FILTER_REMOVED &&
				   filter_remove(a, hashes[i]) == FILTER_ABSENT &&
				   filter_count(a, hashes[i]) == 0 &&
				   image_count(a) == lengthof(hashes) - 1 - (uint64_t) i,
				   "not removed");
			expect_sound("explicit", a);
			for (int j = i + 1; j < lengthof(hashes); j++)
				expect(filter_contains(a, hashes[j]), "lost");
		}
		release_image(a);
	}
	end_test();
}

/* ------------------------------------------------------------------------
 * Compaction and steady use
 * ------------------------------------------------------------------------ */

/* A pause of a caller who does not come back from the last one */
static int	pauses;
static jmp_buf *where_to_go_on;

static void
give_up_later(void)
{
	if (--pauses == 0)
		longjmp(*where_to_go_on, 1);
}

static void
test_compact(void)
{
	begin_test("a cuckoo filter shrinks when elements have left");
	for (int growth = 1; growth <= 3; growth++)
	{
		const uint64_t n = growth == 1 ? 1000 : 5000;

		for (uint64_t left = 0; left <= n; left += n / 10)
		{
			uint8_t    *image = make_cuckoo(100, 0.01, growth);
			uint64_t	before;
			uint64_t	bytes;
			int			layers;
			FilterLayer finest;
			uint8_t    *moved;

			add_numbers(&image, 0, n);
			for (uint64_t i = left; i < n; i++)
				expect(filter_remove(image, number_hash(i)) == FILTER_REMOVED,
					   "not removed");
			expect(entries_in(image) == left, "%llu entries left",
				   (unsigned long long) entries_in(image));
			before = image_bytes(image);
			layers = image_layers(image);
			bytes = filter_compact(image);
			expect(bytes == image_bytes(image) && bytes <= before,
				   "grew from %llu", (unsigned long long) before);
			expect_sound("compacted", image);
			expect(entries_in(image) == left &&
				   count_hits(image, 0, left) == left, "lost one");
			expect_answers("compacted", image, 0, 100);

			/*
			 * not twice as many windows as it takes, but for the first
			 * layer's
			 */
			image_get_layer(image, image_layers(image) - 1, &finest);
			expect(image_layers(image) == 1 || image_layers(image) == layers ||
				   left + finest.capacity > 0.9 * growth * finest.capacity / 2,
				   "%llu left in %d layers", (unsigned long long) left,
				   image_layers(image));
			if (left == 0)
				expect(image_layers(image) == 1, "layers of nothing");
			if (left == n)
				expect(bytes == before, "shrank though full");
			/* it is as good as any other */
			moved = copy_image(image);
			release_image(image);
			image = moved;
			add_numbers(&image, ABSENT, 1000);
			expect(count_hits(image, 0, left) == left &&
				   count_hits(image, ABSENT, 1000) == 1000, "lost later");
			expect_sound("grown again", image);
			release_image(image);
		}
	}
	end_test();

	begin_test("a fixed cuckoo filter at its capacity outlives a hundred turnovers");
	{
		/* 8 bits of fingerprint; see docs/reference.md, "What is different" */
		uint8_t    *image = make_cuckoo(10000, 0.01, 0);
		uint64_t	lost = 0;

		add_numbers(&image, 0, 10000);
		for (uint64_t i = 0; i < 1000000; i++)
		{
			uint64_t	hash = number_hash(10000 + i);

			filter_remove(image, number_hash(i));
			expect(filter_add_batch(image, &hash, 1) == 1, "refused %llu",
				   (unsigned long long) i);
		}
		for (uint64_t i = 0; i < 10000; i++)
			lost += !filter_contains(image, number_hash(1000000 + i));
		expect(lost == 0, "lost %llu", (unsigned long long) lost);
		release_image(image);
	}
	end_test();

	begin_test("what is given up in the middle is sound");
	{
		uint8_t    *image = make_cuckoo(100, 0.01, 2);
		jmp_buf		given_up;

		add_numbers(&image, 0, 20000);
		for (uint64_t i = 0; i < 19000; i++)
			filter_remove(image, number_hash(i));
		filter_interrupt_check = give_up_later;
		pauses = 10;
		where_to_go_on = &given_up;
		if (setjmp(given_up) == 0)
		{
			filter_compact(image);
			expect(false, "nobody asked");
		}
		filter_interrupt_check = NULL;
		expect_sound("given up", image);
		expect(count_hits(image, 19000, 1000) == 1000, "lost one");
		filter_compact(image);
		expect(count_hits(image, 19000, 1000) == 1000, "lost one");
		release_image(image);
	}
	end_test();

	begin_test("layers that cannot be emptied are left alone");
	for (int growth = 1; growth <= 3; growth++)
	{
		uint8_t    *image = make_cuckoo(1000, 0.01, growth);
		uint8_t    *before;

		add_numbers(&image, 0, 1500);
		expect(image_layers(image) == 2, "%d layers", image_layers(image));
		for (uint64_t i = 0; i < 200; i++)
			filter_remove(image, number_hash(i));
		before = copy_image(image);
		filter_compact(image);
		expect(same_image(image, before), "moved in vain");
		release_image(before);
		release_image(image);
	}
	end_test();

	begin_test("elements that come and go do not let a cuckoo filter grow");
	for (int growth = 1; growth <= 2; growth++)
	{
		uint8_t    *image = make_cuckoo(1000, 0.01, growth);
		int			layers;

		add_numbers(&image, 0, 2400);
		layers = image_layers(image);
		for (uint64_t i = 0; i < 100000; i++)
		{
			expect(filter_remove(image, number_hash(i)) == FILTER_REMOVED,
				   "%llu was lost", (unsigned long long) i);
			add_one(&image, number_hash(2400 + i));
		}
		expect(image_layers(image) <= layers + 1, "%d layers, then %d", layers,
			   image_layers(image));
		expect(entries_in(image) == 2400 &&
			   count_hits(image, 100000, 2400) == 2400, "lost one");
		release_image(image);
	}
	end_test();
}

/* ------------------------------------------------------------------------
 * Random operations, against a multiset
 * ------------------------------------------------------------------------ */

#define NUMBERS			400

typedef struct Model
{
	uint8_t    *image;
	uint16_t	times[NUMBERS]; /* in, as often as added and not removed */
} Model;

/*
 * Every number that is in is found, and counted at least as often as it and the
 * others of its class, which have entries in common with it, are in.
 */
static void
expect_model(const Model *model, bool all)
{
	for (int x = 0; x < NUMBERS; x++)
	{
		uint64_t	hash = number_hash(x);
		bool		saturated;
		unsigned	count;

		if (!all && random_below(NUMBERS) > 4)
			continue;
		count = naive_count(model->image, hash, &saturated);
		expect(filter_count(model->image, hash) == count, "counted %u, not %u",
			   filter_count(model->image, hash), count);
		expect(saturated || count >= model->times[x], "%d is in %u times, not %d",
			   x, count, model->times[x]);
		expect(filter_contains(model->image, hash) || model->times[x] == 0,
			   "%d is lost", x);
	}
}

/*
 * The same for classes: entries that match x in the finest layer's class sense
 * are at least as many as the elements of that class.
 */
static void
expect_classes(const Model *model)
{
	int			finest = image_layers(model->image) - 1;
	int			x = random_below(NUMBERS);
	NaivePlace	place = naive_place_in(model->image, finest, number_hash(x));
	unsigned	in = 0;
	bool		saturated;

	for (int y = 0; y < NUMBERS; y++)
	{
		NaivePlace	other = naive_place_in(model->image, finest,
										   number_hash(y));

		if (same_class(&place, &other))
			in += model->times[y];
	}
	expect(naive_count(model->image, number_hash(x), &saturated) >= in ||
		   saturated, "class of %d has fewer entries than elements, %u", x, in);
}

static void
test_random(void)
{
	static const struct
	{
		uint64_t	capacity;
		double		error_rate;
		int			growth;
	}			kinds[] = {
		{5, 0.5, 2}, {100, 0.5, 1}, {10, 0.1, 3}, {50, 0.03, 2}, {3, 1e-7, 2},
		{200, 0.5, 0}, {200, 0.01, 0}
	};

	/* a million in all; the sanitizers are slow, and look for something else */
#ifdef __SANITIZE_ADDRESS__
	enum
	{
		OPERATIONS = 30000
	};
#else
	enum
	{
		OPERATIONS = 150000
	};
#endif

	for (int k = 0; k < lengthof(kinds); k++)
	{
		Model		model[2];
		uint64_t	done[8] = {0};

		begin_test("random operations on a cuckoo filter of %llu at %g, growth %d",
				   (unsigned long long) kinds[k].capacity, kinds[k].error_rate,
				   kinds[k].growth);
		for (int m = 0; m < 2; m++)
		{
			memset(&model[m], 0, sizeof(Model));
			model[m].image = make_cuckoo(kinds[k].capacity,
										 kinds[k].error_rate, kinds[k].growth);
		}
		for (int i = 0; i < OPERATIONS; i++)
		{
			Model	   *at = &model[random_below(2)];
			int			x = random_below(NUMBERS);
			uint64_t	hash = number_hash(x);

			/* now more is added, now more is removed */
			bool		filling = i / 1500 % 2 == 0;
			int			dice = random_below(1000);
			uint64_t	entries = entries_in(at->image);
			bool		saturated;
			unsigned	count = naive_count(at->image, hash, &saturated);

			if (dice < (filling ? 550 : 250))
			{
				/* few numbers often, so that some saturate */
				if (random_below(50) == 0)
					x = random_below(5);
				hash = number_hash(x);
				count = naive_count(at->image, hash, &saturated);
				if (kinds[k].growth > 0)
					add_one(&at->image, hash);
				else if (filter_add_batch(at->image, &hash, 1) == 0)
				{
					uint8_t    *copy = copy_image(at->image);

					filter_add_batch(copy, &hash, 1);
					expect(same_image(copy, at->image), "changed in vain");
					release_image(copy);
					done[1]++;
					continue;
				}
				at->times[x]++;
				expect(entries_in(at->image) == entries + !saturated,
					   "%s entry added", saturated ? "an" : "no");
				expect(naive_count(at->image, hash, &saturated) >= count,
					   "fewer than before");
				done[0]++;
			}
			else if (dice < 900)
			{
				FilterRemoval removal;

				if (at->times[x] == 0)
					continue;
				removal = filter_remove(at->image, hash);
				expect(removal == (saturated ? FILTER_SATURATED :
								   FILTER_REMOVED), "%d was lost", x);
				expect(entries_in(at->image) == entries - !saturated,
					   "entries removed");
				at->times[x]--;
				done[2]++;
			}
			else if (dice < 920)
			{
				uint64_t	some[3] = {hash, number_hash(x + NUMBERS), hash};
				bool		was = filter_contains(at->image, some[1]);
				bool		had = count > 0;

				/* only what is then removed again, before anything else is */
				if (had || was || kinds[k].growth == 0 || saturated)
					continue;
				if (filter_add_unique_batch(at->image, some, 3) < 3)
					continue;
				expect(filter_count(at->image, hash) >= 1 &&
					   entries_in(at->image) <= entries + 2, "not unique");
				expect(filter_remove(at->image, some[1]) == FILTER_REMOVED,
					   "unique one lost");
				if (filter_contains(at->image, hash))
					at->times[x] = 1;
				done[3]++;
			}
			else if (dice < 925)
			{
				uint64_t	before = image_bytes(at->image);
				uint8_t    *moved;

				filter_compact(at->image);
				expect(image_bytes(at->image) <= before &&
					   entries_in(at->image) <= entries + 0, "larger");
				moved = copy_image(at->image);
				release_image(at->image);
				at->image = moved;
				expect_sound("compacted", at->image);
				expect_model(at, true);
				done[4]++;
			}
			else if (dice < 927)
			{
				FilterStatus status;
				uint8_t    *united = unite(model[0].image, model[1].image,
										   &status);

				/* else both would grow for ever */
				if (united == NULL || image_bytes(united) > 20000 ||
					image_layers(united) > 12)
				{
					if (united != NULL)
						release_image(united);
					for (int m = 0; m < 2; m++)
					{
						release_image(model[m].image);
						memset(&model[m], 0, sizeof(Model));
						model[m].image = make_cuckoo(kinds[k].capacity,
													 kinds[k].error_rate,
													 kinds[k].growth);
					}
					done[5]++;
					continue;
				}
				release_image(at->image);
				at->image = united;
				for (int y = 0; y < NUMBERS; y++)
					at->times[y] = model[0].times[y] + model[1].times[y];
				expect_model(at, true);
				done[6]++;
			}
			else
			{
				bool		found;

				filter_contains_batch(at->image, &hash, 1, &found);
				expect(found == (count > 0) &&
					   filter_contains(at->image, hash) == found,
					   "another answer");
				done[7]++;
			}
			expect_model(at, i % 500 == 0);
			if (i % 10 == 0)
				expect_classes(at);
			if (i % 500 == 0)
				expect_sound("random operations", at->image);
		}
		for (int m = 0; m < 2; m++)
		{
			expect_model(&model[m], true);
			expect_sound("random operations", model[m].image);
			release_image(model[m].image);
		}
		for (int j = 0; j < lengthof(done); j++)
			expect(done[j] > 0 || (j == 1) == (kinds[k].growth > 0) ||
				   j == 3, "operation %d was never done", j);
		end_test();
	}
}

/* ------------------------------------------------------------------------
 * Bytes from outside
 * ------------------------------------------------------------------------ */

enum
{
	NEW, FIXED_FULL, GROWN, GROWN_WIDE, BESIDE, SAMPLES
};

static uint8_t *samples[SAMPLES];

static void
make_samples(void)
{
	FilterStatus status;
	uint8_t    *b = make_cuckoo(20, 0.03, 2);

	samples[NEW] = make_cuckoo(20, 0.03, 2);
	samples[FIXED_FULL] = make_cuckoo(200, 0.01, 0);
	add_numbers(&samples[FIXED_FULL], 0, 200);
	samples[GROWN] = make_cuckoo(20, 0.03, 2);
	add_numbers(&samples[GROWN], 0, 250);
	samples[GROWN_WIDE] = make_cuckoo(10, 1e-7, 2);
	add_numbers(&samples[GROWN_WIDE], 0, 150);
	add_numbers(&b, 300, 150);
	samples[BESIDE] = unite(samples[GROWN], b, &status);
	release_image(b);
}

/* Fields with values that make them wrong, in every sample that has a layer i */
static void
test_fields(void)
{
	static const struct
	{
		const char *name;
		int			offset;
		int			bytes;		/* of the field: 1 or 8 */
		int64_t		plus;		/* or, if "to", the value */
		bool		to;
	}			wrong[] = {
		{"layout", LAYER_OFF_LAYOUT, 1, LAYOUT_BLOCK512, true},
		{"layout", LAYER_OFF_LAYOUT, 1, LAYOUT_CLASSIC, true},
		{"layout", LAYER_OFF_LAYOUT, 1, 6, true},
		{"fingerprint", LAYER_OFF_HASHES, 1, 4, true},
		{"fingerprint", LAYER_OFF_HASHES, 1, 41, true},
		{"fingerprint", LAYER_OFF_HASHES, 1, 0, true},
		{"fingerprint", LAYER_OFF_HASHES, 1, 255, true},
		{"reserved", LAYER_OFF_RESERVED1, 1, 1, true},
		{"reserved", LAYER_OFF_RESERVED1 + 5, 1, 1, true},
		{"windows", LAYER_OFF_SIZE, 8, 0, true},
		{"windows", LAYER_OFF_SIZE, 8, 1, false},
		{"windows", LAYER_OFF_SIZE, 8, 2, false},
		{"windows", LAYER_OFF_SIZE, 8, INT64_C(1) << 61, false},
		{"windows", LAYER_OFF_SIZE, 8, INT64_C(1) << 32, true},
		{"windows", LAYER_OFF_SIZE, 8, -2, true},
		{"capacity", LAYER_OFF_CAPACITY, 8, 0, true},
		{"capacity", LAYER_OFF_CAPACITY, 8, 1, false},
		{"error rate", LAYER_OFF_ERROR_RATE, 8, 0, true},
		{"error rate", LAYER_OFF_ERROR_RATE, 8, -1, true},	/* NaN */
		{"error rate", LAYER_OFF_ERROR_RATE, 8, INT64_C(0x3FE0000000000000),
		true},					/* a half */
		{"entries", LAYER_OFF_BITS_SET, 8, 1, false},
		{"entries", LAYER_OFF_BITS_SET, 8, -1, false},
		{"most entries", LAYER_OFF_BITS_FULL, 8, 0, true},
		{"most entries", LAYER_OFF_BITS_FULL, 8, 1, false},
		{"most entries", LAYER_OFF_BITS_FULL, 8, -1, true},
		{"offset", LAYER_OFF_OFFSET, 8, 64, false},
		{"offset", LAYER_OFF_OFFSET, 8, -64, false},
		{"multiple", LAYER_OFF_MULTIPLE, 8, 0, true},
		{"multiple", LAYER_OFF_MULTIPLE, 8, 3, true},
		{"multiple", LAYER_OFF_MULTIPLE, 8, 1, false},
		{"multiple", LAYER_OFF_MULTIPLE, 8, INT64_C(1) << 62, true},
		{"multiple", LAYER_OFF_MULTIPLE, 8, -1, true},
	};

	begin_test("wrong fields of a cuckoo filter are refused");
	for (int sample = 0; sample < SAMPLES; sample++)
	{
		expect_sound("a sample", samples[sample]);
		expect(image_check(samples[sample], image_bytes(samples[sample]),
						   FILTER_BLOOM) != NULL, "taken for a bloom filter");
		for (int i = 0; i < image_layers(samples[sample]); i++)
			for (int j = 0; j < lengthof(wrong); j++)
			{
				uint8_t    *image = copy_image(samples[sample]);
				uint8_t    *at = image_layer_at(image, i) + wrong[j].offset;

				if (wrong[j].bytes == 1)
					*at = wrong[j].plus;
				else
					put64(at, (wrong[j].to ? 0 : get64(at)) +
						  (uint64_t) wrong[j].plus);
				expect(image_check(image, image_bytes(image),
								   FILTER_CUCKOO) != NULL,
					   "sample %d, layer %d: %s %lld let through", sample, i,
					   wrong[j].name, (long long) wrong[j].plus);
				release_image(image);
			}
	}
	end_test();

	begin_test("layers do not get coarser");
	for (unsigned hashes = 6; hashes <= 9; hashes++)
	{
		FilterParams params = {
			.capacity = 10, .error_rate = 0.01, .growth = 2,
			.class = SOME_CLASS, .kind = FILTER_CUCKOO
		};
		uint8_t    *image = make_cuckoo(10, 0.01, 2);
		FilterLayer *layer;
		FilterPlan	plan;

		expect(filter_plan_growth(image, &plan) == FILTER_OK, "no plan");
		release_image(image);
		layer = &plan.layer[1];
		layer->hashes = hashes;
		plan.bytes = layer->offset + layer_bytes(layer);
		image = allocate_image(plan.bytes);
		filter_init(image, &params, &plan);
		expect((image_check(image, plan.bytes, FILTER_CUCKOO) == NULL) ==
			   (hashes >= plan.layer[0].hashes), "%u bits after %u", hashes,
			   plan.layer[0].hashes);
		release_image(image);
	}
	for (int swapped = 0; swapped < 2; swapped++)
	{
		FilterParams params = {
			.capacity = 10, .error_rate = 0.01, .growth = 2,
			.class = SOME_CLASS, .kind = FILTER_CUCKOO
		};
		uint8_t    *image = make_cuckoo(10, 0.01, 2);
		FilterLayer layer;
		FilterPlan	plan;

		grow_filter(&image);
		expect(filter_plan_growth(image, &plan) == FILTER_OK, "no plan");
		release_image(image);
		plan.layer[1].hashes = plan.layer[2].hashes;
		if (swapped)
		{
			layer = plan.layer[1];
			plan.layer[1] = plan.layer[2];
			plan.layer[2] = layer;
		}
		plan.bytes = plan.layer[0].offset;
		for (int i = 0; i < 3; i++)
		{
			plan.layer[i].offset = plan.bytes;
			plan.bytes += layer_bytes(&plan.layer[i]);
		}
		image = allocate_image(plan.bytes);
		filter_init(image, &params, &plan);
		expect((image_check(image, plan.bytes, FILTER_CUCKOO) == NULL) ==
			   (swapped == 0), "layers in order: %d", !swapped);
		release_image(image);
	}
	end_test();

	begin_test("numbers of entries that fit each other, and not the slots");
	for (int sample = 0; sample < SAMPLES; sample++)
		for (int i = 0; i < image_layers(samples[sample]); i++)
		{
			FilterLayer layer;
			uint64_t	wrong[4];

			image_get_layer(samples[sample], i, &layer);
			wrong[0] = 0;
			wrong[1] = layer.size + 2;
			wrong[2] = UINT64_MAX;
			wrong[3] = layer.bits_set > 0 ? layer.bits_set - 1 : 0;
			for (int j = 0; j < lengthof(wrong); j++)
			{
				uint8_t    *image = copy_image(samples[sample]);
				uint8_t    *at = image_layer_at(image, i);

				put64(at + LAYER_OFF_CAPACITY, wrong[j]);
				put64(at + LAYER_OFF_BITS_FULL, wrong[j]);
				expect(image_check(image, image_bytes(image),
								   FILTER_CUCKOO) != NULL,
					   "%llu let through", (unsigned long long) wrong[j]);
				release_image(image);
			}
		}
	end_test();

	begin_test("layers that another filter may have are refused");
	{
		uint8_t    *image = make_cuckoo(10, 0.01, 1);
		uint8_t    *other = make_filter(10, 0.01, 1);
		FilterLayer layer;
		FilterLayer of_other;

		grow_filter(&image);
		grow_filter(&other);
		expect_sound("grown", image);
		image[IMAGE_OFF_GROWTH] = 0;
		expect(image_check(image, image_bytes(image), FILTER_CUCKOO) != NULL,
			   "two layers of a fixed filter");
		image[IMAGE_OFF_GROWTH] = 1;
		/* as many bytes, and sound where it is from */
		image_get_layer(image, 1, &layer);
		image_get_layer(other, 1, &of_other);
		of_other.offset = layer.offset;
		of_other.size = layer_bytes(&layer) / BLOCK_BYTES;
		image_put_layer(image, 1, &of_other);
		expect(image_check(image, image_bytes(image), FILTER_CUCKOO) != NULL,
			   "a bloom filter's layer");
		image_get_layer(other, 1, &of_other);
		layer.hashes = CUCKOO_MAX_FINGERPRINT;
		layer.size = 2;
		layer.capacity = 1;
		layer.bits_full = 1;
		layer.offset = of_other.offset;
		image_put_layer(other, 0, &of_other);
		image_put_layer(other, 1, &layer);
		put64(image_layer_at(other, 0) + LAYER_OFF_OFFSET,
			  filter_header_bytes(other));
		for (uint64_t size = 2; size < 100; size += 2)
		{
			put64(image_layer_at(other, 1) + LAYER_OFF_SIZE, size);
			expect(image_check(other, image_bytes(other), FILTER_BLOOM) != NULL,
				   "a cuckoo filter's layer");
		}
		release_image(image);
		release_image(other);
	}
	end_test();

	begin_test("so many windows that their bits are few again");
	{
		uint8_t    *image = make_cuckoo(1, 0.01, 0);
		uint8_t    *at = image_layer_at(image, 0);

		/* a slot of 8 bits: 2^61 windows more have 2^64 bits */
		expect(at[LAYER_OFF_HASHES] == 7, "fingerprint of %u bits",
			   at[LAYER_OFF_HASHES]);
		put64(at + LAYER_OFF_SIZE, get64(at + LAYER_OFF_SIZE) +
			  (UINT64_C(1) << 61));
		expect(image_check(image, image_bytes(image), FILTER_CUCKOO) != NULL,
			   "let through");
		release_image(image);
	}
	end_test();

	begin_test("slots that hold what cannot be are refused");
	for (int sample = 0; sample < SAMPLES; sample++)
		for (int i = 0; i < image_layers(samples[sample]); i++)
		{
			FilterLayer layer;
			unsigned	width;

			image_get_layer(samples[sample], i, &layer);
			width = layer.hashes + 1;
			for (int what = 0; what < 5; what++)
			{
				uint8_t    *image = copy_image(samples[sample]);
				uint64_t	slot;
				uint64_t	old;
				uint64_t	value;
				uint64_t	used;

				/* in the place of an entry, or as one more */
				slot = what == 1 ? 0 : what == 2 ? layer.size :
					random_below(layer.size);
				old = naive_slot(image, &layer, slot);
				value = what == 0 ? 1 : /* fingerprint 0, offset 1 */
					what == 1 ? UINT64_C(3) << (width - 2) :
					what == 2 ? UINT64_C(2) << (width - 2) :
					UINT64_C(1) << (width - 1);
				if (what == 1)
					value |= 1;
				if (what == 3)
				{
					/* a prefix that no fingerprint of the first layer is */
					FilterLayer first;

					image_get_layer(image, 0, &first);
					if (first.hashes == layer.hashes)
					{
						release_image(image);
						continue;
					}
					value = 2;
				}
				for (unsigned bit = 0; bit < width; bit++)
				{
					uint64_t	at = slot * width + bit;
					uint8_t    *byte = image + layer.offset + at / 8;

					*byte &= ~(1 << (at % 8));
					*byte |= ((value >> bit) & 1) << (at % 8);
				}
				used = layer.bits_set + (old == 0);
				if (used > layer.bits_full)
				{
					release_image(image);
					continue;
				}
				put64(image_layer_at(image, i) + LAYER_OFF_BITS_SET, used);
				/* the last one is sound, or the others would prove nothing */
				expect((image_check(image, image_bytes(image),
									FILTER_CUCKOO) == NULL) == (what == 4),
					   "sample %d, layer %d: slot of kind %d", sample, i, what);
				release_image(image);
			}
			/* behind the last slot */
			for (uint64_t at = (layer.size + 1) * width;
				 at < 8 * layer_bytes(&layer); at++)
			{
				uint8_t    *image = copy_image(samples[sample]);

				image[layer.offset + at / 8] |= 1 << (at % 8);
				expect(image_check(image, image_bytes(image),
								   FILTER_CUCKOO) != NULL,
					   "a bit behind the last slot");
				release_image(image);
			}
		}
	end_test();
}

/* Make the sums right again that almost any damage spoils. */
static void
repair(uint8_t *image)
{
	if (filter_header_bytes(image) > image_bytes(image))
		return;
	for (int i = 0; i < image_layers(image); i++)
	{
		FilterLayer layer;
		uint64_t	entries = 0;

		image_get_layer(image, i, &layer);
		if (layer.layout != LAYOUT_CUCKOO || layer.size > 100000 ||
			layer.hashes > CUCKOO_MAX_FINGERPRINT ||
			layer.offset > image_bytes(image) ||
			layer_bytes(&layer) > image_bytes(image) - layer.offset)
			return;
		for (uint64_t slot = 0; slot <= layer.size; slot++)
			entries += naive_slot(image, &layer, slot) != 0;
		put64(image_layer_at(image, i) + LAYER_OFF_BITS_SET, entries);
	}
}

/* Do everything with an image that was let through. */
static void
exercise(const uint8_t *image, const uint8_t *partner)
{
	uint8_t    *copy = copy_image(image);
	uint64_t	hashes[60];
	bool		found[60];
	FilterStatus status;
	size_t		added;
	FilterPlan	plan;
	double		rate = filter_estimated_error_rate(image);
	uint64_t	bits;
	uint64_t	bits_set;

	for (int i = 0; i < lengthof(hashes); i++)
		hashes[i] = number_hash(i);
	hashes[0] = 0;
	hashes[1] = UINT64_MAX;
	filter_contains_batch(image, hashes, lengthof(hashes), found);
	for (int i = 0; i < lengthof(hashes); i++)
		expect(filter_contains(image, hashes[i]) == found[i] &&
			   (filter_count(image, hashes[i]) > 0) == found[i],
			   "a batch differs");
	filter_bits(image, &bits, &bits_set);
	expect(bits_set <= bits, "more bits set than there are");
	expect(rate >= 0 && rate <= 1, "error rate %g", rate);
	added = filter_add_batch(copy, hashes, lengthof(hashes));
	filter_contains_batch(copy, hashes, added, found);
	for (size_t i = 0; i < added; i++)
		expect(found[i], "lost at once");
	put64(copy + IMAGE_OFF_CLASS, SOME_CLASS);
	expect_sound("adding", copy);
	if (filter_plan_growth(copy, &plan) == FILTER_OK && plan.bytes < 1 << 20)
	{
		uint8_t    *larger = allocate_image(plan.bytes);

		filter_grow(larger, copy, &plan);
		expect_sound("growth", larger);
		filter_add_batch(larger, hashes, lengthof(hashes));
		for (int i = 0; i < lengthof(hashes); i += 2)
			filter_remove(larger, hashes[i]);
		expect_sound("changes once grown", larger);
		filter_compact(larger);
		expect_sound("compaction once grown", larger);
		release_image(larger);
	}
	for (int i = 0; i < lengthof(hashes); i++)
		filter_remove(copy, hashes[i]);
	expect_sound("removing", copy);
	filter_compact(copy);
	expect_sound("compaction", copy);
	release_image(copy);
	if (filter_difference(image, partner) == FILTERS_COMPATIBLE)
	{
		uint8_t    *united = unite(image, partner, &status);

		if (united != NULL)
			release_image(united);
	}
}

#define MUTATIONS		60000

static void
test_mutations(void)
{
	uint64_t	let_through = 0;

	begin_test("whatever cuckoo filter is let through is safe to use");
	for (int i = 0; i < MUTATIONS; i++)
	{
		const uint8_t *original = samples[random_below(SAMPLES)];
		uint8_t    *image = copy_image(original);
		uint64_t	bytes = image_bytes(image);
		int			layers = image_layers(image);

		for (int damage = random_below(3); damage >= 0; damage--)
		{
			uint8_t    *at = image_layer_at(image, random_below(layers));
			uint64_t	slots = filter_header_bytes(original);

			switch (random_below(6))
			{
				case 0:
					image[random_below(bytes)] ^= 1 << random_below(8);
					break;
				case 1:
					image[slots + random_below(bytes - slots)] = random64();
					break;
				case 2:
					/* a run of bytes, so that classes fill up */
					for (int j = random_below(40); j > 0; j--)
						image[slots + random_below(bytes - slots)] =
							random_below(2) ? 0x55 : 0;
					break;
				case 3:
					at += LAYER_OFF_SIZE + 8 * random_below(7);
					put64(at, random_below(2) ? random_below(300) :
						  UINT64_C(1) << random_below(64));
					break;
				case 4:
					at[random_below(2)] = random_below(45);
					break;
				case 5:
					image[IMAGE_OFF_GROWTH + random_below(2)] = random_below(6);
					break;
			}
		}
		if (random_below(8) != 0 && image_bytes(image) == bytes)
			repair(image);
		if (image_check(image, bytes, FILTER_CUCKOO) == NULL)
		{
			let_through++;
			exercise(image, original);
		}
		release_image(image);
	}
	expect(let_through > MUTATIONS / 20, "only %llu images let through",
		   (unsigned long long) let_through);
	end_test();
}

void
test_cuckoo(void)
{
	test_places();
	test_answers();
	test_builds();
	test_error_rates();
	test_sizes();
	test_saturation();
	test_trap();
	test_unions();
	test_differences();
	test_compact();
	test_random();
	make_samples();
	test_fields();
	test_mutations();
	for (int i = 0; i < SAMPLES; i++)
		release_image(samples[i]);
}
