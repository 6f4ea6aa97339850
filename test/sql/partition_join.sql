-- Joins that do not read partitions whose bound excludes all keys of the other side.
-- Each query is compared with the same query without join filters.
\set ON_ERROR_STOP on
SET client_min_messages = warning;
CREATE SCHEMA partition_join;
SET search_path = partition_join, public;
LOAD 'bloomfilter';
SET bloomfilter.join_filter = force;
SET max_parallel_workers_per_gather = 0;
SET enable_mergejoin = off;
SET enable_nestloop = off;
SET enable_indexscan = off;
SET enable_bitmapscan = off;

\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/shared/plans.sql'
\i :file

-- Is a query's result the same with and without?  If so, how many partitions were not read
CREATE FUNCTION compared(query text, OUT rows bigint, OUT not_read bigint)
LANGUAGE plpgsql AS $$
DECLARE
	filtered text[] := result_of(query);
	same boolean;
BEGIN
	rows := cardinality(filtered);
	SELECT count(*) INTO not_read FROM nodes(query) node WHERE node ? 'Scans Skipped by Partition Bound';
	SET LOCAL bloomfilter.join_filter = off;
	same := filtered = result_of(query);
	SET LOCAL bloomfilter.join_filter = force;
	IF NOT same THEN
		RAISE 'different rows: %', query;
	END IF;
END $$;

-- the keys of a join: written first, so that the dimension is the inner side
CREATE TABLE dim (k int, big bigint, d date, t text, n numeric, other int);
INSERT INTO dim SELECT i, i, date '2020-01-01' + i, chr(97 + i % 26), i, i % 3 FROM generate_series(0, 999) i;
INSERT INTO dim VALUES (NULL, NULL, NULL, NULL, NULL, 1), (2147483647, 9000000000, 'infinity', 'Z', 1e20, 7);
ANALYZE dim;

-- by range: with a default, without bounds, with another order of columns
CREATE TABLE ranges (k int, v int) PARTITION BY RANGE (k);
CREATE TABLE ranges_low PARTITION OF ranges FOR VALUES FROM (MINVALUE) TO (0);
\set ON_ERROR_STOP off
SELECT format('CREATE TABLE ranges_%s PARTITION OF ranges FOR VALUES FROM (%s) TO (%s)', i, i * 100, i * 100 + 100)
FROM generate_series(0, 7) i \gexec
CREATE TABLE ranges_8 (v int, gone text, k int);
ALTER TABLE ranges_8 DROP COLUMN gone;
ALTER TABLE ranges ATTACH PARTITION ranges_8 FOR VALUES FROM (800) TO (900);
CREATE TABLE ranges_high PARTITION OF ranges FOR VALUES FROM (2000) TO (MAXVALUE);
CREATE TABLE ranges_default PARTITION OF ranges DEFAULT;
INSERT INTO ranges SELECT i % 3000 - 200, i FROM generate_series(1, 6000) i;
INSERT INTO ranges VALUES (NULL, -1), (2147483647, -2), (-2147483648, -3);
ANALYZE ranges;
SELECT * FROM compared('SELECT ranges.* FROM ranges JOIN dim USING (k) WHERE dim.k IN (150, 299, 300)');
SELECT * FROM compared('SELECT ranges.* FROM ranges JOIN dim USING (k) WHERE dim.big = 99');
SELECT * FROM compared('SELECT ranges.* FROM ranges JOIN dim USING (k) WHERE dim.big = 100');
SELECT * FROM compared('SELECT ranges.* FROM ranges JOIN dim USING (k) WHERE dim.k IN (5, 2147483647)');
SELECT * FROM compared('SELECT ranges.* FROM ranges JOIN dim ON ranges.k = dim.big WHERE dim.big IN (850, 9000000000)');
SELECT * FROM compared('SELECT ranges.* FROM ranges JOIN dim ON ranges.k = dim.big WHERE dim.other = 9');
SELECT * FROM compared('SELECT ranges.* FROM ranges WHERE k IN (SELECT k FROM dim WHERE k BETWEEN 250 AND 330)');
-- rows without a partner are wanted: all are read
SELECT * FROM compared('SELECT ranges.* FROM ranges LEFT JOIN dim USING (k) WHERE v < 100');
SELECT * FROM compared('SELECT ranges.* FROM ranges WHERE NOT EXISTS (SELECT FROM dim WHERE dim.k = ranges.k AND dim.k = 5)');
-- the key is an expression: nothing is said of it
SELECT * FROM compared('SELECT ranges.* FROM ranges JOIN dim ON ranges.k / 2 = dim.k WHERE dim.big = 150');
-- a partition alone
SELECT * FROM compared('SELECT ranges_2.* FROM ranges_2 JOIN dim USING (k) WHERE dim.big = 150');
-- an expression could fail for a key that no row has
CREATE TABLE products (k int, v int) PARTITION BY RANGE ((k * 1000000));
CREATE TABLE products_1 PARTITION OF products FOR VALUES FROM (0) TO (10000000);
CREATE TABLE products_2 PARTITION OF products FOR VALUES FROM (10000000) TO (MAXVALUE);
INSERT INTO products SELECT i % 100, i FROM generate_series(1, 500) i;
ANALYZE products;
CREATE TABLE some_products AS SELECT 3000 k UNION ALL SELECT 5;
ANALYZE some_products;
SELECT * FROM compared('SELECT products.* FROM products JOIN some_products USING (k)');
-- oid has no sign
CREATE TABLE oids (o oid, v int) PARTITION BY RANGE (o);
CREATE TABLE oids_1 PARTITION OF oids FOR VALUES FROM (0) TO (3000000000);
CREATE TABLE oids_2 PARTITION OF oids FOR VALUES FROM (3000000000) TO (4000000000);
INSERT INTO oids SELECT i * 1000000::bigint, i FROM generate_series(1, 3999) i;
CREATE TABLE some_oids AS SELECT oid '3500000000' o UNION ALL SELECT '5000000';
ANALYZE oids, some_oids;
SELECT * FROM compared('SELECT oids.* FROM oids JOIN some_oids USING (o)');

