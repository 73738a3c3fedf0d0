// SPDX-License-Identifier: GPL-2.0
/*
 * A neighbour for 'perf bench mem' benchmarks: a thread on another CPU that
 * follows pointers through a working set of its own. Its loads depend on each
 * other, so that the time of one is what the caches that it shares do for it.
 */
#include "bench.h"
#include "mem-common.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <linux/compiler.h>
#include <linux/kernel.h>

#define LINE	64

/* Loads between two looks at the clock. */
#define STEPS	256

struct link {
	struct link	*next;
	char		pad[LINE - sizeof(struct link *)];
};

static struct link	*links;
static size_t		links_len;
static pthread_t	thread;
static cpu_set_t	all_cpus;
static int		measure;	/* count loads; otherwise only go on */
static int		stop;
static u64		loads, ns;

static int nth_cpu(unsigned int n)
{
	int cpu;

	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &all_cpus) && !n--)
			return cpu;
	}

	return -1;
}

static int move_to(pthread_t t, int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	return pthread_setaffinity_np(t, sizeof(one), &one);
}

/* One cycle through all lines, in an order that no prefetcher guesses. */
static void tie(size_t nr)
{
	u32 *order = bench_mem_random_order(nr);
	size_t i;

	for (i = 0; order && i < nr; i++)
		links[order[i]].next = &links[order[(i + 1) % nr]];
	free(order);
}

static void *chase(void *arg __maybe_unused)
{
	struct link *p = links;
	u64 start;
	int i;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		start = bench_mem_now_ns();
		for (i = 0; i < STEPS; i++)
			p = READ_ONCE(p->next);
		if (__atomic_load_n(&measure, __ATOMIC_RELAXED)) {
			ns += bench_mem_now_ns() - start;
			loads += STEPS;
		}
	}

	return p;
}

/**
 * bench_mem_neighbour_start() - start the neighbour
 * @size: its working set, in bytes
 *
 * The calling thread stays on one CPU from now on, and the neighbour on another.
 *
 * Return: 0, or a negative value after one line on stderr.
 */
int bench_mem_neighbour_start(size_t size)
{
	const size_t nr = size / LINE;
	int err;

	if (nr < 2) {
		fprintf(stderr, "-n: the working set must be two cache lines or more\n");
		return -EINVAL;
	}

	sched_getaffinity(0, sizeof(all_cpus), &all_cpus);
	if (CPU_COUNT(&all_cpus) < 2) {
		fprintf(stderr, "-n: a neighbour needs a second CPU\n");
		return -EINVAL;
	}

	links_len = nr * LINE;
	/* And the order that it is tied in. */
	if (bench_mem_check_room("-n", links_len + nr * sizeof(u32)))
		return -ENOMEM;

	links = mmap(NULL, links_len, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (links == MAP_FAILED) {
		fprintf(stderr, "-n: no memory for the working set: %s\n", strerror(errno));
		return -ENOMEM;
	}
	madvise(links, links_len, MADV_HUGEPAGE);
	tie(nr);
	if (!links[0].next) {
		fprintf(stderr, "-n: no memory for the order of the working set\n");
		munmap(links, links_len);
		return -ENOMEM;
	}

	stop = 0;
	measure = 0;
	err = pthread_create(&thread, NULL, chase, NULL);
	if (err) {
		fprintf(stderr, "-n: cannot start a thread: %s\n", strerror(err));
		munmap(links, links_len);
		return -err;
	}

	move_to(pthread_self(), nth_cpu(0));
	move_to(thread, nth_cpu(1));
	return 0;
}

/**
 * bench_mem_neighbour_begin() - begin to count its loads
 */
void bench_mem_neighbour_begin(void)
{
	loads = 0;
	ns = 0;
	__atomic_store_n(&measure, 1, __ATOMIC_SEQ_CST);
}

/**
 * bench_mem_neighbour_end() - end counting
 *
 * Return: nanoseconds a load since bench_mem_neighbour_begin(), 0 if there was
 * no time for any.
 */
double bench_mem_neighbour_end(void)
{
	__atomic_store_n(&measure, 0, __ATOMIC_SEQ_CST);
	return loads ? (double)ns / loads : 0;
}

/**
 * bench_mem_neighbour_stop() - stop the neighbour
 */
void bench_mem_neighbour_stop(void)
{
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	munmap(links, links_len);
	sched_setaffinity(0, sizeof(all_cpus), &all_cpus);
}
