/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM page_clearing

#if !defined(_TRACE_PAGE_CLEARING_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_PAGE_CLEARING_H

#include <linux/mm.h>
#include <linux/page_clearing.h>
#include <linux/tracepoint.h>

/*
 * So many base pages of a large folio are about to be cleared without a
 * rescheduling point. From here to the next event of this task is the time that
 * others wait for this CPU, unless they can preempt it.
 */
TRACE_EVENT(clear_batch,
	    TP_PROTO(unsigned long nr_pages),

	    TP_ARGS(nr_pages),

	    TP_STRUCT__entry(__field(unsigned long, nr_pages)),

	    TP_fast_assign(__entry->nr_pages = nr_pages;),

	    TP_printk("nr_pages=%lu", __entry->nr_pages)
);

/*
 * A large folio has been cleared for user space. @index is the page that the
 * caller named as about to be used; it was cleared last, unless all of the folio
 * was one range. Rescheduling in between is part of the time.
 */
TRACE_EVENT(folio_zero_user,
	    TP_PROTO(struct folio *folio, unsigned long index, bool non_caching,
		     bool bulk, u64 ns),

	    TP_ARGS(folio, index, non_caching, bulk, ns),

	    TP_STRUCT__entry(__field(unsigned long, pfn)
			     __field(unsigned long, index)
			     __field(u64, ns)
			     __field(unsigned int, order)
			     __field(bool, bulk)
			     __string(method, non_caching ?
				      clear_pages_non_caching_method() : "cached")),

	    TP_fast_assign(__entry->pfn = folio_pfn(folio);
			   __entry->index = index;
			   __entry->ns = ns;
			   __entry->order = folio_order(folio);
			   __entry->bulk = bulk;
			   __assign_str(method);),

	    TP_printk("pfn=0x%lx order=%u index=%lu method=%s hint=%s ns=%llu",
		      __entry->pfn, __entry->order, __entry->index,
		      __get_str(method),
		      __entry->bulk ? "bulk" : "demand", __entry->ns)
);

#endif /* _TRACE_PAGE_CLEARING_H */

#include <trace/define_trace.h>
