--
-- Stored filters that a session keeps from statement to statement: when they are
-- used again, when they are not, and how much memory they take.
--
\set ON_ERROR_STOP on
SET max_parallel_workers_per_gather = 0;
CREATE TABLE filters (name text PRIMARY KEY, f bloom);
-- so large that a filter's chunks are many pages, each of another content
CREATE FUNCTION of_class(class int, classes int DEFAULT 100, capacity bigint DEFAULT 100000) RETURNS bloom LANGUAGE sql AS
$$ SELECT bloom_add_all(bloom_create(capacity), array_agg(i)) FROM generate_series(class, 100000, classes) AS i $$;
-- What a filter has of the first numbers, a thousand questions at once
CREATE FUNCTION classes_in(filter bloom, OUT has int[]) LANGUAGE sql AS
$$ SELECT array_agg(DISTINCT i % 100 ORDER BY i % 100) FROM generate_series(0, 99) AS i
	WHERE bloom_contains_all(filter, ARRAY(SELECT i + 100 * j FROM generate_series(1, 9) AS j)) $$;
CREATE FUNCTION kept(OUT filters bigint, OUT kilobytes bigint) LANGUAGE sql AS
$$ SELECT count(*), coalesce(sum(total_bytes), 0) / 1024 FROM pg_backend_memory_contexts WHERE name = 'stored filter' $$;
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/shared/plans.sql'
\i :file
INSERT INTO filters SELECT 'class ' || i, of_class(i) FROM generate_series(0, 4) AS i;
VACUUM ANALYZE filters;

-- Read once, in full by many questions at once; then one look tells that it is the same
\set many 'SELECT bloom_contains_each(f, ARRAY(SELECT generate_series(0, 999))) FROM filters WHERE name = ''class 1'''
\set ON_ERROR_STOP off
SELECT buffers(:'many') > 20 AS read;
SELECT buffers(:'many') <= 3 AS looked, buffers($$SELECT f @> 101 FROM filters WHERE name = 'class 1'$$) <= 3 AS for_one_question;
SELECT classes_in(f) FROM filters WHERE name = 'class 1';
-- Few questions in a statement are many in many statements
SELECT buffers($$SELECT f @> 2 FROM filters WHERE name = 'class 2'$$) BETWEEN 4 AND 30 AS slice;
DO $$
BEGIN
	FOR i IN 1 .. 50
	LOOP
		ASSERT (SELECT f @> i * 100 + 2 FROM filters WHERE name = 'class 2');
	END LOOP;
END
$$;
SELECT buffers($$SELECT f @> 202 FROM filters WHERE name = 'class 2'$$) <= 3 AS kept;
SELECT filters, kilobytes BETWEEN 200 AND 400 AS of_both FROM kept();
-- but not where the filter is larger than the cache: there each statement would read it again
SET bloomfilter.cache_size = '50kB';
SELECT max(buffers($$SELECT f @> 3 FROM filters WHERE name = 'class 3'$$)) <= 10 AS slices FROM generate_series(1, 50);
RESET bloomfilter.cache_size;

-- UPDATE: the new value has another place
UPDATE filters SET f = f | of_class(7) WHERE name = 'class 1';
SELECT classes_in(f) FROM filters WHERE name = 'class 1';
BEGIN;
UPDATE filters SET f = of_class(8) WHERE name = 'class 1';
SELECT classes_in(f) FROM filters WHERE name = 'class 1';
ROLLBACK;
SELECT classes_in(f) FROM filters WHERE name = 'class 1';
-- of another column, and of a row that has the same value
UPDATE filters SET name = 'class one' WHERE name = 'class 1';
SELECT classes_in(f) FROM filters WHERE name = 'class one';

-- DELETE and VACUUM
DELETE FROM filters WHERE name = 'class one';
VACUUM filters;
INSERT INTO filters VALUES ('class 1', of_class(9));
SELECT classes_in(f) FROM filters WHERE name = 'class 1';
SELECT name, classes_in(f) FROM filters ORDER BY name;

