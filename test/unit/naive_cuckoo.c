/*
 * naive_cuckoo.c
 *	  The naive reader of cuckoo filters: bit by bit, with division and
 *	  remainder, as docs/dev/format.md says it.
 */
#include "naive_cuckoo.h"

#include <math.h>

NaivePlace
naive_place(uint64_t n0, uint64_t multiple, unsigned f0, unsigned f,
			uint64_t hash)
{
	uint64_t	word = hash * UINT64_C(0x9E3779B97F4A7C15);
	uint64_t	more = (word ^ (word >> 32)) * UINT64_C(0xBF58476D1CE4E5B9);
	uint64_t	first = 1 + (uint64_t)
		(((unsigned __int128) word * ((UINT64_C(1) << f0) - 1)) >> 64);
	uint64_t	spread = first * UINT64_C(0x9E3779B97F4A7C15);
	uint64_t	half = n0 * multiple / 2;
	uint64_t	window = (uint64_t) (((unsigned __int128) hash * (n0 * multiple)) >> 64);
	uint64_t	h;
	NaivePlace	place;

	spread = (spread ^ (spread >> 32)) * UINT64_C(0xBF58476D1CE4E5B9);
	spread = (first << (64 - f0)) + spread / (UINT64_C(1) << f0);
	h = (uint64_t) (((unsigned __int128) spread * (n0 / 2)) >> 64);
	h = multiple * (h + 1) - 1;
	place.window[0] = window;
	place.window[1] = window < half ?
		half + (h + half - window) % half :
		(h + half - (window - half)) % half;
	place.fingerprint = first;
	for (unsigned bit = 0; bit < f - f0; bit++)
		place.fingerprint = 2 * place.fingerprint + ((more >> (63 - bit)) & 1);
	return place;
}

NaivePlace
naive_place_in(const uint8_t *image, int i, uint64_t hash)
{
	FilterLayer first = image_get_layer(image, 0);
	FilterLayer layer = image_get_layer(image, i);

	return naive_place(first.size, layer.multiple, first.hashes, layer.hashes,
					   hash);
}

bool
same_class(const NaivePlace *a, const NaivePlace *b)
{
	return a->fingerprint == b->fingerprint &&
		((a->window[0] == b->window[0] && a->window[1] == b->window[1]) ||
		 (a->window[0] == b->window[1] && a->window[1] == b->window[0]));
}

/* What is in a slot, read bit by bit */
uint64_t
naive_slot(const uint8_t *image, const FilterLayer *layer, uint64_t slot)
{
	uint64_t	value = 0;

	for (unsigned bit = 0; bit <= layer->hashes; bit++)
	{
		uint64_t	at = slot * (layer->hashes + 1) + bit;

		value |= (uint64_t)
			((image[layer->offset + at / 8] >> (at % 8)) & 1) << bit;
	}
	return value;
}

/* Entries of the class of a hash in layer i; *full: all its slots hold it */
unsigned
naive_count_in(const uint8_t *image, int i, uint64_t hash, bool *full)
{
	NaivePlace	place = naive_place_in(image, i, hash);
	uint64_t	low = fmin(place.window[0], place.window[1]);
	uint64_t	high = fmax(place.window[0], place.window[1]);
	FilterLayer layer = image_get_layer(image, i);
	unsigned	count = 0;

	for (int w = 0; w < 2; w++)
		for (int offset = 0; offset < 2; offset++)
			count += naive_slot(image, &layer, place.window[w] + offset) ==
				2 * place.fingerprint + offset;
	*full = count == (high == low + 1 ? 3 : 4);
	return count;
}

unsigned
naive_count(const uint8_t *image, uint64_t hash, bool *saturated)
{
	unsigned	count = 0;

	*saturated = false;
	for (int i = 0; i < image_layers(image); i++)
	{
		bool		full;

		count += naive_count_in(image, i, hash, &full);
		*saturated |= full;
	}
	return count;
}

uint64_t
entries_in(const uint8_t *image)
{
	return (uint64_t) filter_cardinality(image);
}

