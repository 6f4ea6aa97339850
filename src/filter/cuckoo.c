/*
 * cuckoo.c
 *	  The cuckoo filter: a multiset from which elements can be removed; filter.h
 *	  describes its operations.
 *
 * Adding an element stores its fingerprint as an entry in one of two windows (Fan, Andersen,
 * Kaminsky and Mitzenmacher, "Cuckoo Filter: Practically Better Than Bloom", 2014).  Window i
 * consists of the slots i and i + 1, so that neighbouring windows share a slot (Schmitz,
 * Zentgraf and Rahmann, "Smaller and More Flexible Cuckoo Filters", 2025, arXiv 2505.05847).
 * Each slot has one more bit, the offset: the entry in slot s belongs to window s if it is 0,
 * and to window s - 1 if it is 1.  These windows of two slots reach loads up to 0.93; buckets
 * without overlap would need four slots, and one more bit of fingerprint.  A slot of value 0 is
 * empty, and no fingerprint is 0.  Slots are packed without gaps.
 *
 * An entry's other window follows from its fingerprint and the window that it is in.  The number
 * of windows N is even.  One window is in the first half, the other in the second, and their
 * places there, a and b, satisfy a + b = H(fingerprint) modulo N/2.  So the two windows always
 * differ, and share a slot in one case only.  (With i + j = H modulo N, they would coincide for
 * a few elements: with one failure in a million, 128 windows would hold 55 elements instead of
 * 100, and 48 would hold 12 instead of 22.)
 *
 * A class is a fingerprint and an unordered pair of windows: a layer cannot distinguish the
 * elements of a class.
 *
 * A full filter grows by a layer.  An element whose entry is in a coarse layer may match another
 * element's entry in a finer one.  Removing it takes that entry, and would lose the other
 * element, if classes were not nested.  Layer k has m_k times the windows of the first layer.
 * An element's window in layer k, floor(hash N_k / 2^64), divided by m_k / m_l, is its window in
 * a coarser layer l.  Longer fingerprints have more bits at the lower end.  H depends on the
 * fingerprint in the first layer: H_k = m_k (H_0 + 1) - 1, so that with g = m_k / m_l
 *
 *		floor((H_k - a) / g) = H_l - floor(a / g)
 *
 * and the other window, divided by g, is the other window in layer l.  Hence elements of one
 * class in layer k are of one class in every coarser layer.
 *
 * Invariant: all elements, each as often as it is in the filter, can be assigned to entries of
 * their class, at most one element to an entry unless the class is saturated.  Adding an element
 * adds an entry for it.  Removing element e removes the matching entry in the finest layer that
 * has one: let this be entry c in layer k.  If c is assigned to e, or to none, nothing is lost.
 * If it is assigned to another element e', then e' and e are of one class in layer k.  e was
 * assigned to an entry d in a layer l that is not finer than k, so there, too, e' and e are of
 * one class, and d can be assigned to e'.  Moving an entry to a coarser layer preserves the
 * assignment in the same way.
 *
 * If all slots of both windows contain entries of one class, the class is saturated, and stays
 * so: no move can free the slots, and additions and removals of its elements change nothing,
 * like those of a saturated counter (counting.c).  Any number of elements may be assigned to the
 * class.  Two classes that share a slot cannot both be saturated in one layer, so a layer is
 * full early if many elements are added several times.  At 1 %, a fixed filter for 100,000
 * elements holds 32,000 that are added twice, 900 three times, and 110 four times or more.  A
 * growing filter for 100,000 then has 2, 3 and 4 layers, and 6 if each is added ten times.
 *
 * All operations are deterministic: the same calls give the same bytes.
 */
#include "cuckoo.h"

#include <math.h>

#include "ops.h"

/* Slots to read between two interrupt checks */
#define INTERRUPT_READ_SLOTS	65536

static inline CuckooKey
image_key(const uint8_t *image, uint64_t hash)
{
	return cuckoo_key(hash, image_layer_at(image, 0)[LAYER_OFF_HASHES]);
}

/* ---- Probing ---- */

/* Probe the last layer first, as it is the largest. */
static ALWAYS_INLINE bool
cuckoo_contains_sliced(const uint8_t *header, uint64_t hash, FilterFetch fetch,
					   void *from)
{
	CuckooKey	key = image_key(header, hash);

	for (int i = image_layers(header) - 1; i >= 0; i--)
	{
		CuckooLayer layer = cuckoo_layer(header, i);
		CuckooPlace place = cuckoo_place(&layer, &key);

		layer.fetch = fetch;
		layer.from = from;
		if (cuckoo_layer_contains(&layer, &place))
			return true;
	}
	return false;
}

static NEVER_INLINE bool
memory_layers_contain(const uint8_t *image, uint64_t hash)
{
	return cuckoo_contains_sliced(image, hash, NULL, NULL);
}

