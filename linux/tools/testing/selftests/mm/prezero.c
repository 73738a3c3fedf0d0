// SPDX-License-Identifier: GPL-2.0
/*
 * Free memory that is cleared before it is asked for.
 *
 * Whoever gets it must find zeroes in all of it, no matter who had it before and
 * what happens at the same time; the counters in /proc/vmstat tell who was served
 * with it. They are about all of the system, so expectations have some slack.
 *
 * The settings are put back after each test, by its parent so that a test may
 * die.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "vm_util.h"
#include "clear_util.h"

#define SIZE		(128 * SZ_1M)	/* of most requests */
#define SLACK		(4 * SZ_1M)	/* what others may allocate meanwhile */
#define PATIENCE	180	/* seconds, for all of memory again and again */

#define DIR		"/sys/kernel/mm/prezero/"
#define ENABLED		DIR "enabled"
#define ORDER		DIR "order"
#define RUN		DIR "run"
#define BACKGROUND	DIR "background"
#define BATCH_SIZE	DIR "batch_size"
#define DELAY		DIR "delay_millisecs"
#define MAX_PERCENT	DIR "max_percent"

#define REPORTING	"/sys/kernel/mm/page_reporting/"

static const char * const files[] = {
	BACKGROUND, ENABLED, ORDER, BATCH_SIZE, DELAY, MAX_PERCENT,
};

static char saved[ARRAY_SIZE(files)][32];
static char saved_reporting[2][32];
static bool saved_thp;

/* Settings */

static void restore_settings(void)
{
	unsigned int i;

	if (geteuid())
		return;
	for (i = 0; i < ARRAY_SIZE(files); i++)
		put(files[i], saved[i]);
	put(REPORTING "order", saved_reporting[0]);
	put(REPORTING "delay_millisecs", saved_reporting[1]);
	if (saved_thp)
		thp_restore_settings();
}

/* Counters, in bytes */

static unsigned long count(const char *name)
{
	/* What the CPUs have not yet added. */
	put("/proc/sys/vm/stat_refresh", "1");
	return vm_counter(name) * psize();
}

static unsigned long cleared_for_users(void)
{
	return count("clear_pages_cached") + count("clear_pages_non_caching");
}

static unsigned long free_bytes(void)
{
	return sysconf(_SC_AVPHYS_PAGES) * psize();
}

/* More than is free, and just not too much to ask for. */
static unsigned long all_memory(void)
{
	return sysconf(_SC_PHYS_PAGES) * psize();
}

/* The sum of what the zones have on their free lists. */
static unsigned long buddy_bytes(void)
{
	char line[512], *p;
	unsigned long sum = 0;
	FILE *f = fopen("/proc/buddyinfo", "r");
	int order;

	/* "Node 0, zone    DMA32   1   2 ..." */
	while (f && fgets(line, sizeof(line), f)) {
		strtok(line, "\n ");
		for (order = -3; (p = strtok(NULL, "\n ")); order++) {
			if (order >= 0)
				sum += strtoul(p, NULL, 10) << order;
		}
	}
	if (f)
		fclose(f);
	return sum * psize();
}

/* Memory */

enum backing { BASE, MTHP, THP, SHMEM };

struct area {
	enum backing backing;
	char *map;	/* as mmap() gave it */
	char *mem;	/* aligned in there */
	size_t size;
};

