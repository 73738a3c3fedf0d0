#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Put the table of a results directory into README.md, or with --check say whether
# it is there: readme.sh [--check] bench/results/DIR
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
cd "$top"
check=
[ "${1:-}" != --check ] || { check=1; shift; }
results=${1:-$(sed -n 's/^<!-- table of \(.*\), by scripts.*/\1/p' README.md)}
[ -e "$results/summary.csv" ] || { echo "readme: ${results:-README.md names none}: not a results directory" >&2; exit 1; }

[[ $(grep -c '^<!-- table of ' README.md) = 1 && $(grep -c '^<!-- end of table -->' README.md) = 1 ]] ||
	{ echo "readme: README.md has not one place for the table" >&2; exit 1; }
table=$(scripts/bench/table.sh --readme "$results")
new=$(mktemp)
trap 'rm -f "$new"' EXIT
table=$table awk -v results="$results" '
	/^<!-- table of / {
		print "<!-- table of " results ", by scripts/bench/readme.sh -->"
		print ENVIRON["table"]
		skip = 1
	}
	/^<!-- end of table -->/ { skip = 0 }
	!skip' README.md >"$new"
if [ -n "$check" ]; then
	diff README.md "$new"
else
	cat "$new" >README.md
fi
