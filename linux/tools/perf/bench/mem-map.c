// SPDX-License-Identifier: GPL-2.0
/*
 * perf bench mem map: how fast the kernel hands out memory
 *
 * What is timed is mmap() and one write to each page: entering the kernel,
 * allocating, clearing and mapping. The unmapping is not.
 */
#include <subcmd/parse-options.h>
#include "bench.h"
#include "mem-common.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/time64.h>

static struct bench_mem_buffer	buffer = { .size_str = "64MB" };
static const char		*function_str = "all";
static const char		*loops_str = "1";
static const char		*threads_str = "1";
static const char		*seed_str;
static bool			use_cycles;

static const struct option options[] = {
	OPT_STRING('s', "size", &buffer.size_str, "64MB",
		   "Specify the size of the mapping, in B, KB, MB, GB or TB (case insensitive)"),

	OPT_STRING('p', "page", &buffer.page_str, "size",
		   "Specify the size of the pages: base pages, 2MB or 1GB (default: base pages)"),

	OPT_STRING('f', "function", &function_str, "all",
		   "Specify the function to run, \"all\" runs all, \"help\" lists them"),

	OPT_STRING('l', "nr_loops", &loops_str, "1",
		   "Specify the number of loops to run, each with a new mapping. (default: 1)"),

	OPT_STRING('t', "threads", &threads_str, "1",
		   "Specify the number of threads to divide the mapping between. (default: 1)"),

	OPT_STRING('r', "random", &seed_str, "seed",
		   "Touch the pages in a random order made from this seed"),

	OPT_BOOLEAN('c', "cycles", &use_cycles,
		    "Use a cycles event instead of the clock to measure performance"),

	OPT_END()
};

static const char * const bench_mem_map_usage[] = {
	"perf bench mem map <options>",
	NULL
};

static const struct bench_mem_function functions[] = {
	{ .name		= "demand",
	  .desc		= "mmap(), then a page fault for each page" },

	{ .name		= "populate",
	  .desc		= "mmap() with MAP_POPULATE, then a write to each page",
	  .mmap_flags	= MAP_POPULATE },

	{ .name		= NULL, }
};

/* One thread and its share of the mapping, for one loop. */
struct worker {
	const struct bench_mem_function	*f;
	pthread_t			thread;
	u64				seed;
	unsigned char			*map;
	int				err;		/* errno, if there is no map */
	int				cycles_fd;
	u64				start_ns;
	u64				end_ns;
	u64				cycles;
	long				faults;		/* where they should be taken */
};

static struct worker		*workers;
static unsigned long long	nr_workers, nr_loops, seed;
static size_t			share;		/* of a worker, in bytes */
static unsigned long		share_pages;	/* and in pages */

/* Holds the threads back until all are there. */
static pthread_mutex_t		arrival_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t		all_arrived = PTHREAD_COND_INITIALIZER;
static unsigned long long	nr_arrived;

static long thread_faults(void)
{
	struct rusage ru;

	getrusage(RUSAGE_THREAD, &ru);

	return ru.ru_minflt + ru.ru_majflt;
}

static u64 read_cycles(int fd)
{
	u64 cycles;

	if (read(fd, &cycles, sizeof(cycles)) != sizeof(cycles)) {
		fprintf(stderr, "Failed to read cycles counter\n");
		exit(EXIT_FAILURE);
	}

	return cycles;
}

static u64 *page_word(struct worker *w, unsigned long page)
{
	return (u64 *)(w->map + page * buffer.page);
}

/* Not zero and not the same twice: check_worker() looks for it. */
static void touch_page(struct worker *w, unsigned long page)
{
	WRITE_ONCE(*page_word(w, page), page + 1);
}

/*
 * Each page once, without an array to shuffle: that would compete with the
 * mapping for memory and caches.
 */
static void touch_at_random(struct worker *w)
{
	const unsigned int bits = fls_long(share_pages - 1);
	const u64 mask = (1ULL << bits) - 1;
	u64 i, page, x = 0;

	for (i = 0; i <= mask; i++) {
		/* This congruence has the full period, for any odd summand. */
		x = (x * 6364136223846793005ULL + 2 * w->seed + 1) & mask;
		/* Its low bits have short ones: mix in the high bits. */
		page = x ^ x >> (bits / 2 + 1);
		if (page < share_pages)
			touch_page(w, page);
	}
}

/* What is timed, with a getrusage() between mapping and touching. */
static void map_and_touch(struct worker *w)
{
	long faults_start = thread_faults(), faults_mapped;
	unsigned long i;
	u64 cycles = 0;

	if (use_cycles)
		cycles = read_cycles(w->cycles_fd);
	w->start_ns = bench_mem_now_ns();

	w->map = bench_mem_buffer_map(&buffer, share, w->f->mmap_flags);
	if (!w->map) {
		w->err = errno;
		return;
	}
	faults_mapped = thread_faults();

	if (seed_str) {
		touch_at_random(w);
	} else {
		for (i = 0; i < share_pages; i++)
			touch_page(w, i);
	}

	w->end_ns = bench_mem_now_ns();
	if (use_cycles)
		w->cycles = read_cycles(w->cycles_fd) - cycles;

	if (w->f->mmap_flags & MAP_POPULATE)
		w->faults = faults_mapped - faults_start;
	else
		w->faults = thread_faults() - faults_mapped;
}

static void wait_for_all(void)
{
	pthread_mutex_lock(&arrival_lock);
	if (++nr_arrived == nr_workers)
		pthread_cond_broadcast(&all_arrived);
	while (nr_arrived < nr_workers)
		pthread_cond_wait(&all_arrived, &arrival_lock);
	pthread_mutex_unlock(&arrival_lock);
}

