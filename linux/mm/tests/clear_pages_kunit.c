// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for clear_page(), clear_pages() and clear_user_highpages().
 *
 * Every page gets a byte of its own before it is cleared, those on either side
 * of the run too: a page left out, a page too many and the wrong page all show.
 */
#include <kunit/test.h>
#include <linux/highmem.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/page_clearing.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

/* Pages on each side of a run that must stay as they are. */
#define GUARD_PAGES	2UL

/* User mode Linux calls itself X86_64 too, but has none of its assembly. */
#if defined(CONFIG_X86_64) && !defined(CONFIG_UML)
#define TEST_X86_64
#include <linux/cpufeature.h>
#include <asm/barrier.h>
#endif

static const unsigned long lengths[] = {
	1, 2, 3, 5, 8, 16, 63, 511, 512, 513, 1023, 1025, 2049, 4097, 16384,
};

/* The block that holds such a run and its guards is one of the buddy's. */
static const unsigned long user_lengths[] = {
	1, 2, 3, 5, 8, 16, 63, 255, 256, 257, 511, 512, 513,
};

static void length_desc(const unsigned long *npages, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%lu page%s", *npages,
		 *npages == 1 ? "" : "s");
}

KUNIT_ARRAY_PARAM(length, lengths, length_desc);
KUNIT_ARRAY_PARAM(user_length, user_lengths, length_desc);

/* Never 0, and not what the next page has. */
static u8 page_pattern(unsigned long i)
{
	return 1 + i % 255;
}

KUNIT_DEFINE_ACTION_WRAPPER(kvfree_action, kvfree, const void *);

/* The run begins GUARD_PAGES into what is returned. */
static void *alloc_run(struct kunit *test, unsigned long npages)
{
	const unsigned long total = npages + 2 * GUARD_PAGES;
	unsigned long i;
	void *buf;

	/* Physically contiguous where that can be had, as in real use. */
	buf = kvmalloc(total * PAGE_SIZE, GFP_KERNEL | __GFP_NOWARN);
	if (!buf)
		kunit_skip(test, "no memory for %lu pages", total);
	KUNIT_ASSERT_EQ(test, 0,
			kunit_add_action_or_reset(test, kvfree_action, buf));
	KUNIT_ASSERT_TRUE(test, PAGE_ALIGNED(buf));

	for (i = 0; i < total; i++)
		memset(buf + i * PAGE_SIZE, page_pattern(i), PAGE_SIZE);

	return buf;
}

static void free_run(struct kunit *test, void *buf)
{
	kunit_release_action(test, kvfree_action, buf);
}

/* Is page @i of a block with a run of @npages between its guards as it ought? */
static bool check_page(struct kunit *test, const char *what, void *addr,
		       unsigned long i, unsigned long npages)
{
	const bool cleared = i >= GUARD_PAGES && i < GUARD_PAGES + npages;
	void *bad = memchr_inv(addr, cleared ? 0 : page_pattern(i), PAGE_SIZE);

	if (!bad)
		return true;

	KUNIT_FAIL(test, "%s, %lu pages: page %ld %s at offset %ld (saw 0x%02x)\n",
		   what, npages, (long)(i - GUARD_PAGES),
		   cleared ? "not cleared" : "outside the run, changed",
		   (long)(bad - addr), *(u8 *)bad);
	return false;
}

static void check_run(struct kunit *test, const char *what, void *buf,
		      unsigned long npages)
{
	unsigned long i;

	for (i = 0; i < npages + 2 * GUARD_PAGES; i++) {
		/* One message says enough, there may be thousands of pages. */
		if (!check_page(test, what, buf + i * PAGE_SIZE, i, npages))
			return;
	}
}

static void clear_page_test(struct kunit *test)
{
	void *buf = alloc_run(test, 1);

	clear_page(buf + GUARD_PAGES * PAGE_SIZE);
	check_run(test, "clear_page", buf, 1);
}

static void clear_pages_test(struct kunit *test)
{
	const unsigned long npages = *(const unsigned long *)test->param_value;
	void *buf = alloc_run(test, npages);

	clear_pages(buf + GUARD_PAGES * PAGE_SIZE, npages);
	check_run(test, "clear_pages", buf, npages);
}

