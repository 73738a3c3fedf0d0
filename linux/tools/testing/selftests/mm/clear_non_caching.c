// SPDX-License-Identifier: GPL-2.0
/*
 * Which way does a large page go when it is cleared: through the caches or
 * around them?
 *
 * The counters in /proc/vmstat tell, for each path that knows how much is asked
 * for, on either side of the threshold.  They count for all of the system, so a
 * test tries again when somebody else may have had a huge page meanwhile.
 * Memory is dirty before it is asked for again, and must be zero.
 *
 * The settings are put back after each test, by its parent so that a test may
 * die.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/memfd.h>
#include <linux/mman.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "../../../../mm/gup_test.h"
#include "vm_util.h"
#include "clear_util.h"

#define DIR		"/sys/kernel/mm/page_clearing/"
#define METHOD		DIR "method"
#define NC_METHOD	DIR "non_caching_method"
#define THRESHOLD	DIR "non_caching_threshold"
#define CPU1_ONLINE	"/sys/devices/system/cpu/cpu1/online"
#define SHMEM_ENABLED	"/sys/kernel/mm/transparent_hugepage/shmem_enabled"
#define SIZE		(8 * SZ_1M)	/* of most requests */
#define MAX_SIZE	(64 * SZ_1M)
#define NEIGHBOURS	2
#define TRIES		5

/* What gup_test passes on: FOLL_WRITE and FOLL_HINT_BULK in mm_types.h. */
#define GUP_WRITE	0x0001
#define GUP_HINT_BULK	0x2000

static char saved_method[64], saved_threshold[32];
static bool cpu1_online, saved_thp;
static unsigned long saved_pages;

/* Settings */

/* The one in brackets. */
static void get_chosen(const char *path, char *buf, size_t len)
{
	char list[64], *p;

	get(path, list, sizeof(list));
	p = strchr(list, '[');
	snprintf(buf, len, "%.*s", p ? (int)strcspn(p + 1, "]") : 0, p ? p + 1 : "");
}

static bool listed(const char *method)
{
	char list[64], *p;

	get(NC_METHOD, list, sizeof(list));
	for (p = strtok(list, " []"); p; p = strtok(NULL, " []")) {
		if (!strcmp(p, method))
			return true;
	}
	return false;
}

/* An instance of our own: what others trace is theirs. */
#define TRACE		"/sys/kernel/tracing/instances/clear_non_caching"
#define TRACE_EVENT	TRACE "/events/page_clearing/folio_zero_user/enable"

/* "auto" if that makes the same of it: what is shown does not tell. */
static void restore_choice(const char *path, const char *saved,
			   void (*look)(const char *path, char *buf, size_t len))
{
	char now[64];

	put(path, "auto");
	look(path, now, sizeof(now));
	if (strcmp(now, saved))
		put(path, saved);
}

static void restore_settings(void)
{
	if (geteuid())
		return;
	if (cpu1_online)
		put(CPU1_ONLINE, "1");
	put(TRACE_EVENT, "0");
	rmdir(TRACE);
	restore_choice(NC_METHOD, saved_method, get_chosen);
	restore_choice(THRESHOLD, saved_threshold, get);
	if (have_pool(SZ_2M))
		pool_write(SZ_2M, "nr_hugepages", saved_pages);
	if (saved_thp)
		thp_restore_settings();
}

/* Counters */

struct counts {
	unsigned long cached;
	unsigned long non_caching;
};

static struct counts count(void)
{
	return (struct counts) {
		.cached = vm_counter("clear_pages_cached"),
		.non_caching = vm_counter("clear_pages_non_caching"),
	};
}

/* Memory */

enum backing { HUGETLB, THP, MTHP, SHMEM };

enum request { POPULATE, MADVISE, MLOCK, DEMAND, PIN, PIN_PIECES, PIN_PIECES_HINT,
	   FALLOCATE, MEMFD_PIN };