/* What a fetch function needs to check its arguments */
typedef struct Fetched
{
	const uint8_t *image;
	uint64_t	least;			/* first offset that is not the header's */
	unsigned	fetches;
	uint8_t    *slice;			/* as long as what was fetched, to the byte */
} Fetched;

static const uint8_t *
fetch_part(void *from, uint64_t offset, uint32_t bytes)
{
	Fetched    *fetched = from;

	expect(offset >= fetched->least && bytes <= CUCKOO_WINDOW_BYTES &&
		   offset + bytes <= image_bytes(fetched->image),
		   "%u bytes fetched at %llu", bytes, (unsigned long long) offset);
	fetched->fetches++;
	free(fetched->slice);
	fetched->slice = malloc(bytes);
	memcpy(fetched->slice, fetched->image + offset, bytes);
	return fetched->slice;
}

/* All lookups, compared with the naive reader */
void
expect_answers(const char *what, const uint8_t *image, uint64_t first,
			   uint64_t count)
{
	uint64_t   *hashes = calloc(count, sizeof(uint64_t));
	bool	   *found = calloc(count, sizeof(bool));
	uint64_t	header_bytes = filter_header_bytes(image);
	uint8_t    *header = malloc(header_bytes);

	/* the header alone, so that sanitizers see a read beyond it */
	memcpy(header, image, header_bytes);
	for (uint64_t i = 0; i < count; i++)
		hashes[i] = number_hash(first + i);
	filter_contains_batch(image, hashes, count, found);
	for (uint64_t i = 0; i < count; i++)
	{
		bool		saturated;
		unsigned	exact = naive_count(image, hashes[i], &saturated);
		Fetched		fetched = {image, header_bytes, 0, NULL};

		expect(filter_count(image, hashes[i]) == exact, "%s: %u counted, not %u",
			   what, filter_count(image, hashes[i]), exact);
		expect(filter_contains(image, hashes[i]) == (exact > 0) &&
			   found[i] == (exact > 0), "%s: wrong answer about %llu", what,
			   (unsigned long long) (first + i));
		expect(filter_contains_sliced(header, hashes[i], fetch_part,
									  &fetched) == (exact > 0),
			   "%s: wrong answer by slices", what);
		expect(fetched.fetches >= 1 && fetched.fetches <= filter_slices(header),
			   "%s: %u fetches", what, fetched.fetches);
		free(fetched.slice);
	}
	free(header);
	free(hashes);
	free(found);
}

/* Add a hash; the image may grow. */
void
add_one(uint8_t **image, uint64_t hash)
{
	add_hashes(image, &hash, 1);
}

bool
same_image(const uint8_t *a, const uint8_t *b)
{
	return image_bytes(a) == image_bytes(b) &&
		memcmp(a, b, image_bytes(a)) == 0;
}

/* Unions for whose entries the plan had room, but there was no place */
int			failed_unions;

/* The union as a caller makes it; NULL if refused, with the reason */
uint8_t *
unite(const uint8_t *a, const uint8_t *b, FilterStatus *status)
{
	uint8_t    *copy_a = copy_image(a);
	uint8_t    *copy_b = copy_image(b);
	uint8_t    *image = NULL;
	FilterPlan	plan;

	*status = filter_plan_union(a, b, false, &plan);
	if (*status == FILTER_OK)
	{
		expect(!filter_unites_in_place(a, &plan), "would be made in place");
		image = allocate_image(plan.bytes);
		if (!filter_unite(image, a, b, &plan))
		{
			failed_unions++;
			release_image(image);
			image = NULL;
			*status = filter_plan_union(a, b, true, &plan);
			if (*status == FILTER_OK)
			{
				image = allocate_image(plan.bytes);
				expect(filter_unite(image, a, b, &plan), "failed apart");
			}
		}
	}
	expect(same_image(a, copy_a) && same_image(b, copy_b),
		   "an operand was changed");
	release_image(copy_a);
	release_image(copy_b);
	if (image != NULL)
		expect_sound("union", image);
	return image;
}
