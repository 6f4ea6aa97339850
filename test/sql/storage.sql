--
-- Filters as stored values: in every form of storage, changed and unchanged.
--
\set ON_ERROR_STOP on
CREATE TABLE stored (id int PRIMARY KEY, what text, f bloom);
INSERT INTO stored VALUES
	(1, 'empty: a short header', (SELECT bloom_agg(1) WHERE false)),
	(2, 'explicit: a short header', bloom_add((SELECT bloom_agg(1) WHERE false), 1)),
	(3, 'in the row', bloom_add_all(bloom_create(1501, 0.1), ARRAY(SELECT generate_series(1, 500)))),
	(4, 'external', bloom_add_all(bloom_create(50000), ARRAY(SELECT generate_series(1, 50000)))),
	(5, 'external, grown', bloom_add_all(bloom_create(500), ARRAY(SELECT generate_series(1, 50000)))),
	(6, 'external, sparse', bloom_add_all(bloom_create(50000), ARRAY(SELECT generate_series(1, 500)))),
	(7, 'explicit, external', bloom_add_all((SELECT bloom_agg(1) WHERE false), ARRAY(SELECT generate_series(1, 1000)))),
	(13, 'small: a short header', bloom_add_all(bloom_create(10), ARRAY[1, 2, 3])),
	(14, 'small, in the row', bloom_add_all(bloom_create(500), ARRAY(SELECT generate_series(1, 500)))),
	(15, 'small, external', bloom_add_all(bloom_create(1500, 1e-5), ARRAY(SELECT generate_series(1, 1500)))),
	(16, 'small, grown: in the row', bloom_add_all(bloom_create(10), ARRAY(SELECT generate_series(1, 30)))),
	(17, 'small, of an aggregate', (SELECT bloom_agg(i) FROM generate_series(1, 20) AS i));
ALTER TABLE stored ALTER f SET STORAGE extended;
INSERT INTO stored VALUES
	(8, 'compressed', bloom_add_all(bloom_create(20000), ARRAY(SELECT generate_series(1, 50)))),
	(9, 'compressed and external', bloom_add_all(bloom_create(2000000), ARRAY(SELECT generate_series(1, 10000)))),
	(18, 'small, compressed', bloom_add_all(bloom_create(1500, 1e-6), ARRAY(SELECT generate_series(1, 5))));
ALTER TABLE stored ALTER f SET STORAGE main;
INSERT INTO stored VALUES
	(10, 'main, compressed', bloom_add_all(bloom_create(20000), ARRAY(SELECT generate_series(1, 50)))),
	(19, 'small, main, compressed', bloom_add_all(bloom_create(1500, 1e-6), ARRAY(SELECT generate_series(1, 5))));
ALTER TABLE stored ALTER f SET STORAGE plain;
INSERT INTO stored VALUES
	(11, 'plain', bloom_add_all(bloom_create(1501), ARRAY(SELECT generate_series(1, 500)))),
	(12, 'plain, empty', (SELECT bloom_agg(1) WHERE false)),
	(20, 'small, plain', bloom_add_all(bloom_create(500), ARRAY(SELECT generate_series(1, 500)))),
	(21, 'small, plain, short', bloom_add(bloom_create(1), 1));
ALTER TABLE stored ALTER f SET STORAGE external;
\set ON_ERROR_STOP off
SELECT what, pg_column_size(f) < bytes AS compressed, bytes = octet_length(f::bytea) - 8 AS whole,
	   elements > 0 AS filled, layout = 'small' AS small, layers > 1 AS grown
FROM stored, LATERAL bloom_info(f) ORDER BY id;
-- a value of up to 126 bytes has a header of one byte, others one of four
SELECT what, pg_column_size(f) - bytes AS header FROM stored, LATERAL bloom_info(f) WHERE id IN (1, 2, 3, 13, 14, 16, 17) ORDER BY id;

-- Each function reads each form
SELECT what, f @> 1 AS one, 1 <@ f AS contained, f @> -1 AS minus_one,
	   bloom_contains_any(f, ARRAY[-1, 1]) AS "any", bloom_contains_all(f, ARRAY[1, -1]) AS "all",
	   bloom_contains_each(f, ARRAY[1, -1]) AS each,
	   f = f AS "=", f <> f AS "<>", f | f = f AS united
