# shellcheck shell=bash
#
# script/bench rest: visits that went to no URL of a list, and joins by other keys than
# one column.
#
#	not_exists, left_join, left_join_null	a list with a primary key and a membership index;
#					at 50 % hits small ones, too
#	mark			NOT EXISTS, a list without one, join_filter = on
#	limit			the first 100 rows of not_exists
#	insert, insert_select	into the list itself, URLs of which 1 % are new, with its COMMIT, and
#					the SELECT alone
#	one, two, expression, partitioned		EXISTS by one column, by two, by a part of a
#					column, and of a list with four partitions
#
#	plain		no join filter; insert: no membership index
#	filtered	with

rest_sizes()
{
	if [ "$quick" = yes ]; then
		rest_visits=20000
		rest_lists=([4MB]=5000 [256MB]=10000)
		rest_list=2000
		rest_small=(100 300 1000)
	else
		rest_visits=4000000
		rest_lists=([4MB]=2000000 [256MB]=5000000)
		rest_list=1000000
		rest_small=(1000 10000 100000)
	fi
}

# rest_query FORM: its SQL
rest_query()
{
	local anti="FROM visits v WHERE NOT EXISTS (SELECT FROM list b WHERE b.url = v.url)"

	case $1 in
		not_exists | mark) echo "SELECT count(*) $anti" ;;
		left_join) echo "SELECT count(b.url) + count(*) FROM visits v LEFT JOIN list b ON b.url = v.url" ;;
		left_join_null) echo "SELECT count(*) FROM visits v LEFT JOIN list b ON b.url = v.url WHERE b.url IS NULL" ;;
		limit) echo "SELECT count(*) FROM (SELECT $anti LIMIT 100) s" ;;
		insert_select) echo "SELECT count(v.url) $anti" ;;
		insert) echo "WITH i AS (INSERT INTO list SELECT v.url $anti RETURNING 1) SELECT count(*) FROM i" ;;
		one) echo "SELECT count(*) FROM visits v WHERE EXISTS (SELECT FROM list b WHERE b.url = v.url)" ;;
		two) echo "SELECT count(*) FROM visits v WHERE EXISTS (SELECT FROM list_two b WHERE b.url = v.url AND b.tenant = v.tenant)" ;;
		expression) echo "SELECT count(*) FROM visits v WHERE split_part(v.email, '@', 2) IN (SELECT domain FROM domains)" ;;
		partitioned) echo "SELECT count(*) FROM visits v WHERE EXISTS (SELECT FROM list_four b WHERE b.url = v.url)" ;;
	esac
}

# make_rest_visits LIST PERCENT [COLUMNS]: URLs, so many of them hits, and more columns of n, m
make_rest_visits()
{
	begin "$rest_visits visits, $2 % of them hits"
	sql -c "DROP TABLE IF EXISTS visits" \
		-c "CREATE TABLE visits AS
			SELECT url(m) COLLATE \"C\" AS url ${3:-}
			FROM (SELECT n, CASE WHEN n * 7919 % 1000 < $2 * 10
				THEN (hashint8extended(n, 1) & 9223372036854775807) % $1 + 1
				ELSE 1000000000 + n END AS m FROM generate_series(1, $rest_visits::bigint) n) s"
	sql -c "VACUUM (FREEZE, ANALYZE) visits"
	sql -c "SELECT prewarm()" >/dev/null
	finish
}

