#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# A guest that goes to disk and comes back: free memory is not in the image, so
# none of it may be known to be clear afterwards.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/guest.sh"

build=${1:-$O/kernel}
name=${2:-hibernate}
need mkswap=util-linux
rm -f "$O/$name.swap"
truncate -s 512M "$O/$name.swap"
logged "$name-mkswap" mkswap "$O/$name.swap"

for boot in disk resume; do
	qemu "$name-$boot" 300 "$build/arch/x86/boot/bzImage" "$O/initramfs.gz" \
		"task=hibernate kunit.enable=0 resume=/dev/vda" -cpu max -m 512M \
		-drive "file=$O/$name.swap,format=raw,if=virtio" || true
	grep -qa 'PM: Image saving done' "$logs/$name-disk.console" || die "no image was written: ${logs#"$top"/}/$name-disk.console"
done
rm -f "$O/$name.swap"
grep -qa 'PM: Image loading done' "$logs/$name-resume.console" || die "the image was not read"
healthy "$name-resume"
