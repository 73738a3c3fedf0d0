#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Part 4: exact counts of instructions, emulated: base against patched. Builds the
# base kernel.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
. "$top/scripts/bench/lib.sh"

if [ -n "$quick" ]; then
	skipped instructions "not with QUICK=1, the base kernel is built for it"
	exit 0
fi
status=0
rm -f "$O/instructions.txt"
"$top/scripts/instructions.sh" || status=1
[ ! -e "$O/instructions.txt" ] || cp "$O/instructions.txt" "$dir/instructions.txt"
exit $status
