#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Lint, then KUnit and the selftests in guests: three preemption models, each on
# three sets of CPU features. Ends with the count; any failure is the status.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/kbuild.sh"
. "$(dirname "$0")/guest.sh"
. "$(dirname "$0")/tally.sh"

build_guest
build_kernel "$tree" "$O/normal" "${series_normal_config[@]}"

"$top/scripts/lint.sh" || grep -q '^not ok' "$TALLY" || note "not ok" "lint came to its end"

check "the rules of pre-zeroing against a model" make -s -C "$tree/tools/testing/prezero" run

# The guests: name, CPU, memory, task, kernel command line. Pages of 1 GB take
# longest under emulation and need a guest of 5 GB: they meet each preemption model
# once, and pre-zeroing. Those without ERMS clear everything around the caches that
# can be. Free memory is cleared ahead where it can be, with what else takes free
# memory, and not where it is poisoned or unmapped. The last ones have a CPU that is
# slow at non-caching stores, and values that the kernel has to refuse. Words that
# begin with "device=" are for QEMU.
guests() {
	local preempt nc=page_clearing.non_caching
	local balloon=device=virtio-balloon-pci,free-page-reporting=on
	for preempt in none voluntary full; do
		echo "$preempt-max max 5G selftests preempt=$preempt hugepagesz=1G hugepages=1"
		echo "$preempt-noerms max,-erms 1536M selftests preempt=$preempt ${nc}_threshold=4K"
		echo "$preempt-norep max 1536M selftests preempt=$preempt clearcpuid=erms,rep_good"
	done
	echo "prezero max 2G prezero preempt=none numa=fake=2 cma=64M $balloon"
	echo "prezero-full max 5G prezero preempt=full numa=fake=2 cma=64M@512M hugepagesz=1G hugepages=1"
	echo "prezero-init max 1536M prezero init_on_alloc=1 init_on_free=1 hugepagesz=1G"
	echo "prezero-poison max 1536M prezero page_poison=1 hugepagesz=1G"
	echo "prezero-unmapped max 1536M prezero debug_pagealloc=on hugepagesz=1G"
	echo "slow-movnt Skylake-Server 1G policy mitigations=off want_method=[none]+movnti want_threshold=0"
	echo "chosen Skylake-Server 1G policy mitigations=off ${nc}_method=movnti ${nc}_threshold=2M" \
		"want_method=none+[movnti] want_threshold=2097152"
	echo "refused Icelake-Server 1G policy ${nc}_method=clzero ${nc}_threshold=12x" \
		"want_method=none+[movnti] want_threshold=16777216"
	echo "unknown Icelake-Server 1G policy ${nc}_method=rubbish ${nc}_threshold=99999999999G" \
		"want_method=none+[movnti] want_threshold=16777216"
}

# The same on the kernel that users have.
normal_guests() {
	echo "normal max 5G selftests preempt=voluntary hugepagesz=1G hugepages=1"
	echo "normal-prezero max 5G prezero preempt=voluntary numa=fake=2 cma=64M@512M hugepagesz=1G hugepages=1"
}

# devices APPEND: QEMU's options for them.
devices() { grep -oE '\bdevice=[^ ]+' <<<"$1" | sed 's/^device=/-device\n/' || true; }

# said NAME TIMES PATTERN: lines in a guest's kernel log.
said() { [ "$(grep -acE "$3" "$logs/$1.console")" = "$2" ]; }

# boot KERNEL: the guests of standard input, one for each CPU at a time. KUnit runs
# while the kernel boots, then /init.
boot() {
	local kernel=$1 name cpu memory task append
	while read -r name cpu memory task append; do
		while [ "$(jobs -rp | wc -l)" -ge "$cpus" ]; do
			wait -n || true
		done
		say "guest $name: $append"
		# shellcheck disable=SC2046 # a word for each option and device
		qemu "$name" 900 "$O/$kernel/arch/x86/boot/bzImage" "$O/initramfs.gz" \
			"task=$task ${append%%device=*}" -cpu "$cpu" -m "$memory" $(devices "$append") </dev/null &
	done
}

# It has jump labels, see configs/guest.config: one thread translates for all CPUs.
boot_normal() {
	local accel=${accel/%tcg/tcg,thread=single}
	boot normal
}

say "booting $({ guests; normal_guests; } | wc -l) guests ($accel), $cpus at a time"
boot kernel < <(guests)
boot_normal < <(normal_guests)
wait

while read -r name _; do
	ktap "$name KUnit" "$logs/$name.console"
	ktap "$name guest" "$logs/$name.tests"
	check "$name kernel log and end" healthy "$name"
done < <(guests; normal_guests)
for parameter in method threshold; do
	pattern="\`[a-zA-Z0-9]+' invalid for parameter \`page_clearing.non_caching_$parameter'"
	check "unknown: one warning about the $parameter" said unknown 1 "$pattern"
done
check "refused: one warning about the method" said refused 1 'page_clearing: non_caching_method=clzero: '
check "refused: one warning about the threshold" said refused 1 "invalid for parameter .*_threshold'"
check "hibernation: nothing is known of free memory afterwards" "$top/scripts/hibernate.sh"
check "no non-caching clear without its fence" "$top/scripts/fences.sh" "$O/kernel/vmlinux"
tally_end
