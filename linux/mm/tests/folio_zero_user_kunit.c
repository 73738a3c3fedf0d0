// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for folio_zero_user().
 *
 * How a folio is cut up is seen by stubs in place of clear_folio_pages() and
 * clear_folio_pages_non_caching(): they touch no memory, so that a folio of 1 GB
 * need not exist. That the bytes are zero, and those of the neighbours not, is
 * seen on real folios.
 */
#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/bitmap.h>
#include <linux/gfp.h>
#include <linux/highmem.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/page_clearing.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <linux/topology.h>

#include "../internal.h"
#include "../page_clearing.h"

/* 1 GB of 4 KB pages, what x86-64 has for its largest hugetlb pages. */
#define MAX_TEST_ORDER	18U

/* The faulting page and this many either side are cleared last. */
#define NEIGHBOURS	2UL

/* Pages on each side of a real folio that are looked at. */
#define MAX_GUARD	512UL

/* An address as a fault may give it, not aligned to any large folio. */
#ifdef CONFIG_64BIT
#define USER_ADDR	0x7f1234567000UL
#else
#define USER_ADDR	0x71234000UL
#endif

static const unsigned int orders[] = {
	1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18,
};

static_assert(ARRAY_SIZE(orders) == MAX_TEST_ORDER);

/*
 * The last are one range each, and the very last more than one batch.
 * For others there is no block of four times the size to put them in.
 */
static const unsigned int real_orders[] = {
	1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
};

static void order_desc(const unsigned int *order, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "order %u", *order);
}

KUNIT_ARRAY_PARAM(order, orders, order_desc);
KUNIT_ARRAY_PARAM(real_order, real_orders, order_desc);

/*
 * No folio has such a number of pages today, so no range of one ends in a part
 * of a batch after whole ones. The arithmetic must not depend on that.
 */
static const unsigned long odd_sizes[] = {
	3, 5, 6, 7, 13, 511, 513,
	MAX_ORDER_NR_PAGES - 1,
	MAX_ORDER_NR_PAGES + 1,
	CLEAR_USER_BATCH + 1,
	CLEAR_USER_BATCH * 2 - 1,
	CLEAR_USER_BATCH * 2 + 1,
	CLEAR_USER_BATCH * 7 / 2 + 3,
};

static void size_desc(const unsigned long *nr, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%lu pages", *nr);
}

KUNIT_ARRAY_PARAM(odd_size, odd_sizes, size_desc);

struct hint {
	unsigned long base;	/* where the folio is mapped, or in a file */
	unsigned long page;	/* which page of it is about to be used */
	unsigned long byte;	/* where in that page */
};

#define MAX_HINTS	(3 * 12 * 3)

static unsigned long hint_addr(const struct hint *hint)
{
	return hint->base + hint->page * PAGE_SIZE + hint->byte;
}

/*
 * Everywhere a range can be empty or short, at every alignment. With @few only
 * what differs where the hint is not looked at.
 */
static struct hint *make_hints(struct kunit *test, unsigned int order,
			       unsigned long nr, bool few, unsigned int *count)
{
	const unsigned long size = PAGE_SIZE << order, last = nr - 1;
	const unsigned long bases[] = {
		USER_ADDR / size * size, 0, 3 * size,
	};
	const unsigned long pages[] = {
		nr / 2, 0, last, 1, 2, 3, nr / 2 - 1, nr / 2 + 1,
		last - 3, last - 2, last - 1, last - 4,
	};
	const unsigned long bytes[] = { 1, 0, PAGE_SIZE - 1 };
	struct hint *hints;
	unsigned int b, p, o, i;

	hints = kunit_kcalloc(test, MAX_HINTS, sizeof(*hints), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, hints);

	*count = 0;
	for (b = 0; b < (few ? 1 : ARRAY_SIZE(bases)); b++) {
		for (p = 0; p < (few ? 3 : ARRAY_SIZE(pages)); p++) {
			/* In a small folio they meet, or are not there. */
			for (i = 0; i < p && pages[i] != pages[p]; i++)
				;
			if (i < p || pages[p] > last)
				continue;
			for (o = 0; o < (few ? 1 : ARRAY_SIZE(bytes)); o++)
				hints[(*count)++] = (struct hint){
					.base = bases[b],
					.page = pages[p],
					.byte = bytes[o],
				};
		}
	}

	return hints;
}

/*
 * In which of three ways to clear. What the architecture would prefer on this
 * CPU is not asked, but the clears around the caches are its own.
 */
enum way { CACHED, DEMAND, BULK, NR_WAYS };

