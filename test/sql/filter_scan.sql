--
-- Filter Scan: gives the rows of a plain scan, wherever the planner may take it
--
\set ON_ERROR_STOP on
CREATE SCHEMA filter_scan;
SET search_path = filter_scan, public;
SET max_parallel_workers_per_gather = 0;
-- whatever it costs
SET bloomfilter.filter_scan = force;

\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/shared/plans.sql'
\i :file

-- The Filter Scans of a plan
CREATE FUNCTION scans_of(query text) RETURNS bigint
LANGUAGE sql AS $$
	SELECT count(*) FROM plan_of(query) line WHERE line ~ 'Custom Scan \(Filter Scan\)'
$$;

-- The result of a query, in any order, or its error
CREATE FUNCTION outcome_of(query text) RETURNS text[]
LANGUAGE plpgsql AS $$
DECLARE
	result text[];
BEGIN
	EXECUTE format('SELECT coalesce(array_agg(q::text ORDER BY q::text), ''{}'') FROM (%s) AS q', query)
		INTO result;
	RETURN result;
EXCEPTION
	WHEN OTHERS THEN RETURN ARRAY['ERROR', SQLSTATE, SQLERRM];
END
$$;

-- A query's Filter Scans, its rows, and whether these are the same without
CREATE FUNCTION compare(query text, OUT scans bigint, OUT rows bigint, OUT same boolean)
LANGUAGE plpgsql AS $$
DECLARE
	with_scan text[];
	without text[];
BEGIN
	scans := scans_of(query);
	with_scan := outcome_of(query);
	PERFORM set_config('bloomfilter.filter_scan', 'off', false);
	without := outcome_of(query);
	IF scans_of(query) <> 0 THEN
		RAISE WARNING 'a Filter Scan where it is off';
	END IF;
	PERFORM set_config('bloomfilter.filter_scan', 'force', false);
	rows := cardinality(with_scan);
	same := with_scan = without;
	IF with_scan[1] = 'ERROR' THEN
		RAISE NOTICE '%: %', with_scan[2], with_scan[3];
	END IF;
	IF NOT same THEN
		RAISE WARNING '% or %', with_scan[:5], without[:5];
	END IF;
END
$$;

CREATE DOMAIN host AS text;
CREATE TABLE scanned (gone int, id int, url text, n bigint, h host, sparse text, long text)
	WITH (autovacuum_enabled = off);
INSERT INTO scanned
SELECT i, i, 'Host' || i, i * 10, 'host' || i, CASE WHEN i % 3 = 0 THEN 'host' || i END
FROM generate_series(1, 2000) i;
-- stored out of line, or compressed
ALTER TABLE scanned ALTER long SET STORAGE EXTERNAL;
UPDATE scanned SET long = repeat('long' || id, 1000) WHERE id % 100 = 0;
ALTER TABLE scanned ALTER long SET STORAGE EXTENDED;
UPDATE scanned SET long = repeat('long' || id, 1000) WHERE id % 100 = 1;
ALTER TABLE scanned DROP gone;
-- missing in the rows that are there
ALTER TABLE scanned ADD added text DEFAULT 'host7';
INSERT INTO scanned (id, url, n, h, sparse, added)
SELECT i, 'Host' || i, i * 10, 'host' || i, 'host' || i, 'host' || i FROM generate_series(2001, 2100) i;
DELETE FROM scanned WHERE id % 50 = 3;
-- a page without rows
DELETE FROM scanned WHERE id BETWEEN 500 AND 900;

CREATE TABLE filters (name text, f bloom, c cuckoo);
INSERT INTO filters
SELECT name, bloom_agg(x, NULL, 0.0001), cuckoo_agg(x)
FROM (SELECT 'url', 'Host' || i FROM generate_series(1, 2100, 7) i
	  UNION ALL SELECT 'h', 'host' || i FROM generate_series(1, 2100, 7) i
	  UNION ALL SELECT 'long', repeat('long' || i, 1000) FROM generate_series(0, 500) i) x (name, x)
GROUP BY name;
-- compressed in its row
ALTER TABLE filters ALTER f SET STORAGE MAIN, ALTER c SET STORAGE MAIN;
INSERT INTO filters SELECT 'few', bloom_agg(x), cuckoo_agg(x) FROM unnest(ARRAY['Host1', 'Host8', 'Host2003']) x;
INSERT INTO filters SELECT 'sparse', bloom_add_all(bloom_create(2000), a), cuckoo_add_all(cuckoo_create(2000), a)
FROM (SELECT ARRAY['Host1', 'Host8', 'Host2003']) q (a);
INSERT INTO filters SELECT 'n', bloom_agg(i), cuckoo_agg(i) FROM generate_series(10, 20000, 70) i;
INSERT INTO filters SELECT 'tid', bloom_agg(ctid, NULL, 1e-6), cuckoo_agg(ctid) FROM scanned WHERE id % 11 = 0;
INSERT INTO filters SELECT 'row', bloom_agg(scanned), cuckoo_agg(scanned) FROM scanned WHERE id % 11 = 0;
INSERT INTO filters VALUES ('null', NULL, NULL);
INSERT INTO filters SELECT 'empty', bloom_create(10), cuckoo_create(10);
CREATE TABLE listed (url text, n int);
INSERT INTO listed SELECT 'Host' || i, i * 10 FROM generate_series(1, 2100, 7) i;
CREATE INDEX listed_url ON listed USING membership (url);
CREATE INDEX listed_n ON listed USING membership (n);
ANALYZE scanned, filters, listed;
\set ON_ERROR_STOP off

