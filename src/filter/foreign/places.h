/*
 * places.h
 *	  The loops that probe other systems' filters and add to them.
 *
 * A rule, from an element's hash to the numbers of its bits, is a ForeignPlace, an inline
 * function.  FOREIGN_LOOPS() makes the loops of it, without a call for each bit.
 */
#ifndef FILTER_FOREIGN_PLACES_H
#define FILTER_FOREIGN_PLACES_H

#include "format.h"

/* Elements whose first places are computed ahead, so that cache misses overlap */
#define PLACES_AHEAD	32

/* The place of an element's bit i, from 0, among m */
typedef uint64_t (*ForeignPlace) (const ForeignHash *hash, uint64_t i,
								  uint64_t m);

/* A layer as a probe reads it from its descriptor */
typedef struct PlacesLayer
{
	uint8_t    *bits;
	uint64_t	m;
	unsigned	k;
} PlacesLayer;

static inline PlacesLayer
places_layer(const uint8_t *image, int i)
{
	const uint8_t *at = image_layer_at(image, i);
	uint64_t	m = get64(at + LAYER_OFF_SIZE);
	PlacesLayer layer = {
		.bits = (uint8_t *) image + get64(at + LAYER_OFF_OFFSET),
		/* damage on disk may make answers wrong, but must not divide by 0 */
		.m = m + (m == 0),
		.k = at[LAYER_OFF_HASHES]
	};

	return layer;
}

/* Does a layer contain the element, whose first place is "place"? */
static ALWAYS_INLINE bool
layer_contains_from(ForeignPlace place_of, const PlacesLayer *layer,
					const ForeignHash *hash, uint64_t place)
{
	if (!bit_is_set(layer->bits, place))
		return false;
	for (unsigned i = 1; i < layer->k; i++)
		if (!bit_is_set(layer->bits, place_of(hash, i, layer->m)))
			return false;
	return true;
}

/* Probe the last layer for all, then the others for those that are not in it. */
static ALWAYS_INLINE void
places_contain_batch(ForeignPlace place_of, const uint8_t *image,
					 const ForeignHash *hashes, size_t count, bool *found)
{
	int			layers = image_layers(image);

	while (count > 0)
	{
		uint64_t	places[PLACES_AHEAD];
		size_t		batch = count < PLACES_AHEAD ? count : PLACES_AHEAD;
		PlacesLayer layer = places_layer(image, layers - 1);

		for (size_t i = 0; i < batch; i++)
		{
			places[i] = place_of(&hashes[i], 0, layer.m);
			__builtin_prefetch(layer.bits + places[i] / 8);
		}
		for (size_t i = 0; i < batch; i++)
			found[i] = layer_contains_from(place_of, &layer, &hashes[i],
										   places[i]);
		for (int other = layers - 2; other >= 0; other--)
		{
			layer = places_layer(image, other);
			for (size_t i = 0; i < batch; i++)
				if (!found[i])
					found[i] = layer_contains_from(place_of, &layer, &hashes[i],
												   place_of(&hashes[i], 0, layer.m));
		}
		hashes += batch;
		found += batch;
		count -= batch;
	}
}

static ALWAYS_INLINE bool
places_contain_sliced(ForeignPlace place_of, const uint8_t *header,
					  const ForeignHash *hash, FilterFetch fetch, void *from)
{
	for (int other = image_layers(header) - 1; other >= 0; other--)
	{
		PlacesLayer layer = places_layer(header, other);
		bool		found = true;

		for (unsigned i = 0; found && i < layer.k; i++)
		{
			uint64_t	place = place_of(hash, i, layer.m);

			found = bit_is_set(fetch(from, layer.bits - header + place / 8, 1),
							   place % 8);
		}
		if (found)
			return true;
	}
	return false;
}

/* Set the element's bits, and return how many were clear before. */
static ALWAYS_INLINE unsigned
layer_add(ForeignPlace place_of, const PlacesLayer *layer,
		  const ForeignHash *hash)
{
	unsigned	added = 0;

	for (unsigned i = 0; i < layer->k; i++)
		added += set_bit(layer->bits, place_of(hash, i, layer->m));
	return added;
}

static ALWAYS_INLINE size_t
places_add_batch(ForeignPlace place_of, const uint8_t *image,
				 const ForeignHash *hashes, size_t count,
				 ForeignCount room, ForeignCount *added)
{
	PlacesLayer last = places_layer(image, image_layers(image) - 1);
	ForeignCount sum = {0, 0};
	size_t		i;

	for (i = 0; i < count; i++)
	{
		bool		found;

		places_contain_batch(place_of, image, &hashes[i], 1, &found);
		if (found)
			continue;
		if (sum.elements >= room.elements || sum.bits >= room.bits)
			break;
		sum.bits += layer_add(place_of, &last, &hashes[i]);
		sum.elements++;
	}
	*added = sum;
	return i;
}

/* The loops of a rule, and its ForeignPlaces */
#define FOREIGN_LOOPS(rule) \
static void \
rule##_contains_batch(const uint8_t *image, const ForeignHash *hashes, \
					  size_t count, bool *found) \
{ \
	places_contain_batch(rule, image, hashes, count, found); \
} \
static bool \
rule##_contains_sliced(const uint8_t *header, const ForeignHash *hash, \
					   FilterFetch fetch, void *from) \
{ \
	return places_contain_sliced(rule, header, hash, fetch, from); \
} \
static size_t \
rule##_add_batch(const uint8_t *image, const ForeignHash *hashes, \
				 size_t count, ForeignCount room, ForeignCount *added) \
{ \
	return places_add_batch(rule, image, hashes, count, room, added); \
}

#define FOREIGN_PLACES(rule) \
	{.contains_batch = rule##_contains_batch, \
	 .contains_sliced = rule##_contains_sliced, \
	 .add_batch = rule##_add_batch}

#endif							/* FILTER_FOREIGN_PLACES_H */
