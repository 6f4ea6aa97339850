--
-- cuckoo: taking elements out again, cuckoo_count, cuckoo_replace and
-- cuckoo_compact.  An element that was added and not removed must never be
-- missing.
--
\set ON_ERROR_STOP on
CREATE TEMP TABLE made (n int, what text, f cuckoo);
INSERT INTO made VALUES
	(1, 'small', cuckoo_create(100)), (2, 'precise', cuckoo_create(100, 1e-7)), (3, 'coarse', cuckoo_create(100, 0.5)),
	(4, 'fixed', cuckoo_create(100, 0.01, 0)), (5, 'keyed', cuckoo_create(100, 0.01, 2, 77)), (6, 'large', cuckoo_create(50000)),
	(7, 'least', cuckoo_create(1, 0.5, 0)), (8, 'empty', (SELECT cuckoo_agg(1) WHERE false));
\set ON_ERROR_STOP off

-- Added k times, it is in until removed k times; then the filter is as before,
-- but for the class, that it keeps
SELECT what, k, cuckoo_count(g, 'x') AS count, cuckoo_cardinality(g) AS elements, h @> 'x' AS while_some_are_left,
	   cuckoo_remove(h, 'x') = cuckoo_remove(cuckoo_add(f, 'x'), 'x') AS then_none, cuckoo_remove_all(g, array_fill('x'::text, ARRAY[k])) = cuckoo_remove(h, 'x') AS at_once,
	   cuckoo_remove(h, 'x') @> 'x' AS found, cuckoo_cardinality(cuckoo_remove(h, 'x')) AS left, cuckoo_add(cuckoo_remove(h, 'x'), 1::text) = cuckoo_add(f, '1') AS as_before
FROM made, generate_series(1, 3) AS k, LATERAL (SELECT cuckoo_add_all(f, array_fill('x'::text, ARRAY[k])) AS g) AS x,
	 LATERAL (SELECT cuckoo_remove_all(g, array_fill('x'::text, ARRAY[k - 1])) AS h) AS y
WHERE what <> 'empty' ORDER BY n, k;
-- (an empty one becomes a sized one)
SELECT k, cuckoo_count(g, 'x') AS count, cuckoo_contains(cuckoo_remove_all(g, array_fill('x'::text, ARRAY[k - 1])), 'x') AS while_some_are_left,
	   cuckoo_contains(cuckoo_remove_all(g, array_fill('x'::text, ARRAY[k])), 'x') AS found
FROM made, generate_series(1, 3) AS k, LATERAL (SELECT cuckoo_add_all(f, array_fill('x'::text, ARRAY[k])) AS g) AS x
WHERE what = 'empty' ORDER BY k;

-- Saturation: the fourth addition loses the count.  More additions and all
-- removals change nothing, not a byte.
SELECT what, k, cuckoo_count(g, 'x') AS count, cuckoo_cardinality(g) AS elements, g = cuckoo_add_all(f, array_fill('x'::text, ARRAY[4])) AS as_with_four,
	   cuckoo_add(g, 'x') = g AND cuckoo_add_unique(g, 'x') = g AS add, cuckoo_remove(g, 'x') = g AS remove, cuckoo_remove_all(g, array_fill('x'::text, ARRAY[1000])) = g AS remove_all,
	   cuckoo_replace(g, 'x', 'x') = g AS replace, cuckoo_remove(cuckoo_add(g, 'y'), 'y') = g AS others
FROM made, (VALUES (4), (5), (10), (100000)) AS k(k), LATERAL (SELECT cuckoo_add_all(f, array_fill('x'::text, ARRAY[k])) AS g OFFSET 0) AS x
WHERE what <> 'empty' ORDER BY n, k;
-- also one by one, and between others: 1,000 elements ten times each of ten
DO $$
DECLARE
	f	cuckoo := cuckoo_add_all(cuckoo_create(2000), ARRAY(SELECT generate_series(11, 1000)));
