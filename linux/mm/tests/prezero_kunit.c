// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for memory that is cleared before it is asked for.
 *
 * They work on blocks of the running allocator, and others may allocate those at
 * any time. What depends on a certain block is tried again when somebody else has
 * got it, and skipped in the end. Reclaimable memory is asked for because hardly
 * ever there are other large blocks in those lists.
 */
#include <kunit/test.h>
#include <linux/gfp.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/vmstat.h>

#include "../internal.h"
#include "../prezero.h"

#define TEST_GFP	(GFP_KERNEL | __GFP_RECLAIMABLE | __GFP_NOWARN | \
			 __GFP_NORETRY)
#define ORDER		MAX_PAGE_ORDER	/* no buddy to merge with */
#define HALF		(ORDER - 1)
#define CHUNK		16UL
#define TRIES		20
#define SMALLER		16	/* blocks that may be in the way of a split one */

static void fill(struct page *page, unsigned int order)
{
	memset(page_address(page), 0xa5, PAGE_SIZE << order);
}

static bool is_zero(struct page *page, unsigned int order)
{
	return !memchr_inv(page_address(page), 0, PAGE_SIZE << order);
}

/* Of a block that is the caller's, or with the zone lock held. */
static bool any_marked(struct page *page, unsigned int order)
{
	unsigned long i;

	for (i = 0; i < 1UL << order; i++) {
		if (page_prezeroed(page + i) || page_prezeroing(page + i))
			return true;
	}

	return false;
}

static struct page *alloc_dirty(struct kunit *test)
{
	struct page *page;

	cond_resched();
	page = alloc_pages(TEST_GFP, ORDER);
	if (!page)
		kunit_skip(test, "no free memory of order %u", ORDER);
	fill(page, ORDER);
	return page;
}

/* With the zone lock held. */
static bool is_free(struct page *page, unsigned int order)
{
	return PageBuddy(page) && buddy_order(page) == order;
}

enum state { GONE, DIRTY, CLEAR };

static enum state state_of(struct page *page, unsigned int order)
{
	struct zone *zone = page_zone(page);
	enum state state = GONE;

	spin_lock_irq(&zone->lock);
	if (is_free(page, order))
		state = page_prezeroed(page) ? CLEAR : DIRTY;
	spin_unlock_irq(&zone->lock);

	return state;
}

static bool begin(struct prezero_job *job, struct page *page, unsigned int order)
{
	struct zone *zone = page_zone(page);
	bool ok;

	spin_lock_irq(&zone->lock);
	ok = is_free(page, order) && !prezero_treated(page);
	if (ok)
		prezero_job_begin(job, zone, page, order);
	spin_unlock_irq(&zone->lock);

	return ok;
}

static bool clear_all(struct prezero_job *job)
{
	const unsigned long nr = 1UL << job->order;
	unsigned long i;

	for (i = 0; i < nr; i += min(nr, CHUNK)) {
		if (!prezero_job_chunk(job, i, min(nr, CHUNK)))
			return false;
	}

	return true;
}

static bool is_listed(struct prezero_job *job, struct zone *zone)
{
	struct prezero_job *other;
	bool found = false;

	spin_lock_irq(&zone->lock);
	list_for_each_entry(other, &zone->prezero_jobs, list)
		found |= other == job;
	spin_unlock_irq(&zone->lock);

	return found;
}

static unsigned long end(struct prezero_job *job, struct zone *zone, bool complete)
{
	unsigned long cleared;

	spin_lock_irq(&zone->lock);
	cleared = prezero_job_end(job, zone, complete);
	spin_unlock_irq(&zone->lock);

	return cleared;
}

static bool clear_block(struct page *page, unsigned int order)
{
	struct prezero_job job;

	return begin(&job, page, order) &&
	       end(&job, page_zone(page), clear_all(&job));
}

/* A block in the free lists that was dirty, or NULL. */
static struct page *clear_free_block(struct kunit *test)
{
	struct page *page = alloc_dirty(test);

	__free_pages(page, ORDER);
	return clear_block(page, ORDER) ? page : NULL;
}

static unsigned long node_stat(struct page *page, enum node_stat_item item)
{
	return node_page_state(page_pgdat(page), item);
}

static void got_nothing(struct kunit *test)
{
	kunit_skip(test, "others got the memory %d times", TRIES);
}

