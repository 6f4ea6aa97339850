/*
 * join_filter_keys.c
 *	  The set of a join's keys: what a row has to be in to find a partner.
 *
 * Keys are collected first, so that the filter gets the size that their true number
 * needs.  If they take too much memory, they and all later keys go into a filter for
 * twice as many as are expected.  It is no larger, even if the memory allows that: probes
 * of a larger one miss the processor's caches more often.
 *
 * Integers.  If the keys are dense, as those of a dimension or a range of dates are,
 * a bitmap over their range is smaller than a Bloom filter, exact, and faster:
 * there is nothing to hash.  Else we check the range first, which discards rows of
 * other years without touching the filter.  A bitmap grows with the range of its
 * keys, and turns into a Bloom filter if it gets too large.  Few keys are kept beside
 * their Bloom filter, for those who have to know each (partition_bound.c).
 *
 * Hashes.  A join hashes its keys to 32 bits.  That adds an error of n / 2^32, 0.2 % for
 * ten million keys, to that of the Bloom filter.
 *
 * The Bloom filter is the type bloom's (filter/filter.h), with one layer of fixed size.
 */
#include "join_filter_keys.h"

#include "filter/filter.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

/* Collected keys may take one part in this many of the memory, the filter the rest. */
#define COLLECTED_PART			4
/* Room for this many keys at first */
#define COLLECTED_ROOM_MIN		256

/* A filter whose keys are still to come is made for so many times those that are expected. */
#define KEYS_EXPECTED_TIMES		2
/* And for so many times those that can be held: expectations may be far too low. */
#define KEYS_HELD_TIMES			8

/* Error rate of a Bloom filter, if there is memory for it: 10 bits a key */
#define KEY_ERROR_RATE			0.01
/* Its least capacity: these 4 kB hardly ever err if there are few keys */
#define KEYS_LEAST				4096
/* Its error rate at most, if more keys are expected than memory allows */
#define KEY_ERROR_RATE_MAX		0.4
/* Factors by which rate and capacity change until the filter fits */
#define KEY_ERROR_RATE_STEP		1.5
#define KEY_CAPACITY_STEP		0.9

/*
 * A bitmap may have this many bits for each key, three times a Bloom filter's: it is
 * exact, and needs one access and no hash.  A bitmap of 8 kB fits in any processor's
 * first cache, and may be as sparse as it likes.
 */
#define BITMAP_BITS_PER_KEY		32
#define BITMAP_BITS_FREE		(64 * 1024)
#define WORD_BITS				64

/* Keys of a bitmap to move to a Bloom filter at once */
#define KEY_BATCH				256

/* A hash of all 64 bits: the finalizer of MurmurHash3 (Appleby) */
static inline uint64
mix_key(uint64 key)
{
	key ^= key >> 33;
	key *= UINT64CONST(0xff51afd7ed558ccd);
	key ^= key >> 33;
	key *= UINT64CONST(0xc4ceb9fe1a85ec53);
	key ^= key >> 33;
	return key;
}

static inline uint8 *
image_of(const KeyFilter *filter)
{
	return (uint8 *) filter->data;
}

static inline bool
bitmap_contains(const KeyFilter *filter, uint64 key)
{
	uint64		bit = key - filter->base;

	/* a key below the base wraps around, and is beyond the end */
	return bit < filter->bits &&
		(filter->data[bit / WORD_BITS] >> (bit % WORD_BITS)) & 1;
}

/* Bytes of a filter, at most */
static Size
filter_room(const KeyCollector *collector)
{
	return collector->limit - collector->limit / COLLECTED_PART;
}

static KeyFilter *
filter_new(KeyCollector *collector, KeyForm form, Size data_bytes)
{
	Size		bytes = offsetof(KeyFilter, data) + data_bytes;
	KeyFilter  *filter = MemoryContextAllocExtended(collector->mcxt, bytes,
													MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);

	filter->kind = collector->kind;
	filter->form = form;
	filter->least = PG_UINT64_MAX;
	filter->most = 0;
	filter->bytes = bytes;
	return filter;
}

/* ---- Bloom filters ---- */

/*
 * A Bloom filter for the keys that are held; or, if "more" may follow, for those that are
 * expected and some more, as far as the memory allows.  The size of the latter depends on
 * the limit and "expected" alone: merge_bloom() unites filters of several processes.
 */
