# shellcheck shell=bash
#
# The parts of the pages that are made of results: what stands between the lines
# "<!-- script/bench: NAME -->" and "<!-- end: NAME -->" is replaced by what the
# function page_NAME prints, unless its results are missing.

# rows FILE PROGRAM: an awk program for each row of a result
rows()
{
	awk -F, '
		function commas(n,  i)
		{
			for (i = length(n) - 3; i > 0; i -= 3)
				n = substr(n, 1, i) "," substr(n, i + 1)
			return n
		}
		# a ratio, its least and its most
		function range(i)
		{
			return sprintf("%.2f (%.2f to %.2f)", $i, $(i + 1), $(i + 2))
		}
		/^#/ || !header++ { next } '"$2" "$results/$1.csv"
}

# measured_on PART FILE
measured_on()
{
	# shellcheck disable=SC2016
	printf '\nMeasured on %s, source commit %s. `script/bench %s`, in `bench/results/%s.csv`.\n' \
		"$(origin_of "$results/$2.csv")" "$(sed -n 's/^# source: //p' "$results/$2.csv")" "$1" "$2"
}

# found_in PART FILE: for a page that says once where all was measured
found_in()
{
	# shellcheck disable=SC2016
	printf '\n`script/bench %s`, in `bench/results/%s.csv`.\n' "$1" "$2"
}

# What a user runs: Filter Scans, beside the condition that reads the same column
page_scan()
{
	cat <<-'TABLE'
		| condition | elements | ns per row, first query of a session | ns per row, later queries | later, as a multiple of `url <> 'x'` |
		|---|---|---|---|---|
	TABLE
	rows scan '
		$2 == "trivial" && $5 == "next" { printf "| `url <> %sx%s` in a Seq Scan | | | %.0f | 1 |\n", "\047", "\047", $7 }
		$4 == "filter_scan" && $5 == "next" { order[++count] = $2 SUBSEP $3; ns[$2, $3] = $7; ratio[$2, $3] = $13 }
		$4 == "filter_scan" && $5 == "first" { first[$2, $3] = $7 }
		END {
			name["bloom"] = "bloom_contains"; name["index"] = "membership_contains"
			for (i = 1; i <= count; i++)
			{
				split(order[i], part, SUBSEP)
				printf "| `%s` | %s | %.0f | %.0f | %.2f |\n", name[part[1]], commas(part[2]), first[order[i]],
					ns[order[i]], ratio[order[i]]
			}
		}'
	found_in scan scan
}

# The default work_mem, and the query as it is
page_join()
{
	cat <<-'TABLE'
		| URLs in the list | visits that are hits | without the index, s | with it, s | times as fast |
		|---|---|---|---|---|
	TABLE
	rows join '
		$4 == "4MB" && $5 == "plain" { plain = $7 }
		$4 == "4MB" && $5 == "automatic" { printf "| %s | %s %% | %.1f | %.1f | %.1f |\n", commas($2), $3, plain / 1000,
			$7 / 1000, $13 }'
	found_in join join
}

# One process and the default work_mem: means, and the least and the most of the queries
page_star()
{
	{
		rows star_mean '$4 == "4MB" && $5 == 0 { print "mean," $2 "," $3 "," $6 }'
		rows star '$3 == "4MB" && $4 == 0 && $5 == "filtered" { print "query," $2 "," $13 }'
	} | awk -F, '
		$1 == "mean" { number[$2] = $3; mean[$2] = $4; next }
		{ kind = $2; sub(/_.*/, "", kind) }
		!(kind in least) || $3 < least[kind] { least[kind] = $3 }
		$3 > most[kind] { most[kind] = $3 }
		END {
			printf "The %d queries of the star schema were %.1f times as fast (each %.1f to %.1f times), and the %d queries like TPC-H %.1f\n",
				number["ssb"], mean["ssb"], least["ssb"], most["ssb"], number["tpch"], mean["tpch"]
			printf "times (%.1f to %.1f). Two joins in which no row is dropped took %.2f and %.2f times as long.\n", least["tpch"], most["tpch"],
				1 / most["worst"], 1 / least["worst"]
		}'
	found_in star star
}

