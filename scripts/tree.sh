#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Fetch the base, import it into a scratch git repository and apply the series:
# all of it or nothing. Base and result are the tag "base" and branch "series".
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/series.sh"

# apt_offers PACKAGE: its versions, the newest first.
apt_offers() { apt-cache madison "$1" 2>/dev/null | awk -F ' *[|] *' '{ print $2 }'; }

# The version that was asked for, or the one the series was last verified on, or if
# that is not to be had any more, the newest.
base_from_package() {
	local package verified sum version newest offers dir=$O/base
	read -r _ package <"$top/base/linux-source"
	verified=$(awk '$1 == "verified" { print $2 }' "$top/base/linux-source")
	sum=$(awk '$1 == "sha256" { print $2 }' "$top/base/linux-source")
	version=${KERNEL:-$verified}

	command -v apt-get >/dev/null ||
		die "no apt-get here to fetch $package with: pass KERNEL=DIR or KERNEL=TARBALL"
	offers=$(apt_offers "$package")
	if ! grep -qxF "$version" <<<"$offers" && [ "$(id -u)" = 0 ]; then
		apt-get update >"$logs/apt-get.log" 2>&1 || true
		offers=$(apt_offers "$package")
	fi
	[ -n "$offers" ] ||
		die "apt offers no $package: run apt-get update, use Debian 12 or 13, or pass KERNEL="
	newest=$(sed -n 1p <<<"$offers")
	if ! grep -qxF "$version" <<<"$offers"; then
		[ -z "${KERNEL:-}" ] || die "apt offers no $package $KERNEL, only $(paste -sd' ' <<<"$offers")"
		version=$newest
	fi
	if [ "$(cat "$dir/version" 2>/dev/null)" != "$version" ]; then
		say "fetching $package $version (150 MB)"
		rm -rf "$dir.new"
		mkdir -p "$dir.new"
		need dpkg-deb=dpkg
		(cd "$dir.new" && apt-get -o APT::Sandbox::User=root \
			download "$package=$version") >"$logs/fetch.log" 2>&1 ||
			die "cannot fetch $package (${logs#"$top"/}/fetch.log); without a network pass KERNEL=DIR or KERNEL=TARBALL"
		dpkg-deb --fsys-tarfile "$dir.new"/*.deb |
			tar xO "./usr/src/$package.tar.xz" >"$dir.new/linux.tar.xz"
		rm "$dir.new"/*.deb
		if [ "$version" = "$verified" ]; then
			echo "$sum  $dir.new/linux.tar.xz" | sha256sum --check --quiet ||
				die "$package $version is not the tarball that base/linux-source pins"
		fi
		echo "$version" >"$dir.new/version"
		rm -rf "$dir"
		mv "$dir.new" "$dir"
	fi
	[ "$version" = "$verified" ] ||
		say "base is $version; the series was last verified on $verified"
	[ "$version" = "$newest" ] ||
		say "base is $version; apt offers $newest too (KERNEL=$newest)"
	base_id="$package $version"
	source=$dir/linux.tar.xz
}

# is_6_12 DIR, or the end.
is_6_12() {
	local version
	version=$(awk -F' *= *' '/^(VERSION|PATCHLEVEL) *=/ { printf "%s.", $2 }' \
		"$1/Makefile" 2>/dev/null || true)
	[ "$version" = 6.12. ] || die "${KERNEL:-the base} is ${version:+Linux ${version%.}, }not a Linux 6.12 tree"
}

is_git() { [ "$(git -C "$1" rev-parse --show-toplevel 2>/dev/null)" = "$1" ]; }

# The caller's own source is only ever read.
base_from_caller() {
	source=$(readlink -f "$KERNEL") || die "KERNEL=$KERNEL does not exist"
	if [ -d "$source" ]; then
		is_6_12 "$source"
		if is_git "$source"; then
			base_id="$source $(git -C "$source" rev-parse HEAD)"
		else
			base_id="$source $(find "$source" -type f -printf '%T@ %P\n' | sort | sha256sum | cut -d' ' -f1)"
		fi
	elif [ -f "$source" ]; then
		base_id="$source $(stat -c %Y "$source")"
	else
		die "KERNEL=$KERNEL is neither a directory nor a tarball"
	fi
}

unpack() {
	mkdir "$1"
	if [ -f "$source" ]; then
		tar xf "$source" -C "$1" --strip-components=1 --no-same-owner 2>"$logs/unpack.log" ||
			die "cannot unpack ${KERNEL:-$source}: $(tail -n 1 "$logs/unpack.log")"
	elif is_git "$source"; then
		[ -z "$(git --no-optional-locks -C "$source" status --porcelain -uno)" ] ||
			say "note: what is not committed in $source is left out"
		git -C "$source" archive HEAD | tar x --no-same-owner -C "$1"
	else
		tar c -C "$source" --exclude=./.git . | tar x --no-same-owner -C "$1"
	fi
	is_6_12 "$1"
}

import() {
	new=$O/linux.new
	say "unpacking and importing the base"
	rm -rf "$new"
	trap 'rm -rf "$new"' EXIT
	unpack "$new"
	git -C "$new" init -q -b series
	git -C "$new" config user.name "$GIT_AUTHOR_NAME"
	git -C "$new" config user.email "$GIT_AUTHOR_EMAIL"
	git -C "$new" add -Af .
	GIT_AUTHOR_DATE="2024-11-17T22:15:08Z" GIT_COMMITTER_DATE="2024-11-17T22:15:08Z" \
		git -C "$new" commit -qm "Base of the series: $1"
	git -C "$new" tag base
	git -C "$new" config series.base "$base_id"
	apply "$new"
	if [ -n "$(git -C "$tree" for-each-ref refs/stash 2>/dev/null)" ]; then
		die "${tree#"$top"/} holds a stash, and the base is another one now: remove it first"
	fi
	rm -rf "$tree"
	mv "$new" "$tree"
	trap - EXIT
}

# From an apply that failed or was interrupted, to what was there before.
step_back() {
	if [ -d "$1/.git/rebase-apply" ]; then
		git -C "$1" am --abort >/dev/null 2>&1 || true
	fi
	git -C "$1" symbolic-ref -q HEAD >/dev/null || git -C "$1" checkout -qf series
	git -C "$1" config --unset series.applying
}

# On top of the base, or say which patch does not apply and leave all as it was.
apply() {
	local patches=("$top"/patches/*/*.patch) at
	git -C "$1" config series.applying yes
	git -C "$1" checkout -q --detach base
	if ! git -C "$1" am -q --empty=keep --committer-date-is-author-date \
		"${patches[@]}" >"$logs/apply.log" 2>&1; then
		at=$(cat "$1/.git/rebase-apply/next" 2>/dev/null || echo 1)
		step_back "$1"
		die "${patches[at - 1]#"$top"/} does not apply to this base ($base_id)"
	fi
	git -C "$1" checkout -q -B series
	git -C "$1" config --unset series.applying
	stamp "$1"
	say "applied ${#patches[@]} patches"
}

need git=git xz=xz-utils
if [ "$(git -C "$tree" config series.applying 2>/dev/null)" = yes ]; then
	say "an earlier make tree was interrupted, starting again"
	step_back "$tree"
fi
if [[ ${KERNEL:-6.12.} == 6.12.* ]] && [ ! -e "${KERNEL:-}" ]; then
	base_from_package
else
	base_from_caller
fi

if [ ! -d "$tree/.git" ] || [ "$(git -C "$tree" config series.base)" != "$base_id" ]; then
	[ ! -d "$tree/.git" ] || workbench_is_exported ||
		die "${tree#"$top"/} holds work that is not in patches/: make export, or remove it"
	import "$base_id"
elif [ "$(git -C "$tree" config series.patches)" = "$(patches_id)" ]; then
	say "the workbench is up to date with patches/"
else
	workbench_is_exported ||
		die "${tree#"$top"/} holds work that is not in patches/: make export, or remove it"
	say "patches/ changed: applying anew"
	apply "$tree"
fi
