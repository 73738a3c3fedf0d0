// SPDX-License-Identifier: GPL-2.0
/*
 * Free huge pages that were cleared ahead: are they clear when somebody gets
 * them, does he get them without another clear, and do they stay free and to be
 * had in the meantime?
 *
 * The files "zero" and "zeroable" of a pool of huge pages are tested, with pages
 * of 2 MB unless said otherwise. Pages are filled with a pattern before they are
 * free. The counters in /proc/vmstat are of all of the system, and others clear
 * base pages all the time: what is counted here is whole huge pages.
 *
 * The settings are put back after each test, by its parent so that a test may
 * die.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/memfd.h>
#include <linux/mman.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "vm_util.h"
#include "clear_util.h"

#define PREZERO		"/sys/kernel/mm/prezero/"
#define POOL_2M		"/sys/kernel/mm/hugepages/hugepages-2048kB/"
#define POOL_1G		"/sys/kernel/mm/hugepages/hugepages-1048576kB/"
#define NODES		"/sys/devices/system/node/"
#define PAGES		16UL	/* in the pool, for most tests */
#define MAX_NODES	64

static char saved_enabled[16];
static unsigned long saved_pages;

/* Settings */

static unsigned long pool_get(const char *pool, const char *name)
{
	char path[160], buf[32];

	snprintf(path, sizeof(path), "%s%s", pool, name);
	get(path, buf, sizeof(buf));
	return strtoul(buf, NULL, 10);
}

static int pool_put(const char *pool, const char *name, const char *val)
{
	char path[160];

	snprintf(path, sizeof(path), "%s%s", pool, name);
	return put(path, val);
}

static int zero(const char *pool, unsigned long pages)
{
	char buf[32];

	snprintf(buf, sizeof(buf), "%lu\n", pages);
	return pool_put(pool, "zero", buf);
}

static unsigned long free_pages(void)
{
	return pool_get(POOL_2M, "free_hugepages");
}

static unsigned long dirty_pages(void)
{
	return pool_get(POOL_2M, "zeroable");
}

static unsigned long clear_pages(void)
{
	return free_pages() - dirty_pages();
}

static void restore_settings(void)
{
	if (geteuid())
		return;
	put(PREZERO "enabled", saved_enabled);
	put_num(POOL_2M "nr_hugepages", saved_pages);
}

/* Counters */

struct counts {
	unsigned long hit;
	unsigned long cleared;	/* for somebody who waited */
	unsigned long ahead;
};

static struct counts count(void)
{
	return (struct counts) {
		.hit = vm_counter("prezero_hit"),
		.cleared = vm_counter("clear_pages_cached") +
			   vm_counter("clear_pages_non_caching"),
		.ahead = vm_counter("prezero_cleared"),
	};
}

/* In whole huge pages of @size bytes. */
static struct counts since(const struct counts *before, size_t size)
{
	struct counts c = count();

	c.hit = (c.hit - before->hit) / (size / psize());
	c.cleared = (c.cleared - before->cleared) / (size / psize());
	c.ahead = (c.ahead - before->ahead) / (size / psize());
	return c;
}

/* Memory */

enum request { POPULATE, TOUCH, SHARED, FALLOCATE, MEMFD_PIN };

/* Returns NULL with errno set if it cannot be had. */
static char *get_pages(enum request how, unsigned long pages)
{
	const size_t size = pages * SZ_2M;
	int fd = -1, flags = MAP_PRIVATE | MAP_ANONYMOUS, err = 0;
	unsigned long i;
	char *p;

	if (how >= SHARED) {
		fd = memfd_create("prezero_hugetlb", MFD_HUGETLB | MFD_HUGE_2MB |
				  MFD_ALLOW_SEALING);
		flags = MAP_SHARED;
		if (fd < 0 || ftruncate(fd, size))
			return NULL;
	}
	if (how == FALLOCATE && fallocate(fd, 0, 0, size))
		err = errno;
	if (how == POPULATE || how == SHARED)
		flags |= MAP_POPULATE;

	p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		 flags | MAP_HUGETLB | MAP_HUGE_2MB, fd, 0);
	if (p == MAP_FAILED)
		err = errno;
	else if (how == MEMFD_PIN)
		err = pin_memfd(fd, 0, size);
	if (fd >= 0)
		close(fd);
	if (err) {
		if (p != MAP_FAILED)
			munmap(p, size);
		errno = err;
		return NULL;
	}

	for (i = 0; how == TOUCH && i < pages; i++)
		__atomic_store_n(p + i * SZ_2M + SZ_2M / 2, 0, __ATOMIC_RELAXED);
	return p;
}