page_scan_all()
{
	cat <<-'TABLE'
		CPU time of a row in nanoseconds, the median, and in parentheses the least and the most. The ratio is to
		`url <> 'x'` in a Seq Scan of the same round; "first" is the first query of a session; the
		others find what it keeps.

		| condition | elements | scan | query | ns a row | / `url <> 'x'` | bar |
		|---|---|---|---|---|---|---|
	TABLE
	rows scan '$5 == "next" || $4 == "filter_scan" {
		name["count"] = "none"; name["trivial"] = "`url <> " "\047" "x" "\047" "`"
		name["bloom"] = "bloom_contains"; name["index"] = "membership_contains"
		printf "| %s | %s | %s | %s | %.0f (%.0f to %.0f) | %s | %s |\n", name[$2], ($3 ? commas($3) : ""),
			($4 == "filter_scan" ? "Filter Scan" : "Seq Scan"), $5, $7, $8, $9, range(13), $17 }'
	measured_on scan scan
}

page_arrays()
{
	cat <<-'TABLE'
		CPU time of a query in milliseconds, and how many times as fast it is with the probe as without, in the same
		round, with the least and the most. The bar is the least of that.

		| array | constant, ms | without, ms | with, ms | gain | with / constant | bar |
		|---|---|---|---|---|---|---|
	TABLE
	rows arrays '{ printf "| %s | %s | %s | %s | %s | %s | %s |\n", $2, $4, $5, $6, ($7 ? range(7) : ""), $10, $11 }'
	measured_on arrays arrays
}

page_join_all()
{
	cat <<-'TABLE'
		CPU time in milliseconds, and how many times as fast that is as the same query without a filter in the same
		round, with the least and the most. "By hand" adds `membership_contains` to the query.

		| list | hits | `work_mem` | without, ms | by hand | unchanged query, ms | gain | elapsed | bar |
		|---|---|---|---|---|---|---|---|---|
	TABLE
	rows join '
		$5 == "plain" { plain = $7 }
		$5 == "by_hand" { hand = range(13) }
		$5 == "automatic" { printf "| %s | %s %% | %s | %.0f | %s | %.0f | %s | %.2f | %s |\n",
			commas($2), $3, $4, plain, hand, $7, range(13), $16, $19 }'
	measured_on join join
}

page_rest()
{
	cat <<-'TABLE'
		Rows without a partner, and joins by other keys than one column, of four million visits: CPU time in milliseconds,
		and how many times as fast with filters; the least and the most of the rounds. In
		parentheses behind the form: the time as a multiple of that of one column. The bar is the least gain, the most of that
		multiple, or the most milliseconds.

		| query | list | hits | `work_mem` | without, ms | with, ms | gain | bar |
		|---|---|---|---|---|---|---|---|
	TABLE
	rows rest '
		BEGIN {
			name["not_exists"] = "NOT EXISTS"; name["left_join"] = "LEFT JOIN"; name["left_join_null"] = "LEFT JOIN ... IS NULL"
			name["limit"] = "NOT EXISTS, LIMIT 100"; name["mark"] = "NOT EXISTS, no membership index, the mark"
			name["insert_select"] = "the SELECT of the next line"; name["insert"] = "INSERT ... WHERE NOT EXISTS"
			name["one"] = "EXISTS, one column"; name["two"] = "two columns"
			name["expression"] = "`split_part(email)`"; name["partitioned"] = "a list of four partitions"
		}
		$6 == "plain" { plain = $8 }
		$6 == "filtered" { printf "| %s%s | %s | %s %% | %s | %s | %s | %s | %s |\n", name[$2], $14 == "" ? "" : " (" $14 ")",
			commas($3), $4, $5, plain, $8, range(11), $15 }'
	measured_on rest rest
}

