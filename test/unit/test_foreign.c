/*
 * test_foreign.c
 *	  Filters of other systems: hash functions against published values, all ways
 *	  to probe against a model of plain arithmetic, import and export.
 *
 * That the answers and the bytes are those of the real libraries, the files in
 * test/vectors show (test/t/090_foreign.pl).
 */
#include "unit.h"

#include <math.h>

#include "../../src/filter/foreign/foreign.h"

/* Elements are numbers; these are added, those from ABSENT on are not. */
#define ADDED			2000

/* Bits of the largest filter whose bits a model has */
#define BITS_MAX		(1 << 20)

static ForeignHash
hash_number(const ForeignFormat *format, uint64_t seed, uint64_t number)
{
	uint8_t		bytes[sizeof(number)];

	put64(bytes, number);
	return format->hash(seed, bytes, sizeof(bytes));
}

static ForeignType
some_type(const ForeignFormat *format)
{
	ForeignType type = {.format = format, .form = FORM_INT8};

	return type;
}

static uint8_t *
make_foreign(const ForeignFormat *format, uint64_t capacity, double error_rate)
{
	ForeignType type = some_type(format);
	FilterParams params = {
		.capacity = capacity,
		.error_rate = error_rate,
		.class = foreign_class(&type)
	};
	FilterPlan	plan;
	uint8_t    *image;

	if (foreign_plan(format, &params, &plan) != FILTER_OK)
		give_up("cannot plan a foreign filter");
	image = allocate_image(plan.bytes);
	filter_init(image, &params, &plan);
	return image;
}

/* Add the numbers from "first" on; returns how many there was room for. */
static uint64_t
add_foreign(uint8_t *image, const ForeignFormat *format, uint64_t first, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
	{
		ForeignHash hash = hash_number(format, image_seed(image), first + i);

		if (foreign_add_batch(image, &hash, 1) == 0)
			return i;
	}
	return count;
}

static bool
contains_foreign(const uint8_t *image, const ForeignHash *hash)
{
	bool		found;

	foreign_contains_batch(image, hash, 1, &found);
	return found;
}

static void
test_hashes(void)
{
	const uint8_t fox[] = "The quick brown fox jumps over the lazy dog";
	const size_t length = sizeof(fox) - 1;
	ForeignHash hash;

	begin_test("hash functions of other systems: published values");
	hash = foreign_murmur128(fox, 0);
	expect(hash.a == 0 && hash.b == 0, "murmur128 of nothing");
	/* Guava's HashFunctions' own test: e34bbc7bbc071b6c 7a433ca9c49a9347 */
	hash = foreign_murmur128(fox, length);
	expect(hash.a == UINT64_C(0xe34bbc7bbc071b6c) &&
		   hash.b == UINT64_C(0x7a433ca9c49a9347), "murmur128 %llx %llx",
		   (unsigned long long) hash.a, (unsigned long long) hash.b);
	/* xxhash.com */
	expect(foreign_xxh64(fox, 0, 0) == UINT64_C(0xef46db3751d8e999),
		   "xxh64 of nothing");
	expect(foreign_xxh64(fox, length, 0) == UINT64_C(0x0b242d361fda71bc),
		   "xxh64 %llx", (unsigned long long) foreign_xxh64(fox, length, 0));
	/* the standard one, where there is no tail; Spark's of an int */
	expect(foreign_murmur32_spark((const uint8_t *) "\0\0\0\0", 4, 0) == 0x2362f9de,
		   "murmur32 %x",
		   foreign_murmur32_spark((const uint8_t *) "\0\0\0\0", 4, 0));
	end_test();
}

