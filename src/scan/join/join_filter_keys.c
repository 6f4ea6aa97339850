/*
 * join_filter_keys.c
 *	  The set of a join's keys: a row whose key is not in the set has no partner.
 *
 * Keys are first collected as a list, so that the filter's size fits their real number.  If
 * they need too much memory, they and all later keys go into a Bloom filter for twice the
 * expected number of keys.  It is not made larger, even if the memory allows that: probes of
 * a larger filter miss the processor's caches more often.
 *
 * Integers.  If the keys are dense, as are those of a dimension or a range of dates, a bitmap
 * over their range is smaller than a Bloom filter, exact, and faster, because nothing is
 * hashed.  Otherwise the range is checked first, which drops rows outside of it without
 * reading the filter.  A bitmap grows with the range of its keys, and is replaced by a Bloom
 * filter if it gets too large.  If there are few keys, they are also kept in a list after
 * their Bloom filter, for partition_bound.c, which needs each.
 *
 * Hashes.  A join hashes its keys to 32 bits.  For n keys, this adds an error of n / 2^32 to
 * that of the Bloom filter: 0.2 % for ten million keys.
 *
 * The Bloom filter is that of the type bloom (filter/filter.h), with one layer of fixed size.
 */
#include "join_filter_keys.h"

#include "filter/filter.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

/* Collected keys may take 1 / 4 of the memory, and the filter the rest. */
#define COLLECTED_PART			4
/* Initial room for keys */
#define COLLECTED_ROOM_MIN		256

/* A filter made before all keys are known is for this many times the expected keys, */
#define KEYS_EXPECTED_TIMES		2
/* or for this many times the keys that can be collected, whichever is more. */
#define KEYS_HELD_TIMES			8

/* Error rate of a Bloom filter, if memory suffices: 10 bits a key */
#define KEY_ERROR_RATE			0.01
/* Least capacity, which takes 4 kB: a filter with few keys hardly ever errs */
#define KEYS_LEAST				4096
/* Highest error rate, if more keys are expected than fit into memory */
#define KEY_ERROR_RATE_MAX		0.4
/* Factors by which error rate and capacity change until the filter fits */
#define KEY_ERROR_RATE_STEP		1.5
#define KEY_CAPACITY_STEP		0.9

/*
 * Maximum number of bits for each key of a bitmap, three times a Bloom filter's: a bitmap is
 * exact, and needs one access and no hash.  A bitmap of 8 kB fits into any processor's
 * first-level cache, so it may have fewer keys.
 */
#define BITMAP_BITS_PER_KEY		32
#define BITMAP_BITS_FREE		(64 * 1024)
#define WORD_BITS				64

/* Keys of a bitmap to add to a Bloom filter at once */
#define KEY_BATCH				256

static inline uint8 *
image_of(const KeyFilter *filter)
{
	return (uint8 *) filter->data;
}

static inline bool
bitmap_contains(const KeyFilter *filter, uint64 key)
{
	uint64		bit = key - filter->base;

	/* a key below the base wraps around to a bit beyond the end */
	return bit < filter->bits &&
		(filter->data[bit / WORD_BITS] >> (bit % WORD_BITS)) & 1;
}

/* Return the maximum size of a filter. */
static Size
filter_room(const KeyCollector *collector)
{
	return collector->limit - collector->limit / COLLECTED_PART;
}

static KeyFilter *
filter_new(KeyCollector *collector, KeyForm form, Size data_bytes)
{
	Size		bytes = offsetof(KeyFilter, data) + data_bytes +
		(collector->order ? sizeof(KeyEnds) : 0);
	KeyFilter  *filter = MemoryContextAllocExtended(collector->mcxt, bytes,
													MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);

	filter->kind = collector->kind;
	filter->form = form;
	filter->least = PG_UINT64_MAX;
	filter->most = 0;
	filter->has_ends = collector->order != NULL;
	filter->bytes = bytes;
	return filter;
}

/* ---- Bloom filters ---- */

/*
 * Make an empty Bloom filter for the collected keys or, if "more" keys may follow, for more
 * than the expected ones, as far as memory allows.  With "more", its size depends only on
 * the limit and "expected", because merge_bloom() unites the filters of several processes.
 */