struct area {
	enum backing backing;
	char *map;	/* as mmap() gave it */
	char *mem;	/* aligned in there */
	size_t size;
	int fd;
};

static void area_free(struct area *a)
{
	if (a->map)
		munmap(a->map, a->size + SZ_2M);
	if (a->fd >= 0)
		close(a->fd);
	a->map = NULL;
	a->fd = -1;
}

/* Address space for @size bytes, of pages that are not there yet. */
static bool area_map(struct area *a, size_t size, int flags)
{
	a->size = size;
	a->fd = -1;
	a->map = mmap(NULL, size + SZ_2M, PROT_NONE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (a->map == MAP_FAILED) {
		a->map = NULL;
		return false;
	}
	a->mem = (char *)(((uintptr_t)a->map + SZ_2M - 1) & ~(SZ_2M - 1));

	if (a->backing == SHMEM) {
		a->fd = memfd_create("clear_non_caching", 0);
		if (a->fd < 0 || ftruncate(a->fd, size))
			return false;
		flags |= MAP_SHARED;
	} else {
		flags |= MAP_PRIVATE | MAP_ANONYMOUS;
	}
	if (a->backing == HUGETLB)
		flags |= MAP_HUGETLB | MAP_HUGE_2MB;
	return mmap(a->mem, size, PROT_READ | PROT_WRITE, flags | MAP_FIXED,
		    a->fd, 0) == a->mem;
}

static int pin(struct area *a, size_t piece, unsigned int flags)
{
	struct gup_test gup = {
		.addr = (unsigned long)a->mem,
		.size = a->size,
		.nr_pages_per_call = piece / psize(),
		.gup_flags = flags,
	};
	int fd = open("/sys/kernel/debug/gup_test", O_RDWR), ret;

	ret = ioctl(fd, PIN_FAST_BENCHMARK, &gup) ? errno : 0;
	close(fd);
	return ret;
}

/* Of shmem what is there already, and nobody has cleared. */
static int pin_file(struct area *a, size_t size)
{
	const bool shmem = a->backing == SHMEM;

	a->fd = memfd_create("pinned", MFD_ALLOW_SEALING |
			     (shmem ? 0 : MFD_HUGETLB | MFD_HUGE_2MB));
	if (a->fd < 0 || ftruncate(a->fd, size) ||
	    (shmem && fallocate(a->fd, 0, 0, size)))
		return errno;
	a->mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, a->fd, 0);
	return a->mem == MAP_FAILED ? errno : pin_memfd(a->fd, 0, size);
}

/* Have @size bytes cleared. Returns 0 or an errno. */
static int clear(struct area *a, enum request how, size_t size)
{
	size_t i;

	a->fd = -1;
	a->map = NULL;
	if (how == MEMFD_PIN)
		return pin_file(a, size);
	if (how == FALLOCATE) {
		a->fd = memfd_create("clear_non_caching",
				     MFD_HUGETLB | MFD_HUGE_2MB);
		if (a->fd < 0 || fallocate(a->fd, 0, 0, size))
			return errno;
		a->mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED,
			      a->fd, 0);
		return a->mem == MAP_FAILED ? errno : 0;
	}

	if (!area_map(a, size, how == POPULATE ? MAP_POPULATE : 0))
		return errno;
	switch (how) {
	case MADVISE:
		return madvise(a->mem, size, MADV_POPULATE_WRITE) ? errno : 0;
	case MLOCK:
		return mlock(a->mem, size) ? errno : 0;
	case PIN:
		return pin(a, size, GUP_WRITE);
	case PIN_PIECES:
		return pin(a, SZ_2M, GUP_WRITE);
	case PIN_PIECES_HINT:
		return pin(a, SZ_2M, GUP_WRITE | GUP_HINT_BULK);
	case DEMAND:
		for (i = 0; i < size; i += SZ_64K)
			__atomic_store_n(a->mem + i, 0, __ATOMIC_RELAXED);
		break;
	default:
		break;
	}
	return 0;
}