/* The numbers of bits of an element, by the formulas as their authors wrote them */
static unsigned
model_places(const ForeignFormat *format, const ForeignHash *hash, uint64_t m,
			 unsigned k, uint64_t *places)
{
	static const uint32_t salt[] = {
		0x47b6137bU, 0x44974d91U, 0x8824ad5bU, 0xa2b7289dU,
		0x705495c7U, 0x2df1424bU, 0x9efc4947U, 0x5c6bfb31U
	};
	uint64_t	sum = hash->a;
	int64_t		signed_sum = (int64_t) hash->a;

	for (unsigned i = 0; i < k; i++)
	{
		int32_t		combined;
		uint64_t	block;

		switch (format->code)
		{
			case 'G':
			case 'B':
				places[i] = (sum & INT64_MAX) % m;
				sum += hash->b;
				break;
			case 'g':
			case 'b':
			case 's':
			case 'q':
				combined = (int32_t) ((uint32_t) hash->a + (i + 1) * (uint32_t) hash->b);
				places[i] = (uint64_t) (combined < 0 ? ~combined : combined) % m;
				break;
			case 'S':
			case 'Q':
				signed_sum = (int64_t) ((uint64_t) signed_sum + hash->b);
				places[i] = (uint64_t) (signed_sum < 0 ? ~signed_sum : signed_sum) % m;
				break;
			case 'D':
				sum += hash->b;
				places[i] = (sum >> 1) % m;
				break;
			case 'R':
				places[i] = sum % m;
				sum += hash->b;
				break;
			case 'P':
				block = ((hash->a >> 32) * (m / 256)) >> 32;
				places[i] = 256 * block + 32 * i +
					(((uint32_t) hash->a * salt[i]) >> 27);
				break;
			default:
				give_up("the model does not know the format");
		}
	}
	return k;
}

/* Where fetch_slice() finds a filter */
static const uint8_t *
fetch_slice(void *from, uint64_t offset, uint32_t bytes)
{
	static uint8_t slice[SLICE_MAX_BYTES];

	expect(bytes <= sizeof(slice), "a slice of %u bytes", bytes);
	return memcpy(slice, (const uint8_t *) from + offset, bytes);
}

static void
test_model(const ForeignFormat *format, uint64_t capacity, double error_rate)
{
	static bool bits[BITS_MAX];
	static ForeignHash hashes[2 * ADDED];
	static bool found[2 * ADDED];
	uint8_t    *image = make_foreign(format, capacity, error_rate);
	FilterLayer layer;
	uint64_t	set = 0;
	uint64_t	hits = 0;

	begin_test("%s of %llu at %g: the bits of a model, by all ways to probe",
			   format->name, (unsigned long long) capacity,
			   error_rate);
	layer = image_get_layer(image, 0);
	if (layer.size > BITS_MAX)
		give_up("the model is too small");
	memset(bits, false, sizeof(bits));
	for (uint64_t i = 0; i < 2 * capacity; i++)
	{
		uint64_t	places[FOREIGN_MAX_HASHES];
		unsigned	count;

		hashes[i] = hash_number(format, image_seed(image),
								i < capacity ? i : ABSENT + i);
		if (i >= capacity)
			continue;
		count = model_places(format, &hashes[i], layer.size, layer.hashes, places);
		for (unsigned j = 0; j < count; j++)
		{
			set += !bits[places[j]];
			bits[places[j]] = true;
		}
	}
	expect(foreign_add_batch(image, hashes, capacity) == capacity,
		   "full before its capacity");
	expect_sound("a foreign filter", image);
	layer = image_get_layer(image, 0);
	expect(layer.bits_set == set, "%llu bits set, not %llu",
		   (unsigned long long) layer.bits_set, (unsigned long long) set);
	for (uint64_t i = 0; i < layer.size; i++)
		expect(((image_layer_bits(image, 0)[i / 8] >> (i % 8)) & 1) == bits[i],
			   "bit %llu", (unsigned long long) i);

	foreign_contains_batch(image, hashes, 2 * capacity, found);
	for (uint64_t i = 0; i < 2 * capacity; i++)
	{
		uint64_t	places[FOREIGN_MAX_HASHES];
		unsigned	count = model_places(format, &hashes[i], layer.size,
										 layer.hashes, places);
		bool		in = true;

		for (unsigned j = 0; j < count; j++)
			in &= bits[places[j]];
		expect(found[i] == in, "element %llu in a batch", (unsigned long long) i);
		expect(contains_foreign(image, &hashes[i]) == in, "element %llu",
			   (unsigned long long) i);
		expect(foreign_contains_sliced(image, &hashes[i], fetch_slice, image) == in,
			   "element %llu by slices", (unsigned long long) i);
		expect(in || i >= capacity, "a false negative");
		hits += in && i >= capacity;
	}
	expect(hits <= most_hits(capacity, filter_estimated_error_rate(image) * 1.5),
		   "%llu hits of %llu at %g", (unsigned long long) hits,
		   (unsigned long long) capacity, filter_estimated_error_rate(image));
	expect(foreign_add_batch(image, hashes, capacity) == capacity,
		   "elements that are in have no room");
	release_image(image);
	end_test();
}

