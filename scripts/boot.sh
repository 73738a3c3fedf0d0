#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# The patched kernel with a shell on this terminal.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/guest.sh"

build_guest
say "booting with $accel; type exit to leave"
exec qemu-system-x86_64 -accel "$accel" -cpu max -smp 2,sockets=2 -m 3G -no-reboot -nographic \
	-kernel "$O/kernel/arch/x86/boot/bzImage" -initrd "$O/initramfs.gz" \
	-append "console=ttyS0 panic=-1 quiet kunit.enable=0 task=shell ${APPEND:-}"
