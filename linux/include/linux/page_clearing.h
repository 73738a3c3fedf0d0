/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_PAGE_CLEARING_H
#define _LINUX_PAGE_CLEARING_H

#include <linux/types.h>

/*
 * Memory that was stored to around the caches, and that another CPU may
 * therefore see too late. What clears it takes such a pointer and no other, and
 * nothing else takes it: sparse complains about memory that is used or handed
 * on before it has been made coherent.
 */
#ifdef __CHECKER__
# define __incoherent	__attribute__((noderef, address_space(__incoherent)))
#else
# define __incoherent
#endif

#ifdef CONFIG_ARCH_HAS_CLEAR_PAGES_NON_CACHING
/**
 * clear_page_prefer_non_caching() - Are clears of this size better not cached?
 * @extent: How much is about to be cleared, in bytes: the size of a folio, or
 *	    that of the whole request which the folio is a part of.
 *
 * Clearing more than the last-level cache holds leaves nothing useful in it, and
 * takes from everybody what was there. The answer is for the CPU that asks; it
 * may change at any time, so ask once for each thing to be cleared.
 *
 * Context: Any.
 * Return: true if clear_pages_non_caching() is there and worth its fence.
 */
bool clear_page_prefer_non_caching(unsigned long extent);

/* How clear_pages_non_caching() does it, in one word, for people. */
const char *clear_pages_non_caching_method(void);
#else
static inline bool clear_page_prefer_non_caching(unsigned long extent)
{
	return false;
}

static inline const char *clear_pages_non_caching_method(void)
{
	return "none";
}
#endif

/**
 * clear_pages_non_caching() - Clear contiguous pages around the caches.
 * @addr: Kernel address of the first one, on a page boundary.
 * @npages: How many base pages, at least one, contiguous in kernel virtual
 *	    memory. The length in bytes may exceed 32 bits.
 *
 * The stores are weakly ordered: neither a later ordinary store nor smp_wmb()
 * keeps others from finding the pages before they are clear. After the last of
 * any number of calls execute wmb().
 *
 * Only architectures with CONFIG_ARCH_HAS_CLEAR_PAGES_NON_CACHING define it. For
 * the others a call that the compiler cannot see to be dead does not link: a
 * fallback would be a cached clear that passes for another kind.
 *
 * Context: Any. There is no rescheduling point inside.
 */
void clear_pages_non_caching(void __incoherent *addr, unsigned long npages);

int page_clearing_parse_size(const char *str, unsigned long *bytes);

#endif /* _LINUX_PAGE_CLEARING_H */
