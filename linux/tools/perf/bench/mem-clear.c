// SPDX-License-Identifier: GPL-2.0
/*
 * perf bench mem clear: the kernel's routines for clearing pages
 *
 * The routines are those of arch/<arch>/lib, built for user space: what is
 * timed is the instructions on this CPU, without faults or allocation.
 */
#include <subcmd/parse-options.h>
#include "bench.h"
#include "mem-common.h"
#include "mem-clear-arch.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/time64.h>

#ifdef HAVE_ARCH_X86_64_SUPPORT
#include <cpuid.h>
#endif

/* The routines clear whole pages. */
#define CHUNK_UNIT	4096

static const char	*size_str	= "64MB";
static const char	*page_str	= "4KB";
static const char	*chunk_str	= "4KB";
static const char	*function_str	= "all";
static const char	*loops_str	= "1";

static const struct option options[] = {
	OPT_STRING('s', "size", &size_str, "64MB",
		   "Specify the size of the buffer, in B, KB, MB, GB or TB (case insensitive)"),

	OPT_STRING('p', "page", &page_str, "4KB",
		   "Specify the size of the pages that it is mapped on: 4KB, 2MB or 1GB"),

	OPT_STRING('k', "chunk", &chunk_str, "4KB",
		   "Specify how much one call clears, in the units of --size"),

	OPT_STRING('f', "function", &function_str, "all",
		   "Specify the function to run, \"all\" runs all, \"help\" lists them"),

	OPT_STRING('l', "nr_loops", &loops_str, "1",
		   "Specify the number of times to clear the buffer. (default: 1)"),

	OPT_END()
};

static const char * const bench_mem_clear_usage[] = {
	"perf bench mem clear <options>",
	NULL
};

/**
 * struct function - a routine that clears memory
 * @name: as given to -f
 * @desc: what it is
 * @fn: clears @len bytes, a multiple of CHUNK_UNIT
 * @missing: returns the name of the feature that this CPU lacks for @fn, or
 *	NULL if it lacks none; may itself be NULL if every CPU can run @fn
 */
struct function {
	const char	*name;
	const char	*desc;
	void		(*fn)(void *addr, unsigned long len);
	const char	*(*missing)(void);
};

#ifdef HAVE_ARCH_X86_64_SUPPORT
static const char *missing_erms(void)
{
	unsigned int eax, ebx, ecx, edx;

	if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (ebx & BIT(9)))
		return NULL;

	return "ERMS";
}
#endif

static const struct function functions[] = {
#ifdef HAVE_ARCH_X86_64_SUPPORT
	{ .name		= "x86-64-unrolled",
	  .desc		= "unrolled MOV in arch/x86/lib/clear_page_64.S",
	  .fn		= clear_pages_unrolled },

	{ .name		= "x86-64-stosq",
	  .desc		= "REP; STOSQ in arch/x86/lib/clear_page_64.S",
	  .fn		= clear_pages_stosq },

	{ .name		= "x86-64-stosb",
	  .desc		= "REP; STOSB in arch/x86/lib/clear_page_64.S",
	  .fn		= clear_pages_stosb,
	  .missing	= missing_erms },
#endif

	{ .name = NULL, }
};

static struct bench_mem_buffer	buffer;
static size_t			chunk;

static const char *missing_feature(const struct function *f)
{
	return f->missing ? f->missing() : NULL;
}

static u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);

	return (u64)ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

static void clear_buffer(const struct function *f, void *buf)
{
	size_t off, len;

	for (off = 0; off < buffer.size; off += len) {
		len = min(chunk, buffer.size - off);
		f->fn(buf + off, len);
	}
}

/* A routine that leaves something out would look fast. */
static int check_zero(const struct function *f, const unsigned char *buf)
{
	const u64 *word = (const u64 *)buf;
	size_t off;

	for (off = 0; off < buffer.size; off += sizeof(*word)) {
		if (word[off / sizeof(*word)])
			break;
	}
	if (off == buffer.size)
		return 0;

	while (!buf[off])
		off++;

	fprintf(stderr, "%s: not zero at offset %zu of %s\n", f->name, off, buffer.size_str);
	return -1;
}

