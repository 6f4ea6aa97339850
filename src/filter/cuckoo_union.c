/*
 * cuckoo_union.c
 *	  Move a cuckoo filter's entries to other layers: compaction and union.
 *
 * An entry may move to any layer that is not finer than its own: its class
 * there follows from its present class.  cuckoo.c shows why no element is lost.
 */
#include "cuckoo.h"

/* Slots between two interrupt checks: milliseconds, even if each takes the longest search */
#define INTERRUPT_SLOTS			256

/* May entries of layer "finer" move to this layer? */
static bool
is_coarser(const CuckooLayer *layer, const CuckooLayer *finer)
{
	return layer->multiple <= finer->multiple &&
		layer->extra <= finer->extra;
}

/* Set *coarser to the class in "layer" that follows from "place" in "finer", if is_coarser(). */
static bool
coarser_place(const CuckooLayer *layer, const CuckooLayer *finer,
			  const CuckooPlace *place, CuckooPlace *coarser)
{
	uint64_t	times = finer->multiple / layer->multiple;

	if (!is_coarser(layer, finer))
		return false;
	coarser->window[0] = place->window[0] / times;
	coarser->window[1] = place->window[1] / times;
	coarser->fingerprint = place->fingerprint >>
		(finer->extra - layer->extra);
	return true;
}

/*
 * Saturate a class in layer i, as it is saturated in the layer that its entries come from.  If
 * there is no room, change nothing and return false.
 */
static bool
saturate(uint8_t *image, int i, const CuckooPlace *place)
{
	CuckooLayer layer = cuckoo_layer(image, i);

	for (unsigned added = 0; !cuckoo_is_saturated(&layer, place); added++)
	{
		if (!cuckoo_insert(image, i, &layer, place))
		{
			cuckoo_take(image, i, &layer, place, added);
			return false;
		}
	}
	return true;
}

/*
 * Add an entry of the layer "from" (of any image) to one of the first "layers" layers that is
 * not finer than "from".  If its class is saturated in "from", saturate it in the new layer.
 */
static bool
place_entry(uint8_t *image, int layers, const CuckooLayer *from,
			const CuckooPlace *place, bool finest_first)
{
	bool		whole = cuckoo_is_saturated(from, place);

	/* if its class is saturated in one of these layers, add nothing */
	for (int i = 0; i < layers; i++)
	{
		CuckooLayer layer = cuckoo_layer(image, i);
		CuckooPlace here;

		if (coarser_place(&layer, from, place, &here) &&
			cuckoo_is_saturated(&layer, &here))
			return true;
	}
	for (int n = 0; n < layers; n++)
	{
		int			i = finest_first ? layers - 1 - n : n;
		CuckooLayer layer = cuckoo_layer(image, i);
		CuckooPlace here;

		if (!coarser_place(&layer, from, place, &here))
			continue;
		if (whole ? saturate(image, i, &here) :
			cuckoo_insert(image, i, &layer, &here))
			return true;
	}
	return false;
}

/* Return the number of entries for which the layers before layer i have room. */
static uint64_t
room_before(const uint8_t *image, int i)
{
	uint64_t	room = 0;

	while (--i >= 0)
		room += cuckoo_most_entries(image, i) - cuckoo_entries(image, i);
	return room;
}

/*
 * A walk through all slots of a layer, by an even_stride().  In sequence, a layer that gets full
 * half-way would be crowded in its first windows, and empty in its last.
 */
typedef struct SlotWalk
{
	uint64_t	slots;
	uint64_t	stride;
	uint64_t	seen;
	uint64_t	slot;
} SlotWalk;

/* Set *slot and *place (the class) to those of the next entry; return false if there is none. */
static bool
walk_next(SlotWalk *walk, const CuckooLayer *layer, uint64_t *slot,
		  CuckooPlace *place)
{
	while (walk->seen < walk->slots)
	{
		uint64_t	value;

		if (walk->seen % INTERRUPT_SLOTS == 0)
			filter_check_interrupts();
		*slot = walk->slot;
		walk->seen++;
		walk->slot += walk->stride;
		if (walk->slot >= walk->slots)
			walk->slot -= walk->slots;
		value = cuckoo_get_slot(layer, *slot);
		if (value != 0)
		{
			*place = cuckoo_slot_place(layer, *slot, value);
			return true;
		}
	}
	return false;
}

static SlotWalk
walk_begin(const CuckooLayer *layer)
{
	uint64_t	slots = cuckoo_slots(2 * layer->half);
	SlotWalk	walk = {slots, even_stride(slots), 0, 0};

	return walk;
}

/* Move as many entries of layer i as possible to layers before it. */
static void
empty_layer(uint8_t *image, int i)
{
	CuckooLayer layer = cuckoo_layer(image, i);
	SlotWalk	walk = walk_begin(&layer);
	CuckooPlace place;
	uint64_t	slot;

	while (walk_next(&walk, &layer, &slot, &place))
	{
		/* a saturated class moves at its first entry; then remove the others */
		if (place_entry(image, i, &layer, &place, false))
		{
			cuckoo_put_slot(&layer, slot, 0);
			image_put_bits_set(image, i, cuckoo_entries(image, i) - 1);
		}
	}
}

