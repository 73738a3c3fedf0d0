// SPDX-License-Identifier: GPL-2.0
/*
 * Clearing pages around the caches: with which instruction, and from which
 * extent on.
 */
#define pr_fmt(fmt) "page_clearing: " fmt

#include <linux/cacheinfo.h>
#include <linux/cpu.h>
#include <linux/cpufeature.h>
#include <linux/cpuhotplug.h>
#include <linux/export.h>
#include <linux/init.h>
#include <linux/kmsan-checks.h>
#include <linux/kobject.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/page_clearing.h>
#include <linux/percpu.h>
#include <linux/pgtable.h>
#include <linux/printk.h>
#include <linux/processor.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include <asm/page.h>

#include "memory.h"

VISIBLE_IF_KUNIT struct non_caching_policy non_caching_policy __read_mostly;

static const char * const method_names[NR_NON_CACHING_METHODS] = {
	[NON_CACHING_NONE]	= "none",
	[NON_CACHING_MOVNTI]	= "movnti",
	[NON_CACHING_CLZERO]	= "clzero",
};

/* In bytes, 0 for never. Follows from the policy and from the CPU's caches. */
static DEFINE_PER_CPU_READ_MOSTLY(unsigned long, non_caching_threshold);

/*
 * A task may move to another CPU before it acts on the answer. It is then wrong
 * about the cache at most, which costs some time and nothing else.
 */
bool clear_page_prefer_non_caching(unsigned long extent)
{
	const unsigned long threshold = this_cpu_read(non_caching_threshold);

	return threshold && extent >= threshold;
}
EXPORT_SYMBOL_GPL(clear_page_prefer_non_caching);

/*
 * The policy may have changed since the caller asked it. Any x86-64 CPU has
 * MOVNTI, so that is what becomes of a clear when there is no method any more:
 * it stays out of the caches, as the caller assumes.
 */
void clear_pages_non_caching(void __incoherent *addr, unsigned long npages)
{
	void *mem = (void __force *)addr;
	unsigned long i;

	for (i = 0; i < npages; i++)
		kmsan_unpoison_memory(mem + i * PAGE_SIZE, PAGE_SIZE);

	if (READ_ONCE(non_caching_policy.method) == NON_CACHING_CLZERO)
		clear_pages_clzero(mem, npages * PAGE_SIZE);
	else
		clear_pages_movnt(mem, npages * PAGE_SIZE);
}

const char *clear_pages_non_caching_method(void)
{
	return method_names[READ_ONCE(non_caching_policy.method)];
}

/*
 * On all CPUs, unless clearcpuid= takes it away. The routine for CLZERO takes
 * the length of a line for granted; MOVNTI is part of x86-64.
 */
static bool clzero_available(void)
{
	return boot_cpu_has(X86_FEATURE_CLZERO) &&
	       boot_cpu_data.x86_clflush_size == 64;
}

static bool method_available(enum non_caching_method method)
{
	return method != NON_CACHING_CLZERO || clzero_available();
}

/* @movnt_slow: all CPUs are slow at it. */
VISIBLE_IF_KUNIT enum non_caching_method
non_caching_default_method(bool clzero, bool movnt_slow)
{
	if (clzero)
		return NON_CACHING_CLZERO;

	return movnt_slow ? NON_CACHING_NONE : NON_CACHING_MOVNTI;
}

/*
 * For a CPU with a last-level cache of @llc bytes, 0 if that is not known. Some
 * have little more than a huge page in it: a fault on one of these is to go
 * through the caches unless somebody has chosen otherwise.
 */
VISIBLE_IF_KUNIT unsigned long
non_caching_cpu_threshold(const struct non_caching_policy *p, unsigned long llc,
			  bool movnt_slow)
{
	if (p->method == NON_CACHING_NONE)
		return 0;

	/* Others are not slow, this one is. */
	if (p->method == NON_CACHING_MOVNTI && movnt_slow && !p->method_chosen)
		return 0;

	if (p->threshold_chosen)
		return p->threshold;

	return llc ? max(llc, NON_CACHING_MIN_AUTO) : 0;
}

