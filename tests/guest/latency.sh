#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Clear a page of 1 GB and see from the trace how much lies between rescheduling
# points: "batches", their number, the most base pages in one, and the longest
# time from one to the next event in microseconds.
cd /sys/kernel/tracing || exit 1
echo 1 >events/page_clearing/enable
perf bench -f simple mem map -p 1GB -s 1GB -f populate >/dev/null || exit 1
echo 0 >events/page_clearing/enable
awk '/clear_batch:|folio_zero_user:/ {
	match($0, /[0-9]+\.[0-9]+: /)
	now = substr($0, RSTART, RLENGTH - 2)
	if (then != "" && (now - then) * 1e6 > longest) longest = (now - then) * 1e6
	then = ""
	if (/clear_batch/) {
		then = now
		n++
		sub(/.*nr_pages=/, "")
		if ($0 + 0 > most) most = $0 + 0
	}
}
END { print "batches", n + 0, most + 0, longest + 0; exit !n }' trace
