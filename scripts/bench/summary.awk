# SPDX-License-Identifier: GPL-2.0
# raw.csv to summary.csv: key,unit,median,least,most,runs. A key is
# part/function/chunk/buffer/threads with sizes in KB, or the name of a ratio.
# Ratios are taken within a run, before the median.
BEGIN { FS = "," }

function add(key, unit, value) {
	if (!(key in count)) {
		order[++keys] = key
		units[key] = unit
	}
	values[key, ++count[key]] = value
}

function kb(chunk,	number) {
	number = chunk + 0
	if (chunk ~ /GB$/) return number * 1048576
	if (chunk ~ /MB$/) return number * 1024
	return number
}

{
	part = $1
	unit = part == "bandwidth" ? "GB/s" : part ~ /^use-/ ? "us" : "ns"
	value = part == "bandwidth" ? $7 / 1073741824 : $7
	add(part "/" $2 "/" kb($3) "/" int($4 / 1024) "/" $5, unit, value)
	if (part == "bandwidth" && $5 == 1 && $4 + 0 > large + 0)
		large = $4	# as it is written: it is a subscript
	seen[part, $2, $3, $4, $5, $6] = value
	if ($6 + 0 > runs)
		runs = $6 + 0
	if ($2 == "x86-64-clzero")
		have_clzero = 1
	buffer[part] = $4
}

function rate(function_, chunk, run) {
	return seen["bandwidth", function_, chunk, large, 1, run]
}

function ratio(name, a, b) {
	if (a && b)
		add(name, "ratio", a / b)
}

function slower(function_, chunk, run,	beside, alone) {
	beside = seen["neighbour", function_, chunk, buffer["neighbour"], 1, run]
	alone = seen["neighbour-alone", function_, chunk, buffer["neighbour"], 1, run]
	return alone ? 100 * (beside / alone - 1) : ""
}

END {
	series = have_clzero ? "x86-64-clzero" : "x86-64-movnti"
	for (run = 1; run <= runs; run++) {
		best = rate("x86-64-stream512", "2MB", run)
		if (rate("x86-64-stream256", "2MB", run) > best)
			best = rate("x86-64-stream256", "2MB", run)
		ratio("series-to-6.12", rate(series, "2MB", run), rate("x86-64-stosb", "4KB", run))
		ratio("series-to-mainline", rate(series, "2MB", run), rate("x86-64-stosb", "2MB", run))
		ratio("series-to-mainline-32MB", rate(series, "2MB", run), rate("x86-64-stosb", "32MB", run))
		ratio("series-to-streaming", rate(series, "2MB", run), best)
		ratio("series-8MB-to-1GB", rate(series, "8MB", run), rate(series, "1GB", run))
		for (i = split("x86-64-stosb:4KB x86-64-stosb:2MB x86-64-movnti:2MB x86-64-clzero:2MB x86-64-stream512:2MB", methods, " "); i; i--) {
			split(methods[i], method, ":")
			percent = slower(method[1], method[2], run)
			if (percent != "")
				add("slower-beside/" method[1] "/" kb(method[2]), "%", percent)
		}
	}
	print "key,unit,median,least,most,runs"
	for (k = 1; k <= keys; k++) {
		key = order[k]
		n = count[key]
		for (i = 2; i <= n; i++) {
			v = values[key, i]
			for (j = i - 1; j >= 1 && values[key, j] > v; j--)
				values[key, j + 1] = values[key, j]
			values[key, j + 1] = v
		}
		median = n % 2 ? values[key, (n + 1) / 2] : (values[key, n / 2] + values[key, n / 2 + 1]) / 2
		printf "%s,%s,%.4g,%.4g,%.4g,%d\n", key, units[key], median, values[key, 1], values[key, n], n
	}
}