struct user_run {
	struct page *page;
	unsigned int order;
};

static void free_user_run(void *data)
{
	struct user_run *run = data;

	__free_pages(run->page, run->order);
}

static void alloc_user_run(struct kunit *test, struct user_run *run,
			   unsigned long npages)
{
	const unsigned long total = npages + 2 * GUARD_PAGES;
	unsigned long i;
	void *addr;

	run->order = get_order(total * PAGE_SIZE);
	if (run->order > MAX_PAGE_ORDER)
		kunit_skip(test, "no folio has %lu pages", total);
	/* One folio, in highmem if there is any. */
	run->page = alloc_pages(GFP_HIGHUSER | __GFP_COMP | __GFP_NOWARN,
				run->order);
	if (!run->page)
		kunit_skip(test, "no block of order %u", run->order);
	KUNIT_ASSERT_EQ(test, 0,
			kunit_add_action_or_reset(test, free_user_run, run));

	for (i = 0; i < total; i++) {
		addr = kmap_local_page(nth_page(run->page, i));
		memset(addr, page_pattern(i), PAGE_SIZE);
		kunmap_local(addr);
	}
}

static void check_user_run(struct kunit *test, struct user_run *run,
			   unsigned long npages)
{
	unsigned long i;
	void *addr;
	bool ok;

	for (i = 0; i < npages + 2 * GUARD_PAGES; i++) {
		addr = kmap_local_page(nth_page(run->page, i));
		ok = check_page(test, "clear_user_highpages", addr, i, npages);
		kunmap_local(addr);
		if (!ok)
			return;
	}
}

static void clear_user_highpages_test(struct kunit *test)
{
	const unsigned long npages = *(const unsigned long *)test->param_value;
	struct user_run *run = kunit_kzalloc(test, sizeof(*run), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, run);
	alloc_user_run(test, run, npages);

	clear_user_highpages(nth_page(run->page, GUARD_PAGES),
			     GUARD_PAGES * PAGE_SIZE, npages);
	check_user_run(test, run, npages);
}

/*
 * Architectures have made macros of these that evaluate an argument twice,
 * change the variable they are given, or lack the parentheses around it.
 */
static void arguments_test(struct kunit *test)
{
	struct user_run *run = kunit_kzalloc(test, sizeof(*run), GFP_KERNEL);
	unsigned long vaddr, n;
	struct page *page;
	void *buf, *addr;

	KUNIT_ASSERT_NOT_NULL(test, run);

	buf = alloc_run(test, 1);
	addr = buf + GUARD_PAGES * PAGE_SIZE;
	clear_page(addr++);
	KUNIT_EXPECT_PTR_EQ(test, addr, buf + GUARD_PAGES * PAGE_SIZE + 1);
	check_run(test, "clear_page(addr++)", buf, 1);

	buf = alloc_run(test, 3);
	addr = buf;
	n = 1;
	clear_pages(addr + GUARD_PAGES * PAGE_SIZE, n + 2);
	KUNIT_EXPECT_PTR_EQ(test, addr, buf);
	KUNIT_EXPECT_EQ(test, n, 1);
	check_run(test, "clear_pages(addr + x, n + 2)", buf, 3);

	buf = alloc_run(test, 3);
	addr = buf + GUARD_PAGES * PAGE_SIZE;
	n = 3;
	clear_pages(addr++, n++);
	KUNIT_EXPECT_PTR_EQ(test, addr, buf + GUARD_PAGES * PAGE_SIZE + 1);
	KUNIT_EXPECT_EQ(test, n, 4);
	check_run(test, "clear_pages(addr++, n++)", buf, 3);

	buf = alloc_run(test, 3);
	addr = buf + GUARD_PAGES * PAGE_SIZE;
	n = 3;
	clear_pages(addr, n);
	KUNIT_EXPECT_PTR_EQ(test, addr, buf + GUARD_PAGES * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, n, 3);
	check_run(test, "clear_pages(addr, n)", buf, 3);

	alloc_user_run(test, run, 3);
	page = nth_page(run->page, GUARD_PAGES);
	vaddr = GUARD_PAGES * PAGE_SIZE;
	n = 3;
	clear_user_highpages(page++, vaddr++, n++);
	KUNIT_EXPECT_PTR_EQ(test, page, nth_page(run->page, GUARD_PAGES) + 1);
	KUNIT_EXPECT_EQ(test, vaddr, GUARD_PAGES * PAGE_SIZE + 1);
	KUNIT_EXPECT_EQ(test, n, 4);
	check_user_run(test, run, 3);
}