static KeyFilter *
bloom_new(KeyCollector *collector, bool more)
{
	Size		room = filter_room(collector);
	uint64		kept = !more && collector->kind == KEY_INTEGER &&
		collector->held <= KEYS_KEPT_MAX ? collector->held : 0;

	/* the usual error rate needs more than a byte for each key */
	bool		is_small = more && collector->expected >= room;
	FilterParams params = {
		.capacity = !more ? Max(collector->held, KEYS_LEAST) :
			is_small ? collector->expected :
			Max(KEYS_EXPECTED_TIMES * collector->expected,
				KEYS_HELD_TIMES * (uint64) collector->room_max),
			.error_rate = KEY_ERROR_RATE,
			.kind = FILTER_BLOOM,
			/* bits_full is set below, so it needs no margin for chance */
			.exact = true
		};
	FilterPlan	plan;
	KeyFilter  *filter;

	/* the smallest filter fits into the least memory of a hash table, 64 kB */
	while (filter_plan(&params, &plan) != FILTER_OK ||
		   plan.bytes + offsetof(KeyFilter, data) + kept * sizeof(uint64) > room)
	{
		if (is_small && params.error_rate < KEY_ERROR_RATE_MAX)
			params.error_rate = Min(params.error_rate * KEY_ERROR_RATE_STEP,
									KEY_ERROR_RATE_MAX);
		else
			params.capacity *= KEY_CAPACITY_STEP;
		Assert(params.capacity > 0);
	}
	/* never full: too many keys only raise the error rate */
	plan.layer[0].bits_full = 0;
	filter = filter_new(collector, KEYS_BLOOM,
						MAXALIGN(plan.bytes) + kept * sizeof(uint64));
	filter->kept = kept;
	filter_init(image_of(filter), &params, &plan);
	if (kept > 0)
		memcpy(unconstify(uint64 *, kept_keys(filter)), collector->keys, kept * sizeof(uint64));
	return filter;
}

/* Add keys to a Bloom filter, a KeyFilter.  Replaces the keys by their hashes. */
static void
bloom_add(void *filter, uint64 *keys, uint32 count)
{
	size_t		added;

	for (uint32 i = 0; i < count; i++)
		keys[i] = mix_key(keys[i]);
	added = filter_add_batch(image_of(filter), keys, count);
	if (added != count)
		elog(ERROR, "a join's filter is full");
}

/* ---- Bitmaps ---- */

/*
 * May a bitmap have a bit for each integer from "least" to "most", if there are "count" keys?
 * If so, set *base and *bits.
 */
static bool
bitmap_fits(const KeyCollector *collector, uint64 least, uint64 most,
			uint64 count, uint64 *base, uint64 *bits)
{
	Size		room = filter_room(collector);
	uint64		first = least / WORD_BITS;
	uint64		words = most / WORD_BITS - first + 1;

	Assert(least <= most);
	*base = first * WORD_BITS;
	/* overflows for the range of all integers, which never fits */
	*bits = words * WORD_BITS;
	return words < (room - Min(room, sizeof(KeyFilter))) / sizeof(uint64) &&
		(*bits <= BITMAP_BITS_FREE || *bits / BITMAP_BITS_PER_KEY <= count);
}

/* Extend the bitmap to keys from "least" to "most".  Return false if it would be too large. */
static bool
bitmap_extend(KeyCollector *collector, uint64 least, uint64 most)
{
	KeyFilter  *old = collector->filter;
	uint64		end = old->base + (old->bits - 1);
	KeyFilter  *filter;
	uint64		base;
	uint64		bits;
	uint64		slack = old->bits;

	if (least >= old->base && most <= end)
		return true;
	least = Min(least, old->base);
	most = Max(most, end);

	/* double the bitmap, to copy it only a few times; or extend it as needed */
	if (!bitmap_fits(collector,
					 least < old->base ? least - Min(slack, least) : least,
					 most > end ? most + Min(slack, PG_UINT64_MAX - most) : most,
					 collector->count, &base, &bits) &&
		!bitmap_fits(collector, least, most, collector->count, &base, &bits))
		return false;
	filter = filter_new(collector, KEYS_BITMAP, bits / BITS_PER_BYTE);
	filter->least = old->least;
	filter->most = old->most;
	filter->base = base;
	filter->bits = bits;
	memcpy(filter->data + (old->base - base) / WORD_BITS, old->data,
		   old->bits / BITS_PER_BYTE);
	pfree(old);
	collector->filter = filter;
	return true;
}