static void handed_out_test(struct kunit *test)
{
	struct page *block, *page;
	unsigned long hits;
	int i;

	for (i = 0; i < TRIES; i++) {
		block = clear_free_block(test);
		if (!block)
			continue;
		hits = node_stat(block, PREZERO_HIT);
		page = alloc_pages(TEST_GFP | __GFP_ZERO, ORDER);
		if (!page)
			continue;

		KUNIT_EXPECT_TRUE(test, is_zero(page, ORDER));
		KUNIT_EXPECT_FALSE(test, any_marked(page, ORDER));
		if (page == block)
			KUNIT_EXPECT_GE(test, node_stat(block, PREZERO_HIT),
					hits + (1UL << ORDER));
		__free_pages(page, ORDER);
		if (page == block)
			return;
	}
	got_nothing(test);
}

static void freed_test(struct kunit *test)
{
	struct page *block, *page;
	enum state state;
	int i;

	for (i = 0; i < TRIES; i++) {
		block = clear_free_block(test);
		if (!block)
			continue;
		page = alloc_pages(TEST_GFP | __GFP_ZERO, ORDER);
		if (!page)
			continue;

		/* It is all zeroes still, but who would know. */
		__free_pages(page, ORDER);
		state = state_of(page, ORDER);
		if (page != block || state == GONE)
			continue;
		KUNIT_EXPECT_EQ(test, state, DIRTY);
		return;
	}
	got_nothing(test);
}

static void taken_test(struct kunit *test)
{
	struct page *block, *page;
	struct prezero_job job;
	int i;

	for (i = 0; i < TRIES; i++) {
		block = alloc_dirty(test);
		__free_pages(block, ORDER);
		if (!begin(&job, block, ORDER))
			continue;
		prezero_job_chunk(&job, 0, CHUNK);

		page = alloc_pages(TEST_GFP, ORDER);
		if (page != block) {
			end(&job, page_zone(block), false);
			if (page)
				__free_pages(page, ORDER);
			continue;
		}

		KUNIT_EXPECT_NULL(test, job.page);
		/* The zone may be gone before the job knows. */
		KUNIT_EXPECT_FALSE(test, is_listed(&job, page_zone(page)));
		KUNIT_EXPECT_FALSE(test, any_marked(page, ORDER));
		fill(page, ORDER);
		KUNIT_EXPECT_FALSE(test, prezero_job_chunk(&job, 0, CHUNK));
		KUNIT_EXPECT_EQ(test, end(&job, page_zone(page), true), 0);
		KUNIT_EXPECT_FALSE(test, any_marked(page, ORDER));
		KUNIT_EXPECT_NULL(test, memchr_inv(page_address(page), 0xa5,
						   PAGE_SIZE << ORDER));
		__free_pages(page, ORDER);
		return;
	}
	got_nothing(test);
}

static void incomplete_test(struct kunit *test)
{
	struct prezero_job job;
	struct page *block;
	enum state state;
	int i;

	for (i = 0; i < TRIES; i++) {
		block = alloc_dirty(test);
		__free_pages(block, ORDER);
		if (!begin(&job, block, ORDER))
			continue;
		prezero_job_chunk(&job, 0, CHUNK);
		KUNIT_EXPECT_EQ(test, end(&job, page_zone(block), false), 0);
		state = state_of(block, ORDER);
		if (state == GONE)
			continue;
		KUNIT_EXPECT_EQ(test, state, DIRTY);
		return;
	}
	got_nothing(test);
}

/* With the zone lock held: the next who comes to clear would get it again. */
static bool in_the_way(struct page *page, unsigned int order)
{
	int mt = get_pageblock_migratetype(page);
	struct list_head *list = &page_zone(page)->free_area[order].free_list[mt];

	return list_is_first(&page->buddy_list, list) && !list_is_singular(list);
}

/* None of the machine's own pages is poisoned: these are in nobody's memory. */
static void poisoned_chunk_test(struct kunit *test)
{
	struct prezero_job job = { .order = 5 };
	struct page *pages;

	if (!IS_ENABLED(CONFIG_MEMORY_FAILURE))
		kunit_skip(test, "no memory failure in this kernel");

	pages = kunit_kcalloc(test, 1U << job.order, sizeof(*pages), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, pages);
	spin_lock_init(&job.lock);
	job.page = pages;
	SetPageHWPoison(pages + 2 * CHUNK - 1);
	KUNIT_EXPECT_FALSE(test, prezero_job_chunk(&job, CHUNK, CHUNK));
	KUNIT_EXPECT_TRUE(test, job.poisoned);
}