static bool area_map(struct area *a, int backing, size_t size)
{
	int flags = backing == SHMEM ? MAP_SHARED : MAP_PRIVATE;

	a->backing = backing;
	a->size = size;
	a->map = mmap(NULL, size + SZ_2M, PROT_READ | PROT_WRITE,
		      flags | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (a->map == MAP_FAILED)
		return false;
	a->mem = (char *)(((uintptr_t)a->map + SZ_2M - 1) & ~(SZ_2M - 1));
	if (backing == BASE)
		madvise(a->map, size + SZ_2M, MADV_NOHUGEPAGE);
	return true;
}

static int area_populate(struct area *a)
{
	return madvise(a->mem, a->size, MADV_POPULATE_WRITE) ? errno : 0;
}

static void area_free(struct area *a)
{
	munmap(a->map, a->size + SZ_2M);
}

/* Leave something in free memory that must not be seen again. */
static void dirty(enum backing backing, size_t size)
{
	struct area a;

	if (!area_map(&a, backing, size))
		return;
	if (!area_populate(&a))
		memset(a.mem, PATTERN, size);
	area_free(&a);
}

static const char *prepare(void)
{
	if (geteuid())
		return "needs root";
	if (access(ENABLED, F_OK))
		return "no pre-zeroing in this kernel";
	if (access(ENABLED, W_OK))
		return "sysfs cannot be written to";
	/* What an earlier test has left is not to be there. */
	if (put(BACKGROUND, "0") || put(ENABLED, "0"))
		return "cannot be set up";
	switch (put(ENABLED, "1")) {
	case 0:
		return NULL;
	case EOPNOTSUPP:
		return "page poisoning or debug_pagealloc is on";
	default:
		return "cannot be enabled";
	}
}

static const char *prepare_thp(enum backing backing)
{
	if (backing == BASE)
		return NULL;
	return choose_thp(backing == MTHP ? SZ_64K : SZ_2M, backing == SHMEM);
}

/*
 * What has been reported to the hypervisor is left alone, so it cannot be told
 * then how much is going to be clear.
 */
static bool reporting(void)
{
	char buf[32];

	get(REPORTING "order", buf, sizeof(buf));
	return *buf && strcmp(buf, "-1");
}

/* The tests */

FIXTURE(consumer)
{
};

FIXTURE_VARIANT(consumer)
{
	enum backing backing;
};

FIXTURE_VARIANT_ADD(consumer, base) { .backing = BASE };
FIXTURE_VARIANT_ADD(consumer, mthp) { .backing = MTHP };
FIXTURE_VARIANT_ADD(consumer, thp) { .backing = THP };
FIXTURE_VARIANT_ADD(consumer, shmem) { .backing = SHMEM };

FIXTURE_SETUP(consumer)
{
	const char *why = prepare();

	if (!why)
		why = prepare_thp(variant->backing);
	if (why) {
		/* There is no teardown after this. */
		restore_settings();
		SKIP(return, "%s", why);
	}
}

FIXTURE_TEARDOWN_PARENT(consumer)
{
	restore_settings();
}

TEST_F(consumer, populate)
{
	unsigned long before, hit, cleared, for_users;
	struct area a;

	if (reporting())
		SKIP(return, "free memory is reported to the hypervisor");
	dirty(variant->backing, 2 * SIZE);
	cleared = count("prezero_cleared");
	ASSERT_EQ(0, put_num(RUN, SIZE));
	EXPECT_GE(count("prezero_cleared") - cleared, SIZE);
	EXPECT_LE(count("prezero_cleared") - cleared, SIZE + SLACK);
	/* The smallest block that will do is taken first, clear or not. */
	ASSERT_EQ(0, put(ORDER, "0"));
	ASSERT_EQ(0, put_num(RUN, all_memory()));
	before = count("nr_prezeroed");

	hit = count("prezero_hit");
	for_users = cleared_for_users();
	ASSERT_TRUE(area_map(&a, variant->backing, SIZE));
	ASSERT_EQ(0, area_populate(&a));
	EXPECT_GE(count("prezero_hit") - hit, SIZE - SLACK);
	EXPECT_LE(cleared_for_users() - for_users, SLACK);
	EXPECT_LE(count("nr_prezeroed"), before - SIZE + SLACK);
	EXPECT_TRUE(is_zero(a.mem, SIZE));

	/* What comes back is dirty, and nobody says otherwise. */
	memset(a.mem, PATTERN, SIZE);
	area_free(&a);
	EXPECT_LE(count("nr_prezeroed"), before - SIZE + SLACK);
	ASSERT_TRUE(area_map(&a, variant->backing, 3 * SIZE));
	ASSERT_EQ(0, area_populate(&a));
	EXPECT_TRUE(is_zero(a.mem, 3 * SIZE));
	area_free(&a);
}

TEST_F(consumer, disabled)
{
	unsigned long hit, miss;
	struct area a;

	ASSERT_EQ(0, put_num(RUN, 2 * SIZE));
	ASSERT_EQ(0, put(ENABLED, "0"));
	EXPECT_LE(count("nr_prezeroed"), 0);
	hit = count("prezero_hit");
	miss = count("prezero_miss");
	ASSERT_TRUE(area_map(&a, variant->backing, SIZE));
	ASSERT_EQ(0, area_populate(&a));
	/* The lists of a CPU may still hold a few. */
	EXPECT_LE(count("prezero_hit") - hit, SLACK);
	EXPECT_GE(count("prezero_miss") - miss, SIZE - SLACK);
	EXPECT_TRUE(is_zero(a.mem, SIZE));
	area_free(&a);
}

FIXTURE(prezero)
{
};

FIXTURE_SETUP(prezero)
{
	const char *why = prepare();

	if (!why)
		why = prepare_thp(THP);
	if (why) {
		/* There is no teardown after this. */
		restore_settings();
		SKIP(return, "%s", why);
	}
}

FIXTURE_TEARDOWN_PARENT(prezero)
{
	restore_settings();
}

TEST_F(prezero, off)
{
	unsigned long cleared;

	ASSERT_EQ(0, put(ENABLED, "0"));
	cleared = count("prezero_cleared");
	EXPECT_EQ(EPERM, put(RUN, "1M"));
	EXPECT_EQ(0, put(BACKGROUND, "1"));
	EXPECT_EQ(0, put(DELAY, "0"));
	usleep(300000);
	EXPECT_EQ(cleared, count("prezero_cleared"));
	EXPECT_EQ(0, count("nr_prezeroed"));
}

TEST_F_TIMEOUT(prezero, run_all, PATIENCE)
{
	unsigned long before, last;
	char buf[32];

	if (reporting())
		SKIP(return, "free memory is reported to the hypervisor");
	dirty(THP, SIZE);
	before = count("prezero_cleared");
	ASSERT_EQ(0, put(ORDER, "0"));
	ASSERT_EQ(0, put_num(RUN, all_memory()));
	get(RUN, buf, sizeof(buf));
	last = strtoul(buf, NULL, 10);
	EXPECT_EQ(count("prezero_cleared") - before, last);
	EXPECT_LE(last, free_bytes() + SLACK);
	EXPECT_GE(count("nr_prezeroed"), free_bytes() / 10 * 8);

	/* And there is nothing left to do. */
	before = count("prezero_cleared");
	ASSERT_EQ(0, put_num(RUN, SIZE));
	EXPECT_LE(count("prezero_cleared") - before, SLACK);
	ASSERT_EQ(0, put(RUN, "0"));
	get(RUN, buf, sizeof(buf));
	EXPECT_STREQ("0", buf);
}

static void *watch_free(void *arg)
{
	unsigned long *least = arg, now;

	while (!__atomic_load_n(&least[2], __ATOMIC_RELAXED)) {
		now = free_bytes();
		if (now < least[0])
			least[0] = now;
		now = buddy_bytes();
		if (now < least[1])
			least[1] = now;
	}
	return NULL;
}

TEST_F(prezero, stays_free)
{
	unsigned long least[3], before[2];
	pthread_t thread;

	/* Which takes it out of the free lists for a while. */
	if (reporting())
		SKIP(return, "free memory is reported to the hypervisor");
	dirty(THP, 4 * SIZE);
	before[0] = free_bytes();
	before[1] = buddy_bytes();
	memcpy(least, before, sizeof(before));
	least[2] = 0;
	ASSERT_EQ(0, pthread_create(&thread, NULL, watch_free, least));
	EXPECT_EQ(0, put_num(RUN, 8 * SIZE));
	__atomic_store_n(&least[2], 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	EXPECT_GE(least[0] + SZ_1M, before[0]);
	EXPECT_GE(least[1] + SZ_1M, before[1]);
}

static void all_is_clear(struct __test_metadata *_metadata, size_t size)
{
	struct area a;

	ASSERT_TRUE(area_map(&a, THP, size));
	ASSERT_EQ(0, area_populate(&a));
	EXPECT_TRUE(is_zero(a.mem, size));
	area_free(&a);
}

/* Memory that is given back to the hypervisor, and memory that is cleared. */
TEST_F_TIMEOUT(prezero, reported, PATIENCE)
{
	if (!reporting())
		SKIP(return, "nothing is reported to a hypervisor");
	ASSERT_EQ(0, put(ORDER, "0"));
	ASSERT_EQ(0, put(REPORTING "delay_millisecs", "0"));
	ASSERT_EQ(0, put(REPORTING "order", "3"));
	for (int i = 0; i < 10; i++) {
		dirty(THP, 2 * SIZE);
		EXPECT_EQ(0, put_num(RUN, all_memory()));
		all_is_clear(_metadata, 3 * SIZE);
	}
}

/* Writers of "run", and others that use what these work on. */
static int use_memory(unsigned int seed, unsigned int seconds)
{
	time_t end = time(NULL) + seconds;
	struct area a;
	size_t size;

	while (time(NULL) < end) {
		seed = seed * 1103515245 + 12345;
		size = (1 + (seed >> 16) % 32) * SZ_2M;
		if (!area_map(&a, (seed >> 8) % 4, size))
			return 2;
		if (!area_populate(&a)) {
			if (!is_zero(a.mem, size))
				return 1;
			memset(a.mem, PATTERN, size);
		}
		area_free(&a);
	}
	return 0;
}

static int run_again_and_again(unsigned int seconds)
{
	time_t end = time(NULL) + seconds;

	while (time(NULL) < end) {
		if (put(RUN, "256M"))
			return 3;
		/* Some of what is clear becomes dirty, too. */
		usleep(1000);
	}
	return 0;
}

TEST_F_TIMEOUT(prezero, all_at_once, PATIENCE)
{
	const unsigned int seconds = 5, tasks = 8;
	unsigned int i;
	int status;
	pid_t pid;

	ASSERT_EQ(0, put(ORDER, "4"));
	ASSERT_EQ(0, put(DELAY, "0"));
	ASSERT_EQ(0, put(MAX_PERCENT, "100"));
	ASSERT_EQ(0, put(BACKGROUND, "1"));
	for (i = 0; i < tasks; i++) {
		pid = fork();
		ASSERT_GE(pid, 0);
		if (!pid)
			_exit(i % 2 ? use_memory(i, seconds) :
				      run_again_and_again(seconds));
	}
	for (i = 0; i < tasks; i++) {
		ASSERT_GT(wait(&status), 0);
		EXPECT_EQ(0, status);
	}
}

/* On and off, while somebody runs and somebody uses it. */
TEST_F_TIMEOUT(prezero, toggled, PATIENCE)
{
	unsigned int i;
	int status;
	pid_t pid[2];

	for (i = 0; i < 2; i++) {
		pid[i] = fork();
		ASSERT_GE(pid[i], 0);
		if (!pid[i] && i)
			_exit(use_memory(1, 3));
		if (!pid[i])
			for (;;)
				put(RUN, "1G");
	}
	for (i = 0; i < 100; i++) {
		EXPECT_EQ(0, put(ENABLED, i % 2 ? "1" : "0"));
		if (!(i % 2))
			EXPECT_EQ(0, count("nr_prezeroed"));
		usleep(20000);
	}
	kill(pid[0], SIGKILL);
	EXPECT_EQ(pid[0], waitpid(pid[0], &status, 0));
	EXPECT_EQ(pid[1], waitpid(pid[1], &status, 0));
	EXPECT_EQ(0, status);
}

TEST_F(prezero, killed)
{
	struct timespec before, after;
	unsigned long cleared;
	int status;
	pid_t pid;

	dirty(THP, 4 * SIZE);
	cleared = count("prezero_cleared");
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid)
		_exit(put_num(RUN, all_memory()));
	do {
		if (waitpid(pid, &status, WNOHANG) == pid) {
			EXPECT_EQ(0, status);
			SKIP(return, "all was clear before");
		}
	} while (count("prezero_cleared") == cleared);
	clock_gettime(CLOCK_MONOTONIC, &before);
	kill(pid, SIGKILL);
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	clock_gettime(CLOCK_MONOTONIC, &after);
	if (!status)
		SKIP(return, "all was clear before");
	EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		TH_LOG("it failed: %x", status);
	EXPECT_LE(after.tv_sec - before.tv_sec, 1);
	/* What it has left half done is nobody's. */
	EXPECT_EQ(0, put_num(RUN, 8 * SIZE));
}

TEST_F(prezero, background)
{
	unsigned long before, after;
	unsigned int i;

	if (reporting())
		SKIP(return, "free memory is reported to the hypervisor");
	dirty(THP, 4 * SIZE);
	ASSERT_EQ(0, put(MAX_PERCENT, "20"));
	ASSERT_EQ(0, put(DELAY, "1"));
	ASSERT_EQ(0, put(BACKGROUND, "1"));
	for (i = 0; i < 100 && count("nr_prezeroed") < free_bytes() / 10; i++)
		usleep(100000);
	EXPECT_GE(count("nr_prezeroed"), free_bytes() / 10);

	/* It ceases at the limit, give or take a batch in each zone. */
	for (i = 0; i < 100; i++) {
		before = count("prezero_cleared");
		usleep(300000);
		after = count("prezero_cleared");
		if (before == after)
			break;
	}
	EXPECT_EQ(before, after);
	EXPECT_LE(count("nr_prezeroed"), free_bytes() / 4);

	/* And it ceases when told to. */
	ASSERT_EQ(0, put(MAX_PERCENT, "100"));
	ASSERT_EQ(0, put(BACKGROUND, "0"));
	before = count("prezero_cleared");
	usleep(300000);
	EXPECT_EQ(before, count("prezero_cleared"));
}

TEST_F(prezero, bad_writes)
{
	static const char * const bad[] = {
		"", "\n", "-1", "+1", "x", "1x", "0x1", "1 2", " 1", "1\n\n", "1.5",
		"18446744073709551616", "99999999999999999999",
	};
	static const struct {
		const char *path;
		const char *val;
	} out_of_range[] = {
		{ ENABLED, "2" }, { BACKGROUND, "2" }, { ORDER, "64" },
		{ BATCH_SIZE, "0" }, { MAX_PERCENT, "101" },
		{ DELAY, "4294967295" }, { RUN, "16E" }, { RUN, "15E" },
		{ RUN, "999999T" }, { RUN, "1MB" },
	};
	char before[32], after[32];
	unsigned int i, j;

	for (j = 0; j < ARRAY_SIZE(files) + 1; j++) {
		const char *path = j ? files[j - 1] : RUN;

		get(path, before, sizeof(before));
		for (i = 0; i < ARRAY_SIZE(bad); i++) {
			/* Nothing written is nothing to complain of. */
			if (*bad[i])
				EXPECT_EQ(EINVAL, put(path, bad[i]))
					TH_LOG("%s: \"%s\"", path, bad[i]);
		}
		EXPECT_EQ(EINVAL, put_bytes(path, "1\0x", 3))
			TH_LOG("%s: NUL", path);
		get(path, after, sizeof(after));
		EXPECT_STREQ(before, after);
	}
	for (i = 0; i < ARRAY_SIZE(out_of_range); i++) {
		get(out_of_range[i].path, before, sizeof(before));
		EXPECT_EQ(EINVAL, put(out_of_range[i].path, out_of_range[i].val))
			TH_LOG("%s: \"%s\"", out_of_range[i].path,
			       out_of_range[i].val);
		get(out_of_range[i].path, after, sizeof(after));
		EXPECT_STREQ(before, after);
	}
}

TEST_F(prezero, no_permission)
{
	unsigned int i;
	int status;
	pid_t pid;

	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		if (setgid(65534) || setuid(65534))
			_exit(1);
		for (i = 0; i < ARRAY_SIZE(files); i++) {
			if (put(files[i], "1") != EACCES)
				_exit(2);
		}
		_exit(put(RUN, "1M") == EACCES ? 0 : 3);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

static unsigned long cgroup_stat(int root, const char *name, const char *key)
{
	int fd = openat(root, name, O_RDONLY);
	char buf[4096], *p;
	ssize_t n = read(fd, buf, sizeof(buf) - 1);

	close(fd);
	buf[n < 0 ? 0 : n] = '\0';
	p = strstr(buf, key);
	return p ? strtoul(p + strlen(key), NULL, 10) : 0;
}

#define CGROUP	"prezero-selftest"

/*
 * A cgroup that may use a fifth of CPU 1, in the directory *@root. Returns why there
 * is none, or NULL.
 */
static const char *cgroup_make(int *root)
{
	*root = cgroup_mount();
	if (*root < 0)
		return "no cgroup v2";
	if (!cgroup_write(*root, "cgroup.subtree_control", "+cpu +cpuset"))
		return "no cpu and cpuset controllers in cgroup v2";
	if (mkdirat(*root, CGROUP, 0755))
		return "cannot make a cgroup";
	if (!cgroup_write(*root, CGROUP "/cpu.max", "20000 100000") ||
	    !cgroup_write(*root, CGROUP "/cpuset.cpus", "1")) {
		unlinkat(*root, CGROUP, AT_REMOVEDIR);
		return "no CPU bandwidth control, or no CPU 1";
	}
	return NULL;
}

/* The time is the cgroup's of who writes, on the CPUs that it may use. */
TEST_F(prezero, cgroup)
{
	const char *why;
	cpu_set_t cpus;
	int root, status;
	pid_t pid;

	why = cgroup_make(&root);
	if (why)
		SKIP(return, "%s", why);

	dirty(THP, 2 * SIZE);
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		if (!cgroup_write(root, CGROUP "/cgroup.procs", "0"))
			_exit(1);
		if (put_num(RUN, 2 * SIZE))
			_exit(2);
		if (sched_getcpu() != 1 ||
		    sched_getaffinity(0, sizeof(cpus), &cpus) ||
		    CPU_COUNT(&cpus) != 1)
			_exit(3);
		_exit(0);
	}
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	/* Less than 2 ms for 256 MB would be more than any memory can take. */
	EXPECT_GT(cgroup_stat(root, CGROUP "/cpu.stat", "usage_usec "), 2000);
	EXPECT_GT(cgroup_stat(root, CGROUP "/cpu.stat", "nr_periods "), 0);
	EXPECT_EQ(0, unlinkat(root, CGROUP, AT_REMOVEDIR));
	close(root);
}

/* Whoever is to be frozen does not go on until all is clear, but afterwards. */
TEST_F_TIMEOUT(prezero, frozen, PATIENCE)
{
	unsigned long before;
	const char *why;
	int root, status;
	unsigned int i;
	pid_t pid;

	why = cgroup_make(&root);
	if (why)
		SKIP(return, "%s", why);

	dirty(THP, 4 * SIZE);
	before = count("prezero_cleared");
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		if (!cgroup_write(root, CGROUP "/cgroup.procs", "0"))
			_exit(1);
		_exit(put_num(RUN, 4 * SIZE) ? 2 : 0);
	}
	for (i = 0; i < 500 && count("prezero_cleared") == before; i++)
		usleep(10000);
	EXPECT_LT(before, count("prezero_cleared"));

	EXPECT_TRUE(cgroup_write(root, CGROUP "/cgroup.freeze", "1"));
	for (i = 0; i < 100 && !cgroup_stat(root, CGROUP "/cgroup.events", "frozen "); i++)
		usleep(10000);
	EXPECT_EQ(1, cgroup_stat(root, CGROUP "/cgroup.events", "frozen "));
	before = count("prezero_cleared");
	usleep(200000);
	EXPECT_EQ(before, count("prezero_cleared"));
	EXPECT_EQ(0, waitpid(pid, &status, WNOHANG))
		TH_LOG("it was done before");

	EXPECT_TRUE(cgroup_write(root, CGROUP "/cpu.max", "max"));
	EXPECT_TRUE(cgroup_write(root, CGROUP "/cgroup.freeze", "0"));
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_LT(before, count("prezero_cleared"));
	EXPECT_EQ(0, unlinkat(root, CGROUP, AT_REMOVEDIR));
	close(root);
}

