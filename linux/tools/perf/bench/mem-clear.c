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
#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/time64.h>

#ifdef HAVE_ARCH_X86_64_SUPPORT
#include <cpuid.h>
#endif

/* The routines clear whole pages. */
#define CHUNK_UNIT	4096

static struct bench_mem_buffer	buffer = { .size_str = "64MB" };
static const char		*chunk_str = "4KB";
static const char		*function_str = "all";
static const char		*loops_str = "1";

static const struct option options[] = {
	OPT_STRING('s', "size", &buffer.size_str, "64MB",
		   "Specify the size of the buffer, in B, KB, MB, GB or TB (case insensitive)"),

	OPT_STRING('p', "page", &buffer.page_str, "size",
		   "Specify the size of the pages: base pages, 2MB or 1GB (default: base pages)"),

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

#ifdef HAVE_ARCH_X86_64_SUPPORT
static const char *missing_erms(void)
{
	unsigned int eax, ebx, ecx, edx;

	if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (ebx & BIT(9)))
		return NULL;

	return "ERMS";
}
#endif

static const struct bench_mem_function functions[] = {
#ifdef HAVE_ARCH_X86_64_SUPPORT
	{ .name		= "x86-64-unrolled",
	  .desc		= "unrolled MOV in arch/x86/lib/clear_page_64.S",
	  .clear	= clear_pages_unrolled },

	{ .name		= "x86-64-stosq",
	  .desc		= "REP; STOSQ in arch/x86/lib/clear_page_64.S",
	  .clear	= clear_pages_stosq },

	{ .name		= "x86-64-stosb",
	  .desc		= "REP; STOSB in arch/x86/lib/clear_page_64.S",
	  .clear	= clear_pages_stosb,
	  .missing	= missing_erms },
#endif

	{ .name = NULL, }
};

static unsigned char		*buf;
static unsigned long long	nr_loops;
static size_t			chunk;

static void clear_buffer(const struct bench_mem_function *f)
{
	size_t off, len;

	for (off = 0; off < buffer.size; off += len) {
		len = min(chunk, buffer.size - off);
		f->clear(buf + off, len);
	}
}

/* A routine that leaves something out would look fast. */
static int check_zero(const struct bench_mem_function *f)
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

static int bench_function(const struct bench_mem_function *f)
{
	unsigned long long i;
	u64 start, end;

	printf("# function '%s' (%s)\n", f->name, f->desc);
	if (bench_format == BENCH_FORMAT_DEFAULT)
		printf("# Clearing %s on %s pages, %s a call ...\n\n",
		       buffer.size_str, buffer.page_str, chunk_str);

	/* Also takes the page faults, so that none are timed. */
	memset(buf, 0xa5, buffer.size);

	start = bench_mem_now_ns();
	for (i = 0; i < nr_loops; i++)
		clear_buffer(f);
	end = bench_mem_now_ns();

	if (check_zero(f))
		return -1;

	bench_mem_print_rate((double)buffer.size * nr_loops * NSEC_PER_SEC / (end - start));
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

int bench_mem_clear(int argc, const char **argv)
{
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
		bench_mem_list_functions(functions);
		return 0;
	}

	if (bench_mem_check_function(functions, function_str) ||
	    bench_mem_parse_buffer(&buffer) ||
	    parse_chunk() ||
	    bench_mem_parse_number("-l", loops_str, 1, UINT_MAX, &nr_loops) ||
	    bench_mem_start(&buffer))
		return 1;

	buf = bench_mem_buffer_map(&buffer, buffer.size, 0);
	if (buf) {
		err = bench_mem_run_functions(functions, function_str, bench_function);
		munmap(buf, buffer.size);
	} else {
		err = errno;
		bench_mem_buffer_failed(&buffer, err);
	}

	bench_mem_stop();
	return err ? 1 : 0;
}
