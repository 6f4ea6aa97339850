/*
 * test_image.c
 *	  The gate for bytes from outside: every wrong field is refused, and
 *	  whatever passes can be probed, added to, grown and united.
 *
 * The second half is only proven by a build with sanitizers, which sees a byte
 * read behind an image: make unit-check-sanitize.
 */
#include "mutations.h"


#include <math.h>

/* Sound images of every layout; the names say what is in them. */
typedef enum Sample
{
	EMPTY,
	EXPLICIT_NONE,
	EXPLICIT_ONE,
	EXPLICIT_MANY,
	BLOCK_NEW,					/* nothing in it, no class yet */
	BLOCK_FIXED,
	BLOCK_GROWN,				/* several layers */
	BLOCK_SIDE_BY_SIDE,			/* a union */
	TWO_BLOCKS,					/* block512x2 */
	TWO_BLOCKS_GROWN,
	SMALL_NEW,					/* compact, and no class yet */
	SMALL_FIXED,
	SMALL_EXACT,				/* as aggregates make it */
	SMALL_GROWN,				/* several layers, small and not compact */
	SMALL_SIDE_BY_SIDE,
	SMALL_AND_BLOCKS,			/* layers of both */
	CLASSIC_ODD,				/* bits that do not fill a byte */
	CLASSIC_WHOLE,				/* bits that fill their bytes */
	SAMPLES
} Sample;

static uint8_t *samples[SAMPLES];

static bool
is_explicit(int sample)
{
	return image_layout(samples[sample]) == LAYOUT_EXPLICIT;
}

static bool
is_classic(int sample)
{
	return image_layout(samples[sample]) == LAYOUT_CLASSIC;
}

static bool
is_compact(int sample)
{
	return image_is_compact(samples[sample]);
}

static bool
has_layers(int sample)
{
	return image_layers(samples[sample]) > 0;
}

/* The union of two grown filters that have nothing in common */
static uint8_t *
make_side_by_side(uint64_t capacity, uint64_t elements)
{
	uint8_t    *a = make_filter(capacity, 0.1, 4);
	uint8_t    *b = make_filter(capacity, 0.1, 4);
	uint8_t    *united;
	FilterPlan	plan;

	add_numbers(&a, 0, elements);
	add_numbers(&b, elements, elements);
	if (filter_plan_union(a, b, false, &plan) != FILTER_OK)
		give_up("cannot plan a union");
	united = allocate_image(plan.bytes);
	filter_unite(united, a, b, &plan);
	release_image(a);
	release_image(b);
	return united;
}

static void
make_samples(void)
{
	FilterParams none = {0};
	uint64_t	hashes[100];

	for (int i = 0; i < lengthof(hashes); i++)
		hashes[i] = number_hash(i);
	samples[EMPTY] = allocate_image(IMAGE_HEADER_BYTES);
	image_put_header(samples[EMPTY], LAYOUT_EMPTY, &none);
	samples[EXPLICIT_NONE] = make_explicit(NULL, 0);
	samples[EXPLICIT_ONE] = make_explicit(hashes, 1);
	samples[EXPLICIT_MANY] = make_explicit(hashes, lengthof(hashes));
	samples[BLOCK_NEW] = make_filter(1600, 0.1, 2);
	put64(samples[BLOCK_NEW] + IMAGE_OFF_CLASS, 0);
	samples[BLOCK_FIXED] = make_filter(1600, 0.1, 0);
	add_numbers(&samples[BLOCK_FIXED], 0, 1600);
	samples[BLOCK_GROWN] = make_filter(1600, 0.1, 4);
	add_numbers(&samples[BLOCK_GROWN], 0, 4000);
	samples[BLOCK_SIDE_BY_SIDE] = make_side_by_side(1600, 2000);
	samples[TWO_BLOCKS] = make_filter(1600, 1e-4, 2);
	add_numbers(&samples[TWO_BLOCKS], 0, 1600);
	samples[TWO_BLOCKS_GROWN] = make_filter(1600, 1e-4, 4);
	add_numbers(&samples[TWO_BLOCKS_GROWN], 0, 2000);
	samples[SMALL_NEW] = make_filter(50, 0.01, 2);
	put64(samples[SMALL_NEW] + IMAGE_OFF_CLASS, 0);
	samples[SMALL_FIXED] = make_filter(10, 0.01, 0);
	add_numbers(&samples[SMALL_FIXED], 0, 10);
	samples[SMALL_EXACT] = make_exact(30, 0.01, 2);
	add_numbers(&samples[SMALL_EXACT], 0, 30);
	finish_exact(samples[SMALL_EXACT]);
	samples[SMALL_GROWN] = make_filter(50, 0.01, 2);
	add_numbers(&samples[SMALL_GROWN], 0, 500);
	samples[SMALL_SIDE_BY_SIDE] = make_side_by_side(50, 80);
	samples[SMALL_AND_BLOCKS] = make_filter(1000, 0.1, 16);
	add_numbers(&samples[SMALL_AND_BLOCKS], 0, 1200);
	samples[CLASSIC_ODD] = make_classic(1001, 5);
	add_numbers(&samples[CLASSIC_ODD], 0, 80);
	samples[CLASSIC_WHOLE] = make_classic(1024, 5);
	add_numbers(&samples[CLASSIC_WHOLE], 0, 80);
}