static void poisoned_block_test(struct kunit *test)
{
	struct page *block, *other;
	struct prezero_job job;
	struct zone *zone;
	bool free, first;
	int i;

	for (i = 0; i < TRIES; i++) {
		block = alloc_dirty(test);
		other = alloc_dirty(test);
		zone = page_zone(block);
		__free_pages(other, ORDER);
		__free_pages(block, ORDER);
		if (!begin(&job, block, ORDER))
			continue;

		job.poisoned = true;
		spin_lock_irq(&zone->lock);
		free = job.page;
		KUNIT_EXPECT_EQ(test, prezero_job_end(&job, zone, false), 0);
		first = free && in_the_way(block, ORDER);
		spin_unlock_irq(&zone->lock);
		if (!free)
			continue;

		KUNIT_EXPECT_FALSE(test, first);
		KUNIT_EXPECT_NE(test, state_of(block, ORDER), CLEAR);
		return;
	}
	got_nothing(test);
}

static void merge_rule_test(struct kunit *test)
{
	struct page *buddy = kunit_kzalloc(test, sizeof(*buddy), GFP_KERNEL);
	struct zone *zone;
	int clear, buddy_clear;
	unsigned long flags;
	bool both;

	KUNIT_ASSERT_NOT_NULL(test, buddy);
	zone = page_zone(virt_to_page(buddy));

	for (clear = 0; clear < 2; clear++) {
		for (buddy_clear = 0; buddy_clear < 2; buddy_clear++) {
			buddy->flags = buddy_clear ? PREZERO_PASSING : 0;
			spin_lock_irqsave(&zone->lock, flags);
			both = __prezero_merge(zone, clear, buddy, 0);
			spin_unlock_irqrestore(&zone->lock, flags);
			KUNIT_EXPECT_EQ_MSG(test, both, clear && buddy_clear,
					    "%d and %d", clear, buddy_clear);
			KUNIT_EXPECT_FALSE(test, page_prezeroed(buddy));
			/* There was no such page. */
			if (clear != buddy_clear)
				mod_node_page_state(zone->zone_pgdat,
						    PREZERO_DROPPED, -1);
		}
	}
}

static void free_half(struct page *page)
{
	unsigned long i;

	for (i = 0; i < 1UL << HALF; i++)
		__free_page(page + i);
	/* What a CPU keeps has not been merged. */
	drain_all_pages(page_zone(page));
}

static void dirty_merge_test(struct kunit *test)
{
	const unsigned long nr = 1UL << HALF;
	struct page *block;
	enum state state;
	bool cleared;
	int i, half;

	for (i = 0; i < TRIES; i++) {
		half = i & 1;
		block = alloc_dirty(test);
		split_page(block, ORDER);
		free_half(block + half * nr);
		cleared = clear_block(block + half * nr, HALF);
		free_half(block + !half * nr);
		state = state_of(block, ORDER);
		if (!cleared || state == GONE)
			continue;
		KUNIT_EXPECT_EQ_MSG(test, state, DIRTY, "half %d was clear", half);
		KUNIT_EXPECT_FALSE(test, page_prezeroed(block + nr));
		return;
	}
	got_nothing(test);
}

static void free_all(struct page **pages, int nr, unsigned int order)
{
	while (nr)
		__free_pages(pages[--nr], order);
}

static void split_test(struct kunit *test)
{
	const unsigned int order = ORDER - 2;
	struct page *block, *half, *other, *quarter;
	struct page *taken[SMALLER];
	enum state state;
	int i, nr;

	for (i = 0; i < TRIES; i++) {
		block = clear_free_block(test);
		if (!block)
			continue;
		/* What others have split is taken first. */
		for (nr = 0; nr < SMALLER; ) {
			taken[nr] = alloc_pages(TEST_GFP | __GFP_ZERO, order);
			if (!taken[nr])
				break;
			KUNIT_EXPECT_TRUE(test, is_zero(taken[nr], order));
			KUNIT_EXPECT_FALSE(test, any_marked(taken[nr], order));
			if (taken[nr++] == block)
				break;
		}
		if (!nr || taken[nr - 1] != block) {
			free_all(taken, nr, order);
			continue;
		}

		half = block + (1UL << HALF);
		quarter = block + (1UL << order);
		state = state_of(half, HALF);
		if (state != GONE)
			KUNIT_EXPECT_EQ(test, state, CLEAR);
		state = state_of(quarter, order);
		if (state != GONE)
			KUNIT_EXPECT_EQ(test, state, CLEAR);

		/* Who needs no zeroes gets them if there is nothing else. */
		other = alloc_pages(TEST_GFP, order);
		if (other == quarter && state == CLEAR) {
			KUNIT_EXPECT_TRUE(test, is_zero(other, order));
			KUNIT_EXPECT_FALSE(test, any_marked(other, order));
		}
		if (other)
			__free_pages(other, order);
		free_all(taken, nr, order);
		if (state != GONE)
			return;
	}
	got_nothing(test);
}