-- dates and timestamps, and sparse keys
CREATE TABLE days (d date, at timestamptz, v int) PARTITION BY RANGE (d);
SELECT format('CREATE TABLE days_%s PARTITION OF days FOR VALUES FROM (%L) TO (%L)', i,
	date '2020-01-01' + i * 30, date '2020-01-01' + i * 30 + 30) FROM generate_series(0, 9) i \gexec
INSERT INTO days SELECT date '2020-01-01' + i % 300, '2020-01-01 UTC'::timestamptz + i * interval '1 hour', i FROM generate_series(1, 3000) i;
SELECT * FROM compared('SELECT days.* FROM days JOIN dim USING (d) WHERE dim.k BETWEEN 65 AND 95');
CREATE TABLE hours (at timestamptz, v int) PARTITION BY RANGE (at);
SET timezone = 'UTC';
SELECT format('CREATE TABLE hours_%s PARTITION OF hours FOR VALUES FROM (%L) TO (%L)', i,
	timestamptz '2020-01-01' + i * interval '10 days', timestamptz '2020-01-01' + (i + 1) * interval '10 days') FROM generate_series(0, 9) i \gexec
INSERT INTO hours SELECT at, v FROM days WHERE at < '2020-04-10';
CREATE TABLE some_hours AS SELECT timestamptz '2020-01-15 05:00' at UNION ALL SELECT '2020-03-01' UNION ALL SELECT '2999-01-01';
SELECT * FROM compared('SELECT hours.* FROM hours JOIN some_hours USING (at)');

