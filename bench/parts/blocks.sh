# shellcheck shell=bash
#
# script/bench blocks: joins of a large table that is stored in the order of the key, with keys in
# 5 % of it, by an index that tells which blocks to read.
#
#	brin, btree	an integer, with a BRIN index of 16 pages or a btree; also by a timestamp (brin_time)
#			or a text in the order of a language (brin_text)
#	ends		the first and the last 2.5 % of the integers
#	star		facts in the order of days, 90 of 2,000 days
#	spread		keys all over the table, of which each hundredth value has one; also as texts (spread_text)
#	most		as spread, and nearly all rows have a partner, by join_filter = force
#
#	plain		no join filter
#	filter		a join filter, of a table without the index
#	blocks		with the index
#
# And shapes of TPC-H, with orders and lines stored in the order of their days (bench/dated/), with
# join filters and BRIN indexes that are used for conditions only, and with such as join filters use.

blocks_sizes()
{
	block_rows=2000000
	dated_orders=400000
	[ "$quick" != yes ] || { block_rows=40000 dated_orders=10000; }
}

# Tables of the same rows without an index, with a BRIN index and with a btree
make_blocks()
{
	local table values=$((block_rows / 100))

	begin "tables"
	for table in bare brin btree; do
		sql -c "CREATE TABLE $table AS SELECT n AS id, n / 100 AS k, timestamp '2020-01-01' + n / 100 * interval '1 minute' AS at,
				date '2020-01-01' + (n / ($block_rows / 2000.0))::int AS day, to_char(n / 100, 'FM00000000') AS t, md5(n::text) AS pad
			FROM generate_series(1, $block_rows) n"
	done
	sql -c "CREATE INDEX ON brin USING brin (k, at, day, t) WITH (pages_per_range = 16)" \
		-c "CREATE INDEX ON btree (k)" \
		-c "CREATE TABLE keys AS SELECT n + $values * 45 / 100 AS k, timestamp '2020-01-01' + (n + $values * 45 / 100) * interval '1 minute' AS at,
				to_char(n + $values * 45 / 100, 'FM00000000') AS t, n % 3 AS c FROM generate_series(1, $values / 20) n" \
		-c "CREATE TABLE ends AS SELECT CASE c WHEN 0 THEN n ELSE $values - n END AS k, c FROM generate_series(1, $values / 40) n, generate_series(0, 1) c" \
		-c "CREATE TABLE days AS SELECT date '2020-01-01' + n AS day, n / 90 AS quarter FROM generate_series(0, 2000) n" \
		-c "CREATE TABLE spread AS SELECT n * 100 AS k, to_char(n * 100, 'FM00000000') AS t, n % 3 AS c FROM generate_series(0, $values / 100) n" \
		-c "CREATE TABLE most AS SELECT n AS k, n % 20 AS c FROM generate_series(0, $values) n" \
		-c "CREATE TABLE joined (place serial, cell text, method text, round int, ns float8, pages bigint, answer bigint)" \
		-c "VACUUM (FREEZE, ANALYZE)" -c "SELECT prewarm()" >/dev/null
	finish
}

# blocks_query CELL TABLE: its SQL
blocks_query()
{
	case $1 in
		brin_time) echo "SELECT count(*) FROM $2 JOIN keys USING (at) WHERE c < 2" ;;
		brin_text) echo "SELECT count(*) FROM $2 JOIN keys USING (t) WHERE c < 2" ;;
		ends) echo "SELECT count(*) FROM $2 JOIN ends USING (k) WHERE c < 2" ;;
		star) echo "SELECT count(*) FROM $2 JOIN days USING (day) WHERE quarter = 11" ;;
		spread_text) echo "SELECT count(*) FROM $2 JOIN spread USING (t) WHERE c < 2" ;;
		spread) echo "SELECT count(*) FROM $2 JOIN spread USING (k) WHERE c < 2" ;;
		most) echo "SELECT count(*) FROM $2 JOIN most USING (k) WHERE c < 19" ;;
		*) echo "SELECT count(*) FROM $2 JOIN keys USING (k) WHERE c < 2" ;;
	esac
}

