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
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/time64.h>

#ifdef HAVE_ARCH_X86_64_SUPPORT
#include <cpuid.h>
#endif

/* The routines clear whole pages. */
#define CHUNK_UNIT	4096

#define LINE		64

/* How long the neighbour is timed by itself. */
#define NEIGHBOUR_ALONE_US	300000

static struct bench_mem_buffer	buffer = { .size_str = "64MB" };
static const char		*chunk_str = "4KB";
static const char		*function_str = "all";
static const char		*loops_str = "1";
static const char		*use_str = "none";
static const char		*block_str;
static const char		*neighbour_str;

static const struct option options[] = {
	OPT_STRING('s', "size", &buffer.size_str, "64MB",
		   "Specify the size of the buffer, in B, KB, MB, GB or TB (case insensitive)"),

	OPT_STRING('p', "page", &buffer.page_str, "size",
		   "Specify the size of the pages: base pages, 2MB or 1GB (default: base pages)"),

	OPT_STRING('k', "chunk", &chunk_str, "4KB",
		   "Specify how much one call clears, in the units of --size"),

	OPT_STRING('f', "function", &function_str, "all",
		   "Specify the function to run, \"all\" runs all, \"help\" lists them"),

	OPT_STRING('u', "use", &use_str, "none",
		   "Specify the use of each block then: none, first, tenth, write, random, read"),

	OPT_STRING('b', "block", &block_str, "size",
		   "Specify how much is cleared before it is used (default: a chunk)"),

	OPT_STRING('n', "neighbour", &neighbour_str, "size",
		   "Specify the working set of a thread on another CPU, whose loads are timed"),

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

/* The routine expects the lines of today's CPUs that have the instruction. */
static const char *missing_clzero(void)
{
	unsigned int eax, ebx, ecx, edx;

	if (!__get_cpuid(0x80000008, &eax, &ebx, &ecx, &edx) || !(ebx & BIT(0)))
		return "CLZERO";

	if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || ((ebx >> 8) & 0xff) * 8 != 64)
		return "64-byte lines";

	return NULL;
}

/* Like the kernel before it lets others see what these cleared. */
static void make_coherent(void)
{
	asm volatile("sfence" ::: "memory");
}

static void clear_movnti(void *addr, unsigned long len)
{
	clear_pages_movnt(addr, len);
	make_coherent();
}

static void clear_clzero(void *addr, unsigned long len)
{
	clear_pages_clzero(addr, len);
	make_coherent();
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

	{ .name		= "x86-64-movnti",
	  .desc		= "MOVNTI in arch/x86/lib/clear_page_64.S, and SFENCE",
	  .clear	= clear_movnti },

	{ .name		= "x86-64-clzero",
	  .desc		= "CLZERO in arch/x86/lib/clear_page_64.S, and SFENCE",
	  .clear	= clear_clzero,
	  .missing	= missing_clzero },

	{ .name		= "x86-64-stream256",
	  .desc		= "streaming stores of 32 bytes, for comparison",
	  .clear	= clear_stream256,
	  .missing	= missing_avx2 },

	{ .name		= "x86-64-stream512",
	  .desc		= "streaming stores of 64 bytes, for comparison",
	  .clear	= clear_stream512,
	  .missing	= missing_avx512 },
#endif

	{ .name = NULL, }
};

static unsigned char		*buf;
static unsigned long long	nr_loops;
static size_t			chunk;
static size_t			block;
static size_t			neighbour;

/* What -u can say. All of them touch a line once. */
static const char * const uses[] = {
	"none",		/* nothing */
	"first",	/* write the first 4 KB */
	"tenth",	/* write the first tenth */
	"write",	/* write all, in order */
	"random",	/* write all, in an order that cannot be guessed */
	"read",		/* read all, in order */
};

enum { USE_NONE, USE_FIRST, USE_TENTH, USE_WRITE, USE_RANDOM, USE_READ };

static unsigned int	use;
static u32		*order;		/* of the lines of a block, for USE_RANDOM */

static void write_lines(unsigned char *p, size_t len)
{
	size_t i;

	for (i = 0; i < len; i += LINE)
		WRITE_ONCE(*(u64 *)(p + i), 0);
}

