--
-- Parallel workers make the same filters, byte for byte.
--
\set ON_ERROR_STOP on
CREATE TABLE parallel_rows AS
SELECT i, 'word ' || i AS word, i % 5 AS g, CASE WHEN i % 10 = 0 THEN i END AS sparse
FROM generate_series(1, 60000) AS i;
ALTER TABLE parallel_rows SET (parallel_workers = 2);
ANALYZE parallel_rows;
-- filters that can be united within their capacity
CREATE TABLE parallel_filters AS
SELECT i % 40 AS n, bloom_agg(i, 60000, NULL) AS f, bloom_agg(i, 800, NULL) AS grown,
	   bloom_add_all(bloom_create(60000, growth => 0), array_agg(i)) AS fixed
FROM parallel_rows GROUP BY 1;
INSERT INTO parallel_filters (n) VALUES (40);
INSERT INTO parallel_filters
SELECT 41, e, e, e FROM (SELECT bloom_agg(i) AS e FROM parallel_rows WHERE false) AS empty;
ALTER TABLE parallel_filters SET (parallel_workers = 2);
ANALYZE parallel_filters;

-- Run a query of one row serially and with two workers; return whether these were
-- planned, and whether the results are the same
CREATE FUNCTION same_in_parallel(query text, OUT planned_workers int, OUT same boolean, OUT rows bigint)
LANGUAGE plpgsql AS
$$
DECLARE
	plan		json;
	alone		text[];
	together	text[];
BEGIN
	query := format('SELECT array_agg(t::text ORDER BY t::text) FROM (%s) AS t', query);
	SET LOCAL max_parallel_workers_per_gather = 0;
	EXECUTE query INTO alone;
	SET LOCAL max_parallel_workers_per_gather = 2;
	SET LOCAL parallel_setup_cost = 0;
	SET LOCAL parallel_tuple_cost = 0;
	SET LOCAL min_parallel_table_scan_size = 0;
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	planned_workers := (regexp_match(plan::text, '"Workers Planned": (\d+)'))[1];
	EXECUTE query INTO together;
	same := alone = together;
	rows := cardinality(together);
END
$$;
\set ON_ERROR_STOP off

SELECT what, r.* FROM (VALUES
	('agg(x)', 'SELECT bloom_agg(word) FROM parallel_rows'),
	('agg(x, capacity)', 'SELECT bloom_agg(i, 100000, NULL) FROM parallel_rows'),
	('agg(x, error rate)', 'SELECT bloom_agg(i, NULL, 1e-4) FROM parallel_rows'),
	('agg(x, capacity, error rate)', 'SELECT bloom_agg(word, 100000, 1e-4) FROM parallel_rows'),
	('agg of hashed elements', 'SELECT bloom_agg(bloom_element(word, 7), 100000, 0.05) FROM parallel_rows'),
	('agg that grows', 'SELECT bloom_agg(word, 10, NULL) FROM parallel_rows'),
	('agg with NULLs', 'SELECT bloom_agg(sparse) FROM parallel_rows'),
	('agg of repeated elements', 'SELECT bloom_agg(i % 1000) FROM parallel_rows'),
	('agg of one element', 'SELECT bloom_agg(''x''::text) FROM parallel_rows'),
	('agg of few rows', 'SELECT bloom_agg(i) FROM parallel_rows WHERE i < 4'),
	('agg of no rows', 'SELECT bloom_agg(i) FROM parallel_rows WHERE i < 0'),
	('agg of records', 'SELECT bloom_agg(ROW(i, word)) FROM parallel_rows'),
	('agg with FILTER', 'SELECT bloom_agg(i) FILTER (WHERE g = 1), bloom_agg(word) FILTER (WHERE i < 0) FROM parallel_rows'),
	('agg with GROUP BY', 'SELECT g, bloom_agg(i), bloom_agg(word, 100, NULL) FROM parallel_rows GROUP BY g'),
	('agg with many groups', 'SELECT i % 5000, bloom_agg(i) FROM parallel_rows GROUP BY 1'),
	('union_agg', 'SELECT bloom_union_agg(f), bloom_union_agg(fixed) FROM parallel_filters'),
	('union_agg with GROUP BY', 'SELECT n % 4, bloom_union_agg(f) FROM parallel_filters GROUP BY 1'),
	('union_agg of no rows', 'SELECT bloom_union_agg(f) FROM parallel_filters WHERE n = 40'),
	('intersection_agg', 'SELECT bloom_intersection_agg(f) FROM parallel_filters WHERE n < 41'),
	('intersection_agg of fixed', 'SELECT bloom_intersection_agg(fixed) FROM parallel_filters WHERE n < 41'),
	('intersection_agg with an empty', 'SELECT bloom_intersection_agg(f) FROM parallel_filters'),
	('intersection_agg with GROUP BY', 'SELECT n % 4, bloom_intersection_agg(f) FROM parallel_filters GROUP BY 1'),
	('intersection_agg of no rows', 'SELECT bloom_intersection_agg(f) FROM parallel_filters WHERE n = 40'),
	('contains', 'SELECT count(*) FROM parallel_rows WHERE bloom_contains((SELECT f FROM parallel_filters WHERE n = 1), i)'),
	('contains, constant', 'SELECT count(*) FROM parallel_rows WHERE bloom_add(bloom_create(100), 7) @> i'),
	('add', 'SELECT count(DISTINCT bloom_add(bloom_create(2000), word)::text) FROM parallel_rows WHERE i % 50 = 0')
) AS v(what, query), LATERAL same_in_parallel(query) AS r;