#ifdef TEST_X86_64

/*
 * The alternatives bind clear_pages() to one routine, but all of them are in
 * the image and must work. They are called by name and not through a pointer:
 * assembly that is only ever called directly carries no type for kCFI.
 */
struct routine {
	const char *name;
	enum { CHOSEN, UNROLLED, STOSQ, STOSB, NON_CACHING, MOVNT, CLZERO } nr;
};

static const struct routine routines[] = {
	{ "clear_pages", CHOSEN },
	{ "clear_pages_unrolled", UNROLLED },
	{ "clear_pages_stosq", STOSQ },
	{ "clear_pages_stosb", STOSB },
	{ "clear_pages_non_caching", NON_CACHING },
	{ "clear_pages_movnt", MOVNT },
	{ "clear_pages_clzero", CLZERO },
};

KUNIT_ARRAY_PARAM_DESC(routine, routines, name);

static void call_routine(const struct routine *routine, void *addr,
			 unsigned long npages)
{
	switch (routine->nr) {
	case CHOSEN:
		clear_pages(addr, npages);
		break;
	case UNROLLED:
		clear_pages_unrolled(addr, npages * PAGE_SIZE);
		break;
	case STOSQ:
		clear_pages_stosq(addr, npages * PAGE_SIZE);
		break;
	case STOSB:
		clear_pages_stosb(addr, npages * PAGE_SIZE);
		break;
	case NON_CACHING:
		clear_pages_non_caching((void __incoherent __force *)addr, npages);
		break;
	case MOVNT:
		clear_pages_movnt(addr, npages * PAGE_SIZE);
		break;
	case CLZERO:
		clear_pages_clzero(addr, npages * PAGE_SIZE);
		break;
	}

	/* The last three store weakly ordered. */
	wmb();
}

static void skip_missing(struct kunit *test, const struct routine *routine)
{
	if (routine->nr == CLZERO && !boot_cpu_has(X86_FEATURE_CLZERO))
		kunit_skip(test, "this CPU has no CLZERO");
}

static void routine_test(struct kunit *test)
{
	const struct routine *routine = test->param_value;
	unsigned long i;
	void *buf;

	skip_missing(test, routine);
	for (i = 0; i < ARRAY_SIZE(lengths) && lengths[i] <= 4097; i++) {
		buf = alloc_run(test, lengths[i]);
		call_routine(routine, buf + GUARD_PAGES * PAGE_SIZE,
			     lengths[i]);
		check_run(test, routine->name, buf, lengths[i]);
		free_run(test, buf);
	}
}

/*
 * A length that does not fit in 32 bits, and is one page when cut down to
 * them. No small machine has that much memory, so one page is mapped all over
 * the window; only the last one of the run and the guards are different.
 */
#define WINDOW_RUN	(SZ_4G / PAGE_SIZE + 1)
#define WINDOW_SIZE	((1 + WINDOW_RUN + 1) * PAGE_SIZE)
#define WINDOW_CHUNK	(SZ_2M / PAGE_SIZE)

/*
 * There is no rescheduling point inside: a quarter of what the soft lockup
 * detector allows. Emulated STOSB, for one, is slower.
 */
#define WINDOW_MAX_SECS	5

enum { GUARD_BEFORE, SHARED, LAST, GUARD_AFTER };

struct window {
	struct page *pages;
	struct page *chunk[WINDOW_CHUNK];
	struct vm_struct *area;
};

static void free_window(void *data)
{
	struct window *win = data;

	if (win->area)
		free_vm_area(win->area);
	if (win->pages)
		__free_pages(win->pages, 2);
}

