--
-- Unions and intersections: of compatible filters, with explicit and empty ones,
-- and of incompatible ones.
--
\set ON_ERROR_STOP on
CREATE TEMP TABLE pairs (what text PRIMARY KEY, f bloom, g bloom);
INSERT INTO pairs
SELECT what, bloom_add_all(f, ARRAY(SELECT generate_series(1, 600))),
	   bloom_add_all(f, ARRAY(SELECT generate_series(401, 1000)))
FROM (VALUES ('block512', bloom_create(2000)),
			 ('block512x2', bloom_create(2000, 1e-6)),
			 ('fixed', bloom_create(2000, 0.01, 0)),
			 ('keyed', bloom_create(2000, 0.01, 2, 77)),
			 ('classic', bloom_create_bits(10000, 7)),
			 ('explicit', (SELECT bloom_agg(1) WHERE false)),
			 ('small', bloom_create(1000)),
			 ('small, low rate', bloom_create(1000, 1e-6)),
			 ('small, fixed', bloom_create(1000, 0.01, 0)),
			 ('small, keyed', bloom_create(1000, 0.01, 2, 77)),
			 ('grown', bloom_create(100)),
			 ('past capacity', bloom_create(700))) AS t(what, f);
-- grown in several steps, from a small layer and from one of blocks
UPDATE pairs SET f = bloom_add_all(bloom_add_all(bloom_create(100), ARRAY(SELECT generate_series(1, 250))), ARRAY(SELECT generate_series(251, 600))),
				 g = bloom_add_all(bloom_add_all(bloom_create(100), ARRAY(SELECT generate_series(401, 650))), ARRAY(SELECT generate_series(651, 1000)))
WHERE what = 'grown';
INSERT INTO pairs
SELECT 'grown, large', bloom_add_all(bloom_add_all(bloom_create(2000), ARRAY(SELECT generate_series(1, 5000))), ARRAY(SELECT generate_series(5001, 9000))),
	   bloom_add_all(bloom_add_all(bloom_create(2000), ARRAY(SELECT generate_series(401, 5400))), ARRAY(SELECT generate_series(5401, 9400)));
\set ON_ERROR_STOP off

-- A union has the elements of either.  (Elements that are in several layers are counted
-- several times.)
SELECT what, i.layout, j.layers, bloom_contains_all(f | g, ARRAY(SELECT generate_series(1, 1000))) AS complete,
	   (SELECT count(*) FROM generate_series(1, 1000) AS x WHERE bloom_contains(f | g, -x)) <= 20 AS little_else,
	   CASE WHEN j.layers < 2 THEN j.elements BETWEEN 970 AND 1030 END AS counted
FROM pairs, LATERAL bloom_info(f) AS i, LATERAL bloom_info(f | g) AS j ORDER BY what COLLATE "C";
-- and is the same, byte for byte, both ways, by function, operator and aggregate
SELECT what, f | g = g | f AS commutes, f | f = f AS idempotent, f | g = bloom_union(f, g) AS operator,
	   (SELECT bloom_union_agg(x) FROM (VALUES (f), (g)) AS v(x)) = f | g AS aggregate,
	   (f | g) | f = f | g AS absorbs
FROM pairs WHERE what <> 'past capacity' ORDER BY what COLLATE "C";
SELECT what, f | g = g | f AS commutes, f | f = f AS idempotent,
	   (SELECT bloom_union_agg(x) FROM (VALUES (f), (g)) AS v(x)) = f | g AS aggregate
FROM pairs WHERE what = 'past capacity';
-- Within the capacity it is the filter of all the elements
SELECT what, f | g = bloom_add_all(f, ARRAY(SELECT generate_series(401, 1000))) AS as_if_added
FROM pairs WHERE what NOT IN ('grown', 'grown, large', 'past capacity') ORDER BY what COLLATE "C";
-- Past it, the layers stay side by side, as bloom_error_rate shows
SELECT i.layers AS before, j.layers AS after, j.estimated_error_rate <= 0.02 AS estimated,
	   j.estimated_error_rate > i.estimated_error_rate AS higher,
	   (SELECT count(*) FROM generate_series(1, 20000) AS x WHERE bloom_contains(h, -x)) / 20000.0
	   / j.estimated_error_rate BETWEEN 0.7 AND 1.3 AS measured
