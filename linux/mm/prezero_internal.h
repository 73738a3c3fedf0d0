/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What prezero.c needs of the rest of the kernel. The test in
 * tools/testing/prezero/ has its own in place of this.
 */
#ifndef _MM_PREZERO_INTERNAL_H
#define _MM_PREZERO_INTERNAL_H

#include <linux/gfp.h>
#include <linux/jump_label.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/page-isolation.h>
#include <linux/pageblock-flags.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/vmstat.h>

#include "free_walk.h"
#include "page_clearing.h"

#endif /* _MM_PREZERO_INTERNAL_H */
