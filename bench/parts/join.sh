# shellcheck shell=bash
#
# script/bench join: which visits went to a URL of a list?  The same EXISTS with and
# without the list's membership index.
#
#	plain		no filter: bloomfilter.filter_scan and join_filter off
#	by_hand_seq	AND membership_contains(...), probed row by row, both off
#	by_hand		the same by a Filter Scan, join_filter off
#	automatic	the plain query with both settings at their defaults
#
# Also what the search for join filters adds to planning (planning.csv).

join_methods=(plain by_hand_seq by_hand automatic)

join_sizes()
{
	if [ "$quick" = yes ]; then
		join_visits=20000 partitions=10 plannings=50
		join_lists=(1000 5000)
		join_memories=(64kB 1GB)
	else
		join_visits=5000000 partitions=100 plannings=2000
		join_lists=(1000000 10000000)
		join_memories=(4MB 1GB)
	fi
	join_hit_rates=(0.1 1 50)	# percent
}

# join_method NAME: its $query and $settings
join_method()
{
	query="SELECT count(*) FROM visits v WHERE EXISTS (SELECT FROM list b WHERE b.url = v.url)"
	settings="SET bloomfilter.join_filter = off;"
	case $1 in
		plain) settings+="SET bloomfilter.filter_scan = off;" ;;
		by_hand_seq) settings+="SET bloomfilter.filter_scan = off;" ;&
		by_hand) query+=" AND membership_contains('list_filter', v.url)" ;;
		automatic) settings='' ;;
	esac
}

# make_join_list SIZE [unindexed]: with a membership index, or without
make_join_list()
{
	begin "a list of $1"
	sql -c "DROP TABLE IF EXISTS list" \
		-c "CREATE TABLE list AS SELECT url(n) COLLATE \"C\" AS url FROM generate_series(1, $1::bigint) n"
	progress
	sql -c "ALTER TABLE list ADD PRIMARY KEY (url)"
	progress
	[ "${2:-}" = unindexed ] || sql -c "CREATE INDEX list_filter ON list USING membership (url)"
	sql -c "VACUUM (FREEZE, ANALYZE) list"
	finish
}

# make_join_visits LIST PERCENT: hits are spread over both tables
make_join_visits()
{
	begin "$join_visits visits, $2 % of them hits"
	sql -c "DROP TABLE IF EXISTS visits" \
		-c "CREATE TABLE visits AS
			SELECT n AS id, url(CASE WHEN n * 7919 % 1000 < $2 * 10
				THEN (hashint8extended(n, 1) & 9223372036854775807) % $1 + 1
				ELSE 1000000000 + n END) COLLATE \"C\" AS url
			FROM generate_series(1, $join_visits::bigint) n"
	sql -c "VACUUM (FREEZE, ANALYZE) visits"
	sql -c "SELECT prewarm()" >/dev/null
	finish
}