FROM stored ORDER BY id;
SELECT what, bloom_add(f, -1) @> -1 AS added, bloom_add_all(f, ARRAY[-1, -2]) @> -2 AS all_added,
	   bloom_clear(f) @> 1 AS cleared, bloom_cardinality(f) = elements AS cardinality,
	   bloom_error_rate(f) = estimated_error_rate AS error_rate, f::text::bloom = f AS text, f::bytea::bloom = f AS bytea
FROM stored, LATERAL bloom_info(f) ORDER BY id;
SELECT what, f & f = f AS intersected FROM stored WHERE what NOT LIKE '%, grown%' ORDER BY id;
-- from a scalar subquery, with as many elements as you like
SELECT id, (SELECT count(*) FROM generate_series(1, 1000) AS i WHERE bloom_contains((SELECT f FROM stored AS t WHERE t.id = s.id), i)) = least(elements, 1000) OR id > 2 AND
	   (SELECT count(*) FROM generate_series(1, 1000) AS i WHERE bloom_contains((SELECT f FROM stored AS t WHERE t.id = s.id), i)) BETWEEN least(elements, 1000) * 0.95 AND 1000 AS found
FROM stored AS s, LATERAL bloom_info(f) ORDER BY id;
SELECT sum((bloom_contains((SELECT f FROM stored WHERE id = 4), i))::int + bloom_contains((SELECT f FROM stored WHERE id = 5), i)::int) AS two_call_sites
FROM generate_series(1, 50000) AS i;
-- the same call in turns with several filters, and with another column
SELECT bool_and(bloom_contains(f, i)) AS in_turns
FROM generate_series(1, 500) AS i CROSS JOIN LATERAL (SELECT f FROM stored WHERE id IN (3, 4, 5, 6, 11, 14, 15, 20) OFFSET 0) AS t;

-- A value used several times in a query is the same for each use: nothing
-- writes into it
SELECT what, bloom_add(f, -1) @> -1 AS added, f @> -1 AS before, bloom_add(f, -2) @> -1 AS elsewhere, f @> -2 AS after
FROM (SELECT id, what, f FROM stored OFFSET 0) AS t ORDER BY id;
SELECT bloom_add(f, 1) @> 1 AS added, f @> 1 AS before, bloom_add(f, 2) @> 1 AS elsewhere, bloom_add_all(f, ARRAY[3]) @> 2 AS all_elsewhere, f = g AS untouched
FROM (SELECT bloom_add(bloom_create(c), 0) AS f, bloom_add(bloom_create(c), 0) AS g FROM (VALUES (10), (100000)) AS v(c) OFFSET 0) AS t;
WITH f AS MATERIALIZED (SELECT bloom_add(bloom_create(c), 0) AS f FROM (VALUES (10), (100000)) AS v(c))
SELECT bloom_add(f, 1) @> 1 AS added, f @> 1 AS before, (f | bloom_add(f, 2)) @> 2 AS united, f @> 2 AS not_united FROM f;
SELECT f | g = g | f AS commutes, f = g AS same, bloom_add(f, 1) | bloom_add(f, 2) = bloom_add_all(f, ARRAY[1, 2]) AS each_its_own
FROM (SELECT bloom_create(100000, element_type => 'int') AS f, bloom_clear(bloom_add(bloom_create(100000), 1)) AS g OFFSET 0) AS t;
SELECT x, bloom_contains_each(f, ARRAY[1, 2, 3]) AS rows_do_not_see_each_other
FROM generate_series(1, 3) AS x, LATERAL (SELECT bloom_add(c, x) AS f FROM (SELECT bloom_create(100000) AS c OFFSET 0) AS t) AS u;
SELECT bloom_contains_each(CASE WHEN x = 1 THEN bloom_add(f, 1) WHEN x = 2 THEN f ELSE coalesce(NULL, f) END, ARRAY[0, 1]) AS each
FROM generate_series(1, 3) AS x, (SELECT bloom_add(bloom_create(100000), 0) AS f OFFSET 0) AS t;
-- also in functions written in SQL that use an argument twice
CREATE FUNCTION twice(f bloom) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT concat(bloom_contains(bloom_add(f, 1), 1), bloom_contains(f, 1), bloom_contains(bloom_add(f, 2), 1)) $$;
CREATE FUNCTION twice_not_inlined(f bloom) RETURNS text LANGUAGE sql VOLATILE AS
$$ SELECT concat(bloom_contains(bloom_add(f, 1), 1), bloom_contains(f, 1), bloom_contains(bloom_add(f, 2), 1)) LIMIT 1 $$;
SELECT twice(bloom_add(bloom_create(100000), 0)), twice_not_inlined(bloom_add(bloom_create(100000), 0)),
	   twice_not_inlined(bloom_add(bloom_create(10), 0));