static void
release_samples(void)
{
	for (int i = 0; i < SAMPLES; i++)
		release_image(samples[i]);
}

/* How wide a field is, and how a test changes it */
typedef enum Change
{
	BYTE_TO,
	SHORT_TO,
	WORD_TO,
	WORD_PLUS,
	DOUBLE_TO
} Change;

/* Which images a wrong value is wrong in */
typedef enum Where
{
	ANYWHERE,
	IN_EXPLICIT,
	NOT_IN_EXPLICIT,
	IN_LAYERED,
	IN_BLOCKS,
	IN_CLASSIC,
	NOT_IN_LAYERED
} Where;

typedef struct WrongValue
{
	const char *name;
	int			offset;
	Change		change;
	double		number;			/* for doubles */
	uint64_t	value;			/* for the others */
	Where		where;
} WrongValue;

static const WrongValue wrong_header[] = {
	{"magic", 0, BYTE_TO, 0, 'B', ANYWHERE},
	{"magic", 1, BYTE_TO, 0, 0, ANYWHERE},
	{"magic", 2, BYTE_TO, 0, 'n', ANYWHERE},
	{"version", 3, BYTE_TO, 0, 0, ANYWHERE},
	{"version", 3, BYTE_TO, 0, 2, ANYWHERE},
	{"version", 3, BYTE_TO, 0, 255, ANYWHERE},
	{"layout", IMAGE_OFF_LAYOUT, BYTE_TO, 0, 0, NOT_IN_EXPLICIT},
	{"layout", IMAGE_OFF_LAYOUT, BYTE_TO, 0, 1, IN_LAYERED},
	{"layout", IMAGE_OFF_LAYOUT, BYTE_TO, 0, 2, NOT_IN_LAYERED},
	{"layout", IMAGE_OFF_LAYOUT, BYTE_TO, 0, 3, NOT_IN_LAYERED},
	{"layout", IMAGE_OFF_LAYOUT, BYTE_TO, 0, 4, NOT_IN_LAYERED},
	{"layout", IMAGE_OFF_LAYOUT, BYTE_TO, 0, 4, IN_BLOCKS},
	{"layout", IMAGE_OFF_LAYOUT, BYTE_TO, 0, 2, IN_CLASSIC},
	{"layout", IMAGE_OFF_LAYOUT, BYTE_TO, 0, 3, IN_CLASSIC},
	{"layout", IMAGE_OFF_LAYOUT, BYTE_TO, 0, 5, ANYWHERE},
	{"layout", IMAGE_OFF_LAYOUT, BYTE_TO, 0, 255, ANYWHERE},
	{"flags", IMAGE_OFF_FLAGS, BYTE_TO, 0, IMAGE_FLAG_UNSORTED, ANYWHERE},
	{"flags", IMAGE_OFF_FLAGS, BYTE_TO, 0, 0x80, ANYWHERE},
	{"growth", IMAGE_OFF_GROWTH, BYTE_TO, 0, IMAGE_MAX_GROWTH + 1, ANYWHERE},
	{"growth", IMAGE_OFF_GROWTH, BYTE_TO, 0, 255, ANYWHERE},
	{"growth", IMAGE_OFF_GROWTH, BYTE_TO, 0, 2, IN_CLASSIC},
	{"layers", IMAGE_OFF_LAYERS, BYTE_TO, 0, 0, IN_LAYERED},
	{"layers", IMAGE_OFF_LAYERS, BYTE_TO, 0, 1, NOT_IN_LAYERED},
	{"layers", IMAGE_OFF_LAYERS, BYTE_TO, 0, 4, ANYWHERE},
	{"layers", IMAGE_OFF_LAYERS, BYTE_TO, 0, IMAGE_MAX_LAYERS, ANYWHERE},
	{"layers", IMAGE_OFF_LAYERS, BYTE_TO, 0, IMAGE_MAX_LAYERS + 1, ANYWHERE},
	{"layers", IMAGE_OFF_LAYERS, BYTE_TO, 0, 255, ANYWHERE},
	{"reserved", IMAGE_OFF_RESERVED, BYTE_TO, 0, 1, ANYWHERE},
	{"reserved", IMAGE_OFF_RESERVED + 1, BYTE_TO, 0, 1, ANYWHERE},
	{"reserved", IMAGE_OFF_RESERVED + 2, BYTE_TO, 0, 1, ANYWHERE},
	{"reserved", IMAGE_OFF_RESERVED + 3, BYTE_TO, 0, 0x80, ANYWHERE},
	{"class", IMAGE_OFF_CLASS, BYTE_TO, 0, ' ', ANYWHERE},
	{"class", IMAGE_OFF_CLASS, BYTE_TO, 0, 0x7f, ANYWHERE},
	{"class", IMAGE_OFF_CLASS, BYTE_TO, 0, 0x80, ANYWHERE},
	{"class", IMAGE_OFF_CLASS + 1, BYTE_TO, 0, 1, ANYWHERE},
	{"class", IMAGE_OFF_CLASS + 7, BYTE_TO, 0, 'x', ANYWHERE},
	{"capacity", IMAGE_OFF_CAPACITY, WORD_TO, 0, UINT64_C(1) << 63, ANYWHERE},
	{"capacity", IMAGE_OFF_CAPACITY, WORD_TO, 0, UINT64_MAX, ANYWHERE},
	{"capacity", IMAGE_OFF_CAPACITY, WORD_TO, 0, 0, IN_BLOCKS},
	{"capacity", IMAGE_OFF_CAPACITY, WORD_TO, 0, 1, IN_CLASSIC},
	{"error rate", IMAGE_OFF_ERROR_RATE, DOUBLE_TO, 1, 0, ANYWHERE},
	{"error rate", IMAGE_OFF_ERROR_RATE, DOUBLE_TO, 0.51, 0, ANYWHERE},
	{"error rate", IMAGE_OFF_ERROR_RATE, DOUBLE_TO, 0.9e-7, 0, ANYWHERE},
	{"error rate", IMAGE_OFF_ERROR_RATE, DOUBLE_TO, 5e-324, 0, ANYWHERE},
	{"error rate", IMAGE_OFF_ERROR_RATE, DOUBLE_TO, 2, 0, ANYWHERE},
	{"error rate", IMAGE_OFF_ERROR_RATE, DOUBLE_TO, -0.01, 0, ANYWHERE},
	{"error rate", IMAGE_OFF_ERROR_RATE, DOUBLE_TO, -0.0, 0, ANYWHERE},
	{"error rate", IMAGE_OFF_ERROR_RATE, DOUBLE_TO, NAN, 0, ANYWHERE},
	{"error rate", IMAGE_OFF_ERROR_RATE, DOUBLE_TO, -NAN, 0, ANYWHERE},
	{"error rate", IMAGE_OFF_ERROR_RATE, DOUBLE_TO, INFINITY, 0, ANYWHERE},
	{"error rate", IMAGE_OFF_ERROR_RATE, DOUBLE_TO, -INFINITY, 0, ANYWHERE},
	{"error rate", IMAGE_OFF_ERROR_RATE, DOUBLE_TO, 0, 0, IN_BLOCKS},
	{"error rate", IMAGE_OFF_ERROR_RATE, DOUBLE_TO, 0.01, 0, IN_CLASSIC},
	{"count", IMAGE_OFF_COUNT, WORD_PLUS, 0, 1, ANYWHERE},
	{"count", IMAGE_OFF_COUNT, WORD_PLUS, 0, -1, ANYWHERE},
	/* times eight, these are 0 and 8 */
	{"count", IMAGE_OFF_COUNT, WORD_PLUS, 0, UINT64_C(1) << 61, ANYWHERE},
	{"count", IMAGE_OFF_COUNT, WORD_PLUS, 0, (UINT64_C(1) << 61) + 1, ANYWHERE},
	{"count", IMAGE_OFF_COUNT, WORD_TO, 0, UINT64_MAX, ANYWHERE},
	{"length", IMAGE_OFF_BYTES, WORD_PLUS, 0, 1, ANYWHERE},
	{"length", IMAGE_OFF_BYTES, WORD_PLUS, 0, -1, ANYWHERE},
	{"length", IMAGE_OFF_BYTES, WORD_PLUS, 0, 64, ANYWHERE},
	{"length", IMAGE_OFF_BYTES, WORD_PLUS, 0, UINT64_C(1) << 32, ANYWHERE},
	{"length", IMAGE_OFF_BYTES, WORD_TO, 0, 0, ANYWHERE},
	{"length", IMAGE_OFF_BYTES, WORD_TO, 0, UINT64_MAX, ANYWHERE},
};

