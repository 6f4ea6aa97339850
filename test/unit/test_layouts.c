/*
 * test_layouts.c
 *	  Every layout against a naive model of a set: an array that says of each
 *	  number whether it was added.
 */
#include "unit.h"

/* A filter to be made: with m, a classic one; else for capacity and rate */
typedef struct Kind
{
	const char *name;
	uint64_t	capacity;
	double		error_rate;
	int			growth;
	uint64_t	m;
	unsigned	k;
	uint64_t	elements;		/* to be added */
	int			layers;			/* at least, then */
} Kind;

static const Kind kinds[] = {
	{"block512", 5000, 0.01, 0, 0, 0, 5000, 1},
	{"block512x2", 5000, 1e-5, 0, 0, 0, 5000, 1},
	{"growing block512", 5000, 0.03, 2, 0, 0, 5000, 1},
	{"grown block512", 3200, 0.1, 2, 0, 0, 20000, 5},
	{"grown block512x2", 3200, 1e-5, 4, 0, 0, 20000, 3},
	{"grown from block512 to block512x2", 3200, 0.001, 2, 0, 0, 10000, 3},
	{"small", 1000, 0.01, 0, 0, 0, 1000, 1},
	{"small of ten elements", 10, 0.01, 0, 0, 0, 10, 1},
	{"small of one element", 1, 0.01, 0, 0, 0, 1, 1},
	{"small at the lowest rate", 1500, 1e-7, 0, 0, 0, 1500, 1},
	{"growing small", 1000, 0.001, 2, 0, 0, 1000, 1},
	{"grown from small to blocks", 100, 0.01, 2, 0, 0, 20000, 9},
	{"grown in small steps", 50, 0.1, 1, 0, 0, 1500, 8},
	{"grown from one element", 1, 0.1, 2, 0, 0, 3000, 4},
	{"classic", 0, 0, 0, 100003, 7, 10000, 1},
	{"classic of a few bits", 0, 0, 0, 77, 3, 15, 1},
	{"classic of two bits", 0, 0, 0, 2, 2, 1, 1},
	{"classic of 64 hashes", 0, 0, 0, 65536, 64, 500, 1}
};

/* Numbers that are added or not; of them the kind's elements are taken. */
#define UNIVERSE		65536

static uint8_t *
make_kind(const Kind *kind)
{
	if (kind->m != 0)
		return make_classic(kind->m, kind->k);
	return make_filter(kind->capacity, kind->error_rate, kind->growth);
}

/* Set bits, one by one */
static uint64_t
set_bits(const uint8_t *bits, uint64_t count)
{
	uint64_t	set = 0;

	for (uint64_t bit = 0; bit < count; bit++)
		set += (bits[bit / 8] >> (bit % 8)) & 1;
	return set;
}

/* Expect a sound filter whose layers have the bits that they count. */
static void
expect_sound_layers(const uint8_t *image)
{
	expect_sound("a filter", image);
	for (int i = 0; i < image_layers(image); i++)
	{
		FilterLayer layer = image_get_layer(image, i);
		uint64_t	set;

		set = set_bits(image_layer_bits(image, i), 8 * image_layer_bytes(image, i));
		expect(layer.bits_set == set, "layer %d: %llu bits set, not %llu", i,
			   (unsigned long long) set, (unsigned long long) layer.bits_set);
	}
}

/* Where fetch_slice() finds a filter, and how often it was called */
typedef struct Slices
{
	const uint8_t *image;
	uint8_t    *slice;			/* the last one, in memory of its length */
	unsigned	count;
} Slices;

/* A slice of an image for filter_contains_sliced(), and no other byte */
static const uint8_t *
fetch_slice(void *from, uint64_t offset, uint32_t bytes)
{
	Slices	   *slices = from;

	free(slices->slice);
	slices->slice = malloc(bytes);
	if (slices->slice == NULL)
		give_up("out of memory");
	expect(offset + bytes <= image_bytes(slices->image),
		   "fetched from behind the image");
	slices->count++;
	return memcpy(slices->slice, slices->image + offset, bytes);
}

