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
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/time64.h>

static const char	*size_str	= "64MB";
static const char	*page_str	= "4KB";
static const char	*function_str	= "all";
static const char	*loops_str	= "1";
static const char	*threads_str	= "1";
static const char	*seed_str;
static bool		use_cycles;

static const struct option options[] = {
	OPT_STRING('s', "size", &size_str, "64MB",
		   "Specify the size of the mapping, in B, KB, MB, GB or TB (case insensitive)"),

	OPT_STRING('p', "page", &page_str, "4KB",
		   "Specify the size of the pages: 4KB, 2MB or 1GB"),

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

struct function {
	const char	*name;
	const char	*desc;
	int		flags;		/* for mmap() */
};

static const struct function functions[] = {
	{ .name		= "demand",
	  .desc		= "mmap(), then a page fault for each page",
	},

	{ .name		= "populate",
	  .desc		= "mmap() with MAP_POPULATE, then a write to each page",
	  .flags	= MAP_POPULATE },

	{ .name		= NULL, }
};

/* One thread and its share of the mapping, for one loop. */
struct worker {
	pthread_t	thread;
	u64		key;		/* of the order of its pages */
	unsigned char	*map;
	int		err;		/* errno, if there is no map */
	bool		no_cycles;	/* no cycle counter */
	u64		start_ns;
	u64		end_ns;
	u64		cycles;
	long		map_faults;	/* faults taken in mmap(), in the writes */
	long		touch_faults;
};

static struct bench_mem_buffer	buffer;
static const struct function	*function;
static size_t			share;		/* of a worker, in bytes */
static unsigned long		share_pages;	/* and in pages */
static unsigned long long	seed;

static u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);

	return (u64)ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

static long thread_faults(void)
{
	struct rusage ru;

	getrusage(RUSAGE_THREAD, &ru);

	return ru.ru_minflt + ru.ru_majflt;
}

/* Spread a seed over all bits: the finalizer of MurmurHash3. */
static u64 mix64(u64 x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdULL;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ULL;
	x ^= x >> 33;

	return x;
}

/*
 * Map the numbers of a given width to each other, one to one: every step is
 * invertible. Unlike a shuffled array this takes no memory, so it neither
 * competes with the mapping nor adds cache misses to the writes.
 */
static u64 permute(u64 x, u64 key, unsigned int bits)
{
	const u64 mask = (1ULL << bits) - 1;
	const unsigned int shift = bits / 2 + 1;
	int round;

	for (round = 0; round < 3; round++) {
		x = (x + key) & mask;
		x = (x * 0x9e3779b97f4a7c15ULL) & mask;
		x ^= x >> shift;
		key = key >> 21 | key << 43;
	}

	return x;
}

static void touch_page(struct worker *w, u64 page)
{
	/* Not zero and not the same twice: check_worker() looks for it. */
	WRITE_ONCE(*(u64 *)(w->map + (page << buffer.page->shift)), page + 1);
}

static void touch_in_order(struct worker *w)
{
	unsigned long i;

	for (i = 0; i < share_pages; i++)
		touch_page(w, i);
}

static void touch_at_random(struct worker *w)
{
	const unsigned int bits = fls_long(share_pages - 1);
	u64 i, page;

	/* The permutation is of a power of two: leave out what is too much. */
	for (i = 0; i < 1ULL << bits; i++) {
		page = permute(i, w->key, bits);
		if (page < share_pages)
			touch_page(w, page);
	}
}

/* The part that is timed, and nothing else. */
static void map_and_touch(struct worker *w, int cycles_fd)
{
	long faults = thread_faults();
	u64 cycles = 0;

	if (use_cycles)
		cycles = bench_mem_cycles_read(cycles_fd);
	w->start_ns = now_ns();

	w->map = bench_mem_buffer_map(&buffer, share, function->flags);
	if (!w->map) {
		w->err = errno;
		return;
	}
	w->map_faults = thread_faults() - faults;

	if (seed_str)
		touch_at_random(w);
	else
		touch_in_order(w);

	w->end_ns = now_ns();
	if (use_cycles)
		w->cycles = bench_mem_cycles_read(cycles_fd) - cycles;

	w->touch_faults = thread_faults() - faults - w->map_faults;
}

