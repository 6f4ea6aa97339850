# shellcheck shell=bash
#
# script/bench writing: what is paid for an index: insertions, growth, and making it.
#
#	bulk		INSERT of a million new URLs with its COMMIT, into a table of five million: none
#				has no index, fresh one with a capacity of twice the rows, grown one that was
#				made when the table had an eighth of them and was added to since
#	wal			log of a row in that INSERT, of which that of none is the table's
#	single		INSERT of one row in a transaction of its own, in a prepared session.  How
#				many instructions that takes is test/t/061_instructions.pl's
#	bytes		of an index, by element: built, and after transactions of 250 rows
#	batch		1,000 elements in an array, half of them present: index is that of grown
#	create, create_2, bloom_agg		of the five million rows, without workers and with two

writing_sizes()
{
	if [ "$quick" = yes ]; then
		stock=40000 news=8000 singles=20 start=1000 batches=5
	else
		stock=5000000 news=1000000 singles=1000 start=100000 batches=100
	fi
}

# run_writing CELL METHOD ROUND QUERY [SETTINGS]: measure it with its COMMIT and its log
run_writing()
{
	local status of="'writing', '$1', '$2', $3"

	status=$(sql -c "SET maintenance_work_mem = '64MB'; SET max_parallel_maintenance_workers = 0; ${5:-}" \
		-c "SELECT set_config('bench.wal', pg_current_wal_insert_lsn()::text, false)" \
		-c "SELECT measure($of, \$q\$$4\$q\$)" -c "SELECT measure_commit($of)" \
		-c "INSERT INTO written SELECT 'wal', '$2', $3, (pg_current_wal_insert_lsn() - current_setting('bench.wal')::pg_lsn) / $news
			WHERE '$1' = 'bulk'" \
		-c "SELECT status FROM runs WHERE (part, cell, method, round) = ($of)" | tail -n 1)
	[ "$status" = ok ] || die "$1, $2: $status"
}

make_stock()
{
	begin "tables of $stock URLs"
	sql -c "CREATE EXTENSION IF NOT EXISTS bloom" \
		-c "CREATE TABLE written (work text, method text, round int, value float8)" \
		-c "CREATE TABLE stock_none (n serial, url text COLLATE \"C\" NOT NULL) WITH (parallel_workers = 2)" \
		-c "INSERT INTO stock_none (url) SELECT url(n) FROM generate_series(1, $stock) n" \
		-c "CREATE TABLE stock_fresh (LIKE stock_none INCLUDING DEFAULTS)" \
		-c "CREATE TABLE stock_grown (LIKE stock_none INCLUDING DEFAULTS)" \
		-c "INSERT INTO stock_fresh SELECT * FROM stock_none" \
		-c "INSERT INTO stock_grown SELECT * FROM stock_none WHERE n <= $stock / 8" \
		-c "CREATE INDEX ON stock_fresh USING membership (url) WITH (capacity = $((2 * stock)))" \
		-c "CREATE INDEX ON stock_grown USING membership (url)"
	progress
	sql -c "DO \$\$ BEGIN
			FOR i IN 5 .. 39 LOOP
				INSERT INTO stock_grown SELECT * FROM stock_none
				WHERE n > $stock / 40 * i AND n <= $stock / 40 * (i + 1);
				COMMIT;
			END LOOP;
		END \$\$" \
		-c "CREATE TABLE stored AS SELECT bloom_agg(url, $stock, NULL) AS f FROM stock_grown" \
		-c "CREATE FUNCTION fill(target regclass) RETURNS bigint LANGUAGE plpgsql AS \$\$
		DECLARE
			filled bigint;
		BEGIN
			EXECUTE format('INSERT INTO %s (url) SELECT url FROM news', target);
			GET DIAGNOSTICS filled = ROW_COUNT;
			RETURN filled;
		END \$\$"
	sql -c "VACUUM (FREEZE, ANALYZE)"
	sql -c "SELECT prewarm()" >/dev/null
	finish
	say "  $(sql -c "SELECT layers FROM membership_info('stock_grown_url_idx')") layers in the grown index"
}

measure_bulk()
{
	local round method

	begin "bulk insertion"
	for round in $(seq "$rounds"); do
		# elements that are in already cost less
		sql -c "DROP TABLE IF EXISTS news" \
			-c "CREATE TABLE news AS SELECT url(1000000000 + $round * $news::bigint + n) AS url FROM generate_series(1, $news) n"
		for method in none fresh grown; do
			run_writing bulk "$method" "$round" "SELECT fill('stock_$method')"
			progress
		done
	done
	finish
	sql -c "DROP TABLE news"
}

measure_singles()
{
	local round method

	begin "one row at a time"
	for method in none membership btree; do
		sql -c "CREATE TABLE single_$method AS SELECT url FROM stock_none LIMIT $news"
		[ "$method" = none ] || sql -c "CREATE INDEX ON single_$method USING $method (url)"
	done
	for round in $(seq "$rounds"); do
		for method in none membership btree; do
			{
				echo "PREPARE add(bigint) AS INSERT INTO single_$method VALUES (url(\$1));"
				echo "EXECUTE add(-$round);"
				echo "SELECT cpu_ns() AS since \\gset"
				seq -f "EXECUTE add(%.0f);" $((1000000000 + round * singles)) $((999999999 + (round + 1) * singles))
				echo "INSERT INTO written VALUES ('single', '$method', $round, (cpu_ns() - :since) / 1000 / $singles);"
			} | sql
			progress
		done
	done
	finish
	sql -c "DROP TABLE single_none, single_membership, single_btree"
}

# The mean weighs each doubling alike
measure_bytes()
{
	begin "bytes an element"
	sql -c "CREATE TABLE growing AS SELECT n FROM generate_series(1, $start) n" \
		-c "CREATE INDEX growing_n ON growing USING membership (n) WITH (capacity = $start)" \
		-c "CREATE TABLE grown AS SELECT $start AS n, pg_relation_size('growing_n')::float8 / $start AS bytes" \
		-c "DO \$\$ BEGIN
			FOR i IN $start / 250 .. $start / 25 - 1 LOOP
				INSERT INTO growing SELECT n FROM generate_series(i * 250 + 1, i * 250 + 250) n;
				COMMIT;
				INSERT INTO grown VALUES (i * 250 + 250, pg_relation_size('growing_n')::float8 / (i * 250 + 250));
			END LOOP;
		END \$\$" \
		-c "INSERT INTO written
			SELECT 'bytes', CASE n WHEN $start THEN 'built' ELSE trim_scale(n::numeric / $start)::text END, 1, bytes
			FROM grown WHERE n IN ($start, $start * 5 / 4, $start * 2, $start * 10)
			UNION ALL SELECT 'bytes', 'worst', 1, max(bytes) FROM grown WHERE n > $start
			UNION ALL SELECT 'bytes', 'mean', 1, sum(bytes / n) / sum(1.0 / n) FROM grown WHERE n > $start" \
		-c "DROP TABLE growing, grown"
	finish
}

# Each array is a statement of its own.
measure_batches()
{
	local round method

	begin "batches of 1,000"
	sql -c "CREATE TABLE batches (elements text[])" \
		-c "ALTER TABLE batches ALTER elements SET STORAGE external" \
		-c "INSERT INTO batches SELECT array_agg(url(CASE WHEN n % 2 = 0 THEN n * 7919 % $stock + 1 ELSE 2000000000 + n END))
			FROM generate_series(1::bigint, $batches * 1000) n GROUP BY n / 2 % $batches" \
		-c "CREATE FUNCTION ask(method text) RETURNS bigint LANGUAGE plpgsql AS \$\$
		DECLARE
			b batches;
			answer boolean[];
			found bigint := 0;
		BEGIN
			FOR b IN SELECT * FROM batches LOOP
				IF method = 'index' THEN
					SELECT membership_contains_each('stock_grown_url_idx', b.elements) INTO answer FROM stored;
				ELSE
					SELECT bloom_contains_each(f, b.elements) INTO answer FROM stored;
				END IF;
				found := found + cardinality(array_positions(answer, true));
			END LOOP;
			RETURN found;
		END \$\$"
	for round in $(seq "$rounds"); do
		for method in stored index; do
			run_writing batch "$method" "$round" "SELECT ask('$method')"
		done
		progress
	done
	finish
	[ "$(sql -c "SELECT bool_and(answer BETWEEN $batches * 500 AND $batches * 520) FROM runs WHERE cell = 'batch'")" = t ] ||
		die "THE ANSWERS OF THE BATCHES ARE WRONG; this is a bug"
}

measure_making()
{
	local round method
	local workers="SET max_parallel_maintenance_workers = 2; SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0;
		SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0"
	local aggregate="SELECT pg_column_size(bloom_agg(url, $stock, NULL)) FROM stock_none"

	begin "CREATE INDEX and bloom_agg"
	for round in $(seq "$rounds"); do
		for method in bloom membership; do
			run_writing create "$method" "$round" "SELECT make_index('$method', 'stock_none')"
			sql -c "DROP INDEX made"
			progress
		done
		run_writing create_2 serial "$round" "SELECT make_index('membership', 'stock_none')"
		sql -c "DROP INDEX made"
		run_writing create_2 workers "$round" "SELECT make_index('membership', 'stock_none')" "$workers"
		sql -c "DROP INDEX made"
		run_writing bloom_agg serial "$round" "$aggregate"
		run_writing bloom_agg workers "$round" "$aggregate" "$workers"
		progress
	done
	finish
	[ "$(sql -c "SELECT count(DISTINCT answer) FROM runs WHERE cell = 'bloom_agg'")" = 1 ] ||
		die "WORKERS CHANGE THE FILTER; this is a bug"
}

part_writing()
{
	# the fresh index has room for so many
	local rounds=$((rounds < 5 ? rounds : 5))

	writing_sizes
	make_stock
	measure_making
	measure_batches
	measure_singles
	measure_bytes
	measure_bulk
	sql -c "INSERT INTO written SELECT cell, method, round,
		CASE WHEN cell IN ('create_2', 'bloom_agg') THEN elapsed ELSE cpu END / 1e6 / CASE cell WHEN 'batch' THEN $batches ELSE 1 END
		FROM runs WHERE part = 'writing'"

	# Ratios are those of a round.  The bar is the most of the ratio, where there is one, else of the value
	result_of_query writing "
		WITH works (place, work, method, compared_with, unit, bar) AS (VALUES
			(1, 'bulk', 'none', NULL, 'CPU ms', NULL), (2, 'bulk', 'grown', 'none', 'CPU ms', 2.5),
			(3, 'bulk', 'fresh', 'none', 'CPU ms', 2), (4, 'wal', 'none', NULL, 'bytes', NULL),
			(5, 'wal', 'grown', NULL, 'bytes', 200), (6, 'wal', 'fresh', NULL, 'bytes', 200),
			(7, 'single', 'none', NULL, 'CPU us', NULL), (8, 'single', 'membership', 'none', 'CPU us', NULL),
			(9, 'single', 'btree', 'none', 'CPU us', NULL), (10, 'bytes', 'built', NULL, 'bytes', 1.4),
			(11, 'bytes', '1.25', NULL, 'bytes', 4.5), (12, 'bytes', '2', NULL, 'bytes', 4.5),
			(13, 'bytes', '10', NULL, 'bytes', 4.5), (14, 'bytes', 'mean', NULL, 'bytes', 3),
			(15, 'bytes', 'worst', NULL, 'bytes', 4.5), (16, 'batch', 'stored', NULL, 'CPU ms', NULL),
			(17, 'batch', 'index', 'stored', 'CPU ms', 2), (18, 'create', 'bloom', NULL, 'CPU ms', NULL),
			(19, 'create', 'membership', 'bloom', 'CPU ms', 1.0), (20, 'create_2', 'serial', NULL, 'ms', NULL),
			(21, 'create_2', 'workers', 'serial', 'ms', 0.65), (22, 'bloom_agg', 'serial', NULL, 'ms', NULL),
			(23, 'bloom_agg', 'workers', 'serial', 'ms', 0.65))
		SELECT current_setting('server_version_num')::int / 10000 AS postgresql,
			work, method, compared_with, unit, count(*) AS runs,
			round(median(array_agg(value))::numeric, 3) AS value,
			round(min(value)::numeric, 3) AS value_least,
			round(max(value)::numeric, 3) AS value_most,
			round(median(array_agg(value / base))::numeric, 3) AS ratio,
			round(min(value / base)::numeric, 3) AS ratio_least,
			round(max(value / base)::numeric, 3) AS ratio_most,
			bar
		FROM works JOIN written USING (work, method)
			LEFT JOIN (SELECT work, method, round, value FROM written) b (work, compared_with, round, base)
				USING (work, compared_with, round)
		GROUP BY place, work, method, compared_with, unit, bar
		ORDER BY place"
}