static const char * const way_names[NR_WAYS] = {
	[CACHED] = "cached",
	[DEMAND] = "non-caching by size",
	[BULK] = "non-caching in bulk",
};

static enum way way;

static bool stub_prefer_non_caching(struct folio *folio, bool bulk)
{
	return way != CACHED;
}

static void use_way(struct kunit *test, enum way w)
{
	way = w;
	kunit_activate_static_stub(test, folio_prefer_non_caching,
				   stub_prefer_non_caching);
}

static enum way last_way(void)
{
	return IS_ENABLED(CONFIG_ARCH_HAS_CLEAR_PAGES_NON_CACHING) ? BULK : CACHED;
}

/* Past the end of even a block, see below: do not try that on real memory. */
static bool wild;

/* In the order of work. A folio that is one range is all RIGHT. */
enum place { RIGHT, LEFT, NEAR, NR_PLACES };

struct recorder {
	struct kunit *test;
	struct folio *folio;
	unsigned int order;
	unsigned long nr;		/* pages in the folio */
	unsigned long *seen;		/* a bit for each of them */
	const struct hint *hint;
	bool failed;			/* once for each hint is enough */

	unsigned long calls[NR_PLACES];
	unsigned long longest;
	enum place place;		/* of the call before */
	unsigned long next;		/* where that one ended */

	bool ask_resched;
	bool asked;
	bool ignored;
};

static __printf(2, 3) void complain(struct recorder *rec, const char *fmt, ...)
{
	const struct hint *hint = rec->hint;
	struct va_format vaf;
	va_list args;

	if (rec->failed)
		return;
	rec->failed = true;

	va_start(args, fmt);
	vaf.fmt = fmt;
	vaf.va = &args;
	KUNIT_FAIL(rec->test,
		   "%s, order %u, %lu pages, hint %#lx (page %lu + %lu): %pV\n",
		   way_names[way], rec->order, rec->nr, hint_addr(hint),
		   hint->page, hint->byte, &vaf);
	va_end(args);
}

/* Then its neighbourhood is nothing special. */
static bool one_range(struct recorder *rec)
{
	return way == BULK || (way == CACHED && rec->nr > MAX_ORDER_NR_PAGES);
}

static enum place place_of(struct recorder *rec, unsigned long page)
{
	if (one_range(rec) || page > rec->hint->page + NEIGHBOURS)
		return RIGHT;

	return page + NEIGHBOURS < rec->hint->page ? LEFT : NEAR;
}

static unsigned long place_pages(struct recorder *rec, enum place place)
{
	unsigned long page, n = 0;

	if (one_range(rec))
		return place == RIGHT ? rec->nr : 0;

	for (page = 0; page < rec->nr; page++)
		n += place_of(rec, page) == place;

	return n;
}

/*
 * Wants the CPU for somebody else. There is nobody else, so the only trace of
 * a rescheduling point is that this is forgotten; without full preemption
 * nothing but such a point forgets it.
 */
static void ask_for_resched(struct recorder *rec)
{
	set_tsk_need_resched(current);
	set_preempt_need_resched();
	rec->asked = true;
}

static void check_resched(struct recorder *rec)
{
	if (rec->asked && need_resched())
		rec->ignored = true;
	rec->asked = false;
}

static void record_pages(struct recorder *rec, struct folio *folio,
			 unsigned long start, unsigned long nr, bool cached)
{
	enum place place;

	if (rec->ask_resched)
		check_resched(rec);

	if (folio != rec->folio)
		complain(rec, "another folio");

	if (!nr) {
		complain(rec, "empty range at page %lu", start);
		return;
	}
	if (start >= rec->nr || nr > rec->nr - start) {
		complain(rec, "pages %lu+%lu reach past the end", start, nr);
		if (start > rec->nr || nr > 2 * rec->nr) {
			/* It may be a very long time until this ends. */
			wild = true;
			kunit_try_catch_throw(&rec->test->try_catch);
		}
		return;
	}

	if (find_next_bit(rec->seen, start + nr, start) < start + nr)
		complain(rec, "pages %lu+%lu cleared twice", start, nr);
	bitmap_set(rec->seen, start, nr);

	place = place_of(rec, start);
	if (cached != (way == CACHED || place == NEAR))
		complain(rec, "pages %lu+%lu %s the cache", start, nr,
			 cached ? "brought into" : "kept out of");
	if (place != place_of(rec, start + nr - 1))
		complain(rec, "pages %lu+%lu in and out of the neighbourhood",
			 start, nr);
	if (place < rec->place)
		complain(rec, "pages %lu+%lu too late, a later range was begun",
			 start, nr);
	if (place == rec->place && rec->calls[place] && start != rec->next)
		complain(rec, "pages %lu+%lu do not follow page %lu",
			 start, nr, rec->next - 1);

	rec->place = place;
	rec->next = start + nr;
	rec->calls[place]++;
	rec->longest = max(rec->longest, nr);

	if (rec->ask_resched)
		ask_for_resched(rec);
}