/* Of the last level that holds data, in bytes; 0 if there is none. */
VISIBLE_IF_KUNIT unsigned long
last_cacheinfo_size(const struct cpu_cacheinfo *ci)
{
	const struct cacheinfo *leaf, *last = NULL;
	unsigned int i;

	if (!ci || !ci->info_list)
		return 0;

	for (i = 0; i < ci->num_leaves; i++) {
		leaf = &ci->info_list[i];
		if (leaf->type != CACHE_TYPE_UNIFIED &&
		    leaf->type != CACHE_TYPE_DATA)
			continue;
		if (!last || leaf->level > last->level)
			last = leaf;
	}

	return last ? last->size : 0;
}

/* The CPU must be online and stay so, cacheinfo of others may be out of date. */
VISIBLE_IF_KUNIT unsigned long last_level_cache_size(unsigned int cpu)
{
	KUNIT_STATIC_STUB_REDIRECT(last_level_cache_size, cpu);
	return last_cacheinfo_size(get_cpu_cacheinfo(cpu));
}

static void set_cpu_threshold(unsigned int cpu)
{
	const bool slow = cpu_has(&cpu_data(cpu), X86_FEATURE_MOVNT_SLOW);

	WRITE_ONCE(per_cpu(non_caching_threshold, cpu),
		   non_caching_cpu_threshold(&non_caching_policy,
					     last_level_cache_size(cpu), slow));
}

/* CPUs that come later differ in caches, and may be slower at MOVNTI. */
static int non_caching_cpu_online(unsigned int cpu)
{
	set_cpu_threshold(cpu);
	return 0;
}

#undef MODULE_PARAM_PREFIX
#define MODULE_PARAM_PREFIX "page_clearing."

static enum non_caching_method default_method(void)
{
	return non_caching_default_method(clzero_available(),
					  boot_cpu_has(X86_FEATURE_MOVNT_SLOW));
}

/* These two change nothing of @p when they fail. */
static int parse_method(const char *str, struct non_caching_policy *p)
{
	const bool chosen = !sysfs_streq(str, "auto");
	int method = NON_CACHING_NONE;

	if (chosen) {
		method = sysfs_match_string(method_names, str);
		if (method < 0)
			return -EINVAL;
	}

	p->method = method;
	p->method_chosen = chosen;
	return 0;
}

static int parse_threshold(const char *str, struct non_caching_policy *p)
{
	const bool chosen = !sysfs_streq(str, "auto");
	unsigned long threshold = 0;
	int ret;

	if (chosen) {
		ret = page_clearing_parse_size(str, &threshold);
		if (ret)
			return ret;
	}

	p->threshold = threshold;
	p->threshold_chosen = chosen;
	return 0;
}

/* Parsed before the CPU's features are known: whether it has it is seen later. */
static int set_boot_method(const char *val, const struct kernel_param *kp)
{
	return parse_method(val, &non_caching_policy);
}

static int set_boot_threshold(const char *val, const struct kernel_param *kp)
{
	return parse_threshold(val, &non_caching_policy);
}

static const struct kernel_param_ops boot_method_ops = {
	.set = set_boot_method,
};

static const struct kernel_param_ops boot_threshold_ops = {
	.set = set_boot_threshold,
};

module_param_cb(non_caching_method, &boot_method_ops, NULL, 0);
module_param_cb(non_caching_threshold, &boot_threshold_ops, NULL, 0);

#ifdef CONFIG_SYSFS
VISIBLE_IF_KUNIT DEFINE_MUTEX(non_caching_mutex);

/* A CPU that comes or goes meanwhile would miss one of the two policies. */
VISIBLE_IF_KUNIT void non_caching_set_policy(const struct non_caching_policy *p)
{
	unsigned int cpu;

	lockdep_assert_held(&non_caching_mutex);

	cpus_read_lock();
	WRITE_ONCE(non_caching_policy.method, p->method);
	non_caching_policy.method_chosen = p->method_chosen;
	non_caching_policy.threshold = p->threshold;
	non_caching_policy.threshold_chosen = p->threshold_chosen;
	for_each_online_cpu(cpu)
		set_cpu_threshold(cpu);
	cpus_read_unlock();
}

/* What alternatives have made of clear_pages(), in the order of preference. */
static ssize_t method_show(struct kobject *kobj, struct kobj_attribute *attr,
			   char *buf)
{
	if (boot_cpu_has(X86_FEATURE_ERMS))
		return sysfs_emit(buf, "unrolled stosq [stosb]\n");
	if (boot_cpu_has(X86_FEATURE_REP_GOOD))
		return sysfs_emit(buf, "unrolled [stosq] stosb\n");
	return sysfs_emit(buf, "[unrolled] stosq stosb\n");
}

