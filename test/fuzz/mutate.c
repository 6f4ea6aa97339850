/*
 * mutate.c
 *	  Damage that an image may survive: fields, descriptors and bits are changed,
 *	  and then the sums and lengths that follow from them are corrected.
 *
 * Without that, hardly any input of libFuzzer would pass the validator, which
 * compares the number of set bits with the bits.  Now and then
 * a repair is left out, or a field is changed once more, so that images come
 * about in which one thing is wrong: the validator is tested, too.
 */
#include "fuzz.h"

#include "../../src/filter/classic.h"
#include "../../src/filter/cuckoo.h"

/* One in this many repairs is left out. */
#define REPAIRS_FOR_ONE_LEFT	64

/* Blocks, windows or 64-bit words of bits of a layer whose size is made up */
#define SIZE_MADE_UP			40

/* Room that a layer gets: images are to stay small, or inputs are few. */
#define LAYER_BYTES_MAX			1024

static uint64_t random_state;

static uint64_t
random_below(uint64_t range)
{
	return mulhi64(number_hash(random_state++), range);
}

static bool
once_in(uint64_t times)
{
	return random_below(times) == 0;
}

/* Correct this field? */
static bool
to_repair(void)
{
	return !once_in(REPAIRS_FOR_ONE_LEFT);
}

/* Numbers next to a limit, or any */
static uint64_t
some_number(void)
{
	switch (random_below(5))
	{
		case 0:
			return random_below(20);
		case 1:
			return (UINT64_C(1) << random_below(64)) - random_below(2);
		case 2:
			return 0 - random_below(3);
		case 3:
			return random_below(5000);
		default:
			return number_hash(random_state++);
	}
}

static double
some_rate(void)
{
	static const double rates[] = {
		ERROR_RATE_MAX, 0.1, 0.01, 0.001, 1e-5, ERROR_RATE_MIN
	};

	return rates[random_below(sizeof(rates) / sizeof(rates[0]))];
}

/* ------------------------------------------------------------------------
 * Damage
 * ------------------------------------------------------------------------ */

/* Where a field begins, and how many bytes it has */
typedef struct Field
{
	int			offset;
	int			bytes;
}			Field;

static const Field header_fields[] = {
	{0, IMAGE_MAGIC_BYTES}, {IMAGE_OFF_LAYOUT, 1}, {IMAGE_OFF_FLAGS, 1},
	{IMAGE_OFF_GROWTH, 1}, {IMAGE_OFF_LAYERS, 1}, {IMAGE_OFF_RESERVED, 4},
	{IMAGE_OFF_CLASS, 8}, {IMAGE_OFF_SEED, 8}, {IMAGE_OFF_CAPACITY, 8},
	{IMAGE_OFF_ERROR_RATE, 8}, {IMAGE_OFF_COUNT, 8}, {IMAGE_OFF_BYTES, 8},
	{COMPACT_OFF_CAPACITY, 2}, {COMPACT_OFF_BYTES, 2},
	{COMPACT_OFF_BITS_FULL, 2}, {COMPACT_OFF_HASHES, 1}
};

static const Field layer_fields[] = {
	{LAYER_OFF_LAYOUT, 1}, {LAYER_OFF_HASHES, 1}, {LAYER_OFF_DETAIL, 6},
	{LAYER_OFF_SIZE, 8}, {LAYER_OFF_CAPACITY, 8}, {LAYER_OFF_ERROR_RATE, 8},
	{LAYER_OFF_BITS_SET, 8}, {LAYER_OFF_BITS_FULL, 8}, {LAYER_OFF_OFFSET, 8},
	{LAYER_OFF_MULTIPLE, 8}
};

static void
damage_one_of(uint8_t *at, const Field * fields, int count)
{
	const		Field *field = &fields[random_below(count)];
	uint8_t		bytes[8];

	if (field->bytes == 8 && once_in(4))
		put_double(bytes, some_rate());
	else
		put64(bytes, some_number());
	memcpy(at + field->offset, bytes, field->bytes);
}

