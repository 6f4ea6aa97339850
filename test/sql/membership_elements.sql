--
-- array_elements_ops: a membership index of the elements of arrays
--
\set ON_ERROR_STOP on
CREATE TABLE docs (id serial, tags text[]) WITH (autovacuum_enabled = off);
INSERT INTO docs (tags) SELECT ARRAY['tag' || i % 1000, 'tag' || i % 77, 'all'] FROM generate_series(1, 20000) i;
INSERT INTO docs (tags) VALUES (NULL), ('{}'), ('{NULL}'), ('{one,NULL,two}'), ('{{a,b},{c,d}}'), ('[5:6]={five,six}');
CREATE INDEX docs_tags ON docs USING membership (tags array_elements_ops);
\set ON_ERROR_STOP off
SELECT membership_check('docs_tags') = count(*) AS sound FROM docs;
SELECT layers, elements BETWEEN 990 AND 1030 AS elements FROM membership_info('docs_tags');
-- its column has the type of the elements
SELECT format_type(atttypid, NULL) FROM pg_attribute WHERE attrelid = 'docs_tags'::regclass;
SELECT pg_get_indexdef('docs_tags'::regclass);

-- ---------------------------------------------------------------- functions
SELECT membership_contains('docs_tags', 'all') AS all, membership_contains('docs_tags', 'tag999') AS tag999,
	membership_contains_all('docs_tags', '{a,b,c,d,one,two,five,six}') AS others,
	membership_contains('docs_tags', 'postgres') AS absent,
	membership_contains_each('docs_tags', ARRAY['tag7', NULL, 'absent']) AS each;
SELECT membership_contains('docs_tags', ARRAY['all']);
-- an index, and a filter, of whole arrays
CREATE INDEX docs_whole ON docs USING membership (tags);
SELECT membership_contains('docs_whole', 'all');
DROP INDEX docs_whole;
SELECT bloom_contains(bloom_agg(tags), 'all') FROM docs WHERE id = 1;
SELECT bloom_contains(bloom_agg('all'::text), tags) FROM docs WHERE id = 1 GROUP BY tags;
SELECT membership_contains('docs_tags', 7);
SELECT count(*) FROM docs, unnest(tags) tag WHERE NOT membership_contains('docs_tags', tag);
SELECT i.element_class, f @> 'all'::text AS present, f @> 'postgres'::text AS absent
FROM (SELECT membership_filter('docs_tags') AS f) AS value, bloom_info(f) i;

-- ---------------------------------------------------------------- the planner
VACUUM ANALYZE docs;
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE tags @> ARRAY['postgres'];
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE ARRAY['postgres'] <@ tags;
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE tags && ARRAY['postgres', 'mysql'];
-- a common element is certainly there, and so is no element
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE tags @> ARRAY['all'];
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE tags @> '{}';
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE tags && ARRAY['postgres', 'mysql', 'all'];
-- of a parameter nobody knows
SET plan_cache_mode = force_generic_plan;
PREPARE find(text[]) AS SELECT count(*) FROM docs WHERE tags @> $1;
EXPLAIN (COSTS OFF) EXECUTE find('{a}');
DEALLOCATE find;
RESET plan_cache_mode;
-- other operators of arrays say nothing of a single element
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/shared/plans.sql'
\i :file
CREATE FUNCTION can_use_index(query text) RETURNS boolean LANGUAGE sql SET enable_seqscan = off AS
$$ SELECT bool_or(line LIKE '%Bitmap Index Scan%') FROM plan_of(query) line $$;
SELECT can_use_index($$SELECT FROM docs WHERE tags @> ARRAY['postgres']$$) AS contains,
	can_use_index($$SELECT FROM docs WHERE tags = ARRAY['postgres']$$) AS equals,
	can_use_index($$SELECT FROM docs WHERE tags <@ ARRAY['postgres']$$) AS contained,
	can_use_index($$SELECT FROM docs WHERE 'postgres' = ANY (tags)$$) AS any_of;

-- A condition, answered with the index and without: rows, and pages of the table that it reads
CREATE FUNCTION compare(condition text) RETURNS TABLE (rows bigint, same boolean, pages int)
LANGUAGE plpgsql AS $$
DECLARE
	node jsonb;
	query text := 'SELECT count(*), sum(id) FROM docs WHERE ' || condition;
	sum bigint;
	sum_without bigint;
	rows_without bigint;
