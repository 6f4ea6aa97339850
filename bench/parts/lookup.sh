# shellcheck shell=bash
#
# script/bench lookup: one lookup at a time, in stored filters of 10 kB to
# 500 MB, and in the btree of a table of as many numbers.  The elements are
# numbers, for which an index is smallest and fastest.
#
#	client	time that a single client waits for a prepared query
#	server	CPU time that its backend takes for the same queries, in the same run:
#			what a mark and the next one are apart, divided by the lookups between.
#			The client waits at least as long, or the measurement is wrong.
#	rate	lookups a second of two clients together
#
# "select_1" is the query SELECT 1: what any query takes.

# Elements that are really put in, at most: how full a filter is does not matter
lookup_fill=10000000

lookup_sizes()
{
	# name, bytes
	sizes=("10kB 10000" "100kB 100000" "1MB 1000000" "10MB 10000000"
		"100MB 100000000" "500MB 500000000")
	btree_max=10000000
	mark_every=1000 length=(-T 1)
	if [ "$quick" = yes ]; then
		sizes=("10kB 10000" "100kB 100000" "1MB 1000000")
		btree_max=100000 mark_every=100 length=(-t 500)
	fi
}

# lookup_query KIND NAME: :n is the number to look up
lookup_query()
{
	case $1 in
		select_1) echo "SELECT 1" ;;
		btree) echo "SELECT EXISTS (SELECT FROM numbers_$2 WHERE n = :n::bigint)" ;;
		*) echo "SELECT $1_contains($1, :n::bigint) FROM stored WHERE kind = '$1' AND size = '$2'" ;;
	esac
}

make_stored()
{
	local size name bytes elements

	sql -c "CREATE TABLE stored (kind text, size text, bloom bloom, cuckoo cuckoo,
		elements bigint, PRIMARY KEY (kind, size))"
	for size in "${sizes[@]}"; do
		read -r name bytes <<<"$size"
		# what fits at 1 %, if it may grow
		elements=$((bytes * 8 * 100 / 1025))
		begin "$name"
		sql -c "INSERT INTO stored (kind, size, bloom, elements)
			SELECT 'bloom', '$name', bloom_agg(n * 7, $elements, NULL), $elements
			FROM generate_series(1::bigint, least($elements, $lookup_fill)) n"
		progress
		sql -c "INSERT INTO stored (kind, size, cuckoo, elements)
			SELECT 'cuckoo', '$name', cuckoo_agg(n * 7, $elements, NULL), $elements
			FROM generate_series(1::bigint, least($elements, $lookup_fill)) n"
		progress
		if [ "$elements" -le "$btree_max" ]; then
			sql -c "CREATE TABLE numbers_$name AS
					SELECT n * 7 AS n FROM generate_series(1::bigint, $elements) n;
				ALTER TABLE numbers_$name ADD PRIMARY KEY (n);
				INSERT INTO stored (kind, size, elements)
					VALUES ('btree', '$name', $elements)"
			sql -c "VACUUM (FREEZE, ANALYZE) numbers_$name"
		fi
		finish
	done
	sql -c "INSERT INTO stored (kind, size, elements) VALUES ('select_1', '', 0)"
	sql -c "VACUUM (FREEZE, ANALYZE) stored"
	sql -c "SELECT prewarm()" >/dev/null
	sql -c "CREATE TABLE looked_up (kind text, size text, server float8, client float8, rate float8);
		CREATE TABLE marks (place serial, cpu float8)"
}

# pgbench_run CLIENTS FILE [OPTION...]: its output in $work/log/pgbench, and how
# long each transaction took in $work/tmp/latency.*
pgbench_run()
{
	local clients=$1 file=$2

	shift 2
	rm -f "$work/tmp/latency."*
	as_server env PGHOST="$PGHOST" PGUSER="$PGUSER" "$bindir/pgbench" -n -M prepared \
		-c "$clients" -j "$clients" "${length[@]}" -f "$file" "$@" \
		bench >"$work/log/pgbench" 2>&1 ||
		{ cat "$work/log/pgbench" >&2; die "pgbench failed"; }
}

