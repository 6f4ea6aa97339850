/*
 * test_counting.c
 *	  Counting filters against a model that knows how often each element was added,
 *	  and planes of counters against an array of numbers.
 */
#include "unit.h"


typedef struct Kind
{
	const char *name;
	uint64_t	capacity;
	double		error_rate;
	int			growth;
	uint64_t	elements;		/* that are in at one time */
	int			layers;			/* at least, then */
} Kind;

static const Kind kinds[] = {
	{"of one block", 10, 0.1, 0, 10, 1},
	{"fixed", 5000, 0.01, 0, 5000, 1},
	{"of two blocks an element", 5000, 1e-5, 0, 5000, 1},
	{"grown", 500, 0.1, 2, 20000, 9},
	{"grown from one block an element to two", 2000, 0.001, 4, 20000, 4}
};

/* Numbers of which the elements are */
#define UNIVERSE	65536

/* A counter of layer i, that of bit number "bit" */
static unsigned
counter_of(const uint8_t *image, int i, uint64_t bit)
{
	const uint8_t *bits = image_layer_bits(image, i);
	FilterLayer layer = image_get_layer(image, i);
	const uint8_t *higher;
	unsigned	above_one = 0;

	if (((bits[bit / 8] >> (bit % 8)) & 1) == 0)
		return 0;
	higher = bits + BLOCK_BYTES * layer.size +
		(bit / BLOCK_BITS) * (COUNTING_PLANES - 1) * BLOCK_BYTES;
	bit %= BLOCK_BITS;
	for (int plane = 0; plane < COUNTING_PLANES - 1; plane++)
		above_one += ((higher[BLOCK_BYTES * plane + bit / 8] >> (bit % 8)) & 1u)
			<< plane;
	return 1 + above_one;
}

/* Which bits of a plain filter of the same shape one element sets */
static uint8_t *
bits_of(const uint8_t *image, uint64_t hash)
{
	FilterPlan	plan;
	uint8_t    *plain;

	if (filter_plan_plain(image, &plan) != FILTER_OK)
		give_up("cannot plan a filter without counters");
	plain = allocate_image(plan.bytes);
	filter_copy(plain, image, &plan);
	memset(image_layer_bits(plain, 0), 0, image_layer_bytes(plain, 0));
	image_put_bits_set(plain, 0, 0);
	if (filter_add_batch(plain, &hash, 1) != 1)
		give_up("no room for one element");
	return plain;
}

/* Change the model's counters by one element, as the filter's are. */
static void
model_change(unsigned *counters, const uint8_t *plain, uint64_t bits, bool add)
{
	const uint8_t *set = image_layer_bits(plain, 0);

	for (uint64_t bit = 0; bit < bits; bit++)
	{
		if (((set[bit / 8] >> (bit % 8)) & 1) == 0 ||
			counters[bit] == COUNTING_MOST)
			continue;
		if (add)
			counters[bit]++;
		else if (counters[bit] > 0)
			counters[bit]--;
	}
}

static void
expect_counters(const char *what, const uint8_t *image, const unsigned *counters,
				uint64_t bits)
{
	for (uint64_t bit = 0; bit < bits; bit++)
		expect(counter_of(image, 0, bit) == counters[bit],
			   "%s: counter %llu is %u, not %u", what, (unsigned long long) bit,
			   counter_of(image, 0, bit), counters[bit]);
}

/* Few elements, added and removed often, and past the limit of a counter */
static void
test_counters(double error_rate)
{
	uint8_t    *image = make_counting(30, error_rate, 0);
	uint64_t	bits = 8 * image_layer_bytes(image, 0) / COUNTING_PLANES;
	unsigned   *counters = calloc(bits, sizeof(*counters));
	unsigned	times[30] = {0};

	if (counters == NULL)
		give_up("out of memory");
	begin_test("counters count, stop at %d and stay there, at an error rate of %g",
			   COUNTING_MOST, error_rate);
	for (int step = 0; step < 2000; step++)
	{
		unsigned	number = random_below(lengthof(times));
		uint64_t	hash = number_hash(number);
		uint8_t    *plain = bits_of(image, hash);

		/* more and more, then fewer and fewer */
		bool		add = random_below(2000) > (uint64_t) step;

		if (add || times[number] > 0)
		{
			unsigned	least = COUNTING_MOST;

			model_change(counters, plain, bits, add);
			for (uint64_t bit = 0; bit < bits; bit++)
				if (((image_layer_bits(plain, 0)[bit / 8] >> (bit % 8)) & 1) != 0 &&
					counters[bit] < least)
					least = counters[bit];
			if (add)
				expect(filter_add_batch(image, &hash, 1) == 1, "no room");
			else
				expect(filter_remove(image, hash) != FILTER_ABSENT, "absent");
			times[number] += add ? 1 : -1;
			expect(filter_count(image, hash) == least, "counted %u, not %u",
				   filter_count(image, hash), least);
			expect(least == COUNTING_MOST || least >= times[number],
				   "%u times, but counted %u", times[number], least);
		}
		release_image(plain);
		if (step % 100 == 0)
		{
			expect_sound("a counting filter", image);
			expect_counters("changed", image, counters, bits);
		}
	}
	end_test();
	free(counters);
	release_image(image);
}