/* What takes free memory from the allocator other than to allocate it */

/* Base pages of memory, each from a block that is known to be clear. */
static unsigned long clear_pfn(struct __test_metadata *_metadata)
{
	unsigned long pfn;
	struct area a;
	int fd;

	/* A huge page that was had, and will be had again. */
	ASSERT_TRUE(area_map(&a, THP, SZ_2M));
	ASSERT_EQ(0, area_populate(&a));
	fd = open("/proc/self/pagemap", O_RDONLY);
	pfn = pagemap_get_pfn(fd, a.mem);
	close(fd);
	area_free(&a);
	EXPECT_EQ(0, put_num(RUN, all_memory()));
	return pfn;
}

#define HWPOISON	"/sys/kernel/debug/hwpoison/"

/* What is taken from the machine, and given back if all goes well. */
FIXTURE(destructive)
{
};

FIXTURE_SETUP(destructive)
{
	const char *why = prepare();

	if (!why)
		why = prepare_thp(THP);
	if (!why && reporting())
		why = "free memory is reported to the hypervisor";
	if (why) {
		/* There is no teardown after this. */
		restore_settings();
		SKIP(return, "%s", why);
	}
}

FIXTURE_TEARDOWN_PARENT(destructive)
{
	restore_settings();
}

TEST_F_TIMEOUT(destructive, hwpoison, PATIENCE)
{
	unsigned long pfn, before;

	if (access(HWPOISON "corrupt-pfn", W_OK) ||
	    access(HWPOISON "unpoison-pfn", W_OK))
		SKIP(return, "no hwpoison injection in debugfs");
	pfn = clear_pfn(_metadata);
	before = count("nr_prezeroed");
	ASSERT_EQ(0, put_num(HWPOISON "corrupt-pfn", pfn + 5));
	/* None of its block is known to be clear, the rest is to be had. */
	EXPECT_LE(count("nr_prezeroed"), before - SZ_2M + SZ_1M);
	EXPECT_EQ(0, put_num(RUN, all_memory()));
	all_is_clear(_metadata, 3 * SIZE);
	EXPECT_EQ(0, put_num(HWPOISON "unpoison-pfn", pfn + 5));
}