-- Subtransactions: what they store is gone, and stored again in the same place
BEGIN;
SAVEPOINT a;
INSERT INTO filters VALUES ('sub', of_class(10));
SELECT classes_in(f) FROM filters WHERE name = 'sub';
ROLLBACK TO a;
SELECT classes_in(f) FROM filters WHERE name = 'sub';
INSERT INTO filters VALUES ('sub', of_class(11));
SELECT classes_in(f) FROM filters WHERE name = 'sub';
SAVEPOINT b;
UPDATE filters SET f = of_class(12) WHERE name = 'sub';
SELECT classes_in(f) FROM filters WHERE name = 'sub';
ROLLBACK TO b;
SELECT classes_in(f) FROM filters WHERE name = 'sub';
RELEASE a;
COMMIT;
SELECT classes_in(f) FROM filters WHERE name = 'sub';
DO $$
BEGIN
	FOR i IN 20 .. 24
	LOOP
		BEGIN
			UPDATE filters SET f = of_class(i) WHERE name = 'sub';
			ASSERT (SELECT classes_in(f) = ARRAY[i] FROM filters WHERE name = 'sub');
			IF i % 2 = 0 THEN
				RAISE division_by_zero;
			END IF;
		EXCEPTION WHEN division_by_zero THEN
			ASSERT (SELECT classes_in(f) = ARRAY[greatest(i - 1, 11)] OR i = 20 FROM filters WHERE name = 'sub');
		END;
	END LOOP;
END
$$;
SELECT classes_in(f) FROM filters WHERE name = 'sub';
-- and in a procedure that commits
DO $$
DECLARE
	filter	bloom;
BEGIN
	FOR i IN 30 .. 33
	LOOP
		UPDATE filters SET f = of_class(i) WHERE name = 'sub';
		SELECT f INTO filter FROM filters WHERE name = 'sub';
		ASSERT bloom_contains(filter, i);
		IF i % 2 = 0 THEN
			COMMIT;
		ELSE
			ROLLBACK;
		END IF;
		SELECT f INTO filter FROM filters WHERE name = 'sub';
		ASSERT bloom_contains(filter, i) = (i % 2 = 0) AND bloom_contains(filter, i / 2 * 2);
	END LOOP;
END
$$;
SELECT classes_in(f) FROM filters WHERE name = 'sub';

-- Cursors see what they saw first, also with the old one evicted
BEGIN;
DECLARE c CURSOR FOR SELECT classes_in(f) FROM filters, generate_series(1, 3) WHERE name = 'sub';
FETCH c;
UPDATE filters SET f = of_class(34) WHERE name = 'sub';
SELECT classes_in(f) FROM filters WHERE name = 'sub';
FETCH c;
SET LOCAL bloomfilter.cache_size = 0;
SELECT classes_in(f) FROM filters WHERE name = 'sub';
FETCH c;
COMMIT;

-- Files that are written anew keep the OIDs of values
SELECT name, classes_in(f) FROM filters ORDER BY name;
VACUUM FULL filters;
SELECT name, classes_in(f) FROM filters ORDER BY name;
CLUSTER filters USING filters_pkey;
SELECT name, classes_in(f) FROM filters ORDER BY name;
ALTER TABLE filters ADD COLUMN n int DEFAULT random();
SELECT name, classes_in(f) FROM filters ORDER BY name;
VACUUM FREEZE filters;
-- the relation cache is filled again
SELECT buffers(:'many') < 15 AS kept_while_frozen;
SELECT name, classes_in(f) FROM filters ORDER BY name;
-- a rewrite that is rolled back
BEGIN;
CLUSTER filters;
UPDATE filters SET f = of_class(40) WHERE name = 'sub';
SELECT classes_in(f) FROM filters WHERE name = 'sub';
ROLLBACK;
SELECT name, classes_in(f) FROM filters ORDER BY name;

-- TRUNCATE, and rolled back
BEGIN;
TRUNCATE filters;
INSERT INTO filters VALUES ('sub', of_class(41));
SELECT name, classes_in(f) FROM filters;
ROLLBACK;
SELECT name, classes_in(f) FROM filters ORDER BY name;
TRUNCATE filters;
SELECT name, classes_in(f) FROM filters ORDER BY name;
INSERT INTO filters SELECT 'class ' || i, of_class(i) FROM generate_series(1, 3) AS i;
SELECT name, classes_in(f) FROM filters ORDER BY name;

-- DROP, also of a temporary table, whose pages are in buffers of the session
CREATE TEMP TABLE passing AS SELECT of_class(50) AS f;
SELECT classes_in(f) FROM passing;
UPDATE passing SET f = of_class(51);
SELECT classes_in(f) FROM passing;
DROP TABLE passing;
CREATE TEMP TABLE passing AS SELECT of_class(52) AS f;
SELECT classes_in(f) FROM passing;
DROP TABLE passing;
CREATE TABLE passing AS SELECT of_class(53) AS f;
SELECT classes_in(f) FROM passing;
DROP TABLE passing;
CREATE TABLE passing AS SELECT of_class(54) AS f;
SELECT classes_in(f) FROM passing;
DROP TABLE passing;

