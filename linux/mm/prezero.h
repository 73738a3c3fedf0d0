/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MM_PREZERO_H
#define _MM_PREZERO_H

#include <linux/bitops.h>
#include <linux/gfp_types.h>
#include <linux/jump_label.h>
#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/mmzone.h>
#include <linux/page-flags.h>
#include <linux/sched.h>

/*
 * Free memory that is known to be clear.
 *
 * The mark, PG_prezeroed on the first page of a block, belongs to the page
 * allocator. It is on blocks in the free lists, on pages in the lists of a CPU,
 * and on a page on its way from there to prep_new_page(), which takes it away.
 * What the allocator gets back is dirty, whoever has had it.
 *
 * All of these are called with the zone lock held unless they say otherwise, and
 * are no more than one instruction that does nothing until somebody has enabled
 * pre-zeroing; but for prezero_alloc(), which is two loads and two stores.
 */

struct page;
struct zone;

#ifdef CONFIG_PREZERO
DECLARE_STATIC_KEY_FALSE(prezero_key);

/* What the first page may have on it that prep_new_page() has yet to see. */
#define PREZERO_PASSING		BIT(PG_prezeroed)

/*
 * What a task may wish that is about to allocate memory which it needs clear, and
 * that can make use of memory which already is. In current->prezero_want, beside
 * the address of the page that it got last if that was clear. This is one word, to
 * be saved by value: something on the stack that the task points to would give
 * each function that allocates a stack protector.
 */
#define PREZERO_WANT		BIT(0)
#define PREZERO_KEEP		BIT(1)	/* for somebody later, who counts */
#define PREZERO_WISHES		(PREZERO_WANT | PREZERO_KEEP)

void __prezero_removed(struct zone *zone, struct page *page, unsigned int order);
void __prezero_drop(struct zone *zone, struct page *page, unsigned int order);
bool __prezero_take(struct zone *zone, struct page *page, unsigned int order,
		    int migratetype);
bool __prezero_merge(struct zone *zone, bool clear, struct page *buddy,
		     unsigned int order);
void __prezero_freed(struct zone *zone, struct page *page, unsigned int order);
void __prezero_split(struct zone *zone, struct page *page, struct page *part,
		     unsigned int order, int migratetype);
void __prezero_moved(struct zone *zone, struct page *page, unsigned int order,
		     int migratetype);
struct page *__prezero_pick(struct page *first, struct list_head *list, bool clear);
bool __prezero_prep(struct page *page, unsigned int order, gfp_t gfp_flags);

static inline bool prezero_used(void)
{
	return static_branch_unlikely(&prezero_key);
}

/*
 * Known to be clear. Only the zone lock, or having the page, lets anybody change
 * this and the next one. They are atomic because memory failure may set a flag
 * of its own at any time.
 */
static inline bool page_prezeroed(const struct page *page)
{
	return test_bit(PG_prezeroed, &page->flags);
}

static inline void page_set_prezeroed(struct page *page)
{
	set_bit(PG_prezeroed, &page->flags);
}

static inline void page_clear_prezeroed(struct page *page)
{
	clear_bit(PG_prezeroed, &page->flags);
}

/* Returns what it was. */
static inline bool page_take_prezeroed(struct page *page)
{
	if (!page_prezeroed(page))
		return false;

	page_clear_prezeroed(page);
	return true;
}

/* Being cleared in a free list. */
static inline bool page_prezeroing(const struct page *page)
{
	return test_bit(PG_prezeroing, &page->flags);
}

static inline void page_set_prezeroing(struct page *page)
{
	set_bit(PG_prezeroing, &page->flags);
}

static inline void page_clear_prezeroing(struct page *page)
{
	clear_bit(PG_prezeroing, &page->flags);
}

/* A block has left the free lists. It keeps its mark. */
static inline void prezero_removed(struct zone *zone, struct page *page,
				   unsigned int order)
{
	if (prezero_used())
		__prezero_removed(zone, page, order);
}

/* And it is not for prep_new_page(): the mark goes. */
static inline void prezero_drop(struct zone *zone, struct page *page,
				unsigned int order)
{
	if (prezero_used())
		__prezero_drop(zone, page, order);
}

