--
-- cuckoo: making filters, adding, probing.  A cuckoo filter is a multiset: what
-- was added twice is in twice.
--

-- Defaults; the columns of cuckoo_info
SELECT layout, element_class, capacity, error_rate, growth, seed, layers, load, elements, estimated_error_rate, bits_per_element
FROM cuckoo_info(cuckoo_create(1000));
SELECT cuckoo_create(1000) = cuckoo_create(capacity => 1000, error_rate => 0.01, growth => 2, seed => 0) AS defaults;
SELECT capacity, error_rate, growth, seed
FROM cuckoo_info(cuckoo_create(1000, 0.02, seed => -7, growth => 0));
SELECT * FROM cuckoo_info((SELECT cuckoo_agg(1) WHERE false));

-- Capacity and error rate are stored as requested
SELECT bool_and(i.capacity = c AND i.error_rate = e) AS kept, count(*)
FROM (VALUES (1), (2), (100), (12345), (1000000)) AS x(c),
	 (VALUES (0.5), (0.1), (0.01), (1e-3), (1e-4), (1e-7)) AS y(e),
	 LATERAL cuckoo_info(cuckoo_create(c, e)) AS i;

-- Bytes for an element, header included, of fixed filters at capacity: at most
-- what the design promises
SELECT rate, n, i.fingerprint_bits, 8.0 * i.bytes / n <= most AS within_promise
FROM (VALUES (0.03, 7.7), (0.01, 9.8), (0.001, 13.0), (1e-4, 17.4), (1e-6, 23.9)) AS t(rate, most),
	 (VALUES (100000), (123457), (1000000)) AS c(n), LATERAL cuckoo_info(cuckoo_create(n, rate, 0)) AS i
ORDER BY rate DESC, n;
-- What the reserve of growing ones costs: at 3 % a bit of the fingerprint, at
-- the others nothing
SELECT rate, i.fingerprint_bits - j.fingerprint_bits AS more_bits
FROM (VALUES (0.03), (0.01), (0.001), (1e-4), (1e-6)) AS t(rate),
	 LATERAL cuckoo_info(cuckoo_create(100000, rate)) AS i, LATERAL cuckoo_info(cuckoo_create(100000, rate, 0)) AS j
ORDER BY rate DESC;
-- For few elements it is more, since they fill fewer slots
SELECT n, 8.0 * i.bytes / n <= most AS within
FROM (VALUES (10, 160), (30, 70), (100, 30), (300, 17), (1000, 12.5), (10000, 10.5)) AS t(n, most),
	 LATERAL cuckoo_info(cuckoo_create(n, growth => 0)) AS i;
-- A filter for more elements, or for a lower error rate, is never smaller
SELECT bool_and(bits >= previous) AS monotonous, count(*)
FROM (SELECT bits, lag(bits, 1, 0::bigint) OVER (ORDER BY c) AS previous
	  FROM generate_series(1, 20000, 7) AS c, LATERAL cuckoo_info(cuckoo_create(c, growth => 0))) AS t;
SELECT bool_and(bits >= previous) AS monotonous, count(DISTINCT bits) AS steps
FROM (SELECT bits, lag(bits, 1, 0::bigint) OVER (ORDER BY e DESC) AS previous
	  FROM (SELECT 0.5 / 1.01 ^ i AS e FROM generate_series(0, 1500) AS i) AS r, LATERAL cuckoo_info(cuckoo_create(5000, e))) AS t;
-- The reported sizes are correct
SELECT bool_and(i.bytes = length(f::bytea) - 8) AS bytes_but_the_checksum, bool_and(pg_column_size(f) - i.bytes IN (1, 4)) AS bytes_but_the_length, bool_and(i.bits <= 8 * i.bytes) AS bits, count(*)
FROM (VALUES (1), (2), (999), (100000)) AS x(c), (VALUES (0.5), (0.01), (1e-7)) AS y(e),
	 LATERAL (SELECT cuckoo_add(cuckoo_create(c, e), 'x') AS f) AS z, LATERAL cuckoo_info(f) AS i;

