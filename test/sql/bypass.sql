--
-- Anti, left and full joins whose rows without a partner pass them at once, because a
-- membership index on the other side does not have them.  Each query is asked with the
-- Filter Bypass wherever it is legal, by nested loops and by hash joins, and without.
--
\set ON_ERROR_STOP on
CREATE SCHEMA bypass;
SET search_path = bypass, public;
LOAD 'bloomfilter';
SET max_parallel_workers_per_gather = 0;
SET enable_mergejoin = off;
SET enable_material = off;

CREATE TABLE visits (id int, url text, n int, m int) WITH (autovacuum_enabled = off);
INSERT INTO visits
SELECT i, CASE WHEN i % 50 = 0 THEN 'bad ' || i / 50 % 90 WHEN i % 37 > 0 THEN 'page ' || i END, i % 10, i % 100
FROM generate_series(1, 20000) i;
CREATE TABLE list (url text, note int) WITH (autovacuum_enabled = off);
INSERT INTO list SELECT 'bad ' || i, i FROM generate_series(1, 600) i;
INSERT INTO list SELECT * FROM list WHERE note % 7 = 0;
INSERT INTO list VALUES (NULL, 0);
CREATE INDEX list_btree ON list (url);
CREATE INDEX list_url ON list USING membership (url) WITH (error_rate = 0.0001);
CREATE TABLE more (note int, remark text) WITH (autovacuum_enabled = off);
INSERT INTO more SELECT i, 'remark ' || i FROM generate_series(1, 300, 3) i;
CREATE TABLE few (m int) WITH (autovacuum_enabled = off);
INSERT INTO few VALUES (1), (3), (NULL), (50);
VACUUM ANALYZE visits, list, more, few;

\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/shared/plans.sql'
\i :file

-- A plan with counts that are the same on all majors
CREATE FUNCTION analyzed(query text) RETURNS SETOF text
LANGUAGE sql AS $$
	SELECT regexp_replace(line, '(actual rows=\d+)\.00', '\1')
	FROM plan_of(query, 'ANALYZE, COSTS off, TIMING off, SUMMARY off') line
	WHERE line !~ '(Buffers|Planning|Buckets|Filter Size|Heap Fetches|Index Searches|Memory)'
$$;

-- The join below a query's Filter Bypass, or NULL
CREATE FUNCTION bypass_of(query text) RETURNS text
LANGUAGE sql AS $$
	SELECT CASE WHEN plan ~ E'Filter Bypass\\)\\s+->  Nested' THEN 'loop' WHEN plan ~ E'Filter Bypass\\)\\s+->  Hash' THEN 'hash' END
	FROM (SELECT string_agg(line, E'\n') FROM plan_of(query) line) p (plan)
$$;

-- Is it a right or a full join, which hashes the side with the feeder?
CREATE FUNCTION feeder_is_hashed(query text) RETURNS boolean
LANGUAGE sql AS $$
	SELECT plan ~ E'->  Hash\\s+->  Custom Scan \\(Bypass Feeder' FROM (SELECT string_agg(line, E'\n') FROM plan_of(query) line) p (plan)
$$;

-- How many rows a query has, and by what join they are the same as without
CREATE FUNCTION compare(query text, OUT rows bigint, OUT loops text, OUT hashes text)
LANGUAGE plpgsql AS $$
DECLARE
	statement text := format('SELECT coalesce(array_agg(q::text ORDER BY q::text), ''{}'') FROM (%s) AS q', query);
	without text[];
	found text[];
	of text;
BEGIN
	PERFORM set_config('bloomfilter.join_filter', 'off', false);
	EXECUTE statement INTO without;
	rows := cardinality(without);
	PERFORM set_config('bloomfilter.join_filter', 'index', false);
	PERFORM set_config('bloomfilter.filter_scan', 'force', false);
	FOR i IN 1..2 LOOP
		PERFORM set_config(CASE i WHEN 1 THEN 'enable_hashjoin' ELSE 'enable_nestloop' END, 'off', false);
		of := coalesce(bypass_of(query), 'none');
		EXECUTE statement INTO found;
		IF found <> without THEN
			RAISE WARNING '% rows, or %: % or %', cardinality(found), rows, found[:5], without[:5];
			of := of || ' (wrong)';
		END IF;
		IF i = 1 THEN
			loops := of;
		ELSE
			hashes := of;
		END IF;
		PERFORM set_config(CASE i WHEN 1 THEN 'enable_hashjoin' ELSE 'enable_nestloop' END, 'on', false);
	END LOOP;
	PERFORM set_config('bloomfilter.filter_scan', 'on', false);
END
$$;