static void *worker_fn(void *arg)
{
	struct worker *w = arg;

	if (use_cycles)
		w->cycles_fd = bench_mem_open_cycles(0);

	wait_for_all();

	if (w->cycles_fd >= 0)
		map_and_touch(w);

	if (use_cycles && w->cycles_fd >= 0)
		close(w->cycles_fd);

	return NULL;
}

static void run_workers(void)
{
	unsigned long long i;
	int err;

	nr_arrived = 0;

	/* One thread needs no other, and no switch between two. */
	if (nr_workers == 1) {
		worker_fn(&workers[0]);
		return;
	}

	for (i = 0; i < nr_workers; i++) {
		err = pthread_create(&workers[i].thread, NULL, worker_fn, &workers[i]);
		if (err) {
			/* The others wait for this one. */
			fprintf(stderr, "-t %s: cannot create thread %llu: %s\n",
				threads_str, i + 1, strerror(err));
			exit(EXIT_FAILURE);
		}
	}

	for (i = 0; i < nr_workers; i++)
		pthread_join(workers[i].thread, NULL);
}

/*
 * A figure for pages that are not there is worse than none. Check that there
 * was a fault for every page, where it should have been: more are possible,
 * fewer mean larger pages than asked for, or that MAP_POPULATE gave up. Check
 * that every page is resident and was written to.
 *
 * Returns 0, or a negative value after one line on stderr.
 */
static int check_worker(struct worker *w)
{
	const char *name = w->f->name;
	unsigned char resident;
	unsigned long i;

	if (w->cycles_fd < 0) {
		fprintf(stderr, "Failed to open cycles counter\n");
		return -1;
	}

	if (!w->map) {
		bench_mem_buffer_failed(&buffer, w->err);
		return -1;
	}

	if (w->faults < 0 || (unsigned long)w->faults < share_pages) {
		fprintf(stderr, "%s: only %ld page faults for %lu pages of %s\n",
			name, w->faults, share_pages, buffer.page_str);
		return -1;
	}

	for (i = 0; i < share_pages; i++) {
		if (mincore(page_word(w, i), 1, &resident) || !(resident & 1)) {
			fprintf(stderr, "%s: page %lu of %lu is not resident\n",
				name, i, share_pages);
			return -1;
		}
		if (READ_ONCE(*page_word(w, i)) != i + 1) {
			fprintf(stderr, "%s: page %lu of %lu was not written to\n",
				name, i, share_pages);
			return -1;
		}
	}

	return 0;
}

static int bench_function(const struct bench_mem_function *f)
{
	const double bytes = (double)buffer.size * nr_loops;
	u64 i, loop, start, end, ns = 0, cycles = 0;
	int err = 0;

	printf("# function '%s' (%s)\n", f->name, f->desc);
	if (bench_format == BENCH_FORMAT_DEFAULT)
		printf("# Mapping %s on %s pages ...\n\n", buffer.size_str, buffer.page_str);

	for (loop = 0; loop < nr_loops && !err; loop++) {
		memset(workers, 0, nr_workers * sizeof(*workers));
		for (i = 0; i < nr_workers; i++) {
			workers[i].f = f;
			workers[i].seed = seed + i;
		}

		run_workers();

		start = ULLONG_MAX;
		end = 0;
		for (i = 0; i < nr_workers; i++) {
			struct worker *w = &workers[i];

			if (!err)
				err = check_worker(w);
			if (w->map)
				munmap(w->map, share);
			start = min(start, w->start_ns);
			end = max(end, w->end_ns);
			cycles += w->cycles;
		}
		ns += end - start;
	}

	if (err)
		return err;

	if (use_cycles)
		bench_mem_print(cycles / bytes, "cycles/byte");
	else
		bench_mem_print_rate(bytes * NSEC_PER_SEC / ns);

	return 0;
}

int bench_mem_map(int argc, const char **argv)
{
	unsigned long nr_pages;
	int err;

	argc = parse_options(argc, argv, options, bench_mem_map_usage, 0);
	if (argc) {
		fprintf(stderr, "Unknown argument: %s\n", argv[0]);
		return 1;
	}

	if (!strcmp(function_str, "help")) {
		bench_mem_list_functions(functions);
		return 0;
	}

	if (bench_mem_check_function(functions, function_str) ||
	    bench_mem_parse_buffer(&buffer) ||
	    bench_mem_parse_number("-l", loops_str, 1, UINT_MAX, &nr_loops) ||
	    bench_mem_parse_number("-t", threads_str, 1, UINT_MAX, &nr_workers) ||
	    (seed_str && bench_mem_parse_number("-r", seed_str, 0, ULLONG_MAX, &seed)))
		return 1;

	nr_pages = buffer.size / buffer.page;
	if (nr_pages % nr_workers) {
		fprintf(stderr, "-t %s: the %lu pages of %s do not divide evenly\n",
			threads_str, nr_pages, buffer.size_str);
		return 1;
	}
	share_pages = nr_pages / nr_workers;
	share = buffer.size / nr_workers;

	workers = calloc(nr_workers, sizeof(*workers));
	if (!workers) {
		fprintf(stderr, "-t %s: out of memory\n", threads_str);
		return 1;
	}

	err = bench_mem_start(&buffer);
	if (!err) {
		err = bench_mem_run_functions(functions, function_str, bench_function);
		bench_mem_stop();
	}

	free(workers);
	return err ? 1 : 0;
}
