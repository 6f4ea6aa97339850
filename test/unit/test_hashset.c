/*
 * test_hashset.c
 *	  Sets of hashes: sorting against qsort(), looking up against a walk.
 */
#include "unit.h"

#include <math.h>

#define MAX_COUNT		20000

/* How the hashes of an input are made */
typedef enum Input
{
	UNIFORM,
	EQUAL,						/* all the same */
	FEW_VALUES,					/* each many times */
	SAME_HEAD,					/* differ in the last two bytes only */
	SAME_TAIL,					/* differ in the first two bytes only */
	ASCENDING,
	DESCENDING,
	EXTREMES,					/* about 0 and about 2^64 */
	INPUTS
} Input;

static const char *const input_names[INPUTS] = {
	"uniform", "equal", "few values", "same leading bytes",
	"same trailing bytes", "ascending", "descending", "extreme"
};

static uint64_t
input_hash(Input input, uint64_t i)
{
	uint64_t	random = random64();

	switch (input)
	{
		case EQUAL:
			return UINT64_C(0x0123456789ABCDEF);
		case FEW_VALUES:
			return number_hash(random % 7);
		case SAME_HEAD:
			return UINT64_C(0xFEDCBA9876540000) | (random & 0xFFFF);
		case SAME_TAIL:
			return random << 48 | 0x1234;
		case ASCENDING:
			return i << 40;
		case DESCENDING:
			return UINT64_MAX - (i << 40);
		case EXTREMES:
			return random % 2 ? random % 1000 : UINT64_MAX - random % 1000;
		default:
			return random;
	}
}

static int
compare_hashes(const void *a, const void *b)
{
	uint64_t	left = *(const uint64_t *) a;
	uint64_t	right = *(const uint64_t *) b;

	return (left > right) - (left < right);
}

/* Is the hash among these?  Compare a linear search with the set's answer. */
static void
expect_contains(const uint8_t *set, const uint64_t *sorted, uint64_t count,
				uint64_t hash)
{
	bool		in = false;

	for (uint64_t i = 0; i < count && !in; i++)
		in = sorted[i] == hash;
	expect(hashset_contains(set, count, hash) == in,
		   "%llu hashes, looked up %llx: %d", (unsigned long long) count,
		   (unsigned long long) hash, !in);
}

/*
 * Merge two parts of a set: the whole set comes out, and nothing is written behind it.  Each hash
 * draws one of so many shares: share 1 is only in the second part, share 2 in both, and all others
 * are only in the first.
 */
static void
try_merge(const uint64_t *sorted, uint64_t count, unsigned shares)
{
	static uint64_t parts[2][MAX_COUNT];
	static uint64_t merged[2 * MAX_COUNT + 1];
	uint64_t	counts[2] = {0, 0};
	uint64_t	kept;

	for (uint64_t i = 0; i < count; i++)
	{
		unsigned	share = random_below(shares);

		if (share != 1)
			put64((uint8_t *) &parts[0][counts[0]++], sorted[i]);
		if (share == 1 || share == 2)
			put64((uint8_t *) &parts[1][counts[1]++], sorted[i]);
	}
	merged[counts[0] + counts[1]] = UINT64_C(0x5555555555555555);
	kept = hashset_merge((uint8_t *) merged, (uint8_t *) parts[0], counts[0],
						 (uint8_t *) parts[1], counts[1]);
	expect(kept == count, "%llu hashes after merging, not %llu",
		   (unsigned long long) kept, (unsigned long long) count);
	for (uint64_t i = 0; i < count; i++)
		expect(get64((uint8_t *) &merged[i]) == sorted[i],
			   "hash %llu of %llu is wrong after merging",
			   (unsigned long long) i, (unsigned long long) count);
	expect(merged[counts[0] + counts[1]] == UINT64_C(0x5555555555555555),
		   "written behind the end");
}

/* Sort and look up "count" hashes of this kind. */
static void
try_set(Input input, uint64_t count)
{
	static uint64_t sorted[MAX_COUNT];
	static uint64_t bytes[MAX_COUNT + 1];
	static uint8_t shifted[8 * MAX_COUNT + 1];
	static const unsigned shares[] = {1, 2, 3, 1000};
	uint64_t	distinct = 0;
	uint64_t	kept;
	uint64_t	step;

	for (uint64_t i = 0; i < count; i++)
	{
		sorted[i] = input_hash(input, i);
		put64((uint8_t *) &bytes[i], sorted[i]);
	}
	bytes[count] = UINT64_C(0x5555555555555555);
	qsort(sorted, count, sizeof(uint64_t), compare_hashes);
	for (uint64_t i = 0; i < count; i++)
		if (i == 0 || sorted[i] != sorted[i - 1])
			sorted[distinct++] = sorted[i];

	kept = hashset_sort_unique((uint8_t *) bytes, count);
	expect(kept == distinct, "%llu of %llu hashes kept, not %llu",
		   (unsigned long long) kept, (unsigned long long) count,
		   (unsigned long long) distinct);
	for (uint64_t i = 0; i < kept; i++)
		expect(get64((uint8_t *) &bytes[i]) == sorted[i],
			   "hash %llu of %llu is wrong", (unsigned long long) i,
			   (unsigned long long) kept);
	expect(bytes[count] == UINT64_C(0x5555555555555555),
		   "written behind the end");
	for (int i = 0; i < lengthof(shares); i++)
		try_merge(sorted, kept, shares[i]);

	/* look up at any address; of a large set, a hundred of its hashes */
	memcpy(shifted + 1, bytes, 8 * kept);
	step = kept > 100 ? kept / 100 : 1;
	for (uint64_t i = 0; i < kept; i += step)
	{
		expect_contains(shifted + 1, sorted, kept, sorted[i]);
		expect_contains(shifted + 1, sorted, kept, sorted[i] + 1);
		expect_contains(shifted + 1, sorted, kept, sorted[i] - 1);
	}
	if (kept > 0)
		expect_contains(shifted + 1, sorted, kept, sorted[kept - 1]);
	expect_contains(shifted + 1, sorted, kept, 0);
	expect_contains(shifted + 1, sorted, kept, UINT64_MAX);
	for (int i = 0; i < 20; i++)
		expect_contains(shifted + 1, sorted, kept, random64());
}

