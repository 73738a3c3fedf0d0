// SPDX-License-Identifier: GPL-2.0
/*
 * What the 'perf bench mem' benchmarks have in common.
 */
#include "../perf-sys.h"
#include "../util/cloexec.h"
#include <api/fs/fs.h>
#include "bench.h"
#include "mem-common.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <linux/ctype.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>

#define K 1024

#ifndef MAP_HUGE_SHIFT
#define MAP_HUGE_SHIFT	26
#endif

static const struct bench_mem_page pages[] = {
	{ .name = "4KB", .shift = 12 },
	{ .name = "2MB", .shift = 21, .huge = true },
	{ .name = "1GB", .shift = 30, .huge = true },
};

static char sigbus_msg[160];

static struct perf_event_attr cycle_attr = {
	.type		= PERF_TYPE_HARDWARE,
	.config		= PERF_COUNT_HW_CPU_CYCLES
};

/**
 * bench_mem_cycles_open() - open a cycle counter for the calling thread
 *
 * It counts in user space and in the kernel, from now on, for this thread
 * only. Prints nothing on failure: what to say is up to the caller.
 *
 * Return: a file descriptor, or a negative value with errno set.
 */
int bench_mem_cycles_open(void)
{
	return sys_perf_event_open(&cycle_attr, 0, -1, -1, perf_event_open_cloexec_flag());
}

/**
 * bench_mem_cycles_read() - read a cycle counter
 * @fd: from bench_mem_cycles_open()
 *
 * Return: cycles since the counter was opened. Does not return on failure.
 */
u64 bench_mem_cycles_read(int fd)
{
	u64 clk;

	if (read(fd, &clk, sizeof(clk)) != sizeof(clk)) {
		fprintf(stderr, "Failed to read cycles counter\n");
		exit(EXIT_FAILURE);
	}

	return clk;
}

static void print_scaled(double x)
{
	if (x < K)
		printf(" %14lf bytes/sec\n", x);
	else if (x < K * K)
		printf(" %14lfd KB/sec\n", x / K);
	else if (x < K * K * K)
		printf(" %14lf MB/sec\n", x / K / K);
	else
		printf(" %14lf GB/sec\n", x / K / K / K);
}

/**
 * bench_mem_print_rate() - print a result in the chosen output format
 * @bytes_per_sec: bytes per second; printed as such by --format simple, and
 *	scaled, with a unit, by the default format
 */
void bench_mem_print_rate(double bytes_per_sec)
{
	if (bench_format == BENCH_FORMAT_SIMPLE)
		printf("%lf\n", bytes_per_sec);
	else
		print_scaled(bytes_per_sec);
}

/**
 * bench_mem_print_cycles() - print a result in the chosen output format
 * @cycles_per_byte: what it says; --format simple leaves out the unit
 */
void bench_mem_print_cycles(double cycles_per_byte)
{
	if (bench_format == BENCH_FORMAT_SIMPLE)
		printf("%lf\n", cycles_per_byte);
	else
		printf(" %14lf cycles/byte\n", cycles_per_byte);
}

static int bad_value(const char *opt, const char *str, const char *why)
{
	fprintf(stderr, "%s %s: %s\n", opt, str, why);
	return -EINVAL;
}

/**
 * bench_mem_parse_size() - parse a size given on the command line
 * @opt: the option, for messages
 * @str: decimal digits and one of the units B, KB, MB, GB and TB, in upper or
 *	lower case
 * @size: where to store the size in bytes, which is at least 1
 *
 * perf_atoll() also takes a number without unit, and lets the multiplication
 * overflow, so that a wrong size can end up as a small right one.
 *
 * Return: 0, or -EINVAL after one line on stderr.
 */