static void done(struct area *a, enum request how, size_t size)
{
	if (how == FALLOCATE || how == MEMFD_PIN)
		munmap(a->mem, size);
	area_free(a);
}

/* Fill what the next request is likely to get. */
static void dirty(enum backing backing, size_t size)
{
	struct area a = { .backing = backing };

	if (!clear(&a, MADVISE, size))
		memset(a.mem, PATTERN, size);
	done(&a, MADVISE, size);
}

/*
 * @size bytes, of which @non_caching pages go around the caches and the others
 * do not.
 */
static void expect_way(struct __test_metadata *_metadata, enum backing backing,
		       enum request how, size_t size, size_t non_caching)
{
	const size_t cached = size / psize() - non_caching;
	struct area a = { .backing = backing };
	struct counts before, after;
	int tries;

	for (tries = 0; tries < TRIES; tries++) {
		dirty(backing, size);
		before = count();
		ASSERT_EQ(0, clear(&a, how, size));
		after = count();
		EXPECT_TRUE(is_zero(a.mem, size));
		done(&a, how, size);
		if (after.cached - before.cached == cached &&
		    after.non_caching - before.non_caching == non_caching)
			return;
		/* Others add to the sum.  They do not make pages change sides. */
		if (after.cached - before.cached +
		    after.non_caching - before.non_caching == size / psize())
			break;
	}
	EXPECT_EQ(cached, after.cached - before.cached);
	EXPECT_EQ(non_caching, after.non_caching - before.non_caching)
		TH_LOG("%zu kB asked for", size >> 10);
}

/* The tests */

FIXTURE(path)
{
};

FIXTURE_VARIANT(path)
{
	enum backing backing;
};

FIXTURE_VARIANT_ADD(path, hugetlb) { .backing = HUGETLB };
FIXTURE_VARIANT_ADD(path, thp) { .backing = THP };
FIXTURE_VARIANT_ADD(path, mthp) { .backing = MTHP };
FIXTURE_VARIANT_ADD(path, shmem) { .backing = SHMEM };

static const char *prepare(void)
{
	if (geteuid())
		return "needs root";
	if (access(THRESHOLD, F_OK))
		return "no clears around the caches in this kernel";
	if (access(THRESHOLD, W_OK))
		return "sysfs cannot be written to";
	if (!listed("movnti"))
		return "no method to test with";
	if (put(NC_METHOD, "movnti") || put_num(THRESHOLD, SIZE))
		return "cannot be set up";
	return NULL;
}

static const char *prepare_pool(size_t size)
{
	unsigned long need = size / SZ_2M, avail;

	if (!have_pool(SZ_2M))
		return "no huge pages of 2 MB";
	avail = pool_available(SZ_2M);
	if (avail < need)
		pool_write(SZ_2M, "nr_hugepages",
			   pool_read(SZ_2M, "nr_hugepages") + need - avail);
	return pool_available(SZ_2M) < need ? "cannot get enough huge pages" : NULL;
}

static const char *prepare_thp(enum backing backing)
{
	return choose_thp(backing == MTHP ? SZ_64K : SZ_2M, backing == SHMEM);
}

FIXTURE_SETUP(path)
{
	const char *why = prepare();

	if (!why)
		why = variant->backing == HUGETLB ?
		      prepare_pool(SIZE + SZ_2M) : prepare_thp(variant->backing);
	if (why) {
		/* There is no teardown after this. */
		restore_settings();
		SKIP(return, "%s", why);
	}
}

FIXTURE_TEARDOWN_PARENT(path)
{
	restore_settings();
}

#define PAGES(size)	((size) / psize())