-- ------------------------------------------------------------------ chosen
-- The planner does it by itself, but not if the list is so small that a lookup costs as little
CREATE TABLE large_list AS SELECT 'bad ' || i AS url FROM generate_series(1, 50000) i;
CREATE INDEX ON large_list USING membership (url);
ANALYZE large_list;
\set ON_ERROR_STOP off
SELECT bypass_of('SELECT v.id FROM visits v LEFT JOIN large_list b ON b.url = v.url') IS NOT NULL AS large,
	bypass_of('SELECT v.id, b.note FROM visits v LEFT JOIN list b ON b.url = v.url') IS NOT NULL AS small;
-- an expression without statistics is expected to be absent, too; statistics tell otherwise
CREATE TABLE letters AS SELECT i AS id, 'BAD ' || i AS url FROM generate_series(1, 100000) i;
CREATE TABLE letters_list AS SELECT 'bad ' || -i AS url FROM generate_series(1, 100000) i;
CREATE INDEX ON letters_list USING membership (lower(url));
ANALYZE letters, letters_list;
CREATE FUNCTION by_expression(OUT bypass text, OUT assumed_half boolean) LANGUAGE sql AS $$
	SELECT bypass_of('SELECT v.id FROM letters v WHERE NOT EXISTS (SELECT FROM letters_list b WHERE lower(b.url) = lower(v.url))'),
		EXISTS (SELECT FROM plan_of('SELECT v.id FROM letters v JOIN letters_list b ON lower(b.url) = lower(v.url)', 'COSTS on') line WHERE line ~ 'Filter Scan.*rows=50000 ')
$$;
SELECT * FROM by_expression();
-- but not for a nested loop, which would look up all rows if that is wrong
CREATE INDEX letters_sorted ON letters_list (lower(url));
SET random_page_cost = 0.1;
SELECT bypass_of('SELECT v.id FROM letters v WHERE id <= 30000 AND NOT EXISTS (SELECT FROM letters_list b WHERE lower(b.url) = lower(v.url))') IS NOT DISTINCT FROM 'loop' AS is_loop;
RESET random_page_cost;
DROP INDEX letters_sorted;
UPDATE letters_list SET url = 'bad ' || substr(url, 6);
CREATE STATISTICS letters_lower ON (lower(url)) FROM letters;
ANALYZE letters;
SELECT bypass FROM by_expression();
DROP TABLE letters, letters_list;
DROP FUNCTION by_expression;
SET bloomfilter.filter_scan = force;
SET enable_hashjoin = off;
SELECT analyzed('SELECT v.id FROM visits v WHERE NOT EXISTS (SELECT FROM list b WHERE b.url = v.url)');
RESET enable_hashjoin;
SELECT analyzed('SELECT v.id, b.note FROM visits v LEFT JOIN list b ON b.url = v.url WHERE v.n <> 3');
-- nothing is left to be joined
SELECT analyzed('SELECT v.id, b.note FROM visits v LEFT JOIN list b ON b.url = v.url WHERE v.id % 50 <> 0');
-- the first rows at once
RESET bloomfilter.filter_scan;
SELECT analyzed('SELECT v.id FROM visits v WHERE NOT EXISTS (SELECT FROM list b WHERE b.url = v.url) LIMIT 10');
SET bloomfilter.filter_scan = force;
SET enable_nestloop = off;
SELECT analyzed('SELECT v.id, b.note FROM visits v FULL JOIN list b ON b.url = v.url');
RESET bloomfilter.filter_scan;
SET bloomfilter.join_filter = index;
SELECT analyzed('SELECT v.id, b.note FROM visits v LEFT JOIN list b ON b.url = v.url LIMIT 10');
RESET enable_nestloop;
-- most rows have a partner
SELECT bypass_of('SELECT v.id FROM visits v LEFT JOIN list b ON b.url = v.url WHERE v.id % 50 = 0') IS NULL AS chosen;
SELECT bypass_of('SELECT b.note FROM list b LEFT JOIN list c ON b.url = c.url') IS NULL AS chosen;
SET bloomfilter.join_filter = off;
SELECT bypass_of('SELECT v.id FROM visits v LEFT JOIN list b ON b.url = v.url') IS NULL AS chosen;
RESET bloomfilter.join_filter;

