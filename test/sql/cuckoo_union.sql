--
-- Unions of cuckoo filters: the sum of two multisets, which has each
-- element as often as both have it together.
--
\set ON_ERROR_STOP on
CREATE TEMP TABLE pairs (n int, what text PRIMARY KEY, f cuckoo, g cuckoo);
INSERT INTO pairs
SELECT n, what, cuckoo_add_all(f, ARRAY(SELECT generate_series(1, 600))), cuckoo_add_all(f, ARRAY(SELECT generate_series(401, 1000)))
FROM (VALUES (1, 'within capacity', cuckoo_create(2000, 1e-5)),
			 (2, 'fixed', cuckoo_create(1200, 1e-5, 0)),
			 (3, 'keyed', cuckoo_create(2000, 1e-5, 2, 77)),
			 (4, 'past capacity', cuckoo_create(700, 1e-5)),
			 (5, 'grown', cuckoo_create(100, 1e-5)),
			 (6, 'grown by one', cuckoo_create(100, 1e-5, 1)),
			 (7, 'grown by 16', cuckoo_create(10, 1e-5, 16)),
			 (8, 'from empty', (SELECT cuckoo_agg(1) WHERE false))) AS t(n, what, f);
-- (a first and a later layer, of another number of layers each)
INSERT INTO pairs SELECT 9, 'unlike layers', cuckoo_add_all(f, ARRAY(SELECT generate_series(1, 600))), cuckoo_remove_all(cuckoo_add_all(f, ARRAY(SELECT generate_series(401, 4000))), ARRAY(SELECT generate_series(1001, 4000)))
FROM (SELECT cuckoo_create(100, 1e-5) AS f) AS t;
\set ON_ERROR_STOP off

-- A union has the elements of either, each as often as both together, and few others.
-- The bytes depend on the order, because entries stay in their first place.
SELECT what, cuckoo_contains_all(u, ARRAY(SELECT generate_series(1, 1000))) AS complete, cuckoo_contains_all(v, ARRAY(SELECT generate_series(1, 1000))) AS other_way,
	   cuckoo_cardinality(u) AS elements, cuckoo_cardinality(v) AS elements_too,
	   (SELECT count(*) FROM generate_series(1, 1000) AS x WHERE cuckoo_count(u, x) = 1 + (x BETWEEN 401 AND 600)::int) >= CASE what WHEN 'from empty' THEN 970 ELSE 999 END AS counted,
	   (SELECT count(*) FROM generate_series(1, 10000) AS x WHERE cuckoo_contains(u, -x)) <= CASE what WHEN 'from empty' THEN 130 ELSE 2 END AS little_else,
	   u = cuckoo_union(f, g) AS operator, (SELECT cuckoo_union_agg(x) FROM (VALUES (NULL), (f), (g), (NULL)) AS y(x)) = u AS aggregate, u::bytea::cuckoo = u AS sound
FROM pairs, LATERAL (SELECT f | g AS u OFFSET 0) AS x, LATERAL (SELECT g | f AS v OFFSET 0) AS y ORDER BY n;
-- An element of both stays until it is removed twice; then the filter is empty
SELECT what, cuckoo_contains_all(once, ARRAY(SELECT generate_series(401, 600))) AS in_both_stay, cuckoo_cardinality(once) AS elements,
	   (SELECT count(*) FROM generate_series(1, 1000) AS x WHERE cuckoo_contains(once, x)) <= CASE what WHEN 'from empty' THEN 210 ELSE 201 END AS others_gone,
	   cuckoo_cardinality(cuckoo_remove_all(once, ARRAY(SELECT generate_series(401, 600)))) AS "left"
FROM pairs, LATERAL (SELECT cuckoo_remove_all(f | g, ARRAY(SELECT generate_series(1, 1000))) AS once OFFSET 0) AS x ORDER BY n;
-- With itself: each twice.  That is not idempotent, as with bloom.
SELECT what, cuckoo_cardinality(u) AS elements, cuckoo_contains_all(cuckoo_remove_all(u, ARRAY(SELECT generate_series(1, 600))), ARRAY(SELECT generate_series(1, 600))) AS twice,
	   cuckoo_cardinality(cuckoo_remove_all(cuckoo_remove_all(u, ARRAY(SELECT generate_series(1, 600))), ARRAY(SELECT generate_series(1, 600)))) AS "left"
FROM pairs, LATERAL (SELECT f | f AS u OFFSET 0) AS x WHERE what NOT IN ('fixed') ORDER BY n;
-- Four times: saturated, so that removals change nothing any more, nor do more
-- unions
SELECT cuckoo_cardinality(u) AS four_each, u | f = u AS no_more, u | u = u AS not_even_with_itself, cuckoo_remove_all(u, ARRAY(SELECT generate_series(1, 20))) = u AS sticky,
	   (SELECT cuckoo_union_agg(g) FROM (SELECT f AS g FROM generate_series(1, 1000)) AS y) = u AS thousand_times
