--
-- The cache of stored filters: what it holds, and for how long; and what must
-- not be read at all.
--
\set ON_ERROR_STOP on
CREATE TABLE filters (name text PRIMARY KEY, f bloom);
INSERT INTO filters SELECT 'two MB', bloom_agg(i) FROM generate_series(1, 1600000) AS i;
INSERT INTO filters SELECT 'part ' || p, bloom_agg(i) FROM generate_series(1, 40) AS p, generate_series(p, p + 100000) AS i GROUP BY p;

-- The scans of partitions share the cache
CREATE TABLE parts (k int, n int NOT NULL) PARTITION BY HASH (k);
\set ON_ERROR_STOP off
DO $$
BEGIN
	FOR i IN 0 .. 19
	LOOP
		EXECUTE format('CREATE TABLE parts_%s PARTITION OF parts FOR VALUES WITH (MODULUS 20, REMAINDER %s)', i, i);
	END LOOP;
END
$$;
INSERT INTO parts SELECT i, i FROM generate_series(1, 40000) AS i;
ANALYZE parts;
CREATE FUNCTION kept(OUT filters bigint, OUT megabytes int) LANGUAGE sql AS
$$ SELECT count(*), round(coalesce(sum(total_bytes), 0) / 1e6)::int FROM pg_backend_memory_contexts WHERE name = 'stored filter' $$;
SET max_parallel_workers_per_gather = 0;
BEGIN;
DECLARE c CURSOR FOR SELECT n FROM parts WHERE bloom_contains((SELECT f FROM filters WHERE name = 'two MB'), n);
MOVE 39000 IN c;
SELECT filters, megabytes BETWEEN 1 AND 8 AS one FROM kept();
CLOSE c;
SELECT filters, megabytes BETWEEN 1 AND 8 AS one FROM kept();
COMMIT;

-- The queries share it, and it outlives them, unless it is turned off
SET bloomfilter.cache_size = 0;
SELECT * FROM kept();
RESET bloomfilter.cache_size;
BEGIN;
DECLARE c CURSOR FOR SELECT name FROM filters, generate_series(1, 1000) AS i WHERE name LIKE 'part%' AND bloom_contains(f, i + 100);
MOVE 30000 IN c;
SELECT filters BETWEEN 30 AND 40 AS all_parts FROM kept();
DECLARE d CURSOR FOR SELECT n FROM parts WHERE bloom_contains((SELECT f FROM filters WHERE name = 'two MB'), n);
MOVE 30000 IN d;
CLOSE c;
SELECT filters > 0 AS while_d_is_open FROM kept();
FETCH d;
ROLLBACK;
SET bloomfilter.cache_size = 0;
SELECT * FROM kept();

-- An error in the middle, and the same call site again; nothing is kept when it ends
DO $$
DECLARE
	good	int := 0;
BEGIN
	FOR i IN 1 .. 2000
	LOOP
		BEGIN
			IF bloom_contains((SELECT f FROM filters WHERE name = 'two MB'), 1 / (i % 10) + i) THEN
				good := good + 1;
			END IF;
		EXCEPTION WHEN division_by_zero THEN
			NULL;
		END;
	END LOOP;
	RAISE NOTICE 'found: %', good;
END
$$;
SELECT * FROM kept();
RESET bloomfilter.cache_size;

-- For an empty result only the header is read
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/shared/plans.sql'
\i :file
SELECT bloom_contains_any(f, '{}'::int[]) AS none_of_none, bloom_contains_all(f, '{}'::int[]) AS all_of_none,
	   bloom_contains_each(f, '{}'::int[]) AS each_of_none
FROM filters WHERE name = 'two MB';
SELECT what, buffers(format('SELECT bloom_contains_any(f, %s) FROM filters WHERE name = ''two MB''', elements)) < 40 AS few
FROM (VALUES ('no element', '''{}''::int[]'), ('nulls', 'array_fill(NULL::int, ARRAY[100000])'), ('one', 'ARRAY[-1]')) AS v(what, elements);

-- A group of an aggregate has one expanded object, whatever came to it first
BEGIN;
CREATE TEMP TABLE mixed AS
	SELECT 0 AS k, bloom_create(600) AS f
	UNION ALL SELECT k, bloom_add_all((SELECT bloom_agg(1) WHERE false), ARRAY(SELECT k * 1000 + i FROM generate_series(1, 900) AS i)) FROM generate_series(1, 3) AS k;
SET LOCAL enable_sort = off;
DECLARE c CURSOR FOR SELECT g, bloom_union_agg(f) FROM generate_series(1, 50) AS g, (SELECT * FROM mixed ORDER BY k OFFSET 0) AS m GROUP BY g;
MOVE 1 IN c;
SELECT count(*) <= 51 AS one_a_group FROM pg_backend_memory_contexts WHERE name LIKE 'expanded%filter';
ROLLBACK;

-- The planner folds by the NOT NULL constraints of the query's own tables only: the
-- check constraint is NULL, and so satisfied, for a row that it does not forbid
CREATE TABLE first (a int NOT NULL);
INSERT INTO first VALUES (1);
CREATE TABLE checked (n int, m int, CHECK (bloom_contains(bloom_create(10), n) OR m > 100));
INSERT INTO checked VALUES (NULL, 5);
SET constraint_exclusion = on;
SELECT * FROM first, checked WHERE checked.m < 50;
RESET constraint_exclusion;

-- Planning raises no error if execution raises none
CREATE TYPE pattern_range AS RANGE (subtype = text, subtype_opclass = text_pattern_ops);
CREATE TABLE ranges (r pattern_range);
SELECT * FROM ranges WHERE bloom_contains(bloom_add(bloom_create(10), 1), r);

DROP TABLE filters, parts, first, checked, ranges;
DROP TYPE pattern_range;
DROP FUNCTION kept;
