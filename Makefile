# SPDX-License-Identifier: GPL-2.0
# Each verb is one script in scripts/. O=DIR moves the build, KERNEL=DIR|TARBALL
# takes your own 6.12 source, KERNEL=VERSION another of Debian's, ACCEL=auto|tcg|kvm
# chooses the emulator.
export O ?= build
export KERNEL ?=
export ACCEL ?= auto

verbs := run test tree export kernel perf boot lint mutants prefixes instructions bench bench-compare

.PHONY: help $(verbs)
help: ## this text
	@awk -F ' *## ' '/^[a-z-]+:.*##/ { sub(/:.*/, "", $$1); printf "  make %-13s %s\n", $$1, $$2 }' Makefile

run: ## build, boot, benchmark in the guest and natively (the main job)
test: ## lint, then KUnit and selftests in guests; ends with the count
tree: ## fetch the base and apply the series: build/linux, the workbench
export: ## write the workbench's commits back to patches/ and linux/
kernel: ## build the patched kernel
perf: ## build perf with the new benchmarks
boot: ## boot the patched kernel to a shell (leave with "exit")
lint: ## checkpatch, sparse, kernel-doc, shellcheck, round trip of the export
mutants: ## plant each known mistake and see the tests catch it
prefixes: ## build every prefix of the series with W=1
instructions: ## count a fault's instructions, base against patched (-icount)
bench: ## measure this machine into bench/results/ (QUICK=1: under 3 minutes)
bench-compare: ## two results side by side: A=DIR B=DIR

$(verbs):
	@scripts/$@.sh