-- by list: integers, texts, NULL; a collation of its own
CREATE TABLE lists (t text, v int) PARTITION BY LIST (t);
CREATE TABLE lists_a PARTITION OF lists FOR VALUES IN ('a');
CREATE TABLE lists_b PARTITION OF lists FOR VALUES IN ('b', 'c', NULL);
CREATE TABLE lists_null PARTITION OF lists FOR VALUES IN ('d');
CREATE TABLE lists_default PARTITION OF lists DEFAULT;
INSERT INTO lists SELECT CASE WHEN i % 10 < 8 THEN chr(97 + i % 10) END, i FROM generate_series(1, 500) i;
SELECT * FROM compared('SELECT lists.* FROM lists JOIN dim USING (t) WHERE dim.k IN (2, 3)');
SELECT * FROM compared('SELECT lists.* FROM lists JOIN dim USING (t) WHERE dim.k IN (0)');
CREATE COLLATION ignore_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE cases (t text COLLATE ignore_case, v int) PARTITION BY LIST (t);
CREATE TABLE cases_a PARTITION OF cases FOR VALUES IN ('a');
CREATE TABLE cases_b PARTITION OF cases FOR VALUES IN ('b');
INSERT INTO cases SELECT CASE i % 4 WHEN 0 THEN 'a' WHEN 1 THEN 'A' WHEN 2 THEN 'b' ELSE 'B' END, i FROM generate_series(1, 400) i;
CREATE TABLE some_cases (t) AS SELECT text 'A';
SELECT * FROM compared('SELECT cases.* FROM cases JOIN some_cases ON cases.t = some_cases.t COLLATE "C"');
SELECT * FROM compared('SELECT cases.* FROM cases JOIN some_cases ON cases.t = some_cases.t COLLATE ignore_case');
CREATE TABLE numbers (n numeric, v int) PARTITION BY LIST (n);
CREATE TABLE numbers_1 PARTITION OF numbers FOR VALUES IN (1, 2.0);
CREATE TABLE numbers_2 PARTITION OF numbers FOR VALUES IN (3.00);
INSERT INTO numbers SELECT CASE i % 3 WHEN 0 THEN 1.0 WHEN 1 THEN 2 ELSE 3.000 END, i FROM generate_series(1, 300) i;
SELECT * FROM compared('SELECT numbers.* FROM numbers JOIN dim USING (n) WHERE dim.big = 3');

-- by hash; and within ranges
CREATE TABLE hashes (k bigint, v int) PARTITION BY HASH (k);
SELECT format('CREATE TABLE hashes_%s PARTITION OF hashes FOR VALUES WITH (MODULUS 8, REMAINDER %s)', i, i) FROM generate_series(0, 7) i \gexec
INSERT INTO hashes SELECT i % 1000, i FROM generate_series(1, 3000) i;
SELECT * FROM compared('SELECT hashes.* FROM hashes JOIN dim ON hashes.k = dim.big WHERE dim.k = 77');
SELECT not_read BETWEEN 4 AND 7 FROM compared('SELECT hashes.* FROM hashes JOIN dim ON hashes.k = dim.k WHERE dim.k IN (1, 500, 999)');
SELECT * FROM compared('SELECT hashes.* FROM hashes JOIN dim ON hashes.k = dim.k WHERE dim.k > 10');
-- keys far apart, of which a few are known one by one
CREATE TABLE far (n, k) AS SELECT i, i * 1000000000000 FROM generate_series(0, 999) i;
ANALYZE far;
CREATE TABLE far_hashes (k bigint, v int) PARTITION BY HASH (k);
SELECT format('CREATE TABLE far_hashes_%s PARTITION OF far_hashes FOR VALUES WITH (MODULUS 8, REMAINDER %s)', i, i) FROM generate_series(0, 7) i \gexec
INSERT INTO far_hashes SELECT k, n FROM far, generate_series(1, 3);
SELECT rows, not_read BETWEEN 5 AND 7 FROM compared('SELECT far_hashes.* FROM far_hashes JOIN far USING (k) WHERE far.n IN (1, 500, 999)');
SELECT * FROM compared('SELECT far_hashes.* FROM far_hashes JOIN far USING (k) WHERE far.n < 600');
CREATE TABLE far_lists (k bigint, v int) PARTITION BY LIST (k);
SELECT format('CREATE TABLE far_lists_%s PARTITION OF far_lists FOR VALUES IN (%s)', n, k) FROM far WHERE n < 4 \gexec
INSERT INTO far_lists SELECT k, n FROM far WHERE n < 4;
SELECT * FROM compared('SELECT far_lists.* FROM far_lists JOIN far USING (k) WHERE far.n IN (0, 3, 999)');
CREATE TABLE trees (d int, k int, v int) PARTITION BY RANGE (d);
SELECT format('CREATE TABLE trees_%s PARTITION OF trees FOR VALUES FROM (%s) TO (%s) PARTITION BY LIST (k)', i, i, i + 1) FROM generate_series(0, 2) i \gexec
SELECT format('CREATE TABLE trees_%s_%s PARTITION OF trees_%s FOR VALUES IN (%s, %s)', i, j, i, j, j + 10) FROM generate_series(0, 2) i, generate_series(0, 3) j \gexec
INSERT INTO trees SELECT i % 3, i % 4 + 10 * (i % 2), i FROM generate_series(1, 1000) i;
SELECT * FROM compared('SELECT trees.* FROM trees JOIN dim ON trees.d = dim.k WHERE dim.big = 1');
SELECT * FROM compared('SELECT trees.* FROM trees JOIN dim USING (k) WHERE dim.k IN (2, 11)');
-- two columns, of which the first is compared
CREATE TABLE pairs (k int, d int, v int) PARTITION BY RANGE (k, d);
CREATE TABLE pairs_1 PARTITION OF pairs FOR VALUES FROM (1, 1) TO (5, 5);
CREATE TABLE pairs_2 PARTITION OF pairs FOR VALUES FROM (5, 5) TO (5, 9);
CREATE TABLE pairs_3 PARTITION OF pairs FOR VALUES FROM (5, 9) TO (MAXVALUE, MAXVALUE);
INSERT INTO pairs SELECT i % 8 + 2, i % 9, i FROM generate_series(1, 1000) i;
SELECT * FROM compared('SELECT pairs.* FROM pairs JOIN dim USING (k) WHERE dim.big = 3');
SELECT * FROM compared('SELECT pairs.* FROM pairs JOIN dim USING (k) WHERE dim.big = 5');
SELECT * FROM compared('SELECT pairs.* FROM pairs JOIN dim USING (k) WHERE dim.big = 8');

