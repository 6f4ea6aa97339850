/*
 * make_corpus.c
 *	  Writes the inputs from which fuzzing begins: images of each layout, in each
 *	  state, and what the other targets take.
 *
 *	  test/fuzz/make_corpus DIRECTORY
 *
 * test/fuzz/corpus is its output, as script/test fuzz verifies.
 */
#include <sys/stat.h>

#include "fuzz.h"

#include "../../src/filter/foreign/foreign.h"

/* The largest input for a target */
#define INPUT_MAX		4096

/* Bytes of dump_redisbloom_cuckoo(): a header, two layers, and what precedes each */
#define DUMP_BYTES		(12 + 38 + 12 + 16 + 12 + 32)

typedef struct Sample
{
	const char *name;
	uint8_t    *image;
} Sample;

static const char *directory;

static void
write_input(const char *target, const char *name, const uint8_t *bytes,
			size_t size)
{
	char		path[1024];
	FILE	   *file;

	snprintf(path, sizeof(path), "%s/%s", directory, target);
	(void) mkdir(path, 0777);
	snprintf(path, sizeof(path), "%s/%s/%s", directory, target, name);
	file = fopen(path, "wb");
	if (file == NULL || fwrite(bytes, 1, size, file) != size ||
		fclose(file) != 0)
	{
		perror(path);
		exit(1);
	}
}

static uint8_t *
filled(uint8_t *image, uint64_t first, uint64_t count)
{
	add_numbers(&image, first, count);
	return image;
}

static uint8_t *
without_class(uint8_t *image)
{
	put64(image + IMAGE_OFF_CLASS, 0);
	return image;
}

static uint8_t *
empty(FilterKind kind)
{
	FilterParams none = {.kind = kind};
	uint8_t    *image = allocate_image(IMAGE_HEADER_BYTES);

	image_put_header(image, LAYOUT_EMPTY, &none);
	return image;
}

/* The set of "count" numbers; of a cuckoo, as its aggregate collects them */
static uint8_t *
set_of(FilterKind kind, uint64_t count)
{
	uint64_t	hashes[100];
	uint8_t    *image;

	for (uint64_t i = 0; i < count; i++)
		hashes[i] = number_hash(i);
	image = make_explicit(hashes, count);
	for (int i = 0; kind == FILTER_CUCKOO && i < IMAGE_MAGIC_BYTES; i++)
		image[i] = (uint8_t) IMAGE_MAGIC_CUCKOO[i];
	return image;
}

/* Two filters side by side */
static uint8_t *
united(uint8_t *a, uint8_t *b)
{
	FilterPlan	plan;
	uint8_t    *image;

	if (filter_plan_union(a, b, false, &plan) != FILTER_OK)
		give_up("cannot plan a union");
	image = allocate_image(plan.bytes);
	if (!filter_unite(image, a, b, &plan))
		give_up("cannot unite two filters");
	release_image(a);
	release_image(b);
	return image;
}

/* Saturated elements, and some that were removed */
static uint8_t *
saturated(uint8_t *image)
{
	uint64_t	hash = element(2);

	for (int i = 0; i < 2 * 4; i++)
		add_hashes(&image, &hash, 1);
	add_numbers(&image, 0, 40);
	for (uint64_t i = 10; i < 30; i++)
	{
		hash = number_hash(i);
		filter_remove(image, hash);
	}
	return image;
}

/* A filter of another system, of "count" elements */
static uint8_t *
foreign(const ForeignFormat *format, uint64_t capacity, uint64_t count)
{
	ForeignType type = {.format = format, .form = FORM_BYTEA};
	FilterParams params = {
		.capacity = capacity,
		.error_rate = 0.1,
	};
	FilterPlan	plan;
	uint8_t    *image;

	params.class = foreign_class(&type);
	if (foreign_plan(format, &params, &plan) != FILTER_OK)
		give_up("cannot plan a foreign filter");
	image = allocate_image(plan.bytes);
	filter_init(image, &params, &plan);
	for (uint64_t i = 0; i < count; i++)
	{
		ForeignHash hash;

		/* as subject.c has its elements */
		hash.a = number_hash(i);
		hash.b = number_hash(hash.a);
		foreign_add_batch(image, &hash, 1);
	}
	return image;
}

/* Two layers of one size, as RedisBloom has them where filters do not expand */
static uint8_t *
foreign_grown(uint8_t *first)
{
	FilterParams params = image_get_params(first);
	FilterPlan	plan;
	uint8_t    *image;

	plan.layers = 2;
	for (int i = 0; i < 2; i++)
		plan.layer[i] = image_get_layer(first, 0);
	if (filter_plan_layers(&plan) != FILTER_OK)
		give_up("cannot plan two layers");
	image = allocate_image(plan.bytes);
	image_put_layers(image, &params, plan.layer, plan.layers, plan.bytes);
	for (int i = 0; i < 2; i++)
		memcpy(image_layer_bits(image, i), image_layer_bits(first, 0),
			   image_layer_bytes(first, 0));
	release_image(first);
	return image;
}

