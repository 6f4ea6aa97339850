--
-- The order of filters: by their bytes, so that what needs a btree operator class
-- works.  It is consistent with "=".
--
\set ON_ERROR_STOP on
CREATE TABLE blooms (id int PRIMARY KEY, f bloom);
INSERT INTO blooms
SELECT 100 * n + x, bloom_add(f, x % 5)
FROM (VALUES (1, bloom_create(10)),
			 (2, bloom_create(10, 1e-5)),
			 (3, bloom_create_bits(100, 5)),
			 (4, bloom_create(10, seed => 1)),
			 (5, bloom_create(20000)),
			 (6, (SELECT bloom_agg(1) WHERE false))) AS t(n, f), generate_series(1, 10) AS x;
INSERT INTO blooms VALUES (1001, NULL), (1002, NULL),
	(1003, (SELECT bloom_agg(1) WHERE false)), (1004, (SELECT bloom_agg(1) WHERE false));
CREATE TABLE cuckoos (id int PRIMARY KEY, f cuckoo);
INSERT INTO cuckoos
SELECT 100 * n + x, cuckoo_add(f, x % 5)
FROM (VALUES (1, cuckoo_create(10)), (2, cuckoo_create(10, 1e-5)), (5, cuckoo_create(20000)),
			 (6, (SELECT cuckoo_agg(1) WHERE false))) AS t(n, f), generate_series(1, 10) AS x;
INSERT INTO cuckoos VALUES (1001, NULL), (1002, NULL),
	(1003, (SELECT cuckoo_agg(1) WHERE false)), (1004, (SELECT cuckoo_agg(1) WHERE false));
\set ON_ERROR_STOP off

-- All that needs an order
SELECT count(DISTINCT f) AS blooms FROM blooms;
SELECT count(DISTINCT f) AS cuckoos FROM cuckoos;
SELECT min(n) AS fewest, max(n) AS most FROM (SELECT count(*) OVER (PARTITION BY f) AS n FROM blooms WHERE f IS NOT NULL) AS t;
SELECT count(*) AS groups FROM (SELECT DISTINCT ON (f) id FROM cuckoos ORDER BY f, id) AS t;

-- It is the order of the bytes: no rows
SELECT a.id, b.id FROM blooms AS a, blooms AS b
WHERE (a.f < b.f) <> (a.f::bytea < b.f::bytea) OR (a.f <= b.f) <> (a.f::bytea <= b.f::bytea)
   OR (a.f > b.f) <> (a.f::bytea > b.f::bytea) OR (a.f >= b.f) <> (a.f::bytea >= b.f::bytea)
   OR (a.f = b.f) <> (a.f::bytea = b.f::bytea) OR sign(_bloom_cmp(a.f, b.f)) <> sign(byteacmp(a.f::bytea, b.f::bytea));
SELECT a.id, b.id FROM cuckoos AS a, cuckoos AS b
WHERE (a.f < b.f) <> (a.f::bytea < b.f::bytea) OR (a.f <= b.f) <> (a.f::bytea <= b.f::bytea)
   OR (a.f > b.f) <> (a.f::bytea > b.f::bytea) OR (a.f >= b.f) <> (a.f::bytea >= b.f::bytea)
   OR (a.f = b.f) <> (a.f::bytea = b.f::bytea) OR sign(_cuckoo_cmp(a.f, b.f)) <> sign(byteacmp(a.f::bytea, b.f::bytea));

-- Every way of joining gives the same
SET enable_hashjoin = off;
SET enable_nestloop = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM blooms AS a JOIN blooms AS b USING (f);
SELECT count(*) AS merge_join FROM blooms AS a JOIN blooms AS b USING (f);
SELECT count(*) AS merge_join FROM cuckoos AS a JOIN cuckoos AS b USING (f);
SET enable_hashjoin = on;
SET enable_mergejoin = off;
SELECT count(*) AS hash_join FROM blooms AS a JOIN blooms AS b USING (f);
SELECT count(*) AS hash_join FROM cuckoos AS a JOIN cuckoos AS b USING (f);
RESET enable_hashjoin;
RESET enable_nestloop;
RESET enable_mergejoin;

