--
-- Counting Bloom filters: elements are added any number of times, and removed.
-- One that was added and not removed must never be missing.
--
\set ON_ERROR_STOP on
CREATE TEMP TABLE made (n int, what text, f bloom NOT NULL);
INSERT INTO made VALUES
	(1, 'small', bloom_create(100, counting => true)), (2, 'fixed', bloom_create(100, 0.01, 0, counting => true)),
	(3, 'precise', bloom_create(2000, 1e-6, counting => true)), (4, 'keyed', bloom_create(2000, seed => 77, counting => true)),
	(5, 'grown', bloom_add_all(bloom_create(50, counting => true), ARRAY(SELECT i::text FROM generate_series(1, 500) AS i)));
\set ON_ERROR_STOP off
SELECT what, layout, layers, capacity, error_rate, growth, seed, bits = 8 * bytes - 8 * (60 + 64 * layers) AS bits, bits_per_element FROM made, bloom_info(f) ORDER BY n;
SELECT bloom_size(1000000, counting => true), bloom_size(1000000), (bloom_size(1000000, counting => true)).bytes = (bloom_info(bloom_create(1000000, counting => true))).bytes AS made;

-- Added k times, it is in until removed k times; then the filter is as before,
-- but for the class, that it keeps
SELECT what, k, bloom_count(g, 'x') AS count, bloom_cardinality(g) = bloom_cardinality(bloom_add(f, 'x')) AS counts_once, h @> 'x' AS while_some_are_left,
	   bloom_remove(h, 'x') = bloom_remove(bloom_add(f, 'x'), 'x') AS then_none, bloom_remove_all(g, array_fill('x'::text, ARRAY[k])) = bloom_remove(h, 'x') AS at_once,
	   bloom_remove(h, 'x') @> 'x' AS found, bloom_count(bloom_remove(h, 'x'), 'x') AS left, bloom_add(bloom_remove(h, 'x'), 1::text) = bloom_add(f, '1') AS as_before
FROM made, generate_series(1, 7, 3) AS k, LATERAL (SELECT bloom_add_all(f, array_fill('x'::text, ARRAY[k])) AS g) AS x,
	 LATERAL (SELECT bloom_remove_all(g, array_fill('x'::text, ARRAY[k - 1])) AS h) AS y
ORDER BY n, k;

-- A counter that has come to eight stays: more additions and all removals change
-- nothing, not a byte.
SELECT what, bloom_count(g, 'x') AS count, bloom_add(g, 'x') = g AS add, bloom_remove(g, 'x') = g AS remove,
	   bloom_remove_all(g, array_fill('x'::text, ARRAY[1000])) = g AS remove_all, bloom_remove(bloom_add(g, 'y'), 'y') = g AS others
FROM made, LATERAL (SELECT bloom_add_all(f, array_fill('x'::text, ARRAY[8])) AS g) AS x ORDER BY n;

-- What is certainly absent leaves the filter unchanged, and the row unwritten.
SELECT what, bloom_remove(f, 'absent') = f AS remove, bloom_remove_all(f, ARRAY['absent', 'missing']) = f AS remove_all,
	   bloom_remove_all(f, '{}'::text[]) = f AS nothing, bloom_remove_all(f, ARRAY[NULL::text]) = f AS null_element, bloom_count(f, 'absent') FROM made ORDER BY n;
SELECT bloom_remove(f, NULL::text) = f AS element, bloom_remove_all(f, NULL::text[]) = f AS elements, bloom_remove(NULL::bloom, 'x') IS NULL AS filter, bloom_count(NULL::bloom, 1) IS NULL AS count, bloom_plain(NULL) IS NULL AS plain FROM made WHERE n = 1;

