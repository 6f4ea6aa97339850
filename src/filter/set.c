/*
 * set.c
 *	  The explicit layout: a set of hashes, sorted and distinct.
 *
 * Hashes are uniform, so they are sorted by their leading bits (the "American
 * flag sort" of McIlroy, Bostic and McIlroy, "Engineering Radix Sort", 1993:
 * count, then permute in place), and looked up by interpolation.  If someone
 * chose similar hashes, a sort costs at most the passes for 64 bits, and
 * insertion sorts of SCATTER_MAX hashes; a look-up costs at most a bisection.
 *
 * A hash has 8 bytes, little-endian, also while it is being sorted.  At each
 * interrupt check, no hash is missing.
 */
#include "set.h"

#include "ops.h"

/* Maximum number of hashes that scatter_sort() sorts: their copy fits into the first cache */
#define SCATTER_MAX		1024

/*
 * A pass of radix_sort() distributes hashes by up to 8 bits: with more buckets, writes would miss
 * the cache.  It takes fewer if buckets of about RADIX_LEAVES hashes are left for scatter_sort().
 */
#define RADIX_MAX_BITS	8
#define RADIX_MAX		(1 << RADIX_MAX_BITS)
#define RADIX_LEAVES	256

/*
 * set_repeats() takes about SAMPLE_MEAN hashes if they are uniform and none repeats another, with a
 * standard deviation of 3 percent.  If it could take more than SAMPLE_MAX, they lie close together,
 * or one is repeated often.  Fewer than SAMPLE_DISTINCT different ones mean that many are repeated.
 */
#define SAMPLE_MEAN		1024
#define SAMPLE_MAX		(SAMPLE_MEAN / 4 * 5)
#define SAMPLE_DISTINCT	(SAMPLE_MEAN / 8 * 7)

static inline void
insertion_sort(uint64_t *hashes, uint64_t count)
{
	for (uint64_t i = 1; i < count; i++)
	{
		uint64_t	hash = hashes[i];
		uint64_t	j = i;

		for (; j > 0 && le64(hashes[j - 1]) > le64(hash); j--)
			hashes[j] = hashes[j - 1];
		hashes[j] = hash;
	}
}

/*
 * Sort up to SCATTER_MAX hashes that differ only in their lowest "low_bits" bits.  The upper of
 * these bits place each hash near its final position, so that the insertion sort is short.
 */
static void
scatter_sort(uint64_t *hashes, unsigned count, int low_bits)
{
	uint64_t	copy[SCATTER_MAX];
	uint16_t	next[2 * SCATTER_MAX];
	unsigned	places = 1;
	unsigned	sum = 0;
	int			shift = low_bits;

	while (places <= count && shift > 0)
	{
		places *= 2;
		shift--;
	}
	memset(next, 0, places * sizeof(next[0]));
	for (unsigned i = 0; i < count; i++)
	{
		copy[i] = hashes[i];
		next[(le64(copy[i]) >> shift) & (places - 1)]++;
	}
	for (unsigned place = 0; place < places; place++)
	{
		unsigned	here = next[place];

		next[place] = sum;
		sum += here;
	}
	for (unsigned i = 0; i < count; i++)
		hashes[next[(le64(copy[i]) >> shift) & (places - 1)]++] = copy[i];
	insertion_sort(hashes, count);
}

/* Sort hashes that differ only in their lowest "low_bits" bits. */
static void
radix_sort(uint64_t *hashes, uint64_t count, int low_bits)
{
	uint64_t	next[RADIX_MAX];	/* where a bucket's next hash goes */
	uint64_t	end[RADIX_MAX];
	uint64_t	sum = 0;
	bool		moved;
	unsigned	radix = 2;
	int			shift = low_bits - 1;

	if (low_bits == 0)
		return;					/* all hashes are equal */
	if (count <= SCATTER_MAX)
	{
		scatter_sort(hashes, count, low_bits);
		return;
	}
	while (radix < RADIX_MAX && radix * RADIX_LEAVES < count && shift > 0)
	{
		radix *= 2;
		shift--;
	}

	filter_check_interrupts();
	memset(end, 0, radix * sizeof(end[0]));
	for (uint64_t i = 0; i < count; i++)
		end[(le64(hashes[i]) >> shift) & (radix - 1)]++;
	for (unsigned bucket = 0; bucket < radix; bucket++)
	{
		next[bucket] = sum;
		sum += end[bucket];
		end[bucket] = sum;
	}

	/* Independent swaps, faster than the original's cycles of dependent ones */
	do
	{
		moved = false;
		for (unsigned bucket = 0; bucket < radix; bucket++)
		{
			uint64_t	last = end[bucket];

			filter_check_interrupts();
			for (uint64_t i = next[bucket]; i < last; i++)
			{
				uint64_t	hash = hashes[i];
				uint64_t	home = next[(le64(hash) >> shift) & (radix - 1)]++;

				hashes[i] = hashes[home];
				hashes[home] = hash;
				moved = true;
			}
		}
	} while (moved);

	sum = 0;
	for (unsigned bucket = 0; bucket < radix; bucket++)
	{
		if (end[bucket] - sum > 1)
			radix_sort(hashes + sum, end[bucket] - sum, shift);
		sum = end[bucket];
	}
}

