// SPDX-License-Identifier: GPL-2.0
/*
 * mm/prezero.c against a model of the page allocator.
 *
 * The model has the lists of one zone, of its CPUs, and memory of eight bytes a
 * page. It calls the hooks where mm/page_alloc.c does; where that is changed this
 * has to follow. What is done to it is random. After each step all that is said
 * to be clear is looked at, and counted.
 *
 * Usage: prezero [first seed [how many]]
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prezero_internal.h"
#include "../../../mm/prezero.c"

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#endif

#define NR_PCPS		2
#define NR_PCP_ORDERS	3
#define PCP_BATCH	4
#define NR_PAGEBLOCKS	(NR_PAGES >> pageblock_order)
#define MAX_BLOCKS	((int)NR_PAGES)
#define MAX_JOBS	3
#define STEPS		4000
#define THREAD_STEPS	8000

struct pcp {
	spinlock_t lock;	/* of the lists */
	struct list_head lists[NR_PCP_ORDERS][MIGRATE_PCPTYPES];
};

/* Memory that somebody has, and what he has left in it. */
struct block {
	struct page *page;
	unsigned int order;
};

struct job {
	struct prezero_job job;
	struct page *page;	/* NULL when this is not in use */
	unsigned int order;
	unsigned long next;	/* page to be cleared */
	bool ok;
};

/* One thread, with all that it has. */
struct actor {
	uint64_t random;
	bool alone;
	unsigned int cpu;
	struct block blocks[MAX_BLOCKS];	/* allocated */
	int nr_blocks;
	struct block isolated[4];		/* as for page reporting */
	int nr_isolated;
	struct page *poisoned[4];
	int nr_poisoned;
	struct job jobs[MAX_JOBS];
};

struct page mem_map[NR_PAGES];
uint64_t memory[NR_PAGES];
struct zone the_zone;
__thread struct task_struct the_task;

static struct zone *const zone = &the_zone;
static struct pglist_data the_node;
static struct pcp pcps[NR_PCPS];
static int pageblock_types[NR_PAGEBLOCKS];
static uint64_t expected[NR_PAGES];	/* content of allocated pages */
static unsigned long wanted;		/* pages that were needed clear */

static unsigned long seed;
static unsigned long step;

static void __printf(1, 2) __noreturn fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fprintf(stderr, "prezero: seed %lu, step %lu: ", seed, step);
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, "\n");
	exit(1);
}

static unsigned long pick(struct actor *a, unsigned long below)
{
	a->random ^= a->random << 13;
	a->random ^= a->random >> 7;
	a->random ^= a->random << 17;
	return (a->random >> 16) % below;
}

static bool chance(struct actor *a, unsigned long one_in)
{
	return !pick(a, one_in);
}

/* What the kernel has elsewhere */

int get_pageblock_migratetype(const struct page *page)
{
	return READ_ONCE(pageblock_types[page_to_pfn(page) >> pageblock_order]);
}

static void set_pageblock_migratetype(struct page *page, int mt)
{
	WRITE_ONCE(pageblock_types[page_to_pfn(page) >> pageblock_order], mt);
}

void clear_free_pages_non_caching(struct page *page, unsigned long nr)
{
	memset(memory + page_to_pfn(page), 0, nr * sizeof(*memory));
}

/* Where it may be interrupted others go on, and blocks change their type. */
static struct actor *forbidding;
static void do_claim(struct actor *a);
static void do_something(struct actor *a);

void cond_resched(void)
{
	int i;

	for (i = 0; forbidding && i < 4; i++) {
		if (chance(forbidding, 8))
			do_claim(forbidding);
		else
			do_something(forbidding);
	}
}

/* The page allocator: names as there, and as much of it as matters here */

static void account_freepages(long nr, int mt)
{
	lockdep_assert_held(&zone->lock);
	if (!is_migrate_isolate(mt))
		__mod_zone_page_state(zone, NR_FREE_PAGES, nr);
}

static void __add_to_free_list(struct page *page, unsigned int order, int mt,
			       bool tail)
{
	struct free_area *area = &zone->free_area[order];

	if (get_pageblock_migratetype(page) != mt)
		fail("pfn %lu goes to the wrong list", page_to_pfn(page));
	if (tail)
		list_add_tail(&page->buddy_list, &area->free_list[mt]);
	else
		list_add(&page->buddy_list, &area->free_list[mt]);
	area->nr_free++;
}

static void set_buddy_order(struct page *page, unsigned int order)
{
	page->private = order;
	page->buddy = true;
}

static void move_to_free_list(struct page *page, unsigned int order, int old_mt,
			      int new_mt)
{
	list_move_tail(&page->buddy_list, &zone->free_area[order].free_list[new_mt]);
	prezero_moved(zone, page, order, new_mt);
	account_freepages(-(1L << order), old_mt);
	account_freepages(1L << order, new_mt);
}

