#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Build the patched kernel (build/kernel) from the fragments in configs/.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/kbuild.sh"

"$top/scripts/tree.sh"
need_compiler
build_kernel "$tree" "$O/kernel" "${series_config[@]}"
say "built ${O#"$top"/}/kernel/arch/x86/boot/bzImage, Linux $(cat "$O/kernel/include/config/kernel.release")"