-- below a default partition: core keeps a constraint that excludes what a dropped sibling had
CREATE TABLE list (k int, v int) PARTITION BY LIST (k);
CREATE TABLE list_1 PARTITION OF list FOR VALUES IN (1);
CREATE TABLE list_5 PARTITION OF list FOR VALUES IN (5);
CREATE TABLE list_default PARTITION OF list DEFAULT PARTITION BY HASH (v);
CREATE TABLE list_default_0 PARTITION OF list_default FOR VALUES WITH (MODULUS 1, REMAINDER 0);
INSERT INTO list SELECT i, i FROM generate_series(1, 100) i;
CREATE TABLE five AS SELECT 5 k;
ANALYZE list, five;
SELECT * FROM compared('SELECT list.* FROM list JOIN five USING (k)');
DROP TABLE list_5;
INSERT INTO list SELECT 5, i FROM generate_series(1, 10) i;
SELECT * FROM compared('SELECT list.* FROM list JOIN five USING (k)');

-- a serializable transaction locks what it does not read
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) FROM ranges JOIN dim USING (k) WHERE dim.big = 99;
SELECT count(DISTINCT relation) FROM pg_locks
WHERE mode = 'SIReadLock' AND pid = pg_backend_pid() AND relation::regclass::text LIKE 'ranges%';
COMMIT;

-- joins of several tables, executed again with other keys
SELECT * FROM compared('SELECT r.*, d.v FROM ranges r JOIN dim USING (k) JOIN days d ON d.d = dim.d WHERE dim.k IN (210, 250)');
PREPARE some_keys(int) AS SELECT count(*) FROM ranges JOIN dim USING (k) WHERE dim.big = $1;
SET plan_cache_mode = force_generic_plan;
EXECUTE some_keys(5);
EXECUTE some_keys(555);
SELECT i, (SELECT count(*) FROM ranges JOIN dim USING (k) WHERE dim.big = i) FROM generate_series(0, 900, 150) i;

-- a parallel append, of parallel scans and others
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
ALTER TABLE ranges_3 SET (parallel_workers = 0);
-- a scan that is skipped probes no row in any process; which process begins it is chance
CREATE FUNCTION skips(query text, OUT parallel boolean, OUT skips boolean) LANGUAGE sql AS $$
	SELECT bool_or(node @> '{"Node Type": "Append", "Parallel Aware": true}'),
		bool_or(node @> '{"Rows Probed": 0}' AND NOT node ? 'Rows Not Probed' AND (node->'Actual Loops')::int > 0)
	FROM nodes(query) node
