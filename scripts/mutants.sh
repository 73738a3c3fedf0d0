#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Plant each mistake of tests/mutants/ by itself, run the test that its Seen-by:
# line names, and report it as caught or survived. ONLY=PATTERN does some of them.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/series.sh"
. "$(dirname "$0")/kbuild.sh"
. "$(dirname "$0")/guest.sh"
. "$(dirname "$0")/warnings.sh"

src=$O/mutants/linux
build=$O/mutants/kernel
image=$build/arch/x86/boot/bzImage

# boot TASK SECONDS INITRAMFS WORD...: the mutant; "cpu=MODEL" among the words is
# for QEMU, "task=NAME" is another task, the rest is for the kernel's command line.
boot() {
	local task=$1 seconds=$2 initrd=$3 cpu=max word append=
	shift 3
	for word; do
		case $word in
		cpu=*) cpu=${word#cpu=} ;;
		task=*) task=${word#task=} ;;
		*) append+=" $word" ;;
		esac
	done
	qemu "mutant-$name" "$seconds" "$image" "$initrd" "task=$task$append" -cpu "$cpu" || true
}

# Seen-by: kunit SUITE [WORD...] - the suite has to fail.
seen_by_kunit() {
	local suite=$1 log=$logs/mutant-$name.console
	shift
	kbuild "$src" "$build" bzImage >"$logs/mutant-$name.log" 2>&1 || return 2
	boot nothing 300 "$O/initramfs-empty.gz" "kunit.filter_glob=$suite" "$@"
	# A kernel that the fault kills before the verdict is a fault caught, too.
	grep -aq "Subtest: $suite" "$log" || return 2
	! grep -aqE "(^|\] )ok 1 $suite" "$log"
}

# Seen-by: selftest NAME [WORD...] - a test fails, or the kernel complains.
seen_by_selftest() {
	shift # the guest's task runs all that it has
	kbuild "$src" "$build" bzImage >"$logs/mutant-$name.log" 2>&1 || return 2
	boot selftests 600 "$O/initramfs.gz" kunit.enable=0 "$@"
	grep -aq "^TAP version" "$logs/mutant-$name.tests" || return 2
	grep -aq '^not ok' "$logs/mutant-$name.tests" || ! healthy "mutant-$name"
}

# Seen-by: model - of the rules of pre-zeroing, in user space.
seen_by_model() {
	make -s -C "$src/tools/testing/prezero" clean all >"$logs/mutant-$name.log" 2>&1 || return 2
	! make -s -C "$src/tools/testing/prezero" run >>"$logs/mutant-$name.log" 2>&1
}

# Seen-by: hibernate - what comes back from disk is not what it should be.
seen_by_hibernate() {
	kbuild "$src" "$build" bzImage >"$logs/mutant-$name.log" 2>&1 || return 2
	! "$top/scripts/hibernate.sh" "$build" "mutant-$name" >>"$logs/mutant-$name.log" 2>&1
}

# Seen-by: build CONFIG OBJECT - W=1 has to warn.
seen_by_build() {
	local warnings
	warnings=$(w1_warnings "$src" "$O/mutants/$1" "$1" "$2") || return 2
	[ -n "$warnings" ]
}

# Seen-by: fences - the disassembly of the kernel has to show it.
seen_by_fences() {
	kbuild "$src" "$build" vmlinux >"$logs/mutant-$name.log" 2>&1 || return 2
	! "$top/scripts/fences.sh" "$build/vmlinux" >>"$logs/mutant-$name.log" 2>&1
}

# Seen-by: sparse OBJECT - which is silent about that file in the series.
seen_by_sparse() {
	kbuild "$src" "$build" C=2 CHECK=sparse "$1" >"$logs/mutant-$name.log" 2>&1 || return 2
	grep -qE "^[^ ]*${1%.o}\.c:.*: (warning|error):" "$logs/mutant-$name.log"
}

plant() {
	git -C "$src" apply "$1" 2>"$logs/mutant-$name.log"
}

mutants=()
for patch in "$top"/tests/mutants/*.patch; do
	# shellcheck disable=SC2053 # a pattern
	[[ $(basename "$patch" .patch) != ${ONLY:-*} ]] || mutants+=("$patch")
done
[ ${#mutants[@]} -gt 0 ] || die "no tests/mutants/${ONLY:-*}.patch"

build_guest
tree_at series "$src"
configure "$src" "$build" "${series_config[@]}"
initramfs "$O/initramfs-empty.gz" "$O/kernel"

survived=0 caught=0 broken=0
for patch in "${mutants[@]}"; do
	name=$(basename "$patch" .patch)
	read -r _ kind arguments < <(grep '^Seen-by: ' "$patch")
	if ! plant "$patch"; then
		verdict="BROKEN: does not apply"
		broken=$((broken + 1))
	else
		status=0
		# shellcheck disable=SC2086 # the words of the line are the arguments
		"seen_by_$kind" $arguments || status=$?
		git -C "$src" apply -R "$patch"
		case $status in
		0) verdict=caught caught=$((caught + 1)) ;;
		1) verdict=SURVIVED survived=$((survived + 1)) ;;
		*) verdict="BROKEN: ${logs#"$top"/}/mutant-$name.*" broken=$((broken + 1)) ;;
		esac
	fi
	printf '%-9s %-36s %s\n' "$verdict" "$name" "$kind $arguments"
done
say "$caught caught, $survived survived, $broken could not be judged"
[ $((survived + broken)) = 0 ]
