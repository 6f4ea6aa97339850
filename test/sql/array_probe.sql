--
-- Arrays that are no constants: a Filter Scan gives the rows of a plain scan, for
-- "x = ANY (array)" and "x <> ALL (array)"
--
\set ON_ERROR_STOP on
CREATE SCHEMA array_probe;
SET search_path = array_probe, public;
-- no function of the queries does it
LOAD 'bloomfilter';
SET max_parallel_workers_per_gather = 0;

\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/shared/plans.sql'
\i :file

-- The result of a query, in any order, or its error
CREATE FUNCTION outcome_of(query text) RETURNS text[]
LANGUAGE plpgsql AS $$
BEGIN
	RETURN result_of(query);
EXCEPTION
	WHEN OTHERS THEN RETURN ARRAY['ERROR', SQLSTATE, SQLERRM];
END
$$;

CREATE FUNCTION scans_of(query text) RETURNS bigint
LANGUAGE sql AS $$
	SELECT count(*) FROM plan_of(query) line WHERE line ~ 'Custom Scan \(Filter Scan\)'
$$;

-- A query's Filter Scans where they are forced, its rows, and whether these are the same
-- where they are not, and without
CREATE FUNCTION compare(query text, OUT scans bigint, OUT rows bigint, OUT same boolean)
LANGUAGE plpgsql AS $$
DECLARE
	setting text;
	expected text[];
	got text[];
BEGIN
	same := true;
	FOREACH setting IN ARRAY ARRAY['off', 'on', 'force'] LOOP
		PERFORM set_config('bloomfilter.filter_scan', setting, false);
		scans := scans_of(query);
		got := outcome_of(query);
		expected := coalesce(expected, got);
		IF got <> expected THEN
			same := false;
			RAISE WARNING '%: % or %', setting, got[:5], expected[:5];
		END IF;
	END LOOP;
	RESET bloomfilter.filter_scan;
	rows := cardinality(expected);
	IF expected[1] = 'ERROR' THEN
		RAISE NOTICE '%: %', expected[2], expected[3];
		rows := NULL;
	END IF;
END
$$;

-- ---- Types ----

