# shellcheck shell=bash
#
# script/bench server: a blacklist, and visits of which some went there; all
# ways to find these or the others.  Tables: blacklist (its index a btree),
# blacklist_hash (the same rows, its index a hash index), visits, and the first
# of its rows in sample and tiny, for ways that would take hours otherwise: what
# they take for a row does not depend on the number of rows.  All without Filter Scans,
# which scan.sh and join.sh measure.

# Cut off after this many seconds
server_timeout=60

server_sizes()
{
	if [ "$quick" = yes ]; then
		visits=20000 sample=2000 tiny=5 small_memory=64kB
		blacklists=(1000 5000)
		server_timeout=5
	else
		visits=5000000 sample=100000 tiny=10 small_memory=4MB
		blacklists=(10000 1000000 10000000)
	fi
	hit_rates=(0.1 5 50)	# percent
	main_hit_rate=5
}

all_methods=(scan trivial bloom cuckoo semijoin antijoin not_in any
	btree hash_index filter_semijoin filter_index)
# Of the largest blacklist at other hit rates: its hash tables take long
few_methods=(scan trivial bloom cuckoo semijoin btree filter_semijoin filter_index)

# server_method NAME: its $query, the $settings that make the planner take it,
# and $probes, the number of rows that it looks up
server_method()
{
	local bloom="bloom_contains((SELECT f FROM bloom_filter), url)"
	local cuckoo="cuckoo_contains((SELECT f FROM cuckoo_filter), url)"
	local hash="SET enable_nestloop = off; SET enable_mergejoin = off;"
	local loop="SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_material = off;
		SET enable_memoize = off;"
	local exists="EXISTS (SELECT FROM blacklist b WHERE b.url = v.url)"

	settings='' probes=$visits
	query="SELECT count(*) FROM visits v"
	case $1 in
		scan) ;;
		trivial) query+=" WHERE url <> 'x'" ;;
		bloom) query+=" WHERE $bloom" ;;
		cuckoo) query+=" WHERE $cuckoo" ;;
		semijoin) query+=" WHERE $exists" settings=$hash ;;
		antijoin) query+=" WHERE NOT $exists" settings=$hash ;;
		not_in) query+=" WHERE url NOT IN (SELECT url FROM blacklist)" ;;
		not_in_small)
			query="SELECT count(*) FROM tiny WHERE url NOT IN (SELECT url FROM blacklist)"
			settings="SET work_mem = '$small_memory'; SET hash_mem_multiplier = 1;" probes=$tiny
			;;
		any) query+=" WHERE url = ANY(\$1)" ;;
		btree)
			query="SELECT count(*) FROM sample v WHERE $exists"
			settings=$loop probes=$sample
			;;
		hash_index)
			query="SELECT count(*) FROM sample v WHERE ${exists/blacklist/blacklist_hash}"
			settings=$loop probes=$sample
			;;
		filter_semijoin) query+=" WHERE $bloom AND $exists" settings=$hash ;;
		filter_index) query+=" WHERE $bloom AND $exists" settings=$loop ;;
	esac
}

