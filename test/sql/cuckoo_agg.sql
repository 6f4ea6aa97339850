--
-- cuckoo_agg: a filter of the rows' distinct elements, each of them once.
--
CREATE TEMP TABLE t AS
SELECT i, 'word ' || i AS word, i % 7 AS g FROM generate_series(1, 7000) AS i;

-- Sized to the number of distinct elements
SELECT layout, element_class, capacity, error_rate, growth, seed, layers,
	   elements, estimated_error_rate <= 0.01 AS precise
FROM cuckoo_info((SELECT cuckoo_agg(word) FROM t));

-- All forms: capacity as integer or bigint, error rate, both, and a seed
CREATE TEMP TABLE forms AS
SELECT cuckoo_agg(i) AS x, cuckoo_agg(i, 1000, NULL) AS x_int, cuckoo_agg(i, 1000::bigint, NULL) AS x_bigint,
	   cuckoo_agg(i, NULL, 0.001) AS x_rate, cuckoo_agg(i, 1000, 0.001) AS x_capacity_rate,
	   cuckoo_agg(bloom_element(i, 99), 1000, 0.001) AS x_capacity_rate_seed, cuckoo_agg(i, 20000, NULL) AS x_large
FROM t;
SELECT form, capacity, error_rate, growth, seed, layers > 1 AS grown, elements,
	   estimated_error_rate <= error_rate AS precise,
	   (SELECT bool_and(cuckoo_contains(f, i)) FROM t) AS complete,
	   (SELECT count(*) FROM t WHERE cuckoo_contains(f, -i)) <= 95 AS few_others,
	   cuckoo_cardinality(cuckoo_remove_all(f, ARRAY(SELECT i FROM t))) AS after_removal
FROM forms, LATERAL (VALUES (1, 'x', x), (2, 'x, int', x_int), (3, 'x, bigint', x_bigint), (4, 'x, rate', x_rate),
							(5, 'x, capacity, rate', x_capacity_rate), (6, 'x, capacity, rate, seed', x_capacity_rate_seed),
							(7, 'x, int', x_large)) AS v(n, form, f),
	 LATERAL cuckoo_info(f)
ORDER BY n;
SELECT x_int = x_bigint AS int_is_bigint FROM forms;
DROP TABLE forms;
-- Without a capacity it is made for the number of elements
SELECT cuckoo_agg(i) = cuckoo_agg(i, 7000, NULL) AS sized_to_count, cuckoo_clear(cuckoo_agg(i, NULL, 0.02)) = cuckoo_create(7000, 0.02, element_type => 'int') AS as_created,
	   cuckoo_clear(cuckoo_agg(bloom_element(i, 5), 10, 0.001)) = cuckoo_create(10, 0.001, 2, 5, 'int') AS as_told FROM t;

-- Order and repetition of the elements do not matter, to the byte: each is in once
SELECT count(DISTINCT f::text) AS distinct_filters, bool_and(cuckoo_cardinality(f) = 7000) AS each_once, count(*)
FROM (SELECT cuckoo_agg(i ORDER BY i) FROM t
	  UNION ALL SELECT cuckoo_agg(i ORDER BY -i) FROM t
	  UNION ALL SELECT cuckoo_agg(i ORDER BY md5(i::text)) FROM t
	  UNION ALL SELECT cuckoo_agg(DISTINCT i) FROM t
	  UNION ALL SELECT cuckoo_agg(i) FROM (SELECT i FROM t UNION ALL SELECT i FROM t UNION ALL SELECT 7001 - i FROM t) AS u
	  UNION ALL SELECT cuckoo_agg(i % 7000 + 1) FROM generate_series(1, 100000) AS i
	  UNION ALL SELECT cuckoo_agg(i::bigint) FROM t
	  UNION ALL SELECT cuckoo_agg(i::smallint) FROM t) AS u(f);
SELECT count(DISTINCT f::text) AS distinct_filters, bool_and(cuckoo_cardinality(f) = 7000) AS each_once
FROM (SELECT cuckoo_agg(i, 100, NULL ORDER BY i) FROM t
	  UNION ALL SELECT cuckoo_agg(i, 100, NULL ORDER BY -i) FROM t
	  UNION ALL SELECT cuckoo_agg(i, 100, NULL) FROM (SELECT i FROM t UNION ALL SELECT i FROM t) AS u
	  UNION ALL SELECT cuckoo_agg(DISTINCT i, 100, NULL) FROM t) AS u(f);
