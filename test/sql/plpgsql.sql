-- Filters in variables of PL/pgSQL.  From PostgreSQL 18 on, f := bloom_add(f, x)
-- changes the variable's value in place, which only the time that it takes may
-- show.  (storage.sql has the simple cases.)
--
-- A filter of 100,000 elements is large enough to be changed in place, those of
-- 100 and 2,000, which have different layouts, are not; nor is one in an assignment
-- that has a subquery, or that comes from such an assignment, until bloom_add() has
-- made it so.
\set ON_ERROR_STOP on
CREATE TABLE sizes (capacity int);
INSERT INTO sizes VALUES (100), (2000), (100000);

-- A loop makes the same bytes as one statement, alone and nested
CREATE FUNCTION in_a_loop(capacity int, elements int) RETURNS bloom
LANGUAGE plpgsql AS $$
DECLARE
	f bloom := bloom_create(capacity);
BEGIN
	FOR i IN 1 .. elements LOOP
		f := bloom_add(f, i);
	END LOOP;
	RETURN f;
END
$$;
CREATE FUNCTION in_a_loop_nested(capacity int, elements int) RETURNS bloom
LANGUAGE plpgsql AS $$
DECLARE
	f bloom := bloom_create(capacity);
BEGIN
	FOR i IN 1 .. elements BY 4 LOOP
		f := bloom_add(bloom_add(bloom_add_all(f, ARRAY[i, i + 1]), i + 2), i + 3);
	END LOOP;
	RETURN f;
END
$$;
\set ON_ERROR_STOP off
SELECT capacity, elements, all_at_once = in_a_loop(capacity, elements) AS looped,
	all_at_once = in_a_loop_nested(capacity, elements) AS nested
FROM sizes, unnest(ARRAY[40, 80]) elements,
LATERAL (SELECT bloom_add_all(bloom_create(capacity), array_agg(i)) AS all_at_once
		 FROM generate_series(1, elements) i) a;

-- It grows as it goes
SELECT capacity, (bloom_info(f)).layers > 1 AS grown,
	(SELECT bool_and(bloom_contains(f, i)) FROM generate_series(1, elements) i) AS has_all
FROM (VALUES (100, 1000), (20000, 50000)) v (capacity, elements),
LATERAL in_a_loop(capacity, elements) f;

-- The empty filter, which becomes explicit, then one with layers
DO $$
DECLARE
	f bloom := (SELECT bloom_agg(1) WHERE false);
	layout text;
	before text := '';
BEGIN
	FOR i IN 1 .. 1100 LOOP
		layout := (bloom_info(f)).layout;
		IF layout <> before THEN
			RAISE NOTICE 'before element %: %', i, layout;
			before := layout;
		END IF;
		f := bloom_add(f, i);
	END LOOP;
	RAISE NOTICE 'has all: %', (SELECT bool_and(bloom_contains(f, i)) FROM generate_series(1, 1100) i);
END
$$;

-- A copy is its own, whichever of the two is changed
DO $$
DECLARE
	f bloom;
	g bloom;
	h bloom;
	size int;
BEGIN
	FOR size IN SELECT capacity FROM sizes ORDER BY capacity DESC LOOP
		f := bloom_add(bloom_create(size), 1);
		g := f;
		f := bloom_add(f, 2);
		h := f;
		g := bloom_add(g, 3);
		f := bloom_add_all(f, ARRAY[4]);
		g := bloom_union(g, bloom_add(bloom_create(size), 5));
		RAISE NOTICE 'f %, g %, h %', bloom_contains_each(f, ARRAY[1, 2, 3, 4, 5]),
			bloom_contains_each(g, ARRAY[1, 2, 3, 4, 5]), bloom_contains_each(h, ARRAY[1, 2, 3, 4, 5]);
		g := bloom_intersection(g, f);
		h := bloom_clear(h);
		RAISE NOTICE 'f %, g %, h %', bloom_contains_each(f, ARRAY[1, 2, 3, 4, 5]),
			bloom_contains_each(g, ARRAY[1, 2, 3, 4, 5]), bloom_contains_each(h, ARRAY[1, 2, 3, 4, 5]);
	END LOOP;
