/*
 * cache.c
 *	  The account of what a session keeps in memory within bloomfilter.cache_size: stored
 *	  filters (stored.c) and copies of membership indexes (index/view.c).
 *
 * The items' memory belongs to their owners.  When the items exceed the bound, the owners
 * evict the least recently used ones, except those that are pinned because a call in
 * progress may use them.  So only pinned items can exceed the bound.
 *
 * Evicting must not fail: it happens when memory contexts are released, when a transaction
 * aborts, and when the setting changes.
 */
#include "cache.h"

#include <limits.h>

#include "once.h"

/* The default of bloomfilter.cache_size, in kB */
#define CACHE_SIZE_DEFAULT		(64 * 1024)

static int	cache_size = CACHE_SIZE_DEFAULT;

/* All items, the least recently used first */
static dlist_head items = DLIST_STATIC_INIT(items);
static Size total_bytes = 0;
static Size pinned_bytes = 0;

Size
cache_bound(void)
{
	return (Size) cache_size * 1024;
}

/* Would "bytes" more fit after evicting everything that is not pinned? */
bool
cache_can_hold(Size bytes)
{
	return pinned_bytes + bytes <= cache_bound();
}

/* Evict items until at most "bound" bytes are left, or all are pinned. */
static void
limit_cache(Size bound)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &items)
	{
		CacheItem  *item = dlist_container(CacheItem, use, iter.cur);

		if (total_bytes <= bound)
			break;
		if (item->pins == 0)
			item->evict(item);
	}
	Assert(pinned_bytes <= total_bytes);
	Assert(total_bytes <= bound || total_bytes == pinned_bytes);
}

/* Add an item, or change its size, which is not 0.  May evict items, even this one. */
void
cache_resize(CacheItem *item, Size bytes)
{
	Assert(bytes > 0);
	if (item->bytes == 0)
		dlist_push_tail(&items, &item->use);
	total_bytes += bytes - item->bytes;
	if (item->pins > 0)
		pinned_bytes += bytes - item->bytes;
	item->bytes = bytes;
	limit_cache(cache_bound());
}

/* Remove an item, if it is in the cache; its owner frees it. */
void
cache_remove(CacheItem *item)
{
	if (item->bytes == 0)
		return;
	Assert(total_bytes >= item->bytes);
	total_bytes -= item->bytes;
	if (item->pins > 0)
		pinned_bytes -= item->bytes;
	item->bytes = 0;
	dlist_delete(&item->use);
}

/* Protect an item from eviction until it has been unpinned as often as pinned. */
void
cache_pin(CacheItem *item)
{
	Assert(item->bytes > 0);
	dlist_move_tail(&items, &item->use);
	if (item->pins++ == 0)
		pinned_bytes += item->bytes;
}

/* Undo cache_pin(); evicts items if there is too much. */
void
cache_unpin(CacheItem *item)
{
	Assert(item->pins > 0 && pinned_bytes >= item->bytes);
	if (--item->pins == 0)
	{
		pinned_bytes -= item->bytes;
		limit_cache(cache_bound());
	}
}

static void
assign_cache_size(int size, void *extra)
{
	limit_cache((Size) size * 1024);
}

void
cache_init(void)
{
	DEFINE_ONCE(DefineCustomIntVariable, "bloomfilter.cache_size",
				"Sets the memory that a session may keep for stored filters and copies of membership indexes.",
				"0 disables caching.",
				&cache_size, CACHE_SIZE_DEFAULT, 0, MAX_KILOBYTES,
				PGC_USERSET, GUC_UNIT_KB,
				NULL, assign_cache_size, NULL);
}
