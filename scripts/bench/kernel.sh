#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Part 6: bandwidth of the kernel itself, base against patched, by the command
# lines that others have published. Needs a guest that runs on the hardware;
# emulated it would mean nothing.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
. "$top/scripts/bench/lib.sh"
. "$top/scripts/series.sh"
. "$top/scripts/kbuild.sh"
. "$top/scripts/guest.sh"

if [ "$accel" != kvm ]; then
	skipped kernel "refused: the guest would be emulated (no vmx or svm, or no /dev/kvm), and its bandwidth means nothing"
	exit 0
fi
gb=$((available / MB / 1024 / 3))
[ $gb -ge 1 ] || { skipped kernel "less than 3 GB of free memory"; exit 1; }
[ $gb -le 64 ] || gb=64

need_guest
tree_at base "$O/reference/linux"
configure "$O/reference/linux" "$O/reference/kernel" "${base_config[@]}"
logged base-kernel kbuild "$O/reference/linux" "$O/reference/kernel" bzImage
for which in reference/kernel kernel; do
	name=$([ $which = kernel ] && echo patched || echo base)
	initramfs "$O/initramfs-maps.gz" "$O/$which" "$O/perf/perf"
	# The pages of 1 GB are set aside at boot, those of 2 MB by the task.
	qemu "maps-$name" 1800 "$O/$which/arch/x86/boot/bzImage" "$O/initramfs-maps.gz" \
		"task=maps map_gb=$gb kunit.enable=0 hugepagesz=1G hugepages=$gb" \
		-cpu max -m $((2 * gb + 2))G || true
	healthy "maps-$name" || { skipped kernel "the $name guest failed"; exit 1; }
	tr -d '\r' <"$logs/maps-$name.tests" | sed -n "s/^perf bench/$name: &/p" | tee -a "$dir/kernel.txt"
done
