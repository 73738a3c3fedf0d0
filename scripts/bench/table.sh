#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# A results directory as text: table.sh DIR for people, table.sh --readme DIR for
# README.md. A figure whose runs are more than 10 % apart has a "*".
set -euo pipefail
format=text
[ "${1:-}" != --readme ] || { format=readme; shift; }
dir=${1:?which results directory}
[[ -e $dir/summary.csv && -e $dir/machine.txt ]] || { echo "$dir: not a results directory, no summary.csv or no machine.txt in it" >&2; exit 1; }

awk -F, -v format="$format" -v machine="$(sed -n 's/^cpu: //p' "$dir/machine.txt")" -v dir="$dir" '
	NR > 1 {
		split($1, k, "/")
		median[$1] = $3; least[$1] = $4; most[$1] = $5
		if (k[1] == "bandwidth" && k[5] == 1) {
			if (!(k[2] in is_function)) { is_function[k[2]] = 1; functions[++nf] = k[2] }
			if (!(k[3] in is_chunk)) { is_chunk[k[3]] = 1; chunks[++nc] = k[3] }
			if (k[4] + 0 > large) large = k[4] + 0
		}
		if (k[1] == "use-none" || k[1] == "neighbour") buffer[k[1]] = k[4]
		if (k[1] ~ /^use-/) {
			if (!(k[1] in is_use)) { is_use[k[1]] = 1; uses[++nu] = k[1] }
			m = k[2] "/" k[3]
			if (!(m in is_method)) { is_method[m] = 1; methods[++nm] = m }
		}
	}
	function kb(n) { return n >= 1048576 ? n / 1048576 " GB" : n >= 1024 ? n / 1024 " MB" : n " KB" }
	function cell(key) {
		if (!(key in median)) return "-"
		spread = median[key] ? (most[key] - least[key]) / median[key] : 0
		return sprintf("%.3g%s", median[key], spread > 0.1 ? "*" : "")
	}
	function row(first) { printf format == "readme" ? "| %s |" : "%-20s", first }
	function col(text) { printf format == "readme" ? " %s |" : " %11s", text }
	function rule(n,  i) {
		if (format != "readme") return
		printf "|---|"
		for (i = 0; i < n; i++) printf "---|"
		print ""
	}
	END {
		if (!nf) { print "no bandwidth in " dir >"/dev/stderr"; exit 1 }
		if (format == "text") print machine "\n\nGB/s (2^30 bytes) by length of a call, " kb(large) " buffer, one CPU"
		row("routine")
		for (c = 1; c <= nc; c++) col(kb(chunks[c]))
		print ""
		rule(nc)
		for (f = 1; f <= nf; f++) {
			row(format == "readme" ? "`" functions[f] "`" : functions[f])
			for (c = 1; c <= nc; c++) col(cell("bandwidth/" functions[f] "/" chunks[c] "/" large "/1"))
			print ""
		}
		if (format == "readme") exit
		print "\nThis series over ... (calls of 2 MB, ratios within a run: median [least, most])"
		names["series-to-6.12"] = "6.12 (STOSB, 4 KB)"
		names["series-to-mainline"] = "mainline (STOSB, 2 MB)"
		names["series-to-mainline-32MB"] = "mainline (STOSB, 32 MB)"
		names["series-to-streaming"] = "widest streaming stores"
		names["series-8MB-to-1GB"] = "itself: 8 MB over 1 GB"
		for (r in names)
			if (r in median) printf "%-26s %s [%s, %s]\n", names[r], median[r], least[r], most[r]
		if (nu) {
			print "\nMicroseconds to clear a cold block of 2 MB and use it"
			row("use")
			for (m = 1; m <= nm; m++) { split(methods[m], k, "/"); col(substr(k[1], 8) " " kb(k[2])) }
			print ""
			for (u = 1; u <= nu; u++) {
				row(substr(uses[u], 5))
				for (m = 1; m <= nm; m++) col(cell(uses[u] "/" methods[m] "/" buffer["use-none"] "/1"))
				print ""
			}
		}
		if ("neighbour" in buffer) {
			print "\nA neighbour that follows pointers through " kb(buffer["neighbour"]) ": % slower beside"
			for (key in median) {
				if (key !~ /^slower-beside/) continue
				split(key, k, "/")
				printf "%-20s %s: %s [%s, %s]\n", k[2], kb(k[3]), median[key], least[key], most[key]
			}
		}
		print "\n* the runs are more than 10 % of the median apart"
	}' "$dir/summary.csv"