FROM (SELECT cuckoo_add_all(cuckoo_create(100000, 1e-5), ARRAY(SELECT generate_series(1, 20))) AS f OFFSET 0) AS t, LATERAL (SELECT ((f | f) | f) | f AS u OFFSET 0) AS x;
SELECT (cuckoo_info(cuckoo_union_agg(f))).layers, cuckoo_count(cuckoo_union_agg(f), 1) AS count
FROM (SELECT cuckoo_add(cuckoo_create(10), 1) AS f FROM generate_series(1, 10000) OFFSET 0) AS t;

-- Elements of one class, one in each, both survive the removal of one: coarse
-- filters, in which there are many such
DO $$
DECLARE
	f		cuckoo;
	g		cuckoo;
	u		cuckoo;
	matches	int := 0;
	lost	int := 0;
BEGIN
	FOR s IN 1 .. 200
	LOOP
		-- of different layers, by what was in them before
		f := cuckoo_create(8, 0.5, 1 + s % 4, s);
		g := cuckoo_remove_all(cuckoo_add_all(f, ARRAY(SELECT generate_series(1001, 1000 + s))), ARRAY(SELECT generate_series(1001, 1000 + s)));
		f := cuckoo_add_all(f, ARRAY(SELECT generate_series(1, 40)));
		g := cuckoo_add_all(g, ARRAY(SELECT generate_series(41, 80)));
		matches := matches + (SELECT count(*) FROM generate_series(41, 80) AS i WHERE cuckoo_contains(f, i));
		u := f | g;
		lost := lost + (SELECT count(*) FROM generate_series(1, 80) AS i WHERE NOT cuckoo_contains(u, i));
		u := cuckoo_remove_all(u, ARRAY(SELECT generate_series(1, 40)));
		lost := lost + (SELECT count(*) FROM generate_series(41, 80) AS i WHERE NOT cuckoo_contains(u, i));
		u := cuckoo_compact(g | f);
		u := cuckoo_remove_all(u, ARRAY(SELECT generate_series(41, 80)));
		lost := lost + (SELECT count(*) FROM generate_series(1, 40) AS i WHERE NOT cuckoo_contains(u, i));
	END LOOP;
	RAISE NOTICE 'matches: % than 100, lost: %', CASE WHEN matches > 100 THEN 'more' ELSE matches || ', not more' END, lost;
END
$$;

-- Within capacity a union stays in one layer, at its error rate; past it, it grows
SELECT i.layers AS within, i.estimated_error_rate <= i.error_rate AS precise, j.layers > 1 AS past
FROM (SELECT (SELECT f | g FROM pairs WHERE what = 'within capacity') AS within, (SELECT f | g FROM pairs WHERE what = 'past capacity') AS past) AS t,
	 LATERAL cuckoo_info(within) AS i, LATERAL cuckoo_info(past) AS j;
-- and more can be added
SELECT what, cuckoo_contains_all(cuckoo_add_all(f | g, ARRAY(SELECT generate_series(1001, 5000))), ARRAY(SELECT generate_series(1, 5000))) AS complete
FROM pairs WHERE what NOT IN ('fixed', 'grown by one') ORDER BY n;
-- Room that others left is used, and layers that are empty are not taken over:
-- here ten elements are in the first of many layers
SELECT (cuckoo_info(f | g)).layers - (cuckoo_info(f)).layers AS more_layers, cuckoo_contains_all(f | g, ARRAY(SELECT generate_series(1, 20))) AS complete
FROM (SELECT cuckoo_remove_all(f, ARRAY(SELECT generate_series(11, 3000))) AS f, cuckoo_remove_all(f, ARRAY(SELECT generate_series(1, 10)) || ARRAY(SELECT generate_series(21, 3000))) AS g
	  FROM (SELECT cuckoo_add_all(cuckoo_create(100), ARRAY(SELECT generate_series(1, 3000))) AS f OFFSET 0) AS t OFFSET 0) AS u;
-- even if an element of the ten, which then are in four times, has no place left
SELECT (cuckoo_info(u)).layers - (cuckoo_info(f)).layers <= 1 AS one_more_layer_at_most, cuckoo_contains_all(u, ARRAY(SELECT generate_series(1, 10))) AS complete
FROM (SELECT cuckoo_remove_all(cuckoo_add_all(cuckoo_create(100), ARRAY(SELECT generate_series(1, 3000))), ARRAY(SELECT generate_series(11, 3000))) AS f OFFSET 0) AS t,
	 LATERAL (SELECT f | f | f | f AS u OFFSET 0) AS v;

-- A fixed filter accepts a union if there is room for all, and otherwise stays
SELECT cuckoo_cardinality(f | g) AS elements, cuckoo_contains_all(f | g, ARRAY(SELECT generate_series(1, 1000))) AS complete FROM pairs WHERE what = 'fixed';
SELECT (f | g) | f FROM pairs WHERE what = 'fixed';
SELECT cuckoo_union_agg(f) FROM (SELECT cuckoo_add_all(cuckoo_create(100, growth => 0), ARRAY(SELECT generate_series(n, n + 90))) AS f
								 FROM generate_series(0, 1000, 100) AS n) AS u;
