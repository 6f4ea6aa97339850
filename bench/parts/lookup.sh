# shellcheck shell=bash
#
# script/bench lookup: one lookup at a time, in stored filters of 10 kB to
# 500 MB, and in the btree of a table of as many numbers.  The elements are
# numbers, for which an index is smallest and fastest.
#
#	server	time in the server for a query that is planned each time
#	client	time that a single client waits for a prepared query
#	rate	lookups a second of two clients together

# Elements that are really put in, at most: how full a filter is does not matter
lookup_fill=10000000

lookup_sizes()
{
	# name, bytes
	sizes=("10kB 10000" "100kB 100000" "1MB 1000000" "10MB 10000000"
		"100MB 100000000" "500MB 500000000")
	btree_max=10000000
	times=200 length=(-T 1)
	if [ "$quick" = yes ]; then
		sizes=("10kB 10000" "100kB 100000" "1MB 1000000")
		btree_max=100000 times=20 length=(-t 100)
	fi
}

# lookup_query KIND NAME: $1 is the number to look up
lookup_query()
{
	case $1 in
		btree) echo "SELECT EXISTS (SELECT FROM numbers_$2 WHERE n = %s)" ;;
		*) echo "SELECT $1_contains(f, %s) FROM stored WHERE kind = '$1' AND size = '$2'" |
			sed "s/ f, / $1, /; s/(f, /($1, /" ;;
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
			SELECT 'bloom', '$name', bloom_agg(n * 7, $elements), $elements
			FROM generate_series(1::bigint, least($elements, $lookup_fill)) n"
		progress
		sql -c "INSERT INTO stored (kind, size, cuckoo, elements)
			SELECT 'cuckoo', '$name', cuckoo_agg(n * 7, $elements), $elements
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
	sql -c "VACUUM (FREEZE, ANALYZE) stored"
	sql -c "SELECT prewarm()" >/dev/null
	sql -c "CREATE TABLE looked_up (kind text, size text, server float8, client float8, rate float8)"
}

# pgbench_run CLIENTS FILE: its output in $work/log/pgbench
pgbench_run()
{
	as_server env PGHOST="$PGHOST" PGUSER="$PGUSER" "$bindir/pgbench" -n -M prepared \
		-c "$1" -j "$1" "${length[@]}" -f "$2" -l --log-prefix "$work/tmp/latency" \
		bench >"$work/log/pgbench" 2>&1 ||
		{ cat "$work/log/pgbench" >&2; die "pgbench failed"; }
}

part_lookup()
{
	local kind name elements round server client rate query

	lookup_sizes
	make_stored
	begin "lookups"
	for round in $(seq "$rounds"); do
		while IFS='|' read -r kind name elements <&4; do
			query=$(lookup_query "$kind" "$name")
			# shellcheck disable=SC2016,SC2059
			server=$(sql -c "SELECT look_up(\$q\$$(printf "$query" '$1')\$q\$, $times, $round * $times)")
			# shellcheck disable=SC2016,SC2059
			printf '%s\n' "\\set n random(1, $elements * 7)" \
				"$(printf "$query" ':n::bigint');" |
				as_server tee "$work/tmp/lookup.sql" >/dev/null
			rm -f "$work/tmp/latency."*
			pgbench_run 1 "$work/tmp/lookup.sql"
			client=$(cat "$work/tmp/latency."* | awk '{ print $3 }' | sort -n |
				awk '{ x[NR] = $1 } END { print x[int((NR + 1) / 2)] }')
			pgbench_run 2 "$work/tmp/lookup.sql"
			rate=$(sed -n 's/^tps = \([0-9.]*\).*/\1/p' "$work/log/pgbench")
			sql -c "INSERT INTO looked_up VALUES ('$kind', '$name', $server, $client, $rate)"
			progress
		done 4< <(sql -c "SELECT kind, size, elements FROM stored ORDER BY elements, kind")
	done
	finish
	result_of_query lookup "
		SELECT current_setting('server_version_num')::int / 10000 AS postgresql,
			kind, size, max(elements) AS elements,
			max(CASE kind WHEN 'bloom' THEN pg_column_size(bloom)
				WHEN 'cuckoo' THEN pg_column_size(cuckoo)
				ELSE pg_indexes_size('numbers_' || size) END) AS bytes, count(*) AS runs,
			round(median(array_agg(server))::numeric / 1000, 2) AS server_us,
			round(min(server)::numeric / 1000, 2) AS server_least_us,
			round(max(server)::numeric / 1000, 2) AS server_most_us,
			round(median(array_agg(client))::numeric, 1) AS client_us,
			round(min(client)::numeric, 1) AS client_least_us,
			round(max(client)::numeric, 1) AS client_most_us,
			round(median(array_agg(rate))::numeric) AS requests_per_s,
			round(min(rate)::numeric) AS requests_least_per_s,
			round(max(rate)::numeric) AS requests_most_per_s
		FROM looked_up JOIN stored USING (kind, size)
		GROUP BY kind, size ORDER BY kind, max(elements)"
}