/* Import what was exported: the same image, but for what it was made for. */
static void
test_round_trip(const ForeignFormat *format)
{
	static const uint64_t counts[] = {0, 1, 100, ADDED};

	begin_test("%s: export, import and export again", format->name);
	for (int i = 0; i < lengthof(counts); i++)
	{
		uint8_t    *image = make_foreign(format, ADDED, 0.03);
		ForeignSource source = {.format = format, .any_version = true};
		ForeignImport import;
		FilterParams params;
		FilterLayer layer;
		uint8_t    *bytes;
		uint8_t    *again;
		uint8_t    *back;

		add_foreign(image, format, 0, counts[i]);
		layer = image_get_layer(image, 0);
		params = image_get_params(image);
		source.length = foreign_export_bytes(image);
		bytes = allocate_image(source.length);
		foreign_export(image, bytes);
		source.bytes = bytes;
		source.bits = layer.size;
		source.hashes = layer.hashes;
		expect(foreign_parse(&source, &import) == NULL, "refused: %s",
			   foreign_parse(&source, &import));
		expect(import.format == format && import.seed == image_seed(image),
			   "another format or seed");
		params.capacity = 0;
		params.error_rate = 0;
		back = allocate_image(import.plan.bytes);
		foreign_import(&source, &import, &params, back);
		expect_sound("an import", back);
		expect(image_layer_bytes(back, 0) == image_layer_bytes(image, 0) &&
			   memcmp(image_layer_bits(back, 0), image_layer_bits(image, 0),
					  image_layer_bytes(image, 0)) == 0, "other bits");
		expect(foreign_export_bytes(back) == source.length, "another length");
		again = allocate_image(source.length);
		foreign_export(back, again);
		expect(memcmp(again, bytes, source.length) == 0, "other bytes");

		/* one byte less, or more, is never the same filter */
		for (uint64_t length = 0; length < source.length; length++)
		{
			ForeignSource cut = source;
			uint8_t    *exact = allocate_image(length);

			/* bits behind which there are but zeros, or a multiple of a block */
			if (format->needs_shape ||
				(format == &parquet_format && length % PARQUET_BLOCK_BYTES == 0 && length > 0))
			{
				release_image(exact);
				continue;
			}
			memcpy(exact, bytes, length);
			cut.bytes = exact;
			cut.length = length;
			expect(foreign_parse(&cut, &import) != NULL, "cut to %llu of %llu bytes",
				   (unsigned long long) length,
				   (unsigned long long) source.length);
			release_image(exact);
		}
		release_image(image);
		release_image(bytes);
		release_image(again);
		release_image(back);
	}
	end_test();
}

/* "Full" is not before the capacity, and not long after it. */
static void
test_capacity(const ForeignFormat *format)
{
	static const uint64_t capacities[] = {1, 10, 100, 1000, 10000};
	static const double rates[] = {0.3, 0.03, 1e-4};

	begin_test("%s: full at its capacity", format->name);
	for (int i = 0; i < lengthof(capacities); i++)
		for (int j = 0; j < lengthof(rates); j++)
		{
			uint64_t	first = random64();
			uint8_t    *image = make_foreign(format, capacities[i], rates[j]);
			FilterPlan	plan;
			uint64_t	room = add_foreign(image, format, first, 40 * capacities[i] + 1000);
			double		most;

			expect(room >= capacities[i], "%llu of %llu at %g",
				   (unsigned long long) room,
				   (unsigned long long) capacities[i], rates[j]);

			/*
			 * The bits' standard deviation is below 0.7 / sqrt(n) of those
			 * that the elements set; some elements set none.
			 */
			most = capacities[i] * (1 + FULL_SIGMAS * 0.7 / sqrt(capacities[i])) *
				(1 + rates[j]) + 2;
			expect(room <= most, "%llu of %llu at %g", (unsigned long long) room,
				   (unsigned long long) capacities[i], rates[j]);
			expect(filter_plan_growth(image, 1, &plan) == FILTER_FIXED, "can grow");
			expect_sound("a full filter", image);
			release_image(image);
		}
	end_test();
}