static void __del_page_from_free_list(struct page *page, unsigned int order)
{
	ClearPageReported(page);
	prezero_removed(zone, page, order);
	list_del(&page->buddy_list);
	page->buddy = false;
	page->private = 0;
	zone->free_area[order].nr_free--;
}

static void del_page_from_free_list(struct page *page, unsigned int order, int mt)
{
	__del_page_from_free_list(page, order);
	prezero_drop(zone, page, order);
	account_freepages(-(1L << order), mt);
}

static void change_pageblock_range(struct page *page, unsigned int order, int mt)
{
	unsigned long i;

	for (i = 0; i < 1UL << order; i += pageblock_nr_pages)
		set_pageblock_migratetype(page + i, mt);
}

/* What compaction waits for, of the task that frees. */
static __thread struct capture {
	unsigned int order;
	struct page *page;
} *capture;

static bool compaction_capture(struct page *page, unsigned int order, int mt)
{
	if (!capture || capture->page || capture->order != order ||
	    is_migrate_isolate(mt))
		return false;
	capture->page = page;
	return true;
}

static void __free_one_page(struct page *page, unsigned int order, int mt,
			    bool to_tail)
{
	unsigned long pfn = page_to_pfn(page);
	struct page *buddy;
	bool clear = prezero_take(zone, page, order, mt);

	if (page_flags(page) & ~__PG_HWPOISON)
		fail("pfn %lu is freed with flags", pfn);
	account_freepages(1L << order, mt);

	while (order < MAX_PAGE_ORDER) {
		int buddy_mt = mt;

		if (compaction_capture(page, order, mt)) {
			account_freepages(-(1L << order), mt);
			prezero_pass(page, clear);
			return;
		}
		buddy = pfn_to_page(pfn ^ 1UL << order);
		if (!buddy->buddy || buddy->private != order)
			break;
		if (order >= pageblock_order) {
			buddy_mt = get_pageblock_migratetype(buddy);
			if (mt != buddy_mt && (!migratetype_is_mergeable(mt) ||
					       !migratetype_is_mergeable(buddy_mt)))
				break;
		}

		__del_page_from_free_list(buddy, order);
		clear = prezero_merge(zone, clear, buddy, order);
		if (buddy_mt != mt)
			change_pageblock_range(buddy, order, mt);
		pfn &= ~(1UL << order);
		page = pfn_to_page(pfn);
		order++;
	}

	set_buddy_order(page, order);
	__add_to_free_list(page, order, mt, to_tail || clear);
	prezero_freed(zone, page, order, clear);
}

static void split_large_buddy(struct page *page, unsigned int order)
{
	struct page *end = page + (1UL << order);

	if (order > pageblock_order)
		order = pageblock_order;
	for (; page < end; page += 1UL << order)
		__free_one_page(page, order, get_pageblock_migratetype(page), false);
}

static void free_one_page(struct page *page, unsigned int order)
{
	spin_lock(&zone->lock);
	split_large_buddy(page, order);
	spin_unlock(&zone->lock);
}

static void free_pcppages_bulk(struct pcp *pcp, unsigned int order, int mt,
			       unsigned long nr)
{
	struct list_head *list = &pcp->lists[order][mt];
	struct page *page;

	spin_lock(&zone->lock);
	for (; nr && !list_empty(list); nr--) {
		page = list_last_entry(list, struct page, pcp_list);
		list_del(&page->pcp_list);
		__free_one_page(page, order, get_pageblock_migratetype(page), false);
	}
	spin_unlock(&zone->lock);
}

static void drain(unsigned int cpu)
{
	unsigned int order;
	int mt;

	spin_lock(&pcps[cpu].lock);
	for (order = 0; order < NR_PCP_ORDERS; order++) {
		for (mt = 0; mt < MIGRATE_PCPTYPES; mt++)
			free_pcppages_bulk(&pcps[cpu], order, mt, NR_PAGES);
	}
	spin_unlock(&pcps[cpu].lock);
}

static void free_pages_prepare(struct page *page, unsigned int order)
{
	unsigned long i;

	for (i = 0; i < 1UL << order; i++)
		set_page_flags(page + i, 0);
}

static void free_block(struct actor *a, struct page *page, unsigned int order)
{
	struct pcp *pcp = &pcps[a->cpu];
	int mt;

	free_pages_prepare(page, order);
	mt = get_pageblock_migratetype(page);
	if (order >= NR_PCP_ORDERS || is_migrate_isolate(mt)) {
		free_one_page(page, order);
		return;
	}

	spin_lock(&pcp->lock);
	list_add(&page->pcp_list, &pcp->lists[order][mt]);
	if (chance(a, PCP_BATCH))
		free_pcppages_bulk(pcp, order, mt, PCP_BATCH);
	spin_unlock(&pcp->lock);
}

static unsigned long expand(struct page *page, unsigned int low, unsigned int high,
			    int mt)
{
	unsigned long nr_added = 0;
	struct page *part;

	while (high > low) {
		high--;
		part = page + (1UL << high);
		__add_to_free_list(part, high, mt, false);
		set_buddy_order(part, high);
		prezero_split(zone, page, part, high, mt);
		nr_added += 1UL << high;
	}

	return nr_added;
}

