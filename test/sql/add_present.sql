--
-- Adding elements that a filter contains returns the filter itself: nothing is copied,
-- and an UPDATE does not write it again.
--
\set ON_ERROR_STOP on
SET max_parallel_workers_per_gather = 0;
CREATE TABLE kept (id text PRIMARY KEY, f bloom, c cuckoo);
INSERT INTO kept VALUES
	('one layer', bloom_add_all(bloom_create(50000), ARRAY(SELECT generate_series(1, 1000))),
	 cuckoo_add_all(cuckoo_create(50000), ARRAY(SELECT generate_series(1, 1000)))),
	('many layers', bloom_add_all(bloom_create(10000), ARRAY(SELECT generate_series(1, 60000))),
	 cuckoo_add_all(cuckoo_create(10000), ARRAY(SELECT generate_series(1, 60000)))),
	('two blocks', bloom_add_all(bloom_create(50000, 1e-5), ARRAY(SELECT generate_series(1, 1000))),
	 cuckoo_add_all(cuckoo_create(50000, 1e-5), ARRAY(SELECT generate_series(1, 1000)))),
	('explicit', bloom_add_all((SELECT bloom_agg(1) WHERE false), ARRAY(SELECT generate_series(1, 1000))), cuckoo_create(100)),
	('large explicit', bloom_add_all((SELECT bloom_agg(1) WHERE false), ARRAY(SELECT generate_series(1, 600)))
		| bloom_add_all((SELECT bloom_agg(1) WHERE false), ARRAY(SELECT generate_series(401, 1500))), cuckoo_create(100)),
	('inline', bloom_add_all((SELECT bloom_agg(1) WHERE false), ARRAY[1, 2]), cuckoo_create(10));
UPDATE kept SET f = NULL WHERE id = 'large explicit';
-- the classic layout, and two that are compressed: in the row, and outside of it
INSERT INTO kept VALUES ('classic', bloom_add_all(bloom_create_bits(500000, 5), ARRAY[1, 2]), NULL);
ALTER TABLE kept ALTER f SET STORAGE extended, ALTER c SET STORAGE extended;
INSERT INTO kept VALUES
	('compressed inline', bloom_add_all(bloom_create(20000), ARRAY[1, 2]), cuckoo_add_all(cuckoo_create(20000), ARRAY[1, 2])),
	('compressed', bloom_add_all(bloom_create(50000), ARRAY(SELECT generate_series(1, 500))), cuckoo_add_all(cuckoo_create(50000), ARRAY(SELECT generate_series(1, 300))));
-- a union of explicit filters holds more hashes than additions leave explicit
ALTER TABLE kept ALTER f SET STORAGE external;
UPDATE kept SET f = (SELECT bloom_union_agg(e) FROM (SELECT bloom_add_all((SELECT bloom_agg(1) WHERE false), ARRAY(SELECT generate_series(n, n + 999))) AS e
											  FROM generate_series(1, 3001, 1000) AS n) AS t) WHERE id = 'large explicit';

-- The chunks of the TOAST table that hold a row's filters, and how many there are
SELECT reltoastrelid::regclass AS toast FROM pg_class WHERE oid = 'kept'::regclass \gset
CREATE VIEW chunks AS SELECT chunk_id, xmin AS written, chunk_seq FROM :toast;
CREATE TABLE before AS SELECT chunk_id, written::text, chunk_seq FROM chunks;

UPDATE kept SET f = bloom_add(f, 1) WHERE f IS NOT NULL;
UPDATE kept SET f = bloom_add(bloom_add(f, 2), 1);
UPDATE kept SET f = bloom_add_all(f, ARRAY[2, NULL, 1]), c = cuckoo_add_all_unique(c, ARRAY[]::int[]);
UPDATE kept SET c = cuckoo_add_unique(c, 1), f = bloom_add_all(f, ARRAY[]::int[]) WHERE id NOT IN ('inline', 'explicit', 'large explicit');
UPDATE kept SET c = cuckoo_add_all_unique(c, ARRAY[1, 2, 2, NULL]) WHERE id LIKE '% layer%';
UPDATE kept SET f = bloom_add_all(f, ARRAY(SELECT generate_series(1, 60000))), c = cuckoo_add_all_unique(c, ARRAY(SELECT generate_series(60000, 1, -1)))
WHERE id = 'many layers';
\set ON_ERROR_STOP off
-- Nothing was written, and nothing is lost
SELECT (SELECT count(*) FROM before) > 100 AS many_chunks, (SELECT count(*) FROM chunks) = (SELECT count(*) FROM before) AS as_many,
	   NOT EXISTS (SELECT chunk_id, written::text, chunk_seq FROM chunks EXCEPT SELECT * FROM before) AS none_written;