/* In the header of a compact image, where it differs */
static const WrongValue wrong_compact[] = {
	{"flags", IMAGE_OFF_FLAGS, BYTE_TO, 0, IMAGE_FLAG_EXACT | 4, ANYWHERE},
	{"layers", IMAGE_OFF_LAYERS, BYTE_TO, 0, 2, ANYWHERE},
	{"error rate", IMAGE_OFF_ERROR_RATE, DOUBLE_TO, 0, 0, ANYWHERE},
	{"capacity", COMPACT_OFF_CAPACITY, SHORT_TO, 0, 0, ANYWHERE},
	{"capacity", COMPACT_OFF_CAPACITY, SHORT_TO, 0, SMALL_CAPACITY_MAX + 1, ANYWHERE},
	{"capacity", COMPACT_OFF_CAPACITY, SHORT_TO, 0, UINT16_MAX, ANYWHERE},
	{"bytes", COMPACT_OFF_BYTES, SHORT_TO, 0, 0, ANYWHERE},
	{"bytes", COMPACT_OFF_BYTES, SHORT_TO, 0, 1, ANYWHERE},
	{"bytes", COMPACT_OFF_BYTES, SHORT_TO, 0, SMALL_MAX_BYTES + 1, ANYWHERE},
	{"bytes", COMPACT_OFF_BYTES, SHORT_TO, 0, UINT16_MAX, ANYWHERE},
	{"bits full", COMPACT_OFF_BITS_FULL, SHORT_TO, 0, UINT16_MAX, ANYWHERE},
	{"hashes", COMPACT_OFF_HASHES, BYTE_TO, 0, 0, ANYWHERE},
	{"hashes", COMPACT_OFF_HASHES, BYTE_TO, 0, SMALL_MAX_HASHES + 1, ANYWHERE},
	{"hashes", COMPACT_OFF_HASHES, BYTE_TO, 0, 255, ANYWHERE},
};