static void isolate_test(struct kunit *test)
{
	struct page *block;
	struct zone *zone;
	unsigned long dropped;
	bool isolated, before, after;
	int i;

	for (i = 0; i < TRIES; i++) {
		block = clear_free_block(test);
		if (!block)
			continue;
		zone = page_zone(block);
		dropped = node_stat(block, PREZERO_DROPPED);

		spin_lock_irq(&zone->lock);
		isolated = is_free(block, ORDER) && page_prezeroed(block) &&
			   __isolate_free_page(block, ORDER);
		if (isolated) {
			before = any_marked(block, ORDER);
			__putback_isolated_page(block, ORDER,
						get_pageblock_migratetype(block));
			after = any_marked(block, ORDER);
		}
		spin_unlock_irq(&zone->lock);
		if (!isolated)
			continue;

		KUNIT_EXPECT_FALSE(test, before);
		KUNIT_EXPECT_FALSE(test, after);
		KUNIT_EXPECT_GE(test, node_stat(block, PREZERO_DROPPED),
				dropped + (1UL << ORDER));
		return;
	}
	got_nothing(test);
}

static void told_clear_test(struct kunit *test)
{
	struct folio *folio;
	struct page *block;
	bool clear, got;
	int i;

	for (i = 0; i < TRIES; i++) {
		block = clear_free_block(test);
		if (!block)
			continue;
		folio = prezero_alloc(&clear, folio_alloc(TEST_GFP, ORDER));
		KUNIT_EXPECT_EQ(test, current->prezero_want, 0);
		if (!folio) {
			KUNIT_EXPECT_FALSE(test, clear);
			continue;
		}

		got = &folio->page == block;
		if (got)
			KUNIT_EXPECT_TRUE(test, clear);
		if (clear)
			KUNIT_EXPECT_TRUE(test, is_zero(&folio->page, ORDER));
		KUNIT_EXPECT_FALSE(test, any_marked(&folio->page, ORDER));
		folio_put(folio);
		if (got)
			return;
	}
	got_nothing(test);
}

static void told_dirty_test(struct kunit *test)
{
	struct folio *folio;
	struct page *block;
	bool clear, got;
	int i;

	for (i = 0; i < TRIES; i++) {
		block = alloc_dirty(test);
		__free_pages(block, ORDER);
		folio = prezero_alloc(&clear, folio_alloc(TEST_GFP, ORDER));
		got = folio && &folio->page == block;
		if (got)
			KUNIT_EXPECT_FALSE(test, clear);
		if (folio)
			folio_put(folio);
		if (got)
			return;
	}
	got_nothing(test);
}

/* What was told of one allocation says nothing of any other. */
static void told_once_test(struct kunit *test)
{
	struct folio *folio, *same;
	struct page *block, *page;
	bool clear, outer, got;
	int i;

	for (i = 0; i < TRIES; i++) {
		block = clear_free_block(test);
		if (!block)
			continue;

		/* Somebody got another page before he returned this. */
		folio = prezero_alloc(&clear, ({
			struct folio *first = folio_alloc(TEST_GFP, ORDER);

			page = alloc_page(GFP_KERNEL);
			first;
		}));
		if (page) {
			KUNIT_EXPECT_FALSE(test, clear);
			__free_page(page);
		}
		if (!folio)
			continue;
		got = &folio->page == block;

		/* Nothing at all is allocated. */
		same = prezero_alloc(&clear, folio);
		KUNIT_EXPECT_PTR_EQ(test, same, folio);
		KUNIT_EXPECT_FALSE(test, clear);
		same = prezero_alloc(&clear, (struct folio *)NULL);
		KUNIT_EXPECT_NULL(test, same);
		KUNIT_EXPECT_FALSE(test, clear);
		folio_put(folio);
		if (!got || !page || !clear_block(block, ORDER))
			continue;

		/* One inside another: the outer one has not got it. */
		folio = prezero_alloc(&outer,
				      prezero_alloc(&clear,
						    folio_alloc(TEST_GFP, ORDER)));
		KUNIT_EXPECT_EQ(test, current->prezero_want, 0);
		if (!folio)
			continue;
		got = &folio->page == block;
		if (got) {
			KUNIT_EXPECT_TRUE(test, clear);
			KUNIT_EXPECT_FALSE(test, outer);
		}
		folio_put(folio);
		if (got)
			return;
	}
	got_nothing(test);
}

