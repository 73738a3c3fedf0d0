# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# 2 MB pages for measuring natively, given back when the script ends. One measures
# at a time.

exec 9>"${TMPDIR:-/tmp}/clear-pages-native.lock"
flock -n 9 || { say "another run is measuring: waiting for it"; flock 9; }

pool=/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages
pool_before=$(cat "$pool" 2>/dev/null || echo 0)
pool_give_back() { [ ! -w "$pool" ] || echo "$pool_before" >"$pool"; }
trap pool_give_back EXIT

# pool_raise PAGES: have so many free ones; 1 and a line that says how if not.
pool_raise() {
	local free
	free=$(cat "${pool%/*}/free_hugepages" 2>/dev/null || echo 0)
	[ "$free" -lt "$1" ] || return 0
	if [ -w "$pool" ]; then
		echo $((pool_before + $1 - free)) >"$pool"
		free=$(cat "${pool%/*}/free_hugepages")
		[ "$free" -lt "$1" ] || return 0
	fi
	say "no $1 free 2 MB pages, measured on 4 KB pages; for 2 MB pages: echo $1 | sudo tee $pool"
	pool_give_back
	return 1
}