# measure_rest CELL FILTER [MEMORY]: one run of each method of FORM/...; FILTER is the setting
# of filtered ones
measure_rest()
{
	local cell=$1 method settings round query status commit

	query=$(rest_query "${cell%%/*}")
	begin "$cell"
	for round in $(seq "$rounds"); do
		for method in plain filtered; do
			settings="SET work_mem = '${3:-4MB}'; LOAD 'bloomfilter';"
			settings+="SET bloomfilter.join_filter = $([ $method = plain ] && echo off || echo "$2");"
			if [ "${cell%%/*}" = insert ]; then
				make_join_list "$rest_list" "$([ $method = filtered ] || echo unindexed)" 2>/dev/null
				sql -c "SELECT prewarm()" >/dev/null
			fi
			if [ "$round" -eq 1 ]; then
				sql -c "$settings INSERT INTO methods (part, cell, method, rows, plan)
					VALUES ('rest', '$cell', '$method', $rest_visits, plan_of(\$q\$$query\$q\$))"
			fi
			commit=()
			[ "${cell%%/*}" != insert ] || commit=(-c "SELECT measure_commit('rest', '$cell', '$method', $round)")
			status=$(sql -c "$settings
				SELECT measure('rest', '$cell', '$method', $round, \$q\$$query\$q\$)" "${commit[@]}")
			[ "$status" = ok ] || die "$cell, $method: $status"
		done
		progress
	done
	finish
	[ "$(sql -c "SELECT count(DISTINCT answer) FROM runs WHERE part = 'rest' AND cell = '$cell'")" = 1 ] ||
		die "THE ANSWERS OF $cell DIFFER; this is a bug"
}

# Lists by two columns, by domains, and of four partitions, beside that of make_join_list()
make_other_lists()
{
	begin "lists with other keys"
	sql -c "CREATE TABLE list_two AS SELECT n % 1000 AS tenant, url(n) COLLATE \"C\" AS url FROM generate_series(1, $rest_list::bigint) n" \
		-c "ALTER TABLE list_two ADD PRIMARY KEY (url, tenant)" \
		-c "CREATE INDEX ON list_two USING membership (tenant, url)" \
		-c "CREATE TABLE domains AS SELECT 'd' || n || '.example' COLLATE \"C\" AS domain FROM generate_series(1, $rest_list::bigint) n" \
		-c "ALTER TABLE domains ADD PRIMARY KEY (domain)" \
		-c "CREATE INDEX ON domains USING membership (domain)" \
		-c "CREATE TABLE list_four (url text COLLATE \"C\" PRIMARY KEY) PARTITION BY HASH (url)" \
		-c "CREATE TABLE list_0 PARTITION OF list_four FOR VALUES WITH (MODULUS 4, REMAINDER 0)" \
		-c "CREATE TABLE list_1 PARTITION OF list_four FOR VALUES WITH (MODULUS 4, REMAINDER 1)" \
		-c "CREATE TABLE list_2 PARTITION OF list_four FOR VALUES WITH (MODULUS 4, REMAINDER 2)" \
		-c "CREATE TABLE list_3 PARTITION OF list_four FOR VALUES WITH (MODULUS 4, REMAINDER 3)" \
		-c "INSERT INTO list_four SELECT url FROM list" \
		-c "CREATE INDEX ON list_four USING membership (url)"
	sql -c "VACUUM (FREEZE, ANALYZE) list_two, domains, list_four"
	finish
}

part_rest()
{
	local memory form list
	local -a rest_small
	local -A rest_lists

	rest_sizes
	for memory in 4MB 256MB; do
		make_join_list "${rest_lists[$memory]}"
		make_rest_visits "${rest_lists[$memory]}" 1
		for form in not_exists left_join left_join_null; do
			measure_rest "$form/${rest_lists[$memory]}/1/$memory" index "$memory"
		done
		[ $memory = 256MB ] || measure_rest "limit/${rest_lists[$memory]}/1/$memory" index
		make_rest_visits "${rest_lists[$memory]}" 50
		for form in not_exists left_join; do
			measure_rest "$form/${rest_lists[$memory]}/50/$memory" index "$memory"
		done
	done
	for list in "${rest_small[@]}"; do
		make_join_list "$list"
		make_rest_visits "$list" 50
		for form in not_exists left_join; do
			measure_rest "$form/$list/50/4MB" index
		done
	done
	make_join_list "$rest_list"
	make_other_lists
	make_rest_visits "$rest_list" 1 ", m % 1000 AS tenant, 'u' || n || '@d' || m || '.example' COLLATE \"C\" AS email"
	for form in one two expression partitioned; do
		measure_rest "$form/$rest_list/1/4MB" index
	done
	sql -c "DROP TABLE list_two, domains, list_four"
	make_join_list "$rest_list" unindexed
	make_rest_visits "$rest_list" 1
	for memory in 4MB 256MB; do
		measure_rest "mark/$rest_list/1/$memory" on "$memory"
	done
	make_rest_visits "$rest_list" 99
	make_join_list "$rest_list"
	measure_rest "insert_select/$rest_list/99/4MB" index
	measure_rest "insert/$rest_list/99/4MB" index
	sql -c "DROP TABLE visits, list"

	# Ratios are those of a round; one column is compared with by the medians.  Bars: the least
	# gain, the most of the time of one column, or the most milliseconds
	result_of_query rest "
		WITH one AS (SELECT median(array_agg(cpu)) AS cpu FROM runs
			WHERE part = 'rest' AND cell LIKE 'one/%' AND method = 'filtered')
		SELECT current_setting('server_version_num')::int / 10000 AS postgresql,
			split_part(cell, '/', 1) AS form,
			split_part(cell, '/', 2) AS list,
			split_part(cell, '/', 3) AS hit_rate_percent,
			split_part(cell, '/', 4) AS work_mem,
			method, count(*) AS runs,
			round((median(array_agg(r.cpu)) / 1e6)::numeric, 2) AS cpu_ms,
			round((min(r.cpu) / 1e6)::numeric, 2) AS cpu_least,
			round((max(r.cpu) / 1e6)::numeric, 2) AS cpu_most,
			round(median(array_agg(p.cpu / nullif(r.cpu, 0)))::numeric, 3) AS cpu_gain,
			round(min(p.cpu / nullif(r.cpu, 0))::numeric, 3) AS cpu_gain_least,
			round(max(p.cpu / nullif(r.cpu, 0))::numeric, 3) AS cpu_gain_most,
			CASE WHEN method = 'filtered' AND cell ~ '^(two|expr|part)' THEN
				round((median(array_agg(r.cpu)) / max(one.cpu))::numeric, 3) END AS of_one_column,
			CASE WHEN method = 'filtered' THEN CASE
				WHEN cell ~ '^limit' THEN '10 ms' WHEN cell ~ '^one' THEN '1.0'
				WHEN cell ~ '/50/' THEN '0.95' WHEN cell ~ '^mark.*/4MB' THEN '1.5' WHEN cell ~ '^mark' THEN '1.8'
				WHEN cell ~ '^insert_select' THEN '2' WHEN cell ~ '^insert' THEN '1.0'
				WHEN cell ~ '^(not|left).*/4MB' THEN '2.5' WHEN cell ~ '^(not|left)' THEN '4'
				WHEN cell ~ '^(two|expr|part)' THEN '1.3 of one' END END AS bar,
			max(r.answer) AS answer, max(plan) AS plan
		FROM runs r JOIN methods m USING (part, cell, method)
			JOIN (SELECT cell, round, cpu FROM runs
				WHERE part = 'rest' AND method = 'plain') p USING (cell, round)
			CROSS JOIN one
		WHERE part = 'rest'
		GROUP BY cell, method
		ORDER BY min(place)"
}
