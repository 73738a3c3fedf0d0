# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What W=1 says about objects under one of the odd configurations.

# w1_warnings TREE OUT CONFIG TARGET...: the warnings and errors, one a line.
# CONFIG is a fragment on top of those of the guest, without debugging.
w1_warnings() {
	local src=$1 out=$2 config=$3
	shift 3
	configure "$src" "$out" guest mm kunit series "$config" >&2
	logged "prepare-$config" kbuild "$src" "$out" prepare >&2
	kbuild "$src" "$out" W=1 "$@" 2>&1 | grep -E 'warning:|error:|Error ' | sort -u || true
}