BEGIN
	FOR again IN 1 .. 1000
	LOOP
		FOR i IN 1 .. 10
		LOOP
			f := cuckoo_add(f, i);
		END LOOP;
	END LOOP;
	RAISE NOTICE 'layers: %, elements: %, all found: %', (cuckoo_info(f)).layers, cuckoo_cardinality(f), cuckoo_contains_all(f, ARRAY(SELECT generate_series(1, 1000)));
	f := cuckoo_remove_all(f, ARRAY(SELECT generate_series(1, 1000)));
	RAISE NOTICE 'removed: those that were added once are gone: %, the others found: %',
		(SELECT count(*) FROM generate_series(11, 1000) AS i WHERE cuckoo_contains(f, i)) <= 10, cuckoo_contains_all(f, ARRAY(SELECT generate_series(1, 10)));
END
$$;
-- and in whichever layer it is: saturated in an old one, it is left alone by all
-- that comes after the filter has grown
SELECT g, (cuckoo_info(f)).layers > 1 AS grown, cuckoo_count(f, 0) AS count, cuckoo_add(f, 0) = f AS add, cuckoo_add_all(f, array_fill(0, ARRAY[100])) = f AS add_all, cuckoo_remove(f, 0) = f AS remove
FROM (VALUES (1), (2), (16)) AS x(g), LATERAL (SELECT cuckoo_add_all(cuckoo_create(50, 1e-6, g), ARRAY[0, 0, 0, 0] || ARRAY(SELECT generate_series(1, 500))) AS f OFFSET 0) AS y ORDER BY g;
-- Where an element's two windows overlap there is room for three only
SELECT count(*) > 0 AS there_are, bool_and(cuckoo_count(g, x) = 3) AS three, bool_and(cuckoo_add(g, x) = g AND cuckoo_remove(g, x) = g) AS sticky,
	   bool_and(NOT cuckoo_remove_all(cuckoo_add_all(f, ARRAY[x, x]), ARRAY[x, x]) @> x) AS two_can_leave
FROM generate_series(1, 10000) AS x, (SELECT cuckoo_create(1, growth => 0) AS f OFFSET 0) AS m, LATERAL (SELECT cuckoo_add_all(f, array_fill(x, ARRAY[10])) AS g) AS t
WHERE cuckoo_count(g, x) <> 4;

-- Removing an absent element changes nothing, not a byte
SELECT what, count(*) FILTER (WHERE NOT g @> x) > 300 AS many_absent,
	   bool_and(cuckoo_remove(g, x) = g AND cuckoo_remove_all(g, ARRAY[x, x]) = g AND cuckoo_count(g, x) = 0) FILTER (WHERE NOT g @> x) AS unchanged,
	   bool_and(cuckoo_replace(g, x, 1) = cuckoo_add(g, 1)) FILTER (WHERE NOT g @> x) AS replaced_is_added,
	   bool_and(cuckoo_cardinality(cuckoo_remove(g, x)) = cuckoo_cardinality(g) - 1) FILTER (WHERE g @> x) AS or_one_less
FROM (SELECT n, what, cuckoo_add_all(f, ARRAY(SELECT generate_series(1, 90))) AS g FROM made WHERE what <> 'least' OFFSET 0) AS t, generate_series(1, 500) AS x
GROUP BY n, what ORDER BY n;
SELECT what, cuckoo_remove(f, 1) = f AS int, cuckoo_remove(f, 'x') = f AS text, cuckoo_remove_all(f, ARRAY[ROW(1)]) = f AS records, cuckoo_count(f, 'x') AS count
FROM made ORDER BY n;
-- NULLs and dimensions
SELECT cuckoo_remove(NULL, 1) IS NULL AS a, cuckoo_remove(f, NULL::int) = f AS b, cuckoo_remove_all(NULL, ARRAY[1]) IS NULL AS c,
	   cuckoo_remove_all(f, NULL::int[]) = f AS d, cuckoo_replace(NULL, 1, 2) IS NULL AS e, cuckoo_replace(f, NULL, 2) = cuckoo_add(f, 2) AS f,
	   cuckoo_replace(f, 1, NULL) = cuckoo_remove(f, 1) AS g, cuckoo_replace(f, NULL::int, NULL) = f AS h, cuckoo_remove_all(f, ARRAY[NULL, 1, NULL]) = cuckoo_remove(f, 1) AS nulls_passed_over,
	   cuckoo_remove_all(f, '{}'::int[]) = f AS no_elements, cuckoo_remove_all(f, ARRAY[NULL]::int[]) = f AS only_null,
	   cuckoo_remove_all(f, ARRAY[[1, 2], [3, 1]]) = cuckoo_remove_all(f, ARRAY[1, 2, 3, 1]) AS matrix, cuckoo_remove_all(f, '[0:1]={1,1}'::int[]) = cuckoo_remove_all(f, ARRAY[1, 1]) AS bounds