static void
write_pair(const char *name, const uint8_t *a, const uint8_t *b)
{
	uint8_t		input[INPUT_MAX];
	const uint8_t *images[2] = {a, b};
	size_t		at = 0;

	for (int i = 0; i < 2; i++)
	{
		uint64_t	bytes = image_bytes(images[i]);

		if (at + 2 + bytes + 2 * operation_count > INPUT_MAX)
			give_up("an input is too large");
		input[at++] = bytes;
		input[at++] = bytes >> 8;
		memcpy(input + at, images[i], bytes);
		at += bytes;
	}
	/* each operation once */
	for (int i = 0; i < operation_count; i++)
	{
		input[at++] = i;
		input[at++] = number_hash(i);
	}
	write_input("operations", name, input, at);
}

/*
 * What RedisBloom dumps of a cuckoo filter, DUMP_BYTES to "at": layers of 8 and 16 buckets
 * of 2 slots, 2 entries in each
 */
static void
dump_redisbloom_cuckoo(uint8_t *at)
{
	static const uint8_t sizes[] = {16, 32};
	uint64_t	end = 1;

	memset(at, 0, DUMP_BYTES);
	put64(at, 1);
	put32(at + 8, 38);
	put64(at + 12, 4);			/* elements */
	put64(at + 20, 8);			/* buckets */
	put64(at + 36, 2);			/* layers */
	put16(at + 44, 2);			/* slots */
	put16(at + 46, 20);			/* moves */
	put16(at + 48, 2);			/* growth */
	at += 12 + 38;
	for (int i = 0; i < 2; i++)
	{
		put64(at, end += sizes[i]);
		put32(at + 8, sizes[i]);
		for (int j = 0; j < 2; j++)
		{
			uint64_t	hash = number_hash(i + j);

			at[12 + 2 * (hash % (sizes[i] / 2)) + j] = 1 + hash % 255;
		}
		at += 12 + sizes[i];
	}
}

static uint8_t *
redisbloom_cuckoo(void)
{
	uint8_t		bytes[DUMP_BYTES];
	ForeignType type = {.format = &redisbloom_cuckoo_format, .form = FORM_BYTEA};
	FilterParams params = {.class = foreign_class(&type)};
	ForeignSource source = {.bytes = bytes, .length = DUMP_BYTES, .format = type.format};
	ForeignImport import;
	uint8_t    *image;

	dump_redisbloom_cuckoo(bytes);
	must(foreign_parse(&source, &import) == NULL, "refused");
	image = allocate_image(import.plan.bytes);
	foreign_import(&source, &import, &params, image);
	return image;
}

static void
write_redisbloom_cuckoo(void)
{
	uint8_t		input[5 + DUMP_BYTES] = {0};

	while (foreign_formats[input[0]] != &redisbloom_format)
		input[0]++;
	input[1] = FORM_BYTEA;
	dump_redisbloom_cuckoo(input + 5);
	write_input("foreign", "redisbloom_cuckoo", input, sizeof(input));
}