-- The smallest ones work too
SELECT bool_and(f @> 'x') AS found, bool_or(cuckoo_clear(f) @> 'x') AS empty_contains, count(*)
FROM (VALUES (1), (2), (3)) AS x(c), (VALUES (0.5), (0.01), (1e-4), (1e-7)) AS y(e), (VALUES (0), (1), (16)) AS z(g),
	 LATERAL (SELECT cuckoo_add(cuckoo_create(c, e, g), 'x') AS f) AS t;
-- A filter without elements contains nothing, and never errs
SELECT cuckoo_error_rate(f) AS error_rate, cuckoo_cardinality(f) AS elements, (cuckoo_info(f)).load, f @> 1 AS int, f @> 'x' AS text,
	   cuckoo_count(f, 1), (cuckoo_info(f)).element_class IS NULL AS no_class
FROM (VALUES (cuckoo_create(10)), (cuckoo_create(100000, 1e-5, 0, 3))) AS t(f);

-- A seed makes another filter of the same size
SELECT a.bits = b.bits AS same_size, f <> g AS differ, cuckoo_contains(g, 'x') AS found
FROM (SELECT cuckoo_add(cuckoo_create(100), 'x') AS f, cuckoo_add(cuckoo_create(100, seed => 1), 'x') AS g) AS t,
	 LATERAL cuckoo_info(f) AS a, LATERAL cuckoo_info(g) AS b;
SELECT bool_and(cuckoo_contains(cuckoo_add(cuckoo_create(100, seed => s), 'x'), 'x')) AS found
FROM (VALUES (9223372036854775807), (-9223372036854775808), (-1)) AS t(s);

-- NULL in, NULL out; but to add, remove or replace NULL changes nothing
SELECT cuckoo_create(NULL) IS NULL AS a, cuckoo_create(10, NULL) IS NULL AS b,
	   cuckoo_create(10, growth => NULL) IS NULL AS c, cuckoo_create(10, seed => NULL) IS NULL AS d,
	   cuckoo_add(NULL, 1) IS NULL AS e, cuckoo_add(cuckoo_create(10), NULL::int) = cuckoo_create(10) AS f,
	   cuckoo_add_unique(NULL, 1) IS NULL AS g, cuckoo_add_unique(cuckoo_create(10), NULL::int) = cuckoo_create(10) AS h,
	   cuckoo_add_all(NULL, ARRAY[1]) IS NULL AS i, cuckoo_add_all(cuckoo_create(10), NULL::int[]) = cuckoo_create(10) AS j, cuckoo_add_all_unique(cuckoo_create(10), NULL::int[]) = cuckoo_create(10) AS p,
	   cuckoo_clear(NULL) IS NULL AS k, cuckoo_info(NULL) IS NULL AS l,
	   cuckoo_cardinality(NULL) IS NULL AS m, cuckoo_error_rate(NULL) IS NULL AS n, cuckoo_compact(NULL) IS NULL AS o;
SELECT cuckoo_contains(NULL, 1) IS NULL AS a, cuckoo_contains(f, NULL::int) IS NULL AS b, (f @> NULL::int) IS NULL AS c,
	   (NULL::int <@ f) IS NULL AS d, cuckoo_contains_any(NULL, ARRAY[1]) IS NULL AS e, cuckoo_contains_any(f, NULL::int[]) IS NULL AS f,
	   cuckoo_contains_all(NULL, ARRAY[1]) IS NULL AS g, cuckoo_contains_all(f, NULL::int[]) IS NULL AS h,
	   cuckoo_contains_each(NULL, ARRAY[1]) IS NULL AS i, cuckoo_contains_each(f, NULL::int[]) IS NULL AS j,
	   cuckoo_count(NULL, 1) IS NULL AS k, cuckoo_count(f, NULL::int) IS NULL AS l
FROM (SELECT cuckoo_add(cuckoo_create(10), 1) AS f) AS t;

