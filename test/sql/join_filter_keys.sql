--
-- The keys of a hash join: bitmaps, Bloom filters, and how the one becomes the other.  With
-- little memory for many keys each of these happens.
--
\set ON_ERROR_STOP on
SET client_min_messages = warning;
CREATE SCHEMA join_filter_keys;
SET search_path = join_filter_keys, public;
LOAD 'bloomfilter';
SET bloomfilter.join_filter = force;
SET enable_mergejoin = off;
SET enable_nestloop = off;
SET max_parallel_workers_per_gather = 0;

\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/shared/plans.sql'
\i :file

-- A join's rows with and without filter; what EXPLAIN says of the filter, and the share
-- of the rows without a partner that passed it
CREATE FUNCTION filtered(query text, OUT same boolean, OUT elements bigint, OUT kb bigint,
	OUT rows_probed bigint, OUT false_positives numeric)
LANGUAGE plpgsql AS $$
DECLARE
	with_filter bigint;
	without bigint;
	removed bigint;
	matches bigint;
BEGIN
	SELECT sum((n->>'Elements')::bigint), sum((n->>'Filter Size')::bigint),
		sum((n->>'Rows Probed')::bigint), sum((n->>'Rows Removed by Probe')::bigint)
	INTO elements, kb, rows_probed, removed
	FROM nodes('SELECT FROM ' || query) AS n;
	EXECUTE 'SELECT count(*) FROM ' || query INTO with_filter;
	PERFORM set_config('bloomfilter.join_filter', 'off', false);
	EXECUTE 'SELECT count(*) FROM ' || query INTO without;
	EXECUTE 'SELECT count(*) FROM (SELECT DISTINCT f.id FROM ' || query || ') AS t' INTO matches;
	PERFORM set_config('bloomfilter.join_filter', 'force', false);
	same := with_filter = without;
	false_positives := round((rows_probed - removed - matches)::numeric /
		nullif(rows_probed - matches, 0), 3);
END
$$;

CREATE TABLE facts (id int, k2 smallint, k4 int, k8 bigint, t text, d date, z timestamptz);
INSERT INTO facts
SELECT n, n % 30000, n, (n - 50000) * 1000000007::bigint, 'k' || n, '2000-01-01'::date + n, '2000-01-01 00:00Z'::timestamptz + n * interval '1 hour'
FROM generate_series(1, 100000) n;
-- of each kind a tenth of the values
CREATE TABLE keys (id int, dense int, sparse bigint, t text, d date, z timestamptz);
INSERT INTO keys SELECT id, k4, k8, t, d, z FROM facts WHERE id % 10 = 0 ORDER BY id;
ANALYZE;
\set ON_ERROR_STOP off

-- ------------------------------------------------------------ with memory enough
SELECT i, r.same, r.elements, r.kb, r.rows_probed > 99000 AS probed, r.false_positives <= max AS few
FROM (VALUES
	-- exact: a bit for each integer of the range
	(1, 0, 'facts f JOIN keys k ON f.k4 = k.dense'),
	(2, 0, 'facts f JOIN keys k ON f.k8 = k.dense'),
	(3, 0, 'facts f JOIN keys k ON f.k2 = k.dense'),
	(4, 0, 'facts f JOIN keys k ON f.d = k.d'),
	-- 1 %
	(5, 0.013, 'facts f JOIN keys k ON f.k8 = k.sparse'),
	(6, 0.013, 'facts f JOIN keys k ON f.t = k.t'),
	(7, 0.013, 'facts f JOIN keys k ON f.z = k.z'),
	(8, 0.013, 'facts f JOIN keys k ON f.k4 = k.dense AND f.t = k.t'),
	-- out of range
	(9, 0.01, 'facts f JOIN keys k ON f.k8 = k.sparse AND k.id > 90000'),
	-- expressions
	(10, 0.013, 'facts f JOIN keys k ON f.k4 + 1 = k.dense + 1'),
	(11, 0.013, 'facts f JOIN keys k ON lower(f.t) = k.t AND f.k4 = k.dense')) q (i, max, query),
	LATERAL filtered(query) r
