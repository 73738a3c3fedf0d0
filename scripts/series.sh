# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The link between patches/ and the workbench: what was last exchanged.

patches_id() { (cd "$top" && cat patches/*/*.patch) | sha256sum | cut -d' ' -f1; }

# stamp DIR: DIR's branch and patches/ now say the same.
stamp() {
	git -C "$1" config series.patches "$(patches_id)"
	git -C "$1" config series.head "$(git -C "$1" rev-parse series)"
}

workbench_is_clean() { [ -z "$(git -C "$tree" status --porcelain 2>/dev/null)" ]; }

workbench_is_exported() {
	workbench_is_clean &&
		[ "$(git -C "$tree" config series.head)" = "$(git -C "$tree" rev-parse HEAD)" ] &&
		[ "$(git -C "$tree" config series.head)" = "$(git -C "$tree" rev-parse series)" ]
}

# write_patches DIR: the commits base..series of the workbench as mail files.
# An empty commit is a cover letter; its "Topic:" line names the directory.
write_patches() {
	local commit topic="" dir nr=0 name
	for commit in $(git -C "$tree" rev-list --reverse base..series); do
		if git -C "$tree" diff-tree --quiet "$commit^" "$commit"; then
			topic=$(git -C "$tree" log -1 --format=%B "$commit" | sed -n 's/^Topic: //p')
			[ -n "$topic" ] || die "empty commit without a Topic: line: $(
				git -C "$tree" log -1 --oneline "$commit")"
			nr=0
		fi
		[ -n "$topic" ] || die "the first commit on the base is no cover letter"
		dir=$1/$topic
		mkdir -p "$dir"
		name=$(git -C "$tree" -c core.quotePath=true format-patch -1 "$commit" --always \
			-N --zero-commit --no-signature --full-index --no-renames \
			--start-number "$nr" -o "$dir")
		[ "$nr" != 0 ] || mv "$name" "$dir/0000-cover-letter.patch"
		nr=$((nr + 1))
	done
}

# write_view DIR: the files that the series adds, as they are after it.
write_view() {
	git -C "$tree" diff --name-only --diff-filter=A --no-renames -z base series |
		git -C "$tree" checkout-index -z --stdin --prefix="$1/"
}

verified_base() {
	awk '$1 == "package" { p = $2 } $1 == "verified" { print p, $2 }' "$top/base/linux-source"
}

# tree_at REV DIR: the workbench's REV checked out in a directory of its own. When
# it is called linux, with its build beside it, ccache knows the objects again.
tree_at() {
	if [ ! -e "$2/.git" ] || ! git -C "$2" rev-parse -q --verify HEAD >/dev/null 2>&1; then
		rm -rf "$2"
		git -C "$tree" worktree prune
		mkdir -p "$(dirname "$2")"
		git -C "$tree" worktree add -q --detach "$2" "$1"
	fi
	git -C "$2" reset -q --hard
	git -C "$2" clean -qfd
	git -C "$2" checkout -q --detach "$(git -C "$tree" rev-parse "$1")"
}
