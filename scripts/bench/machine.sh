#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# What the figures were taken on, to standard output.
set -euo pipefail
info() { sed -n "s/^$1[[:space:]]*: //p" /proc/cpuinfo | head -n 1; }
echo "cpu: $(info 'model name'), $(info vendor_id) family $(info 'cpu family') model $(info model) stepping $(info stepping)"
echo "microcode: $(info microcode)"
echo "cpus: $(nproc)"
for index in /sys/devices/system/cpu/cpu0/cache/index*; do
	echo "cache: L$(cat "$index/level") $(cat "$index/type") $(cat "$index/size"), shared by CPUs $(cat "$index/shared_cpu_list")"
done
echo "memory: $(awk '/^MemTotal/ { print int($2 / 1024) " MB" }' /proc/meminfo)"
echo "kernel: $(uname -sr)"
echo "hypervisor: $(grep -qw hypervisor /proc/cpuinfo && echo yes || echo no)"
for file in /sys/devices/system/cpu/vulnerabilities/*; do
	echo "mitigation: ${file##*/}: $(cat "$file")"
done
for pool in /sys/kernel/mm/hugepages/*; do
	[ ! -e "$pool/nr_hugepages" ] || echo "huge pages: ${pool##*/} $(cat "$pool/nr_hugepages") before"
done
echo "thp: $(cat /sys/kernel/mm/transparent_hugepage/enabled 2>/dev/null || echo none)"
echo "features: $(info flags | tr ' ' '\n' | grep -xE 'erms|rep_good|fsrm|fsrs|clzero|avx2|avx512f' | tr '\n' ' ')"
