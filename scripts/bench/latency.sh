#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Part 5: what others wait for at most while 1 GB pages are cleared without full
# preemption, from the tracepoint clear_batch: bytes between two rescheduling
# points, and the time of it where the guest's time is real.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
. "$top/scripts/bench/lib.sh"
. "$top/scripts/guest.sh"

need_guest
initramfs "$O/initramfs-bench.gz" "$O/kernel" "$O/perf/perf"
for way in cached non-caching; do
	append=
	[ $way = non-caching ] || append=page_clearing.non_caching_method=none
	qemu "latency-$way" 300 "$O/kernel/arch/x86/boot/bzImage" "$O/initramfs-bench.gz" \
		"task=latency kunit.enable=0 hugepagesz=1G hugepages=1 preempt=none $append" -cpu max -m 5G || true
	healthy "latency-$way" || { skipped latency "the guest failed"; exit 1; }
	awk -v way=$way -v accel="$accel" '/^batches/ {
		printf "%s: %d stretches, the longest %d KB", way, $2, $3 * 4
		if (accel == "kvm") printf ", %.0f us", $4
		else printf " (emulated: its time means nothing)"
		print ""
	}' <(tr -d '\r' <"$logs/latency-$way.tests") | tee -a "$dir/latency.txt"
done
