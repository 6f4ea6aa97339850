--
-- Lookups: "no" is final, "yes" is almost certain.
--
\set ON_ERROR_STOP on
CREATE TEMP TABLE filters (name text PRIMARY KEY, f bloom);
INSERT INTO filters
SELECT 'numbers', bloom_agg(i) FROM generate_series(1, 50000) AS i;
INSERT INTO filters
SELECT 'numbers, 1e-5', bloom_agg(i, NULL, 1e-5) FROM generate_series(1, 50000) AS i;
INSERT INTO filters
SELECT 'words', bloom_agg('word ' || i) FROM generate_series(1, 50000) AS i;
INSERT INTO filters
SELECT 'classic', bloom_add_all(bloom_create_bits(500000, 7), array_agg(i)) FROM generate_series(1, 50000) AS i;
INSERT INTO filters
SELECT 'grown', bloom_add_all(bloom_create(1000), array_agg(i)) FROM generate_series(1, 50000) AS i;
INSERT INTO filters
SELECT 'keyed', bloom_agg(bloom_element(i, -5), 50000, 0.01) FROM generate_series(1, 50000) AS i;
\set ON_ERROR_STOP off

-- No false negative, and at most about one in a hundred of the others.  (The
-- subqueries probe one filter after the other.)
SELECT name,
	   (SELECT count(*) FROM generate_series(1, 50000) AS i WHERE NOT bloom_contains(f, i)) AS false_negatives,
	   (SELECT count(*) FROM generate_series(50001, 100000) AS i WHERE bloom_contains(f, i)) <= 575 AS few_false_positives
FROM filters
WHERE name <> 'words' ORDER BY name;
SELECT name,
	   (SELECT count(*) FROM generate_series(1, 50000) AS i WHERE NOT bloom_contains(f, 'word ' || i)) AS false_negatives,
	   (SELECT count(*) FROM generate_series(50001, 100000) AS i WHERE bloom_contains(f, 'word ' || i)) <= 575 AS few_false_positives
FROM filters
WHERE name = 'words';

-- Function and both operators agree; types of one class find each other's
SELECT bloom_contains(f, 7), f @> 7 AS contains, 7 <@ f AS contained, _bloom_contained(7, f),
	   f @> 7::smallint AS smallint, f @> 7::bigint AS bigint, NOT f @> -7 AS not_there
FROM filters WHERE name = 'numbers';
SELECT f @> 'word 7' AS literal, f @> 'word 7'::text AS text, f @> 'word 7'::varchar AS varchar,
	   f @> 'word 7'::name AS name, f @> 'word 7'::char(20) AS char, 'word 7' <@ f AS contained,
	   NOT f @> 'word 7 '::text AS trailing_blank_of_text, f @> 'word 7' COLLATE "C" AS collated
FROM filters WHERE name = 'words';

-- NULL gives NULL
SELECT bloom_contains(NULL, 1) IS NULL AS a, bloom_contains(f, NULL::int) IS NULL AS b,
	   (f @> NULL::int) IS NULL AS c, (NULL::int <@ f) IS NULL AS d
FROM filters WHERE name = 'numbers';

-- A filter without elements answers "no" to any type
SELECT bloom_create(10) @> 1 AS integer, bloom_create(10) @> 'x' AS text,
	   bloom_create_bits(10, 1) @> now() AS time, (SELECT bloom_agg(1) WHERE false) @> 'x' AS empty;

-- In every place of a query
CREATE TEMP TABLE visits AS
SELECT i AS id, 'word ' || (i * 37) % 100000 AS url FROM generate_series(1, 20000) AS i;
SELECT count(*) AS all_of_them,
	   count(*) FILTER (WHERE bloom_contains((SELECT f FROM filters WHERE name = 'words'), url)) >= 9999 AS found
FROM visits;
-- the filter before the exact condition changes no answer
SELECT (SELECT count(*) FROM visits WHERE split_part(url, ' ', 2)::int BETWEEN 1 AND 50000) AS exact,
	   (SELECT count(*) FROM visits
		WHERE bloom_contains((SELECT f FROM filters WHERE name = 'words'), url)
			AND split_part(url, ' ', 2)::int BETWEEN 1 AND 50000) AS filtered;
SELECT count(*) AS joined
FROM visits v JOIN filters ON name = 'words' AND f @> v.url
WHERE split_part(url, ' ', 2)::int BETWEEN 1 AND 50000;
-- several filters at one call, in turns
SELECT name, count(*) AS found_of_ten
FROM generate_series(1, 10) AS i, filters
WHERE name <> 'words' AND bloom_contains(f, i) GROUP BY name ORDER BY name;
SELECT i, count(*) FILTER (WHERE f @> i) AS filters_with_it
FROM generate_series(49999, 50002) AS i, filters
WHERE name LIKE 'numbers%' GROUP BY i ORDER BY i;
SELECT CASE WHEN f @> 1 THEN 'yes' ELSE 'no' END AS answer FROM filters WHERE name = 'numbers';
-- as a table's constraint
CREATE TEMP TABLE checked (x int CHECK (bloom_contains(bloom_add_all(bloom_create(10), ARRAY[1, 2, 3]), x)));
INSERT INTO checked VALUES (1), (3), (NULL);
DO $$
BEGIN
	INSERT INTO checked VALUES (1000);
