# shellcheck shell=bash
#
# script/bench partitions: a lookup by another key than that of the partitions, and a join
# whose bounds exclude most partitions.  Prepared statements with a generic plan.
#
#	lookup		trace_id = $1, which one partition has; each in a transaction of its own
#	together	the same in one transaction, which keeps the locks of the first
#	everywhere	lookup of values that each partition has
#	cold		lookup when only the membership indexes are in memory; elapsed.  The session
#			has looked up other values before, and called the procedure that measures: with
#			its first ones, a process maps the shared memory, which takes five times as
#			long as asking, and compiles the procedure.
#	loop		a nested loop over 1,000 outer rows
#	star		84 months joined with the days of three
#
#	without		bloomfilter.partition_filter = off; star: join_filter = off
#	with		on

partitions_sizes()
{
	if [ "$quick" = yes ]; then
		counts=(20 10 5) partition_rows=500 outer_rows=10 look_ups=6000
		month_rows=30000 # smaller partitions are read anyway
	else
		counts=(1000 300 100 30 10) partition_rows=100000 outer_rows=1000 look_ups=60000
		month_rows=100000
	fi
	# rows of a partition whose values all partitions have
	everywhere=$((partition_rows / 100))
}

# make_partitions COUNT
make_partitions()
{
	begin "$1 partitions of $partition_rows rows"
	sql -c "CREATE TABLE events (day int, trace_id bigint) PARTITION BY RANGE (day)" \
		-c "DO \$\$ BEGIN
			FOR d IN 0 .. $1 - 1 LOOP
				EXECUTE format('CREATE TABLE events_%s PARTITION OF events FOR VALUES FROM (%s) TO (%s)', d, d, d + 1);
				EXECUTE format('INSERT INTO events_%s SELECT %s, CASE WHEN i <= $everywhere THEN i
					ELSE key_of(%s, i) END FROM generate_series(1, $partition_rows) i', d, d, d);
				COMMIT;
			END LOOP;
		END \$\$"
	progress
	sql -c "CREATE INDEX events_btree ON events (trace_id)"
	progress
	sql -c "CREATE INDEX events_filter ON events USING membership (trace_id)"
	progress
	sql -c "SET default_statistics_target = 10" -c "VACUUM (FREEZE, ANALYZE) events"
	finish
}

# drop_partitions FROM TO: those from the first number until before the second
drop_partitions()
{
	sql -c "DO \$\$ BEGIN
		FOR d IN $1 .. $2 - 1 LOOP
			EXECUTE format('DROP TABLE events_%s', d);
			COMMIT;
		END LOOP;
	END \$\$"
}

# prewarm_indexes INDEX...: the tables are not read, because index-only scans suffice
prewarm_indexes()
{
	local index

	for index; do
		sql -c "SELECT sum(pg_prewarm(relid)) FROM pg_partition_tree('$index') WHERE isleaf" >/dev/null
	done
}

restart()
{
	as_server "$bindir/pg_ctl" -s -w -D "$work/data" -l "$work/log/server" restart >/dev/null
}

# Have only the membership indexes in memory
evict()
{
	local file

	sql -c "CHECKPOINT" -c "SELECT pg_relation_filepath(relid) FROM (SELECT * FROM pg_partition_tree('events')
		UNION ALL SELECT * FROM pg_partition_tree('events_btree')) t WHERE isleaf" >"$work/log/evict"
	restart
	while read -r file; do
		dd of="$work/data/$file" oflag=nocache conv=notrunc,fdatasync count=0 status=none
	done <"$work/log/evict"
	prewarm_indexes events_filter
}

# Values that no partition has: the first lookups of a session, which read few tables
other_values=(-1 -2 -3 -4 -5 -6 -7 -8 -9 -10)

