// SPDX-License-Identifier: GPL-2.0
/*
 * Instructions of one page fault, for a guest under QEMU -icount shift=0: the
 * TSC then counts executed instructions. Of many rounds the least one is that
 * without a timer interrupt in it, and repeats to the digit.
 *
 * Prints "NAME COUNT" lines; a case that this kernel cannot run prints
 * "NAME unavailable" and makes the status 1.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <x86intrin.h>

#define KB		1024UL
#define HUGE		(2048 * KB)
#define ROUNDS		16
#define PREZERO		"/sys/kernel/mm/prezero/"

static uint64_t empty;

static uint64_t ticks(void)
{
	uint64_t now;

	_mm_lfence();
	now = __rdtsc();
	_mm_lfence();
	return now;
}

static void put(const char *file, const char *value)
{
	int fd = open(file, O_WRONLY);

	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		fprintf(stderr, "%s: cannot write %s\n", file, value);
	if (fd >= 0)
		close(fd);
}

/* A range aligned to its own size, of which nothing is present. */
static char *range(size_t size, int advice)
{
	char *p = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	p = (char *)(((uintptr_t)p + size - 1) & ~(size - 1));
	madvise(p, size, advice);
	return p;
}

static size_t resident(void)
{
	unsigned long total, pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (!f || fscanf(f, "%lu %lu", &total, &pages) != 2)
		exit(1);
	fclose(f);
	return pages * 4 * KB;
}

/* One write per step into a new range; the first fault also fills page tables. */
static uint64_t touch(size_t step, size_t size, int advice)
{
	uint64_t least = UINT64_MAX, t;
	char *p = range(size, advice);
	size_t i, before;

	if (!p)
		return 0;
	if (size > step)
		p[0] = 1;
	for (i = size > step ? step : 0; i < size; i += step) {
		before = resident();
		t = ticks();
		p[i] = 1;
		t = ticks() - t;
		/* The page size asked for, or the figure is of something else. */
		if (resident() - before < step)
			return 0;
		if (t < least)
			least = t;
	}
	munmap(p, size);
	return least - empty;
}

static uint64_t populate(void)
{
	char *p = range(HUGE, MADV_HUGEPAGE);
	size_t before = resident();
	uint64_t t = ticks();

	if (!p || madvise(p, HUGE, MADV_POPULATE_WRITE))
		return 0;
	t = ticks() - t;
	if (resident() - before < HUGE)
		return 0;
	munmap(p, HUGE);
	return t - empty;
}

static uint64_t hugetlb_fallocate(void)
{
	int fd = memfd_create("huge", MFD_HUGETLB);
	uint64_t t = ticks();

	if (fd < 0 || fallocate(fd, 0, 0, HUGE))
		return 0;
	t = ticks() - t;
	close(fd);
	return t - empty;
}

static uint64_t fault_4kb(void) { return touch(4 * KB, 1024 * KB, MADV_NOHUGEPAGE); }
static uint64_t fault_64kb(void) { return touch(64 * KB, 1024 * KB, MADV_HUGEPAGE); }
static uint64_t fault_2mb(void) { return touch(HUGE, HUGE, MADV_HUGEPAGE); }

static uint64_t fault_prezeroed(void)
{
	put(PREZERO "enabled", "1");
	put(PREZERO "run", "64M");
	return fault_2mb();
}

static const struct {
	const char *name;
	uint64_t (*run)(void);
	const char *thp_64, *thp_2048;
} cases[] = {
	{ "4KB-fault", fault_4kb, "never", "never" },
	{ "64KB-fault", fault_64kb, "always", "never" },
	{ "2MB-fault", fault_2mb, "never", "always" },
	{ "2MB-populate", populate, "never", "always" },
	{ "hugetlb-fallocate", hugetlb_fallocate, "never", "never" },
	/* Last: once it has been enabled, pre-zeroing is not free any more. */
	{ "2MB-fault-prezeroed", fault_prezeroed, "never", "always" },
};

int main(void)
{
	int status = 0;

	put("/proc/sys/vm/nr_hugepages", "4");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint64_t least = UINT64_MAX, t;

		/* Not every kernel that is counted has it. */
		if (cases[i].run == fault_prezeroed && access(PREZERO, F_OK))
			continue;
		put("/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled", cases[i].thp_64);
		put("/sys/kernel/mm/transparent_hugepage/hugepages-2048kB/enabled",
		    cases[i].thp_2048);
		empty = UINT64_MAX;
		for (int round = 0; round < ROUNDS; round++) {
			t = ticks();
			t = ticks() - t;
			if (t < empty)
				empty = t;
		}
		for (int round = 0; round < ROUNDS && least; round++) {
			t = cases[i].run();
			if (t < least)
				least = t;
		}
		if (least) {
			printf("%s %lu\n", cases[i].name, (unsigned long)least);
		} else {
			printf("%s unavailable\n", cases[i].name);
			status = 1;
		}
	}
	return status;
}
