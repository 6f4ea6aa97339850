# shellcheck shell=bash
#
# script/bench scan: what it costs to probe a filter with each row of a table, by
# a sequential scan and by a Filter Scan, compared with count(*) and with the
# cheapest condition on the same column.  All visits are absent elements.

scan_sizes()
{
	if [ "$quick" = yes ]; then
		scan_visits=20000
		scan_blooms=(1000 5000 20000)
		scan_indexes=(1000 5000)
	else
		scan_visits=5000000
		scan_blooms=(1000000 10000000 100000000)
		scan_indexes=(1000000 10000000)
	fi
}

# The names of all ways: count, trivial, or FILTER/ELEMENTS/SCAN
scan_methods()
{
	local size scan

	echo count trivial
	for scan in seq_scan filter_scan; do
		for size in "${scan_blooms[@]}"; do
			echo "bloom/$size/$scan"
		done
		for size in "${scan_indexes[@]}"; do
			echo "index/$size/$scan"
		done
	done
}

# scan_method NAME: its $query and $settings
scan_method()
{
	local filter size scan

	settings=''
	query="SELECT count(*) FROM visits"
	IFS=/ read -r filter size scan <<<"$1"
	case $filter in
		count) return ;;
		trivial) query+=" WHERE url <> 'x'" ;;
		bloom) query+=" WHERE bloom_contains((SELECT f FROM filters WHERE elements = $size), url)" ;;
		index) query+=" WHERE membership_contains('list_${size}_filter', url)" ;;
	esac
	[ "$scan" != seq_scan ] || settings="SET bloomfilter.filter_scan = off;"
}

# A filter has to outlive its list, of which there is disk for one at a time.
make_scan_filters()
{
	local size

	begin "filters"
	sql -c "CREATE TABLE filters (elements bigint PRIMARY KEY, f bloom NOT NULL)"
	for size in "${scan_blooms[@]}"; do
		sql -c "INSERT INTO filters SELECT $size, bloom_agg(url(n), $size, NULL)
			FROM (SELECT generate_series(1, $size::bigint) AS n) s"
		progress
	done
	for size in "${scan_indexes[@]}"; do
		sql -c "CREATE TABLE list_$size AS
				SELECT url(n) COLLATE \"C\" AS url FROM generate_series(1, $size) n" \
			-c "CREATE INDEX list_${size}_filter ON list_$size USING membership (url)"
		progress
	done
	sql -c "CREATE TABLE visits AS SELECT n AS id, url(1000000000 + n) COLLATE \"C\" AS url
		FROM generate_series(1, $scan_visits::bigint) n"
	sql -c "VACUUM (FREEZE, ANALYZE)"
	sql -c "SELECT prewarm()" >/dev/null
	finish
}

# Each run has a session of its own, which has read no index before its first query.
part_scan()
{
	local query settings round method status
	local -a methods

	scan_sizes
	mapfile -t methods < <(scan_methods | tr ' ' '\n')
	make_scan_filters
	begin "measuring"
	for round in $(seq "$rounds"); do
		for method in "${methods[@]}"; do
			scan_method "$method"
			if [ "$round" -eq 1 ]; then
				sql -c "$settings
					INSERT INTO methods (part, cell, method, rows, plan)
					VALUES ('scan', 'first', '$method', $scan_visits, plan_of(\$q\$$query\$q\$)),
						('scan', 'next', '$method', $scan_visits, plan_of(\$q\$$query\$q\$))"
			fi
			status=$(sql -c "$settings
				SELECT measure('scan', 'first', '$method', $round, \$q\$$query\$q\$);
				SELECT measure('scan', 'next', '$method', $round, \$q\$$query\$q\$)")
			[ "$status" = $'ok\nok' ] || die "$method: $status"
		done
		progress
	done
	finish
	check_scans
	sql -c "DROP TABLE visits, filters, $(printf ', list_%s' "${scan_indexes[@]}" | tail -c +3)"

	# ratios are those of a round, to the cheapest condition in it
	result_of_query scan "
		SELECT current_setting('server_version_num')::int / 10000 AS postgresql,
			split_part(method, '/', 1) AS condition,
			coalesce(nullif(split_part(method, '/', 2), ''), '0') AS elements,
			coalesce(nullif(split_part(method, '/', 3), ''), 'seq_scan') AS scan,
			cell AS query_of_session, count(*) AS runs,
			round(median(array_agg(r.cpu / rows))::numeric, 1) AS cpu_ns_per_row,
			round(min(r.cpu / rows)::numeric, 1) AS cpu_least,
			round(max(r.cpu / rows)::numeric, 1) AS cpu_most,
			round(median(array_agg(r.elapsed / rows))::numeric, 1) AS elapsed_ns_per_row,
			round(min(r.elapsed / rows)::numeric, 1) AS elapsed_least,
			round(max(r.elapsed / rows)::numeric, 1) AS elapsed_most,
			round(median(array_agg(r.cpu / nullif(t.cpu, 0)))::numeric, 3) AS cpu_over_trivial,
			round(min(r.cpu / nullif(t.cpu, 0))::numeric, 3) AS cpu_over_trivial_least,
			round(max(r.cpu / nullif(t.cpu, 0))::numeric, 3) AS cpu_over_trivial_most,
			round(median(array_agg(r.elapsed / t.elapsed))::numeric, 3) AS elapsed_over_trivial,
			CASE WHEN method LIKE '%/filter_scan' THEN
				CASE WHEN method LIKE 'bloom/100000000/%' THEN 1.15
					WHEN cell = 'next' THEN 1.0 END END AS bar,
			max(r.answer) AS answer, max(plan) AS plan
		FROM runs r JOIN methods m USING (part, cell, method)
			JOIN (SELECT round, cpu, elapsed FROM runs
				WHERE part = 'scan' AND cell = 'next' AND method = 'trivial') t USING (round)
		WHERE part = 'scan'
		GROUP BY cell, method
		ORDER BY cell DESC, min(place)"
}

# Both scans must have found the same rows, and have been the scans that they
# are called.
check_scans()
{
	local wrong

	wrong=$(sql -c "
		SELECT string_agg(DISTINCT method, ', ') FROM runs r JOIN methods m USING (part, cell, method)
		WHERE part = 'scan' AND (
			(method LIKE '%/filter_scan') <> (plan LIKE '%Filter Scan%') OR
			answer <> (SELECT max(answer) FROM runs s WHERE s.part = 'scan' AND
				regexp_replace(s.method, '/[a-z_]*\$', '') = regexp_replace(r.method, '/[a-z_]*\$', '')))")
	[ -z "$wrong" ] || die "WRONG ANSWERS OR PLANS OF $wrong"
}