static void
bitmap_add(KeyFilter *filter, const uint64 *keys, uint32 count)
{
	for (uint32 i = 0; i < count; i++)
	{
		uint64		bit = keys[i] - filter->base;

		Assert(bit < filter->bits);
		filter->data[bit / WORD_BITS] |= UINT64CONST(1) << (bit % WORD_BITS);
	}
}

/* Call "add" for all keys of a bitmap, up to KEY_BATCH at a time. */
static void
bitmap_each(const KeyFilter *bitmap,
			void (*add) (void *to, uint64 *keys, uint32 count), void *to)
{
	uint64		keys[KEY_BATCH];
	uint32		count = 0;

	for (uint64 i = 0; i < bitmap->bits / WORD_BITS; i++)
	{
		for (uint64 word = bitmap->data[i]; word != 0; word &= word - 1)
		{
			keys[count++] = bitmap->base + i * WORD_BITS +
				pg_rightmost_one_pos64(word);
			if (count == lengthof(keys))
			{
				add(to, keys, count);
				count = 0;
			}
		}
		if (i % (1024 * 1024) == 0)
			CHECK_FOR_INTERRUPTS();
	}
	add(to, keys, count);
}

static void
add_to_collector(void *to, uint64 *keys, uint32 count)
{
	for (uint32 i = 0; i < count; i++)
		key_collector_add(to, keys[i]);
}

/* ---- Collecting ---- */

/*
 * Begin to collect keys.  Keys and filter take up to about "limit" bytes, in "mcxt"; up to
 * twice as much while a bitmap grows or is replaced by a Bloom filter.  If "limit" does not
 * suffice for all keys, a Bloom filter is made for "expected" keys or more.
 */
void
key_collector_init(KeyCollector *collector, KeyKind kind, Size limit,
				   uint64 expected, MemoryContext mcxt)
{
	memset(collector, 0, sizeof(*collector));
	collector->kind = kind;
	collector->limit = limit;
	collector->expected = expected;
	collector->mcxt = mcxt;
	collector->room_max = Max(COLLECTED_ROOM_MIN,
							  Min(limit / COLLECTED_PART / sizeof(uint64),
								  PG_UINT32_MAX / 2));
}

/* Keep the ends of the keys' values, too: key_collector_add_value() adds them. */
void
key_collector_keep_ends(KeyCollector *collector, KeyOrder *order)
{
	collector->order = order;
	if (order)
		collector->ends = MemoryContextAllocZero(collector->mcxt, sizeof(KeyEnds));
}

void
key_collector_reset(KeyCollector *collector)
{
	KeyOrder   *order = collector->order;

	if (collector->keys)
		pfree(collector->keys);
	if (collector->filter)
		pfree(collector->filter);
	if (collector->ends)
		pfree(collector->ends);
	key_collector_init(collector, collector->kind, collector->limit,
					   collector->expected, collector->mcxt);
	key_collector_keep_ends(collector, order);
}

/* Put the values that were kept into a filter. */
static void
write_ends(const KeyCollector *collector, KeyFilter *filter)
{
	if (filter->has_ends)
		memcpy(unconstify(KeyEnds *, key_filter_ends(filter)), collector->ends, sizeof(KeyEnds));
}

/* Replace the bitmap by a Bloom filter with its keys. */
static void
replace_bitmap(KeyCollector *collector)
{
	KeyFilter  *bitmap = collector->filter;

	collector->filter = bloom_new(collector, true);
	collector->filter->least = bitmap->least;
	collector->filter->most = bitmap->most;
	bitmap_each(bitmap, bloom_add, collector->filter);
	pfree(bitmap);
}

