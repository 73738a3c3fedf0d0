/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PERF_BENCH_MEM_CLEAR_ARCH_H
#define PERF_BENCH_MEM_CLEAR_ARCH_H

#ifdef HAVE_ARCH_X86_64_SUPPORT

/* arch/x86/lib/clear_page_64.S */
void clear_pages_unrolled(void *addr, unsigned long len);
void clear_pages_stosq(void *addr, unsigned long len);
void clear_pages_stosb(void *addr, unsigned long len);
void clear_pages_movnt(void *addr, unsigned long len);
void clear_pages_clzero(void *addr, unsigned long len);

/* Not the kernel's: what the CPU could do. */
void clear_stream256(void *addr, unsigned long len);
void clear_stream512(void *addr, unsigned long len);
const char *missing_avx2(void);
const char *missing_avx512(void);

#endif

#endif /* PERF_BENCH_MEM_CLEAR_ARCH_H */
