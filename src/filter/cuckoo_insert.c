/*
 * cuckoo_insert.c
 *	  Add entries to the slots of a cuckoo filter's layer, and remove them.
 */
#include "cuckoo.h"

/*
 * If a search has visited this many slots and found none that is free, the layer counts as
 * full.  Filling a layer of a million elements took searches of up to 1,126 slots, and one of 20
 * million up to 1,813.  The mean was 6 slots, and 100 for the last insertions.
 */
#define SEARCH_SLOTS		4096

/* A search that has visited this many slots keeps them in a hash table. */
#define SEARCH_FEW			512
#define SEARCH_TABLE		(2 * SEARCH_SLOTS)

/* A slot that a search has visited */
typedef struct SearchStep
{
	uint64_t	value;			/* of the slot */
	uint32_t	slot;
	int16_t		from;			/* step whose entry would move to this slot;
								 * -1: the new entry would */
	uint16_t	offset;			/* of that entry in this slot */
} SearchStep;

typedef struct Search
{
	SearchStep	steps[SEARCH_SLOTS];
	int			count;
	int			table_end;		/* number of steps in the table */
	int16_t		table[SEARCH_TABLE];	/* by slot: index of a step + 1, or 0 */
} Search;

/* Two windows share a slot: the offset of its entry shows to which of the two it belongs. */
unsigned
cuckoo_class_entries(const CuckooLayer *layer, const CuckooPlace *place,
					 uint64_t slots[CUCKOO_CLASS_MAX])
{
	unsigned	count = 0;

	for (int i = 0; i < 2; i++)
		for (uint64_t offset = 0; offset < CUCKOO_WINDOW; offset++)
		{
			uint64_t	slot = place->window[i] + offset;

			if (cuckoo_get_slot(layer, slot) ==
				(place->fingerprint << 1 | offset))
				slots[count++] = slot;
		}
	return count;
}

bool
cuckoo_is_saturated(const CuckooLayer *layer, const CuckooPlace *place)
{
	uint64_t	slots[CUCKOO_CLASS_MAX];

	/* adjacent windows share a slot */
	unsigned	shared = place->window[0] + 1 == place->window[1] ||
		place->window[1] + 1 == place->window[0];

	return cuckoo_class_entries(layer, place, slots) == CUCKOO_CLASS_MAX - shared;
}

static int16_t *
search_entry(Search *search, uint32_t slot)
{
	uint32_t	at = mulhi64(slot * BLOCK_MULTIPLIER, SEARCH_TABLE);

	while (search->table[at] != 0 &&
		   search->steps[search->table[at] - 1].slot != slot)
		at = (at + 1) % SEARCH_TABLE;
	return &search->table[at];
}

/* Was the slot visited before?  Short searches, as most are, do without the check. */
static bool
search_repeats(Search *search, uint32_t slot)
{
	int16_t    *entry;

	if (search->count < SEARCH_FEW)
		return false;
	if (search->count == SEARCH_FEW && search->table_end < SEARCH_FEW)
		memset(search->table, 0, sizeof(search->table));
	for (; search->table_end < search->count; search->table_end++)
	{
		entry = search_entry(search, search->steps[search->table_end].slot);
		if (*entry == 0)
			*entry = search->table_end + 1;
	}
	return *search_entry(search, slot) != 0;
}

/* Move entries along the path that ends at the free slot of "step"; then store the new entry. */
static void
search_move(const CuckooLayer *layer, const Search *search,
			const SearchStep *step, uint64_t fingerprint)
{
	for (; step->from >= 0; step = &search->steps[step->from])
		cuckoo_put_slot(layer, step->slot,
						(search->steps[step->from].value & ~UINT64_C(1)) |
						step->offset);
	cuckoo_put_slot(layer, step->slot, fingerprint << 1 | step->offset);
}

/*
 * Add an entry by moving others to other slots.  If that is impossible, change nothing and return
 * false.  The search is breadth-first: it visits the slots of both windows, then the slots to
 * which their entries could move, and so on, until one is free.  The path that it finds is a
 * shortest one, so it passes no slot twice.
 */
static NEVER_INLINE bool
insert_by_moves(const CuckooLayer *layer, const CuckooPlace *place)
{
	Search		search;

	search.count = 0;
	search.table_end = 0;
	for (int at = -1; at < search.count; at++)
	{
		/* the entry for which a slot is sought: the new one, or a stored one */
		CuckooPlace entry = at < 0 ? *place :
			cuckoo_slot_place(layer, search.steps[at].slot, search.steps[at].value);

		for (int i = 0; i < 2 * CUCKOO_WINDOW; i++)
		{
			SearchStep *step = &search.steps[search.count];

			if (search.count == SEARCH_SLOTS)
			{
				/* a batch of additions may have many such searches */
				filter_check_interrupts();
				return false;
			}
			step->offset = i % CUCKOO_WINDOW;
			step->slot = entry.window[i / CUCKOO_WINDOW] + step->offset;
			step->from = at;
			/* skip the entry's own slot, and slots that were visited before */
			if ((at >= 0 && step->slot == search.steps[at].slot) ||
				search_repeats(&search, step->slot))
				continue;
			step->value = cuckoo_get_slot(layer, step->slot);
			if (step->value == 0)
			{
				search_move(layer, &search, step, place->fingerprint);
				return true;
			}
			search.count++;
		}
	}
	return false;				/* all reachable slots are in use */
}

/* Add an entry in a free slot of its windows; return false if none is free. */
static inline bool
insert_at_once(const CuckooLayer *layer, const CuckooPlace *place)
{
	for (int i = 0; i < 2 * CUCKOO_WINDOW; i++)
	{
		unsigned	offset = i % CUCKOO_WINDOW;
		uint64_t	slot = place->window[i / CUCKOO_WINDOW] + offset;

		if (cuckoo_get_slot(layer, slot) == 0)
		{
			cuckoo_put_slot(layer, slot, place->fingerprint << 1 | offset);
			return true;
		}
	}
	return false;
}

bool
cuckoo_insert(uint8_t *image, int i, const CuckooLayer *layer,
			  const CuckooPlace *place)
{
	uint64_t	entries = cuckoo_entries(image, i);
	bool		room = entries < cuckoo_most_entries(image, i);

	/* if a slot is free, the class is not saturated */
	if (!(room && insert_at_once(layer, place)))
	{
		if (cuckoo_is_saturated(layer, place))
			return true;
		if (!(room && insert_by_moves(layer, place)))
			return false;
	}
	image_put_bits_set(image, i, entries + 1);
	return true;
}

void
cuckoo_take(uint8_t *image, int i, const CuckooLayer *layer,
			const CuckooPlace *place, unsigned count)
{
	uint64_t	slots[CUCKOO_CLASS_MAX];

	cuckoo_class_entries(layer, place, slots);
	for (unsigned j = 0; j < count; j++)
		cuckoo_put_slot(layer, slots[j], 0);
	image_put_bits_set(image, i, cuckoo_entries(image, i) - count);
}