EXCEPTION WHEN check_violation THEN
	RAISE NOTICE 'the constraint is checked';
END
$$;
-- as an index's condition
CREATE TEMP TABLE items (x int);
INSERT INTO items SELECT generate_series(1, 1000);
CREATE INDEX items_x ON items (x) WHERE bloom_contains(bloom_add_all(bloom_create(10), ARRAY[1, 2, 3]), x);
SET enable_seqscan = off;
SELECT x FROM items
WHERE bloom_contains(bloom_add_all(bloom_create(10), ARRAY[1, 2, 3]), x) AND x < 4 ORDER BY x;
RESET enable_seqscan;

-- Prepared statements: of a known type, and untyped (text)
PREPARE probe(int) AS SELECT bloom_contains((SELECT f FROM filters WHERE name = 'numbers'), $1) AS found;
EXECUTE probe(1);
EXECUTE probe(-1);
EXECUTE probe(NULL);
PREPARE probe_untyped AS SELECT (SELECT f FROM filters WHERE name = 'words') @> $1 AS found;
EXECUTE probe_untyped('word 1');
EXECUTE probe_untyped('word -1');
PREPARE probe_filter(bloom) AS SELECT $1 @> 1 AS found;
SET plan_cache_mode = force_generic_plan;
EXECUTE probe(1);
EXECUTE probe_filter(bloom_add(bloom_create(10), 1));
EXECUTE probe_filter(bloom_create(10));
RESET plan_cache_mode;
DEALLOCATE ALL;

-- The filter that a running query reads is that of its snapshot; the next
-- statement sees the new one
CREATE FUNCTION is_in(x int) RETURNS boolean LANGUAGE plpgsql STABLE AS
$$ BEGIN RETURN bloom_contains((SELECT f FROM filters WHERE name = 'numbers'), x); END $$;
BEGIN;
SELECT is_in(-1) AS before;
UPDATE filters SET f = bloom_add(f, -1) WHERE name = 'numbers';
SELECT is_in(-1) AS added;
UPDATE filters SET f = bloom_clear(f) WHERE name = 'numbers';
SELECT is_in(-1) AS cleared;
ROLLBACK;
SELECT is_in(-1) AS rolled_back, is_in(1) AS still_there;
DROP FUNCTION is_in;

DROP TABLE filters, visits, checked, items;

-- An array without a type is one text: functions for one element say so, once in a statement
CREATE TABLE listed (x text);
CREATE INDEX listed_x ON listed USING membership (x);
SELECT bloom_contains(f, '{a,b}') FROM bloom_create(100) AS f, generate_series(1, 3);
SELECT f @> '{"a","b"}' AS contains, '{"a, \", \\",b}' <@ f AS contained, (bloom_info(bloom_add(f, '{a,b}'))).bits_set > 0 AS added FROM bloom_create(100) AS f;
SELECT cuckoo_contains(c, '{a,b}'), cuckoo_count(c, '{a,b}'), cuckoo_remove(c, '{a,b}') = c AS same FROM cuckoo_create(100) AS c;
PREPARE look_up AS SELECT membership_contains('listed_x', $1) FROM generate_series(1, 2);
EXECUTE look_up('{"a"}');
SET plan_cache_mode = force_generic_plan;
EXECUTE look_up('{1,2}');
EXECUTE look_up('1');
RESET plan_cache_mode;
-- but not of what is as likely something else, nor of a value that has a type or comes from a row
SELECT bool_or(found) AS found FROM bloom_create(100) AS f, LATERAL (VALUES (f @> '{"a":1}'), (f @> '{"a": ["b", {"c": 1}]}'), (f @> '{}'), (f @> '{ }'),
	(f @> '{550e8400-e29b-41d4-a716-446655440000}'), (f @> '{{name}}'), (f @> '{a'), (f @> '{"a'), (f @> '{"a}'), (f @> '{"a\"}'), (f @> '{"}'), (f @> '{a,}'), (f @> '{,}'),
	(f @> '{a}b,c}'), (f @> 'a,b'), (f @> ''), (f @> '{'), (f @> '{a,b}'::varchar)) AS v(found);
SELECT bool_or(bloom_contains(f, x)) AS found FROM bloom_create(100) AS f, unnest(ARRAY['{a,b}', '{c,d}']) AS x;
SELECT membership_contains_any('listed_x', '{a,b}') AS any, bloom_contains_all(bloom_create(100), '{a,b}') AS all;
DROP TABLE listed;