/*
 * A page comes to be freed. Nobody has used it if it is clear: it has been in
 * the lists of a CPU only.
 */
static inline bool prezero_take(struct zone *zone, struct page *page,
				unsigned int order, int migratetype)
{
	return prezero_used() && __prezero_take(zone, page, order, migratetype);
}

/* But it goes to prep_new_page() and not to the free lists. */
static inline void prezero_pass(struct page *page, bool clear)
{
	if (prezero_used() && clear)
		page_set_prezeroed(page);
}

/* With a buddy that has left the free lists, or that never was in one. */
static inline bool prezero_merge(struct zone *zone, bool clear,
				 struct page *buddy, unsigned int order)
{
	return prezero_used() && __prezero_merge(zone, clear, buddy, order);
}

/* A block is in the free lists and, if @clear, is known to be. */
static inline void prezero_freed(struct zone *zone, struct page *page,
				 unsigned int order, bool clear)
{
	if (prezero_used() && clear)
		__prezero_freed(zone, page, order);
}

/* @part of what @page was the first page of is in the free lists again. */
static inline void prezero_split(struct zone *zone, struct page *page,
				 struct page *part, unsigned int order,
				 int migratetype)
{
	if (prezero_used())
		__prezero_split(zone, page, part, order, migratetype);
}

/* A block changed lists. */
static inline void prezero_moved(struct zone *zone, struct page *page,
				 unsigned int order, int migratetype)
{
	if (prezero_used())
		__prezero_moved(zone, page, order, migratetype);
}

/*
 * Those who need it clear are served from one end of the list and all others
 * from the other. @first is the first entry, or NULL. Called with the zone lock
 * or that of a CPU's lists.
 */
static inline struct page *prezero_pick(struct page *first,
					struct list_head *list, bool clear)
{
	return prezero_used() && first ? __prezero_pick(first, list, clear) : first;
}

/*
 * What this task wishes, or 0. An interrupt allocates for itself, not for the
 * task that it came upon; and so does reclaim, in the middle of an allocation.
 */
static inline unsigned long prezero_want(void)
{
	return in_task() && !(current->flags & PF_MEMALLOC) ?
	       current->prezero_want : 0;
}

/* Does the caller of the allocator need it clear? No lock needed. */
static inline bool prezero_wanted(gfp_t gfp_flags)
{
	return prezero_used() && (gfp_flags & __GFP_ZERO || prezero_want());
}

/*
 * The mark is taken from a page before anybody else sees it. Returns true if
 * there is nothing to clear. No lock needed, the page is the caller's.
 */
static inline bool prezero_prep(struct page *page, unsigned int order,
				gfp_t gfp_flags)
{
	return prezero_used() && __prezero_prep(page, order, gfp_flags);
}

/*
 * See prezero_alloc(). Returns what is to be passed to prezero_want_end(). That
 * knows of one page only, the last: if something else is allocated after it in the
 * same call, as page_owner does at times for what it remembers, then it was a hit
 * and is cleared again.
 */
static inline unsigned long prezero_want_begin(unsigned long want)
{
	const unsigned long outer = current->prezero_want;

	current->prezero_want = want;
	return outer;
}

static inline bool prezero_want_end(unsigned long outer, struct page *page)
{
	const unsigned long want = current->prezero_want;

	current->prezero_want = outer;
	return page && (want & ~PREZERO_WISHES) == (unsigned long)page;
}

/**
 * prezero_alloc() - Allocate a folio that the caller would have to clear.
 * @clear: Where to tell if that has been done already.
 * @alloc: The call that allocates it, without __GFP_ZERO: what clears there does
 *	   not know which part is about to be used.
 *
 * Memory that is known to be clear is preferred where the allocator has the
 * choice, and never waited or searched for.
 *
 * Context: That of @alloc, in a task.
 * Return: What @alloc returns. *@clear is false if that is NULL.
 */
#define prezero_alloc(clear, alloc)					\
	__prezero_alloc(clear, alloc, PREZERO_WANT)