/* A pool of memory: who counts is somebody else, or nobody. */
static void kept_test(struct kunit *test, bool want)
{
	unsigned long hits, misses, dropped;
	struct folio *folio;
	struct page *block;
	bool clear, got;
	int i;

	for (i = 0; i < TRIES; i++) {
		block = clear_free_block(test);
		if (!block)
			continue;
		hits = node_stat(block, PREZERO_HIT);
		misses = node_stat(block, PREZERO_MISS);
		dropped = node_stat(block, PREZERO_DROPPED);
		folio = prezero_alloc_keep(&clear, want,
					   folio_alloc(TEST_GFP, ORDER));
		hits = node_stat(block, PREZERO_HIT) - hits;
		misses = node_stat(block, PREZERO_MISS) - misses;
		dropped = node_stat(block, PREZERO_DROPPED) - dropped;
		KUNIT_EXPECT_EQ(test, current->prezero_want, 0);
		if (!folio)
			continue;
		got = &folio->page == block;
		if (got) {
			KUNIT_EXPECT_EQ(test, clear, want);
			/* Others may count some of their own meanwhile. */
			KUNIT_EXPECT_LT(test, hits, 1UL << ORDER);
			KUNIT_EXPECT_LT(test, misses, 1UL << ORDER);
			if (want)
				KUNIT_EXPECT_LT(test, dropped, 1UL << ORDER);
			else
				KUNIT_EXPECT_GE(test, dropped, 1UL << ORDER);
		}
		KUNIT_EXPECT_FALSE(test, any_marked(&folio->page, ORDER));
		folio_put(folio);
		if (got)
			return;
	}
	got_nothing(test);
}

static void kept_clear_test(struct kunit *test)
{
	kept_test(test, true);
}

static void kept_overwritten_test(struct kunit *test)
{
	kept_test(test, false);
}

static void forbid_test(struct kunit *test)
{
	struct prezero_job job;
	unsigned long cleared;
	enum state state;
	struct page *block;
	bool begun;
	int i;

	for (i = 0; i < TRIES; i++) {
		block = clear_free_block(test);
		if (!block)
			continue;

		prezero_force(PREZERO_FORBID);
		KUNIT_EXPECT_FALSE(test, prezero_is_allowed());
		KUNIT_EXPECT_EQ(test, 0,
				zone_page_state_snapshot(page_zone(block),
							 NR_PREZEROED));
		state = state_of(block, ORDER);
		begun = begin(&job, block, ORDER);
		cleared = begun ? end(&job, page_zone(block), clear_all(&job)) : 0;
		if (state != GONE)
			state = state_of(block, ORDER);
		prezero_force(PREZERO_ALLOW);

		KUNIT_EXPECT_EQ(test, cleared, 0);
		if (state == GONE || !begun)
			continue;
		KUNIT_EXPECT_EQ(test, state, DIRTY);
		return;
	}
	got_nothing(test);
}

static int prezero_test_init(struct kunit *test)
{
	if (page_poisoning_enabled_static())
		kunit_skip(test, "page poisoning is on, free memory is not zero");
	if (debug_pagealloc_enabled_static())
		kunit_skip(test, "debug_pagealloc is on, free memory is not mapped");

	prezero_force(PREZERO_ALLOW);
	if (!prezero_is_allowed())
		kunit_skip(test, "the machine is about to hibernate");
	return 0;
}

static void prezero_test_exit(struct kunit *test)
{
	prezero_force(PREZERO_AS_ENABLED);
}

static struct kunit_case prezero_cases[] = {
	KUNIT_CASE(handed_out_test),
	KUNIT_CASE(freed_test),
	KUNIT_CASE(taken_test),
	KUNIT_CASE(incomplete_test),
	KUNIT_CASE(poisoned_chunk_test),
	KUNIT_CASE(poisoned_block_test),
	KUNIT_CASE(merge_rule_test),
	KUNIT_CASE(dirty_merge_test),
	KUNIT_CASE(split_test),
	KUNIT_CASE(isolate_test),
	KUNIT_CASE(told_clear_test),
	KUNIT_CASE(told_dirty_test),
	KUNIT_CASE(told_once_test),
	KUNIT_CASE(kept_clear_test),
	KUNIT_CASE(kept_overwritten_test),
	KUNIT_CASE(forbid_test),
	{}
};

static struct kunit_suite prezero_suite = {
	.name = "prezero",
	.init = prezero_test_init,
	.exit = prezero_test_exit,
	.test_cases = prezero_cases,
};

kunit_test_suite(prezero_suite);

MODULE_DESCRIPTION("KUnit tests for memory that is cleared ahead");
MODULE_LICENSE("GPL");
