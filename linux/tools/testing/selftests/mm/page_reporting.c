// SPDX-License-Identifier: GPL-2.0
/*
 * The tunables of free page reporting: what is written is read again, and what
 * makes no sense changes nothing.
 *
 * There need not be a device to report to. The settings are put back after each
 * test, by its parent so that a test may die.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "vm_util.h"
#include "clear_util.h"

#define DIR		"/sys/kernel/mm/page_reporting/"
#define PARAMETER	"/sys/module/page_reporting/parameters/page_reporting_order"
#define UNSET		"-1"

static char saved_order[16], saved_batch_size[16], saved_delay[16];

static void save_settings(void)
{
	get(DIR "order", saved_order, sizeof(saved_order));
	get(DIR "batch_size", saved_batch_size, sizeof(saved_batch_size));
	get(DIR "delay_millisecs", saved_delay, sizeof(saved_delay));
}

static void restore_settings(void)
{
	if (geteuid() || !saved_order[0])
		return;
	if (strcmp(saved_order, UNSET))
		put(DIR "order", saved_order);
	put(DIR "batch_size", saved_batch_size);
	put(DIR "delay_millisecs", saved_delay);
}

/* Why there is nothing to test, or NULL. */
static const char *missing(void)
{
	if (access(DIR, F_OK))
		return "no " DIR;
	return geteuid() ? "not root" : NULL;
}

FIXTURE(tunable) {
};

FIXTURE_VARIANT(tunable) {
	const char *path;
	const char *good[4];
	const char *out_of_range[4];
};

/* The largest order differs between kernels; nobody has one of 64. */
FIXTURE_VARIANT_ADD(tunable, order) {
	.path = DIR "order",
	.good = { "0", "5", "9" },
	.out_of_range = { "64", "4294967295", "4294967296" },
};

FIXTURE_VARIANT_ADD(tunable, batch_size) {
	.path = DIR "batch_size",
	.good = { "1", "7", "32" },
	.out_of_range = { "0", "33", "4294967297" },
};

/* A long one would be in force beyond the test, if a request came meanwhile. */
FIXTURE_VARIANT_ADD(tunable, delay_millisecs) {
	.path = DIR "delay_millisecs",
	.good = { "0", "1", "2500" },
	.out_of_range = { "86400001", "4294967295", "4294967296" },
};

FIXTURE_SETUP(tunable)
{
	if (missing())
		SKIP(return, "%s", missing());
}

FIXTURE_TEARDOWN_PARENT(tunable)
{
	restore_settings();
}

TEST_F(tunable, write_and_read)
{
	char line[32], now[16];
	unsigned int i;

	/* It could not be put back, and the next device would go by it. */
	if (!strcmp(variant->path, DIR "order") && !strcmp(saved_order, UNSET))
		SKIP(return, "the order has not been chosen yet");

	for (i = 0; variant->good[i]; i++) {
		ASSERT_EQ(0, put(variant->path, variant->good[i]));
		get(variant->path, now, sizeof(now));
		EXPECT_STREQ(variant->good[i], now);
	}

	/* As echo writes it. */
	snprintf(line, sizeof(line), "%s\n", variant->good[0]);
	ASSERT_EQ(0, put(variant->path, line));
	get(variant->path, now, sizeof(now));
	EXPECT_STREQ(variant->good[0], now);
}

TEST_F(tunable, bad_writes)
{
	static const char * const rubbish[] = {
		"-1", "+1", "0x1", "1x", "1 1", " 1", "1 ", "1.5", "1K", "\n",
		"1\n\n", "rubbish", "18446744073709551617",
	};
	char before[16], now[16];
	unsigned int i;

	get(variant->path, before, sizeof(before));
	ASSERT_NE(0, strlen(before));

	for (i = 0; i < ARRAY_SIZE(rubbish); i++) {
		EXPECT_EQ(EINVAL, put(variant->path, rubbish[i]))
			TH_LOG("\"%s\"", rubbish[i]);
		get(variant->path, now, sizeof(now));
		EXPECT_STREQ(before, now);
	}
	for (i = 0; variant->out_of_range[i]; i++) {
		EXPECT_EQ(EINVAL, put(variant->path, variant->out_of_range[i]))
			TH_LOG("\"%s\"", variant->out_of_range[i]);
		get(variant->path, now, sizeof(now));
		EXPECT_STREQ(before, now);
	}

	/* What comes after a NUL is not a part of the string, but was written. */
	EXPECT_EQ(EINVAL, put_bytes(variant->path, "1\0rubbish", 9));
	EXPECT_EQ(EINVAL, put_bytes(variant->path, "1", 2));
	get(variant->path, now, sizeof(now));
	EXPECT_STREQ(before, now);
}

FIXTURE(parameter) {
};

FIXTURE_SETUP(parameter)
{
	if (missing())
		SKIP(return, "%s", missing());
}

FIXTURE_TEARDOWN_PARENT(parameter)
{
	restore_settings();
}

/* The module parameter is the same number, and is shown in the same way. */
TEST_F(parameter, same)
{
	char order[16], now[16];

	ASSERT_EQ(0, access(PARAMETER, R_OK | W_OK));
	get(PARAMETER, now, sizeof(now));
	EXPECT_STREQ(saved_order, now);
	if (!strcmp(saved_order, UNSET))
		SKIP(return, "the order has not been chosen yet");

	ASSERT_EQ(0, put(DIR "order", "3"));
	get(PARAMETER, now, sizeof(now));
	EXPECT_STREQ("3", now);
	ASSERT_EQ(0, put(PARAMETER, "4"));
	get(DIR "order", order, sizeof(order));
	EXPECT_STREQ("4", order);
}

int main(int argc, char **argv)
{
	save_settings();
	return run_tests(argc, argv);
}
