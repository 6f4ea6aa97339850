/*
 * test_cuckoo_change.c
 *	  Cuckoo filters that change: removals lose no other element, and make room.
 */
#include "naive_cuckoo.h"

#include <math.h>
#include <setjmp.h>

/* ------------------------------------------------------------------------
 * Saturation
 * ------------------------------------------------------------------------ */

static void
test_saturation(void)
{
	begin_test("an element that is added again and again stays for good");
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
			/* nor do others, or growth, move it away */
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
		FilterLayer layer = image_get_layer(image, 0);
		int			tried = 0;

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

	begin_test("elements of one class in a finer layer are not taken for each other");
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
	begin_test("elements of one class in a coarse layer only do not get lost");
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
 * Compaction and steady use
 * ------------------------------------------------------------------------ */

/* An interrupt check that does not return the last time */
static int	checks;
static jmp_buf *where_to_go_on;

static void
give_up_later(void)
{
	if (--checks == 0)
		longjmp(*where_to_go_on, 1);
}

static void
test_compact(void)
{
	uint64_t	turnovers;

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
			finest = image_get_layer(image, image_layers(image) - 1);
			expect(image_layers(image) == 1 || image_layers(image) == layers ||
				   left + finest.capacity > 0.9 * growth * finest.capacity / 2,
				   "%llu left in %d layers", (unsigned long long) left,
				   image_layers(image));
			if (left == 0)
				expect(image_layers(image) == 1, "layers of nothing");
			if (left == n)
				expect(bytes == before, "shrank though full");
			/* it works as any other */
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

	turnovers = SANITIZED ? trials(100) : 100;
	begin_test("a fixed cuckoo filter at its capacity outlives %llu turnovers",
			   (unsigned long long) turnovers);
	{
		/*
		 * 8 bits of fingerprint; see docs/reference/cuckoo.md, "What is
		 * different"
		 */
		uint8_t    *image = make_cuckoo(10000, 0.01, 0);
		uint64_t	lost = 0;

		add_numbers(&image, 0, 10000);
		for (uint64_t i = 0; i < turnovers * 10000; i++)
		{
			uint64_t	hash = number_hash(10000 + i);

			filter_remove(image, number_hash(i));
			expect(filter_add_batch(image, &hash, 1) == 1, "refused %llu",
				   (unsigned long long) i);
		}
		for (uint64_t i = 0; i < 10000; i++)
			lost += !filter_contains(image, number_hash(turnovers * 10000 + i));
		expect(lost == 0, "lost %llu", (unsigned long long) lost);
		release_image(image);
	}
	end_test();

	begin_test("a cancelled operation leaves a sound filter");
	{
		uint8_t    *image = make_cuckoo(100, 0.01, 2);
		jmp_buf		given_up;

		add_numbers(&image, 0, 20000);
		for (uint64_t i = 0; i < 19000; i++)
			filter_remove(image, number_hash(i));
		filter_interrupt_check = give_up_later;
		checks = 10;
		where_to_go_on = &given_up;
		if (setjmp(given_up) == 0)
		{
			filter_compact(image);
			expect(false, "no interrupt check");
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

	begin_test("elements that come and go do not make a cuckoo filter grow");
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

void
test_cuckoo_change(void)
{
	test_saturation();
	test_trap();
	test_compact();
}