page_foreign()
{
	cat <<-'TABLE'
		Five million rows of a foreign table joined with a list: how many times as fast as without a filter, by elapsed time and by
		the CPU time of both backends; the least and the most of the rounds. `LIMIT 10` is executed 20 times.

		| query | list | hits | without, ms | with, ms | elapsed | CPU | bar | rows fetched |
		|---|---|---|---|---|---|---|---|---|
	TABLE
	rows foreign '
		BEGIN { name["join"] = "all rows"; name["limit"] = "LIMIT 10"; name["forced"] = "all rows, the filter is forced" }
		$5 == "plain" { plain = $7 }
		$5 == "filtered" { printf "| %s | %s | %s %% | %.0f | %.0f | %s | %s | %s | %s |\n", name[$2], commas($3), $4, plain, $7,
			range(10), range(13), $16, $17 == "" ? "" : commas($17) }'
	measured_on foreign foreign
}

page_writing()
{
	cat <<-'TABLE'
		Insertions of a million URLs into five million, growth from 100,000 elements to ten times as many, and making an index or
		a filter of five million. The bar is the most of the ratio, where there is one, else of the figure; the least
		and the most of the rounds are in parentheses.

		| work | compared with | figure | ratio | bar |
		|---|---|---|---|---|
	TABLE
	rows writing '
		BEGIN {
			name["bulk"] = "bulk insertion"; name["wal"] = "its log, a row"; name["single"] = "INSERT of one row"
			name["bytes"] = "index, an element"; name["batch"] = "lookup of 1,000"
			name["create"] = name["create_2"] = "CREATE INDEX"; name["bloom_agg"] = "`bloom_agg` with a capacity"
			of["none"] = "no index"; of["grown"] = "grown index"; of["fresh"] = "fresh index"
			of["membership"] = "membership index"; of["btree"] = "btree"; of["bloom"] = "contrib/bloom"
			of["stored"] = "stored filter"; of["index"] = "grown index"; of["built"] = "when built"
			of["mean"] = "mean"; of["worst"] = "worst"; of["serial"] = "no worker"; of["workers"] = "two workers"
		}
		function figure(i) { return sprintf($5 ~ /ms/ && $7 > 10 ? "%.0f" : "%.2f", $i) }
		{ printf "| %s, %s | %s | %s %s (%s to %s) | %s | %s |\n", name[$2],
			($3 in of) ? of[$3] : "grown to " $3 " times", of[$4], figure(7), $5, figure(8), figure(9),
			$10 == "" ? "" : range(10), $13 }'
	measured_on writing writing
}

# The lookups, for users
page_partitions()
{
	cat <<-'TABLE'
		| partitions | with the value | gain |
		|---|---|---|
	TABLE
	rows partitions '$5 == "with" && ($2 == "lookup" || $2 == "everywhere") && ($3 == 100 || $3 == 1000) {
		printf "| %s | %s | %s |\n", commas($3), $2 == "lookup" ? 1 : commas($3), $11 }'
	found_in partitions partitions
}

page_partitions_all()
{
	cat <<-'TABLE'
		Milliseconds of an execution, by CPU time but for the cold ones, with the least and the most; the gain is that of a
		round. A prepared statement with a generic plan, each in a transaction of its own.

		| query | partitions | rows in each | without, ms | with, ms | gain | bar |
		|---|---|---|---|---|---|---|
	TABLE
	rows partitions '
		BEGIN {
			name["lookup"] = "a value that one partition has"; name["together"] = "the same, in one transaction"
			name["everywhere"] = "a value that each has"
			name["cold"] = "one has it, only membership indexes in memory, elapsed"
			name["loop"] = "a nested loop of 1,000 outer rows"; name["star"] = "a join with the days of three months"
		}
		$5 == "without" { plain = range(8) }
		$5 == "with" { printf "| %s | %s | %s | %s | %s | %s | %s |\n", name[$2], commas($3), commas($4), plain, range(8),
			range(11), $14 }'
	measured_on partitions partitions
}

