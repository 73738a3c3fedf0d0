/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PERF_BENCH_MEM_COMMON_H
#define PERF_BENCH_MEM_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <linux/types.h>

/**
 * struct bench_mem_buffer - the memory that a benchmark works on
 * @size_str: its size as the user gave it
 * @page_str: the size of its pages likewise; NULL stands for base pages
 * @size: @size_str in bytes, a multiple of @page
 * @page: @page_str in bytes
 * @huge: the pages are from the hugetlb pool
 */
struct bench_mem_buffer {
	const char	*size_str;
	const char	*page_str;
	size_t		size;
	size_t		page;
	bool		huge;
};

/**
 * struct bench_mem_function - one way of doing what a benchmark measures
 * @name: as given to -f; NULL ends a table
 * @desc: what it is
 * @mmap_flags: of 'map': more flags for mmap()
 * @clear: of 'clear': clears @len bytes, a multiple of 4096
 * @missing: returns the name of the feature that this CPU lacks, or NULL if it
 *	lacks none; may itself be NULL if every CPU can run the function
 */
struct bench_mem_function {
	const char	*name;
	const char	*desc;
	int		mmap_flags;
	void		(*clear)(void *addr, unsigned long len);
	const char	*(*missing)(void);
};

int bench_mem_open_cycles(pid_t pid);
u64 bench_mem_now_ns(void);

int bench_mem_parse_size(const char *opt, const char *str, size_t *size);
int bench_mem_parse_number(const char *opt, const char *str, unsigned long long min,
			   unsigned long long max, unsigned long long *val);
int bench_mem_parse_buffer(struct bench_mem_buffer *b);

int bench_mem_check_room(const char *what, size_t size);
int bench_mem_start(const struct bench_mem_buffer *b);
void bench_mem_stop(void);
void *bench_mem_buffer_map(const struct bench_mem_buffer *b, size_t len, int flags);
void bench_mem_buffer_failed(const struct bench_mem_buffer *b, int err);

void bench_mem_list_functions(const struct bench_mem_function *f);
int bench_mem_check_function(const struct bench_mem_function *f, const char *str);
int bench_mem_run_functions(const struct bench_mem_function *f, const char *str,
			    int (*run)(const struct bench_mem_function *f));

u32 *bench_mem_random_order(size_t nr);

int bench_mem_neighbour_start(size_t size);
void bench_mem_neighbour_begin(void);
double bench_mem_neighbour_end(void);
void bench_mem_neighbour_stop(void);

void bench_mem_print(double figure, const char *unit);
void bench_mem_print_rate(double rate);

#endif /* PERF_BENCH_MEM_COMMON_H */