TEST_F(path, populate)
{
	expect_way(_metadata, variant->backing, POPULATE, SIZE, PAGES(SIZE));
	expect_way(_metadata, variant->backing, POPULATE, SIZE + SZ_2M,
		   PAGES(SIZE + SZ_2M));
	expect_way(_metadata, variant->backing, POPULATE, SIZE - SZ_2M, 0);
}

TEST_F(path, madvise)
{
	expect_way(_metadata, variant->backing, MADVISE, SIZE, PAGES(SIZE));
	expect_way(_metadata, variant->backing, MADVISE, SIZE - SZ_2M, 0);
}

TEST_F(path, mlock)
{
	/* A shared mapping is populated for reading, which clears it too. */
	expect_way(_metadata, variant->backing, MLOCK, SIZE, PAGES(SIZE));
	expect_way(_metadata, variant->backing, MLOCK, SIZE - SZ_2M, 0);
}

TEST_F(path, demand)
{
	/* All of it is as much as the threshold, but nobody says so. */
	expect_way(_metadata, variant->backing, DEMAND, SIZE, 0);
}

TEST_F(path, pin)
{
	if (access("/sys/kernel/debug/gup_test", R_OK | W_OK))
		SKIP(return, "no gup_test in debugfs");
	expect_way(_metadata, variant->backing, PIN, SIZE, PAGES(SIZE));
	expect_way(_metadata, variant->backing, PIN, SIZE - SZ_2M, 0);
	expect_way(_metadata, variant->backing, PIN_PIECES, SIZE, 0);
	expect_way(_metadata, variant->backing, PIN_PIECES_HINT, SIZE,
		   PAGES(SIZE));
}

TEST_F(path, threshold)
{
	const enum backing backing = variant->backing;

	/* Just reached, or missed by a page. */
	ASSERT_EQ(0, put_num(THRESHOLD, SIZE - psize()));
	expect_way(_metadata, backing, MADVISE, SIZE, PAGES(SIZE));
	ASSERT_EQ(0, put_num(THRESHOLD, SIZE + psize()));
	expect_way(_metadata, backing, MADVISE, SIZE, 0);
	/* Never. */
	ASSERT_EQ(0, put(THRESHOLD, "0"));
	expect_way(_metadata, backing, MADVISE, SIZE, 0);
	ASSERT_EQ(0, put(THRESHOLD, "8M\n"));
	expect_way(_metadata, backing, MADVISE, SIZE, PAGES(SIZE));
	ASSERT_EQ(0, put(NC_METHOD, "none\n"));
	expect_way(_metadata, backing, MADVISE, SIZE, 0);
}

TEST_F(path, by_size)
{
	size_t folio = variant->backing == MTHP ? SZ_64K : SZ_2M;
	size_t near = 1 + NEIGHBOURS;	/* the first page of each is touched */

	/* Nobody gives a hint, but the folio is as large by itself. */
	ASSERT_EQ(0, put_num(THRESHOLD, folio));
	expect_way(_metadata, variant->backing, DEMAND, SIZE,
		   PAGES(SIZE) - SIZE / folio * near);
	ASSERT_EQ(0, put_num(THRESHOLD, folio + 1));
	expect_way(_metadata, variant->backing, DEMAND, SIZE, 0);
}

TEST_F(path, methods)
{
	static const char * const methods[] = { "movnti", "clzero" };
	char chosen[64];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(methods); i++) {
		if (!listed(methods[i])) {
			TH_LOG("%s is not there on this CPU", methods[i]);
			EXPECT_EQ(EINVAL, put(NC_METHOD, methods[i]));
			continue;
		}
		ASSERT_EQ(0, put(NC_METHOD, methods[i]));
		get_chosen(NC_METHOD, chosen, sizeof(chosen));
		EXPECT_STREQ(methods[i], chosen);
		expect_way(_metadata, variant->backing, MADVISE, SIZE, PAGES(SIZE));
	}
}

FIXTURE(other)
{
};