/*
 * Elements come and go, several times each.  None is lost while it is in; and once
 * all have gone, no counter is left above zero but full ones, for each was counted
 * down where it was counted up.  In a filter that has grown to many times its
 * capacity, false positives fill the counters of the first layers: what stays
 * there is no more than the error rate allows.
 */
static void
test_churn(const Kind *kind)
{
	static unsigned char times[UNIVERSE];
	uint8_t    *image = make_counting(kind->capacity, kind->error_rate,
									  kind->growth);
	uint64_t	in = 0;
	uint64_t	stuck;

	begin_test("%s: none is lost, and all leave", kind->name);
	memset(times, 0, sizeof(times));
	for (uint64_t step = 0; step < 6 * kind->elements; step++)
	{
		uint64_t	number = random_below(UNIVERSE);
		uint64_t	hash;

		/* once full, as many go as come */
		if (in >= kind->elements)
			while (times[number] == 0)
				number = (number + 1) % UNIVERSE;
		hash = number_hash(number);
		if (in >= kind->elements || (times[number] > 0 && random64() % 2 == 0))
		{
			expect(filter_remove(image, hash) != FILTER_ABSENT,
				   "%llu is not in", (unsigned long long) number);
			in -= --times[number] == 0;
		}
		else if (times[number] < 3)
		{
			add_hashes(&image, &hash, 1);
			in += times[number]++ == 0;
		}
	}
	expect_sound("a counting filter", image);
	expect(image_layers(image) >= kind->layers, "%d layers only",
		   image_layers(image));
	for (uint64_t i = 0; i < UNIVERSE; i++)
	{
		uint64_t	hash = number_hash(i);

		expect(times[i] == 0 || filter_contains(image, hash),
			   "a false negative: %llu", (unsigned long long) i);
		expect(filter_count(image, hash) >= times[i], "%llu counted less often",
			   (unsigned long long) i);
		expect((filter_count(image, hash) > 0) == filter_contains(image, hash),
			   "%llu differs by counting", (unsigned long long) i);
	}
	for (uint64_t i = 0; i < UNIVERSE; i++)
		while (times[i]-- > 0)
			expect(filter_remove(image, number_hash(i)) != FILTER_ABSENT,
				   "%llu is not in at the end", (unsigned long long) i);
	expect_sound("an emptied filter", image);
	stuck = count_hits(image, 0, UNIVERSE);
	expect(stuck <= most_hits(UNIVERSE, kind->growth > 0 ? kind->error_rate : 0),
		   "%llu elements stay", (unsigned long long) stuck);
	for (int i = 0; i < image_layers(image); i++)
		for (uint64_t bit = 0;
			 bit < 8 * image_layer_bytes(image, i) / COUNTING_PLANES; bit++)
		{
			unsigned	counter = counter_of(image, i, bit);

			expect(counter == 0 || counter == COUNTING_MOST,
				   "layer %d, counter %llu: %u left", i,
				   (unsigned long long) bit, counter);
		}
	end_test();
	release_image(image);
}

/* Without its counters, it is the filter that never had any. */
static void
test_plain(void)
{
	begin_test("a counting filter has the bits of a plain one");
	for (int i = 0; i < lengthof(kinds); i++)
	{
		uint8_t    *counting;
		uint8_t    *same;
		uint8_t    *plain;
		FilterPlan	plan;

		/* smaller ones are of another layout */
		if (kinds[i].capacity <= SMALL_CAPACITY_MAX)
			continue;
		counting = make_counting(kinds[i].capacity, kinds[i].error_rate,
								 kinds[i].growth);
		plain = make_filter(kinds[i].capacity, kinds[i].error_rate,
							kinds[i].growth);
		add_numbers(&counting, 0, kinds[i].capacity);
		add_numbers(&plain, 0, kinds[i].capacity);
		if (filter_plan_plain(counting, &plan) != FILTER_OK)
			give_up("cannot plan a filter without counters");
		same = allocate_image(plan.bytes);
		filter_copy(same, counting, &plan);
		expect(image_bytes(same) == image_bytes(plain) &&
			   memcmp(same, plain, image_bytes(plain)) == 0,
			   "%s: other bytes", kinds[i].name);
		expect(count_hits(counting, 0, UNIVERSE) == count_hits(plain, 0, UNIVERSE),
			   "%s: other answers", kinds[i].name);
		release_image(counting);
		release_image(plain);
		release_image(same);
	}
	end_test();
}