# The psql script of one round for one cell
blocks_script()
{
	local cell=$1 round=$2 method table query filter

	echo "LOAD 'bloomfilter';"
	echo "PREPARE clock AS SELECT cpu_ns() AS since;"
	echo "SET enable_nestloop = off; SET enable_mergejoin = off;"
	# PostgreSQL must not read the table by the btree itself
	echo "SET enable_indexscan = off; SET enable_bitmapscan = off;"
	for method in plain filter blocks; do
		table=bare filter=on
		[ "$cell" != most ] || filter=force
		[ "$method" != plain ] || filter=off
		[ "$method" != blocks ] || { table=brin; [ "$cell" != btree ] || table=btree; }
		query=$(blocks_query "$cell" "$table")
		echo "SET bloomfilter.join_filter = $filter;"
		echo "$query;"
		echo "EXECUTE clock \\gset"
		echo "$query \\gset"
		echo "INSERT INTO joined (cell, method, round, ns, answer) VALUES ('$cell', '$method', $round, cpu_ns() - :since, :count);"
		[ "$round" -gt 1 ] || echo "UPDATE joined SET pages = pages_read(\$q\$$query\$q\$, '$table')
			WHERE cell = '$cell' AND method = '$method';"
	done
}

# The psql script of one round for one shape of TPC-H
dated_script()
{
	local cell=$1 round=$2 query=$3 method

	echo "LOAD 'bloomfilter';"
	echo "PREPARE clock AS SELECT cpu_ns() AS since;"
	echo "SET work_mem = '64MB'; SET max_parallel_workers_per_gather = 0;"
	echo "SET bloomfilter.join_filter = on;"
	for method in unskipped dated; do
		echo "SET search_path = $method, tpch, public;"
		echo "SELECT coalesce(sum(hashtext(a::text)), 0) AS answer FROM ($query) a;"
		echo "EXECUTE clock \\gset"
		echo "SELECT coalesce(sum(hashtext(a::text)), 0) AS answer FROM ($query) a \\gset"
		echo "INSERT INTO shapes (cell, method, round, ns, answer) VALUES ('$cell', '$method', $round, cpu_ns() - :since, :answer);"
		[ "$round" -gt 1 ] || echo "UPDATE shapes SET pages = pages_read(\$q\$$query\$q\$, NULL)
			WHERE cell = '$cell' AND method = '$method';"
	done
}