/* In the descriptor of any layer */
static const WrongValue wrong_layer[] = {
	{"layout", LAYER_OFF_LAYOUT, BYTE_TO, 0, 0, IN_LAYERED},
	{"layout", LAYER_OFF_LAYOUT, BYTE_TO, 0, 1, IN_LAYERED},
	{"layout", LAYER_OFF_LAYOUT, BYTE_TO, 0, 2, IN_CLASSIC},
	{"layout", LAYER_OFF_LAYOUT, BYTE_TO, 0, 3, IN_CLASSIC},
	{"layout", LAYER_OFF_LAYOUT, BYTE_TO, 0, 4, IN_BLOCKS},
	{"layout", LAYER_OFF_LAYOUT, BYTE_TO, 0, 5, IN_LAYERED},
	{"layout", LAYER_OFF_LAYOUT, BYTE_TO, 0, 255, IN_LAYERED},
	{"hashes", LAYER_OFF_HASHES, BYTE_TO, 0, 0, IN_LAYERED},
	{"hashes", LAYER_OFF_HASHES, BYTE_TO, 0, 25, IN_BLOCKS},
	{"hashes", LAYER_OFF_HASHES, BYTE_TO, 0, 65, IN_CLASSIC},
	{"hashes", LAYER_OFF_HASHES, BYTE_TO, 0, 255, IN_LAYERED},
	{"reserved", LAYER_OFF_DETAIL, BYTE_TO, 0, 1, IN_LAYERED},
	{"reserved", LAYER_OFF_DETAIL + 5, BYTE_TO, 0, 1, IN_LAYERED},
	{"reserved", LAYER_OFF_MULTIPLE, WORD_TO, 0, 1, IN_LAYERED},
	{"reserved", LAYER_OFF_MULTIPLE, WORD_TO, 0, UINT64_C(1) << 63, IN_LAYERED},
	{"size", LAYER_OFF_SIZE, WORD_TO, 0, 0, IN_LAYERED},
	{"size", LAYER_OFF_SIZE, WORD_PLUS, 0, 1, IN_BLOCKS},
	{"size", LAYER_OFF_SIZE, WORD_PLUS, 0, -1, IN_BLOCKS},
	{"size", LAYER_OFF_SIZE, WORD_TO, 0, 1, IN_CLASSIC},
	{"size", LAYER_OFF_SIZE, WORD_PLUS, 0, 512, IN_CLASSIC},
	{"size", LAYER_OFF_SIZE, WORD_PLUS, 0, -512, IN_CLASSIC},
	/* times 512, these are 0 or small; then those just beyond the limit */
	{"size", LAYER_OFF_SIZE, WORD_PLUS, 0, UINT64_C(1) << 55, IN_LAYERED},
	{"size", LAYER_OFF_SIZE, WORD_PLUS, 0, UINT64_C(1) << 58, IN_LAYERED},
	{"size", LAYER_OFF_SIZE, WORD_TO, 0, UINT64_C(1) << 55, IN_LAYERED},
	{"size", LAYER_OFF_SIZE, WORD_TO, 0, (UINT64_C(1) << 23) + 1, IN_BLOCKS},
	{"size", LAYER_OFF_SIZE, WORD_TO, 0, UINT64_C(1) << 23, IN_BLOCKS},
	{"size", LAYER_OFF_SIZE, WORD_TO, 0, UINT64_C(1) << 32, IN_LAYERED},
	{"size", LAYER_OFF_SIZE, WORD_TO, 0, (UINT64_C(1) << 32) + 1, IN_LAYERED},
	{"size", LAYER_OFF_SIZE, WORD_TO, 0, UINT64_MAX, IN_LAYERED},
	{"size", LAYER_OFF_SIZE, WORD_TO, 0, UINT64_MAX - 6, IN_LAYERED},
	{"capacity", LAYER_OFF_CAPACITY, WORD_TO, 0, 0, IN_BLOCKS},
	{"capacity", LAYER_OFF_CAPACITY, WORD_TO, 0, 1, IN_CLASSIC},
	{"error rate", LAYER_OFF_ERROR_RATE, DOUBLE_TO, 0, 0, IN_BLOCKS},
	{"error rate", LAYER_OFF_ERROR_RATE, DOUBLE_TO, -0.0, 0, IN_LAYERED},
	{"error rate", LAYER_OFF_ERROR_RATE, DOUBLE_TO, 0.01, 0, IN_CLASSIC},
	{"error rate", LAYER_OFF_ERROR_RATE, DOUBLE_TO, 1, 0, IN_LAYERED},
	{"error rate", LAYER_OFF_ERROR_RATE, DOUBLE_TO, 0.11, 0, IN_LAYERED},
	{"error rate", LAYER_OFF_ERROR_RATE, DOUBLE_TO, -1, 0, IN_LAYERED},
	{"error rate", LAYER_OFF_ERROR_RATE, DOUBLE_TO, NAN, 0, IN_LAYERED},
	{"error rate", LAYER_OFF_ERROR_RATE, DOUBLE_TO, INFINITY, 0, IN_LAYERED},
	{"bits set", LAYER_OFF_BITS_SET, WORD_PLUS, 0, 1, IN_LAYERED},
	{"bits set", LAYER_OFF_BITS_SET, WORD_PLUS, 0, -1, IN_LAYERED},
	{"bits set", LAYER_OFF_BITS_SET, WORD_TO, 0, UINT64_MAX, IN_LAYERED},
	{"bits full", LAYER_OFF_BITS_FULL, WORD_TO, 0, 1 << 20, IN_LAYERED},
	{"bits full", LAYER_OFF_BITS_FULL, WORD_TO, 0, UINT64_MAX, IN_LAYERED},
	{"bits full", LAYER_OFF_BITS_FULL, WORD_TO, 0, 1, IN_CLASSIC},
	{"offset", LAYER_OFF_OFFSET, WORD_TO, 0, 0, IN_LAYERED},
	{"offset", LAYER_OFF_OFFSET, WORD_PLUS, 0, 1, IN_LAYERED},
	{"offset", LAYER_OFF_OFFSET, WORD_PLUS, 0, 64, IN_LAYERED},
	{"offset", LAYER_OFF_OFFSET, WORD_PLUS, 0, -64, IN_LAYERED},
	{"offset", LAYER_OFF_OFFSET, WORD_TO, 0, UINT64_MAX, IN_LAYERED},
	{"offset", LAYER_OFF_OFFSET, WORD_TO, 0, UINT64_MAX - 63, IN_LAYERED},
};