static void record_clear_folio_pages(struct folio *folio, unsigned long addr,
				     unsigned long start, unsigned long nr)
{
	struct recorder *rec = kunit_get_current_test()->priv;

	if (addr != rec->hint->base)
		complain(rec, "base address %#lx", addr);
	record_pages(rec, folio, start, nr, true);
}

#ifdef CONFIG_ARCH_HAS_CLEAR_PAGES_NON_CACHING
static void
record_clear_folio_pages_non_caching(struct folio __incoherent *folio,
				     unsigned long start, unsigned long nr)
{
	struct recorder *rec = kunit_get_current_test()->priv;

	record_pages(rec, (struct folio __force *)folio, start, nr, false);
}
#endif

static void record_hint(struct recorder *rec, const struct hint *hint)
{
	unsigned long hole;

	rec->hint = hint;
	rec->failed = false;
	rec->place = RIGHT;
	rec->next = 0;
	rec->longest = 0;
	rec->asked = false;
	rec->ignored = false;
	memset(rec->calls, 0, sizeof(rec->calls));
	bitmap_zero(rec->seen, rec->nr);

	if (rec->ask_resched)
		ask_for_resched(rec);

	folio_zero_user(rec->folio, hint_addr(hint), way == BULK);

	/* It would hand the cache to somebody else before the fault ends. */
	if (rec->asked && !need_resched())
		complain(rec, "a rescheduling point after the last call");
	hole = find_first_zero_bit(rec->seen, rec->nr);
	if (hole < rec->nr)
		complain(rec, "page %lu not cleared", hole);
	cond_resched();
}

/* One call for each range that is not empty, or as few as batches allow. */
static void check_calls(struct recorder *rec, unsigned long batch)
{
	unsigned long want;
	enum place place;

	if (rec->longest > batch)
		complain(rec, "%lu pages in one call, more than %lu",
			 rec->longest, batch);
	for (place = RIGHT; place < NR_PLACES; place++) {
		want = DIV_ROUND_UP(place_pages(rec, place), batch);
		if (rec->calls[place] != want)
			complain(rec, "range %d in %lu calls instead of %lu",
				 place, rec->calls[place], want);
	}
}

/*
 * The timer may ask for the CPU too, and just before the stub looks: believe
 * it when it happens again and again.
 */
static void check_rescheduled(struct recorder *rec, const struct hint *hint)
{
	unsigned int tries;

	for (tries = 0; rec->ignored && tries < 5; tries++)
		record_hint(rec, hint);
	if (rec->ignored)
		complain(rec, "no rescheduling point before a call");
}

/* Of a folio only as much as tells its size: none of its pages exist. */
static struct recorder *fake_folio(struct kunit *test, unsigned int order,
				   unsigned long nr, enum way w)
{
	struct recorder *rec = kunit_kzalloc(test, sizeof(*rec), GFP_KERNEL);
	struct folio *folio = kunit_kzalloc(test, sizeof(*folio), GFP_KERNEL);

	/* The hints are up to four folios above 0. */
	if (order + PAGE_SHIFT > BITS_PER_LONG - 2)
		kunit_skip(test, "too large for the address space");

	KUNIT_ASSERT_NOT_NULL(test, rec);
	KUNIT_ASSERT_NOT_NULL(test, folio);

	__folio_set_head(folio);
	folio_set_order(folio, order);
#ifdef CONFIG_64BIT
	folio->_folio_nr_pages = nr;
#endif

	rec->test = test;
	rec->folio = folio;
	rec->order = order;
	rec->nr = nr;
	rec->seen = kunit_kcalloc(test, BITS_TO_LONGS(nr), sizeof(long),
				  GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, rec->seen);

	test->priv = rec;
	use_way(test, w);
	kunit_activate_static_stub(test, clear_folio_pages,
				   record_clear_folio_pages);
#ifdef CONFIG_ARCH_HAS_CLEAR_PAGES_NON_CACHING
	kunit_activate_static_stub(test, clear_folio_pages_non_caching,
				   record_clear_folio_pages_non_caching);
#endif

	return rec;
}

/* Where each page is a call of its own a million of them takes its time. */
static bool few_hints(unsigned int order)
{
	return CLEAR_USER_BATCH == 1 && order > MAX_PAGE_ORDER;
}

