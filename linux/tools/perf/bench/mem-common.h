/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PERF_BENCH_MEM_COMMON_H
#define PERF_BENCH_MEM_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

struct bench_mem_page {
	const char	*name;		/* as given to -p */
	unsigned int	shift;		/* log2 of the size in bytes */
	bool		huge;		/* from the hugetlb pool */
};

/**
 * struct bench_mem_buffer - the memory that a benchmark works on
 * @size_str: its size as the user gave it, for messages
 * @size: the same in bytes, a multiple of the page size
 * @page: the kind of page that it is mapped on
 */
struct bench_mem_buffer {
	const char			*size_str;
	size_t				size;
	const struct bench_mem_page	*page;
};

int bench_mem_parse_size(const char *opt, const char *str, size_t *size);
int bench_mem_parse_number(const char *opt, const char *str, unsigned long long min,
			   unsigned long long max, unsigned long long *val);
int bench_mem_parse_buffer(struct bench_mem_buffer *b, const char *size_str,
			   const char *page_str);

int bench_mem_check_room(const struct bench_mem_buffer *b);
void *bench_mem_buffer_map(const struct bench_mem_buffer *b, size_t len, int flags);
void bench_mem_buffer_failed(const struct bench_mem_buffer *b, int err);

int bench_mem_cycles_open(void);
u64 bench_mem_cycles_read(int fd);

void bench_mem_print_rate(double bytes_per_sec);
void bench_mem_print_cycles(double cycles_per_byte);

#endif /* PERF_BENCH_MEM_COMMON_H */
