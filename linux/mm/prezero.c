// SPDX-License-Identifier: GPL-2.0
/*
 * Free memory that is known to be clear: who may say so of a block, and when it
 * ceases to be true.
 *
 * The rules. A block gets its mark when all of it has been cleared while it was
 * in the free lists. A merge is clear if both halves are. Parts of a split are
 * what the whole was. Memory that leaves the allocator has no mark, and has none
 * when it comes back. Memory that is isolated, whatever for, loses it: others
 * than the allocator have to do with it then.
 *
 * All that changes a mark in the free lists holds the zone lock. A mark that is
 * lost costs somebody a clear; one that is wrong shows somebody else's data.
 */
#include "prezero_internal.h"
#include "prezero.h"

/*
 * Enabled once and for all: a page that is on its way through the allocator must
 * not arrive with a mark that nobody looks for any more.
 */
DEFINE_STATIC_KEY_FALSE(prezero_key);

/* How many pages from the end of a list to look at for one that is clear. */
#define PICK_DEPTH	8

/* May memory be said to be clear? Read with the lock of a zone, set without. */
static bool prezero_allowed;

static void count(struct zone *zone, enum node_stat_item item, unsigned int order)
{
	mod_node_page_state(zone->zone_pgdat, item, 1L << order);
}

static void mark(struct zone *zone, struct page *page, unsigned int order)
{
	page_set_prezeroed(page);
	zone->nr_prezeroed_blocks++;
	__mod_zone_page_state(zone, NR_PREZEROED, 1L << order);
}

/* The tail of the list is for those who need it clear. */
static void move_to_clear_end(struct zone *zone, struct page *page,
			      unsigned int order, int migratetype)
{
	list_move_tail(&page->buddy_list,
		       &zone->free_area[order].free_list[migratetype]);
}

static void move_to_dirty_end(struct zone *zone, struct page *page,
			      unsigned int order, int migratetype)
{
	list_move(&page->buddy_list,
		  &zone->free_area[order].free_list[migratetype]);
}

/**
 * prezero_job_init() - Put a job on a list of them.
 * @job: Not in use.
 * @jobs: The list.
 * @page: First page of what is to be cleared.
 * @order: Of that.
 *
 * Context: The lock of the list is held, with interrupts off.
 */
void prezero_job_init(struct prezero_job *job, struct list_head *jobs,
		      struct page *page, unsigned int order)
{
	spin_lock_init(&job->lock);
	job->page = page;
	job->order = order;
	job->poisoned = false;
	list_add(&job->list, jobs);
}

/**
 * prezero_job_take() - Somebody takes a block while it is being cleared.
 * @jobs: The list that its job is on.
 * @page: First page of the block.
 *
 * Waits for no more than the chunk that is being cleared.
 *
 * Context: The lock of the list is held, with interrupts off.
 */
void prezero_job_take(struct list_head *jobs, struct page *page)
{
	struct prezero_job *job;

	list_for_each_entry(job, jobs, list) {
		if (job->page != page)
			continue;
		spin_lock(&job->lock);
		job->page = NULL;
		spin_unlock(&job->lock);
		/* The block may be removed, and its zone with it, before the job. */
		list_del(&job->list);
		return;
	}
	WARN_ON_ONCE(1);
}

void __prezero_removed(struct zone *zone, struct page *page, unsigned int order)
{
	lockdep_assert_held(&zone->lock);

	if (page_prezeroed(page)) {
		zone->nr_prezeroed_blocks--;
		__mod_zone_page_state(zone, NR_PREZEROED, -(1L << order));
	}
	if (page_prezeroing(page)) {
		page_clear_prezeroing(page);
		prezero_job_take(&zone->prezero_jobs, page);
	}
}

void __prezero_drop(struct zone *zone, struct page *page, unsigned int order)
{
	if (page_take_prezeroed(page))
		count(zone, PREZERO_DROPPED, order);
}

/*
 * In an isolated pageblock it is no longer the allocator's alone. While it is
 * being forbidden, a block must not get from a list that is still to be looked
 * at to one that has been, and keep its mark.
 */
void __prezero_moved(struct zone *zone, struct page *page, unsigned int order,
		     int migratetype)
{
	if (READ_ONCE(prezero_allowed) && !is_migrate_isolate(migratetype)) {
		/* It stands at the end now, which is for the clear ones. */
		if (!page_prezeroed(page) && !page_prezeroing(page))
			move_to_dirty_end(zone, page, order, migratetype);
		return;
	}

	__prezero_removed(zone, page, order);
	__prezero_drop(zone, page, order);
}

bool __prezero_take(struct zone *zone, struct page *page, unsigned int order,
		    int migratetype)
{
	if (!is_migrate_isolate(migratetype))
		return page_take_prezeroed(page);

	__prezero_drop(zone, page, order);
	return false;
}