DROP FUNCTION twice, twice_not_inlined;
-- Nested calls pass on what they made
SELECT bloom_contains_each(bloom_add(bloom_add(bloom_add_all(bloom_add(bloom_create(c), 1), ARRAY[2, 3]), 4) | bloom_add(bloom_create(c), 5), 6),
						   ARRAY[1, 2, 3, 4, 5, 6, 7]) AS nested
FROM (VALUES (10), (100000)) AS v(c);

-- UPDATE and RETURNING: the new value is there, and only in its row
WITH updated AS (
	UPDATE stored SET f = bloom_add(f, -7) WHERE id IN (2, 3, 4, 13, 14, 15, 16, 17, 18, 19, 20, 21)
	RETURNING id, f @> -7 AS new, bloom_add(f, -8) @> -8 AS not_stored)
SELECT * FROM updated ORDER BY id;
SELECT id, f @> -7 AS updated, f @> -8 AS not_stored FROM stored WHERE id IN (2, 3, 4, 6, 11) OR id >= 13 ORDER BY id;
BEGIN;
UPDATE stored SET f = bloom_clear(f);
SELECT count(*) FILTER (WHERE f @> 1) AS found FROM stored;
ROLLBACK;
SELECT count(*) FILTER (WHERE f @> 1) AS found FROM stored;
INSERT INTO stored SELECT id + 100, what, bloom_add(f, -9) FROM stored WHERE id < 5 OR id >= 13;
SELECT s.id, s.f @> -9 AS source, t.f @> -9 AS copy FROM stored s JOIN stored t ON t.id = s.id + 100 ORDER BY s.id;
DELETE FROM stored WHERE id > 100;
CREATE FUNCTION keep_up() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN UPDATE stored SET f = bloom_add(f, NEW.x) WHERE id IN (3, 4, 14); RETURN NEW; END $$;
CREATE TABLE source (x int);
CREATE TRIGGER keep_up AFTER INSERT ON source FOR EACH ROW EXECUTE FUNCTION keep_up();
INSERT INTO source VALUES (-11), (-12);
SELECT id, bloom_contains_each(f, ARRAY[-11, -12, -13]) AS by_trigger FROM stored WHERE id IN (3, 4, 6, 14) ORDER BY id;
DROP TABLE source;
DROP FUNCTION keep_up;

-- Cursors, also held ones, and prepared statements
BEGIN;
DECLARE filters CURSOR FOR SELECT id, f @> 1 AS one, f @> -1 AS minus_one FROM stored WHERE id IN (3, 4) ORDER BY id;
DECLARE held CURSOR WITH HOLD FOR SELECT bloom_add(f, -1) @> -1 AS added, octet_length(bloom_add(f, -1)::bytea) = octet_length(f::bytea) AS same_size FROM stored WHERE id = 4;
FETCH 1 FROM filters;
FETCH 1 FROM filters;
COMMIT;
FETCH 1 FROM held;
CLOSE held;
PREPARE by_id(int, int) AS SELECT f @> $2 AS found, bloom_add(f, $2) @> $2 AS added FROM stored WHERE id = $1;
EXECUTE by_id(4, 1);
EXECUTE by_id(4, -1);
EXECUTE by_id(3, -1);
PREPARE with_filter(bloom) AS SELECT bloom_add($1, 1) @> 1 AS added, $1 @> 1 AS before;
EXECUTE with_filter(bloom_create(100000));
SET plan_cache_mode = force_generic_plan;
EXECUTE with_filter(bloom_create(100000));
EXECUTE with_filter(bloom_create(10));
RESET plan_cache_mode;
DEALLOCATE ALL;

--
-- cuckoo: in every form, too
--
CREATE TABLE cuckoos (id int PRIMARY KEY, what text, f cuckoo);
INSERT INTO cuckoos VALUES
	(1, 'empty: a short header', (SELECT cuckoo_agg(1) WHERE false)),
	(2, 'in the row', cuckoo_add_all(cuckoo_create(500), ARRAY(SELECT generate_series(1, 500)))),
	(3, 'external', cuckoo_add_all(cuckoo_create(50000), ARRAY(SELECT generate_series(1, 50000)))),
	(4, 'external, grown', cuckoo_add_all(cuckoo_create(500), ARRAY(SELECT generate_series(1, 50000))));
