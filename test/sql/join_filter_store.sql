--
-- Join Filter Store: few outer rows of a hash join are stored first, and their keys filter the
-- inner side.  A query has the rows that it has without, and is not filtered where that would
-- lose rows, or return the first ones later.
--
CREATE SCHEMA join_filter_store;
SET search_path = join_filter_store, public;
LOAD 'bloomfilter';
SET max_parallel_workers_per_gather = 0;
SET enable_mergejoin = off;
SET enable_nestloop = off;

\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/shared/plans.sql'
\i :file
\set ON_ERROR_STOP on

-- 30,000 inner rows, of which some keys are NULL or occur twice; 300 outer rows, of which some
-- are NULL, some have two partners and half have none
CREATE TABLE list (id int, k int, big bigint, t text, v varchar, u uuid, day date, n numeric, c text COLLATE "C", name name, b bytea);
ALTER TABLE list SET (autovacuum_enabled = off);
INSERT INTO list SELECT i, x, x, 't' || x, 'v' || x, md5(x::text)::uuid, date '2000-01-01' + x, x, 'c' || x, 't' || x, ('b' || x)::bytea
	FROM generate_series(1, 30000) i, LATERAL (SELECT CASE WHEN i % 10 <> 0 THEN i - i % 3 END) a (x);
CREATE TABLE few (LIKE list) WITH (autovacuum_enabled = off);
INSERT INTO few SELECT i, x, x, 't' || x, 'v' || x, md5(x::text)::uuid, date '2000-01-01' + x, x, 'c' || x, 't' || x, ('b' || x)::bytea
	FROM generate_series(1, 300) i, LATERAL (SELECT CASE WHEN i % 20 <> 0 THEN i * 101 END) a (x);
CREATE TABLE partitioned (LIKE list) PARTITION BY RANGE (id);
CREATE TABLE partitioned_1 PARTITION OF partitioned FOR VALUES FROM (MINVALUE) TO (15000);
CREATE TABLE partitioned_2 PARTITION OF partitioned FOR VALUES FROM (15000) TO (MAXVALUE);
INSERT INTO partitioned SELECT * FROM list;
CREATE TABLE grown (LIKE list) WITH (autovacuum_enabled = off);
INSERT INTO grown SELECT * FROM few;
ANALYZE list, few, partitioned, grown;
-- the planner hashes the side that takes less memory: let it be the list
UPDATE pg_statistic SET stawidth = 1000000 WHERE starelid IN ('few'::regclass, 'grown'::regclass);
INSERT INTO grown SELECT * FROM list;
\set ON_ERROR_STOP off

-- Does a query have a node of this kind?
CREATE FUNCTION has(query text, node text = 'Join Filter Store') RETURNS boolean LANGUAGE sql AS $$
	SELECT bool_or(line LIKE '%Custom Scan (' || node || ')%') FROM plan_of(query) line
$$;
-- How many rows a query has, whether these are the same without filters, and whether outer
-- rows are stored
CREATE FUNCTION compare(query text, OUT rows bigint, OUT same boolean, OUT stored boolean) LANGUAGE plpgsql AS $$
DECLARE
	filtered text[];
	plain text[];
BEGIN
	PERFORM set_config('bloomfilter.join_filter', 'force', false);
	stored := has(query);
	filtered := result_of(query);
	PERFORM set_config('bloomfilter.join_filter', 'off', false);
	plain := result_of(query);
	PERFORM set_config('bloomfilter.join_filter', 'force', false);
	rows := cardinality(plain);
	same := filtered = plain;
END
$$;