static void page_del_and_expand(struct page *page, unsigned int low,
				unsigned int high, int mt)
{
	__del_page_from_free_list(page, high);
	account_freepages((long)expand(page, low, high, mt) - (1L << high), mt);
}

static struct page *first_free(unsigned int order, int mt)
{
	struct list_head *list = &zone->free_area[order].free_list[mt];

	return list_empty(list) ? NULL :
	       list_first_entry(list, struct page, buddy_list);
}

/* Does everybody get what he prefers if it is at an end of the list? */
static struct page *pick_page(struct page *first, struct list_head *list, bool clear)
{
	struct page *page = prezero_pick(first, list, clear);
	struct page *last;

	if (!first)
		return NULL;

	last = list_last_entry(list, struct page, lru);
	if (prezero_used() && page_prezeroed(page) != clear &&
	    (page_prezeroed(first) == clear ||
	     (!page_prezeroing(last) && page_prezeroed(last) == clear)))
		fail("pfn %lu was preferred", page_to_pfn(page));

	return page;
}

static struct page *__rmqueue_smallest(unsigned int order, int mt, bool clear)
{
	unsigned int high;
	struct page *page;

	for (high = order; high < NR_PAGE_ORDERS; high++) {
		page = pick_page(first_free(high, mt),
				 &zone->free_area[high].free_list[mt], clear);
		if (page) {
			page_del_and_expand(page, order, high, mt);
			return page;
		}
	}

	return NULL;
}

static void __move_freepages_block(struct page *page, int old_mt, int new_mt)
{
	struct page *end;

	page -= page_to_pfn(page) % pageblock_nr_pages;
	for (end = page + pageblock_nr_pages; page < end;) {
		if (!page->buddy) {
			page++;
			continue;
		}
		move_to_free_list(page, page->private, old_mt, new_mt);
		page += 1UL << page->private;
	}
	set_pageblock_migratetype(end - 1, new_mt);
}

/* The whole pageblock, or more; and else a part of it. */
static struct page *__rmqueue_fallback(unsigned int order, int mt, bool clear)
{
	const int other = !mt;
	struct page *page;
	int high;

	for (high = MAX_PAGE_ORDER; high >= (int)order; high--) {
		page = first_free(high, other);
		if (!page)
			continue;

		if (high >= pageblock_order) {
			__del_page_from_free_list(page, high);
			account_freepages(-(1L << high), other);
			change_pageblock_range(page, high, mt);
			account_freepages(expand(page, order, high, mt), mt);
			return page;
		}
		if (high >= pageblock_order - 1) {
			__move_freepages_block(page, other, mt);
			return __rmqueue_smallest(order, mt, clear);
		}
	}

	for (high = order; high < NR_PAGE_ORDERS; high++) {
		page = first_free(high, other);
		if (page) {
			page_del_and_expand(page, order, high, other);
			return page;
		}
	}

	return NULL;
}

static struct page *__rmqueue(unsigned int order, int mt, bool clear)
{
	return __rmqueue_smallest(order, mt, clear) ?:
	       __rmqueue_fallback(order, mt, clear);
}

static struct page *rmqueue_pcplist(struct pcp *pcp, unsigned int order, int mt,
				    bool clear)
{
	struct list_head *list = &pcp->lists[order][mt];
	struct page *page = NULL;
	int i;

	spin_lock(&pcp->lock);
	if (list_empty(list)) {
		spin_lock(&zone->lock);
		for (i = 0; i < PCP_BATCH; i++) {
			page = __rmqueue(order, mt, clear);
			if (!page)
				break;
			list_add_tail(&page->pcp_list, list);
		}
		spin_unlock(&zone->lock);
	}
	if (!list_empty(list)) {
		page = list_first_entry(list, struct page, pcp_list);
		page = pick_page(page, list, clear);
		list_del(&page->pcp_list);
	}
	spin_unlock(&pcp->lock);

	return page;
}

static void check_new_pages(struct page *page, unsigned int order,
			    unsigned long passing)
{
	unsigned long i;

	for (i = 0; i < 1UL << order; i++) {
		if (page_flags(page + i) & ~(i ? 0 : passing))
			fail("pfn %lu order %u: page %lu has flags 0x%lx",
			     page_to_pfn(page), order, i, page_flags(page + i));
	}
}

static bool is_zero(const struct page *page, unsigned int order)
{
	unsigned long i;

	for (i = 0; i < 1UL << order; i++) {
		if (memory[page_to_pfn(page) + i])
			return false;
	}

	return true;
}