bool __prezero_merge(struct zone *zone, bool clear, struct page *buddy,
		     unsigned int order)
{
	const bool buddy_clear = page_take_prezeroed(buddy);

	if (clear != buddy_clear)
		count(zone, PREZERO_DROPPED, order);
	return clear && buddy_clear;
}

/* The caller has put it at the right end of the list. */
void __prezero_freed(struct zone *zone, struct page *page, unsigned int order)
{
	lockdep_assert_held(&zone->lock);

	if (READ_ONCE(prezero_allowed))
		mark(zone, page, order);
	else
		count(zone, PREZERO_DROPPED, order);
}

void __prezero_split(struct zone *zone, struct page *page, struct page *part,
		     unsigned int order, int migratetype)
{
	lockdep_assert_held(&zone->lock);

	if (!page_prezeroed(page))
		return;

	if (READ_ONCE(prezero_allowed)) {
		mark(zone, part, order);
		move_to_clear_end(zone, part, order, migratetype);
	} else {
		count(zone, PREZERO_DROPPED, order);
	}
}

/*
 * The list is sorted as far as those who have added to it or moved in it care:
 * look at both ends and do not search. To save a clear is worth a few steps, to
 * save a clear block for others is not. What is being cleared waits among the
 * clear ones and is left alone.
 */
struct page *__prezero_pick(struct page *first, struct list_head *list, bool clear)
{
	const unsigned int depth = clear ? PICK_DEPTH : 1;
	struct page *last;
	unsigned int i;

	if (page_prezeroed(first) == clear)
		return first;

	last = list_last_entry(list, struct page, lru);
	for (i = 0; last != first && i < depth; i++) {
		if (page_prezeroed(last) == clear && !page_prezeroing(last))
			return last;
		last = list_prev_entry(last, lru);
	}

	return first;
}

/**
 * prezero_is_clear() - Is it true what the mark said?
 * @page: First page of a block that had the mark.
 * @order: Of the block.
 *
 * What is not clear may be handed out all the same, to be cleared.
 *
 * Context: Any. The block is the caller's.
 * Return: true unless somebody has looked (CONFIG_PREZERO_DEBUG), and has warned.
 */
bool prezero_is_clear(struct page *page, unsigned int order)
{
#ifdef CONFIG_PREZERO_DEBUG
	return !WARN(memchr_inv(page_address(page), 0, PAGE_SIZE << order),
		     "prezero: pfn 0x%lx order %u is not clear\n",
		     page_to_pfn(page), order);
#else
	return true;
#endif
}

bool __prezero_prep(struct page *page, unsigned int order, gfp_t gfp_flags)
{
	const unsigned long want = prezero_want();
	const bool clear = page_take_prezeroed(page) &&
			   prezero_is_clear(page, order);

	if (want)
		current->prezero_want = (want & PREZERO_WISHES) |
					(clear ? (unsigned long)page : 0);

	/* What is kept counts when somebody gets it in the end. */
	if (!(want & PREZERO_KEEP)) {
		if (want || gfp_flags & __GFP_ZERO)
			count(page_zone(page),
			      clear ? PREZERO_HIT : PREZERO_MISS, order);
		else if (clear)
			count(page_zone(page), PREZERO_DROPPED, order);
	}

	/* Tags that come with the clear are not there yet. */
	return clear && !(gfp_flags & __GFP_ZEROTAGS);
}

/**
 * prezero_treated() - Is there nothing to do about this free block?
 * @page: First page of a block in the free lists.
 *
 * What has been reported is no longer in memory, and to clear it would bring it
 * back. That is known of blocks that still are what they were when they were
 * reported, not of parts of them.
 *
 * Context: The zone lock is held.
 * Return: true if it is clear, or being cleared, or not to be.
 */
bool prezero_treated(struct page *page)
{
	return page_prezeroed(page) || page_prezeroing(page) || PageReported(page);
}

/**
 * prezero_job_begin() - Begin to clear a free block where it is.
 * @job: Not in use.
 * @zone: The zone of the block.
 * @page: First page of a block in the free lists that has not been treated.
 * @order: Of the block.
 *
 * The block remains free and allocatable.
 *
 * Context: The zone lock is held.
 */
void prezero_job_begin(struct prezero_job *job, struct zone *zone,
		       struct page *page, unsigned int order)
{
	lockdep_assert_held(&zone->lock);

	prezero_job_init(job, &zone->prezero_jobs, page, order);
	page_set_prezeroing(page);
	/* Others are served from the front. */
	move_to_clear_end(zone, page, order, get_pageblock_migratetype(page));
}

