#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The kernel's own path: map memory on each page size, by demand and populated.
status=0
counter() { sed -n "s/^$1 //p" /proc/vmstat; }

# row PAGES SIZE HOW RATE: what the counters say since the row before.
row() {
	printf '%-7s %-8s %-10s %7d %9d %13d %8s\n' "$1" "$2" "$3" \
		$(($(counter pgfault) - faults)) $(($(counter clear_pages_cached) - cached)) \
		$(($(counter clear_pages_non_caching) - non_caching)) "$4"
}

begin() {
	faults=$(counter pgfault)
	cached=$(counter clear_pages_cached)
	non_caching=$(counter clear_pages_non_caching)
}

echo 64 >/proc/sys/vm/nr_hugepages
mkdir -p /mnt/huge
mount -t hugetlbfs hugetlbfs /mnt/huge
cd /sys/kernel/mm/page_clearing || exit 1
echo "Through the caches: $(cat method); around them: $(cat non_caching_method)," \
	"from $(cat non_caching_threshold) bytes on"
echo "pages   size     how         faults    cached   non-caching   GB/sec in this guest"
while read -r page size; do
	for how in demand populate; do
		begin
		if ! rate=$(perf bench -f simple mem map -p "$page" -s "$size" -f "$how" 2>&1); then
			echo "$rate"
			status=1
			continue
		fi
		row "$page" "$size" "$how" \
			"$(echo "$rate" | awk '/^[0-9.]+$/ { printf "%.2f", $1 / 1073741824 }')"
	done
done <<EOF
4KB 64MB
2MB 128MB
1GB 1GB
EOF
for size in 8MB 128MB; do
	begin
	fallocate -l $((${size%MB} << 20)) /mnt/huge/file || status=1
	row 2MB $size fallocate -
	rm /mnt/huge/file
done
echo "cached, non-caching: base pages of large folios, from /proc/vmstat; pages of 4KB are not counted"
exit $status
