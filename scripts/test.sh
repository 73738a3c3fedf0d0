#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Lint, then KUnit and the selftests in guests: three preemption models, each on
# three sets of CPU features. Ends with the count; any failure is the status.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/guest.sh"
. "$(dirname "$0")/tally.sh"

build_guest

"$top/scripts/lint.sh" || grep -q '^not ok' "$TALLY" || note "not ok" "lint came to its end"

# The guests: name, CPU, memory, kernel command line. Pages of 1 GB take longest
# under emulation and need a guest of 5 GB; they meet each preemption model once.
guests() {
	local preempt
	for preempt in none voluntary full; do
		echo "$preempt-max max 5G preempt=$preempt hugepagesz=1G hugepages=1"
		echo "$preempt-noerms max,-erms 1536M preempt=$preempt"
		echo "$preempt-norep max 1536M preempt=$preempt clearcpuid=erms,rep_good"
	done
}

# KUnit runs while the kernel boots, then /init; one guest for each CPU at a time.
say "booting $(guests | wc -l) guests ($accel), $cpus at a time"
while read -r name cpu memory append; do
	while [ "$(jobs -rp | wc -l)" -ge "$cpus" ]; do
		wait -n || true
	done
	say "guest $name: $append"
	qemu "$name" 900 "$O/kernel/arch/x86/boot/bzImage" "$O/initramfs.gz" \
		"task=selftests $append" -cpu "$cpu" -m "$memory" </dev/null &
done < <(guests)
wait

while read -r name _; do
	ktap "$name KUnit" "$logs/$name.console"
	ktap "$name selftests" "$logs/$name.tests"
	check "$name kernel log and end" healthy "$name"
done < <(guests)
tally_end
