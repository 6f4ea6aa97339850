/*
 * subject.c
 *	  Properties of every image that the validator lets through, before and after
 *	  each operation.
 *
 * The validator promises that an image is safe, not that our own code could have
 * made it.  These properties hold all the same:
 *
 *	- it is let through again after each operation,
 *	- an element that was added is found, and in a cuckoo or counting filter until
 *	  it has been removed as often as it was added,
 *	- what is found is still found after growth, compaction and union, and, if
 *	  in both, after intersection,
 *	- all kinds of lookups give the same answer: alone, in a batch, by slices,
 *	  with any of the kernels, by counting,
 *	- an operation that says that it did nothing, did nothing,
 *	- estimates are numbers in their range.
 */
#include "fuzz.h"

#include <math.h>
#include <stdarg.h>

#include "../../src/filter/classic.h"
#include "../../src/filter/foreign/foreign.h"

uint64_t	let_through;
uint64_t	operations;

static uint64_t inputs;
static const char *report_name;
static double report_share;

void
broken(const char *format,...)
{
	va_list		args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\n");
	abort();
}

static void
report(void)
{
	bool		good = inputs > 0 && operations > 0 &&
		let_through >= report_share * inputs;

	printf("%s - %s: %llu inputs, %llu let through, %llu operations\n",
		   good ? "ok" : "not ok", report_name, (unsigned long long) inputs,
		   (unsigned long long) let_through, (unsigned long long) operations);
}

void
begin_input(const char *name, double share_let_through)
{
	if (inputs++ > 0)
		return;
	report_name = name;
	report_share = share_let_through;
	block_kernel_choose(NULL);
	atexit(report);
}

/* The first two are at the ends of what a hash may be. */
uint64_t
element(unsigned number)
{
	number %= ELEMENTS;
	return number == 0 ? 0 : number == 1 ? UINT64_MAX : number_hash(number);
}

static void
must_be_sound(const char *what, const uint8_t *image)
{
	const char *fault = image_check(image, image_bytes(image),
									image_kind(image));

	must(fault == NULL, "%s made an image unsound: %s", what, fault);
}

static bool
same_image(const uint8_t *a, const uint8_t *b)
{
	return image_bytes(a) == image_bytes(b) &&
		memcmp(a, b, image_bytes(a)) == 0;
}

/* ------------------------------------------------------------------------
 * Elements of our filters and of others
 * ------------------------------------------------------------------------ */

/* A filter of another system needs two words of an element. */
static ForeignHash
foreign_element(uint64_t hash)
{
	ForeignHash foreign = {.a = hash, .b = number_hash(hash)};

	return foreign;
}

static bool
takes_elements(const uint8_t *image)
{
	return !image_is_foreign(image) || foreign_takes_elements(image);
}

static bool
contains(const uint8_t *image, uint64_t hash)
{
	ForeignHash foreign = foreign_element(hash);
	bool		found;

	if (!image_is_foreign(image))
		return filter_contains(image, hash);
	foreign_contains_batch(image, &foreign, 1, &found);
	return found;
}

static void
contains_batch(const uint8_t *image, const uint64_t *hashes, size_t count,
			   bool *found)
{
	ForeignHash foreign[ELEMENTS];

	if (!image_is_foreign(image))
	{
		filter_contains_batch(image, hashes, count, found);
		return;
	}
	for (size_t i = 0; i < count; i++)
		foreign[i] = foreign_element(hashes[i]);
	foreign_contains_batch(image, foreign, count, found);
}

static bool
contains_sliced(const uint8_t *header, uint64_t hash, FilterFetch fetch,
				void *from)
{
	ForeignHash foreign = foreign_element(hash);

	return image_is_foreign(header) ?
		foreign_contains_sliced(header, &foreign, fetch, from) :
		filter_contains_sliced(header, hash, fetch, from);
}

static size_t
add_batch(uint8_t *image, const uint64_t *hashes, size_t count)
{
	ForeignHash foreign[ELEMENTS];

	if (!image_is_foreign(image))
		return filter_add_batch(image, hashes, count);
	for (size_t i = 0; i < count; i++)
		foreign[i] = foreign_element(hashes[i]);
	return foreign_add_batch(image, foreign, count);
}

