# shellcheck shell=bash
#
# script/bench foreign: a local list joined with a foreign table, of a second server on this
# machine, which probes by Filter Scans.
#
#	join		all rows with a partner; a URL of the table is in five rows
#	forced		the same with a filter that no row fails, which the planner would not send
#	limit		ten of them, executed so many times
#
#	plain		no filter: bloomfilter.join_filter = off
#	filtered	join_filter and foreign_filter = on
#
# The CPU time is that of the two backends.

foreign_sizes()
{
	if [ "$quick" = yes ]; then
		foreign_rows=50000
		foreign_times=2
	else
		foreign_rows=5000000
		foreign_times=20
	fi
	# the list's URLs, and the hits in percent
	foreign_lists=(1000/0.1 100000/1 100000/10 500000/50 1000000/100)
}

# there COMMAND...: on the second server
there()
(
	export PGHOST=$work/there/socket
	"$@"
)

# The second server, with visits and the CPU time of the backend that is asked
make_foreign_table()
{
	local place=$work/there

	begin "a second server, $foreign_rows visits"
	as_server mkdir -p "$place/log"
	as_server ln -s "$work/installed" "$place/installed"
	(
		work=$place
		start_server "jit = off" "max_parallel_workers_per_gather = 0" "shared_buffers = '2GB'" \
			"max_wal_size = '16GB'" "autovacuum = off" "session_preload_libraries = 'bloomfilter'"
		make_bench_database
	)
	progress
	there sql -c "CREATE TABLE visits AS
			SELECT n AS id, url(n * 7919 % ($foreign_rows / 5) + 1) COLLATE \"C\" AS url, md5(n::text) AS payload
			FROM generate_series(1, $foreign_rows::bigint) n" \
		-c "VACUUM (FREEZE, ANALYZE) visits" \
		-c "CREATE VIEW cpu AS SELECT cpu_ns() AS ns"
	there sql -c "SELECT prewarm()" >/dev/null
	progress
	sql -c "CREATE EXTENSION postgres_fdw" \
		-c "CREATE SERVER there FOREIGN DATA WRAPPER postgres_fdw
			OPTIONS (host '$place/socket', dbname 'bench', extensions 'bloomfilter')" \
		-c "CREATE USER MAPPING FOR CURRENT_USER SERVER there" \
		-c "CREATE FOREIGN TABLE visits (id bigint, url text COLLATE \"C\", payload text) SERVER there" \
		-c "CREATE FOREIGN TABLE cpu (ns float8) SERVER there" \
		-c "ANALYZE visits" \
		-c "CREATE TABLE foreign_runs (cell text, method text, round int, there float8)"
	sql <<-'SQL'
		-- the rows that the foreign scan of a query returns
		CREATE FUNCTION fetched_rows(query text) RETURNS bigint
		LANGUAGE plpgsql AS $$
		DECLARE
			line text;
		BEGIN
			FOR line IN EXECUTE 'EXPLAIN (ANALYZE, TIMING off, COSTS off) ' || query LOOP
				IF line ~ 'Foreign Scan on visits' THEN
					RETURN substring(line FROM 'rows=([0-9]+)');
				END IF;
			END LOOP;
		END
		$$;
		-- a query's answer, after so many executions
		CREATE FUNCTION repeat_query(query text, times int) RETURNS bigint
		LANGUAGE plpgsql AS $$
		DECLARE
			answer bigint;
		BEGIN
			FOR i IN 1 .. times LOOP
				EXECUTE query INTO answer;
			END LOOP;
			RETURN answer;
		END
		$$;
	SQL
	finish
}

# make_foreign_list SIZE PERCENT: so many of the visits' URLs, and others
make_foreign_list()
{
	sql -c "DROP TABLE IF EXISTS list" \
		-c "CREATE TABLE list AS
			SELECT url(CASE WHEN n <= $foreign_rows / 5 * $2 / 100 THEN n ELSE 1000000000 + n END) COLLATE \"C\" AS url
			FROM generate_series(1, greatest($1::bigint * $foreign_rows / 5000000, 1)) n"
	sql -c "VACUUM (FREEZE, ANALYZE) list"
}

# measure_foreign FORM/LIST/PERCENT
measure_foreign()
{
	local cell=$1 joined method settings round query measured

	joined="FROM visits v JOIN list b ON b.url = v.url"
	query="SELECT sum(length(v.payload)) $joined"
	if [ "${cell%%/*}" = limit ]; then
		query="SELECT sum(length(payload)) FROM (SELECT v.payload $joined LIMIT 10) s"
	fi
	measured=$query
	[ "${cell%%/*}" != limit ] || measured="SELECT repeat_query(\$t\$$query\$t\$, $foreign_times)"
	begin "$cell"
	for round in $(seq "$rounds"); do
		for method in plain filtered; do
			settings="LOAD 'bloomfilter'; SET bloomfilter.foreign_filter = on; SET bloomfilter.join_filter = "
			case $method/$cell in
				plain/*) settings+="off;" ;;
				*/forced/*) settings+="force;" ;;
				*) settings+="on;" ;;
			esac
			if [ "$round" -eq 1 ]; then
				sql -c "$settings INSERT INTO methods (part, cell, method, rows, plan, bytes)
					VALUES ('foreign', '$cell', '$method', $foreign_rows, plan_of(\$q\$$query\$q\$), fetched_rows(\$q\$$query\$q\$))"
			fi
			# the connection stays open: all is of one backend there
			sql -c "$settings SELECT set_config('bench.there', ns::text, false) FROM cpu" \
				-c "SELECT measure('foreign', '$cell', '$method', $round, \$q\$$measured\$q\$)" \
				-c "INSERT INTO foreign_runs
					SELECT '$cell', '$method', $round, ns - current_setting('bench.there')::float8 FROM cpu" >/dev/null
		done
		progress
	done
	finish
	[ "$(sql -c "SELECT count(DISTINCT answer) FROM runs WHERE part = 'foreign' AND cell = '$cell' AND status = 'ok'")" = 1 ] ||
		die "THE ANSWERS OF $cell DIFFER; this is a bug"
	[ "$(sql -c "SELECT count(*) FROM runs WHERE part = 'foreign' AND status <> 'ok'")" = 0 ] || die "$cell failed"
}

part_foreign()
{
	local list

	foreign_sizes
	make_foreign_table
	for list in "${foreign_lists[@]}"; do
		make_foreign_list "${list%/*}" "${list#*/}"
		measure_foreign "join/$list"
		[ "$list" = 1000000/100 ] || measure_foreign "limit/$list"
	done
	measure_foreign "forced/$list"

	# ratios are those of a round, of the plain query to the filtered one
	result_of_query foreign "
		WITH both_servers AS (
			SELECT cell, method, round, cpu AS here, there, cpu + there AS cpu, elapsed, answer
			FROM runs JOIN foreign_runs USING (cell, method, round) WHERE part = 'foreign')
		SELECT current_setting('server_version_num')::int / 10000 AS postgresql,
			split_part(cell, '/', 1) AS form,
			split_part(cell, '/', 2) AS list,
			split_part(cell, '/', 3) AS hit_rate_percent,
			r.method, count(*) AS runs,
			round((median(array_agg(r.elapsed)) / 1e6)::numeric, 1) AS elapsed_ms,
			round((median(array_agg(r.here)) / 1e6)::numeric, 1) AS cpu_here_ms,
			round((median(array_agg(r.there)) / 1e6)::numeric, 1) AS cpu_there_ms,
			round(median(array_agg(p.elapsed / r.elapsed))::numeric, 3) AS elapsed_gain,
			round(min(p.elapsed / r.elapsed)::numeric, 3) AS elapsed_gain_least,
			round(max(p.elapsed / r.elapsed)::numeric, 3) AS elapsed_gain_most,
			round(median(array_agg(p.cpu / r.cpu))::numeric, 3) AS cpu_gain,
			round(min(p.cpu / r.cpu)::numeric, 3) AS cpu_gain_least,
			round(max(p.cpu / r.cpu)::numeric, 3) AS cpu_gain_most,
			CASE WHEN r.method = 'filtered' THEN CASE split_part(cell, '/', 1)
				WHEN 'limit' THEN 1 WHEN 'forced' THEN 0.95
				ELSE CASE split_part(cell, '/', 3) WHEN '0.1' THEN 8 WHEN '1' THEN 8 WHEN '10' THEN 2 WHEN '50' THEN 1.2
					ELSE 0.95 END END END AS bar,
			CASE WHEN cell !~ '^limit' THEN max(m.bytes) END AS rows_fetched,
			max(r.answer) AS answer, max(plan) AS plan
		FROM both_servers r JOIN methods m USING (cell, method)
			JOIN both_servers p USING (cell, round)
		WHERE m.part = 'foreign' AND p.method = 'plain'
		GROUP BY cell, r.method
		ORDER BY min(place)"
}