-- A column that is not unique: each row is added, and removed when it goes. Four
-- times as many elements as the capacity, which the filter grows by.
CREATE TEMP TABLE visits (id int, url text);
INSERT INTO visits SELECT i, 'url' || i % 3000 FROM generate_series(1, 9000) AS i;
CREATE TEMP TABLE visited AS SELECT bloom_add_all(bloom_create(750, counting => true), (SELECT array_agg(url ORDER BY id) FROM visits)) AS f;
SELECT layout, layers > 1 AS grown, abs(elements - 3000) < 60 AS elements FROM visited, bloom_info(f);
SELECT count(*) AS false_negatives FROM visits, visited WHERE NOT bloom_contains(f, url) OR bloom_count(f, url) < 3;
WITH gone AS (DELETE FROM visits WHERE id <= 6000 RETURNING url)
UPDATE visited SET f = bloom_remove_all(f, (SELECT array_agg(url) FROM gone));
SELECT count(*) AS false_negatives FROM visits, visited WHERE NOT bloom_contains(f, url);
WITH gone AS (DELETE FROM visits WHERE id <= 8000 RETURNING url)
UPDATE visited SET f = bloom_remove_all(f, (SELECT array_agg(url) FROM gone));
SELECT count(*) AS false_negatives FROM visits, visited WHERE NOT bloom_contains(f, url);
SELECT count(*) < 2000 * 0.02 AS hardly_any_stays FROM visited, generate_series(0, 2999) AS i WHERE bloom_contains(f, 'url' || i) AND 'url' || i NOT IN (SELECT url FROM visits);
WITH gone AS (DELETE FROM visits RETURNING url)
UPDATE visited SET f = bloom_remove_all(f, (SELECT array_agg(url) FROM gone));
-- what is left are bits whose counters had come to eight
SELECT bloom_cardinality(f), bloom_error_rate(f) < 0.0001 AS hardly_any_hits FROM visited;
DROP TABLE visits, visited;

-- One layer of block512: without its counters, it is the plain filter.
SELECT bloom_plain(c) = p AS same, bloom_plain(p) = p AS plain_already, bloom_plain(c) | p = p AS unites
FROM (SELECT bloom_add_all(bloom_create(5000, counting => true), a) AS c, bloom_add_all(bloom_create(5000), a) AS p
	  FROM (SELECT array_agg(i) AS a FROM generate_series(1, 5000) AS i) AS x) AS y;
SELECT layout, layers FROM made, bloom_info(bloom_plain(f)) WHERE what = 'grown';
-- Probes of all kinds give the same answers as the plain filter's
SELECT what, count(*) FILTER (WHERE bloom_contains(f, i::text) <> bloom_contains(bloom_plain(f), i::text)) AS alone,
	   bloom_contains_each(f, array_agg(i::text)) = bloom_contains_each(bloom_plain(f), array_agg(i::text)) AS each,
	   bloom_contains_any(f, array_agg(i::text)) AS any, bloom_contains_all(f, array_agg(i::text)) AS all,
	   bloom_error_rate(f) = bloom_error_rate(bloom_plain(f)) AS error_rate, bloom_cardinality(f) = bloom_cardinality(bloom_plain(f)) AS cardinality
FROM made, generate_series(1, 600) AS i GROUP BY n, what, f ORDER BY n;

-- A union adds counters, an intersection has the lesser.
CREATE TEMP TABLE pair AS SELECT bloom_add_all(e, ARRAY[1, 1, 1, 2]) AS a, bloom_add_all(e, ARRAY[1, 3, 3]) AS b, e FROM (SELECT bloom_create(100, counting => true) AS e) AS x;
SELECT i, bloom_count(a | b, i) AS in_union, bloom_count(b | a, i) AS other_side, bloom_count(a & b, i) AS in_intersection, bloom_count(a | a, i) AS with_itself FROM pair, generate_series(1, 4) AS i ORDER BY i;
SELECT a | b = b | a AS same, a | e = a AS nothing, e | a = a AS to_nothing, (a | b) | e = a | b AS again, bloom_count(bloom_clear(a), 1) AS cleared,
	   bloom_create(100, counting => true, element_type => 'int') = bloom_clear(a) AS as_new, bloom_compatible(a, b) AS compatible, bloom_compatible(a, bloom_plain(b)) AS with_plain FROM pair;