/* Probe with only the header at hand: the same answers. */
static void
expect_parts(const uint8_t *image)
{
	uint64_t	header_bytes = filter_header_bytes(image);
	uint8_t    *header = allocate_image(header_bytes);
	Slices		slices = {image, NULL, 0};

	memcpy(header, image, header_bytes);
	for (uint64_t i = 0; i < UNIVERSE; i += 7)
	{
		uint64_t	hash = number_hash(i);

		slices.count = 0;
		expect(filter_contains_sliced(header, hash, fetch_slice, &slices) ==
			   filter_contains(image, hash), "%llu differs by slices",
			   (unsigned long long) i);
		expect(slices.count <= filter_slices(header), "%u slices, not %u",
			   slices.count, filter_slices(header));
	}
	free(slices.slice);
	release_image(header);
}

/*
 * Look up each number, one by one, by slices, and in batches of several
 * sizes.
 */
static void
expect_model(const uint8_t *image, const bool *present)
{
	static const size_t batches[] = {1, 2, 15, 16, 17, 64, 1000};
	static uint64_t hashes[UNIVERSE];
	static bool found[UNIVERSE];
	double		rate = filter_estimated_error_rate(image);
	uint64_t	hits = 0;
	uint64_t	absent = 0;
	uint64_t	done = 0;

	for (uint64_t i = 0; i < UNIVERSE; i++)
	{
		bool		in;

		hashes[i] = number_hash(i);
		in = filter_contains(image, hashes[i]);
		expect(in || !present[i], "a false negative: %llu",
			   (unsigned long long) i);
		hits += in && !present[i];
		absent += !present[i];
	}

	/*
	 * A filter of few blocks may be much less even than the estimate takes it
	 * to be; test_error_rate.c has the mean of many.
	 */
	expect(hits <= most_hits(absent, rate * 3),
		   "%llu false positives of %llu at a rate of %g",
		   (unsigned long long) hits, (unsigned long long) absent, rate);

	if (image_layers(image) > 0)
		expect_parts(image);
	for (int i = 0; done < UNIVERSE; i++)
	{
		size_t		count = batches[i % lengthof(batches)];

		if (count > UNIVERSE - done)
			count = UNIVERSE - done;
		filter_contains_batch(image, hashes + done, count, found + done);
		done += count;
	}
	for (uint64_t i = 0; i < UNIVERSE; i++)
		expect(found[i] == filter_contains(image, hashes[i]),
			   "%llu differs in a batch", (unsigned long long) i);
}

/* Add all elements, some of them again, and probe now and then. */
static void
test_model(const Kind *kind)
{
	static bool present[UNIVERSE];
	uint8_t    *image = make_kind(kind);
	uint64_t	added = 0;

	begin_test("%s: no false negative, and no more hits than chance's",
			   kind->name);
	memset(present, false, sizeof(present));
	expect_model(image, present);
	for (int part = 1; part <= 4; part++)
	{
		while (added < kind->elements * part / 4)
		{
			uint64_t	hashes[100];
			int			count = 1 + random_below(lengthof(hashes));

			for (int i = 0; i < count; i++)
			{
				uint64_t	number = random_below(UNIVERSE);

				hashes[i] = number_hash(number);
				if (added == kind->elements && !present[number])
				{
					count = i;
					break;
				}
				added += !present[number];
				present[number] = true;
			}
			add_hashes(&image, hashes, count);
		}
		expect_sound_layers(image);
		expect_model(image, present);
	}
	expect(image_layers(image) >= kind->layers, "%d layers only",
		   image_layers(image));
	end_test();
	release_image(image);
}