END
$$;

-- The variable also stands in the other arguments
DO $$
DECLARE
	f bloom;
	g bloom;
	size int;
	nothing int[] := '{}';
BEGIN
	FOR size IN SELECT capacity FROM sizes ORDER BY capacity DESC LOOP
		f := bloom_add(bloom_create(size), 1);
		f := bloom_add(f, (bloom_cardinality(f) + 1)::int);
		f := bloom_add_all(f, ARRAY[bloom_contains(f, 3)::int + 3, bloom_contains(f, 2)::int + 4]);
		g := f;
		f := bloom_union(f, f);
		RAISE NOTICE 'with itself: %', f = g;
		f := bloom_intersection(f, f);
		RAISE NOTICE 'with itself: %', f = g;
		f := bloom_union(bloom_add(f, 6), bloom_add(f, 7));
		f := bloom_add(CASE WHEN bloom_contains(f, 6) THEN f ELSE g END, 8);
		RAISE NOTICE 'f %, g %', bloom_contains_each(f, ARRAY[1, 2, 3, 4, 5, 6, 7, 8]),
			bloom_contains_each(g, ARRAY[1, 2, 3, 4, 5, 6, 7, 8]);
	END LOOP;
	-- explicit ones, in place from some thousand hashes
	FOR i IN 1 .. 10 LOOP
		f := bloom_add_all((SELECT bloom_agg(1) WHERE false), ARRAY(SELECT generate_series(1, 1020)));
		f := bloom_add_all(f, nothing);
		f := bloom_union(f, f);
		f := bloom_union(f, bloom_union(f, f));
	END LOOP;
	RAISE NOTICE 'explicit with itself: %, has all: %', (bloom_info(f)).elements,
		(SELECT bool_and(bloom_contains(f, i)) FROM generate_series(1, 1020) i);
END
$$;

-- An error leaves the variable as it was, wherever in the statement it comes
CREATE FUNCTION fails(x int) RETURNS int
LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION 'failed' USING ERRCODE = 'data_exception';
END
$$;
DO $$
DECLARE
	f bloom;
	before bytea;
	size int;
	n int;
BEGIN
	FOR size IN SELECT capacity FROM sizes ORDER BY capacity DESC LOOP
		f := bloom_add(bloom_create(size), 1);
		f := bloom_add_all(f, ARRAY[2, 3]);
		before := f::bytea;
		FOR n IN 1 .. 9 LOOP
			BEGIN
				CASE n
					WHEN 1 THEN f := bloom_add(f, 'x');
					WHEN 2 THEN f := bloom_add(bloom_add(f, 10), 'x');
					WHEN 3 THEN f := bloom_add(bloom_add(f, 'x'), 10);
					WHEN 4 THEN f := bloom_add_all(f, ARRAY['x', 'y']);
					WHEN 5 THEN f := bloom_add(bloom_add(f, 10), fails(1));
					WHEN 6 THEN f := bloom_add_all(bloom_add(f, 10), ARRAY[11, fails(1)]);
					WHEN 7 THEN f := bloom_union(f, bloom_create(size + 1));
					WHEN 8 THEN f := bloom_union(bloom_add(f, 10), bloom_create(size, seed => 1));
					WHEN 9 THEN f := bloom_intersection(bloom_add(f, 10), bloom_create_bits(1000, 3));
				END CASE;
				RAISE NOTICE '%: no error', n;
			EXCEPTION WHEN datatype_mismatch OR invalid_parameter_value OR data_exception THEN
				RAISE NOTICE '%: %', n, SQLERRM;
			END;
			IF f::bytea <> before THEN
				RAISE NOTICE '%: changed', n;
			END IF;
		END LOOP;
		-- and may be used as before
		f := bloom_add(f, 4);
		RAISE NOTICE 'afterwards: %', bloom_contains_each(f, ARRAY[1, 2, 3, 4, 10, 11]);
	END LOOP;
