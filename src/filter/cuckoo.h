/*
 * cuckoo.h
 *	  The slots of a cuckoo filter, and the windows of an element; see cuckoo.c.
 */
#ifndef FILTER_CUCKOO_H
#define FILTER_CUCKOO_H

#include "block512.h"
#include "ops.h"
#include "sizing.h"

/* Slots of a window, and the bytes of the widest window, from any bit of a byte on */
#define CUCKOO_WINDOW			2
#define CUCKOO_WINDOW_BYTES		12

/* Maximum number of slots that can hold entries of one class */
#define CUCKOO_CLASS_MAX		4

/* A slot may begin at any bit of a byte, so the word read there may begin with 7 other bits. */
#define CUCKOO_LOST_BITS		7

/* What operations need of a layer */
typedef struct CuckooLayer
{
	uint8_t    *slots;			/* with "fetch", not to be dereferenced */
	uint64_t	half;			/* half of the number of windows */
	uint64_t	multiple;		/* its windows divided by the first layer's */
	uint64_t	first_half;		/* half of the first layer's windows */
	unsigned	width;			/* bits of a slot */
	unsigned	first_bits;		/* bits of a fingerprint in the first layer */
	unsigned	extra;			/* further bits of a fingerprint in this one */
	const uint8_t *image;
	FilterFetch fetch;			/* NULL: the whole image is in memory */
	void	   *from;			/* argument of fetch */
} CuckooLayer;

/* An element in all layers of a filter */
typedef struct CuckooKey
{
	uint64_t	hash;
	uint64_t	first;			/* its fingerprint in the first layer */
	uint64_t	extra;			/* its upper bits extend the fingerprint */
} CuckooKey;

/* An element's class in one layer: its two windows, in any order, and its fingerprint */
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

	return (CuckooLayer)
	{
		.slots = (uint8_t *) image + get64(at + LAYER_OFF_OFFSET),
			.half = get64(at + LAYER_OFF_SIZE) / 2,
			.multiple = get64(at + LAYER_OFF_MULTIPLE),
			.first_half = get64(first + LAYER_OFF_SIZE) / 2,
			.width = cuckoo_width(at[LAYER_OFF_HASHES]),
			.first_bits = first[LAYER_OFF_HASHES],
			.extra = at[LAYER_OFF_HASHES] - first[LAYER_OFF_HASHES],
			.image = image
	};
}

/* Return a hash's key in a filter whose first layer has fingerprints of "first_bits" bits. */
static inline CuckooKey
cuckoo_key(uint64_t hash, unsigned first_bits)
{
	uint64_t	word = block_word(hash);

	return (CuckooKey)
	{
		.hash = hash,
		/* never 0, as a slot of value 0 is empty */
			.first = 1 + mulhi64(word, (UINT64_C(1) << first_bits) - 1),
			.extra = remix64(word)
	};
}

/*
 * Hash a fingerprint.  The upper bits of the result are the fingerprint itself, so that the
 * results of all fingerprints are evenly spread.  With a random hash, more fingerprints would
 * share windows: at 6 bits and one failure in a million, 80 windows would hold only 33 elements
 * instead of 48.
 */
static inline uint64_t
cuckoo_spread(uint64_t first, unsigned first_bits)
{
	return first << (64 - first_bits) |
		remix64(first * BLOCK_MULTIPLIER) >> first_bits;
}

/*
 * Return one of an entry's two windows, given the other one and the fingerprint in the first
 * layer.  The two are in different halves, and their places there add up to H modulo the half's
 * size.  H depends on the fingerprint, and is proportional to the layer's size, so that the
 * windows of a class in a finer layer are in its windows in a coarser layer.
 */
static inline uint64_t
cuckoo_other_window(const CuckooLayer *layer, uint64_t window, uint64_t first)
{
	uint64_t	half = layer->half;
	uint64_t	h = layer->multiple *
		(mulhi64(cuckoo_spread(first, layer->first_bits), layer->first_half) + 1) - 1;
	uint64_t	other = h + 2 * half - window;

	/* the result is in the second half if "window" is in the first */
	return other - (other >= (window < half ? 2 * half : half) ? half : 0);
}

static inline CuckooPlace
cuckoo_place(const CuckooLayer *layer, const CuckooKey *key)
{
	uint64_t	window = mulhi64(key->hash, 2 * layer->half);
	CuckooPlace place;

	place.window[0] = window;
	place.window[1] = cuckoo_other_window(layer, window, key->first);
	/* two shifts: layer->extra may be 0, and a shift by 64 is undefined */
	place.fingerprint = key->first << layer->extra |
		(key->extra >> 1) >> (63 - layer->extra);
	return place;
}

/* Return where to read a slot as a 64-bit word; set *shift to the bit where it begins there. */
static inline uint8_t *
cuckoo_slot_at(const CuckooLayer *layer, uint64_t slot, unsigned *shift)
{
	uint64_t	bit = slot * layer->width;

	*shift = bit % 8;
	return layer->slots + bit / 8;
}

/* Return the value of a slot: 0, or the fingerprint, and the offset as the lowest bit. */
static inline uint64_t
cuckoo_get_slot(const CuckooLayer *layer, uint64_t slot)
{
	unsigned	shift;
	const uint8_t *at = cuckoo_slot_at(layer, slot, &shift);

	return (get64(at) >> shift) & ((UINT64_C(1) << layer->width) - 1);
}

/* Does this window contain an entry with the fingerprint? */
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

		/* the code below reads words beyond the slice */
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

/* Return the class of the entry that is stored as "value" in this slot. */
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
 * In memory, read both windows: a branch on the first result would be mispredicted.  A fetch
 * costs more than such a branch, so with "fetch" read the second window only if needed.
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

/* Prefetch both windows.  Always inline: see layer_prefetch() in bloom.c. */
static ALWAYS_INLINE void
cuckoo_prefetch(const CuckooLayer *layer, const CuckooPlace *place)
{
	for (int i = 0; i < 2; i++)
		__builtin_prefetch(layer->slots + place->window[i] * layer->width / 8);
}

/* Return the number of entries in layer i of an image, and the maximum number. */
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

/* Is the class saturated: do its entries take all slots of both windows? */
extern bool cuckoo_is_saturated(const CuckooLayer *layer,
								const CuckooPlace *place);

/* Set "slots" to the slots with entries of a class, and return their number. */
extern unsigned cuckoo_class_entries(const CuckooLayer *layer,
									 const CuckooPlace *place,
									 uint64_t slots[CUCKOO_CLASS_MAX]);

/*
 * Add an entry to layer i of an image, unless its class is saturated there.  Return false, and
 * change nothing, if the layer is at capacity, or no slot can be made free.
 */
extern bool cuckoo_insert(uint8_t *image, int i, const CuckooLayer *layer,
						  const CuckooPlace *place);

/* Remove "count" entries of a class, which must have as many, from layer i. */
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
