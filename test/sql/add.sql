--
-- Adding elements, one at a time and in arrays.
--
\set ON_ERROR_STOP on
CREATE TEMP TABLE made (what text, f bloom);
INSERT INTO made VALUES
	('block512', bloom_create(2000)),
	('block512x2', bloom_create(2000, 1e-5)),
	('fixed', bloom_create(2000, 0.02, 0)),
	('keyed', bloom_create(2000, seed => 123)),
	('small', bloom_create(1000)),
	('small, fixed', bloom_create(1000, 1e-5, 0, 123)),
	('classic', bloom_create_bits(10000, 7)),
	('empty', (SELECT bloom_agg(1) WHERE false));
\set ON_ERROR_STOP off
SELECT what, i.layout AS before, j.layout AS after, j.element_class, j.elements, f @> 'a' AS was_there,
	   bloom_add(f, 'a') @> 'a' AS found, bloom_add(f, 'a') @> 'b' AS other
FROM made, LATERAL bloom_info(f) AS i, LATERAL bloom_info(bloom_add(f, 'a')) AS j;

-- The same element again changes nothing, and in one layer the order of
-- elements does not matter
SELECT what, bloom_add(bloom_add(f, 'a'), 'a') = bloom_add(f, 'a') AS again,
	   bloom_add(bloom_add(f, 'a'), 'b') = bloom_add(bloom_add(f, 'b'), 'a') AS order_is_nothing,
	   bloom_add_all(f, ARRAY['a', 'b']) = bloom_add(bloom_add(f, 'b'), 'a') AS all_at_once,
	   bloom_add_all(f, ARRAY['b', 'a', 'b', 'b']) = bloom_add_all(f, ARRAY['a', 'b']) AS repeated
FROM made;

-- All added elements are found, and few others: 1,000 elements in each
CREATE TEMP TABLE filled AS
SELECT what, bloom_add_all(f, elements) AS f
FROM made, (SELECT array_agg('element ' || i) AS elements FROM generate_series(1, 1000) AS i) AS e;
SELECT what, bool_and(f @> ('element ' || i)) AS all_found,
	   count(*) FILTER (WHERE f @> ('absent ' || i)) <= 30 AS few_others
FROM filled, generate_series(1, 1000) AS i GROUP BY what ORDER BY what;
SELECT what, abs(bloom_cardinality(f) - 1000) <= 30 AS counted FROM filled;

-- One at a time is the same as all at once
DO $$
DECLARE
	x	record;
	f	bloom;
BEGIN
	FOR x IN SELECT made.what, made.f AS made, filled.f AS filled FROM made JOIN filled USING (what)
	LOOP
		f := x.made;
		FOR i IN 1 .. 1000
		LOOP
			f := bloom_add(f, 'element ' || i);
		END LOOP;
		IF f <> x.filled THEN
			RAISE NOTICE '%: not the same', x.what;
		END IF;
	END LOOP;
END
$$;

-- An empty filter stores the elements' hashes, without false positives, until
-- there are many; then it becomes a sized one
SELECT n, layout, elements = n OR layout = CASE WHEN n > 1500 THEN 'block512' ELSE 'small' END AND abs(elements - n) < 50 AS counted,
	   estimated_error_rate <= 0.01 AS precise,
	   bloom_contains_all(f, ARRAY(SELECT generate_series(1, n))) AS complete
FROM (SELECT n, bloom_add_all((SELECT f FROM made WHERE what = 'empty'), ARRAY(SELECT generate_series(1, n))) AS f
	  FROM (VALUES (1), (1024), (1025), (5000)) AS t(n) OFFSET 0) AS u, LATERAL bloom_info(f);

-- The first element decides on the class
SELECT i.element_class AS none, j.element_class AS then_text
FROM (SELECT bloom_create(10) AS f) AS t, LATERAL bloom_info(f) AS i,
	 LATERAL bloom_info(bloom_add(f, 'x'::varchar)) AS j;

-- Without a filter, NULL; NULL elements are skipped
SELECT bloom_add(NULL, 1) IS NULL AS a, bloom_add(bloom_create(10), NULL::int) = bloom_create(10) AS b,
	   bloom_add_all(NULL, ARRAY[1]) IS NULL AS c, bloom_add_all(bloom_create(10), NULL::int[]) = bloom_create(10) AS d;
SELECT bloom_add_all(bloom_create(10), ARRAY[NULL, 1, NULL]) = bloom_add(bloom_create(10), 1) AS nulls_passed_over,
	   bloom_add_all(bloom_create(10), ARRAY[NULL, NULL]::int[]) = bloom_create(10) AS only_nulls,
	   bloom_add_all(bloom_create(10), '{}'::int[]) = bloom_create(10) AS no_elements;

-- Arrays of several dimensions, and with other bounds: their elements
SELECT bloom_add_all(f, ARRAY[[1, 2], [3, 4]]) = bloom_add_all(f, ARRAY[1, 2, 3, 4]) AS matrix,
	   bloom_add_all(f, '[-1:0][5:6]={{1,2},{3,4}}'::int[]) = bloom_add_all(f, ARRAY[1, 2, 3, 4]) AS bounds
FROM made WHERE what = 'block512';
-- An array is an element itself, too
SELECT bloom_contains(g, ARRAY[1, 2]) AS whole, bloom_contains(g, ARRAY[2, 1]) AS other,
	   element_class
FROM (SELECT bloom_add(f, ARRAY[1, 2]) AS g FROM made WHERE what = 'block512' OFFSET 0) AS t, LATERAL bloom_info(g);

-- Bare literals and untyped parameters are text; an array literal is text[]
PREPARE add_untyped AS
SELECT (bloom_info(bloom_add(f, $1))).element_class AS parameter, bloom_add(f, $1) @> 'x'::text AS found
FROM made WHERE what = 'block512';
EXECUTE add_untyped('x');
PREPARE add_untyped_array AS
SELECT (bloom_info(bloom_add_all(f, $1))).element_class AS parameter, bloom_add_all(f, $1) @> 'x'::text AS found
FROM made WHERE what = 'block512';
EXECUTE add_untyped_array('{x,y}');
SELECT (bloom_info(bloom_add(f, 'x'))).element_class AS literal,
	   (bloom_info(bloom_add_all(f, '{x,y}'))).element_class AS array_literal,
	   (bloom_info(bloom_add(f, 1))).element_class AS integer_literal,
	   (bloom_info(bloom_add(f, 1.5))).element_class AS numeric_literal
FROM made WHERE what = 'block512';
DEALLOCATE ALL;

-- Other types of arrays
SELECT bloom_add_all(f, '1 2 3'::int2vector) @> 2 AS int2vector,
	   bloom_add_all(f, '{x,y}'::varchar[]) @> 'y' AS varchars,
	   bloom_add_all(f, ARRAY[ROW(1, 'a'::text), ROW(2, 'b'::text)]) @> ROW(2, 'b'::text) AS records
FROM made WHERE what = 'block512';

DROP TABLE made, filled;