uint64_t
hashset_sort_unique(uint8_t *bytes, uint64_t count)
{
	/* callers align hashes to 8 bytes */
	uint64_t   *hashes = (uint64_t *) bytes;
	uint64_t	kept = 0;

	radix_sort(hashes, count, 64);
	for (uint64_t i = 0; i < count; i++)
	{
		if (kept == 0 || hashes[i] != hashes[kept - 1])
			hashes[kept++] = hashes[i];
	}
	return kept;
}

/*
 * Move the less of the first hashes of "a" and "b" to "to".  Of equal ones, move that of "a", but
 * leave "to" where it is: that of "b" comes next.  There is no branch, as nobody can predict which
 * is less.
 */
static inline void
move_less(uint8_t **to, const uint8_t **a, const uint8_t **b)
{
	uint64_t	first = get64(*a);
	uint64_t	second = get64(*b);
	uint64_t	from_a = first <= second;

	put64(*to, from_a ? first : second);
	*to += 8 * (first != second);
	*a += 8 * from_a;
	*b += 8 * (1 - from_a);
}

uint64_t
hashset_merge(uint8_t *to, const uint8_t *a, uint64_t count_a,
			  const uint8_t *b, uint64_t count_b)
{
	const uint8_t *end_a = a + 8 * count_a;
	const uint8_t *end_b = b + 8 * count_b;
	uint8_t    *end = to + 8 * (count_a + count_b);
	uint8_t    *at = to;
	uint8_t    *upper = end;	/* the greatest hashes, merged from the end */

	/* from both ends at once: a step waits for the last one at its end only */
	while (end_a - a > 8 && end_b - b > 8)
	{
		/* a step may take the first and the last hash of the same set */
		uint64_t	steps = (end_a - a < end_b - b ? end_a - a : end_b - b) / 16;

		filter_check_interrupts();
		if (steps > INTERRUPT_BYTES / 16)
			steps = INTERRUPT_BYTES / 16;
		while (steps-- > 0)
		{
			uint64_t	first = get64(end_a - 8);
			uint64_t	second = get64(end_b - 8);
			uint64_t	from_a = first >= second;

			move_less(&at, &a, &b);
			put64(upper - 8, from_a ? first : second);
			upper -= 8 * (first != second);
			end_a -= 8 * from_a;
			end_b -= 8 * (1 - from_a);
		}
	}
	/* one has at most one hash left, the other perhaps millions */
	while (a < end_a && b < end_b)
	{
		uint64_t	steps = INTERRUPT_BYTES / 8;

		filter_check_interrupts();
		while (a < end_a && b < end_b && steps-- > 0)
			move_less(&at, &a, &b);
	}
	memcpy(at, a, end_a - a);
	at += end_a - a;
	memcpy(at, b, end_b - b);
	at += end_b - b;
	memmove(at, upper, end - upper);
	return (at - to + end - upper) / 8;
}