static bool
is_where(int sample, Where where)
{
	switch (where)
	{
		case IN_EXPLICIT:
			return is_explicit(sample);
		case NOT_IN_EXPLICIT:
			return !is_explicit(sample) && sample != EMPTY;
		case IN_LAYERED:
			return has_layers(sample);
		case IN_BLOCKS:
			return has_layers(sample) && !is_classic(sample);
		case IN_CLASSIC:
			return is_classic(sample);
		case NOT_IN_LAYERED:
			return !has_layers(sample);
		default:
			return true;
	}
}

/* Put a wrong value, at "base" of the image. */
static void
put_wrong(uint8_t *base, const WrongValue *wrong)
{
	uint8_t    *at = base + wrong->offset;

	switch (wrong->change)
	{
		case BYTE_TO:
			*at = wrong->value;
			break;
		case SHORT_TO:
			put16(at, wrong->value);
			break;
		case WORD_TO:
			put64(at, wrong->value);
			break;
		case WORD_PLUS:
			put64(at, get64(at) + wrong->value);
			break;
		case DOUBLE_TO:
			put_double(at, wrong->number);
			break;
	}
}

/* An image with this wrong value is refused, unless it had that value. */
static void
try_wrong(int sample, int base, const WrongValue *wrong)
{
	uint8_t    *image = copy_image(samples[sample]);
	uint64_t	bytes = image_bytes(image);

	put_wrong(image + base, wrong);
	if (memcmp(image, samples[sample], bytes) != 0)
		expect(image_check(image, bytes, FILTER_BLOOM) != NULL,
			   "sample %d: %s at %d, %llu or %g, is let through", sample,
			   wrong->name, base, (unsigned long long) wrong->value,
			   wrong->number);
	release_image(image);
}

static void
test_fields(void)
{
	begin_test("sound images of every layout are let through");
	for (int sample = 0; sample < SAMPLES; sample++)
	{
		const char *fault = image_check(samples[sample],
										image_bytes(samples[sample]),
										FILTER_BLOOM);

		expect(fault == NULL, "sample %d: %s", sample, fault);
	}
	for (int sample = 0; sample < SAMPLES; sample++)
	{
		bool		several = sample == BLOCK_GROWN ||
			sample == BLOCK_SIDE_BY_SIDE || sample == TWO_BLOCKS_GROWN ||
			sample == SMALL_GROWN || sample == SMALL_SIDE_BY_SIDE ||
			sample == SMALL_AND_BLOCKS;

		expect((image_layers(samples[sample]) > 1) == several,
			   "sample %d: %d layers", sample, image_layers(samples[sample]));
		expect(is_compact(sample) == (sample == SMALL_NEW ||
									  sample == SMALL_FIXED ||
									  sample == SMALL_EXACT),
			   "sample %d: compact", sample);
	}
	end_test();

	begin_test("every wrong field of the header is refused");
	for (int i = 0; i < lengthof(wrong_header); i++)
		for (int sample = 0; sample < SAMPLES; sample++)
			if (is_where(sample, wrong_header[i].where) &&
				!(is_compact(sample) &&
				  wrong_header[i].offset >= COMPACT_OFF_CAPACITY))
				try_wrong(sample, 0, &wrong_header[i]);
	for (int i = 0; i < lengthof(wrong_compact); i++)
		for (int sample = 0; sample < SAMPLES; sample++)
			if (is_compact(sample))
				try_wrong(sample, 0, &wrong_compact[i]);
	end_test();

	begin_test("every wrong field of a layer is refused");
	for (int i = 0; i < lengthof(wrong_layer); i++)
		for (int sample = 0; sample < SAMPLES; sample++)
			if (is_where(sample, wrong_layer[i].where) && !is_compact(sample))
				for (int j = 0; j < image_layers(samples[sample]); j++)
					try_wrong(sample, IMAGE_HEADER_BYTES +
							  IMAGE_LAYER_BYTES * j, &wrong_layer[i]);
	end_test();
}