END
$$;

-- A full fixed filter raises an error, and has none of the refused elements.  (After an error a statement may be run without changing anything in
-- place, so each is run once only with a large filter.)
DO $$
DECLARE
	f bloom;
	other bloom;
	before bytea;
	size int;
	n int;
	half int[];
	many int[];
BEGIN
	FOR size IN SELECT capacity FROM sizes ORDER BY capacity DESC LOOP
		half := ARRAY(SELECT generate_series(1, size / 2));
		many := ARRAY(SELECT generate_series(1, size * 2));

		f := bloom_create(size, growth => 0);
		f := bloom_add_all(f, many[:size]);
		n := size;
		BEGIN
			LOOP
				n := n + 1;
				before := f::bytea;
				f := bloom_add(f, n);
			END LOOP;
		EXCEPTION WHEN program_limit_exceeded THEN
			RAISE NOTICE 'one by one: %, as before: %, has all: %', SQLERRM, f::bytea = before,
				(SELECT bool_and(bloom_contains(f, i)) FROM generate_series(1, n - 1) i);
		END;

		f := bloom_create(size, growth => 0);
		f := bloom_add_all(f, half);
		before := f::bytea;
		BEGIN
			f := bloom_add_all(f, many);
		EXCEPTION WHEN program_limit_exceeded THEN
			RAISE NOTICE 'many: %, as before: %', SQLERRM, f::bytea = before;
		END;

		f := bloom_create(size, growth => 0);
		f := bloom_add_all(f, half);
		BEGIN
			f := bloom_add(bloom_add_all(bloom_add(f, -1), many), -2);
		EXCEPTION WHEN program_limit_exceeded THEN
			RAISE NOTICE 'nested: %, as before: %', SQLERRM, f::bytea = before;
		END;

		f := bloom_create(size, growth => 0);
		f := bloom_add_all(f, half);
		other := bloom_add_all(bloom_create(size, growth => 0), many[size + 1 :]);
		BEGIN
			f := bloom_union(f, other);
		EXCEPTION WHEN program_limit_exceeded THEN
			RAISE NOTICE 'union: %, as before: %', SQLERRM, f::bytea = before;
		END;
	END LOOP;
END
$$;
-- The same with an explicit filter
DO $$
DECLARE
	f bloom;
	other bloom;
	before bytea;
	size int := 10000;
BEGIN
	f := bloom_create(size, growth => 0);
	f := bloom_add_all(f, ARRAY(SELECT generate_series(1, 10000)));
	f := bloom_add(f, 1);
	FOR i IN 1 .. 10 LOOP
		before := f::bytea;
		other := bloom_add_all((SELECT bloom_agg(1) WHERE false),
							   ARRAY(SELECT generate_series(i * 100000, i * 100000 + 999)));
		f := bloom_union(f, other);
	END LOOP;
EXCEPTION WHEN program_limit_exceeded THEN
	RAISE NOTICE 'explicit: %, as before: %', SQLERRM, f::bytea = before;
END
$$;
-- Elements of two classes in one array, into a filter that has none
DO $$
DECLARE
	f bloom;
	size int := 100000;
	nothing int[] := '{}';
BEGIN
	f := bloom_create(size);
	f := bloom_add_all(f, nothing);
	BEGIN
		f := bloom_add_all(f, ARRAY[ROW(1, 1), ROW(1, 'x')]);
	EXCEPTION WHEN datatype_mismatch THEN
		RAISE NOTICE '%, as before: %', SQLERRM, f = bloom_create(size);
	END;
END
$$;

-- A variable is not rolled back with what follows
DO $$
DECLARE
	f bloom := bloom_create(100000);