/* All that is free holds the pattern then, and is known to be dirty. */
static int dirty_pool(void)
{
	unsigned long pages = free_pages() - pool_get(POOL_2M, "resv_hugepages");
	char *p = get_pages(POPULATE, pages);

	if (!p)
		return errno;
	memset(p, PATTERN, pages * SZ_2M);
	munmap(p, pages * SZ_2M);
	return 0;
}

/* On one node: there are clear pages for everybody, or for nobody. */
static void fill_pool(unsigned long pages)
{
	unsigned int node;
	char path[128];

	put_num(POOL_2M "nr_hugepages", 0);
	getcpu(NULL, &node);
	snprintf(path, sizeof(path),
		 NODES "node%u/hugepages/hugepages-2048kB/nr_hugepages", node);
	if (put_num(path, pages))
		put_num(POOL_2M "nr_hugepages", pages);
}

/* The tests */

FIXTURE(pool)
{
};

static const char *prepare(unsigned long pages)
{
	if (geteuid())
		return "needs root";
	if (access(POOL_2M "zero", F_OK))
		return "no huge pages of 2 MB, or they are not cleared ahead";
	if (access(POOL_2M "zero", W_OK))
		return "sysfs cannot be written to";
	if (put(PREZERO "enabled", "1"))
		return "pre-zeroing cannot be enabled";
	fill_pool(pages);
	if (pool_get(POOL_2M, "nr_hugepages") != pages || free_pages() != pages ||
	    pool_get(POOL_2M, "resv_hugepages"))
		return "not enough huge pages, or others use them";
	return dirty_pool() ? "cannot have all huge pages" : NULL;
}

FIXTURE_SETUP(pool)
{
	const char *why = prepare(PAGES);

	if (why) {
		/* There is no teardown after this. */
		restore_settings();
		SKIP(return, "%s", why);
	}
}

FIXTURE_TEARDOWN_PARENT(pool)
{
	restore_settings();
}

TEST_F(pool, zeroable)
{
	struct counts before = count();
	struct counts now;

	EXPECT_EQ(PAGES, dirty_pages());
	ASSERT_EQ(0, zero(POOL_2M, 3));
	EXPECT_EQ(PAGES - 3, dirty_pages());
	EXPECT_EQ(PAGES, free_pages());
	now = since(&before, SZ_2M);
	EXPECT_EQ(3, now.ahead);

	/* Nothing to be done. */
	ASSERT_EQ(0, zero(POOL_2M, 0));
	EXPECT_EQ(PAGES - 3, dirty_pages());

	/* More than is left. */
	ASSERT_EQ(0, zero(POOL_2M, PAGES));
	EXPECT_EQ(0, dirty_pages());
	EXPECT_EQ(PAGES, free_pages());
	ASSERT_EQ(0, zero(POOL_2M, PAGES));
	now = since(&before, SZ_2M);
	EXPECT_EQ(PAGES, now.ahead);
	EXPECT_EQ(0, now.cleared);

	/* What has been used is dirty. */
	ASSERT_EQ(0, dirty_pool());
	EXPECT_EQ(PAGES, dirty_pages());
}

FIXTURE(request)
{
};

FIXTURE_VARIANT(request)
{
	enum request how;
};

