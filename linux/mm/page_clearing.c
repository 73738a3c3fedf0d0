// SPDX-License-Identifier: GPL-2.0
/*
 * What all kinds of page clearing share, and all architectures.
 */
#include <linux/ctype.h>
#include <linux/kstrtox.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/page_clearing.h>
#include <linux/string.h>
#include <linux/vmstat.h>

#include <kunit/static_stub.h>
#include <kunit/visibility.h>

#include <asm/barrier.h>

#include "internal.h"
#include "page_clearing.h"

#define CREATE_TRACE_POINTS
#include <trace/events/page_clearing.h>

/**
 * page_clearing_parse_size() - Read a number of bytes.
 * @str: Decimal digits and maybe one of the suffixes K, M, G, T, P or E, which
 *	 stand for powers of 1024. A newline at the end is ignored.
 * @bytes: The result. Not touched on error.
 *
 * Unlike memparse() it takes all of @str or nothing, and sees an overflow.
 *
 * Context: Any.
 * Return: 0, or -EINVAL.
 */
int page_clearing_parse_size(const char *str, unsigned long *bytes)
{
	static const char suffixes[] = "KMGTPE";
	size_t len = strlen(str);
	unsigned int shift = 0;
	unsigned long value;
	const char *suffix;
	char digits[24];

	if (len && str[len - 1] == '\n')
		len--;
	if (!len || len >= sizeof(digits))
		return -EINVAL;

	suffix = strchr(suffixes, toupper(str[len - 1]));
	if (suffix) {
		shift = 10 * (suffix - suffixes + 1);
		len--;
	}

	/* kstrtoul() would take a sign before them, and a newline after them. */
	if (strspn(str, "0123456789") != len)
		return -EINVAL;

	memcpy(digits, str, len);
	digits[len] = '\0';
	if (kstrtoul(digits, 10, &value) ||
	    check_shl_overflow(value, shift, &value))
		return -EINVAL;

	*bytes = value;
	return 0;
}

#ifdef CONFIG_ARCH_HAS_CLEAR_PAGES_NON_CACHING
/*
 * These two enclose all that is cleared around the caches. What the first one
 * returns is good for nothing but clearing and the second one; sparse sees what
 * begins and does not end.
 */
static struct folio __incoherent *folio_make_incoherent(struct folio *folio)
	__acquires(incoherent_stores)
{
	__acquire(incoherent_stores);
	return (struct folio __incoherent __force *)folio;
}

static void folio_make_coherent(struct folio __incoherent *folio)
	__releases(incoherent_stores)
{
	/*
	 * The only barrier between weakly ordered stores and whatever makes the
	 * folio visible, be it a page table entry or the page cache. smp_wmb()
	 * would order nothing here.
	 *
	 * The task may have moved meanwhile, and this be another CPU than the
	 * one that stored. What the old one had on the way has left it by then:
	 * switching tasks takes locked instructions, and these wait for it.
	 */
	wmb();
	__release(incoherent_stores);
}

VISIBLE_IF_KUNIT void
clear_folio_pages_non_caching(struct folio __incoherent *folio,
			      unsigned long start, unsigned long nr)
{
	struct page *page;

	KUNIT_STATIC_STUB_REDIRECT(clear_folio_pages_non_caching, folio, start, nr);

	page = folio_page((struct folio __force *)folio, start);
	clear_pages_non_caching((void __incoherent __force *)page_address(page), nr);
	count_vm_events(CLEAR_PAGES_NON_CACHING, nr);
}

/**
 * clear_folio_non_caching() - Clear parts of a folio around the caches.
 * @folio: The folio, not yet visible to anybody else.
 * @ranges: Which parts of it, in the order of work.
 * @n: How many these are, at least one.
 *
 * They are coherent when this returns: to be ordered by smp_wmb(), like pages
 * that were cleared with ordinary stores.
 *
 * Context: May sleep.
 */
void clear_folio_non_caching(struct folio *folio,
			     const struct folio_range *ranges, unsigned int n)
{
	struct folio __incoherent *incoherent = folio_make_incoherent(folio);
	unsigned long i, nr;
	unsigned int r;

	for (r = 0; r < n; r++) {
		for (i = ranges[r].start; (nr = clear_batch(&ranges[r], i)); i += nr)
			clear_folio_pages_non_caching(incoherent, i, nr);
	}

	folio_make_coherent(incoherent);
}

/**
 * clear_free_pages_non_caching() - Clear pages that nobody uses.
 * @page: The first one, in lowmem.
 * @nr: How many base pages, at least one, of one free block or free huge page.
 *
 * They are coherent when this returns. Not counted as cleared for user space.
 *
 * Context: Any. There is no rescheduling point inside. The caller sees to it
 * that they remain free.
 */
void clear_free_pages_non_caching(struct page *page, unsigned long nr)
{
	struct folio __incoherent *incoherent = folio_make_incoherent(page_folio(page));
	void *addr = page_address(page);

	clear_pages_non_caching((void __incoherent __force *)addr, nr);
	folio_make_coherent(incoherent);
}
#endif
