#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# To disk with clear memory; what follows is what the second boot comes back to.
prezeroed() { sed -n 's/^nr_prezeroed //p' /proc/vmstat; }

cd /sys/kernel/mm/prezero || exit 1
swapon /dev/vda || exit 1
echo 1 >enabled
echo 1 >/proc/sys/vm/stat_refresh
echo 256M >run
before=$(prezeroed)
[ "$before" -gt 30000 ] || { echo "only $before pages are clear"; exit 1; }

echo reboot >/sys/power/disk
echo disk >/sys/power/state || exit 1

after=$(prezeroed)
echo "clear pages before: $before, after: $after"
[ "$after" = 0 ] || exit 1
# The kernel looks at each byte of what it gives away as clear.
echo 1 >background
echo 128M >run || exit 1
dd if=/dev/zero of=/tmp/file bs=1M count=200 2>/dev/null
exit 0