/* Whether each element is found */
static void
find_elements(const uint8_t *image, bool found[ELEMENTS])
{
	for (int i = 0; i < ELEMENTS; i++)
		found[i] = contains(image, element(i));
}

/* Added elements are in, as often as they were added. */
static void
must_have_elements(const char *what, const Subject *subject)
{
	for (int i = 0; i < ELEMENTS; i++)
		must(subject->times[i] == 0 ||
			 contains(subject->image, element(i)),
			 "element %d lost by %s", i, what);
}

/* Elements found before an operation are found after it. */
static void
must_keep(const char *what, const bool before[ELEMENTS], const uint8_t *image)
{
	for (int i = 0; i < ELEMENTS; i++)
		must(!before[i] || contains(image, element(i)),
			 "element %d, found before, lost by %s", i, what);
}

bool
subject_open(Subject *subject, const uint8_t *bytes, size_t size)
{
	uint8_t    *image = allocate_image(size);
	bool		bloom;
	bool		cuckoo;

	memset(subject, 0, sizeof(*subject));
	memcpy(image, bytes, size);
	bloom = image_check(image, size, FILTER_BLOOM) == NULL;
	cuckoo = image_check(image, size, FILTER_CUCKOO) == NULL;
	must(!bloom || !cuckoo, "of two kinds");
	if (!bloom && !cuckoo)
	{
		release_image(image);
		return false;
	}
	must(image_bytes(image) == size, "of another length");
	must(image_kind(image) == (cuckoo ? FILTER_CUCKOO : FILTER_BLOOM),
		 "of another kind");
	subject->image = image;
	return true;
}

void
subject_close(Subject *subject)
{
	if (subject->image)
		release_image(subject->image);
	subject->image = NULL;
}

/* Put a new image in the place of the subject's. */
static void
subject_take(Subject *subject, uint8_t *image)
{
	release_image(subject->image);
	subject->image = image;
}

/* ------------------------------------------------------------------------
 * Probing
 * ------------------------------------------------------------------------ */

/* Where slices of an image are fetched from, and what was fetched last */
typedef struct Slices
{
	const uint8_t *image;
	void	   *slice;
	unsigned	fetched;
} Slices;

/* A FilterFetch that returns exactly the requested bytes */
static const uint8_t *
fetch_slice(void *from, uint64_t offset, uint32_t bytes)
{
	Slices	   *slices = (Slices *) from;

	must(bytes > 0 && offset <= image_bytes(slices->image) &&
		 bytes <= image_bytes(slices->image) - offset,
		 "slice of %u bytes at %llu fetched of %llu", bytes,
		 (unsigned long long) offset,
		 (unsigned long long) image_bytes(slices->image));
	slices->fetched++;
	free(slices->slice);
	slices->slice = malloc(bytes);
	if (slices->slice == NULL)
		give_up("out of memory");
	return memcpy(slices->slice, slices->image + offset, bytes);
}

/* Probe with only the header at hand. */
static bool
contains_in_parts(const uint8_t *header, const uint8_t *image, uint64_t hash)
{
	Slices		slices = {image, NULL, 0};
	bool		found = contains_sliced(header, hash, fetch_slice,
										&slices);

	free(slices.slice);
	must(slices.fetched > 0 && slices.fetched <= filter_slices(header),
		 "%u parts fetched, at most %u were announced", slices.fetched,
		 filter_slices(header));
	return found;
}

static void
probe_by_slices(const uint8_t *image, const bool found[ELEMENTS])
{
	uint64_t	bytes = filter_header_bytes(image);
	uint8_t    *header = memcpy(allocate_image(bytes), image, bytes);

	for (int i = 0; i < ELEMENTS; i++)
		must(contains_in_parts(header, image, element(i)) == found[i],
			 "another answer in parts");
	release_image(header);
}

