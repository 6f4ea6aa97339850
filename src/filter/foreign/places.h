/*
 * places.h
 *	  The loops that probe other systems' filters, and add to them.
 *
 * A format's rule from an element's hash to the numbers of its bits is an inline function, a
 * ForeignPlace.  FOREIGN_PLACES() defines the loops of a rule, without a call for each bit.
 */
#ifndef FILTER_FOREIGN_PLACES_H
#define FILTER_FOREIGN_PLACES_H

#include "format.h"

/* Elements whose first places are prefetched together, so that cache misses overlap */
#define PLACES_AHEAD	32

/* Return the place of an element's bit i, counted from 0, in a layer of m bits. */
typedef uint64_t (*ForeignPlace) (const ForeignHash *hash, uint64_t i,
								  uint64_t m);

/* Return layer i of a foreign filter for probes. */
static inline ProbeLayer
places_layer(const uint8_t *image, int i, FilterFetch fetch, void *from)
{
	const uint8_t *at = image_layer_at(image, i);
	uint64_t	size = get64(at + LAYER_OFF_SIZE);

	return (ProbeLayer)
	{
		.bits = (uint8_t *) image + get64(at + LAYER_OFF_OFFSET),
		/* after damage on disk answers may be wrong, but never divide by 0 */
			.size = size + (size == 0),
			.hashes = at[LAYER_OFF_HASHES],
			.image = image, .fetch = fetch, .from = from
	};
}

/* Does a layer contain the element?  Its first place is "place". */
static ALWAYS_INLINE bool
bits_contain(ForeignPlace place_of, const ProbeLayer *layer,
			 const ForeignHash *hash, uint64_t place)
{
	if (!bit_is_set(layer_slice(layer, place / 8, 1), place % 8))
		return false;
	for (unsigned i = 1; i < layer->hashes; i++)
	{
		place = place_of(hash, i, layer->size);
		if (!bit_is_set(layer_slice(layer, place / 8, 1), place % 8))
			return false;
	}
	return true;
}

/* Set the element's bits, and return how many of them were clear before. */
static ALWAYS_INLINE unsigned
bits_add(ForeignPlace place_of, const ProbeLayer *layer,
		 const ForeignHash *hash)
{
	unsigned	added = 0;

	for (unsigned i = 0; i < layer->hashes; i++)
		added += set_bit(layer->bits, place_of(hash, i, layer->size));
	return added;
}

typedef bool (*ForeignContain) (ForeignPlace place_of, const ProbeLayer *layer,
								const ForeignHash *hash, uint64_t place);
typedef unsigned (*ForeignAdd) (ForeignPlace place_of, const ProbeLayer *layer,
								const ForeignHash *hash);

/* Probe the last layer for all elements, then earlier ones for elements not yet found. */
static ALWAYS_INLINE void
places_contain_batch(ForeignPlace place_of, ForeignContain contain, int layers,
					 const uint8_t *image, const ForeignHash *hashes,
					 size_t count, bool *found, FilterFetch fetch, void *from)
{
	while (count > 0)
	{
		uint64_t	places[PLACES_AHEAD];
		size_t		batch = smaller(count, PLACES_AHEAD);
		ProbeLayer	layer = places_layer(image, layers - 1, fetch, from);

		for (size_t i = 0; i < batch; i++)
		{
			places[i] = place_of(&hashes[i], 0, layer.size);
			__builtin_prefetch(layer.bits + places[i] / 8);
		}
		for (size_t i = 0; i < batch; i++)
			found[i] = contain(place_of, &layer, &hashes[i], places[i]);
		for (int other = layers - 2; other >= 0; other--)
		{
			layer = places_layer(image, other, fetch, from);
			for (size_t i = 0; i < batch; i++)
				if (!found[i])
					found[i] = contain(place_of, &layer, &hashes[i],
									   place_of(&hashes[i], 0, layer.size));
		}
		hashes += batch;
		found += batch;
		count -= batch;
	}
}

static ALWAYS_INLINE size_t
places_add_batch(ForeignPlace place_of, ForeignContain contain, ForeignAdd add,
				 int layers, const uint8_t *image, const ForeignHash *hashes,
				 size_t count, ForeignCount room, ForeignCount *added)
{
	ProbeLayer	last = places_layer(image, layers - 1, NULL, NULL);
	ForeignCount sum = {0, 0};
	size_t		i;

	for (i = 0; i < count; i++)
	{
		bool		found;

		places_contain_batch(place_of, contain, layers, image, &hashes[i], 1,
							 &found, NULL, NULL);
		if (found)
			continue;
		if (sum.elements >= room.elements || sum.bits >= room.bits)
			break;
		sum.bits += add(place_of, &last, &hashes[i]);
		sum.elements++;
	}
	*added = sum;
	return i;
}

/*
 * Define the ForeignPlaces of a rule, rule_places, and its loops.  "linkage" is static or empty;
 * "layers" is image_layers(image), or 1 if filters have no more.  Slices and memory have separate
 * code: if each bit looked at "fetch", a probe in memory would cost a tenth more.
 */
#define FOREIGN_PLACES(linkage, rule, layers, contain, add) \
static void \
rule##_contains(const uint8_t *image, const ForeignHash *hashes, size_t count, \
				bool *found, FilterFetch fetch, void *from) \
{ \
	if (fetch == NULL) \
		places_contain_batch(rule, contain, layers, image, hashes, count, found, NULL, NULL); \
	else \
		places_contain_batch(rule, contain, layers, image, hashes, count, found, fetch, from); \
} \
static size_t \
rule##_add_batch(const uint8_t *image, const ForeignHash *hashes, \
				 size_t count, ForeignCount room, ForeignCount *added) \
{ \
	return places_add_batch(rule, contain, add, layers, image, hashes, count, room, added); \
} \
linkage const ForeignPlaces rule##_places = { \
	.contains = rule##_contains, \
	.add_batch = rule##_add_batch \
};

#endif							/* FILTER_FOREIGN_PLACES_H */
