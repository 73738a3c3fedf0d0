/* SPDX-License-Identifier: GPL-2.0 */

/* No exception table in user space; rep_stos_alternative() is not called. */
#define _ASM_EXTABLE_UA(from, to)

/* The kernel aligns functions to 16 bytes. */
#define globl p2align 4; .globl

#include "../../arch/x86/lib/clear_page_64.S"

/*
 * We need to provide note.GNU-stack section, saying that we want
 * NOT executable stack. Otherwise the final linking will assume that
 * the ELF stack should not be restricted at all and set it RWX.
 */
.section .note.GNU-stack,"",@progbits