static void
probe_kernels(const uint8_t *image, const bool found[ELEMENTS])
{
	const BlockKernel *chosen = block_kernel;

	for (int k = 0; k < block_kernel_count; k++)
	{
		if (!block_kernels[k].supported())
			continue;
		block_kernel = &block_kernels[k];
		for (int i = 0; i < ELEMENTS; i++)
			must(contains(image, element(i)) == found[i],
				 "another answer by %s", block_kernel->name);
	}
	block_kernel = chosen;
}

static void
call_estimates(const uint8_t *image)
{
	double		cardinality = filter_cardinality(image);
	double		rate = filter_estimated_error_rate(image);
	uint64_t	bits;
	uint64_t	bits_set;

	must(isfinite(cardinality) && cardinality >= 0, "cardinality %g",
		 cardinality);
	must(rate >= 0 && rate <= 1, "error rate %g", rate);
	filter_bits(image, &bits, &bits_set);
	must(bits_set <= bits && bits <= IMAGE_MAX_BITS, "%llu of %llu bits set",
		 (unsigned long long) bits_set, (unsigned long long) bits);
}

void
subject_probe(const Subject *subject)
{
	const uint8_t *image = subject->image;
	uint64_t	hashes[ELEMENTS];
	bool		found[ELEMENTS];
	bool		batch[ELEMENTS];

	must_be_sound("nothing", image);
	find_elements(image, found);
	for (int i = 0; i < ELEMENTS; i++)
		hashes[i] = element(i);
	contains_batch(image, hashes, ELEMENTS, batch);
	must(memcmp(found, batch, sizeof(found)) == 0, "another answer in a batch");
	for (int i = 0; i < ELEMENTS; i++)
		must((image_is_foreign(image) && !foreign_counts(image)) ||
			 (filter_count(image, element(i)) > 0) == found[i],
			 "another answer by counting");
	if (image_layers(image) > 0)
	{
		probe_kernels(image, found);
		probe_by_slices(image, found);
	}
	call_estimates(image);
	must(filter_difference(image, image) == FILTERS_COMPATIBLE ||
		 !takes_elements(image), "unlike itself");
	if (image_layout(image) == LAYOUT_EXPLICIT)
		for (uint64_t i = 0; i < image_count(image); i++)
			must(contains(image, get64(image_hashes(image) + 8 * i)),
				 "a hash of the set is not in it");
	must_have_elements("probing", subject);
}

/* ------------------------------------------------------------------------
 * Changing
 * ------------------------------------------------------------------------ */

static bool
is_cuckoo(const Subject *subject)
{
	return image_layout(subject->image) == LAYOUT_CUCKOO;
}

static bool
is_counting(const Subject *subject)
{
	return image_is_counting(subject->image);
}

/* Entries of a cuckoo filter, set bits of another */
static uint64_t
entries_in(const uint8_t *image)
{
	uint64_t	sum = 0;

	for (int i = 0; i < image_layers(image); i++)
	{
		FilterLayer layer = image_get_layer(image, i);

		sum += layer.bits_set;
	}
	return sum;
}

/* One more layer; false if that cannot be, or would be large. */
static bool
grow(Subject *subject)
{
	bool		found[ELEMENTS];
	FilterPlan	plan;
	uint8_t    *larger;

	if (filter_plan_growth(subject->image, 0, &plan) != FILTER_OK ||
		plan.bytes > RESULT_MAX)
		return false;
	find_elements(subject->image, found);
	larger = allocate_image(plan.bytes);
	filter_copy(larger, subject->image, &plan);
	subject_take(subject, larger);
	must_keep("growth", found, subject->image);
	return true;
}

/*
 * Add elements from "first" on.  A layer that is full or has no place is
 * followed by another, if it may be.
 */