FIXTURE_SETUP(other)
{
	const char *why = prepare();

	if (why) {
		/* There is no teardown after this. */
		restore_settings();
		SKIP(return, "%s", why);
	}
}

FIXTURE_TEARDOWN_PARENT(other)
{
	restore_settings();
}

TEST_F(other, fallocate)
{
	const char *why = prepare_pool(2 * SIZE);

	if (why)
		SKIP(return, "%s", why);
	expect_way(_metadata, HUGETLB, FALLOCATE, SIZE, PAGES(SIZE));
	expect_way(_metadata, HUGETLB, FALLOCATE, SIZE - SZ_2M, 0);
	ASSERT_EQ(0, put(THRESHOLD, "0"));
	expect_way(_metadata, HUGETLB, FALLOCATE, SIZE, 0);
}

TEST_F(other, pinned_memfd)
{
	const char *why = prepare_pool(2 * SIZE);

	if (why)
		SKIP(return, "%s", why);
	if (access("/dev/udmabuf", R_OK | W_OK))
		SKIP(return, "no /dev/udmabuf");
	expect_way(_metadata, HUGETLB, MEMFD_PIN, SIZE, PAGES(SIZE));
	expect_way(_metadata, HUGETLB, MEMFD_PIN, SIZE - SZ_2M, 0);
}

TEST_F(other, pinned_shmem)
{
	const char *why = prepare_thp(SHMEM);

	if (why)
		SKIP(return, "%s", why);
	if (access("/dev/udmabuf", R_OK | W_OK))
		SKIP(return, "no /dev/udmabuf");
	/* fallocate() knows of no mapping, and asks this one. */
	ASSERT_EQ(0, put(SHMEM_ENABLED, "always"));
	expect_way(_metadata, SHMEM, MEMFD_PIN, SIZE, PAGES(SIZE));
	expect_way(_metadata, SHMEM, MEMFD_PIN, SIZE - SZ_2M, 0);
}

/* Large by itself: all but what is about to be used, wherever that is. */
TEST_F(other, gigantic)
{
	const size_t pages[] = { 0, 1, 1000, PAGES(SZ_1G) / 2, PAGES(SZ_1G) - 1 };
	const size_t near[] = { 3, 4, 5, 5, 3 };
	struct counts before, after;
	unsigned int i;
	char *p;

	if (!have_pool(SZ_1G) || !pool_available(SZ_1G))
		SKIP(return, "no free huge page of 1 GB");

	for (i = 0; i < ARRAY_SIZE(pages); i++) {
		p = mmap(NULL, SZ_1G, PROT_READ | PROT_WRITE, MAP_PRIVATE |
			 MAP_ANONYMOUS | MAP_HUGETLB | MAP_HUGE_1GB, -1, 0);
		ASSERT_NE(MAP_FAILED, p);
		before = count();
		p[pages[i] * psize()] = 1;
		after = count();
		EXPECT_EQ(near[i], after.cached - before.cached)
			TH_LOG("fault on page %zu", pages[i]);
		EXPECT_EQ(PAGES(SZ_1G) - near[i],
			  after.non_caching - before.non_caching);
		munmap(p, SZ_1G);
	}
}

