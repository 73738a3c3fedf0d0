#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Two results directories side by side: make bench-compare A=DIR B=DIR. A
# difference beyond the noise has a "!": the ranges of runs do not touch, and the
# medians are more than 10 % of A apart.
set -euo pipefail
for which in A B; do
	[ -n "${!which:-}" ] || { echo "bench-compare: which directories? A=DIR B=DIR" >&2; exit 1; }
	[[ -e ${!which}/summary.csv && -e ${!which}/machine.txt ]] || { echo "bench-compare: ${!which} is not a results directory" >&2; exit 1; }
	echo "$which: ${!which}, $(sed -n 's/^cpu: //p' "${!which}/machine.txt")"
done
awk -F, '
	FNR == 1 { file++; next }
	file == 1 { order[++n] = $1; unit[$1] = $2; a[$1] = $3; lo[$1] = $4; hi[$1] = $5; next }
	{ b[$1] = $3; lo2[$1] = $4; hi2[$1] = $5; if (!($1 in a)) only++ }
	END {
		printf "%-48s %6s %10s %10s %7s\n", "figure", "unit", "A", "B", "B/A"
		for (i = 1; i <= n; i++) {
			k = order[i]
			if (!(k in b)) { only++; continue }
			both++
			apart = (lo2[k] > hi[k] || lo[k] > hi2[k]) && (b[k] - a[k])^2 > (a[k] / 10)^2
			beyond += apart
			printf "%-48s %6s %10s %10s %7s%s\n", k, unit[k], a[k], b[k], \
				a[k] ? sprintf("%.2f", b[k] / a[k]) : "-", apart ? " !" : ""
		}
		printf "%d figures in both, %d differ beyond the noise, %d in one of them only\n", both, beyond, only
		exit !both
	}' "$A/summary.csv" "$B/summary.csv"