BEGIN
	FOR i IN 1 .. 3 LOOP
		BEGIN
			f := bloom_add(f, i);
			PERFORM fails(i);
		EXCEPTION WHEN data_exception THEN
			f := bloom_add(f, -i);
		END;
	END LOOP;
	RAISE NOTICE 'handlers: %', bloom_contains_each(f, ARRAY[1, 2, 3, -1, -2, -3, 4]);
	COMMIT;
	f := bloom_add(f, 4);
	ROLLBACK;
	f := bloom_add(f, 5);
	RAISE NOTICE 'transactions: %', bloom_contains_each(f, ARRAY[1, 2, 3, 4, 5, 6]);
END
$$;

-- An argument is the callee's own
CREATE FUNCTION changes(f bloom, x int) RETURNS bloom
LANGUAGE plpgsql AS $$
BEGIN
	f := bloom_add(f, x);
	f := bloom_add(f, x + 1);
	RETURN f;
END
$$;
CREATE PROCEDURE changes_inout(INOUT f bloom, x int)
LANGUAGE plpgsql AS $$
BEGIN
	f := bloom_add(f, x);
END
$$;
DO $$
DECLARE
	f bloom;
	g bloom;
	size int;
BEGIN
	FOR size IN SELECT capacity FROM sizes LOOP
		f := bloom_add(bloom_create(size), 1);
		g := changes(f, 10);
		PERFORM changes(f, 20);
		RAISE NOTICE 'f %, g %', bloom_contains_each(f, ARRAY[1, 10, 11, 20, 21]),
			bloom_contains_each(g, ARRAY[1, 10, 11, 20, 21]);
		f := changes(changes(f, 30), 40);
		CALL changes_inout(f, 50);
		CALL changes_inout(g, 60);
		RAISE NOTICE 'f %, g %', bloom_contains_each(f, ARRAY[1, 10, 30, 31, 40, 41, 50, 60]),
			bloom_contains_each(g, ARRAY[1, 10, 30, 31, 40, 41, 50, 60]);
	END LOOP;
END
$$;
SELECT capacity, bloom_contains_each(f, ARRAY[1, 10, 11]) AS f, bloom_contains_each(changes(f, 10), ARRAY[1, 10, 11]) AS changed,
	bloom_contains_each(f, ARRAY[1, 10, 11]) AS f_after
FROM (SELECT capacity, bloom_add(bloom_create(capacity), 1) AS f FROM sizes OFFSET 0) s;

-- Values passed on do not change any more: rows returned, rows stored, and a
-- query that is being read
CREATE FUNCTION prefixes(capacity int) RETURNS SETOF bloom
LANGUAGE plpgsql AS $$
DECLARE
	f bloom := bloom_create(capacity);
BEGIN
	FOR i IN 1 .. 3 LOOP
		f := bloom_add(f, i);
		RETURN NEXT f;
	END LOOP;
END
$$;
SELECT capacity, bloom_contains_each(f, ARRAY[1, 2, 3]) FROM sizes, prefixes(capacity) f;
CREATE TABLE kept (n int, f bloom);
DO $$
DECLARE
	f bloom := bloom_create(100000);
	probed CURSOR (f bloom) FOR SELECT n, bloom_contains(f, n) AS found FROM generate_series(1, 4) n;
	n int;
	found boolean;
	answers text := '';
BEGIN
	FOR i IN 1 .. 3 LOOP
		f := bloom_add(f, i);
		INSERT INTO kept VALUES (i, f);
		EXECUTE 'INSERT INTO kept VALUES (-$1, $2)' USING i, f;
	END LOOP;
	-- the query's filter is that of its beginning
	FOR n, found IN SELECT i, bloom_contains(f, i) FROM generate_series(1, 6) i LOOP
		f := bloom_add(f, n + 1);
		answers := answers || left(found::text, 1);
	END LOOP;
	RAISE NOTICE 'loop: %', answers;
	answers := '';
	f := bloom_add(bloom_create(100000), 1);
	FOR r IN probed(f) LOOP
		f := bloom_add(f, r.n + 1);
		answers := answers || left(r.found::text, 1);
	END LOOP;
	RAISE NOTICE 'cursor: %, afterwards: %', answers, bloom_contains_each(f, ARRAY[1, 2, 3, 4, 5, 6]);
