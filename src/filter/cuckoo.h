/*
 * cuckoo.h
 *	  The slots of a cuckoo filter, and where an element's entry may be; see cuckoo.c.
 */
#ifndef FILTER_CUCKOO_H
#define FILTER_CUCKOO_H

#include "block512.h"
#include "ops.h"
#include "sizing.h"

/* Slots of a window, and bytes that hold the widest window at any bit */
#define CUCKOO_WINDOW			2
#define CUCKOO_WINDOW_BYTES		12

/* Maximum number of slots that can hold entries of one class */
#define CUCKOO_CLASS_MAX		4

/* Bits of other slots in the word that we read where a slot begins, at any bit of a byte */
#define CUCKOO_LOST_BITS		7

/* A layer */
typedef struct CuckooLayer
{
	uint8_t    *slots;			/* where they are or, with "fetch", would be */
	uint64_t	half;			/* half of its windows */
	uint64_t	multiple;		/* its windows divided by the first layer's */
	uint64_t	first_half;		/* half of the first layer's windows */
	unsigned	width;			/* bits of a slot */
	unsigned	first_bits;		/* bits of a fingerprint in the first layer */
	unsigned	extra;			/* how many more they have in this one */
	const uint8_t *image;
	FilterFetch fetch;			/* reads slots; NULL: all are in memory */
	void	   *from;			/* its argument */
} CuckooLayer;

/* An element, as all layers of a filter see it */
typedef struct CuckooKey
{
	uint64_t	hash;
	uint64_t	first;			/* its fingerprint in the first layer */
	uint64_t	extra;			/* its upper bits make longer fingerprints */
} CuckooKey;

/* An element's class in one layer: both windows, in any order, and fingerprint */
typedef struct CuckooPlace
{
	uint64_t	window[2];
	uint64_t	fingerprint;
} CuckooPlace;

static inline CuckooLayer
cuckoo_layer(const uint8_t *image, int i)
{
	const uint8_t *first = image_layer_at(image, 0);
	const uint8_t *at = image_layer_at(image, i);
	CuckooLayer layer = {
		.slots = (uint8_t *) image + get64(at + LAYER_OFF_OFFSET),
		.half = get64(at + LAYER_OFF_SIZE) / 2,
		.multiple = get64(at + LAYER_OFF_MULTIPLE),
		.first_half = get64(first + LAYER_OFF_SIZE) / 2,
		.width = cuckoo_width(at[LAYER_OFF_HASHES]),
		.first_bits = first[LAYER_OFF_HASHES],
		.extra = at[LAYER_OFF_HASHES] - first[LAYER_OFF_HASHES],
		.image = image
	};

	return layer;
}

/* The key of a hash in a filter whose first layer has fingerprints of "first_bits" bits */
static inline CuckooKey
cuckoo_key(uint64_t hash, unsigned first_bits)
{
	uint64_t	word = block_word(hash);
	CuckooKey	key = {
		.hash = hash,
		/* never 0, which means that a slot is empty */
		.first = 1 + mulhi64(word, (UINT64_C(1) << first_bits) - 1),
		.extra = remix64(word)
	};

	return key;
}

/*
 * A number that looks random, but whose upper bits are the fingerprint, so that they are
 * evenly spread.  Otherwise more fingerprints would share windows: with 6 bits and one
 * failure in a million, 80 windows would hold only 33 elements instead of 48.
 */
static inline uint64_t
cuckoo_spread(uint64_t first, unsigned first_bits)
{
	return first << (64 - first_bits) |
		remix64(first * BLOCK_MULTIPLIER) >> first_bits;
}

/*
 * The other window of an entry, given either of them.  It is in the other half; the places
 * of the two in their halves add up to H, modulo the half's size.  H follows from the first
 * layer's fingerprint, in proportion to the layer's size, so that other windows in coarser
 * layers correspond to those in finer ones.
 */
static inline uint64_t
cuckoo_other_window(const CuckooLayer *layer, uint64_t window, uint64_t first)
{
	uint64_t	half = layer->half;
	uint64_t	h = layer->multiple *
		(mulhi64(cuckoo_spread(first, layer->first_bits), layer->first_half) + 1) - 1;
	uint64_t	other = h + 2 * half - window;

	/* from the first half: half to 2 half - 1, from the second: 0 to half - 1 */
	return other - (other >= (window < half ? 2 * half : half) ? half : 0);
}

static inline CuckooPlace
cuckoo_place(const CuckooLayer *layer, const CuckooKey *key)
{
	uint64_t	window = mulhi64(key->hash, 2 * layer->half);
	CuckooPlace place;

	place.window[0] = window;
	place.window[1] = cuckoo_other_window(layer, window, key->first);
	/* shifted by one and 63 - n, since n may be 0 */
	place.fingerprint = key->first << layer->extra |
		(key->extra >> 1) >> (63 - layer->extra);
	return place;
}

/* Where to read a slot, as a whole word: cuckoo_layer_bytes() leaves room for that. */
static inline uint8_t *
cuckoo_slot_at(const CuckooLayer *layer, uint64_t slot, unsigned *shift)
{
	uint64_t	bit = slot * layer->width;

	*shift = bit % 8;
	return layer->slots + bit / 8;
}