/* Filters of one layer, the most frequent ones, take a shorter path. */
static bool
cuckoo_contains(const uint8_t *image, uint64_t hash)
{
	const uint8_t *at = image_layer_at(image, 0);
	unsigned	bits = at[LAYER_OFF_HASHES];
	uint64_t	half = get64(at + LAYER_OFF_SIZE) / 2;
	CuckooLayer layer = {
		.slots = (uint8_t *) image + get64(at + LAYER_OFF_OFFSET),
		.half = half, .multiple = 1, .first_half = half,
		.width = cuckoo_width(bits), .first_bits = bits, .extra = 0
	};
	CuckooKey	key;
	CuckooPlace place;

	if (image_layers(image) != 1)
		return memory_layers_contain(image, hash);
	key = cuckoo_key(hash, bits);
	place = cuckoo_place(&layer, &key);
	return cuckoo_layer_contains(&layer, &place);
}

static void
cuckoo_contains_batch(const uint8_t *image, const uint64_t *hashes,
					  size_t count, bool *found)
{
	int			layers = image_layers(image);
	CuckooLayer last = cuckoo_layer(image, layers - 1);
	CuckooPlace places[PREFETCH_AHEAD];

	for (size_t i = 0; i < count + PREFETCH_AHEAD; i++)
	{
		CuckooPlace *place = &places[i % PREFETCH_AHEAD];
		size_t		begun = i - PREFETCH_AHEAD;

		/* probe the element whose place was stored PREFETCH_AHEAD rounds ago */
		if (i >= PREFETCH_AHEAD)
			found[begun] = cuckoo_layer_contains(&last, place) ||
				(layers > 1 && memory_layers_contain(image, hashes[begun]));
		if (i < count)
		{
			CuckooKey	key = image_key(image, hashes[i]);

			*place = cuckoo_place(&last, &key);
			cuckoo_prefetch(&last, place);
		}
	}
}

static unsigned
cuckoo_slices(const uint8_t *header)
{
	return 2 * image_layers(header);
}

static unsigned
cuckoo_count(const uint8_t *image, uint64_t hash)
{
	CuckooKey	key = image_key(image, hash);
	unsigned	count = 0;

	for (int i = 0; i < image_layers(image); i++)
	{
		CuckooLayer layer = cuckoo_layer(image, i);
		CuckooPlace place = cuckoo_place(&layer, &key);
		uint64_t	slots[CUCKOO_CLASS_MAX];

		count += cuckoo_class_entries(&layer, &place, slots);
	}
	return count;
}

/* Entries are counted, not estimated. */
static double
cuckoo_layer_cardinality(const uint8_t *header, const FilterLayer *layer)
{
	return layer->bits_set;
}

/* Return the number of bits of all slots that are in use. */
static uint64_t
cuckoo_layer_bits_set(const FilterLayer *layer)
{
	return layer->bits_set * cuckoo_width(layer->hashes);
}

/*
 * Estimate the error rate as cuckoo_sizing.c does, by the number of entries.  If elements were
 * added several times, the result is too high.
 */
static double
cuckoo_layer_error_rate(const uint8_t *header, const FilterLayer *layer)
{
	unsigned	first_bits = image_layer_at(header, 0)[LAYER_OFF_HASHES];
	double		fingerprints = ldexp(ldexp(1, first_bits) - 1,
									 layer->hashes - first_bits);

	return -expm1(layer->bits_set * log1p(-2 / (layer->size * fingerprints)));
}

/* ---- Changing ---- */

/* Is the element's class saturated in one of the first "layers" layers? */
static bool
saturated_in(const uint8_t *image, int layers, const CuckooKey *key)
{
	for (int i = 0; i < layers; i++)
	{
		CuckooLayer layer = cuckoo_layer(image, i);
		CuckooPlace place = cuckoo_place(&layer, key);

		if (cuckoo_is_saturated(&layer, &place))
			return true;
	}
	return false;
}

/* Add to the last layer or, if that has no place, to an earlier one; false if none has. */
static bool
add(uint8_t *image, const CuckooKey *key)
{
	int			last = image_layers(image) - 1;

	if (saturated_in(image, last, key))
		return true;
	for (int i = last; i >= 0; i--)
	{
		CuckooLayer layer = cuckoo_layer(image, i);
		CuckooPlace place = cuckoo_place(&layer, key);

		if (cuckoo_insert(image, i, &layer, &place))
			return true;
	}
	return false;
}

static size_t
cuckoo_add_batch(uint8_t *image, const uint64_t *hashes, size_t count,
				 bool unique)
{
	CuckooLayer last = cuckoo_layer(image, image_layers(image) - 1);
	CuckooKey	keys[PREFETCH_AHEAD];

	for (size_t i = 0; i < count + PREFETCH_AHEAD; i++)
	{
		CuckooKey  *key = &keys[i % PREFETCH_AHEAD];

		/* add the element whose key was stored PREFETCH_AHEAD rounds ago */
		if (i >= PREFETCH_AHEAD &&
			!(unique && cuckoo_contains(image, key->hash)) && !add(image, key))
			return i - PREFETCH_AHEAD;
		if (i < count)
		{
			CuckooPlace place;

			*key = image_key(image, hashes[i]);
			place = cuckoo_place(&last, key);
			cuckoo_prefetch(&last, &place);
		}
	}
	return count;
}

