--
-- Join filters: a partition whose bound excludes all keys of a join is not read,
-- and the query has the rows that it has without
--
\set ON_ERROR_STOP on
CREATE SCHEMA partition_bound;
SET search_path = partition_bound, public;
LOAD 'bloomfilter';
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET enable_mergejoin = off;
SET enable_nestloop = off;
SET enable_indexscan = off;
SET enable_bitmapscan = off;

\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/shared/plans.sql'
\i :file

-- How many scans of partitions EXPLAIN says were skipped, of how many Filter Scans; and
-- whether the rows are the same without join filters
CREATE FUNCTION compare(query text, OUT skipped bigint, OUT scans bigint, OUT rows bigint, OUT same boolean)
LANGUAGE plpgsql AS $$
DECLARE
	filtered text[];
BEGIN
	PERFORM set_config('bloomfilter.join_filter', 'force', false);
	SELECT coalesce(sum(substring(line FROM 'Skipped by Partition Bound: (\d+)')::bigint), 0), sum((line ~ 'Filter Scan')::int)
	INTO skipped, scans FROM plan_of(query, 'ANALYZE, COSTS off, TIMING off') line;
	filtered := result_of(query);
	PERFORM set_config('bloomfilter.join_filter', 'off', false);
	same := filtered = result_of(query);
	rows := cardinality(filtered);
END
$$;

-- ------------------------------------------------------------- kinds of bounds
CREATE TABLE keys (i2 smallint, i4 int, i8 bigint, d date, ts timestamp, tz timestamptz, n int, far bigint, sparse bigint, i4_far int);
INSERT INTO keys SELECT i, i, i, date '2020-01-01' + i, timestamp '2020-01-01' + i * interval '1 day',
	timestamptz '2020-01-01 UTC' + i * interval '1 day', i,
	5000000000 * sign(i) + i, i * 2000000::bigint, 70000 + i FROM generate_series(-1000, 1000) i;
ANALYZE keys;

