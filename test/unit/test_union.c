/*
 * test_union.c
 *	  Union and intersection: nothing lost, the same from either side, and
 *	  what is refused.
 */
#include "unit.h"

/* The numbers of two sets, which overlap: [0, 2 n / 3) and [n / 3, n) */
#define FIRST_END(n)	((n) * 2 / 3)
#define SECOND_BEGIN(n) ((n) / 3)

/* The union, anew; NULL if there is no plan. */
static uint8_t *
unite(const uint8_t *a, const uint8_t *b)
{
	FilterPlan	plan;
	uint8_t    *image;

	if (filter_plan_union(a, b, false, &plan) != FILTER_OK)
		return NULL;
	image = allocate_image(plan.bytes);
	filter_unite(image, a, b, &plan);
	return image;
}

static bool
same_image(const uint8_t *a, const uint8_t *b)
{
	return image_bytes(a) == image_bytes(b) &&
		memcmp(a, b, image_bytes(a)) == 0;
}

/*
 * Unite from both sides, expect the same, and in place of one of them too if that
 * can be.  Returns the union, or NULL.
 */
static uint8_t *
expect_union(const char *what, const uint8_t *a, const uint8_t *b)
{
	uint8_t    *copy_a = copy_image(a);
	uint8_t    *copy_b = copy_image(b);
	uint8_t    *united = unite(a, b);
	uint8_t    *other = unite(b, a);
	FilterPlan	plan;

	expect((united == NULL) == (other == NULL), "%s: refused from one side",
		   what);
	expect(same_image(a, copy_a) && same_image(b, copy_b),
		   "%s: an operand was changed", what);
	if (united != NULL && other != NULL)
	{
		const char *fault = image_check(united, image_bytes(united), FILTER_BLOOM);

		expect(fault == NULL, "%s: unsound: %s", what, fault);
		expect(same_image(united, other), "%s: other bytes from other side",
			   what);
		filter_plan_union(a, b, false, &plan);
		if (filter_unites_in_place(a, &plan))
		{
			filter_unite_in_place(copy_a, b, &plan);
			expect(same_image(copy_a, united), "%s: other bytes in place", what);
		}
	}
	if (other != NULL)
		release_image(other);
	release_image(copy_a);
	release_image(copy_b);
	return united;
}

static void
expect_all(const char *what, const uint8_t *image, uint64_t first,
		   uint64_t end)
{
	uint64_t	hits = count_hits(image, first, end - first);

	expect(hits == end - first, "%s: %llu of %llu lost", what,
		   (unsigned long long) (end - first - hits),
		   (unsigned long long) (end - first));
}

/* Two filters of one layer whose union is no fuller than it may be */
static void
test_like(void)
{
	static const struct
	{
		const char *name;
		double		error_rate; /* 0: classic of 64 bits an element, k 7 */
		int			growth;
	}			kinds[] = {
		{"block512", 0.01, 2}, {"block512, fixed", 0.01, 0},
		{"block512x2", 1e-5, 2}, {"block512x2, fixed", 1e-5, 0},
		{"classic", 0, 0}
	};

	begin_test("the union is the filter of both sets, byte for byte");
	for (int i = 0; i < lengthof(kinds); i++)
	{
		for (uint64_t n = 3; n <= 3000; n *= 10)
		{
			uint8_t    *image[3];
			uint8_t    *united;

			for (int j = 0; j < 3; j++)
				image[j] = kinds[i].error_rate == 0 ? make_classic(64 * n + 1, 7) :
					make_filter(n, kinds[i].error_rate, kinds[i].growth);
			add_numbers(&image[0], 0, FIRST_END(n));
			add_numbers(&image[1], SECOND_BEGIN(n), n - SECOND_BEGIN(n));
			add_numbers(&image[2], 0, n);
			united = expect_union(kinds[i].name, image[0], image[1]);
			expect(united != NULL && same_image(united, image[2]),
				   "%s: other bytes", kinds[i].name);
			for (int j = 0; j < 3; j++)
				release_image(image[j]);
			release_image(united);
		}
	}
	end_test();
}

