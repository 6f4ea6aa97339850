/*
 * test_cuckoo_random.c
 *	  Random operations on cuckoo filters, against a multiset in memory.
 */
#include "naive_cuckoo.h"

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

	/* a million in all */
	uint64_t	operations = trials(SANITIZED ? 30000 : 150000);

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
		for (uint64_t i = 0; i < operations; i++)
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

				/* only elements that are removed again before any other */
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

void
test_cuckoo_random(void)
{
	test_random();
}