FROM (SELECT cuckoo_add_all(f, ARRAY[1, 1, 1, 2, 2, 3]) AS f FROM made WHERE what = 'small') AS t;

-- cuckoo_replace: one out, another in; the types are brought together
SELECT cuckoo_contains_each(cuckoo_replace(f, 1, 5), ARRAY[1, 2, 5]) AS replaced, cuckoo_replace(f, 1, 5) = cuckoo_add(cuckoo_remove(f, 1), 5) AS as_remove_and_add,
	   cuckoo_count(cuckoo_replace(f, 2, 5), 2) AS one_of_two_left, cuckoo_cardinality(cuckoo_replace(f, 2, 5)) AS elements,
	   cuckoo_count(cuckoo_replace(f, 1, 1), 1) AS by_itself, cuckoo_replace(f, 1, 5::bigint) = cuckoo_replace(f, 1::smallint, 5) AS by_class,
	   cuckoo_contains_each(cuckoo_replace(f, 7, 5), ARRAY[1, 2, 5, 7]) AS old_was_not_in
FROM (SELECT cuckoo_add_all(f, ARRAY[1, 2, 2]) AS f FROM made WHERE what = 'precise') AS t;
SELECT cuckoo_contains_each(cuckoo_replace(f, 1, 2), ARRAY[1, 2]) AS saturated_stays FROM (SELECT cuckoo_add_all(f, ARRAY[1, 1, 1, 1]) AS f FROM made WHERE what = 'precise') AS t;
SELECT cuckoo_contains(cuckoo_replace(f, 1, 2), 2) AS into_an_empty_one, cuckoo_contains(cuckoo_replace(cuckoo_create(10), 'x', 'y'), 'y') AS without_elements FROM made AS t WHERE what = 'empty';
-- in a fixed filter that is full: each of its elements can be replaced, one
-- after the other, again and again; but what is not in cannot
CREATE FUNCTION fill_up(c int) RETURNS cuckoo LANGUAGE plpgsql AS
$$
DECLARE
	f	cuckoo := cuckoo_create(c, growth => 0);
BEGIN
	LOOP
		f := cuckoo_add(f, (cuckoo_cardinality(f) + 1)::int);
	END LOOP;
EXCEPTION WHEN program_limit_exceeded THEN
	RETURN f;
END
$$;
CREATE FUNCTION replace_all(f cuckoo, times int) RETURNS text LANGUAGE plpgsql AS
$$
DECLARE
	n		int := cuckoo_cardinality(f);
	before	cuckoo;
	failed	boolean := false;
BEGIN
	FOR i IN 1 .. times * n
	LOOP
		f := cuckoo_replace(f, i, i + n);
	END LOOP;
	before := f;
	BEGIN
		f := cuckoo_replace(f, (SELECT x FROM generate_series(-1000, -1) AS x WHERE NOT cuckoo_contains(f, x) LIMIT 1), -2000);
	EXCEPTION WHEN program_limit_exceeded THEN
		failed := true;
	END;
	RETURN format('complete: %s, as many: %s, absent: %s, as before: %s', cuckoo_contains_all(f, ARRAY(SELECT generate_series(times * n + 1, (times + 1) * n))),
		cuckoo_cardinality(f) = n, failed, f = before);