$$;
SELECT * FROM skips('SELECT ranges.* FROM ranges JOIN dim USING (k) WHERE dim.k IN (150, 299, 300)');
SELECT rows FROM compared('SELECT ranges.* FROM ranges JOIN dim USING (k) WHERE dim.k IN (150, 299, 300)');
SELECT rows FROM compared('SELECT hashes.* FROM hashes JOIN dim ON hashes.k = dim.k WHERE dim.k IN (1, 500, 999)');
SET enable_parallel_hash = off;
SELECT * FROM skips('SELECT ranges.* FROM ranges JOIN dim USING (k) WHERE dim.k IN (150, 299, 300)');
SELECT rows FROM compared('SELECT ranges.* FROM ranges JOIN dim USING (k) WHERE dim.k IN (150, 299, 300)');
SET max_parallel_workers_per_gather = 0;

-- look-ups between the partitions of two tables, which name the parent until the plan is made
CREATE TABLE wise (k int, v int) PARTITION BY RANGE (k);
CREATE TABLE wise_1 PARTITION OF wise FOR VALUES FROM (0) TO (300);
CREATE TABLE wise_2 PARTITION OF wise FOR VALUES FROM (300) TO (600);
CREATE TABLE other (k int) PARTITION BY RANGE (k);
CREATE TABLE other_1 PARTITION OF other FOR VALUES FROM (0) TO (300);
CREATE TABLE other_2 PARTITION OF other FOR VALUES FROM (300) TO (600);
INSERT INTO wise SELECT i, i % 25 FROM generate_series(0, 599) i;
INSERT INTO other SELECT i FROM generate_series(0, 599, 2) i, generate_series(1, 30);
CREATE INDEX ON other (k);
CREATE INDEX ON other_1 USING membership (k);
CREATE INDEX ON other_2 USING membership (k);
ANALYZE wise, other;
SET enable_partitionwise_join = on;
SET bloomfilter.filter_scan = force;
SELECT count(*) FROM wise JOIN other USING (k) WHERE wise.v = 0 AND wise.k < 500;
RESET bloomfilter.filter_scan;
RESET enable_partitionwise_join;

-- random bounds and keys; those of a transaction's own partitions are not used
CREATE PROCEDURE random_bounds(rounds int, INOUT has_rows boolean = NULL, INOUT skips boolean = NULL) LANGUAGE plpgsql AS $$
DECLARE
	how text;
	total bigint := 0;
	skipped bigint := 0;
	answer record;
BEGIN
	PERFORM setseed(0.28);
	FOR round IN 1..rounds LOOP
		how := (ARRAY['RANGE', 'LIST', 'HASH'])[1 + round % 3];
		EXECUTE format('CREATE TABLE random_table (k %s, v int) PARTITION BY %s (k)',
			(ARRAY['int', 'bigint', 'smallint'])[1 + (random() * 2.99)::int % 3], how);
		FOR i IN 0..5 LOOP
			EXECUTE format('CREATE TABLE random_%s PARTITION OF random_table FOR VALUES ', i) ||
				CASE how WHEN 'RANGE' THEN format('FROM (%s) TO (%s)',
					CASE i WHEN 0 THEN 'MINVALUE' ELSE (i * 40 - 100)::text END,
					CASE i WHEN 5 THEN 'MAXVALUE' ELSE (i * 40 - 60)::text END)
				WHEN 'LIST' THEN format('IN (%s)', (SELECT string_agg(x::text, ',') FROM generate_series(-120 + i, 120, 6) x))
				ELSE format('WITH (MODULUS 6, REMAINDER %s)', i) END;
		END LOOP;
		INSERT INTO random_table SELECT (random() * 239)::int - 120, i FROM generate_series(1, 600) i;
		CREATE TABLE random_keys AS SELECT ((random() * 239)::int - 120) * (1 + (round % 5 / 4) * (i % 2) * 9000000) AS k
			FROM generate_series(1, 1 + round % 7 * 20) i;
		ANALYZE random_keys;
		COMMIT;
		SELECT * INTO answer FROM compared('SELECT r.* FROM random_table r JOIN random_keys USING (k)');
		total := total + answer.rows;
		skipped := skipped + answer.not_read;
		DROP TABLE random_table, random_keys;
	END LOOP;
	has_rows := total > 0;
	skips := skipped > 0;
END $$;
CALL random_bounds(60);

DROP SCHEMA partition_join CASCADE;
