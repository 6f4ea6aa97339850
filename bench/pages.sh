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

page_scan()
{
	cat <<-'TABLE'
		![Nanoseconds a row by the size of the filter, for a sequential scan and a Filter Scan](images/scan.svg)

		CPU time of a row in nanoseconds, the median, and in parentheses the least and the most. The ratio is to
		`url <> 'x'` in a Seq Scan of the same round; "first" is the first query of a session. Each query
		reads a stored filter, whereas a session caches an index.

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

page_join()
{
	cat <<-'TABLE'
		![Times as fast as without a filter, by hit rate, size of the list and work_mem](images/join.svg)

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

page_star()
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

# A sentence for README.md and docs/current.md: the largest list at 1 % hits
page_gain()
{
	rows join '$5 == "automatic" && $3 == 1 && $2 + 0 >= most { most = $2; gain[$4] = $13; memory[$4] = $2 }
		END { for (m in gain) if (memory[m] == most) {
				if (m == "1GB") large = gain[m]; else { small = gain[m]; name = m } }
			printf "Measured with a list of %s URLs and 1 %% hits: %.1f times as fast as without the index\n" \
				"(`work_mem` of %s; %.1f times with 1GB). `script/bench join`, in `bench/results/join.csv`.\n",
				commas(most), small, name, large }'
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
		printf "With a prepared query, a client waits %s microseconds%s for one lookup in a stored filter,\n" \
			"and %s%s for one in the btree of the table itself%s.\n", client("filter"), server("filter"),
			client("btree"), server("btree"),
			"select_1" in client_least ? "; for `SELECT 1`, " client("select_1") server("select_1") : ""
		if ("filter" in server_least)
			print "In parentheses is the CPU time of the server for the same queries, in the same run."'
	measured_on lookup lookup
}

# A line of README.md
page_one_lookup()
{
	lookups '
		printf "- **One lookup** in a stored filter of 10 kB to 500 MB took a client %s microseconds with a prepared\n" \
			"  query%s. `script/bench lookup`, in `bench/results/lookup.csv`.\n", client("filter"),
			"select_1" in client_least ? ", and `SELECT 1` " client("select_1") : ""'
}

# fill PAGE NAME...: replace these parts of it
fill()
{
	local page=$1 name filled

	shift
	for name; do
		filled=$work/log/page
		"page_$name" >"$filled.part" || die "page_$name failed"
		awk -v name="$name" -v part="$filled.part" '
			$0 == "<!-- end: " name " -->" { inside = 0 }
			!inside { print }
			$0 == "<!-- script/bench: " name " -->" {
				inside = 1
				while ((getline line < part) > 0)
					print line
			}' "$page" >"$filled"
		cat "$filled" >"$page"
	done
}

# A quick run fills copies.
fill_pages()
{
	local pages=$root

	[ "$suffix" = '' ] || return 0
	if [ "$quick" = yes ] || [ "$rounds" -lt 5 ]; then
		pages=$here/results/quick/pages
		mkdir -p "$pages/docs"
		cp "$root/README.md" "$pages/"
		cp "$root/docs/performance.md" "$root/docs/current.md" "$pages/docs/"
		give_away -R "$pages"
	fi
	[ ! -e "$results/scan.csv" ] || fill "$pages/docs/performance.md" scan
	if [ -e "$results/join.csv" ]; then
		fill "$pages/docs/performance.md" join
		fill "$pages/README.md" gain
		fill "$pages/docs/current.md" gain
	fi
	if [ -e "$results/lookup.csv" ]; then
		fill "$pages/docs/performance.md" lookup
		fill "$pages/README.md" one_lookup
	fi
	[ ! -e "$results/star.csv" ] || fill "$pages/docs/performance.md" star
	[ ! -e "$results/planning.csv" ] || fill "$pages/docs/performance.md" planning
}