-- NULL elements of an array are skipped; dimensions and bounds are nothing
SELECT cuckoo_add_all(f, ARRAY[NULL, 1, NULL]) = cuckoo_add(f, 1) AS nulls_passed_over,
	   cuckoo_add_all(f, ARRAY[NULL, NULL]::int[]) = f AS only_nulls, cuckoo_add_all(f, '{}'::int[]) = f AS no_elements,
	   cuckoo_add_all(f, ARRAY[[1, 2], [3, 4]]) = cuckoo_add_all(f, ARRAY[1, 2, 3, 4]) AS matrix,
	   cuckoo_add_all(f, '[-1:0][5:6]={{1,2},{3,4}}'::int[]) = cuckoo_add_all(f, ARRAY[1, 2, 3, 4]) AS bounds
FROM (SELECT cuckoo_create(10) AS f) AS t;

--
-- Adding
--
-- One at a time is the same as all at once, and each time counts
SELECT cuckoo_add_all(f, ARRAY[1, 2, 1]) = cuckoo_add(cuckoo_add(cuckoo_add(f, 1), 2), 1) AS one_by_one,
	   cuckoo_cardinality(cuckoo_add_all(f, ARRAY[1, 2, 1])) AS elements,
	   cuckoo_count(cuckoo_add_all(f, ARRAY[1, 2, 1]), 1) AS ones, cuckoo_count(cuckoo_add_all(f, ARRAY[1, 2, 1]), 2) AS twos,
	   cuckoo_count(cuckoo_add_all(f, ARRAY[1, 2, 1]), 3) AS threes
FROM (VALUES (cuckoo_create(100, 1e-6)), (cuckoo_create(100000, 1e-6, 0)), ((SELECT cuckoo_agg(1) WHERE false))) AS t(f)
ORDER BY length(f::bytea);
SELECT (cuckoo_agg(1) FILTER (WHERE false))::bytea AS empty;

-- cuckoo_add_unique adds what does not seem to be in, once
SELECT cuckoo_add_unique(f, 1) = cuckoo_add(f, 1) AS new, cuckoo_add_unique(g, 1) = g AS again,
	   cuckoo_add_unique(cuckoo_add_unique(g, 1), 1) = g AS and_again, cuckoo_count(cuckoo_add_unique(g, 1), 1) AS count
FROM (SELECT f, cuckoo_add(f, 1) AS g FROM (VALUES (cuckoo_create(100)), (cuckoo_create(100000))) AS u(f)) AS t;
DO $$
DECLARE
	f	cuckoo := cuckoo_create(1000);
BEGIN
	FOR again IN 1 .. 3
	LOOP
		FOR i IN 1 .. 1000
		LOOP
			f := cuckoo_add_unique(f, i);
		END LOOP;
	END LOOP;
	RAISE NOTICE 'unique: complete %, elements no more %, hardly less %, layers %', cuckoo_contains_all(f, ARRAY(SELECT generate_series(1, 1000))),
		cuckoo_cardinality(f) <= 1000, cuckoo_cardinality(f) >= 980, (cuckoo_info(f)).layers;
END
$$;

-- The first element decides on the class, and the class stays when it is gone
SELECT (cuckoo_info(f)).element_class AS none, (cuckoo_info(g)).element_class AS then_text, (cuckoo_info(cuckoo_remove(g, 'x'))).element_class AS still_text,
	   (cuckoo_info(cuckoo_clear(g))).element_class AS cleared
FROM (SELECT cuckoo_create(10) AS f, cuckoo_add(cuckoo_create(10), 'x'::varchar) AS g) AS t;

