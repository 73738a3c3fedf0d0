// SPDX-License-Identifier: GPL-2.0
/*
 * Streaming stores as wide as the CPU has them, for 'perf bench mem clear'. The
 * kernel does not use them, for it would have to save the vector registers: they
 * are here to tell how fast this CPU can fill memory at all.
 */
#include "mem-clear-arch.h"

#include <immintrin.h>
#include <stddef.h>

#define LINE	64

const char *missing_avx2(void)
{
	return __builtin_cpu_supports("avx2") ? NULL : "AVX2";
}

const char *missing_avx512(void)
{
	return __builtin_cpu_supports("avx512f") ? NULL : "AVX-512";
}

__attribute__((target("avx2")))
void clear_stream256(void *addr, unsigned long len)
{
	const __m256i zero = _mm256_setzero_si256();
	char *p, *end = (char *)addr + len;

	for (p = addr; p < end; p += LINE) {
		_mm256_stream_si256((__m256i *)p, zero);
		_mm256_stream_si256((__m256i *)p + 1, zero);
	}
	_mm_sfence();
}

__attribute__((target("avx512f")))
void clear_stream512(void *addr, unsigned long len)
{
	const __m512i zero = _mm512_setzero_si512();
	char *p, *end = (char *)addr + len;

	for (p = addr; p < end; p += LINE)
		_mm512_stream_si512((__m512i *)p, zero);
	_mm_sfence();
}