FIXTURE_VARIANT_ADD(request, populate) { .how = POPULATE };
FIXTURE_VARIANT_ADD(request, touch) { .how = TOUCH };
FIXTURE_VARIANT_ADD(request, shared) { .how = SHARED };
FIXTURE_VARIANT_ADD(request, fallocate) { .how = FALLOCATE };
FIXTURE_VARIANT_ADD(request, memfd_pin) { .how = MEMFD_PIN };

FIXTURE_SETUP(request)
{
	const char *why = prepare(PAGES);

	if (!why && variant->how == MEMFD_PIN && access("/dev/udmabuf", R_OK | W_OK))
		why = "no /dev/udmabuf";
	if (why) {
		/* There is no teardown after this. */
		restore_settings();
		SKIP(return, "%s", why);
	}
}

FIXTURE_TEARDOWN_PARENT(request)
{
	restore_settings();
}

/* @pages are asked for, with @clear in the pool. */
static void expect_served(struct __test_metadata *_metadata, enum request how,
			  unsigned long pages, unsigned long clear)
{
	const unsigned long hits = clear < pages ? clear : pages;
	struct counts before, now;
	char *p;

	ASSERT_EQ(0, dirty_pool());
	ASSERT_EQ(0, zero(POOL_2M, clear));
	EXPECT_EQ(clear, clear_pages());

	before = count();
	p = get_pages(how, pages);
	ASSERT_NE(NULL, p);
	now = since(&before, SZ_2M);
	EXPECT_EQ(hits, now.hit);
	EXPECT_EQ(pages - hits, now.cleared);
	EXPECT_EQ(clear - hits, clear_pages());
	EXPECT_TRUE(is_zero(p, pages * SZ_2M));

	memset(p, PATTERN, pages * SZ_2M);
	munmap(p, pages * SZ_2M);
	EXPECT_EQ(clear - hits, clear_pages());
	EXPECT_EQ(PAGES, free_pages());
}

TEST_F(request, served)
{
	expect_served(_metadata, variant->how, PAGES, PAGES);
	expect_served(_metadata, variant->how, PAGES, 5);
	expect_served(_metadata, variant->how, 4, 5);
	expect_served(_metadata, variant->how, 1, 1);
	expect_served(_metadata, variant->how, 3, 0);
}

/* A copy needs no clear page. */
TEST_F(pool, copy)
{
	int status;
	pid_t pid;
	char *p;

	ASSERT_EQ(0, zero(POOL_2M, 5));
	p = get_pages(POPULATE, 1);
	ASSERT_NE(NULL, p);
	memset(p, PATTERN, SZ_2M);
	EXPECT_EQ(4, clear_pages());

	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		p[0] = 1;
		if (free_pages() != PAGES - 2)
			_exit(1);
		if (clear_pages() != 4)
			_exit(2);
		_exit(p[SZ_2M - 1] == (char)PATTERN ? 0 : 3);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	munmap(p, SZ_2M);
	EXPECT_EQ(4, clear_pages());

	/* Not even if there is no other: it is dirty when it comes back. */
	ASSERT_EQ(0, zero(POOL_2M, PAGES));
	p = get_pages(POPULATE, 1);
	ASSERT_NE(NULL, p);
	memset(p, PATTERN, SZ_2M);
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		p[0] = 1;
		_exit(clear_pages() == PAGES - 2 ? 0 : 1);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	munmap(p, SZ_2M);
	EXPECT_EQ(PAGES - 2, clear_pages());
	p = get_pages(POPULATE, PAGES);
	ASSERT_NE(NULL, p);
	EXPECT_TRUE(is_zero(p, PAGES * SZ_2M));
}