static void prep_new_page(struct page *page, unsigned int order, gfp_t gfp)
{
	const bool needed = gfp & __GFP_ZERO || (in_task() && current->prezero_want);
	bool clear;

	if (needed && prezero_used())
		__atomic_fetch_add(&wanted, 1UL << order, __ATOMIC_RELAXED);

	check_new_pages(page, order, PREZERO_PASSING);
	clear = prezero_prep(page, order, gfp);
	check_new_pages(page, order, 0);

	if (gfp & __GFP_ZEROTAGS && clear)
		fail("tags are not cleared");
	if (gfp & __GFP_ZERO && !clear)
		memset(memory + page_to_pfn(page), 0, sizeof(*memory) << order);
	if (gfp & __GFP_ZERO && !is_zero(page, order))
		fail("pfn %lu order %u is not clear", page_to_pfn(page), order);
}

/* @a has a block from now on. */
static void got_block(struct actor *a, struct page *page, unsigned int order,
		      gfp_t gfp)
{
	unsigned long i;

	prep_new_page(page, order, gfp);
	for (i = 0; i < 1UL << order; i++)
		expected[page_to_pfn(page) + i] = memory[page_to_pfn(page) + i];
	a->blocks[a->nr_blocks++] = (struct block){ page, order };
}

static struct page *alloc_block(struct actor *a, unsigned int order, gfp_t gfp)
{
	const bool clear = prezero_wanted(gfp);
	const int mt = pick(a, MIGRATE_PCPTYPES);
	struct page *page = NULL;

	if (order < NR_PCP_ORDERS)
		page = rmqueue_pcplist(&pcps[a->cpu], order, mt, clear);
	if (!page) {
		spin_lock(&zone->lock);
		page = __rmqueue(order, mt, clear);
		spin_unlock(&zone->lock);
	}
	if (!page)
		return NULL;

	got_block(a, page, order, gfp);
	return page;
}

static void break_down_buddy_pages(struct page *page, struct page *target,
				   unsigned int high, int mt)
{
	struct page *other, *half;

	while (high) {
		high--;
		half = page + (1UL << high);
		other = target >= half ? page : half;
		page = target >= half ? half : page;
		__add_to_free_list(other, high, mt, false);
		account_freepages(1L << high, mt);
		set_buddy_order(other, high);
	}
}

/* The free block that a page is in, or NULL. */
static struct page *find_free(struct page *page)
{
	struct page *head;
	unsigned int order;

	for (order = 0; order < NR_PAGE_ORDERS; order++) {
		head = page - (page_to_pfn(page) & ((1UL << order) - 1));
		if (head->buddy && head->private >= order)
			return head;
	}

	return NULL;
}

static void take_page_off_buddy(struct page *page)
{
	struct page *head = find_free(page);
	unsigned int order = head->private;
	int mt = get_pageblock_migratetype(head);

	del_page_from_free_list(head, order, mt);
	break_down_buddy_pages(head, page, order, mt);
}

static void move_freepages_block_isolate(struct page *page, int new_mt)
{
	struct page *head = find_free(page);
	unsigned int order;

	if (head && head->private > pageblock_order) {
		order = head->private;
		del_page_from_free_list(head, order, get_pageblock_migratetype(head));
		set_pageblock_migratetype(page, new_mt);
		split_large_buddy(head, order);
		return;
	}

	__move_freepages_block(page, get_pageblock_migratetype(page), new_mt);
}

/* For page reporting, or compaction. */
static void __isolate_free_page(struct page *page, unsigned int order)
{
	unsigned long i;
	int mt;

	del_page_from_free_list(page, order, get_pageblock_migratetype(page));
	if (order < pageblock_order - 1)
		return;

	for (i = 0; i < 1UL << order; i += pageblock_nr_pages) {
		mt = get_pageblock_migratetype(page + i);
		if (migratetype_is_mergeable(mt))
			__move_freepages_block(page + i, mt, MIGRATE_MOVABLE);
	}
}

/* What must be true of the lists at any time */

static struct prezero_job *find_job(struct page *page)
{
	struct prezero_job *job;

	list_for_each_entry(job, &zone->prezero_jobs, list) {
		if (job->page == page)
			return job;
	}

	return NULL;
}

static long check_free_block(struct page *page, unsigned int order, int mt)
{
	struct prezero_job *job;

	if (!page->buddy || page->private != order ||
	    get_pageblock_migratetype(page) != mt)
		fail("pfn %lu order %u is in the wrong list", page_to_pfn(page),
		     order);
	check_new_pages(page, order, BIT(PG_prezeroed) | BIT(PG_prezeroing) |
				     BIT(PG_reported));
	if (page_prezeroing(page)) {
		job = find_job(page);
		if (!job || job->order != order || page_prezeroed(page) ||
		    is_migrate_isolate(mt))
			fail("pfn %lu order %u: no such job", page_to_pfn(page),
			     order);
	}
	if (!page_prezeroed(page))
		return 0;
	if (is_migrate_isolate(mt))
		fail("pfn %lu order %u is isolated and marked", page_to_pfn(page),
		     order);
	if (!is_zero(page, order))
		fail("pfn %lu order %u is said to be clear", page_to_pfn(page),
		     order);
	return 1L << order;
}