END
$$;
SELECT c, cuckoo_cardinality(fill_up(c)) >= c AS "full", replace_all(fill_up(c), 3) FROM (VALUES (1), (10), (100), (3000)) AS t(c);
SELECT cuckoo_replace(fill_up(10), -(SELECT min(x) FROM generate_series(1, 1000) AS x WHERE NOT fill_up(10) @> -x)::int, -2000);
DROP FUNCTION fill_up, replace_all;

-- Removing from grown filters.  Elements are coarse there, and layers many, so
-- that those in old layers match entries of others in new ones: the remaining
-- ones are found, whichever are removed.
DO $$
DECLARE
	f		cuckoo;
	matches	int := 0;
	lost	int := 0;
	growths	int[] := '{1,2,3,4,16}';
BEGIN
	FOR s IN 1 .. 300
	LOOP
		f := cuckoo_create(8, 0.5, growths[1 + s % 5], s);
		f := cuckoo_add_all(f, ARRAY(SELECT generate_series(1, 100)));
		matches := matches + (SELECT count(*) FROM generate_series(1, 50) AS i WHERE cuckoo_count(f, i) > 1);
		-- the oldest leave, each for itself
		FOR i IN 1 .. 50 LOOP
			f := cuckoo_remove(f, i);
		END LOOP;
		lost := lost + (SELECT count(*) FROM generate_series(51, 100) AS i WHERE NOT cuckoo_contains(f, i));
		-- others take their room, then the newest leave
		f := cuckoo_add_all(f, ARRAY(SELECT generate_series(101, 150)));
		f := cuckoo_remove_all(f, ARRAY(SELECT generate_series(150, 101, -1)));
		lost := lost + (SELECT count(*) FROM generate_series(51, 100) AS i WHERE NOT cuckoo_contains(f, i));
		f := cuckoo_compact(f);
		lost := lost + (SELECT count(*) FROM generate_series(51, 100) AS i WHERE NOT cuckoo_contains(f, i));
		f := cuckoo_remove_all(f, ARRAY(SELECT generate_series(51, 80)));
		lost := lost + (SELECT count(*) FROM generate_series(81, 100) AS i WHERE NOT cuckoo_contains(f, i));
	END LOOP;
	RAISE NOTICE 'matches of others: % than 400, lost: %', CASE WHEN matches > 400 THEN 'more' ELSE matches || ', not more' END, lost;
END
$$;
-- Removed elements are gone, in any order, and nothing is left
SELECT what, g, cuckoo_cardinality(h) AS elements, cuckoo_error_rate(h) AS error_rate, (SELECT count(*) FROM generate_series(1, 5000) AS x WHERE cuckoo_contains(h, x)) AS found,
	   (cuckoo_info(h)).load AS load
FROM (VALUES (2), (1), (16)) AS v(g), (VALUES ('first to last', ARRAY(SELECT generate_series(1, 5000))), ('last to first', ARRAY(SELECT generate_series(5000, 1, -1))),
	 ('at random', ARRAY(SELECT x FROM generate_series(1, 5000) AS x ORDER BY md5(x::text)))) AS w(what, gone),
	 LATERAL (SELECT cuckoo_remove_all(cuckoo_add_all(cuckoo_create(300, 1e-6, g), ARRAY(SELECT generate_series(1, 5000))), gone) AS h OFFSET 0) AS x
ORDER BY g, what;

-- Steady size: up to 100,000 times one leaves and another comes.  It gets no
-- more layers, fixed filters accept it too, and no element is lost.
CREATE FUNCTION churn(f cuckoo, times int, OUT more_layers int, OUT elements bigint, OUT complete boolean, OUT precise boolean) LANGUAGE plpgsql AS
$$
DECLARE
	n		int := cuckoo_cardinality(f);