-- A query's rows without filters, in the default setting
CREATE FUNCTION plain_result_of(query text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
	plain text[];
BEGIN
	PERFORM set_config('bloomfilter.join_filter', 'off', false);
	plain := result_of(query);
	PERFORM set_config('bloomfilter.join_filter', 'index', false);
	RETURN plain;
END
$$;

-- ------------------------------------------------------------------------------- joins
SET bloomfilter.join_filter = force;
SELECT plan_of('SELECT f.id, l.id FROM few f LEFT JOIN list l ON l.t = f.t');
SELECT n->>'Elements' AS elements, n->>'Rows Stored' AS stored FROM nodes('SELECT f.id, l.id FROM few f LEFT JOIN list l ON l.t = f.t') n
	WHERE n ? 'Rows Stored';
-- the hash table has only what is needed
SELECT (n->>'Actual Rows')::float8 BETWEEN 260 AND 600 AS few FROM nodes('SELECT f.id, l.id FROM few f LEFT JOIN list l ON l.t = f.t') n
	WHERE n->>'Node Type' = 'Hash';
SELECT i, c.* FROM (VALUES
	(1, 'SELECT * FROM few f WHERE EXISTS (SELECT FROM list l WHERE l.k = f.k)'),
	(2, 'SELECT * FROM few f WHERE NOT EXISTS (SELECT FROM list l WHERE l.k = f.k)'),
	(3, 'SELECT f.id, l.id FROM few f LEFT JOIN list l ON l.k = f.k'),
	(4, 'SELECT f.id, l.id FROM few f LEFT JOIN list l ON l.k = f.k AND l.id % 2 = 0 AND l.id > f.id'),
	(5, 'SELECT * FROM few f WHERE NOT EXISTS (SELECT FROM list l WHERE l.t = f.t AND l.id <> f.id + 1)'),
	(6, 'SELECT f.id, l.id FROM few f LEFT JOIN list l ON l.t = f.t'),
	(7, 'SELECT f.id, l.id FROM few f LEFT JOIN list l ON l.u = f.u'),
	(8, 'SELECT f.id, l.id FROM few f LEFT JOIN list l ON l.day = f.day'),
	(9, 'SELECT f.id, l.id FROM few f LEFT JOIN list l ON l.n = f.n'),
	(10, 'SELECT f.id, l.id FROM few f LEFT JOIN list l ON l.c = f.c'),
	-- keys of two columns, of two types, and of expressions
	(11, 'SELECT f.id, l.id FROM few f LEFT JOIN list l ON l.k = f.k AND l.t = f.t'),
	(12, 'SELECT f.id, l.id FROM few f LEFT JOIN list l ON l.k = f.big'),
	(13, 'SELECT f.id, l.id FROM few f LEFT JOIN list l ON l.big = f.k AND l.v = f.v'),
	(14, 'SELECT f.id, l.id FROM few f LEFT JOIN list l ON upper(l.t) = f.t'),
	(15, 'SELECT f.id, l.id FROM few f LEFT JOIN list l ON l.v::text = f.v'),
	-- the inner side: partitions, a subquery, groups, another join, conditions
	(16, 'SELECT f.id, l.id FROM few f LEFT JOIN partitioned l ON l.t = f.t'),
	(17, 'SELECT f.id, l.n FROM few f LEFT JOIN (SELECT t, count(*) AS n FROM list GROUP BY t OFFSET 0) l ON l.t = f.t'),
	(18, 'SELECT f.id, l.n FROM few f LEFT JOIN (SELECT t, count(*) AS n FROM list GROUP BY t) l ON l.t = f.t'),
	(19, 'SELECT f.id, l.id FROM few f LEFT JOIN (list l JOIN list m USING (id)) ON l.t = f.t'),
	(20, 'SELECT f.id, l.id FROM few f LEFT JOIN (SELECT * FROM list UNION ALL SELECT * FROM partitioned) l ON l.t = f.t'),
	(21, 'SELECT f.id, l.id FROM few f LEFT JOIN list l ON l.t = f.t AND l.id % 3 = 1'),
	-- no outer row; no inner row; only NULLs
	(22, 'SELECT f.id, l.id FROM few f LEFT JOIN list l ON l.t = f.t WHERE f.id < 0'),
	(23, 'SELECT f.id, l.id FROM few f LEFT JOIN (SELECT * FROM list WHERE id < 0) l ON l.t = f.t'),
	(24, 'SELECT f.id, l.id FROM few f LEFT JOIN list l ON l.t = f.t WHERE f.id % 20 = 0'),
	-- joins above and below
	(25, 'SELECT f.id, l.id, m.id FROM few f LEFT JOIN list l ON l.t = f.t LEFT JOIN list m ON m.v = f.v'),
	(26, 'SELECT f.id FROM few f WHERE EXISTS (SELECT FROM list l WHERE l.t = f.t) AND NOT EXISTS (SELECT FROM list l WHERE l.v = f.v AND l.id > 9000)'),
	(27, 'SELECT count(*), sum(f.id) FROM few f LEFT JOIN list l ON l.t = f.t'),
	(28, 'SELECT f FROM few f WHERE EXISTS (SELECT FROM list l WHERE l.t = f.t)'),
	(29, 'SELECT f.id, l.id FROM few f JOIN list l ON l.t = f.t'),
	(30, 'SELECT f.id, l.id FROM few f JOIN list l ON l.k = f.k'),
	-- types that are hashed by different functions, and others that are hashed by their bytes
	(31, 'SELECT f.id, l.id FROM few f LEFT JOIN list l ON l.name = f.t'),
	(32, 'SELECT f.id, l.id FROM few f LEFT JOIN list l ON l.t = f.name AND l.k = f.k'),
	(33, 'SELECT f.id, l.id FROM few f LEFT JOIN list l ON l.name = f.name'),
	(34, 'SELECT f.id, l.id FROM few f LEFT JOIN list l ON l.b = f.b'),
	(35, 'SELECT f.id, l.id FROM few f LEFT JOIN list l ON l.v = f.t AND l.b = f.b'),
	(36, 'SELECT l.id, f.id FROM list l JOIN few f ON l.t = f.t JOIN few g ON g.name = f.t')) q (i, query), compare(query) c
ORDER BY i;

-- ------------------------------------------------------------------------------- not stored
SELECT i, c.* FROM (VALUES
	-- inner rows without a partner are returned
	(1, 'SELECT f.id, l.id FROM few f FULL JOIN list l ON l.t = f.t'),
	(2, 'SELECT f.id, l.id FROM list l LEFT JOIN few f ON l.t = f.t'),
	-- as many outer rows as inner ones
	(3, 'SELECT l.id FROM list l LEFT JOIN list m ON l.t = m.t'),
	-- evaluating the outer key may raise an error, which core raises only if there is an inner row
	(4, 'SELECT f.id, l.id FROM few f LEFT JOIN list l ON l.k = 10000 / (f.id - 400)'),
	-- volatile functions, on either side
	(5, 'SELECT f.id, l.id FROM (SELECT *, random() AS r FROM few OFFSET 0) f LEFT JOIN list l ON l.t = f.t WHERE r >= 0'),
	(6, 'SELECT f.id, l.id FROM few f LEFT JOIN (SELECT * FROM list WHERE random() >= 0 OFFSET 0) l ON l.t = f.t'),
	-- executed again for other rows
	(7, 'SELECT g, (SELECT count(*) FROM few f LEFT JOIN list l ON l.t = f.t WHERE f.id < g) FROM generate_series(1, 3) g')) q (i, query), compare(query) c
ORDER BY i;
-- the first rows are wanted soon
SET bloomfilter.join_filter = on;
SELECT has('SELECT f.id FROM few f WHERE EXISTS (SELECT FROM list l WHERE l.t = f.t)') AS all_rows,
	has('SELECT f.id FROM (SELECT * FROM list WHERE t LIKE ''t1%'') f WHERE EXISTS (SELECT FROM list l WHERE l.t = f.t) LIMIT 1') AS first_row;
SET bloomfilter.join_filter = off;
SELECT has('SELECT f.id FROM few f WHERE EXISTS (SELECT FROM list l WHERE l.t = f.t)') AS off;
-- a side that returns more rows than expected: the filter is given up
SET bloomfilter.join_filter = force;
SELECT * FROM compare('SELECT g.id FROM grown g WHERE id % 9 >= 0 AND id % 8 >= 0 AND id % 7 >= 0 AND id % 6 >= 0 AND EXISTS (SELECT FROM list l WHERE l.t = g.t)');
SELECT n->'Elements' AS elements, n->>'Rows Stored' AS stored, (n->>'Actual Rows')::numeric::int AS returned
	FROM nodes('SELECT g.id FROM grown g WHERE id % 9 >= 0 AND id % 8 >= 0 AND id % 7 >= 0 AND id % 6 >= 0 AND EXISTS (SELECT FROM list l WHERE l.t = g.t)') n WHERE n ? 'Rows Stored';

-- ------------------------------------------------------------------------------- execution
-- several batches; rows in a file
SET work_mem = 64;
SET hash_mem_multiplier = 1;
SELECT * FROM compare('SELECT f.id, l.id FROM few f LEFT JOIN list l ON l.t = f.t');
SELECT * FROM compare('SELECT f.id, l.* FROM (SELECT *, repeat(t, 500) AS filler FROM few) f LEFT JOIN list l ON l.t = f.t WHERE length(filler) > 0 OR filler IS NULL');
RESET work_mem;
RESET hash_mem_multiplier;
-- several processes
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SET enable_parallel_hash = off;
SELECT * FROM compare('SELECT f.id, l.id FROM few f LEFT JOIN list l ON l.t = f.t');
SELECT * FROM compare('SELECT count(*), sum(f.id) FROM few f WHERE NOT EXISTS (SELECT FROM list l WHERE l.k = f.k)');
SELECT * FROM compare('SELECT count(*), sum(f.id) FROM (SELECT DISTINCT id, t FROM few) f WHERE EXISTS (SELECT FROM partitioned l WHERE l.t = f.t)');
RESET enable_parallel_hash;
SELECT * FROM compare('SELECT f.id, l.id FROM few f LEFT JOIN list l ON l.t = f.t');
SET parallel_leader_participation = off;
SELECT * FROM compare('SELECT f.id, l.id FROM few f LEFT JOIN list l ON l.t = f.t');
RESET parallel_leader_participation;
SET max_parallel_workers_per_gather = 0;
-- prepared, with parameters; and compiled
SET plan_cache_mode = force_generic_plan;
PREPARE asked(int) AS SELECT count(*), sum(l.id) FROM few f LEFT JOIN list l ON l.t = f.t WHERE f.id <= $1;
SELECT has('EXECUTE asked(1)');
EXECUTE asked(3);
EXECUTE asked(300);
EXECUTE asked(0);
DEALLOCATE asked;
RESET plan_cache_mode;
SET jit = on;
SET jit_above_cost = 0;
SELECT * FROM compare('SELECT f.id, l.id FROM few f LEFT JOIN list l ON l.t = f.t AND l.k = f.k');
RESET jit_above_cost;
RESET jit;
-- a cursor that goes back, and one that outlives its transaction: rows are returned again
BEGIN;
SET LOCAL cursor_tuple_fraction = 1;
DECLARE back SCROLL CURSOR FOR SELECT f.id FROM few f WHERE EXISTS (SELECT FROM list l WHERE l.t = f.t) ORDER BY f.id;
FETCH 3 FROM back;
MOVE ABSOLUTE 0 IN back;
FETCH 3 FROM back;
DECLARE held NO SCROLL CURSOR WITH HOLD FOR SELECT f.id FROM few f WHERE EXISTS (SELECT FROM list l WHERE l.t = f.t);
FETCH 1 FROM held;
COMMIT;
CREATE TEMP TABLE fetched (id int);
DO $$
DECLARE
	held refcursor = 'held';
	row int;
BEGIN
	LOOP
		FETCH held INTO row;
		EXIT WHEN NOT FOUND;
		INSERT INTO fetched VALUES (row);
	END LOOP;
END $$;
SELECT count(*) + 1 = (SELECT count(*) FROM few f WHERE f.t IN (SELECT t FROM list)) AS all_rows FROM fetched;
-- in a function, for other parameters each time
CREATE FUNCTION partners(lowest int) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	RETURN (SELECT count(l.id) FROM few f LEFT JOIN list l ON l.t = f.t WHERE f.id >= lowest);
END $$;
SELECT partners(n) FROM (VALUES (1), (150), (1000), (1)) v (n);
-- an update of what is joined
BEGIN;
CREATE TABLE changed WITH (autovacuum_enabled = off) AS SELECT * FROM few;
ANALYZE changed;
UPDATE pg_statistic SET stawidth = 1000000 WHERE starelid = 'changed'::regclass;
SELECT has('UPDATE changed SET id = -l.id FROM list l WHERE l.t = changed.t');
DELETE FROM changed WHERE NOT EXISTS (SELECT FROM list l WHERE l.t = changed.t);
SELECT count(*) FROM changed;
ROLLBACK;

-- ------------------------------------------------------------------------------- by index
-- by default, where one side probes an index for the join
SET bloomfilter.join_filter = index;
SELECT has('SELECT * FROM few f WHERE EXISTS (SELECT FROM list l WHERE l.t = f.t)') AS without_index;
CREATE TABLE visits AS SELECT i AS id, 'u' || CASE WHEN i % 100 = 0 THEN i ELSE -i END AS url FROM generate_series(1, 60000) i;
CREATE TABLE blocked AS SELECT 'u' || i AS url, i % 7 AS kind FROM generate_series(1, 60000) i;
CREATE INDEX blocked_url ON blocked USING membership (url);
ANALYZE visits, blocked;
-- majors differ in the side that they hash: the other one is filtered
SELECT i, (SELECT bool_or(line ~ 'Probe: url in join filter') FROM plan_of(query) line) AS filtered, result_of(query) = plain AS same FROM (VALUES
	(1, 'SELECT count(*), sum(id) FROM visits v WHERE EXISTS (SELECT FROM blocked b WHERE b.url = v.url)'),
	(2, 'SELECT count(*), sum(id) FROM visits v WHERE NOT EXISTS (SELECT FROM blocked b WHERE b.url = v.url)'),
	(3, 'SELECT count(*), sum(id), sum(kind) FROM visits v LEFT JOIN blocked b USING (url)'),
	(4, 'SELECT count(*), sum(id), sum(kind) FROM visits v FULL JOIN blocked b USING (url)'),
	(5, 'SELECT count(*), sum(id), sum(kind) FROM visits v JOIN blocked b USING (url)'),
	(6, 'SELECT count(*), sum(id), sum(kind) FROM visits v LEFT JOIN blocked b ON b.url = v.url AND b.kind <> 3')) q (i, query),
	plain_result_of(query) plain
ORDER BY i;
-- preferred to look-ups, unless these are far cheaper
CREATE TABLE keyed AS SELECT md5(i::text) AS url FROM generate_series(1, 40000) i;
CREATE INDEX ON keyed USING membership (url);
ALTER TABLE keyed ADD PRIMARY KEY (url);
CREATE TABLE many AS SELECT i AS id, md5((CASE WHEN i % 40 = 0 THEN i / 40 * 16 ELSE -i END)::text) AS url, md5((CASE WHEN i % 1000 = 0 THEN i ELSE -i END)::text) AS rare
	FROM generate_series(1, 100000) i;
-- (all rows are sampled)
ALTER TABLE many ALTER url SET STATISTICS 1000, ALTER rare SET STATISTICS 1000;
VACUUM ANALYZE keyed, many;
SET enable_nestloop = on;
SELECT i, bool_or(line ~ 'Probe: url in join filter') AS stored, bool_or(line ~ 'Nested Loop') AS looked_up FROM (VALUES
	(1, 'SELECT id FROM many v WHERE NOT EXISTS (SELECT FROM keyed b WHERE b.url = v.url)'),
	(2, 'SELECT id FROM many v WHERE NOT EXISTS (SELECT FROM keyed b WHERE b.url = v.rare)')) q (i, query), plan_of(query) line
GROUP BY i ORDER BY i;
SET enable_nestloop = off;
-- the keys of the few that pass are hashed by us, or by the join, on either side
CREATE TABLE names AS SELECT ('u' || i)::name AS name, i FROM generate_series(1, 60000) i;
ANALYZE names;
SELECT i, (SELECT bool_or(line ~ 'Probe: .* in join filter') FROM plan_of(query) line) AS filtered, result_of(query) = plain AS same FROM (VALUES
	(1, 'SELECT count(*), sum(i) FROM visits v JOIN names n ON n.name = v.url JOIN blocked b ON b.url = v.url'),
	(2, 'SELECT count(*), sum(i) FROM visits v JOIN blocked b ON b.url = v.url LEFT JOIN names n ON n.name = v.url')) q (i, query),
	plain_result_of(query) plain
ORDER BY i;
-- a side that turns out empty is read first, though the other one costs less
CREATE TABLE hits AS SELECT i AS id, 'u' || CASE WHEN i % 5 = 0 THEN i ELSE -i END AS url FROM generate_series(1, 30000) i;
ANALYZE hits;
SELECT n->>'Relation Name' AS scanned, (n->>'Actual Loops')::int AS times FROM nodes('SELECT v.id FROM hits v JOIN blocked b USING (url) WHERE b.kind = 99') n
	WHERE n ? 'Relation Name' ORDER BY 1;
-- a cursor that goes back reads what a bypass has stored again
BEGIN;
SET LOCAL cursor_tuple_fraction = 1;
DECLARE again SCROLL CURSOR FOR SELECT id FROM visits v WHERE NOT EXISTS (SELECT FROM blocked b WHERE b.url = v.url) ORDER BY id;
FETCH 2 FROM again;
MOVE ABSOLUTE 0 IN again;
FETCH 2 FROM again;
COMMIT;

\set ECHO none
\set VERBOSITY terse
SET client_min_messages = warning;
DROP SCHEMA join_filter_store CASCADE;