static void
add(Subject *subject, unsigned first, unsigned count, bool unique)
{
	uint64_t	hashes[ELEMENTS];
	unsigned	done = 0;

	if (image_layers(subject->image) == 0 || !takes_elements(subject->image))
		return;
	/* the caller has to set it, because it knows what the elements are */
	if (image_class(subject->image) == 0)
		put64(subject->image + IMAGE_OFF_CLASS, SOME_CLASS);
	for (unsigned i = 0; i < count; i++)
		hashes[i] = element(first + i);
	for (;;)
	{
		uint64_t	entries = entries_in(subject->image);
		uint8_t    *before = copy_image(subject->image);
		bool		found[ELEMENTS];
		size_t		added;

		find_elements(before, found);
		added = unique ?
			filter_add_unique_batch(subject->image, hashes + done, count - done) :
			add_batch(subject->image, hashes + done, count - done);
		must(added <= count - done, "added more than there was");
		must_be_sound("adding", subject->image);
		must_keep("adding", found, subject->image);
		must(is_cuckoo(subject) ?
			 entries_in(subject->image) - entries <= added :
			 entries_in(subject->image) >= entries, "entries or bits lost");
		must(added > 0 || same_image(before, subject->image),
			 "changed in vain");
		/* a set has it already */
		if (count == 1 && added == 1 && found[first % ELEMENTS] &&
			(unique || !(is_cuckoo(subject) || is_counting(subject))))
			must(same_image(before, subject->image), "added again");
		for (size_t i = 0; i < added; i++)
		{
			unsigned	number = (first + done + i) % ELEMENTS;

			must(contains(subject->image, element(number)),
				 "element %u lost at once", number);
			/* one that seemed to be in may be lost with another's entry */
			if (!unique || (count == 1 && !found[number]))
				subject->times[number]++;
		}
		done += added;
		release_image(before);
		if (done == count || !grow(subject))
			return;
	}
}

static void
remove_one(Subject *subject, unsigned number)
{
	uint64_t	hash = element(number);
	bool		explicit = image_layout(subject->image) == LAYOUT_EXPLICIT;
	bool		foreign = foreign_counts(subject->image);
	bool		found = contains(subject->image, hash);
	uint64_t	entries;
	uint8_t    *before;

	if (!is_cuckoo(subject) && !is_counting(subject) && !explicit && !foreign)
		return;

	/*
	 * to remove what only seems to be in would remove another one; nothing
	 * was added to a foreign one
	 */
	if (!explicit && !foreign && found && subject->times[number % ELEMENTS] == 0)
		return;
	entries = entries_in(subject->image);
	before = copy_image(subject->image);
	switch (filter_remove(subject->image, hash))
	{
		case FILTER_REMOVED:
			must(found, "removed what was not in");
			must(explicit ?
				 image_count(subject->image) == image_count(before) - 1 :
				 foreign ?
				 filter_cardinality(subject->image) == filter_cardinality(before) - 1 :
				 is_counting(subject) ?
				 entries_in(subject->image) <= entries :
				 entries_in(subject->image) == entries - 1, "not one removed");
			if (!explicit && !foreign)
				subject->times[number % ELEMENTS]--;
			break;
		case FILTER_ABSENT:
			must(!found, "did not remove what was in");
			must(same_image(before, subject->image), "changed in vain");
			break;
		case FILTER_SATURATED:
			must(found && !explicit, "saturated, but not in");
			must(same_image(before, subject->image), "changed in vain");
			break;
	}
	if (explicit)
	{
		must(!contains(subject->image, hash), "still in the set");
		subject_take(subject, copy_image(subject->image));
	}
	release_image(before);
}

static void
compact(Subject *subject)
{
	bool		found[ELEMENTS];
	uint64_t	bytes = image_bytes(subject->image);
	uint64_t	left;

	find_elements(subject->image, found);
	left = filter_compact(subject->image);
	must(left == image_bytes(subject->image) && left <= bytes,
		 "compacted from %llu to %llu bytes", (unsigned long long) bytes,
		 (unsigned long long) left);
	/* so that memory ends where the image does */
	subject_take(subject, copy_image(subject->image));
	must_keep("compaction", found, subject->image);
}

