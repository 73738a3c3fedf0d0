/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ARCH_X86_MM_MEMORY_H
#define _ARCH_X86_MM_MEMORY_H

#include <linux/mutex_types.h>
#include <linux/types.h>

#include <kunit/static_stub.h>
#include <kunit/visibility.h>

struct cpu_cacheinfo;

enum non_caching_method {
	NON_CACHING_NONE,
	NON_CACHING_MOVNTI,
	NON_CACHING_CLZERO,
	NR_NON_CACHING_METHODS,
};

/**
 * struct non_caching_policy - what decides about clears around the caches
 * @method: the instruction
 * @threshold: smallest extent in bytes, 0 for never, if it was chosen
 * @method_chosen: @method is somebody's choice, not the default
 * @threshold_chosen: likewise; otherwise the CPU's last-level cache decides
 *
 * After boot it is written with non_caching_mutex and the CPU hotplug lock held.
 */
struct non_caching_policy {
	enum non_caching_method	method;
	unsigned long		threshold;
	bool			method_chosen;
	bool			threshold_chosen;
};

/* The least that "auto" makes of a cache. */
#define NON_CACHING_MIN_AUTO	(2 * PMD_SIZE)

#if IS_ENABLED(CONFIG_KUNIT)
enum non_caching_method
non_caching_default_method(bool clzero, bool movnt_slow);
unsigned long
non_caching_cpu_threshold(const struct non_caching_policy *p, unsigned long llc,
			  bool movnt_slow);
unsigned long last_cacheinfo_size(const struct cpu_cacheinfo *ci);
unsigned long last_level_cache_size(unsigned int cpu);
void non_caching_set_policy(const struct non_caching_policy *p);
extern struct non_caching_policy non_caching_policy;
extern struct mutex non_caching_mutex;
#endif

#endif /* _ARCH_X86_MM_MEMORY_H */
