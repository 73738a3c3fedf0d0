#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# What can be judged without booting. Kernel files are compared with the base:
# its own warnings are not ours to mend, but there shall be none more.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/series.sh"
. "$(dirname "$0")/kbuild.sh"
. "$(dirname "$0")/tally.sh"
. "$(dirname "$0")/warnings.sh"

"$top/scripts/tree.sh"
need_compiler
need shellcheck=shellcheck sparse=sparse

shell_scripts() {
	local files
	mapfile -t files < <(cd "$top" && grep -lE '^#!.*sh$' .ci/run scripts/*.sh scripts/bench/*.sh tests/guest/*.sh tests/guest/init)
	cd "$top" && shellcheck -xa "${files[@]}"
}

checkpatch() {
	(cd "$tree" && scripts/checkpatch.pl --strict --no-signoff --terse --show-types \
		--ignore FILE_PATH_CHANGES "$1")
}

mail_headers() {
	local patch bad=0
	for patch in "$top"/patches/*/*.patch; do
		grep -q '^From: Page Clearing Series <page-clearing@example.org>$' "$patch" ||
			{ say "no series author: $patch"; bad=1; }
		! grep -HnE '^[A-Z][a-z]+(-[a-z]+)*-by: ' "$patch" || bad=1
	done
	return $bad
}

round_trip() {
	local dir=$O/round-trip
	rm -rf "$dir"
	write_patches "$dir/patches"
	write_view "$dir/linux"
	diff -r "$dir/patches" "$top/patches" && diff -r "$dir/linux" "$top/linux"
}

# The base and the patched tree, configured alike, for comparing what tools say.
changed() { git -C "$tree" diff --name-only --diff-filter="$1" base series -- "${@:2}"; }

sparse_says() {
	make -C "$1" O="$2" CC="$cc" C=2 CHECK=sparse "${@:3}" >"$logs/sparse.log" 2>&1 ||
		{ tail "$logs/sparse.log" >&2; return 1; }
	{ grep -E ': (warning|error):' "$logs/sparse.log" || true; } |
		sed -E "s,$1/,,; s/:[0-9]+:[0-9]+:/:/" | sort -u
}

sparse_no_worse() {
	local objects
	mapfile -t objects < <(changed AM 'mm/*.c' 'arch/x86/*.c' 'fs/*.c' | sed 's/\.c$/.o/')
	sparse_says "$tree" "$O/kernel" "${objects[@]}" >"$O/sparse.series" || return 1
	mapfile -t objects < <(changed M 'mm/*.c' 'arch/x86/*.c' 'fs/*.c' | sed 's/\.c$/.o/')
	sparse_says "$O/reference/linux" "$O/reference/kernel" "${objects[@]}" >"$O/sparse.base" || return 1
	! comm -23 "$O/sparse.series" "$O/sparse.base" | grep .
}

kernel_doc_no_worse() {
	local file new
	while read -r file; do
		new=$(comm -13 <(kernel_doc_says "$O/reference/linux" "$file") \
			<(kernel_doc_says "$tree" "$file"))
		[ -z "$new" ] || { say "$new"; return 1; }
	done < <(changed AM '*.c' '*.h')
}

kernel_doc_says() {
	[ -e "$1/$2" ] || return 0
	(cd "$1" && scripts/kernel-doc -none "$2" 2>&1 | sed -E 's/:[0-9]+:/:/' | sort -u)
}

# no_warnings CONFIG OBJECT...: of files that the series touches.
no_warnings() {
	local warnings
	warnings=$(w1_warnings "$tree" "$O/odd-$1" "$@") || return 1
	[ -z "$warnings" ] || { say "$warnings"; return 1; }
}

same_assembly() {
	diff "$tree/arch/x86/lib/clear_page_64.S" "$tree/tools/arch/x86/lib/clear_page_64.S"
}

check "shellcheck" shell_scripts
for patch in "$top"/patches/*/*.patch; do
	case $patch in
	*/0000-*) ;;
	*) check "checkpatch ${patch#"$top"/patches/}" checkpatch "$patch" ;;
	esac
done
check "authors and trailers" mail_headers
check "README has the table of its results" "$top/scripts/bench/readme.sh" --check
if [ "$(git -C "$tree" config series.base)" = "$(verified_base)" ]; then
	check "export gives the same patches and view, byte for byte" round_trip
else
	note skip "export gives the same patches: the base is not the verified one"
fi
check "perf runs the kernel's own assembly" same_assembly

tree_at base "$O/reference/linux"
configure "$O/reference/linux" "$O/reference/kernel" "${base_config[@]}"
configure "$tree" "$O/kernel" "${series_config[@]}"
check "kernel-doc no worse than the base" kernel_doc_no_worse
logged prepare kbuild "$O/reference/linux" "$O/reference/kernel" prepare
logged prepare kbuild "$tree" "$O/kernel" prepare
check "sparse no worse than the base" sparse_no_worse
for odd in nohuge nothp nohugetlb i386 i386-highmem; do
	check "W=1 under configs/$odd.config" no_warnings "$odd" mm/memory.o mm/gup.o mm/shmem.o mm/tests/
done
check "W=1 under configs/pins.config" no_warnings pins drivers/vfio/vfio_iommu_type1.o \
	drivers/iommu/iommufd/pages.o drivers/vhost/vdpa.o drivers/infiniband/core/umem.o
tally_end