/* The same set gives the same bytes, as long as the filter has one layer */
static void
test_order(void)
{
	begin_test("the same set gives the same bytes in any order");
	for (int i = 0; i < lengthof(kinds); i++)
	{
		static uint64_t hashes[10000];
		static uint64_t mixed[2 * 10000];
		uint64_t	count = kinds[i].elements;
		uint8_t    *first;

		if (kinds[i].layers > 1)
			continue;
		for (uint64_t j = 0; j < count; j++)
			hashes[j] = random64();
		first = make_kind(&kinds[i]);
		add_hashes(&first, hashes, count);
		for (int round = 0; round <= 10; round++)
		{
			uint8_t    *other = make_kind(&kinds[i]);
			uint64_t	all = count + count * round / 10;
			uint64_t	done = 0;

			/* some of them twice, in pieces of any length */
			for (uint64_t j = 0; j < all; j++)
				mixed[j] = hashes[j < count ? j : random_below(count)];
			shuffle(mixed, all);
			while (done < all)
			{
				uint64_t	step = 1 + random_below(all - done);

				add_hashes(&other, mixed + done, step);
				done += step;
			}
			expect(image_bytes(other) == image_bytes(first) &&
				   memcmp(other, first, image_bytes(first)) == 0,
				   "%s: other bytes", kinds[i].name);
			release_image(other);
		}
		release_image(first);
	}
	end_test();
}

/* Add to a filter until it is full; check what filter_add_batch() returns. */
static void
try_full(const Kind *kind)
{
	uint8_t    *image = make_kind(kind);
	uint8_t    *full;
	uint64_t	hashes[BATCH];
	bool		found[BATCH];
	uint64_t	before = 0;
	size_t		done;
	FilterPlan	plan;
	FilterLayer last;

	do
	{
		for (int i = 0; i < BATCH; i++)
			hashes[i] = number_hash(before + i);
		done = filter_add_batch(image, hashes, BATCH);
		before += done;
	} while (done == BATCH);
	expect(before >= kind->capacity, "%s: full after %llu", kind->name,
		   (unsigned long long) before);
	expect(!filter_contains(image, hashes[done]),
		   "%s: stopped at an element that is in", kind->name);
	expect(count_hits(image, 0, before) == before, "%s: elements lost",
		   kind->name);
	expect_sound_layers(image);

	/* from now on nothing is changed, and elements already in do not count */
	full = copy_image(image);
	expect(filter_add_batch(image, hashes + done, 1) == 0,
		   "%s: added one more", kind->name);
	filter_contains_batch(image, hashes, BATCH, found);
	expect(filter_add_batch(image, hashes, done) == done,
		   "%s: stopped at its own elements", kind->name);
	for (int i = 0; i < BATCH; i++)
		expect(filter_add_batch(image, hashes + i, 1) == found[i],
			   "%s: adding %d differs from probing", kind->name, i);
	expect(filter_add_batch(image, hashes, 0) == 0, "%s: none", kind->name);
	expect(memcmp(full, image, image_bytes(full)) == 0,
		   "%s: changed though full", kind->name);

	if (kind->growth == 0)
		expect(filter_plan_growth(image, 0, &plan) == FILTER_FIXED,
			   "%s: a fixed filter may grow", kind->name);
	else
	{
		grow_filter(&image);
		expect_sound_layers(image);
		expect(count_hits(image, 0, before) == before,
			   "%s: elements lost in growth", kind->name);
		expect(filter_add_batch(image, hashes, done) == done &&
			   image_bytes(image) > image_bytes(full), "%s: not grown",
			   kind->name);
		last = image_get_layer(image, image_layers(image) - 1);
		expect(last.bits_set == 0,
			   "%s: elements of an earlier layer added again", kind->name);
		expect(filter_add_batch(image, hashes + done, 1) == 1 &&
			   filter_contains(image, hashes[done]),
			   "%s: nothing added to a new layer", kind->name);
	}
	release_image(full);
	release_image(image);
}

