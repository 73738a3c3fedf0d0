#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Pre-zeroing by itself, then all of clear_huge while it works in the background,
# on small blocks too. KTAP on standard output.
dir=/sys/kernel/mm/prezero
end=0

run() {
	"$@"
	status=$?
	[ $status = 0 ] || [ $status = 4 ] || end=$status
}

run page_reporting
run prezero
run prezero_hugetlb
echo 0 >$dir/order
echo 100 >$dir/max_percent
echo 10 >$dir/delay_millisecs
echo 1 >$dir/background
# Refused where free memory is poisoned or unmapped.
echo 1 >$dir/enabled 2>/dev/null
run clear_huge
exit $end