/* Counters of both, of the sum, and of the least */
static void
test_two(double error_rate)
{
	uint8_t    *a = make_counting(2000, error_rate, 2);
	uint8_t    *b = make_counting(2000, error_rate, 2);
	uint8_t    *sum;
	uint8_t    *least;
	FilterPlan	plan;
	uint64_t	bits = 8 * image_layer_bytes(a, 0) / COUNTING_PLANES;

	begin_test("a union adds counters, an intersection has the least, at %g",
			   error_rate);
	for (int i = 0; i < 5; i++)
	{
		add_numbers(&a, 200 * i, 500);
		add_numbers(&b, 300 * i, 300);
	}
	expect(filter_plan_union(a, b, false, &plan) == FILTER_OK, "refused");
	sum = allocate_image(plan.bytes);
	filter_unite(sum, a, b, &plan);
	least = copy_image(a);
	filter_intersect_in_place(least, b);
	expect_sound("a union", sum);
	expect_sound("an intersection", least);
	for (uint64_t bit = 0; bit < bits; bit++)
	{
		unsigned	of_a = counter_of(a, 0, bit);
		unsigned	of_b = counter_of(b, 0, bit);
		unsigned	both = of_a + of_b;

		if (both > COUNTING_MOST)
			both = COUNTING_MOST;
		expect(counter_of(sum, 0, bit) == both, "%u and %u are %u", of_a, of_b,
			   counter_of(sum, 0, bit));
		expect(counter_of(least, 0, bit) == (of_a < of_b ? of_a : of_b),
			   "the least of %u and %u is %u", of_a, of_b,
			   counter_of(least, 0, bit));
	}
	expect(filter_unites_in_place(a, &plan), "not in place");
	filter_unite_in_place(a, b, &plan);
	expect(memcmp(a, sum, image_bytes(sum)) == 0, "other bytes in place");
	end_test();
	release_image(a);
	release_image(b);
	release_image(sum);
	release_image(least);
}

/* In which layer an element is, could not be told of a union of several. */
static void
test_refused(void)
{
	uint8_t    *a = make_counting(2000, 0.01, 2);
	uint8_t    *b = make_counting(2000, 0.01, 2);
	uint8_t    *none = make_counting(2000, 0.01, 2);
	uint8_t    *fixed = make_counting(2000, 0.01, 0);
	uint8_t    *other = make_counting(2000, 0.01, 0);
	uint8_t    *plain = make_filter(2000, 0.01, 2);
	uint8_t    *copy;
	FilterPlan	plan;

	begin_test("a union of counting filters has one layer");
	add_numbers(&a, 0, 2000);
	add_numbers(&b, 5000, 2000);
	expect(filter_plan_union(a, b, false, &plan) == FILTER_NOT_ONE_LAYER,
		   "united past the capacity");
	add_numbers(&b, 7000, 2000);
	expect(image_layers(b) > 1, "has not grown");
	add_numbers(&a, 0, 1);
	expect(filter_plan_union(a, b, false, &plan) == FILTER_NOT_ONE_LAYER,
		   "united with several layers");
	expect(filter_plan_union(b, none, false, &plan) == FILTER_OK,
		   "not united with nothing");
	copy = allocate_image(plan.bytes);
	filter_unite(copy, b, none, &plan);
	expect(image_bytes(copy) == image_bytes(b) &&
		   memcmp(copy, b, image_bytes(b)) == 0, "changed by nothing");
	add_numbers(&fixed, 0, 2000);
	add_numbers(&other, 5000, 2000);
	expect(filter_plan_union(fixed, other, false, &plan) == FILTER_FIXED,
		   "united past a fixed size");
	expect(filter_difference(a, plain) == DIFFERENT_COUNTING,
		   "compatible with a plain one");
	end_test();
	release_image(a);
	release_image(b);
	release_image(none);
	release_image(fixed);
	release_image(other);
	release_image(plain);
	release_image(copy);
}

/* How many counters reach their limit by different elements */
static void
test_odds(void)
{
	uint8_t    *image = make_counting(1000000, 0.01, 0);
	uint64_t	bits = 8 * image_layer_bytes(image, 0) / COUNTING_PLANES;
	uint64_t	full = 0;

	begin_test("hardly a counter is full by different elements");
	add_numbers(&image, 0, 1000000);
	for (uint64_t bit = 0; bit < bits; bit++)
		full += counter_of(image, 0, bit) == COUNTING_MOST;
	expect(full <= 2 * bits / 1000000, "%llu of %llu", (unsigned long long) full,
		   (unsigned long long) bits);
	end_test();
	release_image(image);
}

void
test_counting(void)
{
	test_counters(0.01);
	test_counters(1e-5);
	for (int i = 0; i < lengthof(kinds); i++)
		test_churn(&kinds[i]);
	test_plain();
	test_two(0.01);
	test_two(1e-5);
	test_refused();
	test_odds();
}
