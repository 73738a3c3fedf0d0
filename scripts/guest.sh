# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# A QEMU guest: its initramfs, its boot, and the judgement of how it went.

need_guest() { need qemu-system-x86_64=qemu-system-x86 busybox=busybox-static gzip=gzip; }

# build_selftest NAME: $O/selftests/NAME, static, from the workbench.
build_selftest() {
	local dir=$tree/tools/testing/selftests/mm
	mkdir -p "$O/selftests"
	logged headers make -s -C "$tree" O="$O/selftests/headers" headers
	# shellcheck disable=SC2086 # "ccache gcc" is two words
	logged "selftest-$1" $cc -static -O2 -Wall -I "$tree/tools/testing/selftests" \
		-isystem "$O/selftests/headers/usr/include" -I "$tree/tools/include/uapi" -I "$tree" \
		"$dir/$1.c" "$dir/vm_util.c" "$dir/thp_settings.c" -o "$O/selftests/$1" -lpthread -lrt
}

# initramfs OUT KERNEL-BUILD FILE...: busybox, tests/guest/ and the FILEs in /bin.
initramfs() {
	local out=$1 build=$2 dir file
	shift 2
	{
		for dir in bin dev proc sys tmp mnt guest; do
			echo "dir /$dir 755 0 0"
		done
		echo "nod /dev/console 600 0 0 c 5 1"
		echo "file /bin/busybox $(command -v busybox) 755 0 0"
		echo "slink /bin/sh busybox 755 0 0"
		echo "file /init $top/tests/guest/init 755 0 0"
		for file in "$top"/tests/guest/*.sh; do
			echo "file /guest/$(basename "$file" .sh) $file 755 0 0"
		done
		for file; do
			echo "file /bin/$(basename "$file") $file 755 0 0"
		done
	} >"$out.list"
	"$build/usr/gen_init_cpio" "$out.list" | gzip -1 >"$out"
}

# build_guest: kernel, perf, selftests and the initramfs that holds them.
build_guest() {
	"$top/scripts/kernel.sh"
	"$top/scripts/perf.sh"
	need_guest
	local test tests=(clear_huge clear_non_caching page_reporting prezero prezero_hugetlb)
	for test in "${tests[@]}"; do
		build_selftest "$test"
	done
	initramfs "$O/initramfs.gz" "$O/kernel" "$O/perf/perf" "${tests[@]/#/$O/selftests/}"
}

# KVM only where it can run a stock guest: the CPU shows it and the device opens.
accelerator() {
	case ${ACCEL:-auto} in
	tcg) echo tcg ;;
	kvm)
		grep -qwE 'vmx|svm' /proc/cpuinfo || die "ACCEL=kvm, but this CPU shows neither vmx nor svm"
		(: <>/dev/kvm) 2>/dev/null || die "ACCEL=kvm, but /dev/kvm does not open here"
		echo kvm
		;;
	auto)
		if grep -qwE 'vmx|svm' /proc/cpuinfo && (: <>/dev/kvm) 2>/dev/null; then
			echo kvm
		else
			echo tcg
		fi
		;;
	*) die "ACCEL=$ACCEL is none of auto, tcg, kvm" ;;
	esac
}

accel=$(accelerator)

# qemu NAME SECONDS KERNEL-IMAGE INITRAMFS APPEND [QEMU OPTION...]
# The kernel speaks on the first serial port (NAME.console), the guest's tests
# on the second (NAME.tests), so that neither cuts into the lines of the other.
qemu() {
	local name=$1 seconds=$2 image=$3 initrd=$4 append=$5
	shift 5
	rm -f "$logs/$name".{console,tests}
	timeout --foreground "$seconds" qemu-system-x86_64 -accel "$accel" -smp 2,sockets=2 -m 3G \
		-nodefaults -no-user-config -display none -no-reboot -kernel "$image" -initrd "$initrd" \
		-append "console=ttyS0 panic=-1 $append" "$@" \
		-serial "file:$logs/$name.console" -serial "file:$logs/$name.tests" \
		>"$logs/$name.qemu" 2>&1
}

# What no boot may print. KUnit's own lines begin with spaces or "#".
splats='BUG:|WARNING:|Oops|Kernel panic|general protection|soft lockup|hard LOCKUP|rcu.*(stall|detected)'
splats+='|blocked for more than|sleeping function|Bad page|bad: scheduling|UBSAN|KASAN|KFENCE|Call Trace'
splats+='|invalid opcode|double fault|page allocation failure|nobody cared|refcount_t:'

# healthy NAME: the guest came to its end by itself and its kernel stayed silent.
healthy() {
	if grep -aqE "$splats" "$logs/$1.console"; then
		say "kernel splat in ${logs#"$top"/}/$1.console:"
		grep -aE -m3 "$splats" "$logs/$1.console"
		return 1
	fi
	if ! grep -aqx 'guest: end 0' "$logs/$1.tests"; then
		say "the guest did not reach its end (${logs#"$top"/}/$1.console, .tests, .qemu)"
		tail -n 3 "$logs/$1.qemu" "$logs/$1.console"
		return 1
	fi
}