/* Move entries only if earlier layers take all of a layer: otherwise, no byte is saved. */
uint64_t
cuckoo_compact(uint8_t *image)
{
	FilterLayer kept[IMAGE_MAX_LAYERS];
	int			layers = image_layers(image);
	int			count = 0;
	uint64_t	bytes;

	for (int i = layers - 1; i > 0; i--)
		if (cuckoo_entries(image, i) <= room_before(image, i))
			empty_layer(image, i);

	for (int i = 0; i < layers; i++)
		if (i == 0 || cuckoo_entries(image, i) > 0)
			kept[count++] = image_get_layer(image, i);
	bytes = IMAGE_HEADER_BYTES + IMAGE_LAYER_BYTES * (uint64_t) count;
	for (int i = 0; i < count; i++)
	{
		/* layers move to lower addresses, in order: none is overwritten */
		memmove(image + bytes, image + kept[i].offset, cuckoo_layer_bytes(&kept[i]));
		kept[i].offset = bytes;
		bytes += cuckoo_layer_bytes(&kept[i]);
	}
	for (int i = 0; i < count; i++)
		image_put_layer(image, i, &kept[i]);
	image_set_layers(image, count, bytes);
	return bytes;
}

/*
 * Of any two layers, the one with more windows must not have shorter fingerprints.  That is
 * true of all filters that we make, unless the rules of growth change.
 */
bool
cuckoo_compatible(const uint8_t *a, const uint8_t *b)
{
	for (int i = 0; i < image_layers(a); i++)
		for (int j = 0; j < image_layers(b); j++)
		{
			CuckooLayer left = cuckoo_layer(a, i);
			CuckooLayer right = cuckoo_layer(b, j);

			if (!is_coarser(&left, &right) && !is_coarser(&right, &left))
				return false;
		}
	return true;
}

/* Plan to move a layer's entries to layers in the plan; return false if they have no room. */
static bool
plan_within(FilterPlan *plan, const FilterLayer *layer)
{
	uint64_t	taken[IMAGE_MAX_LAYERS];
	uint64_t	entries = layer->bits_set;

	for (int i = plan->layers - 1; i >= 0; i--)
	{
		const FilterLayer *to = &plan->layer[i];
		uint64_t	room = to->bits_full - to->bits_set;

		taken[i] = smaller(entries, room);
		if (to->multiple > layer->multiple || to->hashes > layer->hashes)
			taken[i] = 0;
		entries -= taken[i];
	}
	if (entries > 0)
		return false;
	for (int i = 0; i < plan->layers; i++)
		plan->layer[i].bits_set += taken[i];
	return true;
}

/* Plan all layers of a, and those of b that do not fit into these; bits_set is an estimate. */
FilterStatus
cuckoo_plan_union(const uint8_t *a, const uint8_t *b, bool apart,
				  FilterPlan *plan)
{
	plan_side(plan, a, true);
	for (int j = 0; j < image_layers(b); j++)
	{
		FilterLayer layer = image_get_layer(b, j);

		if (layer.bits_set == 0 || (!apart && plan_within(plan, &layer)))
			continue;
		if (image_growth(a) == 0)
			return FILTER_FIXED;
		if (!plan_beside(plan, &layer, j))
			return FILTER_TOO_MANY_LAYERS;
		/* move it before all layers that are finer */
		for (int at = plan->layers - 1;
			 at > 0 && (plan->layer[at - 1].multiple > layer.multiple ||
						plan->layer[at - 1].hashes > layer.hashes); at--)
			plan_exchange(plan, at);
	}
	return FILTER_OK;
}

bool
cuckoo_unite(uint8_t *image, const uint8_t *a, const uint8_t *b,
			 const FilterPlan *plan)
{
	bool		copied[IMAGE_MAX_LAYERS] = {false};

	for (int i = 0; i < plan->layers; i++)
	{
		const uint8_t *from = plan->from_a[i] >= 0 ? a : b;
		int			j = plan->from_a[i] >= 0 ? plan->from_a[i] : plan->from_b[i];

		memcpy(image + plan->layer[i].offset, cuckoo_layer(from, j).slots,
			   cuckoo_layer_bytes(&plan->layer[i]));
		image_put_bits_set(image, i, cuckoo_entries(from, j));
		/* not "from == b", because a and b may be the same image */
		if (plan->from_a[i] < 0)
			copied[j] = true;
	}
	for (int j = 0; j < image_layers(b); j++)
	{
		CuckooLayer layer = cuckoo_layer(b, j);
		SlotWalk	walk = walk_begin(&layer);
		CuckooPlace place;
		uint64_t	slot;

		while (!copied[j] && walk_next(&walk, &layer, &slot, &place))
			if (!place_entry(image, image_layers(image), &layer, &place, true))
				return false;
	}
	return true;
}