CREATE TYPE mood AS ENUM ('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm');
CREATE DOMAIN small AS int CHECK (VALUE < 1000000);
CREATE TYPE pair AS (a int, b text);
CREATE COLLATION insensitive (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
-- the value of a number, by type
CREATE TABLE kinds (place serial, type text, value text);
INSERT INTO kinds (type, value) VALUES
	('int2', 'n % 300'), ('int4', 'n'), ('int8', 'n * 10000000000'), ('oid', 'n'), ('small', 'n'),
	('date', '''2000-01-01''::date + n'), ('timestamp', '''2000-01-01''::timestamp + n * interval ''1 hour'''),
	('timestamptz', '''2000-01-01''::timestamptz + n * interval ''1 hour'''),
	('time', '''00:00''::time + n * interval ''1 minute'''),
	('interval', 'CASE WHEN n % 2 = 0 THEN n * interval ''1 month'' ELSE (n - 1) * interval ''30 days'' END'),
	('bool', 'n % 2 = 0'), ('"char"', 'chr(65 + n % 50)'), ('float4', 'CASE n % 50 WHEN 0 THEN ''-0'' WHEN 1 THEN ''NaN'' ELSE n / 7.0 END::float4'),
	('float8', 'CASE n % 50 WHEN 0 THEN ''-0'' WHEN 1 THEN ''NaN'' ELSE n / 7.0 END::float8'),
	('numeric', '(n / 10)::text || repeat(''0'', n % 3 + 1)'), ('numeric(9,2)', 'n / 8.0'),
	('text', '''key '' || n'), ('text COLLATE "C"', '''key '' || n'), ('varchar', '''key '' || n'), ('char(10)', '''k'' || n'), ('name', '''key '' || n'),
	('text COLLATE insensitive', 'CASE WHEN n % 2 = 0 THEN ''key '' ELSE ''KEY '' END || n / 2'),
	('bytea', 'int8send(n)'), ('uuid', 'md5(n::text)::uuid'), ('inet', '''10.0.0.0''::inet + n'), ('macaddr', 'lpad(to_hex(n), 12, ''0'')'),
	('bit varying', 'n::bit(16)'), ('jsonb', 'jsonb_build_object(''k'', n)'), ('mood', 'chr(97 + n % 13)'),
	('int4range', 'int4range(n, n + 5)'), ('pg_lsn', '''0/'' || to_hex(n)'), ('tid', '''('' || n || '',1)'''),
	('pair', 'ROW(n, ''b'')::pair'), ('xid', 'n::text'), ('tsvector', '''word'' || n');

-- Tables of all types, and arrays by type and name
CREATE TABLE arrays (type text, name text, elements text);
DO $$
DECLARE
	kind record;
	type text;
BEGIN
	FOR kind IN TABLE kinds LOOP
		type := split_part(kind.type, ' COLLATE', 1);
		EXECUTE format('CREATE TABLE t%s (id int, k %s)', kind.place, kind.type);
		EXECUTE format('INSERT INTO t%s SELECT n, CASE WHEN n %% 11 <> 0 THEN (%s)::%s END FROM generate_series(1, 1100) n',
			kind.place, kind.value, type);
		EXECUTE format('ANALYZE t%s', kind.place);
	END LOOP;
END
$$;

CREATE FUNCTION array_of(kind kinds, numbers text) RETURNS text
LANGUAGE sql AS $$
	SELECT format('ARRAY(SELECT (%s)::%s FROM (%s) numbers (n))', (kind).value, split_part((kind).type, ' COLLATE', 1), numbers)
$$;

-- Compare all rows with an array, by all types; tell which have no Filter Scan or other rows
CREATE FUNCTION compare_types(condition text, numbers text, OUT types bigint, OUT without_scan text, OUT rows numeric, OUT wrong text)
LANGUAGE sql AS $$
	SELECT count(*), string_agg(type, ', ' ORDER BY place) FILTER (WHERE scans = 0), sum(rows), string_agg(type, ', ' ORDER BY place) FILTER (WHERE NOT same)
	FROM kinds kind, LATERAL compare(format('SELECT * FROM t%s WHERE ' || condition, place, array_of(kind, numbers)))
$$;

SELECT condition, name, c.*
FROM unnest(ARRAY['k = ANY (%2$s)', 'k <> ALL (%2$s)', 'id %% 2 = 0 AND k = ANY (%2$s)', 'id > 0 AND k <> ALL (%2$s)']) WITH ORDINALITY AS conditions (condition, i),
	(VALUES (1, 'empty', 'SELECT 1 WHERE false'), (2, 'NULL', 'SELECT NULL::int'), (3, 'one', 'SELECT 500'),
		(4, 'eight', 'SELECT n * 100 FROM generate_series(1, 8) n'),
		(5, 'nine', 'SELECT n * 100 FROM generate_series(1, 9) n'),
		(6, 'nine and NULL', 'SELECT nullif(n, 3) * 100 FROM generate_series(1, 10) n'),
		(7, 'many', 'SELECT n * 3 FROM generate_series(1, 300) n'),
		(8, 'twice', 'SELECT n % 100 FROM generate_series(1, 300) n')) arrays (j, name, numbers),
	compare_types(condition, numbers) c
ORDER BY i, j;

-- the array is NULL, by all types
SELECT condition, c.*
FROM unnest(ARRAY['k = ANY (%2$s)', 'k <> ALL (%2$s)']) condition,
	compare_types(replace(condition, '%2$s', 'NULLIF(%2$s, %2$s)'), 'SELECT 1') c;

-- types that differ
CREATE TABLE cross_types (id int, i2 int2, i4 int4, i8 int8, f4 float4, f8 float8, t text, n name, d date, ts timestamp);
INSERT INTO cross_types SELECT n, n, n, n, n / 4.0, n / 4.0, n, n, date '2000-01-01' + n, date '2000-01-01' + n FROM generate_series(1, 1500) n;
ANALYZE cross_types;
SELECT condition, c.*
FROM unnest(ARRAY['i2 = ANY (ARRAY(SELECT n * 7 FROM generate_series(-50, 9000) n))', 'i2 = ANY (ARRAY(SELECT n * 7::int8 FROM generate_series(-50, 500) n))',
	'i4 = ANY (ARRAY(SELECT (n * 7)::int2 FROM generate_series(-50, 500) n))', 'i4 <> ALL (ARRAY(SELECT (n * 7)::int8 << n % 40 FROM generate_series(-50, 500) n))',
	'i8 = ANY (ARRAY(SELECT (n * 7)::int2 FROM generate_series(-50, 500) n))', 'i8 <> ALL (ARRAY(SELECT (n * 7)::int4 FROM generate_series(-50, 500) n))',
	'f4 = ANY (ARRAY(SELECT n / 2.0::float8 FROM generate_series(-50, 500) n))', 'f8 <> ALL (ARRAY(SELECT n / 2.0::float4 FROM generate_series(-50, 500) n))',
	't = ANY (ARRAY(SELECT (n * 7)::text::name FROM generate_series(-50, 500) n))', 'n = ANY (ARRAY(SELECT (n * 7)::text FROM generate_series(-50, 500) n))',
	'd = ANY (ARRAY(SELECT timestamp ''2000-01-01'' + n * interval ''12 hours'' FROM generate_series(1, 100) n))',
	-- constants that the server does not hash
	'i8 = ANY (''{7, 14, 21, 28, 35, 42, 49, 56, 63, NULL}''::int4[])', 'i8 = ANY (''{7, 14, 21, 28, 35, 42, 49, 56}''::int4[])']) WITH ORDINALITY AS conditions (condition, i),
	compare('SELECT * FROM cross_types WHERE ' || condition) c
ORDER BY i;

-- names are hashed by their bytes, whatever the collation
CREATE TYPE named AS (n name COLLATE insensitive);
CREATE TABLE names AS SELECT ('key ' || n)::name AS n, 'key ' || n AS t, ROW('key ' || n)::named AS r FROM generate_series(1, 1500) n;
ANALYZE names;
SELECT condition, c.*
FROM unnest(ARRAY['n COLLATE insensitive = ANY (ARRAY(SELECT upper(n)::name FROM names LIMIT 40))', 'n COLLATE insensitive <> ALL (ARRAY(SELECT upper(n) FROM names LIMIT 40))',
	't COLLATE insensitive = ANY (ARRAY(SELECT upper(n)::name FROM names LIMIT 40))', 'r = ANY (ARRAY(SELECT ROW(upper(n))::named FROM names LIMIT 40))',
	't COLLATE insensitive = ANY (ARRAY(SELECT upper(t) FROM names LIMIT 40))', 'n = ANY (ARRAY(SELECT n FROM names LIMIT 40))']) WITH ORDINALITY AS conditions (condition, i),
	compare('SELECT * FROM names WHERE ' || condition) c
ORDER BY i;

-- ---- Shapes of arrays and of elements ----

CREATE TABLE t AS SELECT n AS id, CASE WHEN n % 11 <> 0 THEN n % 500 END AS k, 'key ' || n AS s, n % 10 AS g, repeat(md5((n % 50)::text), n % 60) AS long
	FROM generate_series(1, 1500) n;
ALTER TABLE t ADD dropped int;
ALTER TABLE t DROP dropped;
ALTER TABLE t ADD late int DEFAULT 7;
ANALYZE t;
CREATE TABLE lists (name text, ks int[], ss text[]);
INSERT INTO lists
	SELECT 'long', array_agg(n * 3), array_agg('key ' || n * 3) FROM generate_series(1, 400) n UNION ALL
	SELECT 'two dimensions', '{{1, 2, 3, 4, 5}, {6, 7, NULL, 9, 10}}', '{{key 1, key 2, key 3, key 4, key 5}, {key 6, NULL, key 8, key 9, key 10}}' UNION ALL
	SELECT 'bounds', '[7:16]={11,12,13,14,15,16,17,18,19,20}', '[7:9]={key 1,key 2,key 3}';
CREATE FUNCTION list_of(wanted text) RETURNS int[] STABLE LANGUAGE plpgsql AS $$ BEGIN RETURN CASE wanted WHEN 'bounds' THEN '[7:16]={11,12,13,14,15,16,17,18,19,20}'::int[] WHEN 'long' THEN ARRAY[3,6,9,12,15,18,21,24,27,30,33,36,39,42,45,48,51,54,57,60,63,66,69,72,75,78,81,84,87,90,93,96,99,102,105,108,111,114,117,120,123,126,129,132,135,138,141,144,147,150,153,156,159,162,165,168,171,174,177,180,183,186,189,192,195,198,201,204,207,210,213,216,219,222,225,228,231,234,237,240,243,246,249,252,255,258,261,264,267,270,273,276,279,282,285,288,291,294,297,300] END; END $$;
CREATE FUNCTION texts_of(wanted text) RETURNS text[] STABLE LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT ss FROM lists WHERE name = wanted); END';
SELECT condition, c.*
FROM unnest(ARRAY['k = ANY ((SELECT ks FROM lists WHERE name = ''two dimensions'')::int[])', 'k <> ALL ((SELECT ks FROM lists WHERE name = ''two dimensions'')::int[])',
	'k <> ALL ((SELECT ks FROM lists WHERE name = ''bounds'')::int[])', 'k = ANY ((SELECT ks FROM lists WHERE name = ''none'')::int[])',
	'k = ANY (list_of(''long''))', 's = ANY (texts_of(''long''))', 's <> ALL (texts_of(''two dimensions''))', 's <> ALL (texts_of(''long''))',
	'late = ANY (list_of(''long''))', 'late <> ALL (list_of(''long''))', 'long = ANY (ARRAY(SELECT long FROM t ORDER BY id LIMIT 30))',
	'long <> ALL (ARRAY(SELECT long FROM t ORDER BY id LIMIT 60))', 'long = ANY (ARRAY(SELECT long FROM t WHERE length(long) > 1000 ORDER BY id LIMIT 12))',
	-- both, and either after a condition
	'k = ANY (list_of(''long'')) AND s <> ALL (texts_of(''long''))', 'g < 9 AND k = ANY (list_of(''long'')) AND s <> ALL (texts_of(''long'')) AND id % 3 = 0',
	'g > 0 AND s <> ALL (texts_of(''long''))', 'g > 0 AND id <> ALL (list_of(''long''))', 'g = 7 AND id <> ALL (list_of(''bounds''))',
	'bloom_contains((SELECT bloom_agg(n) FROM generate_series(1, 300) n), k) AND k <> ALL (list_of(''long''))',
	-- expressions
	'id % 100 = ANY (list_of(''long''))', 'upper(s) <> ALL (texts_of(''long''))', 'lower(upper(s)) = ANY (texts_of(''long''))',
	'g > 3 AND lower(upper(s)) = ANY (texts_of(''long''))', '(1000 / nullif(k, 0)) = ANY (list_of(''long''))',
	'1000 / k = ANY (list_of(''long''))', 'k > 0 AND 1000 / k = ANY (list_of(''long''))', '1000 / k = ANY (NULLIF(list_of(''bounds''), list_of(''bounds'')))',
	'ctid = ANY (ARRAY(SELECT ctid FROM t u WHERE u.g = 2))', 'tableoid <> ALL (ARRAY(SELECT oid FROM pg_class))', 't = ANY (ARRAY(SELECT u FROM t u WHERE u.g = 2))',
	-- not these
	'k = ANY (ARRAY[id, g, 1, 2, 3, 4, 5, 6, 7, 8])', 'k = ANY (ARRAY[random()::int - 5, 1, 2, 3, 4, 5, 6, 7, 8, 9]) AND k > 9', 'NOT (k = ANY (list_of(''long'')) OR g = 1)',
	'k < ANY (list_of(''bounds''))', 'k = ALL (list_of(''bounds''))', 'k <> ANY (list_of(''bounds''))', 'ROW(k, s) = ANY (ARRAY(SELECT ROW(k, s) FROM t u WHERE u.id < 20))']) WITH ORDINALITY AS conditions (condition, i),
	compare('SELECT * FROM t WHERE ' || condition) c
ORDER BY i;

-- joins, updates, groups, correlated arrays, cursors
SELECT query, c.*
FROM unnest(ARRAY['SELECT t.id, u.s FROM t JOIN t u ON u.id = t.k WHERE t.id = ANY (list_of(''long''))',
	'SELECT t.id, u.s FROM t LEFT JOIN t u ON u.id = t.k AND u.id = ANY (list_of(''long'')) WHERE t.k <> ALL (list_of(''long''))',
	'SELECT g, count(*) FROM t WHERE k = ANY (list_of(''long'')) GROUP BY g',
	'SELECT o.id, (SELECT count(*) FROM t WHERE t.k = ANY (list_of(l.name)) AND t.g <= o.g) FROM t o, lists l WHERE o.id < 3',
	'SELECT l.name, (SELECT sum(id) FROM t WHERE t.k = ANY (l.ks)), (SELECT sum(id) FROM t WHERE t.s <> ALL (l.ss)) FROM lists l',
	'SELECT o.id, n FROM t o, LATERAL (SELECT count(*) AS n FROM t WHERE t.k = ANY (ARRAY(SELECT i FROM generate_series(1, o.id) i))) x WHERE o.id IN (1, 8, 9, 10, 50, 200)',
	'SELECT o.id, n FROM (VALUES (2), (0), (NULL), (30)) o (id), LATERAL (SELECT count(*) AS n FROM t WHERE t.k <> ALL (ARRAY(SELECT nullif(i, 7) FROM generate_series(1, o.id) i))) x',
	'SELECT * FROM (SELECT DISTINCT ON (g) * FROM t WHERE k = ANY (list_of(''long'')) ORDER BY g, id) d',
	'SELECT count(*) FROM (SELECT FROM t WHERE k = ANY (list_of(''long'')) LIMIT 3) l',
	'WITH RECURSIVE r AS (SELECT ARRAY[1] AS ks, 1 AS n UNION ALL SELECT ARRAY(SELECT k + 1 FROM t WHERE k = ANY (r.ks) ORDER BY 1 LIMIT 20), n + 1 FROM r WHERE n < 5) SELECT * FROM r']) WITH ORDINALITY AS queries (query, i),
	compare(query) c
ORDER BY i;
SET bloomfilter.filter_scan = force;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id FROM t WHERE k = ANY (list_of('long')) AND g = 2;
FETCH 2 FROM c;
FETCH LAST FROM c;
FETCH -2 FROM c;
FETCH FIRST FROM c;
FETCH ABSOLUTE -1 FROM c;
MOVE ABSOLUTE 0 FROM c;
FETCH 2 FROM c;
UPDATE t SET late = 8 WHERE k = ANY (list_of('bounds'));
SELECT count(*) FROM t WHERE late = 8;
DELETE FROM t WHERE k <> ALL (list_of('bounds')) AND g <> 1;
SELECT count(*) FROM t;
ROLLBACK;

-- ---- Parameters ----

SET plan_cache_mode = force_generic_plan;
PREPARE any_of(int[]) AS SELECT count(*), sum(id) FROM t WHERE k = ANY ($1);
PREPARE none_of(int[]) AS SELECT count(*), sum(id) FROM t WHERE k <> ALL ($1);
PREPARE listed(int, int, int, int, int, int, int, int, int) AS SELECT count(*), sum(id) FROM t WHERE k IN ($1, $2, $3, $4, $5, $6, $7, $8, $9);
PREPARE few(int, int) AS SELECT count(*), sum(id) FROM t WHERE k IN ($1, $2, 1, 2, 3, 4, 5, 6);
SET bloomfilter.filter_scan = on;
SELECT * FROM plan_of('EXECUTE any_of(NULL)');
SELECT * FROM plan_of('EXECUTE none_of(NULL)');
SELECT * FROM plan_of('EXECUTE listed(1, 2, 3, 4, 5, 6, 7, 8, 9)');
SELECT * FROM plan_of('EXECUTE few(1, 2)');
EXECUTE any_of('{}');
EXECUTE none_of('{}');
EXECUTE any_of(NULL);
EXECUTE none_of(NULL);
EXECUTE any_of('{NULL}');
EXECUTE none_of('{NULL}');
EXECUTE any_of('{1,2,3}');
EXECUTE none_of('{1,2,3}');
EXECUTE any_of('{1,2,3,4,5,6,7,8,9,NULL}');
EXECUTE none_of('{1,2,3,4,5,6,7,8,9,NULL}');
EXECUTE none_of('{1,2,3,4,5,6,7,8,9,10}');
EXECUTE listed(1, 2, 3, 4, 5, 6, 7, 8, NULL);
EXECUTE few(NULL, 7);
-- a long one, and one that PL/pgSQL changes
SELECT ks FROM lists WHERE name = 'long' \gset
EXECUTE any_of(:'ks');
DO $$
DECLARE
	ks int[];
	counts int[];
	n int;
BEGIN
	FOR i IN 1 .. 30 LOOP
		ks[i] := i * 2;
		SELECT count(*) INTO n FROM t WHERE k = ANY (ks);
		counts := counts || n;
	END LOOP;
	RAISE NOTICE '%', counts;
	FOR n IN SELECT id FROM t WHERE k = ANY (ks) LIMIT 400 LOOP
		ks := '{}';
	END LOOP;
	RAISE NOTICE '%', n;
END
$$;
RESET plan_cache_mode;

-- ---- EXPLAIN ----

CREATE FUNCTION figures(query text, OUT returned int, OUT probed int, OUT removed int, OUT filtered int, OUT hashed boolean)
LANGUAGE sql AS $$
	SELECT (node ->> 'Actual Rows')::numeric::int, (node ->> 'Rows Probed')::int, (node ->> 'Rows Removed by Probe')::int,
		(node ->> 'Rows Removed by Filter')::int, node ? 'Filter Size'
	FROM nodes(query) node WHERE node ->> 'Custom Plan Provider' = 'Filter Scan'
$$;
SET bloomfilter.filter_scan = on;
SELECT condition, f.*
FROM unnest(ARRAY['k = ANY (list_of(''long''))', 'g = 3 AND k = ANY (list_of(''long''))', 'id <> ALL (list_of(''bounds''))',
	-- rows are checked one by one: searching takes less than hashing
	'late = ANY (ARRAY(SELECT 7 UNION ALL SELECT n FROM generate_series(1000, 9000) n))',
	'late <> ALL (ARRAY(SELECT 7 UNION ALL SELECT n FROM generate_series(1000, 9000) n))']) WITH ORDINALITY AS conditions (condition, i),
	figures('SELECT * FROM t WHERE ' || condition) f
ORDER BY i;
-- most pass, so the other condition comes first, which drops most
CREATE TABLE longer AS SELECT n AS id, n % 10 AS g FROM generate_series(1, 20000) n;
ANALYZE longer;
SELECT probed < 6000 AS few_probed, returned FROM figures('SELECT * FROM longer WHERE g = 3 AND id <> ALL (list_of(''long''))');
SELECT probed = 20000 AS all_probed, returned FROM figures('SELECT * FROM longer WHERE id <> ALL (list_of(''long''))');

-- ---- Which plans ----

-- an index remains where the server would use one
CREATE TABLE indexed AS TABLE t;
CREATE INDEX ON indexed (k);
ANALYZE indexed;
SELECT * FROM plan_of('SELECT * FROM indexed WHERE k = ANY (list_of(''long''))');
-- a small table takes no longer than planning a Filter Scan
SELECT scans_of('SELECT * FROM lists WHERE name = ANY (texts_of(''long''))');
-- partitions, and workers
CREATE TABLE parted (id int, k int) PARTITION BY RANGE (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (1) TO (1200);
CREATE TABLE parted_2 (k int, id int);
ALTER TABLE parted ATTACH PARTITION parted_2 FOR VALUES FROM (1200) TO (10000);
INSERT INTO parted SELECT id, k FROM t;
ANALYZE parted;
SELECT * FROM plan_of('SELECT * FROM parted WHERE k = ANY (list_of(''long''))');
SELECT * FROM compare('SELECT * FROM parted WHERE k = ANY (list_of(''long''))');
SELECT * FROM compare('SELECT * FROM parted WHERE k <> ALL (list_of(''bounds'')) AND id > 10');
SET max_parallel_workers_per_gather = 2;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SELECT count(*) FROM plan_of('SELECT count(*) FROM t WHERE k = ANY (ARRAY(SELECT unnest(ks) FROM lists))') line WHERE line ~ 'Parallel Custom Scan \(Filter Scan\)';
SELECT * FROM compare('SELECT * FROM t WHERE k = ANY (ARRAY(SELECT unnest(ks) FROM lists))');
SELECT * FROM compare('SELECT * FROM t WHERE k <> ALL (ARRAY(SELECT unnest(ks) FROM lists WHERE name = ''bounds'')) AND g > 0');
SELECT * FROM compare('SELECT * FROM parted WHERE k = ANY (ARRAY(SELECT unnest(ks) FROM lists))');
RESET max_parallel_workers_per_gather;
SET max_parallel_workers_per_gather = 0;

-- ---- Errors are the server's ----

CREATE TABLE empty (k int);
SELECT condition, c.*
FROM unnest(ARRAY['empty WHERE k = ANY (ARRAY(SELECT 1 / (n - 5) FROM generate_series(1, 20) n))', 't WHERE k = ANY (ARRAY(SELECT 1 / (n - 5) FROM generate_series(1, 20) n))', 't WHERE g = 11 AND k = ANY (ARRAY(SELECT 1 / (n - 5) FROM generate_series(1, 20) n))', 't WHERE g = 9 AND k = ANY (ARRAY(SELECT 1 / (n - 5) FROM generate_series(1, 20) n))',
	't WHERE s = ANY (ARRAY(SELECT s COLLATE "C" FROM t)) AND s COLLATE "POSIX" = ANY (ARRAY(SELECT s COLLATE "C" FROM t))']) WITH ORDINALITY AS conditions (condition, i),
	compare('SELECT * FROM ' || condition) c
ORDER BY i;
-- an element is not evaluated where the scan ends sooner
SELECT query, c.*
FROM unnest(ARRAY['SELECT count(*) FROM (SELECT FROM longer WHERE 1000 / (20000 - id) = ANY (ARRAY(SELECT n FROM generate_series(0, 1000) n)) LIMIT 19950) l',
	'SELECT EXISTS (SELECT FROM longer WHERE 1000 / (20000 - id) = ANY (ARRAY(SELECT n FROM generate_series(15, 25) n)))']) WITH ORDINALITY AS queries (query, i),
	compare(query) c
ORDER BY i;
-- a type whose hash function fails where its operator does not
CREATE FUNCTION hash_fails(mood) RETURNS int LANGUAGE plpgsql IMMUTABLE STRICT AS $$ BEGIN RAISE 'hashed'; END $$;
CREATE FUNCTION same_mood(mood, mood) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT AS 'SELECT $1 = $2';
CREATE OPERATOR === (LEFTARG = mood, RIGHTARG = mood, FUNCTION = same_mood, HASHES);
CREATE OPERATOR CLASS moods FOR TYPE mood USING hash AS OPERATOR 1 ===, FUNCTION 1 hash_fails(mood);
SELECT place AS mood FROM kinds WHERE type = 'mood' \gset
SELECT * FROM compare(format('SELECT * FROM t%s WHERE k === ANY (ARRAY(SELECT k FROM t%1$s LIMIT 50))', :mood));

SET client_min_messages = warning;
DROP SCHEMA array_probe CASCADE;
