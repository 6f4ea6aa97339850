--
-- bloom_agg: a filter of the rows, sized to their number.
--
CREATE TEMP TABLE t AS
SELECT i, 'word ' || i AS word, i % 7 AS g FROM generate_series(1, 7000) AS i;

-- Sized to the number of distinct elements
SELECT layout, element_class, capacity, error_rate, growth, seed, layers,
	   elements BETWEEN 6900 AND 7100 AS counted, estimated_error_rate <= 0.01 AS precise
FROM bloom_info((SELECT bloom_agg(word) FROM t));

-- All forms: capacity as integer or bigint, error rate, both, and a seed
CREATE TEMP TABLE forms AS
SELECT bloom_agg(i) AS x, bloom_agg(i, 1000, NULL) AS x_int, bloom_agg(i, 1000::bigint, NULL) AS x_bigint,
	   bloom_agg(i, NULL, 0.001) AS x_rate, bloom_agg(i, 1000, 0.001) AS x_capacity_rate,
	   bloom_agg(bloom_element(i, 99), 1000, 0.001) AS x_capacity_rate_seed, bloom_agg(i, 20000, NULL) AS x_large
FROM t;
SELECT form, capacity, error_rate, growth, seed, layers, elements BETWEEN 6850 AND 7150 AS counted,
	   estimated_error_rate <= error_rate AS precise,
	   (SELECT bool_and(bloom_contains(f, i)) FROM t) AS complete,
	   (SELECT count(*) FROM t WHERE bloom_contains(f, -i)) <= 100 AS few_others
FROM forms, LATERAL (VALUES (1, 'x', x), (2, 'x, int', x_int), (3, 'x, bigint', x_bigint), (4, 'x, rate', x_rate),
							(5, 'x, capacity, rate', x_capacity_rate), (6, 'x, capacity, rate, seed', x_capacity_rate_seed),
							(7, 'x, int', x_large)) AS v(n, form, f),
	 LATERAL bloom_info(f)
ORDER BY n;
SELECT x_int = x_bigint AS int_is_bigint FROM forms;
DROP TABLE forms;
-- With a capacity, an aggregate makes the same filter as bloom_create with the
-- same arguments and bloom_add_all
SELECT bloom_agg(bloom_element(i, 5), 10000, 0.02) = bloom_add_all(bloom_create(10000, 0.02, 2, 5), array_agg(i)) AS same
FROM t;
-- Without, it is as one with the number of elements, but for the room that one that
-- still waits for its elements has for chance
SELECT what, e.capacity = g.capacity AS same_capacity, e.layout = g.layout AS same_layout, e.bits <= g.bits AS as_large_at_most,
	   e.bits > 0.9 * g.bits AS hardly_smaller, g.estimated_error_rate <= g.error_rate AS precise
FROM (SELECT 'few' AS what, bloom_agg(i) AS exact, bloom_agg(i, 1000, NULL) AS given FROM t WHERE i <= 1000
	  UNION ALL SELECT 'many', bloom_agg(i), bloom_agg(i, 7000, NULL) FROM t
	  UNION ALL SELECT 'many at 2 %', bloom_agg(i, NULL, 0.02), bloom_add_all(bloom_create(7000, 0.02), array_agg(i)) FROM t) AS u,
	 LATERAL bloom_info(exact) AS e, LATERAL bloom_info(given) AS g;

-- In all, few elements take few bytes
SELECT n, pg_column_size(bloom_agg(i)) <= most AS small, pg_column_size(bloom_agg(i)) > 0.9 * most AS no_less_than_promised, bloom_contains_all(bloom_agg(i), array_agg(i)) AS complete
FROM (VALUES (10, 56), (100, 172), (1000, 1260)) AS v(n, most), LATERAL generate_series(1, n) AS i GROUP BY n, most ORDER BY n;
-- and their filters have the error rate that was asked for: on the average of many
SELECT n, avg(bloom_error_rate(f)) BETWEEN 0.0084 AND 0.01 AS precise, avg(found) / 1000 BETWEEN 0.008 AND 0.0105 AS measured
FROM (SELECT n, f, (SELECT count(*) FROM generate_series(1, 1000) AS x WHERE bloom_contains(f, -x)) AS found
	  FROM (SELECT n, bloom_agg(1000 * filter + i) AS f FROM (VALUES (10), (100), (1000)) AS v(n), generate_series(1, 200) AS filter, LATERAL generate_series(1, n) AS i GROUP BY n, filter) AS u OFFSET 0) AS w
GROUP BY n ORDER BY n;