static ssize_t non_caching_method_show(struct kobject *kobj,
				       struct kobj_attribute *attr, char *buf)
{
	const enum non_caching_method chosen = READ_ONCE(non_caching_policy.method);
	enum non_caching_method method;
	int len = 0;

	for (method = 0; method < NR_NON_CACHING_METHODS; method++) {
		if (method_available(method))
			len += sysfs_emit_at(buf, len, "%s%s%s%s",
					     len ? " " : "",
					     method == chosen ? "[" : "",
					     method_names[method],
					     method == chosen ? "]" : "");
	}

	return len + sysfs_emit_at(buf, len, "\n");
}

static ssize_t store_policy(const char *buf, size_t count,
			    int (*parse)(const char *str,
					 struct non_caching_policy *p))
{
	struct non_caching_policy p;
	int ret;

	/* What comes after a NUL has not been looked at. */
	if (strlen(buf) != count)
		return -EINVAL;

	mutex_lock(&non_caching_mutex);
	p = non_caching_policy;
	ret = parse(buf, &p);
	if (!ret && !p.method_chosen)
		p.method = default_method();
	if (!ret && !method_available(p.method))
		ret = -EINVAL;
	if (!ret)
		non_caching_set_policy(&p);
	mutex_unlock(&non_caching_mutex);
	return ret ?: count;
}

static ssize_t non_caching_method_store(struct kobject *kobj,
					struct kobj_attribute *attr,
					const char *buf, size_t count)
{
	return store_policy(buf, count, parse_method);
}

/* Where each CPU goes by its cache, the extent that is enough for all of them. */
static ssize_t non_caching_threshold_show(struct kobject *kobj,
					  struct kobj_attribute *attr, char *buf)
{
	unsigned long threshold = 0;
	unsigned int cpu;

	mutex_lock(&non_caching_mutex);
	cpus_read_lock();
	if (non_caching_policy.threshold_chosen) {
		threshold = non_caching_policy.threshold;
	} else {
		for_each_online_cpu(cpu)
			threshold = max(threshold,
					per_cpu(non_caching_threshold, cpu));
	}
	cpus_read_unlock();
	mutex_unlock(&non_caching_mutex);

	return sysfs_emit(buf, "%lu\n", threshold);
}

static ssize_t non_caching_threshold_store(struct kobject *kobj,
					   struct kobj_attribute *attr,
					   const char *buf, size_t count)
{
	return store_policy(buf, count, parse_threshold);
}

static struct kobj_attribute method_attr = __ATTR_RO(method);
static struct kobj_attribute non_caching_method_attr =
	__ATTR_RW(non_caching_method);
static struct kobj_attribute non_caching_threshold_attr =
	__ATTR_RW(non_caching_threshold);

static struct attribute *page_clearing_attrs[] = {
	&method_attr.attr,
	&non_caching_method_attr.attr,
	&non_caching_threshold_attr.attr,
	NULL,
};
ATTRIBUTE_GROUPS(page_clearing);

static int __init non_caching_sysfs_init(void)
{
	struct kobject *kobj;
	int ret;

	kobj = kobject_create_and_add("page_clearing", mm_kobj);
	if (!kobj)
		return -ENOMEM;

	ret = sysfs_create_groups(kobj, page_clearing_groups);
	if (ret)
		kobject_put(kobj);
	return ret;
}
#else
static int __init non_caching_sysfs_init(void)
{
	return 0;
}
#endif

static int __init non_caching_init(void)
{
	int ret;

	if (non_caching_policy.method_chosen &&
	    !method_available(non_caching_policy.method)) {
		pr_warn("non_caching_method=%s: not on this CPU, ignored\n",
			method_names[non_caching_policy.method]);
		non_caching_policy.method_chosen = false;
	}
	if (!non_caching_policy.method_chosen)
		non_caching_policy.method = default_method();

	/* Also calls it for all that are online, and after cacheinfo's own. */
	ret = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "x86/mm/page_clearing:online",
				non_caching_cpu_online, NULL);
	return ret < 0 ? ret : non_caching_sysfs_init();
}
late_initcall(non_caching_init);