-- ----------------------------------------------------------------- answers
SELECT i, r.*
FROM (VALUES
	(1, 'SELECT v.id FROM visits v WHERE NOT EXISTS (SELECT FROM list b WHERE b.url = v.url)'),
	(2, 'SELECT v, b FROM visits v LEFT JOIN list b ON b.url = v.url'),
	(3, 'SELECT v.id, b FROM visits v LEFT JOIN list b ON b.url = v.url WHERE b.url IS NULL'),
	(4, 'SELECT v.id, b.note FROM visits v LEFT JOIN list b ON b.url = v.url AND b.note % 2 = 0 AND v.n > 4'),
	(5, 'SELECT v.id, b.note FROM visits v LEFT JOIN list b ON b.url = v.url WHERE coalesce(b.note, -1) <> 10'),
	(6, 'SELECT v.id, b.note FROM visits v FULL JOIN list b ON b.url = v.url'),
	(7, 'SELECT b.note, v.id FROM list b FULL JOIN visits v ON b.url = v.url WHERE v.id IS NULL OR b.note IS NULL'),
	(8, 'SELECT v.id, b.note FROM list b RIGHT JOIN visits v ON b.url = v.url'),
	-- the other side is a join
	(9, 'SELECT v.id, b.note, m.remark FROM visits v LEFT JOIN (list b JOIN more m USING (note)) ON b.url = v.url'),
	(10, 'SELECT v.id, b.note, m.remark FROM visits v LEFT JOIN (list b LEFT JOIN more m USING (note)) ON b.url = v.url'),
	(11, 'SELECT v.id, b.note, m.remark FROM visits v LEFT JOIN (more m LEFT JOIN list b USING (note)) ON b.url = v.url'),
	(12, 'SELECT v.id, b.note, m.remark FROM visits v LEFT JOIN list b ON b.url = v.url LEFT JOIN more m ON m.note = b.note'),
	-- columns that are computed below or above the join
	(13, 'SELECT v.id, x.a, x.b FROM visits v LEFT JOIN (SELECT url, coalesce(note, 5) + 1 AS a, 7 AS b FROM list) x ON x.url = v.url'),
	(14, 'SELECT v.id * 2, b.note IS NULL, v.tableoid = ''visits''::regclass, v.ctid FROM visits v LEFT JOIN list b ON b.url = v.url'),
	(15, 'SELECT x.id, x.c FROM (SELECT v.id, v.n + 1 AS c, b.note FROM visits v LEFT JOIN list b ON b.url = v.url) x FULL JOIN few f ON f.m = x.id'),
	(16, 'SELECT v.id, (SELECT max(m.note) FROM more m WHERE m.note < v.n + b.note) FROM visits v LEFT JOIN list b ON b.url = v.url WHERE v.n = 0'),
	-- conditions above, and with both sides
	(17, 'SELECT v.id FROM visits v LEFT JOIN list b ON b.url = v.url WHERE b.note IS NULL'),
	(18, 'SELECT v.id FROM visits v LEFT JOIN list b ON b.url = v.url AND b.note < v.m'),
	(19, 'SELECT v.id FROM visits v WHERE NOT EXISTS (SELECT FROM list b WHERE b.url = v.url AND b.note < v.m)'),
	(20, 'SELECT v.n, count(*), count(b.note) FROM visits v LEFT JOIN list b ON b.url = v.url GROUP BY 1'),
	(21, 'SELECT DISTINCT v.url FROM visits v LEFT JOIN list b ON b.url = v.url'),
	-- executed again: with other rows, other lists, and neither
	(22, 'SELECT f.m, x.* FROM few f, LATERAL (SELECT v.id, b.note FROM visits v LEFT JOIN list b ON b.url = v.url WHERE v.m = f.m OFFSET 0) x'),
	(23, 'SELECT f.m, x.* FROM few f LEFT JOIN LATERAL (SELECT v.id FROM visits v LEFT JOIN list b ON b.url = v.url AND b.note % 100 = f.m WHERE v.n = 0 AND b.url IS NOT NULL OFFSET 0) x ON true'),
	(24, 'SELECT f.m, (SELECT count(*) FROM visits v WHERE v.m = f.m AND NOT EXISTS (SELECT FROM list b WHERE b.url = v.url AND b.note > f.m)) FROM few f'),
	(25, 'SELECT f.m, x.* FROM few f, LATERAL (SELECT count(v.id), count(b.note) FROM visits v FULL JOIN list b ON b.url = v.url WHERE coalesce(v.m, 1) <> f.m) x'),
	(26, 'SELECT f.m, (SELECT array_agg(q.id ORDER BY q.id) FROM (SELECT v.id FROM visits v LEFT JOIN list b ON b.url = v.url WHERE v.n = 0 LIMIT 3 + f.m % 2) q) FROM few f'),
	-- no rows on a side
	(27, 'SELECT v.id FROM visits v LEFT JOIN list b ON b.url = v.url WHERE v.id < 0'),
	(28, 'SELECT v.id, b.note FROM visits v FULL JOIN list b ON b.url = v.url WHERE v.id > 0 OR b.note > 590')) q (i, query),
	compare(query) r
ORDER BY i;

