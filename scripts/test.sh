#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Lint, then KUnit and the selftests in guests: three preemption models, each on
# three sets of CPU features. Ends with the count; any failure is the status.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/guest.sh"
. "$(dirname "$0")/tally.sh"

build_guest

"$top/scripts/lint.sh" || true

# one_guest NAME CPU APPEND: KUnit runs while the kernel boots, then /init.
one_guest() {
	say "guest $1 ($(accelerator))"
	qemu "$1" 600 "$O/kernel/arch/x86/boot/bzImage" "$O/initramfs.gz" \
		"task=selftests hugepagesz=1G hugepages=1 $3" -cpu "$2" ||
		say "QEMU ended with status $?"
	ktap "$1 KUnit" "$logs/$1.console"
	ktap "$1 selftests" "$logs/$1.tests"
	check "$1 kernel log and end" healthy "$1"
}

for preempt in none voluntary full; do
	one_guest "$preempt-max" max "preempt=$preempt"
	one_guest "$preempt-noerms" max,-erms "preempt=$preempt"
	one_guest "$preempt-norep" max "preempt=$preempt clearcpuid=erms,rep_good"
done
tally_end