ALTER TABLE cuckoos ALTER f SET STORAGE extended;
INSERT INTO cuckoos VALUES
	(5, 'compressed', cuckoo_add_all(cuckoo_create(20000), ARRAY(SELECT generate_series(1, 50)))),
	(6, 'compressed and external', cuckoo_add_all(cuckoo_create(2000000), ARRAY(SELECT generate_series(1, 10000))));
ALTER TABLE cuckoos ALTER f SET STORAGE main;
INSERT INTO cuckoos VALUES (7, 'main, compressed', cuckoo_add_all(cuckoo_create(20000), ARRAY(SELECT generate_series(1, 50))));
ALTER TABLE cuckoos ALTER f SET STORAGE plain;
INSERT INTO cuckoos VALUES (8, 'plain', cuckoo_add_all(cuckoo_create(500), ARRAY(SELECT generate_series(1, 500))));
ALTER TABLE cuckoos ALTER f SET STORAGE external;
SELECT what, pg_column_size(f) < bytes AS compressed, bytes = octet_length(f::bytea) - 8 AS whole, elements > 0 AS filled
FROM cuckoos, LATERAL cuckoo_info(f) ORDER BY id;
SELECT what, f @> 1 AS one, 1 <@ f AS contained, cuckoo_count(f, 1) AS count, cuckoo_contains_any(f, ARRAY[-1, 1]) AS "any", (cuckoo_contains_each(f, ARRAY[1, -1]))[1] AS each,
	   f = f AS "=", f <> f AS "<>", cuckoo_add(f, -1) @> -1 AS added, cuckoo_count(cuckoo_add_all(f, ARRAY[-1, -1]), -1) >= 2 AS all_added, cuckoo_cardinality(cuckoo_remove(f, 1)) = elements - (id <> 1)::int AS removed,
	   cuckoo_cardinality(cuckoo_remove_all(f, ARRAY[1, 2, 3])) = greatest(elements - 3, 0) AS all_removed, cuckoo_replace(f, 1, -1) @> -1 AS replaced, cuckoo_contains(f | cuckoo_clear(f), 1) AS united, cuckoo_clear(f) @> 1 AS cleared,
	   cuckoo_contains(cuckoo_compact(f), 1) AS compacted, cuckoo_error_rate(f) = estimated_error_rate AS error_rate, f::text::cuckoo = f AS text
FROM cuckoos, LATERAL cuckoo_info(f) ORDER BY id;
-- A value used several times in a query is the same for each use: nothing writes
-- into it
SELECT what, cuckoo_remove(f, 1) = f AS removed, f @> 1 AS before, cuckoo_count(cuckoo_add(f, 1), 1) AS added, cuckoo_count(f, 1) AS after,
	   cuckoo_count(cuckoo_remove(cuckoo_add(f, 1), 1), 1) = cuckoo_count(f, 1) AS nested, cuckoo_remove_all(f, ARRAY[1, 2]) @> 2 AND cuckoo_replace(f, 2, 1) @> 2 AS elsewhere, f @> 2 AS still
FROM (SELECT id, what, f FROM cuckoos WHERE id IN (2, 3, 7) OFFSET 0) AS t ORDER BY id;
SELECT cuckoo_remove(f, 1) @> 1 AS removed, f @> 1 AS before, cuckoo_cardinality(f | f) AS united, cuckoo_cardinality(cuckoo_compact(f)) AS compacted, cuckoo_cardinality(cuckoo_clear(f)) AS cleared, cuckoo_cardinality(f) AS after, f = g AS untouched
FROM (SELECT cuckoo_add(cuckoo_create(c), 1) AS f, cuckoo_add(cuckoo_create(c), 1) AS g FROM (VALUES (10), (100000)) AS v(c) OFFSET 0) AS t;
WITH updated AS (
	UPDATE cuckoos SET f = cuckoo_replace(f, 1, -7) WHERE id IN (2, 3, 4)
	RETURNING id, f @> -7 AS new, cuckoo_remove(f, -7) @> -7 AS not_stored)
SELECT * FROM updated ORDER BY id;
BEGIN;
UPDATE cuckoos SET f = cuckoo_remove_all(f, ARRAY(SELECT generate_series(1, 50)));
ROLLBACK;
SELECT id, f @> -7 AS updated, cuckoo_contains_all(f, ARRAY(SELECT generate_series(2, 50))) AS rolled_back FROM cuckoos WHERE id > 1 ORDER BY id;
DROP TABLE cuckoos;