/* Filters that grew differently far, and unions of unions */
static void
test_grown(void)
{
	static const uint64_t sizes[] = {0, 20, 90, 100, 150, 400, 3000};
	static const int growths[] = {1, 2, 5};
	enum
	{
		FILTERS = 40
	};

	begin_test("unions of grown filters lose nothing, same from either side");
	for (int i = 0; i < 2 * lengthof(growths); i++)
	{
		/* of small layers, and of blocks */
		int			growth = growths[i / 2];
		uint64_t	scale = i % 2 == 0 ? 1 : 20;
		uint8_t    *image[FILTERS];
		uint64_t	known[FILTERS][2];	/* numbers that are in, from and to */
		int			count = lengthof(sizes);

		for (int j = 0; j < count; j++)
		{
			image[j] = make_filter(100 * scale, 0.01, growth);
			known[j][0] = 1000 * scale * j;
			known[j][1] = known[j][0] + scale * sizes[j] * (growth > 1 ? 1 : 0.3);
			add_numbers(&image[j], known[j][0], known[j][1] - known[j][0]);
		}
		while (count < FILTERS)
		{
			int			a = random_below(count);
			int			b = random_below(count);
			uint8_t    *united = expect_union("grown", image[a], image[b]);

			if (united == NULL)
			{
				FilterPlan	plan;

				expect(filter_plan_union(image[a], image[b], false, &plan) ==
					   FILTER_TOO_MANY_LAYERS, "refused");
				united = copy_image(image[a]);
			}
			else
				expect_all("grown", united, known[b][0], known[b][1]);
			expect_all("grown", united, known[a][0], known[a][1]);
			/* and it takes more */
			add_numbers(&united, 1000000 + 10 * count, random_below(50));
			image[count] = united;
			known[count][0] = known[a][0];
			known[count][1] = known[a][1];
			count++;
		}
		for (int j = 0; j < FILTERS; j++)
			release_image(image[j]);
	}
	end_test();
}

/* Two full layers side by side, and a third that fits into one of them */
static void
test_side_by_side(void)
{
	begin_test("layers side by side have the same order from either side");
	for (int round = 0; round < 50; round++)
	{
		uint64_t	first = 10000 * round;
		uint8_t    *full[2];
		uint8_t    *both;
		uint8_t    *third = make_filter(100, 0.01, 2);
		uint8_t    *all;

		for (int i = 0; i < 2; i++)
		{
			full[i] = make_filter(100, 0.01, 2);
			add_numbers(&full[i], first + 100 * i, 100);
		}
		add_numbers(&third, first + 200, 1 + round % 10);
		both = expect_union("full", full[0], full[1]);
		expect(both != NULL && image_layers(both) == 2, "not side by side");
		expect_all("full", both, first, first + 200);
		all = expect_union("and a third", both, third);
		expect_all("and a third", all, first, first + 201 + round % 10);
		release_image(full[0]);
		release_image(full[1]);
		release_image(both);
		release_image(third);
		release_image(all);
	}
	end_test();
}

/*
 * Unions of filters with one full layer each, which then lie side by side: how
 * many different elements they have
 */
static void
test_union_cardinality(void)
{
	static const struct
	{
		const char *name;
		uint64_t	elements;	/* of each filter, and its capacity */
		int			filters;
		uint64_t	offset;		/* of each from the one before */
	}			cases[] = {
		{"two, nothing in common", 20000, 2, 20000},
		{"two, half in common", 20000, 2, 10000},
		{"two, nearly the same", 20000, 2, 200},
		{"small, a window that slides", 1000, 12, 100},
		{"thirty, a window that slides", 5000, 30, 500},
		{"six, nothing in common", 20000, 6, 20000},
		{"thirty, nothing in common", 2000, 30, 2000},
		{"larger than the sample", 200000, 3, 100000}
	};

	/* of the number; the sample adds to what the bits themselves leave open */
	const double tolerance = 0.03;

	begin_test("what layers side by side have in common counts once");
	for (int i = 0; i < lengthof(cases); i++)
	{
		uint64_t	n = cases[i].elements;
		uint64_t	true_number = n + cases[i].offset * (cases[i].filters - 1);
		uint8_t    *all = NULL;
		double		estimate;

		for (int j = 0; j < cases[i].filters; j++)
		{
			uint8_t    *image = make_exact(n, 0.01, 2);
			uint8_t    *united;
			FilterLayer planned;

			add_numbers(&image, cases[i].offset * j, n);
			layer_plan(n, first_layer_error_rate(n, 0.01, true), LAYER_EXACT,
					   IMAGE_MAX_BITS, &planned);
			image_put_bits_full(image, 0, planned.bits_full);
			if (all == NULL)
			{
				all = image;
				continue;
			}
			united = unite(all, image);
			release_image(all);
			release_image(image);
			all = united;
			if (all == NULL)
				give_up("no union");
		}
		estimate = filter_cardinality(all);
		expect(estimate > true_number * (1 - tolerance) &&
			   estimate < true_number * (1 + tolerance),
			   "%s: %.0f of %llu elements in %d layers", cases[i].name, estimate,
			   (unsigned long long) true_number, image_layers(all));
		expect(filter_header_cardinality(all) >= estimate * (1 - tolerance),
			   "%s: %.0f by the header", cases[i].name,
			   filter_header_cardinality(all));
		release_image(all);
	}
	end_test();
}

