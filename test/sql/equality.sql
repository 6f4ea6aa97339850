--
-- Identity of filters: that of their bytes.
--
\set ON_ERROR_STOP on
CREATE TABLE same (id int PRIMARY KEY, what text, f bloom);
INSERT INTO same
SELECT 10 * n + x, what, bloom_add(f, x % 2)
FROM (VALUES (1, 'block512', bloom_create(2000)),
			 (2, 'block512x2', bloom_create(2000, 1e-5)),
			 (7, 'small', bloom_create(10)),
			 (8, 'small, keyed', bloom_create(10, seed => 1)),
			 (3, 'classic', bloom_create_bits(100, 5)),
			 (4, 'keyed', bloom_create(2000, seed => 1)),
			 (5, 'large', bloom_create(20000)),
			 (6, 'explicit', (SELECT bloom_agg(1) WHERE false))) AS t(n, what, f), generate_series(1, 4) AS x;
INSERT INTO same VALUES (100, 'null', NULL), (101, 'null', NULL),
	(102, 'empty', (SELECT bloom_agg(1) WHERE false)), (103, 'empty', (SELECT bloom_agg(1) WHERE false));
\set ON_ERROR_STOP off

-- DISTINCT, GROUP BY and set operations: two of each, one empty and one NULL
SELECT what, count(*) FROM (SELECT DISTINCT what, f FROM same) AS t GROUP BY what ORDER BY what COLLATE "C";
SELECT count(*) AS rows, sum(n) AS total FROM (SELECT f, count(*) AS n FROM same GROUP BY f) AS t;
SELECT count(*) AS "union" FROM (SELECT f FROM same UNION SELECT f FROM same) AS t;
SELECT count(*) AS "except" FROM (SELECT f FROM same EXCEPT SELECT f FROM same WHERE what <> 'classic') AS t;
SELECT count(*) AS "intersect" FROM (SELECT f FROM same INTERSECT SELECT f FROM same WHERE what = 'classic') AS t;
SELECT count(*) AS not_in_list FROM same WHERE f NOT IN (SELECT f FROM same WHERE what IN ('classic', 'empty'));
SELECT bool_and((f = bloom_add(bloom_create(2000), 1)) = (id IN (11, 13))) AS "=",
	   bool_and((f <> bloom_add(bloom_create(2000), 1)) = (id NOT IN (11, 13))) AS "<>",
	   bool_and((f = bloom_add(bloom_create(10), 1)) = (id IN (71, 73))) AS "= small",
	   bool_and((f <> bloom_add(bloom_create(10), 1)) = (id NOT IN (71, 73))) AS "<> small",
	   count(*) FILTER (WHERE f IS NOT DISTINCT FROM NULL) AS nulls
FROM same;

-- Hash joins, and other joins, give the same
SET enable_nestloop = off;
SET enable_mergejoin = off;
SELECT count(*) AS hash_join FROM same AS a JOIN same AS b USING (f);
SET enable_nestloop = on;
SET enable_hashjoin = off;
SELECT count(*) AS nested_loop FROM same AS a JOIN same AS b USING (f);
RESET enable_nestloop;
RESET enable_mergejoin;
RESET enable_hashjoin;

-- A hash index, and different values of different sizes
CREATE INDEX same_f ON same USING hash (f);
SET enable_seqscan = off;
SELECT id FROM same WHERE f = bloom_add(bloom_create(20000), 1) ORDER BY id;
RESET enable_seqscan;
-- Hash partitioning, for which the hash is taken with a seed
CREATE TABLE by_filter (f bloom) PARTITION BY HASH (f);
CREATE TABLE by_filter_0 PARTITION OF by_filter FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE by_filter_1 PARTITION OF by_filter FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO by_filter SELECT bloom_add(bloom_create(10), i) FROM generate_series(1, 100) AS i;
INSERT INTO by_filter SELECT f FROM by_filter;
SELECT (SELECT count(*) FROM by_filter_0) BETWEEN 40 AND 160 AS spread, count(*) AS found
FROM by_filter WHERE f = bloom_add(bloom_create(10), 42);
DROP TABLE by_filter;
-- Statistics can be collected, and used for estimates
ANALYZE same;
SELECT count(*) FROM same WHERE f = bloom_add(bloom_create(10), 1);
SELECT count(*) FROM same WHERE f @> 1 AND what = 'block512';
SELECT count(*) FROM same WHERE 1 <@ f AND what = 'block512';