/* Change a field of the header, or of a layer if there is one. */
static void
damage_field(uint8_t *image, size_t size)
{
	int			layers = image_layers(image);

	if (layers == 0 || image_is_compact(image) ||
		filter_header_bytes(image) > size || once_in(2))
		damage_one_of(image, header_fields,
					  sizeof(header_fields) / sizeof(header_fields[0]));
	else
		damage_one_of(image_layer_at(image, random_below(layers)), layer_fields,
					  sizeof(layer_fields) / sizeof(layer_fields[0]));
}

/* Change bytes from "from" on, some without changing the number of set bits. */
static void
damage_body(uint8_t *image, size_t from, size_t size)
{
	size_t		at = from + random_below(size - from);
	size_t		other = from + random_below(size - from);
	size_t		run = 1 + random_below(32);
	uint8_t		byte;

	if (from >= size)
		return;
	/* the first slot is not like the others */
	if (once_in(16))
		at = from;
	byte = image[at];
	if (run > size - at)
		run = size - at;
	if (run > size - other)
		run = size - other;
	switch (random_below(5))
	{
		case 0:
			image[at] ^= 1 << random_below(8);
			break;
		case 1:
			image[at] = image[other];
			image[other] = byte;
			break;
		case 2:
			/* the same again elsewhere: classes fill up, hashes repeat */
			memmove(image + at, image + other, run);
			break;
		case 3:
			memset(image + at, once_in(2) ? 0 : 0xff, run);
			break;
		case 4:
			while (run-- > 0)
				image[at + run] = some_number();
			break;
	}
}

/* Another layer, like one that there is; returns the new size. */
static size_t
damage_layers(uint8_t *image, size_t size, size_t max_size)
{
	int			layers = image_layers(image);
	uint8_t    *from;
	uint8_t    *to;

	if (once_in(2) || size + IMAGE_LAYER_BYTES > max_size ||
		filter_header_bytes(image) > size || layers == 0 ||
		image_is_compact(image))
	{
		image[IMAGE_OFF_LAYERS] += once_in(2) ? 1 : -1;
		return size;
	}
	from = image_layer_at(image, random_below(layers));
	to = image_layer_at(image, random_below(layers + 1));
	/* make room, behind or before the one that is copied */
	if (from >= to)
		from += IMAGE_LAYER_BYTES;
	memmove(to + IMAGE_LAYER_BYTES, to, image + size - to);
	memmove(to, from, IMAGE_LAYER_BYTES);
	image[IMAGE_OFF_LAYERS]++;
	return size + IMAGE_LAYER_BYTES;
}

/* ------------------------------------------------------------------------
 * Repair
 * ------------------------------------------------------------------------ */

/* A number in [low, high]: the one given, if it is, or else any */
static uint64_t
within(uint64_t number, uint64_t low, uint64_t high)
{
	return number >= low && number <= high ? number :
		low + random_below(high - low + 1);
}

static bool
is_rate(double rate, double low, double high)
{
	return rate >= low && rate <= high;
}

static void
repair_class(uint8_t *image)
{
	uint8_t    *class = image + IMAGE_OFF_CLASS;

	if (class[0] == '#')
		return;
	for (int i = 0; i < 8; i++)
	{
		if (class[i] == 0)
		{
			memset(class + i, 0, 8 - i);
			break;
		}
		class[i] = '!' + class[i] % ('~' - '!' + 1);
	}
	if (class[0] == 0)
		class[0] = SOME_CLASS;
}

