#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Part 1: bandwidth of every function by the length of a call, in buffers that fit
# into caches and in one that does not, on one CPU and on all of them at once.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
. "$top/scripts/bench/lib.sh"

large=$(large_buffer)
buffers=("$(($(cache 2) / 2))" "$(whole_pages $(($(last_level_cache) / 2)))" "$large")
chunks=(4KB 16KB 64KB 256KB 2MB 8MB 32MB 128MB 1GB)
threads=(1 "$cpus")
if [ -n "$quick" ]; then
	buffers=("$large")
	chunks=(4KB 2MB 32MB 1GB)
	threads=(1)
fi

# All functions in one process, so that their ratios are of one run.
one_cpu() {
	local out name=
	out=$(figures bandwidth taskset -c 0 "$perf" bench -f simple mem clear -s "$2B" \
		-p "$(page_for "$2")" -k "$1" -f all -l "$3") || exit 1
	while read -r line; do
		case $line in
		"# function '"*) name=${line#*\'} name=${name%%\'*} ;;
		[0-9]*) echo "bandwidth,$name,$1,$2,1,$run,$line" ;;
		esac
	done <<<"$out" >>"$raw"
}

# The sum of as many processes as there are CPUs.
all_cpus() {
	local function cpu jobs
	for function in $(functions); do
		jobs=()
		for ((cpu = 0; cpu < cpus; cpu++)); do
			figures bandwidth taskset -c "$cpu" "$perf" bench -f simple mem clear -s "$2B" \
				-p "$(page_for "$2" "$cpus")" -k "$1" -f "$function" -l "$3" >"$dir/cpu-$cpu" &
			jobs+=($!)
		done
		for cpu in "${jobs[@]}"; do
			wait "$cpu" || exit 1
		done
		awk -v line="bandwidth,$function,$1,$2,$cpus,$run" '/^[0-9.]+$/ { sum += $1 }
			END { if (sum) printf "%s,%f\n", line, sum }' "$dir"/cpu-* >>"$raw"
		rm "$dir"/cpu-*
	done
}

for ((run = 1; run <= runs; run++)); do
	for size in "${buffers[@]}"; do
		[ "$size" -gt 0 ] || continue
		loops=$((volume * MB / size))
		[ "$loops" -ge 1 ] || loops=1
		for chunk in "${chunks[@]}"; do
			[ "$(bytes "$chunk")" -le "$size" ] || continue
			for n in "${threads[@]}"; do
				progress "bandwidth: run $run of $runs, buffer $((size >> 10)) KB, calls of $chunk, $n CPU"
				if [ "$n" = 1 ]; then
					one_cpu "$chunk" "$size" "$loops"
				else
					all_cpus "$chunk" "$size" "$loops"
				fi
			done
		done
	done
done
progress_end
