// SPDX-License-Identifier: GPL-2.0
/*
 * Free pages of hugetlb that are known to be clear: which they are, who gets
 * them, and how a task clears more of them.
 */
#include <linux/ctype.h>
#include <linux/hugetlb.h>
#include <linux/kobject.h>
#include <linux/kstrtox.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/nodemask.h>
#include <linux/page-isolation.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <linux/topology.h>
#include <linux/vmstat.h>

#include "hugetlb_prezero.h"
#include "prezero.h"

/* How many pages change lists before others get hugetlb_lock. */
#define DROP_BATCH	64

/* The pages that are being cleared. Under hugetlb_lock. */
static LIST_HEAD(jobs);

static void count(struct folio *folio, enum node_stat_item item)
{
	mod_node_page_state(folio_pgdat(folio), item, folio_nr_pages(folio));
}

static struct list_head *free_list(struct hstate *h, struct folio *folio)
{
	return &h->hugepage_freelists[folio_nid(folio)];
}

/* A page on the free lists, from now on known to be clear. */
static void mark(struct hstate *h, struct folio *folio)
{
	folio_set_hugetlb_prezeroed(folio);
	h->prezeroed_huge_pages_node[folio_nid(folio)]++;
	list_move_tail(&folio->lru, free_list(h, folio));
}

void __hugetlb_prezero_enqueued(struct hstate *h, struct folio *folio)
{
	lockdep_assert_held(&hugetlb_lock);

	if (!folio_test_hugetlb_prezeroed(folio))
		return;

	if (prezero_is_allowed() && !folio_test_hwpoison(folio)) {
		mark(h, folio);
	} else {
		folio_clear_hugetlb_prezeroed(folio);
		count(folio, PREZERO_DROPPED);
	}
}

struct folio *__hugetlb_prezero_find(struct hstate *h, int nid)
{
	const bool pin = current->flags & PF_MEMALLOC_PIN;
	struct folio *folio;

	lockdep_assert_held(&hugetlb_lock);

	if (!h->prezeroed_huge_pages_node[nid])
		return NULL;

	list_for_each_entry_reverse(folio, &h->hugepage_freelists[nid], lru) {
		if (folio_test_hugetlb_prezeroing(folio) ||
		    folio_test_hwpoison(folio))
			continue;
		if (!folio_test_hugetlb_prezeroed(folio))
			break;
		if (is_migrate_isolate_page(&folio->page))
			continue;
		if (!pin || folio_is_longterm_pinnable(folio))
			return folio;
	}

	return NULL;
}

void __hugetlb_prezero_take(struct hstate *h, struct folio *folio, bool *clear)
{
	const bool was_clear = folio_test_hugetlb_prezeroed(folio);

	if (clear)
		*clear = was_clear;

	/* Nobody waits for all of the page, only for the chunk in hand. */
	if (folio_test_hugetlb_prezeroing(folio)) {
		lockdep_assert_held(&hugetlb_lock);
		folio_clear_hugetlb_prezeroing(folio);
		prezero_job_take(&jobs, &folio->page);
	}

	if (!was_clear)
		return;

	folio_clear_hugetlb_prezeroed(folio);
	if (folio_test_hugetlb_freed(folio)) {
		lockdep_assert_held(&hugetlb_lock);
		h->prezeroed_huge_pages_node[folio_nid(folio)]--;
	}
	if (!clear)
		count(folio, PREZERO_DROPPED);
}

void __hugetlb_prezero_served(struct folio *folio, bool *clear)
{
	if (*clear)
		*clear = prezero_is_clear(&folio->page, folio_order(folio));
	count(folio, *clear ? PREZERO_HIT : PREZERO_MISS);
}

void __hugetlb_prezero_poisoned(struct folio *folio)
{
	struct hstate *h = folio_hstate(folio);

	lockdep_assert_held(&hugetlb_lock);

	if (!folio_test_hugetlb_freed(folio))
		return;

	__hugetlb_prezero_take(h, folio, NULL);
	list_move(&folio->lru, free_list(h, folio));
}

/* Returns false when there is none left. */
static bool drop_some(struct hstate *h, int nid)
{
	struct folio *folio, *next;
	int left = DROP_BATCH;

	spin_lock_irq(&hugetlb_lock);
	list_for_each_entry_safe_reverse(folio, next,
					 &h->hugepage_freelists[nid], lru) {
		if (!left || !h->prezeroed_huge_pages_node[nid])
			break;
		if (!folio_test_hugetlb_prezeroed(folio))
			continue;
		__hugetlb_prezero_take(h, folio, NULL);
		list_move(&folio->lru, &h->hugepage_freelists[nid]);
		left--;
	}
	spin_unlock_irq(&hugetlb_lock);

	return !left;
}

/**
 * hugetlb_prezero_forbid() - No free huge page is known to be clear any more.
 *
 * Context: May sleep. No page may be said to be clear any more.
 */