SELECT cuckoo_union(f, cuckoo_clear(f)) = f AS nothing_new, cuckoo_clear(f) | f = f AS nothing_old
FROM (SELECT cuckoo_add_all(cuckoo_create(100, growth => 0), ARRAY(SELECT generate_series(1, 100))) AS f) AS t;
-- Many small fixed ones, to the last place: all that goes in is found
SELECT bool_and(cuckoo_contains_all(u, ARRAY(SELECT generate_series(1, 100)))) AS complete, bool_and(cuckoo_cardinality(u) = 100) AS counted, count(*)
FROM generate_series(1, 200) AS s, LATERAL (SELECT cuckoo_union_agg(cuckoo_add_all(cuckoo_create(100, growth => 0, seed => s), ARRAY(SELECT generate_series(10 * part + 1, 10 * part + 10)))) AS u
											FROM generate_series(0, 9) AS part OFFSET 0) AS t;

-- Empty filters are neutral, and so are compatible filters without elements
SELECT what, e | f = f AS left, f | e = f AS right, cuckoo_clear(f) | f = f OR (cuckoo_info(f)).layers > 1 AS cleared_left, f | cuckoo_clear(f) = f AS cleared_right,
	   cuckoo_contains_all(cuckoo_clear(f) | f, ARRAY(SELECT generate_series(1, 600))) AS complete
FROM pairs, (SELECT cuckoo_agg(1) AS e WHERE false) AS n ORDER BY pairs.n;
SELECT e | e = e AS of_two, (SELECT cuckoo_union_agg(f) FROM pairs WHERE false) = e AS of_none, cuckoo_union_agg(NULL::cuckoo) = e AS of_null
FROM (SELECT cuckoo_agg(1) AS e WHERE false) AS n GROUP BY e;
-- NULL
SELECT f | NULL IS NULL AS a, NULL | f IS NULL AS b, cuckoo_union(f, NULL) IS NULL AS c, cuckoo_union(NULL, f) IS NULL AS d FROM pairs WHERE what = 'grown';
-- A filter that has no class yet takes that of the other
SELECT (cuckoo_info(cuckoo_create(10) | cuckoo_add(cuckoo_create(10), 'x'))).element_class AS left,
	   (cuckoo_info(cuckoo_add(cuckoo_create(10), 'x') | cuckoo_create(10))).element_class AS right,
	   (cuckoo_info(cuckoo_create(10) | cuckoo_create(10))).element_class IS NULL AS neither;
-- By group, as a window, and with FILTER
SELECT n % 2 AS odd, bool_and(cuckoo_contains(u, n)) AS complete, bool_or(cuckoo_contains(u, n + 1)) AS other, count(*) = max(cuckoo_cardinality(u)) AS counted, bool_and(cuckoo_contains(filtered, n) = (n > 5)) AS filtered
FROM generate_series(1, 10) AS n JOIN
	 (SELECT n % 2 AS odd, cuckoo_union_agg(f) AS u, cuckoo_union_agg(f) FILTER (WHERE n > 5) AS filtered
	  FROM (SELECT n, cuckoo_add(cuckoo_create(100, 1e-6), n) AS f FROM generate_series(1, 10) AS n) AS t GROUP BY n % 2) AS g ON odd = n % 2
GROUP BY 1 ORDER BY 1;
SELECT n, cuckoo_contains_each(f, ARRAY[1, 2, 3, 4, 5]) AS running, cuckoo_count(f, 1) AS ones
FROM (SELECT n, cuckoo_union_agg(cuckoo_add_all(cuckoo_create(100, 1e-6), ARRAY[1, n])) OVER (ORDER BY n) AS f FROM generate_series(1, 5) AS n) AS w;
-- large ones, in a window: each row's is its own
SELECT n, cuckoo_contains_each(f, ARRAY[1, 2, 3]) AS running FROM (SELECT n, cuckoo_union_agg(cuckoo_add(cuckoo_create(50000), n)) OVER (ORDER BY n) AS f FROM generate_series(1, 3) AS n) AS w;

--
-- Incompatible filters: the error names the first difference, and how to build
-- compatible ones
--
SELECT cuckoo_add(cuckoo_create(10), 1) | cuckoo_add(cuckoo_create(20), 1);
SELECT cuckoo_create(10, 0.01) | cuckoo_create(10, 0.02);
SELECT cuckoo_create(10, growth => 2) | cuckoo_create(10, growth => 3);
SELECT cuckoo_create(10, growth => 2) | cuckoo_create(10, growth => 0);
SELECT cuckoo_create(10, seed => 1) | cuckoo_create(10, seed => 2);
SELECT cuckoo_add(cuckoo_create(10), 1) | cuckoo_add(cuckoo_create(10), 'x');
SELECT cuckoo_union_agg(cuckoo_create(n)) FROM generate_series(1, 2) AS n;
-- and there is no union with the other type, nor an intersection
\set VERBOSITY sqlstate
SELECT cuckoo_create(10) | bloom_create(10);
\set VERBOSITY default
\set VERBOSITY sqlstate
SELECT cuckoo_create(10) & cuckoo_create(10);
\set VERBOSITY default

DROP TABLE pairs;
