-- A Filter Scan that asks the index of its own table as it begins, where a bitmap would read
-- all pages
CREATE SCHEMA probe_once;
SET search_path = probe_once, public;
SET client_min_messages = warning;
LOAD 'bloomfilter';
CREATE TABLE list WITH (autovacuum_enabled = off) AS
	SELECT i AS id, i % 1000 AS r, 'u' || i AS url, i::numeric AS n FROM generate_series(1, 20000) i;
CREATE INDEX list_url ON list USING membership (url);
CREATE INDEX list_two ON list USING membership (r, id);
CREATE INDEX list_lower ON list USING membership (upper(url));
CREATE INDEX list_n ON list USING membership (n);
VACUUM ANALYZE list;
CREATE FUNCTION plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE 'EXPLAIN (COSTS OFF) ' || query;
END $$;
CREATE FUNCTION analyzed(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) ' || query;
END $$;

SELECT plan('SELECT * FROM list WHERE url = ''u7''');
SELECT plan('SELECT * FROM list WHERE id = 7 AND 7::bigint = r');
SELECT plan('SELECT * FROM list WHERE upper(url) = ''U7''');
SELECT plan('SELECT * FROM list WHERE url = ''u7'' AND n = 8');
-- of several indexes, that which core has chosen, though others come before it
CREATE TABLE several WITH (autovacuum_enabled = off) AS SELECT * FROM list;
CREATE INDEX several_url ON several USING membership (url);
CREATE INDEX several_two ON several USING membership (r, id);
ANALYZE several;
SELECT plan('SELECT * FROM several WHERE url = ''u7'' AND r = 7 AND id = 7');
CREATE INDEX several_both ON several USING membership (url, n);
SELECT plan('SELECT * FROM several WHERE url = ''u7'' AND n = 7');
SELECT count(*) FROM several WHERE url = 'u7' AND n = 7;
SELECT count(*) FROM several WHERE url = 'u7' AND n = 8;
DROP TABLE several;
-- a table that the index excludes is not read
SELECT line FROM analyzed('SELECT * FROM list WHERE url = ''absent''') line WHERE line NOT LIKE '%rows=0%';
SELECT count(*) FROM list WHERE url = 'u7';
SELECT count(*) FROM list WHERE url = 'absent';
SELECT count(*) FROM list WHERE id = 7 AND r = 7;
SELECT count(*) FROM list WHERE id = 7 AND r = 8;
SELECT count(*) FROM list WHERE upper(url) = 'U20000';
-- types that hash alike
SELECT count(*) FROM list WHERE n = 7;
SELECT count(*) FROM list WHERE n = 7::bigint AND n = 7.0;
-- not for several values, other operators, or NULL
SELECT plan('SELECT * FROM list WHERE url IN (''u7'', ''u8'')');
SELECT count(*) FROM list WHERE url IN ('u7', 'absent');
SELECT count(*) FROM list WHERE url = NULL;

-- parameters, which change from one execution or row to the next
PREPARE by_url(text) AS SELECT id FROM list WHERE url = $1;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE by_url('u1');
EXECUTE by_url('u1');
EXECUTE by_url('absent');
EXECUTE by_url(NULL);
EXECUTE by_url('u2');
RESET plan_cache_mode;
SELECT v, (SELECT id FROM list WHERE url = w LIMIT 1) FROM (SELECT v, 'u' || v * 5000 AS w FROM generate_series(1, 6) v OFFSET 0) s;
SELECT count(*) FROM list WHERE url = (SELECT max(url) FROM list);
DO $$
DECLARE
	found int;
BEGIN
	FOR i IN 1..20 LOOP
		SELECT count(*) INTO found FROM list WHERE url = 'u' || i * 1900;
		IF found <> (i * 1900 <= 20000)::int THEN
			RAISE 'u% was found % times', i * 1900, found;
		END IF;
	END LOOP;
END $$;

-- rows of the same transaction, and of a subtransaction that ends
BEGIN;
DECLARE before CURSOR FOR SELECT id FROM list WHERE url = 'new';
INSERT INTO list VALUES (20001, 1, 'new', 1);
SELECT id FROM list WHERE url = 'new';
SAVEPOINT s;
INSERT INTO list VALUES (20002, 1, 'newer', 1);
SELECT id FROM list WHERE url = 'newer';
ROLLBACK TO s;
SELECT id FROM list WHERE url = 'newer';
FETCH before;
DECLARE back SCROLL CURSOR FOR SELECT id FROM list WHERE url = 'new';
FETCH ALL FROM back;
FETCH BACKWARD ALL FROM back;
FETCH ALL FROM back;
UPDATE list SET id = -id WHERE url = 'new' RETURNING id;
DELETE FROM list WHERE url = 'new' RETURNING id;
DELETE FROM list WHERE url = 'absent' RETURNING id;
COMMIT;
SELECT count(*) FROM list WHERE url = 'new';

-- an index that is not valid is not asked; one that is made again is
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'list_url'::regclass;
SELECT plan('SELECT * FROM list WHERE url = ''u7''');
UPDATE pg_index SET indisvalid = true WHERE indexrelid = 'list_url'::regclass;
PREPARE kept AS SELECT id FROM list WHERE url = 'u9';
EXECUTE kept;
REINDEX INDEX list_url;
EXECUTE kept;
DROP INDEX list_url;
EXECUTE kept;

-- a partition, each by its own index
CREATE TABLE parts (id int, url text) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (10000);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (10000) TO (20001);
INSERT INTO parts SELECT id, url FROM list;
CREATE INDEX ON parts_1 USING membership (url);
CREATE INDEX ON parts_2 USING membership (url);
VACUUM ANALYZE parts;
SELECT plan('SELECT * FROM parts WHERE url = ''u10000''');
SELECT * FROM parts WHERE url = 'u10000';

-- policies hide rows: the plan stays
CREATE ROLE probe_once_user;
GRANT USAGE ON SCHEMA probe_once TO probe_once_user;
GRANT SELECT ON parts_1 TO probe_once_user;
ALTER TABLE parts_1 ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON parts_1 USING (id < 100);
SET ROLE probe_once_user;
SELECT plan('SELECT * FROM parts_1 WHERE url = ''u7''');
SELECT * FROM parts_1 WHERE url = 'u7';
SELECT * FROM parts_1 WHERE url = 'u700';
RESET ROLE;

-- the same as without
SET bloomfilter.filter_scan = off;
SELECT plan('SELECT * FROM parts_2 WHERE url = ''u10000''');
RESET bloomfilter.filter_scan;
DROP SCHEMA probe_once CASCADE;
DROP ROLE probe_once_user;