-- The side with the feeder is hashed: a right join
SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off;
CREATE TABLE lots (url text, note int) WITH (autovacuum_enabled = off);
INSERT INTO lots SELECT 'bad ' || i, i FROM generate_series(1, 6000) i;
CREATE INDEX lots_url ON lots USING membership (url);
VACUUM ANALYZE lots;
SET work_mem = '64kB';
CREATE TABLE queries (i int, query text);
INSERT INTO queries VALUES
	(1, 'SELECT v.id, b.note FROM visits v LEFT JOIN lots b ON b.url = v.url'),
	(2, 'SELECT v, b FROM visits v LEFT JOIN lots b ON b.url = v.url'),
	(3, 'SELECT v.id, b.note FROM visits v FULL JOIN lots b ON b.url = v.url'),
	-- its table is made anew
	(4, 'SELECT f.m, x.* FROM few f, LATERAL (SELECT count(*), count(b.note) + 0 * f.m FROM visits v LEFT JOIN lots b ON b.url = v.url OFFSET 0) x'),
	(5, 'SELECT f.m, x.* FROM few f, LATERAL (SELECT v.id, b.note FROM visits v LEFT JOIN lots b ON b.url = v.url WHERE v.m = f.m OFFSET 0) x'),
	(6, 'SELECT f.m, x.* FROM few f, LATERAL (SELECT v.id, b.note FROM visits v LEFT JOIN lots b ON b.url = v.url AND b.note > f.m OFFSET 0) x');
SELECT i, r.* FROM queries, compare(query) r ORDER BY i;
SET bloomfilter.filter_scan = force;
SET enable_nestloop = off;
SELECT bool_and(feeder_is_hashed(query)) FROM queries;
RESET enable_nestloop; RESET bloomfilter.filter_scan; RESET work_mem; RESET enable_indexscan; RESET enable_bitmapscan; RESET enable_indexonlyscan;

-- ----------------------------------------------------------------- any key
CREATE FUNCTION key_of(query text) RETURNS text SET bloomfilter.filter_scan = force
RETURN (SELECT substring(line FROM 'Mark: (.*)') FROM plan_of(query) line WHERE line ~ 'Mark: ');
CREATE TABLE many (a text, b int, note int) WITH (autovacuum_enabled = off);
INSERT INTO many SELECT url, note % 10, note FROM list;
INSERT INTO many VALUES (NULL, 5, 5), ('bad 3', NULL, 3), ('BAD 4', 4, 4);
CREATE INDEX many_two ON many USING membership (a, b);
CREATE INDEX many_lower ON many USING membership (lower(a));
CREATE INDEX many_some ON many USING membership (note) WHERE b > 2;
CREATE TABLE parts (url text, note int) PARTITION BY HASH (url);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parts SELECT * FROM list;
CREATE INDEX parts_url ON parts USING membership (url);
CREATE TABLE heirs (url text, note int);
CREATE TABLE heir (more int) INHERITS (heirs);
INSERT INTO heirs SELECT * FROM list WHERE note % 2 = 0;
INSERT INTO heir SELECT * FROM list WHERE note % 2 = 1;
CREATE INDEX heirs_url ON heirs USING membership (url);
CREATE INDEX heir_url ON heir USING membership (url);
VACUUM ANALYZE many, parts, heirs, heir;
SELECT i, r.*, key
FROM (VALUES
	(1, 'SELECT v.id, b.note FROM visits v LEFT JOIN many b ON b.a = v.url AND b.b = v.n'),
	(2, 'SELECT v.id FROM visits v WHERE NOT EXISTS (SELECT FROM many b WHERE b.a = v.url AND b.b = v.n AND b.note < v.m + 20)'),
	(3, 'SELECT v, b FROM visits v FULL JOIN many b ON b.a = v.url AND b.b = v.n'),
	(4, 'SELECT v.id, b.note FROM visits v LEFT JOIN list b ON b.url = lower(replace(v.url, ''page'', ''BAD''))'),
	(5, 'SELECT v.id, b.note FROM visits v LEFT JOIN many b ON lower(b.a) = v.url'),
	(6, 'SELECT v.id, b.a FROM visits v LEFT JOIN many b ON b.note = v.id AND b.b > 2'),
	(7, 'SELECT v.id FROM visits v WHERE NOT EXISTS (SELECT FROM many b WHERE b.note = v.id AND b.b = 7)'),
	(8, 'SELECT v.id, b.note FROM visits v LEFT JOIN parts b ON b.url = v.url'),
	(9, 'SELECT v.id FROM visits v WHERE NOT EXISTS (SELECT FROM parts b WHERE b.url = v.url AND b.note > v.m)'),
	(10, 'SELECT v.id, b.note, b.tableoid::regclass FROM visits v LEFT JOIN heirs b ON b.url = v.url'),
	(11, 'SELECT v.id FROM visits v WHERE NOT EXISTS (SELECT FROM heirs b WHERE b.url = v.url)')) q (i, query),
	compare(query) r, key_of(query) key
