#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What the kernel made of the CPU and of its command line: the words want_method=
# (as sysfs shows the list, with "+" for a space) and want_threshold= on that
# line. KTAP on standard output.
dir=/sys/kernel/mm/page_clearing
status=0

wanted() { sed -n "s/.*\bwant_$1=\([^ ]*\).*/\1/p" /proc/cmdline | tr + ' '; }

# expect NUMBER NAME FILE
expect() {
	if [ "$(cat "$dir/$3")" = "$(wanted "$2")" ]; then
		echo "ok $1 $2"
	else
		echo "# $3 is \"$(cat "$dir/$3")\" and not \"$(wanted "$2")\""
		echo "not ok $1 $2"
		status=1
	fi
}

echo "TAP version 13"
echo 1..2
expect 1 method non_caching_method
expect 2 threshold non_caching_threshold
exit $status