ORDER BY i;

-- Keys that are grouped, and those of sorted partitions
CREATE TABLE parted (id int, t text) PARTITION BY HASH (id);
CREATE TABLE parted_0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parted SELECT id, t FROM facts;
CREATE INDEX ON parted (t);
ANALYZE parted;
SELECT i, r.same, r.elements, r.rows_probed > 99000 AS probed, r.false_positives <= 0.013 AS few
FROM (VALUES
	(1, '(SELECT t, k4, min(id) AS id FROM facts GROUP BY t, k4 OFFSET 0) f JOIN keys k ON f.t = k.t'),
	(2, '(SELECT t, k4, min(id) AS id FROM facts GROUP BY t, k4) f JOIN keys k ON f.t = k.t'),
	(3, '(SELECT t, k4, min(id) AS id FROM facts GROUP BY t, k4) f JOIN keys k ON f.t = k.t AND f.k4 = k.dense'),
	(4, '(SELECT id, t FROM parted ORDER BY t OFFSET 0) f JOIN keys k ON f.t = k.t')) q (i, query),
	LATERAL filtered(query) r
ORDER BY i;

-- -------------------------------------------------- more keys than are collected
-- 128 kB are for 4,096 keys, and a filter of 96 kB
SET work_mem = '64kB';
SET hash_mem_multiplier = 2;
CREATE TABLE kinds (id int, k bigint, kind text);
INSERT INTO kinds
SELECT id, dense, 'dense' FROM keys UNION ALL
SELECT id, dense - 50000, 'negative' FROM keys UNION ALL
SELECT id, sparse, 'sparse' FROM keys UNION ALL
-- after the dense ones
SELECT id + 1000000, sparse, 'late' FROM keys UNION ALL
SELECT 2000000, 5000000000, 'far' UNION ALL
SELECT 2000000, -9223372036854775808, 'extreme' UNION ALL
SELECT 2000000, 9223372036854775807, 'extreme';
CREATE TABLE texts (t text);
INSERT INTO texts SELECT 'k' || n * 2 FROM generate_series(1, 50000) n;
CREATE TABLE more (t text);
INSERT INTO more SELECT 'x' || n FROM generate_series(1, 200000) n;
ANALYZE kinds, texts, more;
CREATE FUNCTION join_of(kinds text[], place text) RETURNS text LANGUAGE sql
	RETURN format('(SELECT k8, id, k4 FROM facts UNION ALL SELECT k4, -id, k4 FROM facts UNION ALL SELECT -k4, id + 1000000, k4 FROM facts) f
		JOIN (SELECT k FROM kinds WHERE kind = ANY (%L) ORDER BY %s OFFSET 0) k ON f.k8 = k.k', kinds, place);
SELECT i, r.same, r.elements, r.kb <= 97 AS fits, r.false_positives <= max AS few
FROM (VALUES
	-- a bitmap grows, up and down and both
	(1, 0, join_of('{dense}', 'id')),
	(2, 0, join_of('{dense}', 'id DESC')),
	(3, 0, join_of('{dense}', 'abs(id - 50000)')),
	(4, 0, join_of('{negative}', 'id')),
	-- and becomes a Bloom filter
	(5, 0.013, join_of('{dense,far}', 'id')),
	(6, 0.013, join_of('{negative,extreme}', 'id')),
	(7, 0.013, join_of('{dense,late}', 'id')),
	-- which it is from the first
	(8, 0.013, join_of('{sparse}', 'id DESC')),
	(9, 0.013, join_of('{dense,extreme}', 'id DESC')),
	-- as large as the memory allows: 78,600 keys have 10 bits each, 200,000 have 4
	(10, 0.013, '(SELECT t, id FROM facts UNION ALL SELECT t, -id FROM facts) f JOIN texts k ON f.t = k.t'),
	(11, 0.3, '(SELECT t, id FROM facts UNION ALL SELECT t, -id FROM facts UNION ALL SELECT t, id + 1000000 FROM facts) f
		JOIN more k ON f.t = k.t')) q (i, max, query),
	LATERAL filtered(query) r
ORDER BY i;
RESET work_mem;
RESET hash_mem_multiplier;

-- ------------------------------------------------------------------- odd keys
-- a row a page: the first page is read before the filter is made
CREATE TABLE odd (id int, k8 bigint, k4 int, pad text DEFAULT repeat('x', 5000));
ALTER TABLE odd ALTER pad SET STORAGE plain;
INSERT INTO odd VALUES (1, 9223372036854775807, 2147483647), (2, -9223372036854775808, -2147483648),
	(3, 0, 0), (4, -1, -1), (5, 63, 63), (6, 64, 64), (7, NULL, NULL), (8, 9223372036854775744, NULL), (9, 1, 1);
SELECT i, r.same, r.elements, r.rows_probed
FROM (VALUES
	(1, 'odd f JOIN odd o ON f.k8 = o.k8'),
	(2, 'odd f JOIN odd o ON f.k4 = o.k4'),
	(3, 'odd f JOIN odd o ON f.k4 = o.k8'),
	(4, 'odd f JOIN odd o ON f.k8 = o.k4'),
	(5, 'odd f JOIN (SELECT * FROM odd WHERE id = 1) o ON f.k8 = o.k8'),
	(6, 'odd f JOIN (SELECT * FROM odd WHERE id = 2) o ON f.k8 = o.k8'),
	(7, 'odd f JOIN (SELECT * FROM odd WHERE id = 7) o ON f.k8 = o.k8'),
	(8, 'odd f JOIN (SELECT * FROM odd WHERE id > 9) o ON f.k8 = o.k8'),
	(9, 'odd f JOIN (SELECT * FROM odd WHERE id IN (1, 8)) o ON f.k8 = o.k8'),
	(10, 'odd f JOIN odd o ON (f.k8, f.k4) = (o.k8, o.k4)'),
	-- more columns than a filter takes
	(11, 'odd f JOIN odd o ON f.id = o.id AND f.id + 1 = o.id + 1 AND f.id + 2 = o.id + 2 AND f.id + 3 = o.id + 3
		AND f.id + 4 = o.id + 4 AND f.id + 5 = o.id + 5 AND f.id + 6 = o.id + 6 AND f.id + 7 = o.id + 7
		AND f.id + 8 = o.id + 8')) q (i, query),
	LATERAL filtered(query) r
ORDER BY i;

-- An operator of one's own that compares integers otherwise
CREATE FUNCTION same_mod(int, int) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT
	RETURN $1 % 100 = $2 % 100;
CREATE FUNCTION hash_mod(int) RETURNS int LANGUAGE sql IMMUTABLE STRICT RETURN hashint4($1 % 100);
CREATE OPERATOR === (FUNCTION = same_mod, LEFTARG = int, RIGHTARG = int, COMMUTATOR = ===, HASHES);
CREATE OPERATOR CLASS int_mod FOR TYPE int USING hash AS OPERATOR 1 ===, FUNCTION 1 hash_mod(int);
SELECT same, elements FROM filtered('facts f JOIN (SELECT dense FROM keys WHERE id < 100) k ON f.k4 === k.dense');

-- ------------------------------------------------------ what the join would not compute
-- a column after one that is NULL
CREATE TABLE quotients AS SELECT n AS id, nullif(n, 1500) AS k, n - 1500 AS divisor FROM generate_series(1, 2000) n;
CREATE TABLE few AS SELECT n * 600 AS k, 6000 / (n * 600 - 1500) AS quotient FROM generate_series(1, 3) n;
ANALYZE quotients, few;
SELECT * FROM filtered('quotients f JOIN few o ON f.k = o.k AND 6000 / f.divisor = o.quotient');

-- --------------------------------------------------------- volatile functions below
-- Each row of the table has its number, with a filter, too: in the select list of a scan, in
-- that of a subquery in it, and in a condition
CREATE SEQUENCE numbers;
CREATE FUNCTION numbered(query text, OUT same boolean, OUT probes bigint, OUT numbers bigint[])
LANGUAGE plpgsql AS $$
DECLARE
	without bigint[];
BEGIN
	query := 'SELECT array_agg(n ORDER BY n) FROM (' || query || ') AS q';
	SELECT count(*) INTO probes FROM nodes(query) AS n WHERE n ? 'Rows Probed';
	PERFORM setval('numbers', 1, false);
	EXECUTE query INTO numbers;
	PERFORM set_config('bloomfilter.join_filter', 'off', false);
	PERFORM setval('numbers', 1, false);
	EXECUTE query INTO without;
	PERFORM set_config('bloomfilter.join_filter', 'force', false);
	same := numbers = without;
END
$$;
SELECT i, r.*
FROM (VALUES
	(1, 'SELECT n FROM (SELECT k, nextval(''numbers'') AS n FROM quotients) f JOIN few USING (k)'),
	(2, 'SELECT n FROM (SELECT k, (SELECT nextval(''numbers'') WHERE id > 0) AS n FROM quotients) f JOIN few USING (k)'),
	(3, 'SELECT id AS n FROM (SELECT id, k FROM quotients WHERE nextval(''numbers'') % 3 = 0) f JOIN few USING (k)')) q (i, query),
	LATERAL numbered(query) r
ORDER BY i;
-- Beside these rows: a nested loop calls the function for each of them; if a join has none, it
-- does not read its other side; and one whose outer side has none does not build
SET join_collapse_limit = 1;
SELECT i, r.*
FROM (VALUES
	(1, 'SELECT n FROM quotients f CROSS JOIN LATERAL (SELECT nextval(''numbers'') AS n, f.id OFFSET 0) v JOIN few USING (k)'),
	(2, 'SELECT nextval(''numbers'') AS n FROM (SELECT count(*) FROM (SELECT k FROM quotients WHERE divisor < -1000) f
			JOIN (SELECT id AS k, nextval(''numbers'') FROM quotients OFFSET 0) v USING (k) JOIN few USING (k) OFFSET 0) q'),
	(3, 'SELECT nextval(''numbers'') AS n FROM (SELECT count(*) FROM (SELECT k FROM quotients WHERE divisor < -id - 1500 GROUP BY k) f
			JOIN (SELECT k, nextval(''numbers'') FROM few WHERE (SELECT count(*) FROM generate_series(1, 100000)) > 0 OFFSET 0) v USING (k) OFFSET 0) q'))
	q (i, query),
	LATERAL numbered(query) r
ORDER BY i;
RESET join_collapse_limit;

-- ----------------------------------------------- hash functions of parts of a value
-- that of an array tells no hidden rows to its elements' hash function
CREATE TYPE cell AS (x int);
CREATE FUNCTION cell_equal(cell, cell) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT AS 'SELECT $1.x = $2.x';
CREATE FUNCTION cell_less(cell, cell) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT AS 'SELECT $1.x < $2.x';
CREATE FUNCTION cell_compare(cell, cell) RETURNS int LANGUAGE sql IMMUTABLE STRICT AS 'SELECT btint4cmp($1.x, $2.x)';
CREATE FUNCTION cell_hash(cell) RETURNS int LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
	IF $1.x >= 9000 THEN
		RAISE WARNING 'hashed a secret: %', $1;
	END IF;
	RETURN hashint4($1.x);
END
$$;
CREATE OPERATOR === (FUNCTION = cell_equal, LEFTARG = cell, RIGHTARG = cell, COMMUTATOR = ===, HASHES);
CREATE OPERATOR <<< (FUNCTION = cell_less, LEFTARG = cell, RIGHTARG = cell);
CREATE OPERATOR CLASS cell_ops DEFAULT FOR TYPE cell USING btree AS
	OPERATOR 1 <<<, OPERATOR 3 ===, FUNCTION 1 cell_compare(cell, cell);
CREATE OPERATOR CLASS cell_ops DEFAULT FOR TYPE cell USING hash AS OPERATOR 1 ===, FUNCTION 1 cell_hash(cell);
CREATE TABLE secrets AS SELECT n AS id, ARRAY[ROW(n)::cell] AS k, n > 9000 AS hidden FROM generate_series(1, 9003) n WHERE n < 400 OR n > 9000;
CREATE VIEW barrier WITH (security_barrier) AS SELECT * FROM secrets WHERE NOT hidden;
SELECT same, elements FROM filtered('barrier f JOIN (SELECT ARRAY[ROW(n)::cell] AS k FROM generate_series(1, 40) n) o USING (k)');
-- nor if the view is the target, of which the query then says nothing but its conditions; those of a
-- subplan are left alone
BEGIN;
SELECT n->>'Custom Plan Provider' AS node, n->'Rows Probed' AS probed
FROM nodes('DELETE FROM barrier f USING (SELECT ARRAY[ROW(n)::cell] AS k FROM generate_series(1, 40) n) o WHERE f.k = o.k') AS n
WHERE n ? 'Rows Probed';
SELECT n->>'Custom Plan Provider' AS node, n->'Rows Probed' AS probed
FROM nodes('WITH gone AS (DELETE FROM barrier f USING (SELECT ARRAY[ROW(n)::cell] AS k FROM generate_series(41, 80) n) o WHERE f.k = o.k RETURNING 1) SELECT FROM gone') AS n
WHERE n ? 'Rows Probed';
ROLLBACK;

-- No row that a view hides is probed, whether the operator is leakproof or not: EXPLAIN would
-- tell how many have one of the keys
CREATE TABLE amounts AS SELECT n AS id, n::numeric AS amount FROM generate_series(1, 1000) n;
CREATE VIEW shown WITH (security_barrier) AS SELECT * FROM amounts WHERE id > 995;
SELECT op, n->>'Custom Plan Provider' AS node, n->'Rows Probed' AS probed
FROM (VALUES ('integer', 'id'), ('numeric', 'amount')) AS q (op, c),
	nodes(format('SELECT FROM shown s RIGHT JOIN (VALUES (7::%s), (998)) v (x) ON s.%I = v.x', op, c)) AS n
WHERE n ? 'Rows Probed'
ORDER BY op;

-- Nor one that a policy hides
CREATE ROLE regress_join_filter_keys;
ALTER TABLE amounts ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON amounts USING (id > 995);
GRANT USAGE ON SCHEMA join_filter_keys TO regress_join_filter_keys;
GRANT SELECT ON amounts TO regress_join_filter_keys;
SET ROLE regress_join_filter_keys;
SELECT op, n->>'Custom Plan Provider' AS node, n->'Rows Probed' AS probed
FROM (VALUES ('integer', 'id'), ('numeric', 'amount')) AS q (op, c),
	nodes(format('SELECT FROM amounts s RIGHT JOIN (VALUES (7::%s), (998)) v (x) ON s.%I = v.x', op, c)) AS n
WHERE n ? 'Rows Probed'
ORDER BY op;
RESET ROLE;

ALTER TABLE amounts DISABLE ROW LEVEL SECURITY;

-- The keys of a join in a view do not choose rows of the user's: the view may hide theirs
CREATE TABLE guesses AS SELECT n AS k FROM generate_series(1, 1000) n;
ANALYZE guesses;
CREATE VIEW barred WITH (security_barrier) AS SELECT f.k4 AS k FROM facts f JOIN keys ON k4 = dense AND k8 <> sparse;
SELECT n->>'Node Type' AS node, n ? 'Rows Probed' AS probed
FROM nodes('SELECT FROM barred JOIN guesses USING (k)') AS n
WHERE n->>'Alias' = 'guesses';

-- ----------------------------------------------------------------- deep plans
-- Keys pass many levels; t/030_instructions.pl counts that each is visited a few times
CREATE FUNCTION nested(depth int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	deep text := 'SELECT k FROM few';
BEGIN
	FOR i IN 1 .. depth LOOP
		deep := format('SELECT k + 1 AS k FROM (%s) AS q%s GROUP BY k', deep, i);
	END LOOP;
	RETURN deep;
END
$$;
SELECT same, elements FROM filtered('quotients f JOIN (' || nested(12) || ') o USING (k)');

-- ----------------------------------------------------------------- by workers
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SET work_mem = '64kB';
SELECT i, r.same, r.elements, r.false_positives <= max AS few
FROM (VALUES
	(1, 0, 'facts f JOIN keys k ON f.k4 = k.dense'),
	(2, 0.013, 'facts f JOIN keys k ON f.k8 = k.sparse'),
	(3, 0.013, 'facts f JOIN keys k ON f.t = k.t'),
	(4, 0.013, 'facts f JOIN keys k ON f.t = k.t AND k.id > 99000')) q (i, max, query),
	LATERAL filtered(query) r
ORDER BY i;
RESET work_mem;
-- A filter that is complete before workers start: theirs is a copy.  The join would
-- look for an outer row first, and so aggregate all.
CREATE TABLE grouped AS SELECT id, k4 % 50000 AS k FROM facts;
ANALYZE grouped;
SELECT same, elements, rows_probed > 180000 AS both_tables
FROM filtered('facts f JOIN keys k ON f.k4 = k.dense AND k.id % 100 = 0 JOIN (SELECT k, count(*) FROM grouped GROUP BY k) g ON g.k = k.dense');
SELECT n->>'Relation Name' AS scan, (n->>'Rows Removed by Probe')::int > 98000 AS removed
FROM nodes('SELECT FROM facts f JOIN keys k ON f.k4 = k.dense AND k.id % 100 = 0 JOIN (SELECT k, count(*) FROM grouped GROUP BY k) g ON g.k = k.dense') n
WHERE n ? 'Rows Probed';
-- A worker that comes when the others have read the inner side collects no keys, but probes
-- all the same.  It sleeps before that; the leader sleeps then, and leaves it most pages.
CREATE FUNCTION slept(id int, leads boolean, leader int) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE COST 0.0001 AS $$
BEGIN
	IF leads = (pg_backend_pid() = leader) THEN
		PERFORM pg_sleep(0.1);
	END IF;
	RETURN true;
END
$$;
CREATE TABLE three AS SELECT n FROM generate_series(1, 3) n;
ALTER TABLE three SET (parallel_workers = 0);
ALTER TABLE facts SET (parallel_workers = 1);
ALTER TABLE keys SET (parallel_workers = 1);
ANALYZE three;
SELECT max((n->>'Rows Removed by Probe')::int) AS removed
FROM nodes(format('SELECT FROM facts f JOIN (SELECT dense FROM keys WHERE id %% 10 = 0) k ON f.k4 = k.dense JOIN three ON three.n = f.id %% 3 + 1
	WHERE slept(three.n, false, %1$s) AND (f.id > 100 OR slept(f.id, true, %1$s))', pg_backend_pid())) n;
RESET max_parallel_workers_per_gather;

-- --------------------------------------------------------- where it is expected to pay
SET bloomfilter.join_filter = on;
SET max_parallel_workers_per_gather = 0;

CREATE FUNCTION builds(query text) RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FROM nodes(query) n WHERE n->>'Custom Plan Provider' = 'Join Filter Build'
$$;
ALTER TABLE keys ADD PRIMARY KEY (dense);
ANALYZE keys;
-- a tenth of the rows has a partner; all have
SELECT builds('SELECT FROM facts f JOIN keys k ON f.k4 = k.dense') AS pays,
	builds('SELECT FROM facts f JOIN (SELECT k4 FROM facts OFFSET 0) k USING (k4)') AS does_not,
	builds('SELECT FROM odd f JOIN keys k ON f.k4 = k.dense') AS few_rows;
-- a foreign key says so, too, where no statistics do
CREATE TABLE referencing (k int);
INSERT INTO referencing SELECT dense FROM keys, generate_series(1, 10);
CREATE TABLE copied AS SELECT * FROM referencing;
ALTER TABLE referencing ADD FOREIGN KEY (k) REFERENCES keys (dense);
ANALYZE referencing, copied;
CREATE TABLE copied_keys AS SELECT * FROM keys;
ANALYZE copied_keys;
SELECT builds('SELECT FROM referencing f JOIN keys k ON k.dense = f.k') AS foreign_key,
	builds('SELECT FROM copied f WHERE EXISTS (SELECT FROM copied_keys k WHERE k.dense = f.k)') AS none;

-- A filter that must be complete before the first of a few outer rows costs the inner side,
-- which the join would not read if there was none; one that may come later does not.
CREATE FUNCTION costly(int) RETURNS boolean STABLE COST 100000 LANGUAGE plpgsql AS 'BEGIN RETURN true; END';
CREATE TABLE few_groups AS SELECT n % 20 AS k FROM generate_series(1, 200000) n;
CREATE TABLE wanted AS SELECT n AS k FROM generate_series(1, 1000) n;
ANALYZE few_groups, wanted;
SET enable_nestloop = off;
SET enable_mergejoin = off;
SELECT builds('SELECT FROM (SELECT k, count(*) FROM few_groups GROUP BY k) g JOIN wanted w ON w.k = g.k AND w.k % 10 = 3') AS cheap,
	builds('SELECT FROM (SELECT k, count(*) FROM few_groups GROUP BY k) g JOIN wanted w ON w.k = g.k AND w.k % 10 = 3 AND costly(w.k)') AS costly,
	builds('SELECT FROM few_groups g JOIN wanted w ON w.k = g.k AND w.k % 10 = 3 AND costly(w.k)') AS not_before;
RESET enable_nestloop;
RESET enable_mergejoin;

-- The filter of a semijoin is tried.  If most rows pass, it pauses: after 2,048 rows
-- and some of the page, and once more after 65,536.
SELECT (n->>'Rows Probed')::int BETWEEN 4096 AND 5000 AS probed, n->'Rows Removed by Probe' AS removed,
	(n->>'Rows Probed')::int + (n->>'Rows Not Probed')::int AS all_rows, n->'Probe Pauses' AS times
FROM nodes('SELECT FROM copied f WHERE EXISTS (SELECT FROM copied_keys k WHERE k.dense = f.k)') n
WHERE n ? 'Rows Probed';

-- A hash function of a user that fails for some value.  It must not be called for a row that
-- a condition, a join or a group below drops, as the join would not call it.
CREATE FUNCTION same_text(text, text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE STRICT AS 'BEGIN RETURN $1 = $2; END';
CREATE FUNCTION hash_of_text(text) RETURNS int LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
	IF $1 = 'bad' THEN
		RAISE EXCEPTION 'cannot hash a bad value';
	END IF;
	RETURN hashtext($1);
END
$$;
CREATE OPERATOR === (LEFTARG = text, RIGHTARG = text, FUNCTION = same_text, COMMUTATOR = ===, RESTRICT = eqsel, JOIN = eqjoinsel, HASHES);
CREATE OPERATOR CLASS failing_ops FOR TYPE text USING hash AS OPERATOR 1 ===, FUNCTION 1 hash_of_text(text);
CREATE TABLE with_bad AS SELECT n AS id, CASE WHEN n % 10 = 0 THEN 'bad' ELSE 'v' || n % 300 END AS t FROM generate_series(1, 3000) n;
CREATE TABLE good AS SELECT 'v' || n AS t FROM generate_series(1, 20) n;
ANALYZE with_bad, good;
SET bloomfilter.join_filter = force;
SET enable_nestloop = off;
SET enable_mergejoin = off;
SELECT * FROM plan_of('SELECT FROM with_bad b JOIN good g ON b.t === g.t WHERE b.id % 10 <> 0');
SELECT i, r.same, r.rows_probed > 0 AS probed
FROM (VALUES
	(1, '(SELECT * FROM with_bad) f JOIN good g ON f.t === g.t WHERE f.id % 10 <> 0'),
	(2, '(SELECT a.id, a.t FROM with_bad a JOIN with_bad b ON a.id = b.id WHERE b.t <> ''bad'' OFFSET 0) f JOIN good g ON f.t === g.t'),
	(3, '(SELECT min(id) AS id, t FROM with_bad GROUP BY t HAVING min(id) <> 10) f JOIN good g ON f.t === g.t'),
	(4, '(SELECT id, t FROM with_bad WHERE id % 10 <> 0 UNION ALL SELECT id, t FROM with_bad WHERE id % 10 <> 0) f JOIN good g ON f.t === g.t')) q (i, query),
	LATERAL filtered(query) r
ORDER BY i;
-- a leakproof function raises no error
ALTER FUNCTION hash_of_text(text) LEAKPROOF;
SELECT * FROM plan_of('SELECT FROM with_bad b JOIN good g ON b.t === g.t WHERE b.id % 10 <> 0');
-- arrays and rows are hashed by the functions of what they consist of
CREATE TYPE word;
CREATE FUNCTION word_in(cstring) RETURNS word LANGUAGE internal IMMUTABLE STRICT AS 'textin';
CREATE FUNCTION word_out(word) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout';
CREATE TYPE word (INPUT = word_in, OUTPUT = word_out, LIKE = text);
CREATE CAST (text AS word) WITHOUT FUNCTION;
CREATE CAST (word AS text) WITHOUT FUNCTION;
CREATE FUNCTION same_word(word, word) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'byteaeq';
CREATE FUNCTION word_lt(word, word) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'bytealt';
CREATE FUNCTION word_le(word, word) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'byteale';
CREATE FUNCTION word_ge(word, word) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'byteage';
CREATE FUNCTION word_gt(word, word) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'byteagt';
CREATE FUNCTION word_cmp(word, word) RETURNS int LANGUAGE internal IMMUTABLE STRICT AS 'byteacmp';
CREATE FUNCTION hash_of_word(word) RETURNS int LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
	IF $1::text = 'bad' THEN
		RAISE EXCEPTION 'cannot hash a bad word';
	END IF;
	RETURN hashtext($1::text);
END
$$;
CREATE FUNCTION hash_of_word(word, bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
	IF $1::text = 'bad' THEN
		RAISE EXCEPTION 'cannot hash a bad word with a seed';
	END IF;
	RETURN hashtextextended($1::text, $2);
END
$$;
CREATE OPERATOR = (LEFTARG = word, RIGHTARG = word, FUNCTION = same_word, COMMUTATOR = =, RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES);
CREATE OPERATOR < (LEFTARG = word, RIGHTARG = word, FUNCTION = word_lt);
CREATE OPERATOR <= (LEFTARG = word, RIGHTARG = word, FUNCTION = word_le);
CREATE OPERATOR >= (LEFTARG = word, RIGHTARG = word, FUNCTION = word_ge);
CREATE OPERATOR > (LEFTARG = word, RIGHTARG = word, FUNCTION = word_gt);
CREATE OPERATOR CLASS word_ops DEFAULT FOR TYPE word USING btree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 word_cmp(word, word);
CREATE OPERATOR CLASS word_ops DEFAULT FOR TYPE word USING hash AS
	OPERATOR 1 =, FUNCTION 1 hash_of_word(word), FUNCTION 2 hash_of_word(word, bigint);
CREATE TYPE named AS (n int, w word);
CREATE TABLE bad_words AS SELECT id, t::word AS w, ARRAY[t::word] AS a, (1, t::word)::named AS r FROM with_bad;
CREATE TABLE good_words AS SELECT t::word AS w, ARRAY[t::word] AS a, (1, t::word)::named AS r FROM good;
ANALYZE bad_words (id, w), good_words (w);
SELECT i, r.same, r.rows_probed > 0 AS probed
FROM (VALUES
	(1, 'f.w = g.w'),
	(2, 'f.a = g.a'),
	(3, 'f.r = g.r')) q (i, condition),
	LATERAL filtered('(SELECT * FROM bad_words) f JOIN good_words g ON ' || condition || ' AND f.id % 10 <> 0') r
ORDER BY i;

DROP SCHEMA join_filter_keys CASCADE;
DROP ROLE regress_join_filter_keys;
