#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Build perf with the series' benchmarks: build/perf/perf, for here and the guest.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/kbuild.sh"

"$top/scripts/tree.sh"
need_compiler
say "building perf (under a minute, log in ${logs#"$top"/}/perf.log)"
logged perf build_perf "$tree" "$O/perf"
say "built ${O#"$top"/}/perf/perf"
