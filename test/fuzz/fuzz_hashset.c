/*
 * fuzz_hashset.c
 *	  Sets of hashes, against the simplest way to do the same.
 *
 * An input is a byte, the number of hashes to make from each of the words of
 * eight bytes that follow it, so that sets are large enough for each way of
 * sorting.
 */
#include "fuzz.h"

/* Hashes of one input, at most */
#define HASHES_MAX		5000

static int
compare_hashes(const void *a, const void *b)
{
	uint64_t	left = get64(a);
	uint64_t	right = get64(b);

	return left < right ? -1 : left > right;
}

/* Sort and drop repeated ones, with the library's means. */
static uint64_t
naive_set(uint8_t *hashes, uint64_t count)
{
	uint64_t	kept = 0;

	qsort(hashes, count, sizeof(uint64_t), compare_hashes);
	for (uint64_t i = 0; i < count; i++)
	{
		uint64_t	hash = get64(hashes + 8 * i);

		if (kept == 0 || get64(hashes + 8 * (kept - 1)) != hash)
			put64(hashes + 8 * kept++, hash);
	}
	return kept;
}

static bool
naive_contains(const uint8_t *hashes, uint64_t count, uint64_t hash)
{
	uint8_t		bytes[sizeof(hash)];

	put64(bytes, hash);
	return bsearch(bytes, hashes, count, sizeof(hash), compare_hashes) != NULL;
}

/* Memory for exactly "count" hashes, aligned as in an image */
static uint8_t *
allocate_hashes(uint64_t count)
{
	return allocate_image(image_explicit_bytes(count)) + IMAGE_HEADER_BYTES;
}

static void
release_hashes(uint8_t *hashes)
{
	release_image(hashes - IMAGE_HEADER_BYTES);
}

static void
check_answers(const uint8_t *hashes, uint64_t count, uint64_t near)
{
	for (int distance = -1; distance <= 1; distance++)
		must(hashset_contains(hashes, count, near + distance) ==
			 naive_contains(hashes, count, near + distance),
			 "another answer for %llx", (unsigned long long) near + distance);
}

static void
check_merge(const uint8_t *hashes, uint64_t count, uint64_t split)
{
	uint8_t    *a = allocate_hashes(split);
	uint8_t    *b = allocate_hashes(count - split);
	uint8_t    *merged = allocate_hashes(count);
	uint8_t    *all = allocate_hashes(count);
	uint64_t	count_a;
	uint64_t	count_b;
	uint64_t	together;

	memcpy(a, hashes, 8 * split);
	memcpy(b, hashes + 8 * split, 8 * (count - split));
	memcpy(all, hashes, 8 * count);
	count_a = naive_set(a, split);
	count_b = naive_set(b, count - split);
	together = hashset_merge(merged, a, count_a, b, count_b);
	must(together == naive_set(all, count) &&
		 memcmp(merged, all, 8 * together) == 0, "another union");
	release_hashes(a);
	release_hashes(b);
	release_hashes(merged);
	release_hashes(all);
}

/* The step comes by all places before it comes by one again. */
static void
check_stride(uint64_t count)
{
	uint64_t	stride = even_stride(count);
	uint64_t	at = 0;

	for (uint64_t i = 1; i < count; i++)
	{
		at = (at + stride) % count;
		must(at != 0, "back after %llu of %llu steps", (unsigned long long) i,
			 (unsigned long long) count);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t	words = size / sizeof(uint64_t);
	uint64_t	times = size > 0 ? 1 + data[0] : 1;
	uint64_t	count = 0;
	uint64_t	kept;
	uint8_t    *hashes;
	uint8_t    *naive;

	begin_input("sets of hashes", 0);
	if (words > 0 && (size - 1) / sizeof(uint64_t) < words)
		words--;
	if (words * times > HASHES_MAX)
		times = 1;
	hashes = allocate_hashes(words * times);
	naive = allocate_hashes(words * times);
	for (uint64_t i = 0; i < words; i++)
	{
		uint64_t	word = get64(data + 1 + 8 * i);

		/* the others differ in some bits from the word, wherever these are */
		for (uint64_t j = 0; j < times; j++)
			put64(hashes + 8 * count++, word ^ j << word % 64);
	}
	memcpy(naive, hashes, 8 * count);
	for (uint64_t split = 0; split <= count; split += count / 2 + 1)
		check_merge(hashes, count, split);
	kept = hashset_sort_unique(hashes, count);
	must(kept == naive_set(naive, count) &&
		 memcmp(hashes, naive, 8 * kept) == 0, "another set");
	for (uint64_t i = 0; i < words; i++)
		check_answers(hashes, kept, get64(data + 1 + 8 * i));
	check_answers(hashes, kept, 0);
	check_answers(hashes, kept, UINT64_MAX);
	check_stride(1 + count);
	operations++;
	release_hashes(hashes);
	release_hashes(naive);
	return 0;
}