-- Compressed ones, which have no slices, and cuckoo filters
CREATE TABLE compressed (name text, f bloom);
ALTER TABLE compressed ALTER f SET STORAGE EXTENDED;
INSERT INTO compressed SELECT i, of_class(i, 100, 1000000) FROM generate_series(1, 3) AS i;
SELECT bool_and(pg_column_size(f) < 600000) AS compressed FROM compressed;
SELECT name, classes_in(f), f @> name::int AS one FROM compressed ORDER BY name;
UPDATE compressed SET f = f | of_class(60, 100, 1000000) WHERE name <> '2';
SELECT name, classes_in(f), f @> name::int AS one FROM compressed ORDER BY name;
DROP TABLE compressed;
CREATE TABLE cuckoos AS SELECT i AS n, cuckoo_add_all(cuckoo_create(100000), ARRAY[i, i, i + 1]) AS f FROM generate_series(1, 3) AS i;
SELECT n, cuckoo_count(f, n), cuckoo_contains_each(f, ARRAY[1, 2, 3, 4]) FROM cuckoos ORDER BY n;
UPDATE cuckoos SET f = cuckoo_remove(f, n) WHERE n = 2;
SELECT n, cuckoo_count(f, n), cuckoo_contains_each(f, ARRAY[1, 2, 3, 4]) FROM cuckoos ORDER BY n;
DROP TABLE cuckoos;

-- In tables that are no heaps, as far as one can tell: read, but never kept
CREATE ACCESS METHOD like_heap TYPE TABLE HANDLER heap_tableam_handler;
CREATE TABLE elsewhere (n int, f bloom) USING like_heap;
INSERT INTO elsewhere SELECT i, of_class(i) FROM generate_series(1, 2) AS i;
-- by slices, and in full
SELECT n, f @> n AS one, f @> n + 1 AS other FROM elsewhere ORDER BY n;
SELECT n, classes_in(f) FROM elsewhere ORDER BY n;
UPDATE elsewhere SET f = of_class(n + 2);
SELECT n, classes_in(f) FROM elsewhere ORDER BY n;
DROP TABLE elsewhere;
DROP ACCESS METHOD like_heap;

-- Parallel workers
CREATE TABLE probed AS SELECT i FROM generate_series(0, 9999) AS i;
CREATE FUNCTION planned_workers(query text) RETURNS int LANGUAGE sql AS $$
	SELECT substring(first_node(query)::text FROM '"Workers Planned": (\d+)')::int
$$;
ALTER TABLE probed SET (parallel_workers = 2);
ANALYZE probed;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
\set probe 'SELECT count(*) FROM probed WHERE bloom_contains((SELECT f FROM filters WHERE name = ''class 1''), i)'
SELECT planned_workers(:'probe');
SELECT count(*) BETWEEN 100 AND 110 AS found FROM probed WHERE bloom_contains((SELECT f FROM filters WHERE name = 'class 1'), i);
UPDATE filters SET f = f | of_class(61) WHERE name = 'class 1';
SELECT count(*) BETWEEN 200 AND 215 AS found FROM probed WHERE bloom_contains((SELECT f FROM filters WHERE name = 'class 1'), i);
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
SET max_parallel_workers_per_gather = 0;

-- How much is kept: what was used last
SELECT name, classes_in(f) FROM filters ORDER BY name;
SELECT filters >= 3 AS all_of_them FROM kept();
SET bloomfilter.cache_size = '300kB';
SELECT filters, kilobytes BETWEEN 200 AND 300 AS two FROM kept();
SELECT buffers($$SELECT f @> 3 FROM filters WHERE name = 'class 3'$$) <= 3 AS kept;
SELECT buffers($$SELECT f @> 1 FROM filters WHERE name = 'class 1'$$) BETWEEN 4 AND 30 AS evicted;
SELECT name, classes_in(f) FROM filters ORDER BY name;
SELECT kilobytes BETWEEN 200 AND 300 AS two FROM kept();
-- by a part of a session, or of a transaction
BEGIN;
SET LOCAL bloomfilter.cache_size = 0;
SELECT * FROM kept();
SELECT name, classes_in(f) FROM filters ORDER BY name;
SELECT * FROM kept();
ROLLBACK;
SHOW bloomfilter.cache_size;
-- less than one filter: kept while a query uses it, and no longer
SET bloomfilter.cache_size = '100kB';
BEGIN;
DECLARE c CURSOR FOR SELECT bloom_contains((SELECT f FROM filters WHERE name = 'class 1'), i) FROM generate_series(1, 1000) AS i;
MOVE 900 IN c;
SELECT filters, kilobytes BETWEEN 100 AND 200 AS one FROM kept();
SELECT name, classes_in(f) FROM filters ORDER BY name;
FETCH c;
COMMIT;
SELECT kilobytes < 100 AS within FROM kept();
-- and its slices are read again and again
DO $$
BEGIN
	FOR i IN 1 .. 100
	LOOP
		ASSERT (SELECT f @> i * 100 + 2 FROM filters WHERE name = 'class 2');
	END LOOP;
