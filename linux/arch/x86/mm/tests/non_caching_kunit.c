// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for the policy of clearing around the caches: which method a CPU
 * gets, from which extent on, and what an administrator may write.
 *
 * No machine has all the CPUs and caches in these tables, so most of it is done
 * on numbers. That the CPU which asks is the one that decides is tried on the
 * real CPUs, with caches that they do not have.
 */
#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/cacheinfo.h>
#include <linux/cpu.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/page_clearing.h>
#include <linux/sizes.h>
#include <linux/smp.h>

#include "../memory.h"

static void default_method_test(struct kunit *test)
{
	static const struct {
		bool clzero, slow;
		enum non_caching_method method;
	} cpus[] = {
		{ true,  false, NON_CACHING_CLZERO },	/* Zen */
		{ false, false, NON_CACHING_MOVNTI },	/* Ice Lake */
		{ false, true,  NON_CACHING_NONE },	/* Skylake */
		{ true,  true,  NON_CACHING_CLZERO },	/* not yet seen */
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cpus); i++)
		KUNIT_EXPECT_EQ_MSG(test, cpus[i].method,
				    non_caching_default_method(cpus[i].clzero,
							       cpus[i].slow),
				    "row %u", i);
}

/* The last level that holds data, in whatever order they come. */
static void last_level_cache_test(struct kunit *test)
{
#define LEAF(l, t, s) { .level = (l), .type = CACHE_TYPE_##t, .size = (s) }
	static const struct {
		struct cacheinfo leaves[5];
		unsigned int nr;
		unsigned long size;
	} cases[] = {
		{ { LEAF(1, DATA, SZ_32K), LEAF(1, INST, SZ_32K),
		    LEAF(2, UNIFIED, SZ_1M), LEAF(3, UNIFIED, SZ_32M) },
		  4, SZ_32M },
		{ { LEAF(3, UNIFIED, SZ_32M), LEAF(1, DATA, SZ_32K),
		    LEAF(2, UNIFIED, SZ_1M) }, 3, SZ_32M },
		{ { LEAF(1, DATA, SZ_32K), LEAF(2, UNIFIED, SZ_2M),
		    LEAF(3, INST, SZ_64M) }, 3, SZ_2M },
		{ { LEAF(1, INST, SZ_32K), LEAF(1, DATA, SZ_64K) }, 2, SZ_64K },
		{ { LEAF(1, INST, SZ_32K) }, 1, 0 },
		{ { LEAF(2, UNIFIED, 0) }, 1, 0 },
		{ { LEAF(3, UNIFIED, SZ_32M) }, 0, 0 },
	};
#undef LEAF
	struct cpu_cacheinfo ci = { };
	struct cacheinfo *leaves;
	unsigned int i;

	KUNIT_EXPECT_EQ(test, 0, last_cacheinfo_size(NULL));
	KUNIT_EXPECT_EQ(test, 0, last_cacheinfo_size(&ci));

	leaves = kunit_kzalloc(test, sizeof(cases[0].leaves), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, leaves);
	ci.info_list = leaves;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		memcpy(leaves, cases[i].leaves, sizeof(cases[i].leaves));
		ci.num_leaves = cases[i].nr;
		KUNIT_EXPECT_EQ_MSG(test, cases[i].size,
				    last_cacheinfo_size(&ci), "row %u", i);
	}
}