/* A value of another length, whether or not its header says so */
static void
test_lengths(void)
{
	begin_test("truncated and extended images are refused");
	for (int sample = 0; sample < SAMPLES; sample++)
	{
		uint64_t	bytes = image_bytes(samples[sample]);

		for (uint64_t length = 0; length <= bytes + 200; length++)
		{
			uint8_t    *image = allocate_image(length);

			if (length == bytes)
			{
				release_image(image);
				continue;
			}
			memcpy(image, samples[sample], length < bytes ? length : bytes);
			expect(image_check(image, length, FILTER_BLOOM) != NULL,
				   "sample %d: %llu of %llu bytes are let through", sample,
				   (unsigned long long) length, (unsigned long long) bytes);
			/* of a compact image, a part is another one */
			if (length >= IMAGE_HEADER_BYTES && !is_compact(sample))
			{
				put64(image + IMAGE_OFF_BYTES, length);
				expect(image_check(image, length, FILTER_BLOOM) != NULL,
					   "sample %d: %llu of %llu bytes, said so, let through",
					   sample, (unsigned long long) length,
					   (unsigned long long) bytes);
			}
			release_image(image);
		}
	}
	end_test();
}

/* Is the byte in the descriptor of a small layer? */
static bool
at_small_layer(int sample, uint64_t at)
{
	int			i = (at - IMAGE_HEADER_BYTES) / IMAGE_LAYER_BYTES;

	return image_get_layer(samples[sample], i).layout == LAYOUT_SMALL;
}

/*
 * Bytes before the content whose bits may be another sound value: the
 * requested parameters of a filter, its elements' class and seed; the number of
 * bits an element sets, and in a later layer in one block or two.  That is all that
 * damage can change unseen; and, in a compact image, the bits.
 */
static bool
is_free(int sample, uint64_t at)
{
	uint64_t	in_layer = (at - IMAGE_HEADER_BYTES) % IMAGE_LAYER_BYTES;

	if (is_compact(sample))
		return at == IMAGE_OFF_FLAGS || at == IMAGE_OFF_GROWTH ||
			(at >= IMAGE_OFF_CLASS && at < COMPACT_OFF_BYTES) ||
			at >= COMPACT_OFF_BITS_FULL;
	if (at < IMAGE_HEADER_BYTES)
		return at == IMAGE_OFF_GROWTH ||
			(at >= IMAGE_OFF_CLASS && at < IMAGE_OFF_COUNT) ||
			(at == IMAGE_OFF_LAYOUT && sample == EMPTY);
	return in_layer == LAYER_OFF_HASHES ||
		(in_layer == LAYER_OFF_LAYOUT && at > IMAGE_HEADER_BYTES) ||
		(in_layer >= LAYER_OFF_CAPACITY && in_layer < LAYER_OFF_BITS_SET) ||
		(in_layer >= LAYER_OFF_BITS_FULL && in_layer < LAYER_OFF_OFFSET) ||
	/* the bits behind the last one leave some room */
		(in_layer >= LAYER_OFF_SIZE && in_layer < LAYER_OFF_SIZE + 2 &&
		 (is_classic(sample) || at_small_layer(sample, at)));
}

/* Hashes may become others that are still in order. */
static bool
still_in_order(const uint8_t *image)
{
	for (uint64_t i = 1; i < image_count(image); i++)
		if (get64(image_hashes(image) + 8 * i) <=
			get64(image_hashes(image) + 8 * (i - 1)))
			return false;
	return true;
}

static void
test_flips(void)
{
	begin_test("any single flipped bit is refused, unless it makes another value");
	for (int sample = 0; sample < SAMPLES; sample++)
	{
		uint8_t    *image = copy_image(samples[sample]);
		uint64_t	bytes = image_bytes(image);
		uint64_t	descriptors = is_compact(sample) ? bytes :
			IMAGE_HEADER_BYTES + IMAGE_LAYER_BYTES * (uint64_t) image_layers(image);

		for (uint64_t bit = 0; bit < 8 * bytes; bit++)
		{
			uint64_t	at = bit / 8;
			bool		free = at < descriptors && is_free(sample, at);

			image[at] ^= 1 << (bit % 8);
			if (at >= descriptors && is_explicit(sample))
				free = still_in_order(image);
			expect(free || image_check(image, bytes, FILTER_BLOOM) != NULL,
				   "sample %d: bit %llu of byte %llu", sample,
				   (unsigned long long) bit % 8, (unsigned long long) at);
			image[at] ^= 1 << (bit % 8);
		}
		release_image(image);
	}
	end_test();
}