static long check_pcp(struct pcp *pcp, unsigned int order, int mt)
{
	struct page *page;
	long marked = 0;

	list_for_each_entry(page, &pcp->lists[order][mt], pcp_list) {
		check_new_pages(page, order, PREZERO_PASSING);
		if (!page_prezeroed(page))
			continue;
		if (!is_zero(page, order))
			fail("pfn %lu of a CPU is said to be clear",
			     page_to_pfn(page));
		marked += 1L << order;
	}

	return marked;
}

/* Do the counters tell what has become of all that was cleared? */
static void check_counters(long marked)
{
	const long *stat = the_node.stat;

	if (stat[PREZERO_CLEARED] !=
	    stat[PREZERO_HIT] + stat[PREZERO_DROPPED] + marked)
		fail("cleared %ld, hit %ld, dropped %ld, left %ld",
		     stat[PREZERO_CLEARED], stat[PREZERO_HIT],
		     stat[PREZERO_DROPPED], marked);
	if (stat[PREZERO_HIT] + stat[PREZERO_MISS] != (long)wanted)
		fail("hit %ld, missed %ld, wanted %lu", stat[PREZERO_HIT],
		     stat[PREZERO_MISS], wanted);
}

/* @idle: Nothing is on its way from one list to another. */
static void check_all(bool idle)
{
	long nr_free = 0, marked = 0, free_marked, nr;
	unsigned long nr_marked = 0;
	struct prezero_job *job;
	struct page *page;
	unsigned int order, cpu;
	int mt;

	for (cpu = 0; cpu < NR_PCPS; cpu++)
		spin_lock(&pcps[cpu].lock);
	spin_lock(&zone->lock);

	for (order = 0; order < NR_PAGE_ORDERS; order++) {
		nr = 0;
		for (mt = 0; mt < MIGRATE_TYPES; mt++) {
			list_for_each_entry(page, &zone->free_area[order].free_list[mt],
					    buddy_list) {
				marked += check_free_block(page, order, mt);
				nr_marked += page_prezeroed(page);
				nr_free += is_migrate_isolate(mt) ? 0 : 1L << order;
				nr++;
			}
		}
		if (nr != (long)zone->free_area[order].nr_free)
			fail("order %u: %ld blocks, should be %lu", order, nr,
			     zone->free_area[order].nr_free);
	}
	free_marked = marked;

	for (cpu = 0; cpu < NR_PCPS; cpu++) {
		for (order = 0; order < NR_PCP_ORDERS; order++) {
			for (mt = 0; mt < MIGRATE_PCPTYPES; mt++)
				marked += check_pcp(&pcps[cpu], order, mt);
		}
	}

	list_for_each_entry(job, &zone->prezero_jobs, list) {
		if (!job->page || !page_prezeroing(job->page))
			fail("a job has lost pfn %lu", page_to_pfn(job->page));
	}
	if (zone->stat[NR_FREE_PAGES] != nr_free)
		fail("%ld pages are free, counted %ld", nr_free,
		     zone->stat[NR_FREE_PAGES]);
	if (zone->stat[NR_PREZEROED] != free_marked)
		fail("%ld pages are clear, counted %ld", free_marked,
		     zone->stat[NR_PREZEROED]);
	if (zone->nr_prezeroed_blocks != nr_marked)
		fail("%lu blocks are clear, counted %lu", nr_marked,
		     zone->nr_prezeroed_blocks);
	if (idle && free_marked && !prezero_is_allowed())
		fail("%ld pages are clear and must not be", free_marked);
	if (idle)
		check_counters(marked);

	spin_unlock(&zone->lock);
	for (cpu = 0; cpu < NR_PCPS; cpu++)
		spin_unlock(&pcps[cpu].lock);
}

/* What can be done */

static void use(struct actor *a, struct page *page, unsigned int order)
{
	const unsigned long nr = 1UL << order;
	unsigned long i, start = pick(a, nr), end = start + 1;

	if (chance(a, 4))	/* not at all */
		return;
	if (chance(a, 2)) {
		start = 0;
		end = nr;
	}
	for (i = start; i < end; i++) {
		memory[page_to_pfn(page + i)] = a->random | 1;
		expected[page_to_pfn(page + i)] = a->random | 1;
		/* For others than the allocator they have another meaning. */
		if (chance(a, 2))
			set_page_flags(page + i, BIT(PG_owner_2) |
						 BIT(PG_owner_priv_1));
	}
}

static gfp_t some_gfp(struct actor *a)
{
	return (chance(a, 2) ? __GFP_ZERO : 0) |
	       (chance(a, 8) ? __GFP_ZEROTAGS : 0);
}

static unsigned int some_order(struct actor *a)
{
	return pick(a, chance(a, 2) ? NR_PCP_ORDERS : NR_PAGE_ORDERS);
}

static void do_alloc(struct actor *a)
{
	const unsigned int order = some_order(a);
	struct page *page = alloc_block(a, order, some_gfp(a));

	if (page)
		use(a, page, order);
}

