# shellcheck shell=bash
#
# script/bench star: hash joins that no membership index filters, with filters made
# while the server hashes (bloomfilter.join_filter = on) and without any.
#
#	ssb_*		the 13 queries of the Star Schema Benchmark: lineorder and its dimensions
#	tpch_*		eight shapes of TPC-H: 3, 5, 8, 9, 10, 17, 18, 21
#	exists_*	5 million visits, 1 % of which went to a URL of a list
#	worst_*		joins that drop no row: an EXISTS, and one that the planner underestimates
#
# Data and queries are ours, in bench/star; what they have of the two benchmarks is
# the tables, their sizes and keys, the joins and how selective the conditions are.

star_methods=(stock filtered)

star_sizes()
{
	# the lists' and visits' too
	join_sizes
	star_workers=(0 2)
	star_extra=''
	if [ "$quick" = yes ]; then
		star_orders=10000
		star_memories=(64kB 4MB)
		star_extra="SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0;"
	else
		star_orders=1500000
		star_memories=(4MB 256MB)
	fi
}

star_settings()
{
	case $1 in
		stock) echo "SET bloomfilter.filter_scan = off; SET bloomfilter.join_filter = off;" ;;
		filtered) echo "RESET bloomfilter.filter_scan; SET bloomfilter.join_filter = on;" ;;
	esac
}

make_star()
{
	local schema

	begin "tables of $star_orders orders"
	for schema in tpch ssb; do
		sql -v orders="$star_orders" -f "$here/star/$schema.sql"
		progress
	done
	sql -c "SELECT prewarm()" >/dev/null
	finish
}

# star_session SCHEMA ROWS MEMORY WORKERS NAME=FILE...: what one session runs.  The
# rows of an answer are counted first, which brings its tables into the session's
# memory, too.  To measure workers, a second passes till the previous session has
# ended for sure.
star_session()
{
	local schema=$1 rows=$2 memory=$3 workers=$4 pair cell query round method

	shift 4
	echo "LOAD 'bloomfilter';"
	[ "$workers" = 0 ] || echo "DO 'BEGIN PERFORM pg_sleep(1); END';"
	echo "SET search_path = $schema, public;"
	echo "SET work_mem = '$memory'; SET max_parallel_workers_per_gather = $workers; $star_extra"
	for pair; do
		cell=${pair%%=*}/$memory/$workers
		query=$(<"$here/star/${pair#*=}.sql")
		echo "$(star_settings stock) INSERT INTO star_answers SELECT '$cell', count(*) FROM ($query) a;"
		query="SELECT coalesce(sum(hashtext(a::text)), 0) FROM ($query) a"
		for round in $(seq "$rounds"); do
			for method in "${star_methods[@]}"; do
				star_settings "$method"
				if [ "$round" -eq 1 ]; then
					echo "INSERT INTO methods (part, cell, method, rows, plan)
						VALUES ('star', '$cell', '$method', $rows, plan_of(\$q\$$query\$q\$));"
				fi
				echo "DO \$d\$ BEGIN
						PERFORM measure_parallel('star', '$cell', '$method', $round, \$q\$$query\$q\$);
					END \$d\$;"
			done
		done
		printf '\\echo %s\n' "$cell"
	done
}

# measure_star SCHEMA ROWS MEMORY WORKERS NAME=FILE...
measure_star()
{
	local cell wrong

	begin "measuring $1, work_mem $3, $4 workers"
	star_session "$@" | sql -f - | while read -r cell; do
		progress
	done
	finish
	wrong=$(sql -c "SELECT string_agg(cell, ', ') FROM (
			SELECT cell FROM runs WHERE part = 'star' GROUP BY cell HAVING count(DISTINCT answer) <> 1) c")
	[ -z "$wrong" ] || die "THE ANSWERS OF $wrong DIFFER; this is a bug"
	# tiny tables have no row for the most selective
	[ "$quick" = yes ] || [ "$(sql -c "SELECT count(*) FROM star_answers WHERE rows = 0")" = 0 ] ||
		die "a query has an empty answer: $(sql -c "SELECT min(cell) FROM star_answers WHERE rows = 0")"
}

# pairs_of PREFIX: NAME=FILE of each of these queries
pairs_of()
{
	local file

	for file in "$here/star/$1"_*.sql; do
		file=$(basename "$file" .sql)
		echo "$file=$file"
	done
}

measure_schemas()
{
	local memory workers schema lines
	local -a pairs

	for schema in ssb tpch; do
		mapfile -t pairs < <(pairs_of "$schema")
		if [ "$schema" = ssb ]; then
			lines=$(sql -c "SELECT count(*) FROM ssb.lineorder")
		else
			lines=$(sql -c "SELECT count(*) FROM tpch.lineitem")
		fi
		for memory in "${star_memories[@]}"; do
			for workers in "${star_workers[@]}"; do
				measure_star "$schema" "$lines" "$memory" "$workers" "${pairs[@]}"
			done
			if [ "$schema" = ssb ]; then
				measure_star ssb "$lines" "$memory" 0 worst_join=worst_join
			fi
		done
	done
	sql -c "DROP SCHEMA ssb, tpch CASCADE"
}

