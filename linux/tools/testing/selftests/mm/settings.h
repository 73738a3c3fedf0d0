/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Settings in sysfs, for tests in which a write may well be refused: nothing here
 * has a word of its own or ends the test.
 */
#ifndef _SELFTESTS_MM_SETTINGS_H
#define _SELFTESTS_MM_SETTINGS_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Returns 0 or an errno. */
static inline int put_bytes(const char *path, const void *val, size_t len)
{
	int fd = open(path, O_WRONLY), ret = 0;

	if (fd < 0)
		return errno;
	if (write(fd, val, len) != (ssize_t)len)
		ret = errno;
	close(fd);
	return ret;
}

static inline int put(const char *path, const char *val)
{
	return put_bytes(path, val, strlen(val));
}

static inline int put_num(const char *path, unsigned long num)
{
	char buf[32];

	snprintf(buf, sizeof(buf), "%lu", num);
	return put(path, buf);
}

/* The first line, or nothing. */
static inline void get(const char *path, char *buf, size_t len)
{
	int fd = open(path, O_RDONLY);
	ssize_t n = -1;

	if (fd >= 0) {
		n = read(fd, buf, len - 1);
		close(fd);
	}
	buf[n < 0 ? 0 : n] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
}

#endif /* _SELFTESTS_MM_SETTINGS_H */
