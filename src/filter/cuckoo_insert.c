/*
 * cuckoo_insert.c
 *	  Puts entries into the slots of a cuckoo filter's layer, and takes them out.
 */
#include "cuckoo.h"

/*
 * A search for a free slot visits so many others; then the layer counts as full.  To fill
 * a layer of a million elements took 1,126 at most, one of 20 million 1,813; the mean was
 * 6, and 100 at the end.
 */
#define SEARCH_SLOTS		4096

/* From this many slots on, a search looks up in a table which ones it has visited. */
#define SEARCH_FEW			512
#define SEARCH_TABLE		(2 * SEARCH_SLOTS)

/* A slot on the way to a free one */
typedef struct SearchStep
{
	uint64_t	value;			/* its content */
	uint32_t	slot;
	int16_t		from;			/* the step before, or -1 */
	uint16_t	offset;			/* of the entry that is to move in */
} SearchStep;

typedef struct Search
{
	SearchStep	steps[SEARCH_SLOTS];
	int			count;
	/* once there are many: a hash table of their numbers, from 1 on, by slot */
	int			table_end;		/* number of steps in the table */
	int16_t		table[SEARCH_TABLE];
} Search;

/* Where windows overlap, an entry's offset says to which of the two it belongs. */
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

	/* windows that overlap share a slot */
	unsigned	shared = place->window[0] + 1 == place->window[1] ||
		place->window[1] + 1 == place->window[0];

	return cuckoo_class_entries(layer, place, slots) == CUCKOO_CLASS_MAX - shared;
}

/* Where in the table the step at this slot is, or belongs */
static int16_t *
search_entry(Search *search, uint32_t slot)
{
	uint32_t	at = mulhi64(slot * BLOCK_MULTIPLIER, SEARCH_TABLE);

	while (search->table[at] != 0 &&
		   search->steps[search->table[at] - 1].slot != slot)
		at = (at + 1) % SEARCH_TABLE;
	return &search->table[at];
}

/* Was the slot visited before?  A short search, as most are, is not worth a check. */
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

/* Move entries along the path, from its free end back; then store the new one. */
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
 * Move other entries to make room; if that is impossible, change nothing and return
 * false.  The search is breadth-first: the slots of both windows, then those to which
 * their entries could move, until one is free.  No path is shorter than the first one
 * found, so it passes no slot twice.
 */
static NEVER_INLINE bool
insert_by_moves(const CuckooLayer *layer, const CuckooPlace *place)
{
	Search		search;

	search.count = 0;
	search.table_end = 0;
	for (int at = -1; at < search.count; at++)
	{
		/* the entry that needs a slot: the new one, or one already stored */
		CuckooPlace entry = at < 0 ? *place :
			cuckoo_slot_place(layer, search.steps[at].slot, search.steps[at].value);

		for (int i = 0; i < 2 * CUCKOO_WINDOW; i++)
		{
			SearchStep *step = &search.steps[search.count];

			if (search.count == SEARCH_SLOTS)
			{
				/* a batch of such searches would take long */
				filter_check_interrupts();
				return false;
			}
			step->offset = i % CUCKOO_WINDOW;
			step->slot = entry.window[i / CUCKOO_WINDOW] + step->offset;
			step->from = at;
			/* not where it is now, nor where this search has been */
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
	return false;				/* no slot that can be reached is free */
}

/* Put an entry of this class into a free slot of its windows, if there is one. */
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
	cuckoo_set_entries(image, i, entries + 1);
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
	cuckoo_set_entries(image, i, cuckoo_entries(image, i) - count);
}