page_planning()
{
	cat <<-'TABLE'
		| query | planning, feature off, ms | on | added, ms | bar |
		|---|---|---|---|---|
	TABLE
	rows planning '{
		name["join_without_index"] = "a join of two tables, no membership index"
		name["join"] = "a join with a list that has one"
		name["partitions"] = "the same of a table with 100 partitions"
		printf "| %s | %s | %s | %s (%s to %s) | %s |\n", name[$2], $4, $5, $6, $7, $8, $9 }'
	measured_on join planning
}

page_star_all()
{
	cat <<-'TABLE'
		How many times as fast as without filters, by CPU time, with the least and the most of the rounds; "2 workers" in
		parallel. The mean is geometric.

		| query | 4MB | 256MB | 4MB, 2 workers | 256MB, 2 workers | bar |
		|---|---|---|---|---|---|
	TABLE
	{
		rows star '$5 == "filtered" { print $2 "," $3 "," $4 "," range(13) "," $19 }'
		rows star_mean '{ print "mean of " ($2 == "all" ? "both" : $2) "," $4 "," $5 "," range(6) "," $12 }'
	} | awk -F, '
		!seen[$1]++ { order[++count] = $1 }
		{ gain[$1, $2, $3] = $4 }
		$5 != "" { bar[$1] = bar[$1] "" == "" ? $5 : bar[$1] "" == $5 ? $5 : bar[$1] ", " $5 }
		END {
			for (i = 1; i <= count; i++)
			{
				name = order[i]
				printf "| %s | %s | %s | %s | %s | %s |\n", name, gain[name, "4MB", 0], gain[name, "256MB", 0],
					gain[name, "4MB", 2], gain[name, "256MB", 2], bar[name]
			}
		}'
	measured_on star star
}

# The table of README.md: lists of 1,000 to 10 million rows, CPU time without a join filter and
# with one; the form "repeated" is an EXISTS
page_gain()
{
	cat <<-'TABLE'
		| rows in list | `JOIN` | `NOT EXISTS` | `EXISTS`, 20 visits per URL |
		|---|---|---|---|
	TABLE
	rows few '
		$3 !~ /^10*$/ || $4 != "1GB" || $2 !~ /^(join|not_exists|repeated)$/ { next }
		$5 == "plain" { plain[$2, $3] = $7 }
		$5 == "filtered" { sizes[length($3)] = $3; with[$2, $3] = $7; gain[$2, $3] = $8 }
		function cell(form, size)
		{
			if (!((form, size) in with))
				return ""
			return sprintf(" **%.1f×**, %.0f→%.0f", gain[form, size], plain[form, size], with[form, size])
		}
		END {
			for (i = 1; i <= 20; i++) if (i in sizes)
				print "| " commas(sizes[i]) " |" cell("join", sizes[i]) " |" cell("not_exists", sizes[i]) " |" \
					cell("repeated", sizes[i]) " |"
		}'
	cat <<-'TABLE'

		How many times as fast, and CPU milliseconds before→after. A million visits, 1 % on the list, in
		memory, one process (`script/bench few`).
	TABLE
}

page_few()
{
	cat <<-'TABLE'
		| query | list | `work_mem` | core, ms | with, ms | core / with | bar | DuckDB, ms |
		|---|---|---|---|---|---|---|---|
	TABLE
	rows few '
		{ at = $2 SUBSEP $3 SUBSEP $4 }
		!(at in seen) { seen[at] = 1; order[++count] = at }
		$5 == "plain" { plain[at] = $7 }
		$5 == "filtered" { with[at] = $7; gain[at] = range(8); bar[at] = $11 }
		$5 == "duckdb" { duckdb[at] = sprintf("%.0f", $7) }
		$5 == "loop" { loop[at] = sprintf(", by look-ups %.0f", $7) }
		END {
			for (i = 1; i <= count; i++)
			{
				at = order[i]
				split(at, part, SUBSEP)
				gsub(/_/, " ", part[1])
				printf "| %s | %s | %s | %.0f | %.0f%s | %s | %s | %s |\n", part[1], commas(part[2]), part[3],
					plain[at], with[at], loop[at], gain[at], bar[at], duckdb[at]
			}
		}'
	measured_on few few
}