END
$$;
SELECT n, bloom_contains_each(f, ARRAY[1, 2, 3]) FROM kept ORDER BY n;

-- Read from a table, changed, not written back
DO $$
DECLARE
	f bloom;
	again bloom;
BEGIN
	SELECT k.f INTO f FROM kept k WHERE n = 1;
	f := bloom_add(f, 7);
	SELECT k.f INTO again FROM kept k WHERE n = 1;
	RAISE NOTICE 'changed %, stored %', bloom_contains(f, 7), bloom_contains(again, 7);
	UPDATE kept k SET f = bloom_add(k.f, 8) WHERE n = 1 RETURNING k.f INTO f;
	f := bloom_add(f, 9);
	RAISE NOTICE 'changed %, stored %', bloom_contains_each(f, ARRAY[8, 9]),
		(SELECT bloom_contains_each(k.f, ARRAY[8, 9]) FROM kept k WHERE n = 1);
END
$$;

-- Elements of arrays, fields of composite variables
CREATE TYPE named AS (name text, f bloom);
DO $$
DECLARE
	a bloom[] := ARRAY[bloom_create(100000), bloom_create(100), NULL];
	b bloom[];
	c named := ROW('c', bloom_create(100000));
	d named;
	r record;
	f bloom;
BEGIN
	b := a;
	FOR i IN 1 .. 20 LOOP
		a[1 + i % 2] := bloom_add(a[1 + i % 2], i);
		a[3] := bloom_add(a[3], i);
	END LOOP;
	RAISE NOTICE 'array: % %, null: %, copied: %', bloom_contains_each(a[1], ARRAY[1, 2, 19, 20]),
		bloom_contains_each(a[2], ARRAY[1, 2, 19, 20]), a[3] IS NULL, bloom_contains_each(b[1], ARRAY[2, 20]);
	f := a[1];
	a[1] := bloom_add(a[1], 30);
	f := bloom_add(f, 40);
	a[4] := f;
	f := bloom_add(f, 50);
	RAISE NOTICE 'element: % % %', bloom_contains_each(a[1], ARRAY[20, 30, 40, 50]),
		bloom_contains_each(a[4], ARRAY[20, 30, 40, 50]), bloom_contains_each(f, ARRAY[20, 30, 40, 50]);
	FOREACH f IN ARRAY a[1:2] LOOP
		f := bloom_add(f, 60);
	END LOOP;
	RAISE NOTICE 'foreach: % %', bloom_contains(a[1], 60), bloom_contains(a[2], 60);

	d := c;
	FOR i IN 1 .. 3 LOOP
		c.f := bloom_add(c.f, i);
	END LOOP;
	d.f := bloom_add(bloom_add(d.f, 4), 5);
	r := c;
	r.f := bloom_add(r.f, 6);
	f := c.f;
	f := bloom_add(f, 7);
	RAISE NOTICE 'c %, d %, r %, f %', bloom_contains_each(c.f, ARRAY[1, 2, 3, 4, 5, 6, 7]),
		bloom_contains_each(d.f, ARRAY[1, 2, 3, 4, 5, 6, 7]), bloom_contains_each(r.f, ARRAY[1, 2, 3, 4, 5, 6, 7]),
		bloom_contains_each(f, ARRAY[1, 2, 3, 4, 5, 6, 7]);
	BEGIN
		c.f := bloom_add(bloom_add(c.f, 8), 'x');
	EXCEPTION WHEN datatype_mismatch THEN
		RAISE NOTICE 'field after an error: %', bloom_contains_each(c.f, ARRAY[1, 2, 3, 8]);
	END;
