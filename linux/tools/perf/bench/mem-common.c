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
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#include <linux/ctype.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/perf_event.h>
#include <linux/time64.h>

#define K 1024

#ifndef MAP_HUGE_SHIFT
#define MAP_HUGE_SHIFT	26
#endif

static struct perf_event_attr cycle_attr = {
	.type		= PERF_TYPE_HARDWARE,
	.config		= PERF_COUNT_HW_CPU_CYCLES
};

/*
 * Count the cycles of thread @pid, or of the calling one if @pid is 0. Returns
 * a file descriptor, or a negative value with errno set.
 */
int bench_mem_open_cycles(pid_t pid)
{
	return sys_perf_event_open(&cycle_attr, pid, -1, -1, perf_event_open_cloexec_flag());
}

u64 bench_mem_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);

	return (u64)ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
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
 * bench_mem_random_order() - an order to go through memory in
 * @nr: how many things to go through
 *
 * It is the same each time, for the sake of comparison.
 *
 * Return: the numbers below @nr, each once, for the caller to free; or NULL.
 */
u32 *bench_mem_random_order(size_t nr)
{
	u32 *order = nr <= UINT_MAX ? malloc(nr * sizeof(*order)) : NULL;
	unsigned int seed = 1;
	size_t i, j;
	u32 tmp;

	for (i = 0; order && i < nr; i++)
		order[i] = i;
	for (i = nr; order && i > 1; i--) {
		j = ((u64)rand_r(&seed) << 31 | rand_r(&seed)) % i;
		tmp = order[i - 1];
		order[i - 1] = order[j];
		order[j] = tmp;
	}

	return order;
}

/**
 * bench_mem_parse_buffer() - parse the options -s and -p
 * @b: the buffer, with its strings set; the rest is filled in
 *
 * Return: 0, or -EINVAL after one line on stderr.
 */
int bench_mem_parse_buffer(struct bench_mem_buffer *b)
{
	const size_t base = sysconf(_SC_PAGESIZE);
	static char base_str[24];

	snprintf(base_str, sizeof(base_str), "%zuKB", base / K);
	if (!b->page_str)
		b->page_str = base_str;

	if (bench_mem_parse_size("-p", b->page_str, &b->page) ||
	    bench_mem_parse_size("-s", b->size_str, &b->size))
		return -EINVAL;

	b->huge = b->page != base;
	if (b->huge && b->page != 2UL * K * K && b->page != 1UL * K * K * K) {
		fprintf(stderr, "-p %s: must be %s, 2MB or 1GB\n", b->page_str, base_str);
		return -EINVAL;
	}

	if (b->size % b->page) {
		fprintf(stderr, "-s %s: not a multiple of the page size %s\n",
			b->size_str, b->page_str);
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

/**
 * bench_mem_check_room() - refuse what would end with the OOM killer
 * @what: what the memory is for, for messages
 * @size: how much base pages of it are needed, in bytes
 *
 * Return: 0, or -ENOMEM after one line on stderr.
 */
int bench_mem_check_room(const char *what, size_t size)
{
	unsigned long long available = memory_available();

	/* Page tables, and whatever else the system is doing. */
	available -= available / 16;
	if (size <= available)
		return 0;

	fprintf(stderr, "%s: only %lluMB can be used\n", what, available / K / K);
	return -ENOMEM;
}

/* Only MemAvailable and the hugetlb pool are asked, not the limits of cgroups. */
static int check_room(const struct bench_mem_buffer *b)
{
	char what[96];
	void *buf;

	if (!b->huge) {
		snprintf(what, sizeof(what), "cannot map %s on %s pages",
			 b->size_str, b->page_str);
		if (bench_mem_check_room(what, b->size))
			return -ENOMEM;
	}

	/* Mapping huge pages reserves them. */
	buf = bench_mem_buffer_map(b, b->size, 0);
	if (!buf) {
		bench_mem_buffer_failed(b, errno);
		return -ENOMEM;
	}

	munmap(buf, b->size);
	return 0;
}

static char sigbus_msg[160];
static struct sigaction sigbus_was;
static bool thp_disabled;

static void sigbus(int sig __maybe_unused)
{
	ssize_t ret __maybe_unused;

	ret = write(STDERR_FILENO, sigbus_msg, strlen(sigbus_msg));
	_exit(EXIT_FAILURE);
}

/**
 * bench_mem_start() - prepare for mapping and touching a buffer
 * @b: the buffer
 *
 * Refuses a buffer that this machine cannot hold: on base pages it would
 * otherwise end with the OOM killer, which may choose another process.
 *
 * Keeps base pages from becoming transparent huge pages. With MAP_POPULATE it
 * is too late to call madvise() for the mapping.
 *
 * Huge pages that could be reserved are there, with one exception: a hugetlb
 * cgroup may limit the pages in use rather than those reserved. That shows up
 * as a SIGBUS, which becomes a message and a failure.
 *
 * Return: 0, or a negative value after one line on stderr. bench_mem_stop() is
 * to be called only after 0.
 */
int bench_mem_start(const struct bench_mem_buffer *b)
{
	const struct sigaction sa = { .sa_handler = sigbus };

	if (check_room(b))
		return -ENOMEM;

	thp_disabled = !b->huge && !prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0);
	if (thp_disabled && prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)) {
		fprintf(stderr, "cannot disable transparent huge pages: %s\n", strerror(errno));
		return -1;
	}

	snprintf(sigbus_msg, sizeof(sigbus_msg),
		 "cannot map %s on %s pages: a page could not be had (hugetlb cgroup?)\n",
		 b->size_str, b->page_str);
	sigaction(SIGBUS, &sa, &sigbus_was);

	return 0;
}