-- An index of small filters; large ones do not fit
CREATE UNIQUE INDEX small_blooms ON blooms (f, id) WHERE id < 500 OR id > 599;
CREATE INDEX small_cuckoos ON cuckoos (f) WHERE id < 500 OR id > 599;
SET enable_seqscan = off;
SET enable_sort = off;
SELECT id FROM blooms WHERE f = bloom_add(bloom_create(10), 1) AND (id < 500 OR id > 599) ORDER BY id;
SELECT count(*) AS not_less FROM cuckoos WHERE f >= cuckoo_add(cuckoo_create(10), 1) AND (id < 500 OR id > 599);
SET enable_seqscan = on;
SET enable_indexscan = off;
SET enable_bitmapscan = off;
SELECT count(*) AS not_less FROM cuckoos WHERE f >= cuckoo_add(cuckoo_create(10), 1) AND (id < 500 OR id > 599);
RESET enable_seqscan;
RESET enable_sort;
RESET enable_indexscan;
RESET enable_bitmapscan;

-- Statistics, of one column and of two
CREATE STATISTICS blooms_both (ndistinct, dependencies, mcv) ON id, f FROM blooms;
ANALYZE blooms, cuckoos;
SELECT attname, n_distinct < 0 OR n_distinct > 1 AS counted FROM pg_stats WHERE tablename IN ('blooms', 'cuckoos') AND attname = 'f';
SELECT stxdndistinct IS NOT NULL AS extended FROM pg_statistic_ext_data d
	JOIN pg_statistic_ext s ON s.oid = stxoid WHERE stxname = 'blooms_both';

-- Stored forms do not matter, nor where two filters begin to differ: the beginning of
-- stored ones is read alone
CREATE TABLE forms (id int, f bloom);
INSERT INTO forms VALUES (1, bloom_add_all(bloom_create(20000), ARRAY(SELECT generate_series(1, 5000))));
INSERT INTO forms SELECT 2, (f::bytea)::bloom FROM forms WHERE id = 1;
ALTER TABLE forms ALTER f SET STORAGE main;
INSERT INTO forms SELECT 3, f FROM forms WHERE id = 1;
ALTER TABLE forms ALTER f SET STORAGE extended;
INSERT INTO forms SELECT 4, bloom_add(bloom_create(20000), 1);
INSERT INTO forms SELECT 5, bloom_add(bloom_create(20000), 1);
INSERT INTO forms SELECT 6, bloom_create(20000);
INSERT INTO forms SELECT 7, bloom_union(bloom_create(20000), f) FROM forms WHERE id = 1;
SELECT array_agg(id ORDER BY id) AS same FROM forms GROUP BY f ORDER BY min(id);
SELECT count(DISTINCT f) AS filters FROM forms;
SELECT a.id, b.id FROM forms AS a, forms AS b
WHERE _bloom_cmp(a.f, b.f) <> -_bloom_cmp(b.f, a.f) OR sign(_bloom_cmp(a.f, b.f)) <> sign(byteacmp(a.f::bytea, b.f::bytea))
   OR sign(_bloom_cmp(bloom_union(bloom_create(20000), a.f), b.f)) <> sign(byteacmp(a.f::bytea, b.f::bytea));
-- and the last byte counts
SELECT f = g AS equal, f < g AS less
FROM forms, LATERAL (SELECT bloom_union(f, bloom_add_all(bloom_create(20000), ARRAY(SELECT generate_series(6000, 6009)))) AS g) AS t WHERE id = 1;

-- Comparing leaves no copies behind: those of this sort would take 60 MB
CREATE FUNCTION memory() RETURNS bigint LANGUAGE sql AS
$$ SELECT sum(total_bytes)::bigint FROM pg_backend_memory_contexts $$;
CREATE TABLE many AS SELECT i, bloom_add(bloom_create(20000), i % 7) AS f FROM generate_series(1, 1000) AS i;
SELECT memory() AS before \gset
SELECT count(*) AS rows, max(CASE WHEN place = 5 THEN memory() END) - :before < 20000000 AS little_memory
FROM (SELECT row_number() OVER (ORDER BY f) AS place FROM many) AS t;
DROP TABLE many, forms, blooms, cuckoos;
DROP FUNCTION memory;