static void
test_refused(void)
{
	uint8_t    *a = make_filter(100, 0.01, 0);
	uint8_t    *b = make_filter(100, 0.01, 0);
	uint8_t    *many = make_filter(10, 0.01, 2);
	FilterPlan	plan;
	FilterStatus status = FILTER_OK;

	begin_test("a fixed filter's union is refused where it would be full");
	add_numbers(&a, 0, 100);
	add_numbers(&b, 100, 100);
	expect(filter_plan_union(a, b, false, &plan) == FILTER_FIXED, "not refused");
	expect(filter_plan_union(a, a, false, &plan) == FILTER_OK, "with itself");
	end_test();

	begin_test("a union of more layers than there may be is refused");
	add_numbers(&many, 0, 10);
	for (int i = 1; i < 100 && status == FILTER_OK; i++)
	{
		uint8_t    *one = make_filter(10, 0.01, 2);
		uint8_t    *united;

		/* until it is full, so that it is not joined with another */
		for (int j = 0; image_layers(one) == 1; j++)
			add_numbers(&one, 1000 * i + j, 1);
		status = filter_plan_union(many, one, false, &plan);
		if (status == FILTER_OK)
		{
			united = unite(many, one);
			expect(image_layers(united) <= IMAGE_MAX_LAYERS, "%d layers",
				   image_layers(united));
			release_image(many);
			many = united;
		}
		else
			expect(filter_plan_union(one, many, false, &plan) == status,
				   "refused from one side");
		release_image(one);
	}
	expect(status == FILTER_TOO_MANY_LAYERS, "status %d", status);
	end_test();
	release_image(a);
	release_image(b);
	release_image(many);
}

/*
 * A compact image is joined with a padded layer, and this is then compared, to
 * the last byte, with another padded one that has the same bits.
 */
static void
test_compact_beside_equal(void)
{
	uint8_t    *first = make_filter(10, 0.01, 2);
	uint8_t    *second = make_filter(10, 0.01, 2);
	uint8_t    *both;
	uint8_t    *compact;
	uint8_t    *united;
	FilterLayer layer;

	begin_test("a compact image is united with one of two layers, then alike");
	add_numbers(&first, 0, 5);
	add_numbers(&second, 5, 5);
	/* full, as they may be from outside: they are put side by side */
	image_put_bits_full(first, 0, 1);
	image_put_bits_full(second, 0, 1);
	both = unite(first, second);
	expect(image_layers(both) == 2, "%d layers", image_layers(both));

	/*
	 * the first layer's bits are in the second, too, and all these in
	 * "compact"
	 */
	layer = image_get_layer(both, 0);
	compact = copy_image(first);
	for (uint64_t i = 0; i < layer.size / 8; i++)
	{
		image_layer_bits(both, 1)[i] |= image_layer_bits(both, 0)[i];
		image_layer_bits(compact, 0)[i] = image_layer_bits(both, 1)[i];
	}
	image_put_bits_set(both, 1, count_bits(image_layer_bits(both, 1),
										   layer.size / 8));
	expect_sound("two layers", both);
	expect_sound("compact", compact);
	united = expect_union("compact", both, compact);
	expect_all("compact", united, 0, 10);
	end_test();
	release_image(united);
	release_image(compact);
	release_image(both);
	release_image(second);
	release_image(first);
}

/* What the server reads of a stored filter to compare it: no byte follows. */
static uint8_t *
copy_header(const uint8_t *image)
{
	return memcpy(allocate_image(filter_header_bytes(image)), image,
				  filter_header_bytes(image));
}