/* The value of a slot: 0, or a fingerprint with its offset in the lowest bit */
static inline uint64_t
cuckoo_get_slot(const CuckooLayer *layer, uint64_t slot)
{
	unsigned	shift;
	const uint8_t *at = cuckoo_slot_at(layer, slot, &shift);

	return (get64(at) >> shift) & ((UINT64_C(1) << layer->width) - 1);
}

/* Does the window that begins at this slot hold the fingerprint? */
static ALWAYS_INLINE bool
cuckoo_window_contains(const CuckooLayer *layer, uint64_t window,
					   uint64_t fingerprint)
{
	unsigned	width = layer->width;
	uint64_t	mask = (UINT64_C(1) << width) - 1;
	uint64_t	entry = fingerprint << 1;
	unsigned	shift;
	const uint8_t *at = cuckoo_slot_at(layer, window, &shift);
	uint8_t		copy[CUCKOO_WINDOW_BYTES + sizeof(uint64_t)];
	uint64_t	word;
	uint64_t	next;

	if (layer->fetch)
	{
		unsigned	bytes = (shift + CUCKOO_WINDOW * width + 7) / 8;

		/* slots are read as words */
		memset(copy, 0, sizeof(copy));
		at = memcpy(copy, layer->fetch(layer->from, at - layer->image, bytes), bytes);
	}
	word = get64(at) >> shift;
	/* both slots are in one word, unless they are wide */
	if (CUCKOO_WINDOW * width + CUCKOO_LOST_BITS <= 64)
		next = word >> width;
	else
		next = get64(at + (shift + width) / 8) >> ((shift + width) % 8);
	return (((word ^ entry) & mask) == 0) |
		(((next ^ entry ^ 1) & mask) == 0);
}

static inline void
cuckoo_put_slot(const CuckooLayer *layer, uint64_t slot, uint64_t value)
{
	unsigned	shift;
	uint8_t    *at = cuckoo_slot_at(layer, slot, &shift);
	uint64_t	mask = ((UINT64_C(1) << layer->width) - 1) << shift;

	put64(at, (get64(at) & ~mask) | value << shift);
}

/* The class of the entry that is stored as "value" in this slot */
static inline CuckooPlace
cuckoo_slot_place(const CuckooLayer *layer, uint64_t slot, uint64_t value)
{
	CuckooPlace place;

	place.fingerprint = value >> 1;
	place.window[0] = slot - (value & 1);
	place.window[1] = cuckoo_other_window(layer, place.window[0],
										  place.fingerprint >> layer->extra);
	return place;
}

/*
 * In memory, look at both windows, since a branch on the first could not be predicted.  A
 * fetch costs more than such a branch, so fetch the second window only if needed.
 */
static ALWAYS_INLINE bool
cuckoo_layer_contains(const CuckooLayer *layer, const CuckooPlace *place)
{
	bool		in_first = cuckoo_window_contains(layer, place->window[0],
												  place->fingerprint);

	if (layer->fetch && in_first)
		return true;
	return in_first | cuckoo_window_contains(layer, place->window[1],
											 place->fingerprint);
}

/* Prefetch both windows; always inline, as layer_prefetch() in bloom.c. */
static ALWAYS_INLINE void
cuckoo_prefetch(const CuckooLayer *layer, const CuckooPlace *place)
{
	for (int i = 0; i < 2; i++)
		__builtin_prefetch(layer->slots + place->window[i] * layer->width / 8);
}

/* The number of entries in layer i of an image, and its maximum */
static inline uint64_t
cuckoo_entries(const uint8_t *image, int i)
{
	return get64(image_layer_at(image, i) + LAYER_OFF_BITS_SET);
}

static inline uint64_t
cuckoo_most_entries(const uint8_t *image, int i)
{
	return get64(image_layer_at(image, i) + LAYER_OFF_BITS_FULL);
}

static inline void
cuckoo_set_entries(uint8_t *image, int i, uint64_t entries)
{
	put64(image_layer_at(image, i) + LAYER_OFF_BITS_SET, entries);
}

/* Do entries of this class take all slots of both windows? */
extern bool cuckoo_is_saturated(const CuckooLayer *layer,
								const CuckooPlace *place);

/* Store the slots that hold entries of a class in "slots", and return their number. */
extern unsigned cuckoo_class_entries(const CuckooLayer *layer,
									 const CuckooPlace *place,
									 uint64_t slots[CUCKOO_CLASS_MAX]);

/*
 * Put an entry into layer i of an image, unless its class is saturated there.  Returns
 * false, without a change, if the layer is at capacity or has no place.
 */
extern bool cuckoo_insert(uint8_t *image, int i, const CuckooLayer *layer,
						  const CuckooPlace *place);

/* Take "count" entries of a class, which must have them, out of layer i. */
extern void cuckoo_take(uint8_t *image, int i, const CuckooLayer *layer,
						const CuckooPlace *place, unsigned count);

/* Operations of ops.h, in cuckoo_union.c */
extern uint64_t cuckoo_compact(uint8_t *image);
extern bool cuckoo_compatible(const uint8_t *a, const uint8_t *b);
extern FilterStatus cuckoo_plan_union(const uint8_t *a, const uint8_t *b,
									  bool apart, FilterPlan *plan);
extern bool cuckoo_unite(uint8_t *image, const uint8_t *a, const uint8_t *b,
						 const FilterPlan *plan);

#endif							/* FILTER_CUCKOO_H */