static uint8_t *
unite(const uint8_t *a, const uint8_t *b)
{
	FilterPlan	plan;
	uint8_t    *image;

	if (filter_difference(a, b) != FILTERS_COMPATIBLE ||
		filter_plan_union(a, b, false, &plan) != FILTER_OK)
		give_up("cannot plan a union");
	image = allocate_image(plan.bytes);
	filter_unite(image, a, b, &plan);
	return image;
}

/* What the libraries choose, as their own code says */
static void
test_sizes(void)
{
	static const struct
	{
		const ForeignFormat *format;
		uint64_t	capacity;
		double		error_rate;
		uint64_t	bits;
		unsigned	hashes;
	}			sizes[] = {
		{&guava_format, 10, 0.03, 128, 5},
		{&guava_format, 1000, 0.01, 9600, 7},
		{&redis_guava32_format, 1000, 0.03, 7298, 5},
		{&spark_format, 1000, 0.1, 4800, 3},
		{&datasketches_format, 1, 0.03, 64, 6},
		{&datasketches_format, 187, 0.01, 1856, 7},
		{&datasketches_format, 1000, 0.1, 4800, 4},
		{&parquet_format, 10, 0.01, 256, 8},
		{&parquet_format, 1000, 0.1, 8192, 8},
		{&redisbloom_format, 1000, 0.1, 6272, 5},
		{&redisbloom_format, 10, 0.01, 128, 8}
	};

	begin_test("sizes that the other systems choose");
	for (int i = 0; i < lengthof(sizes); i++)
	{
		uint8_t    *image = make_foreign(sizes[i].format, sizes[i].capacity,
										 sizes[i].error_rate);
		FilterLayer layer = image_get_layer(image, 0);

		expect(layer.size == sizes[i].bits && layer.hashes == sizes[i].hashes,
			   "%s: %llu bits and %u hashes", sizes[i].format->name,
			   (unsigned long long) layer.size, layer.hashes);
		release_image(image);
	}
	end_test();
}

/* Of two filters, of which the first has "times" the size */
static void
test_combine(const ForeignFormat *format, uint64_t times)
{
	uint8_t    *a = make_foreign(format, times * ADDED, 0.03);
	uint8_t    *b = make_foreign(format, ADDED, 0.03);
	uint8_t    *ab;
	uint8_t    *ba;
	uint8_t    *both;

	begin_test("%s, %llu times as large: union and intersection",
			   format->name, (unsigned long long) times);
	add_foreign(a, format, 0, ADDED);
	add_foreign(b, format, ADDED / 2, ADDED);
	ab = unite(a, b);
	ba = unite(b, a);
	expect_sound("a union", ab);
	expect(image_bytes(ab) == image_bytes(ba) &&
		   memcmp(ab, ba, image_bytes(ab)) == 0, "the order matters");
	expect(image_bytes(ab) == image_bytes(b), "not the smaller size");
	both = copy_image(a);
	filter_intersect_in_place(both, b);
	expect_sound("an intersection", both);
	expect(image_bytes(both) == image_bytes(b), "not the smaller size");
	for (uint64_t i = 0; i < ADDED + ADDED / 2; i++)
	{
		ForeignHash hash = hash_number(format, image_seed(a), i);

		expect(contains_foreign(ab, &hash), "lost by a union");
		expect(contains_foreign(both, &hash) || i < ADDED / 2 || i >= ADDED,
			   "lost by an intersection");
		expect(contains_foreign(ab, &hash) || !contains_foreign(both, &hash),
			   "only in the intersection");
	}
	/* a folded filter is the one that was made small at once */
	if (times > 1)
	{
		uint8_t    *small = make_foreign(format, ADDED, 0.03);
		uint8_t    *none = make_foreign(format, ADDED, 0.03);
		uint8_t    *folded = unite(a, none);

		add_foreign(small, format, 0, ADDED);
		expect(memcmp(image_layer_bits(folded, 0), image_layer_bits(small, 0),
					  image_layer_bytes(small, 0)) == 0, "folded to other bits");
		release_image(small);
		release_image(none);
		release_image(folded);
	}
	release_image(a);
	release_image(b);
	release_image(ab);
	release_image(ba);
	release_image(both);
	end_test();
}

