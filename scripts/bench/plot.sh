#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Pictures of a results directory, as SVG and PNG: bandwidth by the length of a
# call, a block cleared and used, and the neighbour.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
. "$top/scripts/bench/lib.sh"

command -v gnuplot >/dev/null || { skipped plots "gnuplot is missing"; exit 1; }
machine=$(sed -n 's/^cpu: //p' "$dir/machine.txt" | tr -d '"\047')
data=$(mktemp -d)
trap 'rm -rf "$data"' EXIT

# A file for each routine: bytes of a call, GB/s, least, most; largest buffer.
awk -F, -v out="$data" 'NR > 1 {
	split($1, k, "/")
	if (k[1] == "bandwidth" && k[5] == 1) { n++; line[n] = $0; if (k[4] + 0 > large) large = k[4] + 0 }
}
END {
	for (i = 1; i <= n; i++) {
		split(line[i], f, ","); split(f[1], k, "/")
		if (k[4] == large) printf "%.0f %s %s %s\n", k[3] * 1024, f[3], f[4], f[5] > (out "/" k[2])
	}
	print large > (out "/buffer")
}' "$dir/summary.csv"
awk -F, 'NR > 1 && /^use-/ {
	split($1, k, "/")
	m = substr(k[2], 8) (k[3] == 4 ? " 4 KB" : "")
	if (!(m in is_m)) { is_m[m] = 1; ms[++nm] = m }
	u = substr(k[1], 5)
	if (!(u in is_u)) { is_u[u] = 1; us[++nu] = u }
	v[u, m] = $3
}
END {
	printf "use"
	for (i = 1; i <= nm; i++) printf " \"%s\"", ms[i]
	print ""
	for (j = 1; j <= nu; j++) {
		printf "%s", us[j]
		for (i = 1; i <= nm; i++) printf " %s", v[us[j], ms[i]]
		print ""
	}
}' "$dir/summary.csv" >"$data/use"
awk -F, '/^slower-beside/ { split($1, k, "/"); printf "\"%s%s\" %s %s %s\n", substr(k[2], 8), (k[3] == 4 ? " 4 KB" : ""), $3, $4, $5 }' \
	"$dir/summary.csv" >"$data/neighbour"

marks=
for level in 1 2 3; do
	size=$(cache $level)
	[ "$size" = 0 ] ||
		marks+="set arrow from $size, graph 0 to $size, graph 1 nohead dt 3 lc 'gray40'; set label 'L$level' at $size, graph 0.97 right offset -0.3,0 tc 'gray40'; "
done
lines=
for file in "$data"/x86-64-*; do
	[ -e "$file" ] || continue
	lines+="${lines:+, }'$file' using 1:2:3:4 with yerrorlines lw 2 title '${file##*/x86-64-}'"
done
[ -n "$lines" ] || { skipped plots "no bandwidth was measured"; exit 1; }

# The script is read twice, once for each format.
picture() {
	local name=$1 script
	script=$(cat)
	for format in "svg size 900,560 font 'sans,13' background 'white'" "pngcairo size 1350,840 font 'sans,15' background 'white'"; do
		printf '%s\n' "set terminal $format" "set output '$dir/$name.${format%%[ c]*}'" "$script" | gnuplot
	done
}

picture bandwidth <<P
set title "Clearing memory: bandwidth by the length of one call\n$machine; buffer $(($(cat "$data/buffer") / 1024)) MB, one CPU" noenhanced
set logscale x 2; set xlabel 'length of one call (bytes)'; set ylabel 'GB/s (2^{30} bytes)' ; set yrange [0:*]
set format x '%.0b%B'; set key outside right; set grid; $marks
plot $lines
P
if [ -s "$data/neighbour" ]; then
	picture neighbour <<P
set title "What a clearing CPU costs a neighbour\n$machine" noenhanced
set ylabel "a neighbour's loads take longer by (%)"; set xlabel 'routine of the clearing CPU'
set style fill solid 0.6; set boxwidth 0.6; set yrange [0:*]; set grid y; unset key; set xtics rotate by -20 noenhanced
plot '$data/neighbour' using 0:2:xtic(1) with boxes, '' using 0:2:3:4 with yerrorbars lc 'black' pt 0
P
fi
if [ "$(wc -l <"$data/use")" -gt 1 ]; then
	picture use <<P
set title "Clear a cold block of 2 MB, then use it\n$machine" noenhanced
set ylabel 'microseconds a block'; set xlabel 'use of the block after the clear'
set style data histograms; set style fill solid 0.6 border -1; set yrange [0:*]; set grid y; set key top left noenhanced
plot for [i=2:*] '$data/use' using i:xtic(1) title columnheader(i)
P
fi
