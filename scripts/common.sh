# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What every verb needs: where things are, how to speak, how to get a tool.
# shellcheck disable=SC2034 # most names are for the scripts that source this file
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
O=$(cd "$top" && mkdir -p "${O:=build}" && cd "$O" && pwd)
tree=$O/linux
logs=$O/logs
cpus=$(nproc)
mkdir -p "$logs"

# A user's git settings must not reach the patches.
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null LC_ALL=C
export GIT_AUTHOR_NAME="Page Clearing Series" GIT_COMMITTER_NAME="Page Clearing Series"
export GIT_AUTHOR_EMAIL=page-clearing@example.org GIT_COMMITTER_EMAIL=page-clearing@example.org

# The compiler of kernel and perf; ccache where there is one, LLVM=1 as in kbuild.
cc=gcc
[ -z "${LLVM:-}" ] || cc=clang
if command -v ccache >/dev/null; then
	cc="ccache $cc"
	export CCACHE_BASEDIR=$O CCACHE_NOHASHDIR=1 CCACHE_MAXSIZE=${CCACHE_MAXSIZE:-4G}
fi

say() { printf '%s\n' "$*"; }
die() {
	printf '%s: %s\n' "$(basename "$0" .sh)" "$*" >&2
	exit 1
}

# number NAME DEFAULT: the user's variable of that name, if he has set it.
number() {
	[[ ${!1:-$2} =~ ^[1-9][0-9]*$ ]] || die "$1=${!1} is not a number from 1 up"
	say "${!1:-$2}"
}

# progress TEXT: one line that is written over, for a person to follow.
progress() { [ ! -t 2 ] || printf '\r%-70s' "$*" >&2; }
progress_end() { [ ! -t 2 ] || printf '\r%70s\r' "" >&2; }

# logged NAME CMD...: run CMD with its output in a log file; say where on failure.
logged() {
	local log=$logs/$1.log
	shift
	"$@" >"$log" 2>&1 || {
		tail -n 15 "$log" >&2
		die "failed, the whole output is in ${log#"$top"/}"
	}
}

have() {
	case $1 in
	*.h) echo "#include <$1>" | cc -E -x c - >/dev/null 2>&1 ;;
	*.a) [ -e "$(cc -print-file-name="$1" 2>/dev/null)" ] ;;
	*) command -v "$1" >/dev/null ;;
	esac
}

# need WHAT=PACKAGE...: WHAT is a command, a header (.h) or a library (.a).
# Missing ones are installed where that is possible, else named in one line.
need() {
	local pair packages=()
	for pair in "$@"; do
		have "${pair%%=*}" || packages+=("${pair#*=}")
	done
	[ ${#packages[@]} -gt 0 ] || return 0
	command -v apt-get >/dev/null ||
		die "not Debian or Ubuntu: please install what they call ${packages[*]}"
	[ "$(id -u)" = 0 ] || die "please run: sudo apt-get install ${packages[*]}"
	say "installing ${packages[*]}"
	{
		apt-get update
		DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${packages[@]}"
	} >"$logs/apt-get.log" 2>&1 ||
		die "apt-get cannot install ${packages[*]} (${logs#"$top"/}/apt-get.log): is there a network?"
	for pair in "$@"; do
		have "${pair%%=*}" || die "${pair#*=} was installed and ${pair%%=*} is still missing"
	done
}

need_compiler() {
	need gcc=gcc libc.a=libc6-dev make=make flex=flex bison=bison bc=bc git=git \
		python3=python3 perl=perl
	need gelf.h=libelf-dev openssl/opensslv.h=libssl-dev xz=xz-utils
	[ -z "${LLVM:-}" ] || need clang=clang ld.lld=lld llvm-ar=llvm
}
