/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_MMZONE_H
#define _LINUX_MMZONE_H

#include <pthread.h>
#include <linux/bits.h>
#include <linux/mm_types.h>

/* As on x86: a block may have more than one pageblock. */
#define MAX_PAGE_ORDER		6
#define NR_PAGE_ORDERS		(MAX_PAGE_ORDER + 1)
#define pageblock_order		5
#define pageblock_nr_pages	BIT(pageblock_order)

enum migratetype {
	MIGRATE_UNMOVABLE,
	MIGRATE_MOVABLE,
	MIGRATE_PCPTYPES,
	MIGRATE_ISOLATE = MIGRATE_PCPTYPES,
	MIGRATE_TYPES
};

#define is_migrate_isolate(mt)		((mt) == MIGRATE_ISOLATE)
#define migratetype_is_mergeable(mt)	((mt) < MIGRATE_PCPTYPES)

enum zone_stat_item {
	NR_FREE_PAGES,
	NR_PREZEROED,
	NR_VM_ZONE_STAT_ITEMS
};

enum node_stat_item {
	PREZERO_CLEARED,
	PREZERO_HIT,
	PREZERO_MISS,
	PREZERO_DROPPED,
	NR_VM_NODE_STAT_ITEMS
};

/* Knows who holds it. */
struct spinlock {
	pthread_mutex_t mutex;
	pthread_t owner;
	bool held;
};

#define spinlock_t	struct spinlock

struct free_area {
	struct list_head free_list[MIGRATE_TYPES];
	unsigned long nr_free;
};

struct pglist_data {
	long stat[NR_VM_NODE_STAT_ITEMS];
};

struct zone {
	spinlock_t lock;	/* of all of this */
	struct pglist_data *zone_pgdat;
	struct free_area free_area[NR_PAGE_ORDERS];
	long stat[NR_VM_ZONE_STAT_ITEMS];
	struct list_head prezero_jobs;
	unsigned long nr_prezeroed_blocks;
};

#endif /* _LINUX_MMZONE_H */
