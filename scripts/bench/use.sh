#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Part 2: clear a cold block of 2 MB, then use it: microseconds a block, by method
# and by use.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
. "$top/scripts/bench/lib.sh"

size=$(large_buffer)
loops=$((2 * volume * MB / size))
[ "$loops" -ge 1 ] || loops=1
for ((run = 1; run <= runs; run++)); do
	for use in none first tenth write random read; do
		for method in x86-64-stosb:4KB x86-64-stosb:2MB x86-64-movnti:2MB x86-64-clzero:2MB; do
			function=${method%:*} chunk=${method#*:}
			progress "use: run $run of $runs, $use after $function"
			rate=$(figures use taskset -c 0 "$perf" bench -f simple mem clear -s "${size}B" \
				-p "$(page_for "$size")" -k "$chunk" -b 2MB -u "$use" -f "$function" -l "$loops")
			rate=$(grep -E '^[0-9.]+$' <<<"$rate") || continue
			awk -v rate="$rate" -v line="use-$use,$function,$chunk,$size,1,$run" \
				'BEGIN { printf "%s,%f\n", line, 2 * 1048576 / rate * 1e6 }' >>"$raw"
		done
	done
done
progress_end
