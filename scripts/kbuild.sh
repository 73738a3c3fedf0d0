# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Configuring and building a kernel tree in a directory of its own.

# The fragments of the kernels that are booted, of the base and of the series: with
# all that finds a mistake, and as users have it.
# shellcheck disable=SC2034 # for the scripts that source this file
{
	base_config=(guest mm isolate debug kunit)
	series_config=("${base_config[@]}" series)
	base_normal_config=(guest mm isolate kunit normal)
	series_normal_config=(guest mm isolate kunit series normal)
}

# configure TREE OUT FRAGMENT...: allnoconfig plus configs/FRAGMENT.config.
configure() {
	local src=$1 out=$2 fragment files=()
	shift 2
	for fragment; do
		files+=("$top/configs/$fragment.config")
	done
	configure_files "$src" "$out" "${files[@]}"
}

# configure_files TREE OUT FILE...: the last word on an option wins; one that
# does not survive its dependencies is an error, not a surprise.
configure_files() {
	local src=$1 out=$2 option files
	shift 2
	files=("$@")
	mkdir -p "$out"
	cat "${files[@]}" | cmp -s - "$out/.fragments" && [ -e "$out/.config" ] && return
	logged configure make -s -C "$src" O="$out" CC="$cc" allnoconfig
	cp "$out/.config" "$out/.config.allno"
	(cd "$out" && logged merge "$src/scripts/kconfig/merge_config.sh" -m -O "$out" \
		"$out/.config.allno" "${files[@]}")
	logged configure make -s -C "$src" O="$out" CC="$cc" olddefconfig
	cat "${files[@]}" | sed -nE 's/^(# )?(CONFIG_[A-Z0-9_]+).*/\2 &/p' |
		awk '{ key = $1; sub(/^[^ ]+ /, ""); last[key] = $0 } END { for (k in last) print last[k] }' |
		while read -r option; do
			case $option in
			CONFIG_*) grep -qxF "$option" "$out/.config" ;;
			*) ! grep -q "^$(echo "$option" | cut -d' ' -f2)=" "$out/.config" ;;
			esac || die "the configuration lost $option"
		done || exit 1
	cat "${files[@]}" >"$out/.fragments"
}

# kbuild TREE OUT TARGET...: nothing of the builder's name or time goes in, so
# that ccache and a second build find what they know.
kbuild() {
	local src=$1 out=$2
	shift 2
	make -C "$src" O="$out" CC="$cc" -j"$cpus" KBUILD_BUILD_TIMESTAMP="@0" \
		KBUILD_BUILD_USER=series KBUILD_BUILD_HOST=workbench "$@"
}

# build_kernel TREE OUT FRAGMENT...: the bzImage, with the log named like OUT.
build_kernel() {
	local log
	log=$(realpath -m --relative-to="$O" "$2" | tr / -)
	configure "$@"
	say "building ${2#"$top"/}, 4 minutes on two cores if all is new (log in ${logs#"$top"/}/$log.log)"
	logged "$log" kbuild "$1" "$2" bzImage
}

# build_perf TREE OUT: static, so that one binary runs here and in the guest, and
# without the optional libraries, which serve nothing that is measured here.
build_perf() {
	mkdir -p "$2"
	make -C "$1/tools/perf" O="$2" CC="$cc" -j"$cpus" LDFLAGS=-static \
		NO_LIBELF=1 NO_LIBTRACEEVENT=1 NO_LIBPYTHON=1 NO_LIBPERL=1 NO_SLANG=1 \
		NO_LIBUNWIND=1 NO_LIBNUMA=1 NO_LIBCAP=1 NO_LIBCRYPTO=1 NO_LIBBABELTRACE=1 \
		NO_LIBZSTD=1 NO_LZMA=1 NO_JVMTI=1 NO_AUXTRACE=1 NO_DEMANGLE=1 NO_LIBPFM4=1 \
		NO_LIBDEBUGINFOD=1 NO_JEVENTS=1 NO_CORESIGHT=1 NO_SHELLCHECK=1 BUILD_BPF_SKEL=0 "$2/perf"
}
