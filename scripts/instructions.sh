#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Instructions of a fault under QEMU -icount, which counts exactly: the base
# kernel against the patched one. Fails above the limits that the series set
# itself. A REP-prefixed store counts once per element, so these are counts of
# work around the clearing and say nothing about its speed.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/series.sh"
. "$(dirname "$0")/kbuild.sh"
. "$(dirname "$0")/guest.sh"

"$top/scripts/kernel.sh"
need_guest
tree_at base "$O/reference/linux"
mkdir -p "$O/bin"
logged faults gcc -O2 -Wall -static "$top/tests/guest/faults.c" -o "$O/bin/faults"

# count NAME BUILD: with the KUnit suites built in, but not run.
count() {
	initramfs "$O/initramfs-count.gz" "$2" "$O/bin/faults"
	accel=tcg qemu "count-$1" 900 "$2/arch/x86/boot/bzImage" "$O/initramfs-count.gz" \
		"task=instructions kunit.enable=0 nokaslr preempt=none" -smp 1,sockets=1 -cpu max \
		-icount shift=0,sleep=off -rtc clock=vm,base=2024-01-01 -seed 1 ||
		die "the guest did not end: ${logs#"$top"/}/count-$1.console"
	healthy "count-$1" || die "the $1 guest failed"
}

configure "$O/reference/linux" "$O/reference/kernel" guest mm debug kunit
say "building the base kernel (log in ${logs#"$top"/}/base-kernel.log)"
logged base-kernel kbuild "$O/reference/linux" "$O/reference/kernel" bzImage
say "counting"
count base "$O/reference/kernel"
count series "$O/kernel"

{
	printf '%-18s %10s %10s %9s  %s\n' "instructions" base series difference limit
	join <(sort "$logs/count-base.tests" | tr -d '\r') <(sort "$logs/count-series.tests" | tr -d '\r') |
		awk '$2 ~ /^[0-9]+$/ && $3 ~ /^[0-9]+$/ {
			limit = ""; mark = ""
			if ($1 == "4KB-fault") { limit = "at most +0.5 %"; if ($3 > $2 * 1.005) mark = "  EXCEEDED" }
			if ($1 == "2MB-fault") { limit = "at least 18000 fewer"; if ($3 > $2 - 18000) mark = "  EXCEEDED" }
			printf "%-18s %10d %10d %+9d  %s%s\n", $1, $2, $3, $3 - $2, limit, mark
			n++
		}
		END { if (n != 5) print "only " n + 0 " of 5 cases were counted: EXCEEDED" }'
} | tee "$O/instructions.txt"
! grep -q EXCEEDED "$O/instructions.txt"