static void cpu_threshold_test(struct kunit *test)
{
#define POLICY(...) { .method = __VA_ARGS__ }
	static const struct {
		struct non_caching_policy policy;
		unsigned long llc;
		bool slow;
		unsigned long threshold;
	} cases[] = {
		/* What the cache says. */
		{ POLICY(NON_CACHING_CLZERO), SZ_32M, false, SZ_32M },
		{ POLICY(NON_CACHING_MOVNTI), SZ_4M, false, SZ_4M },
		{ POLICY(NON_CACHING_MOVNTI), SZ_4M - 1, false, SZ_4M },
		{ POLICY(NON_CACHING_CLZERO), SZ_1M, false, SZ_4M },
		{ POLICY(NON_CACHING_MOVNTI), SZ_1G * 3UL, false, SZ_1G * 3UL },
		/* It says nothing. */
		{ POLICY(NON_CACHING_CLZERO), 0, false, 0 },
		{ POLICY(NON_CACHING_MOVNTI), 0, false, 0 },
		{ POLICY(NON_CACHING_NONE), SZ_32M, false, 0 },
		/* Slow at MOVNTI, and one that is slow among others. */
		{ POLICY(NON_CACHING_MOVNTI), SZ_32M, true, 0 },
		{ POLICY(NON_CACHING_CLZERO), SZ_32M, true, SZ_32M },
		/* The administrator knows better. */
		{ POLICY(NON_CACHING_MOVNTI, .method_chosen = true),
		  SZ_32M, true, SZ_32M },
		{ POLICY(NON_CACHING_MOVNTI, .threshold_chosen = true,
			 .threshold = SZ_1M), SZ_32M, false, SZ_1M },
		{ POLICY(NON_CACHING_MOVNTI, .threshold_chosen = true,
			 .threshold = SZ_1M), 0, false, SZ_1M },
		{ POLICY(NON_CACHING_MOVNTI, .threshold_chosen = true,
			 .threshold = SZ_1M), SZ_32M, true, 0 },
		{ POLICY(NON_CACHING_CLZERO, .threshold_chosen = true),
		  SZ_32M, false, 0 },
		{ POLICY(NON_CACHING_NONE, .method_chosen = true,
			 .threshold_chosen = true, .threshold = SZ_1M),
		  SZ_32M, false, 0 },
		/* A choice that was taken back. */
		{ POLICY(NON_CACHING_CLZERO, .threshold = SZ_1M),
		  SZ_32M, false, SZ_32M },
	};
#undef POLICY
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		KUNIT_EXPECT_EQ_MSG(test, cases[i].threshold,
				    non_caching_cpu_threshold(&cases[i].policy,
							      cases[i].llc,
							      cases[i].slow),
				    "row %u", i);
}

/* Of the stub below; small for CPU 0, where it would be read first. */
static unsigned long fake_llc[NR_CPUS];

static unsigned long fake_last_level_cache_size(unsigned int cpu)
{
	return fake_llc[cpu];
}

static void restore_policy(void *policy)
{
	mutex_lock(&non_caching_mutex);
	non_caching_set_policy(policy);
	mutex_unlock(&non_caching_mutex);
}

/* Until the test ends. The caches are those of fake_llc[]. */
static void use_policy(struct kunit *test, const struct non_caching_policy *p)
{
	struct non_caching_policy *old;

	if (!test->priv) {
		old = kunit_kmalloc(test, sizeof(*old), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, old);
		*old = non_caching_policy;
		test->priv = old;
		KUNIT_ASSERT_EQ(test, 0,
				kunit_add_action_or_reset(test, restore_policy,
							  old));
		kunit_activate_static_stub(test, last_level_cache_size,
					   fake_last_level_cache_size);
	}

	mutex_lock(&non_caching_mutex);
	non_caching_set_policy(p);
	mutex_unlock(&non_caching_mutex);
}

struct question {
	unsigned long extent;
	bool preferred;
};

static void ask(void *data)
{
	struct question *q = data;

	q->preferred = clear_page_prefer_non_caching(q->extent);
}

static bool preferred_on(struct kunit *test, unsigned int cpu,
			 unsigned long extent)
{
	struct question q = { .extent = extent };

	KUNIT_EXPECT_EQ(test, 0, smp_call_function_single(cpu, ask, &q, true));
	return q.preferred;
}

static void expect_threshold(struct kunit *test, unsigned int cpu,
			     unsigned long threshold)
{
	KUNIT_EXPECT_FALSE_MSG(test, preferred_on(test, cpu, threshold - PAGE_SIZE),
			       "CPU %u, a page less than %lu", cpu, threshold);
	KUNIT_EXPECT_TRUE_MSG(test, preferred_on(test, cpu, threshold),
			      "CPU %u, %lu", cpu, threshold);
	KUNIT_EXPECT_TRUE_MSG(test, preferred_on(test, cpu, threshold + PAGE_SIZE),
			      "CPU %u, a page more than %lu", cpu, threshold);
	KUNIT_EXPECT_TRUE_MSG(test, preferred_on(test, cpu, ULONG_MAX),
			      "CPU %u, as much as there is", cpu);
}

static void expect_never(struct kunit *test, unsigned int cpu)
{
	KUNIT_EXPECT_FALSE_MSG(test, preferred_on(test, cpu, 0),
			       "CPU %u, nothing", cpu);
	KUNIT_EXPECT_FALSE_MSG(test, preferred_on(test, cpu, SZ_1G),
			       "CPU %u, 1 GB", cpu);
	KUNIT_EXPECT_FALSE_MSG(test, preferred_on(test, cpu, ULONG_MAX),
			       "CPU %u, as much as there is", cpu);
}

static const struct non_caching_policy by_cache = {
	.method = NON_CACHING_MOVNTI,
	.method_chosen = true,	/* however slow this machine is at it */
};