/* The union of two sets of hashes, as the server makes it */
static uint8_t *
unite_explicit(const uint8_t *a, const uint8_t *b)
{
	uint64_t	most = image_count(a) + image_count(b);
	uint8_t    *merged = allocate_image(image_explicit_bytes(most));
	uint8_t    *exact;
	uint64_t	count;

	memcpy(merged, a, IMAGE_HEADER_BYTES);
	if (image_class(a) == 0)
		put64(merged + IMAGE_OFF_CLASS, image_class(b));
	count = hashset_merge(image_hashes(merged), image_hashes(a),
						  image_count(a), image_hashes(b), image_count(b));
	must(count <= most, "more hashes than there were");
	put64(merged + IMAGE_OFF_COUNT, count);
	put64(merged + IMAGE_OFF_BYTES, image_explicit_bytes(count));
	exact = copy_image(merged);
	release_image(merged);
	return exact;
}

/* The union as planned; NULL if two cuckoo filters did not fit. */
static uint8_t *
unite_planned(const uint8_t *a, const uint8_t *b, const FilterPlan *plan)
{
	uint8_t    *united = allocate_image(plan->bytes);

	if (filter_unite(united, a, b, plan))
		return united;
	must(image_kind(a) == FILTER_CUCKOO, "union of bloom filters failed");
	release_image(united);
	return NULL;
}

/* The union of two compatible filters; NULL if there is none, or a large one */
static uint8_t *
unite(const uint8_t *a, const uint8_t *b, bool apart)
{
	FilterLayout of_a = image_layout(a);
	FilterLayout of_b = image_layout(b);
	FilterPlan	plan;
	uint8_t    *united;

	if (filter_difference(a, b) != FILTERS_COMPATIBLE)
		return NULL;
	if (of_a == LAYOUT_EXPLICIT && of_b == LAYOUT_EXPLICIT)
		return unite_explicit(a, b);
	if (image_layers(a) == 0 || image_layers(b) == 0)
		return NULL;
	apart = apart && of_a == LAYOUT_CUCKOO;
	if (filter_plan_union(a, b, apart, &plan) != FILTER_OK ||
		plan.bytes > RESULT_MAX)
		return NULL;
	united = unite_planned(a, b, &plan);
	must(united != NULL || !apart, "side by side there was no place");
	if (united && filter_unites_in_place(a, &plan))
	{
		uint8_t    *within = copy_image(a);

		filter_unite_in_place(within, b, &plan);
		must(same_image(within, united), "another union within");
		release_image(within);
	}
	return united;
}

/* Put the union of both into the first. */
static void
unite_subjects(Subject *a, Subject *b, bool apart)
{
	bool		in_a[ELEMENTS];
	bool		in_b[ELEMENTS];
	uint8_t    *united;

	united = unite(a->image, b->image, apart);
	if (united == NULL)
		return;
	find_elements(a->image, in_a);
	find_elements(b->image, in_b);
	subject_take(a, united);
	must_keep("union", in_a, a->image);
	must_keep("union", in_b, a->image);
	for (int i = 0; i < ELEMENTS; i++)
		a->times[i] += b->times[i];
}

static void
intersect_subjects(Subject *a, const Subject *b)
{
	bool		in_both[ELEMENTS];
	bool		in_b[ELEMENTS];

	if (image_kind(a->image) != FILTER_BLOOM ||
		image_layers(a->image) != 1 || image_layers(b->image) != 1 ||
		filter_difference(a->image, b->image) != FILTERS_COMPATIBLE)
		return;
	find_elements(a->image, in_both);
	find_elements(b->image, in_b);
	for (int i = 0; i < ELEMENTS; i++)
	{
		in_both[i] = in_both[i] && in_b[i];
		/* how often it may be removed; a bit is not a count */
		if (is_counting(a))
		{
			if (a->times[i] > b->times[i])
				a->times[i] = b->times[i];
		}
		else
			a->times[i] = in_both[i] && a->times[i] > 0;
	}
	filter_intersect_in_place(a->image, b->image);
	must_keep("intersection", in_both, a->image);
}