static int bench_function(const struct function *f, void *buf, unsigned long long nr_loops)
{
	unsigned long long i;
	u64 start, end;

	printf("# function '%s' (%s)\n", f->name, f->desc);
	if (bench_format == BENCH_FORMAT_DEFAULT)
		printf("# Clearing %s on %s pages, %s a call ...\n\n",
		       buffer.size_str, buffer.page->name, chunk_str);

	/* Also takes the page faults, so that none are timed. */
	memset(buf, 0xa5, buffer.size);

	start = now_ns();
	for (i = 0; i < nr_loops; i++)
		clear_buffer(f, buf);
	end = now_ns();

	if (check_zero(f, buf))
		return -1;

	bench_mem_print_rate((double)buffer.size * nr_loops * NSEC_PER_SEC / (end - start));
	return 0;
}

static int bench_all(void *buf, unsigned long long nr_loops)
{
	const struct function *f;
	const char *missing;
	int nr_run = 0;

	for (f = functions; f->name; f++) {
		missing = missing_feature(f);
		if (missing) {
			printf("# function '%s' skipped: this CPU has no %s\n", f->name, missing);
			continue;
		}
		if (bench_function(f, buf, nr_loops))
			return -1;
		nr_run++;
	}

	if (!nr_run) {
		fprintf(stderr, "-f all: this CPU can run none of the functions\n");
		return -1;
	}

	return 0;
}

/* A chunk longer than the buffer would not be the length of any call. */
static int parse_chunk(void)
{
	if (bench_mem_parse_size("-k", chunk_str, &chunk))
		return -EINVAL;

	if (chunk % CHUNK_UNIT || chunk > buffer.size) {
		fprintf(stderr, "-k %s: not a multiple of 4KB up to the size of the buffer, %s\n",
			chunk_str, buffer.size_str);
		return -EINVAL;
	}

	return 0;
}

static void list_functions(void)
{
	const struct function *f;

	printf("Available functions:\n");
	for (f = functions; f->name; f++)
		printf("\t%s ... %s\n", f->name, f->desc);
}

/*
 * Find the function that was asked for, all being NULL. Returns 0, or -EINVAL
 * after one line on stderr.
 */
static int find_function(const char *name, const struct function **found)
{
	const struct function *f;
	const char *missing;

	*found = NULL;
	if (!strcmp(name, "all"))
		return 0;

	for (f = functions; f->name; f++) {
		if (!strcmp(f->name, name))
			break;
	}
	if (!f->name) {
		fprintf(stderr, "-f %s: unknown function, see -f help\n", name);
		return -EINVAL;
	}

	missing = missing_feature(f);
	if (missing) {
		fprintf(stderr, "-f %s: this CPU has no %s\n", name, missing);
		return -EINVAL;
	}

	*found = f;
	return 0;
}

int bench_mem_clear(int argc, const char **argv)
{
	const struct function *f;
	unsigned long long nr_loops;
	void *buf;
	int err;

	argc = parse_options(argc, argv, options, bench_mem_clear_usage, 0);
	if (argc) {
		fprintf(stderr, "Unknown argument: %s\n", argv[0]);
		return 1;
	}

	if (!functions[0].name) {
		fprintf(stderr, "perf bench mem clear has no function for this architecture\n");
		return 1;
	}

	if (!strcmp(function_str, "help")) {
		list_functions();
		return 0;
	}

	if (find_function(function_str, &f) ||
	    bench_mem_parse_buffer(&buffer, size_str, page_str) ||
	    parse_chunk() ||
	    bench_mem_parse_number("-l", loops_str, 1, UINT_MAX, &nr_loops) ||
	    bench_mem_check_room(&buffer))
		return 1;

	buf = bench_mem_buffer_map(&buffer, buffer.size, 0);
	if (!buf) {
		bench_mem_buffer_failed(&buffer, errno);
		return 1;
	}

	err = f ? bench_function(f, buf, nr_loops) : bench_all(buf, nr_loops);

	munmap(buf, buffer.size);
	return err ? 1 : 0;
}