/* Faults that take two fields to make */
static void
test_combined(void)
{
	uint8_t    *image;

	begin_test("elements of no class, hashes out of order, bits behind m");
	for (int sample = 0; sample < SAMPLES; sample++)
	{
		image = copy_image(samples[sample]);
		put64(image + IMAGE_OFF_CLASS, 0);
		expect((image_check(image, image_bytes(image), FILTER_BLOOM) == NULL) ==
			   (sample == EMPTY || sample == EXPLICIT_NONE ||
				sample == BLOCK_NEW || sample == SMALL_NEW),
			   "sample %d: no class", sample);
		release_image(image);
	}
	image = copy_image(samples[EXPLICIT_MANY]);
	put64(image_hashes(image) + 8, get64(image_hashes(image)));
	expect(image_check(image, image_bytes(image), FILTER_BLOOM) != NULL, "a hash twice");
	put64(image_hashes(image) + 8, get64(image_hashes(image)) - 1);
	expect(image_check(image, image_bytes(image), FILTER_BLOOM) != NULL, "out of order");
	release_image(image);

	/* 1,001 bits end within a byte, and bytes follow */
	for (int bit = 1001; bit < 1024; bit++)
	{
		FilterLayer layer;

		image = copy_image(samples[CLASSIC_ODD]);
		layer = image_get_layer(image, 0);
		image[layer.offset + bit / 8] |= 1 << (bit % 8);
		layer.bits_set++;
		image_put_layer(image, 0, &layer);
		expect(image_check(image, image_bytes(image), FILTER_BLOOM) != NULL,
			   "bit %d of 1001", bit);
		release_image(image);
	}

	end_test();

	/* as filter_init() makes them, if it is told to */
	begin_test("one block as two, and one small layer that is not compact");
	for (int i = 0; i < 4; i++)
	{
		FilterParams params = {
			.capacity = 10, .error_rate = 0.01, .class = SOME_CLASS
		};
		FilterPlan	plan = {.layers = 1};
		FilterLayer *layer = &plan.layer[0];

		layer_plan(10, 0.01, LAYER_FIXED, IMAGE_MAX_BITS, layer);
		if (i < 3)
			blocks_plan(10, 0.01, LAYER_FIXED, IMAGE_MAX_BITS, layer);
		layer->offset = IMAGE_HEADER_BYTES + IMAGE_LAYER_BYTES;
		plan.bytes = layer->offset + image_aligned(layer_bytes(layer));
		if (i == 1)
			layer->size = 1;
		if (i == 2)
		{
			layer->size = 1;
			layer->layout = LAYOUT_BLOCK512X2;
		}
		plan.bytes = layer->offset + layer_bytes(layer);
		image = allocate_image(plan.bytes);
		if (i < 3)
			filter_init(image, &params, &plan);
		else
		{
			image_put_header(image, LAYOUT_BLOCK512, &params);
			image_set_layers(image, 1, plan.bytes);
			image_put_layer(image, 0, layer);
		}
		expect((image_check(image, plan.bytes, FILTER_BLOOM) == NULL) == (i < 2),
			   "case %d", i);
		release_image(image);
	}
	end_test();
}

/* Values for a field that a mistake in a check would let through */
static uint64_t
interesting_value(void)
{
	static const double numbers[] = {
		0, -0.0, 1, 0.5, 1e-7, 1e-20, 5e-324, 1e-310, 0.9999999999999999, -1,
		1e308
	};
	uint64_t	value;

	switch (random_below(6))
	{
		case 0:
			return random_below(70);
		case 1:
			return UINT64_C(1) << random_below(64);
		case 2:
			return (UINT64_C(1) << random_below(64)) - 1;
		case 3:
			return UINT64_MAX - random_below(600);
		case 4:
			put_double((uint8_t *) &value,
					   numbers[random_below(lengthof(numbers))]);
			return le64(value);
		default:
			return random64();
	}
}

static void
damage(uint8_t *image, uint64_t bytes, const uint8_t *sample)
{
	static const int header_words[] = {
		COMPACT_OFF_CAPACITY, IMAGE_OFF_CLASS, IMAGE_OFF_SEED, IMAGE_OFF_CAPACITY,
		IMAGE_OFF_ERROR_RATE, IMAGE_OFF_COUNT, IMAGE_OFF_BYTES
	};

	/* descriptors that are there, whether or not the sample has that many */
	uint64_t	layers = bytes <= IMAGE_HEADER_BYTES ? 0 :
		(bytes - IMAGE_HEADER_BYTES) / IMAGE_LAYER_BYTES;
	uint64_t	at;

	(void) sample;
	if (layers > 4)
		layers = 4;
	switch (random_below(layers > 0 ? 7 : 4))
	{
		case 0:
			image[random_below(bytes)] ^= 1 << random_below(8);
			break;
		case 1:
			image[random_below(bytes)] = random64();
			break;
		case 2:
			at = header_words[random_below(lengthof(header_words))];
			if (at + sizeof(uint64_t) <= bytes)
				put64(image + at, interesting_value());
			break;
		case 3:
			at = IMAGE_OFF_LAYOUT + random_below(4);
			image[at] = random_below(LAYOUT_SMALL + 1);
			break;
		case 4:
			at = LAYER_OFF_SIZE + 8 * random_below(7);
			put64(image_layer_at(image, random_below(layers)) + at,
				  interesting_value());
			break;
		case 5:
			at = random_below(2);	/* layout or hashes */
			image_layer_at(image, random_below(layers))[at] =
				random_below(at == 0 ? LAYOUT_SMALL + 1 : 70);
			break;
		case 6:
			at = random_below(bytes / 8);
			put64(image + 8 * at, random64());
			break;
	}
}

static void
repair(uint8_t *image, uint64_t bytes)
{
	uint64_t	offset;

	if (image_is_compact(image))
	{
		put16(image + COMPACT_OFF_BYTES, bytes - IMAGE_COMPACT_BYTES);
		return;
	}
	if (bytes < IMAGE_HEADER_BYTES)
		return;
	put64(image + IMAGE_OFF_BYTES, bytes);
	offset = IMAGE_HEADER_BYTES +
		IMAGE_LAYER_BYTES * (uint64_t) image_layers(image);
	if (offset > bytes)
		return;
	for (int i = 0; i < image_layers(image); i++)
	{
		FilterLayer layer = image_get_layer(image, i);

		if (layer.layout < LAYOUT_BLOCK512 || layer.layout > LAYOUT_SMALL ||
			layer.size > IMAGE_MAX_BITS ||
			layer_bytes(&layer) > bytes - offset)
			return;
		put64(image_layer_at(image, i) + LAYER_OFF_OFFSET, offset);
		put64(image_layer_at(image, i) + LAYER_OFF_BITS_SET,
			  count_bits(image + offset,
						 layer_bytes(&layer)));
		offset += layer_bytes(&layer);
	}
}