/*
 * Does a set of MAX_COUNT hashes, of which so many are different, seem to have repeated ones?  All
 * hashes are in the lowest of so many ranges.
 */
static void
try_repeats(uint64_t different, uint64_t ranges, bool repeats)
{
	static uint8_t image[IMAGE_HEADER_BYTES + 8 * MAX_COUNT];
	FilterParams params = {.kind = FILTER_BLOOM};
	uint64_t	salt = random64();

	image_put_header(image, LAYOUT_EXPLICIT, &params);
	for (uint64_t i = 0; i < MAX_COUNT; i++)
		set_push(image, number_hash(salt + i % different) / ranges);
	expect(set_repeats(image) == repeats, "%llu of %llu are different, lowest of %llu ranges: %s",
		   (unsigned long long) different, (unsigned long long) MAX_COUNT,
		   (unsigned long long) ranges, repeats ? "not seen" : "none is repeated often");
}

/* Every multiple of the stride, modulo count, once; runs of them evenly */
static void
try_stride(uint64_t count)
{
	static bool visited[MAX_COUNT];
	uint64_t	stride = even_stride(count);
	uint64_t	place = 0;

	memset(visited, false, count);
	for (uint64_t i = 0; i < count; i++)
	{
		expect(!visited[place], "%llu visited twice of %llu",
			   (unsigned long long) place, (unsigned long long) count);
		visited[place] = true;
		place = (place + stride) % count;
	}
	expect(place == 0, "stride of %llu does not come back",
		   (unsigned long long) count);
}

/*
 * The first tenth of the visits: how many fall into each tenth of the places?
 */
static void
try_spread(uint64_t count)
{
	uint64_t	stride = even_stride(count);
	uint64_t	place = 0;
	uint64_t	visits[10] = {0};

	for (uint64_t i = 0; i < count / 10; i++)
	{
		visits[10 * place / count]++;
		place = (place + stride) % count;
	}
	for (int i = 0; i < 10; i++)
		expect(fabs(visits[i] - count / 100.0) <= fmax(count / 1000.0, 3),
			   "%llu visits of %llu in tenth %d", (unsigned long long) visits[i],
			   (unsigned long long) count, i);
}

/* Add sorted hashes, which have runs in one block, until the filter is full. */
static void
try_runs(double error_rate)
{
	static uint64_t hashes[MAX_COUNT];
	uint8_t    *together = make_of_kind(FILTER_BLOOM, MAX_COUNT / 2, error_rate, 0);
	uint8_t    *single = copy_image(together);
	size_t		added = 0;

	for (uint64_t i = 0; i < MAX_COUNT; i++)
		put64((uint8_t *) &hashes[i], random64() >> (i % 2));
	hashset_sort_unique((uint8_t *) hashes, MAX_COUNT);
	for (uint64_t i = 0; i < MAX_COUNT; i++)
		hashes[i] = le64(hashes[i]);
	while (added < MAX_COUNT && filter_add_batch(single, &hashes[added], 1) == 1)
		added++;
	expect(added < MAX_COUNT, "not full");
	expect(filter_add_batch(together, hashes, MAX_COUNT) == added &&
		   memcmp(together, single, image_bytes(single)) == 0,
		   "%g: a batch of sorted hashes differs", error_rate);
	release_image(together);
	release_image(single);
}

void
test_hashset(void)
{
	static const uint64_t counts[] = {
		0, 1, 2, 3, 23, 24, 25, 26, 100, 255, 256, 257, 1023, 1024, 1025,
		MAX_COUNT
	};

	for (int input = 0; input < INPUTS; input++)
	{
		begin_test("%s hashes are sorted, merged, distinct, and found",
				   input_names[input]);
		for (int i = 0; i < lengthof(counts); i++)
			try_set(input, counts[i]);
		end_test();
	}
	begin_test("a sample shows whether hashes repeat others");
	try_repeats(1, 1, true);
	try_repeats(10, 1, true);
	try_repeats(MAX_COUNT / 4 * 3, 1, true);
	try_repeats(MAX_COUNT, 1, false);
	try_repeats(MAX_COUNT / 2, 2, true);
	try_repeats(MAX_COUNT / 4, 16, true);
	end_test();

	begin_test("a batch of sorted hashes adds the same bits as one by one");
	try_runs(0.1);
	try_runs(0.01);
	try_runs(0.0001);
	try_runs(ERROR_RATE_MIN);
	end_test();

	begin_test("a stride visits all, once, and evenly");
	for (uint64_t count = 1; count <= 2000; count++)
		try_stride(count);
	try_stride(MAX_COUNT);
	try_stride(6765);			/* Fibonacci: the golden ratio's worst */
	try_stride(10946);
	try_spread(1000);
	try_spread(6765);
	try_spread(MAX_COUNT);
	try_spread(1000003);
	end_test();
}
