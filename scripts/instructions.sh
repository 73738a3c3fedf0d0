#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Instructions of a fault under QEMU -icount, which counts exactly: the base
# kernel, the series without its last topic, and all of it. Fails above the limits
# that the series set itself. A REP-prefixed store counts once per element, so
# these are counts of work around the clearing and say nothing about its speed.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/series.sh"
. "$(dirname "$0")/kbuild.sh"
. "$(dirname "$0")/guest.sh"

"$top/scripts/tree.sh"
need_compiler
need_guest
tree_at base "$O/reference/linux"
tree_at "$(git -C "$tree" log --format=%H --grep '^Topic: 4-prezero$' base..series)" "$O/topics/linux"
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

build_kernel "$O/reference/linux" "$O/reference/normal" "${base_normal_config[@]}"
build_kernel "$O/topics/linux" "$O/topics/normal" "${base_normal_config[@]}"
build_kernel "$tree" "$O/normal" "${series_normal_config[@]}"
say "counting"
count base "$O/reference/normal"
count topics "$O/topics/normal"
count series "$O/normal"

# Names and counts of one of the three.
counted() { tr -d '\r' <"$logs/count-$1.tests" | grep -E '^[^ ]+ [0-9]+$' | sort; }

{
	printf '%-20s %10s %10s %10s %10s  %s\n' instructions base "topics 1-3" series difference limit
	join -a 1 -e - -o 0,2.2,2.3,1.2 <(counted series) <(join <(counted base) <(counted topics)) | awk '
		function limit(text, ok) { limits = limits ", " text; if (!ok) limits = limits " EXCEEDED" }
		{
			limits = ""; series[$1] = $4; n++
			if ($1 == "4KB-fault") limit("at most +0.5 %", $4 <= $2 * 1.005)
			if ($1 == "2MB-fault") limit("at least 11000 fewer", $4 <= $2 - 11000)
			if ($1 ~ /^(4KB|2MB)-fault$/) limit("0.1 % of topics 1-3", $4 <= $3 * 1.001)
			if ($1 == "2MB-fault-prezeroed") limit("5 % of a 2MB-fault", $4 <= series["2MB-fault"] * 0.05)
			printf "%-20s %10s %10s %10d %10s  %s\n", $1, $2, $3, $4,
				$2 == "-" ? "-" : sprintf("%+d", $4 - $2), substr(limits, 3)
		}
		END { if (n != 6) print "only " n + 0 " of 6 cases were counted: EXCEEDED" }'
} | tee "$O/instructions.txt"
! grep -q EXCEEDED "$O/instructions.txt"