/**
 * prezero_alloc_keep() - Allocate a folio that somebody may have to clear.
 * @clear: Where to tell if that has been done already.
 * @want: False if nobody will, then it is the same as @alloc.
 * @alloc: As for prezero_alloc().
 *
 * For a pool of memory. It counts as hit or miss not now but when the pool
 * serves somebody, which is up to the pool.
 *
 * Context: That of @alloc, in a task.
 * Return: What @alloc returns. *@clear is false if that is NULL.
 */
#define prezero_alloc_keep(clear, want, alloc)				\
	__prezero_alloc(clear, alloc, (want) ? PREZERO_WANT | PREZERO_KEEP : 0)

#define __prezero_alloc(clear, alloc, want)				\
({									\
	const unsigned long __outer = prezero_want_begin(want);		\
	struct folio *__folio = (alloc);				\
									\
	*(clear) = prezero_want_end(__outer, &__folio->page);		\
	__folio;							\
})

/*
 * A block that is being cleared stays where it is, and is anybody's to allocate.
 * Whoever does so, or merges it with its buddy, takes it from the job. That is a
 * matter of one chunk, with the lock of the list held.
 *
 * That goes for blocks of the page allocator and for free pages of hugetlb, each
 * with a list of jobs and a lock of its own: that of the zone, or hugetlb_lock.
 */
struct prezero_job {
	struct list_head list;	/* of jobs, under its lock */
	spinlock_t lock;	/* held while a chunk is being cleared */
	struct page *page;	/* of the block; NULL when it has been taken */
	unsigned int order;
	bool poisoned;		/* in part, and will never be clear */
};

bool prezero_treated(struct page *page);
void prezero_job_begin(struct prezero_job *job, struct zone *zone,
		       struct page *page, unsigned int order);
void prezero_job_init(struct prezero_job *job, struct list_head *jobs,
		      struct page *page, unsigned int order);
void prezero_job_take(struct list_head *jobs, struct page *page);
bool prezero_job_run(struct prezero_job *job);
bool prezero_job_chunk(struct prezero_job *job, unsigned long start,
		       unsigned long nr);
unsigned long prezero_job_end(struct prezero_job *job, struct zone *zone,
			      bool complete);
bool prezero_is_clear(struct page *page, unsigned int order);
int prezero_may_begin(void);
int prezero_interrupted(void);
void prezero_allow(void);
void prezero_forbid(void);
bool prezero_is_allowed(void);

/* For the KUnit test: may memory be known to be clear, whatever is enabled? */
enum prezero_force { PREZERO_AS_ENABLED, PREZERO_ALLOW, PREZERO_FORBID };

void prezero_force(enum prezero_force what);
#else
#define PREZERO_PASSING		0

static inline bool prezero_used(void)
{
	return false;
}

static inline void prezero_removed(struct zone *zone, struct page *page,
				   unsigned int order)
{
}

static inline void prezero_drop(struct zone *zone, struct page *page,
				unsigned int order)
{
}

static inline bool prezero_take(struct zone *zone, struct page *page,
				unsigned int order, int migratetype)
{
	return false;
}

static inline void prezero_pass(struct page *page, bool clear)
{
}

static inline bool prezero_merge(struct zone *zone, bool clear,
				 struct page *buddy, unsigned int order)
{
	return false;
}

static inline void prezero_freed(struct zone *zone, struct page *page,
				 unsigned int order, bool clear)
{
}

static inline void prezero_split(struct zone *zone, struct page *page,
				 struct page *part, unsigned int order,
				 int migratetype)
{
}

static inline void prezero_moved(struct zone *zone, struct page *page,
				 unsigned int order, int migratetype)
{
}

static inline struct page *prezero_pick(struct page *first,
					struct list_head *list, bool clear)
{
	return first;
}

static inline bool prezero_wanted(gfp_t gfp_flags)
{
	return false;
}

static inline bool prezero_prep(struct page *page, unsigned int order,
				gfp_t gfp_flags)
{
	return false;
}

#define prezero_alloc(clear, alloc)	({ *(clear) = false; (alloc); })
#define prezero_alloc_keep(clear, want, alloc)				\
	({ (void)(want); prezero_alloc(clear, alloc); })
#endif /* CONFIG_PREZERO */

#endif /* _MM_PREZERO_H */