BEGIN
	SET LOCAL enable_seqscan = off;
	node := first_node('SELECT FROM docs WHERE ' || condition, 'ANALYZE');
	IF node->>'Node Type' <> 'Bitmap Heap Scan' THEN
		RAISE WARNING '%', node;
	END IF;
	pages := node->>'Lossy Heap Blocks';
	EXECUTE query INTO rows, sum;
	SET LOCAL enable_seqscan = on;
	SET LOCAL enable_bitmapscan = off;
	EXECUTE query INTO rows_without, sum_without;
	RESET enable_bitmapscan;
	same := rows = rows_without AND sum IS NOT DISTINCT FROM sum_without;
	pages := CASE WHEN pages * current_setting('block_size')::int = pg_relation_size('docs') THEN -1 ELSE pages END;
	RETURN NEXT;
END $$;
-- pages: -1 is all
SELECT c AS condition, r.* FROM (VALUES
	('tags @> ARRAY[''postgres'']'),
	('tags @> ARRAY[''tag7'']'),
	('tags @> ARRAY[''tag7'', ''all'']'),
	('tags @> ARRAY[''tag7'', ''postgres'']'),
	('tags @> ARRAY[''tag7''] AND tags @> ARRAY[''postgres'']'),
	('tags @> ARRAY[''tag7''] AND tags && ARRAY[''one'', ''all'']'),
	('tags @> ''{}'''),
	('tags @> ''{NULL}'''),
	('tags @> ''{one,NULL}'''),
	('tags @> ''{one,two}'''),
	('tags @> ''{{one,two}}'''),
	('tags @> ''{d,a}'''),
	('tags @> ''{six}'''),
	('tags && ARRAY[''postgres'', ''mysql'']'),
	('tags && ARRAY[''postgres'', ''two'']'),
	('tags && ''{}'''),
	('tags && ''{NULL}'''),
	('tags && ''{NULL,two}'''),
	('ARRAY[''five''] <@ tags'),
	('tags @> (SELECT ARRAY[''two''])'),
	('tags @> (SELECT array_agg(x) FROM unnest(''{one,mysql}''::text[]) x)'),
	('tags @> (SELECT NULL::text[])')) v (c), compare(c) r;

-- parameters, and arrays from other tables
SET plan_cache_mode = force_generic_plan;
SET enable_seqscan = off;
PREPARE find(text[]) AS SELECT count(*) FROM docs WHERE tags @> $1;
EXPLAIN (COSTS OFF) EXECUTE find('{a}');
EXECUTE find('{a}');
EXECUTE find('{postgres}');
EXECUTE find('{}');
EXECUTE find(NULL);
DEALLOCATE find;
RESET plan_cache_mode;
EXPLAIN (COSTS OFF) SELECT count(*) FROM (VALUES ('{a}'::text[]), ('{mysql}'), ('{two,one}')) w (tags) JOIN docs d ON d.tags @> w.tags;
SELECT count(*) FROM (VALUES ('{a}'::text[]), ('{mysql}'), ('{two,one}')) w (tags) JOIN docs d ON d.tags @> w.tags;
RESET enable_seqscan;

-- A join by the arrays themselves is not filtered by an index of their elements
CREATE TABLE others AS SELECT tags FROM docs WHERE id % 100 = 0;
ANALYZE others;
SET bloomfilter.filter_scan = force;
SET bloomfilter.join_filter = index;
EXPLAIN (COSTS OFF) SELECT count(*) FROM others o JOIN docs d USING (tags);
SELECT count(*) FROM others o JOIN docs d USING (tags);
SELECT count(*) FROM others o WHERE EXISTS (SELECT FROM docs d WHERE d.tags @> o.tags);
RESET bloomfilter.filter_scan;
RESET bloomfilter.join_filter;
SELECT count(*) FROM others o WHERE EXISTS (SELECT FROM docs d WHERE d.tags @> o.tags);
-- lookups of single elements can be
CREATE TABLE searches AS SELECT 'word' || i AS word FROM generate_series(1, 5000) i UNION ALL SELECT 'tag' || i FROM generate_series(1, 10) i;
ANALYZE searches;
EXPLAIN (COSTS OFF) SELECT word FROM searches WHERE membership_contains('docs_tags', word);
SELECT count(*) >= 10 AS all_found, count(*) < 150 AS few_others FROM searches WHERE membership_contains('docs_tags', word);