/* Not with another format, form, size, seed, or filters of ours */
static void
test_difference(void)
{
	ForeignType text = {.format = &guava_format, .form = FORM_TEXT};
	uint8_t    *guava = make_foreign(&guava_format, 100, 0.01);
	uint8_t    *other;
	FilterParams none = {0};
	uint8_t		empty[IMAGE_HEADER_BYTES];

	begin_test("foreign filters are compatible with their like");
	image_put_header(empty, LAYOUT_EMPTY, &none);
	expect(filter_difference(guava, empty) == FILTERS_COMPATIBLE, "empty");
	other = copy_image(guava);
	put64(other + IMAGE_OFF_CLASS, foreign_class(&text));
	expect(filter_difference(guava, other) == DIFFERENT_CLASS, "form");
	release_image(other);
	other = make_foreign(&spark_format, 100, 0.01);
	expect(filter_difference(guava, other) == DIFFERENT_CLASS, "format");
	release_image(other);
	other = make_foreign(&guava_format, 200, 0.01);
	expect(filter_difference(guava, other) == DIFFERENT_SIZE, "size");
	release_image(other);
	other = make_filter(100, 0.01, 0);
	expect(filter_difference(guava, other) == DIFFERENT_SYSTEM, "ours");
	put64(other + IMAGE_OFF_CLASS, 0);
	expect(filter_difference(guava, other) == DIFFERENT_SYSTEM, "ours, new");
	release_image(other);
	other = make_explicit(NULL, 0);
	put64(other + IMAGE_OFF_CLASS, 0);
	expect(filter_difference(other, guava) == DIFFERENT_SYSTEM, "a set");
	release_image(other);
	release_image(guava);
	end_test();
}

/* Each class stands for one format and form, and no other eight bytes do. */
static void
test_classes(void)
{
	begin_test("classes of foreign filters");
	for (int format = 0; format < foreign_format_count; format++)
		for (int form = 0; form < FOREIGN_FORMS; form++)
		{
			ForeignType type = {foreign_formats[format], (ForeignForm) form, 0, 0};
			ForeignType read;
			bool		defined =
				(foreign_formats[format]->forms & 1u << form) != 0;

			if (form == FORM_NUMERIC)
			{
				type.precision = 38;
				type.scale = 9;
			}
			expect(foreign_type(foreign_class(&type), &read) == defined,
				   "%s %s", foreign_formats[format]->name,
				   foreign_forms[form].name);
			if (defined)
				expect(read.format == type.format && read.form == type.form &&
					   read.precision == type.precision && read.scale == type.scale,
					   "read as another");
			for (int byte = 0; byte < 8; byte++)
				for (int value = 0; value < 256; value++)
				{
					uint8_t		class[8];
					uint64_t	changed;

					put64(class, foreign_class(&type));
					class[byte] = (uint8_t) value;
					changed = get64(class);
					if (foreign_type(changed, &read))
						expect(foreign_class(&read) == changed,
							   "two classes for one type");
				}
		}
	end_test();
}

/*
 * A cuckoo filter of RedisBloom, filled by a model of its plain arithmetic in "layers"
 * layers, the first of 64 buckets: all ways to probe, counts, and removals
 */