# The second list is so large that it is measured with the first work_mem only.
measure_visits()
{
	local list memory workers

	for list in "${join_lists[@]}"; do
		make_join_list "$list" unindexed
		make_join_visits "$list" 1
		for memory in "${star_memories[@]}"; do
			if [ "$list" = "${join_lists[0]}" ] || [ "$memory" = "${star_memories[0]}" ]; then
				for workers in "${star_workers[@]}"; do
					measure_star public "$join_visits" "$memory" "$workers" "exists_$list=exists"
				done
			fi
		done
	done
	make_join_list "${join_lists[0]}" unindexed
	make_join_visits "${join_lists[0]}" 100
	for memory in "${star_memories[@]}"; do
		measure_star public "$join_visits" "$memory" 0 worst_exists=exists
	done
	sql -c "DROP TABLE visits, list"
}

part_star()
{
	local cell="split_part(cell, '/', 1) AS query, split_part(cell, '/', 2) AS work_mem,
		split_part(cell, '/', 3) AS workers"

	star_sizes
	sql -f "$here/star/star.sql"
	make_star
	measure_schemas
	measure_visits

	# ratios are those of a round
	sql -c "CREATE VIEW star_gains AS
		SELECT $cell, f.cell, f.method, f.round, f.cpu, f.elapsed, f.answer,
			nullif(s.cpu, 0) / nullif(f.cpu, 0) AS cpu_gain, s.elapsed / f.elapsed AS elapsed_gain
		FROM runs f JOIN (SELECT cell, round, cpu, elapsed FROM runs
			WHERE part = 'star' AND method = 'stock') s USING (cell, round)
		WHERE part = 'star'"
	result_of_query star "
		SELECT current_setting('server_version_num')::int / 10000 AS postgresql,
			query, work_mem, workers, method, count(*) AS runs,
			round((median(array_agg(cpu)) / 1e6)::numeric, 1) AS cpu_ms,
			round((min(cpu) / 1e6)::numeric, 1) AS cpu_least,
			round((max(cpu) / 1e6)::numeric, 1) AS cpu_most,
			round((median(array_agg(elapsed)) / 1e6)::numeric, 1) AS elapsed_ms,
			round((min(elapsed) / 1e6)::numeric, 1) AS elapsed_least,
			round((max(elapsed) / 1e6)::numeric, 1) AS elapsed_most,
			round(median(array_agg(cpu_gain))::numeric, 3) AS cpu_gain,
			round(min(cpu_gain)::numeric, 3) AS cpu_gain_least,
			round(max(cpu_gain)::numeric, 3) AS cpu_gain_most,
			round(median(array_agg(elapsed_gain))::numeric, 3) AS elapsed_gain,
			round(min(elapsed_gain)::numeric, 3) AS elapsed_gain_least,
			round(max(elapsed_gain)::numeric, 3) AS elapsed_gain_most,
			CASE WHEN method = 'filtered' THEN CASE
				WHEN query || '/' || work_mem = 'exists_1000000/4MB' THEN 1.7
				WHEN query || '/' || work_mem = 'exists_1000000/256MB' THEN 1.5
				WHEN query = 'exists_10000000' THEN 1.3
				WHEN query IN ('ssb_2.1', 'ssb_4.1') THEN 1.5
				WHEN query = 'tpch_17' THEN 4
				WHEN query LIKE 'worst%' THEN 0.97 END END AS least_gain_wanted,
			max(answer) AS answer, max(a.rows) AS answer_rows, max(plan) AS plan
		FROM star_gains g JOIN star_answers a USING (cell)
			JOIN (SELECT cell, method, place, plan FROM methods WHERE part = 'star') m USING (cell, method)
		GROUP BY query, work_mem, workers, method
		ORDER BY min(place)"

	# the geometric mean of each round
	result_of_query star_mean "
		SELECT current_setting('server_version_num')::int / 10000 AS postgresql,
			queries, number, work_mem, workers,
			round(median(array_agg(cpu_gain))::numeric, 3) AS cpu_gain,
			round(min(cpu_gain)::numeric, 3) AS cpu_gain_least,
			round(max(cpu_gain)::numeric, 3) AS cpu_gain_most,
			round(median(array_agg(elapsed_gain))::numeric, 3) AS elapsed_gain,
			round(min(elapsed_gain)::numeric, 3) AS elapsed_gain_least,
			round(max(elapsed_gain)::numeric, 3) AS elapsed_gain_most,
			CASE WHEN queries = 'all' THEN 1.25 END AS least_gain_wanted
		FROM (SELECT coalesce(split_part(query, '_', 1), 'all') AS queries, count(*) AS number,
				work_mem, workers, round,
				exp(avg(ln(cpu_gain))) AS cpu_gain, exp(avg(ln(elapsed_gain))) AS elapsed_gain
			FROM star_gains
			WHERE method = 'filtered' AND (query LIKE 'ssb%' OR query LIKE 'tpch%')
			GROUP BY GROUPING SETS ((split_part(query, '_', 1), work_mem, workers, round),
				(work_mem, workers, round))) means
		GROUP BY queries, number, work_mem, workers
		ORDER BY queries <> 'all', queries, length(work_mem), work_mem, workers"
}