ORDER BY i;
-- NOT IN is an anti join for PostgreSQL 19, if no column can be NULL
CREATE TABLE here (url text NOT NULL, id int);
CREATE TABLE there (url text NOT NULL);
INSERT INTO here SELECT url, id FROM visits WHERE url IS NOT NULL;
INSERT INTO there SELECT url FROM list WHERE url IS NOT NULL;
CREATE INDEX ON there USING membership (url);
ANALYZE here, there;
SELECT rows, (loops <> 'none') = (current_setting('server_version_num')::int >= 190000) AS loops,
	(hashes <> 'none') = (current_setting('server_version_num')::int >= 190000) AS hashes
FROM compare('SELECT id FROM here WHERE url NOT IN (SELECT url FROM there)');
-- Most rows have a partner: from some row on, all others are joined, and none is stored
CREATE TABLE pairs AS SELECT 'bad ' || i % 600 + 1 AS url, i FROM generate_series(1, 70000) i;
INSERT INTO pairs SELECT 'page ' || i, i FROM generate_series(70001, 90000) i;
ANALYZE pairs;
SELECT * FROM compare('SELECT v.i, b.note FROM pairs v LEFT JOIN list b ON b.url = v.url');
SELECT * FROM compare('SELECT v.i, b.note FROM pairs v FULL JOIN list b ON b.url = v.url');
SELECT * FROM compare('SELECT f.m, x.* FROM few f, LATERAL (SELECT count(v.i), count(b.note) FROM pairs v LEFT JOIN list b ON b.url = v.url AND b.note > f.m OFFSET 0) x');
SET enable_nestloop = off;
SET bloomfilter.filter_scan = force;
SELECT analyzed('SELECT v.i, b.note FROM pairs v LEFT JOIN list b ON b.url = v.url');
RESET bloomfilter.filter_scan;
RESET enable_nestloop;
-- To store half of the rows on disk costs too much, but not if that share is only assumed
SET work_mem = '64kB';
CREATE TABLE half AS SELECT CASE WHEN i % 2 = 0 THEN 'bad ' ELSE 'page ' END || i AS url, i AS n, repeat('x', 200) AS filler FROM generate_series(1, 20000) i;
CREATE TABLE half_list AS SELECT 'bad ' || i AS url, i AS n, i AS x FROM generate_series(1, 20000) i;
CREATE INDEX ON half_list USING membership (url);
CREATE TABLE half_pairs AS SELECT * FROM half_list;
CREATE INDEX ON half_pairs USING membership (url, n);
ANALYZE half, half_list, half_pairs;
SELECT bypass_of('SELECT v.*, x FROM half v LEFT JOIN half_list b ON b.url = v.url AND b.n = v.n') AS known,
	bypass_of('SELECT v.*, x FROM half v LEFT JOIN half_pairs b ON b.url = v.url AND b.n = v.n') AS assumed;
RESET work_mem;

-- ---------------------------------------------------------------- parallel
-- Each process joins the rows that it has scanned; nothing is below a Parallel Hash, or
-- beside one
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET enable_parallel_hash = off;
SELECT i, r.*
FROM (VALUES
	(1, 'SELECT v.id FROM visits v WHERE NOT EXISTS (SELECT FROM list b WHERE b.url = v.url)'),
	(2, 'SELECT v.id, b.note FROM visits v LEFT JOIN list b ON b.url = v.url AND b.note % 2 = 0'),
	(3, 'SELECT v.id, b.note FROM visits v LEFT JOIN (list b JOIN more m USING (note)) ON b.url = v.url'),
	(4, 'SELECT f.m, v.id, b.note FROM few f JOIN visits v ON v.m = f.m LEFT JOIN list b ON b.url = v.url')) q (i, query),
	compare(query) r
ORDER BY i;
SET enable_hashjoin = off;
SELECT count(*) FROM plan_of('SELECT count(*) FROM visits v WHERE NOT EXISTS (SELECT FROM list b WHERE b.url = v.url)') line
WHERE line ~ '(Gather|Filter Bypass|Parallel Custom Scan \(Filter Scan)';
SET enable_hashjoin = on;
SET enable_parallel_hash = on;
SELECT i, r.*
FROM (VALUES
	(1, 'SELECT v.id FROM visits v WHERE NOT EXISTS (SELECT FROM list b WHERE b.url = v.url)'),
	(2, 'SELECT v.n, b.note FROM visits v LEFT JOIN list b ON b.url = v.url WHERE v.m < 3')) q (i, query),
	compare(query) r
ORDER BY i;
RESET enable_parallel_hash; RESET min_parallel_table_scan_size; RESET parallel_tuple_cost; RESET parallel_setup_cost;
SET max_parallel_workers_per_gather = 0;