--
-- PL/pgSQL variables
--
DO $$
DECLARE
	f	bloom := bloom_create(20000);
	g	bloom;
	c	CONSTANT bloom := bloom_add(bloom_create(20000), 'constant');
	a	bloom[] := '{}';
	r	record;
BEGIN
	-- one at a time
	FOR i IN 1 .. 300
	LOOP
		f := bloom_add(f, 'element ' || i);
	END LOOP;
	RAISE NOTICE 'looped: %', (SELECT bool_and(f @> ('element ' || i)) FROM generate_series(1, 300) AS i);

	-- an assignment copies
	g := f;
	g := bloom_add(g, 'only in g');
	RAISE NOTICE 'copied: % %', f @> 'only in g', g @> 'only in g';

	-- a constant stays one
	g := bloom_add(c, 'x');
	g := bloom_add_all(g, ARRAY['y']) | bloom_add(c, 'z');
	RAISE NOTICE 'constant: % %', c = bloom_add(bloom_create(20000), 'constant'), bloom_contains_all(g, ARRAY['constant', 'x', 'y', 'z']);

	-- used twice in one expression
	RAISE NOTICE 'twice: % %', bloom_add(f, 'new') @> 'new', f @> 'new';
	g := bloom_add(f, 'g1') | bloom_add(f, 'g2');
	RAISE NOTICE 'both: % %', bloom_contains_each(g, ARRAY['g1', 'g2', 'element 1']), bloom_contains_each(f, ARRAY['g1', 'g2', 'element 1']);

	-- in arrays and records
	FOR i IN 1 .. 3
	LOOP
		a := a || bloom_add(bloom_create(10), i);
	END LOOP;
	a[2] := bloom_add(a[2], 20);
	RAISE NOTICE 'array: %', (SELECT array_agg(bloom_contains_each(x, ARRAY[1, 2, 3, 20])::text) FROM unnest(a) AS x);
	SELECT f AS f, 1 AS n INTO r;
	r.f := bloom_add(r.f, 'in record');
	RAISE NOTICE 'record: % %', r.f @> 'in record', f @> 'in record';

	-- stored and read back
	SELECT s.f INTO g FROM stored AS s WHERE id = 4;
	g := bloom_add(g, -21);
	RAISE NOTICE 'read: % %', g @> -21, (SELECT s.f @> -21 FROM stored AS s WHERE id = 4);

	-- NULL
	g := NULL;
	g := bloom_add(g, 1);
	RAISE NOTICE 'null: %', g IS NULL;
END
$$;
-- An error inside a loop leaves the filter whole
DO $$
DECLARE
	f		bloom := bloom_create(100000);
	fixed	bloom;
	before	bloom;
	made_for int;
BEGIN
	FOR i IN 1 .. 100
	LOOP
		before := f;
		BEGIN
			IF i % 10 = 0 THEN
				f := bloom_add(bloom_add(f, i), 'not a number');
			ELSE
				f := bloom_add(f, i);
			END IF;
		EXCEPTION WHEN datatype_mismatch THEN
			IF f <> before THEN
				RAISE NOTICE 'changed at %', i;
			END IF;
		END;
	END LOOP;
	RAISE NOTICE 'added: %, failed: %', (SELECT count(*) FROM generate_series(1, 100) AS i WHERE f @> i AND i % 10 <> 0),
		(SELECT count(*) FROM generate_series(1, 100) AS i WHERE f @> i AND i % 10 = 0);
	FOREACH made_for IN ARRAY ARRAY[1000, 2000]
	LOOP
		fixed := bloom_add_all(bloom_create(made_for, growth => 0), ARRAY(SELECT generate_series(1, 900)));
		before := fixed;
		BEGIN
			fixed := bloom_add_all(fixed, ARRAY(SELECT generate_series(1000, 3500)));
		EXCEPTION WHEN program_limit_exceeded THEN
			RAISE NOTICE 'full: %, as before: %, sound: %', SQLERRM, fixed = before, fixed::bytea::bloom = before;
		END;
		BEGIN
			fixed := bloom_add(fixed, 5000) | bloom_add(bloom_create(made_for), 1);
		EXCEPTION WHEN invalid_parameter_value THEN
			RAISE NOTICE 'unlike: as before: %', fixed = before;
		END;
	END LOOP;
END
$$;
DROP TABLE stored;