/* Move the collected keys into the filter; "more": others may follow. */
static void
flush_keys(KeyCollector *collector, bool more)
{
	uint64		least = PG_UINT64_MAX;
	uint64		most = 0;
	uint64		base;
	uint64		bits;
	KeyFilter  *filter;

	CHECK_FOR_INTERRUPTS();
	for (uint32 i = 0; collector->kind == KEY_INTEGER && i < collector->held; i++)
	{
		least = Min(least, collector->keys[i]);
		most = Max(most, collector->keys[i]);
	}
	collector->count += collector->held;
	if (collector->filter == NULL && collector->kind == KEY_INTEGER && least <= most &&
		bitmap_fits(collector, least, most, collector->count, &base, &bits))
	{
		collector->filter = filter_new(collector, KEYS_BITMAP, bits / BITS_PER_BYTE);
		collector->filter->base = base;
		collector->filter->bits = bits;
	}
	else if (collector->filter == NULL)
		collector->filter = bloom_new(collector, more);
	else if (collector->filter->form == KEYS_BITMAP && least <= most &&
			 !bitmap_extend(collector, least, most))
		replace_bitmap(collector);
	filter = collector->filter;
	filter->least = Min(filter->least, least);
	filter->most = Max(filter->most, most);
	if (filter->form == KEYS_BITMAP)
		bitmap_add(filter, collector->keys, collector->held);
	else
		bloom_add(filter, collector->keys, collector->held);
	collector->held = 0;
}

/* For key_collector_add(): make room for at least one more key. */
void
key_collector_make_room(KeyCollector *collector)
{
	Assert(collector->held == collector->room);
	if (collector->room == collector->room_max)
	{
		flush_keys(collector, true);
		return;
	}
	collector->room = collector->keys == NULL ? COLLECTED_ROOM_MIN :
		Min((uint64) collector->room * 2, collector->room_max);
	if (collector->keys == NULL)
		collector->keys = MemoryContextAlloc(collector->mcxt,
											 collector->room * sizeof(uint64));
	else
		collector->keys = repalloc_huge(collector->keys,
										collector->room * sizeof(uint64));
}

/*
 * Return the filter of all keys, in the collector's memory context; the caller frees it.  The
 * collector is then empty.
 */
KeyFilter *
key_collector_finish(KeyCollector *collector)
{
	KeyFilter  *filter;

	if (collector->filter == NULL || collector->held > 0)
		flush_keys(collector, false);
	filter = collector->filter;
	filter->count = collector->count;
	write_ends(collector, filter);
	collector->filter = NULL;
	key_collector_reset(collector);
	return filter;
}

/*
 * Return the collected keys for key_collector_merge(); the collector is then empty.  Unlike
 * key_collector_finish() it may return a list of keys, so that the merged filter's size fits
 * the number of all keys.
 */
KeyFilter *
key_collector_part(KeyCollector *collector)
{
	KeyFilter  *list;

	if (collector->filter != NULL)
		return key_collector_finish(collector);
	list = filter_new(collector, KEYS_LIST, collector->held * sizeof(uint64));
	list->count = collector->held;
	if (collector->held > 0)
		memcpy(list->data, collector->keys, collector->held * sizeof(uint64));
	write_ends(collector, list);
	key_collector_reset(collector);
	return list;
}

/*
 * Unite the collector's filter with a Bloom filter, whose keys are not known.  Both have the
 * same size, because the processes of a query have the same limit and expectation.
 */
static void
merge_bloom(KeyCollector *collector, const KeyFilter *filter)
{
	FilterPlan	plan;
	uint8	   *image;

	if (collector->filter == NULL)
		collector->filter = bloom_new(collector, true);
	else if (collector->filter->form == KEYS_BITMAP)
		replace_bitmap(collector);
	image = image_of(collector->filter);
	if (filter_difference(image, image_of(filter)) != FILTERS_COMPATIBLE ||
		filter_plan_union(image, image_of(filter), false, &plan) != FILTER_OK ||
		!filter_unites_in_place(image, &plan))
		elog(ERROR, "filters of a join's keys differ in size");
	filter_unite_in_place(image, image_of(filter), &plan);
	collector->filter->least = Min(collector->filter->least, filter->least);
	collector->filter->most = Max(collector->filter->most, filter->most);
	collector->count += filter->count;
}

/* Add the keys that another collector of the same kind and limit has returned as a part. */
void
key_collector_merge(KeyCollector *collector, const KeyFilter *part)
{
	Assert(part->kind == collector->kind && part->has_ends == (collector->order != NULL));
	if (part->has_ends)
		key_ends_merge(collector->ends, collector->order, key_filter_ends(part));
	switch (part->form)
	{
		case KEYS_LIST:
			for (uint64 i = 0; i < part->count; i++)
				key_collector_add(collector, part->data[i]);
			break;
		case KEYS_BITMAP:
			bitmap_each(part, add_to_collector, collector);
			break;
		case KEYS_BLOOM:
			merge_bloom(collector, part);
			break;
	}
}