-- so one element in a hundred thousand rows is in once, and can be removed
SELECT cuckoo_cardinality(f) AS elements, cuckoo_count(f, 'x'), cuckoo_remove(f, 'x') @> 'x' AS removed, (cuckoo_info(f)).capacity
FROM (SELECT cuckoo_agg('x'::text) AS f FROM generate_series(1, 100000)) AS u;

-- NULLs are skipped; over no rows there is an empty filter, which contains
-- nothing, and whose union with another is the other one
SELECT cuckoo_agg(CASE WHEN i > 6000 THEN i END) = cuckoo_agg(i) FILTER (WHERE i > 6000) AS without_nulls FROM t;
SELECT layout, element_class, capacity, error_rate, elements, estimated_error_rate
FROM cuckoo_info((SELECT cuckoo_agg(i) FROM t WHERE false));
SELECT bool_and(cuckoo_agg = (SELECT cuckoo_agg(i) FROM t WHERE false)) AS all_empty, count(*)
FROM (SELECT cuckoo_agg(i, 10, NULL) FROM t WHERE false
	  UNION ALL SELECT cuckoo_agg(NULL::text) FROM t
	  UNION ALL SELECT cuckoo_agg(NULL::int, 10, NULL) FROM t
	  UNION ALL SELECT cuckoo_agg(NULL::int, NULL, 0.5) FROM t
	  UNION ALL SELECT cuckoo_agg(i, 10, 0.5) FILTER (WHERE i < 0) FROM t
	  UNION ALL SELECT cuckoo_agg(bloom_element(i, 1), 10, 0.5) FILTER (WHERE i < 0) FROM t) AS u;
SELECT empty @> 1 AS contains, empty @> 'x' AS contains_text, empty | f = f AS left_neutral, f | empty = f AS right_neutral, empty | empty = empty AS of_two,
	   cuckoo_contains_all(cuckoo_add_all(empty, ARRAY[1, 2, 3]), ARRAY[1, 2, 3]) AS added_to, (cuckoo_info(cuckoo_add(empty, 1))).error_rate
FROM (SELECT cuckoo_agg(i) FILTER (WHERE false) AS empty, cuckoo_agg(i) AS f FROM t) AS u;

-- GROUP BY, HAVING, FILTER
SELECT g, capacity, elements, (SELECT bool_and(f @> i) FROM t WHERE t.g = u.g) AS complete
FROM (SELECT g, cuckoo_agg(i) AS f FROM t GROUP BY g) AS u, LATERAL cuckoo_info(f) ORDER BY g;
SELECT g FROM t GROUP BY g HAVING cuckoo_agg(i, NULL, 1e-6) @> 10;
SELECT cuckoo_cardinality(cuckoo_agg(i) FILTER (WHERE g = 0)) AS one_group, cuckoo_cardinality(cuckoo_agg(i)) AS all_groups FROM t;
-- GROUPING SETS: sorted and hashed, from one reading of the table
SELECT g, half, (cuckoo_info(f)).capacity, f = expected AS right
FROM (SELECT g, i % 2 AS half, cuckoo_agg(i) AS f FROM t WHERE g < 2 GROUP BY GROUPING SETS ((g, i % 2), (g), ())) AS u,
	 LATERAL (SELECT cuckoo_agg(i) AS expected FROM t
			  WHERE t.g < 2 AND (u.g IS NULL OR t.g = u.g) AND (u.half IS NULL OR t.i % 2 = u.half)) AS e
ORDER BY g, half;

-- Window: a running frame (whose state lives on after each result), the whole
-- partition, and moving frames
SELECT i, running = (SELECT cuckoo_agg(x) FROM generate_series(1, i) AS x) AS running,
	   whole = (SELECT cuckoo_agg(x) FROM generate_series(1, 12) AS x) AS whole,
	   moving = (SELECT cuckoo_agg(x) FROM generate_series(greatest(i - 2, 1), i) AS x) AS moving,
	   following = (SELECT cuckoo_agg(x) FROM generate_series(i + 1, 12) AS x) AS following