-- No row is left to be joined: a full join returns those of the list
SELECT * FROM compare('SELECT v.id, b.note FROM (SELECT * FROM visits WHERE id % 50 > 0) v FULL JOIN list b ON b.url = v.url');
-- The condition keeps the key from failing
SET enable_hashjoin = off;
CREATE INDEX list_note ON list USING membership (note);
SELECT count(b.note) FROM (SELECT * FROM visits WHERE id < 500) v LEFT JOIN list b ON v.n <> 0 AND 1 / v.n = b.note;
SET bloomfilter.filter_scan = force;
SELECT count(b.note) FROM (SELECT * FROM visits WHERE id < 500) v LEFT JOIN list b ON v.n <> 0 AND 1 / v.n = b.note;
RESET bloomfilter.filter_scan; RESET enable_hashjoin;
DROP INDEX list_note;

-- ------------------------------------------------------------- stand aside
SET bloomfilter.filter_scan = force;
CREATE FUNCTION noted(int) RETURNS boolean LANGUAGE plpgsql VOLATILE AS 'BEGIN RETURN true; END';
CREATE VIEW barrier WITH (security_barrier) AS SELECT * FROM visits WHERE n > 0;
CREATE TABLE hidden (LIKE list);
INSERT INTO hidden SELECT * FROM list;
CREATE INDEX ON hidden USING membership (url);
ALTER TABLE hidden ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY odd ON hidden USING (note % 2 = 1);
CREATE ROLE bypass_user;
CREATE TABLE other_list (a text, b text, note int);
CREATE INDEX ON other_list USING membership (a, b);
CREATE INDEX ON other_list USING membership (lower(a));
CREATE INDEX ON other_list USING membership (a) WHERE note > 0;
CREATE TABLE parent (LIKE list);
CREATE TABLE child () INHERITS (parent);
CREATE INDEX ON parent USING membership (url);
GRANT USAGE ON SCHEMA bypass TO bypass_user;
GRANT SELECT, UPDATE ON ALL TABLES IN SCHEMA bypass TO bypass_user;
SET ROLE bypass_user;
SELECT i, bypass_of(query) IS NULL AS stands_aside
FROM (VALUES
	(0, 'SELECT v.id FROM visits v LEFT JOIN list b ON b.url = v.url'),
	(1, 'SELECT v.id FROM visits v LEFT JOIN hidden b ON b.url = v.url'),
	(2, 'SELECT v.id FROM barrier v LEFT JOIN list b ON b.url = v.url'),
	(3, 'SELECT v.id FROM visits v LEFT JOIN list b ON b.url = v.url WHERE noted(v.id)'),
	(4, 'SELECT v.id FROM visits v LEFT JOIN list b ON b.url = v.url WHERE random() > 2'),
	(5, 'SELECT v.id FROM visits v LEFT JOIN (SELECT * FROM list FOR SHARE) b ON b.url = v.url'),
	(6, 'SELECT v.id FROM visits v LEFT JOIN other_list b ON b.a = v.url'),
	(7, 'SELECT v.id FROM visits v LEFT JOIN parent b ON b.url = v.url'),
	(8, 'SELECT v.id FROM visits v LEFT JOIN list b ON b.url <> v.url'),
	(9, 'SELECT v.id FROM visits v LEFT JOIN list b ON b.url IS NOT DISTINCT FROM v.url'),
	(10, 'SELECT v.id FROM visits v LEFT JOIN list b ON b.url = v.url OR b.note = v.n'),
	(11, 'SELECT v.id FROM visits v LEFT JOIN list b ON b.url = v.url COLLATE "POSIX"'),
	(12, 'SELECT v.id FROM visits v LEFT JOIN list b ON b.url = lower(v.url)'),
	(13, 'SELECT v.id FROM (SELECT * FROM visits OFFSET 0) v LEFT JOIN list b ON b.url = v.url'),
	(14, 'SELECT v.id FROM visits v TABLESAMPLE BERNOULLI (50) REPEATABLE (1) LEFT JOIN list b ON b.url = v.url'),
	(15, 'SELECT v.id FROM visits v LEFT JOIN list b ON b.url = v.url WHERE now() > ''2000-01-01'''),
	-- these are inner joins
	(16, 'SELECT v.id FROM visits v LEFT JOIN list b ON b.url = v.url WHERE b.note > 0'),
	(17, 'SELECT v.id FROM visits v JOIN list b ON b.url = v.url')) q (i, query)
ORDER BY i;
RESET ROLE;
RESET bloomfilter.filter_scan;

-- ---------------------------------------------------------------- cursors
SET enable_hashjoin = off;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT v.id, b.note FROM visits v LEFT JOIN list b ON b.url = v.url WHERE v.id % 25 < 2;
FETCH 4 FROM c;
FETCH BACKWARD 2 FROM c;
-- its snapshot does not see these
INSERT INTO list SELECT url, -1 FROM visits WHERE id BETWEEN 40 AND 60;
FETCH 4 FROM c;
MOVE ABSOLUTE 0 FROM c;
MOVE FORWARD ALL FROM c;
ROLLBACK;
RESET enable_hashjoin;