-- Order and repetition of the elements do not matter
SELECT count(DISTINCT f::text) AS distinct_filters
FROM (SELECT bloom_agg(i ORDER BY i) FROM t
	  UNION ALL SELECT bloom_agg(i ORDER BY -i) FROM t
	  UNION ALL SELECT bloom_agg(i ORDER BY md5(i::text)) FROM t
	  UNION ALL SELECT bloom_agg(DISTINCT i) FROM t
	  UNION ALL SELECT bloom_agg(i) FROM (SELECT i FROM t UNION ALL SELECT i FROM t UNION ALL SELECT 7001 - i FROM t) AS u
	  UNION ALL SELECT bloom_agg(i % 7000 + 1) FROM generate_series(1, 100000) AS i
	  UNION ALL SELECT bloom_agg(i::bigint) FROM t
	  UNION ALL SELECT bloom_agg(i::smallint) FROM t) AS u(f);
SELECT count(DISTINCT f::text) AS distinct_filters
FROM (SELECT bloom_agg(i, 100, NULL ORDER BY i) FROM t
	  UNION ALL SELECT bloom_agg(i, 100, NULL ORDER BY -i) FROM t
	  UNION ALL SELECT bloom_agg(i, 100, NULL ORDER BY md5(i::text)) FROM t
	  UNION ALL SELECT bloom_agg(DISTINCT i, 100, NULL) FROM t) AS u(f);

-- NULLs are skipped; over no rows there is an empty filter, which contains
-- nothing, and whose union with another is the other one
SELECT bloom_agg(CASE WHEN i > 6000 THEN i END) = bloom_agg(i) FILTER (WHERE i > 6000) AS without_nulls FROM t;
SELECT layout, element_class, capacity, error_rate, elements, estimated_error_rate
FROM bloom_info((SELECT bloom_agg(i) FROM t WHERE false));
SELECT bool_and(bloom_agg = (SELECT bloom_agg(i) FROM t WHERE false)) AS all_empty, count(*)
FROM (SELECT bloom_agg(i, 10, NULL) FROM t WHERE false
	  UNION ALL SELECT bloom_agg(NULL::text) FROM t
	  UNION ALL SELECT bloom_agg(NULL::int, 10, NULL) FROM t
	  UNION ALL SELECT bloom_agg(NULL::int, NULL, 0.5) FROM t
	  UNION ALL SELECT bloom_agg(i, 10, 0.5) FILTER (WHERE i < 0) FROM t
	  UNION ALL SELECT bloom_agg(bloom_element(i, 1), 10, 0.5) FILTER (WHERE i < 0) FROM t) AS u;
SELECT empty @> 1 AS contains, empty @> 'x' AS contains_text,
	   empty | f = f AS left_neutral, f | empty = f AS right_neutral, empty | empty = empty AS of_two,
	   empty & f = empty AS left_zero, f & empty = empty AS right_zero
FROM (SELECT bloom_agg(i) FILTER (WHERE false) AS empty, bloom_agg(i) AS f FROM t) AS u;

-- GROUP BY, HAVING, FILTER
SELECT g, capacity, (SELECT bool_and(f @> i) FROM t WHERE t.g = u.g) AS complete
FROM (SELECT g, bloom_agg(i) AS f FROM t GROUP BY g) AS u, LATERAL bloom_info(f) ORDER BY g;
SELECT g FROM t GROUP BY g HAVING bloom_agg(i) @> 10;
SELECT (bloom_info(bloom_agg(i) FILTER (WHERE g = 0))).capacity AS one_group,
	   (bloom_info(bloom_agg(i))).capacity AS all_groups FROM t;
-- GROUPING SETS: sorted and hashed, from one reading of the table
SELECT g, half, (bloom_info(f)).capacity, f = expected AS right
FROM (SELECT g, i % 2 AS half, bloom_agg(i) AS f FROM t WHERE g < 2 GROUP BY GROUPING SETS ((g, i % 2), (g), ())) AS u,
	 LATERAL (SELECT bloom_agg(i) AS expected FROM t
			  WHERE t.g < 2 AND (u.g IS NULL OR t.g = u.g) AND (u.half IS NULL OR t.i % 2 = u.half)) AS e
ORDER BY g, half;
SELECT bool_and(f = expected) AS right, count(*)
FROM (SELECT g, i % 3 AS third, bloom_agg(word) AS f FROM t GROUP BY CUBE (g, i % 3)) AS u,
	 LATERAL (SELECT bloom_agg(word) AS expected FROM t
			  WHERE (u.g IS NULL OR t.g = u.g) AND (u.third IS NULL OR t.i % 3 = u.third)) AS e;

