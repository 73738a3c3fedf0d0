// SPDX-License-Identifier: GPL-2.0
/*
 * Finding the blocks on a free list that something has still to be done to.
 *
 * The zone lock must not be held for long, and without it any block may leave
 * the list, so there can be no cursor. The list itself keeps the place: blocks
 * that were found done go to its tail, and what is next is at its front. There
 * it is as well for who allocates, which leaves the done ones alone the longest.
 */
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mm_types.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

#include "free_walk.h"

/**
 * free_walk_next() - Find the next block on a free list that is not done.
 * @zone: The zone.
 * @order: The order of the blocks.
 * @migratetype: Which of the lists of that order.
 * @done: Tells whether nothing has to be done to a block. Called with the zone
 *	  lock held.
 * @walk: The state of the pass, from free_walk_start().
 *
 * What is found is the first on the list, behind it is what has not been looked
 * at, and what was met on the way stands at the tail. The caller takes the block
 * off the list, does what is to be done and puts it back to the tail, or ends
 * the pass. If it does neither, it gets the same block again.
 *
 * Only done blocks count against @walk->left, so a pass ends on a list where
 * nothing is to be done; how much work it does is for the caller to limit. All
 * that was on the list when the pass began is looked at, except if another
 * caller walks over the same list: either may then move blocks behind the other's
 * back and make it miss them. The next pass sees them.
 *
 * Context: Any; @zone->lock is held. It may be dropped between two calls.
 * Return: A block, or NULL: then the pass is over if free_walk_finished(), and
 * otherwise it is time for free_walk_pause() before the next call.
 */
struct page *free_walk_next(struct zone *zone, unsigned int order,
			    int migratetype, bool (*done)(struct page *page),
			    struct free_walk *walk)
{
	struct list_head *list = &zone->free_area[order].free_list[migratetype];
	struct page *page, *found = NULL;

	lockdep_assert_held(&zone->lock);

	list_for_each_entry(page, list, buddy_list) {
		if (!walk->left || !walk->batch)
			break;
		walk->batch--;

		if (!done(page)) {
			found = page;
			break;
		}

		if (page == walk->first) {
			walk->left = 0;
			break;
		}
		if (!walk->first)
			walk->first = page;
		walk->left--;
	}

	/* Everything on the list was done: no need to turn it all the way round. */
	if (list_entry_is_head(page, list, buddy_list))
		walk->left = 0;
	else if (!list_is_first(&page->buddy_list, list))
		list_rotate_to_front(&page->buddy_list, list);

	return found;
}

/**
 * free_walk_pause() - Let others have the zone lock.
 * @zone: The zone.
 * @walk: The state of the pass, which may go on afterwards.
 *
 * Context: Process context, @zone->lock is held and was taken with
 * spin_lock_irq(). It is dropped and taken again. May sleep in between.
 */
void free_walk_pause(struct zone *zone, struct free_walk *walk)
	__must_hold(&zone->lock)
{
	spin_unlock_irq(&zone->lock);
	cond_resched();
	spin_lock_irq(&zone->lock);

	walk->batch = FREE_WALK_BATCH;
}