int bench_mem_parse_size(const char *opt, const char *str, size_t *size)
{
	static const char units[] = "bkmgt";
	unsigned long long val;
	unsigned int shift;
	const char *unit;
	char *end;

	if (!isdigit(str[0]))
		return bad_value(opt, str, "not a size");

	errno = 0;
	val = strtoull(str, &end, 10);
	if (errno)
		return bad_value(opt, str, "too large");

	if (*end == '\0')
		return bad_value(opt, str, "needs a unit: B, KB, MB, GB or TB");

	unit = strchr(units, tolower(*end++));
	if (!unit)
		return bad_value(opt, str, "unknown unit, not B, KB, MB, GB or TB");

	shift = 10 * (unit - units);
	if (shift && tolower(*end++) != 'b')
		return bad_value(opt, str, "unknown unit, not B, KB, MB, GB or TB");
	if (*end)
		return bad_value(opt, str, "has something behind the unit");

	if (!val)
		return bad_value(opt, str, "must not be zero");
	if (val > (unsigned long long)LONG_MAX >> shift)
		return bad_value(opt, str, "too large");

	*size = val << shift;
	return 0;
}

/**
 * bench_mem_parse_number() - parse a number given on the command line
 * @opt: the option, for messages
 * @str: decimal digits
 * @min: the smallest number allowed
 * @max: the largest number allowed
 * @val: where to store the number
 *
 * Return: 0, or -EINVAL after one line on stderr.
 */
int bench_mem_parse_number(const char *opt, const char *str, unsigned long long min,
			   unsigned long long max, unsigned long long *val)
{
	unsigned long long n;
	char *end;

	if (!isdigit(str[0]))
		return bad_value(opt, str, "not a number");

	errno = 0;
	n = strtoull(str, &end, 10);
	if (*end)
		return bad_value(opt, str, "not a number");
	if (errno || n < min || n > max) {
		fprintf(stderr, "%s %s: must be from %llu to %llu\n", opt, str, min, max);
		return -EINVAL;
	}

	*val = n;
	return 0;
}

/**
 * bench_mem_parse_buffer() - parse the options -s and -p
 * @b: the buffer to fill in
 * @size_str: value of -s; @b keeps a pointer to it
 * @page_str: value of -p
 *
 * Return: 0, or -EINVAL after one line on stderr.
 */
int bench_mem_parse_buffer(struct bench_mem_buffer *b, const char *size_str,
			   const char *page_str)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(pages); i++) {
		if (!strcasecmp(page_str, pages[i].name))
			break;
	}
	if (i == ARRAY_SIZE(pages))
		return bad_value("-p", page_str, "not a page size: 4KB, 2MB or 1GB");
	if (!pages[i].huge && sysconf(_SC_PAGESIZE) != 1L << pages[i].shift)
		return bad_value("-p", page_str, "not the base page size of this machine");

	b->page = &pages[i];
	b->size_str = size_str;
	if (bench_mem_parse_size("-s", size_str, &b->size))
		return -EINVAL;

	if (b->size & ((1UL << b->page->shift) - 1)) {
		fprintf(stderr, "-s %s: not a multiple of the page size %s\n",
			size_str, b->page->name);
		return -EINVAL;
	}

	return 0;
}

/* What the kernel thinks can be used without swapping, in bytes. */
static unsigned long long memory_available(void)
{
	unsigned long long kb, bytes = sysconf(_SC_PAGESIZE);
	FILE *f = fopen("/proc/meminfo", "r");
	char line[128];

	bytes *= sysconf(_SC_AVPHYS_PAGES);
	if (!f)
		return bytes;

	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "MemAvailable: %llu kB", &kb) == 1) {
			bytes = kb * K;
			break;
		}
	}

	fclose(f);
	return bytes;
}

static void sigbus(int sig __maybe_unused)
{
	ssize_t ret __maybe_unused;

	ret = write(STDERR_FILENO, sigbus_msg, strlen(sigbus_msg));
	_exit(EXIT_FAILURE);
}

/**
 * bench_mem_check_room() - refuse a buffer that this machine cannot hold
 * @b: the buffer
 *
 * To be called before the buffer is touched. Too large a buffer on base pages
 * would otherwise end with the OOM killer, which may choose another process.
 * Huge pages are reserved by mapping them: what has been mapped is there, with
 * one exception, a hugetlb cgroup that limits the pages in use rather than
 * those reserved. That one shows up as a SIGBUS, which is turned into a message
 * and a failure here. The memory limits of cgroups are not looked at.
 *
 * Return: 0, or -ENOMEM after one line on stderr.
 */
