/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What mm/prezero.c needs of the rest of the kernel, in user space. In place of
 * mm/prezero_internal.h.
 */
#ifndef _MM_PREZERO_INTERNAL_H
#define _MM_PREZERO_INTERNAL_H

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <linux/gfp_types.h>
#include <linux/jump_label.h>
#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/mmzone.h>
#include <linux/page-flags.h>
#include <linux/sched.h>

#undef READ_ONCE
#undef WRITE_ONCE
#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, val)	__atomic_store_n(&(x), val, __ATOMIC_RELAXED)

#define WARN_ON_ONCE(condition)	assert(!(condition))

/* Pages of eight bytes. */
#define NR_PAGES	512UL

#define FREE_WALK_BATCH	4

extern struct page mem_map[NR_PAGES];
extern uint64_t memory[NR_PAGES];
extern struct zone the_zone;

#define page_to_pfn(page)	((unsigned long)((page) - mem_map))
#define pfn_to_page(pfn)	(mem_map + (pfn))
#define page_zone(page)		((void)(page), &the_zone)
#define nth_page(page, n)	((page) + (n))
#define PageHead(page)		((void)(page), false)

#define for_each_populated_zone(z)	\
	for (bool once = (z = &the_zone); once; once = false)

int get_pageblock_migratetype(const struct page *page);
void clear_free_pages_non_caching(struct page *page, unsigned long nr);
void cond_resched(void);

static inline void __mod_zone_page_state(struct zone *zone,
					 enum zone_stat_item item, long delta)
{
	zone->stat[item] += delta;
}

static inline void mod_node_page_state(struct pglist_data *pgdat,
				       enum node_stat_item item, long delta)
{
	__atomic_fetch_add(&pgdat->stat[item], delta, __ATOMIC_RELAXED);
}

static inline void spin_lock_init(spinlock_t *lock)
{
	pthread_mutex_init(&lock->mutex, NULL);
	lock->held = false;
}

static inline void spin_lock(spinlock_t *lock)
{
	pthread_mutex_lock(&lock->mutex);
	lock->owner = pthread_self();
	lock->held = true;
}

static inline void spin_unlock(spinlock_t *lock)
{
	lock->held = false;
	pthread_mutex_unlock(&lock->mutex);
}

#define spin_lock_irq(lock)	spin_lock(lock)
#define spin_unlock_irq(lock)	spin_unlock(lock)

/* To be called by who holds it, or is a fault anyway. */
static inline void lockdep_assert_held(const spinlock_t *lock)
{
	assert(lock->held && pthread_equal(lock->owner, pthread_self()));
}

#endif /* _MM_PREZERO_INTERNAL_H */