-- In the row, neither its short header nor its compression changes
SELECT id, pg_column_size(bloom_add(f, 1)) = pg_column_size(f) AS bloom_add, pg_column_size(bloom_add_all(f, ARRAY[1, 2])) = pg_column_size(f) AS bloom_add_all,
	   pg_column_size(cuckoo_add_unique(c, 1)) = pg_column_size(c) AS cuckoo
FROM kept WHERE id IN ('inline', 'compressed inline') ORDER BY id COLLATE "C";
SELECT pg_column_size(bloom_add(f, 3)) > pg_column_size(f) AS copied FROM kept WHERE id = 'inline';

-- What is not in all of it is added, wherever it is in the array
SELECT id, f = bloom_add(f, -1) AS unchanged, bloom_add(f, -1) @> -1 AS added,
	   bloom_contains_all(bloom_add_all(f, ARRAY(SELECT generate_series(1, 500)) || -2), ARRAY[1, 500, -2]) AS last_added
FROM kept ORDER BY id COLLATE "C";
SELECT id, c = cuckoo_add_unique(c, -1) AS unchanged, cuckoo_add_unique(c, -1) @> -1 AS added,
	   cuckoo_contains_all(cuckoo_add_all_unique(c, ARRAY(SELECT generate_series(1, 500)) || -2), ARRAY[1, 500, -2]) AS last_added
FROM kept WHERE c IS NOT NULL ORDER BY id COLLATE "C";
UPDATE kept SET f = bloom_add(f, -3) WHERE id = 'one layer';
SELECT EXISTS (SELECT chunk_id, written::text, chunk_seq FROM chunks EXCEPT SELECT * FROM before) AS written FROM kept WHERE id = 'one layer' AND f @> -3;

-- A multiset counts each time
SELECT cuckoo_count(cuckoo_add(c, 1), 1) - cuckoo_count(c, 1) AS added, cuckoo_add(c, 1) = c AS unchanged, cuckoo_add_all(c, ARRAY[]::int[]) = c AS none
FROM kept WHERE id = 'one layer';

-- A filter that is full accepts what it contains
SELECT bloom_add_all(f, elements) = f AS unchanged
FROM (SELECT array_agg(n) AS elements, bloom_agg(n, 100, NULL) AS f FROM generate_series(1, 100) AS n) AS t;

-- In memory, too, flat or expanded; t/030_instructions.pl counts that nothing is copied
SELECT count(*) AS flat FROM (SELECT bloom_add(bloom_create(1000000), 1) || '' AS text) AS t,
	LATERAL (SELECT text::bloom AS f OFFSET 0) AS u, generate_series(1, 100) AS i WHERE bloom_add(f, i / i) @> 1;
DO $$
DECLARE
	f bloom := bloom_add(bloom_create(1000000), 1);
	g bloom;
BEGIN
	FOR i IN 1 .. 100 LOOP
		IF NOT bloom_contains(bloom_add(f, 1), 1) OR NOT bloom_contains(bloom_add_all(f, '{1}'::int[]), 1) THEN
			RAISE 'not found';
		END IF;
	END LOOP;
	-- a variable is a copy of its own all the same
	g := bloom_add(f, 1);
	g := bloom_add(g, 2);
	RAISE NOTICE 'g: %, f: %', bloom_contains(g, 2), bloom_contains(f, 2);
END $$;

DROP VIEW chunks;
DROP TABLE kept, before;

-- Errors are the same
SELECT bloom_add(bloom_add(bloom_create(10), 1), 'x'::text);
SELECT bloom_add_all(bloom_add(bloom_create(10), 1), ARRAY['x'::text]);
SELECT bloom_add(f, NULL::int) = f AS null_element, bloom_add_all(f, NULL::int[]) = f AS null_array, bloom_add(NULL::bloom, 1) IS NULL AS no_filter,
	   bloom_add(NULL::bloom, NULL::int) IS NULL AS nothing FROM bloom_add(bloom_create(10), 1) AS f;