/* The dirty ones go first, and what goes and comes back is not clear. */
TEST_F(pool, resize)
{
	char *p;

	ASSERT_EQ(0, zero(POOL_2M, 5));
	ASSERT_EQ(0, pool_put(POOL_2M, "nr_hugepages", "5"));
	EXPECT_EQ(5, free_pages());
	EXPECT_EQ(0, dirty_pages());
	ASSERT_EQ(0, pool_put(POOL_2M, "nr_hugepages", "2"));
	EXPECT_EQ(2, free_pages());
	EXPECT_EQ(0, dirty_pages());

	ASSERT_EQ(0, put_num(POOL_2M "nr_hugepages", PAGES));
	ASSERT_EQ(PAGES, free_pages());
	EXPECT_LE(2, clear_pages());
	p = get_pages(POPULATE, PAGES);
	ASSERT_NE(NULL, p);
	EXPECT_TRUE(is_zero(p, PAGES * SZ_2M));
}

/* What is clear already when the pool gets it. */
TEST_F(pool, grow)
{
	unsigned long clear, before;
	struct counts counts;
	char size[32], *p;

	/* Leave some to work with, but twice as many as are asked for. */
	snprintf(size, sizeof(size), "%luM", 2 * 2 * PAGES);
	ASSERT_EQ(0, put_num(POOL_2M "nr_hugepages", 0));
	ASSERT_EQ(0, put(PREZERO "run", size));
	counts = count();
	ASSERT_EQ(0, put_num(POOL_2M "nr_hugepages", PAGES));
	ASSERT_EQ(PAGES, free_pages());
	clear = clear_pages();
	if (!clear)
		SKIP(return, "no free memory was known to be clear");
	TH_LOG("%lu of %lu pages are clear", clear, PAGES);

	/* Nobody has been served yet. */
	before = since(&counts, SZ_2M).hit;
	EXPECT_EQ(0, before);
	p = get_pages(POPULATE, PAGES);
	ASSERT_NE(NULL, p);
	EXPECT_EQ(clear, since(&counts, SZ_2M).hit);
	EXPECT_TRUE(is_zero(p, PAGES * SZ_2M));
}

TEST_F(pool, disabled)
{
	ASSERT_EQ(0, zero(POOL_2M, 4));
	ASSERT_EQ(0, put(PREZERO "enabled", "0"));
	EXPECT_EQ(PAGES, dirty_pages());
	EXPECT_EQ(EPERM, zero(POOL_2M, 1));
	EXPECT_EQ(EINVAL, zero(POOL_2M, PAGES + 1));
	EXPECT_EQ(PAGES, dirty_pages());

	/* Nothing is remembered from before. */
	ASSERT_EQ(0, put(PREZERO "enabled", "1"));
	EXPECT_EQ(PAGES, dirty_pages());
	ASSERT_EQ(0, zero(POOL_2M, 1));
	EXPECT_EQ(PAGES - 1, dirty_pages());
}

TEST_F(pool, bad_writes)
{
	static const char * const values[] = {
		"-1", "+1", " 1", "1 ", "1x", "x", "0x1", "1K", "1M", "1.0", "1,1",
		"1 1", "\n", "1\n\n", "1\n1", "18446744073709551615",
		"18446744073709551616", "99999999999999999999999999", "all",
	};
	unsigned int i;
	char buf[32];

	for (i = 0; i < ARRAY_SIZE(values); i++) {
		EXPECT_EQ(EINVAL, pool_put(POOL_2M, "zero", values[i]))
			TH_LOG("\"%s\"", values[i]);
		EXPECT_EQ(PAGES, dirty_pages());
	}

	/* What comes after a NUL is not a part of the string, but was written. */
	EXPECT_EQ(EINVAL, put_bytes(POOL_2M "zero", "1\0rubbish", 9));
	EXPECT_EQ(EINVAL, put_bytes(POOL_2M "zero", "1\0", 2));
	EXPECT_EQ(EINVAL, zero(POOL_2M, PAGES + 1));
	EXPECT_EQ(PAGES, dirty_pages());

	snprintf(buf, sizeof(buf), "%lu", PAGES);
	EXPECT_EQ(0, pool_put(POOL_2M, "zero", buf));
	EXPECT_EQ(0, dirty_pages());
}

