/*
 * test_cuckoo_check.c
 *	  Cuckoo filters from outside: invalid ones are refused, and those that are
 *	  let through are safe to use.
 */
#include "mutations.h"
#include "naive_cuckoo.h"

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
		{"reserved", LAYER_OFF_DETAIL, 1, 1, true},
		{"reserved", LAYER_OFF_DETAIL + 5, 1, 1, true},
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

		expect(filter_plan_growth(image, 0, &plan) == FILTER_OK, "no plan");
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
		expect(filter_plan_growth(image, 0, &plan) == FILTER_OK, "no plan");
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

	begin_test("numbers of entries that match each other but not the slots");
	for (int sample = 0; sample < SAMPLES; sample++)
		for (int i = 0; i < image_layers(samples[sample]); i++)
		{
			FilterLayer layer = image_get_layer(samples[sample], i);
			uint64_t	wrong[4];

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
		/* of the same size, and valid in its own filter */
		layer = image_get_layer(image, 1);
		of_other = image_get_layer(other, 1);
		of_other.offset = layer.offset;
		of_other.size = layer_bytes(&layer) / BLOCK_BYTES;
		image_put_layer(image, 1, &of_other);
		expect(image_check(image, image_bytes(image), FILTER_CUCKOO) != NULL,
			   "a bloom filter's layer");
		of_other = image_get_layer(other, 1);
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

	begin_test("a number of windows whose bits overflow is refused");
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

	begin_test("impossible slots are refused");
	for (int sample = 0; sample < SAMPLES; sample++)
		for (int i = 0; i < image_layers(samples[sample]); i++)
		{
			FilterLayer layer = image_get_layer(samples[sample], i);
			unsigned	width;

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
					FilterLayer first = image_get_layer(image, 0);

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

static void
repair(uint8_t *image, uint64_t bytes)
{
	if (image_bytes(image) != bytes || filter_header_bytes(image) > bytes)
		return;
	for (int i = 0; i < image_layers(image); i++)
	{
		FilterLayer layer = image_get_layer(image, i);
		uint64_t	entries = 0;

		if (layer.layout != LAYOUT_CUCKOO || layer.size > 100000 ||
			layer.hashes > CUCKOO_MAX_FINGERPRINT ||
			layer.offset > bytes || layer_bytes(&layer) > bytes - layer.offset)
			return;
		for (uint64_t slot = 0; slot <= layer.size; slot++)
			entries += naive_slot(image, &layer, slot) != 0;
		put64(image_layer_at(image, i) + LAYER_OFF_BITS_SET, entries);
	}
}

static void
damage(uint8_t *image, uint64_t bytes, const uint8_t *sample)
{
	uint64_t	slots = filter_header_bytes(sample);
	uint8_t    *at = image_layer_at(image,
									random_below(image_layers(sample)));

	switch (random_below(6))
	{
		case 0:
			image[random_below(bytes)] ^= 1 << random_below(8);
			break;
		case 1:
			image[slots + random_below(bytes - slots)] = random64();
			break;
		case 2:
			/* many bytes, so that classes fill up */
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

static void
exercise(const uint8_t *image, const uint8_t *sample)
{
	uint8_t    *copy = copy_image(image);
	uint64_t	hashes[60];
	FilterStatus status;
	FilterPlan	plan;

	exercise_lookups(image, hashes, lengthof(hashes));
	for (int i = 0; i < lengthof(hashes); i++)
		expect((filter_count(image, hashes[i]) > 0) ==
			   filter_contains(image, hashes[i]), "a count differs");
	exercise_additions(copy, hashes, lengthof(hashes));
	if (filter_plan_growth(copy, 0, &plan) == FILTER_OK && plan.bytes < 1 << 20)
	{
		uint8_t    *larger = allocate_image(plan.bytes);

		filter_copy(larger, copy, &plan);
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
	if (filter_difference(image, sample) == FILTERS_COMPATIBLE)
	{
		uint8_t    *united = unite(image, sample, &status);

		if (united != NULL)
			release_image(united);
	}
}

static void
test_mutations(void)
{
	const Mutations mutations = {
		.name = "cuckoo filters that are let through are safe to use",
		.kind = FILTER_CUCKOO, .count = trials(60000),
		.samples = samples, .sample_count = SAMPLES,
		.damage = damage, .repair = repair, .exercise = exercise
	};

	test_mutations_of(&mutations);
}

void
test_cuckoo_check(void)
{
	make_samples();
	test_fields();
	test_mutations();
	for (int i = 0; i < SAMPLES; i++)
		release_image(samples[i]);
}