# measure_joins CELL MEMORY
measure_joins()
{
	local query settings round method status

	begin "measuring, work_mem $2"
	for round in $(seq "$rounds"); do
		for method in "${join_methods[@]}"; do
			join_method "$method"
			settings="SET work_mem = '$2'; $settings"
			if [ "$round" -eq 1 ]; then
				sql -c "$settings INSERT INTO methods (part, cell, method, rows, plan)
					VALUES ('join', '$1', '$method', $join_visits, plan_of(\$q\$$query\$q\$))"
			fi
			status=$(sql -c "$settings
				SELECT measure('join', '$1', '$method', $round, \$q\$$query\$q\$)")
			[ "$status" = ok ] || die "$method: $status"
		done
		progress
	done
	finish
	[ "$(sql -c "SELECT count(DISTINCT answer) FROM runs WHERE part = 'join' AND cell = '$1'")" = 1 ] ||
		die "THE ANSWERS OF $1 DIFFER; this is a bug"
}

# Median times of planning, with and without the feature; "join_without_index" has
# no membership index, and "partitions" joins a partitioned table to the list.
measure_planning()
{
	local round setting query
	local -A queries=(
		[join_without_index]="SELECT count(*) FROM visits v JOIN plain_list b USING (url)"
		[join]="SELECT count(*) FROM visits v JOIN list b USING (url)"
		[partitions]="SELECT count(*) FROM parted v JOIN list b USING (url)")

	begin "planning"
	sql -c "
		CREATE TABLE planning (query text, setting text, round int, ns float8);
		CREATE TABLE plain_list AS SELECT url FROM list LIMIT 1000;
		CREATE TABLE parted (id bigint, url text COLLATE \"C\") PARTITION BY HASH (id)"
	sql -c "DO \$\$ BEGIN
			FOR i IN 0 .. $partitions - 1 LOOP
				EXECUTE format('CREATE TABLE parted_%s PARTITION OF parted
					FOR VALUES WITH (MODULUS $partitions, REMAINDER %s)', i, i);
			END LOOP;
		END \$\$" \
		-c "INSERT INTO parted SELECT * FROM visits LIMIT 2000 * $partitions" \
		-c "ANALYZE plain_list, parted"
	for round in $(seq "$rounds"); do
		for query in "${!queries[@]}"; do
			for setting in off on; do
				# its first statement loads the library
				sql -c "SELECT bloom_create(1)" -c "SET bloomfilter.filter_scan = $setting" \
					-c "INSERT INTO planning VALUES ('$query', '$setting', $round,
						planning_ns('${queries[$query]}', CASE '$query'
							WHEN 'partitions' THEN $plannings / 10 ELSE $plannings END))" >/dev/null
			done
		done
		progress
	done
	sql -c "DROP TABLE plain_list, parted"
	finish

	result_of_query planning "
		SELECT current_setting('server_version_num')::int / 10000 AS postgresql,
			query, count(*) AS runs,
			round((median(array_agg(f.ns)) / 1e6)::numeric, 4) AS ms_off,
			round((median(array_agg(o.ns)) / 1e6)::numeric, 4) AS ms_on,
			round((median(array_agg(o.ns - f.ns)) / 1e6)::numeric, 4) AS added_ms,
			round((min(o.ns - f.ns) / 1e6)::numeric, 4) AS added_ms_least,
			round((max(o.ns - f.ns) / 1e6)::numeric, 4) AS added_ms_most,
			CASE query WHEN 'join_without_index' THEN 0.02 WHEN 'partitions' THEN 2 END AS bar
		FROM planning o JOIN planning f USING (query, round)
		WHERE o.setting = 'on' AND f.setting = 'off'
		GROUP BY query ORDER BY query"
}

part_join()
{
	local size rate memory

	join_sizes
	for size in "${join_lists[@]}"; do
		make_join_list "$size"
		for rate in "${join_hit_rates[@]}"; do
			make_join_visits "$size" "$rate"
			for memory in "${join_memories[@]}"; do
				measure_joins "$size/$rate/$memory" "$memory"
			done
		done
	done
	measure_planning
	sql -c "DROP TABLE visits, list"

	# ratios are those of a round, of the plain query to this one
	result_of_query join "
		SELECT current_setting('server_version_num')::int / 10000 AS postgresql,
			split_part(cell, '/', 1) AS list,
			split_part(cell, '/', 2) AS hit_rate_percent,
			split_part(cell, '/', 3) AS work_mem,
			method, count(*) AS runs,
			round((median(array_agg(r.cpu)) / 1e6)::numeric, 1) AS cpu_ms,
			round((min(r.cpu) / 1e6)::numeric, 1) AS cpu_least,
			round((max(r.cpu) / 1e6)::numeric, 1) AS cpu_most,
			round((median(array_agg(r.elapsed)) / 1e6)::numeric, 1) AS elapsed_ms,
			round((min(r.elapsed) / 1e6)::numeric, 1) AS elapsed_least,
			round((max(r.elapsed) / 1e6)::numeric, 1) AS elapsed_most,
			round(median(array_agg(p.cpu / nullif(r.cpu, 0)))::numeric, 3) AS cpu_gain,
			round(min(p.cpu / nullif(r.cpu, 0))::numeric, 3) AS cpu_gain_least,
			round(max(p.cpu / nullif(r.cpu, 0))::numeric, 3) AS cpu_gain_most,
			round(median(array_agg(p.elapsed / r.elapsed))::numeric, 3) AS elapsed_gain,
			round(min(p.elapsed / r.elapsed)::numeric, 3) AS elapsed_gain_least,
			round(max(p.elapsed / r.elapsed)::numeric, 3) AS elapsed_gain_most,
			CASE WHEN method = 'automatic' THEN CASE cell
				WHEN '1000000/1/4MB' THEN 3 WHEN '10000000/1/4MB' THEN 8 WHEN '10000000/1/1GB' THEN 5
				ELSE CASE split_part(cell, '/', 2) WHEN '50' THEN 0.95 END END END AS least_gain_wanted,
			max(r.answer) AS answer, max(plan) AS plan
		FROM runs r JOIN methods m USING (part, cell, method)
			JOIN (SELECT cell, round, cpu, elapsed FROM runs
				WHERE part = 'join' AND method = 'plain') p USING (cell, round)
		WHERE part = 'join'
		GROUP BY cell, method
		ORDER BY min(place)"
}
