--
-- cuckoo_add_all_unique: of an array, what does not seem to be in a filter.
--
-- As one by one, for every form of a filter
\set ON_ERROR_STOP on
CREATE FUNCTION one_by_one(f cuckoo, elements int[]) RETURNS cuckoo LANGUAGE plpgsql AS
$$
BEGIN
	FOR i IN 1 .. cardinality(elements) LOOP
		IF elements[i] IS NOT NULL THEN
			f := cuckoo_add_unique(f, elements[i]);
		END IF;
	END LOOP;
	RETURN f;
END
$$;
CREATE TABLE forms (id text, f cuckoo);
INSERT INTO forms VALUES
	('empty', (SELECT cuckoo_agg(1) WHERE false)),
	('without elements', cuckoo_create(100)),
	('some', cuckoo_add_all(cuckoo_create(1000), ARRAY(SELECT generate_series(1, 500)))),
	('fixed', cuckoo_add_all(cuckoo_create(3000, growth => 0), ARRAY(SELECT generate_series(1, 500)))),
	('layers', cuckoo_add_all(cuckoo_create(100), ARRAY(SELECT generate_series(1, 500)))),
	('fine', cuckoo_add_all(cuckoo_create(100, 1e-6), ARRAY(SELECT generate_series(1, 500)))),
	('seed', cuckoo_create(100, seed => 7)),
	('null', NULL);
\set ON_ERROR_STOP off
-- (but for the empty one, which gets layers for as many as there are)
SELECT id, cuckoo_add_all_unique(f, e) = one_by_one(f, e) AS same, cuckoo_cardinality(cuckoo_add_all_unique(f, e)) BETWEEN 880 AND 1200 AS once,
	   cuckoo_contains_all(cuckoo_add_all_unique(f, e), array_remove(e, NULL)) AS has_all
FROM forms, (SELECT array_agg(CASE WHEN n % 100 <> 7 THEN n / 2 END) AS e FROM generate_series(600, 2400) AS n) AS t ORDER BY id COLLATE "C";
-- in memory, read from a table, and an expanded object
SELECT cuckoo_add_all_unique(cuckoo_add_all_unique(cuckoo_create(20000), ARRAY[1, 2]), ARRAY[2, 3])
	   = cuckoo_add_all(cuckoo_create(20000), ARRAY[1, 2, 3]) AS expanded;
DO $$
DECLARE
	f cuckoo := cuckoo_create(20000);
BEGIN
	FOR i IN 1 .. 100 LOOP
		f := cuckoo_add_all_unique(f, ARRAY[i, i + 1, NULL, i]);
	END LOOP;
	RAISE NOTICE 'elements: %', cuckoo_cardinality(f);
END $$;

-- Arrays of any form
SELECT cuckoo_cardinality(cuckoo_add_all_unique(f, ARRAY[[1, 2], [2, NULL]])) AS dimensions, cuckoo_cardinality(cuckoo_add_all_unique(f, ARRAY[NULL]::int[])) AS nulls,
	   cuckoo_cardinality(cuckoo_add_all_unique(f, '{}'::int[])) AS none, cuckoo_add_all_unique(f, NULL::int[]) = f AS null_array,
	   cuckoo_count(cuckoo_add_all_unique(f, array_fill(5, ARRAY[1000])), 5) AS once
FROM cuckoo_create(100) AS f;

-- Errors, after which nothing has been added
SELECT cuckoo_add_all_unique(cuckoo_add(cuckoo_create(10), 1), ARRAY['x'::text]);
SELECT cuckoo_add_all_unique(cuckoo_create(10, growth => 0), ARRAY(SELECT generate_series(1, 1000)));
SELECT cuckoo_add_all_unique(cuckoo_create(10), ARRAY[point(1, 2)]);
SELECT cuckoo_add_all_unique(cuckoo_create(10), ARRAY[cuckoo_create(10)]);
DO $$
DECLARE
	f cuckoo := cuckoo_add_all(cuckoo_create(8000, growth => 0), ARRAY(SELECT generate_series(1, 7000)));
BEGIN
	BEGIN
		f := cuckoo_add_all_unique(f, ARRAY(SELECT generate_series(5000, 20000)));
	EXCEPTION WHEN program_limit_exceeded THEN
		RAISE NOTICE '%', SQLERRM;
	END;
	RAISE NOTICE 'elements: %, of them one of the array: %', cuckoo_cardinality(f), cuckoo_contains(f, 15000);
END $$;
DROP TABLE forms;
DROP FUNCTION one_by_one;
