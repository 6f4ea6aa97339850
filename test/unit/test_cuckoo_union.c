/*
 * test_cuckoo_union.c
 *	  Unions of cuckoo filters, and what cannot be united.
 */
#include "naive_cuckoo.h"

#include <math.h>

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
				expect(filter_difference(a, b) == FILTERS_COMPATIBLE, "incompatible");
				united = unite(a, b, &status);
				if (united == NULL)
				{
					FilterLayer layer = image_get_layer(a, 0);

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
					/* remove b again: a stays, and vice versa */
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

	begin_test("saturated classes stay saturated in the union");
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

		status = filter_plan_union(a, b, true, &plan);
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

		/* layers without entries are dropped */
		expect(filter_plan_union(a, b, true, &plan) == FILTER_OK &&
			   plan.layers == 1, "a layer for nothing");
		add_numbers(&b, 0, 1);
		expect(filter_plan_union(a, b, true, &plan) == FILTER_FIXED,
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

		expect(filter_plan_union(a, b, true, &plan) == FILTER_TOO_MANY_LAYERS,
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

		status = filter_plan_union(a, a, false, &plan);
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

	begin_test("incompatible cuckoo filters, and other kinds");
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

void
test_cuckoo_union(void)
{
	test_unions();
	test_differences();
}