-- ---------------------------------------------------------------- kept true
BEGIN;
INSERT INTO docs (tags) VALUES ('{new,newer}');
SELECT membership_contains_all('docs_tags', '{new,newer}') AS own;
SELECT * FROM compare('tags @> ''{newer}''');
SAVEPOINT s;
INSERT INTO docs (tags) VALUES ('{undone}');
ROLLBACK TO s;
SELECT membership_contains('docs_tags', 'undone') AS undone;
COMMIT;
UPDATE docs SET tags = tags || '{updated}' WHERE id <= 10;
-- HOT: no column of the index changes
CREATE TABLE hot (id int, n int, tags int[]) WITH (fillfactor = 50, autovacuum_enabled = off);
CREATE INDEX hot_tags ON hot USING membership (tags array_elements_ops);
INSERT INTO hot SELECT i, 0, ARRAY[i, -i] FROM generate_series(1, 100) i;
UPDATE hot SET n = n + 1;
SELECT pg_stat_force_next_flush();
SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'hot';
SELECT membership_check('hot_tags'), count(*) FILTER (WHERE NOT membership_contains_all('hot_tags', tags)) FROM hot;
-- an array that is longer than what may wait, and one that is stored out of line
INSERT INTO hot SELECT 101, 0, array_agg(i) FROM generate_series(1000, 50000) i;
INSERT INTO hot SELECT 102, 0, array_agg(i) FROM generate_series(100000, 101000) i;
INSERT INTO hot SELECT i, 0, NULL FROM generate_series(103, 110) i;
SELECT membership_check('hot_tags'), layers > 0 AS layers FROM membership_info('hot_tags');
SET enable_seqscan = off;
SELECT id FROM hot WHERE tags @> '{1000,50000}';
SELECT id FROM hot WHERE tags @> '{100500}';
SELECT id FROM hot WHERE tags && '{-7,7}';
SELECT id FROM hot WHERE tags @> '{1000,-50000}';
RESET enable_seqscan;
-- VACUUM does not take rows for elements; REINDEX drops those of deleted rows
DELETE FROM hot WHERE id IN (101, 102);
VACUUM hot;
SELECT dead_elements, elements > 50000 AS many FROM membership_info('hot_tags');
REINDEX INDEX hot_tags;
SELECT dead_elements, elements BETWEEN 190 AND 210 AS few FROM membership_info('hot_tags');
REINDEX INDEX CONCURRENTLY hot_tags;
VACUUM FULL hot;
SELECT membership_check('hot_tags') AS hot, membership_check('docs_tags') = (SELECT count(*) FROM docs) AS docs;
-- an earlier query finds the successor of an index, and no other of the same column
CREATE INDEX hot_arrays ON hot USING membership (tags);
SELECT membership_contains('hot_arrays', ARRAY[7, -7]) AS array, membership_contains('hot_tags', 7) AS element,
	membership_contains('hot_arrays', ARRAY[7, -8]) AS other_array, membership_contains('hot_tags', 777) AS other_element;
-- the other type of element needs another index
ALTER TABLE hot ALTER tags TYPE text[] USING tags::text[];
SELECT membership_contains('hot_tags', '7') AS text, membership_check('hot_tags');
ALTER TABLE hot ALTER tags TYPE varchar(20)[];
SELECT membership_contains('hot_tags', '7') AS varchar, membership_check('hot_tags');
SET enable_seqscan = off;
SELECT id FROM hot WHERE tags @> ARRAY['7']::varchar[];
SELECT id FROM hot WHERE tags @> '{777}';
RESET enable_seqscan;

-- ---------------------------------------------------------------- types of elements
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE TYPE pair AS (a int, b text);
CREATE DOMAIN word AS text;
CREATE DOMAIN words AS text[];
CREATE TABLE every (id int, ints int8[], moods mood[], pairs pair[], nums numeric[], padded char(5)[],
	domains word[], a_domain words, times timestamptz[], json jsonb[], vector int2vector);