FROM (SELECT f, f | g AS h FROM pairs WHERE what = 'past capacity' OFFSET 0) AS t,
	 LATERAL bloom_info(f) AS i, LATERAL bloom_info(h) AS j;
-- after which more can be added
SELECT bloom_contains_all(h, ARRAY(SELECT generate_series(1, 5000))) AS complete, bloom_error_rate(h) <= 0.02 AS precise
FROM (SELECT bloom_add_all(f | g, ARRAY(SELECT generate_series(1001, 5000))) AS h FROM pairs WHERE what = 'past capacity' OFFSET 0) AS t;
-- A fixed filter is then full, which is an error
\set VERBOSITY terse
SELECT f | g FROM (SELECT bloom_add_all(f, ARRAY(SELECT generate_series(1, 90))) AS f,
						  bloom_add_all(f, ARRAY(SELECT generate_series(101, 190))) AS g
				   FROM (SELECT bloom_create(100, growth => 0) AS f) AS t) AS u;
SELECT f | g FROM (SELECT bloom_add_all(f, ARRAY(SELECT generate_series(1, 1900))) AS f,
						  bloom_add_all(f, ARRAY(SELECT generate_series(2001, 3900))) AS g
				   FROM (SELECT bloom_create(2000, growth => 0) AS f) AS t) AS u;
SELECT bloom_union_agg(f) FROM (SELECT bloom_add_all(bloom_create(100, growth => 0), ARRAY(SELECT generate_series(n, n + 90))) AS f
								FROM generate_series(0, 1000, 100) AS n) AS u;
SELECT bloom_union_agg(f) FROM (SELECT bloom_add_all(bloom_create(2000, growth => 0), ARRAY(SELECT generate_series(n, n + 1800))) AS f
								FROM generate_series(0, 20000, 2000) AS n) AS u;
\set VERBOSITY default
-- but not with itself, or with what it has anyway
SELECT f | f = f AS itself, f | bloom_create(100, growth => 0) = f AS nothing_new,
	   f | bloom_add(bloom_create(100, growth => 0), 1) = f AS a_part
FROM (SELECT bloom_add_all(bloom_create(100, growth => 0), ARRAY(SELECT generate_series(1, 100))) AS f) AS t;
SELECT f | f = f AS itself, f | bloom_create(2000, growth => 0) = f AS nothing_new,
	   f | bloom_add(bloom_create(2000, growth => 0), 1) = f AS a_part
FROM (SELECT bloom_add_all(bloom_create(2000, growth => 0), ARRAY(SELECT generate_series(1, 2000))) AS f) AS t;
-- Classic filters have no capacity, so are never full
SELECT bloom_error_rate(f | g) > bloom_error_rate(f) AS higher
FROM (SELECT bloom_add_all(bloom_create_bits(1000, 5), ARRAY(SELECT generate_series(1, 500))) AS f,
			 bloom_add_all(bloom_create_bits(1000, 5), ARRAY(SELECT generate_series(501, 1000))) AS g) AS t;

-- Empty filters are neutral
SELECT what, e | f = f AS left, f | e = f AS right
FROM pairs, (SELECT bloom_agg(1) AS e WHERE false) AS n ORDER BY what COLLATE "C";
-- and so are compatible filters without elements
SELECT what, bloom_clear(f) | f = f AS left, f | bloom_clear(f) = f AS right
FROM pairs ORDER BY what COLLATE "C";
-- Explicit filters unite with any of their seed and class
SELECT what, f | e = e | f AS commutes, bloom_contains_all(f | e, ARRAY[1, 600, 5001, 5003]) AS complete,
	   f | e = bloom_add_all(f, ARRAY[5001, 5002, 5003]) AS as_if_added
FROM pairs, (SELECT bloom_add_all(f | f, ARRAY[5001, 5002, 5003]) AS e FROM (SELECT bloom_agg(1) AS f WHERE false) AS x) AS y
WHERE what NOT LIKE '%keyed' ORDER BY what COLLATE "C";
-- also if that makes them grow
SELECT bloom_contains_all(f | e, ARRAY(SELECT generate_series(1, 3900))) AS complete, i.layers, f | e = e | f AS commutes
FROM (SELECT f, e FROM (SELECT bloom_add_all(bloom_create(100), ARRAY(SELECT generate_series(3001, 3900))) AS f) AS s,
	 (SELECT bloom_union_agg(bloom_add_all(x, ARRAY(SELECT generate_series(n, n + 999)))) AS e
	  FROM (SELECT bloom_agg(1) AS x WHERE false) AS y, generate_series(1, 2001, 1000) AS n) AS t OFFSET 0) AS u, LATERAL bloom_info(f | e) AS i;