static int map_window(struct window *win)
{
	unsigned long addr = (unsigned long)win->area->addr;
	const unsigned long end = addr + WINDOW_SIZE;
	unsigned long i, n;
	int err;

	err = vm_area_map_pages(win->area, addr, addr + PAGE_SIZE,
				(struct page *[]){ win->pages + GUARD_BEFORE });
	if (err)
		return err;

	for (i = 0; i < WINDOW_CHUNK; i++)
		win->chunk[i] = win->pages + SHARED;
	for (addr += PAGE_SIZE; addr < end - 2 * PAGE_SIZE; addr += n) {
		n = min(WINDOW_CHUNK * PAGE_SIZE, end - 2 * PAGE_SIZE - addr);
		err = vm_area_map_pages(win->area, addr, addr + n, win->chunk);
		if (err)
			return err;
		cond_resched();
	}

	return vm_area_map_pages(win->area, addr, end,
				 (struct page *[]){ win->pages + LAST,
						    win->pages + GUARD_AFTER });
}

static void beyond_4g_test(struct kunit *test)
{
	const struct routine *routine = test->param_value;
	static const char * const names[] = {
		[GUARD_BEFORE] = "page before the run",
		[SHARED] = "pages of the run",
		[LAST] = "last page of the run",
		[GUARD_AFTER] = "page after the run",
	};
	struct window *win = kunit_kzalloc(test, sizeof(*win), GFP_KERNEL);
	unsigned long i, ms;
	void *run, *bad;
	ktime_t start;
	u8 want;

	skip_missing(test, routine);
	if (IS_ENABLED(CONFIG_KASAN) || IS_ENABLED(CONFIG_KMSAN))
		kunit_skip(test, "would need shadow memory for 4 GB");

	KUNIT_ASSERT_NOT_NULL(test, win);
	KUNIT_ASSERT_EQ(test, 0,
			kunit_add_action_or_reset(test, free_window, win));
	win->pages = alloc_pages(GFP_KERNEL, 2);
	KUNIT_ASSERT_NOT_NULL(test, win->pages);
	win->area = get_vm_area(WINDOW_SIZE, VM_SPARSE);
	KUNIT_ASSERT_NOT_NULL(test, win->area);
	KUNIT_ASSERT_EQ(test, 0, map_window(win));
	run = win->area->addr + PAGE_SIZE;

	/* A first look at what the whole would take. */
	start = ktime_get();
	call_routine(routine, run, SZ_64M / PAGE_SIZE);
	ms = ktime_ms_delta(ktime_get(), start) * (SZ_4G / SZ_64M);
	if (ms > WINDOW_MAX_SECS * MSEC_PER_SEC)
		kunit_skip(test, "too slow, 4 GB would take %lu s", ms / 1000);
	cond_resched();

	for (i = GUARD_BEFORE; i <= GUARD_AFTER; i++)
		memset(page_address(win->pages + i), page_pattern(i), PAGE_SIZE);

	start = ktime_get();
	call_routine(routine, run, WINDOW_RUN);
	ms = ktime_ms_delta(ktime_get(), start);
	cond_resched();
	kunit_info(test, "%s: 4 GB in %lu ms\n", routine->name, ms);

	for (i = GUARD_BEFORE; i <= GUARD_AFTER; i++) {
		want = i == SHARED || i == LAST ? 0 : page_pattern(i);
		bad = memchr_inv(page_address(win->pages + i), want, PAGE_SIZE);
		KUNIT_EXPECT_NULL_MSG(test, bad, "%s %s\n", names[i],
				      want ? "changed" : "not cleared");
	}
}

#endif /* TEST_X86_64 */

static struct kunit_case clear_pages_cases[] = {
	KUNIT_CASE(clear_page_test),
	KUNIT_CASE_PARAM(clear_pages_test, length_gen_params),
	KUNIT_CASE_PARAM(clear_user_highpages_test, user_length_gen_params),
	KUNIT_CASE(arguments_test),
#ifdef TEST_X86_64
	KUNIT_CASE_PARAM(routine_test, routine_gen_params),
	KUNIT_CASE_PARAM_ATTR(beyond_4g_test, routine_gen_params,
			      { .speed = KUNIT_SPEED_SLOW }),
#endif
	{}
};

static struct kunit_suite clear_pages_suite = {
	.name = "clear_pages",
	.test_cases = clear_pages_cases,
};

kunit_test_suite(clear_pages_suite);

MODULE_DESCRIPTION("KUnit tests for clearing runs of pages");
MODULE_LICENSE("GPL");
