#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Time the kernel's clearing routines in user space: GB/sec by function and by
# the length of one call, the median of RUNS interleaved runs and their spread.
. "$(dirname "$0")/common.sh"

perf=$O/perf/perf
runs=$(number RUNS 3)
[ -x "$perf" ] || die "perf is not built: make perf"
. "$(dirname "$0")/pool.sh"

# 4 GB on 2 MB pages, less where memory is small.
available=$(awk '/^MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo)
gb=4
[ "$available" -ge 6 ] || gb=1
[ "$available" -ge 2 ] || die "$available GB of free memory are too little to measure in, 2 are needed"
page=2MB
pool_raise $((gb * 512)) || page=4KB

functions=(x86-64-unrolled x86-64-stosq x86-64-stosb x86-64-movnti x86-64-clzero)
chunks=(4KB 2MB 8MB 32MB 1GB)
results=$O/native.csv
: >"$results"
for ((run = 1; run <= runs; run++)); do
	for function in "${functions[@]}"; do
		for chunk in "${chunks[@]}"; do
			progress "run $run of $runs: $function $chunk"
			rate=$("$perf" bench -f simple mem clear -s ${gb}GB -p $page -k "$chunk" \
				-f "$function" -l 1 2>"$logs/native.log" | grep -E '^[0-9.]+$') || {
				why=$(tail -n 1 "$logs/native.log")
				progress_end
				[[ $why = *"this CPU has no"* ]] || die "perf bench mem clear: $why"
				[ "$run" != 1 ] || say "skipped: $why"
				continue 2
			}
			echo "$function,$chunk,$rate" >>"$results"
		done
	done
done
progress_end

say "GB/sec (2^30 bytes), $gb GB on $page pages; -k is the length of one call; median of $runs runs, (max-min)/median" \
	"beside it; the last column is the best of the line over STOSB at 4 KB a call, which is what 6.12 does"
sort -t, -k1,2 -k3,3n "$results" | awk -F, -v chunks="${chunks[*]}" -v functions="${functions[*]}" '
	{ key = $1 FS $2; v[key, ++n[key]] = $3 / 2 ^ 30 }
	END {
		nc = split(chunks, chunk, " ")
		nf = split(functions, function_, " ")
		printf "%-16s", "function"
		for (c = 1; c <= nc; c++) printf " %13s", "-k " chunk[c]
		print "   ratio"
		for (f = 1; f <= nf; f++) {
			printf "%-16s", function_[f]
			best = 0
			for (c = 1; c <= nc; c++) {
				key = function_[f] FS chunk[c]
				if (!n[key]) { printf " %13s", "-"; continue }
				m = v[key, int((n[key] + 1) / 2)]
				if (m > best) best = m
				printf " %6.1f ±%3.0f %%", m, 100 * (v[key, n[key]] - v[key, 1]) / m
			}
			key = "x86-64-stosb" FS "4KB"
			base = n[key] ? v[key, int((n[key] + 1) / 2)] : 0
			if (base && best) printf "  %6.2f\n", best / base; else print "       -"
		}
	}' | tee "$O/native.txt"