-- ---------------------------------------------------------------- forms
SELECT plan_of('SELECT url FROM scanned WHERE bloom_contains((SELECT f FROM filters WHERE name = ''url''), url) AND id > 5');
SELECT plan_of('SELECT url FROM scanned WHERE membership_contains(''listed_url'', url)');
SELECT plan_of('SELECT url FROM scanned WHERE NOT membership_contains(''listed_url'', url)');
SELECT condition, name, r.*
FROM (VALUES
	('bloom_contains(%1$s, url)', 'url'),
	('%1$s @> url', 'url'),
	('url <@ %1$s', 'url'),
	('cuckoo_contains(%2$s, url)', 'url'),
	('%2$s @> url', 'url'),
	('url <@ %2$s', 'url'),
	('bloom_contains(%1$s, n)', 'n'),
	('n <@ %1$s', 'n'),
	('bloom_contains(%1$s, n::int)', 'n'),
	('bloom_contains(%1$s, id * 10)', 'n'),
	('bloom_contains(%1$s, lower(url))', 'h'),
	('%2$s @> lower(url)', 'h'),
	('bloom_contains(%1$s, h)', 'h'),
	('bloom_contains(%1$s, h::text)', 'h'),
	('bloom_contains(%1$s, h::varchar)', 'h'),
	('bloom_contains(%1$s, sparse)', 'h'),
	('bloom_contains(%1$s, coalesce(sparse, ''host1''))', 'h'),
	('bloom_contains(%1$s, added)', 'h'),
	('bloom_contains(%1$s, long)', 'long'),
	('bloom_contains(%1$s, left(long, 4000))', 'long'),
	('bloom_contains(%1$s, url COLLATE "C")', 'url'),
	('bloom_contains(%1$s, ctid)', 'tid'),
	('bloom_contains(%1$s, scanned)', 'row'),
	('bloom_contains(%1$s, ''Host1''::text)', 'url'),
	('bloom_contains(%1$s, NULL::text)', 'url'),
	('bloom_contains(%1$s, url)', 'few'),
	('cuckoo_contains(%2$s, url)', 'few'),
	('bloom_contains(%1$s, url)', 'sparse'),
	('cuckoo_contains(%2$s, url)', 'sparse'),
	('bloom_contains(%1$s, url)', 'null'),
	('bloom_contains(%1$s, url)', 'empty'),
	('cuckoo_contains(%2$s, url)', 'null'),
	('cuckoo_contains(%2$s, url)', 'empty'),
	('bloom_contains(%1$s, url)', 'no such row'),
	('bloom_contains(%1$s, url) AND sparse IS NULL', 'url'),
	('bloom_contains(%1$s, url) AND %2$s @> url', 'url'),
	('bloom_contains(%1$s, url) AND membership_contains(''listed_n'', n)', 'url'),
	('bloom_contains(%1$s, url) AND h <@ (SELECT f FROM filters WHERE name = ''h'') AND membership_contains(''listed_url'', url)', 'url'),
	('bloom_contains(bloom_add(%1$s, ''Host2''::text), url)', 'url'),
	('bloom_contains(%1$s, url) OR id = 2', 'url'),
	('NOT bloom_contains(%1$s, url)', 'url'),
	('bloom_contains(%1$s, url) IS NOT TRUE', 'sparse'),
	('tableoid = ''scanned''::regclass AND bloom_contains(%1$s, url)', 'url')
) AS q (condition, name),
compare(format('SELECT * FROM scanned WHERE ' || condition,
			   format('(SELECT f FROM filters WHERE name = %L)', name),
			   format('(SELECT c FROM filters WHERE name = %L)', name))) AS r;

-- of the index; by name, by OID, by a parameter
SELECT condition, r.*
FROM (VALUES
	('membership_contains(''listed_url'', url)'),
	('membership_contains(''listed_url'', lower(url))'),
	('membership_contains(''listed_url'', initcap(h))'),
	('membership_contains(''listed_n'', n)'),
	('membership_contains(''listed_n'', n::int)'),
	('membership_contains(''listed_n'', n::smallint)'),
	('membership_contains((SELECT oid FROM pg_class WHERE relname = ''listed_url'')::regclass, url)'),
	('membership_contains(''listed_url''::text::regclass, url)'),
	('membership_contains(NULL, url)'),
	('membership_contains(''listed_url'', sparse)'),
	('membership_contains(''listed_url'', NULL::text)')
) AS q (condition), compare('SELECT * FROM scanned WHERE ' || condition) AS r;

-- constants
SELECT r.*
FROM filters, compare(format('SELECT * FROM scanned WHERE bloom_contains(%L, url)', f)) r WHERE name = 'url';
SELECT r.*
FROM filters, compare(format('SELECT * FROM scanned WHERE cuckoo_contains(%L, url)', c)) r WHERE name = 'url';
SELECT * FROM compare('SELECT * FROM scanned WHERE bloom_contains(NULL, url)');

-- The function's own errors
SELECT condition, r.*
FROM (VALUES
	('bloom_contains((SELECT f FROM filters WHERE name = ''n''), url)'),
	('(SELECT c FROM filters WHERE name = ''n'') @> url'),
	('bloom_contains((SELECT f FROM filters WHERE name = ''url''), n)'),
	('bloom_contains((SELECT f FROM filters WHERE name = ''url''), point(1, 1))'),
	('bloom_contains((SELECT f FROM filters WHERE name = ''url''), NULL::point)'),
	('membership_contains(''listed_n'', url)'),
	('membership_contains(''scanned'', url)'),
	('membership_contains(0::regclass, url)'),
	('bloom_contains((SELECT f FROM filters), url)'),
	('bloom_contains((SELECT f FROM filters WHERE name = ''n''), 10 / (id - 1))')
) AS q (condition), compare('SELECT * FROM scanned WHERE ' || condition) AS r;
-- but none that another condition keeps from coming up: a cheap one is checked first
SELECT condition, r.*
FROM (VALUES
	('bloom_contains((SELECT f FROM filters WHERE name = ''n''), 10 / (id - 1)) AND id <> 1'),
	('membership_contains(''listed_n'', substr(url, 5)::int) AND id > 0'),
	('membership_contains(''listed_n'', added::int) AND added ~ ''^[0-9]+$'''),
	('membership_contains(''listed_n'', added::int) AND added ~ ''^[0-9]+$'' AND membership_contains(''listed_url'', url)'),
	-- what cannot fail may come first
	('membership_contains(''listed_n'', id::bigint) AND id > 0'),
	('membership_contains(''listed_url'', h::text) AND id > 0')
) AS q (condition), compare('SELECT * FROM scanned WHERE ' || condition) AS r;
-- nor for elements that are all NULL
CREATE TABLE nulls (x text, p point);
INSERT INTO nulls SELECT FROM generate_series(1, 10);
SELECT condition, r.*
FROM (VALUES
	('bloom_contains((SELECT f FROM filters WHERE name = ''n''), x)'),
	('membership_contains(''listed_n'', x)'),
	('membership_contains(0::regclass, x)')
) AS q (condition), compare('SELECT * FROM nulls WHERE ' || condition) AS r;

-- An element whose function reads the filter that the scan is reading by slices
CREATE TABLE sliced(f bloom);
ALTER TABLE sliced ALTER f SET STORAGE EXTERNAL;
INSERT INTO sliced SELECT bloom_agg(bloom_element(i, 7), 1000000, 0.01) FROM generate_series(1, 500) i;
CREATE TABLE few_to_a_page(id int, padding text);
ALTER TABLE few_to_a_page ALTER padding SET STORAGE PLAIN;
INSERT INTO few_to_a_page SELECT i, repeat('x', 700) FROM generate_series(1, 500) i;
CREATE FUNCTION reading(i int) RETURNS int STABLE LANGUAGE plpgsql AS $$
BEGIN
	IF i = 3 THEN
		PERFORM bloom_contains_any((SELECT f FROM sliced), array_agg(j)) FROM generate_series(1, 3000) j;
	END IF;
	RETURN i;