/* Around what is wanted clear others allocate, and the same task does. */
static struct folio *alloc_wanted(struct actor *a, unsigned int order, bool *other)
{
	struct page *page;

	if (chance(a, 4))
		alloc_block(a, 0, 0);
	page = alloc_block(a, order, some_gfp(a));
	if (chance(a, 4)) {
		current->interrupted = true;
		do_alloc(a);
		current->interrupted = false;
	}
	*other = chance(a, 4) && alloc_block(a, 0, __GFP_ZERO);
	return (struct folio *)page;
}

static void do_alloc_wanted(struct actor *a)
{
	const unsigned int order = some_order(a);
	struct folio *folio;
	bool clear, other;

	folio = prezero_alloc(&clear, alloc_wanted(a, order, &other));
	if (current->prezero_want)
		fail("a task still wants clear memory");
	if (clear && (!folio || other))
		fail("a task is told of memory that it has not got");
	if (!folio)
		return;
	if (clear && !is_zero(&folio->page, order))
		fail("a task is told that pfn %lu order %u is clear",
		     page_to_pfn(&folio->page), order);
	use(a, &folio->page, order);
}

static void do_free(struct actor *a)
{
	struct block block;
	unsigned long i, pfn;
	int n;

	if (!a->nr_blocks)
		return;
	n = pick(a, a->nr_blocks);
	block = a->blocks[n];
	a->blocks[n] = a->blocks[--a->nr_blocks];

	pfn = page_to_pfn(block.page);
	for (i = 0; i < 1UL << block.order; i++) {
		if (memory[pfn + i] != expected[pfn + i])
			fail("pfn %lu changed while somebody had it", pfn + i);
	}

	/* All of it or, after split_page(), each part by itself. */
	if (chance(a, 2)) {
		free_block(a, block.page, block.order);
		return;
	}
	for (i = 0; i < 1UL << block.order; i++)
		free_block(a, block.page + i, 0);
}

/* As compaction drains the lists of the CPUs. */
static void do_capture(struct actor *a)
{
	struct capture capt = { .order = pick(a, MAX_PAGE_ORDER) };

	capture = &capt;
	drain(a->cpu);
	capture = NULL;
	if (capt.page)
		got_block(a, capt.page, capt.order, some_gfp(a));
}

/* A random block of the free lists, with the zone lock held. */
static struct page *some_free(struct actor *a)
{
	return find_free(pfn_to_page(pick(a, NR_PAGES)));
}

static void do_report(struct actor *a)
{
	struct block *block;
	struct page *page;

	spin_lock(&zone->lock);
	page = some_free(a);
	if (page && a->nr_isolated < (int)ARRAY_SIZE(a->isolated)) {
		block = &a->isolated[a->nr_isolated++];
		*block = (struct block){ page, page->private };
		__isolate_free_page(page, block->order);
		memory[page_to_pfn(page)] = a->random | 1;
	}
	spin_unlock(&zone->lock);
}

static void do_putback(struct actor *a)
{
	struct block block;

	if (!a->nr_isolated)
		return;
	block = a->isolated[--a->nr_isolated];

	spin_lock(&zone->lock);
	if (block.order > pageblock_order)	/* of two types by now */
		split_large_buddy(block.page, block.order);
	else
		__free_one_page(block.page, block.order,
				get_pageblock_migratetype(block.page), true);
	if (block.page->buddy && block.page->private == block.order)
		SetPageReported(block.page);
	spin_unlock(&zone->lock);
}

/* Somebody makes a pageblock his own. */
static void do_claim(struct actor *a)
{
	struct page *page = pfn_to_page(pick(a, NR_PAGES) & ~(pageblock_nr_pages - 1));
	int mt;

	spin_lock(&zone->lock);
	mt = get_pageblock_migratetype(page);
	if (!is_migrate_isolate(mt))
		move_freepages_block_isolate(page, !mt);
	spin_unlock(&zone->lock);
}

/* To be offlined, or allocated as a range; and back again. */
static void do_isolate(struct actor *a)
{
	struct page *page = pfn_to_page(pick(a, NR_PAGES) & ~(pageblock_nr_pages - 1));
	int mt;

	spin_lock(&zone->lock);
	mt = get_pageblock_migratetype(page);
	if (is_migrate_isolate(mt))
		mt = pick(a, MIGRATE_PCPTYPES);
	else
		mt = chance(a, 4) ? MIGRATE_ISOLATE : mt;
	if (mt != get_pageblock_migratetype(page))
		move_freepages_block_isolate(page, mt);
	spin_unlock(&zone->lock);
}