static KeyFilter *
bloom_new(KeyCollector *collector, bool more)
{
	Size		room = filter_room(collector);
	uint64		kept = !more && collector->kind == KEY_INTEGER &&
		collector->held <= KEYS_KEPT_MAX ? collector->held : 0;

	/* a byte for each key would not suffice for the usual error rate */
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

	/* the smallest fits in the least memory that a hash table may have, 64 kB */
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
	/* never full: more keys than planned only raise its error rate */
	plan.layer[0].bits_full = 0;
	filter = filter_new(collector, KEYS_BLOOM,
						MAXALIGN(plan.bytes) + kept * sizeof(uint64));
	filter->kept = kept;
	filter_init(image_of(filter), &params, &plan);
	if (kept > 0)
		memcpy(unconstify(uint64 *, kept_keys(filter)), collector->keys, kept * sizeof(uint64));
	return filter;
}

/* Add keys to a Bloom filter, a KeyFilter.  Replaces them by their hashes. */
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
 * May a bitmap have a bit for each integer from "least" to "most", if there are
 * "count" keys?  If so sets *base and *bits.
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

/*
 * Make room in the bitmap for keys from "least" to "most".  Returns false if it would
 * be too large.
 */
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
	/* doubled, so that we copy a few times only; or as large as needed */
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

/* Call "add" with all keys of a bitmap, up to KEY_BATCH at a time. */
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
 * key_collector_init
 *		Begin to collect keys
 *
 * Keys and filter take up to about "limit" bytes, in "mcxt"; while a bitmap grows or
 * becomes a Bloom filter, up to twice as much.  If that is too little for all keys, a
 * Bloom filter is made for "expected" keys or more.
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

/* Forget all keys. */
void
key_collector_reset(KeyCollector *collector)
{
	if (collector->keys)
		pfree(collector->keys);
	if (collector->filter)
		pfree(collector->filter);
	key_collector_init(collector, collector->kind, collector->limit,
					   collector->expected, collector->mcxt);
}

/* Turn the bitmap into a Bloom filter. */
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

/*
 * Make the first filter, for the keys that are held, whose range is given; "more"
 * if others will follow.
 */
static void
make_filter(KeyCollector *collector, uint64 least, uint64 most, bool more)
{
	uint64		base;
	uint64		bits;

	if (collector->kind == KEY_INTEGER && least <= most &&
		bitmap_fits(collector, least, most, collector->count, &base, &bits))
	{
		collector->filter = filter_new(collector, KEYS_BITMAP,
									   bits / BITS_PER_BYTE);
		collector->filter->base = base;
		collector->filter->bits = bits;
	}
	else
		collector->filter = bloom_new(collector, more);
}

/* Move the keys that are held to the filter; "more" if others will follow. */
static void
flush_keys(KeyCollector *collector, bool more)
{
	uint64		least = PG_UINT64_MAX;
	uint64		most = 0;
	KeyFilter  *filter;

	CHECK_FOR_INTERRUPTS();
	for (uint32 i = 0; collector->kind == KEY_INTEGER && i < collector->held; i++)
	{
		least = Min(least, collector->keys[i]);
		most = Max(most, collector->keys[i]);
	}
	collector->count += collector->held;
	if (collector->filter == NULL)
		make_filter(collector, least, most, more);
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
 * key_collector_finish
 *		The filter of all keys, in the collector's memory context; the caller frees it.
 *		The collector is then empty
 */
KeyFilter *
key_collector_finish(KeyCollector *collector)
{
	KeyFilter  *filter;

	if (collector->filter == NULL || collector->held > 0)
		flush_keys(collector, false);
	filter = collector->filter;
	filter->count = collector->count;
	collector->filter = NULL;
	key_collector_reset(collector);
	return filter;
}

/*
 * key_collector_part
 *		What was collected, for key_collector_merge(); the collector is then empty
 *
 * Unlike a filter it may be a list of keys, so that the merged filter gets the size
 * that all of them need.
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
	key_collector_reset(collector);
	return list;
}

/*
 * Unite the collector's filter with a Bloom filter, whose keys are not known.  Both have
 * the same size: the processes of a query have the same limit and expectation.
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

/*
 * key_collector_merge
 *		Add the keys of a part that another collector of the same kind and limit has
 *		collected
 */
void
key_collector_merge(KeyCollector *collector, const KeyFilter *part)
{
	Assert(part->kind == collector->kind);
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

/* ---- Looking up ---- */

/*
 * key_filter_contains
 *		Is a key in the filter?  If it was added, yes; if not, rarely
 *
 * A key outside of "least" to "most" is not: callers check that first, without the filter.
 */
bool
key_filter_contains(const KeyFilter *filter, uint64 key)
{
	if (filter->form == KEYS_BITMAP)
		return bitmap_contains(filter, key);
	return filter_contains(image_of(filter), mix_key(key));
}

/*
 * key_filter_contains_batch
 *		The same for many keys: found[i] is that of keys[i]
 *
 * Replaces the keys.
 */
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