END
$$;
SELECT kilobytes < 100 AS within FROM kept();
\set VERBOSITY sqlstate
SET bloomfilter.cache_size = -1;
\set VERBOSITY default
SET bloomfilter.cache_size = '1GB';
SHOW bloomfilter.cache_size;
RESET bloomfilter.cache_size;
SHOW bloomfilter.cache_size;

-- Copies of membership indexes count, too
CREATE TABLE members AS SELECT i FROM generate_series(1, 100000) AS i;
CREATE INDEX members_i ON members USING membership (i);
CREATE FUNCTION copied() RETURNS bigint LANGUAGE sql AS
$$ SELECT coalesce(sum(total_bytes), 0) / 1024 FROM pg_backend_memory_contexts WHERE name = 'membership copy' $$;
BEGIN;
DECLARE c CURSOR FOR SELECT membership_contains('members_i', i) FROM generate_series(1, 10000) AS i;
MOVE 9000 IN c;
SELECT copied() > 100 AS copied;
SELECT name, classes_in(f) FROM filters ORDER BY name;
SELECT copied() > 100 AS copied;
SET LOCAL bloomfilter.cache_size = '60kB';
SELECT copied() < 100 AS evicted;
MOVE 900 IN c;
SELECT copied() < 100 AS no_room;
FETCH c;
ROLLBACK;
DROP TABLE members;

-- A hash function that turns the cache off, or uses other filters, while a filter is probed
SET client_min_messages = warning;
CREATE TYPE turner;
CREATE FUNCTION turner_in(cstring) RETURNS turner LANGUAGE internal IMMUTABLE STRICT AS 'int4in';
CREATE FUNCTION turner_out(turner) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'int4out';
CREATE TYPE turner (INPUT = turner_in, OUTPUT = turner_out, LIKE = int4);
RESET client_min_messages;
CREATE CAST (int AS turner) WITHOUT FUNCTION;
CREATE CAST (turner AS int) WITHOUT FUNCTION;
CREATE FUNCTION turner_eq(turner, turner) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'int4eq';
CREATE FUNCTION turner_hash(turner) RETURNS int LANGUAGE internal IMMUTABLE STRICT AS 'hashint4';
CREATE FUNCTION turner_hash(turner, bigint) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	CASE current_setting('turner.turn')
		WHEN 'off' THEN
			PERFORM set_config('bloomfilter.cache_size', ($1::int % 2 * 64)::text, false);
		WHEN 'other' THEN
			PERFORM classes_in(f) FROM filters;
		WHEN 'error' THEN
			PERFORM 1 / ($1::int % 5);
		WHEN 'caught' THEN
			BEGIN
				PERFORM f @> 'text' FROM filters;
			EXCEPTION WHEN datatype_mismatch THEN
				NULL;
			END;
		ELSE
	END CASE;
	RETURN hashint4extended($1::int, $2);
END
$$;
CREATE OPERATOR === (LEFTARG = turner, RIGHTARG = turner, FUNCTION = turner_eq, HASHES);
CREATE OPERATOR CLASS turner_ops DEFAULT FOR TYPE turner USING hash AS OPERATOR 1 ===,
	FUNCTION 1 turner_hash(turner), FUNCTION 2 turner_hash(turner, bigint);
SET turner.turn = 'not';
CREATE TABLE turned AS SELECT n, bloom_agg(i::turner, 100000, NULL) AS f
FROM generate_series(1, 2) AS n, generate_series(1, 1000) AS i GROUP BY n;
CREATE FUNCTION turned(turn text) RETURNS TABLE (probed bigint, found bigint, each bigint) LANGUAGE sql AS $$
	SELECT set_config('turner.turn', turn, false);
	-- alternating filters by rows, and batches
	SELECT count(*), sum(bloom_contains(f, i::turner)::int),
		sum((SELECT count(*) FROM unnest(bloom_contains_each(f, ARRAY[i::turner, (i + 1)::turner])) AS e WHERE e))
	FROM generate_series(1, 10) AS i, turned;
$$;
SELECT * FROM turned('off');
SELECT * FROM turned('other');
RESET bloomfilter.cache_size;
SELECT * FROM turned('other');
SELECT * FROM turned('caught');
SELECT * FROM turned('error');
SELECT * FROM turned('not');
SET bloomfilter.cache_size = 0;
SELECT * FROM kept();
SET client_min_messages = warning;
DROP TABLE turned;
DROP FUNCTION turned(text);
DROP TYPE turner CASCADE;
RESET client_min_messages;
RESET bloomfilter.cache_size;

DROP TABLE filters, probed;
DROP FUNCTION of_class, classes_in, kept, copied, planned_workers;