static void each_cpu_test(struct kunit *test)
{
	unsigned int cpu;

	if (num_online_cpus() == 1)
		kunit_skip(test, "one CPU cannot differ from others");

	for (cpu = 0; cpu < nr_cpu_ids; cpu++)
		fake_llc[cpu] = SZ_4M * (cpu + 1UL);
	use_policy(test, &by_cache);

	cpus_read_lock();
	for_each_online_cpu(cpu)
		expect_threshold(test, cpu, SZ_4M * (cpu + 1UL));
	cpus_read_unlock();
}

static void unknown_cache_test(struct kunit *test)
{
	unsigned int cpu;

	memset(fake_llc, 0, sizeof(fake_llc));
	use_policy(test, &by_cache);

	cpus_read_lock();
	for_each_online_cpu(cpu)
		expect_never(test, cpu);
	cpus_read_unlock();
}

/* A choice holds for all CPUs, whatever their caches. */
static void chosen_threshold_test(struct kunit *test)
{
	static const unsigned long thresholds[] = {
		PAGE_SIZE, SZ_64K, SZ_2M, SZ_32M, SZ_1G, SZ_4G, 1UL << 62,
	};
	struct non_caching_policy chosen = {
		.method = NON_CACHING_MOVNTI,
		.method_chosen = true,
		.threshold_chosen = true,
	};
	unsigned int cpu, i;

	memset(fake_llc, 0, sizeof(fake_llc));
	fake_llc[0] = SZ_1M;

	for (i = 0; i < ARRAY_SIZE(thresholds); i++) {
		chosen.threshold = thresholds[i];
		use_policy(test, &chosen);
		cpus_read_lock();
		for_each_online_cpu(cpu)
			expect_threshold(test, cpu, thresholds[i]);
		cpus_read_unlock();
	}

	chosen.threshold = 0;
	use_policy(test, &chosen);
	cpus_read_lock();
	for_each_online_cpu(cpu)
		expect_never(test, cpu);
	cpus_read_unlock();

	chosen.threshold = SZ_1M;
	chosen.method = NON_CACHING_NONE;
	use_policy(test, &chosen);
	cpus_read_lock();
	for_each_online_cpu(cpu)
		expect_never(test, cpu);
	cpus_read_unlock();
}

static void parse_size_test(struct kunit *test)
{
	static const struct {
		const char *str;
		unsigned long bytes;
	} good[] = {
		{ "0", 0 }, { "0\n", 0 }, { "4096", 4096 }, { "007", 7 },
		{ "1k", SZ_1K }, { "1K\n", SZ_1K }, { "32M", SZ_32M },
		{ "2g", SZ_2G }, { "1T", SZ_1G * 1024UL }, { "0E", 0 },
		{ "1P", 1UL << 50 }, { "15E", 15UL << 60 },
		{ "18446744073709551615", ULONG_MAX },
	};
	static const char * const bad[] = {
		"", "\n", " ", "M", "-1", "+1", " 1", "1 ", "1 M", "1MM", "1MB",
		"1M 2M", "0x10", "1.5M", "1,000", "rubbish", "16E", "16777216T",
		"18446744073709551616", "36893488147419103232", "1\n2", "1M\n\n", "1\n\n", "1\nK",
		"99999999999999999999999999999999999999", "one",
	};
	unsigned long bytes;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(good); i++) {
		bytes = 12345;
		KUNIT_EXPECT_EQ_MSG(test, 0,
				    page_clearing_parse_size(good[i].str, &bytes),
				    "\"%s\"", good[i].str);
		KUNIT_EXPECT_EQ_MSG(test, good[i].bytes, bytes, "\"%s\"",
				    good[i].str);
	}

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		bytes = 12345;
		KUNIT_EXPECT_EQ_MSG(test, -EINVAL,
				    page_clearing_parse_size(bad[i], &bytes),
				    "\"%s\"", bad[i]);
		KUNIT_EXPECT_EQ_MSG(test, 12345, bytes, "\"%s\"", bad[i]);
	}
}

static struct kunit_case non_caching_cases[] = {
	KUNIT_CASE(default_method_test),
	KUNIT_CASE(cpu_threshold_test),
	KUNIT_CASE(last_level_cache_test),
	KUNIT_CASE(each_cpu_test),
	KUNIT_CASE(unknown_cache_test),
	KUNIT_CASE(chosen_threshold_test),
	KUNIT_CASE(parse_size_test),
	{}
};

static struct kunit_suite non_caching_suite = {
	.name = "non_caching",
	.test_cases = non_caching_cases,
};

kunit_test_suite(non_caching_suite);

MODULE_DESCRIPTION("KUnit tests for the policy of clearing around the caches");
MODULE_LICENSE("GPL");