-- --------------------------------------------------------- the list itself
-- A statement does not see its own rows, nor those of its triggers: all duplicates are new
CREATE TABLE seen (url text, note int);
INSERT INTO seen SELECT url, note FROM list WHERE url IS NOT NULL;
CREATE INDEX seen_url ON seen USING membership (url);
CREATE TABLE batch AS SELECT CASE WHEN i % 3 = 0 THEN 'bad ' || i % 900 ELSE 'new ' || i % 4000 END AS url, i FROM generate_series(1, 20000) i;
ANALYZE seen, batch;
-- what a rule inserts
CREATE TABLE logged (url text, note int);
CREATE FUNCTION insert_more() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF new.note % 100 = 1 AND pg_trigger_depth() = 1 THEN
		INSERT INTO seen SELECT 'new ' || (substr(new.url, 5)::int + 7), 0;
	END IF;
	RETURN new;
END
$$;
CREATE FUNCTION compare_insertion(statement text, OUT inserted bigint, OUT bypassed boolean, OUT same boolean)
LANGUAGE plpgsql AS $$
DECLARE
	results text[];
BEGIN
	PERFORM set_config('bloomfilter.filter_scan', 'force', false);
	FOR i IN 0..1 LOOP
		PERFORM set_config('bloomfilter.join_filter', CASE i WHEN 1 THEN 'index' ELSE 'off' END, false);
		bypassed := bypass_of(statement) IS NOT NULL;
		BEGIN
			EXECUTE statement;
			GET DIAGNOSTICS inserted = ROW_COUNT;
			results := results || (SELECT array_agg(s ORDER BY s)::text FROM (TABLE seen UNION ALL TABLE logged) s);
			RAISE EXCEPTION USING ERRCODE = 'TR000';
		EXCEPTION WHEN SQLSTATE 'TR000' THEN
		END;
	END LOOP;
	PERFORM set_config('bloomfilter.filter_scan', 'on', false);
	same := results[1] = results[2];
END
$$;
SELECT * FROM compare_insertion('INSERT INTO seen SELECT url, i FROM batch b WHERE NOT EXISTS (SELECT FROM seen s WHERE s.url = b.url)');
SELECT * FROM compare_insertion('INSERT INTO seen SELECT b.url, b.i FROM batch b LEFT JOIN seen s ON s.url = b.url WHERE s.url IS NULL');
CREATE TRIGGER before_more BEFORE INSERT ON seen FOR EACH ROW EXECUTE FUNCTION insert_more();
SELECT * FROM compare_insertion('INSERT INTO seen SELECT url, i FROM batch b WHERE NOT EXISTS (SELECT FROM seen s WHERE s.url = b.url)');
DROP TRIGGER before_more ON seen;
CREATE TRIGGER after_more AFTER INSERT ON seen FOR EACH ROW EXECUTE FUNCTION insert_more();
SELECT * FROM compare_insertion('INSERT INTO seen SELECT url, i FROM batch b WHERE NOT EXISTS (SELECT FROM seen s WHERE s.url = b.url)');
DROP TRIGGER after_more ON seen;
CREATE UNIQUE INDEX seen_key ON seen (url) WHERE note > 0 AND note <> 7 AND url LIKE 'new%';
SELECT * FROM compare_insertion('INSERT INTO seen SELECT url, i FROM batch b WHERE NOT EXISTS (SELECT FROM seen s WHERE s.url = b.url) ON CONFLICT DO NOTHING');
DROP INDEX seen_key;
-- it asks again, when all rows are there
CREATE RULE log AS ON INSERT TO seen WHERE new.note % 2 = 0 DO ALSO INSERT INTO logged VALUES (new.url, new.note);
SELECT * FROM compare_insertion('INSERT INTO seen SELECT url, i FROM batch b WHERE NOT EXISTS (SELECT FROM seen s WHERE s.url = b.url)');
DROP RULE log ON seen;
SELECT * FROM compare_insertion('MERGE INTO seen s USING batch b ON s.url = b.url WHEN NOT MATCHED THEN INSERT VALUES (b.url, b.i)');
-- a statement of the same transaction sees them
BEGIN;
INSERT INTO seen SELECT url, i FROM batch b WHERE NOT EXISTS (SELECT FROM seen s WHERE s.url = b.url);
SELECT count(*) FROM batch b WHERE NOT EXISTS (SELECT FROM seen s WHERE s.url = b.url);
SAVEPOINT s;
DELETE FROM seen WHERE url LIKE 'new 1%';
SELECT count(*) FROM batch b WHERE NOT EXISTS (SELECT FROM seen s WHERE s.url = b.url);
ROLLBACK TO s;
SELECT count(*) FROM batch b WHERE NOT EXISTS (SELECT FROM seen s WHERE s.url = b.url);
ROLLBACK;

