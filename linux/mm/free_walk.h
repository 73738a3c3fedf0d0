/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MM_FREE_WALK_H
#define _MM_FREE_WALK_H

#include <linux/mmzone.h>

/*
 * How many blocks are looked at before others get the zone lock. Each is likely
 * to be a cache miss, so this is some tens of microseconds.
 */
#define FREE_WALK_BATCH		256

/**
 * struct free_walk - One pass over one free list.
 * @left: How many done blocks may still be met, 0 when the pass is over. The
 *	  list has no length of its own; it starts as that of all lists of the
 *	  order.
 * @batch: How many blocks may be looked at before the zone lock is dropped.
 * @first: The first done block that was met. It is only compared with, as it may
 *	   be gone: where it is met again the list has gone round.
 */
struct free_walk {
	unsigned long left;
	unsigned int batch;
	struct page *first;
};

/* With the zone lock held. */
static inline void free_walk_start(struct free_walk *walk, struct zone *zone,
				   unsigned int order)
{
	walk->left = zone->free_area[order].nr_free;
	walk->batch = FREE_WALK_BATCH;
	walk->first = NULL;
}

static inline bool free_walk_finished(const struct free_walk *walk)
{
	return !walk->left;
}

struct page *free_walk_next(struct zone *zone, unsigned int order,
			    int migratetype, bool (*done)(struct page *page),
			    struct free_walk *walk);
void free_walk_pause(struct zone *zone, struct free_walk *walk);

#endif /* _MM_FREE_WALK_H */