measure_dated()
{
	local round file cell wrong

	begin "tables of $dated_orders orders"
	sql -v orders="$dated_orders" -f "$here/star/tpch.sql"
	progress
	sql -f "$here/dated/tables.sql" -c "SELECT prewarm()" \
		-c "CREATE TABLE shapes (place serial, cell text, method text, round int, ns float8, pages bigint, answer bigint)" >/dev/null
	finish
	begin "measuring"
	for round in $(seq "$rounds"); do
		for file in star/tpch_3 dated/4 star/tpch_10 dated/12 dated/14; do
			cell=tpch_${file##*[/_]}
			dated_script "$cell" "$round" "$(<"$here/$file.sql")" | sql -f - >/dev/null
		done
		progress
	done
	finish
	wrong=$(sql -c "SELECT string_agg(cell, ', ') FROM
		(SELECT cell FROM shapes GROUP BY cell HAVING min(answer) <> max(answer)) c")
	[ -z "$wrong" ] || die "WRONG ANSWERS OF $wrong"

	# of all shapes, the geometric mean of each round; the bar is that of the mean
	result_of_query blocks_tpch "
		WITH gains AS (
			SELECT cell, round, place, w.ns, d.ns AS dated_ns, d.answer,
				first_value(w.pages) OVER cells AS pages, first_value(d.pages) OVER cells AS dated_pages
			FROM (SELECT * FROM shapes WHERE method = 'unskipped') w JOIN (SELECT cell, round, ns, pages, answer FROM shapes WHERE method = 'dated') d
				USING (cell, round)
			WINDOW cells AS (PARTITION BY cell ORDER BY round))
		SELECT current_setting('server_version_num')::int / 10000 AS postgresql, coalesce(cell, 'mean') AS cell, count(*) AS runs,
			round((median(array_agg(ns)) / 1e6)::numeric, 1) AS filter_ms,
			round((median(array_agg(dated_ns)) / 1e6)::numeric, 1) AS blocks_ms,
			round(median(array_agg(gain))::numeric, 2) AS gain_over_filter,
			round(min(gain)::numeric, 2) AS gain_least, round(max(gain)::numeric, 2) AS gain_most,
			max(pages) AS filter_pages, max(dated_pages) AS blocks_pages,
			CASE WHEN cell IS NULL THEN 1.5 END AS bar, max(answer) AS answer
		FROM (SELECT cell, round, place, ns, dated_ns, ns / dated_ns AS gain, pages, dated_pages, answer FROM gains
			UNION ALL
			SELECT NULL, round, max(place) + 1, sum(ns), sum(dated_ns), exp(avg(ln(ns / dated_ns))), sum(pages), sum(dated_pages), NULL
				FROM gains GROUP BY round) g
		GROUP BY cell
		ORDER BY min(place)"
	sql -c "DROP SCHEMA dated, unskipped, tpch CASCADE" -c "DROP TABLE shapes"
}

part_blocks()
{
	local round cell wrong

	blocks_sizes
	make_blocks
	# Pages of a table that a query reads; of all, if the name is NULL
	sql -c "CREATE FUNCTION pages_read(query text, name text) RETURNS bigint LANGUAGE plpgsql AS \$\$
		DECLARE
			plan jsonb;
		BEGIN
			EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING off, FORMAT json) ' || query INTO plan;
			RETURN (SELECT sum((n->>'Shared Hit Blocks')::bigint + (n->>'Shared Read Blocks')::bigint)
				FROM jsonb_path_query(plan, 'strict \$.** ? (exists (@.\"Relation Name\"))') n WHERE n->>'Relation Name' = name OR name IS NULL);
		END
		\$\$"
	begin "measuring"
	for round in $(seq "$rounds"); do
		for cell in brin btree brin_time brin_text ends star spread spread_text most; do
			blocks_script "$cell" "$round" | sql -f - >/dev/null
		done
		progress
	done
	finish
	wrong=$(sql -c "SELECT string_agg(cell, ', ') FROM
		(SELECT cell FROM joined GROUP BY cell HAVING min(answer) <> max(answer)) c")
	[ -z "$wrong" ] || die "WRONG ANSWERS OF $wrong"

	# ratios are those of a round; a bar is the least of filter / blocks, or the least share of pages that may be read
	result_of_query blocks "
		SELECT current_setting('server_version_num')::int / 10000 AS postgresql, cell, count(*) AS runs,
			round((median(array_agg(plain.ns)) / 1e6)::numeric, 1) AS plain_ms,
			round((median(array_agg(filter.ns)) / 1e6)::numeric, 1) AS filter_ms,
			round((median(array_agg(blocks.ns)) / 1e6)::numeric, 1) AS blocks_ms,
			round(median(array_agg(plain.ns / blocks.ns))::numeric, 2) AS gain,
			round(median(array_agg(filter.ns / blocks.ns))::numeric, 2) AS gain_over_filter,
			round(min(filter.ns / blocks.ns)::numeric, 2) AS gain_least,
			round(max(filter.ns / blocks.ns)::numeric, 2) AS gain_most,
			round((max(blocks.pages) / max(pg_relation_size('bare') / 8192.0))::numeric, 3) AS pages_share,
			CASE cell WHEN 'brin' THEN 4 WHEN 'btree' THEN 3.5 WHEN 'brin_time' THEN 3.5 WHEN 'brin_text' THEN 3.5 WHEN 'ends' THEN 3.5 WHEN 'star' THEN 5
				ELSE 0.95 END AS bar,
			max(blocks.answer) AS answer
		FROM joined blocks JOIN (SELECT * FROM joined WHERE method = 'plain') plain USING (cell, round)
			JOIN (SELECT * FROM joined WHERE method = 'filter') filter USING (cell, round)
		WHERE blocks.method = 'blocks'
		GROUP BY cell
		ORDER BY min(blocks.place)"
	sql -c "DROP TABLE bare, brin, btree, keys, days, ends, spread, most, joined"
	measure_dated
	sql -c "DROP FUNCTION pages_read"
}
