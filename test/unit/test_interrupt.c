/*
 * test_interrupt.c
 *	  Long operations have interrupt checks, and may be cancelled at any of
 *	  them: what they change is sound then, and what they read is unchanged.
 */
#include "unit.h"

#include <setjmp.h>

/* Elements of filters of some megabytes, which pass several checks */
#define CAPACITY		3000000
#define ADDED			20000

/* Hashes that are sorted, some of them repeated */
#define HASHES			30000

/* Hashes of each of two sets that are merged: 16 MB */
#define MERGED			2000000

/* What is worked on: an image, or hashes to be sorted; and what is read */
typedef struct Work
{
	uint8_t    *image;
	const uint8_t *other;
	uint64_t	count;
} Work;

static uint64_t checks;
static uint64_t last_check;
static jmp_buf at_cancel;

static void
count_check(void)
{
	if (++checks == last_check)
		longjmp(at_cancel, 1);
}

/* Work until an interrupt check, counted from 1.  Returns whether it came. */
static bool
cancel_at(uint64_t number, void (*work) (Work *), Work *with)
{
	checks = 0;
	last_check = number;
	filter_interrupt_check = count_check;
	if (setjmp(at_cancel) != 0)
	{
		filter_interrupt_check = NULL;
		return true;
	}
	work(with);
	filter_interrupt_check = NULL;
	return false;
}

/* The check to try after this one: each at first, of many only some */
static uint64_t
next_number(uint64_t number)
{
	return number + 1 + number / 16;
}

static void
sort(Work *work)
{
	work->count = hashset_sort_unique(work->image, work->count);
}

static void
merge(Work *work)
{
	hashset_merge(work->image, work->other, work->count, work->other + 8 * work->count,
				  work->count);
}

/* The same, but of the second set take the greatest hash only. */
static void
merge_one(Work *work)
{
	hashset_merge(work->image, work->other, work->count,
				  work->other + 8 * (2 * work->count - 1), 1);
}

static void
check(Work *work)
{
	expect_sound("a check", work->image);
}

static void
unite_within(Work *work)
{
	FilterPlan	plan;

	expect(filter_plan_union(work->image, work->other, false, &plan) == FILTER_OK,
		   "no plan");
	expect(filter_unites_in_place(work->image, &plan), "not in place");
	filter_unite_in_place(work->image, work->other, &plan);
}

static void
intersect_within(Work *work)
{
	filter_intersect_in_place(work->image, work->other);
}

/* The result of unite(); after a cancel, the next call frees it */
static uint8_t *united = NULL;

/* The sum of two sets, or the union of two filters, anew */
static void
unite(Work *work)
{
	FilterPlan	plan;

	if (united)
		release_image(united);
	united = NULL;
	filter_plan_union(work->image, work->other, false, &plan);
	united = allocate_image(plan.bytes);
	expect(filter_unite(united, work->image, work->other, &plan), "no room");
}

/* Add the numbers from 0 on, each twice, as far as there is room. */
static void
add_twice(Work *work)
{
	for (work->count = 0;; work->count++)
	{
		uint64_t	hash = number_hash(work->count / 2);

		if (filter_add_batch(work->image, &hash, 1) == 0)
			return;
	}
}

static void
test_sort(void)
{
	static const uint64_t distinct[] = {10, 1000, HASHES};
	uint8_t    *hashes = malloc(8 * HASHES);
	uint8_t    *sorted = malloc(8 * HASHES);
	uint8_t    *copy = malloc(8 * HASHES);
	Work		work = {.image = copy};

	begin_test("hashes that are being sorted are all there at each check");
	for (int n = 0; n < lengthof(distinct); n++)
	{
		for (uint64_t i = 0; i < HASHES; i++)
			put64(hashes + 8 * i, number_hash(i % distinct[n]));
		memcpy(sorted, hashes, 8 * HASHES);
		expect(hashset_sort_unique(sorted, HASHES) == distinct[n], "lost some");
		for (uint64_t number = 1;; number = next_number(number))
		{
			memcpy(copy, hashes, 8 * HASHES);
			work.count = HASHES;
			if (!cancel_at(number, sort, &work))
			{
				expect(number > 8, "%llu distinct: only %llu checks",
					   (unsigned long long) distinct[n],
					   (unsigned long long) number);
				break;
			}
			expect(hashset_sort_unique(copy, HASHES) == distinct[n] &&
				   memcmp(copy, sorted, 8 * distinct[n]) == 0,
				   "%llu distinct, cancelled at check %llu",
				   (unsigned long long) distinct[n],
				   (unsigned long long) number);
		}
	}
	end_test();
	free(hashes);
	free(sorted);
	free(copy);
}