-- cuckoo: the aggregates of elements make the same bytes; unions the same
-- multisets, in places that depend on their order
CREATE TABLE parallel_cuckoos AS
SELECT i % 40 AS n, cuckoo_agg(i, 60000, NULL) AS f FROM parallel_rows GROUP BY 1;
INSERT INTO parallel_cuckoos (n) VALUES (40);
INSERT INTO parallel_cuckoos SELECT 41, cuckoo_agg(i) FROM parallel_rows WHERE false;
ALTER TABLE parallel_cuckoos SET (parallel_workers = 2);
ANALYZE parallel_cuckoos;
SELECT what, r.* FROM (VALUES
	('agg(x)', 'SELECT cuckoo_agg(word) FROM parallel_rows'),
	('agg(x, capacity)', 'SELECT cuckoo_agg(i, 100000, NULL) FROM parallel_rows'),
	('agg(x, error rate)', 'SELECT cuckoo_agg(i, NULL, 1e-4) FROM parallel_rows'),
	('agg(x, capacity, error rate)', 'SELECT cuckoo_agg(word, 100000, 1e-4) FROM parallel_rows'),
	('agg of hashed elements', 'SELECT cuckoo_agg(bloom_element(word, 7), 100000, 0.05) FROM parallel_rows'),
	('agg that grows', 'SELECT cuckoo_agg(word, 10, NULL) FROM parallel_rows'),
	('agg with NULLs', 'SELECT cuckoo_agg(sparse) FROM parallel_rows'),
	('agg of repeated elements', 'SELECT cuckoo_agg(i % 1000) FROM parallel_rows'),
	('agg of one element', 'SELECT cuckoo_agg(''x''::text) FROM parallel_rows'),
	('agg of few rows', 'SELECT cuckoo_agg(i) FROM parallel_rows WHERE i < 4'),
	('agg of no rows', 'SELECT cuckoo_agg(i) FROM parallel_rows WHERE i < 0'),
	('agg with FILTER', 'SELECT cuckoo_agg(i) FILTER (WHERE g = 1), cuckoo_agg(word) FILTER (WHERE i < 0) FROM parallel_rows'),
	('agg with GROUP BY', 'SELECT g, cuckoo_agg(i), cuckoo_agg(word, 100, NULL) FROM parallel_rows GROUP BY g'),
	('union_agg', 'SELECT cuckoo_cardinality(cuckoo_union_agg(f)), cuckoo_contains_all(cuckoo_union_agg(f), ARRAY(SELECT generate_series(1, 60000))), (cuckoo_info(cuckoo_union_agg(f))).layers FROM parallel_cuckoos'),
	('union_agg with GROUP BY', 'SELECT n % 4, cuckoo_cardinality(cuckoo_union_agg(f)), cuckoo_contains(cuckoo_union_agg(f), n % 4 + 40) FROM parallel_cuckoos GROUP BY n % 4'),
	('union_agg of no rows', 'SELECT cuckoo_union_agg(f) FROM parallel_cuckoos WHERE n = 40'),
	('contains', 'SELECT count(*) FROM parallel_rows WHERE cuckoo_contains((SELECT f FROM parallel_cuckoos WHERE n = 1), i)'),
	('contains, constant', 'SELECT count(*) FROM parallel_rows WHERE cuckoo_add(cuckoo_create(100), 7) @> i'),
	('count and remove', 'SELECT sum(cuckoo_count(cuckoo_remove(cuckoo_add_all(cuckoo_create(200), ARRAY[7, 7]), i), 7)) FROM parallel_rows')
) AS v(what, query), LATERAL same_in_parallel(query) AS r;
DROP TABLE parallel_cuckoos;