/* ---- Ranges of keys ---- */

/* A list of ranges that is being made, in their order */
typedef struct RangeList
{
	KeyRange   *ranges;
	int			count;
	int			most;			/* maximum of "count" */
	uint64		gap;			/* do not part ranges with fewer integers
								 * between */
} RangeList;

/* Add keys from "least" to "most", all above those in the list; unite the nearest two ranges. */
static void
add_range(RangeList *list, uint64 least, uint64 most)
{
	KeyRange   *ranges = list->ranges;
	int			nearest = 1;

	if (list->count > 0 && least - ranges[list->count - 1].most <= list->gap)
	{
		ranges[list->count - 1].most = most;
		return;
	}
	/* there is room for one more */
	ranges[list->count++] = (KeyRange)
		{
			least, most
		};
	if (list->count <= list->most)
		return;
	for (int i = 2; i < list->count; i++)
	{
		if (ranges[i].least - ranges[i - 1].most <
			ranges[nearest].least - ranges[nearest - 1].most)
			nearest = i;
	}
	ranges[nearest - 1].most = ranges[nearest].most;
	list->count--;
	memmove(&ranges[nearest], &ranges[nearest + 1], (list->count - nearest) * sizeof(KeyRange));
}

/* A bitmap_each() function: add keys to a RangeList. */
static void
add_to_ranges(void *list, uint64 *keys, uint32 count)
{
	for (uint32 i = 0; i < count; i++)
		add_range(list, keys[i], keys[i]);
}

/* Add the words of a bitmap to a RangeList: gaps are above WORD_BITS. */
static void
add_words(RangeList *list, const KeyFilter *bitmap)
{
	for (uint64 i = 0; i < bitmap->bits / WORD_BITS; i++)
	{
		uint64		first = bitmap->base + i * WORD_BITS;

		if (bitmap->data[i] != 0)
			add_range(list, first + pg_rightmost_one_pos64(bitmap->data[i]),
					  first + pg_leftmost_one_pos64(bitmap->data[i]));
	}
}

static int
compare_keys(const void *a, const void *b)
{
	uint64		one = *(const uint64 *) a;
	uint64		other = *(const uint64 *) b;

	return one < other ? -1 : one > other;
}

/*
 * Set "ranges", an array with room for one more than "most", to ranges that have all keys, which
 * are integers.  Ranges that follow each other have more than "gap" from one to the other.
 * Return their number.
 */
int
key_filter_ranges(const KeyFilter *filter, KeyRange *ranges, int most, uint64 gap)
{
	RangeList	list = {ranges, 0, most, gap};
	uint64		keys[KEYS_KEPT_MAX];

	Assert(filter->kind == KEY_INTEGER && most > 0);
	if (filter->least > filter->most)
		return 0;
	if (filter->form == KEYS_BITMAP && gap > WORD_BITS)
		add_words(&list, filter);
	else if (filter->form == KEYS_BITMAP)
		bitmap_each(filter, add_to_ranges, &list);
	else if (filter->kept > 0)
	{
		memcpy(keys, kept_keys(filter), filter->kept * sizeof(uint64));
		qsort(keys, filter->kept, sizeof(uint64), compare_keys);
		add_to_ranges(&list, keys, filter->kept);
	}
	else
		add_range(&list, filter->least, filter->most);
	return list.count;
}

/* ---- Looking up ---- */

/*
 * Is a key in the filter?  True if it was added, and rarely if it was not.  The key must be
 * from "least" to "most": callers check that first, without a call.
 */
bool
key_filter_contains(const KeyFilter *filter, uint64 key)
{
	if (filter->form == KEYS_BITMAP)
		return bitmap_contains(filter, key);
	return filter_contains(image_of(filter), mix_key(key));
}

/* Call key_filter_contains() for many keys: set found[i] for keys[i].  Replaces the keys. */
void
key_filter_contains_batch(const KeyFilter *filter, uint64 *keys, int count,
						  bool *found)
{
	if (filter->form == KEYS_BITMAP)
	{
		for (int i = 0; i < count; i++)
			found[i] = bitmap_contains(filter, keys[i]);
		return;
	}
	for (int i = 0; i < count; i++)
		keys[i] = mix_key(keys[i]);
	filter_contains_batch(image_of(filter), keys, count, found);
}