TEST_F(pool, permissions)
{
	struct stat st;
	int status;
	pid_t pid;

	ASSERT_EQ(0, stat(POOL_2M "zero", &st));
	EXPECT_EQ(0200, st.st_mode & 07777);
	ASSERT_EQ(0, stat(POOL_2M "zeroable", &st));
	EXPECT_EQ(0444, st.st_mode & 07777);

	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		if (setgid(65534) || setuid(65534))
			_exit(1);
		status = zero(POOL_2M, 1);
		_exit(status == EACCES || status == EPERM ? 0 : 2);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(PAGES, dirty_pages());
}

TEST_F(pool, nodes)
{
	unsigned long pages, left = PAGES;
	unsigned int nid, nodes = 0;
	char node[128];

	/* Each has some. */
	put_num(POOL_2M "nr_hugepages", 0);
	ASSERT_EQ(0, put_num(POOL_2M "nr_hugepages", PAGES));
	ASSERT_EQ(0, dirty_pool());
	ASSERT_EQ(PAGES, dirty_pages());

	for (nid = 0; nid < MAX_NODES; nid++) {
		snprintf(node, sizeof(node),
			 NODES "node%u/hugepages/hugepages-2048kB/", nid);
		if (access(node, F_OK))
			continue;
		nodes++;
		pages = pool_get(node, "nr_hugepages");
		EXPECT_EQ(pages, pool_get(node, "zeroable"));
		EXPECT_EQ(EINVAL, zero(node, pages + 1));
		EXPECT_EQ(EINVAL, pool_put(node, "zero", "-1"));
		if (!pages)
			continue;

		ASSERT_EQ(0, zero(node, 1));
		EXPECT_EQ(pages - 1, pool_get(node, "zeroable"));
		EXPECT_EQ(left - 1, dirty_pages());
		ASSERT_EQ(0, zero(node, pages));
		EXPECT_EQ(0, pool_get(node, "zeroable"));
		EXPECT_EQ(pages, pool_get(node, "free_hugepages"));
		left -= pages;
		EXPECT_EQ(left, dirty_pages());
	}

	if (!nodes)
		SKIP(return, "no nodes");
	EXPECT_EQ(0, left);
	TH_LOG("%u nodes", nodes);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/* Returns how often, or -1 if it saw what others had written. */
static int use_pages(enum request how, double until)
{
	int used = 0;
	bool clear;
	char *p;

	while (now() < until) {
		p = get_pages(how, 2);
		if (!p)
			continue;
		clear = is_zero(p, 2 * SZ_2M);
		memset(p, PATTERN, 2 * SZ_2M);
		munmap(p, 2 * SZ_2M);
		if (!clear)
			return -1;
		used++;
	}
	return used;
}

/* All at once: pages come and go while they are being cleared. */
TEST_F(pool, concurrent)
{
	const double until = now() + 8;
	const int writers = 3, users = 3;
	unsigned long size = PAGES;
	pid_t pids[writers + users];
	int i, status;

	for (i = 0; i < writers + users; i++) {
		pids[i] = fork();
		ASSERT_GE(pids[i], 0);
		if (pids[i])
			continue;
		if (i >= writers) {
			status = use_pages(i % 2 ? POPULATE : FALLOCATE, until);
			_exit(status < 0 ? 1 : status ? 0 : 2);
		}
		while (now() < until) {
			status = zero(POOL_2M, i + 1);
			/* The pool may be small now, or off. */
			if (status && status != EINVAL && status != EPERM &&
			    status != EBUSY)
				_exit(status);
		}
		_exit(0);
	}

	while (now() < until) {
		size = size == PAGES ? PAGES - 6 : PAGES;
		put_num(POOL_2M "nr_hugepages", size);
		usleep(20000);
		if (size == PAGES) {
			put(PREZERO "enabled", "0");
			put(PREZERO "enabled", "1");
		}
	}

	for (i = 0; i < writers + users; i++) {
		ASSERT_EQ(pids[i], waitpid(pids[i], &status, 0));
		EXPECT_EQ(0, status)
			TH_LOG("%s %d", i < writers ? "writer" : "user", i);
	}
	put_num(POOL_2M "nr_hugepages", PAGES);
	EXPECT_EQ(PAGES, free_pages());
	ASSERT_EQ(0, zero(POOL_2M, PAGES));
	EXPECT_EQ(0, dirty_pages());
	EXPECT_NE(-1, use_pages(POPULATE, now() + 0.5));
}

/* A page that is being cleared can be had, and is clear or is cleared. */
TEST_F(pool, all_at_once)
{
	int i, status;
	pid_t pid;
	char *p;

	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, dirty_pool());
		pid = fork();
		ASSERT_GE(pid, 0);
		if (!pid)
			_exit(zero(POOL_2M, PAGES));
		usleep(i * 500);
		p = get_pages(POPULATE, PAGES);
		ASSERT_NE(NULL, p);
		EXPECT_TRUE(is_zero(p, PAGES * SZ_2M));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(0, status);
		EXPECT_EQ(0, free_pages());
		EXPECT_EQ(0, dirty_pages());
		munmap(p, PAGES * SZ_2M);
		EXPECT_EQ(PAGES, free_pages());
	}
}