INSERT INTO every VALUES (1, '{1,2}', '{ok}', ARRAY[(1, 'x')::pair], '{1.50}', '{ab}',
	'{w}', '{w}', '{2026-11-22 10:00+00}', ARRAY['{"a": 1}'::jsonb], '3 4');
DO $$
DECLARE
	c record;
BEGIN
	FOR c IN SELECT attname AS name FROM pg_attribute
		WHERE attrelid = 'every'::regclass AND attnum > 1 ORDER BY attnum
	LOOP
		EXECUTE format('CREATE INDEX e_%s ON every USING membership (%1$I array_elements_ops)', c.name);
	END LOOP;
END $$;
INSERT INTO every SELECT 2, '{3}', '{sad}', ARRAY[(2, 'y')::pair], '{2.50}', '{cd}', '{v}', '{v}',
	'{2027-11-22 10:00+00}', ARRAY['{"b": 1}'::jsonb], '5';
SET enable_seqscan = off;
SELECT
	(SELECT array_agg(id) FROM every WHERE ints @> '{2}') AS ints,
	(SELECT array_agg(id) FROM every WHERE moods @> '{sad}') AS moods,
	(SELECT array_agg(id) FROM every WHERE pairs @> ARRAY[(1, 'x')::pair]) AS pairs,
	(SELECT array_agg(id) FROM every WHERE nums @> '{2.5}') AS nums,
	(SELECT array_agg(id) FROM every WHERE padded @> '{ab}') AS padded,
	(SELECT array_agg(id) FROM every WHERE padded @> '{"cd   "}') AS blanks,
	(SELECT array_agg(id) FROM every WHERE domains @> '{w}') AS domains,
	(SELECT array_agg(id) FROM every WHERE a_domain @> '{v}') AS a_domain,
	(SELECT array_agg(id) FROM every WHERE times @> '{2026-11-22 11:00+01}') AS times,
	(SELECT array_agg(id) FROM every WHERE json @> ARRAY['{"b": 1.0}'::jsonb]) AS json;
SELECT
	(SELECT count(*) FROM every WHERE ints @> '{2,3}') AS ints,
	(SELECT count(*) FROM every WHERE pairs @> ARRAY[(1, 'y')::pair]) AS pairs,
	(SELECT count(*) FROM every WHERE nums @> '{2.51}') AS nums;
RESET enable_seqscan;
SELECT membership_contains('e_ints', 2) AS ints, membership_contains('e_moods', 'ok'::mood) AS moods,
	membership_contains('e_pairs', ROW(1, 'x')) AS pairs, membership_contains('e_padded', 'ab') AS padded,
	membership_contains('e_a_domain', 'w') AS a_domain, membership_contains('e_vector', 4) AS vector;
ALTER TYPE mood RENAME VALUE 'sad' TO 'blue';
SET enable_seqscan = off;
SELECT id FROM every WHERE moods @> '{blue}';
-- after ALTER TYPE, the hashes of composite elements are others: the whole table is read
ALTER TYPE pair ADD ATTRIBUTE c int;
SELECT id FROM every WHERE pairs @> ARRAY[(1, 'x', NULL)::pair];
SELECT membership_contains('e_pairs', ROW(1, 'x', NULL::int));
REINDEX INDEX e_pairs;
SELECT id FROM every WHERE pairs @> ARRAY[(1, 'x', NULL)::pair];
RESET enable_seqscan;
-- a collation that calls different bytes equal
CREATE COLLATION caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE caseless_tags (tags text[] COLLATE caseless);
CREATE INDEX caseless_i ON caseless_tags USING membership (tags array_elements_ops);
INSERT INTO caseless_tags VALUES ('{Postgres}');
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT FROM caseless_tags WHERE tags @> '{postgres}';
SELECT count(*) FROM caseless_tags WHERE tags @> '{postgres}';
SELECT count(*) FROM caseless_tags WHERE tags @> '{mysql}';
RESET enable_seqscan;
-- another collation is not the index's
SELECT can_use_index($$SELECT FROM caseless_tags WHERE tags @> '{Postgres}'$$) AS same,
	can_use_index($$SELECT FROM caseless_tags WHERE tags @> '{Postgres}' COLLATE "C"$$) AS other;