/* A filter of some megabytes with the numbers from "first" on */
static uint8_t *
make_some(FilterKind kind, uint64_t first)
{
	uint8_t    *image = make_of_kind(kind, CAPACITY, 0.01, 2);

	add_numbers(&image, first, ADDED);
	return image;
}

/* Are there enough interrupt checks for the bytes that are passed? */
static void
expect_checks(const char *what, void (*work) (Work *), Work *with,
			  uint64_t bytes)
{
	expect(!cancel_at(0, work, with), "nobody gives up");
	expect(checks >= bytes / INTERRUPT_BYTES, "%s: only %llu checks", what,
		   (unsigned long long) checks);
}

static void
test_merge(void)
{
	uint8_t    *sets = malloc(2 * 8 * MERGED);
	Work		work = {.image = malloc(2 * 8 * MERGED), .other = sets, .count = MERGED};

	begin_test("sets of some megabytes are merged with interrupt checks");
	for (uint64_t i = 0; i < 2 * MERGED; i++)
		put64(sets + 8 * i, i < MERGED ? 2 * i : 2 * (i - MERGED) + 1);
	expect_checks("merge", merge, &work, 2 * 8 * MERGED);
	expect_checks("merge with one hash", merge_one, &work, 8 * MERGED);
	end_test();
	free(sets);
	free(work.image);
}

static void
test_reading(void)
{
	static const struct
	{
		const char *name;
		FilterKind	kind;
	}			kinds[] = {{"bloom", FILTER_BLOOM}, {"cuckoo", FILTER_CUCKOO}};

	for (int i = 0; i < lengthof(kinds); i++)
	{
		uint8_t    *a = make_some(kinds[i].kind, 0);
		uint8_t    *b = make_some(kinds[i].kind, ADDED);
		uint8_t    *before_a = copy_image(a);
		uint8_t    *before_b = copy_image(b);
		Work		work = {.image = a, .other = b};

		begin_test("%s filters of some megabytes are checked and united with interrupt checks",
				   kinds[i].name);
		expect_checks("check", check, &work, image_bytes(a));
		expect_checks("unite", unite, &work, image_bytes(a));
		for (uint64_t number = 1; cancel_at(number, unite, &work);
			 number = next_number(number))
				expect(memcmp(a, before_a, image_bytes(a)) == 0 &&
					   memcmp(b, before_b, image_bytes(b)) == 0,
					   "cancelled at check %llu, and changed",
					   (unsigned long long) number);
		end_test();
		release_image(a);
		release_image(b);
		release_image(before_a);
		release_image(before_b);
	}
}

/* Change a in place, by b; once cancelled, it must have its remaining elements. */
static void
expect_sound_within(const char *what, void (*work) (Work *), const uint8_t *a,
					const uint8_t *b, uint64_t first, uint64_t count)
{
	uint64_t	number = 1;
	bool		cancelled = true;

	for (; cancelled; number = next_number(number))
	{
		Work		with = {.image = copy_image(a), .other = b};

		cancelled = cancel_at(number, work, &with);
		check(&with);
		expect(count_hits(with.image, first, count) == count,
			   "%s lost some, cancelled at check %llu", what,
			   (unsigned long long) number);
		release_image(with.image);
	}
	expect(number > 2, "%s: no check", what);
}

static void
test_changing(void)
{
	uint8_t    *a = make_some(FILTER_BLOOM, 0);
	uint8_t    *b = make_some(FILTER_BLOOM, ADDED / 2);

	begin_test("a filter that is changed in place is sound at each interrupt check");
	expect_sound_within("union", unite_within, a, b, 0, ADDED);
	expect_sound_within("intersection", intersect_within, a, b, ADDED / 2,
						ADDED / 2);
	end_test();
	release_image(a);
	release_image(b);

	begin_test("a long search for a free slot has interrupt checks, and leaves a sound filter");
	{
		uint8_t    *empty = make_cuckoo(100000, 0.01, 0);
		Work		work = {.image = copy_image(empty)};

		expect(!cancel_at(0, add_twice, &work), "nobody gives up");
		expect(checks > 0, "no check until %llu were added",
			   (unsigned long long) work.count);
		release_image(work.image);
		work.image = copy_image(empty);
		expect(cancel_at(1, add_twice, &work), "no check");
		check(&work);
		for (uint64_t i = 0; i < work.count; i++)
			expect(filter_count(work.image, number_hash(i / 2)) > i % 2,
				   "lost %llu", (unsigned long long) i);
		release_image(work.image);
		release_image(empty);
	}
	end_test();
}

void
test_interrupt(void)
{
	test_sort();
	test_merge();
	test_reading();
	test_changing();
}
