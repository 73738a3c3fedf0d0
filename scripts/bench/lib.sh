# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What the parts of "make bench" share. Each part appends lines
# "part,function,chunk,buffer,threads,run,value" to $dir/raw.csv, or says in one
# line why it cannot.
# shellcheck disable=SC2034
. "$top/scripts/common.sh"

perf=$O/perf/perf
dir=${BENCH_DIR:?}
raw=$dir/raw.csv
quick=${QUICK:-}
runs=$([ -z "$quick" ] && echo 5 || echo 3)
volume=$([ -z "$quick" ] && echo 2048 || echo 512)	# MB cleared for one figure
MB=1048576

# cache LEVEL: its size in bytes on this CPU, 0 if the machine does not say.
cache() {
	local index size
	for index in /sys/devices/system/cpu/cpu0/cache/index*; do
		[ "$(cat "$index/level" 2>/dev/null)" = "$1" ] || continue
		[ "$(cat "$index/type")" != Instruction ] || continue
		size=$(cat "$index/size")
		echo $((${size%K} * 1024))
		return
	done
	echo 0
}

last_level_cache() {
	local level
	for level in 4 3 2; do
		[ "$(cache "$level")" = 0 ] || { cache "$level"; return; }
	done
	echo 0
}

# whole_pages BYTES: rounded down to pages of 2 MB.
whole_pages() { echo $(($1 - $1 % (2 * MB))); }

# The buffers: half of the second level, half of the last, and four times the last
# one, or what memory allows of it.
available=$(awk '/^MemAvailable/ { printf "%.0f", $2 * 1024 }' /proc/meminfo)
large_buffer() {
	local llc size
	llc=$(last_level_cache)
	size=$((llc ? 4 * llc : 1024 * MB))
	[ "$size" -ge $((1024 * MB)) ] || size=$((1024 * MB))
	[ "$size" -le $((available / 3)) ] || size=$((available / 3))
	whole_pages "$size"
}

# bytes SIZE: of "4KB" and its like.
bytes() {
	case $1 in
	*KB) echo $((${1%KB} * 1024)) ;;
	*MB) echo $((${1%MB} * MB)) ;;
	*GB) echo $((${1%GB} * 1024 * MB)) ;;
	*B) echo "${1%B}" ;;
	esac
}

functions() {
	"$perf" bench mem clear -f help | sed -n 's/^\t\([^ ]*\) .*/\1/p'
}

# On 2 MB pages where a buffer is made of whole ones and there are enough.
page_for() {
	local free
	free=$(cat /sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages 2>/dev/null || echo 0)
	if [ $(($1 % (2 * MB))) = 0 ] && [ $((free * 2 * MB)) -ge $(($1 * ${2:-1})) ]; then
		echo 2MB
	else
		echo 4KB
	fi
}

# figures PART PERF-COMMAND...: what it prints. A function that this CPU lacks has
# none; any other failure is the part's.
figures() {
	# Several may be under way at once.
	local part=$1 out log=$dir/perf.log.$BASHPID status=0
	shift
	if out=$("$@" 2>"$log"); then
		echo "$out"
	elif ! grep -q 'this CPU has no' "$log"; then
		skipped "$part" "$(tail -n 1 "$log")" >&2
		status=1
	fi
	rm -f "$log"
	return "$status"
}

skipped() { say "$1: $2" | tee -a "$dir/skipped.txt"; }