/* Whatever the preemption model: every page once, in the right order. */
static void ranges_test(struct kunit *test)
{
	const unsigned int order = *(const unsigned int *)test->param_value;
	struct recorder *rec = fake_folio(test, order, 1UL << order, CACHED);
	unsigned int i, count;
	struct hint *hints;

	KUNIT_ASSERT_EQ(test, folio_size(rec->folio), PAGE_SIZE << order);
	KUNIT_ASSERT_EQ(test, folio_nr_pages(rec->folio), 1UL << order);

	hints = make_hints(test, order, rec->nr, few_hints(order), &count);
	for (i = 0; i < count; i++)
		record_hint(rec, &hints[i]);
}

static void batches_test(struct kunit *test)
{
	const unsigned int order = *(const unsigned int *)test->param_value;
	unsigned int i, count;
	struct recorder *rec;
	struct hint *hints;

	if (preempt_model_preemptible())
		kunit_skip(test, "full preemption: ranges are not cut");

	if (CLEAR_USER_BATCH != 1)
		KUNIT_EXPECT_LE(test, CLEAR_USER_BATCH * PAGE_SIZE, SZ_8M);

	rec = fake_folio(test, order, 1UL << order, CACHED);
	rec->ask_resched = true;
	hints = make_hints(test, order, rec->nr, few_hints(order), &count);
	for (i = 0; i < count; i++) {
		record_hint(rec, &hints[i]);
		check_calls(rec, CLEAR_USER_BATCH);
		check_rescheduled(rec, &hints[i]);
	}
}

static void whole_ranges_test(struct kunit *test)
{
	const unsigned int order = *(const unsigned int *)test->param_value;
	unsigned int i, count;
	struct recorder *rec;
	struct hint *hints;

	if (!preempt_model_preemptible())
		kunit_skip(test, "no full preemption: ranges are cut");

	rec = fake_folio(test, order, 1UL << order, CACHED);
	hints = make_hints(test, order, rec->nr, false, &count);
	for (i = 0; i < count; i++) {
		record_hint(rec, &hints[i]);
		check_calls(rec, rec->nr);
	}
}

static void odd_sizes_test(struct kunit *test)
{
	const unsigned long nr = *(const unsigned long *)test->param_value;
	const bool preemptible = preempt_model_preemptible();
	unsigned int i, count, order;
	struct recorder *rec;
	struct hint *hints;

	if (!IS_ENABLED(CONFIG_64BIT))
		kunit_skip(test, "the number of pages comes from the order");
	if (nr < 2)
		kunit_skip(test, "not a large folio");

	order = order_base_2(nr);
	rec = fake_folio(test, order, nr, CACHED);
	rec->ask_resched = !preemptible;
	hints = make_hints(test, order, nr, few_hints(order), &count);
	for (i = 0; i < count; i++) {
		record_hint(rec, &hints[i]);
		check_calls(rec, preemptible ? nr : CLEAR_USER_BATCH);
		check_rescheduled(rec, &hints[i]);
	}
}

/* All but the neighbourhood goes around the caches, or really all of it. */
static void non_caching_test(struct kunit *test)
{
	const unsigned int order = *(const unsigned int *)test->param_value;
	const bool preemptible = preempt_model_preemptible();
	unsigned int i, count;
	struct recorder *rec;
	struct hint *hints;
	enum way w;

	if (!IS_ENABLED(CONFIG_ARCH_HAS_CLEAR_PAGES_NON_CACHING))
		kunit_skip(test, "no such clears on this architecture");

	rec = fake_folio(test, order, 1UL << order, DEMAND);
	rec->ask_resched = !preemptible;
	hints = make_hints(test, order, rec->nr, false, &count);
	for (w = DEMAND; w < NR_WAYS; w++) {
		way = w;
		for (i = 0; i < count; i++) {
			record_hint(rec, &hints[i]);
			check_calls(rec, preemptible ? rec->nr : CLEAR_USER_BATCH);
			check_rescheduled(rec, &hints[i]);
		}
	}
}

/* Four times the folio: a guard, the folio, and two more guards. */
struct block {
	struct page *page;
	struct folio *folio;
	unsigned int order;
	unsigned long nr;	/* pages in the folio */
	unsigned long guard;	/* pages looked at on either side of it */
};

static void free_block(void *data)
{
	struct block *block = data;
	unsigned long i;

	folio_put(block->folio);
	for (i = 0; i < 4 * block->nr; i++) {
		if (i < block->nr || i >= 2 * block->nr)
			__free_page(nth_page(block->page, i));
	}
}

static struct page *alloc_block_pages(unsigned int order)
{
	struct page *page = NULL;