TEST_F(other, tracepoint)
{
	const char *why = prepare_pool(2 * SIZE);
	struct area a = { .backing = HUGETLB };
	unsigned int bulk = 0, demand = 0, lines = 0;
	char line[512], *p;
	FILE *f;

	if (why)
		SKIP(return, "%s", why);
	if (mkdir(TRACE, 0755) && errno != EEXIST)
		SKIP(return, "no tracefs, or not mounted");

	ASSERT_EQ(0, put(TRACE_EVENT, "1"));
	ASSERT_EQ(0, clear(&a, POPULATE, SIZE));
	done(&a, POPULATE, SIZE);
	ASSERT_EQ(0, clear(&a, DEMAND, SZ_2M));
	done(&a, DEMAND, SZ_2M);
	ASSERT_EQ(0, put(TRACE_EVENT, "0"));

	f = fopen(TRACE "/trace", "r");
	ASSERT_NE(NULL, f);
	while (fgets(line, sizeof(line), f)) {
		p = strstr(line, "folio_zero_user:");
		if (!p)
			continue;
		lines++;
		EXPECT_NE(NULL, strstr(p, "pfn=0x"));
		EXPECT_NE(NULL, strstr(p, "ns="));
		if (strstr(p, "order=9 index=0 method=movnti hint=bulk"))
			bulk++;
		if (strstr(p, "order=9 index=0 method=cached hint=demand"))
			demand++;
	}
	fclose(f);
	EXPECT_EQ(SIZE / SZ_2M, bulk);
	EXPECT_EQ(1, demand);
	EXPECT_EQ(SIZE / SZ_2M + 1, lines);
}

/* What is in brackets is what /proc/cpuinfo lets expect. */
TEST_F(other, method_shown)
{
	char info[8192], chosen[64], *p;
	const char *want = "unrolled";

	get_chosen(METHOD, chosen, sizeof(chosen));
	ASSERT_TRUE(read_file("/proc/cpuinfo", info, sizeof(info)));
	p = strstr(info, "flags\t");
	ASSERT_NE(NULL, p);
	p[strcspn(p, "\n")] = '\0';
	if (strstr(p, " rep_good"))
		want = "stosq";
	if (strstr(p, " erms"))
		want = "stosb";
	EXPECT_STREQ(want, chosen);
	EXPECT_EQ(!!strstr(p, " clzero"), listed("clzero"));
	EXPECT_TRUE(listed("none"));
	EXPECT_NE(0, put(METHOD, "stosq"));
}

TEST_F(other, bad_writes)
{
	static const char * const sizes[] = {
		"-1", "+1", "1x", "8M rubbish", "8MB", "0x1000", "rubbish", " 8M",
		"18446744073709551616", "16E", "99999999999T", "1.5M", "\n", "8M\n\n",
		"8388608\n\n", "8\nM", "automatic",
	};
	static const char * const methods[] = {
		"stosb", "MOVNTI", "movnti clzero", "rubbish", "1", "[movnti]",
		"mov", "movnti2", "\n",
	};
	char before[64], after[64];
	unsigned int i;
	int fd;

	get(THRESHOLD, before, sizeof(before));
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		EXPECT_EQ(EINVAL, put(THRESHOLD, sizes[i]))
			TH_LOG("\"%s\"", sizes[i]);
		get(THRESHOLD, after, sizeof(after));
		EXPECT_STREQ(before, after);
	}

	/* What comes after a NUL is not a part of the string, but was written. */
	fd = open(THRESHOLD, O_WRONLY);
	EXPECT_EQ(-1, write(fd, "4M\0rubbish", 10));
	EXPECT_EQ(EINVAL, errno);
	close(fd);
	get(THRESHOLD, after, sizeof(after));
	EXPECT_STREQ(before, after);

	get(NC_METHOD, before, sizeof(before));
	for (i = 0; i < ARRAY_SIZE(methods); i++) {
		EXPECT_EQ(EINVAL, put(NC_METHOD, methods[i]))
			TH_LOG("\"%s\"", methods[i]);
		get(NC_METHOD, after, sizeof(after));
		EXPECT_STREQ(before, after);
	}
}

TEST_F(other, no_permission)
{
	char before[64], after[64];
	int status;
	pid_t pid;

	get(THRESHOLD, before, sizeof(before));
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		if (setgid(65534) || setuid(65534))
			_exit(1);
		status = put(THRESHOLD, "4096");
		_exit(status == EACCES || status == EPERM ? 0 : 2);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	get(THRESHOLD, after, sizeof(after));
	EXPECT_STREQ(before, after);
}

