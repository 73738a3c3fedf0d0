# SPDX-License-Identifier: GPL-2.0
# From a disassembly (objdump -d --no-show-raw-insn) the functions that may end,
# or go on to somebody else's code, with weakly ordered stores and no SFENCE
# after them. -v weak="NAME..." are those that store so; what calls them is
# followed along every branch, and is named if a path has no fence.

function flush_function(	i, target) {
	if (!n || (name in is_weak))
		return
	for (i = 1; i <= n; i++) {
		target = callee(i)
		if (target in is_weak) {
			if (ends_unfenced())
				found[name] = 1
			return
		}
	}
}

function callee(i) {
	return match(text[i], /<[^+>]+>/) ? substr(text[i], RSTART + 1, RLENGTH - 2) : ""
}

# Where a jump goes in this function; 0 if it leaves it.
function destination(i,	address) {
	split(text[i], word, " ")
	address = word[2]
	return (address in number) ? number[address] : 0
}

# Depth first over (instruction, weakly ordered stores pending).
function ends_unfenced(	top, i, pending, next_i, op) {
	delete seen
	top = 1
	stack_i[1] = 1
	stack_p[1] = 0
	while (top) {
		i = stack_i[top]
		pending = stack_p[top--]
		if (i > n || (i, pending) in seen)
			continue
		seen[i, pending] = 1
		op = text[i]
		sub(/^(bnd|notrack|cs|ds|repz|lock) /, "", op)
		sub(/ .*/, "", op)
		if (op ~ /^[sm]fence$/)
			pending = 0
		else if (op ~ /^call/ && callee(i) in is_weak)
			pending = 1
		if (op ~ /^(ret|iret)/) {
			if (pending)
				return 1
			continue
		}
		if (op ~ /^j/) {
			next_i = destination(i)
			if (next_i) {
				stack_i[++top] = next_i
				stack_p[top] = pending
			} else if (pending || callee(i) in is_weak) {
				return 1
			}
			if (op ~ /^jmp/)
				continue
		}
		stack_i[++top] = i + 1
		stack_p[top] = pending
	}
	return 0
}

BEGIN {
	split(weak, names, " ")
	for (i in names)
		is_weak[names[i]] = 1
}

/^[0-9a-f]+ <.*>:$/ {
	flush_function()
	name = $2
	gsub(/[<>:]/, "", name)
	n = 0
	delete number
	next
}

/^ *[0-9a-f]+:\t/ {
	address = $1
	sub(/:$/, "", address)
	line = $0
	sub(/^ *[0-9a-f]+:\t/, "", line)
	text[++n] = line
	number[address] = n
}

END {
	flush_function()
	for (name in found)
		print name
}