static void do_begin(struct actor *a, struct job *job)
{
	const unsigned int order = pick(a, NR_PAGE_ORDERS);
	const int mt = pick(a, MIGRATE_PCPTYPES);
	struct list_head *list = &zone->free_area[order].free_list[mt];
	struct page *page;
	long nr_free;

	/* Before that nobody takes anything from a job. */
	if (!prezero_used())
		return;

	spin_lock(&zone->lock);
	nr_free = zone->stat[NR_FREE_PAGES];
	list_for_each_entry(page, list, buddy_list) {
		if (prezero_treated(page))
			continue;
		*job = (struct job){ .page = page, .order = order, .ok = true };
		prezero_job_begin(&job->job, zone, page, order);
		if (page != list_last_entry(list, struct page, buddy_list))
			fail("others will get pfn %lu first", page_to_pfn(page));
		break;
	}
	if (nr_free != zone->stat[NR_FREE_PAGES])
		fail("a job has taken pages");
	spin_unlock(&zone->lock);
}

static void do_end(struct actor *a, struct job *job)
{
	const bool complete = job->ok && job->next == 1UL << job->order;
	unsigned long cleared;
	long nr_free;
	bool there;

	spin_lock(&zone->lock);
	nr_free = zone->stat[NR_FREE_PAGES];
	there = find_job(job->page) == &job->job;
	cleared = prezero_job_end(&job->job, zone, complete);
	if (cleared && (!complete || !there || cleared != 1UL << job->order))
		fail("%lu pages were not cleared", cleared);
	if (a->alone && !cleared && complete && there && prezero_is_allowed())
		fail("pages were cleared in vain");
	if (nr_free != zone->stat[NR_FREE_PAGES])
		fail("a job has taken pages");
	spin_unlock(&zone->lock);

	job->page = NULL;
}

static void do_chunk(struct actor *a, struct job *job)
{
	const unsigned long left = (1UL << job->order) - job->next;
	const unsigned long nr = 1 + pick(a, left);
	const bool there = a->alone && page_prezeroing(job->page) &&
			   job->page->buddy;
	unsigned long i;

	job->ok = prezero_job_chunk(&job->job, job->next, nr);
	if (a->alone && job->ok) {
		if (!there)
			fail("pfn %lu was no longer to be cleared",
			     page_to_pfn(job->page));
		for (i = job->next; i < job->next + nr; i++) {
			if (memory[page_to_pfn(job->page) + i])
				fail("a chunk was not cleared");
			if (PageHWPoison(job->page + i))
				fail("bad memory was touched");
		}
	}
	job->next += job->ok ? nr : 0;
}

static void do_job(struct actor *a)
{
	struct job *job = &a->jobs[pick(a, MAX_JOBS)];

	if (!job->page)
		do_begin(a, job);
	else if (!job->ok || job->next == 1UL << job->order || chance(a, 16))
		do_end(a, job);
	else
		do_chunk(a, job);
}

/* Bad memory is marked before it is taken off the lists. */
static void do_poison(struct actor *a)
{
	struct page *page, *head;

	if (a->nr_poisoned == (int)ARRAY_SIZE(a->poisoned))
		return;
	page = pfn_to_page(pick(a, NR_PAGES));
	head = find_free(page);
	if (!head)
		return;

	SetPageHWPoison(page);
	if (page_prezeroing(head))
		do_job(a);
	spin_lock(&zone->lock);
	take_page_off_buddy(page);
	spin_unlock(&zone->lock);
	memory[page_to_pfn(page)] = a->random | 1;
	a->poisoned[a->nr_poisoned++] = page;
}

static void do_unpoison(struct actor *a)
{
	struct page *page;

	if (!a->nr_poisoned)
		return;
	page = a->poisoned[--a->nr_poisoned];
	spin_lock(&zone->lock);
	__free_one_page(page, 0, get_pageblock_migratetype(page), false);
	ClearPageHWPoison(page);
	spin_unlock(&zone->lock);
}

static void do_switch(struct actor *a)
{
	if (forbidding)
		return;
	if (prezero_is_allowed()) {
		forbidding = a->alone ? a : NULL;
		prezero_forbid();
		forbidding = NULL;
		if (zone->stat[NR_PREZEROED] && a->alone)
			fail("memory is clear and must not be");
	} else {
		prezero_allow();
	}
}

static void do_something(struct actor *a)
{
	switch (pick(a, 32)) {
	case 0 ... 5:
		do_alloc(a);
		break;
	case 6 ... 8:
		do_alloc_wanted(a);
		break;
	case 9 ... 17:
		do_free(a);
		break;
	case 18:
		if (chance(a, 2))
			do_capture(a);
		else
			drain(pick(a, NR_PCPS));
		break;
	case 19:
		if (chance(a, 4))
			do_report(a);
		else
			do_putback(a);
		break;
	case 20:
		if (chance(a, 2))
			do_isolate(a);
		else
			do_claim(a);
		break;
	case 21:
		if (a->alone && chance(a, 4))
			do_poison(a);
		else if (a->alone)
			do_unpoison(a);
		break;
	case 22:
		if (a->alone && chance(a, prezero_is_allowed() ? 16 : 2))
			do_switch(a);
		break;
	default:
		do_job(a);
	}
}

/* Gives back all that it has. */
static void finish(struct actor *a)
{
	int i;

	while (a->nr_blocks)
		do_free(a);
	while (a->nr_isolated)
		do_putback(a);
	while (a->nr_poisoned)
		do_unpoison(a);
	for (i = 0; i < MAX_JOBS; i++) {
		if (a->jobs[i].page)
			do_end(a, &a->jobs[i]);
	}
}