-- A cursor of a trigger sees the rows that its statement inserts between two fetches
CREATE TABLE found (url text);
CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	looked refcursor := 'looked';
	row record;
BEGIN
	IF new.note = 1 THEN
		OPEN looked FOR SELECT b.url FROM batch b WHERE b.url LIKE 'new%' AND NOT EXISTS (SELECT FROM seen s WHERE s.url = b.url);
		FETCH looked INTO row;
	ELSIF new.note = 1000 THEN
		LOOP
			FETCH looked INTO row;
			EXIT WHEN NOT FOUND;
			INSERT INTO found VALUES (row.url);
		END LOOP;
	END IF;
	RETURN new;
END
$$;
CREATE TRIGGER look BEFORE INSERT ON seen FOR EACH ROW EXECUTE FUNCTION look();
SET cursor_tuple_fraction = 1;
SET enable_hashjoin = off;
SET bloomfilter.filter_scan = force;
CREATE INDEX ON seen (url);
-- the index still has what was rolled back
REINDEX INDEX seen_url;
SELECT bypass_of($$SELECT b.url FROM batch b WHERE b.url LIKE 'new%' AND NOT EXISTS (SELECT FROM seen s WHERE s.url = b.url)$$);
INSERT INTO seen SELECT 'new ' || i, i FROM generate_series(1, 1000) i;
-- but for those of the page that it had read before
SELECT count(*) > 0 AS some, count(*) FILTER (WHERE substr(url, 5)::int BETWEEN 400 AND 999) AS unseen FROM found;
RESET bloomfilter.filter_scan;
RESET enable_hashjoin;
RESET cursor_tuple_fraction;

-- MERGE into a table with partitions needs columns that core knows only of its own joins
CREATE TABLE merged (url text, n int) PARTITION BY LIST (n);
CREATE TABLE merged_1 PARTITION OF merged FOR VALUES IN (1);
CREATE TABLE merged_2 PARTITION OF merged FOR VALUES IN (2);
INSERT INTO merged SELECT 'page ' || i, 1 + i % 2 FROM generate_series(1, 100) i;
CREATE INDEX ON merged USING membership (url);
ANALYZE merged;
SET bloomfilter.filter_scan = force;
SELECT bypass_of('MERGE INTO merged m USING visits v ON m.url = v.url WHEN NOT MATCHED THEN INSERT VALUES (v.url, 1)');
MERGE INTO merged m USING visits v ON m.url = v.url
WHEN MATCHED THEN UPDATE SET n = 3 - m.n WHEN NOT MATCHED THEN INSERT VALUES (v.url, 1);
RESET bloomfilter.filter_scan;
SELECT (SELECT count(*) FROM merged) = count(*) + count(DISTINCT 'page ' || i) FILTER (WHERE url IS DISTINCT FROM 'page ' || i) AS as_core
FROM visits LEFT JOIN generate_series(1, 100) i ON i = id;

-- rows with NULL keys pass at once, however many have a partner: in a join's own hash table
-- nothing would separate them
CREATE TABLE nulls (k int, i int) WITH (autovacuum_enabled = off);
INSERT INTO nulls SELECT i, i FROM generate_series(1, 2000) i;
ANALYZE nulls;
INSERT INTO nulls SELECT CASE WHEN i % 100 < 72 THEN i % 40000 WHEN i % 100 < 90 THEN NULL ELSE 1000000 + i END, i
FROM generate_series(1, 150000) i;
CREATE TABLE numbers AS SELECT i AS k, repeat('x', 20) AS f FROM generate_series(0, 400000) i;
CREATE INDEX ON numbers USING membership (k);
ANALYZE numbers;
SET enable_nestloop = off;
SET enable_mergejoin = off;
SET max_parallel_workers_per_gather = 0;
SET work_mem = '64kB';
SET bloomfilter.filter_scan = force;
SELECT max(substring(line FROM 'Batches: (\d+)')::int) <= 1024 AS few_batches, bool_or(line LIKE '%Hash Right Join%') AS hashed,
	bool_or(line LIKE '%Filter Bypass%') AS bypassed
FROM plan_of('SELECT o.*, l.f FROM nulls o LEFT JOIN numbers l ON l.k = o.k', 'ANALYZE, TIMING off') line;
RESET bloomfilter.filter_scan;
RESET work_mem;
RESET max_parallel_workers_per_gather;
RESET enable_mergejoin;
RESET enable_nestloop;

DROP SCHEMA bypass CASCADE;
DROP ROLE bypass_user;
