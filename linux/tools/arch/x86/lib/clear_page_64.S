/* SPDX-License-Identifier: GPL-2.0-only */
#include <linux/export.h>
#include <linux/linkage.h>
#include <asm/asm.h>

/*
 * One routine per instruction. All of them clear pages that are contiguous in
 * virtual memory:
 *
 *	%rdi	- where it begins, on a page boundary
 *	%rsi	- its length in bytes, a multiple of PAGE_SIZE, 64 bits wide
 *
 * %rax, %rcx, %rdi, %rsi and the flags are lost, nothing else is. The stores
 * are ordinary ones: visible to others in program order, and left in the cache.
 *
 * clear_pages() chooses between them: STOSB where the CPU says that it is fast
 * (ERMS), else STOSQ where it is better than a loop (REP_GOOD), else the loop.
 * The length is the caller's so that the microcode behind REP knows the whole
 * of it: some CPUs treat a long one differently from a page.
 */

SYM_FUNC_START(clear_pages_stosb)
	movq %rsi,%rcx
	xorl %eax,%eax
	rep stosb
	RET
SYM_FUNC_END(clear_pages_stosb)
EXPORT_SYMBOL_GPL(clear_pages_stosb)

SYM_FUNC_START(clear_pages_stosq)
	movq %rsi,%rcx
	shrq $3,%rcx
	xorl %eax,%eax
	rep stosq
	RET
SYM_FUNC_END(clear_pages_stosq)
EXPORT_SYMBOL_GPL(clear_pages_stosq)

SYM_FUNC_START(clear_pages_unrolled)
	xorl %eax,%eax
	.p2align 4
.Lclear_64_bytes:
	movq %rax,(%rdi)
	movq %rax,8(%rdi)
	movq %rax,16(%rdi)
	movq %rax,24(%rdi)
	movq %rax,32(%rdi)
	movq %rax,40(%rdi)
	movq %rax,48(%rdi)
	movq %rax,56(%rdi)
	addq $64,%rdi
	subq $64,%rsi
	ja .Lclear_64_bytes
	RET
SYM_FUNC_END(clear_pages_unrolled)
EXPORT_SYMBOL_GPL(clear_pages_unrolled)

/*
 * What follows stores around the caches. Arguments and losses are as above, but
 * these stores are weakly ordered: another CPU may see a later ordinary store
 * first. There is no fence in here, so that many calls can share one. Whoever
 * calls executes SFENCE after the last of them, and before anything by which
 * others find the memory.
 */

/* Eight stores fill a write-combining buffer, which then leaves as one line. */
SYM_FUNC_START(clear_pages_movnt)
	xorl %eax,%eax
	.p2align 4
.Lmovnt_64_bytes:
	movnti %rax,(%rdi)
	movnti %rax,8(%rdi)
	movnti %rax,16(%rdi)
	movnti %rax,24(%rdi)
	movnti %rax,32(%rdi)
	movnti %rax,40(%rdi)
	movnti %rax,48(%rdi)
	movnti %rax,56(%rdi)
	addq $64,%rdi
	subq $64,%rsi
	ja .Lmovnt_64_bytes
	RET
SYM_FUNC_END(clear_pages_movnt)

/*
 * CLZERO clears the line that %rax points into, 64 bytes on all CPUs with it.
 * Not all assemblers that can build a kernel know it.
 */
SYM_FUNC_START(clear_pages_clzero)
	movq %rdi,%rax
	.p2align 4
.Lclzero_line:
	.byte 0x0f, 0x01, 0xfc	/* clzero */
	addq $64,%rax
	subq $64,%rsi
	ja .Lclzero_line
	RET
SYM_FUNC_END(clear_pages_clzero)

/*
 * Default clear user-space.
 * Input:
 * rdi destination
 * rcx count
 * rax is zero
 *
 * Output:
 * rcx: uncleared bytes or 0 if successful.
 */
SYM_FUNC_START(rep_stos_alternative)
	cmpq $64,%rcx
	jae .Lunrolled

	cmp $8,%ecx
	jae .Lword

	testl %ecx,%ecx
	je .Lexit

.Lclear_user_tail:
0:	movb %al,(%rdi)
	inc %rdi
	dec %rcx
	jnz .Lclear_user_tail
.Lexit:
	RET

	_ASM_EXTABLE_UA( 0b, .Lexit)

.Lword:
1:	movq %rax,(%rdi)
	addq $8,%rdi
	sub $8,%ecx
	je .Lexit
	cmp $8,%ecx
	jae .Lword
	jmp .Lclear_user_tail

	.p2align 4
.Lunrolled:
10:	movq %rax,(%rdi)
11:	movq %rax,8(%rdi)
12:	movq %rax,16(%rdi)
13:	movq %rax,24(%rdi)
14:	movq %rax,32(%rdi)
15:	movq %rax,40(%rdi)
16:	movq %rax,48(%rdi)
17:	movq %rax,56(%rdi)
	addq $64,%rdi
	subq $64,%rcx
	cmpq $64,%rcx
	jae .Lunrolled
	cmpl $8,%ecx
	jae .Lword
	testl %ecx,%ecx
	jne .Lclear_user_tail
	RET

	/*
	 * If we take an exception on any of the
	 * word stores, we know that %rcx isn't zero,
	 * so we can just go to the tail clearing to
	 * get the exact count.
	 *
	 * The unrolled case might end up clearing
	 * some bytes twice. Don't care.
	 *
	 * We could use the value in %rdi to avoid
	 * a second fault on the exact count case,
	 * but do we really care? No.
	 *
	 * Finally, we could try to align %rdi at the
	 * top of the unrolling. But unaligned stores
	 * just aren't that common or expensive.
	 */
	_ASM_EXTABLE_UA( 1b, .Lclear_user_tail)
	_ASM_EXTABLE_UA(10b, .Lclear_user_tail)
	_ASM_EXTABLE_UA(11b, .Lclear_user_tail)
	_ASM_EXTABLE_UA(12b, .Lclear_user_tail)
	_ASM_EXTABLE_UA(13b, .Lclear_user_tail)
	_ASM_EXTABLE_UA(14b, .Lclear_user_tail)
	_ASM_EXTABLE_UA(15b, .Lclear_user_tail)
	_ASM_EXTABLE_UA(16b, .Lclear_user_tail)
	_ASM_EXTABLE_UA(17b, .Lclear_user_tail)
SYM_FUNC_END(rep_stos_alternative)
EXPORT_SYMBOL(rep_stos_alternative)