END
$$;
SELECT * FROM compare('SELECT id FROM few_to_a_page WHERE bloom_contains((SELECT f FROM sliced), reading(id))');
-- and those whose function releases locks, by the error that it catches
CREATE TYPE pair AS (a int, b text);
CREATE TABLE paired AS SELECT (i, 'b')::pair AS p FROM generate_series(1, 100) i;
CREATE INDEX paired_p ON paired USING membership (p);
CREATE TABLE divided(i int) PARTITION BY RANGE (i);
CREATE INDEX divided_i ON divided USING membership (i);
CREATE FUNCTION caught(t text) RETURNS int STABLE LANGUAGE plpgsql AS $$
BEGIN
	RETURN t::int;
EXCEPTION
	WHEN invalid_text_representation THEN RETURN NULLIF(length(t), 7);
END
$$;
CREATE FUNCTION pair_of(t text) RETURNS pair STABLE LANGUAGE plpgsql AS 'BEGIN RETURN (caught(t), ''b'')::pair; END';
CREATE TABLE texts AS SELECT CASE WHEN i % 2 = 0 THEN 'no' || i ELSE i::text END AS t FROM generate_series(1, 20000) i;
SELECT * FROM compare('SELECT t FROM texts WHERE membership_contains(''paired_p'', pair_of(t))');
SELECT * FROM compare('SELECT t FROM texts WHERE membership_contains(''divided_i'', caught(t))');

-- nor before a row has satisfied the conditions that are checked first
CREATE TABLE parent (url text);
INSERT INTO parent SELECT 'Host' || i FROM generate_series(1, 30) i;
CREATE INDEX parent_url ON parent USING membership (url);
CREATE TABLE child () INHERITS (parent);
CREATE FUNCTION called(id int) RETURNS bool
LANGUAGE plpgsql VOLATILE COST 0.0001 AS $$
BEGIN
	INSERT INTO calls VALUES (id);
	RETURN id > 50;
END
$$;
CREATE TABLE calls (id int);
SELECT condition, r.*
FROM (VALUES
	('id < 0 AND bloom_contains((SELECT f FROM filters), url)'),
	('id > 2000 AND bloom_contains((SELECT f FROM filters), url)'),
	('id < 0 AND url <@ (SELECT c FROM filters)'),
	('id < 0 AND bloom_contains((SELECT f FROM filters WHERE name = ''n''), url)'),
	('id > 2000 AND bloom_contains((SELECT f FROM filters WHERE name = ''n''), url)'),
	('id < 0 AND membership_contains(''scanned'', url)'),
	('id > 2099 AND membership_contains(''scanned'', url)'),
	('id < 0 AND membership_contains(''listed_n'', url)'),
	('id < 0 AND membership_contains((SELECT oid::regclass FROM pg_class), url)'),
	-- the filter is read, but no element compared
	('id < 1900 AND id % 3 <> 0 AND bloom_contains((SELECT f FROM filters WHERE name = ''n''), sparse)'),
	('id < 1900 AND bloom_contains((SELECT f FROM filters WHERE name = ''n''), sparse)'),
	('id < 1900 AND id % 3 <> 0 AND bloom_contains((SELECT f FROM filters), sparse)'),
	-- an element that no row has
	('id < 0 AND bloom_contains((SELECT f FROM filters WHERE name = ''row''), ROW(id, (SELECT 1 / count(*) FROM calls)))'),
	-- of several, in the order in which the server checks them
	('bloom_contains((SELECT f FROM filters WHERE name = ''empty''), url) AND bloom_contains((SELECT f FROM filters), url)'),
	('bloom_contains((SELECT f FROM filters), url) AND bloom_contains((SELECT f FROM filters WHERE name = ''empty''), url)'),
	('bloom_contains((SELECT f FROM filters WHERE name = ''few''), url) AND id > 2090 AND bloom_contains((SELECT f FROM filters), url)'),
	('bloom_contains((SELECT f FROM filters WHERE name = ''few''), url) AND id > 2002 AND bloom_contains((SELECT f FROM filters), url)'),
	('id > 10 AND bloom_contains((SELECT f FROM filters WHERE name = ''few''), url) AND called(id) AND bloom_contains((SELECT f FROM filters WHERE name = ''url''), url)'),
	-- which the filter of no row contains
	('called(id) AND bloom_contains(NULL::bloom, url)'),
	('10 / (id - 1) < 0 AND bloom_contains((SELECT f FROM filters), url)'),
	-- an index that can only say "yes"
	('id < 20 AND membership_contains(''parent_url'', url)'),
	('id < 40 AND membership_contains(''parent_url'', url)'),
	('called(id) AND id < 20 AND membership_contains(''parent_url'', url)')
) AS q (condition), compare('SELECT id FROM scanned WHERE ' || condition) AS r;
-- a subquery that nobody needs is not executed
SELECT id, string_agg(substring(line, 'never executed'), '') AS filter
FROM (VALUES (0), (5)) AS ids (id),
	plan_of('SELECT FROM scanned WHERE id < ' || id || ' AND bloom_contains((SELECT f FROM filters WHERE name = ''url''), url)',
		'ANALYZE, COSTS off, TIMING off, SUMMARY off, BUFFERS off') AS line
