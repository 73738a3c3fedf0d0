/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_MM_TYPES_H
#define _LINUX_MM_TYPES_H

#include <linux/list.h>
#include <linux/types.h>

struct page {
	unsigned long flags;
	union {
		struct list_head lru;
		struct list_head buddy_list;
		struct list_head pcp_list;
	};
	unsigned long private;	/* order of a free block */
	bool buddy;		/* first page of a block in the free lists */
};

struct folio {
	struct page page;
};

#endif /* _LINUX_MM_TYPES_H */
