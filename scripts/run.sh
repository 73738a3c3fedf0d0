#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# The main job: build the patched kernel and perf, let the kernel clear pages in
# a guest, and time the same routines natively on this CPU.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/guest.sh"

number RUNS 3 >/dev/null
"$top/scripts/kernel.sh"
"$top/scripts/perf.sh"
need_guest

say
say "In a guest, $accel:"
initramfs "$O/initramfs-run.gz" "$O/kernel" "$O/perf/perf"
qemu run 300 "$O/kernel/arch/x86/boot/bzImage" "$O/initramfs-run.gz" \
	"task=run kunit.enable=0 hugepagesz=1G hugepages=1" -cpu max -m 5G ||
	say "QEMU ended with status $?"
tr -d '\r' <"$logs/run.tests" | grep -v '^guest: ' || true
healthy run || die "the guest failed"
if [ "$accel" = tcg ]; then
	say "Emulated: these figures show that the paths work. They mean nothing as speed."
fi

say
say "Natively, on this CPU ($(sed -n 's/^model name.*: //p;T;q' /proc/cpuinfo)):"
exec "$top/scripts/native.sh"