void hugetlb_prezero_forbid(void)
{
	struct hstate *h;
	int nid;

	for_each_hstate(h) {
		for_each_node_state(nid, N_MEMORY) {
			while (drop_some(h, nid))
				cond_resched();
		}
	}
}

/* Clearing ahead */

static void job_begin(struct prezero_job *job, struct hstate *h,
		      struct folio *folio)
{
	lockdep_assert_held(&hugetlb_lock);

	prezero_job_init(job, &jobs, &folio->page, folio_order(folio));
	folio_set_hugetlb_prezeroing(folio);
	list_move_tail(&folio->lru, free_list(h, folio));
}

/* Returns true if it is known to be clear now. */
static bool job_end(struct prezero_job *job, struct hstate *h, bool complete)
{
	struct folio *folio;

	lockdep_assert_held(&hugetlb_lock);

	/* Somebody has taken it, and the job from the list. */
	if (!job->page)
		return false;

	list_del(&job->list);
	folio = page_folio(job->page);
	folio_clear_hugetlb_prezeroing(folio);
	if (!complete || !prezero_is_allowed()) {
		list_move(&folio->lru, free_list(h, folio));
		return false;
	}

	mark(h, folio);
	count(folio, PREZERO_CLEARED);
	return true;
}

/* The dirty ones come first, and with them those that are never handed out. */
static struct folio *next_dirty(struct hstate *h, int nid)
{
	struct folio *folio;

	list_for_each_entry(folio, &h->hugepage_freelists[nid], lru) {
		if (folio_test_hwpoison(folio))
			continue;
		if (folio_test_hugetlb_prezeroed(folio) ||
		    folio_test_hugetlb_prezeroing(folio))
			break;
		return folio;
	}

	return NULL;
}

static int zero_node(struct hstate *h, int nid, unsigned long *wanted)
{
	struct prezero_job job;
	struct folio *folio;
	bool complete;
	int ret = 0;

	spin_lock_irq(&hugetlb_lock);
	while (!ret && *wanted) {
		folio = next_dirty(h, nid);
		if (!folio)
			break;

		job_begin(&job, h, folio);
		spin_unlock_irq(&hugetlb_lock);
		complete = prezero_job_run(&job);
		spin_lock_irq(&hugetlb_lock);
		if (job_end(&job, h, complete))
			--*wanted;
		if (*wanted)
			ret = prezero_interrupted();
	}
	spin_unlock_irq(&hugetlb_lock);

	return ret;
}

/*
 * As many as somebody has asked for, in his own time: it is charged to him, on
 * his CPUs, and he may be killed. The pool is everybody's, so what nodes he may
 * allocate from does not matter.
 */
static int zero(struct hstate *h, int nid, unsigned long wanted)
{
	const int near = numa_mem_id();
	int ret;

	if (nid != NUMA_NO_NODE)
		return zero_node(h, nid, &wanted);

	ret = zero_node(h, near, &wanted);
	for_each_node_state(nid, N_MEMORY) {
		if (ret || !wanted)
			break;
		if (nid != near)
			ret = zero_node(h, nid, &wanted);
	}

	return ret;
}

static unsigned long zeroable(struct hstate *h, int nid)
{
	unsigned long n;

	spin_lock_irq(&hugetlb_lock);
	n = h->free_huge_pages_node[nid] - h->prezeroed_huge_pages_node[nid];
	spin_unlock_irq(&hugetlb_lock);

	return n;
}

static ssize_t zeroable_show(struct kobject *kobj, struct kobj_attribute *attr,
			     char *buf)
{
	unsigned long n = 0;
	struct hstate *h;
	int nid;

	h = kobj_to_hstate(kobj, &nid);
	if (nid != NUMA_NO_NODE) {
		n = zeroable(h, nid);
	} else {
		for_each_node_state(nid, N_MEMORY)
			n += zeroable(h, nid);
	}

	return sysfs_emit(buf, "%lu\n", n);
}

static ssize_t zero_store(struct kobject *kobj, struct kobj_attribute *attr,
			  const char *buf, size_t len)
{
	unsigned long wanted, most;
	struct hstate *h;
	int nid, ret;

	h = kobj_to_hstate(kobj, &nid);
	most = nid == NUMA_NO_NODE ? READ_ONCE(h->nr_huge_pages) :
				     READ_ONCE(h->nr_huge_pages_node[nid]);

	/* Decimal digits and a newline, nothing else. */
	if (strlen(buf) != len || !isdigit(*buf) || kstrtoul(buf, 10, &wanted) ||
	    wanted > most)
		return -EINVAL;

	ret = prezero_may_begin();
	if (!ret)
		ret = zero(h, nid, wanted);
	return ret ?: len;
}

struct kobj_attribute hugetlb_zeroable_attr = __ATTR_RO(zeroable);
struct kobj_attribute hugetlb_zero_attr = __ATTR_WO(zero);
