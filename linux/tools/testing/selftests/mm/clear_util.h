/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of page clearing have in common. To be included after the
 * harness and vm_util.h. Nothing here ends a test, but thp_settings.h does where a
 * file of sysfs that it needs is missing.
 */
#ifndef _SELFTESTS_MM_CLEAR_UTIL_H
#define _SELFTESTS_MM_CLEAR_UTIL_H

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/udmabuf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "thp_settings.h"

#define SZ_64K		0x10000UL
#define SZ_1M		(16 * SZ_64K)
#define SZ_2M		(2 * SZ_1M)
#define SZ_1G		(512 * SZ_2M)

#define PATTERN		0xa5

/* The process that forks the tests. */
static pid_t harness_pid;

/* The harness exits with 0 even if it could not test anything. */
static inline bool nothing_tested(void)
{
	return ksft_cnt.ksft_xskip && ksft_cnt.ksft_xskip == ksft_test_num();
}

static inline void skip_at_exit(void)
{
	if (getpid() == harness_pid && nothing_tested()) {
		fflush(NULL);
		_exit(KSFT_SKIP);
	}
}

/* What main() of a test ends with that has nothing else to do at exit. */
static inline int run_tests(int argc, char **argv)
{
	harness_pid = getpid();
	atexit(skip_at_exit);
	return test_harness_run(argc, argv);
}

/*
 * Settings in sysfs, where a write may well be refused. Returns 0 or an errno.
 */
static inline int put_bytes(const char *path, const void *val, size_t len)
{
	int fd = open(path, O_WRONLY), ret = 0;

	if (fd < 0)
		return errno;
	if (write(fd, val, len) != (ssize_t)len)
		ret = errno;
	close(fd);
	return ret;
}

static inline int put(const char *path, const char *val)
{
	return put_bytes(path, val, strlen(val));
}

static inline int put_num(const char *path, unsigned long num)
{
	char buf[32];

	snprintf(buf, sizeof(buf), "%lu", num);
	return put(path, buf);
}

/* The first line, or nothing. */
static inline void get(const char *path, char *buf, size_t len)
{
	int fd = open(path, O_RDONLY);
	ssize_t n = -1;

	if (fd >= 0) {
		n = read(fd, buf, len - 1);
		close(fd);
	}
	buf[n < 0 ? 0 : n] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
}

/* A counter of /proc/vmstat; 0 if there is none of this name. */
static inline unsigned long vm_counter(const char *name)
{
	unsigned long val = 0, num;
	char word[64];
	FILE *f = fopen("/proc/vmstat", "r");

	while (f && fscanf(f, "%63s %lu", word, &num) == 2) {
		if (!strcmp(word, name))
			val = num;
	}
	if (f)
		fclose(f);
	return val;
}

/*
 * Have large folios of @size bytes and no others, on demand. Returns NULL, or
 * why not. To be undone with thp_restore_settings().
 */
static inline const char *choose_thp(size_t size, bool shmem)
{
	const unsigned int order = __builtin_ctzl(size / psize());
	struct thp_settings settings;
	unsigned long orders;
	unsigned int i;

	if (!thp_is_enabled() || read_pmd_pagesize() != SZ_2M)
		return "no THP of 2 MB";

	orders = shmem ? thp_shmem_supported_orders() : thp_supported_orders();
	if (!(orders & (1UL << order)))
		return "this size is not supported";

	thp_read_settings(&settings);
	settings.thp_enabled = THP_MADVISE;
	settings.thp_defrag = THP_DEFRAG_ALWAYS;
	for (i = 0; i < NR_ORDERS; i++) {
		settings.hugepages[i].enabled = THP_NEVER;
		settings.shmem_hugepages[i].enabled = SHMEM_NEVER;
	}
	if (shmem)
		settings.shmem_hugepages[order].enabled = SHMEM_ALWAYS;
	else
		settings.hugepages[order].enabled = THP_ALWAYS;
	thp_push_settings(&settings);
	return NULL;
}

static inline bool is_zero(const char *p, size_t size)
{
	return !*p && !memcmp(p, p + 1, size - 1);
}

/* Pools of huge pages of @size bytes */

static inline const char *pool_path(size_t size, const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "/sys/kernel/mm/hugepages/hugepages-%zukB/%s",
		 size >> 10, name);
	return path;
}

static inline bool have_pool(size_t size)
{
	return !access(pool_path(size, "nr_hugepages"), W_OK);
}

/* Exits if there is no such pool. */
static inline unsigned long pool_read(size_t size, const char *name)
{
	return read_num(pool_path(size, name));
}

/* May fail, where gigantic pages are given out at boot only. */
static inline void pool_write(size_t size, const char *name, unsigned long num)
{
	int fd;

	if (pool_read(size, name) == num)
		return;
	fd = open(pool_path(size, name), O_WRONLY);
	dprintf(fd, "%lu", num);
	close(fd);
}

/* What is free and not promised to anybody. */
static inline unsigned long pool_available(size_t size)
{
	return pool_read(size, "free_hugepages") - pool_read(size, "resv_hugepages");
}

/*
 * As for DMA: the file gets what it lacks of these bytes and keeps it pinned.
 * 6.12 takes huge pages from a reservation, which must be there. Returns 0 or an
 * errno.
 */
static inline int pin_memfd(int memfd, off_t offset, size_t size)
{
	struct udmabuf_create create = {
		.memfd = memfd,
		.offset = offset,
		.size = size,
	};
	int dev = open("/dev/udmabuf", O_RDWR);
	int buf = -1, ret = 0;

	if (!fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK))
		buf = ioctl(dev, UDMABUF_CREATE, &create);
	if (buf < 0)
		ret = errno;
	else
		close(buf);
	close(dev);
	return ret;
}

/* A mount of our own of cgroup v2, that no directory is needed for, or -1. */
static inline int cgroup_mount(void)
{
	int root = -1, fs = syscall(__NR_fsopen, "cgroup2", 0);

	if (fs < 0)
		return -1;
	if (!syscall(__NR_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		root = syscall(__NR_fsmount, fs, 0, 0);
	close(fs);
	return root;
}

static inline bool cgroup_write(int root, const char *name, const char *val)
{
	int fd = openat(root, name, O_WRONLY);
	bool ok = write(fd, val, strlen(val)) == (ssize_t)strlen(val);

	close(fd);
	return ok;
}

#endif /* _SELFTESTS_MM_CLEAR_UTIL_H */