page_methods()
{
	rows server '
		$3 == 5 && $4 == 0 && $6 == "ok" && $5 == "bloom" {
			list = list separator sprintf("%.1f times as fast with %s URLs", 1 / $13, commas($2))
			separator = ", "
		}
		END { print "At 5 % hits, compared with the hash semi-join, the filter alone was\n" list "." }'
	measured_on server server
}

# How many times as fast with a filter: the largest list at 0.1 % hits, half of the
# rows, and the smallest list at 5 %
page_pays()
{
	rows server '
		$4 != 0 || $6 != "ok" || $5 !~ /^filter_/ { next }
		{ gain = 1 / $13 }
		$3 == 0.1 && $2 + 0 >= size[$5] { size[$5] = $2 + 0; large[$5] = gain; name = commas($2) }
		$3 == 50 && (!($5 in least) || gain < least[$5]) { least[$5] = gain }
		$3 == 50 && gain > most[$5] { most[$5] = gain }
		$3 == 5 && $5 == "filter_semijoin" && (!smallest || $2 < smallest) { smallest = $2 + 0; small = gain }
		END {
			printf "The filter pays if it drops most rows and the blacklist does not fit into the caches of the processor:\n"
			printf "with %s URLs and 0.1 %% hits, filter and index together were %.1f times as fast as the semi-join\n",
				name, large["filter_index"]
			printf "alone, filter and semi-join %.1f times. **It does not pay** if half of all rows pass (%.2f to %.2f times\n",
				large["filter_semijoin"], least["filter_semijoin"], most["filter_semijoin"]
			printf "as fast with a semi-join, %.2f to %.2f times with an index), and hardly pays if the hash table of the exact\n",
				least["filter_index"], most["filter_index"]
			printf "check is small (%s URLs, 5 %% hits: %.1f times). `bench/results/server.csv`, lines `filter_semijoin`\n",
				commas(smallest), small
			print "and `filter_index`."
		}'
}

# The figures of a picture
page_saves()
{
	rows server '
		$3 != 0.1 || $4 != 0 || $6 != "ok" { next }
		$5 ~ /^(semijoin|any|btree|hash_index)$/ && (!($2 in exact) || $9 < exact[$2]) { exact[$2] = $9 }
		$5 ~ /^filter_/ && (!($2 in filter) || $9 < filter[$2]) { filter[$2] = $9 }
		{ size = $2 + 0; if (!least || size < least) least = size; if (size > most) most = size }
		END {
			seconds = 5e6 / 1e9
			printf "With %s URLs on the blacklist and 0.1 %% hits, a filter before the exact check took %.1f seconds,\n",
				commas(most), filter[most] * seconds
			printf "and the fastest exact check alone %.1f (elapsed times): the filter made it %.1f times as fast. With %s URLs, it was %.1f times.\n",
				exact[most] * seconds, exact[most] / filter[most], commas(least), exact[least] / filter[least]
			print "If half of the visits are hits, a filter saves little or nothing. `script/bench server`, in `bench/results/server.csv`."
		}'
}

# What was built, for an END: time[method, workers] in ms, over[] count(url), memory[], kept[]
builds()
{
	rows build '
		{ time[$2, $3] = $6; over[$2, $3] = $10; memory[$2, $3] = $13; kept[$2, $3] = $14; number = $4 }
		END { '"$1"' }'
}