/* Holds the threads back until all are there, or lets them go if one is not. */
static struct {
	pthread_mutex_t	lock;
	pthread_cond_t	change;
	u64		arrived;
	enum { GATE_SHUT, GATE_OPEN, GATE_CANCEL } state;
} gate = {
	.lock	= PTHREAD_MUTEX_INITIALIZER,
	.change	= PTHREAD_COND_INITIALIZER,
};

static void gate_set(int state)
{
	pthread_mutex_lock(&gate.lock);
	gate.state = state;
	gate.arrived = 0;
	pthread_cond_broadcast(&gate.change);
	pthread_mutex_unlock(&gate.lock);
}

static void gate_wait_arrived(u64 nr)
{
	pthread_mutex_lock(&gate.lock);
	while (gate.arrived < nr)
		pthread_cond_wait(&gate.change, &gate.lock);
	pthread_mutex_unlock(&gate.lock);
}

static bool gate_pass(void)
{
	bool go;

	pthread_mutex_lock(&gate.lock);
	gate.arrived++;
	pthread_cond_broadcast(&gate.change);
	while (gate.state == GATE_SHUT)
		pthread_cond_wait(&gate.change, &gate.lock);
	go = gate.state == GATE_OPEN;
	pthread_mutex_unlock(&gate.lock);

	return go;
}

static void *worker_fn(void *arg)
{
	struct worker *w = arg;
	int cycles_fd = -1;

	if (use_cycles) {
		cycles_fd = bench_mem_cycles_open();
		w->no_cycles = cycles_fd < 0;
	}

	if (gate_pass() && !w->no_cycles)
		map_and_touch(w, cycles_fd);

	if (cycles_fd >= 0)
		close(cycles_fd);

	return NULL;
}

/* Returns 0, or a negative value after one line on stderr. */
static int run_workers(struct worker *workers, unsigned long long nr_threads)
{
	unsigned long long i, nr_created;
	int err = 0;

	/* One thread needs no other, and no switch between two. */
	if (nr_threads == 1) {
		gate_set(GATE_OPEN);
		worker_fn(&workers[0]);
		return 0;
	}

	gate_set(GATE_SHUT);
	for (nr_created = 0; nr_created < nr_threads; nr_created++) {
		struct worker *w = &workers[nr_created];

		err = pthread_create(&w->thread, NULL, worker_fn, w);
		if (err) {
			fprintf(stderr, "-t %s: cannot create thread %llu: %s\n",
				threads_str, nr_created + 1, strerror(err));
			break;
		}
	}

	if (!err)
		gate_wait_arrived(nr_threads);
	gate_set(err ? GATE_CANCEL : GATE_OPEN);

	for (i = 0; i < nr_created; i++)
		pthread_join(workers[i].thread, NULL);

	return -err;
}

/*
 * A figure for pages that are not there is worse than none. Check that there
 * was a fault for every page, where it should have been: more are possible,
 * fewer mean larger pages than asked for, or that MAP_POPULATE gave up. Check
 * that all of the mapping is resident, and that every page was written to.
 */
static int check_worker(struct worker *w)
{
	const long faults = function->flags & MAP_POPULATE ? w->map_faults : w->touch_faults;
	const size_t base = sysconf(_SC_PAGESIZE);
	unsigned char vec[4096];
	size_t off, len, i;

	if (faults < 0 || (unsigned long)faults < share_pages) {
		fprintf(stderr, "%s: only %ld page faults for %lu pages of %s\n",
			function->name, faults, share_pages, buffer.page->name);
		return -1;
	}

	for (off = 0; off < share; off += len) {
		len = min(share - off, sizeof(vec) * base);
		if (mincore(w->map + off, len, vec)) {
			fprintf(stderr, "%s: mincore: %s\n", function->name, strerror(errno));
			return -1;
		}
		for (i = 0; i < len / base; i++) {
			if (vec[i] & 1)
				continue;
			fprintf(stderr, "%s: nothing mapped at offset %zu of %s\n",
				function->name, off + i * base, buffer.size_str);
			return -1;
		}
	}

	for (i = 0; i < share_pages; i++) {
		if (READ_ONCE(*(u64 *)(w->map + (i << buffer.page->shift))) == i + 1)
			continue;
		fprintf(stderr, "%s: page %zu of %lu was not written to\n",
			function->name, i, share_pages);
		return -1;
	}

	return 0;
}