-- ---------------------------------------------------------------- expressions, predicates, partitions
CREATE INDEX docs_words ON docs USING membership ((tags || ARRAY['extra']) array_elements_ops) WHERE id > 20005;
SELECT membership_contains('docs_words', 'five') AS present, membership_contains('docs_words', 'extra') AS extra,
	membership_contains('docs_words', 'all') AS outside;
CREATE TABLE parts (id int, tags text[]) PARTITION BY RANGE (id);
CREATE INDEX parts_tags ON parts USING membership (tags array_elements_ops);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (10);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (10) TO (20);
INSERT INTO parts VALUES (1, '{low,both}'), (11, '{high,both}');
SELECT membership_contains_each('parts_tags', '{low,high,both,none}') AS each, membership_check('parts_tags');
-- an index of the arrays themselves is not one of its partitions
CREATE INDEX parts_arrays ON ONLY parts USING membership (tags);
CREATE INDEX parts_1_elements ON parts_1 USING membership (tags array_elements_ops);
ALTER INDEX parts_arrays ATTACH PARTITION parts_1_elements;
SET enable_seqscan = off;
SELECT id FROM parts WHERE tags @> '{high}';
RESET enable_seqscan;
CREATE UNLOGGED TABLE quick (tags text[]);
CREATE INDEX quick_tags ON quick USING membership (tags array_elements_ops);
INSERT INTO quick VALUES ('{x}');
SELECT membership_contains('quick_tags', 'x') AS x, membership_contains('quick_tags', 'y') AS y;
-- rows of inheritance children: refused by the index, found by its operators
CREATE TABLE quick_child () INHERITS (quick);
INSERT INTO quick_child VALUES ('{y}');
SELECT membership_contains('quick_tags', 'y');
SELECT tags FROM quick WHERE tags @> '{y}';
DROP TABLE quick_child;

-- ---------------------------------------------------------------- errors
CREATE INDEX ON docs USING membership (id, tags array_elements_ops);
CREATE INDEX ON docs USING membership (tags array_elements_ops, tags array_elements_ops);
CREATE INDEX ON docs USING membership (id array_elements_ops);
CREATE TABLE points (p point[]);
CREATE INDEX ON points USING membership (p array_elements_ops);
-- amvalidate(), and classes that store what we do not know
CREATE OPERATOR CLASS my_elements_ops FOR TYPE anyarray USING membership AS OPERATOR 2 @>, STORAGE anyelement;
CREATE OPERATOR CLASS no_storage_ops FOR TYPE anyarray USING membership AS OPERATOR 2 @>;
CREATE OPERATOR CLASS range_contains_ops FOR TYPE anyrange USING membership AS OPERATOR 1 =, OPERATOR 2 @> (anyrange, anyrange);
CREATE OPERATOR CLASS missing_ops FOR TYPE anyarray USING membership AS OPERATOR 3 &&, STORAGE anyelement;
CREATE OPERATOR CLASS odd_storage_ops FOR TYPE int4 USING membership AS OPERATOR 1 =, STORAGE text;
CREATE OPERATOR CLASS contained_ops FOR TYPE anyarray USING membership AS OPERATOR 2 <@, STORAGE anyelement;
ALTER OPERATOR FAMILY array_elements_ops USING membership ADD OPERATOR 3 <@ (anyarray, anyarray);
SELECT opcname, amvalidate(oid) FROM pg_opclass
WHERE opcname IN ('array_elements_ops', 'my_elements_ops', 'no_storage_ops', 'odd_storage_ops', 'missing_ops')
ORDER BY opcname;
CREATE INDEX ON docs USING membership (id odd_storage_ops);
-- it may be wrong, but makes no query wrong
CREATE TABLE arrays (a int[]);
INSERT INTO arrays VALUES ('{1,2}');
CREATE INDEX ON arrays USING membership (a no_storage_ops);
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM arrays WHERE a @> '{2}';
SELECT count(*) FROM arrays WHERE a @> '{2}';
RESET enable_seqscan;

DROP TABLE docs, others, searches, hot, every, caseless_tags, parts, quick, points, arrays;
DROP OPERATOR FAMILY my_elements_ops USING membership;
DROP OPERATOR FAMILY no_storage_ops USING membership;
DROP OPERATOR FAMILY missing_ops USING membership;
DROP OPERATOR FAMILY odd_storage_ops USING membership;
DROP TYPE mood, pair;
DROP DOMAIN word, words;
DROP COLLATION caseless;