page_build()
{
	builds '
		printf "Building a filter of %s URLs took %.1f times as long as `count(url)` (a btree %.0f times, a hash index\n",
			commas(number), over["bloom_agg", 0], over["btree", 0]
		printf "%.0f times), and %.0f MB of memory (a btree %.0f). The filter takes %.1f MB, a btree %.0f and a hash index %.0f.\n",
			over["hash_index", 0], memory["bloom_agg", 0] / 1e6, memory["btree", 0] / 1e6,
			kept["bloom_agg", 0] / 1e6, kept["btree", 0] / 1e6, kept["hash_index", 0] / 1e6
		print "Memory is the peak of all server processes, without shared buffers, where PostgreSQL builds a hash index.\n"
		printf "With two workers, `count(url)` was %.2f times as fast, and `bloom_agg` %.2f times. Each worker sends its sorted\n",
			time["count", 0] / time["count", 2], time["bloom_agg", 0] / time["bloom_agg", 2]
		printf "hashes, 8 bytes per element, to the leader, which holds a second copy of them (%.0f MB of memory instead of %.0f).\n",
			memory["bloom_agg", 2] / 1e6, memory["bloom_agg", 0] / 1e6
		printf "`cuckoo_agg` took %.1f times as long as `count(url)`, because near the capacity each addition moves\n",
			over["cuckoo_agg", 0]
		print "other entries."'
	found_in build build
}

# Of the largest filters; block512 in its fastest kernel
page_filters()
{
	rows filters '
		$5 != "absent" || ($3 != 0.01 && $3 != 0) { next }
		$1 + 0 > size { size = $1 + 0; delete best }
		$1 + 0 == size && (!(($2, $6) in best) || $7 < best[$2, $6]) { best[$2, $6] = $7 }
		END {
			print "A single probe of a large filter waits for memory about as long as one load does, whereas a classic filter such as"
			printf "the one of libbloom waits several times (%s elements at 1 %%: %.0f and %.0f ns; the load itself %.0f).\n",
				commas(sprintf("%d", size)), best["block512", "single"], best["libbloom", "single"], best["floor", "single"]
			printf "Batches prefetch, and hide most of the wait (%.0f ns).\n", best["block512", "batch"]
		}'
	measured_on filters filters
}

# Grown and made for the number, wherever there are both; the first size does not grow
page_growth()
{
	rows growth '
		{ bits[$1, $2, $3] = $6; probe[$1, $2, $3] = $13; if ($8 / $7 > worst) worst = $8 / $7 }
		$2 == "sized" && $3 + 0 > 1000 { sizes[$1, $3] }
		END {
			for (key in sizes)
			{
				split(key, part, SUBSEP)
				ratio = bits[part[1], "grown", part[2]] / bits[part[1], "sized", part[2]]
				if (!least || ratio < least)
					least = ratio
				if (ratio > most)
					most = ratio
				ratio = probe[part[1], "grown", part[2]] / probe[part[1], "sized", part[2]]
				if (!fast || ratio < fast)
					fast = ratio
				if (ratio > slow)
					slow = ratio
			}
			print "A filter that was made ten thousand times too small still keeps the requested error rate: the measured rate was"
			printf "at most %.2f times the requested one. But the filter takes %.1f to %.1f times as many bits, and a probe takes\n",
				worst, least, most
			printf "%.0f to %.0f times as long, because it checks all layers. So rebuild a filter that has grown a lot.\n", fast, slow
		}'
	found_in growth growth
}

page_accuracy()
{
	measured_on accuracy accuracy
}

page_textbook()
{
	measured_on accuracy textbook
}

# The least and the most median of each kind of lookup, for an END that prints them:
# client[kind], and server[kind] in parentheses if it was measured
lookups()
{
	rows lookup '
		function note(least, most, kind, n)
		{
			if (!(kind in least) || n + 0 < least[kind] + 0) least[kind] = n
			if (!(kind in most) || n + 0 > most[kind] + 0) most[kind] = n
		}
		function span(least, most, kind)
		{
			return sprintf("%.0f", least[kind]) == sprintf("%.0f", most[kind]) ? \
				sprintf("%.0f", most[kind]) : sprintf("%.0f to %.0f", least[kind], most[kind])
		}
		function client(kind) { return span(client_least, client_most, kind) }
		function server(kind)
		{
			return kind in server_least ? " (server: " span(server_least, server_most, kind) ")" : ""
		}
		{ kind = $2 == "cuckoo" || $2 == "bloom" ? "filter" : $2 }
		{ note(client_least, client_most, kind, $10) }
		$7 != "" { note(server_least, server_most, kind, $7) }
		END { '"$1"' }'
}