int bench_mem_check_room(const struct bench_mem_buffer *b)
{
	const struct sigaction sa = { .sa_handler = sigbus };
	void *buf;

	snprintf(sigbus_msg, sizeof(sigbus_msg),
		 "cannot map %s on %s pages: a page could not be had (hugetlb cgroup?)\n",
		 b->size_str, b->page->name);
	sigaction(SIGBUS, &sa, NULL);

	if (!b->page->huge) {
		unsigned long long available = memory_available();

		/* Page tables, and whatever else the system is doing. */
		available -= available / 16;
		if (b->size > available) {
			fprintf(stderr,
				"cannot map %s on %s pages: only %lluMB can be used\n",
				b->size_str, b->page->name, available / K / K);
			return -ENOMEM;
		}
	}

	buf = bench_mem_buffer_map(b, b->size, 0);
	if (!buf) {
		bench_mem_buffer_failed(b, errno);
		return -ENOMEM;
	}

	munmap(buf, b->size);
	return 0;
}

/**
 * bench_mem_buffer_map() - map new private memory, readable and writable
 * @b: says which pages to map it on, and nothing else
 * @len: bytes to map, a multiple of the page size
 * @flags: more flags for mmap()
 *
 * Base pages are kept from becoming transparent huge pages. For MAP_POPULATE
 * this comes too late: the caller must have disabled them beforehand.
 *
 * Return: the memory, or NULL with errno set for bench_mem_buffer_failed().
 */
void *bench_mem_buffer_map(const struct bench_mem_buffer *b, size_t len, int flags)
{
	void *buf;

	flags |= MAP_PRIVATE | MAP_ANONYMOUS;
	if (b->page->huge)
		flags |= MAP_HUGETLB | b->page->shift << MAP_HUGE_SHIFT;

	buf = mmap(NULL, len, PROT_READ | PROT_WRITE, flags, -1, 0);
	if (buf == MAP_FAILED)
		return NULL;

	/* A kernel without transparent huge pages knows no such advice. */
	if (!b->page->huge && madvise(buf, len, MADV_NOHUGEPAGE) && errno != EINVAL) {
		int err = errno;

		munmap(buf, len);
		errno = err;
		return NULL;
	}

	return buf;
}

/**
 * bench_mem_buffer_failed() - say why bench_mem_buffer_map() failed, in one line
 * @b: the buffer
 * @err: the errno that bench_mem_buffer_map() left
 */
void bench_mem_buffer_failed(const struct bench_mem_buffer *b, int err)
{
	unsigned long long nr, nr_free, nr_resv, need = b->size >> b->page->shift;
	char dir[64], path[96];

	fprintf(stderr, "cannot map %s on %s pages: ", b->size_str, b->page->name);

	if (!b->page->huge)
		goto other;

	snprintf(dir, sizeof(dir), "kernel/mm/hugepages/hugepages-%lukB",
		 1UL << (b->page->shift - 10));

	snprintf(path, sizeof(path), "%s/nr_hugepages", dir);
	if (sysfs__read_ull(path, &nr)) {
		fprintf(stderr, "this kernel has none\n");
		return;
	}

	snprintf(path, sizeof(path), "%s/free_hugepages", dir);
	if (sysfs__read_ull(path, &nr_free))
		goto other;

	snprintf(path, sizeof(path), "%s/resv_hugepages", dir);
	if (sysfs__read_ull(path, &nr_resv))
		goto other;

	nr_free -= nr_resv;
	if (nr_free >= need)
		goto other;

	fprintf(stderr, "needs %llu, %llu free; write %llu to /sys/%s/nr_hugepages\n",
		need, nr_free, nr + need - nr_free, dir);
	return;
other:
	fprintf(stderr, "%s\n", strerror(err));
}