static void
repair_header(uint8_t *image)
{
	FilterKind	kind = image_kind(image);
	uint8_t		layout = image_layout(image);
	bool		classic;

	if (to_repair())
		memcpy(image, kind == FILTER_CUCKOO ? IMAGE_MAGIC_CUCKOO :
			   IMAGE_MAGIC_BLOOM, IMAGE_MAGIC_BYTES);
	if (kind == FILTER_CUCKOO)
		layout = layout <= LAYOUT_EXPLICIT ? layout : LAYOUT_CUCKOO;
	else
		layout = layout == LAYOUT_SMALL || image_is_counting(image) ? layout :
			within(layout, LAYOUT_EMPTY, LAYOUT_CLASSIC);
	if (to_repair())
		image[IMAGE_OFF_LAYOUT] = layout;
	classic = layout == LAYOUT_CLASSIC;
	if (to_repair() && layout != LAYOUT_SMALL)
		memset(image + IMAGE_OFF_RESERVED, 0, 4);
	if (to_repair())
		image[IMAGE_OFF_FLAGS] = 0;
	if (to_repair())
		image[IMAGE_OFF_GROWTH] = classic ? 0 :
			image_growth(image) % (IMAGE_MAX_GROWTH + 1);
	if (to_repair())
		repair_class(image);
	if (to_repair() && layout != LAYOUT_SMALL)
		put64(image + IMAGE_OFF_CAPACITY, classic ? 0 :
			  within(image_capacity(image), 1, INT64_MAX));
	if (to_repair() && (classic || !is_rate(image_error_rate(image),
											ERROR_RATE_MIN, ERROR_RATE_MAX)))
		put_double(image + IMAGE_OFF_ERROR_RATE, classic ? 0 : some_rate());
	if (to_repair() && layout != LAYOUT_SMALL)
		put64(image + IMAGE_OFF_COUNT, 0);
	if (layout <= LAYOUT_EXPLICIT)
		image[IMAGE_OFF_LAYERS] = 0;
	else if (layout == LAYOUT_SMALL)
		image[IMAGE_OFF_LAYERS] = 1;
	else if (to_repair())
		image[IMAGE_OFF_LAYERS] = classic ||
			(layout == LAYOUT_CUCKOO && image_growth(image) == 0) ? 1 :
			within(image_layers(image), 1, IMAGE_MAX_LAYERS);
}

/* The windows of a later layer of a cuckoo filter, and its multiple */
static void
repair_multiple(FilterLayer *layer, const FilterLayer *first,
				const FilterLayer *before, int growth, uint64_t bytes_max)
{
	FilterLayer larger = *layer;

	layer->multiple = before->multiple;
	if (growth > 1 && once_in(2))
	{
		larger.multiple = before->multiple * growth;
		larger.size = first->size * larger.multiple;
		if (layer_bytes(&larger) <= bytes_max)
			layer->multiple = larger.multiple;
	}
	layer->size = first->size * layer->multiple;
	layer->hashes = within(layer->hashes, before->hashes,
						   CUCKOO_MAX_FINGERPRINT);
}

/*
 * Make what a layer says of itself consistent with the ones before it, and with
 * what it may take.
 */
