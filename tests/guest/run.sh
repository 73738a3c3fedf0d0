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

# ahead PAGES SIZE WHEN: populated, and what of it was clear already.
ahead() {
	begin
	hit=$(counter prezero_hit)
	miss=$(counter prezero_miss)
	perf bench -f simple mem map -p "$1" -s "$2" -f populate >/dev/null || status=1
	echo 1 >/proc/sys/vm/stat_refresh
	printf '%-7s %-8s %-16s %9d %9d %9d %13d\n' "$1" "$2" "$3" \
		$(($(counter prezero_hit) - hit)) $(($(counter prezero_miss) - miss)) \
		$(($(counter clear_pages_cached) - cached)) \
		$(($(counter clear_pages_non_caching) - non_caching))
}

echo
echo "Free memory cleared before it is asked for, or not:"
echo "pages   size     populated       was clear       not    cached   non-caching"
cd /sys/kernel/mm/prezero || exit 1
echo 1 >enabled
ahead 4KB 64MB "before run"
echo 0 >order
echo 1G >run
ahead 4KB 64MB "after run"
pool=/sys/kernel/mm/hugepages/hugepages-2048kB
ahead 2MB 128MB "before zero"
cat $pool/zeroable >$pool/zero
ahead 2MB 128MB "after zero"
echo
echo "was clear, not, cached, non-caching: base pages, from /proc/vmstat; the last two of large folios alone"
exit $status