/**
 * bench_mem_stop() - undo what bench_mem_start() changed in this process
 */
void bench_mem_stop(void)
{
	sigaction(SIGBUS, &sigbus_was, NULL);
	if (thp_disabled)
		prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
}

/**
 * bench_mem_buffer_map() - map new private memory, readable and writable
 * @b: says which pages to map it on, and nothing else
 * @len: bytes to map, a multiple of the page size
 * @flags: more flags for mmap()
 *
 * Return: the memory, or NULL with errno set for bench_mem_buffer_failed().
 */
void *bench_mem_buffer_map(const struct bench_mem_buffer *b, size_t len, int flags)
{
	void *buf;

	flags |= MAP_PRIVATE | MAP_ANONYMOUS;
	if (b->huge)
		flags |= MAP_HUGETLB | ilog2(b->page) << MAP_HUGE_SHIFT;

	buf = mmap(NULL, len, PROT_READ | PROT_WRITE, flags, -1, 0);

	return buf == MAP_FAILED ? NULL : buf;
}

/**
 * bench_mem_buffer_failed() - say why bench_mem_buffer_map() failed, in one line
 * @b: the buffer
 * @err: the errno that bench_mem_buffer_map() left
 */
void bench_mem_buffer_failed(const struct bench_mem_buffer *b, int err)
{
	unsigned long long nr, nr_free, nr_resv, need = b->size / b->page;
	char dir[64], path[96];

	fprintf(stderr, "cannot map %s on %s pages: ", b->size_str, b->page_str);

	if (!b->huge)
		goto other;

	snprintf(dir, sizeof(dir), "kernel/mm/hugepages/hugepages-%zukB", b->page / K);

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

void bench_mem_list_functions(const struct bench_mem_function *f)
{
	printf("Available functions:\n");
	for (; f->name; f++)
		printf("\t%s ... %s\n", f->name, f->desc);
}

static const char *missing_feature(const struct bench_mem_function *f)
{
	return f->missing ? f->missing() : NULL;
}

/**
 * bench_mem_check_function() - check the option -f
 * @f: table of the functions
 * @str: value of -f
 *
 * Return: 0, or -EINVAL after one line on stderr.
 */
int bench_mem_check_function(const struct bench_mem_function *f, const char *str)
{
	const char *missing;

	if (!strcmp(str, "all"))
		return 0;

	while (f->name && strcmp(f->name, str))
		f++;
	if (!f->name)
		return bad_value("-f", str, "unknown function, see -f help");

	missing = missing_feature(f);
	if (missing) {
		fprintf(stderr, "-f %s: this CPU has no %s\n", str, missing);
		return -EINVAL;
	}

	return 0;
}

/**
 * bench_mem_run_functions() - run what bench_mem_check_function() has checked
 * @f: table of the functions
 * @str: value of -f
 * @run: runs one of them, and returns 0 or an error
 *
 * Of all functions, those that this CPU cannot run are skipped.
 *
 * Return: 0, or the first error.
 */
int bench_mem_run_functions(const struct bench_mem_function *f, const char *str,
			    int (*run)(const struct bench_mem_function *f))
{
	const bool all = !strcmp(str, "all");
	const char *missing;
	int err = 0;

	for (; f->name && !err; f++) {
		if (!all && strcmp(f->name, str))
			continue;

		missing = missing_feature(f);
		if (missing)
			printf("# function '%s' skipped: this CPU has no %s\n", f->name, missing);
		else
			err = run(f);
	}

	return err;
}

/**
 * bench_mem_print() - print a result in the chosen output format
 * @figure: the result
 * @unit: its unit, which --format simple leaves out
 */
void bench_mem_print(double figure, const char *unit)
{
	if (bench_format == BENCH_FORMAT_SIMPLE)
		printf("%lf\n", figure);
	else
		printf(" %14lf %s\n", figure, unit);
}

/**
 * bench_mem_print_rate() - print a rate in the chosen output format
 * @rate: bytes per second; --format simple prints it as it is
 */
void bench_mem_print_rate(double rate)
{
	static const char * const units[] = { "bytes/sec", "KB/sec", "MB/sec", "GB/sec" };
	unsigned int i = 0;

	while (bench_format != BENCH_FORMAT_SIMPLE && rate >= K && i < ARRAY_SIZE(units) - 1) {
		rate /= K;
		i++;
	}

	bench_mem_print(rate, units[i]);
}
