# shellcheck shell=bash
#
# script/bench blocks: joins of a large table that is stored in the order of the key, with keys in
# 5 % of it, by an index that tells which blocks to read.
#
#	brin, btree	an integer, with a BRIN index of 16 pages or a btree; also by a timestamp (brin_time)
#	star		facts in the order of days, 90 of 2,000 days
#	spread		keys all over the table, of which each hundredth value has one
#	most		as spread, and nearly all rows have a partner, by join_filter = force
#
#	plain		no join filter
#	filter		a join filter, of a table without the index
#	blocks		with the index

blocks_sizes()
{
	block_rows=2000000
	[ "$quick" != yes ] || block_rows=40000
}

# Tables of the same rows without an index, with a BRIN index and with a btree
make_blocks()
{
	local table values=$((block_rows / 100))

	begin "tables"
	for table in bare brin btree; do
		sql -c "CREATE TABLE $table AS SELECT n AS id, n / 100 AS k, timestamp '2020-01-01' + n / 100 * interval '1 minute' AS at,
				date '2020-01-01' + (n / ($block_rows / 2000.0))::int AS day, md5(n::text) AS pad
			FROM generate_series(1, $block_rows) n"
	done
	sql -c "CREATE INDEX ON brin USING brin (k, at, day) WITH (pages_per_range = 16)" \
		-c "CREATE INDEX ON btree (k)" \
		-c "CREATE TABLE keys AS SELECT n + $values * 45 / 100 AS k, timestamp '2020-01-01' + (n + $values * 45 / 100) * interval '1 minute' AS at,
				n % 3 AS c FROM generate_series(1, $values / 20) n" \
		-c "CREATE TABLE days AS SELECT date '2020-01-01' + n AS day, n / 90 AS quarter FROM generate_series(0, 2000) n" \
		-c "CREATE TABLE spread AS SELECT n * 100 AS k, n % 3 AS c FROM generate_series(0, $values / 100) n" \
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
		star) echo "SELECT count(*) FROM $2 JOIN days USING (day) WHERE quarter = 11" ;;
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

part_blocks()
{
	local round cell wrong

	blocks_sizes
	make_blocks
	# Pages of a table that a query reads
	sql -c "CREATE FUNCTION pages_read(query text, name text) RETURNS bigint LANGUAGE plpgsql AS \$\$
		DECLARE
			plan jsonb;
		BEGIN
			EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING off, FORMAT json) ' || query INTO plan;
			RETURN (SELECT (n->>'Shared Hit Blocks')::bigint + (n->>'Shared Read Blocks')::bigint
				FROM jsonb_path_query(plan, 'strict \$.** ? (exists (@.\"Relation Name\"))') n WHERE n->>'Relation Name' = name);
		END
		\$\$"
	begin "measuring"
	for round in $(seq "$rounds"); do
		for cell in brin btree brin_time star spread most; do
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
			CASE cell WHEN 'brin' THEN 4 WHEN 'btree' THEN 3.5 WHEN 'brin_time' THEN 3.5 WHEN 'star' THEN 5
				ELSE 0.95 END AS bar,
			max(blocks.answer) AS answer
		FROM joined blocks JOIN (SELECT * FROM joined WHERE method = 'plain') plain USING (cell, round)
			JOIN (SELECT * FROM joined WHERE method = 'filter') filter USING (cell, round)
		WHERE blocks.method = 'blocks'
		GROUP BY cell
		ORDER BY min(blocks.place)"
	sql -c "DROP TABLE bare, brin, btree, keys, days, spread, most, joined" -c "DROP FUNCTION pages_read"
}
