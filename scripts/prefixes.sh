#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Build every prefix of the series with W=1 and boot it with the KUnit suites
# that it has so far. Half an hour on two cores; FROM=N begins with the Nth commit
# and takes the base's warnings from the run before.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/series.sh"
. "$(dirname "$0")/kbuild.sh"
. "$(dirname "$0")/guest.sh"
. "$(dirname "$0")/tally.sh"

from=$(number FROM 1)
"$top/scripts/tree.sh"
need_compiler
need_guest
src=$O/prefix/linux
build=$O/prefix/kernel
image=$build/arch/x86/boot/bzImage

# The options of configs/series.config that this prefix knows.
prefix_config() {
	local option
	local fragment
	for fragment in "${base_config[@]}"; do
		cat "$top/configs/$fragment.config"
	done
	while read -r option; do
		! grep -qrw "config ${option#CONFIG_}" "$src/mm" "$src/arch/x86" --include='Kconfig*' ||
			echo "$option=y"
	done < <(sed -n 's/^\(CONFIG_.*\)=y/\1/p' "$top/configs/series.config")
}

w1_build() {
	# What is up to date would not be compiled, and not warn.
	[ "$1" != base ] || rm -rf "$build"
	prefix_config >"$O/prefix.config"
	configure_files "$src" "$build" "$O/prefix.config"
	kbuild "$src" "$build" W=1 bzImage >"$logs/prefix.log" 2>&1 || { tail "$logs/prefix.log"; return 1; }
	grep 'warning:' "$logs/prefix.log" | sed -E 's/:[0-9]+(:[0-9]+)?:/:/; s,^[^ ]*/linux/,,' |
		sort -u >"$O/prefix.warnings"
	if [ "$1" = base ]; then
		cp "$O/prefix.warnings" "$O/prefix.warnings.base"
	fi
	! comm -23 "$O/prefix.warnings" "$O/prefix.warnings.base" | grep .
}

boots() {
	initramfs "$O/initramfs-prefix.gz" "$build"
	qemu prefix 300 "$image" "$O/initramfs-prefix.gz" "task=nothing" -cpu max || true
	healthy prefix && ! grep -aE '(^|\] +)not ok ' "$logs/prefix.console"
}

number=0
for commit in base $(git -C "$tree" rev-list --reverse base..series); do
	subject=$(git -C "$tree" log -1 --format=%s "$commit")
	if [ "$commit" = base ]; then
		[ -z "${FROM:-}" ] || [ ! -e "$O/prefix.warnings.base" ] || continue
	else
		number=$((number + 1))
		[ "$number" -ge "$from" ] || continue
		! git -C "$tree" diff --quiet "$commit^" "$commit" || continue
	fi
	tree_at "$commit" "$src"
	if [ "$commit" = base ] || ! git -C "$tree" diff --quiet "$commit^" "$commit" -- . ':!tools' ':!Documentation'; then
		check "$number W=1: $subject" w1_build "$commit"
		check "$number boots: $subject" boots
	fi
	if [ "$commit" = base ] || ! git -C "$tree" diff --quiet "$commit^" "$commit" -- tools/perf tools/arch; then
		check "$number perf builds: $subject" build_perf "$src" "$O/prefix/perf"
	fi
done
tally_end