BEGIN
	more_layers := -(cuckoo_info(f)).layers;
	FOR i IN 1 .. times
	LOOP
		f := cuckoo_remove(f, i);
		f := cuckoo_add(f, i + n);
		IF i % 10000 = 0 AND NOT cuckoo_contains_all(f, ARRAY(SELECT generate_series(i + 1, i + n))) THEN
			complete := false;
		END IF;
	END LOOP;
	more_layers := more_layers + (cuckoo_info(f)).layers;
	complete := complete IS NULL AND cuckoo_contains_all(f, ARRAY(SELECT generate_series(times + 1, times + n)));
	elements := cuckoo_cardinality(f);
	precise := cuckoo_error_rate(f) <= (cuckoo_info(f)).error_rate;
END
$$;
SELECT what, c.more_layers <= most AS no_more_layers, c.elements = n AS as_many, c.complete, c.precise
FROM (VALUES ('growing, at its capacity', cuckoo_create(1000), 1000, 1, 100000), ('fixed, nearly full', cuckoo_create(1000, growth => 0), 990, 0, 30000),
			 ('grown', cuckoo_create(20), 1000, 1, 30000), ('grown by one', cuckoo_create(100, growth => 1), 1000, 1, 10000)) AS t(what, f, n, most, times),
	 LATERAL churn(cuckoo_add_all(f, ARRAY(SELECT generate_series(1, n))), times) AS c;
-- a queue that grows and shrinks does not grow for ever either
DO $$
DECLARE
	f		cuckoo := cuckoo_create(100);
	first	int := 1;
	next	int := 1;
	layers	int;
BEGIN
	FOR again IN 1 .. 20
	LOOP
		f := cuckoo_add_all(f, ARRAY(SELECT generate_series(next, next + 1999)));
		next := next + 2000;
		layers := coalesce(layers, (cuckoo_info(f)).layers);
		IF NOT cuckoo_contains_all(f, ARRAY(SELECT generate_series(first, next - 1))) THEN
			RAISE NOTICE 'lost';
		END IF;
		f := cuckoo_remove_all(f, ARRAY(SELECT generate_series(first, next - 11)));
		first := next - 10;
	END LOOP;
	RAISE NOTICE 'more layers: %, left: %, found: %', (cuckoo_info(f)).layers - layers, cuckoo_cardinality(f), cuckoo_contains_all(f, ARRAY(SELECT generate_series(first, next - 1)));
END
$$;
DROP FUNCTION churn;

--
-- cuckoo_compact
--
-- A grown filter shrinks to what is needed; what is in it stays, and can be
-- removed; the error rate stays within the requested one
SELECT g, stay, i.layers > 1 AS grown, j.layers < i.layers AS fewer_layers, j.bytes < i.bytes AS smaller, j.bytes <= i.bytes AS not_larger, j.elements = i.elements AS as_many,
	   cuckoo_contains_all(c, ARRAY(SELECT generate_series(1, stay))) AS complete, j.estimated_error_rate <= j.error_rate AS precise,
	   (SELECT count(*) FROM generate_series(10001, 20000) AS x WHERE cuckoo_contains(c, x)) <= 130 AS measured,
	   c::bytea::cuckoo = c AS sound, cuckoo_cardinality(cuckoo_remove_all(c, ARRAY(SELECT generate_series(1, stay)))) AS left_in_the_end
FROM (VALUES (1), (2), (4), (16)) AS x(g), (VALUES (0), (1), (100), (1000), (5000), (9990), (10000)) AS y(stay),
	 LATERAL (SELECT cuckoo_remove_all(cuckoo_add_all(cuckoo_create(1000, growth => g), ARRAY(SELECT generate_series(1, 10000))), ARRAY(SELECT generate_series(stay + 1, 10000))) AS f OFFSET 0) AS z,
	 LATERAL (SELECT cuckoo_compact(f) AS c OFFSET 0) AS v, LATERAL cuckoo_info(f) AS i, LATERAL cuckoo_info(c) AS j