END
$$;

--
-- cuckoo: its functions change a variable in place, too, and leave it whole
--
-- A loop makes the same bytes as one statement; what is removed is removed
DO $$
DECLARE
	f cuckoo;
	g cuckoo;
	h cuckoo;
	size int;
	number int;
BEGIN
	FOR size IN SELECT capacity FROM sizes ORDER BY capacity DESC LOOP
		f := cuckoo_create(size);
		FOR i IN 1 .. 200 LOOP
			f := cuckoo_add(f, i);
		END LOOP;
		RAISE NOTICE 'looped: %', f = cuckoo_add_all(cuckoo_create(size), ARRAY(SELECT generate_series(1, 200)));
		g := f;
		FOR i IN 1 .. 200 LOOP
			f := cuckoo_remove(f, i);
			f := cuckoo_add_unique(f, i + 200);
			f := cuckoo_add_unique(f, i + 200);
			f := cuckoo_replace(f, i + 200, i + 400);
		END LOOP;
		h := f;
		f := cuckoo_remove_all(cuckoo_add(cuckoo_remove(f, 401), 1), ARRAY[402, 403]);
		RAISE NOTICE 'changed: % %, copy: % %, before: %', cuckoo_contains_each(f, ARRAY[1, 2, 401, 402, 403, 404]), cuckoo_cardinality(f),
			cuckoo_contains_all(h, ARRAY(SELECT generate_series(401, 600))), cuckoo_cardinality(h), cuckoo_contains_all(g, ARRAY(SELECT generate_series(1, 200)));
		g := f;
		f := cuckoo_union(f, f);
		f := cuckoo_union(f, cuckoo_remove(f, 404));
		RAISE NOTICE 'with itself: % %, copy: %', cuckoo_count(f, 405), cuckoo_count(f, 404), cuckoo_count(g, 405);
		f := cuckoo_add(f, (cuckoo_cardinality(f) + 100000)::int);
		number := cuckoo_cardinality(g) * 4 + 100000 - 1;
		RAISE NOTICE 'probed while changed: %', f @> number;
		f := cuckoo_remove_all(f, ARRAY(SELECT generate_series(1, 600)));
		f := cuckoo_compact(f);
		RAISE NOTICE 'compact, and changed on: %', cuckoo_contains_each(cuckoo_add(f, -1), ARRAY[-1, -2]);
		f := cuckoo_clear(f);
		RAISE NOTICE 'cleared: %', f = cuckoo_create(size, element_type => 'int');
	END LOOP;
END
$$;
-- An error leaves the variable as it was, wherever in the statement it comes
DO $$
DECLARE
	f cuckoo;
	before bytea;
	size int;
	n int;