SELECT bloom_count(bloom_union_agg(f), 1) AS union_agg, bloom_count(bloom_union_agg(f), 3) AS three FROM (SELECT a AS f FROM pair UNION ALL SELECT b FROM pair) AS x;
-- with an explicit filter, which is a set: each element counts once
SELECT bloom_count(a | s, 1) AS one, bloom_count(s | a, 5) AS five FROM pair, (SELECT bloom_add_all((SELECT bloom_agg(1) WHERE false), ARRAY[1, 5, 5]) AS s) AS x;

-- the class that one of them has had remains, on whichever side it is
SELECT e | f = f | e AS same, (bloom_info(e | f)).element_class, (bloom_info(f | e)).element_class AS other_side
FROM (SELECT bloom_create(100, counting => true) AS e, bloom_remove(bloom_add(bloom_create(100, counting => true), 1), 1) AS f) AS x;
SELECT e | f = f | e AS same, (cuckoo_info(e | f)).element_class FROM (SELECT cuckoo_create(100) AS e, cuckoo_remove(cuckoo_add(cuckoo_create(100), 1), 1) AS f) AS x;

-- What an UPDATE changes nothing of, it does not write again: nothing is absent, or saturated
CREATE TEMP TABLE kept AS SELECT bloom_add_all(bloom_create(20000, counting => true), array_fill(1, ARRAY[10])) AS f;
DO $$
BEGIN
	FOR i IN 1 .. 10 LOOP
		UPDATE kept SET f = bloom_remove(f, 1);
		UPDATE kept SET f = bloom_remove_all(f, ARRAY[1, 2, 3]);
	END LOOP;
END
$$;
SELECT pg_relation_size(reltoastrelid) < 2 * (SELECT length(f::bytea) FROM kept) AS not_written_again FROM pg_class WHERE oid = 'kept'::regclass;

-- In and out
SELECT f::text::bloom = f AS text, f::bytea::bloom = f AS bytea FROM made ORDER BY n;
SELECT bloom_remove(bloom_add(f::text::bloom, 'x'), 'x') = bloom_remove(bloom_add(f, 'x'), 'x') AS changed_after FROM made ORDER BY n;

-- In PL/pgSQL, in place
DO $$
DECLARE
	f	bloom := bloom_create(2000, counting => true);
BEGIN
	FOR i IN 1 .. 2000 LOOP f := bloom_add(bloom_add(f, i), i); END LOOP;
	FOR i IN 1 .. 1000 LOOP f := bloom_remove(bloom_remove(f, i), i); f := bloom_remove(f, -i); END LOOP;
	RAISE NOTICE 'all found: %, removed ones found: %, count of each at least two: %',
		bloom_contains_all(f, ARRAY(SELECT generate_series(1001, 2000))), (SELECT count(*) FROM generate_series(1, 1000) AS i WHERE bloom_contains(f, i)) <= 20,
		(SELECT min(bloom_count(f, i)) FROM generate_series(1001, 2000) AS i) >= 2;
END
$$;

-- What cannot be
SELECT bloom_remove(bloom_create(100), 1);
SELECT bloom_remove_all(bloom_agg(i), ARRAY[1]) FROM generate_series(1, 3) AS i;
SELECT bloom_count(bloom_create_bits(1000, 3), 1);
SELECT bloom_remove(a, 'text'::text) FROM pair;
SELECT a | bloom_plain(b) FROM pair;
SELECT bloom_add_all(e, ARRAY(SELECT generate_series(1, 100))) | bloom_add_all(e, ARRAY(SELECT generate_series(101, 200))) FROM pair;
SELECT f | f | bloom_add(bloom_create(50, counting => true), 'x') FROM made WHERE what = 'grown';
SELECT f & f FROM made WHERE what = 'grown';
SELECT bloom_union(bloom_add_all(f, ARRAY(SELECT i::text FROM generate_series(1, 100) AS i)), bloom_add_all(f, ARRAY(SELECT i::text FROM generate_series(101, 200) AS i))) FROM made WHERE what = 'fixed';
SELECT bloom_create(200000000, counting => true);
SELECT bloom_create(100, counting => NULL) IS NULL AS strict;