-- Filters built in parallel give the right answers
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
-- (not in temporary tables, which workers cannot read)
CREATE TABLE built AS
SELECT bloom_agg(i) AS exact, bloom_agg(i, 1000, NULL) AS grown, bloom_agg(i, NULL, 1e-6) AS precise FROM parallel_rows;
-- united past their capacity: bytes are not promised, but answers are
CREATE TABLE united AS
SELECT bloom_union_agg(grown) AS grown FROM parallel_filters WHERE n % 8 = 0 OR n > 39;
RESET max_parallel_workers_per_gather;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
SELECT count(*) FILTER (WHERE bloom_contains((SELECT exact FROM built), i)) AS exact,
	   count(*) FILTER (WHERE bloom_contains((SELECT grown FROM built), i)) AS grown,
	   count(*) FILTER (WHERE bloom_contains((SELECT precise FROM built), i)) AS precise,
	   count(*) FILTER (WHERE i % 8 = 0) AS rows_united,
	   count(*) FILTER (WHERE i % 8 = 0 AND bloom_contains((SELECT grown FROM united), i)) AS united
FROM parallel_rows;
DROP TABLE built, united;

-- Partitionwise aggregation: partial states within one process
CREATE TABLE partitioned_rows (i int, word text) PARTITION BY RANGE (i);
CREATE TABLE partition_1 PARTITION OF partitioned_rows FOR VALUES FROM (0) TO (10);
CREATE TABLE partition_2 PARTITION OF partitioned_rows FOR VALUES FROM (10) TO (30000);
CREATE TABLE partition_3 PARTITION OF partitioned_rows FOR VALUES FROM (30000) TO (90000);
CREATE TABLE partition_4 PARTITION OF partitioned_rows FOR VALUES FROM (90000) TO (90001);
INSERT INTO partitioned_rows SELECT i, word FROM parallel_rows;
ANALYZE partitioned_rows;
CREATE TEMP TABLE expected AS
SELECT 1 AS n, bloom_agg(word) AS f, bloom_agg(i, 100, NULL) AS g FROM parallel_rows;
CREATE TEMP TABLE expected_groups AS
SELECT i % 3 AS g, bloom_agg(word) AS f, bloom_agg(i, 100, NULL) AS h FROM parallel_rows GROUP BY 1;
SET enable_partitionwise_aggregate = on;
SET max_parallel_workers_per_gather = 0;
SELECT f = (SELECT bloom_agg(word) FROM partitioned_rows) AS f, g = (SELECT bloom_agg(i, 100, NULL) FROM partitioned_rows) AS g
FROM expected;
SELECT count(*) AS groups, bool_and(e.f = u.f) AS f, bool_and(e.h = u.h) AS h
FROM (SELECT i % 3 AS g, bloom_agg(word) AS f, bloom_agg(i, 100, NULL) AS h FROM partitioned_rows GROUP BY 1) AS u
	JOIN expected_groups AS e USING (g);
-- with partial groups hashed and sorted
SET enable_hashagg = off;
SELECT count(*) AS groups, bool_and(e.f = u.f) AS f, bool_and(e.h = u.h) AS h
FROM (SELECT i % 3 AS g, bloom_agg(word) AS f, bloom_agg(i, 100, NULL) AS h FROM partitioned_rows GROUP BY 1) AS u
	JOIN expected_groups AS e USING (g);
RESET enable_hashagg;
RESET max_parallel_workers_per_gather;
SELECT r.* FROM (VALUES
	('SELECT bloom_agg(word), bloom_agg(i, 100, NULL) FROM partitioned_rows'),
	('SELECT i % 3, bloom_agg(word), bloom_agg(i, 100, NULL) FROM partitioned_rows GROUP BY 1')
) AS v(query), LATERAL same_in_parallel(query) AS r;
RESET enable_partitionwise_aggregate;

DROP TABLE partitioned_rows, expected, expected_groups, parallel_rows, parallel_filters;
DROP FUNCTION same_in_parallel;