ORDER BY g, stay;
-- An emptied one is what was made, but for the class; those within their first
-- layer's capacity come back to one layer
SELECT g, cuckoo_compact(cuckoo_remove_all(f, ARRAY(SELECT generate_series(1, 3000)))) = cuckoo_remove(cuckoo_add(made, 1), 1) AS as_made,
	   (cuckoo_info(cuckoo_compact(cuckoo_remove_all(f, ARRAY(SELECT generate_series(91, 3000)))))).layers AS layers
FROM (VALUES (1), (2), (3), (16)) AS x(g), LATERAL (SELECT cuckoo_create(150, growth => g) AS made) AS y, LATERAL (SELECT cuckoo_add_all(made, ARRAY(SELECT generate_series(1, 3000))) AS f OFFSET 0) AS z
ORDER BY g;
-- A filter of one layer, or none, stays as it is; so does a compact one
SELECT what, cuckoo_compact(f) = f AS unchanged, cuckoo_compact(cuckoo_add(f, 1)) = cuckoo_add(f, 1) AS filled FROM made ORDER BY n;
SELECT bool_and(cuckoo_compact(c) = c) AS compact_is_compact, count(*)
FROM generate_series(1, 60) AS s, LATERAL (SELECT cuckoo_compact(cuckoo_remove_all(cuckoo_add_all(cuckoo_create(10, 0.1, 2, s), ARRAY(SELECT generate_series(1, 300))), ARRAY(SELECT generate_series(1, 5 * s)))) AS c OFFSET 0) AS t;
-- It works as before after a compaction, and unites with its former value
SELECT cuckoo_contains_all(g, ARRAY(SELECT generate_series(1, 50)) || ARRAY(SELECT generate_series(2001, 4000))) AS grown_again,
	   cuckoo_contains_all(c | f, ARRAY(SELECT generate_series(1, 50))) AS united, cuckoo_cardinality(c | f) AS elements
FROM (SELECT cuckoo_remove_all(cuckoo_add_all(cuckoo_create(100), ARRAY(SELECT generate_series(1, 2000))), ARRAY(SELECT generate_series(51, 2000))) AS f OFFSET 0) AS t,
	 LATERAL (SELECT cuckoo_compact(f) AS c OFFSET 0) AS u, LATERAL (SELECT cuckoo_add_all(c, ARRAY(SELECT generate_series(2001, 4000))) AS g OFFSET 0) AS v;
-- Compacted in the middle of things, again and again
DO $$
DECLARE
	f		cuckoo;
	lost	int := 0;
	times	int[];
BEGIN
	FOR s IN 1 .. 100
	LOOP
		f := cuckoo_create(5, 0.3, 1 + s % 4, s);
		FOR round IN 0 .. 5
		LOOP
			-- in rounds of 40, of which the last 20 stay for a round
			f := cuckoo_add_all(f, ARRAY(SELECT generate_series(round * 40 + 1, round * 40 + 40)));
			f := cuckoo_remove_all(f, ARRAY(SELECT generate_series(greatest(round * 40 - 19, 1), round * 40 + 20)));
			f := cuckoo_compact(f);
			lost := lost + (SELECT count(*) FROM generate_series(round * 40 + 21, round * 40 + 40) AS i WHERE NOT cuckoo_contains(f, i));
		END LOOP;
	END LOOP;
	RAISE NOTICE 'lost: %', lost;
END
$$;

-- The documented trap: an element that cuckoo_add_unique skipped because of
-- another one's fingerprint is lost when that one is removed
SELECT count(*) > 0 AS it_exists
FROM (SELECT cuckoo_add(cuckoo_create(10, 0.5), 0) AS f) AS t, generate_series(1, 5000) AS x WHERE f @> x AND NOT cuckoo_remove(cuckoo_add_unique(f, x), 0) @> x;
-- which plain cuckoo_add has not
SELECT count(*) AS lost
FROM (SELECT cuckoo_add(cuckoo_create(10, 0.5), 0) AS f) AS t, generate_series(1, 5000) AS x WHERE NOT cuckoo_remove(cuckoo_add(f, x), 0) @> x;

DROP TABLE made;