/*
 * A child poisons a page of a huge one that cannot be split, and dies of it.
 * Returns the frame of that page, or 0.
 */
static unsigned long poison_pinned(void)
{
	unsigned long *pfn, ret;
	int fds[2], fd, status;
	struct iovec iov;
	struct area a;
	char *poison;
	pid_t pid;

	pfn = mmap(NULL, psize(), PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (pfn == MAP_FAILED)
		return 0;
	pid = fork();
	if (!pid) {
		fd = open("/proc/self/pagemap", O_RDONLY);
		if (fd < 0 || pipe(fds) || !area_map(&a, THP, SIZE) ||
		    madvise(a.mem, a.size, MADV_HUGEPAGE) || area_populate(&a))
			_exit(1);
		/* In the midst of it, so that the block has others around it. */
		iov.iov_base = a.mem + SIZE / 2;
		iov.iov_len = psize();
		poison = a.mem + SIZE / 2 + 300 * psize();
		/* The pipe has a page for as long as nobody reads it. */
		if (vmsplice(fds[1], &iov, 1, 0) != (ssize_t)psize())
			_exit(2);
		*pfn = pagemap_get_pfn(fd, poison);
		madvise(poison, psize(), MADV_HWPOISON);
		_exit(3);
	}
	ret = waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) &&
	      WTERMSIG(status) == SIGBUS ? *pfn : 0;
	munmap(pfn, psize());
	return ret;
}