static void
repair_layer(const uint8_t *image, int i, FilterLayer *layer,
			 const FilterLayer *first, const FilterLayer *before,
			 uint64_t bytes_max)
{
	FilterLayout layout = image_layout(image);
	double		rate = image_error_rate(image);

	/* the layers of a bloom may be of other layouts */
	if (layout == LAYOUT_CLASSIC || layout == LAYOUT_CUCKOO)
		layer->layout = layout;
	else if (image_is_counting(image))
		layer->layout = i == 0 ? layout :
			within(layer->layout, LAYOUT_COUNTING, LAYOUT_COUNTINGX2);
	else if (layer->layout != LAYOUT_SMALL || image_layers(image) == 1)
		layer->layout = i == 0 ? layout :
			within(layer->layout, LAYOUT_BLOCK512, LAYOUT_BLOCK512X2);
	layer->capacity = within(layer->capacity, 1, layer->layout == LAYOUT_SMALL ?
							 SMALL_CAPACITY_MAX : UINT64_MAX);
	if (!is_rate(layer->error_rate, 0, rate) || layer->error_rate == 0)
		layer->error_rate = rate / (1 + random_below(8));
	switch (layer->layout)
	{
		case LAYOUT_CLASSIC:
			layer->hashes = within(layer->hashes, 1, CLASSIC_MAX_HASHES);
			layer->size = within(layer->size, CLASSIC_MIN_BITS, 8 * bytes_max);
			layer->capacity = layer->bits_full = 0;
			layer->error_rate = 0;
			break;
		case LAYOUT_CUCKOO:
			layer->hashes = within(layer->hashes, CUCKOO_MIN_FINGERPRINT,
								   CUCKOO_MAX_FINGERPRINT);
			layer->multiple = 1;
			layer->size -= layer->size % 2;
			if (layer->size < CUCKOO_MIN_WINDOWS ||
				layer->size > 8 * bytes_max || layer_bytes(layer) > bytes_max)
				layer->size = CUCKOO_MIN_WINDOWS *
					(1 + random_below(SIZE_MADE_UP));
			if (i > 0)
				repair_multiple(layer, first, before, image_growth(image),
								bytes_max);
			layer->capacity = within(layer->capacity, 1,
									 cuckoo_slots(layer->size));
			layer->bits_full = layer->capacity;
			break;
		case LAYOUT_SMALL:
			layer->hashes = within(layer->hashes, 1, SMALL_MAX_HASHES);
			layer->size = 8 * within(layer->size / 8, 1, bytes_max);
			layer->bits_full = within(layer->bits_full, 0, layer_bits(layer));
			break;
		case LAYOUT_COUNTING:
		case LAYOUT_COUNTINGX2:
			layer->hashes = within(layer->hashes, 1, BLOCK_MAX_HASHES);
			layer->size = within(layer->size, 2,
								 bytes_max / (COUNTING_PLANES * BLOCK_BYTES));
			layer->bits_full = within(layer->bits_full, 0,
									  bloom_layer_bits(layer));
			break;
		default:
			layer->hashes = within(layer->hashes, 1, BLOCK_MAX_HASHES);
			layer->size = within(layer->size, 2, bytes_max / BLOCK_BYTES);
			layer->bits_full = within(layer->bits_full, 0, layer_bits(layer));
	}
	if (layer->layout != LAYOUT_CUCKOO)
		layer->multiple = 0;
}

/* How many bits of a layer are set; those behind its last one are cleared. */
static uint64_t
repair_bits(uint8_t *bits, const FilterLayer *layer)
{
	uint64_t	end = layer_bits(layer);

	for (uint64_t bit = end; bit < 8 * layer_bytes(layer); bit++)
		bits[bit / 8] &= ~(1 << bit % 8);
	return count_bits(bits, layer_bytes(layer));
}

/* The same of a counting layer: counters of bits that are clear are, too. */
static uint64_t
repair_counters(uint8_t *bits, const FilterLayer *layer)
{
	uint8_t    *higher = bits + BLOCK_BYTES * layer->size;

	for (uint64_t at = 0; at < (COUNTING_PLANES - 1) * BLOCK_BYTES * layer->size; at++)
		higher[at] &= bits[at / ((COUNTING_PLANES - 1) * BLOCK_BYTES) * BLOCK_BYTES +
						   at % BLOCK_BYTES];
	return count_bits(bits, BLOCK_BYTES * layer->size);
}

/*
 * How many entries a cuckoo layer has; more often than not, remove impossible
 * ones, and those beyond the layer's limit.
 */
static uint64_t
repair_slots(uint8_t *bits, const FilterLayer *layer, unsigned more_bits)
{
	unsigned	width = cuckoo_width(layer->hashes);
	bool		all_that_is = once_in(8);
	uint64_t	entries = 0;

	for (uint64_t slot = 0; slot <= layer->size; slot++)
	{
		uint64_t	value = 0;

		for (unsigned i = 0; i < width; i++)
		{
			uint64_t	bit = slot * width + i;

			value |= (uint64_t) (bits[bit / 8] >> (bit % 8) & 1) << i;
		}
		if (value == 0)
			continue;
		if (all_that_is ||
			(value >> 1 >> more_bits != 0 && entries < layer->bits_full &&
			 !(slot == 0 && (value & 1) == 1) &&
			 !(slot == layer->size && (value & 1) == 0)))
		{
			entries++;
			continue;
		}
		for (uint64_t bit = slot * width; bit < (slot + 1) * width; bit++)
			bits[bit / 8] &= ~(1 << bit % 8);
	}
	(void) repair_bits(bits, layer);
	return entries;
}