/* Results larger than this are planned but not made. */
#define LARGE			(UINT64_C(1) << 20)

/* Unite an image with another one, in both ways. */
static void
exercise_union(const uint8_t *image, const uint8_t *partner)
{
	if (filter_difference(image, partner) == FILTERS_COMPATIBLE &&
		image_layers(image) > 0 && image_layers(partner) > 0)
	{
		FilterPlan	plan;

		if (filter_plan_union(image, partner, false, &plan) == FILTER_OK &&
			plan.bytes < LARGE)
		{
			uint8_t    *united = allocate_image(plan.bytes);

			filter_unite(united, image, partner, &plan);
			expect_sound("union", united);
			release_image(united);
			if (filter_unites_in_place(image, &plan))
			{
				united = copy_image(image);
				filter_unite_in_place(united, partner, &plan);
				expect_sound("union in place", united);
				release_image(united);
			}
		}
	}
}

static void
exercise(const uint8_t *image, const uint8_t *sample)
{
	uint64_t	hashes[40];

	exercise_lookups(image, hashes, lengthof(hashes));
	if (image_layers(image) > 0)
	{
		uint8_t    *copy = copy_image(image);
		FilterPlan	plan;

		exercise_additions(copy, hashes, lengthof(hashes));
		/* now and then: planning for another error rate takes milliseconds */
		if (random_below(64) == 0 &&
			filter_plan_growth(copy, 0, &plan) == FILTER_OK && plan.bytes < LARGE)
		{
			uint8_t    *larger = allocate_image(plan.bytes);

			filter_copy(larger, copy, &plan);
			expect_sound("growth", larger);
			filter_add_batch(larger, hashes, lengthof(hashes));
			expect_sound("adding once grown", larger);
			release_image(larger);
		}
		release_image(copy);
	}
	exercise_union(image, random_below(2) ? image : sample);
	exercise_union(sample, image);
}

static void
test_mutations(void)
{
	const Mutations mutations = {
		.name = "images that are let through are safe to use",
		.kind = FILTER_BLOOM, .count = trials(200000),
		.samples = samples, .sample_count = SAMPLES, .other_lengths = true,
		.damage = damage, .repair = repair, .exercise = exercise
	};

	test_mutations_of(&mutations);
}

static void
test_random_bytes(void)
{
	begin_test("random bytes are refused");
	for (int i = 0; i < 20000; i++)
	{
		uint64_t	bytes = random_below(300);
		uint8_t    *image = allocate_image(bytes);

		for (uint64_t j = 0; j < bytes; j++)
			image[j] = random64();
		/* and with valid first bytes */
		if (i % 2 == 0 && bytes >= IMAGE_MAGIC_BYTES)
			for (int j = 0; j < IMAGE_MAGIC_BYTES; j++)
				image[j] = IMAGE_MAGIC_BLOOM[j];
		expect(image_check(image, bytes, FILTER_BLOOM) != NULL, "let through");
		release_image(image);
	}
	end_test();
}

/* Two layers that together have all the bits that a filter may, and a block more */
static void
test_largest(void)
{
	uint64_t	most = IMAGE_MAX_BITS / BLOCK_BITS;
	FilterParams params = {
		.capacity = 1, .error_rate = 0.01, .growth = 2, .class = SOME_CLASS
	};
	FilterPlan	plan = {.layers = 2};
	uint64_t	header = IMAGE_HEADER_BYTES + 2 * IMAGE_LAYER_BYTES;

	/* never written to but for the header, so that it takes no memory */
	uint8_t    *image = calloc(1, header + (most + 1) * BLOCK_BYTES);

	begin_test("a filter of all bits is let through, one of more is refused");
	for (int more = 0; more <= 1; more++)
	{
		plan.bytes = header;
		for (int i = 0; i < 2; i++)
		{
			FilterLayer *layer = &plan.layer[i];

			layer->layout = LAYOUT_BLOCK512;
			layer->hashes = 7;
			layer->size = i == 0 ? most - 1 : 1 + (uint64_t) more;
			layer->capacity = 1;
			layer->error_rate = 0.001;
			layer->offset = plan.bytes;
			plan.bytes += layer->size * BLOCK_BYTES;
		}
		filter_init(image, &params, &plan);
		expect((image_check(image, plan.bytes, FILTER_BLOOM) != NULL) == more,
			   "%d block more", more);
	}
	/* more bytes than there can be: only the header is checked */
	put64(image + IMAGE_OFF_BYTES, UINT64_MAX);
	expect(image_check(image, UINT64_MAX, FILTER_BLOOM) != NULL, "huge");
	free(image);
	end_test();
}

void
test_image(void)
{
	make_samples();
	test_fields();
	test_lengths();
	test_flips();
	test_combined();
	test_mutations();
	test_random_bytes();
	test_largest();
	release_samples();
}