make_blacklist()
{
	begin "a blacklist of $1"
	sql -c "
		DROP TABLE IF EXISTS blacklist, blacklist_hash, bloom_filter, cuckoo_filter;
		CREATE TABLE blacklist (url text COLLATE \"C\" NOT NULL);
		INSERT INTO blacklist SELECT url(n) FROM generate_series(1, $1) n;
		CREATE TABLE blacklist_hash AS TABLE blacklist"
	progress
	sql -c "ALTER TABLE blacklist ADD PRIMARY KEY (url)"
	progress
	sql -c "CREATE INDEX ON blacklist_hash USING hash (url)"
	progress
	sql -c "
		CREATE TABLE bloom_filter AS SELECT bloom_agg(url) AS f FROM blacklist;
		CREATE TABLE cuckoo_filter AS SELECT cuckoo_agg(url) AS f FROM blacklist"
	sql -c "VACUUM (FREEZE, ANALYZE) blacklist, blacklist_hash, bloom_filter, cuckoo_filter"
	finish
}

# make_visits_of BLACKLIST PERCENT: hits are spread over both tables
make_visits_of()
{
	begin "$visits visits, $2 % of them hits"
	sql -c "
		DROP TABLE IF EXISTS visits, sample, tiny;
		CREATE TABLE visits (id bigint, url text COLLATE \"C\" NOT NULL);
		INSERT INTO visits
			SELECT n, url(CASE WHEN n * 7919 % 1000 < $2 * 10
				THEN (hashint8extended(n, 1) & 9223372036854775807) % $1 + 1
				ELSE 1000000000 + n END)
			FROM generate_series(1, $visits::bigint) n;
		CREATE TABLE sample AS SELECT * FROM visits LIMIT $sample;
		CREATE TABLE tiny AS SELECT * FROM visits LIMIT $tiny;
		ALTER TABLE visits SET (parallel_workers = 2);
		ALTER TABLE sample SET (parallel_workers = 2)"
	sql -c "VACUUM (FREEZE, ANALYZE) visits, sample, tiny"
	sql -c "SELECT prewarm()" >/dev/null
	finish
}

# measure_cell BLACKLIST PERCENT WORKERS METHOD...
measure_cell()
{
	local size=$1 rate=$2 workers=$3 round method status name
	local -A cut_off=()
	local query settings probes

	shift 3
	name="$size/$rate/$workers"
	begin "measuring, $workers workers"
	for round in $(seq "$rounds"); do
		for method; do
			[ -z "${cut_off[$method]:-}" ] || continue
			server_method "$method"
			settings="SET bloomfilter.filter_scan = off; SET statement_timeout = '${server_timeout}s';
				SET max_parallel_workers_per_gather = $workers;
				SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
				SET min_parallel_table_scan_size = 0; $settings"
			if [ "$round" -eq 1 ]; then
				sql -c "$settings INSERT INTO methods (part, cell, method, rows, plan)
					VALUES ('server', '$name', '$method', $probes, plan_of(\$q\$$query\$q\$))"
			fi
			status=$(sql -c "$settings
				SELECT measure('server', '$name', '$method', $round, \$q\$$query\$q\$)")
			[ "$status" = ok ] || cut_off[$method]=$status
		done
		progress
	done
	finish
	for method in "${!cut_off[@]}"; do
		say "    $method: ${cut_off[$method]}"
	done
	check_answers "$name"
}

# All exact ways must have found the same, and filters no less.
check_answers()
{
	local wrong

	wrong=$(sql -c "
		WITH a AS (SELECT method, answer FROM runs
				WHERE part = 'server' AND cell = '$1' AND status = 'ok'),
			hits AS (SELECT max(answer) AS n FROM a WHERE method = 'semijoin')
		SELECT string_agg(DISTINCT method, ', ') FROM a, hits
		WHERE CASE
			WHEN method IN ('scan', 'trivial') THEN answer <> $visits
			WHEN method IN ('bloom', 'cuckoo') THEN answer < n
			WHEN method IN ('semijoin', 'any', 'filter_semijoin', 'filter_index')
				THEN answer <> n
			WHEN method IN ('antijoin', 'not_in') THEN answer <> $visits - n
			WHEN method = 'hash_index' THEN answer <>
				(SELECT max(answer) FROM a WHERE method = 'btree')
			END")
	[ -z "$wrong" ] || die "WRONG ANSWERS OF $wrong in $1; this is a bug"
}

part_server()
{
	local size rate last

	server_sizes
	last=${blacklists[-1]}
	for size in "${blacklists[@]}"; do
		make_blacklist "$size"
		for rate in "${hit_rates[@]}"; do
			make_visits_of "$size" "$rate"
			if [ "$rate" = "$main_hit_rate" ]; then
				measure_cell "$size" "$rate" 0 "${all_methods[@]}" not_in_small
				measure_cell "$size" "$rate" 2 "${all_methods[@]}"
			elif [ "$size" = "$last" ]; then
				measure_cell "$size" "$rate" 0 "${few_methods[@]}"
			else
				measure_cell "$size" "$rate" 0 "${all_methods[@]}"
			fi
		done
	done
	sql -c "DROP TABLE visits, sample, tiny, blacklist, blacklist_hash, bloom_filter, cuckoo_filter"

	# ratios are those of a round, to the semi-join in it
	result_of_query server "
		SELECT current_setting('server_version_num')::int / 10000 AS postgresql,
			split_part(cell, '/', 1) AS blacklist,
			split_part(cell, '/', 2) AS hit_rate_percent,
			split_part(cell, '/', 3) AS workers,
			method, max(status) AS status, max(rows) AS rows, count(*) AS runs,
			round(median(array_agg(r.elapsed / rows))::numeric, 1) AS elapsed_ns_per_row,
			round(min(r.elapsed / rows)::numeric, 1) AS elapsed_least,
			round(max(r.elapsed / rows)::numeric, 1) AS elapsed_most,
			CASE WHEN split_part(cell, '/', 3) = '0' THEN
				round(median(array_agg(r.cpu / rows))::numeric, 1) END AS cpu_ns_per_row,
			round(median(array_agg(r.elapsed / rows / semijoin))::numeric, 4) AS over_semijoin,
			round(min(r.elapsed / rows / semijoin)::numeric, 4) AS over_semijoin_least,
			round(max(r.elapsed / rows / semijoin)::numeric, 4) AS over_semijoin_most,
			max(answer) AS answer, max(plan) AS plan
		FROM runs r JOIN methods m USING (part, cell, method)
			JOIN (SELECT cell, round, elapsed / $visits AS semijoin FROM runs
				WHERE part = 'server' AND method = 'semijoin') s USING (cell, round)
		WHERE part = 'server'
		GROUP BY cell, method
		ORDER BY split_part(cell, '/', 1)::bigint, split_part(cell, '/', 2)::float8,
			split_part(cell, '/', 3), min(place)"
}