# time_lookups: run lookups that leave marks, and print "SERVER CLIENT": what one of
# them takes, in microseconds; a median of all intervals between marks
time_lookups()
{
	sql -c "TRUNCATE marks"
	pgbench_run 1 "$work/tmp/marked.sql" -D times=0 -l --log-prefix "$work/tmp/latency"
	sql -c "SELECT cpu FROM marks ORDER BY place" >"$work/log/marks"
	# a mark is in the first transaction of its interval
	awk -v every="$mark_every" '
		NR == FNR { cpu[marks++] = $1; next }
		{ waited[int((FNR - 1) / every)] += $3 }
		END {
			for (i = 0; i + 1 < marks; i++)
				print (cpu[i + 1] - cpu[i]) / every / 1000, waited[i] / every
		}' "$work/log/marks" "$work/tmp/latency."* >"$work/log/intervals"
	echo "$(column_median 1) $(column_median 2)"
}

# column_median NUMBER: of $work/log/intervals
column_median()
{
	awk -v i="$1" '{ print $i }' "$work/log/intervals" | sort -g |
		awk '{ x[NR] = $1 } END { if (NR < 1) exit 1; print x[int((NR + 1) / 2)] }'
}

part_lookup()
{
	local kind name elements server client rate query wrong

	lookup_sizes
	make_stored
	begin "lookups"
	for _ in $(seq "$rounds"); do
		while IFS='|' read -r kind name elements <&4; do
			query=$(lookup_query "$kind" "$name")
			printf '%s\n' "\\set n random(1, $elements * 7 + 1)" "$query;" |
				as_server tee "$work/tmp/lookup.sql" >/dev/null
			printf '%s\n' "\\if :times % $mark_every = 0" \
				"INSERT INTO marks (cpu) VALUES (cpu_ns());" "\\endif" \
				"\\set times :times + 1" "$(<"$work/tmp/lookup.sql")" |
				as_server tee "$work/tmp/marked.sql" >/dev/null
			read -r server client < <(time_lookups)
			pgbench_run 2 "$work/tmp/lookup.sql"
			rate=$(sed -n 's/^tps = \([0-9.]*\).*/\1/p' "$work/log/pgbench")
			sql -c "INSERT INTO looked_up VALUES ('$kind', '$name', $server, $client, $rate)"
			progress
		done 4< <(sql -c "SELECT kind, size, elements FROM stored ORDER BY elements, kind")
	done
	finish
	wrong=$(sql -c "SELECT string_agg(format('%s %s: %s us in the server, %s for its client',
			kind, size, server, client), '; ') FROM looked_up WHERE server > client")
	[ -z "$wrong" ] || die "A SERVER CANNOT TAKE LONGER THAN ITS CLIENT WAITS; this is a bug: $wrong"
	result_of_query lookup "
		SELECT current_setting('server_version_num')::int / 10000 AS postgresql,
			kind, size, max(elements) AS elements,
			max(CASE kind WHEN 'bloom' THEN pg_column_size(bloom)
				WHEN 'cuckoo' THEN pg_column_size(cuckoo)
				WHEN 'btree' THEN pg_indexes_size('numbers_' || size) END) AS bytes,
			count(*) AS runs,
			round(median(array_agg(server))::numeric, 2) AS server_cpu_us,
			round(min(server)::numeric, 2) AS server_cpu_least_us,
			round(max(server)::numeric, 2) AS server_cpu_most_us,
			round(median(array_agg(client))::numeric, 2) AS client_us,
			round(min(client)::numeric, 2) AS client_least_us,
			round(max(client)::numeric, 2) AS client_most_us,
			round(median(array_agg(rate))::numeric) AS requests_per_s,
			round(min(rate)::numeric) AS requests_least_per_s,
			round(max(rate)::numeric) AS requests_most_per_s
		FROM looked_up JOIN stored USING (kind, size)
		GROUP BY kind, size ORDER BY kind, max(elements)"
}