BEGIN
	FOR size IN SELECT capacity FROM sizes ORDER BY capacity DESC LOOP
		f := cuckoo_add(cuckoo_create(size), 1);
		f := cuckoo_add_all(f, ARRAY[2, 3]);
		before := f::bytea;
		FOR n IN 1 .. 12 LOOP
			BEGIN
				CASE n
					WHEN 1 THEN f := cuckoo_remove(f, 'x');
					WHEN 2 THEN f := cuckoo_remove(cuckoo_remove(f, 1), 'x');
					WHEN 3 THEN f := cuckoo_add(cuckoo_remove(f, 1), 'x');
					WHEN 4 THEN f := cuckoo_remove_all(f, ARRAY['x', 'y']);
					WHEN 5 THEN f := cuckoo_remove(cuckoo_add(f, 10), fails(1));
					WHEN 6 THEN f := cuckoo_remove_all(cuckoo_remove(f, 2), ARRAY[3, fails(1)]);
					WHEN 7 THEN f := cuckoo_union(cuckoo_remove(f, 1), cuckoo_create(size + 1));
					WHEN 8 THEN f := cuckoo_replace(cuckoo_remove(f, 1), 2, fails(1));
					WHEN 9 THEN f := cuckoo_replace(f, 'x', 'y');
					WHEN 10 THEN f := cuckoo_replace(cuckoo_compact(cuckoo_remove(f, 1)), ROW(1), ROW(2));
					WHEN 11 THEN f := cuckoo_add_unique(cuckoo_add_unique(f, 10), 'x');
					WHEN 12 THEN f := cuckoo_union(cuckoo_union(f, f), bloom_create(size)::text::cuckoo);
				END CASE;
				RAISE NOTICE '%: no error', n;
			EXCEPTION WHEN datatype_mismatch OR invalid_parameter_value OR data_exception THEN
				RAISE NOTICE '%: %', n, SQLERRM;
			END;
			IF f::bytea <> before THEN
				RAISE NOTICE '%: changed', n;
			END IF;
		END LOOP;
		f := cuckoo_replace(f, 1, 4);
		RAISE NOTICE 'afterwards: %', cuckoo_contains_each(f, ARRAY[1, 2, 3, 4, 10]);
	END LOOP;
END
$$;
-- A full fixed filter raises an error, and is as before
DO $$
DECLARE
	f cuckoo;
	other cuckoo;
	before bytea;
	size int;
	n int;
	half int[];
	many int[];
	absent int;
BEGIN
	FOR size IN SELECT capacity FROM sizes ORDER BY capacity DESC LOOP
		half := ARRAY(SELECT generate_series(1, size / 2));
		many := ARRAY(SELECT generate_series(1, size * 2));

		f := cuckoo_create(size, growth => 0);
		f := cuckoo_add_all(f, many[:size]);
		n := size;
		BEGIN
			LOOP
				n := n + 1;
				before := f::bytea;
				f := cuckoo_add(f, n);
			END LOOP;
		EXCEPTION WHEN program_limit_exceeded THEN
			RAISE NOTICE 'one by one: %, as before: %, has all: %', SQLERRM, f::bytea = before, cuckoo_contains_all(f, ARRAY(SELECT generate_series(1, n - 1)));
		END;

		-- each of its elements can be replaced
		FOR i IN 1 .. 100 LOOP
			f := cuckoo_replace(f, i, -i);
		END LOOP;
		RAISE NOTICE 'replaced: %', cuckoo_contains_all(f, ARRAY(SELECT generate_series(-100, -1)) || ARRAY(SELECT generate_series(101, n - 1)));
		-- but not one that is not in
		SELECT x INTO absent FROM generate_series(10 * size, 11 * size) AS x WHERE NOT cuckoo_contains(f, x) LIMIT 1;
		before := f::bytea;
		BEGIN
			f := cuckoo_replace(f, absent, -1000);
		EXCEPTION WHEN program_limit_exceeded THEN
			RAISE NOTICE 'replace: %, as before: %', SQLERRM, f::bytea = before;
		END;

		f := cuckoo_create(size, growth => 0);
		f := cuckoo_add_all(f, half);
		before := f::bytea;
		BEGIN
			f := cuckoo_add_all(f, many);
		EXCEPTION WHEN program_limit_exceeded THEN
			RAISE NOTICE 'many: %, as before: %', SQLERRM, f::bytea = before;
		END;

		f := cuckoo_create(size, growth => 0);
		f := cuckoo_add_all(f, half);
		BEGIN
			f := cuckoo_add(cuckoo_add_all(cuckoo_remove(f, 1), many), -2);
		EXCEPTION WHEN program_limit_exceeded THEN
			RAISE NOTICE 'nested: %, as before: %', SQLERRM, f::bytea = before;
		END;

		f := cuckoo_create(size, growth => 0);
		f := cuckoo_add_all(f, half);
		other := cuckoo_add_all(cuckoo_create(size, growth => 0), many[size + 1 :]);
		BEGIN
			f := cuckoo_union(f, other);
		EXCEPTION WHEN program_limit_exceeded THEN
			RAISE NOTICE 'union: %, as before: %', SQLERRM, f::bytea = before;
		END;
	END LOOP;