FROM (SELECT i, cuckoo_agg(i) OVER (ORDER BY i) AS running, cuckoo_agg(i) OVER () AS whole,
			 cuckoo_agg(i) OVER (ORDER BY i ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS moving,
			 cuckoo_agg(i) OVER (ORDER BY i ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS following
	  FROM t WHERE i <= 12) AS w
ORDER BY i;
-- also where the state is large
SELECT bool_and(f = (SELECT cuckoo_agg(x) FROM generate_series(1, i) AS x)) AS running, count(*)
FROM (SELECT i, cuckoo_agg(i) OVER (ORDER BY i) AS f FROM t WHERE i <= 1000 OFFSET 0) AS w
WHERE i % 100 = 0;
SELECT bool_and(w.f = u.f) AS per_partition, count(*)
FROM (SELECT g, cuckoo_agg(i) OVER (PARTITION BY g) AS f FROM t) AS w
	JOIN (SELECT g, cuckoo_agg(i) AS f FROM t GROUP BY g) AS u USING (g);

-- The same aggregate twice in a query shares its state; that of the other type
-- does not
SELECT cuckoo_agg(i) = cuckoo_agg(i) AS same, cuckoo_cardinality(cuckoo_agg(i)) AS again, pg_typeof(cuckoo_agg(i)) AS a, pg_typeof(bloom_agg(i)) AS b FROM t;

-- Many groups with little memory: hashed groups that go to disk, and sorted ones
SET work_mem = '64kB';
SET enable_sort = off;
SELECT count(*) AS groups, bool_and(cuckoo_contains_all(f, ARRAY[g, g + 3000, g + 6000])) AS complete, sum(cuckoo_cardinality(f)) AS elements
FROM (SELECT i % 3000 AS g, cuckoo_agg(i) AS f FROM generate_series(0, 8999) AS i GROUP BY 1 OFFSET 0) AS u;
RESET enable_sort;
SET enable_hashagg = off;
SELECT count(*) AS groups, bool_and(cuckoo_contains_all(f, ARRAY[g, g + 3000, g + 6000])) AS complete, sum(cuckoo_cardinality(f)) AS elements
FROM (SELECT i % 3000 AS g, cuckoo_agg(i) AS f FROM generate_series(0, 8999) AS i GROUP BY 1 OFFSET 0) AS u;
RESET enable_hashagg;
RESET work_mem;

-- Elements of any type, and rows
SELECT (cuckoo_info(cuckoo_agg(row(i, word)))).element_class AS rows, cuckoo_agg(row(i, word)) @> row(7, 'word 7') AS found,
	   (cuckoo_info(cuckoo_agg(t))).element_class AS whole_rows, (cuckoo_info(cuckoo_agg(i / 2.0))).element_class AS numbers
FROM t;
-- Small sets of every size up to 300, and some of each of the sizes of the gate:
-- none is false
SELECT count(*) AS built, bool_and(f @> 1 AND cuckoo_contains_all(f, ARRAY(SELECT generate_series(1, n)))) AS complete, bool_and((cuckoo_info(f)).layers = 1) AS one_layer
FROM generate_series(1, 300) AS n, LATERAL (SELECT cuckoo_agg(x) AS f FROM generate_series(1, n) AS x OFFSET 0) AS u;
SELECT n, count(*) AS built, bool_and(cuckoo_contains_all(f, a)) AS complete, bool_and(cuckoo_cardinality(f) = n AND (cuckoo_info(f)).layers = 1) AS one_layer
FROM (SELECT n, k, cuckoo_agg(k * 10000 + x) AS f, array_agg(k * 10000 + x) AS a
	  FROM (VALUES (10, 200), (30, 200), (100, 100), (300, 50), (1000, 20)) AS v(n, times), LATERAL generate_series(1, times) AS k, LATERAL generate_series(1, n) AS x GROUP BY n, k) AS u
GROUP BY n ORDER BY n;

-- Aggregates of one's own: one that counts each row, and a union
CREATE FUNCTION add_to_mine(f cuckoo, x anyelement) RETURNS cuckoo LANGUAGE sql IMMUTABLE AS
$$ SELECT cuckoo_add(coalesce(f, cuckoo_create(10000)), x) $$;
CREATE AGGREGATE mine(anyelement) (SFUNC = add_to_mine, STYPE = cuckoo);
CREATE AGGREGATE my_union(cuckoo) (SFUNC = cuckoo_union, STYPE = cuckoo);
SELECT cuckoo_count(mine(i % 500), 7) AS each_counted, cuckoo_cardinality(mine(i % 500)) AS elements, mine(i % 500) = cuckoo_add_all(cuckoo_create(10000), array_agg(i % 500)) AS as_add_all FROM t WHERE i <= 1000;
SELECT my_union(f) = cuckoo_union_agg(f) AS as_union_agg, cuckoo_contains_all(my_union(f), ARRAY(SELECT i FROM t)) AS complete, cuckoo_cardinality(my_union(f)) AS elements
FROM (SELECT cuckoo_agg(i, 10000, 1e-6) AS f FROM t GROUP BY g ORDER BY g) AS u;
DROP AGGREGATE mine(anyelement);
DROP AGGREGATE my_union(cuckoo);
DROP FUNCTION add_to_mine;

-- One whose final function fails at the first reading of the state, where that adds elements
-- which waited to a full layer, and reads it again: it counts none of them twice
CREATE FUNCTION final_again(f cuckoo) RETURNS cuckoo LANGUAGE plpgsql AS $$
DECLARE
	failed boolean := false;
	x float8;
BEGIN
	PERFORM set_config('bloomfilter.max_filter_size', '50kB', true);
	BEGIN
		x := cuckoo_cardinality(f);
	EXCEPTION WHEN program_limit_exceeded THEN
		failed := true;
	END;
	PERFORM set_config('bloomfilter.max_filter_size', '512MB', true);
	IF failed THEN
		PERFORM nextval('failures');
	END IF;
	RETURN f;
END $$;
CREATE SEQUENCE failures;
DO $$
BEGIN
	EXECUTE format('CREATE AGGREGATE read_again(bigint, bigint, float8) (SFUNC = _cuckoo_agg_trans, STYPE = cuckoo, FINALFUNC = final_again, INITCOND = %L)',
		cuckoo_add(cuckoo_create(5000, 0.01), 0::bigint));
END $$;
SELECT bool_and(cuckoo_cardinality(f) = n + 1) AS counted_once, bool_and(cuckoo_contains_all(f, ARRAY(SELECT generate_series(0, n)::bigint))) AS complete
FROM (SELECT n, read_again(x, 5000, 0.01) AS f FROM generate_series(15100, 15400, 15) AS n, LATERAL generate_series(1, n) AS x GROUP BY n OFFSET 0) AS u;
SELECT last_value > 0 AND is_called AS failed FROM failures;
DROP AGGREGATE read_again(bigint, bigint, float8);
DROP FUNCTION final_again;
DROP SEQUENCE failures;

--
-- Errors.  The arguments must be the same for all rows of a group.
--
SELECT cuckoo_agg(i, i, NULL) FROM t;
SELECT cuckoo_agg(i, NULL, i / 10000.0::float8) FROM t;
SELECT cuckoo_agg(bloom_element(i, i), 100, 0.01) FROM t;
-- but each group may have its own
SELECT g, (cuckoo_info(cuckoo_agg(i, g + 1, NULL))).capacity FROM t WHERE g < 3 GROUP BY g ORDER BY g;
-- one that is NULL has its default, for all rows alike; but there is no default of a seed
SELECT cuckoo_agg(i, NULL, NULL) = cuckoo_agg(i) AS neither, cuckoo_agg(i, NULL, 0.01) = cuckoo_agg(i) AS error_rate,
	   cuckoo_agg(i, 10, NULL) = cuckoo_agg(i, 10, 0.01) AS capacity FROM t;
SELECT cuckoo_agg(bloom_element(i, NULL), 10, 0.01) FROM t;
SELECT cuckoo_agg(i, CASE WHEN i < 100 THEN 10 END, NULL) FROM t;
SELECT cuckoo_agg(i, 0, NULL) FROM t;
SELECT cuckoo_agg(i, -1::bigint, NULL) FROM t;
SELECT cuckoo_agg(i, NULL, 0.0) FROM t;
SELECT cuckoo_agg(i, NULL, 0.9) FROM t;
SELECT cuckoo_agg(i, NULL, 'NaN'::float8) FROM t;
SELECT cuckoo_agg(i, 10, 5) FROM t;
SELECT cuckoo_agg(i, 1000000000000, NULL) FROM t;
-- rows of another structure
SELECT cuckoo_agg(CASE WHEN i < 10 THEN row(i) ELSE row(word) END) FROM t;

DROP TABLE t;