/* Returns 0, or a negative value after one line on stderr. */
static int check_workers(struct worker *workers, u64 nr_threads)
{
	u64 i;

	for (i = 0; i < nr_threads; i++) {
		if (workers[i].no_cycles) {
			fprintf(stderr, "Failed to open cycles counter\n");
			return -1;
		}
		if (!workers[i].map) {
			bench_mem_buffer_failed(&buffer, workers[i].err);
			return -1;
		}
		if (check_worker(&workers[i]))
			return -1;
	}

	return 0;
}

static int bench_function(struct worker *workers, u64 nr_threads, u64 nr_loops)
{
	u64 i, loop, start, end, ns = 0, cycles = 0;
	double bytes = (double)buffer.size * nr_loops;
	int err = 0;

	printf("# function '%s' (%s)\n", function->name, function->desc);
	if (bench_format == BENCH_FORMAT_DEFAULT)
		printf("# Mapping %s on %s pages ...\n\n", buffer.size_str, buffer.page->name);

	for (loop = 0; loop < nr_loops && !err; loop++) {
		memset(workers, 0, nr_threads * sizeof(*workers));
		for (i = 0; i < nr_threads; i++)
			workers[i].key = mix64(mix64(seed) + i);

		err = run_workers(workers, nr_threads);
		if (!err)
			err = check_workers(workers, nr_threads);

		start = ULLONG_MAX;
		end = 0;
		for (i = 0; i < nr_threads; i++) {
			start = min(start, workers[i].start_ns);
			end = max(end, workers[i].end_ns);
			cycles += workers[i].cycles;
			if (workers[i].map)
				munmap(workers[i].map, share);
		}
		ns += end - start;
	}

	if (err)
		return err;

	if (use_cycles)
		bench_mem_print_cycles(cycles / bytes);
	else
		bench_mem_print_rate(bytes * NSEC_PER_SEC / ns);

	return 0;
}

static int bench_functions(u64 nr_threads, u64 nr_loops)
{
	const bool all = !strcmp(function_str, "all");
	struct worker *workers;
	int thp_off, err = 0;

	workers = calloc(nr_threads, sizeof(*workers));
	if (!workers) {
		fprintf(stderr, "-t %s: out of memory\n", threads_str);
		return -ENOMEM;
	}

	/*
	 * MAP_POPULATE fills a mapping before anybody can advise the kernel
	 * against transparent huge pages in it.
	 */
	thp_off = prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0);
	if (!thp_off)
		prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);

	for (function = functions; function->name && !err; function++) {
		if (all || !strcmp(function->name, function_str))
			err = bench_function(workers, nr_threads, nr_loops);
	}

	if (!thp_off)
		prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);

	free(workers);
	return err;
}

static void list_functions(void)
{
	const struct function *f;

	printf("Available functions:\n");
	for (f = functions; f->name; f++)
		printf("\t%s ... %s\n", f->name, f->desc);
}

static bool known_function(const char *name)
{
	const struct function *f;

	for (f = functions; f->name; f++) {
		if (!strcmp(f->name, name))
			return true;
	}

	return !strcmp(name, "all");
}

int bench_mem_map(int argc, const char **argv)
{
	unsigned long long nr_loops, nr_threads;
	unsigned long nr_pages;

	argc = parse_options(argc, argv, options, bench_mem_map_usage, 0);
	if (argc) {
		fprintf(stderr, "Unknown argument: %s\n", argv[0]);
		return 1;
	}

	if (!strcmp(function_str, "help")) {
		list_functions();
		return 0;
	}
	if (!known_function(function_str)) {
		fprintf(stderr, "-f %s: unknown function, see -f help\n", function_str);
		return 1;
	}

	if (bench_mem_parse_buffer(&buffer, size_str, page_str) ||
	    bench_mem_parse_number("-l", loops_str, 1, UINT_MAX, &nr_loops) ||
	    bench_mem_parse_number("-t", threads_str, 1, UINT_MAX, &nr_threads) ||
	    (seed_str && bench_mem_parse_number("-r", seed_str, 0, ULLONG_MAX, &seed)))
		return 1;

	nr_pages = buffer.size >> buffer.page->shift;
	if (nr_pages % nr_threads) {
		fprintf(stderr, "-t %s: the %lu pages of %s do not divide evenly\n",
			threads_str, nr_pages, size_str);
		return 1;
	}
	share_pages = nr_pages / nr_threads;
	share = buffer.size / nr_threads;

	if (bench_mem_check_room(&buffer))
		return 1;

	return bench_functions(nr_threads, nr_loops) ? 1 : 0;
}