	if (order <= MAX_PAGE_ORDER) {
		page = alloc_pages(GFP_KERNEL | __GFP_NOWARN, order);
		if (page)
			split_page(page, order);
		return page;
	}

#ifdef CONFIG_CONTIG_ALLOC
	page = alloc_contig_pages(1UL << order, GFP_KERNEL | __GFP_NOWARN,
				  numa_mem_id(), NULL);
#endif
	return page;
}

static struct block *alloc_block(struct kunit *test, unsigned int order)
{
	struct block *block = kunit_kzalloc(test, sizeof(*block), GFP_KERNEL);
	struct page *head;
	unsigned long i;

	KUNIT_ASSERT_NOT_NULL(test, block);

	block->page = alloc_block_pages(order + 2);
	if (!block->page)
		kunit_skip(test, "no %lu MB in one piece",
			   (PAGE_SIZE << (order + 2)) / SZ_1M);

	block->order = order;
	block->nr = 1UL << order;
	block->guard = min(block->nr, MAX_GUARD);
	head = nth_page(block->page, block->nr);
	for (i = 1; i < block->nr; i++)
		set_page_count(nth_page(head, i), 0);
	prep_compound_page(head, order);
	block->folio = page_folio(head);

	KUNIT_ASSERT_EQ(test, 0,
			kunit_add_action_or_reset(test, free_block, block));

	return block;
}

/* Never 0, and not what the next page has. */
static u8 page_pattern(unsigned long i)
{
	return 1 + i % 255;
}

static void fill_pages(struct block *block, unsigned long from, unsigned long to)
{
	unsigned long i;

	for (i = from; i < to; i++)
		memset(page_address(nth_page(block->page, i)), page_pattern(i),
		       PAGE_SIZE);
}

static void check_block(struct kunit *test, struct block *block,
			const struct hint *hint)
{
	const unsigned long first = block->nr, end = 2 * block->nr;
	unsigned long i;
	bool inside;
	void *addr, *bad;

	for (i = first - block->guard; i < end + block->guard; i++) {
		inside = i >= first && i < end;
		addr = page_address(nth_page(block->page, i));
		bad = memchr_inv(addr, inside ? 0 : page_pattern(i), PAGE_SIZE);
		if (!bad)
			continue;
		KUNIT_FAIL(test,
			   "%s, order %u, hint %#lx (page %lu + %lu): page %ld %s at offset %ld (saw 0x%02x)\n",
			   way_names[way], block->order, hint_addr(hint),
			   hint->page, hint->byte, (long)(i - first),
			   inside ? "not cleared" : "outside the folio, changed",
			   (long)(bad - addr), *(u8 *)bad);
		/* What was damaged once need not be reported for all hints. */
		fill_pages(block, first - block->guard, first);
		fill_pages(block, end, end + block->guard);
		return;
	}
}

static void bytes_test(struct kunit *test)
{
	const unsigned int order = *(const unsigned int *)test->param_value;
	unsigned int i, count;
	struct block *block;
	struct hint *hints;
	unsigned long nr;

	if (wild)
		kunit_skip(test, "would write to the memory of others, see ranges_test");

	block = alloc_block(test, order);
	nr = block->nr;
	fill_pages(block, nr - block->guard, 2 * nr + block->guard);

	use_way(test, CACHED);
	hints = make_hints(test, order, nr, order > MAX_PAGE_ORDER, &count);
	for (i = 0; i < count; i++) {
		/* Where it is mapped makes no difference to the bytes. */
		if (hints[i].base != hints[0].base)
			break;
		for (way = CACHED; way <= last_way(); way++) {
			fill_pages(block, nr, 2 * nr);
			folio_zero_user(block->folio, hint_addr(&hints[i]),
					way == BULK);
			check_block(test, block, &hints[i]);
			cond_resched();
		}
	}
}

static struct kunit_case folio_zero_user_cases[] = {
	KUNIT_CASE_PARAM(ranges_test, order_gen_params),
	KUNIT_CASE_PARAM(batches_test, order_gen_params),
	KUNIT_CASE_PARAM(whole_ranges_test, order_gen_params),
	KUNIT_CASE_PARAM(odd_sizes_test, odd_size_gen_params),
	KUNIT_CASE_PARAM(non_caching_test, order_gen_params),
	KUNIT_CASE_PARAM(bytes_test, real_order_gen_params),
	{}
};

static struct kunit_suite folio_zero_user_suite = {
	.name = "folio_zero_user",
	.test_cases = folio_zero_user_cases,
};

kunit_test_suite(folio_zero_user_suite);

MODULE_DESCRIPTION("KUnit tests for folio_zero_user()");
MODULE_LICENSE("GPL");