GROUP BY id ORDER BY id;
-- once for each scan
SELECT * FROM compare('SELECT g, s.* FROM generate_series(0, 3) g,
	LATERAL (SELECT count(*) FROM scanned WHERE id < g * 100 AND bloom_contains((SELECT f FROM filters WHERE g = 0 OR name = ''url''), url)) s');
SELECT * FROM compare('SELECT g, s.* FROM generate_series(0, 3) g,
	LATERAL (SELECT count(*) FROM scanned WHERE id < g * 100 AND bloom_contains((SELECT f FROM filters WHERE g = 1 OR name = ''url''), url)) s');
-- no condition is checked twice
TRUNCATE calls;
SELECT count(*) FROM scanned WHERE called(id) AND bloom_contains((SELECT f FROM filters WHERE name = 'url'), url);
SELECT count(*) > 0 AS called, count(*) - count(DISTINCT id) AS twice FROM calls;
TRUNCATE calls;
SELECT count(*) FROM scanned WHERE called(id) AND id < 1900 AND membership_contains('parent_url', 'Host' || id % 20 + 1);
SELECT count(*) > 0 AS called, count(*) - count(DISTINCT id) AS twice FROM calls;
DROP TABLE child, parent;

-- ---------------------------------------------------------------- queries that end early

-- the element of a later row fails
CREATE TABLE divided_rows AS SELECT n AS id FROM generate_series(1, 20000) n;
CREATE TABLE quotients AS SELECT n AS k FROM generate_series(15, 25) n;
CREATE INDEX quotients_k ON quotients USING membership (k);
ANALYZE divided_rows, quotients;
SELECT query, r.*
FROM unnest(ARRAY['SELECT EXISTS (SELECT FROM divided_rows WHERE bloom_contains((SELECT bloom_agg(k) FROM quotients), 1000 / (20000 - id)))',
	'SELECT EXISTS (SELECT FROM divided_rows WHERE membership_contains(''quotients_k'', 1000 / (20000 - id)))',
	'SELECT count(*) FROM (SELECT FROM divided_rows JOIN quotients ON k = 1000 / (20000 - id) LIMIT 5) l',
	'SELECT count(*) FROM (SELECT FROM divided_rows WHERE NOT EXISTS (SELECT FROM quotients WHERE k = 1000 / (20000 - id)) LIMIT 19900) l',
	'SELECT EXISTS (SELECT FROM divided_rows WHERE membership_contains(''quotients_k'', id + 19960))',
	'SELECT count(*) FROM divided_rows WHERE bloom_contains((SELECT bloom_agg(k) FROM quotients), 1000 / (20001 - id))']) WITH ORDINALITY AS queries (query, i),
	compare(query) r
ORDER BY i;

-- ---------------------------------------------------------------- parameters
SET plan_cache_mode = force_generic_plan;
PREPARE by_filter(bloom) AS SELECT count(*) FROM scanned WHERE bloom_contains($1, url);
SELECT plan_of('EXECUTE by_filter(NULL)');
EXECUTE by_filter(NULL);
SELECT f AS filter FROM filters WHERE name = 'url' \gset
EXECUTE by_filter(:'filter');
EXECUTE by_filter(bloom_add(bloom_create(10), 'Host2'));
PREPARE by_index(regclass) AS SELECT count(*) FROM scanned WHERE membership_contains($1, url);
EXECUTE by_index('listed_url');
EXECUTE by_index(NULL);
EXECUTE by_index('listed_n');
EXECUTE by_index('listed_url');
RESET plan_cache_mode;

-- A variable of PL/pgSQL, that changes from query to query, and in a loop
CREATE FUNCTION counts() RETURNS int[]
LANGUAGE plpgsql AS $$
DECLARE
	filter bloom := bloom_create(100);
	counted int;
	counts int[];
	id_found int;
BEGIN
	FOR i IN 1..8 LOOP
		filter := bloom_add(filter, 'Host' || i);
		SELECT count(*) INTO counted FROM scanned WHERE filter @> url;
		counts := counts || counted;
	END LOOP;
	counted := 0;
	FOR id_found IN SELECT id FROM scanned WHERE bloom_contains(filter, url) LOOP
		-- the query has the filter as it was
		filter := bloom_add(filter, 'Host' || (id_found + 1000));
		counted := counted + 1;
	END LOOP;
	RETURN counts || counted;
END
$$;
SELECT counts();
SET plan_cache_mode = force_generic_plan;
SELECT counts();
RESET plan_cache_mode;

-- ---------------------------------------------------------------- rescans
-- A filter of an outer row, which differs from scan to scan, and may be NULL
SELECT plan_of('SELECT name, (SELECT count(*) FROM scanned WHERE bloom_contains(o.f, url)) FROM filters o');
SELECT * FROM compare('SELECT name, (SELECT count(*) FROM scanned WHERE bloom_contains(o.f, url))
	FROM filters o WHERE name IN (''url'', ''h'', ''null'', ''empty'')');
SELECT * FROM compare('SELECT name, (SELECT count(*) FROM scanned WHERE o.c @> url AND id % 2 = 0)
	FROM filters o, generate_series(1, 3) WHERE name IN (''url'', ''h'', ''null'', ''empty'')');
SELECT * FROM compare('SELECT relname, (SELECT array_agg(id ORDER BY id) FROM scanned WHERE membership_contains(o.oid, url))
	FROM pg_class o, generate_series(1, 2) WHERE relname = ''listed_url''');
-- A hashed subplan in the select list of the scan, of which an outer row is a parameter
SELECT * FROM compare('SELECT i, s.id FROM generate_series(1, 3) i, LATERAL
	(SELECT id, n IN (SELECT l.n FROM listed l WHERE l.n % 3 < i) AS is_listed FROM scanned
	 WHERE membership_contains(''listed_url'', url) OFFSET 0) s WHERE is_listed');
-- the same filter again, and the scan left before its end
SELECT * FROM compare('SELECT i, s.id FROM generate_series(1, 3) i, LATERAL
	(SELECT id FROM scanned WHERE membership_contains(''listed_url'', url) OFFSET i LIMIT i) s');
SELECT * FROM compare('SELECT o.name, s.id FROM filters o, LATERAL
	(SELECT id FROM scanned WHERE bloom_contains(o.f, url) LIMIT 3) s WHERE name IN (''url'', ''h'', ''null'', ''empty'')');
SELECT * FROM compare('SELECT a.id, b.id FROM scanned a, scanned b
	WHERE membership_contains(''listed_url'', a.url) AND membership_contains(''listed_n'', b.n) AND a.id < b.id AND b.id < 300');
BEGIN;
SET LOCAL enable_material = off;
SET LOCAL enable_hashjoin = off;
SET LOCAL enable_mergejoin = off;
SELECT * FROM compare('SELECT a.n, b.id FROM listed a, scanned b
	WHERE membership_contains(''listed_url'', b.url) AND a.n = b.n AND b.id < 300');
COMMIT;

-- ---------------------------------------------------------------- cursors
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id FROM scanned WHERE membership_contains('listed_url', url) AND id < 50;
FETCH 3 FROM c;
FETCH BACKWARD 2 FROM c;
FETCH LAST FROM c;
FETCH ABSOLUTE 2 FROM c;
FETCH BACKWARD ALL FROM c;
FETCH ALL FROM c;
CLOSE c;
DECLARE d NO SCROLL CURSOR FOR SELECT id FROM scanned WHERE bloom_contains((SELECT f FROM filters WHERE name = 'url'), url);
FETCH 2 FROM d;
-- it sees what was there when it was opened
INSERT INTO scanned (id, url) VALUES (8888, 'Host1'), (8888, 'Host8');
DELETE FROM scanned WHERE url = 'Host15' OR id BETWEEN 20 AND 2000;
UPDATE filters SET f = bloom_create(1);
SAVEPOINT s;
FETCH 2 FROM d;
ROLLBACK TO s;
FETCH 1 FROM d;
MOVE FORWARD ALL FROM d;
DECLARE e CURSOR WITH HOLD FOR SELECT id FROM scanned WHERE membership_contains('listed_url', url) AND id < 50;
FETCH 2 FROM e;
ROLLBACK;
BEGIN;
DECLARE e CURSOR WITH HOLD FOR SELECT id FROM scanned WHERE membership_contains('listed_url', url) AND id < 50;
FETCH 2 FROM e;
COMMIT;
FETCH ALL FROM e;
CLOSE e;
-- where a cursor goes, with and without: over pages without rows that pass, and both ends
CREATE FUNCTION visited(query text, scan text) RETURNS text[]
LANGUAGE plpgsql AS $$
DECLARE
	c refcursor;
	way text;
	id int;
	ids text[];
BEGIN
	PERFORM set_config('bloomfilter.filter_scan', scan, true);
	OPEN c SCROLL FOR EXECUTE query;
	FOREACH way IN ARRAY ARRAY['NEXT', 'PRIOR', 'NEXT', 'NEXT', 'LAST', 'NEXT', 'PRIOR', 'NEXT', 'PRIOR', 'PRIOR', 'FIRST', 'PRIOR',
		'NEXT', 'RELATIVE 40', 'RELATIVE -1', 'RELATIVE 30', 'RELATIVE -60', 'ABSOLUTE 70', 'PRIOR', 'ABSOLUTE -70', 'NEXT',
		'RELATIVE 1000', 'PRIOR', 'RELATIVE -1000', 'NEXT'] LOOP
		CASE
			WHEN way ~ 'RELATIVE' THEN FETCH RELATIVE substr(way, 10)::int FROM c INTO id;
			WHEN way ~ 'ABSOLUTE' THEN FETCH ABSOLUTE substr(way, 10)::int FROM c INTO id;
			WHEN way = 'NEXT' THEN FETCH NEXT FROM c INTO id;
			WHEN way = 'PRIOR' THEN FETCH PRIOR FROM c INTO id;
			WHEN way = 'FIRST' THEN FETCH FIRST FROM c INTO id;
			WHEN way = 'LAST' THEN FETCH LAST FROM c INTO id;
		END CASE;
		ids := ids || (way || ' ' || coalesce(id::text, 'none'));
	END LOOP;
	CLOSE c;
	PERFORM set_config('bloomfilter.filter_scan', 'force', true);
	RETURN ids;
END
$$;
SELECT scans_of('SELECT id FROM scanned WHERE ' || condition) AS scans, (SELECT count(*) FROM unnest(with_scan) way WHERE way ~ 'none') AS ends, with_scan = without AS same
FROM (VALUES ('membership_contains(''listed_url'', url)'),
			 ('bloom_contains((SELECT f FROM filters WHERE name = ''few''), url)'),
			 ('cuckoo_contains((SELECT c FROM filters WHERE name = ''url''), url) AND id % 3 = 0'),
			 ('membership_contains(''listed_url'', url) AND id < 0')) AS conditions (condition),
	LATERAL (SELECT visited('SELECT id FROM scanned WHERE ' || condition, 'force') AS with_scan,
		visited('SELECT id FROM scanned WHERE ' || condition, 'off') AS without) AS both_ways;
-- a cursor goes back as it does without, also undeclared
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM scanned WHERE membership_contains('listed_url', url);
FETCH 3 FROM c;
FETCH BACKWARD 1 FROM c;
CLOSE c;
-- no Material, which would keep rows that were changed
DECLARE c SCROLL CURSOR FOR SELECT id FROM scanned WHERE membership_contains('listed_url', url);
FETCH 3 FROM c;
FETCH BACKWARD 1 FROM c;
UPDATE scanned SET id = -1 WHERE CURRENT OF c RETURNING url;
FETCH BACKWARD 1 FROM c;
DELETE FROM scanned WHERE CURRENT OF c RETURNING url;
FETCH LAST FROM c;
FETCH PRIOR FROM c;
DELETE FROM scanned WHERE CURRENT OF c RETURNING url;
FETCH FORWARD ALL FROM c;
DELETE FROM scanned WHERE CURRENT OF c;
ROLLBACK;
-- of a partitioned table, of a column in another place, and in PL/pgSQL
CREATE TABLE places (id int, url text) PARTITION BY RANGE (id);
CREATE TABLE places_1 PARTITION OF places FOR VALUES FROM (0) TO (1000);
CREATE TABLE places_2 (url text, gone int, id int);
ALTER TABLE places_2 DROP gone;
ALTER TABLE places ATTACH PARTITION places_2 FOR VALUES FROM (1000) TO (3000);
INSERT INTO places SELECT id, url FROM scanned;
DO $$
DECLARE
	c SCROLL CURSOR FOR SELECT id FROM places WHERE membership_contains('listed_url', url);
	place record;
	changed int[];
BEGIN
	ASSERT scans_of('SELECT id FROM places WHERE membership_contains(''listed_url'', url)') = 2;
	OPEN c;
	FETCH LAST FROM c INTO place;
	LOOP
		FETCH PRIOR FROM c INTO place;
		EXIT WHEN NOT FOUND;
		IF place.id % 200 = 1 THEN
			UPDATE places SET url = 'changed' WHERE CURRENT OF c RETURNING id INTO place;
			changed := changed || place.id;
		END IF;
	END LOOP;
	RAISE NOTICE 'changed: %', changed;
END
$$;
SELECT array_agg(id ORDER BY id) FROM places WHERE url = 'changed';
DROP TABLE places;

-- ---------------------------------------------------------------- changes
-- WHERE CURRENT OF is a scan of its own
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM scanned WHERE membership_contains('listed_url', url) FOR UPDATE;
FETCH 2 FROM c;
SELECT plan_of('UPDATE scanned SET id = -1 WHERE CURRENT OF c');
UPDATE scanned SET id = -1 WHERE CURRENT OF c RETURNING url;
DELETE FROM scanned WHERE CURRENT OF c;
ROLLBACK;
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM scanned WHERE membership_contains('listed_url', url);
FETCH 2 FROM c;
DELETE FROM scanned WHERE CURRENT OF c RETURNING url;
ROLLBACK;

CREATE TABLE changed (id int, url text, hits int DEFAULT 0);
INSERT INTO changed (id, url) SELECT id, url FROM scanned;
SELECT plan_of('UPDATE changed SET hits = hits + 1 WHERE membership_contains(''listed_url'', url)');
SELECT plan_of('DELETE FROM changed WHERE membership_contains(''listed_url'', url)');
SELECT plan_of('SELECT * FROM changed WHERE membership_contains(''listed_url'', url) FOR UPDATE');
-- once each, though the new rows pass, too
UPDATE changed SET hits = hits + 1 WHERE membership_contains('listed_url', url);
UPDATE changed SET hits = hits + 10 WHERE bloom_contains((SELECT f FROM filters WHERE name = 'url'), url);
SELECT hits, count(*), min(id), max(id) FROM changed GROUP BY hits ORDER BY hits;
MERGE INTO changed c USING listed l ON c.url = l.url AND membership_contains('listed_url', c.url)
WHEN MATCHED THEN UPDATE SET hits = hits + 100
WHEN NOT MATCHED THEN INSERT (url, hits) VALUES (l.url, -1);
SELECT hits, count(*), min(id), max(id) FROM changed GROUP BY hits ORDER BY hits;
WITH gone AS (DELETE FROM changed WHERE membership_contains('listed_url', url) RETURNING id, xmin::text <> '0' AS x)
SELECT count(*), count(id), bool_and(x) FROM gone;
SELECT count(*), sum(hits) FROM changed WHERE membership_contains('listed_url', url);
INSERT INTO changed SELECT id, url, 7 FROM scanned WHERE membership_contains('listed_url', url) AND id < 30 RETURNING id;
SELECT id, hits FROM changed WHERE membership_contains('listed_url', url) ORDER BY id LIMIT 2 FOR UPDATE SKIP LOCKED;
-- system columns and whole rows in the output
SELECT * FROM compare('SELECT ctid, xmin, cmax, tableoid::regclass, s, s.* FROM scanned s WHERE membership_contains(''listed_url'', url)');
SELECT * FROM compare('SELECT FROM scanned s WHERE membership_contains(''listed_url'', url)');
SELECT * FROM compare('SELECT a.ctid, b.ctid FROM scanned a JOIN scanned b ON a.ctid = b.ctid WHERE membership_contains(''listed_url'', a.url)');

-- ---------------------------------------------------------------- partitions, inheritance
CREATE TABLE parted (id int, url text) PARTITION BY RANGE (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (100);
-- columns in another order, and one that was dropped
CREATE TABLE parted_2 (gone int, url text, id int);
ALTER TABLE parted_2 DROP gone;
ALTER TABLE parted ATTACH PARTITION parted_2 FOR VALUES FROM (100) TO (200);
CREATE TABLE parted_3 PARTITION OF parted FOR VALUES FROM (200) TO (100000) PARTITION BY LIST ((id % 2));
CREATE TABLE parted_3_0 PARTITION OF parted_3 FOR VALUES IN (0);
CREATE TABLE parted_3_1 PARTITION OF parted_3 FOR VALUES IN (1);
INSERT INTO parted SELECT id, url FROM scanned;
SELECT plan_of('SELECT * FROM parted WHERE membership_contains(''listed_url'', url)');
SELECT * FROM compare('SELECT tableoid::regclass, ctid, parted FROM parted WHERE membership_contains(''listed_url'', url)');
SELECT * FROM compare('SELECT * FROM parted WHERE bloom_contains((SELECT f FROM filters WHERE name = ''url''), url) AND id < 150');
SELECT * FROM compare('SELECT * FROM parted_3 p WHERE p.url <@ (SELECT c FROM filters WHERE name = ''url'')');
SELECT * FROM compare('SELECT name, (SELECT sum(id) FROM parted WHERE bloom_contains(o.f, url)) FROM filters o WHERE name <> ''n'' AND name NOT IN (''tid'', ''row'')');
SELECT * FROM compare('SELECT * FROM (SELECT id, url FROM parted UNION ALL SELECT id, url FROM scanned UNION ALL SELECT n, url FROM listed) u
	WHERE membership_contains(''listed_url'', url)');
BEGIN;
UPDATE parted SET id = id + 50 WHERE membership_contains('listed_url', url) AND id < 200;
SELECT tableoid::regclass, count(*) FROM parted WHERE membership_contains('listed_url', url) GROUP BY 1 ORDER BY 1;
DELETE FROM parted WHERE membership_contains('listed_url', url);
SELECT count(*) FROM parted;
ROLLBACK;
CREATE TABLE ancestor (id int, url text);
CREATE TABLE descendant (url text, id int, more int);
ALTER TABLE descendant INHERIT ancestor;
INSERT INTO ancestor SELECT id, url FROM scanned WHERE id % 2 = 0;
INSERT INTO descendant (id, url) SELECT id, url FROM scanned WHERE id % 2 = 1;
SELECT * FROM compare('SELECT tableoid::regclass, * FROM ancestor WHERE membership_contains(''listed_url'', url)');
SELECT * FROM compare('SELECT tableoid::regclass, * FROM ONLY ancestor WHERE membership_contains(''listed_url'', url)');
SELECT plan_of('SELECT * FROM ONLY ancestor WHERE membership_contains(''listed_url'', url)');

-- ---------------------------------------------------------------- other relations
CREATE TEMP TABLE temporary AS SELECT * FROM scanned;
CREATE UNLOGGED TABLE unlogged AS SELECT * FROM scanned;
CREATE MATERIALIZED VIEW material AS SELECT * FROM scanned;
SELECT name, r.*
FROM unnest(ARRAY['temporary', 'unlogged', 'material']) AS name, compare(format('SELECT * FROM %I WHERE membership_contains(''listed_url'', url)', name)) AS r;
-- a catalog
SELECT * FROM compare('SELECT oid FROM pg_class WHERE bloom_contains((SELECT bloom_agg(''listed_n''::name, NULL, 1e-6)), relname)');
CREATE TABLE nothing (LIKE scanned);
SELECT * FROM compare('SELECT * FROM nothing WHERE bloom_contains((SELECT f FROM filters WHERE name = ''n''), url)');

-- ---------------------------------------------------------------- not taken
CREATE FUNCTION changing(text) RETURNS text VOLATILE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';
SELECT what, r.*
FROM (VALUES
	('the filter depends on the row', 'filters WHERE bloom_contains(f, name)'),
	('on another row', 'filters f, scanned s WHERE bloom_contains(f.f, s.url) AND f.name = ''url'''),
	('a volatile element', 'scanned WHERE membership_contains(''listed_url'', changing(url))'),
	('a volatile filter', 'scanned WHERE membership_contains(changing(''listed_url'')::regclass, url)'),
	('TABLESAMPLE', 'scanned TABLESAMPLE bernoulli (100) WHERE membership_contains(''listed_url'', url)'),
	('a subplan in the filter', 'scanned s WHERE bloom_contains((SELECT f FROM filters WHERE name = left(s.url, 0) || ''url''), url)'),
	('a subplan in the element', 'scanned s WHERE membership_contains(''listed_url'', (SELECT url FROM listed l WHERE l.n + 0 = s.n LIMIT 1))'),
	('an array', 'scanned s WHERE membership_contains_any(''listed_url'', ARRAY[url])'),
	('an array in a filter', 'scanned s WHERE bloom_contains_any((SELECT f FROM filters WHERE name = ''url''), ARRAY[url])'),
	('below OR', 'scanned s WHERE membership_contains(''listed_url'', url) OR id = 2'),
	('below NOT', 'scanned s WHERE NOT membership_contains(''listed_url'', url)'),
	('of an outer join', 'listed l LEFT JOIN scanned s ON membership_contains(''listed_url'', s.url) IS TRUE'),
	('a function', 'generate_series(1, 10) i WHERE membership_contains(''listed_n'', i)'),
	('no column', 'scanned WHERE membership_contains(''listed_url'', ''Host1''::text)')
) AS q (what, query), compare('SELECT * FROM ' || query) AS r;
BEGIN;
SET LOCAL bloomfilter.filter_scan = on;
SELECT scans_of('SELECT * FROM scanned WHERE membership_contains(''listed_url'', url)') AS on;
SET LOCAL enable_seqscan = off;
CREATE INDEX scanned_id ON scanned (id);
SELECT scans_of('SELECT * FROM scanned WHERE membership_contains(''listed_url'', url) AND id < 100000') AS no_seqscan;
DROP INDEX scanned_id;
SELECT scans_of('SELECT * FROM scanned WHERE membership_contains(''listed_url'', url) AND id < 100000') AS no_other_plan;
SET LOCAL enable_seqscan = on;
SET LOCAL bloomfilter.filter_scan = off;
SELECT scans_of('SELECT * FROM scanned WHERE membership_contains(''listed_url'', url)') AS off;
ROLLBACK;
SET bloomfilter.filter_scan = 'perhaps';
SET bloomfilter.no_such_setting = 1;

-- ---------------------------------------------------------------- security
-- Conditions of a policy, or of a view, come before a probe of the user's, which
-- shows what it has seen
CREATE ROLE regress_filter_user;
GRANT USAGE ON SCHEMA filter_scan TO regress_filter_user;
CREATE FUNCTION told(int) RETURNS int IMMUTABLE STRICT LANGUAGE plpgsql AS $$
BEGIN
	IF $1 % 1000 = 0 THEN
		RAISE NOTICE 'told %', $1;
	END IF;
	RETURN $1;
END
$$;
CREATE TABLE secret (owner name, id int, url text);
INSERT INTO secret SELECT CASE WHEN id < 1500 THEN 'regress_filter_user' ELSE 'x' END, id, url
FROM scanned WHERE id % 500 = 0 OR id % 7 = 1;
CREATE VIEW barrier WITH (security_barrier) AS SELECT * FROM secret WHERE owner = current_user;
CREATE VIEW no_barrier AS SELECT * FROM secret WHERE owner = current_user;
GRANT SELECT ON secret, barrier, no_barrier, listed, filters TO regress_filter_user;
SET ROLE regress_filter_user;
SELECT plan_of('SELECT * FROM barrier WHERE membership_contains(''listed_n'', told(id))');
SELECT count(*) FROM barrier WHERE membership_contains('listed_n', told(id));
SELECT plan_of('SELECT * FROM barrier WHERE bloom_contains((SELECT f FROM filters WHERE name = ''url''), url)');
SELECT plan_of('SELECT * FROM no_barrier WHERE bloom_contains((SELECT f FROM filters WHERE name = ''url''), url)');
RESET ROLE;
ALTER TABLE secret ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON secret USING (owner = current_user);
SET ROLE regress_filter_user;
SELECT plan_of('SELECT * FROM secret WHERE membership_contains(''listed_n'', told(id))');
SELECT count(*) FROM secret WHERE membership_contains('listed_n', told(id));
RESET ROLE;
-- a policy's own probe comes first
DROP POLICY own ON secret;
CREATE POLICY listed ON secret USING (membership_contains('listed_url', url));
SET ROLE regress_filter_user;
SELECT plan_of('SELECT * FROM secret WHERE told(id) > 0 AND bloom_contains((SELECT f FROM filters WHERE name = ''n''), told(id))');
SELECT count(*) FROM secret WHERE told(id) > 0 AND bloom_contains((SELECT f FROM filters WHERE name = 'n'), told(id));
RESET ROLE;
-- and leaves WHERE CURRENT OF to the server's own scan
GRANT UPDATE ON secret TO regress_filter_user;
SET ROLE regress_filter_user;
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM secret;
FETCH 2 FROM c;
SELECT scans_of('SELECT id FROM secret') AS cursor, scans_of('UPDATE secret SET id = 0 WHERE CURRENT OF c') AS current_of;
UPDATE secret SET id = 0 WHERE CURRENT OF c RETURNING url;
ROLLBACK;
RESET ROLE;
-- of partitions, too
ALTER TABLE parted ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON parted USING (id < 1500);
GRANT SELECT ON parted TO regress_filter_user;
SET ROLE regress_filter_user;
SELECT scans_of('SELECT * FROM parted WHERE membership_contains(''listed_n'', told(id))');
SELECT count(*) FROM parted WHERE membership_contains('listed_n', told(id));
RESET ROLE;
ALTER TABLE parted DISABLE ROW LEVEL SECURITY;

CREATE FUNCTION explained(query text) RETURNS SETOF text
LANGUAGE sql AS $$
	SELECT regexp_replace(line, '(rows=\d+)\.00', '\1')
	FROM plan_of(query, 'ANALYZE, COSTS off, TIMING off, SUMMARY off, BUFFERS off') line
	WHERE line !~ 'Worker|Filter Size|Disabled|Window|Index Searches'
$$;
SELECT count(*) AS rows, count(*) FILTER (WHERE membership_contains('listed_url', url)) AS passed FROM scanned;
SELECT explained('SELECT * FROM scanned WHERE membership_contains(''listed_url'', url) AND id % 2 = 0');
SELECT explained('SELECT * FROM scanned WHERE membership_contains(''listed_url'', url) AND bloom_contains((SELECT f FROM filters WHERE name = ''h''), h)');
SELECT explained('SELECT i, (SELECT count(*) FROM scanned WHERE membership_contains(''listed_url'', url) AND i > 0) FROM generate_series(1, 3) i');
SELECT explained('SELECT * FROM scanned WHERE bloom_contains((SELECT f FROM filters WHERE name = ''null''), url)');
SELECT explained('SELECT * FROM scanned WHERE membership_contains(''listed_url'', url) AND current_user = ''nobody''');
EXPLAIN (COSTS off, VERBOSE) SELECT url FROM scanned WHERE membership_contains('listed_url', lower(url));
CREATE FUNCTION property(query text, name text, analyzed boolean) RETURNS jsonb
LANGUAGE sql AS $$
	SELECT first_node(query, 'ANALYZE ' || analyzed::text) -> name
$$;
SELECT property('SELECT id FROM scanned WHERE membership_contains(''listed_url'', url) AND membership_contains(''listed_n'', n)', 'Probe', false);
-- what is probed is shown in kB
SELECT property('SELECT * FROM scanned WHERE bloom_contains((SELECT f FROM filters WHERE name = ''url''), url)', 'Filter Size', true)::text::bigint
	BETWEEN 1 AND 4 AS filter,
	property('SELECT * FROM scanned WHERE membership_contains(''listed_url'', url)', 'Filter Size', true)::text::bigint BETWEEN 1 AND 1024 AS index;

-- The index counts the rows that it was probed with, and those that passed
SELECT pg_stat_force_next_flush();
SELECT pg_stat_reset();
SELECT count(*) FROM scanned WHERE membership_contains('listed_url', url);
SELECT pg_stat_force_next_flush();
SELECT indexrelname, idx_scan, idx_tup_read, idx_tup_fetch FROM pg_stat_user_indexes
WHERE relname = 'listed' ORDER BY 1;
SELECT seq_scan, seq_tup_read FROM pg_stat_user_tables WHERE relname = 'scanned';

-- ---------------------------------------------------------------- JIT
-- (where the server has it; it changes nothing)
SET jit = on;
SET jit_above_cost = 0;
SET jit_inline_above_cost = 0;
SET jit_optimize_above_cost = 0;
SELECT * FROM compare('SELECT s, id + 1, upper(h) FROM scanned s WHERE membership_contains(''listed_url'', initcap(h))');
SELECT * FROM compare('SELECT name, (SELECT array_agg(added) FROM scanned WHERE bloom_contains(o.f, lower(url))) FROM filters o WHERE name IN (''h'', ''url'', ''null'')');
SET jit = off;
SELECT * FROM compare('SELECT s, id + 1, upper(h) FROM scanned s WHERE membership_contains(''listed_url'', initcap(h))');
RESET jit;
RESET jit_above_cost;
RESET jit_inline_above_cost;
RESET jit_optimize_above_cost;

-- ---------------------------------------------------------------- parallel
CREATE TABLE wide (id int, url text, filler text);
INSERT INTO wide SELECT i, 'Host' || i, repeat('x', 100) FROM generate_series(1, 20000) i;
ALTER TABLE wide SET (parallel_workers = 2);
CREATE TABLE wide_parted (id int, url text) PARTITION BY RANGE (id);
CREATE TABLE wide_1 PARTITION OF wide_parted FOR VALUES FROM (0) TO (10000) WITH (parallel_workers = 2);
CREATE TABLE wide_2 PARTITION OF wide_parted FOR VALUES FROM (10000) TO (15000) WITH (parallel_workers = 0);
CREATE TABLE wide_3 PARTITION OF wide_parted FOR VALUES FROM (15000) TO (MAXVALUE) WITH (parallel_workers = 1);
INSERT INTO wide_parted SELECT id, url FROM wide;
INSERT INTO listed SELECT 'Host' || i, i * 10 FROM generate_series(3, 20000, 7) i;
ANALYZE wide, wide_parted, listed;
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
-- all plans cost 0 if they are forced
SET bloomfilter.filter_scan = on;
SELECT plan_of('SELECT count(*) FROM wide WHERE membership_contains(''listed_url'', url)');
SELECT plan_of('SELECT count(*) FROM wide_parted WHERE membership_contains(''listed_url'', url)');
CREATE FUNCTION compare_parallel(query text, OUT parallel boolean, OUT result text, OUT same boolean)
LANGUAGE plpgsql AS $$
DECLARE
	alone text[];
	together text[];
BEGIN
	SET LOCAL bloomfilter.filter_scan = on;
	parallel := EXISTS (SELECT FROM plan_of(query) line WHERE line ~ 'Parallel Custom Scan \(Filter Scan\)');
	together := outcome_of(query);
	SET LOCAL bloomfilter.filter_scan = off;
	SET LOCAL max_parallel_workers_per_gather = 0;
	alone := outcome_of(query);
	SET LOCAL max_parallel_workers_per_gather = 2;
	SET LOCAL bloomfilter.filter_scan = on;
	result := left(together::text, 60);
	same := alone = together;
END
$$;
-- EXPLAIN ANALYZE counts the rows that all processes have probed
CREATE FUNCTION probed(query text) RETURNS SETOF text
LANGUAGE sql AS $$
	SELECT regexp_replace(line, '\(actual .*', '') FROM explained(query) line WHERE line ~ 'Custom Scan|Probe'
$$;
SELECT what, r.*
FROM (VALUES
	('an index', 'SELECT count(*), sum(id) FROM wide WHERE membership_contains(''listed_url'', url)'),
	('a filter', 'SELECT count(*), sum(id) FROM wide WHERE bloom_contains((SELECT bloom_agg(url) FROM listed), url)'),
	('an expression', 'SELECT count(*), sum(id) FROM wide WHERE (SELECT cuckoo_agg(lower(url)) FROM listed) @> lower(url)'),
	('partitions', 'SELECT count(*), sum(id) FROM wide_parted WHERE membership_contains(''listed_url'', url)'),
	('a join', 'SELECT count(*), sum(a.id) FROM wide a JOIN wide_parted b USING (url) WHERE membership_contains(''listed_url'', a.url) AND membership_contains(''listed_url'', b.url)')
) AS q (what, query), compare_parallel(query) AS r;
SELECT probed('SELECT count(*) FROM wide WHERE membership_contains(''listed_url'', url)');
SELECT probed('SELECT count(*) FROM wide_parted WHERE membership_contains(''listed_url'', url)');
-- those, too, of a scan that one worker makes alone
SET parallel_leader_participation = off;
SELECT probed('SELECT count(*) FROM wide WHERE membership_contains(''listed_url'', url)');
SELECT probed('SELECT count(*) FROM wide_parted WHERE membership_contains(''listed_url'', url)');
RESET parallel_leader_participation;
-- no worker to be had
SET max_parallel_workers = 0;
SELECT probed('SELECT count(*) FROM wide WHERE membership_contains(''listed_url'', url)');
SELECT * FROM compare_parallel('SELECT count(*), sum(id) FROM wide_parted WHERE membership_contains(''listed_url'', url)');
SELECT * FROM compare_parallel('SELECT i, (SELECT id FROM wide WHERE membership_contains(''listed_url'', url) OFFSET i * 50 LIMIT 1) s FROM generate_series(1, 4) i');
RESET max_parallel_workers;
-- A parallel scan that is left before its end, and begun anew
SELECT * FROM compare_parallel('SELECT i, s.id % 7 FROM generate_series(1, 4) i, LATERAL
	(SELECT id FROM wide WHERE membership_contains(''listed_url'', url) AND id > 2100 OFFSET i LIMIT i + 1) s');
SELECT * FROM compare_parallel('SELECT i, (SELECT count(*) FROM (SELECT id FROM wide WHERE membership_contains(''listed_url'', url) OFFSET i * 100) s) FROM generate_series(1, 4) i');
SELECT probed('SELECT i, (SELECT count(*) FROM (SELECT id FROM wide WHERE membership_contains(''listed_url'', url) OFFSET i * 100) s) FROM generate_series(1, 4) i');
SELECT probed('SELECT i, (SELECT id FROM wide WHERE membership_contains(''listed_url'', url) ORDER BY id OFFSET i LIMIT 1) s FROM generate_series(1, 4) i');
-- own insertions are found by workers
BEGIN;
INSERT INTO listed SELECT 'Host' || i, i FROM generate_series(4, 20000, 7) i;
SELECT * FROM compare_parallel('SELECT count(*), sum(id) FROM wide WHERE membership_contains(''listed_url'', url)');
SAVEPOINT s;
INSERT INTO listed SELECT 'Host' || i, i FROM generate_series(5, 20000, 7) i;
ROLLBACK TO s;
SELECT * FROM compare_parallel('SELECT count(*), sum(id) FROM wide WHERE membership_contains(''listed_url'', url)');
ROLLBACK;

DROP OWNED BY regress_filter_user;
DROP ROLE regress_filter_user;
