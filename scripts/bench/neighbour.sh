#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Part 3: what a clearing CPU costs a neighbour, who follows pointers through half
# of the last-level cache: nanoseconds a load, beside each method and alone.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
. "$top/scripts/bench/lib.sh"

[ "$cpus" -ge 2 ] || { skipped neighbour "needs two CPUs"; exit 1; }
llc=$(last_level_cache)
[ "$llc" -gt 0 ] || { skipped neighbour "the size of the last-level cache is not known"; exit 1; }
size=$(large_buffer)
loops=$((8 * volume * MB / size))
[ "$loops" -ge 1 ] || loops=1
for ((run = 1; run <= runs; run++)); do
	for method in x86-64-stosb:4KB x86-64-stosb:2MB x86-64-movnti:2MB x86-64-clzero:2MB x86-64-stream512:2MB; do
		function=${method%:*} chunk=${method#*:}
		progress "neighbour: run $run of $runs, beside $function"
		both=$(figures neighbour "$perf" bench -f simple mem clear -s "${size}B" \
			-p "$(page_for "$size")" -k "$chunk" -n $((llc / 2))B -f "$function" -l "$loops")
		both=$(grep -E '^[0-9.]+ [0-9.]+$' <<<"$both") || continue
		echo "neighbour,$function,$chunk,$((llc / 2)),1,$run,${both% *}"
		echo "neighbour-alone,$function,$chunk,$((llc / 2)),1,$run,${both#* }"
	done >>"$raw"
done
progress_end