/* Descriptors, offsets and sums; the size that follows from them */
static size_t
repair_layers(uint8_t *image, size_t size, size_t max_size)
{
	FilterLayer layers[IMAGE_MAX_LAYERS];
	int			count = image_layers(image);
	size_t		end;

	if (filter_header_bytes(image) + LAYER_BYTES_MAX > max_size ||
		filter_header_bytes(image) > size)
		count = image[IMAGE_OFF_LAYERS] = 1;
	if (count < 1 || count > IMAGE_MAX_LAYERS)
		return size;
	end = filter_header_bytes(image);
	if (end + LAYER_BYTES_MAX > max_size)
		return size;
	for (int i = 0; i < count; i++)
	{
		FilterLayer *layer = &layers[i];

		if (end + LAYER_BYTES_MAX > max_size)
		{
			/* no room for it: go on with fewer layers */
			image[IMAGE_OFF_LAYERS] = i;
			return repair_layers(image, size, max_size);
		}
		*layer = image_get_layer(image, i);
		repair_layer(image, i, layer, &layers[0], &layers[i > 0 ? i - 1 : 0],
					 LAYER_BYTES_MAX);
		if (to_repair())
			layer->offset = end;
		end += layer_bytes(layer);
	}
	if (end > max_size)
		return size;
	if (end > size)
		memset(image + size, 0, end - size);
	/* the layout of a bloom is that of its first layer that is not small */
	if (layers[0].layout == LAYOUT_SMALL && to_repair())
	{
		image[IMAGE_OFF_LAYOUT] = LAYOUT_BLOCK512;
		for (int i = count - 1; i > 0; i--)
			if (layers[i].layout != LAYOUT_SMALL)
				image[IMAGE_OFF_LAYOUT] = layers[i].layout;
	}
	for (int i = 0; i < count; i++)
	{
		FilterLayer *layer = &layers[i];

		if (layer->offset > end || layer_bytes(layer) > end - layer->offset)
			continue;
		layer->bits_set = layer->layout == LAYOUT_CUCKOO ?
			repair_slots(image + layer->offset, layer,
						 layer->hashes - layers[0].hashes) :
			image_is_counting(image) ?
			repair_counters(image + layer->offset, layer) :
			repair_bits(image + layer->offset, layer);
		image_put_layer(image, i, layer);
	}
	return end;
}

/* What is behind the common part of a compact header */
static size_t
repair_compact(uint8_t *image, size_t size)
{
	size_t		bytes = within(size - IMAGE_COMPACT_BYTES, 1, LAYER_BYTES_MAX);

	if (IMAGE_COMPACT_BYTES + bytes > size)
		memset(image + size, 0, IMAGE_COMPACT_BYTES + bytes - size);
	if (once_in(2) && image_growth(image) > 0)
		image[IMAGE_OFF_FLAGS] = IMAGE_FLAG_EXACT;
	if (to_repair())
		put16(image + COMPACT_OFF_CAPACITY,
			  within(get16(image + COMPACT_OFF_CAPACITY), 1, SMALL_CAPACITY_MAX));
	if (to_repair())
		put16(image + COMPACT_OFF_BITS_FULL,
			  within(get16(image + COMPACT_OFF_BITS_FULL), 0, 8 * bytes));
	if (to_repair())
		image[COMPACT_OFF_HASHES] =
			within(image[COMPACT_OFF_HASHES], 1, SMALL_MAX_HASHES);
	put16(image + COMPACT_OFF_BYTES, bytes);
	return IMAGE_COMPACT_BYTES + bytes;
}

