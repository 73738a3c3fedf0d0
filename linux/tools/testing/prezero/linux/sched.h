/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_SCHED_H
#define _LINUX_SCHED_H

#include <stdbool.h>

#define PF_MEMALLOC	0x800

struct task_struct {
	unsigned long prezero_want;
	unsigned int flags;
	bool interrupted;	/* by something that allocates memory, too */
};

extern __thread struct task_struct the_task;

#define current		(&the_task)
#define in_task()	(!current->interrupted)

#endif /* _LINUX_SCHED_H */