static struct actor *new_actor(unsigned int n, bool alone)
{
	struct actor *a = calloc(1, sizeof(*a));

	if (!a)
		fail("no memory");
	a->random = (seed * 8 + n + 1) * 0x9e3779b97f4a7c15ULL;
	a->alone = alone;
	a->cpu = n % NR_PCPS;
	return a;
}

static void setup(void)
{
	unsigned int order, cpu;
	unsigned long pfn;
	int mt;

	prezero_key.enabled = false;
	prezero_allowed = false;
	memset(&the_node, 0, sizeof(the_node));
	memset(&the_zone, 0, sizeof(the_zone));
	memset(mem_map, 0, sizeof(mem_map));
	wanted = 0;

	spin_lock_init(&zone->lock);
	zone->zone_pgdat = &the_node;
	INIT_LIST_HEAD(&zone->prezero_jobs);
	for (order = 0; order < NR_PAGE_ORDERS; order++) {
		for (mt = 0; mt < MIGRATE_TYPES; mt++)
			INIT_LIST_HEAD(&zone->free_area[order].free_list[mt]);
	}
	for (cpu = 0; cpu < NR_PCPS; cpu++) {
		spin_lock_init(&pcps[cpu].lock);
		for (order = 0; order < NR_PCP_ORDERS; order++) {
			for (mt = 0; mt < MIGRATE_PCPTYPES; mt++)
				INIT_LIST_HEAD(&pcps[cpu].lists[order][mt]);
		}
	}

	for (pfn = 0; pfn < NR_PAGES; pfn++) {
		memory[pfn] = ~0ULL;
		set_pageblock_migratetype(pfn_to_page(pfn), MIGRATE_MOVABLE);
	}
	for (pfn = 0; pfn < NR_PAGES; pfn += 1UL << MAX_PAGE_ORDER)
		free_one_page(pfn_to_page(pfn), MAX_PAGE_ORDER);
}

/* Everything has been given back. Returns how much served somebody. */
static long teardown(void)
{
	unsigned int cpu;
	long nr_free = 0;
	unsigned int order;

	for (cpu = 0; cpu < NR_PCPS; cpu++)
		drain(cpu);
	check_all(true);
	if (!list_empty(&zone->prezero_jobs))
		fail("a job is left");
	for (order = 0; order < NR_PAGE_ORDERS; order++)
		nr_free += zone->free_area[order].nr_free << order;
	if (nr_free != NR_PAGES)
		fail("%lu pages are gone", NR_PAGES - nr_free);
	prezero_forbid();
	check_all(true);

	return the_node.stat[PREZERO_HIT];
}

static long test_alone(void)
{
	struct actor *a = new_actor(0, true);

	setup();
	for (step = 0; step < STEPS; step++) {
		do_something(a);
		check_all(true);
	}
	finish(a);
	free(a);

	return teardown();
}

static void *allocating_thread(void *data)
{
	struct actor *a = data;
	int i;

	for (i = 0; i < THREAD_STEPS; i++)
		do_something(a);
	finish(a);

	return NULL;
}

static void *clearing_thread(void *data)
{
	struct actor *a = data;
	int i;

	for (i = 0; i < THREAD_STEPS; i++)
		do_job(a);
	finish(a);

	return NULL;
}

static long test_threads(void)
{
	void *(*const run[])(void *) = {
		allocating_thread, allocating_thread,
		clearing_thread, clearing_thread,
	};
	pthread_t threads[ARRAY_SIZE(run)];
	struct actor *actors[ARRAY_SIZE(run)];
	unsigned int i;

	setup();
	prezero_allow();
	for (i = 0; i < ARRAY_SIZE(run); i++) {
		actors[i] = new_actor(i, false);
		if (pthread_create(&threads[i], NULL, run[i], actors[i]))
			fail("no thread");
	}
	for (i = 0; i < 100; i++) {
		check_all(false);
		if (!(i % 16)) {
			prezero_forbid();
			prezero_allow();
		}
	}
	for (i = 0; i < ARRAY_SIZE(run); i++) {
		pthread_join(threads[i], NULL);
		free(actors[i]);
	}

	return teardown();
}

int main(int argc, char **argv)
{
	unsigned long first = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;
	unsigned long nr = argc > 2 ? strtoul(argv[2], NULL, 0) : 100;
	long alone = 0, threads = 0;

	printf("prezero: seeds %lu to %lu\n", first, first + nr - 1);
	for (seed = first; seed < first + nr; seed++) {
		alone += test_alone();
		threads += test_threads();
	}
	if (nr && (!alone || !threads)) {
		fprintf(stderr, "prezero: nothing was ever handed out clear\n");
		return 1;
	}
	printf("prezero: ok, handed out clear: %ld pages alone, %ld with threads\n",
	       alone, threads);

	return 0;
}