static void
test_full(void)
{
	begin_test("a full filter stops, loses nothing, and changes no more");
	for (int i = 0; i < lengthof(kinds); i++)
		if (kinds[i].m == 0)
			try_full(&kinds[i]);
	end_test();
}

static void
test_empty(void)
{
	FilterParams none = {0};
	uint8_t    *image = allocate_image(IMAGE_HEADER_BYTES);
	uint8_t    *hashes = make_explicit(NULL, 0);

	begin_test("filters without elements contain nothing");
	image_put_header(image, LAYOUT_EMPTY, &none);
	expect_sound_layers(image);
	expect_sound_layers(hashes);
	for (int i = 0; i < 1000; i++)
	{
		uint64_t	hash = random64();
		bool		found[2] = {true, true};

		expect(!filter_contains(image, hash), "in an empty filter");
		expect(!filter_contains(hashes, hash), "in an explicit one");
		filter_contains_batch(image, &hash, 1, found);
		filter_contains_batch(hashes, &hash, 1, found + 1);
		expect(!found[0] && !found[1], "in a batch");
	}
	expect(filter_cardinality(image) == 0 &&
		   filter_estimated_error_rate(image) == 0, "estimates");
	for (int i = 0; i < lengthof(kinds); i++)
	{
		uint8_t    *fresh = make_kind(&kinds[i]);

		expect_sound_layers(fresh);
		expect(count_hits(fresh, 0, 1000) == 0, "%s: something in",
			   kinds[i].name);
		expect(filter_cardinality(fresh) == 0, "%s: %g elements",
			   kinds[i].name, filter_cardinality(fresh));
		expect(filter_estimated_error_rate(fresh) == 0, "%s: error rate %g",
			   kinds[i].name, filter_estimated_error_rate(fresh));
		release_image(fresh);
	}
	end_test();
	release_image(hashes);
	release_image(image);
}

/* An explicit filter in any state, its elements never lost */
static void
test_explicit(void)
{
	static bool present[UNIVERSE];
	static uint64_t hashes[20000];
	uint8_t    *image;
	uint64_t	distinct = 0;

	begin_test("explicit: exactly the elements, sorted or not");
	memset(present, false, sizeof(present));
	for (int i = 0; i < lengthof(hashes); i++)
	{
		uint64_t	number = random_below(UNIVERSE);

		distinct += !present[number];
		present[number] = true;
		hashes[i] = number_hash(number);
	}
	image = make_explicit(hashes, lengthof(hashes));
	expect_sound_layers(image);
	expect(image_count(image) == distinct, "%llu distinct elements, not %llu",
		   (unsigned long long) image_count(image),
		   (unsigned long long) distinct);
	expect(filter_cardinality(image) == distinct, "cardinality %g",
		   filter_cardinality(image));
	expect(filter_estimated_error_rate(image) == 0, "error rate %g",
		   filter_estimated_error_rate(image));
	expect_model(image, present);	/* with no error rate, no hits either */
	for (uint64_t i = 0; i < UNIVERSE; i++)
		expect(filter_contains(image, number_hash(i)) == present[i],
			   "%llu: wrong", (unsigned long long) i);
	release_image(image);

	image = make_explicit(hashes, 300);
	distinct = image_count(image);
	for (uint64_t i = 0; i < distinct; i++)
		put64(image_hashes(image) + 8 * (distinct - 1 - i), hashes[i]);
	image[IMAGE_OFF_FLAGS] = IMAGE_FLAG_UNSORTED;
	for (uint64_t i = 0; i < distinct; i++)
		expect(filter_contains(image, hashes[i]), "not in an unsorted one");
	expect(count_hits(image, ABSENT, 1000) == 0, "absent in an unsorted one");
	release_image(image);
	end_test();
}

void
test_layouts(void)
{
	for (int i = 0; i < lengthof(kinds); i++)
		test_model(&kinds[i]);
	test_explicit();
	test_empty();
	test_order();
	test_full();
}
