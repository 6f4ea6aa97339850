# shellcheck shell=bash
#
# script/bench few: joins of which few rows of the large table pass a membership index, so that
# these filter the list, too.  The list has no primary key, unless said.
#
#	join, exists, not_exists, left_join	1 % hits; also of short lists
#	repeated	exists of short lists; each URL that is visited is visited 20 times
#	half		exists, 50 % hits
#	limit		the first 10 rows of exists
#	key		exists, the list has a primary key as well
#	grown		exists: as many visits again, all of them hits, came after ANALYZE
#	condition	exists, no membership index; a condition leaves 1 % of the visits, of which half are hits;
#			join_filter = on
#
#	plain		no join filter
#	filtered	with
#	loop		key: without hash joins
#	duckdb		1GB: the same rows in DuckDB (npm's @duckdb/node-api)

few_sizes()
{
	if [ "$quick" = yes ]; then
		few_visits=40000
		few_lists=([1GB]=30000 [4MB]=30000)
		few_short=(100 1000 10000)
		few_long=50000
	else
		few_visits=1000000
		few_lists=([1GB]=2000000 [4MB]=2000000)
		few_short=(1000 10000 100000 1000000)
		few_long=10000000
	fi
}

# few_query FORM: its SQL
few_query()
{
	local list="(SELECT FROM list b WHERE b.url = v.url)"

	case $1 in
		join) echo "SELECT count(*) + coalesce(sum(v.id), 0) FROM visits v JOIN list b ON b.url = v.url" ;;
		not_exists) echo "SELECT count(*) + coalesce(sum(v.id), 0) FROM visits v WHERE NOT EXISTS $list" ;;
		left_join) echo "SELECT count(*) + coalesce(sum(v.id), 0) + 7 * count(b.url) FROM visits v LEFT JOIN list b ON b.url = v.url" ;;
		limit) echo "SELECT count(*) FROM (SELECT v.id FROM visits v WHERE EXISTS $list LIMIT 10) s" ;;
		condition) echo "SELECT count(*) + coalesce(sum(v.id), 0) FROM visits v WHERE v.id % 100 = 7 AND EXISTS $list" ;;
		*) echo "SELECT count(*) + coalesce(sum(v.id), 0) FROM visits v WHERE EXISTS $list" ;;
	esac
}

# make_few_list SIZE: a list with neither a primary key nor a membership index
make_few_list()
{
	begin "a list of $1"
	sql -c "DROP TABLE IF EXISTS list" \
		-c "CREATE TABLE list AS SELECT url(n) COLLATE \"C\" AS url FROM generate_series(1, $1::bigint) n" \
		-c "VACUUM (FREEZE, ANALYZE) list"
	finish
}

# make_repeated_visits LIST: one in a hundred URLs is on the list, each of them all is visited 20 times
make_repeated_visits()
{
	begin "$few_visits visits of $((few_visits / 20)) URLs"
	sql -c "DROP TABLE IF EXISTS visits" \
		-c "CREATE TABLE visits AS
			SELECT n AS id, url(CASE WHEN m % 100 = 0 THEN m * 7919 % $1 + 1 ELSE 1000000000 + m END) COLLATE \"C\" AS url
			FROM (SELECT n, n * 7919 % ($few_visits / 20) AS m FROM generate_series(1, $few_visits::bigint) n) s" \
		-c "VACUUM (FREEZE, ANALYZE) visits" -c "SELECT prewarm()" >/dev/null
	finish
}