EXCEPTION WHEN program_limit_exceeded THEN
	RAISE NOTICE 'filled more than its capacity: %', SQLERRM;
END
$$;
-- Elements that are in three times each find no place long before the filter is
-- full.  Then, too, none of them is in.
DO $$
DECLARE
	f cuckoo;
	before bytea;
	size int;
	repeated int[];
BEGIN
	FOR size IN SELECT capacity FROM sizes ORDER BY capacity DESC LOOP
		repeated := ARRAY(SELECT i FROM generate_series(1, size / 4) AS i, generate_series(1, 3));
		f := cuckoo_create(size, growth => 0);
		f := cuckoo_add(f, -1);
		before := f::bytea;
		BEGIN
			f := cuckoo_add_all(f, repeated);
		EXCEPTION WHEN program_limit_exceeded THEN
			RAISE NOTICE 'repeated: %, as before: %', SQLERRM, f::bytea = before;
		END;
	END LOOP;
END
$$;
-- Read from a table, in a record, in an array, as an argument: each is its own
CREATE TABLE cuckoos (n int, f cuckoo);
CREATE FUNCTION changes_cuckoo(f cuckoo, x int) RETURNS cuckoo
LANGUAGE plpgsql AS $$
BEGIN
	f := cuckoo_remove(f, x);
	f := cuckoo_add(f, x + 1);
	RETURN f;
END
$$;
DO $$
DECLARE
	f cuckoo;
	g cuckoo;
	a cuckoo[];
	r record;
	size int;
BEGIN
	FOR size IN SELECT capacity FROM sizes ORDER BY capacity LOOP
		f := cuckoo_add(cuckoo_create(size), 1);
		INSERT INTO cuckoos VALUES (size, f);
		g := changes_cuckoo(f, 1);
		a := ARRAY[f, g];
		a[1] := cuckoo_remove(a[1], 1);
		SELECT f AS f INTO r;
		r.f := cuckoo_replace(r.f, 1, 9);
		f := cuckoo_add(f, 5);
		FOR i IN 1 .. 3 LOOP
			BEGIN
				f := cuckoo_replace(f, 5, 5 + i);
				PERFORM fails(1);
			EXCEPTION WHEN data_exception THEN
				f := cuckoo_replace(f, 5 + i, 5);
			END;
		END LOOP;
		RAISE NOTICE 'f %, g %, a % %, r %, stored %', cuckoo_contains_each(f, ARRAY[1, 2, 5, 6, 7, 8, 9]), cuckoo_contains_each(g, ARRAY[1, 2, 5, 6, 7, 8, 9]), cuckoo_contains_each(a[1], ARRAY[1, 2, 5]),
			cuckoo_contains_each(a[2], ARRAY[1, 2, 5]), cuckoo_contains_each(r.f, ARRAY[1, 9]), (SELECT cuckoo_contains_each(c.f, ARRAY[1, 2, 5]) FROM cuckoos AS c WHERE n = size);
		UPDATE cuckoos AS c SET f = cuckoo_remove(c.f, 1) WHERE n = size RETURNING c.f INTO g;
		g := cuckoo_add(g, 7);
		RAISE NOTICE 'g %, stored %', cuckoo_contains_each(g, ARRAY[1, 7]), (SELECT cuckoo_contains_each(c.f, ARRAY[1, 7]) FROM cuckoos AS c WHERE n = size);
	END LOOP;
END
$$;
DROP TABLE cuckoos;
DROP FUNCTION changes_cuckoo;

DROP TABLE sizes, kept;
DROP FUNCTION in_a_loop, in_a_loop_nested, fails, changes, prefixes;
DROP PROCEDURE changes_inout;
DROP TYPE named;
