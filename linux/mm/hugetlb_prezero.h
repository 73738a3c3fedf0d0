/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MM_HUGETLB_PREZERO_H
#define _MM_HUGETLB_PREZERO_H

#include <linux/hugetlb.h>
#include <linux/types.h>

#include "prezero.h"

/*
 * Free pages of hugetlb that are known to be clear, or are being cleared.
 *
 * They stay on the free lists, where the dirty ones come first: who takes the
 * next best page gets one of those, and who needs a clear one looks from the
 * other end. What is being cleared is among the clear ones, and thus the last
 * resort of either.
 *
 * The mark, HPG_prezeroed, is taken from a page under hugetlb_lock at the moment
 * it leaves the free lists, and whoever takes it is told. So no page has it that
 * is in use, and none can bring it back.
 */

struct kobj_attribute;
struct kobject;

/* In mm/hugetlb.c */
struct hstate *kobj_to_hstate(struct kobject *kobj, int *nidp);

#if defined(CONFIG_PREZERO) && defined(CONFIG_HUGETLB_PAGE)
void __hugetlb_prezero_enqueued(struct hstate *h, struct folio *folio);
struct folio *__hugetlb_prezero_find(struct hstate *h, int nid);
void __hugetlb_prezero_take(struct hstate *h, struct folio *folio, bool *clear);
void __hugetlb_prezero_served(struct folio *folio, bool *clear);
void __hugetlb_prezero_poisoned(struct folio *folio);
void hugetlb_prezero_forbid(void);

extern struct kobj_attribute hugetlb_zeroable_attr;
extern struct kobj_attribute hugetlb_zero_attr;

/* A page is on the free lists. hugetlb_lock is held. */
static inline void hugetlb_prezero_enqueued(struct hstate *h, struct folio *folio)
{
	if (prezero_used())
		__hugetlb_prezero_enqueued(h, folio);
}

/*
 * A free page of the node that is known to be clear and that this task may have,
 * or NULL. hugetlb_lock is held.
 */
static inline struct folio *hugetlb_prezero_find(struct hstate *h, int nid)
{
	return prezero_used() ? __hugetlb_prezero_find(h, nid) : NULL;
}

/*
 * A page is about to leave the free lists, or never was in one. @clear is where
 * to tell whether it is clear, NULL if nobody cares. If the page is on the free
 * lists, hugetlb_lock is held; otherwise it is the caller's.
 */
static inline void hugetlb_prezero_take(struct hstate *h, struct folio *folio,
					bool *clear)
{
	if (prezero_used())
		__hugetlb_prezero_take(h, folio, clear);
}

/* The page is the caller's, who has to clear it unless *@clear. No locks needed. */
static inline void hugetlb_prezero_served(struct folio *folio, bool *clear)
{
	if (prezero_used() && clear)
		__hugetlb_prezero_served(folio, clear);
}

/* What is in it cannot be trusted any more. hugetlb_lock is held. */
static inline void hugetlb_prezero_poisoned(struct folio *folio)
{
	if (prezero_used())
		__hugetlb_prezero_poisoned(folio);
}
#else
static inline void hugetlb_prezero_enqueued(struct hstate *h, struct folio *folio)
{
}

static inline struct folio *hugetlb_prezero_find(struct hstate *h, int nid)
{
	return NULL;
}

static inline void hugetlb_prezero_take(struct hstate *h, struct folio *folio,
					bool *clear)
{
}

static inline void hugetlb_prezero_served(struct folio *folio, bool *clear)
{
}

static inline void hugetlb_prezero_poisoned(struct folio *folio)
{
}

static inline void hugetlb_prezero_forbid(void)
{
}
#endif

#endif /* _MM_HUGETLB_PREZERO_H */