# measure_few CELL [FILTER [METHOD...]]: FILTER is the setting of all methods but plain
measure_few()
{
	local cell=$1 filter=${2:-index} method settings query round status

	shift $(($# < 2 ? $# : 2))
	query=$(few_query "${cell%%/*}")
	begin "$cell"
	for round in $(seq "$rounds"); do
		for method in plain filtered "$@"; do
			settings="SET work_mem = '${cell##*/}'; LOAD 'bloomfilter';"
			settings+="SET bloomfilter.join_filter = $([ "$method" = plain ] && echo off || echo "$filter");"
			[ "$method" != loop ] || settings+="SET enable_hashjoin = off;"
			[ "$round" -gt 1 ] || sql -c "$settings INSERT INTO methods (part, cell, method, rows, plan)
				VALUES ('few', '$cell', '$method', $few_visits, plan_of(\$q\$$query\$q\$))"
			status=$(sql -c "$settings
				SELECT measure('few', '$cell', '$method', $round, \$q\$$query\$q\$)")
			[ "$status" = ok ] || die "$cell, $method: $status"
		done
		progress
	done
	finish
	[ "$(sql -c "SELECT count(DISTINCT answer) FROM runs WHERE part = 'few' AND cell = '$cell'")" = 1 ] ||
		die "THE ANSWERS OF $cell DIFFER; this is a bug"
}

# measure_duckdb LIST: join, exists and not_exists of these tables in DuckDB, if npm has it
measure_duckdb()
{
	local folder=$work/duckdb form round cpu answer

	begin "DuckDB, in memory, one thread"
	as_server mkdir -p "$folder"
	if ! (cd "$folder" && npm install --no-save @duckdb/node-api) >"$work/log/duckdb" 2>&1; then
		finish
		say "  skipped: npm does not have @duckdb/node-api here"
		return
	fi
	sql -c "COPY list TO '$folder/list.csv' CSV" -c "COPY visits TO '$folder/visits.csv' CSV"
	node "$here/duckdb.mjs" "$folder" "$rounds" >"$work/log/duckdb" || die "DuckDB failed"
	while read -r form round cpu answer; do
		[ "$round" -gt 1 ] || sql -c "INSERT INTO methods (part, cell, method, rows, plan)
			VALUES ('few', '$form/$1/1GB', 'duckdb', $few_visits, 'DuckDB')"
		sql -c "INSERT INTO runs VALUES ('few', '$form/$1/1GB', 'duckdb', $round, 'ok', $cpu, $cpu, $answer)"
	done <"$work/log/duckdb"
	rm -r "$folder"
	finish
}

part_few()
{
	local memory form
	local join_visits size
	local -a few_short
	local -A few_lists

	few_sizes
	# for make_join_visits()
	# shellcheck disable=SC2034
	join_visits=$few_visits
	make_few_list "${few_lists[1GB]}"
	make_join_visits "${few_lists[1GB]}" 50
	measure_few "condition/${few_lists[1GB]}/1GB" on
	make_join_visits "${few_lists[1GB]}" 1
	sql -c "CREATE INDEX list_filter ON list USING membership (url)"
	measure_duckdb "${few_lists[1GB]}"
	for memory in 1GB 4MB; do
		for form in join exists not_exists left_join; do
			measure_few "$form/${few_lists[$memory]}/$memory"
		done
	done
	measure_few "limit/${few_lists[1GB]}/1GB"
	sql -c "ALTER TABLE list ADD PRIMARY KEY (url)" -c "VACUUM (FREEZE, ANALYZE) list"
	measure_few "key/${few_lists[1GB]}/1GB" index loop
	sql -c "ALTER TABLE list DROP CONSTRAINT list_pkey"
	sql -c "ALTER TABLE visits SET (autovacuum_enabled = off)" \
		-c "INSERT INTO visits SELECT n, url(n) FROM generate_series(1, $few_visits::bigint) n" \
		-c "SELECT prewarm()" >/dev/null
	measure_few "grown/${few_lists[1GB]}/1GB"
	make_join_visits "${few_lists[1GB]}" 50
	measure_few "half/${few_lists[1GB]}/1GB"
	for size in "${few_short[@]}"; do
		make_few_list "$size"
		sql -c "CREATE INDEX list_filter ON list USING membership (url)"
		make_join_visits "$size" 1
		for form in join not_exists; do
			measure_few "$form/$size/1GB"
		done
		make_repeated_visits "$size"
		measure_few "repeated/$size/1GB"
	done
	make_few_list "$few_long"
	sql -c "CREATE INDEX list_filter ON list USING membership (url)"
	make_join_visits "$few_long" 1
	for form in join exists not_exists; do
		measure_few "$form/$few_long/1GB"
	done
	sql -c "DROP TABLE visits, list"

	# Ratios are those of a round, of the plain query to this one.  Bars are the least of them
	result_of_query few "
		SELECT current_setting('server_version_num')::int / 10000 AS postgresql,
			split_part(cell, '/', 1) AS form,
			split_part(cell, '/', 2) AS list,
			split_part(cell, '/', 3) AS work_mem,
			method, count(*) AS runs,
			round((median(array_agg(r.cpu)) / 1e6)::numeric, 2) AS cpu_ms,
			round(median(array_agg(p.cpu / nullif(r.cpu, 0)))::numeric, 3) AS cpu_gain,
			round(min(p.cpu / nullif(r.cpu, 0))::numeric, 3) AS cpu_gain_least,
			round(max(p.cpu / nullif(r.cpu, 0))::numeric, 3) AS cpu_gain_most,
			CASE WHEN method = 'filtered' THEN CASE
				-- short lists have none
				WHEN cell ~ '/10{2,6}/' THEN NULL
				WHEN cell ~ '^join/.*/4MB' OR cell ~ '^join/10000000' THEN 8 WHEN cell ~ '^join' THEN 10
				WHEN cell ~ '^(exists|not_exists|left_join)/.*/4MB' OR cell ~ '/10000000/' THEN 6
				WHEN cell ~ '^(exists|not_exists|left_join)' THEN 7
				WHEN cell ~ '^condition' THEN 3 WHEN cell ~ '^grown' THEN 0.91
				WHEN cell ~ '^(half|limit)' THEN 0.95 END END AS bar,
			max(r.answer) AS answer, max(plan) AS plan
		FROM runs r JOIN methods m USING (part, cell, method)
			JOIN (SELECT cell, round, cpu FROM runs WHERE part = 'few' AND method = 'plain') p USING (cell, round)
		WHERE part = 'few'
		GROUP BY cell, method
		ORDER BY min(place)"
}
