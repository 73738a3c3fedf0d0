#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Write the workbench's commits to patches/ and the files they add to linux/.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/series.sh"

[ -d "$tree/.git" ] || die "there is no workbench: make tree"
workbench_is_clean || die "the workbench has uncommitted changes: commit them in ${tree#"$top"/} first"
[ "$(git -C "$tree" symbolic-ref -q --short HEAD)" = series ] ||
	die "the workbench is not on its branch: git -C ${tree#"$top"/} checkout series"

new=$O/export
rm -rf "$new"
mkdir "$new"
write_patches "$new/patches"
write_view "$new/linux"
rm -rf "$top/patches" "$top/linux"
mv "$new/patches" "$new/linux" "$top/"
rmdir "$new"
stamp "$tree"
say "exported $(find "$top/patches" -name '*.patch' | wc -l) patches; see git diff, and git range-diff in the workbench"
