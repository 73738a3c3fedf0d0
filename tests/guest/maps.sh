#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# perf bench mem map on each page size, as others have published it: a line
# "COMMAND: BYTES-PER-SECOND" each. SIZE comes as map_gb= on the command line.
gb=$(sed -n 's/.*\bmap_gb=\([0-9]*\).*/\1/p' /proc/cmdline)
echo $((gb * 512)) >/proc/sys/vm/nr_hugepages
status=0
for page in 4KB 2MB 1GB; do
	for how in demand populate; do
		if ! rate=$(perf bench -f simple mem map -p $page -f $how -s "${gb}GB" -l 5 2>&1 |
			grep -E '^[0-9.]+$'); then
			rate="cannot be had"
			status=1
		fi
		echo "perf bench mem map -p $page -f $how -s ${gb}GB -l 5: $rate"
	done
	[ $page != 2MB ] || echo 0 >/proc/sys/vm/nr_hugepages
done
exit $status