# measure_partitions CELL KEYS STATEMENT: executes the statement with each key of an array
measure_partitions()
{
	local cell=$1 settings sign='Partition Filter' explain=EXPLAIN method value round
	local -a before=()

	settings="LOAD 'bloomfilter'; SET plan_cache_mode = force_generic_plan;"
	case $cell in
		loop/*) settings+="SET enable_hashjoin = off; SET enable_mergejoin = off;" ;;
		star/*) sign='Skipped by Partition Bound' explain="EXPLAIN ANALYZE" ;;
		cold/*)
			before=(-c "LOAD 'bloomfilter'; SET bloomfilter.partition_filter = on")
			for value in "${other_values[@]}"; do
				before+=(-c "SELECT count(*) FROM events WHERE trace_id = $value")
			done
			before+=(-c "PREPARE q(bigint) AS SELECT 0" -c "CALL execute_q('called', '', 0, ARRAY[0])"
				-c "DEALLOCATE q" -c "DELETE FROM runs WHERE cell = 'called'")
			;;
	esac
	begin "$cell"
	sql -c "INSERT INTO methods (part, cell, method, rows)
		SELECT 'partitions', '$cell', m, cardinality($2) FROM unnest('{without,with}'::text[]) m"
	for round in $(seq "$rounds"); do
		for method in without with; do
			value=$([ $method = with ] && echo on || echo off)
			if [[ $cell == cold/* ]]; then
				evict
			fi
			# EXPLAIN brings the catalogs into memory, but not the tables
			sql "${before[@]}" -c "$settings SET bloomfilter.partition_filter = $value; SET bloomfilter.join_filter = $value;" \
				-c "PREPARE q(bigint) AS $3" -c "$explain EXECUTE q(0)" \
				-c "CALL execute_q('$cell', '$method', $round, $2)" >"$work/log/partitions"
			[ "$(grep -q "$sign" "$work/log/partitions" && echo on || echo off)" = "$value" ] ||
				die "$cell, $method: not the plan that was to be measured"
		done
		progress
	done
	finish
	[ "$(sql -c "SELECT count(DISTINCT answer) FROM runs WHERE part = 'partitions' AND cell = '$cell'")" = 1 ] ||
		die "THE ANSWERS OF $cell DIFFER; this is a bug"
}

# measure_look_ups PARTITIONS: so many that the steps of the clock, some ms, do not matter
measure_look_ups()
{
	local query="SELECT count(*) FROM events WHERE trace_id = \$1" cell="$1/$partition_rows"
	local times=$((look_ups / $1 + 20))

	prewarm_indexes events_btree events_filter
	measure_partitions "lookup/$cell" "keys_of($times, $1)" "$query"
	measure_partitions "together/$cell" "keys_of($times, $1)" "$query"
	measure_partitions "everywhere/$cell" "shared_keys($times)" "$query"
	measure_partitions "cold/$cell" "keys_of(1, $1)" "$query"
}

make_months()
{
	begin "84 months of $month_rows rows"
	sql -c "CREATE TABLE sales (day date, amount int) PARTITION BY RANGE (day)" \
		-c "DO \$\$ BEGIN
			FOR m IN 0 .. 83 LOOP
				EXECUTE format('CREATE TABLE sales_%s PARTITION OF sales FOR VALUES FROM (%L) TO (%L)', m,
					date '2020-01-01' + m * interval '1 month', date '2020-01-01' + (m + 1) * interval '1 month');
			END LOOP;
		END \$\$" \
		-c "INSERT INTO sales SELECT date '2020-01-01' + m * interval '1 month' + i % 28 * interval '1 day', i
			FROM generate_series(0, 83) m, generate_series(1, $month_rows) i" \
		-c "CREATE TABLE days AS SELECT day::date, extract(year FROM day) * 4 + extract(quarter FROM day) AS quarter
			FROM generate_series(date '2020-01-01', date '2026-12-31', interval '1 day') day" \
		-c "VACUUM (FREEZE, ANALYZE) sales, days"
	sql -c "SELECT prewarm()" >/dev/null
	finish
}

part_partitions()
{
	local partition_rows outer_rows look_ups month_rows everywhere
	local -a counts

	partitions_sizes
	# Keep freed memory: whether the C library returns it after each execution depends on
	# what else is allocated, and costs more than asking the indexes.
	(
		export MALLOC_TRIM_THRESHOLD_=$((1 << 28)) MALLOC_TOP_PAD_=$((1 << 20)) MALLOC_MMAP_THRESHOLD_=$((1 << 25))
		restart
		measure_all_partitions
	)
	restart
}

measure_all_partitions()
{
	local count last

	sql -c "CREATE FUNCTION key_of(partition int, number int) RETURNS bigint IMMUTABLE
			RETURN hashint8extended(partition::bigint * $partition_rows + number, 1)" \
		-c "CREATE FUNCTION keys_of(times int, partitions int) RETURNS bigint[]
			RETURN ARRAY(SELECT key_of(i * 7919 % partitions, $partition_rows - i % ($partition_rows / 2))
				FROM generate_series(1, times) i)" \
		-c "CREATE FUNCTION shared_keys(times int) RETURNS bigint[]
			RETURN ARRAY(SELECT i % $everywhere + 1 FROM generate_series(1, times) i)" \
		-c "CREATE PROCEDURE execute_q(cell text, method text, round int, keys bigint[])
		LANGUAGE plpgsql AS \$\$
		DECLARE
			since float8 := wall_ns();
			cpu_since float8 := cpu_ns();
			key bigint;
			found bigint;
			total bigint := 0;
		BEGIN
			FOREACH key IN ARRAY keys LOOP
				EXECUTE format('EXECUTE q(%s)', key) INTO found;
				total := total + found;
				IF cell NOT LIKE 'together/%' THEN
					COMMIT;
				END IF;
			END LOOP;
			INSERT INTO runs VALUES ('partitions', cell, method, round, 'ok',
				wall_ns() - since, cpu_ns() - cpu_since, total);
		END \$\$"
	make_partitions "${counts[0]}"
	sql -c "CREATE TABLE outer_rows AS SELECT unnest(keys_of($outer_rows, ${counts[0]})) AS trace_id" -c "ANALYZE outer_rows"
	prewarm_indexes events_btree events_filter
	measure_partitions "loop/${counts[0]}/$partition_rows" "ARRAY[0]" \
		"SELECT count(*) FROM outer_rows JOIN events USING (trace_id)"
	last=${counts[0]}
	for count in "${counts[@]}"; do
		drop_partitions "$count" "$last"
		measure_look_ups "$count"
		last=$count
	done
	sql -c "DROP TABLE events, outer_rows"
	make_months
	measure_partitions "star/84/$month_rows" "shared_keys(10)" \
		"SELECT sum(amount) FROM sales JOIN days USING (day) WHERE quarter = 8092"
	sql -c "DROP TABLE sales, days"

	# gains are those of a round
	result_of_query partitions "
		WITH times AS (
			SELECT cell, method, round, place, answer,
				CASE WHEN cell LIKE 'cold/%' THEN elapsed ELSE cpu END / rows / 1e6 AS ms
			FROM runs JOIN methods USING (part, cell, method) WHERE part = 'partitions')
		SELECT current_setting('server_version_num')::int / 10000 AS postgresql,
			split_part(cell, '/', 1) AS form,
			split_part(cell, '/', 2) AS partitions,
			split_part(cell, '/', 3) AS rows_of_each,
			method,
			CASE WHEN cell LIKE 'cold/%' THEN 'elapsed' ELSE 'cpu' END AS clock,
			count(*) AS runs,
			round(median(array_agg(t.ms))::numeric, 3) AS ms,
			round(min(t.ms)::numeric, 3) AS ms_least,
			round(max(t.ms)::numeric, 3) AS ms_most,
			round(median(array_agg(p.ms / nullif(t.ms, 0)))::numeric, 2) AS gain,
			round(min(p.ms / nullif(t.ms, 0))::numeric, 2) AS gain_least,
			round(max(p.ms / nullif(t.ms, 0))::numeric, 2) AS gain_most,
			CASE WHEN method = 'with' THEN CASE
				WHEN cell ~ '^lookup/100/' THEN 5 WHEN cell ~ '^lookup/1000/' THEN 6 WHEN cell ~ '^loop' THEN 4
				WHEN cell ~ '^cold/1000/' THEN 20 WHEN cell ~ '^everywhere/100/' THEN 0.9 WHEN cell ~ '^star' THEN 5 END END AS bar,
			max(answer) AS answer
		FROM times t JOIN (SELECT cell, round, ms FROM times WHERE method = 'without') p USING (cell, round)
		GROUP BY cell, method
		ORDER BY min(place)"
}