-- Elements of every kind: added, found, counted, replaced and removed, and
-- another one of the type is not there.  Types of one class find each other's.
CREATE TYPE cuckoo_mood AS ENUM ('sad', 'ok');
CREATE TYPE cuckoo_pair AS (a integer, b text);
CREATE DOMAIN cuckoo_posint AS integer CHECK (VALUE > 0);
CREATE TEMP TABLE kinds (n int, here text, there text, other text);
INSERT INTO kinds VALUES
	(1, '1::int', '1::bigint', '2::smallint'), (2, '''x''::text', '''x''::varchar', '''y''::name'), (3, '''x''', '''x''::char(3)', '''X'''),
	(4, '''\x00ff''::bytea', '''\x00ff''::bytea', '''\x00fe''::bytea'), (5, '1.50', '1.5::numeric', '1.51'), (6, '0.5::real', '0.5::float8', '''NaN''::float8'),
	(7, '''00112233-4455-6677-8899-aabbccddeeff''::uuid', '''00112233-4455-6677-8899-AABBCCDDEEFF''::uuid', '''00112233-4455-6677-8899-aabbccddeefe''::uuid'),
	(8, 'date ''2020-02-02''', '''2020-02-02''::date', 'date ''2020-02-03'''), (9, '''2020-02-02 12:00+00''::timestamptz', '''2020-02-02 13:00+01''::timestamptz', '''2020-02-02 12:00:01+00''::timestamptz'),
	(10, 'true', '''t''::boolean', 'false'), (11, 'interval ''1 day''', 'interval ''24 hours''', 'interval ''25 hours'''),
	(12, '''10.1.2.3''::inet', '''10.1.2.3/32''::cidr', '''10.1.2.4''::inet'), (13, '''{"a": [1, 2.0]}''::jsonb', '''{"a":[1.0,2]}''::jsonb', '''{"a":[2,1]}''::jsonb'),
	(14, 'ARRAY[1, 2]', 'ARRAY[1, 2]::bigint[]', 'ARRAY[2, 1]'), (15, 'ARRAY[''a'', NULL]', '''{a,NULL}''::varchar[]', 'ARRAY[''a'']'),
	(16, 'ROW(1, ''a''::text)', 'ROW(1::bigint, ''a''::varchar)', 'ROW(1, ''b''::text)'), (17, 'ROW(1, ''a'')::cuckoo_pair', 'ROW(1, ''a''::text)', 'ROW(2, ''a'')::cuckoo_pair'),
	(18, '''ok''::cuckoo_mood', '''ok''::cuckoo_mood', '''sad''::cuckoo_mood'), (19, '7::cuckoo_posint', '7', '8::cuckoo_posint'),
	(20, 'int4range(1, 5)', '''[1,4]''::int8range', 'int4range(1, 4)'), (21, '''{[1,5)}''::int4multirange', '''{[1,4]}''::int4multirange', '''{}''::int4multirange'),
	(22, 'B''101''', 'B''101''::varbit', 'B''1010'''), (23, '''1.23''::money', '''1.23''::money', '''1.24''::money'), (24, '5::oid', '5::oid', '6::oid');
CREATE FUNCTION kind(here text, there text, other text, OUT class text, OUT found boolean, OUT absent boolean, OUT "count" int, OUT replaced boolean, OUT removed boolean)
LANGUAGE plpgsql AS
$$
BEGIN
	EXECUTE format($q$
		SELECT (cuckoo_info(f)).element_class, f @> %2$s AND %2$s <@ f AND cuckoo_contains(f, %1$s) AND (%4$s) = '{t,f}',
			NOT f @> %3$s AND NOT %3$s <@ f AND cuckoo_count(f, %3$s) = 0 AND cuckoo_remove(f, %3$s) = f, cuckoo_count(f, %2$s),
			cuckoo_replace(f, %1$s, %3$s) @> %2$s AND cuckoo_replace(f, %1$s, %3$s) @> %3$s AND cuckoo_count(cuckoo_replace(f, %1$s, %3$s), %2$s) = 1,
			NOT cuckoo_remove(cuckoo_remove(f, %2$s), %1$s) @> %1$s AND (%5$s) = cuckoo_remove(cuckoo_remove(f, %1$s), %1$s)
		FROM (SELECT cuckoo_add(cuckoo_add(cuckoo_create(100, 1e-6), %1$s), %2$s) AS f) AS t $q$, here, there, other,
		-- elements of an array cannot be arrays
		CASE WHEN here ~ '^ARRAY' THEN '''{t,f}''' ELSE format('cuckoo_contains_each(f, ARRAY[%s, %s])', there, other) END,
		CASE WHEN here ~ '^ARRAY' THEN format('cuckoo_remove(cuckoo_remove(f, %s), %1$s)', there) ELSE format('cuckoo_remove_all(f, ARRAY[%1$s, %1$s])', there) END)
	INTO class, found, absent, count, replaced, removed;
END
$$;
SET lc_monetary = 'C';
SELECT k.here, r.* FROM kinds k, LATERAL kind(here, there, other) AS r ORDER BY n;
DROP FUNCTION kind;
DROP TABLE kinds;
DROP TYPE cuckoo_mood, cuckoo_pair;
DROP DOMAIN cuckoo_posint;

-- Bare literals and untyped parameters are text; an array literal is text[]
PREPARE untyped AS
SELECT (cuckoo_info(cuckoo_add(f, $1))).element_class AS parameter, cuckoo_add(f, $1) @> 'x'::text AS found, cuckoo_add_unique(f, $1) @> $1 AS uniquely,
	   cuckoo_count(cuckoo_add(f, $1), $1) AS counted, cuckoo_remove(cuckoo_add(f, $1), $1) @> $1 AS removed, $1 <@ f AS absent
FROM (SELECT cuckoo_create(10) AS f) AS t;
EXECUTE untyped('x');
PREPARE untyped_two AS SELECT cuckoo_contains_each(cuckoo_replace(cuckoo_add(cuckoo_create(10), 'x'), $1, $2), '{x,y}') AS replaced;
EXECUTE untyped_two('x', 'y');
PREPARE untyped_array AS
SELECT cuckoo_contains_each(cuckoo_add_all(f, $1), $1) AS added, cuckoo_contains_each(cuckoo_remove_all(cuckoo_add_all(f, $1), $1), $1) AS removed,
	   cuckoo_contains_any(f, $1) AS "any", cuckoo_contains_all(f, $1) AS "all"
FROM (SELECT cuckoo_create(10) AS f) AS t;
EXECUTE untyped_array('{x,y}');
DEALLOCATE ALL;

--
-- Lookups: "no" is final, "yes" is almost certain
--
CREATE TEMP TABLE filters (name text PRIMARY KEY, f cuckoo);
INSERT INTO filters SELECT 'fixed', cuckoo_add_all(cuckoo_create(20000, growth => 0), array_agg(i)) FROM generate_series(1, 20000) AS i;
INSERT INTO filters SELECT 'sized', cuckoo_agg(i) FROM generate_series(1, 20000) AS i;
INSERT INTO filters SELECT 'precise', cuckoo_agg(i, NULL, 1e-7) FROM generate_series(1, 20000) AS i;
INSERT INTO filters SELECT 'coarse', cuckoo_agg(i, NULL, 0.5) FROM generate_series(1, 20000) AS i;
INSERT INTO filters SELECT 'grown', cuckoo_add_all(cuckoo_create(100), array_agg(i)) FROM generate_series(1, 20000) AS i;
INSERT INTO filters SELECT 'grown by one', cuckoo_add_all(cuckoo_create(2000, 0.03, 1), array_agg(i)) FROM generate_series(1, 20000) AS i;
INSERT INTO filters SELECT 'grown by 16', cuckoo_add_all(cuckoo_create(3, 1e-3, 16), array_agg(i)) FROM generate_series(1, 20000) AS i;
INSERT INTO filters SELECT 'keyed', cuckoo_agg(bloom_element(i, -5), 20000, 0.01) FROM generate_series(1, 20000) AS i;
SELECT name, i.layers > 1 AS grown, (SELECT count(*) FROM generate_series(1, 20000) AS x WHERE NOT cuckoo_contains(f, x)) AS false_negatives,
	   (SELECT count(*) FROM generate_series(1, 20000) AS x WHERE cuckoo_count(f, x) < 1) AS not_counted,
	   -- three standard deviations of chance
	   (SELECT count(*) FROM generate_series(50001, 70000) AS x WHERE cuckoo_contains(f, x)) <= 20000 * error_rate + 3 * sqrt(20000 * error_rate) AS few_false_positives
FROM filters, LATERAL cuckoo_info(f) AS i ORDER BY name COLLATE "C";
-- One call and many agree, about present and absent elements, at lengths around
-- the prefetch distance
SELECT name, n, bool_and(answer = cuckoo_contains(f, 20000 - n / 2 + i::int)) AS agree, bool_or(answer) AND NOT bool_and(answer) AS both
FROM filters, (VALUES (3), (15), (16), (17), (33), (1000)) AS t(n),
	 LATERAL unnest(cuckoo_contains_each(f, ARRAY(SELECT 20000 - n / 2 + generate_series(1, n)))) WITH ORDINALITY AS each(answer, i)
WHERE name <> 'coarse' GROUP BY name, n HAVING NOT bool_and(answer = cuckoo_contains(f, 20000 - n / 2 + i::int)) OR n = 1000 ORDER BY name COLLATE "C", n;
-- any and all are those of SQL, f @> ANY (...) and ALL
CREATE TEMP TABLE arrays (a int[]);
INSERT INTO arrays VALUES
	('{}'), ('{1}'), ('{-1}'), ('{1,-1}'), ('{NULL}'), ('{NULL,NULL}'),
	('{1,NULL}'), ('{NULL,1}'), ('{-1,NULL}'), ('{NULL,-1}'), ('{1,-1,NULL}'), ('{NULL,1,NULL,2}'), ('{{1,NULL},{-1,2}}'), ('[2:3]={1,-1}');
SELECT a, cuckoo_contains_any(f, a) AS "any", cuckoo_contains_all(f, a) AS "all", cuckoo_contains_each(f, a) AS each
FROM arrays, filters WHERE name = 'precise';
SELECT bool_and(cuckoo_contains_any(f, a) IS NOT DISTINCT FROM (f @> ANY (a))) AS any_as_sql,
	   bool_and(cuckoo_contains_all(f, a) IS NOT DISTINCT FROM (f @> ALL (a))) AS all_as_sql
FROM arrays, filters;
DROP TABLE arrays;
-- Function and both operators agree
SELECT bool_and((f @> x) = cuckoo_contains(f, x) AND (x <@ f) = cuckoo_contains(f, x) AND _cuckoo_contained(x, f) = cuckoo_contains(f, x)
				AND (cuckoo_count(f, x) > 0) = cuckoo_contains(f, x)) AS agree, count(*)
FROM filters, generate_series(19500, 20500) AS x;
DROP TABLE filters;

-- The promised error rate, measured: fixed filters at capacity, probed for
-- 300,000 elements that are not in them; growing ones, full, and grown tenfold.
-- Hashes are the same everywhere, so these numbers are, too.
CREATE TEMP TABLE measured AS
SELECT rate, what, cuckoo_add_all(cuckoo_create(CASE what WHEN 'grown' THEN 10000 ELSE 100000 END, rate, CASE what WHEN 'fixed' THEN 0 ELSE 2 END), elements) AS f
FROM (VALUES (0.03), (0.01), (0.001), (1e-4)) AS r(rate), (VALUES ('fixed'), ('growing'), ('grown')) AS w(what),
	 (SELECT array_agg(x) AS elements FROM generate_series(1, 100000) AS x) AS e;
SELECT rate, what, i.elements, i.estimated_error_rate <= rate AS estimated, (layers > 1) = (what = 'grown') AS as_named,
	   found <= 300000 * (rate + 3 * sqrt(rate / 300000)) AS as_promised,
	   -- and it is what it is said to be
	   abs(found - 300000 * i.estimated_error_rate) <= 4 * sqrt(300000 * i.estimated_error_rate) AS as_estimated,
	   cuckoo_contains_all(f, ARRAY(SELECT generate_series(1, 100000))) AS complete
FROM measured, LATERAL cuckoo_info(f) AS i,
	 LATERAL (SELECT count(*) AS found FROM generate_series(1, 300000) AS x WHERE cuckoo_contains(f, -x)) AS c
ORDER BY rate DESC, what;
DROP TABLE measured;

-- Fixed filters accept their capacity, whatever the elements: some
-- hundred of each size, with fresh ones
SELECT c, rate, count(*) AS built, bool_and(cuckoo_contains_all(f, a)) AS complete, bool_and(cuckoo_cardinality(f) = c) AS counted
FROM (VALUES (1, 0.01, 400), (2, 0.01, 400), (10, 0.01, 400), (30, 0.01, 400), (30, 0.5, 400), (100, 0.01, 400), (300, 0.01, 200), (1000, 0.01, 100), (1000, 0.5, 100)) AS x(c, rate, times),
	 LATERAL (SELECT ARRAY(SELECT generate_series(n * 100000, n * 100000 + c - 1)) AS a FROM generate_series(1, times) AS n OFFSET 0) AS y,
	 LATERAL (SELECT cuckoo_add_all(cuckoo_create(c, rate, 0), a) AS f OFFSET 0) AS z
GROUP BY c, rate ORDER BY c, rate;
-- and when they are full, there is an error
SELECT cuckoo_add_all(cuckoo_create(1000, growth => 0), ARRAY(SELECT generate_series(1, 2000)));
DO $$
DECLARE
	f		cuckoo := cuckoo_create(1000, growth => 0);
	added	int := 0;
BEGIN
	LOOP
		BEGIN
			f := cuckoo_add(f, added + 1);
			added := added + 1;
		EXCEPTION WHEN program_limit_exceeded THEN
			RAISE NOTICE '%', SQLERRM;
			EXIT;
		END;
	END LOOP;
	RAISE NOTICE 'at least its capacity: %, not much more: %, complete: %, precise: %', added >= 1000, added <= 1100,
		cuckoo_contains_all(f, ARRAY(SELECT generate_series(1, added))), cuckoo_error_rate(f) <= 0.01;
	RAISE NOTICE 'what is in can be added uniquely: %', cuckoo_add_unique(f, 1) = f;
	-- a removal makes room
	f := cuckoo_remove(f, 1);
	f := cuckoo_add(f, -1);
	RAISE NOTICE 'room used again: %', cuckoo_contains_all(f, ARRAY(SELECT generate_series(2, added)) || -1);
END
$$;

-- Growth: a thousand times as many, without a false negative, at the error rate
SELECT g, layers > 1 AS grown, elements, cuckoo_contains_all(f, ARRAY(SELECT generate_series(1, 20000))) AS complete, estimated_error_rate <= error_rate AS precise
FROM (VALUES (2), (3), (4), (16)) AS x(g),
	 LATERAL (SELECT cuckoo_add_all(cuckoo_create(20, growth => g), ARRAY(SELECT generate_series(1, 20000))) AS f OFFSET 0) AS y,
	 LATERAL cuckoo_info(f) ORDER BY g;
-- The number of layers has a limit, with an error that changes nothing
DO $$
DECLARE
	f		cuckoo := cuckoo_create(10, growth => 1);
	added	int := 0;
BEGIN
	LOOP
		f := cuckoo_add(f, added + 1);
		added := added + 1;
	END LOOP;
EXCEPTION WHEN program_limit_exceeded THEN
	RAISE NOTICE '% (%): % layers, complete: %, enough: %', SQLERRM, SQLSTATE,
		(cuckoo_info(f)).layers, cuckoo_contains_all(f, ARRAY(SELECT generate_series(1, added))), added >= 320;
END
$$;

-- cuckoo_clear restores the filter as it was created, but keeps the class
SELECT bool_and(cuckoo_clear(cuckoo_add_all(f, ARRAY(SELECT generate_series(1, n)))) = f) AS cleared, count(*)
FROM (VALUES (cuckoo_create(10, element_type => 'int'), 3), (cuckoo_create(100, 1e-5, 0, 3, 'int'), 3), (cuckoo_create(100, 0.5, 16, element_type => 'int'), 1), (cuckoo_create(10, element_type => 'int'), 1000),
			 (cuckoo_create(100000, element_type => 'int'), 100), ((SELECT cuckoo_agg(1) WHERE false), 0)) AS t(f, n);
SELECT cuckoo_add(cuckoo_clear(f), 'text'::text) FROM (SELECT cuckoo_add(cuckoo_create(10), 1) AS f) AS t;