-- The stored form does not matter: short, plain, external, compressed, or just
-- computed and still in the form that it was computed in
CREATE TABLE forms (id int, f bloom);
INSERT INTO forms SELECT 1, bloom_add(bloom_create(5000), i) FROM generate_series(1, 1) AS i;
ALTER TABLE forms ALTER f SET STORAGE extended;
INSERT INTO forms SELECT 2, bloom_add(bloom_create(5000), i) FROM generate_series(1, 1) AS i;
ALTER TABLE forms ALTER f SET STORAGE main;
INSERT INTO forms SELECT 3, bloom_add(bloom_create(5000), i) FROM generate_series(1, 1) AS i;
SELECT count(*) AS forms, count(DISTINCT pg_column_size(f)) AS sizes, (SELECT count(*) FROM (SELECT DISTINCT f FROM forms) AS t) AS distinct_filters,
	   bool_and(f = bloom_add(bloom_create(5000), 1)) AS computed, bool_and(f @> 1) AS found
FROM forms;
SELECT count(*) AS small_forms
FROM (SELECT DISTINCT f FROM (SELECT f FROM same WHERE what = 'empty' UNION ALL SELECT bloom_agg(1) FROM same WHERE false) AS t) AS u;
DROP TABLE forms;

-- cuckoo: of its bytes, too; so filters of the same multiset can differ
CREATE TABLE cuckoos (id int PRIMARY KEY, f cuckoo);
INSERT INTO cuckoos SELECT i, cuckoo_add(cuckoo_create(10), i % 2) FROM generate_series(1, 4) AS i;
INSERT INTO cuckoos SELECT 10 + i, cuckoo_add_all(cuckoo_create(20000), ARRAY[i % 2]) FROM generate_series(1, 4) AS i;
INSERT INTO cuckoos VALUES (100, NULL), (101, NULL), (102, (SELECT cuckoo_agg(1) WHERE false)), (103, (SELECT cuckoo_agg(1) WHERE false));
SELECT count(*) AS rows, sum(n) AS total FROM (SELECT f, count(*) AS n FROM cuckoos GROUP BY f) AS t;
SELECT count(*) AS "except" FROM (SELECT f FROM cuckoos EXCEPT SELECT f FROM cuckoos WHERE id < 5) AS t;
SELECT bool_and((f = cuckoo_add(cuckoo_create(10), 1)) = (id IN (1, 3))) AS "=", bool_and((f <> cuckoo_add(cuckoo_create(10), 1)) = (id NOT IN (1, 3))) AS "<>",
	   count(*) FILTER (WHERE f IS NOT DISTINCT FROM NULL) AS nulls, count(DISTINCT _cuckoo_hash_value(f)) AS hashes, count(DISTINCT _cuckoo_hash_value_extended(f, 1)) AS seeded_hashes,
	   bool_or(_cuckoo_hash_value_extended(f, 1) = _cuckoo_hash_value_extended(f, 2)) AS no_seed
FROM cuckoos;
SET enable_nestloop = off;
SET enable_mergejoin = off;
SELECT count(*) AS hash_join FROM cuckoos AS a JOIN cuckoos AS b USING (f);
RESET enable_nestloop;
RESET enable_mergejoin;
CREATE INDEX cuckoos_f ON cuckoos USING hash (f);
SET enable_seqscan = off;
SELECT id FROM cuckoos WHERE f = cuckoo_add(cuckoo_create(20000), 1) ORDER BY id;
RESET enable_seqscan;
CREATE TABLE by_cuckoo (f cuckoo) PARTITION BY HASH (f);
CREATE TABLE by_cuckoo_0 PARTITION OF by_cuckoo FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE by_cuckoo_1 PARTITION OF by_cuckoo FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO by_cuckoo SELECT cuckoo_add(cuckoo_create(10), i) FROM generate_series(1, 100) AS i;
SELECT (SELECT count(*) FROM by_cuckoo_0) BETWEEN 20 AND 80 AS spread, count(*) AS found FROM by_cuckoo WHERE f = cuckoo_add(cuckoo_create(10), 42);
SELECT count(*) AS forms, count(DISTINCT f::text) AS filters
FROM (SELECT cuckoo_add(cuckoo_create(5000), 1) AS f UNION ALL SELECT cuckoo_add_all(cuckoo_create(5000), ARRAY[1]) UNION ALL SELECT cuckoo_remove(cuckoo_add_all(cuckoo_create(5000), ARRAY[1, 2]), 2)
	  UNION ALL SELECT cuckoo_compact(cuckoo_add(cuckoo_create(5000), 1)) UNION ALL SELECT cuckoo_agg(1, 5000, NULL) UNION ALL SELECT cuckoo_union_agg(cuckoo_add(cuckoo_create(5000), 1))) AS t;
DROP TABLE by_cuckoo, cuckoos;

DROP TABLE same;