-- Compact filters stay compact while their elements have room, and then have layers
-- side by side; also those that were made for the elements that they have
SELECT n, i.layout, i.layers, octet_length((f | g)::bytea) - 8 = i.bytes AS whole, f | g = g | f AS commutes, (f | g)::bytea::bloom = (f | g) AS sound,
	   bloom_contains_all(f | g, ARRAY(SELECT generate_series(1, n)) || ARRAY(SELECT generate_series(1001, 1000 + n))) AS complete,
	   (SELECT bloom_union_agg(x) FROM (VALUES (f), (g)) AS v(x)) = f | g AS aggregate, bloom_clear(f | g) = bloom_clear(f) AS cleared
FROM (SELECT n, bloom_add_all(bloom_create(100), ARRAY(SELECT generate_series(1, n))) AS f, bloom_add_all(bloom_create(100), ARRAY(SELECT generate_series(1001, 1000 + n))) AS g
	  FROM (VALUES (1), (50), (51), (100)) AS v(n)) AS t, LATERAL bloom_info(f | g) AS i;
SELECT i.layout, i.layers, f | g = g | f AS commutes, (f | g)::bytea::bloom = (f | g) AS sound, bloom_contains_all(f | g, ARRAY(SELECT generate_series(1, 200))) AS complete,
	   f | f = f AS itself, (f | g) | g = f | g AS absorbed, bloom_contains_all((f | g) | h, ARRAY(SELECT generate_series(1, 300))) AS of_three, (f | g) | h = f | (g | h) AS associates, i.elements BETWEEN 190 AND 210 AS counted
FROM (SELECT bloom_agg(i) FILTER (WHERE i <= 100) AS f, bloom_agg(i) FILTER (WHERE i BETWEEN 101 AND 200) AS g, bloom_agg(i) FILTER (WHERE i > 200) AS h FROM generate_series(1, 300) AS i) AS t, LATERAL bloom_info(f | g) AS i;

-- An intersection has the elements of both, and perhaps a few others
SELECT what, i.layout, bloom_contains_all(f & g, ARRAY(SELECT generate_series(401, 600))) AS complete,
	   (SELECT count(*) FROM generate_series(1, 400) AS x WHERE bloom_contains(f & g, x)) <= 8
	   AND (SELECT count(*) FROM generate_series(601, 1000) AS x WHERE bloom_contains(f & g, x)) <= 8 AS few_of_one_side,
	   f & g = g & f AS commutes, f & f = f AS idempotent,
	   (SELECT bloom_intersection_agg(x) FROM (VALUES (f), (g)) AS v(x)) = f & g AS aggregate
FROM pairs, LATERAL bloom_info(f & g) AS i WHERE what NOT IN ('grown', 'grown, large', 'past capacity') ORDER BY what COLLATE "C";
-- with an explicit filter: those of its elements that the other has
SELECT what, i.layout, i.elements, f & e = e & f AS commutes
FROM pairs, (SELECT bloom_add_all(x, ARRAY[1, 600, 5001]) AS e FROM (SELECT bloom_agg(1) AS x WHERE false) AS y) AS z,
	 LATERAL bloom_info(f & e) AS i
WHERE what NOT LIKE '%keyed' ORDER BY what COLLATE "C";
-- with an empty filter: nothing
SELECT what, (f & e) @> 1 AS contains, bloom_cardinality(f & e) AS elements, f & e = e & f AS commutes
FROM pairs, (SELECT bloom_agg(1) AS e WHERE false) AS n ORDER BY what COLLATE "C";
SELECT what, bloom_cardinality(f & bloom_clear(f)) AS elements, f & bloom_clear(f) = bloom_clear(f) & f AS commutes
FROM pairs WHERE what NOT IN ('grown', 'grown, large', 'past capacity') ORDER BY what COLLATE "C";
-- of grown ones it would lose elements
SELECT f & g FROM pairs WHERE what = 'grown';
SELECT f & bloom_clear(f) FROM pairs WHERE what = 'grown';
SELECT bloom_intersection_agg(f) FROM (SELECT unnest(ARRAY[f, g]) AS f FROM pairs WHERE what = 'grown') AS t;

