/*
 * fuzz_foreign.c
 *	  Bytes that may be a filter of another system: import, and on what was read
 *	  all operations, and export.
 *
 * An input is a format, a form of element, two bytes of the number of bits and
 * one of hashes (for the formats that do not tell them), and the other system's
 * bytes.
 */
#include "fuzz.h"

#include "../../src/filter/foreign/foreign.h"

#define PREFIX_BYTES	5

/* Two rounds of all operations (subject.c), and some */
#define PROGRAM_STEPS	32

/* What is exported must be read again, and be the same then. */
static void
must_round_trip(const uint8_t *image, const ForeignSource *like)
{
	ForeignSource source = *like;
	ForeignImport import;
	FilterParams params;
	FilterLayer layer;
	const char *fault;
	uint8_t    *bytes;
	uint8_t    *again;
	uint8_t    *back;

	/* strings of other lengths than the first are not told apart */
	if (like->format->needs_shape && image_layers(image) > 1)
		return;
	layer = image_get_layer(image, 0);
	source.length = foreign_export_bytes(image);
	bytes = allocate_image(source.length);
	foreign_export(image, bytes);
	source.bytes = bytes;
	source.bits = layer.size;
	source.hashes = layer.hashes;
	fault = foreign_parse(&source, &import);
	must(fault == NULL, "export is refused: %s", fault);
	params = image_get_params(image);
	params.capacity = 0;
	params.error_rate = 0;
	back = allocate_image(import.plan.bytes);
	foreign_import(&source, &import, &params, back);
	fault = image_check(back, import.plan.bytes, FILTER_BLOOM);
	must(fault == NULL, "import of an export is unsound: %s", fault);
	must(image_seed(image) == import.seed, "another seed");
	must(foreign_export_bytes(back) == source.length, "another length");
	again = allocate_image(source.length);
	foreign_export(back, again);
	must(memcmp(again, bytes, source.length) == 0, "other bytes");
	release_image(bytes);
	release_image(again);
	release_image(back);
}

/* What was imported is exported as the same bytes, but for how chunks are cut. */
static void
must_be_as_it_was(const uint8_t *image, const ForeignSource *source)
{
	uint8_t    *bytes;

	if (source->format == &redisbloom_format || source->format == &redisbloom_cuckoo_format)
		return;
	must(foreign_export_bytes(image) == source->length, "another length than before");
	bytes = allocate_image(source->length);
	foreign_export(image, bytes);
	must(memcmp(bytes, source->bytes, source->length) == 0, "other bytes than before");
	release_image(bytes);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ForeignSource source = {.any_version = true};
	ForeignImport import;
	ForeignType type = {0};
	FilterParams params = {.kind = FILTER_BLOOM};
	Subject		subjects[2];
	uint8_t		program[2 * PROGRAM_STEPS];
	FilterLayer layer;
	uint8_t    *exact;
	uint8_t    *image;

	begin_input("bytes of other systems", 0.01);
	if (size < PREFIX_BYTES)
		return 0;
	source.format = foreign_formats[data[0] % foreign_format_count];
	source.bits = 1 + get16(data + 2);
	source.hashes = 1 + data[4] % FOREIGN_MAX_HASHES;
	type.form = (ForeignForm) (data[1] % FOREIGN_FORMS);
	type.precision = type.form == FORM_NUMERIC ? 1 : 0;
	/* in memory that ends where the bytes do */
	source.length = size - PREFIX_BYTES;
	exact = allocate_image(source.length);
	memcpy(exact, data + PREFIX_BYTES, source.length);
	source.bytes = exact;
	if (foreign_parse(&source, &import) != NULL || import.plan.bytes > RESULT_MAX)
	{
		release_image(exact);
		return 0;
	}
	type.format = import.format;
	params.class = foreign_class(&type);
	params.seed = import.seed;
	image = allocate_image(import.plan.bytes);
	foreign_import(&source, &import, &params, image);
	if (subject_open(&subjects[0], image, import.plan.bytes))
	{
		let_through++;
		must_be_as_it_was(image, &source);
		must_round_trip(image, &source);
		/* the other one was made for fewer elements */
		layer = image_get_layer(image, 0);
		if (layer.capacity > layer.multiple && layer.capacity > 1)
			layer.capacity--;
		image_put_layer(image, 0, &layer);
		if (!subject_open(&subjects[1], image, import.plan.bytes))
			subject_open(&subjects[1], subjects[0].image, import.plan.bytes);
		for (int i = 0; i < PROGRAM_STEPS; i++)
		{
			program[2 * i] = i;
			program[2 * i + 1] = number_hash(i);
		}
		subjects_operate(subjects, program, sizeof(program));
		must_round_trip(subjects[0].image, &source);
		subject_close(&subjects[0]);
		subject_close(&subjects[1]);
	}
	release_image(image);
	release_image(exact);
	return 0;
}

/* Mostly behind the format: with another one, hardly anything is read. */
size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
						unsigned seed)
{
	uint64_t	random = number_hash(seed);

	if (size < PREFIX_BYTES || random % 16 == 0)
		return LLVMFuzzerMutate(data, size, max_size);
	/* the length stays: all formats tell it */
	if (size > PREFIX_BYTES && random % 2 == 0)
	{
		size_t		at = PREFIX_BYTES + (random >> 8) % (size - PREFIX_BYTES);

		data[at] ^= 1 << (random >> 40) % 8;
		return size;
	}
	return PREFIX_BYTES + LLVMFuzzerMutate(data + PREFIX_BYTES,
										   size - PREFIX_BYTES,
										   max_size - PREFIX_BYTES);
}