static void
test_redisbloom_cuckoo(unsigned slots, int layers, unsigned growth)
{
	enum
	{
		HEADER = 12 + 38, MOST = 1 << 20
	};
	static uint8_t bytes[MOST];
	static ForeignHash hashes[ADDED];
	static bool found[ADDED];
	ForeignType type = some_type(&redisbloom_cuckoo_format);
	FilterParams params = {.class = foreign_class(&type)};
	ForeignSource source = {.bytes = bytes, .format = &redisbloom_format, .any_version = true};
	ForeignImport import;
	uint8_t    *image;
	uint8_t    *at = bytes + HEADER;
	uint64_t	buckets = 64;
	uint64_t	end = 1;
	uint64_t	added = 0;

	begin_test("redisbloom:cuckoo of %d layers with buckets of %u: a model",
			   layers, slots);
	memset(bytes, 0, sizeof(bytes));
	for (int i = 0; i < ADDED; i++)
		hashes[i] = hash_number(&redisbloom_cuckoo_format, 0, i);
	for (int i = 0; i < layers; i++)
	{
		end += buckets * slots;
		put64(at, end);
		put32(at + 8, buckets * slots);
		/* each goes into the first slot that is free, without moves */
		for (bool placed = true; placed && added < ADDED; added += placed)
		{
			uint64_t	hash = hashes[added].a;
			uint8_t		fingerprint = 1 + hash % 255;

			placed = false;
			for (unsigned s = 0; !placed && s < 2 * slots; s++)
			{
				uint64_t	bucket = s < slots ? hash : hash ^ fingerprint * UINT64_C(0x5bd1e995);
				uint8_t    *slot = at + 12 + bucket % buckets * slots + s % slots;

				placed = *slot == 0;
				if (placed)
					*slot = fingerprint;
			}
		}
		at += 12 + buckets * slots;
		buckets *= growth;
	}
	put64(bytes, 1);
	put32(bytes + 8, 38);
	put64(bytes + 12, added);
	put64(bytes + 20, 64);
	put64(bytes + 36, layers);
	put16(bytes + 44, slots);
	put16(bytes + 46, 20);
	put16(bytes + 48, growth);
	source.length = at - bytes;

	expect(foreign_parse(&source, &import) == NULL, "refused: %s",
		   foreign_parse(&source, &import));
	image = allocate_image(import.plan.bytes);
	foreign_import(&source, &import, &params, image);
	expect_sound("an import", image);
	expect(filter_cardinality(image) == added, "%g elements, not %llu",
		   filter_cardinality(image), (unsigned long long) added);
	expect(foreign_export_bytes(image) == source.length, "another length");

	foreign_contains_batch(image, hashes, ADDED, found);
	for (uint64_t i = 0; i < ADDED; i++)
	{
		expect(found[i] || i >= added, "a false negative");
		expect(contains_foreign(image, &hashes[i]) == found[i], "another answer alone");
		expect(foreign_contains_sliced(image, &hashes[i], fetch_slice, image) == found[i],
			   "another answer by slices");
		expect((filter_count(image, hashes[i].a) > 0) == found[i], "another count");
	}
	for (uint64_t i = 0; i < added; i++)
	{
		for (uint64_t j = i; j < added; j += 1 + added / 16)
			expect(contains_foreign(image, &hashes[j]), "lost by a removal");
		expect(filter_remove(image, hashes[i].a) == FILTER_REMOVED, "not removed");
		if (i % 64 == 0)
			expect_sound("after a removal", image);
	}
	expect(filter_cardinality(image) == 0, "not empty");
	expect(image_get_layer(image, 0).bits_full == added, "removals are not counted");
	if (layers > 1)
	{
		FilterLayer second = image_get_layer(image, 1);

		second.bits_full = 1;
		image_put_layer(image, 1, &second);
		expect(image_check(image, image_bytes(image), FILTER_BLOOM) != NULL,
			   "removals in a later layer");
		second.bits_full = 0;
		image_put_layer(image, 1, &second);
	}
	expect(filter_slices(image) == layers * 2 * ((slots + 63) / 64), "%u slices",
		   filter_slices(image));
	expect(filter_remove(image, hashes[0].a) == FILTER_ABSENT, "removed from nothing");
	expect_sound("an empty one", image);
	release_image(image);
	end_test();
}

void
test_foreign(void)
{
	test_hashes();
	test_classes();
	test_difference();
	test_sizes();
	for (int format = 0; format < foreign_format_count; format++)
	{
		if (!foreign_formats[format]->size)
			continue;
		test_model(foreign_formats[format], ADDED, 0.01);
		test_model(foreign_formats[format], 30, 0.1);
		test_model(foreign_formats[format], 1, 1e-7);
		test_round_trip(foreign_formats[format]);
		test_capacity(foreign_formats[format]);
		test_combine(foreign_formats[format], 1);
	}
	test_redisbloom_cuckoo(2, 1, 0);
	test_redisbloom_cuckoo(2, 5, 1);
	test_redisbloom_cuckoo(4, 3, 2);
	test_redisbloom_cuckoo(255, 2, 4);
	test_combine(&parquet_format, 2);
	test_combine(&parquet_format, 16);
}