/* Of a huge page the head tells: tails may have no struct page of their own. */
static bool poisoned(struct page *first, unsigned long start, unsigned long nr)
{
	if (PageHead(first))
		return PageHWPoison(first);

	for (; nr; start++, nr--) {
		if (PageHWPoison(first + start))
			return true;
	}

	return false;
}

/**
 * prezero_job_chunk() - Clear some pages of the block.
 * @job: That has begun.
 * @start: Index of the first page in the block.
 * @nr: How many base pages. Interrupts are off meanwhile, and whoever allocates
 *	this block spins.
 *
 * Context: No locks held.
 * Return: false if there is no use in going on.
 */
bool prezero_job_chunk(struct prezero_job *job, unsigned long start,
		       unsigned long nr)
{
	struct page *page;
	bool ok;

	spin_lock_irq(&job->lock);
	page = job->page;
	if (page)
		job->poisoned = poisoned(page, start, nr);
	ok = page && !job->poisoned;
	if (ok)
		clear_free_pages_non_caching(nth_page(page, start), nr);
	spin_unlock_irq(&job->lock);
	return ok;
}

/**
 * prezero_job_end() - The block has been cleared, or never will be.
 * @job: That has begun.
 * @zone: The zone of the block.
 * @complete: All chunks are clear.
 *
 * Context: The zone lock is held.
 * Return: How many base pages are known to be clear now that were not before.
 */
unsigned long prezero_job_end(struct prezero_job *job, struct zone *zone,
			      bool complete)
{
	struct page *page = job->page;
	int mt;

	lockdep_assert_held(&zone->lock);

	/* Who has taken it has taken the job from the list, too. */
	if (!page)
		return 0;

	list_del(&job->list);
	page_clear_prezeroing(page);
	mt = get_pageblock_migratetype(page);
	if (!complete || !READ_ONCE(prezero_allowed)) {
		/* What never will be clear is not to be in the way of the others. */
		if (!job->poisoned)
			move_to_dirty_end(zone, page, job->order, mt);
		return 0;
	}

	mark(zone, page, job->order);
	move_to_clear_end(zone, page, job->order, mt);
	count(zone, PREZERO_CLEARED, job->order);
	return 1UL << job->order;
}

/*
 * Nothing gets a mark any more, and what has one and stays in the list loses it
 * here, some blocks at a time. Those that have been looked at go to the front. If
 * another walk turns the list meanwhile some are missed: tell whether any is left.
 */
static bool drop_list(struct zone *zone, unsigned int order, int migratetype)
{
	struct free_area *area = &zone->free_area[order];
	struct list_head *list = &area->free_list[migratetype];
	struct page *page, *first = NULL;
	unsigned long left;
	bool more;

	spin_lock_irq(&zone->lock);
	for (left = area->nr_free; left && !list_empty(list); left--) {
		if (!zone->nr_prezeroed_blocks)
			break;

		page = list_last_entry(list, struct page, buddy_list);
		/* May be gone, and is only compared with. */
		if (page == first)
			break;
		if (!first)
			first = page;

		if (page_prezeroed(page))
			__prezero_moved(zone, page, order, migratetype);
		move_to_dirty_end(zone, page, order, migratetype);

		if (left % FREE_WALK_BATCH == 0) {
			spin_unlock_irq(&zone->lock);
			cond_resched();
			spin_lock_irq(&zone->lock);
		}
	}
	more = zone->nr_prezeroed_blocks;
	spin_unlock_irq(&zone->lock);

	return more;
}

static bool drop_zone(struct zone *zone)
{
	bool more = false;
	int order, mt;

	for (order = MAX_PAGE_ORDER; order >= 0; order--) {
		for (mt = 0; mt < MIGRATE_TYPES; mt++) {
			more = drop_list(zone, order, mt);
			if (!more)
				return false;
			cond_resched();
		}
	}

	return more;
}

/**
 * prezero_allow() - From now on memory may be known to be clear.
 *
 * Context: May sleep. Not to be called concurrently with prezero_forbid().
 */
void prezero_allow(void)
{
	static_branch_enable(&prezero_key);
	WRITE_ONCE(prezero_allowed, true);
}

/**
 * prezero_forbid() - No free memory is known to be clear any more.
 *
 * When it returns no block in the free lists has the mark, nor will have. Pages
 * in the lists of a CPU may, which lose it when they are freed to the zone.
 *
 * Context: May sleep.
 */
void prezero_forbid(void)
{
	struct zone *zone;

	WRITE_ONCE(prezero_allowed, false);
	for_each_populated_zone(zone) {
		while (drop_zone(zone))
			;
	}
}

bool prezero_is_allowed(void)
{
	return READ_ONCE(prezero_allowed);
}
