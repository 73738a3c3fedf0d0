/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_PAGE_FLAGS_H
#define _LINUX_PAGE_FLAGS_H

#include <linux/bitops.h>
#include <linux/bits.h>
#include <linux/mm_types.h>

enum pageflags {
	PG_hwpoison,
	PG_reported,
	PG_owner_priv_1,
	PG_owner_2,

	PG_prezeroed = PG_owner_2,
	PG_prezeroing = PG_owner_priv_1,
};

#define __PG_HWPOISON	BIT(PG_hwpoison)

static inline unsigned long page_flags(const struct page *page)
{
	return __atomic_load_n(&page->flags, __ATOMIC_RELAXED);
}

static inline void set_page_flags(struct page *page, unsigned long flags)
{
	__atomic_store_n(&page->flags, flags, __ATOMIC_RELAXED);
}

static inline bool PageHWPoison(const struct page *page)
{
	return test_bit(PG_hwpoison, &page->flags);
}

static inline void SetPageHWPoison(struct page *page)
{
	set_bit(PG_hwpoison, &page->flags);
}

static inline void ClearPageHWPoison(struct page *page)
{
	clear_bit(PG_hwpoison, &page->flags);
}

static inline bool PageReported(const struct page *page)
{
	return test_bit(PG_reported, &page->flags);
}

static inline void SetPageReported(struct page *page)
{
	set_bit(PG_reported, &page->flags);
}

static inline void ClearPageReported(struct page *page)
{
	clear_bit(PG_reported, &page->flags);
}

#endif /* _LINUX_PAGE_FLAGS_H */