/* A filter without elements and with the parameters of this one, or NULL */
static uint8_t *
made_compatible(const uint8_t *image)
{
	FilterParams params;
	FilterPlan	plan;
	FilterLayer first;
	FilterStatus status;
	uint8_t    *made;

	if (image_layers(image) == 0)
		return NULL;
	params = image_get_params(image);
	first = image_get_layer(image, 0);
	status = first.layout == LAYOUT_CLASSIC ?
		filter_plan_classic(first.size, first.hashes, &plan) :
		image_is_foreign(image) ? filter_plan_again(image, &plan) :
		filter_plan(&params, &plan);
	if (status != FILTER_OK || plan.bytes > RESULT_MAX)
		return NULL;
	made = allocate_image(plan.bytes);
	filter_init(made, &params, &plan);
	must_be_sound("making", made);
	return made;
}

/* Put another image in the place of the second subject's. */
static void
replace(Subject *subject, uint8_t *image, const Subject *like)
{
	if (image == NULL)
		return;
	subject_close(subject);
	subject->image = image;
	if (like)
		memcpy(subject->times, like->times, sizeof(subject->times));
	else
		memset(subject->times, 0, sizeof(subject->times));
}

typedef enum Operation
{
	ADD,
	ADD_MANY,
	ADD_UNIQUE,
	ADD_UNIQUE_MANY,
	REMOVE,
	GROW,
	COMPACT,
	UNITE,
	UNITE_APART,
	UNITE_WITH_ITSELF,
	INTERSECT,
	EXCHANGE,
	COPY,
	MAKE_COMPATIBLE,
	PROBE,
	OPERATIONS
} Operation;

const int	operation_count = OPERATIONS;

static void
operate(Subject *a, Subject *b, Operation operation, unsigned number)
{
	Subject		swap;

	switch (operation)
	{
		case ADD:
			add(a, number, 1, false);
			break;
		case ADD_MANY:
			add(a, number, 1 + number % ELEMENTS, false);
			break;
		case ADD_UNIQUE:
			if (is_cuckoo(a))
				add(a, number, 1, true);
			break;
		case ADD_UNIQUE_MANY:
			if (is_cuckoo(a))
				add(a, number, 1 + number % ELEMENTS, true);
			break;
		case REMOVE:
			remove_one(a, number);
			break;
		case GROW:
			if (image_layers(a->image) > 0)
				grow(a);
			break;
		case COMPACT:
			compact(a);
			break;
		case UNITE:
			unite_subjects(a, b, false);
			break;
		case UNITE_APART:
			unite_subjects(a, b, true);
			break;
		case UNITE_WITH_ITSELF:
			swap = *a;
			swap.image = copy_image(a->image);
			/* one and the same image as both sides, and a copy of it */
			if (number % 2 == 0)
				replace(&swap, unite(a->image, a->image, false), a);
			else
				unite_subjects(&swap, a, false);
			must_be_sound("union with itself", swap.image);
			must_have_elements("union with itself", &swap);
			subject_close(&swap);
			break;
		case INTERSECT:
			intersect_subjects(a, b);
			break;
		case EXCHANGE:
			swap = *a;
			*a = *b;
			*b = swap;
			break;
		case COPY:
			replace(b, copy_image(a->image), a);
			break;
		case MAKE_COMPATIBLE:
			replace(b, made_compatible(a->image), NULL);
			break;
		case PROBE:
			subject_probe(a);
			break;
		case OPERATIONS:
			break;
	}
	must_be_sound("an operation", a->image);
	must_have_elements("an operation", a);
}

void
subjects_operate(Subject subjects[2], const uint8_t *program, size_t size)
{
	/* now with this kernel, now with that; the last one runs everywhere */
	block_kernel = &block_kernels[size / 2 % block_kernel_count];
	if (!block_kernel->supported())
		block_kernel = &block_kernels[block_kernel_count - 1];
	for (size_t i = 0; i + 1 < size; i += 2)
	{
		operate(&subjects[0], &subjects[1],
				(Operation) (program[i] % OPERATIONS), program[i + 1]);
		operations++;
	}
	for (int i = 0; i < 2; i++)
		subject_probe(&subjects[i]);
}
