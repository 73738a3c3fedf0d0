/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_BITOPS_H
#define _LINUX_BITOPS_H

#include <stdbool.h>
#include <linux/bits.h>

static inline bool test_bit(unsigned int nr, const unsigned long *addr)
{
	return __atomic_load_n(addr, __ATOMIC_RELAXED) & BIT(nr);
}

static inline void set_bit(unsigned int nr, unsigned long *addr)
{
	__atomic_fetch_or(addr, BIT(nr), __ATOMIC_RELAXED);
}

static inline void clear_bit(unsigned int nr, unsigned long *addr)
{
	__atomic_fetch_and(addr, ~BIT(nr), __ATOMIC_RELAXED);
}

#endif /* _LINUX_BITOPS_H */