static void use_block(unsigned char *p, size_t len)
{
	size_t i, at;

	switch (use) {
	case USE_FIRST:
		write_lines(p, min_t(size_t, len, CHUNK_UNIT));
		break;
	case USE_TENTH:
		write_lines(p, len / 10);
		break;
	case USE_WRITE:
		write_lines(p, len);
		break;
	case USE_RANDOM:
		for (i = 0; i < block / LINE; i++) {
			at = (size_t)order[i] * LINE;
			if (at < len)
				WRITE_ONCE(*(u64 *)(p + at), 0);
		}
		break;
	case USE_READ:
		for (i = 0; i < len; i += LINE)
			(void)READ_ONCE(*(u64 *)(p + i));
		break;
	default:
		break;
	}
}

static void clear_buffer(const struct bench_mem_function *f)
{
	size_t off, len, start = 0;

	for (off = 0; off < buffer.size; off += len) {
		len = min(chunk, buffer.size - off);
		f->clear(buf + off, len);
		if (use == USE_NONE || (off + len) % block)
			continue;
		use_block(buf + start, off + len - start);
		start = off + len;
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
	double alone = 0, beside = 0;
	u64 start, end;

	printf("# function '%s' (%s)\n", f->name, f->desc);
	if (bench_format == BENCH_FORMAT_DEFAULT)
		printf("# Clearing %s on %s pages, %s a call ...\n\n",
		       buffer.size_str, buffer.page_str, chunk_str);

	/* Also takes the page faults, so that none are timed. */
	memset(buf, 0xa5, buffer.size);

	if (neighbour_str) {
		bench_mem_neighbour_begin();
		usleep(NEIGHBOUR_ALONE_US);
		alone = bench_mem_neighbour_end();
		bench_mem_neighbour_begin();
	}

	start = bench_mem_now_ns();
	for (i = 0; i < nr_loops; i++)
		clear_buffer(f);
	end = bench_mem_now_ns();

	if (neighbour_str)
		beside = bench_mem_neighbour_end();
	if (check_zero(f))
		return -1;
	if (neighbour_str && (alone == 0 || beside == 0)) {
		fprintf(stderr, "-n: there was no time to measure the neighbour, try more -l\n");
		return -1;
	}

	bench_mem_print_rate((double)buffer.size * nr_loops * NSEC_PER_SEC / (end - start));
	if (neighbour_str && bench_format == BENCH_FORMAT_DEFAULT)
		printf(" %14.1f ns a load of the neighbour, %.1f alone\n", beside, alone);
	else if (neighbour_str)
		printf("%f %f\n", beside, alone);
	return 0;
}

static int parse_use(void)
{
	block = chunk;
	if (block_str) {
		if (bench_mem_parse_size("-b", block_str, &block))
			return -EINVAL;
		if (block % chunk) {
			fprintf(stderr, "-b %s: not a multiple of -k\n", block_str);
			return -EINVAL;
		}
	}

	for (use = 0; use < ARRAY_SIZE(uses); use++) {
		if (!strcmp(use_str, uses[use]))
			break;
	}
	if (use == ARRAY_SIZE(uses)) {
		fprintf(stderr, "-u %s: not one of none, first, tenth, write, random, read\n",
			use_str);
		return -EINVAL;
	}
	if (use != USE_NONE && buffer.size % block) {
		fprintf(stderr, "-u %s: -s is not a multiple of -b, or of -k\n", use_str);
		return -EINVAL;
	}
	return 0;
}

/* Not before it is known that there is room for what it is used on. */
static int make_order(void)
{
	if (use != USE_RANDOM)
		return 0;
	if (bench_mem_check_room("-u random", block / LINE * sizeof(*order)))
		return -ENOMEM;

	order = bench_mem_random_order(block / LINE);
	if (!order) {
		fprintf(stderr, "-u random: no memory for the order\n");
		return -ENOMEM;
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

static int bench_buffer(void)
{
	int err;

	if (make_order())
		return -1;

	buf = bench_mem_buffer_map(&buffer, buffer.size, 0);
	if (buf) {
		err = bench_mem_run_functions(functions, function_str, bench_function);
		munmap(buf, buffer.size);
	} else {
		err = -errno;
		bench_mem_buffer_failed(&buffer, errno);
	}

	free(order);
	return err;
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
	    (neighbour_str && bench_mem_parse_size("-n", neighbour_str, &neighbour)) ||
	    parse_use() ||
	    bench_mem_parse_number("-l", loops_str, 1, UINT_MAX, &nr_loops))
		return 1;

	/* It wants huge pages, which the buffer may switch off. */
	if (neighbour_str && bench_mem_neighbour_start(neighbour))
		return 1;

	err = bench_mem_start(&buffer);
	if (!err) {
		err = bench_buffer();
		bench_mem_stop();
	}

	if (neighbour_str)
		bench_mem_neighbour_stop();
	return err ? 1 : 0;
}
