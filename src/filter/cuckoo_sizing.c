/*
 * cuckoo_sizing.c
 *	  The number of windows of a cuckoo filter's layer, and the length of its fingerprints.
 *
 * cuckoo.c explains windows and classes.  The maximum load is measured (loads[]).  The error
 * rate is exact: an absent element matches the entries of its class.  With F fingerprints and N
 * windows there are F N / 2 classes, all equally likely, because the two windows of an element
 * always differ.  So n elements have an error rate of 1 - (1 - p)^n, where p = 2 / (F N).
 *
 * All machines must compute the same size, or their filters could not be united.  So we use
 * only sums, products and quotients here, and no function whose last digit may differ.
 */
#include "sizing.h"

/*
 * The share of a growing filter's error rate that its first layer may use.  At 1 % and 0.1 %,
 * fingerprints of whole bits use less than that anyway; at 3 %, it costs one bit.
 */
#define CUCKOO_FIRST_SHARE		0.95

/* The i-th layer after the first gets this (6 / pi^2) times the remaining error rate / i^2. */
#define CUCKOO_NEXT_SHARE	0.6079271018540267

/*
 * Measured capacity by number of windows: at most about one fixed filter in a million fails to
 * build.  (For capacities from this table and interpolated ones, 4 to 4,400 windows, 67 of 159
 * million builds failed with fingerprints of 6 bits, and 43 with 11 bits.)  A small filter fails
 * when too many elements share a few windows.  From a thousand windows on, the load is the
 * limit: 0.925 is reached easily; up to 0.94, insertions search many times longer.
 *
 * A large filter fails if two classes of one fingerprint, whose adjacent windows have 6
 * slots in all, get seven elements.  The chance of each pair is l^7 / 5040, with the mean
 * l = 4 n / (N F).  With 6 bits, one in 65,000 builds of a million elements fails, one in
 * 6,500 of ten million.  One bit less makes that 64 times as frequent: 6 is the minimum.
 */
static const struct
{
	uint32_t	windows;
	uint32_t	capacity;
}			loads[] = {
	{2, 3}, {12, 3}, {16, 5}, {20, 7}, {24, 9}, {32, 12}, {40, 17}, {48, 22},
	{64, 36}, {80, 48}, {96, 60}, {128, 98}, {160, 130}, {192, 162},
	{256, 220}, {320, 278}, {384, 341}, {512, 458}, {768, 699}, {1024, 938},
	{1536, 1420}, {4000, 3700}
};

#define LOADS				(sizeof(loads) / sizeof(loads[0]))

uint64_t
cuckoo_layer_bits(const FilterLayer *layer)
{
	return cuckoo_slots(layer->size) * cuckoo_width(layer->hashes);
}

/* cuckoo_get_slot() reads a whole word where a slot begins: leave room after the last one. */
uint64_t
cuckoo_layer_bytes(const FilterLayer *layer)
{
	return image_aligned(layer->size * cuckoo_width(layer->hashes) / 8 +
						 sizeof(uint64_t));
}

/* Interpolate between measurements; beyond the last one, assume the same load. */
uint64_t
cuckoo_capacity(uint64_t windows)
{
	uint64_t	from;
	uint64_t	gain;
	size_t		i = 0;

	while (i < LOADS - 1 && loads[i + 1].windows <= windows)
		i++;
	if (i == LOADS - 1)
		return windows * loads[i].capacity / loads[i].windows;
	from = loads[i].windows;
	gain = loads[i + 1].capacity - loads[i].capacity;
	return loads[i].capacity +
		(windows - from) * gain / (loads[i + 1].windows - from);
}

/* Return the least even number of windows for "capacity" elements. */
static uint64_t
least_windows(uint64_t capacity)
{
	uint64_t	low = CUCKOO_MIN_WINDOWS / 2;
	uint64_t	high = low;

	while (cuckoo_capacity(2 * high) < capacity)
		high *= 2;
	while (low < high)
	{
		uint64_t	middle = (low + high) / 2;

		if (cuckoo_capacity(2 * middle) < capacity)
			low = middle + 1;
		else
			high = middle;
	}
	return 2 * low;
}

/* Return 1 - (1 - p)^n of a full layer, by three terms of its series: n p is at most 1/30. */
static double
full_error_rate(const FilterLayer *layer, unsigned first_bits)
{
	double		fingerprints = (double)
		(((UINT64_C(1) << first_bits) - 1) << (layer->hashes - first_bits));
	double		p = 2 / (fingerprints * (double) layer->size);
	double		n = (double) layer->bits_full;
	double		first = n * p;
	double		second = first * (n - 1) * p / 2;
	double		third = second * (n - 2) * p / 3;

	return first - second + third;
}

/* Return the maximum even number of windows for which the layer gets no more bytes. */
static uint64_t
windows_within(const FilterLayer *layer)
{
	uint64_t	bytes = cuckoo_layer_bytes(layer) - sizeof(uint64_t);
	uint64_t	windows = (8 * bytes + 7) / cuckoo_width(layer->hashes);

	return windows - windows % 2;
}

/*
 * The first layer gets as many windows as its bytes have room for.  The error rate of a later
 * layer depends on its number of windows or, if growth is 1, where all layers have the same
 * number, on its index.  So two layers of compatible filters with the same number of windows
 * have the same shape.
 */
bool
cuckoo_plan_layer(const FilterParams *params, const FilterLayer *before,
				  int count, uint64_t waiting, FilterLayer *layer)
{
	double		share = (params->growth > 0 ? CUCKOO_FIRST_SHARE : 1) * params->error_rate;
	uint64_t	windows;

	*layer = (FilterLayer)
	{
		.layout = LAYOUT_CUCKOO, .multiple = 1, .hashes = CUCKOO_MIN_FINGERPRINT
	};
	if (count == 0)
	{
		/* no layer has more elements than bits */
		if (params->capacity > IMAGE_MAX_BITS)
			return false;
		windows = least_windows(params->capacity);
	}
	else
	{
		const FilterLayer *last = &before[count - 1];
		uint64_t	index = params->growth > 1 ? 0 : count;

		/* only in an unchecked image: the loop below would not end */
		if (last->hashes < CUCKOO_MIN_FINGERPRINT || last->hashes > CUCKOO_MAX_FINGERPRINT)
			return false;
		windows = last->size * params->growth;
		layer->multiple = last->multiple * params->growth;
		layer->hashes = last->hashes;
		for (uint64_t multiple = layer->multiple;
			 params->growth > 1 && multiple > 1; multiple /= params->growth)
			index++;
		share = (params->error_rate - before[0].error_rate) * CUCKOO_NEXT_SHARE /
			(double) (index * index);
	}
	for (;; layer->hashes++)
	{
		layer->size = windows;
		if (windows > IMAGE_MAX_BITS || cuckoo_layer_bits(layer) > IMAGE_MAX_BITS)
			return false;
		if (count == 0)
			layer->size = windows_within(layer);
		layer->capacity = layer->bits_full = cuckoo_capacity(layer->size);
		layer->error_rate =
			full_error_rate(layer, count > 0 ? before[0].hashes : layer->hashes);
		if (layer->error_rate <= share || layer->hashes == CUCKOO_MAX_FINGERPRINT)
			return cuckoo_layer_bits(layer) <= IMAGE_MAX_BITS;
	}
}