/* It comes to the free lists as a part of a block, and must not end the work. */
TEST_F_TIMEOUT(destructive, hwpoison_in_block, PATIENCE)
{
	unsigned long pfn;

	if (access(HWPOISON "unpoison-pfn", W_OK))
		SKIP(return, "no hwpoison injection in debugfs");
	dirty(THP, 4 * SIZE);
	pfn = poison_pinned();
	if (!pfn)
		SKIP(return, "no page of a huge one can be poisoned");

	ASSERT_EQ(0, put(ORDER, "0"));
	EXPECT_EQ(0, put_num(RUN, all_memory()));
	EXPECT_GE(count("nr_prezeroed"), free_bytes() / 10 * 8);
	EXPECT_EQ(0, put_num(HWPOISON "unpoison-pfn", pfn));
}

#define MEMORY	"/sys/devices/system/memory/"

TEST_F_TIMEOUT(destructive, hot_remove, PATIENCE)
{
	unsigned long before;
	char path[64];
	int i;

	if (access(MEMORY, F_OK))
		SKIP(return, "no memory hotplug");
	ASSERT_EQ(0, put_num(RUN, all_memory()));
	before = count("nr_prezeroed");
	for (i = 63; i >= 0; i--) {
		snprintf(path, sizeof(path), MEMORY "memory%d/state", i);
		if (!access(path, W_OK) && !put(path, "offline"))
			break;
	}
	if (i < 0)
		SKIP(return, "no memory can be taken away");
	EXPECT_LT(count("nr_prezeroed"), before);
	EXPECT_EQ(0, put(path, "online"));
	EXPECT_EQ(0, put_num(RUN, all_memory()));
	all_is_clear(_metadata, 3 * SIZE);
}

