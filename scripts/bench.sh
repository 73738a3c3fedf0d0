#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Measure: bench/results/DATE-CPU-ACCELERATOR/ with raw figures, the machine, a
# summary as text and CSV, and pictures. QUICK=1 takes less than three minutes.
# What cannot be measured here is said, and the exit status is then 1.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/guest.sh"
export QUICK=${QUICK:-}

"$top/scripts/kernel.sh"
"$top/scripts/perf.sh"
need taskset=util-linux gnuplot=gnuplot-nox || true
. "$top/scripts/pool.sh"

info() { sed -n "s/^$1[[:space:]]*: //p;T;q" /proc/cpuinfo; }
vendor=$(info vendor_id)
case $vendor in
GenuineIntel) vendor=intel ;;
AuthenticAMD) vendor=amd ;;
esac
name=$(date +%Y-%m-%d)-$vendor-$(info 'cpu family')-$(info model)-$accel
BENCH_DIR=$top/bench/results/$name
for ((n = 2; ; n++)); do
	[ -e "$BENCH_DIR" ] || break
	BENCH_DIR=$top/bench/results/$name-$n
done
export BENCH_DIR
mkdir -p "$BENCH_DIR"
# shellcheck disable=SC2317 # the trap calls it
partial() {
	pool_give_back
	[ -e "$BENCH_DIR/summary.csv" ] || rm -rf "$BENCH_DIR"
}
trap partial EXIT

"$top/scripts/bench/machine.sh" >"$BENCH_DIR/machine.txt"
say "measuring on $(head -n 1 "$BENCH_DIR/machine.txt" | cut -d' ' -f2-): ${BENCH_DIR#"$top"/}"
: >"$BENCH_DIR/raw.csv"
. "$top/scripts/bench/lib.sh"
pool_raise $(($(large_buffer) * cpus / 2097152)) || true

status=0
for part in bandwidth use neighbour instructions latency kernel; do
	say "$part"
	# Who ends this script is not to wait for a compiler to let go of the lock.
	"$top/scripts/bench/$part.sh" 9>&- || status=1
done
awk -f "$top/scripts/bench/summary.awk" "$BENCH_DIR/raw.csv" >"$BENCH_DIR/summary.csv"
"$top/scripts/bench/table.sh" "$BENCH_DIR" | tee "$BENCH_DIR/summary.txt"
"$top/scripts/bench/plot.sh" || status=1
say "in ${BENCH_DIR#"$top"/}"
exit $status