bool
hashset_contains(const uint8_t *hashes, uint64_t count, uint64_t hash)
{
	uint64_t	low = 0;
	uint64_t	high = count;

	/* find bounds: begin where a uniform hash is expected, double the steps */
	if (count > 0)
	{
		uint64_t	guess = mulhi64(hash, count);
		uint64_t	step = 1;

		if (get64(hashes + 8 * guess) <= hash)
		{
			for (low = guess; low + step < count &&
				 get64(hashes + 8 * (low + step)) <= hash; step *= 2)
				low += step;
			if (low + step < count)
				high = low + step;
		}
		else
		{
			for (high = guess; high >= step &&
				 get64(hashes + 8 * (high - step)) > hash; step *= 2)
				high -= step;
			if (high >= step)
				low = high - step;
		}
	}
	while (low < high)
	{
		uint64_t	middle = low + (high - low) / 2;
		uint64_t	there = get64(hashes + 8 * middle);

		if (there == hash)
			return true;
		if (there < hash)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

void
set_sort(uint8_t *image)
{
	uint64_t	count;

	if (!image_is_unsorted(image))
		return;
	count = hashset_sort_unique(image_hashes(image), image_count(image));
	image[IMAGE_OFF_FLAGS] &= ~IMAGE_FLAG_UNSORTED;
	image_set_count(image, count);
}

/* The sample has the lowest hashes: all copies of a hash are in it, or none. */
bool
set_repeats(const uint8_t *image)
{
	uint64_t	sample[SAMPLE_MAX];
	uint64_t	count = image_count(image);
	uint64_t	taken = 0;

	for (uint64_t i = 0; i < count && taken < SAMPLE_MAX; i++)
	{
		uint64_t	hash = get64(image_hashes(image) + 8 * i);

		if (i % (INTERRUPT_BYTES / 8) == 0)
			filter_check_interrupts();
		if (hash <= UINT64_MAX / count * SAMPLE_MEAN)
			sample[taken++] = le64(hash);
	}
	/* the first of many say nothing of the rest */
	return taken == SAMPLE_MAX ||
		hashset_sort_unique((uint8_t *) sample, taken) < SAMPLE_DISTINCT;
}

void
set_append(uint8_t *image, const uint8_t *hashes, uint64_t count)
{
	uint64_t	old = image_count(image);

	memcpy(image_hashes(image) + 8 * old, hashes, 8 * count);
	image[IMAGE_OFF_FLAGS] |= IMAGE_FLAG_UNSORTED;
	image_set_count(image, old + count);
}

void
set_merge(uint8_t *to, const uint8_t *a, const uint8_t *b)
{
	memcpy(to, a, IMAGE_HEADER_BYTES);
	image_set_count(to, hashset_merge(image_hashes(to),
									  image_hashes(a), image_count(a),
									  image_hashes(b), image_count(b)));
}

static bool
set_contains(const uint8_t *image, uint64_t hash)
{
	if (!image_is_unsorted(image))
		return hashset_contains(image_hashes(image), image_count(image), hash);
	for (uint64_t i = 0; i < image_count(image); i++)
		if (get64(image_hashes(image) + 8 * i) == hash)
			return true;
	return false;
}

static FilterRemoval
set_remove(uint8_t *image, uint64_t hash)
{
	uint64_t	count = image_count(image);
	uint8_t    *at = image_hashes(image);
	uint8_t    *end = at + 8 * count;

	/* a linear search, because all hashes after this one move anyway */
	while (at < end && get64(at) != hash)
		at += 8;
	if (at == end)
		return FILTER_ABSENT;
	memmove(at, at + 8, end - at - 8);
	image_set_count(image, count - 1);
	return FILTER_REMOVED;
}

static const char *
set_check_image(const uint8_t *image)
{
	uint64_t	count = image_count(image);

	/* all fields of an empty filter except kind and length are zero */
	if (image_is_empty(image))
		return image_bytes(image) == IMAGE_HEADER_BYTES &&
			all_zero(image + IMAGE_OFF_GROWTH, IMAGE_OFF_BYTES - IMAGE_OFF_GROWTH) ?
			NULL : "empty filter with content";
	if (image_layers(image) != 0)
		return "explicit filter with layers";
	if (count > IMAGE_MAX_BITS / 64 ||
		image_explicit_bytes(count) != image_bytes(image))
		return "number of hashes does not fit the length";
	if (count > 0 && image_class(image) == 0)
		return "hashes without an element class";
	for (uint64_t i = 1; i < count; i++)
	{
		const uint8_t *hash = image_hashes(image) + 8 * i;

		if (get64(hash - 8) >= get64(hash))
			return "hashes are not in order";
	}
	return NULL;
}

const FilterOps set_ops = {
	.contains = set_contains,
	.remove = set_remove,
	.check_image = set_check_image
};