TEST_F_TIMEOUT(prezero, compaction, PATIENCE)
{
	unsigned int i;
	int status;
	pid_t pid;

	if (access("/proc/sys/vm/compact_memory", W_OK))
		SKIP(return, "no compaction");
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid)
		_exit(use_memory(2, 3));
	for (i = 0; i < 20; i++) {
		EXPECT_EQ(0, put_num(RUN, all_memory()));
		EXPECT_EQ(0, put("/proc/sys/vm/compact_memory", "1"));
	}
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	all_is_clear(_metadata, 3 * SIZE);
}

#define CMA	"/sys/kernel/debug/cma/reserved/"

TEST_F_TIMEOUT(prezero, cma, PATIENCE)
{
	unsigned long before;

	if (reporting())
		SKIP(return, "free memory is reported to the hypervisor");
	if (access(CMA "alloc", W_OK))
		SKIP(return, "no CMA area, or not in debugfs");
	ASSERT_EQ(0, put(ORDER, "0"));
	ASSERT_EQ(0, put_num(RUN, all_memory()));
	before = count("nr_prezeroed");
	ASSERT_EQ(0, put_num(CMA "alloc", 8 * SZ_1M / psize()));
	EXPECT_LE(count("nr_prezeroed"), before - 8 * SZ_1M + SLACK);
	EXPECT_EQ(0, put_num(CMA "free", 8 * SZ_1M / psize()));
	all_is_clear(_metadata, 3 * SIZE);
}