/* Of the highest level that holds data, the largest there is. */
static unsigned long largest_cache(void)
{
	unsigned long size, largest = 0;
	char dir[96], path[128], type[32];
	unsigned int cpu, i, level, last;

	for (cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++) {
		size = 0;
		last = 0;
		for (i = 0; i < 8; i++) {
			snprintf(dir, sizeof(dir),
				 "/sys/devices/system/cpu/cpu%u/cache/index%u", cpu, i);
			snprintf(path, sizeof(path), "%s/level", dir);
			if (access(path, R_OK))
				break;
			level = read_num(path);
			snprintf(path, sizeof(path), "%s/type", dir);
			get(path, type, sizeof(type));
			if (!strcmp(type, "Instruction") || level <= last)
				continue;
			last = level;
			snprintf(path, sizeof(path), "%s/size", dir);
			size = read_num(path) << 10;
		}
		if (size > largest)
			largest = size;
	}
	return largest;
}

TEST_F(other, auto_threshold)
{
	unsigned long llc = largest_cache();
	char buf[64];

	if (!llc)
		SKIP(return, "the size of no cache is known");
	ASSERT_EQ(0, put(THRESHOLD, "auto"));
	get(THRESHOLD, buf, sizeof(buf));
	EXPECT_EQ(llc > 2 * SZ_2M ? llc : 2 * SZ_2M, strtoul(buf, NULL, 10));
	/* Without a method there is nothing to be large enough for. */
	ASSERT_EQ(0, put(NC_METHOD, "none"));
	get(THRESHOLD, buf, sizeof(buf));
	EXPECT_EQ(0, strtoul(buf, NULL, 10));
}

/* A CPU that comes back knows its cache, and what was chosen meanwhile. */
TEST_F(other, hotplug)
{
	const char *online = CPU1_ONLINE;
	unsigned long llc;
	char buf[64];
	cpu_set_t cpus;

	if (access(online, W_OK) || read_num(online) != 1)
		SKIP(return, "no CPU 1 to take away");
	ASSERT_EQ(0, put(THRESHOLD, "auto"));
	get(THRESHOLD, buf, sizeof(buf));
	llc = strtoul(buf, NULL, 10);
	llc = (llc + SZ_2M - 1) / SZ_2M * SZ_2M;
	if (!llc || llc > MAX_SIZE)
		SKIP(return, "the last-level cache is %lu MB", llc / SZ_1M);
	if (prepare_pool(llc))
		SKIP(return, "not enough huge pages for %lu MB", llc / SZ_1M);

	ASSERT_EQ(0, put(online, "0"));
	EXPECT_EQ(0, put(NC_METHOD, "none"));
	ASSERT_EQ(0, put(online, "1"));
	CPU_ZERO(&cpus);
	CPU_SET(1, &cpus);
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(cpus), &cpus));
	expect_way(_metadata, HUGETLB, MADVISE, llc, 0);

	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(cpus), &cpus));
	ASSERT_EQ(0, put(online, "0"));
	EXPECT_EQ(0, put(NC_METHOD, "movnti"));
	ASSERT_EQ(0, put(online, "1"));
	CPU_ZERO(&cpus);
	CPU_SET(1, &cpus);
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(cpus), &cpus));
	expect_way(_metadata, HUGETLB, MADVISE, llc, PAGES(llc));
}

static void save_settings(void)
{
	get_chosen(NC_METHOD, saved_method, sizeof(saved_method));
	get(THRESHOLD, saved_threshold, sizeof(saved_threshold));
	cpu1_online = !access(CPU1_ONLINE, W_OK) && read_num(CPU1_ONLINE) == 1;
	if (have_pool(SZ_2M))
		saved_pages = pool_read(SZ_2M, "nr_hugepages");
	saved_thp = thp_is_enabled();
	if (saved_thp)
		thp_save_settings();
}

int main(int argc, char **argv)
{
	if (!geteuid())
		save_settings();
	return run_tests(argc, argv);
}
