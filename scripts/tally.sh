# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Results, a line each, in a file that a verb shares with the verbs it calls.

if [ -z "${TALLY:-}" ]; then
	# By verb: two may run at a time.
	TALLY=$O/$(basename "$0" .sh).tally
	export TALLY
	: >"$TALLY"
	tally_owner=1
fi

# note RESULT NAME: ok, "not ok" or skip.
note() {
	printf '%-6s  %s\n' "$1" "$2" | tee -a "$TALLY"
}

# check NAME CMD...: one test; what CMD says is shown when it fails.
check() {
	local name=$1 log=$logs/check.log
	shift
	if ("$@") >"$log" 2>&1; then
		note ok "$name"
	else
		note "not ok" "$name"
		head -n 40 "$log"
	fi
}

# ktap NAME FILE: the kernel tree's own parser counts. It lets a plan be missing,
# and takes one report: those of several programs are cut apart at their first line.
ktap() {
	local report dir=$logs/ktap
	rm -rf "$dir"
	mkdir -p "$dir"
	awk -v dir="$dir" 'BEGIN { file = dir "/1" } /^TAP version/ { file = dir "/" ++n } { print >file }' "$2" || true
	for report in "$dir"/*; do
		ktap_report "$1" "$report"
	done
}

ktap_report() {
	local log=$logs/ktap.log sum kind n
	python3 "$tree/tools/testing/kunit/kunit.py" parse "$2" >"$log" 2>&1 || true
	sum=$(grep -a 'Testing complete' "$log" || true)
	grep -aqE '(^|\] )1\.\.[0-9]+' "$2" || note "not ok" "$1: no plan"
	if [ -z "$sum" ]; then
		note "not ok" "$1: no results"
		return
	fi
	for kind in passed failed crashed errors skipped; do
		n=$(sed -n "s/.*$kind: \([0-9]*\).*/\1/p" <<<"$sum")
		while [ "${n:-0}" -gt 0 ]; do
			case $kind in
			passed) echo "ok      $1" ;;
			skipped) echo "skip    $1" ;;
			*) echo "not ok  $1" ;;
			esac >>"$TALLY"
			n=$((n - 1))
		done
	done
	say "$1: ${sum#*complete. }"
	grep -aE '\[(FAILED|CRASHED|ERROR)\]|^\[ERROR\]' "$log" | head -n 20 || true
}

# tally_end: the count as the last line, for whoever started it.
tally_end() {
	local failed
	failed=$(grep -c '^not ok' "$TALLY" || true)
	if [ -n "${tally_owner:-}" ]; then
		say "$(grep -c '^ok' "$TALLY" || true) passed, $failed failed, $(grep -c '^skip' "$TALLY" || true) skipped"
	fi
	[ "$failed" = 0 ]
}