/* Each node says what is its own, and together they are all. */
TEST_F(prezero, per_node)
{
	static const char * const names[] = { "nr_prezeroed", "prezero_cleared" };
	unsigned long sum, total;
	char path[64], line[128];
	unsigned int i, nid;
	FILE *f;

	ASSERT_EQ(0, put_num(RUN, SIZE));
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		total = count(names[i]);
		sum = 0;
		for (nid = 0; nid < 64; nid++) {
			snprintf(path, sizeof(path),
				 "/sys/devices/system/node/node%u/vmstat", nid);
			f = fopen(path, "r");
			while (f && fgets(line, sizeof(line), f)) {
				if (!strncmp(line, names[i], strlen(names[i])))
					sum += strtoul(line + strlen(names[i]),
						       NULL, 10) * psize();
			}
			if (f)
				fclose(f);
		}
		if (!sum)
			SKIP(return, "no nodes");
		EXPECT_LE(sum, total + SLACK);
		EXPECT_GE(sum + SLACK, total);
	}
}

static void save_settings(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(files); i++)
		get(files[i], saved[i], sizeof(saved[i]));
	get(REPORTING "order", saved_reporting[0], sizeof(saved_reporting[0]));
	get(REPORTING "delay_millisecs", saved_reporting[1],
	    sizeof(saved_reporting[1]));
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