/* Every way in which filters differ, and what makes no difference */
static void
test_difference(void)
{
	FilterParams none = {0};
	uint64_t	hash = 1;
	uint8_t    *a = make_filter(100, 0.01, 2);
	uint8_t    *classic = make_classic(1000, 3);
	uint8_t    *hashes = make_explicit(&hash, 1);
	uint8_t    *empty = allocate_image(IMAGE_HEADER_BYTES);
	const struct
	{
		FilterDifference difference;
		const uint8_t *left;
		uint8_t    *right;
	}			cases[] = {
		{FILTERS_COMPATIBLE, a, copy_image(a)},
		{DIFFERENT_CAPACITY, a, make_filter(101, 0.01, 2)},
		{DIFFERENT_ERROR_RATE, a, make_filter(100, 0.02, 2)},
		{DIFFERENT_GROWTH, a, make_filter(100, 0.01, 3)},
		{DIFFERENT_GROWTH, a, make_filter(100, 0.01, 0)},
		{DIFFERENT_LAYOUT, a, copy_image(classic)},
		{DIFFERENT_SIZE, classic, make_classic(1001, 3)},
		{DIFFERENT_SIZE, classic, make_classic(1000, 4)},
		{FILTERS_COMPATIBLE, classic, make_classic(1000, 3)},
		{FILTERS_COMPATIBLE, a, copy_image(hashes)},
		{FILTERS_COMPATIBLE, classic, copy_image(hashes)},
		{FILTERS_COMPATIBLE, hashes, copy_image(hashes)},
	};

	begin_test("the difference of two filters is the same from either side");
	image_put_header(empty, LAYOUT_EMPTY, &none);
	for (int i = 0; i < lengthof(cases); i++)
	{
		uint8_t    *right = cases[i].right;
		uint8_t    *left_header;
		uint8_t    *right_header;

		expect(filter_difference(cases[i].left, right) == cases[i].difference,
			   "case %d", i);
		expect(filter_difference(right, cases[i].left) == cases[i].difference,
			   "case %d from the other side", i);
		expect(filter_difference(right, empty) == FILTERS_COMPATIBLE &&
			   filter_difference(empty, right) == FILTERS_COMPATIBLE,
			   "case %d and an empty one", i);
		left_header = copy_header(cases[i].left);
		right_header = copy_header(right);
		expect(filter_difference(left_header, right_header) ==
			   cases[i].difference, "case %d by the headers", i);
		release_image(left_header);
		release_image(right_header);
		if (cases[i].difference == FILTERS_COMPATIBLE)
		{
			put64(right + IMAGE_OFF_SEED, 1);
			expect(filter_difference(cases[i].left, right) == DIFFERENT_SEED &&
				   filter_difference(right, cases[i].left) == DIFFERENT_SEED,
				   "case %d: seed", i);
			put64(right + IMAGE_OFF_SEED, 0);
			put64(right + IMAGE_OFF_CLASS, SOME_CLASS + 1);
			expect(filter_difference(cases[i].left, right) == DIFFERENT_CLASS &&
				   filter_difference(right, cases[i].left) == DIFFERENT_CLASS,
				   "case %d: class", i);
			put64(right + IMAGE_OFF_CLASS, 0);
			expect(filter_difference(cases[i].left, right) == FILTERS_COMPATIBLE &&
				   filter_difference(right, cases[i].left) == FILTERS_COMPATIBLE,
				   "case %d: no class yet", i);
		}
		release_image(right);
	}
	end_test();

	begin_test("a missing class is taken from the other side");
	{
		uint8_t    *unknown = make_filter(100, 0.01, 2);
		uint8_t    *united;

		put64(unknown + IMAGE_OFF_CLASS, 0);
		add_numbers(&a, 0, 50);
		united = expect_union("class", unknown, a);
		expect(image_class(united) == SOME_CLASS && same_image(united, a),
			   "another class or other bytes");
		release_image(united);
		filter_intersect_in_place(unknown, a);
		expect(image_class(unknown) == SOME_CLASS, "intersection");
		release_image(unknown);
	}
	end_test();
	release_image(a);
	release_image(classic);
	release_image(hashes);
	release_image(empty);
}

static void
test_intersection(void)
{
	begin_test("an intersection has what both have, and their bits only");
	for (int kind = 0; kind < 3; kind++)
	{
		for (uint64_t n = 3; n <= 3000; n *= 10)
		{
			uint8_t    *a;
			uint8_t    *b;
			uint8_t    *both;
			const char *fault;

			a = kind == 0 ? make_filter(n, 0.01, 2) :
				kind == 1 ? make_filter(n, 1e-5, 0) : make_classic(10 * n, 7);
			b = copy_image(a);
			add_numbers(&a, 0, FIRST_END(n));
			add_numbers(&b, SECOND_BEGIN(n), n - SECOND_BEGIN(n));
			both = copy_image(a);
			filter_intersect_in_place(both, b);
			fault = image_check(both, image_bytes(both), FILTER_BLOOM);
			expect(fault == NULL, "unsound: %s", fault);
			expect_all("intersection", both, SECOND_BEGIN(n), FIRST_END(n));
			for (uint64_t i = filter_header_bytes(a); i < image_bytes(a); i++)
				expect(both[i] == (a[i] & b[i]), "byte %llu",
					   (unsigned long long) i);
			filter_intersect_in_place(b, a);
			expect(same_image(both, b), "other bytes from the other side");
			release_image(a);
			release_image(b);
			release_image(both);
		}
	}
	end_test();
}

void
test_union(void)
{
	test_like();
	test_grown();
	test_side_by_side();
	test_compact_beside_equal();
	test_union_cardinality();
	test_refused();
	test_difference();
	test_intersection();
}
