/*
 * cache.h
 *	  What a session keeps in memory within bloomfilter.cache_size; see cache.c.
 */
#ifndef BLOOMFILTER_CACHE_H
#define BLOOMFILTER_CACHE_H

#include "postgres.h"

#include "lib/ilist.h"

/* An item that can be read again, and so be evicted; embedded in its owner's struct */
typedef struct CacheItem
{
	Size		bytes;			/* 0: it is not in the cache */
	int			pins;			/* number of pins */
	void		(*evict) (struct CacheItem *item);	/* frees it, and calls
													 * cache_remove() */
	dlist_node	use;			/* link in the list by recency */
} CacheItem;

extern Size cache_bound(void);
extern bool cache_can_hold(Size bytes);
extern void cache_resize(CacheItem *item, Size bytes);
extern void cache_remove(CacheItem *item);
extern void cache_pin(CacheItem *item);
extern void cache_unpin(CacheItem *item);
extern void cache_init(void);

#endif							/* BLOOMFILTER_CACHE_H */
