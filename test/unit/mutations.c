/*
 * mutations.c
 *	  Damage images at random, and use what the validator accepts.
 */
#include "mutations.h"

#include <math.h>

/* The most damages of a mutation; one in a few mutations is not repaired. */
#define DAMAGES_MAX				4
#define MUTATIONS_FOR_ONE_LEFT	4

/* One in a few mutations has another length, of at most some words more. */
#define MUTATIONS_FOR_ONE_LENGTH	8
#define WORDS_MORE				20

/* Fewer accepted images would not prove much. */
#define LEAST_ACCEPTED			(1 / 20.0)

/* The most hashes for exercise_lookups() and exercise_additions() */
#define HASHES_MAX				60

static uint64_t
another_length(uint64_t bytes)
{
	if (random_below(2) == 0)
		return bytes + 8 * random_below(WORDS_MORE);
	bytes = random_below(bytes + 1);
	return bytes < IMAGE_HEADER_BYTES ? IMAGE_HEADER_BYTES : bytes;
}

void
test_mutations_of(const Mutations *mutations)
{
	uint64_t	accepted = 0;

	begin_test("%s", mutations->name);
	for (uint64_t i = 0; i < mutations->count; i++)
	{
		const uint8_t *sample =
			mutations->samples[random_below(mutations->sample_count)];
		uint64_t	sample_bytes = image_bytes(sample);
		uint64_t	bytes = sample_bytes;
		uint8_t    *image;

		if (mutations->other_lengths &&
			random_below(MUTATIONS_FOR_ONE_LENGTH) == 0)
			bytes = another_length(bytes);
		image = allocate_image(bytes);
		memcpy(image, sample, bytes < sample_bytes ? bytes : sample_bytes);
		for (uint64_t j = random_below(DAMAGES_MAX) + 1; j > 0; j--)
			mutations->damage(image, bytes, sample);
		if (random_below(MUTATIONS_FOR_ONE_LEFT) != 0)
			mutations->repair(image, bytes);
		if (image_check(image, bytes, mutations->kind) == NULL)
		{
			accepted++;
			mutations->exercise(image, sample);
		}
		release_image(image);
	}
	expect(accepted > LEAST_ACCEPTED * mutations->count,
		   "only %llu of %llu images accepted", (unsigned long long) accepted,
		   (unsigned long long) mutations->count);
	end_test();
}

void
exercise_lookups(const uint8_t *image, uint64_t *hashes, size_t count)
{
	bool		found[HASHES_MAX];
	double		cardinality = filter_cardinality(image);
	double		rate = filter_estimated_error_rate(image);
	uint64_t	bits;
	uint64_t	bits_set;

	for (size_t i = 0; i < count; i++)
		hashes[i] = number_hash(i);
	hashes[0] = 0;
	hashes[1] = UINT64_MAX;
	filter_contains_batch(image, hashes, count, found);
	for (size_t i = 0; i < count; i++)
		expect(filter_contains(image, hashes[i]) == found[i],
			   "a batch differs");
	filter_bits(image, &bits, &bits_set);
	expect(bits_set <= bits, "more bits set than there are");
	expect(isfinite(cardinality) && cardinality >= 0, "cardinality %g",
		   cardinality);
	expect(rate >= 0 && rate <= 1, "error rate %g", rate);
}

void
exercise_additions(uint8_t *image, const uint64_t *hashes, size_t count)
{
	bool		found[HASHES_MAX];
	size_t		added;

	if (image_class(image) == 0)
		put64(image + IMAGE_OFF_CLASS, SOME_CLASS);
	added = filter_add_batch(image, hashes, count);
	expect_sound("adding", image);
	filter_contains_batch(image, hashes, added, found);
	for (size_t i = 0; i < added; i++)
		expect(found[i], "lost at once");
}