page_lookup()
{
	lookups '
		printf "With a prepared query, a client waits %s microseconds%s for a lookup in a stored filter,\n" \
			"and %s%s for a lookup in a btree of the table%s.\n", client("filter"), server("filter"),
			client("btree"), server("btree"),
			"select_1" in client_least ? "; for `SELECT 1`, " client("select_1") server("select_1") : ""
		if ("filter" in server_least)
			print "The figures in parentheses are the CPU time of the server for these queries."'
	found_in lookup lookup
}

# Wrap paragraphs at 100 columns; the lines of tables stay.
wrap()
{
	awk -v columns=100 '
		function flush()
		{
			if (text != "") print text
			text = ""
		}
		/^\|/ || NF == 0 { flush(); print; next }
		{
			for (i = 1; i <= NF; i++)
			{
				if (length(text) + length($i) >= columns) flush()
				text = text (text == "" ? "" : " ") $i
			}
		}
		END { flush() }'
}

# fill PAGE NAME...: replace these parts of it; one that fails stays as it was
fill()
{
	local page=$1 name filled

	shift
	for name; do
		filled=$work/log/page
		# in a process of its own, in which the first failure is the end
		("page_$name") >"$filled.part" &
		wait $! || { say "page_$name failed" >&2; pages_failed=yes; continue; }
		wrap <"$filled.part" | awk -v name="$name" '
			$0 == "<!-- end: " name " -->" { inside = 0 }
			!inside { print }
			$0 == "<!-- script/bench: " name " -->" {
				inside = 1
				while ((getline line < "-") > 0)
					print line
			}' "$page" >"$filled"
		cat "$filled" >"$page"
	done
}

# fill_from RESULT PAGE NAME...: unless the result is missing
fill_from()
{
	local file=$results/$1.csv

	shift
	[ ! -e "$file" ] || fill "$@"
}

# A quick run fills copies.
fill_pages()
{
	local pages=$root pages_failed=no user developer

	if [ "$quick" = yes ] || [ "$rounds" -lt 5 ]; then
		pages=$here/results/quick/pages
		mkdir -p "$pages/docs/dev"
		cp "$root/README.md" "$pages/"
		cp "$root/docs/performance.md" "$root/docs/partitions.md" "$pages/docs/"
		cp "$root/docs/dev/measurements.md" "$pages/docs/dev/"
		give_away -R "$pages"
	fi
	user=$pages/docs/performance.md
	developer=$pages/docs/dev/measurements.md
	fill_from few "$pages/README.md" gain
	fill_from scan "$user" scan
	fill_from join "$user" join
	fill_from star "$user" star
	fill_from build "$user" build
	fill_from lookup "$user" lookup
	fill_from growth "$developer" growth
	fill_from partitions "$pages/docs/partitions.md" partitions
	fill_from scan "$developer" scan_all
	fill_from arrays "$developer" arrays
	fill_from join "$developer" join_all
	fill_from rest "$developer" rest
	fill_from few "$developer" few
	fill_from foreign "$developer" foreign
	fill_from partitions "$developer" partitions_all
	fill_from planning "$developer" planning
	fill_from writing "$developer" writing
	fill_from star "$developer" star_all
	fill_from server "$developer" saves methods pays
	fill_from filters "$developer" filters
	fill_from accuracy "$developer" accuracy
	fill_from textbook "$developer" textbook
	[ "$pages_failed" = no ] || die "not all pages are filled"
}
