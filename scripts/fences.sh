#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Disassemble a kernel and prove that no function but the routines themselves
# ends with MOVNTI or CLZERO stores that no SFENCE follows. fences.sh VMLINUX
. "$(dirname "$0")/common.sh"

need objdump=binutils
listing=$(mktemp)
trap 'rm -f "$listing"' EXIT
objdump -d --no-show-raw-insn "$1" >"$listing"

# body NAME...: the instructions of these functions.
body() {
	awk -v names="$*" 'BEGIN { n = split(names, a, " "); while (n) wanted["<" a[n--] ">:"] = 1 }
		/>:$/ { on = $2 in wanted } on' "$listing"
}

# callers NAME...: the functions that call one of these, or jump to it.
callers() {
	awk -v names="$*" 'BEGIN {
			n = split(names, a, " ")
			pattern = "<(" a[1]
			for (i = 2; i <= n; i++) pattern = pattern "|" a[i]
			pattern = pattern ")>$"
		}
		/>:$/ { name = substr($2, 2, length($2) - 3); next }
		$0 ~ pattern && !seen[name]++ { print name }' "$listing"
}

status=0
bad() {
	say "$*"
	status=1
}

# Each has the instruction that it is named for, that alone, and no fence.
for routine in clear_pages_movnt:movnti:8 clear_pages_clzero:clzero:1; do
	IFS=: read -r name instruction times <<<"$routine"
	stores=$(body "$name" | grep -cP '\t'"$instruction"'\b' || true)
	[ "$stores" = "$times" ] || bad "$name: $instruction $stores times instead of $times"
	! body "$name" | grep -P '\t([sml]fence|mov[a-z]* +[^,]*,.*\(|(rep )?stos)' | grep -v movnti ||
		bad "$name: something else, above"
	body clear_pages_non_caching | grep -q "<$name>" || bad "clear_pages_non_caching does not call $name"
done
! body clear_pages_non_caching | grep -E '<clear_pages(_stosb|_stosq|_unrolled)?>' ||
	bad "clear_pages_non_caching: a cached clear, above"

# Their callers, and the callers of callers, as long as one of them may end unfenced.
weak="clear_pages_movnt clear_pages_clzero"
while
	# shellcheck disable=SC2046,SC2086 # lists of names
	more=$(body $(callers $weak) | awk -v weak="$weak" -f "$top/scripts/fences.awk")
	[ -n "$more" ]
do
	weak+=" $(tr '\n' ' ' <<<"$more")"
done
for name in $weak; do
	case $name in
	clear_pages_movnt | clear_pages_clzero | clear_pages_non_caching | clear_folio_pages_non_caching) ;;
	*) bad "$name: returns, or jumps elsewhere, without SFENCE after a non-caching clear" ;;
	esac
done

# And somebody does call them: a kernel without the path would pass as well.
body clear_folio_non_caching | grep -qE "<clear_(folio_)?pages_non_caching>" ||
	bad "clear_folio_non_caching: calls no non-caching clear"
body clear_folio_non_caching | grep -q 'sfence' || bad "clear_folio_non_caching: no SFENCE"
callers clear_folio_non_caching | grep -q '^folio_zero_user' ||
	bad "folio_zero_user: does not call clear_folio_non_caching"
[ $status != 0 ] || say "weakly ordered until their callers' SFENCE: $weak"
exit $status