-- Window: a running frame (whose state lives on after each result), the whole
-- partition, and a moving frame
SELECT i, running = (SELECT bloom_agg(x) FROM generate_series(1, i) AS x) AS running,
	   whole = (SELECT bloom_agg(x) FROM generate_series(1, 12) AS x) AS whole,
	   moving = (SELECT bloom_agg(x) FROM generate_series(greatest(i - 2, 1), i) AS x) AS moving,
	   following = (SELECT bloom_agg(x) FROM generate_series(i + 1, 12) AS x) AS following
FROM (SELECT i, bloom_agg(i) OVER (ORDER BY i) AS running, bloom_agg(i) OVER () AS whole,
			 bloom_agg(i) OVER (ORDER BY i ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS moving,
			 bloom_agg(i) OVER (ORDER BY i ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS following
	  FROM t WHERE i <= 12) AS w
ORDER BY i;
-- also where the state is large
SELECT bool_and(f = (SELECT bloom_agg(x) FROM generate_series(1, i) AS x)) AS running, count(*)
FROM (SELECT i, bloom_agg(i) OVER (ORDER BY i) AS f FROM t WHERE i <= 2000 OFFSET 0) AS w
WHERE i % 100 = 0;
SELECT bool_and(w.f = u.f) AS per_partition, count(*)
FROM (SELECT g, bloom_agg(i) OVER (PARTITION BY g) AS f FROM t) AS w
	JOIN (SELECT g, bloom_agg(i) AS f FROM t GROUP BY g) AS u USING (g);
-- bloom_union_agg in a window
SELECT i, f = (SELECT bloom_agg(x, 100, NULL) FROM generate_series(1, i) AS x) AS running
FROM (SELECT i, bloom_union_agg(bloom_add(bloom_create(100), i)) OVER (ORDER BY i) AS f FROM t WHERE i <= 5) AS w;

-- The same aggregate twice in a query shares its state
SELECT bloom_agg(i) = bloom_agg(i) AS same, bloom_cardinality(bloom_agg(i)) > 6900 AS again FROM t;

-- Many groups with little memory: hashed groups that go to disk
SET work_mem = '64kB';
SET enable_sort = off;
SELECT count(*) AS groups, bool_and(bloom_contains(f, g)) AS contains_itself,
	   bool_and(bloom_contains_all(f, ARRAY[g + 3000, g + 6000])) AS contains_others,
	   sum((bloom_info(f)).capacity) AS elements
FROM (SELECT i % 3000 AS g, bloom_agg(i) AS f FROM generate_series(0, 8999) AS i GROUP BY 1 OFFSET 0) AS u;
RESET enable_sort;
SET enable_hashagg = off;
SELECT count(*) AS groups, bool_and(bloom_contains_all(f, ARRAY[g, g + 3000, g + 6000])) AS complete
FROM (SELECT i % 3000 AS g, bloom_agg(i) AS f FROM generate_series(0, 8999) AS i GROUP BY 1 OFFSET 0) AS u;
RESET enable_hashagg;
RESET work_mem;

-- Elements of any type, and rows
SELECT (bloom_info(bloom_agg(row(i, word)))).element_class AS rows, bloom_agg(row(i, word)) @> row(7, 'word 7') AS found,
	   (bloom_info(bloom_agg(t))).element_class AS whole_rows, (bloom_info(bloom_agg(i / 2.0))).element_class AS numbers
FROM t;

-- Aggregates of one's own, on bloom_add and bloom_union
CREATE FUNCTION add_to_mine(f bloom, x anyelement) RETURNS bloom LANGUAGE sql IMMUTABLE AS
$$ SELECT bloom_add(coalesce(f, bloom_create(10000)), x) $$;
CREATE AGGREGATE mine(anyelement) (SFUNC = add_to_mine, STYPE = bloom);
CREATE AGGREGATE my_union(bloom) (SFUNC = bloom_union, STYPE = bloom);
SELECT mine(i) = bloom_agg(i, 10000, NULL) AS as_bloom_agg FROM t WHERE i <= 2000;
SELECT bool_and(f = (SELECT bloom_agg(x, 10000, NULL) FROM generate_series(1, i) AS x)) AS running
FROM (SELECT i, mine(i) OVER (ORDER BY i) AS f FROM t WHERE i <= 20) AS w;
SELECT my_union(f) = bloom_union_agg(f) AS as_union_agg
FROM (SELECT bloom_agg(i, 10000, NULL) AS f FROM t GROUP BY g) AS u;
DROP AGGREGATE mine(anyelement);
DROP AGGREGATE my_union(bloom);
DROP FUNCTION add_to_mine;

-- and on the functions behind bloom_agg: without a final function, whose states are
-- then values; and with a state that moves, and that someone else's function has
-- taken from a table, where it has another form
CREATE TABLE stored (f bloom, n int);
CREATE FUNCTION from_table(bloom, int) RETURNS bloom LANGUAGE sql AS 'SELECT f FROM stored WHERE n = $2';
CREATE FUNCTION from_table(bloom, bloom) RETURNS bloom LANGUAGE sql AS 'SELECT f FROM stored WHERE f = $2';
CREATE FUNCTION from_table_strictly(bloom, bloom) RETURNS bloom LANGUAGE sql STRICT AS 'SELECT f FROM stored WHERE f = $2';
CREATE AGGREGATE state(int) (SFUNC = _bloom_agg_trans, STYPE = bloom);
CREATE AGGREGATE moved(int) (SFUNC = _bloom_agg_trans, STYPE = bloom, MSFUNC = from_table, MINVFUNC = _bloom_agg_trans, MSTYPE = bloom);
CREATE AGGREGATE moved_union(bloom) (SFUNC = bloom_union, STYPE = bloom, MSFUNC = from_table_strictly, MINVFUNC = bloom_union, MSTYPE = bloom);
CREATE AGGREGATE moved_states(bloom) (SFUNC = _bloom_agg_combine, STYPE = bloom, MSFUNC = from_table, MINVFUNC = _bloom_agg_combine, MSTYPE = bloom);
SELECT (bloom_info(state(i))).elements, state(i)::bytea::bloom = state(i) AS valid, bloom_contains_all(state(i), array_agg(i)) AS complete FROM t;
INSERT INTO stored SELECT state(i), 1 FROM t;
INSERT INTO stored SELECT state(i), 2 FROM t WHERE i <= 2;
SELECT n, pg_column_size(f) > 2000 AS large, bloom_contains_all(f, ARRAY[1, 2]) AS found FROM stored ORDER BY n;
SELECT x, bloom_contains(f, 1) AS found
FROM (SELECT x, moved(1 + x % 2) OVER (ORDER BY x ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS f FROM generate_series(1, 6) AS x) AS w;
SELECT x, bloom_contains(u, 1) AS found
FROM (SELECT x, moved_union(f) OVER (ORDER BY x ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS u FROM stored, generate_series(1, 4) AS x WHERE n = 1) AS w;
SELECT x, bloom_contains(u, 1) AS found
FROM (SELECT x, moved_states(f) OVER (ORDER BY x ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS u FROM stored, generate_series(1, 4) AS x WHERE n = 1) AS w;
DROP AGGREGATE state(int), moved(int), moved_union(bloom), moved_states(bloom);
DROP FUNCTION from_table(bloom, int), from_table(bloom, bloom), from_table_strictly(bloom, bloom);
DROP TABLE stored;

--
-- Errors.  The arguments must be the same for all rows of a group.
--
SELECT bloom_agg(i, i, NULL) FROM t;
SELECT bloom_agg(i, NULL, i / 10000.0::float8) FROM t;
SELECT bloom_agg(bloom_element(i, i), 100, 0.01) FROM t;
-- but each group may have its own
SELECT g, (bloom_info(bloom_agg(i, g + 1, NULL))).capacity FROM t WHERE g < 3 GROUP BY g ORDER BY g;
-- one that is NULL has its default, for all rows alike; but there is no default of a seed
SELECT bloom_agg(i, NULL, NULL) = bloom_agg(i) AS neither, bloom_agg(i, NULL, 0.01) = bloom_agg(i) AS error_rate,
	   bloom_agg(i, 10, NULL) = bloom_agg(i, 10, 0.01) AS capacity FROM t;
SELECT bloom_agg(bloom_element(i, NULL), 10, 0.01) FROM t;
SELECT bloom_agg(i, CASE WHEN i < 100 THEN 10 END, NULL) FROM t;
SELECT bloom_agg(i, 0, NULL) FROM t;
SELECT bloom_agg(i, -1::bigint, NULL) FROM t;
SELECT bloom_agg(i, NULL, 0.0) FROM t;
SELECT bloom_agg(i, NULL, 0.9) FROM t;
SELECT bloom_agg(i, NULL, -0.1) FROM t;
SELECT bloom_agg(i, NULL, 'NaN'::float8) FROM t;
SELECT bloom_agg(i, 10, 5) FROM t;
SELECT bloom_agg(i, 1000000000000, NULL) FROM t;
-- rows of another structure
SELECT bloom_agg(CASE WHEN i < 10 THEN row(i) ELSE row(word) END) FROM t;

DROP TABLE t;