-- NULL
SELECT f | NULL IS NULL AS a, NULL | f IS NULL AS b, f & NULL IS NULL AS c, NULL & f IS NULL AS d
FROM pairs WHERE what = 'block512';
-- Aggregates skip NULLs; a union of nothing is the empty filter, while an
-- intersection of nothing would be everything: NULL
SELECT bloom_union_agg(x) = f AS union_agg, bloom_intersection_agg(x) = f AS intersection_agg
FROM pairs, LATERAL (VALUES (NULL), (f), (NULL)) AS v(x) WHERE what = 'block512' GROUP BY f;
SELECT bloom_union_agg(NULL) = (SELECT bloom_agg(1) WHERE false) AS empty, bloom_intersection_agg(NULL) IS NULL AS null;
-- By group, as a window, and with FILTER
SELECT n % 2 AS odd, bloom_union_agg(f) = bloom_add_all(bloom_create(100), array_agg(n)) AS right,
	   bloom_union_agg(f) FILTER (WHERE n > 5) = bloom_add_all(bloom_create(100), array_agg(n) FILTER (WHERE n > 5)) AS filtered
FROM (SELECT n, bloom_add(bloom_create(100), n) AS f FROM generate_series(1, 10) AS n) AS t GROUP BY n % 2 ORDER BY 1;
SELECT n, bloom_contains_each(f, ARRAY[1, 2, 3, 4]) AS intersection_of_rows
FROM (SELECT n, bloom_intersection_agg(bloom_add_all(bloom_create(100), ARRAY(SELECT generate_series(n, 4)))) OVER (ORDER BY n) AS f
	  FROM generate_series(1, 4) AS n) AS t;

-- A filter that has no class yet takes that of the other
SELECT (bloom_info(bloom_create(10) | bloom_add(bloom_create(10), 'x'))).element_class AS left,
	   (bloom_info(bloom_add(bloom_create(10), 'x') | bloom_create(10))).element_class AS right,
	   (bloom_info(bloom_create(10) | bloom_create(10))).element_class IS NULL AS neither;

--
-- Incompatible filters: the error names the first difference, and how to build
-- compatible ones
--
SELECT bloom_add(bloom_create(10), 1) | bloom_add(bloom_create(20), 1);
SELECT bloom_create(10, 0.01) | bloom_create(10, 0.02);
SELECT bloom_create(10, 0.01) | bloom_create(10, 1e-5);
SELECT bloom_create(10, growth => 2) | bloom_create(10, growth => 3);
SELECT bloom_create(10, growth => 2) | bloom_create(10, growth => 0);
SELECT bloom_create(10, seed => 1) | bloom_create(10, seed => 2);
SELECT bloom_create(10) | bloom_create_bits(1000, 7);
SELECT bloom_create_bits(1000, 7) | bloom_create_bits(1000, 6);
SELECT bloom_create_bits(1000, 7) | bloom_create_bits(1001, 7);
SELECT bloom_add(bloom_create(10), 1) | bloom_add(bloom_create(10), 'x');
SELECT bloom_add(f, 1) | bloom_add(f, 'x') FROM (SELECT bloom_agg(1) AS f WHERE false) AS t;
SELECT bloom_add(f, 1) | bloom_create(10, seed => 1) FROM (SELECT bloom_agg(1) AS f WHERE false) AS t;
SELECT bloom_add(f, 1) | bloom_add(bloom_create(10), 'x') FROM (SELECT bloom_agg(1) AS f WHERE false) AS t;
-- likewise of intersections and aggregates
SELECT bloom_create(10) & bloom_create(20);
SELECT bloom_create(10) & bloom_create(10, seed => 1);
SELECT bloom_add(bloom_create(10), 1) & bloom_add(bloom_create(10), 'x');
SELECT bloom_union_agg(bloom_create(n)) FROM generate_series(1, 2) AS n;
SELECT bloom_intersection_agg(bloom_create(n)) FROM generate_series(1, 2) AS n;

DROP TABLE pairs;