/* Of another system's filter, the sums alone */
static size_t
repair_foreign(uint8_t *image, size_t size)
{
	for (int i = 0; i < image_layers(image) &&
		 IMAGE_HEADER_BYTES + IMAGE_LAYER_BYTES * (size_t) (i + 1) <= size; i++)
	{
		FilterLayer layer = image_get_layer(image, i);

		if (layer.size <= 8 * (uint64_t) size && layer.offset <= size &&
			(layer.size + 7) / 8 <= size - layer.offset)
			image_put_bits_set(image, i, count_bits(image + layer.offset,
													(layer.size + 7) / 8));
	}
	if (to_repair())
		put64(image + IMAGE_OFF_BYTES, size);
	return size;
}

static size_t
repair_image(uint8_t *image, size_t size, size_t max_size)
{
	uint64_t	count;

	if (size < IMAGE_HEADER_BYTES && !(size > IMAGE_COMPACT_BYTES &&
									   image_is_compact(image)))
	{
		memset(image + size, 0, IMAGE_HEADER_BYTES - size);
		size = IMAGE_HEADER_BYTES;
	}
	if (image_is_foreign(image))
		return repair_foreign(image, size);
	repair_header(image);
	if (image_is_compact(image) && size > IMAGE_COMPACT_BYTES)
		return repair_compact(image, size);
	switch (image_layout(image))
	{
		case LAYOUT_EMPTY:
			if (to_repair())
				memset(image + IMAGE_OFF_GROWTH, 0,
					   IMAGE_OFF_BYTES - IMAGE_OFF_GROWTH);
			size = IMAGE_HEADER_BYTES;
			break;
		case LAYOUT_EXPLICIT:
			count = (size - IMAGE_HEADER_BYTES) / sizeof(uint64_t);
			if (to_repair())
			{
				uint64_t	hashes[LAYER_BYTES_MAX / sizeof(uint64_t)];

				if (count > LAYER_BYTES_MAX / sizeof(uint64_t))
					count = LAYER_BYTES_MAX / sizeof(uint64_t);
				/* sorted where they are aligned, as an image's are */
				memcpy(hashes, image_hashes(image), 8 * count);
				count = hashset_sort_unique((uint8_t *) hashes, count);
				memcpy(image_hashes(image), hashes, 8 * count);
			}
			put64(image + IMAGE_OFF_COUNT, count);
			size = image_explicit_bytes(count);
			break;
		default:
			/* the size of layers of an unknown layout is unknown */
			if (image_layout(image) <= LAYOUT_CUCKOO)
				size = repair_layers(image, size, max_size);
	}
	if (to_repair())
		put64(image + IMAGE_OFF_BYTES, size);
	return size;
}

size_t
mutate_image(uint8_t *image, size_t size, size_t max_size, uint64_t random)
{
	random_state = number_hash(random);
	if (max_size < IMAGE_HEADER_BYTES + IMAGE_LAYER_BYTES + LAYER_BYTES_MAX)
		return LLVMFuzzerMutate(image, size, max_size);
	for (int damage = random_below(3); damage >= 0; damage--)
	{
		if (size < IMAGE_LEAST_BYTES || once_in(4))
		{
			size = LLVMFuzzerMutate(image, size, max_size);
			continue;
		}
		switch (random_below(6))
		{
			case 0:
			case 1:
				damage_field(image, size);
				break;
			case 2:
				size = damage_layers(image, size, max_size);
				break;
			default:
				damage_body(image, filter_header_bytes(image), size);
		}
	}
	/* leave some as they are */
	if (!once_in(8))
		size = repair_image(image, size, max_size);
	if (size >= IMAGE_LEAST_BYTES && once_in(8))
		damage_field(image, size);
	return size;
}

size_t
make_compatible(uint8_t *image, size_t max_size, const uint8_t *other,
				size_t other_size, uint64_t random)
{
	random_state = number_hash(random);
	if (other_size > max_size)
		other_size = max_size;
	memmove(image, other, other_size);
	if (other_size < IMAGE_LEAST_BYTES)
		return other_size;
	for (int damage = random_below(20); damage > 0; damage--)
		damage_body(image, filter_header_bytes(image), other_size);
	return repair_image(image, other_size, max_size);
}