TEST_F(pool, killed)
{
	const unsigned long pages = SZ_1G / SZ_2M;
	unsigned long dirty;
	double start;
	int status;
	pid_t pid;
	char *p;

	put_num(POOL_2M "nr_hugepages", pages);
	if (free_pages() != pages)
		SKIP(return, "not 1 GB of huge pages");
	ASSERT_EQ(0, dirty_pool());

	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid)
		_exit(zero(POOL_2M, pages));
	start = now();
	while (dirty_pages() > pages - 2 && now() < start + 30)
		;
	start = now();
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_LT(now() - start, 1.0);
	if (WIFEXITED(status))
		SKIP(return, "all was clear before");
	EXPECT_EQ(SIGKILL, WTERMSIG(status));

	dirty = dirty_pages();
	TH_LOG("%lu of %lu pages are clear", pages - dirty, pages);
	EXPECT_GT(pages, dirty);
	EXPECT_LT(0, dirty);
	EXPECT_EQ(pages, free_pages());
	usleep(100000);
	EXPECT_EQ(dirty, dirty_pages());

	p = get_pages(POPULATE, pages);
	ASSERT_NE(NULL, p);
	EXPECT_TRUE(is_zero(p, pages * SZ_2M));
}

TEST_F(pool, gigantic)
{
	unsigned long dirty = pool_get(POOL_1G, "zeroable");
	struct counts before;
	unsigned int i;
	char *p;

	if (!dirty)
		SKIP(return, "no free huge page of 1 GB");

	/* Dirty it the first time, and see that it is clear the second. */
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, zero(POOL_1G, 1));
		EXPECT_EQ(dirty - 1, pool_get(POOL_1G, "zeroable"));
		before = count();
		p = mmap(NULL, SZ_1G, PROT_READ | PROT_WRITE, MAP_PRIVATE |
			 MAP_ANONYMOUS | MAP_HUGETLB | MAP_HUGE_1GB | MAP_POPULATE,
			 -1, 0);
		ASSERT_NE(MAP_FAILED, p);
		EXPECT_EQ(1, since(&before, SZ_1G).hit);
		EXPECT_EQ(0, since(&before, SZ_1G).cleared);
		EXPECT_TRUE(is_zero(p, SZ_1G));
		memset(p, PATTERN, SZ_1G);
		munmap(p, SZ_1G);
		EXPECT_EQ(dirty, pool_get(POOL_1G, "zeroable"));
	}
}

int main(int argc, char **argv)
{
	if (!geteuid()) {
		get(PREZERO "enabled", saved_enabled, sizeof(saved_enabled));
		saved_pages = pool_get(POOL_2M, "nr_hugepages");
	}
	return run_tests(argc, argv);
}