-- Make a table of 2,000 rows with the column k of a type, and the partitions that are told
CREATE FUNCTION make(of_type text, value text, kind text, VARIADIC bounds text[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
	DROP TABLE IF EXISTS facts;
	EXECUTE format('CREATE TABLE facts (gone int, n int, k %s) PARTITION BY %s', of_type, kind);
	-- columns at other places than in the partitions
	ALTER TABLE facts DROP COLUMN gone;
	FOR i IN 1 .. cardinality(bounds) LOOP
		EXECUTE format('CREATE TABLE facts_%s PARTITION OF facts %s', i, bounds[i]);
	END LOOP;
	EXECUTE format('INSERT INTO facts (n, k) SELECT i, %s FROM generate_series(-1000, 1000) i', value);
	ANALYZE facts;
END
$$;
\set ON_ERROR_STOP off

-- ranges of each type; the first partition may be read before the keys are known
SELECT make('int', 'i', 'RANGE (k)', 'FOR VALUES FROM (MINVALUE) TO (-500)', 'FOR VALUES FROM (-500) TO (0)', 'FOR VALUES FROM (0) TO (500)', 'FOR VALUES FROM (500) TO (MAXVALUE)');
SELECT * FROM compare('SELECT f.* FROM facts f JOIN keys ON k = i4 WHERE keys.n BETWEEN 100 AND 110');
SELECT * FROM compare('SELECT f.* FROM facts f JOIN keys ON k = i8 WHERE keys.n BETWEEN 100 AND 110');
SELECT * FROM compare('SELECT f.* FROM facts f JOIN keys ON k = i2 WHERE keys.n BETWEEN 499 AND 500');
-- keys in two partitions: what lies between them is skipped
SELECT * FROM compare('SELECT f.* FROM facts f JOIN keys ON k = i4 WHERE keys.n IN (-400, 900)');
-- more keys than are tried
SELECT * FROM compare('SELECT f.* FROM facts f JOIN keys ON k = i4 WHERE keys.n < 490');
-- and so sparse that there is no bitmap
SELECT * FROM compare('SELECT f.* FROM facts f JOIN keys ON k = sparse WHERE keys.n < 0');
-- none that an int can be
SELECT * FROM compare('SELECT f.* FROM facts f JOIN keys ON k = far WHERE keys.n BETWEEN 100 AND 110');
SELECT * FROM compare('SELECT f.* FROM facts f JOIN keys ON k = far WHERE keys.n BETWEEN -5 AND 5 AND keys.n <> 0');
SELECT * FROM compare('SELECT f.* FROM facts f JOIN keys ON k = far WHERE keys.n BETWEEN -5 AND 5');
-- semi and right joins; an anti or a left join needs all rows
SELECT * FROM compare('SELECT f.* FROM facts f WHERE k IN (SELECT i4 FROM keys WHERE n BETWEEN 100 AND 110)');
SELECT * FROM compare('SELECT f.*, s FROM facts f RIGHT JOIN (SELECT i4 FROM keys WHERE n BETWEEN 100 AND 110 OFFSET 0) s ON k = i4');
SELECT * FROM compare('SELECT f.* FROM facts f WHERE NOT EXISTS (SELECT FROM keys WHERE i4 = k AND n BETWEEN 100 AND 110)');
SELECT * FROM compare('SELECT f.*, s FROM facts f LEFT JOIN (SELECT i4 FROM keys WHERE n BETWEEN 100 AND 110 OFFSET 0) s ON k = i4');
-- of rows that are hidden nothing is told
ALTER TABLE facts ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON facts USING (n < 105);
CREATE ROLE partition_bound_user;
GRANT USAGE ON SCHEMA partition_bound TO partition_bound_user;
GRANT SELECT ON ALL TABLES IN SCHEMA partition_bound TO partition_bound_user;
SET ROLE partition_bound_user;
SELECT * FROM compare('SELECT f.* FROM facts f JOIN keys ON k = i4 WHERE keys.n BETWEEN 100 AND 110');
RESET ROLE;

SELECT make('smallint', 'i', 'RANGE (k)', 'FOR VALUES FROM (MINVALUE) TO (0)', 'FOR VALUES FROM (0) TO (500)', 'DEFAULT');
SELECT * FROM compare('SELECT f.* FROM facts f JOIN keys ON k = i8 WHERE keys.n BETWEEN 100 AND 110');
SELECT * FROM compare('SELECT f.* FROM facts f JOIN keys ON k = i4_far WHERE keys.n BETWEEN 100 AND 110');
SELECT make('date', $$date '2020-01-01' + i$$, 'RANGE (k)', $$FOR VALUES FROM (MINVALUE) TO ('2020-01-01')$$, $$FOR VALUES FROM ('2020-01-01') TO ('2020-06-01')$$, $$FOR VALUES FROM ('2020-06-01') TO ('2022-01-01')$$, 'DEFAULT');
SELECT * FROM compare('SELECT f.* FROM facts f JOIN keys ON k = d WHERE keys.n BETWEEN 100 AND 110');
SELECT * FROM compare('SELECT f.* FROM facts f JOIN keys ON k = ts WHERE keys.n BETWEEN 100 AND 110');
-- infinite keys
CREATE TABLE ends AS SELECT date 'infinity' AS d UNION ALL SELECT '-infinity';
ANALYZE ends;
INSERT INTO facts (n, k) VALUES (1, 'infinity'), (2, '-infinity');
SELECT * FROM compare('SELECT f.* FROM facts f JOIN ends ON k = d');
SELECT make('timestamp', $$timestamp '2020-01-01' + i * interval '1 day'$$, 'RANGE (k)', $$FOR VALUES FROM (MINVALUE) TO ('2020-01-01')$$, $$FOR VALUES FROM ('2020-01-01') TO ('2020-06-01')$$, $$FOR VALUES FROM ('2020-06-01') TO ('2022-01-01')$$, 'DEFAULT');
SELECT * FROM compare('SELECT f.* FROM facts f JOIN keys ON k = ts WHERE keys.n BETWEEN 100 AND 110');
SELECT make('timestamptz', $$timestamptz '2020-01-01 UTC' + i * interval '1 day'$$, 'RANGE (k)', $$FOR VALUES FROM (MINVALUE) TO ('2020-01-01')$$, $$FOR VALUES FROM ('2020-01-01') TO ('2020-06-01')$$, $$FOR VALUES FROM ('2020-06-01') TO ('2022-01-01')$$, 'DEFAULT');
SELECT * FROM compare('SELECT f.* FROM facts f JOIN keys ON k = tz WHERE keys.n BETWEEN 100 AND 110');

-- lists, with NULL and the rest
SELECT make('int', 'nullif(i, 3) % 10', 'LIST (k)', 'FOR VALUES IN (0, 1, NULL)', 'FOR VALUES IN (2, -2, 3)', 'FOR VALUES IN (5)', 'DEFAULT');
SELECT * FROM compare('SELECT f.* FROM facts f JOIN keys ON k = i4 WHERE keys.n IN (5, 2)');
SELECT * FROM compare('SELECT f.* FROM facts f JOIN keys ON k = i4 WHERE keys.n IN (5, 9)');
SELECT * FROM compare('SELECT f.* FROM facts f JOIN keys ON k = i4 WHERE keys.n = 0');
-- hashes
SELECT make('bigint', 'i', 'HASH (k)', 'FOR VALUES WITH (MODULUS 4, REMAINDER 0)', 'FOR VALUES WITH (MODULUS 4, REMAINDER 1)', 'FOR VALUES WITH (MODULUS 4, REMAINDER 2)', 'FOR VALUES WITH (MODULUS 4, REMAINDER 3)');
SELECT * FROM compare('SELECT f.* FROM facts f JOIN keys ON k = i8 WHERE keys.n = 7');
SELECT * FROM compare('SELECT f.* FROM facts f JOIN keys ON k = i4 WHERE keys.n BETWEEN 7 AND 9');
-- expressions
SELECT make('int', 'i', 'RANGE ((k / 100))', 'FOR VALUES FROM (MINVALUE) TO (0)', 'FOR VALUES FROM (0) TO (3)', 'FOR VALUES FROM (3) TO (5)', 'DEFAULT');
SELECT * FROM compare('SELECT f.* FROM facts f JOIN keys ON k = i4 WHERE keys.n BETWEEN 300 AND 310');
-- several columns: each partition may have any k but in the first range
SELECT make('int', 'i', 'RANGE (k, n)', 'FOR VALUES FROM (MINVALUE, MINVALUE) TO (0, 0)', 'FOR VALUES FROM (0, 0) TO (0, 500)', 'FOR VALUES FROM (0, 500) TO (600, 5)', 'DEFAULT');
SELECT * FROM compare('SELECT f.* FROM facts f JOIN keys ON k = i4 WHERE keys.n BETWEEN 300 AND 310');
-- partitions of partitions
SELECT make('int', 'i', 'RANGE (k)', 'FOR VALUES FROM (MINVALUE) TO (0)', 'FOR VALUES FROM (0) TO (500)', 'DEFAULT');
CREATE TABLE more (k int, n int) PARTITION BY LIST (n);
CREATE TABLE more_1 PARTITION OF more DEFAULT;
CREATE TABLE two_thousand AS SELECT 2000 + i AS k FROM generate_series(100, 110) i;
INSERT INTO more SELECT i, i FROM generate_series(2000, 2400) i;
CREATE TABLE top (n int, k int) PARTITION BY RANGE (k);
ALTER TABLE top ATTACH PARTITION facts FOR VALUES FROM (-1000) TO (2000);
ALTER TABLE top ATTACH PARTITION more FOR VALUES FROM (2000) TO (3000);
SELECT * FROM compare('SELECT f.* FROM top f JOIN keys ON k = i4 WHERE keys.n BETWEEN 900 AND 910');
SELECT * FROM compare('SELECT f.* FROM top f JOIN two_thousand t ON f.k = t.k');
ALTER TABLE top DETACH PARTITION facts;
SELECT * FROM compare('SELECT f.* FROM facts f JOIN keys ON k = i4 WHERE keys.n BETWEEN 900 AND 910');
SELECT * FROM compare('SELECT f.* FROM facts f JOIN keys ON k = i4 WHERE keys.n BETWEEN 100 AND 110');
-- a partition that is asked by its own name
SELECT * FROM compare('SELECT f.* FROM facts_3 f JOIN keys ON k = i4 WHERE keys.n BETWEEN 100 AND 110');
-- a partition that was one
ALTER TABLE facts DETACH PARTITION facts_3;
INSERT INTO facts_3 (n, k) VALUES (1, 105);
SELECT * FROM compare('SELECT f.* FROM facts_3 f JOIN keys ON k = i4 WHERE keys.n BETWEEN 100 AND 110');
DROP TABLE facts_3;
-- functions that are not the server's own are not called
CREATE FUNCTION tenth(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN $1 / 10; END $$;
SELECT make('int', 'i', 'RANGE (tenth(k))', 'FOR VALUES FROM (MINVALUE) TO (0)', 'FOR VALUES FROM (0) TO (3)', 'FOR VALUES FROM (3) TO (5)', 'DEFAULT');
SELECT * FROM compare('SELECT f.* FROM facts f JOIN keys ON k = i4 WHERE keys.n BETWEEN 100 AND 110');

-- a partition of less than 1 MB is read at once
CREATE TABLE sized (k int) PARTITION BY RANGE (k);
CREATE TABLE sized_1 PARTITION OF sized FOR VALUES FROM (0) TO (200);
CREATE TABLE sized_2 PARTITION OF sized FOR VALUES FROM (200) TO (400) WITH (fillfactor = 10);
CREATE TABLE sized_3 PARTITION OF sized FOR VALUES FROM (400) TO (600) WITH (fillfactor = 10);
CREATE TABLE sized_4 PARTITION OF sized FOR VALUES FROM (600) TO (800);
INSERT INTO sized SELECT i FROM generate_series(0, 199) i;
-- 22 in a page
INSERT INTO sized SELECT 200 + i % 200 FROM generate_series(1, 127 * 22) i;
INSERT INTO sized SELECT 400 + i % 200 FROM generate_series(1, 128 * 22) i;
-- makes filters worth it
INSERT INTO sized SELECT 600 + i % 200 FROM generate_series(1, 100000) i;
ANALYZE sized;
SET bloomfilter.join_filter = on;
SELECT node->'Alias' AS scan, node->'Scans Skipped by Partition Bound' AS skipped
FROM nodes('SELECT s.k FROM sized s JOIN keys ON s.k = i4 WHERE keys.n = 7') node
WHERE node->>'Custom Plan Provider' = 'Filter Scan';
SET bloomfilter.join_filter = force;
SELECT node->'Alias' AS scan, node->'Scans Skipped by Partition Bound' AS skipped
FROM nodes('SELECT s.k FROM sized s JOIN keys ON s.k = i4 WHERE keys.n = 7') node
WHERE node->>'Custom Plan Provider' = 'Filter Scan';

-- ------------------------------------------------------------------ parallel
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
-- keys that are kept beside a Bloom filter: of each process, of all of them, and a copy
SELECT make('bigint', 'i * 2000000::bigint', 'RANGE (k)', 'FOR VALUES FROM (MINVALUE) TO (-1000000000)', 'FOR VALUES FROM (-1000000000) TO (0)', 'FOR VALUES FROM (0) TO (1000000000)', 'FOR VALUES FROM (1000000000) TO (MAXVALUE)');
SET enable_parallel_hash = off;
SELECT rows, same FROM compare('SELECT f.* FROM facts f JOIN keys ON k = sparse WHERE keys.n IN (-900, 900)');
SET enable_parallel_hash = on;
SELECT rows, same FROM compare('SELECT f.* FROM facts f JOIN keys ON k = sparse WHERE keys.n IN (-900, 900)');
SELECT rows, same FROM compare('SELECT f.* FROM (SELECT k, count(*) FROM facts GROUP BY k) f JOIN keys ON k = sparse WHERE keys.n IN (-900, 900)');
-- no worker starts: the leader says what it skips
SET max_parallel_workers = 0;
SELECT skipped, rows, same FROM compare('SELECT f.* FROM facts f JOIN keys ON k = sparse WHERE keys.n IN (-900, 900)');
SELECT skipped, rows, same FROM compare('SELECT f.* FROM (SELECT k, count(*) FROM facts GROUP BY k) f JOIN keys ON k = sparse WHERE keys.n IN (-900, 900)');
RESET max_parallel_workers;
SELECT make('int', 'i', 'RANGE (k)', 'FOR VALUES FROM (MINVALUE) TO (-500)', 'FOR VALUES FROM (-500) TO (0)', 'FOR VALUES FROM (0) TO (500)', 'FOR VALUES FROM (500) TO (MAXVALUE)');
SELECT rows, same FROM compare('SELECT f.* FROM facts f JOIN keys ON k = i4 WHERE keys.n BETWEEN 100 AND 110');
SET enable_parallel_hash = off;
SELECT rows, same FROM compare('SELECT f.* FROM facts f JOIN keys ON k = i4 WHERE keys.n IN (-400, 900)');

-- ------------------------------------------------------------------- cursors
RESET max_parallel_workers_per_gather;
RESET parallel_setup_cost;
SET bloomfilter.join_filter = force;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT f.k FROM facts f JOIN keys ON k = i4 WHERE keys.n BETWEEN 498 AND 501;
FETCH 3 FROM c;
FETCH BACKWARD 3 FROM c;
FETCH ALL FROM c;
FETCH BACKWARD 1 FROM c;
COMMIT;
-- one that sees a row which its transaction has deleted since, for the table to become a partition
CREATE TABLE later AS SELECT i AS k FROM generate_series(1, 1000) i;
CREATE TABLE parted (k int) PARTITION BY RANGE (k);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (10);
INSERT INTO parted VALUES (1);
ANALYZE parted, later;
SET cursor_tuple_fraction = 1;
SET max_parallel_workers_per_gather = 0;
BEGIN;
DECLARE c CURSOR FOR SELECT l.k FROM (SELECT k FROM parted_1 UNION ALL SELECT k FROM later) l JOIN keys ON k = i4 WHERE keys.n = 5;
DELETE FROM later WHERE k < 10;
ALTER TABLE parted ATTACH PARTITION later FOR VALUES FROM (10) TO (2000);
FETCH ALL FROM c;
COMMIT;
SELECT * FROM compare('SELECT l.k FROM (SELECT k FROM parted_1 UNION ALL SELECT k FROM later) l JOIN keys ON k = i4 WHERE keys.n = 5');

DROP SCHEMA partition_bound CASCADE;
DROP ROLE partition_bound_user;