/* Remove the matching entry in the finest layer that has one, as explained above. */
static FilterRemoval
cuckoo_remove(uint8_t *image, uint64_t hash)
{
	CuckooKey	key = image_key(image, hash);

	if (saturated_in(image, image_layers(image), &key))
		return FILTER_SATURATED;
	for (int i = image_layers(image) - 1; i >= 0; i--)
	{
		CuckooLayer layer = cuckoo_layer(image, i);
		CuckooPlace place = cuckoo_place(&layer, &key);

		if (cuckoo_layer_contains(&layer, &place))
		{
			cuckoo_take(image, i, &layer, &place, 1);
			return FILTER_REMOVED;
		}
	}
	return FILTER_ABSENT;
}

/* ---- Bytes from outside ---- */

static const char *
cuckoo_check_image(const uint8_t *image)
{
	if (image_capacity(image) == 0 || image_error_rate(image) == 0)
		return "filter without capacity or error rate";
	if (image_layers(image) > 1 && image_growth(image) == 0)
		return "fixed filter with several layers";
	return NULL;
}

/* Is "number" a power of "base", which is not 0? */
static bool
is_power(uint64_t number, uint64_t base)
{
	while (base > 1 && number > 1 && number % base == 0)
		number /= base;
	return number == 1;
}

/* A layer may have no fewer windows, and no shorter fingerprints, than the one before it. */
static const char *
cuckoo_check_layer(const uint8_t *image, int i, const FilterLayer *layer)
{
	FilterLayer first = image_get_layer(image, 0);
	FilterLayer before = image_get_layer(image, i > 0 ? i - 1 : 0);

	if (layer->hashes < CUCKOO_MIN_FINGERPRINT ||
		layer->hashes > CUCKOO_MAX_FINGERPRINT ||
		layer->hashes < before.hashes)
		return "number of a fingerprint's bits out of range";
	if (layer->size < CUCKOO_MIN_WINDOWS || layer->size % 2 != 0 ||
		layer->size > IMAGE_MAX_BITS / cuckoo_width(layer->hashes))
		return "number of windows out of range";
	if (image_growth(image) == 0 ? layer->multiple != 1 :
		!is_power(layer->multiple, image_growth(image)))
		return "multiple of a layer is not a power of the growth";
	if (layer->multiple < before.multiple ||
		layer->size % layer->multiple != 0 ||
		layer->size / layer->multiple != first.size ||
		(i == 0 && layer->multiple != 1))
		return "multiple of a layer is wrong";
	if (layer->capacity == 0 || layer->capacity > cuckoo_slots(layer->size) ||
		layer->bits_full != layer->capacity ||
		layer->bits_set > layer->bits_full)
		return "number of entries out of range";
	return NULL;
}

/*
 * Check that each entry is in an existing window, and has a fingerprint that the first layer
 * could have.  So all functions stay within the slots, whatever the bits are.
 */
static const char *
cuckoo_check_slots(const uint8_t *image, int i, const FilterLayer *fields)
{
	CuckooLayer layer = cuckoo_layer(image, i);
	uint64_t	slots = cuckoo_slots(fields->size);
	uint64_t	entries = 0;

	for (uint64_t slot = 0; slot < slots; slot++)
	{
		uint64_t	value = cuckoo_get_slot(&layer, slot);

		if (slot % INTERRUPT_READ_SLOTS == 0)
			filter_check_interrupts();
		if (value == 0)
			continue;
		if (value >> 1 >> layer.extra == 0)
			return "fingerprint is zero";
		if (slot == 0 ? (value & 1) != 0 :
			slot == slots - 1 && (value & 1) == 0)
			return "entry outside all windows";
		entries++;
	}
	return entries == fields->bits_set ? NULL :
		"number of entries is wrong";
}

const FilterOps cuckoo_ops = {
	.kind = FILTER_CUCKOO,
	.multiset = true,
	.full_early = true,
	.layer_bits = cuckoo_layer_bits,
	.layer_bytes = cuckoo_layer_bytes,
	.contains = cuckoo_contains,
	.contains_batch = cuckoo_contains_batch,
	.slices = cuckoo_slices,
	.contains_sliced = cuckoo_contains_sliced,
	.count = cuckoo_count,
	.layer_cardinality = cuckoo_layer_cardinality,
	.layer_error_rate = cuckoo_layer_error_rate,
	.layer_bits_set = cuckoo_layer_bits_set,
	.add_batch = cuckoo_add_batch,
	.remove = cuckoo_remove,
	.compact = cuckoo_compact,
	.plan_layer = cuckoo_plan_layer,
	.compatible = cuckoo_compatible,
	.plan_union = cuckoo_plan_union,
	.unite = cuckoo_unite,
	.check_image = cuckoo_check_image,
	.check_layer = cuckoo_check_layer,
	.check_bits = cuckoo_check_slots
};