static void
write_images(void)
{
	Sample		samples[] = {
		{"bloom_empty", empty(FILTER_BLOOM)},
		{"bloom_explicit_none", set_of(FILTER_BLOOM, 0)},
		{"bloom_explicit", set_of(FILTER_BLOOM, 40)},
		{"bloom_new", without_class(make_filter(1600, 0.4, 2))},
		{"bloom_block512", filled(make_filter(1600, 0.4, 2), 0, 30)},
		{"bloom_block512_fixed", filled(make_filter(1600, 0.4, 0), 0, 60)},
		{"bloom_block512_grown", filled(make_filter(1600, 0.4, 1), 0, 1700)},
		{"bloom_small_new", without_class(make_filter(50, 0.01, 2))},
		{"bloom_small", filled(make_filter(40, 0.01, 2), 0, 30)},
		{"bloom_small_fixed", filled(make_filter(60, 0.1, 0), 0, 60)},
		{"bloom_small_grown", filled(make_filter(20, 0.1, 2), 0, 120)},
		{"bloom_small_fine", filled(make_filter(30, 1e-5, 2), 0, 30)},
		{"bloom_small_fine_grown", filled(make_filter(10, 1e-4, 3), 0, 60)},
		{"bloom_classic", filled(make_classic(1001, 7), 0, 60)},
		{"bloom_classic_whole", filled(make_classic(512, 3), 0, 60)},
		{"bloom_beside", united(filled(make_filter(20, 0.1, 2), 0, 40),
								filled(make_filter(20, 0.1, 2), 50, 40))},
		{"bloom_counting_new", without_class(make_counting(20, 0.1, 2))},
		{"bloom_counting", saturated(make_counting(50, 0.1, 2))},
		{"bloom_counting_fixed", filled(make_counting(60, 0.4, 0), 0, 60)},
		{"bloom_counting_fine", saturated(make_counting(30, 1e-4, 2))},
		{"bloom_counting_grown", filled(make_counting(60, 0.4, 1), 0, 250)},
		{"cuckoo_empty", empty(FILTER_CUCKOO)},
		{"cuckoo_explicit", set_of(FILTER_CUCKOO, 20)},
		{"cuckoo_new", without_class(make_cuckoo(20, 0.03, 2))},
		{"cuckoo", filled(make_cuckoo(60, 0.01, 2), 0, 50)},
		{"cuckoo_fixed", filled(make_cuckoo(100, 0.5, 0), 0, 100)},
		{"cuckoo_fine", filled(make_cuckoo(20, 1e-7, 2), 0, 20)},
		{"cuckoo_grown", filled(make_cuckoo(10, 0.1, 2), 0, 100)},
		{"cuckoo_grown_evenly", filled(make_cuckoo(20, 0.1, 1), 0, 80)},
		{"cuckoo_saturated", saturated(make_cuckoo(20, 0.1, 2))},
		{"cuckoo_beside", united(filled(make_cuckoo(10, 0.03, 2), 0, 40),
								 filled(make_cuckoo(10, 0.03, 2), 50, 40))},
		{"foreign_guava", foreign(&guava_format, 60, 40)},
		{"foreign_parquet", foreign(&parquet_format, 100, 50)},
		{"foreign_parquet_larger", foreign(&parquet_format, 400, 50)},
		{"foreign_datasketches", foreign(&datasketches_format, 60, 60)},
		{"foreign_redisbloom", foreign_grown(foreign(&redisbloom_format, 60, 40))},
		{"foreign_redis_bits", foreign(&redis_guava32_format, 60, 40)},
		{"foreign_redisbloom_cuckoo", redisbloom_cuckoo()}
	};
	const int	count = sizeof(samples) / sizeof(samples[0]);

	for (int i = 0; i < count; i++)
	{
		write_input("image", samples[i].name, samples[i].image,
					image_bytes(samples[i].image));
		write_pair(samples[i].name, samples[i].image, samples[i].image);
		if (i > 0)
		{
			char		name[128];

			snprintf(name, sizeof(name), "%s,%s", samples[i].name,
					 samples[i - 1].name);
			write_pair(name, samples[i].image, samples[i - 1].image);
		}
	}
	for (int i = 0; i < count; i++)
		release_image(samples[i].image);
}

/* What each format writes, without elements and with some */
static void
write_foreign(void)
{
	for (int format = 0; format < foreign_format_count; format++)
		for (int count = 0; count <= 40; count += 40)
			for (int layers = 1; layers <= 2; layers++)
			{
				uint8_t		input[INPUT_MAX];
				uint8_t    *image;
				FilterLayer layer;
				char		name[64];

				if (!foreign_formats[format]->size)
					continue;
				image = foreign(foreign_formats[format], 60, count);
				layer = image_get_layer(image, 0);
				if (layers > 1)
				{
					if (!foreign_formats[format]->counted &&
						!foreign_formats[format]->needs_shape)
					{
						release_image(image);
						continue;
					}
					image = foreign_grown(image);
				}
				/* as fuzz_foreign.c reads it */
				input[0] = format;
				input[1] = FORM_BYTEA;
				put16(input + 2, layer.size - 1);
				input[4] = layer.hashes - 1;
				foreign_export(image, input + 5);
				snprintf(name, sizeof(name), "%d_%d_%d", format, count, layers);
				write_input("foreign", name, input,
							5 + foreign_export_bytes(image));
				release_image(image);
			}
}

static void
write_sets(void)
{
	uint8_t		input[1 + 8 * 64];

	for (int times = 0; times < 256; times = 4 * times + 3)
	{
		char		name[16];

		input[0] = times;
		for (int i = 0; i < 64; i++)
			put64(input + 1 + 8 * i, number_hash(i));
		snprintf(name, sizeof(name), "%d", times);
		write_input("hashset", name, input, sizeof(input));
	}
}

static void
write_requests(void)
{
	static const double rates[] = {ERROR_RATE_MAX, 0.01, 1e-4, ERROR_RATE_MIN};

	static const char *const kinds[] = {"bloom", "cuckoo", "classic", NULL,
	"counting"};

	for (int kind = 0; kind < 5; kind++)
		for (int i = 0; i < 4; i++)
		{
			/* as fuzz_sizing.c reads it */
			uint8_t		input[27] = {0};
			char		name[32];

			put64(input, UINT64_C(10) << (8 * i));
			put_double(input + 8, rates[i]);
			put64(input + 16, UINT64_MAX / 2);
			input[24] = 2 * (i % 2);
			if (kinds[kind] == NULL)
				continue;
			input[25] = kind;
			input[26] = 7;
			snprintf(name, sizeof(name), "%s_%d", kinds[kind], i);
			write_input("sizing", name, input, sizeof(input));
		}
}

int
main(int argc, char **argv)
{
	if (argc != 2)
		give_up("usage: make_corpus DIRECTORY");
	directory = argv[1];
	write_images();
	write_foreign();
	write_redisbloom_cuckoo();
	write_sets();
	write_requests();
	return 0;
}
