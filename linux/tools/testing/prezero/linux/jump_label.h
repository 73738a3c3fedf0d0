/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_JUMP_LABEL_H
#define _LINUX_JUMP_LABEL_H

#include <stdbool.h>

struct static_key_false {
	bool enabled;
};

#define DECLARE_STATIC_KEY_FALSE(name)	extern struct static_key_false name
#define DEFINE_STATIC_KEY_FALSE(name)	struct static_key_false name

#define static_branch_unlikely(key)	\
	__atomic_load_n(&(key)->enabled, __ATOMIC_RELAXED)
#define static_branch_enable(key)	\
	__atomic_store_n(&(key)->enabled, true, __ATOMIC_RELAXED)

#endif /* _LINUX_JUMP_LABEL_H */
