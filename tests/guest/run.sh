#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The kernel's own path: map memory on each page size, by demand and populated.
status=0
faults() { sed -n 's/^pgfault //p' /proc/vmstat; }

echo 64 >/proc/sys/vm/nr_hugepages
echo "pages   size     how        faults   GB/sec in this guest"
while read -r page size; do
	for how in demand populate; do
		before=$(faults)
		if ! rate=$(perf bench -f simple mem map -p "$page" -s "$size" -f "$how" 2>&1); then
			echo "$rate"
			status=1
			continue
		fi
		printf '%-7s %-8s %-9s %7d %8s\n' "$page" "$size" "$how" $(($(faults) - before)) \
			"$(echo "$rate" | awk '/^[0-9.]+$/ { printf "%.2f", $1 / 1073741824 }')"
	done
done <<EOF
4KB 64MB
2MB 128MB
1GB 1GB
EOF
exit $status
