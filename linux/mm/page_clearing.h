/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MM_PAGE_CLEARING_H
#define _MM_PAGE_CLEARING_H

#include <linux/cacheinfo.h>
#include <linux/highmem.h>
#include <linux/minmax.h>
#include <linux/mm_types.h>
#include <linux/page_clearing.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <trace/events/page_clearing.h>

struct folio_range {
	unsigned long start;	/* index of the first page in the folio */
	unsigned long nr;	/* pages, never 0 */
};

/*
 * How many pages of @range to clear from @start on. Under full preemption that
 * is all of them, for the CPU can be taken away in the middle; otherwise a
 * batch. The rescheduling point comes first, so that none follows the last
 * range: somebody else would have the cache before the fault returns to use it.
 */
static inline unsigned long clear_batch(const struct folio_range *range,
					unsigned long start)
{
	const unsigned long left = range->start + range->nr - start;
	unsigned long nr;

	if (!left)
		return 0;

	cond_resched();
	nr = preempt_model_preemptible() ? left : min(left, CLEAR_USER_BATCH);
	trace_clear_batch(nr);
	return nr;
}

/*
 * Clear a folio of a file that nobody has filled. The page that a fault waits for
 * is the one at @index in the file, wherever it is mapped. Where caches alias that
 * is no address to clear through: the caller of read() may be the first to look.
 */
static inline void folio_zero_file(struct folio *folio, pgoff_t index, bool bulk)
{
	long i, n = folio_nr_pages(folio);

	if (IS_ENABLED(CONFIG_TRANSPARENT_HUGEPAGE) &&
	    folio_test_large(folio) && !cpu_dcache_is_aliasing()) {
		folio_zero_user(folio, index << PAGE_SHIFT, bulk);
		return;
	}

	for (i = 0; i < n; i++)
		clear_highpage(folio_page(folio, i));
}

void clear_folio_non_caching(struct folio *folio,
			     const struct folio_range *ranges, unsigned int n);

void clear_free_pages_non_caching(struct page *page, unsigned long nr);

#if IS_ENABLED(CONFIG_KUNIT)
void clear_folio_pages_non_caching(struct folio __incoherent *folio,
				   unsigned long start, unsigned long nr);
#endif

#endif /* _MM_PAGE_CLEARING_H */
